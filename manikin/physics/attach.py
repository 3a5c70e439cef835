"""Grasp and release by equality welds; clamped feet; locked joints.

A held prop stays a body of its own: the weld's rows in the controller's dynamics carry its inertia and weight
(Abe & Popovic 2006, section 5: "the hands are clamped to the box using simulation constraints").
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.errors import InputError
from manikin.physics.contacts import contact_bodies, contact_forces
from manikin.physics.world import World
from manikin.spatial import quat_conjugate, quat_multiply
from manikin.springs import decay

Array = NDArray[np.float64]

# a palm this near [m] touches
GAP = 0.005

# half-life [s] with which a held prop is trusted to a new support; its loss is felt at once
TRUST_HALFLIFE = 0.25


def grip_name(hand: str, prop: str) -> str:
    """Name of the equality that can weld a prop to a hand."""
    return f"grip_{hand}_{prop}"


def join_name(hand: str) -> str:
    """Name of the ball joint that ties a prop to a hand from the start."""
    return f"join_{hand}"


def join(world: World, hand: str) -> None:
    """Tie the palm to the point of the other body that is there now; the weight rests on the character."""
    model, data = world.model, world.data
    e, site = world.equality(join_name(hand)), world.site(hand)
    other = int(model.eq_obj2id[e])
    model.eq_data[e, :3] = model.site_pos[site]
    model.eq_data[e, 3:6] = data.xmat[other].reshape(3, 3).T @ (data.site_xpos[site] - data.xpos[other])
    data.eq_active[e] = 1
    world.switched.append(e)
    world.load[model.body_rootid == model.body_rootid[other]] = 1.0


def leave_out(world: World, prop: str) -> None:
    """Hide from the controller that a prop is tied to anyone: it neither carries nor balances it."""
    dynamics, model = world.dynamics(), world.model
    mine = model.body_rootid == world.body(prop)
    known = np.ones(model.neq, np.uint8) if dynamics.known is None else dynamics.known.copy()
    for e in range(model.neq):
        # the other kind of equality, a locked joint, names no bodies
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


def grasp(world: World, hand: str, prop: str, snug: bool = False) -> None:
    """Weld a prop to a hand in their present relative pose; `snug` closes the gap between palm and prop."""
    e = _grip(world, hand, prop)
    body = world.body(prop)
    if body not in world.held:
        _first_feel(world, body)
    _weld_here(world, e, world.data.site_xpos[world.site(hand)].copy())
    if snug:
        gap, outward = palm_gap(world, hand, prop)
        world.model.eq_data[e, 3:6] -= world.data.xmat[world.body(hand)].reshape(3, 3).T @ (gap * outward)
    world.data.eq_active[e] = 1
    world.switched.append(e)
    world.find_held()


def palm_gap(world: World, hand: str, prop: str) -> tuple[float, Array]:
    """Distance [m] between palm and prop (negative when they overlap), and the palm's outward normal.

    The normal is zero when another side of the hand is nearer to the prop's middle.
    """
    model, data = world.model, world.data
    palm, body = model.geom(f"{hand}_palm").id, world.body(prop)
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    gap = min(float(mujoco.mj_geomDistance(model, data, palm, g, 0.5, None)) for g in range(first, first + count))
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


def held_by(world: World, hand: str) -> list[str]:
    """Props that a hand holds now."""
    return [prop for h, prop, e in world.grips if h == hand and world.data.eq_active[e]]


def feel_loads(world: World) -> None:
    """Let characters feel what rests on something else: forces on held props from outside enter the dynamics.

    A box on the floor is lifted by taking over its weight, and set down by giving it back; the share that is carried
    also counts in the holder's balance (World.load).
    """
    held = world.held
    if not held:
        return
    dynamics, model, data = world.dynamics(), world.model, world.data
    if not data.ncon and not dynamics.external.any():
        # in the air, and nothing of an earlier support is still felt
        for body in held:
            dynamics.load[body] = 1.0
        return
    trust = decay(TRUST_HALFLIFE, world.timestep)
    felt = _outside_forces(world, held) if data.ncon else {}
    gravity = float(np.linalg.norm(model.opt.gravity))
    for body in held:
        dofs = _free_dofs(world, body)
        now = felt[body] if felt else np.zeros(6)
        keep = trust if now[2] > dynamics.external[dofs.start + 2] else 0.0
        dynamics.external[dofs] = keep * dynamics.external[dofs] + (1 - keep) * now
        borne = dynamics.external[dofs.start + 2] / max(float(model.body_mass[body]) * gravity, 1e-9)
        dynamics.load[body] = min(max(1.0 - borne, 0.0), 1.0)


def _first_feel(world: World, body: int) -> None:
    """When a prop is grasped: what touches something rests on it, what touches nothing is carried at once."""
    dynamics, data = world.dynamics(), world.data
    touching = bool(data.ncon) and bool((contact_bodies(world.model, data) == body).any())
    dofs = _free_dofs(world, body)
    dynamics.external[dofs] = data.qfrc_bias[dofs] if touching else 0.0
    dynamics.load[body] = 0.0 if touching else 1.0


def _free_dofs(world: World, body: int) -> slice:
    start = int(world.model.body_dofadr[body])
    return slice(start, start + 6)


def _outside_forces(world: World, held: set[int]) -> dict[int, Array]:
    """Generalised forces (6,) on held free bodies from contacts with anything but the trees that hold them."""
    model, data = world.model, world.data
    touching, force, places = contact_bodies(model, data), contact_forces(model, data), data.contact.pos
    return {b: _felt(b, touching, world.outside, force, places, data.xpos[b], data.xmat[b]) for b in held}


@kernel
def _felt(
    body: int, touching: NDArray[np.int32], outside: NDArray[np.bool_], force: Array, points: Array, place: Array, turn: Array
) -> Array:  # fmt: skip
    """Force in world axes and moment in body axes (6,) from what is `outside` (nbody,).

    force (ncon, 3): on the second body of each contact.
    """
    out = np.zeros(6)
    moment = np.zeros(3)
    for c in range(touching.shape[0]):
        for side in range(2):
            if touching[c, side] != body or not outside[touching[c, 1 - side]]:
                continue
            sign = 1.0 if side == 1 else -1.0
            x, y, z = sign * force[c, 0], sign * force[c, 1], sign * force[c, 2]
            ax, ay, az = points[c, 0] - place[0], points[c, 1] - place[1], points[c, 2] - place[2]
            out[0] += x
            out[1] += y
            out[2] += z
            moment[0] += ay * z - az * y
            moment[1] += az * x - ax * z
            moment[2] += ax * y - ay * x
    for k in range(3):
        out[3 + k] = turn[k] * moment[0] + turn[3 + k] * moment[1] + turn[6 + k] * moment[2]
    return out


def _grip(world: World, hand: str, prop: str) -> int:
    for h, p, e in world.grips:
        if (h, p) == (hand, prop):
            return e
    pairs = ", ".join(f"{h} and {p}" for h, p, _ in world.grips) or "none"
    raise InputError(f"hand '{hand}' cannot hold '{prop}' (possible: {pairs})")


def _weld_here(world: World, e: int, anchor: Array) -> None:
    """Equality data of a weld between two bodies as they stand, joined at a world point."""
    model, data = world.model, world.data
    one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    for body, slot in ((two, slice(0, 3)), (one, slice(3, 6))):
        model.eq_data[e, slot] = data.xmat[body].reshape(3, 3).T @ (anchor - data.xpos[body])
    model.eq_data[e, 6:10] = quat_multiply(quat_conjugate(data.xquat[one]), data.xquat[two])
    model.eq_data[e, 10] = 1.0
