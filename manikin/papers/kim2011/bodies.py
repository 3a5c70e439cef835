"""Kim & Pollard 2011, sections 4 and 5: what physics says to every scene with a soft character, and to its flights."""

from collections.abc import Sequence

import numpy as np

from manikin.checks import TOLERANCE
from manikin.drags import AFTER, SMOOTH, STRUCK
from manikin.papers.claims import Claim, Finding, Lab
from manikin.papers.kim2011.watch import Watched, longest_flight, watch

SCENES = ("worm", "fish", "starfish", "starfish_escape", "donut", "donut_seesaw")
G = 9.81


def seen(lab: Lab, scene: str) -> Watched:
    """A shipped scene, replayed and looked at once."""
    return lab.once(("watched", scene), lambda: watch(lab.take(scene).recording))


def began(lab: Lab, scene: str) -> dict[str, float]:
    """Times [s] at which the steps of a scene began."""
    return {e["name"]: float(e["time"]) for e in lab.take(scene).recording.meta["events"]}


# --- flights


def judge_flight(watched: Watched) -> Finding:
    """While it touches nothing: how its centre of mass falls, and how angular momentum drifts.

    The scale of angular momentum is what the take-off would give if it acted at the end of the body: mass times speed at
    take-off times half the length. A stricter one is told too: the sizes of all bodies' shares, added up. They are small in a
    jump without a spin, and cancel when limbs move alike.
    """
    steps = longest_flight(watched)
    if steps.stop - steps.start < 20:
        return Finding(None, False, {"steps": steps.stop - steps.start}, "it does not fly")
    time, speed, spin = watched.time[steps], watched.centre[steps], watched.spin[steps]
    fall = np.polyfit(time, speed, 1)[0]
    off = float(np.linalg.norm(fall - [0, 0, -G])) / G
    scale = watched.mass * float(np.linalg.norm(speed[0])) * watched.reach
    drift = float(np.linalg.norm(spin - spin[0], axis=1).max())
    numbers = {
        "acceleration_m_s2": fall, "off_g_percent": 100 * off, "seconds": time[-1] - time[0], "spin_scale": scale,
        "spin_drift": drift, "spin_drift_of_parts_percent": 100 * drift / float(watched.parts[steps].max()),
    }  # fmt: skip
    return Finding(100 * drift / scale, off < 0.01 and drift < 0.01 * scale, numbers)


# --- all of them


def flesh(lab: Lab, scenes: Sequence[str] = SCENES) -> Finding:
    least = {name: float(seen(lab, name).ratio.min()) for name in scenes}
    return Finding(min(least.values()), min(least.values()) > 0.1, least)


def surface(lab: Lab, scenes: Sequence[str] = SCENES) -> Finding:
    """The deepest vertex of a fine surface in the ground or in a box of a prop."""
    ground = {name: max(0.0, -float(seen(lab, name).lowest.min())) for name in scenes}
    props = {name: float(seen(lab, name).inside.max()) for name in scenes}
    deepest = max(*ground.values(), *props.values())
    return Finding(1000 * deepest, deepest <= 0.005, {"ground_m": ground, "props_m": props})


def limits(lab: Lab, scenes: Sequence[str] = SCENES) -> Finding:
    found = {name: judge_limits(seen(lab, name)) for name in scenes}
    worst = max(f.ours or 0.0 for f in found.values())
    return Finding(worst, all(f.holds for f in found.values()), {name: f.numbers for name, f in found.items()})


def judge_limits(watched: Watched) -> Finding:
    """Largest overshoot, and the longest time above what smooth motion may have."""
    over = watched.beyond > SMOOTH
    edges = np.flatnonzero(np.diff(np.concatenate([[False], over, [False]]).astype(int)))
    runs = (edges[1::2] - edges[::2]) * float(watched.time[1] - watched.time[0])
    longest, worst = float(runs.max(initial=0.0)), max(float(watched.beyond.max()), 0.0)
    return Finding(worst, worst <= STRUCK and longest <= AFTER, {"over_rad": worst, "longest_s": longest, "times": len(runs)})


def internal(lab: Lab, scenes: Sequence[str] = SCENES) -> Finding:
    """No actuator acts on the passive root, nothing pushes from outside, and plain MuJoCo comes to the same."""
    root = max(float(seen(lab, name).root.max()) for name in scenes)
    pushes = sum(len(lab.take(name).recording.xfrc) for name in scenes)
    gaps = {name: seen(lab, name).difference for name in scenes}
    same = max(gaps.values()) <= TOLERANCE
    return Finding(root, root == 0 and not pushes and same, {"pushes": pushes, "replay_difference": gaps})


_ALL = "the six scenes with soft characters, replayed in plain MuJoCo: "
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "soft.flesh", "soft bodies follow the skeleton and stay whole", "section 4", "", "x",
        _ALL + "smallest volume of a tetrahedron by that at rest; above 0.1", flesh,
    ),
    Claim(
        "soft.surface", "the fine surface touches and does not sink in", "section 4", "", "mm",
        _ALL + "deepest vertex of the fine surface in the ground or in boxes; at most 5", surface,
    ),
    Claim(
        "soft.limits", "joint limits are kept", "section 5.2, Eq. 9", "", "rad",
        _ALL + "largest overshoot, at most 0.05 rad, and above 0.001 rad for at most 50 ms at a time", limits,
    ),
    Claim(
        "soft.internal", "the passive root is not actuated", "sections 4 and 5.1", "0", "N, N m",
        _ALL + "largest actuation of the root; no pushes; the replay comes to the same", internal,
    ),
)  # fmt: skip
