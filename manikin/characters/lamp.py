"""The lamp: a desk lamp of four rigid parts that hops on its foot (Kim & Pollard 2011, Figures 1 and 3).

Zero pose: upright, the shade looks along +x. The free root sits on the foot, the joints are named body + motion. Half a metre
tall, two kilograms, half of them in the foot.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np

from manikin.characters.body_plan import Hinge, X, Y, Z
from manikin.characters.catalog import CHARACTERS, GROUND, NEAR, PROPS, Character
from manikin.characters.lathe import arc, coil, joined, lathe, moved, rod
from manikin.characters.mjcf import child, element, mesh_asset
from manikin.characters.sdf import Mesh

# lengths [m]
FOOT_RADIUS, FOOT_HEIGHT = 0.085, 0.022
ANKLE, ARM = 0.046, 0.19
SHADE_RADIUS, SHADE_LENGTH = 0.068, 0.105
# contact points of the foot: small balls along its rim
RIM_POINTS, RIM_BALL = 8, 0.006


@dataclass(frozen=True)
class _Part:
    """One body: its parent, its position on that [m], its hinges, its mass [kg] and the capsule that it collides with."""

    name: str
    parent: str | None
    at: tuple[float, float, float]
    hinges: tuple[Hinge, ...]
    mass: float
    capsule: tuple[float, float, float, float, float, float, float] | None  # from, to, radius


_PARTS = (
    _Part("foot", None, (0.0, 0.0, 0.0), (), 1.05, None),
    _Part(
        "lower", "foot", (0.0, 0.0, ANKLE),
        (Hinge("yaw", Z, -170, 170, 8), Hinge("roll", X, -45, 45, 15), Hinge("pitch", Y, -95, 95, 20)),
        0.27, (0.0, 0.0, 0.03, 0.0, 0.0, ARM - 0.02, 0.014),
    ),
    _Part(
        "upper", "lower", (0.0, 0.0, ARM), (Hinge("pitch", Y, -10, 155, 20),),
        0.25, (0.0, 0.0, 0.02, 0.0, 0.0, ARM - 0.02, 0.014),
    ),
    _Part(
        "head", "upper", (0.0, 0.0, ARM), (Hinge("yaw", Z, -80, 80, 5), Hinge("pitch", Y, -110, 80, 8)),
        0.43, (-0.01, 0.0, 0.0, 0.055, 0.0, 0.0, 0.045),
    ),
)  # fmt: skip

# The time step [s] it is made for, roughly the inertia that each joint moves [kg m^2], and the gain of the servos relative to
# that which corrects a speed error in one step.
TIMESTEP = 0.001
INERTIA = {
    "lower_yaw": 0.0035, "lower_roll": 0.02, "lower_pitch": 0.02, "upper_pitch": 0.015, "head_yaw": 0.0018, "head_pitch": 0.0018
}  # fmt: skip
SERVO = 0.1
# a joint's stop acts this far [rad] before the end of its range: control keeps clear of it; it stops unexpected motion
STOP = {"margin": 0.02, "solreflimit": "0.003 1", "solimplimit": "0.95 0.99 0.001"}

# the pose it waits in [deg]: bent, looking ahead and a little down
START = {"lower_pitch": -38.0, "upper_pitch": 84.0, "head_pitch": -32.0}


def lamp(strength: float = 1.0, prefix: str = "", at: tuple[float, float, float] = (0, 0, 0), facing: float = 0.0) -> Character:
    """Build the lamp. strength: scales every torque limit. at: where its foot is [m]; facing: rotation about z [rad]."""
    bodies: dict[str, ET.Element] = {}
    actuators: list[ET.Element] = []
    assets: list[ET.Element] = []
    joints: list[str] = []
    surfaces = _surfaces()
    for part in _PARTS:
        body = element("body", name=prefix + part.name, pos=part.at)
        if part.parent:
            bodies[part.parent].append(body)
        else:
            body.attrib |= element("body", pos=at, euler=(0.0, 0.0, facing)).attrib
            child(body, "freejoint", name=prefix + "root")
        bodies[part.name] = body
        for hinge in part.hinges:
            name, limit = f"{prefix}{part.name}_{hinge.motion}", hinge.torque * strength
            child(
                body, "joint", name=name, type="hinge", axis=hinge.axis, range=np.deg2rad([hinge.low, hinge.high]),
                damping=0.01, armature=0.001, **STOP,
            )  # fmt: skip
            kv = SERVO * INERTIA[f"{part.name}_{hinge.motion}"] / TIMESTEP
            actuators.append(element("velocity", name=name, joint=name, kv=kv, forcerange=[-limit, limit]))
            joints.append(name)
        _add_contact(body, part, prefix)
        for k, (material, mesh) in enumerate(surfaces[part.name]):
            assets.append(mesh_asset(f"{prefix}{part.name}_{k}", mesh.vertices, mesh.normals, mesh.faces))
            child(
                body, "geom", type="mesh", mesh=f"{prefix}{part.name}_{k}", material=material,
                contype=0, conaffinity=0, group=1, mass=0,
            )  # fmt: skip
    child(bodies["head"], "site", name=prefix + "bulb", pos=[0.05, 0.0, 0.0], size=0.01, group=4)
    names = tuple(prefix + p.name for p in _PARTS)
    return Character(
        prefix=prefix,
        body=bodies["foot"],
        assets=tuple(assets),
        actuators=tuple(actuators),
        equalities=(),
        root=prefix + "foot",
        bodies=names,
        joints=tuple(joints),
        hands=(),
        feet=(prefix + "foot",),
        contacts=(),
        soles=tuple((prefix + "foot", (x, y, 0.0)) for x, y in _rim()),
        height=ANKLE + 2 * ARM + SHADE_RADIUS,
        model="lamp",
        root_joints=(prefix + "root",),
        start={prefix + joint: float(np.deg2rad(angle)) for joint, angle in START.items()},
        options={"integrator": "implicitfast", "cone": "elliptic", "impratio": "10"},
    )


def _rim() -> list[tuple[float, float]]:
    radius = FOOT_RADIUS - RIM_BALL
    angles = 2 * np.pi * np.arange(RIM_POINTS) / RIM_POINTS
    return [(radius * float(np.cos(t)), radius * float(np.sin(t))) for t in angles]


def _add_contact(body: ET.Element, part: _Part, prefix: str) -> None:
    """Contact geoms and mass. Their friction is zero: MuJoCo takes the larger of the two, so the ground decides."""
    touch = {
        "contype": CHARACTERS, "conaffinity": GROUND | PROPS, "friction": [0.0, 0.005, 0.0001], "mass": 0, "group": 3,
        "solref": "0.006 1", "solimp": "0.95 0.99 0.001 0.5 2", "solmix": 100,
        # contacts are detected within this distance, but push only on touch
        "gap": NEAR,
    }  # fmt: skip
    if part.capsule is None:
        # a disc: m r^2 / 4 about its diameters, m r^2 / 2 about its axis
        moments = part.mass * FOOT_RADIUS**2 * np.array([0.25, 0.25, 0.5])
        child(body, "inertial", pos=[0, 0, FOOT_HEIGHT / 2], mass=part.mass, diaginertia=moments)
        for k, (x, y) in enumerate(_rim()):
            for level, z in (("rim", RIM_BALL), ("top", FOOT_HEIGHT - RIM_BALL)):
                child(body, "geom", name=f"{prefix}foot_{level}_{k}", type="sphere", size=RIM_BALL, pos=[x, y, z], **touch)
        return
    start, end, radius = np.array(part.capsule[:3]), np.array(part.capsule[3:6]), part.capsule[6]
    length = float(np.linalg.norm(end - start)) + radius
    along = np.abs(end - start) / np.linalg.norm(end - start)
    slender, spin = part.mass * length**2 / 12 + part.mass * radius**2 / 4, part.mass * radius**2 / 2
    child(body, "inertial", pos=(start + end) / 2, mass=part.mass, diaginertia=slender + (spin - slender) * along)
    child(body, "geom", name=f"{prefix}{part.name}_hull", type="capsule", fromto=[*start, *end], size=radius, **touch)


# --- how it looks


def _surfaces() -> dict[str, list[tuple[str, Mesh]]]:
    """Material and surface of each body, in its own frame."""
    knuckle = lathe([[(0.0, -0.017), (0.0128, -0.017)], [(0.0128, -0.017), (0.0128, 0.017)], [(0.0128, 0.017), (0.0, 0.017)]])
    knuckle = Mesh(knuckle.vertices[:, [1, 2, 0]], knuckle.faces, knuckle.normals[:, [1, 2, 0]])
    caps = [
        lathe([[(0.0075, 0.0), *arc((0.005, 0.001), 0.0025, 0, 90, 5), (0.0, 0.0042)]], around=24) for _ in range(2)
    ]  # fmt: skip
    bolts = joined([_across(caps[0], 0.0168, 1.0), _across(caps[1], 0.0168, -1.0)])
    return {
        "foot": [("enamel", _base()), ("brass", lathe([[(0.0165, 0.021), (0.0125, ANKLE - 0.013), (0.011, ANKLE)]]))],
        "lower": [("enamel", knuckle), ("brass", joined([bolts, *_rods(0.0), _spring(0.02, 0.085)]))],
        "upper": [("enamel", knuckle), ("brass", joined([bolts, *_rods(0.0), _spring(0.025, 0.095)]))],
        "head": [
            ("enamel", joined([knuckle, _shade(outside=True)])), ("brass", bolts),
            ("bulb", _bulb()), ("shade", _shade(outside=False)),
        ],
    }  # fmt: skip


def _across(mesh: Mesh, y: float, side: float) -> Mesh:
    """A lathed piece with its axis along +y or -y, at that distance."""
    order, sign = ([1, 2, 0], np.array([1.0, 1.0, 1.0])) if side > 0 else ([0, 2, 1], np.array([1.0, -1.0, 1.0]))
    return moved(Mesh(mesh.vertices[:, order] * sign, mesh.faces, mesh.normals[:, order] * sign), [0.0, side * y, 0.0])


def _rods(low: float) -> list[Mesh]:
    return [rod([0.0, y, low], [0.0, y, ARM], 0.0042) for y in (-0.0125, 0.0125)]


def _spring(low: float, high: float) -> Mesh:
    return coil([0.0, 0.0, low], [0.0, 0.0, high], 0.0068, 0.0013, 11)


def _base() -> Mesh:
    """A heavy disc with a rounded rim and a gentle rise towards the post."""
    rim = 0.008
    side = [(FOOT_RADIUS - 0.004, 0.0), *arc((FOOT_RADIUS - rim, rim), rim, -60, 80, 10)]
    rise = [(r, 0.0158 + 0.0072 * float(np.exp(-((r / 0.038) ** 2)))) for r in np.linspace(FOOT_RADIUS - rim, 0.0, 16)]
    return lathe([[(0.0, 0.0), (FOOT_RADIUS - 0.004, 0.0)], [*side, *rise]], around=64)


def _outline(grow: float) -> list[tuple[float, float]]:
    """The shade's profile, radius over distance along its axis: a socket that opens into a bell."""
    along = np.linspace(0.0, 1.0, 26)
    bell = 0.021 + (SHADE_RADIUS - 0.021) * (1.0 - np.cos(np.pi * np.clip((along - 0.22) / 0.78, 0, 1) ** 0.85)) / 2
    return [(float(r) + grow, -0.022 + SHADE_LENGTH * float(a)) for r, a in zip(bell, along)]


def _shade(outside: bool) -> Mesh:
    if not outside:
        inner = _outline(-0.0016)
        return lathe([inner[::-1]], around=48, axis="x")
    outer = _outline(0.0)
    lip_r, lip_x = outer[-1]
    back = [(0.0, -0.036), (0.008, -0.0355), (0.0145, -0.033), (0.019, -0.028), outer[0]]
    lip = arc((lip_r - 0.0008, lip_x), 0.002, -10, 190, 8)
    return lathe([[*back, *outer[1:]], lip], around=48, axis="x")


def _bulb() -> Mesh:
    glass = [(0.0, 0.012), (0.011, 0.014), (0.0125, 0.024), *arc((0.0, 0.043), 0.021, -50, 90, 12)]
    return lathe([glass], around=32, axis="x")
