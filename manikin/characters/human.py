"""The human: 47 degrees of freedom built from stature, mass and sex.

Skeleton and limits from body_plan, inertia from anthropometry (de Leva 1996), surface from figure. Left and right mirror
each other exactly. Collision bits: 1 ground, 2 props, 4 characters, 8 palms (for props that can be caught).
"""

import xml.etree.ElementTree as ET
from typing import Literal

import numpy as np

from manikin.characters import anthropometry, figure
from manikin.characters.body_plan import Segment, Sex, girth, skeleton
from manikin.characters.catalog import CHARACTERS, GROUND, HANDS, PROPS, REFERENCE_HEIGHT, Character
from manikin.characters.mjcf import child, element, mesh_asset

Feet = Literal["clamped", "contact"]

# Stiff welds: control on clamped feet fails with soft ones (at solimp 0.9 the figure tips over).
STIFF = {"solref": "0.004 1", "solimp": "0.995 0.999 0.001 0.5 2"}

# Soles. MuJoCo's contacts hold J qacc, not J qacc + Jdot qvel, so a still foot under a moving leg is lifted by Jdot qvel
# (up to 1 m/s^2 in a fast squat). A contact that yields a little under load (solimp 0.9) compensates for that; a stiffer one
# loses the ground every few steps, and a light foot off the ground is kicked by torques planned for a loaded one.
SOLE_FRICTION = 0.8
_SOLE_CONTACT = {
    "condim": 3, "friction": [SOLE_FRICTION, SOLE_FRICTION, 0.005, 0.0001, 0.0001],
    "solref": "0.006 1", "solreffriction": "0.004 1", "solimp": "0.9 0.9 0.001 0.5 2",
}  # fmt: skip

# collision capsules in statures, body frame, left side: from, to, radius, exponent of girth in the radius
_CAPSULES: dict[str, tuple[tuple[float, float, float], tuple[float, float, float], float, float]] = {
    "pelvis": ((0, -0.035, 0.005), (0, 0.035, 0.005), 0.060, 1.15),
    "lumbar": ((0, -0.030, 0.045), (0, 0.030, 0.045), 0.052, 1.7),
    "thorax": ((0.004, -0.040, 0.085), (0.004, 0.040, 0.085), 0.066, 1.15),
    "head": ((0.012, 0, 0.075), (0.012, 0, 0.108), 0.046, 0.0),
    "upper_arm": ((0, 0, -0.02), (-0.002, 0.004, -0.16), 0.026, 0.9),
    "forearm": ((0, 0.004, -0.02), (0.004, 0.004, -0.095), 0.018, 0.9),
    "hand": ((0, 0, -0.02), (0, 0, -0.075), 0.019, 0.0),
    "thigh": ((0, 0, -0.03), (0.002, 0.002, -0.20), 0.042, 1.0),
    "shank": ((0, 0, -0.02), (-0.008, 0, -0.20), 0.029, 0.9),
    "foot": ((-0.015, 0, -0.022), (0.055, 0.002, -0.026), 0.017, 0.0),
    "toes": ((0.004, -0.008, 0), (0.020, 0.004, 0), 0.011, 0.0),
}
# sole points under each foot, in statures, body frame (left): four under the foot, two under the toes
_SOLES = {
    "foot": ((-0.030, 0.021), (-0.030, -0.021), (0.062, 0.024), (0.062, -0.021)),
    "toes": ((0.028, 0.018), (0.034, -0.014)),
}
_SOLE_DEPTH = {"foot": 0.043, "toes": 0.012}
_SOLE_RADIUS = 0.006

# the palm as a box in statures, hand frame, left side (its palm faces -y): middle and half sizes
_PALM = ((0.003, -0.0014, -0.056), (0.031, 0.0117, 0.044))

# A figure's origin on the ground (`at` in scenes) lies this far [m, stature 1.75 m] ahead of the ankles, and as far behind the
# sites under the feet.
ORIGIN = 0.0175
# sites, metres for a stature of 1.75 m, body frame, left side. The hand's is the middle of the palm.
_SITES: dict[str, tuple[float, float, float]] = {
    "hand": (0.0, -0.022, -0.075),
    "foot": (2 * ORIGIN, 0.0, -0.07525),
    "head": (0.105, 0.0, 0.175),
}


def _collision(kind: str) -> dict[str, int]:
    # hands take no part in automatic collisions: they hold things by grips, not by friction
    return (
        {"contype": 0, "conaffinity": 0} if kind in ("hand", "foot", "toes") else {"contype": CHARACTERS, "conaffinity": PROPS}
    )


