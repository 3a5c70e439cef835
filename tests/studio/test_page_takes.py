"""Takes on the page, in a real browser: named, saved, exported, loaded."""

import pygltflib
from desk import IN_A_BROWSER, PATIENCE

pytestmark = IN_A_BROWSER


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
