"""Trials of standing: push a figure that stands on its own feet, and say whether it still stands. See docs/feet.md."""

import math
from typing import NamedTuple

import numpy as np

from manikin.errors import Diverged
from manikin.physics.world import Push
from manikin.scenes.build import build_run
from manikin.scenes.scene import Scene, load_scene

# the figure takes its stance, is pushed, and is watched from the push on [s]
SETTLE, PUSH, WATCH = 1.5, 0.2, 4.0
# it stands when the pelvis never sank below this height [m], ends within this of its place [m] and slower than this [m/s]
LOWEST, PLACE, SPEED = 0.7, 0.05, 0.05


class Stood(NamedTuple):
    """What came of a push: does it stand; how far the feet slipped and the pelvis swayed at most [m]."""

    stands: bool
    slip: float
    sway: float


def push_standing(force: float, angle: float, scene: Scene | None = None, body: str = "pelvis") -> Stood:
    """Push with `force` [N] for 0.2 s towards `angle` [rad] (0 is forward, then to the left); `scene`: `stand` unless given."""
    run = build_run(load_scene("stand") if scene is None else scene, record=False)
    world = run.world
    data, step = world.data, world.timestep
    run.advance(round(SETTLE / step))
    pelvis, feet = world.body("pelvis"), [world.site(f"foot_{side}") for side in "lr"]
    stood, began = data.site_xpos[feet].copy(), data.xpos[pelvis].copy()
    push = Push(body, force * np.array([math.cos(angle), math.sin(angle), 0.0]))
    slip, sway, off = 0.0, 0.0, np.zeros(3)
    try:
        for k in range(round(WATCH / step) // 10):
            run.advance(10, [push] if k < round(PUSH / step) // 10 else [])
            off = data.xpos[pelvis] - began
            slip = max(slip, float(np.linalg.norm((data.site_xpos[feet] - stood)[:, :2], axis=1).max()))
            sway = max(sway, float(np.linalg.norm(off[:2])))
            if data.xpos[pelvis, 2] < LOWEST:
                return Stood(False, slip, sway)
    except Diverged:
        return Stood(False, slip, sway)
    rests = float(np.linalg.norm(off)) < PLACE and float(np.linalg.norm(data.qvel[:3])) < SPEED
    return Stood(rests, slip, sway)
