"""Goals and places given by the faces of a prop, and the lift of boxes of many sizes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import manikin as mk
from manikin.errors import SceneError
from manikin.loop import Run
from manikin.physics.attach import palm_gap
from manikin.scenes.build import build_run
from manikin.scenes.faces import extent, face_points
from manikin.scenes.scene import load_scene
from manikin.scenes.scripts import Steps

MakeScene = Callable[..., mk.Scene]
HANDS = ("hand_l", "hand_r")


def test_how_far_shapes_reach() -> None:
    x, y, z = np.eye(3)
    slanted = np.array([0.6, 0.0, 0.8])
    assert extent("box", (0.4, 0.2, 0.6), x) == pytest.approx(0.2)
    assert extent("box", (0.4, 0.2, 0.6), slanted) == pytest.approx(0.6 * 0.2 + 0.8 * 0.3)
    assert extent("sphere", (0.15,), slanted) == pytest.approx(0.15)
    assert [extent("cylinder", (0.1, 0.5), a) for a in (x, y, z)] == pytest.approx([0.1, 0.1, 0.25])
    assert extent("cylinder", (0.1, 0.5), slanted) == pytest.approx(0.6 * 0.1 + 0.8 * 0.25)
    assert extent("capsule", (0.1, 0.5), z) == pytest.approx(0.35)


def test_points_on_faces() -> None:
    points = face_points("box", (0.4, 0.2, 0.6), ("left", "bottom"), 0.01)
    assert np.allclose(points, [[0, 0.11, 0], [0, 0, -0.31]])


@pytest.mark.parametrize(
    ("shape", "size"), [("box", [0.3, 0.2, 0.5]), ("cylinder", [0.1, 0.4]), ("sphere", [0.12]), ("capsule", [0.1, 0.3])]
)
def test_a_prop_ends_where_its_faces_are_said_to_be(stand: MakeScene, shape: str, size: list[float]) -> None:
    """Also when it is turned: measured as the distance of its shape from planes of the world."""
    place = {"back": 1.2, "right": 0.3, "bottom": 0.05}
    thing = {"shape": shape, "size": size, "at": place, "turn": [20.0, 30.0, 40.0]}
    world = build_run(stand(**{"props.thing": thing}), record=False).world
    geom = world.model.geom("thing").id
    rotation, middle = world.data.geom_xmat[geom].reshape(3, 3), world.data.geom_xpos[geom]
    # the surface: many points of the shape, by direction
    rng = np.random.default_rng(0)
    away = rng.normal(size=(20000, 3))
    away /= np.linalg.norm(away, axis=1)[:, None]
    half = world.model.geom_size[geom]
    if shape == "box":
        surface = np.sign(away) * half
    elif shape == "cylinder":
        around = away[:, :2] / np.linalg.norm(away[:, :2], axis=1)[:, None]
        surface = np.column_stack([around * half[0], np.sign(away[:, 2]) * half[1]])
    else:
        surface = away * half[0] + (np.outer(np.sign(away[:, 2]) * half[1], [0, 0, 1]) if shape == "capsule" else 0)
    lowest = (surface @ rotation.T + middle).min(axis=0)
    assert np.allclose(lowest, [1.2, 0.3, 0.05], atol=2e-3)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"props.box.at": {"back": 0.3, "front": 0.5}}, "props.box.at: front and back exclude each other"),
    ({"props.box.at": {"behind": 0.3}}, "props.box.at.behind: unknown key (allowed: x, front, back"),
    ({"props.box.at": {}}, "props.box.at: needs one or more of x, front, back"),
    ({"props.rope": {"shape": "chain", "size": [0.01, 1.0], "at": {"top": 2.0}}}, "props.rope: at: a chain has no faces"),
    ({"tasks.hands.goal": {"face": "left"}}, "tasks.hands.goal: face needs of = a prop"),
    ({"tasks.hands.goal": {"of": "box", "at": [0, 0, 0], "gap": 0.1}}, "tasks.hands.goal: gap goes with face"),
    ({"tasks.hands.goal": {"of": "box", "face": ["lef", "right"]}}, "goal.face.0: given 'lef': not one of the allowed values"),
    ({"tasks.hands.goal": {"of": "box", "face": "left"}}, "tasks.hands.goal.face: needs 2 faces, one for each point"),
    (
        {"tasks.hands.goal": {"of": "bx", "face": ["left", "right"]}},
        "tasks.hands.goal.of: no prop is called 'bx'",
    ),
    ({"tasks.posture.goal": {"of": "box", "face": "left"}}, "tasks.posture.goal.face: is for measures 'point' and 'com'"),
    ({"tasks.hands.goal": {"at": {"back": 0.3}}}, "tasks.hands.goal: at: a table of faces goes with carry"),
    ({"tasks.hands.goal": {"carry": "box", "at": {"back": -1e308}}}, "tasks.hands.goal.at.back: given -1e+308"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_faces_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        build_run(load_scene("lift", changes), record=False)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def gaps(run: Run) -> list[float]:
    return [palm_gap(run.world, hand, "box")[0] for hand in HANDS]


def until(run: Run, step: str) -> Steps:
    """Run until a step has begun, or the script has ended."""
    script = run.script
    assert isinstance(script, Steps)
    while not script.done and step not in script.began and run.world.time < 30:
        run.advance(5)
    return script


# depth, width, height [m] and mass [kg]
_RNG = np.random.default_rng(20061006)
SIZES = [
    (_RNG.uniform([0.2, 0.2, 0.1], [0.5, 0.6, 0.5]).round(3).tolist(), round(float(_RNG.uniform(2, 20)), 1)) for _ in range(3)
]


@pytest.mark.parametrize(("size", "mass"), SIZES)
def test_palms_come_to_the_faces_of_any_box(size: list[float], mass: float) -> None:
    run = build_run(load_scene("lift", {"props.box.size": size, "props.box.mass": mass}), record=False)
    script = until(run, "lift")
    at_grasp = gaps(run)
    assert max(at_grasp) < 0.01
    assert min(at_grasp) > -0.005
    until(run, "lower")
    assert script.failed is None
    assert run.world.data.body("box").xpos[2] > 1.0
    assert max(gaps(run)) < 0.01
    assert min(gaps(run)) > -0.005


@pytest.mark.parametrize("width", [0.6, 0.8])
def test_the_widest_boxes_are_lifted_and_set_down(width: float) -> None:
    report = mk.run(load_scene("lift", {"props.box.size.1": width})).report
    assert report["ok"], report["reason"]


def test_a_box_that_is_out_of_reach_is_refused_in_words() -> None:
    report = mk.run(load_scene("lift", {"props.box.size": [0.6, 0.9, 0.6]})).report
    assert not report["ok"]
    assert "task 'hands' is 0." in report["reason"]


@pytest.mark.parametrize(
    ("goal", "says"), [({"gap": 0.02}, "off the surface of it"), ({"at": [[0, -0.03, 0], [0, 0.03, 0]]}, "deep in it")]
)
def test_a_box_held_from_a_distance_or_from_within_is_not_ok(goal: dict[str, Any], says: str) -> None:
    goal = {"of": "box", "face": ["left", "right"], "gap": 0.004} | goal
    run = build_run(load_scene("lift", {"steps.touch.goals.hands": goal}), record=False)
    script = until(run, "lift")
    assert "lift" in script.began
    assert script.failed is not None
    assert "hand_l took 'box' at" in script.failed
    assert says in script.failed
