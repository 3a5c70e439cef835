"""The outside forces of the studio: a push, the spring that pulls a prop, and the assist at the root."""

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.loop import Run
from manikin.physics.world import Push, World
from manikin.spatial import quat_conjugate, quat_multiply
from manikin.studio.cast import Cast
from manikin.studio.drag import Grip, by_name, com_of
from manikin.tasks.measures import CentreOfMass

Array = NDArray[np.float64]

# a push: newtons per metre of drag and the largest force, for 75 kg; both scale with the mass of what is pushed
PUSH_SLOPE, PUSH_MOST, PUSH_MASS = 500.0, 800.0, 75.0
# the spring on a prop: frequency [Hz]; largest force as a multiple of its weight, but at least this many newtons
SPRING, SPRING_WEIGHTS, SPRING_LEAST = 3.0, 6.0, 60.0
# the assist: how firmly it holds the centre of mass [Hz]
ASSIST = 1.0


def place_of(world: World, cast: Cast, grip: Grip) -> Array:
    """The present place (3,) of the grabbed point."""
    if grip.mode == "com":
        return com_of(world, cast.characters[grip.target])
    return np.asarray(world.data.xpos[grip.body] + world.data.xmat[grip.body].reshape(3, 3) @ grip.point)


def force_limit(world: World, cast: Cast, grip: Grip, run: Run) -> float | None:
    """The most that this drag can pull with [N]; None for no limit."""
    if grip.mode == "push":
        return PUSH_MOST * _push_scale(world, cast, grip)
    if grip.mode == "spring":
        return _spring_most(world, cast, grip)
    return by_name(run, grip.task).max_force if grip.task else None


def _push_scale(world: World, cast: Cast, grip: Grip) -> float:
    """The fraction of a full push that a character or prop gets, by its mass (with the flesh of soft ones)."""
    kind, owner = cast.of(grip.body)
    own = cast.characters[owner] if kind == "character" else cast.props[owner]
    flesh = [node for node, bone in cast.flesh.items() if bone in own]
    return min(float(world.model.body_mass[own + flesh].sum()) / PUSH_MASS, 1.0)


def _prop_mass(world: World, cast: Cast, grip: Grip) -> float:
    _, prop = cast.of(grip.body)
    return float(world.model.body_mass[cast.props[prop]].sum())


def _spring_most(world: World, cast: Cast, grip: Grip) -> float:
    gravity = float(np.linalg.norm(world.model.opt.gravity))
    return max(SPRING_LEAST, SPRING_WEIGHTS * _prop_mass(world, cast, grip) * gravity)


def pull(world: World, cast: Cast, grip: Grip) -> Push | None:
    """The present outside force of a drag, at the body's centre of mass, with the torque of its lever."""
    if grip.mode not in ("push", "spring"):
        return None
    place = place_of(world, cast, grip)
    torque = np.zeros(3)
    if grip.mode == "push":
        scale = _push_scale(world, cast, grip)
        force = shorten(PUSH_SLOPE * scale * (grip.goal - place), PUSH_MOST * scale)
    else:
        _, velocity, _ = world.dynamics().frame(grip.body, place)
        k = _prop_mass(world, cast, grip) * (2 * np.pi * SPRING) ** 2
        # damping suits the grabbed body: a link of a chain is much lighter than the chain
        damping = 2 * np.sqrt(k * float(world.model.body_mass[grip.body]))
        force = shorten(k * (grip.goal - place) - damping * velocity[:3], _spring_most(world, cast, grip))
        if grip.turn is not None:
            torque = _turning(world, grip, velocity[3:])
    lever = place - world.data.xipos[grip.body]
    return Push(_body_name(world, grip.body), force, np.cross(lever, force) + torque)


def _turning(world: World, grip: Grip, spin: Array) -> Array:
    """A torsion spring towards the rotation that the pointer asks for."""
    assert grip.turn is not None
    away = quat_multiply(quat_multiply(grip.turn, grip.start), quat_conjugate(world.data.xquat[grip.body]))
    rotation = np.zeros(3)
    mujoco.mju_quat2Vel(rotation, away, 1.0)
    inertia, rate = float(world.model.body_inertia[grip.body].max()), 2 * np.pi * SPRING
    return np.asarray(inertia * (rate**2 * rotation - 2 * rate * spin))


def helping_force(world: World, cast: Cast, root: str, most: float, grip: Grip | None) -> Array:
    """An outside force (3,) [N] at a character's root, of at most `most`: it holds the centre of mass over the feet, or
    moves it where its handle is dragged."""
    bodies = cast.characters[root]
    masses = np.zeros(world.model.nbody)
    masses[bodies] = world.model.body_mass[bodies]
    now = CentreOfMass(masses, np.zeros_like(masses), (0, 1, 2)).evaluate(world.dynamics())
    dragged = grip is not None and grip.mode == "com" and grip.target == root
    if dragged:
        assert grip is not None
        wanted = grip.goal
    else:
        own = [f for f in cast.feet if int(world.model.site_bodyid[f]) in bodies]
        wanted = now.value.copy()
        if own:
            wanted[:2] = world.data.site_xpos[own].mean(axis=0)[:2]
    rate, mass = 2 * np.pi * ASSIST, float(masses.sum())
    speed = now.rate if dragged else np.array([now.rate[0], now.rate[1], 0.0])
    return shorten(mass * (rate**2 * (wanted - now.value) - 2 * rate * speed), most)


def shorten(force: Array, most: float) -> Array:
    """The same direction, with at most the given length."""
    length = float(np.linalg.norm(force))
    return force if length <= most else force * (most / length)


def _body_name(world: World, body: int) -> str:
    return str(mujoco.mj_id2name(world.model, mujoco.mjtObj.mjOBJ_BODY, body))
