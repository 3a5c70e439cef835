"""Runs in which a human moves as no person can are not ok."""

from collections.abc import Callable

import numpy as np
import pytest

import manikin as mk
from manikin.scenes.build import build_run
from manikin.scenes.scripts import Steps

MakeScene = Callable[..., mk.Scene]


def test_every_human_is_watched_and_nobody_else(stand: MakeScene) -> None:
    script = build_run(stand(), record=False).script
    assert isinstance(script, Steps)
    assert [len(w.joints) for w in script.watches] == [41]
    lamp = build_run(mk.load_scene("lamp"), record=False).script
    assert isinstance(lamp, Steps)
    assert lamp.watches == ()


def test_quick_joints_are_named(stand: MakeScene) -> None:
    run = build_run(stand(), record=False)
    assert isinstance(run.script, Steps)
    (watch,), world = run.script.watches, run.world
    assert watch.check(world) is None
    joint = world.model.joint("shank_l_flexion")
    world.data.qvel[joint.dofadr[0]] = -24.0
    assert watch.check(world) is None
    world.data.qvel[joint.dofadr[0]] = -73.0
    assert watch.check(world) == ("joint 'shank_l_flexion' moved at 73 rad/s at 0.00 s: no person moves that fast (at most 25)")
    # rounded, this is what is allowed
    world.data.qvel[joint.dofadr[0]] = -25.02
    assert "moved at 25.02 rad/s" in str(watch.check(world))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_trunk_that_folds_too_far_is_named(stand: MakeScene, axis: int) -> None:
    run = build_run(stand(), record=False)
    world = run.world
    assert isinstance(run.script, Steps)
    for degrees, beyond in ((130, False), (150, True)):
        quat = np.zeros(4)
        quat[0], quat[1 + axis] = np.cos(np.deg2rad(degrees / 2)), np.sin(np.deg2rad(degrees / 2))
        world.data.qpos[3:7] = quat
        world.forward()
        found = run.script.watches[0].check(world)
        assert (found is not None and "the trunk leaned 15" in found) == beyond


def test_a_trunk_that_leans_hardly_too_far_leans_visibly_too_far(stand: MakeScene) -> None:
    world = (run := build_run(stand(), record=False)).world
    assert isinstance(run.script, Steps)
    chest = run.script.watches[0].chest
    for degrees, says in ((140.3, "140.3"), (140.004, "140.004"), (147.2, "147")):
        world.data.xmat[chest, 8] = np.cos(np.deg2rad(degrees))
        assert f"the trunk leaned {says} degrees from upright" in str(run.script.watches[0].check(world))


def test_a_run_that_flings_an_arm_is_not_ok(stand: MakeScene) -> None:
    tug = {"body": "hand_l", "path": [[0.0, 900, 0, 0], [0.1, 900, 0, 0]]}
    report = mk.run(stand(**{"tugs.jerk": tug})).report
    assert not report["ok"]
    assert "rad/s" in report["reason"]
    assert "_l_" in report["reason"]
    assert mk.run(stand()).report["ok"]
