"""What is wrong with a table of a scene file, in one clear line."""

import json
import math
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from manikin.errors import did_you_mean

# types of Python in the words of a scene file
TABLE, LIST = "must be a table { key = value }", "must be a list [...]"
# messages show at most this many characters of a value
LONGEST = 80
KINDS = {"dict_type": TABLE, "model_type": TABLE, "model_attributes_type": TABLE, "tuple_type": LIST}


def explain(error: ValidationError, root: type[BaseModel]) -> str:
    """The first problem of a validation as: key path, what was given, what is allowed."""
    problems: list[Any] = error.errors()
    # all branches of a union report problems: the deepest belongs to the branch that was meant
    # (and a table is never meant as a word or a list)
    first = max(
        problems,
        key=lambda p: (
            p["type"] == "extra_forbidden",
            len(p["loc"]),
            p["type"] not in ("literal_error", "tuple_type") or not isinstance(p["input"], dict),
        ),
    )
    path = _path(first)
    where = ".".join(str(p) for p in path) or "scene"
    if first["type"] == "extra_forbidden":
        return f"{where}: unknown key{did_you_mean(str(path[-1]), _keys_at(root, path[:-1]))}"
    if first["type"] == "missing":
        return f"{where}: is missing"
    if first["type"] == "value_error":
        message = first["msg"].removeprefix("Value error, ")
        return f"{where}: {message}" if path else message
    here = {p["type"] for p in problems if _path(p) == path}
    return f"{where}: given {_show(first['input'])}: {_allowed(first, here)}"


def _path(problem: Any) -> list[Any]:
    """Keys that lead to a problem, without the branches of unions."""
    names = ("literal[", "tuple[", "WhenSpec", "FacesSpec", "function-")
    return [p for p in problem["loc"] if not (isinstance(p, str) and p.startswith(names))]


def _allowed(problem: Any, here: set[str]) -> str:
    """What is allowed at that place. here: the types of all problems there."""
    kind, given, limits = problem["type"], problem["input"], problem.get("ctx", {})
    if kind == "literal_error":
        if "model_type" in here and not isinstance(given, str):
            return f"must be {limits['expected']}, or a table {{ key = value }}"
        words = [a.strip(" '") for a in limits["expected"].replace(" or ", ", ").split(",")]
        return f"not one of the allowed values{did_you_mean(str(given), words)}"
    if kind == "too_long":
        return f"must have at most {limits['max_length']}, not {len(given)}"
    if kind == "too_short":
        return "must not be empty" if limits["min_length"] == 1 else f"must have at least {limits['min_length']}"
    message = str(problem["msg"])
    return KINDS.get(kind) or message[0].lower() + message[1:]


def _show(value: Any) -> str:
    """A value as the file has it, shortened when it is long."""
    if isinstance(value, int) and abs(value) >= 10**LONGEST:
        return f"a whole number of more than {LONGEST} digits"
    text = _text(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def _text(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_show(v) for v in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k} = {_show(v)}' for k, v in value.items())}}}"
    return json.dumps(value) if isinstance(value, bool) else repr(value)


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
        found = [table for option in get_args(kind) if (table := _table(option)) is not None]
        # tables before lists: only they have keys
        return next((t for t in found if isinstance(t, type)), found[0] if found else None)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return kind if get_origin(kind) in (dict, tuple) else None
