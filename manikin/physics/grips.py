"""Grips that break: what fingers must bear to keep a prop in the palm, against the strength of the grip.

Pressing a prop into the palm takes no finger strength, and its friction helps to hold the prop. What pulls it out of
the palm, or along the palm beyond that friction, is borne by the grip.
"""

import numpy as np
from numpy.typing import NDArray

from manikin.physics.attach import palm_axis, release
from manikin.physics.contacts import contact_bodies, contact_forces, weld_wrenches
from manikin.physics.world import World

Array = NDArray[np.float64]

# friction of skin: 0.46 over all sites, 0.62 at the palm (Zhang & Mak 1999, "In vivo friction properties of human skin")
SKIN_FRICTION = 0.46


def break_grips(world: World) -> list[str]:
    """Let go of every prop that loads its grip beyond what it can bear (World.grip_limits); the hands that lost theirs."""
    limits = world.grip_limits
    if not limits or not world.held:
        return []
    lost = []
    for hand, prop, force in grip_forces(world):
        if prop in limits and grip_load(force, palm_axis(world, hand)) > limits[prop]:
            release(world, hand)
            lost.append(hand)
    return lost


def grip_load(force: Array, outward: Array) -> float:
    """What the fingers bear [N] when the hand acts on the prop with `force` (3,); outward (3,): out of the palm."""
    press = float(force @ outward)
    along = float(np.linalg.norm(force - press * outward))
    return float(np.hypot(max(-press, 0.0), max(along - SKIN_FRICTION * max(press, 0.0), 0.0)))


def grip_forces(world: World) -> list[tuple[str, str, Array]]:
    """Each hand that holds a prop, the prop, and the force (3,) of that hand on it: weld and contacts together.

    The two may work against each other while a prop comes to rest on the palm; only their sum moves it.
    """
    model, data = world.model, world.data
    held = [(hand, prop, e) for hand, prop, e in world.grips if data.eq_active[e]]
    # a grip that was closed after the last step has no rows yet
    wrenches = weld_wrenches(model, data)
    pairs, pushes = (contact_bodies(model, data), contact_forces(model, data)) if data.ncon else (None, None)
    out = []
    for hand, prop, e in held:
        if e not in wrenches:
            continue
        force = -wrenches[e][:3]
        if pairs is not None and pushes is not None:
            one, two = world.body(hand), world.body(prop)
            force += pushes[(pairs == [one, two]).all(axis=1)].sum(axis=0)
            force -= pushes[(pairs == [two, one]).all(axis=1)].sum(axis=0)
        out.append((hand, prop, force))
    return out
