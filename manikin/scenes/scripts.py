"""Scripts: when the tasks change, and how. Steps begin one after the other, each when its condition holds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

from manikin.errors import OutOfReach, above
from manikin.physics.attach import blocked, check_reach, grasp, palm_gap, release, touches, touches_ground
from manikin.physics.world import World
from manikin.scenes.plausible import Plausible
from manikin.scenes.schema_tasks import StepSpec
from manikin.tasks.goals import Goal, Throw
from manikin.tasks.measures import Measure, Points
from manikin.tasks.task import Task

# a palm counts as on a prop up to this far [m] off its surface, or into it
ON_IT = 0.01

# makes a goal for what a task measures: both belong to the run, or to the branch of it, in which the step begins
GoalMaker = Callable[[World, Measure], Goal]


@dataclass(frozen=True)
class Step:
    """A step of the scene file, with functions that create its goals when it begins."""

    spec: StepSpec
    goals: dict[str, GoalMaker]
    tune: dict[str, dict[str, float]]
    arrives: Callable[[World], float] | None = None  # seconds until the awaited prop arrives
    conditions: tuple[Callable[[World], bool], ...] = ()  # on the state of the world


@dataclass
class Steps:
    """The script of a scene, step by step. Mutable and cheap to copy."""

    steps: tuple[Step, ...]
    watches: tuple[Plausible, ...] = ()  # whether the humans move within human limits
    position: int = -1
    since: float = 0.0
    done: bool = False
    failed: str | None = None
    began: list[str] = field(default_factory=list)
    # facts for the report about catches and throws
    facts: dict[str, bool | float | None] = field(default_factory=dict)
    flight: Throw | None = None
    slipped: bool = False  # a grip broke since the last update
    paused: bool = False  # somebody drags the character: nothing happens, and its clock stands still
    next_of: int = -2  # the step that `next_step` follows
    next_step: int | None = None
    adjust: dict[str, str | bool] = field(default_factory=dict)  # new settings for the controller, until it has taken them

    def __post_init__(self) -> None:
        conditions = [s.spec.when for s in self.steps if not isinstance(s.spec.when, str)]
        if any(w.touch for w in conditions):
            self.facts["caught"] = False
        if any(w.thrown for w in conditions):
            self.facts |= {"release_speed_error": None, "landing_error": None}

    def lost(self, hand: str, world: World) -> None:
        """A grip broke: a catch no longer counts, and the step may have an `otherwise` for it."""
        self.slipped = True
        self.failed = self.failed or f"{hand} lost its grip at {world.time:.2f} s"
        if "caught" in self.facts:
            self.facts["caught"] = False

    def update(self, world: World, tasks: Sequence[Task]) -> list[str]:
        """Begin every step that is due; returns the names of those that began."""
        out: list[str] = []
        if self.paused:
            self.since += world.timestep
            return out
        if self.failed is None:
            self.failed = next((trouble for watch in self.watches if (trouble := watch.check(world))), None)
        while not self.done:
            following = self._following()
            if following is not None and self._due(world, tasks, self.steps[following]):
                self._note(self.steps[following].spec, tasks, world)
                self._begin(following, world, tasks)
            elif self._late(world) or self._lost_a_grip():
                self._give_up(world, tasks)
            else:
                break
            out.append(self.steps[self.position].spec.name)
        return out

    @property
    def finished(self) -> bool:
        """Whether every step of the plan has begun."""
        return self._following() is None and self.failed is None

    def _following(self) -> int | None:
        """The next step in order. Fallbacks are skipped unless the script is in one."""
        if self.next_of != self.position:
            self.next_of, self.next_step = self.position, self._find_following()
        return self.next_step

    def _find_following(self) -> int | None:
        index = self.position + 1
        inside = self.position >= 0 and self.steps[self.position].spec.fallback
        while index < len(self.steps) and self.steps[index].spec.fallback and not inside:
            index += 1
        return index if index < len(self.steps) else None

    def _due(self, world: World, tasks: Sequence[Task], step: Step) -> bool:
        when = step.spec.when
        if isinstance(when, str):
            return self.position < 0
        if world.time - self.since < when.after:
            return False
        if not all(holds(world) for holds in step.conditions):
            return False
        if when.touch and any(not touches(world, hand, prop) for hand, prop in when.touch.items()):
            return False
        if step.arrives is not None and step.arrives(world) > (when.seconds or 0.0):
            return False
        if when.thrown is not None:
            goal = next(t for t in tasks if t.name == when.thrown).goal
            # the step before the curve ends, or the release would come one step late
            if not isinstance(goal, Throw) or world.time < goal.ends - 0.5 * world.timestep:
                return False
        if when.landed is not None and not touches_ground(world, when.landed):
            return False
        if when.task is None or when.within is None:
            return True
        return next(t for t in tasks if t.name == when.task).error <= when.within

    def _late(self, world: World) -> bool:
        if self.position < 0:
            return False
        timeout = self.steps[self.position].spec.timeout
        return timeout is not None and world.time - self.since > timeout

    def _lost_a_grip(self) -> bool:
        """Whether a grip broke in a step that has an `otherwise`."""
        slipped, self.slipped = self.slipped, False
        return slipped and self.position >= 0 and self.steps[self.position].spec.otherwise is not None

    def _give_up(self, world: World, tasks: Sequence[Task]) -> None:
        spec = self.steps[self.position].spec
        there = next((i for i, s in enumerate(self.steps) if s.spec.name == spec.otherwise), None)
        # a jump back to an earlier step of the plan is another attempt, not a failure
        if there is None or there > self.position or self.steps[there].spec.fallback:
            self.failed = "; ".join([self.failed, *blocked(world)]) if self.failed else why_stuck(world, tasks, self)
        if there is None:
            self.done = True
        else:
            self._begin(there, world, tasks)

    def _begin(self, index: int, world: World, tasks: Sequence[Task]) -> None:
        step = self.steps[index]
        self.position, self.since = index, world.time
        self.began.append(step.spec.name)
        by_name = {t.name: t for t in tasks}
        for hand in step.spec.release:
            release(world, hand)
        try:
            for hand, prop in step.spec.grasp.items():
                check_reach(world, hand, prop)
        except OutOfReach as error:
            self.failed = self.failed or f"step '{step.spec.name}': {error}"
            self._give_up(world, tasks)
            return
        for hand, prop in step.spec.grasp.items():
            self._palm_on(world, hand, prop)
            grasp(world, hand, prop, snug=bool(step.spec.when != "start" and step.spec.when.touch))
        for name in step.spec.off:
            by_name[name].active = False
        for name in step.spec.on:
            by_name[name].active = True
            by_name[name].law.restart()
        for name, settings in step.tune.items():
            for key, value in settings.items():
                setattr(by_name[name] if key in ("max_force", "priority") else by_name[name].law, key, value)
        for name, make in step.goals.items():
            by_name[name].aim_at(make(world, by_name[name].measure))
            # unknown until the next control update: no step may begin because of the old goal's error
            by_name[name].error = float("inf")
        for key in ("formulation", "contact_joints", "compliant"):
            if (setting := getattr(step.spec, key)) is not None:
                self.adjust[key] = setting
        self.done = step.spec.end

    def _palm_on(self, world: World, hand: str, prop: str) -> None:
        """A grasp from a distance, or with the hand inside the prop, fails the job."""
        gap, _ = palm_gap(world, hand, prop)
        if abs(gap) > ON_IT:
            where = "off the surface of" if gap > 0 else "deep in"
            far = above(100 * abs(gap), 100 * ON_IT, 1)
            self.failed = self.failed or (
                f"{hand} took '{prop}' at {world.time:.2f} s with its palm {far} cm {where} it (at most {100 * ON_IT:g} cm)"
            )

    def _note(self, spec: StepSpec, tasks: Sequence[Task], world: World) -> None:
        """Facts of catches, releases and landings, at the moment they happen; a step that is jumped to proves nothing."""
        if isinstance(spec.when, str):
            return
        if spec.when.touch:
            self.facts["caught"] = True
        if spec.when.thrown is not None:
            task = next(t for t in tasks if t.name == spec.when.thrown)
            assert isinstance(task.goal, Throw)
            self.flight, rate = task.goal, task.measure.evaluate(world.dynamics()).rate
            wanted = task.goal.velocity
            miss, speed = float(np.linalg.norm(rate - wanted)), float(np.linalg.norm(wanted))
            self.facts["release_speed_error"] = miss / max(speed, 1e-9)
        if spec.when.landed is not None and self.flight is not None:
            place = world.data.xpos[world.body(spec.when.landed)]
            meant = self.flight.lands(float(place[2]), float(-world.model.opt.gravity[2]))
            error = self.facts["landing_error"] = float(np.linalg.norm(place[:2] - meant))
            if spec.when.within is not None and error > spec.when.within:
                most = spec.when.within
                why = f"'{spec.when.landed}' landed {above(error, most, 3)} m from where it should (at most {most:g} m)"
                self.failed = self.failed or why


def why_stuck(world: World, tasks: Sequence[Task], script: Steps) -> str:
    """What the script waits for, and which limit prevents it."""
    spec = script.steps[script.position].spec if script.position >= 0 else None
    following = script._following()
    if following is None:
        return ""
    then = script.steps[following].spec
    where = f"step '{spec.name}' did not lead to '{then.name}'" if spec else f"step '{then.name}' never began"
    if isinstance(then.when, str) or then.when.task is None or then.when.within is None:
        return f"{where} by {world.time:.2f} s"
    task = next(t for t in tasks if t.name == then.when.task)
    left, needed = task.error, then.when.within
    if not math.isfinite(left):
        return f"{where} by {world.time:.2f} s: how far task '{task.name}' is from its goal is not known yet"
    text = f"{where} by {world.time:.2f} s: task '{task.name}' is {above(left, needed)} from its goal (needs {needed:g})"
    if task.max_force is not None and task.at_limit:
        text += f" and pulls with its force limit of {task.max_force:g} N"
        # what is held, is not blocked, and still does not come along
        if isinstance(task.measure, Points) and world.held and not world.obstructions:
            names = world.names(mujoco.mjtObj.mjOBJ_BODY)
            text = f"{' and '.join(repr(names[b]) for b in sorted(world.held))} is too heavy; {text}"
    return "; ".join([text, *blocked(world)])
