"""Faces of a prop: goals and places given relative to its size, so that a scene works for many sizes."""

import numpy as np
from numpy.typing import NDArray

from manikin.scenes.schema_table import FacesSpec

Array = NDArray[np.float64]

# shapes that have faces: each is symmetric about its middle
SHAPES = ("box", "case", "sphere", "capsule", "cylinder")
# outward normals in the prop's own frame
NORMALS: dict[str, tuple[float, float, float]] = {
    "front": (1, 0, 0),
    "back": (-1, 0, 0),
    "left": (0, 1, 0),
    "right": (0, -1, 0),
    "top": (0, 0, 1),
    "bottom": (0, 0, -1),
}
_SIDES = (("x", "front", "back"), ("y", "left", "right"), ("z", "top", "bottom"))


def extent(shape: str, size: tuple[float, ...], direction: Array) -> float:
    """How far [m] a shape reaches from its middle along a unit vector (3,) in its own frame."""
    x, y, z = np.abs(direction)
    if shape in ("box", "case"):
        return float(0.5 * (x * size[0] + y * size[1] + z * size[2]))
    if shape == "sphere":
        return size[0]
    if shape == "cylinder":
        return float(np.hypot(x, y) * size[0] + 0.5 * z * size[1])
    return float(size[0] + 0.5 * z * size[1])


def face_points(shape: str, size: tuple[float, ...], faces: tuple[str, ...], gap: float) -> Array:
    """Points (n, 3) [m] in the prop's frame: the middles of its faces, `gap` off the surface."""
    normals = np.array([NORMALS[f] for f in faces])
    return np.array([(extent(shape, size, n) + gap) * n for n in normals])


def middle(place: FacesSpec, shape: str, size: tuple[float, ...], axes: Array, scale: float = 1.0) -> Array:
    """The middle (3,) of a prop placed by its faces; the columns of `axes` (3, 3) are the prop's axes."""
    out = np.zeros(3)
    for axis, (centre, high, low) in enumerate(_SIDES):
        reach = extent(shape, size, axes[axis])
        for key, sign in ((centre, 0.0), (high, -1.0), (low, 1.0)):
            value = getattr(place, key)
            if value is not None:
                out[axis] = scale * value + sign * reach
    return out
