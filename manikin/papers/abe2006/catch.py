"""Abe & Popovic 2006, section 5 "Catch": random balls, one at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.clips.clip import load_clip
from manikin.errors import Diverged
from manikin.loop import Run
from manikin.papers.abe2006.look import Exchange, events, momentum_exchange
from manikin.papers.claims import Claim, Finding, Lab
from manikin.physics.attach import palm_gap
from manikin.physics.world import World
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene

Array = NDArray[np.float64]

GRAVITY = 9.81
# the window in which balls come: ahead of the ankles, to the side (right is negative), height [m]
PLANE, ACROSS, HEIGHT = 0.42, (-0.75, 0.25), (0.9, 1.7)
ARM = ("upper_arm_r_flexion", "upper_arm_r_abduction", "forearm_r_flexion")
HAND, BALL = "hand_r", "ball"
# the palm may neither hold from further away nor sink in deeper [m]
TOUCH = 0.005


@dataclass(frozen=True)
class Ball:
    """A ball in flight: where it starts [m], how fast [m/s], and after how long [s] it crosses the window where."""

    mass: float
    radius: float
    at: tuple[float, float, float]
    velocity: tuple[float, float, float]
    crossing: tuple[float, float, float]
    seconds: float

    def changes(self) -> dict[str, Any]:
        """The keys of the scene that throw this ball."""
        return {
            "props.ball.at": list(self.at), "props.ball.velocity": list(self.velocity),
            "props.ball.mass": self.mass, "props.ball.size": [self.radius],
        }  # fmt: skip


def random_flight(
    rng: np.random.Generator, speeds: tuple[float, float] = (2.0, 8.0), azimuth: float = 25.0,
    across: tuple[float, float] = ACROSS, height: tuple[float, float] = HEIGHT,
) -> tuple[Array, Array, Array, float]:  # fmt: skip
    """Start, velocity, crossing and seconds of a flight through the window, by ballistics back from the crossing.

    0.6 to 0.9 s long, from up to `azimuth` degrees to either side, rising with -1 to 3.5 m/s, from a height of 0.3 to
    2.8 m. What comes more slowly than 1.5 m/s over the ground falls rather than comes, and is drawn again.
    """
    while True:
        crossing = np.array([PLANE, rng.uniform(*across), rng.uniform(*height)])
        seconds, speed, up = rng.uniform(0.6, 0.9), rng.uniform(*speeds), rng.uniform(-1.0, 3.5)
        angle = np.deg2rad(rng.uniform(-azimuth, azimuth))
        over_ground = np.sqrt(max(speed**2 - up**2, 0.0))
        velocity = np.array([-over_ground * np.cos(angle), over_ground * np.sin(angle), up])
        start = crossing - seconds * velocity + np.array([0.0, 0.0, 0.5 * GRAVITY * seconds**2])
        if over_ground >= 1.5 and 0.3 <= start[2] <= 2.8:
            return start, velocity, crossing, float(seconds)


def random_balls(count: int, seed: int, heaviest: float = 1.5) -> list[Ball]:
    """Balls of 0.1 kg to `heaviest`, radius 3 to 12 cm, 2 to 8 m/s at release. The first few do not depend on the count."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        mass, radius = rng.uniform(0.1, heaviest), rng.uniform(0.03, 0.12)
        start, velocity, crossing, seconds = random_flight(rng)
        out.append(Ball(float(mass), float(radius), _three(start), _three(velocity), _three(crossing), seconds))
    return out


def _three(v: Array) -> tuple[float, float, float]:
    return (float(v[0]), float(v[1]), float(v[2]))


@dataclass(frozen=True)
class Catch:
    """What became of a ball. Lengths [m]; NaN where it was never touched.

    held: still one second after the catch. gap: palm to ball when it was attached. deepest: largest overlap of palm and
    ball at any step. waiting: hand from its place when the ball was near. along: hand's velocity at the touch as a share of
    the ball's. given: furthest that the ball goes from where it was caught. back: the same one second later. hand: how far the
    hand then is from where it caught. arm: angles [deg] at the touch.
    """

    held: bool
    gap: float
    deepest: float
    waiting: float
    along: float
    given: float
    back: float
    hand: float
    arm: tuple[float, ...]
    upright: bool
    trouble: str = ""


