"""Messages between the studio's server and its page: each a frozen dataclass with a `kind`, checked strictly when it arrives.

The page's TypeScript types are generated from these classes (tools/make_studio_types.py). World axes, metres, newtons,
seconds; quaternions wxyz; `point` is in the frame of the body that is grabbed.
"""

import dataclasses
import json
import math
import struct
import types
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from manikin.errors import InputError, did_you_mean

PROTOCOL = 1
# the longest text message that is read [bytes], the longest name, and the largest number that means anything [m, N, kg]
MAX_TEXT = 1_000_000
MAX_NAME = 200
MAX_NUMBER = 1e6

Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Mode = Literal["task", "push", "spring", "goal", "com"]


class MessageError(InputError):
    """A message that cannot be understood."""


# --- from the page to the server


@dataclass(frozen=True)
class Open:
    """Open a scene by its shipped name, paused at its first moment."""

    kind: ClassVar[str] = "open"
    scene: str


@dataclass(frozen=True)
class Play:
    """Run on from the end of the take."""

    kind: ClassVar[str] = "play"


@dataclass(frozen=True)
class Pause:
    """Stand still."""

    kind: ClassVar[str] = "pause"


@dataclass(frozen=True)
class Step:
    """While paused: a number of physics steps."""

    kind: ClassVar[str] = "step"
    steps: int = 1


@dataclass(frozen=True)
class Reset:
    """Back to the first moment, as a new take; knobs stay where they are."""

    kind: ClassVar[str] = "reset"


@dataclass(frozen=True)
class Speed:
    """Simulated over real seconds: 1, 0.5, 0.25 or 0.125."""

    kind: ClassVar[str] = "speed"
    factor: float


@dataclass(frozen=True)
class Grab:
    """Take hold. task, push, spring: `target` is a body and `point` lies in its frame; goal: a marker; com: a handle."""

    kind: ClassVar[str] = "grab"
    target: str
    mode: Mode
    point: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Drag:
    """Where the pointer is now. turn: rotation of what is grabbed since the grab. stamp: sent back in `input`."""

    kind: ClassVar[str] = "drag"
    goal: Vec3
    turn: Quat | None = None
    stamp: float = 0.0


@dataclass(frozen=True)
class Release:
    """Let go."""

    kind: ClassVar[str] = "release"


@dataclass(frozen=True)
class Knob:
    """Turn a knob of the scene. Knobs that are not live restart the scene as a new take."""

    kind: ClassVar[str] = "knob"
    path: str
    value: float


@dataclass(frozen=True)
class Undo:
    """Turn the last knob back."""

    kind: ClassVar[str] = "undo"


@dataclass(frozen=True)
class Assist:
    """The most that an outside force may help the character with [N]; 0 for honest physics."""

    kind: ClassVar[str] = "assist"
    newtons: float


@dataclass(frozen=True)
class Seek:
    """Look at an earlier moment of the take; physics pauses."""

    kind: ClassVar[str] = "seek"
    time: float


@dataclass(frozen=True)
class Branch:
    """Try again from here: go on from a moment of the present take as a new take, paused there."""

    kind: ClassVar[str] = "branch"
    time: float


@dataclass(frozen=True)
class TakeName:
    """Give a take a name."""

    kind: ClassVar[str] = "take_name"
    take: str
    name: str


@dataclass(frozen=True)
class TakeSave:
    """Make a take into a recording (.npz) in the take folder."""

    kind: ClassVar[str] = "take_save"
    take: str


@dataclass(frozen=True)
class TakeLoad:
    """Open a take, paused at its end: look through it, or branch from any moment."""

    kind: ClassVar[str] = "take_load"
    take: str


@dataclass(frozen=True)
class TakeDelete:
    """Delete a take for good."""

    kind: ClassVar[str] = "take_delete"
    take: str


@dataclass(frozen=True)
class TakeGhost:
    """Show a take of the same scene as a ghost beside the present one, or no longer."""

    kind: ClassVar[str] = "take_ghost"
    take: str
    shown: bool


@dataclass(frozen=True)
class Preview:
    """Show the next second, if the present input is held."""

    kind: ClassVar[str] = "preview"
    on: bool


@dataclass(frozen=True)
class Fan:
    """Preview five inputs around the present one."""

    kind: ClassVar[str] = "fan"


@dataclass(frozen=True)
class FanTake:
    """Make one of the five inputs the present one."""

    kind: ClassVar[str] = "fan_take"
    choice: int


