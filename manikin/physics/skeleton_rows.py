"""The equations of motion of one skeleton, solved for its passive root: every acceleration and torque is affine in the
accelerations of the active joints (Kim & Pollard 2011, Eq. 2, 10 and 14)."""

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.physics.pressure import pressure_rows
from manikin.physics.survey import on_body, point_rows

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]

# motions of the root that move the contact points by less than this fraction of the largest are free
STILL = 1e-3
# motions of a free root
FREE = 6
# rows of a loop smaller than this fraction of its largest are left out: a planar loop cannot open across its plane
FLAT = 1e-6


@kernel
def maps_at(
    M: Array, start: Ints32, count: Ints32, column: Ints32, place: Ints, dofs: Ints, bias: Array, passive: Array, known: Array,
    nr: int, bone: int, points: Array, com: Array, tree: Ints32, last_dof: Ints, dof_parent: Ints32, cdof: Array, cvel: Array,
    cacc: Array, closed: Array,
) -> tuple[Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """All fields of JointMaps but the bone and the loops. known (nv,): forces that control knows of; points (k, 3): where the
    bone is supported, if anywhere."""
    n = dofs.shape[0]
    h = np.empty(n)
    for i in range(n):
        h[i] = bias[dofs[i]] - passive[dofs[i]] - known[dofs[i]]
    inertia = block(M, start, count, column, place, dofs)
    k = points.shape[0]
    if k == 0:
        return _maps(inertia, h, nr, np.zeros((0, n)), np.zeros(0), np.zeros((0, 0)), closed)
    jac, wanted = point_rows(points, com[tree[bone]], last_dof[bone], dof_parent, cdof, cvel[bone], cacc[bone])
    lever = np.empty((3 * k, n))
    for r in range(3 * k):
        wanted[r] = -wanted[r]
        for i in range(n):
            lever[r, i] = jac[r, dofs[i]]
    # on a planar root, pressure across its plane has no effect
    return _maps(inertia, h, nr, lever, wanted, pressure_rows(points, nr < FREE), closed)


@kernel
def _maps(
    M: Array, h: Array, nr: int, lever: Array, wanted: Array, edges: Array, closed: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """The same from the inertia M (n, n) and other forces h (n,). lever (3 k, n), wanted (3 k,): contact points and
    their prescribed accelerations, if any. edges (m, 3 k): rows on the forces at those points. closed (c, na): rows that keep
    loops closed. A loop may add any torques closed^T f; of all torques with the same motion, the smallest are taken."""
    n = M.shape[0]
    na = n - nr
    Mrr, Mra = np.ascontiguousarray(M[:nr, :nr]), np.ascontiguousarray(M[:nr, nr:])
    T, t0 = np.zeros((n, na)), np.zeros(n)
    for j in range(na):
        T[nr + j, j] = 1.0
    inverse = np.zeros((nr, 0))
    if lever.shape[0] == 0:
        T[:nr] = -np.linalg.solve(Mrr, Mra)
        t0[:nr] = -np.linalg.solve(Mrr, h[:nr].copy())
    else:
        # the root's motions that the points resist, and those that they leave free
        root, rest = np.ascontiguousarray(lever[:, :nr]), np.ascontiguousarray(lever[:, nr:])
        # with fewer rows than motions, only the full decomposition contains all free ones
        U, s, Vt = np.linalg.svd(root, root.shape[0] < nr)
        rank = 0
        for value in s:
            rank += value > STILL * s[0]
        scaled = np.ascontiguousarray(Vt[:rank].T)
        for k in range(rank):
            scaled[:, k] /= s[k]
        inverse = np.dot(scaled, np.ascontiguousarray(U[:, :rank].T))
        A0, b0 = -np.dot(inverse, rest), np.dot(inverse, wanted)
        free = np.ascontiguousarray(Vt[rank:].T)
        if free.shape[1] > 0:
            freeT = np.ascontiguousarray(free.T)
            weigh = np.linalg.solve(np.dot(np.dot(freeT, Mrr), free), freeT)
            A0, b0 = (
                A0 - np.dot(free, np.dot(weigh, np.dot(Mrr, A0) + Mra)),
                b0 - np.dot(free, np.dot(weigh, np.dot(Mrr, b0) + h[:nr])),
            )
        T[:nr], t0[:nr] = A0, b0
    force, force0 = np.dot(M, T), np.dot(M, t0) + h
    D, torque0 = force[nr:].copy(), force0[nr:].copy()
    P, press0 = np.zeros((edges.shape[0], na)), np.zeros(edges.shape[0])
    if lever.shape[0] > 0:
        # forces at the points and, where the supporting bone is not the root, their effect on the joints
        given = np.ascontiguousarray(inverse.T)
        per, fixed = np.dot(given, np.ascontiguousarray(force[:nr])), np.dot(given, force0[:nr])
        P, press0 = np.dot(edges, per), np.dot(edges, fixed)
        on_joints = np.ascontiguousarray(lever[:, nr:].T)
        D -= np.dot(on_joints, per)
        torque0 -= np.dot(on_joints, fixed)
    if closed.shape[0] > 0:
        across = np.ascontiguousarray(closed.T)
        held = np.dot(across, np.linalg.solve(np.dot(closed, across), closed))
        D -= np.dot(held, D)
        torque0 -= np.dot(held, torque0)
    return T, t0, D, torque0, P, press0


@kernel
def opening(
    bone1: int, bone2: int, offset1: Array, offset2: Array, active: Ints, xpos: Array, xmat: Array, com: Array, tree: Ints32,
    last_dof: Ints, dof_parent: Ints32, cdof: Array, cvel: Array, cacc: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Eq. 14 for two points that stay together, one on each bone: rows (k, na) on the joints that move them apart, and
    right-hand side (k,)."""
    place1, place2 = np.empty((1, 3)), np.empty((1, 3))
    on_body(xpos, xmat, bone1, offset1, place1[0])
    on_body(xpos, xmat, bone2, offset2, place2[0])
    jac1, bias1 = point_rows(place1, com[tree[bone1]], last_dof[bone1], dof_parent, cdof, cvel[bone1], cacc[bone1])
    jac2, bias2 = point_rows(place2, com[tree[bone2]], last_dof[bone2], dof_parent, cdof, cvel[bone2], cacc[bone2])
    count, na = bias1.shape[0], active.shape[0]
    rows, right, size = np.empty((count, na)), np.empty(count), np.zeros(count)
    for i in range(count):
        right[i] = bias2[i] - bias1[i]
        for j in range(na):
            rows[i, j] = jac1[i, active[j]] - jac2[i, active[j]]
            size[i] = max(size[i], abs(rows[i, j]))
    kept, least = 0, FLAT * size.max()
    for i in range(count):
        if size[i] > least:
            rows[kept], right[kept] = rows[i], right[i]
            kept += 1
    return rows[:kept], right[:kept]


@kernel
def block(
    M: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32], place: Ints, dofs: Ints
) -> Array:  # fmt: skip
    """Rows and columns `dofs` of a symmetric matrix whose lower half is sparse; place: where a DOF goes, or -1."""
    n = dofs.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        d = dofs[i]
        for k in range(start[d], start[d] + count[d]):
            j = place[column[k]]
            if j >= 0:
                out[i, j] = M[k]
                out[j, i] = M[k]
    return out
