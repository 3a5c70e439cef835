"""Survey: many quantities of a moving body measured in one compiled call.

A probe is one of them: a point, an orientation, a direction, a gaze, a centre of mass or a joint. Jacobians and bias
accelerations come from MuJoCo's own motion axes (cdof, cdof_dot); each probe gives value, rate, Jacobian rows and bias with
rate = jacobian @ qvel and d(rate)/dt = jacobian @ qacc + bias.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

POINT, ORIENTATION, AXIS, GAZE, CENTRE, HINGE = range(6)
# numbers that a probe's value has; a centre of mass has one per axis
_VALUES = {POINT: 3, ORIENTATION: 4, AXIS: 9, GAZE: 15, HINGE: 1}
_ROWS = {POINT: 3, ORIENTATION: 3, AXIS: 2, GAZE: 2, HINGE: 1}
_NUMBERS = 12


class Probe(NamedTuple):
    """What to measure, and where.

    POINT        numbers = offset (3) in the body's frame; value: position [m]
    ORIENTATION  value: quaternion; rows: angular velocity
    AXIS         numbers = axis (3) and two tangents (6) in the body's frame; value: the same in world axes; rows: angular
                 velocity about the tangents
    GAZE         as AXIS, numbers also = straight ahead (3) in the frame of the body `carrier`; value: also the body's
                 position and straight ahead in world axes
    CENTRE       axes of the mean of body centres weighted by masses[0] + load x masses[1] (nbody,) [kg]
    HINGE        body = address of its angle in qpos, carrier = its DOF; value: the angle [rad]
    """

    kind: int
    body: int = 0
    numbers: tuple[float, ...] = ()
    carrier: int = 0
    axes: tuple[int, ...] = ()
    masses: tuple[Array, Array] | None = None

    @property
    def values(self) -> int:
        return _VALUES.get(self.kind, len(self.axes))

    @property
    def rows(self) -> int:
        return _ROWS.get(self.kind, len(self.axes))


class Survey:
    """Probes made ready for the kernel. Masses are looked up at each call: they may be changed while it runs."""

    def __init__(self, probes: Sequence[Probe], places: Sequence[tuple[int, int]], values: int, rows: int) -> None:
        """places: (first value, first row) of each probe in arrays of `values` and `rows` numbers."""
        self.values, self.rows = values, rows
        self.items = np.zeros((len(probes), 8), np.int64)
        self.numbers = np.zeros((len(probes), _NUMBERS))
        self._masses = [p.masses for p in probes if p.masses is not None]
        centres = 0
        for k, (probe, (value, row)) in enumerate(zip(probes, places)):
            self.items[k, :5] = probe.kind, probe.body, value, row, probe.carrier
            self.numbers[k, : len(probe.numbers)] = probe.numbers
            if probe.kind == CENTRE:
                self.items[k, 4] = centres
                # an unused axis is -1
                self.items[k, 5:8] = (*probe.axes, -1, -1)[:3]
                centres += 1
        size = len(self._masses[0][0]) if self._masses else 0
        self._own, self._carried = np.zeros((centres, size)), np.zeros((centres, size))

    def results(self, nv: int) -> tuple[Array, Array, Array, Array]:
        """Empty arrays for values, rates, Jacobian rows and biases."""
        return np.empty(self.values), np.empty(self.rows), np.empty((self.rows, nv)), np.empty(self.rows)

    def masses(self) -> tuple[Array, Array]:
        """Own and carried masses (centres, nbody) [kg] as they are now."""
        for k, (own, carried) in enumerate(self._masses):
            self._own[k], self._carried[k] = own, carried
        return self._own, self._carried


@kernel
def _cross(a: Array, b: Array) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def bias_accelerations(parent: Ints, dof_start: Ints, dof_count: Ints, cdof_dot: Array, qvel: Array, out: Array) -> None:
    """Spatial acceleration (rotation, translation) of each body when qacc = 0, in MuJoCo's com-centred frame."""
    for k in range(6):
        out[0, k] = 0.0
    for b in range(1, parent.shape[0]):
        for k in range(6):
            out[b, k] = out[parent[b], k]
        for d in range(dof_start[b], dof_start[b] + dof_count[b]):
            for k in range(6):
                out[b, k] += cdof_dot[d, k] * qvel[d]


@kernel
def frame_rows(
    point: Array, centre: Array, last_dof: int, dof_parent: Ints, cdof: Array, cvel: Array, cacc: Array,
    jac: Array, rate: Array, bias: Array,
) -> None:  # fmt: skip
    """Rows (translation, rotation) of a point fixed to a body: Jacobian (6, nv), velocity (6,), bias acceleration (6,)."""
    for k in range(6):
        for d in range(jac.shape[1]):
            jac[k, d] = 0.0
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
def point_rows(
    points: Array, centre: Array, last_dof: int, dof_parent: Ints, cdof: Array, cvel: Array, cacc: Array
) -> tuple[Array, Array]:  # fmt: skip
    """Jacobian (3 k, nv) and bias acceleration (3 k,) of points (k, 3) that move with one body."""
    k, n = points.shape[0], cdof.shape[0]
    out, bias = np.empty((3 * k, n)), np.empty(3 * k)
    jac6, rate6, bias6 = np.empty((6, n)), np.empty(6), np.empty(6)
    for i in range(k):
        frame_rows(points[i], centre, last_dof, dof_parent, cdof, cvel, cacc, jac6, rate6, bias6)
        for a in range(3):
            bias[3 * i + a] = bias6[a]
            for d in range(n):
                out[3 * i + a, d] = jac6[a, d]
    return out, bias


