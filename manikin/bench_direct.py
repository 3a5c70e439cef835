"""Benchmarks of direct control (Kim & Pollard 2011): every character dragged about, timed on one core."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np

from manikin.characters.catalog import TIMESTEP
from manikin.characters.flesh import flesh_of
from manikin.characters.soft import soft
from manikin.characters.worm import worm_plan, worm_tube
from manikin.controllers.direct import Direct
from manikin.drags import CHARACTERS, Outcome, at_rest, perform, random_drags, summary
from manikin.loop import Run
from manikin.machine import on_all_cores
from manikin.physics.world import Control, World
from manikin.scenes.stage import stage
from manikin.tasks.goals import Path
from manikin.tasks.task import Task

Figures = dict[str, float]
Progress = Callable[[float], None]
# how far [m] the first bone is dragged up and aside, and how long each leg takes [s]
LIFT, SWAY, LEG = 0.02, 0.03, 0.5
# drags that are performed in one go
PART = 20


def dragged(model: str) -> Run:
    """A character whose root bone is gently dragged back and forth forever."""
    run = at_rest(model)
    world, task = run.world, run.tasks[0]
    start = task.measure.evaluate(world.dynamics()).value
    turns = np.arange(200)
    offset = np.stack([SWAY * np.sin(0.5 * np.pi * turns), 0.0 * turns, LIFT * (turns % 2)], axis=1)
    task.aim_at(Path(np.asarray(LEG * turns, float), start + offset, world.time))
    return run


def _timed(model: str, seconds: float) -> Figures:
    run = dragged(model)
    controller, spent = run.controller, []
    assert isinstance(controller, Direct)
    decide = controller.control

    def control(world: World, tasks: Sequence[Task], dt: float) -> Control:
        begin = time.perf_counter()
        out = decide(world, tasks, dt)
        spent.append(time.perf_counter() - begin)
        return out

    controller.control = control  # type: ignore[method-assign]
    steps = round(seconds / run.world.timestep)
    run.advance(steps // 4)
    begin = time.perf_counter()
    run.advance(steps)
    whole = time.perf_counter() - begin
    begin = time.perf_counter()
    del controller.control
    run.branch().advance(round(1.0 / run.world.timestep))
    return {
        f"{model}_realtime": round(seconds / whole, 2), f"{model}_control_ms": round(1e3 * float(np.median(spent)), 3),
        f"{model}_preview_of_one_second_s": round(time.perf_counter() - begin, 3),
        f"{model}_tets": float(len(run.world.tetrahedra.elements)),
    }  # fmt: skip


def cost_by_tets(
    cells: tuple[int, ...] = (13, 15, 20, 26, 34, 44), rounds: int = 8, steps: int = 20
) -> list[tuple[int, float]]:
    """Tetrahedra and milliseconds per step of a worm that lies on the ground, its mesh made of more and more cells. They are
    run alternately, so that a busy machine slows all of them alike; of each the fastest run counts."""
    worlds, tets = [], []
    for count in cells:
        # smaller tetrahedra vibrate faster: their flesh is slacker, so that it is stable at the same step
        slack = min(1.0, (13 / count) ** 2)
        plan = replace(worm_plan(), coarse=worm_tube(count), young=slack * worm_plan().young)
        tets.append(len(flesh_of(plan).tets.elements))
        worlds.append(World(stage("tets", [soft(plan, at=(0.0, 0.0, 0.01))], {}, timestep=TIMESTEP)))
    turns = np.empty((rounds, len(cells)))
    for r in range(rounds):
        for k, world in enumerate(worlds):
            control, spent = Control(np.zeros(world.model.nu)), []
            for _ in range(steps):
                begin = time.perf_counter()
                world.refresh()
                world.step(control)
                spent.append(time.perf_counter() - begin)
            turns[r, k] = np.median(spent)
    # it falls in the first half
    least = turns[rounds // 2 :].min(axis=0)
    return [(count, round(1e3 * float(cost), 3)) for count, cost in zip(tets, least)]


def bench_kim2011(seconds: float = 2.0) -> Figures:
    """Each character with its control: times real time, the control solve, a preview of one second; cost by tetrahedra."""
    out: Figures = {}
    for model in CHARACTERS:
        out |= _timed(model, seconds)
    soft_ones = [out[f"{m}_realtime"] for m in CHARACTERS if m != "lamp"]
    out["soft_realtime_least"] = min(soft_ones)
    out["control_ms_most"] = max(out[f"{m}_control_ms"] for m in CHARACTERS)
    out["preview_s_most"] = max(out[f"{m}_preview_of_one_second_s"] for m in CHARACTERS)
    return out | {f"step_ms_of_{tets}_tets": cost for tets, cost in cost_by_tets()}


def drag_campaign(count: int = 2_000, seed: int = 20110806, progress: Progress = lambda done: None) -> Figures:
    """Random drags, `count` of each character, on all cores. Interrupted, it reports those that were finished."""
    outcomes: dict[str, dict[int, Outcome]] = {model: {} for model in CHARACTERS}
    # every character from the start: what was finished covers all of them
    parts = [(model, seed, first, min(first + PART, count)) for first in range(0, count, PART) for model in CHARACTERS]
    with suppress(KeyboardInterrupt):
        for k, (model, some) in enumerate(on_all_cores(_perform_part, parts)):
            outcomes[model] |= some
            progress((k + 1) / len(parts))
    out: Figures = {}
    for model, some in outcomes.items():
        if some:
            # what has no flesh has no least volume
            numbers = summary(list(some.values()))
            out |= {f"{model}_{key}": value for key, value in numbers.items() if np.isfinite(value)}
            # the one to look at: drags are counted from 0, and the same for a seed
            out[f"{model}_worst_drag"] = max(some, key=lambda k: (bool(some[k].broke), some[k].smooth))
    return out


def _perform_part(model: str, seed: int, first: int, end: int) -> tuple[str, dict[int, Outcome]]:
    still = _standing(model)
    drags = enumerate(random_drags(still, end, seed))
    return model, {k: perform(still, drag) for k, drag in islice(drags, first, None)}


_standing = cache(at_rest)
