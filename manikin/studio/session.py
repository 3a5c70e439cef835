"""A session: one thread that owns a run, paces its steps to the clock, and tells whoever listens.

Messages wait in a line that is emptied before every step; of several drags in a row only the last counts. Nothing here waits
for a page: frames and messages are handed on and forgotten.
"""

import collections
import concurrent.futures
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.errors import Diverged, InputError, ManikinError, did_you_mean
from manikin.export.gltf import glb_bytes
from manikin.recording import Recorder, Recording
from manikin.scenes.scene import Scene, load_scene, parse_text, shipped
from manikin.studio import drag
from manikin.studio import messages as m
from manikin.studio.live import Live, Moment, run_again, with_values
from manikin.studio.preview import Previewer
from manikin.studio.takes import Journal, Past, TakeFolder, nearest_frame, read_qpos
from manikin.studio.why import Explainer, vec

Array = NDArray[np.float64]
T = TypeVar("T")
Send = Callable[[str, bytes | str], None]
# how often, in real seconds, listeners are told
FRAME, STATUS, INPUT, WHY = 1 / 60, 1 / 20, 1 / 30, 1 / 5
# steps come in groups of so many seconds: fewer, and waking up costs more than it brings
TICK = 0.004
# physics that is later than this [s] gives up the lost time
LATE = 0.1
# turns of one knob that follow each other within so many seconds are one
ONE_TURN = 0.5
# moments to return to: one a second, and at most so many (every second one is then dropped)
KEPT = 240


@dataclass
class Ghost:
    """A take that is shown beside the present one."""

    take: str
    past: Past


