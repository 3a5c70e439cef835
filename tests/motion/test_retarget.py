"""Retargeting: our own clips on other bodies and through other skeletons, feet, limits, and real motion capture."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from manikin.characters.human import human
from manikin.clips.bvh import write_bvh
from manikin.clips.clip import load_clip, save_clip
from manikin.clips.skeleton import SkeletonMotion, change_axes, global_poses
from manikin.clips.source import prepare, read_motion
from manikin.errors import ClipError
from manikin.motion.chain import chain_of, clip_motion, poses_of
from manikin.motion.contacts import find_contacts
from manikin.motion.retarget import Retargeted, centre_error, read_clip, retarget, shortest_rotation, slips
from manikin.motion.spacetime import Goal, Prior, _cost, _normal, solve_motion
from manikin.physics.world import World
from manikin.scenes.stage import stage
from manikin.spatial import quat_conjugate, quat_from_axis_angle, quat_from_rotvec, quat_multiply, rotate

BODY = human(skin=False)
CHAIN = chain_of(BODY)

# our names in Mixamo's words
MIXAMO = {
    "pelvis": "Hips", "lumbar": "Spine", "thorax": "Spine2", "head": "Neck", "clavicle": "Shoulder", "upper_arm": "Arm",
    "forearm": "ForeArm", "hand": "Hand", "thigh": "UpLeg", "shank": "Leg", "foot": "Foot", "toes": "ToeBase",
}  # fmt: skip


def held(result: Retargeted) -> bool:
    angles = result.clip.angles(CHAIN.joints)
    return bool((angles >= CHAIN.low - 1e-9).all() and (angles <= CHAIN.high + 1e-9).all())


def still(result: Retargeted) -> tuple[float, float]:
    stances = slips(result.clip, BODY)
    return max((s.distance for s in stances), default=0.0), max((s.speed for s in stances), default=0.0)


# --- kinematics and the solver


def test_positions_and_rotations_are_mujocos() -> None:
    character = human(1.6, 90, skin=False, prefix="a/")
    chain = chain_of(character)
    world = World(stage("chain", [character], {}))
    rng = np.random.default_rng(1)
    angles = rng.uniform(chain.low, chain.high, (4, len(chain.joints)))
    root = rng.normal(size=(4, 7))
    root[:, 3:] /= np.linalg.norm(root[:, 3:], axis=1, keepdims=True)
    poses = poses_of(chain, root, angles)
    address = [int(world.model.jnt_qposadr[world.joint("a/" + j)]) for j in chain.joints]
    bodies = [world.body("a/" + b) for b in chain.bodies]
    for t in range(4):
        world.data.qpos[:7], world.data.qpos[address] = root[t], angles[t]
        mujoco.mj_kinematics(world.model, world.data)
        assert np.abs(world.data.xpos[bodies] - poses.place[t]).max() < 1e-12
        assert np.abs(np.abs((world.data.xquat[bodies] * poses.rotation[t]).sum(axis=1)) - 1).max() < 1e-12


def test_gradient_is_that_of_the_cost() -> None:
    """J^T e against finite differences, for points and orientations alike."""
    rng = np.random.default_rng(2)
    frames, count = 2, len(CHAIN.joints)
    angles = rng.uniform(0.6 * CHAIN.low, 0.6 * CHAIN.high, (frames, count))
    root = np.hstack([rng.normal(size=(frames, 3)), np.tile(quat_from_rotvec(np.array([0.3, -0.4, 0.9])), (frames, 1))])
    poses = poses_of(CHAIN, root, angles)
    goals = []
    for name, point in (("hand_l", np.array([0.1, 0.0, -0.1])), ("foot_r", np.zeros(3)), ("head", None), ("pelvis", None)):
        body, weight = CHAIN.body(name), rng.uniform(0.5, 2, frames)
        if point is None:
            target = quat_multiply(np.tile(quat_from_rotvec(rng.normal(size=3) * 0.2), (frames, 1)), poses.rotation[:, body])
        else:
            target = poses.point(body, point) + 0.2 * rng.normal(size=(frames, 3))
        goals.append(Goal(body, point, target, weight))
    nothing = Prior(np.zeros(6 + count), np.zeros(count), np.zeros(count))
    _, g = _normal(CHAIN, goals, root, angles)
    for column in range(6 + count):
        costs = []
        for sign in (1, -1):
            r, a = root.copy(), angles.copy()
            step = np.zeros(3)
            if column < 3:
                r[0, column] += sign * 1e-6
            elif column < 6:
                step[column - 3] = sign * 1e-6
                r[0, 3:] = quat_multiply(r[0, 3:], quat_from_rotvec(step))
            else:
                a[0, column - 6] += sign * 1e-6
            costs.append(_cost(CHAIN, goals, nothing, r, a, 60.0))
        # the log of a rotation is not quite its error's derivative: exact to second order in the error
        assert g[0, column] == pytest.approx((costs[1] - costs[0]) / 2e-6, abs=0.05), column


def test_windows_join_smoothly() -> None:
    """A long slow wave solved in windows has no seam, and keeps to limits that cut its crests."""
    frames = 700
    knee = CHAIN.joints.index("shank_l_flexion")
    wave = np.deg2rad(80) + np.deg2rad(90) * np.sin(np.arange(frames) / 40)
    angles = np.zeros((frames, len(CHAIN.joints)))
    angles[:, knee] = wave
    root = np.tile([0, 0, 1.0, 1, 0, 0, 0], (frames, 1))
    foot = CHAIN.body("shank_l")
    turn = poses_of(CHAIN, root, angles).rotation[:, foot]
    goals = [Goal(0, np.zeros(3), root[:, :3], np.ones(frames)), Goal(0, None, root[:, 3:], np.full(frames, 100.0))]
    goals.append(Goal(foot, None, turn, np.ones(frames)))
    stiff = np.ones(len(CHAIN.joints))
    stiff[knee] = 0.0
    prior = Prior(np.full(6 + len(stiff), 1e-5), stiff, np.zeros(len(stiff)))
    _, found = solve_motion(CHAIN, goals, prior, root, np.zeros_like(angles) + 0.3, 60.0, 15)
    assert (found >= CHAIN.low).all()
    assert (found <= CHAIN.high).all()
    inside = (wave > CHAIN.low[knee] + 0.1) & (wave < CHAIN.high[knee] - 0.1)
    assert np.abs(found[inside, knee] - wave[inside]).max() < 0.02
    assert (
        np.abs(np.diff(found[:, knee], 2)).max()
        < 2 * np.abs(np.diff(np.clip(wave, CHAIN.low[knee], CHAIN.high[knee]), 2)).max()
    )


def test_shortest_rotations() -> None:
    rng = np.random.default_rng(4)
    for a, b in [*rng.normal(size=(20, 2, 3)), (np.array([1.0, 0, 0]), np.array([-2.0, 0, 0])), (np.ones(3), np.ones(3))]:
        assert np.allclose(rotate(shortest_rotation(a, b), a) / np.linalg.norm(a), b / np.linalg.norm(b), atol=1e-9)


# --- contacts


def test_contacts_of_steps_and_stairs() -> None:
    """Heel, flat, ball, swing; a step up; a foot held in the air is no contact."""
    fps = 100
    t = np.arange(400)
    heel, ball = np.zeros((400, 2, 3)), np.zeros((400, 2, 3))
    ball[:, :, 0] = 0.17
    ball[:, 1, 1] = heel[:, 1, 1] = -0.2
    lift = np.clip((t - 100) / 20, 0, 1)
    for way in (heel, ball):
        # the left foot swings up a step of 0.2 m and 0.6 m ahead, and stays
        go = np.clip((t - 120) / 40, 0, 1)
        way[:, 0, 0] += 0.6 * go
        way[:, 0, 2] += 0.2 * go + 0.1 * np.sin(np.pi * go)
        # the right foot is lifted later and held still in the air, above the left
        way[:, 1, 2] += 0.5 * np.clip((t - 200) / 40, 0, 1)
    heel[:, 0, 2] += np.where(t < 120, 0.08 * lift, 0)
    found = find_contacts(heel, ball, fps)
    assert abs(found.floor) < 0.01
    assert found.flat[:95].all()
    assert found.ball[105:118, 0].all()
    assert not found.heel[112:118, 0].any()
    assert not found.ball[128:155, 0].any()
    assert found.flat[180:, 0].all(), "standing on the step"
    assert not found.flat[250:, 1].any(), "held in the air"


# --- our own clips, through a file


@pytest.fixture(scope="module")
def as_bvh(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A shipped clip as BVH, the skeleton changed on the way."""

    def write(name: str, change: Callable[[SkeletonMotion], SkeletonMotion] = lambda m: m, height: float = 1.75) -> Path:
        path = tmp_path_factory.mktemp("bvh") / f"{name}.bvh"
        write_bvh(change(clip_motion(load_clip(name), human(height, 70, skin=False))), path)
        return path

    return write


