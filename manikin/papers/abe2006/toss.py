"""Abe & Popovic 2006, section 5 "Catch and Toss": things of other shapes, thrown to other places."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from manikin.errors import Diverged
from manikin.papers.abe2006.catch import BALL, HAND, random_flight, velocity_of
from manikin.papers.claims import Claim, Finding, Lab, unmeasured
from manikin.physics.world import World
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.tasks.goals import Throw

SHAPES = ("sphere", "box", "cylinder")


@dataclass(frozen=True)
class Toss:
    """Something that comes flying, and where it shall be thrown to on the ground [m]."""

    shape: str
    size: tuple[float, ...]
    mass: float
    at: tuple[float, ...]
    velocity: tuple[float, ...]
    target: tuple[float, float]

    def changes(self) -> dict[str, Any]:
        """The keys of the scene that make this toss; it is watched until it has landed."""
        return {
            "props.ball.shape": self.shape, "props.ball.size": list(self.size), "props.ball.mass": self.mass,
            "props.ball.at": list(self.at), "props.ball.velocity": list(self.velocity),
            "steps.throw.goals.throw.throw.target": list(self.target), "steps.end.when.after": 1.8, "seconds": 6.0,
        }  # fmt: skip


def random_tosses(count: int, seed: int) -> list[Toss]:
    """Balls, boxes and cylinders in turn, 0.2 to 1 kg; targets 1.5 to 4 m away within 45 degrees.

    They come with 3 to 6 m/s from up to 20 degrees to either side, through the inner part of the window.
    """
    rng = np.random.default_rng(seed)
    out = []
    for k in range(count):
        shape = SHAPES[k % len(SHAPES)]
        mass = float(rng.uniform(0.2, 1.0))
        widths = rng.uniform(0.0, 1.0, 3)
        size = {
            "sphere": (0.04 + 0.04 * widths[0],),
            "box": tuple(0.08 + 0.06 * w for w in widths),
            "cylinder": (0.03 + 0.03 * widths[0], 0.08 + 0.08 * widths[1]),
        }[shape]
        start, velocity, _, _ = random_flight(rng, (3.0, 6.0), 20.0, (-0.45, -0.05), (1.1, 1.5))
        far, angle = rng.uniform(1.5, 4.0), np.deg2rad(rng.uniform(-45.0, 45.0))
        target = (float(far * np.cos(angle)), float(far * np.sin(angle)))
        out.append(Toss(shape, tuple(map(float, size)), mass, tuple(map(float, start)), tuple(map(float, velocity)), target))
    return out


@dataclass(frozen=True)
class Landing:
    """What became of a toss. speed: release velocity from the wanted one, as a share of it. missed: first touch of the floor
    from the target [m]. bumps: steps from the catch on in which it touched more of the character than the hand. NaN: it never
    came to that."""

    thrown: bool
    speed: float
    missed: float
    bumps: int
    trouble: str = ""


def toss_one(changes: dict[str, Any]) -> Landing:
    """Run the scene `toss` step by step; a simulation that diverges lands nowhere."""
    run = build_run(load_scene("toss", changes), record=False)
    world = run.world
    goal_of = next(t for t in run.tasks if t.name == "throw")
    speed, missed, trouble, bumps, released = float("nan"), float("nan"), "", 0, False
    try:
        while not run.script.done and world.time < 6.0 and not np.isfinite(missed):
            run.advance(1)
            floor, body = _touched(world)
            bumps += body and "caught" in run.script.began  # type: ignore[attr-defined]
            if released:
                if floor:
                    missed = float(
                        np.linalg.norm(world.data.xpos[world.body(BALL), :2] - np.array(_target(run.script, changes)))
                    )
            elif "thrown" in run.script.began:  # type: ignore[attr-defined]
                released = True
                goal = goal_of.goal
                assert isinstance(goal, Throw)
                velocity = velocity_of(world, mujoco.mjtObj.mjOBJ_BODY, world.body(BALL))
                speed = float(np.linalg.norm(velocity - goal.velocity) / np.linalg.norm(goal.velocity))
    except Diverged as error:
        trouble = str(error)
    return Landing(released and not trouble, speed, missed, bumps, trouble)


def _target(script: Any, changes: dict[str, Any]) -> Sequence[float]:
    given = changes.get("steps.throw.goals.throw.throw.target")
    return given or next(s for s in script.steps if s.spec.name == "throw").spec.goals["throw"].throw.target


def _touched(world: World) -> tuple[bool, bool]:
    """Whether the thing touches the floor, and the character elsewhere than at the hand that throws."""
    model, data = world.model, world.data
    if not data.ncon:
        return False, False
    pairs = model.geom_bodyid[data.contact.geom]
    others = {int(b) for pair in pairs if world.body(BALL) in pair for b in pair} - {world.body(BALL)}
    return 0 in others, bool(others - {0, world.body(HAND)})


# --- the campaign


def campaign(lab: Lab) -> list[Landing]:
    """The tosses of this document's seed."""
    return lab.campaign("tosses", random_tosses(lab.pick(6, 100), lab.seed), lambda toss: toss_one(toss.changes()))


