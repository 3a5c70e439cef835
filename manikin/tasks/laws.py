"""The five laws: how a task's acceleration is chosen. Abe & Popovic 2006, section 4.1, Eq. 11 and 12.

Gains are frequencies [Hz]: k = (2 pi f)^2, critically damped. Laws have state (a smoothed goal, the start of a reach): copy
them with their task.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.errors import InputError, shown
from manikin.physics.world import Obstruction, World
from manikin.springs import advance, gains, spring_to
from manikin.tasks.goals import Aim
from manikin.tasks.measures import DIFFERENCE, Measure, Points, Posture, Reading, error_between

Array = NDArray[np.float64]

# below this a hidden error [rad] and its speed [rad/s] count as zero
FADED = 1e-6
# a lookahead shorter [m] and slower [m/s] than this is dropped
FORGOTTEN = 1e-5


# body number -> displacement [m] (3,) from where the body is: towards its goal, or its lookahead
Displacements = Mapping[int, Array]


class PoseSource(Protocol):
    """Anything that proposes joint angles for the present state: a clip searched for its nearest pose."""

    def pose(self, world: World, displacements: Displacements) -> Array: ...

    def motion(self, world: World, displacements: Displacements) -> tuple[Array, Array, Array]:
        """Angles [rad] with the rates [rad/s] and accelerations [rad/s^2] they had in the clip."""
        ...


class Leader(Protocol):
    """A task that moves points towards a goal, while it is active and has one."""

    active: bool

    def displacements(self, world: World) -> Displacements:
        """How far each point's body is from its goal."""
        ...


class Law(Protocol):
    """How the acceleration of a task's rows follows from its reading and its goal."""

    @property
    def moving(self) -> bool:
        """Whether it uses the goal's rate and acceleration."""
        ...

    def restart(self) -> None:
        """The task was switched on or got a new goal."""
        ...

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        """Write the desired acceleration of the rows into `out` (k,); returns the distance from the goal."""
        ...


def _check(law: Law, *keys: str, zero: bool = False) -> None:
    """Refuse settings of a law that are not finite numbers above 0, or, with `zero`, 0 or more."""
    for key in keys:
        value = getattr(law, key)
        if not isinstance(value, Real) or not np.isfinite(float(value)) or value < 0 or (value == 0 and not zero):
            allowed = "a finite number of 0 or more" if zero else "a finite number above 0"
            raise InputError(f"{type(law).__name__}: {key}: given {shown(value)}, needs {allowed}")


@kernel
def pull_to(
    error_kind: int, soften: float, goal: Array, value: Array, rate: Array,
    k: float, damping: float, reach: float, block: int, out: Array,
) -> float:  # fmt: skip
    """Eq. 11 with a limited error, into `out`; the distance from the goal. error_kind, soften: see
    measures.error_between."""
    left = np.empty(rate.shape[0])
    error_between(error_kind, soften, value, goal, left)
    return pull(left, left, rate, k, damping, reach, block, out)


@kernel
def pull(
    error: Array, left: Array, rate: Array, k: float, damping: float, reach: float, block: int, out: Array
) -> float:  # fmt: skip
    """Eq. 11 with a limited error, into `out`; the distance to the actual goal."""
    shorten(error, reach, block, out)
    for i in range(out.shape[0]):
        out[i] = k * out[i] - damping * rate[i]
    return distance(left, block)


@kernel
def pull_smoothly(
    goal: Array, value: Array, rate: Array, place: Array, speed: Array, halflife: float, dt: float,
    k: float, damping: float, reach: float, block: int, out: Array,
) -> float:  # fmt: skip
    """Eq. 11 towards a smoothed goal: place and speed follow the actual one (springs.spring_to) and are updated in place."""
    advance(place, speed, goal, halflife, dt)
    error, left = np.empty(rate.shape[0]), np.empty(rate.shape[0])
    for i in range(rate.shape[0]):
        error[i], left[i] = place[i] - value[i], goal[i] - value[i]
    return pull(error, left, rate, k, damping, reach, block, out)


