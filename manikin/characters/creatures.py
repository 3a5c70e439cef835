"""Characters other than the human, by their names in scene files (Kim & Pollard 2011)."""

from typing import Protocol

from manikin.characters.catalog import Character
from manikin.characters.donut import donut
from manikin.characters.fish import fish
from manikin.characters.lamp import lamp
from manikin.characters.starfish import starfish
from manikin.characters.worm import worm
from manikin.errors import InputError, did_you_mean


class Builder(Protocol):
    """strength: scales torque limits. at: where it is [m], facing: rotation about z [rad], at the first moment."""

    def __call__(self, strength: float, prefix: str, at: tuple[float, float, float], facing: float) -> Character: ...


CREATURES: dict[str, Builder] = {"lamp": lamp, "worm": worm, "fish": fish, "starfish": starfish, "donut": donut}


def creature(
    name: str,
    strength: float = 1.0,
    prefix: str = "",
    at: tuple[float, float, float] = (0.0, 0.0, 0.0),
    facing: float = 0.0,
) -> Character:
    """Build a lamp, worm, fish, starfish or donut.

    strength: scales every torque limit. at: where it stands [m]. facing: rotation about z [rad]. prefix: put before all names.
    """
    if name not in CREATURES:
        raise InputError(f"no creature is called '{name}'{did_you_mean(name, CREATURES)}")
    return CREATURES[name](strength, prefix, at, facing)
