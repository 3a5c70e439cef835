"""Values that are drawn with the seed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import manikin as mk
from manikin.errors import SceneError
from manikin.scenes.build import scene_text
from manikin.scenes.scene import parse_scene, parse_text

MakeScene = Callable[..., mk.Scene]
RANDOM = {"props.ball.mass": [0.5, 1.5], "props.ball.at.0": [2.0, 3.0], "character.height": [1.6, 1.9]}


def test_values_follow_the_seed(stand: MakeScene) -> None:
    scenes = [stand(random=RANDOM, seed=seed) for seed in (0, 0, 1)]
    assert scenes[0] == scenes[1]
    assert scenes[0].drawn != scenes[2].drawn
    for scene in scenes:
        assert list(scene.drawn) == list(RANDOM)
        for path, (low, high) in RANDOM.items():
            assert low <= scene.drawn[path] <= high
    assert scenes[0].props["ball"].mass == scenes[0].drawn["props.ball.mass"]
    assert scenes[0].character is not None
    assert scenes[0].character.height == scenes[0].drawn["character.height"]


def test_a_value_depends_on_its_own_path_alone(stand: MakeScene) -> None:
    alone = stand(random={"props.ball.mass": [0.5, 1.5]}, seed=3).drawn
    assert alone["props.ball.mass"] == stand(random=RANDOM, seed=3).drawn["props.ball.mass"]


def test_values_spread_over_their_range(stand: MakeScene) -> None:
    masses = sorted(stand(random=RANDOM, seed=seed).drawn["props.ball.mass"] for seed in range(200))
    assert masses[0] < 0.52
    assert masses[-1] > 1.48
    assert 0.93 < sum(masses) / 200 < 1.07


def test_what_is_set_is_not_drawn(stand: MakeScene) -> None:
    scene = stand(random=RANDOM)
    changed = parse_scene(scene.model_dump(exclude_defaults=True), "x", {"props.ball.mass": 9.0})
    assert changed.props["ball"].mass == 9.0
    assert "props.ball.mass" not in changed.drawn
    assert changed.drawn["character.height"] == scene.drawn["character.height"]


def test_the_recorded_text_gives_the_same_values(stand: MakeScene) -> None:
    scene = stand(random=RANDOM, seed=5)
    assert parse_text(scene_text(scene), "text") == scene


def test_the_report_and_the_recording_have_them(stand: MakeScene) -> None:
    take = mk.run(stand(random=RANDOM), seconds=0.02, seed=4)
    drawn = stand(random=RANDOM, seed=4).drawn
    assert take.report["seed"] == 4
    assert take.report["drawn"] == take.recording.meta["drawn"] == drawn
    assert "drawn" not in mk.run(stand(), seconds=0.02).report


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"random": {"props.ball.mas": [1, 2]}}, "random.props.ball.mas: no key is called 'mas'; did you mean 'mass'?"),
    ({"random": {"props.ball.shape": [1, 2]}}, "random.props.ball.shape: given 'sphere': only real-valued keys can be drawn"),
    ({"random": {"seed": [1, 2]}}, "random.seed: given 0: only real-valued keys can be drawn"),
    ({"random": {"props.ball.mass": [2, 1]}}, "random.props.ball.mass: given 2, 1: the second must be greater than the first"),
    ({"random": {"props.ball.mass": [-1, 1]}}, "props.ball.mass: given -1.0: input should be greater than 0"),
    ({"random": {"props.ball.mass": 1}}, "random.props.ball.mass: given 1: must be a list [...]"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_cannot_be_drawn_is_refused(stand: MakeScene, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        stand(**changes)
    assert message in str(caught.value)


def test_a_seed_without_anything_random_is_refused(stand: MakeScene, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"stand\.toml: seed: given 7: nothing in this scene is random"):
        mk.run("stand", seed=7)
    # a file that has one still loads
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nseed = 3\n[character]\n')
    assert mk.load_scene(file).seed == 3
