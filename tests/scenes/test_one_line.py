"""Changes and files that cannot be: one clear line, exit 2, nothing written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manikin.scenes.scene import load_scene

Command = Callable[..., Any]

DIGITS, BRACKETS = "9" * 5000, "[" * 3000 + "]" * 3000

# scene, change on the command line, what is said of it
REFUSED = [
    ("lamp", "character.height=1.8", "lamp.toml: character: height is not for a lamp (allowed: model, at,"),
    ("lamp", "character.height=99", "lamp.toml: character: height is not for a lamp (allowed: model, at,"),
    ("lamp", "character.clip=stand2", "lamp.toml: character: clip is not for a lamp (allowed: model, at,"),
    # what the human has by default
    ("lamp", "character.height=1.75", "lamp.toml: character: height is not for a lamp (allowed: model, at,"),
    ("lamp", "character.sex=neutral", "lamp.toml: character: sex is not for a lamp (allowed: model, at,"),
    ("lift", "character.above=1.0", "lift.toml: character: above is not for a human (allowed: height, mass, clip, ...)"),
    ("lift", "props.bxo.mass=9",
     "lift.toml: props.bxo: no prop is called 'bxo', and a new one needs shape; did you mean 'box'?"),
    ("lift", "tasks.hand.frequency=2.0",
     "lift.toml: tasks.hand: no task is called 'hand', and a new one needs measure; did you mean 'hands'?"),
    ("lift", "knobs.props.box.mass.unit=g",
     "knobs.props.box.mass.unit: keys of knobs are paths, and need quotes (in a shell, single ones around all): "
     'knobs."props.box.mass".unit\n'),
    ("lift", "knobs.props.box.size.1.range.0=0.1",
     "knobs.props.box.size.1.range.0: keys of knobs are paths, and need quotes (in a shell, single ones around all): "
     'knobs."props.box.size.1".range.0\n'),
    ("lift", "knobs.props.box.friction=[0.1, 1, '']",
     "knobs.props.box.friction: keys of knobs are paths, and need quotes (in a shell, single ones around all): "
     'knobs."props.box.friction"\n'),
    ("lift", 'knobs."character.clipp".title=Style',
     "knobs.\"character.clipp\".title: knobs has no key 'character.clipp'; did you mean 'character.clip'?"),
    ("lift", 'knobs."props.box.mass.title=x', 'knobs."props.box.mass.title: a quote is not closed\n'),
    ("lift", 'knobs.props.box.mass".title=x', 'knobs.props.box.mass".title: a quote is not closed\n'),
    ("lift", "knobs.'props.box.mass.title=x", "knobs.'props.box.mass.title: a quote is not closed\n"),
    ("lift", 'props."box.mass=3', 'props."box.mass: a quote is not closed\n'),
    ("lift", f"props.box.mass={DIGITS}", "--set props.box.mass: its value has too many digits or brackets"),
    ("lift", f"props.box.size={BRACKETS}", "--set props.box.size: its value has too many digits or brackets"),
    ("lift", "tasks.balance.goal.at=[-1e308, 0]",
     "lift.toml: tasks.balance.goal.at.0: given -1e+308: input should be greater than or equal to -1000000000"),
]  # fmt: skip


@pytest.mark.parametrize(("scene", "change", "says"), REFUSED, ids=[f"{s} {c[:40]}" for s, c, _ in REFUSED])
def test_a_change_that_cannot_be_is_refused_in_one_line(
    command: Command, tmp_path: Path, scene: str, change: str, says: str
) -> None:
    outcome = command("run", scene, "--set", change, "--out", "mine.npz")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"manikin: {says}")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 250
    assert not list(tmp_path.iterdir())


# text of a scene file, what is said of it
FILES = [
    (f'name = "a"\nseed = {DIGITS}\n[character]\n', "not TOML: a number has thousands of digits"),
    (f'name = "a"\n[character]\nlocked = {BRACKETS}\n', "not TOML: brackets are nested too deep"),
    (f'name = "a"\nseed = {"9" * 4000}\n[character]\n[props.a]\nshape = "box"\nsize = [{"9" * 4000}, 1, 1]\n',
     "given a whole number"),
    ('name = "a"\n[character]\n[tasks.t]\nmeasure = "point"\nof = "hand_l"\ngoal = [0, 0, -1e308]\n',
     "tasks.t.goal.at.2: given -1e+308: input should be greater than or equal to -1000000000"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), FILES, ids=[s[:40] for _, s in FILES])
@pytest.mark.parametrize("words", [("run",), ("check",)], ids=["run", "check"])
def test_a_file_that_cannot_be_is_refused_in_one_line(
    command: Command, tmp_path: Path, words: tuple[str, ...], text: str, says: str
) -> None:
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    outcome = command(*words, "mine.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("manikin: mine.toml: ")
    assert says in outcome.err
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 250


def test_a_new_table_is_no_misspelt_one() -> None:
    """Only what lacks a key is taken for a misspelt name."""
    bxo = {"shape": "box", "size": [0.1, 0.1, 0.1], "at": [2.0, 0.0, 0.05]}
    scene = load_scene("lift", {f"props.bxo.{key}": value for key, value in bxo.items()})
    assert set(scene.props) == {"box", "bxo"}