def human(
    height: float = REFERENCE_HEIGHT,
    mass: float = 75.0,
    sex: Sex = "neutral",
    feet: Feet = "clamped",
    strength: float = 1.0,
    locked: tuple[str, ...] = (),
    prefix: str = "",
    skin: bool = True,
) -> Character:
    """Build a human of `height` [m] and `mass` [kg].

    strength: scales every torque limit. locked: joints held at their first angle. skin: False leaves the shells out.
    """
    plan = skeleton(height, mass)
    inertia = anthropometry.inertials(plan, height, mass, sex)
    at = {s.name: s.at for s in plan}
    bulk = girth(height, mass)
    # torque grows with mass x stature, damping and rotor inertia with mass x stature^2
    lever = mass * height / (75.0 * REFERENCE_HEIGHT)
    spin = lever * height / REFERENCE_HEIGHT

    bodies: dict[str, ET.Element] = {}
    actuators: list[ET.Element] = []
    equalities: list[ET.Element] = []
    joints: list[str] = []
    for segment in plan:
        name = prefix + segment.name
        origin = segment.at - (at[segment.parent] if segment.parent else 0.0)
        body = element("body", name=name, pos=origin)
        if segment.parent:
            bodies[segment.parent].append(body)
        else:
            child(body, "freejoint", name=prefix + "root")
        bodies[segment.name] = body
        _add_hinges(body, segment, prefix, lever * strength, spin, joints, actuators)
        part = inertia[segment.name]
        child(body, "inertial", pos=part.centre, mass=part.mass, diaginertia=part.moments)
        _add_geoms(body, segment, prefix, height, bulk, feet)
        _add_sites(body, segment, prefix, height)

    assets: list[ET.Element] = []
    if skin:
        for k, shell in enumerate(figure.shells(height, mass, sex)):
            mesh = f"{prefix}{shell.body}_{k}"
            assets.append(mesh_asset(mesh, shell.vertices, shell.normals, shell.faces))
            child(
                bodies[shell.body], "geom", type="mesh", mesh=mesh, material=shell.material,
                contype=0, conaffinity=0, group=1, mass=0,
            )  # fmt: skip

    if feet == "clamped":
        for side in "lr":
            equalities.append(
                element("weld", name=f"{prefix}clamp_foot_{side}", body1=f"{prefix}foot_{side}", active=True, **STIFF)
            )
    contacts = []
    if feet == "contact":
        for body in bodies.values():
            for geom in body.findall("geom"):
                if "_sole_" in geom.get("name", ""):
                    contacts.append(element("pair", geom1="floor", geom2=geom.attrib["name"], **_SOLE_CONTACT))
    for joint in locked:
        equalities.append(element("joint", name=f"{prefix}lock_{joint}", joint1=prefix + joint, active=True, **STIFF))
    return Character(
        prefix=prefix,
        body=bodies["pelvis"],
        assets=tuple(assets),
        actuators=tuple(actuators),
        equalities=tuple(equalities),
        root=prefix + "pelvis",
        bodies=tuple(prefix + s.name for s in plan),
        joints=tuple(joints),
        hands=(prefix + "hand_l", prefix + "hand_r"),
        feet=(prefix + "foot_l", prefix + "foot_r"),
        contacts=tuple(contacts),
        soles=tuple((prefix + n, p) for n, p in _sole_points(height)),
        height=height,
    )


def _kind(name: str) -> tuple[str, float]:
    """'upper_arm_r' -> ('upper_arm', -1): the part without its side, and the sign of y on that side."""
    if name.endswith(("_l", "_r")):
        return name[:-2], 1.0 if name.endswith("_l") else -1.0
    return name, 1.0


def _add_hinges(
    body: ET.Element, segment: Segment, prefix: str, strength: float, spin: float,
    joints: list[str], actuators: list[ET.Element],
) -> None:  # fmt: skip
    kind, _ = _kind(segment.name)
    for hinge in segment.hinges:
        name = f"{prefix}{segment.name}_{hinge.motion}"
        light = 0.3 if kind in ("hand", "toes") or hinge.motion == "pronation" else 1.0
        child(
            body, "joint", name=name, type="hinge", axis=hinge.axis, range=np.deg2rad([hinge.low, hinge.high]),
            damping=0.3 * light * spin, armature=0.01 * light * spin,
        )  # fmt: skip
        limit = hinge.torque * strength
        actuators.append(element("motor", name=name, joint=name, ctrllimited=True, ctrlrange=[-limit, limit]))
        joints.append(name)


def _add_geoms(body: ET.Element, segment: Segment, prefix: str, height: float, bulk: float, feet: Feet) -> None:
    kind, side = _kind(segment.name)
    mirror = np.array([1.0, side, 1.0])
    if kind in _CAPSULES:
        start, end, radius, power = _CAPSULES[kind]
        child(
            body, "geom", name=f"{prefix}{segment.name}_capsule", type="capsule", size=radius * bulk**power * height,
            fromto=np.concatenate([start * mirror, end * mirror]) * height, mass=0, group=3, **_collision(kind),
        )  # fmt: skip
    if kind == "hand":
        middle, half = _PALM
        child(
            body, "geom", name=f"{prefix}{segment.name}_palm", type="box", size=np.array(half) * height, mass=0, group=3,
            pos=np.array(middle) * mirror * height, contype=HANDS, conaffinity=0, friction=[1.0, 0.005, 0.0001],
            priority=1, solref="0.004 1", solimp="0.95 0.99 0.001 0.5 2",
        )  # fmt: skip
    if feet == "contact" and kind in _SOLES:
        for k, (_, at) in enumerate(point for point in _sole_points(height) if point[0] == segment.name):
            child(
                body, "geom", name=f"{prefix}{segment.name}_sole_{k}", type="sphere", size=_SOLE_RADIUS * height,
                pos=np.array(at) + [0.0, 0.0, _SOLE_RADIUS * height], mass=0, group=3,
                contype=CHARACTERS, conaffinity=GROUND | PROPS, friction=[SOLE_FRICTION, 0.005, 0.0001],
            )  # fmt: skip


def _sole_points(height: float) -> list[tuple[str, tuple[float, float, float]]]:
    """Body and point [m, body frame] of the corners of both soles, on the ground when standing."""
    return [
        (f"{kind}_{side}", (x * height, (y if side == "l" else -y) * height, -_SOLE_DEPTH[kind] * height))
        for side in "lr"
        for kind, corners in _SOLES.items()
        for x, y in corners
    ]


def _add_sites(body: ET.Element, segment: Segment, prefix: str, height: float) -> None:
    kind, side = _kind(segment.name)
    if kind in _SITES:
        at = np.array(_SITES[kind]) * np.array([1.0, side, 1.0]) * height / REFERENCE_HEIGHT
        child(body, "site", name=prefix + segment.name, pos=at, size=0.01, group=4)
