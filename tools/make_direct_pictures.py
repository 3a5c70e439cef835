"""Make pictures of the scenes of Kim & Pollard 2011: moments of each. Run: python tools/make_direct_pictures.py [scene ...]"""

import argparse
from pathlib import Path
from typing import NamedTuple

import manikin as mk  # before mujoco: it chooses what to draw with

import numpy as np  # isort: skip
from PIL import Image

from manikin.export.framing import View
from manikin.export.render import Painter

IMAGES = Path(__file__).parents[1] / "docs" / "images"


class Strip(NamedTuple):
    """When to look [s], from where, size of a moment, moments per row, name of the picture."""

    times: tuple[float, ...]
    view: View
    size: tuple[int, int]
    across: int
    name: str


HOP = (0.0, 0.75, 0.87, 1.0, 1.3, 2.1)
STRIPS: dict[str, Strip] = {
    "lamp": Strip(HOP, View(62.0, -10.0, 1.5, (0.12, 0.0, 0.22)), (400, 300), 3, "lamp"),
    "lamp_box": Strip(HOP, View(62.0, -10.0, 1.5, (0.12, 0.0, 0.22)), (400, 300), 3, "lamp_box"),
    "lamp_stairs": Strip(
        (0.0, 1.0, 2.2, 3.3, 4.5, 5.6, 7.85, 8.2, 9.9), View(130.0, -13.0, 2.5, (-0.05, 0.0, 0.22)), (400, 300), 3,
        "lamp_stairs",
    ),
    "worm": Strip((0.2, 0.7, 1.0, 1.3, 1.6, 6.2, 12.2, 18.0), View(66.0, -16.0, 1.7, (0.34, 0.0, 0.0)), (400, 200), 4, "worm"),
    "fish": Strip((0.3, 0.93, 1.27, 2.4, 2.9, 4.4), View(80.0, -10.0, 1.8, (0.27, 0.0, 0.42)), (300, 260), 6, "fish"),
    "starfish": Strip(
        (0.25, 0.335, 0.37, 0.55, 1.1), View(35.0, -14.0, 1.7, (0.0, 0.0, 0.22)), (300, 260), 5, "kim2011_starfish"
    ),
    "starfish_escape": Strip(
        (0.2, 0.7, 0.86, 0.95, 1.2, 2.5), View(70.0, -10.0, 2.6, (-0.42, 0.0, 0.26)), (300, 260), 6, "kim2011_starfish_escape"
    ),
    "donut": Strip((0.3, 1.4, 2.2, 2.8, 3.4, 4.1), View(75.0, -8.0, 2.4, (0.7, 0.0, 0.22)), (420, 260), 6, "kim2011_donut"),
    "donut_seesaw": Strip(
        (0.1, 1.6, 2.5, 3.1, 4.1), View(62.0, -10.0, 2.6, (0.3, 0.0, 0.2)), (420, 260), 5, "kim2011_donut_seesaw"
    ),
}  # fmt: skip


def draw(scene: str) -> Image.Image:
    """Moments of a scene in rows."""
    strip = STRIPS[scene]
    recording = mk.run(mk.load_scene(scene)).recording
    with Painter(recording, *strip.size, fine=True) as painter:
        cells = [painter.draw(int(np.abs(recording.time - t).argmin()), strip.view) for t in strip.times]
    rows = [np.hstack(cells[k : k + strip.across]) for k in range(0, len(cells), strip.across)]
    return Image.fromarray(np.vstack(rows))


if __name__ == "__main__":
    words = argparse.ArgumentParser(description="Moments of the scenes of Kim & Pollard 2011, for the documentation.")
    words.add_argument("scenes", nargs="*", metavar="SCENE", help=f"which to draw (all): {', '.join(STRIPS)}")
    chosen = words.parse_args().scenes or list(STRIPS)
    unknown = set(chosen) - set(STRIPS)
    if unknown:
        words.error(f"no strip is called {', '.join(sorted(unknown))}; there are {', '.join(STRIPS)}")
    for name in chosen:
        draw(name).save(IMAGES / f"{STRIPS[name].name}.webp", quality=86, method=6)
        print(f"wrote {IMAGES}/{STRIPS[name].name}.webp")
