"""Prioritized control of dynamic manipulation. Abe & Popovic 2006, sections 3 and 4.

Any number of levels, joint-space and Cartesian tasks at any of them, closed loops and unactuated joints included. Joint
limits stand above all tasks; task-space force limits are applied to each task that has one before it is solved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.linear.nullspace import solve_levels
from manikin.physics.response import Response, acceleration, give_wrench, half_solve, press, torques
from manikin.physics.support import MET
from manikin.physics.world import Control, TaskReport, World
from manikin.tasks.limits import Bounds, JointLimits, Limit, clamp_force
from manikin.tasks.measures import Measure, Posture, Reading, plan_of
from manikin.tasks.task import Task, rows_of

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """What the controller decided: the input z, torques [N m], constraint forces, and how the tasks fared.

    ctrl: the torques as the actuators get them, within their limits and with what implicit damping takes away in a step.

    ground (m, 3): forces [N] at the sole points of characters on their own feet; short: by how much [m/s^2] the ground
    could not give what the tasks asked for, before they were solved again with what it can give.
    missed: for each task the length of wanted minus commanded acceleration.
    """

    z: Array
    torque: Array
    ctrl: Array
    force: Array
    ground: Array
    short: float
    report: Callable[[], dict[str, TaskReport]]
    missed: Callable[[], dict[str, float]]


@dataclass(frozen=True)
class Prioritized:
    """soft: rows of which less than this fraction is left are damped (0.005 exact but hard, 0.1 soft).

    compensate: False is the classic projection, which does not account for what higher tasks do to lower ones.
    limits: what no task may break, such as joint limits.
    hardest: no level changes the motion by more than it takes to accelerate the whole mass by this [m/s^2].
    """

    soft: float = 0.1
    compensate: bool = True
    limits: tuple[Limit, ...] = (JointLimits(),)
    hardest: float = 7.0

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        """Torques for the present state, within the actuators' limits."""
        solution = self.solve(world, tasks, dt)
        return Control(solution.ctrl, None, solution.report)

    def solve(self, world: World, tasks: Sequence[Task], dt: float) -> Solution:
        """The prioritized torques before any actuator limit."""
        dynamics = world.dynamics()
        response = dynamics.response()
        n, nu = len(response.h), len(response.layout.actuated)
        order, lowest, table = _arrange(nu, *[(t.active, t.priority, t.measure, t.weight, t.max_force) for t in tasks])
        levels, last = [tasks[k] for k in order], None if lowest is None else tasks[lowest]
        rows, wanted, places = rows_of(levels, world, dt)
        rest_rows, rest_wanted = self._ask_last(world, response, last, dt)
        bounds = _merged([limit.bounds(dynamics) for limit in self.limits], n)
        asked = (rows, wanted, table, rest_rows, rest_wanted, *bounds)
        longest = self.hardest * np.sqrt(world.acting_mass)
        motors, how = (*world.torque_limits, world.step_damping), (self.soft, longest, self.compensate)
        maps, force, z = response.maps, np.empty(len(order)), np.empty(n)
        driven = (np.empty(nu), np.empty(nu), np.empty(len(response.layout.weights)))
        _solve(*asked, *motors, *maps, *how, force, z, *driven)  # type: ignore[call-arg]
        ground, short = np.empty((len(response.ground.touching), 3)), 0.0
        if response.standing:
            short = _solve_on_feet(  # type: ignore[call-arg]
                z, *asked, *motors, *maps, *response.ground_maps, *how, *driven, ground
            )
        for k, task in enumerate(levels):
            if task.max_force is not None:
                task.at_limit = bool(force[k] >= 0.999 * task.max_force)

        def report() -> dict[str, TaskReport]:
            out = {t.name: TaskReport(t.error, float(f), t.max_force or float("nan")) for t, f in zip(levels, force)}
            return out if last is None else out | {last.name: TaskReport(last.error)}

        def missed() -> dict[str, float]:
            gap = rows @ z - wanted
            out = {t.name: float(np.linalg.norm(gap[place])) for t, place in zip(levels, places)}
            return out if last is None else out | {last.name: float(np.linalg.norm(rest_rows @ z - rest_wanted))}

        return Solution(z, *driven, ground, short, report, missed)

    def _ask_last(self, world: World, response: Response, task: Task | None, dt: float) -> tuple[Array, Array]:
        """A posture of all joints takes what is left: its rows are those of the joints themselves."""
        if task is None:
            return _no_rows(world.model.nv), np.zeros(0)
        measure = task.measure
        assert isinstance(measure, Posture)
        # its rows are known: a law needs value and rate only
        wanted = np.empty(len(measure.dofs))
        task.want(world, Reading(*measure.angles(world.dynamics())), dt, wanted)
        return response.rows_of_dofs(measure.dofs), wanted


