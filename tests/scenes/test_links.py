"""Chains, pendulums, joints at the start, and scripted tugs."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.export.report import save_csv
from manikin.physics.world import World
from manikin.scenes.links import lay_out, relative
from manikin.scenes.stage import PropShape, stage
from manikin.spatial import quat_conjugate, quat_from_axis_angle, quat_multiply, rotate

MakeScene = Callable[..., mk.Scene]
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])
CHAIN = {"shape": "chain", "size": [0.006, 0.8], "links": 8, "mass": 1.6}
BOB = {"shape": "pendulum", "size": [0.06, 0.3], "mass": 4.0}


def ends(start: np.ndarray, quats: np.ndarray, length: float) -> np.ndarray:
    """Where links start, and where the last one ends."""
    ways = np.array([rotate(q, np.array([0.0, 0.0, -1.0])) for q in quats])
    return start + length * np.concatenate([np.zeros((1, 3)), np.cumsum(ways, axis=0)])


def test_a_chain_hangs_from_where_it_is_held() -> None:
    place = np.array([0.3, -0.2, 1.5])
    start, quats = lay_out([(0, place)], 5, 0.1, NO_TURN)
    assert np.allclose(ends(start, quats, 0.1)[-1], place - [0, 0, 0.5])
    # held in the middle both ends hang
    start, quats = lay_out([(2, place)], 5, 0.1, NO_TURN)
    points = ends(start, quats, 0.1)
    assert np.allclose(points[2], place)
    assert np.allclose(points[0], place - [0, 0, 0.2])
    assert np.allclose(points[-1], place - [0, 0, 0.3])


def test_or_lies_out_as_it_is_turned() -> None:
    start, quats = lay_out([(0, np.zeros(3))], 4, 0.25, quat_from_axis_angle((0, 1, 0), -np.pi / 2))
    assert np.allclose(ends(start, quats, 0.25)[-1], [1.0, 0.0, 0.0])


@pytest.mark.parametrize("span", [0.0, 0.1, 0.35, 0.5])
def test_between_two_hands_it_sags(span: float) -> None:
    one, two = np.array([0.3, -span / 2, 1.0]), np.array([0.3, span / 2, 1.0])
    start, quats = lay_out([(0, one), (5, two)], 8, 0.1, NO_TURN)
    points = ends(start, quats, 0.1)
    assert np.allclose(points[5], two, atol=1e-6)
    assert (points[1:5, 2] <= 1.0 + 1e-6).all()
    assert np.allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), 0.1)
    assert np.allclose(points[-1], two - [0, 0, 0.3], atol=1e-6)
    # each link's rotation relative to the previous one gives the same rotations again
    turned = [np.asarray(relative(quats)[0])]
    for step in relative(quats)[1:]:
        turned.append(quat_multiply(turned[-1], step))
    assert np.allclose([abs(a @ b) for a, b in zip(turned, quats)], 1)


def test_two_hands_on_one_link_and_hands_too_far_apart() -> None:
    one, two = np.array([0.3, 0.0, 1.0]), np.array([0.38, 0.0, 1.0])
    start, quats = lay_out([(0, one), (0, two)], 4, 0.1, NO_TURN)
    assert np.allclose(ends(start, quats, 0.1)[1], [0.4, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"2 links of 0\.1 m reach 0\.2 m, the hands are 0\.3 m apart"):
        lay_out([(1, one), (3, one + [0, 0.3, 0])], 4, 0.1, NO_TURN)


def joined(stand: MakeScene, **changes: Any) -> mk.Scene:
    props = {"props.chain": dict(CHAIN), "props.bob": dict(BOB), "joined": {"hand_l": "chain_2", "hand_r": "bob"}}
    return stand(**(props | {"tasks.hands": {"measure": "point", "of": ["hand_l", "hand_r"], "law": "hold"}} | changes))


def test_joints_hold_from_the_first_moment(stand: MakeScene) -> None:
    world = mk.build_run(joined(stand, **{"character.facing": 70.0}), record=False).world
    data = world.data
    for hand, site in (("hand_l", "chain_2"), ("hand_r", "bob")):
        assert np.abs(data.site_xpos[world.site(hand)] - data.site_xpos[world.site(site)]).max() < 1e-9
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-9
    end = data.site_xpos[world.site("bob_end")] - data.site_xpos[world.site("bob")]
    assert np.allclose(end, [0, 0, -0.3])
    assert world.load[world.body("chain_5")] == world.load[world.body("bob")] == 1.0
    assert world.load[world.body("ball")] == 0.0


def dense_rows(world: World, equality: str) -> np.ndarray:
    """MuJoCo's own constraint Jacobian of an equality."""
    model, data = world.model, world.data
    full = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        for r in range(data.nefc):
            row = slice(data.efc_J_rowadr[r], data.efc_J_rowadr[r] + data.efc_J_rownnz[r])
            full[r, data.efc_J_colind[row]] = data.efc_J[row]
    else:
        full[:] = data.efc_J.reshape(data.nefc, model.nv)
    return full[: data.ne][data.efc_id[: data.ne] == world.equality(equality)]


