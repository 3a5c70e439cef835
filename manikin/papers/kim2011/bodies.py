"""Kim & Pollard 2011, sections 4 and 5: what physics says to every scene with a soft character, and to its flights."""

from collections.abc import Sequence

import numpy as np

from manikin.drags import SMOOTH
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

    The scale of angular momentum is the same as the lamp's: the sizes of all bodies' shares, added up. They are small in a jump
    without a spin. A kinder one is told too: mass times speed at take-off times half the length.
    """
    steps = longest_flight(watched)
    if steps.stop - steps.start < 20:
        return Finding(None, False, {"steps": steps.stop - steps.start}, "it does not fly")
    time, speed, spin = watched.time[steps], watched.centre[steps], watched.spin[steps]
    fall = np.polyfit(time, speed, 1)[0]
    off = float(np.linalg.norm(fall - [0, 0, -G])) / G
    scale, kind = float(watched.parts[steps].max()), watched.mass * float(np.linalg.norm(speed[0])) * watched.reach
    drift = float(np.linalg.norm(spin - spin[0], axis=1).max())
    numbers = {
        "acceleration_m_s2": fall, "off_g_percent": 100 * off, "seconds": time[-1] - time[0], "spin_scale": scale,
        "spin_drift": drift, "spin_drift_of_mass_speed_length_percent": 100 * drift / kind,
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
    """Largest overshoot, landings included."""
    worst = max(float(watched.beyond.max()), 0.0)
    return Finding(worst, worst <= SMOOTH, {"over_rad": worst})


def internal(lab: Lab, scenes: Sequence[str] = SCENES) -> Finding:
    """No actuator acts on the passive root, nothing pushes from outside, and plain MuJoCo comes to the same."""
    root = max(float(seen(lab, name).root.max()) for name in scenes)
    pushes = sum(len(lab.take(name).recording.xfrc) for name in scenes)
    gaps = {name: seen(lab, name).difference for name in scenes}
    return Finding(root, root == 0 and not pushes and max(gaps.values()) == 0, {"pushes": pushes, "replay_difference": gaps})


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
        _ALL + "largest overshoot of a joint, at most 1e-3", limits,
    ),
    Claim(
        "soft.internal", "the passive root is not actuated", "sections 4 and 5.1", "0", "N, N m",
        _ALL + "largest actuation of the root; no pushes; replay to the last bit", internal,
    ),
)  # fmt: skip
