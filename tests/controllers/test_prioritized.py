"""Prioritized control: strict priority, zero root torque, exact top task, bounded torques, limits.

Abe & Popovic 2006, section 3, over random states of the human on clamped feet; one code path, the controller's own.
"""

from collections.abc import Iterator

import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.bench import standing_world
from manikin.characters.human import human
from manikin.controllers.prioritized import Prioritized, Solution
from manikin.motion.keyframes import posture_of
from manikin.physics.attach import hold_still
from manikin.physics.world import World
from manikin.scenes.stage import PropShape, stage
from manikin.tasks.goals import Fixed
from manikin.tasks.laws import Stabilize
from manikin.tasks.limits import JointLimits
from manikin.tasks.measures import CentreOfMass, Direction, Orientation, Points, Posture
from manikin.tasks.task import Task

STATES = 1000


def random_states(world: World, count: int, seed: int) -> Iterator[int]:
    """Random poses and speeds on clamped feet; every third has straight arms: exactly singular, or nearly."""
    rng = np.random.default_rng(seed)
    low, high = world.model.jnt_range[1:].T
    start = world.data.qpos.copy()
    elbows = [world.model.jnt_qposadr[world.joint(f"forearm_{s}_flexion")] for s in "lr"]
    for k in range(count):
        world.data.qpos[:] = start
        world.data.qpos[7:48] = low + (high - low) * rng.uniform(0.1, 0.9, 41)
        if k % 3 == 0:
            world.data.qpos[elbows] = 0.0 if k % 2 else 10.0 ** rng.uniform(-9, -2)
        world.data.qvel[:] = rng.standard_normal(world.model.nv)
        world.forward()
        for name in ("clamp_foot_l", "clamp_foot_r"):
            hold_still(world, name)
        world.forward()
        yield k


def tasks_of(world: World, rng: np.random.Generator, scale: float = 1.0) -> list[Task]:
    """Trunk, hands, gaze, centre of mass, some joints, posture: Cartesian and joint-space tasks, goals drawn at random.

    The trunk is held at the top, so that only the arms move the hands: straight arms are then truly singular.
    """
    hands = np.array([world.body("hand_l"), world.body("hand_r")])
    mass = world.model.body_mass.copy()
    character = human(skin=False)
    knees = np.array([world.joint("shank_l_flexion"), world.joint("shank_r_flexion"), world.joint("head_rotation")])
    joints = Posture(world.model.jnt_qposadr[knees].astype(np.int64), world.model.jnt_dofadr[knees].astype(np.int64))
    points = Points(hands, np.array([[0.0, -0.02, -0.07], [0.0, 0.02, -0.07]]))
    now = points.evaluate(world.dynamics()).value
    thorax = np.array([world.body("thorax")])
    chest, turn = Points(thorax, np.zeros((1, 3))), Orientation(thorax)
    return [
        Task("chest", chest, Stabilize(1.0), 0, goal=Fixed(chest.evaluate(world.dynamics()).value)),
        Task("turn", turn, Stabilize(1.0), 0, goal=Fixed(turn.evaluate(world.dynamics()).value)),
        Task("hands", points, Stabilize(1.0), 1, goal=Fixed(now + scale * 0.1 * rng.standard_normal(6))),
        Task(
            "gaze", Direction(world.body("head"), np.array([1.0, 0, 0])), Stabilize(1.0), 2, goal=Fixed(rng.standard_normal(3))
        ),
        Task("com", CentreOfMass(mass, 0 * mass), Stabilize(0.8), 3, goal=Fixed(0.1 * scale * rng.standard_normal(2))),
        Task("joints", joints, Stabilize(2.0), 4, goal=Fixed(scale * rng.standard_normal(3))),
        Task("posture", posture_of(world, character), Stabilize(1.2), 5, goal=Fixed(scale * rng.standard_normal(41))),
    ]


def achieved(world: World, solution: Solution, task: Task) -> np.ndarray:
    """A task's acceleration in rigid constrained dynamics under the solution's torques."""
    now = task.measure.evaluate(world.dynamics())
    return now.jacobian @ world.dynamics().response().forward(solution.torque) + now.bias


@pytest.fixture(scope="module")
def world() -> World:
    return standing_world("clamped")