@dataclass(frozen=True)
class Why:
    """Send `why` messages, or no longer."""

    kind: ClassVar[str] = "why"
    on: bool


# --- parts of messages from the server to the page


@dataclass(frozen=True)
class BodyInfo:
    """A body, in the order of the pose frames. owner: its character (the name of its root) or prop; "" for the world.

    modes: how it can be grabbed, the plain drag first.
    """

    name: str
    parent: int
    part_of: Literal["world", "character", "prop"]
    owner: str
    modes: tuple[Mode, ...]


@dataclass(frozen=True)
class Marker:
    """A goal that can be dragged, called "task/point", and the body that it is meant for ("" for a centre of mass)."""

    name: str
    task: str
    body: str
    place: Vec3
    active: bool


@dataclass(frozen=True)
class Handle:
    """The centre of mass of a character, called like its root."""

    name: str
    place: Vec3


@dataclass(frozen=True)
class KnobInfo:
    """A slider. live: applied at once; otherwise the scene starts again."""

    path: str
    low: float
    high: float
    unit: str
    value: float | None
    live: bool


@dataclass(frozen=True)
class CameraInfo:
    """Where to look from: angles [deg], distance and point looked at [m]."""

    azimuth: float
    elevation: float
    distance: float
    at: Vec3


@dataclass(frozen=True)
class TaskWhy:
    """How a task fares. missed: what it wanted minus what it got [m/s^2 or rad/s^2]; lost_to: the task above that took it."""

    name: str
    priority: int
    error: float | None
    unit: str
    force: float
    limit: float | None
    active: bool
    at_limit: bool
    missed: float
    lost_to: str | None


@dataclass(frozen=True)
class JointWhy:
    """Torque of an actuator against its limits [N m]; share: 0 at rest, 1 at the limit."""

    name: str
    torque: float
    low: float | None
    high: float | None
    share: float


@dataclass(frozen=True)
class Balance:
    """Centre of mass of a character and the polygon on the ground that its feet span, counter-clockwise.

    margin: how far the centre is inside the polygon [m]; negative outside.
    """

    character: str
    com: Vec3
    support: tuple[Vec2, ...]
    margin: float


@dataclass(frozen=True)
class ContactWhy:
    """A contact: force on the second body, the normal towards it, and the friction coefficient (the cone's slope)."""

    first: str
    second: str
    point: Vec3
    force: Vec3
    normal: Vec3
    friction: float


@dataclass(frozen=True)
class PathLine:
    """Where the origin of a body goes."""

    body: str
    points: tuple[Vec3, ...]


@dataclass(frozen=True)
class GhostPose:
    """Poses of all bodies at a moment: seven numbers each, position and quaternion, as in a pose frame."""

    time: float
    poses: tuple[float, ...]


@dataclass(frozen=True)
class TakeInfo:
    """A take. live: it is the one being recorded; ghost: its number in ghost frames, or null."""

    id: str
    name: str
    scene: str
    seconds: float
    created: str
    saved: bool
    live: bool
    ghost: int | None


# --- from the server to the page


@dataclass(frozen=True)
class Model:
    """A scene was opened, or built anew. glb: address of its geometry, nodes called like bodies."""

    kind: ClassVar[str] = "model"
    protocol: int
    scene: str
    title: str
    document: str
    description: str
    seconds: float
    timestep: float
    fps: float
    glb: str
    bodies: tuple[BodyInfo, ...]
    markers: tuple[Marker, ...]
    handles: tuple[Handle, ...]
    knobs: tuple[KnobInfo, ...]
    camera: CameraInfo
    take: str


@dataclass(frozen=True)
class Status:
    """Some twenty times a second. time: what is shown; length: how long the take is; step: of the script.

    ok, reason: what became of the job so far. realtime: simulated over real time of the last second.
    seeking: an earlier moment is shown. diverged: physics broke off; reset, or branch from before.
    """

    kind: ClassVar[str] = "status"
    take: str
    time: float
    length: float
    playing: bool
    speed: float
    step: str
    ok: bool
    reason: str
    realtime: float
    seeking: bool
    diverged: bool
    undo: int
    assist: float
    assist_force: Vec3
    assist_impulse: float
    markers: tuple[Marker, ...]
    handles: tuple[Handle, ...]
    preview: bool
    why: bool


