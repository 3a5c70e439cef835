"""Tasks refuse what would be read past its end, or mean nothing, when they are made or at their first command."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import manikin as mk
from manikin.tasks import measures
from manikin.tasks.goals import Aim
from manikin.tasks.measures import goal_size, row_count


@pytest.fixture(scope="module")
def world() -> mk.World:
    return mk.stage(mk.human(skin=False))


# a measure, and how many numbers its goal has
MEASURES: dict[str, tuple[Callable[[mk.World], Any], int]] = {
    "Points": (lambda w: mk.points(w, "hand_l", "hand_r"), 6),
    "Orientation": (lambda w: mk.orientation(w, "hand_l", "head"), 8),
    "Direction": (lambda w: mk.direction(w, "head", [1, 0, 0]), 3),
    "Look": (lambda w: mk.look(w), 3),
    "CentreOfMass": (lambda w: mk.centre_of_mass(w), 2),
    "Momentum": (lambda w: mk.momentum(w), 3),
    "Spin": (lambda w: mk.spin(w), 0),
    "Posture": (lambda w: mk.posture(w, "shank_l_flexion", "head_rotation"), 2),
}


def test_every_measure_is_listed() -> None:
    kinds = [
        k for k in vars(measures).values() if isinstance(k, type) and hasattr(k, "error_kind") and k is not measures.Measure
    ]
    assert {k.__name__ for k in kinds} == set(MEASURES)


def go(world: mk.World, *tasks: mk.Task) -> None:
    mk.Run(world.branch(), mk.Prioritized(), tasks=tasks).advance(2)


@pytest.mark.parametrize("name", MEASURES)
def test_a_goal_has_as_many_numbers_as_the_measure_takes(world: mk.World, name: str) -> None:
    make, size = MEASURES[name]
    measure = make(world)
    assert goal_size(measure) == size
    assert row_count(measure) == len(measure.evaluate(world.dynamics()).rate)
    law = mk.Stabilize(0.8, smoothing=0.05)
    for count in {1, 2, 3, 4, 6, 8, 9, 41} - {size}:
        with pytest.raises(mk.InputError, match=rf"^task 't': goal: measure {name} (needs {size} numbers|takes no goal)"):
            mk.Task("t", measure, law, goal=mk.Fixed(np.ones(count)))
    if size:
        task = mk.Task("t", measure, law, goal=mk.Fixed(np.full(size, 0.5)))
        go(world, task)
        assert 0 < task.error < 1e3


@pytest.mark.parametrize("given", [(0.55, 0.15), (0.55, 0.15, 1.2, 0.0), (0.55, np.nan, 1.2), (0.55, 0.15, np.inf)])
def test_a_goal_that_does_not_fit_is_refused_however_it_is_given(world: mk.World, given: tuple[float, ...]) -> None:
    def goal() -> mk.Fixed:
        return mk.Fixed(given)

    class Own:
        def at(self, world: mk.World, moving: bool = True) -> Aim:
            return Aim(np.array(given))

    measure, law, fine = mk.points(world, "hand_l"), mk.Stabilize(0.8), mk.Fixed([0.5, 0.2, 1.2])
    with pytest.raises(mk.InputError, match="numbers"):
        mk.Task("hand", measure, law, goal=goal())
    task = mk.Task("hand", measure, law, goal=fine)
    with pytest.raises(mk.InputError, match="numbers"):
        task.aim_at(goal())
    assert task.goal is fine, "nothing was changed"
    go(world, task)
    task.goal = Own()
    with pytest.raises(mk.InputError, match=r"^task 'hand': goal: .*numbers"):
        go(world, task)
    # a goal that fits, of another measure
    task.goal = fine
    go(world, task)
    task.measure = mk.points(world, "hand_l", "hand_r")
    with pytest.raises(mk.InputError, match="needs 6 numbers, given 3"):
        go(world, task)


def test_one_row_for_each_point_is_welcome(world: mk.World) -> None:
    rows = [[0.5, 0.2, 1.2], [0.5, -0.2, 1.2]]
    go(world, mk.Task("hands", mk.points(world, "hand_l", "hand_r"), mk.Stabilize(0.8), goal=mk.Fixed(rows)))
    go(world, mk.Task("hands", mk.points(world, "hand_l", "hand_r"), mk.Track(), goal=mk.Path([0, 1], np.ones((2, 6)), 0.0)))


def test_a_checked_goal_is_not_checked_again(world: mk.World, monkeypatch: pytest.MonkeyPatch) -> None:
    task = mk.Task("hand", mk.points(world, "hand_l"), mk.Stabilize(0.8), goal=mk.Fixed([0.5, 0.2, 1.2]))
    checks: list[object] = []
    plain = mk.Task._check_aim
    monkeypatch.setattr(mk.Task, "_check_aim", lambda self, *words: (checks.append(words), plain(self, *words))[1])
    run = mk.Run(world.branch(), mk.Prioritized(), tasks=[task])
    run.advance(20)
    assert len(checks) == 1
    run.branch().advance(20)
    assert len(checks) == 1
    task.goal = mk.Fixed([0.5, 0.2, 1.3])
    run.advance(20)
    assert len(checks) == 2


WRONG: dict[str, tuple[Callable[[mk.World], mk.Task], str]] = {
    "goal a list": (
        lambda w: mk.Task("t", mk.points(w, "head"), mk.Stabilize(), goal=[0, 0, 1]),  # type: ignore[arg-type]
        "goal: given [0, 0, 1], needs a goal such as mk.Fixed(",
    ),
    "goal a class": (
        lambda w: mk.Task("t", mk.points(w, "head"), mk.Stabilize(), goal=mk.Fixed),  # type: ignore[arg-type]
        "goal: given <class 'manikin.tasks.goals.Fixed'>, needs a goal",
    ),
    "law a word": (
        lambda w: mk.Task("t", mk.points(w, "head"), "stabilize"),  # type: ignore[arg-type]
        "law: given 'stabilize', needs a law such as mk.Stabilize(0.8)",
    ),
    "law a class": (
        lambda w: mk.Task("t", mk.points(w, "head"), mk.Track),  # type: ignore[arg-type]
        "law: given <class 'manikin.tasks.laws.Track'>, needs a law",
    ),
    "measure a name": (
        lambda w: mk.Task("t", "head", mk.Stabilize()),  # type: ignore[arg-type]
        "measure: given 'head', needs a measure such as mk.points(world, 'hand_l')",
    ),
    "law and measure swapped": (
        lambda w: mk.Task("t", mk.Stabilize(), mk.points(w, "head")),  # type: ignore[arg-type]
        "measure: given Stabilize(",
    ),
    "a goal for hold": (
        lambda w: mk.Task("t", mk.points(w, "head"), mk.Hold(), goal=mk.Fixed([0, 0, 1])),
        "goal: law 'hold' stays where it is switched on and takes no goal",
    ),
    "nearest for points": (
        lambda w: mk.Task("t", mk.points(w, "head"), mk.nearest(w, "stand")),
        "law: 'nearest' is for a posture",
    ),
    **{
        f"weight {weight}": (
            lambda w, weight=weight: mk.Task("t", mk.points(w, "head"), mk.Stabilize(), weight=weight),
            f"weight: given {weight!r}, needs a number between 0.001 and 1000",
        )
        for weight in (0, -1, float("nan"), float("inf"), 0.0009, 1001, "1")
    },
    **{
        f"force {force}": (
            lambda w, force=force: mk.Task("t", mk.points(w, "head"), mk.Stabilize(), max_force=force),
            f"max_force: given {force!r}, needs a finite number [N] above 0, or None",
        )
        for force in (0, -1, float("nan"), float("inf"))
    },
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_task_cannot_be_made_of_is_said(world: mk.World, case: str) -> None:
    make, says = WRONG[case]
    with pytest.raises(mk.InputError) as caught:
        make(world)
    assert str(caught.value).startswith(f"task 't': {says}")
    assert "\n" not in str(caught.value)


def test_weights_of_scene_files_are_allowed(world: mk.World) -> None:
    for weight in (0.001, 1, 1000.0):
        assert mk.Task("t", mk.points(world, "head"), mk.Stabilize(), weight=weight).weight == weight


def test_a_goal_without_the_rates_that_its_law_needs_is_refused(world: mk.World) -> None:
    """A curve through quaternions has four rates, an orientation three rows."""
    goal = mk.Path([-1.0, 1.0], [[1, 0, 0, 0], [0, 0, 1, 0]], 0.0)
    task = mk.Task("turn", mk.orientation(world, "head"), mk.Track(), goal=goal)
    with pytest.raises(mk.InputError, match="a Path gives no rate for measure Orientation: use the law Stabilize"):
        go(world, task)
    go(world, mk.Task("turn", mk.orientation(world, "head"), mk.Stabilize(), goal=goal))


def test_poses_of_other_joints_are_refused(world: mk.World) -> None:
    task = mk.Task("knee", mk.posture(world, "shank_l_flexion"), mk.nearest(world, "stand"))
    with pytest.raises(mk.InputError, match="poses of 41 joints cannot be a goal for a posture of 1"):
        go(world, task)
