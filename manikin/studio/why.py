"""Why the character does what it does: which task lost to which, torques and forces against their limits, balance."""

import copy
from math import isfinite

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from manikin.characters.human import human
from manikin.controllers.direct import Direct
from manikin.physics.contacts import contact_bodies, contact_forces
from manikin.physics.skeleton import UPWARD
from manikin.studio.drag import com_of
from manikin.studio.live import Live
from manikin.studio.messages import Balance, ContactWhy, CreatureWhy, JointWhy, TaskWhy, Vec3, WhyReport
from manikin.studio.names import KEYS, SLOTS
from manikin.tasks.measures import CentreOfMass, Momentum, Points, Spin
from manikin.tasks.task import Task

Array = NDArray[np.float64]
# a task that misses less than this [m/s^2, rad/s^2] has lost to nothing; nor has it lost to a higher task without which it
# would miss at least this fraction as much
MISSED, SHARE = 0.05, 0.9

# a point of a sole lower than this [m] is on the ground
GROUNDED = 0.03


class Explainer:
    """Explains a run. Trial solutions are made in a copy of the world, so that explaining changes nothing.

    Finding which task lost to which needs one solution for each higher task. One is made in each report, so that no report
    delays the physics for long: an answer may be a second old.
    """

    def __init__(self, live: Live) -> None:
        self.live = live
        self.world = live.world.branch()
        # what each loser would miss without a rival: {loser: {rival: missed}}, and the rivals that are still to be tried
        self._without: dict[str, dict[str, float]] = {}
        self._next: list[str] = []
        self.soles = {}
        for prefix, spec in live.scene.cast().items():
            if spec.model != "human":
                continue
            figure = human(spec.height, spec.mass, spec.sex, spec.feet, spec.strength, spec.locked, prefix, skin=False)
            self.soles[figure.root] = [(self.world.body(body), np.array(point)) for body, point in figure.soles]

    def report(self) -> WhyReport:
        """The present report: of the last step and the pose that is shown."""
        return WhyReport(
            self.live.time, self._tasks(), self._joints(), tuple(self._balance(r) for r in self.live.cast.characters),
            tuple(self._contacts()), self._creatures(),
        )  # fmt: skip

    def _follow(self) -> None:
        """Bring the copy of the world to the present state, forces included."""
        theirs, mine = self.live.world, self.world
        for name in ("body_mass", "body_inertia", "eq_data"):
            getattr(mine.model, name)[:] = getattr(theirs.model, name)
        mine.steps = theirs.steps
        mine.restore(theirs.state())
        dynamics, other = mine.dynamics(), theirs.dynamics()
        dynamics.load[:], dynamics.external[:] = other.load, other.external
        dynamics.refresh()

    def _tasks(self) -> tuple[TaskWhy, ...]:
        live, controller = self.live, self.live.controller
        # the controller's solution in the last step; none before the first
        solution = None if isinstance(controller, Direct) else controller.solution
        missed, reports = ({}, {}) if solution is None else (solution.missed(), solution.report())
        rivals = self._rivals(missed)
        out = []
        for task in sorted(live.run.tasks, key=lambda t: (not t.active, t.priority)):
            if task.name in (KEYS, *SLOTS) and not task.active:
                continue
            error = task.error if np.isfinite(task.error) else None
            force = reports[task.name].force if task.name in reports else 0.0
            # direct control has no force limits, only torque limits
            limit = None if isinstance(controller, Direct) else task.max_force
            out.append(
                TaskWhy(
                    task.name, task.priority, error, _unit(task), _finite(force), limit, task.active,
                    task.active and task.at_limit, _finite(missed.get(task.name, 0.0)), rivals.get(task.name),
                )
            )  # fmt: skip
        return tuple(out)

    def _rivals(self, missed: dict[str, float]) -> dict[str, str]:
        """For each task that misses something: the higher task without which it would miss least, as far as is known."""
        tasks = [t for t in self.live.run.tasks if t.active]
        losers = {t.name: t.priority for t in tasks if missed.get(t.name, 0.0) > MISSED}
        above = [t.name for t in tasks if any(priority > t.priority for priority in losers.values())]
        self._next = [name for name in self._next if name in above] or above
        if self._next:
            self._try_without(self._next.pop(0), tasks, losers)
        out = {}
        for loser in losers:
            known = {rival: left for rival, left in self._without.get(loser, {}).items() if rival in above}
            rival = min(known, key=known.__getitem__, default="")
            if rival and known[rival] < SHARE * missed[loser]:
                out[loser] = rival
        self._without = {loser: rivals for loser, rivals in self._without.items() if loser in losers}
        return out

    def _try_without(self, rival: str, tasks: list[Task], losers: dict[str, int]) -> None:
        """Solve without one task, and note what those below it would then miss."""
        live = self.live
        assert not isinstance(live.controller, Direct)
        self._follow()
        others = copy.deepcopy([t for t in tasks if t.name != rival])
        left = live.controller.inner.solve(self.world, others, live.run.every * live.world.timestep).missed()
        priority = next(t.priority for t in tasks if t.name == rival)
        for name in losers:
            if losers[name] > priority:
                self._without.setdefault(name, {})[rival] = left.get(name, 0.0)

    def _joints(self) -> tuple[JointWhy, ...]:
        world = self.live.world
        low, high = world.torque_limits
        names = world.names(mujoco.mjtObj.mjOBJ_ACTUATOR)
        torques = world.data.ctrl
        if isinstance(controller := self.live.controller, Direct):
            # servos take speeds: their intended torques are in the decision
            torques = np.zeros(len(names))
            for skeleton, decision in zip(controller.skeletons, controller.last):
                torques[skeleton.actuators] = decision.torque
        out = []
        for k, name in enumerate(names):
            torque = float(torques[k])
            limit = float(high[k] if torque >= 0 else -low[k])
            fraction = abs(torque) / limit if 0 < limit < np.inf else 0.0
            out.append(JointWhy(name, _finite(torque), _bound(low[k]), _bound(high[k]), _finite(fraction)))
        return tuple(out)

    def _creatures(self) -> tuple[CreatureWhy, ...]:
        """The state of a Direct controller for each of its characters."""
        controller, names = self.live.controller, self.live.bodies
        if not isinstance(controller, Direct):
            return ()
        return tuple(
            CreatureWhy(root, names[d.maps.bone] if d.maps.bone >= 0 else "", bool(d.slack.any()), controller.contradictions)
            for root, d in zip(self.live.cast.characters, controller.last)
        )

    def _balance(self, root: str) -> Balance:
        com = com_of(self.live.world, self.live.cast.characters[root])
        hull = _hull(self._pressing(root))
        return Balance(root, vec(com), tuple((float(x), float(y)) for x, y in hull), _margin(hull, com[:2]))

    def _pressing(self, root: str) -> Array:
        """Points (n, 2) of the soles that are on the ground; for a character without soles, all points it rests on."""
        if root not in self.soles:
            return self._resting(root)
        data = self.live.world.data
        places = np.array([data.xpos[b] + data.xmat[b].reshape(3, 3) @ point for b, point in self.soles[root]])
        return np.asarray(places[places[:, 2] < GROUNDED][:, :2])

    def _resting(self, root: str) -> Array:
        """Points (n, 2) at which something supports the character from below."""
        model, data, cast = self.live.world.model, self.live.world.data, self.live.cast
        mine = np.array([cast.of(b)[1] == root for b in range(model.nbody)])
        pairs = mine[contact_bodies(model, data)]
        # the normal points at the second body
        up = np.where(pairs[:, 1], 1.0, -1.0) * data.contact.frame[:, 2]
        bears = (pairs.sum(axis=1) == 1) & (up > UPWARD) & (np.linalg.norm(contact_forces(model, data), axis=1) > 0)
        return np.asarray(data.contact.pos[bears][:, :2])

    def _contacts(self) -> list[ContactWhy]:
        model, data, names = self.live.world.model, self.live.world.data, self.live.bodies
        force, contact = contact_forces(model, data), data.contact
        bodies = contact_bodies(model, data)
        return [
            ContactWhy(
                names[bodies[k, 0]] or "world", names[bodies[k, 1]] or "world", vec(contact.pos[k]), vec(force[k]),
                vec(contact.frame[k, :3]), float(contact.friction[k, 0]),
            )
            for k in np.flatnonzero(np.linalg.norm(force, axis=1) >= 1e-3).tolist()
        ]  # fmt: skip


def vec(values: Array) -> Vec3:
    """Three plain numbers; non-finite ones become zero."""
    x, y, z = values.tolist()
    return (x, y, z) if isfinite(x + y + z) else (_finite(x), _finite(y), _finite(z))


def _finite(value: float) -> float:
    return float(value) if isfinite(value) else 0.0


def _bound(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _unit(task: Task) -> str:
    if isinstance(task.measure, Points | CentreOfMass):
        return "m"
    if isinstance(task.measure, Spin):
        return "rad/s"
    return "kg m/s" if isinstance(task.measure, Momentum) else "rad"


def _hull(points: Array) -> Array:
    """Corners (k, 2) of the convex hull, counter-clockwise; none where there is no area."""
    if len(points) < 3:
        return np.zeros((0, 2))
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:
        return np.zeros((0, 2))


def _margin(hull: Array, point: Array) -> float:
    """How far [m] a point is inside a convex polygon; negative outside, -1 where there is none."""
    if not len(hull):
        return -1.0
    along = np.roll(hull, -1, axis=0) - hull
    inward = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.maximum(np.linalg.norm(along, axis=1), 1e-12)[:, None]
    return float(((point - hull) * inward).sum(axis=1).min())
