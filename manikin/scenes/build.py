"""From a Scene to a Run: the world, its tasks, script and controller."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mujoco
import numpy as np
import tomli_w
from numpy.typing import NDArray

from manikin.characters.catalog import REFERENCE_HEIGHT, Character
from manikin.characters.human import SOLE_FRICTION, human
from manikin.clips.clip import Clip
from manikin.controllers.prioritized import Prioritized
from manikin.errors import ClipError, InputError, SceneError, did_you_mean
from manikin.loop import Run
from manikin.motion.keyframes import posture_of
from manikin.motion.nearest import nearest_pose
from manikin.motion.retarget import read_clip
from manikin.physics.attach import hold_still, join, leave_out
from manikin.physics.support import Support
from manikin.physics.world import World
from manikin.recording import Recorder
from manikin.scenes.links import lay_out, link_name, relative
from manikin.scenes.scene import (
    CharacterSpec,
    GoalSpec,
    MeetSpec,
    PropSpec,
    Scene,
    StepSpec,
    TaskSpec,
    ThrowSpec,
    TugSpec,
    TuneSpec,
)
from manikin.scenes.scripts import GoalMaker, Step, Steps
from manikin.scenes.stage import PropShape, stage
from manikin.scenes.tugs import Tug
from manikin.spatial import quat_from_axis_angle, quat_multiply
from manikin.tasks.goals import (
    Against,
    Braced,
    Fixed,
    Goal,
    Meet,
    OnBody,
    Path,
    Throw,
    depth,
    flight_to_plane,
    launch_velocity,
)
from manikin.tasks.laws import Hold, Law, Nearest, Reach, Stabilize, Track
from manikin.tasks.limits import JointLimits
from manikin.tasks.measures import CentreOfMass, Direction, Look, Measure, Momentum, Orientation, Points, Posture
from manikin.tasks.task import Task

Array = NDArray[np.float64]

# The gaze: eyes look a little down from the head's own straight ahead.
GAZE = np.array([np.cos(np.deg2rad(8)), 0.0, -np.sin(np.deg2rad(8))])
_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Actor:
    """A character of the scene with its clip."""

    spec: CharacterSpec
    character: Character
    clip: Clip


def scene_text(scene: Scene) -> str:
    """The scene as TOML, changes included."""
    return tomli_w.dumps(scene.model_dump(mode="json", exclude_defaults=True, exclude_none=True))


def build_run(scene: Scene, record: bool = True) -> Run:
    """Everything needed to run a scene, at its first moment."""
    actors = [_actor(prefix, spec) for prefix, spec in scene.cast().items()]
    props = {name: _prop(name, spec, scene) for name, spec in scene.props.items()}
    clash = set(props) & {b for a in actors for b in a.character.bodies}
    if clash:
        raise SceneError(f"{scene.name}: props.{min(clash)}: that name is taken by a body of the character")
    _check_joined(scene, [h for a in actors for h in a.character.hands])
    world = World(stage(scene.name, [a.character for a in actors], props, scene.timestep, joined=scene.joined))
    for actor in actors:
        _place(world, actor)
    for name, prop in scene.props.items():
        if not prop.fixed:
            dof = int(world.model.jnt_dofadr[world.joint(name)])
            world.data.qvel[dof : dof + 3] = prop.velocity
        if prop.grip.force is not None:
            world.grip_limits[name] = prop.grip.force
    world.dynamics().stand_on(tuple(stand_support(world, a.character) for a in actors if a.spec.feet == "contact"))
    world.forward()
    _join(scene, world)
    tasks = [_Where(scene, f"tasks.{name}").build_task(world, actors, name, spec) for name, spec in scene.tasks.items()]
    script = _script(scene, world, actors, tasks)
    controller = Prioritized(
        soft=scene.control.soft,
        compensate=scene.control.compensate,
        limits=(JointLimits(),) if scene.control.joint_limits else (),
    )
    every = max(1, round(1 / (scene.control.rate * scene.timestep)))
    tugs = [_Where(scene, f"tugs.{name}").build_tug(world, actors, spec) for name, spec in scene.tugs.items()]
    recorder = Recorder(world, tasks, scene.fps, _meta(scene, actors)) if record else None
    return Run(world, controller, script, tasks, every, recorder, tugs)


def _meta(scene: Scene, actors: list[Actor]) -> dict[str, Any]:
    from manikin import __version__

    return {
        "scene": scene_text(scene),
        "name": scene.name,
        "version": __version__,
        "seed": scene.seed,
        "controller": scene.controller,
        "driven": [],
        "changes": [],
        "inputs": [],
        "characters": {a.character.root: list(a.character.bodies) for a in actors},
        "feet": [f for a in actors for f in a.character.feet],
        "props": list(scene.props),
    }


def _actor(prefix: str, spec: CharacterSpec) -> Actor:
    key = "character" if not prefix else f"characters.{prefix[:-1]}"
    body = human(spec.height, spec.mass, spec.sex, spec.feet, spec.strength, spec.locked, prefix)
    try:
        clip = read_clip(spec.clip, body, spec.clip_fps, spec.skeleton)
    except ClipError as error:
        raise SceneError(f"{key}.clip: {error}") from None
    return Actor(spec, body, clip)


def _prop(name: str, spec: PropSpec, scene: Scene) -> PropShape:
    at = (0.0, 0.0, 0.0) if spec.at is None else spec.at
    shape = PropShape(
        spec.shape, spec.size, spec.mass, at, spec.turn, spec.friction, spec.fixed, spec.catchable, spec.grip.softness
    )  # fmt: skip
    given = {k: getattr(spec, k) for k in ("colour", "links", "damping") if getattr(spec, k) is not None}
    return replace(shape, **given)


def _check_joined(scene: Scene, hands: list[str]) -> None:
    """Every joint at the start ties a hand to a body of a movable prop."""
    movable = {name: spec for name, spec in scene.props.items() if not spec.fixed}
    bodies = [
        link_name(name, k)
        for name, spec in movable.items()
        for k in range((spec.links or PropShape.links) if spec.shape == "chain" else 1)
    ]
    for hand, body in scene.joined.items():
        if hand not in hands:
            raise SceneError(f"{scene.name}: joined.{hand}: no hand is called '{hand}'{did_you_mean(hand, hands)}")
        if body not in bodies:
            raise SceneError(
                f"{scene.name}: joined.{hand}: no movable prop, or link of one, is called '{body}'{did_you_mean(body, bodies)}"
            )


def _join(scene: Scene, world: World) -> None:
    """Bring joined props to the hands, then tie them; the controller knows of it unless the prop is unknown to it."""
    model, data = world.model, world.data
    for name, spec in scene.props.items():
        joints = scene.joints_of(name)
        if joints:
            holds = [(link, data.site_xpos[world.site(hand)].copy()) for hand, link in joints.items()]
            links = (spec.links or PropShape.links) if spec.shape == "chain" else 1
            if len(holds) > 1 and spec.shape != "chain":
                raise SceneError(f"{scene.name}: joined: two hands can be joined to a chain only; let them grasp '{name}'")
            try:
                start, quats = lay_out(holds, links, spec.size[-1] / links, data.xquat[world.body(name)].copy())
            except ValueError as error:
                raise SceneError(f"{scene.name}: joined: {error}") from None
            for k, turn in enumerate(relative(quats)):
                address = int(model.jnt_qposadr[world.joint(link_name(name, k))])
                if k == 0:
                    data.qpos[address : address + 3] = start
                    address += 3
                data.qpos[address : address + 4] = turn
            world.forward()
            for hand in joints:
                join(world, hand)
        if spec.unknown:
            leave_out(world, name)
    world.forward()


def _place(world: World, actor: Actor) -> None:
    """Stand in the first pose of the clip, at `at`, facing `facing`; feet are clamped and joints locked there."""
    model, data = world.model, world.data
    character, spec = actor.character, actor.spec
    base = int(model.jnt_qposadr[world.joint(character.prefix + "root")])
    root = actor.clip.root(character.height)[0]
    turn = quat_from_axis_angle((0, 0, 1), np.deg2rad(spec.facing))
    data.qpos[base : base + 2] = spec.at
    data.qpos[base + 2] = root[2]
    data.qpos[base + 3 : base + 7] = quat_multiply(turn, root[3:])
    posture = posture_of(world, character)
    names = tuple(j.removeprefix(character.prefix) for j in character.joints)
    data.qpos[posture.qpos] = actor.clip.angles(names)[0]
    world.forward()
    # the middle between the feet stands at `at`
    feet = np.mean([data.site_xpos[world.site(f)][:2] for f in character.feet], axis=0)
    data.qpos[base : base + 2] += np.array(spec.at) - feet + _stance_offset(spec, character)
    world.forward()
    for equality in character.equalities:
        hold_still(world, equality.attrib["name"])


def _stance_offset(spec: CharacterSpec, character: Character) -> Array:
    """Sites sit under the middle of the foot, 35 mm ahead of the ankle: `at` is meant between the ankles."""
    ahead = 0.0175 * character.height / REFERENCE_HEIGHT
    return ahead * np.array([np.cos(np.deg2rad(spec.facing)), np.sin(np.deg2rad(spec.facing))])


def stand_support(world: World, character: Character) -> Support:
    """The feet of a character that stands on them."""
    model = world.model
    sites = [world.site(f) for f in character.feet]
    soles = [world.body(b) for b, _ in character.soles]
    return Support(
        world.body(character.root),
        np.array([model.site_bodyid[s] for s in sites], np.int64),
        np.array([model.site_pos[s] for s in sites]),
        np.array(sorted({*soles} - {int(model.site_bodyid[s]) for s in sites}), np.int64),
        np.array(soles, np.int64),
        np.array([p for _, p in character.soles]),
        SOLE_FRICTION,
        float(sum(model.body_mass[world.body(b)] for b in character.bodies)),
    )


class _Where:
    """Builds one table of a scene; errors say which key."""

    def __init__(self, scene: Scene, path: str) -> None:
        self.scene, self.path = scene, path

    def wrong(self, key: str, message: str) -> SceneError:
        return SceneError(f"{self.scene.name}: {self.path}.{key}: {message}")

    def look_up(self, key: str, find: Callable[[], Any]) -> Any:
        try:
            return find()
        except InputError as error:
            raise self.wrong(key, str(error)) from None

    # --- tasks

    def build_task(self, world: World, actors: list[Actor], name: str, spec: TaskSpec) -> Task:
        actor = self._actor_of(actors, spec)
        measure = self._measure(world, actor, spec)
        task = Task(name, measure, self._law(world, actor, spec), spec.priority, spec.weight, spec.max_force, spec.active)
        if spec.goal is not None:
            task.goal = self.goal_maker(world, actor, task, spec.goal, "goal")(world)
        return task

    def _actor_of(self, actors: list[Actor], spec: TaskSpec) -> Actor:
        names = [a.character.prefix[:-1] for a in actors]
        if spec.character is None:
            if len(actors) > 1:
                raise self.wrong("character", f"say whose task it is{did_you_mean('', names)}")
            return actors[0]
        if spec.character not in names:
            raise self.wrong("character", f"given '{spec.character}'{did_you_mean(spec.character, [n for n in names if n])}")
        return actors[names.index(spec.character)]

    def _points(self, world: World, actor: Actor, names: tuple[str, ...], key: str) -> Points:
        """Sites or bodies by name; a character's own names may be given without its prefix."""
        sites, bodies = world.names(mujoco.mjtObj.mjOBJ_SITE), world.names(mujoco.mjtObj.mjOBJ_BODY)
        numbers, offsets = [], []
        for name in names:
            for full in (actor.character.prefix + name, name):
                if full in sites:
                    s = sites.index(full)
                    numbers.append(int(world.model.site_bodyid[s]))
                    offsets.append(world.model.site_pos[s].copy())
                    break
                if full in bodies and full != "world":
                    numbers.append(bodies.index(full))
                    offsets.append(np.zeros(3))
                    break
            else:
                allowed = [n for n in dict.fromkeys(sites + bodies[1:]) if n]
                raise self.wrong(key, f"no site or body is called '{name}'{did_you_mean(name, allowed)}")
        return Points(np.array(numbers, np.int64), np.array(offsets).reshape(-1, 3))

    def _measure(self, world: World, actor: Actor, spec: TaskSpec) -> Measure:
        names = (spec.of,) if isinstance(spec.of, str) else spec.of or ()
        character = actor.character
        mass = world.model.body_mass
        mine = [world.body(b) for b in character.bodies]
        if spec.measure == "point":
            return self._points(world, actor, names, "of")
        if spec.measure == "orientation":
            bodies = self._points(world, actor, names, "of").bodies
            if spec.axis is None:
                return Orientation(bodies)
            if len(bodies) != 1:
                raise self.wrong("of", "with axis, exactly one body")
            return Direction(int(bodies[0]), _unit(spec.axis))
        if spec.measure == "look":
            head = int(self._points(world, actor, names or ("head",), "of").bodies[0])
            axis = GAZE if spec.axis is None else _unit(spec.axis)
            return Look(Direction(head, axis), int(world.model.body_parentid[head]), np.array([1.0, 0.0, 0.0]))
        if spec.measure == "com":
            own, carried = np.zeros_like(mass), np.zeros_like(mass)
            chosen = self._points(world, actor, names, "of").bodies if names else mine
            own[list(chosen)] = mass[list(chosen)]
            # all links of what can be carried
            roots = [world.body(p) for p, prop in self.scene.props.items() if not prop.fixed and not prop.unknown]
            props = np.flatnonzero(np.isin(world.model.body_rootid, roots))
            carried[props] = np.minimum(mass[props], spec.carried * own.sum())
            return CentreOfMass(own, carried, tuple(_AXES[a] for a in spec.axes))
        if spec.measure == "momentum":
            return Momentum(tuple(self._points(world, actor, names, "of").bodies.tolist() if names else mine))
        if not names:
            return posture_of(world, character)
        numbers = [self.look_up("of", partial(world.joint, character.prefix + n)) for n in names]
        addresses, dofs = world.model.jnt_qposadr[numbers], world.model.jnt_dofadr[numbers]
        return Posture(addresses.astype(np.int64), dofs.astype(np.int64))

    def _law(self, world: World, actor: Actor, spec: TaskSpec) -> Law:
        if spec.law == "stabilize":
            return Stabilize(spec.frequency, spec.smoothing, None if spec.reach is None else _reach(spec, spec.reach))
        if spec.law == "track":
            return Track(spec.frequency)
        if spec.law == "reach":
            return Reach(spec.seconds, spec.frequency)
        if spec.law == "hold":
            return Hold(spec.frequency)
        clip = actor.clip if spec.clip is None else self.look_up("clip", lambda: read_clip(str(spec.clip), actor.character))
        character = actor.character
        names = (spec.of,) if isinstance(spec.of, str) else spec.of
        joints = character.joints if names is None else tuple(character.prefix + n for n in names)
        # joints that a posture leaves out must still be posed to compare poses: search with all, keep some
        source = nearest_pose(clip, world, character.prefix, character.bodies, character.joints, joints, character.height)
        return Nearest(source, spec.frequency, spec.smoothing, feed=spec.feed)

    def settings(self, task: Task, spec: TaskSpec, tune: TuneSpec) -> dict[str, float]:
        """New settings of a task's law, in its own units."""
        out = tune.model_dump(exclude_none=True)
        if "reach" in out:
            out["reach"] = _reach(spec, out["reach"])
        for key in out:
            if not hasattr(task if key == "max_force" else task.law, key):
                raise self.wrong(f"tune.{task.name}.{key}", f"law '{spec.law}' has no such setting")
        return out

    def build_tug(self, world: World, actors: list[Actor], spec: TugSpec) -> Tug:
        point = self._points(world, actors[0], (spec.body,), "body")
        number, offset = int(point.bodies[0]), point.offsets[0] + np.array(spec.at)
        name = str(mujoco.mj_id2name(world.model, mujoco.mjtObj.mjOBJ_BODY, number))
        path = np.array(spec.path)
        return Tug(name, number, offset, Path(path[:, 0], path[:, 1:], 0.0))

    # --- goals

    def goal_maker(self, world: World, actor: Actor, task: Task, spec: GoalSpec, key: str) -> GoalMaker:
        """Check a goal now; make it when its step begins."""
        scale = actor.character.height / REFERENCE_HEIGHT if spec.scale else 1.0
        measure = task.measure
        if spec.clip is not None:
            if not isinstance(measure, Posture):
                raise self.wrong(key, "a clip's pose is a goal for measure 'posture'")
            pose = self._pose(world, actor, measure, spec, key)
            return lambda w: Fixed(pose)
        if spec.meet is not None:
            return self._meeting(world, actor, measure, spec.meet, key)
        if spec.throw is not None:
            return self._throwing(world, actor, measure, spec.throw, key)
        if spec.path is not None:
            path = np.array(spec.path, float) if len({len(r) for r in spec.path}) == 1 else None
            if path is None or len(path) < 2 or (np.diff(path[:, 0]) <= 0).any():
                raise self.wrong(key, "path needs two or more rows [time, numbers...] of one length, times increasing")
            keys = np.array([self._numbers(measure, row[1:] * scale, key) for row in path])
            return lambda w: Path(path[:, 0], keys, w.time)
        numbers = np.array(spec.at, float)
        if spec.carry is not None:
            if spec.carry not in self.scene.props or not isinstance(measure, Points):
                raise self.wrong(f"{key}.carry", f"given '{spec.carry}'{did_you_mean(spec.carry, self.scene.props)}")
            if numbers.shape != (3,):
                raise self.wrong(f"{key}.at", "needs one place [x, y, z] for the middle of what is carried")
            prop = world.body(spec.carry)
            return lambda w: _carry(w, measure, prop, numbers * scale)
        if spec.of == "feet":
            points = np.atleast_2d(numbers * scale)
            count = len(measure.bodies) if isinstance(measure, Points) else 1
            if not isinstance(measure, Points | Look | CentreOfMass) or len(points) != count or points.shape[1] not in (2, 3):
                raise self.wrong(f"{key}.at", f"needs {count} points [x, y, z] from the middle between the feet")
            if isinstance(measure, CentreOfMass) and spec.brace:
                return self._braced(world, actor, measure, spec.brace, points[0], key)
            if spec.brace:
                raise self.wrong(f"{key}.brace", "is for measure 'com'")
            axes = list(measure.axes) if isinstance(measure, CentreOfMass) else [0, 1, 2]
            return lambda w: Fixed(np.concatenate([_on_stance(w, actor, p)[axes] for p in points]))
        if spec.of is not None:
            where = self._points(world, actor, (spec.of,), f"{key}.of")
            offsets = np.atleast_2d(numbers * scale)
            if offsets.shape[1] != 3 or not isinstance(measure, Points | Look) or len(offsets) != _size(measure) // 3:
                raise self.wrong(f"{key}.at", f"needs {_size(measure) // 3} points [x, y, z] in the frame of '{spec.of}'")
            return lambda w: OnBody(int(where.bodies[0]), where.offsets + offsets)
        value = self._numbers(measure, numbers.ravel() * scale, key)
        return lambda w: Fixed(value)

    def _meeting(self, world: World, actor: Actor, measure: Measure, spec: MeetSpec, key: str) -> GoalMaker:
        body, plane = self.flying(world, actor, spec, f"{key}.meet")
        if isinstance(measure, Direction):
            return lambda w: Against(body, *plane(w))
        if not isinstance(measure, Points) or len(measure.bodies) != 1:
            raise self.wrong(f"{key}.meet", "is for one point, or for an orientation with axis")
        return lambda w: Meet(body, *plane(w), spec.give, spec.most, spec.seconds)

    def _throwing(self, world: World, actor: Actor, measure: Measure, spec: ThrowSpec, key: str) -> GoalMaker:
        movable = [p for p, s in self.scene.props.items() if not s.fixed]
        if spec.prop not in movable:
            raise self.wrong(f"{key}.throw.prop", f"no movable prop is called '{spec.prop}'{did_you_mean(spec.prop, movable)}")
        if not isinstance(measure, Points) or len(measure.bodies) != 1:
            raise self.wrong(f"{key}.throw", "is for one point: the middle of what is thrown")

        def make(w: World) -> Goal:
            now = measure.evaluate(w.dynamics())
            place = _on_stance(w, actor, np.array(spec.release))
            if spec.velocity is not None:
                velocity = np.array(spec.velocity)
            else:
                assert spec.target is not None
                down = np.array([0.0, 0.0, -1.0])
                land = np.array([*spec.target, depth(w, w.body(spec.prop), down)])
                velocity = launch_velocity(place, land, float(-w.model.opt.gravity[2]))
            return Throw(w.time, now.value.copy(), now.rate.copy(), place, velocity, spec.draw, spec.windup)

        return make

    def flying(
        self, world: World, actor: Actor, spec: MeetSpec, key: str
    ) -> tuple[int, Callable[[World], tuple[Array, Array]]]:  # fmt: skip
        """A prop that flies, and the plane ahead of the feet in which it is met: a point of it and the way the feet point."""
        if spec.prop not in self.scene.props or self.scene.props[spec.prop].fixed:
            movable = [p for p, s in self.scene.props.items() if not s.fixed]
            raise self.wrong(f"{key}.prop", f"no movable prop is called '{spec.prop}'{did_you_mean(spec.prop, movable)}")

        def plane(w: World) -> tuple[Array, Array]:
            point = _on_stance(w, actor, np.array([spec.plane - 0.0175, 0.0]))
            ahead = point - _on_stance(w, actor, np.zeros(2))
            return point, ahead / np.linalg.norm(ahead)

        return world.body(spec.prop), plane

    def _braced(
        self, world: World, actor: Actor, measure: CentreOfMass, brace: dict[str, float], point: Array, key: str
    ) -> GoalMaker:  # fmt: skip
        ((name, share),) = brace.items()
        if name not in self.scene.props or self.scene.props[name].fixed:
            movable = [p for p, s in self.scene.props.items() if not s.fixed]
            raise self.wrong(f"{key}.brace", f"no movable prop is called '{name}'{did_you_mean(name, movable)}")
        body, axes = world.body(name), list(measure.axes)
        load = measure.carried[body]
        fraction = float(load / (measure.masses.sum() + load))
        return lambda w: Braced(_on_stance(w, actor, point)[axes], measure.axes, body, fraction, share)

    def _numbers(self, measure: Measure, given: Array, key: str) -> Array:
        """Plain numbers in the measure's own form."""
        if isinstance(measure, Orientation):
            if len(given) == 3:
                given = np.tile(given, len(measure.bodies))
            if len(given) != 3 * len(measure.bodies):
                raise self.wrong(key, "needs roll, pitch, yaw [deg] for each body, or once for all")
            return np.concatenate([quat_from_euler(np.deg2rad(g)) for g in given.reshape(-1, 3)])
        if isinstance(measure, Posture):
            given = np.deg2rad(given)
        if len(given) != _size(measure):
            raise self.wrong(key, f"needs {_size(measure)} numbers, {len(given)} were given")
        return given

    def _pose(self, world: World, actor: Actor, measure: Posture, spec: GoalSpec, key: str) -> Array:
        clip = self.look_up(f"{key}.clip", lambda: read_clip(str(spec.clip), actor.character))
        if not -len(clip.qpos) <= spec.frame < len(clip.qpos):
            raise self.wrong(f"{key}.frame", f"given {spec.frame}: the clip has frames 0 to {len(clip.qpos) - 1}")
        joints = {int(world.model.jnt_qposadr[world.joint(j)]): j for j in actor.character.joints}
        names = tuple(joints[int(a)].removeprefix(actor.character.prefix) for a in measure.qpos)
        return clip.angles(names)[spec.frame]


