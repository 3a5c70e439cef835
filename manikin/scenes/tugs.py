"""Tugs: a scripted mouse that pulls at a point of a body. Abe & Popovic 2006, section 5, "Chain Interaction"."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.physics.world import Push, World
from manikin.tasks.goals import Path

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tug:
    """force: a path of newtons, world axes, acting at `offset` (3,) [m] of a body from its first to its last time."""

    body: str
    number: int
    offset: Array
    force: Path

    def push(self, world: World) -> Push | None:
        """The present force as MuJoCo expects it: at the body's centre of mass, with the torque of its lever arm."""
        t = world.time - self.force.start
        if t < self.force.times[0] or t > self.force.times[-1]:
            return None
        force = np.asarray(self.force.at(world, moving=False).value)
        data = world.data
        point = data.xpos[self.number] + data.xmat[self.number].reshape(3, 3) @ self.offset
        return Push(self.body, force, np.cross(point - data.xipos[self.number], force))
