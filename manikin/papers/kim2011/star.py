"""Kim & Pollard 2011, Figures 1 and 2, sections 5.3 and 6: the starfish's jump and its escape, the donut, its loop."""

import tomllib

import numpy as np
from numpy.typing import NDArray

from manikin.characters.starfish import REACH
from manikin.errors import Inverted
from manikin.papers.claims import Claim, Finding, Lab
from manikin.papers.kim2011.watch import Watched, longest_flight, watch
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_text
from manikin.tasks.goals import Path

Array = NDArray[np.float64]

SCENES = ("starfish", "starfish_escape", "donut", "donut_seesaw")
G = 9.81


def seen(lab: Lab, scene: str) -> Watched:
    """A shipped scene, replayed and looked at."""
    return lab.once(("watched", scene), lambda: watch(lab.take(scene).recording))


def began(lab: Lab, scene: str) -> dict[str, float]:
    """Times [s] at which the steps of a scene began."""
    return {e["name"]: float(e["time"]) for e in lab.take(scene).recording.meta["events"]}


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


def judge_flight(watched: Watched) -> Finding:
    """While it touches nothing: how its centre of mass falls, and how angular momentum drifts.

    The scale of angular momentum is what a push of that size at the tip of one arm would have given: mass times speed at
    take-off times reach. A stricter one is told too: the sum of the sizes of all bodies' shares, which cancel when arms move
    alike.
    """
    steps = longest_flight(watched)
    if steps.stop - steps.start < 20:
        return Finding(None, False, {"steps": steps.stop - steps.start}, "it does not fly")
    time, speed, spin = watched.time[steps], watched.centre[steps], watched.spin[steps]
    fall = np.polyfit(time, speed, 1)[0]
    off = float(np.linalg.norm(fall - [0, 0, -G])) / G
    scale = watched.mass * float(np.linalg.norm(speed[0])) * REACH
    drift = float(np.linalg.norm(spin - spin[0], axis=1).max())
    numbers = {
        "acceleration_m_s2": fall, "seconds": time[-1] - time[0], "spin_scale": scale, "spin_drift": drift,
        "spin_drift_percent": 100 * drift / scale,
        "spin_drift_of_parts_percent": 100 * drift / float(watched.parts[steps].max()),
    }  # fmt: skip
    return Finding(100 * off, off < 0.01 and drift < 0.01 * scale, numbers)


def escapes(lab: Lab) -> Finding:
    """The three things: an arm lifts the edge, a jump hits the case, and in the end it lies beside it."""
    return judge_escape(began(lab, "starfish_escape"), bool(lab.take("starfish_escape").report["ok"]))


def judge_escape(times: dict[str, float], ok: bool) -> Finding:
    things = ("edge_lifted_3_cm", "case_hit", "outside")
    done = [thing for thing in things if thing in times]
    return Finding(len(done), len(done) == 3 and ok, {thing: times.get(thing) for thing in things})


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
timestep = 0.0025
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


# --- all of them


def flesh(lab: Lab) -> Finding:
    least = {name: float(seen(lab, name).ratio.min()) for name in SCENES}
    return Finding(min(least.values()), min(least.values()) > 0.1, least)


def surface(lab: Lab) -> Finding:
    """The deepest vertex of a fine surface in the ground or in a box of a prop."""
    ground = {name: max(0.0, -float(seen(lab, name).lowest.min())) for name in SCENES}
    props = {name: float(seen(lab, name).inside.max()) for name in SCENES}
    deepest = max(*ground.values(), *props.values())
    return Finding(1000 * deepest, deepest <= 0.005, {"ground_m": ground, "props_m": props})


def joints(lab: Lab) -> Finding:
    """How far joints come beyond their ranges."""
    most = {name: max(0.0, float(seen(lab, name).beyond.max())) for name in SCENES}
    return Finding(max(most.values()), max(most.values()) <= 1e-3, most)


def internal(lab: Lab) -> Finding:
    """No actuator acts on the passive root, nothing pushes from outside, and plain MuJoCo comes to the same."""
    root = max(float(seen(lab, name).root.max()) for name in SCENES)
    pushes = sum(len(lab.take(name).recording.xfrc) for name in SCENES)
    replayed = max(seen(lab, name).difference for name in SCENES)
    return Finding(root, root == 0 and not pushes and replayed == 0, {"pushes": pushes, "replay_difference": replayed})


CLAIMS = (
    Claim(
        "starfish.clears", "dragging the middle up quickly makes the starfish jump", "figure 2", "", "m",
        "`starfish`: the highest that the lowest vertex of the fine surface comes, above 0.2; it lands level", clears,
    ),
    Claim(
        "starfish.flight", "only internal forces: in flight gravity alone moves the centre of gravity", "sections 1 and 5", "",
        "%",
        "`starfish`, no contact: acceleration of the centre of mass against g, and drift of angular momentum against mass"
        " times take-off speed times reach, both below 1 %", flight,
    ),
    Claim(
        "starfish.escape", "the starfish frees itself from a case by lifting and hitting it", "figure 1", "", "of 3",
        "`starfish_escape`: an arm lifts the edge by 3 cm, a jump tilts the case by 30 degrees, it ends beside the case",
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
    Claim(
        "star.flesh", "soft bodies follow the skeleton", "section 4", "", "",
        "the four scenes: smallest volume of a tetrahedron by that at rest, above 0.1", flesh,
    ),
    Claim(
        "star.surface", "the embedded surface stays out of ground and things", "section 4", "", "mm",
        "the four scenes: deepest vertex of the fine surface in the ground or in boxes, at most 5", surface,
    ),
    Claim(
        "star.joints", "joint limits are kept", "section 5.2, Eq. 9", "", "rad",
        "the four scenes: largest overshoot of a joint, at most 1e-3", joints,
    ),
    Claim(
        "star.internal", "the passive root is not actuated", "section 5.1", "0", "N, N m",
        "the four scenes replayed in plain MuJoCo: largest actuation of the root; no pushes; replay to the last bit", internal,
    ),
)  # fmt: skip