def test_strict_priority_over_random_states(world):
    """Adding, removing or changing any lower task changes no higher task's acceleration by more than 1e-8 of max(|a|, 1)."""
    # most of these goals take more torque than any joint has
    controller = Prioritized(restrain=False)
    rng = np.random.default_rng(7)
    worst, checked = 0.0, 0
    for _ in random_states(world, STATES, seed=11):
        tasks = tasks_of(world, rng)
        others = tasks_of(world, rng, scale=30.0)
        full = controller.solve(world, tasks, 0.002)
        # the two trunk tasks share a level
        keep = int(rng.integers(2, len(tasks)))
        variants = [tasks[:keep], tasks[:keep] + others[keep:], tasks[:keep] + tasks[keep + 1 :]]
        for variant in variants:
            solution = controller.solve(world, variant, 0.002)
            for task in tasks[:keep]:
                a, b = achieved(world, full, task), achieved(world, solution, task)
                worst = max(worst, float(np.abs(a - b).max() / max(1.0, float(np.abs(a).max()))))
                checked += 1
    assert checked > 3 * STATES
    assert worst < 1e-8


def test_feasible_top_task_is_met_and_torques_stay_bounded(world):
    # the exact solver: little damping, steps of any length, torques of any size
    controller = Prioritized(soft=0.02, limits=(), max_acceleration=np.inf, restrain=False)
    rng = np.random.default_rng(8)
    misses, largest, regular = [], 0.0, 0
    for _ in random_states(world, 300, seed=12):
        tasks = tasks_of(world, rng)
        solution = controller.solve(world, tasks, 0.002)
        largest = max(largest, float(np.abs(solution.torque).max()))
        # feasible: the top level's rows, at length one, keep more of themselves than the damping threshold
        response = world.dynamics().response()
        left = response.rows(np.concatenate([t.measure.evaluate(world.dynamics()).jacobian for t in tasks[:2]]))
        left /= np.linalg.norm(left, axis=1)[:, None]
        used = response.basis[: response.decided]
        if np.linalg.svd(left - left @ used.T @ used, compute_uv=False)[-1] < 0.021:
            continue
        regular += 1
        for task in tasks[:2]:
            command = task.rows(world, 0.0).wanted + task.measure.evaluate(world.dynamics()).bias
            misses.append(np.abs(achieved(world, solution, task) - command).max())
    assert regular > 150
    assert max(misses) < 1e-6
    # commands here are of the order of 10 m/s^2; unguarded, straight arms ask for 1e5 N m and more
    assert largest < 2e4


def test_straight_arms_without_damping_would_explode(world):
    """Damping is needed: without it, and with steps of any length, the same states need absurd torques. The limit on steps
    alone would do as well."""
    rng = np.random.default_rng(8)
    hard, soft, short = 0.0, 0.0, 0.0
    for _ in random_states(world, 60, seed=12):
        tasks = tasks_of(world, rng)
        for_each = [
            Prioritized(1e-7, limits=(), max_acceleration=np.inf, restrain=False),
            Prioritized(limits=(), max_acceleration=np.inf, restrain=False),
            Prioritized(1e-7, limits=(), restrain=False),
        ]
        largest = [float(np.abs(c.solve(world, tasks, 0.002).torque).max()) for c in for_each]
        hard, soft, short = max(hard, largest[0]), max(soft, largest[1]), max(short, largest[2])
    assert hard > 20 * soft
    assert hard > 20 * short


def test_root_has_no_actuator(world):
    assert world.model.nu == 41
    assert 0 not in world.model.actuator_trnid[:, 0]
    control = Prioritized().control(world, tasks_of(world, np.random.default_rng(0)), 0.002)
    world.data.ctrl[:] = control.ctrl
    world.forward()
    assert (world.data.qfrc_actuator[:6] == 0.0).all()


def test_torques_respect_the_actuators(world):
    tasks = tasks_of(world, np.random.default_rng(0), scale=1000.0)
    ctrl = Prioritized().control(world, tasks, 0.002).ctrl
    low, high = world.model.actuator_ctrlrange.T
    assert (ctrl >= low).all()
    assert (ctrl <= high).all()
    assert np.isfinite(ctrl).all()