@kernel
def _by_level(tasks: Array) -> tuple[Array, NDArray[np.int64]]:
    """Weights of all rows, and where each level begins (levels + 1,). tasks (t, 5): see _solve."""
    total = 0
    for t in range(tasks.shape[0]):
        total += int(tasks[t, 0])
    weights, starts = np.empty(total), np.zeros(tasks.shape[0] + 1, np.int64)
    levels, r = 0, 0
    for t in range(tasks.shape[0]):
        k = int(tasks[t, 0])
        for i in range(k):
            weights[r + i] = tasks[t, 2]
        if t == 0 or tasks[t, 1] != tasks[t - 1, 1]:
            levels += 1
        r += k
        starts[levels] = r
    return weights, starts[: levels + 1]


@kernel
def _drive(
    z: Array, ground: Array, soles: Array, weakest: Array, strongest: Array, step_damping: Array, h: Array, L: Array,
    lever: Array, actuated: NDArray[np.int64], tied: NDArray[np.int64],
    units: Array, LD: Array, root: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32],
    torque: Array, ctrl: Array, reaction: Array,
) -> None:  # fmt: skip
    """Torques of a motion, the same as the actuators get them, and the constraint forces."""
    torques(z, h, L, lever, actuated, tied, soles, ground, LD, root, start, count, column, torque, reaction)
    # damping is integrated implicitly: a step moves M + dt D, and what is planned should come true
    qacc = acceleration(z, units)
    for j in range(torque.shape[0]):
        t = torque[j] + step_damping[j] * qacc[actuated[j]]
        # a number that is lost stays lost: the world then says so
        ctrl[j] = weakest[j] if t < weakest[j] else strongest[j] if t > strongest[j] else t


@kernel
def _solve(
    rows: Array, wanted: Array, tasks: Array, rest_rows: Array, rest_wanted: Array,
    bounded: Array, low: Array, high: Array, weakest: Array, strongest: Array, step_damping: Array,
    basis: Array, constrained: int, decided: int, motion: Array, unforced: Array, h: Array, L: Array, lever: Array,
    actuated: NDArray[np.int64], tied: NDArray[np.int64],
    units: Array, LD: Array, root: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32],
    soft: float, longest: float, compensate: bool, force: Array, z: Array, torque: Array, ctrl: Array, reaction: Array,
) -> None:  # fmt: skip
    """One call for the whole step: rows over the input, force limits, levels, torques.

    rows come as Jacobians and leave as rows over the input; wanted leaves as the force limits allow.
    tasks (t, 5): rows, priority, weight, largest force (0 for none), rows per block.
    """
    half_solve(rows, units)
    force[:] = 0.0
    r = 0
    for t in range(tasks.shape[0]):
        k = int(tasks[t, 0])
        if tasks[t, 3] > 0:
            force[t] = clamp_force(
                rows[r : r + k], wanted[r : r + k], basis, constrained, unforced, tasks[t, 3], int(tasks[t, 4])
            )
        r += k
    weights, starts = _by_level(tasks)
    solve_levels(
        rows, wanted, weights, starts, rest_rows, rest_wanted, bounded, low, high, basis, decided, motion,
        soft, longest, compensate, z,
    )
    none = np.zeros((0, 3))
    _drive(
        z, none, none, weakest, strongest, step_damping, h, L, lever, actuated, tied, units, LD, root, start, count, column,
        torque, ctrl, reaction,
    )  # fmt: skip


