"""The human's skeleton as a table: bodies, joints, joint and torque limits, all from stature, mass and sex.

Joint heights follow Drillis & Contini 1966 (shoulder 0.818, elbow 0.630, wrist 0.485, hip 0.530, knee 0.285, ankle 0.039 of
stature), joint ranges the usual goniometric norms (American Academy of Orthopaedic Surgeons 1965). Torque limits are ceilings
that no body exceeds, about twice what record lifts show (988 N m at L4/L5, Cholewicki, McGill & Norman 1991); everyday
strength is a matter of task-space force limits (Abe & Popovic 2006, section 4.2) and of `strength`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Sex = Literal["neutral", "female", "male"]

# allowed stature [m] and mass [kg] of a human
HEIGHT_RANGE = (1.2, 2.2)
MASS_RANGE = (25.0, 200.0)

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Hinge:
    """One degree of freedom. `axis` in world axes, standing; right-hand rule for a positive angle."""

    motion: str
    axis: tuple[float, float, float]
    low: float  # [deg]
    high: float  # [deg]
    torque: float  # largest torque [N m] of a 75 kg, 1.75 m body


@dataclass(frozen=True)
class Segment:
    """One body: its name, parent, the centre of its joint (world axes, standing, metres) and its hinges."""

    name: str
    parent: str | None
    at: NDArray[np.float64]  # (3,) [m]
    hinges: tuple[Hinge, ...]


def _neg(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    return (-axis[0], -axis[1], -axis[2])


# name: parent, joint centre in statures (left side), hinges in order from the parent.
# The order flexion, abduction, rotation puts the singular pose of hip and shoulder at 90 degrees of abduction.
_TRUNK: dict[str, tuple[str | None, tuple[float, float, float], tuple[Hinge, ...]]] = {
    "pelvis": (None, (0.0, 0.0, 0.530), ()),
    "lumbar": (
        "pelvis",
        (-0.008, 0.0, 0.578),
        (Hinge("flexion", Y, -25, 55, 2000), Hinge("bending", X, -30, 30, 800), Hinge("rotation", Z, -30, 30, 400)),
    ),
    "thorax": (
        "lumbar",
        (-0.012, 0.0, 0.668),
        (Hinge("flexion", Y, -20, 40, 1700), Hinge("bending", X, -25, 25, 800), Hinge("rotation", Z, -35, 35, 400)),
    ),
    "head": (
        "thorax",
        (-0.012, 0.0, 0.842),
        (Hinge("flexion", Y, -60, 60, 120), Hinge("bending", X, -35, 35, 100), Hinge("rotation", Z, -70, 70, 60)),
    ),
}
_SIDE: dict[str, tuple[str, tuple[float, float, float], tuple[Hinge, ...]]] = {
    "clavicle_l": (
        "thorax",
        (-0.004, 0.015, 0.820),
        (Hinge("elevation", X, -10, 35, 500), Hinge("protraction", _neg(Z), -20, 30, 500)),
    ),
    "upper_arm_l": (
        "clavicle_l",
        (-0.010, 0.113, 0.812),
        (
            Hinge("flexion", _neg(Y), -60, 175, 500),
            Hinge("abduction", X, -35, 150, 400),
            Hinge("rotation", _neg(Z), -90, 90, 250),
        ),
    ),
    "forearm_l": (
        "upper_arm_l",
        (-0.012, 0.117, 0.632),
        (Hinge("flexion", _neg(Y), -3, 150, 300), Hinge("pronation", _neg(Z), -90, 90, 100)),
    ),
    "hand_l": (
        "forearm_l",
        (-0.004, 0.118, 0.486),
        (Hinge("flexion", _neg(X), -70, 75, 100), Hinge("deviation", _neg(Y), -35, 25, 100)),
    ),
    "thigh_l": (
        "pelvis",
        (0.0, 0.050, 0.520),
        (
            Hinge("flexion", _neg(Y), -25, 135, 1500),
            Hinge("abduction", X, -30, 60, 800),
            Hinge("rotation", _neg(Z), -45, 45, 500),
        ),
    ),
    "shank_l": ("thigh_l", (0.002, 0.052, 0.283), (Hinge("flexion", Y, -3, 155, 900),)),
    "foot_l": (
        "shank_l",
        (-0.010, 0.053, 0.043),
        (Hinge("flexion", _neg(Y), -50, 45, 700), Hinge("inversion", _neg(X), -35, 35, 300)),
    ),
    "toes_l": ("foot_l", (0.066, 0.056, 0.012), (Hinge("flexion", Y, -60, 30, 120),)),
}


def girth(height: float, mass: float) -> float:
    """How thick the body is for its stature: 1 for the reference build, by volume ~ girth^2 height^3."""
    return float(np.sqrt(mass / (13.06 * height**3)))


def mirrored(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    """A hinge axis reflected in the plane y = 0 so that the same angle gives the mirrored pose (axial vector)."""
    return (-axis[0], axis[1], -axis[2])


def skeleton(height: float, mass: float) -> tuple[Segment, ...]:
    """All bodies, parents before children, joint centres in metres in the standing zero pose.

    The shoulders and hips of heavy builds move outwards with girth^0.4, or the limbs would sink into the trunk.
    """
    wide = max(1.0, girth(height, mass)) ** 0.4

    def place(name: str, at: tuple[float, float, float], side: float) -> NDArray[np.float64]:
        outward = 0.0 if name in _TRUNK or name.startswith("clavicle") else (wide - 1.0)
        base = 0.113 if name.split("_")[0] in ("upper", "forearm", "hand") else 0.050
        return np.array([at[0], side * (at[1] + base * outward), at[2]]) * height

    segments = [Segment(n, p, place(n, at, 1.0), hinges) for n, (p, at, hinges) in _TRUNK.items()]
    for names in (("clavicle_l", "upper_arm_l", "forearm_l", "hand_l"), ("thigh_l", "shank_l", "foot_l", "toes_l")):
        for side, letter in ((1.0, "l"), (-1.0, "r")):
            for name in names:
                parent, at, hinges = _SIDE[name]
                if letter == "r":
                    hinges = tuple(Hinge(h.motion, mirrored(h.axis), h.low, h.high, h.torque) for h in hinges)
                    parent = parent[:-1] + "r" if parent.endswith("_l") else parent
                segments.append(Segment(name[:-1] + letter, parent, place(name, at, side), hinges))
    return tuple(segments)


def joint_names() -> tuple[str, ...]:
    """The 41 hinges in DOF order."""
    return tuple(f"{s.name}_{h.motion}" for s in skeleton(1.75, 75.0) for h in s.hinges)
