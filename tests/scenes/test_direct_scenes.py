"""Scenes with the direct controller: drags, events, and what does not fit together."""

import mujoco
import numpy as np
import pytest

from manikin.controllers.direct import Direct
from manikin.errors import SceneError
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_text

HOP = """
name = "hop"
controller = "direct"
seconds = 2.0
timestep = 0.001
[control]
rate = 200
[character]
model = "lamp"
[tasks.balance]
measure = "com"
frequency = 3.0
goal = { of = "foot", at = [0.0, 0.0] }
[tasks.head]
measure = "point"
of = "head"
frequency = 3.0
priority = 1
active = false
[tasks.calm]
measure = "posture"
frequency = 1.0
priority = 2
[[steps]]
name = "crouch"
when = "start"
goals.head = { relative = true, path = [[0, 0, 0, 0], [0.4, 0, 0, -0.13]] }
[[steps]]
name = "leap"
when = { after = 0.6 }
goals.head = { relative = true, at = [0, 0, 0.5] }
[[steps]]
name = "fly"
when = { event = "lift_off" }
off = ["head", "balance"]
[[steps]]
name = "fall"
when = { event = "falling" }
[[steps]]
name = "land"
when = { event = "touch_down" }
formulation = "velocity"
"""


def test_a_hop_is_a_drag_down_a_drag_up_and_what_follows():
    run = build_run(parse_text(HOP, "hop"))
    assert isinstance(run.controller, Direct)
    world, recorder = run.world, run.recorder
    assert recorder is not None
    start = float(world.data.xpos[world.body("head")][2])
    run.advance(600)
    assert world.data.xpos[world.body("head")][2] == pytest.approx(start - 0.13, abs=0.015)
    assert run.controller.formulation == "acceleration"
    highest = 0.0
    for _ in range(140):
        run.advance(10)
        highest = max(highest, float(world.data.xpos[world.body("foot")][2]))
    names = [e["name"] for e in recorder.kept["event"]]
    assert names == ["crouch", "leap", "fly", "fall", "land"]
    times = [e["time"] for e in recorder.kept["event"]]
    assert times == sorted(times)
    assert highest > 0.02
    assert run.controller.formulation == "velocity"