@pytest.mark.parametrize("name", ["lift_back", "lift_knees"])
def test_our_own_motion_comes_back(as_bvh: Callable[..., Path], name: str) -> None:
    clip = load_clip(name)
    result = retarget(read_motion(as_bvh(name)), BODY)
    assert result.scale == pytest.approx(1, abs=1e-3)
    assert centre_error(result, BODY).mean() < 0.005
    angles = np.rad2deg(np.abs(result.clip.angles(clip.joints) - clip.qpos[:, 7:]))
    assert angles.mean() < 1.5
    assert result.clip.contacts.mean() > 0.9
    way, speed = still(result)
    assert way < 0.01
    assert speed < 0.02
    assert held(result)


def _mixamo(motion: SkeletonMotion) -> SkeletonMotion:
    def name(body: str) -> str:
        part, _, side = body.rpartition("_")
        return (
            f"mixamorig:{ {'l': 'Left', 'r': 'Right'}[side] }{MIXAMO[part]}"
            if side in ("l", "r")
            else f"mixamorig:{MIXAMO[body]}"
        )

    return replace(motion, joints=tuple(name(b) for b in motion.joints))


def _rest_changed(motion: SkeletonMotion) -> SkeletonMotion:
    """The same motion on a skeleton that rests in a T-pose: arms out to the sides, legs a little apart."""
    rest = {f"upper_arm_{s}": (1, 0, 0, sign * np.pi / 2) for s, sign in (("l", 1), ("r", -1))}
    rest |= {f"thigh_{s}": (1, 0, 0, sign * 0.35) for s, sign in (("l", 1), ("r", -1))}
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(motion.joints), 1))
    for j, joint in enumerate(motion.joints):
        own = quat_from_axis_angle(rest[joint][:3], rest[joint][3]) if joint in rest else np.array([1.0, 0, 0, 0])
        parent = motion.parents[j]
        turns[j] = own if parent < 0 else quat_multiply(turns[parent], own)
    offsets, rotations = motion.offsets.copy(), motion.rotations.copy()
    for j, parent in enumerate(motion.parents):
        above = np.array([1.0, 0, 0, 0]) if parent < 0 else turns[parent]
        offsets[j] = rotate(above, motion.offsets[j])
        rotations[:, j] = quat_multiply(
            quat_multiply(np.broadcast_to(above, rotations[:, j].shape), motion.rotations[:, j]),
            np.broadcast_to(quat_conjugate(turns[j]), rotations[:, j].shape),
        )
    return replace(motion, offsets=offsets, rotations=rotations)


