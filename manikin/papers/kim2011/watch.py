"""What claims about soft characters read from a replay in plain MuJoCo: surface, flesh, joints, momentum, loop."""

from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.export.soft import SoftSurface, soft_surfaces
from manikin.physics.inversion import Tetrahedra
from manikin.playback import replay, replay_model
from manikin.recording import Recording

Array = NDArray[np.float64]


def momentum_parts(model: mujoco.MjModel, data: mujoco.MjData, mine: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Of the bodies `mine` (nbody,): velocity (3,) of their centre of mass, and the contribution (n, 3) of each to the angular
    momentum about it."""
    mass, place, rate = model.body_mass[mine], data.xipos[mine], data.cvel[mine, :3]
    # MuJoCo gives velocities at the centre of mass of a body's whole tree
    speed = data.cvel[mine, 3:] + np.cross(rate, place - data.subtree_com[model.body_rootid[mine]])
    axes = data.ximat[mine].reshape(-1, 3, 3)
    own = np.einsum("bij,bj,bkj,bk->bi", axes, model.body_inertia[mine], axes, rate)
    centre, velocity = mass @ place / mass.sum(), mass @ speed / mass.sum()
    return velocity, own + np.cross(place - centre, mass[:, None] * (speed - velocity))


@dataclass
class Watched:
    """One row per step: the state that the step began with, and the joints as it left them."""

    difference: float  # of the replay's positions from the recorded ones
    mass: float  # of the character [kg]
    reach: float  # half its length at the beginning [m]
    time: Array
    middle: Array  # (T, 3) where the root bone is [m]
    tilt: Array  # (T,) of its upward axis [deg]
    touching: Array  # whether the character touches anything
    centre: Array  # (T, 3) velocity of its centre of mass [m/s]
    spin: Array  # (T, 3) angular momentum about it [kg m^2/s]
    parts: Array  # (T,) sum of the magnitudes of its parts' contributions
    root: Array  # (T,) largest force or torque of an actuator on the passive root
    beyond: Array  # (T,) how far a joint is beyond its range [rad]; negative inside
    past: Array  # (T,) how far it is beyond the limit that control keeps, where its stop begins [rad]
    ratio: Array  # (T,) smallest volume of a tetrahedron by that at rest
    lowest: Array  # (T,) lowest vertex of the fine surface [m]
    inside: Array  # (T,) how deep a vertex of it is in a box of a prop [m]
    gap: Array  # (T,) of the closed loop [m]; empty where there is none


@dataclass
class _Eye:
    """Watches a character in a model."""

    model: mujoco.MjModel
    root: str
    surfaces: list[SoftSurface]
    flesh: Tetrahedra
    rows: list[tuple[float, ...]] = field(default_factory=list)
    momenta: list[tuple[Array, Array]] = field(default_factory=list)
    middle: list[Array] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    reach: float = 0.0

    def __post_init__(self) -> None:
        model = self.model
        root = self.bone = model.body(self.root).id
        nodes = set(model.flex_vertbodyid.tolist())
        self.tops = np.array([b for b in range(1, model.nbody) if b == root or (b in nodes and model.body_rootid[b] == b)])
        mine = np.isin(model.body_rootid, self.tops)
        self.mine = mine
        self.joints = model.actuator_trnid[:, 0]
        driven = {int(model.jnt_dofadr[j]) for j in self.joints}
        tree = np.flatnonzero(model.body_rootid[model.dof_bodyid] == root)
        self.passive = np.array([d for d in tree if int(d) not in driven])
        self.boxes = [
            g for g in range(model.ngeom)
            if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_BOX and model.geom_contype[g] and not mine[model.geom_bodyid[g]]
        ]  # fmt: skip
        ends = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, n) for n in ("loop_end", "loop_start")]
        self.loop = ends if min(ends) >= 0 else []

    def look(self, step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if step == 0:
            return
        q = data.qpos[model.jnt_qposadr[self.joints]]
        low, high = model.jnt_range[self.joints].T
        over, margin = np.maximum(low - q, q - high), model.jnt_margin[self.joints]
        centre, spin, parts = self._momentum(data)
        self.momenta.append((centre, spin))
        self.middle.append(data.xpos[self.bone].copy())
        points = np.concatenate([s.places(data.flexvert_xpos) for s in self.surfaces])
        self.reach = self.reach or 0.5 * float(np.ptp(points, axis=0).max())
        self.rows.append((
            data.time - model.opt.timestep, float(np.degrees(np.arccos(np.clip(data.xmat[self.bone][8], -1, 1)))),
            float(self._touches(data)), parts, float(np.abs(data.qfrc_actuator[self.passive]).max()),
            float(over.max()), float((over + margin).max()),
            self.flesh.least_ratio(data)[0], float(points[:, 2].min()),
            max([0.0, *(self._depth(data, g, points) for g in self.boxes)]),
        ))  # fmt: skip
        if self.loop:
            self.gaps.append(float(np.linalg.norm(np.subtract(*data.site_xpos[self.loop]))))

    def _touches(self, data: mujoco.MjData) -> bool:
        """A contact that carries a force, between the character and something else."""
        contact = data.contact
        for k in np.flatnonzero(contact.efc_address >= 0):
            own = [
                f >= 0 or (g >= 0 and self.mine[self.model.geom_bodyid[g]]) for f, g in zip(contact.flex[k], contact.geom[k])
            ]
            if any(own) and not all(own):
                return True
        return False

    def _momentum(self, data: mujoco.MjData) -> tuple[Array, Array, float]:
        """Velocity of the centre of mass, angular momentum about it, and the sum of all bodies' magnitudes of that."""
        velocity, parts = momentum_parts(self.model, data, self.mine)
        return velocity, parts.sum(axis=0), float(np.linalg.norm(parts, axis=1).sum())

    def _depth(self, data: mujoco.MjData, geom: int, points: Array) -> float:
        local = np.abs((points - data.geom_xpos[geom]) @ data.geom_xmat[geom].reshape(3, 3))
        return float((self.model.geom_size[geom] - local).min(axis=1).max())


def watch(recording: Recording) -> Watched:
    """Replay a recording of one soft character and watch it in every step."""
    model = replay_model(recording)
    root = next(iter(recording.meta["characters"]))
    eye = _Eye(model, root, soft_surfaces(model), Tetrahedra.of(model))
    replayed = replay(recording, eye.look)
    time, tilt, touching, parts, actuation, beyond, past, ratio, lowest, inside = np.array(eye.rows).T
    return Watched(
        replayed.difference, float(model.body_mass[eye.mine].sum()), eye.reach, time, np.array(eye.middle), tilt,
        touching.astype(bool), np.array([c for c, _ in eye.momenta]), np.array([s for _, s in eye.momenta]),
        parts, actuation, beyond, past, ratio, lowest, inside, np.array(eye.gaps),
    )  # fmt: skip


def longest_flight(seen: Watched) -> slice:
    """The steps of the longest time without any contact."""
    edges = np.flatnonzero(np.diff(np.concatenate([[1], seen.touching.astype(int), [1]])))
    spans = list(zip(edges[::2], edges[1::2]))
    if not spans:
        return slice(0, 0)
    begin, end = max(spans, key=lambda s: s[1] - s[0])
    return slice(int(begin), int(end))
