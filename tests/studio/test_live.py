"""A run with a user's hands in it: what is dragged follows, everything replays, and every moment can be returned to."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest

from manikin.errors import InputError
from manikin.playback import replay
from manikin.scenes.scene import load_scene, shipped
from manikin.spatial import quat_from_axis_angle, quat_multiply
from manikin.studio.drag import HAND_SPEED, com_of
from manikin.studio.journal import Journal, Past
from manikin.studio.knobs import KnobBox
from manikin.studio.live import Live, read_input, run_again
from manikin.studio.messages import Assist, Drag, Grab, Knob, Release
from manikin.studio.pulls import PUSH_MASS, PUSH_MOST


def steps(live: Live, count: int) -> None:
    for _ in range(count):
        live.step()


def site(live: Live, name: str) -> np.ndarray:
    return live.world.data.site_xpos[live.world.site(name)].copy()


def body(live: Live, name: str) -> np.ndarray:
    return live.world.data.xpos[live.world.body(name)].copy()


def test_a_hand_that_a_task_moves_follows_and_goes_back_to_work() -> None:
    live = Live(load_scene("lift"))
    steps(live, 250)
    point = np.array([0.02, 0.0, -0.05])
    hand = live.world.body("hand_r")

    def place() -> np.ndarray:
        return live.world.data.xpos[hand] + live.world.data.xmat[hand].reshape(3, 3) @ point

    goal = place() + [0.1, -0.1, 0.25]
    other = live.run.tasks[0].goal
    live.give(Grab("hand_r", "task", tuple(point)))
    live.give(Drag(tuple(goal)))
    assert np.linalg.norm(place() - goal) > 0.25
    steps(live, 1300)
    assert np.linalg.norm(place() - goal) < 0.03
    assert live.step_name() == "reach", "a hand that is held aside takes nothing"
    assert not live.force.any(), "a task pulls, nothing from outside"
    live.give(Release())
    live.step()
    assert live.run.tasks[0].goal is other


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_a_part_that_is_held_can_be_turned(axis: tuple[float, float, float]) -> None:
    live = Live(load_scene("stand"))
    steps(live, 50)
    hand = live.world.body("hand_r")
    first, place = live.world.data.xquat[hand].copy(), body(live, "hand_r")
    live.give(Grab("hand_r", "task"))
    x, y, z = place + [0.1, 0.0, 0.15]
    turn = quat_from_axis_angle(axis, 0.5)
    live.give(Drag((x, y, z), tuple(turn.tolist())))
    steps(live, 800)
    away = np.zeros(3)
    mujoco.mju_subQuat(away, live.world.data.xquat[hand], quat_multiply(turn, first))
    assert np.linalg.norm(away) < 0.05
    live.give(Release())
    live.step()
    assert not any(t.active for t in live.run.tasks if t.name.startswith("studio_"))


def test_without_the_drag_the_hand_does_not_come() -> None:
    live = Live(load_scene("lift"))
    steps(live, 250)
    goal = site(live, "hand_r") + [0.1, -0.1, 0.25]
    steps(live, 1000)
    assert np.linalg.norm(site(live, "hand_r") - goal) > 0.1


@pytest.mark.parametrize(
    ("scene", "part", "way"),
    [
        ("stand", "head", [0.05, 0.0, -0.05]), ("stand", "pelvis", [0.04, 0.05, -0.05]), ("lift", "head", [0.1, 0.0, -0.05]),
        ("lift", "forearm_l", [0.1, 0.1, 0.2]), ("chain", "upper_arm_r", [0.0, 0.05, 0.05]),
    ],
)  # fmt: skip
def test_another_part_of_the_body_follows_too(scene: str, part: str, way: list[float]) -> None:
    live = Live(load_scene(scene))
    steps(live, 200)
    goal = body(live, part) + way
    live.give(Grab(part, "task"))
    live.give(Drag(tuple(goal)))
    steps(live, 800)
    assert np.linalg.norm(body(live, part) - goal) < 0.02
    live.give(Release())
    assert not next(t for t in live.run.tasks if t.name == "studio_drag").active


def test_a_push_is_newtons_and_moves_the_body() -> None:
    live, alone = Live(load_scene("stand")), Live(load_scene("stand"))
    steps(live, 100)
    steps(alone, 100)
    live.give(Grab("thorax", "push"))
    for _ in range(150):
        live.give(Drag(tuple(body(live, "thorax") + [0.2, 0.0, 0.0])))
        live.step()
        alone.step()
    assert np.allclose(live.force, [100.0, 0.0, 0.0], atol=3.0)
    assert body(live, "thorax")[0] - body(alone, "thorax")[0] > 0.01
    # a goal that has come far enough
    live.give(Drag((50.0, 0.0, 1.0)))
    assert live.grip is not None
    live.grip.goal[0] += 2.0
    live.step()
    assert np.linalg.norm(live.force) == pytest.approx(PUSH_MOST)


def test_a_light_thing_is_pushed_as_much_less() -> None:
    live = Live(load_scene("lamp"))
    steps(live, 100)
    live.give(Grab("head", "push"))
    live.give(Drag((50.0, 0.0, 1.0)))
    mass = live.world.model.body_mass[live.cast.characters["foot"]].sum()
    assert 1.0 < mass < 10.0
    steps(live, 30)
    rising = np.linalg.norm(live.force)
    assert 0 < rising < 0.3 * PUSH_MOST * mass / PUSH_MASS, "the pointer jumps, the force does not"
    live.grip.follow(10.0)
    live.step()
    assert np.linalg.norm(live.force) == pytest.approx(PUSH_MOST * mass / PUSH_MASS)


def test_a_goal_follows_a_pointer_that_jumps_no_faster_than_a_hand() -> None:
    live = Live(load_scene("stand"))
    steps(live, 100)
    start = body(live, "hand_l")
    live.give(Grab("hand_l", "task"))
    live.give(Drag((5.0, 0.0, 1.0)))
    before = live.grip.goal.copy()
    for _ in range(20):
        live.step()
        assert np.linalg.norm(live.grip.goal - before) <= HAND_SPEED * live.world.timestep + 1e-12
        before = live.grip.goal.copy()
    assert np.linalg.norm(before - start) == pytest.approx(20 * HAND_SPEED * live.world.timestep)
    live.give(Drag(tuple(before + [0.0, 0.0, 0.005])))
    live.step()
    assert np.array_equal(live.grip.goal, live.grip.pointer), "what is near is reached at once"


@pytest.mark.parametrize(("scene", "prop"), [("lift", "box"), ("chain", "chain_9"), ("pendulum", "bob")])
def test_props_hang_on_a_spring(scene: str, prop: str) -> None:
    live = Live(load_scene(scene))
    steps(live, 200)
    start = body(live, prop)
    live.give(Grab(prop, "spring"))
    live.give(Drag(tuple(start + [0.0, 0.15, 0.1])))
    steps(live, 300)
    assert body(live, prop)[1] - start[1] > 0.04
    assert 1.0 < np.linalg.norm(live.force) < 600.0
    with pytest.raises(InputError, match="cannot be grabbed by 'task'"):
        live.give(Grab(prop, "task"))
    assert live.grip is not None, "a refused grab changes nothing"


def test_a_goal_stays_where_it_is_put() -> None:
    live = Live(load_scene("pendulum"))
    steps(live, 300)
    hand = next(t for t in live.run.tasks if t.name == "hand")
    goal = site(live, "hand_r") + [0.0, 0.05, 0.15]
    live.give(Grab("hand/0", "goal"))
    live.give(Drag(tuple(goal)))
    steps(live, 100)
    live.give(Release())
    steps(live, 1100)
    assert np.allclose(hand.goal.at(live.world).value, goal)
    assert np.linalg.norm(site(live, "hand_r") - goal) < 0.05
    with pytest.raises(InputError, match="did you mean 'hand/0'"):
        live.give(Grab("hand/1", "goal"))


def test_the_centre_of_mass_is_a_handle() -> None:
    live = Live(load_scene("stand"))
    steps(live, 500)
    bodies = live.cast.characters["pelvis"]
    goal = com_of(live.world, bodies) + [0.03, 0.0, 0.0]
    live.give(Grab("pelvis", "com"))
    live.give(Drag(tuple(goal)))
    steps(live, 800)
    assert abs(com_of(live.world, bodies)[0] - goal[0]) < 0.01
    live.give(Release())
    steps(live, 800)
    assert abs(com_of(live.world, bodies)[0] - goal[0]) > 0.015


def test_assist_is_bounded_recorded_and_reported() -> None:
    live = Live(load_scene("stand"))
    steps(live, 50)
    live.give(Assist(50.0))
    live.give(Grab("pelvis", "com"))
    live.give(Drag(tuple(com_of(live.world, live.cast.characters["pelvis"]) + [0.0, 0.2, 0.0])))
    steps(live, 200)
    assert np.linalg.norm(live.helped) == pytest.approx(50.0)
    assert live.facts()["assist_impulse"] == pytest.approx(50.0 * 200 * 0.002, rel=0.2)
    assert np.allclose(live.world.data.xfrc_applied[live.world.body("pelvis"), :3], live.helped)
    live.give(Assist(0.0))
    live.step()
    assert not live.world.data.xfrc_applied.any()
    assert not Live(load_scene("stand")).facts()


def wild(live: Live, count: int, seed: int = 0) -> None:
    """Grab, drag, push, turn knobs: a bit of everything, the same for the same seed."""
    rng = np.random.default_rng(seed)
    parts = [("hand_r", "task"), ("head", "task"), ("thorax", "push")]
    if live.scene.controller == "direct":
        bones = [n for n in next(iter(live.meta["characters"].values())) if not n.startswith("node_")]
        parts = [(bones[0], "task"), (bones[-1], "task"), (bones[0], "push")]
    parts += [(live.world.names(1)[b], "spring") for bodies in live.cast.props.values() for b in bodies[-1:]]
    for k in range(count):
        if k % 60 == 10:
            name, mode = parts[int(rng.integers(len(parts)))]
            live.give(Grab(name, mode, (0.01, 0.0, 0.02)))  # type: ignore[arg-type]
        if live.grip is not None and k % 7 == 0:
            turn = (0.98, 0.1, 0.1, 0.1) if k % 2 else None
            live.give(Drag(tuple(live.grip.goal + rng.normal(0, 0.03, 3)), turn))
        if k % 60 == 50:
            live.give(Release())
        if k % 90 == 40:
            for info in live.knobs.infos():
                if info.live:
                    value = float(rng.uniform(info.low, 0.5 * (info.low + info.high)))
                    live.give(Knob(info.path, float(round(value)) if info.choices else value))
        if k == 100:
            live.give(Assist(80.0))
        live.step()


@pytest.mark.parametrize("scene", list(shipped()))
def test_everything_replays_in_plain_mujoco_and_can_be_done_again(scene: str, tmp_path: Path) -> None:
    path = tmp_path / "take.journal"
    live = Live(load_scene(scene), partial(Journal, path=path))
    steps(live, 100)
    wild(live, 300)
    moment = live.moment()
    there = live.world.data.qpos.copy()
    wild(live, 200, seed=1)
    end = live.world.full_state()
    assert isinstance(live.run.recorder, Journal)
    live.run.recorder.close(True, "", live.facts())

    past = Past(path)
    recording = past.recording()
    assert len(recording.ctrl) == 600 == past.steps
    assert len(recording.xfrc)
    assert recording.meta["inputs"]
    result = replay(recording)
    assert result.difference <= 1e-9

    # the same inputs give the same motion, from the start and from a moment on the way
    again = Live(load_scene(scene))
    run_again(again, past.inputs(), 600)
    assert np.array_equal(again.world.full_state(), end)
    later = Live(load_scene(scene))
    later.restore(moment)
    assert np.array_equal(later.world.data.qpos, there)
    run_again(later, past.inputs(), 600)
    assert np.array_equal(later.world.full_state(), end)


def test_a_take_with_new_masses_pushes_and_a_grasp_replays(tmp_path: Path) -> None:
    path = tmp_path / "take.journal"
    live = Live(load_scene("lift"), partial(Journal, path=path))
    for k in range(2000):
        if k == 200:
            live.give(Knob("props.box.mass", 12.0))
        if k == 900:
            live.give(Grab("thorax", "push"))
            live.give(Drag(tuple(body(live, "thorax") + [0.1, 0.1, 0.0])))
        if k == 950:
            live.give(Release())
        if live.world.held and "props.box.mass" in live.knobs.turned and live.knobs.turned["props.box.mass"] == 12.0:
            live.give(Knob("props.box.mass", 20.0))
        live.step()
    assert live.world.held, "the box is held"
    assert isinstance(live.run.recorder, Journal)
    recording = live.run.recorder.finish()
    live.run.recorder.close(True, "", {})
    assert {c["field"] for c in recording.meta["changes"]} == {"body_mass", "body_inertia"}
    masses = [c["value"] for c in recording.meta["changes"] if c["field"] == "body_mass"]
    assert masses == pytest.approx([12.0, 20.0])
    assert replay(recording).difference <= 1e-9
    # a stranger's program agrees
    page = (Path(__file__).parents[2] / "docs" / "recording.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    recording.save(tmp_path / "take.npz")
    (tmp_path / "stranger.py").write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, "stranger.py", "take.npz"], cwd=tmp_path, capture_output=True, text=True)
    assert "2000 steps replayed" in done.stdout, done.stderr
    # without the changes it does not
    recording.meta["changes"].clear()
    assert replay(recording).difference > 1e-3


def test_a_heavier_box_is_lifted_more_slowly() -> None:
    seconds = []
    for mass in (4.0, 60.0):
        live = Live(load_scene("lift"))
        live.give(Knob("props.box.mass", mass))
        while body(live, "box")[2] < 0.6 and live.time < 8:
            live.step()
        seconds.append(live.time)
    assert seconds[0] + 0.1 < seconds[1] < 8


def test_knobs_say_whether_they_are_live() -> None:
    live = Live(load_scene("lift"))
    infos = {i.path: i for i in live.knobs.infos()}
    assert infos["props.box.mass"].live
    assert infos["tasks.hands.max_force"].live
    assert not infos["character.height"].live
    for path, value, says in (
        ("props.box.mas", 3.0, "did you mean 'props.box.mass'"), ("props.box.mass", 500.0, "allowed: 1 to 90 kg"),
        ("character.height", 1.6, "cannot be changed while"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=says):
            live.give(Knob(path, value))
    assert isinstance(live.knobs, KnobBox)


@pytest.mark.parametrize("row", [{}, {"step": -1, "kind": "release"}, {"step": 1, "kind": "reset"}, {"step": 1, "kind": "x"}])
def test_inputs_that_are_none_are_refused(row: dict[str, object]) -> None:
    with pytest.raises(InputError):
        read_input(row)
