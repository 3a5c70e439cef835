"""A take saved as a scene: what was dragged and pinned by hand runs again as a script, to the same motion."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from creatures import lamp, starfish

import manikin as mk
from manikin.errors import InputError
from manikin.scenes.build import scene_text
from manikin.scenes.scene import Scene, load_scene, parse_text
from manikin.spatial import quat_from_axis_angle
from manikin.studio import messages as m
from manikin.studio.journal import Journal, Past
from manikin.studio.live import Live
from manikin.studio.saved import Episode, scene_text_of
from manikin.studio.takes import TakeFolder


class Taken:
    """A take that is made by hand."""

    def __init__(self, folder: TakeFolder, scene: Scene) -> None:
        self.folder = folder
        self.live = Live(scene, partial(Journal, path=folder.file("one")))

    def give(self, *messages: Any) -> None:
        for message in messages:
            self.live.give(message)

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.live.step()

    def place(self, body: str, way: tuple[float, float, float]) -> tuple[float, ...]:
        return tuple((self.live.world.data.xpos[self.live.world.body(body)] + way).tolist())

    def sweep(self, body: str, way: tuple[float, float, float], count: int, every: int) -> None:
        """A pointer that moves evenly, with a message every few steps."""
        start = np.array(self.place(body, (0.0, 0.0, 0.0)))
        for k in range(count):
            if k % every == 0:
                self.give(m.Drag(tuple((start + np.array(way) * k / count).tolist())))
            self.steps(1)

    def past(self) -> Past:
        journal = self.live.run.recorder
        assert isinstance(journal, Journal)
        journal.close(True, "", {})
        return Past(self.folder.known("one"))


def assert_same(past: Past, text: str) -> Any:
    """The saved scene, read from its text alone, moves as the take did, bit by bit."""
    scene = parse_text(text, "saved.toml")
    assert max(len(line) for line in text.splitlines()) < 400
    again, first = mk.run(scene).recording, past.recording()
    assert again.meta["ok"], again.meta["reason"]
    assert again.qpos.shape == first.qpos.shape
    assert np.array_equal(again.qpos, first.qpos), np.abs(again.qpos - first.qpos).max()
    assert np.array_equal(again.ctrl, first.ctrl)
    return scene


def test_a_hop_with_pins_and_settings_is_replayed_bit_by_bit(folder: TakeFolder) -> None:
    take = Taken(folder, lamp())
    take.steps(53)
    take.give(m.Pin("foot", "turn", "lift_off", True, "touch_down"), m.Pin("head", "angle"), m.Rank("posture", 3))
    take.give(m.Grab("head", "task", (0.01, 0.0, 0.02)))
    take.sweep("head", (-0.02, 0.0, -0.14), 301, 7)
    take.steps(99)
    take.sweep("head", (0.02, 0.0, 0.7), 120, 8)
    take.give(m.Release(), m.Knob("control.formulation", 1.0), m.Knob("control.compliant", 0.0))
    take.give(m.Switch("studio_pin_1", False))
    take.steps(403)
    foot = take.live.board.pins[0]
    assert foot.fired is not None
    assert foot.ended is not None
    take.give(m.Grab("foot", "com"), m.Knob("control.formulation", 0.0), m.Switch("posture", False))
    take.give(m.Drag(take.place("foot", (0.02, 0.0, 0.2))))
    take.steps(150)
    take.give(m.Release(), m.Switch("posture", True), m.Switch("studio_pin_1", True))
    take.steps(77)
    past = take.past()
    scene = assert_same(past, scene_text_of(past))
    assert {"drag_1", "lean_1", "pin_0_1", "pin_1_1", "pin_1_2"} <= set(scene.tasks)
    assert scene.tasks["pin_1_1"].of == ("head_yaw", "head_pitch")


def test_turns_and_a_script_are_replayed_too(folder: TakeFolder) -> None:
    script = """
