"""Meshes swept along limbs cell by cell: well-shaped tetrahedra for tubes, rings and stars.

A limb is a row of cells. Between two cells lies a ring of four corners; a cell has a middle and four sides, so that its cross
section is an octagon. Each face of a cell gives four tetrahedra: its edges, the cell's middle, and what lies beyond the face.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from manikin.characters.tets import Tets, oriented

Array = NDArray[np.float64]
Ring = tuple[int, int, int, int]


@dataclass
class Sweep:
    """A mesh being made: nodes [m] and tetrahedra."""

    nodes: list[Array] = field(default_factory=list)
    elements: list[tuple[int, int, int, int]] = field(default_factory=list)

    def node(self, place: ArrayLike) -> int:
        self.nodes.append(np.asarray(place, float))
        return len(self.nodes) - 1

    def ring(self, middle: ArrayLike, across: ArrayLike, up: ArrayLike, phase: float = 0.25) -> Ring:
        """Four nodes on an ellipse with the half axes `across` and `up` (3,), starting at `phase` half revolutions."""
        angle = 2.0 * np.pi * (0.5 * phase + 0.25 * np.arange(4))
        a, b, c, d = (self.node(np.add(middle, np.cos(t) * np.asarray(across) + np.sin(t) * np.asarray(up))) for t in angle)
        return a, b, c, d

    def between(self, one: int, two: int, loop: tuple[int, ...]) -> None:
        """Tetrahedra from each edge of a closed loop to two nodes on its sides."""
        for k, first in enumerate(loop):
            self.elements.append((one, two, first, loop[(k + 1) % len(loop)]))

    def cell(self, middle: int, sides: Ring, before: Ring, after: Ring) -> None:
        """The four flanks of a cell between two rings; `sides` lie between their corners."""
        for j in range(4):
            k = (j + 1) % 4
            self.between(middle, sides[j], (before[j], before[k], after[k], after[j]))

    def seam(self, one: Ring, two: Ring, ring: Ring) -> None:
        """Fill the notches between the sides of two cells, above each edge of the ring between them."""
        for j in range(4):
            self.elements.append((one[j], two[j], ring[j], ring[(j + 1) % 4]))

    def mesh(self) -> Tets:
        nodes = np.array(self.nodes)
        return Tets(nodes, oriented(nodes, np.array(self.elements, np.int64)))


def tube(line: ArrayLike, across: ArrayLike, up: ArrayLike, closed: bool = False) -> Tets:
    """A limb along points (2 n + 1, 3): rings at the even ones, middles of cells at the odd ones; half axes (2 n + 1, 3).

    closed: the last ring is the first one. Otherwise the first and last points are tips, and rings lie next to them.
    Corners of the rings lie on the half axes. So what fills the notches between two cells lies at an angle: directly
    below it would be squeezed between bone and ground, and in flat limbs it would be flat.
    """
    points, wide, tall = (np.asarray(v, float) for v in (line, across, up))
    sweep = Sweep()
    if closed:
        rings = [sweep.ring(points[k], wide[k], tall[k], phase=0.0) for k in range(0, len(points) - 1, 2)]
        rings.append(rings[0])
    else:
        rings = [sweep.ring(points[k], wide[k], tall[k], phase=0.0) for k in range(0, len(points), 2)]
    middles, flanks = [], []
    for k in range(1, len(points), 2):
        # sides lie between corners: an eighth of a revolution further
        middle, sides = sweep.node(points[k]), sweep.ring(points[k], wide[k], tall[k], phase=0.25)
        sweep.cell(middle, sides, rings[k // 2], rings[k // 2 + 1])
        middles.append(middle)
        flanks.append(sides)
    for k in range(len(middles) - 1):
        sweep.between(middles[k], middles[k + 1], rings[k + 1])
        sweep.seam(flanks[k], flanks[k + 1], rings[k + 1])
    if closed:
        sweep.between(middles[-1], middles[0], rings[0])
        sweep.seam(flanks[-1], flanks[0], rings[0])
    else:
        ends = ((middles[0], rings[0], 2 * points[0] - points[1]), (middles[-1], rings[-1], 2 * points[-1] - points[-2]))
        for middle, ring, tip in ends:
            sweep.between(middle, sweep.node(0.4 * tip + 0.6 * np.mean([sweep.nodes[n] for n in ring], axis=0)), ring)
    return sweep.mesh()
