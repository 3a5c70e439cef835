"""Pins, armed constraints and priorities of creatures under direct control, without a page."""

import time
from functools import partial
from typing import Any

import mujoco
import numpy as np
import pytest
from creatures import lamp, previewed, starfish
from raw_client import Heard

from manikin.errors import InputError
from manikin.scenes.scene import load_scene
from manikin.studio import messages as m
from manikin.studio.journal import Journal, Past
from manikin.studio.live import Live, run_again, with_values
from manikin.studio.names import SLOTS
from manikin.studio.preview import look_ahead
from manikin.studio.session import Session
from manikin.studio.takes import TakeFolder
from manikin.studio.why import Explainer


def steps(live: Live, count: int) -> None:
    for _ in range(count):
        live.step()


def drag_by(live: Live, name: str, way: tuple[float, float, float]) -> None:
    goal = live.world.data.xpos[live.world.body(name)] + way
    live.give(m.Grab(name, "task"))
    live.give(m.Drag(tuple(goal.tolist())))


def turned(live: Live, name: str, first: np.ndarray) -> float:
    """By how much a body has turned since [rad]."""
    away = np.zeros(3)
    mujoco.mju_subQuat(away, live.world.data.xquat[live.world.body(name)], first)
    return float(np.linalg.norm(away))


def flying(**more: Any) -> Live:
    return Live(with_values(lamp(), {"character.above": 1.0} | more))


def hop(live: Live) -> None:
    """Crouch, then throw the head up and let go: the lamp leaves the ground."""
    drag_by(live, "head", (-0.02, 0.0, -0.14))
    steps(live, 500)
    drag_by(live, "head", (0.02, 0.0, 0.7))
    for _ in range(400):
        live.step()
        if not live.controller.skeletons[0].touches(live.world):  # type: ignore[union-attr]
            break
    live.give(m.Release())


def test_a_pinned_orientation_comes_before_the_drag() -> None:
    most = []
    for pinned in (False, True):
        live = flying()
        if pinned:
            live.give(m.Pin("foot", "turn"))
            (pin,) = live.board.message().pins
            assert (pin.target, pin.what, pin.priority, pin.holds) == ("foot", "turn", 0, True)
        first = live.world.data.xquat[live.world.body("foot")].copy()
        drag_by(live, "head", (0.1, 0.0, 0.1))
        worst = 0.0
        for _ in range(250):
            live.step()
            worst = max(worst, turned(live, "foot", first))
        most.append(worst)
    assert most[0] > 0.5
    assert most[1] < 0.25 * most[0]


def test_a_pinned_joint_keeps_its_angle_while_the_head_is_dragged() -> None:
    moved = []
    for pinned in (False, True):
        live = Live(lamp())
        steps(live, 100)
        joint = live.world.model.joint("upper_pitch").qposadr[0]
        if pinned:
            live.give(m.Pin("upper", "angle"))
        before = float(live.world.data.qpos[joint])
        drag_by(live, "head", (0.0, 0.0, -0.06))
        worst = 0.0
        for _ in range(500):
            live.step()
            worst = max(worst, abs(float(live.world.data.qpos[joint]) - before))
        moved.append(worst)
    assert moved[0] > 0.1
    assert moved[1] < 0.02


def test_a_pin_is_ranked_switched_off_and_removed() -> None:
    live = Live(lamp())
    steps(live, 20)
    live.give(m.Pin("foot", "turn"))
    live.give(m.Pin("upper", "angle"))
    foot, upper = (p.task for p in live.board.message().pins)
    live.give(m.Rank(foot, 3))
    live.give(m.Rank("posture", 1))
    shown = live.board.message()
    assert [(p.target, p.priority) for p in shown.pins] == [("upper", 0), ("foot", 3)]
    assert {t.name: (t.priority, t.own) for t in shown.tasks}["posture"] == (1, True)
    active = {t.name for t in live.run.tasks if t.active}
    assert active == {foot, upper, "posture"}
    live.give(m.Switch(foot, False))
    assert not next(t for t in live.run.tasks if t.name == foot).active
    assert [p.off for p in live.board.message().pins] == [False, True]
    live.give(m.Switch(foot, True))
    assert next(t for t in live.run.tasks if t.name == foot).active
    live.give(m.Unpin(foot))
    assert [p.target for p in live.board.message().pins] == ["upper"]
    live.give(m.Switch("posture", False))
    assert {t.name for t in live.run.tasks if t.active} == {upper}
    steps(live, 5)
    # a second pin of the same thing is the same pin, set anew
    live.give(m.Pin("upper", "angle"))
    assert len(live.board.pins) == 1


