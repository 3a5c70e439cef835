"""Writing files: whole or not at all, and the same bytes for the same content."""

import contextlib
import io
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from manikin.errors import InputError, OutputError

# zip files carry dates; ours always carry this one
_DATE = (1980, 1, 1, 0, 0, 0)


def cache_folder() -> Path:
    """Where this package may keep what it can make again (the XDG rule: a relative path counts as none)."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "manikin"


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write into a temporary neighbour that replaces `path` only when everything went well."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        # a full disk, for one
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Fail early, before any work, when `path` could not be written."""
    folder = path.parent
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder '{folder}' does not exist")
    if path.is_dir():
        raise OutputError(f"{path}: is a folder")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise OutputError(f"{path}: cannot be written (no permission)")


def save_npz(path: Path, arrays: Mapping[str, Any]) -> None:
    """An .npz with fixed dates and order: equal arrays give equal bytes."""
    with whole_file(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, buffer.getvalue())


def load_npz(path: Path, wrong: type[InputError]) -> dict[str, Any]:
    """All arrays of an .npz, pickles refused; whatever else the file is raises `wrong`, in one line."""
    try:
        with path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise ValueError("one bare array")
            with loaded:
                return {name: loaded[name] for name in loaded.files}
    except FileNotFoundError:
        raise wrong(f"{path}: no such file") from None
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        # numpy takes any noise for a pickle and advises to load it unsafely: nothing to pass on
        why = "pickled data or noise" if "pickle" in str(error) else " ".join(str(error).split())[:120]
        raise wrong(f"{path}: not a readable .npz file ({why})") from error
