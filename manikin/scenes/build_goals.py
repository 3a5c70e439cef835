"""Goals of a scene: checked when the scene is built, created when their step begins."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import REFERENCE_HEIGHT
from manikin.characters.human import ORIGIN
from manikin.errors import did_you_mean
from manikin.motion.retarget import read_clip
from manikin.physics.world import World
from manikin.scenes.build_context import Actor, BuildContext
from manikin.scenes.faces import SHAPES, face_points, middle
from manikin.scenes.schema_table import FacesSpec
from manikin.scenes.schema_tasks import ArrivingSpec, GoalSpec, MeetSpec, ThrowSpec
from manikin.scenes.scripts import GoalMaker
from manikin.spatial import quat_from_axis_angle, quat_multiply
from manikin.tasks.goals import (
    Against,
    Braced,
    Fixed,
    Goal,
    Held,
    Meet,
    OnBody,
    Over,
    Path,
    Spline,
    Throw,
    depth,
    launch_velocity,
)  # fmt: skip
from manikin.tasks.laws import Hold
from manikin.tasks.measures import CentreOfMass, Direction, Look, Measure, Orientation, Points, Posture, Spin, goal_size
from manikin.tasks.task import Task

Array = NDArray[np.float64]

# two key poses of a spline are at least this far [s] apart
LEAST_SPAN = 1e-3


def goal_maker(context: BuildContext, actor: Actor, task: Task, spec: GoalSpec, key: str) -> GoalMaker:
    """Check a goal now; the returned function creates it when its step begins."""
    scale = actor.character.height / REFERENCE_HEIGHT if spec.scale else 1.0
    measure = task.measure
    if isinstance(task.law, Hold):
        raise context.wrong(key, "law 'hold' stays where it is switched on and takes no goal")
    if isinstance(measure, Spin):
        raise context.wrong(key, "measure 'spin' takes no goal: it is damped")
    if spec.along is not None:
        raise context.wrong(f"{key}.along", "is for a step in which another task is given a throw")
    if spec.clip is not None:
        if not isinstance(measure, Posture):
            raise context.wrong(key, "a clip's pose is a goal for measure 'posture'")
        pose = _pose(context, actor, measure, spec, key)
        return lambda w, _: Fixed(pose)
    if spec.spline is not None:
        return _key_poses(context, measure, spec.spline, key)
    if spec.meet is not None:
        return _meeting(context, actor, measure, spec.meet, key)
    if spec.throw is not None:
        return _throwing(context, actor, measure, spec.throw, key)
    if spec.hold is not None:
        return _holding(context, measure, spec.hold, key)
    if spec.relative and not isinstance(measure, Points | CentreOfMass):
        raise context.wrong(f"{key}.relative", "is for measures 'point' and 'com'")
    if spec.path is not None:
        path = _rows(spec.path)
        if path is None or len(path) < 2:
            raise context.wrong(key, "path needs two or more rows [time, numbers...] of one length, times increasing")
        keys = np.array([_numbers(context, measure, row[1:] * scale, key) for row in path])
        if spec.relative:
            return lambda w, m: Path(path[:, 0], keys + m.evaluate(w.dynamics()).value, w.time)
        return lambda w, _: Path(path[:, 0], keys, w.time)
    if isinstance(spec.at, FacesSpec):
        return _carry_by_faces(context, measure, spec.at, str(spec.carry), scale, key)
    numbers = np.array(spec.at, float)
    if spec.face is not None:
        return _on_faces(context, measure, spec, numbers * scale, key)
    if spec.carry is not None:
        prop = context.movable(spec.carry, f"{key}.carry")
        if not isinstance(measure, Points):
            raise context.wrong(f"{key}.carry", "is for measure 'point': the hands that carry")
        if numbers.shape != (3,):
            raise context.wrong(f"{key}.at", "needs one place [x, y, z] for the middle of what is carried")
        return lambda w, m: _carry(w, m, prop, numbers * scale)
    if spec.of == "feet":
        points = np.atleast_2d(numbers * scale)
        count = len(measure.bodies) if isinstance(measure, Points) else 1
        # two numbers are enough along the ground
        flat = isinstance(measure, CentreOfMass) and 2 not in measure.axes
        enough = points.shape[1] == 3 or (points.shape[1] == 2 and flat)
        if not isinstance(measure, Points | Look | CentreOfMass) or len(points) != count or not enough:
            form = "[x, y]" if flat else "[x, y, z]"
            raise context.wrong(f"{key}.at", f"needs {count} points {form} from the middle between the feet")
        if isinstance(measure, CentreOfMass) and spec.brace:
            return _braced(context, actor, measure, spec.brace, points[0], key)
        if spec.brace:
            raise context.wrong(f"{key}.brace", "is for measure 'com'")
        axes = list(measure.axes) if isinstance(measure, CentreOfMass) else [0, 1, 2]
        return lambda w, _: Fixed(np.concatenate([_on_stance(w, actor, p)[axes] for p in points]))
    if spec.of is not None and isinstance(measure, CentreOfMass):
        axes = list(measure.axes)
        if numbers.shape != (len(axes),):
            raise context.wrong(f"{key}.at", f"needs {len(axes)} numbers, from the place of '{spec.of}'")
        over = context.points(actor, (spec.of,), f"{key}.of")
        return lambda w, _: Over(int(over.bodies[0]), over.offsets, numbers * scale, tuple(axes))
    if spec.of is not None:
        where = context.points(actor, (spec.of,), f"{key}.of")
        offsets = np.atleast_2d(numbers * scale)
        if offsets.shape[1] != 3 or not isinstance(measure, Points | Look) or len(offsets) != goal_size(measure) // 3:
            raise context.wrong(f"{key}.at", f"needs {goal_size(measure) // 3} points [x, y, z] in the frame of '{spec.of}'")
        return lambda w, _: OnBody(int(where.bodies[0]), where.offsets + offsets)
    value = _numbers(context, measure, numbers.ravel() * scale, key)
    if spec.away is not None:
        if value.shape != (3,):
            raise context.wrong(f"{key}.away", "is for one point, or com with all its axes")
        where = context.points(actor, (spec.away,), f"{key}.away")
        return lambda w, m: _away(w, m, where, value)
    if spec.relative:
        return lambda w, m: Fixed(value + m.evaluate(w.dynamics()).value)
    return lambda w, _: Fixed(value)


def _on_faces(context: BuildContext, measure: Measure, spec: GoalSpec, shift: Array, key: str) -> GoalMaker:
    """Points on the faces of a prop, which move with it."""
    name = str(spec.of)
    shape, size = _faced(context, name, f"{key}.of")
    if not isinstance(measure, Points | CentreOfMass):
        raise context.wrong(f"{key}.face", "is for measures 'point' and 'com'")
    count = len(measure.bodies) if isinstance(measure, Points) else 1
    if len(spec.faces) != count:
        raise context.wrong(f"{key}.face", f"needs {count} faces, one for each point; {len(spec.faces)} were given")
    if shift.shape not in ((3,), (count, 3)):
        raise context.wrong(f"{key}.at", f"needs one shift [x, y, z] from the middles of the faces, or {count} of them")
    body, points = context.world.body(name), face_points(shape, size, spec.faces, spec.gap) + shift
    if isinstance(measure, CentreOfMass):
        axes = measure.axes
        return lambda w, _: Over(body, np.zeros((1, 3)), (w.data.xmat[body].reshape(3, 3) @ points[0])[list(axes)], axes)
    return lambda w, _: OnBody(body, points)


def _carry_by_faces(
    context: BuildContext, measure: Measure, place: FacesSpec, prop: str, scale: float, key: str
) -> GoalMaker:  # fmt: skip
    """Carry a prop to the given places of its faces, in the orientation that it has when the step begins."""
    body = context.movable(prop, f"{key}.carry")
    shape, size = _faced(context, prop, f"{key}.carry")
    if not isinstance(measure, Points):
        raise context.wrong(f"{key}.carry", "is for measure 'point': the hands that carry")
    return lambda w, m: _carry(w, m, body, middle(place, shape, size, w.data.xmat[body].reshape(3, 3), scale))


def _faced(context: BuildContext, name: str, key: str) -> tuple[str, tuple[float, ...]]:
    """Shape and size of a prop that has faces."""
    faced = {p: (spec.shape, spec.size) for p, spec in context.scene.props.items() if spec.shape in SHAPES}
    if name not in faced:
        if name in context.scene.props:
            raise context.wrong(key, f"a {context.scene.props[name].shape} has no faces (they are for {', '.join(SHAPES)})")
        raise context.wrong(key, f"no prop is called '{name}'{did_you_mean(name, faced)}")
    return faced[name]


def _away(world: World, measure: Measure, where: Points, value: Array) -> Fixed:
    """A relative goal whose x points from `where` to what is dragged, along the ground."""
    dynamics = world.dynamics()
    place = measure.evaluate(dynamics).value
    x, y = (place - where.evaluate(dynamics).value)[:2]
    far = np.hypot(x, y)
    # directly above, every direction points away
    c, s = (x / far, y / far) if far > 1e-6 else (1.0, 0.0)
    return Fixed(place + [c * value[0] - s * value[1], s * value[0] + c * value[1], value[2]])


def _key_poses(context: BuildContext, measure: Measure, rows: tuple[tuple[float, ...], ...], key: str) -> GoalMaker:
    """A spline through poses; the first is the one in which its step begins."""
    if not isinstance(measure, Posture):
        raise context.wrong(f"{key}.spline", "is for measure 'posture'")
    joints = len(measure.dofs)
    if not rows:
        raise context.wrong(f"{key}.spline", "needs one or more rows [time, angles...]")
    for number, row in enumerate(rows):
        if len(row) != joints + 1:
            raise context.wrong(
                f"{key}.spline.{number}", f"needs {joints + 1} numbers [time, {joints} angles], {len(row)} were given"
            )  # fmt: skip
        before = rows[number - 1][0] if number else 0.0
        if row[0] - before < LEAST_SPAN:
            raise context.wrong(
                f"{key}.spline.{number}", f"given {row[0]:g} s: must come at least {LEAST_SPAN:g} s after {before:g} s"
            )
    table = np.array(rows, float)
    return lambda w, _: Spline.through(table[:, 0], measure.angles(w.dynamics())[0], np.deg2rad(table[:, 1:]), w.time)


def _rows(given: tuple[tuple[float, ...], ...]) -> Array | None:
    """Rows [time, numbers...] of one length with increasing times; None where they are not."""
    rows = np.array(given, float) if len({len(r) for r in given}) == 1 else None
    return None if rows is None or not rows.shape[1] or (np.diff(rows[:, 0]) <= 0).any() else rows


def _holding(context: BuildContext, measure: Measure, given: tuple[tuple[float, ...], ...], key: str) -> GoalMaker:
    """Values that are each held until the next, in the measure's own units so that no precision is lost."""
    rows, size = _rows(given), goal_size(measure)
    if rows is None or rows.shape[1] != size + 1:
        raise context.wrong(key, f"hold needs rows [time, {size} numbers], times increasing")
    return lambda w, _: Held(rows[:, 0], rows[:, 1:], w.time)


