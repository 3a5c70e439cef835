"""Skeleton: how the bones of one character respond to the accelerations of their active joints.

Kim & Pollard 2011, sections 5.1 to 5.4. With qacc = T u + t0 for the accelerations u of the active joints, every bone
acceleration is affine in u (Eq. 2), and so are the torques (Eq. 10). Free nodes of flesh are bodies of their own, so the
skeleton's block of the world's inertia is all that is needed; the effect of flesh and contacts enters as a force.

A bone that stands on something is tied to it by a temporary joint: its contact points do not accelerate. One point leaves the
root a ball joint, two a hinge, three or more nothing. Only then can the centre of gravity be controlled. The world's own
contacts stay as they are, and if friction does not suffice, the bone slips.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel
from manikin.physics.contacts import contact_bodies
from manikin.physics.inversion import Squeeze, find_squeeze
from manikin.physics.skeleton_rows import block, maps_at, opening
from manikin.physics.world import World

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]

# a contact nearer than this [m] bears load
BEARING = 0.0015
# a contact bears from below when the upward component of its normal is at least this
UPWARD = 0.5
# at most this many points of the bearing bone are used
MOST_POINTS = 8


class JointMaps(NamedTuple):
    """qacc (n,) = T u + t0 over the skeleton's DOFs, torque (na,) = D u + torque0, press (m,) = P u + press0: what the ground
    exerts at the temporary joint: its upward force [N], then its moments [N m] about the edges of the points' hull, which are
    positive while the pressure lies inside. bone: the supporting one, -1 for none. closed (k, na) u = closed0: closed loops
    stay closed (Eq. 14).
    """

    T: Array
    t0: Array
    D: Array
    torque0: Array
    P: Array
    press0: Array
    bone: int
    closed: Array
    closed0: Array


class Stand(NamedTuple):
    """Where a character stands: the bone that bears most, and its contact points (k, 3) [m]."""

    bone: int
    points: Array


class Joined(NamedTuple):
    """A closed loop: two bones, and the points (1, 3) [m] in their frames that stay together."""

    bones: tuple[int, int]
    points: tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Indices of the DOFs, bodies, actuators and equalities of one character in its world."""

    root: Ints  # passive DOFs
    active: Ints  # DOFs of the active joints
    address: Ints  # of the active joints in qpos
    actuators: Ints
    low: Array  # joint limits [rad]
    high: Array
    torque: Array  # torque limits [N m]
    servo: Array  # gain [N m s] of the velocity servos; 0 where the actuator is a motor
    motions: int  # nv, of the whole world
    bone_of: Ints  # (nbody,) the bone that a body belongs to, a node of flesh to the nearest one; -1 for others
    loops: tuple[Joined, ...]
    ties: Array  # (t, na) sums of joint angles that have limits of their own, such as where a loop is cut
    tie_low: Array  # [rad]
    tie_high: Array
    weight: float  # [N] of bones and flesh
    squeeze: Squeeze

    @cached_property
    def dofs(self) -> Ints:
        return np.concatenate([self.root, self.active])

    @cached_property
    def _place(self) -> Ints:
        """The position of a DOF among these; -1 for others. DOFs of nodes come after those of bones."""
        place = np.full(int(self.dofs.max()) + 1, -1)
        place[self.dofs] = np.arange(len(self.dofs))
        return place

    def stand(self, world: World) -> Stand | None:
        """The bone that bears most of what the character stands on; None in flight."""
        model, data = world.model, world.data
        if not data.ncon:
            return None
        contact = data.contact
        bone, points = _bearing(
            contact_bodies(model, data), contact.dist, contact.includemargin, contact.frame, contact.pos, self.bone_of
        )
        return Stand(bone, points) if bone >= 0 else None

    def touches(self, world: World) -> bool:
        """Whether anything of the character touches anything else."""
        model, data = world.model, world.data
        if not data.ncon:
            return False
        contact = data.contact
        return bool(_touches(contact_bodies(model, data), contact.dist, contact.includemargin, self.bone_of))

    def inertia(self, world: World) -> Array:
        """The skeleton's block (n, n) of the inertia."""
        return block(world.data.M, *world.dynamics().sparsity, self._place, self.dofs)

    def maps(self, world: World, stand: Stand | None, felt: Array | None = None) -> JointMaps:
        """The affine maps at the present state. felt (nv,): external generalised forces that control knows of."""
        data, dynamics = world.data, world.dynamics()
        closed, closed0 = self._closed(world)
        known = self._known if felt is None else felt
        if stand is None:
            # contacts that do not bear from below. Forces of joint stops are left out: control that relies on them leans
            # on the stop
            known = known + data.qfrc_constraint - world.stopped
            stand = self._nowhere
        found = maps_at(  # type: ignore[call-arg]
            data.M, *dynamics.sparsity, self._place, self.dofs, data.qfrc_bias, data.qfrc_passive, known, len(self.root),
            stand.bone, stand.points, *dynamics.moving, closed,
        )  # fmt: skip
        return JointMaps(*found, stand.bone, closed, closed0)

    @cached_property
    def _known(self) -> Array:
        """External forces (nv,) that control knows of by default: none."""
        return np.zeros(self.motions)

    @cached_property
    def _nowhere(self) -> Stand:
        return Stand(-1, np.zeros((0, 3)))

    @cached_property
    def _open(self) -> tuple[Array, Array]:
        """The rows of Eq. 14 where nothing is closed."""
        return np.zeros((0, len(self.active))), np.zeros(0)

    def _closed(self, world: World) -> tuple[Array, Array]:
        """Rows (k, na) and right-hand side (k,) of Eq. 14. The remaining gap is not closed here: the constraint
        in the world does that."""
        if not self.loops:
            return self._open
        dynamics = world.dynamics()
        found = []
        for bones, points in self.loops:
            found.append(opening(*bones, *points, self.active, dynamics.xpos, dynamics.xmat, *dynamics.moving))
        if len(found) == 1:
            return found[0]
        return np.concatenate([rows for rows, _ in found]), np.concatenate([right for _, right in found])


