"""A session: the transport, the timeline, takes, knobs, and what it sends."""

import gc
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from raw_client import Heard

from manikin.errors import InputError
from manikin.playback import replay
from manikin.recording import load_recording
from manikin.scenes.scene import load_scene
from manikin.studio import messages as m
from manikin.studio.journal import Past, read_qpos
from manikin.studio.session import AFTER_END, MOST_REWINDS, REWIND, Session
from manikin.studio.takes import TakeFolder


def go(session: Session, steps: int) -> None:
    for _ in range(steps):
        session._steps(1)


def shatter(session: Session) -> None:
    """Something moves far too fast in the next step."""
    assert session.live is not None
    session.live.world.data.qvel[3] = 1e5
    session._steps(1)


def shatter_for_good(session: Session) -> None:
    """Again and again, until it goes back no more."""
    for _ in range(MOST_REWINDS + 1):
        assert not session.diverged
        shatter(session)
    assert session.diverged


def pose(content: bytes) -> np.ndarray:
    return m.unpack_frame(content).poses


def test_a_scene_is_sent_with_all_that_a_page_needs(session: Session, heard: Heard) -> None:
    session.handle(m.Open("lift"))
    (model,) = heard.texts("model")
    bodies = {b["name"]: b for b in model["bodies"]}
    assert bodies["hand_l"] == {"name": "hand_l", "parent": bodies["hand_l"]["parent"], "part_of": "character", "owner": "pelvis", "modes": ["task", "push"]}  # fmt: skip # noqa: E501
    assert bodies["box"]["modes"] == ["spring", "push"]
    assert bodies["world"]["modes"] == []
    assert model["handles"][0]["name"] == "pelvis"
    assert [k["path"] for k in model["knobs"] if not k["live"]] == ["props.box.size.1", "character.height", "character.clip"]
    assert session.glb[:4] == b"glTF"
    session.handle(m.Step(5))
    session._publish(time.perf_counter())
    assert pose(heard.frames()[-1]).shape == (len(model["bodies"]), 7)
    status = heard.texts("status")[-1]
    assert (status["time"], status["step"], status["playing"]) == (pytest.approx(0.01), "reach", False)
    assert {mk["task"] for mk in status["markers"]} == {"hands"}


def test_nothing_can_be_done_without_a_scene_or_with_a_strange_one(session: Session) -> None:
    with pytest.raises(InputError, match="no scene is open"):
        session.handle(m.Play())
    for name in ("../../etc/passwd", "/etc/hosts", "lift.toml", "lifd"):
        with pytest.raises(InputError, match="no scene is called"):
            session.handle(m.Open(name))


def test_scrubbing_shows_what_was_and_a_branch_goes_on_from_there(
    session: Session, heard: Heard, folder: TakeFolder
) -> None:  # fmt: skip
    session.handle(m.Open("lift"))
    session.handle(m.Assist(40.0))
    go(session, 300)
    session.handle(m.Grab("thorax", "push"))
    session.handle(m.Drag((0.5, 0.3, 1.3)))
    go(session, 400)
    session.handle(m.Release())
    go(session, 600)
    first, end = session.take, session.live.world.data.qpos.copy()
    session._send_frames()
    session.handle(m.Seek(1.0))
    session._send_frames()
    session.handle(m.Seek(99.0))
    session._send_frames()
    now, then, last = (pose(c) for c in heard.frames()[-3:])
    assert np.abs(now - then).max() > 0.02
    assert np.abs(now - last).max() < 0.03

    session.handle(m.Branch(2.0))
    assert session.take != first
    assert session.live.time == pytest.approx(2.0)
    go(session, 300)
    assert np.array_equal(session.live.world.data.qpos, end), "the same again: the push was over"
    second = session.take
    session.handle(m.Branch(1.0))
    assert session.live.grip is None, "the hand that pushed has let go"
    go(session, 800)
    assert np.abs(session.live.world.data.qpos - end).max() > 0.01
    session.handle(m.Reset())
    for take in (first, second):
        recording = Past(folder.known(take)).recording()
        assert replay(recording).difference <= 1e-9
    one, two = (Past(folder.known(t)).recording() for t in (first, second))
    assert np.array_equal(one.ctrl[:1000], two.ctrl[:1000])
    assert len(two.ctrl) == 1300
    assert np.array_equal(one.time[:120], two.time[:120])


