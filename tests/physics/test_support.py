"""Standing on real feet: force balance, friction cones, strict priority, and flight, over random states and tasks."""

from collections.abc import Iterator

import mujoco
import numpy as np
import pytest

from manikin.characters.human import SOLE_FRICTION, human
from manikin.clips.clip import load_clip
from manikin.controllers.prioritized import Prioritized, Solution
from manikin.motion.keyframes import posture_of
from manikin.physics.attach import grasp
from manikin.physics.support import MET, TOUCHING, TRUSTED_FRICTION
from manikin.physics.world import World
from manikin.scenes.build_world import stand_support
from manikin.scenes.stage import PropShape, stage
from manikin.spatial import quat_from_axis_angle, quat_multiply, rotate
from manikin.tasks.goals import Fixed
from manikin.tasks.laws import Stabilize
from manikin.tasks.measures import CentreOfMass, Orientation, Points
from manikin.tasks.task import Task

BOX = PropShape("box", (0.4, 0.3, 0.3), 15.0, (0.35, 0.0, 0.9))
CHARACTER = human(skin=False, feet="contact")


def make_world(props: dict[str, PropShape]) -> World:
    w = World(stage("feet", [CHARACTER], props))
    w.dynamics().stand_on((stand_support(w, CHARACTER),))
    w.forward()
    return w


@pytest.fixture(scope="module")
def world() -> World:
    return make_world({})


@pytest.fixture(scope="module")
def holding() -> World:
    """A box in both hands."""
    w = make_world({"box": BOX})
    w.load[w.body("box")] = 1.0
    for _ in random_states(w, 1, 0, 0.0):
        pass
    return w


def random_states(w: World, count: int, seed: int, speed: float) -> Iterator[int]:
    """Squats and reaches of shipped clips, feet on the ground, arms and trunk bent at random; joint speeds of `speed`, of
    which the feet take no part."""
    rng = np.random.default_rng(seed)
    clips = [load_clip(name) for name in ("stand", "lift_knees", "lift_back", "reach")]
    posture = posture_of(w, CHARACTER)
    legs = ("thigh", "shank", "foot", "toes")
    bend = np.array([0.0 if j.startswith(legs) else 0.2 for j in CHARACTER.joints])
    low, high = w.model.jnt_range[[w.joint(j) for j in CHARACTER.joints]].T
    for k in range(count):
        clip = clips[k % len(clips)]
        frame = int(rng.integers(len(clip.qpos)))
        w.data.qpos[:7] = clip.root(CHARACTER.height)[frame]
        angles = clip.angles(CHARACTER.joints)[frame] + bend * rng.standard_normal(len(bend))
        w.data.qpos[posture.qpos] = np.clip(angles, low + 0.1, high - 0.1) if bend.any() else angles
        w.data.qvel[:] = speed * rng.standard_normal(w.model.nv)
        w.forward()
        if "box" in w.names(mujoco.mjtObj.mjOBJ_BODY):
            # take hold of it anew where it is
            w.data.qvel[47:] = 0.0
            for hand in CHARACTER.hands:
                grasp(w, hand, "box", reach=np.inf)
            w.forward()
        yield k


def still_feet(w: World) -> None:
    """Take out of the speeds what moves the feet that touch, and what pulls at the grips."""
    response = w.dynamics().response()
    rows = np.concatenate([response.L, response.ground.feet])
    w.data.qvel[:] -= np.linalg.pinv(rows, rcond=1e-9) @ (rows @ w.data.qvel)
    w.forward()


def tasks_of(w: World, rng: np.random.Generator, scale: float) -> list[Task]:
    """Balance, trunk, hands, head, posture, each a level of its own; goals drawn at random near the present."""
    mass = np.where(w.model.body_rootid == w.body("pelvis"), w.model.body_mass, 0.0)
    dynamics = w.dynamics()
    com = CentreOfMass(mass, w.model.body_mass - mass)
    trunk, head = (Orientation(np.array([w.body(b)])) for b in ("thorax", "head"))
    hand = Points(np.array([w.body("hand_r")]), np.zeros((1, 3)))
    posture = posture_of(w, CHARACTER)

    def near(measure, size: float) -> Fixed:
        value = measure.evaluate(dynamics).value
        return Fixed(value + scale * size * rng.standard_normal(len(value)))

    def turned(measure) -> Fixed:
        value = measure.evaluate(dynamics).value + 0.1 * scale * rng.standard_normal(4)
        return Fixed(value / np.linalg.norm(value))

    return [
        Task("balance", com, Stabilize(0.8), 0, goal=near(com, 0.02)),
        Task("trunk", trunk, Stabilize(1.0), 1, goal=turned(trunk)),
        Task("hand", hand, Stabilize(1.0), 2, goal=near(hand, 0.05)),
        Task("head", head, Stabilize(1.0), 3, goal=turned(head)),
        Task("posture", posture, Stabilize(1.2), 4, goal=near(posture, 0.05)),
    ]


