"""The report of a run as JSON (success, and the facts that its scene declares), and its frames as CSV."""

import csv
import io
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.files import whole_file
from manikin.playback import cast
from manikin.recording import Recording

Report = dict[str, Any]
Array = NDArray[np.float64]


def make_report(recording: Recording, realtime_factor: float | None = None) -> Report:
    """The report: scene, ok, reason, seconds, seed, realtime_factor, then the facts that the scene declares."""
    meta = recording.meta
    out: Report = {
        "scene": meta["name"],
        "ok": bool(meta.get("ok", False)),
        "reason": meta.get("reason", ""),
        "seconds": round(float(recording.time[-1]), 6),
        "seed": meta["seed"],
        "realtime_factor": None if realtime_factor is None else round(realtime_factor, 3),
    }
    if meta.get("warnings"):
        out["warnings"] = meta["warnings"]
    facts = tomllib.loads(meta["scene"]).get("facts", {})
    if meta.get("drawn"):
        out["drawn"] = meta["drawn"]
    observed = {k: round(v, 6) if isinstance(v, float) else v for k, v in meta.get("facts", {}).items()}
    return out | observed | {name: _fact(recording, spec) for name, spec in facts.items()}


def _fact(recording: Recording, spec: dict[str, Any]) -> float | None:
    if "task" in spec:
        column = recording.tasks[spec["task"]][spec.get("column", "force")]
        column = column[np.isfinite(column)]
        if not len(column):
            return None
        found = {"max": column.max(), "min": column.min(), "last": column[-1]}
        return round(float(found[spec.get("take", "max")]), 6)
    times = {e["name"]: e["time"] for e in reversed(recording.meta["events"])}
    if spec["since"] not in times or spec["until"] not in times:
        return None
    return round(float(times[spec["until"]] - times[spec["since"]]), 6)


def save_json(report: Report, path: Path) -> None:
    """The report as one JSON object."""
    with whole_file(path) as stream:
        stream.write((json.dumps(clean(report), indent=2) + "\n").encode())


def clean(value: Any) -> Any:
    """Replace infinities and NaNs, which JSON does not have, by null."""
    if isinstance(value, dict):
        return {k: clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save_csv(recording: Recording, path: Path) -> None:
    """Write one row per frame: see docs/export.md."""
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    columns: dict[str, Array] = {"time": recording.time}
    characters = cast(recording, model)
    for name in [*characters, *recording.meta.get("props", [])]:
        body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        joint = int(model.body_jntadr[body]) if body >= 0 else -1
        if joint >= 0:
            pose = _poses(recording, model, body, joint)
            columns |= {f"{name}_{axis}": pose[:, k] for k, axis in enumerate("xyz")}
            if name in characters:
                columns |= {f"{name}_q{axis}": pose[:, 3 + k] for k, axis in enumerate("wxyz")}
    columns |= _far_ends(recording, model)
    for bodies in characters.values():
        columns |= _joints(recording, model, bodies)
    for task, data in recording.tasks.items():
        columns |= {f"{task}_{what}": data[what] for what in ("error", "force")}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[f"{v:.6g}" for v in row] for row in zip(*columns.values())])
    with whole_file(path) as stream:
        stream.write(text.getvalue().encode())


def _joints(recording: Recording, model: mujoco.MjModel, bodies: list[int]) -> dict[str, Array]:
    """Columns for a character's joints: hinges [deg], slides [m], ball joints as quaternions."""
    columns: dict[str, Array] = {}
    for joint in range(model.njnt):
        kind, start = model.jnt_type[joint], int(model.jnt_qposadr[joint])
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
        if int(model.jnt_bodyid[joint]) not in bodies or kind == mujoco.mjtJoint.mjJNT_FREE:
            continue
        if kind == mujoco.mjtJoint.mjJNT_BALL:
            columns |= {f"{name}_q{axis}": recording.qpos[:, start + k] for k, axis in enumerate("wxyz")}
        else:
            column = recording.qpos[:, start]
            columns[name] = np.rad2deg(column) if kind == mujoco.mjtJoint.mjJNT_HINGE else column
    return columns


def _poses(recording: Recording, model: mujoco.MjModel, body: int, joint: int) -> Array:
    """Position and quaternion (T, 7) of a body: recorded for a free body, computed for others."""
    if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
        start = int(model.jnt_qposadr[joint])
        return recording.qpos[:, start : start + 7]
    data = mujoco.MjData(model)
    poses = np.empty((len(recording.qpos), 7))
    for t, qpos in enumerate(recording.qpos):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        poses[t, :3], poses[t, 3:] = data.xpos[body], data.xquat[body]
    return poses


def _far_ends(recording: Recording, model: mujoco.MjModel) -> dict[str, Array]:
    """Columns for the far ends of chains and pendulums."""
    names = [f"{prop}_end" for prop in recording.meta.get("props", [])]
    sites = {n: mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, n) for n in names}
    sites = {n: s for n, s in sites.items() if s >= 0}
    if not sites:
        return {}
    data = mujoco.MjData(model)
    places = np.empty((len(recording.qpos), len(sites), 3))
    for t, qpos in enumerate(recording.qpos):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        places[t] = data.site_xpos[list(sites.values())]
    return {f"{n}_{axis}": places[:, s, k] for s, n in enumerate(sites) for k, axis in enumerate("xyz")}
