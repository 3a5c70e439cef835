"""Props of several parts: a light cover, open below, and a plank on a pivot. Kim & Pollard 2011, Figures 1 and 4."""

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

from manikin.characters.mjcf import child

# thickness [m] of a case's panes: fast bodies would pass through thinner ones
PANE = 0.012
# middles of the lower edges of a case: directions from its centre
EDGES = {"front": (1, 0), "back": (-1, 0), "left": (0, 1), "right": (0, -1)}


def part_names(shape: str, name: str) -> list[str]:
    """Names of a prop's parts in addition to its own."""
    if shape == "case":
        return [f"{name}_{edge}" for edge in EDGES]
    return [f"{name}_stand", f"{name}_front", f"{name}_back"] if shape == "seesaw" else []


def add_case(body: ET.Element, name: str, size: tuple[float, ...], mass: float, fixed: bool, touch: dict[str, Any]) -> None:
    """A box without a bottom: four walls and a lid in one body, their mass by volume. The origin is the middle of the box."""
    x, y, z = size
    t = PANE
    panes = [
        # the lid rests on the walls; left and right fit between front and back
        ("lid", (0, 0, z / 2 - t / 2), (x, y, t)),
        ("front", (x / 2 - t / 2, 0, -t / 2), (t, y, z - t)),
        ("back", (t / 2 - x / 2, 0, -t / 2), (t, y, z - t)),
        ("left", (0, y / 2 - t / 2, -t / 2), (x - 2 * t, t, z - t)),
        ("right", (0, t / 2 - y / 2, -t / 2), (x - 2 * t, t, z - t)),
    ]
    volume = sum(float(np.prod(pane)) for _, _, pane in panes)
    if not fixed:
        child(body, "freejoint", name=name)
    for part, place, pane in panes:
        child(
            body, "geom", name=name if part == "lid" else f"{name}_{part}", type="box", pos=place, size=[s / 2 for s in pane],
            mass=mass * float(np.prod(pane)) / volume, **touch,
        )  # fmt: skip
    child(body, "site", name=name, size=0.01, group=4)
    for edge, (ahead, aside) in EDGES.items():
        child(body, "site", name=f"{name}_{edge}", pos=[ahead * x / 2, aside * y / 2, -z / 2], size=0.01, group=4)


def seesaw_range(size: tuple[float, ...], height: float) -> float:
    """The angle [rad] at which an end of a plank of this size touches the ground, its pivot at this height."""
    return float(np.arcsin(min(1.0, height / (size[0] / 2))))


def add_seesaw(
    assets: ET.Element, contacts: ET.Element, world: ET.Element, name: str, size: tuple[float, ...], mass: float,
    damping: float, at: tuple[float, float, float], turn: tuple[float, float, float], fixed: bool, touch: dict[str, Any],
) -> None:  # fmt: skip
    """A plank that tips about y on the edge of a wedge. `at` is the pivot: the middle of the plank's underside."""
    length, width, thick = size
    height = at[2]
    place = {"pos": at, "euler": np.deg2rad(turn)}
    # the stand: a wedge from the ground to the pivot, always steeper than the plank
    foot = 0.5 * min(height, 0.25 * length)
    wedge = [[ahead * foot, aside * 0.4 * width, -height] for ahead in (-1, 1) for aside in (-1, 1)]
    wedge += [[0.0, aside * 0.4 * width, 0.0] for aside in (-1, 1)]
    child(assets, "mesh", name=f"{name}_stand", vertex=np.ravel(wedge))
    stand = child(world, "body", name=f"{name}_stand", **place)
    child(stand, "geom", name=f"{name}_stand", type="mesh", mesh=f"{name}_stand", **touch)
    body = child(world, "body", name=name, **place)
    if not fixed:
        most = seesaw_range(size, height)
        child(body, "joint", name=name, type="hinge", axis=[0, 1, 0], range=[-most, most], damping=damping)
    child(
        body, "geom", name=name, type="box", pos=[0, 0, thick / 2], size=[length / 2, width / 2, thick / 2], mass=mass, **touch,
    )  # fmt: skip
    child(body, "site", name=name, size=0.01, group=4)
    for end, side in (("front", 1), ("back", -1)):
        child(body, "site", name=f"{name}_{end}", pos=[side * length / 2, 0, thick], size=0.01, group=4)
    child(contacts, "exclude", name=name, body1=name, body2=f"{name}_stand")
