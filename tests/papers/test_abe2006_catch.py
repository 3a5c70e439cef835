"""Abe & Popovic 2006, section 5: catch, and catch and toss, from recordings replayed in plain MuJoCo."""

import dataclasses
import functools

import numpy as np
import pytest

import manikin as mk
from manikin.errors import SceneError
from manikin.papers.abe2006 import catch, toss
from manikin.papers.abe2006.catch import TOUCH, Catch, catch_one, random_balls
from manikin.papers.abe2006.look import events, momentum_exchange, sites
from manikin.physics.attach import GAP, palm_gap, touches
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene


@functools.cache
def default_catch():
    return mk.run(load_scene("catch"))


@pytest.mark.parametrize("ball", random_balls(8, 90_000), ids=lambda b: f"{b.mass:.1f} kg")
def test_random_balls_are_caught_by_the_palm(ball):
    """Held for a second; the palm holds from no further than 5 mm and sinks in no deeper."""
    catch = catch_one(ball.changes())
    assert catch.held, catch.trouble
    assert abs(catch.gap) <= TOUCH
    assert catch.deepest <= TOUCH
    # and it is brought back to where it was caught
    assert catch.back < 0.02


def test_a_hand_holds_only_what_its_palm_touches():
    """At the moment of the grasp the ball is on the palm side and at most 5 mm away."""
    run = build_run(load_scene("catch"), record=False)
    before = None
    while "caught" not in run.script.began:
        run.world.forward()
        before = palm_gap(run.world, "hand_r", "ball")
        run.advance(1)
    gap, outward = before
    assert gap <= GAP
    assert np.linalg.norm(outward) == pytest.approx(1.0)


def test_the_back_of_the_hand_catches_nothing():
    run = build_run(load_scene("catch"), record=False)
    world = run.world
    palm = world.model.geom("hand_r_palm").id
    axes, middle = world.data.geom_xmat[palm].reshape(3, 3), world.data.geom_xpos[palm]
    address = int(world.model.jnt_qposadr[world.joint("ball")])
    radius, half = 0.06, world.model.geom_size[palm][1]
    for side, expected in ((1.0, True), (-1.0, False)):
        world.data.qpos[address : address + 3] = middle + side * (radius + half + 0.002) * axes[:, 1]
        world.forward()
        assert palm_gap(world, "hand_r", "ball")[0] == pytest.approx(0.002, abs=1e-6)
        assert touches(world, "hand_r", "ball") is expected
    world.data.qpos[address : address + 3] = middle + (radius + half + 0.007) * axes[:, 1]
    world.forward()
    assert not touches(world, "hand_r", "ball")


def test_momentum_changes_by_the_impulse_from_outside():
    """Ball and body together: from 20 ms before the touch to 100 ms after it."""
    take = default_catch()
    touch = events(take)["caught"]
    assert momentum_exchange(take.recording, touch - 0.02, touch + 0.1).gap < 0.01


def test_heavier_balls_push_the_hand_further():
    """Force limits make the hand give way: up to 5 kg."""
    far = []
    for mass in (0.2, 1.0, 2.5, 5.0):
        take = mk.run(load_scene("catch", {"props.ball.mass": mass}))
        after = sites(take.recording, ["hand_r"], every=1)[take.recording.time >= events(take)["caught"], 0]
        far.append(np.linalg.norm(after - after[0], axis=1).max())
        # the ball itself goes as far, and comes back
        assert take.report["ball_displacement"] == pytest.approx(far[-1], rel=0.35)
    assert (np.diff(far) > 0).all(), far


@pytest.mark.parametrize("rate", [62.5, 125.0, 250.0])
def test_slower_control_still_catches(rate):
    assert mk.run(load_scene("catch", {"control.rate": rate})).report["caught"]


def test_a_ball_out_of_reach_is_missed_and_said_so():
    take = mk.run(load_scene("catch", {"props.ball.at": [3.42, -2.3, 1.56]}))
    assert not take.report["ok"]
    assert take.report["caught"] is False
    assert "did not lead to" in take.report["reason"]


