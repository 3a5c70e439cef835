"""Prioritized control of dynamic manipulation. Abe & Popovic 2006, sections 3 and 4.

Any number of levels with joint-space and Cartesian tasks, closed loops and unactuated joints included. Joint limits have
priority over all tasks; task-space force limits are applied to each task that has one before it is solved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel, routine
from manikin.controllers.restraint import Motors, beyond, brake, fraction, limits_at
from manikin.errors import InputError
from manikin.linear.nullspace import solve_levels
from manikin.physics.response import Response, acceleration, give_wrench, half_solve, press, torques
from manikin.physics.support import MET
from manikin.physics.world import Control, TaskReport, World
from manikin.tasks.limits import Bounds, JointLimits, Limit, clamp_force
from manikin.tasks.measures import Measure, Posture, Reading, plan_of
from manikin.tasks.task import Task, relative_weights, rows_of

Array = NDArray[np.float64]


class Solution(NamedTuple):
    """What the controller decided: the input z, torques [N m], constraint forces, and how far each task is met.

    ctrl: the torques sent to the actuators, within their limits and compensated for implicit damping.

    ground (m, 3): forces [N] at the sole points of characters on their own feet; short: how far
    [m/s^2] the ground fell short of what the tasks needed, before they were solved again with what it can supply.
    missed: for each task the length of wanted minus commanded acceleration.
    warnings: tasks that have no effect, and why.
    """

    z: Array
    torque: Array
    ctrl: Array
    force: Array
    ground: Array
    short: float
    report: Callable[[], dict[str, TaskReport]]
    missed: Callable[[], dict[str, float]]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prioritized:
    """soft: directions with less than this fraction of their mobility left are damped (0.005: exact but stiff, 0.1: soft).

    compensate: False is the classic projection, which does not account for what higher tasks do to lower ones.
    limits: what no task may break, such as joint limits.
    max_acceleration: no level changes the motion by more than it takes to give the whole mass this acceleration [m/s^2];
    7 is enough for lifting and catching, a throw takes 20.
    restrain: scale back, as a whole, motions that the joints cannot do (see restraint.py); False clips each torque, and keeps
    strict priority even beyond the torque limits.
    """

    soft: float = 0.1
    compensate: bool = True
    limits: tuple[Limit, ...] = (JointLimits(),)
    max_acceleration: float = 7.0
    restrain: bool = True

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        """Torques for the present state, within the actuators' limits."""
        for character in world.characters:
            if character.model != "human" and tasks:
                raise InputError(f"controller: 'prioritized' drives the human; for a {character.model} use 'direct'")
        solution = self.solve(world, tasks, dt)
        return Control(solution.ctrl, None, solution.report, warnings=solution.warnings)

    def solve(self, world: World, tasks: Sequence[Task], dt: float) -> Solution:
        """The prioritized torques; with `restrain` False before any actuator limit."""
        dynamics = world.dynamics()
        response = dynamics.response()
        n, nu = len(response.h), len(response.layout.actuated)
        order, lowest, table, below = _arrange(nu, *[(t.active, t.priority, t.measure, t.weight, t.max_force) for t in tasks])
        levels, last = [tasks[k] for k in order], None if lowest is None else tasks[lowest]
        dropped = [tasks[k] for k in below]
        if dropped:
            # they have no effect, but their distances from the goals are still reported
            rows_of(dropped, world, dt)
        rows, wanted, places = rows_of(levels, world, dt)
        rest_rows, rest_wanted = self._last_rows(world, response, last, dt)
        bounds = _merged([limit.bounds(dynamics) for limit in self.limits], n)
        problem = (rows, wanted, table, rest_rows, rest_wanted, *bounds)
        longest = self.max_acceleration * np.sqrt(world.acting_mass)
        speed = dynamics.qvel[response.layout.actuated]
        limits = limits_at(*world.torque_limits, speed) if self.restrain else world.torque_limits
        motors = Motors(*limits, world.step_damping, speed, dt, self.restrain)
        options = (self.soft, longest, self.compensate)
        maps, force, z = response.maps, np.empty(len(order)), np.empty(n)
        driven = (np.empty(nu), np.empty(nu), np.empty(len(response.layout.weights)))
        _solve(*problem, motors, *maps, *options, force, z, *driven)  # type: ignore[call-arg]
        ground, short = np.empty((len(response.ground.touching), 3)), 0.0
        if response.standing:
            short = _solve_on_feet(  # type: ignore[call-arg]
                z, *problem, motors, *maps, *response.ground_maps, *options, *driven, ground
            )
        for k, task in enumerate(levels):
            if task.max_force is not None:
                task.at_limit = bool(force[k] >= 0.999 * task.max_force)

        def report() -> dict[str, TaskReport]:
            out = {t.name: TaskReport(t.error, float(f), t.max_force or float("nan")) for t, f in zip(levels, force)}
            rest = dropped if last is None else [last, *dropped]
            return out | {t.name: TaskReport(t.error) for t in rest}

        def missed() -> dict[str, float]:
            gap = rows @ z - wanted
            out = {t.name: float(np.linalg.norm(gap[place])) for t, place in zip(levels, places)}
            return out if last is None else out | {last.name: float(np.linalg.norm(rest_rows @ z - rest_wanted))}

        warnings = tuple(no_effect(t.name, last.name) for t in dropped) if last is not None else ()
        return Solution(z, *driven, ground, short, report, missed, warnings)

    def _last_rows(self, world: World, response: Response, task: Task | None, dt: float) -> tuple[Array, Array]:
        """A posture of all joints uses the remaining freedom: its rows are those of the joints themselves."""
        if task is None:
            return _no_rows(world.model.nv), np.zeros(0)
        measure = task.measure
        assert isinstance(measure, Posture)
        # its rows are known, and a law needs only value and rate
        wanted = np.empty(len(measure.dofs))
        task.command(world, Reading(*measure.angles(world.dynamics())), dt, wanted)
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
    z: Array, ground: Array, soles: Array, motors: Motors, h: Array, L: Array, lever: Array,
    actuated: NDArray[np.int64], tied: NDArray[np.int64],
    units: Array, LD: Array, root: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32],
    torque: Array, demand: Array, reaction: Array,
) -> Array:  # fmt: skip
    """Fill in the torques of a motion, the actuator inputs that produce them and the constraint forces; returns its joint
    accelerations."""
    torques(z, h, L, lever, actuated, tied, soles, ground, LD, root, start, count, column, torque, reaction)
    # damping is integrated implicitly, as if the inertia were M + dt D: add dt D qacc so that qacc is realised
    qacc = acceleration(z, units)[actuated]
    for j in range(torque.shape[0]):
        demand[j] = torque[j] + motors.step_damping[j] * qacc[j]
    return qacc


