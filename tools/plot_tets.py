"""What a step of a soft body costs against its number of tetrahedra: the picture in docs/kim2011.md.

Run: python tools/plot_tets.py      (half a minute of computing, on an otherwise idle machine)
"""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from manikin.bench_direct import cost_by_tets
from manikin.characters.flesh import TIMESTEP
from manikin.palette import FORCE, GOAL, MATERIALS, SKY, Colour

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "cost_by_tets.png"
WIDTH, HEIGHT, SCALE = 620, 360, 3
LEFT, TOP, RIGHT, BOTTOM = 64, 34, 24, 48
INK = (60, 52, 46)


def rgb(colour: Colour) -> tuple[int, int, int]:
    r, g, b = (round(255 * c) for c in colour)
    return (r, g, b)


class Chart:
    """Points and lines in the data's own units, drawn at three times the size."""

    def __init__(self, most_x: float, most_y: float) -> None:
        self.most_x, self.most_y = most_x, most_y
        self.picture = Image.new("RGB", (SCALE * WIDTH, SCALE * HEIGHT), rgb(SKY[0]))
        self._draw = ImageDraw.Draw(self.picture)

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / self.most_x
        return SCALE * across, SCALE * (HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / self.most_y)

    def line(self, points: list[tuple[float, float]], colour: tuple[int, int, int], width: float = 2.0) -> None:
        self._draw.line([self.at(*p) for p in points], fill=colour, width=round(SCALE * width), joint="curve")

    def dot(self, x: float, y: float, colour: tuple[int, int, int]) -> None:
        (a, b), r = self.at(x, y), 5 * SCALE
        self._draw.ellipse([a - r, b - r, a + r, b + r], fill=colour)

    def words(self, x: float, y: float, text: str, anchor: str, size: float = 12, shift: tuple[float, float] = (0, 0)) -> None:
        a, b = self.at(x, y)
        where = (a + SCALE * shift[0], b + SCALE * shift[1])
        self._draw.text(where, text, fill=INK, font=ImageFont.load_default(SCALE * size), anchor=anchor)


def draw(costs: list[tuple[int, float]]) -> Image.Image:
    """Milliseconds per step over tetrahedra, and the lines at which physics alone runs in real time."""
    step = 1e3 * TIMESTEP
    chart = Chart(1.08 * max(tets for tets, _ in costs), 1.12 * max(step, *(cost for _, cost in costs)))
    floor = rgb(MATERIALS["floor"])
    for tets in range(0, int(chart.most_x), 200):
        chart.line([(tets, 0), (tets, chart.most_y)], floor, 1.0)
        chart.words(tets, 0, f"{tets}", "ma", shift=(0, 6))
    tick = 0.5
    for k in range(int(chart.most_y / tick) + 1):
        chart.line([(0, k * tick), (chart.most_x, k * tick)], floor, 1.0)
        chart.words(0, k * tick, f"{k * tick:g}", "rm", shift=(-8, 0))
    for factor in (1.0, 1.5, 3.0):
        chart.line([(0, step / factor), (chart.most_x, step / factor)], rgb(FORCE), 1.5)
        chart.words(0, step / factor, f"{factor:g} x real time", "ls", 11, shift=(6, -3))
    chart.line([(float(tets), cost) for tets, cost in costs], rgb(GOAL), 2.5)
    for tets, cost in costs:
        chart.dot(tets, cost, rgb(GOAL))
    chart.words(0, chart.most_y, "milliseconds per step of physics, a worm on the ground", "ls", 12, shift=(0, -8))
    chart.words(chart.most_x, 0, "tetrahedra", "rs", 12, shift=(0, 38))
    return chart.picture.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def main() -> None:
    costs = cost_by_tets()
    for tets, cost in costs:
        print(f"{tets:5d} tetrahedra  {cost:.3f} ms")
    draw(costs).quantize(128, dither=Image.Dither.FLOYDSTEINBERG).save(IMAGE, optimize=True)
    print(f"{IMAGE.name}  {IMAGE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