def test_joint_limits_rank_above_all_tasks(world):
    """Near a limit and heading for it, no task makes a joint accelerate further than the wall allows."""
    controller, limits = Prioritized(), JointLimits()
    rng = np.random.default_rng(5)
    crossed = 0
    for _ in random_states(world, 100, seed=13):
        world.data.qpos[7:48] = world.model.jnt_range[1:, 1] - 0.02
        world.forward()
        tasks = tasks_of(world, rng, scale=5.0)
        response = world.dynamics().response()
        bounds = limits.bounds(world.dynamics())
        free = Prioritized(limits=(), restrain=False).solve(world, tasks, 0.002)
        held = controller.solve(world, tasks, 0.002)
        crossed += int((response.joint_rows @ free.z > bounds.high + 1e-3).sum())
        over = response.joint_rows @ held.z - bounds.high
        # more joints than the clamped feet leave freedom for cannot all be obeyed
        assert (over > 1e-3).sum() <= 12
    assert crossed > 500


def test_one_joint_stops_at_its_wall():
    """A knee driven into its limit by the posture task stops there, softly."""
    w = standing_world("clamped")
    character = human(skin=False)
    posture = posture_of(w, character)
    goal = posture.evaluate(w.dynamics()).value
    elbow = list(character.joints).index("forearm_l_flexion")
    goal[elbow] = 3.5
    task = Task("posture", posture, Stabilize(1.5), 0, goal=Fixed(goal))
    controller = Prioritized()
    for _ in range(800):
        w.refresh()
        w.step(controller.control(w, [task], 0.002))
    angle = np.rad2deg(w.data.qpos[posture.qpos[elbow]])
    assert 145.0 < angle < 150.5


def test_unactuated_pendulum_is_left_to_physics():
    """A mass on a free joint in the hand: the hand is still where it should be, the pendulum swings by itself."""
    w = standing_world("clamped")
    xml = w.mjcf.replace(
        '<site name="hand_r"',
        '<body name="bob" pos="0 0.02 -0.08"><joint name="pin" type="ball" damping="0.05"/>'
        '<geom type="sphere" size="0.05" pos="0 0 -0.3" mass="5" contype="0" conaffinity="0"/></body><site name="hand_r"',
    )
    pendulum = World(xml)
    character = human(skin=False)
    actuated = [pendulum.joint(j) for j in character.joints]
    for joint, angle in zip(character.joints, w.data.qpos[posture_of(w, character).qpos]):
        pendulum.data.qpos[pendulum.model.jnt_qposadr[pendulum.joint(joint)]] = angle
    pendulum.data.qpos[:7] = w.data.qpos[:7]
    pendulum.forward()
    for name in ("clamp_foot_l", "clamp_foot_r"):
        hold_still(pendulum, name)
    pin = pendulum.model.jnt_dofadr[pendulum.joint("pin")]
    pendulum.data.qvel[pin : pin + 3] = [2.0, 1.0, 0.0]
    pendulum.forward()
    response = pendulum.dynamics().response()
    assert response.decided - response.constrained == 3
    hand = Points(np.array([pendulum.body("hand_r")]), np.zeros((1, 3)))
    here = hand.evaluate(pendulum.dynamics()).value
    posture = Posture(
        pendulum.model.jnt_qposadr[actuated].astype(np.int64), pendulum.model.jnt_dofadr[actuated].astype(np.int64)
    )
    tasks = [
        Task("hand", hand, Stabilize(2.0), 0, goal=Fixed(here)),
        Task("posture", posture, Stabilize(1.2), 1, goal=Fixed(posture.evaluate(pendulum.dynamics()).value)),
    ]
    controller = Prioritized()
    farthest, swing = 0.0, 0.0
    for _ in range(500):
        pendulum.refresh()
        pendulum.step(controller.control(pendulum, tasks, 0.002))
        farthest = max(farthest, tasks[0].error)
        swing = max(swing, float(np.abs(pendulum.data.qvel[pin : pin + 3]).max()))
    assert farthest < 0.01
    assert swing > 1.0


