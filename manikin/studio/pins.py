"""Pins: what is asked of a creature in addition to the drag, with priorities (Kim & Pollard 2011, section 3, Figure 3).

A pin keeps the orientation of a bone or the angles of its joints. It is a task above the drags. It can be set or ended by an
event, such as lift-off. A run has a fixed number of tasks for pins, the same in every process and recording.
"""

from dataclasses import dataclass
from itertools import pairwise

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.errors import InputError, did_you_mean
from manikin.loop import Run
from manikin.physics.world import Push, World
from manikin.scenes.build_steps import Condition, happening
from manikin.studio.cast import Cast
from manikin.studio.drag import SECOND
from manikin.studio.messages import Arm, Event, Follow, PinInfo, Pins, Rank, Switch, TaskRank, Unpin, What
from manikin.studio.messages import Pin as PinMessage
from manikin.studio.names import KEYS, SLOTS, STUDIO
from manikin.tasks.goals import Fixed, Spline
from manikin.tasks.laws import Stabilize, Track
from manikin.tasks.measures import Orientation, Points, Posture
from manikin.tasks.task import Task

Array = NDArray[np.float64]
PinInput = PinMessage | Unpin | Arm | Rank | Switch | Follow
# how closely key poses are followed [Hz], and the shortest time between two of them [s]
FOLLOWED, LEAST_SPAN = 6.0, 1e-3
_WORDS = {"lift_off": "lift-off", "falling": "falling", "touch_down": "touch-down"}
_EVENTS: tuple[Event, ...] = ("lift_off", "falling", "touch_down")


def pin_tasks() -> list[Task]:
    """The tasks for key poses and pins, switched off until needed."""
    nobody = Points(np.array([1]), np.zeros((1, 3)))
    keys = Task(KEYS, nobody, Track(FOLLOWED), SECOND, active=False)
    return [keys, *(Task(name, nobody, _law(), 0, active=False) for name in SLOTS)]


def _law() -> Stabilize:
    return Stabilize(3.0, 0.02)


@dataclass
class Pin:
    """value: a quaternion, or angles [rad]. at, then, until: as in the message Arm; fired, ended: when that happened [s].

    off: switched off by hand. aloft: the character has been in the air since the pin was made or set: a touch-down can follow.
    """

    task: str
    target: str
    what: What
    value: Array
    at: Event | None = None
    then: bool = False
    until: Event | None = None
    fired: float | None = None
    ended: float | None = None
    off: bool = False
    aloft: bool = False

    @property
    def waits(self) -> bool:
        """Whether it is to be set at an event that has not happened yet."""
        return self.at is not None and self.fired is None

    @property
    def holds(self) -> bool:
        return not self.off and not self.waits and self.ended is None

    @property
    def words(self) -> str:
        return f"{self.target} {'orientation' if self.what == 'turn' else 'angle'}"


