"""Surfaces of soft bodies: each vertex of a model's skins follows four nodes of its flesh by barycentric weights.

MuJoCo's own skinning lets a skin's bones rotate, which nodes do not; the weights here act on the nodes directly. Names
connect them: the skins of the flex `flesh` are called `flesh_0`, `flesh_1`, ...
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.characters.lathe import vertex_normals
from manikin.characters.tets import Tets, embed
from manikin.export.shapes import Colour, Surface

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SoftSurface:
    """One skin: its number in the model, its colour, the surface at rest and what it follows."""

    name: str
    skin: int
    colour: Colour
    rest: Surface
    nodes: Ints  # (n, 4) among the model's flex vertices
    weights: Array  # (n, 4), none negative, sums are 1

    def places(self, nodes: Array) -> Array:
        """Vertices (n, 3) when the flex vertices are at `nodes` (nflexvert, 3)."""
        return np.einsum("vk,vki->vi", self.weights, nodes[self.nodes])

    def at(self, places: Array) -> Surface:
        """The surface when the flex vertices are at `places` (nflexvert, 3)."""
        vertices = self.places(places)
        return Surface(vertices, vertex_normals(vertices, self.rest.faces.astype(np.int32)), self.rest.faces)


def soft_surfaces(model: mujoco.MjModel) -> list[SoftSurface]:
    """All skins of a model that lie on flesh."""
    out: list[SoftSurface] = []
    if not model.nskin or not model.nflex:
        return out
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_flex(model, data)
    flexes = {mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_FLEX, f): f for f in range(model.nflex)}
    for skin in range(model.nskin):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SKIN, skin) or ""
        flex = flexes.get(name.rpartition("_")[0])
        if flex is None:
            continue
        rows = slice(int(model.skin_vertadr[skin]), int(model.skin_vertadr[skin] + model.skin_vertnum[skin]))
        faces = model.skin_face[int(model.skin_faceadr[skin]) :][: int(model.skin_facenum[skin])].astype(np.int64)
        vertices = model.skin_vert[rows].astype(float)
        start, count = int(model.flex_elemdataadr[flex]), int(model.flex_elemnum[flex])
        corners = model.flex_elem[start : start + 4 * count].reshape(-1, 4) + int(model.flex_vertadr[flex])
        place = embed(vertices, Tets(data.flexvert_xpos, corners.astype(np.int64)))
        # rounding to single precision puts vertices on a face slightly outside
        weights = np.maximum(place.weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        colour = _colour(model, skin)
        rest = Surface(vertices, vertex_normals(vertices, faces.astype(np.int32)), faces)
        out.append(SoftSurface(name, skin, colour, rest, place.nodes, weights))
    return out


def _colour(model: mujoco.MjModel, skin: int) -> Colour:
    material = int(model.skin_matid[skin])
    r, g, b, a = (round(float(c), 6) for c in (model.mat_rgba[material] if material >= 0 else model.skin_rgba[skin]))
    return r, g, b, a


def draw_soft(scene: mujoco.MjvScene, surfaces: list[SoftSurface], data: mujoco.MjData) -> None:
    """Replace MuJoCo's own skins by the surfaces, as they are now, in a scene about to be drawn."""
    for soft in surfaces:
        now = soft.at(data.flexvert_xpos)
        start, count = 3 * int(scene.skinvertadr[soft.skin]), 3 * int(scene.skinvertnum[soft.skin])
        scene.skinvert[start : start + count] = now.vertices.ravel()
        scene.skinnormal[start : start + count] = now.normals.ravel()


@dataclass(frozen=True)
class Points:
    """Where the nodes of all flesh were: (T, nflexvert, 3), and at rest (nflexvert, 3); the body of each, and its name."""

    places: Array
    rest: Array
    bodies: Ints
    names: list[str]


def node_points(model: mujoco.MjModel, qpos: Array) -> Points:
    """Follow the nodes of all flesh through a recording's positions (T, nq)."""
    data = mujoco.MjData(model)

    def now() -> Array:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_flex(model, data)
        return np.array(data.flexvert_xpos)

    rest = now()
    places = np.empty((len(qpos), *rest.shape))
    for t, row in enumerate(qpos):
        data.qpos[:] = row
        places[t] = now()
    names = []
    for flex in range(model.nflex):
        flesh = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_FLEX, flex) or f"flex_{flex}"
        names += [f"{flesh}_point_{k}" for k in range(int(model.flex_vertnum[flex]))]
    return Points(places, rest, model.flex_vertbodyid.astype(np.int64), names)