@kernel
def pull_gradually(
    error_kind: int, soften: float, goal: Array, value: Array, rate: Array, hidden: Array, speed: Array, commanded: Array,
    halflife: float, dt: float, k: float, damping: float, reach: float, block: int, out: Array,
) -> float:  # fmt: skip
    """As pull_to, but the part `hidden` of the error is withheld; it decays, and `commanded` becomes the rest."""
    left = np.empty(rate.shape[0])
    error_between(error_kind, soften, value, goal, left)
    most = 0.0
    for i in range(hidden.shape[0]):
        most = max(most, abs(hidden[i]), abs(speed[i]))
    faded = most < FADED
    if not faded:
        advance(hidden, speed, np.zeros(hidden.shape[0]), halflife, dt)
    for i in range(left.shape[0]):
        commanded[i] = left[i] if faded else left[i] - hidden[i]
    return pull(commanded, left, rate, k, damping, reach, block, out)


@kernel
def pull_along(
    goal: Array, value: Array, rate: Array, place: Array, speed: Array, halflife: float, dt: float,
    k: float, damping: float, lead: float, out: Array,
) -> float:  # fmt: skip
    """As pull_smoothly, with the fraction `lead` of the smoothed goal's speed fed forward. Errors are not limited."""
    advance(place, speed, goal, halflife, dt)
    most = 0.0
    for i in range(rate.shape[0]):
        out[i] = k * (place[i] - value[i]) - damping * (rate[i] - lead * speed[i])
        most = max(most, abs(goal[i] - value[i]))
    return most


@kernel
def saturate(error: Array, limit: float, block: int) -> Array:
    """An error with each block shortened to at most `limit`, keeping its direction."""
    out = np.empty(error.shape[0])
    shorten(error, limit, block, out)
    return out


@kernel
def shorten(error: Array, limit: float, block: int, out: Array) -> None:
    """As saturate, into `out`."""
    for b in range(0, error.shape[0], block):
        stop = min(b + block, error.shape[0])
        square = 0.0
        for i in range(b, stop):
            square += error[i] * error[i]
        scale = limit / np.sqrt(square) if square > limit * limit else 1.0
        for i in range(b, stop):
            out[i] = scale * error[i]


@kernel
def distance(error: Array, block: int) -> float:
    """The longest block of an error: metres or radians from the goal."""
    most = 0.0
    for b in range(0, error.shape[0], block):
        square = 0.0
        for i in range(b, min(b + block, error.shape[0])):
            square += error[i] * error[i]
        most = max(most, square)
    return np.sqrt(most)


def _stop_at(
    obstructions: Iterable[Obstruction], bodies: NDArray[np.int64], before: Array, place: Array, speed: Array
) -> None:  # fmt: skip
    """Keep a smoothed goal from moving on into what blocks a held prop; it may still move along it and away. In place.

    before, place, speed (3 n,): the goals of points on `bodies` (n,) one step ago and now.
    """
    for found in obstructions:
        if not found.blocks:
            continue
        normal = found.force / np.linalg.norm(found.force)
        for i, body in enumerate(bodies):
            if body in found.bodies:
                k = slice(3 * i, 3 * i + 3)
                place[k] -= min(float((place[k] - before[k]) @ normal), 0.0) * normal
                speed[k] -= min(float(speed[k] @ normal), 0.0) * normal


