"""Surfaces of revolution and wound wires: what a lathe and a spring coiler would make, each as an `sdf.Mesh`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manikin.characters.sdf import Mesh

Array = NDArray[np.float64]
# points (radius, height) [m] of one smooth part of an outline
Stroke = Sequence[tuple[float, float]]


def lathe(strokes: Sequence[Stroke], around: int = 40, axis: str = "z") -> Mesh:
    """The outline revolved about an axis ("x" or "z"). Edges between strokes are sharp.

    Where an outline climbs along the axis, its surface faces away from the axis; where it goes back, towards the axis.
    """
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    vertices, normals, faces, start = [], [], [], 0
    for stroke in strokes:
        line = np.asarray(stroke, float)
        tangent = np.gradient(line, axis=0)
        out = np.stack([tangent[:, 1], -tangent[:, 0]], axis=1)
        out /= np.linalg.norm(out, axis=1, keepdims=True)
        for (radius, height), (sideways, up) in zip(line, out):
            vertices.append(np.column_stack([radius * ring, np.full(around, height)]))
            normals.append(np.column_stack([sideways * ring, np.full(around, up)]))
        for k in range(len(line) - 1):
            here = start + k * around + np.arange(around)
            next_to = start + k * around + (np.arange(around) + 1) % around
            # a ring of radius zero would give triangles without area
            if line[k, 0] > 1e-9:
                faces.append(np.stack([here, next_to, next_to + around], axis=1))
            if line[k + 1, 0] > 1e-9:
                faces.append(np.stack([here, next_to + around, here + around], axis=1))
        start += len(line) * around
    order = [2, 0, 1] if axis == "x" else [0, 1, 2]
    return Mesh(np.concatenate(vertices)[:, order], np.concatenate(faces).astype(np.int32), np.concatenate(normals)[:, order])


def arc(centre: tuple[float, float], radius: float, start: float, end: float, count: int = 7) -> list[tuple[float, float]]:
    """Points of an outline on a circle, from one angle [deg] to another; 0 points away from the axis, 90 along it."""
    angles = np.deg2rad(np.linspace(start, end, count))
    return [(centre[0] + radius * float(np.cos(a)), centre[1] + radius * float(np.sin(a))) for a in angles]


def tube(path: ArrayLike, radius: float, around: int = 8) -> Mesh:
    """A wire of the given radius along points (n, 3); its ends stay open."""
    line = np.asarray(path, float)
    along = np.gradient(line, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    # transport one cross direction along the wire, so that it does not twist
    side = np.cross(along[0], np.eye(3)[np.abs(along[0]).argmin()])
    sides = np.empty_like(line)
    for k, direction in enumerate(along):
        side = side - direction * (side @ direction)
        side /= np.linalg.norm(side)
        sides[k] = side
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    normals = np.cos(angle)[None, :, None] * sides[:, None] + np.sin(angle)[None, :, None] * np.cross(along, sides)[:, None]
    vertices = line[:, None] + radius * normals
    here = (np.arange(len(line) - 1)[:, None] * around + np.arange(around)).ravel()
    next_to = (np.arange(len(line) - 1)[:, None] * around + (np.arange(around) + 1) % around).ravel()
    faces = np.concatenate(
        [np.stack([here, next_to, next_to + around], axis=1), np.stack([here, next_to + around, here + around], axis=1)]
    )
    return Mesh(vertices.reshape(-1, 3), faces.astype(np.int32), normals.reshape(-1, 3))


def coil(start: ArrayLike, end: ArrayLike, radius: float, wire: float, turns: int) -> Mesh:
    """A spring between two points, with short straight ends on its axis."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    axis = (b - a) / np.linalg.norm(b - a)
    u = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    u /= np.linalg.norm(u)
    v = np.cross(axis, u)
    t = np.linspace(0.0, 1.0, 14 * turns + 1)[:, None]
    angle = 2.0 * np.pi * turns * t
    # the first and last half revolution lead in from the axis
    grow = radius * np.minimum(1.0, np.minimum(t, 1.0 - t) * 2.0 * turns)
    return tube(a + t * (b - a) + grow * (np.cos(angle) * u + np.sin(angle) * v), wire)


