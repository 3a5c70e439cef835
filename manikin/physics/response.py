"""Response: how a constrained world responds to control. Everything of interest is affine in one input.

The input is the mass-weighted joint acceleration z = C^T qacc with M = C C^T. Then for a task with Jacobian J
    task acceleration = (J C^-T) z + bias,      qacc(z) = C^-T z,      torque(z), constraint force(z): affine in z,
and the admissible z are those that keep the constraints and leave passive motions to physics. The torque map is
S^T tau = M qacc + h - L^T lambda (Abe & Popovic 2006, Eq. 10); of the many constraint forces that fit (closed loops have
internal ones), the smallest are taken, with moments counted as forces over a lever of 5 cm: this keeps pressure under the feet.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel, routine
from manikin.linear.nullspace import cholesky, dot, project, require, substitute
from manikin.physics.support import TOUCHING, Ground, Support, ground_forces, rest_bias, rigid_motions

if TYPE_CHECKING:
    from manikin.physics.dynamics import Dynamics

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]

# moments of constraint forces count as forces over this lever [m]
MOMENT_LEVER = 0.05


# --- MuJoCo's sparse factor M = L^T D L, as C = L^T sqrt(D); `root` holds 1 / sqrt(D)


@kernel
def _unit_rows(LD: Array, root: Array, start: Ints32, count: Ints32, column: Ints32, units: Array) -> None:
    """Fill row d of `units` (n, n) with C^-1 e_d, zero beyond d. Each row is its own unit minus multiples of those before
    it, whole rows at a time: longer sums than substitution has, but no serial dependency, so it vectorises."""
    n = root.shape[0]
    units[:] = 0.0
    for d in range(n):
        units[d, d] = 1.0
        for k in range(start[d], start[d] + count[d] - 1):
            c, factor = column[k], LD[k]
            for i in range(c + 1):
                units[d, i] -= factor * units[c, i]
    for d in range(n):
        for i in range(d + 1):
            units[d, i] *= root[i]


@kernel
def half_solve(rows: Array, units: Array) -> None:
    """Each row y becomes C^-1 y."""
    n = rows.shape[1]
    given = np.empty(n)
    for r in range(rows.shape[0]):
        row = rows[r]
        for i in range(n):
            given[i] = row[i]
            row[i] = 0.0
        for d in range(n):
            x = given[d]
            if x != 0.0:
                for i in range(d + 1):
                    row[i] += x * units[d, i]


@kernel
def acceleration(z: Array, units: Array) -> Array:
    """qacc = C^-T z."""
    out = np.empty(z.shape[0])
    for d in range(z.shape[0]):
        out[d] = dot(units[d, : d + 1], z[: d + 1])
    return out


@kernel
def weighted(qacc: Array, LD: Array, root: Array, start: Ints32, count: Ints32, column: Ints32) -> Array:
    """z = C^T qacc."""
    out = np.empty(qacc.shape[0])
    for i in range(qacc.shape[0]):
        s = qacc[i]
        for k in range(start[i], start[i] + count[i] - 1):
            s += LD[k] * qacc[column[k]]
        out[i] = s / root[i]
    return out


@kernel
def _force(z: Array, LD: Array, root: Array, start: Ints32, count: Ints32, column: Ints32) -> Array:
    """M qacc = C z."""
    out = np.zeros(z.shape[0])
    for i in range(z.shape[0]):
        scaled = z[i] / root[i]
        out[i] += scaled
        for k in range(start[i], start[i] + count[i] - 1):
            out[column[k]] += LD[k] * scaled
    return out


# --- constraints


@kernel
def _add_frame(
    sign: float, rows: Array, bias: Array, point: Array, centre: Array, last_dof: int, dof_parent: Array,
    cdof: Array, cvel: Array, cacc: Array,
) -> None:  # fmt: skip
    """Add sign x (rows and bias acceleration) of a point of a body; six rows, or the first three only."""
    rotates = rows.shape[0] == 6
    ax, ay, az = point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]
    d = last_dof
    while d >= 0:
        w = cdof[d]
        rows[0, d] += sign * (w[3] + w[1] * az - w[2] * ay)
        rows[1, d] += sign * (w[4] + w[2] * ax - w[0] * az)
        rows[2, d] += sign * (w[5] + w[0] * ay - w[1] * ax)
        if rotates:
            for k in range(3):
                rows[3 + k, d] += sign * w[k]
        d = dof_parent[d]
    p, q, r = cvel[0], cvel[1], cvel[2]
    vx, vy, vz = cvel[3] + q * az - r * ay, cvel[4] + r * ax - p * az, cvel[5] + p * ay - q * ax
    bias[0] += sign * (cacc[3] + cacc[1] * az - cacc[2] * ay + q * vz - r * vy)
    bias[1] += sign * (cacc[4] + cacc[2] * ax - cacc[0] * az + r * vx - p * vz)
    bias[2] += sign * (cacc[5] + cacc[0] * ay - cacc[1] * ax + p * vy - q * vx)
    if rotates:
        for k in range(3):
            bias[3 + k] += sign * cacc[k]


@kernel
def standing(
    roots: Ints, feet: Ints, foot_points: Array, flat: Ints, soles: Ints, sole_points: Array,
    free: Ints, free_dof: Ints, free_start: Ints, qvel: Array, xpos: Array, xmat: Array,
    com: Array, root: Array, last_dof: Ints, dof_parent: Array,
    cdof: Array, cvel: Array, cacc: Array,
) -> tuple[Array, Array, Array, Array, Array]:  # fmt: skip
    """Rows and bias of the feet that touch, rigid motions (6 s, n), Jacobian (3 m, n) of sole points, which of them touch."""
    n = cdof.shape[0]
    touching = np.zeros(soles.shape[0])
    sole_rows, unused = np.zeros((3 * soles.shape[0], n)), np.zeros(3)
    point = np.empty(3)
    for p in range(soles.shape[0]):
        b = soles[p]
        for k in range(3):
            point[k] = xpos[b, k]
            for m in range(3):
                point[k] += xmat[b, 3 * k + m] * sole_points[p, m]
        touching[p] = 1.0 if point[2] < TOUCHING else 0.0
        _add_frame(
            1.0, sole_rows[3 * p : 3 * p + 3], unused, point, com[root[b]], last_dof[b], dof_parent, cdof, cvel[b], cacc[b]
        )  # fmt: skip
    total = feet.shape[0] + flat.shape[0]
    rows, bias = np.zeros((6 * total, n)), np.zeros(6 * total)
    six, six_bias = np.empty((6, n)), np.empty(6)
    r = 0
    for f in range(total):
        foot = f < feet.shape[0]
        b = feet[f] if foot else flat[f - feet.shape[0]]
        rests = False
        for p in range(soles.shape[0]):
            rests |= soles[p] == b and touching[p] > 0
        if not rests:
            continue
        for k in range(3):
            point[k] = xpos[b, k]
            if foot:
                for m in range(3):
                    point[k] += xmat[b, 3 * k + m] * foot_points[f, m]
        six[:] = 0.0
        six_bias[:] = 0.0
        _add_frame(1.0, six, six_bias, point, com[root[b]], last_dof[b], dof_parent, cdof, cvel[b], cacc[b])
        up = np.array([xmat[b, 2], xmat[b, 5], xmat[b, 8]])
        rest_bias(six, six_bias, qvel, up)
        # what is hinged to a foot only has to lie flat
        for k in range(0 if foot else 3, 6 if foot else 5):
            rows[r] = six[k]
            bias[r] = six_bias[k]
            r += 1
    rigid = np.zeros((6 * roots.shape[0], n))
    for s in range(roots.shape[0]):
        a, b = free_start[s], free_start[s + 1]
        rigid[6 * s : 6 * s + 6] = rigid_motions(roots[s], free[a:b], free_dof[a:b], xpos, xmat, n)
    return rows[:r], bias[:r], rigid, sole_rows, touching


@kernel
def _constraint_rows(
    size: Ints, one: Ints, two: Ints, eq_data: Array, equality: Ints, xpos: Array, xmat: Array, com: Array, root: Array,
    last_dof: Ints, dof_parent: Array, cdof: Array, cvel: Array, cacc: Array, rows: Array, bias: Array,
) -> None:  # fmt: skip
    """L and Ldot qvel of welds (6 rows), connects (3 rows) and locked joints (1 row; `one` is the DOF)."""
    rows[:], bias[:] = 0.0, 0.0
    point = np.empty(3)
    r = 0
    for c in range(size.shape[0]):
        if size[c] == 1:
            rows[r, one[c]] = 1.0
            r += 1
            continue
        for end in range(2):
            b = one[c] if end == 0 else two[c]
            if b == 0:
                continue
            # MuJoCo stores body 2's anchor first for a weld, body 1's for a connect
            shift = 3 * end if size[c] == 3 else 3 - 3 * end
            for k in range(3):
                point[k] = xpos[b, k]
                for m in range(3):
                    point[k] += xmat[b, 3 * k + m] * eq_data[equality[c], shift + m]
            _add_frame(
                1.0 if end == 0 else -1.0, rows[r : r + size[c]], bias[r : r + size[c]], point, com[root[b]],
                last_dof[b], dof_parent, cdof, cvel[b], cacc[b],
            )  # fmt: skip
        r += size[c]


@routine
def _passive_motions(L: Array, passive: Ints) -> Array:
    """Motions (k, p) of the unactuated DOFs that all constraints allow with every actuated joint held still."""
    p = passive.shape[0]
    gram = np.zeros((p, p))
    for i in range(p):
        for j in range(i + 1):
            s = 0.0
            for r in range(L.shape[0]):
                s += L[r, passive[i]] * L[r, passive[j]]
            gram[i, j] = s
            gram[j, i] = s
    # the usual case, no freedom left, costs one small Cholesky
    free = False
    work = gram.copy()
    for i in range(p):
        pivot = work[i, i]
        for k in range(i):
            pivot -= work[i, k] * work[i, k]
        if pivot <= 1e-9 * max(gram[i, i], 1e-12):
            free = True
            break
        work[i, i] = np.sqrt(pivot)
        for j in range(i + 1, p):
            s = work[j, i]
            for k in range(i):
                s -= work[j, k] * work[i, k]
            work[j, i] = s / work[i, i]
    if not free:
        return np.zeros((0, p))
    values, vectors = np.linalg.eigh(gram)
    top = max(values[-1], 1e-12)
    k = 0
    while k < p and values[k] < 1e-9 * top:
        k += 1
    return np.ascontiguousarray(vectors[:, :k].T)


@kernel
def _prepare(
    size: Ints, one: Ints, two: Ints, equality: Ints, eq_data: Array, feet: Array, feet_bias: Array,
    gravity: Array, springs: Array, felt: Array, actuated: Ints, passive: Ints,
    LD: Array, inverse: Array, start: Ints32, count: Ints32, column: Ints32, xpos: Array, xmat: Array, com: Array,
    tree: Array, last_dof: Ints, dof_parent: Array, cdof: Array, cvel: Array, cacc: Array,
    h: Array, root: Array, units: Array, held: Array, held_bias: Array, basis: Array, motion: Array, unforced: Array,
    joints: Array,
) -> tuple[int, int]:  # fmt: skip
    """What is decided before any task: h, 1 / sqrt(D), rows of single DOFs (n, n), rows and bias of the constraints, basis
    (n, n), the motion so far, the motion without torque, rows of the actuated joints. Returns how many rows of the basis
    constraints use, and constraints and passive motions together.

    Results go into the caller's arrays: returning a new one from compiled code costs a microsecond.
    """
    n = gravity.shape[0]
    # gravity, centrifugal and Coriolis forces minus passive ones (joint springs and dampers) and the supports of held props
    for i in range(n):
        h[i], root[i] = gravity[i] - springs[i] - felt[i], np.sqrt(inverse[i])
    _unit_rows(LD, root, start, count, column, units)
    _constraint_rows(
        size, one, two, eq_data, equality, xpos, xmat, com, tree, last_dof, dof_parent, cdof, cvel, cacc, held, held_bias
    )  # fmt: skip
    m = held.shape[0]
    L, bias = np.empty((m + feet.shape[0], n)), np.empty(m + feet.shape[0])
    for r in range(L.shape[0]):
        source, k = (held, r) if r < m else (feet, r - m)
        bias[r] = held_bias[k] if r < m else feet_bias[k]
        for i in range(n):
            L[r, i] = source[k, i]
    basis[:], motion[:] = 0.0, 0.0
    rows = L.copy()
    half_solve(rows, units)
    used = 0
    for r in range(rows.shape[0]):
        used = require(rows[r], -bias[r], motion, basis, used, 1e-6)
    fall = np.empty((1, n))
    for i in range(n):
        fall[0, i] = -h[i]
    half_solve(fall, units)
    unforced[:] = fall[0]
    project(unforced, basis, used)
    for i in range(n):
        unforced[i] += motion[i]
    # passive motions obey physics: their part of z is that of the unforced motion
    constrained = used
    free = _passive_motions(L, passive)
    for f in range(free.shape[0]):
        qacc = np.zeros(n)
        for i in range(passive.shape[0]):
            qacc[passive[i]] = free[f, i]
        row = weighted(qacc, LD, root, start, count, column)
        used = require(row, dot(row, unforced), motion, basis, used, 1e-6)
    for j in range(actuated.shape[0]):
        joints[j] = units[actuated[j]]
    return constrained, used


@routine
def _passive_least_force(L: Array, weights: Array, passive: Ints, wanted: Array) -> Array:
    """The smallest constraint forces (weighted) with L_passive^T lambda = wanted."""
    p, m = passive.shape[0], L.shape[0]
    if p == 0 or m == 0:
        return np.zeros(m)
    gram = np.zeros((p, p))
    for i in range(p):
        for j in range(i + 1):
            s = 0.0
            for r in range(m):
                s += L[r, passive[i]] * L[r, passive[j]] / weights[r]
            gram[i, j] = s
            gram[j, i] = s
    top = 0.0
    for i in range(p):
        top = max(top, gram[i, i])
    for i in range(p):
        gram[i, i] += 1e-13 * top
    cholesky(gram)
    out = np.zeros(m)
    left = wanted.copy()
    # a second round removes the errors of regularisation and rounding
    for _ in range(2):
        y = substitute(gram, left.copy())
        for r in range(m):
            s = 0.0
            for i in range(p):
                s += L[r, passive[i]] * y[i]
            out[r] += s / weights[r]
        for i in range(p):
            left[i] = wanted[i]
            for r in range(m):
                left[i] -= L[r, passive[i]] * out[r]
    return out


@routine
def torques(
    z: Array, h: Array, L: Array, weights: Array, actuated: Ints, tied: Ints, soles: Array, ground: Array,
    LD: Array, root: Array, start: Ints32, count: Ints32, column: Ints32, torque: Array, force: Array,
) -> None:  # fmt: skip
    """Actuator torques and constraint forces that give the motion z, with forces `ground` (m, 3) at the sole points."""
    total = _force(z, LD, root, start, count, column)
    for i in range(total.shape[0]):
        total[i] += h[i]
    for p in range(ground.shape[0]):
        for k in range(3):
            f = ground[p, k]
            if f != 0.0:
                for i in range(total.shape[0]):
                    total[i] -= soles[3 * p + k, i] * f
    left = np.empty(tied.shape[0])
    for i in range(tied.shape[0]):
        left[i] = total[tied[i]]
    force[:] = _passive_least_force(L, weights, tied, left)
    for j in range(actuated.shape[0]):
        s = total[actuated[j]]
        for r in range(L.shape[0]):
            s -= L[r, actuated[j]] * force[r]
        torque[j] = s


@routine
def press(
    z: Array, h: Array, rigid: Array, soles: Array, touching: Array, spans: Array, ground: Array,
    LD: Array, root: Array, start: Ints32, count: Ints32, column: Ints32,
) -> float:  # fmt: skip
    """Fill `ground` (m, 3) with the forces at the sole points nearest to what the motion z needs; returns the largest miss."""
    total = _force(z, LD, root, start, count, column) + h
    worst = 0.0
    for s in range(spans.shape[0]):
        a, b = int(spans[s, 0]), int(spans[s, 1])
        wrench = np.empty(6)
        for k in range(6):
            wrench[k] = dot(rigid[6 * s + k], total)
        ground[a:b], missed = ground_forces(
            wrench, rigid[6 * s : 6 * s + 6], soles[3 * a : 3 * b], touching[a:b], spans[s, 2], spans[s, 3]
        )  # fmt: skip
        worst = max(worst, missed)
    return worst


@routine
def give_wrench(
    h: Array, rigid: Array, soles: Array, spans: Array, ground: Array, motion: Array, basis: Array, used: int,
    LD: Array, root: Array, start: Ints32, count: Ints32, column: Ints32,
) -> int:  # fmt: skip
    """Impose that the ground gives just the forces `ground`: along each rigid motion, M qacc + h equals their work."""
    for s in range(spans.shape[0]):
        for k in range(6 * s, 6 * s + 6):
            given = -dot(rigid[k], h)
            for p in range(int(spans[s, 0]), int(spans[s, 1])):
                for i in range(3):
                    given += ground[p, i] * dot(soles[3 * p + i], rigid[k])
            row = weighted(rigid[k], LD, root, start, count, column)
            used = require(row, given, motion, basis, used, 1e-6)
    return used


@dataclass(frozen=True)
class Structure:
    """Which DOFs take part, given the constraints that act now."""

    active: bytes  # which equalities act
    size: Ints  # rows per constraint
    one: Ints  # first body (or the DOF of a locked joint)
    two: Ints  # second body
    equality: Ints
    weights: Array  # cost of each row's force
    actuated: Ints  # DOF of each actuator
    passive: Ints  # unactuated DOFs of all trees that an actuated tree is tied to
    tied: Ints  # those of them that constraint forces alone move: not the roots of characters on their own feet
    free: tuple[tuple[Ints, Ints], ...]  # per support: free-joint bodies that move along with it, root first; their DOFs


def actuated_dofs(model: mujoco.MjModel) -> Ints:
    """DOF of each actuator. Actuator order need not be DOF order."""
    joints = model.actuator_trnid[:, 0]
    return model.jnt_dofadr[joints].astype(np.int64)


def structure(model: mujoco.MjModel, active: NDArray[np.uint8], supports: tuple[Support, ...] = ()) -> Structure:
    """Sort DOFs and constraints; repeated only when a grasp or release changes `active`."""
    kinds = {mujoco.mjtEq.mjEQ_WELD: 6, mujoco.mjtEq.mjEQ_CONNECT: 3, mujoco.mjtEq.mjEQ_JOINT: 1}
    chosen = [e for e in range(model.neq) if active[e] and int(model.eq_type[e]) in {int(k) for k in kinds}]
    size = np.array([kinds[mujoco.mjtEq(int(model.eq_type[e]))] for e in chosen], np.int64)
    one, two = (np.array([ids[e] for e in chosen], np.int64) for ids in (model.eq_obj1id, model.eq_obj2id))
    actuated = actuated_dofs(model)

    # trees tied together by constraints move together
    tree = model.dof_treeid
    group = list(range(int(tree.max()) + 1 if model.nv else 0))

    def leader(t: int) -> int:
        while group[t] != t:
            t = group[t]
        return t

    for s, a, b in zip(size, one, two):
        trees = [model.body_treeid[x] for x in (a, b)] if s > 1 else []
        if len(trees) == 2 and min(trees) >= 0:
            group[leader(int(trees[0]))] = leader(int(trees[1]))
    driven = {leader(int(tree[d])) for d in actuated}
    moved = set(actuated.tolist())
    passive = [d for d in range(model.nv) if leader(int(tree[d])) in driven and d not in moved]
    one = np.array([model.jnt_dofadr[a] if s == 1 else a for s, a in zip(size, one)], np.int64)
    weights = np.concatenate([np.ones(0)] + [_row_weights(int(s)) for s in size])
    roots = [int(model.body_dofadr[s.root]) for s in supports]
    own = {d + k for d in roots for k in range(6)}
    free = []
    for support in supports:
        mine = leader(int(model.body_treeid[support.root]))
        bodies = [support.root] + [
            b for b in range(1, model.nbody)
            if b != support.root and model.body_dofnum[b] == 6 and leader(int(model.body_treeid[b])) == mine
        ]  # fmt: skip
        free.append((np.array(bodies, np.int64), model.body_dofadr[bodies].astype(np.int64)))
    return Structure(
        active.tobytes(), size, one, two, np.array(chosen, np.int64), weights, actuated, np.array(passive, np.int64),
        np.array([d for d in passive if d not in own], np.int64), tuple(free),
    )  # fmt: skip


def _row_weights(size: int) -> Array:
    moment = 1.0 / MOMENT_LEVER**2
    return np.array({6: [1.0, 1.0, 1.0, moment, moment, moment], 3: [1.0, 1.0, 1.0], 1: [moment]}[size])


class Response:
    """The affine maps at one state; see the module's docstring. `renew` brings them to another, in the same arrays."""

    ground: Ground
    constrained: int  # rows of the basis that constraints use
    decided: int  # and passive motions too

    def __init__(self, dynamics: "Dynamics", layout: Structure) -> None:
        self.layout = layout
        n, m = len(dynamics.qvel), len(layout.weights)
        # h (n,): M qacc + h = S^T tau + L^T lambda; L (m, n), L_bias (m,): every admissible motion has L qacc + L_bias = 0
        self.h, self.L, self.L_bias = np.empty(n), np.empty((m, n)), np.empty(m)
        self.basis, self.motion, self.unforced = np.empty((n, n)), np.empty(n), np.empty(n)
        self.joint_rows, self.units = np.empty((len(layout.actuated), n)), np.empty((n, n))
        root = np.empty(n)
        self._factor = (dynamics.factor, root, *dynamics.sparsity)
        self._filled = (
            self.h, root, self.units, self.L, self.L_bias, self.basis, self.motion, self.unforced, self.joint_rows
        )  # fmt: skip
        self.renew(dynamics)

    def renew(self, dynamics: "Dynamics") -> None:
        """Follow the dynamics to another state with the same constraints."""
        layout = self.layout
        self.ground = dynamics.ground(layout)
        self.constrained, self.decided = _prepare(  # type: ignore[call-arg]
            layout.size, layout.one, layout.two, layout.equality, dynamics.eq_data, self.ground.feet, self.ground.feet_bias,
            *dynamics.forces, layout.actuated, layout.passive, dynamics.factor, dynamics.factor_diagonal, *dynamics.sparsity,
            dynamics.xpos, dynamics.xmat, *dynamics.moving, *self._filled,
        )  # fmt: skip

    @property
    def maps(self) -> tuple[Any, ...]:
        """All maps as plain arrays, for compiled code: basis, constrained, decided, motion, unforced, h, L, row weights,
        actuated and tied DOFs, rows of single DOFs, then the factor of M."""
        return (
            self.basis, self.constrained, self.decided, self.motion, self.unforced, self.h, self.L, self.layout.weights,
            self.layout.actuated, self.layout.tied, self.units, *self._factor,
        )  # fmt: skip

    @property
    def standing(self) -> bool:
        """Whether a character stands on its own feet."""
        return len(self.ground.spans) > 0

    @property
    def ground_maps(self) -> tuple[Array, Array, Array, Array]:
        """Where characters on their own feet press: rigid motions, rows of the sole points, which of them touch, spans."""
        return self.ground.rigid, self.ground.soles, self.ground.touching, self.ground.spans

    def rows(self, jacobian: Array) -> Array:
        """J C^-T (k, n): task acceleration per unit of input."""
        out = np.ascontiguousarray(jacobian).copy()
        half_solve(out, self.units)
        return out

    def rows_of_dofs(self, dofs: Ints) -> Array:
        """Rows (k, n) of single joint accelerations."""
        if dofs.tobytes() == self.layout.actuated.tobytes():
            return self.joint_rows
        return self.units[dofs]

    def qacc(self, z: Array) -> Array:
        """Joint accelerations (nv,) of an input."""
        return acceleration(z, self.units)

    def input(self, qacc: Array) -> Array:
        """The input z (n,) of joint accelerations."""
        return weighted(qacc, *self._factor)

    def torque(self, z: Array) -> tuple[Array, Array]:
        """Actuator torques (nu,) [N m] and constraint forces (m,) of an admissible input, on clamped feet."""
        ground, torque, force = self.ground, np.empty(len(self.layout.actuated)), np.empty(len(self.layout.weights))
        torques(
            z, self.h, self.L, self.layout.weights, self.layout.actuated, self.layout.tied,
            ground.soles, np.zeros((len(ground.touching), 3)), *self._factor, torque, force,
        )  # fmt: skip
        return torque, force

    def forward(self, torque: Array) -> Array:
        """Joint accelerations (nv,) that torques cause under rigid constraints (Eq. 7, 8 and 10): the reference for tests."""
        push = -self.h.copy()
        push[self.layout.actuated] += torque
        row = push[None].copy()
        half_solve(row, self.units)
        z = row[0]
        used = self.basis[: self.constrained]
        particular = used.T @ (used @ self.motion)
        return self.qacc(z - used.T @ (used @ z) + particular)
