"""Prioritized control of dynamic manipulation. Abe & Popovic 2006, sections 3 and 4.

Any number of levels, joint-space and Cartesian tasks at any of them, closed loops and unactuated joints included. Joint
limits stand above all tasks; task-space force limits are applied to each task that has one before it is solved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.linear.nullspace import solve_levels
from manikin.physics.response import Response
from manikin.physics.world import Control, TaskReport, World
from manikin.tasks.limits import JointLimits, Limit, limit_force
from manikin.tasks.measures import Posture
from manikin.tasks.task import Task

Array = NDArray[np.float64]


class _Asked(NamedTuple):
    """One task's rows over the input z, what it wants of them, and the Eq. 13 force [N] that this takes."""

    task: Task
    rows: Array
    wanted: Array
    force: float = 0.0


class Solution(NamedTuple):
    """What the controller decided: the input z, torques [N m], constraint forces, and how the tasks fared."""

    z: Array
    torque: Array
    force: Array
    report: Callable[[], dict[str, TaskReport]]


@dataclass(frozen=True)
class Prioritized:
    """soft: rows of which less than this share is left are damped (0.005 exact but hard, 0.1 very soft).

    compensate: False is the classic projection, which does not account for what higher tasks do to lower ones.
    limits: what no task may break, such as joint limits.
    """

    soft: float = 0.02
    compensate: bool = True
    limits: tuple[Limit, ...] = (JointLimits(),)

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        """Torques for the present state, within the actuators' limits."""
        solution = self.solve(world, tasks, dt)
        low, high = world.torque_limits
        return Control(np.minimum(np.maximum(solution.torque, low), high), None, solution.report)

    def solve(self, world: World, tasks: Sequence[Task], dt: float) -> Solution:
        """The prioritized torques before any actuator limit."""
        dynamics = world.dynamics()
        response = dynamics.response()
        active = sorted((t for t in tasks if t.active), key=_priority)
        last = _last_posture(active)
        asked = self._ask(world, response, [t for t in active if t is not last], dt)
        rest = self._ask_last(world, response, last, dt) if last is not None else None

        n = response.h.shape[0]
        rows = np.concatenate([a.rows for a in asked]) if asked else np.zeros((0, n))
        wanted = np.concatenate([a.wanted for a in asked]) if asked else np.zeros(0)
        weights = np.concatenate([np.full(len(a.wanted), a.task.weight) for a in asked]) if asked else np.ones(0)
        starts, priority = [0], None
        for a in asked:
            if a.task.priority != priority:
                starts.append(starts[-1])
                priority = a.task.priority
            starts[-1] += len(a.wanted)
        bounds = [limit.bounds(dynamics) for limit in self.limits]
        bounded, low, high = (
            (np.concatenate(part) for part in zip(*bounds)) if bounds else (np.zeros((0, n)), np.zeros(0), np.zeros(0))
        )
        rest_rows, rest_wanted = (rest.rows, rest.wanted) if rest is not None else (np.zeros((0, n)), np.zeros(0))
        z, _ = solve_levels(
            rows, wanted, weights, np.array(starts), rest_rows, rest_wanted, bounded, low, high,
            response.basis, response.decided, response.motion, self.soft, self.compensate,
        )  # fmt: skip
        torque, force = response.torque(z)
        everyone = asked if rest is None else [*asked, rest]
        return Solution(z, torque, force, lambda: _report(everyone, z))

    def _ask(self, world: World, response: Response, tasks: list[Task], dt: float) -> list[_Asked]:
        """All tasks' rows over the input, with force limits applied."""
        needed = [t.rows(world, dt) for t in tasks]
        if not needed:
            return []
        rows = response.rows(np.concatenate([r.jacobian for r in needed]))
        out, start = [], 0
        for task, need in zip(tasks, needed):
            mine = rows[start : start + len(need.wanted)]
            start += len(need.wanted)
            wanted, force = need.wanted, 0.0
            if task.max_force is not None:
                wanted, force = limit_force(response, mine, wanted, task.max_force, task.measure.block)
                task.at_limit = force >= 0.999 * task.max_force
            out.append(_Asked(task, mine, wanted, force))
        return out

    def _ask_last(self, world: World, response: Response, task: Task, dt: float) -> _Asked:
        """A posture at the lowest level takes what is left: its rows are those of the joints themselves."""
        measure = task.measure
        assert isinstance(measure, Posture)
        wanted = task.wanted(world, measure.evaluate(world.dynamics()), dt)
        return _Asked(task, response.rows_of_dofs(measure.dofs), wanted)


def _priority(task: Task) -> int:
    return task.priority


def _last_posture(active: list[Task]) -> Task | None:
    """The last task, when it is a posture and alone at its priority."""
    if not active or not isinstance(active[-1].measure, Posture):
        return None
    return active[-1] if len(active) == 1 or active[-2].priority < active[-1].priority else None


def _report(asked: list[_Asked], z: Array) -> dict[str, TaskReport]:
    out = {}
    for a in asked:
        limit = float("nan") if a.task.max_force is None else a.task.max_force
        out[a.task.name] = TaskReport(a.task.error, a.force, limit, float(np.linalg.norm(a.rows @ z - a.wanted)))
    return out
