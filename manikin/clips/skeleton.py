"""SkeletonMotion: a moving skeleton of any origin, as motion files hold it, and where its joints are."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from manikin.errors import ClipError
from manikin.files import LOAD_VARIABLE, load_limit
from manikin.spatial import quat_multiply, rotate

Array = NDArray[np.float64]

# hair, fingers and clothes have some hundreds of joints
MOST_JOINTS = 2000
# rotations, places and what is computed from them: bytes per joint and frame
_PER_JOINT = 400

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class SkeletonMotion:
    """Joints with their parents first; T frames of local rotations.

    parents (J,): -1 for the root, which comes first. offsets (J, 3): position in the parent's frame at rest. rotations
    (T, J, 4): wxyz, relative to the parent. root (T, 3): position of the root. ends: tips, (parent joint, offset (3,)).
    Metres with Z up; straight from a reader, the units and axes of the file.
    """

    joints: tuple[str, ...]
    parents: NDArray[np.int64]
    offsets: Array
    rotations: Array
    root: Array
    fps: float
    ends: tuple[tuple[int, tuple[float, float, float]], ...] = ()
    metres: float | None = None  # length of the file's unit [m], where the file says it
    notes: tuple[str, ...] = field(default=())  # what was guessed or repaired

    def __post_init__(self) -> None:
        frames, count = len(self.root), len(self.joints)
        shapes = (self.parents.shape, self.offsets.shape, self.rotations.shape, self.root.shape)
        if not frames or not count or shapes != ((count,), (count, 3), (frames, count, 4), (frames, 3)):
            raise ClipError("a motion's arrays do not match in shape")
        if self.parents[0] != -1 or (self.parents[1:] < 0).any() or (self.parents >= np.arange(count)).any():
            raise ClipError("a motion's joints must come after their parents, and the only root first")
        if not all(np.isfinite(a).all() for a in (self.offsets, self.rotations, self.root)) or not 0 < self.fps < np.inf:
            raise ClipError("a motion's numbers must be finite, its rate above zero")

    @property
    def seconds(self) -> float:
        """From the first frame to the last [s]."""
        return (len(self.root) - 1) / self.fps

    def children(self, joint: int) -> list[int]:
        """The joints whose parent is `joint`."""
        return [int(k) for k in np.flatnonzero(self.parents == joint)]


def check_size(frames: int, joints: int) -> str:
    """Why so many joints and frames are refused; "" when they are not."""
    if joints > MOST_JOINTS:
        return f"{joints} joints, at most {MOST_JOINTS} are expected"
    size = frames * joints * _PER_JOINT
    if size > load_limit():
        return f"{frames} frames of {joints} joints need {size / 2**20:.0f} MB of memory; {LOAD_VARIABLE} raises the limit"
    return ""


def global_poses(motion: SkeletonMotion) -> tuple[Array, Array]:
    """Positions (T, J, 3) and orientations (T, J, 4) of all joints."""
    places = np.empty((len(motion.root), len(motion.joints), 3))
    rotations = np.empty_like(motion.rotations)
    for j, parent in enumerate(motion.parents):
        if parent < 0:
            places[:, j], rotations[:, j] = motion.root, motion.rotations[:, j]
            continue
        places[:, j] = places[:, parent] + rotate(rotations[:, parent], np.broadcast_to(motion.offsets[j], (len(places), 3)))
        rotations[:, j] = quat_multiply(rotations[:, parent], motion.rotations[:, j])
    return places, rotations


def rest_places(motion: SkeletonMotion) -> Array:
    """Positions (J, 3) of all joints at zero rotation, the root at the origin."""
    places = np.zeros((len(motion.joints), 3))
    for j, parent in enumerate(motion.parents):
        if parent >= 0:
            places[j] = places[parent] + motion.offsets[j]
    return places


def euler_to_quat(angles: Array, order: str) -> Array:
    """Rotations (..., 4) from angles (..., k) [rad]: the product of rotations about `order`'s axes, the first outermost."""
    out = np.zeros((*angles.shape[:-1], 4))
    out[..., 0] = 1.0
    for k, letter in enumerate(order):
        out = quat_multiply(out, about(letter, angles[..., k]))
    return out


def about(letter: str, angle: Array) -> Array:
    """Rotations (..., 4) about one axis X, Y or Z by angles (...) [rad]."""
    out = np.zeros((*angle.shape, 4))
    out[..., 0], out[..., 1:] = np.cos(angle / 2), np.sin(angle / 2)[..., None] * np.array(AXES[letter])
    return out


def change_axes(motion: SkeletonMotion, matrix: Array, scale: float) -> SkeletonMotion:
    """The same motion in axes rotated by `matrix` (3, 3), lengths times `scale`."""
    rotations = motion.rotations.copy()
    rotations[..., 1:] = rotations[..., 1:] @ matrix.T
    ends = tuple((p, _triple(scale * matrix @ np.array(o))) for p, o in motion.ends)
    return SkeletonMotion(
        motion.joints, motion.parents, scale * motion.offsets @ matrix.T, rotations, scale * motion.root @ matrix.T,
        motion.fps, ends, motion.metres, motion.notes,
    )  # fmt: skip


def _triple(v: Array) -> tuple[float, float, float]:
    return (float(v[0]), float(v[1]), float(v[2]))
