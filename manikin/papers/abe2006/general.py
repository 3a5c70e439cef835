"""Abe & Popovic 2006, the opening of section 5 and figures 1 to 3."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.clips.clip import load_clip
from manikin.errors import RunError
from manikin.export.save import Take
from manikin.papers.abe2006.look import hinges, model_of, scene_of, sites
from manikin.papers.abe2006.pendulum import judge_arrival
from manikin.papers.claims import Change, Claim, Finding, Lab, unmeasured, whole_take
from manikin.papers.recorded import capture
from manikin.physics.world import Control
from manikin.playback import replay
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene, parse_scene
from manikin.scenes.scripts import Steps
from manikin.studio.cast import find_cast
from manikin.studio.knobs import KnobBox

Array = NDArray[np.float64]

SCENES = ("lift", "chain", "pendulum", "catch", "toss")
# updates per simulated second: one every 16 ms, eight steps of 2 ms, the nearest there is to 60
SIXTY = 62.5


def freedoms(lab: Lab) -> Finding:
    model = model_of(lab.take("lift").recording)
    dofs = 6 + model.nu
    return Finding(dofs, dofs >= 44, {"root": 6, "joints": model.nu})


def compact(lab: Lab) -> Finding:
    """No task or step of a scene names a joint: what is given are places, directions, gains and a clip."""
    tables = {}
    for name in SCENES:
        scene = scene_of(lab.take(name).recording)
        joints = [t for t, spec in scene.tasks.items() if spec.measure == "posture" and spec.of]
        goals = sum(len(s.goals) for s in scene.steps)
        tables[name] = {"tasks": len(scene.tasks), "goals_of_steps": goals, "joint_tasks": len(joints)}
    most = max(t["goals_of_steps"] for t in tables.values())
    return Finding(most, all(t["joint_tasks"] == 0 for t in tables.values()), tables)


def updates(lab: Lab) -> Finding:
    """Control updates per second of real time, physics included, in the slowest scene."""
    rates: dict[str, float] = {}
    for name in SCENES:
        take = lab.take(name)
        scene = load_scene(name)
        rates[name] = float(take.report["realtime_factor"]) * min(scene.control.rate, 1 / scene.timestep)
    return Finding(min(rates.values()), min(rates.values()) >= 60, rates)


# --- recorded motion


class Capture(NamedTuple):
    """A task of figure 1 with a motion of the CMU database. fps: the true rate, where the file is wrong about it."""

    task: str
    scene: str
    file: str
    fps: float | None = None

    def changes(self, path: Path) -> dict[str, Any]:
        return {"character.clip": str(path)} | ({"character.clip_fps": self.fps} if self.fps else {})


CAPTURES = (
    Capture("lifting", "lift", "lift_box_back/115_01.bvh.gz", 60.0),
    Capture("lifting", "lift", "lift_box_knees/115_06.bvh.gz", 60.0),
    Capture("reaching", "pendulum", "reach/15_06.bvh.gz"),
    Capture("throwing", "toss", "catch_throw/124_12.bvh.gz"),
    Capture("throwing", "toss", "catch_throw/143_20.bvh.gz", 60.0),
)
QUICK_CAPTURES = (CAPTURES[0], CAPTURES[2], CAPTURES[3])


def several_tasks(lab: Lab) -> Finding:
    """Lifting, reaching and throwing with postures from motion capture, each judged by what its scene is about."""
    done = {}
    for c in lab.pick(QUICK_CAPTURES, CAPTURES):
        path = capture(c.file)
        if path is None:
            return unmeasured(f"no recorded motion was found ({c.file}; MANIKIN_DATA names its folder)")
        done[c.file] = accomplished(lab.take(c.scene, c.changes(path)), c.task)
    return judge_tasks({c.file: c.task for c in CAPTURES}, done)


def judge_tasks(tasks: Mapping[str, str], done: Mapping[str, bool]) -> Finding:
    """Every capture must succeed; the number counts the kinds of task."""
    kinds = {task: all(ok for file, ok in done.items() if tasks[file] == task) for task in {tasks[f] for f in done}}
    return Finding(sum(kinds.values()), len(kinds) == 3 and all(kinds.values()), dict(done))


def accomplished(take: Take, task: str) -> bool:
    """Lifting and throwing: the scene's own report; reaching: the hand arrives wherever its goal rests."""
    return bool(judge_arrival(take.recording).holds) if task == "reaching" else bool(take.report["ok"])


