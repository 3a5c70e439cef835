"""Prioritized least squares on plain arrays."""

import numpy as np
import pytest

from manikin.linear.nullspace import cholesky_solve, claim, project, require, soft_solve, solve_level, solve_levels

N = 20


def fresh() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((N, N)), np.zeros(N)


def levels(rng: np.random.Generator, sizes: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(rng.standard_normal((k, N)), rng.standard_normal(k)) for k in sizes]


def solve(parts, bounds=None, rest=None, soft=0.01, compensate=True, longest=np.inf):
    basis, motion = fresh()
    rows = np.concatenate([r for r, _ in parts]) if parts else np.zeros((0, N))
    wanted = np.concatenate([w for _, w in parts]) if parts else np.zeros(0)
    starts = np.cumsum([0] + [len(w) for _, w in parts])
    rest_rows, rest_wanted = rest if rest is not None else (np.zeros((0, N)), np.zeros(0))
    limit, low, high = bounds if bounds is not None else (np.zeros((0, N)), np.zeros(0), np.zeros(0))
    z = np.empty(N)
    bounded = solve_levels(
        rows, wanted, np.ones(len(wanted)), starts, rest_rows, rest_wanted, limit, low, high, basis, 0, motion, soft,
        longest, compensate, z,
    )  # fmt: skip
    return z, bounded


def test_feasible_levels_are_all_met():
    rng = np.random.default_rng(1)
    parts = levels(rng, (6, 2, 3))
    z, _ = solve(parts)
    for rows, wanted in parts:
        assert np.abs(rows @ z - wanted).max() < 1e-10


def test_the_first_level_has_least_norm():
    rng = np.random.default_rng(2)
    [(rows, wanted)] = levels(rng, (5,))
    z, _ = solve([(rows, wanted)])
    assert np.allclose(z, np.linalg.pinv(rows) @ wanted)


@pytest.mark.parametrize("seed", range(20))
def test_lower_levels_never_disturb_higher_ones(seed):
    """Also when a level is singular or nearly so: what it gives up is not handed down."""
    rng = np.random.default_rng(seed)
    first, second, third = levels(rng, (6, 4, 12))
    first[0][5] = first[0][4] + 10.0 ** rng.uniform(-14, -2) * rng.standard_normal(N)
    second[0][3] = first[0][0] + 10.0 ** rng.uniform(-14, -2) * rng.standard_normal(N)
    alone, _ = solve([first])
    pair, _ = solve([first, second])
    all_three, _ = solve([first, second, (third[0], 100 * third[1])])
    for other in (pair, all_three):
        assert np.abs(first[0] @ (other - alone)).max() < 1e-8
    assert np.abs(second[0] @ (all_three - pair)).max() < 1e-8


def test_printed_projector_would_fail_where_ours_holds():
    """Abe & Popovic 2006 print P_i = 1 - (.)^+ (.), which forgets the levels above: three levels then collide."""
    rng = np.random.default_rng(5)
    parts = levels(rng, (6, 4, 5))
    z, P = np.zeros(N), np.eye(N)
    for rows, wanted in parts:
        inverse = np.linalg.pinv(rows @ P)
        z = z + inverse @ (wanted - rows @ z)
        P = np.eye(N) - inverse @ (rows @ P)
    assert np.abs(parts[0][0] @ z - parts[0][1]).max() > 1e-2
    ours, _ = solve(parts)
    assert np.abs(parts[0][0] @ ours - parts[0][1]).max() < 1e-10


def test_singular_rows_stay_bounded():
    rng = np.random.default_rng(3)
    [(rows, wanted)] = levels(rng, (3,))
    for gap in 10.0 ** np.arange(-16, 0):
        rows[2] = rows[1] + gap * rng.standard_normal(N)
        z, _ = solve([(rows, wanted)], soft=0.01)
        assert np.abs(z).max() < 10 * np.abs(wanted).max() / 0.01


def test_bounds_hold_like_a_highest_level():
    rng = np.random.default_rng(4)
    parts = levels(rng, (4, 3))
    limit = rng.standard_normal((8, N))
    low, high = np.full(8, -0.3), np.full(8, 0.3)
    free, _ = solve(parts)
    assert np.abs(limit @ free).max() > 0.5
    z, held = solve(parts, (limit, low, high), rest=(np.eye(N), np.full(N, 5.0)))
    assert held > 0
    assert (limit @ z <= high + 1e-5).all()
    assert (limit @ z >= low - 1e-5).all()


def test_bounds_of_a_lower_level_do_not_touch_a_higher_one():
    rng = np.random.default_rng(6)
    [top] = levels(rng, (5,))
    limit, low, high = np.eye(N), np.full(N, -1.0), np.full(N, 1.0)
    alone, _ = solve([top], (limit, low, high))
    for size in (0.1, 10.0, 1000.0):
        z, _ = solve([top], (limit, low, high), rest=(np.eye(N), size * rng.standard_normal(N)))
        assert np.abs(top[0] @ (z - alone)).max() < 1e-9


