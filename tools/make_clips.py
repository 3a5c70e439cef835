"""Make the clips that ship with the package, from key poses. Run: python tools/make_clips.py"""

from pathlib import Path
from typing import Any

from manikin.characters.human import human
from manikin.clips.clip import save_clip
from manikin.motion.keyframes import Key, Stance, make_clip
from manikin.physics.world import World
from manikin.scenes.stage import stage

LIBRARY = Path(__file__).parents[1] / "manikin" / "clips" / "library"

# hinge angles [deg]; names without a side mean both sides
STAND = {
    "upper_arm_flexion": 6, "upper_arm_abduction": 7, "forearm_flexion": 16, "forearm_pronation": 15, "thigh_flexion": 1,
    "thigh_abduction": 4, "thigh_rotation": -10, "shank_flexion": 9, "foot_flexion": 8, "lumbar_flexion": 2,
    "head_flexion": 4,
}  # fmt: skip
KNEES = {
    "thigh_flexion": 118, "thigh_abduction": 36, "thigh_rotation": -28, "shank_flexion": 118, "foot_flexion": 32,
    "lumbar_flexion": 12, "thorax_flexion": 8, "head_flexion": -12, "upper_arm_flexion": 62, "upper_arm_abduction": -3,
    "forearm_flexion": 22, "clavicle_protraction": 8,
}  # fmt: skip
BACK = {
    "thigh_flexion": 84, "thigh_abduction": 5, "thigh_rotation": -10, "shank_flexion": 24, "foot_flexion": 2,
    "lumbar_flexion": 36, "thorax_flexion": 24, "head_flexion": -28, "upper_arm_flexion": 112, "upper_arm_abduction": 4,
    "forearm_flexion": 10, "clavicle_protraction": 12,
}  # fmt: skip
HOLD = {
    "upper_arm_flexion": 28, "upper_arm_abduction": 10, "forearm_flexion": 78, "thigh_flexion": 6, "thigh_abduction": 4,
    "thigh_rotation": -10, "shank_flexion": 12, "foot_flexion": 5, "lumbar_flexion": -3, "thorax_flexion": -2,
    "head_flexion": 8,
}  # fmt: skip
# --- reaching with the right hand, from a crouch to overhead
REACH = STAND | {
    "upper_arm_r_flexion": 25, "upper_arm_r_abduction": 10, "forearm_r_flexion": 75, "forearm_r_pronation": 40,
}  # fmt: skip
CROUCH = {
    "thigh_flexion": 112, "thigh_abduction": 30, "thigh_rotation": -24, "shank_flexion": 112, "foot_flexion": 30,
    "lumbar_flexion": 14, "thorax_flexion": 8, "head_flexion": -14, "upper_arm_r_flexion": 58, "upper_arm_r_abduction": 4,
    "forearm_r_flexion": 24, "forearm_r_pronation": 20, "clavicle_r_protraction": 10, "upper_arm_l_flexion": 26,
    "upper_arm_l_abduction": 26, "forearm_l_flexion": 50,
}  # fmt: skip
OVERHEAD = STAND | {
    "upper_arm_r_flexion": 158, "upper_arm_r_abduction": 12, "forearm_r_flexion": 14, "clavicle_r_elevation": 26,
    "head_flexion": -22, "lumbar_flexion": -3, "thorax_flexion": -6, "upper_arm_l_flexion": -4, "upper_arm_l_abduction": 12,
    "shank_flexion": 4, "foot_flexion": 5,
}  # fmt: skip

# --- catching with the right hand; the left arm stays out of the way
READY = {
    "thigh_flexion": 28, "thigh_abduction": 10, "thigh_rotation": -10, "shank_flexion": 36, "foot_flexion": 16,
    "lumbar_flexion": 8, "thorax_flexion": 4, "head_flexion": -6, "upper_arm_r_flexion": 40, "upper_arm_r_abduction": 18,
    "forearm_r_flexion": 92, "forearm_r_pronation": 60, "upper_arm_l_flexion": 4, "upper_arm_l_abduction": 20,
    "forearm_l_flexion": 48,
}  # fmt: skip
READY_HAND = (0.34, -0.20, 1.22)
# the window in front of chest and right shoulder: to the side, and up [m]
SIDES, HEIGHTS = (-0.70, -0.37, -0.03, 0.30), (0.90, 1.30, 1.70)

