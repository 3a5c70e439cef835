"""`manikin check` and `manikin run --clip` on motion files."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manikin.characters.human import human
from manikin.clips.bvh import write_bvh
from manikin.clips.clip import load_clip, save_clip
from manikin.motion.chain import clip_motion
from manikin.motion.footprints import standing_trouble
from manikin.motion.retarget import retarget
from manikin.spatial import quat_from_axis_angle

sys.path.insert(0, str(Path(__file__).parent / "clips"))
from test_rate import walker

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lift_file(tmp_path: Path) -> Path:
    write_bvh(clip_motion(load_clip("lift_knees"), human(1.6, 60, skin=False)), tmp_path / "lift.bvh")
    return tmp_path / "lift.bvh"


def test_check_tells_what_a_motion_file_holds(command: Command, lift_file: Path) -> None:
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
    assert "no joint is known for shank_l" in err


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
        assert ("the rate is rather 60 Hz than 120" in out) == doubted
    _, _, err = command("run", "lift", "--clip", "walk.bvh", "--clip-fps", "120", "--seconds", "0.01")
    assert "walk.bvh: " in err
    assert "the rate is rather 60 Hz than 120" in err


def test_a_clip_s_rate_is_looked_at(command: Command, tmp_path: Path) -> None:
    walk = retarget(walker(30.0, 3.0), human(skin=False)).clip
    for fps, doubted in ((30.0, False), (60.0, True)):
        save_clip(replace(walk, fps=fps), tmp_path / "walk.npz")
        _, out, _ = command("check", "walk.npz")
        assert ("the rate is rather 30 Hz than 60" in out) == doubted


def test_a_first_frame_that_does_not_stand_is_mentioned(command: Command, tmp_path: Path) -> None:
    body, clip = human(skin=False), load_clip("lift_knees")
    assert standing_trouble(clip, body) == ""
    assert standing_trouble(clip, human(1.5, 50, skin=False)) == ""
    lying, lifted, crouching = clip.qpos.copy(), clip.qpos.copy(), clip.qpos.copy()
    lying[0, 3:7] = quat_from_axis_angle((0, 1, 0), 1.4)
    lifted[0, 2] += 0.12
    crouching[0] = crouching[int(np.argmin(crouching[:, 2]))]
    for words, qpos in {
        "the trunk leans 8": lying,
        "the left foot is 12 cm above": lifted,
        "does not stand": crouching,
    }.items():
        assert words in standing_trouble(replace(clip, qpos=qpos), body)
        save_clip(replace(clip, qpos=qpos), tmp_path / "odd.npz")
        _, out, _ = command("check", "odd.npz")
        assert "the first frame does not stand" in out


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
