"""Replay a recording with plain MuJoCo, step by step. See docs/recording.md."""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.errors import RecordingError
from manikin.files import one_line
from manikin.recording import Recording
from manikin.untrusted import outside, wrong_model

Array = NDArray[np.float64]
Watch = Callable[[int, mujoco.MjModel, mujoco.MjData], None]


@dataclass(frozen=True)
class Replay:
    """The largest difference of positions from the recorded frames, its time [s], and the number of steps replayed."""

    difference: float
    time: float
    steps: int


def replay(recording: Recording, watch: Watch | None = None) -> Replay:
    """Replay with mj_step alone; `watch(step, model, data)` is called after each step (and before the first, step 0)."""
    model = replay_model(recording)
    data = mujoco.MjData(model)
    changes: dict[int, list[Array]] = {}
    for row in recording.eq:
        changes.setdefault(int(row[0]), []).append(row)
    pushes: dict[int, list[Array]] = {}
    for row in recording.xfrc:
        pushes.setdefault(int(row[0]), []).append(row)
    edits: dict[int, list[dict[str, object]]] = {}
    for edit in recording.meta.get("changes", []):
        edits.setdefault(int(edit["step"]), []).append(edit)

    mujoco.mj_setState(model, data, recording.initial, mujoco.mjtState.mjSTATE_INTEGRATION)
    _switch(model, data, changes.get(0, []))
    mujoco.mj_forward(model, data)
    frame_of = {int(s): i for i, s in enumerate(recording.step)}
    worst, when = 0.0, 0.0
    if watch is not None:
        watch(0, model, data)
    for k in range(len(recording.ctrl)):
        # edits first: mj_setConst moves the anchors of ball joints between bodies, and the rows of that step put them back
        _edit(model, edits.get(k, []))
        _switch(model, data, changes.get(k, []))
        data.xfrc_applied[:] = 0.0
        for row in pushes.get(k, []):
            data.xfrc_applied[int(row[1])] += row[2:]
        data.ctrl[:] = recording.ctrl[k]
        mujoco.mj_step(model, data)
        if watch is not None:
            watch(k + 1, model, data)
        frame = frame_of.get(k + 1)
        if frame is not None:
            gap = float(np.abs(data.qpos - recording.qpos[frame]).max(initial=0.0))
            # written so that NaN counts as different
            if not gap <= worst:
                worst, when = (gap if np.isfinite(gap) else np.inf), float(data.time)
    return Replay(worst, when, len(recording.ctrl))


def replay_model(recording: Recording) -> mujoco.MjModel:
    """The recorded model, if it compiles and the arrays and the meta fit it."""
    found = outside(recording.mjcf)
    if found:
        raise RecordingError(f"the recording's model is refused: {one_line(found)}; a recording must hold its whole model")
    try:
        model = mujoco.MjModel.from_xml_string(recording.mjcf)
    except (ValueError, mujoco.FatalError) as error:
        raise RecordingError(f"the recording's model does not compile: {one_line(' '.join(str(error).split()))}") from error
    if wrong := wrong_model(model):
        raise RecordingError(f"the recording's model is refused: {wrong}")
    frames, steps = len(recording.time), len(recording.ctrl)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION)
    shapes = {
        "initial": (size,), "step": (frames,), "key_state": (len(recording.key_step), size), "qpos": (frames, model.nq),
        "qvel": (frames, model.nv), "contact_force": (frames, model.nbody, 3), "ctrl": (steps, model.nu),
        "eq": (len(recording.eq), 15), "xfrc": (len(recording.xfrc), 8),
    }  # fmt: skip
    for name, shape in shapes.items():
        found = getattr(recording, name).shape
        if found != shape:
            raise RecordingError(f"the recording's {name} does not fit its model: its shape is {found}, not {shape}")
    for name, count in (("eq", model.neq), ("xfrc", model.nbody)):
        when, which = getattr(recording, name)[:, :2].T
        if not (np.isin(when, range(steps + 1)).all() and np.isin(which, range(count)).all()):
            raise RecordingError(f"the recording's {name} names steps or parts that do not exist")
    _check_changes(recording, model)
    cast(recording, model)
    given = recording.meta.get("timestep", model.opt.timestep)
    if abs(given - model.opt.timestep) > 1e-9:
        raise RecordingError(f"the recording's timestep is {given:g} s, that of its model {model.opt.timestep:g} s")
    return model


def cast(recording: Recording, model: mujoco.MjModel) -> dict[str, list[int]]:
    """The bodies of each character by the name of its root: bodies of the model, parents before children."""
    out: dict[str, list[int]] = {}
    seen: set[int] = set()
    for root, names in recording.meta.get("characters", {}).items():
        bodies = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in names]
        if min(bodies, default=0) < 1 or bodies != sorted(set(bodies)) or seen & set(bodies):
            raise RecordingError(f"the bodies of the recording's character '{one_line(root[:40])}' are not those of its model")
        out[root] = bodies
        seen |= set(bodies)
    return out


def _check_changes(recording: Recording, model: mujoco.MjModel) -> None:
    """Edits are single numbers of the model's own arrays."""
    changes = recording.meta.get("changes", [])
    if not isinstance(changes, list):
        raise RecordingError("the recording's changes are not a list")
    for k, edit in enumerate(changes):
        try:
            array, at = getattr(model, str(edit["field"])), edit["index"]
            fits = isinstance(array, np.ndarray) and array[tuple(at) if isinstance(at, list) else int(at)].ndim == 0
            good = fits and np.isfinite(float(edit["value"])) and int(edit["step"]) >= 0
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            why = one_line(str(error))[:200]
            raise RecordingError(f"the recording's change {k} cannot be made ({type(error).__name__}: {why})") from error
        if not good:
            raise RecordingError(f"the recording's change {k} is not a number of the model's arrays")


def _switch(model: mujoco.MjModel, data: mujoco.MjData, rows: list[Array]) -> None:
    for row in rows:
        e = int(row[1])
        data.eq_active[e] = int(row[2])
        model.eq_data[e, :12] = row[3:]


def _edit(model: mujoco.MjModel, edits: list[dict[str, object]]) -> None:
    for edit in edits:
        index = edit["index"]
        getattr(model, str(edit["field"]))[tuple(index) if isinstance(index, list) else index] = edit["value"]
    if edits:
        mujoco.mj_setConst(model, mujoco.MjData(model))
