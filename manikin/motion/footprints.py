"""Footprints: where each resting foot belongs, and goals that hold it there.

A flat sole is held in position and orientation; a landing heel and a ball that pushes off are held as points. In between,
the feet's own goals are shifted with the prints before and after, so that there are no jumps.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from manikin.characters.catalog import REFERENCE_HEIGHT
from manikin.clips.source import runs
from manikin.motion.chain import Chain, Poses
from manikin.motion.contacts import Contacts, find_contacts
from manikin.motion.spacetime import Goal
from manikin.spatial import quat_from_axis_angle, quat_multiply, rotate, yaw_of

Array = NDArray[np.float64]

# in statures: the heel in the foot's frame, and the height of the joint at the ball of the foot above the ground
HEEL = (-0.030, 0.0, -0.043)
BALL = 0.012
# weight of footprints relative to joint centres
PLANT = 120.0
# footprints this close to the ground are put on it [m]
_SNAP = 0.04
# heels and balls are held within this distance of their print [statures]
_STRAY = 0.025
# the time after which a foot on its ball may pivot freely [s]
_PIVOT = 0.25


def foot_contacts(chain: Chain, poses: Poses, fps: float) -> Contacts:
    """Which heels and balls of the feet rest, in a motion of our skeleton."""
    heel, ball = heels_and_balls(chain, poses)
    return find_contacts(heel, ball, fps, chain.height / REFERENCE_HEIGHT)


def heels_and_balls(chain: Chain, poses: Poses) -> tuple[Array, Array]:
    """Paths (T, 2, 3) of the heels' lowest points and of the soles under the balls, left and right."""
    down = np.array([0.0, 0.0, -BALL * chain.height])
    heel = [poses.point(chain.body(f"foot_{s}"), np.array(HEEL) * chain.height) for s in "lr"]
    ball = [poses.point(chain.body(f"toes_{s}"), down) for s in "lr"]
    return np.stack(heel, axis=1), np.stack(ball, axis=1)


def planted(chain: Chain, goals: list[Goal], poses: Poses, contacts: Contacts, fps: float) -> list[Goal]:
    """Goals with footprints: resting feet are held, and the feet's goals in between are shifted with the footprints."""
    out = list(goals)
    for foot, side in enumerate("lr"):
        body, toes = chain.body(f"foot_{side}"), chain.body(f"toes_{side}")
        prints = _footprints(chain, poses, contacts, foot)
        heel_goal, ball_goal, flat_goal, offset = _holds(chain, poses, contacts, prints, foot)
        pivot = _pivoting(poses.rotation[:, body], flat_goal[1], contacts.flat[:, foot], fps)
        out = [_shifted(g, offset) if g.body == body and g.point is not None else g for g in out]
        weight = np.full(len(offset), PLANT)
        flat, ball = contacts.flat[:, foot], contacts.ball[:, foot]

        def near(a: Array, b: Array) -> NDArray[np.bool_]:
            return np.asarray(np.linalg.norm(a - b, axis=1) < _STRAY * chain.height)

        # a heel before it lands, or a ball after it has left, is not held
        heels, balls = heels_and_balls(chain, poses)
        heel_only = contacts.heel[:, foot] & ~flat & near(heels[:, foot], heel_goal)
        ball_only = ball & ~flat & near(balls[:, foot] + [0.0, 0.0, BALL * chain.height], ball_goal)
        out.append(Goal(body, np.zeros(3), flat_goal[0], weight * flat))
        out.append(Goal(body, None, flat_goal[1], 0.3 * weight * flat))
        out.append(Goal(body, np.array(HEEL) * chain.height, heel_goal, 0.5 * weight * heel_only))
        out.append(Goal(toes, np.zeros(3), ball_goal, 0.5 * weight * ball_only))
        out.append(Goal(toes, None, pivot, 0.1 * weight * (flat | ball_only)))
    return out


def _pivoting(rotations: Array, print_rotations: Array, flat: NDArray[np.bool_], fps: float) -> Array:
    """Level rotations (T, 4) of the toes: with the heading of the print while the sole is flat, free once the heel has been up.

    People who squat with the knees apart pivot on the balls of their feet.
    """
    out = print_rotations.copy()
    rests = np.flatnonzero(flat)
    for t in np.flatnonzero(~flat):
        away = float(np.abs(rests - t).min()) / fps if len(rests) else np.inf
        angle = yaw_of(rotations[t]) - yaw_of(print_rotations[t])
        angle = (angle + np.pi) % (2 * np.pi) - np.pi
        part = min(1.0, away / _PIVOT)
        out[t] = quat_multiply(quat_from_axis_angle((0, 0, 1), part * part * (3 - 2 * part) * angle), print_rotations[t])
    return out