def test_the_controller_knows_ball_joints_as_mujoco_does(stand: MakeScene) -> None:
    """Rows of a connect: the anchors of its two bodies are not kept in the order of a weld's."""
    world = mk.build_run(joined(stand), record=False).world
    rng = np.random.default_rng(0)
    world.data.qvel[:] = rng.normal(0, 1, world.model.nv)
    world.data.qpos[7:48] += rng.normal(0, 0.1, 41)
    world.forward()
    response = world.dynamics().response()
    starts = np.cumsum([0, *response.layout.size])
    for k, e in enumerate(response.layout.equality):
        name = world.model.equality(int(e)).name
        if name.startswith("join_"):
            ours = response.L[starts[k] : starts[k + 1]]
            assert np.abs(ours - dense_rows(world, name)).max() < 1e-9
    # every link but what the hands hold swings as physics has it: 3 turns each
    assert response.decided - response.constrained == 3 * 8 + 3


def test_the_hands_bear_what_hangs_on_them(stand: MakeScene) -> None:
    """A controller that knows the load holds the hands still; one that does not lets them sink."""
    known, ignored = (
        mk.run(joined(stand, seconds=0.6, **{"props.bob.unknown": u, "props.chain.unknown": u})).recording
        for u in (False, True)
    )
    assert known.tasks["hands"]["error"].max() < 0.002
    assert ignored.tasks["hands"]["error"].max() > 0.03


def test_balance_counts_every_link(stand: MakeScene) -> None:
    run = mk.build_run(joined(stand, **{"tasks.balance": {"measure": "com", "goal": [0.0, 0.0]}}), record=False)
    model, data = run.world.model, run.world.data
    balance = next(t for t in run.tasks if t.name == "balance").measure.evaluate(run.world.dynamics()).value
    mass = np.where(np.arange(model.nbody) == run.world.body("ball"), 0.0, model.body_mass)
    assert np.allclose(balance, (mass @ data.xipos / mass.sum())[:2])


@pytest.mark.parametrize("kind", ["chain", "pendulum"])
def test_a_swinging_prop_has_the_period_of_the_textbook(kind: str) -> None:
    """Small swings of a bob on a rod, and of a hanging chain in its slowest mode."""
    if kind == "pendulum":
        prop = PropShape("pendulum", (0.02, 0.5), 2.0, (0.0, 0.0, 2.0), (3.0, 0.0, 0.0), fixed=True, damping=0.0)
        expected = 2 * np.pi * np.sqrt((0.5**2 + 0.4 * 0.02**2) / (9.81 * 0.5))
    else:
        # the slow mode of a hanging chain of many links: j0 / 2 sqrt(g / L), j0 = 2.4048 (Bernoulli)
        prop = PropShape("chain", (0.004, 1.0), 2.0, (0.0, 0.0, 2.0), (0.0, 0.0, 0.0), fixed=True, links=32, damping=0.0)
        expected = 2 * np.pi / (2.4048 / 2 * np.sqrt(9.81))
    world = World(stage("swing", [], {"prop": prop}))
    model, data = world.model, world.data
    model.dof_armature[:] = 0.0
    if kind == "chain":
        # the shape of that mode: zero at the top, steeper below
        height = 1.0 - np.arange(1, 33) / 32.0
        shape = 0.02 * np.array([_bessel(2.4048 * np.sqrt(h)) for h in height])
        tilt = np.arcsin(np.diff(np.concatenate([[0.0], shape])) * 32)
        for k in range(1, 32):
            turn = quat_from_axis_angle((1, 0, 0), float(tilt[k] - tilt[k - 1]))
            address = int(model.joint(f"prop_{k}").qposadr[0])
            data.qpos[address : address + 4] = turn
    world.forward()
    end = world.site("prop_end")
    side = []
    for _ in range(1500):
        mujoco.mj_step(model, data)
        side.append(float(data.site_xpos[end][1]))
    still = np.array(side) - np.mean(side) if kind == "chain" else np.array(side)
    crossings = np.flatnonzero(np.diff(np.sign(still)))
    period = 2 * 0.002 * np.diff(crossings).mean()
    assert period == pytest.approx(expected, rel=0.03 if kind == "chain" else 0.005)


def _bessel(x: float) -> float:
    from scipy.special import j0

    return float(j0(x))


