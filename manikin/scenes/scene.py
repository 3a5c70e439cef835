"""Scene: the frozen description of a job, read from TOML and checked. Every key has a dotted path.

Angles are in degrees, the rest SI. Unknown keys are errors that name the nearest match.
"""

import itertools
import math
import tomllib
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from manikin.characters.body_plan import HEIGHT_RANGE, MASS_RANGE, joint_names
from manikin.errors import InputError, SceneError, did_you_mean

Vector = tuple[float, float, float]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
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


class CharacterSpec(Table):
    """Who acts."""

    model: Literal["human"] = "human"
    height: float = Field(default=1.75, ge=HEIGHT_RANGE[0], le=HEIGHT_RANGE[1])
    mass: float = Field(default=75.0, ge=MASS_RANGE[0], le=MASS_RANGE[1])
    sex: Literal["neutral", "female", "male"] = "neutral"
    feet: Literal["clamped", "contact"] = "clamped"
    at: tuple[Finite, Finite] = (0.0, 0.0)
    facing: Finite = 0.0
    clip: str = "stand"
    clip_fps: Annotated[float, Field(gt=0, le=10_000)] | None = None  # rate of a motion file [Hz], where it is wrong or silent
    skeleton: str | None = None  # the .asf of an .amc clip; default the one beside it
    locked: tuple[str, ...] = ()
    strength: float = Field(default=1.0, gt=0, le=10)

    @field_validator("locked")
    @classmethod
    def _known_joints(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for joint in value:
            if joint not in joint_names():
                raise ValueError(f"no joint is called '{joint}'{did_you_mean(joint, joint_names())}")
        return value


class GripSpec(Table):
    """How a hand holds a prop: it slips out above `force` [N]; `softness` [s] is how fast a difference of speed is taken up."""

    force: Positive | None = None
    softness: float = Field(default=0.0, ge=0, le=0.5)


class MeetSpec(Table):
    """Where and how to meet something that flies: in a plane ahead of the feet, moving along with it.

    plane: distance [m] ahead of the ankles. give: share of its velocity that the hand takes on within `seconds`, up to
    `most` [m/s].
    """

    prop: str
    plane: Positive = 0.42
    give: float = Field(default=0.35, ge=0, le=1)
    most: float = Field(default=2.2, ge=0, le=20)
    seconds: Positive = 0.12


class ThrowSpec(Table):
    """How to throw what is held: released at `release` (from the middle between the feet, x the way they point) with
    `velocity` [m/s], or so that it flies to `target` on the ground. The hand draws back by `draw` [m] in `windup` [s] first.
    """

    prop: str
    release: Vector
    velocity: Vector | None = None
    target: tuple[Finite, Finite] | None = None
    draw: Positive = 0.35
    windup: Positive = 0.6

    @model_validator(mode="after")
    def _one_aim(self) -> "ThrowSpec":
        if (self.velocity is None) == (self.target is None):
            raise ValueError("throw needs exactly one of velocity, target")
        return self


class PropSpec(Table):
    """A thing. size: box [x, y, z]; sphere [radius]; capsule and cylinder [radius, length]; chain [thickness / 2, length];
    pendulum [radius of its bob, length from the joint to the bob's middle].

    at: its middle, or the upper end of a chain or pendulum; what is joined to a hand at the start needs none.
    unknown: the controller does not know that it hangs on a hand.
    """

    shape: Literal["box", "sphere", "capsule", "cylinder", "chain", "pendulum"]
    size: tuple[Annotated[float, Field(gt=0, le=20)], ...]
    mass: float = Field(default=1.0, gt=0, le=10_000)
    friction: float = Field(default=0.8, ge=0, le=10)
    at: tuple[Finite, Finite, Finite] | None = None
    turn: tuple[Finite, Finite, Finite] = (0.0, 0.0, 0.0)
    fixed: bool = False
    velocity: Vector = (0.0, 0.0, 0.0)  # [m/s] at the start: thrown
    catchable: bool = False  # palms touch it
    grip: "GripSpec" = Field(default_factory=lambda: GripSpec())
    links: int | None = Field(default=None, ge=2, le=64)  # chain; 12 when not said
    damping: float | None = Field(default=None, ge=0, le=100)  # [N m s] of a chain's or pendulum's joints
    unknown: bool = False
    colour: tuple[float, float, float] | None = None

    @model_validator(mode="after")
    def _size_fits(self) -> "PropSpec":
        count = {"box": 3, "sphere": 1}.get(self.shape, 2)
        if len(self.size) != count:
            raise ValueError(f"a {self.shape} needs {count} numbers in size, {len(self.size)} were given")
        if self.links is not None and self.shape != "chain":
            raise ValueError(f"links are for a chain, not for a {self.shape}")
        if self.damping is not None and self.shape not in ("chain", "pendulum"):
            raise ValueError(f"damping is for a chain or a pendulum, not for a {self.shape}")
        if self.shape == "pendulum" and self.size[1] <= self.size[0]:
            raise ValueError("size: a pendulum must be longer than its bob's radius")
        return self


class GoalSpec(Table):
    """Where a task is headed.

    at: numbers of the measure, or one triple per point; measured in the frame of `of` (a prop, a body, or "feet") when given.
    carry: a held prop whose middle shall come to `at`; the hands keep their places on it.
    path: rows [time, numbers...] to be tracked. clip, frame: a pose of a clip, for posture.
    scale: lengths are meant for a stature of 1.75 m and scale with the character.
    meet: a flying prop: where a point shall meet it, or (for a direction) against its flight.
    throw: a held prop: the curve that its middle follows until it is released. along: a task that throws, for the direction
    of its throw.
    brace: {prop = share}: stand back beforehand by a share of what the prop's weight will add, for com.
    """

    at: tuple[Finite, ...] | tuple[Vector, ...] | None = None
    of: str | None = None
    carry: str | None = None
    path: tuple[tuple[Finite, ...], ...] | None = None
    clip: str | None = None
    frame: int = 0
    meet: MeetSpec | None = None
    throw: ThrowSpec | None = None
    along: str | None = None
    scale: bool = False
    brace: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default={}, max_length=1)

    @model_validator(mode="after")
    def _one_kind(self) -> "GoalSpec":
        kinds = [k for k in ("at", "path", "clip", "meet", "throw", "along") if getattr(self, k) is not None]
        if len(kinds) != 1:
            raise ValueError("a goal needs exactly one of at, path, clip, meet, throw, along")
        if (self.of or self.carry) and self.at is None:
            raise ValueError("of and carry go with at")
        if self.brace and self.of != "feet":
            raise ValueError('brace goes with of = "feet"')
        return self


