"""Three prioritized tasks on a human, without a scene file. Run: python examples/03_three_tasks.py"""

import numpy as np

import manikin as mk

# a human on an empty stage, standing, feet clamped where they are
world = mk.stage(mk.human(skin=False))
posture = mk.posture(world)
standing = posture.evaluate(world.dynamics()).value

# one hand up and forward, the centre of mass over the feet, the rest as when standing: in that order
hand = mk.Task("hand", mk.points(world, "hand_l"), mk.Stabilize(0.8), goal=mk.Fixed([0.55, 0.15, 1.55]), priority=0)
balance = mk.Task("balance", mk.centre_of_mass(world), mk.Stabilize(0.8), goal=mk.Fixed([0.03, 0.0]), priority=1)
rest = mk.Task("posture", posture, mk.Stabilize(0.8), goal=mk.Fixed(standing), priority=2)
run = mk.Run(world, mk.Prioritized(), tasks=[hand, balance, rest])


def show() -> None:
    """One line: how far each task is from its goal."""
    print(f"{world.time:8.1f} {100 * hand.error:11.2f} {100 * balance.error:14.2f} {np.degrees(rest.error):15.1f}")


print("time [s]   hand [cm]   balance [cm]   posture [deg]: distances from the goals")
for _ in range(6):
    run.advance(250)
    show()
assert hand.error < 0.005
assert balance.error < 0.005

# a lower task never disturbs a higher one: bend every joint by 30 degrees more, as far as hand and balance leave them free
rest.aim_at(mk.Fixed(standing + np.radians(30)))
furthest = 0.0
for _ in range(6):
    run.advance(250)
    show()
    furthest = max(furthest, hand.error)
print(f"while the posture changed, the hand was never further than {1000 * furthest:.1f} mm from its goal")
assert furthest < 0.005
