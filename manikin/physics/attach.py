"""Grasp and release by equality welds; clamped feet; locked joints.

A held prop stays a body of its own: the weld's rows in the controller's dynamics carry its inertia and weight
(Abe & Popovic 2006, section 5: "the hands are clamped to the box using simulation constraints").
"""

import mujoco
import numpy as np

from manikin.errors import InputError
from manikin.physics.world import World
from manikin.spatial import quat_conjugate, quat_multiply
from manikin.springs import decay

# half-life [s] with which a lifted prop starts to count in the balance of the character that holds it
LOAD_HALFLIFE = 0.10


def grip_name(hand: str, prop: str) -> str:
    """Name of the equality that can weld a prop to a hand."""
    return f"grip_{hand}_{prop}"


def hold_still(world: World, equality: str) -> None:
    """Fix a clamped foot or a locked joint where it is now."""
    model, data = world.model, world.data
    e = world.equality(equality)
    if model.eq_type[e] == mujoco.mjtEq.mjEQ_JOINT:
        joint = model.eq_obj1id[e]
        # the polynomial is measured from the joint's reference value
        address = model.jnt_qposadr[joint]
        model.eq_data[e, :5] = [data.qpos[address] - model.qpos0[address], 0, 0, 0, 0]
    else:
        body = int(model.eq_obj1id[e])
        _weld_here(world, e, data.xpos[body].copy())
    data.eq_active[e] = 1
    world.switched.append(e)


def grasp(world: World, hand: str, prop: str) -> None:
    """Weld a prop to a hand in their present relative pose."""
    e = _grip(world, hand, prop)
    _weld_here(world, e, world.data.site_xpos[world.site(hand)].copy())
    world.data.eq_active[e] = 1
    world.switched.append(e)


def release(world: World, hand: str) -> None:
    """Let go of whatever a hand holds."""
    for prop in held_by(world, hand):
        e = _grip(world, hand, prop)
        world.data.eq_active[e] = 0
        world.switched.append(e)


def held_by(world: World, hand: str) -> list[str]:
    """Props that a hand holds now."""
    return [prop for h, prop, e in world.grips if h == hand and world.data.eq_active[e]]


def held_bodies(world: World) -> set[int]:
    """All bodies that any hand holds now."""
    return {int(world.model.eq_obj2id[e]) for _, _, e in world.grips if world.data.eq_active[e]}


def update_loads(world: World) -> None:
    """Advance the share of each held prop that its holder carries: it fades in once the prop has left its support."""
    held = held_bodies(world)
    carried = np.zeros(world.model.nbody)
    if held:
        pairs = world.model.geom_bodyid[world.data.contact.geom] if world.data.ncon else np.zeros((0, 2), int)
        supported = {int(b) for pair in pairs for b in pair}
        for body in held - supported:
            carried[body] = 1.0
    elif not world.load.any():
        return
    world.load[:] += (1 - decay(LOAD_HALFLIFE, world.timestep)) * (carried - world.load)
    world.load[world.load < 1e-6] = 0.0


def _grip(world: World, hand: str, prop: str) -> int:
    for h, p, e in world.grips:
        if (h, p) == (hand, prop):
            return e
    pairs = ", ".join(f"{h} and {p}" for h, p, _ in world.grips) or "none"
    raise InputError(f"hand '{hand}' cannot hold '{prop}' (possible: {pairs})")


def _weld_here(world: World, e: int, anchor: np.ndarray) -> None:  # type: ignore[type-arg]
    """Equality data of a weld between two bodies as they stand, joined at a world point."""
    model, data = world.model, world.data
    one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    for body, slot in ((two, slice(0, 3)), (one, slice(3, 6))):
        model.eq_data[e, slot] = data.xmat[body].reshape(3, 3).T @ (anchor - data.xpos[body])
    model.eq_data[e, 6:10] = quat_multiply(quat_conjugate(data.xquat[one]), data.xquat[two])
    model.eq_data[e, 10] = 1.0