@kernel
def _clip(ctrl: Array, motors: Motors) -> None:
    """Clip to the torque limits. NaN stays NaN: the world reports it."""
    for j in range(ctrl.shape[0]):
        t = ctrl[j]
        ctrl[j] = motors.weakest[j] if t < motors.weakest[j] else motors.strongest[j] if t > motors.strongest[j] else t


@kernel
def _mix(of: Array, rest: Array, part: float) -> None:
    """`of` becomes rest + part (of - rest), for arrays of any shape."""
    flat, other = of.reshape(-1), rest.reshape(-1)
    for i in range(flat.shape[0]):
        flat[i] = other[i] + part * (flat[i] - other[i])


@routine
def _restrain(
    z: Array, qacc: Array, ground: Array, soles: Array, rest: Array, rest_ground: Array, motors: Motors,
    h: Array, L: Array, lever: Array, actuated: NDArray[np.int64], tied: NDArray[np.int64],
    units: Array, LD: Array, root: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32],
    torque: Array, ctrl: Array, reaction: Array,
) -> None:  # fmt: skip
    """Scale back a motion, and everything that follows from it, towards the motion `rest` until all limits hold."""
    other_torque, other_demand, other_reaction = np.empty_like(torque), np.empty_like(ctrl), np.empty_like(reaction)
    rest_qacc = _drive(
        rest, rest_ground, soles, motors, h, L, lever, actuated, tied, units, LD, root, start, count, column,
        other_torque, other_demand, other_reaction,
    )  # fmt: skip
    part = fraction(other_demand, ctrl, rest_qacc, qacc, motors)
    _mix(z, rest, part)
    _mix(ground, rest_ground, part)
    _mix(torque, other_torque, part)
    _mix(ctrl, other_demand, part)
    _mix(reaction, other_reaction, part)