def _meeting(context: BuildContext, actor: Actor, measure: Measure, spec: MeetSpec, key: str) -> GoalMaker:
    body, plane = flying(context, actor, spec, f"{key}.meet")
    if isinstance(measure, Direction):
        return lambda w, _: Against(body, *plane(w))
    if not isinstance(measure, Points) or len(measure.bodies) != 1:
        raise context.wrong(f"{key}.meet", "is for one point, or for an orientation with axis")
    return lambda w, _: Meet(body, *plane(w), spec.give, spec.most, spec.seconds)


def _throwing(context: BuildContext, actor: Actor, measure: Measure, spec: ThrowSpec, key: str) -> GoalMaker:
    prop = context.movable(spec.prop, f"{key}.throw.prop")
    if not isinstance(measure, Points) or measure.bodies.tolist() != [prop]:
        raise context.wrong(f"{key}.throw", f"is for one point, the middle of what is thrown: of = '{spec.prop}'")

    def make(w: World, measure: Measure) -> Goal:
        now = measure.evaluate(w.dynamics())
        place = _on_stance(w, actor, np.array(spec.release))
        if spec.velocity is not None:
            velocity = np.array(spec.velocity)
        else:
            assert spec.target is not None
            down = np.array([0.0, 0.0, -1.0])
            land = np.array([*spec.target, depth(w, prop, down)])
            velocity = launch_velocity(place, land, float(-w.model.opt.gravity[2]))
        return Throw(w.time, now.value.copy(), now.rate.copy(), place, velocity, spec.draw, spec.windup)

    return make


