"""Soft things: deforming surfaces, whose vertices are sent to the page with every frame.

A surface holds, for each vertex, the body that a press there grabs. `Shells` shows what MuJoCo itself would draw of a
model's flexes; `Fine` shows the skins that ride on flesh in their place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.export.soft import soft_surfaces
from manikin.palette import Colour

# MuJoCo draws the groups below this one
SHOWN_GROUPS = 3


@dataclass(frozen=True)
class Surface:
    """A deforming mesh. triangles (t, 3): vertex numbers, counter-clockwise from outside. bodies (n,): number of the body
    that each vertex belongs to. colour: sRGB, 0 to 1."""

    name: str
    triangles: NDArray[np.int32]
    bodies: NDArray[np.int32]
    colour: Colour


class Surfaces(Protocol):
    """All deforming meshes of a model."""

    def meshes(self) -> Sequence[Surface]:
        """The meshes, in an order that never changes."""

    def vertices(self, data: mujoco.MjData) -> list[NDArray[np.float32]]:
        """The present vertices (n, 3) [m] of each mesh, world axes."""


def flat(vertices: NDArray[np.float32]) -> tuple[float, ...]:
    """Rounded to a hundredth of a millimetre, for text messages."""
    return tuple(vertices.astype(np.float64).round(5).ravel().tolist())


class Shells:
    """The outside of every flex that MuJoCo would draw."""

    def __init__(self, model: mujoco.MjModel, hidden: Sequence[str] = ()) -> None:
        shown = [f for f in range(model.nflex) if model.flex_group[f] < SHOWN_GROUPS and model.flex_rgba[f, 3] > 0]
        shown = [f for f in shown if flex_name(model, f) not in hidden]
        found = [_shell(model, f) for f in shown]
        self._meshes = [mesh for mesh, _ in found]
        self._rows = [rows for _, rows in found]

    def meshes(self) -> Sequence[Surface]:
        return self._meshes

    def vertices(self, data: mujoco.MjData) -> list[NDArray[np.float32]]:
        return [data.flexvert_xpos[rows].astype(np.float32) for rows in self._rows]


class Fine:
    """The skins of all flesh as they are, and the shells of what has none. holds: {node: the bone that a press grabs}."""

    def __init__(self, model: mujoco.MjModel, holds: Mapping[int, int]) -> None:
        self._skins = soft_surfaces(model)
        self._shells = Shells(model, [skin.name.rpartition("_")[0] for skin in self._skins])
        owner = np.array([holds.get(body, body) for body in range(model.nbody)], np.int32)
        self._meshes = []
        for skin in self._skins:
            nearest = np.take_along_axis(skin.nodes, skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
            bodies = owner[model.flex_vertbodyid[nearest]]
            self._meshes.append(Surface(skin.name, skin.rest.faces.astype(np.int32), bodies, skin.colour[:3]))

    def meshes(self) -> Sequence[Surface]:
        return [*self._meshes, *self._shells.meshes()]

    def vertices(self, data: mujoco.MjData) -> list[NDArray[np.float32]]:
        return [*(skin.places(data.flexvert_xpos).astype(np.float32) for skin in self._skins), *self._shells.vertices(data)]


def _shell(model: mujoco.MjModel, flex: int) -> tuple[Surface, NDArray[np.int32]]:
    """The visible triangles of a flex, and the rows of the vertices they use."""
    first, dim = int(model.flex_vertadr[flex]), int(model.flex_dim[flex])
    if dim == 3:
        address, count = int(model.flex_shelldataadr[flex]), int(model.flex_shellnum[flex])
        triangles = model.flex_shell[address : address + 3 * count].reshape(-1, 3)
    else:
        # all of a cloth is its outside; a rope has none
        address, count = int(model.flex_elemdataadr[flex]), int(model.flex_elemnum[flex])
        triangles = model.flex_elem[address : address + 3 * count].reshape(-1, 3) if dim == 2 else np.zeros((0, 3), np.int32)
    rows, triangles = np.unique(triangles, return_inverse=True)
    red, green, blue, _ = (float(c) for c in model.flex_rgba[flex])
    mesh = Surface(
        flex_name(model, flex),
        triangles.reshape(-1, 3).astype(np.int32),
        _bodies(model, flex)[rows],
        (red, green, blue),
    )
    return mesh, (first + rows).astype(np.int32)


def flex_name(model: mujoco.MjModel, flex: int) -> str:
    return str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_FLEX, flex) or f"flex {flex}")


def carriers(model: mujoco.MjModel, flex: int) -> NDArray[np.int32]:
    """The bodies that carry a flex: one for each vertex, or for each node where a few nodes move all vertices."""
    if model.flex_interp[flex]:
        first, count = int(model.flex_nodeadr[flex]), int(model.flex_nodenum[flex])
        return np.array(model.flex_nodebodyid[first : first + count], np.int32)
    first, count = int(model.flex_vertadr[flex]), int(model.flex_vertnum[flex])
    return np.array(model.flex_vertbodyid[first : first + count], np.int32)


def _bodies(model: mujoco.MjModel, flex: int) -> NDArray[np.int32]:
    """The body of each vertex of a flex; of one that nodes move, the body of the nearest node."""
    bodies = carriers(model, flex)
    if not model.flex_interp[flex]:
        return bodies
    first, count, node = int(model.flex_vertadr[flex]), int(model.flex_vertnum[flex]), int(model.flex_nodeadr[flex])
    corners = model.flex_node0[node : node + len(bodies)]
    # vertices are stored as fractions of their box
    low, high = corners.min(axis=0), corners.max(axis=0)
    places = low + (high - low) * model.flex_vert0[first : first + count]
    return np.asarray(bodies[((places[:, None] - corners[None]) ** 2).sum(axis=2).argmin(axis=1)])
