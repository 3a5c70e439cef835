"""Kim & Pollard 2011, section 3: the user can make it jump higher and farther by dragging upward more quickly."""

from typing import NamedTuple

import numpy as np

from manikin.controllers.direct import Direct
from manikin.errors import Diverged, Inverted
from manikin.loop import Run
from manikin.papers.claims import Claim, Finding, Lab
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.scenes.scripts import Steps

# how long the same drag takes [s], slow ones first; all chosen before any of them was tried
LAMP = (0.48, 0.36, 0.24, 0.18, 0.12, 0.08)
STARFISH = (2.4, 1.8, 1.2, 0.9, 0.6, 0.4)
# the drags: of the lamp's head, of the starfish's middle [m]
LEAP, UP = (0.15, 0.0, 0.4), (0.0, 0.0, 1.5)


class Jump(NamedTuple):
    """speed: of the drag [m/s]. height: of the lowest bone over where it was at rest [m]. far: of the root along the ground."""

    speed: float
    height: float
    far: float


def jump(run: Run, speed: float, seconds: float) -> Jump:
    """Run a scene until it has landed."""
    world, controller, script = run.world, run.controller, run.script
    assert isinstance(controller, Direct)
    assert isinstance(script, Steps)
    bones = np.unique(controller.skeletons[0].bone_of[controller.skeletons[0].bone_of >= 0])
    run.advance(round(0.2 / world.timestep))
    start, height, far = world.data.xpos[bones].copy(), 0.0, 0.0
    landing = next(s.spec.name for s in script.steps if s.spec.name.startswith(("land", "touch")))
    while world.time < seconds and landing not in script.began and not script.done:
        try:
            run.advance(1)
        except (Diverged, Inverted):
            return Jump(speed, np.nan, np.nan)
        height = max(height, float(world.data.xpos[bones, 2].min() - start[:, 2].min()))
        far = float(np.linalg.norm(world.data.xpos[bones[0], :2] - start[0, :2]))
    return Jump(speed, height, far)


def lamp(duration: float) -> Jump:
    path = [[0.0, 0.0, 0.0, 0.0], [duration, *LEAP]]
    run = build_run(load_scene("lamp", {"steps.leap.goals.head": {"relative": True, "path": path}}), record=False)
    return jump(run, float(np.linalg.norm(LEAP)) / duration, 3.0)


def starfish(duration: float) -> Jump:
    path = [[0.0, 0.0, 0.0, 0.0], [duration, *UP]]
    goal = {"relative": True, "path": path}
    # it may take longer to come up, and the script waits
    patient = {f"steps.{name}.timeout": 2.0 for name in ("drag", "let_go", "lift_off")}
    run = build_run(load_scene("starfish", {"steps.drag.goals.center": goal, **patient}), record=False)
    return jump(run, float(np.linalg.norm(UP)) / duration, 3.0)


def judge(jumps: list[Jump], farther: bool) -> Finding:
    """Every quicker drag goes higher (and farther) than the one before."""
    heights, far = np.array([j.height for j in jumps]), np.array([j.far for j in jumps])
    higher = bool((np.diff(heights) > 0).all())
    reach = not farther or bool((np.diff(far) > 0).all())
    numbers = {"speed_m_s": [j.speed for j in jumps], "height_m": heights, "far_m": far, "higher": higher, "farther": reach}
    return Finding(100 * float(heights[-1] - heights[0]), higher and reach, numbers)


def lamp_higher(lab: Lab) -> Finding:
    return judge(lab.campaign("lamp speeds", lab.pick(LAMP[1::2], LAMP), lamp), True)


def starfish_higher(lab: Lab) -> Finding:
    return judge(lab.campaign("starfish speeds", lab.pick(STARFISH[1::3], STARFISH), starfish), False)


CLAIMS = (
    Claim(
        "lamp.higher", "dragged upward more quickly, the lamp jumps higher and farther", "section 3", "higher and"
        " farther", "cm",
        "the drag of `lamp` in 0.48 to 0.08 s (6 speeds, 3 with --quick): each quicker one goes higher and farther; ours: how"
        " much higher the quickest jumps than the slowest", lamp_higher, "document",
    ),
    Claim(
        "starfish.higher", "dragged upward more quickly, the starfish jumps higher", "section 3; figure 2", "higher", "cm",
        "the middle of `starfish` dragged up by 1.5 m in 2.4 to 0.4 s (6 speeds, 2 with --quick), let go at the same height:"
        " each quicker one goes higher", starfish_higher, "document",
    ),
)  # fmt: skip
