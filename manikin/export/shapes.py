"""Surfaces of MuJoCo geoms as triangles with normals, in the frame of their body."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin import palette
from manikin.spatial import rotate

Array = NDArray[np.float64]
Faces = NDArray[np.int64]
# red, green, blue (sRGB), opacity
Colour = tuple[float, float, float, float]


@dataclass(frozen=True)
class Surface:
    """vertices (n, 3) [m], normals (n, 3), faces (m, 3), counter-clockwise seen from outside."""

    vertices: Array
    normals: Array
    faces: Faces

    def moved(self, place: Array, quat: Array) -> "Surface":
        return Surface(rotate(quat, self.vertices) + place, rotate(quat, self.normals), self.faces)

    @staticmethod
    def merged(parts: "list[Surface]") -> "Surface":
        shifts = np.cumsum([0] + [len(p.vertices) for p in parts[:-1]])
        return Surface(
            np.concatenate([p.vertices for p in parts]),
            np.concatenate([p.normals for p in parts]),
            np.concatenate([p.faces + s for p, s in zip(parts, shifts)]),
        )


def body_surfaces(model: mujoco.MjModel, body: int) -> list[tuple[Colour, Surface]]:
    """Visible surfaces of a body in its own frame, with their colours."""
    out = []
    start, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    for geom in range(start, start + count):
        if model.geom_group[geom] > 2:
            continue
        surface = geom_surface(model, geom)
        if surface is not None:
            out.append((_colour(model, geom), surface))
    return out


def _colour(model: mujoco.MjModel, geom: int) -> Colour:
    material = int(model.geom_matid[geom])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
    r, g, b, a = (round(float(c), 6) for c in rgba)
    return r, g, b, a


def material_name(colour: Colour, number: int) -> str:
    """The palette's name of a colour; other colours are named by their number in the file."""
    known = [n for n, c in palette.MATERIALS.items() if np.allclose(c, colour[:3], atol=1e-4)]
    return known[0] if known else f"colour_{number}"


def geom_surface(model: mujoco.MjModel, geom: int) -> Surface | None:
    """The surface of a geom in its body's frame; None for planes and other things without one."""
    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    kinds = mujoco.mjtGeom
    if kind == kinds.mjGEOM_MESH:
        shape = _mesh(model, int(model.geom_dataid[geom]))
    elif kind == kinds.mjGEOM_BOX:
        shape = _box(size)
    elif kind == kinds.mjGEOM_SPHERE:
        shape = _capsule(float(size[0]), 0.0)
    elif kind == kinds.mjGEOM_CAPSULE:
        shape = _capsule(float(size[0]), float(size[1]))
    elif kind == kinds.mjGEOM_CYLINDER:
        shape = _cylinder(float(size[0]), float(size[1]))
    else:
        return None
    return shape.moved(model.geom_pos[geom], model.geom_quat[geom])


def _mesh(model: mujoco.MjModel, mesh: int) -> Surface:
    vertices = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]].astype(float)
    normals = model.mesh_normal[model.mesh_normaladr[mesh] :][: model.mesh_normalnum[mesh]].astype(float)
    rows = slice(int(model.mesh_faceadr[mesh]), int(model.mesh_faceadr[mesh] + model.mesh_facenum[mesh]))
    # vertices and normals have their own numbering: one corner per pair that occurs
    corners = np.stack([model.mesh_face[rows].ravel(), model.mesh_facenormal[rows].ravel()], axis=1)
    pairs, faces = np.unique(corners, axis=0, return_inverse=True)
    chosen = normals[pairs[:, 1]]
    chosen = chosen / np.maximum(np.linalg.norm(chosen, axis=1, keepdims=True), 1e-12)
    return Surface(vertices[pairs[:, 0]], chosen, faces.reshape(-1, 3).astype(np.int64))


def _box(half: Array) -> Surface:
    vertices: list[Array] = []
    normals: list[Array] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = np.zeros(3)
            normal[axis] = sign
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * sign
            start = len(vertices)
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                vertices.append((normal + a * u + b * v) * half)
                normals.append(normal)
            faces += [[start, start + 1, start + 2], [start, start + 2, start + 3]]
    return Surface(np.array(vertices), np.array(normals), np.array(faces))


def _rings(normals: Array, vertices: Array, around: int) -> Surface:
    """Stitch rings (r, around, 3) from top to bottom into a surface."""
    rings = len(vertices)
    faces = []
    for r in range(rings - 1):
        for a in range(around):
            b = (a + 1) % around
            p, q, s, t = r * around + a, r * around + b, (r + 1) * around + a, (r + 1) * around + b
            faces += [[p, s, t], [p, t, q]]
    return Surface(vertices.reshape(-1, 3), normals.reshape(-1, 3), np.array(faces))


def _circle(around: int) -> Array:
    turn = np.linspace(0, 2 * np.pi, around, endpoint=False)
    return np.stack([np.cos(turn), np.sin(turn), np.zeros(around)], axis=1)


def _capsule(radius: float, half: float, around: int = 32, rings: int = 9) -> Surface:
    """A capsule along z; a sphere when half is zero. At the poles a tiny ring is closed with a lid: no empty triangles."""
    circle = _circle(around)
    normals, vertices = [], []
    for side, angles in (
        (1.0, np.linspace(np.pi / 2 - 1e-3, 0, rings)),
        (-1.0, np.linspace(0, -np.pi / 2 + 1e-3, rings)),
    ):
        for angle in angles[(1 if side < 0 and half == 0 else 0) :]:
            normal = circle * np.cos(angle) + np.array([0.0, 0.0, np.sin(angle)])
            normals.append(normal)
            vertices.append(normal * radius + np.array([0.0, 0.0, side * half]))
    open_ended = _rings(np.array(normals), np.array(vertices), around)
    lid = np.array([[0, a, a + 1] for a in range(1, around - 1)])
    faces = np.concatenate([open_ended.faces, lid, lid[:, ::-1] + len(open_ended.vertices) - around])
    return Surface(open_ended.vertices, open_ended.normals, faces)


def _cylinder(radius: float, half: float, around: int = 48) -> Surface:
    circle = _circle(around)
    up = np.array([0.0, 0.0, 1.0])
    side = _rings(np.array([circle, circle]), np.array([circle * radius + up * half, circle * radius - up * half]), around)
    caps = []
    for sign in (1.0, -1.0):
        vertices = np.concatenate([[up * half * sign], circle * radius + up * half * sign])
        faces = [[0, 1 + a, 1 + (a + 1) % around][:: int(sign)] for a in range(around)]
        caps.append(Surface(vertices, np.tile(up * sign, (around + 1, 1)), np.array(faces)))
    return Surface.merged([side, *caps])
