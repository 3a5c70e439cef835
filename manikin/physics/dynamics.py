"""Dynamics: the equations of motion at one moment, ready for control.

M qacc + h = S^T tau + L^T lambda, with h = bias (gravity, Coriolis) minus passive forces (Abe & Popovic 2006, Eq. 7 and 10).
Jacobians and their bias accelerations come from MuJoCo's own motion axes (cdof, cdof_dot), M from its sparse factor.
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.physics.response import Response, Structure, constraint_rows, standing, structure
from manikin.physics.support import TRUSTED_FRICTION, Ground, Support

Array = NDArray[np.float64]
Ints = NDArray[np.int32]


@kernel
def _cross(a: Array, b: Array) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _bias_accelerations(parent: Ints, dof_start: Ints, dof_count: Ints, cdof_dot: Array, qvel: Array, out: Array) -> None:
    """Spatial acceleration (rotation, translation) of each body when qacc = 0, in MuJoCo's com-centred frame."""
    out[0] = 0.0
    for b in range(1, parent.shape[0]):
        for k in range(6):
            out[b, k] = out[parent[b], k]
        for d in range(dof_start[b], dof_start[b] + dof_count[b]):
            for k in range(6):
                out[b, k] += cdof_dot[d, k] * qvel[d]


@kernel
def _frame(
    point: Array, centre: Array, last_dof: int, dof_parent: Ints, cdof: Array, cvel: Array, cacc: Array,
    jac: Array, rate: Array, bias: Array,
) -> None:  # fmt: skip
    """Rows (translation, rotation) of a point fixed to a body: Jacobian (6, nv), velocity (6,), bias acceleration (6,)."""
    jac[:] = 0.0
    arm = np.empty(3)
    for k in range(3):
        arm[k] = point[k] - centre[k]
    d = last_dof
    while d >= 0:
        w = cdof[d]
        x, y, z = _cross(w[:3], arm)
        jac[0, d], jac[1, d], jac[2, d] = w[3] + x, w[4] + y, w[5] + z
        jac[3, d], jac[4, d], jac[5, d] = w[0], w[1], w[2]
        d = dof_parent[d]
    x, y, z = _cross(cvel[:3], arm)
    rate[0], rate[1], rate[2] = cvel[3] + x, cvel[4] + y, cvel[5] + z
    rate[3], rate[4], rate[5] = cvel[0], cvel[1], cvel[2]
    x, y, z = _cross(cacc[:3], arm)
    # spatial to ordinary acceleration: plus omega x v
    u, v, w3 = _cross(cvel[:3], rate[:3])
    bias[0], bias[1], bias[2] = cacc[3] + x + u, cacc[4] + y + v, cacc[5] + z + w3
    bias[3], bias[4], bias[5] = cacc[0], cacc[1], cacc[2]


@kernel
def _on_body(place: Array, turn: Array, offsets: Array) -> Array:
    out = np.empty(3 * offsets.shape[0])
    for i in range(offsets.shape[0]):
        for k in range(3):
            s = place[k]
            for m in range(3):
                s += turn[3 * k + m] * offsets[i, m]
            out[3 * i + k] = s
    return out


