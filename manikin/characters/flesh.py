"""Soft characters: any skeleton and any closed surface become bones, flesh and a skin (Kim & Pollard 2011, section 4).

The flesh is a coarse tetrahedral mesh around the surface, simulated as a MuJoCo flex. Some of its nodes are fixed to bones,
the others are bodies of their own with three slides. Mass, centre and inertia are those of the volume inside the fine
surface, lumped onto nodes and bones; the surface follows its tetrahedra by barycentric weights.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from manikin.characters.body_plan import Hinge
from manikin.characters.catalog import TIMESTEP
from manikin.characters.lattice import fitted, surround
from manikin.characters.sdf import Mesh
from manikin.characters.tets import Embedding, Tets, embed, moments, volumes
from manikin.characters.vibration import highest_frequency, stability_ratio, stiffness
from manikin.errors import InputError

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# largest stability_ratio of flesh at rest: stretched flesh is stiffer
STABILITY_LIMIT = 0.5
OPTIONS = {"integrator": "Euler", "solver": "Newton", "iterations": "20", "tolerance": "1e-6"}
# time [s] in which servos correct a speed error
SERVO = 0.0025


@dataclass(frozen=True, eq=False)
class Bone:
    """A rigid segment from `start` to `end` [m], rest pose; it rotates about `start` by its hinges (axes of the rest pose)."""

    name: str
    parent: str | None
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    hinges: tuple[Hinge, ...] = ()
    radius: float = 0.0  # [m] assumed when nodes choose their nearest bone
    hold: float = 0.5  # where along it the flesh is fixed: nodes near a joint would be squeezed when it bends
    hard: float = np.inf  # beyond this point along it (1 is its end) all nearby nodes are fixed: a beak, a hard fin


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that defines a soft character, in its rest pose: z up, the ground where `at` will be.

    root: "free", or "planar" (slides along x and z, rotates about y). coarse: a mesh made by hand (see sweep.py), or the
    spacing [m] of a lattice, one number or one per axis, with a cube's middle at `centre`. bone_share: fraction of the mass
    that lies along the bones. loop: two bones; the end of the first is held at the start of the second. paint: index into
    `materials` for each face.
    """

    model: str
    bones: tuple[Bone, ...]
    surface: Mesh
    coarse: Tets | float | tuple[float, float, float]
    root: Literal["free", "planar"]
    materials: tuple[str, ...]
    density: float = 700.0  # [kg/m^3]
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    young: float = 5e4  # [Pa]
    poisson: float = 0.3
    damping: float = 0.0005  # [s]
    bone_share: float = 0.2
    even: float = 0.25  # how far a node's mass follows its stiffness (1) rather than the volume around it (0)
    margin: float = -0.002  # [m] how far the coarse mesh may sink in, since it protrudes around the fine surface
    # inertia of each joint's motor, and its servo's gain times SERVO, relative to the inertia that it moves with its flesh
    # (a light bone in slack flesh responds far faster than that: a servo at its force limit then throws it back and forth)
    motor: float = 0.02
    servo: float = 1.0
    core: float = 0.0  # [m] collision radius of the bones: flesh is not squeezed flat between them and what they touch
    # [rad] A joint's stop acts, as a ligament does, from `stop` before the end of its range, and control keeps clear of it. The
    # range ends `wider` beyond what the hinges name: joints thrown against the stop need that much to come to rest.
    stop: float = 0.0
    wider: float = 0.0
    loop: tuple[str, str] | None = None
    paint: Ints | None = None
    details: tuple[tuple[str, str, Mesh], ...] = ()  # (bone, material, surface in the rest pose): eyes and the like
    sites: tuple[tuple[str, str, tuple[float, float, float]], ...] = ()  # (name, bone, point in the rest pose)


@dataclass(frozen=True, eq=False)
class Flesh:
    """The soft body of a character: its mesh, what holds it, what it weighs, and the surface that it carries."""

    tets: Tets
    surface: Mesh
    place: Embedding  # of the surface's vertices
    names: tuple[str, ...]  # of the bones
    bone: Ints  # (n,) bone that each node is fixed to, -1 for free nodes
    nearest: Ints  # (n,) bone that each node is nearest to
    mass: Array  # (n,) [kg]
    bone_points: Array  # (3 bones, 3) [m]: start, middle and end of each bone
    bone_mass: Array  # (3 bones,) [kg] that lies there

    @cached_property
    def map(self) -> csr_matrix:
        return self.place.matrix(len(self.tets.nodes))

    def vertices(self, nodes: Array) -> Array:
        """The fine surface (k, 3) from the positions (n, 3) of the nodes, as MuJoCo's flexvert_xpos gives them."""
        out: Array = self.map @ nodes
        return out

    def volume_ratio(self, nodes: Array) -> float:
        """Smallest volume of a tetrahedron relative to its volume at rest; 0 or less when one is inverted."""
        return float((volumes(nodes, self.tets.elements) / self.tets.volumes).min())


