"""Compiled kernels: one decorator, and a cache that can never be stale.

numba decides whether a cached kernel is fresh by the file it stands in, not by the kernels it calls. So the cache folder is
named after all our sources that have kernels: any change to one of them, an upgrade too, compiles anew.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from manikin.files import cache_folder
from manikin.interrupts import is_interrupt as is_interrupt

F = TypeVar("F", bound=Callable[..., Any])

# reassociation lets sums use vector registers; infinities and NaN keep their meaning
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_KEPT = 3


def _kernel_folder() -> Path:
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        source = file.read_bytes()
        if b"manikin.compiled" in source or file == Path(__file__):
            digest.update(source)
    return cache_folder() / "kernels" / digest.hexdigest()[:16]


def _forget_old(folder: Path) -> None:
    """Keep the last few states of the sources only."""
    try:
        others = sorted((f for f in folder.parent.iterdir() if f != folder), key=lambda f: f.stat().st_mtime)
    except OSError:
        return
    for old in others[: max(0, len(others) - _KEPT + 1)]:
        shutil.rmtree(old, ignore_errors=True)


def kernel(function: F) -> F:
    """Compile a function of arrays and numbers when it is first called, and remember it on disk.

    Write loops over numbers rather than sums of arrays: they compile to a tenth of the code, which then fits into the
    processor's caches beside Python and MuJoCo.

    Kernels are inlined into those that call them. Otherwise a kernel that several others call would exist in several
    copies, rounded differently, and which one runs would depend on whether it was compiled just now or read from the cache.
    """
    return numba.njit(cache=True, fastmath=_FAST, forceinline=True)(function)


def routine(function: F) -> F:
    """As kernel, but not inlined: for large functions that one kernel alone calls, which keeps the code small."""
    return numba.njit(cache=True, fastmath=_FAST)(function)


if not os.environ.get("NUMBA_CACHE_DIR"):
    _folder = _kernel_folder()
    if not _folder.exists():
        _forget_old(_folder)
    numba.config.CACHE_DIR = str(_folder)
