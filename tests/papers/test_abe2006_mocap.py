"""Abe & Popovic 2006, section 4.3: posture from real motion capture. Skipped where the data is not at hand."""

import numpy as np

import manikin as mk
from manikin.papers.abe2006.look import KNEES, degrees, events, prop_path, trunk_pitch
from manikin.scenes.scene import load_scene


def test_posture_follows_the_clip(mocap):
    """A lift with the back and one with the knees, both of subject 115, captured at 60 Hz; nothing else is changed."""
    clips = {"back": "lift_box_back/115_01.bvh.gz", "knees": "lift_box_knees/115_06.bvh.gz"}
    path, trunk, knee = {}, {}, {}
    for style, file in clips.items():
        changes = {"character.clip": str(mocap / "mocap_cmu_bvh" / file), "character.clip_fps": 60.0}
        take = mk.run(load_scene("lift", changes))
        assert take.report["ok"], take.report["reason"]
        recording, when = take.recording, events(take)
        until = recording.time <= when["top"]
        # nobody bends backwards on the way down
        assert trunk_pitch(recording)[until].min() > -15
        trunk[style] = trunk_pitch(recording)[until].max()
        knee[style] = degrees(recording, KNEES)[until].max()
        path[style] = prop_path(recording, "box", when["lift"] + np.linspace(0, 1.2, 60))
    assert trunk["back"] - trunk["knees"] >= 25
    assert knee["knees"] - knee["back"] >= 30
    apart = np.linalg.norm(path["back"] - path["knees"], axis=1)
    assert np.sqrt((apart**2).mean()) <= 0.02
