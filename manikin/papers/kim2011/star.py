"""Kim & Pollard 2011, Figures 1 and 2, sections 5.3 and 6: the starfish's jump and its escape, the donut, its loop."""

import tomllib
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.characters.donut import BONES, RING, TUBE
from manikin.drags import Drag, at_rest, begin
from manikin.errors import Inverted
from manikin.export.soft import soft_surfaces
from manikin.papers.claims import Change, Claim, Finding, Lab
from manikin.papers.kim2011.bodies import SCALE, began, judge_flight, seen
from manikin.papers.kim2011.rates import ends
from manikin.recording import Recording
from manikin.scenes.scene import load_scene

Array = NDArray[np.float64]

SCENES = ("starfish", "starfish_escape", "donut", "donut_seesaw")
GLASS = 2500.0  # [kg/m^3]


# --- the starfish


def clears(lab: Lab) -> Finding:
    """The greatest height of the lowest vertex of the fine surface, and whether it lies flat afterwards."""
    height = float(seen(lab, "starfish").lowest.max())
    report = lab.take("starfish").report
    return Finding(
        height, height > 0.2 and bool(report["ok"]), {"landed_level": bool(report["ok"]), "flight_s": report["flight"]}
    )


def flight(lab: Lab) -> Finding:
    return judge_flight(seen(lab, "starfish"))


def escapes(lab: Lab) -> Finding:
    """Three things: an arm lifts the edge, a jump hits the case, and in the end no part of it is in or under the case."""
    take = lab.take("starfish_escape")
    return judge_escape(began(lab, "starfish_escape"), bool(take.report["ok"]), left_behind(take.recording))


class Left(NamedTuple):
    """The last frame: distance [m] of the starfish's middle from the case's, how many vertices of its surface are inside or
    below the case, and by how much the case and the starfish are tilted [deg]."""

    away: float
    inside: int
    case_tilt: float
    own_tilt: float


def left_behind(recording: Recording) -> Left:
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data = mujoco.MjData(model)
    data.qpos[:] = recording.qpos[-1]
    mujoco.mj_forward(model, data)
    case, middle = data.body("case"), data.body("center")
    half = np.array(tomllib.loads(recording.meta["scene"])["props"]["case"]["size"]) / 2
    turn = case.xmat.reshape(3, 3)
    points = np.concatenate([s.places(data.flexvert_xpos) for s in soft_surfaces(model)])
    local = np.abs((points - case.xpos) @ turn)
    # a case upside down holds what lies in it; one that stands also what is below its rim
    within = (local[:, :2] < half[:2]).all(axis=1) & (local[:, 2] < half[2] + 0.02)
    tilts = [float(np.degrees(np.arccos(np.clip(body.xmat[8], -1, 1)))) for body in (case, middle)]
    return Left(float(np.linalg.norm(case.xpos[:2] - middle.xpos[:2])), int(within.sum()), tilts[0], tilts[1])


def judge_escape(times: dict[str, float], ok: bool, left: Left) -> Finding:
    things = ("edge_lifted_3_cm", "case_hit", "outside")
    done = [thing for thing in things if thing in times]
    first = ok and left.case_tilt > 60 and left.own_tilt < 15
    numbers = {thing: times.get(thing) for thing in things} | left._asdict() | {"by_the_first_criterion": first}
    return Finding(len(done), len(done) == 3 and ok and left.inside == 0, numbers)


def escapes_from(mass: float, strength: float = 1.14) -> str:
    return ends("starfish_escape", {"props.case.mass": mass, "character.strength": strength})


def glass(lab: Lab) -> Finding:
    """The same script under 3 mm of glass, under the 12 mm that the panes of the scene are thick, and under lighter cases."""
    size = load_scene("starfish_escape").props["case"].size
    x, y, z = size
    area = x * y + 2 * (x + y) * z
    thin, thick = (GLASS * area * t for t in (0.003, 0.012))
    masses = [thin] if lab.quick else [0.5, 0.7, 1.0, thin, thick]
    found = dict(zip(masses, lab.campaign("glass", masses, escapes_from)))
    strong = {} if lab.quick else {f"{thin:.1f} kg, strength 2": escapes_from(thin, 2.0)}
    numbers = {f"{m:.1f} kg": how for m, how in found.items()} | strong
    return Finding(thin, found[thin] == "ok", numbers)


# --- the donut


def rolls(lab: Lab) -> Finding:
    """How far its middle moves, and by how much the ring rotates over that: without slipping, distance over outer radius."""
    take = lab.take("donut")
    found = judge_roll(take.recording, began(lab, "donut")["roll"], began(lab, "donut")["rolled_1_m"])
    time_for = take.report["time_for_1_m"]
    return Finding(found.ours, bool(found.holds and take.report["ok"]), {**found.numbers, "time_for_1_m_s": time_for})


def judge_roll(recording: Recording, begin: float, end: float) -> Finding:
    """Rotation of the ring over the rotation of a rigid wheel that rolls as far; 0 slides, 1 rolls, within 20 %.

    The rotation is the mean over all bones, so that what they bend does not count.
    """
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data, rows = mujoco.MjData(model), []
    bones = [model.body(f"ring_{k}").id for k in range(BONES)]
    steps = np.flatnonzero((recording.time >= begin) & (recording.time <= end))
    for frame in steps:
        data.qpos[:] = recording.qpos[frame]
        mujoco.mj_kinematics(model, data)
        # about +y, which rolls towards +x
        angles = [np.arctan2(data.xmat[b][2], data.xmat[b][0]) for b in bones]
        rows.append([*angles, data.xpos[bones, 0].mean()])
    angle, x = np.unwrap(np.array(rows)[:, :-1], axis=0).mean(axis=1), np.array(rows)[:, -1]
    rotation, far = float(angle[-1] - angle[0]), float(x[-1] - x[0])
    ratio = rotation * (RING + TUBE) / far
    return Finding(ratio, abs(ratio - 1) < 0.2, {"rotation_deg": np.degrees(rotation), "distance_m": far})