def test_the_hop_flies_as_physics_wants():
    """In flight the centre of mass falls at g and angular momentum is conserved."""
    run = build_run(parse_text(HOP, "hop"), record=False)
    world, script = run.world, run.script
    while "fly" not in script.began:  # type: ignore[attr-defined]
        run.advance(1)
    run.advance(5)
    speeds, turns = [], []
    foot = world.body("foot")
    while "land" not in script.began:  # type: ignore[attr-defined]
        run.advance(1)
        mujoco.mj_subtreeVel(world.model, world.data)
        speeds.append(world.data.subtree_linvel[foot].copy())
        turns.append(world.data.subtree_angmom[foot].copy())
    flight = np.array(speeds[:-3])
    assert len(flight) > 20
    fall = np.polyfit(np.arange(len(flight)) * world.timestep, flight[:, 2], 1)[0]
    assert fall == pytest.approx(-9.81, rel=0.01)
    assert np.ptp(flight[:, :2], axis=0).max() < 0.01 * np.abs(flight).max()
    # against what the parts would have if they all rotated in one direction
    drift = np.ptp(np.array(turns[:-3]), axis=0).max()
    assert drift < 0.01 * max(float(np.abs(turns).max()), 0.02)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (('controller = "direct"', 'controller = "prioritized"'), "'prioritized' drives the human"),
        (('model = "lamp"', 'model = "human"'), "'direct' is for lamp"),
        (('event = "lift_off"', 'event = "lift_of"'), "lift_of"),
        (("relative = true, at = [0, 0, 0.5]", 'relative = true, of = "foot", at = [0, 0, 0.5]'), "relative goes with"),
        (('of = "foot", at = [0.0, 0.0]', 'of = "foot", at = [0.0, 0.0, 0.0]'), "needs 2 numbers"),
        (('of = "foot", at = [0.0, 0.0]', 'of = "fot", at = [0.0, 0.0]'), "foot"),
        (("[tasks.calm]", "[tasks.calm]\ngoal = { relative = true, at = [0] }"), "relative"),
        (("relative = true, at = [0, 0, 0.5]", 'away = "foot", at = [0, 0, 0.5]'), "away goes with a relative at"),
        (("relative = true, at = [0, 0, 0.5]", 'relative = true, away = "fot", at = [0, 0, 0.5]'), "foot"),
        (('formulation = "velocity"', 'formulation = "speed"'), "formulation"),
        (('model = "lamp"', 'model = "lamp"\nheight = 1.8'), "height is not for a lamp"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_key(change, key):
    with pytest.raises(SceneError, match=key):
        build_run(parse_text(HOP.replace(*change), "hop"))


@pytest.mark.parametrize("side", [0.0, 90.0, 200.0])
def test_a_drag_may_point_away_from_a_thing(side):
    x, y = 0.4 * np.cos(np.radians(side)), 0.4 * np.sin(np.radians(side))
    ball = f'[props.ball]\nshape = "sphere"\nsize = [0.05]\nmass = 0.1\nat = [{x}, {y}, 0.05]\n'
    hop = HOP.replace("[tasks.calm]", ball + "[tasks.calm]")
    hop = hop.replace(
        "relative = true, path = [[0, 0, 0, 0], [0.4, 0, 0, -0.13]]", 'relative = true, away = "ball", at = [0.1, 0.02, -0.1]'
    )
    run = build_run(parse_text(hop, "hop"), record=False)
    (head,) = (task for task in run.tasks if task.name == "head")
    before = head.measure.evaluate(run.world.dynamics()).value
    away = (before - run.world.data.xpos[run.world.body("ball")])[:2]
    away /= np.linalg.norm(away)
    run.advance(1)
    assert head.goal is not None
    moved = head.goal.at(run.world).value - before
    assert moved[:2] @ away == pytest.approx(0.1, abs=1e-3)
    assert moved[:2] @ [-away[1], away[0]] == pytest.approx(0.02, abs=1e-3)
    assert moved[2] == pytest.approx(-0.1, abs=1e-3)


def test_a_formulation_is_for_the_direct_controller():
    text = """
name = "stand"
[character]
model = "human"
[tasks.posture]
measure = "posture"
[[steps]]
name = "begin"
when = "start"
formulation = "velocity"
"""
    with pytest.raises(SceneError, match="direct"):
        build_run(parse_text(text, "stand"))


def steps_after(when: str) -> list[str]:
    """The hop with one more step, and which steps began."""
    run = build_run(parse_text(HOP + f'[[steps]]\nname = "there"\nwhen = {when}\n', "hop"))
    run.advance(3000)
    return list(run.script.began)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("when", "comes"),
    [
        ('{ place = { of = "foot", axis = "z", below = 0.05 } }', True),
        ('{ place = { of = "bulb", axis = "z", above = 2.0 } }', False),
        ('{ place = { of = "bulb", off = "foot", below = 0.6 } }', True),
        ('{ place = { of = "bulb", off = "foot", above = 0.6 } }', False),
        ('{ place = [{ of = "foot", axis = "x", above = -5 }, { of = "foot", axis = "x", below = -4 }] }', False),
        ('{ tilt = { of = "head", axis = [1, 0, 0], above = 10 } }', True),
        ('{ tilt = { of = "foot", below = 0.0 } }', False),
        ("{ still = 0.2 }", True),
        ("{ still = 1e-9 }", False),
    ],
)
def test_a_step_waits_for_places_tilts_and_rest(when, comes):
    assert ("there" in steps_after(when)) == comes


