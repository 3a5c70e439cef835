"""Restraint: keeps commanded motions within joint torque limits and human joint speeds.

Torques that are clipped one by one no longer produce the planned motion: they accelerate light joints to hundreds of radians
per second. So a motion beyond the limits is scaled back as a whole, towards one that only brakes the joints (see Abe & Popovic
2006, section 4.2, on why joint torques should not be clipped).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel, routine
from manikin.linear.nullspace import follow_joints

Array = NDArray[np.float64]

# no joint is driven faster than this [rad/s]: the elbow of a pitcher extends at 2,300 degrees per second (Fleisig et al. 1999)
FASTEST = 40.0
# time constant [s] with which joints are braked
BRAKING = 0.05


class Motors(NamedTuple):
    """What the actuated joints can do, and how fast they move: torque limits [N m], inertia that implicit damping adds
    [kg m^2], speeds [rad/s], the time [s] until the next decision, and whether motions are scaled back to these limits."""

    weakest: Array
    strongest: Array
    step_damping: Array
    speed: Array
    period: float
    restrained: bool


def limits_at(weakest: Array, strongest: Array, speed: Array) -> tuple[Array, Array]:
    """Torque limits at the joints' speeds: the faster a muscle shortens, the less it pulls, down to nothing at FASTEST (Hill
    1938, as a straight line); one that is being stretched keeps its strength. Joints without a limit stay without one."""
    down, up = np.empty_like(weakest), np.empty_like(strongest)
    _at_speed(weakest, strongest, speed, down, up)
    return down, up


@kernel
def _at_speed(weakest: Array, strongest: Array, speed: Array, down: Array, up: Array) -> None:
    for j in range(speed.shape[0]):
        v = speed[j] / FASTEST
        down[j] = weakest[j] * min(max(1.0 + v, 0.0), 1.0) if weakest[j] > -np.inf else weakest[j]
        up[j] = strongest[j] * min(max(1.0 - v, 0.0), 1.0) if strongest[j] < np.inf else strongest[j]


@kernel
def beyond(demand: Array, qacc: Array, motors: Motors) -> bool:
    """Whether actuator inputs exceed the torque limits, or the accelerations drive a joint faster than FASTEST."""
    if not motors.restrained:
        return False
    for j in range(demand.shape[0]):
        v = motors.speed[j]
        after = abs(v + motors.period * qacc[j])
        if demand[j] < motors.weakest[j] or demand[j] > motors.strongest[j] or after > max(FASTEST, abs(v)):
            return True
    return False


@routine
def brake(
    joint_rows: Array, low: Array, high: Array, motion: Array, basis: Array, count: int, motors: Motors, rest: Array
) -> None:  # fmt: skip
    """Fill `rest` (n,) with the motion that brakes all joints, within their bounds low and high."""
    k = joint_rows.shape[0]
    wanted = np.empty(k)
    for j in range(k):
        wanted[j] = -motors.speed[j] / BRAKING
        if low.shape[0] == k:
            wanted[j] = min(max(wanted[j], low[j]), high[j])
    rest[:] = motion
    follow_joints(joint_rows, wanted, rest, basis, count, motion, count)


@kernel
def _largest(rest: float, full: float, low: float, high: float) -> float:
    """The largest fraction of the step from `rest` to `full` that stays in [low, high], or moves no further outside."""
    step = full - rest
    limit = high if step > 0 else low
    if step == 0 or (full - limit) * step <= 0:
        return 1.0
    return max((limit - rest) / step, 0.0)


@kernel
def fraction(rest: Array, demand: Array, rest_qacc: Array, qacc: Array, motors: Motors) -> float:
    """The largest fraction of the step from braking to the full motion for which all limits hold."""
    least = 1.0
    for j in range(demand.shape[0]):
        least = min(least, _largest(rest[j], demand[j], motors.weakest[j], motors.strongest[j]))
        v, dt = motors.speed[j], motors.period
        most = max(FASTEST, abs(v))
        least = min(least, _largest(v + dt * rest_qacc[j], v + dt * qacc[j], -most, most))
    return least