def test_a_grip_that_people_have_is_enough_and_a_weak_one_breaks():
    """460 N; the ball is stopped by the palm, so that the fingers have little to bear."""
    assert load_scene("catch").props["ball"].grip.force == load_scene("toss").props["ball"].grip.force == 460.0
    take = mk.run(load_scene("catch", {"props.ball.grip.force": 0.5}))
    assert not take.report["ok"]
    assert take.report["caught"] is False
    assert "hand_r lost its grip" in take.report["reason"]
    assert "hand_r lost its grip" in events(take)
    # nothing is left to bring back, and the script knows
    assert "missed" in events(take)
    assert not take.recording.tasks["back"]["active"][-1]


THINGS = {
    "ball": {"props.ball.shape": "sphere", "props.ball.size": [0.06], "props.ball.mass": 0.3},
    "box": {"props.ball.shape": "box", "props.ball.size": [0.12, 0.1, 0.08], "props.ball.mass": 0.6},
    "cylinder": {"props.ball.shape": "cylinder", "props.ball.size": [0.045, 0.12], "props.ball.mass": 1.0},
}
TARGET = "steps.throw.goals.throw.throw.target"


@pytest.mark.parametrize(("distance", "side"), [(1.5, 40.0), (2.8, -20.0), (4.0, 10.0)])
@pytest.mark.parametrize("thing", THINGS)
def test_things_are_tossed_where_they_should_land(thing, distance, side):
    target = [distance * np.cos(np.deg2rad(side)), distance * np.sin(np.deg2rad(side))]
    incoming = {"props.ball.at": [3.0, -0.33 + side / 400, 1.5]}
    report = mk.run(load_scene("toss", THINGS[thing] | incoming | {TARGET: target})).report
    assert report["ok"], report["reason"]
    assert report["release_speed_error"] < 0.05
    assert report["landing_error"] < 0.10


def test_landing_is_where_the_replay_says():
    """The report's landing error against the recording itself."""
    take = mk.run(load_scene("toss", {TARGET: [2.5, 0.5]}))
    places = {}

    def watch(step, model, data):
        places[step] = data.qpos[model.joint("ball").qposadr[0] :][:2].copy()

    mk.replay(take.recording, watch)
    landed = places[round(events(take)["landed"] / take.recording.meta["timestep"])]
    assert np.linalg.norm(landed - [2.5, 0.5]) == pytest.approx(take.report["landing_error"], abs=0.02)
    assert take.report["landing_error"] < 0.10


def test_a_velocity_may_be_given_instead_of_a_target():
    throw = {"prop": "ball", "release": [0.45, -0.25, 1.25], "velocity": [3.0, 0.5, 2.5]}
    report = mk.run(load_scene("toss", {"steps.throw.goals.throw.throw": throw})).report
    assert report["ok"], report["reason"]
    assert report["release_speed_error"] < 0.05


def test_things_of_several_kilograms_are_thrown_as_well():
    """Within its force limit the controller throws heavy things as accurately as light ones, unlike the document's."""
    for mass in (0.5, 4.0):
        report = mk.run(load_scene("toss", {"props.ball.mass": mass})).report
        assert report["ok"], report["reason"]
        assert report["release_speed_error"] < 0.01


def test_a_toss_that_lands_elsewhere_is_not_ok():
    """The arm is too weak for the curve: the ball is thrown, and lands short of its target."""
    report = mk.run(load_scene("toss", {"tasks.throw.max_force": 12.0})).report
    assert report["landing_error"] > 0.1
    assert not report["ok"]
    assert report["reason"] == f"'ball' landed {report['landing_error']:.3f} m from where it should (at most 0.1 m)"
    loose = mk.run(load_scene("toss", {"tasks.throw.max_force": 12.0, "steps.landed.when.within": 3.0})).report
    assert loose["ok"]
    assert loose["landing_error"] == report["landing_error"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (
            "steps.thrown.when",
            {"after": 1.0},
            "steps.landed.when.within: with landed, it needs an earlier step",
        ),
        ("steps.landed.when", {"within": 0.1}, "steps.5.when: task and within go together"),
        (
            "steps.landed.when",
            {"landed": "ball", "task": "gaze", "within": 0.1},
            "steps.5.when: within is for task or for landed",
        ),
        ("steps.landed.when", {"landed": "ball", "within": -1.0}, "steps.5.when.within: given -1.0"),
    ],
)
def test_a_bound_of_a_landing_that_means_nothing_is_refused(key, value, words):
    with pytest.raises(SceneError) as error:
        build_run(load_scene("toss", {key: value}), record=False)
    assert words in str(error.value)