def _reach(spec: TaskSpec, reach: float) -> float:
    """Degrees for measures that turn, metres for the others."""
    return float(np.deg2rad(reach)) if spec.measure in ("orientation", "look", "posture") else reach


def _size(measure: Measure) -> int:
    """How many plain numbers a goal of this measure has."""
    if isinstance(measure, Points):
        return 3 * len(measure.bodies)
    if isinstance(measure, CentreOfMass):
        return len(measure.axes)
    if isinstance(measure, Posture):
        return len(measure.dofs)
    return 3


def _unit(axis: tuple[float, float, float]) -> Array:
    v = np.array(axis)
    return v / max(float(np.linalg.norm(v)), 1e-12)


def quat_from_euler(angles: Array) -> Array:
    """Roll about x, then pitch about y, then yaw about z (world axes) [rad]."""
    roll, pitch, yaw = (quat_from_axis_angle(a, t) for a, t in zip(np.eye(3), angles))
    return quat_multiply(yaw, quat_multiply(pitch, roll))


def _carry(world: World, measure: Points, prop: int, place: Array) -> Goal:
    """Hands keep their places on the prop while its middle goes to `place`."""
    now = measure.evaluate(world.dynamics()).value.reshape(-1, 3)
    return Fixed((place + now - world.data.xpos[prop]).ravel())


