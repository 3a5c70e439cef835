"""Retargeting: puts the motion of another skeleton on a human of any size.

Least squares over the whole motion (spacetime.py): joint centres of the uniformly scaled source and orientations of its
segments, joint limits as bounds. A first pass follows the source; feet that rest are found on the result (contacts.py); the
second pass holds them on their footprints and moves the feet in between along with them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import REFERENCE_HEIGHT, Character
from manikin.clips.bvh import quat_to_euler
from manikin.clips.clip import Clip, load_clip
from manikin.clips.roles import require_roles, zero_children
from manikin.clips.skeleton import SkeletonMotion, global_poses, rest_places
from manikin.clips.source import KINDS, read_motion, runs
from manikin.clips.text import kind_of
from manikin.errors import ClipError
from manikin.motion.chain import Chain, chain_of, poses_of
from manikin.motion.contacts import calm
from manikin.motion.footprints import foot_contacts, heels_and_balls, planted
from manikin.motion.spacetime import Goal, Prior, solve_motion
from manikin.spatial import quat_conjugate, quat_from_axis_angle, quat_multiply, rotate

Array = NDArray[np.float64]
Progress = Callable[[float], None]

# bodies whose joint centres follow the source's
CENTRES = tuple(f"{part}_{s}" for s in "lr" for part in ("thigh", "shank", "foot", "upper_arm", "forearm", "hand"))
# weights of orientations [m per rad]: an error of one radian counts as much as this many metres at a joint centre
ORIENTATIONS = {
    "pelvis": 0.08, "thorax": 0.08, "head": 0.15, "foot": 0.08, "toes": 0.03, "hand": 0.06, "thigh": 0.04, "upper_arm": 0.04,
}  # fmt: skip
# weight of accelerations [m s^2]: joint centres are followed up to about 12 Hz, twists and toes up to about 4 Hz
SMOOTH = 7e-5
# weight of the zero pose [m per rad]: distributes bending over lumbar and thorax, keeps clavicles still
PULL = {"lumbar": 0.02, "thorax": 0.02, "clavicle": 0.02, "toes": 0.01}
# bones: a body and the body at its far end
_LIMBS = (("thigh", "shank"), ("shank", "foot"), ("foot", "toes"), ("upper_arm", "forearm"), ("forearm", "hand"))


def read_clip(
    name: str, character: Character, fps: float | None = None, skeleton: str | None = None, progress: Progress | None = None
) -> Clip:  # fmt: skip
    """A shipped clip by name, a clip file (.npz), or a motion file (.bvh, .amc, .gz of these) retargeted onto a character.

    fps, skeleton: for motion files only, as in read_motion.
    """
    path = Path(name)
    if kind_of(path) not in KINDS:
        for option, given in (("clip_fps", fps), ("skeleton", skeleton)):
            if given is not None:
                raise ClipError(f"{name}: {option} is for motion files ({', '.join(KINDS)})")
        return load_clip(name)
    return retarget(read_motion(path, fps, None if skeleton is None else Path(skeleton)), character, str(path), progress).clip


@dataclass(frozen=True)
class Retargeted:
    """A clip, and the joint centres (T, 3) [m] of the scaled source by body, placed like the clip."""

    clip: Clip
    centres: dict[str, Array]
    scale: float


def retarget(
    motion: SkeletonMotion, character: Character, where: str = "motion", progress: Progress | None = None
) -> Retargeted:  # fmt: skip
    """A motion on a character. The clip starts above the origin, facing X, on ground at height zero.

    where: the motion's name in errors. The clip's contacts mark soles that rest flat; heels and balls are held, too.
    """
    report = progress or (lambda fraction: None)
    chain = chain_of(character)
    source = follow(motion, chain, where)
    goals, prior = _goals(chain, source), _prior(chain)
    root, angles = _first_guess(chain, source)
    root, angles = solve_motion(chain, goals, prior, root, angles, motion.fps, 15, lambda done: report(0.5 * done))
    poses = poses_of(chain, root, angles)
    contacts = foot_contacts(chain, poses, motion.fps)
    goals = planted(chain, goals, poses, contacts, motion.fps)
    root, angles = solve_motion(chain, goals, prior, root, angles, motion.fps, 40, lambda done: report(0.5 + 0.5 * done))
    # start above the origin, facing X: the mean direction of pelvis, chest and feet
    facing = [
        rotate(poses.rotation[0, chain.body(b)], np.array([1.0, 0.0, 0.0])) for b in ("pelvis", "thorax", "foot_l", "foot_r")
    ]
    ahead = np.sum(facing, axis=0)
    back = quat_from_axis_angle((0, 0, 1), -float(np.arctan2(ahead[1], ahead[0])))
    start = np.array([root[0, 0], root[0, 1], contacts.floor])
    place = rotate(back, root[:, :3] - start)
    rotation = quat_multiply(np.broadcast_to(back, (len(root), 4)), root[:, 3:])
    clip = Clip(motion.fps, chain.joints, np.hstack([place, rotation, angles]), contacts.flat, chain.height)
    return Retargeted(clip, {b: rotate(back, c - start) for b, c in source.centres.items()}, source.scale)


# --- the source in terms of our skeleton


@dataclass(frozen=True)
class Targets:
    """Targets from the source by body: joint centres (T, 3) [m], scaled, and rotations (T, 4)."""

    centres: dict[str, Array]
    rotations: dict[str, Array]
    scale: float


def follow(motion: SkeletonMotion, chain: Chain, where: str = "motion") -> Targets:
    """Scale the source to the chain's size and express its joint rotations as rotations of our bodies."""
    roles = require_roles(motion, where)
    places, rotations = global_poses(motion)
    bodies = _body_roles(motion, roles)
    scale = _scale(chain, motion, roles)
    fixed = _alignment(chain, motion, roles, bodies, places, rotations)
    wanted = {body: quat_multiply(rotations[:, joint], fixed[body]) for body, joint in bodies.items()}
    wanted = _square_hinges(places, roles, wanted)
    wanted = _level_feet(motion, places, roles, wanted)
    return Targets({b: scale * places[:, roles[b]] for b in CENTRES}, wanted, scale)


