"""A run with user input: inputs act between steps, are recorded, and reproduce the same motion when given again.

A `Moment` is everything the next step depends on. The next step also reads the contacts and forces of the last one, so a
moment holds the state before the last step, and `restore` repeats that step.
"""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.errors import InputError, did_you_mean
from manikin.physics.world import INTEGRATION, Push, TaskReport, World
from manikin.recording import Recorder
from manikin.scenes.build import build_run
from manikin.scenes.scene import Scene, parse_scene
from manikin.scenes.scripts import Steps, why_stuck
from manikin.studio import drag, pulls
from manikin.studio.cast import find_cast
from manikin.studio.controller_state import recall, remember, watch
from manikin.studio.knobs import KnobBox
from manikin.studio.messages import Arm, Assist, Drag, Follow, Grab, Knob, Pin, Rank, Release, Switch, Unpin, parse
from manikin.studio.moments import Moment, Over, fields_of, set_fields, set_task, task_state
from manikin.studio.pins import PinBoard, pin_tasks
from manikin.studio.soft import Fine, Surfaces

Array = NDArray[np.float64]
# inputs that change the motion, and are recorded
LiveInput = Grab | Drag | Release | Knob | Assist | Pin | Unpin | Arm | Rank | Switch | Follow


@dataclass
class _Hand:
    """The pointer's force, computed when kinematics are up to date."""

    live: "Live"

    def push(self, world: World) -> Push | None:
        live = self.live
        live.force = np.zeros(3)
        push = None if live.grip is None else pulls.pull(world, live.cast, live.grip)
        if push is not None:
            live.force = push.force
        return push


@dataclass
class _Helper:
    """The assisting force on one character."""

    live: "Live"
    root: str

    def push(self, world: World) -> Push | None:
        live = self.live
        if live.assist <= 0:
            return None
        force = pulls.helping_force(world, live.cast, self.root, live.assist, live.grip)
        live.helped = force
        live.impulse += float(np.linalg.norm(force)) * world.timestep
        return Push(self.root, force)


