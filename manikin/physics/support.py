"""Standing on real feet: the soles press on the ground, within friction, and never pull.

Abe & Popovic 2006 clamp the feet and name real contacts as future work (section 6). Here the feet are kept flat and still, as
by clamps, but the body is supported by forces at points of the soles inside their friction cones. The ground acts on the whole
body, and what it holds, by one wrench: the force balance along the six rigid motions of body and load together.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from manikin.compiled import kernel, routine
from manikin.linear.cone import push_only
from manikin.linear.nullspace import dot

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# a sole point higher than this [m] does not press
TOUCHING = 0.006
# gains that bring a foot to rest and keep it flat [1/s, 1/s^2]
REST, FLAT = 40.0, 400.0
# cost of pressing [1/N^2] against missing the wrench in units of acceleration
RIDGE = 1e-8
# the wrench counts as supplied when it is met within this [m/s^2, rad/s^2]
MET = 1e-2
# fraction of the friction between soles and ground that control plans with
TRUSTED_FRICTION = 0.75


@dataclass(frozen=True)
class Support:
    """A character on its own feet.

    feet, foot_points: bodies and the points (n, 3) of them that rest on the ground; flat: bodies hinged to a foot that lie
    on the ground with it (toes); soles, sole_points: where all of them press.
    """

    root: int
    feet: Ints
    foot_points: Array
    flat: Ints
    soles: Ints
    sole_points: Array
    friction: float
    mass: float


class Ground(NamedTuple):
    """Where characters stand, at one state.

    feet, feet_bias: rows (k, n) of the feet that touch, to be kept still. rigid (6 s, n), soles (3 m, n), touching (m,): see
    `ground_forces`. spans (s, 4): for each support its first and last sole point, the friction coefficient that control plans
    with, and its mass.
    """

    feet: Array
    feet_bias: Array
    rigid: Array
    soles: Array
    touching: Array
    spans: Array


@kernel
def rigid_motions(root: int, free: Ints, dof: Ints, xpos: Array, xmat: Array, n: int) -> Array:
    """Joint velocities (6, n) when everything moves like one rigid body: along x, y, z, then about the root's own axes.

    free: bodies with a free joint, the root first; dof: their first DOF.
    """
    out = np.zeros((6, n))
    for f in range(free.shape[0]):
        b, d = free[f], dof[f]
        for k in range(3):
            out[k, d + k] = 1.0
        ax, ay, az = xpos[b, 0] - xpos[root, 0], xpos[b, 1] - xpos[root, 1], xpos[b, 2] - xpos[root, 2]
        for k in range(3):
            p, q, r = xmat[root, k], xmat[root, 3 + k], xmat[root, 6 + k]
            out[3 + k, d] = q * az - r * ay
            out[3 + k, d + 1] = r * ax - p * az
            out[3 + k, d + 2] = p * ay - q * ax
            for m in range(3):
                out[3 + k, d + 3 + m] = xmat[b, m] * p + xmat[b, 3 + m] * q + xmat[b, 6 + m] * r
    return out


@kernel
def rest_bias(rows: Array, bias: Array, qvel: Array, up: Array) -> None:
    """Add to a foot's bias (6,) what brings it to rest and flat; its height is left to the ground. up: its own z axis."""
    for k in range(6):
        bias[k] += REST * dot(rows[k], qvel)
    # a rotation about up x z brings the foot's axis back to the vertical
    bias[3] -= FLAT * up[1]
    bias[4] += FLAT * up[0]


@routine
def ground_forces(
    wrench: Array, rigid: Array, soles: Array, touching: Array, friction: float, mass: float
) -> tuple[Array, float]:  # fmt: skip
    """Forces (m, 3) of the ground at the sole points that come nearest to a wrench (6,), and how far it is missed.

    soles (3 m, n): Jacobian of the points; rigid (6, n). Four-sided pyramids inside the cones keep friction exactly.
    """
    points = touching.shape[0]
    count = 0
    for p in range(points):
        count += 1 if touching[p] > 0 else 0
    scale = np.empty(6)
    for k in range(6):
        # moments count as for a body with a radius of gyration of 0.3 m
        scale[k] = 1.0 / mass if k < 3 else 1.0 / (0.1 * mass)
    A = np.empty((6, 4 * count))
    c = 0
    for p in range(points):
        if touching[p] <= 0:
            continue
        for k in range(6):
            x = dot(rigid[k], soles[3 * p])
            y = dot(rigid[k], soles[3 * p + 1])
            z = dot(rigid[k], soles[3 * p + 2])
            A[k, c] = scale[k] * (z + friction * x)
            A[k, c + 1] = scale[k] * (z - friction * x)
            A[k, c + 2] = scale[k] * (z + friction * y)
            A[k, c + 3] = scale[k] * (z - friction * y)
        c += 4
    weights, left = push_only(A, scale * wrench, RIDGE)
    force = np.zeros((points, 3))
    c = 0
    for p in range(points):
        if touching[p] <= 0:
            continue
        force[p, 0] = friction * (weights[c] - weights[c + 1])
        force[p, 1] = friction * (weights[c + 2] - weights[c + 3])
        force[p, 2] = weights[c] + weights[c + 1] + weights[c + 2] + weights[c + 3]
        c += 4
    missed = 0.0
    for k in range(6):
        missed = max(missed, abs(left[k]))
    return force, missed
