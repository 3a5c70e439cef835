"""Abe & Popovic 2006, section 5 "Box Interaction": a heavy pendulum in place of the right hand."""

import tomllib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manikin.export.save import Take
from manikin.papers.abe2006.look import least_room, model_of
from manikin.papers.claims import Claim, Finding, Lab, unmeasured
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene

Array = NDArray[np.float64]

FREE = {"tasks.hand.max_force": 1e6}
# the swing of the scripted mouse is over, and the bob slow [s]
CALM = 5.0


def goal_height(recording: Recording) -> Array:
    """Height [m] of the hand's goal in each frame."""
    path = np.array(tomllib.loads(recording.meta["scene"])["steps"][0]["goals"]["hand"]["path"])
    return np.interp(recording.time, path[:, 0], path[:, 3])


def unactuated(lab: Lab) -> Finding:
    """The bob's joint has no motor, and the controller's equations contain it as one more passive joint."""
    run = build_run(load_scene("pendulum"), record=False)
    model = run.world.model
    mine = {int(d) for d in np.flatnonzero(model.body_rootid[model.dof_bodyid] == run.world.body("bob"))}
    driven = {int(model.jnt_dofadr[j]) for j in model.actuator_trnid[:, 0]}
    passive = {int(d) for d in run.world.dynamics().response().layout.passive}
    return Finding(len(mine & driven), not mine & driven and mine <= passive, {"passive_dofs": sorted(mine & passive)})


def arrives(lab: Lab) -> Finding:
    recording = lab.take("pendulum").recording
    error = float(recording.tasks["hand"]["error"][recording.time > CALM].max())
    return Finding(100 * error, error < 0.01)


def crouches(lab: Lab) -> Finding:
    return judge_crouch(lab.take("pendulum").recording)


def judge_crouch(recording: Recording) -> Finding:
    """The pelvis sinks at least 15 cm with the goal and comes back."""
    goal, pelvis = goal_height(recording), recording.qpos[:, 2]
    high = float(pelvis[(goal > 1.59) & (recording.time < 6)].max())
    low, end = float(pelvis[goal < 0.51].max()), float(pelvis[-1])
    return Finding(100 * (high - low), high - low > 0.15 and end > high - 0.02, {"high_m": high, "low_m": low, "end_m": end})


def balanced(lab: Lab) -> Finding:
    """Without any balance task: does the pressure under the clamped feet stay where feet could press?"""
    with_task = least_room(lab.take("pendulum").recording)
    alone = least_room(lab.take("pendulum", {"tasks.balance.active": False}).recording)
    return Finding(100 * alone, alone > 0, {"with_balance_task_cm": 100 * with_task})


def leaves(lab: Lab) -> Finding:
    return judge_leaving(lab.take("pendulum").recording)


def judge_leaving(recording: Recording) -> Finding:
    """The hand is away from its goal just while the force is at its limit and the bob is fast."""
    error, force = recording.tasks["hand"]["error"], recording.tasks["hand"]["force"]
    limit = float(np.nanmax(recording.tasks["hand"]["limit"]))
    dof = int(model_of(recording).joint("bob").dofadr[0])
    speed = np.linalg.norm(recording.qvel[:, dof + 3 : dof + 6], axis=1)
    away = np.flatnonzero(error > 0.05)
    if not len(away):
        return Finding(100 * float(error.max()), False, {"limit_N": limit})
    before = slice(max(away[0] - 12, 0), away[-1])
    at_limit = bool((force[before] > 0.99 * limit).any())
    fast = bool(speed[before].max() > 0.99 * speed.max())
    numbers = {"from_s": recording.time[away[0]], "to_s": recording.time[away[-1]], "force_N": force.max(), "limit_N": limit}
    return Finding(100 * float(error.max()), at_limit and fast and force.max() <= 1.001 * limit, numbers)


def returns(lab: Lab) -> Finding:
    error = lab.take("pendulum").recording.tasks["hand"]["error"]
    return Finding(1000 * float(error[-1]), bool(error[-1] < 0.001))


