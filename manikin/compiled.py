"""Compiled kernels: one decorator, and a cache that can never be stale.

numba decides whether a cached kernel is current by the file that defines it, not by the kernels it calls. So the cache folder
is named after all our sources that have kernels: any change to one of them, an upgrade too, compiles all of them again.
"""

import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event
from numba.core.registry import cpu_target

from manikin.files import cache_folder
from manikin.interrupts import is_interrupt as is_interrupt

F = TypeVar("F", bound=Callable[..., Any])

# reassociation lets sums use vector registers; infinities and NaN keep their meaning
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_KEPT = 3


def _sources() -> str:
    """A name for the state of all sources with kernels."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        source = file.read_bytes()
        if b"manikin.compiled" in source or file == Path(__file__):
            digest.update(source)
    return digest.hexdigest()[:16]


def kernel_folder(name: str) -> Path | None:
    """Where kernels are kept: in the user's cache; if that is not writable, in a private temporary folder; else None."""
    for base in (cache_folder(), Path(tempfile.gettempdir()) / f"manikin-{_user()}"):
        folder = base / "kernels" / name
        if not folder.exists():
            _forget_old(folder)
        if _ours(base) and _writable(folder):
            return folder
    return None


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _ours(base: Path) -> bool:
    """Compiled code is loaded from there: in a folder that others can write to, anybody could plant some."""
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = base.lstat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return stat.S_ISDIR(state.st_mode)
    # the user decides where the cache is: it may be a link, or shared
    if base == cache_folder():
        return True
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


# called with the number of kernels compiled so far, on the thread that compiles, before each of them
watchers: list[Callable[[int], None]] = []


class _Notice(event.Listener):  # type: ignore[misc]
    """Says what is going on during the first compilation."""

    def __init__(self) -> None:
        self.said = not sys.stderr.isatty()
        self.count = 0

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            print("manikin: compiling kernels; this takes about a minute, after an installation or an upgrade", file=sys.stderr)
        for watcher in tuple(watchers):
            watcher(self.count)
        self.count += 1

    def on_end(self, event: Any) -> None:
        pass


def _forget_old(folder: Path) -> None:
    """Keep the last few states of the sources only."""
    try:
        others = sorted((f for f in folder.parent.iterdir() if f != folder), key=lambda f: f.stat().st_mtime)
    except OSError:
        return
    for old in others[: max(0, len(others) - _KEPT + 1)]:
        shutil.rmtree(old, ignore_errors=True)


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers when it is first called, and keep the result on disk.

    Write loops over numbers rather than sums of arrays: they compile to a tenth of the code, which then fits into the
    processor's caches alongside Python and MuJoCo.

    Kernels are inlined into those that call them. Otherwise a kernel that several others call would exist in several
    copies, rounded differently, and which one runs would depend on whether it was compiled just now or read from the cache.
    """
    return numba.njit(cache=True, fastmath=_FAST, forceinline=True)(function)


def routine(function: F) -> F:
    """As kernel, but not inlined: for large functions that one kernel alone calls, which keeps the code small."""
    return numba.njit(cache=True, fastmath=_FAST)(function)


def is_cold() -> bool:
    """Whether no kernel has been kept yet, as after an installation or an upgrade."""
    folder = Path(numba.config.CACHE_DIR) if numba.config.CACHE_DIR else None
    return folder is not None and not any(folder.rglob("*.nbi"))


def load_compiler() -> None:
    """Import the parts of numba that it would otherwise import with the first kernel."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


event.register("numba:compile", _Notice())
if not os.environ.get("NUMBA_CACHE_DIR"):
    _folder = kernel_folder(_sources())
    if _folder is None:
        print(
            f"manikin: kernels are compiled again in each run, which takes about a minute: {cache_folder()} is not writable;"
            " set NUMBA_CACHE_DIR to a folder that is",
            file=sys.stderr,
        )
    else:
        numba.config.CACHE_DIR = str(_folder)
