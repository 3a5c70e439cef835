"""What claims read from recordings: angles, paths, pressure, momentum."""

import tomllib
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.export.save import Take
from manikin.physics.contacts import body_forces, centre_of_pressure
from manikin.playback import replay
from manikin.recording import Recording
from manikin.scenes.scene import Scene, parse_scene

Array = NDArray[np.float64]

TRUNK = [f"{part}_{motion}" for part in ("lumbar", "thorax") for motion in ("flexion", "bending", "rotation")]
KNEES = ["shank_l_flexion", "shank_r_flexion"]


def model_of(recording: Recording) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(recording.mjcf)


def scene_of(recording: Recording) -> Scene:
    """The scene that was run, defaults included."""
    return parse_scene(tomllib.loads(recording.meta["scene"]), "recording")


def events(take: Take) -> dict[str, float]:
    """Times [s] of the steps of the script."""
    return {e["name"]: float(e["time"]) for e in take.recording.meta["events"]}


def degrees(recording: Recording, joints: Sequence[str]) -> Array:
    """Angles (T, k) [deg] of named hinges."""
    model = model_of(recording)
    return np.rad2deg(recording.qpos[:, [int(model.joint(j).qposadr[0]) for j in joints]])


def hinges(model: mujoco.MjModel) -> list[int]:
    """The character's joints: those with a motor."""
    return [int(j) for j in model.actuator_trnid[:, 0]]


def trunk_pitch(recording: Recording) -> Array:
    """Angle of the trunk to the vertical, forwards (T,) [deg]: pelvis, lumbar and thorax flexion."""
    q = recording.qpos
    pelvis = np.rad2deg(np.arcsin(np.clip(2 * (q[:, 3] * q[:, 5] - q[:, 6] * q[:, 4]), -1, 1)))
    return pelvis + degrees(recording, ["lumbar_flexion", "thorax_flexion"]).sum(axis=1)


def prop_path(recording: Recording, prop: str, times: Array) -> Array:
    """Where a prop is (n, 3) [m] at given times."""
    start = int(model_of(recording).joint(prop).qposadr[0])
    return np.stack([np.interp(times, recording.time, recording.qpos[:, start + k]) for k in range(3)], axis=1)


def sites(recording: Recording, names: Sequence[str], every: int = 10) -> Array:
    """Places (t, n, 3) [m] of named sites in every n-th frame."""
    model = model_of(recording)
    data = mujoco.MjData(model)
    out = []
    for qpos in recording.qpos[::every]:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        out.append([data.site(n).xpos.copy() for n in names])
    return np.array(out)


def least_room(recording: Recording) -> float:
    """Distance [m] of the centre of pressure from the edge of the soles, the least of all steps; negative outside."""
    room: list[float] = []
    extent: list[tuple[float, float]] = []

    def watch(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if step == 0:
            extent.extend(_soles(model, data))
            return
        point, vertical = centre_of_pressure(model, data, [model.body(f"foot_{s}").id for s in "lr"])
        inside = min(min(v - low, high - v) for v, (low, high) in zip(point, extent))
        room.append(inside if vertical > 0 else -1.0)

    replay(recording, watch)
    return min(room)


def _soles(model: mujoco.MjModel, data: mujoco.MjData) -> list[tuple[float, float]]:
    """Rectangle around the soles on the ground (x, then y): the vertices of feet and toes below 1 cm."""
    points = []
    for g in range(model.ngeom):
        body = model.body(model.geom_bodyid[g]).name
        if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH and body.startswith(("foot", "toes")):
            k = model.geom_dataid[g]
            v = model.mesh_vert[model.mesh_vertadr[k] : model.mesh_vertadr[k] + model.mesh_vertnum[k]]
            points.append(v @ data.geom_xmat[g].reshape(3, 3).T + data.geom_xpos[g])
    low = np.concatenate(points)
    low = low[low[:, 2] < 0.01]
    return [(float(low[:, k].min()), float(low[:, k].max())) for k in range(2)]


class Exchange(NamedTuple):
    """Momentum [kg m/s] of everything that moves, before and after, and the impulse [N s] from outside in between."""

    before: Array
    after: Array
    impulse: Array

    @property
    def gap(self) -> float:
        """What the impulse does not explain, as a fraction of the change."""
        change = self.after - self.before
        return float(np.linalg.norm(change - self.impulse) / max(float(np.linalg.norm(change)), 1e-9))


def momentum_exchange(recording: Recording, begin: float, end: float) -> Exchange:
    """From a replay: momentum at two times [s], and gravity plus all forces of the world (welds, contacts) in between."""
    dt = float(recording.meta["timestep"])
    first, last = round(begin / dt), round(end / dt)
    momentum: dict[int, Array] = {}
    impulse = np.zeros(3)

    def watch(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        # after a step, the velocities of bodies and the forces are still those of its beginning
        k = step - 1
        if k in (first, last):
            mujoco.mj_subtreeVel(model, data)
            momentum[k] = float(model.body_subtreemass[0]) * data.subtree_linvel[0].copy()
        if first <= k < last:
            outside = body_forces(model, data)[1:].sum(axis=0)
            impulse[:] += dt * (outside + float(model.body_subtreemass[0]) * model.opt.gravity)

    replay(recording, watch)
    return Exchange(momentum[first], momentum[last], impulse)