steps = [
  { name = "down", when = { after = 0.1 }, goals.pin = [0.0, 0.0, 0.0] },
  { name = "still", when = { after = 0.123 , still = 0.05 }, off = ["pin"], tune.posture = { frequency = 2.0 } },
  { name = "quick", when = { after = 0.05 }, formulation = "velocity", end = true },
]
knobs = { "tasks.posture.frequency" = [0.5, 5.0, "Hz, or so"] }
"""
    take = Taken(folder, lamp(script))
    take.steps(41)
    take.give(m.Grab("head", "task"))
    take.give(m.Drag(take.place("head", (0.0, 0.0, -0.03))))
    take.steps(150)
    turn = tuple(quat_from_axis_angle((0.0, 0.0, 1.0), 0.2).tolist())
    take.give(m.Drag(take.place("head", (0.02, 0.02, 0.0)), turn), m.Knob("tasks.posture.frequency", 3.0))
    take.steps(301)
    take.give(m.Release())
    # the script stood still meanwhile
    assert take.live.step_name() == ""
    take.steps(1200)
    past = take.past()
    names = [name for _, name in past.ticks]
    assert names == ["down", "still", "quick"]
    scene = assert_same(past, scene_text_of(past))
    (knob,) = scene.knobs.items()
    assert (knob[0], knob[1].range, knob[1].unit) == ("tasks.posture.frequency", (0.5, 5.0), "Hz, or so")
    assert "turn_1" in scene.tasks
    assert {"down", "still", "quick"} <= {s.name for s in scene.steps}


def test_the_goal_of_a_task_of_the_scene_is_dragged_and_saved(folder: TakeFolder) -> None:
    table = """
[tasks.nod]
measure = "point"
of = "head"
frequency = 2.0
smoothing = 0.02
priority = 1
goal = { at = [0.0, 0.0, -0.03], relative = true }
"""
    scene = parse_text(scene_text(lamp()) + table, "nodding")
    take = Taken(folder, scene)
    take.steps(62)
    take.give(m.Grab("head", "task", (0.0, 0.0, 0.03)))
    assert take.live.grip is not None
    assert take.live.grip.task == "nod"
    take.sweep("head", (0.03, 0.0, -0.03), 150, 9)
    take.give(m.Release())
    take.steps(150)
    past = take.past()
    saved = assert_same(past, scene_text_of(past))
    assert set(saved.tasks) == set(scene.tasks), "no other task is needed"


def test_flesh_is_replayed_as_exactly(folder: TakeFolder) -> None:
    take = Taken(folder, starfish())
    take.steps(11)
    take.give(m.Pin("tip_1", "angle"), m.Grab("arm_0", "task"))
    take.sweep("arm_0", (0.0, 0.0, 0.1), 50, 3)
    take.give(m.Release())
    take.steps(9)
    past = take.past()
    assert_same(past, scene_text_of(past))


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (m.Grab("head", "push"), "'head' was pushed"),
        (m.Assist(10.0), "assisted"),
    ],
)
def test_what_a_script_cannot_say_is_refused(folder: TakeFolder, message: Any, says: str) -> None:
    take = Taken(folder, lamp())
    take.give(message)
    take.steps(3)
    with pytest.raises(InputError, match=says):
        scene_text_of(take.past())


def test_what_would_not_do_the_same_is_refused(folder: TakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Taken(folder, lamp())
    take.give(m.Grab("head", "task"))
    take.give(m.Drag(take.place("head", (0.0, 0.0, -0.05))))
    take.steps(100)
    past = take.past()

    def forget(self: Episode, seconds: float, value: Any) -> None:
        self.rows[:] = [[0.0, 0.0, 0.0, 0.1]]

    monkeypatch.setattr(Episode, "hold", forget)
    with pytest.raises(InputError, match="the written scene differs by"):
        scene_text_of(past)


def test_a_human_is_refused(folder: TakeFolder) -> None:
    take = Taken(folder, load_scene("stand"))
    take.steps(3)
    with pytest.raises(InputError, match="direct control"):
        scene_text_of(take.past())


def test_of_two_creatures_each_is_led_by_its_own_name(folder: TakeFolder) -> None:
    text = """
name = "two"
controller = "direct"
timestep = 0.001
[control]
rate = 200
[characters.left]
model = "lamp"
at = [0.0, 0.6]
[characters.right]
model = "lamp"
at = [0.0, -0.6]
[tasks.calm]
measure = "posture"
law = "hold"
priority = 2
character = "left"
"""
    take = Taken(folder, parse_text(text, "two"))
    take.steps(23)
    take.give(m.Pin("left/foot", "turn"), m.Pin("right/upper", "angle"), m.Grab("right/head", "task"))
    take.sweep("right/head", (0.0, 0.0, -0.05), 60, 7)
    take.give(m.Grab("left/foot", "com"))
    take.give(m.Drag(take.place("left/foot", (0.0, 0.0, 0.2))))
    take.steps(80)
    past = take.past()
    scene = assert_same(past, scene_text_of(past))
    assert {n: t.character for n, t in scene.tasks.items()} == {
        "calm": "left", "drag_1": "right", "lean_1": "left", "pin_0_1": "left", "pin_1_1": "right",
    }  # fmt: skip
