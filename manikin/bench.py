"""Benchmarks: medians of one run, reported as ratios. `_ms` keys are for information only."""

import time
from collections.abc import Callable
from itertools import cycle

import mujoco
import numpy as np

from manikin.characters.human import human
from manikin.clips.clip import Clip, library, load_clip
from manikin.controllers.prioritized import Prioritized
from manikin.errors import InputError, did_you_mean
from manikin.motion.keyframes import posture_of
from manikin.motion.nearest import nearest_pose
from manikin.physics.attach import hold_still
from manikin.physics.support import MET
from manikin.physics.world import INTEGRATION, World
from manikin.scenes.build import build_run
from manikin.scenes.build_world import stand_support
from manikin.scenes.scene import load_scene
from manikin.scenes.stage import stage
from manikin.tasks.goals import Fixed
from manikin.tasks.laws import Stabilize
from manikin.tasks.measures import CentreOfMass, Points
from manikin.tasks.task import Task

Progress = Callable[[float], None]
Figures = dict[str, float]


def run_bench(name: str | None, progress: Progress | None = None, long: bool = False) -> Figures:
    """All benchmarks, or one by name, as one flat table. `long` adds campaigns, which take minutes to hours."""
    if name is not None and name not in BENCHMARKS:
        raise InputError(f"no benchmark is called '{name}'{did_you_mean(name, BENCHMARKS)}")
    chosen = [name] if name else list(BENCHMARKS)
    if long and not set(chosen) & set(CAMPAIGNS):
        raise InputError(f"--long: '{name}' has no campaign{did_you_mean('', CAMPAIGNS)}")
    out: Figures = {}
    for k, benchmark in enumerate(chosen):

        def report(part: float, done: int = k) -> None:
            if progress is not None:
                progress((done + part) / len(chosen))

        out |= {f"{benchmark}.{key}": value for key, value in BENCHMARKS[benchmark]().items()}
        if long and benchmark in CAMPAIGNS:
            out |= {f"{benchmark}.{key}": value for key, value in CAMPAIGNS[benchmark](report).items()}
        report(1.0)
    return out


def median_seconds(*works: Callable[[], object], rounds: int = 30, count: int = 50) -> list[float]:
    """Median time of one call of each function. They alternate, so that a busy machine slows all of them alike."""
    times = np.empty((len(works), rounds, count))
    for work in works:
        for _ in range(count):
            work()
    for r in range(rounds):
        for w, work in enumerate(works):
            for k in range(count):
                begin = time.perf_counter()
                work()
                times[w, r, k] = time.perf_counter() - begin
    return [float(t) for t in np.median(times.reshape(len(works), -1), axis=1)]


def standing_world(feet: str) -> World:
    """The human alone, in its standing pose, on clamped or on contact feet."""
    character = human(feet=feet, skin=False)  # type: ignore[arg-type]
    world = World(stage("bench", [character], {}))
    clip = load_clip("stand")
    world.data.qpos[:7] = clip.root(character.height)[0]
    world.data.qpos[posture_of(world, character).qpos] = clip.angles(character.joints)[0]
    world.forward()
    for equality in character.equalities:
        hold_still(world, equality.attrib["name"])
    world.forward()
    return world


def physics() -> tuple[Callable[[], None], Callable[[], None]]:
    """The denominator: one mj_step of the human standing in pose on contact feet, from one fixed state with eight or
    more contacts; and the return to that state alone, to be subtracted."""
    world = standing_world("contact")
    model, data = world.model, world.data
    # the soles touch lightly: press them on by a millimetre
    data.qpos[2] -= 0.001
    world.forward()
    if data.ncon < 8:
        raise RuntimeError(f"the standing figure has {data.ncon} contacts, eight are needed")
    state = world.full_state()

    def back() -> None:
        mujoco.mj_setState(model, data, state, INTEGRATION)

    def step() -> None:
        back()
        mujoco.mj_step(model, data)

    return step, back


