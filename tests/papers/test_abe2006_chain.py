"""Abe & Popovic 2006, section 5: what the chain and the pendulum must show, and section 3.1.2 with a locked elbow."""

import dataclasses
import functools
import tomllib

import mujoco
import numpy as np
import pytest
import tomli_w

import manikin as mk
from manikin.papers.abe2006 import chain, pendulum
from manikin.papers.abe2006.look import TRUNK, degrees, least_room
from manikin.physics.attach import leave_out
from manikin.recording import Recording
from manikin.scenes.scene import load_scene, parse_scene, shipped

FREQUENCIES = (0.7, 1.0, 1.6, 2.5, 4.0)
UNTUGGED = ((0.5, 0.0, 0.0, 0.0), (4.5, 0.0, 0.0, 0.0))
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


def test_hands_that_move_as_if_loose_are_not_steadied() -> None:
    still = np.zeros((4, 2, 3))
    moved = still.copy()
    moved[1:3, 0, 0] = 0.2
    assert chain.judge_steady(0.4 * moved, moved).holds
    assert chain.judge_steady(0.6 * moved, moved).holds is False
    away = 0.4 * moved
    away[-1, 1, 2] = 0.006
    assert chain.judge_steady(away, moved).holds is False


def test_a_posture_that_is_left_is_not_close() -> None:
    near, far, bent = np.array([0.0, 9.0, 1.9]), np.array([0.0, 9.0, 2.1]), np.array([0.0, 21.0, 1.9])
    assert [chain.judge_posture(kept, far, 0.0).holds for kept in (near, far, bent)] == [True, False, False]


def test_a_gain_without_effect_does_not_hold() -> None:
    assert chain.judge_gain((1, 2, 3), (0.3, 0.2, 0.1)).holds
    assert chain.judge_gain((1, 2, 3), (0.3, 0.3, 0.1)).holds is False


def test_what_gaze_and_balance_do_is_no_reaction_to_the_tug() -> None:
    untugged = take("chain", 1.5, tugs__mouse__path=UNTUGGED).recording
    assert np.ptp(degrees(untugged, TRUNK), axis=0).max() > 0.5
    assert chain.most_moved(untugged, untugged, TRUNK) == 0.0


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


@functools.cache
def swing() -> Recording:
    return take("pendulum").recording


def test_the_mouse_rests_where_the_scene_says() -> None:
    """Three rests, during which the goal does not move at all; on the way it does."""
    r = swing()
    still, goal = pendulum.rested(r), pendulum.goal_path(r, r.time)
    assert np.count_nonzero(np.diff(still.astype(int)) == 1) == 3
    for begin, end in ((5.2, 5.6), (9.0, 9.0), (12.4, 13.0)):
        assert still[(r.time >= begin) & (r.time <= end)].all()
    assert not still[(r.time > 5.62) & (r.time < 8.9)].any()
    # the smooth path runs a little past the keys at which a rest ends
    assert goal[:, 2].max() == pytest.approx(1.6, abs=0.03)
    assert goal[:, 2].min() == pytest.approx(0.5, abs=0.03)


def test_the_commanded_path_is_critically_damped() -> None:
    """Towards a goal that stays where it is: e (1 + w t) exp(-w t). Where the mouse rests, it comes to rest as well."""
    raw = tomllib.loads(swing().meta["scene"])
    raw["steps"][0]["goals"]["hand"]["path"] = [[0.0, 0.5, -0.3, 1.4], [1.0, 0.5, -0.3, 1.4]]
    r = dataclasses.replace(swing(), meta=swing().meta | {"scene": tomli_w.dumps(raw)})
    gap = np.linalg.norm(pendulum.commanded_path(r) - [0.5, -0.3, 1.4], axis=1)
    phase = 2 * np.pi * 2.5 * r.time
    assert gap[0] > 0.2
    assert gap == pytest.approx(gap[0] * (1 + phase) * np.exp(-phase), abs=0.02 * gap[0])
    left = np.linalg.norm(pendulum.commanded_path(swing()) - pendulum.goal_path(swing(), swing().time), axis=1)
    assert left[pendulum.rested(swing())].max() < 1e-4 < 0.05 < left.max()