class PinBoard:
    """The pins and priorities of a run under direct control. Called in each step, when kinematics are up to date."""

    def __init__(self, run: Run, cast: Cast) -> None:
        self.run, self.cast = run, cast
        self.pins: list[Pin] = []
        # key poses [time, deg...] that are followed, and whether they are yet to begin
        self.keys: tuple[tuple[float, ...], ...] = ()
        self.pending = False
        self._happens: dict[str, dict[str, Condition]] = {}
        if isinstance(run.controller, Direct):
            for root, skeleton in zip(cast.characters, run.controller.skeletons):
                self._happens[root] = {event: happening(run.world, skeleton, event) for event in _EVENTS}

    # --- by hand

    def give(self, message: PinInput) -> None:
        """Apply a message; it takes effect at the next update of control."""
        if isinstance(message, Rank):
            self._task(message.task).priority = message.priority
        elif isinstance(message, Switch):
            self._switch(message)
        elif isinstance(message, PinMessage):
            self._pin(message)
        elif isinstance(message, Follow):
            self._follow(message)
        else:
            pin = self._known(message.pin)
            if isinstance(message, Arm):
                pin.at, pin.then, pin.until = message.at, message.then, message.until
                pin.fired, pin.ended, pin.aloft = None, None, False
            else:
                self.pins.remove(pin)
                self._task(pin.task).active = False
                return
            self._apply(pin, anew=False)

    def again(self) -> list[PinMessage]:
        """Messages that rearm the pins that wait, or waited, for an event."""
        return [PinMessage(p.target, p.what, p.at, p.then, p.until, tuple(p.value.tolist())) for p in self.pins if p.at]

    def _pin(self, message: PinMessage) -> None:
        world = self.run.world
        target, _ = self.cast.hold(world, message.target, np.zeros(3))
        body = world.body(target)
        if not self._happens or self.cast.of(body)[0] != "character":
            raise InputError(f"pin.target: '{message.target}' is not a part of a creature under direct control")
        measure = self._measure(body, target, message.what)
        now = np.array(message.value) if message.value else self._now(measure)
        if now.shape != self._now(measure).shape:
            raise InputError(f"pin.value: needs {len(self._now(measure))} numbers, or none")
        pin = next((p for p in self.pins if (p.target, p.what) == (target, message.what)), None)
        if pin is None:
            pin = Pin(self._free(), target, message.what, now)
            self.pins.append(pin)
            self._task(pin.task).measure, self._task(pin.task).priority = measure, 0
        if pin.what == "turn":
            now = now / max(float(np.linalg.norm(now)), 1e-9)
        pin.value, pin.at, pin.then, pin.until, pin.off = now, message.at, message.then, message.until, False
        pin.fired, pin.ended, pin.aloft = None, None, False
        self._apply(pin)

    def _measure(self, body: int, name: str, what: What) -> Orientation | Posture:
        if what == "turn":
            return Orientation(np.array([body]))
        model = self.run.world.model
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        hinges = [j for j in range(first, first + count) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
        driven = [j for j in hinges if j in model.actuator_trnid[:, 0]]
        if not driven:
            raise InputError(f"pin.target: '{name}' is the root and has no joint of its own; pin a part attached to it")
        return Posture(model.jnt_qposadr[driven].astype(np.int64), model.jnt_dofadr[driven].astype(np.int64))

    def _now(self, measure: Orientation | Posture) -> Array:
        data = self.run.world.data
        return np.array(data.xquat[measure.bodies[0]] if isinstance(measure, Orientation) else data.qpos[measure.qpos])

    def _free(self) -> str:
        used = {p.task for p in self.pins}
        free = next((name for name in SLOTS if name not in used), None)
        if free is None:
            raise InputError(f"pin: {len(SLOTS)} pins is the maximum; remove one first")
        return free

    def _switch(self, message: Switch) -> None:
        pin = next((p for p in self.pins if p.task == message.task), None)
        if pin is not None:
            pin.off = not message.on
            self._apply(pin, anew=False)
            return
        task = self._task(message.task)
        if task.name in STUDIO:
            raise InputError(f"switch.task: '{task.name}' is switched by a drag, a pin or a key")
        if message.on and not task.active:
            task.law.restart()
        task.active = message.on

    def _apply(self, pin: Pin, anew: bool = True) -> None:
        """Make the task follow its pin. anew: start again with its present value."""
        task = self._task(pin.task)
        if not pin.holds:
            task.active = False
        elif anew or not task.active:
            task.law = _law()
            task.aim_at(Fixed(pin.value.copy()))

    def _known(self, name: str) -> Pin:
        pin = next((p for p in self.pins if p.task == name), None)
        if pin is None:
            raise InputError(f"pin: no pin is called '{name}'{did_you_mean(name, [p.task for p in self.pins])}")
        return pin

    def _task(self, name: str) -> Task:
        task = next((t for t in self.run.tasks if t.name == name), None)
        if task is None:
            known = [t.name for t in self.run.tasks if t.name not in SLOTS]
            raise InputError(f"task: no task is called '{name}'{did_you_mean(name, known)}")
        return task

    # --- key poses

    def posture(self) -> Posture:
        """All active joints of the first creature."""
        assert isinstance(self.run.controller, Direct)
        skeleton = self.run.controller.skeletons[0]
        return Posture(skeleton.address, skeleton.active)

    def _follow(self, message: Follow) -> None:
        measure = self.posture()
        times = [0.0, *(row[0] for row in message.keys if row)]
        if any(len(row) != len(measure.dofs) + 1 for row in message.keys):
            raise InputError(f"follow.keys: each needs [time, {len(measure.dofs)} angles]")
        if any(b - a < LEAST_SPAN for a, b in pairwise(times)):
            raise InputError("follow.keys: times must increase and be above 0")
        self.keys, self.pending = message.keys, bool(message.keys)
        task = self._task(KEYS)
        task.active = False
        if message.keys:
            task.measure = measure

    def _begin_keys(self, world: World) -> None:
        """Start from the present pose, at the control update that is due."""
        task, rows = self._task(KEYS), np.array(self.keys)
        assert isinstance(task.measure, Posture)
        now = task.measure.angles(world.dynamics())[0]
        task.law = Track(FOLLOWED)
        task.aim_at(Spline.through(rows[:, 0], now, np.deg2rad(rows[:, 1:]), world.time))
        self.pending = False

    # --- by events

    def push(self, world: World) -> Push | None:
        """A hook called before each control update: set and end pins whose event has happened. It exerts no force."""
        if self.pending and world.steps % self.run.every == 0:
            self._begin_keys(world)
        for pin in self.pins:
            if pin.off or not (pin.waits or (pin.until is not None and pin.ended is None)):
                continue
            happens = self._happens[self.cast.of(world.body(pin.target))[1]]
            pin.aloft = pin.aloft or not happens["touch_down"](world)
            event = pin.at if pin.waits else pin.until
            assert event is not None
            if happens[event](world) and (event != "touch_down" or pin.aloft):
                self._fire(pin, event, world)
        return None

    def _fire(self, pin: Pin, event: Event, world: World) -> None:
        begins = pin.waits
        if begins:
            pin.fired, pin.aloft = world.time, event != "touch_down"
            measure = self._task(pin.task).measure
            assert isinstance(measure, Orientation | Posture)
            if pin.then:
                pin.value = self._now(measure)
        else:
            pin.ended = world.time
        self._apply(pin)
        if self.run.recorder is not None:
            self.run.recorder.event(f"{_WORDS[event]}: {pin.words} {'pinned' if begins else 'free'}")

    # --- for the page

    def message(self) -> Pins:
        """All pins, and the priorities of the other tasks."""
        pins = [
            PinInfo(
                p.task, p.target, p.what, self._task(p.task).priority, p.holds, p.off, p.at, p.then, p.until, p.fired, p.ended
            )
            for p in self.pins
        ]  # fmt: skip
        others = sorted((t for t in self.run.tasks if t.name not in SLOTS), key=lambda t: t.priority)
        ranks = [TaskRank(t.name, t.priority, t.active, t.name not in STUDIO) for t in others]
        follows = self.pending or any(t.active for t in others if t.name == KEYS)
        return Pins(tuple(sorted(pins, key=lambda p: p.priority)), tuple(ranks), follows=follows)
