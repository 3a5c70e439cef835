"""The page in a real browser, against the real server: what a user does, and what it does to the physics."""

import contextlib
import math
import shutil
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pygltflib
import pytest
from scipy.interpolate import CubicSpline

sync_api = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
from manikin.scenes.scene import shipped  # noqa: E402
from manikin.studio.server import Running, Studio  # noqa: E402
from manikin.studio.takes import TakeFolder  # noqa: E402

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]
FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# a small picture, few of them: there is no graphics card
WINDOW, SCALE, FPS = {"width": 920, "height": 460}, 0.7, 10
PATIENCE = 90_000

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
        except sync_api.TimeoutError:
            told = self("JSON.stringify([studio.state.link, studio.state.status, studio.state.input])")
            line = self.page.locator('[data-testid="message"]').text_content()
            pytest.fail(f"waited in vain for {condition} ({argument}); {line}; {told}")

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

    def gap(self) -> float:
        """How far the grabbed point is from the pointer [m]."""
        return float(self("Math.hypot(...studio.state.input.point.map((p, k) => p - studio.state.input.goal[k]))"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(Studio(TakeFolder(tmp_path_factory.mktemp("takes")))) as running:
        yield running


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


@pytest.fixture
def desk(browser: Any, server: Running) -> Iterator[Desk]:
    with sit_down(browser, server.address) as desk:
        yield desk
        assert desk.errors == []


def test_the_gallery_shows_every_scene_and_finds_by_words(tmp_path, browser):
    with Running(Studio(TakeFolder(tmp_path))) as running, sit_down(browser, running.address) as desk:
        desk.page.wait_for_selector(".card")
        cards = desk("[...document.querySelectorAll('.card')].map(c => c.dataset.testid)")
        assert set(cards) == {f"scene-{name}" for name in shipped()}
        desk.page.fill('[data-testid="search"]', "pendulum heavy")
        assert desk("[...document.querySelectorAll('.card')].map(c => c.dataset.testid)") == ["scene-pendulum"]
        desk.page.press('[data-testid="search"]', "Enter")
        desk.until("studio.ready && studio.state.model.scene === 'pendulum'")
        assert desk("document.querySelector('.gallery').hidden")


def drag_the_hand(desk: Desk) -> np.ndarray:
    """As the lift begins, up and out; where it was."""
    desk.open("lift")
    desk.play()
    desk.wait(0.2)
    before = desk.body("hand_l")
    x, y = desk.spot("hand_l")
    desk.press(x, y)
    desk.move(x + 25, y - 45)
    return before


def test_a_dragged_hand_follows(desk):
    before = drag_the_hand(desk)
    desk.until("studio.state.input?.held")
    assert desk("studio.state.input.mode") == "task"
    desk.wait(2.5)
    assert desk.gap() < 0.03
    assert np.linalg.norm(desk.body("hand_l") - before) > 0.05
    desk.release()


def test_without_its_drag_handler_nothing_follows(browser, server):
    with sit_down(browser, f"{server.address}&drag=off") as desk:
        drag_the_hand(desk)
        desk.wait(0.5)
        assert desk("studio.sent") == 0
        assert desk("studio.state.input?.held") is not True
        desk.page.mouse.up()


def test_a_push_on_the_chest_has_an_arrow_and_an_effect(desk):
    desk.open("stand")
    desk.play()
    desk.wait(0.3)
    before = desk.body("thorax")
    desk.page.keyboard.down("Shift")
    x, y = desk.spot("thorax", push=True)
    desk.press(x, y)
    desk.move(x + 40, y)
    desk.until("studio.arrow.visible && studio.arrow.newtons > 20")
    assert desk("studio.state.input.mode") == "push"
    force = np.array(desk("studio.state.input.force"))
    label = desk.page.inner_text('[data-testid="force-label"]')
    assert label.split()[1] == "N"
    assert math.isclose(float(label.split()[0]), np.linalg.norm(force), rel_tol=0.5)
    desk.wait(0.4)
    moved = desk.body("thorax") - before
    desk.page.keyboard.up("Shift")
    desk.release()
    assert moved @ force / np.linalg.norm(force) > 0.005
    desk.until("!studio.arrow.visible")


def test_a_chain_is_pulled_by_a_spring_with_newtons(desk):
    desk.open("chain")
    desk.play()
    desk.wait(0.2)
    # a swinging link is caught while time stands
    desk.pause()
    end = desk("studio.state.model.bodies.filter(b => b.part_of === 'prop').at(-1).name")
    x, y = desk.spot(end)
    before = desk.body(end)
    desk.press(x, y)
    desk.move(x + 30, y - 20)
    desk.page.keyboard.press("Space")
    desk.until("studio.arrow.visible && studio.arrow.newtons > 1")
    assert desk("studio.state.input.mode") == "spring"
    desk.wait(0.6)
    assert np.linalg.norm(desk.body(end) - before) > 0.03
    desk.release()


def test_the_pendulums_goal_can_be_dragged(desk):
    desk.open("pendulum")
    desk.play()
    desk.until("studio.state.status.markers.some(m => m.active)")
    marker = desk("studio.state.status.markers.find(m => m.active)")
    place = desk("p => studio.project(p)", marker["place"])
    desk.press(place["x"], place["y"])
    desk.move(place["x"] + 10, place["y"] - 30)
    desk.until("studio.state.input?.held && studio.state.input.mode === 'goal'")
    desk.wait(1.0)
    goal = np.array(desk("studio.state.input.goal"))
    assert np.linalg.norm(goal - marker["place"]) > 0.05
    desk.release()
    # it stays where it was put, and the hand goes there
    now = desk("name => studio.state.status.markers.find(m => m.name === name).place", marker["name"])
    assert np.linalg.norm(goal - now) < 0.01
    desk.until("([body, goal]) => Math.hypot(...studio.body(body).map((p, k) => p - goal[k])) < 0.15", [marker["body"], now])


def time_to_top(desk: Desk, mass: float) -> float:
    """Seconds from taking hold until the box is up."""
    desk.open("lift")
    desk.page.fill('.knob input[type="number"][aria-label="Box mass"]', str(mass))
    desk.page.keyboard.press("Enter")
    desk.until("mass => studio.state.knobs.find(k => k.path === 'props.box.mass').value === mass", mass)
    desk("document.activeElement.blur()")
    desk.play()
    desk.until("studio.state.status.step === 'lift'")
    began = desk.status("time")
    desk.until("['top', 'lower', 'give_up'].includes(studio.state.status.step)")
    assert desk.status("step") != "give_up"
    return float(desk.status("time")) - began


def test_a_heavier_box_is_slower_and_undo_turns_back(desk):
    light = time_to_top(desk, 5)
    heavy = time_to_top(desk, 80)
    assert heavy > light + 0.2
    desk.pause()
    desk.click("undo")
    desk.until("studio.state.knobs.find(k => k.path === 'props.box.mass').value === 8")


def test_scrubbing_back_and_trying_again_from_there(desk):
    desk.open("lift")
    desk.play()
    desk.wait(1.5)
    desk.pause()
    take, length = desk.status("take"), desk.status("length")
    desk.page.keyboard.press("l")
    track = desk.page.locator('[data-testid="timeline"]').bounding_box()
    seconds = max(length, desk("studio.state.model.seconds"))
    desk.page.mouse.move(track["x"] + track["width"] * length / seconds, track["y"] + 18)
    desk.page.mouse.down()
    desk.page.mouse.move(track["x"] + track["width"] * 0.5 / seconds, track["y"] + 18, steps=5)
    desk.page.mouse.up()
    desk.until("studio.state.status.seeking && Math.abs(studio.state.status.time - 0.5) < 0.05")
    desk.until("Math.abs(studio.state.frame.time - studio.state.status.time) < 0.02")
    there = desk.body("hand_r")
    desk.click("branch")
    desk.until("take => studio.ready && studio.state.status.take !== take && !studio.state.status.seeking", take)
    assert abs(desk.status("time") - 0.5) < 0.05
    assert np.linalg.norm(desk.body("hand_r") - there) < 0.01
    desk.play()
    desk.wait(0.2)
    desk.pause()
    assert desk("studio.state.takes.length") >= 2
    # the first one beside it
    desk.page.click(f'[data-take="{take}"] [data-testid="take-ghost"]')
    desk.until("studio.ghosts.length === 1")
    desk.page.click(f'[data-take="{take}"] [data-testid="take-ghost"]')
    desk.until("studio.ghosts.length === 0")


def test_the_preview_is_what_then_happens(desk):
    desk.open("lift")
    desk("""() => {
        window.seen = []; window.told = [];
        studio.state.onFrame(f => f.kind === 1 && seen.push([f.time, studio.body("hand_l")]));
        studio.state.on("preview_paths", p => told.push(p));
    }""")
    desk.play()
    desk.wait(0.3)
    desk.click("preview")
    x, y = desk.spot("hand_l")
    desk.press(x, y)
    desk.move(x + 15, y - 30)
    # the pointer rests; a preview that was asked for after that holds for what follows
    time.sleep(0.3)
    rest = desk.status("time")
    desk.until("rest => told.some(p => p.choice === -1 && p.start > rest)", rest)
    assert -1 in desk("studio.previews")
    paths = desk("rest => told.find(p => p.choice === -1 && p.start > rest)", rest)
    desk.until("end => studio.state.status.time > end", paths["start"] + 0.6)
    seen = desk("seen")
    desk.release()
    line = next(p for p in paths["paths"] if p["body"] == "hand_l")
    times = paths["start"] + np.array(paths["times"])
    where = CubicSpline(times, np.array(line["points"]))
    then = [(t, p) for t, p in seen if paths["start"] < t < paths["start"] + 0.5]
    assert len(then) >= 3
    worst = max(float(np.linalg.norm(where(t) - np.array(p))) for t, p in then)
    assert worst < 0.001
    desk.click("preview")
    desk.until("!studio.state.status.preview && studio.previews.length === 0")


def test_five_futures_and_one_is_taken(desk):
    desk.open("lift")
    desk.play()
    desk.wait(0.2)
    x, y = desk.spot("hand_l")
    desk.press(x, y)
    desk.move(x + 5, y - 15)
    desk.until("studio.state.input?.held")
    desk.page.keyboard.press("v")
    # what is held stays held while one looks
    desk.page.mouse.up()
    desk.until("[0, 1, 2, 3, 4].every(k => studio.previews.includes(k))")
    assert not desk.status("playing")
    before = desk("studio.state.input.goal")
    desk.click("future-3")
    desk.until("z => studio.state.input.held && studio.state.input.goal[2] > z + 0.1", before[2])
    desk.until("studio.state.status.playing")
    desk.page.keyboard.press("Escape")
    desk.until("!studio.state.input.held")


def test_the_why_panel_explains(desk):
    desk.open("stand")
    desk.click("tab-why")
    desk.play()
    desk.until("studio.state.why && document.querySelectorAll('.task').length > 1")
    desk.until("studio.cones > 0 && document.querySelectorAll('.joint').length > 3")
    assert "cm from the edge" in desk.page.inner_text('[data-testid="why-balance"]')
    order = desk("studio.state.why.tasks.filter(t => t.active).map(t => t.priority)")
    assert order == sorted(order)
    desk.click("tab-knobs")
    desk.until("studio.cones === 0 && !studio.state.status.why")


def test_a_take_is_named_saved_exported_and_still_there_after_a_reload(desk, tmp_path):
    desk.open("lift")
    desk.play()
    desk.wait(0.5)
    desk.pause()
    take = desk.status("take")
    desk.click("tab-takes")
    row = f'[data-take="{take}"]'
    desk.page.click(f'{row} [data-testid="take-rename"]')
    desk.page.fill(f"{row} input.take-name", "half a lift")
    desk.page.keyboard.press("Enter")
    desk.until("take => studio.state.takes.find(t => t.id === take).name === 'half a lift'", take)
    desk.page.click(f'{row} [data-testid="take-save"]')
    desk.until("take => studio.state.takes.find(t => t.id === take).saved", take)
    for kind in ("glb", "bvh", "npz"):
        desk.page.click(f'{row} [data-testid="take-export"]')
        with desk.page.expect_download(timeout=PATIENCE) as download:
            desk.page.click(f'{row} [data-testid="export-{kind}"]')
        download.value.save_as(tmp_path / f"take.{kind}")
        assert (tmp_path / f"take.{kind}").stat().st_size > 1000
    glb = pygltflib.GLTF2().load(str(tmp_path / "take.glb"))
    assert glb is not None
    assert {"hand_l", "box"} <= {n.name for n in glb.nodes}
    assert glb.animations
    desk.page.reload()
    desk.until("take => window.studio && studio.ready && studio.state.takes.some(t => t.id === take)", take)
    desk.click("tab-takes")
    assert "half a lift" in desk.page.inner_text(row)


def test_a_finger_on_a_tablet_grabs_too(browser, server):
    with sit_down(browser, server.address, has_touch=True) as desk:
        desk.open("stand")
        desk.play()
        desk.wait(0.1)
        x, y = desk.spot("hand_r")
        touch = desk.page.context.new_cdp_session(desk.page)
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for k in range(1, 6):
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + 4 * k, "y": y - 4 * k}]})
        desk.until("studio.state.input?.held && studio.sent > 0")
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        desk.until("!studio.state.input.held")


