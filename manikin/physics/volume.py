"""Flesh keeps its volume: what stops a tetrahedron that is about to be squeezed flat.

The elasticity of MuJoCo's flexes grows weaker, not stronger, as a tetrahedron is squeezed flat, and a bone that is thrown
against the ground may turn the flesh between them inside out. Real flesh hardly changes its volume. So a tetrahedron that would
lose nearly all of it within a few steps is braked by equal and opposite forces at its own corners: inelastic, without momentum
or angular momentum of their own. They are found by trial, since what a corner yields depends on contacts, joints and motors.
"""

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import nnls
from scipy.sparse import csr_matrix

from manikin.compiled import kernel
from manikin.physics.inversion import Tetrahedra, ratio_of

Array = NDArray[np.float64]

# a tetrahedron is squeezed from this fraction of its volume at rest on
SQUEEZED = 0.6
# it loses the rest, down to FLATTEST, in no fewer than BRAKING steps
FLATTEST, BRAKING = 0.06, 3.0
# those that at their present speed would get there within this many steps are watched
WATCHED = 10.0
# the most trials of one step; and the fraction of FLATTEST by which a volume may be wrong after BRAKING steps
_TRIALS, _GOOD = 10, 0.05


class Watched(NamedTuple):
    """Tetrahedra that may be squeezed flat soon: their corners (k, 4), the slope (k, 4, 3) [1/m] of the ratio of their volume
    to that at rest with respect to each corner, and the lowest rate (k,) [1/s] at which it may change."""

    corners: NDArray[np.int32]
    slopes: Array
    lowest: Array


@kernel
def _soon(
    places: Array, motion: Array, centres: Array, bodies: NDArray[np.int32], roots: NDArray[np.int32],
    elements: NDArray[np.int32], rest: Array, dt: float,
) -> NDArray[np.int64]:  # fmt: skip
    """Which squeezed tetrahedra would soon be flat at their present speed. motion (nbody, 6): angular and linear velocities of
    the bodies, about the centres (nbody, 3) of their roots."""
    which = np.empty(elements.shape[0], np.int64)
    count = 0
    speed, side = np.empty((4, 3)), np.empty((3, 3))
    for e in range(elements.shape[0]):
        ratio = ratio_of(places, elements[e], rest[e])
        if ratio >= SQUEEZED:
            continue
        for k in range(4):
            i = elements[e, k]
            body = bodies[i]
            w, v, c = motion[body, :3], motion[body, 3:], centres[roots[body]]
            x, y, z = places[i, 0] - c[0], places[i, 1] - c[1], places[i, 2] - c[2]
            speed[k, 0] = v[0] + w[1] * z - w[2] * y
            speed[k, 1] = v[1] + w[2] * x - w[0] * z
            speed[k, 2] = v[2] + w[0] * y - w[1] * x
        # the rate of the volume: each corner's speed away from the first one, along the normal of the opposite side
        for k in range(3):
            for j in range(3):
                side[k, j] = places[elements[e, k + 1], j] - places[elements[e, 0], j]
        rate = 0.0
        for k in range(3):
            u, v = side[(k + 1) % 3], side[(k + 2) % 3]
            rate += (speed[k + 1, 0] - speed[0, 0]) * (u[1] * v[2] - u[2] * v[1])
            rate += (speed[k + 1, 1] - speed[0, 1]) * (u[2] * v[0] - u[0] * v[2])
            rate += (speed[k + 1, 2] - speed[0, 2]) * (u[0] * v[1] - u[1] * v[0])
        if ratio <= FLATTEST or rate / rest[e] * WATCHED * dt < FLATTEST - ratio:
            which[count] = e
            count += 1
    return which[:count]


def find_watched(tetrahedra: Tetrahedra, model: mujoco.MjModel, data: mujoco.MjData) -> Watched | None:
    """Tetrahedra that may be squeezed flat soon; None if there are none. Kinematics and velocities must be up to date."""
    places, dt = data.flexvert_xpos, model.opt.timestep
    which = _soon(
        places, data.cvel, data.subtree_com, model.flex_vertbodyid, model.body_rootid, tetrahedra.elements, tetrahedra.rest, dt
    )  # fmt: skip
    if not len(which):
        return None
    corners, rest = tetrahedra.elements[which], tetrahedra.rest[which, None]
    u, v, w = (places[corners[:, k]] - places[corners[:, 0]] for k in (1, 2, 3))
    sides = np.stack([np.cross(v, w), np.cross(w, u), np.cross(u, v)], axis=1) / rest[:, None]
    slopes = np.concatenate([-sides.sum(axis=1, keepdims=True), sides], axis=1)
    left = np.maximum(np.einsum("ej,ej->e", sides[:, 2], w) - FLATTEST, 0.0)
    return Watched(corners, slopes, -left / (BRAKING * dt))


