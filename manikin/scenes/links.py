"""Props made of links: a chain of ball joints, and a heavy bob on a light rod. Abe & Popovic 2006, section 5.

Both hang straight down from their first end, which is the origin of their first body, unless they are rotated.
"""

import itertools
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manikin.characters.mjcf import child
from manikin.spatial import quat_conjugate, quat_from_axis_angle, quat_multiply, rotate

Array = NDArray[np.float64]

DOWN = np.array([0.0, 0.0, -1.0])
# rotor inertia of a chain's joints [kg m^2]: keeps light links stable
ARMATURE = 2e-4


def link_name(prop: str, link: int) -> str:
    """'chain' for the first link, then 'chain_1', 'chain_2', ..."""
    return prop if link == 0 else f"{prop}_{link}"


def add_chain(
    assets: ET.Element, first: ET.Element, name: str, size: tuple[float, ...], mass: float, links: int, damping: float,
    fixed: bool, touch: dict[str, Any],
) -> None:  # fmt: skip
    """Links with ball joints between them. Drawn as rings, every other one rotated by 90 degrees; capsules for contact."""
    thick, length = size[0], size[1] / links
    _add_ring(assets, f"{name}_ring", length, thick)
    # only the hand holds the first link
    if not fixed:
        child(first, "joint", name=name, type="free", damping=damping)
    body = first
    for k in range(links):
        if k:
            body = child(body, "body", name=link_name(name, k), pos=[0, 0, -length])
            child(body, "joint", name=link_name(name, k), type="ball", damping=damping, armature=ARMATURE)
        child(
            body, "geom", name=link_name(name, k), type="capsule", fromto=[0, 0, 0, 0, 0, -length], size=thick,
            mass=mass / links, group=3, **touch,
        )  # fmt: skip
        child(
            body, "geom", type="mesh", mesh=f"{name}_ring", euler=[0, 0, np.pi / 2 * (k % 2)], rgba=touch["rgba"],
            mass=0, contype=0, conaffinity=0, group=1,
        )  # fmt: skip
        child(body, "site", name=link_name(name, k), size=0.01, group=4)
    child(body, "site", name=f"{name}_end", pos=[0, 0, -length], size=0.01, group=4)


def add_pendulum(
    body: ET.Element, name: str, size: tuple[float, ...], mass: float, damping: float, fixed: bool, touch: dict[str, Any]
) -> None:  # fmt: skip
    """A bob on a massless rod."""
    radius, length = size
    if fixed:
        child(body, "joint", name=name, type="ball", damping=damping)
    else:
        child(body, "joint", name=name, type="free", damping=damping)
    rod = min(0.012, 0.25 * radius)
    child(
        body, "geom", name=f"{name}_rod", type="capsule", fromto=[0, 0, 0, 0, 0, -length], size=rod, mass=0, contype=0,
        conaffinity=0, rgba=touch["rgba"],
    )  # fmt: skip
    child(body, "geom", name=name, type="sphere", pos=[0, 0, -length], size=radius, mass=mass, **touch)
    child(body, "site", name=name, size=0.01, group=4)
    child(body, "site", name=f"{name}_end", pos=[0, 0, -length], size=0.01, group=4)


def _add_ring(assets: ET.Element, name: str, length: float, thick: float, along: int = 28, around: int = 10) -> None:
    """The ring of one link: a round wire along a stadium curve, a wire's thickness longer than the link at both ends."""
    wide = max(2.2 * thick, 0.22 * length)
    straight = max(length + thick - 2 * wide, 0.0)
    phase = np.linspace(0, 2 * np.pi, along, endpoint=False)
    out = np.stack([np.cos(phase), np.zeros(along), np.sin(phase)], axis=1)
    middle = np.array([0.0, 0.0, -length / 2])
    centres = middle + wide * out + 0.5 * straight * np.sign(out[:, 2:3]) * [0.0, 0.0, 1.0]
    roll = np.linspace(0, 2 * np.pi, around, endpoint=False)
    normals = np.cos(roll)[None, :, None] * out[:, None] + np.sin(roll)[None, :, None] * np.array([0.0, 1.0, 0.0])
    vertices = centres[:, None] + thick * normals
    faces = []
    for a in range(along):
        for r in range(around):
            b, s = (a + 1) % along, (r + 1) % around
            p, q, u, v = a * around + r, a * around + s, b * around + r, b * around + s
            faces += [[p, q, v], [p, v, u]]
    child(
        assets, "mesh", name=name, inertia="shell", vertex=vertices.ravel(), normal=normals.ravel(),
        face=np.array(faces).ravel(),
    )  # fmt: skip