# --- other circumstances

PUSH = {
    "body": "thorax",
    "path": [[2.5, 0.0, 0.0, 0.0], [2.52, -100.0, 40.0, 0.0], [2.7, -100.0, 40.0, 0.0], [2.72, 0.0, 0.0, 0.0]],
}
CIRCUMSTANCES: dict[str, dict[str, Any]] = {
    "heavier": {"props.box.mass": 25.0},
    "pushed": {"tugs.push": PUSH},
    "elsewhere": {"props.box.at": [0.50, 0.06, 0.15]},
    "weaker": {"character.strength": 0.6},
    "locked": {"character.locked": ["thorax_flexion", "thorax_bending", "thorax_rotation"]},
}
QUICK_CIRCUMSTANCES = ("heavier", "pushed")
# the box changes its mass [kg] so long [s] after the grasp, on its way up
ON_THE_WAY, HEAVIER = 0.3, 25.0


def adapts(lab: Lab) -> Finding:
    """The lift's description and clip, unchanged, in other circumstances."""
    chosen = lab.pick(QUICK_CIRCUMSTANCES, tuple(CIRCUMSTANCES))
    ends = {name: str(lab.take("lift", CIRCUMSTANCES[name]).report["reason"]) for name in chosen}
    ends["heavier_on_the_way"] = grows_heavier(HEAVIER, ON_THE_WAY)
    return judge_adapting(ends)


def judge_adapting(ends: Mapping[str, str]) -> Finding:
    """Every lift ends well. ends: what went wrong, by circumstance; nothing where it ended well."""
    done = {name: not reason for name, reason in ends.items()}
    reasons = {name: reason for name, reason in ends.items() if reason}
    return Finding(sum(done.values()), all(done.values()), done | {"reasons": reasons})


def grows_heavier(mass: float, after: float) -> str:
    """A lift whose box changes its mass [kg] so long [s] after the grasp: what went wrong, if anything did.

    Control reads the new mass, as it does when the slider is moved in the studio.
    """
    scene = load_scene("lift")
    run = build_run(scene)
    script = run.script
    assert run.recorder is not None
    assert isinstance(script, Steps)
    knobs = KnobBox(scene, run, find_cast(run.world, run.recorder.meta))
    steps = round(scene.seconds / run.world.timestep)
    while not script.done and "lift" not in script.began and run.world.steps < steps:
        run.advance(1)
    run.advance(round(after / run.world.timestep))
    knobs.turn("props.box.mass", mass)
    run.advance(max(steps - run.world.steps, 0))
    return script.failed or ("" if script.finished else "it did not come to its end")


def at_sixty(lab: Lab) -> Finding:
    """Control at the document's rate, physics at its own: does every scene still do what it is about?"""
    names = lab.pick(("lift", "chain", "pendulum"), SCENES)
    takes = {name: lab.take(name, {"control.rate": SIXTY}) for name in names}
    done = {name: bool(take.report["ok"]) for name, take in takes.items()}
    done["chain"] &= bool(takes["chain"].recording.tasks["hands"]["error"][-1] < 0.005)
    arrival = judge_arrival(takes["pendulum"].recording)
    done["pendulum"] &= bool(arrival.holds)
    return Finding(sum(done.values()), all(done.values()), done | {"pendulum_left_cm": arrival.ours})


def primitives(lab: Lab) -> Finding:
    """Laws of all tasks that move hands or things; `hold` is stabilization where the hand is."""
    laws: dict[str, int] = {}
    for name in SCENES:
        for spec in scene_of(lab.take(name).recording).tasks.values():
            if spec.measure == "point":
                laws[spec.law] = laws.get(spec.law, 0) + 1
    return Finding(len(laws), set(laws) <= {"stabilize", "hold", "track"}, laws)


