"""Posing: a doll that is bent by hand for key poses (Kim & Pollard 2011, section 3). It does not affect the run.

Its root stays where the character is now; only the active joints move, within their limits. Flesh moves with its bones.
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from manikin.controllers.direct import Direct
from manikin.errors import InputError
from manikin.studio.live import Live
from manikin.studio.messages import Pose
from manikin.tasks.ik import Target, solve_pose
from manikin.tasks.measures import Orientation, Points, Posture

Array = NDArray[np.float64]
# weights: root and closed loops stay, the dragged point, the pose as it was
FIRM, PULL, KEEP = 30.0, 1.0, 0.03
# iterations for each move of the pointer
TRIALS = 12


class Doll:
    """A copy of the present moment whose first character can be bent."""

    def __init__(self, live: Live) -> None:
        controller = live.controller
        if not isinstance(controller, Direct):
            raise InputError("key poses are for creatures under direct control")
        self.live, self.skeleton = live, controller.skeletons[0]
        self.world = world = live.world.branch()
        world.forward()
        data = world.data
        (_, bones), *_ = live.cast.characters.items()
        self._root = bones[0]
        self._first = data.qpos.copy()
        root = np.array([self._root])
        turn, place = Orientation(root), Points(root, np.zeros((1, 3)))
        self._fixed = [
            Target(turn, data.xquat[self._root].copy(), FIRM), Target(place, data.xpos[self._root].copy(), FIRM),
        ]  # fmt: skip
        self._posture = Posture(self.skeleton.address, self.skeleton.active)
        self._ends = [(np.array([a]), p, b, q[0]) for (a, b), (p, q) in self.skeleton.loops]
        # nodes of flesh, their bones, and their places in the frames of the bones
        self._flesh = [
            (node, bone, data.xmat[bone].reshape(3, 3).T @ (data.xpos[node] - data.xpos[bone]))
            for node, bone in live.cast.flesh.items()
            if bone in bones
        ]

    def bend(self, message: Pose) -> None:
        """Bring a point of a bone as near to a place as the joints allow."""
        world, live = self.world, self.live
        target, point = live.cast.hold(world, message.target, np.array(message.point))
        body = world.body(target)
        if body not in next(iter(live.cast.characters.values())):
            raise InputError(f"pose.target: '{message.target}' is not a bone of the first creature")
        data = world.data
        targets = [
            *self._fixed,
            *(Target(Points(a, p), data.xpos[b] + data.xmat[b].reshape(3, 3) @ q, FIRM) for a, p, b, q in self._ends),
            Target(Points(np.array([body]), point[None]), np.array(message.goal), PULL),
            Target(self._posture, data.qpos[self._posture.qpos].copy(), KEEP),
        ]
        solve_pose(world, targets, TRIALS)
        bent = data.qpos[self._posture.qpos].copy()
        data.qpos[:] = self._first
        data.qpos[self._posture.qpos] = bent
        mujoco.mj_kinematics(world.model, data)
        self._flesh_along()
        world.forward()

    def _flesh_along(self) -> None:
        """Bring the flesh along: joints of nodes slide along the world axes, from the places of their bodies."""
        model, data = self.world.model, self.world.data
        for node, bone, inside in self._flesh:
            first = int(model.jnt_qposadr[model.body_jntadr[node]])
            data.qpos[first : first + 3] = data.xpos[bone] + data.xmat[bone].reshape(3, 3) @ inside - model.body_pos[node]

    def angles(self) -> tuple[float, ...]:
        """Angles of all active joints [deg]."""
        return tuple(np.rad2deg(self.world.data.qpos[self._posture.qpos]).tolist())
