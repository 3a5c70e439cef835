"""How quickly flesh vibrates, against MuJoCo itself, and what is refused because it would burst."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from manikin.characters.catalog import TIMESTEP
from manikin.characters.fish import fish_plan
from manikin.characters.flesh import STABILITY_LIMIT, Plan, flesh_of
from manikin.characters.soft import soft
from manikin.characters.starfish import starfish_plan
from manikin.characters.tets import Tets
from manikin.characters.vibration import highest_frequency, stability_ratio, stiffness
from manikin.errors import InputError, SceneError
from manikin.scenes.scene import parse_text
from manikin.scenes.stage import stage

CORNER = Tets(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 1, 2, 3]]))


def test_stiffness_of_one_tetrahedron() -> None:
    K = stiffness(CORNER, 1.0, 0.25)
    np.testing.assert_allclose(K, K.T)
    # nothing resists a shift or a turn
    for k in range(3):
        shift = np.tile(np.eye(3)[k], 4)
        turn = np.cross(np.eye(3)[k], CORNER.nodes).ravel()
        np.testing.assert_allclose(K @ shift, 0.0, atol=1e-12)
        np.testing.assert_allclose(K @ turn, 0.0, atol=1e-12)
    # stretched along x alone: energy is the volume times (lambda / 2 + mu) strain^2, with lambda = mu = 0.4
    stretch = (CORNER.nodes * [1.0, 0.0, 0.0]).ravel()
    assert 0.5 * stretch @ K @ stretch == pytest.approx((0.2 + 0.4) / 6)


@pytest.mark.parametrize("plan", [fish_plan(), starfish_plan()], ids=["fish", "starfish"])
def test_the_quickest_vibration_is_that_of_mujoco_s_flesh(plan: Plan) -> None:
    """The node that moves most in it is moved a little: the force that comes back is what the stiffness says."""
    flesh = flesh_of(plan)
    found = highest_frequency(flesh.tets, flesh.mass, flesh.bone < 0, plan.young, plan.poisson)
    character = soft(plan, at=(0.0, 0.0, 1.0))
    model = mujoco.MjModel.from_xml_string(stage("t", [character], {}, TIMESTEP))
    data = mujoco.MjData(model)
    names = [f"node_{k}" for k in np.flatnonzero(flesh.bone < 0)]
    dofs = np.concatenate([model.body(n).dofadr + np.arange(3) for n in names])
    mass = np.repeat([float(model.body(n).mass[0]) for n in names], 3)

    def force(place: np.ndarray) -> np.ndarray:
        data.qpos[:] = model.qpos0
        data.qpos[model.jnt_qposadr[model.dof_jntid[dofs]]] += place
        mujoco.mj_forward(model, data)
        return data.qfrc_passive[dofs].copy()

    rest = force(np.zeros(len(dofs)))
    # power iteration on what MuJoCo answers
    way = np.random.default_rng(0).standard_normal(len(dofs))
    for _ in range(60):
        way /= np.linalg.norm(way) / 1e-6
        answer = (rest - force(way)) / mass
        squared = float(np.linalg.norm(answer) / np.linalg.norm(way))
        way = answer
    assert np.sqrt(squared) == pytest.approx(found, rel=0.03)


@pytest.mark.parametrize(("step", "bursts"), [(0.97, False), (1.03, True)])
def test_a_step_too_long_bursts_a_spring(step: float, bursts: bool) -> None:
    vibration, damping = 900.0, 4e-4
    # the step at which stability_ratio is 1, and slightly more and less
    longest = -damping + np.sqrt(damping**2 + 4 / vibration**2)
    assert stability_ratio(longest, vibration, damping) == pytest.approx(1.0)
    h = step * longest
    x, v = 1.0, 0.0
    for _ in range(2000):
        v -= h * vibration**2 * (x + damping * v)
        x += h * v
        if abs(x) > 1e6:
            break
    assert (abs(x) > 1e6) == bursts


def test_flesh_that_would_burst_is_refused() -> None:
    plan = fish_plan()
    flesh = flesh_of(plan)
    vibration = highest_frequency(flesh.tets, flesh.mass, flesh.bone < 0, plan.young, plan.poisson)
    assert 0.1 < stability_ratio(TIMESTEP, vibration, plan.damping) < STABILITY_LIMIT
    with pytest.raises(InputError, match=r"fish: its flesh vibrates at \d+ rad/s, too fast for steps of 0.8 ms"):
        flesh_of(replace(plan, young=2e5))
    with pytest.raises(InputError, match="too fast"):
        flesh_of(replace(plan, damping=0.01))


def test_a_scene_with_too_long_a_step_is_refused() -> None:
    text = 'name = "long"\ncontroller = "direct"\ntimestep = 0.0025\n[character]\nmodel = "worm"\n'
    with pytest.raises(SceneError, match=r"timestep: given 0.0025; a worm is soft: at most 0.0008"):
        parse_text(text, "long")
    assert parse_text(text.replace("0.0025", "0.0005"), "long").timestep == 0.0005
    # the default is the largest stable step of the flesh; rigid characters keep theirs
    assert parse_text(text.replace("timestep = 0.0025\n", ""), "long").timestep == TIMESTEP
    assert parse_text(text.replace("worm", "lamp"), "long").timestep == 0.0025
