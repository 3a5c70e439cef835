"""Kim & Pollard 2011, section 3: the user can make it jump higher and farther by dragging upward more quickly."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.errors import Diverged, Inverted
from manikin.loop import Run
from manikin.papers.claims import Change, Claim, Finding, Lab
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.scenes.scripts import Steps

Array = NDArray[np.float64]

# how long the same drag takes [s], slow ones first; all chosen before any of them was tried
LAMP = (0.48, 0.36, 0.24, 0.18, 0.12, 0.08)
STARFISH = (2.4, 1.8, 1.2, 0.9, 0.6, 0.4)
# the drags: of the lamp's head, of the starfish's middle [m]
LEAP, UP = (0.15, 0.0, 0.4), (0.0, 0.0, 1.5)


class Jump(NamedTuple):
    """speed: of the drag [m/s]. In the highest flight: height [m] to which the centre of mass rises over where it was when the
    last contact ended, and how far [m] it travels along the ground; both 0 if nothing ever left the ground."""

    speed: float
    height: float
    far: float


def jump(run: Run, speed: float, seconds: float) -> Jump:
    """Run a scene until it has landed."""
    world, controller, script = run.world, run.controller, run.script
    assert isinstance(controller, Direct)
    assert isinstance(script, Steps)
    skeleton = controller.skeletons[0]
    mass = np.where(skeleton.bone_of >= 0, world.model.body_mass, 0.0)
    landing = next(s.spec.name for s in script.steps if s.spec.name.startswith(("land", "touch")))
    start: Array | None = None
    best = Jump(speed, 0.0, 0.0)
    while world.time < seconds and landing not in script.began and not script.done:
        try:
            run.advance(1)
        except (Diverged, Inverted):
            return Jump(speed, np.nan, np.nan)
        if skeleton.touches(world):
            start = None
            continue
        now = mass @ world.data.xipos / mass.sum()
        start = now if start is None else start
        rise, far = float(now[2] - start[2]), float(np.linalg.norm(now[:2] - start[:2]))
        # on its descent it still travels farther
        best = Jump(speed, max(rise, best.height), far) if rise > best.height or far > best.far else best
    return best


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
    """Every faster drag goes higher (and farther) than the one before."""
    heights, far = np.array([j.height for j in jumps]), np.array([j.far for j in jumps])
    higher = bool((np.diff(heights) > 0).all())
    reach = not farther or bool((np.diff(far) > 0).all())
    numbers = {"speed_m_s": [j.speed for j in jumps], "height_m": heights, "far_m": far, "higher": higher, "farther": reach}
    return Finding(100 * float(heights[-1] - heights[0]), higher and reach, numbers)


def lamp_higher(lab: Lab) -> Finding:
    return judge(lab.campaign("lamp speeds", lab.pick(LAMP[3:], LAMP), lamp), True)


def starfish_higher(lab: Lab) -> Finding:
    return judge(lab.campaign("starfish speeds", lab.pick(STARFISH[1::3], STARFISH), starfish), False)


_FLIGHT = Change(
    "height of the lowest bone over where it was at rest", "rise of the centre of mass in flight",
    "a lamp that had fallen over counted as one that had jumped: its foot lies higher",
)  # fmt: skip
CLAIMS = (
    Claim(
        "lamp.higher", "dragged upward more quickly, the lamp jumps higher and farther", "section 3", "jump higher and farther",
        "cm",
        "the drag of `lamp` in 0.48 to 0.08 s (6 speeds; the 3 fastest with --quick): in flight each faster one rises higher"
        " and travels farther; ours: how much higher the fastest jumps than the slowest", lamp_higher, "document", (_FLIGHT,),
    ),
    Claim(
        "starfish.higher", "dragged upward more quickly, the starfish jumps higher", "section 3 (said of the lamp); figure 2",
        "jump higher and farther", "cm",
        "the middle of `starfish` dragged up by 1.5 m in 2.4 to 0.4 s (6 speeds, 2 with --quick), let go at the same height:"
        " in flight each faster one rises higher", starfish_higher, "ours", (_FLIGHT,),
    ),
)  # fmt: skip
