"""Make docs/images/retarget.png: one motion file on three bodies. Run: python tools/make_clip_picture.py"""

import tempfile
from pathlib import Path

from make_pictures import IMAGES, across, draw

import manikin as mk  # before mujoco: it chooses what to draw with
from manikin.clips.bvh import write_bvh
from manikin.export.framing import View
from manikin.motion.chain import clip_motion
from manikin.motion.keyframes import posture_of
from manikin.motion.retarget import read_clip
from manikin.physics.world import World
from manikin.scenes.stage import stage

PEOPLE = ({"height": 1.5, "mass": 42.0}, {"height": 1.75, "mass": 75.0}, {"height": 2.0, "mass": 120.0})


def main() -> None:
    view = View(42.0, -6.0, 4.6, (0.15, 0.0, 0.95))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lift.bvh"
        write_bvh(clip_motion(mk.load_clip("lift_knees"), mk.human(skin=False)), file)
        cast = [mk.human(**person, prefix=f"{k}/") for k, person in enumerate(PEOPLE)]
        clips = [read_clip(str(file), character) for character in cast]
    world = World(stage("retarget", cast, {}))
    for k, (character, clip) in enumerate(zip(cast, clips)):
        frame = (20, 28, 45)[k]
        root = clip.root(character.height)[frame]
        root[:2] += 1.15 * (k - 1) * across(view)
        start = int(world.model.jnt_qposadr[world.joint(character.prefix + "root")])
        world.data.qpos[start : start + 7] = root
        names = tuple(j.removeprefix(character.prefix) for j in character.joints)
        world.data.qpos[posture_of(world, character).qpos] = clip.angles(names)[frame]
    world.forward()
    draw(world.model, [world.data.qpos], view, (960, 560)).save(IMAGES / "retarget.png")


if __name__ == "__main__":
    main()