def empties(lab: Lab) -> Finding:
    """When all that was on the plank is off it, with no other drag than that of the centre of gravity."""
    report = lab.take("donut_seesaw").report
    scene = load_scene("donut_seesaw")
    others = [n for n in scene.props if n != "seesaw"]
    goals = {task for step in scene.steps for task in step.goals}
    only = all(scene.tasks[task].measure == "com" for task in goals)
    return Finding(report["time_to_empty"], bool(report["ok"]) and only, {"others": others, "dragged": sorted(goals)})


def dragged_loop(seconds: float, seed: int) -> tuple[Array, int]:
    """Gaps [m] of the loop in each step while one bone after the other is dragged for half a second, by up to 0.3 m in the
    donut's plane; and how often its flesh was turned inside out, after which it begins again."""
    rng, still = np.random.default_rng(seed), at_rest("donut")
    run, inverted, gaps = still.branch(), 0, list[float]()
    ends_ = [run.world.site("loop_end"), run.world.site("loop_start")]
    while len(gaps) * run.world.timestep < seconds:
        offset = np.array([rng.normal(), 0.0, rng.normal()])
        offset *= rng.uniform(0.05, 0.3) / np.linalg.norm(offset)
        x, y, z = offset.tolist()
        begin(run, Drag(f"ring_{rng.integers(BONES)}", (x, y, z), float(np.linalg.norm(offset)) / 0.3))
        try:
            for _ in range(round(0.5 / run.world.timestep)):
                run.advance(1)
                gaps.append(float(np.linalg.norm(np.subtract(*run.world.data.site_xpos[ends_]))))
        except Inverted:
            inverted += 1
            run = still.branch()
    return np.array(gaps), inverted


def loop(lab: Lab) -> Finding:
    return judge_loop(*lab.once("dragged loop", lambda: dragged_loop(lab.pick(10.0, 60.0), lab.seed)))


def judge_loop(gaps: Array, inverted: int) -> Finding:
    """Median at most 0.1 mm, never more than 1 mm."""
    median, most = float(np.median(gaps)), float(gaps.max())
    numbers = {"median_m": median, "most_m": most, "steps": len(gaps), "inside_out": inverted}
    return Finding(most, median <= 1e-4 and most <= 1e-3, numbers)


_OUTSIDE = (
    Change(
        "the case tilted by more than 60 degrees or upside down, and the starfish flat",
        "at rest, 0.6 m from the case",
        "the script was changed, and the case did not always fall that way; now: no part of it in or under the case",
    ),
    Change("the jump tilts the case by 30 degrees", "the jump throws the case up to 25 cm", "another jump no longer tilted it"),
    Change(
        "a case of glass", "a light plastic cover of 0.35 kg, as 0.4 mm of acrylic weighs", "it never was as heavy as glass"
    ),
)
CLAIMS = (
    Claim(
        "starfish.clears", "dragging the middle up quickly makes the starfish jump", "figure 2",
        "dragging the mouse cursor ... upward quickly", "m",
        "`starfish`: the greatest height of the lowest vertex of the fine surface, above 0.2; it lands level", clears,
    ),
    Claim(
        "starfish.flight", "only internal forces: in flight gravity alone moves the centre of gravity", "figure 1",
        "only the internal forces from the actuators", "%",
        "`starfish`, no contact: acceleration of the centre of mass within 1 % of g; drift of angular momentum below 1 % of the"
        " sum of the parts' magnitudes", flight, "ours", SCALE,
    ),
    Claim(
        "starfish.escape", "the starfish frees itself from a light cover by lifting its edge and hitting it with a jump",
        "figure 1", "trying to escape from a glass case", "of 3",
        "`starfish_escape`, a plastic cover of 0.35 kg: an arm lifts the edge by 3 cm, a jump throws the cover up to 25"
        " cm, and in"
        " the end no part of the starfish is in or under it", escapes, "ours", _OUTSIDE,
    ),
    Claim(
        "starfish.escape_glass", "and from a case that weighs as much as glass", "figure 1",
        "trying to escape from a glass case", "kg",
        "the same script, the case as heavy as 3 mm of glass (2500 kg/m^3); also with 12 mm, and with 0.5, 0.7 and 1 kg", glass,
        "document",
    ),
    Claim(
        "donut.rolls", "the donut rolls and does not slide", "figure 1", "not said", "x",
        "`donut`, over the first metre: rotation of the ring over that of a wheel of its outer radius; 1 within 20 %", rolls,
        "ours", (Change("it moves by a metre", "it rotates as a wheel does", "sliding would have passed"),),
    ),
    Claim(
        "donut.seesaw", "guiding the centre of gravity is enough to push the other objects off the seesaw",
        "figure 1; section 6", "suffices for the task", "s",
        "`donut_seesaw`, whose script gives goals to the centre of gravity only (a posture task rounds the ring): time"
        " until all"
        " three are off the plank", empties, "document",
    ),
    Claim(
        "donut.loop", "the skeleton stays a closed loop", "section 5.3", "in order to keep the original closed loops", "m",
        "random drags, 60 s (10 with --quick): largest gap of the loop at most 1e-3, median at most 1e-4", loop,
    ),
)  # fmt: skip
