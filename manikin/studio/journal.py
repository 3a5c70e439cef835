"""The journal of a take: append-only on disk, read back as it grows, and made into a recording.

A journal is a line of text, then records: one byte kind, four bytes length, content. Numbers are little-endian float64.
A journal that was cut off anywhere, by a kill or a full disk, is good up to its last whole record.
"""

import json
import struct
import time
import zlib
from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.errors import RecordingError
from manikin.physics.world import Control, World
from manikin.recording import KEY_SECONDS, TASK_FIELDS, Recorder, Recording, next_frame, next_key
from manikin.studio.live import LiveInput, read_input
from manikin.tasks.task import Task

Array = NDArray[np.float64]
MAGIC = b"manikin journal 1\n"
_RECORD = struct.Struct("<cI")
_CODES = {"head": b"H", "mjcf": b"M", "initial": b"I", "frame": b"F", "ctrl": b"C", "xfrc": b"X", "eq": b"E", "key": b"K",
          "event": b"e", "change": b"c", "input": b"i", "end": b"z"}  # fmt: skip
_KINDS = {code: kind for kind, code in _CODES.items()}
_TABLES = ("head", "event", "change", "input", "end")
# seconds after which what was recorded is handed to the operating system, at the latest
FLUSH = 0.25
# where frames are rare, the inputs of this many steps are written together
MOST_INPUTS = 256
# the most events of a take that are reported: a script that loops produces them endlessly
MAX_TICKS = 200


class Journal(Recorder):
    """A recorder that keeps only the offsets of its frames in memory."""

    def __init__(
        self, world: World, tasks: list[Task], fps: float, meta: dict[str, Any], path: Path, prefix: "Past | None" = None,
        steps: int = 0,
    ) -> None:  # fmt: skip
        self.path = path
        self.closed = False
        self._file: IO[bytes] = path.open("xb", buffering=1 << 17)
        self._inputs: list[bytes] = []  # of actuators, of the last steps
        self._waiting: list[bytes] = []  # records before those, to be written together
        self._end = 0
        self._flushed = time.monotonic()
        self.offsets, self.frame_steps, self.times = array("q"), array("q"), array("d")
        self.ticks: list[tuple[float, str]] = []
        if prefix is None:
            super().__init__(world, tasks, fps, meta)
            return
        # continues an earlier take from some point: its beginning is copied
        self.world, self.tasks, self.fps, self.meta = world, tasks, fps, meta
        prefix.copy_to(self._file, steps, self.offsets, self.frame_steps, self.times)
        self.ticks = [tick for tick in prefix.ticks if tick[0] < steps * world.timestep - 1e-9]
        self._end = self._file.tell()
        self._last_frame, self._recorded = self.frame_steps[-1], steps
        seconds = steps * world.timestep + 1e-9
        self._frames, self._keys = int(seconds * fps) + 1, int(seconds / KEY_SECONDS) + 1
        self._next_frame, self._next_key = next_frame(self._frames, fps, world.timestep), next_key(self._keys, world.timestep)
        self.flush()

    def begin(self) -> None:
        self._waiting, self._end = [MAGIC], len(MAGIC)
        model = self.world.model
        head = {
            "meta": self.meta, "fps": self.fps, "timestep": self.world.timestep, "tasks": [t.name for t in self.tasks],
            "nq": model.nq, "nv": model.nv, "nu": model.nu, "nbody": model.nbody,
        }  # fmt: skip
        self._record("head", json.dumps(head).encode())
        self._record("mjcf", zlib.compress(self.world.mjcf.encode(), 1))
        self._record("initial", self.initial.tobytes())

    def stepped(self, control: Control) -> None:
        # the most frequent record by far
        self._inputs.append(control.ctrl.tobytes())
        steps = self._recorded = self.world.steps
        if steps >= self._next_frame or steps >= self._next_key:
            self._due(steps, control)
        elif len(self._inputs) >= MOST_INPUTS:
            self._write()

    def keep(self, kind: str, row: Any) -> None:
        # in the order of time
        self._gather_inputs()
        if kind == "frame":
            at, step, qpos, qvel, force, tasks = row
            self.offsets.append(self._end)
            self.frame_steps.append(step)
            self.times.append(at)
            numbers = array("d", chain((at, step), *tasks)).tobytes()
            # sixty a second: joined as they are, the rows of the tasks last
            content = b"".join((numbers[:16], qpos.tobytes(), qvel.tobytes(), force.tobytes(), numbers[16:]))
        elif kind == "key":
            content = np.concatenate([[row[0]], row[1]]).tobytes()
        elif kind in _TABLES:
            content = json.dumps(row).encode()
            if kind == "event" and len(self.ticks) < MAX_TICKS:
                self.ticks.append((row["time"], row["name"]))
        else:
            content = np.asarray(row, float).tobytes()
        self._record(kind, content)
        if time.monotonic() - self._flushed > FLUSH:
            self.flush()

    def _gather_inputs(self) -> None:
        rows = self._inputs
        if rows:
            head = _RECORD.pack(_CODES["ctrl"], len(rows[0]))
            self._waiting += (head, head.join(rows))
            self._end += len(rows) * (_RECORD.size + len(rows[0]))
            self._inputs = []

    def _record(self, kind: str, content: bytes) -> None:
        self._waiting += (_RECORD.pack(_CODES[kind], len(content)), content)
        self._end += _RECORD.size + len(content)

    def _write(self) -> None:
        self._gather_inputs()
        waiting, self._waiting = self._waiting, []
        self._file.write(b"".join(waiting))

    def flush(self) -> None:
        """Hand everything to the operating system: if this process is killed now, nothing is lost."""
        self._write()
        self._file.flush()
        self._flushed = time.monotonic()

    def close(self, ok: bool, reason: str, facts: dict[str, Any], whole: bool = True) -> None:
        """The end of the take; `whole`: with its very last moment as a frame."""
        if self.closed:
            return
        self.closed = True
        with self._file:
            if whole:
                self.last_frame()
            self._record("end", json.dumps({"ok": ok, "reason": reason, "facts": facts}).encode())
            self._write()

    def finish(self) -> Recording:
        self.last_frame()
        self.flush()
        return Past(self.path).recording()