def test_force_limit_slows_but_does_not_drop():
    """Eq. 13: a limited hand pulls with no more than its limit, a generous limit changes nothing."""
    w = standing_world("clamped")
    hands = Points(np.array([w.body("hand_l"), w.body("hand_r")]), np.zeros((2, 3)))
    goal = hands.evaluate(w.dynamics()).value + np.tile([0.3, 0.0, 0.4], 2)
    reports = {}
    for limit in (None, 1e6, 60.0):
        task = Task("hands", hands, Stabilize(2.0), 0, max_force=limit, goal=Fixed(goal))
        solution = Prioritized(limits=()).solve(w, [task], 0.002)
        reports[limit] = (solution.report()["hands"].force, achieved(w, solution, task))
    assert np.abs(reports[None][1] - reports[1e6][1]).max() < 1e-9
    assert reports[1e6][0] > 120.0
    assert reports[60.0][0] == pytest.approx(60.0)
    assert 0 < np.linalg.norm(reports[60.0][1]) < 0.8 * np.linalg.norm(reports[None][1])


def test_held_box_moves_with_the_hands_exactly():
    """Closed loop: two hands welded to one box have five common freedoms; the commanded lift is met in rigid dynamics."""
    from manikin.physics.attach import grasp

    character = human(skin=False)
    w = World(stage("held", [character], {"box": PropShape("box", (0.4, 0.3, 0.3), 20.0, (0.3, 0, 0.9))}))
    start = standing_world("clamped")
    w.data.qpos[:48] = start.data.qpos
    for side, y in (("l", 1), ("r", -1)):
        w.data.qpos[w.model.jnt_qposadr[w.joint(f"forearm_{side}_flexion")]] = np.deg2rad(80)
        del y
    w.forward()
    for name in ("clamp_foot_l", "clamp_foot_r"):
        hold_still(w, name)
    for hand in character.hands:
        grasp(w, hand, "box", reach=np.inf)
    w.forward()
    hands = Points(np.array([w.body("hand_l"), w.body("hand_r")]), np.zeros((2, 3)))
    goal = hands.evaluate(w.dynamics()).value + np.tile([0.0, 0.0, 0.1], 2)
    task = Task("hands", hands, Stabilize(1.0), 0, goal=Fixed(goal))
    solution = Prioritized(limits=()).solve(w, [task], 0.002)
    a = achieved(w, solution, task)
    assert a[2] == pytest.approx(4 * np.pi**2 * 0.1, rel=1e-6)
    assert a[5] == pytest.approx(a[2], rel=1e-6)


def test_locked_joint_stays_and_the_rest_goes_on():
    character = human(skin=False, locked=("forearm_l_flexion",))
    w = World(stage("locked", [character], {}))
    start = standing_world("clamped")
    w.data.qpos[:] = start.data.qpos
    w.forward()
    for equality in character.equalities:
        hold_still(w, equality.attrib["name"])
    w.forward()
    hands = Points(np.array([w.body("hand_l")]), np.zeros((1, 3)))
    goal = hands.evaluate(w.dynamics()).value + np.array([0.15, 0.05, 0.25])
    tasks = [
        Task("hand", hands, Stabilize(1.0), 0, goal=Fixed(goal)),
        Task("posture", posture_of(w, character), Stabilize(1.0), 1, goal=Fixed(w.data.qpos[7:].copy())),
    ]
    elbow = w.model.jnt_qposadr[w.joint("forearm_l_flexion")]
    before = w.data.qpos[elbow]
    controller = Prioritized()
    for _ in range(900):
        w.refresh()
        w.step(controller.control(w, tasks, 0.002))
    assert abs(w.data.qpos[elbow] - before) < 0.01
    assert tasks[0].error < 0.05


def test_no_tasks_are_no_error(world):
    solution = Prioritized().solve(world, [], 0.002)
    assert np.isfinite(solution.torque).all()
    assert solution.missed() == {}


def test_inactive_tasks_are_left_out(world):
    tasks = tasks_of(world, np.random.default_rng(1))
    next(t for t in tasks if t.name == "hands").active = False
    assert "hands" not in Prioritized().solve(world, tasks, 0.002).report()


