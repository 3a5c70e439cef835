"""The report and the table of frames."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import manikin as mk
from manikin.errors import OutputError
from manikin.export.report import clean, make_report
from manikin.export.save import EXTENSIONS, check_output


def test_the_report_has_the_keys_of_the_contract(lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "lift.json")
    report = json.loads((tmp_path / "lift.json").read_text())
    wanted = {"scene": "lift", "ok": False, "seconds": 4.5, "seed": 0}
    assert {key: report[key] for key in wanted} == wanted
    assert list(report) == ["scene", "ok", "reason", "seconds", "seed", "realtime_factor", "time_to_top", "hand_force_max"]
    assert report["realtime_factor"] > 0
    # the run was cut off, and says where it stood
    assert "did not lead to" in report["reason"]


def test_facts_are_read_from_the_recording(lift: mk.Take) -> None:
    events = [{"name": "lift", "time": 1.0}, {"name": "top", "time": 2.25}, {"name": "lift", "time": 9.0}]
    meta = lift.recording.meta | {"events": events}
    report = make_report(replace(lift.recording, meta=meta))
    # the first time each step began
    assert report["time_to_top"] == 1.25
    assert report["hand_force_max"] == pytest.approx(np.nanmax(lift.recording.tasks["hands"]["force"]), abs=1e-6)
    assert make_report(replace(lift.recording, meta=meta | {"events": events[:1]}))["time_to_top"] is None


def test_json_knows_no_infinity() -> None:
    assert clean({"a": [1.0, float("nan"), (float("inf"),)], "b": "inf"}) == {"a": [1.0, None, [None]], "b": "inf"}


def test_the_table_of_frames(lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift, tmp_path / "lift.csv")
    with (tmp_path / "lift.csv").open(newline="") as stream:
        head, *rows = list(csv.reader(stream))
    tasks = ["hands", "palms", "elbow_l", "elbow_r", "level", "balance", "gaze", "posture"]
    places = [*(f"pelvis_{axis}" for axis in ("x", "y", "z", "qw", "qx", "qy", "qz")), *(f"box_{axis}" for axis in "xyz")]
    model = mujoco.MjModel.from_xml_string(lift.recording.mjcf)
    hinges = [model.joint(j) for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_HINGE]
    joints = [j.name for j in hinges]
    assert len(joints) == 41
    assert head == ["time", *places, *joints, *(f"{t}_{what}" for t in tasks for what in ("error", "force"))]
    values = {name: np.array([float(row[k]) for row in rows]) for k, name in enumerate(head)}
    assert np.allclose(values["time"], lift.recording.time, atol=1e-5)
    assert np.allclose(values["pelvis_z"], lift.recording.qpos[:, 2], rtol=1e-5)
    # the posture: each joint in degrees under its name, the root as a quaternion
    for joint in hinges:
        assert np.allclose(values[joint.name], np.degrees(lift.recording.qpos[:, joint.qposadr[0]]), atol=1e-3), joint.name
    assert np.ptp(values["shank_l_flexion"]) > 45
    quaternion = np.stack([values[f"pelvis_q{axis}"] for axis in "wxyz"], axis=1)
    assert np.allclose(quaternion, lift.recording.qpos[:, 3:7], atol=1e-5)
    # the box stands on the floor at first, and is lifted in the end
    assert values["box_z"][0] == pytest.approx(0.15)
    assert values["box_z"][-1] > 0.5
    assert np.allclose(values["hands_force"], lift.recording.tasks["hands"]["force"], rtol=1e-5)


def test_fixed_props_have_no_columns(stand: Callable[..., mk.Scene], tmp_path: Path) -> None:
    mk.save(mk.run(stand(**{"props.ball.fixed": True}), seconds=0.01), tmp_path / "a.csv")
    assert "ball" not in (tmp_path / "a.csv").read_text()


def test_a_recording_alone_can_be_saved_too(lift: mk.Take, tmp_path: Path) -> None:
    mk.save(lift.recording, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["realtime_factor"] is None


def test_only_known_kinds_are_saved(lift: mk.Take, tmp_path: Path) -> None:
    for kind in EXTENSIONS:
        check_output(tmp_path / f"a{kind}")
        check_output(tmp_path / f"a{kind.upper()}")
    with pytest.raises(OutputError, match=r"did you mean '\.json'"):
        mk.save(lift, tmp_path / "a.jsn")
    assert not list(tmp_path.iterdir())
