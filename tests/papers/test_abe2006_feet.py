"""Abe & Popovic 2006, section 6 (future work): real feet: lift, stand and be pushed on soles that friction alone holds."""

import dataclasses
import functools
import math

import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.characters.human import SOLE_FRICTION
from manikin.controllers.prioritized import Prioritized
from manikin.papers.abe2006 import feet
from manikin.papers.abe2006.look import events
from manikin.physics.support import MET, TRUSTED_FRICTION
from manikin.physics.world import Push
from manikin.pushes import FAR, FELL, LOWEST, SLIP, Stood, Watch, push_standing
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene


@functools.cache
def lift(style: str, mass: float):
    changes = {"character.feet": "contact", "character.clip": f"lift_{style}", "props.box.mass": mass}
    return mk.run(load_scene("lift", changes))


class Slip:
    """Watches how far the feet leave the places where they stood first [m]."""

    def __init__(self) -> None:
        self.start: np.ndarray | None = None
        self.most = 0.0

    def __call__(self, step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        feet = np.array([data.site(f"foot_{side}").xpos for side in "lr"])
        if self.start is None:
            self.start = feet
        self.most = max(self.most, float(np.linalg.norm((feet - self.start)[:, :2], axis=1).max()))


@pytest.mark.parametrize("style", ["knees", "back"])
@pytest.mark.parametrize("mass", [10.0, 20.0])
def test_lifts_on_its_own_feet(style, mass):
    take = lift(style, mass)
    assert take.report["ok"], take.report["reason"]
    slip = Slip()
    assert mk.replay(take.recording, slip).difference == 0.0
    assert slip.most <= SLIP
    # the box is up, and nothing but soles holds the figure
    assert take.recording.qpos[:, 50].max() > 1.0
    model = mujoco.MjModel.from_xml_string(take.recording.mjcf)
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, e) for e in range(model.neq)]
    assert all(name.startswith("grip_hand_") for name in names)


def test_the_ground_carries_body_and_box():
    """At the top the contact forces on feet and toes are the weight of both."""
    take = lift("knees", 20.0)
    recording, lower = take.recording, events(take)["lower"]
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    feet = [model.body(f"{part}_{side}").id for part in ("foot", "toes") for side in "lr"]
    still = (recording.time > lower - 0.3) & (recording.time < lower)
    up = recording.contact_force[still][:, feet, 2].sum(axis=1).mean()
    assert up == pytest.approx(9.81 * (75.0 + 20.0), rel=0.03)


@pytest.mark.parametrize("direction", range(8))
def test_withstands_a_push(direction):
    """100 N for 0.2 s at the pelvis; `tools/push_map.py` does all sixteen directions and more forces."""
    outcome = push_standing(100.0, 2 * math.pi * direction / 8)
    assert outcome.stands, outcome
    assert 0.01 < outcome.sway < 0.1


def test_a_push_that_is_too_hard_throws_it_over():
    """The trial can fail: nobody withstands 400 N without a step."""
    assert not push_standing(400.0, 0.0).upright


@pytest.mark.parametrize("rate", [250.0, 125.0])
def test_stands_with_slower_control(rate):
    scene = load_scene("stand", {"control.rate": rate})
    for angle in (0.0, math.pi / 2, math.pi):
        assert push_standing(100.0, angle, scene).stands


def test_stands_quietly():
    """Once the weight is where the balance task wants it, nothing creeps in five seconds; the feet never move at all."""
    run = build_run(load_scene("stand"), record=False)
    world = run.world
    feet = [world.site(f"foot_{side}") for side in "lr"]
    stood = world.data.site_xpos[feet].copy()
    run.advance(1000)
    start, drift = world.data.xpos.copy(), 0.0
    for _ in range(25):
        run.advance(100)
        drift = max(drift, float(np.linalg.norm(world.data.xpos - start, axis=1).max()))
    assert drift < 0.001
    assert np.linalg.norm(world.data.site_xpos[feet] - stood, axis=1).max() < 0.001


