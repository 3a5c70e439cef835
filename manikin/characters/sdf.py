"""Modelling with signed distances: a few solids, smooth operations to join and cut them, and a mesher.

The round cone, the bound for the ellipsoid and the quadratic smooth minimum are by Inigo Quilez
(iquilezles.org/articles/distfunctions, /smin). Distances are negative inside. Their magnitude may be too small (the mesher
divides by the slope), but their sign is always right.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Field = Callable[[Array], Array]  # points (n, 3) -> signed distances (n,)


@dataclass(frozen=True)
class Shape:
    """A solid: its signed distance and a box that contains it. All lengths in the caller's unit."""

    distance: Field
    low: Array  # (3,)
    high: Array  # (3,)

    def join(self, other: "Shape", blend: float) -> "Shape":
        """Union with a fillet that reaches about `blend` to both sides of the seam."""
        swell = blend / 4.0
        return Shape(
            lambda p: smooth_min(self.distance(p), other.distance(p), blend),
            np.minimum(self.low, other.low) - swell,
            np.maximum(self.high, other.high) + swell,
        )

    def cut(self, other: "Shape", blend: float) -> "Shape":
        """The difference with `other`, the edge rounded over `blend`."""
        return Shape(lambda p: -smooth_min(-self.distance(p), other.distance(p), blend), self.low, self.high)

    def keep(self, other: "Shape", blend: float) -> "Shape":
        """The intersection with `other`, the edge rounded over `blend`."""
        return Shape(
            lambda p: -smooth_min(-self.distance(p), -other.distance(p), blend),
            np.maximum(self.low, other.low),
            np.minimum(self.high, other.high),
        )

    def moved(self, by: ArrayLike) -> "Shape":
        """The same solid shifted by `by` (3,)."""
        shift = np.asarray(by, float)
        return Shape(lambda p: self.distance(p - shift), self.low + shift, self.high + shift)


@dataclass(frozen=True)
class Mesh:
    """A closed triangle mesh, counter-clockwise seen from outside."""

    vertices: Array  # (n, 3)
    faces: NDArray[np.int32]  # (m, 3)
    normals: Array  # (n, 3), unit, outward


def smooth_min(a: Array, b: Array, blend: float) -> Array:
    """The smaller of two distances, rounded where they differ by less than `blend`."""
    near = np.maximum(blend - np.abs(a - b), 0.0)
    rounded: Array = np.minimum(a, b) - near * near / (4.0 * blend)
    return rounded


def cone(start: ArrayLike, end: ArrayLike, start_radius: float, end_radius: float, squash: ArrayLike = 1.0) -> Shape:
    """A tapered capsule. `squash` (3,) scales space about `start`: a flat palm is a cone squashed across."""
    a, scale = np.asarray(start, float), np.broadcast_to(np.asarray(squash, float), (3,))
    axis = (np.asarray(end, float) - a) / scale
    length2 = float(axis @ axis)
    drop = start_radius - end_radius
    slant2 = max(length2 - drop * drop, 1e-12)

    def distance(p: Array) -> Array:
        q = (p - a) / scale
        along = q @ axis
        beyond = along - length2
        across2 = ((q * length2 - along[:, None] * axis) ** 2).sum(axis=1)
        along2, beyond2 = along * along * length2, beyond * beyond * length2
        limit = np.sign(drop) * drop * drop * across2
        at_end = np.sqrt(across2 + beyond2) / length2 - end_radius
        at_start = np.sqrt(across2 + along2) / length2 - start_radius
        between = (np.sqrt(across2 * slant2 / length2) + along * drop) / length2 - start_radius
        in_start = np.sign(along) * slant2 * along2 < limit
        in_end = np.sign(beyond) * slant2 * beyond2 > limit
        unscaled: Array = np.where(in_end, at_end, np.where(in_start, at_start, between))
        return unscaled * float(scale.min())

    reach = max(start_radius, end_radius) * scale
    return Shape(distance, np.minimum(a, end) - reach, np.maximum(a, end) + reach)


def ellipsoid(centre: ArrayLike, radii: ArrayLike, axes: Array | None = None) -> Shape:
    """An ellipsoid; the columns of `axes` (3, 3) are its axes, those of the world if not given."""
    c, r = np.asarray(centre, float), np.asarray(radii, float)

    def distance(p: Array) -> Array:
        q = p - c if axes is None else (p - c) @ axes
        level = np.sqrt(((q / r) ** 2).sum(axis=1))
        slope = np.sqrt(((q / r**2) ** 2).sum(axis=1)) + 1e-9
        # the quotient is 0/0 in the centre
        bounded: Array = np.where(level < 1e-6, -r.min(), level * (level - 1.0) / slope)
        return bounded

    reach = r if axes is None else np.full(3, r.max())
    return Shape(distance, c - reach, c + reach)


def ball(centre: ArrayLike, radius: float) -> Shape:
    """A sphere."""
    c = np.asarray(centre, float)
    return Shape(lambda p: np.sqrt(((p - c) ** 2).sum(axis=1)) - radius, c - radius, c + radius)


