"""Messages as text: JSON, checked strictly when it arrives."""

import dataclasses
import json
import math
import types
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from manikin.errors import InputError, did_you_mean
from manikin.studio.messages.client import CLIENT, SPEEDS, Assist, Branch, ClientMessage, Drag, FanTake, Seek, Speed, Step
from manikin.studio.messages.creatures import KeyAdd, Rank
from manikin.studio.messages.server import ServerMessage

# the longest accepted text message [bytes], the longest name and list, the largest number [m, N, kg]
MAX_TEXT = 1_000_000
MAX_NAME = 200
MAX_MANY = 200
MAX_NUMBER = 1e6


class MessageError(InputError):
    """A message that cannot be understood."""


def parse(text: str | bytes) -> ClientMessage:
    """Parse a message from the page; anything else raises MessageError, in one line."""
    if len(text) > MAX_TEXT:
        raise MessageError(f"a message of {len(text)} bytes: at most {MAX_TEXT} are read")
    try:
        raw = _decoded(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise MessageError("not JSON: nested too deeply") from None
    except ValueError as error:
        raise MessageError(f"not JSON: {str(error)[:120]}") from None
    if not isinstance(raw, dict):
        raise MessageError("a message is a JSON object with a 'kind'")
    kind = raw.pop("kind", None)
    if not isinstance(kind, str):
        raise MessageError("kind: is missing, or not text")
    if kind not in CLIENT:
        raise MessageError(f"kind: given '{kind[:MAX_NAME]}'{did_you_mean(kind[:MAX_NAME], CLIENT)}")
    message = _read(CLIENT[kind], raw, kind)
    if kind in _RULES:
        _check(message)
    return message


def _decoded(text: str) -> Any:
    """Decode JSON. Most texts are an object without surrounding blanks, so none are searched for."""
    if text[:1] == "{":
        raw, end = _DECODER.raw_decode(text)
        if end == len(text):
            return raw
    return _DECODER.decode(text)


def kind_of(text: str | bytes) -> str:
    """The kind that a refused message claims to have, for the answer; "" if it has none."""
    try:
        raw = json.loads(text) if len(text) <= MAX_TEXT else None
    except (ValueError, RecursionError):
        return ""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    return kind if isinstance(kind, str) and kind in CLIENT else ""


def dump(message: ServerMessage | ClientMessage) -> str:
    """A message as text. Non-finite numbers are refused."""
    return _ENCODER.encode({"kind": message.kind, **vars(message)})


def _plain(value: Any) -> dict[str, Any]:
    """Encode a part of a message; tuples and numbers need no help."""
    if not dataclasses.is_dataclass(value):
        raise TypeError(f"a message cannot hold a {type(value).__name__}")
    return vars(value)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


# made once: a fast mouse sends a hundred messages per second
_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain)


_RULES = frozenset(c.kind for c in (Assist, Branch, Drag, FanTake, KeyAdd, Rank, Seek, Speed, Step))


def _check(message: Any) -> None:
    """Checks beyond types. Drags come first, because there are a hundred per second."""
    if isinstance(message, Drag):
        if message.turn is not None and not 0.5 < math.hypot(*message.turn) < 2:
            raise MessageError("drag.turn: a quaternion must have length 1")
        return
    if isinstance(message, Speed) and message.factor not in SPEEDS:
        raise MessageError(f"speed.factor: given {message.factor:g} (allowed: {', '.join(f'{s:g}' for s in SPEEDS)})")
    if isinstance(message, Step) and not 1 <= message.steps <= 1000:
        raise MessageError(f"step.steps: given {message.steps} (allowed: 1 to 1000)")
    if isinstance(message, FanTake) and not 0 <= message.choice <= 4:
        raise MessageError(f"fan_take.choice: given {message.choice} (allowed: 0 to 4)")
    if isinstance(message, Assist) and not 0 <= message.newtons <= 10_000:
        raise MessageError(f"assist.newtons: given {message.newtons:g} (allowed: 0 to 10000)")
    if isinstance(message, Rank) and not 0 <= message.priority <= 99:
        raise MessageError(f"rank.priority: given {message.priority} (allowed: 0 to 99)")
    if isinstance(message, KeyAdd) and not 0.01 <= message.time <= 60:
        raise MessageError(f"key_add.time: given {message.time:g} (allowed: 0.01 to 60 s)")
    if isinstance(message, Seek | Branch) and message.time < 0:
        raise MessageError(f"{message.kind}.time: given {message.time:g}: must not be negative")


