"""Compile the kernels that scenes need, in a process of its own, while the user still looks at the gallery.

    python -m manikin.studio.warm

What is compiled is kept on disk, where the studio finds it. A scene that is opened meanwhile compiles what is still missing.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from manikin.compiled import is_cold

# one scene for each controller, and one with flesh
SCENES = ("lift", "lamp", "starfish")


@contextlib.contextmanager
def warming() -> Iterator[None]:
    """Compile in the background, if nothing has been compiled yet; ends with the block."""
    process = None
    if is_cold():
        process = subprocess.Popen(
            [sys.executable, "-m", "manikin.studio.warm"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        yield
    finally:
        if process is not None:
            process.terminate()
            process.wait()


def main() -> None:
    """A few steps of each scene need all that its controller needs."""
    from manikin.scenes.scene import load_scene
    from manikin.studio.live import Live

    for name in SCENES:
        live = Live(load_scene(name))
        for _ in range(5):
            live.step()


if __name__ == "__main__":
    main()
