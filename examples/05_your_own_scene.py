"""A scene of your own: take a parcel from a low table and hold it up. Run: python examples/05_your_own_scene.py [folder]"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import manikin as mk

SCENE = """
name = "from_the_table"
seconds = 8.0
character = { height = 1.68, mass = 62, sex = "female", clip = "lift_back" }
props.table = { shape = "box", size = [0.40, 0.80, 0.42], at = [0.56, 0.0, 0.21], fixed = true }
props.parcel = { shape = "box", size = [0.30, 0.28, 0.22], mass = 6.0, at = [0.52, 0.0, 0.53] }

[tasks]
hands = { measure = "point", of = ["hand_l", "hand_r"], frequency = 0.8, smoothing = 0.3, priority = 0, max_force = 200 }
balance = { measure = "com", frequency = 0.8, reach = 0.04, priority = 1, goal = { of = "feet", at = [0.0, 0.0] } }
gaze = { measure = "look", priority = 2, reach = 35, goal = { of = "parcel", at = [0.0, 0.0, 0.0] } }
posture = { measure = "posture", law = "nearest", frequency = 1.2, smoothing = 0.05, priority = 3 }

[[steps]]
name = "reach"
when = "start"
goals.hands = { of = "parcel", face = ["left", "right"], gap = 0.08 }

[[steps]]
name = "touch"
when = { task = "hands", within = 0.04 }
goals.hands = { of = "parcel", face = ["left", "right"], gap = 0.004 }

[[steps]]
name = "lift"
when = { task = "hands", within = 0.006 }
grasp = { hand_l = "parcel", hand_r = "parcel" }
goals.hands = { carry = "parcel", at = [0.36, 0.0, 1.10] }

[[steps]]
name = "end"
when = { task = "hands", within = 0.02, after = 1.5 }
end = true

[facts]
lift_time = { since = "lift", until = "end" }
hand_force = { task = "hands" }
"""

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
file = folder / "from_the_table.toml"
file.write_text(SCENE, encoding="utf-8")

# every key has a dotted path, as with --set on the command line
scene = mk.load_scene(file, {"props.parcel.mass": 7.5})
take = mk.run(scene)
for key, value in take.report.items():
    print(f"{key:<16} {value}")
mk.save(take, folder / "from_the_table.glb")
print(f"wrote {folder / 'from_the_table.glb'}; the scene is in the same folder: manikin run {file}")

# the parcel is a free body: its pose is at the end of qpos
height = take.recording.qpos[:, -5]
print(f"the parcel rose from {height[0]:.3f} m to {height[-1]:.3f} m")
assert take.report["ok"], take.report["reason"]
assert np.isclose(height[-1], 1.10, atol=0.03)