def test_what_cannot_be_pinned_is_refused_in_one_line() -> None:
    live = Live(lamp())
    for message, says in (
        (m.Pin("foot", "angle"), "is the root and has no joint"),
        (m.Pin("world", "turn"), "not a part of a creature"),
        (m.Pin("foo", "turn"), "did you mean 'foot'"),
        (m.Pin("foot", "turn", value=(1.0, 0.0)), "needs 4 numbers"),
        (m.Unpin("studio_pin_0"), "no pin is called"),
        (m.Rank("postur", 1), "did you mean 'posture'"),
        (m.Switch("studio_drag", True), "switched by a drag"),
    ):
        with pytest.raises(InputError, match=says):
            live.give(message)
    assert live.board.pins == []
    with pytest.raises(InputError, match="direct control"):
        Live(load_scene("stand")).give(m.Pin("head", "turn"))


def test_there_are_no_more_pins_than_tasks_for_them() -> None:
    live = Live(starfish())
    bones = ["center", *(f"arm_{k}" for k in range(5)), *(f"tip_{k}" for k in range(5))]
    for bone in bones:
        live.give(m.Pin(bone, "turn"))
    live.give(m.Pin("arm_0", "angle"))
    assert len(live.board.pins) == len(SLOTS)
    with pytest.raises(InputError, match="remove one first"):
        live.give(m.Pin("arm_1", "angle"))


def test_a_pin_through_flesh_is_of_the_bone_below() -> None:
    live = Live(starfish())
    node = next(n for n, b in live.cast.flesh.items() if live.bodies[b] == "tip_2")
    live.give(m.Pin(live.bodies[node], "angle"))
    assert live.board.message().pins[0].target == "tip_2"


def test_armed_pins_fire_at_lift_off_and_falling_and_end_at_touch_down(folder: TakeFolder) -> None:
    """Figure 3: the foot keeps its orientation from lift-off until it touches down; joints are set when it falls."""
    live = Live(lamp(), partial(Journal, path=folder.file("hop")))
    steps(live, 100)
    live.give(m.Pin("foot", "turn", "lift_off", True, "touch_down"))
    live.give(m.Pin("upper", "angle", "falling"))
    resting = float(live.world.data.qpos[live.world.model.joint("upper_pitch").qposadr[0]])
    assert [p.holds for p in live.board.message().pins] == [False, False]
    hop(live)
    assert all(p.ended is None for p in live.board.pins)
    seen: list[tuple[bool, ...]] = []
    for _ in range(900):
        live.step()
        now = tuple(p.holds for p in live.board.pins)
        if not seen or seen[-1] != now:
            seen.append(now)
    foot, upper = live.board.pins
    assert (True, False) in seen
    assert foot.fired is not None
    assert upper.fired is not None
    assert foot.ended is not None
    assert foot.fired < upper.fired < foot.ended
    assert upper.value[0] == pytest.approx(resting), "as it was when it was armed, not as it is then"
    assert [p.holds for p in live.board.pins] == [False, True]
    journal = live.run.recorder
    assert isinstance(journal, Journal)
    names = [name for _, name in journal.ticks]
    assert names == ["lift-off: foot orientation pinned", "falling: upper angle pinned", "touch-down: foot orientation free"]
    # they fire once
    first = (foot.fired, upper.fired)
    steps(live, 50)
    assert (foot.fired, upper.fired) == first
    journal.close(True, "", {})


def test_a_touch_down_comes_after_flight() -> None:
    live = Live(lamp())
    steps(live, 50)
    live.give(m.Pin("foot", "turn", "touch_down"))
    steps(live, 50)
    assert live.board.pins[0].waits, "it stands already, and has not come down"
    falling = flying(**{"character.above": 0.1})
    falling.give(m.Pin("foot", "turn", "touch_down"))
    steps(falling, 250)
    assert falling.board.pins[0].fired == pytest.approx(np.sqrt(2 * 0.1 / 9.81), abs=0.02)


