"""The lamp, worm, fish, starfish and donut: what they weigh, how they are tied, and how they fall."""

import mujoco
import numpy as np
import pytest
from scipy.spatial import cKDTree

import manikin as mk
from manikin.characters.catalog import TIMESTEP, Character
from manikin.characters.creatures import CREATURES
from manikin.characters.donut import donut_plan
from manikin.characters.fish import fish_plan
from manikin.characters.starfish import starfish_plan
from manikin.characters.tets import moments
from manikin.characters.worm import worm_plan
from manikin.errors import Inverted, SceneError
from manikin.papers.kim2011.watch import momentum_parts
from manikin.physics.skeleton import find_skeleton
from manikin.physics.world import Control, World
from manikin.scenes.build import scene_text
from manikin.scenes.build_world import build_world, skeleton_of
from manikin.scenes.scene import load_scene, parse_scene, parse_text, shipped
from manikin.scenes.stage import PropShape, stage

SOFT = ("worm", "fish", "starfish", "donut")
DENSITY = {"worm": 800.0, "fish": 800.0, "starfish": 700.0, "donut": 350.0}
MIRROR = np.array([1.0, -1.0, 1.0])


def made(name: str, above: float = 0.0, facing: float = 0.0) -> Character:
    return CREATURES[name](1.0, "", (0.0, 0.0, above), facing)


