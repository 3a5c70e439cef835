"""Goals: what a task aims at. A goal may move; `at` gives its value and, where known, its rate and acceleration."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, make_interp_spline

from manikin.compiled import kernel
from manikin.errors import InputError, shown
from manikin.physics.world import World

Array = NDArray[np.float64]


class Aim(NamedTuple):
    """value in the measure's own form; rate and acceleration (k,) in the space of its rows."""

    value: Array
    rate: Array | float = 0.0
    acceleration: Array | float = 0.0


class Goal(Protocol):
    """Anything that a task can aim at, fixed or moving."""

    def at(self, world: World, moving: bool = True) -> Aim:
        """Where it is; `moving` False skips rate and acceleration where they are costly."""
        ...


def numbers(whose: str, given: object) -> Array:
    """What was given as an array; refused unless it is made of finite numbers."""
    try:
        out = np.asarray(given, float)
    except (TypeError, ValueError):
        raise InputError(f"{whose}: given {shown(given)}: needs numbers, in rows of equal length") from None
    if not np.isfinite(out).all():
        raise InputError(f"{whose}: given {shown(given)}: needs finite numbers")
    return out


@dataclass(frozen=True)
class Fixed:
    """A goal that stays: numbers in the measure's own form."""

    value: Array

    def __post_init__(self) -> None:
        # plain lists are welcome, also one for each point
        object.__setattr__(self, "value", numbers("Fixed", self.value).ravel())

    def at(self, world: World, moving: bool = True) -> Aim:
        return Aim(self.value)


@dataclass(frozen=True)
class OnBody:
    """Points that move with a body: offsets (n, 3) [m] in its frame."""

    body: int
    offsets: Array

    def at(self, world: World, moving: bool = True) -> Aim:
        dynamics = world.dynamics()
        points = dynamics.on_body(self.body, self.offsets)
        if not moving:
            return Aim(points)
        return Aim(points, np.concatenate([dynamics.frame(self.body, p)[1][:3] for p in points.reshape(-1, 3)]))


@dataclass(frozen=True)
class Over:
    """A place at a fixed offset in world axes from a point of a body: above a foot, however it tilts."""

    body: int
    offset: Array  # (1, 3) [m] in its frame
    away: Array  # (k,) [m] along `axes`
    axes: tuple[int, ...]

    def at(self, world: World, moving: bool = True) -> Aim:
        dynamics, axes = world.dynamics(), list(self.axes)
        point = dynamics.on_body(self.body, self.offset)
        if not moving:
            return Aim(point[axes] + self.away)
        return Aim(point[axes] + self.away, dynamics.frame(self.body, point)[1][axes])


@dataclass(frozen=True)
class Braced:
    """A goal for the centre of mass that anticipates a load: it lies back by part of the shift that the load will cause.

    A load of mass m at p shifts the common centre by m / (M + m) (p - c). People who know the weight lean back before they
    lift; without that the centre of pressure would first have to move further forward to push the body back. What is
    already carried (World.load) counts in the measure and is no longer anticipated.
    """

    place: Array  # (k,) along `axes`
    axes: tuple[int, ...]
    body: int
    fraction: float  # m / (M + m)
    compensation: float  # 0 to 1: the part of that shift that is anticipated

    def at(self, world: World, moving: bool = True) -> Aim:
        dynamics, out = world.dynamics(), np.empty(len(self.axes))
        _lean(self.place, self.axes, self.body, self.compensation * self.fraction, dynamics.load, dynamics.xpos, out)
        return Aim(out)


@kernel
def _lean(
    place: Array, axes: tuple[int, ...], body: int, fraction: float, load: Array, xpos: Array, out: Array
) -> None:  # fmt: skip
    """See Braced."""
    left = fraction * (1.0 - load[body])
    for i in range(out.shape[0]):
        out[i] = place[i] - left * (xpos[body, axes[i]] - place[i])


class Flight(NamedTuple):
    """Where a flying body crosses a plane: in how many seconds (may be negative), place and velocity there."""

    seconds: float
    place: Array
    velocity: Array


def flight_to_plane(world: World, body: int, origin: Array, normal: Array) -> Flight:
    """Ballistic flight of a free body to the plane through `origin` that it approaches against `normal`.

    A body that flies away from the plane never arrives: seconds is infinite, place and velocity are the present ones.
    """
    data, gravity = world.data, world.model.opt.gravity
    dof = int(world.model.body_dofadr[body])
    place, velocity = data.xpos[body].copy(), data.qvel[dof : dof + 3].copy()
    closing = -float(velocity @ normal)
    pull = -float(gravity @ normal)
    gap = float((place - origin) @ normal)
    if abs(pull) < 1e-9:
        seconds = gap / closing if closing > 1e-3 else float("inf")
    else:
        root = closing * closing + 2 * pull * gap
        seconds = (-closing + np.sqrt(root)) / pull if root > 0 else float("inf")
    if not np.isfinite(seconds):
        return Flight(float("inf"), place, velocity)
    return Flight(seconds, place + seconds * velocity + 0.5 * seconds**2 * gravity, velocity + seconds * gravity)


