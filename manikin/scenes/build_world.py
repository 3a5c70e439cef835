"""Builds the world of a scene: characters and props in their initial places."""

from dataclasses import replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin import palette
from manikin.characters.catalog import REFERENCE_HEIGHT, Character
from manikin.characters.creatures import CREATURES
from manikin.characters.human import ORIGIN, SOLE_FRICTION, human
from manikin.errors import InputError, SceneError, did_you_mean
from manikin.motion.keyframes import posture_of
from manikin.motion.retarget import read_clip
from manikin.physics.attach import hold_still, join, leave_out
from manikin.physics.skeleton import Skeleton, find_skeleton
from manikin.physics.support import Support
from manikin.physics.world import World
from manikin.scenes.build_context import Actor
from manikin.scenes.faces import middle
from manikin.scenes.furniture import part_names
from manikin.scenes.links import lay_out, link_name, relative
from manikin.scenes.scene import Scene
from manikin.scenes.schema_table import FacesSpec
from manikin.scenes.schema_world import CharacterSpec, PropSpec
from manikin.scenes.stage import PropShape, stage
from manikin.spatial import quat_from_axis_angle, quat_multiply

Array = NDArray[np.float64]


def build_world(scene: Scene) -> tuple[World, list[Actor]]:
    """All characters and props in their places, at time zero."""
    actors = [_actor(scene, prefix, spec) for prefix, spec in scene.cast().items()]
    props = {name: _prop(scene, name, spec) for name, spec in scene.props.items()}
    _check_names(scene, props, actors)
    _check_joined(scene, [h for a in actors for h in a.character.hands])
    characters = [a.character for a in actors]
    world = World(stage(scene.name, characters, props, scene.timestep, joined=scene.joined), characters)
    for actor in actors:
        place(world, actor)
    for name, prop in scene.props.items():
        if any(prop.velocity):
            dof = int(world.model.jnt_dofadr[world.joint(name)])
            world.data.qvel[dof : dof + 3] = prop.velocity
        if prop.grip.force is not None:
            world.grip_limits[name] = prop.grip.force
    world.dynamics().stand_on(tuple(stand_support(world, a.character) for a in actors if a.spec.feet == "contact"))
    world.forward()
    _join(scene, world)
    return world, actors


def _actor(scene: Scene, prefix: str, spec: CharacterSpec) -> Actor:
    if spec.model in CREATURES:
        at = (*spec.at, spec.above)
        return Actor(spec, CREATURES[spec.model](spec.strength, prefix, at, float(np.deg2rad(spec.facing))), None)
    key = "character" if not prefix else f"characters.{prefix[:-1]}"
    body = human(spec.height, spec.mass, spec.sex, spec.feet, spec.strength, spec.locked, prefix)
    try:
        clip = read_clip(spec.clip, body, spec.clip_fps, spec.skeleton)
    except InputError as error:
        raise SceneError(f"{scene.where}: {key}.clip: {error}") from None
    return Actor(spec, body, clip)


def _prop(scene: Scene, name: str, spec: PropSpec) -> PropShape:
    at = _middle(spec)
    shape = PropShape(
        spec.shape, spec.size, spec.mass, at, spec.turn, spec.friction, spec.fixed, spec.catchable, spec.grip.softness
    )  # fmt: skip
    if spec.shape == "case":
        shape = replace(shape, colour=palette.GLASS, opacity=palette.GLASS_OPACITY)
    given = {k: getattr(spec, k) for k in ("colour", "links", "damping", "opacity") if getattr(spec, k) is not None}
    shape = replace(shape, **given)
    if shape.shape == "chain" and 2 * shape.size[0] >= shape.size[1] / shape.links:
        # links that overlap their neighbours would push each other apart
        long = shape.size[1] / shape.links
        raise SceneError(f"{scene.where}: props.{name}.size: {shape.links} links of {long:.3g} m must be longer than thick")
    return shape


def _middle(spec: PropSpec) -> tuple[float, float, float]:
    """The initial place of the middle of a prop."""
    if not isinstance(spec.at, FacesSpec):
        return (0.0, 0.0, 0.0) if spec.at is None else spec.at
    quat, axes = np.empty(4), np.empty(9)
    mujoco.mju_euler2Quat(quat, np.deg2rad(spec.turn), "xyz")
    mujoco.mju_quat2Mat(axes, quat)
    x, y, z = middle(spec.at, spec.shape, spec.size, axes.reshape(3, 3)).tolist()
    return x, y, z