# --- tugs


def test_a_tug_acts_at_its_point_along_its_path(stand: MakeScene) -> None:
    path = [[0.1, 0.0, 0.0, 0.0], [0.2, 3.0, 0.0, 0.0]]
    scene = stand(
        **{"props.ball": {"shape": "box", "size": [0.2, 0.2, 0.2], "mass": 2.0, "at": [2.0, 0.0, 3.0], "turn": [0, 0, 90.0]}},
        **{"tugs.a": {"body": "ball", "at": [0.1, 0.0, 0.0], "path": path}},
    )
    recording = mk.run(scene).recording
    steps = recording.xfrc[:, 0]
    assert steps.min() == pytest.approx(50, abs=1)
    assert steps.max() == pytest.approx(100, abs=1)
    last = recording.xfrc[-1]
    assert last[2:5] == pytest.approx([3.0, 0.0, 0.0], abs=0.01)
    # pulled at its corner: the body's x is the world's y
    assert last[5:] == pytest.approx([0.0, 0.0, -0.3], abs=1e-3)
    start = int(mujoco.MjModel.from_xml_string(recording.mjcf).joint("ball").dofadr[0])
    impulse = recording.xfrc[:, 2].sum() * 0.002
    assert recording.qvel[-1, start] == pytest.approx(impulse / 2.0, rel=1e-6)
    assert recording.qvel[-1, start + 5] < -0.5
    assert mk.replay(recording).difference == 0.0


def test_tugs_and_inputs_add_up(stand: MakeScene) -> None:
    scene = stand(**{"tugs.a": {"body": "ball", "path": [[0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]}})
    run = mk.build_run(scene)
    run.advance(3, [mk.Push("ball", np.array([0.0, 2.0, 0.0]))])
    body = run.world.body("ball")
    assert np.allclose(run.world.data.xfrc_applied[body, :3], [1.0, 2.0, 0.0])
    run.advance(1)
    assert np.allclose(run.world.data.xfrc_applied[body, :3], [1.0, 0.0, 0.0])
    # a branch is tugged too
    ahead = run.branch()
    ahead.advance(1)
    assert np.allclose(ahead.world.data.xfrc_applied[body, :3], [1.0, 0.0, 0.0])


# --- out of the door


@pytest.fixture(scope="module")
def take() -> mk.Take:
    return mk.run(mk.load_scene("chain"), seconds=1.2)


def test_chains_in_a_table(take: mk.Take, tmp_path: Path) -> None:
    save_csv(take.recording, tmp_path / "a.csv")
    rows = (tmp_path / "a.csv").read_text().splitlines()
    names = rows[0].split(",")
    assert {"chain_x", "chain_z", "chain_end_x", "chain_end_z", "hands_error"} <= set(names)
    last = dict(zip(names, map(float, rows[-1].split(","))))
    first = dict(zip(names, map(float, rows[1].split(","))))
    assert first["chain_end_z"] == pytest.approx(first["chain_z"] - 0.81, abs=0.06)
    # the tug draws it forward
    assert last["chain_end_x"] > first["chain_end_x"] + 0.3


def test_links_in_a_glb(take: mk.Take, tmp_path: Path) -> None:
    import json
    import struct

    mk.save(take, tmp_path / "a.glb")
    content = (tmp_path / "a.glb").read_bytes()
    size = struct.unpack_from("<I", content, 12)[0]
    gltf = json.loads(content[20 : 20 + size])
    nodes = {n["name"]: n for n in gltf["nodes"]}
    for k in range(10):
        name = "chain" if k == 0 else f"chain_{k}"
        assert "mesh" in nodes[name]
        # links hang on links, and each of them moves
        below = [gltf["nodes"][c]["name"] for c in nodes[name].get("children", [])]
        assert below == ([f"chain_{k + 1}"] if k < 9 else [])
    moving = {gltf["nodes"][c["target"]["node"]]["name"] for c in gltf["animations"][0]["channels"]}
    assert {"chain", "chain_1", "chain_9"} <= moving


def test_neighbouring_rings_stand_across() -> None:
    world = World(stage("ring", [], {"c": PropShape("chain", (0.005, 0.4), 1.0, (0.0, 0.0, 1.0), links=4)}))
    model = world.model
    rings = [g for g in range(model.ngeom) if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH]
    assert len(rings) == 4
    turns = [quat_multiply(quat_conjugate(model.geom_quat[a]), model.geom_quat[b]) for a, b in itertools.pairwise(rings)]
    assert np.allclose([2 * np.arccos(min(abs(t[0]), 1.0)) for t in turns], np.pi / 2, atol=1e-5)
    assert model.body_mass.sum() == pytest.approx(1.0)
