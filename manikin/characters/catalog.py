"""What the rest of the package needs from a character: MJCF parts and the names that scenes and tasks may use."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from manikin.characters.flesh import Flesh

# collision bits: what collides with what
GROUND, PROPS, CHARACTERS, HANDS = 1, 2, 4, 8
# contacts with characters other than the human are detected within this distance [m]
NEAR = 0.002
# The largest stable time step [s] for soft characters. Flesh is integrated explicitly: its forces are those of the present
# pose, which conserves momentum in flight. So the step must resolve its fastest vibration (vibration.py).
TIMESTEP = 0.0008


@dataclass(frozen=True)
class Character:
    """A character ready to be put into a model. `prefix` begins each of its names ("" when it is alone)."""

    prefix: str
    body: ET.Element
    assets: tuple[ET.Element, ...]
    actuators: tuple[ET.Element, ...]
    equalities: tuple[ET.Element, ...]
    root: str  # name of its root body
    bodies: tuple[str, ...]  # its bones; the free nodes of its flesh are not among them
    joints: tuple[str, ...]  # actuated joints, in DOF order
    hands: tuple[str, ...]  # sites that can hold a prop; each sits on the body of the same name
    feet: tuple[str, ...]  # bodies that carry it on the ground
    contacts: tuple[ET.Element, ...]  # pairs of geoms with contact parameters of their own
    soles: tuple[tuple[str, tuple[float, float, float]], ...]  # (body, point in its frame [m]) where the feet may press
    height: float  # stature [m]; lengths in scenes marked "scale" are given for 1.75 m

    # --- characters other than the human
    model: str = "human"
    root_joints: tuple[str, ...] = ()  # joints of the passive root, in DOF order
    start: Mapping[str, float] = field(default_factory=dict)  # joint angles [rad] at the first moment, where not zero
    options: Mapping[str, str] = field(default_factory=dict)  # attributes of <option> that its physics needs
    flesh: "Flesh | None" = None  # its soft body
    nodes: tuple[ET.Element, ...] = ()  # bodies of the free nodes of the flesh
    deformable: tuple[ET.Element, ...] = ()  # <flex> and <skin>
    tendons: tuple[ET.Element, ...] = ()  # limits on sums of joint angles


REFERENCE_HEIGHT = 1.75