# --- an underhand toss
HOLD_BALL = STAND | {
    "upper_arm_r_flexion": 30,
    "upper_arm_r_abduction": 10,
    "forearm_r_flexion": 85,
    "forearm_r_pronation": -50,
}
WIND_UP = {
    "thigh_flexion": 34, "thigh_abduction": 6, "thigh_rotation": -10, "shank_flexion": 40, "foot_flexion": 20,
    "lumbar_flexion": 16, "thorax_flexion": 8, "lumbar_rotation": -14, "thorax_rotation": -16, "head_flexion": -16,
    "head_rotation": 24, "upper_arm_r_flexion": -42, "upper_arm_r_abduction": 14, "forearm_r_flexion": 18,
    "forearm_r_pronation": -20, "upper_arm_l_flexion": 26, "upper_arm_l_abduction": 14, "forearm_l_flexion": 34,
}  # fmt: skip
RELEASE = STAND | {
    "thigh_flexion": 8, "shank_flexion": 12, "foot_flexion": 9, "lumbar_flexion": 3, "lumbar_rotation": 6,
    "thorax_rotation": 10, "head_rotation": -10, "upper_arm_r_flexion": 62, "upper_arm_r_abduction": 6,
    "forearm_r_flexion": 18, "forearm_r_pronation": -50, "clavicle_r_protraction": 10, "upper_arm_l_flexion": -14,
    "upper_arm_l_abduction": 14,
}  # fmt: skip
FOLLOW = RELEASE | {
    "upper_arm_r_flexion": 112, "forearm_r_flexion": 42, "lumbar_rotation": 10, "thorax_rotation": 14, "head_rotation": -16,
    "shank_flexion": 6, "foot_flexion": 6, "upper_arm_l_flexion": -18,
}  # fmt: skip

# --- one hand behind the other on a rope
ROPE = STAND | {
    "thigh_flexion": 16, "shank_flexion": 26, "foot_flexion": 14, "lumbar_flexion": 4, "upper_arm_flexion": 38,
    "upper_arm_abduction": 8, "forearm_flexion": 78, "forearm_pronation": 20, "head_flexion": 2,
}  # fmt: skip
LOW, HIGH = (0.41, 0.155, 0.15), (0.34, 0.155, 1.10)


# the weight of a standing body: ahead of the ankles [m]
MIDFOOT = 0.035


def reach() -> list[Key]:
    """Down into a crouch, up to overhead, and back."""
    start, low, high = (0.34, -0.22, 1.10), (0.42, -0.20, 0.38), (0.24, -0.20, 1.96)

    def begin(time: float) -> Key:
        return Key(time, REACH, right=start, ahead=MIDFOOT)

    return [
        begin(0.0), begin(0.2), Key(1.3, CROUCH, 30.0, right=low, ahead=MIDFOOT),
        Key(1.5, CROUCH, 30.0, right=low, ahead=MIDFOOT), Key(2.5, REACH, right=(0.36, -0.22, 1.25), ahead=MIDFOOT),
        Key(3.2, OVERHEAD, right=high, ahead=MIDFOOT, firm=0.8), Key(3.5, OVERHEAD, right=high, ahead=MIDFOOT, firm=0.8),
        begin(4.6), begin(4.8),
    ]  # fmt: skip


def catch() -> list[Key]:
    """From the ready stance to places all over the window, three in a row, and back in between."""
    keys = [Key(0.0, READY, 10.0, right=READY_HAND, palm=FORWARD, ahead=MIDFOOT, firm=2.0)]

    def add(seconds: float, rest: float, **more: Any) -> None:
        for wait in (seconds, rest):
            keys.append(Key(keys[-1].time + wait, ahead=MIDFOOT, firm=2.0, **more))

    def ready(seconds: float) -> None:
        add(seconds, 0.12, angles=READY, pitch=10.0, right=READY_HAND, palm=FORWARD)

    ready(0.2)
    for column, side in enumerate(SIDES):
        for height in HEIGHTS[:: 1 if column % 2 else -1]:
            up = (height - 1.3) / 0.4
            # as far ahead as the arm reaches
            far = max(0.54**2 - (side + 0.20) ** 2 - 0.7 * (height - 1.40) ** 2, 0.28**2) ** 0.5
            add(
                0.34 if up == 0 else 0.42, 0.14, angles=READY | reaching(side, up), pitch=10.0 - 8.0 * up,
                right=(far, side, height), palm=FORWARD,
            )  # fmt: skip
        ready(0.45)
    return keys