class TaskSpec(Table):
    """What is measured times the law of what is wanted."""

    measure: Literal["point", "orientation", "com", "momentum", "posture", "look"]
    of: tuple[str, ...] | str | None = None
    axis: Vector | None = None  # orientation: only where this body axis points; look: the gaze axis
    axes: tuple[Literal["x", "y", "z"], ...] = ("x", "y")  # com
    carried: float = Field(default=1.0, ge=0, le=100)  # com: a held load counts up to this share of the character's mass
    law: Literal["stabilize", "track", "reach", "hold", "nearest"] = "stabilize"
    frequency: float = Field(default=1.0, gt=0, le=50)
    smoothing: float = Field(default=0.0, ge=0, le=10)
    reach: Positive | None = None  # metres, or degrees for turning measures
    seconds: Positive = 1.0  # law reach: how long it takes
    clip: str | None = None  # law nearest: another clip than the character's
    feed: bool = False  # law nearest: ask for the velocity and acceleration of the matched frames too
    goal: GoalSpec | None = None
    priority: int = Field(default=0, ge=0, le=99)
    weight: float = Field(default=1.0, gt=0, le=1000)
    max_force: Positive | None = None
    active: bool = True
    character: str | None = None  # which one, when there are several

    @field_validator("goal", mode="before")
    @classmethod
    def _plain_goal(cls, value: Any) -> Any:
        return {"at": value} if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _fits(self) -> "TaskSpec":
        if self.law == "nearest" and self.measure != "posture":
            raise ValueError("law 'nearest' is for measure 'posture'")
        if self.feed and self.law != "nearest":
            raise ValueError("feed is for law 'nearest'")
        if self.measure in ("point", "orientation") and not self.of:
            raise ValueError(f"measure '{self.measure}' needs of = sites or bodies")
        if self.max_force is not None and self.measure not in ("point", "com"):
            raise ValueError("max_force [N] is for measures 'point' and 'com'")
        return self


