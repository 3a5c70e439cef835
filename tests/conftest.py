"""What the tests share: a take of the lift, a small standing scene, the command line in this process, motion capture."""

import copy
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import pytest

import manikin as mk
from manikin.errors import OutputError
from manikin.papers.recorded import data_folder
from manikin.scenes.scene import Scene, parse_scene

# the same examples in every run, no deadline on slow machines, no database on disk
hypothesis.settings.register_profile("manikin", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("manikin")

# a shell that runs the tests in the background ignores Ctrl-C, and every process started from here would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "draws: needs OpenGL; skipped where no picture can be drawn")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    drawing = [item for item in items if item.get_closest_marker("draws")]
    if not drawing:
        return
    from manikin.export.render import check_drawing

    try:
        check_drawing()
    except OutputError as error:
        for item in drawing:
            item.add_marker(pytest.mark.skip(reason=str(error)))


@pytest.fixture(scope="session")
def lift() -> mk.Take:
    """The lift until the box is in the air."""
    take = mk.run(mk.load_scene("lift"), seconds=4.5)
    assert "lift" in [e["name"] for e in take.recording.meta["events"]], "the box is grasped too late for these tests"
    return take


# a human who stands, with a ball on the floor far away
STAND: dict[str, Any] = {
    "name": "stand",
    "seconds": 0.3,
    "character": {"model": "human"},
    "props": {"ball": {"shape": "sphere", "size": [0.1], "at": [2.0, 0.0, 0.1]}},
    "tasks": {"posture": {"measure": "posture", "law": "nearest", "frequency": 1.5}},
}


@pytest.fixture
def stand() -> Callable[..., Scene]:
    """Make a scene of someone standing, with keys changed: stand(**{"props.ball.mass": 2.0})."""

    def make(**changes: Any) -> Scene:
        return parse_scene(copy.deepcopy(STAND), "stand.toml", changes)

    return make


class Outcome(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Outcome]:
    """Run the command line in this process, in an empty folder."""
    from manikin.cli import main

    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["manikin", *map(str, words)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as leave:
            code = int(leave.code or 0)
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def mocap() -> Path:
    """The folder of real motion capture: MANIKIN_DATA, else next to the checkout. Without it, tests of it are skipped."""
    folder = data_folder()
    if folder is None:
        pytest.skip("no motion capture at ../shared/data, and MANIKIN_DATA is not set")
    return folder
