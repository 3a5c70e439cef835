"""Frames of a film, in order. Long films are drawn by several processes: drawing a frame in software takes a tenth of a second.

Run as a program, it draws every n-th frame of a recording and writes raw pixels to its standard output.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from manikin.errors import OutputError
from manikin.export.render import Image, Painter, view_of
from manikin.machine import cores
from manikin.recording import Recording, load_recording

# the path of a camera that follows is smoothed over this long [s]
CALM = 0.4
# films of fewer frames are drawn before other processes would have started
ALONE = 60
# more processes than this would wait for the one that collects
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


def frames(recording: Recording, film: Film) -> Generator[Image]:
    """All frames of a film, each (height, width, 3). Close the generator to end the drawing processes."""
    count = min(cores(), MOST)
    if count < 2 or len(film.moments(recording)) < ALONE:
        return draw(recording, film)
    return _draw_together(recording, film, count)


def draw(recording: Recording, film: Film, first: int = 0, stride: int = 1) -> Generator[Image]:
    """Every `stride`-th frame from `first` on. The camera follows the path that it takes in the whole film."""
    shown = film.moments(recording)
    with Painter(recording, film.width, film.height) as painter:
        views = painter.follow(shown, view_of(recording, film.width / film.height), CALM * film.fps)
        for frame, view in list(zip(shown, views))[first::stride]:
            yield painter.draw(frame, view)


def _draw_together(recording: Recording, film: Film, count: int) -> Generator[Image]:
    """Several processes draw every n-th frame each; none gets further ahead than the one frame that it waits to hand over."""
    size = (film.height, film.width, 3)
    # threads that the drawing library starts by itself would compete with the other processes
    environment = os.environ | {"LP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="manikin-film-") as folder, contextlib.ExitStack() as stack:
        path = Path(folder) / "recording.npz"
        recording.save(path)
        drawers, complaints = [], []
        for k in range(count):
            complaints.append(stack.enter_context(open(Path(folder) / f"{k}.txt", "w+", errors="replace")))
            words = [str(path), str(film.fps), str(film.width), str(film.height), str(k), str(count)]
            drawer = subprocess.Popen(
                [sys.executable, "-m", "manikin.export.film", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints[k], env=environment,
                start_new_session=True,  # Ctrl-C reaches only the process that collects, which ends the others
            )  # fmt: skip
            stack.callback(_end, drawer)
            drawers.append(drawer)
        for k in range(len(film.moments(recording))):
            drawer = drawers[k % count]
            assert drawer.stdout is not None
            pixels = drawer.stdout.read(int(np.prod(size)))
            if len(pixels) < np.prod(size):
                complaints[k % count].seek(0)
                said = complaints[k % count].read().strip().splitlines() or [f"its process ended with {drawer.wait()}"]
                raise OutputError(f"a frame of the film could not be drawn: {said[-1]}")
            yield np.frombuffer(pixels, np.uint8).reshape(size)


def _end(drawer: "subprocess.Popen[bytes]") -> None:
    drawer.terminate()
    if drawer.stdout is not None:
        drawer.stdout.close()
    drawer.wait()


def main(path: str, fps: str, width: str, height: str, first: str, stride: str) -> None:
    # a broken pipe: the process that collects has ended
    with contextlib.suppress(BrokenPipeError):
        for picture in draw(load_recording(path), Film(float(fps), int(width), int(height)), int(first), int(stride)):
            sys.stdout.buffer.write(picture.tobytes())
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
