"""The frame rate against gravity, walking and joint speeds: of motions made here, and of the real captures at many rates."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manikin.characters.human import human
from manikin.clips.clip import library, load_clip
from manikin.clips.rate import flight_pull, pace, rate_doubts
from manikin.clips.skeleton import SkeletonMotion
from manikin.clips.source import read_motion, suspicions
from manikin.motion.chain import clip_motion

LEG_SWING, KNEE = 0.42, 0.9


def about_y(angle: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angle / 2), 0 * angle, np.sin(angle / 2), 0 * angle], axis=1)


def standing(frames: int, fps: float) -> SkeletonMotion:
    body = clip_motion(load_clip("stand"), human(skin=False))
    rotations, root = np.tile(body.rotations[:1], (frames, 1, 1)), np.tile(body.root[:1], (frames, 1))
    return SkeletonMotion(body.joints, body.parents, body.offsets, rotations, root, fps)


def walker(fps: float = 120.0, seconds: float = 5.0, step: float = 0.62, frequency: float = 1.75) -> SkeletonMotion:
    """Someone who walks: legs swing against each other, knees bend in swing, the pelvis moves on evenly."""
    motion = standing(round(seconds * fps), fps)
    time = np.arange(len(motion.root)) / fps
    motion.root[:, 0] = step * frequency * time
    phase = np.pi * frequency * time
    for side, shift in (("l", 0.0), ("r", np.pi)):
        swing, knee = LEG_SWING * np.sin(phase + shift), KNEE * np.maximum(0.0, np.cos(phase + shift)) ** 2
        motion.rotations[:, motion.joints.index(f"thigh_{side}")] = about_y(-swing)
        motion.rotations[:, motion.joints.index(f"shank_{side}")] = about_y(knee)
    return motion


def test_a_walk_at_its_rate_is_believed_and_measured() -> None:
    motion = walker()
    found = pace(motion)
    assert found is not None
    assert found.steps >= 5
    assert (found.length, found.frequency) == (pytest.approx(0.62, rel=0.05), pytest.approx(1.75, rel=0.05))
    assert rate_doubts(motion) == []


@pytest.mark.parametrize("right", [24.0, 30.0, 60.0, 120.0])
@pytest.mark.parametrize("factor", [0.25, 0.5, 2.0, 4.0])
def test_a_walk_at_a_wrong_rate_is_doubted_and_the_right_one_named(right: float, factor: float) -> None:
    motion = walker(right)
    assert rate_doubts(motion) == []
    (doubt,) = rate_doubts(replace(motion, fps=right * factor))
    assert doubt.endswith(f"the rate is more likely {right:g} Hz than {right * factor:g}")


@pytest.mark.parametrize(("step", "frequency"), [(0.45, 1.35), (0.55, 1.6), (0.75, 2.0), (0.85, 1.8)])
def test_slow_and_fast_walks_are_believed(step: float, frequency: float) -> None:
    assert rate_doubts(walker(step=step, frequency=frequency)) == []


def test_on_the_spot_and_on_stairs_nothing_is_concluded_from_steps() -> None:
    motion = walker(240.0)
    still, stairs = motion.root.copy(), motion.root.copy()
    still[:, 0] = 0
    assert pace(replace(motion, root=still)) is None
    stairs[:, 2] += 0.5 * stairs[:, 0]
    assert pace(replace(motion, root=stairs)) is None


def test_nothing_can_pull_the_body_down_faster_than_gravity() -> None:
    """Bobbing at 2.6 Hz by 4.5 cm: 12 m/s^2 at most; at twice the rate 48."""
    motion = standing(360, 120.0)
    motion.root[:, 2] += 0.045 * np.sin(2 * np.pi * 2.6 * np.arange(360) / 120)
    assert flight_pull(motion) is None
    assert rate_doubts(motion) == []
    (doubt,) = rate_doubts(replace(motion, fps=240.0))
    assert "accelerates downwards" in doubt
    assert doubt.endswith("more likely 120 Hz than 240")


def test_limbs_that_rotate_too_fast_are_named() -> None:
    """An arm swung at 2.5 Hz by 52 degrees to each side turns at 14 rad/s at most."""
    motion = standing(360, 60.0)
    swing = 0.9 * np.sin(2 * np.pi * 2.5 * np.arange(360) / 60)
    motion.rotations[:, motion.joints.index("upper_arm_l")] = about_y(swing)
    assert rate_doubts(motion) == []
    (doubt,) = rate_doubts(replace(motion, fps=120.0))
    assert "limbs rotate at 28 rad/s" in doubt
    assert "more likely 60 Hz than 120" in doubt


@pytest.mark.parametrize("name", library())
def test_the_shipped_clips_are_believed(name: str) -> None:
    assert rate_doubts(clip_motion(load_clip(name), human(skin=False))) == []


# --- the real captures: true rates of ../shared/data/README.md

SLOW = {"115_01", "115_06", "143_20"}
# walks, runs and jumps, which show their rate; the others stay on the spot, take single steps, sneak or climb
SHOWN = {"02_01", "02_03", "02_04", "137_26", "83_40", "09_01", "08_05", "104_27", "16_16", "16_31", "69_24", "136_26"}


def test_real_captures_at_their_rates_and_at_others(mocap: Path) -> None:
    """No false alarm at the right rate; at half and at twice the rate everybody who walks, runs or jumps is found."""
    files = [*mocap.glob("mocap_cmu_bvh/*/*.bvh.gz"), *mocap.glob("mocap_cmu_asfamc/*.amc")]
    named = {f.name.split(".")[0]: f for f in sorted(files)}
    assert set(named) >= SHOWN
    for name, file in named.items():
        motion = read_motion(file, 60.0 if name in SLOW else 120.0)
        assert rate_doubts(motion) == [], name
        for factor in (0.5, 2.0):
            doubts = rate_doubts(replace(motion, fps=motion.fps * factor))
            if name in SHOWN:
                assert len(doubts) == 1, (name, factor)
                suggested = float(doubts[0].split("more likely ")[1].split()[0])
                # of long strides and of two steps of a run the factor is uncertain, its direction is not
                assert abs(np.log2(suggested / motion.fps)) < 0.6, (name, factor, doubts)


def test_the_rate_of_a_file_is_doubted_whatever_its_name(mocap: Path, tmp_path: Path) -> None:
    other = tmp_path / "somebody.bvh.gz"
    other.write_bytes((mocap / "mocap_cmu_bvh" / "walk" / "16_16.bvh.gz").read_bytes())
    assert not [d for d in suspicions(read_motion(other), other.name) if "rate" in d]
    assert [d for d in suspicions(read_motion(other, 60.0), other.name) if "more likely 120 Hz than 60" in d]


def test_rates_of_a_damaged_file_are_read_without_an_error() -> None:
    for fps in (1e-300, 1e-3, 9999.0):
        assert len(rate_doubts(replace(walker(), fps=fps))) <= 1
