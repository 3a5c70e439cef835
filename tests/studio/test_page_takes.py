"""Takes on the page, in a real browser: named, saved, exported, loaded."""

import imageio_ffmpeg
import pygltflib
from desk import IN_A_BROWSER, PATIENCE

import manikin as mk

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


def test_a_take_becomes_a_film(desk, tmp_path):
    desk.open("stand")
    desk.play()
    desk.wait(0.2)
    desk.pause()
    desk.click("tab-takes")
    row = f'[data-take="{desk.status("take")}"]'
    length = desk.status("length")
    # Esc, or a press elsewhere, shuts the menu
    for shut in (lambda: desk.page.keyboard.press("Escape"), lambda: desk.click("clock")):
        desk.page.click(f'{row} [data-testid="take-export"]')
        assert desk.page.is_visible(f'{row} [data-testid="export-mp4"]')
        shut()
        assert not desk.page.is_visible(f'{row} [data-testid="export-mp4"]')
    desk.page.click(f'{row} [data-testid="take-export"]')
    with desk.page.expect_download(timeout=PATIENCE) as download:
        desk.page.click(f'{row} [data-testid="export-mp4"]')
        assert "film is being made" in desk.page.inner_text('[data-testid="message"]')
    download.value.save_as(tmp_path / "take.mp4")
    frames, facts = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "take.mp4"))
    assert frames > 5
    assert abs(facts - length) < 0.1


def test_a_recording_from_elsewhere_is_loaded_and_opened(desk, tmp_path):
    mk.run(mk.load_scene("stand"), seconds=0.4).recording.save(tmp_path / "from elsewhere.npz")
    desk.open("lift")
    desk.click("tab-takes")
    desk.page.set_input_files('input[type="file"]', tmp_path / "from elsewhere.npz")
    desk.until("studio.state.takes.some(t => t.name === 'from elsewhere')")
    assert "Loaded" in desk.page.inner_text('[data-testid="message"]')
    take = desk("studio.state.takes.find(t => t.name === 'from elsewhere').id")
    desk.page.click(f'[data-take="{take}"] .take-name')
    desk.until("take => studio.ready && studio.state.model.scene === 'stand' && studio.state.status.take === take", take)
    desk.until("studio.state.status.seeking && Math.abs(studio.state.status.length - 0.4) < 0.02")
    # what is no recording is refused, and why is said
    (tmp_path / "no.npz").write_bytes(b"not a recording")
    desk.page.set_input_files('input[type="file"]', tmp_path / "no.npz")
    desk.until("document.querySelector('[data-testid=message]').classList.contains('error')")
    assert not desk("studio.state.takes.some(t => t.name === 'no')")
    # the refusal is a line in the console too
    desk.errors = [e for e in desk.errors if "400" not in e]
