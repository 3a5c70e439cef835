"""GLB: the character with its skin, the props, and the animation, in one file that Blender opens as it is.

Everything is read from the recording's own model, so any recording exports. glTF is Y up: (x, y, z) becomes (y, z, x).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pygltflib as gl
from numpy.typing import NDArray

from manikin import palette
from manikin.export.shapes import Surface, geom_surface
from manikin.files import whole_file
from manikin.recording import Recording
from manikin.spatial import quat_conjugate, quat_multiply, quat_to_matrix, rotate

Array = NDArray[np.float64]


def save_glb(recording: Recording, path: Path) -> None:
    """Write a recording as binary glTF."""
    content = _Builder(recording).build()
    with whole_file(path) as stream:
        stream.write(content)


def _points(p: Array) -> Array:
    return p[..., [1, 2, 0]]


def _quats(q: Array) -> Array:
    """wxyz, Z up, to xyzw, Y up."""
    return q[..., [2, 3, 1, 0]]


@dataclass
class _Track:
    """World poses of all bodies over time, straight from the recorded positions."""

    position: Array  # (T, nbody, 3)
    quat: Array  # (T, nbody, 4)

    def local(self, body: int, parent: int) -> tuple[Array, Array]:
        """Pose (T, 3), (T, 4) of a body in its parent's frame; quaternions run without sign flips."""
        if parent == 0:
            place, turn = self.position[:, body], self.quat[:, body]
        else:
            back = quat_conjugate(self.quat[:, parent])
            place = rotate(back, self.position[:, body] - self.position[:, parent])
            turn = quat_multiply(back, self.quat[:, body])
        sign = np.where((turn[1:] * turn[:-1]).sum(axis=1) < 0, -1.0, 1.0)
        turn = turn * np.concatenate([[1.0], np.cumprod(sign)])[:, None]
        return place, turn / np.linalg.norm(turn, axis=1, keepdims=True)


def body_track(recording: Recording) -> tuple[mujoco.MjModel, _Track]:
    """The model and where its bodies were in each frame."""
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data = mujoco.MjData(model)
    position = np.empty((len(recording.qpos), model.nbody, 3))
    quat = np.empty((len(recording.qpos), model.nbody, 4))
    for t, qpos in enumerate(recording.qpos):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        position[t], quat[t] = data.xpos, data.xquat
    return model, _Track(position, quat)