def three_levels(world: World) -> list[Task]:
    """Hands, centre of mass, posture: the task set that is measured."""
    character = human(skin=False)
    bodies = np.array([world.body(h) for h in character.hands])
    offsets = np.array([world.model.site_pos[world.site(h)] for h in character.hands])
    hands = Points(bodies, offsets)
    posture = posture_of(world, character)
    mass = world.model.body_mass.copy()
    now = hands.evaluate(world.dynamics()).value
    return [
        Task("hands", hands, Stabilize(1.0), 0, goal=Fixed(now + 0.05), max_force=400.0),
        Task("balance", CentreOfMass(mass, np.zeros_like(mass)), Stabilize(0.8), 1, goal=Fixed(np.array([0.03, 0.0]))),
        Task("posture", posture, Stabilize(1.2), 2, goal=Fixed(posture.evaluate(world.dynamics()).value)),
    ]


def control() -> Callable[[], None]:
    """Dynamics, tasks and solve of three levels on clamped feet."""
    world = standing_world("clamped")
    controller, tasks = Prioritized(), three_levels(world)

    def update() -> None:
        world.dynamics().refresh()
        controller.control(world, tasks, world.timestep)

    return update


def control_on_feet(speed: float) -> Callable[[], None]:
    """The same on contact feet, moving forward at `speed` [m/s]: 0 needs no more than the ground can give, 1.5 does."""
    character, world = human(feet="contact", skin=False), standing_world("contact")
    world.dynamics().stand_on((stand_support(world, character),))
    world.data.qvel[0] = speed
    world.forward()
    controller, tasks = Prioritized(), three_levels(world)
    short = controller.solve(world, tasks, world.timestep).short
    if (short > MET) != (speed > 0):
        raise RuntimeError(f"the ground falls short of what is needed by {short:.3g} m/s^2 at {speed} m/s")

    def update() -> None:
        world.dynamics().refresh()
        controller.control(world, tasks, world.timestep)

    return update


def mink() -> Callable[[], None] | None:
    """mink's kinematic solve_ik on the same model: two feet, two hands, centre of mass, posture. None without mink."""
    try:
        import mink as peer
    except ImportError:
        return None
    world = standing_world("clamped")
    configuration = peer.Configuration(world.model, world.data.qpos.copy())
    frames = [
        peer.FrameTask(name, "site", position_cost=cost, orientation_cost=rotation)
        for name, cost, rotation in (
            ("foot_l", 100.0, 100.0),
            ("foot_r", 100.0, 100.0),
            ("hand_l", 10.0, 0.0),
            ("hand_r", 10.0, 0.0),
        )
    ]
    centre, posture = peer.ComTask(cost=1.0), peer.PostureTask(world.model, cost=0.1)
    tasks = [*frames, centre, posture]
    for task in tasks:
        task.set_target_from_configuration(configuration)
    limits = [peer.ConfigurationLimit(world.model)]

    def solve() -> None:
        # as in a loop: new kinematics, then the solve
        configuration.update(world.data.qpos)
        peer.solve_ik(configuration, tasks, world.timestep, solver="daqp", limits=limits)

    return solve


def realtime_factor() -> float:
    """Simulated over real time of the whole lift, control at 500 Hz and recording included: median of tenths of a second."""
    work = build_run(load_scene("lift"))
    work.advance(1)
    factors = []
    while not work.script.done:
        began, real = work.world.time, time.perf_counter()
        work.advance(50)
        factors.append((work.world.time - began) / (time.perf_counter() - real))
    return float(np.median(factors[:-1]))


def bench_abe2006() -> Figures:
    """Prioritized control against physics, against a peer, and against the clock."""
    peer = mink()
    works = [*physics(), control(), control_on_feet(0.0), control_on_feet(1.5)]
    stepping, returning, controlling, on_feet, beyond, *other = median_seconds(*works, *([peer] if peer else []))
    step = stepping - returning
    out = {
        "control_over_mj_step": round(controlling / step, 3),
        "contact_control_over_mj_step": round(on_feet / step, 3),
        "contact_infeasible_over_mj_step": round(beyond / step, 3),
        "realtime_factor_500hz": round(realtime_factor(), 3),
        "updates_per_second": round(1 / controlling, 1),
        "document_updates_per_second": 60.0,
        "mj_step_ms": round(step * 1e3, 4),
        "control_ms": round(controlling * 1e3, 4),
        "contact_control_ms": round(on_feet * 1e3, 4),
        "contact_infeasible_ms": round(beyond * 1e3, 4),
    }
    if other:
        out |= {"control_over_mink": round(controlling / other[0], 3), "mink_ms": round(other[0] * 1e3, 4)}
    return out


