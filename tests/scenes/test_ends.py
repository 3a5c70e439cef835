"""How a run ends, and what its report warns of."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import manikin as mk
from manikin.scenes.build import scene_text

MakeScene = Callable[..., mk.Scene]

START = {"name": "a", "when": "start"}
END = {"name": "b", "when": {"after": 0.1}, "end": True}
LOOK = {"measure": "look", "priority": 1, "goal": [2.0, 0.0, 1.0]}
NO_EFFECT = "task 'gaze' has no effect: task 'posture' has a higher priority and leaves no joint free"


def test_a_run_ends_when_its_script_is_done(stand: MakeScene) -> None:
    take = mk.run(stand(steps=[START, END], seconds=5.0))
    assert take.report["ok"]
    assert take.report["seconds"] == pytest.approx(0.1, abs=0.004)
    assert len(take.recording.ctrl) == pytest.approx(50, abs=2)


def test_seconds_are_the_most_that_a_run_takes(stand: MakeScene) -> None:
    # without a last step that says so, nothing is done
    for steps in ([], [START], [START, END | {"end": False}]):
        assert mk.run(stand(steps=steps, seconds=0.2)).report["seconds"] == pytest.approx(0.2)
    report = mk.run(stand(steps=[START, END], seconds=0.06)).report
    assert report["seconds"] == pytest.approx(0.06)
    assert (report["ok"], report["reason"]) == (False, "step 'a' did not lead to 'b' by 0.06 s")


def test_seconds_given_to_run_are_a_limit_too(stand: MakeScene) -> None:
    scene = stand(steps=[START, END])
    assert mk.run(scene, seconds=0.06).report["seconds"] == pytest.approx(0.06)
    assert mk.run(scene, seconds=3.0).report["seconds"] == pytest.approx(0.1, abs=0.004)


@pytest.mark.parametrize(
    ("changes", "warns"),
    [
        ({"tasks.gaze": LOOK}, True),
        ({"tasks.gaze": LOOK | {"priority": 0}}, False),
        ({"tasks.gaze": LOOK, "tasks.posture.priority": 2}, False),
        ({"tasks.gaze": LOOK, "tasks.posture.of": ["shank_l_flexion"]}, False),
    ],
)
def test_tasks_without_effect_are_named_by_the_report_and_by_check(
    command: Callable[..., Any], tmp_path: Any, stand: MakeScene, changes: dict[str, Any], warns: bool
) -> None:
    scene = stand(**changes, seconds=0.02)
    (tmp_path / "mine.toml").write_text(scene_text(scene), encoding="utf-8")
    expected = [NO_EFFECT] if warns else None
    for words in (("run", "mine.toml", "--json"), ("check", "mine.toml", "--json")):
        outcome = command(*words)
        assert outcome.code == 0
        assert json.loads(outcome.out.splitlines()[-1]).get("warnings") == expected
    assert mk.run(scene).report.get("warnings") == expected


def test_check_names_no_task_that_a_step_may_set_free(stand: MakeScene) -> None:
    from manikin.scenes.build import build_run, without_effect

    def found(**changes: Any) -> list[str]:
        scene = stand(**{"tasks.gaze": LOOK}, **changes)
        run = build_run(scene, record=False)
        return without_effect(scene, run.tasks, int(run.world.model.nu))

    assert found() == [NO_EFFECT]
    assert found(steps=[START]) == [NO_EFFECT]
    assert found(steps=[START | {"off": ["posture"]}]) == []
    assert found(steps=[START | {"tune": {"posture": {"priority": 3}}}]) == []
    assert found(steps=[START | {"tune": {"gaze": {"priority": 0}}}]) == []
