"""How far soft flesh is squeezed: inverted flesh can stay inverted while all speeds look normal.

What prevents it is in `volume`.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int32]


@kernel
def ratio_of(places: Array, corners: Ints, rest: float) -> float:
    """The volume of one tetrahedron relative to its volume at rest."""
    a, b, c, d = places[corners[0]], places[corners[1]], places[corners[2]], places[corners[3]]
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    wx, wy, wz = d[0] - a[0], d[1] - a[1], d[2] - a[2]
    return ((uy * vz - uz * vy) * wx + (uz * vx - ux * vz) * wy + (ux * vy - uy * vx) * wz) / rest


@kernel
def _least_ratio(places: Array, elements: Ints, rest: Array) -> tuple[float, int]:
    """Smallest volume relative to volume at rest, and its tetrahedron."""
    least, which = np.inf, -1
    for e in range(elements.shape[0]):
        ratio = ratio_of(places, elements[e], rest[e])
        if ratio < least:
            least, which = ratio, e
    return least, which


@dataclass(frozen=True)
class Tetrahedra:
    """All tetrahedra of a model's soft bodies: corners (m, 4) among the flex vertices, six times the volume at rest (m,)."""

    elements: Ints
    rest: Array
    flesh: tuple[str, ...]  # name of each soft body
    owner: Ints  # (m,) soft body of each tetrahedron

    @staticmethod
    def of(model: mujoco.MjModel) -> "Tetrahedra":
        """Volumes are those of the model's zero pose."""
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_flex(model, data)
        parts, owners, names = [np.zeros((0, 4), np.int32)], [np.zeros(0, np.int32)], []
        for flex in range(model.nflex):
            names.append(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_FLEX, flex) or f"flex_{flex}")
            if model.flex_dim[flex] == 3:
                start, count = int(model.flex_elemdataadr[flex]), int(model.flex_elemnum[flex])
                corners = model.flex_elem[start : start + 4 * count].reshape(-1, 4) + int(model.flex_vertadr[flex])
                parts.append(corners.astype(np.int32))
                owners.append(np.full(count, flex, np.int32))
        elements = np.concatenate(parts)
        a, b, c, d = data.flexvert_xpos[elements].transpose(1, 0, 2) if len(elements) else np.zeros((4, 0, 3))
        rest = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a)
        return Tetrahedra(elements, rest, tuple(names), np.concatenate(owners))

    def least_ratio(self, data: mujoco.MjData) -> tuple[float, str]:
        """Smallest volume relative to rest, and its soft body; infinite where nothing is soft. 0 or less: inside out."""
        if not len(self.elements):
            return float("inf"), ""
        ratio, element = _least_ratio(data.flexvert_xpos, self.elements, self.rest)
        return float(ratio), self.flesh[self.owner[element]]


@kernel
def _by_joint(places: Array, elements: Ints, rest: Array, bones: Ints, sides: Ints, count: int) -> Array:
    """For each joint the smallest ratio of the tetrahedra around its two bones."""
    least = np.full(count, np.inf)
    for e in range(elements.shape[0]):
        ratio = ratio_of(places, elements[e], rest[e])
        for k in range(4):
            if bones[e, k] >= 0:
                least[bones[e, k]] = min(least[bones[e, k]], ratio)
    out = np.empty(sides.shape[0])
    for j in range(sides.shape[0]):
        out[j] = min(least[sides[j, 0]], least[sides[j, 1]])
    return out


@dataclass(frozen=True)
class Squeeze:
    """How far the flesh around each joint of one character is squeezed. bones (m, 4): the bone nearest to each corner of each
    tetrahedron, -1 for others; sides (n, 2): the two bones of each joint; rest (n,): angles at which flesh is at rest."""

    tetrahedra: Tetrahedra
    bones: Ints
    sides: Ints
    rest: Array

    def ratios(self, data: mujoco.MjData) -> Array:
        """For each joint the smallest volume around it relative to its volume at rest; infinite where nothing is soft."""
        tets = self.tetrahedra
        if not len(tets.elements):
            return np.full(len(self.sides), np.inf)
        return _by_joint(data.flexvert_xpos, tets.elements, tets.rest, self.bones, self.sides, int(self.sides.max()) + 1)


def find_squeeze(
    model: mujoco.MjModel, tetrahedra: Tetrahedra, bone_of: NDArray[np.int64], joints: NDArray[np.int64]
) -> Squeeze:
    """The flesh around each joint of a character. bone_of (nbody,): the bone of each body; joints: the active ones."""
    corners = bone_of[model.flex_vertbodyid[tetrahedra.elements]] if len(tetrahedra.elements) else np.zeros((0, 4))
    child = model.jnt_bodyid[joints]
    sides = np.stack([child, model.body_parentid[child]], axis=1).astype(np.int32)
    inside = np.isin(corners, sides)
    return Squeeze(tetrahedra, np.where(inside, corners, -1).astype(np.int32), sides, model.qpos0[model.jnt_qposadr[joints]])
