"""Scene: the frozen description of a job, read from TOML and checked. Every key has a dotted path.

Angles are in degrees, the rest SI. Unknown keys are errors that name the nearest match. Its tables are in `schema_world`
(characters and props), `schema_tasks` (tasks, steps, facts) and `schema_knobs`.
"""

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from manikin.characters.catalog import TIMESTEP
from manikin.errors import InputError, SceneError, did_you_mean
from manikin.scenes.explain import explain
from manikin.scenes.schema_knobs import KnobSpec, is_unclosed, split_path
from manikin.scenes.schema_table import Finite, Table
from manikin.scenes.schema_tasks import FactSpec, StepSpec, TaskSpec
from manikin.scenes.schema_world import CameraSpec, CharacterSpec, PropSpec, TugSpec

# tables whose entries have names of their own
NAMED = ("characters", "props", "tasks", "tugs", "facts")
# all other models are soft
RIGID = ("human", "lamp")


class ControlSpec(Table):
    """How the controller works: updates per second, softness at singularities, joint limits, compensation."""

    rate: float = Field(default=500.0, ge=10, le=2000)
    soft: float | None = Field(default=None, gt=0, lt=1)  # each controller has its own default
    max_acceleration: float | None = Field(default=None, gt=0, le=1000)  # prioritized
    joint_limits: bool = True
    compensate: bool = True
    formulation: Literal["acceleration", "velocity", "torque"] = "acceleration"  # direct: what is minimized
    contact_joints: bool = True  # direct: whether bones in contact are tied to the ground while control is computed
    compliant: bool = True  # direct: whether pushes are unexpected


