"""Whether somebody could stand in the first frame of a motion: a run begins there, at rest."""

import numpy as np

from manikin.clips.skeleton import SkeletonMotion, global_poses

# in statures: a lower foot this high is off the ground; a body this far beyond its feet falls
_CLEAR, _BEYOND = 0.05, 0.12
# [m/s] of the root
_STILL = 0.5


def first_frame(motion: SkeletonMotion, roles: dict[str, int], stature: float) -> list[str]:
    """What keeps the first frame from being a pose to stand in, in words. roles: joints by what they are."""
    places, _ = global_poses(motion)
    feet = [[roles[r] for r in (f"foot_{s}", f"toes_{s}") if r in roles] for s in "lr"]
    body = [roles[r] for r in ("pelvis", "chest", "neck", "thigh_l", "thigh_r", "shank_l", "shank_r") if r in roles]
    if not all(feet) or len(body) < 4:
        return []
    out = []
    both = [j for foot in feet for j in foot]
    # each joint of the feet against where it is when it rests
    high = float((places[0, both, 2] - np.percentile(places[:, both, 2], 10, axis=0)).min())
    if high > _CLEAR * stature:
        out.append(f"no foot is on the ground in the first frame (the lower one is {100 * high:.0f} cm above it)")
    else:
        middle = places[0, body, :2].mean(axis=0)
        left, right = (places[0, foot, :2].mean(axis=0) for foot in feet)
        span = right - left
        along = float(np.clip((middle - left) @ span / max(float(span @ span), 1e-9), 0, 1))
        away = float(np.linalg.norm(middle - left - along * span))
        if away > _BEYOND * stature:
            out.append(f"the first frame cannot be stood in: the body is {100 * away:.0f} cm beyond its feet")
    if len(motion.root) > 1:
        last = min(len(motion.root) - 1, max(1, round(0.1 * motion.fps)))
        speed = float(np.linalg.norm(motion.root[last] - motion.root[0])) * motion.fps / last
        if speed > _STILL:
            out.append(f"the body moves at {speed:.1f} m/s in the first frame, and a run begins there at rest")
    return out
