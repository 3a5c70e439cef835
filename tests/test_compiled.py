"""Where compiled kernels are kept, what is said while they are compiled, and the threads of numerical libraries."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from manikin import compiled
from manikin.machine import cores

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# compiles one kernel, and prints where it is kept
PROGRAM = """
import sys
import numba
from manikin.compiled import kernel
import probe
print(numba.config.CACHE_DIR, probe.twice(2.0), sum(probe.twice.stats.cache_hits.values()))
"""


def run(program: str, folder: Path, **environment: str | None) -> subprocess.CompletedProcess[str]:
    (folder / "probe.py").write_text("from manikin.compiled import kernel\n\n\n@kernel\ndef twice(x):\n    return 2 * x\n")
    left = {k: v for k, v in os.environ.items() if k not in (*THREADS, "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    path = os.pathsep.join([str(Path(compiled.__file__).parents[1]), str(folder)])
    env = left | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | {k: v for k, v in environment.items() if v is not None}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)


def test_kernels_are_kept_in_the_cache_of_the_user(tmp_path: Path) -> None:
    for hits in (0, 1):
        result = run(PROGRAM, tmp_path, HOME=str(tmp_path))
        where, value, cached = result.stdout.split()
        assert (value, cached) == ("4.0", str(hits))
        assert Path(where).is_relative_to(tmp_path / ".cache" / "manikin" / "kernels")
        assert result.stderr == ""
    assert list(Path(where).rglob("*.nbi"))


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    """A home in which nothing can be made, not even by root."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".cache").write_text("a file where the folder should be")
    return tmp_path / "home"


def test_without_a_writable_cache_kernels_are_kept_with_temporary_files(tmp_path: Path, blocked: Path) -> None:
    (tmp_path / "temporary").mkdir()
    result = run(PROGRAM, tmp_path, HOME=str(blocked), TMPDIR=str(tmp_path / "temporary"))
    where = Path(result.stdout.split()[0])
    mine = tmp_path / "temporary" / f"manikin-{os.getuid()}"
    assert where.is_relative_to(mine)
    assert stat.S_IMODE(mine.stat().st_mode) == 0o700
    assert list(where.rglob("*.nbi"))
    assert result.stderr == ""


def test_folders_that_others_can_write_to_are_not_trusted(tmp_path: Path, blocked: Path) -> None:
    """Compiled code is loaded from there. What cannot be kept is said, in one line."""
    mine = tmp_path / "temporary" / f"manikin-{os.getuid()}"
    mine.mkdir(parents=True)
    mine.chmod(0o777)
    result = run("import manikin.compiled", tmp_path, HOME=str(blocked), TMPDIR=str(tmp_path / "temporary"))
    (line,) = result.stderr.splitlines()
    assert f"{blocked / '.cache' / 'manikin'} is not writable; set NUMBA_CACHE_DIR" in line
    assert not list(mine.iterdir())


def test_a_link_to_a_folder_of_others_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocked: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / f"manikin-{os.getuid()}").symlink_to(tmp_path / "other")
    monkeypatch.setenv("HOME", str(blocked))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    assert compiled.kernel_folder("x") is None


def test_the_user_s_own_folder_is_taken(tmp_path: Path, blocked: Path) -> None:
    result = run(PROGRAM, tmp_path, HOME=str(blocked), NUMBA_CACHE_DIR=str(tmp_path / "kernels"))
    assert result.stdout.split()[0] == str(tmp_path / "kernels")
    assert result.stderr == ""


def test_a_waiting_user_is_told_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    notice = compiled._Notice()
    for _ in range(3):
        notice.on_start(None)
        notice.on_end(None)
    assert capsys.readouterr().err.count("compiling kernels") == 1
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    compiled._Notice().on_start(None)
    assert capsys.readouterr().err == ""


def test_a_compilation_is_noticed_and_a_cached_kernel_is_not(tmp_path: Path) -> None:
    watched = "import manikin.compiled as c\nc._Notice.on_start = lambda self, event: print('compiles')\n" + PROGRAM
    assert run(watched, tmp_path, HOME=str(tmp_path)).stdout.startswith("compiles")
    assert "compiles" not in run(watched, tmp_path, HOME=str(tmp_path)).stdout


# --- threads

COUNT = (
    "import os\nimport numpy as np\nfrom scipy.linalg import cho_factor\n"
    "a = np.random.default_rng(0).normal(size=(600, 600))\ncho_factor(a @ a.T + 600 * np.eye(600))\n"
    "print(len(os.listdir('/proc/self/task')))"
)


@pytest.mark.skipif(not Path("/proc/self/task").exists() or cores() < 2, reason="threads are counted on Linux with two cores")
def test_numerical_libraries_start_no_threads(tmp_path: Path) -> None:
    assert int(run(COUNT, tmp_path).stdout) > 1, "without us they do: otherwise the next lines show nothing"
    assert int(run("import manikin\n" + COUNT, tmp_path).stdout) == 1
    assert int(run("import manikin\n" + COUNT, tmp_path, OPENBLAS_NUM_THREADS="2").stdout) > 1, "the user decides"
    late = run("import numpy, manikin, os\nprint(os.environ.get('OPENBLAS_NUM_THREADS'))", tmp_path)
    assert late.stdout.strip() == "None", "a program that has loaded numpy itself is left alone"
