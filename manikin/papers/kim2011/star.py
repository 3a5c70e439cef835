"""Kim & Pollard 2011, Figures 1 and 2, sections 5.3 and 6: the starfish's jump and its escape, the donut, its loop."""

import tomllib

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.errors import Inverted
from manikin.papers.claims import Claim, Finding, Lab
from manikin.papers.kim2011.bodies import began, judge_flight, seen
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_text
from manikin.tasks.goals import Path

Array = NDArray[np.float64]

SCENES = ("starfish", "starfish_escape", "donut", "donut_seesaw")


# --- the starfish


def clears(lab: Lab) -> Finding:
    """How high the lowest vertex of the fine surface comes, and whether it lies flat afterwards."""
    height = float(seen(lab, "starfish").lowest.max())
    report = lab.take("starfish").report
    return Finding(
        height, height > 0.2 and bool(report["ok"]), {"landed_level": bool(report["ok"]), "flight_s": report["flight"]}
    )


def flight(lab: Lab) -> Finding:
    return judge_flight(seen(lab, "starfish"))


def escapes(lab: Lab) -> Finding:
    """The three things: an arm lifts the edge, a jump hits the case, and in the end it lies beside it."""
    take = lab.take("starfish_escape")
    return judge_escape(began(lab, "starfish_escape"), bool(take.report["ok"]), apart(take.recording, "case", "center"))


def apart(recording: Recording, one: str, two: str) -> float:
    """How far [m] two bodies are from each other along the ground in the last frame."""
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data = mujoco.MjData(model)
    data.qpos[:] = recording.qpos[-1]
    mujoco.mj_kinematics(model, data)
    return float(np.linalg.norm(data.body(one).xpos[:2] - data.body(two).xpos[:2]))


def judge_escape(times: dict[str, float], ok: bool, away: float) -> Finding:
    things = ("edge_lifted_3_cm", "case_hit", "outside")
    done = [thing for thing in things if thing in times]
    numbers = {thing: times.get(thing) for thing in things} | {"away_m": away}
    # farther from the middle of the case than its wall is
    return Finding(len(done), len(done) == 3 and ok and away > 0.32, numbers)


# --- the donut


def rolls(lab: Lab) -> Finding:
    """How far its middle comes."""
    take = lab.take("donut")
    qpos = take.recording.qpos
    turned = float(np.rad2deg(np.ptp(qpos[:, 2])))
    report = take.report
    return Finding(report["time_for_1_m"], bool(report["ok"]), {"turned_deg": turned, "seconds": report["seconds"]})


def empties(lab: Lab) -> Finding:
    """When all that stood on the plank is off it."""
    report = lab.take("donut_seesaw").report
    others = [n for n in tomllib.loads(lab.take("donut_seesaw").recording.meta["scene"])["props"] if n != "seesaw"]
    return Finding(report["time_to_empty"], bool(report["ok"]), {"others": others})


DRAGGED = """
name = "dragged"
controller = "direct"
seconds = 3600
timestep = 0.0008
[control]
rate = 200
[character]
model = "donut"
[tasks.calm]
measure = "posture"
frequency = 2.0
priority = 1
""" + "".join(
    f"""
[tasks.drag_{k}]
measure = "point"
of = "ring_{k}"
law = "track"
frequency = 1.5
active = false
"""
    for k in range(8)
)


def dragged_loop(seconds: float, seed: int) -> tuple[Array, int]:
    """Gaps [m] of the loop in each step while one bone after the other is dragged for half a second, by up to 0.3 m in the
    donut's plane; and how often its flesh was turned inside out, after which it begins again."""
    rng = np.random.default_rng(seed)
    scene = parse_text(DRAGGED, "dragged")
    run = build_run(scene, record=False)
    world, inverted = run.world, 0
    gaps: list[float] = []
    ends = [world.site("loop_end"), world.site("loop_start")]
    while len(gaps) * world.timestep < seconds:
        drags = [t for t in run.tasks if t.name.startswith("drag")]
        for task in drags:
            task.active = False
        task = drags[rng.integers(len(drags))]
        away = np.array([rng.normal(), 0.0, rng.normal()])
        away *= rng.uniform(0.05, 0.3) / np.linalg.norm(away)
        now = task.measure.evaluate(world.dynamics()).value
        task.aim_at(Path(np.array([0.0, 0.3]), np.array([now, now + away]), world.time))
        try:
            for _ in range(round(0.5 / world.timestep)):
                run.advance(1)
                gaps.append(float(np.linalg.norm(np.subtract(*world.data.site_xpos[ends]))))
        except Inverted:
            inverted += 1
            run = build_run(scene, record=False)
            world = run.world
    return np.array(gaps), inverted


def loop(lab: Lab) -> Finding:
    return judge_loop(*lab.once("dragged loop", lambda: dragged_loop(lab.pick(10.0, 60.0), lab.seed)))


def judge_loop(gaps: Array, inverted: int) -> Finding:
    """Median at most 0.1 mm, never more than 1 mm."""
    median, most = float(np.median(gaps)), float(gaps.max())
    numbers = {"median_m": median, "most_m": most, "steps": len(gaps), "inside_out": inverted}
    return Finding(most, median <= 1e-4 and most <= 1e-3, numbers)


CLAIMS = (
    Claim(
        "starfish.clears", "dragging the middle up quickly makes the starfish jump", "figure 2", "", "m",
        "`starfish`: the highest that the lowest vertex of the fine surface comes, above 0.2; it lands level", clears,
    ),
    Claim(
        "starfish.flight", "only internal forces: in flight gravity alone moves the centre of gravity", "sections 1 and 5", "",
        "%",
        "`starfish`, no contact: acceleration of the centre of mass within 1 % of g; drift of angular momentum by the sum of"
        " what the parts have; below 1 %", flight,
    ),
    Claim(
        "starfish.escape", "the starfish frees itself from a case by lifting and hitting it", "figure 1", "", "of 3",
        "`starfish_escape`: an arm lifts the edge by 3 cm, a jump throws the case up to 25 cm, it ends beside the case",
        escapes,
    ),
    Claim(
        "donut.rolls", "the donut rolls", "figure 1", "", "s", "`donut`: time for one metre", rolls,
    ),
    Claim(
        "donut.seesaw", "it pushes the other objects off the seesaw", "figure 1; section 6", "", "s",
        "`donut_seesaw`: time until all three are off the plank", empties,
    ),
    Claim(
        "donut.loop", "the skeleton is a closed loop", "section 5.3", "", "m",
        "random drags, 60 s (quick: 10 s): largest gap of the loop at most 1e-3, median at most 1e-4", loop,
    ),
)  # fmt: skip
