"""A soft character of your own: a gummy bear. Any skeleton and any closed surface will do; flesh fills the space between.

Here the surface is a smooth union of balls, the skeleton has two bones, and the tetrahedra come from a lattice. The bear
is dropped and saved as a picture and a GLB. Run: python examples/06_your_own_character.py [folder]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from manikin.characters import sdf
from manikin.characters.body_plan import Hinge
from manikin.characters.catalog import TIMESTEP
from manikin.characters.flesh import Bone, Plan
from manikin.characters.lathe import ball
from manikin.characters.soft import soft
from manikin.characters.tets import moments
from manikin.export.save import save
from manikin.physics.world import Control, World
from manikin.recording import Recorder
from manikin.scenes.stage import stage


def bear() -> Plan:
    """Sits on the ground and looks along x: belly and head."""
    shape = sdf.ellipsoid([0, 0, 0.12], [0.11, 0.11, 0.12])
    shape = shape.join(sdf.ball([0.02, 0, 0.27], 0.085), 0.05)
    for side in (1, -1):
        shape = shape.join(sdf.ball([0, side * 0.065, 0.335], 0.04), 0.03)
        shape = shape.join(sdf.cone([0.03, side * 0.08, 0.16], [0.11, side * 0.10, 0.13], 0.045, 0.04), 0.04)
        shape = shape.join(sdf.cone([0.03, side * 0.07, 0.05], [0.15, side * 0.09, 0.05], 0.05, 0.045), 0.04)
    shape = shape.join(sdf.ball([0.09, 0, 0.255], 0.045), 0.04)
    shape = shape.keep(sdf.half_space([0, 0, 0.015], [0, 0, -1]), 0.03)  # a flat seat
    bones = (
        Bone("belly", None, (0, 0, 0.06), (0, 0, 0.18)),
        Bone(
            "head", "belly", (0, 0, 0.20), (0, 0, 0.29),
            (Hinge("turn", (0, 0, 1), -50, 50, 4), Hinge("nod", (0, 1, 0), -30, 30, 4)),
        ),
    )  # fmt: skip
    eyes = [("head", "dark", ball([0.092, side * 0.035, 0.295], 0.011)) for side in (1, -1)]
    details = (*eyes, ("head", "dark", ball([0.132, 0, 0.262], 0.013)), ("belly", "white", ball([0.104, 0, 0.13], 0.012)))
    surface = sdf.mesh(shape, 1500)
    # stiff nodes get more mass (even), or they vibrate too fast for the time step; a core stops bones from crushing flesh
    return Plan(
        "bear", bones, surface, 0.08, "free", ("coral",), 500.0, (0, 0, 0.12), young=4.5e4, bone_share=0.4, even=1.0,
        core=0.045, details=details,
    )  # fmt: skip


folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
plan = bear()
character = soft(plan, at=(0.0, 0.0, 0.1))
flesh = character.flesh
assert flesh is not None
print(f"{len(flesh.tets.elements)} tetrahedra, {len(flesh.tets.nodes)} nodes, {(flesh.bone < 0).sum()} of them free")

world = World(stage("bear", [character], {}, TIMESTEP))
camera = "[camera]\nazimuth = 30\nelevation = -12\ndistance = 1.5\nat = [0, 0, 0.18]"
meta = {"name": "bear", "scene": camera, "characters": {character.root: list(character.bodies)}, "props": []}
recorder = Recorder(world, [], 60.0, meta)
squeeze = 1.0
for _ in range(round(1.0 / TIMESTEP)):
    world.refresh()
    control = Control(np.zeros(world.model.nu))
    world.step(control)
    recorder.stepped(control)
    squeeze = min(squeeze, world.flesh_ratio())
recording = recorder.finish()
save(recording, folder / "bear.glb")
save(recording, folder / "bear.png")

# its mass is that of its volume, its skin is where it was drawn, and no tetrahedron was turned inside out
volume = moments(plan.surface)[0]
assert abs(world.model.body_mass.sum() - plan.density * volume) < 1e-6
assert np.abs(flesh.vertices(flesh.tets.nodes) - plan.surface.vertices).max() < 1e-9
assert squeeze > 0.1
print(f"{plan.density * volume:.2f} kg, squeezed to {squeeze:.2f} of a tetrahedron's volume; saved {folder / 'bear.glb'}")
