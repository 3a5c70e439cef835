"""Nearest poses and key-framed clips."""

import numpy as np
import pytest

from manikin.bench import standing_world
from manikin.characters.human import human
from manikin.clips.clip import load_clip
from manikin.motion.keyframes import Key, Stance, both_sides, make_clip, posture_of
from manikin.motion.nearest import nearest_pose
from manikin.physics.world import World
from manikin.scenes.stage import stage
from manikin.spatial import quat_from_axis_angle, quat_multiply


@pytest.fixture(scope="module")
def searched():
    character = human(skin=False)
    w = standing_world("clamped")
    clip = load_clip("lift_knees")
    return w, clip, character, nearest_pose(clip, w, "", character.bodies, character.joints, character.joints, 1.75)


def put(w: World, clip, frame: int, yaw: float = 0.0, shift=(0.0, 0.0)) -> None:
    w.data.qpos[:7] = clip.qpos[frame, :7]
    w.data.qpos[3:7] = quat_multiply(quat_from_axis_angle((0, 0, 1), yaw), clip.qpos[frame, 3:7])
    w.data.qpos[:2] += shift
    w.data.qpos[posture_of(w, human(skin=False)).qpos] = clip.qpos[frame, 7:]
    w.forward()


@pytest.mark.parametrize("frame", [0, 15, 45, 70, 96])
def test_a_frame_of_the_clip_finds_itself(searched, frame):
    w, clip, _, source = searched
    put(w, clip, frame)
    distance = source.distances(w)
    assert distance[frame] < 1e-6
    assert np.abs(source.pose(w) - clip.qpos[frame, 7:]).max() < 0.15


def test_distance_ignores_place_and_heading(searched):
    """Kovar, Gleicher & Pighin 2002: horizontal translation and rotation about the vertical do not count."""
    w, clip, _, source = searched
    put(w, clip, 40)
    here = source.distances(w)
    put(w, clip, 40, yaw=1.1, shift=(2.0, -3.0))
    assert np.abs(source.distances(w) - here).max() < 1e-6
    w.data.qpos[2] += 0.3
    w.forward()
    assert source.distances(w)[40] == pytest.approx(0.3, rel=1e-3)


def test_blend_is_smooth_where_raw_nearest_jumps(searched):
    w, clip, _, source = searched
    poses, raw = [], []
    for k in np.linspace(10, 40, 300):
        a = int(k)
        b = min(a + 1, 96)
        q = (1 - (k - a)) * clip.qpos[a] + (k - a) * clip.qpos[b]
        w.data.qpos[:] = q
        w.data.qpos[3:7] /= np.linalg.norm(q[3:7])
        w.forward()
        poses.append(source.pose(w))
        raw.append(clip.qpos[int(source.distances(w).argmin()), 7:])
    assert np.abs(np.diff(poses, axis=0)).max() < 0.5 * np.abs(np.diff(raw, axis=0)).max()


def test_keyframed_clip_plants_the_feet():
    character = human(skin=False)
    w = World(stage("clip", [character], {}))
    clip = make_clip(
        w, character, [Key(0.0, {"shank_flexion": 10}), Key(0.5, {"shank_flexion": 80, "thigh_flexion": 70})], 20.0, Stance()
    )
    assert len(clip.qpos) == 11
    feet = []
    for frame in range(11):
        put(w, clip, frame)
        feet.append([w.data.body(f).xpos.copy() for f in character.feet])
    assert np.ptp(np.array(feet), axis=0).max() < 0.002
    knee = clip.angles(("shank_l_flexion",))[:, 0]
    assert knee[-1] > knee[0] + 0.8


def test_names_without_a_side_mean_both():
    assert both_sides({"shank_flexion": 3, "lumbar_flexion": 2}) == {
        "shank_l_flexion": 3,
        "shank_r_flexion": 3,
        "lumbar_flexion": 2,
    }
    character = human(skin=False)
    with pytest.raises(ValueError, match="no such joints"):
        make_clip(
            World(stage("clip", [character], {})), character, [Key(0.0, {"knee_flexion": 3}), Key(1.0, {})], 10.0, Stance()
        )