@dataclass
class Live:
    """A scene that runs, with the present inputs. `make` builds the recorder; None records nothing."""

    scene: Scene
    make: Callable[..., Recorder] | None = None
    grip: drag.Grip | None = field(default=None, init=False)
    assist: float = field(default=0.0, init=False)  # [N] at most
    impulse: float = field(default=0.0, init=False)  # [N s] that assist has given so far
    force: Array = field(default_factory=lambda: np.zeros(3), init=False)  # of the pointer, in the last step
    helped: Array = field(default_factory=lambda: np.zeros(3), init=False)

    def __post_init__(self) -> None:
        direct = self.scene.controller == "direct"
        waiting = drag.waiting_tasks(direct) + (pin_tasks() if direct else [])
        run = build_run(self.scene, True, waiting, self.make or Recorder)
        assert run.recorder is not None
        self.meta = run.recorder.meta
        if self.make is None:
            run.recorder = None
        self.controller = watch(run)
        self.run = run
        self.bodies = run.world.names(mujoco.mjtObj.mjOBJ_BODY)
        self._script = run.script
        skeletons = self.controller.skeletons if isinstance(self.controller, Direct) else ()
        self.cast = find_cast(run.world, self.meta, skeletons)
        self.board = PinBoard(run, self.cast)
        run.pullers = (*run.pullers, self.board, _Hand(self), *(_Helper(self, root) for root in self.cast.characters))
        self.surfaces: Surfaces = Fine(run.world.model, self.cast.flesh)
        self.knobs = KnobBox(self.scene, run, self.cast)
        self._before = run.world.full_state()

    def retire(self) -> None:
        """End it. Breaking the reference cycle frees the model now rather than at the next garbage collection."""
        self.run.pullers = ()

    @property
    def world(self) -> World:
        return self.run.world

    @property
    def time(self) -> float:
        return self.run.world.time

    # --- inputs

    def give(self, message: LiveInput) -> None:
        """An input that acts from the next step on."""
        if isinstance(message, Grab):
            # a grab that is refused must not lose the present grip
            taken = drag.grab(self.run, self.cast, message)
            self._let_go()
            self.grip = taken if not taken.task else drag.grab(self.run, self.cast, message)
            if isinstance(self.controller, Direct) and self.grip.mode in ("task", "com"):
                drag.yield_to(self.run, self.cast, self.grip)
            self._note("grab", target=message.target, mode=message.mode, point=list(message.point))
        elif isinstance(message, Drag):
            if self.grip is None:
                return
            self.grip.pointer = np.array(message.goal)
            self.grip.turn = None if message.turn is None else np.array(message.turn) / np.linalg.norm(message.turn)
            self._note("drag", goal=message.goal, **({} if message.turn is None else {"turn": message.turn}))
        elif isinstance(message, Release):
            self._let_go()
            self._note("release")
        elif isinstance(message, Knob):
            self.knobs.check(message.path, message.value)
            self.knobs.turn(message.path, message.value)
            self._note("knob", path=message.path, value=message.value)
        elif isinstance(message, Assist):
            self.assist = message.newtons
            self.helped = np.zeros(3)
            self._note("assist", newtons=message.newtons)
        else:
            if not isinstance(self.controller, Direct):
                raise InputError("pins and priorities are for creatures under direct control")
            self.board.give(message)
            self._note(message.kind, **vars(message))

    def _let_go(self) -> None:
        if self.grip is not None:
            drag.let_go(self.run, self.grip)
            self.grip = None
            self.force = np.zeros(3)

    def _note(self, kind: str, **what: Any) -> None:
        if self.run.recorder is not None:
            self.run.recorder.given(kind, **what)

    # --- time

    def step(self) -> None:
        """One physics step. Divergence raises."""
        run, world = self.run, self.run.world
        if run.script.done:
            run.script = self._over()
        held = self.grip is not None and self.grip.mode in ("task", "com")
        if isinstance(run.script, Steps):
            # a character under direct control that is dragged does what the hand wants, and nothing else
            run.script.paused = held and isinstance(self.controller, Direct)
            if held and not run.script.paused:
                # while something is held, the clock of the script stands still: no step runs out of time
                run.script.since += world.timestep
        if self.grip is not None:
            self.grip.follow(world.timestep)
            drag.hold_on(run, self.grip)
        mujoco.mj_getState(world.model, world.data, self._before, INTEGRATION)
        run.advance(1)

    def _over(self) -> Over:
        script = self.run.script
        assert isinstance(script, Steps)
        return Over(script.failed, script.facts, script.finished, self.step_name())

    def step_name(self) -> str:
        """The present step of the script."""
        script = self.run.script
        if isinstance(script, Over):
            return script.last
        assert isinstance(script, Steps)
        return script.steps[script.position].spec.name if script.position >= 0 else ""

    def outcome(self) -> tuple[bool, str]:
        """Whether the job is done, and why not."""
        script = self.run.script
        if script.failed:
            return False, script.failed
        if isinstance(script, Over):
            return script.finished, ""
        assert isinstance(script, Steps)
        return script.finished, "" if script.finished else why_stuck(self.world, self.run.tasks, script)

    def reports(self) -> dict[str, TaskReport]:
        """The report of each task in the last step; empty before the first."""
        control = self.run._control
        return {} if control is None else control.report()

    def facts(self) -> dict[str, Any]:
        """Facts for the report, the assist included."""
        return {**self.run.script.facts, **({"assist_impulse": self.impulse} if self.impulse else {})}

    # --- moments

    def moment(self) -> Moment:
        """The present moment."""
        run, world = self.run, self.run.world
        data, dynamics, script = world.data, world.dynamics(), run.script
        before = self._before.copy() if world.steps else world.full_state()
        state = {} if isinstance(script, Over) else fields_of(script, "steps")
        return Moment(
            world.steps, before, data.ctrl.copy(), data.xfrc_applied.copy(), data.eq_active.copy(), world.model.eq_data.copy(),
            dynamics.load.copy(), dynamics.external.copy(), run._pushed, [task_state(t) for t in run.tasks], state,
            copy.deepcopy(script) if isinstance(script, Over) else None, dict(self.knobs.turned), copy.deepcopy(self.grip),
            copy.deepcopy(self.board.pins), (self.board.keys, self.board.pending), self.assist, self.impulse,
            remember(run, self.controller),
        )  # fmt: skip

    def restore(self, moment: Moment) -> None:
        """Go to a moment of the same scene; what is recorded from here on follows it."""
        run, world = self.run, self.run.world
        model, data = world.model, world.data
        self.knobs.turn_to(moment.knobs)
        model.eq_data[:] = moment.eq_data
        mujoco.mj_setState(model, data, moment.before, INTEGRATION)
        data.eq_active[:] = moment.eq_active
        world.steps = moment.steps
        if moment.steps:
            world.refresh()
            data.ctrl[:], data.xfrc_applied[:] = moment.ctrl, moment.wrench
            mujoco.mj_step2(model, data)
        else:
            # kinematics for a grab; then the state as it was, warm start included
            world.forward()
            mujoco.mj_setState(model, data, moment.before, INTEGRATION)
            data.eq_active[:] = moment.eq_active
        recall(run, self.controller, moment.memory, moment.ctrl if moment.steps else None)
        world.switched.clear()
        world.find_held()
        dynamics = world.dynamics()
        dynamics.load[:], dynamics.external[:] = moment.load, moment.external
        run._pushed = moment.pushed
        for task, state in zip(run.tasks, moment.tasks):
            set_task(task, state)
        if moment.over is not None:
            run.script = copy.deepcopy(moment.over)
        else:
            run.script = self._script
            set_fields(run.script, moment.script)
        self.grip, self.assist, self.impulse = copy.deepcopy(moment.grip), moment.assist, moment.impulse
        self.board.pins, (self.board.keys, self.board.pending) = copy.deepcopy(moment.pins), moment.keys
        self._before[:] = moment.before


