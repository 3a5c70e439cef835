"""The world against closed forms: free fall, pendulum, momentum in flight, weight on the feet."""

import mujoco
import numpy as np
import pytest

from manikin.characters.human import human
from manikin.errors import Diverged, InputError
from manikin.physics.attach import hold_still
from manikin.physics.contacts import body_forces, centre_of_pressure
from manikin.physics.world import Control, World
from manikin.scenes.stage import PropShape, stage


def advance(world: World, seconds: float, ctrl: np.ndarray | None = None) -> None:
    control = Control(np.zeros(world.model.nu) if ctrl is None else ctrl)
    for _ in range(round(seconds / world.timestep)):
        world.refresh()
        world.step(control)


def test_free_fall():
    w = World(stage("fall", [], {"ball": PropShape("sphere", (0.05,), 1.0, (0, 0, 10.0))}))
    advance(w, 1.0)
    # the semi-implicit step falls g t (t + dt) / 2
    assert 10.0 - w.data.qpos[2] == pytest.approx(9.81 / 2 * 1.0 * (1.0 + w.timestep), rel=1e-9)


def test_momentum_in_flight():
    """Whatever the muscles do, in the air the centre of mass falls and angular momentum stays."""
    w = World(stage("flight", [human(skin=False, feet="contact")], {}))
    w.data.qpos[2] += 5.0
    w.data.qvel[3:6] = [0.3, -0.2, 0.5]
    w.forward()
    bodies = list(range(1, w.model.nbody))
    first, _, _, _ = w.dynamics().momentum(bodies)
    rng = np.random.default_rng(0)
    for _ in range(20):
        advance(w, 0.01, 3 * rng.standard_normal(w.model.nu))
    w.forward()
    last, _, _, _ = w.dynamics().momentum(bodies)
    assert last[2] - first[2] == pytest.approx(-75 * 9.81 * 0.2, rel=1e-3)
    assert np.abs(last[3:] - first[3:]).max() < 0.03 * np.linalg.norm(first[3:])


def test_pendulum_period():
    xml = """<mujoco><option timestep="0.001" integrator="implicitfast"/><worldbody><body name="bob">
    <joint name="pin" axis="0 1 0"/><geom type="sphere" size="0.001" mass="1" pos="0 0 -0.5"/></body></worldbody></mujoco>"""
    w = World(xml)
    w.data.qpos[0] = 0.05
    w.forward()
    crossings = []
    previous = w.data.qpos[0]
    for _ in range(4000):
        w.refresh()
        w.step(Control(np.zeros(0)))
        if previous > 0 >= w.data.qpos[0]:
            crossings.append(w.time)
        previous = w.data.qpos[0]
    period = float(np.diff(crossings).mean())
    assert period == pytest.approx(2 * np.pi * np.sqrt(0.5 / 9.81) * (1 + 0.05**2 / 16), rel=2e-3)


def test_feet_carry_the_weight():
    w = World(stage("stand", [human(skin=False)], {}))
    for name in ("clamp_foot_l", "clamp_foot_r"):
        hold_still(w, name)
    w.forward()
    # statics: the torques that hold still, from the rigid model
    torque, _ = w.dynamics().response().torque(np.zeros(w.model.nv))
    for _ in range(5):
        w.refresh()
        w.step(Control(torque))
    force = body_forces(w.model, w.data)
    assert force.sum(axis=0)[2] == pytest.approx(75 * 9.81, rel=0.02)
    point, vertical = centre_of_pressure(w.model, w.data, [w.body("foot_l"), w.body("foot_r")])
    assert vertical == pytest.approx(75 * 9.81, rel=0.02)
    assert np.abs(point - w.data.subtree_com[1][:2]).max() < 0.01


def test_divergence_is_noticed_at_once_and_names_the_body():
    w = World(stage("bad", [human(skin=False)], {}))
    dof = w.model.jnt_dofadr[w.joint("hand_l_flexion")]
    w.data.qvel[dof] = 499.0
    ctrl = np.zeros(w.model.nu)
    ctrl[w.names(mujoco.mjtObj.mjOBJ_ACTUATOR).index("hand_l_flexion")] = 1000.0
    with pytest.raises(Diverged, match="body 'hand_l'") as caught:
        advance(w, 0.1, ctrl)
    assert caught.value.time <= 0.004


def test_a_lost_number_is_noticed_at_once():
    w = World(stage("bad", [human(skin=False)], {}))
    advance(w, 0.01)
    w.data.qvel[20] = np.nan
    with pytest.raises(Diverged, match="not a number"):
        advance(w, 0.002)


def test_branch_is_independent_and_exact():
    w = World(stage("branch", [human(skin=False, feet="contact")], {}))
    advance(w, 0.05)
    other = w.branch()
    before = w.data.qpos.copy()
    advance(other, 0.1)
    assert (w.data.qpos == before).all()
    advance(w, 0.1)
    assert (w.data.qpos == other.data.qpos).all()


def test_state_can_be_restored():
    w = World(stage("restore", [human(skin=False, feet="contact")], {}))
    advance(w, 0.05)
    state = w.state()
    advance(w, 0.1)
    later = w.data.qpos.copy()
    w.restore(state)
    assert (w.data.qpos == state.qpos).all()
    advance(w, 0.1)
    assert (w.data.qpos == later).all()


def test_unknown_names_list_what_exists():
    w = World(stage("names", [human(skin=False)], {}))
    with pytest.raises(InputError, match=r"hand_x.*did you mean 'hand_[lr]'"):
        w.site("hand_x")
    with pytest.raises(InputError, match="does not compile"):
        World("<mujoco><worldbody><body></worldbody></mujoco>")
    assert w.names(mujoco.mjtObj.mjOBJ_ACTUATOR)[0] == "lumbar_flexion"
