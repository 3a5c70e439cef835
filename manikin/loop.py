"""Run: the only loop. Command line, studio, preview, bench and tests all drive it."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from manikin.physics.attach import feel_loads
from manikin.physics.grips import break_grips
from manikin.physics.world import Control, Push, World
from manikin.recording import Recorder
from manikin.tasks.task import Task

Array = NDArray[np.float64]


class Controller(Protocol):
    """Chooses actuator inputs from the present state and the tasks."""

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control: ...


class Script(Protocol):
    """Changes tasks over time; grasps and releases. `done` ends the run early, `failed` says why it did not succeed."""

    done: bool
    failed: str | None
    facts: dict[str, bool | float | None]
    adjust: dict[str, str | bool]  # new settings for the controller, until it has taken them

    def update(self, world: World, tasks: Sequence[Task]) -> list[str]:
        """Names of what happened now."""
        ...

    def lost(self, hand: str, world: World) -> None:
        """A prop slipped out of a hand."""
        ...


class Puller(Protocol):
    """A force that follows a script of its own, such as a scripted mouse; None while it does not act. Run.branch copies it."""

    def push(self, world: World) -> Push | None: ...


class Unscripted:
    """The script of a run that has none: tasks stay as they are until somebody changes them."""

    done = False
    failed: str | None = None

    def __init__(self) -> None:
        self.facts: dict[str, bool | float | None] = {}
        self.adjust: dict[str, str | bool] = {}

    def update(self, world: World, tasks: Sequence[Task]) -> list[str]:
        """Nothing happens by itself."""
        return []

    def lost(self, hand: str, world: World) -> None:
        """A prop slipped out of a hand: nothing here depends on it."""


class Run:
    """A world, its controller, tasks and script, advancing together.

    every: physics steps per control update (1 = each step). pullers: scripted forces, in addition to those that `advance`
    is given. warnings: what the controller warned of so far.
    """

    def __init__(
        self, world: World, controller: Controller, script: Script | None = None, tasks: Sequence[Task] = (), every: int = 1,
        recorder: Recorder | None = None, pullers: Sequence[Puller] = (),
    ) -> None:  # fmt: skip
        self.world, self.controller, self.every = world, controller, every
        # a recorder may keep the same list
        self.tasks = tasks if isinstance(tasks, list) else list(tasks)
        self.script: Script = Unscripted() if script is None else script
        self.recorder, self.pullers = recorder, pullers
        self._control: Control | None = None
        self._pushed = False
        self.warnings: list[str] = []

    def advance(self, steps: int, inputs: Sequence[Push] = ()) -> None:
        """Run for a number of physics steps, with `inputs` acting in each of them.

        Divergence raises; what was recorded stays in the recorder.
        """
        world, recorder = self.world, self.recorder
        dt = self.every * world.timestep
        for _ in range(steps):
            if self.script.done:
                return
            # the forces of the last step, before the present one replaces its contacts
            feel_loads(world)
            lost = break_grips(world)
            world.refresh()
            for hand in lost:
                self.script.lost(hand, world)
            events = [f"{hand} lost its grip" for hand in lost] + self.script.update(world, self.tasks)
            for name, value in self.script.adjust.items():
                setattr(self.controller, name, value)
            self.script.adjust.clear()
            if world.switched:
                # the new constraint acts in this very step
                world.refresh()
            if recorder is not None:
                for event in events:
                    recorder.event(event)
                recorder.switches()
            else:
                world.switched.clear()
            self._push(self._pulled(inputs) if self.pullers else inputs)
            if self._control is None or world.steps % self.every == 0 or events:
                self._control = self.controller.control(world, self.tasks, dt)
                if self._control.warnings:
                    self.warnings += [w for w in self._control.warnings if w not in self.warnings]
            else:
                self._control = self._control.later()
            self._brake(world.flesh_brakes(self._control))
            world.step(self._control)
            if recorder is not None:
                recorder.stepped(self._control)

    def _pulled(self, inputs: Sequence[Push]) -> Sequence[Push]:
        scripted = [puller.push(self.world) for puller in self.pullers]
        return [*inputs, *(push for push in scripted if push is not None)]

    def _push(self, inputs: Sequence[Push]) -> None:
        world = self.world
        if inputs or self._pushed:
            world.data.xfrc_applied[:] = 0.0
        self._pushed = bool(inputs)
        for push in inputs:
            body, wrench = world.body(push.body), np.concatenate([push.force, push.torque])
            world.data.xfrc_applied[body] += wrench
            if self.recorder is not None:
                self.recorder.pushed(body, wrench)

    def _brake(self, brakes: list[tuple[int, Array]]) -> None:
        """Forces that keep flesh from being turned inside out."""
        for body, wrench in brakes:
            self.world.data.xfrc_applied[body] += wrench
            self._pushed = True
            if self.recorder is not None:
                self.recorder.pushed(body, wrench)

    def branch(self) -> "Run":
        """An independent copy, without recorder, that can run ahead: it shares nothing that changes.

        References to the run, its world or its recorder (in a puller, say) become references to those of the copy.
        """
        other = copy.copy(self)
        other.world, other.recorder = self.world.branch(), None
        memo = {id(self): other, id(self.world): other.world, id(self.recorder): None}
        mine = (self.tasks, self.script, self.controller, self.pullers, self.warnings)
        other.tasks, other.script, other.controller, other.pullers, other.warnings = copy.deepcopy(mine, memo)
        if self._control is not None:
            ramp = self._control.ramp
            other._control = replace(self._control, ctrl=self._control.ctrl.copy(), ramp=None if ramp is None else ramp.copy())
        return other
