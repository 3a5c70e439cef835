"""Nearest pose of a clip. Abe & Popovic 2006, section 4.3, with the distance of Kovar, Gleicher & Pighin 2002.

Poses are compared by markers on the bodies, ignoring horizontal translation and rotation about the vertical. The raw nearest
pose jumps (by 43 degrees in a lift), so frames are blended by their distance. Long clips are searched with an index, which
finds the same frames as exhaustive search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from manikin.characters.catalog import REFERENCE_HEIGHT
from manikin.clips.clip import Clip
from manikin.compiled import kernel
from manikin.physics.world import World
from manikin.tasks.laws import Displacements

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# three markers per body, 8 cm along its axes, give its position and orientation
MARKER = 0.08
# hands lead: weight of the markers of hands and forearms
HAND_WEIGHT = 10.0
# clips longer than this [frames] are searched with an index
LONG = 1000
# frames with less weight than this in a blend are left out; WIDTHS: that limit as a distance, in widths
NEGLIGIBLE = 1e-6
NONE: Displacements = MappingProxyType({})
WIDTHS = float(np.sqrt(-2.0 * np.log(NEGLIGIBLE)))


@kernel
def _markers(xpos: Array, xmat: Array, bodies: Ints, weights: Array, length: float) -> Array:
    """Markers (3 n, 3) with their weighted horizontal mean subtracted."""
    n = bodies.shape[0]
    out = np.empty((3 * n, 3))
    for i in range(n):
        b = bodies[i]
        for a in range(3):
            for k in range(3):
                out[3 * i + a, k] = xpos[b, k] + length * xmat[b, 3 * k + a]
    _centre(out, weights)
    return out


@kernel
def _markers_ahead(xpos: Array, xmat: Array, bodies: Ints, weights: Array, length: float, ahead: Array) -> Array:
    """Like _markers, with bodies displaced by `ahead` (n, 3) [m] unless it is empty."""
    out = _markers(xpos, xmat, bodies, weights, length)
    if ahead.shape[0] > 0:
        for r in range(out.shape[0]):
            for k in range(3):
                out[r, k] += ahead[r // 3, k]
        _centre(out, weights)
    return out


@kernel
def _propose(
    xpos: Array, xmat: Array, bodies: Ints, weights: Array, length: float, ahead: Array, frames: Array, motions: Array,
    columns: int,
) -> Array:  # fmt: skip
    """Exhaustive search and blend in one call, for clips without an index."""
    all_frames = np.arange(frames.shape[0])
    distance = _distances(frames, all_frames, _markers_ahead(xpos, xmat, bodies, weights, length, ahead), weights)
    return _blend(distance, all_frames, motions, columns)


@kernel
def _centre(markers: Array, weights: Array) -> None:
    """Subtract the weighted horizontal mean from markers (3 n, 3), in place."""
    mx, my, total = 0.0, 0.0, 0.0
    for r in range(markers.shape[0]):
        w = weights[r // 3]
        mx += w * markers[r, 0]
        my += w * markers[r, 1]
        total += w
    for r in range(markers.shape[0]):
        markers[r, 0] -= mx / total
        markers[r, 1] -= my / total


@kernel
def _distances(frames: Array, chosen: Ints, markers: Array, weights: Array) -> Array:
    """Root mean square marker distance [m] to each chosen frame of (T, 3, 3 n) after the best rotation about the vertical.

    The best rotation has a closed form: with horizontal places as complex numbers, |A - e^(i angle) B|^2 is least at
    |A|^2 + |B|^2 - 2 |A* B|.
    """
    out = np.empty(chosen.shape[0])
    total = 3.0 * weights.sum()
    m = markers.shape[0]
    # one array per coordinate, so that the sums vectorise
    each, x, y, z = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    own = 0.0
    for r in range(m):
        each[r] = weights[r // 3]
        x[r], y[r], z[r] = markers[r, 0], markers[r, 1], markers[r, 2]
        own += each[r] * (x[r] * x[r] + y[r] * y[r])
    for c in range(chosen.shape[0]):
        frame = frames[chosen[c]]
        square, along, across = own, 0.0, 0.0
        for r in range(m):
            w, ax, ay, az = each[r], frame[0, r], frame[1, r], frame[2, r]
            square += w * (ax * ax + ay * ay + (az - z[r]) ** 2)
            along += w * (ax * x[r] + ay * y[r])
            across += w * (ax * y[r] - ay * x[r])
        out[c] = np.sqrt(max(square - 2.0 * np.sqrt(along * along + across * across), 0.0) / total)
    return out


@kernel
def _blend(distance: Array, chosen: Ints, poses: Array, columns: int) -> Array:
    """Mean of the first columns of chosen poses weighted by exp(-((D - Dmin) / width)^2 / 2), width = max(2 cm, Dmin / 4)."""
    nearest = distance.min()
    width = _width(nearest)
    out = np.zeros(columns)
    total = 0.0
    for c in range(distance.shape[0]):
        w = np.exp(-0.5 * ((distance[c] - nearest) / width) ** 2)
        if w < NEGLIGIBLE:
            continue
        total += w
        for j in range(columns):
            out[j] += w * poses[chosen[c], j]
    for j in range(columns):
        out[j] /= total
    return out


@kernel
def _width(nearest: float) -> float:
    return max(0.02, 0.25 * nearest)


@kernel
def _features(markers: Array, weights: Array) -> Array:
    """Features (6 n,) of a pose that do not depend on place or heading: height and horizontal distance from the middle.

    Scaled so that the distance of features is a lower bound of the marker distance: heights count in both, and
    | |a| - |b| | <= |a - e^(i angle) b| for every rotation.
    """
    m = markers.shape[0]
    out = np.empty(2 * m)
    total = 3.0 * weights.sum()
    for r in range(m):
        scale = np.sqrt(weights[r // 3] / total)
        out[r] = scale * markers[r, 2]
        out[m + r] = scale * np.sqrt(markers[r, 0] ** 2 + markers[r, 1] ** 2)
    return out


class PoseIndex:
    """Exact search for the frames nearest by the marker distance, faster than exhaustive search.

    Features that bound the distance from below are projected onto their principal directions (which only shortens
    differences) and put in a k-d tree; the distance of what the tree cannot exclude is computed.
    """

    def __init__(self, frames: Array, weights: Array, directions: int = 16) -> None:
        """frames (T, 3, 3 n): markers by axes."""
        self.frames, self.weights = frames, weights
        features = np.array([_features(f, weights) for f in by_axes(frames)])
        self._middle = features.mean(axis=0)
        _, vectors = np.linalg.eigh(np.cov(features.T))
        self._main = np.ascontiguousarray(vectors[:, ::-1][:, :directions])
        self._tree = cKDTree((features - self._middle) @ self._main)

    def nearest(self, markers: Array) -> tuple[int, float]:
        """The nearest frame (the first of equals) and its distance [m]."""
        place = self._place(markers)
        _, first = self._tree.query(place, k=min(8, len(self.frames)))
        best = float(_distances(self.frames, np.atleast_1d(first).astype(np.int64), markers, self.weights).min())
        frames, distance = self._within(place, markers, best)
        return int(frames[distance.argmin()]), float(distance.min())

    def exhaustive(self, markers: Array) -> tuple[int, float]:
        """The same by exhaustive search, for comparison."""
        distance = _distances(self.frames, np.arange(len(self.frames)), markers, self.weights)
        return int(distance.argmin()), float(distance.min())

    def within(self, markers: Array, radius: float) -> tuple[Ints, Array]:
        """All frames within `radius` [m] in order, and some beyond it, with their distances."""
        return self._within(self._place(markers), markers, radius)

    def _place(self, markers: Array) -> Array:
        return np.asarray((_features(markers, self.weights) - self._middle) @ self._main)

    def _within(self, place: Array, markers: Array, radius: float) -> tuple[Ints, Array]:
        # rounding must not lose a frame exactly at the radius
        found = self._tree.query_ball_point(place, radius * (1 + 1e-9) + 1e-7, return_sorted=True)
        frames = np.array(found, np.int64)
        return frames, _distances(self.frames, frames, markers, self.weights)


@dataclass(frozen=True)
class NearestPose:
    """A clip prepared for search: `pose(world)` proposes angles for the present state."""

    bodies: Ints
    weights: Array
    length: float
    frames: Array  # (T, 3, 3 n) markers by axes
    motions: Array  # (T, 3 k): angles, rates, accelerations in the order of the posture's joints
    index: PoseIndex | None = None
    # indices into `bodies` of what moves with a body: itself, and for a hand also its forearm
    along: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def distances(self, world: World) -> Array:
        """Distance [m] (T,) of the present pose from each frame."""
        return _distances(self.frames, np.arange(len(self.frames)), self.markers_of(world), self.weights)

    def nearest(self, world: World) -> tuple[int, float]:
        """The nearest frame and its distance [m]."""
        if self.index is not None:
            return self.index.nearest(self.markers_of(world))
        distance = self.distances(world)
        return int(distance.argmin()), float(distance.min())

    def pose(self, world: World, displacements: Displacements = NONE) -> Array:
        """Angles (k,) [rad], blended from the frames near the present pose, with some bodies displaced by `displacements`."""
        return self._blended(world, displacements, self.motions.shape[1] // 3)

    def motion(self, world: World, displacements: Displacements = NONE) -> tuple[Array, Array, Array]:
        """Angles (k,) [rad] with the rates [rad/s] and accelerations [rad/s^2] that the same frames had in the clip."""
        angles, rates, accelerations = self._blended(world, displacements, self.motions.shape[1]).reshape(3, -1)
        return angles, rates, accelerations

    def _blended(self, world: World, displacements: Displacements, columns: int) -> Array:
        dynamics = world.dynamics()
        ahead = np.zeros((len(self.bodies) if displacements else 0, 3))
        for body, offset in displacements.items():
            for i in self.along.get(body, ()):
                ahead[i] += offset
        where = (dynamics.xpos, dynamics.xmat, self.bodies, self.weights, self.length, ahead)
        if self.index is None:
            return _propose(*where, self.frames, self.motions, columns)
        now = _markers_ahead(*where)
        _, nearest = self.index.nearest(now)
        frames, distance = self.index.within(now, nearest + WIDTHS * _width(nearest))
        return _blend(distance, frames, self.motions, columns)

    def __deepcopy__(self, memo: dict[int, object]) -> "NearestPose":
        # immutable: copies of a task share it
        return self

    def markers_of(self, world: World) -> Array:
        """Markers (3 n, 3) of the present pose, their horizontal mean subtracted."""
        dynamics = world.dynamics()
        return _markers(dynamics.xpos, dynamics.xmat, self.bodies, self.weights, self.length)


def nearest_pose(
    clip: Clip, world: World, prefix: str, bodies: Sequence[str], joints: tuple[str, ...], wanted: tuple[str, ...],
    height: float,
) -> NearestPose:  # fmt: skip
    """Put the clip's frames on the character's own skeleton and compute their markers.

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
    motions = with_rates(angles[:, [joints.index(j) for j in wanted]], clip.fps)
    frames = by_axes(markers)
    index = PoseIndex(frames, weights) if len(angles) > LONG else None
    place = {int(b): i for i, b in enumerate(numbers)}
    # a hand moves its forearm
    taken = {b: int(world.model.body_parentid[b]) for b, w in zip(place, weights) if w == HAND_WEIGHT}
    along = {b: (i, place[taken[b]]) if taken.get(b) in taken else (i,) for b, i in place.items()}
    return NearestPose(numbers, weights, length, frames, motions, index, along)


def by_axes(markers: Array) -> Array:
    """Markers (T, 3 n, 3) as (T, 3, 3 n), the faster order for sums; and back."""
    return np.ascontiguousarray(markers.transpose(0, 2, 1))


def with_rates(angles: Array, fps: float) -> Array:
    """Angles (T, k), their rates and their accelerations in one array (T, 3 k), by central differences."""
    if len(angles) < 3:
        return np.concatenate([angles, np.zeros_like(angles), np.zeros_like(angles)], axis=1)
    rates = np.gradient(angles, 1 / fps, axis=0)
    second = np.zeros_like(angles)
    second[1:-1] = np.diff(angles, 2, axis=0) * fps**2
    return np.concatenate([angles, rates, second], axis=1)