# --- inputs again


def read_input(row: dict[str, Any]) -> tuple[int, LiveInput]:
    """(step, message) from a row of a recording's inputs; anything else is refused."""
    rest = dict(row)
    step = rest.pop("step", None)
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise InputError("inputs: each needs the step from which it acts")
    message = parse(json.dumps(rest))
    if not isinstance(message, LiveInput):
        raise InputError(f"inputs: '{message.kind}' is not an input{did_you_mean('', [c.kind for c in get_args(LiveInput)])}")
    return step, message


def run_again(live: Live, inputs: Sequence[tuple[int, LiveInput]], steps: int) -> None:
    """Give the same inputs at the same steps, up to a number of steps done; inputs at that very step are not given."""
    todo = [i for i in inputs if live.world.steps <= i[0] < steps]
    for at, message in [*todo, (steps, None)]:
        while live.world.steps < at:
            live.step()
        if message is not None:
            live.give(message)


def free_play(scene: Scene) -> Scene:
    """The scene without its script: its characters, props and tasks as they begin."""
    facts = {name: fact for name, fact in scene.facts.items() if fact.since is None and fact.until is None}
    knobs = {path: knob for path, knob in scene.knobs.items() if not path.startswith("steps.")}
    # what was drawn at random is in the scene, and is not to be drawn again in another order
    return scene.model_copy(update={"steps": (), "facts": facts, "knobs": knobs, "random": {}})


def with_values(scene: Scene, values: dict[str, Any]) -> Scene:
    """The scene with values changed at dotted paths."""
    return parse_scene(scene.model_dump(exclude_defaults=True), scene.where, values)
