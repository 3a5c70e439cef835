"""Soft things on the page, in a real browser."""

import numpy as np
from desk import IN_A_BROWSER, sit_down
from jelly import drop_jelly, volume

from manikin.studio.server import Running, Studio
from manikin.studio.takes import TakeFolder

pytestmark = IN_A_BROWSER


def test_a_soft_box_falls_is_seen_and_can_be_grabbed(browser, tmp_path, monkeypatch):
    drop_jelly(monkeypatch)
    with Running(Studio(TakeFolder(tmp_path))) as running, sit_down(browser, running.address) as desk:
        desk.open("stand")
        info = desk("studio.state.model.meshes[0]")
        assert (info["name"], info["count"]) == ("jelly", 26)
        triangles = np.array(info["triangles"]).reshape(-1, 3)

        def drawn() -> np.ndarray:
            return np.array(desk("studio.vertices('jelly')")).reshape(-1, 3)

        before = drawn()
        assert np.allclose(before.ravel(), info["vertices"], atol=1e-4)
        desk.play()
        desk.wait(0.5)
        desk.pause()
        fallen = drawn()
        assert fallen[:, 2].mean() < before[:, 2].mean() - 0.1
        assert abs(volume(fallen, triangles) / volume(before, triangles) - 1) < 0.1
        # a press on the middle of what is seen takes hold of a body of the box
        at = desk("p => studio.project(p)", fallen.mean(axis=0).tolist())
        pick = desk("at => studio.pick(at.x, at.y)", at)
        owner = desk("name => studio.state.model.bodies.find(b => b.name === name).owner", pick["target"])
        assert (owner, pick["mode"]) == ("jelly", "spring")
        nearest = fallen[np.linalg.norm(fallen - pick["place"], axis=1).argmin()]
        assert np.linalg.norm(np.array(desk.body(pick["target"])) - nearest) < 0.01
        desk.press(at["x"], at["y"])
        desk.move(at["x"], at["y"] - 60)
        desk.page.keyboard.press("Space")
        desk.until("studio.arrow.visible && studio.arrow.newtons > 1")
        desk.wait(0.5)
        assert drawn()[:, 2].mean() > fallen[:, 2].mean() + 0.03
        desk.release()
        # looking back shows it where it was
        desk.page.keyboard.press("Space")
        desk.until("!studio.state.status.playing")
        desk("studio.state.send({kind: 'seek', time: 0})")
        desk.until("studio.state.status.seeking && studio.state.frame.time === 0")
        assert np.allclose(drawn(), before, atol=1e-3)
        # the same soft box, next to it as a ghost
        take = desk.status("take")
        desk.click("reset")
        desk.until("take => studio.ready && studio.state.status.take !== take", take)
        desk.click("tab-takes")
        desk.page.click(f'[data-take="{take}"] [data-testid="take-ghost"]')
        desk.until("studio.ghosts.length === 1")
        assert desk.errors == []
