"""The starfish: five soft arms around a middle, free to jump and rotate (Kim & Pollard 2011, Figures 4 and 5)."""

from functools import lru_cache

import numpy as np

from manikin.characters import sdf
from manikin.characters.body_plan import Hinge, Z
from manikin.characters.catalog import Character
from manikin.characters.flesh import Bone, Plan
from manikin.characters.lathe import ball, ringed
from manikin.characters.sdf import Mesh
from manikin.characters.soft import soft
from manikin.characters.sweep import Sweep
from manikin.characters.tets import Tets

ARMS = 5
REACH, NOTCH = 0.30, 0.118  # [m] from the middle to a tip, and to the notch between two arms
TIP = 0.040  # [m] how round the tips are
TOP, BELLY = 0.046, 0.038  # [m] above and below the rim
# [rad] how far before the end of its range a joint's stop begins, and by how much the range was widened for it: a tip that
# loses contact is thrown against the stop at 20 rad/s
STOP, WIDER = 0.04, 0.02


@lru_cache(maxsize=1)
def starfish_plan() -> Plan:
    """Lies flat on z = 0, arm 0 along x, the others counter-clockwise."""
    bones = [Bone("center", None, (0.0, 0.0, BELLY - 0.01), (0.0, 0.0, BELLY + 0.01), radius=0.05)]
    for k in range(ARMS):
        out = np.array([np.cos(2 * np.pi * k / ARMS), np.sin(2 * np.pi * k / ARMS), 0.0])
        root, knee, tip = (_at(out, d) for d in (0.08, 0.18, 0.28))
        # a positive angle lifts the far end
        lift = tuple(float(v) for v in np.cross(out, Z))
        axis = (lift[0], lift[1], lift[2])
        hinges = (Hinge("lift", axis, -28, 28, 20), Hinge("swing", Z, -15, 15, 12))
        bones.append(Bone(f"arm_{k}", "center", root, knee, hinges, hold=0.9))
        bones.append(Bone(f"tip_{k}", f"arm_{k}", knee, tip, (Hinge("lift", axis, -32, 32, 12),), hold=0.65, hard=0.9))
    eyes = [("center", "dark", ball([0.052, side * 0.021, BELLY + TOP - 0.006], 0.0085)) for side in (1.0, -1.0)]
    return Plan(
        "starfish", tuple(bones), _surface(), _coarse(), "free", ("coral", "white"), density=700.0, poisson=0.1,
        damping=0.0008, even=0.5, margin=-0.001, motor=0.1, core=0.022, stop=STOP, wider=WIDER,
        details=tuple(eyes), paint=_underside(),
        sites=tuple((f"end_{k}", f"tip_{k}", _at(np.array([np.cos(a), np.sin(a), 0.0]), REACH - 0.01))
                    for k, a in enumerate(2 * np.pi * np.arange(ARMS) / ARMS)),
    )  # fmt: skip


def _at(out: np.ndarray, distance: float) -> tuple[float, float, float]:
    x, y = distance * out[:2]
    return float(x), float(y), BELLY


