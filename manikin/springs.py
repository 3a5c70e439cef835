"""Critically damped springs with exact integration; gains are given as frequency [Hz] or half-life [s]."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel

Array = NDArray[np.float64]


# the largest fraction of a speed that damping may remove between two control updates
CALM = 0.5


@lru_cache(256)
def gains(frequency: float, dt: float = 0.0) -> tuple[float, float]:
    """Stiffness k [1/s^2] and damping 2 sqrt(k) [1/s] of a critically damped law of `frequency` [Hz] (Eq. 11).

    dt [s]: time between two updates. A frequency that is too high for them is reduced, or the law would oscillate.
    """
    omega = 2 * np.pi * frequency
    if 2 * omega * dt > CALM:
        omega = 0.5 * CALM / dt
    return omega * omega, 2 * omega


def decay(halflife: float, dt: float) -> float:
    """Fraction of a difference that remains after `dt` [s] if half of it decays in `halflife` [s]; 0 for no half-life."""
    return float(0.5 ** (dt / halflife)) if halflife > 0 else 0.0


@kernel
def spring_to(x: Array, v: Array, goal: Array, halflife: float, dt: float) -> tuple[Array, Array]:
    """Advance a critically damped spring towards `goal`, exactly, for any time step.

    A critically damped step response is half way at omega t = 1.6783.
    """
    place, speed = x.copy(), v.copy()
    advance(place, speed, goal, halflife, dt)
    return place, speed


@kernel
def advance(place: Array, speed: Array, goal: Array, halflife: float, dt: float) -> None:
    """The same as spring_to, in place."""
    omega = 1.6783469900166605 / halflife if halflife > 0.0 else 0.0
    fade = np.exp(-omega * dt)
    for i in range(place.shape[0]):
        if halflife <= 0.0:
            place[i], speed[i] = goal[i], 0.0
            continue
        gap = place[i] - goal[i]
        slope = speed[i] + omega * gap
        place[i] = goal[i] + (gap + slope * dt) * fade
        speed[i] = (speed[i] - omega * slope * dt) * fade