def _body_roles(motion: SkeletonMotion, roles: dict[str, int]) -> dict[str, int]:
    """Bodies and the source joints whose rotations they follow."""
    out = {"pelvis": roles["pelvis"]}
    if "chest" in roles:
        out["thorax"] = roles["chest"]
    if "head" in roles:
        out["head"] = roles["head"]
    for side in "lr":
        for part in ("thigh", "shank", "foot", "toes", "upper_arm", "forearm", "hand"):
            if f"{part}_{side}" in roles:
                out[f"{part}_{side}"] = roles[f"{part}_{side}"]
        # some skeletons have twist and bend of the wrist in two joints at one place: use the last one
        hand = roles[f"hand_{side}"]
        beyond = [k for k in zero_children(motion, hand) if "thumb" not in motion.joints[k].lower()]
        if beyond:
            out[f"hand_{side}"] = int(beyond[0])
    return out


def _scale(chain: Chain, motion: SkeletonMotion, roles: dict[str, int]) -> float:
    """One scale for all lengths: least squares over trunk, arms and legs, with double weight for legs."""
    places, _ = global_poses(motion)
    rest = chain.rest()
    ours, theirs, weights = [], [], []
    for near, far in _LIMBS:
        if near == "foot":
            continue
        for side in "lr":
            a, b = f"{near}_{side}", f"{far}_{side}"
            ours.append(np.linalg.norm(rest[chain.body(b)] - rest[chain.body(a)]))
            theirs.append(np.median(np.linalg.norm(places[:, roles[b]] - places[:, roles[a]], axis=1)))
            weights.append(2.0 if near in ("thigh", "shank") else 1.0)
    middles = [places[:, [roles[f"{r}_l"], roles[f"{r}_r"]]].mean(axis=1) for r in ("thigh", "upper_arm")]
    own = [rest[[chain.body(f"{r}_l"), chain.body(f"{r}_r")]].mean(axis=0) for r in ("thigh", "upper_arm")]
    ours.append(np.linalg.norm(own[1] - own[0]))
    # bending shortens the distance from hips to shoulders: take the trunk at its straightest
    theirs.append(np.percentile(np.linalg.norm(middles[1] - middles[0], axis=1), 95))
    weights.append(1.0)
    to, of, w = np.array(ours), np.array(theirs), np.array(weights)
    return float((w * to * of).sum() / max(float((w * of * of).sum()), 1e-12))


