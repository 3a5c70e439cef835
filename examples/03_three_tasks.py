"""Three prioritized tasks on the human, without a scene file. Run: python examples/03_three_tasks.py"""

import numpy as np

import manikin as mk
from manikin.motion.keyframes import posture_of
from manikin.physics.attach import hold_still
from manikin.scenes.scripts import Steps
from manikin.scenes.stage import stage
from manikin.tasks.goals import Fixed
from manikin.tasks.laws import Stabilize
from manikin.tasks.measures import CentreOfMass, Points

# a human on an empty stage, standing as in the shipped clip, feet clamped where they are
figure, clip = mk.human(skin=False), mk.load_clip("stand")
world = mk.World(stage("reach", [figure], {}))
posture, standing = posture_of(world, figure), clip.angles(figure.joints)[0]
world.data.qpos[:7], world.data.qpos[posture.qpos] = clip.root(figure.height)[0], standing
world.forward()
for clamp in figure.equalities:
    hold_still(world, clamp.attrib["name"])

# one hand up and forward, the centre of mass over the feet, the rest as when standing: in that order
hand = Points(np.array([world.body("hand_l")]), np.zeros((1, 3)))
balance = CentreOfMass(world.model.body_mass.copy(), np.zeros(world.model.nbody))
tasks = [
    mk.Task("hand", hand, Stabilize(0.8), priority=0, goal=Fixed(np.array([0.55, 0.15, 1.55]))),
    mk.Task("balance", balance, Stabilize(0.8), priority=1, goal=Fixed(np.array([0.03, 0.0]))),
    mk.Task("posture", posture, Stabilize(0.8), priority=2, goal=Fixed(standing)),
]
run = mk.Run(world, mk.Prioritized(), Steps(()), tasks)

print("time [s]   hand [cm]   balance [cm]   posture [deg]: how far each is from its goal")
for _ in range(6):
    run.advance(250)
    print(f"{world.time:8.1f} {100 * tasks[0].error:11.2f} {100 * tasks[1].error:14.2f} {np.degrees(tasks[2].error):15.1f}")


def hand_acceleration(chosen: list[mk.Task]) -> np.ndarray:
    """What the hand is about to do under these tasks [m/s^2]."""
    world.refresh()
    response = world.dynamics().response()
    measured = hand.evaluate(world.dynamics())
    torque = mk.Prioritized().solve(world, chosen, world.timestep).torque
    return measured.jacobian @ response.forward(torque) + measured.bias


# a lower task never changes a higher one: move the goal of the posture far away and look at the hand
before = hand_acceleration(tasks)
tasks[2].aim_at(Fixed(standing + 0.5))
change = np.abs(hand_acceleration(tasks) - before).max()
print(f"another posture goal changes the hand's acceleration by {change:.1e} m/s^2")
assert tasks[0].error < 0.005
assert tasks[1].error < 0.005
assert change < 1e-8
