"""The human of the contract: names, degrees of freedom, masses, symmetry."""

import numpy as np
import pytest

from manikin.characters.anthropometry import inertials
from manikin.characters.body_plan import joint_names, skeleton
from manikin.characters.human import ORIGIN, human
from manikin.physics.world import World
from manikin.scenes.build_world import build_world
from manikin.scenes.scene import parse_scene
from manikin.scenes.stage import stage

BODIES = [(1.5, 40.0, "female"), (1.75, 75.0, "neutral"), (2.0, 120.0, "male"), (1.2, 25.0, "neutral")]


def world(**kw) -> World:
    return World(stage("human", [human(skin=False, **kw)], {}))


def test_forty_seven_degrees_of_freedom():
    w = world()
    assert (w.model.nv, w.model.nu) == (47, 41)
    counts = {"lumbar": 3, "thorax": 3, "head": 3, "clavicle": 2, "upper_arm": 3, "forearm": 2, "hand": 2}
    counts |= {"thigh": 3, "shank": 1, "foot": 2, "toes": 1}
    for part, count in counts.items():
        for name in [part] if part in ("lumbar", "thorax", "head") else [f"{part}_l", f"{part}_r"]:
            assert w.model.body_dofnum[w.body(name)] == count, name
    for site in ("hand_l", "hand_r", "foot_l", "foot_r", "head"):
        w.site(site)
    assert "shank_l_flexion" in joint_names()


@pytest.mark.parametrize(("height", "mass", "sex"), BODIES)
def test_masses_and_inertias(height, mass, sex):
    w = world(height=height, mass=mass, sex=sex)
    assert w.model.body_mass.sum() == pytest.approx(mass, rel=1e-6)
    for body in range(1, w.model.nbody):
        moments = w.model.body_inertia[body]
        assert (moments > 0).all()
        # a rigid body's moments obey the triangle inequality
        assert 2 * moments.max() <= moments.sum() * (1 + 1e-9)
    assert w.data.site("head").xpos[2] < height
    lowest = min(w.data.geom(f"toes_{s}_capsule").xpos[2] for s in "lr")
    assert 0 < lowest < 0.03 * height


def test_whole_body_figures_are_those_of_a_person():
    """Centre of mass of a standing person at about 56 % of stature; women carry more mass in the thighs."""
    for sex in ("male", "female", "neutral"):
        assert 0.55 < world(sex=sex).data.subtree_com[1][2] / 1.75 < 0.57
    thigh = {sex: world(sex=sex).model.body("thigh_l").mass[0] for sex in ("male", "female")}
    assert thigh["female"] > thigh["male"]


@pytest.mark.parametrize(("height", "mass", "sex"), BODIES)
def test_left_and_right_mirror_exactly(height, mass, sex):
    w = world(height=height, mass=mass, sex=sex)
    m = w.model
    mirror = np.array([1.0, -1.0, 1.0])
    for body in ("clavicle", "upper_arm", "forearm", "hand", "thigh", "shank", "foot", "toes"):
        left, right = w.body(body + "_l"), w.body(body + "_r")
        assert m.body_mass[left] == m.body_mass[right]
        assert (m.body_inertia[left] == m.body_inertia[right]).all()
        assert (m.body_pos[left] == mirror * m.body_pos[right]).all()
        assert (m.body_ipos[left] == mirror * m.body_ipos[right]).all()
    for name in joint_names():
        if "_l_" in name:
            left, right = w.joint(name), w.joint(name.replace("_l_", "_r_"))
            assert (m.jnt_range[left] == m.jnt_range[right]).all()
            # an axis of rotation is an axial vector
            assert (m.jnt_axis[left] == -mirror * m.jnt_axis[right]).all()
    assert (m.actuator_ctrlrange[:, 0] == -m.actuator_ctrlrange[:, 1]).all()


def test_same_angles_give_the_mirrored_pose():
    w = world()
    rng = np.random.default_rng(0)
    for name in joint_names():
        if "_l_" in name:
            angle = rng.uniform(-0.3, 0.3)
            for n in (name, name.replace("_l_", "_r_")):
                w.data.qpos[w.model.jnt_qposadr[w.joint(n)]] = angle
    w.forward()
    for body in ("hand", "toes", "forearm"):
        assert np.abs(w.data.body(body + "_l").xpos - [1, -1, 1] * w.data.body(body + "_r").xpos).max() < 1e-12


@pytest.mark.parametrize(
    ("joint", "body", "axis", "sign"),
    [
        ("thigh_l_flexion", "shank_l", 0, 1),  # thigh forward
        ("shank_l_flexion", "foot_l", 0, -1),  # heel back
        ("forearm_l_flexion", "hand_l", 0, 1),  # hand forward
        ("upper_arm_l_flexion", "forearm_l", 0, 1),
        ("upper_arm_l_abduction", "forearm_l", 1, 1),
        ("upper_arm_r_abduction", "forearm_r", 1, -1),
        ("lumbar_flexion", "head", 0, 1),  # bend forward
        ("head_flexion", "head", 2, 0),
    ],
)
def test_flexion_is_positive(joint, body, axis, sign):
    w = world()
    before = w.data.body(body).xpos.copy()
    w.data.qpos[w.model.jnt_qposadr[w.joint(joint)]] = 0.3
    w.forward()
    moved = w.data.body(body).xpos[axis] - before[axis]
    assert np.sign(np.round(moved, 6)) == sign


def test_strength_scales_torque_limits():
    weak, strong = world(strength=0.5), world(strength=2.0)
    assert np.allclose(strong.model.actuator_ctrlrange, 4 * weak.model.actuator_ctrlrange)


def test_anthropometry_is_complete():
    plan = skeleton(1.75, 75.0)
    parts = inertials(plan, 1.75, 75.0, "neutral")
    assert set(parts) == {s.name for s in plan}
    # de Leva 1996: a thigh has about 14 % of the mass, head and neck about 7 %
    assert parts["thigh_l"].mass / 75 == pytest.approx(0.1447, abs=0.002)
    assert parts["head"].mass / 75 == pytest.approx(0.0681, abs=0.002)


def test_heavy_build_moves_limbs_outwards():
    slim, heavy = ({s.name: s.at for s in skeleton(1.75, m)} for m in (60.0, 140.0))
    assert heavy["upper_arm_l"][1] > slim["upper_arm_l"][1]
    assert heavy["thigh_l"][1] > slim["thigh_l"][1]


@pytest.mark.parametrize("height", [1.5, 1.75])
def test_a_scene_puts_the_origin_midway_between_ankles_and_the_middles_of_the_feet(height):
    raw = {"name": "t", "character": {"model": "human", "height": height, "at": [0.4, -0.1]}}
    w, [actor] = build_world(parse_scene(raw, "t.toml"))
    feet = actor.character.feet
    sites = np.array([w.data.site_xpos[w.site(f)] for f in feet])
    ankles = np.array([w.data.xpos[w.body(f)] for f in feet])
    middle = sites.mean(axis=0)[:2]
    assert middle - [0.4, -0.1] == pytest.approx([ORIGIN * height / 1.75, 0.0], abs=1e-6)
    # 35 mm from an ankle to its site, along the foot
    apart = np.linalg.norm((sites - ankles)[:, :2], axis=1)
    assert apart == pytest.approx(np.full(2, 2 * ORIGIN * height / 1.75), abs=1e-4)
