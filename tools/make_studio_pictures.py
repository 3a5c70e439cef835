"""Make the pictures of the studio: a card for each scene, and screenshots of the page for the documentation.

Run: python tools/make_studio_pictures.py [cards | page | creatures]. Screenshots need Debian's chromium and playwright.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import manikin as mk  # before mujoco: it chooses what to draw with

from PIL import Image  # isort: skip

from manikin.export.render import Painter, view_of
from manikin.scenes.scene import Scene, parse_text, shipped
from manikin.studio.server import PICTURES, Running, Studio
from manikin.studio.takes import TakeFolder

IMAGES = Path(__file__).parents[1] / "docs" / "images"
# when to look [s]
MOMENTS = {"lift": 3.5, "catch": 0.85, "toss": 2.2, "chain": 2.5, "pendulum": 4.0, "stand": 1.0}
MOMENTS |= {"fish": 1.28, "starfish": 0.42, "starfish_escape": 0.88, "donut": 2.8, "donut_seesaw": 3.0}
# how near to look, as a fraction of the scene's own distance
NEARER = {"lift": 0.78, "catch": 0.68, "toss": 0.72, "chain": 0.86}
NEARER |= {"starfish": 0.75, "donut": 0.6, "donut_seesaw": 0.75}
FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


# --- cards


def make_cards() -> None:
    """Each shipped scene at a telling moment, rendered by Manikin itself."""
    PICTURES.mkdir(exist_ok=True)
    for name in shipped():
        recording = mk.run(mk.load_scene(name), seconds=MOMENTS.get(name, 1.0)).recording
        with Painter(recording, 640, 400, fine=True) as painter:
            view = view_of(recording)
            # a card is small: nearer, as far as everything stays in the picture
            picture = painter.draw(len(recording.time) - 1, replace(view, distance=NEARER.get(name, 0.9) * view.distance))
        Image.fromarray(picture).save(PICTURES / f"{name}.webp", quality=88, method=6)
        print(f"wrote {PICTURES / name}.webp")


# --- the page


class Desk:
    """A page and the hands on it."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def until(self, condition: str, argument: Any = None) -> None:
        self.page.wait_for_function(condition, arg=argument, timeout=120_000, polling=50)

    def click(self, name: str) -> None:
        self.page.click(f'[data-testid="{name}"]')

    def open(self, scene: str) -> None:
        take = self.page.evaluate("studio.state.model?.take ?? ''")
        # with no scene open the gallery comes by itself
        if take:
            self.click("scenes")
        self.click(f"scene-{scene}")
        self.until("([s, t]) => studio.ready && studio.state.model.scene === s && studio.state.model.take !== t", [scene, take])

    def play(self, seconds: float) -> None:
        """Let simulated time pass."""
        if not self.page.evaluate("studio.state.status.playing"):
            self.click("play")
        end = self.page.evaluate("studio.state.status.time") + seconds
        self.until("end => studio.state.status.time >= end", end)

    def press(self, body: str, push: bool = False) -> tuple[float, float]:
        """Take hold of a body where it is seen."""
        find = """([name, push]) => {
          const o = studio.project(studio.body(name));
          for (let r = 0; r < 80; r += 4) for (let k = 0; k < 16; k++) {
            const [x, y] = [o.x + r * Math.cos(k * Math.PI / 8), o.y + r * Math.sin(k * Math.PI / 8)];
            if (studio.pick(x, y, push)?.target === name) return [x, y];
          }
        }"""
        x, y = self.page.evaluate(find, [body, push])
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        return x, y

    def shot(self, name: str) -> None:
        time.sleep(0.6)
        content = self.page.screenshot()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "shot.png"
            file.write_bytes(content)
            Image.open(file).convert("RGB").save(IMAGES / f"studio_{name}.webp", quality=88, method=6)
        print(f"wrote {IMAGES}/studio_{name}.webp")


def gallery(desk: Desk) -> None:
    desk.page.wait_for_selector(".card img")
    desk.until("[...document.images].every(i => i.complete)")
    desk.page.evaluate("document.activeElement.blur()")
    desk.shot("gallery")


def grab(desk: Desk) -> None:
    """A hand is led, with the next second shown ahead."""
    desk.open("lift")
    desk.click("speed-0.25")
    desk.play(0.3)
    desk.click("preview")
    x, y = desk.press("hand_l")
    desk.page.mouse.move(x + 90, y - 190, steps=10)
    desk.play(0.1)
    desk.page.keyboard.press(" ")
    desk.until("!studio.state.status.playing && studio.previews.includes(-1)")
    time.sleep(4)  # until the preview is of this very moment
    desk.shot("grab")
    desk.page.mouse.up()
    desk.click("preview")


def futures(desk: Desk) -> None:
    desk.open("lift")
    desk.play(0.2)
    x, y = desk.press("hand_l")
    desk.page.mouse.move(x + 20, y - 60, steps=8)
    desk.play(0.4)
    desk.page.keyboard.press("v")
    desk.until("[0, 1, 2, 3, 4].every(k => studio.previews.includes(k))")
    desk.shot("futures")
    desk.page.mouse.up()
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("Escape")


