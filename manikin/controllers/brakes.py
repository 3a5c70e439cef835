"""Joint limits and torque limits as rows on the accelerations of joints (Kim & Pollard 2011, Eq. 9 and 10)."""

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel

Array = NDArray[np.float64]

# the beta of Eq. 9 [rad], so that no gap is divided by zero; the parabola's top lies half of it inside the limit
BETA = 2e-3
# a joint that would meet its limit within this time [s] is braked, however far it is: the Delta of Eq. 9 grows with speed
AHEAD = 0.06
# a braking acceleration [rad/s^2] that is always available
BRAKE = 60.0
# a joint beyond its limit is led back in about this time [s], and no update takes one to where its limit is nearer in time
RETURN = 0.02
# the least Delta [rad]
MARGIN = 0.1
# joints are not driven faster [rad/s]: in the air an unreachable goal would whirl them about, and limits that many fast
# joints approach at once contradict each other
FASTEST = 45.0
# when limits contradict each other, torque limits give way so many times less than joint limits
TORQUE_STIFF = 100.0
# flesh squeezed below the first of these parts of its volume slackens the joints around it, fully at the second
SORE, HURT = 0.35, 0.15
# how strongly: a critically damped return [1/s] to where flesh is at rest, at most `CALM / dt`; and how far [rad/s^2] commands
# may depart from it when flesh is halfway between
EASE, CALM, OTHERWISE = 50.0, 0.25, 300.0
# when limits contradict each other, the rows of squeezed flesh give way first, by so much
FLESH_STIFF = 1e-3


@kernel
def brake(gap: float, v: float, dt: float) -> float:
    """The greatest acceleration, held for an update, of a joint that is `gap` before a limit and moves towards it with v."""
    if gap == np.inf:
        return np.inf
    # how far it would be after the update, but for the speed that it is given
    left = gap - 0.5 * v * dt
    if left <= 0:
        # beyond the limit by then: stopped within the update, and led back
        return (left / RETURN - v) / dt
    if v > 0 and gap < max(MARGIN, AHEAD * v):
        # the time in which Eq. 9 stops it, in whole updates: one that stops within an update passes its limit or is thrown back
        # in the rest of the update, and at the limit itself Eq. 9 requires v^2 / beta
        updates = np.floor((2 * max(gap - BETA, 0.0) + BETA) / max(v * dt, 1e-12))
        return -v / (dt * max(updates, 1.0))
    # the speed that it may have after the update: one that can be braked from there on, or that leaves enough time
    inside = max(left - BETA, 0.0)
    slow = 0.5 * (np.sqrt((BRAKE * dt) ** 2 + 8 * BRAKE * inside) - BRAKE * dt)
    # not driven beyond the top speed; what was thrown faster than that is not braked for it
    return min((max(slow, inside / (RETURN + 0.5 * dt)) - v) / dt, max((FASTEST - v) / dt, 0.0))


@kernel
def parabola(q: Array, v: Array, low: Array, high: Array, dt: float) -> tuple[Array, Array]:
    """Eq. 9: the least and the greatest acceleration of joints, infinite where there is no limit.

    Departures: the parabola's top lies half of beta inside the limit; braking begins where the limit is near in time, and
    takes whole updates; no update requires more than stops a joint and leads it back; and a joint that is not braked, wherever
    it is, must not be taken by the coming update to where it could no longer be braked, nor be driven faster than FASTEST.
    """
    least, most = np.empty(q.shape[0]), np.empty(q.shape[0])
    for j in range(q.shape[0]):
        least[j], most[j] = -brake(q[j] - low[j], -v[j], dt), brake(high[j] - q[j], v[j], dt)
    return least, most


@kernel
def limit_rows(
    q: Array, v: Array, low: Array, high: Array, torque: Array, D: Array, torque0: Array, rest: Array, squeezed: Array,
    dt: float,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """All limits as rows C u with their bounds and their stiffness: joints (Eq. 9), torques (Eq. 10), and joints in squeezed
    flesh.

    Torque rows are scaled, so that all rows are of similar size. squeezed (n,): the least volume around each joint relative to
    its volume at rest. The document does not say what keeps its flesh whole; without the last rows fast drags invert it.
    """
    n = q.shape[0]
    least, most = parabola(q, v, low, high, dt)
    C, below, above, stiff = np.zeros((3 * n, n)), np.empty(3 * n), np.empty(3 * n), np.empty(3 * n)
    m = 0
    for j in range(n):
        if least[j] > -np.inf or most[j] < np.inf:
            C[m, j], below[m], above[m], stiff[m] = 1.0, least[j], most[j], 1.0
            m += 1
    for j in range(n):
        if torque[j] < np.inf:
            size = 0.0
            for i in range(n):
                size += D[j, i] * D[j, i]
            size = max(np.sqrt(size), 1e-9)
            for i in range(n):
                C[m, i] = D[j, i] / size
            below[m], above[m], stiff[m] = (-torque[j] - torque0[j]) / size, (torque[j] - torque0[j]) / size, TORQUE_STIFF
            m += 1
    quick = min(EASE, CALM / dt)
    for j in range(n):
        if squeezed[j] < SORE:
            share = min((SORE - squeezed[j]) / (SORE - HURT), 1.0)
            ease, room = -quick * (2 * v[j] + quick * (q[j] - rest[j])), OTHERWISE * (1 - share) / share
            # within what the joint's own limit allows
            ease = min(max(ease, least[j]), most[j])
            C[m, j], below[m], above[m], stiff[m] = 1.0, ease - room, ease + room, FLESH_STIFF
            m += 1
    return C[:m], below[:m], above[:m], stiff[:m]


@kernel
def tie_rows(
    C: Array, below: Array, above: Array, stiff: Array, ties: Array, q: Array, v: Array, low: Array, high: Array, dt: float
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """The rows of `limit_rows`, and Eq. 9 for sums of joint angles (t, n): the joint at which a loop is cut."""
    m, n, t = C.shape[0], C.shape[1], ties.shape[0]
    rows, least, most, hard = np.empty((m + t, n)), np.empty(m + t), np.empty(m + t), np.ones(m + t)
    rows[:m], least[:m], most[:m], hard[:m] = C, below, above, stiff
    down, up = parabola(np.dot(ties, q), np.dot(ties, v), low, high, dt)
    for i in range(t):
        size = np.sqrt(np.dot(ties[i], ties[i]))
        rows[m + i], least[m + i], most[m + i] = ties[i] / size, down[i] / size, up[i] / size
    return rows, least, most, hard
