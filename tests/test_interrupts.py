"""Ctrl-C and full disks, in processes of their own: what is kept, what is said, and that no file is left half written."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import manikin as mk
from manikin.interrupts import Deferred, Loading, is_interrupt

# runs the command line; the k-th call of one function of ours comes with a real SIGINT
PROGRAM = """
import os, signal, sys
from importlib import import_module
where, name, count = sys.argv.pop(1).split(":")
owner = import_module(where)
*path, name = name.split(".")
for part in path:
    owner = getattr(owner, part)
plain, calls = getattr(owner, name), 0

def pressed(*words, **more):
    global calls
    calls += 1
    if calls == int(count):
        os.kill(os.getpid(), signal.SIGINT)
    return plain(*words, **more)

setattr(owner, name, pressed)
from manikin.cli import main
main()
"""


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(mk.__file__).parents[1])}


def press(folder: Path, moment: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in which Ctrl-C is pressed as a function is called: "module:function:how often"."""
    started = [sys.executable, "-c", PROGRAM, moment, *words]
    return subprocess.run(started, cwd=folder, env=environment(), capture_output=True, text=True, check=False)


RUN = ("run", "lift", "--seconds", "0.3", "--out", "a.npz", "--out", "a.csv")
# where Ctrl-C arrives: what the command says
EARLY = {
    "manikin.scenes.scene:load_scene:1": "interrupted while preparing; nothing was written",
    "manikin.api:build_run:1": "interrupted while preparing; nothing was written",
    # the first step, in which kernels are compiled
    "manikin.loop:Run.advance:1": "interrupted while preparing; nothing was written",
    "manikin.physics.world:World.step:1": "interrupted while preparing; nothing was written",
}


@pytest.mark.parametrize("moment", EARLY)
def test_before_the_first_step_there_is_nothing_to_keep(tmp_path: Path, moment: str) -> None:
    result = press(tmp_path, moment, *RUN)
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == f"manikin: {EARLY[moment]}\n"
    assert not list(tmp_path.iterdir())