def test_a_take_with_pins_replays_from_its_inputs_and_from_any_moment(folder: TakeFolder) -> None:
    live = Live(lamp(), partial(Journal, path=folder.file("one")))
    steps(live, 33)
    live.give(m.Pin("foot", "turn", "lift_off", True, "touch_down"))
    live.give(m.Pin("head", "angle"))
    live.give(m.Rank("posture", 3))
    hop(live)
    live.give(m.Switch(live.board.pins[1].task, False))
    steps(live, 41)
    moment = live.moment()
    assert moment.pins[0].fired is not None
    steps(live, 300)
    other = Live(lamp())
    other.restore(moment)
    steps(other, 300)
    assert np.array_equal(other.world.full_state(), live.world.full_state())
    assert other.board.message() == live.board.message()
    journal = live.run.recorder
    assert isinstance(journal, Journal)
    journal.close(True, "", {})
    again = Live(lamp())
    run_again(again, Past(folder.known("one")).inputs(), live.world.steps)
    assert np.array_equal(again.world.full_state(), live.world.full_state())
    assert again.board.message() == live.board.message()


def test_the_preview_knows_of_pins() -> None:
    live = flying()
    live.give(m.Pin("foot", "turn"))
    live.give(m.Pin("upper", "angle", "falling"))
    steps(live, 3)
    drag_by(live, "head", (0.1, 0.0, 0.1))
    found = previewed(live)
    assert found[0].paths == look_ahead(live, -1, "held").paths
    free = flying()
    steps(free, 3)
    drag_by(free, "head", (0.1, 0.0, 0.1))
    assert found[0].paths != look_ahead(free, -1, "held").paths


def test_a_session_reports_pins_keeps_them_in_a_branch_and_rearms_them(session: Session, heard: Heard) -> None:
    session.open(lamp())
    session.handle(m.Step(200))
    session.handle(m.Pin("foot", "turn"))
    session.handle(m.Pin("upper", "angle", "falling"))
    shown = heard.texts("pins")[-1]
    assert [(p["target"], p["holds"], p["at"]) for p in shown["pins"]] == [("foot", True, None), ("upper", False, "falling")]
    assert next(t["name"] for t in shown["tasks"]) == "pin"
    session._publish(time.perf_counter())
    count = len(heard.texts("pins"))
    session._due = dict.fromkeys(session._due, 0.0)
    session._publish(time.perf_counter())
    assert len(heard.texts("pins")) == count, "only what has changed is sent"
    assert session.live is not None
    value = session.live.board.pins[1].value.copy()
    session.handle(m.Step(200))
    session.handle(m.Branch(0.3))
    assert session.live is not None
    assert [p.target for p in session.live.board.pins] == ["foot", "upper"]
    session.handle(m.Branch(0.1))
    assert session.live is not None
    assert session.live.board.pins == [], "they came later"
    session.handle(m.Pin("upper", "angle", "falling", value=tuple(value.tolist())))
    session.handle(m.Pin("foot", "turn"))
    session.handle(m.Reset())
    assert session.live is not None
    (pin,) = session.live.board.pins
    assert (pin.target, pin.at) == ("upper", "falling"), "what is armed stays armed, what was pinned by hand is free"
    assert np.array_equal(pin.value, value)
    assert "pins" in [kind for kind, _ in session.welcome()]


def test_why_names_pins_only_while_they_act() -> None:
    live = Live(lamp())
    why = Explainer(live)
    steps(live, 10)
    assert not any(t.name in SLOTS for t in why.report().tasks)
    live.give(m.Pin("foot", "turn"))
    steps(live, 10)
    assert [t.name for t in why.report().tasks if t.active] == [SLOTS[0], "posture"]


def test_it_runs_only_while_something_is_held(session: Session) -> None:
    session.open(lamp())
    assert not session.status().while_pressed
    session.handle(m.WhilePressed(True))
    assert (session.status().while_pressed, session.playing) == (True, False)
    session.handle(m.Grab("head", "task"))
    assert session.playing
    session.handle(m.Release())
    assert not session.playing
    # whoever holds something while it is switched on lets it run
    session.handle(m.WhilePressed(False))
    session.handle(m.Grab("head", "task"))
    assert not session.playing
    session.handle(m.WhilePressed(True))
    assert session.playing
    session.handle(m.Release())
    session.handle(m.Play())
    assert (session.playing, session.while_pressed) == (True, False)
    session.handle(m.Grab("head", "task"))
    session.handle(m.Release())
    assert session.playing, "free again"
