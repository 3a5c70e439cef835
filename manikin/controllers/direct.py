"""Direct control of characters that a person drags (Kim & Pollard 2011, section 5).

The input is the acceleration of the active joints. Tasks become linear rows on it (Eq. 3, 7, 8), joint limits and torque
limits inequalities (Eq. 9, 10), and levels are solved one after the other as damped least squares (Eq. 12). The passive root
follows from the equations of motion: nothing ever pushes it from outside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.controllers.brakes import limit_rows, tie_rows
from manikin.linear.hierarchy import Bounds, Level, identity, solve_stacked
from manikin.physics.skeleton import JointMaps, Skeleton
from manikin.physics.world import Control, TaskReport, World
from manikin.tasks.task import Task, relative_weights, rows_of

Array = NDArray[np.float64]

Formulation = Literal["acceleration", "velocity", "torque"]

# bounds that yield by more than this [rad/s^2 or equivalent] contradict each other
MOVED = 1e-3
# with the least torque, joints that no task needs slow down within this time [s]
REST = 0.05
# a bone bears weight while it carries at least this fraction of the character's
BEARS = 0.2


class Decision(NamedTuple):
    """What was decided for one character: accelerations and torques of its active joints, before any actuator limit;
    the bounds that they keep, and by how much (m,) those had to be moved because they contradicted each other."""

    acceleration: Array
    torque: Array
    bounds: Bounds
    slack: Array
    maps: JointMaps


@dataclass
class Direct:
    """skeletons: the characters. All settings may be changed while it runs.

    formulation: what is minimised among equal solutions: acceleration (keeps moving), velocity (stops, Eq. 15), torque (and
    the speed of joints that no task needs).
    damping: the weight of this against the tasks; the square root of the document's alpha (Eq. 12).
    contact_joints: whether a bone that rests on the ground is tied to it while control is computed (section 5.4).
    unilateral: while a bone bears weight the pressure under it stays inside the hull of its contact points, so that it does not
    tip over its edge. Where joint limits make that impossible, it tips.
    compliant: control does not know of external pushes, so that joints yield; otherwise it accounts for them (section 6).
    """

    skeletons: tuple[Skeleton, ...]
    formulation: Formulation = "acceleration"
    damping: float = 0.02
    contact_joints: bool = True
    compliant: bool = True
    unilateral: bool = True
    # whether joints that no task needs are also slowed down; None: only in the torque formulation
    slowing: bool | None = None
    contradictions: int = 0  # updates in which limits contradicted each other
    last: list[Decision] = field(default_factory=list, repr=False)  # what was decided for each character

    def control(self, world: World, tasks: Sequence[Task], dt: float) -> Control:
        """Servo targets for the coming step; until the next update they continue with the same acceleration."""
        ctrl, ramp = np.zeros(world.model.nu), np.zeros(world.model.nu)
        active = [t for t in tasks if t.active]
        self.last = self.decide(world, active, dt)
        for s, decision in zip(self.skeletons, self.last):
            _drive(
                decision.acceleration, decision.torque, world.data.qvel, s.active, s.actuators, s.servo, world.timestep,
                ctrl, ramp,
            )  # fmt: skip
        return Control(ctrl, None, lambda: {t.name: TaskReport(t.error) for t in active}, ramp)

    def decide(self, world: World, tasks: Sequence[Task], dt: float) -> list[Decision]:
        """Accelerations and torques of every character's joints."""
        ordered = sorted(tasks, key=lambda t: t.priority)
        rows, wanted, places = rows_of(ordered, world, dt)
        felt = None if self.compliant or not world.data.xfrc_applied.any() else _felt(world)
        return [self._decide(world, s, ordered, rows, wanted, places, felt, dt) for s in self.skeletons]

    def _decide(
        self, world: World, skeleton: Skeleton, tasks: Sequence[Task], rows: Array, wanted: Array, places: tuple[slice, ...],
        felt: Array | None, dt: float,
    ) -> Decision:  # fmt: skip
        maps = skeleton.maps(world, skeleton.stand(world) if self.contact_joints else None, felt)
        A, b = np.empty((len(wanted), len(skeleton.active))), np.empty(len(wanted))
        _on_joints(rows, wanted, skeleton.dofs, maps.T, maps.t0, A, b)
        bounds = self._bounds(world, skeleton, maps, dt)
        prefer, ends = self._prefer(world, skeleton, maps, dt), _levels(tasks, places, A, b)
        first = Level(maps.closed, maps.closed0) if len(maps.closed) else None
        x, slack = solve_stacked(A, b, ends, bounds, *prefer, first)
        torque, tips = _outcome(x, maps.D, maps.torque0, maps.P, maps.press0, skeleton.weight)
        if self.unilateral and tips:
            pressed = _pressed(bounds, maps, skeleton.weight)
            flat, missed = solve_stacked(A, b, ends, pressed, *prefer, first)
            if not missed.any():
                bounds, x, slack = pressed, flat, missed
                torque = maps.D @ x + maps.torque0
        self.contradictions += bool(slack.any() and (slack[bounds.stiff >= 1.0] > MOVED).any())
        return Decision(x, torque, bounds, slack, maps)

    def _prefer(self, world: World, skeleton: Skeleton, maps: JointMaps, dt: float) -> tuple[Array, Array]:
        """R, r: R u + r is kept small."""
        n, speed = len(skeleton.active), world.data.qvel[skeleton.active]
        if self.formulation == "acceleration":
            R, r = identity(n), np.zeros(n)
        elif self.formulation == "velocity":
            # Eq. 15 with its sign corrected: the velocity after the coming update is qvel + dt u
            R, r = identity(n), speed / dt
        else:
            scale = max(float(np.trace(maps.D)) / n, 1e-9)
            R, r = maps.D / scale, maps.torque0 / scale
        # with torque alone, light joints whip about, and a motion takes more torque in all (Hollerbach & Suh 1987)
        if self.slowing if self.slowing is not None else self.formulation == "torque":
            R, r = np.concatenate([R, np.eye(n)]), np.concatenate([r, speed / REST])
        return self.damping * R, self.damping * r

    def _bounds(self, world: World, skeleton: Skeleton, maps: JointMaps, dt: float) -> Bounds:
        """Eq. 9 and Eq. 10 as rows, and joints whose flesh is squeezed."""
        q, v = world.data.qpos[skeleton.address], world.data.qvel[skeleton.active]
        limits, flesh = (skeleton.low, skeleton.high, skeleton.torque), skeleton.squeeze
        rows = limit_rows(q, v, *limits, maps.D, maps.torque0, flesh.rest, flesh.ratios(world.data), dt)
        if len(skeleton.ties):
            rows = tie_rows(*rows, skeleton.ties, q, v, skeleton.tie_low, skeleton.tie_high, dt)
        return Bounds(*rows)


