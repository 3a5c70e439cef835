"""BVH files, read by a small reader of their own, against MuJoCo's kinematics."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from odd_recording import odd_recording, world_poses

import manikin as mk
from manikin.errors import OutputError
from manikin.export.bvh import save_bvh

Array = NDArray[np.float64]


class Joint(NamedTuple):
    name: str
    parent: int
    offset: list[float]
    channels: list[str]


def read(path: Path) -> tuple[list[Joint], Array, float]:
    """Joints (End Sites are joints without channels), table of frames, time of a frame [s]."""
    words = path.read_text().split()
    joints: list[Joint] = []
    open_ones: list[int] = []
    k = 1
    assert words[0] == "HIERARCHY"
    while words[k] != "MOTION":
        if words[k] in ("ROOT", "JOINT", "End"):
            assert (words[k] == "ROOT") == (not joints)
            joints.append(Joint(words[k + 1], open_ones[-1] if open_ones else -1, [], []))
            assert words[k + 2] == "{"
            open_ones.append(len(joints) - 1)
            k += 3
        elif words[k] == "OFFSET":
            joints[-1].offset.extend(map(float, words[k + 1 : k + 4]))
            k += 4
        elif words[k] == "CHANNELS":
            count = int(words[k + 1])
            joints[-1].channels.extend(words[k + 2 : k + 2 + count])
            k += 2 + count
        else:
            assert words[k] == "}"
            open_ones.pop()
            k += 1
    assert words[k + 1] == "Frames:"
    assert words[k + 3 : k + 5] == ["Frame", "Time:"]
    table = np.array(words[k + 6 :], float).reshape(int(words[k + 2]), -1)
    return joints, table, float(words[k + 5])


def turn(axis: str, degrees: float) -> Array:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    plane = np.eye(3)
    i, j = ("XYZ".index(axis) + 1) % 3, ("XYZ".index(axis) + 2) % 3
    plane[[i, i, j, j], [i, j, i, j]] = [c, -s, s, c]
    return plane


def places(joints: list[Joint], row: Array) -> tuple[Array, Array]:
    """Where the joints are in one frame, and their axes, in the file's own frame and unit."""
    where, axes, column = np.zeros((len(joints), 3)), np.zeros((len(joints), 3, 3)), 0
    for j, joint in enumerate(joints):
        local, R = np.array(joint.offset), np.eye(3)
        for channel in joint.channels:
            value, column = row[column], column + 1
            if channel.endswith("position"):
                local["XYZ".index(channel[0])] = value
            else:
                R = R @ turn(channel[0], value)
        above = axes[joint.parent] if joint.parent >= 0 else np.eye(3)
        where[j] = (where[joint.parent] if joint.parent >= 0 else 0) + above @ local
        axes[j] = above @ R
    assert column == len(row)
    return where, axes


# BVH is Y up: its axes (x, y, z) are our (y, z, x)
TO_OURS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def assert_joints_agree(recording: mk.Recording, path: Path, prefix: str = "") -> None:
    model, frames = world_poses(recording)
    joints, table, _ = read(path)
    real = [j for j, joint in enumerate(joints) if joint.channels]
    bodies = [model.body(prefix + joints[j].name).id for j in real]
    rest = world_poses(mk.Recording(**{**vars(recording), "qpos": model.qpos0[None]}))[1][0].xmat[bodies].reshape(-1, 3, 3)
    assert len(table) == len(frames)
    for row, data in zip(table, frames):
        where, axes = places(joints, row)
        # 0.01 mm
        assert np.abs(where[real] @ TO_OURS.T / 100 - data.xpos[bodies]).max() <= 1e-5
        assert np.abs(TO_OURS @ axes[real] @ TO_OURS.T @ rest - data.xmat[bodies].reshape(-1, 3, 3)).max() <= 1e-5


@pytest.fixture(scope="module")
def file(lift: mk.Take, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bvh") / "lift.bvh"
    mk.save(lift, path)
    return path


def test_every_joint_is_where_it_was_in_every_frame(lift: mk.Take, file: Path) -> None:
    joints = [j.name for j in read(file)[0] if j.channels]
    assert sorted(joints) == sorted(lift.recording.meta["characters"]["pelvis"])
    assert_joints_agree(lift.recording, file)


def test_rate_and_scale(lift: mk.Take, file: Path) -> None:
    joints, table, step = read(file)
    assert step == pytest.approx(1 / lift.recording.meta["fps"], abs=1e-8)
    # a person of 175 cm, pelvis at hip height; the root's position is in the frames only
    assert 85 < table[0, 1] < 100
    assert joints[0].offset == [0, 0, 0]
    where, _ = places(joints, table[0])
    assert 165 < np.ptp(where[:, 1]) < 185


def test_chains_end_in_tips(file: Path) -> None:
    joints = read(file)[0]
    ends = {joints[j.parent].name: j.offset for j in joints if not j.channels}
    assert set(ends) == {"head", "hand_l", "hand_r", "toes_l", "toes_r"}
    assert ends["head"][1] > 15
    assert ends["hand_l"][1] < -8
    assert ends["toes_l"][2] > 3


def test_angles_run_without_jumps(file: Path) -> None:
    joints, table, _ = read(file)
    turns = [c.endswith("rotation") for j in joints for c in j.channels]
    assert np.abs(np.diff(table[:, turns], axis=0)).max() < 30


def test_written_twice_is_identical(lift: mk.Take, file: Path, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "again.bvh")
    assert (tmp_path / "again.bvh").read_bytes() == file.read_bytes()


def test_several_characters_have_a_file_each(tmp_path: Path) -> None:
    recording = odd_recording()
    files = save_bvh(recording, tmp_path / "odd.bvh")
    assert files == [tmp_path / "odd.bvh", tmp_path / "odd_ben.bvh"]
    assert sorted(tmp_path.iterdir()) == files
    for file, prefix in zip(files, ("anna/", "ben/")):
        assert_joints_agree(recording, file, prefix)
        assert {"base", "arm", "hand", "leg"} == {j.name for j in read(file)[0] if j.channels}


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a\.bvh: nothing to write"):
        mk.save(odd_recording(people=" "), tmp_path / "a.bvh")
    assert not list(tmp_path.iterdir())


def test_a_sliding_joint_is_refused(tmp_path: Path) -> None:
    sliding = (
        '<body name="snail"><freejoint/><geom size=".1"/><body name="eye"><joint type="slide"/><geom size=".1"/></body></body>'
    )
    recording = odd_recording(people=sliding)
    recording.meta["characters"] = {"snail": ["snail", "eye"]}
    with pytest.raises(OutputError, match="in 'snail' a joint slides by"):
        mk.save(recording, tmp_path / "a.bvh")
    assert not list(tmp_path.iterdir())