def _rest_nonsense(motion: SkeletonMotion) -> SkeletonMotion:
    """The same motion on a skeleton whose bones all rest along X: its resting pose means nothing."""
    offsets, rotations = motion.offsets.copy(), motion.rotations.copy()
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(motion.joints), 1))
    for j in range(1, len(motion.joints)):
        inside = motion.children(j)
        if len(inside) == 1:
            turns[j] = shortest_rotation(motion.offsets[inside[0]], np.array([1.0, 0.0, 0.0]))
    for j, parent in enumerate(motion.parents):
        above = turns[parent] if parent >= 0 else np.array([1.0, 0, 0, 0])
        offsets[j] = rotate(above, motion.offsets[j])
        rotations[:, j] = quat_multiply(
            quat_multiply(np.broadcast_to(above, rotations[:, j].shape), motion.rotations[:, j]),
            np.broadcast_to(quat_conjugate(turns[j]), rotations[:, j].shape),
        )
    return replace(motion, offsets=offsets, rotations=rotations)


@pytest.mark.parametrize(("change", "off"), [(_mixamo, 0.5), (_rest_changed, 6), (_rest_nonsense, 12)])
def test_other_names_and_other_resting_poses(
    as_bvh: Callable[..., Path], change: Callable[[SkeletonMotion], SkeletonMotion], off: float
) -> None:  # fmt: skip
    """The file holds the same motion in other words: the clip is the same.

    Where the resting pose means nothing, the trunk is taken to be straight in the most upright frame.
    """
    plain = clip_motion(load_clip("lift_back"), BODY)
    assert np.abs(global_poses(change(plain))[0] - global_poses(plain)[0]).max() < 1e-5
    result = retarget(read_motion(as_bvh("lift_back", change)), BODY)
    straight = retarget(read_motion(as_bvh("lift_back")), BODY)
    assert centre_error(result, BODY).mean() < 0.01
    difference = np.rad2deg(np.abs(result.clip.qpos[:, 7:] - straight.clip.qpos[:, 7:])).mean(axis=0)
    # the hands' own rotations depend on the resting pose
    limbs = [k for k, j in enumerate(CHAIN.joints) if not j.startswith(("hand", "toes", "head")) and "pronation" not in j]
    assert difference[limbs].max() < off


def test_units_and_axes_do_not_matter() -> None:
    motion = clip_motion(load_clip("lift_knees"), BODY)
    one = retarget(prepare(motion), BODY).clip
    other = retarget(prepare(change_axes(motion, np.roll(np.eye(3), 1, axis=0), 39.37)), BODY).clip
    assert np.abs(one.qpos[:, 7:] - other.qpos[:, 7:]).max() < 1e-2


