"""Meshes around surfaces: closed forms for boxes and balls, and lattices that hold what they should."""

import numpy as np
import pytest

from manikin.characters import sdf
from manikin.characters.lathe import ball, loft
from manikin.characters.lattice import fitted, surround
from manikin.characters.sweep import tube
from manikin.characters.tets import Tets, embed, moments, volumes
from manikin.errors import InputError


def test_moments_of_a_ball() -> None:
    mesh = ball([0.3, -0.2, 0.5], 0.1)
    volume, first, second = moments(mesh)
    # an inscribed polyhedron is a little smaller, alike in all directions
    assert 0.96 < volume / (4 / 3 * np.pi * 0.1**3) < 1.0
    assert np.allclose(first / volume, [0.3, -0.2, 0.5], atol=1e-12)
    about = second / volume - np.outer(first, first) / volume**2
    assert np.allclose(np.diag(about), 0.1**2 / 5, rtol=0.05)
    assert np.abs(about - np.diag(np.diag(about))).max() < 1e-12


def test_volumes_are_signed() -> None:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert volumes(corners, np.array([[0, 1, 2, 3], [1, 0, 2, 3]])) == pytest.approx([1 / 6, -1 / 6])


def test_a_regular_tetrahedron_is_best() -> None:
    regular = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    mesh = Tets(regular, np.array([[0, 2, 1, 3]]))
    assert abs(mesh.shape_quality()[0]) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", ["ball", "bean"])
def test_a_lattice_holds_the_whole_surface(shape: str) -> None:
    solid = sdf.ball([0, 0, 0], 0.12)
    if shape == "bean":
        solid = solid.join(sdf.ball([0.13, 0.02, 0.05], 0.09), 0.06)
    surface = sdf.mesh(solid, 900)
    tets = surround(surface, 0.075)
    assert tets.volumes.min() > 0
    assert tets.shape_quality().min() > 0.05
    place = embed(surface.vertices, tets)
    assert place.weights.min() > -1e-12
    assert np.abs(place.matrix(len(tets.nodes)) @ tets.nodes - surface.vertices).max() < 1e-12
    # it holds the surface without much room
    assert 1.0 < tets.volumes.sum() / moments(surface)[0] < 1.6
    # each inner face belongs to two tetrahedra: the outer ones close
    edges = np.sort(tets.boundary()[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_a_lattice_that_is_too_coarse_is_refused() -> None:
    thin = sdf.mesh(sdf.cone([-0.3, 0, 0], [0.3, 0, 0], 0.02, 0.02), 600)
    with pytest.raises(InputError, match="use a finer one"):
        surround(thin, 0.2)


def test_a_swept_tube_is_well_shaped_and_holds_its_surface() -> None:
    x = np.linspace(-0.3, 0.3, 40)
    radius = 0.05 * np.sqrt(np.clip(1 - (x / 0.3) ** 8, 0, 1))
    surface = loft(np.stack([x, 0 * x, 0 * x], axis=1), radius, radius)
    line = np.linspace(-0.28, 0.28, 21)
    size = np.full((21, 1), 0.05)
    tets = fitted(tube(np.stack([line, 0 * line, 0 * line], axis=1), size * [0, 1, 0], size * [0, 0, 1]), surface)
    assert tets.shape_quality().min() > 0.3
    assert embed(surface.vertices, tets).weights.min() > -1e-12
    # its own mirror image
    mirrored = tets.nodes * [1, -1, 1]
    assert np.abs(np.sort(mirrored.round(9), axis=0) - np.sort(tets.nodes.round(9), axis=0)).max() < 1e-9