# --- the claims; tests/papers/test_abe2006.py measures them


def test_every_change_of_a_criterion_says_from_what_to_what_and_why():
    for claim in catch.CLAIMS + toss.CLAIMS:
        assert claim.bound in ("document", "ours")
        for change in claim.changed:
            assert change.before != change.after
            assert change.why


# --- samplers


def test_balls_come_through_the_window() -> None:
    balls = catch.random_balls(60, 7)
    assert balls[:5] == catch.random_balls(5, 7)
    assert balls[:5] != catch.random_balls(5, 7 + 1)
    for b in balls:
        t = b.seconds
        there = np.array(b.at) + t * np.array(b.velocity) - [0, 0, 0.5 * 9.81 * t**2]
        assert there == pytest.approx(b.crossing)
        assert there[0] == pytest.approx(0.42)
        assert -0.75 <= there[1] <= 0.25
        assert 0.9 <= there[2] <= 1.7
        assert 0.6 <= t <= 0.9
        assert 2 <= np.linalg.norm(b.velocity) <= 8
        assert 0.1 <= b.mass <= 1.5
        assert 0.03 <= b.radius <= 0.12
        assert 0.3 <= b.at[2] <= 2.8
        assert abs(np.rad2deg(np.arctan2(b.velocity[1], -b.velocity[0]))) <= 25
    scene = load_scene("catch", balls[0].changes())
    assert scene.props["ball"].mass == balls[0].mass


def test_tosses_are_of_all_shapes_and_directions() -> None:
    tosses = toss.random_tosses(60, 7)
    assert {t.shape for t in tosses} == {"sphere", "box", "cylinder"}
    for t in tosses:
        assert 0.2 <= t.mass <= 1.0
        assert 1.5 <= np.hypot(*t.target) <= 4.0
        assert abs(np.rad2deg(np.arctan2(t.target[1], t.target[0]))) <= 45
    for t in tosses[:3]:
        assert load_scene("toss", t.changes()).props["ball"].shape == t.shape


# --- judgements that can fail


@functools.cache
def seen() -> Catch:
    return catch_one({})


def test_a_ball_that_flies_past_is_a_miss():
    past = catch_one({"props.ball.at": [3.2, 2.5, 1.3]})
    assert not past.held
    assert np.isnan(past.gap)
    assert np.isnan(past.grip)
    assert catch.judge_catches([past]).holds is False
    assert catch.judge_grips([past]).holds is False
    assert catch.judge_waits([past], [seen()]).holds is False
    assert catch.judge_touch([past]).holds is False
    assert catch.judge_return([past]).holds is False


def test_a_caught_ball_is_seen():
    ball = seen()
    assert ball.held
    assert ball.stood.upright
    assert abs(ball.gap) <= TOUCH
    assert 0 <= ball.back < ball.given
    assert 0 < ball.apart < 1
    # along and across make the whole difference
    assert ball.apart >= 1 - ball.along - 1e-9
    assert ball.grip < ball.press
    assert ball.torque > 1.0
    assert np.isfinite(ball.arm).all()


@pytest.mark.parametrize(
    ("judge", "bad"),
    [
        (catch.judge_catches, {"held": False}),
        (catch.judge_touch, {"deepest": 0.006}),
        (catch.judge_touch, {"gap": 0.006}),
        (catch.judge_touch, {"drift": 0.006}),
        (catch.judge_grips, {"grip": 470.0}),
        (catch.judge_grips, {"held": False}),
        (catch.judge_return, {"back": 0.04}),
        (lambda catches: catch.judge_waits(catches, catches), {"waiting": 0.2}),
        (lambda catches: catch.judge_slowing([1.0] * 20, catches), {"seconds": 0.01}),
        (lambda catches: catch.judge_slowing([1.0] * 20, catches), {"back": 10.0}),
        (lambda catches: catch.judge_slowing([1.0] * 20, catches), {"kept": 0.4}),
        (catch.judge_match, {"apart": 0.3}),
    ],
)
def test_bad_results_do_not_hold(judge, bad):
    good = dataclasses.replace(seen(), kept=0.6, apart=0.2)
    assert judge([good] * 20).holds
    assert judge([good] * 5 + [dataclasses.replace(good, **bad)] * 15).holds is False


