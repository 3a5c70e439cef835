"""Kim & Pollard 2011, Figure 2 and section 6: the worm crawls, the fish jumps and turns over, and what physics says to it."""

import tomllib
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.checks import TOLERANCE
from manikin.controllers.direct import Direct
from manikin.export.soft import SoftSurface, soft_surfaces
from manikin.papers.claims import Claim, Finding, Lab
from manikin.papers.kim2011.watch import momentum_shares
from manikin.physics.inversion import Tetrahedra
from manikin.physics.world import World
from manikin.playback import replay
from manikin.recording import Recording
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.tasks.goals import Aim
from manikin.tasks.laws import Track
from manikin.tasks.measures import Points
from manikin.tasks.task import Task

Array = NDArray[np.float64]

# scene: the bone that tells where it is, and the prop it lies on
SCENES = {"worm": ("middle", "board"), "fish": ("trunk", "dock")}
# joints may be this far [rad] beyond their limits in flight and in smooth motion
SMOOTH = 1e-3
# and this far for this long [s] after an impact
HIT, SECONDS = 0.05, 0.05


@dataclass(frozen=True)
class Watched:
    """What a replay in plain MuJoCo shows, one row per step.

    middle (n, 3) [m]: the bone that tells where the character is; tilt (n,) [deg]: of its upward axis; lowest (n,) [m]: vertex
    of the fine surface over what it lies on; flesh (n,): smallest volume by that at rest; beyond (n,) [rad]: joints over
    their limits; root (n,): force of actuators on the root; speed (n, 3) [m/s] of the centre of mass; spin (n,) [kg m^2/s]:
    angular momentum about it; parts (n,): what it would be if all bodies turned one way; contacts (n,).
    """

    difference: float
    time: Array
    middle: Array
    tilt: Array
    lowest: Array
    flesh: Array
    beyond: Array
    root: Array
    speed: Array
    spin: Array
    parts: Array
    contacts: Array