def rounded_box(centre: ArrayLike, half_sides: ArrayLike, radius: float) -> Shape:
    """A box along the axes with edges of the given radius; the outer size stays 2 `half_sides`."""
    c, half = np.asarray(centre, float), np.asarray(half_sides, float)

    def distance(p: Array) -> Array:
        q = np.abs(p - c) - (half - radius)
        outside: Array = np.sqrt((np.maximum(q, 0.0) ** 2).sum(axis=1))
        inside: Array = np.minimum(q.max(axis=1), 0.0)
        return outside + inside - radius

    return Shape(distance, c - half, c + half)


def half_space(point: ArrayLike, normal: ArrayLike) -> Shape:
    """The half-space behind the plane through `point` with outward `normal` (any length)."""
    n = np.asarray(normal, float) / np.linalg.norm(np.asarray(normal, float))
    offset = float(np.asarray(point, float) @ n)
    return Shape(lambda p: p @ n - offset, np.full(3, -np.inf), np.full(3, np.inf))


def gradient(field: Field, points: Array, step: float) -> Array:
    """Gradient (n, 3) of a field by central differences over the corners of a tetrahedron."""
    total = np.zeros_like(points)
    for corner in ((1, -1, -1), (-1, -1, 1), (-1, 1, -1), (1, 1, 1)):
        direction = np.array(corner, float)
        total += direction * field(points + step * direction)[:, None]
    return total / (4.0 * step)


def mesh(shape: Shape, vertices: int, oversampling: float = 2.4) -> Mesh:
    """The surface of `shape` with about `vertices` vertices, denser where it is curved.

    `oversampling` is how many times more vertices the first, uniform mesh has: 2 to 3 for plain forms, more for thin
    fingers, whose box is much larger than they are.
    """
    from fast_simplification.simplify import simplify

    # Marching cubes gives 1.5 vertices per squared step of surface; a rounded form has half the surface of its box.
    sides = shape.high - shape.low
    area = float(sides[0] * sides[1] + sides[1] * sides[2] + sides[2] * sides[0])
    step = float(np.sqrt(1.5 * area / (oversampling * vertices)))
    points, faces = _marching_cubes(shape, step)
    points = _relaxed(shape.distance, points, faces, step, rounds=4)

    # a closed surface without handles has 2 V - 4 faces
    target = 2 * vertices - 4
    if len(faces) > target:
        fewer, faces = simplify(points.astype(np.float32), faces, target_count=target, agg=3)
        points = fewer.astype(np.float64)
    used, flat = np.unique(faces, return_inverse=True)
    points, faces = points[used], flat.reshape(-1, 3).astype(np.int32)
    points = _projected(shape.distance, points, step, rounds=3)

    normals = gradient(shape.distance, points, 0.15 * step)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-12
    # The gradient decides which side is out, whatever the mesher's convention.
    corners = points[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if float((across * normals[faces[:, 0]]).sum()) < 0.0:
        faces = np.ascontiguousarray(faces[:, ::-1])
    return Mesh(points, faces, normals)


def _marching_cubes(shape: Shape, step: float) -> tuple[Array, NDArray[np.int32]]:
    """A first, uniform mesh on a grid of the given step: points (n, 3) and faces (m, 3)."""
    from skimage.measure import marching_cubes

    low = shape.low - 1.5 * step
    counts = np.ceil((shape.high - low) / step).astype(int) + 3
    axes = [low[i] + step * np.arange(counts[i]) for i in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = shape.distance(grid)
    # A zero exactly on a grid point would give triangles without area.
    values[values == 0.0] = 1e-9 * step
    points, faces, _, _ = marching_cubes(values.reshape(tuple(counts)), 0.0, spacing=(step, step, step))
    return points.astype(np.float64) + low, faces.astype(np.int32)


def _projected(field: Field, points: Array, step: float, rounds: int) -> Array:
    """Points projected onto the zero set along the gradient, at most 0.7 steps per round."""
    for _ in range(rounds):
        slope = gradient(field, points, 0.1 * step)
        # in a crease the gradient nearly vanishes: limit the step
        move = slope * (field(points) / np.maximum((slope * slope).sum(axis=1), 0.05))[:, None]
        length = np.linalg.norm(move, axis=1, keepdims=True)
        points = points - move * np.minimum(1.0, 0.7 * step / np.maximum(length, 1e-12))
    return points


def _relaxed(field: Field, points: Array, faces: NDArray[np.int32], step: float, rounds: int) -> Array:
    """Even out the triangles: each point moves halfway to the mean of its neighbours, then back onto the surface."""
    # every edge runs once in each direction, so each neighbour counts once
    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    count = np.bincount(start, minlength=len(points))[:, None]
    for _ in range(rounds):
        total = np.stack([np.bincount(start, points[end, k], len(points)) for k in range(3)], axis=1)
        points = _projected(field, 0.5 * (points + total / count), step, rounds=1)
    return points
