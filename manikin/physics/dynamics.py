"""Dynamics: the equations of motion at one moment, ready for control.

M qacc + h = S^T tau + L^T lambda, with h = bias (gravity, Coriolis) minus passive forces (Abe & Popovic 2006, Eq. 7 and 10).
Jacobians come from survey.py, M from MuJoCo's sparse factor.
"""

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.physics.response import Response, Structure, standing, structure
from manikin.physics.support import TRUSTED_FRICTION, Ground, Support
from manikin.physics.survey import Survey, bias_accelerations, frame_rows, on_body, point_rows, take

Array = NDArray[np.float64]


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
        self.eq_data = model.eq_data
        self._eq_active = data.eq_active
        self.factor, self.factor_diagonal = data.qLD, data.qLDiagInv
        self.sparsity = (model.M_rowadr.copy(), model.M_rownnz.copy(), model.M_colind.copy())
        self._last_dof = self._find_last_dofs()
        # bias accelerations of bodies, computed when first needed at a state
        self._cacc = np.zeros((model.nbody, 6))
        self._biased = False
        self._moving: tuple[Any, ...] = (
            self._subtree_com, self._root, self._last_dof, self._dof_parent, self._cdof, self._cvel, self._cacc
        )  # fmt: skip
        # fraction of each body's weight that its holder carries, and support forces on held props (see attach.py)
        self.load = np.zeros(model.nbody)
        self.external = np.zeros(model.nv)
        self.forces = (data.qfrc_bias, data.qfrc_passive, self.external)
        self.supports: tuple[Support, ...] = ()
        # equalities (neq,) that control knows of; None for all of them
        self.known: NDArray[np.uint8] | None = None
        self._response: Response | None = None
        self._answered = False  # whether the response is that of the present state
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
        """Update to the data's new state."""
        self._biased = self._answered = False

    @property
    def moving(self) -> tuple[Any, ...]:
        """How bodies move, as kernels read it."""
        self._bias()
        return self._moving

    def _bias(self) -> Array:
        if not self._biased:
            bias_accelerations(self._parent, self._dof_start, self._dof_count, self._cdof_dot, self.qvel, self._cacc)
            self._biased = True
        return self._cacc

    @property
    def nv(self) -> int:
        return int(self.model.nv)

    # --- kinematics

    def on_body(self, body: int, offsets: Array) -> Array:
        """World positions (3 n,) of points (n, 3) given in a body's frame."""
        out = np.empty(offsets.size)
        on_body(self.xpos, self.xmat, body, offsets, out)
        return out

    def frame(self, body: int, point: Array) -> tuple[Array, Array, Array]:
        """Jacobian (6, nv), velocity (6,) and bias acceleration (6,) of a world point moving with a body.

        Translation rows first, then rotation, world axes.
        """
        jac, rate, bias = np.empty((6, self.qvel.shape[0])), np.empty(6), np.empty(6)
        frame_rows(
            point, self._subtree_com[self._root[body]], self._last_dof[body], self._dof_parent, self._cdof,
            self._cvel[body], self._bias()[body], jac, rate, bias,
        )  # fmt: skip
        return jac, rate, bias

    def points(self, body: int, points: Array) -> tuple[Array, Array]:
        """Jacobian (3 k, nv) and bias acceleration (3 k,) of world points (k, 3) that move with a body."""
        return point_rows(
            points, self._subtree_com[self._root[body]], self._last_dof[body], self._dof_parent, self._cdof,
            self._cvel[body], self._bias()[body],
        )  # fmt: skip

    def survey(self, survey: Survey) -> tuple[Array, Array, Array, Array]:
        """Values, rates, Jacobian rows and biases of all probes of a survey."""
        out = survey.results(len(self.qvel))
        take(  # type: ignore[call-arg]
            survey.items, survey.numbers, *survey.masses(), self.load, self.qpos, self.qvel,
            self.xpos, self.xmat, self.xquat, self._xipos, self._parent, self._dof_body, *self.moving, *out,
        )  # fmt: skip
        return out

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

    def stand_on(self, supports: tuple[Support, ...]) -> None:
        """Characters that are supported by their own feet from now on."""
        self.supports, self._response, self._answered = supports, None, False
        ends = np.cumsum([0] + [len(s.soles) for s in supports])
        self._spans = np.array(
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
            roots, *joined, free, dofs, starts, self.qvel, self.xpos, self.xmat, *self.moving
        )
        return Ground(feet, bias, rigid, soles, touching, self._spans)

    def response(self) -> Response:
        """How the world responds to control: computed once per state, valid until the next."""
        if self._response is None or not self._answered:
            active = self._eq_active if self.known is None else self._eq_active & self.known
            if self._response is None or self._response.layout.active != active.tobytes():
                self._response = Response(self, structure(self.model, active, self.supports))
            else:
                self._response.renew(self)
            self._answered = True
        return self._response