class _Question:
    """Something to look up, and its answer."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.answer: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def settle(self) -> None:
        try:
            self.answer.set_result(self.work())
        except Exception as error:
            self.answer.set_exception(error)


class Session:
    """`send(key, content)` is called from the session's thread; a later content of the same key replaces an earlier one."""

    def __init__(self, folder: TakeFolder, send: Send) -> None:
        self.folder, self.send = folder, send
        self._line: collections.deque[m.ClientMessage | _Question] = collections.deque()
        self._wake = threading.Event()
        self._stop = False
        self._thread = threading.Thread(target=self._loop, name="physics", daemon=True)
        self.live: Live | None = None
        self.take = ""
        self.glb = b""
        self.playing, self.speed, self.diverged = False, 1.0, ""
        self.shown: float | None = None  # the moment that is looked at, None for the present
        self.past: Past | None = None  # of a take that was opened and not yet continued
        self.moments: list[Moment] = []
        self.ghosts: list[Ghost] = []
        self.undone: list[tuple[str, float]] = []
        self._turned = ("", 0.0)  # the knob that was turned last, and when
        self.why: Explainer | None = None
        self.preview = Previewer()
        # (arrival, stamp) of the last drag that has not reached a step; of those that have: stamp, delay [s] and when
        self._dragged: tuple[float, float] | None = None
        self.delays: collections.deque[tuple[float, float, float]] = collections.deque(maxlen=2000)
        self._stamp = 0.0
        self._sequence = 0
        self._due = dict.fromkeys(("frame", "status", "input", "why"), 0.0)
        self._clock = (0.0, 0.0)  # real and simulated time from which steps are paced
        self._rate: collections.deque[tuple[float, float]] = collections.deque(maxlen=64)
        self._arrivals: dict[int, float] = {}
        self._viewer: tuple[mujoco.MjModel, mujoco.MjData] | None = None
        # processor time of all steps [s]
        self.step_seconds = 0.0

    # --- from other threads

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the take is kept."""
        self._stop = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def put(self, message: m.ClientMessage) -> None:
        """Hand a message to the session."""
        pointer = isinstance(message, m.Drag)
        if pointer:
            self._arrivals[id(message)] = time.perf_counter()
        self._line.append(message)
        # a pointer waits for the next step, which looks at it first
        if not pointer or not self.playing:
            self._wake.set()

    def ask(self, work: Callable[[], T]) -> "concurrent.futures.Future[T]":
        """Have something looked up between two steps."""
        question = _Question(work)
        self._line.append(question)
        self._wake.set()
        return question.answer

    # --- the loop

    def _loop(self) -> None:
        try:
            while not self._stop:
                began = time.perf_counter()
                self._wake.clear()
                self._read()
                try:
                    wait = self._advance(began)
                    self._tell(time.perf_counter())
                except Exception as error:
                    wait = self._stumble(error)
                if wait > 0:
                    self._wake.wait(wait)
        finally:
            self.preview.close()
            self._close_take()
            for left in self._line:
                if isinstance(left, _Question):
                    left.answer.cancel()

    def _stumble(self, error: Exception) -> float:
        """A full disk, or a fault of ours, must not end the session: stop what was going on, and say so."""
        if not isinstance(error, ManikinError):
            traceback.print_exception(error)
        self.playing, self.shown, self.ghosts, self.why, self.preview.on = False, None, [], None, False
        self._say(m.Error("", f"{type(error).__name__}: {error}"), unique=True)
        return 1 / 60

    def _read(self) -> None:
        """Everything in the line, in order; a drag that another one follows at once is skipped."""
        while self._line:
            message = self._line.popleft()
            if isinstance(message, _Question):
                message.settle()
                continue
            arrived = self._arrivals.pop(id(message), None)
            if isinstance(message, m.Drag):
                if self._line and isinstance(self._line[0], m.Drag):
                    continue
                if arrived is not None:
                    self._dragged = (arrived, message.stamp)
            try:
                self.handle(message)
            except ManikinError as error:
                self._say(m.Error(message.kind, str(error)), unique=True)
            except Exception as error:
                # a fault of ours must not end the session
                traceback.print_exc()
                self._say(m.Error(message.kind, f"{type(error).__name__}: {error}"), unique=True)

    def _advance(self, began: float) -> float:
        """All steps that are due, inputs before each; how long to wait for the next [s]."""
        while self.playing and self.live is not None:
            now = time.perf_counter()
            real, simulated = self._clock
            behind = (now - real) * self.speed - (self.live.time - simulated)
            if behind < 0:
                return max(-behind / self.speed, TICK - (now - began))
            if behind > LATE * self.speed:
                self._clock = (now, self.live.time)
            self._step()
            if time.perf_counter() >= self._due["frame"]:
                return 0.0
            self._read()
        return 1 / 60

    def _step(self) -> None:
        live = self.live
        assert live is not None
        try:
            began = time.thread_time()
            live.step()
            self.step_seconds += time.thread_time() - began
        except Diverged as error:
            self._broken(str(error))
            return
        if self._dragged is not None:
            arrived, self._stamp = self._dragged
            now = time.perf_counter()
            self.delays.append((self._stamp, now - arrived, now))
            self._dragged = None
        if live.world.steps % round(1 / live.world.timestep) == 0:
            self.moments.append(live.moment())
            if len(self.moments) > KEPT:
                del self.moments[1::2]

    def _broken(self, reason: str) -> None:
        """Physics broke off: say so and wait for a reset."""
        self.playing, self.diverged = False, reason
        self._close_take(reason)
        self._say(m.Error("", f"{reason}; reset, or go back and try again from before"), unique=True)

    # --- messages

    def handle(self, message: m.ClientMessage) -> None:
        """What a message asks for; called between steps."""
        if isinstance(message, m.Open):
            if message.scene not in shipped():
                # the page may open what ships with the package, and nothing else of the disk
                raise InputError(f"no scene is called '{message.scene}'{did_you_mean(message.scene, shipped())}")
            self.open(load_scene(message.scene))
        elif isinstance(message, m.TakeName | m.TakeSave | m.TakeLoad | m.TakeDelete | m.TakeGhost):
            self._handle_take(message)
        else:
            if self.live is None:
                raise InputError("no scene is open")
            self._handle_live(message)

    def _handle_live(self, message: m.ClientMessage) -> None:
        live = self.live
        assert live is not None
        if isinstance(message, m.Play):
            self._go_on()
            self.playing = True
        elif isinstance(message, m.Pause):
            self.playing = False
        elif isinstance(message, m.Step):
            self.playing = False
            self._go_on()
            for _ in range(message.steps):
                if not self.diverged:
                    self._step()
            self._due["frame"] = 0.0
        elif isinstance(message, m.Reset):
            self.open(self._present_scene())
        elif isinstance(message, m.Speed):
            self.speed = message.factor
            self._anchor()
        elif isinstance(message, m.Knob | m.Undo):
            self._handle_knob(message)
        elif isinstance(message, m.Grab | m.Drag | m.Release | m.Assist):
            self._handle_pointer(message)
        elif isinstance(message, m.Seek):
            self.playing = False
            self.shown = min(message.time, self._length())
            self._due["frame"] = 0.0
        elif isinstance(message, m.Branch):
            self.branch(message.time)
        elif isinstance(message, m.Why):
            self.why = Explainer(live) if message.on else None
        elif isinstance(message, m.Preview):
            self.preview.on = message.on
        elif isinstance(message, m.Fan):
            self._ready()
            self.preview.fan(live)
        elif isinstance(message, m.FanTake):
            goal = self.preview.choose(message.choice)
            self._handle_pointer(m.Drag(goal))

    def _handle_pointer(self, message: m.Grab | m.Drag | m.Release | m.Assist) -> None:
        live = self.live
        assert live is not None
        if not isinstance(message, m.Drag):
            self._ready()
        elif self.past is not None or self.diverged:
            return
        if isinstance(message, m.Release) and live.grip is not None:
            self._say(self._input(held=False), unique=True)
        live.give(message)
        self.preview.stale = True

    def _ready(self) -> None:
        """Inputs act at the end of the take."""
        if self.diverged:
            raise InputError("physics broke off: reset, or go back and try again from before")
        if self.past is not None:
            raise InputError("this take is over: try again from a moment of it")
        self.shown = None

    def _go_on(self) -> None:
        self._ready()
        self._anchor()

    def _anchor(self) -> None:
        if self.live is not None:
            self._clock = (time.perf_counter(), self.live.time)
            self._rate.clear()

    # --- scenes and takes

    def open(self, scene: Scene) -> None:
        """A scene from its first moment, paused, as a new take."""
        take = self.folder.new_id()
        live = Live(scene, partial(Journal, path=self.folder.file(take)))
        self._settle(live, take, None)

    def _settle(self, live: Live, take: str, past: Past | None) -> None:
        """Let go of what was, and make another run the present one."""
        changed = self.live is None or self.live.world.mjcf != live.world.mjcf
        if self.live is None or (self.live.scene.name, self.live.world.model.nq) != (live.scene.name, live.world.model.nq):
            self.ghosts = []
        self._close_take()
        explaining = self.why is not None
        if self.live is not None:
            self.live.retire()
        self.live, self.take, self.past = live, take, past
        self.playing, self.diverged, self.shown = False, "", None
        self.moments, self._stamp, self._dragged = [], 0.0, None
        self.undone = []
        if past is None:
            self.folder.note(take, created=time.time())
        if changed:
            self.glb = glb_bytes(_still(live))
        self._viewer = None
        self.why = Explainer(live) if explaining else None
        self.preview.scene = live.scene
        self._anchor()
        self._say(self.model())
        self.say_takes()
        self._due = dict.fromkeys(self._due, 0.0)

    def _present_scene(self) -> Scene:
        """The scene with its live knobs where they are."""
        assert self.live is not None
        turned = self.live.knobs.turned
        return with_values(self.live.scene, dict(turned)) if turned else self.live.scene

    def _journal(self) -> Journal | None:
        recorder: Recorder | None = None if self.live is None else self.live.run.recorder
        return recorder if isinstance(recorder, Journal) and not recorder.closed else None

    def _close_take(self, trouble: str = "") -> None:
        """The present take is over; one in which nothing happened and that has no name is not kept."""
        journal = self._journal()
        if journal is None or self.live is None:
            return
        ok, reason = self.live.outcome()
        # after a divergence the state is lost: the last frame is the last good one
        journal.close(ok and not trouble, trouble or reason, self.live.facts(), whole=not trouble)
        info = self.folder.info(self.take)
        if self.live.world.steps == 0 and (info is None or not info.name):
            self.folder.delete(self.take)

    def _length(self) -> float:
        if self.past is not None:
            return self.past.seconds
        return 0.0 if self.live is None else self.live.time

    def branch(self, moment: float) -> None:
        """Go on from the frame at a time as a new take, paused there."""
        assert self.live is not None
        journal = self._journal()
        if journal is not None:
            journal.flush()
        past = self.past or Past(self.folder.known(self.take))
        frame = nearest_frame(past.times, moment)
        steps = past.frame_steps[frame]
        scene = parse_text(str(past.head["meta"]["scene"]), str(past.head["meta"]["name"]))
        live = Live(scene)
        known = [k for k in self.moments if k.steps <= steps] if self.past is None else []
        if known:
            live.restore(known[-1])
        run_again(live, past.inputs(), steps)
        gap = np.abs(live.world.data.qpos - read_qpos(past.path, past.offsets[frame], live.world.model.nq)).max()
        if not gap <= 1e-9:
            raise InputError(f"the take cannot be continued: done again, it differs by {gap:.2g} at {past.times[frame]:.2f} s")
        take = self.folder.new_id()
        world = live.world
        live.run.recorder = Journal(
            world, live.run.tasks, scene.fps, past.head["meta"], self.folder.file(take), past, steps
        )  # fmt: skip
        if live.grip is not None:
            # the hand that held it has long let go
            live.give(m.Release())
        self._settle(live, take, None)
        self.moments = known

    def _handle_take(self, message: m.TakeName | m.TakeSave | m.TakeLoad | m.TakeDelete | m.TakeGhost) -> None:
        self.folder.known(message.take)
        present = self._journal() if message.take == self.take else None
        if present is not None:
            present.flush()
        if isinstance(message, m.TakeName):
            self.folder.note(message.take, name=message.name[:80])
        elif isinstance(message, m.TakeSave):
            saved = self.folder.save(message.take)
            self._say(m.Notice(f"saved {saved.name}"), unique=True)
        elif isinstance(message, m.TakeLoad):
            self._load(message.take)
        elif isinstance(message, m.TakeDelete):
            if present is not None:
                raise InputError("take: this one is being recorded; reset first")
            self.ghosts = [g for g in self.ghosts if g.take != message.take]
            self.folder.delete(message.take)
        else:
            self.ghosts = [g for g in self.ghosts if g.take != message.take]
            if message.shown:
                self._add_ghost(message.take)
        self.say_takes()

    def _load(self, take: str) -> None:
        if take == self.take and self.past is None:
            return
        past = Past(self.folder.known(take))
        meta = past.head["meta"]
        live = Live(parse_text(str(meta["scene"]), str(meta["name"])))
        if live.world.mjcf != past.mjcf():
            raise InputError(f"take: '{take}' was made with another model; it can be exported, but not opened")
        self._settle(live, take, past)
        self.shown = past.seconds

    def _add_ghost(self, take: str) -> None:
        if self.live is None:
            raise InputError("no scene is open")
        past = Past(self.folder.known(take))
        if past.head["nq"] != self.live.world.model.nq or past.head["meta"]["name"] != self.live.scene.name:
            raise InputError("take: only takes of the same scene can be shown beside each other")
        self.ghosts.append(Ghost(take, past))
        self._due["frame"] = 0.0

    # --- knobs

    def _handle_knob(self, message: m.Knob | m.Undo) -> None:
        live = self.live
        assert live is not None
        if isinstance(message, m.Undo):
            if not self.undone:
                raise InputError("there is nothing to undo")
            path, value = self.undone.pop()
            self._turned = ("", 0.0)
        else:
            path, value = message.path, message.value
            live.knobs.check(path, value)
            before, now = live.knobs.value(path), time.monotonic()
            # a slider that is drawn along is undone as one
            if before is not None and not (self._turned[0] == path and now - self._turned[1] < ONE_TURN):
                self.undone.append((path, before))
            self._turned = (path, now)
        if live.knobs.is_live(path):
            self._ready()
            live.give(m.Knob(path, value))
            self._say(m.Knobs(live.knobs.infos()))
            return
        undone, playing = self.undone, self.playing
        self.open(with_values(self._present_scene(), {path: value}))
        self.undone, self.playing = undone, playing
        self._anchor()
        self._say(m.Notice(f"{path} = {value:g}: the scene starts again, as a new take"), unique=True)

    # --- telling

    def _say(self, message: m.ServerMessage, unique: bool = False) -> None:
        key = message.kind
        if unique:
            self._sequence += 1
            key = f"{key} {self._sequence}"
        self.send(key, m.dump(message))

    def _tell(self, now: float) -> None:
        """Frames and messages that are due."""
        # all that is told goes with a frame
        if self.live is None or not self._is_due("frame", now, FRAME):
            return
        self._rate.append((now, self.live.time))
        self._send_frames()
        self._send_preview()
        if self._is_due("status", now, STATUS):
            self._say(self.status())
        if self.live.grip is not None and self._is_due("input", now, INPUT):
            self._say(self._input(held=True))
        if self.why is not None and not self.diverged and self._is_due("why", now, WHY):
            self._say(self.why.report())

    def _is_due(self, what: str, now: float, every: float) -> bool:
        if now < self._due[what]:
            return False
        # on the beat, unless it was missed by far
        self._due[what] = max(self._due[what] + every, now - every) if self._due[what] else now + every
        return True

    def _send_frames(self) -> None:
        live = self.live
        assert live is not None
        self._sequence += 1
        shown = self._shown_pose()
        if shown is None:
            data = live.world.data
            when, position, quat = live.time, data.xpos, data.xquat
        else:
            when, position, quat = shown
        self.send("frame", m.pack_frame(m.LIVE, self._sequence, when, position, quat))
        for number, ghost in enumerate(self.ghosts):
            frame = nearest_frame(ghost.past.times, when)
            position, quat = self._pose(ghost.past, frame)
            self.send(f"ghost {number}", m.pack_frame(m.GHOST, number, ghost.past.times[frame], position, quat))

    def _shown_pose(self) -> tuple[float, Array, Array] | None:
        """An earlier moment that is looked at, from the journal."""
        if self.shown is None:
            return None
        assert self.live is not None
        source = self.past or self.live.run.recorder
        assert isinstance(source, Past | Journal)
        if isinstance(source, Journal) and not source.closed:
            source.flush()
        frame = nearest_frame(source.times, self.shown)
        return source.times[frame], *self._pose(source, frame)

    def _pose(self, source: Past | Journal, frame: int) -> tuple[Array, Array]:
        if self._viewer is None:
            assert self.live is not None
            model = self.live.world.model
            self._viewer = (model, mujoco.MjData(model))
        model, data = self._viewer
        data.qpos[:] = read_qpos(source.path, source.offsets[frame], model.nq)
        mujoco.mj_kinematics(model, data)
        return data.xpos, data.xquat

    def _send_preview(self) -> None:
        live = self.live
        assert live is not None
        for paths in self.preview.results():
            self._say(paths, unique=paths.choice >= 0)
        moving = self.playing or self.preview.stale
        if self.preview.on and moving and live.grip is not None and not self.diverged and self.past is None:
            self.preview.ask(live)

    def model(self) -> m.Model:
        """All that a page needs to know of the present scene."""
        live = self.live
        assert live is not None
        scene, world = live.scene, live.world
        bodies = []
        for number, name in enumerate(world.names(mujoco.mjtObj.mjOBJ_BODY)):
            part_of, owner = live.cast.of(number)
            modes = drag.modes_of(live.cast, number)
            bodies.append(m.BodyInfo(name, int(world.model.body_parentid[number]), part_of, owner, modes))  # type: ignore[arg-type]
        camera = scene.camera
        return m.Model(
            m.PROTOCOL, scene.name, scene.title or scene.name, scene.document, scene.description, scene.seconds,
            scene.timestep, scene.fps, f"/model.glb?take={self.take}", tuple(bodies), self._markers(), self._handles(),
            live.knobs.infos(), m.CameraInfo(camera.azimuth, camera.elevation, camera.distance, camera.at), self.take,
        )  # fmt: skip

    def _markers(self) -> tuple[m.Marker, ...]:
        live = self.live
        assert live is not None
        names = live.world.names(mujoco.mjtObj.mjOBJ_BODY)
        return tuple(m.Marker(n, t.name, names[b], vec(p), t.active) for n, t, b, _, p in drag.markers(live.run))

    def _handles(self) -> tuple[m.Handle, ...]:
        live = self.live
        assert live is not None
        return tuple(m.Handle(r, vec(drag.com_of(live.world, b))) for r, b in live.cast.characters.items())

    def status(self) -> m.Status:
        """How things stand."""
        live = self.live
        assert live is not None
        ok, reason = live.outcome()
        (first, then), (last, now) = (self._rate[0], self._rate[-1]) if self._rate else ((0.0, 0.0), (0.0, 0.0))
        realtime = (now - then) / (last - first) if self.playing and last > first else 0.0
        shown = live.time if self.shown is None else self.shown
        markers = () if self.past is not None else self._markers()
        return m.Status(
            self.take, shown, self._length(), self.playing, self.speed, live.step_name(), ok and not self.diverged,
            self.diverged or reason, realtime, self.shown is not None, bool(self.diverged), len(self.undone), live.assist,
            vec(live.helped), live.impulse, markers, self._handles(), self.preview.on, self.why is not None,
        )  # fmt: skip

    def _input(self, held: bool) -> m.Input:
        live = self.live
        assert live is not None
        assert live.grip is not None
        grip, world = live.grip, live.world
        newtons = float(np.linalg.norm(live.force))
        if grip.task and live.watched.solution is not None:
            told = live.watched.solution.report()
            newtons = told[grip.task].force if grip.task in told else 0.0
        limit = drag.force_limit(world, live.cast, grip, live.run)
        return m.Input(
            grip.target, grip.mode, vec(drag.place_of(world, live.cast, grip)), vec(grip.goal), vec(live.force), newtons,
            limit, held, self._stamp,
        )  # fmt: skip

    def takes(self) -> m.Takes:
        """All takes in the folder."""
        ghosts = {g.take: k for k, g in enumerate(self.ghosts)}
        journal = self._journal()
        infos = [self.folder.info(take, journal if take == self.take else None, ghosts.get(take)) for take in self.folder.ids()]
        return m.Takes(tuple(i for i in infos if i is not None))

    def say_takes(self) -> None:
        """Tell everyone which takes there are."""
        self._say(self.takes())

    def welcome(self) -> list[tuple[str, str]]:
        """What a page that has just come needs to know."""
        out: list[m.ServerMessage] = [self.takes()]
        if self.live is not None:
            out = [self.model(), self.status(), *out]
        return [(message.kind, m.dump(message)) for message in out]


def _still(live: Live) -> Recording:
    """The first moment as a recording, for its geometry."""
    return Recorder(live.world.branch(), [], live.scene.fps, live.meta).finish()
