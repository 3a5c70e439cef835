"""Builds the tasks of a scene, with their measures and laws, and its tugs."""

import mujoco
import numpy as np

from manikin.motion.keyframes import posture_of
from manikin.motion.nearest import nearest_pose
from manikin.motion.retarget import read_clip
from manikin.scenes.build_context import Actor, BuildContext
from manikin.scenes.build_goals import goal_maker
from manikin.scenes.schema_tasks import TaskSpec, TuneSpec
from manikin.scenes.schema_world import TugSpec
from manikin.scenes.tugs import Tug
from manikin.tasks.goals import Path
from manikin.tasks.laws import Hold, Law, Nearest, Reach, Stabilize, Track
from manikin.tasks.measures import Direction, Look, Measure, Momentum, Orientation, Points
from manikin.tasks.named import FORWARD, GAZE, centre_of, joints_of, spin_of, unit
from manikin.tasks.task import Task


def build_task(context: BuildContext, name: str, spec: TaskSpec) -> Task:
    """A task with its initial goal."""
    actor = context.actor_of(spec)
    measure = _measure(context, actor, spec)
    task = Task(name, measure, _law(context, actor, spec), spec.priority, spec.weight, spec.max_force, spec.active)
    if spec.goal is not None:
        task.goal = goal_maker(context, actor, task, spec.goal, "goal")(context.world, measure)
    return task


def _measure(context: BuildContext, actor: Actor, spec: TaskSpec) -> Measure:
    names = (spec.of,) if isinstance(spec.of, str) else spec.of or ()
    character, world = actor.character, context.world
    mass = world.model.body_mass
    mine = [world.body(b) for b in character.bodies]
    if spec.measure == "point":
        points = context.points(actor, names, "of")
        return points if spec.offset is None else Points(points.bodies, points.offsets + np.array(spec.offset))
    if spec.measure == "orientation":
        bodies = context.points(actor, names, "of").bodies
        if spec.axis is None:
            return Orientation(bodies)
        if len(bodies) != 1:
            raise context.wrong("of", "with axis, exactly one body")
        return Direction(int(bodies[0]), unit(spec.axis))
    if spec.measure == "look":
        head = int(context.points(actor, names or ("head",), "of").bodies[0])
        axis = GAZE if spec.axis is None else unit(spec.axis)
        return Look(Direction(head, axis), int(world.model.body_parentid[head]), FORWARD)
    if spec.measure == "com":
        own = np.zeros_like(mass)
        chosen = context.points(actor, names, "of").bodies if names else mine
        own[list(chosen)] = mass[list(chosen)]
        # all links of what can be carried
        roots = [world.body(p) for p, prop in context.scene.props.items() if not prop.fixed and not prop.unknown]
        props = np.flatnonzero(np.isin(world.model.body_rootid, roots))
        return centre_of(world, own, props.tolist(), spec.axes, spec.carried)
    if spec.measure in ("momentum", "spin"):
        whole = tuple(context.points(actor, names, "of").bodies.tolist() if names else mine)
        return Momentum(whole) if spec.measure == "momentum" else spin_of(world, whole)
    if not names:
        return posture_of(world, character)
    return context.look_up("of", lambda: joints_of(world, character.prefix, names))


def _law(context: BuildContext, actor: Actor, spec: TaskSpec) -> Law:
    if spec.law == "stabilize":
        return Stabilize(spec.frequency, spec.smoothing, None if spec.reach is None else _reach(spec, spec.reach))
    if spec.law == "track":
        return Track(spec.frequency)
    if spec.law == "reach":
        return Reach(spec.seconds, spec.frequency)
    if spec.law == "hold":
        return Hold(spec.frequency)
    clip = actor.clip if spec.clip is None else context.look_up("clip", lambda: read_clip(str(spec.clip), actor.character))
    character = actor.character
    if clip is None:
        raise context.wrong("law", f"'nearest' needs a clip, and a {character.model} has none")
    names = (spec.of,) if isinstance(spec.of, str) else spec.of
    joints = character.joints if names is None else tuple(character.prefix + n for n in names)
    # poses are compared with all joints, even where the posture task controls only some
    source = nearest_pose(clip, context.world, character.prefix, character.bodies, character.joints, joints, character.height)
    return Nearest(source, spec.frequency, spec.smoothing, ahead=spec.ahead, feed=spec.feed)


def settings(context: BuildContext, task: Task, spec: TaskSpec, tune: TuneSpec) -> dict[str, float]:
    """New settings of a task's law, in the law's own units."""
    out = tune.model_dump(exclude_none=True)
    if "reach" in out:
        out["reach"] = _reach(spec, out["reach"])
    for key in out:
        if key == "max_force" and spec.measure not in ("point", "com"):
            raise context.wrong(f"tune.{task.name}.{key}", "is for measures 'point' and 'com'")
        if key not in ("max_force", "priority") and not hasattr(task.law, key):
            known = [k for k in ("frequency", "smoothing", "reach", "ahead") if hasattr(task.law, k)]
            raise context.wrong(
                f"tune.{task.name}.{key}", f"law '{spec.law}' has no such setting (allowed: {', '.join(known)})"
            )
    return out


def build_tug(context: BuildContext, spec: TugSpec) -> Tug:
    """A force that pulls at a point of a body."""
    point = context.points(context.actors[0], (spec.body,), "body")
    number, offset = int(point.bodies[0]), point.offsets[0] + np.array(spec.at)
    name = str(mujoco.mj_id2name(context.world.model, mujoco.mjtObj.mjOBJ_BODY, number))
    path = np.array(spec.path)
    return Tug(name, number, offset, Path(path[:, 0], path[:, 1:], 0.0))


def _reach(spec: TaskSpec, reach: float) -> float:
    """The reach in radians (given in degrees) for rotations, in metres for other measures."""
    return float(np.deg2rad(reach)) if spec.measure in ("orientation", "look", "posture") else reach
