"""The publisher: what is sent to pages about a run, and how often. Nothing here waits for a page."""

import collections
from dataclasses import replace

import mujoco

from manikin.studio import messages as m
from manikin.studio.descriptions import handles_of, input_message, markers_of, model_message
from manikin.studio.journal import nearest_frame
from manikin.studio.stage import Send, Stage
from manikin.studio.takes import TakeFolder
from manikin.studio.why import vec

# intervals between messages of each kind, in real seconds
FRAME, STATUS, INPUT, WHY = 1 / 60, 1 / 8, 1 / 20, 1 / 5


class Publisher(Stage):
    """A stage that sends messages about itself."""

    def __init__(self, folder: TakeFolder, send: Send) -> None:
        super().__init__(folder, send)
        self.speed = 1.0
        self.while_pressed = False  # runs only while something is held
        self.audience = True  # whether any page is open
        self._stamp = 0.0  # of the last drag that has reached a step
        self._due = dict.fromkeys(("frame", "status", "input", "why"), 0.0)
        self._rate: collections.deque[tuple[float, float]] = collections.deque(maxlen=64)
        # the knobs, and the pins and priorities, as they were last sent
        self._chosen: tuple[m.KnobInfo, ...] = ()
        self._pinned: m.Pins | None = None

    def _publish(self, now: float) -> None:
        """Send the frames and messages that are due."""
        # all other messages are sent together with a frame
        if self.live is None or not self._is_due("frame", now, FRAME):
            return
        self._rate.append((now, self.live.time))
        if not self.audience:
            return
        self._send_frames()
        self._send_preview()
        if self._is_due("status", now, STATUS):
            self._say(self.status())
            self._publish_choices()
            self._publish_pins()
        if self.live.grip is not None and self._is_due("input", now, INPUT):
            self._say(input_message(self.live, True, self._stamp))
        # it explains the present, not an earlier moment that is shown
        present = not self.diverged and self.past is None and self.shown is None
        if self.why is not None and present and self._is_due("why", now, WHY):
            self._say(self.why.report())

    def _publish_choices(self) -> None:
        """Send choices when they change: a step of the script may do that too."""
        assert self.live is not None
        knobs = self.live.knobs
        if knobs.choices and (chosen := knobs.infos()) != self._chosen:
            self._chosen = chosen
            self._say(m.Knobs(chosen))

    def _publish_pins(self) -> None:
        """Send pins and priorities when they change: an event or a step of the script may do that too."""
        assert self.live is not None
        if self.live.scene.controller == "direct" and (pins := self._pins()) != self._pinned:
            self._pinned = pins
            self._say(pins)

    def _pins(self) -> m.Pins:
        assert self.live is not None
        return replace(self.live.board.message(), keys=tuple(self.keys), posing=self.doll is not None)

    def _is_due(self, what: str, now: float, every: float) -> bool:
        if now < self._due[what]:
            return False
        # keep to the interval, unless it was missed by far
        self._due[what] = max(self._due[what] + every, now - every) if self._due[what] else now + every
        return True

    def _send_frames(self) -> None:
        live = self.live
        assert live is not None
        self._sequence += 1
        when, data = self._shown_pose() or (live.time, live.world.data)
        self.send("frame", self._frame(m.LIVE, self._sequence, when, data))
        if self.doll is not None and self.shown is None:
            self.send("pose", self._frame(m.POSE, 0, live.time, self.doll.world.data))
        for number, ghost in enumerate(self.ghosts):
            frame = nearest_frame(ghost.past.times, when)
            past = self._frame(m.GHOST, number, ghost.past.times[frame], self._pose(ghost.past, frame))
            self.send(f"ghost {number}", past)

    def _frame(self, kind: int, number: int, when: float, data: mujoco.MjData) -> bytes:
        assert self.live is not None
        return m.pack_frame(kind, number, when, data.xpos, data.xquat, self.live.surfaces.vertices(data))

    def _send_preview(self) -> None:
        live = self.live
        assert live is not None
        for paths in self.preview.results():
            self._say(paths, unique=paths.choice >= 0)
        moving = self.playing or self.preview.stale
        if self.preview.on and moving and live.grip is not None and not self.diverged and self.past is None:
            self.preview.ask(live)

    def status(self) -> m.Status:
        """The state of the run."""
        live = self.live
        assert live is not None
        ok, reason = live.outcome() if self.past is None else self.past.outcome()
        (first, then), (last, now) = (self._rate[0], self._rate[-1]) if self._rate else ((0.0, 0.0), (0.0, 0.0))
        realtime = (now - then) / (last - first) if self.playing and last > first else 0.0
        shown = live.time if self.shown is None else self.shown
        markers = () if self.past is not None else markers_of(live)
        return m.Status(
            self.take, shown, self._length(), self.playing, self.speed, live.step_name(), self._finished(),
            tuple(m.Tick(at, name) for at, name in self._ticks()), ok and not self.diverged,
            self.diverged or reason, realtime, self.shown is not None, bool(self.diverged), len(self.undone), live.assist,
            vec(live.helped), live.impulse, markers, handles_of(live), self.preview.on, self.why is not None,
            self.while_pressed,
        )  # fmt: skip

    def welcome(self) -> list[tuple[str, str]]:
        """What a page that has just connected needs to know."""
        out: list[m.ServerMessage] = [self.takes()]
        if self.live is not None:
            out = [model_message(self.live, self.take), self.status(), self._pins(), *out]
        return [(message.kind, m.dump(message)) for message in out]
