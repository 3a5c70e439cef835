"""The starfish: five soft arms around a middle, free to jump and turn (Kim & Pollard 2011, Figures 4 and 5)."""

from functools import lru_cache

import numpy as np

from manikin.characters import sdf
from manikin.characters.body_plan import Hinge, Z
from manikin.characters.catalog import Character
from manikin.characters.flesh import Bone, Plan
from manikin.characters.lathe import ball, ringed
from manikin.characters.sdf import Mesh
from manikin.characters.soft import soft

ARMS = 5
REACH, WAIST = 0.30, 0.095  # [m] from the middle to a tip, and to the notch between two arms
TIP = 0.040  # [m] how round the tips are
TOP, BELLY = 0.050, 0.030  # [m] above and below the rim


@lru_cache(maxsize=1)
def starfish_plan() -> Plan:
    """Lies flat on z = 0, arm 0 along x, the others counter-clockwise."""
    bones = [Bone("center", None, (0.0, 0.0, BELLY - 0.005), (0.0, 0.0, BELLY + 0.015))]
    for k in range(ARMS):
        out = np.array([np.cos(2 * np.pi * k / ARMS), np.sin(2 * np.pi * k / ARMS), 0.0])
        root, knee, tip = (_at(out, d) for d in (0.065, 0.165, 0.275))
        # a positive angle lifts the far end
        lift = tuple(float(v) for v in np.cross(out, Z))
        axis = (lift[0], lift[1], lift[2])
        hinges = (Hinge("lift", axis, -75, 75, 20), Hinge("swing", Z, -35, 35, 12))
        bones.append(Bone(f"arm_{k}", "center", root, knee, hinges))
        bones.append(Bone(f"tip_{k}", f"arm_{k}", knee, tip, (Hinge("lift", axis, -75, 75, 12),)))
    eyes = [("center", "dark", ball([0.052, side * 0.021, BELLY + TOP - 0.006], 0.0085)) for side in (1.0, -1.0)]
    return Plan(
        "starfish", tuple(bones), _surface(), 0.06, "free", ("coral", "white"), density=700.0,
        centre=(0.0, 0.0, BELLY), details=tuple(eyes), paint=_underside(),
        sites=tuple((f"end_{k}", f"tip_{k}", _at(np.array([np.cos(a), np.sin(a), 0.0]), REACH - 0.01))
                    for k, a in enumerate(2 * np.pi * np.arange(ARMS) / ARMS)),
    )  # fmt: skip


def _at(out: np.ndarray, distance: float) -> tuple[float, float, float]:
    x, y = distance * out[:2]
    return float(x), float(y), BELLY


_AROUND, _RINGS = 110, 17


def _outline(turn: np.ndarray) -> np.ndarray:
    """How far the rim is from the middle in each direction: round arms that melt into a round body."""
    shape = sdf.ball([0.0, 0.0, 0.0], WAIST - 0.01)
    for a in 2 * np.pi * np.arange(ARMS) / ARMS:
        out = np.array([np.cos(a), np.sin(a), 0.0])
        shape = shape.join(sdf.cone(0.05 * out, (REACH - TIP) * out, 0.062, TIP), 0.05)
    low, high = np.zeros(len(turn)), np.full(len(turn), 1.2 * REACH)
    ray = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    for _ in range(40):
        middle = 0.5 * (low + high)
        inside = shape.distance(middle[:, None] * ray) < 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


@lru_cache(maxsize=1)
def _surface() -> Mesh:
    """Rings from the middle of the belly over the rim to the middle of the back."""
    turn = 2 * np.pi * np.arange(_AROUND) / _AROUND
    rim = _outline(turn)
    slope = np.linspace(-np.pi / 2, np.pi / 2, _RINGS + 2)[1:-1]
    share = np.cos(slope)[:, None] ** 0.8
    distance = share * rim
    thin = 1.0 - 0.5 * distance / REACH
    lift = np.where(slope > 0, TOP * np.sin(np.abs(slope)), -BELLY * np.sin(np.abs(slope)) ** 0.6)[:, None]
    height = BELLY + lift * np.where(slope > 0, 1.0, 0.0)[:, None] * thin + lift * np.where(slope > 0, 0.0, 1.0)[:, None]
    rings = np.stack([distance * np.cos(turn), distance * np.sin(turn), height], axis=2)
    return ringed(rings, np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, BELLY + TOP]))


def _underside() -> np.ndarray:
    """The belly is pale."""
    mesh = _surface()
    down = mesh.normals[mesh.faces].mean(axis=1)[:, 2]
    return (down < -0.5).astype(np.int64)


def starfish(
    strength: float = 1.0, prefix: str = "", at: tuple[float, float, float] = (0, 0, 0), facing: float = 0.0
) -> Character:  # fmt: skip
    """Build the starfish. strength: scales every torque limit. at: where its middle lies [m]; facing: turn about z [rad]."""
    return soft(starfish_plan(), strength, prefix, at, facing)
