"""The cast of a run: what can be grabbed, and which character or prop each body belongs to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.physics.skeleton import Skeleton
from manikin.physics.world import World
from manikin.studio.soft import carriers, flex_name

Array = NDArray[np.float64]


@dataclass
class Cast:
    """Bodies of characters by root, feet (sites), movable props with their bodies.

    flesh: {node of a soft character: the bone nearest to it}.
    """

    characters: dict[str, list[int]]
    feet: list[int]
    props: dict[str, list[int]]
    flesh: dict[int, int] = field(default_factory=dict)

    def of(self, body: int) -> tuple[str, str]:
        """("character" | "prop" | "world", its owner)."""
        body = self.flesh.get(body, body)
        for root, bodies in self.characters.items():
            if body in bodies:
                return "character", root
        for prop, bodies in self.props.items():
            if body in bodies:
                return "prop", prop
        return "world", ""

    def hold(self, world: World, name: str, point: Array) -> tuple[str, Array]:
        """The body, and the point (3,) on it, that a grab at a point takes hold of: in flesh, the bone below."""
        body = world.body(name)
        if body not in self.flesh:
            return name, point
        bone, data = self.flesh[body], world.data
        place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
        return world.names(mujoco.mjtObj.mjOBJ_BODY)[bone], data.xmat[bone].reshape(3, 3).T @ (place - data.xpos[bone])


def find_cast(world: World, meta: dict[str, object], skeletons: Sequence[Skeleton] = ()) -> Cast:
    """The cast from a recording's meta. skeletons: those under direct control."""
    characters, feet, props = meta["characters"], meta["feet"], meta["props"]
    assert isinstance(characters, dict)
    assert isinstance(feet, list)
    assert isinstance(props, list)
    model = world.model
    # all bodies of a kinematic tree, the root first
    trees = {p: np.flatnonzero(model.body_rootid == model.body_rootid[world.body(p)]).tolist() for p in props}
    movable = {p: tree for p, tree in trees.items() if model.body_weldid[world.body(p)] != 0}
    own = {root: [world.body(b) for b in bodies] for root, bodies in characters.items()}
    known = {b for bodies in (*own.values(), *trees.values()) for b in bodies}
    flesh = {
        node: int(skeleton.bone_of[node])
        for skeleton in skeletons
        for node in np.flatnonzero((skeleton.bone_of >= 0) & (skeleton.bone_of != np.arange(model.nbody))).tolist()
    }
    # the feet of creatures are bones, not sites
    sites = [world.site(f) for f in feet if f not in world.names(mujoco.mjtObj.mjOBJ_BODY)]
    return Cast(own, sites, movable | _soft_props(world, known), flesh)


def _soft_props(world: World, known: set[int]) -> dict[str, list[int]]:
    """Flexes on movable bodies of their own are props too, with the name of the flex."""
    model = world.model
    carried = {flex_name(model, f): sorted({*carriers(model, f).tolist()}) for f in range(model.nflex)}
    return {n: own for n, own in carried.items() if not known & {*own} and all(model.body_weldid[b] != 0 for b in own)}
