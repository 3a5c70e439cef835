"""The six measures: point, orientation, centre of mass, momentum, posture, look-at.

A measure returns value, rate, jacobian, bias with  rate = jacobian @ qvel,  d(rate)/dt = jacobian @ qacc + bias  and, in the
sense of `error`, d(value)/dt = rate. `error(value, goal)` is the way from value to goal in the space of the rows.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.physics.dynamics import Dynamics

Array = NDArray[np.float64]


@kernel
def _turns(value: Array, goal: Array) -> Array:
    """Rotation vectors (3 n,) in world axes that turn quaternions value (4 n,) into goal, the short way."""
    n = value.shape[0] // 4
    out = np.empty(3 * n)
    for i in range(n):
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
    return out


@kernel
def _seen(direction: Array, eye: Array, carrier: Array, ahead: Array) -> Array:
    """Direction and tangents (9,), the eye's place (3,), and straight ahead of the carrier in world axes (3,)."""
    out = np.empty(15)
    out[:9] = direction
    for k in range(3):
        out[9 + k] = eye[k]
        out[12 + k] = carrier[3 * k] * ahead[0] + carrier[3 * k + 1] * ahead[1] + carrier[3 * k + 2] * ahead[2]
    return out


@kernel
def _gaze(value: Array, goal: Array, soften: float) -> Array:
    """As _angles_across, towards a point seen from value[9:12], drawn aside to the direction value[12:15]."""
    way = goal[:3] - value[9:12]
    length = max(np.sqrt(way[0] ** 2 + way[1] ** 2 + way[2] ** 2), 1e-9)
    return _angles_across(value, (1.0 - soften) / length * way + soften * value[12:15])


@kernel
def _angles_across(value: Array, goal: Array) -> Array:
    """Turn (2,) [rad] about the two tangents in value[3:9] that brings the direction value[:3] onto `goal`."""
    out = np.zeros(2)
    length = np.sqrt(goal[0] ** 2 + goal[1] ** 2 + goal[2] ** 2)
    if length < 1e-9:
        return out
    x, y, z = goal[0] / length, goal[1] / length, goal[2] / length
    cx, cy, cz = value[1] * z - value[2] * y, value[2] * x - value[0] * z, value[0] * y - value[1] * x
    sine, cosine = np.sqrt(cx * cx + cy * cy + cz * cz), value[0] * x + value[1] * y + value[2] * z
    if sine < 1e-9:
        # facing away exactly: any side will do
        out[0] = 0.0 if cosine > 0 else np.pi
        return out
    scale = np.arctan2(sine, cosine) / sine
    for k in range(2):
        out[k] = scale * (value[3 + 3 * k] * cx + value[4 + 3 * k] * cy + value[5 + 3 * k] * cz)
    return out


class Measured(NamedTuple):
    """value (any shape the measure likes), rate (k,), jacobian (k, nv), bias (k,) = Jdot qvel."""

    value: Array
    rate: Array
    jacobian: Array
    bias: Array


class Measure(Protocol):
    """What a task is about."""

    @property
    def block(self) -> int:
        """Rows that belong together: errors saturate and forces are limited per block."""
        ...

    @property
    def straight(self) -> bool:
        """Whether the error is just goal minus value, so that a goal can slide from one value to another."""
        ...

    def evaluate(self, dynamics: Dynamics) -> Measured: ...

    def error(self, value: Array, goal: Array) -> Array: ...


@dataclass(frozen=True)
class Points:
    """Positions [m] of points fixed to bodies, world axes; three rows each."""

    bodies: NDArray[np.int64]
    offsets: Array  # (n, 3) in the body frames
    block: int = 3
    straight: ClassVar[bool] = True

    def evaluate(self, dynamics: Dynamics) -> Measured:
        return Measured(*dynamics.points(self.bodies, self.offsets))

    def error(self, value: Array, goal: Array) -> Array:
        return goal - value


@dataclass(frozen=True)
class Orientation:
    """Orientation of bodies; rows are angular velocity, world axes. value: one quaternion after the other."""

    bodies: NDArray[np.int64]
    block: int = 3
    straight: ClassVar[bool] = False

    def evaluate(self, dynamics: Dynamics) -> Measured:
        return Measured(*dynamics.orientation(self.bodies))

    def error(self, value: Array, goal: Array) -> Array:
        return _turns(value, goal)


