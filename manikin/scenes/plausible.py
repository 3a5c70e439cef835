"""Whether a human moves within human limits: joint speeds and the lean of the trunk. A run beyond them is not ok."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import Character
from manikin.errors import above
from manikin.physics.world import World

# [rad/s] A bound of our own. All shipped scenes stay below 14; a sprinter's knee reaches about 20; only the arms of trained
# throwers go beyond (elbow about 40, shoulder about 125: Fleisig et al. 1999, Journal of Biomechanics 32(12)).
QUICKEST = 25.0
# [degrees] of the chest from upright. A bound of our own: the lift from the back, the deepest that ships, leans 124.
FURTHEST_LEAN = 140.0


@dataclass
class Plausible:
    """Watches a human in every step; `check` describes the first violation."""

    joints: tuple[str, ...]
    dofs: NDArray[np.int64]
    chest: int
    quickest: float = QUICKEST
    _lean: float = field(default=float(np.cos(np.deg2rad(FURTHEST_LEAN))), repr=False)

    @classmethod
    def of(cls, world: World, character: Character) -> "Plausible":
        """The watch on one human of a world."""
        dofs = [int(world.model.jnt_dofadr[world.joint(j)]) for j in character.joints]
        return cls(character.joints, np.array(dofs, np.int64), world.body(f"{character.prefix}thorax"))

    def check(self, world: World) -> str | None:
        """What is beyond human limits at this moment; None when nothing is."""
        speeds = np.abs(world.data.qvel[self.dofs])
        worst = int(speeds.argmax())
        if speeds[worst] > self.quickest:
            return (
                f"joint '{self.joints[worst]}' moved at {above(speeds[worst], self.quickest, 0)} rad/s at {world.time:.2f} s:"
                f" no person moves that fast (at most {self.quickest:g})"
            )
        upright = float(world.data.xmat[self.chest, 8])
        if upright < self._lean:
            lean = float(np.degrees(np.arccos(max(upright, -1.0))))
            return (
                f"the trunk leaned {above(lean, FURTHEST_LEAN, 0)} degrees from upright at {world.time:.2f} s:"
                f" people bend no further than {FURTHEST_LEAN:g}"
            )
        return None


def watches(world: World, characters: list[Character]) -> tuple[Plausible, ...]:
    """One for each human."""
    return tuple(Plausible.of(world, c) for c in characters if c.model == "human")
