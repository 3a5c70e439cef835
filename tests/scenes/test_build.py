"""From a scene to a run: names, places, goals, locked joints, and errors that name the key."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.errors import SceneError
from manikin.scenes.build_goals import quat_from_euler
from manikin.spatial import rotate, yaw_of

MakeScene = Callable[..., mk.Scene]
HANDS = {"measure": "point", "of": ["hand_l", "hand_r"]}
TURN = {"measure": "orientation", "of": ["hand_l", "hand_r"]}


def names(model: mujoco.MjModel, kind: str) -> list[str]:
    return [getattr(model, kind)(i).name for i in range({"body": model.nbody, "joint": model.njnt}[kind])]


def test_the_human_of_the_contract(stand: MakeScene) -> None:
    model = mk.build_run(stand(), record=False).world.model
    sides = ("clavicle", "upper_arm", "forearm", "hand", "thigh", "shank", "foot", "toes")
    bodies = {"pelvis", "lumbar", "thorax", "head", *(f"{b}_{s}" for b in sides for s in "lr")}
    assert set(names(model, "body")) == {"world", "ball"} | bodies
    assert model.nv == 47 + 6
    assert {"root", "shank_l_flexion", "ball"} <= set(names(model, "joint"))


@pytest.mark.parametrize(("at", "facing"), [((0.0, 0.0), 0.0), ((1.5, -0.5), 90.0), ((-1.0, 2.0), -150.0)])
def test_at_and_facing_place_the_character(stand: MakeScene, at: tuple[float, float], facing: float) -> None:
    world = mk.build_run(stand(**{"character.at": list(at), "character.facing": facing}), record=False).world
    ankles = [world.data.xpos[world.body(f)] for f in ("foot_l", "foot_r")]
    middle = np.mean(ankles, axis=0)[:2]
    ahead = np.array([np.cos(np.deg2rad(facing)), np.sin(np.deg2rad(facing))])
    # `at` lies between the feet, near the ankles
    assert np.linalg.norm(middle - at) < 0.03
    assert np.cos(yaw_of(world.data.xquat[world.body("pelvis")]) - np.deg2rad(facing)) > 0.999
    across = ankles[0][:2] - ankles[1][:2]
    assert abs(across @ ahead) < 0.01
    assert np.cross([*ahead, 0], [*across, 0])[2] > 0.1
    soles = [world.data.site_xpos[world.site(f)][2] for f in ("foot_l", "foot_r")]
    assert np.abs(soles).max() < 0.005


def two(**changes: Any) -> dict[str, Any]:
    posture = {"measure": "posture", "law": "nearest"}
    return {
        "character": None,
        "characters": {"a": {"at": [0, 1]}, "b": {"at": [0, -1], "height": 1.6, "facing": 180.0}},
        "tasks": {"one": posture | {"character": "a"}, "two": posture | {"character": "b"}} | changes,
    }


def test_several_characters_have_their_names_before_everything(stand: MakeScene) -> None:
    scene = stand(**two(hand={"measure": "point", "of": ["hand_l"], "character": "b", "law": "hold"}))
    run = mk.build_run(scene)
    model = run.world.model
    assert model.nv == 2 * 47 + 6
    assert {"a/pelvis", "b/pelvis", "a/hand_l", "b/hand_l", "ball"} <= set(names(model, "body"))
    assert {"a/root", "b/shank_l_flexion"} <= set(names(model, "joint"))
    assert run.recorder is not None
    assert list(run.recorder.meta["characters"]) == ["a/pelvis", "b/pelvis"]
    # a task finds the names of its own character without the prefix
    hand = next(t for t in run.tasks if t.name == "hand")
    value = hand.measure.evaluate(run.world.dynamics()).value
    assert np.allclose(value, run.world.data.site_xpos[run.world.site("b/hand_l")])
    run.advance(50)
    assert np.abs(run.world.data.qvel).max() < 5


def test_locked_joints_stay_locked(stand: MakeScene) -> None:
    locked = ["shank_l_flexion", "forearm_r_flexion", "head_flexion"]

    def drift(lock: list[str]) -> float:
        changes: dict[str, Any] = {"character.locked": lock}
        # everything pulls towards a crouch
        changes["tasks.posture"] = {"measure": "posture", "goal": {"clip": "lift_knees", "frame": 60}, "frequency": 1.5}
        recording = mk.run(stand(**changes)).recording
        model = mujoco.MjModel.from_xml_string(recording.mjcf)
        columns = [int(model.joint(j).qposadr[0]) for j in locked]
        return float(np.abs(recording.qpos[:, columns] - recording.qpos[0, columns]).max())

    assert drift(locked) < 0.003
    assert drift([]) > 0.05


# --- goals


def goal_of(scene: mk.Scene, task: str) -> tuple[np.ndarray, mk.World]:
    run = mk.build_run(scene, record=False)
    found = next(t for t in run.tasks if t.name == task)
    assert found.goal is not None
    return found.goal.at(run.world).value, run.world


def test_goals_in_the_frame_of_the_feet(stand: MakeScene) -> None:
    goal = {"of": "feet", "at": [0.1, 0.02], "scale": True}
    changes = {"character.facing": 90.0, "character.height": 2.0, "tasks.balance": {"measure": "com", "goal": goal}}
    value, world = goal_of(stand(**changes), "balance")
    middle = np.mean([world.data.site_xpos[world.site(f)] for f in ("foot_l", "foot_r")], axis=0)[:2]
    # facing 90 degrees: ahead is +y, left is -x; lengths grow with stature
    assert np.allclose(value - middle, np.array([-0.02, 0.1]) * 2.0 / 1.75, atol=2e-3)


def test_goals_from_the_feet_follow_the_measure(stand: MakeScene) -> None:
    up = {"measure": "com", "axes": ["z"], "goal": {"of": "feet", "at": [0.1, 0.2, 0.9]}}
    value, world = goal_of(stand(**{"tasks.up": up}), "up")
    foot = world.data.site_xpos[world.site("foot_l")]
    assert np.allclose(value, [foot[2] + 0.9])
    both = HANDS | {"goal": {"of": "feet", "at": [[0.3, 0.2, 1.0], [0.3, -0.2, 1.0]]}}
    value, world = goal_of(stand(**{"tasks.hands": both}), "hands")
    assert value.shape == (6,)
    assert np.allclose(value[:3] - value[3:], [0, 0.4, 0], atol=1e-6)


def test_goals_in_the_frame_of_a_prop_move_with_it(stand: MakeScene) -> None:
    goal = {"of": "ball", "at": [[0, 0.1, 0], [0, -0.1, 0]]}
    scene = stand(**{"tasks.hands": HANDS | {"goal": goal}, "props.ball.turn": [0.0, 0.0, 90.0]})
    run = mk.build_run(scene, record=False)
    hands = next(t for t in run.tasks if t.name == "hands")
    assert hands.goal is not None
    assert np.allclose(hands.goal.at(run.world).value, [1.9, 0, 0.1, 2.1, 0, 0.1])
    address = int(run.world.model.joint("ball").qposadr[0])
    run.world.data.qpos[address] += 0.5
    run.world.forward()
    assert np.allclose(hands.goal.at(run.world).value, [2.4, 0, 0.1, 2.6, 0, 0.1])


def test_carried_goals_keep_the_hands_where_they_are_on_the_prop(stand: MakeScene) -> None:
    goal = {"carry": "ball", "at": [0.4, 0.0, 1.0]}
    value, world = goal_of(stand(**{"tasks.hands": HANDS | {"goal": goal}}), "hands")
    now = np.concatenate([world.data.site_xpos[world.site(h)] for h in ("hand_l", "hand_r")])
    assert np.allclose(value - now, np.tile(np.array([0.4, 0.0, 1.0]) - [2.0, 0.0, 0.1], 2))


def test_goals_of_other_kinds(stand: MakeScene) -> None:
    value, _ = goal_of(stand(**{"tasks.turn": TURN | {"goal": [0.0, 0.0, 90.0]}}), "turn")
    assert np.allclose(value, [np.sqrt(0.5), 0, 0, np.sqrt(0.5)] * 2)
    value, _ = goal_of(stand(**{"tasks.posture": {"measure": "posture", "of": ["shank_l_flexion"], "goal": [90.0]}}), "posture")
    assert np.allclose(value, [np.pi / 2])
    pose = {"measure": "posture", "of": ["shank_l_flexion"], "goal": {"clip": "lift_knees", "frame": -1}}
    value, _ = goal_of(stand(**{"tasks.posture": pose}), "posture")
    assert np.allclose(value, mk.load_clip("lift_knees").angles(("shank_l_flexion",))[-1])
    path = {"path": [[0.0, 1, 2, 3], [0.1, 1, 2, 4]]}
    value, _ = goal_of(stand(**{"tasks.hand": {"measure": "point", "of": "hand_l", "law": "track", "goal": path}}), "hand")
    assert np.allclose(value, [1, 2, 3])


def test_euler_angles_turn_about_world_axes_in_order() -> None:
    q = quat_from_euler(np.deg2rad([90.0, 0.0, 90.0]))
    # roll takes y to z, where yaw leaves it
    assert np.allclose(rotate(q, np.array([0.0, 1.0, 0.0])), [0, 0, 1])
    assert np.allclose(rotate(q, np.array([1.0, 0.0, 0.0])), [0, 1, 0])


# --- errors

START = {"name": "a", "when": "start"}
ROPE = {"shape": "chain", "size": [0.01, 0.5], "links": 5}
PULL = [[0, 0, 0, 0], [1, 1, 0, 0]]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tasks.x": {"measure": "point", "of": "hand_m"}}, "tasks.x.of: no site or body is called 'hand_m'; did you mean 'hand_"),
    ({"tasks.x": {"measure": "posture", "of": "knee"}}, "tasks.x.of: no joint is called 'knee'"),
    ({"tasks.x": TURN | {"axis": [0, 0, 1]}}, "tasks.x.of: with axis, exactly one body"),
    ({"tasks.x": {"measure": "com", "character": "bob"}}, "tasks.x.character: given 'bob'"),
    ({"tasks.posture.clip": "stnd"}, "tasks.posture.clip: no clip is called 'stnd'; did you mean 'stand'?"),
    ({"tasks.x": HANDS | {"goal": [0, 0, 0]}}, "tasks.x.goal: needs 6 numbers, 3 were given"),
    ({"tasks.x": HANDS | {"goal": {"of": "ball", "at": [0, 0, 0]}}}, "tasks.x.goal.at: needs 2 points [x, y, z]"),
    ({"tasks.x": HANDS | {"goal": {"of": "bal", "at": [[0] * 3] * 2}}}, "tasks.x.goal.of: no site or body is called 'bal'"),
    ({"tasks.x": HANDS | {"goal": {"carry": "bal", "at": [0, 0, 0]}}}, "tasks.x.goal.carry: no movable prop is called 'bal'"),
    ({"tasks.x": HANDS | {"goal": {"carry": "ball", "at": [0, 0]}}}, "tasks.x.goal.at: needs one place"),
    ({"tasks.x": {"measure": "com", "goal": {"of": "feet", "at": [[0, 0, 0], [0, 0, 0]]}}}, "tasks.x.goal.at: needs 1 points"),
    ({"tasks.x": {"measure": "com", "goal": {"of": "feet", "at": []}}}, "tasks.x.goal.at: needs 1 points"),
    ({"tasks.x": HANDS | {"goal": {"of": "feet", "at": [0, 0, 1]}}}, "tasks.x.goal.at: needs 2 points"),
    ({"tasks.x": {"measure": "posture", "goal": {"of": "feet", "at": [0, 0, 1]}}}, "tasks.x.goal.at"),
    ({"tasks.x": HANDS | {"goal": {"clip": "stand"}}}, "tasks.x.goal: a clip's pose is a goal for measure 'posture'"),
    ({"tasks.x": HANDS | {"goal": {"path": [[0, 1], [0, 1]]}}}, "tasks.x.goal: path needs two or more rows"),
    ({"tasks.posture.goal": {"clip": "stand", "frame": 999}}, "tasks.posture.goal.frame: given 999: the clip has frames 0 to"),
    ({"tasks.x": {"measure": "orientation", "of": "head", "goal": [0, 0]}}, "tasks.x.goal: needs roll, pitch, yaw"),
    ({"joined": {"hand": "ball"}}, "joined.hand: no hand is called 'hand'; did you mean 'hand_"),
    ({"joined": {"hand_l": "bal"}}, "joined.hand_l: no movable prop, or link of one, is called 'bal'; did you mean 'ball'?"),
    ({"joined": {"hand_l": "ball"}, "props.ball.fixed": True}, "joined.hand_l: no movable prop"),
    ({"joined": {"hand_l": "ball", "hand_r": "ball"}}, "joined: two hands can be joined to a chain only"),
    ({"joined": {"hand_l": "rope_9"}, "props.rope": ROPE}, "joined.hand_l: no movable prop, or link of one, is called 'rope_"),
    ({"joined": {"hand_l": "rope", "hand_r": "rope_1"}, "props.rope": ROPE}, "joined: 1 links of 0.1 m reach 0.1 m, the hands"),
    ({"tugs.a": {"body": "bal", "path": PULL}}, "tugs.a.body: no site or body is called 'bal'; did you mean 'ball'?"),
    ({"character.clip": "stnd"}, "character.clip: no clip is called 'stnd'; did you mean 'stand'?"),
    ({"props.head": {"shape": "sphere", "size": [0.1], "at": [1, 1, 1]}}, "props.head: that name is taken"),
    ({"steps": [START, START]}, "steps.a.name: another step has the same name"),
    ({"steps": [START, {"name": "b", "when": "start"}]}, "steps.b.when: only the first step begins at the start"),
    ({"steps": [START | {"goals": {"postur": [1]}}]}, "steps.a.goals: no task is called 'postur'; did you mean 'posture'?"),
    ({"steps": [START | {"on": ["postur"]}]}, "steps.a.on: no task is called 'postur'; did you mean 'posture'?"),
    ({"steps": [START, {"name": "b", "when": {"task": "x", "within": 1.0}}]}, "steps.b.when.task: no task is called 'x'"),
    ({"steps": [START | {"otherwise": "b"}]}, "steps.a.otherwise: no step is called 'b'"),
    ({"steps": [START | {"grasp": {"hand": "ball"}}]}, "steps.a.grasp: no hand is called 'hand'; did you mean 'hand_"),
    ({"steps": [START | {"grasp": {"hand_l": "bal"}}]}, "steps.a.grasp: no movable prop is called 'bal'; did you mean 'ball'?"),
    ({"steps": [START | {"release": ["hand"]}]}, "steps.a.release: no hand is called 'hand'"),
    ({"steps": [START | {"tune": {"posture": {"reach": 3.0}}}]}, "tune.posture.reach: law 'nearest' has no such setting"),
    ({"facts.a": {"since": "a", "until": "b"}}, "facts.a: no step is called 'a'"),
    ({"facts.a": {"task": "postur"}}, "facts.a.task: given 'postur'; did you mean 'posture'?"),
    (two(x={"measure": "com"}), "tasks.x.character: is missing: which character's task is it?"),
    (two(x={"measure": "com", "character": "c"}), "tasks.x.character: given 'c'"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[m for _, m in WRONG])
def test_errors_name_the_key(stand: MakeScene, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        mk.build_run(stand(**changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_clip_file_of_ones_own(stand: MakeScene, tmp_path: Path) -> None:
    from manikin.clips.clip import load_clip, save_clip

    save_clip(load_clip("lift_back"), tmp_path / "mine.npz")
    own = mk.build_run(stand(**{"character.clip": str(tmp_path / "mine.npz")})).world.data.qpos
    shipped = mk.build_run(stand(**{"character.clip": "lift_back"})).world.data.qpos
    assert (own == shipped).all()
