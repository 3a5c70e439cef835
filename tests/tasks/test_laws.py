"""The five laws on a single point of unit mass: the plant of Eq. 11 and 12 after exact linearisation."""

from typing import NamedTuple

import numpy as np
import pytest

from manikin.errors import InputError
from manikin.physics.world import Obstruction
from manikin.tasks.goals import Aim, Path
from manikin.tasks.laws import Hold, Nearest, Reach, Stabilize, Track, distance, saturate
from manikin.tasks.measures import Orientation, Points, Posture, Reading

POINT = Points(np.array([1]), np.zeros((1, 3)))


class Clock:
    """The little of a world that laws look at."""

    def __init__(self) -> None:
        self.time = 0.0
        self.obstructions: dict[int, Obstruction] = {}


class Asked(NamedTuple):
    """What a law wants: the acceleration, and how far it says the goal is."""

    acceleration: np.ndarray
    error: float


def asked(law, world, measure, now, aim, dt):
    out = np.full(len(now.rate), np.nan)
    error = law.command(world, measure, now, aim, dt, out)
    return Asked(out, error)


def follow(law, goal, seconds, start=(0.0, 0.0, 0.0), dt=0.001):
    """Integrate xddot = command; the path (n, 3) and speeds (n, 3)."""
    clock, x, v = Clock(), np.array(start), np.zeros(3)
    path, speeds = [], []
    for _ in range(round(seconds / dt)):
        aim = goal(clock)
        now = Reading(x, v)
        command = asked(law, clock, POINT, now, aim, dt)
        v = v + dt * command.acceleration
        x = x + dt * v
        clock.time += dt
        path.append(x)
        speeds.append(v)
    return np.array(path), np.array(speeds)


def test_stabilize_is_critically_damped():
    """x(t) = 1 - (1 + w t) exp(-w t): no overshoot, and the textbook response."""
    path, _ = follow(Stabilize(1.0), lambda c: Aim(np.array([1.0, 0, 0])), 2.0)
    t = np.arange(1, len(path) + 1) * 0.001
    w = 2 * np.pi
    assert np.abs(path[:, 0] - (1 - (1 + w * t) * np.exp(-w * t))).max() < 5e-3
    assert path[:, 0].max() < 1.0 + 1e-6


def test_what_blocks_a_held_prop_holds_the_smoothed_goal_back():
    """Into the obstacle the smoothed goal stops; along it and away from it, it goes on."""
    up = {1: Aim(np.array([0.0, 0.0, 1.0])), 2: Aim(np.array([1.0, 0.0, 1.0])), 3: Aim(np.array([0.0, 0.0, -1.0]))}
    now = Reading(np.zeros(3), np.zeros(3))
    for force, moved in ((200.0, (0.0, 1.0)), (0.0, (1.0, 1.0))):
        # body 1 holds what is pushed down by a shelf
        found = Obstruction(9, np.array([0.0, 0.0, -max(force, 1.0)]), (7, 1), force > 0)
        ends = {}
        for key, aim in up.items():
            law, clock = Stabilize(1.0, smoothing=0.1), Clock()
            clock.obstructions[7] = found
            for _ in range(1000):
                command = asked(law, clock, POINT, now, aim, 0.002)
                clock.time += 0.002
            ends[key] = law.place.copy()
            assert command.error == pytest.approx(np.linalg.norm(aim.value))
        assert ends[1][2] == pytest.approx(moved[0], abs=1e-3)
        assert ends[2][0] == pytest.approx(moved[1], abs=1e-3)
        assert ends[2][2] == pytest.approx(moved[0], abs=1e-3)
        assert ends[3][2] == pytest.approx(-1.0, abs=1e-3)
    # other points are not held back
    other, clock = Points(np.array([2]), np.zeros((1, 3))), Clock()
    law = Stabilize(1.0, smoothing=0.1)
    clock.obstructions[7] = Obstruction(9, np.array([0.0, 0.0, -200.0]), (7, 1), True)
    for _ in range(1000):
        asked(law, clock, other, now, up[1], 0.002)
        clock.time += 0.002
    assert law.place[2] == pytest.approx(1.0, abs=1e-3)


