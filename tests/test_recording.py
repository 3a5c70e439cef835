"""The recording: its contract, a replay written from the contract alone with plain MuJoCo, and what is refused."""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fuzzing
import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.checks import check_file
from manikin.errors import RecordingError
from manikin.playback import replay_model
from manikin.recording import TASK_FIELDS
from manikin.scenes.scripts import Steps
from manikin.studio.takes import TakeFolder
from manikin.untrusted import outside

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
MakeScene = Callable[..., mk.Scene]


@pytest.fixture(scope="module")
def file(lift: mk.Take, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The lift as a stranger finds it on disk."""
    path = tmp_path_factory.mktemp("recording") / "lift.npz"
    mk.save(lift, path)
    with np.load(path) as data:
        return dict(data)


def replay_by_hand(file: dict[str, Any], key: int = 0) -> np.ndarray:
    """Positions at the recorded frames, from the contract: state, then eq, ctrl and xfrc of each step, then mj_step."""
    model = mujoco.MjModel.from_xml_string(str(file["mjcf"]))
    data = mujoco.MjData(model)
    start = int(file["key_step"][key])
    mujoco.mj_setState(model, data, file["key_state"][key], STATE)
    for row in file["eq"][file["eq"][:, 0] < start]:
        data.eq_active[int(row[1])], model.eq_data[int(row[1]), :12] = row[2], row[3:]
    out = np.full_like(file["qpos"], np.nan)
    for k in range(start, len(file["ctrl"]) + 1):
        out[file["step"] == k] = data.qpos
        if k == len(file["ctrl"]):
            break
        for row in file["eq"][file["eq"][:, 0] == k]:
            data.eq_active[int(row[1])], model.eq_data[int(row[1]), :12] = row[2], row[3:]
        data.xfrc_applied[:] = 0
        for row in file["xfrc"][file["xfrc"][:, 0] == k]:
            data.xfrc_applied[int(row[1])] += row[2:]
        data.ctrl[:] = file["ctrl"][k]
        mujoco.mj_step(model, data)
    return out


def test_the_contract(file: dict[str, Any]) -> None:
    model = mujoco.MjModel.from_xml_string(str(file["mjcf"]))
    meta = json.loads(str(file["meta"]))
    keys = {"scene", "version", "seed", "timestep", "fps", "controller", "driven", "changes", "inputs"}
    assert keys <= meta.keys()
    frames, steps, size = len(file["time"]), round(4.5 / meta["timestep"]), mujoco.mj_stateSize(model, STATE)
    shapes = {
        "initial": (size,), "key_step": (len(file["key_step"]),), "key_state": (len(file["key_step"]), size),
        "time": (frames,), "step": (frames,), "qpos": (frames, model.nq), "qvel": (frames, model.nv),
        "contact_force": (frames, model.nbody, 3), "ctrl": (steps, model.nu), "xfrc": (0, 8), "eq": (len(file["eq"]), 15),
    }  # fmt: skip
    tasks = {f"task/{t}/{f}": (frames,) for t in meta_tasks(meta) for f in TASK_FIELDS}
    assert {k: v.shape for k, v in file.items() if k not in ("mjcf", "meta")} == shapes | tasks
    whole = {k for k, v in file.items() if v.dtype == np.int64}
    assert whole == {"step", "key_step"}
    assert all(v.dtype == np.float64 for k, v in file.items() if k not in whole | {"mjcf", "meta"})


def meta_tasks(meta: dict[str, Any]) -> list[str]:
    return list(tomllib.loads(meta["scene"])["tasks"])


def test_frames_are_even_and_the_first_is_the_initial_state(file: dict[str, Any]) -> None:
    meta = json.loads(str(file["meta"]))
    assert file["step"][0] == 0
    assert np.allclose(file["time"], file["step"] * meta["timestep"], rtol=0, atol=1e-9)
    assert np.allclose(file["time"], np.arange(len(file["time"])) / meta["fps"], rtol=0, atol=meta["timestep"] / 2 + 1e-9)
    model = mujoco.MjModel.from_xml_string(str(file["mjcf"]))
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, file["initial"], STATE)
    assert (data.qpos == file["qpos"][0]).all()
    assert (data.qvel == file["qvel"][0]).all()


def test_key_states_come_at_least_once_a_second(file: dict[str, Any]) -> None:
    times = file["key_step"] * 0.002
    assert times[0] == 0
    assert (file["key_state"][0] == file["initial"]).all()
    assert np.diff(np.append(times, file["time"][-1])).max() <= 1.0


def test_the_root_has_no_actuator(file: dict[str, Any]) -> None:
    model = mujoco.MjModel.from_xml_string(str(file["mjcf"]))
    driven = model.actuator_trnid[:, 0]
    assert (model.jnt_type[driven] == mujoco.mjtJoint.mjJNT_HINGE).all()
    assert len(set(driven)) == model.nu == 41


def test_plain_mujoco_replays_it(file: dict[str, Any]) -> None:
    grips = file["eq"][file["eq"][:, 0] > 0]
    # both hands took the box on the way, so the replay went through a grasp
    assert len(grips) == 2
    assert np.abs(replay_by_hand(file) - file["qpos"]).max() <= 1e-9


def test_a_replay_may_begin_at_any_key_state(file: dict[str, Any]) -> None:
    key = int(np.searchsorted(file["key_step"], file["eq"][:, 0].max(), side="right"))
    assert key < len(file["key_step"])
    later = file["step"] >= file["key_step"][key]
    assert np.abs(replay_by_hand(file, key) - file["qpos"])[later].max() <= 1e-9


def test_our_replay_agrees_and_watches_every_step(lift: mk.Take) -> None:
    seen: list[int] = []
    result = mk.replay(lift.recording, lambda step, model, data: seen.append(step))
    assert result.difference <= 1e-9
    assert seen == list(range(result.steps + 1))


def test_the_file_holds_the_recording(lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "a.npz")
    back = mk.load_recording(tmp_path / "a.npz")
    back.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert back.meta == lift.recording.meta
    assert back.tasks.keys() == lift.recording.tasks.keys()
    assert (back.qpos == lift.recording.qpos).all()


# forms in which a model may name files or code: what is put into it, and what the refusal quotes
OTHER = '<?xml version="1.0"?><!-- x --><mujoco>{}<worldbody/></mujoco>'
ASSET = OTHER.format("<asset>{}</asset>")
FOREIGN = [
    (ASSET.format('<mesh name="m" file="/etc/hosts.obj"/>'), '<mesh file="/etc/hosts.obj"> names a file'),
    (ASSET.format('<mesh name="m" FILE="a.obj"/>'), "<mesh FILE"),
    (ASSET.format('<Mesh name="m" File="a.obj"/>'), "<Mesh File"),
    (ASSET.format('<mesh name="m" fi&#108;e="a.obj"/>'), "not XML"),
    (ASSET.format('<mesh name="m" file=""/>'), "<mesh file"),
    (ASSET.format('<mesh\n\tname="m"\n\tfile\n=\n"a.obj"/>'), "<mesh file"),
    (ASSET.format("<mesh name='m' file='a.obj'/>"), "<mesh file"),
    (ASSET.format('<texture name="t" type="cube" fileright="a.png"/>'), "<texture fileright"),
    (ASSET.format('<texture name="t" type="2d" file="a.png" content_type="image/png"/>'), "<texture file"),
    (ASSET.format('<hfield name="h" file="a.png" size="1 1 1 1"/>'), "<hfield file"),
    (ASSET.format('<model name="m" file="a.xml"/>'), "<model file"),
    (ASSET.format('<model name="m" file="a.xml" content_type="text/xml"/>'), "<model file"),
    (ASSET.format('<skin name="s" file="a.skn"/>'), "<skin file"),
    (OTHER.format('<deformable><skin name="s" file="a.skn"/></deformable>'), "<skin file"),
    (OTHER.format('<default><default class="a"><mesh file="a.obj"/></default></default>'), "<mesh file"),
    (OTHER.format('<compiler meshdir="/etc"/>'), "<compiler meshdir"),
    (OTHER.format('<compiler texturedir="/etc"/>'), "<compiler texturedir"),
    (OTHER.format('<compiler assetdir="/etc" strippath="false"/>'), "<compiler assetdir"),
    (OTHER.format('<include file="a.xml"/>'), "<include>"),
    (OTHER.format('<INCLUDE file="a.xml"/>'), "<INCLUDE>"),
    (OTHER.format("<include/>"), "<include>"),
    (OTHER.format('<include file="a.xml"><body/></include>'), "<include>"),
    (OTHER.format('<x:include xmlns:x="y" file="a.xml"/>'), "include>"),
    (OTHER.format('<extension><plugin plugin="x.y"/></extension>'), "<extension>"),
    (OTHER.format('<actuator><plugin joint="j" plugin="x.y"/></actuator>'), "<plugin>"),
    (OTHER.format('<worldbody><geom><plugin instance="x"/></geom></worldbody>'), "<plugin>"),
    (OTHER.format('<worldbody><attach model="m" prefix="p"/></worldbody>'), "<attach>"),
    (OTHER.format('<worldbody><replicate count="2"><body><flexcomp name="f"'
                  ' file="a.obj"/></body></replicate></worldbody>'), "<flexcomp file"),
    (OTHER.format('<worldbody><flexcomp name="f" dim="3" file="a.msh"/></worldbody>'), "<flexcomp file"),
    (OTHER.format('<worldbody><composite type="cable" file="a"/></worldbody>'), "<composite file"),
    ('<robot name="r"><link name="l"><visual><mesh filename="a.obj"/></visual></link></robot>', "<robot>"),
    # one reader ends the declaration at the first >, another at the last
    ("<!DOCTYPE a [<!ENTITY x '><mujoco><include file=\"a\"/></mujoco>'>]><mujoco/>", "declarations"),
    ('<!DOCTYPE mujoco [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco>&x;</mujoco>', "declarations"),
    ('<!DOCTYPE mujoco SYSTEM "http://a.b/c.dtd"><mujoco/>', "declarations"),
    ('<?xml version="1.0"?>\n<!doctype x><mujoco/>', "declarations"),
    (OTHER.format("<![CDATA[<include file='a'/>]]>"), "declarations"),
    (OTHER.format("&x;"), "not XML"),
    (OTHER.format("<!-- -- --><include/>"), "not XML"),
    ('<mujoco/><include file="a.xml"/>', "not XML"),
    ('<mujoco/>\0<include file="a.xml"/>', "not XML"),
    ('<mujoco xmlns="x"><include file="a.xml"/></mujoco>', "not a <mujoco>"),
    ("<MuJoCo/>", "not a <mujoco>"),
    ("<mujoco", "not XML"),
    ("", "not XML"),
]  # fmt: skip


@pytest.mark.parametrize(("mjcf", "says"), FOREIGN)
def test_a_model_from_elsewhere_reads_no_files(
    lift: mk.Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mjcf: str, says: str
) -> None:  # fmt: skip
    path = tmp_path / "a.npz"
    recording = replace(lift.recording, mjcf=mjcf)
    recording.save(path)
    compiled: list[str] = []
    monkeypatch.setattr(mujoco.MjModel, "from_xml_string", lambda text: compiled.append(text))
    for refuse in (mk.load_recording, check_file, TakeFolder(tmp_path / "takes").add):
        with pytest.raises(RecordingError, match=re.escape(says)) as refused:
            refuse(path)
        assert str(refused.value).isprintable()
    with pytest.raises(RecordingError, match=re.escape(says)):
        mk.replay(recording)
    assert not compiled


def test_whatever_names_files_in_this_mujoco_is_refused() -> None:
    """Its own schema, so that a new version with new words is noticed."""
    words = set(re.findall(r"[A-Za-z_]+", mujoco.mj_printSchema(False, False)))
    naming = {w for w in words if re.search("file|dir$|plugin|include", w)} - {"dir", "strippath"}
    assert {"file", "fileright", "meshdir", "texturedir", "assetdir", "plugin"} <= naming
    for word in naming:
        assert outside(f'<mujoco><a {word}="x"/></mujoco>'), word


def test_models_without_files_are_taken(file: dict[str, Any]) -> None:
    assert not outside(str(file["mjcf"]))
    assert not outside('<?xml version="1.0"?><!-- file="a" --><mujoco><worldbody><light dir="0 0 -1"/></worldbody></mujoco>')


# --- what is not a recording


def changed(file: dict[str, Any], path: Path, arrays: dict[str, Any] | None = None, **meta: Any) -> Path:
    """The lift with other arrays, or other keys of its meta (... leaves one out)."""
    table = {k: v for k, v in (json.loads(str(file["meta"])) | meta).items() if v is not ...}
    np.savez(path, **(file | {"meta": np.array(json.dumps(table))} | (arrays or {})))
    return path


TABLE = 'name = "x"\n[character]\nmodel = "human"\n'
WRONG_META = {
    "fps": [0, -1, float("nan"), float("inf"), "60", None, True, 1e9, ..., 10**400],
    "timestep": [0, -0.002, float("nan"), "x", ..., 0.004],
    "seed": [1.5, "x", None, ...],
    "name": [3, None, ..., "a\ud800"],
    "scene": [3, "x = ", "a = " + "[" * 3000, "a = " + "9" * 5000, TABLE + "[facts]\na = 3", "facts = 1\n" + TABLE,
              TABLE + '[facts.a]\ntask = "none"', TABLE + '[facts.a]\nsince = "a"',
              TABLE + '[facts.a]\ntask = "hands"\ntake = "mean"',
              TABLE + '[camera]\nazimuth = "north"', ...],
    "characters": [[], {"a": "pelvis"}, {"a": ["nobody"]}, {"a": []}, {"a": ["thorax", "pelvis"]}, {"a": ["pelvis"] * 2},
                   {"a": ["pelvis"], "b": ["pelvis"]}, {"a": [["pelvis"]]}],
    "props": ["box", [1], {"a": 1}],
    "events": [3, [3], [{"name": "a"}], [{"name": "a", "time": "x", "step": 0}], ...],
    "inputs": [3, [{"step": "x", "kind": "a"}]],
    "changes": [3, [{"step": 0}]],
    "ok": ["yes", 1],
    "reason": [3],
    "facts": [3, []],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in WRONG_META.items() for v in values])
def test_meta_that_could_not_be_saved_again_is_refused(file: dict[str, Any], tmp_path: Path, key: str, value: object) -> None:
    path = changed(file, tmp_path / "a.npz", **{key: value})
    with pytest.raises(RecordingError) as refused:
        check_file(path)
    assert str(refused.value).isprintable()
    assert str(refused.value).startswith(f"{path}: ")


WRONG_ARRAYS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "text": lambda f: {"qpos": np.full(f["qpos"].shape, "x")},
    "complex": lambda f: {"qvel": f["qvel"].astype(complex)},
    "truth": lambda f: {"ctrl": f["ctrl"].astype(bool)},
    "not finite": lambda f: {"qpos": np.where(f["qpos"] > 0, np.nan, f["qpos"])},
    "huge": lambda f: {"qpos": f["qpos"] * 1e200},
    "no frames": lambda f: {n: f[n][:0] for n in ("time", "step", "qpos", "qvel", "contact_force")},
    "frames missing": lambda f: {"qvel": f["qvel"][:-1]},
    "a column less": lambda f: {"qvel": f["qvel"][:, 1:]},
    "other bodies": lambda f: {"contact_force": f["contact_force"][:, 1:]},
    "flat": lambda f: {"qpos": f["qpos"].ravel()},
    "steps of a fraction": lambda f: {"step": f["step"] + 0.5},
    "steps backwards": lambda f: {"step": f["step"][::-1].copy()},
    "steps beyond the end": lambda f: {"step": f["step"] + 100},
    "times of other steps": lambda f: {"time": f["time"] + 1.0},
    "times far away": lambda f: {"time": f["time"] * 1e9},
    "times that stand still": lambda f: {"time": f["time"][0] * np.ones(len(f["time"]))},
    "key states": lambda f: {"key_state": f["key_state"][:, 1:]},
    "key steps": lambda f: {"key_step": f["key_step"][1:]},
    "a task's column": lambda f: {"task/hands/error": f["task/hands/error"][1:]},
    "a task's text": lambda f: {"task/hands/force": f["task/hands/force"].astype(str)},
    "a task of one column": lambda f: {"task/other/error": f["task/hands/error"]},
    "a task without a column": lambda f: {"task/other": f["task/hands/error"]},
    "a model of text": lambda f: {"mjcf": np.array(b"<mujoco/>")},
    "another model": lambda f: {"mjcf": np.array("<mujoco/>")},
    "steps without end": lambda f: {"ctrl": np.zeros((10**9, 0))},
}


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_arrays_that_do_not_fit_are_refused(file: dict[str, Any], tmp_path: Path, case: str) -> None:
    path = changed(file, tmp_path / "a.npz", WRONG_ARRAYS[case](file))
    with pytest.raises(RecordingError) as refused:
        check_file(path)
    assert str(refused.value).isprintable()


def test_numbers_of_other_kinds_are_taken(file: dict[str, Any], tmp_path: Path) -> None:
    """Other programs write big-endian or shorter integers; positions are compared as they are."""
    path = changed(file, tmp_path / "a.npz", {"step": file["step"].astype(np.int16), "qpos": file["qpos"].astype(">f8")})
    assert check_file(path)["ok"]
    assert mk.load_recording(path).step.dtype == np.int64
    assert mk.load_recording(path).qpos.dtype == np.dtype(float)


def test_what_passes_the_check_is_saved_in_every_format(tmp_path: Path) -> None:
    """Names of bodies and characters may hold blanks, signs and slashes."""
    arrays = fuzzing.recording()
    mjcf = str(arrays["mjcf"]).replace('"arm"', '"my arm é/ö"').replace("pelvis", "root:\tx")
    meta = json.loads(str(arrays["meta"])) | {"name": "a/b\n\x1b é", "characters": {"a\x01/b": ["root:\tx", "my arm é/ö"]}}
    arrays |= {"mjcf": np.array(mjcf), "meta": np.array(json.dumps(meta))}
    np.savez(tmp_path / "a.npz", **arrays)
    assert check_file(tmp_path / "a.npz")["ok"]
    loaded = mk.load_recording(tmp_path / "a.npz")
    for kind in ("npz", "json", "csv", "glb", "bvh", "usda"):
        mk.save(loaded, tmp_path / f"b.{kind}")
        assert (tmp_path / f"b.{kind}").stat().st_size > 0
    assert check_file(tmp_path / "b.npz")["ok"]


@pytest.mark.draws
def test_a_model_with_little_room_for_pictures_is_drawn(tmp_path: Path) -> None:
    arrays = fuzzing.recording()
    small = str(arrays["mjcf"]).replace("<mujoco>", '<mujoco><visual><global offwidth="60" offheight="40"/></visual>')
    np.savez(tmp_path / "a.npz", **(arrays | {"mjcf": np.array(small)}))
    assert check_file(tmp_path / "a.npz")["ok"]
    mk.save(mk.load_recording(tmp_path / "a.npz"), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "change",
    [
        {"step": 3, "field": "body_mass", "index": 9999, "value": 1.0},
        {"step": 3, "field": "nothing", "index": 0, "value": 1.0},
        {"step": 3, "field": "body_inertia", "index": 0, "value": 1.0},
        {"step": 3, "field": "names", "index": 0, "value": 1},
        {"step": 3, "field": "body_mass", "index": 1, "value": float("nan")},
        {"step": 3, "field": "body_mass", "index": float("inf"), "value": 1.0},
        {"step": 3, "field": "__class__", "index": 0, "value": 1.0},
        {"field": "body_mass"},
        "nothing",
    ],
)  # fmt: skip
def test_changes_that_cannot_be_made_are_refused_before_the_replay(lift: mk.Take, change: object) -> None:
    with pytest.raises(RecordingError, match="change 0"):
        replay_model(replace(lift.recording, meta=lift.recording.meta | {"changes": [change]}))


def test_task_names_may_hold_slashes(stand: MakeScene, tmp_path: Path) -> None:
    take = mk.run(stand(**{"tasks.a/b": {"measure": "com", "law": "hold"}}), seconds=0.02)
    mk.save(take, tmp_path / "a.npz")
    assert mk.load_recording(tmp_path / "a.npz").tasks.keys() == {"posture", "a/b"}


def test_same_seed_same_bytes(stand: MakeScene, tmp_path: Path) -> None:
    scene = stand(random={"props.ball.mass": [0.5, 1.5]})
    for name in "ab":
        take = mk.run(scene, seed=5)
        for kind in ("npz", "glb", "csv"):
            mk.save(take, tmp_path / f"{name}.{kind}")
    for kind in ("npz", "glb", "csv"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes(), kind
    mk.save(mk.run(scene, seed=6), tmp_path / "c.npz")
    assert (tmp_path / "c.npz").read_bytes() != (tmp_path / "a.npz").read_bytes()


def test_the_feet_carry_the_body(stand: MakeScene) -> None:
    recording = mk.run(stand(**{"character.mass": 60.0}), seconds=1.0).recording
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    feet = [model.body(name).id for name in recording.meta["feet"]]
    later = recording.time > 0.5
    total = recording.contact_force[later][:, feet].sum(axis=1).mean(axis=0)
    assert total[2] == pytest.approx(60.0 * 9.81, rel=0.02)
    assert np.abs(total[:2]).max() < 0.02 * total[2]
    # the ball lies on the floor, and nothing else is touched
    ball = model.body("ball").id
    assert recording.contact_force[later, ball, 2].mean() == pytest.approx(9.81, rel=0.02)
    others = [b for b in range(1, model.nbody) if b not in (*feet, ball)]
    assert not recording.contact_force[:, others].any()


def test_pushes_are_recorded_and_replay(stand: MakeScene, tmp_path: Path) -> None:
    def finish(inputs: list[mk.Push]) -> mk.Recording:
        run = mk.build_run(stand())
        run.advance(20)
        run.advance(30, inputs)
        run.advance(30)
        assert run.recorder is not None
        return run.recorder.finish()

    force, torque = np.array([60.0, -10.0, 5.0]), np.array([0.0, 3.0, 0.0])
    pushed, free = finish([mk.Push("thorax", force, torque), mk.Push("ball", -force)]), finish([])
    assert len(free.xfrc) == 0
    assert pushed.xfrc[:, 0].tolist() == sorted([*range(20, 50)] * 2)
    assert (pushed.xfrc[0, 2:] == [*force, *torque]).all()
    assert np.abs(pushed.qpos[-1] - free.qpos[-1]).max() > 1e-3
    pushed.save(tmp_path / "pushed.npz")
    with np.load(tmp_path / "pushed.npz") as data:
        file = dict(data)
    assert np.abs(replay_by_hand(file) - file["qpos"]).max() <= 1e-9
    file["xfrc"] = file["xfrc"][:-1]
    assert np.abs(replay_by_hand(file) - file["qpos"]).max() > 1e-9


def began(run: mk.Run) -> list[str]:
    assert isinstance(run.script, Steps)
    return run.script.began


def advance_until(run: mk.Run, step: str) -> None:
    for _ in range(300):
        if step in began(run):
            return
        run.advance(10)
    raise AssertionError(f"step {step} never began")


def test_a_branch_runs_ahead_and_is_what_then_happens() -> None:
    run = mk.build_run(mk.load_scene("lift"))
    advance_until(run, "touch")
    before = run.world.full_state()
    tasks = [(t.active, t.goal, t.error) for t in run.tasks]
    ahead = run.branch()
    # the branch grasps the box; the original does not know
    advance_until(ahead, "lift")
    ahead.advance(50)
    assert (run.world.full_state() == before).all()
    assert [(t.active, t.goal, t.error) for t in run.tasks] == tasks
    run.advance(ahead.world.steps - run.world.steps)
    assert (run.world.full_state() == ahead.world.full_state()).all()
    assert began(run) == began(ahead)
