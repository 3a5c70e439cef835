"""A take as a scene: its drags and pins become tasks and steps of a script, which `manikin run` replays exactly.

The take is repeated from its inputs, and the goal of every task is noted at each update of control. Steps of the scene's own
script get the times at which they began, so that nothing depends on conditions any more. Then the script is run, and must end
in the same state.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import tomli_w
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.errors import InputError
from manikin.export.save import save
from manikin.physics.world import Push, World
from manikin.scenes.build import build_run
from manikin.scenes.scene import Scene, parse_text
from manikin.scenes.scripts import Steps
from manikin.studio.drag import Dragged, goal_value
from manikin.studio.journal import Past, read_qpos
from manikin.studio.live import Live, LiveInput, run_again
from manikin.studio.messages import Assist, Grab, Knob
from manikin.studio.names import KEYS
from manikin.tasks.laws import Law, Stabilize, Track
from manikin.tasks.measures import CentreOfMass, Measure, Orientation, Points, Posture
from manikin.tasks.task import Task

Array = NDArray[np.float64]
_SETTINGS = ("formulation", "contact_joints", "compliant")
# keys that are left out of a step whose time is known
_CONDITIONS = {"when", "timeout", "otherwise", "fallback", "end"}


def write_take(journal: Path, target: Path) -> None:
    """Save a take: as a scene that repeats it, or in any format of a recording."""
    past = Past(journal)
    if target.suffix == ".toml":
        target.write_text(scene_text_of(past), encoding="utf-8")
    else:
        save(past.recording(), target)


def scene_text_of(past: Past) -> str:
    """The take as a scene file."""
    meta = past.head["meta"]
    scene = parse_text(str(meta["scene"]), str(meta["name"]))
    inputs = past.inputs()
    _check(scene, [message for _, message in inputs])
    live = Live(scene)
    witness = Witness(live)
    live.run.pullers = (*live.run.pullers, witness)
    run_again(live, inputs, past.frame_steps[-1])
    gap = np.abs(live.world.data.qpos - read_qpos(past.path, past.offsets[-1], live.world.model.nq)).max()
    if not gap <= 1e-9:
        raise InputError(f"the take cannot be saved as a scene: repeated, it differs by {gap:.2g}")
    text = _short(tomli_w.dumps(_compose(scene, witness)))
    # the written scene must do the same
    again = build_run(parse_text(text, scene.name), record=False)
    again.advance(live.world.steps)
    gap = np.abs(live.world.data.qpos - again.world.data.qpos).max()
    if not gap <= 1e-9:
        raise InputError(f"the take cannot be saved as a scene: the written scene differs by {gap:.2g}")
    return text


def _short(text: str) -> str:
    """Put each array of plain numbers or words on one line."""

    def join(found: re.Match[str]) -> str:
        return f"[{', '.join(line.strip().rstrip(',') for line in found[1].splitlines())}]"

    return re.sub(r"\[\n((?:\s+[^\[\]\n]+,\n)+)\s*\]", join, text)


def _check(scene: Scene, inputs: list[LiveInput]) -> None:
    """Refuse takes that a script cannot express."""
    if scene.controller != "direct":
        raise InputError("only takes of creatures under direct control can be saved as a scene")
    for message in inputs:
        if isinstance(message, Grab) and message.mode in ("push", "spring"):
            raise InputError(
                f"the take cannot be saved as a scene: '{message.target}' was pushed, and a script only drags and pins"
            )
        if isinstance(message, Assist) and message.newtons > 0:
            raise InputError("the take cannot be saved as a scene: it was assisted from outside")
        if isinstance(message, Knob) and message.path.startswith("props."):
            raise InputError(f"the take cannot be saved as a scene: '{message.path}' was changed while it ran")


@dataclass
class Episode:
    """A task from one drag or pin until it ends. rows: [time, numbers...] since it began, each valid until the next."""

    name: str
    slot: int  # index of its task in the run
    began: int  # step
    spec: dict[str, Any]  # table of a task of its own; empty for a task of the scene
    rows: list[list[float]] = field(default_factory=list)

    def hold(self, seconds: float, value: Array) -> None:
        numbers = np.asarray(value).ravel().tolist()
        if not self.rows or self.rows[-1][1:] != numbers:
            self.rows.append([seconds, *numbers])


@dataclass
class Change:
    """What changes at a step: steps of the scene's script, and the user's inputs."""

    scripted: list[dict[str, Any]] = field(default_factory=list)
    by_hand: dict[str, Any] = field(default_factory=dict)

    def switch(self, key: str, name: str) -> None:
        self.by_hand.setdefault(key, []).append(name)

    def tune(self, name: str, key: str, value: float) -> None:
        self.by_hand.setdefault("tune", {}).setdefault(name, {})[key] = value


class Witness:
    """Observes a run in each step, when all its inputs are known, just before the control update."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.changes: dict[int, Change] = {}
        self.episodes: list[Episode] = []
        self._open: dict[int, tuple[Episode, Law | None, Measure | None]] = {}
        self._began = 0
        self._own = len(live.scene.tasks)
        self._states = {k: _state(task) for k, task in enumerate(live.run.tasks)}
        self._settings = self._now()

    def push(self, world: World) -> Push | None:
        """A hook called before each control update. It exerts no force."""
        began = self._script()
        if not began and world.steps % self.live.run.every:
            # no control update in this step: goals are not read
            return None
        change = Change([self._repeat(k) for k in began])
        given = {name for step in change.scripted for name in step.get("goals", {})}
        for slot, task in enumerate(self.live.run.tasks):
            if slot < self._own:
                self._scene_task(slot, task, change, given)
            else:
                self._studio_task(slot, task, change)
        for key, value in (now := self._now()).items():
            if value != self._settings[key]:
                change.by_hand[key] = value
        self._settings = now
        if change.scripted or change.by_hand:
            self.changes[world.steps] = change
        return None

    def _now(self) -> dict[str, Any]:
        controller = self.live.controller
        assert isinstance(controller, Direct)
        return {key: getattr(controller, key) for key in _SETTINGS}

    def _script(self) -> list[str]:
        """Names of the steps that have just begun."""
        script = self.live.run.script
        if not isinstance(script, Steps):
            return []
        out = script.began[self._began :]
        self._began = len(script.began)
        return out

    def _repeat(self, name: str) -> dict[str, Any]:
        spec = next(s for s in self.live.scene.steps if s.name == name)
        return spec.model_dump(mode="json", exclude_defaults=True, exclude_none=True, exclude=_CONDITIONS)

    def _seconds(self, since: int) -> float:
        return (self.live.world.steps - since) * self.live.world.timestep

    def _scene_task(self, slot: int, task: Task, change: Change, given: set[str]) -> None:
        before, now = self._states[slot], _state(task)
        self._states[slot] = now
        scripted = {key: [s.get(key, ()) for s in change.scripted] for key in ("on", "off", "tune")}
        if before["active"] != now["active"] and task.name not in given:
            key = "on" if now["active"] else "off"
            if not any(task.name in names for names in scripted[key]):
                change.switch(key, task.name)
        for key in ("priority", "frequency", "smoothing"):
            if before[key] != now[key] and not any(key in tune.get(task.name, {}) for tune in scripted["tune"] if tune):
                change.tune(task.name, key, now[key])
        if task.name in given:
            self._open.pop(slot, None)
        if slot not in self._open and isinstance(task.goal, Dragged):
            if not isinstance(task.law, Stabilize):
                raise InputError(
                    f"the take cannot be saved as a scene: the goal of '{task.name}' was dragged, which does not stabilize"
                )
            self._begin(slot, task, change, Episode(task.name, slot, self.live.world.steps, {}))
        if slot in self._open:
            self._sample(slot, task)

    def _studio_task(self, slot: int, task: Task, change: Change) -> None:
        if slot in self._open:
            episode, law, measure = self._open[slot]
            if not task.active or task.law is not law or task.measure is not measure:
                change.switch("off", episode.name)
                del self._open[slot]
            elif task.priority != self._states[slot]["priority"]:
                change.tune(episode.name, "priority", task.priority)
        if task.active and slot not in self._open:
            number = 1 + sum(e.slot == slot for e in self.episodes)
            name = f"{task.name.removeprefix('studio_')}_{number}"
            while name in self.live.scene.tasks:
                name += "_"
            self._begin(slot, task, change, Episode(name, slot, self.live.world.steps, _spec(self.live, task)))
        if slot in self._open and task.name != KEYS:
            self._sample(slot, task)
        self._states[slot] = _state(task)

    def _begin(self, slot: int, task: Task, change: Change, episode: Episode) -> None:
        self._open[slot] = (episode, task.law, task.measure)
        self.episodes.append(episode)
        goal = {"hold": episode.rows}  # the list is shared: its rows are added later
        if task.name == KEYS:
            goal = {"spline": [list(row) for row in self.live.board.keys]}
        change.by_hand.setdefault("goals", {})[episode.name] = goal

    def _sample(self, slot: int, task: Task) -> None:
        episode = self._open[slot][0]
        value = goal_value(self.live.world, task)
        if value is None:
            raise InputError(f"the take cannot be saved as a scene: '{task.name}' had no goal after its drag")
        episode.hold(self._seconds(episode.began), value)


