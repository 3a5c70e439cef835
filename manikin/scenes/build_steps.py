"""Builds the script of a scene: its steps, with all names looked up."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from manikin.errors import SceneError, did_you_mean
from manikin.physics.skeleton import Skeleton
from manikin.physics.world import World
from manikin.scenes.build_context import Actor, BuildContext
from manikin.scenes.build_goals import along, flying, goal_maker
from manikin.scenes.build_tasks import settings
from manikin.scenes.build_world import skeleton_of
from manikin.scenes.plausible import watches
from manikin.scenes.scene import Scene
from manikin.scenes.schema_tasks import PlaceSpec, StepSpec, TiltSpec, WhenSpec
from manikin.scenes.scripts import GoalMaker, Step, Steps
from manikin.tasks.goals import flight_to_plane
from manikin.tasks.measures import CentreOfMass, Direction
from manikin.tasks.task import Task

Condition = Callable[[World], bool]


def build_script(scene: Scene, world: World, actors: list[Actor], tasks: list[Task]) -> Steps:
    """All steps of a scene; unknown names are refused."""
    by_name = {t.name: t for t in tasks}
    step_names = [s.name for s in scene.steps]
    steps = []
    for number, spec in enumerate(scene.steps):
        context = BuildContext(scene, world, actors, f"steps.{spec.name}")
        if step_names.count(spec.name) > 1:
            raise context.wrong("name", "another step has the same name")
        if isinstance(spec.when, str) and number > 0:
            raise context.wrong("when", "only the first step begins at the start")
        for key in ("goals", "tune", "on", "off"):
            _known(context, key, "task", getattr(spec, key), by_name)
        if spec.otherwise is not None:
            _known(context, "otherwise", "step", [spec.otherwise], step_names)
        _check_hands(context, "grasp", spec.grasp)
        _known(context, "release", "hand", spec.release, _hands(context))
        if not isinstance(spec.when, str):
            _check_condition(context, spec.when, by_name, scene.steps[:number])
        tune = {name: settings(context, by_name[name], scene.tasks[name], t) for name, t in spec.tune.items()}
        for key in ("formulation", "contact_joints", "compliant"):
            if getattr(spec, key) is not None and scene.controller != "direct":
                raise context.wrong(key, "is for controller = 'direct'")
        steps.append(Step(spec, _goals(context, spec, by_name), tune, _arrival(context, spec), _conditions(context, spec)))
    for fact, fact_spec in scene.facts.items():
        for step in (fact_spec.since, fact_spec.until):
            if step is not None and step not in step_names:
                raise SceneError(f"{scene.where}: facts.{fact}: no step is called '{step}'{did_you_mean(step, step_names)}")
        if fact_spec.task is not None and fact_spec.task not in by_name:
            raise SceneError(
                f"{scene.where}: facts.{fact}.task: given '{fact_spec.task}'{did_you_mean(fact_spec.task, by_name)}"
            )
    return Steps(tuple(steps), watches(world, [a.character for a in actors]))


def _known(context: BuildContext, key: str, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that do not exist."""
    known = list(known)
    for name in names:
        if name not in known:
            raise context.wrong(key, f"no {kind} is called '{name}'{did_you_mean(name, known)}")


def _hands(context: BuildContext) -> list[str]:
    return [h for a in context.actors for h in a.character.hands]


def _check_hands(context: BuildContext, key: str, hands: Mapping[str, str]) -> None:
    """Refuse {hand = prop} unless both exist and the prop can move."""
    _known(context, key, "hand", hands, _hands(context))
    for prop in hands.values():
        context.movable(prop, key)


def _check_condition(context: BuildContext, when: WhenSpec, tasks: Mapping[str, Task], earlier: Iterable[StepSpec]) -> None:
    """Refuse a condition that can never hold."""
    _check_hands(context, "when.touch", when.touch)
    if when.landed is not None:
        context.movable(when.landed, "when.landed")
        if when.within is not None and not any(not isinstance(s.when, str) and s.when.thrown for s in earlier):
            raise context.wrong("when.within", "with landed, it needs an earlier step that begins when something is thrown")
    if when.task is not None:
        _known(context, "when.task", "task", [when.task], tasks)
    if when.thrown is not None:
        _known(context, "when.thrown", "task", [when.thrown], tasks)
        goals = [s.goals.get(when.thrown) for s in earlier] + [context.scene.tasks[when.thrown].goal]
        if not any(goal is not None and goal.throw is not None for goal in goals):
            raise context.wrong("when.thrown", f"'{when.thrown}' is not given a throw before this step")


