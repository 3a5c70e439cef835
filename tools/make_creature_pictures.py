"""Draw the characters of Kim & Pollard 2011 and print how they fall. Run: python tools/make_creature_pictures.py [--measure]"""

import sys
import time
from pathlib import Path

from manikin.renderer import choose_renderer

choose_renderer()

import imageio.v3 as imageio  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402

from manikin.characters.catalog import TIMESTEP  # noqa: E402
from manikin.characters.creatures import CREATURES  # noqa: E402
from manikin.export.framing import View  # noqa: E402
from manikin.export.render import Painter  # noqa: E402
from manikin.physics.world import Control, World  # noqa: E402
from manikin.recording import Recorder  # noqa: E402
from manikin.scenes.stage import stage  # noqa: E402

IMAGES = Path(__file__).parents[1] / "docs" / "images"
# angles [deg] to strike, and where to look from
POSES: dict[str, tuple[dict[str, float], View]] = {
    "lamp": ({}, View(40, -10, 1.0, (0.02, 0.0, 0.2))),
    "worm": (
        {"front_1_bend": -38, "back_1_bend": -38, "front_2_bend": 30, "back_2_bend": 30, "front_3_bend": 38},
        View(62, -16, 1.2, (0.0, 0.0, 0.1)),
    ),
    "fish": (
        {"neck_bend": 20, "head_bend": 20, "waist_bend": 20, "stalk_bend": 20, "tail_bend": 20},
        View(62, -18, 0.95, (0.0, 0.0, 0.1)),
    ),
    "starfish": (
        {"arm_0_lift": 26, "tip_0_lift": 30, "tip_2_lift": 28, "tip_3_lift": 28},
        View(30, -24, 1.15, (0.0, 0.0, 0.08)),
    ),
    "donut": ({"ring_1_bend": 8, "ring_7_bend": 8, "ring_4_bend": -14}, View(62, -10, 1.2, (0.0, 0.0, 0.22))),
}


def struck(name: str) -> np.ndarray:
    """The character in its pose, a second after it began to take it, by its own servos."""
    angles, view = POSES[name]
    character = CREATURES[name](1.0, "", (0.0, 0.0, 0.0), 0.0)
    world = World(stage(name, [character], {}, TIMESTEP))
    model, data = world.model, world.data
    address, dofs = model.jnt_qposadr[model.actuator_trnid[:, 0]], model.jnt_dofadr[model.actuator_trnid[:, 0]]
    for joint, angle in character.start.items():
        data.qpos[model.jnt_qposadr[world.joint(joint)]] = angle
    wanted = data.qpos[address].copy()
    for joint, angle in angles.items():
        wanted[character.joints.index(joint)] = np.deg2rad(angle)
    limit = world.torque_limits[1]
    recorder = Recorder(world, [], 60.0, {"name": name, "scene": "", "props": [], "characters": {}})
    for _ in range(round(1.0 / TIMESTEP)):
        world.refresh()
        error = wanted - data.qpos[address]
        motors = np.clip(limit * (2.0 * error - 0.05 * data.qvel[dofs]), -limit, limit)
        control = Control(motors if character.flesh is None else 40.0 * error)
        world.step(control)
        recorder.stepped(control)
    recording = recorder.finish()
    with Painter(recording, 420, 420, fine=True) as painter:
        return painter.draw(len(recording.time) - 1, view)


def measure(name: str) -> str:
    """Dropped from 0.3 m: how many nodes, milliseconds a step, squeeze, and how deep it sinks in."""
    character = CREATURES[name](1.0, "", (0.0, 0.0, 0.3), 0.0)
    model = mujoco.MjModel.from_xml_string(stage(name, [character], {}, TIMESTEP))
    data, flesh = mujoco.MjData(model), character.flesh
    took, lowest, squeezed = [], np.inf, np.inf
    for _ in range(round(1.0 / TIMESTEP)):
        data.ctrl[:] = 0.0
        begin = time.thread_time()
        mujoco.mj_step(model, data)
        took.append(time.thread_time() - begin)
        if flesh is not None:
            lowest = min(lowest, float(flesh.vertices(data.flexvert_xpos)[:, 2].min()))
            squeezed = min(squeezed, flesh.volume_ratio(data.flexvert_xpos))
    step = float(np.mean(took))
    tets, nodes = (len(flesh.tets.elements), len(flesh.tets.nodes)) if flesh is not None else (0, 0)
    return (
        f"| `{name}` | {model.body_mass.sum():.2f} | {nodes} | {tets} | {model.nv} | {1e3 * step:.2f} | {TIMESTEP / step:.1f} |"
        f" {squeezed:.2f} | {max(0.0, -1e3 * lowest):.1f} |"
    )


if __name__ == "__main__":
    if "--measure" in sys.argv:
        for creature in CREATURES:
            print(measure(creature))
    else:
        imageio.imwrite(IMAGES / "creatures.png", np.hstack([struck(creature) for creature in CREATURES]))