@kernel
def _solve(
    rows: Array, wanted: Array, tasks: Array, rest_rows: Array, rest_wanted: Array,
    bounded: Array, low: Array, high: Array, motors: Motors,
    basis: Array, constrained: int, decided: int, motion: Array, unforced: Array, h: Array, L: Array, lever: Array,
    actuated: NDArray[np.int64], tied: NDArray[np.int64],
    units: Array, LD: Array, root: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32],
    soft: float, longest: float, compensate: bool, force: Array, z: Array, torque: Array, ctrl: Array, reaction: Array,
) -> None:  # fmt: skip
    """The whole step in one call: rows over the input, force limits, levels, torques.

    rows: Jacobians on entry, rows over the input on return; wanted: reduced to what the force limits allow.
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
        rows,
        wanted,
        weights,
        starts,
        rest_rows,
        rest_wanted,
        bounded,
        low,
        high,
        basis,
        decided,
        motion,
        soft,
        longest,
        compensate,
        z,
    )
    none = np.zeros((0, 3))
    qacc = _drive(
        z, none, none, motors, h, L, lever, actuated, tied, units, LD, root, start, count, column, torque, ctrl, reaction
    )  # fmt: skip
    if beyond(ctrl, qacc, motors):
        rest = np.empty_like(z)
        brake(units[actuated], low, high, motion, basis, decided, motors, rest)
        _restrain(
            z, qacc, none, none, rest, none, motors, h, L, lever, actuated, tied, units, LD, root, start, count, column,
            torque, ctrl, reaction,
        )  # fmt: skip
    _clip(ctrl, motors)


@kernel
def _solve_on_feet(
    z: Array, rows: Array, wanted: Array, tasks: Array, rest_rows: Array, rest_wanted: Array,
    bounded: Array, low: Array, high: Array, motors: Motors,
    basis: Array, constrained: int, decided: int, motion: Array, unforced: Array, h: Array, L: Array, lever: Array,
    actuated: NDArray[np.int64], tied: NDArray[np.int64],
    units: Array, LD: Array, root: Array, start: NDArray[np.int32], count: NDArray[np.int32], column: NDArray[np.int32],
    rigid: Array, soles: Array, touching: Array, spans: Array, soft: float, longest: float, compensate: bool,
    torque: Array, ctrl: Array, reaction: Array, ground: Array,
) -> float:  # fmt: skip
    """The motion z of _solve, changed to what the ground can support: it only pushes, within friction."""
    ground[:] = 0.0
    short = press(z, h, rigid, soles, touching, spans, ground, LD, root, start, count, column)
    if short > MET:
        # the wrench that the ground can supply has priority over all tasks, which are solved again
        basis, motion = basis.copy(), motion.copy()
        decided = give_wrench(h, rigid, soles, spans, ground, motion, basis, decided, LD, root, start, count, column)
        weights, starts = _by_level(tasks)
        solve_levels(
            rows, wanted, weights, starts, rest_rows, rest_wanted, bounded, low, high, basis, decided, motion,
            soft, longest, compensate, z,
        )  # fmt: skip
        press(z, h, rigid, soles, touching, spans, ground, LD, root, start, count, column)
    qacc = _drive(
        z, ground, soles, motors, h, L, lever, actuated, tied, units, LD, root, start, count, column, torque, ctrl, reaction
    )  # fmt: skip
    if beyond(ctrl, qacc, motors):
        rest, rest_ground = np.empty_like(z), np.zeros_like(ground)
        joint_rows = units[actuated]
        brake(joint_rows, low, high, motion, basis, decided, motors, rest)
        if press(rest, h, rigid, soles, touching, spans, rest_ground, LD, root, start, count, column) > MET:
            # the wrench has priority over braking too; where it is already imposed, this changes nothing
            basis, motion = basis.copy(), motion.copy()
            decided = give_wrench(h, rigid, soles, spans, rest_ground, motion, basis, decided, LD, root, start, count, column)
            brake(joint_rows, low, high, motion, basis, decided, motors, rest)
            press(rest, h, rigid, soles, touching, spans, rest_ground, LD, root, start, count, column)
        _restrain(
            z, qacc, ground, soles, rest, rest_ground, motors, h, L, lever, actuated, tied, units, LD, root, start, count,
            column, torque, ctrl, reaction,
        )  # fmt: skip
    _clip(ctrl, motors)
    return short


def _no_rows(n: int) -> Array:
    return np.zeros((0, n))


def _merged(bounds: list[Bounds], n: int) -> Bounds:
    if len(bounds) == 1:
        return bounds[0]
    if not bounds:
        return Bounds(np.zeros((0, n)), np.zeros(0), np.zeros(0))
    return Bounds(*(np.concatenate(part) for part in zip(*bounds)))


def no_effect(task: str, posture: str) -> str:
    """Why a task below a posture of all joints does nothing."""
    return f"task '{task}' has no effect: task '{posture}' has a higher priority and leaves no joint free"


Listed = tuple[bool, int, Measure, float, float | None]


@lru_cache(64)
def _arrange(actuated: int, *tasks: Listed) -> tuple[tuple[int, ...], int | None, Array, tuple[int, ...]]:
    """The tasks, by index, that make the levels; the posture below them that uses the remaining freedom; the
    levels as the kernel reads them; and active tasks that have no effect. They stay the same from step to step."""
    order, last, dropped = _split(actuated, tasks)
    rows = plan_of(*(tasks[k][2] for k in order)).rows
    table = np.empty((len(order), 5))
    weights = relative_weights([tasks[k][1] for k in order], [tasks[k][3] for k in order])
    for i, (k, place, weight) in enumerate(zip(order, rows, weights)):
        _, priority, measure, _, most = tasks[k]
        table[i] = place.stop - place.start, priority, weight, most or 0.0, measure.block
    return order, last, table, dropped


def _split(actuated: int, tasks: Sequence[Listed]) -> tuple[tuple[int, ...], int | None, tuple[int, ...]]:
    """Active tasks by priority, down to a posture of all joints that is alone at its level; the tasks below it, for which
    it leaves no freedom."""
    order = sorted((k for k, task in enumerate(tasks) if task[0]), key=lambda k: tasks[k][1])
    for i, k in enumerate(order):
        _, priority, measure, _, _ = tasks[k]
        if isinstance(measure, Posture) and len(measure.dofs) == actuated:
            neighbours = order[max(i - 1, 0) : i] + order[i + 1 : i + 2]
            if all(tasks[n][1] != priority for n in neighbours):
                return tuple(order[:i]), k, tuple(order[i + 1 :])
    return tuple(order), None, ()
