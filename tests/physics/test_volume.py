"""Flesh keeps its volume: thrown at the ground, soft characters stay whole, by forces that are nobody's push."""

import mujoco
import numpy as np
import pytest

from manikin.characters.catalog import TIMESTEP
from manikin.characters.creatures import CREATURES
from manikin.errors import Inverted
from manikin.loop import Run
from manikin.physics.volume import FLATTEST, brake, find_watched
from manikin.physics.world import Control, World
from manikin.playback import replay
from manikin.recording import Recorder
from manikin.scenes.stage import stage


class Idle:
    """No motor does anything."""

    def control(self, world: World, tasks: object, dt: float) -> Control:
        return Control(np.zeros(world.model.nu))


def thrown(name: str, speed: float) -> World:
    """A creature just above the ground, all of it moving down at `speed` [m/s]."""
    world = World(stage("t", [CREATURES[name](1.0, "", (0.0, 0.0, 0.05), 0.0)], {}, TIMESTEP))
    model = world.model
    for j in range(model.njnt):
        free = model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
        if free or (model.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE and model.jnt_axis[j][2] == 1):
            world.data.qvel[model.jnt_dofadr[j] + (2 if free else 0)] = -speed
    world.forward()
    return world


def about_to_flatten(name: str) -> World:
    """The same, 12 m/s fast, in the first step in which flesh is braked."""
    world = thrown(name, 12.0)
    run = Run(world, Idle())
    for _ in range(100):
        before = world.state()
        run.advance(1)
        if run._pushed:
            world.restore(before)
            world.refresh()
            return world
    raise AssertionError("nothing was squeezed")


@pytest.mark.parametrize("name", ["worm", "fish", "starfish", "donut"])
@pytest.mark.parametrize("speed", [8.0, 12.0])
def test_flesh_survives_a_fall_that_would_turn_it_inside_out(name: str, speed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = thrown(name, speed)
    run, least = Run(whole, Idle()), np.inf
    for _ in range(150):
        run.advance(1)
        least = min(least, whole.flesh_ratio())
    assert least > 0.02
    # it is braked, not stopped dead or thrown back: nothing in it is faster than it fell
    assert np.abs(whole.data.qvel[-3:]).max() < speed
    monkeypatch.setattr(World, "flesh_brakes", lambda *_: [])
    with pytest.raises(Inverted):
        Run(thrown(name, speed), Idle()).advance(150)


@pytest.mark.parametrize("name", ["worm", "donut"])
def test_the_brakes_are_internal_forces_and_leave_the_state_alone(name: str) -> None:
    world = about_to_flatten(name)
    model, data = world.model, world.data
    watched = find_watched(world.tetrahedra, model, data)
    assert watched is not None
    before = world.full_state()
    wrenches = brake(watched, model, data)
    assert wrenches
    assert np.array_equal(world.full_state(), before)
    force = sum(w[:3] for _, w in wrenches)
    moment = sum(w[3:] + np.cross(data.xipos[b], w[:3]) for b, w in wrenches)
    size = sum(np.linalg.norm(w[:3]) for _, w in wrenches)
    assert np.linalg.norm(force) < 1e-9 * size
    assert np.linalg.norm(moment) < 1e-9 * size
    # they take energy out: their power is negative
    power = 0.0
    for body, wrench in wrenches:
        motion = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, motion, 0)
        at_centre = motion[3:] + np.cross(motion[:3], data.xipos[body] - data.xpos[body])
        power += float(wrench[:3] @ at_centre + wrench[3:] @ motion[:3])
    assert power < 0


def test_the_next_step_keeps_the_volume_that_was_asked_for() -> None:
    world = about_to_flatten("donut")
    watched = find_watched(world.tetrahedra, world.model, world.data)
    assert watched is not None
    control = Control(np.zeros(world.model.nu))
    for body, wrench in world.flesh_brakes(control):
        world.data.xfrc_applied[body] += wrench
    world.step(control)
    world.refresh()
    assert world.flesh_ratio() > FLATTEST / 2


def test_flesh_at_rest_is_not_braked() -> None:
    world = thrown("starfish", 0.0)
    run = Run(world, Idle())
    for _ in range(100):
        run.advance(1)
        assert not run._pushed


def test_a_recording_of_a_hard_fall_replays_in_plain_mujoco() -> None:
    world = thrown("worm", 12.0)
    meta = {"name": "t", "scene": "", "characters": {}, "feet": [], "props": {}}
    run = Run(world, Idle(), recorder=Recorder(world, [], 60.0, meta))
    run.advance(150)
    assert run.recorder is not None
    recording = run.recorder.finish()
    assert len(recording.xfrc) > 0
    assert replay(recording).difference == 0.0
