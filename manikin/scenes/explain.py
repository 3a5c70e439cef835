"""What is wrong with a table of a scene file, in one clear line."""

import math
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from manikin.errors import did_you_mean


def explain(error: ValidationError, root: type[BaseModel]) -> str:
    """The first problem of a validation as: key path, what was given, what is allowed."""
    problems = error.errors()
    # branches of a union that were not meant also complain: the deepest complaint is the telling one
    # (and a table was never meant as a word)
    first = max(
        problems,
        key=lambda p: (
            p["type"] == "extra_forbidden",
            len(p["loc"]),
            p["type"] != "literal_error" or not isinstance(p["input"], dict),
        ),
    )
    path = [
        p for p in first["loc"] if not (isinstance(p, str) and p.startswith(("literal[", "tuple[", "WhenSpec", "function-")))
    ]
    where = ".".join(str(p) for p in path) or "scene"
    if first["type"] == "extra_forbidden":
        return f"{where}: unknown key{did_you_mean(str(path[-1]), _keys_at(root, path[:-1]))}"
    if first["type"] == "missing":
        return f"{where}: is missing"
    message = first["msg"].removeprefix("Value error, ")
    given = first["input"]
    if first["type"] == "value_error":
        return f"{where}: {message}" if path else message
    if isinstance(given, dict | list):
        return f"{where}: {message}"
    hint = ""
    if first["type"] == "literal_error" and isinstance(given, str):
        hint = did_you_mean(given, [a.strip(" '") for a in first["ctx"]["expected"].replace(" or ", ", ").split(",")])
        message = "not one of the allowed values"
    return f"{where}: given {_show(given)}: {message[0].lower()}{message[1:]}{hint}"


def _show(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return repr(value)


def _keys_at(root: type[BaseModel], path: list[Any]) -> list[str]:
    """Keys that the schema allows at a path."""
    here: Any = root
    for part in path:
        here = _inside(here, part)
        if here is None:
            return []
    return list(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else []


def _inside(kind: Any, part: Any) -> Any:
    """The type one step down a path."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return _table(field.annotation) if field else None
    if get_origin(kind) in (dict, tuple):
        inner = [a for a in get_args(kind) if a is not Ellipsis]
        return _table(inner[-1]) if inner else None
    return None


def _table(kind: Any) -> Any:
    """The table (or container of tables) inside an optional or union type."""
    if get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            found = _table(option)
            if found is not None:
                return found
        return None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return kind if get_origin(kind) in (dict, tuple) else None
