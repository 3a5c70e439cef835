"""Choosing an input by previews: try it on a copy of the run, see the outcome, and correct it.

Kim & Pollard 2011, section 3 and Figure 4: the person looks at the preview of a trial input, learns how the outcome follows
from it, and tunes it in a few trials. Learning is a fit here: rates of the outcome per input that explain all trials and stay
near a guess.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# trials nearer to each other than this fraction of an input's range say more about noise than about rates
NOISE = 0.12
# no trial is farther from the best so far than this fraction of an input's range
REACH = 0.3


class Branching(Protocol):
    """A run that can be copied, so that the copy runs ahead."""

    def branch(self) -> Self: ...


R = TypeVar("R", bound=Branching)


class Trial(NamedTuple):
    """An input (n,) that was previewed, what followed (k,), None where it failed, and how far that is from the goal."""

    inputs: Array
    outcome: Array | None
    miss: float


class Choice(NamedTuple):
    """The best of the trials, and all of them in order."""

    best: Trial
    trials: tuple[Trial, ...]


def choose(
    run: R,
    apply: Callable[[R, Array], None],
    outcome: Callable[[R], Array | None],
    wanted: Array,
    first: Array,
    rates: Array,
    low: Array,
    high: Array,
    budget: int = 5,
    within: float = 0.0,
) -> Choice:
    """Preview up to `budget` inputs on branches of a run, which itself stays where it is, and take the best.

    apply: gives a branch its input. outcome: runs the branch and returns what followed; None: it failed.
    rates (k, n): how the outcome is expected to change with the input; low, high (n,): the range of the inputs.
    within: a miss that is good enough to stop.
    """
    trials: list[Trial] = []
    inputs = np.clip(first, low, high)
    for _ in range(budget):
        ahead = run.branch()
        apply(ahead, inputs)
        reached = outcome(ahead)
        miss = np.inf if reached is None else float(np.linalg.norm(reached - wanted))
        trials.append(Trial(inputs, reached, miss))
        if miss <= within:
            break
        inputs = _next(_learned(rates, trials, high - low), trials, wanted, low, high)
    return Choice(min(trials, key=lambda t: t.miss), tuple(trials))


def _learned(guess: Array, trials: Sequence[Trial], span: Array) -> Array:
    """The rates that explain all trials best while staying near the guess (regularised least squares)."""
    good = [(t.inputs, t.outcome, t.miss) for t in trials if t.outcome is not None]
    if len(good) < 2:
        return guess
    inputs, outcome, _ = min(good, key=lambda t: t[2])
    # inputs relative to their range, so that metres and centimetres count alike
    steps = np.array([(i - inputs) / span for i, _, _ in good])
    reached = np.array([o - outcome for _, o, _ in good])
    prior = NOISE**2 * np.eye(len(span))
    rates: Array = np.linalg.solve(steps.T @ steps + prior, steps.T @ reached + prior @ (guess * span).T).T / span
    return rates


def _next(rates: Array, trials: Sequence[Trial], wanted: Array, low: Array, high: Array) -> Array:
    """From the best trial to where the rates predict the wanted outcome; halfway back from a failure."""
    good = [t for t in trials if t.outcome is not None]
    if not good:
        # nothing is known: towards the middle of what is allowed
        return np.asarray(0.5 * (trials[-1].inputs + 0.5 * (low + high)))
    best = min(good, key=lambda t: t.miss)
    if trials[-1].outcome is None:
        return np.asarray(0.5 * (trials[-1].inputs + best.inputs))
    assert best.outcome is not None
    span = high - low
    step = np.linalg.lstsq(rates * span, wanted - best.outcome, rcond=1e-3)[0]
    step *= min(1.0, REACH / max(float(np.abs(step).max()), 1e-12))
    inputs = np.clip(best.inputs + step * span, low, high)
    for trial in trials:
        if np.linalg.norm((inputs - trial.inputs) / span) < 1e-3:
            # tried already, at a bound: half as far, or a little towards the middle
            half = 0.5 * (best.inputs + inputs)
            return np.asarray(half + 0.05 * (0.5 * (low + high) - half))
    return np.asarray(inputs)
