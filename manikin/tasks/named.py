"""Measures and goals by name, looked up in a world.

    world = mk.stage(mk.human())
    hand = mk.points(world, "hand_l")
    balance = mk.centre_of_mass(world)

Names are those of bodies, sites and joints. Each function takes `character`, to choose one where there are several; a
character's own names may be given without its prefix.
"""

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from manikin.characters.catalog import Character
from manikin.errors import InputError, did_you_mean
from manikin.physics.world import World
from manikin.tasks.goals import OnBody
from manikin.tasks.measures import CentreOfMass, Direction, Look, Momentum, Orientation, Points, Posture, Spin

Array = NDArray[np.float64]

# the line of sight: slightly down from the head's forward axis
GAZE = np.array([np.cos(np.deg2rad(8)), 0.0, -np.sin(np.deg2rad(8))])
FORWARD = np.array([1.0, 0.0, 0.0])
AXES = {"x": 0, "y": 1, "z": 2}


def points(world: World, *names: str, offset: ArrayLike = (0.0, 0.0, 0.0), character: Character | None = None) -> Points:
    """Positions [m] of sites or of the origins of bodies. offset (3,): from there, in the body's frame [m]."""
    _some(names)
    numbers, places = find_points(world, names, _prefix(world, character))
    return Points(numbers, places + np.asarray(offset, float))


def orientation(world: World, *names: str, character: Character | None = None) -> Orientation:
    """How bodies are oriented; a goal is their quaternions (wxyz), one after the other."""
    _some(names)
    return Orientation(find_points(world, names, _prefix(world, character))[0])


def direction(world: World, name: str, axis: ArrayLike, character: Character | None = None) -> Direction:
    """Where an `axis` (3,) of a body points, given in its own frame; a goal is a direction (3,) in world axes."""
    return Direction(int(find_points(world, (name,), _prefix(world, character))[0][0]), unit(axis))


def look(world: World, name: str = "head", axis: ArrayLike | None = None, character: Character | None = None) -> Look:
    """Gaze: point a body's `axis` (3,) at a point; a goal is that point [m]. Without an axis, the line of sight of a head."""
    body = int(find_points(world, (name,), _prefix(world, character))[0][0])
    return Look(Direction(body, GAZE if axis is None else unit(axis)), int(world.model.body_parentid[body]), FORWARD)


def centre_of_mass(world: World, *names: str, axes: str = "xy", character: Character | None = None) -> CentreOfMass:
    """Centre of mass [m] of a character, or of the named bodies, along some world axes; what is carried counts as well."""
    wrong = [a for a in axes if a not in AXES]
    if wrong or not axes:
        raise InputError(f"axes: given '{axes}'{did_you_mean(axes, ('x', 'y', 'z', 'xy', 'xyz'))}")
    own = np.zeros_like(world.model.body_mass)
    chosen = _bodies(world, names, character)
    own[chosen] = world.model.body_mass[chosen]
    mine = {int(r) for c in world.characters for r in world.model.body_rootid[[world.body(b) for b in c.bodies]]}
    return centre_of(world, own, [b for b in range(1, world.model.nbody) if int(world.model.body_rootid[b]) not in mine], axes)


def momentum(world: World, *names: str, character: Character | None = None) -> Momentum:
    """Linear [kg m/s] and angular [kg m^2/s] momentum of a character, or of the named bodies, about their centre of mass."""
    return Momentum(tuple(_bodies(world, names, character)))


def spin(world: World, *names: str, character: Character | None = None) -> Spin:
    """How fast a character, or the named bodies, rotate as a whole [rad/s]."""
    return spin_of(world, _bodies(world, names, character))


def posture(world: World, *joints: str, character: Character | None = None) -> Posture:
    """Angles [rad] of a character's actuated joints, or of the named ones, in that order."""
    who = whose(world, character)
    return joints_of(world, who.prefix, joints) if joints else joints_of(world, "", who.joints)


