"""Tetrahedral meshes: volumes, shapes, where points lie in them, and moments of closed surfaces."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree

from manikin.characters.sdf import Mesh

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


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
        """1 for a regular tetrahedron, 0 for a flat one (m,): volume over the cube of the mean edge."""
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


def oriented(nodes: Array, elements: Ints) -> Ints:
    """The same tetrahedra, each numbered so that its volume is positive."""
    wrong = volumes(nodes, elements) < 0
    out = elements.copy()
    out[wrong, 0], out[wrong, 1] = elements[wrong, 1], elements[wrong, 0]
    return out


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


def moments(surface: Mesh) -> tuple[float, Array, Array]:
    """Volume [m^3], first moment (3,) and second moment (3, 3) about the origin of the inside of a closed surface.

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
