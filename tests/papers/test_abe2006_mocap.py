"""Abe & Popovic 2006, section 4.3: posture from real motion capture. Skipped where the data is not at hand."""

import numpy as np
from test_abe2006 import KNEE, box_path

import manikin as mk
from manikin.papers.abe2006.look import degrees, events, trunk_pitch
from manikin.scenes.scene import load_scene

# the people of these clips take a box from above the floor, in front of the knees: a small one on a plinth of 0.2 m
PLINTH = {
    "props.plinth.shape": "box",
    "props.plinth.size": [0.2, 0.24, 0.2],
    "props.plinth.at": [0.52, 0.0, 0.1],
    "props.plinth.fixed": True,
    "props.box.size": [0.24, 0.3, 0.24],
    "props.box.at": [0.5, 0.0, 0.321],
    "steps.reach.on": [],
    "steps.reach.goals.hands.at": [[-0.06, 0.19, 0.05], [-0.06, -0.19, 0.05]],
    "steps.touch.goals.hands.at": [[-0.06, 0.154, 0.0], [-0.06, -0.154, 0.0]],
    "steps.lower.goals.hands.at": [0.52, 0.0, 0.32],
    "steps.set_down.goals.hands.at": [0.52, 0.0, 0.26],
}


def test_posture_follows_the_clip(mocap):
    """A lift with the back and one with the knees, both of subject 115, captured at 60 Hz."""
    clips = {"back": "lift_box_back/115_01.bvh.gz", "knees": "lift_box_knees/115_06.bvh.gz"}
    takes, trunk, knee = {}, {}, {}
    for style, file in clips.items():
        changes = PLINTH | {"character.clip": str(mocap / "mocap_cmu_bvh" / file), "character.clip_fps": 60.0}
        take = takes[style] = mk.run(load_scene("lift", changes))
        assert take.report["ok"], take.report["reason"]
        until = take.recording.time <= events(take)["top"]
        trunk[style] = trunk_pitch(take.recording)[until].max()
        knee[style] = degrees(take.recording, KNEE)[until].max()
    assert trunk["back"] - trunk["knees"] >= 25
    assert knee["knees"] - knee["back"] >= 30
    apart = np.linalg.norm(box_path(takes["back"]) - box_path(takes["knees"]), axis=1)
    assert np.sqrt((apart**2).mean()) <= 0.02