def _on_stance(world: World, actor: Actor, offset: Array) -> Array:
    """A point given from the middle between the feet, x along the way they point."""
    feet = [world.site(f) for f in actor.character.feet]
    middle = np.mean([world.data.site_xpos[f] for f in feet], axis=0)
    ahead = np.sum([world.data.site_xmat[f].reshape(3, 3)[:, 0] for f in feet], axis=0)
    yaw = np.arctan2(ahead[1], ahead[0])
    x, y = offset[:2]
    z = offset[2] if len(offset) > 2 else 0.0
    return middle + np.array([x * np.cos(yaw) - y * np.sin(yaw), x * np.sin(yaw) + y * np.cos(yaw), z])


# --- the script


def _along(throw: GoalMaker) -> GoalMaker:
    """The direction of a throw, as a goal for a direction."""

    def make(world: World) -> Goal:
        goal = throw(world)
        assert isinstance(goal, Throw)
        return Fixed(goal.velocity / max(float(np.linalg.norm(goal.velocity)), 1e-9))

    return make


def _arrival(here: _Where, world: World, actors: list[Actor], spec: StepSpec) -> Callable[[World], float] | None:
    """How long until what a step waits for arrives."""
    if isinstance(spec.when, str) or spec.when.arriving is None:
        return None
    body, plane = here.flying(world, actors[0], spec.when.arriving, "when.arriving")
    return lambda w: flight_to_plane(w, body, *plane(w)).seconds


