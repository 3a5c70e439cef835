"""Where the page looks from: a scene's own camera, or one that suits the size of the characters."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from manikin.export.framing import View, across
from manikin.scenes.scene import Scene, load_scene, parse_scene, shipped
from manikin.studio.camera import ASPECT, FOVY, ROOM, camera_info
from manikin.studio.live import Live


def without_camera(name: str) -> Scene:
    raw = tomllib.loads(Path(str(shipped()[name])).read_text(encoding="utf-8"))
    raw.pop("camera", None)
    return parse_scene(raw, name)


def test_a_scene_s_own_camera_is_kept() -> None:
    camera = camera_info(Live(load_scene("lamp")))
    assert (camera.azimuth, camera.elevation, camera.distance, camera.at) == (62.0, -10.0, 1.75, (0.12, 0.0, 0.24))


@pytest.mark.parametrize("name", ["lamp", "starfish"])
def test_without_one_the_character_fills_the_page(name: str) -> None:
    live = Live(without_camera(name))
    camera = camera_info(live)
    assert (camera.azimuth, camera.elevation) == (38.0, -9.0)
    assert camera.distance < 3.0
    bodies = [body for bodies in live.cast.characters.values() for body in bodies]
    view = View(camera.azimuth, camera.elevation, camera.distance, camera.at)
    seen = np.abs(across(live.world.data.xpos[bodies], view, FOVY, ASPECT)).max()
    assert 0.2 < seen < ROOM
