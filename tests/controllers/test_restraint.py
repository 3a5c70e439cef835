"""Restraint: within the limits nothing changes; beyond them a motion is scaled back as a whole, and no joint gains energy that
a person's joint could not give it."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manikin.bench import standing_world
from manikin.characters.human import human
from manikin.controllers.prioritized import Prioritized
from manikin.controllers.restraint import FASTEST, Motors, fraction, limits_at
from manikin.motion.keyframes import posture_of
from manikin.physics.world import World
from manikin.tasks.goals import Fixed
from manikin.tasks.laws import Stabilize
from manikin.tasks.measures import Points
from manikin.tasks.task import Task

DT = 0.002
FEET = ("clamped", "contact")


def tasks_of(world: World, reach: float) -> list[Task]:
    """A hand that is to be `reach` [m] higher, and the present posture."""
    hand = Points(np.array([world.body("hand_r")]), np.zeros((1, 3)))
    goal = hand.evaluate(world.dynamics()).value + [0.0, 0.0, reach]
    posture = posture_of(world, human(skin=False))
    return [
        Task("hand", hand, Stabilize(2.0), 0, goal=Fixed(goal)),
        Task("posture", posture, Stabilize(1.2), 1, goal=Fixed(posture.evaluate(world.dynamics()).value)),
    ]


def standing(feet: str) -> World:
    from manikin.scenes.build_world import stand_support

    world = standing_world(feet)
    if feet == "contact":
        world.dynamics().stand_on((stand_support(world, human(feet="contact", skin=False)),))
        world.forward()
    return world


@pytest.mark.parametrize("feet", FEET)
def test_what_the_joints_can_do_is_left_alone(feet: str) -> None:
    world = standing(feet)
    tasks = tasks_of(world, 0.05)
    free, held = (Prioritized(restrain=r).solve(world, tasks, DT) for r in (False, True))
    assert free.ctrl.tobytes() == held.ctrl.tobytes()
    assert free.z.tobytes() == held.z.tobytes()


@pytest.mark.parametrize("feet", FEET)
def test_too_much_is_scaled_back_as_a_whole(feet: str) -> None:
    """With a hundredth of the strength: the torques that act are those of the motion that is reported, not of another one."""
    world = standing(feet)
    tasks = tasks_of(world, 0.6)
    free = Prioritized(restrain=False, max_acceleration=np.inf).solve(world, tasks, DT)
    strongest = 0.5 * np.abs(free.torque).max()
    world.torque_limits = (np.full(41, -strongest), np.full(41, strongest))
    clipped = Prioritized(restrain=False, max_acceleration=np.inf).solve(world, tasks, DT)
    held = Prioritized(max_acceleration=np.inf).solve(world, tasks, DT)
    response, gap = world.dynamics().response(), tasks[0].measure.evaluate(world.dynamics())

    def lifts(solution) -> float:
        return float((gap.jacobian @ response.qacc(solution.z) + gap.bias)[2])

    assert np.abs(clipped.torque).max() > 1.5 * strongest
    assert np.abs(held.torque + world.step_damping * response.qacc(held.z)[response.layout.actuated]).max() < strongest + 1e-6
    assert 0 < lifts(held) < lifts(free)
    if feet == "clamped":
        # what acts is what was planned
        np.testing.assert_allclose(response.forward(held.torque), response.qacc(held.z), atol=1e-6)
    else:
        assert (held.ground[:, 2] >= -1e-9).all()


@pytest.mark.parametrize("speed", [50.0, -50.0, 200.0])
def test_a_joint_beyond_all_speeds_is_only_braked(speed: float) -> None:
    world = standing("clamped")
    dof = world.model.jnt_dofadr[world.joint("hand_r_flexion")]
    world.data.qvel[dof] = speed
    world.forward()
    wild = Prioritized(restrain=False).solve(world, tasks_of(world, 1.0), DT)
    held = Prioritized().solve(world, tasks_of(world, 1.0), DT)
    actuator = world.dynamics().response().layout.actuated.tolist().index(int(dof))
    assert held.ctrl[actuator] * speed <= 0.0
    qacc = world.dynamics().response().qacc(held.z)[dof]
    assert abs(speed + DT * qacc) <= abs(speed) + 1e-9
    assert np.isfinite(wild.ctrl).all()


def test_muscles_that_shorten_pull_less_and_stretched_ones_do_not() -> None:
    down, up = limits_at(np.full(5, -100.0), np.full(5, 100.0), np.array([-2.0, -0.5, 0.0, 0.5, 2.0]) * FASTEST)
    np.testing.assert_allclose(up, [100.0, 100.0, 100.0, 50.0, 0.0])
    np.testing.assert_allclose(down, [0.0, -50.0, -100.0, -100.0, -100.0])
    down, up = limits_at(np.array([-np.inf]), np.array([np.inf]), np.array([2.0 * FASTEST]))
    assert (down[0], up[0]) == (-np.inf, np.inf)


NUMBER = st.floats(-200.0, 200.0)


@example([(103.0, -103.0, 0.0, 0.0, 0.0)])
@given(st.lists(st.tuples(NUMBER, NUMBER, st.floats(-60.0, 60.0), st.floats(-1e4, 1e4), st.floats(-1e4, 1e4)), min_size=1))
def test_the_fraction_is_the_largest_on_which_all_limits_hold(joints: list[tuple[float, ...]]) -> None:
    rest, demand, speed, rest_qacc, qacc = np.array(joints).T
    motors = Motors(np.full(len(rest), -100.0), np.full(len(rest), 100.0), np.zeros(len(rest)), speed, DT, True)
    part = fraction(rest, demand, rest_qacc, qacc, motors)
    assert 0.0 <= part <= 1.0

    def worst(f: float) -> float:
        """By how much any limit, upper or lower, is exceeded, beyond what braking alone exceeds it."""
        most = np.maximum(FASTEST, np.abs(speed))

        def exceeded(g: float) -> np.ndarray:
            torque, after = rest + g * (demand - rest), speed + DT * (rest_qacc + g * (qacc - rest_qacc))
            return np.maximum([torque - 100.0, -100.0 - torque, after - most, -most - after], 0.0)

        return float((exceeded(f) - exceeded(0.0)).max())

    assert worst(part) < 1e-6
    if part < 0.99:
        assert worst(part + 0.01) > 0.0
