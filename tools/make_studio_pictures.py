"""Draw the pictures of the studio's gallery: each shipped scene at a telling moment."""

from dataclasses import replace
from pathlib import Path

import manikin as mk  # before mujoco: it chooses what to draw with
from manikin.export.render import Painter, view_of
from manikin.scenes.scene import shipped

from PIL import Image  # isort: skip

TARGET = Path(__file__).parents[1] / "manikin" / "studio" / "pictures"
# when to look [s]
MOMENTS = {"lift": 3.5, "catch": 0.85, "toss": 2.2, "chain": 2.5, "pendulum": 4.0, "stand": 1.0}

if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for name in shipped():
        moment = MOMENTS.get(name, 1.0)
        recording = mk.run(mk.load_scene(name), seconds=moment).recording
        with Painter(recording, 640, 400, fine=True) as painter:
            view = view_of(recording)
            # a card is small: a step nearer
            picture = painter.draw(len(recording.time) - 1, replace(view, distance=0.78 * view.distance))
        Image.fromarray(picture).save(TARGET / f"{name}.webp", quality=88, method=6)
        print(f"wrote {TARGET / name}.webp")