def push(desk: Desk) -> None:
    desk.open("stand")
    desk.play(0.4)
    desk.page.keyboard.down("Shift")
    x, y = desk.press("thorax", push=True)
    desk.page.mouse.move(x + 150, y - 10, steps=8)
    desk.play(0.16)
    desk.shot("push")
    desk.page.keyboard.up("Shift")
    desk.page.mouse.up()


def why(desk: Desk) -> None:
    desk.open("stand")
    desk.click("tab-why")
    desk.play(0.4)
    desk.page.keyboard.down("Shift")
    x, y = desk.press("thorax", push=True)
    desk.page.mouse.move(x - 120, y, steps=8)
    desk.play(0.2)
    desk.shot("why")
    desk.page.keyboard.up("Shift")
    desk.page.mouse.up()
    desk.click("tab-knobs")


def timeline(desk: Desk) -> None:
    """A second take next to the first."""
    desk.open("lift")
    desk.play(3.4)
    desk.click("play")
    first = desk.page.evaluate("studio.state.status.take")
    desk.page.evaluate("studio.state.send({kind: 'seek', time: 1.2})")
    desk.until("studio.state.status.seeking")
    desk.click("branch")
    desk.until("take => studio.ready && studio.state.status.take !== take && !studio.state.status.seeking", first)
    desk.page.evaluate("studio.state.send({kind: 'knob', path: 'tasks.hands.frequency', value: 0.6})")
    desk.click("tab-takes")
    desk.page.evaluate("take => studio.state.send({kind: 'take_name', take, name: 'brisk'})", first)
    desk.page.evaluate("studio.state.send({kind: 'take_name', take: studio.state.status.take, name: 'gentle'})")
    desk.page.click(f'[data-take="{first}"] [data-testid="take-ghost"]')
    desk.play(1.9)
    desk.click("play")
    desk.until("studio.ghosts.length === 1 && !studio.state.status.playing")
    desk.page.evaluate("studio.state.send({kind: 'seek', time: studio.state.status.length - 0.25})")
    desk.until("studio.state.status.seeking")
    desk.shot("timeline")
    desk.click("tab-knobs")


# --- creatures

LAMP = """
name = "desk_lamp"
title = "A lamp to play with"
controller = "direct"
timestep = 0.001
camera = { azimuth = 60, elevation = 8, distance = 1.4, at = [0.0, 0.0, 0.3] }
[control]
rate = 200
[character]
model = "lamp"
[tasks.posture]
measure = "posture"
law = "hold"
priority = 2
"""


def pins(desk: Desk) -> None:
    """A lamp that jumps: its foot is pinned at lift-off until it touches down, its joints when it falls."""
    desk.page.keyboard.press("i")
    for target, what, at, until in (("foot", "turn", "lift_off", "touch_down"), ("upper", "angle", "falling", None)):
        message = {"kind": "pin", "target": target, "what": what, "at": at, "then": what == "turn", "until": until}
        desk.page.evaluate("m => studio.state.send(m)", message)
    desk.play(0.3)
    x, y = desk.press("head")
    desk.page.mouse.move(x, y + 60, steps=8)
    desk.play(0.6)
    desk.page.keyboard.press("4")
    desk.page.mouse.move(x, y - 260)
    desk.until("studio.state.pins.pins.some(p => p.fired)")
    desk.play(0.03)
    desk.page.keyboard.press(" ")
    desk.until("!studio.state.status.playing")
    desk.shot("pins")
    desk.page.mouse.up()
    desk.page.keyboard.press("1")


def keys(desk: Desk) -> None:
    """A doll is bent for a key pose."""
    desk.click("reset")
    desk.until("studio.ready && studio.state.status.time === 0")
    desk.page.evaluate("studio.state.pins.pins.forEach(p => studio.state.send({kind: 'unpin', pin: p.task}))")
    desk.page.keyboard.press("o")
    x, y = desk.press("head")
    desk.page.mouse.move(x + 30, y + 90, steps=10)
    desk.until("studio.doll")
    time.sleep(0.5)
    desk.page.mouse.up()
    desk.page.keyboard.press("k")
    x, y = desk.press("head")
    desk.page.mouse.move(x + 60, y - 130, steps=10)
    time.sleep(0.5)
    desk.page.mouse.up()
    desk.page.keyboard.press("k")
    desk.until("studio.state.pins.keys.length === 2")
    desk.shot("keys")


def make_page(shots: Sequence[Callable[[Desk], None]], scene: Scene | None = None) -> None:
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as folder,
        Running(Studio(TakeFolder(Path(folder)))) as running,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        if scene is not None:
            running.studio.session.ask(lambda: running.studio.session.open(scene)).result()
        page.goto(f"{running.address}&fps=10")
        desk = Desk(page)
        if scene is not None:
            desk.until("window.studio?.ready")
        for shot in shots:
            shot(desk)
        browser.close()


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    if wanted in ("", "cards"):
        make_cards()
    if wanted in ("", "page"):
        make_page((gallery, grab, futures, push, why, timeline))
    if wanted in ("", "creatures"):
        make_page((pins, keys), parse_text(LAMP, "desk_lamp"))
