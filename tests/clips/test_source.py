"""Motion files read whole: units, upright axis, names of joints, repairs, and what looks wrong."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manikin.characters.human import human
from manikin.clips.clip import load_clip
from manikin.clips.rate import flight_pull
from manikin.clips.roles import find_roles, require_roles, split_side
from manikin.clips.skeleton import SkeletonMotion, change_axes, global_poses
from manikin.clips.source import prepare, read_motion, stature, suspicions
from manikin.errors import ClipError
from manikin.motion.chain import clip_motion
from manikin.spatial import quat_from_axis_angle


@pytest.fixture(scope="module")
def motion() -> SkeletonMotion:
    return clip_motion(load_clip("lift_knees"), human(skin=False))


# --- names

NAMES = {
    "mixamorig:LeftUpLeg": ("upleg", "l"), "Bip01 R Thigh": ("thigh", "r"), "thigh.L": ("thigh", "l"),
    "upper_arm.R": ("upperarm", "r"), "lfemur": ("femur", "l"), "LHipJoint": ("hipjoint", "l"), "left_ankle": ("ankle", "l"),
    "rShldr": ("shldr", "r"), "Spine1": ("spine1", ""), "lowerback": ("lowerback", ""), "root": ("root", ""),
    "J_Bip_L_UpperArm": ("upperarm", "l"), "RightHandIndex1": ("handindex1", "r"), "hip_l": ("hip", "l"),
}  # fmt: skip

HABITS = {
    "mixamo": (
        "mixamorig:Hips mixamorig:Spine mixamorig:Spine1 mixamorig:Spine2 mixamorig:Neck mixamorig:Head"
        " mixamorig:LeftShoulder mixamorig:LeftArm mixamorig:LeftForeArm mixamorig:LeftHand mixamorig:RightShoulder"
        " mixamorig:RightArm mixamorig:RightForeArm mixamorig:RightHand mixamorig:LeftUpLeg mixamorig:LeftLeg"
        " mixamorig:LeftFoot mixamorig:LeftToeBase mixamorig:RightUpLeg mixamorig:RightLeg mixamorig:RightFoot"
        " mixamorig:RightToeBase",
        [-1, 0, 1, 2, 3, 4, 3, 6, 7, 8, 3, 10, 11, 12, 0, 14, 15, 16, 0, 18, 19, 20],
        {"upper_arm_l": 7, "clavicle_l": 6, "thigh_r": 18, "foot_r": 20, "toes_l": 17, "neck": 4, "chest": 3},
    ),
    "biovision": (
        "Hips LeftHip LeftKnee LeftAnkle RightHip RightKnee RightAnkle Chest LeftCollar LeftShoulder LeftElbow LeftWrist"
        " RightCollar RightShoulder RightElbow RightWrist Neck Head",
        [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 9, 10, 7, 12, 13, 14, 7, 16],
        {"thigh_l": 1, "shank_l": 2, "foot_l": 3, "clavicle_r": 12, "upper_arm_r": 13, "hand_r": 15, "pelvis": 0},
    ),
    "shoulder only": (
        "hip lThigh lShin lFoot rThigh rShin rFoot chest lShoulder lForearm lHand rShoulder rForearm rHand head",
        [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 9, 7, 11, 12, 7],
        {"upper_arm_l": 8, "forearm_r": 12, "neck": 14, "chest": 7, "pelvis": 0},
    ),
    "smpl": (
        "pelvis left_hip right_hip spine1 left_knee right_knee spine2 left_ankle right_ankle spine3 left_foot right_foot neck"
        " left_collar right_collar head left_shoulder right_shoulder left_elbow right_elbow left_wrist right_wrist left_hand"
        " right_hand",
        [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19, 20, 21],
        {"foot_l": 7, "toes_l": 10, "hand_l": 20, "upper_arm_r": 17, "clavicle_r": 14, "chest": 9},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_sides_of_names(name: str) -> None:
    assert split_side(name) == NAMES[name]


def skeleton(names: str, parents: list[int]) -> SkeletonMotion:
    joints = tuple(names.split())
    still = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(joints), 1))
    return SkeletonMotion(joints, np.array(parents), np.ones((len(joints), 3)), still, np.zeros((1, 3)), 30.0)


@pytest.mark.parametrize("habit", HABITS)
def test_joints_of_usual_skeletons_are_known(habit: str) -> None:
    names, parents, expected = HABITS[habit]
    roles = require_roles(skeleton(names, parents), habit)
    assert {role: roles[role] for role in expected} == expected


def test_missing_joints_are_named() -> None:
    names, parents, _ = HABITS["biovision"]
    with pytest.raises(ClipError, match=r"walk\.bvh: no joint was recognised as .*shank_l.* \(the file has: Hips, .*Wobble"):
        require_roles(skeleton(names.replace("LeftKnee", "Wobble"), parents), "walk.bvh")


def test_our_own_names_are_known(motion: SkeletonMotion) -> None:
    roles = find_roles(motion)
    for role, joint in roles.items():
        expected = {"chest": "thorax", "neck": "head"}.get(role, role)
        assert motion.joints[joint] == expected


# --- units and axes


@pytest.mark.parametrize(
    ("unit", "said"), [(1.0, "(m,"), (0.01, "(cm,"), (0.001, "(mm,"), (0.0254, "(inch,"), (0.0254 / 0.45, "CMU")]
)
@pytest.mark.parametrize("height", [1.5, 1.95])
def test_units_are_guessed_from_the_legs(unit: float, said: str, height: float) -> None:
    body = clip_motion(load_clip("stand"), human(height, 60, skin=False))
    found = prepare(change_axes(body, np.eye(3), 1 / unit))
    assert stature(found) == pytest.approx(height, rel=0.01)
    assert said in found.notes[0]


def test_units_that_fit_nothing_are_said(motion: SkeletonMotion) -> None:
    odd = prepare(change_axes(motion, np.eye(3), 1.75))
    assert "no usual unit" in odd.notes[0]
    assert stature(odd) == pytest.approx(1.7, rel=0.01)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_upright_axis_is_found(motion: SkeletonMotion, axis: int, sign: int) -> None:
    """Whatever axis is up in the file, feet end up below the head, and nothing is mirrored."""
    turn = np.roll(np.eye(3), axis - 2, axis=0)
    if sign < 0:
        flip = -np.eye(3)
        flip[(axis + 1) % 3, (axis + 1) % 3] = 1
        turn = flip @ turn
    found = prepare(change_axes(motion, turn, 1.0))
    assert found.notes[1].startswith(f"up: {'-' if sign < 0 else ''}{'XYZ'[axis]}")
    places, ours = global_poses(found)[0], global_poses(motion)[0]
    assert np.allclose(places[..., 2], ours[..., 2])
    left = found.joints.index("thigh_l"), found.joints.index("thigh_r")
    across, ahead = (
        places[0, left[0]] - places[0, left[1]],
        places[0, found.joints.index("toes_l")] - places[0, found.joints.index("foot_l")],
    )
    assert np.cross(ahead, across)[2] > 0


# --- what is repaired and what is named


def test_an_added_first_frame_is_dropped(motion: SkeletonMotion) -> None:
    first = motion.rotations[:1].copy()
    for side, sign in (("l", 1), ("r", -1)):
        first[0, motion.joints.index(f"upper_arm_{side}")] = quat_from_axis_angle((1, 0, 0), sign * np.pi / 2)
    added = replace(
        motion, rotations=np.concatenate([first, motion.rotations]), root=np.concatenate([motion.root[:1], motion.root])
    )
    found = prepare(added)
    assert len(found.root) == len(motion.root)
    assert any("T-pose" in note for note in found.notes)
    assert len(prepare(motion).root) == len(motion.root), "a motion without one keeps its frames"


def spoil(motion: SkeletonMotion, **changes: object) -> list[str]:
    return suspicions(prepare(replace(motion, **changes)))  # type: ignore[arg-type]


def test_nothing_looks_wrong_with_a_sound_clip(motion: SkeletonMotion) -> None:
    assert suspicions(prepare(motion)) == []


def _flipped(motion: SkeletonMotion) -> dict[str, object]:
    rotations = motion.rotations.copy()
    rotations[50, 5] = quat_from_axis_angle((0, 1, 0), 3.0)
    return {"rotations": rotations}


def _stretched(motion: SkeletonMotion) -> dict[str, object]:
    twice = np.repeat(np.arange(len(motion.root)), 2)
    return {"rotations": motion.rotations[twice], "root": motion.root[twice], "fps": 60.0}


def _legs(motion: SkeletonMotion) -> dict[str, object]:
    offsets = motion.offsets.copy()
    offsets[motion.joints.index("foot_r")] *= 0.7
    return {"offsets": offsets}


def _arm(motion: SkeletonMotion) -> dict[str, object]:
    offsets = motion.offsets.copy()
    offsets[[motion.joints.index("hand_r"), motion.joints.index("hand_l")]] *= 0.5
    return {"offsets": offsets}


def _trunk(motion: SkeletonMotion) -> dict[str, object]:
    offsets = motion.offsets.copy()
    offsets[motion.joints.index("thorax")] = 0
    offsets[motion.joints.index("lumbar")] = 0
    return {"offsets": offsets}


def _dead_arm(motion: SkeletonMotion) -> dict[str, object]:
    rotations = motion.rotations.copy()
    rotations[:, motion.joints.index("forearm_l")] = [1, 0, 0, 0]
    return {"rotations": rotations}


def _jump(motion: SkeletonMotion) -> dict[str, object]:
    root = motion.root.copy()
    root[40:, 0] += 5.0
    return {"root": root}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_flipped, "jumps"), (_stretched, "captured at a lower rate"), (_legs, "shanks differ in length"),
        (_arm, "the forearm is 13 cm"), (_trunk, "a bone of the trunk may be lost"), (_dead_arm, "forearm never rotates"),
        (_jump, "the root jumps"), (lambda m: {"fps": 2000.0}, "2000 Hz is unusual"),
        (lambda m: {"rotations": m.rotations[:1], "root": m.root[:1]}, "one frame only"),
        (lambda m: {"rotations": m.rotations[[0] * 5], "root": m.root[[0] * 5]}, "nothing moves"),
    ],
)  # fmt: skip
def test_what_looks_wrong_is_named(
    motion: SkeletonMotion, change: Callable[[SkeletonMotion], dict[str, object]], says: str
) -> None:  # fmt: skip
    found = spoil(motion, **change(motion))
    assert any(says in line for line in found), found


def test_a_wrong_rate_shows_in_free_flight(motion: SkeletonMotion) -> None:
    """Fall with gravity, then claim twice the rate: it looks like four times gravity."""
    frames = 240
    time = np.arange(frames) / 120
    root = np.tile(motion.root[0], (frames, 1))
    air = (time > 0.8) & (time < 1.3)
    root[air, 2] += 4.905 * (time[air] - 0.8) * (1.3 - time[air])
    jump = replace(motion, rotations=np.tile(motion.rotations[:1], (frames, 1, 1)), root=root, fps=120.0)
    assert flight_pull(jump) == pytest.approx(9.81, rel=0.02)
    assert not any("free flight" in line for line in suspicions(jump))
    doubled = [line for line in suspicions(replace(jump, fps=240.0)) if "free flight" in line]
    assert len(doubled) == 1
    assert "more likely 120 Hz" in doubled[0]
    assert flight_pull(motion) is None


# --- the traps of the CMU database


def test_cmu_traps(mocap: Path) -> None:
    path = mocap / "mocap_cmu_bvh" / "lift_box_back" / "115_01.bvh.gz"
    motion = read_motion(path)
    notes = " ".join(motion.notes)
    for word in ("0.0564444", "thorax bone was lost", "left wrist bone was lost", "added T-pose"):
        assert word in notes
    assert any("60 Hz" in line for line in suspicions(motion, path.name))
    assert not any("60 Hz" in line for line in suspicions(read_motion(path, 60.0), path.name))
    noisy = mocap / "mocap_cmu_bvh" / "walk" / "104_27.bvh.gz"
    assert any("ToeBase' jumps" in line for line in suspicions(read_motion(noisy), noisy.name))


@pytest.mark.parametrize("name", ["hop_jump/83_40.bvh.gz", "run/09_01.bvh.gz"])
def test_real_flight_is_near_gravity(mocap: Path, name: str) -> None:
    motion = read_motion(mocap / "mocap_cmu_bvh" / name)
    pull = flight_pull(motion)
    assert pull is None or pull == pytest.approx(9.81, rel=0.3)
    assert not any("free flight" in line for line in suspicions(motion))


def test_unknown_kinds_of_files(tmp_path: Path) -> None:
    with pytest.raises(ClipError, match=r"'\.bhv'; did you mean '\.bvh'\?"):
        read_motion(tmp_path / "walk.bhv")