def depth(world: World, body: int, direction: Array) -> float:
    """How far [m] a prop's surface lies from its middle along a direction (the support of its first shape)."""
    model = world.model
    geom = int(model.body_geomadr[body])
    size = model.geom_size[geom]
    x, y, z = np.abs(world.data.geom_xmat[geom].reshape(3, 3).T @ direction)
    kind = int(model.geom_type[geom])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return float(x * size[0] + y * size[1] + z * size[2])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return float(np.hypot(x, y) * size[0] + z * size[1])
    return float(size[0] + (z * size[1] if kind == mujoco.mjtGeom.mjGEOM_CAPSULE else 0.0))


@dataclass(frozen=True)
class Meet:
    """Where a palm meets a flying prop, and how it then moves with it.

    Abe & Popovic 2006, section 5: stabilization puts the hand where the ball should be caught, tracking then matches the
    hand's velocity to the ball's. The hand waits slightly in front of the plane, then recedes with constant acceleration
    for `seconds`, so that it moves with a fraction of the ball's velocity when the ball reaches it, equally far behind the
    plane. Without `moving` it is the place to wait at.
    """

    body: int
    origin: Array
    normal: Array
    give: float  # fraction of its velocity
    most: float  # [m/s]
    seconds: float

    def at(self, world: World, moving: bool = True) -> Aim:
        flight = flight_to_plane(world, self.body, self.origin, self.normal)
        speed = max(float(np.linalg.norm(flight.velocity)), 1e-9)
        ratio = min(self.give, self.most / speed)
        # the hand travels ratio / 2 of the ball's path in that time, and the plane lies halfway
        late = 0.25 * ratio * self.seconds
        gravity = world.model.opt.gravity
        velocity = flight.velocity + late * gravity
        place = flight.place + late * flight.velocity + 0.5 * late**2 * gravity
        heading = velocity / max(float(np.linalg.norm(velocity)), 1e-9)
        place = place + depth(world, self.body, heading) * heading
        rate = ratio * velocity
        start = place - 0.5 * self.seconds * rate
        if not moving or not np.isfinite(flight.seconds):
            return Aim(start)
        begun = max(self.seconds - flight.seconds - late, 0.0)
        if begun >= self.seconds:
            return Aim(place + (begun - self.seconds) * rate, rate)
        pull = rate / self.seconds
        return Aim(start + 0.5 * begun**2 * pull, begun * pull, pull if begun > 0 else np.zeros(3))


@dataclass(frozen=True)
class Against:
    """The direction opposite to a prop's flight where it crosses a plane."""

    body: int
    origin: Array
    normal: Array

    def at(self, world: World, moving: bool = True) -> Aim:
        velocity = flight_to_plane(world, self.body, self.origin, self.normal).velocity
        return Aim(-velocity / max(float(np.linalg.norm(velocity)), 1e-9))


def launch_velocity(place: Array, target: Array, gravity: float) -> Array:
    """The slowest velocity [m/s] that takes a prop from `place` to `target` (3,) in free flight."""
    offset = target - place
    along = float(np.hypot(offset[0], offset[1]))
    rise = float(offset[2])
    # least speed: v^2 = g (h + sqrt(h^2 + d^2)), at the angle halfway between the line of sight and the vertical
    far = float(np.hypot(along, rise))
    speed = np.sqrt(gravity * (rise + far))
    angle = 0.5 * (np.pi / 2 + np.arctan2(rise, max(along, 1e-9)))
    level = offset[:2] / max(along, 1e-9)
    return np.array([*(speed * np.cos(angle) * level), speed * np.sin(angle)])


@dataclass(frozen=True)
class Throw:
    """A curve that winds up and ends at a place with a velocity: two cubic Hermite pieces (Abe & Popovic 2006, section 5).

    The wind-up goes from where the prop is to rest, `draw` metres behind the place of release; from there the throw
    accelerates evenly. `ends` is the moment of release.
    """

    began: float
    start: Array
    speed: Array
    place: Array
    velocity: Array
    draw: float
    windup: float  # [s]

    @property
    def swing(self) -> float:
        """Seconds from rest to release: at constant acceleration, twice the distance over the speed."""
        return 2 * self.draw / max(float(np.linalg.norm(self.velocity)), 1e-6)

    @property
    def ends(self) -> float:
        return self.began + self.windup + self.swing

    def lands(self, height: float, gravity: float) -> Array:
        """Where (2,) [m] the released prop falls to `height`."""
        rise = float(self.velocity[2])
        seconds = (rise + np.sqrt(max(rise * rise + 2 * gravity * (self.place[2] - height), 0.0))) / gravity
        return np.asarray(self.place[:2] + seconds * self.velocity[:2])

    def at(self, world: World, moving: bool = True) -> Aim:
        back = self.place - self.draw / max(float(np.linalg.norm(self.velocity)), 1e-6) * self.velocity
        t, rest = world.time - self.began, np.zeros(3)
        if t < self.windup:
            return hermite(self.start, self.speed, back, rest, self.windup, t)
        if t < self.windup + self.swing:
            return hermite(back, rest, self.place, self.velocity, self.swing, t - self.windup)
        return Aim(self.place + (t - self.windup - self.swing) * self.velocity, self.velocity)


