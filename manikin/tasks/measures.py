"""The seven measures: point, orientation, centre of mass, momentum, spin, posture, look-at.

A measure returns value, rate, jacobian, bias with  rate = jacobian @ qvel,  d(rate)/dt = jacobian @ qacc + bias  and, in the
sense of `error`, d(value)/dt = rate. `error(value, goal)` is the displacement from value to goal in the space of
the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.physics.dynamics import Dynamics
from manikin.physics.survey import AXIS, CENTRE, GAZE, HINGE, ORIENTATION, POINT, Probe, Survey

Array = NDArray[np.float64]


# how the error from a value to a goal is formed: difference; rotation vectors; the angles that bring an axis onto a direction,
# or towards a point; difference of the first three numbers only; always zero
DIFFERENCE, ROTATIONS, DIRECTION, GAZE_ANGLES, FIRST_THREE, NO_ERROR = range(6)


@kernel
def error_between(kind: int, soften: float, value: Array, goal: Array, out: Array) -> None:
    """The error `out` (k,) from value to goal, in the space of a measure's rows."""
    if kind == ROTATIONS:
        _rotation_vectors(value, goal, out)
    elif kind == DIRECTION:
        _angles_across(value, goal, out)
    elif kind == GAZE_ANGLES:
        _gaze(value, goal, soften, out)
    else:
        known = out.shape[0] if kind == DIFFERENCE else 3 if kind == FIRST_THREE else 0
        for i in range(out.shape[0]):
            out[i] = goal[i] - value[i] if i < known else 0.0


