"""Nearest poses and key-framed clips."""

import numpy as np
import pytest

import manikin as mk
from manikin.bench import standing_world
from manikin.characters.human import human
from manikin.clips.clip import load_clip
from manikin.motion.keyframes import Key, Stance, both_sides, make_clip, posture_of
from manikin.motion.nearest import nearest_pose
from manikin.physics.world import World
from manikin.scenes.scene import parse_scene
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


def test_the_lookahead_finds_the_pose_that_reaches_there(searched):
    """Standing, with the hands displaced downwards: the clip's poses that go down, whichever way the figure faces."""
    w, clip, character, source = searched
    knee = character.joints.index("shank_l_flexion")
    down = {w.body(f"hand_{side}"): np.array([0.0, 0.0, -0.25]) for side in "lr"}
    bent = []
    for yaw in (0.0, 2.0):
        put(w, clip, 0, yaw)
        assert np.rad2deg(source.pose(w)[knee]) < 15
        # what is no part of the figure leads nobody
        assert np.abs(source.pose(w, {0: np.ones(3)}) - source.pose(w)).max() < 1e-9
        bent.append(np.rad2deg(source.pose(w, down)[knee]))
        assert np.abs(source.motion(w, down)[0] - source.pose(w, down)).max() < 1e-12
    assert bent[0] > 30
    assert bent[1] == pytest.approx(bent[0], abs=1e-6)


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


def placed(w: World, clip, site: str) -> np.ndarray:
    out = []
    for frame in range(len(clip.qpos)):
        put(w, clip, frame)
        out.append(w.data.site_xpos[w.site(site)].copy())
    return np.array(out)


@pytest.fixture(scope="module")
def alone() -> World:
    return World(stage("clip", [human(skin=False)], {}))


@pytest.mark.parametrize("name", ["reach", "catch", "toss", "rope"])
def test_shipped_clips_stand_on_their_feet(alone, name):
    """Feet planted, joints within their range, the weight over the middle of the feet, no joint faster than people are."""
    w, clip = alone, load_clip(name)
    low, high = w.model.jnt_range[1:].T
    ahead, feet = [], []
    for frame in range(len(clip.qpos)):
        put(w, clip, frame)
        ankles = np.array([w.data.body(f).xpos.copy() for f in ("foot_l", "foot_r")])
        feet.append(ankles)
        ahead.append(w.data.subtree_com[1][:2] - ankles.mean(axis=0)[:2])
    assert (clip.qpos[:, 7:] > low - 1e-6).all()
    assert (clip.qpos[:, 7:] < high + 1e-6).all()
    assert np.ptp(feet, axis=0).max() < 0.003
    assert (np.array(ahead)[:, 0] > 0.02).all()
    assert (np.array(ahead)[:, 0] < 0.06).all()
    assert np.abs(np.array(ahead)[:, 1]).max() < 0.01
    assert np.abs(np.diff(clip.qpos[:, 7:], axis=0)).max() * clip.fps < 25


def test_what_the_clips_show(alone):
    hand = placed(alone, load_clip("reach"), "hand_r")
    assert hand[:, 2].min() < 0.45
    assert hand[:, 2].max() > 1.85
    # catch: within 19 cm of every place of the window in front of chest and right shoulder
    hand = placed(alone, load_clip("catch"), "hand_r")
    for side in np.linspace(-0.70, 0.30, 11):
        for height in np.linspace(0.90, 1.70, 9):
            assert np.hypot(hand[:, 1] - side, hand[:, 2] - height).min() < 0.19
    assert (hand[:, 0] > 0.2).all()
    # toss: back, then forward and up faster than it went back
    hand = placed(alone, load_clip("toss"), "hand_r")
    assert hand[:, 0].min() < -0.15
    speed = np.linalg.norm(np.diff(hand, axis=0), axis=1) * load_clip("toss").fps
    fastest, back = int(speed.argmax()), int(hand[:, 0].argmin())
    assert fastest > back
    assert 2.5 < speed.max() < 8
    assert speed.max() > 1.5 * speed[:back].max()


def test_keys_with_one_hand_a_palm_and_a_weight(alone):
    character = human(skin=False)
    place, palm = (0.4, -0.3, 1.2), (1.0, 0.0, 0.0)
    plain = {"upper_arm_r_flexion": 40, "forearm_r_flexion": 60}
    key = Key(0.5, plain, right=place, palm=palm, ahead=0.04, firm=2.0)
    clip = make_clip(alone, character, [Key(0.0, plain, ahead=0.02), key], 20.0, Stance())
    put(alone, clip, len(clip.qpos) - 1)
    data = alone.data
    assert np.linalg.norm(data.site_xpos[alone.site("hand_r")] - place) < 0.03
    assert data.xmat[alone.body("hand_r")].reshape(3, 3)[:, 1] @ palm > 0.7
    ankles = np.mean([data.body(f).xpos for f in ("foot_l", "foot_r")], axis=0)
    assert data.subtree_com[1][0] - ankles[0] == pytest.approx(0.04, abs=0.005)
    # the left arm keeps its angles
    assert abs(clip.angles(("forearm_l_flexion",))[-1, 0]) < 0.1


def test_feed_forward_plays_the_clip(stand_scene):
    """With the matched frames' own velocity the figure moves through the clip by itself; without it, it stays."""
    moved = {}
    for feed in (False, True):
        recording = mk.run(parse_scene(stand_scene(feed), "feed")).recording
        moved[feed] = float(np.ptp(recording.qpos[:, 2]))
    assert moved[False] < 0.02
    assert moved[True] > 0.15


@pytest.fixture
def stand_scene():
    def make(feed: bool) -> dict:
        posture = {"measure": "posture", "law": "nearest", "frequency": 1.2, "feed": feed}
        return {"name": "feed", "seconds": 2.5, "character": {"clip": "lift_knees"}, "tasks": {"posture": posture}}

    return make


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
