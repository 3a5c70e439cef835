"""Messages about creatures under direct control (Kim & Pollard 2011): pins, priorities, key poses."""

from dataclasses import dataclass
from typing import ClassVar, Literal

# events: the character touches nothing and rises; touches nothing and sinks; touches something again
Event = Literal["lift_off", "falling", "touch_down"]
# what is pinned: the orientation of a body ("turn") or the angles of its joints
What = Literal["turn", "angle"]

# --- from the page


@dataclass(frozen=True)
class Pin:
    """Pin a body of a creature. value: a quaternion, or angles [rad]; empty: as it is now. The other fields as in Arm."""

    kind: ClassVar[str] = "pin"
    target: str
    what: What
    at: Event | None = None
    then: bool = False
    until: Event | None = None
    value: tuple[float, ...] = ()


@dataclass(frozen=True)
class Unpin:
    """Remove a pin, by the name of its task."""

    kind: ClassVar[str] = "unpin"
    pin: str


@dataclass(frozen=True)
class Arm:
    """When a pin is set, and when it ends; null: now, and when it is removed. Each happens once.

    then: it keeps the value at the time it is set, not at the time it was made.
    """

    kind: ClassVar[str] = "arm"
    pin: str
    at: Event | None
    then: bool
    until: Event | None


@dataclass(frozen=True)
class Rank:
    """Another priority for a pin or any other task; 0 comes first."""

    kind: ClassVar[str] = "rank"
    task: str
    priority: int


@dataclass(frozen=True)
class Switch:
    """Switch a pin, or a task of the scene, off or on again."""

    kind: ClassVar[str] = "switch"
    task: str
    on: bool


@dataclass(frozen=True)
class Pose:
    """While paused: bend the doll so that a point of a body (in its frame) comes near a place."""

    kind: ClassVar[str] = "pose"
    target: str
    point: tuple[float, float, float]
    goal: tuple[float, float, float]


@dataclass(frozen=True)
class PoseEnd:
    """Put the doll away; keys stay."""

    kind: ClassVar[str] = "pose_end"


@dataclass(frozen=True)
class KeyAdd:
    """Keep the doll's pose, or the present one, as a key so many seconds after the start of the keys."""

    kind: ClassVar[str] = "key_add"
    time: float


@dataclass(frozen=True)
class KeyDrop:
    """Forget a key, by its number."""

    kind: ClassVar[str] = "key_drop"
    number: int


@dataclass(frozen=True)
class Follow:
    """Follow key poses from now on, joined by a B-spline: rows [time, angles in degrees]. None: stop following."""

    kind: ClassVar[str] = "follow"
    keys: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class WhilePressed:
    """Run only while something is held, as in the document, or freely."""

    kind: ClassVar[str] = "while_pressed"
    on: bool


# --- from the server


@dataclass(frozen=True)
class PinInfo:
    """A pin. holds: it acts now; off: it was switched off. fired, ended: the times of its events [s], or null."""

    task: str
    target: str
    what: What
    priority: int
    holds: bool
    off: bool
    at: Event | None
    then: bool
    until: Event | None
    fired: float | None
    ended: float | None


@dataclass(frozen=True)
class TaskRank:
    """A task that is not a pin. own: it belongs to the scene; the others wait for a drag."""

    name: str
    priority: int
    active: bool
    own: bool


@dataclass(frozen=True)
class Pins:
    """Pins and priorities, whenever they change. tasks: all others, the most important first.

    keys: rows [time, angles in degrees] that were kept. posing: a doll is shown. follows: keys are being followed.
    """

    kind: ClassVar[str] = "pins"
    pins: tuple[PinInfo, ...]
    tasks: tuple[TaskRank, ...]
    keys: tuple[tuple[float, ...], ...] = ()
    posing: bool = False
    follows: bool = False
