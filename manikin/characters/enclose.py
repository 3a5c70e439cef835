"""A coarse mesh that encloses a fine surface: outer nodes move out until every vertex lies inside a tetrahedron.

Then none of a vertex's four barycentric weights is negative, as file formats for skins require.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from manikin.characters.sdf import Mesh
from manikin.characters.tets import Tets, embed
from manikin.errors import InputError

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# how far outside a vertex may lie, as a barycentric weight: one on a face has a weight of about zero
INSIDE = -1e-12


def enclosing(tets: Tets, surface: Mesh) -> Tets:
    """Outer faces pushed out until no vertex of the surface is outside, then pulled in as far as that allows."""
    shell = Shell(tets, surface)
    nodes = shell.pushed(shell.even(tets.nodes))
    for _ in range(8):
        try:
            tighter = shell.pushed(shell.drawn_in(nodes), rounds=40)
        except InputError:
            # pulled in too far somewhere: keep the last good one
            break
        if Tets(tighter, tets.elements).shape_quality().min() < 0.12:
            break
        nodes = tighter
    return Tets(nodes, tets.elements)


_MIRROR = np.array([1.0, -1.0, 1.0])


@dataclass(frozen=True)
class Shell:
    """The outer faces of a mesh and the surface that they enclose."""

    tets: Tets
    surface: Mesh

    @cached_property
    def partner(self) -> Ints | None:
        """The node on the other side of the plane y = 0 of each node; None if the mesh is not its own mirror image."""
        distance, partner = cKDTree(self.tets.nodes).query(self.tets.nodes * _MIRROR)
        return np.asarray(partner, np.int64) if np.max(distance) < 1e-6 else None

    def even(self, nodes: Array) -> Array:
        """Nodes averaged with their mirror images, if the mesh began as its own mirror image."""
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
            nodes = rounder(nodes + 0.7 * reach[:, None] * _out(nodes, faces), self.tets.elements, faces)
            nodes = self.even(nodes)
        worst = float(place.weights.min())
        raise InputError(f"the lattice is too coarse for the surface (a vertex stays {-worst:.3f} outside): use a finer one")

    def drawn_in(self, nodes: Array) -> Array:
        """Nodes whose faces all have clearance to the surface move in by half of it."""
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
        """The outer face nearest to each point, the point's weights in it, and its height above it [m]."""
        corners = nodes[faces]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        face, weight = _nearest_face(points, corners)
        return face, weight, ((points - corners[face, 0]) * normal[face]).sum(axis=1)


def rounder(nodes: Array, elements: Ints, faces: Ints, wanted: float = 0.12, rounds: int = 3) -> Array:
    """Flat tetrahedra made rounder: each of their nodes moves away from the opposite face, outer ones never inwards."""
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
            # towards the side of the face where the corner belongs
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
    """Outward direction (n, 3) of the nodes on the outer faces; zero for the others."""
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
