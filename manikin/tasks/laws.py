"""The five laws: how a task's acceleration is chosen. Abe & Popovic 2006, section 4.1, Eq. 11 and 12.

Gains are frequencies [Hz]: k = (2 pi f)^2, critically damped. Laws hold the little memory they need (a smoothed goal, the
start of a reach), so copy them with their task.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.physics.world import Obstruction, World
from manikin.springs import advance, gains, spring_to
from manikin.tasks.goals import Aim
from manikin.tasks.measures import STRAIGHT, Measure, Points, Posture, Reading, way_to

Array = NDArray[np.float64]

# what is left of a hidden error [rad] and its speed [rad/s] when all of it counts as asked for
FADED = 1e-6
# a thought this short [m] and slow [m/s] is none
FORGOTTEN = 1e-5


# how far [m] bodies, by number, are thought ahead of where they are
Ways = Mapping[int, Array]


class PoseSource(Protocol):
    """Anything that proposes joint angles for the present state: a clip searched for its nearest pose."""

    def pose(self, world: World, ways: Ways) -> Array: ...

    def motion(self, world: World, ways: Ways) -> tuple[Array, Array, Array]:
        """Angles [rad] with the rates [rad/s] and accelerations [rad/s^2] they had in the clip."""
        ...


class Leader(Protocol):
    """A task that brings points somewhere, while it is on and has a goal."""

    active: bool

    def ways(self, world: World) -> Ways:
        """How far each point's body is from its goal."""
        ...


class Law(Protocol):
    """What is wanted of a measure."""

    @property
    def moving(self) -> bool:
        """Whether it asks for the goal's speed and acceleration."""
        ...

    def restart(self) -> None:
        """The task was switched on or got a new goal."""
        ...

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        """Write the wanted acceleration of the rows into `out` (k,); how far the value is from its goal."""
        ...


@kernel
def pull_to(
    way: int, soften: float, goal: Array, value: Array, rate: Array,
    k: float, damping: float, reach: float, block: int, out: Array,
) -> float:  # fmt: skip
    """Eq. 11 with a limited error, into `out`; the distance from the goal. way, soften: see measures.way_to."""
    left = np.empty(rate.shape[0])
    way_to(way, soften, value, goal, left)
    return pull(left, left, rate, k, damping, reach, block, out)


@kernel
def pull(
    error: Array, left: Array, rate: Array, k: float, damping: float, reach: float, block: int, out: Array
) -> float:  # fmt: skip
    """Eq. 11 with a limited error, into `out`; the distance that is left to the real goal."""
    shorten(error, reach, block, out)
    for i in range(out.shape[0]):
        out[i] = k * out[i] - damping * rate[i]
    return distance(left, block)


@kernel
def pull_smoothly(
    goal: Array, value: Array, rate: Array, place: Array, speed: Array, halflife: float, dt: float,
    k: float, damping: float, reach: float, block: int, out: Array,
) -> float:  # fmt: skip
    """Eq. 11 towards a goal that slides: place and speed follow the real one (springs.spring_to), in place."""
    advance(place, speed, goal, halflife, dt)
    error, left = np.empty(rate.shape[0]), np.empty(rate.shape[0])
    for i in range(rate.shape[0]):
        error[i], left[i] = place[i] - value[i], goal[i] - value[i]
    return pull(error, left, rate, k, damping, reach, block, out)


@kernel
def pull_gradually(
    way: int, soften: float, goal: Array, value: Array, rate: Array, hidden: Array, speed: Array, asked: Array,
    halflife: float, dt: float, k: float, damping: float, reach: float, block: int, out: Array,
) -> float:  # fmt: skip
    """As pull_to, for an error of which the part `hidden` is not asked for yet; it fades, and `asked` is what is left."""
    left = np.empty(rate.shape[0])
    way_to(way, soften, value, goal, left)
    most = 0.0
    for i in range(hidden.shape[0]):
        most = max(most, abs(hidden[i]), abs(speed[i]))
    faded = most < FADED
    if not faded:
        advance(hidden, speed, np.zeros(hidden.shape[0]), halflife, dt)
    for i in range(left.shape[0]):
        asked[i] = left[i] if faded else left[i] - hidden[i]
    return pull(asked, left, rate, k, damping, reach, block, out)