def _with_and_without(lab: Lab, changes: dict[str, Any]) -> tuple[Take, Take]:
    return lab.take("pendulum", changes), lab.take("pendulum", changes | {"props.bob.unknown": True})


def needs_dynamics(lab: Lab) -> Finding:
    known, unknown = _with_and_without(lab, {})
    return judge_dynamics(known.recording, unknown.recording)


def judge_dynamics(known: Recording, unknown: Recording) -> Finding:
    """Hand error after the swing with the bob left out of the controller's model, over that with it."""
    errors = [float(r.tasks["hand"]["error"][r.time > CALM].max()) for r in (known, unknown)]
    return Finding(errors[1] / errors[0], errors[1] > 5 * errors[0], {"known_m": errors[0], "unknown_m": errors[1]})


def without_limit(lab: Lab) -> Finding:
    recording = lab.take("pendulum", FREE).recording
    error, force = float(recording.tasks["hand"]["error"].max()), float(recording.tasks["hand"]["force"].max())
    return Finding(100 * error, error < 0.01, {"force_N": force})


def both_needed(lab: Lab) -> Finding:
    """Of limit and dynamics, leaving out either loses giving way or arriving."""
    gives, exact = leaves(lab), without_limit(lab)
    lost = needs_dynamics(lab)
    holds = bool(gives.holds and exact.holds and lost.holds)
    kinds = {"both_cm": gives.ours, "no_limit_cm": exact.ours, "no_dynamics_ratio": lost.ours}
    return Finding((gives.ours or 0.0) / max(exact.ours or 0.0, 1e-9), holds, kinds)


SOURCE = "section 5, Box Interaction"
CLAIMS = (
    Claim(
        "pendulum.unactuated",
        "the mass is modelled as a body part on a joint without motor",
        SOURCE,
        "",
        "motors",
        "`pendulum`: motors on the bob's joint; its freedoms among the passive ones of the controller's equations",
        unactuated,
    ),
    Claim(
        "pendulum.arrives",
        "stabilization brings the arm to the desired position",
        SOURCE,
        "",
        "cm",
        "`pendulum`: hand from its goal after the swing, at most; below 1 cm",
        arrives,
    ),
    Claim(
        "pendulum.crouch",
        "the posture goes along: crouched when the hand is low, upright when it is high",
        SOURCE,
        "",
        "cm",
        "`pendulum`: the pelvis sinks by, as the goal goes from 1.6 to 0.5 m, and is back at the end",
        crouches,
    ),
    Claim(
        "pendulum.balanced",
        "it appears balanced without any balance control",
        SOURCE,
        "no balance control",
        "cm",
        "`pendulum` with tasks.balance.active=false: least distance of the centre of pressure inside the soles",
        balanced,
    ),
    Claim(
        "pendulum.leaves",
        "while the pendulum's momentum is large the force limit keeps the arm from its goal",
        SOURCE,
        "",
        "cm",
        "`pendulum`: largest hand error, at the limit and while the bob is fastest",
        leaves,
    ),
    Claim(
        "pendulum.returns",
        "when it slows the goal is reached flawlessly",
        SOURCE,
        "flawless",
        "mm",
        "`pendulum`: hand error at the end, below 1 mm",
        returns,
    ),
    Claim(
        "pendulum.needs_dynamics",
        "such control is not possible without accounting for the object's dynamics",
        SOURCE,
        "",
        "x",
        "`pendulum` with props.bob.unknown=true: hand error after the swing over that with the bob known, above 5",
        needs_dynamics,
    ),
    Claim(
        "pendulum.no_limit",
        "without force limit the hand is always where it is wanted",
        SOURCE,
        "perfect",
        "cm",
        "`pendulum` without limit: largest hand error, below 1 cm",
        without_limit,
    ),
    Claim(
        "pendulum.both",
        "force limits and correct dynamics are both required",
        SOURCE,
        "",
        "x",
        "largest hand error with limit over that without; and the two claims above",
        both_needed,
    ),
    Claim(
        "pendulum.believable",
        "for the manipulation to be believable",
        SOURCE,
        "",
        "",
        "look at pendulum.png and pendulum.glb",
        lambda lab: unmeasured("for the eye to judge"),
    ),
)
