"""Kim & Pollard 2011, sections 4 and 5: flesh, surface, joints, root and flights of every scene with a soft character."""

from collections.abc import Sequence

import numpy as np

from manikin.characters.donut import donut_plan
from manikin.characters.fish import fish_plan
from manikin.characters.flesh import flesh_of
from manikin.characters.starfish import starfish_plan
from manikin.characters.tets import moments
from manikin.characters.worm import worm_plan
from manikin.drags import SMOOTH
from manikin.papers.claims import Change, Claim, Finding, Lab
from manikin.papers.kim2011.watch import Watched, longest_flight, watch

SCENES = ("worm", "fish", "starfish", "starfish_escape", "donut", "donut_seesaw")
G = 9.81


def seen(lab: Lab, scene: str) -> Watched:
    """A shipped scene, replayed and watched once."""
    return lab.once(("watched", scene), lambda: watch(lab.take(scene).recording))


def began(lab: Lab, scene: str) -> dict[str, float]:
    """Times [s] at which the steps of a scene began."""
    return {e["name"]: float(e["time"]) for e in lab.take(scene).recording.meta["events"]}


# --- flights


def judge_flight(watched: Watched) -> Finding:
    """While it touches nothing: how its centre of mass falls, and how angular momentum drifts.

    The scale of angular momentum is the same as the lamp's: the magnitudes of all bodies' contributions, added up. They are
    small in a jump without a spin. A more lenient scale is reported too: mass times take-off speed times half the length.
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
    """Largest overshoot over the end of the range, landings included."""
    worst = max(float(watched.beyond.max()), 0.0)
    return Finding(worst, worst <= SMOOTH, {"over_rad": worst})


def internal(lab: Lab, scenes: Sequence[str] = SCENES) -> Finding:
    """No actuator acts on the passive root, nothing pushes from outside, and plain MuJoCo arrives at the same."""
    root = max(float(seen(lab, name).root.max()) for name in scenes)
    pushes = sum(len(lab.take(name).recording.xfrc) for name in scenes)
    gaps = {name: seen(lab, name).difference for name in scenes}
    return Finding(root, root == 0 and not pushes and max(gaps.values()) == 0, {"pushes": pushes, "replay_difference": gaps})


def stops(lab: Lab, scenes: Sequence[str] = SCENES) -> Finding:
    """Largest overshoot over the limit that control keeps, which is where the stops of the joints begin."""
    most = {name: max(float(seen(lab, name).past.max()), 0.0) for name in scenes}
    parts = {name: float((seen(lab, name).past > SMOOTH).mean()) for name in scenes}
    worst = max(most.values())
    return Finding(worst, worst <= SMOOTH, {"past_rad": most, "part_of_time": parts})


def mass(lab: Lab) -> Finding:
    """Mass and centre of nodes and bones against those of the volume within the fine surface."""
    gaps = {}
    for plan in (worm_plan(), fish_plan(), starfish_plan(), donut_plan()):
        flesh_, (volume, first, _) = flesh_of(plan), moments(plan.surface)
        masses = np.concatenate([flesh_.mass, flesh_.bone_mass])
        points = np.concatenate([flesh_.tets.nodes, flesh_.bone_points])
        off = float(np.linalg.norm(masses @ points / masses.sum() - first / volume))
        gaps[plan.model] = max(abs(float(masses.sum()) / (plan.density * volume) - 1), off)
    return Finding(max(gaps.values()), max(gaps.values()) < 1e-8, gaps)


WIDER = Change(
    "ranges of the starfish 28, 15 and 32 degrees, of the fish 38 degrees; joints were flung beyond them",
    "the ranges end 0.02 rad (starfish) and 0.01 rad (fish) farther out, and stops begin 0.04 and 0.02 rad before their ends",
    "the ranges were widened until no joint left them; `soft.stops` and `drags.stops` measure against what control keeps",
)
SCALE = (
    Change(
        "drift relative to mass times take-off speed times half the length (a scale that is 6 to 20 times larger)",
        "relative to the sum of the magnitudes of the parts' angular momenta", "the stricter of the two",
    ),
)  # fmt: skip
_ALL = "the six scenes with soft characters, replayed in plain MuJoCo: "
CLAIMS: tuple[Claim, ...] = (
    Claim(
        "soft.flesh", "soft bodies follow the skeleton and stay whole", "section 4", "attach soft bodies to the skeleton", "x",
        _ALL + "smallest volume of a tetrahedron by that at rest; above 0.1", flesh,
    ),
    Claim(
        "soft.surface", "the fine surface touches and does not sink in", "section 4", "handling collisions", "mm",
        _ALL + "deepest vertex of the fine surface in the ground or in boxes; at most 5", surface,
    ),
    Claim(
        "soft.limits", "joints stay within their ranges", "section 5.1, Eq. 9", "always remain within", "rad",
        _ALL + "largest overshoot of a joint over the end of its range, at most 1e-3 (1 mrad is ours)", limits, "document",
        (Change("at most 0.05 rad, and above 1e-3 rad for at most 50 ms", "at most 1e-3 rad", "the stricter one"), WIDER),
    ),
    Claim(
        "soft.stops", "joints stay within the limit that control keeps", "section 5.1, Eq. 9", "always remain within", "rad",
        _ALL + "largest overshoot over the limit in Eq. 9, where a joint's stop begins, at most 1e-3 (1 mrad is ours)", stops,
        "document",
    ),
    Claim(
        "soft.mass", "the fine surface gives the mechanical properties of the body", "section 4",
        "the mechanical properties of the body", "x, m",
        "mass (relative) and centre of mass [m] of bones and nodes against the volume within the fine surface; below"
        " 1e-8", mass,
    ),
    Claim(
        "soft.internal", "the passive root is not actuated", "section 4", "no force is exerted on the character", "N, N m",
        _ALL + "largest actuation of the root; no pushes; replay to the last bit", internal, "document",
    ),
)  # fmt: skip
