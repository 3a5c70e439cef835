"""The stage: the present run, the take it is recorded in, and the takes shown next to it. No thread, no clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np

from manikin.errors import InputError
from manikin.export.gltf import glb_bytes
from manikin.recording import Recorder, Recording
from manikin.scenes.scene import Scene, parse_text
from manikin.studio import messages as m
from manikin.studio.descriptions import model_message
from manikin.studio.journal import Journal, Past, nearest_frame, read_qpos
from manikin.studio.live import Live, run_again, with_values
from manikin.studio.moments import Moment, Over
from manikin.studio.posing import Doll
from manikin.studio.preview import Previewer
from manikin.studio.takes import TakeFolder
from manikin.studio.why import Explainer

Send = Callable[[str, bytes | str], None]
# changes of one knob that follow each other within this many seconds are undone as one
ONE_TURN = 0.5


@dataclass
class Ghost:
    """A take that is shown next to the present one."""

    take: str
    past: Past


class Stage:
    """`send(key, content)` sends to all pages; later content with the same key replaces earlier content."""

    def __init__(self, folder: TakeFolder, send: Send) -> None:
        self.folder, self.send = folder, send
        self.live: Live | None = None
        self.take = ""
        self.glb = b""
        self.playing, self.diverged = False, ""
        self.shown: float | None = None  # the earlier moment that is shown, None for the present
        self.past: Past | None = None  # a take that was opened and not yet continued
        self.moments: list[Moment] = []
        self.ghosts: list[Ghost] = []
        self.undone: list[tuple[str, float]] = []
        self._turned = ("", 0.0)  # the knob that was changed last, and when
        self.why: Explainer | None = None
        self.preview = Previewer()
        self.doll: Doll | None = None  # the doll, while a key is posed
        self.keys: list[tuple[float, ...]] = []  # key poses that were kept: [time, angles in degrees]
        self._sequence = 0
        self._viewer: tuple[mujoco.MjModel, mujoco.MjData] | None = None

    def _say(self, message: m.ServerMessage, unique: bool = False) -> None:
        key = message.kind
        if unique:
            self._sequence += 1
            key = f"{key} {self._sequence}"
        self.send(key, m.dump(message))

    def _ready(self) -> None:
        """Inputs act at the end of the take."""
        if self.diverged:
            raise InputError("the simulation diverged: reset, or go back and try again from an earlier moment")
        if self.past is not None:
            raise InputError("this take has ended: try again from one of its moments")
        self.shown = None

    # --- scenes and takes

    def open(self, scene: Scene) -> None:
        """A scene from its first moment, paused, as a new take."""
        take = self.folder.new_id()
        live = Live(scene, partial(Journal, path=self.folder.file(take)))
        self._settle(live, take, None)

    def _settle(self, live: Live, take: str, past: Past | None) -> None:
        """Close the present run and replace it by another."""
        changed = self.live is None or self.live.world.mjcf != live.world.mjcf
        if self.live is None or (self.live.scene.name, self.live.world.model.nq) != (live.scene.name, live.world.model.nq):
            self.ghosts = []
            self.keys = []
        self.doll = None
        self._close_take()
        explaining = self.why is not None
        if self.live is not None:
            self.live.retire()
        self.live, self.take, self.past = live, take, past
        self.playing, self.diverged, self.shown = False, "", None
        self.moments, self.undone = [], []
        if past is None:
            self.folder.note(take, created=time.time())
            if (journal := self._journal()) is not None:
                self.folder.recording[take] = journal
        if changed:
            # deforming surfaces come with the frames
            self.glb = glb_bytes(_still(live), flesh=False)
        self._viewer = None
        self.why = Explainer(live) if explaining else None
        self.preview.forget()
        self._say(model_message(live, take))
        self.say_takes()

    def _present_scene(self) -> Scene:
        """The scene with the present values of its live knobs."""
        assert self.live is not None
        turned = self.live.knobs.changes()
        return with_values(self.live.scene, turned) if turned else self.live.scene

    def _journal(self) -> Journal | None:
        recorder: Recorder | None = None if self.live is None else self.live.run.recorder
        return recorder if isinstance(recorder, Journal) and not recorder.closed else None

    def flush(self) -> None:
        """Write what was recorded so far, so that it can be read from the disk."""
        journal = self._journal()
        if journal is not None:
            journal.flush()

    def _close_take(self, trouble: str = "") -> None:
        """End the present take; an empty one without a name is not kept."""
        journal = self._journal()
        if journal is None or self.live is None:
            return
        ok, reason = self.live.outcome()
        # after a divergence the state is lost: the last frame is the last good one
        journal.close(ok and not trouble, trouble or reason, self.live.facts(), whole=not trouble)
        self.folder.recording.pop(self.take, None)
        self.folder.closed(self.take, journal)
        if self.live.world.steps == 0 and not self.folder.name(self.take):
            self.folder.delete(self.take)

    def _length(self) -> float:
        if self.past is not None:
            return self.past.seconds
        return 0.0 if self.live is None else self.live.time

    def _ticks(self) -> list[tuple[float, str]]:
        """Times and names of events in the take that is shown."""
        source = self.past if self.past is not None else None if self.live is None else self.live.run.recorder
        return source.ticks if isinstance(source, Past | Journal) else []

    def _finished(self) -> bool:
        """Whether the script has ended in the take that is shown."""
        assert self.live is not None
        if self.past is None:
            return self.live.run.script.done or isinstance(self.live.run.script, Over)
        ends = {step.name for step in self.live.scene.steps if step.end}
        return any(name in ends for _, name in self.past.ticks)

    def branch(self, moment: float) -> None:
        """Continue from the frame at a time as a new take, paused there."""
        assert self.live is not None
        self.flush()
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
            raise InputError(f"the take cannot be continued: repeated, it differs by {gap:.2g} at {past.times[frame]:.2f} s")
        take = self.folder.new_id()
        world = live.world
        live.run.recorder = Journal(
            world, live.run.tasks, scene.fps, past.head["meta"], self.folder.file(take), past, steps
        )  # fmt: skip
        if live.grip is not None:
            # what was held then is held no longer
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
            if message.take == self.take:
                doing = "looked at" if present is None else "being recorded"
                raise InputError(f"take: this one is {doing}; reset or open another one first")
            if message.take in self.folder.recording:
                raise InputError("take: this one is being recorded on another page")
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
        if why := self.folder.opens(take):
            raise InputError(f"take: '{take}' can be exported, but not opened: {why}")
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
            raise InputError("take: only takes of the same scene can be shown next to each other")
        self.ghosts.append(Ghost(take, past))

    # --- key poses

    def _handle_pose(self, message: m.Pose | m.PoseEnd | m.KeyAdd | m.KeyDrop) -> None:
        live = self.live
        assert live is not None
        if isinstance(message, m.PoseEnd):
            self.doll = None
        elif isinstance(message, m.KeyDrop):
            if not 0 <= message.number < len(self.keys):
                raise InputError(f"key_drop.number: given {message.number}, of {len(self.keys)} keys")
            del self.keys[message.number]
        else:
            self._ready()
            if isinstance(message, m.Pose):
                if self.playing:
                    raise InputError("pose: pause first (Space)")
                # the character's present place, if time has passed
                if self.doll is None or self.doll.world.steps != live.world.steps:
                    self.doll = Doll(live)
                self.doll.bend(message)
            else:
                row = (message.time, *(self.doll or Doll(live)).angles())
                self.keys = sorted([k for k in self.keys if abs(k[0] - message.time) > 1e-3] + [row])

    # --- knobs

    def _handle_knob(self, message: m.Knob | m.Undo) -> None:
        live = self.live
        assert live is not None
        if isinstance(message, m.Undo):
            if not self.undone:
                raise InputError("there is nothing to undo")
            path, value = self.undone[-1]
        else:
            path, value = message.path, message.value
            live.knobs.check(path, value)
        if live.knobs.is_live(path):
            # bad values are refused before anything is recorded
            self._ready()
        if isinstance(message, m.Undo):
            self.undone.pop()
            self._turned = ("", 0.0)
        else:
            before, now = live.knobs.value(path), time.monotonic()
            # one drag of a slider is undone as a whole
            if before is not None and not (self._turned[0] == path and now - self._turned[1] < ONE_TURN):
                self.undone.append((path, before))
            self._turned = (path, now)
        if live.knobs.is_live(path):
            live.give(m.Knob(path, value))
            self._say(m.Knobs(live.knobs.infos()))
            return
        undone, playing, chosen = self.undone, self.playing, live.knobs.in_scene(path, value)
        self.open(with_values(self._present_scene(), {path: chosen}))
        self.undone, self.playing = undone, playing
        shown = chosen if isinstance(chosen, str) else f"{chosen:g}"
        self._say(m.Notice(f"{path} = {shown}: the scene restarts as a new take"), unique=True)

    def takes(self) -> m.Takes:
        """All takes in the folder."""
        ghosts = {g.take: k for k, g in enumerate(self.ghosts)}
        infos = [self.folder.info(take, ghosts.get(take)) for take in self.folder.ids()]
        return m.Takes(tuple(i for i in infos if i is not None))

    def say_takes(self) -> None:
        """Send the list of takes to all pages."""
        self._say(self.takes())

    # --- looking back

    def _shown_pose(self) -> tuple[float, mujoco.MjData] | None:
        """The earlier moment that is shown, from the journal."""
        if self.shown is None:
            return None
        assert self.live is not None
        source = self.past or self.live.run.recorder
        assert isinstance(source, Past | Journal)
        if isinstance(source, Journal) and not source.closed:
            source.flush()
        frame = nearest_frame(source.times, self.shown)
        return source.times[frame], self._pose(source, frame)

    def _pose(self, source: Past | Journal, frame: int) -> mujoco.MjData:
        """The pose at a frame, valid until the next call."""
        if self._viewer is None:
            assert self.live is not None
            model = self.live.world.model
            self._viewer = (model, mujoco.MjData(model))
        model, data = self._viewer
        data.qpos[:] = read_qpos(source.path, source.offsets[frame], model.nq)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_flex(model, data)
        return data


def _still(live: Live) -> Recording:
    """The first moment as a recording, for its geometry."""
    return Recorder(live.world.branch(), [], live.scene.fps, live.meta).finish()