class Watching(Prioritized):
    """Keeps the worst of all commanded ground forces, and counts steps in which the ground could not supply what was needed."""

    def solve(self, world, tasks, dt):
        solution = super().solve(world, tasks, dt)
        sideways, up = np.hypot(*solution.ground[:, :2].T), solution.ground[:, 2]
        over = np.maximum(sideways - TRUSTED_FRICTION * SOLE_FRICTION * up, -up).max() / np.abs(solution.ground).max()
        log = self.__dict__.setdefault("log", [])
        log.append((float(over), solution.short > MET))
        return solution


def test_commanded_forces_of_a_lift_stay_inside_their_cones():
    run = build_run(load_scene("lift", {"character.feet": "contact", "props.box.mass": 20.0}), record=False)
    run.controller = watch = Watching()
    run.advance(1000)
    assert not run.world.held
    run.advance(2000)
    assert run.world.held
    assert len(watch.log) == 3000
    assert max(over for over, _ in watch.log) <= 1e-6


@pytest.mark.parametrize("force", [100.0, 300.0])
def test_commanded_forces_under_a_push_stay_inside_their_cones(force):
    """300 N is more than the ground can answer."""
    run = build_run(load_scene("stand"), record=False)
    run.controller = watch = Watching()
    run.advance(100)
    run.advance(100, [Push("pelvis", np.array([force, 0.0, 0.0]))])
    run.advance(150)
    assert max(over for over, _ in watch.log) <= 1e-6
    assert len(watch.log) == 350
    if force > 200:
        assert sum(short for _, short in watch.log) > 50


# --- what standing means

STOOD = Stood(lowest=0.9, slip=0.001, sway=0.05, away=0.01, speed=0.01)


@pytest.mark.parametrize(
    "bad",
    [
        {"lowest": LOWEST - 0.01},
        {"slip": SLIP + 0.001},
        {"sway": FAR + 0.01},
        {"away": 0.06},
        {"speed": 0.06},
        {"slip": math.nan},
    ],
)
def test_each_part_of_standing_counts(bad):
    assert STOOD.stands
    assert not dataclasses.replace(STOOD, **bad).stands
    assert not FELL.stands


def test_the_watch_sees_what_moves():
    run = build_run(load_scene("stand"), record=False)
    world = run.world
    watch = Watch(world)
    world.data.qpos[:3] += [0.03, 0.04, -0.1]
    world.forward()
    seen = watch.outcome()
    assert (seen.slip, seen.sway, seen.away) == pytest.approx((0.05, 0.05, 0.05), abs=1e-9)
    assert seen.lowest == pytest.approx(world.data.xpos[world.body("pelvis"), 2])
    assert seen.slipped
    assert not seen.stands


# --- the claims; tests/papers/test_abe2006.py measures them


def test_pushes_lifts_catches_and_limits_are_judged():
    straight, slanted = np.array([[0.0, 0.0, 100.0]]), np.array([[300.0, 0.0, 100.0]])
    assert feet.cone_violation(straight) == 0.0
    assert feet.cone_violation(slanted) > 0.1
    assert feet.cone_violation(-straight) > 0.5
    slipped = dataclasses.replace(STOOD, slip=0.01)
    good = feet.Pushed(STOOD, 0.0)
    assert feet.judge_pushes([good]).holds
    assert feet.judge_pushes([good, feet.Pushed(slipped, 0.0)]).holds is False
    assert feet.judge_pushes([good, feet.Pushed(STOOD, 1e-3)]).holds is False
    assert feet.judge_lifts([10.0], [feet.Lifted(True, STOOD)]).holds
    assert feet.judge_lifts([10.0], [feet.Lifted(False, STOOD)]).holds is False
    assert feet.judge_lifts([10.0], [feet.Lifted(True, slipped)]).holds is False
    assert feet.judge_limits(-2.0, 0.1, 9.0).holds
    assert feet.judge_limits(-2.0, 0.6, 9.0).holds is False
    assert feet.judge_limits(-2.0, 0.1, 0.3).holds is False
