"""How fast flesh vibrates: explicit integration must resolve its fastest vibration, or it is unstable."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from manikin.characters.tets import Tets

Array = NDArray[np.float64]


def stiffness(tets: Tets, young: float, poisson: float) -> Array:
    """The stiffness (3 n, 3 n) [N/m] of linear tetrahedra at rest."""
    shear = young / (2 * (1 + poisson))
    lame = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    corners = tets.nodes[tets.elements]
    rest = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    # gradients of the weights of the four corners (m, 4, 3)
    slope = np.concatenate([-rest.sum(axis=1, keepdims=True), rest], axis=1)
    blocks = lame * np.einsum("eai,ebj->eaibj", slope, slope) + shear * np.einsum("ebi,eaj->eaibj", slope, slope)
    blocks += shear * np.einsum("eak,ebk,ij->eaibj", slope, slope, np.eye(3))
    blocks *= tets.volumes[:, None, None, None, None]
    number = 3 * tets.elements[:, :, None] + np.arange(3)
    size = 3 * len(tets.nodes)
    out = np.zeros((size, size))
    np.add.at(out, (number[:, :, :, None, None], number[:, None, None, :, :]), blocks)
    return out


def highest_frequency(tets: Tets, mass: Array, free: NDArray[np.bool_], young: float, poisson: float) -> float:
    """The highest natural frequency [rad/s] of the free nodes while all others are fixed. mass (n,) [kg]."""
    chosen = np.flatnonzero(np.repeat(free, 3))
    if not len(chosen):
        return 0.0
    K, root = stiffness(tets, young, poisson)[np.ix_(chosen, chosen)], np.sqrt(np.repeat(mass[free], 3))
    last = len(chosen) - 1
    return float(np.sqrt(eigh(K / np.outer(root, root), eigvals_only=True, subset_by_index=[last, last])[0]))


def stability_ratio(step: float, vibration: float, damping: float) -> float:
    """How near a time step [s] is to the stability bound for a vibration [rad/s] with damping [s]: unstable at 1 and above.

    Symplectic Euler with the damping force of the last step is stable while h^2 w^2 + 2 h damping w^2 < 4.
    """
    return step * (step + 2 * damping) * vibration**2 / 4