def test_stabilize_limits_and_smooths():
    far = np.array([10.0, 0, 0])
    free = asked(Stabilize(1.0), Clock(), POINT, Reading(np.zeros(3), np.zeros(3)), Aim(far), 0.002)
    calm = asked(Stabilize(1.0, reach=0.5), Clock(), POINT, Reading(np.zeros(3), np.zeros(3)), Aim(far), 0.002)
    assert np.linalg.norm(calm.acceleration) == pytest.approx(np.linalg.norm(free.acceleration) / 20)
    assert calm.error == pytest.approx(10.0)
    smooth = Stabilize(1.0, smoothing=0.2)
    first = asked(smooth, Clock(), POINT, Reading(np.zeros(3), np.zeros(3)), Aim(far), 0.002)
    assert np.linalg.norm(first.acceleration) < 0.01 * np.linalg.norm(free.acceleration)
    path, _ = follow(Stabilize(1.0, smoothing=0.2), lambda c: Aim(np.array([1.0, 0, 0])), 4.0)
    assert path[-1, 0] == pytest.approx(1.0, abs=1e-3)


def test_a_smoothed_direction_begins_gently_and_arrives():
    """A rotation cannot slide along a line: its error is held back and fades in, also when the goal changes midway."""
    law, measure, clock = Stabilize(1.0, smoothing=0.15), Orientation(np.array([1])), Clock()
    goals = [np.array([np.cos(a / 2), 0, 0, np.sin(a / 2)]) for a in (1.5, -1.0)]
    angle, rate, pulls = 0.0, 0.0, []
    for step in range(4000):
        if step == 1500:
            law.restart()
        value = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
        now = Reading(value, np.array([0, 0, rate]))
        command = asked(law, clock, measure, now, Aim(goals[step >= 1500]), 0.002)
        pulls.append(command.acceleration[2])
        rate += 0.002 * command.acceleration[2]
        angle += 0.002 * rate
        clock.time += 0.002
        if step == 1499:
            assert angle == pytest.approx(1.5, abs=1e-3)
    assert angle == pytest.approx(-1.0, abs=1e-3)
    assert np.abs(np.diff([0.0, *pulls])).max() < 0.1 * np.abs(pulls).max()


def test_a_law_that_slept_begins_anew():
    """Switched off far away and on again: nothing of the old smoothed goal is left."""
    law, clock = Stabilize(1.0, smoothing=0.3), Clock()
    asked(law, clock, POINT, Reading(np.zeros(3), np.zeros(3)), Aim(np.ones(3)), 0.002)
    clock.time = 5.0
    there = Reading(np.full(3, 3.0), np.zeros(3))
    again = asked(law, clock, POINT, there, Aim(np.ones(3)), 0.002)
    assert np.abs(again.acceleration).max() < 0.05


def test_nothing_to_do_means_no_command():
    rest = Reading(np.ones(3), np.zeros(3))
    for law in (Stabilize(1.0), Track(2.0), Reach(1.0), Hold(2.0)):
        assert np.abs(asked(law, Clock(), POINT, rest, Aim(np.ones(3)), 0.002).acceleration).max() < 1e-12


def test_track_follows_a_curve_without_lag_only_with_feed_forward():
    curve = Path(np.array([0.0, 0.5, 1.0]), np.array([[0.0, 0, 0], [0.3, 0.1, 0], [0.2, 0.5, 0.1]]), 0.0)
    with_it, _ = follow(Track(2.0), lambda c: curve.at(c), 1.2)
    without, _ = follow(Track(2.0), lambda c: Aim(curve.at(c).value), 1.2)
    clock, truth = Clock(), []
    for _ in range(len(with_it)):
        clock.time += 0.001
        truth.append(curve.at(clock).value)
    assert np.abs(with_it - truth).max() < 2e-3
    assert np.abs(without - truth).max() > 0.05


def test_reach_arrives_on_time_with_a_bell_shaped_speed():
    path, speeds = follow(Reach(0.8), lambda c: Aim(np.array([0.4, 0.2, 0.0])), 1.0)
    speed = np.linalg.norm(speeds, axis=1)
    assert np.abs(path[800] - [0.4, 0.2, 0.0]).max() < 2e-3
    assert abs(int(speed.argmax()) - 400) < 20
    # minimum jerk: peak speed is 1.875 x the mean
    assert speed.max() == pytest.approx(1.875 * np.hypot(0.4, 0.2) / 0.8, rel=0.02)