def substitute(lab: Lab) -> Finding:
    """The lift without joint limits in control: room to the end of a joint's range with the posture task and without it."""
    rooms = {}
    for posture in (True, False):
        changes = {"control.joint_limits": False} | ({} if posture else {"tasks.posture.active": False})
        rooms[posture] = joint_room(lab.take("lift", changes, 5.0).recording)
    return Finding(rooms[True], rooms[True] > 0 and rooms[True] > rooms[False], {"without_posture_deg": rooms[False]})


def joint_room(recording: Recording) -> float:
    """The least distance [deg] of any joint from the end of its range, negative beyond it."""
    model = model_of(recording)
    joints = hinges(model)
    low, high = model.jnt_range[joints].T
    angles = recording.qpos[:, model.jnt_qposadr[joints]]
    return float(np.rad2deg(np.minimum(angles - low, high - angles).min()))


def fed(lab: Lab) -> Finding:
    """A figure with nothing but a posture task, with the clip's velocities and accelerations and without them."""
    clip = load_clip("lift_knees")
    range_of_clip = float(np.ptp(clip.qpos[:, 2]))
    moved = {
        feed: float(np.ptp(whole_take(parse_scene(moving_on(feed), "feed")).recording.qpos[:, 2])) for feed in (True, False)
    }
    holds = moved[True] > 0.5 * range_of_clip and moved[False] < 0.1 * range_of_clip
    return Finding(100 * moved[True], holds, {"without_cm": 100 * moved[False], "in_the_clip_cm": 100 * range_of_clip})


def moving_on(feed: bool) -> dict[str, Any]:
    """A figure that follows the poses of a lift and does nothing else."""
    posture = {"measure": "posture", "law": "nearest", "feed": feed}
    return {"name": "feed", "seconds": 3.0, "character": {"clip": "lift_knees"}, "tasks": {"posture": posture}}


def damped(lab: Lab) -> Finding:
    """A hand on its way to a goal, at several gains, against the closed form of Eq. 11: e (1 + w t) exp(-w t)."""
    worst = {}
    for frequency in (0.5, 1.0, 2.0):
        try:
            worst[frequency] = critical_gap(whole_take(parse_scene(reaching(frequency), "reach")).recording, frequency)
        except RunError:
            # a hand that is flung does not converge
            worst[frequency] = float("inf")
    most = max(worst.values())
    return Finding(100 * most, most < 0.02, {"frequency_Hz": list(worst), "gap": list(worst.values())})


REACHED = [0.30, -0.25, 1.10]


def reaching(frequency: float) -> dict[str, Any]:
    """A standing figure whose right hand is to go 30 cm forward and up."""
    right = {"measure": "point", "of": "hand_r", "frequency": frequency, "priority": 0, "goal": REACHED}
    posture = {"measure": "posture", "law": "nearest", "priority": 1}
    return {"name": "reach", "seconds": 2.0, "character": {}, "tasks": {"right": right, "posture": posture}}


def critical_gap(recording: Recording, frequency: float) -> float:
    """Largest difference of the distance to the goal from that of a critically damped system, over the first distance."""
    left = np.linalg.norm(sites(recording, ["hand_r"], 1)[:, 0] - REACHED, axis=1)
    phase = 2 * np.pi * frequency * recording.time
    return float(np.abs(left - left[0] * (1 + phase) * np.exp(-phase)).max() / left[0])


def feet_clamped(lab: Lab) -> Finding:
    return judge_feet([lab.take(name).recording for name in SCENES])


def judge_feet(recordings: list[Recording]) -> Finding:
    """How far the soles move over the ground in a whole take."""
    moved = {r.meta["name"]: float(np.ptp(sites(r, ["foot_l", "foot_r"]), axis=0).max()) for r in recordings}
    return Finding(1000 * max(moved.values()), max(moved.values()) < 0.003, moved)


