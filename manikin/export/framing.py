"""Framing: where to look from so that the characters are in the picture, at a distance that suits their size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from manikin.export.soft import SoftSurface

Array = NDArray[np.float64]

# geom groups that are drawn: shells and props, but no collision capsules
DRAWN = 3
# a character that is followed stays within this fraction of the picture
ROOM = 0.8
# and what is framed fills this fraction of it
FILL = 0.88
# a camera that follows goes no nearer than this fraction of the distance that the scene asks for
NEAREST = 0.65
# a little over the edge is still in the picture
EDGE = 1.05
# a camera that sees everything from one place may be this much farther away than one that follows
FARTHER = 2.0
# and none is nearer than this [m]
CLOSEST = 0.4


@dataclass(frozen=True)
class View:
    """azimuth from the front (X) towards the character's left, elevation [deg], distance [m], point looked at [m]."""

    azimuth: float = 38.0
    elevation: float = -9.0
    distance: float = 3.9
    at: tuple[float, float, float] = (0.25, 0.0, 0.85)


def outline(model: mujoco.MjModel, data: mujoco.MjData, bodies: Sequence[int], soft: Sequence[SoftSurface]) -> Array:
    """Points (n, 3) around what is drawn of bodies and of all flesh: corners of boxes, vertices of surfaces."""
    drawn = np.flatnonzero(np.isin(model.geom_bodyid, bodies) & (model.geom_group < DRAWN))
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    boxes = model.geom_aabb[drawn]
    local = boxes[:, None, :3] + signs * boxes[:, None, 3:]
    turned = np.einsum("gij,gcj->gci", data.geom_xmat[drawn].reshape(-1, 3, 3), local)
    places = [(data.geom_xpos[drawn][:, None] + turned).reshape(-1, 3)]
    return np.vstack(places + [surface.places(data.flexvert_xpos) for surface in soft])


def _seen(points: Array, view: View, aspect: float) -> tuple[Array, Array]:
    """Points (n, 3) relative to the point looked at: (n, 2) right and up, the first divided by aspect; (n,) depth [m]."""
    yaw, tilt = np.deg2rad(180 + view.azimuth), np.deg2rad(view.elevation)
    forward = np.array([np.cos(tilt) * np.cos(yaw), np.cos(tilt) * np.sin(yaw), np.sin(tilt)])
    right = np.array([np.sin(yaw), -np.cos(yaw), 0.0])
    away = points - np.array(view.at)
    return np.stack([away @ right / aspect, away @ np.cross(right, forward)], axis=1), away @ forward


def across(points: Array, view: View, fovy: float, aspect: float) -> Array:
    """Where points (n, 3) are in a picture: (n, 2) right and up from its middle, 1 at its edges. fovy [deg]."""
    sides, depth = _seen(points, view, aspect)
    depth = depth + view.distance
    half = np.tan(np.deg2rad(fovy) / 2)
    # points behind the camera are not in the picture
    return np.where(depth[:, None] > 1e-6, sides / np.maximum(depth, 1e-6)[:, None] / half, np.inf)


def fitted(points: Array, view: View, fovy: float, aspect: float, room: float = FILL) -> View:
    """The nearest view from the same direction that looks at the middle of points (n, 3) and shows them all."""
    x, y, z = (points.min(axis=0) + points.max(axis=0)) / 2
    view = replace(view, at=(float(x), float(y), float(z)))
    sides, depth = _seen(points, view, aspect)
    distance = (np.abs(sides).max(axis=1) / (room * np.tan(np.deg2rad(fovy) / 2)) - depth).max()
    return replace(view, distance=max(float(distance), CLOSEST))


def framed(outlines: Sequence[Array], view: View, fovy: float, aspect: float, room: float = FILL) -> View:
    """A view, from the direction of `view`, that suits the size and the motion of what is shown at some moments.

    It shows everything from one place. If that place is far away, the view is as near as each single moment allows, and has
    to follow.
    """
    outlines = [points for points in outlines if len(points)]
    if not outlines:
        return view
    whole = fitted(np.vstack(outlines), view, fovy, aspect, room)
    single = [fitted(points, view, fovy, aspect, room) for points in outlines]
    near = max(v.distance for v in single)
    return whole if whole.distance <= FARTHER * near else replace(single[0], distance=near)


def within_reach(characters: Array, others: Array) -> Array:
    """Those of `others` (n, 3) that are no farther from the characters than these are large."""
    if not len(characters):
        return others
    low, high = characters.min(axis=0), characters.max(axis=0)
    gap = np.maximum(np.maximum(low - others, others - high), 0.0)
    return others[np.linalg.norm(gap, axis=1) <= np.linalg.norm(high - low) / 2]


def in_view(outlines: Sequence[Array], views: Sequence[View], fovy: float, aspect: float, room: float = EDGE) -> bool:
    """Whether everything is within this fraction of its picture."""
    return all(np.abs(across(points, view, fovy, aspect)).max() <= room for points, view in zip(outlines, views))


def keep_in_view(outlines: Sequence[Array], view: View, fovy: float, aspect: float, calm: float = 0.0) -> list[View]:
    """A view for each moment, given the outlines of the characters at these moments.

    They are all the same while nothing leaves the picture. Otherwise the camera follows over the ground, as near as it can be
    while showing everything; it keeps its height, so that a leap looks like one. calm: moments over which its path is
    smoothed.
    """
    views = [view] * len(outlines)
    if not outlines or min(len(points) for points in outlines) == 0 or in_view(outlines, views, fovy, aspect):
        return views
    lowest, highest = (np.array([f(points, axis=0) for points in outlines]) for f in (np.min, np.max))
    middle = (lowest + highest) / 2
    height = (lowest[:, 2].min() + highest[:, 2].max()) / 2
    if calm > 0:
        middle = gaussian_filter1d(middle, calm, axis=0, mode="nearest")
    # starting near, move away until everything is seen
    distance = NEAREST * view.distance
    while distance < 100 * view.distance:
        views = [replace(view, distance=distance, at=(float(x), float(y), float(height))) for x, y, _ in middle]
        if in_view(outlines, views, fovy, aspect, ROOM):
            break
        distance *= 1.05
    return views
