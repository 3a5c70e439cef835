"""Limits: forces in task space (Abe & Popovic 2006, section 4.2) and joint angles (the document's wish in section 6).

A bound limit returns rows over the input z with a lowest and a highest value; every level of a controller obeys them.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
from numba import njit
from numpy.typing import NDArray

from manikin.linear.nullspace import FAST, dot, project
from manikin.physics.dynamics import Dynamics
from manikin.physics.response import Response, actuated_dofs
from manikin.springs import gains

Array = NDArray[np.float64]


@njit(cache=True, fastmath=FAST)
def _limit(rows: Array, wanted: Array, basis: Array, constrained: int, limp: Array, most: float, block: int) -> Array:
    k, n = rows.shape
    left = rows.copy()
    for r in range(k):
        project(left[r], basis, constrained)
    # W = J N J^T: how task accelerations answer to forces at the task points
    inverse = np.empty((k, k))
    start = np.empty(k)
    for r in range(k):
        start[r] = dot(rows[r], limp)
        for s in range(r + 1):
            inverse[r, s] = dot(left[r], left[s])
            inverse[s, r] = inverse[r, s]
    values, vectors = np.linalg.eigh(inverse)
    force, weight = np.zeros(k), np.zeros(k)
    for e in range(k):
        if values[e] <= 1e-6 * values[k - 1]:
            continue
        f, g = 0.0, 0.0
        for r in range(k):
            f += vectors[r, e] * (wanted[r] - start[r])
            g += vectors[r, e] * (-start[r])
        for r in range(k):
            force[r] += vectors[r, e] * f / values[e]
            weight[r] += vectors[r, e] * g / values[e]
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
        share = (-fg + np.sqrt(fg * fg + ee * (most * most - gg))) / ee
        for i in range(b, stop):
            force[i] = weight[i] + share * (force[i] - weight[i])
    if limited:
        for r in range(k):
            a = start[r]
            for s in range(k):
                a += inverse[r, s] * force[s]
            wanted[r] = a
    return force


def limit_force(response: Response, rows: Array, wanted: Array, most: float, block: int) -> tuple[Array, float]:
    """Eq. 13 with the constrained inertia: the accelerations that forces of at most `most` [N] per block can cause, and
    the largest block of that force.

    f = W^+ (a* - a0) with W = J N J^T and a0 the acceleration without torque. Where |f| is too large, the part that carries
    the weight stays and only the rest is shortened: a heavy box rises slowly instead of sinking.
    """
    out = wanted.copy()
    force = _limit(rows, out, response.basis, response.constrained, response.limp, most, block)
    largest = max(float(np.linalg.norm(force[i : i + block])) for i in range(0, len(force), block))
    return out, largest


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

    frequency [Hz]: how hard the wall is; margin [rad]: how far before it the wall stands; most [rad/s^2]: hardest stop.
    """

    frequency: float = 4.0
    margin: float = np.deg2rad(2.0)
    most: float = 400.0

    def bounds(self, dynamics: Dynamics) -> Bounds:
        """Lowest and highest acceleration (nu,) of each actuated joint: k (q_limit - q) - 2 sqrt(k) qdot."""
        low, high, address, dofs = _ranges(dynamics.model)
        k, damping = gains(self.frequency)
        q, v = dynamics.qpos[address], dynamics.qvel[dofs]
        up = np.maximum(k * (high - self.margin - q) - damping * v, -self.most)
        down = np.minimum(k * (low + self.margin - q) - damping * v, self.most)
        return Bounds(dynamics.response().joint_rows, down, up)


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