def catch_one(changes: dict[str, Any], wait: float = 1.0) -> Catch:
    """Run the scene `catch` step by step; a simulation that diverges is a miss."""
    run = build_run(load_scene("catch", changes), record=False)
    world, nan = run.world, float("nan")
    seen: dict[str, Any] = dict.fromkeys(("gap", "waiting", "along", "given", "back", "hand"), nan) | {"arm": (nan,) * len(ARM)}
    deepest, caught, trouble = 0.0, float("inf"), ""
    tasks = {t.name: t for t in run.tasks}
    ball, hand = world.body(BALL), world.site(HAND)
    try:
        while not run.script.done and world.time < caught + wait and world.time < 5.0:
            before = _began(run)
            run.advance(1)
            gap = palm_gap(world, HAND, BALL)[0]
            deepest = max(deepest, -gap)
            for step in _began(run)[len(before) :]:
                if step == "match":
                    seen["waiting"] = tasks["wait"].error
                if step == "caught":
                    caught, place, palm = world.time, world.data.xpos[ball].copy(), world.data.site_xpos[hand].copy()
                    seen |= {"gap": gap, "along": _along(world), "arm": _arm(world), "given": 0.0}
            if world.time > caught:
                seen["back"] = float(np.linalg.norm(world.data.xpos[ball] - place))
                seen["given"] = max(seen["given"], seen["back"])
                seen["hand"] = float(np.linalg.norm(world.data.site_xpos[hand] - palm))
    except Diverged as error:
        trouble = str(error)
    late = world.time >= caught + wait - 2 * world.timestep
    held = not trouble and late and ball in world.held
    upright = not trouble and float(world.data.xpos[world.body("pelvis"), 2]) > 0.75
    return Catch(held, deepest=deepest, upright=upright, trouble=trouble, **seen)


def _began(run: Run) -> list[str]:
    return list(run.script.began)  # type: ignore[attr-defined]


def velocity_of(world: World, kind: mujoco.mjtObj, number: int) -> Array:
    """Linear velocity [m/s] in world axes; after a step, that with which it began."""
    out = np.zeros(6)
    mujoco.mj_objectVelocity(world.model, world.data, kind, number, out, 0)
    return out[3:]


def _along(world: World) -> float:
    ball = velocity_of(world, mujoco.mjtObj.mjOBJ_BODY, world.body(BALL))
    hand = velocity_of(world, mujoco.mjtObj.mjOBJ_SITE, world.site(HAND))
    return float(hand @ ball / max(float(ball @ ball), 1e-9))


def _arm(world: World) -> tuple[float, ...]:
    return tuple(float(np.rad2deg(world.data.qpos[world.model.jnt_qposadr[world.joint(j)]])) for j in ARM)


# --- the campaign


def campaign(lab: Lab) -> list[Catch]:
    """The balls of this document's seed, each caught or not."""
    return lab.campaign("catches", random_balls(lab.pick(12, 200), lab.seed), lambda ball: catch_one(ball.changes()))


def caught(lab: Lab) -> Finding:
    return judge_catches(campaign(lab))


def judge_catches(catches: Sequence[Catch]) -> Finding:
    held = sum(c.held for c in catches)
    share = held / len(catches)
    return Finding(
        100 * share, share >= 0.95, {"held": held, "balls": len(catches), "diverged": sum(bool(c.trouble) for c in catches)}
    )


def waits(lab: Lab) -> Finding:
    away = np.array([c.waiting for c in campaign(lab)])
    away = away[np.isfinite(away)]
    return Finding(100 * float(np.median(away)), bool(np.median(away) < 0.10), {"p95_cm": 100 * np.quantile(away, 0.95)})


def matches(lab: Lab) -> Finding:
    along = np.array([c.along for c in campaign(lab)])
    along = along[np.isfinite(along)]
    return Finding(100 * float(np.median(along)), bool(np.median(along) > 0.4), {"p5": 100 * np.quantile(along, 0.05)})


def clamps(lab: Lab) -> Finding:
    return judge_touch(campaign(lab))