@kernel
def pull_along(
    goal: Array, value: Array, rate: Array, place: Array, speed: Array, halflife: float, dt: float,
    k: float, damping: float, lead: float, out: Array,
) -> float:  # fmt: skip
    """As pull_smoothly, and the share `lead` of the sliding goal's speed is asked for as well. Errors are not limited."""
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
    """Eq. 11: f* = k (x_d - x) - 2 sqrt(k) xdot, calmed.

    smoothing: half-life [s] of a critically damped filter on the goal (a step of a metre yanks otherwise). What blocks a
    held prop holds back the filtered goals of the hands on it.
    reach: errors longer than this [m or rad] pull no harder; None for no limit.
    """

    frequency: float = 1.0
    smoothing: float = 0.0
    reach: float | None = None
    place: Array | None = None  # the smoothed goal; of a curved measure, the part of its error that is not asked for yet
    speed: Array | None = None
    asked: Array | None = None  # the error that the last command answered
    asked_at: float = -np.inf
    moving: bool = False
    fresh: bool = True

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
            return pull_to(measure.way, measure.soften, aim.value, now.value, now.rate, *law)
        time = world.time
        if time - self.asked_at > 1.5 * dt:
            self.place = None
        self.asked_at = time
        if measure.way == STRAIGHT:
            if self.place is None or self.speed is None:
                self.place, self.speed = now.value.copy(), now.rate.copy()
            if world.obstructions and isinstance(measure, Points):
                before = self.place.copy()
                advance(self.place, self.speed, aim.value, self.smoothing, dt)
                _stop_at(world.obstructions.values(), measure.bodies, before, self.place, self.speed)
                return pull(self.place - now.value, aim.value - now.value, now.rate, *law)
            return pull_smoothly(aim.value, now.value, now.rate, self.place, self.speed, self.smoothing, dt, *law)
        # turns have no straight line to slide along: a new error is held back and fades in
        if self.place is None or self.speed is None or self.asked is None:
            self.place, self.speed = measure.error(now.value, aim.value), -now.rate
            self.asked = np.zeros_like(self.place)
        elif self.fresh:
            self.place = measure.error(now.value, aim.value) - self.asked
        self.fresh = False
        return pull_gradually(
            measure.way, measure.soften, aim.value, now.value, now.rate, self.place, self.speed, self.asked, self.smoothing, dt,
            *law,
        )  # fmt: skip


@dataclass
class Track:
    """Eq. 12: f* = k (x_d - x) + 2 sqrt(k) (xdot_d - xdot) + xddot_d."""

    frequency: float = 2.0
    moving: bool = True

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

    def restart(self) -> None:
        self.began = None

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        k, damping = gains(self.frequency, dt)
        if aim is None:
            out[:] = -damping * now.rate
            return 0.0
        if self.began is None or self.origin is None:
            # remember the way still to go, in the space of the rows
            self.began, self.origin = world.time, measure.error(now.value, aim.value)
        left = measure.error(now.value, aim.value)
        s = min(max((world.time - self.began) / self.seconds, 0.0), 1.0)
        remaining = 1 - s**3 * (10 - 15 * s + 6 * s * s)
        slope = -30 * s * s * (1 - s) ** 2 / self.seconds
        curve = -60 * s * (1 - s) * (1 - 2 * s) / self.seconds**2
        # on the curve the error is `remaining x origin`, and the value moves against the error
        ahead = left - remaining * self.origin
        want = k * ahead + damping * (-slope * self.origin + aim.rate - now.rate) - curve * self.origin
        out[:] = want + aim.acceleration
        return distance(left, measure.block)


@dataclass
class Hold:
    """Stay where the task was switched on."""

    frequency: float = 2.0
    place: Array | None = None
    moving: bool = False

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
    lead: share of the moving pose's speed that is asked for as well.
    every: seconds between two searches.
    ahead, leaders: the hands are thought up to this far [m] ahead, towards the goals of the tasks that lead them. People
    bend when they mean to reach down, not when the arms are stretched: then a nearly straight body could as well give way
    backwards. A new thought comes gently (half-life `lookahead_halflife`).
    feed: ask for the velocity and acceleration that the matched frames had in the clip, in place of `lead` (section 6).
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
    lookahead: dict[int, tuple[Array, Array]] = field(default_factory=dict)  # body -> way that is thought ahead, its speed
    found: Array | None = None
    fed: tuple[Array, Array] | None = None  # rates and accelerations of what was found
    found_at: float = -1.0
    position: Array | None = None
    speed: Array | None = None
    moving: bool = False

    def restart(self) -> None:
        """The smoothed pose carries on from where it is."""

    def command(self, world: World, measure: Measure, now: Reading, aim: Aim | None, dt: float, out: Array) -> float:
        if not isinstance(measure, Posture):
            raise TypeError("the law 'nearest' is for posture")
        goal = self._search(world) if aim is None else aim.value
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

    def _search(self, world: World) -> Array:
        if self.found is None or not 0 <= world.time - self.found_at < self.every - 1e-9:
            # time may have gone back: then no time has passed
            since = min(max(world.time - self.found_at, 0.0), self.every)
            ways = self._ways(world, since) if self.ahead > 0 or self.lookahead else {}
            self.found_at = world.time
            if self.feed:
                self.found, *fed = self.source.motion(world, ways)
                self.fed = (fed[0], fed[1])
            else:
                self.found = self.source.pose(world, ways)
        return self.found

    def _ways(self, world: World, dt: float) -> Ways:
        wanted: dict[int, Array] = {}
        for leader in self.leaders:
            if leader.active and self.ahead > 0:
                wanted |= {body: saturate(way, self.ahead, 3) for body, way in leader.ways(world).items()}
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
