"""Soft things: surfaces that deform, what moves them, and how the studio sends them."""

import time

import mujoco
import numpy as np
import pytest
from creatures import starfish
from jelly import JELLY, SIDE, alone, drop_jelly, volume
from pygltflib import GLTF2
from raw_client import Heard

from manikin.export.gltf import glb_bytes
from manikin.export.soft import soft_surfaces
from manikin.studio import messages as m
from manikin.studio.session import Session
from manikin.studio.soft import Shells, carriers
from manikin.studio.stage import _still


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(alone())


def test_the_shell_is_the_outside_and_moves_with_the_box(model):
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    shells = Shells(model)
    (mesh,) = shells.meshes()
    (before,) = shells.vertices(data)
    # of 3 x 3 x 3 vertices all but the middle one are seen
    assert (mesh.name, len(mesh.bodies), before.shape, before.dtype) == ("jelly", 26, (26, 3), np.float32)
    assert mesh.colour == pytest.approx((0.3, 0.6, 0.4))
    assert volume(before, mesh.triangles) == pytest.approx(SIDE**3, rel=1e-5)
    # a free vertex lies where its body is
    assert np.allclose(before, data.xpos[mesh.bodies], atol=1e-6)
    for _ in range(600):
        mujoco.mj_step(model, data)
    (after,) = shells.vertices(data)
    assert before[:, 2].min() > 0.2
    assert 0.0 < after[:, 2].min() < 0.02
    # it is soft: the fall has bent it, and it has not burst
    gaps = [np.linalg.norm(np.diff(v[mesh.triangles[:, :2]], axis=1), axis=2) for v in (before, after)]
    assert np.abs(gaps[1] - gaps[0]).max() > 1e-4
    assert volume(after, mesh.triangles) == pytest.approx(SIDE**3, rel=0.1)


@pytest.mark.parametrize("how", ["trilinear", "quadratic"])
def test_vertices_that_nodes_move_belong_to_the_nearest_node(how):
    nodes = mujoco.MjModel.from_xml_string(alone().replace('dim="3"', f'dim="3" dof="{how}"'))
    data = mujoco.MjData(nodes)
    mujoco.mj_forward(nodes, data)
    (mesh,), (vertices,) = Shells(nodes).meshes(), Shells(nodes).vertices(data)
    assert len(carriers(nodes, 0)) == {"trilinear": 8, "quadratic": 27}[how]
    away = np.linalg.norm(vertices - data.xpos[mesh.bodies], axis=1)
    every = np.linalg.norm(vertices[:, None] - data.xpos[None, carriers(nodes, 0)], axis=2)
    assert np.allclose(away, every.min(axis=1), atol=1e-5)


def test_what_mujoco_would_not_draw_is_not_shown(model):
    for hidden in (alone().replace('rgba="0.3 0.6 0.4 1"', 'rgba="1 1 1 0"'), alone().replace('dim="3"', 'dim="3" group="4"')):
        assert not Shells(mujoco.MjModel.from_xml_string(hidden)).meshes()
    assert not Shells(mujoco.MjModel.from_xml_string("<mujoco/>")).vertices(mujoco.MjData(model))


def test_a_sheet_is_its_own_outside():
    sheet = alone().replace(
        JELLY, '<flexcomp name="cloth" type="grid" count="3 4 1" spacing="0.1 0.1 0.1" pos="0 0 1" dim="2"/>'
    )
    (mesh,) = Shells(mujoco.MjModel.from_xml_string(sheet)).meshes()
    assert (len(mesh.bodies), len(mesh.triangles)) == (12, 12)


