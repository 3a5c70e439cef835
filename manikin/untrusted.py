"""What a recording from elsewhere must satisfy before anything is done with it: its model's text, its arrays, its meta.

Whatever passes can be replayed or refused in one line, and be saved in every format.
"""

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np

# elements that make MuJoCo read other files or load code; whatever the case, so that a laxer reader is no surprise
_READS = ("include", "extension", "plugin", "attach")
# steps of an hour, the longest run that a scene may have, at the smallest time step, twice
MOST_STEPS = 72_000_000
# no length, force or state of a believable recording is larger, in SI units
LARGEST = 1e12
# frames per second
_FPS = (1e-3, 1000.0)
# columns of a fact, and what it may take of them (docs/scenes.md)
_TAKES = ("max", "min", "last")


def outside(mjcf: str) -> str:
    """What in a model's text would make MuJoCo's compiler read other files or load plugins; "" if there is nothing."""
    # other readers may treat declarations differently, and see elements that this one does not
    if re.search(r"<!(?!--)", mjcf):
        return "it has a document type or other declarations"
    try:
        root = ElementTree.fromstring(mjcf)
    except (ElementTree.ParseError, ValueError) as error:
        return f"it is not XML ({error})"
    if root.tag != "mujoco":
        return f"it is a <{root.tag[:40]}>, not a <mujoco>"
    for element in root.iter():
        tag = _local(element.tag)
        if tag in _READS:
            return f"it has <{element.tag[:40]}>"
        for name, value in element.attrib.items():
            # file, fileright, meshdir, texturedir, assetdir; `dir` alone is a light's direction
            word = _local(name)
            if "file" in word or word == "plugin" or (word.endswith("dir") and word != "dir"):
                return f'<{element.tag[:40]} {name[:40]}="{value[:80]}"> names a file'
    return ""


def _local(name: str) -> str:
    """A name without its namespace or prefix, in lower case."""
    return name.rpartition("}")[2].rpartition(":")[2].lower()


# --- meta


def wrong_meta(meta: Any) -> str:
    """What is wrong with a recording's meta; "" if nothing is."""
    if not isinstance(meta, dict):
        return "meta is not a JSON object"
    try:
        json.dumps(meta, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "meta holds characters that do not exist"
    for key, (what, fits) in _META.items():
        if key not in meta:
            if key in _NEEDED:
                return f"meta has no '{key}'"
        elif not fits(meta[key]):
            return f"meta's '{key}' is {json.dumps(meta[key])[:60]}: {what} is expected"
    return _wrong_scene(meta["scene"])


def _number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _tables(value: Any, **needed: Callable[[Any], bool]) -> bool:
    """A list of tables with these keys in each."""
    return isinstance(value, list) and all(
        isinstance(v, dict) and all(key in v and fits(v[key]) for key, fits in needed.items()) for v in value
    )


def _text(value: Any) -> bool:
    return isinstance(value, str)


# key: what is expected, and whether a value is that
_META: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("text", _text),
    "scene": ("the text of a scene file", _text),
    "seed": ("a whole number", _whole),
    "fps": ("a number from 0.001 to 1000", lambda v: _number(v, *_FPS)),
    "timestep": ("a number of seconds from 1e-6 to 1", lambda v: _number(v, 1e-6, 1.0)),
    "characters": ("a table of lists of bodies", lambda v: isinstance(v, dict) and all(x and _texts(x) for x in v.values())),
    "feet": ("a list of names", _texts),
    "props": ("a list of names", _texts),
    "events": ("a list of tables with name, time and step", lambda v: _tables(v, name=_text, time=_number, step=_whole)),
    "changes": ("a list of tables with step, field, index and value", lambda v: _tables(v, step=_whole, field=_text)),
    "inputs": ("a list of tables with step and kind", lambda v: _tables(v, step=_whole, kind=_text)),
    "ok": ("true or false", lambda v: isinstance(v, bool)),
    "reason": ("text", lambda v: v is None or isinstance(v, str)),
    "facts": ("a table", lambda v: isinstance(v, dict)),
}  # fmt: skip
_NEEDED = ("name", "scene", "seed", "fps", "timestep", "events")