def judge_touch(catches: Sequence[Catch]) -> Finding:
    """Attached only when the palm touches, and never sunk in: 5 mm for both."""
    gaps = np.array([c.gap for c in catches])
    gap, deepest = float(np.nanmax(np.abs(gaps))), max(c.deepest for c in catches)
    numbers = {
        "gap_mm": 1000 * gap,
        "penetration_mm": 1000 * deepest,
        "deeper_than_5_mm": sum(c.deepest > TOUCH for c in catches),
    }
    return Finding(1000 * max(gap, deepest), max(gap, deepest) <= TOUCH, numbers)


def comes_back(lab: Lab) -> Finding:
    held = [c for c in campaign(lab) if c.held]
    if not held:
        return Finding(None, False, {}, "no ball was held")
    ball, hand, given = np.median([(c.back, c.hand, c.given) for c in held], axis=0)
    return Finding(100 * float(ball), bool(ball < 0.03), {"hand_cm": 100 * hand, "given_cm": 100 * given, "balls": len(held)})


def arm_varies(lab: Lab) -> Finding:
    arms = np.array([c.arm for c in campaign(lab)])
    spread = np.nanmax(arms, axis=0) - np.nanmin(arms, axis=0)
    return Finding(float(spread.max()), bool(spread.max() > 20), {"joints": ARM, "range_deg": spread})


def clip_length(lab: Lab) -> Finding:
    clip = load_clip("catch")
    seconds = (len(clip.qpos) - 1) / clip.fps
    return Finding(seconds, 5 <= seconds <= 20)


# --- weights


def _weights(lab: Lab, **more: Any) -> tuple[tuple[float, ...], list[Catch]]:
    masses = lab.pick((0.2, 1.0, 5.0), (0.1, 0.2, 0.5, 1.0, 2.0, 3.5, 5.0))
    key = ("weights", repr(sorted(more.items())))
    return masses, lab.once(key, lambda: [catch_one({"props.ball.mass": m} | more) for m in masses])


def weight_tells(lab: Lab) -> Finding:
    masses, catches = _weights(lab)
    return judge_weights(masses, catches)


def judge_weights(masses: Sequence[float], catches: Sequence[Catch]) -> Finding:
    """The hand gives way further with each step of the weight."""
    given = [c.given for c in catches]
    holds = all(c.held for c in catches) and bool((np.diff(given) > 0).all())
    return Finding(given[-1] / given[0], holds, {"mass_kg": masses, "given_m": given, "held": [c.held for c in catches]})


def limits_matter(lab: Lab) -> Finding:
    """The heaviest ball with the force limit and without it."""
    masses, limited = _weights(lab)
    free = lab.once("free catch", lambda: catch_one({"props.ball.mass": masses[-1], "tasks.back.max_force": 1e6}))
    ratio = limited[-1].given / max(free.given, 1e-9)
    return Finding(ratio, ratio > 1.1, {"mass_kg": masses[-1], "limited_m": limited[-1].given, "free_m": free.given})


def slows(lab: Lab) -> Finding:
    """From recordings of a light and a heavy ball: how long it keeps going the way it came, how far, and that it turns back."""
    masses, times, ways, backs = (0.5, 5.0), [], [], []
    for mass in masses:
        take = lab.take("catch", {"props.ball.mass": mass})
        recording, touch = take.recording, events(take).get("caught", float("inf"))
        after = recording.time > touch
        if not after.any():
            return Finding(None, False, {"mass_kg": mass}, "the ball was not caught")
        velocity, place = recording.qvel[:, -6:-3], recording.qpos[:, -7:-4]
        heading = velocity[~after][-1] / np.linalg.norm(velocity[~after][-1])
        way = (place[after] - place[after][0]) @ heading
        far = int(way.argmax())
        times.append(float(recording.time[after][far] - touch))
        ways.append(float(way[far]))
        backs.append(float(way[far] - way[-1]))
    holds = min(times) > 0.05 and min(ways) > 0.05 and all(b > 0.5 * w for b, w in zip(backs, ways))
    return Finding(min(times), holds, {"mass_kg": masses, "seconds": times, "way_m": ways, "way_back_m": backs})