def compiled(character: Character) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(stage("t", [character], {}, TIMESTEP))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def inertia_about_centre(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre and inertia of the whole model as it stands."""
    mass = float(model.body_mass.sum())
    centre = model.body_mass @ data.xipos / mass
    total = np.zeros((3, 3))
    for b in range(model.nbody):
        turn, arm = data.ximat[b].reshape(3, 3), data.xipos[b] - centre
        total += turn @ np.diag(model.body_inertia[b]) @ turn.T
        total += model.body_mass[b] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, centre, total


# --- all of them


@pytest.mark.parametrize("name", CREATURES)
def test_only_the_root_is_passive_and_every_joint_has_its_limits(name: str) -> None:
    character = made(name)
    model, _ = compiled(character)
    bones = {model.body(b).id for b in character.bodies}
    joints = [j for j in range(model.njnt) if int(model.jnt_bodyid[j]) in bones]
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in joints]
    assert names == [*character.root_joints, *character.joints]
    driven = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in model.actuator_trnid[:, 0]]
    assert tuple(driven) == character.joints
    for joint in character.joints:
        j = model.joint(joint).id
        low, high = model.jnt_range[j]
        assert model.jnt_limited[j]
        assert low < character.start.get(joint, 0.0) < high
    # servos and motors alike cannot exceed the torque they are given
    assert model.actuator_forcelimited.all()
    low, high = World(stage("t", [character], {}, TIMESTEP)).torque_limits
    assert (high > 0).all()
    assert np.array_equal(low, -high)
    assert np.isfinite(high).all()
    stronger = CREATURES[name](2.0, "", (0.0, 0.0, 0.0), 0.0)
    assert np.allclose(compiled(stronger)[0].actuator_forcerange, 2 * model.actuator_forcerange)


@pytest.mark.parametrize("name", CREATURES)
def test_a_scene_puts_it_in_its_place(name: str) -> None:
    raw = {"name": "t", "character": {"model": name, "at": [0.5, -0.2], "facing": 90.0, "above": 0.1}}
    world, (actor,) = build_world(parse_scene(raw, "t.toml"))
    _, data = compiled(made(name))
    reference = data.xpos[1]
    x, y, z = world.data.xpos[world.body(actor.character.root)]
    assert np.allclose([x, y, z], [0.5 - reference[1], -0.2 + reference[0], 0.1 + reference[2]], atol=1e-8)
    for joint, angle in actor.character.start.items():
        assert world.data.qpos[world.model.jnt_qposadr[world.joint(joint)]] == angle


@pytest.mark.parametrize("name", CREATURES)
def test_names_carry_the_prefix(name: str) -> None:
    character = CREATURES[name](1.0, "left/", (0.0, 0.0, 0.0), 0.0)
    twin = CREATURES[name](1.0, "right/", (0.0, 2.0, 0.0), 0.0)
    model = mujoco.MjModel.from_xml_string(stage("t", [character, twin], {}, TIMESTEP))
    named = [*character.bodies, *character.joints, *character.root_joints]
    assert all(n.startswith("left/") for n in named)
    assert model.nu == len(character.joints) + len(twin.joints)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("height", 1.6), ("clip", "walk"), ("feet", "contact"), ("locked", ["head_flexion"]),
        # the human's defaults
        ("height", 1.75), ("mass", 75.0), ("sex", "neutral"), ("clip", "stand"), ("locked", []), ("clip_fps", None),
    ],
)  # fmt: skip
def test_keys_of_the_human_are_refused(key: str, value: object) -> None:
    with pytest.raises(SceneError, match=rf"{key} is not for a lamp \(allowed: model, at, facing, above, strength\)"):
        parse_scene({"name": "t", "character": {"model": "lamp", key: value}}, "t.toml")


@pytest.mark.parametrize("above", [0.5, 0.0])
def test_the_human_stands_on_the_ground(above: float) -> None:
    with pytest.raises(SceneError, match="above is not for a human"):
        parse_scene({"name": "t", "character": {"above": above}}, "t.toml")


@pytest.mark.parametrize("name", shipped())
def test_saved_scenes_have_no_keys_of_another_character(name: str) -> None:
    scene = load_scene(name)
    assert parse_text(scene_text(scene), "saved.toml") == scene


def test_a_posture_from_a_clip_needs_a_human() -> None:
    tasks = {"p": {"measure": "posture", "law": "nearest"}}
    raw = {"name": "t", "controller": "direct", "character": {"model": "lamp"}, "tasks": tasks}
    with pytest.raises(SceneError, match="'nearest' needs a clip, and a lamp has none"):
        mk.run(parse_scene(raw, "t.toml"), seconds=0.1)


# --- the lamp


def test_the_lamp_has_its_size_and_stands() -> None:
    character = made("lamp")
    world, _ = build_world(parse_scene({"name": "t", "character": {"model": "lamp"}}, "t.toml"))
    model, data = world.model, world.data
    assert model.body_mass.sum() == pytest.approx(2.0)
    assert 0.45 < character.height < 0.55
    address = model.jnt_qposadr[model.actuator_trnid[:, 0]]
    wanted, limit = data.qpos[address].copy(), world.torque_limits[1]
    for _ in range(1000):
        data.ctrl[:] = np.clip(limit * (2.0 * (wanted - data.qpos[address]) - 0.05 * data.qvel[6:]), -limit, limit)
        mujoco.mj_step(model, data)
    assert data.ncon >= 3
    assert abs(data.body("foot").xpos).max() < 2e-3
    assert data.body("foot").xmat[8] > 0.9999
    assert np.abs(data.qvel).max() < 1e-2


@pytest.mark.parametrize(("friction", "slides"), [(0.05, True), (0.8, False)])
def test_what_the_lamp_stands_on_decides_how_it_slides(friction: float, slides: bool) -> None:
    model = mujoco.MjModel.from_xml_string(stage("t", [made("lamp")], {}, friction=friction))
    data = mujoco.MjData(model)
    for _ in range(250):
        data.xfrc_applied[model.body("foot").id, 0] = 4.0
        mujoco.mj_step(model, data)
    assert (data.body("foot").xpos[0] > 0.05) == slides


# --- flesh


@pytest.mark.parametrize("name", SOFT)
def test_it_weighs_what_its_surface_holds(name: str) -> None:
    character = made(name)
    assert character.flesh is not None
    mass, centre, inertia = inertia_about_centre(*compiled(character))
    volume, first, second = moments(character.flesh.surface)
    density, middle = DENSITY[name], first / volume
    spread = density * (second - volume * np.outer(middle, middle))
    expected = np.trace(spread) * np.eye(3) - spread
    assert mass == pytest.approx(density * volume, rel=1e-6)
    assert np.abs(centre - middle).max() < 1e-6
    assert np.abs(inertia - expected).max() < 1e-6 * np.abs(expected).max()
    assert character.flesh.mass.min() > 0
    assert character.flesh.bone_mass.min() > 0


@pytest.mark.parametrize("name", SOFT)
def test_flesh_is_fine_enough_and_well_tied(name: str) -> None:
    flesh = made(name).flesh
    assert flesh is not None
    assert len(flesh.tets.elements) >= 300
    assert flesh.tets.volumes.min() > 0
    assert flesh.tets.shape_quality().min() > 0.1
    assert (flesh.bone < 0).mean() > 0.4
    for bone in range(flesh.bone.max() + 1):
        held = flesh.tets.nodes[flesh.bone == bone]
        assert len(held) >= 4
        # they span space, so that nothing can twist inside
        assert np.linalg.svd(held - held.mean(axis=0), compute_uv=False)[-1] > 0.005


@pytest.mark.parametrize("name", SOFT)
def test_the_surface_lies_where_it_was_drawn(name: str) -> None:
    flesh = made(name).flesh
    assert flesh is not None
    nodes = flesh.tets.nodes
    assert np.abs(flesh.vertices(nodes) - flesh.surface.vertices).max() < 1e-9
    assert flesh.place.weights.min() >= 0
    assert np.abs(flesh.place.weights.sum(axis=1) - 1).max() < 1e-9
    # and goes along with any affine motion
    map_, shift = np.array([[0.0, -1.1, 0.2], [0.9, 0.1, 0.0], [0.0, 0.3, 1.2]]), np.array([0.3, -2.0, 1.0])
    assert np.abs(flesh.vertices(nodes @ map_.T + shift) - flesh.surface.vertices @ map_.T - shift).max() < 1e-9


@pytest.mark.parametrize("name", SOFT)
def test_left_and_right_are_alike(name: str) -> None:
    flesh = made(name).flesh
    assert flesh is not None
    distance, partner = cKDTree(flesh.tets.nodes).query(flesh.tets.nodes * MIRROR)
    assert distance.max() < 1e-9
    assert np.abs(flesh.mass - flesh.mass[partner]).max() < 1e-3 * flesh.mass.mean()
    if name != "starfish":
        assert np.array_equal(flesh.bone, flesh.bone[partner])


@pytest.mark.parametrize("name", SOFT)
def test_bones_weigh_what_the_nodes_fixed_to_them_weigh(name: str) -> None:
    character = made(name)
    assert character.flesh is not None
    model, _ = compiled(character)
    free = character.flesh.mass[character.flesh.bone < 0].sum()
    bones = sum(float(model.body(b).mass[0]) for b in character.bodies)
    assert bones == pytest.approx(float(model.body_mass.sum()) - free, abs=1e-6)


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("onto", ["ground", "prop"])
def test_dropped_from_a_foot_high_it_stays_whole_and_outside(name: str, onto: str) -> None:
    props = {"slab": PropShape("box", (1.6, 1.6, 0.2), 1.0, (0.0, 0.0, 0.1), fixed=True)} if onto == "prop" else {}
    top = 0.2 if props else 0.0
    character = made(name, 0.3 + top)
    assert character.flesh is not None
    model = mujoco.MjModel.from_xml_string(stage("t", [character], props, TIMESTEP))
    data = mujoco.MjData(model)
    address = model.jnt_qposadr[model.actuator_trnid[:, 0]]
    lowest, squeezed = np.inf, np.inf
    for _ in range(round(0.8 / TIMESTEP)):
        data.ctrl[:] = -10.0 * data.qpos[address]
        mujoco.mj_step(model, data)
        lowest = min(lowest, float(character.flesh.vertices(data.flexvert_xpos)[:, 2].min()) - top)
        squeezed = min(squeezed, character.flesh.volume_ratio(data.flexvert_xpos))
    assert squeezed > 0.1
    # it came down, and sank in by no more than 5 mm
    assert -0.005 < lowest < 0.02


@pytest.mark.parametrize("name", ["worm", "fish", "starfish"])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_bent_to_all_its_limits_it_stays_whole(name: str, way: float) -> None:
    """In the air, all joints at once: the ranges are those that the flesh can follow."""
    character = made(name, 1.0)
    assert character.flesh is not None
    model, data = compiled(character)
    model.opt.gravity[:] = 0.0
    joints = model.actuator_trnid[:, 0]
    limit, squeezed = way * model.jnt_range[joints, 1], np.inf
    for k in range(round(0.6 / TIMESTEP)):
        data.ctrl[:] = 40.0 * (limit * min(1.0, k * TIMESTEP / 0.4) - data.qpos[model.jnt_qposadr[joints]])
        mujoco.mj_step(model, data)
        squeezed = min(squeezed, character.flesh.volume_ratio(data.flexvert_xpos))
    assert squeezed > 0.1
    assert np.abs(data.qpos[model.jnt_qposadr[joints]] / limit).min() > 0.6


@pytest.mark.parametrize("name", SOFT)
def test_in_the_air_flesh_does_not_rotate_it(name: str) -> None:
    """It flaps with all its joints: the angular momentum about its centre of mass stays."""
    model, data = compiled(made(name, 1.0))
    model.opt.gravity[:] = 0.0
    mine = np.arange(model.nbody) > 0
    drift, scale = 0.0, 0.0
    for k in range(round(0.4 / TIMESTEP)):
        data.ctrl[:] = 4.0 * np.sin(20.0 * k * TIMESTEP) * np.cos(np.arange(model.nu))
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        _, parts = momentum_parts(model, data, mine)
        drift = max(drift, float(np.linalg.norm(parts.sum(axis=0))))
        scale = max(scale, float(np.linalg.norm(parts, axis=1).sum()))
    assert scale > 0.02
    assert drift < 0.01 * scale


@pytest.mark.parametrize("name", SOFT)
def test_a_range_ends_where_its_plan_says_and_control_keeps_off_the_stop(name: str) -> None:
    plan = {"worm": worm_plan, "fish": fish_plan, "starfish": starfish_plan, "donut": donut_plan}[name]()
    world, [actor] = build_world(parse_scene({"name": "t", "controller": "direct", "character": {"model": name}}, "t.toml"))
    skeleton, model = skeleton_of(world, actor.character), world.model
    named = {f"{bone.name}_{hinge.motion}": hinge for bone in plan.bones for hinge in bone.hinges}
    assert set(named) == set(actor.character.joints)
    for joint, low, high in zip(actor.character.joints, skeleton.low, skeleton.high):
        ends = np.deg2rad([named[joint].low, named[joint].high]) + [-plan.wider, plan.wider]
        assert model.joint(joint).range == pytest.approx(ends)
        assert [low, high] == pytest.approx(ends + [plan.stop, -plan.stop])


@pytest.mark.parametrize("name", ["worm", "fish", "starfish"])
def test_joints_are_stopped_before_the_end_of_their_range(name: str) -> None:
    """All motors push in one direction, in the air and without flesh: what stops them is the joint itself."""
    character = made(name, 1.0)
    model, data = compiled(character)
    model.opt.gravity[:] = 0.0
    model.flex_stiffness[:] = 0.0
    joints = model.actuator_trnid[:, 0]
    assert (model.jnt_margin[joints] >= 0.01).all()
    stops = model.jnt_range[joints, 1] - model.jnt_margin[joints]
    over = []
    for _ in range(round(1.0 / TIMESTEP)):
        data.ctrl[:] = 1.0
        mujoco.mj_step(model, data)
        over.append(data.qpos[model.jnt_qposadr[joints]] - stops)
    # reached, leant on, and the end of the range is never passed
    assert (np.max(over, axis=0) > -1e-3).all()
    assert (np.max(over, axis=0) < model.jnt_margin[joints]).all()
    # control keeps off the same place
    world = World(stage("t", [character], {}, TIMESTEP))
    skeleton = find_skeleton(world, character.root_joints, character.joints, character.bodies, {})
    np.testing.assert_allclose(skeleton.high, stops)
    np.testing.assert_allclose(skeleton.low, model.jnt_range[joints, 0] + model.jnt_margin[joints])


def test_the_donut_s_ring_stays_closed() -> None:
    character = made("donut", 0.1)
    model, data = compiled(character)
    worst = 0.0
    for _ in range(round(0.6 / TIMESTEP)):
        mujoco.mj_step(model, data)
        worst = max(worst, float(np.linalg.norm(data.site("loop_end").xpos - data.site("loop_start").xpos)))
    assert worst < 1e-3


def test_flesh_turned_inside_out_stops_the_world() -> None:
    world = World(stage("t", [made("worm", 0.5)], {}, TIMESTEP))
    still = Control(np.zeros(world.model.nu))
    world.refresh()
    world.step(still)
    assert 0.9 < world.flesh_ratio() < 1.1
    # pull one free node through the body
    world.data.qpos[-1] += 0.3
    world.refresh()
    assert world.flesh_ratio() < 0
    with pytest.raises(Inverted, match=r"'flesh' was turned inside out at 0\.00\d s"):
        world.step(still)
