"""Abe & Popovic 2006, section 5: what the chain and the pendulum must show, and section 3.1.2 with a locked elbow."""

import functools
import tomllib

import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.papers.abe2006.look import KNEES, TRUNK, degrees, least_room
from manikin.physics.attach import leave_out
from manikin.scenes.scene import load_scene, parse_scene, shipped

FREQUENCIES = (0.7, 1.0, 1.6, 2.5, 4.0)
TUG = np.array(tomllib.loads(shipped()["chain"].read_text(encoding="utf-8"))["tugs"]["mouse"]["path"])


@functools.cache
def take(scene: str, seconds: float | None = None, **changes):
    named = {k.replace("__", "."): v for k, v in changes.items()}
    return mk.run(load_scene(scene, named), seconds=seconds)


# --- chain


def turned(angle: float, strength: float) -> tuple[tuple[float, ...], ...]:
    """The scene's tug from another side, and harder."""
    c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    path = TUG.copy()
    path[:, 1:] = strength * TUG[:, 1:] @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    return tuple(tuple(float(v) for v in row) for row in path)


@pytest.mark.parametrize(("angle", "strength"), [(0, 1.0), (100, 0.5), (230, 2.0)])
def test_a_higher_gain_holds_the_hands_more_firmly(angle, strength):
    """ "The strength with which the character resists ... can be adjusted easily with control of the single gain"."""
    seconds = 5.0 if strength == 1.0 else 3.0
    moved = [
        take("chain", seconds, tasks__hands__frequency=f, tugs__mouse__path=turned(angle, strength)).report["hand_displacement"]
        for f in FREQUENCIES
    ]
    assert (np.diff(moved) < 0).all()
    assert moved[0] > 4 * moved[-1] > 0


def test_trunk_and_legs_go_along():
    """ "the motion of the legs, while subtle, contributes": nobody asks trunk or knees to move."""
    r = take("chain").recording
    assert np.abs(r.tasks["hands"]["error"][r.time < 0.5]).max() < 1e-4

    def most(joints: list[str]) -> float:
        angles = degrees(r, joints)
        return float(np.abs(angles - angles[0]).max())

    assert most(TRUNK) > 3
    assert most(KNEES) > 1
    # once the tug is over, the hands come back
    assert r.tasks["hands"]["error"][-1] < 0.005


def test_the_tug_is_recorded_and_replayed():
    recording = take("chain").recording
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    begin, end = TUG[0, 0], TUG[-1, 0]
    assert len(recording.xfrc) == pytest.approx((end - begin) / 0.002, abs=2)
    assert set(recording.xfrc[:, 1]) == {model.body("chain_9").id}
    assert np.linalg.norm(recording.xfrc[:, 2:5], axis=1).max() == pytest.approx(
        np.linalg.norm(TUG[:, 1:], axis=1).max(), rel=0.1
    )
    assert mk.replay(recording).difference == 0.0


def test_the_pressure_stays_under_the_feet():
    for scene, room in (("chain", 0.03), ("pendulum", 0.005)):
        assert take(scene).report["ok"]
        assert least_room(take(scene).recording) > room


# --- pendulum

FREE = 1e6


def goal_height(recording) -> np.ndarray:
    path = np.array(tomllib.loads(recording.meta["scene"])["steps"][0]["goals"]["hand"]["path"])
    return np.interp(recording.time, path[:, 0], path[:, 3])


def test_the_body_crouches_and_rises_with_the_goal():
    """ "the character crouches when the hand is low, stands when the hand is high"."""
    for limit in (180.0, FREE):
        r = take("pendulum", tasks__hand__max_force=limit).recording
        goal, pelvis = goal_height(r), r.qpos[:, 2]
        high, low = pelvis[(goal > 1.59) & (r.time < 6)].max(), pelvis[goal < 0.51]
        assert low.max() < high - 0.15
        assert pelvis[-1] > high - 0.02
        assert goal.max() == pytest.approx(1.6)
        assert goal.min() == pytest.approx(0.5)


def test_without_a_limit_the_hand_is_where_it_is_wanted():
    r = take("pendulum", tasks__hand__max_force=FREE).recording
    assert r.tasks["hand"]["error"].max() < 0.01
    assert r.tasks["hand"]["force"].max() > 1.5 * 180


def test_with_a_limit_it_leaves_while_the_bob_is_fast_and_returns():
    r = take("pendulum").recording
    error, force = r.tasks["hand"]["error"], r.tasks["hand"]["force"]
    assert force.max() <= 180.0 * 1.001
    away = error > 0.05
    assert away.any()
    model = mujoco.MjModel.from_xml_string(r.mjcf)
    spin = r.qvel[:, model.joint("bob").dofadr[0] + 3 :][:, :3]
    speed = np.linalg.norm(spin, axis=1)
    # it leaves at the limit, just after the bob was fastest, and at no other time
    first, last = np.flatnonzero(away)[[0, -1]]
    assert (force[first - 12 : first] > 179).any()
    assert speed[first - 12 : last].max() == pytest.approx(speed.max(), rel=0.01)
    assert r.time[first] > 2.0
    assert r.time[last] < 4.5
    assert error[r.time > 5.0].max() < 0.01
    assert error[-1] < 0.001