def imbalance(w: World, solution: Solution) -> np.ndarray:
    """M qacc + h - S^T tau - J^T f - L^T lambda: [N] and [N m], per DOF."""
    response = w.dynamics().response()
    M = np.zeros((w.model.nv, w.model.nv))
    mujoco.mj_fullM(w.model, w.data, M)
    out = M @ response.qacc(solution.z) + response.h
    out[response.layout.actuated] -= solution.torque
    out -= response.ground.soles.T @ solution.ground.ravel()
    if len(response.L):
        out -= response.L.T @ solution.force
    return out


def outside_cones(solution: Solution) -> float:
    """How far forces leave the cones that are planned with, relative to the largest of them; adhesion counts too."""
    sideways, up = np.hypot(*solution.ground[:, :2].T), solution.ground[:, 2]
    over = np.maximum(sideways - TRUSTED_FRICTION * SOLE_FRICTION * up, -up)
    return float(over.max() / max(1.0, float(np.abs(solution.ground).max())))


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_rigid_motions_keep_the_grips(holding, turn):
    """Everything moving as one body moves no weld: L E = 0, wherever it stands and however it is turned."""
    rng = np.random.default_rng(turn)
    w = holding.branch()
    root, box = w.body("pelvis"), w.body("box")
    # all of it turned and moved: welds that hold here hold there
    quat = quat_from_axis_angle(rng.standard_normal(3), turn)
    arm = rotate(quat, w.data.xpos[box] - w.data.xpos[root])
    w.data.qpos[:3] += rng.standard_normal(3)
    w.data.qpos[3:7] = quat_multiply(quat, w.data.qpos[3:7])
    w.data.qpos[48:51] = w.data.qpos[:3] + arm
    w.data.qpos[51:55] = quat_multiply(quat, w.data.qpos[51:55])
    w.forward()
    response = w.dynamics().response()
    L, E = response.L, response.ground.rigid
    assert L.shape[0] == 12
    assert np.abs(L @ E.T).max() < 1e-12
    assert np.linalg.matrix_rank(E) == 6
    # and it is what a rigid motion does to any point: here of the hand and of the box
    for body in ("hand_l", "box"):
        jac, _, _ = w.dynamics().frame(w.body(body), w.data.xpos[w.body(body)])
        arm = w.data.xpos[w.body(body)] - w.data.xpos[root]
        axes = w.data.xmat[root].reshape(3, 3)
        assert np.abs(jac[:3] @ E[:3].T - np.eye(3)).max() < 1e-12
        assert np.abs(jac[:3] @ E[3:].T - np.cross(axes.T, arm).T).max() < 1e-12
        assert np.abs(jac[3:] @ E[3:].T - axes).max() < 1e-12


def test_without_a_load_only_the_root_moves(world):
    E = world.dynamics().response().ground.rigid
    assert np.abs(E - np.eye(6, world.model.nv)).max() < 1e-12


def test_soles_touch_where_they_are_near_the_ground(world):
    seen = set()
    for _ in random_states(world, 40, 1, 0.0):
        ground = world.dynamics().response().ground
        spheres = [g for g in range(world.model.ngeom) if "_sole_" in (mujoco.mj_id2name(world.model, 5, g) or "")]
        bottom = world.data.geom_xpos[spheres, 2] - world.model.geom_size[spheres, 0]
        # a sphere's lowest point and the corner of a tilted sole differ a little
        clear = np.abs(bottom - TOUCHING) > 0.002
        assert clear.sum() >= 8
        assert (ground.touching[clear] == (bottom[clear] < TOUCHING)).all()
        seen.add(int(ground.touching.sum()))
    assert max(seen) == 12


@pytest.mark.parametrize("load", ["world", "holding"])
@pytest.mark.parametrize(("speed", "scale"), [(0.1, 1.0), (1.0, 5.0), (3.0, 50.0)])
def test_forces_stay_inside_their_cones(load, speed, scale, request):
    """Whatever is asked, feasible or not."""
    w = request.getfixturevalue(load).branch()
    rng = np.random.default_rng(2)
    controller = Prioritized()
    worst, short = 0.0, 0
    for _ in random_states(w, 60, 3, speed):
        solution = controller.solve(w, tasks_of(w, rng, scale), 0.002)
        assert np.isfinite(solution.torque).all()
        # what does not touch does not press
        touching = w.dynamics().response().ground.touching > 0
        assert (solution.ground[~touching] == 0).all()
        worst = max(worst, outside_cones(solution))
        short += solution.short > MET
    assert worst <= 1e-6
    if speed > 0.5:
        assert short > 30


