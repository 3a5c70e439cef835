"""Direct control (Kim & Pollard 2011): the affine maps of a skeleton, limits, priorities, contact joints, formulations."""

import mujoco
import numpy as np
import pytest
from scipy.spatial import Delaunay

from manikin.controllers.brakes import BRAKE, FASTEST, RETURN, limit_rows, parabola
from manikin.controllers.direct import Direct
from manikin.loop import Run
from manikin.physics.pressure import pressure_rows
from manikin.physics.world import Push, World
from manikin.scenes.build import build_run
from manikin.scenes.scene import parse_text
from manikin.tasks.goals import Fixed, Path
from manikin.tasks.task import Task, rows_of

LAMP = """
name = "test"
controller = "direct"
timestep = 0.001
[control]
rate = 200
[character]
model = "lamp"
above = {above}
[tasks.foot]
measure = "orientation"
of = "foot"
frequency = 3.0
goal = [0.0, 0.0, 0.0]
active = false
[tasks.head]
measure = "point"
of = "head"
frequency = 3.0
priority = 1
active = false
[tasks.cog]
measure = "com"
axes = ["x", "y", "z"]
frequency = 2.0
active = false
[tasks.posture]
measure = "posture"
law = "hold"
priority = 2
"""


def lamp(above: float = 0.0) -> Run:
    return build_run(parse_text(LAMP.format(above=above), "test"), record=False)


def task(run: Run, name: str) -> Task:
    return next(t for t in run.tasks if t.name == name)


def drag(run: Run, name: str, way: tuple[float, float, float]) -> None:
    """Drag a bone by this much."""
    it = task(run, name)
    it.aim_at(Fixed(it.measure.evaluate(run.world.dynamics()).value + np.array(way)))


def stirred(above: float, seed: int) -> Run:
    """In the air, rotating and bending."""
    run = lamp(above)
    rng, world = np.random.default_rng(seed), run.world
    world.data.qpos[7:] += 0.1 * rng.standard_normal(6)
    world.data.qvel[:] = 0.5 * rng.standard_normal(12)
    world.forward()
    return run


def controller(run: Run) -> Direct:
    assert isinstance(run.controller, Direct)
    return run.controller


