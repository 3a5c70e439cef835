"""Tables of a scene file for the job: tasks and their goals, steps and their conditions, facts for the report."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from manikin.scenes.schema_table import Face, FacesSpec, Finite, Positive, Share, Speed, Table, Vector

# distance of a plane within reach of an arm [m]
Ahead = Annotated[float, Field(gt=0, le=5)]


class MeetSpec(Table):
    """Where and how to meet a flying prop: in a plane ahead of the feet, moving along with it.

    plane: distance [m] ahead of the figure's origin, which is 17.5 mm ahead of the ankles. give: the fraction of its velocity
    that the hand adopts within `seconds`, up to `most` [m/s].
    """

    prop: str
    plane: Ahead = 0.42
    give: Share = 0.35
    most: float = Field(default=2.2, ge=0, le=20)
    seconds: Positive = 0.12


class ArrivingSpec(Table):
    """A prop that flies towards a plane ahead of the feet: distance [m] ahead of the figure's origin."""

    prop: str
    plane: Ahead = 0.42


class ThrowSpec(Table):
    """How to throw a held prop: released at `release` (from the middle between the feet, x in their direction) with
    `velocity` [m/s], or so that it lands at `target` on the ground. The hand draws back by `draw` [m] in `windup` [s] first.
    """

    prop: str
    release: Vector
    velocity: tuple[Speed, Speed, Speed] | None = None
    target: tuple[Finite, Finite] | None = None
    draw: Positive = 0.35
    windup: Positive = 0.6

    @model_validator(mode="after")
    def _one_aim(self) -> "ThrowSpec":
        if (self.velocity is None) == (self.target is None):
            raise ValueError("throw needs exactly one of velocity, target")
        if self.velocity is not None and not any(self.velocity):
            raise ValueError("velocity must not be zero: nothing is thrown without speed")
        return self


class GoalSpec(Table):
    """The goal of a task.

    at: numbers of the measure, or one triple per point; measured in the frame of `of` (a prop, a body, or "feet") when given.
    face, gap: the middles of faces of the prop `of`, one per point, and how far off the surface [m]; `at` then shifts the
    points from there, in the prop's frame.
    carry: a held prop whose middle is to go to `at`; the hands keep their places on it. `at` may be a table of its faces,
    such as { back = 0.25, z = 1.1 }.
    path: rows [time, numbers...] to be tracked. clip, frame: a pose of a clip, for posture.
    spline: key poses, for posture: rows [time, one angle per joint] after the pose in which its step begins (Kim & Pollard
    2011, section 3).
    hold: rows [time, numbers...], each held until the next: a recorded drag. Numbers are in the units of the measure itself:
    metres, quaternions (w, x, y, z), radians.
    relative: numbers of at or path are added to what the task measures when its step begins: a drag.
    away: a prop, body or site: x of a relative `at` points away from it along the ground instead of along the world's x.
    scale: lengths are meant for a stature of 1.75 m and scale with the character.
    meet: a flying prop: for a point, where to meet it; for a direction, against its flight.
    throw: a held prop: the curve of its middle until it is released. along: for a direction, that of the throw of another
    task.
    brace: {prop = fraction}: for com: lean back in advance by a fraction of what the prop's weight will add.
    """

    at: tuple[Finite, ...] | tuple[Vector, ...] | FacesSpec | None = None
    of: str | None = None
    face: Face | tuple[Face, ...] | None = None
    gap: float = Field(default=0.0, ge=0, le=1)
    carry: str | None = None
    path: tuple[tuple[Finite, ...], ...] | None = None
    spline: tuple[tuple[Finite, ...], ...] | None = None
    hold: tuple[tuple[Finite, ...], ...] | None = None
    clip: str | None = None
    frame: int = 0
    meet: MeetSpec | None = None
    throw: ThrowSpec | None = None
    along: str | None = None
    relative: bool = False
    away: str | None = None
    scale: bool = False
    brace: dict[str, Share] = Field(default={}, max_length=1)

    @property
    def faces(self) -> tuple[str, ...]:
        """The faces, one per point; none where `at` counts from the prop's middle."""
        return (self.face,) if isinstance(self.face, str) else self.face or ()

    @model_validator(mode="before")
    @classmethod
    def _face_alone(cls, value: Any) -> Any:
        # a face says where; a shift from there is an extra
        return {"at": (0.0, 0.0, 0.0), **value} if isinstance(value, dict) and "face" in value else value

    @model_validator(mode="after")
    def _face_fits(self) -> "GoalSpec":
        if self.face is not None and self.of is None:
            raise ValueError("face needs of = a prop")
        if self.gap and self.face is None:
            raise ValueError("gap goes with face")
        if isinstance(self.at, FacesSpec) and self.carry is None:
            raise ValueError("at: a table of faces goes with carry; face = ... is for points on a prop")
        return self

    @model_validator(mode="after")
    def _one_kind(self) -> "GoalSpec":
        kinds = [k for k in ("at", "path", "spline", "hold", "clip", "meet", "throw", "along") if getattr(self, k) is not None]
        if len(kinds) != 1:
            raise ValueError("a goal needs exactly one of at, path, spline, hold, clip, meet, throw, along")
        if (self.of or self.carry) and self.at is None:
            raise ValueError("of and carry go with at")
        if self.scale and self.at is None and self.path is None:
            raise ValueError("scale goes with at and path")
        if self.relative and (self.of or self.carry or (self.at is None and self.path is None)):
            raise ValueError("relative goes with at and path, without of or carry")
        if self.away is not None and (not self.relative or self.at is None):
            raise ValueError("away goes with a relative at")
        if self.frame and self.clip is None:
            raise ValueError("frame goes with clip")
        if self.brace and self.of != "feet":
            raise ValueError('brace goes with of = "feet"')
        return self


