"""Inverse kinematics: a pose at which tasks are met, found by evaluating the same measures at trial poses."""

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.physics.world import World
from manikin.tasks.measures import Measure

Array = NDArray[np.float64]


class Target(NamedTuple):
    """A measure, its goal, and its weight (per metre or radian)."""

    measure: Measure
    goal: Array
    weight: float


def solve_pose(world: World, targets: Sequence[Target], iterations: int = 60, longest: float = 0.4) -> float:
    """Move the world's qpos to the weighted least-squares pose (damped Gauss-Newton), within joint limits.

    Velocities are set to zero. Returns the remaining weighted error.
    """
    model, data = world.model, world.data
    data.qvel[:] = 0.0
    limited = np.flatnonzero(model.jnt_limited)
    address = model.jnt_qposadr[limited]
    low, high = model.jnt_range[limited].T
    left = 0.0
    for _ in range(iterations):
        world.forward()
        dynamics = world.dynamics()
        rows, gaps = [], []
        for target in targets:
            now = target.measure.evaluate(dynamics)
            rows.append(target.weight * now.jacobian)
            gaps.append(target.weight * target.measure.error(now.value, target.goal))
        A, b = np.concatenate(rows), np.concatenate(gaps)
        left = float(np.linalg.norm(b))
        step = np.linalg.solve(A.T @ A + 1e-6 * np.eye(model.nv), A.T @ b)
        step *= min(1.0, longest / max(float(np.abs(step).max()), 1e-12))
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
        data.qpos[address] = np.clip(data.qpos[address], low + 0.01, high - 0.01)
        if np.abs(step).max() < 1e-7:
            break
    world.forward()
    return left