def lands(lab: Lab) -> Finding:
    return judge_landings(campaign(lab))


def judge_landings(landings: Sequence[Landing]) -> Finding:
    """Good: released within 5 % of the wanted velocity, landed within 10 cm of the target."""
    good = sum(t.speed <= 0.05 and t.missed <= 0.10 for t in landings)
    speed = np.array([t.speed for t in landings if np.isfinite(t.speed)] or [np.nan])
    missed = np.array([t.missed for t in landings if np.isfinite(t.missed)] or [np.nan])
    numbers = {
        "good": good, "tosses": len(landings), "thrown": sum(t.thrown for t in landings),
        "release_error_median": np.median(speed), "release_error_p90": np.quantile(speed, 0.9),
        "landing_median_m": np.median(missed), "landing_p90_m": np.quantile(missed, 0.9),
        "within_5_percent": sum(t.speed <= 0.05 for t in landings), "within_10_cm": sum(t.missed <= 0.10 for t in landings),
    }  # fmt: skip
    return Finding(100 * good / len(landings), good >= 0.9 * len(landings), numbers)


def robust(lab: Lab) -> Finding:
    landings = campaign(lab)
    shares = [sum(t.thrown for t in landings[k::3]) / len(landings[k::3]) for k in range(3)]
    thrown = sum(t.thrown for t in landings) / len(landings)
    diverged = sum(bool(t.trouble) for t in landings)
    return Finding(100 * thrown, thrown >= 0.9 and not diverged, dict(zip(SHAPES, shares)) | {"diverged": diverged})


def _weights(lab: Lab) -> tuple[tuple[float, ...], list[Landing]]:
    masses = lab.pick((0.5, 10.0, 20.0), (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0))
    more = {"steps.end.when.after": 1.8, "seconds": 6.0}
    return masses, lab.once("heavy tosses", lambda: [toss_one(more | {"props.ball.mass": m}) for m in masses])


def heavy(lab: Lab) -> Finding:
    return judge_heavy(*_weights(lab))


def collides(lab: Lab) -> Finding:
    masses, landings = _weights(lab)
    bumps = [t.bumps for t in landings]
    return Finding(max(bumps), max(bumps) > bumps[0], {"mass_kg": masses, "steps": bumps})


def judge_heavy(masses: Sequence[float], landings: Sequence[Landing]) -> Finding:
    """The heaviest is thrown at least twice as inaccurately as the lightest, or not at all, and nothing explodes."""
    speed = [t.speed for t in landings]
    calm = not any(t.trouble for t in landings)
    worse = bool(speed[-1] > 2 * speed[0] or not landings[-1].thrown)
    thrown = [t for t in landings if t.thrown]
    dropped = [m for m, t in zip(masses, landings) if not t.thrown]
    numbers = {"mass_kg": masses, "release_error": speed, "landing_m": [t.missed for t in landings], "dropped_kg": dropped}
    return Finding(100 * thrown[-1].speed if thrown else None, calm and worse, numbers)


