"""GLB: the character with its skin, the props, and the animation, in one file that Blender opens directly.

Everything is read from the recording's own model, so any recording exports. glTF is Y up: (x, y, z) becomes (y, z, x).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pygltflib as gl
from numpy.typing import NDArray

from manikin import palette
from manikin.export.shapes import Colour, Surface, body_surfaces, material_name
from manikin.export.soft import SoftSurface
from manikin.export.track import Pose, body_track, frame_numbers
from manikin.files import whole_file
from manikin.recording import Recording
from manikin.spatial import quat_to_matrix

Array = NDArray[np.float64]


def save_glb(recording: Recording, path: Path) -> None:
    """Write a recording as binary glTF."""
    content = glb_bytes(recording)
    with whole_file(path) as stream:
        stream.write(content)


def glb_bytes(recording: Recording, flesh: bool = True) -> bytes:
    """A recording as binary glTF. flesh: with the soft surfaces; the studio, which draws them itself, leaves them out."""
    return _Builder(recording, flesh).build()


def _points(p: Array) -> Array:
    return p[..., [1, 2, 0]]


def _quats(q: Array) -> Array:
    """wxyz, Z up, to xyzw, Y up."""
    return q[..., [2, 3, 1, 0]]


@dataclass
class _Builder:
    recording: Recording
    flesh: bool = True
    blob: bytearray = field(default_factory=bytearray)
    gltf: gl.GLTF2 = field(default_factory=gl.GLTF2)
    materials: dict[Colour, int] = field(default_factory=dict)
    times: int | None = None  # the accessor that all tracks use, made with the first of them

    def build(self) -> bytes:
        recording, g = self.recording, self.gltf
        self.track = body_track(recording)
        soft = self.track.soft if self.flesh else []
        name = str(recording.meta.get("name", "manikin"))
        g.asset = gl.Asset(version="2.0", generator="Manikin")
        g.scenes, g.scene = [gl.Scene(name=name, nodes=[])], 0
        g.animations = [gl.Animation(name=name, channels=[], samplers=[])]

        nodes: dict[int, int] = {}
        self._add_flesh_root(soft)
        for body in range(1, self.track.model.nbody):
            nodes[body] = self._body_node(body, nodes)
        for root, bodies in self.track.characters.items():
            self._add_skin(root, bodies, nodes)
        if soft:
            self._add_flesh(soft, nodes)
        for body in self.track.props():
            self._add_rigid(body, nodes)
        if not g.animations[0].channels:
            g.animations = []
        while len(self.blob) % 4:
            self.blob.append(0)
        g.buffers = [gl.Buffer(byteLength=len(self.blob))]
        g.set_binary_blob(bytes(self.blob))
        return b"".join(g.save_to_bytes())

    # --- nodes and animation

    def _body_node(self, body: int, nodes: dict[int, int]) -> int:
        parent = self.track.parent(body)
        place, rotation = self.track.local(body, parent)
        node = gl.Node(
            name=self.track.name(body), translation=_points(place[0]).tolist(), rotation=_quats(rotation[0]).tolist()
        )
        self.gltf.nodes.append(node)
        number = len(self.gltf.nodes) - 1
        if parent:
            self._put_under(nodes[parent], number)
        elif body in self.free_nodes:
            self._put_under(self.flesh_root, number)
        else:
            self.gltf.scenes[0].nodes.append(number)
        if np.ptp(rotation, axis=0).max() > 1e-9:
            self._animate(number, "rotation", _quats(rotation))
        if np.ptp(place, axis=0).max() > 1e-9:
            self._animate(number, "translation", _points(place))
        return number

    def _put_under(self, above: int, number: int) -> None:
        node = self.gltf.nodes[above]
        node.children = [*(node.children or []), number]

    def _animate(self, node: int, what: str, values: Array) -> None:
        animation = self.gltf.animations[0]
        if self.times is None:
            seconds = frame_numbers(self.recording) / float(self.recording.meta["fps"])
            self.times = self._accessor(seconds.astype("<f4"), gl.SCALAR, gl.FLOAT, bounds=True)
        output = self._accessor(values.astype("<f4"), gl.VEC4 if what == "rotation" else gl.VEC3, gl.FLOAT)
        animation.samplers.append(gl.AnimationSampler(input=self.times, output=output, interpolation="LINEAR"))
        target = gl.AnimationChannelTarget(node=node, path=what)
        animation.channels.append(gl.AnimationChannel(sampler=len(animation.samplers) - 1, target=target))

    # --- surfaces

    def _add_skin(self, root: str, bodies: list[int], nodes: dict[int, int]) -> None:
        """One skinned mesh per character: each vertex follows one body."""
        parts = self.track.skin(bodies)
        if not parts:
            return
        primitives = []
        for colour, (surface, follows) in parts.items():
            joints = np.zeros((len(surface.vertices), 4), np.uint8)
            joints[:, 0] = follows
            weights = np.zeros((len(surface.vertices), 4), np.uint8)
            weights[:, 0] = 255
            primitive = self._primitive(surface, colour)
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
                inverseBindMatrices=self._binds(self.track.rest, bodies),
            )
        )
        # a skinned mesh's node is at the root, without a transform
        g.nodes.append(gl.Node(name=f"{root}_figure", mesh=len(g.meshes) - 1, skin=len(g.skins) - 1))
        g.scenes[0].nodes.append(len(g.nodes) - 1)

    def _add_flesh_root(self, soft: list[SoftSurface]) -> None:
        """The parent of all nodes of flesh: the joints of a skin must have a root in common."""
        self.free_nodes = self.track.free_nodes() if soft else {}
        if soft:
            self.gltf.nodes.append(gl.Node(name="flesh"))
            self.flesh_root = len(self.gltf.nodes) - 1
            self.gltf.scenes[0].nodes.append(self.flesh_root)

    def _add_flesh(self, surfaces: list[SoftSurface], nodes: dict[int, int]) -> None:
        """Soft surfaces as a skin over the nodes of the flesh: linear blending with barycentric weights is exact.

        Joints only translate: a free node is a body of its own, one fixed to a bone gets an extra joint that does not rotate.
        """
        g, points = self.gltf, self.track.points
        joints = []
        bodies = {point: body for body, point in self.free_nodes.items()}
        for k, name in enumerate(points.names):
            if k in bodies:
                joints.append(nodes[bodies[k]])
                continue
            path = points.places[:, k]
            g.nodes.append(gl.Node(name=name, translation=_points(path[0]).tolist()))
            joints.append(len(g.nodes) - 1)
            self._put_under(self.flesh_root, joints[-1])
            if np.ptp(path, axis=0).max() > 1e-9:
                self._animate(joints[-1], "translation", _points(path))
        primitives = []
        for soft in surfaces:
            weights = soft.weights.astype("<f4")
            weights /= weights.sum(axis=1, keepdims=True, dtype=np.float32)
            follows = np.where(weights > 0, soft.nodes, 0).astype("<u2")
            primitive = self._primitive(soft.rest, soft.colour)
            primitive.attributes.JOINTS_0 = self._accessor(follows, gl.VEC4, gl.UNSIGNED_SHORT, gl.ARRAY_BUFFER)
            primitive.attributes.WEIGHTS_0 = self._accessor(weights, gl.VEC4, gl.FLOAT, gl.ARRAY_BUFFER)
            primitives.append(primitive)
        binds = np.tile(np.eye(4), (len(joints), 1, 1))
        binds[:, :3, 3] = -_points(points.rest)
        matrices = self._accessor(binds.transpose(0, 2, 1).reshape(-1, 16).astype("<f4"), gl.MAT4, gl.FLOAT)
        g.meshes.append(gl.Mesh(name="flesh_surface", primitives=primitives))
        g.skins.append(gl.Skin(joints=joints, skeleton=self.flesh_root, inverseBindMatrices=matrices))
        g.nodes.append(gl.Node(name="flesh_surface", mesh=len(g.meshes) - 1, skin=len(g.skins) - 1))
        g.scenes[0].nodes.append(len(g.nodes) - 1)

    def _binds(self, rest: Pose, bodies: list[int]) -> int:
        matrices = np.tile(np.eye(4), (len(bodies), 1, 1))
        for k, body in enumerate(bodies):
            rotation = quat_to_matrix(rest.quat[body])[np.ix_([1, 2, 0], [1, 2, 0])]
            matrices[k, :3, :3] = rotation.T
            matrices[k, :3, 3] = -rotation.T @ _points(rest.position[body])
        columns = matrices.transpose(0, 2, 1).reshape(-1, 16).astype("<f4")
        return self._accessor(columns, gl.MAT4, gl.FLOAT)

    def _add_rigid(self, body: int, nodes: dict[int, int]) -> None:
        pieces = body_surfaces(self.track.model, body)
        if not pieces:
            return
        primitives = [self._primitive(surface, colour) for colour, surface in pieces]
        g = self.gltf
        name = self.track.name(body)
        g.meshes.append(gl.Mesh(name=name, primitives=primitives))
        if body == 0:
            g.nodes.append(gl.Node(name=name, mesh=len(g.meshes) - 1))
            g.scenes[0].nodes.append(len(g.nodes) - 1)
        else:
            g.nodes[nodes[body]].mesh = len(g.meshes) - 1

    def _primitive(self, surface: Surface, colour: Colour) -> gl.Primitive:
        attributes = gl.Attributes(
            POSITION=self._accessor(_points(surface.vertices).astype("<f4"), gl.VEC3, gl.FLOAT, gl.ARRAY_BUFFER, bounds=True),
            NORMAL=self._accessor(_points(surface.normals).astype("<f4"), gl.VEC3, gl.FLOAT, gl.ARRAY_BUFFER),
        )
        small = len(surface.vertices) < 65535
        faces = surface.faces.ravel().astype("<u2" if small else "<u4")
        kind = gl.UNSIGNED_SHORT if small else gl.UNSIGNED_INT
        indices = self._accessor(faces, gl.SCALAR, kind, gl.ELEMENT_ARRAY_BUFFER)
        return gl.Primitive(attributes=attributes, indices=indices, material=self._material(colour), mode=gl.TRIANGLES)

    def _material(self, colour: Colour) -> int:
        if colour not in self.materials:
            light = palette.linear((colour[0], colour[1], colour[2]))
            shine = gl.PbrMetallicRoughness(baseColorFactor=[*light, colour[3]], metallicFactor=0.0, roughnessFactor=0.42)
            name = material_name(colour, len(self.materials))
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