def _alignment(
    chain: Chain, motion: SkeletonMotion, roles: dict[str, int], bodies: dict[str, int], places: Array, rotations: Array
) -> dict[str, Array]:
    """Rotations (4,) of our bodies in the frames of the source's joints, from a pose in which both must agree.

    That pose is the rest pose if it is upright (a T-pose or similar), else the most upright frame of the motion.
    Trunk and head face as the hips do; each bone of a limb is rotated from our zero pose by the smallest angle.
    """
    rest = rest_places(motion)
    if _upright(rest, roles) > 0.8:
        spots, facing = rest, np.tile([1.0, 0.0, 0.0, 0.0], (len(motion.joints), 1))
    else:
        best = int(np.argmax([_upright(p, roles) for p in places]))
        spots, facing = places[best], rotations[best]
    left = spots[roles["thigh_l"]] - spots[roles["thigh_r"]]
    front = quat_from_axis_angle((0, 0, 1), float(np.arctan2(-left[0], left[1])))
    ours = dict.fromkeys(bodies, front)
    zero = chain.rest()
    for side in "lr":
        for near, far in _LIMBS:
            a, b = f"{near}_{side}", f"{far}_{side}"
            if a not in bodies or b not in roles:
                continue
            above = {"shank": "thigh", "foot": "shank", "forearm": "upper_arm"}.get(near)
            before = ours[f"{above}_{side}"] if above else front
            bone = rotate(before, zero[chain.body(b)] - zero[chain.body(a)])
            ours[a] = quat_multiply(shortest_rotation(bone, spots[roles[b]] - spots[roles[a]]), before)
        for near, above in (("toes", "foot"), ("hand", "forearm")):
            if f"{near}_{side}" in bodies:
                ours[f"{near}_{side}"] = ours[f"{above}_{side}"]
    return {body: quat_multiply(quat_conjugate(facing[joint]), ours[body]) for body, joint in bodies.items()}


def _upright(places: Array, roles: dict[str, int]) -> float:
    """How upright a pose is: the least cosine to the vertical of thighs, shanks and trunk (places (J, 3))."""
    hips = places[[roles["thigh_l"], roles["thigh_r"]]].mean(axis=0)
    shoulders = places[[roles["upper_arm_l"], roles["upper_arm_r"]]].mean(axis=0)
    bones = [shoulders - hips]
    for side in "lr":
        hip, knee, ankle = (places[roles[f"{r}_{side}"]] for r in ("thigh", "shank", "foot"))
        bones += [hip - knee, knee - ankle]
    return float(min(b[2] / max(float(np.linalg.norm(b)), 1e-9) for b in bones))


def shortest_rotation(a: Array, b: Array) -> Array:
    """The rotation (4,) by the smallest angle that brings direction a (3,) to b (3,)."""
    a, b = a / max(float(np.linalg.norm(a)), 1e-12), b / max(float(np.linalg.norm(b)), 1e-12)
    axis, cosine = np.cross(a, b), float(a @ b)
    if cosine < -1 + 1e-9:
        axis = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
    if not axis.any():
        return np.array([1.0, 0.0, 0.0, 0.0])
    return quat_from_axis_angle(axis, float(np.arctan2(np.linalg.norm(np.cross(a, b)), cosine)))


