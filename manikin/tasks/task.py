"""Task: a measure, and the law that chooses its acceleration."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.physics.world import World
from manikin.tasks.goals import Goal
from manikin.tasks.laws import Displacements, Law
from manikin.tasks.measures import Measure, Points, Reading, read_all

Array = NDArray[np.float64]


class Rows(NamedTuple):
    """jacobian @ qacc = wanted, the desired accelerations without their bias. places: the rows of each task."""

    jacobian: Array
    wanted: Array
    places: tuple[slice, ...]


@dataclass
class Task:
    """priority 0 is the highest; max_force [N] limits the Eq. 13 force per block (per hand).

    weight: how much this task counts against others of the same priority when not all can be met: with twice the weight of
    another, it misses by a quarter as much. Only ratios within a level count; a task alone at its level needs no weight.
    """

    name: str
    measure: Measure
    law: Law
    priority: int = 0
    weight: float = 1.0
    max_force: float | None = None
    active: bool = True
    goal: Goal | None = None
    error: float = 0.0  # distance from the goal when last evaluated
    at_limit: bool = False  # whether max_force was reached when last solved

    def aim_at(self, goal: Goal | None) -> None:
        """Give the task a new goal and switch it on."""
        self.goal, self.active = goal, True
        self.law.restart()

    def rows(self, world: World, dt: float) -> Rows:
        """The rows of this task at the present state."""
        return rows_of((self,), world, dt)

    def command(self, world: World, now: Reading, dt: float, out: Array) -> None:
        """Write the acceleration that the law commands into `out` (k,) and store the distance from the goal."""
        aim = None if self.goal is None else self.goal.at(world, self.law.moving)
        self.error = self.law.command(world, self.measure, now, aim, dt, out)

    def displacements(self, world: World) -> Displacements:
        """For a task of points with a goal: body -> displacement [m] (3,) from its point to the goal."""
        if self.goal is None or not isinstance(self.measure, Points):
            return {}
        now, aim = self.measure.evaluate(world.dynamics()), self.goal.at(world, False)
        left = (aim.value - now.value).reshape(-1, 3)
        return {int(body): offset for body, offset in zip(self.measure.bodies, left)}


def rows_of(tasks: Sequence[Task], world: World, dt: float) -> Rows:
    """Rows of several tasks at the present state, stacked."""
    readings, jacobian, bias, places = read_all(world.dynamics(), [t.measure for t in tasks])
    wanted = np.empty(len(bias))
    for task, now, place in zip(tasks, readings, places):
        task.command(world, now, dt, wanted[place])
    wanted -= bias
    return Rows(jacobian, wanted, places)


def relative_weights(priorities: Sequence[int], weights: Sequence[float]) -> list[float]:
    """Weights divided by the smallest of their level, so that only ratios count."""
    smallest: dict[int, float] = {}
    for priority, weight in zip(priorities, weights):
        smallest[priority] = min(weight, smallest.get(priority, weight))
    return [weight / smallest[priority] for priority, weight in zip(priorities, weights)]
