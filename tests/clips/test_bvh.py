"""BVH: what is read, what is refused and in which line, and writing and reading back."""

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manikin.characters.human import human
from manikin.clips.bvh import quat_to_euler, read_bvh, write_bvh
from manikin.clips.clip import library, load_clip
from manikin.clips.skeleton import SkeletonMotion, euler_to_quat, global_poses
from manikin.clips.source import read_motion
from manikin.errors import ClipError
from manikin.motion.chain import clip_motion
from manikin.spatial import quat_conjugate, quat_multiply, quat_to_rotvec

SMALL = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee
  {
    OFFSET 0 -40 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 -42 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0083333
0 90 0 0 0 0 0 90 0
1 91 2 0 0 90 0 0 0
"""

# what is changed: (old, new, line of the error, what it says)
BROKEN = {
    "no hierarchy": ("HIERARCHY\n", "", 1, "begins with HIERARCHY"),
    "no root": ("ROOT Hips", "JOINT Hips", 2, "ROOT is expected"),
    "no brace": ("ROOT Hips\n{", "ROOT Hips", 3, "'{' of joint 'Hips'"),
    "open brace": ("    }\n  }\n}\nMOTION", "    }\n  }\nMOTION", 15, "before the '}' of joint 'Hips'"),
    "brace too many": ("}\nMOTION", "}\n}\nMOTION", 16, "one '}' too many"),
    "no name": ("JOINT Knee", "JOINT", 6, "without a name"),
    "same name": ("JOINT Knee", "JOINT Hips", 6, "second joint is called 'Hips'"),
    "unknown word": ("OFFSET 0 -40 0", "OFSET 0 -40 0", 8, "did you mean 'OFFSET'?"),
    "unknown channel": ("3 Zrotation Xrotation Yrotation", "3 Zrotation Xrotaton Yrotation", 9, "did you mean 'Xrotation'?"),
    "channel twice": ("3 Zrotation Xrotation Yrotation", "3 Zrotation Zrotation Yrotation", 9, "occurs twice"),
    "channel count": ("3 Zrotation", "4 Zrotation", 9, "announces 4 channels, 3 follow"),
    "no channel count": ("3 Zrotation Xrotation Yrotation", "Zrotation Xrotation", 9, "not a whole number"),
    "no offset": ("    OFFSET 0 -40 0\n", "", 13, "joint 'Knee' (opened in line 6) has no OFFSET"),
    "no channels": ("    CHANNELS 3 Zrotation Xrotation Yrotation\n", "", 13, "has no CHANNELS"),
    "short offset": ("OFFSET 0 -40 0", "OFFSET 0 -40", 8, "three numbers, found 2"),
    "bad offset": ("OFFSET 0 -40 0", "OFFSET 0 -4O 0", 8, "'-4O' in OFFSET is not a number"),
    "end without offset": ("      OFFSET 0 -42 0\n", "", 12, "End Site without OFFSET"),
    "no motion": ("MOTION\n", "", 16, "MOTION is expected"),
    "no frames": ("Frames: 2\n", "", 17, "'Frames: ...' is expected"),
    "bad frames": ("Frames: 2", "Frames: two", 17, "'two' in Frames"),
    "zero frames": ("Frames: 2", "Frames: 0", 17, "no motion"),
    "too many frames announced": ("Frames: 2", "Frames: 3", 20, "ends after 2"),
    "too few frames announced": ("Frames: 2", "Frames: 1", 20, "one more"),
    "zero frame time": ("0.0083333", "0", 18, "Frame Time is 0"),
    "negative frame time": ("0.0083333", "-0.01", 18, "Frame Time is -0.01"),
    "short row": ("1 91 2 0 0 90 0 0 0", "1 91 2 0 0 90 0 0", 20, "frame 2 has 8 numbers for 9 channels"),
    "word in a row": ("1 91 2 0", "1 91 x 0", 20, "'x' in frame 2 is not a number"),
    "nan": ("1 91 2 0", "1 91 nan 0", 20, "'nan' in frame 2 is not a finite number"),
    "infinite": ("OFFSET 0 -40 0", "OFFSET 0 -inf 0", 8, "not a finite number"),
    "cut short": (SMALL[SMALL.index("MOTION") :], "", 15, "the file ends where MOTION is expected"),
    "nothing": (SMALL, "", 1, "the file ends where HIERARCHY is expected"),
}  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def make(text: str) -> Path:
        path = tmp_path / "small.bvh"
        path.write_text(text, newline="")
        return path

    return make


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_with_its_line(write: Callable[[str], Path], case: str) -> None:
    old, new, line, says = BROKEN[case]
    assert SMALL.count(old) >= 1
    with pytest.raises(ClipError) as error:
        read_bvh(write(SMALL.replace(old, new, 1) if case != "no channels" else SMALL.replace(old, new)))
    message = str(error.value)
    assert "\n" not in message
    assert f"small.bvh line {line}: " in message
    assert says in message


def test_the_small_file_as_it_is(write: Callable[[str], Path]) -> None:
    motion = read_bvh(write(SMALL))
    assert (motion.joints, motion.fps, len(motion.root)) == (("Hips", "Knee"), 120.0, 2)
    assert motion.ends == ((1, (0.0, -42.0, 0.0)),)
    places, turns = global_poses(motion)
    assert np.allclose(places[0, 1], [0, 50, 0])
    # a quarter turn about X
    assert np.allclose(turns[0, 1], [np.sqrt(0.5), np.sqrt(0.5), 0, 0])
    # a quarter turn about Y leaves what hangs straight down in its place
    assert np.allclose(places[1, 1], [1, 51, 2])


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.replace("\n", "\r\n"),
        lambda s: s.replace("  ", "\t\t"),
        lambda s: s.replace("Frames: 2", "Frames:\t2 ").replace("Frame Time: ", "Frame Time:"),
        lambda s: s.replace("ROOT Hips\n{", "ROOT Hips {").replace("End Site\n    {", "End Site {"),
        lambda s: s.replace("\n", "  \n\n"),
        lambda s: "\ufeff" + s,
        lambda s: s.replace("rotation", "ROTATION").replace("HIERARCHY", "hierarchy"),
    ],
)
def test_habits_of_other_programs(write: Callable[[str], Path], change: Callable[[str], str]) -> None:
    plain, other = read_bvh(write(SMALL)), read_bvh(write(change(SMALL)))
    assert (plain.rotations == other.rotations).all()
    assert (plain.root == other.root).all()


def test_channels_in_any_order(write: Callable[[str], Path]) -> None:
    """Angles mean what their order says: the first named turns outermost."""
    text = SMALL.replace("3 Zrotation Xrotation Yrotation", "3 Yrotation Zrotation Xrotation").replace(
        "0 90 0 0 0 0 0 90 0", "0 90 0 0 0 0 30 20 10"
    )
    motion = read_bvh(write(text))
    assert np.allclose(motion.rotations[0, 1], euler_to_quat(np.deg2rad([30.0, 20.0, 10.0]), "YZX"))
    root = SMALL.replace("6 Xposition Yposition Zposition Zrotation", "6 Zposition Xposition Yposition Zrotation")
    assert read_bvh(write(root)).root[1].tolist() == [91.0, 2.0, 1.0]


def test_gzipped_and_not(tmp_path: Path, write: Callable[[str], Path]) -> None:
    packed = tmp_path / "small.bvh.gz"
    packed.write_bytes(gzip.compress(SMALL.encode()))
    assert (read_bvh(packed).rotations == read_bvh(write(SMALL)).rotations).all()
    packed.write_bytes(b"not gzip")
    with pytest.raises(ClipError, match=r"small\.bvh\.gz: cannot be read"):
        read_bvh(packed)
    (tmp_path / "small.bvh").write_bytes(b"\0\xff" * 100)
    with pytest.raises(ClipError, match="not a text file"):
        read_bvh(tmp_path / "small.bvh")
    with pytest.raises(ClipError, match="no such file"):
        read_bvh(tmp_path / "none.bvh")


@given(st.text(alphabet="HIERACYROTJN{}OFSETM \n0123456789.-:", max_size=300))
def test_noise_is_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.bvh"
    path.write_text("HIERARCHY\nROOT a\n{\n" + text)
    with pytest.raises(ClipError, match=r"noise\.bvh line \d+: ") as error:
        read_bvh(path)
    assert "\n" not in str(error.value)


@given(st.lists(st.floats(-4, 4), min_size=4, max_size=4), st.permutations("XYZ"))
def test_angles_of_every_order_give_the_rotation_back(numbers: list[float], letters: list[str]) -> None:
    q = np.array([numbers])
    if np.linalg.norm(q) < 0.1:
        return
    q /= np.linalg.norm(q)
    order = "".join(letters)
    back = euler_to_quat(quat_to_euler(q, order), order)
    assert np.abs(quat_to_rotvec(quat_multiply(quat_conjugate(q), back))).max() < 1e-7


@pytest.mark.parametrize("name", library())
def test_out_and_back(tmp_path: Path, name: str) -> None:
    """A clip written and read again: 1e-5 rad, and joints to a hundredth of a millimetre."""
    motion = clip_motion(load_clip(name), human(skin=False))
    write_bvh(motion, tmp_path / "out.bvh")
    back = read_motion(tmp_path / "out.bvh")
    assert (back.joints, back.fps) == (motion.joints, motion.fps)
    assert np.abs(quat_to_rotvec(quat_multiply(quat_conjugate(motion.rotations), back.rotations))).max() < 1e-5
    assert np.abs(global_poses(back)[0] - global_poses(motion)[0]).max() < 1e-5
    write_bvh(back, tmp_path / "again.bvh")
    assert (tmp_path / "again.bvh").read_bytes() == (tmp_path / "out.bvh").read_bytes()


def test_rotations_of_any_size_come_back(tmp_path: Path) -> None:
    """Spins, half turns and the pole of the angles included, without jumps between frames."""
    rng = np.random.default_rng(3)
    axis = rng.normal(size=(1, 2, 3))
    angles = np.linspace(0, 15, 200)[:, None, None]
    vectors = axis / np.linalg.norm(axis, axis=2, keepdims=True) * angles
    half = np.linalg.norm(vectors, axis=2, keepdims=True) / 2
    turns = np.concatenate([np.cos(half), vectors / np.maximum(2 * half, 1e-12) * np.sin(half)], axis=2)
    turns[100, 1] = euler_to_quat(np.array([0.3, np.pi / 2, 0.0]), "XZY")
    motion = SkeletonMotion(("a", "b"), np.array([-1, 0]), np.array([[0, 0, 0], [0, 0, 0.5]]), turns, np.zeros((200, 3)), 50.0)
    write_bvh(motion, tmp_path / "spin.bvh")
    back = read_bvh(tmp_path / "spin.bvh")
    rows = np.loadtxt((tmp_path / "spin.bvh").read_text().splitlines()[-200:])
    assert np.abs(np.diff(rows[:99, 3:6], axis=0)).max() < 90
    places, _ = global_poses(back)
    ours, _ = global_poses(motion)
    assert np.abs(places[:, 1] - 100 * ours[:, 1] @ np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])).max() < 1e-4


def test_an_independent_reader_sees_the_same(tmp_path: Path) -> None:
    """bvhio: right scale (cm), rate, upright axis and joint places."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bvhio = pytest.importorskip("bvhio")
    clip = load_clip("lift_back")
    motion = clip_motion(clip, human(skin=False))
    write_bvh(motion, tmp_path / "lift.bvh")
    assert 1 / bvhio.readAsBvh(str(tmp_path / "lift.bvh")).FrameTime == pytest.approx(clip.fps, rel=1e-6)
    tree = bvhio.readAsHierarchy(str(tmp_path / "lift.bvh"))
    places, _ = global_poses(motion)
    for frame in (0, 40, len(places) - 1):
        tree.loadPose(frame)
        seen = {joint.Name: np.array(joint.PositionWorld) for joint, _, _ in tree.layout()}
        for j, name in enumerate(motion.joints):
            # ours: X forward, Y left, Z up in metres; theirs: Z forward, X left, Y up in centimetres
            assert np.abs(seen[name][[2, 0, 1]] / 100 - places[frame, j]).max() < 1e-5


def test_names_that_bvh_cannot_hold_are_changed(tmp_path: Path) -> None:
    motion = clip_motion(load_clip("stand"), human(skin=False))
    names = ("a b\n\x1b", "a_b_?", "", " ", *motion.joints[4:])
    write_bvh(SkeletonMotion(names, motion.parents, motion.offsets, motion.rotations, motion.root, 30.0), tmp_path / "x.bvh")
    assert read_bvh(tmp_path / "x.bvh").joints == ("a_b??", "a_b_?", "joint", "joint_2", *motion.joints[4:])


# --- files that would take all memory or time


def test_files_that_are_too_large_are_refused(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    monkeypatch.setenv("MANIKIN_MAX_LOAD_MB", "1")
    rows = "0 90 0 0 0 0 0 90 0\n"
    cases = {
        SMALL + "0" * 120_000: "more than 0 million characters; MANIKIN_MAX_LOAD_MB raises the limit",
        SMALL + "\n" * 6000: "million lines",
        SMALL.replace("Frames: 2", "Frames: 3000") + rows * 2998: "3000 frames of 2 joints need 2 MB of memory",
    }
    for text, says in cases.items():
        with pytest.raises(ClipError, match=says):
            read_bvh(write(text))
    path = tmp_path / "small.bvh.gz"
    path.write_bytes(gzip.compress(b"0" * 1_000_000))
    with pytest.raises(ClipError, match="million characters"):
        read_bvh(path)
    monkeypatch.setenv("MANIKIN_MAX_LOAD_MB", "100")
    assert len(read_bvh(write(SMALL.replace("Frames: 2", "Frames: 3000") + rows * 2998)).root) == 3000


def test_lines_names_and_joints_without_end_are_refused(write: Callable[[str], Path]) -> None:
    with pytest.raises(ClipError, match=r"line 3: the line is longer than 1000000 characters"):
        read_bvh(write(SMALL.replace("{", "{" + " " * 1_000_001, 1)))
    many = "".join(f"JOINT j{k}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation\n}}\n" for k in range(2100))
    with pytest.raises(ClipError, match="more than 2000 joints"):
        read_bvh(write(SMALL.replace("  JOINT Knee", many + "  JOINT Knee")))
    with pytest.raises(ClipError, match=r"unknown word 'x\?\?\[2J'") as error:
        read_bvh(write(SMALL.replace("OFFSET 0 -40 0", "x\x07\x1b[2J")))
    assert str(error.value).isprintable()
    with pytest.raises(ClipError, match="too large for a length or an angle"):
        read_bvh(write(SMALL.replace("OFFSET 0 -40 0", "OFFSET 0 -1e10 0")))
    with pytest.raises(ClipError, match="is not a whole number"):
        read_bvh(write(SMALL.replace("Frames: 2", "Frames: " + "9" * 5000)))
    path = write("")
    path.write_bytes(SMALL.encode("utf-16"))
    with pytest.raises(ClipError, match="UTF-8"):
        read_bvh(path)
