"""Preview: the next second if the input is held, computed in a process of its own so that the pace of physics does not change.

The process is started on first use. It builds the same scene, receives a moment of the run and returns paths and poses; what
it computes is what then happens, step for step.
"""

import collections
import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import IO, Any

import mujoco
import numpy as np

from manikin.errors import InputError, RunError
from manikin.scenes.build import scene_text
from manikin.scenes.scene import Scene, parse_text
from manikin.studio.live import Live
from manikin.studio.messages import Drag, GhostPose, PathLine, PreviewPaths, Quat, Vec3
from manikin.studio.moments import Moment
from manikin.studio.soft import flat

# how far ahead [s], how often the paths have a point [1/s], and the times of the ghosts [s]
AHEAD, POINTS, GHOSTS = 1.0, 30, (0.25, 0.5, 0.75, 1.0)
# the five inputs of a fan: offsets of the pointer [m]
FAN: tuple[tuple[str, Vec3], ...] = (
    ("as it is", (0.0, 0.0, 0.0)), ("to the left", (0.0, 0.2, 0.0)), ("to the right", (0.0, -0.2, 0.0)),
    ("up", (0.0, 0.0, 0.2)), ("down", (0.0, 0.0, -0.2)),
)  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """A request: a moment of a scene, and the inputs to try from there."""

    scene: str
    where: str
    moment: Moment
    inputs: tuple[tuple[int, str, Drag | None], ...]  # choice, label, and where the pointer is held