def test_actuator_order_may_differ_from_dof_order(world):
    """Torques are matched to actuators through their joints, not by position."""
    import xml.etree.ElementTree as ET

    root = ET.fromstring(world.mjcf)
    actuators = root.find("actuator")
    assert actuators is not None
    actuators[:] = list(actuators)[::-1]
    turned = World(ET.tostring(root, encoding="unicode"))
    turned.data.qpos[:], turned.data.qvel[:] = world.data.qpos, world.data.qvel
    turned.forward()
    for name in ("clamp_foot_l", "clamp_foot_r"):
        hold_still(turned, name)
        hold_still(world, name)
    turned.forward()
    world.forward()
    hands = Points(np.array([world.body("hand_l")]), np.zeros((1, 3)))
    task = Task("hand", hands, Stabilize(1.0), 0, goal=Fixed(np.array([0.3, 0.2, 1.0])))
    a, b = (Prioritized(limits=()).solve(w, [task], 0.002).torque for w in (world, turned))
    assert np.abs(a - b[::-1]).max() < 1e-6
    assert world.names(mujoco.mjtObj.mjOBJ_ACTUATOR)[0] == turned.names(mujoco.mjtObj.mjOBJ_ACTUATOR)[-1]


def test_tasks_below_a_posture_of_all_joints_are_named(world):
    tasks = tasks_of(world, np.random.default_rng(3))
    controller = Prioritized()
    assert controller.control(world, tasks, 0.002).warnings == ()
    tasks[-1].priority = 2
    tasks[3].priority, tasks[3].error = 3, -1.0
    warnings = controller.control(world, tasks, 0.002).warnings
    assert "task 'gaze' has no effect: task 'posture' has a higher priority and leaves no joint free" in warnings
    assert len(warnings) == 3
    # how far it is from its goal is known all the same
    report = controller.solve(world, tasks, 0.002).report()
    assert tasks[3].error > 0.0
    assert report["gaze"].error == tasks[3].error


def test_weights_of_a_level_count_by_their_ratio(world):
    """The same for any common factor, and nothing for a task that is alone at its level."""

    def torque(trunk: float, turn: float, hands: float) -> np.ndarray:
        tasks = tasks_of(world, np.random.default_rng(4))
        for task, weight in zip(tasks, (trunk, turn, hands)):
            task.weight = weight
        return Prioritized().solve(world, tasks, 0.002).torque

    plain = torque(1.0, 1.0, 1.0)
    np.testing.assert_allclose(torque(30.0, 30.0, 1.0), plain, atol=1e-9)
    np.testing.assert_allclose(torque(1.0, 1.0, 500.0), plain, atol=1e-9)
    np.testing.assert_allclose(torque(2.0, 40.0, 1.0), torque(0.05, 1.0, 0.01), atol=1e-6)


def test_only_humans_are_driven() -> None:
    """In the words of a scene file."""
    lamp = mk.stage(mk.creature("lamp"))
    task = Task("head", mk.points(lamp, "head"), Stabilize(1.0))
    with pytest.raises(mk.InputError, match=r"^controller: 'prioritized' drives the human; for a lamp use 'direct'$"):
        mk.Run(lamp, Prioritized(), tasks=[task]).advance(1)
    # without a task nothing is driven
    mk.Run(lamp, Prioritized()).advance(1)


def test_another_goal_of_the_posture_does_not_reach_the_hand() -> None:
    """examples/03_three_tasks.py, midway: the goal of the lowest task moves far away, and the hand accelerates as before."""
    world = mk.stage(mk.human(skin=False))
    hand, posture = mk.points(world, "hand_l"), mk.posture(world)
    standing = posture.evaluate(world.dynamics()).value
    tasks = [
        Task("hand", hand, Stabilize(0.8), 0, goal=Fixed([0.55, 0.15, 1.55])),
        Task("balance", mk.centre_of_mass(world), Stabilize(0.8), 1, goal=Fixed([0.03, 0.0])),
        Task("posture", posture, Stabilize(0.8), 2, goal=Fixed(standing)),
    ]
    controller = Prioritized()
    mk.Run(world, controller, tasks=tasks).advance(1500)
    world.refresh()
    before = controller.solve(world, tasks, world.timestep)
    tasks[2].aim_at(Fixed(standing + 0.5))
    after = controller.solve(world, tasks, world.timestep)
    assert np.abs(after.torque - before.torque).max() > 1.0
    for task in tasks[:2]:
        assert np.abs(achieved(world, after, task) - achieved(world, before, task)).max() < 1e-8