def _goals(context: BuildContext, spec: StepSpec, tasks: Mapping[str, Task]) -> dict[str, GoalMaker]:
    """The goals that a step gives."""
    throwers = [name for name, goal in spec.goals.items() if goal.throw is not None]
    for name, goal in spec.goals.items():
        if goal.along is not None and goal.along not in throwers:
            hint = did_you_mean(goal.along, throwers)
            raise context.wrong(f"goals.{name}.along", f"'{goal.along}' is not given a throw in this step{hint}")
        if goal.along is not None and not isinstance(tasks[name].measure, Direction):
            raise context.wrong(f"goals.{name}.along", "is for an orientation with axis")
    out = {
        name: goal_maker(context, context.actor_of(context.scene.tasks[name]), tasks[name], goal, f"goals.{name}")
        for name, goal in spec.goals.items()
        if goal.along is None
    }
    following = {name: goal.along for name, goal in spec.goals.items() if goal.along is not None}
    return out | {name: along(out[leader], tasks[leader].measure) for name, leader in following.items()}


def _conditions(context: BuildContext, spec: StepSpec) -> tuple[Condition, ...]:
    """The conditions of a step on the state of the world."""
    when = spec.when
    if isinstance(when, str):
        return ()
    out = [_at(context, place) for place in when.place] + [_tilted(context, tilt) for tilt in when.tilt]
    if when.event is not None:
        out.append(_event(context, when.event))
    if when.still is not None:
        centre, most = _centre(context, (0, 1, 2)), when.still
        out.append(lambda w: float(np.linalg.norm(centre.evaluate(w.dynamics()).rate)) < most)
    return tuple(out)


def _centre(context: BuildContext, axes: tuple[int, ...]) -> CentreOfMass:
    """The centre of mass of the first character, its flesh included."""
    return _centre_of(context.world, skeleton_of(context.world, context.actors[0].character), axes)


def _centre_of(world: World, skeleton: Skeleton, axes: tuple[int, ...]) -> CentreOfMass:
    model = world.model
    return CentreOfMass(np.where(skeleton.bone_of >= 0, model.body_mass, 0.0), np.zeros(model.nbody), axes)


def _event(context: BuildContext, event: str) -> Condition:
    """Whether an event of the first character has occurred."""
    return happening(context.world, skeleton_of(context.world, context.actors[0].character), event)


def happening(world: World, skeleton: Skeleton, event: str) -> Condition:
    """Whether a character has lifted off, is falling, or touches something."""
    if event == "touch_down":
        return skeleton.touches
    rise, sign = _centre_of(world, skeleton, (2,)), 1.0 if event == "lift_off" else -1.0
    return lambda w: not skeleton.touches(w) and sign * float(rise.evaluate(w.dynamics()).rate[0]) > 0


def _at(context: BuildContext, spec: PlaceSpec) -> Condition:
    """Whether a point is beyond a plane, or at a distance from another point."""
    point = context.points(context.actors[0], (spec.of,), "when.place.of")
    body, offset = int(point.bodies[0]), point.offsets[:1]
    if spec.off is None:
        axis = "xyz".index(spec.axis or "x")
        return lambda w: _between(w.dynamics().on_body(body, offset)[axis], spec.above, spec.below)
    other = context.points(context.actors[0], (spec.off,), "when.place.off")
    second, shift = int(other.bodies[0]), other.offsets[:1]

    def apart(world: World) -> bool:
        one, two = world.dynamics().on_body(body, offset), world.dynamics().on_body(second, shift)
        return _between(float(np.hypot(one[0] - two[0], one[1] - two[1])), spec.above, spec.below)

    return apart


def _tilted(context: BuildContext, spec: TiltSpec) -> Condition:
    """Whether the tilt of a body is within the given range."""
    body = int(context.points(context.actors[0], (spec.of,), "when.tilt.of").bodies[0])
    axis = np.array(spec.axis) / np.linalg.norm(spec.axis)
    return lambda w: _between(np.degrees(np.arccos(np.clip(w.data.xmat[body][6:] @ axis, -1, 1))), spec.above, spec.below)


def _between(value: float, above: float | None, below: float | None) -> bool:
    return bool((above is None or value > above) and (below is None or value < below))


def _arrival(context: BuildContext, spec: StepSpec) -> Callable[[World], float] | None:
    """The time until the prop that a step waits for arrives."""
    if isinstance(spec.when, str) or spec.when.arriving is None:
        return None
    body, plane = flying(context, context.actors[0], spec.when.arriving, "when.arriving")
    return lambda w: flight_to_plane(w, body, *plane(w)).seconds