@kernel
def _touches(pairs: Ints32, dist: Array, margin: Array, bone_of: Ints) -> bool:
    """Whether a contact between one of the bones and something else is near."""
    for c in range(dist.shape[0]):
        if dist[c] - margin[c] < BEARING and (bone_of[pairs[c, 0]] >= 0) != (bone_of[pairs[c, 1]] >= 0):
            return True
    return False


@kernel
def _bearing(pairs: Ints32, dist: Array, margin: Array, frame: Array, pos: Array, bone_of: Ints) -> tuple[int, Array]:
    """The bone that bears most of its contacts with other things from below, -1 for none, and the deepest of its points."""
    load = np.zeros(bone_of.shape[0])
    bones = np.full(dist.shape[0], -1)
    found = 0
    for c in range(dist.shape[0]):
        one, two = bone_of[pairs[c, 0]], bone_of[pairs[c, 1]]
        if dist[c] - margin[c] >= BEARING or (one >= 0) == (two >= 0):
            continue
        # normals point from the first body to the second
        if (frame[c, 2] if two >= 0 else -frame[c, 2]) > UPWARD:
            bones[c] = max(one, two)
            load[bones[c]] += BEARING - dist[c] + margin[c]
            found += 1
    if found == 0:
        return -1, np.zeros((0, 3))
    bone = 0
    for b in range(load.shape[0]):
        if load[b] > load[bone]:
            bone = b
    points, count = np.empty((MOST_POINTS, 3)), 0
    while count < MOST_POINTS:
        deepest = -1
        for c in range(dist.shape[0]):
            if bones[c] == bone and (deepest < 0 or dist[c] - margin[c] < dist[deepest] - margin[deepest]):
                deepest = c
        if deepest < 0:
            break
        for k in range(3):
            points[count, k] = pos[deepest, k]
        bones[deepest] = -1
        count += 1
    return bone, points[:count].copy()


