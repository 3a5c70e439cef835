"""Frames of a film, in order. Long films are drawn by several processes: software draws a frame in a tenth of a second.

Run as a program it draws every n-th frame of a recording and writes them, as raw pixels, to where its output goes.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from manikin.errors import OutputError
from manikin.export.render import Image, Painter, view_of
from manikin.machine import cores
from manikin.recording import Recording, load_recording

# a camera that goes along smooths its way over this long [s]
CALM = 0.4
# shorter films are drawn before other processes have started
ALONE = 60
# more processes than this have to wait for whoever collects
MOST = 4


@dataclass(frozen=True)
class Film:
    """Frames per second, and their size."""

    fps: float
    width: int
    height: int

    def moments(self, recording: Recording) -> list[int]:
        """Frames of the recording that are shown, one after the other."""
        times = np.arange(0, recording.time[-1] + 1e-9, 1 / self.fps)
        # the frame before, or the one after where that is nearer
        after = np.searchsorted(recording.time, times).clip(1, max(1, len(recording.time) - 1))
        before = recording.time[after - 1]
        nearer = (times - before > recording.time[after.clip(max=len(recording.time) - 1)] - times) & (len(recording.time) > 1)
        return [int(f) for f in after - 1 + nearer]


def frames(recording: Recording, film: Film) -> Iterator[Image]:
    """All frames of a film, each (height, width, 3)."""
    count = min(cores(), MOST)
    if count < 2 or len(film.moments(recording)) < ALONE:
        return draw(recording, film)
    return _draw_together(recording, film, count)


def draw(recording: Recording, film: Film, first: int = 0, stride: int = 1) -> Iterator[Image]:
    """Every `stride`-th frame from `first` on. The camera's way is that of the whole film."""
    shown = film.moments(recording)
    with Painter(recording, film.width, film.height) as painter:
        views = painter.follow(shown, view_of(recording), CALM * film.fps)
        for frame, view in list(zip(shown, views))[first::stride]:
            yield painter.draw(frame, view)


def _draw_together(recording: Recording, film: Film, count: int) -> Iterator[Image]:
    """Processes draw in turn; none can get further ahead than the frame that it waits to hand over."""
    size = (film.height, film.width, 3)
    # a drawing library that starts threads of its own would only get in the way of the other processes
    surroundings = os.environ | {"LP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="manikin-film-") as folder, contextlib.ExitStack() as stack:
        path = Path(folder) / "recording.npz"
        recording.save(path)
        artists, complaints = [], []
        for k in range(count):
            complaints.append(stack.enter_context(open(Path(folder) / f"{k}.txt", "w+", errors="replace")))
            words = [str(path), str(film.fps), str(film.width), str(film.height), str(k), str(count)]
            artist = subprocess.Popen(
                [sys.executable, "-m", "manikin.export.film", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints[k], env=surroundings,
            )  # fmt: skip
            stack.callback(_end, artist)
            artists.append(artist)
        for k in range(len(film.moments(recording))):
            artist = artists[k % count]
            assert artist.stdout is not None
            pixels = artist.stdout.read(int(np.prod(size)))
            if len(pixels) < np.prod(size):
                complaints[k % count].seek(0)
                said = complaints[k % count].read().strip().splitlines() or [f"it ended with {artist.wait()}"]
                raise OutputError(f"a frame of the film could not be drawn: {said[-1]}")
            yield np.frombuffer(pixels, np.uint8).reshape(size)


def _end(artist: "subprocess.Popen[bytes]") -> None:
    artist.terminate()
    if artist.stdout is not None:
        artist.stdout.close()
    artist.wait()


def main(path: str, fps: str, width: str, height: str, first: str, stride: str) -> None:
    # whoever collects is gone when nobody reads any more
    with contextlib.suppress(BrokenPipeError):
        for picture in draw(load_recording(path), Film(float(fps), int(width), int(height)), int(first), int(stride)):
            sys.stdout.buffer.write(picture.tobytes())
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
