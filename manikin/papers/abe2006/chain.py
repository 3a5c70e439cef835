"""Abe & Popovic 2006, section 5 "Chain Interaction"."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from manikin.papers.abe2006.look import KNEES, TRUNK, degrees, hinges, model_of
from manikin.papers.claims import Claim, Finding, Lab, unmeasured
from manikin.recording import Recording

Array = NDArray[np.float64]

FREQUENCIES = (0.7, 1.0, 1.6, 2.5, 4.0)
QUICK_FREQUENCIES = (0.7, 1.6, 4.0)


def most_moved(recording: Recording, joints: Sequence[str]) -> float:
    """The largest turn [deg] of any of the joints from where it began."""
    angles = degrees(recording, joints)
    return float(np.abs(angles - angles[0]).max())


def steady(lab: Lab) -> Finding:
    return judge_steady(lab.take("chain").recording)


def judge_steady(recording: Recording) -> Finding:
    """The hands are moved by the tug and come back when it is over."""
    error = recording.tasks["hands"]["error"]
    return Finding(1000 * float(error[-1]), bool(error[-1] < 0.005 < 0.01 < error.max() < 0.5), {"largest_m": error.max()})


def near_posture(lab: Lab) -> Finding:
    """The same tug with the posture task and without it."""
    kept = away_from_start(lab.take("chain").recording)
    loose = away_from_start(lab.take("chain", {"tasks.posture.active": False}).recording)
    return Finding(
        float(kept[-1]), bool(kept[-1] < 0.5 * loose[-1]), {"largest_deg": kept.max(), "without_task_deg": loose[-1]}
    )


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
    """The same tug moves the hands less with each step of the gain."""
    holds = bool((np.diff(moved) < 0).all()) and moved[-1] > 0
    return Finding(moved[0] / moved[-1], holds, {"frequency_Hz": frequencies, "displacement_m": moved})


def reacts(lab: Lab) -> Finding:
    recording = lab.take("chain").recording
    trunk = most_moved(recording, TRUNK)
    return Finding(trunk, trunk > 3, {"hands_m": recording.tasks["hands"]["error"].max()})


def legs(lab: Lab) -> Finding:
    knees = most_moved(lab.take("chain").recording, KNEES)
    return Finding(knees, 1 < knees < 15)


SOURCE = "section 5, Chain Interaction"
CLAIMS = (
    Claim(
        "chain.steady",
        "stabilization keeps the hands in place while the chain's other end is tugged",
        SOURCE,
        "",
        "mm",
        "`chain`: hands from their place when the tug is over, below 5 mm; during it they give way",
        steady,
    ),
    Claim(
        "chain.posture",
        "the secondary posture task keeps the body near its first posture",
        SOURCE,
        "",
        "deg",
        "`chain`: joints from the first pose at the end, rms; less than half of what it is with tasks.posture.active=false",
        near_posture,
    ),
    Claim(
        "chain.gain",
        "one gain sets how strongly the character resists",
        SOURCE,
        "",
        "x",
        "`chain` with rising tasks.hands.frequency: displacement falls at each step; first by last",
        one_gain,
    ),
    Claim(
        "chain.reacts",
        "unlike in kinematic methods the character reacts to the chain",
        SOURCE,
        "",
        "deg",
        "`chain`: largest turn of the trunk, which no task asks for, at least 3",
        reacts,
    ),
    Claim(
        "chain.legs",
        "the motion of the legs is subtle, and there",
        SOURCE,
        "subtle",
        "deg",
        "`chain`: largest turn of the knees, between 1 and 15",
        legs,
    ),
    Claim(
        "chain.convincing",
        "which makes the portrayal convincing",
        SOURCE,
        "",
        "",
        "look at chain.png and chain.glb",
        lambda lab: unmeasured("for the eye to judge"),
    ),
)
