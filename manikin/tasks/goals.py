"""Goals: where a task is headed. A goal may move; `at` gives its value and, where known, its rate and acceleration."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from manikin.physics.world import World

Array = NDArray[np.float64]


class Aim(NamedTuple):
    """value in the measure's own form; rate and acceleration (k,) in the space of its rows."""

    value: Array
    rate: Array | float = 0.0
    acceleration: Array | float = 0.0


class Goal(Protocol):
    """Anything that can say where to go."""

    def at(self, world: World, moving: bool = True) -> Aim:
        """Where it is; `moving` False leaves out rate and acceleration where they cost time."""
        ...


@dataclass(frozen=True)
class Fixed:
    """A goal that stays."""

    value: Array

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
class Braced:
    """A place for the centre of mass that makes ready for a load: it stands back by a share of what the load will add.

    A load of mass m at p brings the common centre forward by m / (M + m) (p - c). Whoever knows the weight leans back
    before lifting; without that the pressure under the feet must run ahead of the load to push the body back under it.
    What is carried already (World.load) counts in the measure, so no more is made ready for it.
    """

    place: Array  # (k,) along `axes`
    axes: tuple[int, ...]
    body: int
    fraction: float  # m / (M + m)
    share: float

    def at(self, world: World, moving: bool = True) -> Aim:
        ahead = world.data.xpos[self.body][list(self.axes)] - self.place
        return Aim(self.place - self.share * self.fraction * (1.0 - world.load[self.body]) * ahead)


@dataclass(frozen=True)
class Path:
    """A smooth curve through timed keys: cubic Hermite with Catmull-Rom slopes, at rest beyond both ends."""

    times: Array  # (n,) [s], increasing, from `start`
    keys: Array  # (n, k)
    start: float

    def at(self, world: World, moving: bool = True) -> Aim:
        t = world.time - self.start
        if t <= self.times[0] or t >= self.times[-1]:
            return Aim(self.keys[0 if t <= self.times[0] else -1])
        i = int(np.searchsorted(self.times, t, side="right")) - 1
        span = self.times[i + 1] - self.times[i]
        s = (t - self.times[i]) / span
        p0, p1 = self.keys[i], self.keys[i + 1]
        m0, m1 = (self._slope(j) * span for j in (i, i + 1))
        c2, c3 = 3 * (p1 - p0) - 2 * m0 - m1, 2 * (p0 - p1) + m0 + m1
        return Aim(p0 + s * (m0 + s * (c2 + s * c3)), (m0 + s * (2 * c2 + 3 * s * c3)) / span, (2 * c2 + 6 * s * c3) / span**2)

    def _slope(self, i: int) -> Array:
        if i in (0, len(self.times) - 1):
            return np.zeros_like(self.keys[0])
        return (self.keys[i + 1] - self.keys[i - 1]) / (self.times[i + 1] - self.times[i - 1])
