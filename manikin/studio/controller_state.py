"""What the studio knows of a controller: its last decision, to be looked at, and what it needs to go on the same way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.controllers.prioritized import Prioritized, Solution
from manikin.loop import Run
from manikin.physics.world import Control, TaskReport, World
from manikin.tasks.task import Task

Array = NDArray[np.float64]

# what may be changed in a Direct controller while it runs, and what it counts
_DIRECT = ("formulation", "damping", "contact_joints", "compliant", "unilateral", "contradictions")


class Watched:
    """A prioritized controller whose last solution can be looked at."""

    def __init__(self, controller: Prioritized) -> None:
        self.controller = controller
        self.solution: Solution | None = None

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        self.solution = self.controller.solve(world, tasks, dt)
        return Control(self.solution.ctrl, None, self.solution.report)


def watch(run: Run) -> Watched | Direct:
    """Have the run's controller keep its last decision. A Direct one does so by itself."""
    controller = run.controller
    if isinstance(controller, Direct):
        return controller
    assert isinstance(controller, Prioritized)
    run.controller = watched = Watched(controller)
    return watched


@dataclass(frozen=True)
class Memory:
    """Between two updates: the present decision, which goes on until the next, and the controller's settings."""

    ramp: Array | None  # (nu,)
    told: dict[str, TaskReport]
    settings: dict[str, Any]


def remember(run: Run, mind: Watched | Direct) -> Memory:
    """What the next step depends on, as plain values. Inputs of the actuators are part of the state."""
    settings = {name: getattr(mind, name) for name in _DIRECT} if isinstance(mind, Direct) else {}
    now = run._control
    if now is None:
        return Memory(None, {}, settings)
    return Memory(None if now.ramp is None else now.ramp.copy(), now.report(), settings)


def recall(run: Run, mind: Watched | Direct, memory: Memory, ctrl: Array | None) -> None:
    """Go on from there. ctrl: of the last step, None before the first."""
    told = memory.told
    run._control = None if ctrl is None else Control(ctrl.copy(), None, lambda: told, memory.ramp)
    for name, value in memory.settings.items():
        setattr(mind, name, value)
    if isinstance(mind, Direct):
        # of another moment
        mind.last = []
    else:
        mind.solution = None