@dataclass(frozen=True)
class Direction:
    """Where a body's own axis points; two rows: the angular velocity across the axis. value: axis and its two tangents."""

    body: int
    axis: Array  # (3,) unit, body frame
    block: int = 2
    straight: ClassVar[bool] = False

    tangents: Array = field(init=False, repr=False)  # (2, 3) perpendicular to the axis, body frame

    def __post_init__(self) -> None:
        other = np.eye(3)[int(np.argmin(np.abs(self.axis)))]
        first = np.cross(self.axis, other)
        first /= np.linalg.norm(first)
        object.__setattr__(self, "tangents", np.stack([first, np.cross(self.axis, first)]))

    def evaluate(self, dynamics: Dynamics) -> Measured:
        # the tangents turn with the body, and w . (w x t) = 0: no further bias
        return Measured(*dynamics.direction(self.body, self.axis, self.tangents))

    def error(self, value: Array, goal: Array) -> Array:
        return _angles_across(value, goal)


@dataclass(frozen=True)
class Look:
    """Gaze: the direction of a body's axis towards a point. Goals are points [m]; rows as in Direction.

    soften: the share of the body that carries it (a thorax) that draws the gaze straight ahead.
    """

    direction: Direction
    carrier: int
    ahead: Array  # (3,) straight ahead, carrier frame
    soften: float = 0.4
    block: int = 2
    straight: ClassVar[bool] = False

    def evaluate(self, dynamics: Dynamics) -> Measured:
        m = self.direction.evaluate(dynamics)
        value = _seen(
            m.value, dynamics.xpos[self.direction.body], dynamics.xmat[self.carrier], self.ahead
        )  # fmt: skip
        return Measured(value, m.rate, m.jacobian, m.bias)

    def error(self, value: Array, goal: Array) -> Array:
        return _gaze(value, goal, self.soften)


@dataclass(frozen=True)
class CentreOfMass:
    """Centre of mass [m] of bodies along chosen world axes, plus what they carry (weighted by World.load)."""

    masses: Array  # (nbody,) [kg], zero for bodies that do not count
    carried: Array  # (nbody,) [kg] of bodies that count as far as they are carried
    axes: tuple[int, ...] = (0, 1)
    block: int = 3
    straight: ClassVar[bool] = True

    def evaluate(self, dynamics: Dynamics) -> Measured:
        value, rate, jacobian, bias = dynamics.centre_of_mass(self.masses, self.carried)
        if self.axes == (0, 1):
            return Measured(value[:2], rate[:2], jacobian[:2], bias[:2])
        k = list(self.axes)
        return Measured(value[k], rate[k], jacobian[k], bias[k])

    def error(self, value: Array, goal: Array) -> Array:
        return goal - value


@dataclass(frozen=True)
class Momentum:
    """Linear [kg m/s] and angular [kg m^2/s] momentum of bodies about their centre of mass: six rows.

    rate IS the momentum; value is mass x centre. Angular momentum has no integral, so its error is zero: laws damp it.
    """

    bodies: tuple[int, ...]
    block: int = 3
    straight: ClassVar[bool] = False

    def evaluate(self, dynamics: Dynamics) -> Measured:
        rate, value, jacobian, bias = dynamics.momentum(list(self.bodies))
        return Measured(value, rate, jacobian, bias)

    def error(self, value: Array, goal: Array) -> Array:
        return np.concatenate([goal[:3] - value[:3], np.zeros(3)])


@dataclass(frozen=True)
class Posture:
    """Angles [rad] of hinge joints; one row each."""

    qpos: NDArray[np.int64]
    dofs: NDArray[np.int64]
    block: int = 1
    straight: ClassVar[bool] = True

    def evaluate(self, dynamics: Dynamics) -> Measured:
        k = len(self.dofs)
        jacobian = np.zeros((k, dynamics.nv))
        jacobian[np.arange(k), self.dofs] = 1.0
        return Measured(*self.angles(dynamics), jacobian, np.zeros(k))

    def angles(self, dynamics: Dynamics) -> tuple[Array, Array]:
        """Value and rate alone."""
        return dynamics.qpos[self.qpos], dynamics.qvel[self.dofs]

    def error(self, value: Array, goal: Array) -> Array:
        return goal - value
