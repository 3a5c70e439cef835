"""A branch of a run shares nothing that changes with it."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from manikin.loop import Run
from manikin.physics.world import Push, World
from manikin.scenes.build import build_run
from manikin.tasks.goals import Braced, Fixed
from manikin.tasks.task import Task


@dataclass
class Mouse:
    """A puller with a memory: it pulls harder the longer it has pulled, and knows its run."""

    run: Run
    strength: float = 4.0
    pulled: int = 0
    seen: list[float] = field(default_factory=list)

    def push(self, world: World) -> Push | None:
        assert world is self.run.world
        self.pulled += 1
        self.seen.append(world.time)
        return Push("thorax", np.array([self.strength + 0.2 * self.pulled, 0.0, 0.0]))


@pytest.fixture
def dragged(stand) -> Run:
    run = build_run(stand(), record=True)
    run.pullers = [Mouse(run)]
    run.advance(20)
    return run


def test_a_branch_goes_exactly_as_the_run_would(dragged):
    ahead = dragged.branch()
    ahead.advance(60)
    dragged.advance(60)
    assert np.array_equal(ahead.world.data.qpos, dragged.world.data.qpos)
    assert np.array_equal(ahead.world.data.qvel, dragged.world.data.qvel)
    assert ahead.pullers[0].seen == dragged.pullers[0].seen


def test_a_branch_and_its_run_do_not_influence_each_other(dragged):
    alone = dragged.branch()
    alone.advance(60)
    ahead = dragged.branch()
    mouse = ahead.pullers[0]
    assert mouse is not dragged.pullers[0]
    assert mouse.run is ahead
    # another drag, another goal, another world
    mouse.strength = 60.0
    ahead.tasks[0].aim_at(Fixed(np.zeros(41)))
    ahead.world.grip_limits["ball"] = 1.0
    ahead.advance(60)
    assert dragged.pullers[0].pulled == 20
    assert dragged.world.grip_limits == {}
    dragged.advance(60)
    assert np.array_equal(alone.world.data.qpos, dragged.world.data.qpos)
    assert not np.array_equal(ahead.world.data.qpos, dragged.world.data.qpos)


def arrays(thing, seen=None) -> Iterator[np.ndarray]:
    """All arrays that an object holds, in attributes, lists and tables."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from arrays(value, seen)
    elif isinstance(thing, list | tuple | set):
        for value in thing:
            yield from arrays(value, seen)
    elif type(thing).__module__.startswith("manikin."):
        for name in vars(thing) if hasattr(thing, "__dict__") else ():
            yield from arrays(getattr(thing, name), seen)


def test_no_array_that_may_change_is_shared(dragged):
    ahead = dragged.branch()
    # what is made once and never written to
    fixed = [dragged.world.tetrahedra, *(t.law.source for t in dragged.tasks if hasattr(t.law, "source"))]
    constant = {id(a) for thing in fixed for a in arrays(thing)}
    mine = {id(a) for a in arrays(dragged) if id(a) not in constant and a.size}
    assert len(mine) > 20
    shared = [a for a in arrays(ahead) if id(a) in mine]
    assert not shared


def test_a_run_with_a_branch_can_be_copied_again(dragged):
    again = dragged.branch().branch()
    again.advance(10)
    assert again.world.steps == dragged.world.steps + 10
    assert copy.copy(again).recorder is None


def test_a_branch_braces_for_its_own_load(stand):
    """The load in a branch may be another than in its run: a goal that a later step gives looks at the branch's."""
    balance = {"measure": "com", "goal": {"of": "feet", "at": [0.0, 0.0]}}
    goal = {"of": "feet", "at": [0.0, 0.0], "brace": {"ball": 0.5}}
    lean = {"name": "lean", "when": {"after": 0.02}, "goals": {"balance": goal}}
    run = build_run(stand(**{"tasks.balance": balance, "steps": [{"name": "wait", "when": "start"}, lean]}))
    run.advance(5)
    ahead = run.branch()

    def balanced(run: Run) -> Task:
        return next(t for t in run.tasks if t.name == "balance")

    ball = run.world.body("ball")
    assert balanced(run).measure.carried[ball] == 1.0
    balanced(ahead).measure.carried[ball] = 25.0
    for each, load in ((ahead, 25.0), (run, 1.0)):
        each.advance(20)
        goal = balanced(each).goal
        assert isinstance(goal, Braced)
        assert goal.fraction == pytest.approx(load / (75.0 + load), rel=1e-6)