@kernel
def _solve_on_feet(
    z: Array, rows: Array, wanted: Array, tasks: Array, rest_rows: Array, rest_wanted: Array,
    bounded: Array, low: Array, high: Array, weakest: Array, strongest: Array, step_damping: Array,
    basis: Array, constrained: int, decided: int, motion: Array, unforced: Array, h: Array, L: Array, lever: Array,
    actuated: NDArray[np.int64], tied: NDArray[np.int64],
    units: Array, LD: Array, root: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32],
    rigid: Array, soles: Array, touching: Array, of: Array, soft: float, longest: float, compensate: bool,
    torque: Array, ctrl: Array, reaction: Array, ground: Array,
) -> float:  # fmt: skip
    """What is left of the motion z of _solve when the ground only pushes, and only so far aside."""
    ground[:] = 0.0
    short = press(z, h, rigid, soles, touching, of, ground, LD, root, start, count, column)
    if short > MET:
        # what the ground can give stands above all tasks, and they are solved again
        basis, motion = basis.copy(), motion.copy()
        decided = give_wrench(h, rigid, soles, of, ground, motion, basis, decided, LD, root, start, count, column)
        weights, starts = _by_level(tasks)
        solve_levels(
            rows, wanted, weights, starts, rest_rows, rest_wanted, bounded, low, high, basis, decided, motion,
            soft, longest, compensate, z,
        )  # fmt: skip
        press(z, h, rigid, soles, touching, of, ground, LD, root, start, count, column)
    _drive(
        z, ground, soles, weakest, strongest, step_damping, h, L, lever, actuated, tied, units, LD, root, start, count, column,
        torque, ctrl, reaction,
    )  # fmt: skip
    return short


def _no_rows(n: int) -> Array:
    return np.zeros((0, n))


def _merged(bounds: list[Bounds], n: int) -> Bounds:
    if len(bounds) == 1:
        return bounds[0]
    if not bounds:
        return Bounds(np.zeros((0, n)), np.zeros(0), np.zeros(0))
    return Bounds(*(np.concatenate(part) for part in zip(*bounds)))


@lru_cache(64)
def _arrange(
    actuated: int, *tasks: tuple[bool, int, Measure, float, float | None]
) -> tuple[tuple[int, ...], int | None, Array]:  # fmt: skip
    """Which tasks, by their places in the list, make the levels, which takes what is left below them, and the levels as the
    kernel reads them. They are the same from step to step."""
    order, last = _split(actuated, tasks)
    rows = plan_of(*(tasks[k][2] for k in order)).rows
    table = np.empty((len(order), 5))
    for i, (k, place) in enumerate(zip(order, rows)):
        _, priority, measure, weight, most = tasks[k]
        table[i] = place.stop - place.start, priority, weight, most or 0.0, measure.block
    return order, last, table


def _split(
    actuated: int, tasks: Sequence[tuple[bool, int, Measure, float, float | None]]
) -> tuple[tuple[int, ...], int | None]:  # fmt: skip
    """Active tasks by priority, up to a posture of all joints that is alone at its level: nothing is left below it."""
    order = sorted((k for k, task in enumerate(tasks) if task[0]), key=lambda k: tasks[k][1])
    for i, k in enumerate(order):
        _, priority, measure, _, _ = tasks[k]
        if isinstance(measure, Posture) and len(measure.dofs) == actuated:
            neighbours = order[max(i - 1, 0) : i] + order[i + 1 : i + 2]
            if all(tasks[n][1] != priority for n in neighbours):
                return tuple(order[:i]), k
    return tuple(order), None
