"""Grasp and release by equality welds; clamped feet; locked joints; what supports or obstructs a held prop.

A held prop stays a body of its own: the weld's rows in the controller's dynamics carry its inertia and weight
(Abe & Popovic 2006, section 5: "the hands are clamped to the box using simulation constraints").
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.errors import InputError, OutOfReach
from manikin.physics.contacts import contact_bodies, contact_forces
from manikin.physics.world import Obstruction, World
from manikin.spatial import quat_conjugate, quat_multiply
from manikin.springs import decay

Array = NDArray[np.float64]

# a palm at most this far [m] from a prop touches it
GAP = 0.005
# a hand can grasp a prop whose surface is at most this far [m] from its palm
GRASP_GAP = 0.03
# no distance is measured beyond this [m]
FAR = 100.0

# half-life [s] of the estimate of a growing support; a loss of support counts at once
TRUST_HALFLIFE = 0.25
# a contact whose normal points at least this far up supports a prop; any other obstructs it
UPWARD = 0.5
# half-life [s] of the estimate of what obstructs a prop, and the force [N] above which it counts
OBSTRUCTED_HALFLIFE = 0.03
OBSTRUCTED_FORCE = 10.0


def grip_name(hand: str, prop: str) -> str:
    """Name of the equality that can weld a prop to a hand."""
    return f"grip_{hand}_{prop}"


def join_name(hand: str) -> str:
    """Name of the ball joint that ties a prop to a hand from the start."""
    return f"join_{hand}"


def join(world: World, hand: str) -> None:
    """Tie the palm to the point of the other body that is now there; the character carries its weight."""
    model, data = world.model, world.data
    e, site = world.equality(join_name(hand)), world.site(hand)
    other = int(model.eq_obj2id[e])
    model.eq_data[e, :3] = model.site_pos[site]
    model.eq_data[e, 3:6] = data.xmat[other].reshape(3, 3).T @ (data.site_xpos[site] - data.xpos[other])
    data.eq_active[e] = 1
    world.switched.append(e)
    world.load[model.body_rootid == model.body_rootid[other]] = 1.0


def leave_out(world: World, prop: str) -> None:
    """Hide from the controller that a prop is tied to a hand: it neither carries nor balances it."""
    dynamics, model = world.dynamics(), world.model
    mine = model.body_rootid == world.body(prop)
    known = np.ones(model.neq, np.uint8) if dynamics.known is None else dynamics.known.copy()
    for e in range(model.neq):
        # a locked joint names no bodies
        ties = model.eq_type[e] != int(mujoco.mjtEq.mjEQ_JOINT)
        if ties and (mine[model.eq_obj1id[e]] or mine[model.eq_obj2id[e]]):
            known[e] = 0
    dynamics.known = known
    world.load[mine] = 0.0


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


def check_reach(world: World, hand: str, prop: str, reach: float = GRASP_GAP) -> None:
    """Raise OutOfReach when a palm is further than `reach` [m] from a prop."""
    _grip(world, hand, prop)
    gap, _ = palm_gap(world, hand, prop, FAR)
    if gap > reach:
        raise OutOfReach(hand, prop, gap, reach)


def grasp(world: World, hand: str, prop: str, snug: bool = False, reach: float = GRASP_GAP) -> None:
    """Weld a prop to a hand in their present relative pose; `snug` closes the gap between palm and prop.

    Raises OutOfReach, and welds nothing, when the palm is further than `reach` [m] from the prop.
    """
    check_reach(world, hand, prop, reach)
    e = _grip(world, hand, prop)
    body = world.body(prop)
    if body not in world.held:
        _initial_support(world, body)
    _weld_here(world, e, world.data.site_xpos[world.site(hand)].copy())
    if snug:
        gap, outward = palm_gap(world, hand, prop)
        world.model.eq_data[e, 3:6] -= world.data.xmat[world.body(hand)].reshape(3, 3).T @ (gap * outward)
    world.data.eq_active[e] = 1
    world.switched.append(e)
    world.find_held()


def palm_gap(world: World, hand: str, prop: str, most: float = 0.5) -> tuple[float, Array]:
    """Distance [m] from the palm to the prop's surface (negative: they overlap; at most `most`), and the palm's outward
    normal.

    The normal is zero when another side of the hand faces the prop's middle.
    """
    model, data = world.model, world.data
    palm, body = model.geom(f"{hand}_palm").id, world.body(prop)
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    gap = min(float(mujoco.mj_geomDistance(model, data, palm, g, most, None)) for g in range(first, first + count))
    outward, reach = palm_axis(world, hand), model.geom_size[palm]
    off = data.xpos[body] - data.geom_xpos[palm]
    inside = data.geom_xmat[palm].reshape(3, 3).T @ off
    beyond = np.array([abs(inside[0]), outward @ off, abs(inside[2])]) - reach
    return gap, outward if beyond[1] >= max(beyond[0], beyond[2], 0.0) else np.zeros(3)


def palm_axis(world: World, hand: str) -> Array:
    """Unit vector out of the palm, in world axes: towards the side where the hand's site lies."""
    model = world.model
    palm = model.geom(f"{hand}_palm").id
    side = 1.0 if model.site_pos[world.site(hand), 1] > model.geom_pos[palm, 1] else -1.0
    return side * np.asarray(world.data.geom_xmat[palm].reshape(3, 3)[:, 1])


