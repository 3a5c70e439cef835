"""State: one moment of a world, as a frozen value."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Contact:
    """One contact: the two bodies, where [m], and the force [N] on the second body, world axes."""

    bodies: tuple[str, str]
    point: Array  # (3,)
    force: Array  # (3,)


@dataclass(frozen=True)
class State:
    """time [s], positions, velocities, contacts; `full` is MuJoCo's integration state, enough to go on from."""

    time: float
    qpos: Array  # (nq,)
    qvel: Array  # (nv,)
    contacts: tuple[Contact, ...]
    full: Array
