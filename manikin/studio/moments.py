"""Moments: all that the next step of a run depends on, as plain values, and how tasks and scripts are restored to one.

Moments are sent to the preview's process and used to go back in time.
"""

import copy
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manikin.errors import InputError
from manikin.physics.world import World
from manikin.studio import drag
from manikin.studio.controller_state import Memory
from manikin.studio.names import STUDIO
from manikin.studio.pins import Pin
from manikin.tasks.task import Task

Array = NDArray[np.float64]
_LAW_SHARED = ("source", "leaders")  # these never change, and every process has its own


@dataclass
class Over:
    """The script of a run whose script has ended: the character continues with its last tasks."""

    failed: str | None
    facts: dict[str, bool | float | None]
    finished: bool
    last: str
    done: bool = False
    adjust: dict[str, str | bool] = field(default_factory=dict)

    def update(self, world: World, tasks: Sequence[Task]) -> list[str]:
        return []

    def lost(self, hand: str, world: World) -> None:
        self.failed = self.failed or f"{hand} lost its grip at {world.time:.2f} s"


@dataclass(frozen=True)
class Moment:
    """Between two steps. before: the state before the last step; ctrl, wrench (nbody, 6), eq_active, eq_data: of that step."""

    steps: int
    before: Array
    ctrl: Array
    wrench: Array
    eq_active: NDArray[np.uint8]
    eq_data: Array
    load: Array
    external: Array
    pushed: bool
    tasks: list[dict[str, Any]]
    script: dict[str, Any]
    over: Over | None
    knobs: dict[str, float]
    grip: drag.Grip | None
    pins: list[Pin]
    keys: tuple[tuple[tuple[float, ...], ...], bool]
    assist: float
    impulse: float
    memory: Memory


def fields_of(value: Any, *leave: str) -> dict[str, Any]:
    """A copy of a dataclass's fields."""
    return {f.name: copy.deepcopy(getattr(value, f.name)) for f in dataclasses.fields(value) if f.name not in leave}


def set_fields(value: Any, state: dict[str, Any]) -> None:
    for name, content in state.items():
        setattr(value, name, copy.deepcopy(content))


def task_state(task: Task) -> dict[str, Any]:
    # the measure of a scene's task never changes, and its script refers to it too
    leave = ("law", "name") if task.name in STUDIO else ("law", "name", "measure")
    return {**fields_of(task, *leave), "law": (type(task.law), fields_of(task.law, *_LAW_SHARED))}


def set_task(task: Task, state: dict[str, Any]) -> None:
    kind, law = state["law"]
    set_fields(task, {k: v for k, v in state.items() if k != "law"})
    if type(task.law) is not kind:
        raise InputError(f"the moment is of another scene: task '{task.name}' has another law")
    set_fields(task.law, law)