def test_in_the_simulation_what_was_recorded_is_kept(tmp_path: Path) -> None:
    # in the middle of a step: it is finished first
    result = press(tmp_path, "manikin.physics.world:World.step:60", *RUN, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert "NOT DONE: interrupted at 0." in result.stdout
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.csv", "a.npz"]
    recording = mk.load_recording(tmp_path / "a.npz")
    assert 0.1 < recording.time[-1] < 0.25
    assert len(recording.ctrl) == recording.step[-1]
    assert mk.replay(recording).difference < 1e-9


# the last file is written when Ctrl-C arrives at the first two
SAVES = {
    "manikin.export.save:save_csv:1": ["a.npz"],
    "manikin.recording:save_npz:1": [],
    "manikin.files:zipfile.ZipFile.writestr:3": [],
}


@pytest.mark.parametrize("moment", SAVES)
def test_a_file_is_whole_or_not_there(tmp_path: Path, moment: str) -> None:
    result = press(tmp_path, moment, *RUN)
    kept = SAVES[moment]
    missing = [name for name in ("a.npz", "a.csv") if name not in kept]
    assert result.returncode == 130
    assert result.stderr == f"manikin: interrupted while writing {missing[0]}; not written: {', '.join(missing)}\n"
    # the run itself was finished, and is reported
    assert result.stdout.startswith("lift: ")
    assert [line for line in result.stdout.splitlines() if "wrote" in line] == [f"  wrote {name}" for name in kept]
    assert [f.name for f in tmp_path.iterdir()] == kept


@pytest.mark.draws
def test_a_film_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    """As a terminal does it: every process of the group gets the signal, while frames are being drawn."""
    words = ["run", "lift", "--seconds", "2.5", "--out", "a.npz", "--out", "a.mp4"]
    started = [sys.executable, "-m", "manikin", *words]
    process = subprocess.Popen(
        started, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    part = tmp_path / ".a.part.mp4"
    while process.poll() is None and not part.exists():
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert err == "manikin: interrupted while writing a.mp4; not written: a.mp4\n"
    assert "  wrote a.npz\n" in out
    assert [f.name for f in tmp_path.iterdir()] == ["a.npz"]


def test_other_commands(tmp_path: Path) -> None:
    result = press(tmp_path, "manikin.checks:_check_scene:1", "check", "lift")
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == "manikin: interrupted while checking lift; there are no findings\n"
    result = press(tmp_path, "manikin.bench:run_bench:1", "bench", "nearest")
    assert (result.returncode, result.stdout) == (130, "")
    assert result.stderr == "manikin: interrupted while measuring; there are no figures\n"
    result = press(tmp_path, "manikin.cli:json.dumps:1", "list", "--json")
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "manikin: interrupted\n")


def test_reproduce_keeps_what_was_measured(tmp_path: Path) -> None:
    result = press(tmp_path, "manikin.papers.reproduce:as_row:1", "reproduce", "kim2011", "--out", "kim")
    assert result.returncode == 130
    assert result.stderr == "manikin: interrupted while preparing; nothing was measured\n"
    result = press(tmp_path, "manikin.papers.claims:load_scene:1", "reproduce", "abe2006", "--out", "abe")
    assert result.returncode == 130
    assert result.stderr == "manikin: interrupted; what was finished is kept\n"
    assert sorted(f.name for f in (tmp_path / "abe").iterdir()) == ["claims.json", "claims.md"]


def test_the_program_can_be_interrupted_while_it_loads(tmp_path: Path) -> None:
    program = "import builtins, os, signal\n" + (
        "plain = builtins.__import__\n"
        "def load(name, *words, **more):\n"
        "    if name == 'typer':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return plain(name, *words, **more)\n"
        "builtins.__import__ = load\n"
        "from manikin.__main__ import main\n"
        "main()\n"
    )
    started = [sys.executable, "-c", program, "list"]
    result = subprocess.run(started, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "manikin: interrupted\n")


# the program, which says when it begins to load; argv as it is when Python is about to run the package
LOADING = """
import builtins, os, sys
sys.argv = ["-m", *sys.argv[1:]]
sys.orig_argv = [sys.executable, "-m", "manikin", *sys.argv[1:]]
plain = builtins.__import__

def load(name, *words, **more):
    if name == "manikin.machine":
        builtins.__import__ = plain
        os.write(1, b"!")
    return plain(name, *words, **more)

builtins.__import__ = load
from manikin.__main__ import main
main()
"""
PRESSES = 20


def press_after(seconds: float, folder: Path, words: tuple[str, ...]) -> tuple[int, str]:
    """Run the program, press Ctrl-C this long after its first lines; its exit code and what it said on stderr."""
    started = [sys.executable, "-c", LOADING, *words]
    process = subprocess.Popen(started, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.read(1) == b"!"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    return process.returncode, err.decode()


@pytest.mark.parametrize("words", [("list",), ("run", "lift", "--seconds", "0.02"), ("check", "stand")], ids=lambda w: w[0])
def test_ctrl_c_at_any_moment_of_the_start_is_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    """From the first line of the package, through all libraries and the first kernels, to the end of Python itself."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "manikin", *words], cwd=tmp_path, env=environment(), check=True, capture_output=True
    )
    whole = time.monotonic() - began
    assert done.stderr == b""
    said = []
    for k in range(PRESSES):
        code, err = press_after(whole * k / PRESSES, tmp_path, words)
        # too late to interrupt anything, or in one line
        assert (code, err) == (0, "") or (code == 130 and re.fullmatch(r"manikin: interrupted[^\n]*\n", err)), (k, code, err)
        said.append(code)
    assert said[0] == 130
    assert said.count(130) > 3


def test_a_library_that_takes_an_interrupt_for_an_error_does_not_matter(tmp_path: Path) -> None:
    """As OpenGL and numba do: what is raised inside an import comes out as another error, or is swallowed."""
    (tmp_path / "mujoco.py").write_text(
        "import os, signal\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    for _ in range(1000): pass\n"
        "except KeyboardInterrupt:\n"
        "    pass\n"
        "raise ImportError('mujoco failed to import')\n"
    )
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{env['PYTHONPATH']}"
    lines = {
        "run": "interrupted while preparing; nothing was written",
        "check": "interrupted while checking lift; there are no findings",
        "studio": "interrupted", "bench": "interrupted while measuring; there are no figures",
        "reproduce": "interrupted while preparing; nothing was measured",
    }  # fmt: skip
    for command, line in lines.items():
        started = [
            sys.executable,
            "-c",
            "from manikin.cli import main; main()",
            command,
            "kim2011" if command == "reproduce" else "lift",
        ]
        result = subprocess.run(started, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stdout, result.stderr) == (130, "", f"manikin: {line}\n"), command


# a callback from compiled code: what is raised there can only be reported
CALLBACK = """
import ctypes, os, signal, time
from manikin import cli
from manikin.interrupts import Loading
import manikin.__main__ as program

class Half:
    def __del__(self):
        self.missing

@ctypes.CFUNCTYPE(None)
def callback():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass

def perform():
    with Loading():
        pass
    callback()
    Half()
    ends = time.monotonic() + 60
    while time.monotonic() < ends: pass
    print("nobody heard")

cli.main = perform
program.main()
"""


def test_ctrl_c_in_a_callback_is_heard(tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, "-c", CALLBACK], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "manikin: interrupted\n")


def test_the_library_leaves_ctrl_c_alone(tmp_path: Path) -> None:
    program = "import signal, manikin as mk\nmk.run\nassert signal.getsignal(2) is signal.default_int_handler\n"
    program += "assert __import__('sys').unraisablehook is __import__('sys').__unraisablehook__"
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_another_handler_is_not_replaced() -> None:
    def own(*_: object) -> None:
        pass

    for handler in (own, signal.SIG_IGN, signal.default_int_handler):
        signal.signal(signal.SIGINT, handler)
        try:
            with Loading() as loading:
                inside = signal.getsignal(signal.SIGINT)
                assert (inside == loading._leave) == (handler is signal.default_int_handler)
            assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def press_here(times: int) -> list[str]:
    """Press Ctrl-C in a deferring loop, and say how far it came."""
    reached = []
    with Deferred() as interrupt:
        for k in range(times):
            reached.append(f"press {k}")
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                return [*reached, "interrupted at once"]
        try:
            interrupt.check()
        except KeyboardInterrupt:
            return [*reached, "interrupted at the check"]
    return reached


def test_ctrl_c_waits_for_the_loop_once() -> None:
    assert press_here(0) == []
    assert press_here(1) == ["press 0", "interrupted at the check"]
    assert press_here(2) == ["press 0", "press 1", "interrupted at once"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_recognised_behind_other_errors() -> None:
    behind = SystemError("returned a result with an exception set")
    behind.__cause__ = KeyboardInterrupt()
    assert is_interrupt(KeyboardInterrupt())
    assert is_interrupt(behind)
    assert not is_interrupt(SystemError("something else"))
    assert is_interrupt(ctypes.ArgumentError("argument 1: KeyboardInterrupt: "))
    assert not is_interrupt(ctypes.ArgumentError("argument 1: TypeError"))


# --- full disks


@pytest.fixture
def small_files() -> Iterator[Callable[[int], None]]:
    """Let no file grow beyond this many bytes, as on a full disk; only the system's error is another."""
    resource = pytest.importorskip("resource", reason="no limits on this system")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_costs_only_the_files_that_do_not_fit(
    command: Callable[..., Any], small_files: Callable[[int], None], tmp_path: Path
) -> None:
    kinds = ["npz", "glb", "usdc", "usda", "csv", "json"]
    mk.run(mk.load_scene("lift"), seconds=0.1)
    small_files(20_000)
    words = [w for kind in kinds for w in ("--out", f"a.{kind}")]
    code, out, err = command("run", "lift", "--seconds", "0.1", *words, "--json")
    assert code == 1
    assert "  wrote a.csv\n  wrote a.json\n" in out
    assert out.count("wrote") == 2
    assert out.splitlines()[-1].startswith('{"scene": "lift"')
    lines = err.splitlines()
    assert len(lines) == 4
    for kind, line in zip(kinds, lines):
        assert line.startswith(f"manikin: a.{kind}: ")
    assert lines[0].endswith("cannot be written (File too large)")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.csv", "a.json"]


@pytest.mark.draws
def test_a_film_that_does_not_fit_is_not_called_written(
    command: Callable[..., Any], small_files: Callable[[int], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from manikin.export import film

    # noise, so that the film is large
    noise = [np.random.default_rng(k).integers(0, 255, (720, 960, 3), np.uint8) for k in range(2)]
    monkeypatch.setattr("manikin.export.video.frames", lambda *_: (noise[k % 2] for k in range(12)))
    assert film.Film(30.0, 960, 720)
    mk.run(mk.load_scene("lift"), seconds=0.1)
    small_files(300_000)
    code, out, err = command("run", "lift", "--seconds", "0.4", "--out", "a.mp4", "--out", "a.csv")
    assert code == 1
    assert "wrote a.mp4" not in out
    assert "  wrote a.csv\n" in out
    assert err.count("\n") == 1
    assert err.startswith("manikin: a.mp4: the film could not be written (File ")
    assert [f.name for f in tmp_path.iterdir()] == ["a.csv"]


# --- where output goes


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_standard_output_that_is_full_or_closed(tmp_path: Path) -> None:
    for words in (["list"], ["list", "--json"], ["--version"]):
        started = [sys.executable, "-m", "manikin", *words]
        with open("/dev/full", "w") as full:
            result = subprocess.run(started, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (result.returncode, result.stderr) == (1, "manikin: standard output: No space left on device\n"), words
        read, write = os.pipe()
        os.close(read)
        result = subprocess.run(started, env=environment(), stdout=write, stderr=subprocess.PIPE, text=True, check=False)
        os.close(write)
        assert (result.returncode, result.stderr) == (1, ""), words


def test_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    plain = environment() | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (["list"], ["run", "--help"], ["run", "l\u00edft"]):
        started = [sys.executable, "-m", "manikin", *words]
        result = subprocess.run(started, env=plain, capture_output=True, cwd=tmp_path, check=False)
        assert result.returncode == (2 if "l\u00edft" in words else 0), result.stderr
        assert b"Traceback" not in result.stderr
        assert (result.stdout + result.stderr).isascii()
    assert (
        b"Abe & Popovi?"
        in subprocess.run(
            [sys.executable, "-m", "manikin", "list"], env=plain | {"COLUMNS": "200"}, capture_output=True, check=True
        ).stdout
    )
