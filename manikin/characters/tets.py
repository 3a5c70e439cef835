"""A coarse tetrahedral mesh around any closed surface, and the surface's place in it.

The mesh is a body-centred cubic lattice whose tetrahedra are all alike; where an edge crosses the surface, its nearer end is
moved there (the warp of Labelle & Shewchuk 2007, taken to the end, so that nothing need be cut). Then the outer nodes move
out until every vertex of the surface lies inside a tetrahedron: its four barycentric weights are never negative.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree

from manikin.characters.sdf import Mesh
from manikin.errors import InputError

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# how far outside a vertex may lie, as a barycentric weight: one on a face has a weight of zero, give or take
INSIDE = -1e-12
# how far outside, likewise, a vertex may lie before the mesh is widened rather than pushed out
FAR = 0.3


@dataclass(frozen=True)
class Tets:
    """nodes (n, 3) [m] and tetrahedra (m, 4), all of positive volume."""

    nodes: Array
    elements: Ints

    @property
    def volumes(self) -> Array:
        return volumes(self.nodes, self.elements)

    def boundary(self) -> Ints:
        """Triangles (k, 3) that belong to one tetrahedron only, seen from outside counter-clockwise."""
        faces = self.elements[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        return faces[first[count == 1]]

    def shape_quality(self) -> Array:
        """1 for a regular tetrahedron, 0 for a flat one: volume by the cube of the mean edge (m,)."""
        corners = self.nodes[self.elements]
        edges = [corners[:, a] - corners[:, b] for a, b in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))]
        length = np.sqrt(np.mean([(e**2).sum(axis=1) for e in edges], axis=0))
        quality: Array = 6.0 * np.sqrt(2.0) * self.volumes / length**3
        return quality


def volumes(nodes: Array, elements: Ints) -> Array:
    """Signed volume (m,) [m^3] of each tetrahedron."""
    a, b, c, d = nodes[elements].transpose(1, 0, 2)
    signed: Array = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
    return signed


def surround(surface: Mesh, spacing: ArrayLike, centre: ArrayLike = (0.0, 0.0, 0.0)) -> Tets:
    """A mesh that holds the whole surface. spacing [m]: edge of the lattice's cubes, one number or one per axis.

    centre: a point where a cube of the lattice has its middle; put it on the character's plane of symmetry.
    """
    step = np.broadcast_to(np.asarray(spacing, float), (3,))
    depth = _Depth(surface)
    nodes, elements = _lattice(surface, step, np.asarray(centre, float))
    nodes, elements = _warped(nodes, elements, depth, surface.vertices)
    nodes = _evened(nodes, elements, depth)
    nodes = _rounder(nodes, elements, Tets(nodes, elements).boundary(), wanted=0.35, rounds=30)
    return _sound(_enclosing(_tidy(nodes, elements), surface))


def fitted(tets: Tets, surface: Mesh) -> Tets:
    """A mesh made by hand, its outer nodes moved to the surface and then out until it holds all of it."""
    depth, rim = _Depth(surface), np.unique(tets.boundary())
    nodes = tets.nodes.copy()
    nodes[rim] = depth.onto(nodes[rim])
    nodes = _Shell(tets, surface).even(nodes)
    return _sound(_enclosing(Tets(nodes, tets.elements), surface))


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


def oriented(nodes: Array, elements: Ints) -> Ints:
    """The same tetrahedra, each numbered so that its volume is positive."""
    wrong = volumes(nodes, elements) < 0
    out = elements.copy()
    out[wrong, 0], out[wrong, 1] = elements[wrong, 1], elements[wrong, 0]
    return out


def _warped(nodes: Array, elements: Ints, depth: _Depth, points: Array) -> tuple[Array, Ints]:
    """Move the nearer end of each edge that crosses the surface onto it; keep what then lies inside."""
    signed = depth(nodes)
    edges = np.unique(np.sort(elements[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2), axis=1), axis=0)
    crossing = edges[(signed[edges[:, 0]] < 0) != (signed[edges[:, 1]] < 0)]
    inner = np.where(signed[crossing[:, 0]] < 0, crossing[:, 0], crossing[:, 1])
    outer = crossing.sum(axis=1) - inner
    share = _crossing(nodes[inner], nodes[outer], depth)
    moving = np.where(share < 0.5, inner, outer)
    target = nodes[inner] + share[:, None] * (nodes[outer] - nodes[inner])
    way = np.linalg.norm(target - nodes[moving], axis=1)
    # each node goes the mean of its shortest ways, so that mirrored nodes move alike
    order = np.lexsort((way, moving))
    shortest = np.full(len(nodes), np.inf)
    np.minimum.at(shortest, moving, way)
    chosen = order[way[order] <= shortest[moving[order]] + 1e-9]
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
        raise InputError("no node of the lattice lies inside the surface: take a finer one")
    sound = np.flatnonzero(Tets(nodes, elements).shape_quality() > 0.1)
    far = embed(points, Tets(nodes, elements[kept])).weights.min(axis=1) < -FAR
    if far.any():
        holder = embed(points[far], Tets(nodes, elements[sound])).element
        kept = kept.copy()
        kept[sound[holder]] = True
    return kept


def _crossing(inside: Array, outside: Array, depth: _Depth) -> Array:
    """Share of the way from inside to outside at which the surface lies, by bisection."""
    low, high = np.zeros(len(inside)), np.ones(len(inside))
    for _ in range(10):
        middle = 0.5 * (low + high)
        within = depth(inside + middle[:, None] * (outside - inside)) < 0
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    crossing: Array = 0.5 * (low + high)
    return crossing


def _evened(nodes: Array, elements: Ints, depth: _Depth, rounds: int = 12) -> Array:
    """Each node half-way to the mean of its neighbours, those on the surface along it, as long as no tetrahedron suffers."""
    tets = Tets(nodes, elements)
    rim = np.unique(tets.boundary())
    pairs = elements[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
    pairs = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    on_rim = np.isin(np.arange(len(nodes)), rim)
    # a node of the surface listens to its neighbours there
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
    """Flat tetrahedra on the rim and nodes without any left out."""
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


# --- the fine surface in the coarse mesh


@dataclass(frozen=True)
class Embedding:
    """Where points lie in a mesh: their tetrahedron, its four nodes (n, 4) and the weights (n, 4), which sum to one."""

    element: Ints  # (n,)
    nodes: Ints
    weights: Array

    def matrix(self, count: int) -> csr_matrix:
        """The sparse map (n, count) from node positions to points."""
        rows = np.repeat(np.arange(len(self.nodes)), 4)
        return csr_matrix((self.weights.ravel(), (rows, self.nodes.ravel())), shape=(len(self.nodes), count))


def embed(points: Array, tets: Tets) -> Embedding:
    """The tetrahedron that holds each point, or the one it is least outside of."""
    corners = tets.nodes[tets.elements]
    inverse = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    _, near = cKDTree(corners.mean(axis=1)).query(points, min(40, len(corners)))
    local = np.einsum("vkij,vkj->vki", inverse[near], points[:, None] - corners[near, 0])
    weights = np.concatenate([1.0 - local.sum(axis=2, keepdims=True), local], axis=2)
    best = weights.min(axis=2).argmax(axis=1)
    row = np.arange(len(points))
    chosen = np.asarray(near)[row, best]
    return Embedding(chosen, tets.elements[chosen], weights[row, best])


def _enclosing(tets: Tets, surface: Mesh) -> Tets:
    """Outer faces pushed out until no vertex of the surface is outside, then drawn in as far as that allows."""
    shell = _Shell(tets, surface)
    nodes = shell.pushed(shell.even(tets.nodes))
    for _ in range(8):
        try:
            tighter = shell.pushed(shell.drawn_in(nodes), rounds=40)
        except InputError:
            # drawn in too far somewhere: the last good one stays
            break
        if Tets(tighter, tets.elements).shape_quality().min() < 0.12:
            break
        nodes = tighter
    return Tets(nodes, tets.elements)


_MIRROR = np.array([1.0, -1.0, 1.0])


@dataclass(frozen=True)
class _Shell:
    """The outer faces of a mesh and the surface that they shall hold."""

    tets: Tets
    surface: Mesh

    @cached_property
    def partner(self) -> Ints | None:
        """The node on the other side of the plane y = 0 of each node; None when the mesh is not its own mirror image."""
        distance, partner = cKDTree(self.tets.nodes).query(self.tets.nodes * _MIRROR)
        return np.asarray(partner, np.int64) if np.max(distance) < 1e-6 else None

    def even(self, nodes: Array) -> Array:
        """A mesh that began as its own mirror image stays one."""
        return nodes if self.partner is None else 0.5 * (nodes + nodes[self.partner] * _MIRROR)

    def pushed(self, nodes: Array, rounds: int = 200) -> Array:
        """Each vertex outside pushes the nearest outer face along its normal, a little at a time."""
        points, faces = self.surface.vertices, self.tets.boundary()
        for _ in range(rounds):
            place = embed(points, Tets(nodes, self.tets.elements))
            outside = place.weights.min(axis=1) < INSIDE
            if not outside.any():
                return nodes
            face, weight, height = self._under(points[outside], nodes, faces)
            reach = np.zeros(len(nodes))
            for k in range(3):
                move = (np.maximum(height, 0.0) + 2e-4) * np.clip(1.5 * weight[:, k], 0.1, 1.0)
                np.maximum.at(reach, faces[face, k], move)
            nodes = _rounder(nodes + 0.7 * reach[:, None] * _out(nodes, faces), self.tets.elements, faces)
            nodes = self.even(nodes)
        worst = float(place.weights.min())
        raise InputError(f"the lattice is too coarse for the surface (a vertex stays {-worst:.3f} outside): take a finer one")

    def drawn_in(self, nodes: Array) -> Array:
        """Nodes whose faces all have room to the surface move in by half of it."""
        faces = self.tets.boundary()
        face, _, height = self._under(self.surface.vertices, nodes, faces)
        room = np.full(len(faces), np.inf)
        np.minimum.at(room, face, np.maximum(-height, 0.0))
        room[np.isinf(room)] = 0.0
        slack = np.full(len(nodes), np.inf)
        for k in range(3):
            np.minimum.at(slack, faces[:, k], room)
        slack[np.isinf(slack)] = 0.0
        return self.even(nodes - 0.5 * slack[:, None] * _out(nodes, faces))

    def _under(self, points: Array, nodes: Array, faces: Ints) -> tuple[Ints, Array, Array]:
        """The outer face nearest to each point, the point's weights in it, and its height over it [m]."""
        corners = nodes[faces]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        face, weight = _nearest_face(points, corners)
        return face, weight, ((points - corners[face, 0]) * normal[face]).sum(axis=1)


