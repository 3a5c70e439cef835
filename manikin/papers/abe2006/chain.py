"""Abe & Popovic 2006, section 5 "Chain Interaction"."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manikin.papers.abe2006.look import KNEES, TRUNK, degrees, hinges, model_of, sites
from manikin.papers.claims import Change, Claim, Finding, Lab, unmeasured
from manikin.recording import Recording

Array = NDArray[np.float64]

FREQUENCIES = (0.7, 1.0, 1.6, 2.5, 4.0)
QUICK_FREQUENCIES = (0.7, 1.6, 4.0)


# the scene with a mouse that does not pull: what gaze and balance do on their own
UNTUGGED = {"tugs.mouse.path": [[0.5, 0.0, 0.0, 0.0], [4.5, 0.0, 0.0, 0.0]]}


def most_moved(tugged: Recording, untugged: Recording, joints: Sequence[str]) -> float:
    """The largest angle [deg] by which the tug rotates any of the joints."""
    return float(np.abs(degrees(tugged, joints) - degrees(untugged, joints)).max())


def hand_path(recording: Recording) -> Array:
    """Positions (T, 2, 3) [m] of both palms."""
    return sites(recording, ["hand_l", "hand_r"], 1)


def steady(lab: Lab) -> Finding:
    """The same tug with the hands' task and without it."""
    held, loose = lab.take("chain"), lab.take("chain", {"tasks.hands.active": False})
    return judge_steady(hand_path(held.recording), hand_path(loose.recording))


def judge_steady(held: Array, loose: Array) -> Finding:
    """While the chain is tugged the hands move less than half as far as they would; afterwards they are back in place."""
    moved, without = (float(np.linalg.norm(p - p[0], axis=2).max()) for p in (held, loose))
    end = float(np.linalg.norm(held[-1] - held[0], axis=1).max())
    numbers = {"without_task_cm": 100 * without, "end_mm": 1000 * end}
    return Finding(100 * moved, moved < 0.5 * without and end < 0.005, numbers)


def near_posture(lab: Lab) -> Finding:
    """The same tug with the posture task and without it; and what higher tasks ask of the first pose before the tug."""
    changes: tuple[dict[str, Any], ...] = ({}, {"tasks.posture.active": False}, UNTUGGED)
    kept, loose, untugged = (away_from_start(lab.take("chain", c).recording) for c in changes)
    return judge_posture(kept, loose, float(untugged[-1]))


def judge_posture(kept: Array, loose: Array, untugged: float) -> Finding:
    """Below 2 degrees when the tug is over, and never more than 20."""
    numbers = {"largest_deg": kept.max(), "without_task_deg": loose[-1], "untugged_deg": untugged}
    return Finding(float(kept[-1]), bool(kept[-1] < 2.0 and kept.max() < 20.0), numbers)


def away_from_start(recording: Recording) -> Array:
    """Joints from the first pose (T,) [deg], root mean square."""
    model = model_of(recording)
    joints = [int(model.jnt_qposadr[j]) for j in hinges(model)]
    gap = np.rad2deg(recording.qpos[:, joints] - recording.qpos[0, joints])
    return np.sqrt((gap**2).mean(axis=1))


def one_gain(lab: Lab) -> Finding:
    frequencies = lab.pick(QUICK_FREQUENCIES, FREQUENCIES)
    moved = [lab.take("chain", {"tasks.hands.frequency": f}, 5.0).report["hand_displacement"] for f in frequencies]
    return judge_gain(frequencies, moved)


def judge_gain(frequencies: Sequence[float], moved: Sequence[float]) -> Finding:
    """The same tug moves the hands less at each step of the gain."""
    holds = bool((np.diff(moved) < 0).all()) and moved[-1] > 0
    return Finding(moved[0] / moved[-1], holds, {"frequency_Hz": frequencies, "displacement_m": moved})


def _moved_by_the_tug(lab: Lab, joints: Sequence[str]) -> float:
    return most_moved(lab.take("chain").recording, lab.take("chain", UNTUGGED).recording, joints)


def reacts(lab: Lab) -> Finding:
    trunk = _moved_by_the_tug(lab, TRUNK)
    return Finding(trunk, trunk > 3)


def legs(lab: Lab) -> Finding:
    knees = _moved_by_the_tug(lab, KNEES)
    return Finding(knees, 1 < knees < 15)


SOURCE = "section 5, Chain Interaction"
SELF_MOVED = Change(
    "largest angle from where the joint began",
    "largest angle from a run whose mouse does not pull",
    "gaze and balance move these joints without any tug",
)
CLAIMS = (
    Claim(
        "chain.steady",
        "the character attempts to steady its hands while the chain's other end is tugged and pulled",
        SOURCE,
        "attempts to steady its hands",
        "cm",
        "`chain`: hands from their place, at most, while the chain is tugged: less than half of what it is with "
        "tasks.hands.active=false; below 5 mm when the tug is over",
        steady,
        changed=(
            Change(
                "below 5 mm when the tug is over; during it between 1 and 50 cm",
                "during the tug less than half of what it is without the task; below 5 mm when it is over",
                "the sentence is about the time of the tug, and the number that decided was taken after it",
            ),
        ),
    ),
    Claim(
        "chain.posture",
        "the secondary posture task keeps the character close to the initial posture",
        SOURCE,
        "close to the initial posture",
        "deg",
        "`chain`: joints from the first pose, rms, at the end below 2, at most 20; also without the posture task, and untugged",
        near_posture,
        changed=(
            Change(
                "at the end below 2 degrees, at most 20",
                "at the end less than half of what it is without the posture task",
                "3.4 degrees were seen: the first criterion had failed",
            ),
            Change(
                "at the end less than half of what it is without the posture task",
                "at the end below 2 degrees, at most 20",
                "the first criterion is restored: 'close' is about the posture, not about another run",
            ),
        ),
    ),
    Claim(
        "chain.gain",
        "one gain sets how strongly the character resists",
        SOURCE,
        "single gain parameter",
        "x",
        "`chain` with rising tasks.hands.frequency: displacement falls at each step; first divided by last",
        one_gain,
        bound="document",
    ),
    Claim(
        "chain.reacts",
        "unlike with kinematic techniques the character reacts to the motion of the chain",
        SOURCE,
        "reacts to the motion of the chain",
        "deg",
        "`chain`: largest angle by which the tug rotates a joint of the trunk, which no task asks for; at least 3",
        reacts,
        changed=(SELF_MOVED,),
    ),
    Claim(
        "chain.legs",
        "the motion of the legs is subtle but present",
        SOURCE,
        "the motion of the legs, while subtle",
        "deg",
        "`chain`: largest angle by which the tug bends a knee, between 1 and 15",
        legs,
        changed=(SELF_MOVED,),
    ),
    Claim(
        "chain.convincing",
        "which makes the portrayal convincing",
        SOURCE,
        "convincing portrayal",
        "",
        "look at chain.png and chain.glb",
        lambda lab: unmeasured("for the eye to judge"),
    ),
)
