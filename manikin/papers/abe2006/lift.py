"""Abe & Popovic 2006, section 5 "Lift" and figure 4."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from manikin.export.save import Take
from manikin.papers.abe2006.look import KNEES, degrees, events, hinges, model_of, prop_path, sites, trunk_pitch
from manikin.papers.claims import Claim, Finding, Lab
from manikin.playback import replay
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene

MASSES = (2.0, 8.0, 15.0, 25.0, 36.0, 45.0, 54.0, 63.0, 72.0, 80.0)
QUICK_MASSES = (2.0, 63.0, 80.0)
NO_LIMIT = 1e6
STYLES = ("lift_back", "lift_knees")


# --- the description


def four_goals(lab: Lab) -> Finding:
    raw = tomllib.loads(lab.take("lift").recording.meta["scene"])
    described = [s["name"] for s in raw["steps"] if "hands" in s.get("goals", {})]
    order = [n for n in (e["name"] for e in lab.take("lift").recording.meta["events"]) if n in described]
    # after the four there are two small ones for setting down: press until the floor carries, hands aside
    main = order[:4]
    holds = lab.take("lift").report["ok"] and main == ["reach", "touch", "lift", "lower"]
    return Finding(len(main), holds, {"goals": main, "then": order[4:]})


def passes_keyframes(lab: Lab) -> Finding:
    """Each goal of the hands is reached before the next is set: the error in the last frame before it."""
    take = lab.take("lift")
    when, error = events(take), take.recording.tasks["hands"]["error"]
    left = {}
    for goal, following in (("reach", "touch"), ("touch", "lift"), ("lift", "top"), ("lower", "set_down")):
        k = int(np.searchsorted(take.recording.time, when[following], side="right")) - 1
        left[goal] = float(error[k])
    return Finding(100 * max(left.values()), max(left.values()) < 0.06, {"left_m": left})


def missing_details(lab: Lab) -> Finding:
    """How far the poses of a lift are from the style's clip, with the posture task and without it."""
    seconds = 6.0
    on = lab.take("lift", {"character.clip": STYLES[1]}, seconds)
    off = lab.take("lift", {"character.clip": STYLES[1], "tasks.posture.active": False}, seconds)
    other = lab.take("lift", {"character.clip": STYLES[0]}, seconds)
    joints = [int(model_of(on.recording).jnt_qposadr[j]) for j in hinges(model_of(on.recording))]

    def apart(a: Take, b: Take) -> float:
        n = min(len(a.recording.time), len(b.recording.time))
        gap = a.recording.qpos[:n, joints] - b.recording.qpos[:n, joints]
        return float(np.rad2deg(np.sqrt((gap**2).mean())))

    numbers = {"without_posture_deg": apart(on, off), "with_other_clip_deg": apart(on, other), "joints": len(joints)}
    return Finding(numbers["without_posture_deg"], min(apart(on, off), apart(on, other)) > 5, numbers)


def real_time(lab: Lab) -> Finding:
    factor = float(lab.take("lift").report["realtime_factor"])
    return Finding(factor, factor >= 1.0)


# --- clamps


def hands_clamped(lab: Lab) -> Finding:
    """How far the palms move on the box while they hold it."""
    take = lab.take("lift")
    when, recording = events(take), take.recording
    places = sites(recording, ["hand_l", "hand_r", "box"], 5)
    held = (recording.time[::5] > when["lift"] + 0.1) & (recording.time[::5] < when["let_go"])
    spread = np.linalg.norm(places[held, 0] - places[held, 1], axis=1)
    slide = float(np.ptp(spread))
    return Finding(1000 * slide, slide < 0.003, {"frames": int(held.sum())})


# --- masses


def mass_is_known(lab: Lab) -> Finding:
    masses = lab.pick((2.0, 80.0), (2.0, 25.0, 54.0, 80.0))
    times = [_time_to_top(lab.take("lift", {"props.box.mass": m, "tasks.hands.max_force": NO_LIMIT}, 5.5)) for m in masses]
    ratio = max(times) / min(times)
    return Finding(ratio, ratio < 1.02, {"masses": masses, "seconds": times})


