"""Contact of the feet with the ground: which heels and balls of the feet rest, and when."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.clips.source import runs

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# hysteresis of the speed of a resting point [m/s]: below the second throughout, and below the first at some time
SLOW, SLOWER_END = 0.20, 0.40
# near the ground [m]; within DIP of the lowest point of its own path [m] within AROUND [s]
NEAR, DIP, AROUND = 0.05, 0.025, 0.4
# heel and ball of a resting sole differ in height by less than this [m]: beyond, the higher one is lifted
LEVEL = 0.025
# shorter contacts are dropped, shorter gaps are closed [s]
SHORTEST, GAP = 0.08, 0.05
# speeds and heights are judged below this frequency [Hz]
_CUT = 10.0


@dataclass(frozen=True)
class Contacts:
    """heel, ball (T, 2): which rest, left and right. floor: height of the ground [m] in the motion's own coordinates."""

    heel: Mask
    ball: Mask
    floor: float

    @property
    def flat(self) -> Mask:
        """The whole sole rests."""
        return self.heel & self.ball


def find_contacts(heel: Array, ball: Array, fps: float, scale: float = 1.0) -> Contacts:
    """Contacts from the paths (T, 2, 3) [m] of two heels and two balls. scale: stature over 1.75 m."""
    points = np.stack([calm(heel, fps), calm(ball, fps)], axis=2)  # (T, foot, heel or ball, 3)
    speed = np.linalg.norm(np.gradient(points, 1.0 / fps, axis=0), axis=3) if len(points) > 1 else np.zeros(points.shape[:3])
    height = points[..., 2]
    slow = speed < SLOW
    floor = float(np.percentile(height[slow], 15)) if slow.any() else float(height.min())
    found = np.zeros(height.shape, bool)
    for foot in range(2):
        other = height[:, 1 - foot].min(axis=1)
        for part in range(2):
            mine = height[:, foot, part]
            level = mine < height[:, foot, 1 - part] + LEVEL * scale
            low = mine < floor + NEAR * scale
            # steps and stairs: at the lowest point of its own path, and the lower foot at some time
            dip = mine < _lowest_around(mine, round(AROUND * fps)) + DIP * scale
            for start, end in runs(_held(speed[:, foot, part]) & level & (low | dip)):
                borne = (height[start:end, foot].min(axis=1) < other[start:end] + DIP * scale).any()
                found[start:end, foot, part] = low[start:end] | borne
            found[:, foot, part] = tidy(found[:, foot, part], fps)
    # the height of the ground, from the feet that rest on it: floors of captures are rarely level to a centimetre
    standing = height[found & (height < floor + NEAR * scale)]
    return Contacts(found[..., 0], found[..., 1], float(np.median(standing)) if len(standing) else floor)


def calm(values: Array, fps: float) -> Array:
    """Zero-phase low-pass along the first axis; unchanged when there are too few frames."""
    if fps <= 2.5 * _CUT or len(values) < 24:
        return values
    # a slow import, needed for motion from files only
    from scipy.signal import butter, sosfiltfilt

    return np.asarray(sosfiltfilt(butter(2, _CUT / (fps / 2), output="sos"), values, axis=0))


def _held(speed: Array) -> Mask:
    """Hysteresis: stretches below the higher bound that fall below the lower one at some time."""
    out = speed < SLOWER_END
    for start, end in runs(out):
        out[start:end] = bool((speed[start:end] < SLOW).any())
    return np.asarray(out)


def _lowest_around(values: Array, reach: int) -> Array:
    """Least value within `reach` frames before and after."""
    padded = np.pad(values, reach, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).min(axis=1)


def tidy(mask: Mask, fps: float) -> Mask:
    """Close short gaps, then drop short stretches."""
    out = mask.copy()
    for start, end in runs(~out):
        if start > 0 and end < len(out) and (end - start) / fps < GAP:
            out[start:end] = True
    for start, end in runs(out):
        if (end - start) / fps < SHORTEST and len(out) > (end - start):
            out[start:end] = False
    return out
