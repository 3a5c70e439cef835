"""Whole motions by least squares: all frames at once, each near its goals, and the motion smooth in time.

Levenberg-Marquardt on  sum of (goal errors)^2 + (acceleration)^2 + (distance from rest)^2, with joint limits as bounds. The
normal equations are banded, since accelerations couple each frame with the next two. Long motions are solved in windows that
look ahead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from manikin.compiled import routine
from manikin.motion.chain import Chain, Poses, poses_of
from manikin.spatial import quat_conjugate, quat_from_rotvec, quat_multiply, quat_to_matrix, quat_to_rotvec

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

# frames of a window that are kept, and how many more it looks ahead
WINDOW, AHEAD = 300, 40
# an iteration changes no angle [rad] and no position [m] by more than this
_LONGEST = 0.5
# how many times a step is solved while it still crosses joint limits
_TRIES = 3


@dataclass(frozen=True)
class Goal:
    """Where a body (a point of it, or its orientation) should be in every frame, and how much it matters.

    point: (3,) [m] in the body's frame and target (T, 3); or None, and target (T, 4) is an orientation (quaternion).
    weight (T,): relative for points, metres per radian for orientations; zero where the goal does not matter.
    """

    body: int
    point: Array | None
    target: Array
    weight: Array

    def cut(self, part: slice) -> "Goal":
        return Goal(self.body, self.point, self.target[part], self.weight[part])


@dataclass(frozen=True)
class Prior:
    """Terms in addition to the goals: smoothness [m s^2] per column (6 + K,), rest weight and rest angles (K,)."""

    smooth: Array
    pull: Array
    rest: Array


def solve_motion(
    chain: Chain, goals: Sequence[Goal], prior: Prior, root: Array, angles: Array, fps: float,
    iterations: int = 25, progress: Callable[[float], None] | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """The motion nearest its goals, from a first guess root (T, 7), angles (T, K): new arrays, within the joint limits."""
    frames = len(root)
    root, angles = root.copy(), np.clip(angles, chain.low, chain.high)
    start = 0
    while start < frames:
        keep = min(start + WINDOW, frames)
        keep = frames if frames - keep < AHEAD else keep
        end = min(keep + AHEAD, frames)
        # the two frames before the window are final: they only fix how the motion enters it
        first = max(0, start - 2)
        part = slice(first, end)
        cut = [g.cut(part) for g in goals]
        _minimise(chain, cut, prior, root[part], angles[part], fps, start - first, iterations)
        if progress is not None:
            progress(keep / frames)
        start = keep
    return root, angles


def _minimise(
    chain: Chain, goals: Sequence[Goal], prior: Prior, root: Array, angles: Array, fps: float, fixed: int, iterations: int
) -> None:  # fmt: skip
    """Levenberg-Marquardt in place; the first `fixed` frames stay. Ends when a step changes no angle by 0.02 degrees."""
    damping = 1e-3
    cost = _cost(chain, goals, prior, root, angles, fps)
    for _ in range(iterations):
        step = _step(chain, goals, prior, root, angles, fps, fixed, damping)
        new_root, new_angles = _moved(chain, root, angles, step)
        new_cost = _cost(chain, goals, prior, new_root, new_angles, fps)
        size = max(float(np.abs(step[:, :6]).max()), float(np.abs(new_angles - angles).max()))
        if new_cost > cost:
            damping *= 8.0
            if size < 1e-3 or damping > 1e3:
                break
            continue
        gained = cost - new_cost
        root[:], angles[:], cost = new_root, new_angles, new_cost
        damping = max(damping / 4.0, 1e-6)
        if size < 3e-4 or gained < 3e-5 * cost:
            break


def _cost(chain: Chain, goals: Sequence[Goal], prior: Prior, root: Array, angles: Array, fps: float) -> float:
    """Half the sum of squares to be minimised."""
    total = 0.0
    poses = poses_of(chain, root, angles)
    for goal in goals:
        total += float((_error(goal, poses) ** 2).sum())
    total += float(((prior.smooth * fps**2 * _second_differences(root, angles)) ** 2).sum())
    return 0.5 * (total + float(((prior.pull * (angles - prior.rest)) ** 2).sum()))


def _step(
    chain: Chain, goals: Sequence[Goal], prior: Prior, root: Array, angles: Array, fps: float, fixed: int, damping: float
) -> Array:  # fmt: skip
    """One damped Gauss-Newton step (T, 6 + K) within the joint limits."""
    frames, width = len(root), 6 + len(chain.joints)
    H, g = _normal(chain, goals, root, angles)
    H += np.diag(np.concatenate([np.zeros(6), prior.pull**2]) + damping)
    g[:, 6:] -= prior.pull**2 * (angles - prior.rest)
    smooth = (prior.smooth * fps**2) ** 2
    bands = _banded(H, smooth)
    change = _second_differences(root, angles)
    for k, factor in enumerate((1.0, -2.0, 1.0)):
        g[k : k + len(change)] -= factor * smooth * change
    # a joint at its limit that would move beyond it stays there
    held = np.zeros((frames, width), bool)
    held[:, 6:] = ((angles <= chain.low + 1e-9) & (g[:, 6:] < 0)) | ((angles >= chain.high - 1e-9) & (g[:, 6:] > 0))
    held[:fixed] = True
    step = _bounded(bands, g, held, chain.low - angles, chain.high - angles)
    # limited frame by frame, so that one bad frame does not slow down the others
    return step * np.minimum(1.0, _LONGEST / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-12))


def _moved(chain: Chain, root: Array, angles: Array, step: Array) -> tuple[Array, Array]:
    orientation = quat_multiply(root[:, 3:], quat_from_rotvec(step[:, 3:6]))
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    return np.hstack([root[:, :3] + step[:, :3], orientation]), np.clip(angles + step[:, 6:], chain.low, chain.high)


def _error(goal: Goal, poses: Poses) -> Array:
    """Weighted error (T, 3): from the present value to the target."""
    if goal.point is None:
        error = quat_to_rotvec(quat_multiply(goal.target, quat_conjugate(poses.rotation[:, goal.body])))
    else:
        error = goal.target - poses.point(goal.body, goal.point)
    return goal.weight[:, None] * error


def _normal(chain: Chain, goals: Sequence[Goal], root: Array, angles: Array) -> tuple[Array, Array]:
    """J^T J (T, n, n), lower triangles, and J^T e (T, n) of the goals."""
    poses = poses_of(chain, root, angles)
    used = [g for g in goals if g.weight.any()]
    points = np.stack([poses.place[:, g.body] if g.point is None else poses.point(g.body, g.point) for g in used])
    return _accumulate(
        poses.place, poses.axis, quat_to_matrix(root[:, 3:]), chain.hinge_body, chain.reach,
        np.array([g.body for g in used], np.int64), np.array([g.point is None for g in used]), points,
        np.stack([_error(g, poses) for g in used]), np.stack([g.weight for g in used]),
    )  # fmt: skip


@routine
def _accumulate(
    place: Array, axis: Array, frame: Array, hinge_body: Index, reach: Mask, body: Index, oriented: Mask, points: Array,
    errors: Array, weight: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Columns: root position, root rotation about its own axes, hinges. Only columns that move a goal are computed."""
    frames, hinges = axis.shape[0], axis.shape[1]
    width = 6 + hinges
    H, g = np.zeros((frames, width, width)), np.zeros((frames, width))
    J, columns = np.empty((width, 3)), np.empty(width, np.int64)
    for t in range(frames):
        for k in range(body.shape[0]):
            w = weight[k, t]
            if w == 0.0:
                continue
            count = 0
            if not oriented[k]:
                for i in range(3):
                    J[i, :] = 0.0
                    J[i, i] = w
                    columns[i] = i
                count = 3
            for i in range(3 + hinges):
                if i >= 3 and not reach[body[k], i - 3]:
                    continue
                ax, ay, az = frame[t, 0, i % 3], frame[t, 1, i % 3], frame[t, 2, i % 3]
                at = 0
                if i >= 3:
                    ax, ay, az = axis[t, i - 3, 0], axis[t, i - 3, 1], axis[t, i - 3, 2]
                    at = hinge_body[i - 3]
                if oriented[k]:
                    J[count, 0], J[count, 1], J[count, 2] = w * ax, w * ay, w * az
                else:
                    x, y, z = (
                        points[k, t, 0] - place[t, at, 0],
                        points[k, t, 1] - place[t, at, 1],
                        points[k, t, 2] - place[t, at, 2],
                    )
                    J[count, 0], J[count, 1], J[count, 2] = w * (ay * z - az * y), w * (az * x - ax * z), w * (ax * y - ay * x)
                columns[count] = 3 + i
                count += 1
            for a in range(count):
                i = columns[a]
                g[t, i] += J[a, 0] * errors[k, t, 0] + J[a, 1] * errors[k, t, 1] + J[a, 2] * errors[k, t, 2]
                for b in range(a + 1):
                    j = columns[b]
                    H[t, i, j] += J[a, 0] * J[b, 0] + J[a, 1] * J[b, 1] + J[a, 2] * J[b, 2]
    return H, g


