"""Motion files: format, units and upright axis determined, known damage repaired, other damage named.

Every guess and repair is noted; nothing is changed silently.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from manikin.clips.asf import read_amc
from manikin.clips.bvh import read_bvh
from manikin.clips.first_frame import first_frame
from manikin.clips.roles import find_roles, zero_children
from manikin.clips.skeleton import SkeletonMotion, change_axes, global_poses, rest_places
from manikin.clips.text import kind_of
from manikin.errors import ClipError, did_you_mean

Array = NDArray[np.float64]

KINDS = (".bvh", ".amc")
# hip to ankle along the bones, in statures (Drillis & Contini 1966)
LEG = 0.477
# units in use, in metres: the last is the inch divided by 0.45 of the CMU database
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "dm": 0.1, "CMU unit (inch / 0.45)": 0.0254 / 0.45}
# statures that are accepted [m]
STATURES = (1.1, 2.3)
GRAVITY = 9.81
# statures in the file's own units beyond which the numbers make no sense
_SIZES = (1e-5, 1e7)
# the CMU conversion to BVH of B. Hahne (cgspeed), by names that no other skeleton has together
_CMU_BVH = {"LHipJoint", "RHipJoint", "LowerBack", "Spine1", "Neck1", "LeftFingerBase"}
# subjects whose headers say 120 Hz though free flight shows 60
_CMU_SLOW = ("115", "143")


def read_motion(path: Path, fps: float | None = None, skeleton: Path | None = None) -> SkeletonMotion:
    """A BVH or AMC file (.gz too) in metres, Z up, with added frames dropped and known damage repaired.

    fps: overrides the file's rate (AMC files have none). skeleton: the .asf of an .amc, default: the one in its folder.
    """
    kind = kind_of(path)
    if kind == ".bvh":
        raw = read_bvh(path)
        raw = raw if fps is None else replace(raw, fps=fps)
    elif kind == ".amc":
        raw = read_amc(path, skeleton, fps)
    else:
        raise ClipError(f"{path}: unknown kind of motion file '{kind}'{did_you_mean(kind, KINDS)}")
    return prepare(raw)


def prepare(raw: SkeletonMotion) -> SkeletonMotion:
    """Repair, rotate upright, scale to metres, drop an added first frame."""
    motion = _repair_cmu(raw)
    places, _ = global_poses(motion)
    roles = find_roles(motion)
    up, how = _upright(motion, places, roles)
    unit, unit_name = _unit(motion, roles)
    motion = change_axes(motion, up, unit)
    first = motion.notes
    motion = replace(motion, notes=(f"units: 1 = {unit:.6g} m ({unit_name})", f"up: {how}", *first))
    return _drop_added(motion)


# --- units and axes


def _unit(motion: SkeletonMotion, roles: dict[str, int]) -> tuple[float, str]:
    """Metres per unit: the file's, if it gives a human stature (from the length of the legs), else the usual unit that does."""
    stature = _raw_stature(motion, roles)
    if motion.metres is not None and STATURES[0] <= stature * motion.metres <= STATURES[1]:
        return motion.metres, "as the file says"
    fits = {name: abs(np.log(stature * unit / 1.7)) for name, unit in UNITS.items()}
    name = min(fits, key=lambda n: fits[n])
    if STATURES[0] <= stature * UNITS[name] <= STATURES[1]:
        return UNITS[name], f"{name}, guessed: legs of a {stature * UNITS[name]:.2f} m tall body"
    return 1.7 / stature, "no usual unit fits: the body is taken to be 1.70 m tall"


def _raw_stature(motion: SkeletonMotion, roles: dict[str, int]) -> float:
    """Stature in the file's units from the bones of the legs, or from the whole skeleton where there are none."""
    legs = [
        float(np.linalg.norm(motion.offsets[roles[f"shank_{s}"]]) + _chain(motion, roles[f"shank_{s}"], roles[f"foot_{s}"]))
        for s in "lr"
        if {f"thigh_{s}", f"shank_{s}", f"foot_{s}"} <= set(roles)
    ]
    extent = float(np.ptp(rest_places(motion), axis=0).max())
    found = max(legs) / LEG if legs and max(legs) > 0 else extent
    if not _SIZES[0] <= found <= _SIZES[1]:
        raise ClipError(f"the skeleton is {found:.3g} units tall: {_SIZES[0]:g} to {_SIZES[1]:g} are expected")
    return found


def _chain(motion: SkeletonMotion, start: int, end: int) -> float:
    """Length along the bones from a joint down to another."""
    total = 0.0
    while end not in (start, -1):
        total += float(np.linalg.norm(motion.offsets[end]))
        end = int(motion.parents[end])
    return total


def stature(motion: SkeletonMotion) -> float:
    """The stature [m], from the length of the legs."""
    return _raw_stature(motion, find_roles(motion))