def test_a_lost_connection_is_told_and_comes_back(browser, tmp_path):
    first = Running(Studio(TakeFolder(tmp_path), token="a-token"))
    with first, sit_down(browser, first.address) as desk:
        desk.open("stand")
        first.close()
        desk.page.wait_for_selector('[data-testid="banner"]:not([hidden])', timeout=PATIENCE)
        assert "Connection lost" in desk.page.inner_text('[data-testid="banner"]')
        with Running(Studio(TakeFolder(tmp_path), token="a-token"), port=first.port):
            desk.until("studio.state.link.state === 'open'")
            assert not desk.page.is_visible('[data-testid="banner"]')


def test_a_wrong_token_says_what_to_do(browser, server):
    address = server.address.replace(server.studio.token, "wrong")
    with sit_down(browser, address) as desk:
        desk.until("studio.state.link.state === 'refused'")
        assert "manikin studio" in desk.page.inner_text('[data-testid="banner"]')


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_1280_by_720_in_light_and_dark(browser, server, scheme):
    with sit_down(browser, server.address, color_scheme=scheme) as desk:
        desk.page.set_viewport_size({"width": 1280, "height": 720})
        desk.open("stand")
        assert desk("document.documentElement.dataset.theme") == scheme
        assert desk(
            "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
        )
        for name in ("play", "timeline", "branch", "tab-takes", "push", "scenes"):
            box = desk.page.locator(f'[data-testid="{name}"]').bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 1280
            assert box["y"] + box["height"] <= 720
        desk.page.keyboard.press("?")
        assert desk.page.is_visible('[data-testid="help"]')
        desk.page.keyboard.press("Escape")