@kernel
def _points(
    bodies: NDArray[np.int64], offsets: Array, xpos: Array, xmat: Array, com: Array, root: Ints, last_dof: NDArray[np.int64],
    dof_parent: Ints, cdof: Array, cvel: Array, cacc: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Value, rate (3 n,), Jacobian (3 n, nv) and bias (3 n,) of points fixed to bodies."""
    n = bodies.shape[0]
    value, rate, bias = np.empty(3 * n), np.empty(3 * n), np.empty(3 * n)
    jac = np.empty((3 * n, cdof.shape[0]))
    jac6, rate6, bias6 = np.empty((6, cdof.shape[0])), np.empty(6), np.empty(6)
    for i in range(n):
        b = bodies[i]
        for k in range(3):
            s = xpos[b, k]
            for m in range(3):
                s += xmat[b, 3 * k + m] * offsets[i, m]
            value[3 * i + k] = s
        _frame(value[3 * i : 3 * i + 3], com[root[b]], last_dof[b], dof_parent, cdof, cvel[b], cacc[b], jac6, rate6, bias6)
        jac[3 * i : 3 * i + 3] = jac6[:3]
        rate[3 * i : 3 * i + 3] = rate6[:3]
        bias[3 * i : 3 * i + 3] = bias6[:3]
    return value, rate, jac, bias


@kernel
def _direction(
    body: int, axis: Array, tangents: Array, xpos: Array, xmat: Array, com: Array, root: Ints,
    last_dof: NDArray[np.int64], dof_parent: Ints, cdof: Array, cvel: Array, cacc: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """A body axis and its tangents in world axes (9,); rate (2,), Jacobian (2, nv), bias (2,) of the turn across it."""
    value, rate, bias, jac = np.zeros(9), np.zeros(2), np.zeros(2), np.zeros((2, cdof.shape[0]))
    for k in range(3):
        for m in range(3):
            value[k] += xmat[body, 3 * k + m] * axis[m]
            value[3 + k] += xmat[body, 3 * k + m] * tangents[0, m]
            value[6 + k] += xmat[body, 3 * k + m] * tangents[1, m]
    jac6, rate6, bias6 = np.empty((6, cdof.shape[0])), np.empty(6), np.empty(6)
    _frame(xpos[body], com[root[body]], last_dof[body], dof_parent, cdof, cvel[body], cacc[body], jac6, rate6, bias6)
    for t in range(2):
        for m in range(3):
            w = value[3 + 3 * t + m]
            rate[t] += w * rate6[3 + m]
            bias[t] += w * bias6[3 + m]
            for d in range(cdof.shape[0]):
                jac[t, d] += w * jac6[3 + m, d]
    return value, rate, jac, bias


@kernel
def _orientation(
    bodies: NDArray[np.int64], xpos: Array, xquat: Array, com: Array, root: Ints, last_dof: NDArray[np.int64],
    dof_parent: Ints, cdof: Array, cvel: Array, cacc: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Quaternions (4 n,) of bodies; angular velocity (3 n,), its Jacobian (3 n, nv) and bias (3 n,)."""
    n = bodies.shape[0]
    value, rate, bias = np.empty(4 * n), np.empty(3 * n), np.empty(3 * n)
    jac = np.empty((3 * n, cdof.shape[0]))
    jac6, rate6, bias6 = np.empty((6, cdof.shape[0])), np.empty(6), np.empty(6)
    for i in range(n):
        b = bodies[i]
        value[4 * i : 4 * i + 4] = xquat[b]
        _frame(xpos[b], com[root[b]], last_dof[b], dof_parent, cdof, cvel[b], cacc[b], jac6, rate6, bias6)
        jac[3 * i : 3 * i + 3] = jac6[3:]
        rate[3 * i : 3 * i + 3] = rate6[3:]
        bias[3 * i : 3 * i + 3] = bias6[3:]
    return value, rate, jac, bias


@kernel
def _centre_of_mass(
    own: Array, carried: Array, load: Array, xipos: Array, parent: Ints, dof_body: Ints,
    centre: Array, root: Ints, cdof: Array, cvel: Array, cacc: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Mean of body centres weighted by own + load x carried: value, rate (3,), Jacobian (3, nv), bias (3,)."""
    nbody = own.shape[0]
    value, rate, bias = np.empty(3), np.empty(3), np.empty(3)
    jac = np.empty((3, cdof.shape[0]))
    below = np.zeros(nbody)
    lever = np.zeros((nbody, 3))
    arm, speed = np.empty(3), np.empty(3)
    total = 0.0
    value[:] = 0.0
    rate[:] = 0.0
    bias[:] = 0.0
    for b in range(1, nbody):
        w = own[b] + load[b] * carried[b]
        if w == 0.0:
            continue
        total += w
        for k in range(3):
            arm[k] = xipos[b, k] - centre[root[b], k]
            lever[b, k] = w * arm[k]
            value[k] += w * xipos[b, k]
        below[b] = w
        x, y, z = _cross(cvel[b, :3], arm)
        speed[0], speed[1], speed[2] = cvel[b, 3] + x, cvel[b, 4] + y, cvel[b, 5] + z
        x, y, z = _cross(cacc[b, :3], arm)
        p, q, r = _cross(cvel[b, :3], speed)
        rate[0] += w * speed[0]
        rate[1] += w * speed[1]
        rate[2] += w * speed[2]
        bias[0] += w * (cacc[b, 3] + x + p)
        bias[1] += w * (cacc[b, 4] + y + q)
        bias[2] += w * (cacc[b, 5] + z + r)
    for b in range(nbody - 1, 0, -1):
        below[parent[b]] += below[b]
        for k in range(3):
            lever[parent[b], k] += lever[b, k]
    total = max(total, 1e-300)
    for k in range(3):
        value[k] /= total
        rate[k] /= total
        bias[k] /= total
    for d in range(cdof.shape[0]):
        b = dof_body[d]
        x, y, z = _cross(cdof[d, :3], lever[b])
        jac[0, d] = (below[b] * cdof[d, 3] + x) / total
        jac[1, d] = (below[b] * cdof[d, 4] + y) / total
        jac[2, d] = (below[b] * cdof[d, 5] + z) / total
    return value, rate, jac, bias


_SUPPORT_PARTS = ("feet", "foot_points", "flat", "soles", "sole_points")


class Dynamics:
    """A view on a world's model and data. `refresh` is called by the world after each change of state."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.model, self.data = model, data
        # live views, looked up once: each attribute access on the bindings costs a microsecond
        self.qpos, self.qvel = data.qpos, data.qvel
        self._cdof, self._cdof_dot, self._cvel = data.cdof, data.cdof_dot, data.cvel
        self.xpos, self.xmat, self.xquat, self._xipos = data.xpos, data.xmat, data.xquat, data.xipos
        self._subtree_com = data.subtree_com
        self._root = model.body_rootid.copy()
        self._parent = model.body_parentid.copy()
        self._dof_start, self._dof_count = model.body_dofadr.copy(), model.body_dofnum.copy()
        self._dof_parent, self._dof_body = model.dof_parentid.copy(), model.dof_bodyid.copy()
        self._mass = model.body_mass
        self._eq_data = model.eq_data
        self._qfrc_bias, self._qfrc_passive, self._eq_active = data.qfrc_bias, data.qfrc_passive, data.eq_active
        self.factor, self.factor_diagonal = data.qLD, data.qLDiagInv
        self.sparsity = (model.M_rowadr.copy(), model.M_rownnz.copy(), model.M_colind.copy())
        self._last_dof = self._find_last_dofs()
        self._cacc = np.zeros((model.nbody, 6))
        self._moving = (
            self._subtree_com, self._root, self._last_dof, self._dof_parent, self._cdof, self._cvel, self._cacc
        )  # fmt: skip
        # share of each body's weight that its holder carries, and forces from outside that are felt (see attach.py)
        self.load = np.zeros(model.nbody)
        self.external = np.zeros(model.nv)
        self.supports: tuple[Support, ...] = ()
        # equalities (neq,) that control knows of; None for all of them
        self.known: NDArray[np.uint8] | None = None
        self._response: Response | None = None
        self._layout: Structure | None = None
        nothing, none = np.zeros((0, model.nv)), np.zeros(0)
        self._floating = Ground(nothing, none, nothing, nothing, none, np.zeros((0, 4)))

    def _find_last_dofs(self) -> NDArray[np.int64]:
        """For each body the last DOF that moves it, -1 for bodies fixed to the world."""
        out = np.full(self.model.nbody, -1, np.int64)
        for b in range(1, self.model.nbody):
            count = self._dof_count[b]
            out[b] = self._dof_start[b] + count - 1 if count > 0 else out[self._parent[b]]
        return out

    def refresh(self) -> None:
        """Follow the data to a new state."""
        _bias_accelerations(self._parent, self._dof_start, self._dof_count, self._cdof_dot, self.qvel, self._cacc)
        self._response = None

    @property
    def nv(self) -> int:
        return int(self.model.nv)

    # --- kinematics

    def on_body(self, body: int, offsets: Array) -> Array:
        """World positions (3 n,) of points (n, 3) given in a body's frame."""
        return _on_body(self.xpos[body], self.xmat[body], offsets)

    def frame(self, body: int, point: Array) -> tuple[Array, Array, Array]:
        """Jacobian (6, nv), velocity (6,) and bias acceleration (6,) of a world point moving with a body.

        Translation rows first, then rotation, world axes.
        """
        jac, rate, bias = np.empty((6, self.qvel.shape[0])), np.empty(6), np.empty(6)
        _frame(
            point, self._subtree_com[self._root[body]], self._last_dof[body], self._dof_parent, self._cdof,
            self._cvel[body], self._cacc[body], jac, rate, bias,
        )  # fmt: skip
        return jac, rate, bias

    def points(self, bodies: NDArray[np.int64], offsets: Array) -> tuple[Array, Array, Array, Array]:
        """Value, rate (3 n,), Jacobian (3 n, nv), bias (3 n,) of points fixed to bodies at `offsets` (n, 3), body frames."""
        return _points(bodies, offsets, self.xpos, self.xmat, *self._moving)

    def direction(self, body: int, axis: Array, tangents: Array) -> tuple[Array, Array, Array, Array]:
        """Where a body's axis points: value (9,) = axis and tangents, and rows (2) of the turn about the tangents."""
        return _direction(body, axis, tangents, self.xpos, self.xmat, *self._moving)

    def orientation(self, bodies: NDArray[np.int64]) -> tuple[Array, Array, Array, Array]:
        """Quaternions (4 n,), angular velocity (3 n,), Jacobian (3 n, nv), bias (3 n,) of bodies, world axes."""
        return _orientation(bodies, self.xpos, self.xquat, *self._moving)

    def centre_of_mass(self, own: Array, carried: Array) -> tuple[Array, Array, Array, Array]:
        """Value, rate, Jacobian (3, nv) and bias of the mean of body centres.

        own (nbody,) [kg] counts in full, carried (nbody,) [kg] as far as a character bears it.
        """
        return _centre_of_mass(
            own, carried, self.load, self._xipos, self._parent, self._dof_body, self._subtree_com, self._root,
            self._cdof, self._cvel, self._cacc,
        )  # fmt: skip

    def momentum(self, bodies: list[int]) -> tuple[Array, Array, Array, Array]:
        """Linear and angular momentum (about their common centre) of bodies: value (6,), mass-weighted centre (3,),
        Jacobian (6, nv), bias (6,). Slow and plain: one body at a time."""
        model, data = self.model, self.data
        mass = self._mass[bodies]
        centre = mass @ self._xipos[bodies] / mass.sum()
        jac, rate, bias = np.zeros((6, self.nv)), np.zeros(6), np.zeros(6)
        frames = [self.frame(b, self._xipos[b]) for b in bodies]
        drift = sum(m * f[1][:3] for m, f in zip(mass, frames)) / mass.sum()
        for b, m, (j, v, a) in zip(bodies, mass, frames):
            axes = data.ximat[b].reshape(3, 3)
            inertia = axes @ np.diag(model.body_inertia[b]) @ axes.T
            arm = self._xipos[b] - centre
            skew = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
            jac[:3] += m * j[:3]
            jac[3:] += m * skew @ j[:3] + inertia @ j[3:]
            rate[:3] += m * v[:3]
            rate[3:] += m * np.cross(arm, v[:3]) + inertia @ v[3:]
            bias[:3] += m * a[:3]
            bias[3:] += m * np.cross(arm, a[:3]) + m * np.cross(v[:3] - drift, v[:3])
            bias[3:] += inertia @ a[3:] + np.cross(v[3:], inertia @ v[3:])
        return rate, mass.sum() * centre, jac, bias

    # --- forces

    def forces(self) -> Array:
        """h (nv,): gravity, centrifugal and Coriolis forces minus passive ones (joint springs and dampers) and those felt
        on held props from outside."""
        return self._qfrc_bias - self._qfrc_passive - self.external

    def constraint_rows(self, layout: Structure) -> tuple[Array, Array]:
        """L (m, nv) and its bias (m,): every admissible motion has L qacc + bias = 0."""
        return constraint_rows(
            layout.size, layout.one, layout.two, self._eq_data, layout.equality, self.xpos, self.xmat,
            *self._moving,
        )  # fmt: skip

    def stand_on(self, supports: tuple[Support, ...]) -> None:
        """Characters that stand on their own feet from now on."""
        self.supports, self._layout, self._response = supports, None, None
        ends = np.cumsum([0] + [len(s.soles) for s in supports])
        self._of = np.array(
            [(a, b, TRUSTED_FRICTION * s.friction, s.mass) for a, b, s in zip(ends, ends[1:], supports)], float
        ).reshape(-1, 4)  # fmt: skip

    def ground(self, layout: Structure) -> Ground:
        """Where characters stand at the present state."""
        supports = self.supports
        if not supports:
            return self._floating
        joined = [np.concatenate([getattr(s, part) for s in supports]) for part in _SUPPORT_PARTS]
        free, dofs = (np.concatenate([f[k] for f in layout.free]) for k in range(2))
        starts = np.cumsum([0] + [len(f[0]) for f in layout.free])
        roots = np.array([s.root for s in supports])
        feet, bias, rigid, soles, touching = standing(  # type: ignore[call-arg]
            roots, *joined, free, dofs, starts, self.qvel, self.xpos, self.xmat, *self._moving
        )
        return Ground(feet, bias, rigid, soles, touching, self._of)

    def response(self) -> Response:
        """How the world answers to control: computed once per state."""
        if self._response is None:
            active = self._eq_active if self.known is None else self._eq_active & self.known
            if self._layout is None or self._layout.active != active.tobytes():
                self._layout = structure(self.model, active, self.supports)
            self._response = Response(self, self._layout)
        return self._response