# --- the description


def three_inputs(lab: Lab) -> Finding:
    raw = tomllib.loads(lab.take("toss").recording.meta["scene"])
    throw = next(s for s in raw["steps"] if s["name"] == "throw")["goals"]["throw"]["throw"]
    inputs = {
        "plane": "meet" in raw["tasks"]["wait"]["goal"],
        "release": "release" in throw,
        "clip": "clip" in raw["character"],
    }
    inputs["velocity_or_target"] = bool({"velocity", "target"} & set(throw))
    return Finding(
        3, all(inputs.values()) and bool(lab.take("toss").report["ok"]), {"throw": throw, "clip": raw["character"].get("clip")}
    )


def hermite(lab: Lab) -> Finding:
    """The throw's curve in a run: where it begins and ends against the ends that specify it."""
    run = build_run(load_scene("toss"), record=False)
    while not run.script.done and "throw" not in run.script.began:  # type: ignore[attr-defined]
        run.advance(1)
    goal = next(t for t in run.tasks if t.name == "throw").goal
    if not isinstance(goal, Throw):
        return Finding(None, False, {}, "nothing was caught to be thrown")
    world = run.world.branch()
    gaps = []
    for when, place, velocity in ((goal.began, goal.start, goal.speed), (goal.ends - 1e-9, goal.place, goal.velocity)):
        world.data.time = when
        aim = goal.at(world)
        gaps += [float(np.abs(aim.value - place).max()), float(np.abs(np.asarray(aim.rate) - velocity).max())]
    return Finding(max(gaps), max(gaps) < 1e-6, {"windup_s": goal.windup, "swing_s": goal.swing})


SOURCE = "section 5, Catch and Toss"
CLAIMS = (
    Claim(
        "toss.three_inputs",
        "three inputs are enough: the plane of the catch, the release, a recorded motion",
        SOURCE,
        "3",
        "inputs",
        "the keys of `toss`; it runs to its end",
        three_inputs,
    ),
    Claim(
        "toss.hermite",
        "the thing is tracked along a Hermite curve given by the places and velocities of its ends",
        SOURCE,
        "",
        "m, m/s",
        "`toss`: largest difference of the curve's ends from what specifies it",
        hermite,
    ),
    Claim(
        "toss.lands",
        "it is released at the prescribed place with the prescribed velocity",
        "section 5, Catch and Toss; section 4.1",
        "precise",
        "%",
        "random tosses: release velocity within 5 % and landing within 10 cm of the target, for at least 90 %",
        lands,
    ),
    Claim(
        "toss.robust",
        "other velocities, angles, weights, sizes, shapes and directions are no trouble",
        SOURCE,
        "robust",
        "%",
        "random tosses of balls, boxes and cylinders: caught and thrown, at least 90 %, none diverges",
        robust,
    ),
    Claim(
        "toss.heavy",
        "what is heavy is controlled less accurately, and tracked as well as can be",
        SOURCE,
        "",
        "%",
        "`toss` with up to 20 kg: release error of the heaviest that is thrown; 20 kg is twice as far off as 0.5 kg or dropped",
        heavy,
    ),
    Claim(
        "toss.collides",
        "which makes it collide with the character",
        SOURCE,
        "",
        "steps",
        "`toss` with up to 20 kg: steps with contact elsewhere than at the hand, most of all weights, more than with 0.5 kg",
        collides,
    ),
    Claim(
        "toss.plausible",
        "all reasonable settings give plausible motion, and how real it looks depends on the curve",
        SOURCE,
        "",
        "",
        "look at toss.png and toss.glb",
        lambda lab: unmeasured("for the eye to judge"),
    ),
)