def along(throw: GoalMaker, thrown: Measure) -> GoalMaker:
    """The direction of a throw, as a goal for a direction. thrown: what the throw itself measures."""

    def make(world: World, _: Measure) -> Goal:
        goal = throw(world, thrown)
        assert isinstance(goal, Throw)
        return Fixed(goal.velocity / max(float(np.linalg.norm(goal.velocity)), 1e-9))

    return make


def flying(
    context: BuildContext, actor: Actor, spec: MeetSpec | ArrivingSpec, key: str
) -> tuple[int, Callable[[World], tuple[Array, Array]]]:  # fmt: skip
    """A flying prop, and the plane ahead of the feet where it is met: a point of the plane and the direction of the feet."""
    prop = context.movable(spec.prop, f"{key}.prop")

    def plane(w: World) -> tuple[Array, Array]:
        point = _on_stance(w, actor, np.array([spec.plane - ORIGIN, 0.0]))
        ahead = point - _on_stance(w, actor, np.zeros(2))
        return point, ahead / np.linalg.norm(ahead)

    return prop, plane


def _braced(
    context: BuildContext, actor: Actor, measure: CentreOfMass, brace: dict[str, float], point: Array, key: str
) -> GoalMaker:  # fmt: skip
    ((name, fraction),) = brace.items()
    body, axes = context.movable(name, f"{key}.brace"), list(measure.axes)

    def make(w: World, measure: Measure) -> Goal:
        assert isinstance(measure, CentreOfMass)
        # the load may have changed since the scene was built, and in a branch it may be another than in its run
        load = measure.carried[body]
        added = float(load / (measure.masses.sum() + load))
        return Braced(_on_stance(w, actor, point)[axes], measure.axes, body, added, fraction)

    return make