def test_a_branch_without_new_input_is_the_same_motion(session: Session, folder: TakeFolder) -> None:
    """From a moment that was kept, from the start, and from a take of an earlier session."""
    session.handle(m.Open("catch"))
    go(session, 1200)
    first = session.take
    session.handle(m.Branch(1.1))
    assert session.moments
    go(session, 1200 - session.live.world.steps)
    end = session.live.world.full_state()
    session.handle(m.TakeLoad(first))
    session.handle(m.Branch(0.5))
    go(session, 1200 - session.live.world.steps)
    assert np.array_equal(end, session.live.world.full_state())
    session.handle(m.Reset())
    assert replay(Past(folder.known(first)).recording()).difference <= 1e-9


def test_a_loaded_take_is_looked_at_and_not_written_to(session: Session, heard: Heard, folder: TakeFolder) -> None:
    session.handle(m.Open("stand"))
    go(session, 200)
    first = session.take
    session.handle(m.TakeName(first, "still"))
    session.handle(m.Open("lift"))
    go(session, 10)
    session.handle(m.TakeLoad(first))
    size = folder.file(first).stat().st_size
    assert heard.texts("model")[-1]["scene"] == "stand"
    status = session.status()
    assert (status.time, status.length, status.seeking) == (pytest.approx(0.4), pytest.approx(0.4), True)
    for message in (m.Play(), m.Step(), m.Grab("head", "push"), m.Knob("tasks.balance.frequency", 1.0)):
        with pytest.raises(InputError, match="try again from one of its moments"):
            session.handle(message)
    assert session.status().undo == 0, "what was refused cannot be undone"
    assert folder.file(first).stat().st_size == size
    assert (status.ok, status.reason) == Past(folder.known(first)).outcome(), "its own end, not that of the run it stands on"
    with pytest.raises(InputError, match="looked at"):
        session.handle(m.TakeDelete(first))
    assert folder.file(first).exists()
    assert next(t for t in session.takes().takes if t.id == first).name == "still"


def test_takes_are_saved_shown_as_ghosts_and_deleted(session: Session, heard: Heard, folder: TakeFolder) -> None:
    session.handle(m.Open("lift"))
    go(session, 200)
    first = session.take
    session.handle(m.Reset())
    go(session, 100)
    session.handle(m.TakeSave(first))
    saved = load_recording(folder.file(first, ".npz"))
    assert replay(saved).difference <= 1e-9
    session.handle(m.TakeGhost(first, True))
    session._send_frames()
    key, content = heard.all[-1]
    assert key == "ghost 0"
    ghost = m.unpack_frame(content)
    assert (ghost.kind, ghost.sequence, ghost.time) == (m.GHOST, 0, pytest.approx(0.2, abs=0.02))
    assert [t.ghost for t in session.takes().takes if t.id == first] == [0]
    session.handle(m.TakeDelete(first))
    assert not list(folder.path.glob(f"{first}*"))
    assert not session.ghosts
    with pytest.raises(InputError, match="being recorded"):
        session.handle(m.TakeDelete(session.take))
    for name in ("../x", "a/b", "", "x" * 99):
        with pytest.raises(InputError):
            session.handle(m.TakeDelete(name))


def test_an_uploaded_recording_becomes_a_take(session: Session, folder: TakeFolder, tmp_path: Path) -> None:
    session.handle(m.Open("lift"))
    session.handle(m.Knob("props.box.mass", 12.0))
    go(session, 250)
    first = session.take
    session.handle(m.Reset())
    session.handle(m.TakeSave(first))
    again = folder.add(folder.file(first, ".npz"), "mine")
    one, two = Past(folder.known(first)), Past(folder.known(again))
    assert np.array_equal(one.recording().ctrl, two.recording().ctrl)
    assert one.recording().meta == two.recording().meta
    assert one.inputs() == two.inputs()
    session.handle(m.TakeLoad(again))
    session.handle(m.Branch(0.3))
    assert session.live.time == pytest.approx(0.3)
    noise = tmp_path / "noise.npz"
    noise.write_bytes(b"PK noise")
    count = len(folder.ids())
    with pytest.raises(InputError):
        folder.add(noise)
    assert len(folder.ids()) == count


