"""Prioritized control of dynamic manipulation. Abe & Popovic 2006, sections 3 and 4.

Any number of levels, joint-space and Cartesian tasks at any of them, closed loops and unactuated joints included. Joint
limits stand above all tasks; task-space force limits are applied to each task that has one before it is solved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.linear.nullspace import solve_levels
from manikin.physics.response import Response
from manikin.physics.world import Control, TaskReport, World
from manikin.tasks.limits import JointLimits, limit_force
from manikin.tasks.measures import Posture
from manikin.tasks.task import Task

Array = NDArray[np.float64]


class _Asked(NamedTuple):
    """One task's rows over the input z, what it wants of them, and the Eq. 13 force [N] that this takes."""

    task: Task
    rows: Array
    wanted: Array
    force: float


class Solution(NamedTuple):
    """What the controller decided: the input z, torques [N m] and constraint forces."""

    z: Array
    torque: Array
    force: Array
    report: Callable[[], dict[str, TaskReport]]


@dataclass(frozen=True)
class Prioritized:
    """soft: rows of which less than this share is left are damped (0.005 exact but hard, 0.1 very soft).

    compensate: False is the classic projection, which does not account for what higher tasks do to lower ones.
    joint_limits: None switches them off.
    """

    soft: float = 0.02
    compensate: bool = True
    joint_limits: JointLimits | None = field(default_factory=JointLimits)

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        """Torques for the present state, within the actuators' limits."""
        solution = self.solve(world, tasks, dt)
        low, high = world.torque_limits
        return Control(np.minimum(np.maximum(solution.torque, low), high), None, solution.report)

    def solve(self, world: World, tasks: Sequence[Task], dt: float) -> Solution:
        """The prioritized torques before any actuator limit."""
        dynamics = world.dynamics()
        response = dynamics.response()
        active = sorted((t for t in tasks if t.active), key=lambda t: t.priority)
        rest_task = _rest_task(active, response)
        asked = [self._ask(world, response, t, dt) for t in active if t is not rest_task]

        n = response.h.shape[0]
        rows = np.concatenate([np.zeros((0, n))] + [a.rows for a in asked])
        wanted = np.concatenate([np.zeros(0)] + [a.wanted for a in asked])
        weights = np.concatenate([np.zeros(0)] + [np.full(len(a.wanted), a.task.weight) for a in asked])
        sizes: dict[int, int] = {}
        for a in asked:
            sizes[a.task.priority] = sizes.get(a.task.priority, 0) + len(a.wanted)
        starts = np.cumsum([0, *sizes.values()])
        rest = np.zeros(n)
        if rest_task is not None:
            rest = self._rest(world, response, rest_task, dt)
        if self.joint_limits is not None:
            low, high = self.joint_limits.bounds(dynamics)
            joint_rows = response.joint_rows
        else:
            joint_rows, low, high = np.zeros((0, n)), np.zeros(0), np.zeros(0)
        z, _ = solve_levels(
            rows, wanted, weights / max(1.0, weights.max(initial=0.0)), starts, rest, rest_task is not None,
            joint_rows, low, high, response.basis, response.decided, response.motion, self.soft, self.compensate,
        )  # fmt: skip
        torque, force = response.torque(z)
        return Solution(z, torque, force, lambda: _report(asked, rest_task, rest, z))

    def _ask(self, world: World, response: Response, task: Task, dt: float) -> _Asked:
        needed = task.rows(world, dt)
        rows, wanted, force = response.rows(needed.jacobian), needed.wanted, 0.0
        if task.max_force is not None:
            wanted, force = limit_force(response, rows, wanted, task.max_force, task.measure.block)
            task.at_limit = force >= 0.999 * task.max_force
        return _Asked(task, rows, wanted, force)

    def _rest(self, world: World, response: Response, task: Task, dt: float) -> Array:
        """A posture of all joints at the lowest level takes what is left, in the mass metric: no rows to solve."""
        measure = task.measure
        assert isinstance(measure, Posture)
        now = measure.evaluate(world.dynamics())
        by_dof = np.zeros(world.model.nv)
        by_dof[measure.dofs] = task.wanted(world, now, dt)
        return response.rest(by_dof[response.layout.actuated])


def _report(asked: list[_Asked], rest_task: Task | None, rest: Array, z: Array) -> dict[str, TaskReport]:
    out = {}
    for a in asked:
        limit = float("nan") if a.task.max_force is None else a.task.max_force
        out[a.task.name] = TaskReport(a.task.error, a.force, limit, float(np.linalg.norm(a.rows @ z - a.wanted)))
    if rest_task is not None:
        out[rest_task.name] = TaskReport(rest_task.error, missed=float(np.linalg.norm(rest - z)))
    return out


def _rest_task(active: list[Task], response: Response) -> Task | None:
    """The last task, when it is a posture of all actuated joints and alone at its priority."""
    if not active or not isinstance(active[-1].measure, Posture):
        return None
    last = active[-1]
    alone = len(active) == 1 or active[-2].priority < last.priority
    return last if alone and len(last.measure.dofs) == len(response.layout.actuated) else None