def _second_difference_bands(frames: int) -> Array:
    """D^T D of second differences as its three diagonals (3, T)."""
    D = np.zeros((3, frames))
    if frames < 3:
        return D
    for a, b in ((1.0, 0), (-2.0, 1), (1.0, 2)):
        for c, d in ((1.0, 0), (-2.0, 1), (1.0, 2)):
            if d >= b:
                D[d - b, b : frames - 2 + b] += a * c
    return D


def _banded(H: Array, smooth: Array) -> Array:
    """Lower bands of the normal equations with the cost of accelerations added."""
    frames, width, _ = H.shape
    bands = np.zeros((2 * width + 1, frames, width))
    for d in range(width):
        bands[d, :, : width - d] = np.diagonal(H, -d, axis1=1, axis2=2)
    coupling = _second_difference_bands(frames)
    for k in range(3):
        bands[k * width] += coupling[k][:, None] * smooth
    return bands.reshape(2 * width + 1, frames * width)


def _second_differences(root: Array, angles: Array) -> Array:
    """Second differences (T - 2, 6 + K). Orientations of the root are compared from frame to frame."""
    spin = quat_to_rotvec(quat_multiply(quat_conjugate(root[:-1, 3:]), root[1:, 3:]))
    parts = [np.diff(root[:, :3], 2, axis=0), np.diff(spin, axis=0), np.diff(angles, 2, axis=0)]
    return np.concatenate([p[: max(0, len(root) - 2)] for p in parts], axis=1)


