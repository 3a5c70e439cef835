"""Damped levels under inequalities: against plain algebra, and where limits contradict each other."""

import numpy as np
import pytest

from manikin.linear.hierarchy import Bounds, Level, solve_hierarchy

RNG = np.random.default_rng(5)
FREE = Bounds(np.zeros((0, 6)), np.zeros(0), np.zeros(0), np.zeros(0))
DAMPING = 1e-3


def level(rows: int, n: int = 6) -> Level:
    return Level(RNG.standard_normal((rows, n)), RNG.standard_normal(rows))


def box(n: int, most: float) -> Bounds:
    return Bounds(np.eye(n), np.full(n, -most), np.full(n, most), np.ones(n))


def test_one_level_is_damped_least_squares():
    A, b = level(3)
    x = solve_hierarchy([Level(A, b)], FREE, DAMPING * np.eye(6), np.zeros(6)).x
    expected = np.linalg.solve(A.T @ A + DAMPING**2 * np.eye(6), A.T @ b)
    np.testing.assert_allclose(x, expected, atol=1e-9)


def test_lower_levels_leave_higher_ones_alone():
    high, low = level(3), level(4)
    alone = solve_hierarchy([high], FREE, DAMPING * np.eye(6), np.zeros(6)).x
    both = solve_hierarchy([high, low], FREE, DAMPING * np.eye(6), np.zeros(6)).x
    np.testing.assert_allclose(high.A @ both, high.A @ alone, atol=1e-9)
    assert np.linalg.norm(low.A @ both - low.b) < np.linalg.norm(low.A @ alone - low.b)


def test_what_a_damped_level_gives_up_is_not_handed_down():
    # a row that hardly moves anything: damped, yet not free for the next level
    high = Level(np.array([[1e-4, 0, 0, 0, 0, 0.0]]), np.array([1.0]))
    low = Level(np.eye(6), np.full(6, 50.0))
    alone = solve_hierarchy([high], FREE, 1e-2 * np.eye(6), np.zeros(6)).x
    both = solve_hierarchy([high, low], FREE, 1e-2 * np.eye(6), np.zeros(6)).x
    assert both[0] == pytest.approx(alone[0], abs=1e-9)
    assert both[1] == pytest.approx(50.0, rel=1e-3)


@pytest.mark.parametrize(("apart", "free"), [(1e-9, True), (1e-5, False)])
def test_directions_that_only_rounding_tells_apart_are_free_for_lower_levels(apart, free):
    """Two rows of a level that are nearly one: the direction between them is used up only when it is more than rounding."""
    high = Level(np.array([[1.0, 0, 0, 0, 0, 0], [1.0, apart, 0, 0, 0, 0]]), np.array([1.0, 1.0]))
    low = Level(np.eye(6)[1:2], np.array([50.0]))
    alone = solve_hierarchy([high], FREE, 1e-2 * np.eye(6), np.zeros(6)).x
    both = solve_hierarchy([high, low], FREE, 1e-2 * np.eye(6), np.zeros(6)).x
    assert both[1] == pytest.approx(50.0 if free else alone[1], rel=1e-3, abs=1e-6)
    assert np.abs(high.A @ (both - alone)).max() < 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_at_every_level(seed):
    rng = np.random.default_rng(seed)
    levels = [Level(rng.standard_normal((k, 6)), 20 * rng.standard_normal(k)) for k in (2, 3, 6)]
    C = rng.standard_normal((10, 6))
    inside = rng.standard_normal(6)
    # a region that does not contain zero
    bounds = Bounds(C, C @ inside - rng.uniform(0.01, 1, 10), C @ inside + rng.uniform(0.01, 1, 10), np.ones(10))
    x, slack = solve_hierarchy(levels, bounds, DAMPING * np.eye(6), np.zeros(6))
    assert not slack.any()
    assert (C @ x <= bounds.high + 1e-7).all()
    assert (C @ x >= bounds.low - 1e-7).all()
    # the first level does as well as it can: no feasible point of a cloud around it is better
    first = levels[0]
    alone = solve_hierarchy(levels[:1], bounds, DAMPING * np.eye(6), np.zeros(6)).x
    best = np.linalg.norm(first.A @ alone - first.b)
    for other in alone + 0.05 * rng.standard_normal((200, 6)):
        if (C @ other <= bounds.high).all() and (C @ other >= bounds.low).all():
            assert np.linalg.norm(first.A @ other - first.b) >= best - 1e-3


def test_an_exact_level_comes_first():
    loop, task = level(2), level(6)
    x = solve_hierarchy([task], box(6, 1e3), DAMPING * np.eye(6), np.zeros(6), first=loop).x
    np.testing.assert_allclose(loop.A @ x, loop.b, atol=1e-9)


def test_contradicting_bounds_give_way_by_as_little_as_needed_and_say_so():
    C = np.array([[1.0, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0]])
    bounds = Bounds(C, np.array([3.0, -np.inf]), np.array([np.inf, 1.0]), np.array([1.0, 100.0]))
    x, slack = solve_hierarchy([level(2)], bounds, DAMPING * np.eye(6), np.zeros(6))
    # two apart: the stiff one hardly gives
    assert slack.sum() == pytest.approx(2.0, abs=1e-3)
    assert slack[1] < 0.01
    assert x[0] == pytest.approx(1.0, abs=0.02)


def test_without_levels_the_preference_decides():
    x = solve_hierarchy([], box(6, 0.5), np.eye(6), -np.array([1.0, 0.2, 0, 0, 0, -3.0])).x
    np.testing.assert_allclose(x, [0.5, 0.2, 0, 0, 0, -0.5], atol=1e-8)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_singular_rows_stay_bounded(size):
    A = np.array([[1.0, 1.0, 0, 0, 0, 0], [1.0, 1.0 + 1e-9, 0, 0, 0, 0]])
    x = solve_hierarchy([Level(A, np.array([size, -size]))], FREE, 0.02 * np.eye(6), np.zeros(6)).x
    assert np.abs(x).max() < 50 * size


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6, 1e-8])
def test_a_bound_that_a_level_can_hardly_move_holds_all_the_same(share):
    # the first level leaves only a fraction of x0 to the second, which would use it to go a long way
    levels = [Level(np.array([[1.0, -share]]), np.array([0.0])), Level(np.array([[0.0, 1.0]]), np.array([1e4]))]
    bounds = Bounds(np.eye(2), np.full(2, -np.inf), np.array([share, np.inf]), np.ones(2))
    x, slack = solve_hierarchy(levels, bounds, 1e-9 * np.eye(2), np.zeros(2))
    assert not slack.any()
    assert x[0] <= share * (1 + 1e-6)
    assert x[1] == pytest.approx(1.0, rel=1e-3)