def collisions(lab: Lab) -> Finding:
    """The deepest overlap at any step of the lift, from the first touch to the box back on the floor."""
    deepest = [0.0]
    contacts = [0]

    def watch(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if data.ncon:
            deepest[0] = max(deepest[0], -float(data.contact.dist.min()))
            contacts[0] += 1

    replay(lab.take("lift").recording, watch)
    return Finding(1000 * deepest[0], bool(contacts[0]) and deepest[0] < 0.005, {"steps_with_contact": contacts[0]})


# --- the figures of sections 3 and 4


def closed_loop(lab: Lab) -> Finding:
    """Both feet on the ground and both hands on the box: the planned acceleration against that of the next step.

    For comparison, the acceleration of an open chain under the same torques.
    """
    run = build_run(load_scene("lift"), record=False)
    while not run.script.done and "lift" not in run.script.began:  # type: ignore[attr-defined]
        run.advance(1)
    run.advance(round(0.4 / run.world.timestep))
    world = run.world
    world.refresh()
    solution = run.controller.solve(world, run.tasks, world.timestep)  # type: ignore[attr-defined]
    response = world.dynamics().response()
    planned = response.qacc(solution.z).copy()
    before = world.data.qvel.copy()
    world.step(Control(solution.ctrl))
    measured = (world.data.qvel - before) / world.timestep
    size = float(np.linalg.norm(measured))
    gap = float(np.linalg.norm(planned - measured)) / size
    alone = float(np.linalg.norm(world.data.qacc_smooth - measured)) / size
    return Finding(100 * gap, gap < 0.05 and alone > 10 * gap, {"open_chain_percent": 100 * alone, "rows": int(world.data.ne)})


def equivalent_force(lab: Lab) -> Finding:
    """Torques with the effect of a force at the hand, and the force with the effect of a torque."""
    run = build_run(load_scene("chain"), record=False)
    model, data = run.world.model, run.world.data
    hand, site = run.world.body("hand_r"), run.world.site("hand_r")
    jacobian = np.zeros((3, model.nv))

    def acceleration(torque: Array, force: Array) -> Array:
        data.ctrl[:] = torque
        mujoco.mj_jacSite(model, data, jacobian, None, site)
        data.qfrc_applied[:] = jacobian.T @ force
        mujoco.mj_forward(model, data)
        return jacobian @ data.qacc

    nothing, still = np.zeros(model.nu), np.zeros(3)
    rest = acceleration(nothing, still)
    by_torque = np.stack([acceleration(e, still) - rest for e in np.eye(model.nu)], axis=1)
    by_force = np.stack([acceleration(nothing, e) - rest for e in np.eye(3)], axis=1)
    rng = np.random.default_rng(lab.seed)
    force, torque = rng.normal(0, 10, 3), rng.normal(0, 1, model.nu)
    wanted = [by_force @ force, by_torque @ torque]
    torque_for = np.linalg.lstsq(by_torque, wanted[0], rcond=None)[0]
    force_for = np.linalg.solve(by_force, wanted[1])
    measured = [acceleration(torque_for, still) - rest, acceleration(nothing, force_for) - rest]
    gaps = [float(np.linalg.norm(c - w) / np.linalg.norm(w)) for c, w in zip(measured, wanted)]
    return Finding(max(gaps), max(gaps) < 1e-3, {"torque_for_force": gaps[0], "force_for_torque": gaps[1], "body": hand})


CLAIMS = (
    Claim(
        "figure1.tasks",
        "the control incorporates recorded motion data to accomplish multiple tasks such as lifting, reaching, and throwing",
        "figure 1",
        "lifting, reaching, and throwing",
        "tasks",
        "`lift`, `pendulum` and `toss` with motion capture of the CMU database as clips: kinds of task that are accomplished",
        several_tasks,
        bound="document",
        changed=(
            Change(
                "the three scenes end well with the clips that are shipped",
                "they end well with captured motion; not measured where there is none",
                "recorded motion is the point of the sentence, and the shipped clips are made by a program",
            ),
        ),
    ),
    Claim(
        "figure2.closed_loop",
        "in closed loops constraints must be handled in the dynamics",
        "figure 2; section 3.2",
        "must be handled in the dynamics",
        "%",
        "`lift`, box in the hands: acceleration planned against that of the next step, below 5; an open chain's is 10 times "
        "further off",
        closed_loop,
    ),
    Claim(
        "figure3.equivalent",
        "for every force at the hand there is a joint torque with the same effect, and vice versa",
        "figure 3; section 4.2",
        "equivalent force",
        "",
        "plain MuJoCo, random force and torques: accelerations of the hand differ by (fraction), below 0.001",
        equivalent_force,
    ),
    Claim(
        "general.critically_damped",
        "stabilization makes a critically damped system whose speed of convergence is controlled by the gain",
        "section 4.1",
        "critically damped",
        "%",
        "a hand goes to a place, at several gains: largest difference from the closed form, below 2 of the first distance",
        damped,
    ),
    Claim(
        "general.primitives",
        "stabilization and tracking are the two command primitives of all experiments",
        "section 6",
        "two command primitives",
        "laws",
        "the five scenes: laws of the tasks that move hands or things; all of them stabilize (or hold) or track",
        primitives,
        bound="document",
    ),
    Claim(
        "general.freedoms",
        "the character is complex: 44 degrees of freedom",
        "section 5",
        "44",
        "",
        "count them in the model: at least as many",
        freedoms,
        bound="document",
    ),
    Claim(
        "general.compact",
        "a compact description commands each task; recorded postures complete it",
        "section 5",
        "compact description",
        "goals",
        "the five scenes: most goals given by a script; no task names a joint",
        compact,
    ),
    Claim(
        "general.collisions",
        "collisions and contacts are detected and resolved in the simulation",
        "section 5",
        "detected and resolved",
        "mm",
        "`lift`: deepest overlap of anything at any step, below 5",
        collisions,
    ),
    Claim(
        "general.clamped_feet",
        "ground contacts are approximated with clamping constraints",
        "section 5",
        "clamping constraints",
        "mm",
        "the five scenes: largest movement of a sole in a whole take, below 3",
        feet_clamped,
    ),
    Claim(
        "general.interactive",
        "simulation and control run at interactive rates, with 60 or more updates per second",
        "section 5",
        "60",
        "1/s",
        "the five scenes on this machine: control updates per second of real time, slowest scene",
        updates,
        bound="document",
    ),
    Claim(
        "general.sixty",
        "62.5 updates per second (the nearest to 60, the fewest that the document names, that divides the time step) are "
        "enough",
        "section 5",
        "60 or more updates per second",
        "scenes",
        "the five scenes with control.rate=62.5, one update every 16 ms: those that still do what they are about",
        at_sixty,
    ),
    Claim(
        "general.adapts",
        "animations adapt immediately to changes in the environment or limitations of the character",
        "section 4; figure 4; section 6",
        "adapt immediately",
        "lifts",
        "`lift` with a box of 25 kg; a push of 108 N at the chest; the box elsewhere; strength 0.6; a locked thorax; a box "
        "that changes from 8 to 25 kg on its way up, 0.3 s after the grasp: those that end well",
        adapts,
        changed=(
            Change(
                "a box of 25 kg from the beginning",
                "also a box that becomes so heavy on its way up",
                "'immediately' is about a motion that is under way, and only the push came during one; the five lifts had "
                "ended well",
            ),
        ),
    ),
    Claim(
        "general.posture_limits",
        "the posture task is a partial substitute for joint limits: it keeps the character out of unnatural configurations",
        "section 6",
        "a partial substitute to joint limits",
        "deg",
        "`lift` with control.joint_limits=false: least room of any joint in its range, above 0, and more than with "
        "tasks.posture.active=false",
        substitute,
    ),
    Claim(
        "general.feed",
        "low-priority posture tasks could incorporate recorded velocities and accelerations",
        "section 6 (future work)",
        "recorded velocities, accelerations",
        "cm",
        "a figure that only follows the clip `lift_knees`, with `feed`: its pelvis covers more than half of its range in the "
        "clip, without `feed` less than a tenth",
        fed,
    ),
)
