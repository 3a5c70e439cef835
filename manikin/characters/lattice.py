"""A coarse tetrahedral mesh around any closed surface, from a lattice or from a mesh made by hand.

The lattice is body-centred cubic: its tetrahedra are all alike. Where an edge crosses the surface, its nearer end is moved
there (the warp of Labelle & Shewchuk 2007, applied to every such edge, so that nothing has to be cut).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from manikin.characters.enclose import Shell, enclosing, rounder
from manikin.characters.sdf import Mesh
from manikin.characters.tets import Tets, embed, oriented, volumes
from manikin.errors import InputError

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# how far outside a vertex may lie, as a barycentric weight, before the mesh is widened rather than pushed out
FAR = 0.3


def surround(surface: Mesh, spacing: ArrayLike, centre: ArrayLike = (0.0, 0.0, 0.0)) -> Tets:
    """A mesh that encloses the whole surface. spacing [m]: edge of the lattice's cubes, one number or one per axis.

    centre: a point where a cube of the lattice has its middle; put it on the character's plane of symmetry.
    """
    step = np.broadcast_to(np.asarray(spacing, float), (3,))
    depth = _Depth(surface)
    nodes, elements = _lattice(surface, step, np.asarray(centre, float))
    nodes, elements = _warped(nodes, elements, depth, surface.vertices)
    nodes = _evened(nodes, elements, depth)
    nodes = rounder(nodes, elements, Tets(nodes, elements).boundary(), wanted=0.35, rounds=30)
    return _sound(enclosing(_tidy(nodes, elements), surface))


def fitted(tets: Tets, surface: Mesh) -> Tets:
    """A mesh made by hand, its outer nodes moved to the surface and then out until it holds all of it."""
    depth, rim = _Depth(surface), np.unique(tets.boundary())
    nodes = tets.nodes.copy()
    nodes[rim] = depth.onto(nodes[rim])
    nodes = Shell(tets, surface).even(nodes)
    return _sound(enclosing(Tets(nodes, tets.elements), surface))


def _sound(tets: Tets) -> Tets:
    if tets.shape_quality().min() < 0.05:
        raise InputError("the mesh does not fit the surface (a tetrahedron is flat or inside out): change its spacing")
    return tets


class _Depth:
    """Signed distance to a closed surface, negative inside, from its nearest vertex or face centre and the normal there."""

    def __init__(self, surface: Mesh) -> None:
        corners = surface.vertices[surface.faces]
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-15)
        self.points = np.concatenate([surface.vertices, corners.mean(axis=1)])
        self.normals = np.concatenate([surface.normals, across])
        self.tree = cKDTree(self.points)

    def __call__(self, where: Array) -> Array:
        # the plane through the nearest sample is a better surface than the sample itself
        distance, nearest = self.tree.query(where)
        height = ((where - self.points[nearest]) * self.normals[nearest]).sum(axis=1)
        near = distance < 3.0 * np.abs(height)
        signed: Array = np.where(near, np.copysign(distance, height), height)
        return signed

    def onto(self, where: Array) -> Array:
        """The points moved onto the surface."""
        for _ in range(3):
            _, nearest = self.tree.query(where)
            normal = self.normals[nearest]
            where = where - normal * ((where - self.points[nearest]) * normal).sum(axis=1, keepdims=True)
        return where


def _lattice(surface: Mesh, step: Array, centre: Array) -> tuple[Array, Ints]:
    """Body-centred cubic lattice over the surface's box: two neighbouring cube centres and an edge of the face between."""
    low = np.floor((surface.vertices.min(axis=0) - centre) / step).astype(int) - 1
    high = np.ceil((surface.vertices.max(axis=0) - centre) / step).astype(int) + 1
    cells = np.stack(np.meshgrid(*[np.arange(a, b + 1) for a, b in zip(low, high)], indexing="ij"), axis=-1).reshape(-1, 3)
    tets = []
    # coordinates in half steps: centres are even, corners odd
    for axis in range(3):
        u, v = np.eye(3, dtype=int)[(axis + 1) % 3], np.eye(3, dtype=int)[(axis + 2) % 3]
        one, two = 2 * cells, 2 * cells + 2 * np.eye(3, dtype=int)[axis]
        middle = one + np.eye(3, dtype=int)[axis]
        ring = [middle + u + v, middle - u + v, middle - u - v, middle + u - v]
        for k in range(4):
            tets.append(np.stack([one, two, ring[k], ring[(k + 1) % 4]], axis=1))
    corners = np.concatenate(tets)
    unique, numbers = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    nodes = centre + 0.5 * step * unique
    elements = numbers.reshape(-1, 4)
    return nodes, oriented(nodes, elements)