@kernel
def _rotate(matrix: Array, vector: Array, out: Array) -> None:
    for k in range(3):
        out[k] = matrix[3 * k] * vector[0] + matrix[3 * k + 1] * vector[1] + matrix[3 * k + 2] * vector[2]


@kernel
def on_body(xpos: Array, xmat: Array, body: int, offsets: Array, out: Array) -> None:
    """World positions `out` (3 n,) of points (n, 3) in a body's frame."""
    for i in range(offsets.shape[0]):
        _rotate(xmat[body], offsets[i], out[3 * i : 3 * i + 3])
        for k in range(3):
            out[3 * i + k] += xpos[body, k]


@kernel
def _centre_rows(
    own: Array, carried: Array, load: Array, xipos: Array, parent: Ints, dof_body: Ints,
    centre: Array, root: Ints, cdof: Array, cvel: Array, cacc: Array,
    value: Array, rate: Array, jac: Array, bias: Array,
) -> None:  # fmt: skip
    """Mean of body centres weighted by own + load x carried: value, rate (3,), Jacobian (3, nv), bias (3,)."""
    nbody = own.shape[0]
    below = np.zeros(nbody)
    lever = np.zeros((nbody, 3))
    arm, speed = np.empty(3), np.empty(3)
    total = 0.0
    for k in range(3):
        value[k], rate[k], bias[k] = 0.0, 0.0, 0.0
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


@kernel
def take(
    items: Longs, numbers: Array, own: Array, carried: Array, load: Array, qpos: Array, qvel: Array,
    xpos: Array, xmat: Array, xquat: Array, xipos: Array, parent: Ints, dof_body: Ints, com: Array, root: Ints,
    last_dof: Longs, dof_parent: Ints, cdof: Array, cvel: Array, cacc: Array,
    value: Array, rate: Array, jac: Array, bias: Array,
) -> None:  # fmt: skip
    """Carry out a survey: values, rates, Jacobians (rows, nv) and biases of all probes, each at its place."""
    n = cdof.shape[0]
    value[:], rate[:], bias[:], jac[:] = 0.0, 0.0, 0.0, 0.0
    point, rate6, bias6, jac6 = np.empty(3), np.empty(6), np.empty(6), np.empty((6, n))
    for i in range(items.shape[0]):
        kind, b, v, r = items[i, 0], items[i, 1], items[i, 2], items[i, 3]
        if kind == HINGE:
            d = items[i, 4]
            value[v], rate[r], jac[r, d] = qpos[b], qvel[d], 1.0
            continue
        if kind == CENTRE:
            _centre_rows(
                own[items[i, 4]], carried[items[i, 4]], load, xipos, parent, dof_body, com, root, cdof, cvel, cacc,
                point, rate6, jac6, bias6,
            )  # fmt: skip
            for k in range(3):
                a = items[i, 5 + k]
                if a >= 0:
                    value[v + k], rate[r + k], bias[r + k] = point[a], rate6[a], bias6[a]
                    for d in range(n):
                        jac[r + k, d] = jac6[a, d]
            continue
        for k in range(3):
            point[k] = xpos[b, k]
        if kind == POINT:
            _rotate(xmat[b], numbers[i, :3], value[v : v + 3])
            for k in range(3):
                point[k] += value[v + k]
                value[v + k] = point[k]
        frame_rows(point, com[root[b]], last_dof[b], dof_parent, cdof, cvel[b], cacc[b], jac6, rate6, bias6)
        if kind in (POINT, ORIENTATION):
            first = 0 if kind == POINT else 3
            for k in range(3):
                rate[r + k], bias[r + k] = rate6[first + k], bias6[first + k]
                for d in range(n):
                    jac[r + k, d] = jac6[first + k, d]
            if kind == ORIENTATION:
                for k in range(4):
                    value[v + k] = xquat[b, k]
            continue
        for t in range(3):
            _rotate(xmat[b], numbers[i, 3 * t : 3 * t + 3], value[v + 3 * t : v + 3 * t + 3])
        # the tangents rotate with the body, and w . (w x t) = 0: no further bias
        for t in range(2):
            for m in range(3):
                w = value[v + 3 + 3 * t + m]
                rate[r + t] += w * rate6[3 + m]
                bias[r + t] += w * bias6[3 + m]
                for d in range(n):
                    jac[r + t, d] += w * jac6[3 + m, d]
        if kind == GAZE:
            for k in range(3):
                value[v + 9 + k] = point[k]
            _rotate(xmat[items[i, 4]], numbers[i, 9:12], value[v + 12 : v + 15])
