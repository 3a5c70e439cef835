"""Make the clips that ship with the package, from key poses. Run: python tools/make_clips.py"""

from pathlib import Path

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
LOW, HIGH = (0.41, 0.155, 0.15), (0.34, 0.155, 1.10)


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
    for name, keys in clips.items():
        clip = make_clip(world, figure, keys, 30.0, stance)
        save_clip(clip, LIBRARY / f"{name}.npz")
        print(name, clip.qpos.shape)


if __name__ == "__main__":
    main()
