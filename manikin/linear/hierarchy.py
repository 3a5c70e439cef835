"""Levels of damped least squares under inequalities (Kim & Pollard 2011, section 5.2).

    min |A_k x - b_k|^2 + |R x + r|^2   subject to   low <= C x <= high

for one level after the other, each in the null space of the ones before. The second term damps singular directions and
chooses among equal solutions. Where the inequalities contradict each other they are relaxed by the least amount, which
is reported.
"""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import daqp
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# directions that move a level's rows by less than this fraction of its strongest one are rounding: the level does not claim
# them, and lower levels may use them
USED = 1e-7
# how far an inequality may be missed by rounding, relative to its own row
EXACT = 1e-9
# the solver ignores inequalities that the remaining freedom hardly moves: rows shorter than SHORT are scaled up, except
# those shorter than NIL, which are rounding
SHORT, NIL = 1e-3, 1e-12
_OPTIMAL = (1, 2)
_NONE = np.zeros(0)


class Level(NamedTuple):
    """A x = b, in the least-squares sense."""

    A: Array
    b: Array


class Bounds(NamedTuple):
    """low <= C x <= high. stiff (m,): when not all can hold, they yield in inverse proportion to its square."""

    C: Array
    low: Array
    high: Array
    stiff: Array


class Solution(NamedTuple):
    """x (n,), and by how much (m,) each bound had to be moved for a solution to exist."""

    x: Array
    slack: Array


def solve_hierarchy(levels: Sequence[Level], bounds: Bounds, R: Array, r: Array, first: Level | None = None) -> Solution:
    """x for all levels in turn. first: rows that hold exactly, above all levels (closed loops)."""
    if not levels:
        levels = (Level(np.zeros((0, R.shape[1])), np.zeros(0)),)
    ends = np.array(tuple(accumulate((len(level.b) for level in levels), initial=0)))
    A, b = (np.concatenate(parts) for parts in zip(*levels))
    return solve_stacked(A, b, ends, bounds, R, r, first)


def solve_stacked(A: Array, b: Array, ends: Ints, bounds: Bounds, R: Array, r: Array, first: Level | None = None) -> Solution:
    """The same for stacked levels. ends (k + 1,): level i has the rows from ends[i] to ends[i + 1]."""
    n, last = R.shape[1], len(ends) - 1
    x, N = (np.zeros(n), identity(n)) if first is None or not len(first.A) else _exact(first.A, first.b)
    C, low, high, slack = bounds.C, bounds.low, bounds.high, np.zeros(len(bounds.C))
    kept, k, step = False, 0, _NONE
    while True:
        k, x, N, *limited = _free_levels(A, b, ends, k, step, C, low, high, kept, R, r, x, N)
        if k == last or N.shape[1] == 0:
            return Solution(x, slack)
        H, f, CN, least, most = limited
        found, _, flag, _ = daqp.solve(H, f, CN, most, least, _senses(len(C)), primal_tol=EXACT)
        if flag in _OPTIMAL:
            step, kept = np.asarray(found), True
        elif kept or k:
            # the solver gave up: no step, which keeps all bounds
            step = np.zeros(N.shape[1])
        else:
            # no point seems to keep all bounds
            x, low, high, slack = _feasible(bounds, x, N)
            step, kept = _NONE, True


@cache
def identity(n: int) -> Array:
    """The identity matrix: shared, so read-only."""
    return np.eye(n)


@cache
def _senses(count: int) -> NDArray[np.int32]:
    """Constraint types for the solver: `count` plain inequalities."""
    return np.zeros(count, np.int32)


@kernel
def _free_levels(
    A: Array, b: Array, starts: Ints, k: int, step: Array, C: Array, low: Array, high: Array, kept: bool,
    R: Array, r: Array, x: Array, N: Array,
) -> tuple[int, Array, Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """Levels from k on as long as no bound is active, which needs no solver: the usual, fast case.

    step: the solution of level k inside N, or empty. kept: whether x already keeps the bounds.
    Returns the first level with active bounds (or the number of levels), x and N before it, and its problem:
    min 1/2 y^T H y + f^T y with least <= CN y <= most.
    """
    m, count = C.shape[0], starts.shape[0] - 1
    H, f, CN, least, most = np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)), np.empty(m), np.empty(m)
    while k < count and N.shape[1] > 0:
        rows = A[starts[k] : starts[k + 1]]
        if step.shape[0] == 0:
            AN, RN = np.dot(rows, N), np.dot(R, N)
            H = np.dot(AN.T, AN) + np.dot(RN.T, RN)
            f = np.dot(AN.T, np.dot(rows, x) - b[starts[k] : starts[k + 1]]) + np.dot(RN.T, np.dot(R, x) + r)
            step = np.linalg.solve(H, -f)
            CN = np.dot(C, N)
            now, moved = np.dot(C, x), np.dot(CN, step)
            free = True
            for i in range(m):
                least[i], most[i] = low[i] - now[i], high[i] - now[i]
                if kept or k > 0:
                    # rounding must not exclude the zero step
                    least[i], most[i] = min(least[i], 0.0), max(most[i], 0.0)
                size = np.sqrt(np.dot(CN[i], CN[i]))
                if NIL < size < SHORT:
                    CN[i] /= size
                    least[i], most[i], moved[i] = least[i] / size, most[i] / size, moved[i] / size
                free &= least[i] - EXACT <= moved[i] <= most[i] + EXACT
            if not free:
                break
        x = x + np.dot(N, step)
        k += 1
        if k < count:
            N = _null_space(rows, N)
        step = np.zeros(0)
    return k, x, N, H, f, CN, least, most


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
    """A basis (n, k) of the directions of N that do not move the rows A: Householder reflections map one row after the other,
    the longest first, onto an axis of its own; the other axes remain."""
    B, Q = np.dot(A, N), N.copy()
    k = N.shape[1]
    used, longest = 0, 0.0
    while used < min(B.shape[0], k):
        best, size = 0, 0.0
        for r in range(B.shape[0]):
            square = 0.0
            for j in range(used, k):
                square += B[r, j] * B[r, j]
            if square > size:
                best, size = r, square
        size = np.sqrt(size)
        longest = max(longest, size)
        if size <= USED * longest or size < 1e-300:
            break
        mirror = B[best, used:].copy()
        mirror[0] += size if mirror[0] > 0 else -size
        scale = 2.0 / np.dot(mirror, mirror)
        for rows in (B, Q):
            for r in range(rows.shape[0]):
                along = 0.0
                for j in range(used, k):
                    along += rows[r, j] * mirror[j - used]
                for j in range(used, k):
                    rows[r, j] -= scale * along * mirror[j - used]
        used += 1
    return np.ascontiguousarray(Q[:, used:])


def _feasible(bounds: Bounds, x: Array, N: Array) -> tuple[Array, Array, Array, Array]:
    """A point x + N y that keeps all bounds; the bounds, widened by as little as possible if no point does; and by how much."""
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
    # slack in thousands, the order of accelerations here
    H = np.diag(np.concatenate([np.full(k, 1e-8), stiff**2]))
    rows = 1e3 * np.hstack([CN, np.eye(m)])
    y, _, flag, _ = daqp.solve(H, np.zeros(k + m), rows, high - now, low - now, plain, primal_tol=EXACT)
    if flag not in _OPTIMAL:
        # no answer: zero step, and the actuators' own limits hold
        y = np.zeros(k + m)
    x = x + N @ (1e3 * np.asarray(y)[:k])
    now = C @ x
    slack = np.maximum(np.maximum(now - high, low - now), 0.0)
    return x, np.minimum(low, now), np.maximum(high, now), slack