def on_body(world: World, name: str, at: ArrayLike = (0.0, 0.0, 0.0), character: Character | None = None) -> OnBody:
    """A goal for points: places (n, 3) [m] that move with a body or site, given in its frame."""
    numbers, places = find_points(world, (name,), _prefix(world, character))
    return OnBody(int(numbers[0]), places + np.asarray(at, float).reshape(-1, 3))


# --- what scene files and the functions above have in common


def find_points(world: World, names: Sequence[str], prefix: str = "") -> tuple[NDArray[np.int64], Array]:
    """Sites or bodies by name: numbers (n,) of bodies, and offsets (n, 3) [m] in their frames."""
    _texts(names)
    sites, bodies = world.names(mujoco.mjtObj.mjOBJ_SITE), world.names(mujoco.mjtObj.mjOBJ_BODY)
    numbers, offsets = [], []
    for name in names:
        for full in (prefix + name, name):
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
            nodes = {node.get("name") for c in world.characters for node in c.nodes}
            allowed = [n for n in dict.fromkeys(sites + bodies[1:]) if n and n not in nodes]
            raise InputError(f"no site or body is called '{name}'{did_you_mean(name, allowed)}")
    return np.array(numbers, np.int64), np.array(offsets).reshape(-1, 3)


def joints_of(world: World, prefix: str, names: Sequence[str]) -> Posture:
    """Hinge joints by name."""
    _texts(names)
    numbers = [world.joint(prefix + name) for name in names]
    model = world.model
    for name, number in zip(names, numbers):
        if model.jnt_type[number] != mujoco.mjtJoint.mjJNT_HINGE:
            raise InputError(f"joint '{name}' is not a hinge: a posture takes hinges only")
    return Posture(model.jnt_qposadr[numbers].astype(np.int64), model.jnt_dofadr[numbers].astype(np.int64))


def centre_of(world: World, own: Array, others: Sequence[int], axes: str | Sequence[str], most: float = 1.0) -> CentreOfMass:
    """own (nbody,) [kg]: masses that count. others: bodies that count as far as they are carried, up to `most` times `own`."""
    carried = np.zeros_like(own)
    carried[list(others)] = np.minimum(world.model.body_mass[list(others)], most * own.sum())
    return CentreOfMass(own, carried, tuple(AXES[a] for a in axes))


def spin_of(world: World, bodies: Sequence[int]) -> Spin:
    """The rotation of bodies as a whole, by their mean moment of inertia in the present pose."""
    model, data = world.model, world.data
    chosen = list(bodies)
    mass = model.body_mass[chosen]
    arms = data.xipos[chosen] - mass @ data.xipos[chosen] / mass.sum()
    # a third of the trace, which no rotation changes
    trace = float(model.body_inertia[chosen].sum() + 2 * mass @ (arms**2).sum(axis=1))
    return Spin(tuple(chosen), trace / 3)


def unit(axis: ArrayLike) -> Array:
    """An axis (3,) of length one."""
    v = np.asarray(axis, float)
    return v / max(float(np.linalg.norm(v)), 1e-12)


def whose(world: World, character: Character | None) -> Character:
    """The given character, or the only one."""
    if character is not None:
        return character
    if len(world.characters) != 1:
        names = [c.prefix[:-1] or c.model for c in world.characters]
        raise InputError(f"there are several characters: choose one with character=...{did_you_mean('', names)}")
    return world.characters[0]


def _prefix(world: World, character: Character | None) -> str:
    """Prefix of the given or only character; with several and none given, names are taken as they are."""
    if character is None and len(world.characters) != 1:
        return ""
    return whose(world, character).prefix


def _bodies(world: World, names: Sequence[str], character: Character | None) -> list[int]:
    if names:
        return [int(b) for b in find_points(world, names, _prefix(world, character))[0]]
    return [world.body(b) for b in whose(world, character).bodies]


def _texts(names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"names are given one by one, as in ('hand_l', 'hand_r'): {name!r} is not a string")


def _some(names: Sequence[str]) -> None:
    if not names:
        raise InputError("name one or more sites or bodies")
