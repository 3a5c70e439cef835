"""Kim & Pollard 2011, section 6: the lamp with acceleration, velocity or torque kept small, on equal terms."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Formulation
from manikin.papers.claims import Change, Claim, Finding, Lab
from manikin.papers.kim2011.lamp_control import alone, began, direct, task
from manikin.scenes.build import build_run
from manikin.scenes.scene import load_scene
from manikin.tasks.goals import Fixed

Array = NDArray[np.float64]

FORMULATIONS: tuple[Formulation, ...] = ("acceleration", "velocity", "torque")
# the hop as shipped, and with one thing changed
HOPS: tuple[Mapping[str, Any], ...] = (
    {},
    {"character.strength": 0.9},
    {"character.strength": 1.1},
    {"props.mat.friction": 0.6},
    {"steps.leap.goals.head.path.1.3": 0.42},
    {"steps.leap.goals.head.path.1.1": 0.14},
    {"control.rate": 250.0},
)
# how long joints coast [s]
COAST = 0.05


class Effort(NamedTuple):
    """Of one hop: RMS torque [N m], RMS joint speed [rad/s] from 0.3 to 0.8 s after landing, whether it ended on its foot."""

    torque: float
    residual: float
    upright: bool


def hop(formulation: Formulation, slowing: bool | None, changes: Mapping[str, Any]) -> Effort:
    """The hop of `lamp` with one formulation from beginning to end. slowing: of joints that nothing else needs."""
    whole = {"control.formulation": formulation, "steps.land.formulation": formulation}
    run = build_run(load_scene("lamp", {**whole, **changes}), record=False)
    direct(run).slowing = slowing
    torque, speed, landed = [], [], np.inf
    while not run.script.done and run.world.time < 3.0:
        run.advance(1)
        torque.append(run.world.data.actuator_force.copy())
        if "land" in began(run):
            landed = min(landed, run.world.time)
        if 0.3 < run.world.time - landed < 0.8:
            speed.append(run.world.data.qvel[direct(run).skeletons[0].active].copy())
    residual = float(np.sqrt(np.mean(np.square(speed)))) if speed else np.inf
    return Effort(float(np.sqrt(np.mean(np.square(torque)))), residual, "stand" in began(run))


def hops(lab: Lab, slowing: bool | None) -> list[dict[str, Effort]]:
    """Every formulation over each of the hops."""

    def one(changes: Mapping[str, Any]) -> dict[str, Effort]:
        return {f: hop(f, slowing, changes) for f in FORMULATIONS}

    return lab.campaign(("lamp hops", slowing), lab.pick(HOPS[:2], HOPS), one)


def judge_torque(found: list[dict[str, Effort]]) -> Finding:
    """By how much torque is lower than with the better of the other two, in the least favourable hop [%]."""
    gains = [1 - e["torque"].torque / min(e["acceleration"].torque, e["velocity"].torque) for e in found]
    numbers = {
        "hops": len(found), "lowest_in": sum(g > 0 for g in gains), "gain_percent": [100 * g for g in gains],
        "rms_torque_n_m": {f: [e[f].torque for e in found] for f in FORMULATIONS},
        "upright": {f: sum(e[f].upright for e in found) for f in FORMULATIONS},
    }  # fmt: skip
    return Finding(100 * min(gains), min(gains) > 0, numbers)


def as_printed(lab: Lab) -> Finding:
    return judge_torque(hops(lab, False))


def slowed(lab: Lab) -> Finding:
    return judge_torque(hops(lab, True))


def at_once(lab: Lab) -> Finding:
    """RMS torque [N m] that each formulation asks for at the same moment, for the same small drags of the head from rest."""
    run, rng = alone({}), np.random.default_rng(lab.seed)
    run.advance(200)
    run.world.refresh()
    head, asked = task(run, "head"), dict[str, float]()
    now = head.measure.evaluate(run.world.dynamics()).value
    drags = rng.uniform(-0.015, 0.015, (20, 3))
    direct(run).slowing = False
    for formulation in FORMULATIONS:
        direct(run).formulation = formulation
        torques = []
        for drag in drags:
            head.goal = Fixed(now + drag)
            torques.append(direct(run).decide(run.world, [head], 0.005)[0].torque)
        asked[formulation] = float(np.sqrt(np.mean(np.square(torques))))
    least = min(asked["acceleration"], asked["velocity"])
    return Finding(100 * (1 - asked["torque"] / least), asked["torque"] < least, {"rms_torque_n_m": asked})


def comes_to_rest(lab: Lab) -> Finding:
    """RMS speed of joints after the landing, against that with accelerations in each hop."""
    found = hops(lab, False)
    numbers = {f: [e[f].residual for e in found] for f in FORMULATIONS}
    upright = {f: sum(e[f].upright for e in found) for f in FORMULATIONS}
    slower = sum(e["velocity"].residual < e["acceleration"].residual for e in found)
    best = sum(e["velocity"].residual < min(e["acceleration"].residual, e["torque"].residual) for e in found)
    holds = slower == upright["velocity"] == len(found)
    more = {"slower_than_with_acceleration": slower, "slowest_of_three": best}
    return Finding(max(numbers["velocity"]), holds, {"rms_rad_s": numbers, "upright": upright} | more)


def coasts(formulation: Formulation, seed: int) -> float:
    """What fraction of their speed joints have kept after 50 ms in which nothing is asked of them."""
    run = alone({"control.formulation": formulation, "tasks.balance.active": False, "tasks.calm.active": False})
    run.advance(100)
    active = direct(run).skeletons[0].active
    speed = np.random.default_rng(seed).uniform(-0.5, 0.5, len(active))
    run.world.data.qvel[active] = speed
    run.advance(round(COAST / run.world.timestep))
    return float(run.world.data.qvel[active] @ speed / (speed @ speed))


def keeps_momentum(lab: Lab) -> Finding:
    kept = {f: coasts(f, lab.seed) for f in ("acceleration", "velocity")}
    return Finding(100 * kept["acceleration"], kept["acceleration"] > 0.8 and kept["velocity"] < 0.2, kept)


_LEAST = Change(
    "one hop, all formulations as the document has them: torque 1.34, acceleration 1.23, velocity 1.25 N m (does not hold)",
    "one hop, joints slow down in the torque formulation only: 1.218 against 1.233 and 1.253 N m (holds)",
    "a departure from the document made it hold; the comparison is again between equals, over seven hops, in three claims",
)
_HOPS = "the hop of `lamp` as shipped and with one thing changed, 7 hops (2 with --quick), each formulation throughout"
CLAIMS = (
    Claim(
        "lamp.least_torque", "formulated in torques, the same drags use less torque over a motion", "section 6",
        "use less torque than the other formulations", "%",
        _HOPS + ", nothing added: by how much less RMS torque than with the better of the others, in the worst hop; above 0",
        as_printed, "document", (_LEAST,),
    ),
    Claim(
        "lamp.least_torque_slowed", "and also when joints that nothing else needs slow down", "section 6",
        "use less torque than the other formulations", "%",
        "the same hops; all three formulations also ask idle joints to slow down within 0.05 s; above 0", slowed, "document",
        (_LEAST,),
    ),
    Claim(
        "lamp.least_torque_at_once", "at any one moment the torque formulation asks for less torque", "section 6",
        "use less torque than the other formulations", "%",
        "the lamp at rest, 20 small drags of its head, nothing added: RMS torque that is asked for; above 0", at_once,
        "document",
        (Change("at least 20 % less, nothing added; then any less, joints slowing down in the torque formulation only (3 %)",
                "any less, nothing added", "equal terms"),),
    ),
    Claim(
        "lamp.velocity", "formulated in velocities, the landing comes to rest", "section 6; figure 3, frame 6",
        "not proper for ... stopping motions", "rad/s",
        _HOPS + ": RMS joint speed 0.3 to 0.8 s after landing, in every hop lower than with accelerations",
        comes_to_rest, "document",
        (
            Change("one hop, joints slowing down in the torque formulation", "seven hops, the formulations as printed",
                   "equal terms"),
            Change("the lowest of the three formulations", "lower than with accelerations",
                   "the first was missed: in one of two hops the joints were slower with torques, 0.100 against 0.106 rad/s;"
                   " but the document compares velocities with accelerations only, and says nothing of stopping with"
                   " torques"),
        ),
    ),
    Claim(
        "lamp.momentum", "minimal acceleration preserves momentum, minimal velocity does not", "section 6",
        "likely to be preserved as much as possible", "%",
        "the lamp without tasks, joints set in motion: speed that is left after 50 ms, above 80 % (velocity: below 20 %)",
        keeps_momentum,
    ),
)  # fmt: skip