def _state(task: Task) -> dict[str, Any]:
    settings = {key: getattr(task.law, key, None) for key in ("frequency", "smoothing")}
    return {"active": task.active, "priority": task.priority, **settings}


def _spec(live: Live, task: Task) -> dict[str, Any]:
    """A task of the studio as a table of a scene, switched off."""
    measure, law = task.measure, task.law
    spec: dict[str, Any] = _measure(live, measure) | {"priority": task.priority, "active": False}
    if isinstance(law, Track):
        return spec | {"law": "track", "frequency": law.frequency}
    assert isinstance(law, Stabilize)
    spec |= {"frequency": law.frequency, "smoothing": law.smoothing}
    if law.reach is not None:
        straight = isinstance(measure, Points | CentreOfMass)
        spec["reach"] = law.reach if straight else round(float(np.rad2deg(law.reach)), 9)
    return spec


def _measure(live: Live, measure: Measure) -> dict[str, Any]:
    world = live.world
    if isinstance(measure, CentreOfMass):
        root = next(r for r, bodies in live.cast.characters.items() if measure.masses[bodies].any())
        return {"measure": "com", "axes": ["x", "y", "z"], "carried": 0.0, **_whose(live, root)}
    if isinstance(measure, Posture):
        joints = [int(np.flatnonzero(world.model.jnt_qposadr == address)[0]) for address in measure.qpos]
        names = [world.names(mujoco.mjtObj.mjOBJ_JOINT)[j] for j in joints]
        root = live.cast.of(int(world.model.jnt_bodyid[joints[0]]))[1]
        return {"measure": "posture", "of": [n.removeprefix(_prefix(live, root)) for n in names], **_whose(live, root)}
    assert isinstance(measure, Points | Orientation)
    body = int(measure.bodies[0])
    name, root = live.bodies[body], live.cast.of(body)[1]
    if name in world.names(mujoco.mjtObj.mjOBJ_SITE):
        raise InputError(f"the take cannot be saved as a scene: '{name}' is both a body and a site")
    spec = {"measure": "point" if isinstance(measure, Points) else "orientation", "of": name, **_whose(live, root)}
    return spec | ({"offset": measure.offsets[0].tolist()} if isinstance(measure, Points) else {})


