"""Abe & Popovic 2006, section 5: catch, and catch and toss, from recordings replayed in plain MuJoCo."""

import functools

import numpy as np
import pytest

import manikin as mk
from manikin.papers.abe2006.catch import TOUCH, catch_one, random_balls
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


def test_a_weak_grip_breaks():
    take = mk.run(load_scene("catch", {"props.ball.grip.force": 60.0}))
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


def test_heavy_things_degrade_and_do_not_explode():
    light, heavy = (mk.run(load_scene("toss", {"props.ball.mass": m})).report for m in (0.5, 6.0))
    assert light["release_speed_error"] < 0.05
    assert heavy["release_speed_error"] is None or heavy["release_speed_error"] > light["release_speed_error"]