@pytest.mark.parametrize("load", ["world", "holding"])
def test_equations_of_motion_hold_without_root_torque(load, request):
    """M qacc + h = S^T tau + J^T f + L^T lambda: the root and the box get nothing but what ground and grips give."""
    w = request.getfixturevalue(load).branch()
    rng = np.random.default_rng(4)
    controller = Prioritized()
    given, weight = 0, 9.81 * float(w.model.body_mass.sum())
    for _ in random_states(w, 80, 5, 0.2):
        still_feet(w)
        solution = controller.solve(w, tasks_of(w, rng, 0.5), 0.002)
        if solution.short > MET:
            continue
        given += 1
        left = imbalance(w, solution)
        actuated = w.dynamics().response().layout.actuated
        assert np.abs(left[actuated]).max() < 1e-8
        assert np.abs(left[6:]).max() < 1e-6
        # met within MET [m/s^2] of the body's mass is what counts as given; nearly always the miss is far less
        assert np.abs(left[:6]).max() < 1.1 * MET * weight / 9.81
    assert given > 30


def test_what_the_ground_cannot_give_is_not_planned_with(world):
    """Too much asked: the motion is changed until it needs no more than the forces that are commanded."""
    w = world.branch()
    rng = np.random.default_rng(6)
    controller = Prioritized()
    left, short = [], 0
    for _ in random_states(w, 80, 7, 0.2):
        still_feet(w)
        # a run-up: the whole body moves on at 1.5 m/s
        w.data.qvel[0] += 1.5
        w.forward()
        solution = controller.solve(w, tasks_of(w, rng, 1.0), 0.002)
        short += solution.short > MET
        left.append(np.abs(imbalance(w, solution)[:6]).max())
        assert outside_cones(solution) <= 1e-6
    assert short > 70
    # the nearest forces are found twice, and the cost of pressing shows a little each time
    assert max(left) < 0.005 * 9.81 * w.model.body_mass.sum()


def test_in_the_air_the_root_is_ballistic(world):
    """No ground, no force: the centre of mass falls at g, and angular momentum is conserved."""
    w = world.branch()
    rng = np.random.default_rng(8)
    bodies = list(range(1, w.model.nbody))
    for _ in random_states(w, 20, 9, 1.0):
        w.data.qpos[2] += 1.0
        w.forward()
        solution = Prioritized().solve(w, tasks_of(w, rng, 5.0), 0.002)
        assert (solution.ground == 0).all()
        _, _, jac, bias = w.dynamics().momentum(bodies)
        rate = jac @ w.dynamics().response().qacc(solution.z) + bias
        # joint damping is internal: it moves no momentum
        assert rate[:3] / w.model.body_mass.sum() == pytest.approx([0, 0, -9.81], abs=1e-6)
        assert np.abs(rate[3:]).max() < 1e-5
        assert np.abs(imbalance(w, solution)).max() < 1e-6


@pytest.mark.parametrize("load", ["world", "holding"])
def test_strict_priority_while_the_ground_gives(load, request):
    """Removing or changing lower tasks changes no higher one by more than 1e-8 of max(|a|, 1)."""
    w = request.getfixturevalue(load).branch()
    rng = np.random.default_rng(10)
    controller = Prioritized()
    worst, checked = 0.0, 0
    for _ in random_states(w, 120, 11, 0.2):
        still_feet(w)
        tasks, others = tasks_of(w, rng, 0.5), tasks_of(w, rng, 2.0)
        full = controller.solve(w, tasks, 0.002)
        if full.short > MET:
            continue
        keep = int(rng.integers(1, len(tasks)))
        response = w.dynamics().response()
        for variant in (tasks[:keep], tasks[:keep] + others[keep:], tasks[:keep] + tasks[keep + 1 :]):
            solution = controller.solve(w, variant, 0.002)
            if solution.short > MET:
                continue
            for task in tasks[:keep]:
                now = task.measure.evaluate(w.dynamics())
                a, b = (now.jacobian @ response.qacc(s.z) + now.bias for s in (full, solution))
                worst = max(worst, float(np.abs(a - b).max() / max(1.0, float(np.abs(a).max()))))
                checked += 1
    assert checked > 100
    assert worst < 1e-8


def test_balance_is_met_while_the_ground_gives(world):
    """The top task gets what it asks for; standing still asks for the weight, and the soles share it."""
    w = world.branch()
    rng = np.random.default_rng(12)
    for _ in random_states(w, 1, 13, 0.0):
        solution = Prioritized().solve(w, tasks_of(w, rng, 0.0), 0.002)
    assert solution.short <= MET
    assert solution.missed()["balance"] < 1e-9
    assert solution.ground[:, 2].sum() == pytest.approx(9.81 * w.model.body_mass.sum(), rel=0.05)
    assert (solution.ground[:, 2] > 0).sum() >= 6


def test_a_branch_stands_on_the_same_feet(world):
    rng = np.random.default_rng(14)
    for _ in random_states(world, 1, 15, 0.3):
        tasks = tasks_of(world, rng, 1.0)
        a, b = (Prioritized().solve(w, tasks, 0.002) for w in (world, world.branch()))
    assert np.array_equal(a.torque, b.torque)
    assert np.array_equal(a.ground, b.ground)
