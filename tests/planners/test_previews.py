"""Choosing an input by previews."""

import numpy as np
import pytest

from manikin.planners.previews import choose


class Thrower:
    """In place of a run: lands at a nonlinear function of its input."""

    def __init__(self) -> None:
        self.inputs = np.zeros(2)
        self.branches = 0

    def branch(self) -> "Thrower":
        self.branches += 1
        return Thrower()


def apply(run: Thrower, inputs: np.ndarray) -> None:
    run.inputs = inputs


def lands(run: Thrower) -> np.ndarray:
    """Saturating ahead, coupled aside."""
    ahead, aside = run.inputs
    return np.array([0.3 * np.tanh(2.5 * ahead), 10 * aside * (0.5 + ahead)])


LOW, HIGH, RATES = np.array([0.0, -0.02]), np.array([1.0, 0.02]), np.array([[0.3, 0.0], [0.0, 8.0]])


@pytest.mark.parametrize("seed", range(20))
def test_five_previews_come_near(seed):
    wanted = np.random.default_rng(seed).uniform([0.08, -0.05], [0.27, 0.05])
    run = Thrower()
    choice = choose(run, apply, lands, wanted, np.array([0.3, 0.0]), RATES, LOW, HIGH)
    assert choice.best.miss < 0.01
    assert len(choice.trials) == run.branches == 5
    assert choice.best.miss == min(t.miss for t in choice.trials)
    # the run itself stays as it is
    assert not run.inputs.any()


def test_good_enough_ends_it():
    choice = choose(Thrower(), apply, lands, np.array([0.19, 0.0]), np.array([0.3, 0.0]), RATES, LOW, HIGH, within=0.02)
    assert len(choice.trials) == 1


def test_failures_are_retreated_from():
    def falls(run: Thrower) -> np.ndarray | None:
        return None if run.inputs[0] > 0.55 else lands(run)

    choice = choose(Thrower(), apply, falls, np.array([0.26, 0.0]), np.array([0.3, 0.0]), 0.5 * RATES, LOW, HIGH)
    assert any(t.outcome is None for t in choice.trials)
    assert choice.best.miss < 0.02


def test_nothing_but_failures_is_reported():
    choice = choose(Thrower(), apply, lambda run: None, np.array([0.2, 0.0]), np.array([0.9, 0.0]), RATES, LOW, HIGH)
    assert choice.best.miss == np.inf
    assert len({tuple(t.inputs) for t in choice.trials}) == 5


def test_inputs_stay_in_their_range():
    choice = choose(Thrower(), apply, lands, np.array([5.0, 1.0]), np.array([0.3, 0.0]), RATES, LOW, HIGH)
    for trial in choice.trials:
        assert (trial.inputs >= LOW - 1e-12).all()
        assert (trial.inputs <= HIGH + 1e-12).all()
