"""Errors: one tree, and tails that help."""

import inspect

import pytest

from manikin import errors
from manikin.errors import Diverged, InputError, ManikinError, OutputError, RunError, did_you_mean


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
