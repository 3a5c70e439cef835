"""Creatures under direct control on the page, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from creatures import lamp, starfish
from desk import IN_A_BROWSER, Desk, sit_down

from manikin.scenes.scene import Scene, load_scene
from manikin.studio.server import Running, Studio
from manikin.studio.takes import TakeFolder

pytestmark = IN_A_BROWSER


@pytest.fixture
def sit(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """A page on which a scene that does not ship is open."""
    with Running(Studio(TakeFolder(tmp_path))) as running:

        def open_it(scene: Scene) -> Any:
            running.studio.session.ask(lambda: running.studio.session.open(scene)).result(60)
            return sit_down(browser, running.address)

        yield open_it


def ready(desk: Desk, scene: str) -> None:
    desk.until("s => studio.ready && studio.state.model.scene === s", scene)


def test_the_head_of_a_lamp_is_dragged_down_and_follows(sit: Any) -> None:
    with sit(lamp("camera = { distance = 1.2, at = [0.0, 0.0, 0.2] }")) as desk:
        ready(desk, "desk_lamp")
        desk.play()
        desk.wait(0.2)
        before = desk.body("head")
        desk.press(*desk.spot("head"))
        x, y = desk.place(before)
        desk.move(x, y + 30)
        desk.until("studio.state.input?.held && studio.state.input.mode === 'task'")
        assert desk("studio.state.input.target") == "head"
        desk.until("z => studio.body('head')[2] < z", float(before[2]) - 0.03)
        desk.wait(0.8)
        assert desk.gap() < 0.03
        assert desk.body("foot")[2] < 0.05, "it still stands"
        # the reasons name what it stands on, and the drag
        desk.page.keyboard.press("w")
        says = "([id, text]) => document.querySelector(`[data-testid=${id}]`)?.textContent.includes(text)"
        desk.until(says, ["why-creatures", "foot as standing"])
        desk.until(says, ["why-tasks", "your drag"])
        desk.release()
        # what is kept small is chosen, and chosen back
        desk.click("tab-knobs")
        choice = '[data-testid="knob-control.formulation"]'
        desk.page.select_option(choice, label="velocity")
        chosen = "([at, undo, value]) => studio.state.status.undo === undo && document.querySelector(at).value === value"
        desk.until(chosen, [choice, 1, "1"])
        desk.click("undo")
        desk.until(chosen, [choice, 0, "0"])
        assert desk.errors == []


def test_the_surface_of_a_starfish_moves_with_its_arm(sit: Any) -> None:
    with sit(starfish("camera = { distance = 1.2, at = [0.0, 0.0, 0.1] }")) as desk:
        ready(desk, "sea_star")
        info = desk("studio.state.model.meshes.map(m => [m.name, m.count])")
        assert [name for name, _ in info] == ["flesh_0", "flesh_1"]

        def drawn() -> np.ndarray:
            return np.array(desk("studio.vertices('flesh_0')")).reshape(-1, 3)

        before = drawn()
        owner = np.array(desk("studio.state.model.meshes[0].bodies"))
        names = desk("studio.state.model.bodies.map(b => b.name)")
        # a press on an arm takes its bone
        x, y = desk.spot("arm_1")
        assert desk("([x, y]) => studio.pick(x, y).mode", [x, y]) == "task"
        desk.press(x, y)
        desk.move(x, y - 25)
        desk.page.keyboard.press("Space")
        desk.until("studio.state.input?.held && studio.state.input.target === 'arm_1'")
        desk.wait(0.4)
        moved = drawn()
        arm = np.isin(owner, [names.index("arm_1"), names.index("tip_1")])
        assert (moved - before)[arm][:, 2].mean() > 0.01
        assert np.isfinite(moved).all()
        desk.release()
        assert desk.errors == []


def test_what_is_pointed_at_through_glass_is_meant(sit: Any) -> None:
    with sit(load_scene("starfish_escape")) as desk:
        ready(desk, "starfish_escape")
        # an arm lies under the lid: the press takes it, and not the case before it
        desk.press(*desk.spot("arm_1"))
        # held: reported once time goes on
        desk.page.keyboard.press("Space")
        desk.until("studio.state.input?.held")
        assert desk("studio.state.input.target") == "arm_1"
        desk.release()
        assert desk.errors == []