def _coarse() -> Tets:
    """Five limbs of three cells on a prism with five flanks. Neighbours share the corners between them.

    The notches above and below, between the sides of two cells, stay open: tetrahedra that filled them would be flat, and
    flat tetrahedra are stiff and soon inverted.
    """
    sweep, up = Sweep(), np.array([0.0, 0.0, 1.0])
    low, high = 0.65 * BELLY, BELLY + 0.35 * TOP
    middle, top, bottom = (sweep.node([0.0, 0.0, z]) for z in (BELLY, BELLY + TOP, 0.0))
    notch = []
    for k in range(ARMS):
        a = 2 * np.pi * (k + 0.5) / ARMS
        notch.append([sweep.node([NOTCH * np.cos(a), NOTCH * np.sin(a), z]) for z in (low, high)])
    for k in range(ARMS):
        a = 2 * np.pi * k / ARMS
        out, side = np.array([np.cos(a), np.sin(a), 0.0]), np.array([-np.sin(a), np.cos(a), 0.0])
        right, left = notch[k - 1], notch[k]
        ring = (left[1], right[1], right[0], left[0])
        before, last, flank = ring, middle, (-1, -1, -1, -1)
        for j, (along, beyond) in enumerate(((0.125, 0.155), (0.185, 0.215), (0.245, 0.272))):
            wide, tall = 0.062 - 0.007 * j, 0.036 - 0.004 * j
            core = sweep.node(along * out + BELLY * up)
            after = sweep.ring(beyond * out + BELLY * up, 0.95 * wide * side, tall * up)
            sides = sweep.ring(along * out + BELLY * up, wide * side, tall * up, phase=0.5)
            sweep.between(last, core, before)
            sweep.cell(core, sides, before, after)
            for f in (1, 3):
                if flank[f] >= 0:
                    sweep.elements.append((flank[f], sides[f], before[f], before[(f + 1) % 4]))
            before, last, flank = after, core, sides
        sweep.between(last, sweep.node(REACH * out + BELLY * up), before)
    for k in range(ARMS):
        sweep.elements.append((middle, top, notch[k - 1][1], notch[k][1]))
        sweep.elements.append((middle, bottom, notch[k - 1][0], notch[k][0]))
    return sweep.mesh()


_AROUND, _RINGS = 150, 13


def _outline(angle: np.ndarray) -> np.ndarray:
    """How far the rim is from the middle in each direction: round arms that melt into a round body."""
    shape = sdf.ball([0.0, 0.0, 0.0], 0.085)
    for a in 2 * np.pi * np.arange(ARMS) / ARMS:
        out = np.array([np.cos(a), np.sin(a), 0.0])
        shape = shape.join(sdf.cone(0.05 * out, (REACH - TIP) * out, 0.062, TIP), 0.05)
    # all arms and both their sides alike: measure from the nearest arm
    off = np.abs((angle + np.pi / ARMS) % (2 * np.pi / ARMS) - np.pi / ARMS)
    low, high = np.zeros(len(angle)), np.full(len(angle), 1.2 * REACH)
    ray = np.stack([np.cos(off), np.sin(off), 0 * off], axis=1)
    for _ in range(40):
        middle = 0.5 * (low + high)
        inside = shape.distance(middle[:, None] * ray) < 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


@lru_cache(maxsize=1)
def _surface() -> Mesh:
    """Rings from the middle of the belly over the rim to the middle of the back."""
    angle = 2 * np.pi * np.arange(_AROUND) / _AROUND
    rim = _outline(angle)
    slope = np.linspace(-np.pi / 2, np.pi / 2, _RINGS + 2)[1:-1]
    distance = np.cos(slope)[:, None] ** 0.8 * rim
    thin = 1.0 - 0.3 * distance / REACH
    height = BELLY + np.where(slope > 0, TOP, BELLY)[:, None] * np.sin(slope)[:, None] * thin
    rings = np.stack([distance * np.cos(angle), distance * np.sin(angle), height], axis=2)
    return ringed(rings, np.array([0.0, 0.0, 0.0]), np.array([0.0, 0.0, BELLY + TOP]))


def _underside() -> np.ndarray:
    """The belly is pale."""
    faces = _surface().faces
    ring = np.where(faces == _RINGS * _AROUND, 0, faces // _AROUND).max(axis=1)
    pale: np.ndarray = (ring < _RINGS // 2 - 1).astype(np.int64)
    return pale


def starfish(
    strength: float = 1.0, prefix: str = "", at: tuple[float, float, float] = (0, 0, 0), facing: float = 0.0
) -> Character:  # fmt: skip
    """Build the starfish. strength: scales every torque limit. at: where its middle is [m]; facing: rotation about z [rad]."""
    return soft(starfish_plan(), strength, prefix, at, facing)
