"""Limits: forces in task space (Abe & Popovic 2006, section 4.2) and joint angles (future work in section 6 there).

A limit gives rows over the input z with lower and upper bounds, which every level of a controller obeys.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel, routine
from manikin.linear.nullspace import apply_inverse, dot, inverse_factor, project
from manikin.physics.dynamics import Dynamics
from manikin.physics.response import actuated_dofs
from manikin.springs import gains

Array = NDArray[np.float64]

# directions of the task inertia weaker than this fraction of the strongest carry no force
SINGULAR = 1e-6


@routine
def _forces(inverse: Array, one: Array, two: Array) -> tuple[Array, Array]:
    """Forces that cause accelerations `one` and `two`. Two hands on one prop give a zero eigenvalue, which is skipped."""
    k = one.shape[0]
    top = 0.0
    for r in range(k):
        top = max(top, inverse[r, r])
    regular, factor = inverse_factor(inverse, SINGULAR * top)
    if regular:
        return apply_inverse(factor, one), apply_inverse(factor, two)
    values, vectors = np.linalg.eigh(inverse)
    first, second = np.zeros(k), np.zeros(k)
    for e in range(k):
        if values[e] <= SINGULAR * values[k - 1]:
            continue
        f, g = 0.0, 0.0
        for r in range(k):
            f += vectors[r, e] * one[r]
            g += vectors[r, e] * two[r]
        for r in range(k):
            first[r] += vectors[r, e] * f / values[e]
            second[r] += vectors[r, e] * g / values[e]
    return first, second


@routine
def clamp_force(
    rows: Array, wanted: Array, basis: Array, constrained: int, unforced: Array, most: float, block: int
) -> float:  # fmt: skip
    """Eq. 13 with the constrained inertia: reduce `wanted` to the accelerations that forces of at most `most` [N] per block of
    rows can cause. Returns the largest force of any block.

    f = W^+ (a* - a0) with W = J N J^T and a0 the acceleration without torque. Where |f| is too large, the part that carries
    the weight stays and only the rest is shortened: a heavy box rises slowly instead of sinking.
    """
    k = rows.shape[0]
    left = rows.copy()
    for r in range(k):
        project(left[r], basis, constrained)
    # W = J N J^T: how task accelerations respond to forces at the task points
    inverse = np.empty((k, k))
    start, ahead, weigh = np.empty(k), np.empty(k), np.empty(k)
    for r in range(k):
        start[r] = dot(rows[r], unforced)
        ahead[r], weigh[r] = wanted[r] - start[r], -start[r]
        for s in range(r + 1):
            inverse[r, s] = dot(left[r], left[s])
            inverse[s, r] = inverse[r, s]
    force, weight = _forces(inverse, ahead, weigh)
    limited = False
    for b in range(0, k, block):
        stop = min(b + block, k)
        ff, gg, fg = 0.0, 0.0, 0.0
        for i in range(b, stop):
            ff += force[i] * force[i]
            gg += weight[i] * weight[i]
            fg += weight[i] * (force[i] - weight[i])
        if ff <= most * most:
            continue
        limited = True
        if gg >= most * most:
            # the weight alone is too much
            for i in range(b, stop):
                force[i] = weight[i] * most / np.sqrt(gg)
            continue
        ee = 0.0
        for i in range(b, stop):
            ee += (force[i] - weight[i]) ** 2
        scale = (-fg + np.sqrt(fg * fg + ee * (most * most - gg))) / ee
        for i in range(b, stop):
            force[i] = weight[i] + scale * (force[i] - weight[i])
    if limited:
        for r in range(k):
            a = start[r]
            for s in range(k):
                a += inverse[r, s] * force[s]
            wanted[r] = a
    largest = 0.0
    for b in range(0, k, block):
        square = 0.0
        for i in range(b, min(b + block, k)):
            square += force[i] * force[i]
        largest = max(largest, square)
    return np.sqrt(largest)


class Bounds(NamedTuple):
    """low <= rows @ z <= high."""

    rows: Array
    low: Array
    high: Array


class Limit(Protocol):
    """Something that no task may break."""

    def bounds(self, dynamics: Dynamics) -> Bounds: ...


@dataclass(frozen=True)
class JointLimits:
    """Bounds on the accelerations of actuated joints that keep their angles in range.

    frequency [Hz]: stiffness; margin [rad]: how far before the limit it acts; most [rad/s^2]: largest braking acceleration.
    """

    frequency: float = 4.0
    margin: float = np.deg2rad(2.0)
    most: float = 400.0

    def bounds(self, dynamics: Dynamics) -> Bounds:
        """Lowest and highest acceleration (nu,) of each actuated joint: k (q_limit - q) - 2 sqrt(k) qdot."""
        low, high, address, dofs = _ranges(dynamics.model)
        k, damping = gains(self.frequency)
        down, up = np.empty(len(low)), np.empty(len(low))
        _walls(dynamics.qpos, dynamics.qvel, low, high, address, dofs, k, damping, self.margin, self.most, down, up)
        return Bounds(dynamics.response().joint_rows, down, up)


@kernel
def _walls(
    qpos: Array, qvel: Array, low: Array, high: Array, address: NDArray[np.int64], dofs: NDArray[np.int64],
    k: float, damping: float, margin: float, most: float, down: Array, up: Array,
) -> None:  # fmt: skip
    for j in range(low.shape[0]):
        q, v = qpos[address[j]], qvel[dofs[j]]
        up[j] = max(k * (high[j] - margin - q) - damping * v, -most)
        down[j] = min(k * (low[j] + margin - q) - damping * v, most)


_RANGES: dict[int, tuple[mujoco.MjModel, tuple[Array, Array, NDArray[np.int64], NDArray[np.int64]]]] = {}


def _ranges(model: mujoco.MjModel) -> tuple[Array, Array, NDArray[np.int64], NDArray[np.int64]]:
    """Range, address and DOF of each actuated joint, looked up once per model."""
    known = _RANGES.get(id(model))
    if known is None or known[0] is not model:
        joints = model.actuator_trnid[:, 0]
        limited = model.jnt_limited[joints].astype(bool)
        low = np.where(limited, model.jnt_range[joints, 0], -np.inf)
        high = np.where(limited, model.jnt_range[joints, 1], np.inf)
        known = (model, (low, high, model.jnt_qposadr[joints].astype(np.int64), actuated_dofs(model)))
        _RANGES.clear()
        _RANGES[id(model)] = known
    return known[1]
