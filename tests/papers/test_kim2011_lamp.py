"""Kim & Pollard 2011 with the lamp: the shipped scenes, what must hold in them, and that measurements can fail."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from manikin.errors import SceneError
from manikin.papers.claims import Lab
from manikin.papers.kim2011 import lamp, lamp_control
from manikin.papers.kim2011.lamp_control import Flight
from manikin.playback import replay
from manikin.scenes.build import build_run, rescript
from manikin.scenes.scene import load_scene

# after an impact: how long a joint may be beyond its limit [s], and by how much [rad]; by how much otherwise
BOUNCE, BEYOND, SMOOTH = 0.05, 0.05, 1e-3


@pytest.fixture
def lab(kim2011: Lab) -> Lab:
    return kim2011


@pytest.mark.parametrize("name", lamp_control.SCENES)
def test_the_scene_reaches_its_end(lab, name):
    take = lab.take(name)
    assert take.report["ok"], take.report["reason"]


@pytest.mark.parametrize("name", lamp_control.SCENES)
def test_joints_keep_their_limits_and_nothing_sinks_in(lab, name):
    recording = lab.take(name).recording
    beyond, deepest = [], [0.0]

    def watch(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        hinges = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
        q, (low, high) = data.qpos[model.jnt_qposadr[hinges]], model.jnt_range[hinges].T
        beyond.append(float(np.maximum(q - high, low - q).max()))
        if data.ncon:
            deepest[0] = max(deepest[0], -float(data.contact.dist.min()))

    replay(recording, watch)
    over = np.array(beyond)
    assert over.max() < BEYOND
    assert (over > SMOOTH).sum() * 0.001 < BOUNCE
    assert 0 < deepest[0] < 0.005


@pytest.mark.parametrize(
    "changes",
    [
        {"character.strength": 0.9},
        {"character.strength": 1.1},
        {"control.rate": 250.0},
        {"steps.leap.goals.head.path.1.3": 0.42},
        {"steps.leap.goals.head.path.1.1": 0.14},
        {"props.mat.friction": 0.6},
        {"steps.crouch.goals.head.path.1.3": -0.125},
    ],
)
def test_the_hop_does_not_depend_on_one_number(changes):
    run = build_run(load_scene("lamp", changes), record=False)
    assert lamp_control.until(run, "stand", 4.0)


def test_the_hop_fails_where_it_must():
    """Too weak a lamp does not leave the ground, and its script does not reach its end."""
    run = build_run(load_scene("lamp", {"character.strength": 0.1}), record=False)
    assert not lamp_control.until(run, "stand", 4.0)


# --- measurements that can fail


def test_a_fall_that_is_not_g_does_not_hold():
    good = Flight(0.3, 9.8, 0.005)
    assert lamp_control.judge_flights([good]).holds
    assert not lamp_control.judge_flights([good, good._replace(fall=9.6)]).holds
    assert not lamp_control.judge_flights([good, good._replace(drift=0.02)]).holds
    assert not lamp_control.judge_flights([]).holds


def test_a_lamp_that_lies_or_stays_below_is_noticed(lab):
    recording = lab.take("lamp_stairs").recording
    assert lamp.judge_stairs(recording, True).holds
    assert not lamp.judge_stairs(recording, False).holds
    lying = recording.qpos.copy()
    lying[-1, 3:7] = [0.7, 0.7, 0.0, 0.0]
    assert not lamp.judge_stairs(replace(recording, qpos=lying), True).holds
    low = recording.qpos.copy()
    low[:, 2] = 0.0
    assert not lamp.judge_stairs(replace(recording, qpos=low), True).holds


def test_a_pushed_root_is_seen(lab):
    recording = lab.take("lamp").recording
    push = np.array([[10.0, 1.0, 0.0, 0.0, 1e-6, 0.0, 0.0, 0.0]])
    assert lamp_control.root_force(replace(recording, xfrc=push)) > 0


def test_other_drags_make_another_jump():
    """The script of a changed scene takes the place of the old one, also in the middle of a run."""
    run = build_run(load_scene("lamp_box"), record=False)
    run.advance(100)
    ends = []
    for ahead in (0.15, 0.5):
        other = run.branch()
        lamp.steer(other, np.array([ahead, 0.0]))
        landed = lamp.landing(other)
        assert landed is not None
        ends.append(float(landed[0]))
    assert ends[1] > ends[0] + 0.03
    with pytest.raises(SceneError, match="same names"):
        rescript(run, load_scene("lamp_stairs"))