def _shifted(goal: Goal, offset: Array) -> Goal:
    return Goal(goal.body, goal.point, goal.target + offset, goal.weight)


@dataclass(frozen=True)
class Footprint:
    """A stretch [start, end) of contact of a foot: the place of its ankle (3,) and the rotation of the foot (4,) when flat."""

    start: int
    end: int
    ankle: Array
    rotation: Array


def _footprints(chain: Chain, poses: Poses, contacts: Contacts, foot: int) -> list[Footprint]:
    """One print for each stretch of contact, from its flat frames if there are any.

    A stretch with several flat parts (a foot that pivots or shuffles) is divided between them.
    """
    side = "lr"[foot]
    body = chain.body(f"foot_{side}")
    out = []
    for start, end in runs(contacts.heel[:, foot] | contacts.ball[:, foot]):
        flats = [(a + start, b + start) for a, b in runs(contacts.flat[start:end, foot])] or [(start, end)]
        cuts = [start, *((a[1] + b[0]) // 2 for a, b in pairwise(flats)), end]
        for (a, b), first, last in zip(flats, cuts, cuts[1:]):
            out.append(_footprint(chain, poses, contacts, (a, b), (first, last), body, foot))
    return out


def _footprint(
    chain: Chain, poses: Poses, contacts: Contacts, flat: tuple[int, int], whole: tuple[int, int], body: int, foot: int
) -> Footprint:  # fmt: skip
    part = slice(*flat)
    headings = [yaw_of(q) for q in poses.rotation[slice(*whole), body]]
    rotation = quat_from_axis_angle((0, 0, 1), float(np.arctan2(np.median(np.sin(headings)), np.median(np.cos(headings)))))
    # the resting point and its place in the foot: the ankle of a flat sole, else the ball, else the heel
    if contacts.flat[part, foot].any():
        spot, local = poses.place[part, body], np.zeros(3)
    elif contacts.ball[part, foot].any():
        toes = chain.body(f"toes_{'lr'[foot]}")
        spot, local = poses.place[part, toes], chain.offsets[toes]
    else:
        local = np.array(HEEL) * chain.height
        spot = poses.point(body, local)[part]
    ankle = np.median(spot, axis=0) - rotate(rotation, local)
    ground = contacts.floor - HEEL[2] * chain.height
    near = abs(ankle[2] - ground) < _SNAP * chain.height / REFERENCE_HEIGHT
    ankle[2] = ground if near else ankle[2]
    return Footprint(*whole, ankle, rotation)


def _holds(
    chain: Chain, poses: Poses, contacts: Contacts, prints: list[Footprint], foot: int
) -> tuple[Array, Array, tuple[Array, Array], Array]:  # fmt: skip
    """Goals (T, 3) of heel and ball, of ankle and rotation when flat, and the shifts of the foot's own goals (T, 3)."""
    frames = len(poses.place)
    side = "lr"[foot]
    body = chain.body(f"foot_{side}")
    ankle, rotation = np.zeros((frames, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1))
    heel, ball = np.zeros((frames, 3)), np.zeros((frames, 3))
    known, shift = [], []
    heels, balls = heels_and_balls(chain, poses)
    down = np.array([0.0, 0.0, BALL * chain.height])
    for p in prints:
        part = slice(p.start, p.end)
        ankle[part], rotation[part] = p.ankle, p.rotation
        heel[part] = p.ankle + rotate(p.rotation, np.array(HEEL) * chain.height)
        ball[part] = p.ankle + rotate(p.rotation, chain.offsets[chain.body(f"toes_{side}")])
        for t in range(p.start, p.end):
            if contacts.flat[t, foot]:
                offset = p.ankle - poses.place[t, body]
            elif contacts.heel[t, foot]:
                offset = heel[t] - heels[t, foot]
            else:
                offset = ball[t] - down - balls[t, foot]
            if np.linalg.norm(offset) < _STRAY * chain.height:
                known.append(t)
                shift.append(offset)
    if not known:
        return heel, ball, (ankle, rotation), np.zeros((frames, 3))
    moved = np.stack([np.interp(np.arange(frames), known, np.array(shift)[:, k]) for k in range(3)], axis=1)
    return heel, ball, (ankle, rotation), moved
