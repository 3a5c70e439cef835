"""Does a figure on its own feet stand? One definition for pushes, catches and lifts; trials of pushes. See docs/feet.md."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from manikin.errors import Diverged
from manikin.loop import Run
from manikin.physics.world import Push, World
from manikin.scenes.build import build_run
from manikin.scenes.scene import Scene, load_scene

Array = NDArray[np.float64]

# the figure takes its stance, is pushed, and is watched from the push on [s]
SETTLE, PUSH, WATCH = 1.5, 0.2, 4.0
# fallen: the centre of mass gets further than this from where it was, beyond the soles, or the pelvis sinks below this [m]
FAR, LOWEST = 0.25, 0.3
# a foot that moves further than this has slipped [m]
SLIP = 0.005
# at the end the centre of mass is this near to where it was [m] and slower than this [m/s]
PLACE, SPEED = 0.05, 0.05


@dataclass(frozen=True)
class Stood:
    """How a figure got through a disturbance.

    lowest: height of the pelvis at its lowest; slip: how far a foot moved at most; sway: how far the centre of mass, with what
    is carried, moved over the ground at most; away: the same at the end [m]; speed: its speed at the end [m/s].
    """

    lowest: float
    slip: float
    sway: float
    away: float
    speed: float

    @property
    def upright(self) -> bool:
        """It did not fall."""
        return self.sway <= FAR and self.lowest >= LOWEST

    @property
    def slipped(self) -> bool:
        """A foot left its place."""
        return not self.slip <= SLIP

    @property
    def settled(self) -> bool:
        """The sway is over: the weight is back where it was, and rests."""
        return self.away <= PLACE and self.speed <= SPEED

    @property
    def stands(self) -> bool:
        """Upright, without slipping, and no longer swaying."""
        return self.upright and not self.slipped and self.settled


@dataclass
class Watch:
    """Watches how a figure stands, from the state in which it is made. Mutable: `look` after every few steps."""

    world: World
    pelvis: str = "pelvis"
    feet: tuple[str, ...] = ("foot_l", "foot_r")
    lowest: float = field(init=False, default=math.inf)
    slip: float = field(init=False, default=0.0)
    sway: float = field(init=False, default=0.0)
    speed: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        world = self.world
        self._body, self._sites = world.body(self.pelvis), [world.site(f) for f in self.feet]
        self._mine = world.model.body_rootid == world.model.body_rootid[self._body]
        self._feet, self._start = self._places()
        self._last, self._time = self._start, world.time

    def _places(self) -> tuple[Array, Array]:
        """Feet (k, 2), and the centre of mass (2,) of the figure with what it carries."""
        world, data = self.world, self.world.data
        mass = world.model.body_mass * np.where(self._mine, 1.0, world.load)
        return data.site_xpos[self._sites][:, :2].copy(), np.asarray(mass @ data.xipos[:, :2] / mass.sum())

    def look(self) -> None:
        """Take in the present state."""
        feet, com = self._places()
        self.lowest = min(self.lowest, float(self.world.data.xpos[self._body, 2]))
        self.slip = max(self.slip, float(np.linalg.norm(feet - self._feet, axis=1).max()))
        self.sway = max(self.sway, float(np.linalg.norm(com - self._start)))
        if self.world.time > self._time:
            self.speed = float(np.linalg.norm(com - self._last)) / (self.world.time - self._time)
            self._last, self._time = com, self.world.time

    def outcome(self) -> Stood:
        """How the figure stands now, and what was seen until now."""
        self.look()
        away = float(np.linalg.norm(self._places()[1] - self._start))
        return Stood(self.lowest, self.slip, self.sway, away, self.speed)


FELL = Stood(-math.inf, math.inf, math.inf, math.inf, math.inf)


def push_standing(
    force: float, angle: float, scene: Scene | None = None, body: str = "pelvis", run: Run | None = None
) -> Stood:  # fmt: skip
    """Push with `force` [N] for 0.2 s towards `angle` [rad] (0 is forward, then to the left); `scene`: `stand` unless given.

    run: that scene, built by the caller.
    """
    if run is None:
        run = build_run(load_scene("stand") if scene is None else scene, record=False)
    world = run.world
    step = world.timestep
    run.advance(round(SETTLE / step))
    watch, push = Watch(world), Push(body, force * np.array([math.cos(angle), math.sin(angle), 0.0]))
    try:
        for k in range(round(WATCH / step) // 10):
            run.advance(10, [push] if k < round(PUSH / step) // 10 else [])
            watch.look()
            if watch.sway > FAR:
                break
    except Diverged:
        return FELL
    return watch.outcome()
