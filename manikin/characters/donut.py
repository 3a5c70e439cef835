"""The donut: a soft ring on a closed chain of bones, rolling in a plane (Kim & Pollard 2011, Figures 1 and 4)."""

from functools import lru_cache

import numpy as np

from manikin.characters.body_plan import Hinge, Y
from manikin.characters.catalog import Character
from manikin.characters.flesh import Bone, Plan
from manikin.characters.lathe import rod, vertex_normals
from manikin.characters.sdf import Mesh
from manikin.characters.soft import soft
from manikin.characters.sweep import tube
from manikin.characters.tets import Tets

RING, TUBE = 0.17, 0.062
BONES = 8
BEND = 22.0  # [deg] in either direction: what the flesh withstands when the donut is thrown about


@lru_cache(maxsize=1)
def donut_plan() -> Plan:
    """Stands on its rim in the plane of x and z, its icing towards +y. Bone `ring_0` is at the bottom; the chain runs to
    +x and around, and the end of the last bone is held at the start of the first."""
    height = RING + TUBE
    angle = -np.pi / 2 + 2 * np.pi * (np.arange(BONES + 1) - 0.5) / BONES
    corner = [(RING * float(np.cos(a)), 0.0, height + RING * float(np.sin(a))) for a in angle]
    bend = Hinge("bend", Y, -BEND, BEND, 15)
    bones = [
        Bone(f"ring_{k}", f"ring_{k - 1}" if k else None, corner[k], corner[k + 1], (bend,) if k else ()) for k in range(BONES)
    ]
    surface, side = _surface(height)
    return Plan(
        "donut", tuple(bones), surface, _coarse(height), "planar", ("dough", "icing"), density=350.0,
        young=1e5, damping=0.0003, even=0.5, margin=0.0, motor=0.9, loop=(f"ring_{BONES - 1}", "ring_0"), paint=side,
        details=_sprinkles(height),
    )  # fmt: skip


def _sprinkles(height: float) -> tuple[tuple[str, str, Mesh], ...]:
    """Sugar on the icing, a few on each bone, scattered by the golden ratio."""
    out = []
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    for bone in range(BONES):
        for k, colour in enumerate(("white", "sea", "brass")):
            number = 3 * bone + k
            angle = -np.pi / 2 + 2 * np.pi * (bone - 0.35 + 0.35 * k) / BONES
            flank = np.pi / 2 + 1.3 * (golden * number % 1.0 - 0.5)
            away = np.array([np.cos(angle), 0.0, np.sin(angle)])
            normal = np.cos(flank) * away + np.sin(flank) * np.array([0.0, 1.0, 0.0])
            place = RING * away + [0.0, 0.0, height] + 1.01 * TUBE * normal
            first = np.cross(normal, away + 0.3)
            first /= np.linalg.norm(first)
            spin = 2 * np.pi * (golden * 7 * number % 1.0)
            along = np.cos(spin) * first + np.sin(spin) * np.cross(normal, first)
            out.append((f"ring_{bone}", colour, rod(place - 0.009 * along, place + 0.009 * along, 0.0034)))
    return tuple(out)


def _coarse(height: float) -> Tets:
    angle = -np.pi / 2 + 2 * np.pi * np.arange(2 * 2 * BONES + 1) / (2 * 2 * BONES)
    out = np.stack([np.cos(angle), 0 * angle, np.sin(angle)], axis=1)
    return tube(RING * out + [0.0, 0.0, height], TUBE * out, np.tile([0.0, TUBE, 0.0], (len(angle), 1)), closed=True)


def _surface(height: float) -> tuple[Mesh, np.ndarray]:
    """A torus, and which of its faces are iced: a wavy line runs around on both flanks."""
    around, across = 72, 26
    angle = 2 * np.pi * np.arange(around) / around
    # the columns follow the wave of the icing, so that its edge is smooth
    wave = 0.16 * np.sin(9 * angle) + 0.07 * np.sin(4 * angle + 1.0)
    section = 2 * np.pi * np.arange(across) / across
    bent = section[None] + wave[:, None] * np.cos(section)[None]
    radius = RING + TUBE * np.cos(bent)
    points = np.stack(
        [radius * np.cos(angle)[:, None], TUBE * np.sin(bent), height + radius * np.sin(angle)[:, None]], axis=2
    ).reshape(-1, 3)
    here = (np.arange(around)[:, None] * across + np.arange(across)).ravel()
    right = (np.arange(around)[:, None] * across + (np.arange(across) + 1) % across).ravel()
    ahead = ((np.arange(around)[:, None] + 1) % around * across + np.arange(across)).ravel()
    both = ((np.arange(around)[:, None] + 1) % around * across + (np.arange(across) + 1) % across).ravel()
    faces = np.concatenate([np.stack([here, both, ahead], axis=1), np.stack([here, right, both], axis=1)]).astype(np.int32)
    column = np.tile(np.tile(np.arange(across), around), 2)
    iced = ((column >= 2) & (column < across // 2 - 2)).astype(np.int64)
    return Mesh(points, faces, vertex_normals(points, faces)), iced


def donut(
    strength: float = 1.0, prefix: str = "", at: tuple[float, float, float] = (0, 0, 0), facing: float = 0.0
) -> Character:
    """Build the donut. strength: scales every torque limit. at: its place on the ground [m]; facing: rotation about z [rad]."""
    return soft(donut_plan(), strength, prefix, at, facing)
