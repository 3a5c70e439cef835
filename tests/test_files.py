"""Files: whole or not at all, equal bytes for equal content, and bounded memory whatever is read."""

import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from manikin.errors import ClipError, InputError, OutputError
from manikin.files import cache_folder, check_writable, load_limit, load_npz, save_npz, whole_file


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"old")

    def write_half() -> None:
        with whole_file(file) as stream:
            stream.write(b"new")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        write_half()
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_success_replaces_the_file_and_others_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"old")
    with whole_file(file) as stream:
        stream.write(b"new")
        assert file.read_bytes() == b"old"
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_is_reported_early(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "no" / "a.npz", tmp_path / "file" / "a.npz", tmp_path):
        with pytest.raises(OutputError):
            check_writable(path)
    with pytest.raises(OutputError), whole_file(tmp_path / "no" / "a.npz"):
        pass
    check_writable(tmp_path / "a.npz")


def test_npz_files_carry_no_dates(tmp_path: Path) -> None:
    arrays = {"b": np.arange(5.0), "a": np.array("text"), "c/d": np.zeros((0, 3))}
    save_npz(tmp_path / "one.npz", arrays)
    with zipfile.ZipFile(tmp_path / "one.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist() == ["b.npy", "a.npy", "c/d.npy"]
    back = load_npz(tmp_path / "one.npz", ClipError)
    assert back.keys() == arrays.keys()
    assert all((back[k] == arrays[k]).all() for k in arrays)


def test_pickles_are_neither_written_nor_read(tmp_path: Path) -> None:
    objects = np.array([{"a": 1}], dtype=object)
    with pytest.raises(ValueError, match="pickle"):
        save_npz(tmp_path / "a.npz", {"a": objects})
    assert not list(tmp_path.iterdir())
    np.savez(tmp_path / "a.npz", a=objects)
    with pytest.raises(ClipError, match="pickled"):
        load_npz(tmp_path / "a.npz", ClipError)


def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path) -> None:
    """Every truncation and every flipped bit: the same arrays come back, or the error that was asked for."""
    good = tmp_path / "good.npz"
    save_npz(good, {"a": np.arange(3.0)})
    content = good.read_bytes()
    damaged = [content[:n] for n in range(0, len(content), 3)]
    damaged += [content[:i] + bytes([content[i] ^ 1 << b]) + content[i + 1 :] for i in range(len(content)) for b in range(8)]
    bare = io.BytesIO()
    np.save(bare, np.arange(3.0))
    damaged += [bare.getvalue(), b"noise", b"\x80\x04N."]
    refused = []
    for bad in damaged:
        (tmp_path / "bad.npz").write_bytes(bad)
        try:
            arrays = load_npz(tmp_path / "bad.npz", ClipError)
        except ClipError as error:
            refused.append(str(error))
        else:
            assert all(a.tolist() == [0.0, 1.0, 2.0] for a in arrays.values())
    assert len(refused) > len(damaged) / 2
    assert not any("\n" in line for line in refused)


def entry(head: str, body: bytes = b"", version: int = 1) -> bytes:
    length = len(head).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + head.encode() + body


