"""Nearest pose of a clip. Abe & Popovic 2006, section 4.3, with the distance of Kovar, Gleicher & Pighin 2002.

Poses are compared by markers on the bodies, ignoring horizontal translation and rotation about the vertical. The raw nearest
pose jumps (by 43 degrees in a lift), so frames are blended by how near they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import REFERENCE_HEIGHT
from manikin.clips.clip import Clip
from manikin.compiled import kernel
from manikin.physics.world import World

Array = NDArray[np.float64]

# three markers per body, 8 cm along its axes, tell its place and its turn
MARKER = 0.08
# hands lead: markers of hands and forearms count this many times
HAND_WEIGHT = 10.0


@kernel
def _markers(xpos: Array, xmat: Array, bodies: NDArray[np.int64], weights: Array, length: float) -> Array:
    """Markers (3 n, 3) with their weighted horizontal mean taken out."""
    n = bodies.shape[0]
    out = np.empty((3 * n, 3))
    mx, my, total = 0.0, 0.0, 0.0
    for i in range(n):
        b = bodies[i]
        for a in range(3):
            for k in range(3):
                out[3 * i + a, k] = xpos[b, k] + length * xmat[b, 3 * k + a]
            mx += weights[i] * out[3 * i + a, 0]
            my += weights[i] * out[3 * i + a, 1]
            total += weights[i]
    for r in range(3 * n):
        out[r, 0] -= mx / total
        out[r, 1] -= my / total
    return out


@kernel
def _distances(frames: Array, markers: Array, weights: Array) -> Array:
    """Root mean square marker distance [m] (T,) to each frame after the best turn about the vertical."""
    out = np.empty(frames.shape[0])
    total = 3.0 * weights.sum()
    for t in range(frames.shape[0]):
        square, along, across = 0.0, 0.0, 0.0
        for r in range(markers.shape[0]):
            w = weights[r // 3]
            ax, ay, az = frames[t, r, 0], frames[t, r, 1], frames[t, r, 2]
            bx, by, bz = markers[r, 0], markers[r, 1], markers[r, 2]
            square += w * (ax * ax + ay * ay + bx * bx + by * by + (az - bz) ** 2)
            along += w * (ax * bx + ay * by)
            across += w * (ax * by - ay * bx)
        out[t] = np.sqrt(max(square - 2.0 * np.sqrt(along * along + across * across), 0.0) / total)
    return out


@kernel
def _blend(distance: Array, poses: Array) -> Array:
    """Mean of poses weighted by exp(-((D - Dmin) / width)^2 / 2), width = max(2 cm, Dmin / 4)."""
    nearest = distance.min()
    width = max(0.02, 0.25 * nearest)
    out = np.zeros(poses.shape[1])
    total = 0.0
    for t in range(distance.shape[0]):
        w = np.exp(-0.5 * ((distance[t] - nearest) / width) ** 2)
        if w < 1e-6:
            continue
        total += w
        for j in range(poses.shape[1]):
            out[j] += w * poses[t, j]
    return out / total


@kernel
def _propose(
    xpos: Array, xmat: Array, bodies: NDArray[np.int64], weights: Array, length: float, frames: Array, poses: Array
) -> Array:  # fmt: skip
    return _blend(_distances(frames, _markers(xpos, xmat, bodies, weights, length), weights), poses)


@dataclass(frozen=True)
class NearestPose:
    """A clip prepared for search: `pose(world)` proposes angles for the present state."""

    bodies: NDArray[np.int64]
    weights: Array
    length: float
    markers: Array  # (T, 3 n, 3)
    angles: Array  # (T, k) in the order the posture measures them

    def distances(self, world: World) -> Array:
        """Distance [m] (T,) of the present pose from each frame."""
        now = _markers(world.data.xpos, world.data.xmat, self.bodies, self.weights, self.length)
        return _distances(self.markers, now, self.weights)

    def pose(self, world: World) -> Array:
        dynamics = world.dynamics()
        return _propose(dynamics.xpos, dynamics.xmat, self.bodies, self.weights, self.length, self.markers, self.angles)


def nearest_pose(
    clip: Clip, world: World, prefix: str, bodies: Sequence[str], joints: tuple[str, ...], wanted: tuple[str, ...],
    height: float,
) -> NearestPose:  # fmt: skip
    """Place the clip's frames on the character's own skeleton and remember where its markers go.

    joints: all of the character's; wanted: those whose angles are proposed.
    """
    numbers = np.array([world.body(b) for b in bodies], np.int64)
    weights = np.array([HAND_WEIGHT if b.removeprefix(prefix).startswith(("hand", "forearm")) else 1.0 for b in bodies])
    length = MARKER * height / REFERENCE_HEIGHT
    angles = clip.angles(tuple(j.removeprefix(prefix) for j in joints))
    root = clip.root(height)
    trial = world.branch()
    address = [int(world.model.jnt_qposadr[world.joint(j)]) for j in joints]
    base = int(world.model.jnt_qposadr[world.joint(prefix + "root")])
    markers = np.empty((len(angles), 3 * len(numbers), 3))
    for t in range(len(angles)):
        trial.data.qpos[base : base + 7] = root[t]
        trial.data.qpos[address] = angles[t]
        mujoco.mj_kinematics(trial.model, trial.data)
        markers[t] = _markers(trial.data.xpos, trial.data.xmat, numbers, weights, length)
    return NearestPose(numbers, weights, length, markers, angles[:, [joints.index(j) for j in wanted]])