@kernel
def _on_joints(
    rows: Array, wanted: Array, dofs: NDArray[np.int64], T: Array, t0: Array, A: Array, b: Array
) -> None:  # fmt: skip
    """Rows on the accelerations of all DOFs become rows A u = b on those of the active joints (Eq. 3, 7, 8)."""
    for r in range(rows.shape[0]):
        A[r] = 0.0
        b[r] = wanted[r]
        for i in range(dofs.shape[0]):
            x = rows[r, dofs[i]]
            if x != 0.0:
                b[r] -= x * t0[i]
                for j in range(A.shape[1]):
                    A[r, j] += x * T[i, j]


@kernel
def _drive(
    acceleration: Array, torque: Array, qvel: Array, active: NDArray[np.int64], actuators: NDArray[np.int64], servo: Array,
    timestep: float, ctrl: Array, ramp: Array,
) -> None:  # fmt: skip
    """Inputs of the actuators: of motors the torque; of servos the speed after the coming step and the torque over their gain,
    and by how much that changes in each further step."""
    for j in range(active.shape[0]):
        a = actuators[j]
        if servo[j] > 0:
            ramp[a] = timestep * acceleration[j]
            ctrl[a] = qvel[active[j]] + ramp[a] + torque[j] / servo[j]
        else:
            ctrl[a] = torque[j]


def _levels(tasks: Sequence[Task], places: tuple[slice, ...], A: Array, b: Array) -> NDArray[np.int64]:
    """Where levels begin and end: rows of equal priority together. Relative weights within a level are multiplied in."""
    ends = [0]
    weights = relative_weights([t.priority for t in tasks], [t.weight for t in tasks])
    for k, (task, rows, weight) in enumerate(zip(tasks, places, weights)):
        if weight != 1.0:
            A[rows] *= weight
            b[rows] *= weight
        if k + 1 == len(tasks) or tasks[k + 1].priority != task.priority:
            ends.append(rows.stop)
    return np.array(ends if tasks else [0, 0])


@kernel
def _outcome(u: Array, D: Array, torque0: Array, P: Array, press0: Array, weight: float) -> tuple[Array, bool]:
    """The torques (n,), and whether a bone that bears weight would tip over an edge of its support."""
    torque = np.dot(D, u) + torque0
    if P.shape[0] == 0:
        return torque, False
    press = np.dot(P, u) + press0
    return torque, press[0] > BEARS * weight and press.min() < 0


def _pressed(bounds: Bounds, maps: JointMaps, weight: float) -> Bounds:
    """The pressure stays inside the hull of the contact points, and the bone keeps bearing weight."""
    low = -maps.press0
    low[0] += BEARS * weight
    scale = np.maximum(np.linalg.norm(maps.P, axis=1), 1e-9)
    return Bounds(
        np.concatenate([bounds.C, maps.P / scale[:, None]]), np.concatenate([bounds.low, low / scale]),
        np.concatenate([bounds.high, np.full(len(low), np.inf)]), np.concatenate([bounds.stiff, np.ones(len(low))]),
    )  # fmt: skip


def _felt(world: World) -> Array:
    """Generalised forces (nv,) of external pushes."""
    out = np.zeros(world.model.nv)
    dynamics = world.dynamics()
    for body in np.flatnonzero(world.data.xfrc_applied.any(axis=1)):
        jac, _, _ = dynamics.frame(int(body), world.data.xipos[body])
        out += jac.T @ world.data.xfrc_applied[body]
    return out
