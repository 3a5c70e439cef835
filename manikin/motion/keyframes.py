"""Key poses to clips: smooth joint curves, feet planted by inverse kinematics on the reference body."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import Character
from manikin.characters.human import ORIGIN
from manikin.clips.clip import Clip
from manikin.physics.world import World
from manikin.spatial import quat_from_axis_angle
from manikin.tasks.ik import Target, solve_pose
from manikin.tasks.measures import CentreOfMass, Direction, Orientation, Points, Posture
from manikin.tasks.named import joints_of

Array = NDArray[np.float64]

Place = tuple[float, float, float]

# the ankles are this far behind the origin, and this high [m, stature 1.75 m]
ANKLE = (ORIGIN, 0.07525)
TRUNK = ("lumbar", "thorax", "head")
PAIRED = ("thigh", "shank", "foot", "toes", "clavicle", "upper_arm", "forearm", "hand")


@dataclass(frozen=True)
class Key:
    """A pose at a time: hinge angles [deg] and pelvis pitch [deg]. The pose is bent to meet whatever else is given.

    hand: where both hands are (left; mirrored); right, left: where one of them is [m]. palm: where the right palm faces.
    ahead: how far [m] the centre of mass is ahead of the ankles. firm: how much more (per radian) the trunk keeps its angles
    than the limbs do.
    """

    time: float
    angles: Mapping[str, float]
    pitch: float = 0.0
    hand: Place | None = None
    right: Place | None = None
    left: Place | None = None
    palm: Place | None = None
    ahead: float | None = None
    firm: float = 0.0


@dataclass(frozen=True)
class Stance:
    """Where the feet stand: half distance [m] and toe-out [deg]."""

    half_width: float = 0.145
    toe_out: float = 12.0


def both_sides(angles: Mapping[str, float]) -> dict[str, float]:
    """'thigh_flexion' -> 'thigh_l_flexion' and 'thigh_r_flexion'; names of the trunk stay."""
    out = {}
    for name, value in angles.items():
        part, motion = name.rsplit("_", 1)
        for full in [f"{part}_l_{motion}", f"{part}_r_{motion}"] if part in PAIRED else [name]:
            out[full] = value
    return out


def make_clip(world: World, character: Character, keys: Sequence[Key], fps: float, stance: Stance) -> Clip:
    """Interpolate keys (monotone cubics in time), then solve each frame for planted feet and given hands."""
    joints = tuple(j.removeprefix(character.prefix) for j in character.joints)
    solved = [_solve_key(world, character, joints, k, stance) for k in keys]
    times = np.array([k.time for k in keys])
    frames = np.arange(round(times[-1] * fps) + 1) / fps
    # slow to load, and only needed where clips are made
    from scipy.interpolate import PchipInterpolator

    angles = PchipInterpolator(times, np.array([a for a, _ in solved]))(frames)
    pitch = PchipInterpolator(times, np.array([p for _, p in solved]))(frames)
    # if every key places the centre of mass, so do the frames in between
    ahead = [k.ahead for k in keys if k.ahead is not None]
    weight = PchipInterpolator(times, np.array(ahead))(frames) if len(ahead) == len(keys) else None
    qpos = np.empty((len(frames), 7 + len(joints)))
    for t in range(len(frames)):
        more = [] if weight is None else [_weight(world, character, weight[t])]
        _solve(world, character, angles[t], pitch[t], more, stance, loose=0.3)
        qpos[t] = _read(world, character)
    return Clip(fps, joints, qpos, np.ones((len(frames), 2), bool), character.height)


def _solve_key(world: World, character: Character, joints: tuple[str, ...], key: Key, stance: Stance) -> tuple[Array, float]:
    given = both_sides(key.angles)
    unknown = set(given) - set(joints)
    if unknown:
        raise ValueError(f"no such joints: {sorted(unknown)}")
    target = np.deg2rad([given.get(j, 0.0) for j in joints])
    _solve(world, character, target, np.deg2rad(key.pitch), _targets(world, character, key), stance, loose=0.3)
    q = _read(world, character)
    return q[7:], 2 * np.arctan2(q[5], q[3])


def _targets(world: World, character: Character, key: Key) -> list[Target]:
    """What a key asks for in addition to its angles."""
    left, right = character.hands
    wanted = {left: key.left, right: key.right}
    if key.hand is not None:
        x, y, z = key.hand
        wanted = {left: key.hand, right: (x, -y, z)}
    out = []
    for hand, place in wanted.items():
        if place is not None:
            palm = Points(np.array([world.body(hand)]), world.model.site_pos[world.site(hand)][None].copy())
            out.append(Target(palm, np.array(place), 20.0))
    if key.palm is not None:
        # the right palm looks along y of the hand
        out.append(Target(Direction(world.body(right), np.array([0.0, 1.0, 0.0])), np.array(key.palm), 1.0))
    if key.ahead is not None:
        out.append(_weight(world, character, key.ahead))
    if key.firm > 0:
        given = {character.prefix + j: a for j, a in key.angles.items()}
        names = [j for j in character.joints if j.removeprefix(character.prefix).startswith(TRUNK)]
        numbers = [world.joint(j) for j in names]
        address, dofs = world.model.jnt_qposadr[numbers], world.model.jnt_dofadr[numbers]
        trunk = Posture(address.astype(np.int64), dofs.astype(np.int64))
        out.append(Target(trunk, np.deg2rad([given.get(j, 0.0) for j in names]), key.firm))
    return out


def _weight(world: World, character: Character, ahead: float) -> Target:
    """Target: the centre of mass `ahead` [m] in front of the ankles, midway between the feet."""
    mass = np.where(world.model.body_rootid == world.body(character.root), world.model.body_mass, 0.0)
    place = np.array([ahead - ANKLE[0] * character.height / 1.75, 0.0])
    return Target(CentreOfMass(mass, np.zeros_like(mass)), place, 20.0)


def _solve(
    world: World, character: Character, angles: Array, pitch: float, more: Sequence[Target], stance: Stance, loose: float
) -> None:  # fmt: skip
    """Feet flat at the stance (hard), joints near `angles`, pelvis near `pitch`, and whatever `more` asks for."""
    scale = character.height / 1.75
    model, data = world.model, world.data
    posture = posture_of(world, character)
    base = int(model.jnt_qposadr[world.joint(character.prefix + "root")])
    data.qpos[base : base + 7] = [0, 0, 0.53 * character.height, *quat_from_axis_angle((0, 1, 0), pitch)]
    data.qpos[posture.qpos] = angles
    feet = np.array([world.body(f) for f in character.feet])
    ankle = np.array([-ANKLE[0], stance.half_width, ANKLE[1]]) * [scale, 1, scale]
    places = np.concatenate([ankle, ankle * [1, -1, 1]])
    outward = np.concatenate([quat_from_axis_angle((0, 0, 1), s * np.deg2rad(stance.toe_out)) for s in (1, -1)])
    targets = [
        Target(Points(feet, np.zeros((2, 3))), places, 30.0),
        Target(Orientation(feet), outward, 30.0),
        Target(posture, angles, loose),
        Target(Orientation(np.array([world.body(character.root)])), quat_from_axis_angle((0, 1, 0), pitch), loose),
    ]
    solve_pose(world, [*targets, *more])


def posture_of(world: World, character: Character) -> Posture:
    """The measure of all actuated joints of a character."""
    return joints_of(world, "", character.joints)


def _read(world: World, character: Character) -> Array:
    base = int(world.model.jnt_qposadr[world.joint(character.prefix + "root")])
    posture = posture_of(world, character)
    return np.concatenate([world.data.qpos[base : base + 7], world.data.qpos[posture.qpos]])
