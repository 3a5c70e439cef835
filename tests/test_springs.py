"""Springs: exact whatever the time step, and half of the way in a half-life."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manikin.springs import decay, gains, spring_to

values = st.floats(-10.0, 10.0, allow_subnormal=False)
times = st.floats(0.01, 2.0)


@given(values, values, values, times, times, st.integers(2, 7))
def test_many_small_steps_are_one_large_step(x: float, v: float, goal: float, halflife: float, dt: float, parts: int) -> None:
    place, speed, aim = np.array([x]), np.array([v]), np.array([goal])
    far, fast = spring_to(place, speed, aim, halflife, dt)
    for _ in range(parts):
        place, speed = spring_to(place, speed, aim, halflife, dt / parts)
    scale = 1 + abs(x - goal) + abs(v)
    assert abs(place[0] - far[0]) < 1e-9 * scale
    assert abs(speed[0] - fast[0]) < 1e-7 * scale / halflife


@given(values, values, times)
def test_half_of_the_way_from_rest_in_a_halflife(x: float, goal: float, halflife: float) -> None:
    place, _ = spring_to(np.array([x]), np.zeros(1), np.array([goal]), halflife, halflife)
    assert abs(place[0] - (x + goal) / 2) < 1e-9 * (1 + abs(x - goal))


def test_it_obeys_the_equation_of_a_critically_damped_spring() -> None:
    x, v, goal, halflife, h = np.array([1.0]), np.array([-3.0]), np.array([0.2]), 0.3, 1e-4
    path = [spring_to(x, v, goal, halflife, t * h)[0][0] for t in range(3)]
    speed, acceleration = (path[2] - path[0]) / (2 * h), (path[2] - 2 * path[1] + path[0]) / h**2
    omega = 1.6783469900166605 / halflife
    assert acceleration == pytest.approx(-(omega**2) * (path[1] - 0.2) - 2 * omega * speed, rel=1e-5)
    assert spring_to(x, v, goal, halflife, h)[1][0] == pytest.approx(speed, rel=1e-6)


def test_without_halflife_it_is_there_at_once() -> None:
    goal = np.array([2.0, 3.0])
    place, speed = spring_to(np.zeros(2), np.ones(2), goal, 0.0, 0.01)
    assert place.tolist() == [2.0, 3.0]
    assert speed.tolist() == [0.0, 0.0]


def test_decay_is_a_fraction_that_multiplies() -> None:
    assert decay(0.2, 0.2) == pytest.approx(0.5)
    assert decay(0.2, 0.1) ** 2 == pytest.approx(decay(0.2, 0.2))
    assert decay(0.0, 0.1) == 0.0


def test_gains_are_critically_damped() -> None:
    stiffness, damping = gains(1.5)
    assert stiffness == pytest.approx((2 * np.pi * 1.5) ** 2)
    assert damping == pytest.approx(2 * np.sqrt(stiffness))