def test_empty_takes_are_not_kept(session: Session, folder: TakeFolder) -> None:
    session.handle(m.Open("lift"))
    session.handle(m.Open("stand"))
    session.handle(m.Reset())
    assert folder.ids() == [session.take]


def test_knobs_live_restarting_and_back(session: Session, heard: Heard) -> None:
    session.handle(m.Open("lift"))
    go(session, 50)
    first = session.take
    session.handle(m.Knob("props.box.mass", 20.0))
    assert session.take == first
    assert session.live.world.model.body_mass[session.live.world.body("box")] == pytest.approx(20.0)
    session.handle(m.Undo())
    assert session.live.world.model.body_mass[session.live.world.body("box")] == pytest.approx(8.0)
    with pytest.raises(InputError, match="nothing to undo"):
        session.handle(m.Undo())
    session.handle(m.Knob("props.box.mass", 30.0))
    session.handle(m.Knob("character.height", 1.6))
    assert session.take != first
    assert session.live.time == 0
    assert "restarts as a new take" in heard.texts("notice")[-1]["message"]
    assert session.live.knobs.value("character.height") == 1.6
    assert session.live.knobs.value("props.box.mass") == 30.0
    session.handle(m.Undo())
    assert session.live.knobs.value("character.height") == 1.75
    assert session.status().undo == 1
    for mass in (31.0, 32.0, 33.0):
        session.handle(m.Knob("props.box.mass", mass))
    assert session.status().undo == 2, "dragging a slider counts as one change"
    session.handle(m.Undo())
    assert session.live.knobs.value("props.box.mass") == 30.0


def test_a_knob_that_chooses_between_texts(session: Session, heard: Heard) -> None:
    session.handle(m.Open("lift"))
    go(session, 20)

    def shown() -> dict[str, object]:
        return next(k for k in heard.texts("model")[-1]["knobs"] if k["path"] == "character.clip")

    style = shown()
    assert (style["title"], style["choices"]) == ("Style", ["lift_knees", "lift_back"])
    assert (style["low"], style["high"], style["value"], style["live"]) == (0, 1, 0, False)
    first = session.take
    session.handle(m.Knob("character.clip", 1.0))
    assert session.take != first
    assert session.live.scene.character.clip == "lift_back"
    assert session.live.knobs.value("character.clip") == 1.0
    assert shown()["value"] == 1
    # a mass that is set next keeps it
    session.handle(m.Knob("props.box.mass", 12.0))
    assert session.live.scene.character.clip == "lift_back"
    for value in (2.0, -1.0, 0.5):
        with pytest.raises(InputError, match=rf"'character.clip' given {value:g} \(allowed: 0 lift_knees, 1 lift_back\)"):
            session.handle(m.Knob("character.clip", value))
    session.handle(m.Undo())
    session.handle(m.Undo())
    assert session.live.scene.character.clip == "lift_knees"
    assert session.live.knobs.value("character.clip") == 0.0


def test_a_chosen_text_that_the_scene_did_not_offer_is_no_number(session: Session) -> None:
    """The clip came from elsewhere (a file, say): no choice is marked, and each can still be made."""
    session.open(load_scene("lift", {"character.clip": "stand"}))
    assert session.live.knobs.value("character.clip") is None
    session.handle(m.Knob("character.clip", 1.0))
    assert session.live.scene.character.clip == "lift_back"


def test_a_run_that_breaks_goes_back_half_a_second_by_itself(session: Session, heard: Heard, folder: TakeFolder) -> None:
    session.handle(m.Open("stand"))
    go(session, 300)
    session.handle(m.Grab("hand_r", "push"))
    session.handle(m.Drag((0.6, -0.3, 1.2)))
    go(session, 400)
    broken, at = session.take, session.live.time
    session.flush()
    before = Past(session.folder.known(broken))
    session.playing = True
    shatter(session)
    assert session.breaks == 1
    assert "diverged" in heard.texts("error")[-1]["message"]
    assert f"rewound to {at - REWIND:.1f} s, and let go" in heard.texts("error")[-1]["message"]
    status = session.status()
    assert (status.playing, status.diverged) == (True, False)
    assert session.live.time == pytest.approx(at - REWIND, abs=1 / 60)
    assert session.live.grip is None
    # exactly as it was then, and as a new take: the one that broke stays, and says why
    assert session.take != broken
    frame = int(np.searchsorted(before.times, session.live.time + 1e-9)) - 1
    assert session.live.world.data.qpos == pytest.approx(read_qpos(before.path, before.offsets[frame], before.head["nq"]))
    assert "diverged" in Past(folder.known(broken)).outcome()[1]
    go(session, 100)
    assert not session.diverged
    # the new take replays in plain MuJoCo
    assert replay(Past(folder.known(session.take)).recording()).difference < 1e-9


