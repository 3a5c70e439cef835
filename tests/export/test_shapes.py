"""Surfaces of simple shapes: closed, outward, of the right size and in the right place."""

from collections import Counter

import mujoco
import numpy as np
import pytest

from manikin.export.shapes import Surface, geom_surface

# MuJoCo's size: the volume [m^3] and the half extents along the geom's own axes
SHAPES = {
    "box": ("0.1 0.2 0.3", 8 * 0.006, (0.1, 0.2, 0.3)),
    "sphere": ("0.2", 4 / 3 * np.pi * 0.008, (0.2, 0.2, 0.2)),
    "capsule": ("0.1 0.3", np.pi * 0.01 * 0.6 + 4 / 3 * np.pi * 0.001, (0.1, 0.1, 0.4)),
    "cylinder": ("0.1 0.3", np.pi * 0.01 * 0.6, (0.1, 0.1, 0.3)),
}
PLACE = np.array([1.0, -2.0, 0.5])
# a quarter turn about x: the geom's y is the body's z
QUAT = "0.70710678118 0.70710678118 0 0"
TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def surface(shape: str) -> Surface:
    geom = f'<geom type="{shape}" size="{SHAPES[shape][0]}" pos="1 -2 0.5" quat="{QUAT}"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody><body>{geom}</body></worldbody></mujoco>")
    found = geom_surface(model, 0)
    assert found is not None
    return found


def test_closed_and_outward(surface: Surface, shape: str) -> None:
    # corners that share a place count as one
    _, same = np.unique(surface.vertices.round(9), axis=0, return_inverse=True)
    faces = same.reshape(-1)[surface.faces]
    edges = Counter((int(f[k]), int(f[(k + 1) % 3])) for f in faces for k in range(3))
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)
    a, b, c = (surface.vertices - PLACE)[surface.faces].transpose(1, 0, 2)
    assert (np.cross(a, b) * c).sum() / 6 == pytest.approx(SHAPES[shape][1], rel=0.02)


def test_size_and_place(surface: Surface, shape: str) -> None:
    own = (surface.vertices - PLACE) @ TURN
    assert np.allclose(own.max(axis=0), SHAPES[shape][2], atol=1e-6)
    assert np.allclose(own.min(axis=0), -np.array(SHAPES[shape][2]), atol=1e-6)


def test_normals_point_out_and_follow_the_winding(surface: Surface) -> None:
    assert np.abs(np.linalg.norm(surface.normals, axis=1) - 1).max() < 1e-9
    assert ((surface.vertices - PLACE) * surface.normals).sum(axis=1).min() > 0
    a, b, c = surface.vertices[surface.faces].transpose(1, 0, 2)
    assert (np.cross(b - a, c - a) * surface.normals[surface.faces].sum(axis=1)).sum(axis=1).min() > 0


def test_the_floor_has_no_surface() -> None:
    model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom type="plane" size="1 1 1"/></worldbody></mujoco>')
    assert geom_surface(model, 0) is None
