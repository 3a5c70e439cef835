"""The kinematics of one character for many frames at once: positions and orientations as arrays over time.

MuJoCo poses a simulated world one frame at a time; this module handles clips of thousands of frames. A test compares the two.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import Character
from manikin.clips.clip import Clip
from manikin.clips.skeleton import SkeletonMotion
from manikin.spatial import quat_conjugate, quat_multiply, rotate

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Chain:
    """A tree of bodies with hinges, parents first. Names are without the character's prefix.

    offsets (B, 3) [m] in the parent's frame; hinges by body in order from the parent: axes (K, 3), low and high (K,) [rad].
    reach (B, K): whether a hinge moves a body.
    """

    bodies: tuple[str, ...]
    parents: Index
    offsets: Array
    joints: tuple[str, ...]
    hinge_body: Index
    axes: Array
    low: Array
    high: Array
    reach: NDArray[np.bool_]
    height: float

    def body(self, name: str) -> int:
        return self.bodies.index(name)

    def rest(self) -> Array:
        """Positions (B, 3) of all bodies in the zero pose, the root at zero."""
        places = np.zeros((len(self.bodies), 3))
        for b, parent in enumerate(self.parents):
            if parent >= 0:
                places[b] = places[parent] + self.offsets[b]
        return places

    def hinges(self, body: int) -> Index:
        return np.flatnonzero(self.hinge_body == body)


@dataclass(frozen=True)
class Poses:
    """All bodies and hinges in T frames: place (T, B, 3), rotation (T, B, 4), axis (T, K, 3) of hinges in world axes."""

    place: Array
    rotation: Array
    axis: Array

    def point(self, body: int, local: Array) -> Array:
        """A point of a body (T, 3) in the world."""
        return self.place[:, body] + rotate(self.rotation[:, body], np.broadcast_to(local, (len(self.place), 3)))


def chain_of(character: Character) -> Chain:
    """The chain of a character, from its MJCF."""
    bodies: list[str] = []
    parents: list[int] = []
    offsets: list[Array] = []
    hinges: list[tuple[str, int, Array, Array]] = []

    def visit(element: ET.Element, parent: int) -> None:
        index = len(bodies)
        bodies.append(element.attrib["name"].removeprefix(character.prefix))
        parents.append(parent)
        offsets.append(_vector(element.attrib["pos"]) if parent >= 0 else np.zeros(3))
        for joint in element.findall("joint"):
            name = joint.attrib["name"].removeprefix(character.prefix)
            hinges.append((name, index, _vector(joint.attrib["axis"]), _vector(joint.attrib["range"])))
        for inner in element.findall("body"):
            visit(inner, index)

    visit(character.body, -1)
    owner = np.array([h[1] for h in hinges], np.int64)
    reach = np.zeros((len(bodies), len(hinges)), bool)
    for b, parent in enumerate(parents):
        if parent >= 0:
            reach[b] = reach[parent] | (owner == b)
    ranges = np.array([h[3] for h in hinges])
    return Chain(
        tuple(bodies), np.array(parents, np.int64), np.array(offsets), tuple(h[0] for h in hinges), owner,
        np.array([h[2] for h in hinges]), ranges[:, 0], ranges[:, 1], reach, character.height,
    )  # fmt: skip


def _vector(text: str) -> Array:
    return np.array([float(w) for w in text.split()])


def poses_of(chain: Chain, root: Array, angles: Array) -> Poses:
    """Forward kinematics: root (T, 7) position and rotation, angles (T, K) in the chain's order."""
    frames = len(root)
    place = np.empty((frames, len(chain.bodies), 3))
    rotation = np.empty((frames, len(chain.bodies), 4))
    axis = np.empty((frames, len(chain.joints), 3))
    for b, parent in enumerate(chain.parents):
        if parent < 0:
            place[:, b], rotation[:, b] = root[:, :3], root[:, 3:]
            continue
        now = rotation[:, parent]
        place[:, b] = place[:, parent] + rotate(now, np.broadcast_to(chain.offsets[b], (frames, 3)))
        for k in chain.hinges(b):
            axis[:, k] = rotate(now, np.broadcast_to(chain.axes[k], (frames, 3)))
            half = 0.5 * angles[:, k]
            now = quat_multiply(now, np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * chain.axes[k]], axis=1))
        rotation[:, b] = now
    return Poses(place, rotation, axis)


def clip_motion(clip: Clip, character: Character) -> SkeletonMotion:
    """A clip on a character as a moving skeleton with one joint per body, ready for write_bvh."""
    chain = chain_of(character)
    root = clip.root(character.height)
    rotation = poses_of(chain, root, clip.angles(chain.joints)).rotation
    local = rotation.copy()
    for b, parent in enumerate(chain.parents):
        if parent >= 0:
            local[:, b] = quat_multiply(quat_conjugate(rotation[:, parent]), rotation[:, b])
    return SkeletonMotion(chain.bodies, chain.parents, chain.offsets, local, root[:, :3], clip.fps)