class TaskSpec(Table):
    """A task: a measure and the law by which it goes to its goal."""

    measure: Literal["point", "orientation", "com", "momentum", "spin", "posture", "look"]
    of: tuple[str, ...] | str | None = None
    offset: Vector | None = None  # point: metres from the one site or body, in the frame of its body
    axis: Vector | None = None  # orientation: only where this body axis points; look: the gaze axis
    axes: tuple[Literal["x", "y", "z"], ...] = Field(default=("x", "y"), min_length=1)  # com
    carried: float = Field(default=1.0, ge=0, le=100)  # com: a held load counts up to this fraction of the character's mass
    law: Literal["stabilize", "track", "reach", "hold", "nearest"] = "stabilize"
    frequency: float = Field(default=1.0, gt=0, le=50)
    smoothing: float = Field(default=0.0, ge=0, le=10)
    reach: Positive | None = None  # metres, or degrees for rotations
    seconds: Positive = 1.0  # law reach: how long it takes
    clip: str | None = None  # law nearest: another clip than the character's
    ahead: float = Field(default=0.25, ge=0, le=1)  # law nearest: lookahead of the hands towards their goals [m]
    feed: bool = False  # law nearest: also use the velocity and acceleration of the matched frames
    goal: GoalSpec | None = None
    priority: int = Field(default=0, ge=0, le=99)
    weight: float = Field(default=1.0, ge=0.001, le=1000)  # against others of its priority: only ratios count
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
        if self.goal is not None and self.measure == "spin":
            raise ValueError("measure 'spin' takes no goal: it is damped")
        if self.axis is not None and self.measure not in ("orientation", "look"):
            raise ValueError("axis is for measures 'orientation' and 'look'")
        if self.axis is not None and not any(self.axis):
            raise ValueError("axis must not be zero")
        if self.offset is not None and (self.measure != "point" or (isinstance(self.of, tuple) and len(self.of) != 1)):
            raise ValueError("offset is for measure 'point' of one site or body")
        if self.clip is not None and self.law != "nearest":
            raise ValueError("clip is for law 'nearest'; for a pose as the goal, goal = { clip = ... }")
        if self.goal is not None and self.law == "hold":
            raise ValueError("law 'hold' stays where it is switched on and takes no goal")
        for key, names in (("of", self.of), ("axes", self.axes)):
            twice = [n for n in names if names.count(n) > 1] if isinstance(names, tuple) else []
            if twice:
                raise ValueError(f"{key} names '{twice[0]}' twice")
        return self