@dataclass(frozen=True)
class WhyReport:
    """Why the character does what it does; tasks with the highest priority first."""

    kind: ClassVar[str] = "why_report"
    time: float
    tasks: tuple[TaskWhy, ...]
    joints: tuple[JointWhy, ...]
    balance: tuple[Balance, ...]
    contacts: tuple[ContactWhy, ...]


@dataclass(frozen=True)
class Input:
    """The present drag: the grabbed point, where it is wanted, and the outside force there (zero where a task pulls).

    newtons: length of that force, or the force with which a task pulls. held: False once, after the release.
    """

    kind: ClassVar[str] = "input"
    target: str
    mode: Mode
    point: Vec3
    goal: Vec3
    force: Vec3
    newtons: float
    limit: float | None
    held: bool
    stamp: float


@dataclass(frozen=True)
class PreviewPaths:
    """What will happen. choice: -1 for the held input, 0 to 4 in a fan; start: the moment it was asked for."""

    kind: ClassVar[str] = "preview_paths"
    choice: int
    label: str
    start: float
    times: tuple[float, ...]
    paths: tuple[PathLine, ...]
    ghosts: tuple[GhostPose, ...]


@dataclass(frozen=True)
class Takes:
    """All takes in the take folder, newest first."""

    kind: ClassVar[str] = "takes"
    takes: tuple[TakeInfo, ...]


@dataclass(frozen=True)
class Knobs:
    """A knob was turned, or turned back."""

    kind: ClassVar[str] = "knobs"
    knobs: tuple[KnobInfo, ...]


@dataclass(frozen=True)
class Notice:
    """Something to tell the user that is no error, such as a restart."""

    kind: ClassVar[str] = "notice"
    message: str


@dataclass(frozen=True)
class Error:
    """A message was refused, or physics broke off. about: the kind of the message, "" for none."""

    kind: ClassVar[str] = "error"
    about: str
    message: str


ClientMessage = (
    Open | Play | Pause | Step | Reset | Speed | Grab | Drag | Release | Knob | Undo | Assist | Seek | Branch
    | TakeName | TakeSave | TakeLoad | TakeDelete | TakeGhost | Preview | Fan | FanTake | Why
)  # fmt: skip
ServerMessage = Model | Status | WhyReport | Input | PreviewPaths | Takes | Knobs | Notice | Error
CLIENT: dict[str, type] = {c.kind: c for c in get_args(ClientMessage)}
SERVER: dict[str, type] = {c.kind: c for c in get_args(ServerMessage)}
_PARTS = (
    BodyInfo, Marker, Handle, KnobInfo, CameraInfo, TaskWhy, JointWhy, Balance, ContactWhy, PathLine, GhostPose, TakeInfo,
)  # fmt: skip
SPEEDS = (1.0, 0.5, 0.25, 0.125)
T = TypeVar("T")


# --- text


def parse(text: str | bytes) -> ClientMessage:
    """A message from the page; whatever else it is raises MessageError, in one line."""
    if len(text) > MAX_TEXT:
        raise MessageError(f"a message of {len(text)} bytes: at most {MAX_TEXT} are read")
    try:
        raw = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise MessageError("not JSON: nested too deeply") from None
    except ValueError as error:
        raise MessageError(f"not JSON: {str(error)[:120]}") from None
    if not isinstance(raw, dict):
        raise MessageError("a message is a JSON object with a 'kind'")
    kind = raw.pop("kind", None)
    if not isinstance(kind, str):
        raise MessageError("kind: is missing, or no text")
    if kind not in CLIENT:
        raise MessageError(f"kind: given '{kind[:MAX_NAME]}'{did_you_mean(kind[:MAX_NAME], CLIENT)}")
    message = _read(CLIENT[kind], raw, kind)
    _check(message)
    return message


def kind_of(text: str | bytes) -> str:
    """The kind that a message claims to be, for an answer to one that was refused; "" when it does not say."""
    try:
        raw = json.loads(text) if len(text) <= MAX_TEXT else None
    except (ValueError, RecursionError):
        return ""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    return kind if isinstance(kind, str) and kind in CLIENT else ""