class Scene(Table):
    """A whole scene."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]+$")
    title: str = ""
    document: str = ""
    description: str = ""
    group: str = ""
    seconds: float = Field(default=5.0, gt=0, le=3600)
    seed: int = Field(default=0, ge=0)
    timestep: float = Field(default=0.002, ge=0.0001, le=0.01)
    fps: float = Field(default=60.0, ge=1, le=240)
    controller: Literal["prioritized", "direct"] = "prioritized"
    control: ControlSpec = ControlSpec()
    camera: CameraSpec = CameraSpec()
    character: CharacterSpec | None = None
    characters: dict[str, CharacterSpec] = {}
    props: dict[str, PropSpec] = {}
    joined: dict[str, str] = {}  # {hand = body of a prop}: connected by a ball joint from the start
    tasks: dict[str, TaskSpec] = {}
    tugs: dict[str, TugSpec] = {}
    steps: tuple[StepSpec, ...] = ()
    facts: dict[str, FactSpec] = {}
    knobs: dict[str, KnobSpec] = {}
    random: dict[str, tuple[Finite, Finite]] = {}  # path = [lowest, highest]: drawn with the seed when the scene is read
    _file: str = PrivateAttr(default="")

    def __eq__(self, other: object) -> bool:
        # the file it was read from does not count
        return isinstance(other, Scene) and dict(self) == dict(other)

    @property
    def where(self) -> str:
        """Its name in error messages: the file it was read from, or its own name."""
        return self._file or self.name

    @model_validator(mode="after")
    def _has_a_character(self) -> "Scene":
        if (self.character is None) == (not self.characters):
            raise ValueError("a scene needs [character], or [characters.<name>] for several")
        return self

    @model_validator(mode="after")
    def _controller_fits(self) -> "Scene":
        for spec in self.cast().values():
            if self.tasks and self.controller == "prioritized" and spec.model != "human":
                raise ValueError(f"controller: 'prioritized' drives the human; for a {spec.model} use 'direct'")
            if self.controller == "direct" and spec.model == "human":
                raise ValueError("controller: 'direct' is for lamp, worm, fish, starfish, donut; use 'prioritized' for a human")
        return self

    @model_validator(mode="after")
    def _soft_timestep(self) -> "Scene":
        for spec in self.cast().values():
            if spec.model not in RIGID and self.timestep > TIMESTEP:
                if "timestep" in self.model_fields_set:
                    raise ValueError(f"timestep: given {self.timestep:g}; a {spec.model} is soft: at most {TIMESTEP:g}")
                # not given: the largest that is stable for soft bodies
                self.__dict__["timestep"] = TIMESTEP
        return self

    @model_validator(mode="after")
    def _names_and_knobs(self) -> "Scene":
        for name in self.props:
            # names of props become names of bodies, nodes and columns, and parts of dotted paths
            if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
                raise ValueError(f"props: given '{name}': a name is made of letters, digits, _ and -")
        for path, knob in self.knobs.items():
            value = value_at(self, path, "knobs")
            if knob.choices is not None and not isinstance(value, str | None):
                raise ValueError(f"knobs.{path}: choices are for text, and there is none")
            if knob.range is not None and (isinstance(value, bool) or not isinstance(value, int | float | None)):
                raise ValueError(f"knobs.{path}: a range is for a number, and there is none; text needs choices = [...]")
        for path, (low, high) in self.random.items():
            value = value_at(self, path, "random")
            if not isinstance(value, float):
                raise ValueError(f"random.{path}: given {value!r}: only real-valued keys can be drawn")
            if not low < high:
                raise ValueError(f"random.{path}: given {low:g}, {high:g}: the second must be greater than the first")
        return self

    @model_validator(mode="after")
    def _props_are_placed(self) -> "Scene":
        for name, prop in self.props.items():
            if prop.at is None and not self.joints_of(name):
                for hand, body in self.joined.items():
                    if not any(hand in self.joints_of(p) for p in self.props):
                        raise ValueError(f"joined.{hand}: no prop is called '{body}'{did_you_mean(body, self.props)}")
                raise ValueError(f"props.{name}.at: is missing (only props joined to a hand need none)")
        return self

    def joints_of(self, prop: str) -> dict[str, int]:
        """Hands that a prop is joined to from the start, each with the number of the link (0 for the first or only body)."""
        out = {}
        for hand, body in self.joined.items():
            name, _, link = body.rpartition("_")
            if body == prop:
                out[hand] = 0
            elif name == prop and link.isdigit():
                out[hand] = int(link)
        return out

    def cast(self) -> dict[str, CharacterSpec]:
        """All characters by prefix: "" for a single one, "<name>/" otherwise."""
        if self.character is not None:
            return {"": self.character}
        return {f"{name}/": spec for name, spec in self.characters.items()}

    @property
    def drawn(self) -> dict[str, float]:
        """The values that were drawn at random, by path."""
        return {path: float(value_at(self, path, "random")) for path in self.random}


def value_at(scene: Scene, path: str, whose: str = "knobs") -> Any:
    """The value at a dotted path. whose: the table that holds the path, for error messages."""
    table: Any = scene
    for part in split_path(path):
        if isinstance(table, tuple):
            # entries are found by name or number
            inside = {str(getattr(item, "name", k)): item for k, item in enumerate(table)}
            inside |= {part: table[int(part)]} if part.isdigit() and int(part) < len(table) else {}
        else:
            inside = dict(table) if isinstance(table, Table | dict) else {}
        if part not in inside:
            raise ValueError(f"{whose}.{path}: no key is called '{part}'{did_you_mean(part, inside)}")
        table = inside[part]
    return table


# --- reading


def shipped() -> dict[str, Path]:
    """Scene files that ship with the package, by name."""
    folder = resources.files("manikin.scenes") / "files"
    return {
        f.name.removesuffix(".toml"): Path(str(f))
        for f in sorted(folder.iterdir(), key=lambda f: f.name)
        if f.name.endswith(".toml")
    }


def load_scene(source: str | Path, changes: dict[str, Any] | None = None) -> Scene:
    """Read a shipped scene by name, or a TOML file by path, with `changes` = {dotted path: value} applied."""
    path = Path(source)
    if str(source) in shipped():
        path = shipped()[str(source)]
    elif path.suffix != ".toml" and not path.exists():
        raise SceneError(f"no scene is called '{source}'{did_you_mean(str(source), shipped())}")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SceneError(f"{path}: no such file") from None
    except OSError as error:
        raise SceneError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        raise SceneError(f"{path}: not a text file") from None
    return parse_scene(_read_toml(text, str(path)), path.name, changes)


def parse_text(text: str, where: str) -> Scene:
    """A scene from TOML text, such as a recording holds."""
    return parse_scene(_read_toml(text, where), where)


def _read_toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SceneError(f"{where}: not TOML: brackets are nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise SceneError(f"{where}: not TOML: {error}") from None
    except ValueError:
        raise SceneError(f"{where}: not TOML: a number has thousands of digits") from None


def parse_scene(raw: dict[str, Any], where: str, changes: dict[str, Any] | None = None) -> Scene:
    """Check a raw table. `where` names the file in error messages."""
    changes, added = changes or {}, {}
    try:
        # a copy that can be edited: a dumped scene holds tuples
        raw = _lists(raw)
        added = _apply(raw, changes)
        scene = Scene.model_validate(raw)
        if "seed" in changes and not scene.random:
            raise SceneError(f"{where}: seed: given {scene.seed}: nothing in this scene is random (it has no [random] table)")
        if scene.random:
            scene = _draw(scene, raw)
    except ValidationError as error:
        raise SceneError(f"{where}: {_misspelt(error, added) or explain(error, Scene)}") from None
    except RecursionError:
        raise SceneError(f"{where}: brackets are nested too deep") from None
    scene._file = where
    return scene


def _lists(value: Any) -> Any:
    """A deep copy of a table with lists in place of tuples."""
    if isinstance(value, dict):
        return {k: _lists(v) for k, v in value.items()}
    return [_lists(v) for v in value] if isinstance(value, list | tuple) else value


def _apply(raw: dict[str, Any], changes: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Apply changes to a raw table. Returns the tables that they added: {(table, name): names that existed before}."""
    added = {}
    for key, value in changes.items():
        path = split_path(key)
        if is_unclosed(key):
            raise SceneError(f"{key}: a quote is not closed")
        table = raw.get(path[0])
        if len(path) > 2 and path[0] in NAMED and isinstance(table, dict) and path[1] not in table:
            added[path[0], path[1]] = list(table)
        if path[0] in ("knobs", "random") and len(path) > 2 and path[1] not in (table or {}):
            _refuse_path(key, path, table or {})
        _set(raw, key, value)
        # a value that is given is not drawn
        if isinstance(raw.get("random"), dict) and path[0] != "random":
            raw["random"].pop(key, None)
    return added