def test_weights_limits_and_arms_are_judged():
    ball, replace = seen(), dataclasses.replace
    heavier = replace(ball, given=ball.given + 0.1)
    assert catch.judge_weights((1, 2), [ball, heavier]).holds
    assert catch.judge_weights((1, 2), [ball, ball]).holds is False
    assert catch.judge_limits(heavier, replace(ball, torque=2 * ball.torque)).holds
    assert catch.judge_limits(heavier, ball).holds is False
    assert catch.judge_limits(ball, replace(ball, torque=2 * ball.torque)).holds is False
    arms = [replace(ball, arm=(0.0, 0.0, 30.0 * k)) for k in range(3)]
    assert catch.judge_arms(arms, [replace(a, arm=(15.0, *a.arm[1:])) for a in arms]).holds
    assert catch.judge_arms(arms, arms).holds is False


def test_momentum_comes_from_outside():
    take = default_catch()
    touch = events(take)["caught"]
    exchange = momentum_exchange(take.recording, touch - 0.02, touch + 0.2)
    assert catch.judge_exchange({0.5: exchange}).holds
    # without the ground nothing adds up
    falling = 75.5 * 0.22 * np.array([0.0, 0.0, -9.81])
    assert catch.judge_exchange({0.5: exchange._replace(impulse=falling)}).holds is False


GOOD = toss.Landing(True, 0.01, 0.01, 0.01, 0.02, 0)
NAN = float("nan")


@pytest.mark.parametrize(
    "bad",
    [
        toss.Landing(False, NAN, NAN, NAN, NAN, 0),
        dataclasses.replace(GOOD, speed=0.06),
        dataclasses.replace(GOOD, place=0.06),
        dataclasses.replace(GOOD, missed=0.2),
    ],
)
def test_tosses_are_judged(bad):
    assert toss.judge_landings([GOOD] * 9 + [bad]).holds
    assert toss.judge_landings([GOOD] * 8 + [bad] * 2).holds is False


def test_heavy_tosses_are_judged():
    worse = [dataclasses.replace(GOOD, speed=0.01 * k, tracked=0.01 * k) for k in (1, 2, 3)]
    masses = (1, 2, 3)
    assert toss.judge_heavy(masses, worse).holds
    assert toss.judge_heavy(masses, [GOOD] * 3).holds is False
    assert toss.judge_heavy(masses, worse[::-1]).holds is False
    assert toss.judge_heavy(masses, [*worse[:2], dataclasses.replace(worse[2], trouble="diverged")]).holds is False
    # what is dropped does not count
    assert toss.judge_heavy(masses, [GOOD, GOOD, toss.Landing(False, NAN, NAN, NAN, NAN, 0)]).holds is False
    bumped = dataclasses.replace(GOOD, bumps=5)
    assert toss.judge_collisions(masses, [GOOD, GOOD, bumped]).holds
    assert toss.judge_collisions(masses, [GOOD, bumped, GOOD]).holds is False


def test_inputs_are_counted():
    throw = {"name": "throw", "goals": {"throw": {"throw": {"release": [0, 0, 1], "target": [1, 0]}}}}
    raw = {"character": {"clip": "toss"}, "tasks": {}, "steps": [throw]}
    # the step's name is one more
    assert toss.judge_inputs(raw, True).ours == 4
    del throw["name"]
    raw["steps"] = [throw | {"name": "throw"}]
    counted = toss.judge_inputs(raw | {"tasks": {"a": {"frequency": 1.0, "goal": {"at": [0, 0]}}}}, True)
    assert (counted.ours, counted.numbers["in_goals"], counted.holds) == (6, 3, False)


def test_a_curve_that_misses_its_ends_or_is_not_tracked_does_not_hold():
    assert toss.judge_curve([0.001] * 4, 0.01).holds
    assert toss.judge_curve([0.001, 0.02, 0.001, 0.001], 0.01).holds is False
    assert toss.judge_curve([0.001] * 4, 0.06).holds is False
