"""Work on all cores: every result once, and nothing goes on after Ctrl-C."""

import time
from pathlib import Path

import pytest

from manikin.machine import on_all_cores


def slow_square(x: float, seconds: float, folder: str) -> float:
    time.sleep(seconds)
    (Path(folder) / f"{x}").touch()
    return x * x


def test_every_job_is_done_once(tmp_path: Path) -> None:
    jobs = [(float(x), 0.0, str(tmp_path)) for x in range(7)]
    assert sorted(on_all_cores(slow_square, jobs)) == [x * x for x in range(7)]


def test_an_error_of_a_job_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(on_all_cores(slow_square, [(1.0, 0.0, str(tmp_path / "absent"))]))


def collect_one(folder: Path, results: list[float]) -> None:
    for x in on_all_cores(slow_square, [(1.0, 0.0, str(folder)), (2.0, 600.0, str(folder))]):
        results.append(x)
        raise KeyboardInterrupt


def test_ctrl_c_keeps_what_was_finished_and_ends_the_rest(tmp_path: Path) -> None:
    results: list[float] = []
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        collect_one(tmp_path, results)
    assert results == [1.0]
    assert time.monotonic() - began < 300
    assert [p.name for p in tmp_path.iterdir()] == ["1.0"]
