"""`manikin check` and `manikin run --clip` on motion files."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manikin.characters.human import human
from manikin.checks import clip_doubts
from manikin.clips.bvh import write_bvh
from manikin.clips.clip import Clip, library, load_clip, save_clip
from manikin.motion.chain import clip_motion
from manikin.motion.retarget import retarget
from manikin.spatial import quat_from_axis_angle

sys.path.insert(0, str(Path(__file__).parent / "clips"))
from test_rate import walker

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lift_file(tmp_path: Path) -> Path:
    write_bvh(clip_motion(load_clip("lift_knees"), human(1.6, 60, skin=False)), tmp_path / "lift.bvh")
    return tmp_path / "lift.bvh"


def test_check_reports_what_a_motion_file_holds(command: Command, lift_file: Path) -> None:
    code, out, err = command("check", lift_file.name, "--json")
    found = json.loads(out.splitlines()[-1])
    assert (code, err) == (0, "")
    assert (found["kind"], found["ok"], found["joints"], found["fps"], found["frames"]) == ("motion", True, 20, 30.0, 97)
    assert found["seconds"] == pytest.approx(3.2)
    assert found["stature"] == pytest.approx(1.6, abs=0.01)
    assert "cm, guessed" in found["notes"][0]
    assert found["stances"] == "left 1, right 1"
    assert found["fit_cm"] < 1
    assert found["looks_wrong"] == []
    assert "looks_wrong        nothing" in out


def test_check_names_what_looks_wrong(command: Command, lift_file: Path) -> None:
    lines = lift_file.read_text().splitlines()
    row = lines[-40].split()
    row[1] = str(float(row[1]) + 400)
    lines[-40] = " ".join(row)
    lift_file.write_text("\n".join(lines))
    code, out, _ = command("check", lift_file.name)
    assert code == 0
    assert "looks_wrong        the root jumps after frame" in out


def test_check_takes_the_rate_from_the_command_line(command: Command, lift_file: Path) -> None:
    _, out, _ = command("check", lift_file.name, "--clip-fps", "60", "--json")
    assert json.loads(out.splitlines()[-1])["fps"] == 60
    for words in (("--clip-fps", "0"), ("--clip-fps", "nan")):
        code, _, err = command("check", lift_file.name, *words)
        assert code == 2
        assert "--clip-fps" in err
    code, _, err = command("check", "lift", "--clip-fps", "60")
    assert code == 2
    assert "for motion files" in err


def test_check_refuses_a_broken_file_in_one_line(command: Command, lift_file: Path) -> None:
    lift_file.write_text(lift_file.read_text().replace("Frames: 97", "Frames: 98"))
    code, out, err = command("check", lift_file.name)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "lift.bvh line" in err
    assert "announces 98 frames, the file ends after 97" in err


def test_check_says_which_joints_are_missing(command: Command, lift_file: Path) -> None:
    lift_file.write_text(lift_file.read_text().replace("shank_l", "stick"))
    code, out, err = command("check", lift_file.name)
    assert code == 1
    assert "motion" in out
    assert err.count("lift.bvh") == 1
    assert "no joint was recognised as shank_l" in err


def test_check_of_a_clip_finds_sliding_feet(command: Command, tmp_path: Path) -> None:
    clip = load_clip("lift_knees")
    qpos = clip.qpos.copy()
    qpos[:, 0] += np.linspace(0, 0.3, len(qpos))
    save_clip(replace(clip, qpos=qpos), tmp_path / "slide.npz")
    code, out, _ = command("check", "slide.npz", "--json")
    found = json.loads(out.splitlines()[-1])
    assert (code, found["kind"]) == (0, "clip")
    assert len(found["looks_wrong"]) == 2
    assert "foot_l slides" in found["looks_wrong"][0]


def test_a_wrong_rate_is_named_by_check_and_before_a_run(command: Command, tmp_path: Path) -> None:
    write_bvh(walker(60.0, 3.0), tmp_path / "walk.bvh")
    for words, doubted in (((), False), (("--clip-fps", "120"), True)):
        code, out, _ = command("check", "walk.bvh", *words)
        assert code == 0
        assert ("the rate is more likely 60 Hz than 120" in out) == doubted
    _, _, err = command("run", "lift", "--clip", "walk.bvh", "--clip-fps", "120", "--seconds", "0.01")
    assert "walk.bvh: " in err
    assert "the rate is more likely 60 Hz than 120" in err


def test_a_clip_s_rate_is_looked_at(command: Command, tmp_path: Path) -> None:
    walk = retarget(walker(30.0, 3.0), human(skin=False)).clip
    for fps, doubted in ((30.0, False), (60.0, True)):
        save_clip(replace(walk, fps=fps), tmp_path / "walk.npz")
        _, out, _ = command("check", "walk.npz")
        assert ("the rate is more likely 30 Hz than 60" in out) == doubted


def odd_first_frames() -> dict[str, Clip]:
    """Clips whose first frame nobody can stand in, by what is said of it."""
    clip = load_clip("lift_knees")
    lying, lifted, sunk, crouching = (clip.qpos.copy() for _ in range(4))
    lying[0, 3:7] = quat_from_axis_angle((0, 1, 0), 1.4)
    lifted[0, 2] += 0.12
    sunk[0, 2] -= 0.08
    tipped, one = clip.qpos.copy(), clip.qpos.copy()
    crouching[0, 2] -= 0.48 * clip.height * (1 - np.cos(1.0))
    for side in "lr":
        for joint, angle in {"thigh": 1.0, "shank": 2.0, "foot": 1.0}.items():
            crouching[0, 7 + clip.joints.index(f"{joint}_{side}_flexion")] = angle
    for joint, angle in {"thigh": 0.6, "shank": 0.9}.items():
        one[0, 7 + clip.joints.index(f"{joint}_l_flexion")] = angle
    # both ankles bend: the whole body leans forward over flat soles
    tipped[0, 3:7] = quat_from_axis_angle((0, 1, 0), 0.45)
    tipped[0, 2] -= 0.487 * clip.height * (1 - np.cos(0.45))
    for side in "lr":
        tipped[0, 7 + clip.joints.index(f"foot_{side}_flexion")] += 0.45
    odd = {
        "the trunk leans 8": lying, "the left foot is 12 cm above the ground": lifted, "the hips are ": crouching,
        "the left foot is ": one, "cm below the ground": sunk, "cm beyond its feet": tipped,
    }  # fmt: skip
    # twice, or it is dropped as an exporter's T-pose
    return {words: replace(clip, qpos=qpos[[0, 0, *range(2, len(qpos))]]) for words, qpos in odd.items()}


@pytest.mark.parametrize(("words", "clip"), odd_first_frames().items(), ids=odd_first_frames())
def test_a_first_frame_that_is_not_standing_is_named_by_check_and_before_a_run(
    command: Command, tmp_path: Path, words: str, clip: Clip
) -> None:
    body = human(skin=False)
    says = [line for line in clip_doubts(clip, body) if "the first frame is not a standing pose: " in line]
    assert len(says) == 1
    assert words in says[0]
    save_clip(clip, tmp_path / "odd.npz")
    assert words in command("check", "odd.npz").out
    assert f"manikin: odd.npz: {says[0]}" in command("run", "lift", "--clip", "odd.npz", "--seconds", 0.01).err
    # the same of a motion file, once; how high the ground is shows where the feet rest
    write_bvh(clip_motion(clip, body), tmp_path / "odd.bvh")
    _, out, _ = command("check", "odd.bvh")
    assert (words in out, out.count("the first frame is not a standing pose")) == (True, 1)


@pytest.mark.parametrize("height", [1.4, 1.75, 2.0])
@pytest.mark.parametrize("name", library())
def test_a_first_frame_that_stands_is_not_doubted(name: str, height: float) -> None:
    assert clip_doubts(load_clip(name), human(height, skin=False)) == []


def test_a_body_that_moves_in_the_first_frame_is_named(command: Command, tmp_path: Path) -> None:
    motion = walker(60.0, 3.0)
    write_bvh(motion, tmp_path / "walk.bvh")
    assert "in the first frame, and a run begins there at rest" in command("check", "walk.bvh").out
    still = replace(motion, root=np.concatenate([np.repeat(motion.root[:1], 30, axis=0), motion.root]),
                    rotations=np.concatenate([np.repeat(motion.rotations[:1], 30, axis=0), motion.rotations]))  # fmt: skip
    write_bvh(still, tmp_path / "walk.bvh")
    assert "begins there at rest" not in command("check", "walk.bvh").out


def test_a_scene_takes_a_motion_file(command: Command, lift_file: Path) -> None:
    """The job is done as with the clip itself, by a body of another size."""
    code, out, err = command("run", "lift", "--clip", lift_file.name, "--seconds", "1", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out.splitlines()[-1])["scene"] == "lift"


def test_a_scene_refuses_what_does_not_fit(command: Command, lift_file: Path) -> None:
    cases = {
        ("--clip", "none.bvh"): "none.bvh: no such file",
        ("--clip", "stand", "--clip-fps", "60"): "clip_fps is for motion files",
        ("--clip", lift_file.name, "--clip-fps", "-1"): "character.clip_fps",
        ("--clip", "none.amc"): "an AMC needs its skeleton",
    }
    for words, says in cases.items():
        code, _, err = command("run", "lift", *words)
        assert code == 2, words
        assert len(err.splitlines()) == 1
        assert says in err


def test_the_cmu_rate_trap_is_named_before_a_run(command: Command, mocap: Path) -> None:
    path = mocap / "mocap_cmu_bvh" / "lift_box_back" / "115_01.bvh.gz"
    code, _, err = command("run", "lift", "--clip", path, "--seconds", "0.1")
    assert code == 0
    assert "captured at 60 Hz" in err
    _, _, err = command("run", "lift", "--clip", path, "--clip-fps", "60", "--seconds", "0.1")
    assert "60 Hz" not in err


@pytest.mark.parametrize("name", ["mocap_cmu_asfamc/02_01.amc", "mocap_cmu_asfamc/02.asf"])
def test_check_of_acclaim_files(command: Command, mocap: Path, name: str) -> None:
    code, out, _ = command("check", mocap / name, "--json")
    assert code == 0
    assert json.loads(out.splitlines()[-1])["ok"]