def _rounder(nodes: Array, elements: Ints, faces: Ints, wanted: float = 0.12, rounds: int = 3) -> Array:
    """Flat tetrahedra made rounder: each of their nodes moves off the face across, those of the outer faces never inwards."""
    across = np.array([[1, 3, 2], [0, 2, 3], [0, 3, 1], [0, 1, 2]])
    for _ in range(rounds):
        quality = Tets(nodes, elements).shape_quality()
        bad = np.flatnonzero(quality < wanted)
        if not len(bad):
            break
        corners = nodes[elements[bad]]
        move, count = np.zeros_like(nodes), np.zeros(len(nodes))
        edge = np.linalg.norm(corners - corners.mean(axis=1, keepdims=True), axis=2).mean(axis=1)
        for k in range(4):
            a, b, c = corners[:, across[k]].transpose(1, 0, 2)
            # towards the side of the face on which the corner belongs
            normal = np.cross(b - a, c - a)
            normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-15)
            np.add.at(move, elements[bad, k], normal * (0.3 * edge * (wanted - quality[bad]))[:, None])
            np.add.at(count, elements[bad, k], 1.0)
        move /= np.maximum(count, 1.0)[:, None]
        out = _out(nodes, faces)
        inwards = np.minimum((move * out).sum(axis=1), 0.0)
        nodes = nodes + move - inwards[:, None] * out
    return nodes


