"""Pictures and films: they open, have the right size and rate, and something is on them."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

import manikin as mk
from manikin.errors import OutputError
from manikin.export import render, video

pytestmark = pytest.mark.draws


@pytest.fixture(scope="module")
def short() -> mk.Take:
    return mk.run(mk.load_scene("lift"), seconds=0.3)


def test_contact_sheet(lift: mk.Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # three small moments: drawing in software takes its time
    monkeypatch.setattr(video, "contact_sheet", partial(render.contact_sheet, count=3, width=90, height=120))
    mk.save(lift, tmp_path / "lift.png")
    with Image.open(tmp_path / "lift.png") as picture:
        assert (picture.format, picture.size, picture.mode) == ("PNG", (270, 240), "RGB")
        pixels = np.asarray(picture).astype(float)
    tiles = pixels.reshape(2, 120, 3, 90, 3).swapaxes(1, 2)
    # someone is in every picture, the moments differ, and so do the two views
    assert tiles.std(axis=(2, 3)).min() > 5
    assert np.abs(tiles[:, 0] - tiles[:, 1]).max() > 30
    assert np.abs(tiles[0] - tiles[1]).max() > 30


def test_the_wood_of_the_figure_is_in_the_middle(short: mk.Take) -> None:
    with render.Painter(short.recording, 96, 128) as painter:
        picture = painter.draw(0, render.view_of(short.recording)).astype(int)
    # warm: clearly more red than blue, unlike floor and sky
    warm = picture[..., 0] - picture[..., 2] > 50
    assert 0.02 < warm.mean() < 0.5
    columns = np.flatnonzero(warm.any(axis=0))
    assert 20 < columns.mean() < 76


def test_moments_tell_the_whole_story(lift: mk.Take) -> None:
    frames = render.moments(lift.recording, 8)
    assert frames[0] == 0
    assert frames[-1] == len(lift.recording.time) - 1
    assert np.ptp(np.diff(frames)) <= 1


def test_film(short: mk.Take, tmp_path: Path) -> None:
    shares: list[float] = []
    mk.save(short, tmp_path / "lift.mp4", shares.append)
    words = ["-i", str(tmp_path / "lift.mp4"), "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    played = subprocess.run([imageio_ffmpeg.get_ffmpeg_exe(), *words], capture_output=True, check=True)
    facts = next(line for line in played.stderr.decode().splitlines() if "Video: h264" in line)
    assert "yuv420p" in facts
    assert "960x720" in facts
    assert "30 fps" in facts
    # 0 to 0.3 s at 30 per second
    frames = np.frombuffer(played.stdout, np.uint8).reshape(-1, 720, 960)
    assert len(frames) == 10
    assert frames.std(axis=(1, 2)).min() > 5
    assert shares[-1] == pytest.approx(1.0)
    assert [f.name for f in tmp_path.iterdir()] == ["lift.mp4"]


def test_a_film_that_breaks_leaves_nothing(short: mk.Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(share: float) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(render.Painter, "draw", lambda *_: np.zeros((720, 960, 3), np.uint8))
    with pytest.raises(OutputError, match="out of luck"):
        video.save_mp4(short.recording, tmp_path / "lift.mp4", break_off)
    assert not list(tmp_path.iterdir())


def test_without_a_renderer_the_command_says_so_early(command: Callable[..., tuple[int, str, str]], tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    def fail(*_: object) -> None:
        raise RuntimeError("no display")

    monkeypatch.setattr(render.mujoco, "Renderer", fail)
    code, _, err = command("run", "lift", "--seconds", "0.02", "--out", "lift.png")
    assert code == 2
    assert "libegl1" in err
    assert not list(tmp_path.iterdir())


def test_no_stray_shadows_far_from_the_middle() -> None:
    """Where the map of shadows ends it leaves dark dots on the floor; it lies around what is looked at."""
    recording = mk.run(mk.load_scene("lamp_stairs"), seconds=0.02).recording
    view = render.view_of(recording)
    with render.Painter(recording, 800, 450, fine=True) as painter:
        wide = painter.draw(0, replace(view, distance=1.3 * view.distance)).astype(int)
    # the bare floor to the left of the stairs
    floor = wide[100:, :150]
    assert np.ptp(floor.sum(axis=2)) < 40
