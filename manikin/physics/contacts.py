"""Contact and constraint forces, in newtons and world axes."""

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.physics.state import Contact

Array = NDArray[np.float64]
Ints = NDArray[np.int32]

WELD = int(mujoco.mjtEq.mjEQ_WELD)


def contact_list(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Contact, ...]:
    """All present contacts with the force on the second body."""
    out = []
    force = contact_forces(model, data)
    pairs = contact_bodies(model, data)
    for k in range(data.ncon):
        one, two = (mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, b) or "world" for b in pairs[k].tolist())
        out.append(Contact((one, two), data.contact[k].pos.copy(), force[k]))
    return tuple(out)


def contact_bodies(model: mujoco.MjModel, data: mujoco.MjData) -> Ints:
    """The two bodies (ncon, 2) of each present contact. Flesh touches with the node that is nearest to the contact."""
    contact = data.contact
    if not model.nflex:
        return model.geom_bodyid[contact.geom]
    return _touching(
        contact.geom, contact.flex, contact.vert, contact.elem, contact.pos, model.geom_bodyid, model.flex_dim,
        model.flex_vertadr, model.flex_vertbodyid, model.flex_elemdataadr, model.flex_elem, data.flexvert_xpos,
    )  # fmt: skip


@kernel
def _touching(
    geom: Ints, flex: Ints, vert: Ints, elem: Ints, pos: Array, geom_body: Ints, dim: Ints, first: Ints, vert_body: Ints,
    elem_start: Ints, elements: Ints, places: Array,
) -> Ints:  # fmt: skip
    out = np.zeros((geom.shape[0], 2), np.int32)
    for c in range(geom.shape[0]):
        for side in range(2):
            if geom[c, side] >= 0:
                out[c, side] = geom_body[geom[c, side]]
                continue
            f, node = flex[c, side], vert[c, side]
            if node < 0:
                corners, nearest = dim[f] + 1, np.inf
                for k in range(corners):
                    v = elements[elem_start[f] + elem[c, side] * corners + k]
                    away = 0.0
                    for i in range(3):
                        away += (places[first[f] + v, i] - pos[c, i]) ** 2
                    if away < nearest:
                        nearest, node = away, v
            out[c, side] = vert_body[first[f] + node]
    return out


def contact_forces(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Force (ncon, 3) [N] of each present contact on its second body, world axes."""
    wrench = np.zeros((data.ncon, 6))
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, wrench[k])
    return _in_world_axes(wrench, data.contact.frame)


@kernel
def _in_world_axes(wrench: Array, frame: Array) -> Array:
    """Forces (k, 3), the first three numbers of each wrench (k, 6), rotated by frames (k, 9) whose rows are axes."""
    out = np.zeros((wrench.shape[0], 3))
    for c in range(wrench.shape[0]):
        for i in range(3):
            for j in range(3):
                out[c, j] += wrench[c, i] * frame[c, 3 * i + j]
    return out


def weld_wrenches(model: mujoco.MjModel, data: mujoco.MjData) -> dict[int, Array]:
    """For each active weld: force [N] and torque [N m] (6,) on its first body, at the anchor, world axes.

    A weld's six rows are (anchor1 - anchor2) and the vector part of a relative quaternion, whose multiplier is a torque
    seen through a half-angle map; both are read off the constraint Jacobian: force = the rows' pull on the body's own
    translation and rotation.
    """
    return {e: _weld_wrench(model, data, e, data.efc_force[row : row + 6]) for e, row in _weld_rows(model, data)}


def _weld_wrench(model: mujoco.MjModel, data: mujoco.MjData, e: int, force: Array) -> Array:
    one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
    # d(vector part of q2^-1 q1 r)/dt = 1/2 (q2^-1 [0, w1 - w2] q1 r): the matrix that maps a world rate to the residual rate
    q1r, q2i = np.zeros(4), np.zeros(4)
    mujoco.mju_mulQuat(q1r, data.xquat[one], model.eq_data[e, 6:10])
    mujoco.mju_negQuat(q2i, data.xquat[two])
    rate = np.zeros((3, 3))
    for k in range(3):
        w = np.zeros(4)
        w[1 + k] = 0.5
        half, full = np.zeros(4), np.zeros(4)
        mujoco.mju_mulQuat(half, w, q1r)
        mujoco.mju_mulQuat(full, q2i, half)
        rate[:, k] = full[1:] * model.eq_data[e, 10]
    return np.concatenate([force[:3], rate.T @ force[3:]])


def body_forces(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Net force (nbody, 3) on each body from contacts plus active welds to the world."""
    if data.ncon:
        pairs, force = contact_bodies(model, data), contact_forces(model, data)
    else:
        pairs, force = np.zeros((0, 2), np.int32), np.zeros((0, 3))
    return _body_forces(
        model.nbody, pairs, force, model.eq_type, model.eq_obj1id, model.eq_obj2id, data.efc_id[: data.ne], data.efc_force
    )  # fmt: skip


@kernel
def _body_forces(
    nbody: int, pairs: Ints, contact: Array, kind: Ints, one: Ints, two: Ints, equality: Ints, force: Array
) -> Array:  # fmt: skip
    """contact (ncon, 3): on the second of each pair; equality (ne,): to which one each of the first constraint rows belongs."""
    out = np.zeros((nbody, 3))
    for c in range(pairs.shape[0]):
        for k in range(3):
            out[pairs[c, 0], k] -= contact[c, k]
            out[pairs[c, 1], k] += contact[c, k]
    for r in range(equality.shape[0]):
        e = equality[r]
        if kind[e] != WELD or (r > 0 and equality[r - 1] == e) or (one[e] != 0 and two[e] != 0):
            continue
        # the first three rows of a weld are a plain force at the anchor
        for k in range(3):
            if two[e] == 0:
                out[one[e], k] += force[r + k]
            else:
                out[two[e], k] -= force[r + k]
    return out


def _weld_rows(model: mujoco.MjModel, data: mujoco.MjData) -> list[tuple[int, int]]:
    """(equality, the first of its six constraint rows) of each active weld. Three rows are a plain force at the anchor."""
    welds = np.flatnonzero((model.eq_type == WELD) & (data.eq_active != 0))
    # equality rows come first, in the order of the equalities; a weld between two bodies that cannot move has none
    ids = data.efc_id[: data.ne]
    rows = np.searchsorted(ids, welds)
    return [(e, r) for e, r in zip(welds.tolist(), rows.tolist()) if r < len(ids) and ids[r] == e]


def centre_of_pressure(model: mujoco.MjModel, data: mujoco.MjData, bodies: list[int]) -> tuple[Array, float]:
    """Point on the ground plane z = 0 (2,) [m] and vertical force [N] of the welds to the world of the given bodies."""
    force, moment = np.zeros(3), np.zeros(3)
    for e, wrench in weld_wrenches(model, data).items():
        one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        if two != 0 or one not in bodies:
            continue
        anchor = data.xpos[one] + data.xmat[one].reshape(3, 3) @ model.eq_data[e, 3:6]
        force += wrench[:3]
        moment += wrench[3:] + np.cross(anchor, wrench[:3])
    if abs(force[2]) < 1e-9:
        return np.zeros(2), 0.0
    return np.array([-moment[1], moment[0]]) / force[2], float(force[2])
