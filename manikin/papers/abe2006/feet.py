"""Abe & Popovic 2006, section 6: what the document wishes for, and what came of it here. Feet, joint limits, locked joints."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.characters.human import SOLE_FRICTION
from manikin.errors import Diverged
from manikin.export.save import Take
from manikin.papers.abe2006.catch import catch_one, random_balls
from manikin.papers.abe2006.look import hinges, model_of, sites
from manikin.papers.claims import Claim, Finding, Lab, whole_take
from manikin.physics.world import Push, World
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene, parse_scene

Array = NDArray[np.float64]

CONTACT = {"character.feet": "contact"}
FEET = ("foot_l", "foot_r")


class Stood(NamedTuple):
    """After a push: whether it stands, how far a sole slid [m], by what share commanded forces leave their cones."""

    upright: bool
    slip: float
    outside: float


def push_one(angle: float, force: float = 100.0, seconds: float = 0.2) -> Stood:
    """Push the pelvis of the standing figure from one direction [rad], then watch for two seconds."""
    run = build_run(load_scene("stand"), record=False)
    world = run.world
    push = Push("pelvis", force * np.array([np.cos(angle), np.sin(angle), 0.0]))
    slip, outside, count = 0.0, 0.0, round(0.02 / world.timestep)
    tall = float(world.data.qpos[2])
    try:
        run.advance(25 * count)
        begin = _soles(world)
        for k in range(110):
            run.advance(count, [push] if k < round(seconds / 0.02) else [])
            slip = max(slip, float(np.linalg.norm(_soles(world) - begin, axis=1).max()))
            world.refresh()
            outside = max(outside, cone_violation(run.controller.solve(world, run.tasks, 0.0).ground))  # type: ignore[attr-defined]
    except Diverged:
        return Stood(False, float("inf"), outside)
    return Stood(float(world.data.qpos[2]) > tall - 0.1, slip, outside)


def cone_violation(ground: Array, friction: float = SOLE_FRICTION) -> float:
    """How far forces (m, 3) [N] lie outside their friction cones, as a share of the largest of them."""
    most = max(float(np.linalg.norm(ground, axis=1).max()) if len(ground) else 0.0, 1e-9)
    over = np.hypot(ground[:, 0], ground[:, 1]) - friction * ground[:, 2]
    return max(float(np.maximum(over, -ground[:, 2]).max()) if len(ground) else 0.0, 0.0) / most


def _soles(world: World) -> Array:
    return np.array([world.data.site_xpos[world.site(f)][:2] for f in FEET])


def pushes(lab: Lab) -> Finding:
    count = lab.pick(4, 16)
    stood = []
    for k in range(count):
        stood.append(push_one(2 * np.pi * k / count))
        lab.progress((k + 1) / count)
    return judge_pushes(stood)


def judge_pushes(stood: list[Stood]) -> Finding:
    up, slip, outside = sum(s.upright for s in stood), max(s.slip for s in stood), max(s.outside for s in stood)
    holds = up == len(stood) and slip <= 0.005 and outside <= 1e-6
    return Finding(up, holds, {"directions": len(stood), "slip_mm": 1000 * slip, "cone_violation": outside})


def lifts(lab: Lab) -> Finding:
    numbers: dict[str, Any] = {}
    good = True
    for mass in lab.pick((10.0,), (10.0, 20.0)):
        take = lab.take("lift", CONTACT | {"props.box.mass": mass})
        slip = float(np.linalg.norm(np.ptp(sites(take.recording, FEET)[:, :, :2], axis=0), axis=1).max())
        numbers[f"{mass:g} kg"] = {"ok": bool(take.report["ok"]), "reason": take.report["reason"], "slip_mm": 1000 * slip}
        good &= bool(take.report["ok"]) and slip <= 0.005
    return Finding(max(n["slip_mm"] for n in numbers.values()), good, numbers)


def catches(lab: Lab) -> Finding:
    balls = random_balls(lab.pick(3, 30), lab.seed + 1, heaviest=1.0)
    done = [catch_one(b.changes() | CONTACT) for b in balls]
    good = sum(c.held and c.upright for c in done)
    numbers = {"balls": len(done), "held": sum(c.held for c in done), "upright": sum(c.upright for c in done)}
    return Finding(100 * good / len(done), good >= 28 / 30 * len(done), numbers)


# --- joint limits


def beyond_limits(take: Take) -> float:
    """How far [deg] any joint is outside its range in any frame."""
    model, q = model_of(take.recording), take.recording.qpos
    joints = [j for j in hinges(model) if model.jnt_limited[j]]
    angles, (low, high) = q[:, model.jnt_qposadr[joints]], model.jnt_range[joints].T
    return float(np.rad2deg(np.maximum(low - angles, angles - high).max()))


def joint_limits(lab: Lab) -> Finding:
    """A reach that no arm can make: with the limits as the highest level and without."""
    found = {on: beyond_limits(_far_reach(lab, on)) for on in (True, False)}
    lift = beyond_limits(lab.take("lift"))
    worst = max(found[True], lift)
    return Finding(worst, worst < 0.5, {"lift_deg": lift, "reach_deg": found[True], "reach_without_deg": found[False]})


def _far_reach(lab: Lab, limits: bool) -> Take:
    raw = _reach((-0.35, 0.35, 1.35), locked=False)
    raw["control"] = {"joint_limits": limits}
    return lab.once(("far", limits), lambda: whole_take(parse_scene(raw, "reach")))


# --- a joint that is not there


def _reach(goal: tuple[float, float, float], locked: bool) -> dict[str, Any]:
    """The right hand goes to a place; above it the left hand stays, and the trunk."""
    hold = {"law": "hold", "frequency": 2.0, "priority": 0}
    return {
        "name": "reach", "seconds": 3.0, "character": {"locked": ["forearm_r_flexion"] if locked else []},
        "tasks": {
            "left": hold | {"measure": "point", "of": "hand_l"},
            "trunk": hold | {"measure": "orientation", "of": ["thorax"]},
            "chest": hold | {"measure": "point", "of": ["thorax"]},
            "twist": hold | {"measure": "posture", "of": ["forearm_r_pronation"], "frequency": 1.0, "priority": 1},
            "right": {"measure": "point", "of": "hand_r", "smoothing": 0.2, "reach": 0.3, "priority": 2, "goal": list(goal)},
            "posture": {"measure": "posture", "law": "nearest", "priority": 3},
        },
    }  # fmt: skip


def locked_elbow(lab: Lab) -> Finding:
    free, locked = (whole_take(parse_scene(_reach((0.15, -0.25, 1.40), lock), "reach")).recording for lock in (False, True))
    left = [float(r.tasks["right"]["error"][-1]) for r in (free, locked)]
    above = max(float(locked.tasks[t]["error"].max()) for t in ("left", "chest"))
    torque = float(np.abs(locked.ctrl).max())
    calm = float(np.abs(locked.qvel[-20:]).max())
    holds = left[0] < 0.005 and left[1] < 0.5 and above < 0.001 and torque < 200 and calm < 0.1
    numbers = {"free_m": left[0], "locked_m": left[1], "torque_Nm": torque, "speed_rad_s": calm}
    return Finding(1000 * above, holds, numbers)


CLAIMS = (
    Claim(
        "feet.pushes",
        "contacts can be kept by holding their forces inside friction cones, as one more command",
        "section 6 (a wish)",
        "",
        "directions stood",
        "`stand` on contact feet, 100 N for 0.2 s at the pelvis from all sides: stands, slides by 5 mm at most, cones kept",
        pushes,
    ),
    Claim(
        "feet.lift",
        "so that a box is lifted on real feet",
        "section 6 (a wish)",
        "",
        "mm",
        "`lift` with character.feet=contact, 10 and 20 kg: it succeeds, feet slide by at most 5 mm",
        lifts,
    ),
    Claim(
        "feet.catch",
        "and balls are caught on real feet",
        "section 6 (a wish)",
        "",
        "%",
        "random balls up to 1 kg, `catch` with character.feet=contact: held and standing, at least 28 of 30",
        catches,
    ),
    Claim(
        "limits.highest",
        "joint limits belong into the highest level",
        "section 6 (a wish)",
        "",
        "deg",
        "`lift`, and a reach behind the body: furthest that any joint leaves its range, below 0.5",
        joint_limits,
    ),
    Claim(
        "locked.elbow",
        "what cannot be reached for want of a joint is missed without disturbing higher tasks",
        "section 6; section 3.1.2",
        "",
        "mm",
        "a reach with a locked elbow: what higher tasks notice, below 1 mm; torques below 200 N m; at rest in the end",
        locked_elbow,
    ),
)
