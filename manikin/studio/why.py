"""Why the character does what it does: who lost to whom, torques and forces against their limits, balance."""

import copy

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from manikin.characters.human import human
from manikin.controllers.prioritized import Prioritized
from manikin.physics.contacts import contact_forces
from manikin.physics.world import World
from manikin.studio.drag import com_of
from manikin.studio.live import Live
from manikin.studio.messages import Balance, ContactWhy, JointWhy, TaskWhy, Vec3, WhyReport
from manikin.tasks.measures import CentreOfMass, Momentum, Points
from manikin.tasks.task import Task

Array = NDArray[np.float64]
# what a task misses less than this [m/s^2, rad/s^2] is nobody's fault; nor is what it misses as much (to this share) without
# the one above
MISSED, SHARE = 0.05, 0.9

# a point of a sole lower than this [m] is on the ground
GROUNDED = 0.03


class Explainer:
    """Looks at a run through a world of its own, so that looking changes nothing."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.world = live.world.branch()
        self.soles = {}
        for prefix, spec in live.scene.cast().items():
            figure = human(spec.height, spec.mass, spec.sex, spec.feet, spec.strength, spec.locked, prefix, skin=False)
            self.soles[figure.root] = [(self.world.body(body), np.array(point)) for body, point in figure.soles]

    def report(self) -> WhyReport:
        """As things are now."""
        self._follow()
        return WhyReport(
            self.live.time, self._tasks(), self._joints(), tuple(self._balance(r) for r in self.live.cast.characters),
            tuple(self._contacts()),
        )  # fmt: skip

    def _follow(self) -> None:
        """Bring the own world to the present state, forces included."""
        theirs, mine = self.live.world, self.world
        for name in ("body_mass", "body_inertia", "eq_data"):
            getattr(mine.model, name)[:] = getattr(theirs.model, name)
        mine.steps = theirs.steps
        mine.restore(theirs.state())
        dynamics, other = mine.dynamics(), theirs.dynamics()
        dynamics.load[:], dynamics.external[:] = other.load, other.external
        dynamics.refresh()

    def _tasks(self) -> tuple[TaskWhy, ...]:
        live, controller = self.live, self.live.watched.controller
        dt = live.run.every * live.world.timestep
        tasks = [t for t in live.run.tasks if t.active]
        solution = controller.solve(self.world, copy.deepcopy(tasks), dt)
        missed, told = solution.missed(), solution.report()
        rivals = self._rivals(controller, tasks, missed, dt)
        out = []
        for task in sorted(live.run.tasks, key=lambda t: (not t.active, t.priority)):
            error = task.error if np.isfinite(task.error) else None
            force = told[task.name].force if task.name in told else 0.0
            out.append(
                TaskWhy(
                    task.name, task.priority, error, _unit(task), _finite(force), task.max_force, task.active,
                    task.active and task.at_limit, _finite(missed.get(task.name, 0.0)), rivals.get(task.name),
                )
            )  # fmt: skip
        return tuple(out)

    def _rivals(self, controller: Prioritized, tasks: list[Task], missed: dict[str, float], dt: float) -> dict[str, str]:
        """For each task that misses something: the one above without which it would miss least."""
        losers = {t.name: t.priority for t in tasks if missed.get(t.name, 0.0) > MISSED}
        best: dict[str, tuple[float, str]] = {}
        for rival in tasks:
            below = [name for name, priority in losers.items() if priority > rival.priority]
            if not below:
                continue
            others = copy.deepcopy([t for t in tasks if t is not rival])
            without = controller.solve(self.world, others, dt).missed()
            for name in below:
                left = without.get(name, 0.0)
                if left < best.get(name, (SHARE * missed[name], ""))[0]:
                    best[name] = (left, rival.name)
        return {name: rival for name, (_, rival) in best.items()}

    def _joints(self) -> tuple[JointWhy, ...]:
        world = self.live.world
        low, high = world.torque_limits
        names = world.names(mujoco.mjtObj.mjOBJ_ACTUATOR)
        out = []
        for k, name in enumerate(names):
            torque = float(world.data.ctrl[k])
            limit = float(high[k] if torque >= 0 else -low[k])
            share = abs(torque) / limit if 0 < limit < np.inf else 0.0
            out.append(JointWhy(name, _finite(torque), _bound(low[k]), _bound(high[k]), _finite(share)))
        return tuple(out)

    def _balance(self, root: str) -> Balance:
        world, bodies = self.world, self.live.cast.characters[root]
        com = com_of(world, bodies)
        hull = _hull(self._pressing(root))
        return Balance(root, vec(com), tuple((float(x), float(y)) for x, y in hull), _margin(hull, com[:2]))

    def _pressing(self, root: str) -> Array:
        """Points (n, 2) of the soles that are on the ground."""
        data = self.world.data
        places = np.array([data.xpos[b] + data.xmat[b].reshape(3, 3) @ point for b, point in self.soles[root]])
        return np.asarray(places[places[:, 2] < GROUNDED][:, :2])

    def _contacts(self) -> list[ContactWhy]:
        model, data = self.world.model, self.world.data
        force = contact_forces(model, data)
        out = []
        for k in range(data.ncon):
            contact = data.contact[k]
            first, second = (_body(self.world, int(model.geom_bodyid[g])) for g in contact.geom)
            if np.linalg.norm(force[k]) < 1e-3:
                continue
            normal, slope = contact.frame[:3], float(contact.friction[0])
            out.append(ContactWhy(first, second, vec(contact.pos), vec(force[k]), vec(normal), slope))
        return out


def vec(values: Array) -> Vec3:
    """Three plain numbers; what is not finite becomes zero."""
    x, y, z = (_finite(float(v)) for v in values)
    return x, y, z


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0


def _bound(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _unit(task: Task) -> str:
    if isinstance(task.measure, Points | CentreOfMass):
        return "m"
    return "kg m/s" if isinstance(task.measure, Momentum) else "rad"


def _body(world: World, number: int) -> str:
    return mujoco.mj_id2name(world.model, mujoco.mjtObj.mjOBJ_BODY, number) or "world"


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