@pytest.mark.parametrize(
    "when",
    [
        '{ place = { of = "toe", axis = "z", above = 1 } }',
        '{ place = { of = "foot", axis = "z" } }',
        '{ place = { of = "foot", axis = "z", off = "bulb", above = 1 } }',
        '{ place = { of = "foot", above = 1 } }',
        '{ place = { of = "foot", off = "toe", above = 1 } }',
        '{ tilt = { of = "head" } }',
    ],
)
def test_places_and_tilts_name_what_exists(when):
    with pytest.raises(SceneError, match=r"when|place|tilt"):
        steps_after(when)


POSES = """
name = "poses"
controller = "direct"
seconds = 2.0
timestep = 0.001
[control]
rate = 500
[character]
model = "lamp"
above = 1.0
[tasks.pose]
measure = "posture"
of = ["lower_pitch", "upper_pitch"]
law = "track"
frequency = 6.0
[[steps]]
name = "wait"
when = "start"
[[steps]]
name = "bend"
when = { after = 0.02 }
goals.pose = { spline = [[0.15, -60.0, 100.0], [0.3, -20.0, 60.0]] }
"""


def test_key_poses_are_met_in_time_from_the_pose_at_the_beginning():
    run = build_run(parse_text(POSES, "poses"), record=False)
    task, world = run.tasks[0], run.world
    address = [world.model.jnt_qposadr[world.joint(j)] for j in ("lower_pitch", "upper_pitch")]
    run.advance(20)
    first = world.data.qpos[address].copy()
    run.advance(1)
    goal = task.goal
    assert goal is not None
    world.data.time = 0.02
    assert np.allclose(goal.at(world).value, first, atol=1e-12)
    assert np.allclose(goal.at(world).rate, 0, atol=1e-9)
    for time, key in ((0.15, (-60, 100)), (0.3, (-20, 60)), (0.9, (-20, 60))):
        world.data.time = 0.02 + time
        assert np.allclose(np.degrees(goal.at(world).value), key, atol=1e-6)
        assert np.allclose(goal.at(world, moving=False).value, goal.at(world).value)
    # speeds and accelerations are those of the curve, with no jump at the key between
    for time in (0.06, 0.17, 0.25):
        around = []
        for shift in (-1e-4, 0.0, 1e-4):
            world.data.time = time + shift
            around.append(goal.at(world))
        assert np.allclose(around[1].rate, (around[2].value - around[0].value) / 2e-4, atol=1e-3)
        assert np.allclose(around[1].acceleration, (around[2].rate - around[0].rate) / 2e-4, atol=1e-1)
    # and the joints follow
    world.data.time = 0.021
    run.advance(149)
    assert np.degrees(world.data.qpos[address]) == pytest.approx([-60, 100], abs=1.5)
    run.advance(200)
    assert np.degrees(world.data.qpos[address]) == pytest.approx([-20, 60], abs=1.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[0.15, -60.0, 100.0]", "[0.15, -60.0]"), r"goals.pose.spline.0: needs 3 numbers \[time, 2 angles\], 2 were given"),
        (("[0.3, -20.0", "[0.15, -20.0"), r"goals.pose.spline.1: given 0.15 s: must come at least 0.001 s after 0.15 s"),
        (("[0.15, -60.0", "[0.0, -60.0"), r"goals.pose.spline.0: given 0 s: must come at least 0.001 s after 0 s"),
        (("[[0.15, -60.0, 100.0], [0.3, -20.0, 60.0]]", "[]"), r"goals.pose.spline: needs one or more rows"),
        (("[0.15, -60.0", "[0.15, nan"), r"goals.pose.spline.0.1: given nan"),
        (("spline =", "relative = true, spline ="), "relative goes with at and path"),
        (("spline =", "at = [0, 0], spline ="), "exactly one of at, path, spline"),
        (('measure = "posture"\nof = ["lower_pitch", "upper_pitch"]', 'measure = "com"'), "spline: is for measure 'posture'"),
    ],
)  # fmt: skip
def test_bad_key_poses_are_refused_with_their_key(change, message):
    with pytest.raises(SceneError, match=message):
        build_run(parse_text(POSES.replace(*change), "poses"))
