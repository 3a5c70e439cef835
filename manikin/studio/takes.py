"""The folder of takes: recorded in this and earlier sessions, or uploaded; named, saved, deleted."""

import contextlib
import datetime
import json
import os
import re
import secrets
import threading
import time
from pathlib import Path
from typing import Any

from manikin.errors import InputError, RecordingError
from manikin.files import whole_file
from manikin.studio.cage import read_in_cage
from manikin.studio.journal import Journal, Past
from manikin.studio.messages import TakeInfo

# the largest unpacked size of an uploaded recording [bytes]
MAX_UNPACKED = 1024 * 1024 * 1024
# what takes may fill unless the user says otherwise [bytes]
SPACE = 4 * 10**9


def data_folder() -> Path:
    """The default folder of takes (XDG rule: a relative path is ignored)."""
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "share") / "manikin" / "takes"


class TakeFolder:
    """Takes of this and earlier sessions: <id>.journal, <id>.json with its name, and <id>.npz once it is saved.

    space: what they may fill [bytes]; then nothing more is recorded. No take is deleted unless the user asks for it.
    """

    def __init__(self, path: Path, space: int = SPACE) -> None:
        self.path, self.space = path, space
        # takes that are being recorded now, by any session
        self.recording: dict[str, Journal] = {}
        self._noting = threading.Lock()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: takes cannot be kept there ({error.strerror}); choose a folder with --takes") from error

    def new_id(self) -> str:
        """A name that sorts by time and is never used twice."""
        return f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S-%f}-{secrets.token_hex(3)}"

    def file(self, take: str, kind: str = ".journal") -> Path:
        """The path of a take, existing or not; never outside the folder."""
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", take):
            raise InputError(f"take: '{take[:80]}' is not a take name (letters, digits, _ and -)")
        return self.path / f"{take}{kind}"

    def known(self, take: str) -> Path:
        """The journal of a take that exists."""
        path = self.file(take)
        if not path.is_file():
            raise InputError(f"take: no take is called '{take}'")
        return path

    def ids(self) -> list[str]:
        """All takes, newest first."""
        return sorted((p.stem for p in self.path.glob("*.journal")), reverse=True)

    def note(self, take: str, **what: Any) -> None:
        """Remember something about a take, in a file next to it."""
        # called by the session's thread and by those that answer requests
        with self._noting:
            facts = self._noted(take) | what
            with whole_file(self.file(take, ".json")) as stream:
                stream.write(json.dumps(facts).encode())

    def closed(self, take: str, journal: Journal) -> None:
        """Remember the length of a take, so that its journal need not be read for it."""
        size = self.file(take).stat().st_size
        self.note(take, size=size, seconds=journal.times[-1], scene=journal.meta["name"])

    def opens(self, take: str) -> str:
        """Why a take cannot be opened, as far as is known."""
        return str(self._noted(take).get("opens", ""))

    def name(self, take: str) -> str:
        """What a take is called."""
        return str(self._noted(take).get("name", ""))

    def _noted(self, take: str) -> dict[str, Any]:
        try:
            facts = json.loads(self.file(take, ".json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def info(self, take: str, ghost: int | None = None) -> TakeInfo | None:
        """The entry in the list; None if it is not a take."""
        path, facts, live = self.file(take), self._noted(take), self.recording.get(take)
        try:
            size = path.stat().st_size
            if live is not None:
                facts |= {"seconds": live.times[-1], "scene": live.meta["name"]}
            elif facts.get("size") != size:
                # it ended without noting its length: read the journal, once
                past = Past(path)
                self.note(take, size=size, seconds=past.seconds, scene=past.head["meta"]["name"])
                facts = self._noted(take)
            created = datetime.datetime.fromtimestamp(float(facts.get("created", path.stat().st_mtime)), datetime.UTC)
            return TakeInfo(
                take, str(facts.get("name", "")), str(facts["scene"]), float(facts["seconds"]),
                created.isoformat(timespec="seconds"), self.file(take, ".npz").is_file(), live is not None, ghost,
            )  # fmt: skip
        except (OSError, RecordingError, KeyError, TypeError, ValueError):
            return None

    def delete(self, take: str) -> None:
        """Delete a take for good."""
        for kind in (".journal", ".json", ".npz"):
            with contextlib.suppress(FileNotFoundError):
                self.file(take, kind).unlink()

    def used(self) -> int:
        """What all takes fill now [bytes]; other files in the folder do not count."""
        total = 0
        for take in self.ids():
            for kind in (".journal", ".json", ".npz"):
                # another studio may delete it meanwhile
                with contextlib.suppress(OSError):
                    total += self.file(take, kind).stat().st_size
        return total

    def save(self, take: str) -> Path:
        """Save the recording; returns its path."""
        recording = Past(self.known(take)).recording()
        path = self.file(take, ".npz")
        recording.save(path)
        return path

    def add(self, source: Path, name: str = "") -> str:
        """Make an uploaded recording a take, after checking it in a process of its own."""
        take = self.new_id()
        part = self.file(take, ".part")
        try:
            facts = read_in_cage(source, part, MAX_UNPACKED)
            part.rename(self.file(take))
            size = self.file(take).stat().st_size
            self.note(take, name=name[:80], created=time.time(), size=size, **facts)
        except BaseException:
            part.unlink(missing_ok=True)
            self.delete(take)
            raise
        return take
