"""Abe & Popovic 2006, the opening of section 5 and figures 1 to 3."""

import tomllib

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.papers.abe2006.look import model_of, sites
from manikin.papers.claims import Claim, Finding, Lab
from manikin.physics.world import Control
from manikin.playback import replay
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene

Array = NDArray[np.float64]

SCENES = ("lift", "chain", "pendulum", "catch", "toss")


def freedoms(lab: Lab) -> Finding:
    model = model_of(lab.take("lift").recording)
    dofs = 6 + model.nu
    return Finding(dofs, dofs >= 44, {"root": 6, "joints": model.nu})


def compact(lab: Lab) -> Finding:
    """No task or step of a scene names a joint: what is given are places, directions, gains and a clip."""
    tables = {}
    for name in SCENES:
        raw = tomllib.loads(lab.take(name).recording.meta["scene"])
        joints = [t for t, spec in raw["tasks"].items() if spec.get("measure") == "posture" and "of" in spec]
        goals = sum(len(s.get("goals", {})) for s in raw.get("steps", []))
        tables[name] = {"tasks": len(raw["tasks"]), "goals_of_steps": goals, "joint_tasks": len(joints)}
    most = max(t["goals_of_steps"] for t in tables.values())
    return Finding(most, all(t["joint_tasks"] == 0 for t in tables.values()), tables)


def updates(lab: Lab) -> Finding:
    """Control updates per second of real time, physics included, in the slowest scene."""
    rates = {}
    for name in SCENES:
        take = lab.take(name)
        scene = load_scene(name)
        rates[name] = float(take.report["realtime_factor"]) * min(scene.control.rate, 1 / scene.timestep)
    return Finding(min(rates.values()), min(rates.values()) >= 60, rates)


def several_tasks(lab: Lab) -> Finding:
    """Lifting, reaching and throwing, each to its end."""
    done = {
        "lifting": bool(lab.take("lift").report["ok"]),
        "reaching": bool(lab.take("pendulum").recording.tasks["hand"]["error"][-1] < 0.01),
        "throwing": bool(lab.take("toss").report["ok"]),
    }
    return Finding(sum(done.values()), all(done.values()), done)


def feet_clamped(lab: Lab) -> Finding:
    return judge_feet([lab.take(name).recording for name in SCENES])


def judge_feet(recordings: list[Recording]) -> Finding:
    """How far the soles move over the ground in whole takes."""
    moved = {r.meta["name"]: float(np.ptp(sites(r, ["foot_l", "foot_r"]), axis=0).max()) for r in recordings}
    return Finding(1000 * max(moved.values()), max(moved.values()) < 0.003, moved)


def collisions(lab: Lab) -> Finding:
    """How deep props and floor overlap at any step of the lift, box set down again included."""
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
    """Both feet on the ground and both hands on the box: the acceleration that is planned, against what a step does.

    Beside it the acceleration that an open chain would have had under the same torques.
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
    """A force at the hand, and torques that move the hand the same way; and the force that does what a torque does."""
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
        "recorded motion helps to do several tasks: lifting, reaching, throwing",
        "figure 1",
        "3",
        "tasks",
        "`lift`, `pendulum` and `toss` come to their ends",
        several_tasks,
    ),
    Claim(
        "figure2.closed_loop",
        "with closed loops, constraints must be part of the dynamics",
        "figure 2; section 3.2",
        "",
        "%",
        "`lift`, box in the hands: acceleration planned against that of the next step; an open chain's is 10 times further off",
        closed_loop,
    ),
    Claim(
        "figure3.equivalent",
        "for every force at the hand there is a joint torque with the same effect, and the reverse",
        "figure 3; section 4.2",
        "",
        "",
        "plain MuJoCo, random force and torques: accelerations of the hand differ by (share)",
        equivalent_force,
    ),
    Claim(
        "general.freedoms",
        "the character is complex: 44 degrees of freedom",
        "section 5",
        "44",
        "",
        "count them in the model",
        freedoms,
    ),
    Claim(
        "general.compact",
        "a compact description commands each task; recorded postures complete it",
        "section 5",
        "",
        "goals",
        "the five scenes: most goals given by a script; no task names a joint",
        compact,
    ),
    Claim(
        "general.collisions",
        "collisions and contacts are detected and resolved by the simulation",
        "section 5",
        "",
        "mm",
        "`lift`: deepest overlap of anything at any step, below 5 mm",
        collisions,
    ),
    Claim(
        "general.clamped_feet",
        "ground contacts are clamps",
        "section 5",
        "",
        "mm",
        "the five scenes: largest movement of a sole in a whole take, below 3 mm",
        feet_clamped,
    ),
    Claim(
        "general.interactive",
        "simulation and control run at 60 or more updates a second",
        "section 5",
        "60",
        "1/s",
        "the five scenes on this machine: control updates per second of real time, slowest scene",
        updates,
    ),
)
