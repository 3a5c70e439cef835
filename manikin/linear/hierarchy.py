"""Levels of damped least squares under inequalities (Kim & Pollard 2011, section 5.2).

    min |A_k x - b_k|^2 + |R x + r|^2   subject to   low <= C x <= high

for one level after the other, each in the null space of the ones before. The second term damps what is singular and chooses
among equals. Where the inequalities contradict each other they give way by the least amount, and how much is told.
"""

from collections.abc import Sequence
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
    if levels:
        starts = np.cumsum([0, *(len(level.b) for level in levels)])
        A, b = np.concatenate([level.A for level in levels]), np.concatenate([level.b for level in levels])
        easy, found = _unlimited(A, b, starts, bounds.C, bounds.low, bounds.high, R, r, x, N)
        if easy:
            return Answer(found, np.zeros(len(bounds.C)))
    x, low, high, slack = _feasible(bounds, x, N)
    for level in levels:
        if N.shape[1] == 0:
            break
        x = x + N @ _nearest(level, bounds.C, low, high, R, r, x, N)
        N = N @ _null_space(level.A @ N)
    if N.shape[1] and not levels:
        x = x + N @ _nearest(Level(np.zeros((0, n)), np.zeros(0)), bounds.C, low, high, R, r, x, N)
    return Answer(x, slack)


@kernel
def _unlimited(
    A: Array, b: Array, starts: NDArray[np.int64], C: Array, low: Array, high: Array, R: Array, r: Array, x: Array, N: Array
) -> tuple[bool, Array]:  # fmt: skip
    """All levels without their bounds: the answer, as long as every level keeps them. The usual case, and a quick one."""
    x = x.copy()
    for k in range(starts.shape[0] - 1):
        if N.shape[1] == 0:
            break
        rows, want = A[starts[k] : starts[k + 1]], b[starts[k] : starts[k + 1]]
        AN, RN = np.dot(rows, N), np.dot(R, N)
        H = np.dot(AN.T, AN) + np.dot(RN.T, RN)
        f = np.dot(AN.T, want - np.dot(rows, x)) - np.dot(RN.T, np.dot(R, x) + r)
        x += np.dot(N, np.linalg.solve(H, f))
        reached = np.dot(C, x)
        for i in range(C.shape[0]):
            if reached[i] > high[i] + EXACT or reached[i] < low[i] - EXACT:
                return False, x
        if k + 2 < starts.shape[0]:
            _, s, Vt = np.linalg.svd(AN, True)
            rank = 0
            for value in s:
                rank += value > USED * max(s[0], 1e-300)
            N = np.dot(N, np.ascontiguousarray(Vt[rank:].T))
    return True, x


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


def _null_space(A: Array) -> Array:
    """A basis (n, k) of what A does not see."""
    _, s, Vt = np.linalg.svd(A)
    rank = int((s > USED * max(float(s.max(initial=0.0)), 1e-300)).sum())
    return np.ascontiguousarray(Vt[rank:].T)


def _nearest(level: Level, C: Array, low: Array, high: Array, R: Array, r: Array, x: Array, N: Array) -> Array:
    """The step y of this level inside N."""
    AN, RN = level.A @ N, R @ N
    H = AN.T @ AN + RN.T @ RN
    f = AN.T @ (level.A @ x - level.b) + RN.T @ (R @ x + r)
    y: Array = np.asarray(np.linalg.solve(H, -f))
    if not len(C):
        return y
    CN, now = C @ N, C @ x
    # standing still is allowed, whatever rounding says
    least, most = np.minimum(low - now, 0.0), np.maximum(high - now, 0.0)
    moved = CN @ y
    if (moved >= least - EXACT).all() and (moved <= most + EXACT).all():
        return y
    found, _, flag, _ = daqp.solve(H, f, CN, most, least, np.zeros(len(C), np.int32), primal_tol=EXACT)
    # a solver that gives up must not move anything: standing still keeps all bounds
    return np.asarray(found) if flag in _OPTIMAL else np.zeros_like(y)


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