@kernel
def _rotation_vectors(value: Array, goal: Array, out: Array) -> None:
    """Rotation vectors `out` (3 n,) in world axes that take quaternions value (4 n,) to goal, along the shorter arc."""
    for i in range(value.shape[0] // 4):
        gw, gx, gy, gz = goal[4 * i], goal[4 * i + 1], goal[4 * i + 2], goal[4 * i + 3]
        vw, vx, vy, vz = value[4 * i], -value[4 * i + 1], -value[4 * i + 2], -value[4 * i + 3]
        w = gw * vw - gx * vx - gy * vy - gz * vz
        x = gw * vx + gx * vw + gy * vz - gz * vy
        y = gw * vy - gx * vz + gy * vw + gz * vx
        z = gw * vz + gx * vy - gy * vx + gz * vw
        sign = 1.0 if w >= 0 else -1.0
        sine = np.sqrt(x * x + y * y + z * z)
        scale = sign * (2.0 * np.arctan2(sine, sign * w) / sine if sine > 1e-12 else 2.0)
        out[3 * i], out[3 * i + 1], out[3 * i + 2] = scale * x, scale * y, scale * z


@kernel
def _gaze(value: Array, goal: Array, soften: float, out: Array) -> None:
    """As _angles_across, towards a point seen from value[9:12]; `soften` blends in the direction value[12:15]."""
    aim = np.empty(3)
    for k in range(3):
        aim[k] = goal[k] - value[9 + k]
    length = max(np.sqrt(aim[0] ** 2 + aim[1] ** 2 + aim[2] ** 2), 1e-9)
    for k in range(3):
        aim[k] = (1.0 - soften) / length * aim[k] + soften * value[12 + k]
    _angles_across(value, aim, out)


@kernel
def _angles_across(value: Array, goal: Array, out: Array) -> None:
    """Angles `out` (2,) [rad] about the two tangents in value[3:9] that bring the direction value[:3] onto `goal`."""
    out[0], out[1] = 0.0, 0.0
    length = np.sqrt(goal[0] ** 2 + goal[1] ** 2 + goal[2] ** 2)
    if length < 1e-9:
        return
    x, y, z = goal[0] / length, goal[1] / length, goal[2] / length
    cx, cy, cz = value[1] * z - value[2] * y, value[2] * x - value[0] * z, value[0] * y - value[1] * x
    sine, cosine = np.sqrt(cx * cx + cy * cy + cz * cz), value[0] * x + value[1] * y + value[2] * z
    if sine < 1e-9:
        # exactly opposite: rotate about either tangent
        out[0] = 0.0 if cosine > 0 else np.pi
        return
    scale = np.arctan2(sine, cosine) / sine
    for k in range(2):
        out[k] = scale * (value[3 + 3 * k] * cx + value[4 + 3 * k] * cy + value[5 + 3 * k] * cz)


class Reading(NamedTuple):
    """What a law needs to know: value (its shape depends on the measure) and rate (k,)."""

    value: Array
    rate: Array


class Measured(NamedTuple):
    """value (its shape depends on the measure), rate (k,), jacobian (k, nv), bias (k,) = Jdot qvel."""

    value: Array
    rate: Array
    jacobian: Array
    bias: Array


class Measure(Protocol):
    """A quantity that a task controls. Measures are compared by identity."""

    def __hash__(self) -> int: ...

    @property
    def block(self) -> int:
        """Rows that belong together: errors saturate and forces are limited per block."""
        ...

    @property
    def error_kind(self) -> int:
        """How the error to a goal is formed (see error_between). With DIFFERENCE, goals can be interpolated."""
        ...

    @property
    def soften(self) -> float:
        """See Look; 0 for all others."""
        ...

    def evaluate(self, dynamics: Dynamics) -> Measured: ...

    def error(self, value: Array, goal: Array) -> Array: ...


def row_count(measure: Any) -> int:
    """How many rows a measure has."""
    return sum(probe.rows for probe in measure.probes()) if isinstance(measure, Probed) else measure.size


def goal_size(measure: Measure, rows: int | None = None) -> int:
    """How many numbers a goal has, and kernels read: 0 for a measure that takes none. rows: of the measure, where known."""
    rows = row_count(measure) if rows is None else rows
    return (rows, 4 * rows // 3, 3, 3, 3, 0)[measure.error_kind]


class WithError:
    """A measure whose error follows from its `error_kind`."""

    error_kind: ClassVar[int]
    soften: float = 0.0

    def error(self, value: Array, goal: Array) -> Array:
        """The error from value to goal, in the space of the rows."""
        count = len(value)
        sizes = (count, 3 * (count // 4), 2, 2, 6, 3)  # rows, by error_kind
        out = np.empty(sizes[self.error_kind])
        error_between(self.error_kind, self.soften, value, goal, out)
        return out


class Probed(WithError):
    """A measure that can be taken together with others in one survey."""

    def probes(self) -> tuple[Probe, ...]:
        raise NotImplementedError

    def evaluate(self, dynamics: Dynamics) -> Measured:
        taken = read_all(dynamics, (self,))
        return Measured(*taken.readings[0], taken.jacobian, taken.bias)


class Plan(NamedTuple):
    """How several measures are taken in one survey: where each finds its values and rows; which are evaluated on their own."""

    survey: Survey
    values: tuple[slice, ...]
    rows: tuple[slice, ...]
    alone: tuple[int, ...]


@lru_cache(64)
def plan_of(*measures: Any) -> Plan:
    """Made once per list of measures."""
    probes: list[Probe] = []
    places: list[tuple[int, int]] = []
    values, rows = [0], [0]
    for measure in measures:
        value, row = values[-1], rows[-1]
        if isinstance(measure, Probed):
            for probe in measure.probes():
                probes.append(probe)
                places.append((value, row))
                value, row = value + probe.values, row + probe.rows
        else:
            row += measure.size
        values.append(value)
        rows.append(row)
    alone = tuple(k for k, m in enumerate(measures) if not isinstance(m, Probed))
    slices = [tuple(slice(a, b) for a, b in pairwise(ends)) for ends in (values, rows)]
    return Plan(Survey(probes, places, values[-1], rows[-1]), slices[0], slices[1], alone)


class Readings(NamedTuple):
    """Readings of several measures; Jacobian (k, nv) and bias (k,) of all of them, stacked; the rows of each."""

    readings: list[Reading]
    jacobian: Array
    bias: Array
    rows: tuple[slice, ...]


def read_all(dynamics: Dynamics, measures: Sequence["Measure | Probed"]) -> Readings:
    """All measures in one survey."""
    plan = plan_of(*measures)
    value, rate, jacobian, bias = dynamics.survey(plan.survey)
    out = [Reading(value[v], rate[r]) for v, r in zip(plan.values, plan.rows)]
    for k in plan.alone:
        now = measures[k].evaluate(dynamics)
        out[k] = Reading(now.value, now.rate)
        jacobian[plan.rows[k]], bias[plan.rows[k]] = now.jacobian, now.bias
    return Readings(out, jacobian, bias, plan.rows)


@dataclass(frozen=True, eq=False)
class Points(Probed):
    """Positions [m] of points fixed to bodies, world axes; three rows each."""

    bodies: NDArray[np.int64]
    offsets: Array  # (n, 3) in the body frames
    block: int = 3
    error_kind: ClassVar[int] = DIFFERENCE

    def probes(self) -> tuple[Probe, ...]:
        return tuple(Probe(POINT, int(b), tuple(offset)) for b, offset in zip(self.bodies, self.offsets))


@dataclass(frozen=True, eq=False)
class Orientation(Probed):
    """Orientation of bodies; rows are angular velocity, world axes. value: one quaternion after the other."""

    bodies: NDArray[np.int64]
    block: int = 3
    error_kind: ClassVar[int] = ROTATIONS

    def probes(self) -> tuple[Probe, ...]:
        return tuple(Probe(ORIENTATION, int(b)) for b in self.bodies)


@dataclass(frozen=True, eq=False)
class Direction(Probed):
    """Where a body's own axis points; two rows: the angular velocity across the axis. value: axis and its two tangents."""

    body: int
    axis: Array  # (3,) unit, body frame
    block: int = 2
    error_kind: ClassVar[int] = DIRECTION

    tangents: Array = field(init=False, repr=False)  # (2, 3) perpendicular to the axis, body frame

    def __post_init__(self) -> None:
        other = np.eye(3)[int(np.argmin(np.abs(self.axis)))]
        first = np.cross(self.axis, other)
        first /= np.linalg.norm(first)
        object.__setattr__(self, "tangents", np.stack([first, np.cross(self.axis, first)]))

    def probes(self) -> tuple[Probe, ...]:
        return (Probe(AXIS, self.body, (*self.axis, *self.tangents.ravel())),)


@dataclass(frozen=True, eq=False)
class Look(Probed):
    """Gaze: the direction of a body's axis towards a point. Goals are points [m]; rows as in Direction.

    soften: 0 to 1, how far the gaze is drawn to straight ahead of the body that carries the head (a thorax).
    """

    direction: Direction
    carrier: int
    ahead: Array  # (3,) straight ahead, carrier frame
    soften: float = 0.4
    block: int = 2
    error_kind: ClassVar[int] = GAZE_ANGLES

    def probes(self) -> tuple[Probe, ...]:
        axis = self.direction.probes()[0]
        return (Probe(GAZE, axis.body, (*axis.numbers, *self.ahead), self.carrier),)


@dataclass(frozen=True, eq=False)
class CentreOfMass(Probed):
    """Centre of mass [m] of bodies along chosen world axes, plus what they carry (weighted by World.load)."""

    masses: Array  # (nbody,) [kg], zero for bodies that do not count
    carried: Array  # (nbody,) [kg] of bodies that count as far as they are carried
    axes: tuple[int, ...] = (0, 1)
    block: int = 3
    error_kind: ClassVar[int] = DIFFERENCE

    def probes(self) -> tuple[Probe, ...]:
        return (Probe(CENTRE, axes=self.axes, masses=(self.masses, self.carried)),)


@dataclass(frozen=True, eq=False)
class Momentum(WithError):
    """Linear [kg m/s] and angular [kg m^2/s] momentum of bodies about their centre of mass: six rows.

    rate IS the momentum; value is mass x centre. Angular momentum has no integral, so its error is zero: laws damp it.
    """

    bodies: tuple[int, ...]
    block: int = 3
    error_kind: ClassVar[int] = FIRST_THREE
    size: ClassVar[int] = 6  # rows

    def evaluate(self, dynamics: Dynamics) -> Measured:
        rate, value, jacobian, bias = dynamics.momentum(list(self.bodies))
        return Measured(value, rate, jacobian, bias)


@dataclass(frozen=True, eq=False)
class Spin(WithError):
    """How fast bodies rotate as a whole [rad/s]: their angular momentum about their centre of mass, world axes, divided by
    `inertia` [kg m^2]. Three rows. It has no integral: laws damp it.
    """

    bodies: tuple[int, ...]
    inertia: float
    block: int = 3
    error_kind: ClassVar[int] = NO_ERROR
    size: ClassVar[int] = 3  # rows

    def evaluate(self, dynamics: Dynamics) -> Measured:
        rate, _, jacobian, bias = dynamics.momentum(list(self.bodies))
        return Measured(np.zeros(3), rate[3:] / self.inertia, jacobian[3:] / self.inertia, bias[3:] / self.inertia)


@dataclass(frozen=True, eq=False)
class Posture(Probed):
    """Angles [rad] of hinge joints; one row each."""

    qpos: NDArray[np.int64]
    dofs: NDArray[np.int64]
    block: int = 1
    error_kind: ClassVar[int] = DIFFERENCE

    def probes(self) -> tuple[Probe, ...]:
        return tuple(Probe(HINGE, int(place), carrier=int(dof)) for place, dof in zip(self.qpos, self.dofs))

    def angles(self, dynamics: Dynamics) -> tuple[Array, Array]:
        """Value and rate alone."""
        return dynamics.qpos[self.qpos], dynamics.qvel[self.dofs]