def _bounded(bands: Array, g: Array, held: Mask, low: Array, high: Array) -> Array:
    """Solve with some unknowns held at zero and angles between bounds: those that would cross a bound are set to it, and the
    rest are solved again."""
    value = np.zeros_like(g)
    for _ in range(_TRIES):
        step = _solve(bands.copy(), g - _times(bands, value), held) + value
        over = np.zeros_like(held)
        over[:, 6:] = ~held[:, 6:] & ((step[:, 6:] < low - 1e-9) | (step[:, 6:] > high + 1e-9))
        if not over.any():
            break
        limit = np.zeros_like(g)
        limit[:, 6:] = np.clip(step[:, 6:], low, high)
        value[over] = limit[over]
        held = held | over
    return step


def _times(bands: Array, x: Array) -> Array:
    """Product of the symmetric banded matrix with x (T, n)."""
    flat = x.ravel()
    if not flat.any():
        return np.zeros_like(x)
    out = bands[0] * flat
    for d in range(1, len(bands)):
        band = bands[d, : len(flat) - d]
        out[d:] += band * flat[: len(flat) - d]
        out[: len(flat) - d] += band * flat[d:]
    return out.reshape(x.shape)


def _solve(bands: Array, g: Array, held: Mask) -> Array:
    """Solve with some unknowns held at zero: their rows and columns are taken out."""
    flat = held.ravel()
    right = np.where(flat, 0.0, g.ravel())
    for d in range(1, len(bands)):
        bands[d, : len(flat) - d][flat[d:] | flat[: len(flat) - d]] = 0.0
    bands[0][flat] = 1.0
    return solveh_banded(bands, right, lower=True, overwrite_ab=True, check_finite=False).reshape(g.shape)