def touches(world: World, hand: str, prop: str) -> bool:
    """Whether the palm side of a hand touches a prop."""
    gap, outward = palm_gap(world, hand, prop)
    return gap <= GAP and bool(outward.any())


def touches_ground(world: World, prop: str) -> bool:
    """Whether a prop touches something that does not move."""
    model, data = world.model, world.data
    if not data.ncon:
        return False
    pairs = contact_bodies(model, data)
    still = model.body_weldid[pairs] == 0
    return bool(((pairs == world.body(prop)) & still[:, ::-1]).any())


def release(world: World, hand: str) -> None:
    """Let go of whatever a hand holds."""
    for prop in held_by(world, hand):
        e = _grip(world, hand, prop)
        world.data.eq_active[e] = 0
        world.switched.append(e)
        world.find_held()
        body = world.body(prop)
        if body not in world.held:
            world.dynamics().load[body] = 0.0
            world.dynamics().external[_free_dofs(world, body)] = 0.0
            world.obstructions.pop(body, None)


def held_by(world: World, hand: str) -> list[str]:
    """Props that a hand holds now."""
    return [prop for h, prop, e in world.grips if h == hand and world.data.eq_active[e]]


def feel_loads(world: World) -> None:
    """Let control know what supports held props: upward contact forces, at most their weight, enter the dynamics.

    A box on the floor is lifted by taking over its weight, and set down by giving it back; the part of the weight that is
    carried also counts in the holder's balance (World.load). Other contact forces stay out of the dynamics: a controller
    that compensates a push in full presses harder against whatever does not yield, which pushes back harder still. They are
    noted as obstructions (World.obstructions).
    """
    held = world.held
    if not held:
        return
    dynamics, model, data = world.dynamics(), world.model, world.data
    if not data.ncon and not dynamics.external.any() and not world.obstructions:
        # in the air, with no earlier support to fade out
        for body in held:
            dynamics.load[body] = 1.0
        return
    trust, fade = (decay(halflife, world.timestep) for halflife in (TRUST_HALFLIFE, OBSTRUCTED_HALFLIFE))
    felt = _outside_forces(world, held) if data.ncon else {}
    gravity = float(np.linalg.norm(model.opt.gravity))
    for body in held:
        up = int(model.body_dofadr[body]) + 2
        weight = float(model.body_mass[body]) * gravity
        support, push, by = felt.get(body, (0.0, np.zeros(3), -1))
        support = min(max(support, 0.0), weight)
        keep = trust if support > dynamics.external[up] else 0.0
        dynamics.external[up] = keep * dynamics.external[up] + (1 - keep) * support
        dynamics.load[body] = min(max(1.0 - dynamics.external[up] / max(weight, 1e-9), 0.0), 1.0)
        _note_obstruction(world, body, push, by, fade)


def _note_obstruction(world: World, body: int, push: Array, by: int, fade: float) -> None:
    """Keep a smoothed estimate of what pushes a held prop from any side but below."""
    before = world.obstructions.get(body)
    if before is None and by < 0:
        return
    force = (1 - fade) * push if before is None else fade * before.force + (1 - fade) * push
    if by < 0 and float(np.linalg.norm(force)) < 0.01 * OBSTRUCTED_FORCE:
        del world.obstructions[body]
        return
    hands = [int(world.model.eq_obj1id[e]) for _, _, e in world.grips if _holds(world, e, body)]
    name = by if by >= 0 or before is None else before.by
    world.obstructions[body] = Obstruction(name, force, (body, *hands), float(np.linalg.norm(force)) > OBSTRUCTED_FORCE)