class Past:
    """A journal as it is on disk now, for looking back; also one that is still being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offsets, self.frame_steps, self.times = array("q"), array("q"), array("d")
        self.ticks: list[tuple[float, str]] = []
        self._ended: dict[str, Any] = {"ok": False, "reason": "cut off"}
        self.steps = 0
        for kind, offset, content in self.records():
            if kind == "head":
                self.head: dict[str, Any] = _table(path, content)
            elif kind == "ctrl":
                self.steps += 1
            elif kind == "event" and len(self.ticks) < MAX_TICKS:
                self.ticks.append(_tick(path, content))
            elif kind == "end":
                self._ended = _table(path, content)
            elif kind == "frame":
                at, step = struct.unpack_from("<dd", content)
                self.offsets.append(offset)
                self.frame_steps.append(int(step))
                self.times.append(at)
        if not hasattr(self, "head") or not self.times:
            raise RecordingError(f"{path.name}: the take was cut off before its first frame")

    def records(self) -> Iterator[tuple[str, int, bytes]]:
        """(kind, offset, content) of each whole record."""
        with self.path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise RecordingError(f"{self.path.name}: not the journal of a take")
            offset = len(MAGIC)
            while len(head := file.read(_RECORD.size)) == _RECORD.size:
                code, length = _RECORD.unpack(head)
                content = file.read(length)
                if len(content) < length or code not in _KINDS:
                    return
                yield _KINDS[code], offset, content
                offset += _RECORD.size + length

    @property
    def seconds(self) -> float:
        return self.times[-1]

    def outcome(self) -> tuple[bool, str]:
        """Whether the job was done, and why not."""
        return bool(self._ended.get("ok")), str(self._ended.get("reason") or "")

    def mjcf(self) -> str:
        """The model's text."""
        return next(zlib.decompress(c).decode() for kind, _, c in self.records() if kind == "mjcf")

    def inputs(self) -> list[tuple[int, LiveInput]]:
        """The inputs, each with the step from which it acted."""
        return [read_input(_table(self.path, c)) for kind, _, c in self.records() if kind == "input"]

    def copy_to(
        self, target: IO[bytes], steps: int, offsets: "array[int]", frame_steps: "array[int]", times: "array[float]"
    ) -> None:  # fmt: skip
        """Copy what happened up to a number of steps done."""
        target.write(MAGIC)
        done = 0
        for kind, offset, content in self.records():
            # inputs and switches at that very moment belong to what follows
            if kind == "end" or (done == steps and len(times) and kind not in ("frame", "key")):
                break
            # the offsets of the beginning are the same
            target.write(_RECORD.pack(_CODES[kind], len(content)) + content)
            if kind == "ctrl":
                done += 1
            elif kind == "frame":
                at, step = struct.unpack_from("<dd", content)
                offsets.append(offset)
                frame_steps.append(int(step))
                times.append(at)

    def recording(self) -> Recording:
        """The whole take as a Recording."""
        parts: dict[str, list[bytes]] = {kind: [] for kind in _CODES}
        for kind, _, content in self.records():
            parts[kind].append(content)
        head = self.head
        nq, nv, nbody = head["nq"], head["nv"], head["nbody"]
        frames, keys = _numbers(parts["frame"], len(self.times)), _numbers(parts["key"], len(parts["key"]))
        qpos, qvel, force, tasks = np.split(frames[:, 2:], np.cumsum([nq, nv, 3 * nbody]), axis=1)
        columns = tasks.reshape(len(frames), len(head["tasks"]), len(TASK_FIELDS))
        lists = {name + "s": [_table(self.path, c) for c in parts[name]] for name in ("event", "change", "input")}
        end = _table(self.path, parts["end"][-1]) if parts["end"] else {"ok": False, "reason": "cut off", "facts": {}}
        return Recording(
            mjcf=zlib.decompress(parts["mjcf"][0]).decode(),
            meta=head["meta"] | lists | end | {"fps": head["fps"], "timestep": head["timestep"]},
            initial=np.frombuffer(parts["initial"][0], "<f8"),
            key_step=keys[:, 0].astype(np.int64),
            key_state=keys[:, 1:],
            time=frames[:, 0].copy(),
            step=frames[:, 1].astype(np.int64),
            qpos=qpos.copy(),
            qvel=qvel.copy(),
            contact_force=force.reshape(-1, nbody, 3).copy(),
            ctrl=_numbers(parts["ctrl"], len(parts["ctrl"])).reshape(-1, head["nu"]),
            xfrc=_numbers(parts["xfrc"], len(parts["xfrc"])).reshape(-1, 8),
            eq=_numbers(parts["eq"], len(parts["eq"])).reshape(-1, 15),
            tasks={n: dict(zip(TASK_FIELDS, columns[:, k].T.copy())) for k, n in enumerate(head["tasks"])},
        )