def _check_names(scene: Scene, props: dict[str, PropShape], actors: list[Actor]) -> None:
    """Refuse props with the name of a part of the scene, of a character or of another prop."""
    taken = dict.fromkeys(("world", "floor", "feet"), "the scene")
    for actor in actors:
        taken |= {str(e.get("name")): "a part of the character" for e in actor.character.body.iter() if e.get("name")}
    for name, shape in props.items():
        mine = [name, f"{name}_end", f"{name}_rod"] if shape.shape == "pendulum" else [name, *part_names(shape.shape, name)]
        if shape.shape == "chain":
            mine = [*(link_name(name, k) for k in range(shape.links)), f"{name}_end"]
        for part in mine:
            if part in taken:
                what = "that name" if part == name else f"the name '{part}' of its part"
                raise SceneError(f"{scene.where}: props.{name}: {what} is taken by {taken[part]}")
        taken |= dict.fromkeys(mine, f"the prop '{name}'")


def _check_joined(scene: Scene, hands: list[str]) -> None:
    """Refuse `joined` unless it connects hands to bodies of movable props."""
    movable = {name: spec for name, spec in scene.props.items() if not spec.fixed and spec.shape != "seesaw"}
    bodies = [
        link_name(name, k)
        for name, spec in movable.items()
        for k in range((spec.links or PropShape.links) if spec.shape == "chain" else 1)
    ]
    for hand, body in scene.joined.items():
        if hand not in hands:
            raise SceneError(f"{scene.where}: joined.{hand}: no hand is called '{hand}'{did_you_mean(hand, hands)}")
        if body not in bodies:
            raise SceneError(
                f"{scene.where}: joined.{hand}: no movable prop, or link of one, is called '{body}'{did_you_mean(body, bodies)}"
            )


def _join(scene: Scene, world: World) -> None:
    """Bring joined props to the hands and connect them; props marked `unknown` are left out of the controller's model."""
    model, data = world.model, world.data
    for name, spec in scene.props.items():
        joints = scene.joints_of(name)
        if joints:
            holds = [(link, data.site_xpos[world.site(hand)].copy()) for hand, link in joints.items()]
            links = (spec.links or PropShape.links) if spec.shape == "chain" else 1
            if len(holds) > 1 and spec.shape != "chain":
                raise SceneError(f"{scene.where}: joined: two hands can be joined to a chain only; let them grasp '{name}'")
            try:
                start, quats = lay_out(holds, links, spec.size[-1] / links, data.xquat[world.body(name)].copy())
            except ValueError as error:
                raise SceneError(f"{scene.where}: joined: {error}") from None
            for k, quat in enumerate(relative(quats)):
                address = int(model.jnt_qposadr[world.joint(link_name(name, k))])
                if k == 0:
                    data.qpos[address : address + 3] = start
                    address += 3
                data.qpos[address : address + 4] = quat
            world.forward()
            for hand in joints:
                join(world, hand)
        if spec.unknown:
            leave_out(world, name)
    world.forward()


def place(world: World, actor: Actor) -> None:
    """Put a character into the first pose of its clip, at `at`, facing `facing`; feet are clamped and joints locked there."""
    model, data = world.model, world.data
    character, spec = actor.character, actor.spec
    if actor.clip is None:
        # it was built in its place; only the pose is missing
        for joint, angle in character.start.items():
            data.qpos[model.jnt_qposadr[world.joint(joint)]] = angle
        world.forward()
        return
    base = int(model.jnt_qposadr[world.joint(character.prefix + "root")])
    root = actor.clip.root(character.height)[0]
    heading = quat_from_axis_angle((0, 0, 1), np.deg2rad(spec.facing))
    data.qpos[base : base + 2] = spec.at
    data.qpos[base + 2] = root[2]
    data.qpos[base + 3 : base + 7] = quat_multiply(heading, root[3:])
    posture = posture_of(world, character)
    names = tuple(j.removeprefix(character.prefix) for j in character.joints)
    data.qpos[posture.qpos] = actor.clip.angles(names)[0]
    world.forward()
    # move the middle between the feet to `at`
    feet = np.mean([data.site_xpos[world.site(f)][:2] for f in character.feet], axis=0)
    data.qpos[base : base + 2] += np.array(spec.at) - feet + _stance_offset(spec, character)
    world.forward()
    for equality in character.equalities:
        hold_still(world, equality.attrib["name"])


def _stance_offset(spec: CharacterSpec, character: Character) -> Array:
    """From `at` to the middle between the feet's sites."""
    ahead = ORIGIN * character.height / REFERENCE_HEIGHT
    return ahead * np.array([np.cos(np.deg2rad(spec.facing)), np.sin(np.deg2rad(spec.facing))])


def skeleton_of(world: World, character: Character) -> Skeleton:
    """The skeleton of a character in its world."""
    roots = character.root_joints or (character.prefix + "root",)
    flesh, nodes = character.flesh, {}
    if flesh is not None:
        nodes = {
            f"{character.prefix}node_{k}": character.prefix + flesh.names[flesh.nearest[k]]
            for k in np.flatnonzero(flesh.bone < 0)
        }
    return find_skeleton(world, roots, character.joints, character.bodies, nodes)


def stand_support(world: World, character: Character) -> Support:
    """The contact feet of a character as its support."""
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