def _holds(world: World, e: int, body: int) -> bool:
    return bool(world.data.eq_active[e]) and int(world.model.eq_obj2id[e]) == body


def blocked(world: World) -> list[str]:
    """What obstructs held props now, in words: "crate is blocked by shelf"."""
    model = world.model
    return [
        f"{model.body(body).name} is blocked by {_what(model, found.by)}"
        for body, found in world.obstructions.items()
        if found.blocks
    ]


def _what(model: mujoco.MjModel, body: int) -> str:
    return model.body(body).name if body > 0 else "the surroundings"


def _initial_support(world: World, body: int) -> None:
    """What is assumed at a grasp: a prop that touches something rests on it, one that touches nothing is carried at once."""
    dynamics, data = world.dynamics(), world.data
    touching = bool(data.ncon) and bool((contact_bodies(world.model, data) == body).any())
    dofs = _free_dofs(world, body)
    dynamics.external[dofs] = 0.0
    if touching:
        dynamics.external[dofs.start + 2] = max(float(data.qfrc_bias[dofs.start + 2]), 0.0)
    dynamics.load[body] = 0.0 if touching else 1.0


def _free_dofs(world: World, body: int) -> slice:
    start = int(world.model.body_dofadr[body])
    return slice(start, start + 6)


def _outside_forces(world: World, held: set[int]) -> dict[int, tuple[float, Array, int]]:
    """For each held body: the upward force [N] of contacts with anything but the trees that hold it; the normal force (3,)
    [N] of those contacts that do not support it, and the body with the largest of them (-1: none)."""
    model, data = world.model, world.data
    touching, force = contact_bodies(model, data), contact_forces(model, data)
    normal = data.contact.frame[:, :3]
    push = np.empty(3)
    out = {}
    for body in held:
        up, by = _felt(body, touching, world.outside, force, normal, UPWARD, push)
        out[body] = (up, push.copy(), by)
    return out


@kernel
def _felt(
    body: int, touching: NDArray[np.int32], outside: NDArray[np.bool_], force: Array, normal: Array, upward: float, push: Array
) -> tuple[float, int]:  # fmt: skip
    """The upward force on a body from what is `outside` (nbody,), and the body that obstructs it most (-1: none); `push` (3,)
    becomes the normal force of all that obstructs it.

    force (ncon, 3): on the second body of each contact; normal (ncon, 3): from the first to the second.
    """
    push[:] = 0.0
    up, hardest, by = 0.0, 0.0, -1
    for c in range(touching.shape[0]):
        for side in range(2):
            other = touching[c, 1 - side]
            if touching[c, side] != body or not outside[other]:
                continue
            sign = 1.0 if side == 1 else -1.0
            up += sign * force[c, 2]
            if sign * normal[c, 2] >= upward:
                continue
            pressed = 0.0
            for k in range(3):
                pressed += force[c, k] * normal[c, k]
            for k in range(3):
                push[k] += sign * pressed * normal[c, k]
            if pressed > hardest:
                hardest, by = pressed, other
    return up, by


def _grip(world: World, hand: str, prop: str) -> int:
    for h, p, e in world.grips:
        if (h, p) == (hand, prop):
            return e
    pairs = ", ".join(f"{h} and {p}" for h, p, _ in world.grips) or "none"
    raise InputError(f"hand '{hand}' cannot hold '{prop}' (possible: {pairs})")


def _weld_here(world: World, e: int, anchor: Array) -> None:
    """Equality data of a weld between two bodies in their present poses, joined at a world point."""
    model, data = world.model, world.data
    one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    for body, slot in ((two, slice(0, 3)), (one, slice(3, 6))):
        model.eq_data[e, slot] = data.xmat[body].reshape(3, 3).T @ (anchor - data.xpos[body])
    model.eq_data[e, 6:10] = quat_multiply(quat_conjugate(data.xquat[one]), data.xquat[two])
    model.eq_data[e, 10] = 1.0
