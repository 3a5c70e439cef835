"""Whether the first frame of a motion is a standing pose: a run begins there, at rest."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from manikin.clips.skeleton import SkeletonMotion, global_poses

Array = NDArray[np.float64]

# a trunk within this angle [deg] is upright
_UPRIGHT = 35.0
# in statures: a foot within this distance of its resting height is on the ground; with hips this high above the ankles nobody
# crouches (0.48 in upright standing); a body this far beyond its feet falls
_ON_GROUND, _HIGH, _BEYOND = 0.0286, 0.375, 0.12
# in statures: ankles and balls of the feet over the ground when the sole is flat
_RESTING = {"foot": 0.043, "toes": 0.012}
# [m/s] of the root
_STILL = 0.5


def first_frame(motion: SkeletonMotion, roles: Mapping[str, int], stature: float, ground: float | None = None) -> list[str]:
    """Why the first frame is not a pose that a run can begin in; empty when it is.

    roles: joint numbers by role. ground: its height [m], if known; else feet are compared with their own resting heights.
    """
    body = [roles[r] for r in ("pelvis", "chest", "neck", "thigh_l", "thigh_r", "shank_l", "shank_r") if r in roles]
    if len(body) < 4 or not {"upper_arm_l", "upper_arm_r", "thigh_l", "thigh_r", "foot_l", "foot_r"} <= roles.keys():
        return []
    places, _ = global_poses(motion)
    trouble = _trouble(places, roles, body, stature, ground)
    out = [f"the first frame is not a standing pose: {trouble}"] if trouble else []
    if len(motion.root) > 1:
        last = min(len(motion.root) - 1, max(1, round(0.1 * motion.fps)))
        speed = float(np.linalg.norm(motion.root[last] - motion.root[0])) * motion.fps / last
        if speed > _STILL:
            out.append(f"the body moves at {speed:.1f} m/s in the first frame, and a run begins there at rest")
    return out


def _trouble(places: Array, roles: Mapping[str, int], body: list[int], stature: float, ground: float | None) -> str:
    """The first reason why this is not upright standing on both feet; "" when it is."""
    hips, shoulders = (places[0, [roles[f"{part}_l"], roles[f"{part}_r"]]].mean(axis=0) for part in ("thigh", "upper_arm"))
    trunk = shoulders - hips
    lean = float(np.rad2deg(np.arctan2(np.hypot(trunk[0], trunk[1]), trunk[2])))
    if lean > _UPRIGHT:
        return f"the trunk leans {lean:.0f} degrees"
    for side, name in (("l", "left"), ("r", "right")):
        heights = []
        for part in ("foot", "toes"):
            if f"{part}_{side}" in roles:
                joint = places[:, roles[f"{part}_{side}"], 2]
                rest = float(np.percentile(joint, 10)) if ground is None else ground + _RESTING[part] * stature
                heights.append(float(joint[0]) - rest)
        height = min(heights)
        if abs(height) > _ON_GROUND * stature:
            return f"the {name} foot is {100 * abs(height):.0f} cm {'above' if height > 0 else 'below'} the ground"
    ankles = places[0, [roles["foot_l"], roles["foot_r"]]]
    high = float(hips[2] - ankles[:, 2].min())
    if high < _HIGH * stature:
        return f"the hips are {100 * high:.0f} cm above the ankles (upright: {48 * stature:.0f} cm)"
    left, right = ([roles[r] for r in (f"foot_{s}", f"toes_{s}") if r in roles] for s in "lr")
    a, b = (places[0, foot, :2].mean(axis=0) for foot in (left, right))
    middle, span = places[0, body, :2].mean(axis=0), b - a
    along = float(np.clip((middle - a) @ span / max(float(span @ span), 1e-9), 0, 1))
    away = float(np.linalg.norm(middle - a - along * span))
    return f"the body is {100 * away:.0f} cm beyond its feet" if away > _BEYOND * stature else ""
