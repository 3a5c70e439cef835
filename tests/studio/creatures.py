"""Creatures under direct control, as small scenes."""

from manikin.scenes.scene import Scene, parse_text
from manikin.studio import messages as m
from manikin.studio.live import Live
from manikin.studio.preview import Previewer

_SCENE = """
name = "{name}"
controller = "direct"
timestep = {timestep}
{table}
[control]
rate = 200
[character]
model = "{model}"
[tasks.pin]
measure = "orientation"
of = "{bone}"
frequency = 3.0
goal = [0.0, 0.0, 0.0]
active = false
[tasks.posture]
measure = "posture"
law = "hold"
priority = 2
"""


def lamp(table: str = "") -> Scene:
    return parse_text(_SCENE.format(name="desk_lamp", timestep=0.001, model="lamp", bone="foot", table=table), "desk_lamp")


def starfish(table: str = "") -> Scene:
    text = _SCENE.format(name="sea_star", timestep=0.0008, model="starfish", bone="center", table=table)
    return parse_text(text, "sea_star")


def previewed(live: Live) -> list[m.PreviewPaths]:
    """What the preview's own process says of the next second."""
    preview = Previewer()
    try:
        preview.ask(live)
        found: list[m.PreviewPaths] = []
        while not found:
            found = preview.results()
    finally:
        preview.close()
    return found
