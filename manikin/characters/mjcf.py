"""MJCF as an element tree: helpers shared by everything that builds a model."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def text(value: Any) -> str:
    """One attribute value: numbers with nine digits, sequences separated by blanks, the rest unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        # adding zero turns -0.0 into 0.0, so that mirrored bodies print alike
        return f"{float(value) + 0.0:.9g}"
    if isinstance(value, Iterable):
        return " ".join(text(v) for v in value)
    raise TypeError(f"cannot write {type(value).__name__} into MJCF")


def child(parent: ET.Element, tag: str, **attributes: Any) -> ET.Element:
    """Append <tag .../>; a trailing underscore in a name is dropped (class_), None is left out."""
    return ET.SubElement(parent, tag, {k.rstrip("_"): text(v) for k, v in attributes.items() if v is not None})


def element(tag: str, **attributes: Any) -> ET.Element:
    """A <tag .../> without a parent."""
    return ET.Element(tag, {k.rstrip("_"): text(v) for k, v in attributes.items() if v is not None})


def digits(values: Floats) -> str:
    """Many numbers with seven digits each: enough for surfaces, and half the text."""
    return " ".join(f"{v + 0.0:.7g}" for v in values.ravel().tolist())


def mesh_asset(name: str, vertices: Floats, normals: Floats, faces: NDArray[np.int32]) -> ET.Element:
    """A surface that is only drawn: vertices (n, 3), normals (n, 3), faces (m, 3). Its body has an inertia of its own."""
    return element(
        "mesh", name=name, inertia="shell", vertex=digits(vertices), normal=digits(normals),
        face=" ".join(map(str, faces.ravel().tolist())),
    )  # fmt: skip
