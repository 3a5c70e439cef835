"""The base of all tables of a scene file, and the types of their values."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Speed = Annotated[float, Field(ge=-1000, le=1000)]  # [m/s], along one axis
Share = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Vector = tuple[Finite, Finite, Finite]
Face = Literal["front", "back", "left", "right", "top", "bottom"]  # of a prop: +x, -x, +y, -y, +z, -z


class Table(BaseModel):
    """Base of all tables: frozen, no unknown keys, text is never converted to numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _frozen_arrays(cls, value: Any) -> Any:
        return _tuples(value)


def _tuples(value: Any) -> Any:
    """TOML arrays as tuples, recursively."""
    if isinstance(value, dict):
        return {k: _tuples(v) for k, v in value.items()}
    return tuple(_tuples(v) for v in value) if isinstance(value, list | tuple) else value


class FacesSpec(Table):
    """The place of a prop in world axes [m]: for each axis, where its middle is (x, y, z) or where one of its faces is.

    An axis that is not named is 0.
    """

    x: Finite | None = None
    front: Finite | None = None
    back: Finite | None = None
    y: Finite | None = None
    left: Finite | None = None
    right: Finite | None = None
    z: Finite | None = None
    top: Finite | None = None
    bottom: Finite | None = None

    @model_validator(mode="after")
    def _one_for_each_axis(self) -> "FacesSpec":
        if not self.model_fields_set:
            raise ValueError("needs one or more of x, front, back, y, left, right, z, top, bottom")
        for keys in (("x", "front", "back"), ("y", "left", "right"), ("z", "top", "bottom")):
            given = [k for k in keys if getattr(self, k) is not None]
            if len(given) > 1:
                raise ValueError(f"{given[0]} and {given[1]} exclude each other: give one of {', '.join(keys)}")
        return self
