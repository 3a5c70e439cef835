"""Scripts: steps in order, conditions, timeouts and fallbacks. No physics: a clock and tasks that only remember."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from manikin.scenes.schema_tasks import StepSpec
from manikin.scenes.scripts import Step, Steps, why_stuck


class Law:
    restarts = 0
    frequency = 1.0

    def restart(self) -> None:
        self.restarts += 1


@dataclass
class FakeTask:
    name: str = "hands"
    error: float = 1.0
    active: bool = True
    max_force: float | None = None
    at_limit: bool = False
    goal: Any = None
    measure: str = "what it measures"
    law: Law = field(default_factory=Law)

    def aim_at(self, goal: Any) -> None:
        self.goal, self.active = goal, True


@dataclass
class Stage:
    """A script, one task, and a clock to turn."""

    script: Steps
    task: FakeTask = field(default_factory=FakeTask)
    other: FakeTask = field(default_factory=lambda: FakeTask("look", active=False))

    def at(self, time: float, error: float | None = None) -> list[str]:
        if error is not None:
            self.task.error = error
        self.world = SimpleNamespace(time=time, model=None, obstructions={})
        return self.script.update(self.world, [self.task, self.other])  # type: ignore[arg-type,list-item]


def stage(*steps: dict[str, Any], goals: dict[str, Any] | None = None, tune: dict[str, Any] | None = None) -> Stage:
    """The last step gets the goals and settings."""
    specs = [StepSpec.model_validate(s) for s in steps]
    made = [Step(spec, {}, {}) for spec in specs[:-1]]
    return Stage(Steps((*made, Step(specs[-1], goals or {}, tune or {}))))


def test_steps_begin_in_order_when_due() -> None:
    s = stage(
        {"name": "a", "when": "start"},
        {"name": "b", "when": {"after": 0.5}},
        {"name": "c", "when": {"task": "hands", "within": 0.1}},
        {"name": "d", "when": {"task": "hands", "within": 0.1, "after": 1.0}, "end": True},
    )
    assert s.at(0.0) == ["a"]
    assert s.at(0.4) == []
    assert s.at(0.5) == ["b"]
    assert s.at(3.0, error=0.11) == []
    assert s.at(3.1, error=0.10) == ["c"]
    # both conditions count: close enough, but too early
    assert s.at(4.0, error=0.0) == []
    assert not s.script.done
    assert s.at(4.2) == ["d"]
    assert s.script.done
    assert s.script.finished
    assert s.at(9.0) == []
    assert s.script.began == ["a", "b", "c", "d"]


def test_steps_without_conditions_begin_together() -> None:
    s = stage({"name": "a", "when": "start"}, {"name": "b"}, {"name": "c", "when": {"after": 1.0}})
    assert s.at(0.0) == ["a", "b"]


def test_what_a_step_changes() -> None:
    s = stage(
        {"name": "a", "when": "start"},
        {"name": "b", "when": {"after": 1.0}, "off": ["hands"], "on": ["look"]},
        {"name": "c", "when": {"after": 1.0}},
        goals={"hands": lambda world, measure: ("goal made at", world.time, measure)},
        tune={"hands": {"frequency": 3.0, "max_force": 50.0}},
    )
    s.at(0.0)
    s.at(1.0)
    assert not s.task.active
    assert s.other.active
    assert s.other.law.restarts == 1
    s.task.error = 0.0
    s.at(2.5)
    assert s.task.goal == ("goal made at", 2.5, s.task.measure)
    assert s.task.active
    assert (s.task.law.frequency, s.task.max_force) == (3.0, 50.0)
    # the error of the old goal says nothing about the new one
    assert s.task.error == float("inf")


def heavy() -> Stage:
    return stage(
        {"name": "lift", "when": "start", "timeout": 2.0, "otherwise": "give_up"},
        {"name": "top", "when": {"task": "hands", "within": 0.1}},
        {"name": "give_up", "fallback": True},
        {"name": "gave_up", "fallback": True, "when": {"after": 1.0}, "end": True},
    )


def test_fallbacks_are_skipped_when_all_goes_well() -> None:
    s = heavy()
    assert s.at(0.0) == ["lift"]
    assert s.at(2.0, error=0.05) == ["top"]
    assert s.at(9.0) == []
    assert s.script.finished
    assert s.script.failed is None


def test_back_to_an_earlier_step_is_another_try() -> None:
    s = stage(
        {"name": "ready", "when": "start"},
        {"name": "swing", "when": {"after": 1.0}, "timeout": 2.0, "otherwise": "ready"},
        {"name": "hit", "when": {"task": "hands", "within": 0.1}, "end": True},
    )
    s.at(0.0)
    assert s.at(1.0) == ["swing"]
    assert s.at(3.1, error=0.5) == ["ready"]
    assert s.script.failed is None
    assert s.at(4.2) == ["swing"]
    assert s.at(5.0, error=0.05) == ["hit"]
    assert s.script.finished
    assert s.script.failed is None
    assert s.script.began == ["ready", "swing", "ready", "swing", "hit"]


def test_a_timeout_jumps_to_the_fallback_and_says_why() -> None:
    s = heavy()
    s.task.max_force, s.task.at_limit = 400.0, True
    s.at(0.0)
    assert s.at(2.0) == []
    assert s.at(2.1, error=0.5) == ["give_up"]
    assert not s.script.done
    assert s.at(3.2) == ["gave_up"]
    assert s.script.done
    assert not s.script.finished
    assert s.script.failed is not None
    assert "step 'lift' did not lead to 'top' by 2.10 s" in s.script.failed
    assert "task 'hands' is 0.50 from its goal (needs 0.1)" in s.script.failed
    assert "its force limit of 400 N" in s.script.failed


@pytest.mark.parametrize(
    ("within", "error", "says"),
    [
        (0.1, 0.5, "0.50 from its goal (needs 0.1)"),
        (0.03, 0.0304, "0.0304 from its goal (needs 0.03)"),
        (0.1, 0.10000004, "0.10000004 from its goal (needs 0.1)"),
        # rounding up is enough to show that it is more
        (0.032, 0.0399, "0.04 from its goal (needs 0.032)"),
        (0.006, 0.0061, "0.01 from its goal (needs 0.006)"),
    ],
)
def test_a_distance_has_the_digits_that_show_it_is_too_far(within: float, error: float, says: str) -> None:
    s = stage({"name": "a", "when": "start", "timeout": 1.0}, {"name": "b", "when": {"task": "hands", "within": within}})
    s.at(0.0)
    s.at(1.1, error=error)
    assert s.script.failed == f"step 'a' did not lead to 'b' by 1.10 s: task 'hands' is {says}"


def test_without_a_fallback_a_timeout_ends_the_run() -> None:
    s = stage({"name": "a", "when": "start", "timeout": 1.0}, {"name": "b", "when": {"after": 5.0}})
    s.at(0.0)
    s.at(1.1)
    assert s.script.done
    assert s.script.failed == "step 'a' did not lead to 'b' by 1.10 s"


@pytest.mark.parametrize("steps", [[], [{"name": "a", "when": "start"}]])
def test_nothing_left_to_do_is_no_failure(steps: list[dict[str, Any]]) -> None:
    script = Steps(tuple(Step(StepSpec.model_validate(s), {}, {}) for s in steps))
    s = Stage(script)
    s.at(0.0)
    assert script.finished
    assert why_stuck(s.world, [], script) == ""  # type: ignore[arg-type]