def _numbers(context: BuildContext, measure: Measure, given: Array, key: str) -> Array:
    """Plain numbers converted to the measure's own units."""
    if isinstance(measure, Orientation):
        if len(given) == 3:
            given = np.tile(given, len(measure.bodies))
        if len(given) != 3 * len(measure.bodies):
            raise context.wrong(key, "needs roll, pitch, yaw [deg] for each body, or once for all")
        return np.concatenate([quat_from_euler(np.deg2rad(g)) for g in given.reshape(-1, 3)])
    if isinstance(measure, Posture):
        given = np.deg2rad(given)
    if len(given) != goal_size(measure):
        raise context.wrong(key, f"needs {goal_size(measure)} numbers, {len(given)} were given")
    if isinstance(measure, Direction) and not given.any():
        raise context.wrong(key, "given [0, 0, 0]: needs a direction [x, y, z] other than zero")
    return given


def _pose(context: BuildContext, actor: Actor, measure: Posture, spec: GoalSpec, key: str) -> Array:
    clip = context.look_up(f"{key}.clip", lambda: read_clip(str(spec.clip), actor.character))
    if not -len(clip.qpos) <= spec.frame < len(clip.qpos):
        raise context.wrong(f"{key}.frame", f"given {spec.frame}: the clip has frames 0 to {len(clip.qpos) - 1}")
    joints = {int(context.world.model.jnt_qposadr[context.world.joint(j)]): j for j in actor.character.joints}
    names = tuple(joints[int(a)].removeprefix(actor.character.prefix) for a in measure.qpos)
    return clip.angles(names)[spec.frame]


def quat_from_euler(angles: Array) -> Array:
    """Roll about x, then pitch about y, then yaw about z (world axes) [rad]."""
    roll, pitch, yaw = (quat_from_axis_angle(a, t) for a, t in zip(np.eye(3), angles))
    return quat_multiply(yaw, quat_multiply(pitch, roll))


def _carry(world: World, measure: Measure, prop: int, place: Array) -> Goal:
    """Hands keep their places on the prop while its middle goes to `place`."""
    now = measure.evaluate(world.dynamics()).value.reshape(-1, 3)
    return Fixed((place + now - world.data.xpos[prop]).ravel())


def _on_stance(world: World, actor: Actor, offset: Array) -> Array:
    """A point given from the middle between the feet, x in their direction."""
    feet = [world.site(f) for f in actor.character.feet]
    middle = np.mean([world.data.site_xpos[f] for f in feet], axis=0)
    ahead = np.sum([world.data.site_xmat[f].reshape(3, 3)[:, 0] for f in feet], axis=0)
    yaw = np.arctan2(ahead[1], ahead[0])
    x, y = offset[:2]
    z = offset[2] if len(offset) > 2 else 0.0
    return middle + np.array([x * np.cos(yaw) - y * np.sin(yaw), x * np.sin(yaw) + y * np.cos(yaw), z])
