"""The same lift at 5, 25 and 60 kg: only the force limit makes heavy boxes slow. Run: python examples/02_masses.py [folder]"""

import sys
import tempfile
from pathlib import Path

import manikin as mk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())

print("mass [kg]   grasp to top [s]   largest hand force [N]   limit [N]")
times = {}
for mass in (5, 25, 60):
    # any key of the scene can be changed by its dotted path; 7 s are enough to reach the top
    scene = mk.load_scene("lift", {"props.box.mass": mass, "seconds": 7.0})
    take = mk.run(scene)
    times[mass] = take.report["time_to_top"]
    limit = scene.tasks["hands"].max_force
    print(f"{mass:9}   {times[mass]:16.3f}   {take.report['hand_force_max']:22.0f}   {limit:9.0f}")
    mk.save(take, folder / f"lift_{mass}kg.csv")
print(f"box height and hand force over time: {folder}/lift_*kg.csv")

# the controller knows the mass: below the limit it does not matter, at the limit it does
assert abs(times[25] - times[5]) < 0.02 * times[5]
assert times[60] > 1.05 * times[5]