@pytest.mark.parametrize(("height", "mass"), [(1.45, 45), (1.95, 110)])
def test_bodies_of_other_sizes(as_bvh: Callable[..., Path], height: float, mass: float) -> None:
    body = human(height, mass, skin=False)
    result = retarget(read_motion(as_bvh("lift_back")), body)
    assert result.clip.height == height
    assert result.scale == pytest.approx(height / 1.75, rel=0.03)
    assert centre_error(result, body).mean() < 0.02
    stances = slips(result.clip, body)
    assert stances
    assert max(s.distance for s in stances) < 0.01
    feet = poses_of(chain_of(body), result.clip.qpos[:, :7], result.clip.qpos[:, 7:]).place[:, chain_of(body).body("foot_l"), 2]
    assert np.abs(feet - 0.043 * height).max() < 0.01, "soles on the ground"


def test_it_starts_at_the_origin_facing_x(as_bvh: Callable[..., Path]) -> None:
    def turned(motion: SkeletonMotion) -> SkeletonMotion:
        about = quat_from_axis_angle((0, 0, 1), 2.0)
        rotations = motion.rotations.copy()
        rotations[:, 0] = quat_multiply(np.broadcast_to(about, rotations[:, 0].shape), rotations[:, 0])
        return replace(motion, rotations=rotations, root=rotate(about, motion.root) + [3.0, -2.0, 0.0])

    plain, other = (retarget(read_motion(as_bvh("lift_knees", c)), BODY).clip for c in (lambda m: m, turned))
    assert np.abs(other.qpos[0, :2]).max() < 1e-9
    assert np.abs(other.qpos - plain.qpos).max() < 0.01


def test_progress_grows_to_one(as_bvh: Callable[..., Path]) -> None:
    reported: list[float] = []
    retarget(read_motion(as_bvh("stand")), BODY, progress=reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == 1.0


def test_read_clip_takes_all_kinds(as_bvh: Callable[..., Path], tmp_path: Path) -> None:
    assert read_clip("stand", BODY).fps == load_clip("stand").fps
    save_clip(load_clip("stand"), tmp_path / "a.npz")
    assert len(read_clip(str(tmp_path / "a.npz"), BODY).qpos) == len(load_clip("stand").qpos)
    path = as_bvh("lift_back")
    assert read_clip(str(path), BODY).fps == 30
    assert read_clip(str(path), BODY, fps=25.0).fps == 25
    with pytest.raises(ClipError, match="clip_fps is for motion files"):
        read_clip("stand", BODY, fps=25.0)
    with pytest.raises(ClipError, match="retarget it"):
        load_clip(str(path))
    (tmp_path / "arm.bvh").write_text(
        "HIERARCHY\nROOT Arm\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nJOINT Hand\n{\nOFFSET 0 30 0\n"
        "CHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 9 0\n}\n}\n}\n"
        "MOTION\nFrames: 1\nFrame Time: 0.01\n0 0 0 0 0 0\n"
    )
    with pytest.raises(ClipError, match=r"arm\.bvh: no joint was recognised as .*thigh_l.*the file has: Arm, Hand"):
        read_clip(str(tmp_path / "arm.bvh"), BODY)


# --- real motion capture

REAL = {
    "mocap_cmu_asfamc/02_01.amc": None, "mocap_cmu_bvh/walk/16_16.bvh.gz": None, "mocap_cmu_bvh/walk/16_31.bvh.gz": None,
    "mocap_cmu_bvh/walk/16_33.bvh.gz": None, "mocap_cmu_bvh/walk/69_24.bvh.gz": None,
    "mocap_cmu_bvh/walk_backward/136_26.bvh.gz": None, "mocap_cmu_bvh/stride/08_05.bvh.gz": None,
    "mocap_cmu_bvh/lift_box_back/115_01.bvh.gz": 60.0, "mocap_cmu_bvh/lift_box_knees/115_06.bvh.gz": 60.0,
}  # fmt: skip


def judge(result: Retargeted, fewest: int) -> None:
    """The claims of docs/clips.md: centres within 2 cm on average, limits held, standing feet still."""
    assert centre_error(result, BODY).mean() < 0.02
    assert held(result)
    way, speed = still(result)
    assert way <= 0.01
    assert speed <= 0.02
    assert len(slips(result.clip, BODY)) >= fewest


@pytest.mark.parametrize("name", REAL)
def test_real_walks_and_lifts(mocap: Path, name: str) -> None:
    judge(retarget(read_motion(mocap / name, REAL[name]), BODY, name), 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reach/15_06.bvh.gz", "walk/104_27.bvh.gz"])
def test_real_reaches_and_the_long_walk(mocap: Path, name: str) -> None:
    judge(retarget(read_motion(mocap / "mocap_cmu_bvh" / name), BODY, name), 2)