def _numbers(rows: list[bytes], count: int) -> Array:
    return np.frombuffer(b"".join(rows), "<f8").reshape(count, -1) if count else np.zeros((0, 0))


def _table(path: Path, content: bytes) -> dict[str, Any]:
    try:
        table = json.loads(content)
    except ValueError as error:
        raise RecordingError(f"{path.name}: a damaged journal ({error})") from error
    if not isinstance(table, dict):
        raise RecordingError(f"{path.name}: a damaged journal")
    return table


def _tick(path: Path, content: bytes) -> tuple[float, str]:
    """The time and the name of an event."""
    event = _table(path, content)
    try:
        return float(event["time"]), str(event["name"])
    except (KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"{path.name}: a damaged journal ({error})") from error


def read_qpos(path: Path, offset: int, nq: int) -> Array:
    """Positions of the frame whose record begins at an offset."""
    with path.open("rb") as file:
        file.seek(offset + _RECORD.size + 16)
        return np.frombuffer(file.read(8 * nq), "<f8")


def nearest_frame(times: "array[float]", moment: float) -> int:
    """The frame shown at a time: the last one that is not later."""
    return max(0, int(np.searchsorted(np.frombuffer(times, float), moment + 1e-9, side="right")) - 1)


# --- a recording as a journal


def write_journal(recording: Recording, model: mujoco.MjModel, path: Path) -> None:
    """A recording as a journal, record by record in the order of time."""
    meta = {k: v for k, v in recording.meta.items() if k not in ("events", "changes", "inputs", "ok", "reason", "facts")}
    for key in ("name", "scene", "characters", "feet", "props"):
        meta[key]
    frames = len(recording.time)
    shapes = {"qvel": (frames, model.nv), "contact_force": (frames, model.nbody, 3)}
    for name, shape in shapes.items():
        if getattr(recording, name).shape != shape:
            raise ValueError(f"{name} does not fit the model")
    columns = np.array([[recording.tasks[t][f] for f in TASK_FIELDS] for t in recording.tasks], float)
    rows: list[tuple[int, int, str, bytes]] = []
    for kind in ("event", "change", "input"):
        rows += [(int(r["step"]), 0, kind, json.dumps(r).encode()) for r in recording.meta.get(f"{kind}s", [])]
    for kind, order in (("eq", 1), ("xfrc", 1)):
        rows += [(int(r[0]), order, kind, np.asarray(r, "<f8").tobytes()) for r in getattr(recording, kind)]
    rows += [(k, 2, "ctrl", np.asarray(r, "<f8").tobytes()) for k, r in enumerate(recording.ctrl)]
    # a frame and a key state come after the step that led to them
    for t in range(frames):
        parts = [[recording.time[t], recording.step[t]], recording.qpos[t], recording.qvel[t]]
        rest = [recording.contact_force[t].ravel(), columns[:, :, t].ravel() if len(columns) else []]
        rows.append((int(recording.step[t]) - 1, 3, "frame", np.concatenate([*parts, *rest]).astype("<f8").tobytes()))
    for step, state in zip(recording.key_step, recording.key_state):
        rows.append((int(step) - 1, 4, "key", np.concatenate([[step], state]).astype("<f8").tobytes()))
    rows.sort(key=lambda r: r[:2])
    head = {
        "meta": meta, "fps": recording.meta["fps"], "timestep": recording.meta["timestep"], "tasks": list(recording.tasks),
        "nq": model.nq, "nv": model.nv, "nu": model.nu, "nbody": model.nbody,
    }  # fmt: skip
    end = {k: recording.meta.get(k) for k in ("ok", "reason", "facts")}
    first = [("head", json.dumps(head).encode()), ("mjcf", zlib.compress(recording.mjcf.encode(), 1)), ("initial", recording.initial.astype("<f8").tobytes())]  # fmt: skip # noqa: E501
    with path.open("xb") as file:
        file.write(MAGIC)
        for kind, content in [*first, *((kind, content) for _, _, kind, content in rows), ("end", json.dumps(end).encode())]:
            file.write(_RECORD.pack(_CODES[kind], len(content)) + content)
