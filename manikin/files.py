"""Files: written whole or not at all, with equal bytes for equal content; .npz files read with their size known beforehand."""

import contextlib
import io
import math
import os
import re
import struct
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
# a file may unpack to this much [MB], unless the variable says otherwise
LOAD_VARIABLE = "MANIKIN_MAX_LOAD_MB"
_LOAD_MB = 2048


def cache_folder() -> Path:
    """Where this package may keep files that it can make again (XDG rule: a relative path is ignored)."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "manikin"


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary file in the same folder, which replaces `path` only on success."""
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
    """Fail before any work when `path` could not be written."""
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


# --- reading .npz

# all that a damaged archive makes zipfile, zlib and struct raise
_DAMAGE = (
    OSError, ValueError, EOFError, LookupError, RuntimeError, OverflowError, MemoryError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_ENTRIES = 10_000
_HEADER_BYTES = 4096
# of a header whose blanks are taken out
_FIELD = r"""['"](\w+)['"]:(?:['"]([^'"\\]{1,16})['"]|(True|False)|\(([\d,]*)\))"""
_HEADER = re.compile(rf"\{{{_FIELD},{_FIELD},{_FIELD},?\}}", re.ASCII)
# truth values, whole and other numbers, text; no Python objects, records or dates
_PLAIN = re.compile(r"[<>|=]?(?:\?|[biufcSU]\d{1,10})")
_CHUNK = 1 << 20


def load_limit() -> int:
    """The most that a file may unpack to [bytes]: 2 GB, or what the environment says."""
    given = os.environ.get(LOAD_VARIABLE, "").strip()
    if not given:
        return _LOAD_MB << 20
    if not given.isascii() or not given.isdigit() or not 0 < len(given) < 10 or int(given) == 0:
        raise InputError(f"{LOAD_VARIABLE}: given '{given[:40]}': a whole number of megabytes above zero is expected")
    return int(given) << 20


def load_npz(path: Path, wrong: type[InputError], limit: int | None = None) -> dict[str, Any]:
    """All arrays of an .npz file: numbers and text, no pickled objects. Everything else raises `wrong`, in one line.

    limit: the most that the file may unpack to [bytes], default load_limit(). The sizes that the archive and its arrays
    announce are checked before anything is unpacked, and no more than them is read.
    """
    most = load_limit() if limit is None else limit
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            _check_size(sum(e.file_size for e in entries), most, limit is None)
            _check_entries(entries)
            arrays = {e.filename.removesuffix(".npy"): _read_array(archive, e) for e in entries}
            # narrow number types are widened
            _check_size(
                sum(max(a.nbytes, 8 * a.size) for a in arrays.values() if a.dtype.kind not in "SU"), most, limit is None
            )
            return arrays
    except FileNotFoundError:
        raise wrong(f"{path}: no such file") from None
    except IsADirectoryError:
        raise wrong(f"{path}: is a folder") from None
    except _DAMAGE as error:
        why = " ".join(str(error).split())[:160] or type(error).__name__
        raise wrong(f"{path}: not a readable .npz file ({one_line(why)})") from error


def one_line(text: str) -> str:
    """Text that can be printed anywhere: what is not printable becomes a question mark."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _check_size(whole: int, most: int, ours: bool) -> None:
    if whole > most:
        more = f"; {LOAD_VARIABLE} raises the limit" if ours else ""
        raise ValueError(f"it would unpack to {whole / 2**20:.0f} MB, at most {most >> 20} MB are allowed{more}")


def _check_entries(entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > _ENTRIES:
        raise ValueError(f"{len(entries)} arrays, at most {_ENTRIES} are expected")
    names = [e.filename for e in entries]
    if len(set(names)) < len(names):
        raise ValueError("two arrays have the same name")
    for entry in entries:
        if not entry.filename.endswith(".npy"):
            raise ValueError(f"'{entry.filename[:40]}' is not an array")
        # other methods unpack without bounds, and numpy writes neither
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"'{entry.filename[:40]}' is packed by an unknown method")


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """One array; its header must announce just what the entry holds."""
    name = entry.filename.removesuffix(".npy")[:40]
    with archive.open(entry) as stream:
        magic = stream.read(8)
        if len(magic) < 8 or magic[:6] != b"\x93NUMPY" or magic[6] not in (1, 2, 3):
            raise ValueError(f"'{name}' is not an array")
        size_bytes = stream.read(2 if magic[6] == 1 else 4)
        length = int.from_bytes(size_bytes, "little")
        if length > _HEADER_BYTES:
            raise ValueError(f"array '{name}' has a header of {length} bytes")
        dtype, fortran, shape = _header(stream.read(length).decode("utf-8"), name)
        count, rest = math.prod(shape), entry.file_size - 8 - len(size_bytes) - length
        if count * dtype.itemsize != rest:
            raise ValueError(f"array '{name}' should hold {count * dtype.itemsize} bytes and holds {rest}")
        content = np.empty(rest, np.uint8)
        view, done = content.data, 0
        while done < rest:
            part = stream.read(min(_CHUNK, rest - done))
            if not part:
                raise EOFError(f"array '{name}' is cut off")
            view[done : done + len(part)] = part
            done += len(part)
        # the checksum is compared at the end
        stream.read(1)
    # an empty text has no bytes
    flat = content.view(dtype) if dtype.itemsize else np.zeros(min(count, 1), dtype)
    array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    if dtype.kind == "U":
        _check_text(content, dtype, name)
    return array


def _header(text: str, name: str) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    """dtype, order and shape. Read by a pattern: a parser of Python can be made to crash or to take all memory."""
    match = _HEADER.fullmatch("".join(text.split()))
    words = match.groups() if match else ()
    found = {words[k]: words[k + 1 : k + 4] for k in range(0, len(words), 4)}
    if set(found) != {"descr", "fortran_order", "shape"}:
        raise ValueError(f"array '{name}' holds no plain numbers or text, or its header is damaged")
    kind, order, sizes = found["descr"][0], found["fortran_order"][1], found["shape"][2]
    if kind is not None and "O" in kind:
        raise ValueError(f"array '{name}' is pickled data")
    if kind is None or order is None or sizes is None or not _PLAIN.fullmatch(kind):
        raise ValueError(f"array '{name}' holds no plain numbers or text, or its header is damaged")
    lengths = sizes.removesuffix(",").split(",") if sizes else []
    if len(lengths) > 8 or not all(w.isdigit() and len(w) < 13 for w in lengths):
        raise ValueError(f"array '{name}' has an impossible shape")
    try:
        return np.dtype(kind), order == "True", tuple(int(w) for w in lengths)
    except TypeError:
        raise ValueError(f"array '{name}' holds numbers of an unknown kind") from None


def _check_text(content: np.ndarray[Any, Any], dtype: np.dtype[Any], name: str) -> None:
    """Refuse characters that cannot be encoded: beyond Unicode, or lone surrogates."""
    codes = content.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
    if len(codes) and (int(codes.max()) > 0x10FFFF or bool(((codes >= 0xD800) & (codes <= 0xDFFF)).any())):
        raise ValueError(f"array '{name}' holds characters that do not exist")
