"""Kim & Pollard 2011, Figures 3, 4 and 6: the lamp hops, lands where it is wanted, climbs and slides."""

import numpy as np
from numpy.typing import NDArray

from manikin.loop import Run
from manikin.papers.claims import Claim, Finding, Lab
from manikin.papers.kim2011 import lamp_control
from manikin.papers.kim2011.lamp_control import SCENES, alone, began, task, until
from manikin.planners.previews import Choice, choose
from manikin.playback import replay
from manikin.recording import Recording
from manikin.scenes.build import build_run, rescript
from manikin.scenes.scene import load_scene
from manikin.tasks.goals import Path

Array = NDArray[np.float64]

# drags of `lamp_box` that previews choose: how far ahead the leap is dragged, how far aside the crouch [m]
AHEAD, ASIDE = "steps.leap.goals.head.path.1.1", "steps.crouch.goals.head.path.1.2"
OWN = np.array([0.24, 0.0])
LOW, HIGH = np.array([0.09, -0.01]), np.array([0.7, 0.01])
# metres that the landing moves per metre of these drags, as a first guess
RATES = np.array([[0.45, 0.0], [0.0, 11.0]])
# where spots are drawn from [m], relative to where the lamp starts: the part of the box that jumps reach
SPOTS = np.array([[0.18, 0.30], [-0.06, 0.06]])
TRIALS, NEAR = 5, 0.02
# the forward drag that slips on ice: back slowly, wait, and ahead: times [s] and places [m] of the head
SLIP = np.array([[0.0, 0.0], [1.0, -0.08], [1.2, -0.08], [1.35, 0.10]])
ICE, FELT = 0.05, 0.8


# --- ice, spots, stairs, previews


def slip(friction: float) -> float:
    """How far [m] the foot slides while the head is dragged ahead."""
    run = alone({"props.mat.friction": friction, "tasks.balance.active": False})
    run.advance(100)
    run.world.refresh()
    head, foot = task(run, "head"), run.world.body("foot")
    here = head.measure.evaluate(run.world.dynamics()).value
    head.aim_at(Path(SLIP[:, 0], here + SLIP[:, 1:] * np.array([1.0, 0.0, 0.0]), run.world.time))
    run.advance(round(SLIP[2, 0] / run.world.timestep))
    start, most = run.world.data.xpos[foot][:2].copy(), 0.0
    for _ in range(50):
        run.advance(10)
        most = max(most, float(np.linalg.norm(run.world.data.xpos[foot][:2] - start)))
    return most


def slides(lab: Lab) -> Finding:
    ice, felt = slip(ICE), slip(FELT)
    return Finding(100 * ice, ice >= 0.05 and felt <= 0.005, {"ice_m": ice, "grip_m": felt})


def steer(run: Run, drag: Array) -> None:
    rescript(run, load_scene("lamp_box", {AHEAD: float(drag[0]), ASIDE: float(drag[1])}))


def landing(run: Run) -> Array | None:
    """Where the foot stands in the end [m], from where it started; None when the lamp does not stand on the box."""
    until(run, "stand", 4.0)
    return np.asarray(run.world.data.xpos[run.world.body("foot")][:2].copy()) if "stand" in began(run) else None


def aim(seed: int) -> tuple[Array, Choice, float]:
    """A spot, the previews that looked for it, and how far from it [m] the jump then ended."""
    spot = np.random.default_rng(seed).uniform(*SPOTS.T)
    run = build_run(load_scene("lamp_box"), record=False)
    choice = choose(run, steer, landing, spot, OWN, RATES, LOW, HIGH, TRIALS, NEAR)
    steer(run, choice.best.inputs)
    landed = landing(run)
    return spot, choice, np.inf if landed is None else float(np.linalg.norm(landed - spot))


def spots(lab: Lab) -> Finding:
    seeds = range(lab.seed, lab.seed + lab.pick(4, 20))
    found = lab.campaign("lamp spots", seeds, aim)
    misses = [miss for _, _, miss in found]
    hits = sum(miss <= NEAR for miss in misses)
    numbers = {"spots": len(found), "within_2_cm": hits, "miss_m": misses, "jumps": [len(c.trials) for _, c, _ in found]}
    return Finding(100 * max(misses), hits == len(found), numbers)


def stairs(lab: Lab) -> Finding:
    take = lab.take("lamp_stairs")
    return judge_stairs(take.recording, bool(take.report["ok"]))


def judge_stairs(recording: Recording, ok: bool) -> Finding:
    """Height after each landing, the way slid over the frictionless box, and how upright the foot is in the end."""
    times = {e["name"]: e["time"] for e in recording.meta["events"]}
    wanted = ("rise_2", "rise_3", "rise_ice", "slide", "brake", "stand")
    if not all(name in times for name in wanted):
        return Finding(None, False, {"steps": sorted(times)}, "not all steps began")
    place = {name: recording.qpos[int(np.searchsorted(recording.time, times[name]))] for name in wanted}
    heights = [float(place[name][2]) for name in wanted[:3]]
    way = float(place["brake"][0] - place["slide"][0])
    x, y = recording.qpos[-1, 4:6]
    tilt = float(np.degrees(np.arccos(np.clip(1 - 2 * (x * x + y * y), -1, 1))))
    climbs = all(b > a + 0.03 for a, b in zip([0.0, *heights], heights))
    return Finding(100 * way, ok and climbs and way > 0.3 and tilt < 3, {"heights_m": heights, "slid_m": way, "tilt_deg": tilt})


