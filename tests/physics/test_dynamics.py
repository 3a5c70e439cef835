"""Our kinematics and constrained dynamics against MuJoCo's own functions and against the textbook."""

import mujoco
import numpy as np
import pytest

from manikin.bench import standing_world
from manikin.characters.human import human
from manikin.physics.attach import grasp, hold_still
from manikin.physics.survey import CENTRE, Probe, Survey
from manikin.physics.world import Control, World
from manikin.scenes.stage import PropShape, stage


@pytest.fixture(scope="module")
def world() -> World:
    w = World(stage("test", [human(skin=False)], {"box": PropShape("box", (0.4, 0.3, 0.3), 8.0, (0.45, 0, 0.15))}))
    rng = np.random.default_rng(0)
    w.data.qpos[7:48] += 0.3 * rng.standard_normal(41)
    w.data.qvel[:] = rng.standard_normal(w.model.nv)
    w.forward()
    for name in ("clamp_foot_l", "clamp_foot_r"):
        hold_still(w, name)
    w.forward()
    return w


@pytest.mark.parametrize("body", ["hand_l", "head", "toes_r", "box"])
def test_frame_agrees_with_mujoco(world, body):
    m, d = world.model, world.data
    b = world.body(body)
    point = d.xpos[b] + np.array([0.1, -0.2, 0.05])
    jac, rate, bias = world.dynamics().frame(b, point)
    jp, jr = np.zeros((3, m.nv)), np.zeros((3, m.nv))
    mujoco.mj_jac(m, d, jp, jr, point, b)
    assert np.abs(jac - np.vstack([jp, jr])).max() < 1e-12
    assert np.abs(jac @ d.qvel - rate).max() < 1e-12
    mujoco.mj_jacDot(m, d, jp, jr, point, b)
    assert np.abs(np.vstack([jp, jr]) @ d.qvel - bias).max() < 1e-10


def centre_of_mass(w: World, own: np.ndarray) -> tuple[np.ndarray, ...]:
    probe = Probe(CENTRE, axes=(0, 1, 2), masses=(own, np.zeros_like(own)))
    return w.dynamics().survey(Survey([probe], [(0, 0)], 3, 3))


def test_centre_of_mass_agrees_with_mujoco(world):
    m, d = world.model, world.data
    root = world.body("pelvis")
    own = np.where(m.body_rootid == root, m.body_mass, 0.0)
    value, rate, jac, _ = centre_of_mass(world, own)
    expected = np.zeros((3, m.nv))
    mujoco.mj_jacSubtreeCom(m, d, expected, root)
    assert np.abs(value - d.subtree_com[root]).max() < 1e-12
    assert np.abs(jac - expected).max() < 1e-12
    assert np.abs(rate - expected @ d.qvel).max() < 1e-12


def test_momentum_agrees_with_mujoco(world):
    m, d = world.model, world.data
    root = world.body("pelvis")
    bodies = [b for b in range(m.nbody) if m.body_rootid[b] == root]
    rate, _, jac, _ = world.dynamics().momentum(bodies)
    angular = np.zeros((3, m.nv))
    mujoco.mj_angmomMat(m, d, angular, root)
    assert np.abs(jac[3:] - angular).max() < 1e-10
    assert np.abs(jac @ d.qvel - rate).max() < 1e-10


def full_inertia(world: World) -> np.ndarray:
    M = np.zeros((world.model.nv, world.model.nv))
    mujoco.mj_fullM(world.model, world.data, M)
    return M


def test_input_is_the_mass_weighted_acceleration(world):
    response, M = world.dynamics().response(), full_inertia(world)
    qacc = np.random.default_rng(1).standard_normal(world.model.nv)
    z = response.input(qacc)
    assert z @ z == pytest.approx(qacc @ M @ qacc)
    assert np.abs(response.qacc(z) - qacc).max() < 1e-10


def test_forward_solves_the_constrained_equations_of_motion(world):
    """M qacc + h = S^T tau + L^T lambda with L qacc + bias = 0 (Abe & Popovic 2006, Eq. 7, 8 and 10)."""
    response, M = world.dynamics().response(), full_inertia(world)
    n, m = world.model.nv, len(response.L)
    torque = 30 * np.random.default_rng(2).standard_normal(41)
    push = -response.h.copy()
    push[response.layout.actuated] += torque
    kkt = np.block([[M, -response.L.T], [response.L, np.zeros((m, m))]])
    expected = np.linalg.solve(kkt, np.concatenate([push, -response.L_bias]))[:n]
    assert np.abs(response.forward(torque) - expected).max() < 1e-8


def test_torque_of_a_reachable_motion_gives_that_motion_back(world):
    response = world.dynamics().response()
    wanted = response.forward(20 * np.random.default_rng(3).standard_normal(41))
    torque, _ = response.torque(response.input(wanted))
    assert np.abs(response.forward(torque)[:47] - wanted[:47]).max() < 1e-8


def test_torques_of_the_rigid_model_hold_still_in_mujoco():
    """Two contact models on purpose: rigid rows in control, MuJoCo's stiff welds in the world. They must agree."""
    w = standing_world("clamped")
    torque, _ = w.dynamics().response().torque(np.zeros(w.model.nv))
    start = w.data.qpos.copy()
    drift = {}
    for name, ctrl in (("held", torque), ("unforced", np.zeros(41))):
        trial = w.branch()
        for _ in range(75):
            trial.refresh()
            trial.step(Control(ctrl))
        drift[name] = float(np.abs(trial.data.qpos - start).max())
    assert drift["held"] < 0.01
    assert drift["unforced"] > 0.1


def test_grasp_carries_weight_and_inertia_into_the_dynamics(world):
    w = world.branch()
    before = w.dynamics().response()
    assert 47 not in before.layout.passive
    for hand in ("hand_l", "hand_r"):
        grasp(w, hand, "box", reach=np.inf)
    w.forward()
    after = w.dynamics().response()
    assert set(range(47, 53)) <= set(after.layout.passive)
    assert len(after.L) == len(before.L) + 12
    # the unactuated root and box are fully determined: two clamped feet, two grips
    assert after.decided == after.constrained


def test_free_joint_makes_passive_motions():
    """Without clamps six motions are left to physics: torque cannot move the centre of mass."""
    w = World(stage("air", [human(skin=False, feet="contact")], {}))
    w.data.qpos[2] += 1.0
    w.forward()
    response = w.dynamics().response()
    assert response.decided - response.constrained == 6
    accelerations = response.forward(50 * np.random.default_rng(4).standard_normal(41))
    own = w.model.body_mass.copy()
    _, _, jac, bias = centre_of_mass(w, own)
    assert np.abs(jac @ accelerations + bias - w.model.opt.gravity).max() < 1e-8
