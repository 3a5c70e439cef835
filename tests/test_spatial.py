"""Rotations: the axioms of a group, and the maps between its forms."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from manikin.spatial import (
    matrix_to_quat,
    quat_conjugate,
    quat_from_axis_angle,
    quat_from_rotvec,
    quat_multiply,
    quat_to_matrix,
    quat_to_rotvec,
    rotate,
    yaw_of,
)

Array = NDArray[np.float64]
ONE = np.array([1.0, 0.0, 0.0, 0.0])

numbers = st.floats(-3.0, 3.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
quats = st.tuples(numbers, numbers, numbers, numbers).map(np.array).filter(lambda q: np.linalg.norm(q) > 0.1)
quats = quats.map(lambda q: q / np.linalg.norm(q))


def near(a: Array, b: Array, tolerance: float = 1e-12) -> bool:
    return bool(np.abs(np.asarray(a) - b).max() <= tolerance)


def same_rotation(a: Array, b: Array, tolerance: float = 1e-12) -> bool:
    """q and -q are one rotation."""
    return near(a, b, tolerance) or near(a, -b, tolerance)


@given(quats, quats, quats)
def test_group(a: Array, b: Array, c: Array) -> None:
    assert abs(np.linalg.norm(quat_multiply(a, b)) - 1) < 1e-12
    assert near(quat_multiply(a, quat_multiply(b, c)), quat_multiply(quat_multiply(a, b), c))
    assert near(quat_multiply(a, ONE), a)
    assert near(quat_multiply(a, quat_conjugate(a)), ONE)


@given(quats, quats, vectors)
def test_matrices_and_rotations_agree(a: Array, b: Array, v: Array) -> None:
    matrix = quat_to_matrix(a)
    assert near(matrix @ matrix.T, np.eye(3))
    assert abs(np.linalg.det(matrix) - 1) < 1e-12
    assert near(matrix @ v, rotate(a, v), 1e-11)
    assert near(quat_to_matrix(quat_multiply(a, b)), matrix @ quat_to_matrix(b))
    assert same_rotation(matrix_to_quat(matrix), a)


@given(vectors)
def test_logarithm_undoes_exponential(v: Array) -> None:
    assume(np.linalg.norm(v) < np.pi - 1e-3)
    assert near(quat_to_rotvec(quat_from_rotvec(v)), v, 1e-9)


@given(quats)
def test_exponential_undoes_logarithm_the_short_way_round(q: Array) -> None:
    v = quat_to_rotvec(q)
    assert np.linalg.norm(v) <= np.pi + 1e-12
    assert same_rotation(quat_from_rotvec(v), q, 1e-9)


def test_tiny_rotations_keep_their_digits() -> None:
    for size in (0.0, 1e-300, 1e-13, 1e-8):
        v = np.array([size, -2 * size, 0.5 * size])
        assert np.allclose(quat_to_rotvec(quat_from_rotvec(v)), v, rtol=1e-6, atol=0)


def test_half_turns_survive_the_matrix() -> None:
    for axis in np.eye(3):
        q = quat_from_axis_angle(axis, np.pi)
        assert same_rotation(matrix_to_quat(quat_to_matrix(q)), q)


def test_directions_are_right_handed() -> None:
    quarter = quat_from_axis_angle((0, 0, 2.0), np.pi / 2)
    assert near(rotate(quarter, np.array([1.0, 0, 0])), np.array([0, 1.0, 0]))
    assert abs(yaw_of(quarter) - np.pi / 2) < 1e-12


def test_arrays_of_rotations_go_element_by_element() -> None:
    random = np.random.default_rng(3)
    q, p, v = random.normal(size=(2, 5, 4)), random.normal(size=(2, 5, 4)), random.normal(size=(2, 5, 3))
    for i, j in np.ndindex(2, 5):
        assert near(quat_multiply(q, p)[i, j], quat_multiply(q[i, j], p[i, j]))
        assert near(rotate(q, v)[i, j], rotate(q[i, j], v[i, j]))
        assert near(quat_to_matrix(q)[i, j], quat_to_matrix(q[i, j]))
        assert near(quat_to_rotvec(quat_from_rotvec(v))[i, j], quat_to_rotvec(quat_from_rotvec(v[i, j])))
