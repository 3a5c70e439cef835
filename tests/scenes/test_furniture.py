"""Cases and seesaws: what they are made of, how they move, what is refused, and that glass is seen through everywhere."""

import json
import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.errors import SceneError
from manikin.export.framing import View
from manikin.export.gltf import glb_bytes
from manikin.export.render import Painter
from manikin.export.report import save_csv
from manikin.palette import GLASS_OPACITY
from manikin.scenes.build import build_run
from manikin.scenes.furniture import PANE, seesaw_range
from manikin.scenes.scene import parse_text

SCENE = """
name = "things"
controller = "direct"
seconds = 1.0
timestep = 0.002
[character]
model = "lamp"
at = [-1.5, 0.0]
[tasks.calm]
measure = "posture"
[props.case]
shape = "case"
size = [0.5, 0.4, 0.3]
mass = 0.8
at = [0.0, 0.0, 0.15]
[props.plank]
shape = "seesaw"
size = [1.0, 0.3, 0.02]
mass = 1.0
at = [1.5, 0.0, 0.1]
damping = 0.2
[props.weight]
shape = "box"
size = [0.1, 0.1, 0.1]
mass = 2.0
at = [1.8, 0.0, 0.18]
"""


def world_of(text: str = SCENE):
    return build_run(parse_text(text, "things"), record=False).world


def test_a_case_is_one_body_of_five_panes_without_a_bottom():
    world = world_of()
    model = world.model
    body = world.body("case")
    assert model.body_geomnum[body] == 5
    assert model.body_mass[body] == pytest.approx(0.8)
    # a ball under it lies on the ground and has the lid above it
    for start, way, hits in (([0.0, 0.0, 0.1], [0.0, 0.0, 1.0], True), ([0.0, 0.0, 0.15], [0.0, 0.0, -1.0], False)):
        geom = np.array([-1], np.int32)
        distance = mujoco.mj_ray(model, world.data, np.array(start), np.array(way), None, 1, -1, geom)
        assert (model.geom_bodyid[geom[0]] == body) == hits
        assert distance == pytest.approx(0.2 - PANE if hits else 0.15)
    # its heavy side is the lid
    assert model.body_ipos[body][2] > 0.02
    assert np.allclose(world.data.site_xpos[world.site("case_front")], [0.25, 0.0, 0.0])
    assert np.allclose(world.data.site_xpos[world.site("case_right")], [0.0, -0.2, 0.0])


def test_a_case_stands_still_and_a_seesaw_tips_to_the_ground_under_a_weight():
    run = build_run(parse_text(SCENE, "things"))
    run.advance(500)
    world = run.world
    assert np.allclose(world.data.xpos[world.body("case")], [0.0, 0.0, 0.15], atol=1e-3)
    angle = float(world.data.qpos[world.model.jnt_qposadr[world.joint("plank")]])
    assert angle == pytest.approx(seesaw_range((1.0, 0.3, 0.02), 0.1), abs=0.01)
    # the end of its underside is on the ground, the other end is up; the stand stays
    assert world.data.site_xpos[world.site("plank_front")][2] == pytest.approx(0.02, abs=0.01)
    assert world.data.site_xpos[world.site("plank_back")][2] == pytest.approx(0.22, abs=0.01)
    assert world.model.body_weldid[world.body("plank_stand")] == 0


def test_a_table_of_places_says_where_a_plank_is(tmp_path: Path):
    """Its one joint is an angle, not a place."""
    recording = mk.run(parse_text(SCENE, "things"), seconds=0.2).recording
    save_csv(recording, tmp_path / "t.csv")
    head, *rows = (tmp_path / "t.csv").read_text().splitlines()
    row = dict(zip(head.split(","), rows[-1].split(",")))
    assert [float(row[f"plank_{a}"]) for a in "xyz"] == pytest.approx([1.5, 0.0, 0.1])
    assert float(row["case_z"]) == pytest.approx(0.15, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("size = [0.5, 0.4, 0.3]", "size = [0.5, 0.4]"), "a case needs 3 numbers in size, 2 were given"),
        (("size = [0.5, 0.4, 0.3]", "size = [0.5, 0.4, 0.03]"), "a case must measure 0.048 m or more"),
        (("size = [1.0, 0.3, 0.02]", "size = [1.0, 0.3]"), "a seesaw needs 3 numbers"),
        (("size = [1.0, 0.3, 0.02]", "size = [1.0, 0.3, 0.3]"), "four times as long as thick"),
        (("at = [1.5, 0.0, 0.1]", "at = [1.5, 0.0, 0.0]"), "pivot of a seesaw must be above the ground"),
        (("damping = 0.2", "velocity = [1.0, 0.0, 0.0]"), "a seesaw stays on its pivot"),
        (("damping = 0.2", "turn = [0.0, 10.0, 0.0]"), "about the vertical"),
        (("mass = 0.8", "damping = 0.1"), "damping is for a chain, a pendulum or a seesaw, not for a case"),
        (("mass = 0.8", "opacity = 1.5"), "opacity"),
        (("[props.weight]", "[props.plank_stand]"), "taken"),
        (("[props.weight]", "[props.case_left]"), "taken"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(change, words):
    with pytest.raises(SceneError, match=words):
        world_of(SCENE.replace(*change))


def test_glass_is_seen_through_in_glb_and_pictures():
    """The lamp under a high case, and the same under a box of the same walls that is opaque."""
    text = (
        SCENE.replace("at = [-1.5, 0.0]", "at = [-0.02, 0.0]")
        .replace("0.4, 0.3]", "0.4, 0.6]")
        .replace("0.0, 0.15]", "0.0, 0.3]")
    )
    view = View(90.0, -5.0, 1.6, (0.0, 0.0, 0.25))
    pictures = []
    for change in (text, text.replace("mass = 0.8", "mass = 0.8\nopacity = 1.0")):
        recording = mk.run(parse_text(change, "things"), seconds=0.01).recording
        content = glb_bytes(recording)
        size = struct.unpack_from("<I", content, 12)[0]
        materials = json.loads(content[20 : 20 + size])["materials"]
        clear = [m["pbrMetallicRoughness"]["baseColorFactor"][3] for m in materials if m.get("alphaMode") == "BLEND"]
        assert clear == ([] if "opacity" in change else [pytest.approx(GLASS_OPACITY)])
        with Painter(recording, 160, 160) as painter:
            pictures.append(painter.draw(0, view)[50:110, 60:100].astype(float))
    # the lamp behind the pane makes a picture; a wall is nearly one colour
    seen, hidden = (p.std(axis=(0, 1)).max() for p in pictures)
    assert seen > 3 * hidden
