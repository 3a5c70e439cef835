"""Files: whole or not at all, equal bytes for equal content, and no surprise in what is read."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from manikin.errors import ClipError, OutputError
from manikin.files import cache_folder, check_writable, load_npz, save_npz, whole_file


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


def test_what_cannot_be_written_is_told_early(tmp_path: Path) -> None:
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


def test_the_cache_follows_the_xdg_rule(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "manikin"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "manikin"
