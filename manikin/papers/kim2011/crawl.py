"""Kim & Pollard 2011, Figure 2 and section 6: the worm crawls, the fish jumps and turns over, and what physics says to it."""

import tomllib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.papers.claims import Claim, Finding, Lab
from manikin.papers.kim2011.bodies import began, judge_flight, seen
from manikin.papers.kim2011.watch import Watched
from manikin.physics.world import World
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.tasks.goals import Aim
from manikin.tasks.laws import Track
from manikin.tasks.measures import Points
from manikin.tasks.task import Task

Array = NDArray[np.float64]

SCENES = ("worm", "fish")


# --- the worm


def crawls(lab: Lab) -> Finding:
    return judge_crawl(seen(lab, "worm"))


def judge_crawl(watched: Watched) -> Finding:
    """How far the middle comes in 20 s; it holds from 1 m on."""
    x = watched.middle[:, 0] - watched.middle[0, 0]
    within = watched.time <= 20.0
    far = float(x[within].max())
    metre = float(watched.time[np.argmax(x >= 1.0)]) if far >= 1.0 else None
    return Finding(far, far >= 1.0, {"one_metre_after_s": metre})


def steps_not_slides(lab: Lab) -> Finding:
    return judge_steps(seen(lab, "worm"))


def judge_steps(watched: Watched) -> Finding:
    """Share of the middle's way that it goes while it is lifted by at least 1 cm."""
    step = np.abs(np.diff(watched.middle[:, 0]))
    up = watched.middle[1:, 2] > watched.middle[0, 2] + 0.01
    share = float(step[up].sum() / max(step.sum(), 1e-9))
    return Finding(100 * share, share > 0.6, {"lifted_share_of_time": float(up.mean())})


# --- the fish


def clears(lab: Lab) -> Finding:
    dock = tomllib.loads(lab.take("fish").recording.meta["scene"])["props"]["dock"]
    return judge_jump(seen(lab, "fish"), dock["at"][2] + dock["size"][2] / 2, began(lab, "fish")["arch"])


def judge_jump(watched: Watched, planks: float, before: float) -> Finding:
    """Lowest vertex of the fine surface over the planks at its best, before the turnover; it holds from 5 cm on."""
    height = watched.lowest[watched.time < before] - planks
    return Finding(100 * float(height.max()), bool(height.max() >= 0.05), {"at_s": float(watched.time[height.argmax()])})


def tail_kept(lab: Lab) -> Finding:
    """How far the pinned tail turns while the nose is dragged, and how far the nose comes up with it."""
    recording, times = lab.take("fish").recording, began(lab, "fish")
    during = (recording.time > times["bend"]) & (recording.time < times["stretch"])
    error = float(np.degrees(recording.tasks["tail"]["error"][during].max()))
    return Finding(error, error < 3.0, {"nose_error_m": float(recording.tasks["nose"]["error"][during].max())})


def turns(lab: Lab) -> Finding:
    return judge_turn(seen(lab, "fish"))


def judge_turn(watched: Watched) -> Finding:
    """By how much the trunk is turned over at the end, at rest; it holds from 150 degrees on."""
    end, speed = float(watched.tilt[-1]), float(np.linalg.norm(watched.centre[-1]))
    return Finding(end, end >= 150.0 and speed < 0.1, {"first_deg": float(watched.tilt[0]), "speed_m_s": speed})


def flight(lab: Lab) -> Finding:
    return judge_flight(seen(lab, "fish"))


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
        "fish.flight", "in the air nothing but gravity acts", "section 4", "", "%",
        "`fish`, no contact: acceleration of the centre of mass within 1 % of g; drift of angular momentum by the sum of"
        " what the parts have; below 1 %", flight,
    ),
    Claim(
        "fish.singular", "commands stay bounded in the straight, singular pose", "section 5.2", "", "x",
        "straight fish, random drags up to 1 m and 5 m/s: largest |u| over |b| / sqrt(alpha), at most 1; torques in limits",
        singular,
    ),
)  # fmt: skip