# --- the initial shape of a chain


def lay_out(holds: list[tuple[int, Array]], links: int, length: float, rotation: Array) -> tuple[Array, Array]:
    """The start of the first link (3,) and the orientations of all links (links, 4) that put some of them at given places.

    holds: (link, place). Both ends hang (the last one rotated by the quaternion `rotation`); between two holds the links lie
    on an arc that sags, and a link with two holds points from the first to the second. Raises ValueError when two holds are
    further apart than the links between them reach.
    """
    directions = np.tile(rotate(rotation, DOWN), (links, 1))
    held = sorted(holds, key=lambda hold: hold[0])
    first, place = held[0]
    directions[:first] = -DOWN
    for (one, here), (two, there) in itertools.pairwise(held):
        directions[one : max(two, one + 1)] = _arc(here, there, max(two - one, 1), length)
    start = place - length * directions[:first].sum(axis=0)
    quats = np.empty((links, 4))
    before, quat = rotate(rotation, DOWN), rotation
    for k in range(links):
        # no twist: each link by the smallest rotation from the one before
        quat = quat_multiply(_smallest_rotation(before, directions[k]), quat)
        quats[k], before = quat / np.linalg.norm(quat), directions[k]
    return start, quats


def relative(quats: Array) -> Array:
    """Orientations of links (n, 4), each relative to the link before it; the first is absolute."""
    return np.array([quats[0], *(quat_multiply(quat_conjugate(a), b) for a, b in itertools.pairwise(quats))])


def _arc(start: Array, end: Array, links: int, length: float) -> Array:
    """Directions (links, 3) of equal chords of a circle that sags from one place to another."""
    span = end - start
    distance = float(np.linalg.norm(span))
    if distance > links * length * (1 + 1e-9):
        raise ValueError(f"{links} links of {length:.3g} m reach {links * length:.3g} m, the hands are {distance:.3g} m apart")
    ahead = span / distance if distance > 1e-9 else np.array([1.0, 0.0, 0.0])
    side = np.cross(ahead, DOWN)
    if np.linalg.norm(side) < 1e-6:
        side = np.cross(ahead, [1.0, 0.0, 0.0])
    down = np.cross(side / np.linalg.norm(side), ahead)
    # chords with angles `bend` between them span sin(n bend / 2) / sin(bend / 2) lengths: the bend that spans the distance
    low, high = 1e-9, 2 * np.pi / links
    for _ in range(60):
        bend = (low + high) / 2
        spans = np.sin(links * bend / 2) / np.sin(bend / 2)
        low, high = (bend, high) if spans * length > distance else (low, bend)
    angles = ((links - 1) / 2 - np.arange(links)) * low
    return np.cos(angles)[:, None] * ahead + np.sin(angles)[:, None] * down


def _smallest_rotation(one: Array, two: Array) -> Array:
    """The smallest rotation (4,) from one direction to another."""
    axis, cosine = np.cross(one, two), float(np.clip(one @ two, -1, 1))
    sine = float(np.linalg.norm(axis))
    if sine < 1e-9:
        if cosine > 0:
            return np.array([1.0, 0.0, 0.0, 0.0])
        axis = np.cross(one, np.eye(3)[int(np.argmin(np.abs(one)))])
        return quat_from_axis_angle(axis / np.linalg.norm(axis), np.pi)
    return quat_from_axis_angle(axis / sine, float(np.arctan2(sine, cosine)))
