"""Two hundred damaged files of each kind, the same in every run: read, or refused in one line. tools/fuzz.py runs more."""

import resource
import sys
from pathlib import Path

import fuzzing
import pytest

from manikin.errors import ManikinError

CASES, BATCH = 200, 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited by Linux's own means")
@pytest.mark.parametrize("first", range(0, CASES, BATCH))
@pytest.mark.parametrize("kind", fuzzing.IMPORTERS)
def test_damaged_files_are_read_or_refused(folder: Path, kind: str, first: int) -> None:
    outcomes = [fuzzing.run_case(kind, number, folder) for number in range(first, first + BATCH)]
    bad = [f"{o.kind} {o.number}: {o.ended}" for o in outcomes if o.bad]
    assert not bad, "\n".join([*bad, "see one again: python tools/fuzz.py --repeat KIND NUMBER"])
    ends = {o.ended for o in outcomes}
    assert ends == {"read", "refused"}, "mutations that are all refused, or all read, test little"


def test_the_same_number_gives_the_same_file(folder: Path) -> None:
    for kind in fuzzing.IMPORTERS:
        first = fuzzing.make(kind, 7, folder).read_bytes()
        assert fuzzing.make(kind, 7, folder).read_bytes() == first
        assert fuzzing.make(kind, 8, folder).read_bytes() != first


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError(), RecursionError("deep"), ValueError("no")])
def test_what_is_no_error_of_ours_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    fuzzing.run_case("asf", 0, folder)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setitem(fuzzing.IMPORTERS, "asf", fail)
    assert fuzzing.run_case("asf", 0, folder).bad


def test_messages_of_several_lines_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ManikinError("one\ntwo")

    fuzzing.run_case("asf", 0, folder)
    monkeypatch.setitem(fuzzing.IMPORTERS, "asf", fail)
    assert fuzzing.run_case("asf", 0, folder).bad


def test_memory_and_time_are_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzzing.run_case("asf", 0, folder)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setitem(fuzzing.IMPORTERS, "asf", lambda *_: bytearray((fuzzing.MEGABYTES + 50) << 20))
    assert "MemoryError" in fuzzing.run_case("asf", 0, folder).ended

    def forever(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzzing, "SECONDS", 0.2)
    monkeypatch.setitem(fuzzing.IMPORTERS, "asf", forever)
    assert "TimeoutError" in fuzzing.run_case("asf", 0, folder).ended
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
