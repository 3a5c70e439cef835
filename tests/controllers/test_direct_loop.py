"""Direct control of a closed loop (Kim & Pollard 2011, section 5.3): the donut's ring of bones."""

import mujoco
import numpy as np
import pytest

from manikin.controllers.direct import Decision, Direct
from manikin.loop import Run
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_text
from manikin.tasks.goals import Fixed
from manikin.tasks.measures import Points

DONUT = """
name = "test"
controller = "direct"
timestep = 0.0008
[control]
rate = 200
contact_joints = false
[character]
model = "donut"
above = {above}
[tasks.drag]
measure = "point"
of = "ring_3"
frequency = 3.0
active = false
[tasks.bend]
measure = "posture"
frequency = 3.0
priority = 1
"""
ENDS = ("loop_end", "loop_start")


def donut(above: float = 0.0) -> Run:
    return build_run(parse_text(DONUT.format(above=above), "test"), record=False)


def controller(run: Run) -> Direct:
    assert isinstance(run.controller, Direct)
    return run.controller


def drag(run: Run, way: tuple[float, float, float]) -> None:
    task = run.tasks[0]
    task.active = True
    task.aim_at(Fixed(task.measure.evaluate(run.world.dynamics()).value + np.array(way)))


def decide(run: Run) -> Decision:
    run.world.refresh()
    return controller(run).decide(run.world, [t for t in run.tasks if t.active], 0.005)[0]


def gap_rows(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's own Jacobian (3, nv) of the gap between the two sites, and how it changes times speed (3,)."""
    world = run.world
    jac, bias = np.zeros((3, world.model.nv)), np.zeros(3)
    for name, sign in zip(ENDS, (1.0, -1.0)):
        site = world.site(name)
        here, dot = np.zeros((3, world.model.nv)), np.zeros((3, world.model.nv))
        mujoco.mj_jacSite(world.model, world.data, here, None, site)
        mujoco.mj_jacDot(world.model, world.data, dot, None, world.data.site_xpos[site], world.model.site_bodyid[site])
        jac, bias = jac + sign * here, bias + sign * dot @ world.data.qvel
    return jac, bias


def test_the_ring_is_known_to_be_closed():
    run = donut()
    (loop,) = controller(run).skeletons[0].loops
    assert loop.bones == (run.world.body("ring_7"), run.world.body("ring_0"))
    dynamics = run.world.dynamics()
    one, two = (dynamics.on_body(b, p) for b, p in zip(loop.bones, loop.points))
    np.testing.assert_allclose(one, two, atol=1e-9)
    np.testing.assert_allclose(one, run.world.data.site_xpos[run.world.site("loop_end")], atol=1e-12)


@pytest.mark.parametrize("way", [(0.0, 0.0, -0.3), (0.4, 0.0, 0.1)])
def test_commands_keep_the_loop_closed_before_anything_else(way):
    """Eq. 14, while a hard drag meets limits."""
    run = donut()
    run.advance(125)
    drag(run, way)
    active = controller(run).skeletons[0].active
    moved = met = 0.0
    for _ in range(40):
        run.advance(6)
        decision = decide(run)
        rows, bias = gap_rows(run)
        # a planar loop has two rows; across its plane there is nothing to ask
        assert len(decision.maps.closed) == 2
        assert np.abs(rows[1, active]).max() < 1e-12
        size = max(1.0, float(np.abs(decision.acceleration).max()))
        np.testing.assert_allclose(rows[:, active] @ decision.acceleration, -bias, atol=1e-6 * size)
        moved = max(moved, float(np.abs(bias).max()))
        met = max(met, float((np.abs(decision.torque) / controller(run).skeletons[0].torque).max()))
    assert moved > 0.01
    assert met > 0.99


def test_torques_are_the_least_that_move_the_ring_so():
    """In the air MuJoCo gives the accelerations back, whatever the loop itself has to hold."""
    run = donut(above=1.0)
    run.advance(31)
    run.world.data.qvel[:] = 0.0
    run.world.forward()
    skeleton = controller(run).skeletons[0]
    maps = skeleton.maps(run.world, None)
    null = np.linalg.svd(maps.closed)[2][2:]
    u = null.T @ np.array([30.0, -20.0, 10.0, 25.0, -15.0])
    torque = maps.D @ u + maps.torque0
    np.testing.assert_allclose(maps.closed @ torque, 0.0, atol=1e-9)
    for extra in (np.zeros(2), np.array([20.0, -10.0])):
        world = run.world.branch()
        world.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
        world.model.opt.tolerance, world.model.opt.iterations = 1e-12, 1000
        # and what holds the loop is rigid, and does not pull its gap together
        world.model.eq_solref[:], world.model.eq_solimp[:, :2] = (10.0, 1.0), 0.9999
        world.data.qfrc_applied[skeleton.active] = torque + maps.closed.T @ extra
        world.forward()
        np.testing.assert_allclose(world.data.qacc[skeleton.active], u, atol=0.02 * np.abs(u).max())


def test_the_joint_at_which_the_ring_is_cut_keeps_its_limits():
    """It has no angle of its own: the other seven together, in the other direction."""
    run = donut()
    skeleton, world = controller(run).skeletons[0], run.world
    assert skeleton.ties.tolist() == [[-1.0] * 7]
    assert skeleton.tie_low == skeleton.low[0]
    assert skeleton.tie_high == skeleton.high[0]
    run.advance(125)
    # the bone at the cut is pulled into the ring
    task = run.tasks[0]
    task.measure = Points(np.array([world.body("ring_0")]), np.zeros((1, 3)))
    drag(run, (0.1, 0.0, 0.5))
    reached = beyond = 0.0
    for _ in range(500):
        run.advance(1)
        bend = float((skeleton.ties @ world.data.qpos[skeleton.address])[0])
        decision = controller(run).last[0]
        share = decision.bounds.C @ decision.acceleration
        assert (share <= decision.bounds.high + decision.slack + 1e-6).all()
        assert (share >= decision.bounds.low - decision.slack - 1e-6).all()
        reached = max(reached, abs(bend))
        beyond = max(beyond, bend - float(skeleton.tie_high[0]), float(skeleton.tie_low[0]) - bend)
    assert reached > 0.8 * skeleton.tie_high[0]
    assert beyond < 2e-3
