"""The cage: an uploaded recording is read, and its model compiled, in a process of its own with limits of memory and time.

A small file may describe a model that takes all memory of the machine, and MuJoCo's compiler cannot be interrupted. Limits of
memory hold on Linux; elsewhere only the time is limited.
"""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from manikin.errors import InputError, ManikinError, RecordingError
from manikin.files import one_line

# memory [bytes] and time [s] for reading one recording; the largest journal that may be made from it [bytes]
MEMORY, SECONDS, JOURNAL = 768 * 2**20, 15, 2 * 2**30
_TOO_MUCH = f"the recording is refused: it takes more than {MEMORY // 2**20} MB of memory or {SECONDS} s to read"


def read_in_cage(source: Path, journal: Path, most: int) -> dict[str, Any]:
    """Check an uploaded recording, unpacked at most `most` bytes large, and write it as the journal of a take.

    Returns its facts: its scene and length, and "opens": why the scene cannot be opened again, "" if it can.
    """
    command = [sys.executable, "-m", "manikin.studio.cage", str(source), str(journal), str(most), str(SECONDS)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 2, check=False)
    except subprocess.TimeoutExpired:
        raise RecordingError(_TOO_MUCH) from None
    lines = done.stdout.strip().splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        # it was ended by a limit, or crashed
        raise RecordingError(f"{_TOO_MUCH}, or makes the reader crash") from None
    if "error" in answer:
        raise RecordingError(answer["error"])
    return dict(answer)


def _limit(seconds: int) -> None:
    """Limits of this process, where the system knows them."""
    with contextlib.suppress(ImportError):
        import resource

        for kind, value in (("RLIMIT_DATA", MEMORY), ("RLIMIT_CPU", seconds), ("RLIMIT_FSIZE", JOURNAL), ("RLIMIT_CORE", 0)):
            with contextlib.suppress(AttributeError, ValueError, OSError):
                resource.setrlimit(getattr(resource, kind), (value, value))


def _read(source: Path, journal: Path, most: int) -> dict[str, Any]:
    from manikin.playback import replay_model
    from manikin.recording import load_recording
    from manikin.studio.journal import Past, write_journal

    recording = load_recording(source, most)
    model = replay_model(recording)
    try:
        write_journal(recording, model, journal)
        past = Past(journal)
        past.inputs()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RecordingError(f"not a recording of a scene ({type(error).__name__}: {error})") from error
    meta = recording.meta
    return {
        "seconds": past.seconds,
        "scene": meta["name"],
        "opens": _opens(str(meta["scene"]), str(meta["name"]), recording.mjcf),
    }


def _opens(text: str, name: str, mjcf: str) -> str:
    """Why the recorded scene does not give the recorded model, "" if it does."""
    from manikin.scenes.scene import parse_text
    from manikin.studio.live import Live

    try:
        live = Live(parse_text(text, name))
    except ManikinError as error:
        return one_line(str(error))[:200]
    return "" if live.world.mjcf == mjcf else "it was made with another model"


def main() -> None:
    """Read what the command line names; the last line on stdout is the answer."""
    source, journal, most, seconds = sys.argv[1:5]
    _limit(int(seconds))
    try:
        answer: dict[str, Any] = _read(Path(source), Path(journal), int(most))
    except InputError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": _TOO_MUCH}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