def _wrong_scene(text: str) -> str:
    """The scene's facts are read again for the report; the rest is text."""
    facts = scene_table(text)
    if facts is None:
        return "meta's 'scene' is not TOML"
    facts = facts.get("facts", {})
    if not isinstance(facts, dict) or not all(map(_fact, facts.values())):
        return "the facts of meta's 'scene' are not those of a scene"
    return ""


def scene_table(text: str) -> dict[str, Any] | None:
    """A TOML text as a table; None for what is not TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, OverflowError, RecursionError):
        return None


def _fact(spec: Any) -> bool:
    if not isinstance(spec, dict):
        return False
    if "task" in spec:
        return isinstance(spec["task"], str) and spec.get("take", "max") in _TAKES
    return isinstance(spec.get("since"), str) and isinstance(spec.get("until"), str)


# --- arrays


def wrong_arrays(arrays: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]], columns: tuple[str, ...]) -> str:
    """What is wrong with a recording's arrays, whatever its model is; "" if nothing is. columns: those of each task."""
    for name, array in arrays.items():
        if array.dtype.kind not in "fiu":
            return f"{name} holds no numbers"
        if array.dtype.kind == "f" and name in ("step", "key_step"):
            return f"{name} holds no whole numbers"
        if not np.isfinite(array).all():
            return f"{name} holds numbers that are not finite"
        if array.size and float(np.abs(array).max()) > LARGEST:
            return f"{name} holds numbers above {LARGEST:g}"
    frames, steps = arrays["time"].shape, arrays["ctrl"].shape
    if len(frames) != 1 or not frames[0]:
        return "it has no frames"
    count = frames[0]
    dims = {"initial": 1, "key_step": 1, "key_state": 2, "step": 1, "qpos": 2, "qvel": 2, "contact_force": 3, "ctrl": 2,
            "xfrc": 2, "eq": 2}  # fmt: skip
    for name, dim in dims.items():
        if arrays[name].ndim != dim:
            return f"{name} has {arrays[name].ndim} dimensions, not {dim}"
    for name in ("step", "qpos", "qvel", "contact_force"):
        if len(arrays[name]) != count:
            return f"{name} has {len(arrays[name])} frames, time has {count}"
    if len(arrays["key_step"]) != len(arrays["key_state"]):
        return "key_step and key_state differ in length"
    if steps[0] > MOST_STEPS:
        return f"it has {steps[0]} steps, at most {MOST_STEPS} are expected"
    when = arrays["step"]
    if int(when[0]) < 0 or int(when[-1]) > steps[0] or not (when[1:] > when[:-1]).all():
        return f"step must increase from 0 to at most the number of steps ({steps[0]})"
    for task, held in tasks.items():
        for column in columns:
            if column not in held:
                return f"task '{task[:40]}' has no {column}"
        for column, array in held.items():
            if array.dtype.kind not in "fiu" or array.shape != frames:
                return f"{column[:40]} of task '{task[:40]}' is not one number per frame"
    return ""


def wrong_times(time: Any, step: Any, timestep: float) -> str:
    """Frames come at whole steps."""
    gap = np.abs(time - step * timestep)
    if not (gap <= timestep * (1 + 1e-6 * np.abs(step))).all():
        worst = int(gap.argmax())
        return f"frame {worst} is at {time[worst]:.6g} s, but its step is {step[worst]} of {timestep:g} s"
    return "" if (time[1:] > time[:-1]).all() else "time does not increase"


def wrong_model(model: Any) -> str:
    """Numbers of a compiled model that cannot be drawn or exported; "" if there are none. The compiler lets NaN pass."""
    for name in (
        "body_pos",
        "body_quat",
        "body_mass",
        "geom_size",
        "geom_pos",
        "geom_quat",
        "mesh_vert",
        "skin_vert",
        "qpos0",
        "site_pos",
    ):
        array = getattr(model, name)
        if array.size and not float(np.abs(array).max()) <= LARGEST:
            return f"{name} holds numbers that are not finite, or above {LARGEST:g}"
    for name in ("geom_rgba", "mat_rgba", "skin_rgba", "site_rgba"):
        array = getattr(model, name)
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            return f"{name} holds numbers that are not from 0 to 1"
    return ""