@dataclass
class Stabilize:
    """Eq. 11: f* = k (x_d - x) - 2 sqrt(k) xdot, with a smoothed goal and a limited error.

    smoothing: half-life [s] of a critically damped filter on the goal (otherwise a step of a metre starts with a jerk).
    An obstacle that blocks a held prop also stops the filtered goals of the hands on it.
    reach: errors longer than this [m or rad] pull no harder; None for no limit.
    """

    frequency: float = 1.0
    smoothing: float = 0.0
    reach: float | None = None
    place: Array | None = None  # the smoothed goal; for rotations, the part of the error that is still withheld
    speed: Array | None = None
    commanded: Array | None = None  # the error of the last command
    updated_at: float = -np.inf
    moving: bool = False
    fresh: bool = True

    def __post_init__(self) -> None:
        _check(self, "frequency", *(() if self.reach is None else ("reach",)))
        _check(self, "smoothing", zero=True)

    def restart(self) -> None:
        """The smoothed goal carries on from where it is."""
        self.fresh = True

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        k, damping = gains(self.frequency, dt)
        if aim is None:
            out[:] = -damping * now.rate
            return 0.0
        law = (k, damping, np.inf if self.reach is None else self.reach, measure.block, out)
        if self.smoothing <= 0:
            return pull_to(measure.error_kind, measure.soften, aim.value, now.value, now.rate, *law)
        time = world.time
        if time - self.updated_at > 1.5 * dt:
            self.place = None
        self.updated_at = time
        if measure.error_kind == DIFFERENCE:
            if self.place is None or self.speed is None:
                self.place, self.speed = now.value.copy(), now.rate.copy()
            if world.obstructions and isinstance(measure, Points):
                before = self.place.copy()
                advance(self.place, self.speed, aim.value, self.smoothing, dt)
                _stop_at(world.obstructions.values(), measure.bodies, before, self.place, self.speed)
                return pull(self.place - now.value, aim.value - now.value, now.rate, *law)
            return pull_smoothly(aim.value, now.value, now.rate, self.place, self.speed, self.smoothing, dt, *law)
        # rotations cannot be interpolated along a line: a new error is withheld at first and fades in
        if self.place is None or self.speed is None or self.commanded is None:
            self.place, self.speed = measure.error(now.value, aim.value), -now.rate
            self.commanded = np.zeros_like(self.place)
        elif self.fresh:
            self.place = measure.error(now.value, aim.value) - self.commanded
        self.fresh = False
        return pull_gradually(
            measure.error_kind, measure.soften, aim.value, now.value, now.rate, self.place, self.speed, self.commanded,
            self.smoothing, dt, *law,
        )  # fmt: skip


@dataclass
class Track:
    """Eq. 12: f* = k (x_d - x) + 2 sqrt(k) (xdot_d - xdot) + xddot_d."""

    frequency: float = 2.0
    moving: bool = True

    def __post_init__(self) -> None:
        _check(self, "frequency")

    def restart(self) -> None:
        """Nothing to remember."""

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        k, damping = gains(self.frequency, dt)
        if aim is None:
            out[:] = -damping * now.rate
            return 0.0
        error = measure.error(now.value, aim.value)
        out[:] = k * error + damping * (aim.rate - now.rate) + aim.acceleration
        return distance(error, measure.block)


@dataclass
class Reach:
    """Go from here to the goal in `seconds` with a bell-shaped speed (minimum jerk, Flash & Hogan 1985), then stay."""

    seconds: float = 1.0
    frequency: float = 2.0
    began: float | None = None
    origin: Array | None = None
    moving: bool = True

    def __post_init__(self) -> None:
        _check(self, "seconds", "frequency")

    def restart(self) -> None:
        self.began = None

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        k, damping = gains(self.frequency, dt)
        if aim is None:
            out[:] = -damping * now.rate
            return 0.0
        if self.began is None or self.origin is None:
            # remember the whole error, in the space of the rows
            self.began, self.origin = world.time, measure.error(now.value, aim.value)
        left = measure.error(now.value, aim.value)
        s = min(max((world.time - self.began) / self.seconds, 0.0), 1.0)
        remaining = 1 - s**3 * (10 - 15 * s + 6 * s * s)
        slope = -30 * s * s * (1 - s) ** 2 / self.seconds
        curve = -60 * s * (1 - s) * (1 - 2 * s) / self.seconds**2
        # on the curve the error is `remaining x origin`, and the value moves against the error
        ahead = left - remaining * self.origin
        command = k * ahead + damping * (-slope * self.origin + aim.rate - now.rate) - curve * self.origin
        out[:] = command + aim.acceleration
        return distance(left, measure.block)


@dataclass
class Hold:
    """Stay where the task was switched on."""

    frequency: float = 2.0
    place: Array | None = None
    moving: bool = False

    def __post_init__(self) -> None:
        _check(self, "frequency")

    def restart(self) -> None:
        self.place = None

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        if self.place is None:
            self.place = now.value.copy()
        k, damping = gains(self.frequency, dt)
        error = measure.error(now.value, self.place)
        out[:] = k * error - damping * now.rate
        return distance(error, measure.block)


