"""A session: one thread that owns a run, paces its steps to the clock, and sends frames and messages.

Messages wait in a queue that is emptied before every step; of several drags or poses in a row only the last counts. Nothing
here waits for a page: frames and messages are handed over and forgotten.
"""

import collections
import concurrent.futures
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from manikin.compiled import watchers
from manikin.errors import InputError, ManikinError, RunError, did_you_mean
from manikin.scenes.scene import Scene, load_scene, shipped
from manikin.studio import messages as m
from manikin.studio.descriptions import input_message
from manikin.studio.journal import Past
from manikin.studio.live import Live, free_play
from manikin.studio.moments import Over
from manikin.studio.publisher import Publisher
from manikin.studio.stage import Send
from manikin.studio.takes import TakeFolder
from manikin.studio.why import Explainer

T = TypeVar("T")
# steps are grouped into intervals of this many seconds: with shorter ones, waking up costs more than it gains
TICK = 0.007
# physics that lags by more than this [s] gives up the lost time
LATE = 0.1
_POINTER = (m.Drag, m.Grab, m.Release, m.Assist)
_PINS = (m.Pin, m.Unpin, m.Arm, m.Rank, m.Switch, m.Follow)
# moments to return to: one per second, and at most this many (then every second one is dropped)
KEPT = 240
# a page that comes back within this many seconds (a reload) finds the run going on, if it was
BACK = 15.0
# a script that has ended, or a run that nobody touches, pauses after so many simulated seconds
AFTER_END, UNTOUCHED = 10.0, 300.0
# the space that takes fill is looked at so often [s]
LOOK = 2.0
# a run that breaks goes back by this much [s]; after so many times in a row it waits for the user
REWIND, MOST_REWINDS = 0.5, 3


class _Message(NamedTuple):
    """A message, when it arrived, whose it is, and where to answer it (None: to everybody)."""

    message: m.ClientMessage
    arrived: float
    owner: object | None = None
    answer: Send | None = None