@lru_cache(maxsize=16)
def flesh_of(plan: Plan) -> Flesh:
    """Mesh, attachment and masses for a plan.

    Raises InputError where the lattice does not suit the surface, or flesh vibrates too fast for the time step.
    """
    if isinstance(plan.coarse, Tets):
        tets = fitted(plan.coarse, plan.surface)
    else:
        tets = surround(plan.surface, plan.coarse, plan.centre)
    distance = np.stack([_to_segment(tets.nodes, b.start, b.end) - b.radius for b in plan.bones], axis=1)
    nearest = distance.argmin(axis=1).astype(np.int64)
    bone = _attached(plan, tets, nearest)
    points = np.concatenate([np.linspace(b.start, b.end, 3) for b in plan.bones])
    length = np.array([np.linalg.norm(np.subtract(b.end, b.start)) for b in plan.bones])
    mass, bone_mass = _masses(plan, tets, points, length)
    vibration = highest_frequency(tets, mass, bone < 0, plan.young, plan.poisson)
    if stability_ratio(TIMESTEP, vibration, plan.damping) > STABILITY_LIMIT:
        raise InputError(
            f"{plan.model}: its flesh vibrates at {vibration:.0f} rad/s, too fast for steps of {1000 * TIMESTEP:g} ms: "
            "use a smaller young or damping, or larger tetrahedra"
        )
    place = embed(plan.surface.vertices, tets)
    place = replace(place, weights=np.maximum(place.weights, 0.0))
    names = tuple(b.name for b in plan.bones)
    return Flesh(tets, plan.surface, place, names, bone, nearest, mass, points, bone_mass)


def _to_segment(points: Array, start: ArrayLike, end: ArrayLike) -> Array:
    """Distance (n,) from a segment."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    along = np.clip((points - middle) @ half / max(float(half @ half), 1e-12), -1.0, 1.0)
    distance: Array = np.linalg.norm(points - middle - along[:, None] * half, axis=1)
    return distance


def _attached(plan: Plan, tets: Tets, nearest: Ints) -> Ints:
    """Fix to each bone the nodes nearest to where it holds, ring by ring, until they do not lie in a plane: otherwise the bone
    could twist inside the flesh."""
    bone = np.full(len(tets.nodes), -1, np.int64)
    for k, b in enumerate(plan.bones):
        mine = np.flatnonzero(nearest == k)
        start, axis = np.array(b.start), np.subtract(b.end, b.start)
        around = [start + (b.hold + shift) * axis for shift in (-0.25, 0.25)]
        far = _to_segment(tets.nodes[mine], *around).round(3)
        for reach in np.unique(far):
            held = mine[far <= reach]
            spread = tets.nodes[held] - tets.nodes[held].mean(axis=0)
            thinnest = np.linalg.svd(spread, compute_uv=False)[-1] if len(held) >= 4 else 0.0
            if thinnest > 0.008:
                bone[held] = k
                break
        else:
            raise InputError(f"bone '{b.name}' has too few nodes around it to hold it: use a finer lattice")
        along = (tets.nodes[mine] - start) @ axis / float(axis @ axis)
        bone[mine[along > b.hard]] = k
    return bone


def _masses(plan: Plan, tets: Tets, points: Array, length: Array) -> tuple[Array, Array]:
    """Masses of nodes and bone points that give the surface's own mass, centre and inertia exactly.

    Start from a quarter of each tetrahedron per corner and an even part along the bones, then change as little as needed
    (relative to each mass) to meet the ten moments; masses that would fall below a tenth of their
    first value stay there. `Plan.even` begins with more mass where flesh is stiff, so that no light node vibrates quickly.
    """
    volume, first, second = moments(plan.surface)
    total = plan.density * volume
    lumped = np.bincount(tets.elements.ravel(), np.repeat(tets.volumes / 4.0, 4), len(tets.nodes))
    stiff = np.diag(stiffness(tets, 1.0, 0.0)).reshape(-1, 3).sum(axis=1)
    fractions = (1 - plan.even) * lumped / lumped.sum() + plan.even * stiff / stiff.sum()
    along = np.outer(length / length.sum(), [0.25, 0.5, 0.25]).ravel()
    start = total * np.concatenate([(1 - plan.bone_share) * fractions, plan.bone_share * along])
    x, y, z = np.concatenate([tets.nodes, points]).T
    rows = np.stack([np.ones_like(x), x, y, z, x * x, y * y, z * z, x * y, x * z, y * z])
    s = second
    goal = plan.density * np.array([volume, *first, s[0, 0], s[1, 1], s[2, 2], s[0, 1], s[0, 2], s[1, 2]])
    # rows of similar size condition the solve
    scale = np.abs(rows).max(axis=1)
    rows, goal = rows / scale[:, None], goal / scale
    mass, free = start.copy(), np.ones(len(start), bool)
    for _ in range(50):
        weighted = rows[:, free] * start[free]
        missing = goal - rows[:, ~free] @ mass[~free] - weighted.sum(axis=1)
        change = np.linalg.lstsq(weighted @ rows[:, free].T, missing, rcond=None)[0]
        mass[free] = start[free] * (1.0 + rows[:, free].T @ change)
        low = free & (mass < 0.1 * start)
        if not low.any():
            break
        mass[low], free = 0.1 * start[low], free & ~low
    if np.abs(rows @ mass - goal).max() > 1e-9 * np.abs(goal).max() or mass.min() <= 0:
        raise InputError(f"{plan.model}: no masses give the inertia of the surface: use a finer lattice or a larger bone_share")
    count = len(tets.nodes)
    return mass[:count], mass[count:]