class PlaceSpec(Table):
    """A site or body beyond a plane: its world coordinate along `axis` is above or below a number [m].

    off: instead of an axis, another site or body: the distance from it along the ground.
    """

    of: str
    axis: Literal["x", "y", "z"] | None = None
    off: str | None = None
    above: Finite | None = None
    below: Finite | None = None

    @model_validator(mode="after")
    def _some(self) -> "PlaceSpec":
        if self.above is None and self.below is None:
            raise ValueError("needs above or below")
        if (self.axis is None) == (self.off is None):
            raise ValueError("needs axis or off")
        return self


class TiltSpec(Table):
    """The tilt of a body: the angle between one of its axes and the vertical is above or below a number [deg]."""

    of: str
    axis: Vector = (0.0, 0.0, 1.0)
    above: float | None = Field(default=None, ge=0, le=180)
    below: float | None = Field(default=None, ge=0, le=180)

    @model_validator(mode="after")
    def _some(self) -> "TiltSpec":
        if self.above is None and self.below is None:
            raise ValueError("needs above or below")
        if not any(self.axis):
            raise ValueError("axis must not be zero")
        return self


class WhenSpec(Table):
    """The condition of a step: all that is given must hold.

    after: seconds since the last step began. task, within: a task within a distance of its goal. touch: {hand = prop}: the
    palm touches the prop. arriving: {prop, plane}, seconds: a flying prop reaches a plane within that time. thrown: a task
    whose goal is a throw has come to the release. landed: a prop touches the ground; further than within [m] from where the
    throw aimed, the job has failed. event: of the first character: lift_off: it touches nothing and rises; falling: it touches
    nothing and sinks; touch_down: it touches something. place, tilt: the place or the tilt of something, or a list of them.
    still: the character's centre of mass is slower than this [m/s].
    """

    after: float = Field(default=0.0, ge=0)
    task: str | None = None
    within: Positive | None = None
    touch: dict[str, str] = Field(default={}, min_length=1)
    arriving: ArrivingSpec | None = None
    seconds: Positive | None = None
    thrown: str | None = None
    landed: str | None = None
    event: Literal["lift_off", "falling", "touch_down"] | None = None
    place: tuple[PlaceSpec, ...] = ()
    tilt: tuple[TiltSpec, ...] = ()
    still: Positive | None = None

    @field_validator("place", "tilt", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return (value,) if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _pair(self) -> "WhenSpec":
        if self.within is not None and self.task is not None and self.landed is not None:
            raise ValueError("within is for task or for landed: use two steps")
        if (self.task is None) != (self.within is None) and (self.within is None or self.landed is None):
            raise ValueError("task and within go together (within is also for landed)")
        if (self.arriving is None) != (self.seconds is None):
            raise ValueError("arriving and seconds go together")
        return self


class TuneSpec(Table):
    """New settings for a task's law: frequency [Hz], smoothing [s], reach [m or deg], ahead [m]; and its max_force [N] and
    priority."""

    frequency: float | None = Field(default=None, gt=0, le=50)
    smoothing: float | None = Field(default=None, ge=0, le=10)
    reach: Positive | None = None
    ahead: float | None = Field(default=None, ge=0, le=1)
    max_force: Positive | None = None
    priority: int | None = Field(default=None, ge=0, le=99)


class StepSpec(Table):
    """One step of the script: when it begins, and what it changes.

    goals: new goals of tasks (which are switched on by it). tune: new settings of their laws. grasp: {hand = prop}.
    formulation, contact_joints, compliant: settings of the direct controller from now on.
    timeout: if the NEXT step has not begun after this many seconds, the job has failed and the script jumps to `otherwise`, as
    it does when a grip breaks. A jump back to an earlier step of the plan is another attempt, not a failure.
    """

    name: str = Field(min_length=1)
    when: Literal["start"] | WhenSpec = WhenSpec()
    goals: dict[str, GoalSpec] = {}
    tune: dict[str, TuneSpec] = {}
    grasp: dict[str, str] = {}
    release: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    formulation: Literal["acceleration", "velocity", "torque"] | None = None
    contact_joints: bool | None = None
    compliant: bool | None = None
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
