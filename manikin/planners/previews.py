"""Choosing an input by previews: try it on a copy of the run, see what comes of it, and correct it.

Kim & Pollard 2011, section 3 and Figure 4: the person looks at the preview of a trial input, learns how the outcome follows
from it, and tunes it in a few trials. Here the learning is Broyden's: the rates of the outcome per input begin as a guess and
are corrected by each trial.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# trials nearer than this share of an input's range teach more about noise than about rates
APART = 0.02
# rates are corrected by no more than this factor at once, or a little noise would turn them around
TRUST = 2.0


class Branching(Protocol):
    """A run that can be copied, so that the copy runs ahead."""

    def branch(self) -> Self: ...


R = TypeVar("R", bound=Branching)


class Trial(NamedTuple):
    """An input (n,) that was previewed, what came of it (k,), None where it failed, and how far that is from what is wanted."""

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

    apply: gives a branch its input. outcome: runs the branch and says what came of it; None: it failed.
    rates (k, n): how the outcome is thought to change with the input; low, high (n,): between which inputs are sought.
    within: a miss that is good enough to stop.
    """
    rates, trials = rates.astype(float), []
    inputs = np.clip(first, low, high)
    for _ in range(budget):
        ahead = run.branch()
        apply(ahead, inputs)
        came = outcome(ahead)
        miss = np.inf if came is None else float(np.linalg.norm(came - wanted))
        trials.append(Trial(inputs, came, miss))
        if miss <= within:
            break
        rates = _learned(rates, trials, high - low)
        inputs = _next(rates, trials, wanted, low, high)
    return Choice(min(trials, key=lambda t: t.miss), tuple(trials))


def _learned(rates: Array, trials: Sequence[Trial], span: Array) -> Array:
    """Broyden's correction with the last trial and the best of those before it."""
    last, before = trials[-1], [t for t in trials[:-1] if t.outcome is not None]
    if last.outcome is None or not before:
        return rates
    near = min(before, key=lambda t: t.miss)
    assert near.outcome is not None
    # inputs in shares of their range, so that metres and centimetres count alike
    step = (last.inputs - near.inputs) / span
    square = float(step @ step)
    if square < APART**2:
        return rates
    scaled = rates * span
    expected = scaled @ step
    surprise = last.outcome - near.outcome - expected
    most = (TRUST - 1.0) * float(np.linalg.norm(expected))
    surprise *= min(1.0, most / max(float(np.linalg.norm(surprise)), 1e-12))
    corrected: Array = (scaled + np.outer(surprise, step) / square) / span
    return corrected


def _next(rates: Array, trials: Sequence[Trial], wanted: Array, low: Array, high: Array) -> Array:
    """From the best trial to where the rates say that the outcome is the wanted one; half of the way back from a failure."""
    good = [t for t in trials if t.outcome is not None]
    if not good:
        # nothing is known: towards the middle of what is allowed
        return np.asarray(0.5 * (trials[-1].inputs + 0.5 * (low + high)))
    best = min(good, key=lambda t: t.miss)
    if trials[-1].outcome is None:
        return np.asarray(0.5 * (trials[-1].inputs + best.inputs))
    assert best.outcome is not None
    span = high - low
    step = np.linalg.lstsq(rates * span, wanted - best.outcome, rcond=1e-3)[0] * span
    inputs = np.clip(best.inputs + step, low, high)
    for trial in trials:
        if np.linalg.norm((inputs - trial.inputs) / span) < 1e-3:
            # tried already, at a bound: half as far, or a little towards the middle
            half = 0.5 * (best.inputs + inputs)
            return np.asarray(half + 0.05 * (0.5 * (low + high) - half))
    return np.asarray(inputs)