def _read(cls: type, raw: dict[str, Any], where: str) -> Any:
    """A dataclass from a JSON object: no key too many, none missing, every type as declared."""
    readers, needed = _readers(cls, where)
    for name in raw:
        if name not in readers:
            raise MessageError(f"{where}: no field is called '{name[:MAX_NAME]}'{did_you_mean(name[:MAX_NAME], readers)}")
    for name in needed:
        if name not in raw:
            raise MessageError(f"{where}.{name}: is missing")
    for name, value in raw.items():
        raw[name] = readers[name](value)
    return cls(**raw)


Reader = Callable[[Any], Any]


@cache
def _readers(cls: type, where: str) -> tuple[dict[str, Reader], tuple[str, ...]]:
    """The reader of each field of a message, and the names of required fields: looked up once."""
    hints, fields = get_type_hints(cls), dataclasses.fields(cls)
    needed = tuple(f.name for f in fields if f.default is dataclasses.MISSING)
    return {f.name: _reader(hints[f.name], f"{where}.{f.name}") for f in fields}, needed


def _reader(hint: Any, where: str) -> Reader:
    """Check one value against its declaration, and return it."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = _reader(next(p for p in parts if p is not type(None)), where)
        return lambda value: None if value is None else inner(value)
    if origin is Literal:
        return partial(_one_of, parts, where)
    if origin is tuple and parts[-1] is Ellipsis:
        return partial(_many, _reader(parts[0], where), where)
    if origin is tuple and set(parts) == {float}:
        return partial(_floats, len(parts), where)
    if origin is tuple:
        return partial(_several, tuple(_reader(p, f"{where}.{k}") for k, p in enumerate(parts)), where)
    return partial({float: _float, int: _int, bool: _bool, str: _str}[hint], where)


def _one_of(choices: tuple[str, ...], where: str, value: Any) -> str:
    if not isinstance(value, str) or value not in choices:
        raise MessageError(f"{where}: given {json.dumps(value)[:MAX_NAME]}{did_you_mean(str(value)[:MAX_NAME], choices)}")
    return value


def _several(readers: tuple[Reader, ...], where: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) != len(readers):
        raise MessageError(f"{where}: must be {len(readers)} numbers")
    return tuple([read(v) for read, v in zip(readers, value)])


def _floats(count: int, where: str, value: Any) -> tuple[float, ...]:
    if type(value) is list and len(value) == count:
        for v in value:
            if type(v) is not float or not -MAX_NUMBER <= v <= MAX_NUMBER:
                break
        else:
            return tuple(value)
    # the slow path: number by number, so that the error says where
    return _several(tuple(partial(_float, f"{where}.{k}") for k in range(count)), where, value)


def _many(read: Reader, where: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) > MAX_MANY:
        raise MessageError(f"{where}: must be a list of at most {MAX_MANY}")
    return tuple([read(v) for v in value])


def _float(where: str, value: Any) -> float:
    if type(value) is float and abs(value) <= MAX_NUMBER:
        return value
    # JSON integers may be too long for a float
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:
        raise MessageError(f"{where}: must be a number from -{MAX_NUMBER:g} to {MAX_NUMBER:g}")
    return float(value)


def _int(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_NUMBER:
        raise MessageError(f"{where}: must be a whole number from -{MAX_NUMBER:g} to {MAX_NUMBER:g}")
    return value


def _bool(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise MessageError(f"{where}: must be true or false")
    return value


def _str(where: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise MessageError(f"{where}: must be text of at most {MAX_NAME} characters")
    return value
