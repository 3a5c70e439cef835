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
# a joint beyond its limit returns in about this time [s], and no update brings a joint closer to its limit in time than this
RETURN = 0.02
# the least Delta [rad]
MARGIN = 0.1
# joints are not driven faster than this [rad/s]: in flight an unreachable goal would spin them up, and the limits of many
# fast joints contradict each other
FASTEST = 45.0
# stiffness of torque limits relative to joint limits, when they contradict each other
TORQUE_STIFF = 100.0
# flesh compressed below the first fraction of its rest volume relaxes the joints around it, fully at the second
SQUEEZED, CRUSHED = 0.35, 0.15
# rate [1/s] of the critically damped return to where flesh is at rest, at most `STABLE / dt`; and how far [rad/s^2] commands
# may depart from it when flesh is halfway between the two fractions
RELAX, STABLE, FREEDOM = 50.0, 0.25, 300.0
# stiffness of the rows of squeezed flesh, likewise: they yield first
FLESH_STIFF = 1e-3


@kernel
def brake(gap: float, v: float, dt: float) -> float:
    """The greatest acceleration, held for an update, of a joint that is `gap` before a limit and moves towards it with v."""
    if gap == np.inf:
        return np.inf
    # distance left after the update, not counting the change of speed in it
    left = gap - 0.5 * v * dt
    if left <= 0:
        # beyond the limit by then: stop within the update and return
        return (left / RETURN - v) / dt
    if v > 0 and gap < max(MARGIN, AHEAD * v):
        # Eq. 9's stopping time in whole updates: a joint that stops within an update would pass its limit or be thrown back
        # in the rest of it, and at the limit itself Eq. 9 requires v^2 / beta
        updates = np.floor((2 * max(gap - BETA, 0.0) + BETA) / max(v * dt, 1e-12))
        return -v / (dt * max(updates, 1.0))
    # the highest speed after the update from which it can still be braked, or that leaves enough time
    inside = max(left - BETA, 0.0)
    slow = 0.5 * (np.sqrt((BRAKE * dt) ** 2 + 8 * BRAKE * inside) - BRAKE * dt)
    # not driven beyond the top speed; a joint thrown faster than that is not braked for it
    return min((max(slow, inside / (RETURN + 0.5 * dt)) - v) / dt, max((FASTEST - v) / dt, 0.0))


@kernel
def parabola(q: Array, v: Array, low: Array, high: Array, dt: float) -> tuple[Array, Array]:
    """Eq. 9: the least and the greatest acceleration of joints, infinite where there is no limit.

    Departures: the parabola's top lies half of beta inside the limit; braking begins where the limit is near in time, and
    takes whole updates; no update requires more than it takes to stop a joint and bring it back; and no update may bring an
    unbraked joint to where it could no longer be braked, nor drive it faster than FASTEST.
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
    its volume at rest. The document does not say what keeps its flesh from inverting; without the last rows fast drags do.
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
    omega = min(RELAX, STABLE / dt)
    for j in range(n):
        if squeezed[j] < SQUEEZED:
            part = min((SQUEEZED - squeezed[j]) / (SQUEEZED - CRUSHED), 1.0)
            relaxing, room = -omega * (2 * v[j] + omega * (q[j] - rest[j])), FREEDOM * (1 - part) / part
            # within what the joint's own limit allows
            relaxing = min(max(relaxing, least[j]), most[j])
            C[m, j], below[m], above[m], stiff[m] = 1.0, relaxing - room, relaxing + room, FLESH_STIFF
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