def _prefix(live: Live, root: str) -> str:
    return next(p for p in sorted(live.scene.cast(), key=len, reverse=True) if root.startswith(p))


def _whose(live: Live, root: str) -> dict[str, str]:
    prefix = _prefix(live, root)
    return {"character": prefix[:-1]} if prefix else {}


def _compose(scene: Scene, witness: Witness) -> dict[str, Any]:
    raw = scene.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    own = sorted((e for e in witness.episodes if e.spec), key=lambda e: (e.slot, e.began))
    raw["tasks"] = raw.get("tasks", {}) | {e.name: e.spec for e in own}
    raw["steps"], last = [], 0
    world = witness.live.world
    for at, change in sorted(witness.changes.items()):
        hand = [{"name": f"hand_{at}", **change.by_hand}] if change.by_hand else []
        for step in [*change.scripted, *hand]:
            names = [s["name"] for s in raw["steps"]]
            if step["name"] in names:
                step["name"] = f"{step['name']}_{at}"
            # between two steps of physics, so that no rounding of the clock decides
            wait = {"when": {"after": (at - last - 0.5) * world.timestep}} if at > last else {}
            raw["steps"].append({"name": step["name"], **wait, **step})
            last = at
    names = [s["name"] for s in raw["steps"]]
    if "facts" in raw:
        raw["facts"] = {k: f for k, f in raw["facts"].items() if all(f[key] in names for key in ("since", "until") if key in f)}
    if "knobs" in raw:
        raw["knobs"] = {path: knob for path, knob in raw["knobs"].items() if not path.startswith("steps.")}
    raw["name"] = f"{scene.name}_saved"
    raw["title"] = f"{scene.title or scene.name}, as it was dragged"
    raw["seconds"] = world.steps * world.timestep
    return raw