@dataclass
class Nearest:
    """Section 4.3: stabilise towards the nearest pose of a clip, or towards a given pose while the task has a goal.

    smoothing: half-life [s] of the filter on nearest poses; ease: the same on given poses, which may be far away.
    lead: fraction of the moving pose's speed that is fed forward.
    every: seconds between two searches.
    ahead, leaders: search as if the hands were up to this far [m] nearer to the goals of the tasks that lead them. People
    bend as soon as they reach down, not once the arms are stretched: a nearly straight body might then bend backwards. The
    lookahead is smoothed (half-life `lookahead_halflife`).
    feed: feed forward the velocity and acceleration that the matched frames had in the clip, instead of `lead` (section 6).
    """

    source: PoseSource
    frequency: float = 1.2
    smoothing: float = 0.05
    ease: float = 0.45
    lead: float = 0.7
    every: float = 0.008
    ahead: float = 0.0
    lookahead_halflife: float = 0.15
    feed: bool = False
    leaders: tuple[Leader, ...] = ()
    lookahead: dict[int, tuple[Array, Array]] = field(default_factory=dict)  # body -> displacement and its speed
    found: Array | None = None
    fed: tuple[Array, Array] | None = None  # rates and accelerations of what was found
    found_at: float = -1.0
    position: Array | None = None
    speed: Array | None = None
    moving: bool = False

    def __post_init__(self) -> None:
        _check(self, "frequency")
        _check(self, "smoothing", "ease", "lead", "every", "ahead", "lookahead_halflife", zero=True)

    def restart(self) -> None:
        """The smoothed pose carries on from where it is."""

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        if not isinstance(measure, Posture):
            raise TypeError("the law 'nearest' is for posture")
        goal = self._search(world, len(now.rate)) if aim is None else aim.value
        if self.position is None or self.speed is None:
            self.position, self.speed = goal.copy(), np.zeros_like(goal)
        halflife = self.smoothing if aim is None else self.ease
        k, damping = gains(self.frequency, dt)
        if self.fed is not None and aim is None:
            law = (self.position, self.speed, halflife, dt, k, damping, 0.0, out)
            error = pull_along(goal, now.value, now.rate - self.fed[0], *law)
            out += self.fed[1]
            return error
        # the pose moves along with the hands: without its speed the body would lag a quarter of a second
        return pull_along(goal, now.value, now.rate, self.position, self.speed, halflife, dt, k, damping, self.lead, out)

    def _search(self, world: World, joints: int) -> Array:
        if self.found is None or not 0 <= world.time - self.found_at < self.every - 1e-9:
            # time may have been set back: then treat none as passed
            since = min(max(world.time - self.found_at, 0.0), self.every)
            displacements = self._displacements(world, since) if self.ahead > 0 or self.lookahead else {}
            self.found_at = world.time
            if self.feed:
                self.found, *fed = self.source.motion(world, displacements)
                self.fed = (fed[0], fed[1])
            else:
                self.found = self.source.pose(world, displacements)
            if len(self.found) != joints:
                # kernels read one angle for each joint
                raise InputError(f"Nearest: poses of {len(self.found)} joints cannot be a goal for a posture of {joints}")
        return self.found

    def _displacements(self, world: World, dt: float) -> Displacements:
        wanted: dict[int, Array] = {}
        for leader in self.leaders:
            if leader.active and self.ahead > 0:
                wanted |= {body: saturate(offset, self.ahead, 3) for body, offset in leader.displacements(world).items()}
        nothing = np.zeros(3)
        self.lookahead = {
            body: spring_to(
                *self.lookahead.get(body, (nothing, nothing)), wanted.get(body, nothing), self.lookahead_halflife, dt
            )
            for body in self.lookahead.keys() | wanted.keys()
        }
        if not wanted and all(abs(part).max() < FORGOTTEN for state in self.lookahead.values() for part in state):
            self.lookahead = {}
        return {body: offset for body, (offset, _) in self.lookahead.items()}
