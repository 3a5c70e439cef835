"""Soft bodies in pictures, GLB and USD: the fine surface moves as the nodes of its flesh do."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from glb_reader import SPOTLESS, Glb

import manikin as mk
from manikin.characters.catalog import TIMESTEP
from manikin.characters.creatures import CREATURES
from manikin.export.soft import node_points, soft_surfaces
from manikin.physics.world import Control, World
from manikin.recording import Recorder, Recording
from manikin.scenes.stage import stage

CAMERA = "[camera]\nazimuth = 50\nelevation = -20\ndistance = 1.3\nat = [0, 0, 0.1]"


@pytest.fixture(scope="module")
def tumble() -> Recording:
    """A fish that bends as it falls, and lies turned."""
    character = CREATURES["fish"](1.0, "", (0.0, 0.0, 0.05), 0.4)
    world = World(stage("tumble", [character], {}, TIMESTEP))
    world.data.qvel[2] = 6.0
    world.forward()
    meta = {"name": "tumble", "scene": CAMERA, "props": [], "characters": {character.root: list(character.bodies)}}
    recorder = Recorder(world, [], 60.0, meta)
    for _ in range(80):
        world.refresh()
        control = Control(np.full(world.model.nu, 2.0))
        world.step(control)
        recorder.stepped(control)
    return recorder.finish()


def fine(recording: Recording) -> list[np.ndarray]:
    """Vertices (k, 3) of all soft surfaces in each frame, from the character's own flesh, not from the exporter."""
    flesh = CREATURES["fish"](1.0, "", (0.0, 0.0, 0.05), 0.4).flesh
    assert flesh is not None
    world = World(recording.mjcf)
    out = []
    for qpos in recording.qpos:
        world.data.qpos[:] = qpos
        world.forward()
        out.append(flesh.vertices(world.data.flexvert_xpos))
    return out


def test_surfaces_are_read_back_from_the_model(tumble: Recording) -> None:
    model = World(tumble.mjcf).model
    surfaces = soft_surfaces(model)
    assert [s.name for s in surfaces] == ["flesh_0", "flesh_1"]
    points = node_points(model, tumble.qpos)
    true = fine(tumble)
    for soft in surfaces:
        assert soft.weights.min() >= 0
        assert np.allclose(soft.weights.sum(axis=1), 1)
        assert np.abs(soft.at(points.rest).vertices - soft.rest.vertices).max() < 1e-6
        for frame in (0, len(true) // 2, -1):
            now = soft.at(points.places[frame]).vertices
            distance = np.linalg.norm(now[:, None] - true[frame][None], axis=2).min(axis=1)
            assert distance.max() < 1e-5


def test_glb_shows_the_surface_where_it_was(tumble: Recording, tmp_path: Path) -> None:
    mk.save(tumble, tmp_path / "fish.glb")
    glb = Glb(tmp_path / "fish.glb")
    true = fine(tumble)
    figure = glb.names["flesh_surface"]
    places = glb.transforms(len(tumble.time))
    for frame in (0, len(true) // 2, len(true) - 1):
        shown = np.concatenate([points for points, _ in glb.skinned(figure, places, frame)])
        distance = np.linalg.norm(true[frame][:, None] - shown[None], axis=2).min(axis=1)
        assert distance.max() < 2e-5, frame


def test_khronos_finds_nothing_in_soft_bodies(
    validate: Callable[[Path], dict[str, int]], tumble: Recording, tmp_path: Path
) -> None:
    mk.save(tumble, tmp_path / "fish.glb")
    assert validate(tmp_path / "fish.glb") == SPOTLESS


def test_usd_has_the_points_over_time(tumble: Recording, tmp_path: Path) -> None:
    pytest.importorskip("pxr", reason="usd-core is missing: pip install manikin[usd]")
    from pxr import Usd, UsdGeom

    mk.save(tumble, tmp_path / "fish.usda")
    stage_ = Usd.Stage.Open(str(tmp_path / "fish.usda"))
    true = fine(tumble)
    meshes = [UsdGeom.Mesh(p) for p in stage_.Traverse() if p.GetName().startswith("flesh_")]
    assert len(meshes) == 2
    shown = np.concatenate([np.array(m.GetPointsAttr().Get(stage_.GetEndTimeCode())) for m in meshes])
    assert np.linalg.norm(true[-1][:, None] - shown[None], axis=2).min(axis=1).max() < 1e-5
    # nodes of flesh are no props
    assert not [p for p in stage_.Traverse() if p.GetName().startswith("node_")]


def test_pictures_show_the_fine_surface(tumble: Recording) -> None:
    from manikin.export.render import Painter, view_of

    with Painter(tumble, 200, 160) as painter:
        first, last = (painter.draw(k, view_of(tumble)).astype(int) for k in (0, len(tumble.qpos) - 1))
        # body and fin in their colours: blue-green and red
        green = (first[..., 1] > first[..., 0] + 25) & (first[..., 2] > first[..., 0] + 25)
        red = (first[..., 0] > first[..., 1] + 60) & (first[..., 0] > first[..., 2] + 60)
        assert green.sum() > 150
        assert red.sum() > 20
        assert np.abs(first - last).max() > 60
        painter.soft = []
        # without it MuJoCo's own skin is drawn, which is not the same once bones have turned
        assert np.abs(painter.draw(len(tumble.qpos) - 1, view_of(tumble)).astype(int) - last).max() > 20