@pytest.mark.parametrize("limit", [180.0, FREE])
def test_with_the_mass_left_out_of_the_model_the_hand_is_far_off(limit):
    """ "such precise control is not possible without accounting for the dynamics of the object"."""
    known, ignored = (take("pendulum", tasks__hand__max_force=limit, props__bob__unknown=u) for u in (False, True))
    after = known.recording.time > 5.0
    errors = [t.recording.tasks["hand"]["error"] for t in (known, ignored)]
    assert errors[1][after].max() > 5 * errors[0][after].max()
    assert errors[1][after].mean() > 20 * errors[0][after].mean()
    if limit == FREE:
        assert errors[1].max() > 5 * errors[0].max()


@pytest.mark.parametrize(("mass", "height", "weight"), [(5.0, 1.75, 75.0), (10.0, 1.5, 55.0), (12.0, 2.0, 120.0)])
def test_other_bobs_and_bodies_with_the_same_scene_file(mass, height, weight):
    changes = {"props__bob__mass": mass, "character__height": height, "character__mass": weight}
    r = take("pendulum", tasks__hand__max_force=FREE, **changes).recording
    assert r.tasks["hand"]["error"].max() < 0.015
    assert r.qpos[:, 2].min() < r.qpos[0, 2] - 0.15 * height / 1.75
    assert r.qpos[-1, 2] > r.qpos[0, 2] - 0.03


def test_what_is_left_out_is_not_in_the_dynamics():
    run = mk.build_run(load_scene("pendulum"), record=False)
    world = run.world
    before = world.dynamics().response().layout
    assert {3, 6} <= set(before.size.tolist())
    leave_out(world, "bob")
    world.forward()
    after = world.dynamics().response().layout
    assert sorted(after.size.tolist()) == [6, 6]
    assert len(after.passive) == len(before.passive) - 6
    assert not world.load.any()
    # a branch runs ahead as ignorant as its trunk
    assert len(run.branch().world.dynamics().response().layout.passive) == len(after.passive)


# --- a locked elbow


@functools.cache
def reach(goal: tuple[float, float, float], locked: bool, above: tuple[str, ...] = ()):
    """The right hand goes to a place; above it stands the left hand, and what else is named."""
    hold = {"law": "hold", "frequency": 2.0, "priority": 0}
    others = {
        "trunk": hold | {"measure": "orientation", "of": ["thorax"]},
        "chest": hold | {"measure": "point", "of": ["thorax"]},
        "twist": hold | {"measure": "posture", "of": ["forearm_r_pronation"], "frequency": 1.0, "priority": 1},
    }
    tasks = {
        "left": hold | {"measure": "point", "of": "hand_l"},
        "right": {"measure": "point", "of": "hand_r", "smoothing": 0.2, "reach": 0.3, "priority": 2, "goal": list(goal)},
        "posture": {"measure": "posture", "law": "nearest", "priority": 3},
    }
    raw = {
        "name": "locked", "seconds": 3.0, "character": {"locked": ["forearm_r_flexion"] if locked else []},
        "tasks": tasks | {name: others[name] for name in above},
    }  # fmt: skip
    return mk.run(parse_scene(raw, "locked")).recording


def test_a_goal_that_needs_a_locked_elbow_is_reached_otherwise():
    near = (0.30, -0.25, 1.25)
    free, locked = (reach(near, lock) for lock in (False, True))
    for r in (free, locked):
        assert r.tasks["right"]["error"][-1] < 0.005
        assert r.tasks["left"]["error"].max() < 0.001
        assert np.abs(r.ctrl).max() < 200
        assert np.abs(r.qvel[-20:]).max() < 0.1
    assert np.ptp(degrees(free, ["forearm_r_flexion"])) > 20
    assert np.ptp(degrees(locked, ["forearm_r_flexion"])) < 0.1


@pytest.mark.parametrize("above", [("trunk", "chest", "twist"), ("trunk", "chest")])
def test_or_missed_with_higher_tasks_untouched(above):
    near = (0.15, -0.25, 1.40)
    free, locked = (reach(near, lock, above) for lock in (False, True))
    assert free.tasks["right"]["error"][-1] < 0.005
    assert 0.05 < locked.tasks["right"]["error"][-1] < 0.5
    for r in (free, locked):
        assert r.tasks["left"]["error"].max() < 0.001
        assert r.tasks["trunk"]["error"].max() < np.deg2rad(0.5)
        assert r.tasks["chest"]["error"].max() < 0.001
        assert np.abs(r.ctrl).max() < 200
        # an arm stretched towards what it cannot reach may still roll about itself; with its twist held it is still
        assert np.abs(r.qvel[-20:]).max() < (0.1 if "twist" in above else 40)
