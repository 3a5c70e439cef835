"""Run the lift, save it for Blender, and check that it replays. Run: python examples/01_lift.py [folder]"""

import sys
import tempfile
from pathlib import Path

import manikin as mk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

# the shipped scene: a box of 8 kg, lifted with the knees
take = mk.run("lift")
print(f"the lift {'succeeded' if take.report['ok'] else 'failed: ' + take.report['reason']}")
print(f"  simulated         {take.report['seconds']:.2f} s")
print(f"  grasp to top      {take.report['time_to_top']:.3f} s")
print(f"  largest hand force {take.report['hand_force_max']:.0f} N")

# what happened when
for event in take.recording.meta["events"]:
    print(f"  {event['time']:6.2f} s  {event['name']}")

# a recording for plain MuJoCo, an animation for Blender, one row per frame, and the report
for name in ("lift.npz", "lift.glb", "lift.csv", "lift.json"):
    mk.save(take, folder / name)
    print(f"wrote {folder / name} ({(folder / name).stat().st_size / 1e6:.1f} MB)")

# the recording replays in plain MuJoCo, step by step
again = mk.replay(mk.load_recording(folder / "lift.npz"))
print(f"replayed {again.steps} steps, largest difference {again.difference:.1e}")
assert take.report["ok"]
assert again.difference <= 1e-9
