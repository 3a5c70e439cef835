"""Builds a Run from a Scene: the world, its tasks, script and controller."""

from collections.abc import Callable, Sequence
from typing import Any

import tomli_w

from manikin.controllers.direct import Direct
from manikin.controllers.prioritized import Prioritized, no_effect
from manikin.errors import SceneError
from manikin.loop import Run
from manikin.physics.world import World
from manikin.recording import Recorder
from manikin.scenes.build_context import Actor, BuildContext
from manikin.scenes.build_steps import build_script
from manikin.scenes.build_tasks import build_task, build_tug
from manikin.scenes.build_world import build_world, skeleton_of
from manikin.scenes.scene import Scene
from manikin.scenes.scripts import Steps
from manikin.tasks.laws import Nearest
from manikin.tasks.limits import JointLimits
from manikin.tasks.measures import Points, Posture
from manikin.tasks.task import Task


def scene_text(scene: Scene) -> str:
    """The scene as TOML, changes included."""
    return tomli_w.dumps(scene.model_dump(mode="json", exclude_defaults=True, exclude_none=True))


def build_run(
    scene: Scene, record: bool = True, extra: Sequence[Task] = (), recorder: Callable[..., Recorder] = Recorder
) -> Run:  # fmt: skip
    """A scene ready to run, at time zero.

    extra: tasks in addition to those of the scene. recorder: the class that records the run.
    """
    world, actors = build_world(scene)
    tasks = [build_task(BuildContext(scene, world, actors, f"tasks.{name}"), name, spec) for name, spec in scene.tasks.items()]
    for task in tasks:
        if isinstance(task.law, Nearest):
            task.law.leaders = tuple(t for t in tasks if isinstance(t.measure, Points))
    script = build_script(scene, world, actors, tasks)
    controller = _controller(scene, world, actors)
    every = max(1, round(1 / (scene.control.rate * scene.timestep)))
    tugs = [build_tug(BuildContext(scene, world, actors, f"tugs.{name}"), spec) for name, spec in scene.tugs.items()]
    tasks += extra
    recording = recorder(world, tasks, scene.fps, _meta(scene, actors)) if record else None
    return Run(world, controller, script, tasks, every, recording, tugs)


def rescript(run: Run, scene: Scene) -> None:
    """Continue a run with the steps of an edited version of its scene: other drags, times or conditions.

    Names and number of the steps must be the same, and only steps may differ; those that have begun are not affected.
    """
    script = run.script
    assert isinstance(script, Steps)
    steps = build_run(scene, record=False).script
    assert isinstance(steps, Steps)
    if [s.spec.name for s in steps.steps] != [s.spec.name for s in script.steps]:
        raise SceneError(f"{scene.where}: steps: must have the same names as those of the run")
    script.steps = steps.steps


def without_effect(scene: Scene, tasks: Sequence[Task], actuated: int) -> list[str]:
    """Warnings for tasks that can never have an effect: those below a posture of all joints which no step switches off or
    moves to another priority."""
    if scene.controller != "prioritized":
        return []
    tuned = {(name, tune.priority) for step in scene.steps for name, tune in step.tune.items() if tune.priority is not None}
    switched = {name for step in scene.steps for name in step.off}
    priorities = {t.name: {t.priority} | {p for name, p in tuned if name == t.name} for t in tasks}
    out: dict[str, str] = {}
    for last in tasks:
        whole = isinstance(last.measure, Posture) and len(last.measure.dofs) == actuated
        alone = all(last.priority not in priorities[t.name] for t in tasks if t is not last)
        if whole and alone and last.active and last.name not in switched and len(priorities[last.name]) == 1:
            below = [t.name for t in tasks if min(priorities[t.name]) > last.priority]
            out |= {name: no_effect(name, last.name) for name in below}
    return list(out.values())


def _controller(scene: Scene, world: World, actors: list[Actor]) -> Prioritized | Direct:
    how = scene.control
    if scene.controller == "direct":
        skeletons = tuple(skeleton_of(world, a.character) for a in actors)
        damping = Direct.damping if how.soft is None else how.soft
        return Direct(skeletons, how.formulation, damping, how.contact_joints, how.compliant)
    soft = Prioritized.soft if how.soft is None else how.soft
    most = Prioritized.max_acceleration if how.max_acceleration is None else how.max_acceleration
    return Prioritized(soft, how.compensate, (JointLimits(),) if how.joint_limits else (), most)


def _meta(scene: Scene, actors: list[Actor]) -> dict[str, Any]:
    from manikin import __version__

    return {
        "scene": scene_text(scene),
        "name": scene.name,
        "version": __version__,
        "seed": scene.seed,
        **({"drawn": scene.drawn} if scene.random else {}),
        "controller": scene.controller,
        "driven": [],
        "characters": {a.character.root: list(a.character.bodies) for a in actors},
        "feet": [f for a in actors for f in a.character.feet],
        "props": list(scene.props),
    }