def hermite(p0: Array, v0: Array, p1: Array, v1: Array, span: float, t: float) -> Aim:
    """A cubic from place p0, velocity v0 to p1, v1 in `span` seconds, at time t."""
    s, m0, m1 = t / span, v0 * span, v1 * span
    c2, c3 = 3 * (p1 - p0) - 2 * m0 - m1, 2 * (p0 - p1) + m0 + m1
    return Aim(p0 + s * (m0 + s * (c2 + s * c3)), (m0 + s * (2 * c2 + 3 * s * c3)) / span, (2 * c2 + 6 * s * c3) / span**2)


@dataclass(frozen=True)
class Path:
    """A smooth curve through timed keys: cubic Hermite with Catmull-Rom slopes, at rest beyond both ends."""

    times: Array  # (n,) [s], increasing, from `start`
    keys: Array  # (n, k)
    start: float

    def __post_init__(self) -> None:
        times, keys = numbers("Path: times", self.times), numbers("Path: keys", self.keys)
        numbers("Path: start", self.start)
        if times.ndim != 1 or not len(times) or (np.diff(times) <= 0).any():
            raise InputError(f"Path: times: given {shown(self.times)}: needs one or more that increase")
        if keys.ndim != 2 or len(keys) != len(times):
            raise InputError(f"Path: keys: given the shape {keys.shape}: needs one row for each of {len(times)} times")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "keys", keys)

    def at(self, world: World, moving: bool = True) -> Aim:
        out = np.empty((3, self.keys.shape[1]))
        _along(self.times, self.keys, world.time - self.start, out)
        return Aim(out[0], out[1], out[2]) if moving else Aim(out[0])


@kernel
def _along(times: Array, keys: Array, t: float, out: Array) -> None:
    """Value, rate and acceleration `out` (3, k) of a Path at time t."""
    n = times.shape[0]
    for j in range(out.shape[1]):
        out[0, j], out[1, j], out[2, j] = keys[0 if t <= times[0] else n - 1, j], 0.0, 0.0
    if t <= times[0] or t >= times[n - 1]:
        return
    i = np.searchsorted(times, t, side="right") - 1
    span = times[i + 1] - times[i]
    s = (t - times[i]) / span
    for j in range(out.shape[1]):
        # slopes at both ends, times the span
        m0 = span * (keys[i + 1, j] - keys[i - 1, j]) / (times[i + 1] - times[i - 1]) if i > 0 else 0.0
        m1 = span * (keys[i + 2, j] - keys[i, j]) / (times[i + 2] - times[i]) if i + 2 < n else 0.0
        step = keys[i + 1, j] - keys[i, j]
        c2, c3 = 3 * step - 2 * m0 - m1, m0 + m1 - 2 * step
        out[0, j] = keys[i, j] + s * (m0 + s * (c2 + s * c3))
        out[1, j] = (m0 + s * (2 * c2 + 3 * s * c3)) / span
        out[2, j] = (2 * c2 + 6 * s * c3) / span**2


@dataclass(frozen=True)
class Spline:
    """A cubic B-spline through key poses, at rest in the first and the last (Kim & Pollard 2011, section 3)."""

    curve: BSpline
    rate: BSpline
    acceleration: BSpline
    end: float  # [s]
    start: float

    @classmethod
    def through(cls, times: Array, first: Array, keys: Array, start: float) -> "Spline":
        """times (n,) [s] of the keys (n, k), from `start`, where the pose is `first` (k,)."""
        curve = make_interp_spline([0.0, *times], np.vstack([first, keys]), k=3, bc_type="clamped")
        return cls(curve, curve.derivative(1), curve.derivative(2), float(times[-1]), start)

    def at(self, world: World, moving: bool = True) -> Aim:
        t = world.time - self.start
        if t >= self.end:
            return Aim(self.curve(self.end))
        if not moving:
            return Aim(self.curve(t))
        return Aim(self.curve(t), self.rate(t), self.acceleration(t))


@dataclass(frozen=True)
class Held:
    """Recorded input, sample by sample: each value holds until the next one. Before the first, the first."""

    times: Array  # (n,) [s], increasing, from `start`
    values: Array  # (n, k) in the measure's own form
    start: float

    def at(self, world: World, moving: bool = True) -> Aim:
        # allow for rounding: the world's clock is a sum of time steps
        k = int(np.searchsorted(self.times, world.time - self.start + 1e-9, side="right")) - 1
        return Aim(self.values[max(k, 0)])
