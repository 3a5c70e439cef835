"""World: a MuJoCo model and its data, which hold all state of the simulation.

A step has two halves so that a controller sees the present state: `refresh` brings kinematics, inertia and constraints up
to date (mj_step1), `step` applies a control and integrates (mj_step2). Plain mj_step replays the same numbers.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import Character
from manikin.compiled import kernel
from manikin.errors import Diverged, InputError, Inverted, did_you_mean
from manikin.physics.contacts import contact_list
from manikin.physics.dynamics import Dynamics
from manikin.physics.inversion import Tetrahedra
from manikin.physics.response import actuated_dofs
from manikin.physics.state import State
from manikin.physics.volume import brake, find_watched

Array = NDArray[np.float64]

INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION
# beyond this speed of a body or joint [m/s, rad/s] the simulation has diverged
TOO_FAST = 500.0

# MuJoCo writes warnings to MUJOCO_LOG.TXT in the current folder; World detects and reports divergence instead
mujoco.set_mju_user_warning(lambda message: None)


@kernel
def _fastest(qpos: Array, qvel: Array, limit: float) -> int:
    """The DOF that moves fastest; -1 when a speed is beyond `limit` or a number is not finite (NaN fails every test)."""
    sane, top, dof = True, -1.0, 0
    for d in range(qvel.shape[0]):
        speed = abs(qvel[d])
        sane &= speed < limit
        if speed > top:
            top, dof = speed, d
    for q in qpos:
        sane &= abs(q) < 1e6
    return dof if sane else -1


@dataclass(frozen=True)
class Push:
    """An external force [N] and torque [N m] on a body, world axes, at its centre of mass."""

    body: str
    force: Array
    torque: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class TaskReport:
    """How far one task was met in one step: distance from the goal, the Eq. 13 force [N] and its limit."""

    error: float
    force: float = 0.0
    limit: float = float("nan")


@dataclass(frozen=True)
class Control:
    """What a controller decides for one step: actuator inputs, DOFs whose motion is prescribed, and its report.

    `report` is called only when a frame is recorded. `ramp`: added to ctrl in each step until the next decision.
    `warnings`: what the user should know, such as tasks that have no effect.
    """

    ctrl: Array  # (nu,)
    driven: Array | None = None  # (k,) DOF numbers, None when all is simulated
    report: Callable[[], dict[str, TaskReport]] = dict
    ramp: Array | None = None  # (nu,)
    warnings: tuple[str, ...] = ()

    def later(self) -> "Control":
        """The same decision one step later."""
        return self if self.ramp is None else replace(self, ctrl=self.ctrl + self.ramp)


class Obstruction(NamedTuple):
    """What pushes a held prop from any side but below: the body it touches, the force (3,) [N] on the prop, which bodies
    it holds back (the prop and the hands on it), and whether it is strong enough to count as blocking."""

    by: int
    force: Array
    bodies: tuple[int, ...]
    blocks: bool


class World:
    """A MuJoCo model and its state, compiled from the MJCF string that recordings keep. characters: those in it."""

    def __init__(self, mjcf: str, characters: Sequence[Character] = ()) -> None:
        self.mjcf, self.characters = mjcf, tuple(characters)
        try:
            self.model = mujoco.MjModel.from_xml_string(mjcf)
        except ValueError as error:
            raise InputError(f"the model does not compile: {' '.join(str(error).split())}") from error
        self.data = mujoco.MjData(self.model)
        self.timestep = float(self.model.opt.timestep)
        self.steps = 0
        self._fast_dof = 0
        self.torque_limits = self._find_torque_limits()
        # dt x damping (nu,) of the actuated joints: inertia that the implicit integrator adds
        self.step_damping = self.timestep * self.model.dof_damping[actuated_dofs(self.model)]
        # mass [kg] of all bodies that actuators move
        trees = np.unique(self.model.dof_treeid[actuated_dofs(self.model)])
        self.acting_mass = float(self.model.body_mass[np.isin(self.model.body_treeid, trees)].sum())
        # equalities switched since the recorder last looked
        self.switched: list[int] = []
        self.grips = self._find_grips()
        # bodies that hands hold now, and which bodies (nbody,) belong to no character that holds something
        self.held: set[int] = set()
        self.outside = np.ones(self.model.nbody, bool)
        # what obstructs held props, by body
        self.obstructions: dict[int, Obstruction] = {}
        # force [N] above which a prop slips out of a hand, by name
        self.grip_limits: dict[str, float] = {}
        self.tetrahedra = Tetrahedra.of(self.model)
        self._ctrl, self._soft = self.data.ctrl, bool(self.model.nflex)
        self._dynamics = Dynamics(self.model, self.data)
        # generalised forces (nv,) of the stops of joints and tendons in the last step, once feel_stops was called
        self.stopped = np.zeros(self.model.nv)
        self._feels_stops = False
        self.forward()

    def _find_torque_limits(self) -> tuple[Array, Array]:
        """For motors the range of their input, which is a torque; for servos the range of their force."""
        servo = self.model.actuator_forcelimited.astype(bool)
        limited = servo | self.model.actuator_ctrllimited.astype(bool)
        given = np.where(servo[:, None], self.model.actuator_forcerange, self.model.actuator_ctrlrange)
        low, high = given.T
        return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)

    def _find_grips(self) -> list[tuple[str, str, int]]:
        """(hand, prop, equality) of every weld that can hold a prop."""
        out = []
        for e, name in enumerate(self.names(mujoco.mjtObj.mjOBJ_EQUALITY)):
            if name.startswith("grip_"):
                bodies = (self.model.eq_obj1id[e], self.model.eq_obj2id[e])
                hand, prop = (mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_BODY, b) for b in bodies)
                out.append((hand, prop, e))
        return out

    def find_held(self) -> None:
        """Update which bodies hands hold, after grips were switched."""
        model = self.model
        active = [e for _, _, e in self.grips if self.data.eq_active[e]]
        self.held = {int(model.eq_obj2id[e]) for e in active}
        self.outside = ~np.isin(model.body_treeid, model.body_treeid[model.eq_obj1id[active]])

    # --- names

    def id(self, kind: mujoco.mjtObj, name: str) -> int:
        """The number of a named body, site, joint or equality; unknown names list what exists."""
        number = mujoco.mj_name2id(self.model, kind, name)
        if number < 0:
            label = kind.name.removeprefix("mjOBJ_").lower()
            raise InputError(f"no {label} is called '{name}'{did_you_mean(name, self.names(kind))}")
        return int(number)

    def body(self, name: str) -> int:
        return self.id(mujoco.mjtObj.mjOBJ_BODY, name)

    def site(self, name: str) -> int:
        return self.id(mujoco.mjtObj.mjOBJ_SITE, name)

    def joint(self, name: str) -> int:
        return self.id(mujoco.mjtObj.mjOBJ_JOINT, name)

    def equality(self, name: str) -> int:
        return self.id(mujoco.mjtObj.mjOBJ_EQUALITY, name)

    def names(self, kind: mujoco.mjtObj) -> list[str]:
        """All names of one kind, in order."""
        count = {
            mujoco.mjtObj.mjOBJ_BODY: self.model.nbody,
            mujoco.mjtObj.mjOBJ_SITE: self.model.nsite,
            mujoco.mjtObj.mjOBJ_JOINT: self.model.njnt,
            mujoco.mjtObj.mjOBJ_EQUALITY: self.model.neq,
            mujoco.mjtObj.mjOBJ_ACTUATOR: self.model.nu,
        }[kind]
        return [mujoco.mj_id2name(self.model, kind, i) or "" for i in range(count)]

    @property
    def load(self) -> Array:
        """Fraction (nbody,) of each body's weight that a character holding it carries, 0 to 1; see attach.py."""
        return self._dynamics.load

    # --- time

    @property
    def time(self) -> float:
        return float(self.data.time)

    def forward(self) -> None:
        """Everything that follows from the present state, forces included."""
        mujoco.mj_forward(self.model, self.data)
        self._feel_stops()
        self._dynamics.refresh()

    def refresh(self) -> None:
        """First half of a step: kinematics, inertia, bias forces, constraints."""
        mujoco.mj_step1(self.model, self.data)
        self._dynamics.refresh()

    def feel_stops(self) -> None:
        """From now on keep the forces of stops (`stopped`)."""
        self._feels_stops = True
        self._feel_stops()

    def _feel_stops(self) -> None:
        if not self._feels_stops:
            return
        data = self.data
        if not data.nl:
            self.stopped[:] = 0.0
            return
        # rows of stops come after those of equalities and of friction in joints
        force, first = np.zeros(data.nefc), data.ne + data.nf
        stops = slice(first, first + data.nl)
        force[stops] = data.efc_force[stops]
        mujoco.mj_mulJacTVec(self.model, data, self.stopped, force)

    def dynamics(self) -> Dynamics:
        """The equations of motion at the present state (valid until the next step)."""
        return self._dynamics

    def step(self, control: Control) -> None:
        """Second half of a step: apply, integrate, and notice divergence at once."""
        self._ctrl[:] = control.ctrl
        mujoco.mj_step2(self.model, self.data)
        self._feel_stops()
        self.steps += 1
        self._check()

    def flesh_ratio(self) -> float:
        """Smallest ratio of a tetrahedron's volume to its volume at rest; infinite where nothing is soft."""
        return self.tetrahedra.least_ratio(self.data)[0]

    def flesh_brakes(self, control: Control) -> list[tuple[int, Array]]:
        """Bodies, and the wrenches (6,) on them, that keep flesh from being turned inside out in the coming step."""
        if not self._soft:
            return []
        watched = find_watched(self.tetrahedra, self.model, self.data)
        if watched is None:
            return []
        self._ctrl[:] = control.ctrl
        try:
            return brake(watched, self.model, self.data)
        except (ValueError, RuntimeError, np.linalg.LinAlgError):
            # numbers that are not finite, or too far apart: the step itself will show what is wrong
            return []

    def _check(self) -> None:
        if self._soft:
            ratio, flesh = self.tetrahedra.least_ratio(self.data)
            if ratio <= 0:
                raise Inverted(self.time, flesh)
        fastest = _fastest(self._dynamics.qpos, self._dynamics.qvel, TOO_FAST)
        if fastest >= 0:
            self._fast_dof = fastest
            return
        speed = np.abs(self.data.qvel)
        finite = np.isfinite(speed).all()
        # one NaN spreads to all: name the DOF that was the fastest before
        dof = int(speed.argmax()) if finite else self._fast_dof
        body = mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_BODY, self.model.dof_bodyid[dof]) or "world"
        raise Diverged(self.time, body, f"speed {speed.max():.3g}" if finite else "its speed is not a number")

    # --- state

    def full_state(self) -> Array:
        """MuJoCo's integration state: all that the next step depends on, except equality data and model edits."""
        out = np.empty(mujoco.mj_stateSize(self.model, INTEGRATION))
        mujoco.mj_getState(self.model, self.data, out, INTEGRATION)
        return out

    def state(self) -> State:
        """The present moment as a frozen value."""
        return State(
            self.time,
            self.data.qpos.copy(),
            self.data.qvel.copy(),
            contact_list(self.model, self.data),
            self.full_state(),
        )

    def restore(self, state: State) -> None:
        """Return to an earlier moment of this world."""
        mujoco.mj_setState(self.model, self.data, state.full, INTEGRATION)
        self.obstructions.clear()
        self.find_held()
        self.forward()

    def branch(self) -> "World":
        """An independent copy: it shares nothing that changes."""
        other = object.__new__(World)
        other.mjcf, other.timestep, other.characters = self.mjcf, self.timestep, self.characters
        other.steps, other._fast_dof = self.steps, self._fast_dof
        other.switched, other.step_damping = list(self.switched), self.step_damping.copy()
        other.torque_limits = (self.torque_limits[0].copy(), self.torque_limits[1].copy())
        other.acting_mass = self.acting_mass
        other.tetrahedra = self.tetrahedra
        other.grips, other.held, other.outside = list(self.grips), set(self.held), self.outside.copy()
        other.grip_limits, other.obstructions = dict(self.grip_limits), dict(self.obstructions)
        other.model = copy.copy(self.model)
        other.data = mujoco.MjData(other.model)
        mujoco.mj_copyData(other.data, other.model, self.data)
        other._ctrl, other._soft = other.data.ctrl, self._soft
        other.stopped, other._feels_stops = self.stopped.copy(), self._feels_stops
        other._dynamics = Dynamics(other.model, other.data)
        other._dynamics.stand_on(self._dynamics.supports)
        other._dynamics.load[:], other._dynamics.external[:] = self.load, self._dynamics.external
        other._dynamics.known = None if self._dynamics.known is None else self._dynamics.known.copy()
        other._dynamics.refresh()
        return other
