"""Is the frame rate right? Evidence from gravity, walking and joint speeds.

At twice the right rate everything moves twice as fast and accelerates four times as much. Four signs, the most certain
first: a body in the air falls at g; a body on the ground does not accelerate downwards much faster; in walking, the ratio of
step length to step frequency changes little with speed (Sekiya et al. 1996); limbs rotate only so fast. Slow movements on the
spot show none of them, and nothing is reported.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.clips.roles import find_roles
from manikin.clips.skeleton import SkeletonMotion, global_poses
from manikin.clips.source import GRAVITY, LEG, runs, stature

Array = NDArray[np.float64]

# in free flight [g]
_FLIGHT = (0.7, 1.4)
# downward acceleration that is exceeded in a twentieth of the frames [g], below this frequency [Hz]
_PULL, _CUT = 1.6, 8.0
# length of a step over its frequency, in units of leg and gravity. Of 15 captures of walking, running and stairs at their right
# rate: 1.16 to 2.18, half of them 1.4 to 1.6.
_RATIO, _USUAL_RATIO = (1.12, 2.5), 1.48
# steps cannot be counted at fewer frames per second
_SLOWEST = 5.0
# people who lift their feet higher than this [legs] sneak or run; those with longer steps than this [legs] run
_LIFTED, _RUNS = 0.3, 1.1
# speed [rad/s] of upper arms, forearms, thighs and shanks that one frame in 200 exceeds; and what is usual in sport
_FAST, _USUAL_FAST = 26.0, 13.0
# a wrong rate is usually a multiple or a simple fraction of the right one
_FACTORS = (1 / 4, 1 / 3, 1 / 2, 2.0, 3.0, 4.0)
_BODY = ("pelvis", "chest", "neck", "thigh_l", "thigh_r", "shank_l", "shank_r")
_LIMBS = tuple(f"{part}_{s}" for part in ("thigh", "shank", "upper_arm", "forearm") for s in "lr")


def rate_doubts(motion: SkeletonMotion) -> list[str]:
    """The evidence against the rate of a motion (metres, Z up), with the rate that would fit; at most one line."""
    roles = find_roles(motion)
    places, _ = global_poses(motion)
    for sign in (_flight, _pull, _pace, _speed):
        doubt = sign(motion, places, roles)
        if doubt is not None:
            what, factor = doubt
            return [f"{what}: the rate is more likely {motion.fps * factor:.0f} Hz than {motion.fps:g}"]
    return []


Doubt = tuple[str, float] | None
Roles = dict[str, int]


def _snapped(factor: float) -> float:
    return min(_FACTORS, key=lambda f: abs(np.log(f / factor)))


def _flight(motion: SkeletonMotion, places: Array, roles: Roles) -> Doubt:
    pull = flight_pull(motion)
    if pull is None or _FLIGHT[0] < pull / GRAVITY < _FLIGHT[1]:
        return None
    return f"in free flight the body falls at {pull:.1f} m/s^2", float(np.sqrt(GRAVITY / pull))


def flight_pull(motion: SkeletonMotion) -> float | None:
    """Downward acceleration [m/s^2] of the body while no joint is near the ground, or None when it is never in flight.

    The mean of all joints serves as the centre of mass: accurate to 10 or 20 %, enough to distinguish 60 Hz from 120.
    """
    places, _ = global_poses(motion)
    roles = find_roles(motion)
    feet = [roles[r] for r in ("foot_l", "foot_r", "toes_l", "toes_r") if r in roles]
    body = [roles[r] for r in _BODY if r in roles]
    if len(feet) < 2 or len(body) < 4:
        return None
    height = places[:, feet, 2] - np.percentile(places[:, feet, 2], 10, axis=0)
    clear = 0.06 * stature(motion)
    pulls = []
    for start, end in runs(np.asarray(height.min(axis=1) > clear)):
        count = end - start
        if count < 6:
            continue
        t = np.arange(count) / motion.fps
        middle = places[start:end][:, body, 2].mean(axis=1)
        curve = np.polyfit(t, middle, 2)
        miss = float(np.abs(np.polyval(curve, t) - middle).max())
        # a parabola with its top inside: flight, not a step up
        if curve[0] < 0 and miss < 0.015 and 0 <= -curve[1] / (2 * curve[0]) <= t[-1]:
            pulls.append(-2 * curve[0])
    return float(np.median(pulls)) if pulls else None


def _pull(motion: SkeletonMotion, places: Array, roles: Roles) -> Doubt:
    """Feet push; they do not pull the body down."""
    body = [roles[r] for r in _BODY if r in roles]
    if len(body) < 4 or motion.fps <= 2.5 * _CUT or len(places) < 24:
        return None
    from scipy.signal import butter, sosfiltfilt

    height = sosfiltfilt(butter(2, _CUT / (motion.fps / 2), output="sos"), places[:, body, 2].mean(axis=1))
    down = -np.gradient(np.gradient(height)) * motion.fps**2
    # the ends of a filtered curve are unreliable
    edge = min(len(down) // 4, round(0.1 * motion.fps))
    pull = float(np.percentile(down[edge : len(down) - edge], 95))
    if pull < _PULL * GRAVITY:
        return None
    return f"the body accelerates downwards at {pull:.0f} m/s^2, gravity gives 9.8", _snapped(float(np.sqrt(GRAVITY / pull)))


class Pace(NamedTuple):
    """Steps of someone who walks or runs on level ground: how many, length [m], frequency [Hz], height of the feet [m]."""

    steps: int
    length: float
    frequency: float
    lift: float


def pace(motion: SkeletonMotion) -> Pace | None:
    """From one moment at which the feet pass each other to the next; None when that does not happen twice in a row."""
    places, _ = global_poses(motion)
    roles = find_roles(motion)
    if not {"pelvis", "foot_l", "foot_r"} <= set(roles) or len(places) < 24 or motion.fps < _SLOWEST:
        return None
    from scipy.ndimage import gaussian_filter1d

    leg, fps = LEG * stature(motion), motion.fps
    pelvis = places[:, roles["pelvis"]]
    path = gaussian_filter1d(pelvis[:, :2], 0.15 * fps, axis=0)
    velocity = np.gradient(path, 1 / fps, axis=0)
    speed = np.linalg.norm(velocity, axis=1)
    ahead = velocity / np.maximum(speed, 1e-9)[:, None]
    apart = gaussian_filter1d(
        ((places[:, roles["foot_l"], :2] - places[:, roles["foot_r"], :2]) * ahead).sum(axis=1), 0.03 * fps
    )
    gone = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    steps = []
    for start, end in runs(speed > 0.4 * np.percentile(speed, 90)):
        passing = start + 1 + np.flatnonzero(np.sign(apart[start + 1 : end]) != np.sign(apart[start : end - 1]))
        # stairs and slopes have steps of their own
        if len(passing) and abs(pelvis[passing[-1], 2] - pelvis[passing[0], 2]) > 0.15 * leg:
            continue
        for a, b in pairwise(passing.tolist()):
            level = abs(pelvis[b, 2] - pelvis[a, 2]) < 0.08 * leg
            if level and np.abs(apart[a:b]).max() > 0.15 * leg and gone[b] - gone[a] > 0.3 * leg:
                steps.append((gone[b] - gone[a], fps / (b - a)))
    if len(steps) < 2:
        return None
    feet = places[:, [roles["foot_l"], roles["foot_r"]], 2]
    lift = float((np.percentile(feet, 98, axis=0) - np.percentile(feet, 5, axis=0)).max())
    length, frequency = np.median(steps, axis=0)
    return Pace(len(steps), float(length), float(frequency), lift)


def _pace(motion: SkeletonMotion, places: Array, roles: Roles) -> Doubt:
    found = pace(motion)
    if found is None:
        return None
    leg = LEG * stature(motion)
    ratio = found.length / leg * float(np.sqrt(GRAVITY / leg)) / found.frequency
    # slow, high steps are those of someone who sneaks, not of a wrong rate
    slow = ratio > _RATIO[1] and (found.lift < _LIFTED * leg or found.length > _RUNS * leg)
    if not (ratio < _RATIO[0] or slow):
        return None
    usual = found.frequency * ratio / _USUAL_RATIO
    what = f"{found.steps} steps of {found.length:.2f} m come at {found.frequency:.1f} a second, people take about {usual:.1f}"
    return what, _snapped(ratio / _USUAL_RATIO)


def _speed(motion: SkeletonMotion, places: Array, roles: Roles) -> Doubt:
    limbs = [roles[r] for r in _LIMBS if r in roles]
    if len(places) < 24 or not limbs:
        return None
    dots = np.abs((motion.rotations[1:, limbs] * motion.rotations[:-1, limbs]).sum(axis=2)).clip(0, 1)
    fastest = float(np.percentile(2 * np.arccos(dots) * motion.fps, 99.5, axis=0).max())
    # damaged files jump for other reasons
    if not _FAST < fastest < 8 * _FAST:
        return None
    return f"limbs rotate at {fastest:.0f} rad/s, fast sport reaches about {_FAST:.0f}", _snapped(_USUAL_FAST / fastest)