def heavier_is_slower(lab: Lab) -> Finding:
    masses = lab.pick(QUICK_MASSES, MASSES)
    return judge_times(masses, [lab.take("lift", {"props.box.mass": m}, 7.5) for m in masses])


def judge_times(masses: Sequence[float], takes: Sequence[Take]) -> Finding:
    """From grasp to top: never faster with more mass, and slower with each step once the force limit is touched."""
    times = np.array([_time_to_top(t) for t in takes])
    force = np.array([t.recording.tasks["hands"]["force"].max() for t in takes])
    limit = np.array([np.nanmax(t.recording.tasks["hands"]["limit"]) for t in takes])
    touched = force > 0.995 * limit
    steps = np.diff(times)
    holds = bool(np.isfinite(times).all() and touched.sum() >= 2 and (steps >= 0).all() and (steps[touched[1:]] > 0).all())
    return Finding(float(times[-1] / times[0]), holds, {"masses": masses, "seconds": times, "force": force, "limit": limit})


def _time_to_top(take: Take) -> float:
    when = events(take)
    return when["top"] - when["lift"] if {"top", "lift"} <= set(when) else float("inf")


def too_heavy(lab: Lab) -> Finding:
    take = lab.take("lift", {"props.box.mass": 100.0})
    box = take.recording.qpos[:, int(model_of(take.recording).joint("box").qposadr[0]) + 2]
    rise = float(box.max() - box[0])
    pelvis = float(take.recording.qpos[-1, 2])
    holds = rise < 0.02 and not take.report["ok"] and "force limit" in take.report["reason"] and pelvis > 0.85
    return Finding(100 * rise, holds, {"reason": take.report["reason"], "pelvis_end_m": pelvis})


# --- styles


def _styles(lab: Lab) -> list[Take]:
    return [lab.take("lift", {"character.clip": s}, 6.0) for s in STYLES]


def styles_differ(lab: Lab) -> Finding:
    back, knees = _styles(lab)
    return judge_styles(back, knees)


def judge_styles(back: Take, knees: Take) -> Finding:
    trunk = [float(trunk_pitch(t.recording).max()) for t in (back, knees)]
    knee = [float(degrees(t.recording, KNEES[:1]).max()) for t in (back, knees)]
    holds = trunk[0] - trunk[1] > 25 and knee[1] - knee[0] > 30
    return Finding(trunk[0] - trunk[1], holds, {"trunk_deg": trunk, "knee_deg": knee})


def task_is_kept(lab: Lab) -> Finding:
    back, knees = _styles(lab)
    return judge_paths(back, knees)


def judge_paths(one: Take, two: Take) -> Finding:
    """Box paths of two takes, by time since the grasp."""
    paths = [prop_path(t.recording, "box", events(t)["lift"] + np.linspace(0, 1.2, 60)) for t in (one, two)]
    apart = float(np.sqrt((np.linalg.norm(paths[0] - paths[1], axis=1) ** 2).mean()))
    return Finding(100 * apart, apart < 0.02)


def greatest_extent(lab: Lab) -> Finding:
    """What lower tasks miss over the states of a lift, by the classic projection and by ours (section 3.1.2)."""
    run = build_run(load_scene("lift"), record=False)
    classic = replace(run.controller, compensate=False)  # type: ignore[type-var]
    missed: dict[bool, list[float]] = {True: [], False: []}
    while run.world.time < lab.pick(3.5, 5.0):
        run.advance(25)
        run.world.refresh()
        for best, controller in ((True, run.controller), (False, classic)):
            gaps = controller.solve(run.world, run.tasks, 0.0).missed()  # type: ignore[attr-defined]
            missed[best].append(float(np.linalg.norm([gaps[n] for n in ("level", "palms", "balance", "gaze") if n in gaps])))
    ours, plainly = float(np.mean(missed[True])), float(np.mean(missed[False]))
    return Finding(100 * ours / plainly, ours < 0.2 * plainly, {"ours": ours, "classic": plainly})


# --- physics