def long_clip(frames: int, seed: int = 0) -> Clip:
    """A random walk through the poses of all shipped clips, each visit varied a little."""
    rng = np.random.default_rng(seed)
    clips = [load_clip(name) for name in library()]
    joints = clips[0].joints
    parts: list[np.ndarray] = []
    while sum(len(p) for p in parts) < frames:
        clip = clips[int(rng.integers(len(clips)))]
        count = int(rng.integers(60, 240))
        # a random stretch of the clip, at a random speed, with slow variations
        begin, end = np.sort(rng.uniform(0, len(clip.qpos) - 1, 2))
        chosen = np.linspace(begin, end, count).round().astype(int)
        bent = clip.qpos[chosen].copy()
        phase = rng.uniform(0, 2 * np.pi, len(joints))[None] + np.linspace(0, 3, count)[:, None]
        bent[:, 7:] += rng.normal(0, 0.08, len(joints)) * np.sin(phase)
        parts.append(bent)
    qpos = np.concatenate(parts)[:frames]
    return Clip(30.0, joints, qpos, np.ones((frames, 2), bool), clips[0].height)


def nearest_pose_search(frames: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """The nearest frame of a long clip, through the index and by brute force. The figure moves between searches."""
    character, world, clip = human(skin=False), standing_world("clamped"), long_clip(frames)
    source = nearest_pose(clip, world, "", character.bodies, character.joints, character.joints, character.height)
    assert source.index is not None
    posture = posture_of(world, character)
    states = []
    rng = np.random.default_rng(1)
    for frame in rng.integers(frames, size=64):
        world.data.qpos[:7] = clip.qpos[frame, :7]
        world.data.qpos[posture.qpos] = clip.qpos[frame, 7:] + rng.normal(0, 0.05, len(character.joints))
        mujoco.mj_kinematics(world.model, world.data)
        states.append(source.markers_of(world))
    index = source.index
    one, other = cycle(states), cycle(states)
    return lambda: index.nearest(next(one)), lambda: index.exhaustive(next(other))


def bench_nearest() -> Figures:
    """Searching a clip of 20,000 frames through the index, against brute force."""
    indexed, all_frames = median_seconds(*nearest_pose_search(20_000), rounds=8, count=16)
    return {
        "index_over_brute_force": round(indexed / all_frames, 4),
        "brute_force_over_index": round(all_frames / indexed, 1),
        "frames": 20_000.0,
        "index_ms": round(indexed * 1e3, 4),
        "brute_force_ms": round(all_frames * 1e3, 4),
    }


def bench_studio() -> Figures:
    """The studio as raw clients see it: latency from event to physics, frames, server cost, many clients, the preview."""
    from manikin.studio.measure import bench_studio as measure

    return measure()


def studio_campaign(progress: Progress) -> Figures:
    """Ten simulated minutes of random dragging and pushing in each scene, and ten minutes of the lift in real time."""
    from manikin.studio.campaign import campaign

    return campaign(600.0, 600.0, progress=progress)


def bench_kim2011() -> Figures:
    """Direct control of every character, relative to real time."""
    from manikin.bench_direct import bench_kim2011 as measure

    return measure()


def drag_campaign(progress: Progress) -> Figures:
    """Ten thousand random drags of the characters under direct control."""
    from manikin.bench_direct import drag_campaign as drags

    return drags(progress=progress)


BENCHMARKS: dict[str, Callable[[], Figures]] = {
    "abe2006": bench_abe2006, "nearest": bench_nearest, "studio": bench_studio, "kim2011": bench_kim2011,
}  # fmt: skip
CAMPAIGNS: dict[str, Callable[[Progress], Figures]] = {"studio": studio_campaign, "kim2011": drag_campaign}
