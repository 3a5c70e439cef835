"""Forces that only push: the combination of directions, with weights that are never negative, that is nearest to a wrench.

min over a >= 0 of |A a - b|^2 + ridge |a|^2. At the solution a = max(0, A^T r) / ridge with the residual r = b - A a, so the
few numbers of r are the only unknowns: they minimise a convex function that is quadratic between kinks, and Newton's method
with a line search ends after a few steps, or a few dozen when b is far outside, however many directions there are.
Rounding leaves weights exact to about 1e-16 |A|^2 / ridge of the largest.
"""

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import routine
from manikin.linear.nullspace import cholesky_solve, dot

Array = NDArray[np.float64]

_ROUNDS = 100


@routine
def push_only(A: Array, b: Array, ridge: float) -> tuple[Array, Array]:
    """Weights a (k,) and the residual b - A a (m,), for A (m, k)."""
    m, k = A.shape
    columns = A.T.copy()
    r, gradient, trial = np.zeros(m), np.empty(m), np.empty(m)
    weights = np.zeros(k)
    scale = 1e-12 * (1.0 + np.sqrt(dot(b, b)))
    first = True
    for _ in range(_ROUNDS):
        # gradient and curvature of |r|^2 / 2 + |max(0, A^T r)|^2 / (2 ridge) - b . r
        H = np.zeros((m, m))
        for i in range(m):
            gradient[i] = r[i] - b[i]
            H[i, i] = 1.0
        for j in range(k):
            s = dot(columns[j], r)
            if s > 0.0 or first:
                for i in range(m):
                    gradient[i] += columns[j, i] * s / ridge
                    for c in range(i, m):
                        H[i, c] += columns[j, i] * columns[j, c] / ridge
        first = False
        if np.sqrt(dot(gradient, gradient)) <= scale:
            break
        step = cholesky_solve(H, -gradient)
        slope = dot(step, gradient)
        here = _objective(columns, b, ridge, r)
        size = 1.0
        for _ in range(40):
            for i in range(m):
                trial[i] = r[i] + size * step[i]
            # near the minimum, values differ only by rounding
            if _objective(columns, b, ridge, trial) <= here + 1e-4 * size * slope + 1e-15 * abs(here):
                break
            size *= 0.5
        moved = 0.0
        for i in range(m):
            moved = max(moved, abs(trial[i] - r[i]))
            r[i] = trial[i]
        if moved <= 1e-15 * (1.0 + np.sqrt(dot(r, r))):
            break
    left = b.copy()
    for j in range(k):
        weights[j] = max(0.0, dot(columns[j], r)) / ridge
        for i in range(m):
            left[i] -= columns[j, i] * weights[j]
    return weights, left


@routine
def _objective(columns: Array, b: Array, ridge: float, r: Array) -> float:
    total = 0.5 * dot(r, r) - dot(b, r)
    for j in range(columns.shape[0]):
        s = dot(columns[j], r)
        if s > 0.0:
            total += 0.5 * s * s / ridge
    return total
