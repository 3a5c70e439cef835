"""The fish: it lies on its side and flaps in a plane (Kim & Pollard 2011, Figure 2)."""

from functools import lru_cache

import numpy as np
from scipy.interpolate import PchipInterpolator

from manikin.characters.body_plan import Hinge, Y
from manikin.characters.catalog import Character
from manikin.characters.flesh import Bone, Plan
from manikin.characters.lathe import ball, loft, vertex_normals
from manikin.characters.sdf import Mesh
from manikin.characters.soft import soft
from manikin.characters.sweep import tube
from manikin.characters.tets import Tets

# its back points along y, so that it bends up and down as it lies; half thickness of the trunk [m]
THICKNESS = 0.037
# along x [m]: half height (y) and half thickness (z)
_OUTLINE = np.array(
    [
        [-0.272, 0.000, 0.000], [-0.268, 0.050, 0.011], [-0.250, 0.066, 0.017], [-0.220, 0.060, 0.018],
        [-0.175, 0.042, 0.019], [-0.130, 0.040, 0.022], [-0.080, 0.052, 0.027], [0.000, 0.078, 0.035],
        [0.070, 0.086, 0.038], [0.130, 0.078, 0.036], [0.180, 0.062, 0.030], [0.220, 0.040, 0.022],
        [0.240, 0.022, 0.013], [0.248, 0.000, 0.000],
    ]
)  # fmt: skip
# [deg] range of every joint in either direction; flesh can follow when all of them bend at once
BEND = 38
# [rad] how far before the end of its range a joint's stop begins, and by how much the range was widened for it: a tail that
# loses contact is thrown against the stop at 9 rad/s
STOP, WIDER = 0.02, 0.01
CELLS = 13


@lru_cache(maxsize=1)
def fish_plan() -> Plan:
    """Lies along x, nose in front; its side touches z = 0."""

    def bone(name: str, parent: str | None, start: float, end: float, torque: float = 0.0, hard: float = np.inf) -> Bone:
        # a positive angle lifts the far end
        axis = Y if end < start else (0.0, -1.0, 0.0)
        hinges = (Hinge("bend", axis, -BEND, BEND, torque),) if parent else ()
        return Bone(name, parent, (start, 0.0, THICKNESS), (end, 0.0, THICKNESS), hinges, hard=hard)

    bones = (
        bone("trunk", None, -0.025, 0.04),
        bone("chest", "trunk", 0.04, 0.1, 12.0),
        bone("neck", "chest", 0.1, 0.165, 8.0),
        bone("head", "neck", 0.165, 0.225, 5.0),
        bone("waist", "trunk", -0.025, -0.09, 12.0),
        bone("stalk", "waist", -0.09, -0.165, 8.0),
        bone("tail", "stalk", -0.165, -0.235, 5.0, hard=1.2),
    )
    surface = _surface()
    eyes = []
    for side in (1.0, -1.0):
        eyes.append(("head", "white", ball([0.184, 0.0, THICKNESS + side * 0.0225], 0.0135)))
        eyes.append(("head", "dark", ball([0.187, 0.0, THICKNESS + side * 0.0305], 0.0078)))
    middle = surface.vertices[surface.faces].mean(axis=1)
    return Plan(
        "fish", bones, surface, _coarse(), "planar", ("sea", "coral"), density=800.0, young=2.5e4, damping=0.0005, even=0.0,
        margin=0.0, motor=1.2, stop=STOP, wider=WIDER,
        paint=(middle[:, 0] < -0.155).astype(np.int64), details=tuple(eyes),
        sites=(("nose", "head", (0.248, 0.0, THICKNESS)), ("fin", "tail", (-0.265, 0.0, THICKNESS))),
    )  # fmt: skip


def _coarse() -> Tets:
    x = np.linspace(_OUTLINE[0, 0] + 0.012, _OUTLINE[-1, 0] - 0.012, 2 * CELLS + 1)
    tall, thick = (PchipInterpolator(_OUTLINE[:, 0], _OUTLINE[:, k])(x)[:, None] for k in (1, 2))
    return tube(np.stack([x, 0 * x, 0 * x + THICKNESS], axis=1), tall * [0, 1, 0], thick * [0, 0, 1])


def _surface() -> Mesh:
    count = 60
    part = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, count))
    x = _OUTLINE[0, 0] + (_OUTLINE[-1, 0] - _OUTLINE[0, 0]) * (0.5 * part + 0.5 * np.linspace(0.0, 1.0, count))
    tall, thick = (PchipInterpolator(_OUTLINE[:, 0], _OUTLINE[:, k])(x) for k in (1, 2))
    tube = loft(np.stack([x, 0 * x, np.full_like(x, THICKNESS)], axis=1), tall, thick, around=28)
    points = tube.vertices.copy()
    # the tail is forked: its tips reach back
    back = np.clip((-0.16 - points[:, 0]) / 0.1, 0.0, 1.0)
    points[:, 0] -= 5.0 * back * (points[:, 1] ** 2 - 0.045**2 * back)
    return Mesh(points, tube.faces, vertex_normals(points, tube.faces))


def fish(strength: float = 1.0, prefix: str = "", at: tuple[float, float, float] = (0, 0, 0), facing: float = 0.0) -> Character:
    """Build the fish. strength: scales every torque limit. at: where its middle is [m]; facing: rotation about z [rad]."""
    return soft(fish_plan(), strength, prefix, at, facing)