def test_what_breaks_in_its_first_moments_begins_again(session: Session) -> None:
    session.handle(m.Open("stand"))
    go(session, 50)
    shatter(session)
    assert session.live.time == 0.0
    assert not session.diverged


def test_what_breaks_again_and_again_waits_and_reset_recovers(session: Session, heard: Heard, folder: TakeFolder) -> None:
    session.handle(m.Open("lift"))
    go(session, 400)
    session.playing = True
    shatter_for_good(session)
    broken = session.take
    assert "reset, or go back" in heard.texts("error")[-1]["message"]
    status = session.status()
    assert (status.playing, status.diverged, status.ok) == (False, True, False)
    with pytest.raises(InputError, match="diverged"):
        session.handle(m.Play())
    with pytest.raises(InputError, match="looked at"):
        session.handle(m.TakeDelete(broken))
    session._publish(time.perf_counter())
    session.handle(m.Seek(0.0))
    session._send_frames()
    assert m.unpack_frame(heard.frames()[-1]).time == 0.0
    recording = Past(folder.known(broken)).recording()
    assert not recording.meta["ok"]
    assert "diverged" in recording.meta["reason"]
    session.handle(m.Reset())
    go(session, 50)
    assert not session.status().diverged


def test_a_hand_can_let_go_of_what_broke_off(session: Session, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    session.handle(m.Open("stand"))
    session.handle(m.Grab("hand_r", "task"))
    go(session, 10)
    monkeypatch.setattr(Session, "_rewound", lambda *_: False)
    shatter(session)
    assert session.diverged
    session.handle(m.Release())
    assert not heard.texts("input")[-1]["held"]
    # and other messages are answered with what to do
    with pytest.raises(InputError, match="reset"):
        session.handle(m.Grab("hand_r", "task"))


def test_branching_from_before_a_divergence(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.handle(m.Open("stand"))
    go(session, 200)
    monkeypatch.setattr(Session, "_rewound", lambda *_: False)
    shatter(session)
    assert session.diverged
    session.handle(m.Branch(0.3))
    go(session, 20)
    assert session.live.time == pytest.approx(0.34)


def test_the_script_ends_and_life_goes_on(session: Session) -> None:
    session.handle(m.Open("catch"))
    go(session, 2700)
    assert session.live.time == pytest.approx(2.7)
    assert session.status().ok
    assert session.status().finished
    assert session.live.facts()["caught"] is True


def test_compiling_is_reported_to_the_page(session: Session, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    session._compiling(1)
    assert not heard.texts("notice"), "another thread compiles something else"
    monkeypatch.setattr(session, "_thread", threading.current_thread())
    session._compiling(2)
    session._compiling(3)
    (said,) = heard.texts("notice")
    assert said["message"].startswith("Preparing: compiling")
    assert "2 kernels so far" in said["message"]


def test_takes_fill_no_more_than_they_may(session: Session, heard: Heard, folder: TakeFolder) -> None:
    session.handle(m.Open("stand"))
    go(session, 100)
    session.handle(m.Reset())
    go(session, 100)
    session.flush()
    # other files in the folder do not count
    (folder.path / "film.mp4").write_bytes(bytes(10**7))
    folder.space = folder.used() + 1000
    assert folder.space < 10**7
    session.playing = True
    session._look_around(time.perf_counter())
    assert session.playing
    folder.space -= 2000
    session._look_around(time.perf_counter() + 10)
    assert not session.playing
    assert "larger --space" in heard.texts("error")[-1]["message"]
    assert len(folder.ids()) == 2, "nothing is deleted"


def test_a_run_that_nobody_touches_pauses_when_its_script_has_ended(session: Session, heard: Heard) -> None:
    session.handle(m.Open("catch"))
    session.playing = True
    for _ in range(30):
        go(session, 500)
        session._look_around(time.perf_counter())
        if not session.playing:
            break
    end = session._ticks()[-1][0]
    assert end + AFTER_END < session.live.time < end + AFTER_END + 1.1
    assert "paused: the script has ended" in heard.texts("notice")[-1]["message"]
    # a touch, and it goes on
    session.handle(m.Grab("hand_l", "task"))
    session.handle(m.Play())
    go(session, 10)
    session._look_around(time.perf_counter())
    assert session.playing


def test_every_take_reports_what_happened_when(session: Session) -> None:
    session.handle(m.Open("catch"))
    go(session, 5)
    status = session.status()
    assert (status.finished, [t.name for t in status.ticks]) == (False, ["wait"])
    go(session, 2695)
    first, ticks = session.take, session.status().ticks
    names = [step.name for step in session.live.scene.steps if not step.fallback]
    assert [t.name for t in ticks] == names
    assert list(ticks) == sorted(ticks, key=lambda t: t.time)
    assert 0.3 < ticks[-1].time < 2.7
    half = 0.5 * (ticks[1].time + ticks[2].time)
    session.handle(m.Branch(half))
    assert (session.status().finished, session.status().ticks) == (False, ticks[:2]), "what is not yet"
    session.handle(m.TakeLoad(first))
    assert (session.status().finished, session.status().ticks) == (True, ticks)
    session.handle(m.Reset())
    assert (session.status().finished, session.status().ticks) == (False, ())


def test_a_goal_that_was_put_elsewhere_while_time_stood_stays_there(session: Session, folder: TakeFolder) -> None:
    session.handle(m.Open("pendulum"))
    go(session, 100)
    marker = session.status().markers[0]
    there = (marker.place[0] + 0.1, marker.place[1] - 0.05, marker.place[2] + 0.1)
    session.handle(m.Grab(marker.name, "goal"))
    session.handle(m.Drag(there))
    session.handle(m.Release())
    assert session.status().markers[0].place == pytest.approx(there)
    go(session, 1)
    assert session.status().markers[0].place == pytest.approx(there)
    go(session, 1500)
    hand = session.live.world.data.xpos[session.live.world.body(marker.body)]
    assert np.linalg.norm(hand - np.array(there)) < 0.15
    end, first = session.live.world.full_state(), session.take
    session.handle(m.Branch(0.1))
    session.handle(m.TakeLoad(first))
    session.handle(m.Branch(3.0))
    go(session, 1601 - session.live.world.steps)
    assert np.array_equal(session.live.world.full_state(), end), "given again, the input does the same"


def test_why_shows_which_task_lost_to_which(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.handle(m.Open("stand"))
    go(session, 300)
    before = session.live.world.full_state()
    session.handle(m.Why(True))
    report = session.why.report()
    assert [t.name for t in report.tasks if t.active] == ["balance", "trunk", "posture"]
    assert len(report.joints) == session.live.world.model.nu
    (balance,) = report.balance
    assert 0.08 < balance.margin < 0.2
    area = 0.5 * sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(balance.support, balance.support[1:] + balance.support[:1]))
    assert 0.03 < area < 0.2, "counter-clockwise, about as large as two feet"
    weight = sum(c.force[2] for c in report.contacts)
    assert weight == pytest.approx(75 * 9.81, rel=0.02)
    # pulling at the head costs the posture
    session.handle(m.Grab("head", "task"))
    session.handle(m.Drag((0.2, 0.1, 1.2)))
    go(session, 150)
    solve, solved = type(session.live.controller.inner).solve, []
    monkeypatch.setattr(type(session.live.controller.inner), "solve", lambda *a: solved.append(1) or solve(*a))
    reports = [session.why.report() for _ in range(len(session.live.run.tasks))]
    assert len(solved) == len(reports), "each holds up the physics for one solution, and no longer"
    lost = {t.name: t.lost_to for t in reports[-1].tasks if t.active}
    # the drag ranks above all tasks, and what it takes away is missing below
    assert "studio_drag" in lost.values()
    assert lost["posture"] in ("studio_drag", "trunk")
    assert m.dump(report)
    assert not np.array_equal(before, session.live.world.full_state())


def test_looking_changes_nothing(folder: TakeFolder) -> None:
    states = []
    for looking in (False, True):
        session = Session(folder, lambda key, content: None)
        session.handle(m.Open("lift"))
        session.handle(m.Why(looking))
        session.handle(m.Grab("hand_r", "task"))
        for _ in range(300):
            session._steps(1)
            if looking:
                session._due = dict.fromkeys(session._due, 0.0)
                session._publish(time.perf_counter())
        states.append(session.live.world.full_state())
        session._close_take()
    assert np.array_equal(*states)


def test_why_explains_the_present_and_nothing_else(session: Session, heard: Heard) -> None:
    session.handle(m.Open("stand"))
    session.handle(m.Why(True))
    go(session, 50)

    def reports() -> int:
        session._due = dict.fromkeys(session._due, 0.0)
        before = len(heard.texts("why_report"))
        session._publish(time.perf_counter())
        return len(heard.texts("why_report")) - before

    assert reports() == 1
    session.handle(m.Seek(0.05))
    assert reports() == 0
    session.handle(m.Step(1))
    assert reports() == 1


def test_what_is_left_is_gone_at_once(session: Session) -> None:
    session.handle(m.Open("stand"))
    go(session, 20)
    worlds = []
    for message in (m.Reset(), m.Branch(0.0), m.Open("lift"), m.Reset()):
        worlds.append(weakref.ref(session.live.world))
        go(session, 5)
        gc.disable()
        try:
            session.handle(message)
            assert worlds[-1]() is None, message
        finally:
            gc.enable()


def test_of_many_drags_the_last_counts(session: Session) -> None:
    session.handle(m.Open("stand"))
    go(session, 10)
    session.put(m.Grab("thorax", "push"))
    for k in range(50):
        session.put(m.Drag((0.0, 0.0, 1.0 + 0.01 * k), stamp=float(k)))
    session.put(m.Release())
    session.put(m.Grab("head", "push"))
    session.put(m.Drag((0.0, 0.0, 1.2)))
    session._read()
    session._steps(1)
    assert session.live.grip.target == "head"
    assert session.live.grip.pointer[2] == 1.2
    journal = session._journal()
    journal.flush()
    kinds = [type(message).__name__ for _, message in Past(journal.path).inputs()]
    assert kinds == ["Grab", "Drag", "Release", "Grab", "Drag"]


def test_a_fault_in_a_message_does_not_end_the_session(session: Session, heard: Heard) -> None:
    session.put(m.Play())
    session.put(m.Open("lift"))
    session.put(m.Grab("nobody", "push"))
    session._read()
    about = [e["about"] for e in heard.texts("error")]
    assert about == ["play", "grab"]
    assert session.live is not None


def test_a_fault_while_publishing_is_reported_and_survived(session: Session, heard: Heard) -> None:
    class Faulty:
        def report(self) -> None:
            raise ZeroDivisionError("broken")

    session.put(m.Open("stand"))
    session.start()
    end = time.monotonic() + 20
    session.ask(lambda: setattr(session, "why", Faulty())).result(20)
    while not heard.texts("error") and time.monotonic() < end:
        time.sleep(0.01)
    assert "broken" in heard.texts("error")[0]["message"]
    session.put(m.Step(10))
    assert session.ask(lambda: session.status().time).result(10) == pytest.approx(0.02)
    session.stop()


def test_whoever_asks_and_goes_away_ends_nothing(session: Session) -> None:
    session.start()
    hold = threading.Event()
    session.ask(lambda: hold.wait(20))
    gone = session.ask(lambda: 1 / 0)
    assert gone.cancel()
    hold.set()
    assert session.ask(lambda: 7).result(20) == 7
    assert session._thread.is_alive()
    session.stop()
    assert session.ask(lambda: 7).cancelled(), "nobody is left to answer"


def test_the_thread_keeps_the_pace(session: Session) -> None:
    session.put(m.Open("stand"))
    session.put(m.Speed(0.25))
    session.start()
    session.ask(lambda: None).result(60)
    began = time.perf_counter()
    session.put(m.Play())
    end = time.monotonic() + 60
    while session.live.time < 0.2 and time.monotonic() < end:
        time.sleep(0.005)
    session.put(m.Pause())
    reached = session.ask(lambda: session.live.time).result(60)
    seconds = time.perf_counter() - began
    assert 0.2 <= reached <= 0.25 * seconds + 0.01, "a quarter of the clock, and never faster"
    time.sleep(0.1)
    assert session.live.time == reached, "paused"
    session.stop()
    assert session._journal() is None, "the take is closed"
