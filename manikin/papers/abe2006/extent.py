"""Is each task met as far as possible? Prioritized control against constrained least squares (section 3.1.2).

Independent of the controller's recursion: every level is a quadratic program of its own, over all motions that constraints
and passive joints allow, with the results of the higher levels held fixed and the joint limits as inequalities.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import daqp
import numpy as np
from numpy.typing import NDArray

from manikin.controllers.prioritized import Prioritized, Solution
from manikin.physics.world import Control, World
from manikin.tasks.measures import Posture, Reading
from manikin.tasks.task import Task, rows_of

Array = NDArray[np.float64]

# an inequality that daqp keeps to within this much [rad/s^2]
EXACT = 1e-9


class Level(NamedTuple):
    """Rows of one priority, as long as their task's weight: rows @ z = wanted. names: the tasks at it."""

    names: tuple[str, ...]
    rows: Array
    wanted: Array


class Miss(NamedTuple):
    """By how much a level was missed, the least possible, and with the level left out."""

    level: str
    missed: float
    least: float
    left_out: float


@dataclass
class Watched:
    """A controller that acts exactly like `inner`, and judges it at every `every`-th update.

    Each judgement solves again with copies of the tasks, so that the run is the same bit for bit.
    """

    inner: Prioritized
    every: int
    count: int = 0
    misses: list[Miss] = field(default_factory=list)
    classic: list[Miss] = field(default_factory=list)

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        if self.count % self.every == 0:
            levels = levels_of(world, copy.deepcopy(tasks), dt)
            for controller, misses in ((self.inner, self.misses), (replace(self.inner, compensate=False), self.classic)):
                solution = controller.solve(world, copy.deepcopy(tasks), dt)
                misses += misses_of(controller, world, levels, solution)
        self.count += 1
        return self.inner.control(world, tasks, dt)


def levels_of(world: World, tasks: Sequence[Task], dt: float) -> list[Level]:
    """What the active tasks ask for, by priority; advances the laws of the tasks."""
    response = world.dynamics().response()
    out = []
    for priority in sorted({t.priority for t in tasks if t.active}):
        here = [t for t in tasks if t.active and t.priority == priority]
        parts = [_asked(world, task, dt) for task in here]
        rows, wanted = response.rows(np.concatenate([p[0] for p in parts])), np.concatenate([p[1] for p in parts])
        size = np.linalg.norm(rows, axis=1)
        size /= np.concatenate([np.full(len(p[1]), t.weight) for t, p in zip(here, parts)])
        out.append(Level(tuple(t.name for t in here), rows / size[:, None], wanted / size))
    return out


def _asked(world: World, task: Task, dt: float) -> tuple[Array, Array]:
    """Jacobian and wanted acceleration of one task."""
    if not isinstance(task.measure, Posture):
        rows = rows_of((task,), world, dt)
        return rows.jacobian, rows.wanted
    wanted = np.empty(len(task.measure.dofs))
    task.command(world, Reading(*task.measure.angles(world.dynamics())), dt, wanted)
    return np.eye(world.model.nv)[task.measure.dofs], wanted


def misses_of(controller: Prioritized, world: World, levels: Sequence[Level], solution: Solution) -> list[Miss]:
    """Each level's miss in a solution, compared with the least."""
    dynamics = world.dynamics()
    response = dynamics.response()
    bounds = [limit.bounds(dynamics) for limit in controller.limits]
    kept = response.basis[: response.decided]
    out = []
    for level in levels:
        freedom = null_space(kept)
        z = solution.z
        rows, target = level.rows @ freedom, level.wanted - level.rows @ z
        # steps y away from the solution, which is one of the motions that are possible
        limits = [(b.rows @ freedom, b.low - b.rows @ z, b.high - b.rows @ z) for b in bounds]
        least = least_miss(rows, target, *(np.concatenate(part) for part in zip(*limits)))
        # the motion of least kinetic energy with the same results of the higher levels
        alone = z - freedom @ (freedom.T @ z)
        gaps = [float(np.linalg.norm(gap)) for gap in (target, level.wanted - level.rows @ alone)]
        out.append(Miss("+".join(level.names), gaps[0], min(least, gaps[0]), gaps[1]))
        kept = np.concatenate([kept, level.rows])
    return out


def null_space(rows: Array) -> Array:
    """Orthonormal columns (n, k) of the directions that change no row."""
    _, size, vectors = np.linalg.svd(rows)
    rank = int((size > 1e-9 * size[0]).sum())
    return vectors[rank:].T


def least_miss(rows: Array, target: Array, bounded: Array, low: Array, high: Array) -> float:
    """The least |rows y - target| over all y with low <= bounded y <= high; y = 0 is taken to be allowed."""
    n = rows.shape[1]
    if n == 0:
        return float(np.linalg.norm(target))
    # the bounds hold in the solution up to rounding
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    senses = np.zeros(len(bounded), np.int32)
    H = rows.T @ rows + 1e-10 * np.eye(n)
    y, _, flag, _ = daqp.solve(
        np.ascontiguousarray(H), -rows.T @ target, np.ascontiguousarray(bounded), high, low, senses, primal_tol=EXACT
    )
    if flag < 1:
        raise ValueError(f"least squares with bounds: daqp ended with {flag}")
    return float(np.linalg.norm(rows @ y - target))


def extent(misses: Sequence[Miss]) -> dict[str, dict[str, float]]:
    """Per level, rms over all states: its miss, the least possible, and its miss when it is left out."""
    out = {}
    for level in sorted({s.level for s in misses}):
        values = np.array([s[1:] for s in misses if s.level == level])
        missed, least, ignored = np.sqrt((values**2).mean(axis=0))
        out[level] = {"missed": float(missed), "least": float(least), "left_out": float(ignored), "states": len(values)}
    return out


def losses(misses: Sequence[Miss]) -> dict[str, float]:
    """Per level: its rms miss beyond the least, divided by what it would miss beyond the least if it were left out."""
    out = {}
    for level, seen in extent(misses).items():
        stake = seen["left_out"] - seen["least"]
        out[level] = (seen["missed"] - seen["least"]) / stake if stake > 1e-9 else 0.0
    return out