def watch(recording: Recording, bone: str, prop: str) -> Watched:
    """Replay a recording and look at every step."""
    spec = tomllib.loads(recording.meta["scene"])["props"][prop]
    top = spec["at"][2] + spec["size"][2] / 2
    rows: list[tuple[float, ...]] = []
    kept: list[tuple[Tetrahedra, list[SoftSurface]]] = []

    def look(step: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if not kept:
            kept.append((Tetrahedra.of(model), soft_surfaces(model)))
        tetrahedra, surfaces = kept[0]
        body = model.body(bone).id
        # what a step leaves behind belongs to its beginning, but for positions and speeds of joints
        lowest = min(float(s.places(data.flexvert_xpos)[:, 2].min()) for s in surfaces)
        joints = model.actuator_trnid[:, 0]
        q = data.qpos[model.jnt_qposadr[joints]]
        low, high = model.jnt_range[joints].T
        root = model.jnt_dofadr[[j for j in range(model.njnt) if model.joint(j).name.startswith("root")]]
        speed, spin, parts = _momentum(model, data)
        rows.append((
            float(data.time), *data.xpos[body], float(np.degrees(np.arccos(np.clip(data.xmat[body][8], -1, 1)))),
            lowest - top, tetrahedra.least_ratio(data)[0], float(np.maximum(q - high, low - q).max()),
            float(np.abs(data.qfrc_actuator[root]).max()), *speed, spin, parts, float(data.ncon),
        ))  # fmt: skip

    difference = replay(recording, look).difference
    table = np.array(rows)
    time, tilt, lowest, flesh, beyond, root, spin, parts, contacts = (table[:, k] for k in (0, 4, 5, 6, 7, 8, 12, 13, 14))
    middle, speed = table[:, 1:4], table[:, 9:12]
    return Watched(difference, time, middle, tilt, lowest, flesh, beyond, root, speed, spin, parts, contacts)


def _momentum(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, float, float]:
    """Of all that moves: speed (3,) of the centre of mass, angular momentum about y, and the sum of its parts' amounts."""
    speed, shares = momentum_shares(model, data, model.body_weldid > 0)
    return speed, float(shares[:, 1].sum()), float(np.abs(shares[:, 1]).sum())


def watched(lab: Lab, scene: str) -> Watched:
    """The shipped scene, run and watched once."""
    return lab.once(("watched", scene), lambda: watch(lab.take(scene).recording, *SCENES[scene]))


def happened(recording: Recording, step: str) -> float:
    """When a step of the script began [s]."""
    return float(next(e["time"] for e in recording.meta["events"] if e["name"] == step))


# --- the worm


def crawls(lab: Lab) -> Finding:
    return judge_crawl(watched(lab, "worm"))


def judge_crawl(seen: Watched) -> Finding:
    """How far the middle comes in 20 s; it holds from 1 m on."""
    x = seen.middle[:, 0] - seen.middle[0, 0]
    within = seen.time <= 20.0
    far = float(x[within].max())
    metre = float(seen.time[np.argmax(x >= 1.0)]) if far >= 1.0 else None
    return Finding(far, far >= 1.0, {"one_metre_after_s": metre})


def steps_not_slides(lab: Lab) -> Finding:
    return judge_steps(watched(lab, "worm"))


def judge_steps(seen: Watched) -> Finding:
    """Share of the middle's way that it goes while it is lifted by at least 1 cm."""
    step = np.abs(np.diff(seen.middle[:, 0]))
    up = seen.middle[1:, 2] > seen.middle[0, 2] + 0.01
    share = float(step[up].sum() / max(step.sum(), 1e-9))
    return Finding(100 * share, share > 0.6, {"lifted_share_of_time": float(up.mean())})


# --- the fish


def clears(lab: Lab) -> Finding:
    recording = lab.take("fish").recording
    return judge_jump(watched(lab, "fish"), happened(recording, "arch"))


def judge_jump(seen: Watched, before: float) -> Finding:
    """Lowest vertex of the fine surface over the planks at its best, before the turnover; it holds from 5 cm on."""
    height = seen.lowest[seen.time < before]
    return Finding(100 * float(height.max()), bool(height.max() >= 0.05), {"at_s": float(seen.time[height.argmax()])})


def tail_kept(lab: Lab) -> Finding:
    """How far the pinned tail turns while the nose is dragged, and how far the nose comes up with it."""
    recording = lab.take("fish").recording
    during = (recording.time > happened(recording, "bend")) & (recording.time < happened(recording, "stretch"))
    error = float(np.degrees(recording.tasks["tail"]["error"][during].max()))
    return Finding(error, error < 3.0, {"nose_error_m": float(recording.tasks["nose"]["error"][during].max())})


def turns(lab: Lab) -> Finding:
    return judge_turn(watched(lab, "fish"))


def judge_turn(seen: Watched) -> Finding:
    """By how much the trunk is turned over at the end, at rest; it holds from 150 degrees on."""
    end, speed = float(seen.tilt[-1]), float(np.linalg.norm(seen.speed[-1]))
    return Finding(end, end >= 150.0 and speed < 0.1, {"first_deg": float(seen.tilt[0]), "speed_m_s": speed})


def falls(lab: Lab) -> Finding:
    return judge_fall(watched(lab, "fish"), *_flight(lab))


def _flight(lab: Lab) -> tuple[float, float]:
    recording = lab.take("fish").recording
    return happened(recording, "fly"), happened(recording, "land")


def in_air(seen: Watched, begin: float, end: float) -> NDArray[np.bool_]:
    """Steps between two times without any contact."""
    air = (seen.time > begin) & (seen.time < end) & (seen.contacts == 0)
    # what a step leaves behind belongs to its beginning
    air[np.flatnonzero(air)[:1]] = False
    if air.sum() < 10:
        raise ValueError("no flight to look at")
    return np.asarray(air)


def judge_fall(seen: Watched, begin: float, end: float) -> Finding:
    """In the air: the centre of mass falls with g, and goes on sideways as it did."""
    air = in_air(seen, begin, end)
    fall = -float(np.polyfit(seen.time[air], seen.speed[air, 2], 1)[0])
    side = float(np.ptp(seen.speed[air, 0]) / np.abs(seen.speed[air]).max())
    return Finding(fall, abs(fall / 9.81 - 1) < 0.01 and side < 0.01, {"sideways": side, "steps": int(air.sum())})


def spins(lab: Lab) -> Finding:
    return judge_spin(watched(lab, "fish"), *_flight(lab))


def judge_spin(seen: Watched, begin: float, end: float) -> Finding:
    """In the air: drift of angular momentum against what the parts would have if all turned one way."""
    air = in_air(seen, begin, end)
    spin, scale = seen.spin[air], float(seen.parts[air].max())
    drift = float(np.ptp(spin)) / scale
    late = float(np.ptp(spin[len(spin) // 3 :])) / scale
    reason = "" if drift < 0.01 else "most of it in the first third of the flight, while the flesh still shakes"
    return Finding(100 * drift, drift < 0.01, {"last_two_thirds_percent": 100 * late, "scale_kg_m2_s": scale}, reason)


# --- both


def flesh(lab: Lab) -> Finding:
    least = {name: float(watched(lab, name).flesh.min()) for name in SCENES}
    return Finding(min(least.values()), min(least.values()) > 0.1, least)


def outside(lab: Lab) -> Finding:
    deepest = {name: -1000 * float(watched(lab, name).lowest.min()) for name in SCENES}
    return Finding(max(deepest.values()), max(deepest.values()) < 5.0, deepest)


def limits(lab: Lab) -> Finding:
    found = {name: judge_limits(watched(lab, name)) for name in SCENES}
    worst = max(f.ours or 0.0 for f in found.values())
    return Finding(worst, all(f.holds for f in found.values()), {name: f.numbers for name, f in found.items()})


def judge_limits(seen: Watched) -> Finding:
    """Largest overshoot, and the longest time above what smooth motion may have."""
    over = seen.beyond > SMOOTH
    edges = np.flatnonzero(np.diff(np.concatenate([[False], over, [False]]).astype(int)))
    runs = (edges[1::2] - edges[::2]) * float(seen.time[1] - seen.time[0])
    longest = float(runs.max(initial=0.0))
    worst = float(seen.beyond.max())
    return Finding(worst, worst <= HIT and longest <= SECONDS, {"over_rad": worst, "longest_s": longest, "times": len(runs)})


def replays(lab: Lab) -> Finding:
    gaps = {name: watched(lab, name).difference for name in SCENES}
    return Finding(max(gaps.values()), max(gaps.values()) <= TOLERANCE, gaps)


def root_is_passive(lab: Lab) -> Finding:
    most = {name: float(watched(lab, name).root.max()) for name in SCENES}
    return Finding(max(most.values()), max(most.values()) == 0.0, most)


# --- the singular pose


@dataclass(frozen=True)
class Mouse:
    """A goal somewhere that moves."""

    place: Array
    speed: Array

    def at(self, world: World, moving: bool = True) -> Aim:
        return Aim(self.place, self.speed)


def singular(lab: Lab) -> Finding:
    return judge_singular(np.random.default_rng(lab.seed), lab.pick(60, 400))


def judge_singular(rng: np.random.Generator, drags: int, damping: float | None = None) -> Finding:
    """The straight fish, nose or fin dragged anywhere: accelerations against |b| / sqrt(alpha), torques against their limits.

    No command costs more in Eq. 12 than none at all, so |u| <= |b| / sqrt(alpha) as long as the bounds allow u = 0. Drags:
    up to 1 m and 5 m/s; a third of them along the body, a third across. In three of four poses joints are bent by up to
    0.01 rad.
    """
    run = build_run(load_scene("fish"), record=False)
    world, controller = run.world, run.controller
    assert isinstance(controller, Direct)
    if damping is not None:
        controller.damping = damping
    skeleton, model = controller.skeletons[0], world.model
    most, torque, share = 0.0, 0.0, 0.0
    for k in range(drags):
        # straight, and as good as straight, where what is asked for along the body would need a lot
        world.data.qpos[skeleton.address] = 0.0 if k % 4 == 0 else rng.uniform(-0.01, 0.01, len(skeleton.address))
        world.refresh()
        site = world.site(("nose", "fin")[k % 2])
        points = Points(np.array([model.site_bodyid[site]]), model.site_pos[site][None])
        angle = (0.0, np.pi / 2, rng.uniform(0, np.pi))[k % 3]
        way = np.array([np.cos(angle), 0.0, np.sin(angle)]) * rng.choice([-1.0, 1.0])
        start = world.data.site_xpos[site]
        mouse = Mouse(start + rng.uniform(0, 1.0) * way, rng.uniform(0, 5.0) * way)
        task = Task("drag", points, Track(3.0), goal=mouse)
        decision = controller.decide(world, [task], world.timestep)[0]
        rows = task.rows(world, world.timestep)
        b = rows.wanted - rows.jacobian[:, skeleton.dofs] @ decision.answer.t0
        size = float(np.linalg.norm(decision.acceleration))
        most, torque = max(most, size), max(torque, float((np.abs(decision.torque) / skeleton.torque).max()))
        share = max(share, size / (float(np.linalg.norm(b)) / controller.damping))
    numbers = {"acceleration_rad_s2": most, "torque_over_limit": torque, "drags": drags}
    return Finding(share, share <= 1.0 and torque <= 1 + 1e-6, numbers)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "worm.metre", "a worm is controlled to move about", "section 6", "", "m",
        "`worm`: how far its middle comes within 20 s; at least 1 m", crawls,
    ),
    Claim(
        "worm.steps", "it crawls and does not slide", "section 6", "", "%",
        "`worm`: share of the middle's way that it goes while lifted by 1 cm or more; above 60 %", steps_not_slides,
    ),
    Claim(
        "fish.tail", "the drag leaves the fixed orientation of the tail as it is", "figure 2", "", "deg",
        "`fish`: largest turn of the tail while the nose is dragged; below 3 degrees", tail_kept,
    ),
    Claim(
        "fish.jump", "a drag and then key poses make the fish jump", "figure 2", "", "cm",
        "`fish`: lowest vertex of the fine surface over the planks at its best; at least 5 cm", clears,
    ),
    Claim(
        "fish.turn", "the fish turns over", "figure 2", "", "deg",
        "`fish`: tilt of the trunk at the end, at rest; at least 150 degrees", turns,
    ),
    Claim(
        "fish.fall", "in the air nothing but gravity acts", "section 4", "", "m/s^2",
        "`fish`: fall of the centre of mass in flight within 1 % of 9.81; sideways its speed changes by less than 1 %", falls,
    ),
    Claim(
        "fish.spin", "in the air its angular momentum stays", "section 4", "", "%",
        "`fish`: drift in flight by the largest sum of what the parts have; below 1 %", spins,
    ),
    Claim(
        "fish.singular", "commands stay bounded in the straight, singular pose", "section 5.2", "", "x",
        "straight fish, random drags up to 1 m and 5 m/s: largest |u| over |b| / sqrt(alpha), at most 1; torques in limits",
        singular,
    ),
    Claim(
        "crawl.flesh", "the soft body stays whole", "section 4", "", "x",
        "`worm`, `fish`: smallest volume of a tetrahedron by that at rest; above 0.1", flesh,
    ),
    Claim(
        "crawl.outside", "the fine surface touches and does not sink in", "section 4", "", "mm",
        "`worm`, `fish`: deepest vertex of the fine surface in what it lies on; below 5 mm", outside,
    ),
    Claim(
        "crawl.limits", "joint limits are respected", "section 5.1", "", "rad",
        "`worm`, `fish`: largest overshoot, at most 0.05 rad, and above 0.001 rad for at most 50 ms at a time", limits,
    ),
    Claim(
        "crawl.replay", "motion comes from the physics simulation alone", "section 4", "", "",
        "`worm`, `fish`: difference of a replay in plain MuJoCo", replays,
    ),
    Claim(
        "crawl.root", "no force is exerted through the root joint", "section 4", "", "N, N m",
        "`worm`, `fish`: largest force of actuators on the root's freedoms; zero", root_is_passive,
    ),
)  # fmt: skip
