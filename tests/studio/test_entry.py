"""Opening the studio from the command line and from Python."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import manikin as mk
from manikin.studio.entry import is_loopback
from manikin.studio.journal import Past
from manikin.studio.messages import Step
from manikin.studio.takes import TakeFolder, data_folder


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(mk.InputError) as caught:
        TakeFolder(tmp_path / "file" / "takes")
    assert str(caught.value).endswith("/takes: takes cannot be kept there (Not a directory); choose a folder with --takes")


def test_the_command_prints_its_address_and_ends_cleanly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "manikin", "studio", "stand", "--port", "0", "--no-browser", "--takes", str(tmp_path / "takes")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(mk.__file__).parents[1])},
    )  # fmt: skip
    assert process.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", process.stdout.readline())
    assert found is not None
    port, token = found.groups()
    assert len(token) >= 32
    takes = httpx.get(f"http://127.0.0.1:{port}/api/takes", headers={"x-manikin-token": token}).json()["takes"]
    assert [t["scene"] for t in takes] == ["stand"]
    assert takes[0]["live"]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "closed" in out
    assert err == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--host", "0.0.0.0"], "needs --token"),
        (["--host", "192.0.2.1"], "not encrypted"),
        (["--token", "short"], "at least 12"),
        (["--token", "with some spaces"], "without spaces"),
        (["lifd"], "did you mean 'lift'"),
        (["--port", "99999"], "--port"),
    ],
)
def test_what_cannot_be_opened_is_reported_in_one_line(command: Callable[..., object], words: list[str], says: str) -> None:
    code, _, err = command("studio", "--no-browser", *words)  # type: ignore[misc]
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


def test_from_python(tmp_path: Path) -> None:
    lines: list[str] = []
    running = mk.studio(mk.load_scene("stand"), takes=tmp_path, browser=False, block=False, say=lines.append)
    try:
        assert running.address in lines[0]
        session = running.studio.session
        session.put(Step(50))
        assert session.ask(lambda: session.status().time).result() == pytest.approx(0.1)
    finally:
        running.close()
    (take,) = TakeFolder(tmp_path).ids()
    past = Past(tmp_path / f"{take}.journal")
    assert past.steps == 50
    assert past.recording().meta["scene"].startswith("name")


def test_the_browser_is_opened_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    running = mk.studio(takes=tmp_path, block=False, say=lambda line: None)
    running.close()
    assert opened == [running.address]


def test_a_token_of_ones_own_and_other_machines(tmp_path: Path) -> None:
    lines: list[str] = []
    running = mk.studio(host="0.0.0.0", token="correct-horse", takes=tmp_path, browser=False, block=False, say=lines.append)
    try:
        assert "not encrypted" in lines[0]
        url = f"http://127.0.0.1:{running.port}/api/takes"
        assert httpx.get(url, headers={"host": "studio.example", "x-manikin-token": "correct-horse"}).status_code == 200
        assert httpx.get(url, headers={"host": "studio.example", "x-manikin-token": "wrong-horses"}).status_code == 401
        foreign = {"host": "studio.example", "origin": "http://evil.example", "x-manikin-token": "correct-horse"}
        assert httpx.get(url, headers=foreign).status_code == 403
    finally:
        running.close()


def test_loopback() -> None:
    assert [h for h in ("127.0.0.1", "::1", "localhost", "127.8.8.8") if not is_loopback(h)] == []
    assert [h for h in ("0.0.0.0", "::", "10.0.0.1", "example.org", "") if is_loopback(h)] == []


def test_takes_are_kept_where_the_xdg_rule_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "manikin" / "takes"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert data_folder() == Path.home() / ".local" / "share" / "manikin" / "takes"
