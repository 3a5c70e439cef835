"""Task: a measure, and the law that chooses its acceleration."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.errors import InputError, shown
from manikin.physics.world import World
from manikin.tasks.goals import Aim, Fixed, Goal
from manikin.tasks.laws import Displacements, Hold, Law, Nearest
from manikin.tasks.measures import (
    DIRECTION,
    GAZE_ANGLES,
    ROTATIONS,
    Measure,
    Points,
    Posture,
    Reading,
    goal_size,
    read_all,
    row_count,
)

Array = NDArray[np.float64]

# weights of tasks, in scene files too
LIGHTEST, HEAVIEST = 0.001, 1000.0
# what the numbers of a goal are, where it is not obvious
_FORMS = {
    ROTATIONS: " (a quaternion w, x, y, z for each body)",
    DIRECTION: " (a direction x, y, z)",
    GAZE_ANGLES: " (the point x, y, z [m] to look at)",
}


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
    Between 0.001 and 1000.
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

    def __post_init__(self) -> None:
        # the goal and the measure that were checked together, in the last command
        self._checked: tuple[Goal | None, Measure | None] = None, None
        self._needs("measure", self.measure, "evaluate", "a measure such as mk.points(world, 'hand_l')")
        self._needs("law", self.law, "command", "a law such as mk.Stabilize(0.8)")
        if isinstance(self.law, Nearest) and not isinstance(self.measure, Posture):
            raise self._wrong("law", "'nearest' is for a posture")
        if not isinstance(self.weight, Real) or not LIGHTEST <= self.weight <= HEAVIEST:
            raise self._wrong("weight", f"given {shown(self.weight)}, needs a number between {LIGHTEST:g} and {HEAVIEST:g}")
        if self.max_force is not None and not (isinstance(self.max_force, Real) and 0 < self.max_force < np.inf):
            raise self._wrong("max_force", f"given {shown(self.max_force)}, needs a finite number [N] above 0, or None")
        self._check_goal(self.goal)

    def aim_at(self, goal: Goal | None) -> None:
        """Give the task a new goal and switch it on."""
        self._check_goal(goal)
        self.goal, self.active = goal, True
        self.law.restart()

    def rows(self, world: World, dt: float) -> Rows:
        """The rows of this task at the present state."""
        return rows_of((self,), world, dt)

    def command(self, world: World, now: Reading, dt: float, out: Array) -> None:
        """Write the acceleration that the law commands into `out` (k,) and store the distance from the goal."""
        goal, measure = self.goal, self.measure
        aim = None
        if goal is not None:
            checked = self._checked
            if goal is checked[0] and measure is checked[1]:
                aim = goal.at(world, self.law.moving)
            else:
                aim = self._first_aim(world, len(out))
        self.error = self.law.command(world, measure, now, aim, dt, out)

    def displacements(self, world: World) -> Displacements:
        """For a task of points with a goal: body -> displacement [m] (3,) from its point to the goal."""
        if self.goal is None or not isinstance(self.measure, Points):
            return {}
        now, aim = self.measure.evaluate(world.dynamics()), self.goal.at(world, False)
        left = (aim.value - now.value).reshape(-1, 3)
        return {int(body): offset for body, offset in zip(self.measure.bodies, left)}

    def _wrong(self, key: str, what: str) -> InputError:
        return InputError(f"task '{self.name}': {key}: {what}")

    def _needs(self, key: str, given: Any, method: str, what: str) -> None:
        if isinstance(given, type) or not callable(getattr(given, method, None)):
            raise self._wrong(key, f"given {shown(given)}, needs {what}")

    def _check_goal(self, goal: Goal | None) -> None:
        """What can be said of a goal before it is evaluated."""
        if goal is not None:
            self._check_kind(goal)
        if isinstance(goal, Fixed):
            self._check_aim(goal, Aim(goal.value), row_count(self.measure))

    def _check_kind(self, goal: Goal) -> None:
        self._needs("goal", goal, "at", "a goal such as mk.Fixed([0.5, 0.1, 1.2]), or None")
        if isinstance(self.law, Hold):
            raise self._wrong("goal", "law 'hold' stays where it is switched on and takes no goal")

    def _check_aim(self, goal: Goal, aim: Aim, rows: int) -> None:
        """The numbers of a goal: as many as the kernels read, and finite. rows: of the measure."""
        size, kind = goal_size(self.measure, rows), type(self.measure).__name__
        if not size:
            raise self._wrong("goal", f"measure {kind} takes no goal: it is damped")
        if np.shape(aim.value) != (size,):
            given = np.size(aim.value) if np.ndim(aim.value) == 1 else f"an array of shape {np.shape(aim.value)}"
            form = _FORMS.get(self.measure.error_kind, "")
            raise self._wrong("goal", f"measure {kind} needs {size} numbers{form}, given {given}")
        for part in (aim.rate, aim.acceleration):
            if np.ndim(part) and np.shape(part) != (rows,):
                raise self._wrong("goal", f"a {type(goal).__name__} gives no rate for measure {kind}: use the law Stabilize")
        if not all(np.isfinite(part).all() for part in aim):
            raise self._wrong("goal", f"needs finite numbers, given {shown(aim.value)}")

    def _first_aim(self, world: World, rows: int) -> Aim:
        """Evaluate a goal that is new, or new to the measure, and check it; afterwards it is trusted."""
        goal = self.goal
        assert goal is not None
        self._check_kind(goal)
        aim = goal.at(world, self.law.moving)
        self._check_aim(goal, aim, rows)
        self._checked = goal, self.measure
        return aim


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
