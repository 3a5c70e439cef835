"""The index finds exactly what exhaustive search finds; feed-forward from the clip."""

import numpy as np
import pytest

from manikin.bench import long_clip, standing_world
from manikin.characters.human import human
from manikin.clips.clip import load_clip
from manikin.motion.keyframes import posture_of
from manikin.motion.nearest import LONG, NearestPose, PoseIndex, _distances, _features, by_axes, nearest_pose, with_rates
from manikin.physics.world import World
from manikin.spatial import quat_from_axis_angle, quat_multiply

FRAMES = 6000


@pytest.fixture(scope="module")
def searched() -> tuple[World, NearestPose]:
    character, world = human(skin=False), standing_world("clamped")
    clip = long_clip(FRAMES, seed=3)
    return world, nearest_pose(clip, world, "", character.bodies, character.joints, character.joints, 1.75)


def pose_at_random(world: World, rng: np.random.Generator, spread: float) -> None:
    """Near some frame of a clip or far from all of them, anywhere, facing anywhere."""
    clip = load_clip(str(rng.choice(["lift_knees", "catch", "reach", "toss"])))
    frame = int(rng.integers(len(clip.qpos)))
    world.data.qpos[:7] = clip.qpos[frame, :7]
    world.data.qpos[:2] += rng.uniform(-5, 5, 2)
    world.data.qpos[3:7] = quat_multiply(quat_from_axis_angle((0, 0, 1), rng.uniform(-np.pi, np.pi)), clip.qpos[frame, 3:7])
    dofs = posture_of(world, human(skin=False)).qpos
    world.data.qpos[dofs] = clip.qpos[frame, 7:] + rng.normal(0, spread, len(dofs))
    world.forward()


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.3, 1.0])
def test_the_index_finds_the_nearest_frame_exactly(searched: tuple[World, NearestPose], spread: float) -> None:
    world, source = searched
    assert source.index is not None
    rng = np.random.default_rng(int(100 * spread))
    for _ in range(60):
        pose_at_random(world, rng, spread)
        distance = source.distances(world)
        assert source.nearest(world) == (int(distance.argmin()), pytest.approx(float(distance.min()), abs=1e-12))
        assert source.index.exhaustive(source.markers_of(world))[0] == distance.argmin()


def test_the_index_blends_the_same_frames(searched: tuple[World, NearestPose]) -> None:
    world, source = searched
    whole = NearestPose(source.bodies, source.weights, source.length, source.frames, source.motions)
    rng = np.random.default_rng(7)
    for _ in range(20):
        pose_at_random(world, rng, 0.1)
        for ours, all_frames in zip(source.motion(world), whole.motion(world)):
            assert np.abs(ours - all_frames).max() < 1e-9
        assert np.abs(source.pose(world) - source.motion(world)[0]).max() < 1e-12


def test_it_looks_at_few_frames(searched: tuple[World, NearestPose]) -> None:
    """What makes it fast: of thousands of frames only some are measured."""
    world, source = searched
    assert source.index is not None
    rng = np.random.default_rng(8)
    looked = []
    for _ in range(30):
        pose_at_random(world, rng, 0.03)
        now = source.markers_of(world)
        looked.append(len(source.index.within(now, source.index.nearest(now)[1])[0]))
    assert np.median(looked) < 0.05 * FRAMES


def test_features_never_overstate_the_distance() -> None:
    """The bound that makes it exact, for arrangements of markers that no body could have."""
    rng = np.random.default_rng(9)
    weights = rng.uniform(0.5, 10, 7)
    for _ in range(200):
        one, two = rng.normal(0, 1, (2, 21, 3))
        for m in (one, two):
            m[:, :2] -= (np.repeat(weights, 3) @ m[:, :2]) / (3 * weights.sum())
        apart = np.linalg.norm(_features(one, weights) - _features(two, weights))
        assert apart <= _distances(by_axes(one[None]), np.zeros(1, np.int64), two, weights)[0] + 1e-12


def test_the_best_rotation_is_the_best() -> None:
    """The closed form against trying rotations one by one."""
    rng = np.random.default_rng(10)
    weights = rng.uniform(0.5, 10, 5)
    one, two = rng.normal(0, 1, (2, 15, 3))
    w = np.repeat(weights, 3)[:, None]
    for m in (one, two):
        m[:, :2] -= (w * m[:, :2]).sum(axis=0) / w.sum()
    found = _distances(by_axes(one[None]), np.zeros(1, np.int64), two, weights)[0]
    tried = []
    for angle in np.linspace(0, 2 * np.pi, 2000):
        c, s = np.cos(angle), np.sin(angle)
        turned = two @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        tried.append(np.sqrt((w * (one - turned) ** 2).sum() / w.sum()))
    assert found == pytest.approx(min(tried), abs=1e-5)


def test_short_clips_need_no_index() -> None:
    character, world = human(skin=False), standing_world("clamped")
    clip = load_clip("catch")
    assert len(clip.qpos) < LONG
    source = nearest_pose(clip, world, "", character.bodies, character.joints, character.joints, 1.75)
    assert source.index is None
    rng = np.random.default_rng(11)
    index = PoseIndex(source.frames, source.weights)
    for _ in range(20):
        pose_at_random(world, rng, 0.2)
        frame, distance = index.nearest(source.markers_of(world))
        assert source.nearest(world) == (frame, pytest.approx(distance, abs=1e-12))


def test_rates_of_a_clip() -> None:
    time = np.arange(60)[:, None] / 30.0
    angles = np.concatenate([np.sin(2 * time), 0.5 * time**2], axis=1)
    out = with_rates(angles, 30.0)
    assert (out[:, :2] == angles).all()
    assert np.abs(out[1:-1, 2:4] - np.concatenate([2 * np.cos(2 * time), time], axis=1)[1:-1]).max() < 0.01
    assert np.abs(out[1:-1, 4:] - np.concatenate([-4 * np.sin(2 * time), np.ones_like(time)], axis=1)[1:-1]).max() < 0.01
    assert not with_rates(angles[:2], 30.0)[:, 2:].any()