def _out(nodes: Array, faces: Ints) -> Array:
    """Outward direction (n, 3) of the nodes on the outer faces; nothing for the others."""
    corners = nodes[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(nodes)
    for k in range(3):
        np.add.at(total, faces[:, k], normal)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    direction: Array = total / np.maximum(length, 1e-12)
    return np.where(length > 1e-12, direction, 0.0)


def _nearest_face(points: Array, corners: Array) -> tuple[Ints, Array]:
    """The triangle nearest to each point, and the point's weights in it, pulled to its edges."""
    _, near = cKDTree(corners.mean(axis=1)).query(points, min(12, len(corners)))
    a, b, c = corners[near].transpose(2, 0, 1, 3)
    u, v, w = b - a, c - a, points[:, None] - a
    uu, uv, vv = (u * u).sum(-1), (u * v).sum(-1), (v * v).sum(-1)
    wu, wv = (w * u).sum(-1), (w * v).sum(-1)
    slope = np.maximum(uu * vv - uv * uv, 1e-30)
    s, t = (vv * wu - uv * wv) / slope, (uu * wv - uv * wu) / slope
    weight = np.clip(np.stack([1 - s - t, s, t], axis=-1), 0.0, 1.0)
    weight /= weight.sum(axis=-1, keepdims=True)
    foot = np.einsum("pkc,pkci->pki", weight, corners[near])
    best = np.linalg.norm(points[:, None] - foot, axis=2).argmin(axis=1)
    row = np.arange(len(points))
    return np.asarray(near)[row, best], weight[row, best]


# --- mass


def moments(surface: Mesh) -> tuple[float, Array, Array]:
    """Volume [m^3], first moment (3,) and second moment (3, 3) about the origin of what a closed surface holds.

    Sums over signed tetrahedra between the origin and each triangle: exact for the triangles as they are.
    """
    corners = surface.vertices[surface.faces]
    a, b, c = corners.transpose(1, 0, 2)
    part = np.einsum("ij,ij->i", np.cross(a, b), c) / 6.0
    total = a + b + c
    second = np.einsum("f,fi,fj->ij", part, total, total)
    for corner in (a, b, c):
        second += np.einsum("f,fi,fj->ij", part, corner, corner)
    return float(part.sum()), part @ total / 4.0, second / 20.0
