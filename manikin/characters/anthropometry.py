"""Segment masses, centres of mass and inertias of the human body.

de Leva 1996, "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", J. Biomechanics 29(9), Table 4: mass in
per cent of body mass, centre in per cent of segment length from the proximal (cranial) end, radii of gyration about the
sagittal, transverse and longitudinal axis in per cent of segment length. Lengths are in per mille of the stature of the
sample (1.741 m men, 1.735 m women). "neutral" is the mean of both.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.characters.body_plan import Segment, Sex

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], centre of mass [m, body frame] and principal moments [kg m^2] about the body's own axes."""

    mass: float
    centre: Array  # (3,)
    moments: Array  # (3,) about x, y, z through the centre


# segment: ((mass %, centre %, r sagittal, r transverse, r longitudinal, length [mm]) women, the same men)
_TABLE: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "head": ((6.68, 48.41, 27.1, 29.5, 26.1, 243.7), (6.94, 50.02, 30.3, 31.5, 26.1, 242.9)),
    "upper_trunk": ((15.45, 20.77, 74.6, 50.2, 71.8, 142.5), (15.96, 29.99, 71.6, 45.4, 65.9, 170.7)),
    "middle_trunk": ((14.65, 45.12, 43.3, 35.4, 41.5, 205.3), (16.33, 45.02, 48.2, 38.3, 46.8, 215.5)),
    "lower_trunk": ((12.47, 49.20, 43.3, 40.2, 44.4, 181.5), (11.17, 61.15, 61.5, 55.1, 58.7, 145.7)),
    "upper_arm": ((2.55, 57.54, 27.8, 26.0, 14.8, 275.1), (2.71, 57.72, 28.5, 26.9, 15.8, 281.7)),
    "forearm": ((1.38, 45.59, 26.1, 25.7, 9.4, 264.3), (1.62, 45.74, 27.6, 26.5, 12.1, 268.9)),
    "hand": ((0.56, 74.74, 53.1, 45.4, 33.5, 78.0), (0.61, 79.00, 62.8, 51.3, 40.1, 86.2)),
    "thigh": ((14.78, 36.12, 36.9, 36.4, 16.2, 368.5), (14.16, 40.95, 32.9, 32.9, 14.9, 422.2)),
    "shank": ((4.81, 44.16, 27.1, 26.7, 9.3, 432.3), (4.33, 44.59, 25.5, 24.9, 10.3, 434.0)),
    "foot": ((1.29, 40.14, 29.9, 27.9, 13.9, 228.3), (1.37, 44.15, 25.7, 24.5, 12.4, 258.1)),
}
_STATURE = (1735.0, 1741.0)
# de Leva has neither shoulder girdle nor toes: they get these fractions of the upper trunk (each side) and of the foot
_GIRDLE_FRACTION = 0.06
_TOES_FRACTION = 0.20


def _row(segment: str, sex: Sex) -> Array:
    """mass fraction, centre fraction, three radii (fractions of length), length (fraction of stature)."""
    women, men = (
        np.array(values) / np.array([100, 100, 100, 100, 100, stature]) for values, stature in zip(_TABLE[segment], _STATURE)
    )
    return {"female": women, "male": men, "neutral": (women + men) / 2}[sex]


def inertials(segments: tuple[Segment, ...], height: float, mass: float, sex: Sex) -> dict[str, Inertial]:
    """Inertial properties of every body of the skeleton. The masses sum to `mass`."""
    at = {s.name: s.at for s in segments}
    total = sum(_row(s, sex)[0] * (2 if s in ("upper_arm", "forearm", "hand", "thigh", "shank", "foot") else 1) for s in _TABLE)
    body = mass / total
    out: dict[str, Inertial] = {}

    def put(name: str, row: Array, fraction: float, length: float, centre: Array, upright: bool = True) -> None:
        # principal axes in the standing pose: x sagittal, y transverse, z longitudinal; a foot lies along x
        radii = row[2:5] if upright else row[[4, 3, 2]]
        m = body * row[0] * fraction
        out[name] = Inertial(m, centre - at[name], m * (radii * length) ** 2)

    # the trunk is cut at navel and breastbone: hip centre up to the suprasternal notch
    cuts = {s: _row(s, sex) for s in ("lower_trunk", "middle_trunk", "upper_trunk")}
    top = at["thigh_l"][2] + sum(r[5] for r in cuts.values()) * height
    for name, segment in (("thorax", "upper_trunk"), ("lumbar", "middle_trunk"), ("pelvis", "lower_trunk")):
        row = cuts[segment]
        length = row[5] * height
        fraction = 1 - 2 * _GIRDLE_FRACTION if name == "thorax" else 1.0
        put(name, row, fraction, length, np.array([at[name][0] if name != "pelvis" else 0.0, 0.0, top - row[1] * length]))
        top -= length
    row = _row("head", sex)
    put(
        "head",
        row,
        1.0,
        row[5] * height,
        np.array([at["head"][0] + 0.012 * height, 0.0, (1 - row[1] * row[5]) * height]),
    )

    # limbs: fractions of our own joint-to-joint lengths
    for side in ("l", "r"):
        for name, child in (("upper_arm", "forearm"), ("forearm", "hand"), ("thigh", "shank"), ("shank", "foot")):
            here, there = at[f"{name}_{side}"], at[f"{child}_{side}"]
            row = _row(name, sex)
            put(f"{name}_{side}", row, 1.0, float(np.linalg.norm(there - here)), here + row[1] * (there - here))
        row = _row("hand", sex)
        wrist = at[f"hand_{side}"]
        put(f"hand_{side}", row, 1.0, row[5] * height, wrist - np.array([0.0, 0.0, row[1] * row[5] * height]))
        row = _row("foot", sex)
        ankle, ball = at[f"foot_{side}"], at[f"toes_{side}"]
        length = row[5] * height
        heel = ankle[0] - 0.034 * height
        centre = np.array([heel + row[1] * length, ankle[1], 0.021 * height])
        put(f"foot_{side}", row, 1 - _TOES_FRACTION, length * 0.75, centre - np.array([0.03 * length, 0, 0]), upright=False)
        put(f"toes_{side}", row, _TOES_FRACTION, length * 0.3, ball + np.array([0.015 * height, 0.0, 0.0]), upright=False)
        row = cuts["upper_trunk"]
        girdle, shoulder = at[f"clavicle_{side}"], at[f"upper_arm_{side}"]
        m = body * row[0] * _GIRDLE_FRACTION
        moment = m * (0.35 * float(np.linalg.norm(shoulder - girdle))) ** 2
        out[f"clavicle_{side}"] = Inertial(m, 0.6 * (shoulder - girdle), np.full(3, moment))
    return out
