"""Strictly prioritized least squares: levels of rows, each solved in the null space of the ones above.

Abe & Popovic 2006, section 3.1.2, in mass-weighted accelerations z = C^T qacc with M = C C^T, so that the pseudoinverse of
every level is the one of least kinetic energy (Khatib 1987) and all rows are comparable. Departures from the document:
P_i is cumulative (as printed, three levels disturb the first); singular directions are damped in the solve only, while the
null space is built at machine precision, so that what a level gives up is never handed to a lower one.
"""

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel, routine

Array = NDArray[np.float64]

# Keeps the solve for the last level regular; rows have length one.
DAMPING = 1e-7

# A direction whose length is below this fraction of its row counts as already used (machine precision).
USED = 1e-11


@kernel
def dot(a: Array, b: Array) -> float:
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


@kernel
def cholesky(A: Array) -> None:
    """Factor a symmetric positive definite matrix A = R^T R in place (upper triangle), by whole rows."""
    n = A.shape[0]
    for j in range(0, n, 4):
        stop = min(j + 4, n)
        for p in range(j, stop):
            for q in range(j, p):
                x = A[q, p]
                for k in range(p, n):
                    A[p, k] -= x * A[q, k]
            size = 1.0 / np.sqrt(max(A[p, p], 1e-300))
            for k in range(p, n):
                A[p, k] *= size
        # subtract four rows at a time from all that follow: each of these is then read and written a quarter as often
        if stop < n:
            a, b, c, d = A[j], A[j + 1], A[j + 2], A[j + 3]
            for i in range(stop, n):
                w, x, y, z = a[i], b[i], c[i], d[i]
                for k in range(i, n):
                    A[i, k] -= w * a[k] + x * b[k] + y * c[k] + z * d[k]


@kernel
def substitute(factor: Array, b: Array) -> Array:
    """Solve with a factor of `cholesky`; b is overwritten."""
    n = b.shape[0]
    for i in range(n):
        b[i] /= factor[i, i]
        for k in range(i + 1, n):
            b[k] -= factor[i, k] * b[i]
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - dot(factor[i, i + 1 :], b[i + 1 :])) / factor[i, i]
    return b


@kernel
def cholesky_solve(A: Array, b: Array) -> Array:
    """Solve a symmetric positive definite system; A and b are overwritten."""
    cholesky(A)
    return substitute(A, b)


@kernel
def project(row: Array, basis: Array, count: int) -> float:
    """Remove the span of the first `count` orthonormal rows of `basis` from `row`; returns the length that remains.

    Gram-Schmidt loses accuracy when it removes most of a row; it is then repeated ("twice is enough").
    """
    n = row.shape[0]
    before = dot(row, row)
    for _ in range(2):
        for k in range(count):
            q = basis[k]
            s = dot(q, row)
            for i in range(n):
                row[i] -= s * q[i]
        after = dot(row, row)
        if after > 0.25 * before:
            return np.sqrt(after)
    return np.sqrt(after)


@kernel
def claim(rows: Array, basis: Array, count: int) -> int:
    """Add the span of `rows`, which are orthogonal to the basis and of length one at most, to it; returns the new count."""
    n = rows.shape[1]
    first = count
    for r in range(rows.shape[0]):
        if count >= n:
            return count
        row = rows[r].copy()
        # a long row is already orthogonal to the old basis, to machine precision: only the new rows matter
        length = project(row, basis[first:], count - first)
        if length < 0.1:
            length = project(row, basis, count)
        if length > USED:
            for i in range(n):
                basis[count, i] = row[i] / length
            count += 1
    return count


@kernel
def require(row: Array, wanted: float, motion: Array, basis: Array, count: int, least: float) -> int:
    """Impose row . z = wanted exactly, in the remaining freedom; skipped when at most a fraction `least` of the row remains."""
    size = np.sqrt(dot(row, row))
    rest = row.copy()
    length = project(rest, basis, count)
    if size < 1e-300 or length <= least * size or count >= row.shape[0]:
        return count
    step = (wanted - dot(row, motion)) / length
    for i in range(row.shape[0]):
        basis[count, i] = rest[i] / length
        motion[i] += step * basis[count, i]
    return count + 1


@kernel
def soft_inverse(strength: float, soft: float) -> float:
    """1/w for w = sigma^2, damped below sigma = soft and smoothly zero at zero (Nakamura & Hanafusa 1986)."""
    if strength >= soft * soft:
        return 1.0 / strength
    if strength <= 0.0:
        return 0.0
    fraction = strength / (soft * soft)
    return 1.0 / (strength + 0.25 * soft * soft * (1.0 - fraction) ** 2)


