"""Knobs of a scene file: paths with quoted parts, titles, sliders and choices."""

from collections.abc import Callable
from typing import Any

import pytest

import manikin as mk
from manikin.errors import SceneError
from manikin.scenes.scene import load_scene, parse_change
from manikin.scenes.schema_knobs import KnobSpec, is_unclosed, knob_title, split_path

MakeScene = Callable[..., mk.Scene]


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("seconds", ["seconds"]),
        ("props.box.mass", ["props", "box", "mass"]),
        ('knobs."props.box.mass".title', ["knobs", "props.box.mass", "title"]),
        ("knobs.'props.box.mass'.range.0", ["knobs", "props.box.mass", "range", "0"]),
        ('"a.b"', ["a.b"]),
        ("a..b", ["a", "", "b"]),
        ("", [""]),
        # quotes inside a part are letters like others
        ('a.b"c.d', ["a", 'b"c', "d"]),
        ('a."b.c', ["a", '"b', "c"]),
    ],
)
def test_paths_are_split_at_dots_outside_quotes(path: str, parts: list[str]) -> None:
    assert split_path(path) == parts


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("props.box.mass", "Box mass"),
        ("props.box.size.1", "Box size [1]"),
        ("character.height", "Character height"),
        ("control.soft", "Soft"),
        ("control.contact_joints", "Contact joints"),
        ("tasks.hands.max_force", "Hands max force"),
        ("steps.leap.goals.head.path.1.1", "Leap: head path [1][1]"),
        ("steps.leap.tune.head.frequency", "Leap: head frequency"),
        ("steps.leap.when.after", "Leap: after"),
        ("seconds", "Seconds"),
    ],
)
def test_a_knob_without_a_title_is_named_by_its_path(path: str, title: str) -> None:
    assert knob_title(path) == title
    assert knob_title(path, KnobSpec(range=(0.0, 1.0))) == title
    assert knob_title(path, KnobSpec(range=(0.0, 1.0), title="How much")) == "How much"


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_change_from_the_command_line_reaches_quoted_parts(quote: str) -> None:
    path = f"knobs.{quote}props.box.mass{quote}"
    changes = dict(parse_change(c) for c in (f"{path}.range=[2, 5]", f"{path}.title=Weight", f"{path}.unit=g"))
    knob = load_scene("lift", changes).knobs["props.box.mass"]
    assert (knob.range, knob.title, knob.unit) == ((2.0, 5.0), "Weight", "g")
    # a new one
    new = load_scene("lift", dict([parse_change(f"knobs.{quote}props.box.friction{quote}=[0.1, 1.0, '']")])).knobs
    assert new["props.box.friction"].range == (0.1, 1.0)


def test_a_quoted_path_can_make_a_new_knob_and_is_checked(stand: MakeScene) -> None:
    changes = dict([parse_change('knobs."props.ball.friction".range=[0.1, 1.0]')])
    assert stand(**changes).knobs["props.ball.friction"].range == (0.1, 1.0)
    with pytest.raises(SceneError, match=r"knobs.character.clipp: no key is called 'clipp'; did you mean 'clip'\?"):
        stand(**dict([parse_change('knobs."character.clipp".choices=["stand", "rope"]')]))


@pytest.mark.parametrize(
    ("path", "unclosed"),
    [
        ('knobs."props.box.mass".title', False),
        ("knobs.'props.box.mass'.title", False),
        ("steps.it's.timeout", False),
        ('steps."dogs\'".timeout', False),
        ('knobs."props.box.mass', True),
        ('knobs.props.box.mass"', True),
        ("knobs.'props.box.mass", True),
        ("'", True),
        ('"', True),
    ],
)
def test_quotes_without_a_partner_are_found(path: str, unclosed: bool) -> None:
    assert is_unclosed(path) == unclosed


def test_the_short_form_is_a_slider(stand: MakeScene) -> None:
    assert stand(knobs={"props.ball.mass": [1, 2, "kg"]}).knobs["props.ball.mass"] == KnobSpec(range=(1.0, 2.0), unit="kg")


@pytest.mark.parametrize(
    ("path", "knob", "message"),
    [
        ("character.clip", {"range": [0, 1]}, "knobs.character.clip: a range is for a number, and there is none"),
        ("props.ball.mass", {"choices": ["a", "b"]}, "knobs.props.ball.mass: choices are for text, and there is none"),
        ("character.clip", {"choices": ["stand"]}, "knobs.character.clip.choices: given ['stand']: must have at least 2"),
        ("character.clip", {"choices": ["stand", "stand"]}, "knobs.character.clip: choices names 'stand' twice"),
        ("character.clip", {"choices": ["stand", "rope"], "unit": "kg"}, "knobs.character.clip: unit goes with range"),
        ("character.clip", {"title": "Style"}, "knobs.character.clip: a knob needs exactly one of range, choices"),
        ("props.ball.mass", {"range": [0, 1], "choices": ["a", "b"]}, "a knob needs exactly one of range, choices"),
        ("props.ball.mass", {"range": [2, 1]}, "knobs.props.ball.mass: given 2, 1: the second must be greater than the first"),
    ],
)
def test_knobs_that_cannot_be_are_refused(stand: MakeScene, path: str, knob: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        stand(knobs={path: knob})
    assert message in str(caught.value)