def dump(message: ServerMessage | ClientMessage) -> str:
    """A message as text. Numbers that are not finite have no place in it."""
    return json.dumps({"kind": message.kind, **_plain(message)}, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> dict[str, Any]:
    # asdict would deep-copy every number
    kind: type = type(value)
    return {name: _value(getattr(value, name)) for name in _shape(kind)[1]}


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_value(v) for v in value]
    return _plain(value) if dataclasses.is_dataclass(value) else value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _check(message: Any) -> None:
    """What types do not say."""
    if isinstance(message, Speed) and message.factor not in SPEEDS:
        raise MessageError(f"speed.factor: given {message.factor:g} (allowed: {', '.join(f'{s:g}' for s in SPEEDS)})")
    if isinstance(message, Step) and not 1 <= message.steps <= 1000:
        raise MessageError(f"step.steps: given {message.steps} (allowed: 1 to 1000)")
    if isinstance(message, FanTake) and not 0 <= message.choice <= 4:
        raise MessageError(f"fan_take.choice: given {message.choice} (allowed: 0 to 4)")
    if isinstance(message, Assist) and not 0 <= message.newtons <= 10_000:
        raise MessageError(f"assist.newtons: given {message.newtons:g} (allowed: 0 to 10000)")
    if isinstance(message, Drag) and message.turn is not None and not 0.5 < math.hypot(*message.turn) < 2:
        raise MessageError("drag.turn: a quaternion has the length 1")
    if isinstance(message, Seek | Branch) and message.time < 0:
        raise MessageError(f"{message.kind}.time: given {message.time:g}: must not be negative")


def _read(cls: type, raw: dict[str, Any], where: str) -> Any:
    """A dataclass from a JSON object: no key too many, none missing, every type as declared."""
    hints, fields = _shape(cls)
    for name in raw:
        if name not in fields:
            raise MessageError(f"{where}: no field is called '{name[:MAX_NAME]}'{did_you_mean(name[:MAX_NAME], fields)}")
    for name, field in fields.items():
        if name not in raw and field.default is dataclasses.MISSING:
            raise MessageError(f"{where}.{name}: is missing")
    return cls(**{name: _typed(hints[name], value, f"{where}.{name}") for name, value in raw.items()})


@cache
def _shape(cls: type) -> tuple[dict[str, Any], dict[str, dataclasses.Field[Any]]]:
    """Types and fields of a message, looked up once."""
    return get_type_hints(cls), {f.name: f for f in dataclasses.fields(cls)}


