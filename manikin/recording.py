"""Recording: everything a run produced, in a file that a stranger with plain MuJoCo can replay and judge."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manikin.errors import RecordingError
from manikin.files import load_npz, save_npz
from manikin.physics.contacts import body_forces
from manikin.physics.world import Control, World
from manikin.tasks.task import Task

Array = NDArray[np.float64]

# the arrays every recording has
_ARRAYS = ("initial", "key_step", "key_state", "time", "step", "qpos", "qvel", "contact_force", "ctrl", "xfrc", "eq")
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

    def save(self, path: Path) -> None:
        """Write as .npz: equal recordings give equal bytes."""
        arrays: dict[str, Any] = {"mjcf": np.array(self.mjcf), "meta": np.array(json.dumps(self.meta, sort_keys=True))}
        arrays |= {name: getattr(self, name) for name in _ARRAYS}
        for task, columns in self.tasks.items():
            arrays |= {f"task/{task}/{name}": column for name, column in columns.items()}
        save_npz(path, arrays)


def load_recording(path: Path | str) -> Recording:
    """Read a recording; anything else is refused."""
    data = load_npz(Path(path), RecordingError)
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
    except ValueError as error:
        raise RecordingError(f"{path}: not a recording (meta is not JSON: {error})") from error
    numbers = all(data[n].dtype.kind in "fi" for n in _ARRAYS)
    if not isinstance(meta, dict) or not numbers or not len(data["time"].shape) or not len(data["time"]):
        raise RecordingError(f"{path}: not a recording (its arrays or its meta are not what they should be)")
    return Recording(str(data["mjcf"]), meta, **{n: data[n] for n in _ARRAYS}, tasks=tasks)


class Recorder:
    """Collects a run step by step; `finish` makes the Recording, also after a failure or an interrupt."""

    def __init__(self, world: World, tasks: list[Task], fps: float, meta: dict[str, Any]) -> None:
        self.world, self.tasks, self.fps, self.meta = world, tasks, fps, meta
        self.ctrl: list[Array] = []
        self.xfrc: list[list[float]] = []
        self.eq: list[list[float]] = []
        self.frames: list[tuple[float, int, Array, Array, Array]] = []
        self.rows: dict[str, list[list[float]]] = {t.name: [] for t in tasks}
        self.keys: list[tuple[int, Array]] = []
        self.events: list[dict[str, Any]] = []
        # numbers of steps at which the next frame and the next key state are due
        self._next_frame = self._next_key = 0
        self.switches()
        self.initial = world.full_state()
        self._key(self.initial)
        self._frame({})

    def switches(self) -> None:
        """Note grasps, releases and clamps; they act before the coming step."""
        for e in self.world.switched:
            data = self.world.model.eq_data[e]
            self.eq.append([float(self.world.steps), float(e), float(self.world.data.eq_active[e]), *data[:12]])
        self.world.switched.clear()

    def pushed(self, body: int, wrench: Array) -> None:
        """Note an external force (3) and torque (3) that acts on a body in the coming step."""
        self.xfrc.append([float(self.world.steps), float(body), *wrench])

    def event(self, name: str, **facts: Any) -> None:
        """Note something that happened, such as a step of the script."""
        self.events.append({"time": self.world.time, "step": self.world.steps, "name": name, **facts})

    def stepped(self, control: Control) -> None:
        """After each physics step."""
        self.ctrl.append(control.ctrl)
        steps = self.world.steps
        if steps >= self._next_frame:
            self._frame(control.report())
        if steps >= self._next_key:
            self._key(self.world.full_state())

    def _key(self, state: Array) -> None:
        self.keys.append((self.world.steps, state))
        self._next_key = math.ceil((len(self.keys) * KEY_SECONDS - 1e-9) / self.world.timestep)

    def _frame(self, report: dict[str, Any]) -> None:
        world = self.world
        self.frames.append(
            (
                world.time,
                world.steps,
                world.data.qpos.copy(),
                world.data.qvel.copy(),
                body_forces(world.model, world.data),
            )
        )
        self._next_frame = round(len(self.frames) / self.fps / world.timestep)
        for task in self.tasks:
            r = report.get(task.name)
            self.rows[task.name].append(
                [
                    task.error,
                    r.force if r else 0.0,
                    r.limit if r else _limit(task),
                    float(task.priority),
                    float(task.active),
                ]
            )

    def finish(self) -> Recording:
        """What was collected, with the very last moment as a frame."""
        model = self.world.model
        if self.frames[-1][1] != self.world.steps:
            self._frame({})
        time, step, qpos, qvel, force = zip(*self.frames)
        meta = self.meta | {"events": self.events, "fps": self.fps, "timestep": self.world.timestep}
        return Recording(
            mjcf=self.world.mjcf,
            meta=meta,
            initial=self.initial,
            key_step=np.array([k for k, _ in self.keys], np.int64),
            key_state=np.array([s for _, s in self.keys]),
            time=np.array(time),
            step=np.array(step, np.int64),
            qpos=np.array(qpos),
            qvel=np.array(qvel),
            contact_force=np.array(force),
            ctrl=np.array(self.ctrl).reshape(-1, model.nu),
            xfrc=np.array(self.xfrc).reshape(-1, 8),
            eq=np.array(self.eq).reshape(-1, 15),
            tasks={n: dict(zip(TASK_FIELDS, np.array(r, float).T)) for n, r in self.rows.items()},
        )


def _limit(task: Task) -> float:
    return float("nan") if task.max_force is None else task.max_force