@kernel
def inverse_factor(gram: Array, least: float) -> tuple[bool, Array]:
    """F with gram^-1 = F^T F, and whether every eigenvalue of gram is certainly above `least`.

    1 / trace(gram^-1) bounds the smallest eigenvalue from below: when that is large enough, no eigenvalue has to be computed.
    """
    k = gram.shape[0]
    inverse = np.zeros((k, k))
    factor = gram.copy()
    for i in range(k):
        for j in range(i + 1):
            s = factor[i, j] - dot(factor[i, :j], factor[j, :j])
            if i == j:
                if s <= least:
                    return False, inverse
                factor[i, i] = np.sqrt(s)
            else:
                factor[i, j] = s / factor[j, j]
    trace = 0.0
    for i in range(k):
        inverse[i, i] = 1.0 / factor[i, i]
        for j in range(i):
            s = 0.0
            for m in range(j, i):
                s -= factor[i, m] * inverse[m, j]
            inverse[i, j] = s / factor[i, i]
        trace += dot(inverse[i, : i + 1], inverse[i, : i + 1])
    return trace * least <= 1.0, inverse


@kernel
def apply_inverse(inverse: Array, gap: Array) -> Array:
    """gram^-1 gap from the factor of inverse_factor."""
    out = np.zeros(gap.shape[0])
    for i in range(gap.shape[0]):
        s = dot(inverse[i, : i + 1], gap[: i + 1])
        for j in range(i + 1):
            out[j] += inverse[i, j] * s
    return out


@routine
def soft_solve(gram: Array, gap: Array, soft: float) -> Array:
    """gram^+ gap with directions weaker than `soft` damped."""
    regular, inverse = inverse_factor(gram, soft * soft)
    if regular:
        return apply_inverse(inverse, gap)
    k = gap.shape[0]
    values, vectors = np.linalg.eigh(gram)
    answer = np.zeros(k)
    for e in range(k):
        along = 0.0
        for r in range(k):
            along += vectors[r, e] * gap[r]
        along *= soft_inverse(values[e], soft)
        for r in range(k):
            answer[r] += along * vectors[r, e]
    return answer


@routine
def solve_level(
    rows: Array, wanted: Array, weights: Array, motion: Array, basis: Array, count: int, soft: float,
    known: Array, known_count: int,
) -> int:  # fmt: skip
    """One level: change `motion` so that rows @ motion is as close to `wanted` as the remaining freedom allows.

    rows are normalised here, so that `soft` is the fraction of a row's own mobility below which it is damped; `weights`
    (1 or more) say which rows of a level count more when not all can be met.
    known, known_count: the motion and the part of the basis that are accounted for. With all of them (motion, count) the
    level is compensated; with those of the constraints alone it is the classic projection, which ignores what higher levels
    already do to these rows.
    """
    k, n = rows.shape
    left = np.empty((k, n))
    gap = np.empty(k)
    # rows are at most of length one; directions are damped as if all weights were equal to the smallest
    heaviest = 1.0
    for r in range(k):
        heaviest = max(heaviest, weights[r])
    for r in range(k):
        size = np.sqrt(dot(rows[r], rows[r]))
        if size < 1e-300:
            for i in range(n):
                left[r, i] = 0.0
            gap[r] = 0.0
            continue
        size *= heaviest / weights[r]
        for i in range(n):
            left[r, i] = rows[r, i] / size
        gap[r] = wanted[r] / size - dot(left[r], known)
    source = left if known_count == count else left.copy()
    for r in range(k):
        project(left[r], basis, count)
        if known_count != count:
            project(source[r], basis, known_count)
    gram = np.empty((k, k))
    for r in range(k):
        for s in range(r + 1):
            gram[r, s] = dot(source[r], source[s])
            gram[s, r] = gram[r, s]
    answer = soft_solve(gram, gap, soft / heaviest)
    # the step uses the projected rows, so no lower level can change a higher one
    for r in range(k):
        for i in range(n):
            motion[i] += answer[r] * left[r, i]
    return claim(left, basis, count)