def test_a_hand_that_stays_away_has_not_arrived() -> None:
    r = swing()
    assert pendulum.judge_arrival(r).holds
    assert pendulum.judge_return(r).holds
    hand = r.tasks["hand"]
    away = dataclasses.replace(r, tasks=r.tasks | {"hand": hand | {"error": hand["error"] + 0.02}})
    assert pendulum.judge_arrival(away).holds is False
    assert pendulum.judge_return(away).holds is False
    strained = dataclasses.replace(r, tasks=r.tasks | {"hand": hand | {"force": hand["limit"]}})
    assert pendulum.judge_return(strained).holds is False


def test_tracking_is_not_stabilization() -> None:
    tracked = dataclasses.replace(swing(), meta=swing().meta | {"scene": swing().meta["scene"].replace("2.5", "2.4")})
    assert pendulum.judge_arrival(tracked).holds
    law = swing().meta["scene"].replace("[tasks.hand]", '[tasks.hand]\nlaw = "track"')
    assert pendulum.judge_arrival(dataclasses.replace(swing(), meta=swing().meta | {"scene": law})).holds is False


def test_a_stiff_body_does_not_crouch() -> None:
    qpos = swing().qpos.copy()
    qpos[:, 2] = qpos[0, 2]
    assert pendulum.judge_crouch(swing()).holds
    assert pendulum.judge_crouch(dataclasses.replace(swing(), qpos=qpos)).holds is False


def test_the_hand_leaves_at_the_limit_and_at_no_other_time() -> None:
    r = swing()
    assert pendulum.judge_leaving(r).holds
    away = pendulum.departure(r) > 0.05
    assert r.time[away].min() > 2.0
    assert r.time[away].max() < 4.5
    weak = dataclasses.replace(r, tasks=r.tasks | {"hand": r.tasks["hand"] | {"force": 0.5 * r.tasks["hand"]["force"]}})
    assert pendulum.judge_leaving(weak).holds is False


def test_without_a_limit_eq_11_alone_decides() -> None:
    free = take("pendulum", tasks__hand__max_force=FREE).recording
    assert pendulum.judge_path(free).holds
    assert free.tasks["hand"]["force"].max() > 1.5 * 180
    # with the limit it does not
    assert pendulum.judge_path(swing()).holds is False
    assert pendulum.judge_leaving(free).holds is False


def test_a_hand_that_is_behind_the_mouse_is_not_always_at_its_goal() -> None:
    free = take("pendulum", tasks__hand__max_force=FREE).recording
    assert pendulum.judge_no_limit(free).holds is False
    hand = free.tasks["hand"]
    near = dataclasses.replace(free, tasks=free.tasks | {"hand": hand | {"error": 0.1 * hand["error"]}})
    assert pendulum.judge_no_limit(near).holds


@pytest.mark.parametrize("limit", [180.0, FREE])
def test_with_the_mass_left_out_of_the_model_the_hand_is_far_off(limit: float) -> None:
    """ "such precise control is not possible without accounting for the dynamics of the object"."""
    known, ignored = (
        take("pendulum", 6.0, tasks__hand__max_force=limit, props__bob__unknown=u).recording for u in (False, True)
    )  # fmt: skip
    assert pendulum.judge_dynamics(known, ignored).holds
    assert pendulum.judge_dynamics(known, known).holds is False
    assert ignored.tasks["hand"]["error"][pendulum.rested(ignored)].min() > 0.1


@pytest.mark.parametrize(("mass", "height", "weight"), [(5.0, 1.75, 75.0), (10.0, 1.5, 55.0), (12.0, 2.0, 120.0)])
def test_other_bobs_and_bodies_with_the_same_scene_file(mass, height, weight):
    changes = {"props__bob__mass": mass, "character__height": height, "character__mass": weight}
    r = take("pendulum", tasks__hand__max_force=FREE, **changes).recording
    assert r.tasks["hand"]["error"][pendulum.rested(r)].max() < 0.01
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
    # nor in those of a branch
    assert len(run.branch().world.dynamics().response().layout.passive) == len(after.passive)


# --- a locked elbow


@functools.cache
def reach(goal: tuple[float, float, float], locked: bool, above: tuple[str, ...] = ()):
    """The right hand goes to a place; the left hand and the tasks in `above` have higher priority."""
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