def test_a_page_hears_of_the_mesh_and_of_every_vertex(session: Session, heard: Heard, monkeypatch):
    drop_jelly(monkeypatch)
    session.handle(m.Open("stand"))
    (model,) = heard.texts("model")
    (mesh,) = model["meshes"]
    assert (mesh["name"], mesh["count"], len(mesh["vertices"])) == ("jelly", 26, 78)
    bodies = [model["bodies"][b] for b in mesh["bodies"]]
    assert all(b["owner"] == "jelly" and b["modes"] == ["spring", "push"] for b in bodies)
    session._publish(time.perf_counter())
    first = m.unpack_frame(heard.frames()[-1]).meshes[0]
    assert np.allclose(first.ravel(), mesh["vertices"], atol=1e-5)
    session.handle(m.Step(300))
    session._publish(time.perf_counter())
    fallen = m.unpack_frame(heard.frames()[-1]).meshes[0]
    assert fallen[:, 2].mean() < first[:, 2].mean() - 0.05
    # looking back brings the vertices of that moment too
    session.handle(m.Seek(0.0))
    session._publish(time.perf_counter())
    assert np.allclose(m.unpack_frame(heard.frames()[-1]).meshes[0], first, atol=1e-6)


def test_a_soft_thing_is_pulled_by_one_of_its_points(session: Session, heard: Heard, monkeypatch):
    drop_jelly(monkeypatch)
    session.handle(m.Open("stand"))
    session.handle(m.Step(300))
    live = session.live
    assert live is not None
    (mesh,) = live.surfaces.meshes()
    (before,) = live.surfaces.vertices(live.world.data)
    top = int(before[:, 2].argmax())
    name = str(live.world.model.body(mesh.bodies[top]).name)
    session.handle(m.Grab(name, "spring"))
    x, y, z = (float(v) for v in before[top])
    session.handle(m.Drag((x, y, z + 0.3)))
    session.handle(m.Step(400))
    (after,) = live.surfaces.vertices(live.world.data)
    assert after[top, 2] > z + 0.1
    assert after[:, 2].mean() > before[:, 2].mean() + 0.05
    assert not session.diverged


def test_flesh_is_drawn_by_its_skins_and_not_a_second_time(session: Session, heard: Heard) -> None:
    session.open(starfish())
    live = session.live
    assert live is not None
    (model,) = heard.texts("model")
    skins = soft_surfaces(live.world.model)
    assert [mesh["name"] for mesh in model["meshes"]] == [s.name for s in skins] == ["flesh_0", "flesh_1"]
    for mesh, skin in zip(model["meshes"], skins):
        assert mesh["colour"] == pytest.approx(skin.colour[:3])
        assert mesh["count"] == len(skin.rest.vertices) > 300
        assert len(mesh["triangles"]) == skin.rest.faces.size
    # what the page loads has no surface of it, only bones and nodes
    glb = GLTF2.load_from_bytes(session.glb)
    assert "flesh_surface" not in {node.name for node in glb.nodes}
    assert {"tip_2", live.bodies[min(live.cast.flesh)]} <= {node.name for node in glb.nodes}
    # a take that is exported still has it
    assert "flesh_surface" in {node.name for node in GLTF2.load_from_bytes(glb_bytes(_still(live))).nodes}


def test_the_skin_moves_with_the_flesh_and_a_press_takes_a_bone(session: Session, heard: Heard) -> None:
    session.open(starfish())
    live = session.live
    assert live is not None
    bones = {"center"} | {f"{part}_{k}" for part in ("arm", "tip") for k in range(5)}
    first = live.surfaces.vertices(live.world.data)
    for mesh, vertices in zip(live.surfaces.meshes(), first):
        assert {live.bodies[b] for b in mesh.bodies} <= bones
        assert vertices.dtype == np.float32
        # each vertex lies by the bone that it would be held by
        away = np.linalg.norm(vertices - live.world.data.xpos[mesh.bodies], axis=1)
        assert away.max() < 0.25
    session.handle(m.Grab("tip_0", "task"))
    session.handle(m.Drag(tuple((live.world.data.xpos[live.world.body("tip_0")] + [0.0, 0.0, 0.1]).tolist())))
    session.handle(m.Step(150))
    session._publish(time.perf_counter())
    sent = m.unpack_frame(heard.frames()[-1]).meshes
    for number, skin in enumerate(soft_surfaces(live.world.model)):
        assert np.allclose(sent[number], skin.at(live.world.data.flexvert_xpos).vertices, atol=1e-6)
    (mesh, _), rise = live.surfaces.meshes(), sent[0][:, 2] - first[0][:, 2]
    arm = mesh.bodies == live.world.body("tip_0")
    assert rise[arm].mean() > 0.02
    assert rise[arm].mean() > rise[~arm].mean() + 0.01
