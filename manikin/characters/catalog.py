"""What every character is to the rest of the house: MJCF parts and the names that scenes and tasks may use."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass


@dataclass(frozen=True)
class Character:
    """A character ready to be put into a model. `prefix` stands before each of its names ("" when it is alone)."""

    prefix: str
    body: ET.Element
    assets: tuple[ET.Element, ...]
    actuators: tuple[ET.Element, ...]
    equalities: tuple[ET.Element, ...]
    root: str  # name of its root body
    bodies: tuple[str, ...]
    joints: tuple[str, ...]  # actuated joints, in DOF order
    hands: tuple[str, ...]  # sites that can hold a prop; each sits on the body of the same name
    feet: tuple[str, ...]  # bodies that stand on the ground
    contacts: tuple[ET.Element, ...]  # pairs of geoms that touch in their own way
    soles: tuple[tuple[str, tuple[float, float, float]], ...]  # (body, point in its frame [m]) where the feet may press
    height: float  # stature [m]; lengths in scenes that "scale" are meant for 1.75 m


REFERENCE_HEIGHT = 1.75
