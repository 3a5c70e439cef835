"""Random drags of every character: what limits, flesh and the program must withstand (Kim & Pollard 2011, section 5.2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import TIMESTEP
from manikin.controllers.brakes import BETA, MARGIN
from manikin.controllers.direct import Direct
from manikin.errors import Diverged, Inverted
from manikin.loop import Run
from manikin.physics.contacts import body_forces
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_text
from manikin.tasks.goals import Path
from manikin.tasks.measures import Points

Array = NDArray[np.float64]

CHARACTERS = ("lamp", "worm", "fish", "starfish", "donut")
# largest length [m] and speed [m/s] of a drag, and how long [s] it is watched
FAR, FAST, SECONDS = 1.0, 5.0, 1.0
# an impact is a contact force of more than this many times the weight; what follows within these seconds is attributed to it
HIT, AFTER = 2.5, 0.05
# how far [rad] joints may go beyond the ends of their range: in smooth motion, and after an impact
SMOOTH, STRUCK = 1e-3, 0.05
# Delta and beta [rad] of Eq. 9 as printed; the document gives neither
PRINTED_DELTA, PRINTED_BETA = MARGIN, BETA

_SCENE = """
name = "drags"
controller = "direct"
timestep = {timestep}
[control]
rate = {rate}
contact_joints = {tied}
[character]
model = "{model}"
[tasks.drag]
measure = "point"
of = "{bone}"
frequency = 3.0
smoothing = 0.02
reach = 0.5
active = false
[tasks.calm]
measure = "posture"
frequency = 1.0
priority = 1
"""
_BONE = {"lamp": "head", "worm": "middle", "fish": "trunk", "starfish": "center", "donut": "ring_0"}


@dataclass(frozen=True)
class Drag:
    """A bone that is dragged from where it is by `offset` (3,) [m] at `speed` [m/s]."""

    bone: str
    offset: tuple[float, float, float]
    speed: float


@dataclass(frozen=True)
class Outcome:
    """The outcome of one drag.

    smooth, struck: how far [rad] joints were beyond the ends of their range in smooth motion and after impacts; beyond: for how
    long [s] after the last impact, and without a break, by more than SMOOTH. missed: how far the command was outside its bounds
    (our form of Eq. 9, and Eq. 10), in addition to the reported slack; slack: updates in which limits contradicted each other.
    command, torque: largest acceleration [rad/s^2], and torque relative to its limit. flesh: least volume. broke: why it was
    stopped, or "". kept: how far [rad] joints were beyond the limit that control keeps, which is where their stops begin.
    printed, braked: commands that Eq. 9 as printed forbids, of those to which it applies; excess: by how much [rad/s^2].
    """

    smooth: float
    struck: float
    beyond: float
    missed: float
    slack: int
    updates: int
    command: float
    torque: float
    flesh: float
    broke: str
    kept: float = 0.0
    printed: int = 0
    braked: int = 0
    excess: float = 0.0


def at_rest(model: str, rate: int = 200) -> Run:
    """A character at rest on the ground, ready to be dragged; rate: of control [Hz]."""
    # soft bodies rest on flesh, which yields: their bones are not tied to the ground
    rigid = model == "lamp"
    timestep, tied = 0.001 if rigid else TIMESTEP, str(rigid).lower()
    text = _SCENE.format(model=model, bone=_BONE[model], timestep=timestep, tied=tied, rate=rate)
    run = build_run(parse_text(text, "drags"), record=False)
    run.advance(round(0.3 / run.world.timestep))
    return run


def random_drags(run: Run, count: int, seed: int) -> Iterator[Drag]:
    """Any bone, any direction."""
    rng = np.random.default_rng(seed)
    controller = run.controller
    assert isinstance(controller, Direct)
    bones = [b for b, bone in enumerate(controller.skeletons[0].bone_of) if b == bone]
    planar = len(controller.skeletons[0].root) == 3
    for _ in range(count):
        bone = bones[rng.integers(len(bones))]
        offset = rng.standard_normal(3) * (1.0, 0.0 if planar else 1.0, 1.0)
        offset *= rng.uniform(0.0, FAR) / np.linalg.norm(offset)
        x, y, z = offset.tolist()
        yield Drag(run.world.model.body(bone).name, (x, y, z), float(rng.uniform(0.2, FAST)))


def begin(run: Run, drag: Drag) -> None:
    """Start to drag its bone."""
    world, task, offset = run.world, run.tasks[0], np.array(drag.offset)
    bone = world.body(drag.bone)
    start = world.data.xpos[bone].copy()
    task.measure = Points(np.array([bone]), np.zeros((1, 3)))
    duration = max(float(np.linalg.norm(offset)) / drag.speed, 0.02)
    task.aim_at(Path(np.array([0.0, duration]), np.array([start, start + offset]), world.time))


def against_printed(q: Array, v: Array, low: Array, high: Array, u: Array) -> tuple[int, int, float]:
    """Eq. 9 as printed, for accelerations u: how many joints violate it, to how many it applies, and by how much at most."""
    broken, applies, excess = 0, 0, 0.0
    for gap, speed, pushed in ((high - q, v, u), (q - low, -v, -u)):
        near = (gap >= 0) & (gap <= PRINTED_DELTA) & (speed > 0)
        over = pushed[near] + speed[near] ** 2 / (2 * gap[near] + PRINTED_BETA)
        applies += int(near.sum())
        broken += int((over > 1e-8 * np.maximum(1.0, np.abs(pushed[near]))).sum())
        excess = max(excess, float(over.max(initial=0.0)))
    return broken, applies, excess


def perform(still: Run, drag: Drag, seconds: float = SECONDS) -> Outcome:
    """Drag a copy of a character, and watch every step."""
    run = still.branch()
    world, controller = run.world, run.controller
    assert isinstance(controller, Direct)
    skeleton = controller.skeletons[0]
    begin(run, drag)
    own = np.flatnonzero(skeleton.bone_of >= 0)
    limited = np.isfinite(skeleton.torque)
    low, high = world.model.jnt_range[world.model.dof_jntid[skeleton.active]].T
    smooth = struck = beyond = missed = command = torque = kept = excess = 0.0
    printed = braked = 0
    flesh, hit, began, thrown, updates, broke = np.inf, -np.inf, world.time, False, 0, ""
    controller.contradictions = 0
    for _ in range(round(seconds / world.timestep)):
        before = world.data.qpos[skeleton.address], world.data.qvel[skeleton.active]
        try:
            run.advance(1)
        except (Diverged, Inverted) as error:
            broke = str(error)
            break
        # the contacts are of the step that was just made
        if np.linalg.norm(body_forces(world.model, world.data)[own].sum(axis=0)) > HIT * skeleton.weight:
            hit = world.time
        q = world.data.qpos[skeleton.address]
        over = max(float((q - high).max()), float((low - q).max()), 0.0)
        kept = max(kept, float((q - skeleton.high).max()), float((skeleton.low - q).max()))
        # a joint that was thrown over its limit is there because of the impact for as long as it stays
        lately = world.time - hit <= AFTER
        thrown = over > SMOOTH and (thrown or lately)
        began = began if over > SMOOTH else world.time
        beyond = max(beyond, world.time - max(began, hit))
        if thrown or lately:
            struck = max(struck, over)
        else:
            smooth = max(smooth, over)
        flesh = min(flesh, world.flesh_ratio())
        decision = controller.last[0]
        if (world.steps - 1) % run.every == 0:
            updates += 1
            broken, applies, most = against_printed(*before, skeleton.low, skeleton.high, decision.acceleration)
            printed, braked, excess = printed + broken, braked + applies, max(excess, most)
            reached = decision.bounds.C @ decision.acceleration
            outside = np.maximum(reached - decision.bounds.high, decision.bounds.low - reached) - decision.slack
            size = np.maximum(1.0, np.abs(reached))
            missed = max(missed, float((outside / size).max(initial=0.0)))
            command = max(command, float(np.abs(decision.acceleration).max()))
            torque = max(torque, float((np.abs(decision.torque[limited]) / skeleton.torque[limited]).max(initial=0.0)))
    return Outcome(
        smooth, struck, beyond, missed, controller.contradictions, updates, command, torque, flesh, broke, kept, printed,
        braked, excess,
    )  # fmt: skip


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """All drags of one character in numbers."""
    return {
        "drags": len(outcomes),
        "overshoot_smooth_rad": max(o.smooth for o in outcomes),
        "overshoot_struck_rad": max(o.struck for o in outcomes),
        "beyond_limit_s": max(o.beyond for o in outcomes),
        "overshoot_share": sum(o.smooth > SMOOTH or o.struck > STRUCK or o.beyond > AFTER for o in outcomes) / len(outcomes),
        "outside_bounds": max(o.missed for o in outcomes),
        "contradictions_share": sum(o.slack for o in outcomes) / max(sum(o.updates for o in outcomes), 1),
        "beyond_kept_rad": max(o.kept for o in outcomes),
        "printed_broken_share": sum(o.printed for o in outcomes) / max(sum(o.braked for o in outcomes), 1),
        "printed_excess_rad_s2": max(o.excess for o in outcomes),
        "command_rad_s2": max(o.command for o in outcomes),
        "torque_of_limit": max(o.torque for o in outcomes),
        "flesh_least": min(o.flesh for o in outcomes if not o.broke) if any(not o.broke for o in outcomes) else 0.0,
        "inverted_share": sum("inside out" in o.broke for o in outcomes) / len(outcomes),
        "diverged_share": sum(bool(o.broke) and "inside out" not in o.broke for o in outcomes) / len(outcomes),
    }
