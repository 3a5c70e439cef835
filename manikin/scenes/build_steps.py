"""The script of a scene: its steps, with every name that they use looked up."""

from collections.abc import Callable

from manikin.errors import SceneError, did_you_mean
from manikin.physics.world import World
from manikin.scenes.build_goals import along, flying, goal_maker
from manikin.scenes.build_here import Actor, Here
from manikin.scenes.build_tasks import settings
from manikin.scenes.scene import Scene
from manikin.scenes.schema_tasks import StepSpec
from manikin.scenes.scripts import Step, Steps
from manikin.tasks.goals import flight_to_plane
from manikin.tasks.measures import Direction
from manikin.tasks.task import Task


def _arrival(here: Here, spec: StepSpec) -> Callable[[World], float] | None:
    """How long until what a step waits for arrives."""
    if isinstance(spec.when, str) or spec.when.arriving is None:
        return None
    body, plane = flying(here, here.actors[0], spec.when.arriving, "when.arriving")
    return lambda w: flight_to_plane(w, body, *plane(w)).seconds


def build_script(scene: Scene, world: World, actors: list[Actor], tasks: list[Task]) -> Steps:
    """All steps of a scene; names that do not exist are refused."""
    by_name = {t.name: t for t in tasks}
    step_names = [s.name for s in scene.steps]
    hands = [h for a in actors for h in a.character.hands]
    steps = []
    for number, spec in enumerate(scene.steps):
        here = Here(scene, world, actors, f"steps.{spec.name}")
        if step_names.count(spec.name) > 1:
            raise here.wrong("name", "another step has the same name")
        if isinstance(spec.when, str) and number > 0:
            raise here.wrong("when", "only the first step begins at the start")
        used = {"goals": list(spec.goals), "tune": list(spec.tune), "on": list(spec.on), "off": list(spec.off)}
        if not isinstance(spec.when, str) and spec.when.task is not None:
            used["when.task"] = [spec.when.task]
        if not isinstance(spec.when, str) and spec.when.thrown is not None:
            used["when.thrown"] = [spec.when.thrown]
        for key, names in used.items():
            for name in names:
                if name not in by_name:
                    raise here.wrong(key, f"no task is called '{name}'{did_you_mean(name, by_name)}")
        if spec.otherwise is not None and spec.otherwise not in step_names:
            raise here.wrong("otherwise", f"no step is called '{spec.otherwise}'{did_you_mean(spec.otherwise, step_names)}")
        touched = {} if isinstance(spec.when, str) else spec.when.touch
        for hand in [*spec.grasp, *spec.release, *touched]:
            if hand not in hands:
                raise here.wrong(
                    "grasp" if hand in spec.grasp else "release" if hand in spec.release else "when.touch",
                    f"no hand is called '{hand}'{did_you_mean(hand, hands)}",
                )
        landed = [spec.when.landed] if not isinstance(spec.when, str) and spec.when.landed is not None else []
        for prop in [*spec.grasp.values(), *touched.values(), *landed]:
            if prop not in scene.props or scene.props[prop].fixed:
                free = [p for p, s in scene.props.items() if not s.fixed]
                raise here.wrong("grasp", f"no movable prop is called '{prop}'{did_you_mean(prop, free)}")
        for name, goal in spec.goals.items():
            thrower = spec.goals.get(goal.along) if goal.along is not None else None
            if goal.along is not None and (thrower is None or thrower.throw is None):
                raise here.wrong(f"goals.{name}.along", f"'{goal.along}' is not given a throw in this step")
            if goal.along is not None and not isinstance(by_name[name].measure, Direction):
                raise here.wrong(f"goals.{name}.along", "is for an orientation with axis")
        goals = {
            name: goal_maker(here, here.actor_of(scene.tasks[name]), by_name[name], goal, f"goals.{name}")
            for name, goal in spec.goals.items()
            if goal.along is None
        }
        goals |= {name: along(goals[goal.along]) for name, goal in spec.goals.items() if goal.along is not None}
        tune = {name: settings(here, by_name[name], scene.tasks[name], t) for name, t in spec.tune.items()}
        steps.append(Step(spec, goals, tune, _arrival(here, spec)))
    for fact, fact_spec in scene.facts.items():
        for step in (fact_spec.since, fact_spec.until):
            if step is not None and step not in step_names:
                raise SceneError(f"{scene.name}: facts.{fact}: no step is called '{step}'{did_you_mean(step, step_names)}")
        if fact_spec.task is not None and fact_spec.task not in by_name:
            raise SceneError(
                f"{scene.name}: facts.{fact}.task: given '{fact_spec.task}'{did_you_mean(fact_spec.task, by_name)}"
            )
    return Steps(tuple(steps))