def _square_hinges(places: Array, roles: dict[str, int], wanted: dict[str, Array]) -> dict[str, Array]:
    """Twist thighs and upper arms so that knees and elbows bend in the planes of their hinges.

    The twist of axes about a bone differs between skeletons; the plane in which a knee bends over a motion does not.
    """
    out = dict(wanted)
    for side in "lr":
        for upper, lower, end, forward in (("thigh", "shank", "foot", -1.0), ("upper_arm", "forearm", "hand", 1.0)):
            body = f"{upper}_{side}"
            bone = places[:, roles[f"{end}_{side}"]] - places[:, roles[f"{lower}_{side}"]]
            bone /= np.maximum(np.linalg.norm(bone, axis=1, keepdims=True), 1e-12)
            seen = rotate(quat_conjugate(wanted[body]), bone)
            # the plane is known where the joint bends by 15 degrees or more
            bent = np.hypot(seen[:, 0], seen[:, 1]) > 0.26
            if bent.sum() < 5:
                continue
            across, along = seen[bent, 1].sum(), forward * seen[bent, 0].sum()
            twist = float(np.arctan2(forward * across, along))
            if abs(twist) < np.deg2rad(75):
                about = quat_from_axis_angle((0, 0, 1), twist)
                out[body] = quat_multiply(wanted[body], np.broadcast_to(about, wanted[body].shape))
    return out


def _level_feet(motion: SkeletonMotion, places: Array, roles: dict[str, int], wanted: dict[str, Array]) -> dict[str, Array]:
    """Tilt feet so that they are level while they rest: skeletons differ in the places of ankle and toes above the sole."""
    out = dict(wanted)
    for side in "lr":
        foot = f"foot_{side}"
        parts = [roles[r] for r in (foot, f"toes_{side}") if r in roles]
        paths = calm(places[:, parts], motion.fps)
        if len(paths) < 5:
            continue
        speed = np.linalg.norm(np.gradient(paths, 1 / motion.fps, axis=0), axis=2).max(axis=1)
        height = paths[..., 2]
        still = (speed < 0.15) & (height < np.percentile(height, 20, axis=0) + 0.03).all(axis=1)
        if still.sum() < 5:
            continue
        up = np.median(rotate(quat_conjugate(wanted[foot][still]), np.array([0.0, 0.0, 1.0])), axis=0)
        tilt = shortest_rotation(np.array([0.0, 0.0, 1.0]), up)
        if 2 * np.arccos(min(1.0, abs(tilt[0]))) < np.deg2rad(40):
            for body in (foot, f"toes_{side}"):
                if body in out:
                    out[body] = quat_multiply(wanted[body], np.broadcast_to(tilt, wanted[body].shape))
    return out


# --- goals


def _goals(chain: Chain, source: Targets) -> list[Goal]:
    frames = len(next(iter(source.centres.values())))
    goals = [Goal(chain.body(b), np.zeros(3), target, np.ones(frames)) for b, target in source.centres.items()]
    for body, target in source.rotations.items():
        weight = ORIENTATIONS.get(body.removesuffix("_l").removesuffix("_r"))
        if weight is not None:
            goals.append(Goal(chain.body(body), None, target, np.full(frames, weight * chain.height / REFERENCE_HEIGHT)))
    return goals


def _prior(chain: Chain) -> Prior:
    pull = np.full(len(chain.joints), 0.003)
    for k, joint in enumerate(chain.joints):
        for part, weight in PULL.items():
            if joint.startswith(part):
                pull[k] = weight
    return Prior(np.full(6 + len(chain.joints), SMOOTH), pull, np.clip(np.zeros(len(pull)), chain.low, chain.high))


