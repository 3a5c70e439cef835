"""Scenes that nobody tuned: bring a crate from a low table to a higher place, as a newcomer would write it from docs/scenes.md.

Each number gives a different crate, table, shelf, body and script, drawn from a fixed seed. They need not all succeed (some
would take a step forward), but none may be violent: whatever the task, no character is flung about.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from manikin.errors import Diverged
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_scene
from manikin.scenes.scripts import Steps, why_stuck

SEED = 20061
# nobody who carries a crate moves faster than this: joints [rad/s], the crate [m/s]
JOINT_SPEED, PROP_SPEED = 25.0, 3.0
# the crate counts as delivered within this [m] of its place
PLACED = 0.10
# distance [m] of a hand's site from the surface that it holds
PALM = 0.005
# seconds after which a step that is not reached ends the job
TIMEOUT = 4.0


class Outcome(NamedTuple):
    """done, refused (the script gave up, or never ended), violent or diverged; the fastest joint [rad/s] and crate [m/s]."""

    kind: str
    joint_speed: float
    prop_speed: float
    missed: float  # from the place where the crate should be [m]
    reason: str


def untuned_scene(number: int, faces: bool = True) -> dict[str, Any]:
    """The scene file of one number, as a table.

    faces: goals on faces, and palms that point at them until the crate is held, as the scene `lift` has them; False: hands
    go to places beside the crate's middle, as in scenes that were written before faces were part of the language.
    """
    draw = np.random.default_rng([SEED, number])

    def between(low: float, high: float, digits: int = 2) -> float:
        return round(float(draw.uniform(low, high)), digits)

    height = between(1.55, 1.95)
    # where a newcomer puts things: within reach, in proportion to the body
    s = height / 1.75
    feet = "contact" if number % 2 else "clamped"
    size = [between(0.22, 0.36), between(0.24, 0.40), between(0.16, 0.32)]
    mass = between(2.0, 14.0, 1)
    table: dict[str, Any] = {"shape": "box", "size": [0.40, 0.80, between(0.30, 0.60)], "fixed": True}
    edge = between(0.28, 0.38)
    table["at"] = [round(edge + 0.20, 3), 0.0, round(table["size"][2] / 2, 3)]
    crate_at = [
        round(edge + size[0] / 2 + between(0.0, 0.05), 3),
        between(-0.06, 0.06),
        round(table["size"][2] + size[2] / 2, 3),
    ]
    # the shelf: a board behind the table and higher, or to one side
    top = between(0.80, 1.30) * s
    side = (0.0, 1.0, -1.0)[int(draw.integers(3))]
    angle = side * np.deg2rad(between(25, 60)) + np.deg2rad(between(-5, 5))
    away = between(0.46, 0.58) * s
    spot = [round(away * float(np.cos(angle)), 3), round(away * float(np.sin(angle)), 3)]
    board = {"shape": "box", "size": [0.35, 0.50, 0.03], "turn": [0.0, 0.0, round(float(np.rad2deg(angle)), 1)], "fixed": True}
    back = between(0.02, 0.08)
    board["at"] = [
        round(spot[0] + back * float(np.cos(angle)), 3),
        round(spot[1] + back * float(np.sin(angle)), 3),
        round(top - 0.015, 3),
    ]
    rest = round(top + size[2] / 2, 3)
    hands = {
        "measure": "point", "of": ["hand_l", "hand_r"], "frequency": between(0.7, 1.2), "smoothing": between(0.12, 0.4),
        "priority": 0, "max_force": float(draw.choice([200.0, 300.0, 420.0])),
    }  # fmt: skip
    tasks: dict[str, Any] = {"hands": hands}
    if draw.random() < 0.5:
        hands["reach"] = float(draw.choice([0.3, 0.6]))
    level = draw.random() < 0.6
    if level:
        tasks["level"] = {
            "measure": "orientation", "of": "crate", "axis": [0.0, 0.0, 1.0], "frequency": 1.0, "priority": 1,
            "active": False, "goal": [0.0, 0.0, 1.0],
        }  # fmt: skip
    tasks["balance"] = {
        "measure": "com", "frequency": 0.8, "reach": 0.04, "priority": 2,
        "goal": {"of": "feet", "at": [between(0.0, 0.04), 0.0]},
    }  # fmt: skip
    if draw.random() < 0.7:
        tasks["gaze"] = {"measure": "look", "priority": 3, "reach": 35.0, "goal": {"of": "crate", "at": [0.0, 0.0, 0.0]}}
    tasks["posture"] = {"measure": "posture", "law": "nearest", "frequency": 1.2, "smoothing": 0.05, "priority": 4}
    face = size[1] / 2
    places: list[dict[str, Any]] = [
        {"of": "crate", "at": [[0.0, w, 0.0], [0.0, -w, 0.0]]} for w in (round(face + 0.075, 3), round(face + PALM, 3))
    ]
    palms, near = [], 0.015
    if faces:
        places = [{"of": "crate", "face": ["left", "right"], "gap": gap} for gap in (0.06, 0.004)]
        tasks["palms"] = {
            "measure": "orientation", "of": ["hand_l", "hand_r"], "frequency": 1.0, "smoothing": 0.15, "priority": 1,
            "active": False, "goal": [0.0, -60.0, 0.0],
        }  # fmt: skip
        palms, near = ["palms"], 0.006
    next_to, on = places
    front = [round(0.36 * s, 3), 0.0, round(rest + between(0.03, 0.10), 3)]
    over = [*spot, front[2]]
    down = [*spot, round(rest - between(0.0, 0.01, 3), 3)]
    switch = {"on": ["level"]} if level else {}
    steps: list[dict[str, Any]] = [
        {"name": "reach", "when": "start", "goals": {"hands": next_to}, "on": palms},
        {"name": "touch", "when": {"task": "hands", "within": 0.04}, "goals": {"hands": on}},
        {
            "name": "lift",
            "when": {"task": "hands", "within": near},
            "grasp": {"hand_l": "crate", "hand_r": "crate"},
            "off": palms,
            **switch,
        },
    ]
    if draw.random() < 0.7:
        # most lift it in front of the body first; the others bring it straight there
        steps[-1]["goals"] = {"hands": {"carry": "crate", "at": front}}
        steps.append(
            {"name": "over", "when": {"task": "hands", "within": 0.05}, "goals": {"hands": {"carry": "crate", "at": over}}}
        )
    else:
        steps[-1]["goals"] = {"hands": {"carry": "crate", "at": over}}
    steps += [
        {"name": "down", "when": {"task": "hands", "within": 0.03}, "goals": {"hands": {"carry": "crate", "at": down}}},
        {"name": "let_go", "when": {"task": "hands", "within": 0.015, "after": 0.5}, "release": ["hand_l", "hand_r"],
         "goals": {"hands": next_to}, **({"off": ["level"]} if level else {})},
        {"name": "end", "when": {"task": "hands", "within": 0.05}, "end": True},
    ]  # fmt: skip
    for step in steps[:-1]:
        step["timeout"] = TIMEOUT
    return {
        "name": f"untuned_{number}", "seconds": 16.0,
        "character": {
            "height": height, "mass": round(between(19.0, 30.0, 1) * height**2, 1), "feet": feet,
            "sex": str(draw.choice(["female", "male", "neutral"])),
            "clip": str(draw.choice(["lift_back", "lift_knees", "reach", "stand"])),
        },
        "props": {
            "table": table, "shelf": board,
            "crate": {"shape": "box", "size": size, "mass": mass, "at": crate_at},
        },
        "tasks": tasks, "steps": steps,
    }  # fmt: skip


def try_scene(table: Mapping[str, Any], changes: Mapping[str, Any] | None = None, stop: bool = True) -> Outcome:
    """Run a scene of untuned_scene. stop: end when it becomes violent."""
    scene = parse_scene(dict(table), "untuned", dict(changes or {}))
    run = build_run(scene, record=False)
    world, script = run.world, run.script
    assert isinstance(script, Steps)
    data, model = world.data, world.model
    crate = world.body("crate")
    first = int(model.body_dofadr[crate])
    hinges = model.jnt_dofadr[model.actuator_trnid[:, 0]]
    place = np.array(next(s for s in table["steps"] if s["name"] == "down")["goals"]["hands"]["at"])
    joint, prop = 0.0, 0.0
    try:
        while world.steps < round(scene.seconds / scene.timestep) and not script.done:
            run.advance(1)
            joint = max(joint, float(np.abs(data.qvel[hinges]).max()))
            prop = max(prop, float(np.linalg.norm(data.qvel[first : first + 3])))
            if stop and (joint > JOINT_SPEED or prop > PROP_SPEED):
                break
    except Diverged as error:
        return Outcome("diverged", joint, prop, float("nan"), str(error))
    missed = float(np.linalg.norm(data.xpos[crate] - place))
    if joint > JOINT_SPEED or prop > PROP_SPEED:
        step = script.steps[script.position].spec.name
        return Outcome("violent", joint, prop, missed, f"in step '{step}' at {world.time:.2f} s")
    reason = script.failed or ("" if script.finished else why_stuck(world, run.tasks, script))
    if not reason and missed > PLACED:
        reason = f"the crate is {100 * missed:.0f} cm from its place"
    return Outcome("refused" if reason else "done", joint, prop, missed, reason)