def test_hold_remembers_until_restarted():
    law = Hold(2.0)
    here, there = np.zeros(3), np.ones(3)
    asked(law, Clock(), POINT, Reading(here, here), None, 0.002)
    assert np.linalg.norm(asked(law, Clock(), POINT, Reading(there, here), None, 0.002).acceleration) > 1
    law.restart()
    assert np.linalg.norm(asked(law, Clock(), POINT, Reading(there, here), None, 0.002).acceleration) == 0


class OnePose:
    def __init__(self) -> None:
        self.asked = 0

    def pose(self, world, displacements) -> np.ndarray:
        self.asked += 1
        self.displacements = displacements
        return np.array([0.5, -0.5])


def test_nearest_goes_to_the_proposed_pose_or_to_the_given_one():
    measure = Posture(np.array([0, 1]), np.array([0, 1]))
    source = OnePose()
    law = Nearest(source, frequency=1.2)
    now = Reading(np.zeros(2), np.zeros(2))
    clock = Clock()
    command = asked(law, clock, measure, now, None, 0.002)
    assert command.acceleration[0] > 0 > command.acceleration[1]
    # searches are spaced out
    for _ in range(10):
        clock.time += 0.002
        asked(law, clock, measure, now, None, 0.002)
    assert source.asked <= 4
    for _ in range(2000):
        given = asked(law, clock, measure, now, Aim(np.array([-1.0, 1.0])), 0.002)
    assert given.acceleration[0] < 0 < given.acceleration[1]
    with pytest.raises(TypeError, match="posture"):
        asked(law, clock, POINT, now, None, 0.002)


def test_blocks_are_measured_and_shortened_one_by_one():
    error = np.array([3.0, 4.0, 0.0, 0.1, 0.0, 0.0])
    assert distance(error, 3) == pytest.approx(5.0)
    assert np.allclose(saturate(error, 1.0, 3), [0.6, 0.8, 0.0, 0.1, 0.0, 0.0])


class Reaching:
    active = True

    def displacements(self, world) -> dict[int, np.ndarray]:
        return {4: np.array([0.0, 0.0, -0.7])}


def test_the_lookahead_of_the_hands_is_smooth_and_limited():
    measure, source, clock = Posture(np.array([0]), np.array([0])), OnePose(), Clock()
    leader = Reaching()
    law = Nearest(source, ahead=0.2, leaders=(leader,))
    now = Reading(np.zeros(2), np.zeros(2))
    offsets = []
    for _ in range(1000):
        asked(law, clock, measure, now, None, 0.002)
        offsets.append(source.displacements[4])
        clock.time += 0.002
    offset = np.array(offsets)
    assert np.linalg.norm(offset[0]) < 1e-3
    assert np.linalg.norm(np.diff(offset, axis=0), axis=1).max() < 0.01
    assert offset[-1] == pytest.approx([0.0, 0.0, -0.2], abs=1e-4)
    # a leader that is switched off is forgotten as gently
    leader.active = False
    asked(law, clock, measure, now, None, 0.002)
    assert np.linalg.norm(source.displacements[4]) > 0.19
    for _ in range(1000):
        clock.time += 0.002
        asked(law, clock, measure, now, None, 0.002)
    assert not source.displacements


SETTINGS = {Stabilize: ("frequency", "reach"), Track: ("frequency",), Reach: ("frequency", "seconds"), Hold: ("frequency",)}


@pytest.mark.parametrize(
    ("law", "key", "zero"),
    [(law, key, False) for law, keys in SETTINGS.items() for key in keys] + [(Stabilize, "smoothing", True)],
)
def test_settings_that_no_law_can_have_are_refused(law, key, zero):
    for value in (-1.0, np.nan, np.inf, "fast", [1.0], *(() if zero else (0.0,))):
        with pytest.raises(InputError) as caught:
            law(**{key: value})
        needs = "a finite number of 0 or more" if zero else "a finite number above 0"
        assert str(caught.value) == f"{law.__name__}: {key}: given {value!r}, needs {needs}"
    # as much as scene files allow, and more
    for value in (1e-9, 60, np.float32(0.5), *((0, 11.0) if zero else ())):
        assert getattr(law(**{key: value}), key) == value


@pytest.mark.parametrize("key", ["frequency", "smoothing", "ease", "lead", "every", "ahead", "lookahead_halflife"])
def test_settings_of_nearest_are_checked(key):
    with pytest.raises(InputError, match=rf"^Nearest: {key}: given nan, needs a finite number"):
        Nearest(OnePose(), **{key: np.nan})
    if key != "frequency":
        Nearest(OnePose(), **{key: 0.0})