def reaching(side: float, up: float) -> dict[str, float]:
    """How the body follows the right hand: up from -1 (low) to 1 (high); it turns to the side and bends its knees."""
    turn, lean = 40.0 * (side + 0.2), 26.0 * max(-up, 0.0)
    return {
        "lumbar_rotation": 0.45 * turn, "thorax_rotation": 0.55 * turn, "head_rotation": -0.7 * turn,
        "lumbar_bending": -7.0 * min(side + 0.37, 0.0) * 2 + 4.0 * max(-up, 0.0),
        "lumbar_flexion": 8 + 0.4 * lean - 5 * max(up, 0),
        "thorax_flexion": 4 + 0.3 * lean - 3 * max(up, 0), "head_flexion": -6 - 6 * up,
        "thigh_flexion": 28 - 16 * up, "shank_flexion": 36 - 22 * up, "foot_flexion": 16 - 7 * up,
        "upper_arm_r_flexion": 62 + 42 * up, "upper_arm_r_abduction": 14 - 60 * (side + 0.2),
        "forearm_r_flexion": 55 - 10 * up, "forearm_r_pronation": 60 if up >= 0 else -40,
        "clavicle_r_elevation": 14 * max(up, 0.0), "clavicle_r_protraction": 14 * max(side + 0.2, 0.0) * 2,
    }  # fmt: skip


def toss() -> list[Key]:
    """Hold, wind up, throw forward and up, follow through, stand."""

    def hold(time: float) -> Key:
        return Key(time, HOLD_BALL, right=(0.36, -0.22, 1.12), palm=UP, ahead=MIDFOOT, firm=2.0)

    def back(time: float) -> Key:
        return Key(time, WIND_UP, 12.0, right=(-0.20, -0.32, 0.86), ahead=0.03, firm=2.0)

    return [
        hold(0.0), hold(0.3), back(0.85), back(0.95),
        Key(1.22, RELEASE, right=(0.48, -0.20, 1.14), palm=THROW, ahead=0.05, firm=2.0),
        Key(1.42, FOLLOW, ahead=0.05, firm=2.0), Key(1.6, FOLLOW, ahead=0.045, firm=2.0),
        Key(2.5, STAND, ahead=0.045), Key(2.7, STAND, ahead=0.045),
    ]  # fmt: skip


FORWARD, UP, THROW = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.7, 0.0, 0.7)


def main() -> None:
    figure = human(skin=False)
    world = World(stage("clips", [figure], {}))
    stance = Stance(half_width=0.17, toe_out=22.0)
    clips = {"stand": [Key(0.0, STAND), Key(0.1, STAND)]}
    for name, down, pitch in (("lift_knees", KNEES, 32.0), ("lift_back", BACK, 62.0)):
        clips[name] = [
            Key(0.0, STAND), Key(0.2, STAND), Key(1.4, down, pitch, LOW), Key(1.6, down, pitch, LOW),
            Key(2.8, HOLD, -2.0, HIGH), Key(3.2, HOLD, -2.0, HIGH),
        ]  # fmt: skip
    clips |= {"reach": reach(), "catch": catch(), "toss": toss()}
    rope: dict[str, Any] = {"right": (0.36, -0.03, 1.00), "left": (0.44, -0.02, 1.03), "ahead": MIDFOOT, "firm": 2.0}
    clips["rope"] = [Key(0.0, ROPE, 2.0, **rope), Key(0.1, ROPE, 2.0, **rope)]
    for name, keys in clips.items():
        clip = make_clip(world, figure, keys, 30.0, stance)
        save_clip(clip, LIBRARY / f"{name}.npz")
        print(name, clip.qpos.shape)


if __name__ == "__main__":
    main()