@dataclass
class _Builder:
    recording: Recording
    blob: bytearray = field(default_factory=bytearray)
    gltf: gl.GLTF2 = field(default_factory=gl.GLTF2)
    materials: dict[tuple[float, ...], int] = field(default_factory=dict)
    times: int | None = None  # the accessor that all tracks share, made with the first of them

    def build(self) -> bytes:
        recording, g = self.recording, self.gltf
        self.model, self.track = body_track(recording)
        name = str(recording.meta.get("name", "manikin"))
        g.asset = gl.Asset(version="2.0", generator="Manikin")
        g.scenes, g.scene = [gl.Scene(name=name, nodes=[])], 0
        g.animations = [gl.Animation(name=name, channels=[], samplers=[])]

        nodes: dict[int, int] = {}
        cast = {root: [self._body(b) for b in bodies] for root, bodies in recording.meta.get("characters", {}).items()}
        mine = {b for bodies in cast.values() for b in bodies}
        for body in range(1, self.model.nbody):
            nodes[body] = self._body_node(body, nodes)
        for root, bodies in cast.items():
            self._add_skin(root, bodies, nodes)
        for body in range(self.model.nbody):
            if body not in mine:
                self._add_rigid(body, nodes)
        if not g.animations[0].channels:
            g.animations = []
        while len(self.blob) % 4:
            self.blob.append(0)
        g.buffers = [gl.Buffer(byteLength=len(self.blob))]
        g.set_binary_blob(bytes(self.blob))
        return b"".join(g.save_to_bytes())

    def _body(self, name: str) -> int:
        return int(mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name))

    # --- nodes and animation

    def _body_node(self, body: int, nodes: dict[int, int]) -> int:
        parent = int(self.model.body_parentid[body])
        place, turn = self.track.local(body, parent)
        name = mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body_{body}"
        node = gl.Node(name=name, translation=_points(place[0]).tolist(), rotation=_quats(turn[0]).tolist())
        self.gltf.nodes.append(node)
        number = len(self.gltf.nodes) - 1
        if parent == 0:
            self.gltf.scenes[0].nodes.append(number)
        else:
            above = self.gltf.nodes[nodes[parent]]
            above.children = [*(above.children or []), number]
        if np.ptp(turn, axis=0).max() > 1e-9:
            self._animate(number, "rotation", _quats(turn))
        if np.ptp(place, axis=0).max() > 1e-9:
            self._animate(number, "translation", _points(place))
        return number

    def _animate(self, node: int, what: str, values: Array) -> None:
        animation = self.gltf.animations[0]
        if self.times is None:
            self.times = self._accessor(self.recording.time.astype("<f4"), gl.SCALAR, gl.FLOAT, bounds=True)
        output = self._accessor(values.astype("<f4"), gl.VEC4 if what == "rotation" else gl.VEC3, gl.FLOAT)
        animation.samplers.append(gl.AnimationSampler(input=self.times, output=output, interpolation="LINEAR"))
        target = gl.AnimationChannelTarget(node=node, path=what)
        animation.channels.append(gl.AnimationChannel(sampler=len(animation.samplers) - 1, target=target))

    # --- surfaces

    def _surfaces(self, body: int) -> list[tuple[tuple[float, ...], Surface]]:
        """Visible surfaces of a body in its own frame, with their colours."""
        out = []
        start, count = int(self.model.body_geomadr[body]), int(self.model.body_geomnum[body])
        for geom in range(start, start + count):
            if self.model.geom_group[geom] > 2:
                continue
            surface = geom_surface(self.model, geom)
            if surface is not None:
                out.append((self._colour(geom), surface))
        return out

    def _colour(self, geom: int) -> tuple[float, ...]:
        material = int(self.model.geom_matid[geom])
        rgba = self.model.mat_rgba[material] if material >= 0 else self.model.geom_rgba[geom]
        return tuple(round(float(c), 6) for c in rgba)

    def _add_skin(self, root: str, bodies: list[int], nodes: dict[int, int]) -> None:
        """One skinned mesh per character: each vertex follows one body."""
        model = self.model
        rest = mujoco.MjData(model)
        mujoco.mj_kinematics(model, rest)
        parts: dict[tuple[float, ...], list[tuple[Surface, int]]] = {}
        for joint, body in enumerate(bodies):
            for colour, surface in self._surfaces(body):
                placed = surface.moved(rest.xpos[body], rest.xquat[body])
                parts.setdefault(colour, []).append((placed, joint))
        if not parts:
            return
        primitives = []
        for colour, pieces in parts.items():
            merged = Surface.merged([s for s, _ in pieces])
            joints = np.zeros((len(merged.vertices), 4), np.uint8)
            joints[:, 0] = np.concatenate([np.full(len(s.vertices), j) for s, j in pieces])
            weights = np.zeros((len(merged.vertices), 4), np.uint8)
            weights[:, 0] = 255
            primitive = self._primitive(merged, colour)
            primitive.attributes.JOINTS_0 = self._accessor(joints, gl.VEC4, gl.UNSIGNED_BYTE, gl.ARRAY_BUFFER)
            primitive.attributes.WEIGHTS_0 = self._accessor(
                weights, gl.VEC4, gl.UNSIGNED_BYTE, gl.ARRAY_BUFFER, normalized=True
            )
            primitives.append(primitive)
        g = self.gltf
        g.meshes.append(gl.Mesh(name=f"{root}_figure", primitives=primitives))
        g.skins.append(
            gl.Skin(
                joints=[nodes[b] for b in bodies],
                skeleton=nodes[bodies[0]],
                inverseBindMatrices=self._binds(rest, bodies),
            )
        )
        # a skinned mesh's node stands at the root, without a transform
        g.nodes.append(gl.Node(name=f"{root}_figure", mesh=len(g.meshes) - 1, skin=len(g.skins) - 1))
        g.scenes[0].nodes.append(len(g.nodes) - 1)

    def _binds(self, rest: mujoco.MjData, bodies: list[int]) -> int:
        matrices = np.tile(np.eye(4), (len(bodies), 1, 1))
        for k, body in enumerate(bodies):
            turn = quat_to_matrix(rest.xquat[body])[np.ix_([1, 2, 0], [1, 2, 0])]
            matrices[k, :3, :3] = turn.T
            matrices[k, :3, 3] = -turn.T @ _points(rest.xpos[body])
        columns = matrices.transpose(0, 2, 1).reshape(-1, 16).astype("<f4")
        return self._accessor(columns, gl.MAT4, gl.FLOAT)

    def _add_rigid(self, body: int, nodes: dict[int, int]) -> None:
        pieces = self._surfaces(body)
        if not pieces:
            return
        primitives = [self._primitive(surface, colour) for colour, surface in pieces]
        g = self.gltf
        name = mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_BODY, body)
        g.meshes.append(gl.Mesh(name=name, primitives=primitives))
        if body == 0:
            g.nodes.append(gl.Node(name=name, mesh=len(g.meshes) - 1))
            g.scenes[0].nodes.append(len(g.nodes) - 1)
        else:
            g.nodes[nodes[body]].mesh = len(g.meshes) - 1

    def _primitive(self, surface: Surface, colour: tuple[float, ...]) -> gl.Primitive:
        attributes = gl.Attributes(
            POSITION=self._accessor(_points(surface.vertices).astype("<f4"), gl.VEC3, gl.FLOAT, gl.ARRAY_BUFFER, bounds=True),
            NORMAL=self._accessor(_points(surface.normals).astype("<f4"), gl.VEC3, gl.FLOAT, gl.ARRAY_BUFFER),
        )
        small = len(surface.vertices) < 65535
        faces = surface.faces.ravel().astype("<u2" if small else "<u4")
        kind = gl.UNSIGNED_SHORT if small else gl.UNSIGNED_INT
        indices = self._accessor(faces, gl.SCALAR, kind, gl.ELEMENT_ARRAY_BUFFER)
        return gl.Primitive(attributes=attributes, indices=indices, material=self._material(colour), mode=gl.TRIANGLES)

    def _material(self, colour: tuple[float, ...]) -> int:
        if colour not in self.materials:
            light = palette.linear((colour[0], colour[1], colour[2]))
            known = [n for n, c in palette.MATERIALS.items() if np.allclose(c, colour[:3], atol=1e-4)]
            shine = gl.PbrMetallicRoughness(baseColorFactor=[*light, colour[3]], metallicFactor=0.0, roughnessFactor=0.42)
            name = known[0] if known else f"colour_{len(self.materials)}"
            see_through = "BLEND" if colour[3] < 1 else "OPAQUE"
            self.gltf.materials.append(
                gl.Material(name=name, pbrMetallicRoughness=shine, alphaMode=see_through, alphaCutoff=None)
            )
            self.materials[colour] = len(self.gltf.materials) - 1
        return self.materials[colour]

    def _accessor(
        self, values: NDArray[Any], kind: str, component: int, target: int | None = None, bounds: bool = False,
        normalized: bool = False,
    ) -> int:  # fmt: skip
        while len(self.blob) % 4:
            self.blob.append(0)
        content = np.ascontiguousarray(values).tobytes()
        g = self.gltf
        g.bufferViews.append(gl.BufferView(buffer=0, byteOffset=len(self.blob), byteLength=len(content), target=target))
        self.blob.extend(content)
        accessor = gl.Accessor(
            bufferView=len(g.bufferViews) - 1,
            componentType=component,
            count=len(values),
            type=kind,
            normalized=normalized,
        )
        if bounds:
            rows = values.reshape(len(values), -1)
            accessor.min, accessor.max = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
        g.accessors.append(accessor)
        return len(g.accessors) - 1
