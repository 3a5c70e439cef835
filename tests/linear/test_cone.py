"""Forces that only push, against scipy's active-set solver: the ridge becomes extra rows of its least squares."""

import numpy as np
import pytest
from scipy.optimize import nnls

from manikin.linear.cone import push_only


def referee(A: np.ndarray, b: np.ndarray, ridge: float) -> np.ndarray:
    k = A.shape[1]
    weights, _ = nnls(np.vstack([A, np.sqrt(ridge) * np.eye(k)]), np.concatenate([b, np.zeros(k)]), maxiter=100 * k)
    return weights


def cost(A: np.ndarray, b: np.ndarray, ridge: float, weights: np.ndarray) -> float:
    left = b - A @ weights
    return float(left @ left + ridge * weights @ weights)


def check(A: np.ndarray, b: np.ndarray, ridge: float) -> np.ndarray:
    """The weights, after all that must hold of them."""
    weights, left = push_only(A, b, ridge)
    expected = referee(A, b, ridge)
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    # weights are A^T r / ridge: what rounding leaves of them
    loss = 1e-15 * float(np.linalg.norm(A, 2)) ** 2 / ridge
    assert (weights >= 0).all()
    assert np.abs(b - A @ weights - left).max() <= 1e-12 * (1 + np.abs(b).max())
    assert np.abs(weights - expected).max() <= (1e-7 + loss) * size
    assert cost(A, b, ridge, weights) <= cost(A, b, ridge, expected) * (1 + 1e-9 + loss) + 1e-18
    # no direction would still help, and those that push are in balance with the ridge
    gain = A.T @ left - ridge * weights
    small = (1e-9 + loss) * (1 + np.abs(b).max()) * np.abs(A).max()
    assert gain.max() <= small
    assert np.abs(gain[weights > 0]).max(initial=0.0) <= small
    return weights


@pytest.mark.parametrize("ridge", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("k", [1, 3, 6, 12, 48])
def test_random_directions(k, ridge):
    rng = np.random.default_rng(k)
    for _ in range(40):
        check(rng.standard_normal((6, k)), 10.0 ** rng.uniform(-2, 2) * rng.standard_normal(6), ridge)


def sole_directions(rng: np.random.Generator, points: int, friction: float = 0.6) -> np.ndarray:
    """Wrenches (6, 4 points) of pyramid edges at points of the ground about a root a metre above, per mass of 75 kg."""
    columns = []
    for x, y in rng.uniform([-0.1, -0.2], [0.2, 0.2], (points, 2)):
        for fx, fy in ((friction, 0), (-friction, 0), (0, friction), (0, -friction)):
            force = np.array([fx, fy, 1.0])
            columns.append(np.concatenate([force / 75, np.cross([x, y, -1.0], force) / 7.5]))
    return np.array(columns).T


@pytest.mark.parametrize("points", [1, 2, 6, 12])
def test_wrenches_on_the_ground(points):
    """Standing, accelerating, falling, pulling: what the ground can supply and what it cannot."""
    rng = np.random.default_rng(points)
    for _ in range(40):
        A = sole_directions(rng, points)
        for b in (
            np.array([0, 0, 9.81, 0, 0, 0]),
            np.array([0, 0, -9.81, 0, 0, 0]),
            np.array([8.0, 0, 9.81, 0, 0, 0]),
            10 * rng.standard_normal(6),
            A @ rng.uniform(0, 100, A.shape[1]),
        ):
            check(A, b, 1e-8)


def test_what_can_be_given_is_given():
    rng = np.random.default_rng(3)
    for _ in range(40):
        A = sole_directions(rng, 12)
        _, left = push_only(A, A @ rng.uniform(0, 100, A.shape[1]), 1e-8)
        # the ridge costs this much: 1e-8 / N^2 at some hundred newtons
        assert np.abs(left).max() < 1e-3


def test_what_cannot_be_given_gets_the_nearest_push():
    """A pull downwards cannot be given at all; a force outside the friction cone gives its projection."""
    A = np.array([[0.5, -0.5], [1.0, 1.0]])  # one point in a plane: edges of its cone as columns
    weights, left = push_only(A, np.array([0.0, -3.0]), 1e-10)
    assert (weights == 0).all()
    assert left == pytest.approx([0.0, -3.0])
    # sideways only: the nearest point of the edge (0.5, 1) is at 0.5 / 1.25 of it
    weights, _ = push_only(A, np.array([1.0, 0.0]), 1e-9)
    assert weights == pytest.approx([0.4, 0.0], abs=1e-6)


def test_parallel_directions_share():
    """Equal columns and a wrench within their span: least weights, so equal ones."""
    rng = np.random.default_rng(4)
    column = rng.standard_normal((6, 1))
    weights, left = push_only(np.tile(column, (1, 5)), 10 * column[:, 0], 1e-8)
    assert weights == pytest.approx(np.full(5, 2.0), rel=1e-6)
    assert np.abs(left).max() < 1e-6


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_directions_that_do_not_span(rank):
    """Two points in line leave a moment that nothing gives."""
    rng = np.random.default_rng(rank)
    for _ in range(40):
        A = rng.standard_normal((6, rank)) @ rng.standard_normal((rank, 24))
        check(A, rng.standard_normal(6), 1e-8)


def test_zero_columns_and_zero_wrench():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((6, 8))
    A[:, 3] = 0.0
    assert check(A, rng.standard_normal(6), 1e-6)[3] == 0.0
    assert (push_only(A, np.zeros(6), 1e-8)[0] == 0).all()


def test_in_the_air_nothing_is_given():
    """No directions: the residual is the whole wrench."""
    wrench = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    weights, left = push_only(np.zeros((6, 0)), wrench, 1e-8)
    assert weights.shape == (0,)
    assert (left == wrench).all()


def test_arguments_are_left_alone():
    rng = np.random.default_rng(6)
    A, b = rng.standard_normal((6, 12)), rng.standard_normal(6)
    before = A.copy(), b.copy()
    push_only(A, b, 1e-8)
    assert np.array_equal(A, before[0])
    assert np.array_equal(b, before[1])
