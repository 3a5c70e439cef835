"""Weights mean the same under both controllers: with twice the weight of another task, a task misses by a quarter as much."""

import numpy as np
import pytest

import manikin as mk
from manikin.tasks.task import Task, rows_of


def pulled_both_ways(world: mk.World, joint: str) -> list[Task]:
    """Two tasks of one priority: one joint is to bend further, and less."""
    angle = mk.posture(world, joint)
    now = angle.evaluate(world.dynamics()).value
    return [Task(name, angle, mk.Stabilize(1.0), 0, goal=mk.Fixed(now + by)) for name, by in (("more", 0.1), ("less", -0.1))]


def misses(world: mk.World, tasks: list[Task], qacc: np.ndarray) -> np.ndarray:
    rows = rows_of(tasks, world, 0.005)
    return np.abs(rows.wanted - rows.jacobian @ qacc)


@pytest.mark.parametrize("weights", [(2.0, 1.0), (0.2, 0.1), (10.0, 5.0)])
def test_prioritized(weights: tuple[float, float]) -> None:
    world = mk.stage(mk.human(skin=False))
    tasks = pulled_both_ways(world, "forearm_l_flexion")
    for task, weight in zip(tasks, weights):
        task.weight = weight
    solution = mk.Prioritized(soft=1e-3, limits=()).solve(world, tasks, 0.005)
    one, other = misses(world, tasks, world.dynamics().response().qacc(solution.z))
    assert other > 1.0
    assert one / other == pytest.approx(0.25, rel=1e-3)


@pytest.mark.parametrize("weights", [(2.0, 1.0), (0.2, 0.1), (10.0, 5.0)])
def test_direct(weights: tuple[float, float]) -> None:
    world = mk.stage(mk.creature("lamp"))
    controller = mk.Direct(mk.skeletons(world), damping=1e-4)
    skeleton = controller.skeletons[0]
    joint = mk.creature("lamp").joints[0]
    tasks = pulled_both_ways(world, joint)
    for task, weight in zip(tasks, weights):
        task.weight = weight
    decision = controller.decide(world, tasks, 0.005)[0]
    qacc = np.zeros(world.model.nv)
    qacc[skeleton.active] = decision.acceleration
    one, other = misses(world, tasks, qacc)
    assert other > 1.0
    assert one / other == pytest.approx(0.25, rel=1e-2)
