"""Three prioritized tasks on a human, without a scene file. Run: python examples/03_three_tasks.py"""

import numpy as np

import manikin as mk

# a human on an empty stage, standing, feet clamped where they are
world = mk.stage(mk.human(skin=False))
posture = mk.posture(world)
standing = world.data.qpos[posture.qpos].copy()

# one hand up and forward, the centre of mass over the feet, the rest as when standing: in that order
hand = mk.Task("hand", mk.points(world, "hand_l"), mk.Stabilize(0.8), goal=mk.Fixed([0.55, 0.15, 1.55]), priority=0)
balance = mk.Task("balance", mk.centre_of_mass(world), mk.Stabilize(0.8), goal=mk.Fixed([0.03, 0.0]), priority=1)
rest = mk.Task("posture", posture, mk.Stabilize(0.8), goal=mk.Fixed(standing), priority=2)

controller = mk.Prioritized()
run = mk.Run(world, controller, tasks=[hand, balance, rest])

print("time [s]   hand [cm]   balance [cm]   posture [deg]: distances from the goals")
for _ in range(6):
    run.advance(250)
    print(f"{world.time:8.1f} {100 * hand.error:11.2f} {100 * balance.error:14.2f} {np.degrees(rest.error):15.1f}")


def hand_acceleration() -> np.ndarray:
    """What the hand is about to do under these tasks [m/s^2]."""
    world.refresh()
    now = hand.measure.evaluate(world.dynamics())
    torque = controller.solve(world, run.tasks, world.timestep).torque
    return now.jacobian @ world.dynamics().response().forward(torque) + now.bias


# a lower task never changes a higher one: move the goal of the posture far away and look at the hand
before = hand_acceleration()
rest.aim_at(mk.Fixed(standing + 0.5))
change = np.abs(hand_acceleration() - before).max()
print(f"another posture goal changes the hand's acceleration by {change:.1e} m/s^2")
assert hand.error < 0.005
assert balance.error < 0.005
assert change < 1e-8
