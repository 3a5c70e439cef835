"""Scenes under direct control in the studio: they run, replay, can be returned to, dragged, and explained."""

import time
from functools import partial
from typing import Any

import mujoco
import numpy as np
import pytest
from creatures import lamp, previewed, starfish
from raw_client import Heard

from manikin.controllers.direct import Direct
from manikin.errors import InputError
from manikin.physics.inversion import Tetrahedra
from manikin.playback import replay
from manikin.scenes.build import scene_text
from manikin.scenes.scene import load_scene, parse_text, shipped
from manikin.spatial import quat_from_axis_angle, quat_multiply
from manikin.studio import campaign
from manikin.studio import messages as m
from manikin.studio.drag import com_of
from manikin.studio.journal import Journal, Past
from manikin.studio.live import Live, free_play, run_again, with_values
from manikin.studio.names import DRAG, LEAN, WAITING
from manikin.studio.preview import look_ahead
from manikin.studio.session import Session
from manikin.studio.takes import TakeFolder
from manikin.studio.why import Explainer


def steps(live: Live, count: int) -> None:
    for _ in range(count):
        live.step()


def place(live: Live, name: str) -> np.ndarray:
    return live.world.data.xpos[live.world.body(name)].copy()


def drag_by(live: Live, name: str, way: tuple[float, float, float]) -> np.ndarray:
    """Grab a bone's origin and drag it by this much."""
    goal = place(live, name) + way
    live.give(m.Grab(name, "task"))
    live.give(m.Drag(tuple(goal.tolist())))
    return goal


def direct(live: Live) -> Direct:
    assert isinstance(live.controller, Direct)
    return live.controller


def test_a_dragged_head_follows_and_the_drag_ends_with_the_release() -> None:
    live = Live(lamp())
    steps(live, 100)
    goal = drag_by(live, "head", (0.0, 0.0, -0.06))
    (drag,) = [t for t in live.run.tasks if t.name == DRAG]
    assert (drag.active, drag.priority, drag.max_force) == (True, 1, None)
    assert np.linalg.norm(place(live, "head") - goal) > 0.05
    steps(live, 600)
    assert np.linalg.norm(place(live, "head") - goal) < 0.01
    assert not live.force.any(), "its own joints do it"
    live.give(m.Release())
    live.step()
    assert not drag.active


@pytest.mark.parametrize("later", [1, 3])
def test_a_moment_between_two_updates_goes_on_the_same(later: int) -> None:
    """Five steps an update: the ramp of the servos, and what was reported, go on."""
    first = Live(lamp())
    steps(first, 50)
    drag_by(first, "head", (0.05, 0.0, -0.05))
    steps(first, 50 + later)
    moment = first.moment()
    assert first.world.steps % first.run.every != 0
    steps(first, 200)
    second = Live(lamp())
    second.restore(moment)
    assert second.reports() == moment.memory.reports != {}
    steps(second, 200)
    assert np.array_equal(first.world.full_state(), second.world.full_state())


def test_a_soft_creature_returns_to_a_moment() -> None:
    first = Live(starfish())
    steps(first, 11)
    drag_by(first, "arm_0", (0.0, 0.0, 0.1))
    steps(first, 12)
    moment = first.moment()
    assert moment.memory.ramp is not None
    assert moment.memory.ramp.any(), "its servos are led on between updates"
    assert first.world.steps % first.run.every != 0
    steps(first, 41)
    second = Live(starfish())
    second.restore(moment)
    steps(second, 41)
    assert np.array_equal(first.world.full_state(), second.world.full_state())


def test_a_moment_keeps_what_the_controller_was_told() -> None:
    live = Live(lamp())
    direct(live).formulation, direct(live).contradictions = "torque", 7
    steps(live, 3)
    moment = live.moment()
    direct(live).formulation, direct(live).contradictions = "velocity", 9
    live.restore(moment)
    assert (direct(live).formulation, direct(live).contradictions) == ("torque", 7)