def joined(parts: Sequence[Mesh]) -> Mesh:
    """Several surfaces as one."""
    shifts = np.cumsum([0] + [len(p.vertices) for p in parts[:-1]])
    return Mesh(
        np.concatenate([p.vertices for p in parts]),
        np.concatenate([p.faces + s for p, s in zip(parts, shifts)]).astype(np.int32),
        np.concatenate([p.normals for p in parts]),
    )


def moved(mesh: Mesh, by: ArrayLike) -> Mesh:
    """The same surface shifted."""
    return Mesh(mesh.vertices + np.asarray(by, float), mesh.faces, mesh.normals)


def rod(start: ArrayLike, end: ArrayLike, radius: float) -> Mesh:
    """A round bar with rounded ends between two points."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    axis = (b - a) / np.linalg.norm(b - a)
    length = float(np.linalg.norm(b - a))
    outline = [*arc((0.0, radius), radius, -89, 0, 5), *arc((0.0, length - radius), radius, 0, 89, 5)]
    mesh = lathe([outline], around=16)
    u = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
    u /= np.linalg.norm(u)
    frame = np.stack([u, np.cross(axis, u), axis])
    return Mesh(mesh.vertices @ frame + a, mesh.faces, mesh.normals @ frame)


def loft(line: ArrayLike, across: ArrayLike, up: ArrayLike, around: int = 28) -> Mesh:
    """A closed tube along a line (n, 3) in the direction of x: elliptic sections of half width `across` (y) and `up` (z).

    Sections without size close the ends; they become one point each.
    """
    middle, wide, tall = np.asarray(line, float), np.asarray(across, float), np.asarray(up, float)
    angle = 2.0 * np.pi * np.arange(around) / around
    rings = middle[1:-1, None] + np.stack(
        [np.zeros((len(middle) - 2, around)), np.outer(wide[1:-1], np.cos(angle)), np.outer(tall[1:-1], np.sin(angle))], axis=2
    )
    return ringed(rings, middle[0], middle[-1])


def ringed(rings: Array, first: Array, last: Array) -> Mesh:
    """A closed surface from rings (n, around, 3), counter-clockwise about the direction from the first pole to the last."""
    count, around = rings.shape[:2]
    vertices = np.concatenate([rings.reshape(-1, 3), [first, last]])
    here = (np.arange(count - 1)[:, None] * around + np.arange(around)).ravel()
    next_to = (np.arange(count - 1)[:, None] * around + (np.arange(around) + 1) % around).ravel()
    ring, after = np.arange(around), (np.arange(around) + 1) % around
    end, pole = (count - 1) * around, count * around
    faces = np.concatenate(
        [
            np.stack([here, next_to, next_to + around], axis=1),
            np.stack([here, next_to + around, here + around], axis=1),
            np.stack([after, ring, np.full(around, pole)], axis=1),
            np.stack([end + ring, end + after, np.full(around, pole + 1)], axis=1),
        ]
    ).astype(np.int32)
    return Mesh(vertices, faces, vertex_normals(vertices, faces))


def vertex_normals(vertices: Array, faces: NDArray[np.int32]) -> Array:
    """Unit normals (n, 3): the mean of the faces around each vertex, by their area."""
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.stack([np.bincount(faces.ravel(), np.repeat(across[:, k], 3), len(vertices)) for k in range(3)], axis=1)
    normals: Array = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-15)
    return normals


def ball(centre: ArrayLike, radius: float) -> Mesh:
    """A sphere."""
    return moved(lathe([arc((0.0, 0.0), radius, -90, 90, 13)], around=24), centre)
