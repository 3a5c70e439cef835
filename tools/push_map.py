"""Which pushes a figure on its own feet withstands: the picture and the table of docs/feet.md.

Run: python tools/push_map.py [rate of control in Hz]      (some minutes of computing; the picture is for 500 Hz)
"""

import argparse
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from manikin.palette import CONTACT, FORCE, GOAL, MATERIALS, SKY, Colour
from manikin.pushes import SLIP, Stood, push_standing
from manikin.scenes.scene import load_scene

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "push_map.png"
FORCES = tuple(range(50, 201, 25))
DIRECTIONS = 16
INK = (60, 52, 46)
SIZE, FOOT, SCALE = 620, 60, 3


def rgb(colour: Colour) -> tuple[int, int, int]:
    r, g, b = (round(255 * c) for c in colour)
    return (r, g, b)


def place(force: float, angle: float) -> np.ndarray:
    """Where a push is drawn: forward is up, left is left, further out is harder."""
    return np.array([SIZE / 2, SIZE / 2 + 8]) + 1.35 * force * np.array([-math.sin(angle), -math.cos(angle)])


class Pen:
    """Draws at three times the size, in the picture's own units."""

    def __init__(self) -> None:
        self.picture = Image.new("RGB", (SCALE * SIZE, SCALE * (SIZE + FOOT)), rgb(SKY[0]))
        self._draw = ImageDraw.Draw(self.picture)

    def disc(self, at: np.ndarray, radius: float, line: Colour, full: bool = False, width: float = 2.0) -> None:
        box = [*(SCALE * (at - radius)), *(SCALE * (at + radius))]
        self._draw.ellipse(box, fill=rgb(line) if full else None, outline=rgb(line), width=round(SCALE * width))

    def sole(self, at: np.ndarray) -> None:
        box = [*(SCALE * (at - [6, 20])), *(SCALE * (at + [6, 20]))]
        self._draw.rounded_rectangle(
            box, SCALE * 6, fill=rgb(MATERIALS["wood"]), outline=rgb(MATERIALS["joint"]), width=SCALE
        )  # fmt: skip

    def words(self, at: np.ndarray, text: str, size: float, anchor: str = "mm") -> None:
        """Text on the picture's own ground, so that lines do not run through it."""
        font, where = ImageFont.load_default(SCALE * size), tuple(SCALE * at)
        left, top, right, bottom = self._draw.textbbox(where, text, font=font, anchor=anchor)
        self._draw.rectangle([left - 6, top - 4, right + 6, bottom + 4], fill=rgb(SKY[0]))
        self._draw.text(where, text, fill=INK, font=font, anchor=anchor)


def draw(table: dict[int, list[Stood]]) -> Image.Image:
    """Seen from above, the figure in the middle facing up; each dot is a push towards that side."""
    pen = Pen()
    middle = place(0, 0)
    for force in FORCES:
        pen.disc(middle, 1.35 * force, MATERIALS["floor"], width=1.5)
    for force in FORCES[2::2]:
        pen.words(place(force, -math.pi / DIRECTIONS), f"{force} N", 10)
    for side in (-1, 1):
        pen.sole(middle + [13.0 * side, -2.0])
    for force, row in table.items():
        for k, outcome in enumerate(row):
            at = place(force, 2 * math.pi * k / DIRECTIONS)
            if outcome.upright:
                pen.disc(at, 7.5, GOAL if outcome.stands else CONTACT, full=True)
            else:
                pen.disc(at, 6.5, FORCE)
    pen.words(np.array([SIZE / 2, 14]), "forward", 12)
    legend = (
        (GOAL, True, "stands"),
        (CONTACT, True, f"upright, a foot slipped over {1e3 * SLIP:.0f} mm"),
        (FORCE, False, "falls"),
    )
    for x, (colour, full, text) in zip((70, 190, 470), legend):
        pen.disc(np.array([x, SIZE + 36]), 7, colour, full)
        pen.words(np.array([x + 16, SIZE + 36]), text, 13, "lm")
    return pen.picture.resize((SIZE, SIZE + FOOT), Image.Resampling.LANCZOS)


def main() -> None:
    words = argparse.ArgumentParser(description="Which pushes a figure on its own feet withstands (some minutes).")
    words.add_argument("rate", nargs="?", type=float, default=500.0, help="rate of control [Hz] (500: with the picture)")
    rate = words.parse_args().rate
    scene = load_scene("stand", {"control.rate": rate})
    table: dict[int, list[Stood]] = {}
    print("| push [N] | stands | upright | falls towards [degrees] | slip, at most [mm] | sway, at most [cm] |")
    print("|---|---|---|---|---|---|")
    for force in FORCES:
        row = [push_standing(force, 2 * math.pi * k / DIRECTIONS, scene) for k in range(DIRECTIONS)]
        table[force] = row
        upright = [o for o in row if o.upright]
        fell = ", ".join(f"{360 * k / DIRECTIONS:g}" for k, o in enumerate(row) if not o.upright) or "-"
        slip = f"{1e3 * max(o.slip for o in upright):.1f}" if upright else "-"
        sway = f"{1e2 * max(o.sway for o in upright):.1f}" if upright else "-"
        stands = sum(o.stands for o in row)
        print(f"| {force} | {stands} of {DIRECTIONS} | {len(upright)} | {fell} | {slip} | {sway} |", flush=True)
    if rate == 500.0:
        draw(table).quantize(128, dither=Image.Dither.FLOYDSTEINBERG).save(IMAGE, optimize=True)
        print(f"{IMAGE.name}  {IMAGE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