def _upright(motion: SkeletonMotion, places: Array, roles: dict[str, int]) -> tuple[Array, str]:
    """Matrix (3, 3) that rotates the upright axis to Z (and Y-up files to X forward), and the axis as text.

    People are upright most of the time: from the feet to the head, summed over all frames. Where the sum has no clear
    direction (someone rolls on the floor) the rest pose decides.
    """
    top = roles.get("head", roles.get("chest"))
    feet = [roles[f] for f in ("foot_l", "foot_r") if f in roles]
    if top is None or not feet:
        return _to_z(1, 1.0), "Y, as is usual (no head and feet were found)"
    body = places[:, top] - places[:, feet].mean(axis=1)
    mean = (body / np.maximum(np.linalg.norm(body, axis=1, keepdims=True), 1e-12)).mean(axis=0)
    if np.abs(mean).max() < 0.6:
        rest = rest_places(motion)
        mean = rest[top] - rest[feet].mean(axis=0)
    axis = int(np.argmax(np.abs(mean)))
    sign = float(np.sign(mean[axis])) or 1.0
    return _to_z(axis, sign), f"{'-' if sign < 0 else ''}{'XYZ'[axis]}, guessed from feet and head"


def _to_z(axis: int, sign: float) -> Array:
    """The cyclic change of axes that brings +axis to Z; for -axis, after a rotation by 180 degrees."""
    cyclic = np.roll(np.eye(3), 2 - axis, axis=0)
    if sign > 0:
        return cyclic
    other = (axis + 1) % 3
    half = -np.eye(3)
    half[other, other] = 1.0
    return cyclic @ half


# --- repairs


def _repair_cmu(motion: SkeletonMotion) -> SkeletonMotion:
    """Bones that the usual BVH conversion of the CMU database loses: thorax (11.7 cm) and wrist (half the radius)."""
    if not set(motion.joints) >= _CMU_BVH:
        return motion
    at = {name: k for k, name in enumerate(motion.joints)}
    offsets, notes = motion.offsets.copy(), list(motion.notes)
    lost = [at[n] for n in ("Neck", "LeftShoulder", "RightShoulder") if n in at]
    if len(lost) == 3 and not offsets[lost].any():
        offsets[lost] = [0.0, float(np.linalg.norm(offsets[at["Spine1"]])), 0.0]
        notes.append(
            "repaired: the thorax bone was lost in the conversion from CMU's ASF; neck and shoulders put back on top of it"
        )
    for side in ("Left", "Right"):
        hand, base = at.get(f"{side}Hand"), at.get(f"{side}FingerBase")
        if hand is not None and base is not None and not offsets[base].any():
            # Acclaim's wrist bone is in line with the radius and half as long
            offsets[hand] *= 1.5
            notes.append(
                f"repaired: the {side.lower()} wrist bone was lost in the conversion from CMU's ASF; hand put at its end"
            )
    return replace(motion, offsets=offsets, notes=tuple(notes))


def pose_steps(motion: SkeletonMotion) -> Array:
    """Mean distance that the joints move from frame to frame [m] (T - 1,), relative to place and rotation of the root."""
    still = np.zeros_like(motion.root)
    rotations = motion.rotations.copy()
    rotations[:, 0] = [1.0, 0.0, 0.0, 0.0]
    places, _ = global_poses(replace(motion, root=still, rotations=rotations))
    return np.linalg.norm(np.diff(places, axis=0), axis=2).mean(axis=1)


def _drop_added(motion: SkeletonMotion) -> SkeletonMotion:
    """Drop a first frame that is not part of the motion (a T-pose added by an exporter)."""
    if len(motion.root) < 4:
        return motion
    steps = pose_steps(motion)
    usual = max(4 * float(steps[1:6].max()), 2 * float(np.percentile(steps[1:], 99)))
    if steps[0] < max(0.03, usual):
        return motion
    note = f"dropped: the first frame is not part of the motion (joints jump {100 * steps[0]:.0f} cm after it; an added T-pose)"
    return replace(motion, rotations=motion.rotations[1:], root=motion.root[1:], notes=(*motion.notes, note))


# --- what looks wrong


def suspicions(motion: SkeletonMotion, name: str = "") -> list[str]:
    """What may be wrong with a motion that was read: rate, jumps, still or doubled frames, lost bones, odd proportions."""
    out = [*_rate(motion, name), *_jumps(motion), *_frozen(motion), *_proportions(motion), *_dead(motion)]
    out += first_frame(motion, find_roles(motion), stature(motion))
    if len(motion.root) < 2:
        out.append("there is one frame only: a pose, not a motion")
    return out


def _rate(motion: SkeletonMotion, name: str) -> list[str]:
    # that module imports this one
    from manikin.clips.rate import rate_doubts

    out = []
    if not 10 <= motion.fps <= 500:
        out.append(f"a rate of {motion.fps:g} Hz is unusual: motion capture has 24 to 240")
    subject = re.match(r"(\d+)_\d+\.", Path(name).name)
    cmu = set(motion.joints) >= _CMU_BVH or {"lhipjoint", "lowerback", "thorax", "lradius"} <= set(motion.joints)
    if cmu and subject and subject[1] in _CMU_SLOW and abs(motion.fps - 120) < 1:
        out.append(f"CMU subject {subject[1]} was captured at 60 Hz, not 120: use --clip-fps 60")
    # a known cause is enough
    return out or rate_doubts(motion)