def _typed(hint: Any, value: Any, where: str) -> Any:
    """One value as its declaration says."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return _typed(next(p for p in parts if p is not type(None)), value, where)
    if origin is Literal:
        if not isinstance(value, str) or value not in parts:
            raise MessageError(f"{where}: given {json.dumps(value)[:MAX_NAME]}{did_you_mean(str(value)[:MAX_NAME], parts)}")
        return value
    if origin is tuple:
        if not isinstance(value, list) or len(value) != len(parts):
            raise MessageError(f"{where}: must be {len(parts)} numbers")
        return tuple(_typed(p, v, f"{where}.{k}") for k, (p, v) in enumerate(zip(parts, value)))
    if hint is float:
        # JSON integers may be too long for a float
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_NUMBER:
            raise MessageError(f"{where}: must be a number of at most {MAX_NUMBER:g} either way")
        return float(value)
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_NUMBER:
            raise MessageError(f"{where}: must be a whole number of at most {MAX_NUMBER:g} either way")
        return value
    if hint is bool:
        if not isinstance(value, bool):
            raise MessageError(f"{where}: must be true or false")
        return value
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise MessageError(f"{where}: must be text of at most {MAX_NAME} characters")
    return value


# --- pose frames: binary, little-endian
#
#   u32 kind        LIVE or GHOST
#   u32 sequence    of live frames; of a ghost frame, the ghost's number
#   f64 time [s]
#   u32 bodies      how many poses follow
#   u32 meshes      how many blocks of vertices follow after the poses
#   bodies x 7 f32  position, quaternion wxyz, world axes
#   then for each deforming mesh: u32 mesh, u32 count, count x 3 f32 vertices

LIVE, GHOST = 1, 2
_HEADER = struct.Struct("<IIdII")
_BLOCK = struct.Struct("<II")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """A pose frame, taken apart: poses (n, 7), vertices of deforming meshes (k, 3) by number."""

    kind: int
    sequence: int
    time: float
    poses: NDArray[np.float32]
    meshes: dict[int, NDArray[np.float32]]


def pack_frame(
    kind: int, sequence: int, time: float, position: Array, quat: Array, meshes: dict[int, Array] | None = None
) -> bytes:  # fmt: skip
    """position (n, 3), quat (n, 4), and vertices (k, 3) by mesh, as one binary message."""
    poses = np.concatenate([position, quat], axis=1).astype("<f4")
    parts = [_HEADER.pack(kind, sequence & 0xFFFFFFFF, time, len(poses), len(meshes or {})), poses.tobytes()]
    for mesh, vertices in (meshes or {}).items():
        parts += [_BLOCK.pack(mesh, len(vertices)), np.asarray(vertices, "<f4").tobytes()]
    return b"".join(parts)


def unpack_frame(content: bytes) -> Frame:
    """What `pack_frame` made."""
    try:
        kind, sequence, time, bodies, blocks = _HEADER.unpack_from(content)
        place = _HEADER.size
        poses = np.frombuffer(content, "<f4", 7 * bodies, place).reshape(bodies, 7)
        place += poses.nbytes
        meshes = {}
        for _ in range(blocks):
            mesh, count = _BLOCK.unpack_from(content, place)
            place += _BLOCK.size
            meshes[mesh] = np.frombuffer(content, "<f4", 3 * count, place).reshape(count, 3)
            place += meshes[mesh].nbytes
    except (struct.error, ValueError) as error:
        raise MessageError(f"not a pose frame: {error}") from None
    if place != len(content):
        raise MessageError(f"not a pose frame: {len(content) - place} bytes too many")
    return Frame(kind, sequence, time, poses, meshes)


# --- TypeScript


def typescript() -> str:
    """The same types for the page."""
    parts = [
        "// Generated by tools/make_studio_types.py from manikin/studio/messages.py. Do not edit.",
        f"export const PROTOCOL = {PROTOCOL};",
        f"export const SPEEDS = [{', '.join(f'{s:g}' for s in SPEEDS)}] as const;",
        "export type Vec2 = [number, number];\nexport type Vec3 = [number, number, number];",
        "export type Quat = [number, number, number, number];",
        f"export type Mode = {' | '.join(json.dumps(m) for m in get_args(Mode))};",
    ]
    parts += [_interface(c) for c in (*_PARTS, *CLIENT.values(), *SERVER.values())]
    for name, classes in (("ClientMessage", CLIENT), ("ServerMessage", SERVER)):
        parts.append(f"export type {name} =\n" + "\n".join(f"  | {_ts_name(c)}" for c in classes.values()) + ";")
    parts.append(
        "// Binary pose frames, little-endian: u32 kind, u32 sequence (the ghost's number in a ghost frame), f64 time,\n"
        "// u32 bodies, u32 meshes, bodies x 7 f32 (position, quaternion wxyz), then for each deforming mesh\n"
        "// u32 mesh, u32 count, count x 3 f32.\n"
        f"export const FRAME_LIVE = {LIVE};\nexport const FRAME_GHOST = {GHOST};\nexport const FRAME_HEADER = {_HEADER.size};"
    )
    return "\n\n".join(parts) + "\n"


def _interface(cls: type) -> str:
    """One class; the page's name ends in Message where it is one, so that it hides nothing of the browser's."""
    rows = [f"// {line.strip()}".rstrip() for line in (cls.__doc__ or "").strip().splitlines()]
    rows.append(f"export interface {_ts_name(cls)} {{")
    if hasattr(cls, "kind"):
        rows.append(f"  kind: {json.dumps(cls.kind)};")
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        optional = "?" if cls in CLIENT.values() and field.default is not dataclasses.MISSING else ""
        rows.append(f"  {field.name}{optional}: {_ts_type(hints[field.name])};")
    return "\n".join([*rows, "}"])


def _ts_name(cls: type) -> str:
    return f"{cls.__name__}Message" if hasattr(cls, "kind") else cls.__name__


def _ts_type(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _ALIASES:
        return _ALIASES[hint]
    if origin in (Union, types.UnionType):
        return " | ".join(_ts_type(p) for p in parts)
    if origin is Literal:
        return " | ".join(json.dumps(p) for p in parts)
    if origin is tuple:
        inner = _ts_type(parts[0])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    return _PLAIN[hint] if hint in _PLAIN else _ts_name(hint)


_PLAIN: dict[Any, str] = {float: "number", int: "number", str: "string", bool: "boolean", type(None): "null"}
_ALIASES: dict[Any, str] = {Vec2: "Vec2", Vec3: "Vec3", Quat: "Quat", Mode: "Mode"}