def foreseen(lab: Lab) -> Finding:
    """Half a second ahead from several moments of the hop, against what then happened."""
    gaps = {}
    for moment in (0.3, 0.82, 0.9, 1.1):
        run = build_run(load_scene("lamp"), record=False)
        run.advance(round(moment / run.world.timestep))
        ahead = run.branch()
        worst = 0.0
        for _ in range(50):
            ahead.advance(10)
            run.advance(10)
            worst = max(worst, float(np.abs(ahead.world.data.xpos - run.world.data.xpos).max()))
        gaps[f"{moment:g} s"] = worst
    return Finding(1000 * max(gaps.values()), max(gaps.values()) < 1e-3, gaps)


def replays(lab: Lab) -> Finding:
    gaps = {name: replay(lab.take(name).recording).difference for name in SCENES}
    done = all(lab.take(name).report["ok"] for name in SCENES)
    return Finding(max(gaps.values()), done and max(gaps.values()) < 1e-9, gaps)


CLAIMS = (
    Claim(
        "lamp.internal",
        "only internal actuation: nothing drives the root",
        "sections 1 and 5",
        "0",
        "N",
        "`lamp`, `lamp_box`, `lamp_stairs` replayed: largest force of actuators or pushes on the root in any step",
        lamp_control.unactuated,
    ),
    Claim(
        "lamp.flight",
        "in flight the centre of mass falls with g and angular momentum stays",
        "section 1",
        "",
        "%",
        "all flights of the three scenes: gap of the fall to g; drift of angular momentum below 1 % of what the parts have",
        lamp_control.ballistic,
    ),
    Claim(
        "lamp.primary",
        "a primary constraint is unaffected by the secondary drag",
        "section 5.2; Figure 3, frame 4",
        "",
        "",
        "flight of `lamp`, foot kept level, random drags of the head: change of the foot's turning per command, at most 1e-6",
        lamp_control.primary,
    ),
    Claim(
        "lamp.least_torque",
        "formulated in torques, the same drag uses less torque",
        "section 6",
        "",
        "N m",
        "the hop of `lamp` with each formulation throughout: RMS torque; and what each asks for at the same moments",
        lamp_control.least_torque,
    ),
    Claim(
        "lamp.velocity",
        "formulated in velocities, the landing comes to rest",
        "section 6; Figure 3, frame 6",
        "",
        "rad/s",
        "the hop of `lamp` with each formulation throughout: RMS speed of joints 0.3 to 0.8 s after landing, lowest of three",
        lamp_control.comes_to_rest,
    ),
    Claim(
        "lamp.compliance",
        "joints give way to a push only with the compliance pass",
        "section 6",
        "",
        "rad",
        "3 N at the head for 60 ms: largest movement of a joint; below a tenth of it when control knows of the push",
        lamp_control.gives_way,
    ),
    Claim(
        "lamp.contact_joints",
        "without temporary contact joints the centre of gravity cannot be controlled",
        "section 5.4",
        "0",
        "mm",
        "the same drag of 5 cm down, with and without: how far it came without; what is asked of the joints is zero",
        lamp_control.tied,
    ),
    Claim(
        "lamp.ice",
        "dragged ahead quickly on ice, the lamp slips",
        "section 5.4",
        "",
        "cm",
        "the same drag of the head at friction 0.05 (at least 5 cm) and 0.8 (at most 5 mm): how far the foot slides",
        slides,
    ),
    Claim(
        "lamp.spot",
        "with previews, a jump lands on a chosen place in a few trials",
        "section 3; Figure 4",
        "3 trials",
        "cm",
        "`lamp_box`, spots from seeds in 12 x 12 cm of the box: at most five previews each; the farthest miss, 2 cm allowed",
        spots,
    ),
    Claim(
        "lamp.stairs",
        "the lamp jumps up stairs, slides on a frictionless box and stays upright",
        "figure 6",
        "",
        "cm",
        "`lamp_stairs`: height after each jump, way slid on the box, tilt of the foot in the end",
        stairs,
    ),
    Claim(
        "lamp.preview",
        "the preview shows what will happen while the input stays",
        "section 3",
        "",
        "mm",
        "`lamp`, half a second ahead from four moments: largest difference of any body's place, 1 mm allowed",
        foreseen,
    ),
    Claim(
        "lamp.replay",
        "the motion is that of the physics simulation",
        "section 1",
        "",
        "m",
        "the three scenes come to their ends and replay in plain MuJoCo: largest difference of positions",
        replays,
    ),
)
