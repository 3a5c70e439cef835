"""Matches the joints of another skeleton to ours by name, in the usual styles (CMU, Mixamo, Biovision, 3ds Max, SMPL).

The five styles use different words, mark the side differently, and mean different joints by "shoulder", "hip" and "foot":
there the other joints of the skeleton decide.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from manikin.clips.skeleton import SkeletonMotion
from manikin.errors import ClipError

# our role: names in order of preference, without side, spaces and punctuation
_TRUNK: dict[str, tuple[str, ...]] = {
    "pelvis": ("hips", "pelvis", "hip", "root", "lowertorso", "bip01", "bip001", "cog"),
    "neck": ("neck", "neck1", "lowerneck", "neck0", "neck01", "necklower"),
    "head": ("head", "head1", "skull", "upperneck"),
}
_SIDE: dict[str, tuple[str, ...]] = {
    "clavicle": ("clavicle", "collar", "shoulder", "scapula", "clav", "collarbone", "innershoulder"),
    "upper_arm": ("arm", "upperarm", "uparm", "humerus", "shoulder", "shldr", "armupper", "shoulderjoint"),
    "forearm": ("forearm", "lowerarm", "loarm", "elbow", "radius", "armlower", "lowarm"),
    "hand": ("hand", "wrist"),
    "thigh": ("upleg", "upperleg", "thigh", "femur", "hip", "legupper", "upperlegs"),
    "shank": ("leg", "lowerleg", "shin", "calf", "tibia", "knee", "leglower", "lowleg", "shank"),
    "foot": ("foot", "ankle", "feet"),
    "toes": ("toebase", "toe", "toes", "toe0", "ball", "toe01", "toebase01", "balljoint", "foot"),
}
# a human motion must have all of these
NEEDED = ("pelvis", *(f"{part}_{s}" for s in "lr" for part in ("upper_arm", "forearm", "hand", "thigh", "shank", "foot")))

_PREFIX = re.compile(r"^(.*:|mixamorig\d*_?|bip0*1?[ _]|character\d*_|b_|def[-_]|j_bip_(c_)?|m_avg_)", re.IGNORECASE)


def split_side(name: str) -> tuple[str, str]:
    """'mixamorig:LeftUpLeg' -> ('upleg', 'l'); 'Bip01 R Thigh' -> ('thigh', 'r'); 'Spine1' -> ('spine1', '')."""
    plain = _PREFIX.sub("", name) or name
    # split CamelCase, and digits from letters
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", plain)
    low = [w.lower() for w in words]
    for k in (0, len(low) - 1) if low else ():
        if low[k] in ("left", "right", "l", "r"):
            return "".join(low[:k] + low[k + 1 :]), low[k][0]
    joined = "".join(low)
    for word, side in (("left", "l"), ("right", "r")):
        if joined.startswith(word) or joined.endswith(word):
            return joined.removeprefix(word).removesuffix(word), side
    # lfemur, rThigh, LHipJoint
    known = {w for words_ in _SIDE.values() for w in words_} | {"hipjoint", "thumb", "fingers"}
    if joined[:1] in ("l", "r") and joined[1:] in known and joined not in known:
        return joined[1:], joined[0]
    return joined, ""


def find_roles(motion: SkeletonMotion) -> dict[str, int]:
    """Joint index of each role found; `neck` is where the neck begins, `chest` the joint that carries neck and arms."""
    parts = [split_side(name) for name in motion.joints]
    roles: dict[str, int] = {}
    for role, words in _TRUNK.items():
        found = _first(parts, words, "")
        if found is not None:
            roles[role] = found
    for side in "lr":
        for part, words in _SIDE.items():
            found = _first(parts, words, side, skip={roles.get(f"{p}_{side}") for p in _SIDE if f"{p}_{side}" in roles})
            if found is not None:
                roles[f"{part}_{side}"] = found
        _resolve_words(motion, parts, roles, side)
    _resolve_trunk(motion, roles)
    return roles


def require_roles(motion: SkeletonMotion, where: str) -> dict[str, int]:
    """Like find_roles, but missing roles are an error, which also lists the joints of the file."""
    roles = find_roles(motion)
    missing = [role for role in NEEDED if role not in roles]
    if missing:
        have = ", ".join(motion.joints[:40])
        raise ClipError(f"{where}: no joint was recognised as {', '.join(missing)} (the file has: {have})")
    return roles


def _first(
    parts: Sequence[tuple[str, str]], words: Sequence[str], side: str, skip: set[int | None] | None = None
) -> int | None:
    for word in words:
        for k, (name, where) in enumerate(parts):
            if name == word and where == side and k not in (skip or ()):
                return k
    return None


def _resolve_words(motion: SkeletonMotion, parts: Sequence[tuple[str, str]], roles: dict[str, int], side: str) -> None:
    """Resolve words that mean different joints in different skeletons."""

    def named(word: str) -> int | None:
        return _first(parts, (word,), side)

    # "shoulder" alone, or below a collar, is the joint of the arm; above an "arm" it is the clavicle
    arm, clavicle, forearm = roles.get(f"upper_arm_{side}"), roles.get(f"clavicle_{side}"), roles.get(f"forearm_{side}")
    if arm is None and clavicle is not None and forearm is not None and motion.parents[forearm] == clavicle:
        roles[f"upper_arm_{side}"] = clavicle
        del roles[f"clavicle_{side}"]
    # where a "foot" hangs below an "ankle" (SMPL), the ankle is our foot and the "foot" our toes
    ankle, foot = named("ankle"), named("foot")
    if ankle is not None and foot is not None and ankle in _ancestors(motion, foot):
        roles[f"foot_{side}"], roles[f"toes_{side}"] = ankle, foot
    elif roles.get(f"toes_{side}") == roles.get(f"foot_{side}"):
        roles.pop(f"toes_{side}", None)
    # Acclaim's wrist only twists the forearm: the hand bends at the hand bone beyond it. SMPL's hand is the knuckles.
    wrist, hand = named("wrist"), named("hand")
    if wrist is not None and hand is not None and wrist in _ancestors(motion, hand):
        roles[f"hand_{side}"] = hand if named("radius") is not None else wrist


def _resolve_trunk(motion: SkeletonMotion, roles: dict[str, int]) -> None:
    legs = [roles[r] for r in ("thigh_l", "thigh_r") if r in roles]
    arms = [roles[r] for r in ("clavicle_l", "clavicle_r", "upper_arm_l", "upper_arm_r") if r in roles]
    # the pelvis is the last joint that carries both legs
    if len(legs) == 2:
        roles["pelvis"] = _common(motion, legs)
    if len(arms) >= 2:
        roles["chest"] = _common(motion, arms)
    if "neck" not in roles and "head" in roles:
        roles["neck"] = roles["head"]
    if "head" not in roles and "neck" in roles:
        roles["head"] = roles["neck"]


def _ancestors(motion: SkeletonMotion, joint: int) -> list[int]:
    out, above = [], int(motion.parents[joint])
    while above >= 0:
        out.append(above)
        above = int(motion.parents[above])
    return out


def _common(motion: SkeletonMotion, joints: Sequence[int]) -> int:
    """The last joint that carries all of them."""
    shared = set(_ancestors(motion, joints[0]))
    for j in joints[1:]:
        shared &= set(_ancestors(motion, j))
    return max(shared, default=0)


def zero_children(motion: SkeletonMotion, joint: int) -> NDArray[np.int64]:
    """Joints that sit in the same place as their parent `joint` (to a thousandth of the skeleton's size)."""
    size = float(np.linalg.norm(motion.offsets, axis=1).sum())
    near = np.linalg.norm(motion.offsets, axis=1) < 1e-3 * max(size, 1e-9)
    return np.flatnonzero((motion.parents == joint) & near)
