"""Every measure obeys the same three identities, found by finite differences along a smooth motion."""

import mujoco
import numpy as np
import pytest

from manikin.bench import standing_world
from manikin.motion.keyframes import posture_of
from manikin.physics.world import World
from manikin.tasks import measures
from manikin.tasks.measures import (
    CentreOfMass,
    Direction,
    Look,
    Measure,
    Momentum,
    Orientation,
    Points,
    Posture,
    Spin,
    read_all,
)


@pytest.fixture(scope="module")
def world() -> World:
    w = standing_world("contact")
    rng = np.random.default_rng(3)
    w.data.qpos[7:] += 0.2 * rng.random(41)
    w.data.qvel[:] = 0.7 * rng.standard_normal(47)
    w.forward()
    return w


def all_measures(w: World) -> dict[str, Measure]:
    hands = np.array([w.body("hand_l"), w.body("hand_r")])
    mass = w.model.body_mass.copy()
    gaze = Direction(w.body("head"), np.array([0.8, 0.0, 0.6]))
    joints = np.array([w.joint("shank_l_flexion"), w.joint("head_rotation")])
    return {
        "Points": Points(hands, np.array([[0.0, -0.02, -0.07], [0.01, 0.02, -0.07]])),
        "Orientation": Orientation(hands),
        "Direction": gaze,
        "Look": Look(gaze, w.body("thorax"), np.array([1.0, 0.0, 0.0]), soften=0.0),
        "CentreOfMass": CentreOfMass(mass, np.zeros_like(mass), (0, 1, 2)),
        "Momentum": Momentum(tuple(range(1, w.model.nbody))),
        "Spin": Spin(tuple(range(1, w.model.nbody)), 3.0),
        "Posture": Posture(w.model.jnt_qposadr[joints].astype(np.int64), w.model.jnt_dofadr[joints].astype(np.int64)),
    }


def moved(w: World, h: float, qacc: np.ndarray) -> World:
    """The world a moment h later or earlier on a path of constant joint acceleration."""
    out = w.branch()
    qvel = w.data.qvel + h * qacc
    mujoco.mj_integratePos(w.model, out.data.qpos, (w.data.qvel + 0.5 * h * qacc), h)
    out.data.qvel[:] = qvel
    out.forward()
    return out


def test_no_measure_is_forgotten(world):
    found = {
        n
        for n, c in vars(measures).items()
        if isinstance(c, type) and hasattr(c, "evaluate") and n not in ("Measure", "Probed")
    }
    assert found == set(all_measures(world))


def test_measures_taken_together_are_those_taken_alone(world):
    several = list(all_measures(world).values())
    # two centres of mass with masses of their own, along other axes
    mass = np.arange(float(world.model.nbody))
    several.insert(1, CentreOfMass(mass, np.zeros_like(mass), (2, 0)))
    readings, jacobian, bias, places = read_all(world.dynamics(), several)
    assert len(readings) == len(places) == len(several)
    for measure, now, rows in zip(several, readings, places):
        alone = measure.evaluate(world.dynamics())
        for ours, theirs in zip((*now, jacobian[rows], bias[rows]), alone):
            np.testing.assert_array_equal(ours, theirs)
    assert places[-1].stop == len(bias)


def test_masses_changed_while_it_runs_count_at_once(world):
    mass = world.model.body_mass.copy()
    centre = CentreOfMass(mass, np.zeros_like(mass), (0, 1, 2))
    before = centre.evaluate(world.dynamics()).value
    mass[world.body("head")] += 30.0
    after = centre.evaluate(world.dynamics()).value
    assert after[2] > before[2] + 0.05


@pytest.mark.parametrize("name", ["Points", "Orientation", "Direction", "Look", "CentreOfMass", "Momentum", "Spin", "Posture"])
def test_shared_identities(world, name):
    measure = all_measures(world)[name]
    qacc = np.random.default_rng(4).standard_normal(47)
    h = 1e-5
    now, before, after = (measure.evaluate(w.dynamics()) for w in (world, moved(world, -h, qacc), moved(world, h, qacc)))
    assert np.abs(now.jacobian @ world.data.qvel - now.rate).max() < 1e-9
    slope = (after.rate - before.rate) / (2 * h)
    assert np.abs(slope - (now.jacobian @ qacc + now.bias)).max() < 1e-4 * max(1.0, np.abs(slope).max())


@pytest.mark.parametrize("name", ["Points", "Orientation", "CentreOfMass", "Momentum", "Posture"])
def test_value_changes_at_its_rate(world, name):
    measure = all_measures(world)[name]
    h = 1e-6
    now = measure.evaluate(world.dynamics())
    later = measure.evaluate(moved(world, h, np.zeros(47)).dynamics())
    rows = 3 if name == "Momentum" else len(now.rate)
    # angular momentum has no integral: only its linear part has a value
    assert np.abs(measure.error(now.value, later.value)[:rows] / h - now.rate[:rows]).max() < 1e-4


@pytest.mark.parametrize("name", ["Direction", "Look"])
def test_directions_rotate_at_their_rate(world, name):
    measure = all_measures(world)[name]
    h = 1e-6
    now = measure.evaluate(world.dynamics())
    later = measure.evaluate(moved(world, h, np.zeros(47)).dynamics())
    goal = later.value[:3] if name == "Direction" else now.value[9:12] + 5.0 * later.value[:3]
    assert np.abs(measure.error(now.value, goal) / h - now.rate).max() < 1e-3


def test_reached_goals_have_no_error(world):
    for name, measure in all_measures(world).items():
        now = measure.evaluate(world.dynamics())
        goal = now.value
        if name == "Direction":
            goal = now.value[:3]
        elif name == "Look":
            goal = now.value[9:12] + now.value[:3]
        assert np.abs(measure.error(now.value, goal)).max() < 1e-9


def test_half_turn_is_not_a_dead_end(world):
    measure = all_measures(world)["Direction"]
    now = measure.evaluate(world.dynamics())
    assert np.linalg.norm(measure.error(now.value, -now.value[:3])) == pytest.approx(np.pi)


def test_posture_of_the_whole_body(world):
    from manikin.characters.human import human

    assert len(posture_of(world, human(skin=False)).dofs) == 41