def _warped(nodes: Array, elements: Ints, depth: _Depth, points: Array) -> tuple[Array, Ints]:
    """Move the nearer end of each edge that crosses the surface onto it; keep what then lies inside."""
    signed = depth(nodes)
    edges = np.unique(np.sort(elements[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2), axis=1), axis=0)
    crossing = edges[(signed[edges[:, 0]] < 0) != (signed[edges[:, 1]] < 0)]
    inner = np.where(signed[crossing[:, 0]] < 0, crossing[:, 0], crossing[:, 1])
    outer = crossing.sum(axis=1) - inner
    part = _crossing(nodes[inner], nodes[outer], depth)
    moving = np.where(part < 0.5, inner, outer)
    target = nodes[inner] + part[:, None] * (nodes[outer] - nodes[inner])
    length = np.linalg.norm(target - nodes[moving], axis=1)
    # each node moves by the mean of its shortest displacements, so that mirrored nodes move alike
    order = np.lexsort((length, moving))
    shortest = np.full(len(nodes), np.inf)
    np.minimum.at(shortest, moving, length)
    chosen = order[length[order] <= shortest[moving[order]] + 1e-9]
    total, count = np.zeros_like(nodes), np.zeros(len(nodes))
    np.add.at(total, moving[chosen], target[chosen])
    np.add.at(count, moving[chosen], 1.0)
    snapped = count > 0
    nodes = nodes.copy()
    nodes[snapped] = depth.onto(total[snapped] / count[snapped, None])

    side = np.where(snapped, 0, np.where(signed < 0, -1, 1))
    corners = side[elements]
    kept = (corners <= 0).all(axis=1) & (corners < 0).any(axis=1)
    flat = (corners == 0).all(axis=1)
    middle = depth(nodes[elements].mean(axis=1))
    height = np.abs(volumes(nodes, elements)) ** (1 / 3)
    kept |= flat & (middle < -0.25 * height)
    return nodes, elements[_covering(nodes, elements, kept, points)]


def _covering(nodes: Array, elements: Ints, kept: NDArray[np.bool_], points: Array) -> NDArray[np.bool_]:
    """Add the tetrahedra that hold points far outside of those kept: tips too thin to have a node inside."""
    if not kept.any():
        raise InputError("no node of the lattice lies inside the surface: use a finer one")
    sound = np.flatnonzero(Tets(nodes, elements).shape_quality() > 0.1)
    far = embed(points, Tets(nodes, elements[kept])).weights.min(axis=1) < -FAR
    if far.any():
        holder = embed(points[far], Tets(nodes, elements[sound])).element
        kept = kept.copy()
        kept[sound[holder]] = True
    return kept


def _crossing(inside: Array, outside: Array, depth: _Depth) -> Array:
    """Where between inside (0) and outside (1) the surface lies, by bisection."""
    low, high = np.zeros(len(inside)), np.ones(len(inside))
    for _ in range(10):
        middle = 0.5 * (low + high)
        within = depth(inside + middle[:, None] * (outside - inside)) < 0
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    crossing: Array = 0.5 * (low + high)
    return crossing


def _evened(nodes: Array, elements: Ints, depth: _Depth, rounds: int = 12) -> Array:
    """Move nodes halfway to the mean of their neighbours, along the surface if on it, where no tetrahedron gets worse."""
    tets = Tets(nodes, elements)
    rim = np.unique(tets.boundary())
    pairs = elements[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    on_rim = np.isin(np.arange(len(nodes)), rim)
    # a node of the surface follows its neighbours on the surface
    pairs = pairs[~on_rim[pairs[:, 0]] | on_rim[pairs[:, 1]]]
    count = np.bincount(pairs[:, 0], minlength=len(nodes))
    for _ in range(rounds):
        total = np.stack([np.bincount(pairs[:, 0], nodes[pairs[:, 1], k], len(nodes)) for k in range(3)], axis=1)
        wanted = np.where(count[:, None] > 0, 0.5 * nodes + 0.5 * total / np.maximum(count, 1)[:, None], nodes)
        wanted[rim] = depth.onto(wanted[rim])
        before, after = Tets(nodes, elements).shape_quality(), Tets(wanted, elements).shape_quality()
        # nodes of tetrahedra that would get worse and are not good stay where they are
        worse = (after < before) & (after < 0.45)
        stay = np.unique(elements[worse])
        wanted[stay] = nodes[stay]
        nodes = wanted
    return nodes


def _tidy(nodes: Array, elements: Ints) -> Tets:
    """Leave out flat tetrahedra on the rim and nodes that then have none."""
    while True:
        tets = Tets(nodes, elements)
        quality = tets.shape_quality()
        outer = {tuple(sorted(face)) for face in tets.boundary().tolist()}
        corners = elements[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]]
        open_faces = np.array([[tuple(sorted(f)) in outer for f in tet] for tet in corners.tolist()]).sum(axis=1)
        drop = (quality < 0.12) & (open_faces > 0)
        if not drop.any():
            break
        elements = elements[~drop]
    used, flat = np.unique(elements, return_inverse=True)
    return Tets(nodes[used], flat.reshape(-1, 4))
