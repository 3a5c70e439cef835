"""Messages between the studio's server and its page: each a frozen dataclass with a `kind`, checked strictly when it arrives.

The page's TypeScript types are generated from these classes (tools/make_studio_types.py).
"""

from manikin.studio.messages.client import (
    CLIENT,
    SPEEDS,
    Assist,
    Branch,
    ClientMessage,
    Drag,
    Fan,
    FanTake,
    Grab,
    Knob,
    Mode,
    Open,
    Pause,
    Play,
    Preview,
    Quat,
    Release,
    Reset,
    Seek,
    Speed,
    Step,
    TakeDelete,
    TakeGhost,
    TakeLoad,
    TakeName,
    TakeSave,
    Undo,
    Vec2,
    Vec3,
    Why,
)  # fmt: skip
from manikin.studio.messages.creatures import Arm, Event, Pin, PinInfo, Pins, Rank, Switch, TaskRank, Unpin, What, WhilePressed
from manikin.studio.messages.frames import GHOST, LIVE, Frame, pack_frame, unpack_frame
from manikin.studio.messages.server import (
    PROTOCOL,
    SERVER,
    Balance,
    BodyInfo,
    CameraInfo,
    ContactWhy,
    CreatureWhy,
    Error,
    GhostPose,
    Handle,
    Input,
    JointWhy,
    KnobInfo,
    Knobs,
    Marker,
    MeshInfo,
    Model,
    Notice,
    PathLine,
    PreviewPaths,
    ServerMessage,
    Status,
    TakeInfo,
    Takes,
    TaskWhy,
    Tick,
    WhyReport,
)  # fmt: skip
from manikin.studio.messages.text import MAX_TEXT, MessageError, dump, kind_of, parse

__all__ = [
    "CLIENT", "GHOST", "LIVE", "MAX_TEXT", "PROTOCOL", "SERVER", "SPEEDS", "Arm", "Assist", "Balance", "BodyInfo", "Branch",
    "CameraInfo", "ClientMessage", "ContactWhy", "CreatureWhy", "Drag", "Error", "Event", "Fan", "FanTake", "Frame",
    "GhostPose", "Grab", "Handle", "Input", "JointWhy", "Knob", "KnobInfo", "Knobs", "Marker", "MeshInfo", "MessageError",
    "Mode", "Model", "Notice", "Open", "PathLine", "Pause", "Pin", "PinInfo", "Pins", "Play", "Preview", "PreviewPaths",
    "Quat", "Rank", "Release", "Reset", "Seek", "ServerMessage", "Speed", "Status", "Step", "Switch", "TakeDelete",
    "TakeGhost", "TakeInfo", "TakeLoad", "TakeName", "TakeSave", "Takes", "TaskRank", "TaskWhy", "Tick", "Undo", "Unpin",
    "Vec2", "Vec3", "What", "WhilePressed", "Why", "WhyReport", "dump", "kind_of", "pack_frame", "parse", "unpack_frame",
]  # fmt: skip