@pytest.mark.parametrize(("scene", "bone", "count"), [(lamp, "head", 300), (starfish, "tip_1", 120)])
def test_a_take_replays_in_plain_mujoco_and_from_its_inputs(folder: TakeFolder, scene: Any, bone: str, count: int) -> None:
    live = Live(scene(), partial(Journal, path=folder.file("one")))
    steps(live, 33)
    drag_by(live, bone, (0.05, 0.0, 0.05))
    steps(live, count // 3 + 1)
    live.give(m.Release())
    live.give(m.Grab(bone, "push"))
    live.give(m.Drag(tuple((place(live, bone) + [0.0, 0.02, 0.0]).tolist())))
    steps(live, count - live.world.steps)
    journal = live.run.recorder
    assert isinstance(journal, Journal)
    journal.close(True, "", {})
    past = Past(folder.known("one"))
    recording = past.recording()
    assert (len(recording.ctrl), len(recording.xfrc) > 0) == (count, True)
    assert replay(recording).difference <= 1e-9
    again = Live(scene())
    run_again(again, past.inputs(), count)
    assert np.array_equal(again.world.full_state(), live.world.full_state())


def test_a_bone_that_is_held_can_be_turned() -> None:
    live = Live(lamp())
    steps(live, 100)
    head = live.world.body("head")
    first = live.world.data.xquat[head].copy()
    goal = drag_by(live, "head", (0.0, 0.0, 0.0))
    turn = quat_from_axis_angle((0.0, 0.0, 1.0), 0.3)
    live.give(m.Drag(tuple(goal.tolist()), tuple(turn.tolist())))
    steps(live, 800)
    away = np.zeros(3)
    mujoco.mju_subQuat(away, live.world.data.xquat[head], quat_multiply(turn, first))
    assert np.linalg.norm(away) < 0.06
    assert np.linalg.norm(place(live, "head") - goal) < 0.02
    live.give(m.Release())
    assert not any(t.active for t in live.run.tasks if t.name in WAITING)


def test_a_session_plays_looks_back_and_tries_again(session: Session) -> None:
    session.open(lamp())
    session.handle(m.Step(1003))
    live = session.live
    assert live is not None
    drag_by(live, "head", (0.0, 0.0, -0.05))
    session.handle(m.Step(500))
    session.handle(m.Seek(0.5))
    assert session._shown_pose() is not None
    session.handle(m.Branch(1.25))
    assert session.live is not live
    assert session.live is not None
    assert session.live.time == pytest.approx(1.25, abs=0.02)
    assert session.live.grip is None
    session.handle(m.Step(100))
    assert not session.diverged


def test_the_preview_is_what_happens() -> None:
    live = Live(lamp())
    steps(live, 203)
    drag_by(live, "head", (0.05, 0.0, -0.05))
    steps(live, 2)
    found = previewed(live)
    then = look_ahead(live, -1, "held")
    assert found[0].paths == then.paths
    assert "head" in {line.body for line in then.paths}


def test_why_explains_tasks_torques_and_what_it_stands_on() -> None:
    live = Live(lamp())
    why = Explainer(live)
    assert why.report().creatures == (), "nothing is decided before the first step"
    steps(live, 100)
    (balance,) = why.report().balance
    assert balance.margin > 0.01, "its centre of mass is over its foot"
    drag_by(live, "head", (0.0, 0.0, -0.1))
    steps(live, 30)
    report = why.report()
    (creature,) = report.creatures
    assert (creature.character, creature.standing) == ("foot", "foot")
    assert creature.contradictions == direct(live).contradictions
    active = [t for t in report.tasks if t.active]
    assert [(t.name, t.priority, t.limit, t.lost_to) for t in active] == [(DRAG, 1, None, None), ("posture", 3, None, None)]
    assert active[0].error is not None
    assert active[0].error > 0.01
    limits = dict(zip(direct(live).skeletons[0].actuators.tolist(), direct(live).skeletons[0].torque))
    decided = direct(live).last[0].torque
    assert [j.torque for j in report.joints] == pytest.approx(decided.tolist())
    assert [j.high for j in report.joints] == [limits[k] for k in range(len(limits))]
    assert max(j.fraction for j in report.joints) > 0.01
    assert m.dump(report)


def test_limits_that_contradict_each_other_are_reported() -> None:
    live = Live(lamp())
    steps(live, 50)
    why = Explainer(live)
    decision = direct(live).last[0]
    direct(live).last = [decision._replace(slack=np.ones_like(decision.slack))]
    assert why.report().creatures[0].contradicted
    direct(live).last = [decision._replace(slack=np.zeros_like(decision.slack), maps=decision.maps._replace(bone=-1))]
    assert not why.report().creatures[0].contradicted
    assert why.report().creatures[0].standing == ""


def test_soft_contacts_belong_to_the_nodes_that_touch() -> None:
    live = Live(starfish())
    steps(live, 80)
    report = Explainer(live).report()
    assert report.contacts
    touching = {name for c in report.contacts for name in (c.first, c.second)} - {"world"}
    model = live.world.model
    flesh = {model.body(b).name for b in model.flex_vertbodyid}
    assert touching <= flesh
    (balance,) = report.balance
    assert balance.margin > 0.02, "it lies on its arms"
    assert report.creatures[0].character == "center"


def test_the_centre_of_mass_is_dragged_like_a_bone() -> None:
    live = Live(lamp())
    steps(live, 100)
    (root, bodies), *_ = live.cast.characters.items()
    before = com_of(live.world, bodies)
    live.give(m.Grab(root, "com"))
    goal = before - [0.0, 0.0, 0.04]
    live.give(m.Drag(tuple(goal.tolist())))
    (lean,) = [t for t in live.run.tasks if t.name == LEAN]
    assert (lean.active, lean.priority) == (True, 1)
    steps(live, 600)
    assert np.linalg.norm(com_of(live.world, bodies) - goal) < 0.015
    live.give(m.Release())
    assert not lean.active


def test_a_pin_comes_before_the_drag() -> None:
    """In flight, a drag of the head rotates the foot, much less if the foot's orientation is pinned: the pin stays active.

    Some rotation is left: the drag takes joints to their limits, which come before any pin.
    """
    most = []
    for pinned in (False, True):
        live = Live(with_values(lamp(), {"character.above": 1.0, "tasks.pin.active": pinned}))
        foot = live.world.body("foot")
        first, away = live.world.data.xquat[foot].copy(), np.zeros((250, 3))
        drag_by(live, "head", (0.1, 0.0, 0.1))
        for turn in away:
            live.step()
            mujoco.mju_subQuat(turn, live.world.data.xquat[foot], first)
        most.append(float(np.linalg.norm(away, axis=1).max()))
        assert [t.active for t in live.run.tasks if t.name == "pin"] == [pinned]
    assert most[0] > 0.5
    assert most[1] < 0.25 * most[0]


def test_a_hand_on_flesh_holds_the_bone_below() -> None:
    live = Live(starfish())
    node, bone = next((n, b) for n, b in live.cast.flesh.items() if live.bodies[b] == "tip_2")
    assert live.cast.of(node) == ("character", "center")
    before = place(live, live.bodies[node])
    live.give(m.Grab(live.bodies[node], "task", (0.0, 0.0, 0.01)))
    assert live.grip is not None
    assert (live.grip.target, live.grip.body) == ("tip_2", bone)
    assert np.allclose(live.grip.goal, before + [0.0, 0.0, 0.01]), "where the hand is"
    live.give(m.Drag(tuple((live.grip.goal + [0.0, 0.0, 0.05]).tolist())))
    steps(live, 160)
    assert place(live, live.bodies[node])[2] > before[2] + 0.02


def test_settings_of_direct_control_are_turned_live_recorded_and_undone(session: Session, folder: TakeFolder) -> None:
    session.open(lamp('knobs = { "tasks.posture.frequency" = [0.5, 5.0, "Hz"] }'))
    session.handle(m.Step(10))
    live = session.live
    assert live is not None
    knobs = {k.path: k for k in live.knobs.infos()}
    assert knobs["tasks.posture.frequency"].choices == ()
    assert knobs["control.formulation"].choices == ("acceleration", "velocity", "torque")
    chosen = {"control.formulation": 2.0, "control.contact_joints": 0.0, "control.compliant": 0.0}
    for path, value in chosen.items():
        assert knobs[path].live
        assert knobs[path].value != value
        session.handle(m.Knob(path, value))
    assert (direct(live).formulation, direct(live).contact_joints, direct(live).compliant) == ("torque", False, False)
    assert {k.path: k.value for k in live.knobs.infos() if k.choices} == chosen
    assert session.live is live, "nothing starts again"
    session.handle(m.Step(203))
    # the take done again from its inputs
    session.flush()
    again = Live(live.scene)
    run_again(again, Past(folder.known(session.take)).inputs(), 213)
    assert np.array_equal(again.world.full_state(), live.world.full_state())
    assert direct(again).formulation == "torque"
    # a run from the start keeps what was chosen
    session.handle(m.Reset())
    assert session.live is not None
    assert direct(session.live).formulation == session.live.scene.control.formulation == "torque"
    assert session.live.scene.control.contact_joints is False


def test_a_choice_is_undone_and_nonsense_refused(session: Session) -> None:
    session.open(lamp())
    live = session.live
    assert live is not None
    session.handle(m.Knob("control.formulation", 1.0))
    assert direct(live).formulation == "velocity"
    session.handle(m.Undo())
    assert direct(live).formulation == "acceleration"
    for value in (0.5, 3.0, -1.0):
        with pytest.raises(InputError, match="allowed: 0 acceleration, 1 velocity, 2 torque"):
            session.handle(m.Knob("control.formulation", value))
    moment = live.moment()
    session.handle(m.Knob("control.compliant", 0.0))
    live.restore(moment)
    assert direct(live).compliant


def test_the_motion_depends_on_what_is_chosen() -> None:
    ends = []
    for value in (0.0, 1.0, 2.0):
        live = Live(lamp())
        live.give(m.Knob("control.formulation", value))
        drag_by(live, "head", (0.1, 0.0, 0.0))
        steps(live, 300)
        ends.append(live.world.data.qpos.copy())
    assert np.abs(ends[1] - ends[0]).max() > 1e-3
    assert np.abs(ends[2] - ends[0]).max() > 1e-3


def test_a_human_has_none_of_these_knobs() -> None:
    live = Live(load_scene("stand"))
    assert not any(k.choices for k in live.knobs.infos())
    with pytest.raises(InputError, match="no knob is called"):
        live.give(m.Knob("control.formulation", 1.0))


def test_flesh_that_is_turned_inside_out_ends_the_run_and_is_reported(
    session: Session, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.open(starfish())
    session.handle(m.Step(10))
    moment = session.live.moment() if session.live is not None else None
    with monkeypatch.context() as patch:
        patch.setattr(Tetrahedra, "least_ratio", lambda *_: (-0.1, "flesh"))
        patch.setattr(Session, "_rewound", lambda *_: False)
        session.handle(m.Step(5))
        assert session.live is not None
        assert session.live.world.steps == 11
        assert "turned inside out" in session.diverged
        assert "reset, or go back" in heard.texts("error")[-1]["message"]
        # a preview ends there too, and has what came before
        other = Live(starfish())
        assert moment is not None
        other.restore(moment)
        assert len(look_ahead(other, -1, "held").times) == 1
    session.handle(m.Reset())
    session.handle(m.Step(5))
    assert not session.diverged


def test_random_hands_do_not_break_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drags, pushes and knobs of all kinds, as in the bench."""
    scenes = {"lamp": lamp, "star": starfish}
    monkeypatch.setattr(campaign, "shipped", lambda: scenes)
    monkeypatch.setattr("manikin.studio.session.shipped", lambda: scenes)
    monkeypatch.setattr("manikin.studio.session.load_scene", lambda name: scenes[name]())
    for name, seconds in (("lamp", 4.0), ("star", 2.0)):
        figures = campaign.unpaced(name, seconds)
        assert (figures["unreported"], figures["not_recovered"]) == (0.0, 0.0)
        assert figures["seconds"] == pytest.approx(seconds, abs=0.11)


def test_a_step_of_the_script_shows_in_the_knobs(session: Session, heard: Heard) -> None:
    scene = lamp('steps = [{ name = "first", formulation = "velocity" }]')
    session.open(scene)
    (model,) = heard.texts("model")
    assert {k["path"]: k["value"] for k in model["knobs"]}["control.formulation"] == 0
    session.handle(m.Step(2))
    session._publish(time.perf_counter())
    assert {k["path"]: k["value"] for k in heard.texts("knobs")[-1]["knobs"]}["control.formulation"] == 1


# --- free play


def test_creatures_are_played_freely_and_show_their_script_when_asked(session: Session, heard: Heard) -> None:
    session.handle(m.Open("lamp", None))
    assert session.live is not None
    assert (session.live.scene.steps, heard.texts("model")[-1]["scripted"]) == ((), False)
    assert not any(k["path"].startswith("steps.") for k in heard.texts("model")[-1]["knobs"])
    session.handle(m.Step(600))
    # it stands there, and waits for a hand
    assert (session.status().finished, session.live.step_name()) == (False, "")
    session.handle(m.Open("lamp", True))
    assert heard.texts("model")[-1]["scripted"]
    session.handle(m.Step(20))
    assert session.live.step_name() == "crouch"
    # others have nothing to be played with but their script
    session.handle(m.Open("catch", None))
    assert heard.texts("model")[-1]["scripted"]


def test_a_scene_of_ones_own_can_be_played_freely_too(session: Session, heard: Heard) -> None:
    own = load_scene("lamp").model_copy(update={"name": "my_lamp"})
    session.open_as(own)
    assert not heard.texts("model")[-1]["scripted"]
    session.handle(m.Open("my_lamp", True))
    assert heard.texts("model")[-1]["scripted"]
    with pytest.raises(InputError, match="no scene is called"):
        session.handle(m.Open("your_lamp"))


def test_free_play_leaves_nothing_that_speaks_of_steps() -> None:
    lamp_file = shipped()["lamp"].read_text(encoding="utf-8")
    drawn = '[random]\n"steps.leap.when.after" = [0.7, 0.9]\n"props.mat.friction" = [0.6, 0.9]\n'
    scene = parse_text(lamp_file + drawn, "drawn")
    free = free_play(scene)
    assert 0.6 < scene.props["mat"].friction < 0.9
    # read again, as for a branch, it is the same
    assert parse_text(scene_text(free), "again") == free


def follow(live: Live, body: str, way: np.ndarray, seconds: float = 1.0) -> float:
    """Drag a bone along: which fraction of the way it has gone after so long."""
    live.give(m.Grab(body, "task"))
    assert live.grip is not None
    start, steps = live.grip.goal.copy(), round(seconds / live.world.timestep)
    for k in range(steps):
        live.give(m.Drag(tuple((start + way * min(1.0, 3.0 * k / steps)).tolist())))
        live.step()
    number = live.world.body(live.grip.target)
    now = live.world.data.xpos[number] + live.world.data.xmat[number].reshape(3, 3) @ live.grip.point
    return float((now - start) @ way / (way @ way))


def test_a_drag_is_followed_after_the_script_and_its_tasks_come_back() -> None:
    live = Live(load_scene("lamp"))
    while not live.run.script.done:
        live.step()
    for _ in range(300):
        live.step()
    before = {t.name: t.priority for t in live.run.tasks}
    moment = live.moment()
    rng = np.random.default_rng(3)
    for _ in range(6):
        live.restore(moment)
        way = rng.normal(size=3)
        way[2] = abs(way[2])
        assert follow(live, "head", 0.1 * way / np.linalg.norm(way)) > 0.9
        live.give(m.Release())
        assert {t.name: t.priority for t in live.run.tasks} == before
        # and it stands again
        for _ in range(1000):
            live.step()
        foot = live.world.data.xmat[live.world.body("foot")].reshape(3, 3)
        assert foot[2, 2] > 0.99


def test_the_script_waits_while_a_creature_is_dragged() -> None:
    live = Live(load_scene("lamp"))
    for _ in range(100):
        live.step()
    assert live.step_name() == "crouch"
    live.give(m.Grab("head", "task"))
    for _ in range(1500):
        live.step()
    # 'leap' begins 0.8 s after 'crouch': that time stood still
    assert live.step_name() == "crouch"
    live.give(m.Release())
    for _ in range(750):
        live.step()
    assert live.step_name() == "leap"


def test_a_task_that_yields_keeps_what_a_hand_gives_it_meanwhile() -> None:
    live = Live(load_scene("lamp"))
    for _ in range(20):
        live.step()
    live.give(m.Grab("head", "task"))
    live.step()
    assert {t.name: t.priority for t in live.run.tasks if t.name in ("balance", "calm")} == {"balance": 2, "calm": 3}
    live.give(m.Rank("balance", 1))
    live.give(m.Release())
    assert next(t.priority for t in live.run.tasks if t.name == "balance") == 1


def test_the_lamp_hops_by_hand_and_lands_upright() -> None:
    """Crouch, then flick the head up and let go: no script, five hands that nobody chose."""
    rng, good = np.random.default_rng(2011), 0
    for _ in range(5):
        live = Live(free_play(load_scene("lamp")))
        steps(live, 300)
        down, up, ahead = rng.uniform(0.1, 0.15), rng.uniform(0.4, 0.6), rng.uniform(0.0, 0.15)
        quick, wait, held = rng.uniform(0.1, 0.15), rng.uniform(0.2, 0.5), rng.uniform(0.2, 0.3)
        foot, dt = live.world.body("foot"), live.world.timestep
        ground, top = float(live.world.data.xpos[foot][2]), 0.0
        live.give(m.Grab("head", "task"))
        assert live.grip is not None
        start = live.grip.goal.copy()
        for k in range(round((0.4 + wait + held) / dt)):
            low = -down * min(1.0, k * dt / 0.4)
            part = np.clip((k * dt - 0.4 - wait) / quick, 0.0, 1.0)
            live.give(m.Drag(tuple((start + [part * ahead, 0.0, low + part * up]).tolist())))
            live.step()
        live.give(m.Release())
        for _ in range(round(2.5 / dt)):
            live.step()
            top = max(top, float(live.world.data.xpos[foot][2]) - ground)
        upright = live.world.data.xmat[foot].reshape(3, 3)[2, 2] > 0.99
        good += bool(upright and top > 0.05)
    assert good >= 3