class WhenSpec(Table):
    """All that is given must hold.

    after: seconds since the last step began. task, within: a task within a distance of its goal. touch: {hand = prop}: the
    palm touches the prop. arriving: {prop, plane}, seconds: a flying prop is that near to a plane. thrown: a task whose goal
    is a throw has come to the release. landed: a prop touches the ground.
    """

    after: float = Field(default=0.0, ge=0)
    task: str | None = None
    within: Positive | None = None
    touch: dict[str, str] = {}
    arriving: MeetSpec | None = None
    seconds: Positive | None = None
    thrown: str | None = None
    landed: str | None = None

    @model_validator(mode="after")
    def _pair(self) -> "WhenSpec":
        if (self.task is None) != (self.within is None):
            raise ValueError("task and within go together")
        if (self.arriving is None) != (self.seconds is None):
            raise ValueError("arriving and seconds go together")
        return self


class TuneSpec(Table):
    """New settings for a task's law: frequency [Hz], smoothing [s], reach [m or deg], and its max_force [N]."""

    frequency: float | None = Field(default=None, gt=0, le=50)
    smoothing: float | None = Field(default=None, ge=0, le=10)
    reach: Positive | None = None
    max_force: Positive | None = None


class StepSpec(Table):
    """One step of the script: when it begins, and what it changes.

    goals: new goals of tasks (which switches them on). tune: new settings of their laws. grasp: {hand = prop}.
    timeout: if the NEXT step has not begun after so many seconds, the job has failed and the script jumps to `otherwise`.
    """

    name: str
    when: Literal["start"] | WhenSpec = WhenSpec()
    goals: dict[str, GoalSpec] = {}
    tune: dict[str, TuneSpec] = {}
    grasp: dict[str, str] = {}
    release: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    timeout: Positive | None = None
    otherwise: str | None = None
    fallback: bool = False
    end: bool = False

    @field_validator("goals", mode="before")
    @classmethod
    def _plain_goals(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: {"at": v} if isinstance(v, list | tuple) else v for k, v in value.items()}
        return value


class TugSpec(Table):
    """A scripted mouse: a force [N], world axes, that pulls at a point `at` of a body (in its frame) along a path of time.

    path: rows [time, fx, fy, fz], joined by a smooth curve; no force before the first and after the last row.
    """

    body: str
    at: Vector = (0.0, 0.0, 0.0)
    path: tuple[tuple[Finite, Finite, Finite, Finite], ...]

    @model_validator(mode="after")
    def _times_increase(self) -> "TugSpec":
        times = [row[0] for row in self.path]
        if len(times) < 2 or any(b <= a for a, b in itertools.pairwise(times)):
            raise ValueError("path needs two or more rows [time, fx, fy, fz], times increasing")
        return self