def _first_guess(chain: Chain, source: Targets) -> tuple[Array, Array]:
    """Root and angles from orientations alone: each body rotated like the source, as far as its hinges allow."""
    hips = 0.5 * (source.centres["thigh_l"] + source.centres["thigh_r"])
    frames = len(hips)
    angles = np.zeros((frames, len(chain.joints)))
    rotations: dict[int, Array] = {0: source.rotations["pelvis"]}
    for b, parent in enumerate(chain.parents):
        if parent < 0:
            continue
        name, above = chain.bodies[b], rotations[int(parent)]
        if name == "lumbar" and "thorax" in source.rotations:
            target = _halfway(above, source.rotations["thorax"])
        else:
            target = source.rotations.get(name, above)
        mine = chain.hinges(b)
        angles[:, mine] = _hinge_angles(chain, mine, quat_multiply(quat_conjugate(above), target))
        now = above
        for k in mine:
            half = 0.5 * angles[:, k]
            now = quat_multiply(now, np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * chain.axes[k]], axis=1))
        rotations[b] = now
    middle = chain.offsets[[chain.body("thigh_l"), chain.body("thigh_r")]].mean(axis=0)
    place = hips - rotate(rotations[0], np.broadcast_to(middle, hips.shape))
    return np.hstack([place, rotations[0]]), angles


def _halfway(a: Array, b: Array) -> Array:
    middle = a + np.where((a * b).sum(axis=1, keepdims=True) < 0, -b, b)
    return middle / np.linalg.norm(middle, axis=1, keepdims=True)


def _hinge_angles(chain: Chain, hinges: NDArray[np.int64], rotation: Array) -> Array:
    """Angles (T, k) of a body's hinges for a rotation (T, 4) relative to its parent: of the two solutions, the one within the
    limits and nearer to the frame before."""
    letters = "".join("XYZ"[int(np.argmax(np.abs(chain.axes[k])))] for k in hinges)
    signs = np.array([chain.axes[k].sum() for k in hinges])
    order = letters + "".join(c for c in "YXZ" if c not in letters)
    one = quat_to_euler(rotation, order)
    two = one + np.pi
    two[:, 1] = np.pi - one[:, 1]
    count = len(hinges)
    both = np.stack([one, two], axis=1)[:, :, :count] * signs
    # with fewer than three hinges the second set of angles is a different rotation
    if count < 3:
        both = both[:, :1]
    low, high = chain.low[hinges], chain.high[hinges]
    middle = 0.5 * (low + high)
    both -= 2 * np.pi * np.round((both - middle) / (2 * np.pi))
    beyond = np.maximum(low - both, 0) + np.maximum(both - high, 0)
    out = np.empty((len(rotation), count))
    last = np.clip(np.zeros(count), low, high)
    for t in range(len(rotation)):
        cost = 3 * beyond[t].sum(axis=1) + np.abs(both[t] - last).sum(axis=1)
        out[t] = last = np.clip(both[t, int(np.argmin(cost))], low, high)
    return out


# --- measures of quality


def centre_error(result: Retargeted, character: Character) -> Array:
    """Distance [m] (T, 12) of our joint centres (hips, knees, ankles, shoulders, elbows, wrists) from the scaled source's."""
    chain = chain_of(character)
    poses = poses_of(chain, result.clip.qpos[:, :7], result.clip.angles(chain.joints))
    return np.stack([np.linalg.norm(poses.place[:, chain.body(b)] - c, axis=1) for b, c in result.centres.items()], axis=1)


class Slip(NamedTuple):
    """How far and how fast any of ankle, heel and ball moves while the sole rests [m, m/s]."""

    foot: str
    start: int
    end: int
    distance: float
    speed: float


def slips(clip: Clip, character: Character) -> list[Slip]:
    """One entry per stance of a clip."""
    chain = chain_of(character)
    poses = poses_of(chain, clip.root(character.height), clip.angles(chain.joints))
    heel, ball = heels_and_balls(chain, poses)
    out = []
    for foot, side in enumerate("lr"):
        points = np.stack([poses.place[:, chain.body(f"foot_{side}")], heel[:, foot], ball[:, foot]], axis=1)
        for start, end in runs(clip.contacts[:, foot]):
            part = points[start:end]
            distance = float(np.linalg.norm(part - part[0], axis=2).max())
            speed = float((np.linalg.norm(np.diff(part, axis=0), axis=2) * clip.fps).max()) if len(part) > 1 else 0.0
            out.append(Slip(f"foot_{side}", start, end, distance, speed))
    return out
