"""Run a scene, or a run of your own making, and get its recording and report."""

import time
from collections.abc import Callable
from typing import Any

import mujoco

from manikin.errors import InputError, RunError
from manikin.export.report import make_report
from manikin.export.save import Take
from manikin.interrupts import Deferred, is_interrupt
from manikin.loop import Run
from manikin.physics.world import World
from manikin.recording import Recorder, Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import Scene, load_scene, parse_scene
from manikin.scenes.scripts import Steps, why_stuck

Progress = Callable[[float], None]

# frames of a recording per second
FPS = 60.0


class Failed(RunError):
    """A run that failed; `take` holds what was recorded up to then."""

    def __init__(self, message: str, take: Take) -> None:
        super().__init__(message)
        self.take = take


def run(
    what: Scene | Run | str,
    seconds: float | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    started: Callable[[], None] | None = None,
) -> Take:
    """Run a scene (or the name of one) to its end or for `seconds`, or a fresh Run of your own for `seconds`.

    `progress` is called about thirty times a second with the fraction done, `started` when everything is built.
    Raises Failed when the simulation diverges. Ctrl-C ends the run and returns what was recorded; before the first step is
    done there is nothing to return, and it raises KeyboardInterrupt.
    """
    if isinstance(what, Run):
        work, total = _recorded(what, seconds, seed)
    else:
        scene = load_scene(what) if isinstance(what, str) else what
        changes = {k: v for k, v in {"seconds": seconds, "seed": seed}.items() if v is not None}
        if changes:
            scene = parse_scene(scene.model_dump(exclude_defaults=True), scene.where, changes)
        work, total = build_run(scene), round(scene.seconds / scene.timestep)
    if started is not None:
        started()
    clock: _Clock | None = None
    interrupted = ""
    try:
        # the first step may compile kernels: it does not count as simulating
        work.advance(1)
        clock = _Clock(work.world.time)
        _advance(work, total, progress)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        if clock is None:
            raise KeyboardInterrupt from error
        interrupted = f"interrupted at {work.world.time:.2f} s"
    except RunError as error:
        raise Failed(str(error), _take(work, str(error), clock or _Clock())) from error
    assert clock is not None
    return _take(work, interrupted, clock)


def _recorded(work: Run, seconds: float | None, seed: int | None) -> tuple[Run, int]:
    """The caller's own run, with a recorder, and the number of steps after which it ends."""
    if seed is not None:
        raise InputError("seed: is for scenes; in a run of your own nothing is random unless you make it so")
    if seconds is None or not seconds > 0:
        raise InputError(f"seconds: given {seconds}, a run of your own needs a number above 0")
    if work.recorder is None:
        if work.world.steps:
            raise InputError("a run can be recorded only from its start; this one has advanced already")
        work.recorder = Recorder(work.world, work.tasks, FPS, _meta(work))
    return work, work.world.steps + round(seconds / work.world.timestep)


def _meta(work: Run) -> dict[str, Any]:
    from manikin import __version__

    world = work.world
    name = work.world.model.names[: work.world.model.names.index(b"\0")].decode()
    return {
        "scene": "",
        "name": name,
        "version": __version__,
        "seed": 0,
        "controller": type(work.controller).__name__.lower(),
        "driven": [],
        "characters": {c.root: list(c.bodies) for c in world.characters},
        "feet": [f for c in world.characters for f in c.feet],
        "props": _props(world),
    }


def _props(world: World) -> list[str]:
    """Bodies on the stage that belong to no character."""
    model, theirs = world.model, {c.root for c in world.characters}
    nodes = {n.get("name") for c in world.characters for n in c.nodes}
    tops = [b for b in range(1, model.nbody) if model.body_parentid[b] == 0]
    names = [str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, b)) for b in tops]
    return [n for n in names if n not in theirs and n not in nodes]


class _Clock:
    """Simulated time over real time since a given moment."""

    def __init__(self, simulated: float = 0.0) -> None:
        self.simulated, self.real = simulated, time.perf_counter()

    def factor(self, now: float) -> float:
        return (now - self.simulated) / max(time.perf_counter() - self.real, 1e-9)


def _advance(work: Run, total: int, progress: Progress | None) -> None:
    chunk = max(1, round(1 / 30 / work.world.timestep))
    with Deferred() as interrupt:
        while work.world.steps < total and not work.script.done:
            work.advance(min(chunk, total - work.world.steps))
            if progress is not None:
                progress(work.world.steps / total)
            interrupt.check()
    if progress is not None:
        progress(1.0)


def _take(work: Run, trouble: str, clock: _Clock) -> Take:
    """Finish the recording, with whether the job was done."""
    factor = clock.factor(work.world.time)
    script = work.script
    reason = trouble or script.failed or ""
    if not reason and isinstance(script, Steps) and not script.finished:
        reason = why_stuck(work.world, work.tasks, script)
    assert work.recorder is not None
    work.recorder.meta |= {"ok": not reason, "reason": reason, "facts": script.facts}
    if work.warnings:
        work.recorder.meta["warnings"] = work.warnings
    recording: Recording = work.recorder.finish()
    return Take(recording, make_report(recording, factor))
