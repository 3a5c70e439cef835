"""Messages from the server to the page, and their parts. Axes and units as in `client`."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from manikin.studio.messages.client import Mode, Vec2, Vec3
from manikin.studio.messages.creatures import PinInfo, Pins, TaskRank

PROTOCOL = 3

# --- parts of messages


@dataclass(frozen=True)
class BodyInfo:
    """A body, in the order of the pose frames. owner: its character (the name of its root) or prop; "" for the world.

    modes: the ways to grab it, the plain drag first.
    """

    name: str
    parent: int
    part_of: Literal["world", "character", "prop"]
    owner: str
    modes: tuple[Mode, ...]


@dataclass(frozen=True)
class MeshInfo:
    """A deforming mesh; its place in the list is its number in pose frames, which bring its vertices.

    triangles: three vertex numbers each, counter-clockwise from outside. bodies: for each of the `count` vertices, the number
    of the body that a press there grabs. vertices: at the first moment, three numbers each. colour: sRGB, 0 to 1.
    """

    name: str
    count: int
    triangles: tuple[int, ...]
    bodies: tuple[int, ...]
    vertices: tuple[float, ...]
    colour: Vec3


@dataclass(frozen=True)
class Marker:
    """A goal that can be dragged, named "task/point", and the body it is for ("" for a centre of mass)."""

    name: str
    task: str
    body: str
    place: Vec3
    active: bool


@dataclass(frozen=True)
class Handle:
    """The centre of mass of a character, named after its root."""

    name: str
    place: Vec3


@dataclass(frozen=True)
class KnobInfo:
    """A slider, or a list of choices, whose value is the number of one. live: applied at once; otherwise the scene restarts."""

    path: str
    low: float
    high: float
    unit: str
    value: float | None
    live: bool
    choices: tuple[str, ...]
    title: str


@dataclass(frozen=True)
class CameraInfo:
    """Where to look from: angles [deg], distance and point looked at [m]."""

    azimuth: float
    elevation: float
    distance: float
    at: Vec3


@dataclass(frozen=True)
class TaskWhy:
    """The state of a task. missed: wanted minus achieved [m/s^2 or rad/s^2]; lost_to: the higher task responsible."""

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
    """Torque of an actuator against its limits [N m]; fraction: 0 at rest, 1 at the limit."""

    name: str
    torque: float
    low: float | None
    high: float | None
    fraction: float


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
class CreatureWhy:
    """A character under direct control. standing: the bone that carries it, "" in flight or if control relies on none.

    contradicted: its limits could not all be kept in the last update; contradictions: in how many updates that was so.
    """

    character: str
    standing: str
    contradicted: bool
    contradictions: int


@dataclass(frozen=True)
class PathLine:
    """The path of a body's origin."""

    body: str
    points: tuple[Vec3, ...]


@dataclass(frozen=True)
class GhostPose:
    """Poses of all bodies at a moment: seven numbers each, position and quaternion, as in a pose frame.

    meshes: vertices of each deforming mesh, three numbers each.
    """

    time: float
    poses: tuple[float, ...]
    meshes: tuple[tuple[float, ...], ...]


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


@dataclass(frozen=True)
class Tick:
    """Something that happened in a take: a step of the script began, or a grip was lost."""

    time: float
    name: str


# --- messages


@dataclass(frozen=True)
class Model:
    """A scene was opened or rebuilt. glb: address of its geometry, nodes named like bodies.

    direct: it is under direct control, with pins and priorities. scripted: its steps happen; otherwise it is played freely.
    """

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
    meshes: tuple[MeshInfo, ...]
    markers: tuple[Marker, ...]
    handles: tuple[Handle, ...]
    knobs: tuple[KnobInfo, ...]
    camera: CameraInfo
    take: str
    direct: bool
    scripted: bool


@dataclass(frozen=True)
class Status:
    """Several times a second, and after each request. time: of the moment shown; length: of the take; step: of the script.

    finished: the script has ended, and the character continues with its last tasks. ticks: events of the take so far.

    ok, reason: the outcome so far. realtime: simulated over real time of the last second.
    while_pressed: it runs only while something is held.
    seeking: an earlier moment is shown. diverged: the simulation diverged; reset, or branch from an earlier moment.
    """

    kind: ClassVar[str] = "status"
    take: str
    time: float
    length: float
    playing: bool
    speed: float
    step: str
    finished: bool
    ticks: tuple[Tick, ...]
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
    while_pressed: bool


@dataclass(frozen=True)
class WhyReport:
    """Why the character does what it does; tasks with the highest priority first."""

    kind: ClassVar[str] = "why_report"
    time: float
    tasks: tuple[TaskWhy, ...]
    joints: tuple[JointWhy, ...]
    balance: tuple[Balance, ...]
    contacts: tuple[ContactWhy, ...]
    creatures: tuple[CreatureWhy, ...]


@dataclass(frozen=True)
class Input:
    """The present drag: the grabbed point, where it is wanted, and the outside force there (zero where a task pulls).

    newtons: size of that force, or the force with which a task pulls. held: False once, after the release.
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
    """A preview. choice: -1 for the held input, 0 to 4 in a fan; start: the moment it starts from."""

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
    """The knobs have changed."""

    kind: ClassVar[str] = "knobs"
    knobs: tuple[KnobInfo, ...]


@dataclass(frozen=True)
class Notice:
    """Information for the user that is not an error, such as a restart."""

    kind: ClassVar[str] = "notice"
    message: str


@dataclass(frozen=True)
class Error:
    """A message was refused, or the simulation diverged. about: the kind of the message, "" for none."""

    kind: ClassVar[str] = "error"
    about: str
    message: str


ServerMessage = Model | Status | WhyReport | Input | PreviewPaths | Takes | Knobs | Pins | Notice | Error
SERVER: dict[str, type] = {c.kind: c for c in get_args(ServerMessage)}
PARTS = (
    BodyInfo, MeshInfo, Marker, Handle, KnobInfo, CameraInfo, TaskWhy, JointWhy, Balance, ContactWhy, CreatureWhy, PathLine,
    GhostPose, TakeInfo, Tick, PinInfo, TaskRank,
)  # fmt: skip
