"""A page in a real browser, and the hands on it."""

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium")
IN_A_BROWSER = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]
FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# a small picture, few of them: there is no graphics card
WINDOW, SCALE, FPS = {"width": 920, "height": 460}, 0.7, 10
PATIENCE = 90_000


def sync_api() -> Any:
    return pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")


# a place of the page that grabs a body: around where its origin is seen
SPOT = """([name, push]) => {
  const middle = studio.project(studio.body(name));
  for (let r = 0; r < 60; r += 3)
    for (let k = 0; k < 16; k++) {
      const at = { x: middle.x + r * Math.cos(k * Math.PI / 8), y: middle.y + r * Math.sin(k * Math.PI / 8) };
      const pick = studio.pick(at.x, at.y, push);
      if (pick && pick.target === name) return [at.x, at.y];
    }
  return null;
}"""


class Desk:
    """A page and the hands on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)

    def __call__(self, script: str, *arguments: Any) -> Any:
        return self.page.evaluate(script, *arguments)

    def until(self, condition: str, argument: Any = None) -> None:
        try:
            self.page.wait_for_function(condition, arg=argument, timeout=PATIENCE, polling=50)
        except sync_api().TimeoutError:
            seen = self("JSON.stringify([studio.state.link, studio.state.status, studio.state.input])")
            line = self.page.locator('[data-testid="message"]').text_content()
            pytest.fail(f"waited in vain for {condition} ({argument}); {line}; {seen}")

    def click(self, name: str) -> None:
        self.page.click(f'[data-testid="{name}"]')

    def open(self, scene: str) -> None:
        take = self("studio.state.model?.take ?? ''")
        # with no scene open the gallery comes by itself
        if take:
            self.click("scenes")
        self.click(f"scene-{scene}")
        self.until("([s, t]) => studio.ready && studio.state.model.scene === s && studio.state.model.take !== t", [scene, take])

    def play(self) -> None:
        if not self.status("playing"):
            self.click("play")
            self.until("studio.state.status.playing")

    def pause(self) -> None:
        if self.status("playing"):
            self.click("play")
            self.until("!studio.state.status.playing")

    def status(self, key: str) -> Any:
        return self(f"studio.state.status?.{key}")

    def body(self, name: str) -> np.ndarray:
        return np.array(self("name => studio.body(name)", name))

    def quat(self, name: str) -> np.ndarray:
        """How a body is turned, xyzw."""
        find = "name => { const k = studio.state.model.bodies.findIndex(b => b.name === name);"
        w, *xyz = self(find + " return Array.from(studio.state.frame.poses.slice(7 * k + 3, 7 * k + 7)); }", name)
        return np.array([*xyz, w])

    def wait(self, seconds: float) -> None:
        """Let simulated time pass."""
        self.until("end => studio.state.status.time >= end", self.status("time") + seconds)

    def spot(self, name: str, push: bool = False) -> tuple[float, float]:
        place = self(SPOT, [name, push])
        assert place is not None, f"{name} cannot be seen"
        return place[0], place[1]

    def press(self, x: float, y: float) -> None:
        self.page.mouse.move(x, y)
        self.page.mouse.down()

    def move(self, x: float, y: float) -> None:
        self.page.mouse.move(x, y, steps=8)

    def release(self) -> None:
        self.page.mouse.up()
        self.until("!studio.state.input?.held")

    def view(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the camera is, and what it looks at [m]."""
        view = self("studio.view")
        return np.array(view["from"]), np.array(view["at"])

    def handle(self) -> np.ndarray:
        """The centre of mass of the first character [m]."""
        return np.array(self.status("handles[0].place"))

    def place(self, point: Any) -> tuple[float, float]:
        """Where a point of the world is on the page."""
        at = self("p => studio.project(p)", [float(v) for v in point])
        return at["x"], at["y"]

    def gap(self) -> float:
        """How far the grabbed point is from the pointer [m]."""
        return float(self("Math.hypot(...studio.state.input.point.map((p, k) => p - studio.state.input.goal[k]))"))


@contextlib.contextmanager
def sit_down(browser: Any, address: str, **context: Any) -> Iterator[Desk]:
    context = browser.new_context(viewport=WINDOW, device_scale_factor=SCALE, accept_downloads=True, **context)
    page = context.new_page()
    desk = Desk(page)
    page.goto(f"{address}&fps={FPS}")
    # refused, or with a scene, or with the gallery
    seen = "studio.state.model || !document.querySelector('.gallery').hidden"
    desk.until(f"window.studio && (studio.state.link.state === 'refused' || {seen})")
    yield desk
    context.close()
