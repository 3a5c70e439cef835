"""Tables of a scene file for characters, props, external forces and the camera."""

import itertools
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from manikin.characters.body_plan import HEIGHT_RANGE, MASS_RANGE, joint_names
from manikin.errors import did_you_mean
from manikin.scenes.faces import SHAPES
from manikin.scenes.furniture import PANE
from manikin.scenes.schema_table import FacesSpec, Finite, Positive, Share, Speed, Table, Vector


class CharacterSpec(Table):
    """A character."""

    model: Literal["human", "lamp", "worm", "fish", "starfish", "donut"] = "human"
    height: float = Field(default=1.75, ge=HEIGHT_RANGE[0], le=HEIGHT_RANGE[1])
    mass: float = Field(default=75.0, ge=MASS_RANGE[0], le=MASS_RANGE[1])
    sex: Literal["neutral", "female", "male"] = "neutral"
    feet: Literal["clamped", "contact"] = "clamped"
    at: tuple[Finite, Finite] = (0.0, 0.0)
    facing: Finite = 0.0
    clip: str = "stand"
    clip_fps: Annotated[float, Field(gt=0, le=10_000)] | None = (
        None  # rate of a motion file [Hz], where the file's is wrong or missing
    )
    skeleton: str | None = None  # the .asf of an .amc clip; default: the one in its folder
    locked: tuple[str, ...] = ()
    strength: float = Field(default=1.0, gt=0, le=10)
    above: Annotated[float, Field(ge=0, le=10)] = 0.0  # [m] over the ground at the start; not for the human

    @model_validator(mode="before")
    @classmethod
    def _own_keys(cls, value: Any) -> Any:
        # before the ranges are checked: a range says nothing about a key that the model does not have
        model = value.get("model", "human") if isinstance(value, dict) else None
        if not isinstance(model, str):
            return value
        human_only = ("height", "mass", "sex", "feet", "clip", "clip_fps", "skeleton", "locked")
        # a default counts as well: whoever writes it expects that it does something
        for key in ("above",) if model == "human" else human_only:
            if key in value:
                allowed = "height, mass, clip, ..." if model == "human" else "model, at, facing, above, strength"
                raise ValueError(f"{key} is not for a {model} (allowed: {allowed})")
        return value

    @field_validator("locked")
    @classmethod
    def _known_joints(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for joint in value:
            if joint not in joint_names():
                raise ValueError(f"no joint is called '{joint}'{did_you_mean(joint, joint_names())}")
        return value


class GripSpec(Table):
    """How a hand holds a prop. force [N]: more than that pulls it out of the palm or along it (what presses it into the
    palm does not count). softness [s]: the time in which a difference in speed is absorbed."""

    force: Positive | None = None
    softness: float = Field(default=0.0, ge=0, le=0.5)


class PropSpec(Table):
    """A prop. size: box [x, y, z]; sphere [radius]; capsule and cylinder [radius, length]; chain [thickness / 2, length];
    pendulum [radius of its bob, length from the joint to the bob's middle]; case [x, y, z] outside; seesaw [length, width,
    thickness].

    at: its middle, the upper end of a chain or pendulum, or the pivot of a seesaw; or a table of its faces, such as
    { back = 0.31, bottom = 0 }, which holds for any size. A prop joined to a hand at the start needs none.
    unknown: the controller does not know that a hand carries it.
    """

    shape: Literal["box", "sphere", "capsule", "cylinder", "chain", "pendulum", "case", "seesaw"]
    size: tuple[Annotated[float, Field(gt=0, le=20)], ...]
    mass: float = Field(default=1.0, gt=0, le=10_000)
    friction: float = Field(default=0.8, ge=0, le=10)
    at: tuple[Finite, Finite, Finite] | FacesSpec | None = None
    turn: tuple[Finite, Finite, Finite] = (0.0, 0.0, 0.0)
    fixed: bool = False
    velocity: tuple[Speed, Speed, Speed] = (0.0, 0.0, 0.0)  # [m/s] at the start: thrown
    catchable: bool = False  # palms touch it
    grip: GripSpec = GripSpec()
    links: int | None = Field(default=None, ge=2, le=64)  # chain; 12 when not given
    damping: float | None = Field(default=None, ge=0, le=100)  # [N m s] of a chain's, pendulum's or seesaw's joints
    unknown: bool = False
    colour: tuple[Share, Share, Share] | None = None
    opacity: Share | None = None  # default: a case is see-through, other props are opaque

    @model_validator(mode="after")
    def _size_fits(self) -> "PropSpec":
        count = {"box": 3, "case": 3, "seesaw": 3, "sphere": 1}.get(self.shape, 2)
        if len(self.size) != count:
            raise ValueError(f"a {self.shape} needs {count} numbers in size, {len(self.size)} were given")
        if self.links is not None and self.shape != "chain":
            raise ValueError(f"links are for a chain, not for a {self.shape}")
        if self.damping is not None and self.shape not in ("chain", "pendulum", "seesaw"):
            raise ValueError(f"damping is for a chain, a pendulum or a seesaw, not for a {self.shape}")
        if self.shape == "pendulum" and self.size[1] <= self.size[0]:
            raise ValueError("size: a pendulum must be longer than its bob's radius")
        if self.shape == "case" and min(self.size) < 4 * PANE:
            raise ValueError(f"size: a case must measure {4 * PANE:g} m or more, or there is no space inside")
        if isinstance(self.at, FacesSpec) and self.shape not in SHAPES:
            raise ValueError(f"at: a {self.shape} has no faces: give [x, y, z] (faces are for {', '.join(SHAPES)})")
        if self.shape == "seesaw":
            self._seesaw_fits()
        if self.fixed and any(self.velocity):
            raise ValueError("velocity is for a prop that can move, and this one is fixed")
        return self

    def _seesaw_fits(self) -> None:
        length, _, thick = self.size
        if thick > 0.25 * length:
            raise ValueError("size: a seesaw must be at least four times as long as thick")
        if any(self.velocity):
            raise ValueError("velocity is for a prop that can fly, and a seesaw stays on its pivot")
        if self.turn[0] or self.turn[1]:
            raise ValueError("turn: a seesaw may only be rotated about the vertical: [0, 0, yaw]")
        if isinstance(self.at, tuple) and self.at[2] <= 0:
            raise ValueError("at: the pivot of a seesaw must be above the ground")


Newtons = Annotated[float, Field(ge=-1e6, le=1e6)]


class TugSpec(Table):
    """A scripted mouse: a force [N], world axes, that pulls at a point `at` of a body (in its frame) along a path of time.

    path: rows [time, fx, fy, fz], joined by a smooth curve; no force before the first and after the last row.
    """

    body: str
    at: Vector = (0.0, 0.0, 0.0)
    path: tuple[tuple[Finite, Newtons, Newtons, Newtons], ...]

    @model_validator(mode="after")
    def _times_increase(self) -> "TugSpec":
        times = [row[0] for row in self.path]
        if len(times) < 2 or any(b <= a for a, b in itertools.pairwise(times)):
            raise ValueError("path needs two or more rows [time, fx, fy, fz], times increasing")
        return self


class CameraSpec(Table):
    """The camera of renders: azimuth from the front towards the character's left, elevation [deg], distance and point [m].

    Without distance or point they are chosen by the size and motion of the characters.
    """

    azimuth: Finite = 38.0
    elevation: Finite = -9.0
    distance: Positive | None = None
    at: tuple[Finite, Finite, Finite] | None = None