def exchange(lab: Lab) -> Finding:
    """From 20 ms before the touch to 0.2 s after it."""
    found: dict[float, Exchange] = {}
    for mass in lab.pick((0.5,), (0.1, 0.5, 1.5, 5.0)):
        take = lab.take("catch", {"props.ball.mass": mass})
        touch = events(take).get("caught")
        if touch is None:
            return Finding(None, False, {"mass_kg": mass}, "the ball was not caught")
        found[mass] = momentum_exchange(take.recording, touch - 0.02, touch + 0.2)
    return judge_exchange(found)


def judge_exchange(found: dict[float, Exchange]) -> Finding:
    worst = max(e.gap for e in found.values())
    numbers = {f"{m:g} kg": {"change": np.linalg.norm(e.after - e.before), "gap": e.gap} for m, e in found.items()}
    return Finding(100 * worst, worst <= 0.01, numbers)


def rates(lab: Lab) -> Finding:
    """The same balls at lower control rates."""
    balls = random_balls(lab.pick(1, 10), lab.seed)
    held = {}
    for rate in lab.pick((62.5, 500.0), (62.5, 125.0, 250.0, 500.0)):
        held[f"{rate:g} Hz"] = sum(catch_one(b.changes() | {"control.rate": rate}).held for b in balls) / len(balls)
    return Finding(100 * min(held.values()), min(held.values()) >= 0.9, held)


SOURCE = "section 5, Catch"
FLIGHTS = "random balls through the window, `catch`"
CLAIMS = (
    Claim(
        "catch.caught",
        "balls of different weights, sizes and velocities are caught",
        SOURCE,
        "",
        "%",
        f"{FLIGHTS}: still held 1 s after the catch, at least 95 %",
        caught,
    ),
    Claim(
        "catch.waits",
        "stabilization puts the hand about where the ball will be caught",
        SOURCE,
        "approximately",
        "cm",
        f"{FLIGHTS}: hand from that place when the ball is near, median below 10 cm",
        waits,
    ),
    Claim(
        "catch.matches",
        "near the ball, tracking matches the hand's velocity to the ball's",
        SOURCE,
        "match",
        "%",
        f"{FLIGHTS}: hand's velocity along the ball's at the touch, median above 40 %",
        matches,
    ),
    Claim(
        "catch.clamps",
        "the ball is clamped to the hand on contact",
        SOURCE,
        "",
        "mm",
        f"{FLIGHTS}: largest gap when attached and deepest overlap at any step, at most 5 mm",
        clamps,
    ),
    Claim(
        "catch.momentum",
        "and the exchange of momentum is physical",
        "section 5, Catch (simulation constraint)",
        "",
        "%",
        "`catch`: change of momentum of body and ball against the impulse of ground and gravity, from the replay, 1 %",
        exchange,
    ),
    Claim(
        "catch.returns",
        "stabilization brings the ball back to where the catch was made",
        SOURCE,
        "",
        "cm",
        f"{FLIGHTS}: ball from that place 1 s later, median below 3 cm",
        comes_back,
    ),
    Claim(
        "catch.arm",
        "the arm's configuration varies with the place of the hand",
        SOURCE,
        "",
        "deg",
        f"{FLIGHTS}: range of shoulder and elbow angles at the touch, above 20",
        arm_varies,
    ),
    Claim(
        "catch.clip",
        "from a sequence of 10 seconds of arm placements",
        SOURCE,
        "10",
        "s",
        "length of the clip `catch`",
        clip_length,
    ),
    Claim(
        "catch.weight",
        "the heavier the ball, the more the character reacts",
        SOURCE,
        "",
        "x",
        "`catch` with balls up to 5 kg: the hand gives way further at each step; heaviest by lightest",
        weight_tells,
    ),
    Claim(
        "catch.limits",
        "force limits keep the hand from being stabilized too quickly",
        SOURCE,
        "",
        "x",
        "`catch`, heaviest ball: way given with limit over that without, above 1.1",
        limits_matter,
    ),
    Claim(
        "catch.slows",
        "the arm's motion slows the ball down before it returns",
        SOURCE,
        "",
        "s",
        "`catch`, 0.5 and 5 kg: the held ball keeps going for (above 0.05 s, above 5 cm), then more than half of the way back",
        slows,
    ),
    Claim(
        "catch.rate",
        "with 60 or more updates a second",
        "section 5",
        "60",
        "%",
        "`catch` at 62 to 500 updates a second: balls held at the worst rate, at least 90 %",
        rates,
    ),
)
