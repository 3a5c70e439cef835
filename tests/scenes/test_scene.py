"""The scene file: what it allows, what it refuses and how it says so."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import manikin as mk
from manikin.errors import InputError, SceneError
from manikin.scenes.build import scene_text
from manikin.scenes.scene import load_scene, parse_change, parse_scene, shipped

MakeScene = Callable[..., mk.Scene]


@pytest.mark.parametrize("name", shipped())
def test_shipped_scenes_load_and_all_their_knobs_change_them(name: str) -> None:
    scene = load_scene(name)
    assert scene.name == name
    assert scene.description
    assert scene.document
    for path, knob in scene.knobs.items():
        assert knob.title
        assert knob.unit or knob.choices
        low, high = knob.choices[:2] if knob.choices else knob.range
        assert load_scene(name, {path: low}) != load_scene(name, {path: high})


@pytest.mark.parametrize("name", shipped())
def test_text_and_back(name: str) -> None:
    scene = load_scene(name, {"seconds": 4})
    assert parse_scene(tomllib.loads(scene_text(scene)), "text") == scene


def test_text_and_back_of_all_kinds_of_keys(stand: MakeScene) -> None:
    scene = stand(
        **{
            "props.ball.colour": [0.1, 0.2, 0.3],
            "tasks.hands": {"measure": "point", "of": ["hand_l"], "goal": {"path": [[0, 0, 0, 1], [1, 0, 0, 1.5]]}},
            "tasks.pose": {"measure": "posture", "goal": {"clip": "stand", "frame": 0}, "active": False},
            "steps": [
                {"name": "a", "when": "start", "goals": {"hands": [0.3, 0, 1]}, "timeout": 1.0, "otherwise": "b"},
                {"name": "b", "when": {"task": "hands", "within": 0.1}, "tune": {"hands": {"frequency": 2.0}}},
            ],
            "knobs": {"props.ball.mass": [1, 2, "kg"]},
        }
    )
    assert parse_scene(tomllib.loads(scene_text(scene)), "text") == scene


def test_a_scene_is_frozen(stand: MakeScene) -> None:
    scene = stand()
    with pytest.raises(ValidationError):
        scene.seconds = 3.0
    with pytest.raises(ValidationError):
        scene.props["ball"].mass = 3.0
    assert hash(scene.props["ball"].size) == hash((0.1,))


# changes: what the message must hold
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"props.ball.mas": 2}, "props.ball.mas: unknown key; did you mean 'mass'?"),
    ({"character.hight": 2}, "character.hight: unknown key; did you mean 'height'?"),
    ({"tasks.posture.goal": {"clp": "stand"}}, "tasks.posture.goal.clp: unknown key; did you mean 'clip'?"),
    ({"steps": [{"name": "a", "wehn": "start"}]}, "steps.0.wehn: unknown key; did you mean 'when'?"),
    ({"steps": [{"name": "a", "when": {"within": 1.0, "tsk": "x"}}]}, "steps.0.when.tsk: unknown key; did you mean 'task'?"),
    ({"steps": [{"name": "a", "when": "stat"}]}, "did you mean 'start'?"),
    ({"steps": [{"when": "start"}]}, "steps.0.name: is missing"),
    ({"name": "two words"}, "name: given 'two words'"),
    ({"seconds": "5"}, "seconds: given '5': input should be a valid number"),
    ({"seconds": True}, "seconds: given true"),
    ({"seconds": float("inf")}, "seconds: given inf: input should be a finite number"),
    ({"seed": 1.0}, "seed: given 1.0: input should be a valid integer"),
    ({"seed": -1}, "seed: given -1"),
    ({"timestep": 0.0}, "timestep: given 0.0"),
    ({"controller": "prioritised"}, "controller: given 'prioritised': not one of the allowed values; did you"),
    ({"props.ball.fixed": "no"}, "props.ball.fixed: given 'no': input should be a valid boolean"),
    ({"props.ball.mass": -1.0}, "props.ball.mass: given -1.0: input should be greater than 0"),
    ({"props.ball.mass": float("nan")}, "props.ball.mass: given nan: input should be a finite number"),
    ({"props.ball.at": [0, 0]}, "props.ball.at.2: is missing"),
    ({"props.ball.at": [0, float("nan"), 0]}, "props.ball.at.1: given nan"),
    ({"props.ball.size": [0.1, 0.2]}, "props.ball: a sphere needs 1 numbers in size, 2 were given"),
    ({"props.ball.shape": "spere"}, "props.ball.shape: given 'spere': not one of the allowed values; did you mean 'sphere'?"),
    ({"character.height": 0.2}, "character.height: given 0.2: input should be greater than or equal to 1.2"),
    ({"character.mass": 1000}, "character.mass: given 1000"),
    ({"character.strength": 0}, "character.strength: given 0"),
    ({"character.locked": ["shank_l_flex"]}, "character.locked: no joint is called 'shank_l_flex'; did you mean"),
    ({"characters.a": {}}, "a scene needs [character], or [characters.<name>] for several"),
    ({"character": 3}, "character: given 3"),
    ({"tasks.x": {"measure": "point"}}, "tasks.x: measure 'point' needs of = sites or bodies"),
    ({"tasks.posture.max_force": 10.0}, "tasks.posture: max_force [N] is for measures 'point' and 'com'"),
    ({"tasks.x": {"measure": "com", "law": "nearest"}}, "tasks.x: law 'nearest' is for measure 'posture'"),
    ({"tasks.posture.goal": {}}, "tasks.posture.goal: a goal needs exactly one of at, path, spline, hold, clip"),
    ({"tasks.posture.goal": {"clip": "stand", "of": "ball"}}, "tasks.posture.goal: of and carry go with at"),
    ({"tasks.posture.goal": ["far"]}, "tasks.posture.goal.at.0: given 'far'"),
    ({"steps": [{"name": "a", "when": {"task": "posture"}}]}, "steps.0.when: task and within go together"),
    ({"facts.a": {"since": "x"}}, "facts.a: a fact needs since and until (steps), or task"),
    ({"knobs.a": [0, 1]}, "knobs.a: needs [lowest, highest, unit], 2 were given; or { range = [...], unit, title }"),
    ({"props.rope": {"shape": "chain", "size": [0.01, 1.0]}}, "props.rope.at: is missing (only props joined to a hand"),
    ({"props.ball.at": None}, "props.ball.at: is missing"),
    ({"props.ball.links": 4}, "props.ball: links are for a chain, not for a sphere"),
    ({"props.ball.damping": 0.1}, "props.ball: damping is for a chain, a pendulum or a seesaw, not for a sphere"),
    ({"props.a": {"shape": "chain", "size": [0.01]}}, "props.a: a chain needs 2 numbers in size, 1 were given"),
    ({"props.a": {"shape": "chain", "size": [0.01, 1.0], "links": 1, "at": [0, 0, 1]}}, "props.a.links: given 1"),
    ({"props.a": {"shape": "pendulum", "size": [0.3, 0.2], "at": [0, 0, 1]}}, "a pendulum must be longer than its bob's"),
    ({"tasks.x": {"measure": "com", "feed": True}}, "tasks.x: feed is for law 'nearest'"),
    ({"tugs.a": {"body": "ball", "path": [[0, 1, 1, 1]]}}, "tugs.a: path needs two or more rows [time, fx, fy, fz]"),
    ({"tugs.a": {"body": "ball", "path": [[0, 1, 1, 1], [0, 1, 1, 1]]}}, "tugs.a: path needs two or more rows"),
    ({"tugs.a": {"body": "ball", "path": [[0, 1, 1], [1, 1, 1, 1]]}}, "tugs.a.path.0.3: is missing"),
    ({"tugs.a": {"path": [[0, 1, 1, 1], [1, 1, 1, 1]]}}, "tugs.a.body: is missing"),
    ({"tugs.a": {"bdy": "ball"}}, "tugs.a.bdy: unknown key; did you mean 'body'?"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_is_wrong_is_said_with_its_path(stand: MakeScene, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        stand(**changes)
    assert str(caught.value).startswith("stand.toml: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# --- changes from the command line


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("props.box.mass=15", ("props.box.mass", 15)),
        (" seconds = 2.5", ("seconds", 2.5)),
        ("character.clip=lift_back", ("character.clip", "lift_back")),
        ("character.clip='a=b'", ("character.clip", "a=b")),
        ("a.b=[1, [2, 3]]", ("a.b", [1, [2, 3]])),
        ("a=true", ("a", True)),
    ],
)
def test_changes_are_toml_or_plain_words(text: str, change: tuple[str, object]) -> None:
    assert parse_change(text) == change


@given(st.text("ab.=[]'\"1 \n\\", max_size=9))
def test_any_words_are_a_change_or_an_error(text: str) -> None:
    if "=" in text and text.partition("=")[0].strip():
        assert parse_change(text)[0] == text.partition("=")[0].strip()
    else:
        with pytest.raises(InputError, match="path=value"):
            parse_change(text)


def test_changes_reach_lists_by_number_and_by_name() -> None:
    scene = load_scene("lift", {"steps.lift.timeout": 2.0, "steps.0.timeout": 1.0, "props.box.size.2": 0.2})
    by_name = {s.name: s for s in scene.steps}
    assert by_name["lift"].timeout == 2.0
    assert scene.steps[0].timeout == 1.0
    assert scene.props["box"].size == (0.4, 0.3, 0.2)
    with pytest.raises(SceneError, match=r"steps\.99\.timeout: no entry '99'"):
        load_scene("lift", {"steps.99.timeout": 1.0})
    with pytest.raises(SceneError, match="plain value"):
        load_scene("lift", {"props.box.mass.a.b": 1.0})


def test_a_change_may_add_a_table(stand: MakeScene) -> None:
    scene = stand(**{"props.cube.shape": "box", "props.cube.size": [1, 1, 1], "props.cube.at": [3, 0, 0.5]})
    assert set(scene.props) == {"ball", "cube"}


def test_files_are_found_by_path_and_names_first(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n[character]\n')
    assert load_scene(file).name == "mine"
    assert load_scene(str(file), {"seconds": 2}).seconds == 2.0
    file.write_text("name = ")
    with pytest.raises(SceneError, match=r"mine\.toml: not TOML"):
        load_scene(file)
