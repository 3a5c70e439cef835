"""Rotations: quaternions wxyz over the last axis, world axes, radians."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def quat_multiply(a: Array, b: Array) -> Array:
    """Hamilton product, shapes (..., 4)."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def quat_conjugate(q: Array) -> Array:
    """Inverse of a unit quaternion."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def quat_from_axis_angle(axis: ArrayLike, angle: float) -> Array:
    """Rotation by `angle` [rad] about `axis` (normalised here)."""
    direction = np.asarray(axis, float)
    direction = direction / np.linalg.norm(direction)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * direction])


def quat_from_rotvec(v: Array) -> Array:
    """Exponential map, shapes (..., 3) -> (..., 4)."""
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    # np.sinc is sin(pi x)/(pi x): regular at zero
    return np.concatenate([np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * v], axis=-1)


def quat_to_rotvec(q: Array) -> Array:
    """Logarithm, by the shorter rotation, shapes (..., 4) -> (..., 3)."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., :1])
    scale = np.where(sine > 1e-12, angle / np.maximum(sine, 1e-300), 2.0)
    return scale * q[..., 1:]


def quat_to_matrix(q: Array) -> Array:
    """Shapes (..., 4) -> (..., 3, 3)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(r, axis=-1) for r in rows], axis=-2)


def matrix_to_quat(m: Array) -> Array:
    """One rotation matrix (3, 3) -> (4,), by the largest diagonal term (accurate near half turns)."""
    trace = float(np.trace(m))
    candidates = np.array([trace, m[0, 0], m[1, 1], m[2, 2]])
    k = int(np.argmax(candidates))
    if k == 0:
        q = np.array([1 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    else:
        i = k - 1
        j, n = (i + 1) % 3, (i + 2) % 3
        q = np.zeros(4)
        q[0] = m[n, j] - m[j, n]
        q[1 + i] = 1 + m[i, i] - m[j, j] - m[n, n]
        q[1 + j] = m[j, i] + m[i, j]
        q[1 + n] = m[n, i] + m[i, n]
    return q / np.linalg.norm(q)


def rotate(q: Array, v: Array) -> Array:
    """Rotate vectors (..., 3) by quaternions (..., 4)."""
    t = 2.0 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def yaw_of(q: Array) -> float:
    """Heading about the vertical [rad] of the x axis of a rotated frame."""
    x = rotate(q, np.array([1.0, 0.0, 0.0]))
    return float(np.arctan2(x[1], x[0]))
