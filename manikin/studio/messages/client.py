"""Messages from the page to the server.

World axes, metres, newtons, seconds; quaternions wxyz; `point` is in the frame of the body that is grabbed.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from manikin.studio.messages.creatures import (
    Arm,
    Follow,
    KeyAdd,
    KeyDrop,
    Pin,
    Pose,
    PoseEnd,
    Rank,
    Switch,
    Unpin,
    WhilePressed,
)  # fmt: skip

Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Mode = Literal["task", "push", "spring", "goal", "com"]
SPEEDS = (1.0, 0.5, 0.25, 0.125)


@dataclass(frozen=True)
class Open:
    """Open a scene by its shipped name, paused at its first moment.

    script: whether its steps happen, or it is played freely; null: creatures under direct control are played freely.
    """

    kind: ClassVar[str] = "open"
    scene: str
    script: bool | None = True


@dataclass(frozen=True)
class Play:
    """Run from the end of the take."""

    kind: ClassVar[str] = "play"


@dataclass(frozen=True)
class Pause:
    """Pause."""

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
    """Set a knob of the scene. Knobs that are not live restart the scene as a new take."""

    kind: ClassVar[str] = "knob"
    path: str
    value: float


@dataclass(frozen=True)
class Undo:
    """Undo the last change of a knob."""

    kind: ClassVar[str] = "undo"


@dataclass(frozen=True)
class Assist:
    """The largest outside force that may assist the character [N]; 0 for unassisted physics."""

    kind: ClassVar[str] = "assist"
    newtons: float


@dataclass(frozen=True)
class Seek:
    """Look at an earlier moment of the take; physics pauses."""

    kind: ClassVar[str] = "seek"
    time: float


@dataclass(frozen=True)
class Branch:
    """Try again from here: continue from a moment of the present take as a new take, paused there."""

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
    """Save a take as a recording (.npz) in the take folder."""

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
    """Show or hide a take of the same scene as a ghost next to the present one."""

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
    """Start or stop `why` messages."""

    kind: ClassVar[str] = "why"
    on: bool


ClientMessage = (
    Open | Play | Pause | Step | Reset | Speed | Grab | Drag | Release | Knob | Undo | Assist | Seek | Branch
    | TakeName | TakeSave | TakeLoad | TakeDelete | TakeGhost | Preview | Fan | FanTake | Why
    | Pin | Unpin | Arm | Rank | Switch | WhilePressed | Pose | PoseEnd | KeyAdd | KeyDrop | Follow
)  # fmt: skip
CLIENT: dict[str, type] = {c.kind: c for c in get_args(ClientMessage)}
