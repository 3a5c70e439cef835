"""What every animation file is made from: where the bodies were, which of them form a character, and its skin."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.export.shapes import Colour, Surface, body_surfaces
from manikin.export.soft import Points, SoftSurface, node_points, soft_surfaces
from manikin.playback import cast
from manikin.recording import Recording
from manikin.spatial import quat_conjugate, quat_multiply, rotate

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pose:
    """World poses of all bodies: position (..., nbody, 3) [m], quat (..., nbody, 4)."""

    position: Array
    quat: Array

    def local(self, body: int, parent: int) -> tuple[Array, Array]:
        """Pose (..., 3), (..., 4) of a body in its parent's frame."""
        if parent == 0:
            return self.position[..., body, :], self.quat[..., body, :]
        back = quat_conjugate(self.quat[..., parent, :])
        place = rotate(back, self.position[..., body, :] - self.position[..., parent, :])
        return place, quat_multiply(back, self.quat[..., body, :])


@dataclass(frozen=True)
class Track:
    """The bodies of a recording over time and in the model's zero pose; the characters by the name of their root."""

    model: mujoco.MjModel
    poses: Pose  # (T, nbody, ...)
    rest: Pose  # (nbody, ...)
    characters: dict[str, list[int]]
    soft: list[SoftSurface]  # surfaces of flesh, and the nodes that they follow
    points: Points

    def name(self, body: int) -> str:
        return mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body_{body}"

    def parent(self, body: int) -> int:
        return int(self.model.body_parentid[body])

    def joints_above(self, bodies: list[int]) -> list[int]:
        """For each body of a character its nearest ancestor that also belongs to the character; 0 for its root."""
        out = []
        for body in bodies:
            above = self.parent(body)
            while above and above not in bodies:
                above = self.parent(above)
            out.append(above)
        return out

    def free_nodes(self) -> dict[int, int]:
        """Bodies that are free nodes of flesh, each with the number of its point."""
        cast = {b for bodies in self.characters.values() for b in bodies}
        return {body: k for k, body in enumerate(self.points.bodies.tolist()) if body not in cast}

    def props(self) -> list[int]:
        """Bodies of no character, the world itself (0) first, parents before children."""
        cast = {b for bodies in self.characters.values() for b in bodies}
        return [b for b in range(self.model.nbody) if b not in cast]

    def local(self, body: int, parent: int) -> tuple[Array, Array]:
        """Pose (T, 3), (T, 4) of a body in its parent's frame; quaternions have no sign flips."""
        place, rotation = self.poses.local(body, parent)
        sign = np.where((rotation[1:] * rotation[:-1]).sum(axis=1) < 0, -1.0, 1.0)
        rotation = rotation * np.concatenate([[1.0], np.cumprod(sign)])[:, None]
        return place, rotation / np.linalg.norm(rotation, axis=1, keepdims=True)

    def skin(self, bodies: list[int]) -> dict[Colour, tuple[Surface, Ints]]:
        """The surface of a character at rest, by colour, and which of its bodies each vertex (n,) follows."""
        parts: dict[Colour, list[tuple[Surface, int]]] = {}
        for joint, body in enumerate(bodies):
            for colour, surface in body_surfaces(self.model, body):
                placed = surface.moved(self.rest.position[body], self.rest.quat[body])
                parts.setdefault(colour, []).append((placed, joint))
        return {
            colour: (
                Surface.merged([s for s, _ in pieces]),
                np.concatenate([np.full(len(s.vertices), joint) for s, joint in pieces]),
            )
            for colour, pieces in parts.items()
        }


def frame_numbers(recording: Recording) -> Array:
    """When each frame is shown, in frames: frame k at k, although its moment is that of the nearest physics step.

    Programs put keys on whole frames. A last moment that lies between two frames stays there.
    """
    fps, half_step = float(recording.meta["fps"]), float(recording.meta["timestep"]) / 2
    numbers = np.asarray(recording.time, float) * fps
    return np.where(np.abs(np.rint(numbers) - numbers) <= half_step * fps + 1e-9, np.rint(numbers), numbers)


def body_track(recording: Recording) -> Track:
    """Where the bodies of a recording were in each frame, straight from the recorded positions."""
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    rest = Pose(data.xpos.copy(), data.xquat.copy())
    position = np.empty((len(recording.qpos), model.nbody, 3))
    quat = np.empty((len(recording.qpos), model.nbody, 4))
    for t, qpos in enumerate(recording.qpos):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        position[t], quat[t] = data.xpos, data.xquat
    surfaces, points = soft_surfaces(model), node_points(model, recording.qpos)
    return Track(model, Pose(position, quat), rest, cast(recording, model), surfaces, points)
