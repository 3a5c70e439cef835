"""Levels of damped least squares under inequalities (Kim & Pollard 2011, section 5.2).

    min |A_k x - b_k|^2 + |R x + r|^2   subject to   low <= C x <= high

for one level after the other, each in the null space of the ones before. The second term damps what is singular and chooses
among equals. Where the inequalities contradict each other they give way by the least amount, and how much is told.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import daqp
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel

Array = NDArray[np.float64]

# directions that a level moves by less than this share of its strongest one are left to it all the same: not handed down
USED = 1e-7
# how far an inequality may be missed by rounding, relative to its own row
EXACT = 1e-9
_OPTIMAL = (1, 2)


class Level(NamedTuple):
    """A x = b, as nearly as can be."""

    A: Array
    b: Array


class Bounds(NamedTuple):
    """low <= C x <= high. stiff (m,): when not all can hold, a row with twice the number gives way half as far."""

    C: Array
    low: Array
    high: Array
    stiff: Array


class Answer(NamedTuple):
    """x (n,), and by how much (m,) each bound had to be moved to be feasible at all."""

    x: Array
    slack: Array


def solve_hierarchy(levels: Sequence[Level], bounds: Bounds, R: Array, r: Array, first: Level | None = None) -> Answer:
    """x for all levels in turn. first: rows that hold exactly, before anything else (closed loops)."""
    n = R.shape[1]
    x, N = np.zeros(n), np.eye(n)
    if first is not None and len(first.A):
        x, N = _exact(first.A, first.b)
    done = 0
    if levels:
        ends = tuple(accumulate((len(level.b) for level in levels), initial=0))
        A, b = levels[0] if len(levels) == 1 else (np.concatenate(parts) for parts in zip(*levels))
        done, x, N = _unlimited(A, b, np.array(ends), *bounds[:3], R, r, x, N)
        if done == len(levels):
            return Answer(x, np.zeros(len(bounds.C)))
    low, high, slack = bounds.low, bounds.high, np.zeros(len(bounds.C))
    for k, level in enumerate(levels[done:] or (Level(np.zeros((0, n)), np.zeros(0)),), done):
        if N.shape[1] == 0:
            break
        # of the first of them it is known already that without its bounds it breaks them
        step = _nearest(level, bounds.C, low, high, R, r, x, N, k > 0, not levels or k > done)
        if step is None:
            # it is not known yet whether anything keeps the bounds: nothing does, or the solver did not find it
            x, low, high, slack = _feasible(bounds, x, N)
            step = _nearest(level, bounds.C, low, high, R, r, x, N, True, True)
        if step is not None:
            x = x + N @ step
        if k + 1 < len(levels):
            N = _null_space(level.A, N)
    return Answer(x, slack)


@kernel
def _unlimited(
    A: Array, b: Array, starts: NDArray[np.int64], C: Array, low: Array, high: Array, R: Array, r: Array, x: Array, N: Array
) -> tuple[int, Array, Array]:  # fmt: skip
    """Levels without their bounds, as long as each keeps them: how many did, the answer up to there, and the freedom that
    is left. All of them is the usual case, and a quick one."""
    for k in range(starts.shape[0] - 1):
        if N.shape[1] == 0:
            break
        rows, want = A[starts[k] : starts[k + 1]], b[starts[k] : starts[k + 1]]
        AN, RN = np.dot(rows, N), np.dot(R, N)
        H = np.dot(AN.T, AN) + np.dot(RN.T, RN)
        f = np.dot(AN.T, want - np.dot(rows, x)) - np.dot(RN.T, np.dot(R, x) + r)
        then = x + np.dot(N, np.linalg.solve(H, f))
        reached = np.dot(C, then)
        for i in range(C.shape[0]):
            if reached[i] > high[i] + EXACT or reached[i] < low[i] - EXACT:
                return k, x, N
        x = then
        if k + 2 < starts.shape[0]:
            N = _null_space(rows, N)
    return starts.shape[0] - 1, x, N


@kernel
def _exact(A: Array, b: Array) -> tuple[Array, Array]:
    """The shortest x with A x = b, and a basis (n, k) of what leaves A x as it is."""
    U, s, Vt = np.linalg.svd(A, True)
    rank = 0
    for value in s:
        rank += value > USED * max(s[0], 1e-300)
    x = np.zeros(A.shape[1])
    for k in range(rank):
        along = 0.0
        for i in range(b.shape[0]):
            along += U[i, k] * b[i]
        for j in range(x.shape[0]):
            x[j] += Vt[k, j] * along / s[k]
    return x, np.ascontiguousarray(Vt[rank:].T)


@kernel
def _null_space(A: Array, N: Array) -> Array:
    """A basis (n, k) of what of N the rows A do not see."""
    if A.shape[0] == 0:
        return N
    _, s, Vt = np.linalg.svd(np.dot(A, N), True)
    rank = 0
    for value in s:
        rank += value > USED * max(s[0], 1e-300)
    return np.dot(N, np.ascontiguousarray(Vt[rank:].T))


def _nearest(
    level: Level, C: Array, low: Array, high: Array, R: Array, r: Array, x: Array, N: Array, kept: bool, free: bool
) -> Array | None:  # fmt: skip
    """The step y of this level inside N; None when none was found. kept: whether x keeps the bounds already; free: whether the
    step without bounds may do."""
    k, m = N.shape[1], len(C)
    H, f, CN, least, most, y = np.empty((k, k)), np.empty(k), np.empty((m, k)), np.empty(m), np.empty(m), np.empty(k)
    if _pose(level.A, level.b, C, low, high, R, r, x, N, kept, free, H, f, CN, least, most, y):
        return y
    found, _, flag, _ = daqp.solve(H, f, CN, most, least, np.zeros(m, np.int32), primal_tol=EXACT)
    return np.asarray(found) if flag in _OPTIMAL else None


@kernel
def _pose(
    A: Array, b: Array, C: Array, low: Array, high: Array, R: Array, r: Array, x: Array, N: Array, kept: bool,
    free: bool, H: Array, f: Array, CN: Array, least: Array, most: Array, y: Array,
) -> bool:  # fmt: skip
    """Pose the problem of one level: min 1/2 y^T H y + f^T y with least <= CN y <= most. free: y becomes its answer without
    the bounds; whether they keep it as it is."""
    AN, RN = np.dot(A, N), np.dot(R, N)
    H[:] = np.dot(AN.T, AN) + np.dot(RN.T, RN)
    f[:] = np.dot(AN.T, np.dot(A, x) - b) + np.dot(RN.T, np.dot(R, x) + r)
    CN[:] = np.dot(C, N)
    now, moved = np.dot(C, x), np.zeros(C.shape[0])
    if free:
        y[:] = np.linalg.solve(H, -f)
        moved = np.dot(CN, y)
    for i in range(C.shape[0]):
        least[i], most[i] = low[i] - now[i], high[i] - now[i]
        if kept:
            # standing still is allowed, whatever rounding says
            least[i], most[i] = min(least[i], 0.0), max(most[i], 0.0)
        free &= least[i] - EXACT <= moved[i] <= most[i] + EXACT
    return free


def _feasible(bounds: Bounds, x: Array, N: Array) -> tuple[Array, Array, Array, Array]:
    """A point x + N y that keeps all bounds; the bounds, moved apart by as little as possible if none does; and how far."""
    C, low, high, stiff = bounds
    m, k = len(C), N.shape[1]
    now = C @ x
    if not m or not k or ((now >= low).all() and (now <= high).all()):
        return x, low, high, np.zeros(m)
    CN = C @ N
    plain = np.zeros(m, np.int32)
    y, _, flag, _ = daqp.solve(np.eye(k), np.zeros(k), CN, high - now, low - now, plain, primal_tol=EXACT)
    if flag in _OPTIMAL:
        return x + N @ y, low, high, np.zeros(m)
    # slack is counted in thousands, as accelerations are
    H = np.diag(np.concatenate([np.full(k, 1e-8), stiff**2]))
    rows = 1e3 * np.hstack([CN, np.eye(m)])
    y, _, flag, _ = daqp.solve(H, np.zeros(k + m), rows, high - now, low - now, plain, primal_tol=EXACT)
    if flag not in _OPTIMAL:
        # nothing can be said: stand still, and let the actuators' own limits hold
        y = np.zeros(k + m)
    x = x + N @ (1e3 * np.asarray(y)[:k])
    now = C @ x
    slack = np.maximum(np.maximum(now - high, low - now), 0.0)
    return x, np.minimum(low, now), np.maximum(high, now), slack
