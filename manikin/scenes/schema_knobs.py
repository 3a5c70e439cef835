"""The knobs table of a scene file: which keys the studio offers as sliders or choices, and under which titles."""

import re
from typing import Any

from pydantic import Field, model_validator

from manikin.scenes.schema_table import Finite, Table


class KnobSpec(Table):
    """A slider: { range = [lowest, highest], unit, title }, or the short form [lowest, highest, unit].
    A choice between texts: { choices = ["lift_knees", "lift_back"], title }.
    """

    range: tuple[Finite, Finite] | None = None
    choices: tuple[str, ...] | None = Field(default=None, min_length=2)
    unit: str = ""
    title: str = ""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        if len(value) != 3:
            raise ValueError(f"needs [lowest, highest, unit], {len(value)} were given; or {{ range = [...], unit, title }}")
        return {"range": value[:2], "unit": value[2]}

    @model_validator(mode="after")
    def _one_kind(self) -> "KnobSpec":
        if (self.range is None) == (self.choices is None):
            raise ValueError("a knob needs exactly one of range, choices")
        if self.range is not None and not self.range[0] < self.range[1]:
            low, high = self.range
            raise ValueError(f"given {low:g}, {high:g}: the second must be greater than the first")
        if self.choices is not None:
            twice = [c for c in self.choices if self.choices.count(c) > 1]
            if twice:
                raise ValueError(f"choices names '{twice[0]}' twice")
            if self.unit:
                raise ValueError("unit goes with range")
        return self


def knob_title(path: str, spec: KnobSpec | None = None) -> str:
    """The title of a knob: the one given, else words made from its path.

    props.box.mass: "Box mass"; steps.leap.goals.head.path.1.1: "Leap: head path [1][1]".
    """
    if spec is not None and spec.title:
        return spec.title
    parts = split_path(path)
    # the first part is the kind of table, which the name makes clear
    if len(parts) > 2 or parts[0] == "control":
        kind, *parts = parts
        if kind == "steps" and len(parts) > 1:
            parts = [f"{parts[0]}:", *(p for p in parts[1:] if p not in ("goals", "tune", "when"))]
    text = " ".join(f"[{p}]" if p.isdigit() else p.replace("_", " ") for p in parts).replace("] [", "][")
    return text[:1].upper() + text[1:]


# a whole part in quotes
_QUOTED = r"""(?:"([^"]*)"|'([^']*)')(?=\.|$)"""


def split_path(path: str) -> list[str]:
    """Parts of a dotted path; a quoted part may contain dots: knobs."props.box.mass".title."""
    parts = re.findall(rf"(?:^|\.)(?:{_QUOTED}|([^.]*))", path)
    return [one or two or three for one, two, three in parts]


def is_unclosed(path: str) -> bool:
    """Whether a quote in a dotted path has no partner. Inside a part, an apostrophe is a letter."""
    rest = re.sub(rf"(?:^|(?<=\.)){_QUOTED}", "", path)
    return rest.count('"') % 2 == 1 or any(part.startswith("'") or part.endswith("'") for part in rest.split("."))
