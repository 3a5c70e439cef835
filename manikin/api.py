"""The few functions that most programs need: run a scene, and what comes of it."""

import time
from collections.abc import Callable

from manikin.compiled import is_interrupt
from manikin.errors import RunError
from manikin.export.report import make_report
from manikin.export.save import Take
from manikin.loop import Run
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import Scene, load_scene, parse_scene
from manikin.scenes.scripts import Steps, why_stuck

Progress = Callable[[float], None]


class Failed(RunError):
    """A run that broke off; `take` holds what was recorded up to then."""

    def __init__(self, message: str, take: Take) -> None:
        super().__init__(message)
        self.take = take


def run(
    scene: Scene | str,
    seconds: float | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    started: Callable[[], None] | None = None,
) -> Take:
    """Run a scene to its end, or for `seconds`. `progress` is told the share done, about thirty times a second.

    Raises Failed when the simulation diverges; Ctrl-C ends the run and returns what was recorded.
    """
    if isinstance(scene, str):
        scene = load_scene(scene)
    changes = {k: v for k, v in {"seconds": seconds, "seed": seed}.items() if v is not None}
    if changes:
        scene = parse_scene(scene.model_dump(exclude_defaults=True), scene.where, changes)
    work = build_run(scene)
    if started is not None:
        started()
    clock = _Clock()
    interrupted = ""
    total = round(scene.seconds / scene.timestep)
    try:
        # the first step may compile kernels: it does not count as simulating
        work.advance(1)
        clock = _Clock(work.world.time)
        _advance(work, total, progress)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        interrupted = f"interrupted at {work.world.time:.2f} s"
    except RunError as error:
        raise Failed(str(error), _take(work, str(error), clock)) from error
    return _take(work, interrupted, clock)


class _Clock:
    """Simulated against real time since a moment."""

    def __init__(self, simulated: float = 0.0) -> None:
        self.simulated, self.real = simulated, time.perf_counter()

    def factor(self, now: float) -> float:
        return (now - self.simulated) / max(time.perf_counter() - self.real, 1e-9)


def _advance(work: Run, total: int, progress: Progress | None) -> None:
    chunk = max(1, round(1 / 30 / work.world.timestep))
    while work.world.steps < total and not work.script.done:
        work.advance(min(chunk, total - work.world.steps))
        if progress is not None:
            progress(work.world.steps / total)
    if progress is not None:
        progress(1.0)


def _take(work: Run, trouble: str, clock: _Clock) -> Take:
    """Finish the recording with what became of the job."""
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