def _jumps(motion: SkeletonMotion) -> list[str]:
    """Rotations and positions that change faster than any body can."""
    out = []
    dots = np.abs((motion.rotations[1:] * motion.rotations[:-1]).sum(axis=2)).clip(0, 1)
    speeds = 2 * np.arccos(dots) * motion.fps
    # pitchers' arms exceed 60 rad/s only about their own axis
    for j in np.flatnonzero((speeds > 60).any(axis=0))[:4]:
        at = np.flatnonzero(speeds[:, j] > 60)
        out.append(
            f"joint '{motion.joints[j]}' jumps {len(at)} times (first after frame {at[0]}: {speeds[:, j].max():.0f} rad/s)"
        )
    moved = np.linalg.norm(np.diff(motion.root, axis=0), axis=1) * motion.fps
    if len(moved) and moved.max() > 15:
        out.append(f"the root jumps after frame {int(moved.argmax())} ({moved.max():.0f} m/s)")
    return out


def _frozen(motion: SkeletonMotion) -> list[str]:
    """Frames that repeat the one before during movement: a lower rate, stretched, or gaps."""
    if len(motion.root) < 3:
        return []
    same = (np.abs(np.diff(motion.rotations, axis=0)).max(axis=(1, 2)) < 1e-9) & (
        np.abs(np.diff(motion.root, axis=0)).max(axis=1) < 1e-9
    )
    if same.all():
        return ["nothing moves"]
    # people at rest repeat frames too, but they stop and start slowly: count only repeats in full movement
    steps = pose_steps(motion) + np.linalg.norm(np.diff(motion.root, axis=0), axis=1)
    moving = steps > max(1e-3, 0.5 * float(np.median(steps[~same])))
    count = sum(end - a for a, end in runs(same) if moving[max(0, a - 1) : a].any() and moving[end : end + 1].any())
    if count < 3:
        return []
    hint = "the motion was captured at a lower rate" if count > 0.5 * moving.sum() else "gaps in the capture"
    return [f"{count} of {len(motion.root)} frames repeat the one before: {hint}"]


def _proportions(motion: SkeletonMotion) -> list[str]:
    """Limbs and trunk against the legs, and left against right."""
    roles = find_roles(motion)
    out = []
    lengths: dict[str, float] = {}
    for name, (near, far) in {"thigh": ("thigh", "shank"), "shank": ("shank", "foot"), "upper arm": ("upper_arm", "forearm"),
                              "forearm": ("forearm", "hand")}.items():  # fmt: skip
        both = [
            _chain(motion, roles[f"{near}_{s}"], roles[f"{far}_{s}"])
            for s in "lr"
            if {f"{near}_{s}", f"{far}_{s}"} <= set(roles)
        ]
        if len(both) == 2 and max(both) > 1.2 * min(both):
            out.append(f"the {name}s differ in length: {100 * both[0]:.0f} cm left, {100 * both[1]:.0f} cm right")
        if both:
            lengths[name] = sum(both) / len(both)
    tall = stature(motion)
    # fractions of stature from Drillis & Contini 1966; a third more or less is not a human
    for name, fraction in {"thigh": 0.245, "shank": 0.246, "upper arm": 0.186, "forearm": 0.146}.items():
        if name in lengths and not 0.67 < lengths[name] / (fraction * tall) < 1.4:
            out.append(
                f"the {name} is {100 * lengths[name]:.0f} cm for a stature of {tall:.2f} m: a bone may be lost or doubled"
            )
    if {"thigh_l", "thigh_r", "upper_arm_l", "upper_arm_r"} <= set(roles):
        places, _ = global_poses(motion)
        middle = [places[:, [roles[f"{r}_l"], roles[f"{r}_r"]]].mean(axis=1) for r in ("thigh", "upper_arm")]
        trunk = float(np.median(np.linalg.norm(middle[1] - middle[0], axis=1)))
        if not 0.75 < trunk / (0.292 * tall) < 1.35:
            out.append(
                f"hips to shoulders is {100 * trunk:.0f} cm for a stature of {tall:.2f} m: a bone of the trunk may be lost"
            )
    return out


def _dead(motion: SkeletonMotion) -> list[str]:
    """Joints that matter and never rotate."""
    roles = find_roles(motion)
    still = np.abs(motion.rotations - motion.rotations[:1]).max(axis=(0, 2)) < 1e-9
    if still.all() or len(motion.root) < 3:
        return []
    parts = set()
    for role in (f"{part}_{s}" for part in ("thigh", "shank", "foot", "upper_arm", "forearm", "hand") for s in "lr"):
        # the rotation may be in another joint at the same place
        if role in roles and still[roles[role]] and still[zero_children(motion, roles[role])].all():
            parts.add(role[:-2])
    return [f"no data: {', '.join(sorted(parts))} never rotates"] if parts else []


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Stretches [start, end) where a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2])]
