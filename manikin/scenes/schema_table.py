"""What all tables of a scene file have in common."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

Vector = tuple[float, float, float]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Speed = Annotated[float, Field(ge=-1000, le=1000)]  # [m/s], along one axis
Share = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Table(BaseModel):
    """Base of all tables: frozen, no unknown keys, no silent conversions of text to numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _frozen_arrays(cls, value: Any) -> Any:
        return _tuples(value)


def _tuples(value: Any) -> Any:
    """TOML arrays as tuples, all the way down."""
    if isinstance(value, dict):
        return {k: _tuples(v) for k, v in value.items()}
    return tuple(_tuples(v) for v in value) if isinstance(value, list | tuple) else value