def brake(watched: Watched, model: mujoco.MjModel, data: mujoco.MjData) -> list[tuple[int, Array]]:
    """Bodies, and the force and torque (6,) [N, N m] on each, world axes, at its centre of mass, for the coming step.

    Everything else that acts in the step must be set: inputs of actuators and external forces. The state is left as it was.
    """
    external, warm = data.xfrc_applied.copy(), data.qacc_warmstart.copy()
    try:
        best = _multipliers(watched, model, data, external, warm)
        _apply(watched, best, model, data, external)
        wrench = data.xfrc_applied - external
    finally:
        data.xfrc_applied[:], data.qacc_warmstart[:] = external, warm
    return [(int(body), wrench[body].copy()) for body in np.flatnonzero(wrench.any(axis=1))]


def _multipliers(watched: Watched, model: mujoco.MjModel, data: mujoco.MjData, external: Array, warm: Array) -> Array:
    """The sizes (k,) [J] of the forces, by trial: each trial is a solve with contacts as they would be."""
    enough = _GOOD * FLATTEST / (BRAKING * model.opt.timestep)
    rows = _rows(watched, model, data)
    best = np.zeros(len(rows))
    rate = _rates(rows, model, data)
    part, A = 1.0, None
    for _ in range(_TRIALS):
        least = (watched.lowest - rate).max()
        if least <= enough:
            break
        if A is None:
            A = model.opt.timestep * _response(rows, model, data)
            wanted = _complementary(A, watched.lowest - rate + A @ best)
        trial = best + part * (wanted - best)
        _apply(watched, trial, model, data, external)
        data.qacc_warmstart[:] = warm
        now = _rates(rows, model, data)
        if (watched.lowest - now).max() < least:
            best, rate, part, A = trial, now, 1.0, None
        else:
            # contacts opened or closed on the way
            part *= 0.4
    return best


def _rows(watched: Watched, model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Rows (k, nv): how fast the volumes change with the velocities of all DOFs."""
    out = np.zeros((len(watched.corners), model.nv))
    jac = np.zeros((3, model.nv))
    for vertex in np.unique(watched.corners):
        mujoco.mj_jac(model, data, jac, None, data.flexvert_xpos[vertex], model.flex_vertbodyid[vertex])
        for e, k in np.argwhere(watched.corners == vertex):
            out[e] += watched.slopes[e, k] @ jac
    return out


def _response(rows: Array, model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """How the rates of change of the rows answer to forces along them: contacts and other constraints that act now yield no
    more than they do in the solver."""
    H = np.empty((model.nv, model.nv))
    mujoco.mj_fullM(model, data, H)
    acting = np.flatnonzero(data.efc_state[: data.nefc] != mujoco.mjtConstraintState.mjCNSTRSTATE_SATISFIED)
    if len(acting):
        if mujoco.mj_isSparse(model):
            count = int(data.efc_J_rownnz[: data.nefc].sum())
            J = csr_matrix(
                (
                    data.efc_J.ravel()[:count],
                    data.efc_J_colind.ravel()[:count],
                    np.append(data.efc_J_rowadr[: data.nefc], count),
                ),
                (data.nefc, model.nv),
            ).toarray()
        else:
            J = data.efc_J.reshape(data.nefc, model.nv)
        J = J[acting]
        H += J.T @ (data.efc_D[acting, None] * J)
    return rows @ cho_solve(cho_factor(H, lower=True, check_finite=False), rows.T, check_finite=False)


def _complementary(A: Array, b: Array) -> Array:
    """The x >= 0 with A x >= b where each is zero unless the other is at its limit."""
    L = np.linalg.cholesky(A + 1e-8 * np.trace(A) / len(A) * np.eye(len(A)))
    return nnls(L.T, solve_triangular(L, b, lower=True))[0]


def _rates(rows: Array, model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """How fast the volumes would change at the end of the coming step [1/s]."""
    mujoco.mj_fwdActuation(model, data)
    mujoco.mj_fwdAcceleration(model, data)
    mujoco.mj_fwdConstraint(model, data)
    return rows @ (data.qvel + model.opt.timestep * data.qacc)


def _apply(watched: Watched, multiplier: Array, model: mujoco.MjModel, data: mujoco.MjData, external: Array) -> None:
    """External forces and those of the multipliers."""
    bodies = model.flex_vertbodyid[watched.corners]
    force = multiplier[:, None, None] * watched.slopes
    lever = data.flexvert_xpos[watched.corners] - data.xipos[bodies]
    wrench = np.concatenate([force, np.cross(lever, force)], axis=2)
    data.xfrc_applied[:] = external
    np.add.at(data.xfrc_applied, bodies.ravel(), wrench.reshape(-1, 6))