@routine
def follow_joints(
    rows: Array, wanted: Array, motion: Array, basis: Array, count: int, known: Array, known_count: int
) -> None:  # fmt: skip
    """Use all remaining freedom for joint accelerations rows @ motion = wanted (weighted least squares).

    Rows are normalised, so that a joint's error is weighted by the inertia it moves: a hip counts more than a wrist.
    G = A A^T, with A the rows outside the basis, is found as a difference: no row has to be projected on its own.
    """
    k, n = rows.shape
    unit, gap = np.empty((k, n)), np.empty(k)
    for j in range(k):
        size = max(np.sqrt(dot(rows[j], rows[j])), 1e-300)
        for i in range(n):
            unit[j, i] = rows[j, i] / size
        gap[j] = wanted[j] / size - dot(unit[j], known)
    shared = np.dot(unit, basis[:known_count].T)
    gram = np.dot(unit, unit.T) - np.dot(shared, shared.T)
    for j in range(k):
        gram[j, j] += DAMPING
    step = np.dot(cholesky_solve(gram, gap), unit)
    project(step, basis, count)
    for i in range(n):
        motion[i] += step[i]


@routine
def _crossed(joint_rows: Array, motion: Array, low: Array, high: Array, held: NDArray[np.bool_]) -> tuple[int, float]:
    """The joint whose acceleration is furthest beyond its bounds and is not held yet, and the bound; -1 if there is none."""
    worst, joint, bound = 1e-6, -1, 0.0
    for j in range(joint_rows.shape[0]):
        if held[j]:
            continue
        a = dot(joint_rows[j], motion)
        if a - high[j] > worst:
            worst, joint, bound = a - high[j], j, high[j]
        elif low[j] - a > worst:
            worst, joint, bound = low[j] - a, j, low[j]
    return joint, bound


@kernel
def shorten_step(motion: Array, before: Array, longest: float) -> None:
    """Shorten the step from `before` to `motion` to at most `longest`."""
    square = 0.0
    for i in range(motion.shape[0]):
        square += (motion[i] - before[i]) ** 2
    if square > longest * longest:
        fraction = longest / np.sqrt(square)
        for i in range(motion.shape[0]):
            motion[i] = before[i] + fraction * (motion[i] - before[i])


@routine
def solve_levels(
    rows: Array, wanted: Array, weights: Array, starts: NDArray[np.int64], rest_rows: Array, rest_wanted: Array,
    joint_rows: Array, low: Array, high: Array, fixed: Array, fixed_count: int, fixed_motion: Array,
    soft: float, longest: float, compensate: bool, motion: Array,
) -> int:  # fmt: skip
    """All levels, then the joints of the last one, with bounds on joint accelerations that every level obeys.

    rows (k, n), wanted and weights (k,), starts (levels + 1,): level l is rows[starts[l]:starts[l+1]].
    longest: no level and no bound changes the motion z by more than this (infinite: no limit).
    rest_rows (m, n), rest_wanted (m,): the last level, joint accelerations that use the remaining freedom.
    joint_rows (j, n), low, high (j,): bounds. A bound crossed by a level is imposed just above that level and the level is
    solved again: bounds hold like a highest level, yet no lower task can change a higher one through them.
    fixed (n, n), fixed_count, fixed_motion: what constraints and passive joints have already decided.
    motion (n,) becomes the motion z; returns how many joints are at their bound.
    """
    n = fixed.shape[0]
    motion[:] = fixed_motion
    basis = fixed.copy()
    count = fixed_count
    held = np.zeros(joint_rows.shape[0], np.bool_)
    levels = starts.shape[0] - 1
    bounded = 0
    before = np.empty(n)
    # level -1 is the motion under the constraints alone: its bounds come first
    for level in range(-1, levels + 1):
        if level == levels and rest_rows.shape[0] == 0:
            break
        for i in range(n):
            before[i] = motion[i]
        count_before = count
        for _ in range(joint_rows.shape[0] + 1):
            known = motion.copy() if compensate else fixed_motion
            known_count = count if compensate else fixed_count
            if 0 <= level < levels:
                a, b = starts[level], starts[level + 1]
                count = solve_level(
                    rows[a:b], wanted[a:b], weights[a:b], motion, basis, count, soft, known, known_count
                )  # fmt: skip
            elif level == levels:
                follow_joints(rest_rows, rest_wanted, motion, basis, count, known, known_count)
            shorten_step(motion, before, longest)
            joint, bound = _crossed(joint_rows, motion, low, high, held)
            if joint < 0:
                break
            held[joint] = True
            # return to the state before this level, with the bound imposed
            for i in range(n):
                motion[i] = before[i]
            count = require(joint_rows[joint], bound, motion, basis, count_before, 0.02)
            shorten_step(motion, before, longest)
            bounded += count - count_before
            count_before = count
            for i in range(n):
                before[i] = motion[i]
    return bounded
