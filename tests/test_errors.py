"""Errors: one tree, and tails that help."""

import inspect

import numpy as np
import pytest

from manikin import errors
from manikin.errors import Diverged, InputError, ManikinError, OutOfReach, OutputError, RunError, above, did_you_mean, shown


def test_one_tree() -> None:
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == errors.__name__]
    assert len(classes) > 5
    for kind in classes:
        assert issubclass(kind, ManikinError)
        # the exit code follows from the branch: 2 for input, 1 for runs
        assert kind is ManikinError or issubclass(kind, InputError) != issubclass(kind, RunError)
        # the tree is drawn in the module's own words
        assert kind.__name__ in str(errors.__doc__)
    assert issubclass(OutputError, InputError)
    assert issubclass(Diverged, RunError)


def test_divergence_knows_its_facts() -> None:
    error = Diverged(1.25, "hand_l", "speed 900")
    assert (error.time, error.body) == (1.25, "hand_l")
    assert str(error) == "the simulation diverged at 1.250 s: body 'hand_l', speed 900"


@pytest.mark.parametrize(
    ("given", "allowed", "tail"),
    [
        ("mas", ["size", "mass"], "; did you mean 'mass'? (allowed: size, mass)"),
        ("zzz", ["size", "mass"], " (allowed: size, mass)"),
        ("zzz", [], " (none allowed here)"),
    ],
)
def test_the_nearest_match_is_named(given: str, allowed: list[str], tail: str) -> None:
    assert did_you_mean(given, allowed) == tail


def test_messages_and_tails_stay_short() -> None:
    """Files may hold names of any length, and as many as they like."""
    assert len(str(InputError("x" * 300_000))) < 2000
    tail = did_you_mean("a" * 300_000, [f"{k}" * 5000 for k in range(1000)])
    assert len(tail) < 5000
    assert tail.endswith(", ...)")
    assert did_you_mean("lfit", ["lift", "stand"]) == "; did you mean 'lift'? (allowed: lift, stand)"


@pytest.mark.parametrize(
    ("value", "limit", "decimals", "text"),
    [(1.0, 2.0, 2, "1.00"), (2.0, 2.0, 0, "2"), (2.001, 2.0, 2, "2.001"), (140.3, 140.0, 0, "140.3"), (151.7, 140.0, 0, "152")],
)
def test_a_number_above_a_limit_looks_like_it(value: float, limit: float, decimals: int, text: str) -> None:
    assert above(value, limit, decimals) == text


def test_a_gap_that_is_hardly_too_wide_looks_too_wide() -> None:
    assert str(OutOfReach("hand_l", "box", 0.0301, 0.03)) == "hand_l is 3.01 cm from box; a grasp needs 3 cm"
    assert str(OutOfReach("hand_l", "box", 0.1, 0.03)) == "hand_l is 10.0 cm from box; a grasp needs 3 cm"


def test_what_was_given_is_shown_in_one_short_line() -> None:
    assert shown([1, 2]) == "[1, 2]"
    assert shown(np.zeros((3, 3))) == "array([[0., 0., 0.], [0., 0., 0.], [0., 0., 0.]])"
    assert len(shown(np.zeros(500))) <= 60
    assert shown("x" * 100).endswith(" ...")