def _refuse_path(key: str, path: list[str], table: dict[str, Any]) -> None:
    """Refuse a change inside a knob (or a range of values) that the scene does not have, unless it makes a new one."""
    if "." in path[1]:
        # quoted; a misspelt path of a new knob is found later
        if path[0] == "random" or path[2] not in ("range", "choices"):
            raise SceneError(f"{key}: {path[0]} has no key '{path[1]}'{did_you_mean(path[1], table)}")
        return
    # as much as is a key already, or all but the last settings of a knob
    ends = [k for k in range(3, len(path) + 1) if ".".join(path[1:k]) in table]
    ends += [k for k in range(3, len(path)) if path[0] == "knobs" and path[k] in KnobSpec.model_fields]
    end = max(ends, default=len(path))
    quoted = ".".join([path[0], f'"{".".join(path[1:end])}"', *path[end:]])
    raise SceneError(f"{key}: keys of {path[0]} are paths, and need quotes (in a shell, single ones around all): {quoted}")


def _misspelt(error: ValidationError, added: dict[tuple[str, str], list[str]]) -> str:
    """The message when a misspelt name in a change added an incomplete table; "" otherwise."""
    for problem in error.errors():
        path = tuple(str(p) for p in problem["loc"][:2])
        if problem["type"] == "missing" and len(path) == 2:
            names = [n for n in added.get((path[0], path[1]), []) if (path[0], n) not in added]
            if names:
                missing = problem["loc"][-1]
                kind = path[0].removesuffix("s")
                hint = did_you_mean(path[1], names)
                return f"{'.'.join(path)}: no {kind} is called '{path[1]}', and a new one needs {missing}{hint}"
    return ""


def _draw(scene: Scene, raw: dict[str, Any]) -> Scene:
    """Draw the random values uniformly from their ranges. Each depends on the seed and its own path only."""

    def with_values(values: dict[str, float]) -> Scene:
        table = _lists(raw)
        for path, value in values.items():
            _set(table, path, value)
        return Scene.model_validate(table)

    for end in (0, 1):
        # both ends must be valid: otherwise an error would depend on the seed
        with_values({path: ends[end] for path, ends in scene.random.items()})
    drawn = {
        path: float(np.random.default_rng([scene.seed, *path.encode()]).uniform(*ends)) for path, ends in scene.random.items()
    }
    return with_values(drawn)


def parse_change(text: str) -> tuple[str, Any]:
    """'props.box.mass=15' -> ('props.box.mass', 15): the value is TOML, or plain text where that does not parse."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise InputError(f"--set {text}: must look like path=value, for example props.box.mass=15")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()
    except (ValueError, RecursionError):
        raise InputError(f"--set {key.strip()}: its value has too many digits or brackets") from None


def _set(raw: dict[str, Any], key: str, value: Any) -> None:
    """Set the value at a dotted path, creating missing tables; the schema checks later whether the path is allowed."""
    *path, last = split_path(key)
    here: Any = raw
    for part in path:
        if isinstance(here, list):
            here = here[_index(here, part, key)]
        elif isinstance(here, dict):
            here = here.setdefault(part, {})
        else:
            raise SceneError(f"{key}: '{part}' cannot be set inside a plain value")
    if isinstance(here, list):
        here[_index(here, last, key)] = value
    elif isinstance(here, dict):
        here[last] = value
    else:
        raise SceneError(f"{key}: '{last}' cannot be set inside a plain value")


def _index(items: list[Any], part: str, key: str) -> int:
    """A list entry by number, or by its name (steps.lift.timeout)."""
    names = [i.get("name") if isinstance(i, dict) else None for i in items]
    if part in names:
        return names.index(part)
    if part.isdigit() and int(part) < len(items):
        return int(part)
    raise SceneError(f"{key}: no entry '{part}'{did_you_mean(part, [str(n) for n in names if n])}")
