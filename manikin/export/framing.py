"""Framing: where to look from so that the characters are in the picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from manikin.export.soft import SoftSurface

Array = NDArray[np.float64]

# geometry that is drawn: shells and props; collision capsules are not for looking at
DRAWN = 3
# a character that is followed stays within this share of the picture
ROOM = 0.8
# and is seen from no nearer than this share of the distance that the scene asks for
NEAREST = 0.65
# a little over the edge is still in the picture
EDGE = 1.05


@dataclass(frozen=True)
class View:
    """azimuth from the character's front, elevation [deg], distance [m], point looked at [m]."""

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


def across(points: Array, view: View, fovy: float, aspect: float) -> Array:
    """Where points (n, 3) are in a picture: (n, 2) right and up from its middle, 1 at its edges. fovy [deg]."""
    turn, tilt = np.deg2rad(180 + view.azimuth), np.deg2rad(view.elevation)
    forward = np.array([np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)])
    right = np.array([np.sin(turn), -np.cos(turn), 0.0])
    away = points - (np.array(view.at) - view.distance * forward)
    half = np.tan(np.deg2rad(fovy) / 2)
    sides = np.stack([away @ right / aspect, away @ np.cross(right, forward)], axis=1)
    # what is behind the camera is nowhere
    depth = away @ forward
    return np.where(depth[:, None] > 1e-6, sides / np.maximum(depth, 1e-6)[:, None] / half, np.inf)


def in_view(outlines: Sequence[Array], views: Sequence[View], fovy: float, aspect: float, share: float = EDGE) -> bool:
    """Whether everything is within this share of its picture."""
    return all(np.abs(across(points, view, fovy, aspect)).max() <= share for points, view in zip(outlines, views))


def keep_in_view(outlines: Sequence[Array], view: View, fovy: float, aspect: float, calm: float = 0.0) -> list[View]:
    """A view for each moment, of which the outlines of the characters are given.

    They are all the same while nothing leaves the picture. Otherwise the camera goes along over the ground, as near as
    shows everything; it does not go up and down, so that a leap is seen as one. calm: moments over which its way is smoothed.
    """
    views = [view] * len(outlines)
    if not outlines or min(len(points) for points in outlines) == 0 or in_view(outlines, views, fovy, aspect):
        return views
    lowest, highest = (np.array([f(points, axis=0) for points in outlines]) for f in (np.min, np.max))
    middle = (lowest + highest) / 2
    height = (lowest[:, 2].min() + highest[:, 2].max()) / 2
    if calm > 0:
        middle = gaussian_filter1d(middle, calm, axis=0, mode="nearest")
    # from near by on, further and further
    distance = NEAREST * view.distance
    while distance < 100 * view.distance:
        views = [replace(view, distance=distance, at=(float(x), float(y), float(height))) for x, y, _ in middle]
        if in_view(outlines, views, fovy, aspect, ROOM):
            break
        distance *= 1.05
    return views