class Previewer:
    """The session's end of the process. Requests come from one thread, which never waits for the process."""

    def __init__(self) -> None:
        self.on = False
        self.stale = True  # the input has changed since the last preview
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: queue.SimpleQueue[Ask | None] = queue.SimpleQueue()
        self._found: collections.deque[PreviewPaths | None] = collections.deque()
        self._waiting = 0  # requests without an answer so far
        self._outdated = 0  # those whose answer is no longer wanted
        self._fan: dict[int, Drag] = {}
        self._scene: tuple[Scene, str] | None = None  # the last one, and its text

    def forget(self) -> None:
        """Another run is the present one: discard answers about the old one."""
        self._fan, self._outdated, self.stale = {}, self._waiting, True

    def ask(self, live: Live) -> None:
        """Preview the present input, unless an answer is still outstanding."""
        if self._waiting == 0:
            self.stale = False
            self._send(live, ((-1, "held", None),))

    def fan(self, live: Live) -> None:
        """Preview five inputs around the present one."""
        if live.grip is None:
            raise InputError("fan: grab something first")
        goal = live.grip.pointer
        turn: Quat | None = None
        if live.grip.turn is not None:
            w, x, y, z = (float(v) for v in live.grip.turn)
            turn = (w, x, y, z)
        self._fan = {}
        for choice, (_, offset) in enumerate(FAN):
            x, y, z = (float(v) for v in goal + np.array(offset))
            self._fan[choice] = Drag((x, y, z), turn)
        self._send(live, tuple((k, label, self._fan[k]) for k, (label, _) in enumerate(FAN)))

    def choose(self, choice: int) -> Drag:
        """The pointer input of one of the five futures."""
        if choice not in self._fan:
            raise InputError("fan_take.choice: there is no fan to choose from")
        return self._fan[choice]

    def results(self) -> list[PreviewPaths]:
        """What has been computed since the last call."""
        out = []
        while self._found:
            paths = self._found.popleft()
            self._waiting -= 1
            if paths is None:
                # the process has ended: the next request starts another
                self._drop()
                break
            if self._outdated > 0:
                self._outdated -= 1
            else:
                out.append(paths)
        return out

    def _send(self, live: Live, inputs: tuple[tuple[int, str, Drag | None], ...]) -> None:
        if self._scene is None or self._scene[0] is not live.scene:
            self._scene = (live.scene, scene_text(live.scene))
        self._start()
        self._asked.put(Ask(self._scene[1], live.scene.where, live.moment(), inputs))
        self._waiting += len(inputs)

    def _start(self) -> None:
        if self._process is None:
            threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "manikin.studio.preview"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=os.environ | threads | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )  # fmt: skip
            self._asked = queue.SimpleQueue()
            threading.Thread(target=self._speak, args=(self._process, self._asked), name="preview asks", daemon=True).start()
            threading.Thread(target=self._listen, args=(self._process,), name="preview", daemon=True).start()

    def _speak(self, process: "subprocess.Popen[bytes]", asked: "queue.SimpleQueue[Ask | None]") -> None:
        """Write the requests, in a thread of its own: writing to a full pipe blocks until the process reads."""
        assert process.stdin is not None
        # the listening thread reports a process that has ended
        with contextlib.suppress(OSError), process.stdin:
            while (ask := asked.get()) is not None:
                _write(process.stdin, ask)

    def _listen(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        with process.stdout:
            while (answer := _read(process.stdout)) is not None:
                if process is self._process:
                    self._found.append(answer)
        if process is self._process:
            self._found.append(None)

    def _drop(self) -> None:
        """Let go of the process; it ends when there is nothing more to read."""
        process, self._process = self._process, None
        self._waiting = self._outdated = 0
        if process is not None:
            self._asked.put(None)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
        self._drop()
        self._found.clear()


def look_ahead(live: Live, choice: int, label: str, seconds: float = AHEAD) -> PreviewPaths:
    """Continue with the present input held, and return where everything goes. `live` is used up."""
    world, dt = live.world, live.world.timestep
    start = live.time
    names = [n for bodies in (*live.cast.characters.values(), *live.cast.props.values()) for n in _ends(live, bodies)]
    numbers = [world.body(n) for n in names]
    times: list[float] = []
    points: list[list[Vec3]] = [[] for _ in names]
    ghosts: list[GhostPose] = []
    marks = {round(g / dt): g for g in GHOSTS}
    dots = {round(k / POINTS / dt) for k in range(round(seconds * POINTS) + 1)}
    with contextlib.suppress(RunError):
        for k in range(round(seconds / dt) + 1):
            if k in dots:
                times.append(live.time - start)
                for row, number in zip(points, numbers):
                    x, y, z = world.data.xpos[number].tolist()
                    row.append((x, y, z))
            if k in marks:
                poses = np.concatenate([world.data.xpos, world.data.xquat], axis=1).round(5)
                meshes = tuple(flat(vertices) for vertices in live.surfaces.vertices(world.data))
                ghosts.append(GhostPose(live.time - start, tuple(poses.ravel().tolist()), meshes))
            live.step()
    lines = tuple(PathLine(name, tuple(row)) for name, row in zip(names, points))
    return PreviewPaths(choice, label, start, tuple(times), lines, tuple(ghosts))


def _ends(live: Live, bodies: list[int]) -> list[str]:
    """The bodies whose paths are drawn: the leaves of the tree, and the root."""
    model, names = live.world.model, live.world.names(mujoco.mjtObj.mjOBJ_BODY)
    above = {int(model.body_parentid[b]) for b in bodies}
    held = None if live.grip is None else live.grip.body
    return [names[b] for b in bodies if b == bodies[0] or b not in above or b == held]


# --- the process


def _write(stream: IO[bytes], value: Any) -> None:
    content = pickle.dumps(value)
    stream.write(struct.pack("<I", len(content)) + content)
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """The next object from our own pipe; None at its end."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    content = stream.read(struct.unpack("<I", head)[0])
    try:
        return pickle.loads(content)
    except (EOFError, pickle.UnpicklingError):
        return None


def main() -> None:
    """Answer until the other end closes."""
    with contextlib.suppress(OSError, AttributeError):
        # on few cores, physics comes first
        os.nice(15)
    # printed text must not get between the answers
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    scene, live = "", None
    while (ask := _read(sys.stdin.buffer)) is not None:
        if ask.scene != scene or live is None:
            scene, live = ask.scene, Live(parse_text(ask.scene, ask.where))
        for choice, label, held in ask.inputs:
            live.restore(ask.moment)
            if held is not None:
                live.give(held)
            _write(answers, look_ahead(live, choice, label))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        main()