class FactSpec(Table):
    """A number for the report: seconds between two steps, or the max, min or last of a task's column."""

    since: str | None = None
    until: str | None = None
    task: str | None = None
    column: Literal["error", "force"] = "force"
    take: Literal["max", "min", "last"] = "max"

    @model_validator(mode="after")
    def _one_kind(self) -> "FactSpec":
        if (self.task is None) == (self.since is None) or (self.since is None) != (self.until is None):
            raise ValueError("a fact needs since and until (steps), or task")
        return self


class CameraSpec(Table):
    """Where renders look from: azimuth from the character's front, elevation [deg], distance and point looked at [m]."""

    azimuth: Finite = 38.0
    elevation: Finite = -9.0
    distance: Positive = 3.9
    at: tuple[Finite, Finite, Finite] = (0.25, 0.0, 0.85)


class ControlSpec(Table):
    """How the controller works: updates per second, softness at singularities, joint limits, compensation."""

    rate: float = Field(default=500.0, ge=10, le=2000)
    soft: float = Field(default=0.02, gt=0, lt=1)
    joint_limits: bool = True
    compensate: bool = True


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
    controller: Literal["prioritized"] = "prioritized"
    control: ControlSpec = ControlSpec()
    camera: CameraSpec = CameraSpec()
    character: CharacterSpec | None = None
    characters: dict[str, CharacterSpec] = {}
    props: dict[str, PropSpec] = {}
    joined: dict[str, str] = {}  # {hand = body of a prop}: joined by a ball joint from the start
    tasks: dict[str, TaskSpec] = {}
    tugs: dict[str, TugSpec] = {}
    steps: tuple[StepSpec, ...] = ()
    facts: dict[str, FactSpec] = {}
    knobs: dict[str, tuple[float, float, str]] = {}

    @model_validator(mode="after")
    def _someone(self) -> "Scene":
        if (self.character is None) == (not self.characters):
            raise ValueError("a scene needs [character], or [characters.<name>] for several")
        return self

    @model_validator(mode="after")
    def _everything_has_its_place(self) -> "Scene":
        for name, prop in self.props.items():
            if prop.at is None and not self.joints_of(name):
                raise ValueError(f"props.{name}.at: is missing (only what is joined to a hand needs none)")
        return self

    def joints_of(self, prop: str) -> dict[str, int]:
        """Hands that a prop is joined to from the start, and at which of its links (0 for the first, or only, body)."""
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
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SceneError(f"{path}: no such file") from None
    except OSError as error:
        raise SceneError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError:
        raise SceneError(f"{path}: not a text file") from None
    except tomllib.TOMLDecodeError as error:
        raise SceneError(f"{path}: not TOML: {error}") from None
    return parse_scene(raw, path.name, changes)


def parse_scene(raw: dict[str, Any], where: str, changes: dict[str, Any] | None = None) -> Scene:
    """Check a raw table. `where` names the file in error messages."""
    for key, value in (changes or {}).items():
        _set(raw, key, value)
    try:
        return Scene.model_validate(raw)
    except ValidationError as error:
        raise SceneError(f"{where}: {_explain(error)}") from None


def parse_change(text: str) -> tuple[str, Any]:
    """'props.box.mass=15' -> ('props.box.mass', 15): the value is TOML, or plain text where that does not parse."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise InputError(f"--set {text}: must look like path=value, for example props.box.mass=15")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _set(raw: dict[str, Any], key: str, value: Any) -> None:
    """Put a value at a dotted path, making tables on the way; whether the path is allowed is checked with the rest."""
    *path, last = key.split(".")
    here: Any = raw
    for part in path:
        if isinstance(here, list):
            here = _item(here, part, key)
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


def _item(items: list[Any], part: str, key: str) -> Any:
    return items[_index(items, part, key)]


# --- one clear line


def _explain(error: ValidationError) -> str:
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
        return f"{where}: unknown key{did_you_mean(str(path[-1]), _keys_at(path[:-1]))}"
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


def _keys_at(path: list[Any]) -> list[str]:
    """Keys that the schema allows at a path."""
    here: Any = Scene
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
