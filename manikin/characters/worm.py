"""The worm: a soft tube with seven bones that crawls in a plane (Kim & Pollard 2011, Figure 1)."""

from functools import lru_cache

import numpy as np

from manikin.characters.body_plan import Hinge
from manikin.characters.catalog import Character
from manikin.characters.flesh import Bone, Plan
from manikin.characters.lathe import ball, loft
from manikin.characters.sdf import Mesh
from manikin.characters.soft import soft
from manikin.characters.sweep import tube
from manikin.characters.tets import Tets

LENGTH, RADIUS = 0.64, 0.036
BONES, RINGS = 7, 11


@lru_cache(maxsize=1)
def worm_plan() -> Plan:
    """Lies along x, head in front; its belly touches z = 0."""
    reach = LENGTH / 2 - 0.025
    ends = np.linspace(-reach, reach, BONES + 1)
    middle = BONES // 2
    # the root is the middle bone; both halves hang on it, each bone from its end nearer to the middle
    bones = [Bone("middle", None, (ends[middle], 0.0, RADIUS), (ends[middle + 1], 0.0, RADIUS))]
    for side, sign in (("front", 1), ("back", -1)):
        # a positive angle lifts the far end
        bend = Hinge("bend", (0.0, -1.0 * sign, 0.0), -40, 40, 4)
        for k in range(1, middle + 1):
            near = middle + k if sign > 0 else middle - k + 1
            parent = f"{side}_{k - 1}" if k > 1 else "middle"
            place, end = (ends[near], 0.0, RADIUS), (ends[near + sign], 0.0, RADIUS)
            bones.append(Bone(f"{side}_{k}", parent, place, end, (bend,), hard=1.0 if k == middle else np.inf))
    eyes = []
    for y in (1.0, -1.0):
        eyes.append(("white", ball([0.284, y * 0.018, RADIUS + 0.0235], 0.0105)))
        eyes.append(("dark", ball([0.2890, y * 0.0195, RADIUS + 0.0275], 0.0063)))
    last = f"front_{middle}"
    return Plan(
        "worm", tuple(bones), _surface(), worm_tube(), "planar", ("rose",), density=800.0, damping=0.0005, even=0.5,
        margin=-0.0005, motor=0.8, servo=0.8, core=0.026, stop=0.01,
        details=tuple((last, colour, eye) for colour, eye in eyes),
        sites=(("head", last, (LENGTH / 2, 0.0, RADIUS)), ("tail", f"back_{middle}", (-LENGTH / 2, 0.0, RADIUS))),
    )  # fmt: skip


def worm_tube(cells: int = 14) -> Tets:
    """The coarse mesh of the worm: 24 tetrahedra for each cell along it."""
    x = np.linspace(-LENGTH / 2 + 0.012, LENGTH / 2 - 0.012, 2 * cells + 1)
    size = np.full((len(x), 1), RADIUS)
    return tube(np.stack([x, 0 * x, 0 * x + RADIUS], axis=1), size * [0, 1, 0], size * [0, 0, 1])


def _surface() -> Mesh:
    """A tube with gentle rings, round ends, and a tail that is a little thinner."""
    t = np.linspace(0.0, 1.0, 62)
    x = -LENGTH / 2 * np.cos(np.pi * t)
    round_end = np.sqrt(np.clip(1 - np.clip((np.abs(x) - LENGTH / 2 + 0.05) / 0.05, 0, 1) ** 2, 0, 1))
    taper = 0.88 + 0.12 * np.clip((x + LENGTH / 2) / 0.3, 0, 1)
    ripple = 1.0 + 0.035 * np.cos(2 * np.pi * RINGS * (x / LENGTH))
    radius = RADIUS * round_end * taper * ripple
    return loft(np.stack([x, 0 * x, np.full_like(x, RADIUS)], axis=1), radius, radius, around=28)


def worm(strength: float = 1.0, prefix: str = "", at: tuple[float, float, float] = (0, 0, 0), facing: float = 0.0) -> Character:
    """Build the worm. strength: scales every torque limit. at: where its middle is [m]; facing: rotation about z [rad]."""
    return soft(worm_plan(), strength, prefix, at, facing)