def find_skeleton(
    world: World, root_joints: tuple[str, ...], joints: tuple[str, ...], bodies: tuple[str, ...], nodes: dict[str, str]
) -> Skeleton:  # fmt: skip
    """Find a character in its world. nodes: {node of flesh: the bone it is nearest to}."""
    model = world.model
    world.feel_stops()
    passive = [world.joint(j) for j in root_joints]
    count = {mujoco.mjtJoint.mjJNT_FREE: 6, mujoco.mjtJoint.mjJNT_BALL: 3}
    root = [int(model.jnt_dofadr[j]) + k for j in passive for k in range(count.get(mujoco.mjtJoint(int(model.jnt_type[j])), 1))]
    numbers = np.array([world.joint(j) for j in joints])
    trained = model.actuator_trnid[:, 0].tolist()
    actuators = np.array([trained.index(j) for j in numbers], np.int64)
    limited = model.jnt_limited[numbers].astype(bool)
    bone_of = np.full(model.nbody, -1, np.int64)
    for name in bodies:
        bone_of[world.body(name)] = world.body(name)
    for node, bone in nodes.items():
        bone_of[world.body(node)] = world.body(bone)
    # a stop may act before the end of a joint's range: control keeps clear of it
    low, high = model.jnt_range[numbers].T + np.outer([1.0, -1.0], model.jnt_margin[numbers])
    forced = model.actuator_forcelimited[actuators].astype(bool)
    return Skeleton(
        root=np.array(root, np.int64),
        active=model.jnt_dofadr[numbers].astype(np.int64),
        address=model.jnt_qposadr[numbers].astype(np.int64),
        actuators=actuators,
        low=np.where(limited, low, -np.inf),
        high=np.where(limited, high, np.inf),
        torque=np.where(forced, model.actuator_forcerange[actuators, 1], np.inf),
        servo=-model.actuator_biasprm[actuators, 2],
        motions=int(model.nv),
        bone_of=bone_of,
        loops=_find_loops(model, {world.body(b) for b in bodies}),
        **_find_ties(model, numbers),
        weight=float(model.body_mass[bone_of >= 0].sum() * np.linalg.norm(model.opt.gravity)),
        squeeze=find_squeeze(model, world.tetrahedra, bone_of, numbers),
    )


def _find_loops(model: mujoco.MjModel, bones: set[int]) -> tuple[Joined, ...]:
    """What holds two of these bones together at a point: `<connect>` between sites or between bodies."""
    out = []
    for e in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_CONNECT):
        one, two = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        points = (model.eq_data[e, None, :3].copy(), model.eq_data[e, None, 3:6].copy())
        if model.eq_objtype[e] == mujoco.mjtObj.mjOBJ_SITE:
            points = (model.site_pos[None, one].copy(), model.site_pos[None, two].copy())
            one, two = int(model.site_bodyid[one]), int(model.site_bodyid[two])
        if {one, two} <= bones:
            out.append(Joined((one, two), points))
    return tuple(out)


def _find_ties(model: mujoco.MjModel, joints: Ints) -> dict[str, Array]:
    """Fixed tendons with limits over these joints alone."""
    place = {int(j): k for k, j in enumerate(joints)}
    rows, limits = [], []
    for t in np.flatnonzero(model.tendon_limited):
        wraps = slice(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])
        if (model.wrap_type[wraps] == mujoco.mjtWrap.mjWRAP_JOINT).all() and set(model.wrap_objid[wraps]) <= set(place):
            rows.append(np.zeros(len(joints)))
            for j, coefficient in zip(model.wrap_objid[wraps], model.wrap_prm[wraps]):
                rows[-1][place[int(j)]] = coefficient
            limits.append(model.tendon_range[t])
    ranges = np.array(limits).reshape(-1, 2)
    return {"ties": np.array(rows).reshape(-1, len(joints)), "tie_low": ranges[:, 0].copy(), "tie_high": ranges[:, 1].copy()}
