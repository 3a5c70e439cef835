"""Installed from a wheel into an environment of its own, without Node: the page opens in a real browser and the lift runs."""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
pytest.importorskip("build", reason="the Python package build is not installed")
pytest.importorskip("hatchling", reason="the Python package hatchling is not installed")
pytest.importorskip("ensurepip", reason="pip cannot be put into a new environment here")
from desk import CHROMIUM, FLAGS, WINDOW  # noqa: E402

import manikin  # noqa: E402

ROOT = Path(manikin.__file__).parents[1]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="the sources are not here"),
]
# kernels are compiled anew in a new place
PATIENCE = 400_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # a copy of what is packed, so that nothing is left in the sources
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "manikin", source / "manikin", ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel. What it depends on is borrowed from this one, so that no network is needed."""
    home = tmp_path_factory.mktemp("home") / "venv"
    venv.create(home, with_pip=True)
    command = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(command, check=True, env=clean(home))
    (site,) = home.glob("lib/python*/site-packages")
    borrowed = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    (site / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    return home


def clean(home: Path) -> dict[str, str]:
    """No way to this checkout, and no Node."""
    left = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "NODE"))}
    return left | {"PATH": str(home / "bin")}


def test_the_wheel_has_the_page_and_not_its_sources(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    static = ROOT / "manikin" / "studio" / "static"
    assert {f"manikin/studio/static/{p.name}" for p in static.iterdir()} <= names
    assert "manikin/scenes/files/lift.toml" in names
    assert not [n for n in names if n.startswith("manikin/studio/page/") or "node_modules" in n]


def test_installed_from_the_wheel_the_lift_runs_in_a_browser(home: Path, tmp_path: Path) -> None:
    env = clean(home)
    assert shutil.which("node", path=env["PATH"]) is None
    program = "import manikin, manikin.studio.server as s; print(manikin.__file__); print(s.STATIC)"
    told = subprocess.run(
        [home / "bin" / "python", "-c", program], capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    for line in told.stdout.split():
        assert Path(line).is_relative_to(home), "manikin comes from the wheel"
    process = subprocess.Popen(
        [home / "bin" / "manikin", "studio", "--port", "0", "--no-browser", "--takes", str(tmp_path / "takes")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
        assert found is not None, process.stderr.read() if process.stderr else ""
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport=WINDOW, device_scale_factor=0.5)
            frames: list[bytes] = []
            faults: list[str] = []
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("websocket", lambda s: s.on("framereceived", lambda c: frames.append(c) if isinstance(c, bytes) else None))
            page.goto(f"{found.group()}&fps=5")
            page.click('[data-testid="scene-lift"]', timeout=PATIENCE)
            page.wait_for_function("window.studio?.ready && studio.state.model.scene === 'lift'", timeout=PATIENCE)
            page.click('[data-testid="play"]')
            page.wait_for_function("studio.state.status.time > 0.3", timeout=PATIENCE)
            hand, now = page.evaluate("[studio.body('hand_l'), studio.state.status.time]")
            seen = len(frames)
            page.wait_for_function("then => studio.state.status.time > then + 0.7", arg=now, timeout=PATIENCE)
            later = page.evaluate("studio.body('hand_l')")
            browser.close()
        assert len(frames) > seen > 0
        assert sum(abs(a - b) for a, b in zip(hand, later)) > 0.01, "it moves"
        assert faults == []
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert list((tmp_path / "takes").glob("*.journal")), "the take is kept"