def _script(scene: Scene, world: World, actors: list[Actor], tasks: list[Task]) -> Steps:
    by_name = {t.name: t for t in tasks}
    step_names = [s.name for s in scene.steps]
    hands = [h for a in actors for h in a.character.hands]
    steps = []
    for number, spec in enumerate(scene.steps):
        here = _Where(scene, f"steps.{spec.name}")
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
            name: here.goal_maker(world, here._actor_of(actors, scene.tasks[name]), by_name[name], goal, f"goals.{name}")
            for name, goal in spec.goals.items()
            if goal.along is None
        }
        goals |= {name: _along(goals[goal.along]) for name, goal in spec.goals.items() if goal.along is not None}
        tune = {name: here.settings(by_name[name], scene.tasks[name], t) for name, t in spec.tune.items()}
        steps.append(Step(spec, goals, tune, _arrival(here, world, actors, spec)))
    for fact, fact_spec in scene.facts.items():
        for step in (fact_spec.since, fact_spec.until):
            if step is not None and step not in step_names:
                raise SceneError(f"{scene.name}: facts.{fact}: no step is called '{step}'{did_you_mean(step, step_names)}")
        if fact_spec.task is not None and fact_spec.task not in by_name:
            raise SceneError(
                f"{scene.name}: facts.{fact}.task: given '{fact_spec.task}'{did_you_mean(fact_spec.task, by_name)}"
            )
    return Steps(tuple(steps))
