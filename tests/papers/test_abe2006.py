"""Abe & Popovic 2006, section 5: what the lift must show, from recordings replayed in plain MuJoCo."""

import functools
import tomllib

import numpy as np
import pytest

import manikin as mk
from manikin.papers.abe2006.look import degrees, events, least_room, prop_path, sites, trunk_pitch
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene, shipped

MASSES = (2.0, 8.0, 15.0, 25.0, 36.0, 45.0, 54.0, 63.0, 72.0, 80.0)
LIMIT = 420.0
KNEE = ["shank_l_flexion"]


@functools.cache
def lift(seconds: float | None = None, **changes):
    named = {k.replace("__", "."): v for k, v in changes.items()}
    return mk.run(load_scene("lift", named), seconds=seconds)


def box_path(take) -> np.ndarray:
    """Box positions from the grasp to the top, resampled by time since the grasp."""
    return prop_path(take.recording, "box", events(take)["lift"] + np.linspace(0, 1.2, 60))


def test_the_scene_says_how_many_goals_it_uses():
    """Figure 4: four Cartesian goals describe the motion of the hands and the box."""
    raw = tomllib.loads(shipped()["lift"].read_text(encoding="utf-8"))
    described = [s["name"] for s in raw["steps"] if "hands" in s.get("goals", {})]
    assert described[:4] == ["reach", "touch", "lift", "lower"]


def test_heavier_boxes_rise_more_slowly_once_the_limit_is_touched():
    takes = [lift(7.5, props__box__mass=m) for m in MASSES]
    times = np.array([t.report["time_to_top"] for t in takes], float)
    touched = np.array([t.recording.tasks["hands"]["force"].max() > 0.995 * LIMIT for t in takes])
    assert np.isfinite(times).all()
    assert (np.diff(times) >= 0).all()
    assert touched.sum() >= 4
    assert (np.diff(times)[touched[1:]] > 0).all()


def test_without_limit_mass_does_not_matter():
    """Exact linearisation: below the clamp the box's mass is simply accounted for."""
    times = [lift(5.5, props__box__mass=m, tasks__hands__max_force=1e6).report["time_to_top"] for m in (2.0, 25.0, 54.0, 80.0)]
    assert max(times) / min(times) < 1.02


@pytest.mark.parametrize("mass", [54.0, 80.0])
def test_forces_keep_to_their_limits(mass):
    """Eq. 13 within 1 % per hand; the hands' force on the box, m (a - g) from the replay as a 20 ms mean, within 5 %."""
    take = lift(7.5, props__box__mass=mass)
    assert take.recording.tasks["hands"]["force"].max() <= 1.01 * LIMIT
    speeds, heights = [], []

    def watch(step, model, data):
        speeds.append(data.qvel[-6:-3].copy())
        heights.append(data.qpos[-5])

    assert mk.replay(take.recording, watch).difference <= 1e-9
    pull = mass * (np.diff(np.array(speeds), axis=0) / 0.002 + [0.0, 0.0, 9.81])
    mean = np.stack([np.convolve(pull[:, k], np.ones(10) / 10, "valid") for k in range(3)], axis=1)
    in_the_air = np.array(heights)[10:] > 0.17
    largest = np.linalg.norm(mean[in_the_air[: len(mean)]], axis=1).max()
    assert 0.9 * 2 * LIMIT < largest <= 1.05 * 2 * LIMIT


def test_too_heavy_a_box_stays_down_and_the_character_up():
    take = lift(props__box__mass=100.0)
    assert take.report["ok"] is False
    assert "force limit" in take.report["reason"]
    box = take.recording.qpos[:, -5]
    assert box.max() < 0.17
    # it sits back into the pull, lets go and stands up again
    assert take.recording.qpos[:, 2].min() > 0.25
    assert take.recording.qpos[-1, 2] > 0.88


def test_styles_differ_in_posture_not_in_the_task():
    back, knees = (lift(6.0, character__clip=f"lift_{s}") for s in ("back", "knees"))
    assert trunk_pitch(back.recording).max() - trunk_pitch(knees.recording).max() > 25
    assert degrees(knees.recording, KNEE).max() - degrees(back.recording, KNEE).max() > 30
    apart = np.linalg.norm(box_path(back) - box_path(knees), axis=1)
    assert np.sqrt((apart**2).mean()) < 0.02


@pytest.mark.parametrize(("height", "mass"), [(1.5, 40.0), (2.0, 120.0)])
def test_other_bodies_lift_with_the_same_scene_file(height, mass):
    take = lift(character__height=height, character__mass=mass, props__box__mass=5.0)
    assert take.report["ok"], take.report["reason"]


BODIES = {"short": (1.5, 40.0), "tall": (2.0, 120.0)}


@pytest.mark.parametrize("style", ["knees", "back"])
@pytest.mark.parametrize("mass", [2.0, 5.0, 10.0, 15.0, 20.0, 25.0])
def test_centre_of_pressure_stays_under_the_feet(mass, style):
    take = lift(props__box__mass=mass, character__clip=f"lift_{style}")
    assert take.report["ok"]
    assert least_room(take.recording) > 0.005


@pytest.mark.parametrize("style", ["knees", "back"])
@pytest.mark.parametrize("body", BODIES)
def test_centre_of_pressure_of_other_bodies(body, style):
    height, weight = BODIES[body]
    take = lift(props__box__mass=5.0, character__clip=f"lift_{style}", character__height=height, character__mass=weight)
    assert take.report["ok"]
    assert least_room(take.recording) > 0.005


def test_lower_tasks_are_tracked_better_than_by_classic_projection():
    """Section 3.1.2: over the states of the lift, what lower tasks miss with and without compensation."""
    run = build_run(load_scene("lift"), record=False)
    from dataclasses import replace

    classic = replace(run.controller, compensate=False)
    missed = {True: [], False: []}
    while run.world.time < 5.0:
        run.advance(25)
        run.world.refresh()
        for controller in (run.controller, classic):
            gaps = controller.solve(run.world, run.tasks, 0.0).missed()
            lower = [gaps[n] for n in ("level", "palms", "balance", "gaze") if n in gaps]
            missed[controller.compensate].append(np.linalg.norm(lower))
    ratio = np.mean(missed[False]) / np.mean(missed[True])
    assert ratio > 5


def test_control_rate_does_not_change_the_lift():
    """The document runs at 60 updates a second; 62 to 500 give the same lift."""
    times = [lift(6.0, control__rate=r).report["time_to_top"] for r in (500.0, 125.0, 62.5)]
    assert max(times) - min(times) < 0.05


def test_feet_do_not_slide():
    recording = lift(props__box__mass=25.0, character__clip="lift_knees").recording
    assert np.ptp(sites(recording, ["foot_l", "foot_r"]), axis=0).max() < 0.003