def force_limit(lab: Lab) -> Finding:
    """The hands' force on the box, m (a - g) from the replay as a 20 ms mean, against the limit of both hands."""
    mass = 63.0
    take = lab.take("lift", {"props.box.mass": mass}, 7.5)
    limit = float(np.nanmax(take.recording.tasks["hands"]["limit"]))
    dof = int(model_of(take.recording).joint("box").dofadr[0])
    place = int(model_of(take.recording).joint("box").qposadr[0])
    speeds, heights = [], []

    def watch(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        speeds.append(data.qvel[dof : dof + 3].copy())
        heights.append(float(data.qpos[place + 2]))

    replay(take.recording, watch)
    pull = mass * (np.diff(np.array(speeds), axis=0) / take.recording.meta["timestep"] + [0.0, 0.0, 9.81])
    mean = np.stack([np.convolve(pull[:, k], np.ones(10) / 10, "valid") for k in range(3)], axis=1)
    free = np.array(heights)[10 : 10 + len(mean)] > heights[0] + 0.02
    largest = float(np.linalg.norm(mean[: len(free)][free], axis=1).max()) / (2 * limit)
    return Finding(largest, 0.9 < largest <= 1.05, {"limit_N": limit})


CLAIMS = (
    Claim(
        "figure4.four_goals",
        "four Cartesian goals describe how hands and box move",
        "figure 4",
        "4",
        "goals",
        "count the goals of the hands that the script of `lift` passes",
        four_goals,
    ),
    Claim(
        "figure4.missing_details",
        "what the goals leave open is filled in by the posture task from recorded motion",
        "figure 4; section 5",
        "",
        "deg",
        "`lift` with and without its posture task, and with another clip: joints differ by (rms)",
        missing_details,
    ),
    Claim(
        "figure4.real_time", "the lift is directed in real time", "figure 4", "real time", "x real time", "`lift`", real_time
    ),
    Claim(
        "lift.keyframes",
        "stabilization leads the hands through keyframes",
        "section 5, Lift",
        "",
        "cm",
        "`lift`: distance from each goal when the next one is set, at most 6 cm",
        passes_keyframes,
    ),
    Claim(
        "lift.clamped",
        "the hands are clamped to the box",
        "section 5, Lift",
        "",
        "mm",
        "`lift`: how much the distance between the palms changes while they hold, at most 3 mm",
        hands_clamped,
    ),
    Claim(
        "lift.mass_known",
        "the control knows the box's mass and accounts for it",
        "section 5, Lift",
        "",
        "",
        "`lift` without force limit, light and heavy boxes: longest by shortest time to the top, below 1.02",
        mass_is_known,
    ),
    Claim(
        "lift.slower",
        "force limits keep heavy boxes from being lifted quickly; more weight, slower lift",
        "section 5, Lift; figure 4",
        "slower",
        "x",
        "`lift`, boxes of 2 to 80 kg: time to the top, heaviest by lightest",
        heavier_is_slower,
    ),
    Claim(
        "lift.force_limit",
        "the force at the hands keeps to its limit",
        "section 4.2; section 5, Lift",
        "",
        "of the limit",
        "`lift`, 63 kg: force on the box from its motion, within 5 %",
        force_limit,
    ),
    Claim(
        "lift.too_heavy",
        "or from being lifted at all",
        "section 5, Lift",
        "stays down",
        "cm",
        "`lift`, 100 kg: how far the box rises; the figure lets go and stands up",
        too_heavy,
    ),
    Claim(
        "lift.styles",
        "another recorded motion changes how the same task is done: with the knees, not with the back",
        "section 5, Lift; figure 4",
        "",
        "deg",
        "`lift` with both clips: trunk flexes over 25 degrees less, knees over 30 more",
        styles_differ,
    ),
    Claim(
        "lift.decoupled",
        "primary and secondary task are decoupled: the box goes the same way in both styles",
        "section 5, Lift",
        "",
        "cm",
        "`lift` with both clips: box paths differ by (rms), below 2 cm",
        task_is_kept,
    ),
    Claim(
        "lift.greatest_extent",
        "each task is accomplished to the greatest extent possible",
        "section 5, Lift; section 3.1.2",
        "",
        "%",
        "states of `lift`: what lower tasks miss here, of what they miss by classic projection; below 20 %",
        greatest_extent,
    ),
)
