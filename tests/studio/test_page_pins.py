"""Pins, priorities, presses and saved scenes on the page, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from creatures import lamp
from desk import IN_A_BROWSER, PATIENCE, Desk, sit_down

import manikin as mk
from manikin.scenes.scene import load_scene
from manikin.studio.journal import Past
from manikin.studio.server import Running, Studio
from manikin.studio.takes import TakeFolder

pytestmark = IN_A_BROWSER
CAMERA = "camera = { distance = 1.2, at = [0.0, 0.0, 0.2] }"


@pytest.fixture
def lit(browser: Any, tmp_path: Path) -> Iterator[Desk]:
    """A page on which a lamp stands."""
    with Running(Studio(TakeFolder(tmp_path / "takes"))) as running:
        session = running.studio.session
        session.ask(lambda: session.open(lamp(CAMERA))).result(60)
        with sit_down(browser, running.address) as desk:
            desk.until("studio.ready && studio.state.model.scene === 'desk_lamp' && studio.state.pins")
            yield desk
            assert desk.errors == []


def test_a_part_under_the_pointer_is_pinned_armed_ranked_and_let_go(lit: Desk) -> None:
    desk = lit
    pins = "studio.state.pins.pins"
    desk.page.mouse.move(*desk.spot("foot"))
    desk.page.keyboard.press("p")
    desk.until(f"{pins}.length === 1 && {pins}[0].target === 'foot' && {pins}[0].holds")
    desk.until("studio.pinMarks.includes('turn foot holds')")
    desk.page.mouse.move(*desk.spot("upper"))
    desk.page.keyboard.press("j")
    desk.until(f"{pins}.length === 2")
    desk.page.keyboard.press("i")
    rows = desk.page.locator('[data-testid="pin"]')
    assert rows.count() == 2
    assert "foot orientation" in rows.nth(0).inner_text()
    assert "holds" in rows.nth(0).inner_text()
    # armed as in the document's Figure 3
    rows.nth(0).locator('[data-testid="pin-at"]').select_option("lift_off")
    desk.until(f"{pins}[0].at === 'lift_off' && !{pins}[0].holds && {pins}[0].then")
    desk.until("studio.pinMarks.includes('turn foot waits')")
    rows.nth(0).locator('[data-testid="pin-until"]').select_option("touch_down")
    desk.until(f"{pins}[0].until === 'touch_down'")
    assert "at lift-off: pin foot orientation" in rows.nth(0).inner_text()
    assert "waits" in rows.nth(0).inner_text()
    # less important than the other, so it comes below
    rows.nth(0).locator('[data-testid="rank-down"]').click()
    desk.until(f"{pins}[1].target === 'foot' && {pins}[1].priority === 1")
    desk.page.locator('[data-task="posture"] [data-testid="rank-up"]').click()
    desk.until("studio.state.pins.tasks.find(t => t.name === 'posture').priority === 1")
    rows.nth(0).locator('[data-testid="pin-power"]').click()
    desk.until(f"{pins}[0].off && !{pins}[0].holds")
    rows.nth(1).locator('[data-testid="pin-remove"]').click()
    desk.until(f"{pins}.length === 1")
    # the same key lets go
    desk.page.mouse.move(*desk.spot("upper"))
    desk.page.keyboard.press("j")
    desk.until(f"{pins}.length === 0 && studio.pinMarks.length === 0")
    assert "Nothing is pinned" in desk.page.inner_text('[data-testid="pins"]')
    # without keys: what was pressed last
    desk.press(*desk.spot("lower"))
    desk.release()
    desk.click("pin-angle")
    desk.until(f"{pins}.length === 1 && {pins}[0].target === 'lower' && {pins}[0].what === 'angle'")


def test_it_runs_while_pressed_and_the_drag_is_saved_as_a_scene(lit: Desk, tmp_path: Path) -> None:
    desk = lit
    desk.page.keyboard.press("h")
    desk.until("studio.state.status.while_pressed && !studio.state.status.playing")
    assert desk.page.get_attribute('[data-testid="pressed"]', "aria-pressed") == "true"
    desk.page.mouse.move(*desk.spot("foot"))
    desk.page.keyboard.press("p")
    before = desk.body("head")
    desk.press(*desk.spot("head"))
    desk.until("studio.state.status.playing")
    x, y = desk.place(before)
    desk.move(x, y + 25)
    desk.until("z => studio.body('head')[2] < z", float(before[2]) - 0.02)
    desk.release()
    desk.until("!studio.state.status.playing")
    length = desk.status("length")
    desk.page.wait_for_timeout(300)
    assert desk.status("length") == length, "it stands while nothing is held"
    take = desk.status("take")
    desk.page.keyboard.press("l")
    with desk.page.expect_download(timeout=PATIENCE) as download:
        desk.page.click(f'[data-take="{take}"] [data-testid="take-scene"]')
    file = tmp_path / "saved.toml"
    download.value.save_as(file)
    desk.until("document.querySelector('[data-testid=message]').textContent.includes('manikin run')")
    scene = load_scene(file)
    assert {"drag_1", "pin_0_1"} <= set(scene.tasks)
    again = mk.run(scene).recording.qpos
    taken = Past(tmp_path / "takes" / f"{take}.journal").recording().qpos
    assert np.array_equal(again, taken[: len(again)])
    assert len(taken) - len(again) <= 1
    assert len(again) > 5


def test_a_human_has_no_pins(desk: Desk) -> None:
    desk.open("stand")
    assert not desk.page.is_visible('[data-testid="tab-pins"]')
    desk.page.keyboard.press("p")
    assert desk.page.get_attribute('[data-testid="push"]', "aria-pressed") == "true"
    desk.page.keyboard.press("p")


def test_a_doll_is_posed_kept_and_followed(lit: Desk) -> None:
    desk = lit
    desk.page.keyboard.press("o")
    desk.until("document.querySelector('[data-testid=posing]').getAttribute('aria-pressed') === 'true'")
    before = desk.body("head")
    desk.press(*desk.spot("head"))
    x, y = desk.place(before)
    desk.move(x, y + 30)
    desk.until("studio.doll")
    desk.page.mouse.up()
    desk.page.keyboard.press("k")
    desk.until("studio.state.pins.keys.length === 1 && studio.state.pins.posing")
    # the doll is what is pressed next: up again
    x, y = desk.spot("head")
    desk.press(x, y)
    desk.move(x, y - 25)
    desk.page.mouse.up()
    desk.page.keyboard.press("k")
    desk.until("studio.state.pins.keys.length === 2")
    times = desk("studio.state.pins.keys.map(k => k[0])")
    assert np.allclose(times, [0.3, 0.6])
    assert np.array_equal(desk.body("head"), before), "only the doll has moved"
    assert desk.status("length") == 0
    desk.click("keys-play")
    desk.until("studio.state.status.playing && studio.state.pins.follows && !studio.doll")
    lowest = float(before[2])
    while desk.status("time") < 0.8:
        lowest = min(lowest, float(desk.body("head")[2]))
    desk.pause()
    assert lowest < before[2] - 0.02
    assert desk.body("head")[2] > lowest + 0.01
    assert desk.page.locator('[data-testid="key"]').count() == 2
    desk.page.locator('[data-testid="key-drop"]').first.click()
    desk.until("studio.state.pins.keys.length === 1")
    desk.click("keys-stop")
    desk.until("!studio.state.pins.follows")
