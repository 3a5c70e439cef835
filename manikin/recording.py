"""Recording: everything a run produced, in a file that anybody with plain MuJoCo can replay and judge."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manikin.errors import RecordingError
from manikin.files import load_npz, one_line, save_npz
from manikin.physics.contacts import body_forces
from manikin.physics.world import Control, World
from manikin.tasks.task import Task
from manikin.untrusted import outside, wrong_arrays, wrong_meta, wrong_times

Array = NDArray[np.float64]

# the arrays every recording has
_ARRAYS = ("initial", "key_step", "key_state", "time", "step", "qpos", "qvel", "contact_force", "ctrl", "xfrc", "eq")
# whole numbers; all others are float64
_KINDS = {"step": np.int64, "key_step": np.int64}
# seconds between two whole states
KEY_SECONDS = 0.5
TASK_FIELDS = ("error", "force", "limit", "priority", "active")


@dataclass(frozen=True)
class Recording:
    """See docs/recording.md. Frame rate: time, step, qpos, qvel, contact_force, tasks. Physics rate: ctrl, xfrc, eq."""

    mjcf: str
    meta: dict[str, Any]
    initial: Array
    key_step: NDArray[np.int64]
    key_state: Array
    time: Array
    step: NDArray[np.int64]
    qpos: Array
    qvel: Array
    contact_force: Array
    ctrl: Array
    xfrc: Array
    eq: Array
    tasks: dict[str, dict[str, Array]] = field(default_factory=dict)

    def save(self, path: Path | str) -> None:
        """Write as .npz: equal recordings give equal bytes."""
        arrays: dict[str, Any] = {"mjcf": np.array(self.mjcf), "meta": np.array(json.dumps(self.meta, sort_keys=True))}
        arrays |= {name: getattr(self, name) for name in _ARRAYS}
        for task, columns in self.tasks.items():
            arrays |= {f"task/{task}/{name}": column for name, column in columns.items()}
        save_npz(Path(path), arrays)


def load_recording(path: Path | str, limit: int | None = None) -> Recording:
    """Read a recording; anything else is refused in one line. limit: see load_npz."""
    data = load_npz(Path(path), RecordingError, limit)
    missing = {"mjcf", "meta", *_ARRAYS} - set(data)
    if missing:
        raise RecordingError(f"{path}: not a recording (missing {', '.join(sorted(missing))})")
    tasks: dict[str, dict[str, Array]] = {}
    for name in data:
        if name.startswith("task/"):
            task, _, column = name.removeprefix("task/").rpartition("/")
            tasks.setdefault(task, {})[column] = data[name]
    try:
        meta = json.loads(str(data["meta"]))
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: not a recording (meta is not JSON: {error})") from error
    arrays = {n: data[n] for n in _ARRAYS}
    wrong = (
        wrong_meta(meta)
        or wrong_arrays(arrays, tasks, TASK_FIELDS)
        or wrong_times(arrays["time"], arrays["step"], meta["timestep"])
    )
    if wrong:
        raise RecordingError(f"{path}: not a recording ({one_line(wrong)})")
    found = outside(str(data["mjcf"]))
    if found:
        raise RecordingError(f"{path}: its model is refused: {one_line(found)}; a recording must hold its whole model")
    # a damaged file may hold any bits, NaNs that signal too
    with np.errstate(invalid="ignore"):
        plain: dict[str, Any] = {n: np.ascontiguousarray(a, _KINDS.get(n, np.float64)) for n, a in arrays.items()}
        numbers = {t: {c: np.ascontiguousarray(a, np.float64) for c, a in columns.items()} for t, columns in tasks.items()}
    return Recording(str(data["mjcf"]), meta, **plain, tasks=numbers)


class Recorder:
    """Collects a run step by step; `finish` makes the Recording, also after a failure or an interrupt.

    Everything goes through `keep`, so that a subclass can store it elsewhere than in memory.
    """

    def __init__(self, world: World, tasks: list[Task], fps: float, meta: dict[str, Any]) -> None:
        self.world, self.tasks, self.fps, self.meta = world, tasks, fps, meta
        self.kept: dict[str, list[Any]] = {
            kind: [] for kind in ("ctrl", "xfrc", "eq", "frame", "key", "event", "change", "input")
        }
        self._frames = self._keys = 0
        # numbers of steps at which the next frame and the next key state are due, and of the last frame
        self._next_frame = self._next_key = 0
        self._last_frame = -1
        # the steps that are recorded: one in which the simulation diverged is not
        self._recorded = world.steps
        self.initial = world.full_state()
        self.begin()
        self.switches()
        self._key(self.initial)
        self._frame({})

    def begin(self) -> None:
        """Before anything is kept."""

    def keep(self, kind: str, row: Any) -> None:
        """One thing that happened: an array of numbers, or a table (event, change, input)."""
        self.kept[kind].append(row)

    def switches(self) -> None:
        """Note grasps, releases and clamps; they act before the coming step."""
        for e in self.world.switched:
            data = self.world.model.eq_data[e]
            self.keep("eq", [float(self.world.steps), float(e), float(self.world.data.eq_active[e]), *data[:12]])
        self.world.switched.clear()

    def pushed(self, body: int, wrench: Array) -> None:
        """Note an external force (3) and torque (3) that acts on a body in the coming step."""
        self.keep("xfrc", [float(self.world.steps), float(body), *wrench])

    def event(self, name: str, **facts: Any) -> None:
        """Note something that happened, such as a step of the script."""
        self.keep("event", {"time": self.world.time, "step": self.world.steps, "name": name, **facts})

    def changed(self, field: str, index: int | list[int], value: float) -> None:
        """Note a number of the model that is changed before the coming step."""
        self.keep("change", {"step": self.world.steps, "field": field, "index": index, "value": value})

    def given(self, kind: str, **what: Any) -> None:
        """Note an input that acts from the coming step on."""
        self.keep("input", {"step": self.world.steps, "kind": kind, **what})

    def stepped(self, control: Control) -> None:
        """After each physics step."""
        self.keep("ctrl", control.ctrl)
        self._recorded = self.world.steps
        self._due(self.world.steps, control)

    def _due(self, steps: int, control: Control) -> None:
        """Frames and whole states, when they are."""
        if steps >= self._next_frame:
            self._frame(control.report())
        if steps >= self._next_key:
            self._key(self.world.full_state())

    def _key(self, state: Array) -> None:
        self.keep("key", (self.world.steps, state))
        self._keys += 1
        self._next_key = next_key(self._keys, self.world.timestep)

    def _frame(self, report: dict[str, Any]) -> None:
        world = self.world
        rows = []
        for task in self.tasks:
            r = report.get(task.name)
            force, limit = (r.force, r.limit) if r else (0.0, _limit(task))
            rows.append([task.error, force, limit, float(task.priority), float(task.active)])
        force = body_forces(world.model, world.data)
        self.keep("frame", (world.time, world.steps, world.data.qpos.copy(), world.data.qvel.copy(), force, rows))
        self._frames += 1
        self._last_frame = world.steps
        self._next_frame = next_frame(self._frames, self.fps, world.timestep)

    def last_frame(self) -> None:
        """The very last moment as a frame."""
        if self._last_frame != self.world.steps == self._recorded:
            self._frame({})

    def finish(self) -> Recording:
        """What was collected, with the very last moment as a frame."""
        self.last_frame()
        kept, model = self.kept, self.world.model
        time, step, qpos, qvel, force, rows = zip(*kept["frame"])
        noted = {"events": kept["event"], "changes": kept["change"], "inputs": kept["input"]}
        columns = np.array(rows, float).reshape(len(rows), len(self.tasks), len(TASK_FIELDS))
        return Recording(
            mjcf=self.world.mjcf,
            meta=self.meta | noted | {"fps": self.fps, "timestep": self.world.timestep},
            initial=self.initial,
            key_step=np.array([k for k, _ in kept["key"]], np.int64),
            key_state=np.array([s for _, s in kept["key"]]),
            time=np.array(time),
            step=np.array(step, np.int64),
            qpos=np.array(qpos),
            qvel=np.array(qvel),
            contact_force=np.array(force),
            ctrl=np.array(kept["ctrl"]).reshape(-1, model.nu),
            xfrc=np.array(kept["xfrc"]).reshape(-1, 8),
            eq=np.array(kept["eq"]).reshape(-1, 15),
            tasks={t.name: dict(zip(TASK_FIELDS, columns[:, k].T.copy())) for k, t in enumerate(self.tasks)},
        )


def next_frame(frames: int, fps: float, timestep: float) -> int:
    """The number of steps at which the next frame is due, after `frames` frames."""
    return round(frames / fps / timestep)


def next_key(keys: int, timestep: float) -> int:
    """The number of steps at which the next whole state is due, after `keys` of them."""
    return math.ceil((keys * KEY_SECONDS - 1e-9) / timestep)


def _limit(task: Task) -> float:
    return float("nan") if task.max_force is None else task.max_force
