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
from typing import Any, TypeVar

from manikin.errors import InputError, ManikinError, RunError, did_you_mean
from manikin.scenes.scene import load_scene, shipped
from manikin.studio import messages as m
from manikin.studio.descriptions import input_message
from manikin.studio.journal import Past
from manikin.studio.live import Live
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
        # messages with the time of their arrival, and questions
        self._queue: collections.deque[tuple[m.ClientMessage, float] | _Question] = collections.deque()
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
        self._queue.append((message, time.perf_counter()))
        if not self.playing:
            self._wake.set()

    def ask(self, work: Callable[[], T]) -> "concurrent.futures.Future[T]":
        """Have something looked up between two steps; once the session has ended, the answer is cancelled."""
        question = _Question(work)
        self._queue.append(question)
        self._wake.set()
        if self._ended:
            question.answer.cancel()
        return question.answer

    # --- the loop

    def _loop(self) -> None:
        try:
            while not self._stop:
                began = time.perf_counter()
                if not self.playing:
                    self._wake.clear()
                try:
                    self._read()
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
            message, arrived = entry
            if isinstance(message, m.Drag | m.Pose):
                following = self._queue[0] if self._queue else None
                if isinstance(following, tuple) and type(following[0]) is type(message):
                    continue
            if isinstance(message, m.Drag):
                self._dragged = (arrived, message.stamp)
            try:
                self.handle(message)
            except ManikinError as error:
                self._say(m.Error(message.kind, str(error)), unique=True)
            except Exception as error:
                # an internal error must not end the session
                traceback.print_exc()
                self._say(m.Error(message.kind, f"{type(error).__name__}: {error}"), unique=True)

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
        return 1 / 60

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
        """The simulation diverged: report it and wait for a reset."""
        self.playing, self.diverged = False, reason
        self._close_take(reason)
        self._say(m.Error("", f"{reason}; reset, or go back and try again from an earlier moment"), unique=True)

    # --- messages

    def handle(self, message: m.ClientMessage) -> None:
        """Act on a message; called between steps."""
        if isinstance(message, _POINTER):
            # first, because there are a hundred per second
            self._handle_pointer(message)
            return
        # the user should see at once that a key press had an effect
        self._due["status"] = 0.0
        if isinstance(message, m.Open):
            if message.scene not in shipped():
                # the page may open shipped scenes, and no other files
                raise InputError(f"no scene is called '{message.scene}'{did_you_mean(message.scene, shipped())}")
            self.open(load_scene(message.scene))
        elif isinstance(message, m.TakeName | m.TakeSave | m.TakeLoad | m.TakeDelete | m.TakeGhost):
            self._handle_take(message)
        else:
            self._handle_live(message)

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
            for _ in range(message.steps):
                if not self.diverged:
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
        self._stamp, self._dragged, self._pinned = 0.0, None, None
        self._per_second = round(1 / live.world.timestep)
        self._anchor()
        self._due = dict.fromkeys(self._due, 0.0)
