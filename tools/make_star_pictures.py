"""Make pictures of soft characters: a strip of moments of each scene. Run: python tools/make_star_pictures.py [scene]"""

import sys
from dataclasses import replace
from pathlib import Path

import manikin as mk  # before mujoco: it chooses what to draw with

import numpy as np  # isort: skip
from PIL import Image

from manikin.export.framing import View
from manikin.export.render import Painter, view_of

IMAGES = Path(__file__).parents[1] / "docs" / "images"
# when to look [s], and from where
STRIPS: dict[str, tuple[tuple[float, ...], View | None]] = {
    "fish": ((0.3, 0.93, 1.27, 2.4, 2.9, 4.4), View(80.0, -10.0, 1.8, (0.27, 0.0, 0.42))),
    "starfish": ((0.25, 0.335, 0.37, 0.55, 1.1), None),
    "starfish_escape": ((0.2, 0.7, 0.86, 0.95, 1.2, 2.5), View(70.0, -10.0, 2.6, (-0.32, 0.0, 0.26))),
    "donut": ((0.3, 1.4, 2.2, 2.8, 3.4, 4.1), View(75.0, -8.0, 2.4, (0.7, 0.0, 0.22))),
    "donut_seesaw": ((0.1, 1.6, 2.5, 3.1, 4.1), View(62.0, -10.0, 2.6, (0.3, 0.0, 0.2))),
}


def strip(name: str) -> Image.Image:
    """Moments of a scene side by side."""
    times, view = STRIPS[name]
    recording = mk.run(mk.load_scene(name)).recording
    wide = 300 if name in ("fish", "starfish", "starfish_escape") else 420
    with Painter(recording, wide, 260, fine=True) as painter:
        look = replace(view_of(recording), distance=1.9 if name == "starfish_escape" else 1.3) if view is None else view
        frames = [painter.draw(int(np.abs(recording.time - t).argmin()), look) for t in times]
    return Image.fromarray(np.hstack(frames))


if __name__ == "__main__":
    for scene in sys.argv[1:] or STRIPS:
        name = scene if scene == "fish" else f"kim2011_{scene}"
        strip(scene).save(IMAGES / f"{name}.webp", quality=86, method=6)
        print(f"wrote {IMAGES}/{name}.webp")
