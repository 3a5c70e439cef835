"""Contact and constraint forces, in newtons and world axes."""

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.physics.state import Contact

Array = NDArray[np.float64]
Ints = NDArray[np.int32]


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
    geoms = data.contact.geom
    bodies: Ints = np.where(geoms >= 0, model.geom_bodyid[geoms], 0).astype(np.int32)
    for k, side in np.argwhere(geoms < 0).tolist():
        contact = data.contact[k]
        flex, node, element = int(contact.flex[side]), int(contact.vert[side]), int(contact.elem[side])
        first = int(model.flex_vertadr[flex])
        if node < 0:
            corners = int(model.flex_dim[flex]) + 1
            start = int(model.flex_elemdataadr[flex]) + element * corners
            nodes = model.flex_elem[start : start + corners]
            node = int(nodes[np.linalg.norm(data.flexvert_xpos[first + nodes] - contact.pos, axis=1).argmin()])
        bodies[k, side] = model.flex_vertbodyid[first + node]
    return bodies


def contact_forces(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Force (ncon, 3) [N] of each present contact on its second body, world axes."""
    wrench = np.zeros((data.ncon, 6))
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, wrench[k])
    return np.einsum("ki,kij->kj", wrench[:, :3], data.contact.frame.reshape(-1, 3, 3))


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
    out = np.zeros((model.nbody, 3))
    if data.ncon:
        pairs, force = contact_bodies(model, data), contact_forces(model, data)
        np.subtract.at(out, pairs[:, 0], force)
        np.add.at(out, pairs[:, 1], force)
    if data.ne:
        force, bodies = data.efc_force, (model.eq_obj1id, model.eq_obj2id)
        for e, row in _weld_rows(model, data):
            one, two = bodies[0][e], bodies[1][e]
            if one == 0 or two == 0:
                pull = force[row : row + 3]
                out[max(one, two)] += pull if two == 0 else -pull
    return out


def _weld_rows(model: mujoco.MjModel, data: mujoco.MjData) -> list[tuple[int, int]]:
    """(equality, the first of its six constraint rows) of each active weld. Three rows are a plain force at the anchor."""
    welds = np.flatnonzero((model.eq_type == int(mujoco.mjtEq.mjEQ_WELD)) & (data.eq_active != 0))
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
