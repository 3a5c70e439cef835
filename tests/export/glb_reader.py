"""A reader of GLB files of its own: struct, json and numpy, from the glTF 2.0 text; shares nothing with the writer."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_TYPES = {5121: "u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}
# what the Khronos validator says of a file without a flaw
SPOTLESS = {"numErrors": 0, "numWarnings": 0, "numInfos": 0, "numHints": 0}
# glTF is Y up: its axes (x, y, z) are our (y, z, x)
TO_OURS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


class Glb:
    """The file's JSON, its accessors as arrays, and every node's place over time."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", content)
        assert (magic, version, length) == (b"glTF", 2, len(content))
        size, kind = struct.unpack_from("<I4s", content, 12)
        assert kind == b"JSON"
        self.json: dict[str, Any] = json.loads(content[20 : 20 + size])
        left, kind = struct.unpack_from("<I4s", content, 20 + size)
        assert kind == b"BIN\0"
        self.binary = content[28 + size : 28 + size + left]
        self.nodes: list[dict[str, Any]] = self.json["nodes"]
        self.names = {node["name"]: number for number, node in enumerate(self.nodes)}
        self.parent = {child: n for n, node in enumerate(self.nodes) for child in node.get("children", [])}

    def accessor(self, number: int) -> NDArray[Any]:
        """Rows (count, width); normalized bytes become fractions of one."""
        a = self.json["accessors"][number]
        view = self.json["bufferViews"][a["bufferView"]]
        start = view.get("byteOffset", 0) + a.get("byteOffset", 0)
        width = _WIDTHS[a["type"]]
        values = np.frombuffer(self.binary, _TYPES[a["componentType"]], a["count"] * width, start).reshape(-1, width)
        return values / 255.0 if a.get("normalized") else values

    def tracks(self) -> dict[tuple[int, str], tuple[Array, Array]]:
        """(node, property) -> times (T,), values (T, k)."""
        out = {}
        for animation in self.json.get("animations", []):
            for channel in animation["channels"]:
                sampler = animation["samplers"][channel["sampler"]]
                assert sampler.get("interpolation", "LINEAR") == "LINEAR"
                key = (channel["target"]["node"], channel["target"]["path"])
                out[key] = (self.accessor(sampler["input"])[:, 0], self.accessor(sampler["output"]).astype(float))
        return out

    def transforms(self, frames: int) -> Array:
        """World matrices (nodes, T, 4, 4) at each of the keys, glTF axes."""
        tracks = self.tracks()
        local = np.zeros((len(self.nodes), frames, 4, 4))
        for n, node in enumerate(self.nodes):
            move = tracks.get((n, "translation"), (None, np.array([node.get("translation", [0, 0, 0])], float)))[1]
            turn = tracks.get((n, "rotation"), (None, np.array([node.get("rotation", [0, 0, 0, 1])], float)))[1]
            local[n, :, :3, 3] = move
            local[n, :, :3, :3] = _matrix(turn)
            local[n, :, 3, 3] = 1.0
        return np.array([self._chain(local, n) for n in range(len(self.nodes))])

    def _chain(self, local: Array, node: int) -> Array:
        return local[node] if node not in self.parent else self._chain(local, self.parent[node]) @ local[node]

    def skinned(self, mesh_node: int, transforms: Array, frame: int) -> list[tuple[Array, NDArray[np.int64]]]:
        """(vertices, faces) of each primitive of a skinned mesh in one frame, our axes."""
        skin = self.json["skins"][self.nodes[mesh_node]["skin"]]
        binds = self.accessor(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
        poses = transforms[skin["joints"], frame] @ binds
        out = []
        for primitive in self.json["meshes"][self.nodes[mesh_node]["mesh"]]["primitives"]:
            attributes = primitive["attributes"]
            points = np.pad(self.accessor(attributes["POSITION"]).astype(float), ((0, 0), (0, 1)), constant_values=1.0)
            blend = np.einsum(
                "vk,vkij->vij", self.accessor(attributes["WEIGHTS_0"]), poses[self.accessor(attributes["JOINTS_0"])]
            )
            placed = np.einsum("vij,vj->vi", blend, points)[:, :3]
            out.append((placed @ TO_OURS.T, self.accessor(primitive["indices"]).astype(np.int64).reshape(-1, 3)))
        return out


def _matrix(q: Array) -> Array:
    x, y, z, w = q.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