class _Question:
    """A query to be answered between two steps."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.answer: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def settle(self) -> None:
        # the asker may be gone
        if not self.answer.set_running_or_notify_cancel():
            return
        try:
            self.answer.set_result(self.work())
        except Exception as error:
            self.answer.set_exception(error)


class Session(Publisher):
    """`send` is called from the session's thread."""

    def __init__(self, folder: TakeFolder, send: Send) -> None:
        super().__init__(folder, send)
        self._queue: collections.deque[_Message | _Question] = collections.deque()
        self.own: Scene | None = None  # the scene that was opened last, with its script
        self._holder: object | None = None  # whose drag it is
        self._away: tuple[float, bool] | None = None  # since when nobody has been there, and whether it was playing then
        self._compiled = (0.0, -100.0)  # since when kernels have been compiled, and when that was last said
        self._measured = 0.0  # when the space of the takes was looked at
        self._touched = 0.0  # simulated time of the last input by hand
        self._wake = threading.Event()
        self._stop = self._ended = False
        self._thread = threading.Thread(target=self._loop, name="physics", daemon=True)
        # (arrival, stamp) of the last drag that has not reached a step; of those that have: stamp, delay [s] and when
        self._dragged: tuple[float, float] | None = None
        self.delays: collections.deque[tuple[float, float, float]] = collections.deque(maxlen=2000)
        self._clock = (0.0, 0.0)  # real and simulated time from which steps are paced
        # processor time of all steps [s]
        self.step_seconds = 0.0
        self._per_second = 500  # steps of a simulated second
        # how often a run broke, and when it did in a row [s]
        self.breaks = 0
        self._in_a_row: list[float] = []

    # --- from other threads

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; the take is kept."""
        self._stop = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def put(self, message: m.ClientMessage, owner: object | None = None, answer: Send | None = None) -> None:
        """Hand a message to the session. owner: who gives it, and holds what it grabs; answer: where to report an error."""
        self._queue.append(_Message(message, time.perf_counter(), owner, answer))
        if not self.playing:
            self._wake.set()

    def gone(self, owner: object) -> None:
        """A page is closed: what it held is let go."""
        if self._holder is owner and self.live is not None and self.live.grip is not None:
            self.handle(m.Release())

    def ask(self, work: Callable[[], T]) -> "concurrent.futures.Future[T]":
        """Have something looked up between two steps; once the session has ended, the answer is cancelled."""
        question = _Question(work)
        self._queue.append(question)
        self._wake.set()
        if self._ended:
            question.answer.cancel()
        return question.answer

    # --- the loop

    def _compiling(self, count: int) -> None:
        """Kernels are being compiled, which takes a minute after an installation: the page must not seem dead."""
        now = time.perf_counter()
        if threading.current_thread() is not self._thread or now - self._compiled[1] < 1.0:
            return
        began = self._compiled[0] if now - self._compiled[1] < 20.0 else now
        self._compiled = (began, now)
        progress = f"{now - began:.0f} s, {count} kernels so far"
        text = f"Preparing: compiling for about a minute, once after an installation or an upgrade ({progress})"
        self._say(m.Notice(text), unique=True)

    def _loop(self) -> None:
        watchers.append(self._compiling)
        try:
            while not self._stop:
                began = time.perf_counter()
                if not self.playing:
                    self._wake.clear()
                try:
                    self._read()
                    self._look_around(began)
                    wait = self._advance(began)
                    self._publish(time.perf_counter())
                except Exception as error:
                    wait = self._stumble(error)
                if self.playing:
                    # steps follow within milliseconds and read the queue first: waiting on an event would cost more
                    time.sleep(max(0.0, wait))
                elif wait > 0:
                    self._wake.wait(wait)
        finally:
            watchers.remove(self._compiling)
            self._ended = True
            self.preview.close()
            for left in list(self._queue):
                if isinstance(left, _Question):
                    left.answer.cancel()
            self._close_take()

    def _stumble(self, error: Exception) -> float:
        """A full disk or an internal error must not end the session: stop what was running, and report it."""
        if not isinstance(error, ManikinError):
            traceback.print_exception(error)
        self.playing, self.shown, self.ghosts, self.why, self.preview.on = False, None, [], None, False
        self._say(m.Error("", f"{type(error).__name__}: {error}"), unique=True)
        return 1 / 60

    def _read(self) -> None:
        """Process the queue in order; a drag directly followed by another is skipped."""
        while self._queue:
            entry = self._queue.popleft()
            if isinstance(entry, _Question):
                entry.settle()
                continue
            message = entry.message
            if isinstance(message, m.Drag | m.Pose):
                following = self._queue[0] if self._queue else None
                if (
                    isinstance(following, _Message)
                    and type(following.message) is type(message)
                    and following.owner is entry.owner
                ):
                    continue
            try:
                if isinstance(message, m.Grab | m.Drag | m.Release) and not self._may_hold(entry):
                    continue
                if isinstance(message, m.Drag):
                    self._dragged = (entry.arrived, message.stamp)
                self.handle(message)
                if isinstance(message, m.Grab):
                    self._holder = entry.owner
            except ManikinError as error:
                self._refuse(entry, str(error))
            except Exception as error:
                # an internal error must not end the session
                traceback.print_exc()
                self._refuse(entry, f"{type(error).__name__}: {error}")

    def _refuse(self, entry: _Message, why: str) -> None:
        error = m.Error(entry.message.kind, why)
        if entry.answer is None:
            self._say(error, unique=True)
        else:
            self._sequence += 1
            entry.answer(f"error {self._sequence}", m.dump(error))

    def _may_hold(self, entry: _Message) -> bool:
        """One owner per drag: a second grab does not steal, and nobody else moves or releases what is held."""
        grip = None if self.live is None else self.live.grip
        if grip is None or self._holder is entry.owner:
            return True
        if isinstance(entry.message, m.Grab):
            raise InputError(f"another page holds '{grip.target}'")
        return False

    def _look_around(self, now: float) -> None:
        """Without a page there is no work; nor when nobody touches a run that has ended."""
        live = self.live
        if self.audience:
            if self._away is not None:
                (since, playing), self._away = self._away, None
                if playing and now - since < BACK and live is not None and self.past is None and not self.diverged:
                    self.playing = True
                    self._anchor()
        elif self._away is None:
            self._away = (now, self.playing)
            self.playing = False
            self.flush()
        if live is None or not self.playing:
            return
        if now - self._measured > LOOK:
            self._measured = now
            self._keep_room()
        if live.grip is not None or live.time < self._touched:
            self._touched = live.time
        ended, ticks = isinstance(live.run.script, Over), self._ticks()
        last = max(self._touched, ticks[-1][0] if ticks else 0.0)
        if live.time - last > (AFTER_END if ended else UNTOUCHED):
            self.playing = False
            why = "the script has ended" if ended else "nobody has touched it for a while"
            self._say(m.Notice(f"paused: {why}; grab something, or press play, to go on"), unique=True)

    def _keep_room(self) -> None:
        """Takes may fill so much of the disk and no more."""
        if self.folder.used() > self.folder.space:
            self.playing = False
            why = f"takes fill {self.folder.space / 1e9:g} GB, which is all they may"
            self._say(m.Error("", f"paused: {why}; delete some, or start the studio with a larger --space"), unique=True)

    def _advance(self, began: float) -> float:
        """Make all steps that are due, reading inputs before each; how long to wait for the next [s]."""
        while self.playing and self.live is not None:
            now = time.perf_counter()
            real, simulated = self._clock
            behind = (now - real) * self.speed - (self.live.time - simulated)
            if behind < 0:
                return max(-behind / self.speed, TICK - (now - began))
            if behind > LATE * self.speed:
                self._clock = (now, self.live.time)
            self._steps(int(behind * self._per_second) + 1)
            if time.perf_counter() >= self._due["frame"]:
                return 0.0
            self._read()
        return 1 / 60 if self.audience else 1.0

    def _steps(self, count: int) -> None:
        """Up to `count` steps: stop for the next message, frame, or moment to keep."""
        live, frame = self.live, self._due["frame"]
        assert live is not None
        began = time.thread_time()
        try:
            for _ in range(count):
                live.step()
                if self._dragged is not None:
                    arrived, self._stamp = self._dragged
                    now = time.perf_counter()
                    self.delays.append((self._stamp, now - arrived, now))
                    self._dragged = None
                if self._queue or live.world.steps % self._per_second == 0 or time.perf_counter() >= frame:
                    break
        except RunError as error:
            # it diverged, or flesh was turned inside out
            self._broken(str(error))
            return
        finally:
            self.step_seconds += time.thread_time() - began
        if live.world.steps % self._per_second == 0:
            self.moments.append(live.moment())
            if len(self.moments) > KEPT:
                del self.moments[1::2]

    def _broken(self, reason: str) -> None:
        """The simulation diverged, or flesh was turned inside out: go back a little, or wait for the user."""
        assert self.live is not None
        when, playing = self.live.time, self.playing
        self.breaks += 1
        self.playing, self.diverged = False, reason
        self._close_take(reason)
        if not self._rewound(when):
            self._say(m.Error("", f"{reason}; reset, or go back and try again from an earlier moment"), unique=True)
            return
        self._say(m.Error("", f"{reason}; rewound to {self.live.time:.1f} s, and let go"), unique=True)
        # nothing is held any more
        self.playing = playing and not self.while_pressed
        self._anchor()

    def _rewound(self, when: float) -> bool:
        """Continue as a new take from half a second before a break; False where that keeps breaking or cannot be repeated."""
        self._in_a_row = [t for t in self._in_a_row if abs(when - t) < 2 * REWIND] + [when]
        if len(self._in_a_row) > MOST_REWINDS:
            self._in_a_row = []
            return False
        try:
            self.branch(max(0.0, when - REWIND))
        except ManikinError:
            return False
        return True

    # --- messages

    def handle(self, message: m.ClientMessage) -> None:
        """Act on a message; called between steps."""
        if self.live is not None:
            self._touched = self.live.time
        if isinstance(message, m.Open | m.Reset | m.TakeLoad):
            self._in_a_row = []
        if isinstance(message, _POINTER):
            # first, because there are a hundred per second
            self._handle_pointer(message)
            return
        # the user should see at once that a key press had an effect
        self._due["status"] = 0.0
        if isinstance(message, m.Open):
            self.open_as(self._scene_called(message.scene), message.script)
        elif isinstance(message, m.TakeName | m.TakeSave | m.TakeLoad | m.TakeDelete | m.TakeGhost):
            self._handle_take(message)
        else:
            self._handle_live(message)

    def knows(self, name: str) -> bool:
        """The page may open shipped scenes, and the one that the studio was started with; no other files."""
        return name in shipped() or (self.own is not None and name == self.own.name)

    def _scene_called(self, name: str) -> Scene:
        if self.own is not None and name == self.own.name and name not in shipped():
            return self.own
        if not self.knows(name):
            raise InputError(f"no scene is called '{name}'{did_you_mean(name, shipped())}")
        return load_scene(name)

    def open_as(self, scene: Scene, script: bool | None = None) -> None:
        """Open a scene with its script or without; None: creatures under direct control are played freely."""
        self.own = scene
        scripted = scene.controller != "direct" if script is None else script
        self.open(scene if scripted else free_play(scene))

    def _handle_live(self, message: m.ClientMessage) -> None:
        live = self._open_run()
        if isinstance(message, m.Play):
            self._go_on()
            # pressing play ends running only while something is held
            self.playing, self.while_pressed = True, False
        elif isinstance(message, m.Pause):
            self.playing = False
        elif isinstance(message, m.Step):
            self.playing = False
            self._go_on()
            breaks = self.breaks
            for _ in range(message.steps):
                if self.breaks == breaks:
                    self._steps(1)
            self._due["frame"] = 0.0
        elif isinstance(message, m.Reset):
            armed = live.board.again()
            self.open(self._present_scene())
            for pin in armed:
                self._open_run().give(pin)
        elif isinstance(message, _PINS):
            self._ready()
            live.give(message)
            self.preview.stale = True
            self._publish_pins()
        elif isinstance(message, m.Pose | m.PoseEnd | m.KeyAdd | m.KeyDrop):
            self._handle_pose(message)
            self._publish_pins()
        elif isinstance(message, m.WhilePressed):
            self.while_pressed = message.on
            self.playing = message.on and live.grip is not None
        elif isinstance(message, m.Speed):
            self.speed = message.factor
            self._anchor()
        elif isinstance(message, m.Knob | m.Undo):
            self._handle_knob(message)
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
            self._handle_pointer(self.preview.choose(message.choice))

    def _handle_pointer(self, message: m.Grab | m.Drag | m.Release | m.Assist) -> None:
        live = self._open_run()
        if isinstance(message, m.Release) and live.grip is not None:
            self._say(input_message(live, False, self._stamp), unique=True)
            if self.diverged:
                # the simulation diverged during the drag: there is nothing left to release
                live.grip = None
                return
        if not isinstance(message, m.Drag):
            self._ready()
        elif self.past is not None or self.diverged:
            return
        live.give(message)
        self.preview.stale = True
        if self.while_pressed and isinstance(message, m.Grab | m.Release):
            self._anchor()
            self.playing = isinstance(message, m.Grab)

    def _open_run(self) -> Live:
        if self.live is None:
            raise InputError("no scene is open")
        return self.live

    def _go_on(self) -> None:
        self._ready()
        self._anchor()

    def _anchor(self) -> None:
        if self.live is not None:
            self._clock = (time.perf_counter(), self.live.time)
            self._rate.clear()

    def _settle(self, live: Live, take: str, past: Past | None) -> None:
        super()._settle(live, take, past)
        self._stamp, self._dragged, self._pinned, self._touched = 0.0, None, None, live.time
        self._per_second = round(1 / live.world.timestep)
        self._anchor()
        self._due = dict.fromkeys(self._due, 0.0)
