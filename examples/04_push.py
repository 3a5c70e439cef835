"""Push the chest during the hold; the push is recorded and replays. Run: python examples/04_push.py [folder]"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import manikin as mk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

# run until the box is held in front of the body
run = mk.build_run(mk.load_scene("lift", {"steps.lower.when.after": 60.0}))
while "top" not in run.script.began and not run.script.done:
    run.advance(50)
run.advance(250)
calm = run.branch()  # a copy of this moment, which continues without the push

# 0.2 s of 120 N on the chest from the front, then 1.5 s to recover; the branch is not pushed
push = mk.Push("thorax", np.array([-120.0, 0.0, 0.0]))
chest, box = run.world.body("thorax"), run.world.body("box")
print(f"at {run.world.time:.2f} s the chest is pushed with {-push.force[0]:.0f} N for 0.2 s")
print("after [s]   chest moved [cm]   box moved [cm]")
moved = []
for k in range(17):
    run.advance(50, [push] if k < 2 else [])
    calm.advance(50)
    gap = np.linalg.norm(run.world.data.xpos - calm.world.data.xpos, axis=1)
    moved.append((gap[chest], gap[box]))
    if k in (0, 1, 2, 4, 8, 16):
        print(f"{0.1 * (k + 1):9.1f} {100 * gap[chest]:18.2f} {100 * gap[box]:16.2f}")

# pushes are part of the recording: plain MuJoCo gives the same motion
recording = run.recorder.finish()
recording.save(folder / "pushed.npz")
again = mk.replay(mk.load_recording(folder / "pushed.npz"))
print(f"{len(recording.xfrc)} pushed steps recorded; the replay differs by {again.difference:.1e}")

most, last = np.max(moved, axis=0), moved[-1]
assert most[0] > 0.01, "the push had no effect"
assert last[0] < 0.25 * most[0], "the chest did not come back"
assert len(recording.xfrc) == 100
assert again.difference <= 1e-9
