"""What a grip bears: pulling out of the palm and sliding along it, not pressing into it."""

import numpy as np
import pytest

from manikin.physics.attach import palm_axis
from manikin.physics.grips import SKIN_FRICTION, grip_forces, grip_load
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene

OUT = np.array([0.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("force", "load"),
    [
        # the palm pushes the prop: no finger is needed
        ((0.0, 900.0, 0.0), 0.0),
        # the hand pulls the prop along: all of it is borne by the fingers
        ((0.0, -30.0, 0.0), 30.0),
        ((40.0, 0.0, 0.0), 40.0),
        ((40.0, -30.0, 0.0), 50.0),
        # pressing holds what slides, up to its friction
        ((40.0, 100.0, 0.0), 0.0),
        ((0.0, 100.0, 100.0), 100.0 * (1 - SKIN_FRICTION)),
    ],
)
def test_what_the_fingers_bear(force, load):
    assert grip_load(np.array(force), OUT) == pytest.approx(load)


def test_the_force_of_the_hand_moves_the_ball():
    """While it is held, weld and contacts of the hand together give the ball its acceleration."""
    run = build_run(load_scene("catch"), record=False)
    world = run.world
    ball, mass = world.body("ball"), 0.5
    while "caught" not in run.script.began:
        run.advance(1)
    most = 0.0
    for _ in range(200):
        before = world.data.qvel[-6:-3].copy()
        run.advance(1)
        ((hand, prop, force),) = grip_forces(world)
        assert (hand, prop) == ("hand_r", "ball")
        gained = mass * (world.data.qvel[-6:-3] - before) / world.timestep
        assert force + [0.0, 0.0, -9.81 * mass] == pytest.approx(gained, abs=0.02 * max(np.linalg.norm(gained), 5.0))
        most = max(most, float(force @ palm_axis(world, "hand_r")))
    assert ball in world.held
    # it was stopped by the palm, with more than any grip could hold against a pull
    assert most > 200.0