def test_last_level_is_the_constrained_least_squares_solution():
    rng = np.random.default_rng(7)
    [top] = levels(rng, (5,))
    rest, wanted = rng.standard_normal((30, N)), rng.standard_normal(30)
    z, _ = solve([top], rest=(rest, wanted))
    # KKT system of min |rest z - wanted| with top z = ..., each row counted at length one
    size = np.linalg.norm(rest, axis=1)
    rest, wanted = rest / size[:, None], wanted / size
    kkt = np.block([[rest.T @ rest, top[0].T], [top[0], np.zeros((5, 5))]])
    best = np.linalg.solve(kkt, np.concatenate([rest.T @ wanted, top[1]]))[:N]
    assert np.abs(z - best).max() < 1e-4


def test_compensation_is_what_makes_lower_tasks_accurate():
    rng = np.random.default_rng(8)
    parts = levels(rng, (6, 4))
    with_it, _ = solve(parts)
    without, _ = solve(parts, compensate=False)
    rows, wanted = parts[1]
    assert np.abs(rows @ with_it - wanted).max() < 1e-9
    assert np.abs(rows @ without - wanted).max() > 1e-2
    # neither touches the first
    assert np.abs(parts[0][0] @ (with_it - without)).max() < 1e-10


def test_weights_decide_within_a_level():
    row = np.zeros((2, N))
    row[:, 0] = 1.0
    wanted = np.array([1.0, 3.0])
    for weights, expected in (((1.0, 1.0), 2.0), ((1.0, 0.1), 1.02), ((0.1, 1.0), 2.98)):
        basis, motion = fresh()
        solve_level(row, wanted, np.array(weights), motion, basis, 0, 1e-3, motion.copy(), 0)
        assert motion[0] == pytest.approx(expected, abs=0.01)


def test_require_and_claim_keep_the_basis_orthonormal():
    rng = np.random.default_rng(9)
    basis, motion = fresh()
    count = 0
    for _ in range(8):
        count = require(rng.standard_normal(N), 1.0, motion, basis, count, 1e-6)
    rows = rng.standard_normal((6, N))
    rows[4:] = rows[:2] + 1e-9 * rng.standard_normal((2, N))
    for row in rows:
        row /= np.linalg.norm(row)
        project(row, basis, count)
    count = claim(rows, basis, count)
    assert np.abs(basis[:count] @ basis[:count].T - np.eye(count)).max() < 1e-12


def test_require_skips_what_is_already_decided():
    basis, motion = fresh()
    row = np.ones(N)
    count = require(row, 2.0, motion, basis, 0, 1e-6)
    assert count == 1
    assert row @ motion == pytest.approx(2.0)
    assert require(row, 5.0, motion, basis, count, 1e-6) == 1
    assert row @ motion == pytest.approx(2.0)


def test_small_solvers_agree_with_numpy():
    rng = np.random.default_rng(10)
    A = rng.standard_normal((7, 7))
    A = A @ A.T + np.eye(7)
    b = rng.standard_normal(7)
    expected = np.linalg.solve(A, b)
    assert np.allclose(cholesky_solve(A.copy(), b.copy()), expected)
    assert np.allclose(soft_solve(A, b, 0.01), expected)


def test_no_level_and_no_bound_moves_further_than_allowed():
    rng = np.random.default_rng(21)
    parts = [(rows, 1e4 * wanted) for rows, wanted in levels(rng, (4, 3))]
    rest = (rng.standard_normal((5, N)), 1e4 * rng.standard_normal(5))
    bounds = (rng.standard_normal((2, N)), np.full(2, -1e3), np.full(2, 1e3))
    free, _ = solve(parts, rest=rest)
    assert np.linalg.norm(free) > 1e3
    first, _ = solve(parts[:1], longest=5.0)
    assert np.linalg.norm(first) == pytest.approx(5.0)
    # shortened, not turned
    alone, _ = solve(parts[:1])
    assert first @ alone == pytest.approx(5.0 * np.linalg.norm(alone))
    whole, _ = solve(parts, bounds, rest, longest=5.0)
    assert np.linalg.norm(whole) < 5.0 * 5 + 1e-9
    # and a shortened level is still not disturbed by the ones below it
    pair, _ = solve(parts, longest=5.0)
    assert np.abs(parts[0][0] @ (pair - first)).max() < 1e-10
    # what asks for less than that is met as before
    small = [(rows, 1e-5 * wanted) for rows, wanted in parts]
    assert np.array_equal(solve(small, longest=5.0)[0], solve(small)[0])


def weighed(rows, wanted, weights, soft=0.01):
    basis, motion = fresh()
    solve_level(rows, wanted, np.array(weights), motion, basis, 0, soft, motion.copy(), 0)
    return motion


def test_weights_decide_only_between_tasks_that_cannot_all_be_met():
    rng = np.random.default_rng(22)
    rows = rng.standard_normal((3, N))
    wanted = rng.standard_normal(3)
    # all can be met: weights change nothing, however far apart
    for weights in ([1.0, 1.0, 1.0], [1.0, 30.0, 1000.0], [500.0, 1.0, 1.0]):
        assert np.abs(rows @ weighed(rows, wanted, weights, 0.1) - wanted).max() < 1e-6
    # the same row wanted twice, differently: the miss goes with one over the square of the weight
    same = np.stack([rows[0], rows[0]])
    for ratio in (2.0, 10.0):
        value = rows[0] @ weighed(same, np.array([0.0, 1.0]), [1.0, ratio])
        assert (1.0 - value) / value == pytest.approx(1.0 / ratio**2, rel=1e-6)
