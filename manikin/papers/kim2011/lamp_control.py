"""Kim & Pollard 2011, sections 3, 5.2, 5.4 and 6, shown with the lamp: what drives it, how it flies, what gives way."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.loop import Run
from manikin.papers.claims import Finding, Lab
from manikin.papers.kim2011.watch import momentum_parts
from manikin.physics.world import Push
from manikin.playback import replay
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.scenes.scripts import Steps
from manikin.tasks.goals import Fixed
from manikin.tasks.task import Task

Array = NDArray[np.float64]

SCENES = ("lamp", "lamp_box", "lamp_stairs")
# the lamp of `lamp` left alone: no steps, and nothing that refers to them
ALONE: dict[str, Any] = {"steps": [], "facts": {}, "knobs": {}}


# --- runs


def alone(changes: Mapping[str, Any]) -> Run:
    """The lamp on its mat with nothing asked of it."""
    return build_run(load_scene("lamp", {**ALONE, **changes}), record=False)


def task(run: Run, name: str) -> Task:
    return next(t for t in run.tasks if t.name == name)


def direct(run: Run) -> Direct:
    assert isinstance(run.controller, Direct)
    return run.controller


def began(run: Run) -> list[str]:
    assert isinstance(run.script, Steps)
    return run.script.began


def until(run: Run, step: str, seconds: float = 15.0) -> bool:
    """Run until a step begins."""
    while step not in began(run) and not run.script.done and run.world.time < seconds:
        run.advance(1)
    return step in began(run)


def joints(run: Run) -> Array:
    return np.asarray(run.world.data.qpos[direct(run).skeletons[0].address].copy())


# --- only internal actuation


def root_force(recording: Recording) -> float:
    """The largest generalised force of actuators and pushes on the root [N, N m] in a whole take."""
    worst = [0.0]

    def watch(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        root = slice(0, 6)
        assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
        pushed = float(np.abs(data.qfrc_applied).max() + np.abs(data.xfrc_applied).max())
        worst[0] = max(worst[0], float(np.abs(data.qfrc_actuator[root]).max()) + pushed)

    replay(recording, watch)
    return worst[0]


def unactuated(lab: Lab) -> Finding:
    forces = {name: root_force(lab.take(name).recording) for name in SCENES}
    return Finding(max(forces.values()), max(forces.values()) == 0.0, forces)


class Flight(NamedTuple):
    """One flight: its length [s], the fall [m/s^2], and how far angular momentum drifted, as a fraction of its scale."""

    seconds: float
    fall: float
    drift: float


def flights(recording: Recording) -> list[Flight]:
    """What the centre of mass and the angular momentum do between lift-off and touch-down."""
    events = [(e["name"], e["time"]) for e in recording.meta["events"]]
    spans = [
        (time, next(t for n, t in events[k:] if n.startswith(("land", "slide"))))
        for k, (name, time) in enumerate(events) if name.startswith("fly")
    ]  # fmt: skip
    rows: list[tuple[float, Array, Array, float]] = []

    def watch(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        time = step * model.opt.timestep
        if any(a < time < b for a, b in spans):
            mujoco.mj_subtreeVel(model, data)
            foot = model.body("foot").id
            momentum = data.subtree_angmom[foot].copy()
            rows.append((time, data.subtree_linvel[foot].copy(), momentum, momentum_scale(model, data, foot)))

    replay(recording, watch)
    out = []
    for begin, end in spans:
        # the first and the last steps may still touch
        mine = [r for r in rows if begin + 0.004 < r[0] < end - 0.004]
        times, speeds, momenta = (np.array([r[k] for r in mine]) for k in range(3))
        fall = -float(np.polyfit(times, speeds[:, 2], 1)[0])
        scale = max(r[3] for r in mine)
        out.append(Flight(end - begin, fall, float(np.ptp(momenta, axis=0).max()) / scale))
    return out


def momentum_scale(model: mujoco.MjModel, data: mujoco.MjData, root: int) -> float:
    """The scale of angular momentum [kg m^2/s]: the sum of the magnitudes of the parts' contributions about the common
    centre."""
    _, parts = momentum_parts(model, data, model.body_rootid == root)
    return float(np.linalg.norm(parts, axis=1).sum())


def ballistic(lab: Lab) -> Finding:
    found = {name: flights(lab.take(name).recording) for name in SCENES}
    return judge_flights([f for several in found.values() for f in several])


def judge_flights(several: list[Flight]) -> Finding:
    """Every flight falls at g within 1 %, and its angular momentum drifts by less than 1 % of its scale."""
    if not several:
        return Finding(None, False, {}, "it never flew")
    gaps = [abs(f.fall / 9.81 - 1) for f in several]
    drifts = [f.drift for f in several]
    numbers = {"flights": len(several), "fall_gap": max(gaps), "drift": max(drifts), "seconds": [f.seconds for f in several]}
    return Finding(100 * max(gaps), max(gaps) < 0.01 and max(drifts) < 0.01, numbers)


def primary(lab: Lab) -> Finding:
    """In flight: angular acceleration of the foot, which is kept level, with and without a drag of the head."""
    run = build_run(load_scene("lamp"), record=False)
    until(run, "fly")
    rng, control = np.random.default_rng(lab.seed), direct(run)
    foot, head, dofs = task(run, "foot"), task(run, "head"), control.skeletons[0].dofs
    gaps, changes = [], []
    for _ in range(lab.pick(8, 25)):
        run.advance(8)
        if "land" in began(run):
            break
        run.world.refresh()
        here = head.measure.evaluate(run.world.dynamics()).value
        head.goal = Fixed(here + rng.uniform(-0.2, 0.2, 3))
        lone, both = (control.decide(run.world, tasks, 0.005)[0] for tasks in ([foot], [foot, head]))
        rows = foot.measure.evaluate(run.world.dynamics()).jacobian[:, dofs]
        accelerations = [rows @ (d.maps.T @ d.acceleration + d.maps.t0) for d in (lone, both)]
        changes.append(float(np.abs(both.acceleration - lone.acceleration).max()))
        gaps.append(float(np.abs(accelerations[1] - accelerations[0]).max()) / max(float(np.abs(both.acceleration).max()), 1.0))
    numbers = {"moments": len(gaps), "joints_change_rad_s2": [min(changes), max(changes)]}
    return Finding(max(gaps), max(gaps) <= 1e-6 and min(changes) > 1.0, numbers)


# --- compliance, contact joints, balance


def pushed(compliant: bool, force: float) -> Array:
    """Joint angles after 60 ms of a push at the head from the side."""
    run = alone({"control.compliant": compliant})
    run.advance(100)
    run.advance(60, [Push("head", np.array([0.0, force, 0.0]))])
    return joints(run)


def gives_way(lab: Lab) -> Finding:
    moved = {
        name: float(np.abs(pushed(compliant, 3.0) - pushed(compliant, 0.0)).max())
        for name, compliant in (("with", True), ("without", False))
    }
    return Finding(moved["with"], moved["with"] > 0.005 and moved["without"] < 0.1 * moved["with"], moved)


def sinks(contact_joints: bool) -> tuple[float, float]:
    """The centre of gravity dragged down by 5 cm: how far [m] it moved in 0.5 s, and the largest acceleration asked for."""
    cog = {"measure": "com", "axes": ["x", "y", "z"], "frequency": 2.0}
    run = alone({"tasks": {"cog": cog}, "control.contact_joints": contact_joints})
    cog_task = task(run, "cog")
    run.advance(100)
    run.world.refresh()
    before = cog_task.measure.evaluate(run.world.dynamics()).value.copy()
    cog_task.aim_at(Fixed(before - np.array([0.0, 0.0, 0.05])))
    asked = direct(run).decide(run.world, [cog_task], 0.005)[0].acceleration
    run.advance(500)
    moved = before - cog_task.measure.evaluate(run.world.dynamics()).value
    return float(moved[2]), float(np.abs(asked).max())


def tied(lab: Lab) -> Finding:
    (far, asked), (loose, nothing) = sinks(True), sinks(False)
    numbers = {"moved_m": {"tied": far, "loose": loose}, "asked_rad_s2": {"tied": asked, "loose": nothing}}
    return Finding(nothing, far > 0.03 and nothing < 1e-6 * asked, numbers)


# the hop as shipped, and with one thing changed
BALANCED: tuple[Mapping[str, Any], ...] = (
    {}, {"steps.leap.goals.head.path.1.3": 0.42}, {"steps.leap.goals.head.path.1.1": 0.18}, {"props.mat.friction": 0.6},
)  # fmt: skip


def stays_up(balanced: bool, changes: Mapping[str, Any]) -> float:
    """The greatest tilt of the foot [deg] within two seconds of landing, with the centre of gravity kept over it or not."""
    alone_after: dict[str, Any] = {} if balanced else {"steps.land.goals": {}}
    run = build_run(load_scene("lamp", {**changes, **alone_after}), record=False)
    if not until(run, "land", 3.0):
        return 180.0
    foot, most = run.world.body("foot"), 0.0
    for _ in range(200):
        run.advance(10)
        most = max(most, float(np.degrees(np.arccos(np.clip(run.world.data.xmat[foot][8], -1, 1)))))
    return most


def balance(lab: Lab) -> Finding:
    """With the centre of gravity over the foot none tumbles; without, every one does."""
    several = lab.pick(BALANCED[:1], BALANCED)
    tilts = lab.campaign("lamp balance", several, lambda c: (stays_up(True, c), stays_up(False, c)))
    kept, left = [a for a, _ in tilts], [b for _, b in tilts]
    return Finding(max(kept), max(kept) < 45 < min(left), {"kept_over_the_foot_deg": kept, "left_alone_deg": left})


def foot_level(lab: Lab) -> Finding:
    """Tilt of the foot [deg] as it leaves the ground, and just before it lands."""
    recording = lab.take("lamp").recording
    times = {e["name"]: float(e["time"]) for e in recording.meta["events"]}
    tilt = [
        float(np.degrees(_tilt(recording.qpos[int(np.searchsorted(recording.time, times[n]) - 1)]))) for n in ("fly", "land")
    ]
    return Finding(tilt[1], tilt[1] < 3.0, {"lift_off_deg": tilt[0], "touch_down_deg": tilt[1]})


def _tilt(qpos: Array) -> float:
    x, y = qpos[4:6]
    return float(np.arccos(np.clip(1 - 2 * (x * x + y * y), -1, 1)))