def forward(world: World, dofs: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """MuJoCo's accelerations under torques at joints, with actuators off."""
    other = world.branch()
    other.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    other.data.qfrc_applied[dofs] = torque
    other.forward()
    return other.data.qacc.copy()


@pytest.mark.parametrize("seed", range(5))
def test_in_flight_the_maps_agree_with_mujoco(seed):
    run = stirred(1.0, seed)
    skeleton = controller(run).skeletons[0]
    maps = skeleton.maps(run.world, None)
    u = 20 * np.random.default_rng(seed).standard_normal(6)
    qacc = forward(run.world, skeleton.active, maps.D @ u + maps.torque0)
    np.testing.assert_allclose(qacc[skeleton.active], u, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(qacc[skeleton.dofs], maps.T @ u + maps.t0, rtol=1e-7, atol=1e-7)


def test_a_bone_on_the_ground_is_tied_to_it():
    run = lamp()
    run.advance(50)
    run.world.refresh()
    skeleton = controller(run).skeletons[0]
    stand = skeleton.stand(run.world)
    assert stand is not None
    assert stand.bone == run.world.body("foot")
    assert len(stand.points) >= 3
    maps = skeleton.maps(run.world, stand)
    qacc = maps.T @ np.ones(6) + maps.t0
    for point in stand.points:
        jac, _, bias = run.world.dynamics().frame(stand.bone, point)
        assert np.abs(jac[:3][:, skeleton.dofs] @ qacc + bias[:3]).max() < 1e-5
    # and its torques support it: against gravity alone the joints stay
    still = maps.torque0
    assert np.abs(still).max() > 0.05


@pytest.mark.parametrize("points", [1, 2])
def test_fewer_points_leave_the_root_free_to_rotate(points):
    run = lamp()
    run.advance(50)
    run.world.refresh()
    skeleton = controller(run).skeletons[0]
    stand = skeleton.stand(run.world)
    assert stand is not None
    few = stand._replace(points=stand.points[:points])
    maps = skeleton.maps(run.world, few)
    # what the ground gives at the points does no work along the rotations that they leave free
    lever = np.concatenate([run.world.dynamics().frame(few.bone, p)[0][:3][:, skeleton.root] for p in few.points])
    free = np.linalg.svd(lever)[2][{1: 3, 2: 5}[points] :]
    M = skeleton.inertia(run.world)
    data, dofs = run.world.data, skeleton.dofs
    u = np.random.default_rng(0).standard_normal(6)
    needed = (M @ (maps.T @ u + maps.t0) + data.qfrc_bias[dofs] - data.qfrc_passive[dofs])[:6]
    assert np.abs(free @ needed).max() < 1e-9
    assert np.abs(needed).max() > 1.0


def test_without_contact_joints_the_centre_of_gravity_cannot_be_moved():
    run = lamp()
    run.advance(50)
    run.world.refresh()
    skeleton = controller(run).skeletons[0]
    cog = task(run, "cog")
    jacobian = rows_of([cog], run.world, 0.005).jacobian[:, skeleton.dofs]
    tied = jacobian @ skeleton.maps(run.world, skeleton.stand(run.world)).T
    loose = jacobian @ skeleton.maps(run.world, None).T
    assert np.abs(loose).max() < 1e-12
    assert np.abs(tied).max() > 0.05


def test_dragging_the_centre_of_gravity_needs_contact_joints():
    run = lamp()
    run.advance(100)
    foot = run.world.body("foot")
    before = float(run.world.data.subtree_com[foot][2])
    drag(run, "cog", (0.0, 0.0, -0.05))
    run.advance(400)
    assert run.world.data.subtree_com[foot][2] < before - 0.03
    run = lamp()
    run.advance(100)
    controller(run).contact_joints = False
    run.world.refresh()
    drag(run, "cog", (0.0, 0.0, -0.05))
    asked = controller(run).decide(run.world, [task(run, "cog")], 0.005)[0].acceleration
    assert np.abs(asked).max() < 1e-6


def test_the_root_is_never_driven():
    run = lamp()
    skeleton = controller(run).skeletons[0]
    assert not set(run.world.model.actuator_trnid[:, 0]) & {run.world.joint("root")}
    assert not set(skeleton.root) & set(skeleton.active)
    drag(run, "head", (0.1, 0.1, 0.3))
    for _ in range(60):
        run.advance(5)
        assert not run.world.data.qfrc_actuator[skeleton.root].any()
        assert not run.world.data.qfrc_applied.any()


def test_a_primary_orientation_is_unaffected_by_the_drag():
    run = stirred(1.0, 3)
    foot, head = task(run, "foot"), task(run, "head")
    foot.active = True
    drag(run, "head", (0.2, 0.1, 0.2))
    direct, skeleton = controller(run), controller(run).skeletons[0]
    jacobian = foot.measure.evaluate(run.world.dynamics()).jacobian[:, skeleton.dofs]
    alone, both = (direct.decide(run.world, tasks, 0.005)[0] for tasks in ([foot], [foot, head]))
    turn = [jacobian @ (d.maps.T @ d.acceleration + d.maps.t0) for d in (alone, both)]
    assert np.abs(both.acceleration - alone.acceleration).max() > 1.0
    np.testing.assert_allclose(turn[1], turn[0], atol=1e-6 * max(float(np.abs(turn[0]).max()), 1.0))


def test_parabola_stops_a_joint_at_its_limit():
    high, dt, q, v = 1.0, 0.005, 0.4, 6.0
    top = q
    for _ in range(400):
        _, up = parabola(np.array([q]), np.array([v]), np.array([-1.0]), np.array([high]), dt)
        a = min(200.0, float(up[0]))
        q, v = q + v * dt + 0.5 * a * dt * dt, v + a * dt
        top = max(top, q)
    assert high - 0.01 < top < high + 1e-3


def test_parabola_leads_back_from_beyond_and_is_symmetric():
    q, v = np.array([1.02, -1.02, 0.0]), np.array([0.1, -0.1, 0.0])
    down, up = parabola(q, v, np.full(3, -1.0), np.full(3, 1.0), 0.005)
    assert up[0] < -100
    assert down[1] == pytest.approx(-up[0])
    # far from it there is room, as much on both sides
    assert up[2] > 1000
    assert down[2] == pytest.approx(-up[2])
    # and without a limit there is nothing to keep
    free = np.full(3, np.inf)
    for side in parabola(q, v, -free, free, 0.005):
        assert np.isinf(side).all()


# how far from its limit a joint is, and how fast it goes: none is flung at it
APPROACHES = [
    (gap, v) for gap in (0.0, 0.001, 0.03, 0.09, 0.11, 0.4, 1.5) for v in (-8.0, -0.5, 0.0, 0.5)
    if v <= 0 or gap >= v * v / (2 * BRAKE)
]  # fmt: skip


@pytest.mark.parametrize("dt", [0.001, 0.005, 0.02])
@pytest.mark.parametrize(("gap", "v"), APPROACHES)
def test_a_joint_given_the_largest_acceleration_in_every_update_never_passes_its_limit(dt, gap, v):
    """Eq. 9 alone lets a joint that is far away, or reverses, through its limit within one slow update."""
    q, needed, top = 1.0 - gap, 0.0, 0.0
    for _ in range(round(2.0 / dt)):
        _, up = parabola(np.array([q]), np.array([v]), np.array([-9.0]), np.array([1.0]), dt)
        a = float(up[0])
        # checked in every millisecond
        for _ in range(round(dt / 0.001)):
            q, v = q + 0.001 * v + 0.5e-6 * a, v + 0.001 * a
            assert q <= 1.0 + 1e-3
        needed, top = max(needed, -a if v > 0 else 0.0), max(top, v)
    assert q > 0.98
    # and braking takes little more than is needed where the limit is RETURN away: braking in whole updates costs up to a fifth
    # more (the bound was 1.01 before joints were braked in whole updates)
    assert needed < 1.2 * max(BRAKE, top / (2 * RETURN))
    # nor is it ever driven faster than joints may go
    assert top <= FASTEST + 1e-9


def test_a_joint_flung_faster_than_joints_are_driven_is_neither_braked_for_it_nor_driven():
    for v, most in ((FASTEST + 20.0, 0.0), (FASTEST - 1.0, 200.0)):
        _, up = parabola(np.array([0.0]), np.array([v]), np.array([-1e3]), np.array([1e3]), 0.005)
        assert up[0] == pytest.approx(most)


@pytest.mark.parametrize("dt", [0.001, 0.005, 0.02])
@pytest.mark.parametrize("gap", [-0.02, 0.0, 0.004])
@pytest.mark.parametrize("v", [3.0, 6.0, 20.0])
def test_a_joint_flung_at_its_limit_is_stopped_and_not_thrown_back(dt, gap, v):
    """Eq. 9 at the limit itself asks for v^2 / beta: carried out for a whole update, that is a multiple of the speed."""
    one, free = np.ones(1), np.full(1, np.inf)
    for side in (1.0, -1.0):
        joint = (np.array([side * (1.0 - gap)]), np.array([side * v]), -one, one, free, np.eye(1), np.zeros(1), np.zeros(1))
        C, below, above, _ = limit_rows(*joint, free, dt)
        assert C.tolist() == [[1.0]]
        after, over = v + dt * float(above[0] if side > 0 else -below[0]), max(0.5 * v * dt - gap, 0.0)
        # it is led back in RETURN from as far as it comes until it stops, no faster
        assert -over / RETURN - 1e-9 <= after
        assert after <= 1e-9 or v * v / (2 * gap) < v / dt


@pytest.mark.parametrize("seed", range(6))
def test_limits_hold_in_the_command_and_in_the_joints(seed):
    """Random drags: Eq. 9 and 10 exactly in what is decided, and the joints stay in range."""
    run = lamp()
    run.advance(50)
    rng, skeleton = np.random.default_rng(seed), controller(run).skeletons[0]
    way = rng.standard_normal(3)
    drag(run, "head", tuple(way / np.linalg.norm(way) * rng.uniform(0.1, 1.0)))
    worst = 0.0
    for _ in range(800):
        run.advance(1)
        decision = controller(run).last[0]
        reached = decision.bounds.C @ decision.acceleration
        assert (reached <= decision.bounds.high + decision.slack + 1e-6).all()
        assert (reached >= decision.bounds.low - decision.slack - 1e-6).all()
        if not decision.slack.any():
            assert (np.abs(decision.torque) <= skeleton.torque * (1 + 1e-6)).all()
        q = run.world.data.qpos[skeleton.address]
        worst = max(worst, float(np.maximum(q - skeleton.high, skeleton.low - q).max()))
    assert worst < 0.05


@pytest.mark.parametrize("rate", [50, 200, 1000])
def test_control_rates(rate):
    run = build_run(parse_text(LAMP.format(above=0).replace("rate = 200", f"rate = {rate}"), "test"), record=False)
    assert run.every == 1000 // rate
    here = task(run, "head").measure.evaluate(run.world.dynamics()).value
    task(run, "head").aim_at(Path(np.array([0.0, 0.5]), np.array([here, here + [0.02, 0.0, -0.08]]), run.world.time))
    run.advance(1500)
    assert task(run, "head").error < 0.01
    assert run.world.data.xmat[run.world.body("foot")][8] > 0.999


def residual(formulation: str) -> float:
    """Speed of the joints half a second after a drag was let go, with no posture to hold them."""
    run = lamp(1.5)
    controller(run).formulation = formulation  # type: ignore[assignment]
    run.world.model.opt.gravity[:] = 0.0
    task(run, "posture").active = False
    drag(run, "head", (0.1, 0.0, 0.1))
    run.advance(80)
    task(run, "head").active = False
    run.advance(200)
    return float(np.abs(run.world.data.qvel[controller(run).skeletons[0].active]).max())


def test_velocity_comes_to_rest_and_acceleration_moves_on():
    assert residual("velocity") < 0.02 * residual("acceleration")


@pytest.mark.parametrize("way", [(0.01, 0.005, 0.01), (0.0, 0.0, 0.05), (0.02, 0.01, 0.02)])
def test_torque_uses_the_least_torque(way):
    """For drags that can be followed; of one that would tip the foot each formulation follows another part."""

    def effort(formulation: str) -> float:
        run = lamp()
        run.advance(50)
        run.world.refresh()
        direct = controller(run)
        direct.formulation = formulation  # type: ignore[assignment]
        drag(run, "head", way)
        return float(np.linalg.norm(direct.decide(run.world, [task(run, "head")], 0.005)[0].torque))

    assert effort("torque") < min(effort("acceleration"), effort("velocity"))


def test_a_push_moves_the_joints_only_if_it_is_unexpected():
    def moved(compliant: bool, push: float) -> np.ndarray:
        run = lamp()
        controller(run).compliant = compliant
        run.advance(100)
        run.advance(60, [Push("head", np.array([0.0, push, 0.0]))])
        return run.world.data.qpos[controller(run).skeletons[0].address].copy()

    gives = np.abs(moved(True, 3.0) - moved(True, 0.0)).max()
    stiff = np.abs(moved(False, 3.0) - moved(False, 0.0)).max()
    assert gives > 0.004
    assert stiff < 0.1 * gives


# --- the pressure under a bone


def rim(count: int) -> np.ndarray:
    turns = 2 * np.pi * np.arange(count) / count
    return np.stack([0.08 * np.cos(turns), 0.08 * np.sin(turns), np.zeros(count)], axis=1)


def upward(points: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Forces (3 k,) at points that press with 1 N in all, centred at a place; some pull where it lies outside."""
    lever = np.vstack([np.ones(len(points)), points[:, :2].T])
    out = np.zeros((len(points), 3))
    out[:, 2] = np.linalg.lstsq(lever, np.array([1.0, *place]), rcond=None)[0]
    return out.ravel()


@pytest.mark.parametrize("seed", range(20))
def test_moments_about_the_edges_show_whether_pressure_lies_inside(seed):
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.uniform(-0.1, 0.1, (int(rng.integers(3, 9)), 2)), np.zeros((0, 2))])
    points = np.column_stack([points, np.full(len(points), 0.3)])
    place = rng.uniform(-0.1, 0.1, 2)
    rows = pressure_rows(points, False)
    moments = rows @ upward(points, place)
    assert moments[0] == pytest.approx(1.0)
    assert (moments[1:].min() >= 0) == (Delaunay(points[:, :2]).find_simplex(place) >= 0)


def test_the_edge_of_a_round_foot_is_its_rim_and_not_half_of_it():
    rows = pressure_rows(rim(8), False)
    assert len(rows) == 9
    inside, outside = (rows @ upward(rim(8), np.array([r, 0.0])) for r in (0.0739, 0.081))
    assert inside.min() > 0
    assert outside.min() < 0
    # how far it is from the edge, times 1 N
    assert (rows @ upward(rim(8), np.zeros(2)))[1:] == pytest.approx(np.full(8, 0.08 * np.cos(np.pi / 8)))


def test_one_point_has_no_edge_and_two_have_their_ends():
    assert len(pressure_rows(rim(1), False)) == 1
    line = np.array([[0.0, 0.0, 0.0], [0.1, 0.1, 0.0], [0.2, 0.2, 0.0]])
    for points in (line[::2], line):
        rows = pressure_rows(points, False)
        assert len(rows) == 3
        for share in (-0.1, 0.5, 1.1):
            assert ((rows @ upward(points, share * line[2, :2])).min() >= 0) == (0 <= share <= 1)


def test_a_planar_root_knows_no_sideways_edge():
    points = rim(8) + np.array([0.0, 0.5, 0.0])
    rows = pressure_rows(points, True)
    assert len(rows) == 3
    forces = np.tile([0.0, 0.0, 0.125], 8)
    assert (rows @ forces)[1:] == pytest.approx([0.08, 0.08])


def test_a_hard_drag_keeps_the_pressure_under_the_foot():
    """Without the rule the ground would have to pull; with it the foot stays flat, on the edge at most."""
    run = lamp()
    run.advance(100)
    run.world.refresh()
    drag(run, "head", (0.5, 0.0, 0.0))
    press = {}
    for unilateral in (False, True):
        controller(run).unilateral = unilateral
        decision = controller(run).decide(run.world, [task(run, "head")], 0.005)[0]
        press[unilateral] = decision.maps.P @ decision.acceleration + decision.maps.press0
    assert press[False].min() < -0.1
    assert press[True].min() > -1e-6
    assert press[True][1:].min() == pytest.approx(0.0, abs=1e-6)
