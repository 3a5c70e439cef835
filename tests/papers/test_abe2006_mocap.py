"""Abe & Popovic 2006, section 4.3: posture from motion capture, made here like a real one, and real where it is at hand."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import manikin as mk
from manikin.characters.human import human
from manikin.clips.bvh import write_bvh
from manikin.clips.clip import load_clip
from manikin.clips.skeleton import SkeletonMotion
from manikin.errors import InputError
from manikin.export.save import Take
from manikin.motion.chain import clip_motion
from manikin.papers import recorded
from manikin.papers.abe2006.look import KNEES, degrees, events, prop_path, trunk_pitch
from manikin.papers.abe2006.pendulum import judge_arrival
from manikin.scenes.scene import load_scene
from manikin.spatial import quat_from_rotvec, quat_multiply, rotate

INCH = 0.0254
# parts of the body in another studio's words
NAMES = {
    "pelvis": "hip", "lumbar": "abdomen", "thorax": "chest", "head": "neck", "clavicle": "Collar", "upper_arm": "Shldr",
    "forearm": "ForeArm", "hand": "Hand", "thigh": "Thigh", "shank": "Shin", "foot": "Foot", "toes": "Toe",
}  # fmt: skip


def renamed(body: str) -> str:
    part, _, side = body.rpartition("_")
    return {"l": "l", "r": "r"}[side] + NAMES[part] if side in ("l", "r") else NAMES[body]


def as_captured(name: str, seed: int) -> SkeletonMotion:
    """A shipped clip as a studio might deliver it: a smaller performer who faces elsewhere, far from the origin, with noise."""
    motion = clip_motion(load_clip(name), human(1.62, 58, skin=False))
    rng = np.random.default_rng(seed)
    shape = motion.rotations.shape[:2]
    shaken = quat_multiply(motion.rotations, quat_from_rotvec(rng.normal(0, np.deg2rad(0.3), (*shape, 3))))
    aside = quat_from_rotvec(np.array([0.0, 0.0, np.deg2rad(115.0)]))
    shaken[:, 0] = quat_multiply(np.broadcast_to(aside, shaken[:, 0].shape), shaken[:, 0])
    root = rotate(aside, motion.root) + [3.1, -1.7, 0.0] + rng.normal(0, 0.001, motion.root.shape)
    return replace(motion, joints=tuple(renamed(b) for b in motion.joints), rotations=shaken, root=root)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A lift as a BVH file in inches."""

    def write(name: str) -> Path:
        path = tmp_path_factory.mktemp("captured") / f"{name}.bvh"
        if not path.exists():
            write_bvh(as_captured(name, 3), path, unit=INCH)
        return path

    return write


def bent(take: Take) -> tuple[float, float]:
    """Largest angle [deg] of the trunk to the vertical and of a knee, up to the top of the lift."""
    recording = take.recording
    until = recording.time <= events(take)["top"]
    return float(trunk_pitch(recording)[until].max()), float(degrees(recording, KNEES)[until].max())


def test_a_captured_lift_gives_the_style(captured: Callable[[str], Path]) -> None:
    """Odd names, inches, another place and heading, noise: the posture task follows either capture, the box's path stays."""
    takes = {
        s: mk.run(load_scene("lift", {"character.clip": str(captured(f"lift_{s}"))}), seconds=6.0) for s in ("back", "knees")
    }
    trunk, knee = ({s: bent(t)[k] for s, t in takes.items()} for k in (0, 1))
    assert trunk["back"] - trunk["knees"] > 25
    assert knee["knees"] - knee["back"] > 30
    paths = [prop_path(t.recording, "box", events(t)["lift"] + np.linspace(0, 1.2, 60)) for t in takes.values()]
    assert np.sqrt((np.linalg.norm(paths[0] - paths[1], axis=1) ** 2).mean()) <= 0.02


def test_the_command_takes_a_captured_lift(
    command: Callable[..., tuple[int, str, str]], captured: Callable[[str], Path]
) -> None:
    code, out, _ = command("run", "lift", "--clip", captured("lift_back"), "--json")
    report = json.loads(out.splitlines()[-1])
    assert code == 0
    assert report["ok"], report["reason"]
    assert 0.8 < report["time_to_top"] < 1.5


def test_recorded_motion_is_looked_for_where_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mocap_cmu_bvh" / "reach").mkdir(parents=True)
    file = tmp_path / "mocap_cmu_bvh" / "reach" / "15_06.bvh.gz"
    monkeypatch.setenv("MANIKIN_DATA", str(tmp_path))
    assert recorded.data_folder() == tmp_path
    assert recorded.capture("reach/15_06.bvh.gz") is None
    file.write_bytes(b"")
    assert recorded.capture("reach/15_06.bvh.gz") == file
    monkeypatch.setenv("MANIKIN_DATA", str(tmp_path / "reach"))
    with pytest.raises(InputError, match=r"MANIKIN_DATA=.*holds no folder 'mocap_cmu_bvh'"):
        recorded.data_folder()


# --- real captures


def test_posture_follows_the_clip(mocap: Path) -> None:
    """A lift with the back and one with the knees, both of subject 115, captured at 60 Hz; nothing else is changed."""
    clips = {"back": "lift_box_back/115_01.bvh.gz", "knees": "lift_box_knees/115_06.bvh.gz"}
    path, trunk, knee = {}, {}, {}
    for style, file in clips.items():
        changes = {"character.clip": str(mocap / "mocap_cmu_bvh" / file), "character.clip_fps": 60.0}
        take = mk.run(load_scene("lift", changes))
        assert take.report["ok"], take.report["reason"]
        recording, when = take.recording, events(take)
        # nobody bends backwards on the way down
        assert trunk_pitch(recording)[recording.time <= when["top"]].min() > -15
        trunk[style], knee[style] = bent(take)
        path[style] = prop_path(recording, "box", when["lift"] + np.linspace(0, 1.2, 60))
    assert trunk["back"] - trunk["knees"] >= 25
    assert knee["knees"] - knee["back"] >= 30
    apart = np.linalg.norm(path["back"] - path["knees"], axis=1)
    assert np.sqrt((apart**2).mean()) <= 0.02


def test_a_captured_reach_serves_the_pendulum(mocap: Path) -> None:
    clip = str(mocap / "mocap_cmu_bvh" / "reach" / "15_06.bvh.gz")
    assert judge_arrival(mk.run(load_scene("pendulum", {"character.clip": clip})).recording).holds
