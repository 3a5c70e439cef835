"""What the studio keeps of a controller: its last solution, for display, and the state it needs to continue identically."""

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

# settings of a Direct controller that may change while it runs, and its counter
_DIRECT = ("formulation", "damping", "contact_joints", "compliant", "unilateral", "contradictions")


class Watched:
    """A prioritized controller that keeps its last solution."""

    def __init__(self, controller: Prioritized) -> None:
        self.inner = controller
        self.solution: Solution | None = None

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        self.solution = self.inner.solve(world, tasks, dt)
        return Control(self.solution.ctrl, None, self.solution.report)


def watch(run: Run) -> Watched | Direct:
    """Have the run's controller keep its last solution. A Direct controller already does."""
    controller = run.controller
    if isinstance(controller, Direct):
        return controller
    assert isinstance(controller, Prioritized)
    run.controller = watched = Watched(controller)
    return watched


@dataclass(frozen=True)
class Memory:
    """State between two updates: the present decision, which holds until the next, and the controller's settings."""

    ramp: Array | None  # (nu,)
    reports: dict[str, TaskReport]
    settings: dict[str, Any]


def remember(run: Run, controller: Watched | Direct) -> Memory:
    """What the next step depends on, as plain values. Actuator inputs are part of the state."""
    settings = {name: getattr(controller, name) for name in _DIRECT} if isinstance(controller, Direct) else {}
    now = run._control
    if now is None:
        return Memory(None, {}, settings)
    return Memory(None if now.ramp is None else now.ramp.copy(), now.report(), settings)


def recall(run: Run, controller: Watched | Direct, memory: Memory, ctrl: Array | None) -> None:
    """Restore a memory. ctrl: of the last step, None before the first."""
    reports = memory.reports
    run._control = None if ctrl is None else Control(ctrl.copy(), None, lambda: reports, memory.ramp)
    for name, value in memory.settings.items():
        setattr(controller, name, value)
    if isinstance(controller, Direct):
        # it belongs to another moment
        controller.last = []
    else:
        controller.solution = None