HEAD = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"
DAMAGED = {
    "nested": ("{'descr': '<f8', 'shape': " + "(" * 3000, b"", "header is damaged"),
    "unfinished": ("{'descr': '<f8', 'shape': (2", b"", "header is damaged"),
    "deep sum": ("-" * 3900 + "1", b"", "header is damaged"),
    "long number": (HEAD.replace("2,", "9" * 3000 + ","), b"", "impossible shape"),
    "huge": (HEAD.replace("2,", "900000000000,"), bytes(16), "should hold 7200000000000 bytes and holds 16"),
    "huge and empty": (HEAD.replace("2,", "0, " + "9" * 30), b"", "impossible shape"),
    "short": (HEAD, bytes(15), "should hold 16 bytes and holds 15"),
    "long": (HEAD, bytes(17), "should hold 16 bytes and holds 17"),
    "negative": (HEAD.replace("2,", "-2,"), bytes(16), "header is damaged"),
    "unknown kind": (HEAD.replace("f8", "f3"), bytes(6), "unknown kind"),
    "objects": (HEAD.replace("<f8", "|O"), bytes(16), "pickled"),
    "records": (HEAD.replace("'<f8'", "[('a', '<f8')]"), bytes(16), "no plain numbers"),
    "dates": (HEAD.replace("f8", "M8[s]"), bytes(16), "no plain numbers"),
    "beyond Unicode": (HEAD.replace("f8", "U2"), b"\xff" * 16, "characters that do not exist"),
    "half a pair": (HEAD.replace("f8", "U1"), b"\x00\xd8\x00\x00" * 2, "characters that do not exist"),
    "not an array": (None, b"hello", "is not an array"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
@pytest.mark.parametrize("version", [1, 2])
def test_damaged_headers_of_arrays_are_refused(tmp_path: Path, case: str, version: int) -> None:
    head, body, says = DAMAGED[case]
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", body if head is None else entry(head, body, version))
    with pytest.raises(ClipError, match=re.escape(says)) as error:
        load_npz(tmp_path / "a.npz", ClipError)
    assert str(error.value).isprintable()


def test_archives_of_other_kinds_are_refused(tmp_path: Path) -> None:
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
            archive.writestr("a.npy", entry(HEAD, bytes(16)))
        with pytest.raises(ClipError, match="unknown method"):
            load_npz(tmp_path / "a.npz", ClipError)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", entry(HEAD, bytes(16)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", entry(HEAD, bytes(16)))
    with pytest.raises(ClipError, match="same name"):
        load_npz(tmp_path / "a.npz", ClipError)
    with pytest.raises(ClipError, match="is a folder"):
        load_npz(tmp_path, ClipError)


ARRAYS = {
    "plain": np.arange(6.0).reshape(2, 3), "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)), "text": np.array("hä"),
    "no text": np.array(""), "texts": np.array(["ab", "c"]), "none": np.zeros((0, 5)), "one": np.array(True),
    "other end": np.arange(4, dtype=">f4"), "number": np.float64(3.0), "bytes": np.array(b"ab"),
}  # fmt: skip


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed, lambda path, **arrays: save_npz(path, arrays)])
def test_all_that_numpy_writes_is_read(tmp_path: Path, write: Callable[..., None]) -> None:
    write(tmp_path / "a.npz", **ARRAYS)
    back = load_npz(tmp_path / "a.npz", ClipError)
    for name, array in ARRAYS.items():
        assert (back[name] == array).all(), name
        assert (back[name].shape, back[name].dtype.kind) == (np.shape(array), np.asarray(array).dtype.kind), name


def test_a_small_file_that_unpacks_to_much_is_refused_unread(tmp_path: Path) -> None:
    """Four megabytes of zeros packed into a few kilobytes: the limit is said, and nothing is unpacked."""
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 19))
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    with pytest.raises(ClipError, match="would unpack to 4 MB, at most 3 MB are allowed"):
        load_npz(tmp_path / "a.npz", ClipError, 3 << 20)
    assert load_npz(tmp_path / "a.npz", ClipError, 5 << 20)["a"].size == 1 << 19


def test_short_numbers_count_as_long_ones(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 20, np.int8))
    with pytest.raises(ClipError, match="unpack to 8 MB"):
        load_npz(tmp_path / "a.npz", ClipError, 3 << 20)


def test_the_limit_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_limit() == 2048 << 20
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 19))
    monkeypatch.setenv("MANIKIN_MAX_LOAD_MB", "3")
    with pytest.raises(ClipError, match="at most 3 MB are allowed; MANIKIN_MAX_LOAD_MB raises the limit"):
        load_npz(tmp_path / "a.npz", ClipError)
    monkeypatch.setenv("MANIKIN_MAX_LOAD_MB", "4000")
    assert load_npz(tmp_path / "a.npz", ClipError)["a"].size == 1 << 19
    for wrong in ("0", "-1", "2e3", "much", "9" * 50):
        monkeypatch.setenv("MANIKIN_MAX_LOAD_MB", wrong)
        with pytest.raises(InputError, match="MANIKIN_MAX_LOAD_MB: given"):
            load_limit()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited by Linux's own means")
def test_a_lying_archive_takes_no_more_memory_than_it_announces(tmp_path: Path) -> None:
    """The directory announces 16 bytes of array, the packed data are a gigabyte."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as stream:
        stream.write(entry(HEAD))
        for _ in range(1024):
            stream.write(bytes(1 << 20))
    small = len(entry(HEAD)) + 16
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = small.to_bytes(4, "little")
    path.write_bytes(content)
    program = (
        "import resource, sys\nfrom pathlib import Path\nfrom manikin.errors import ClipError\n"
        "from manikin.files import load_npz\nbefore = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    load_npz(Path(sys.argv[1]), ClipError)\nexcept ClipError as error:\n    print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    said = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "not a readable .npz file" in said[0]
    assert int(said[-1]) < 50_000, "kilobytes"


def test_the_cache_follows_the_xdg_rule(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "manikin"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "manikin"
