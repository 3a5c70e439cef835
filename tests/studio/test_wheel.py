"""The wheel, installed with its declared dependencies only and without Node: command line, imports, the page in a browser."""

import os
import re
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the Python package playwright is not installed")
pytest.importorskip("build", reason="the Python package build is not installed")
pytest.importorskip("hatchling", reason="the Python package hatchling is not installed")
pytest.importorskip("ensurepip", reason="pip cannot be put into a new environment here")
Requirement = pytest.importorskip("packaging.requirements", reason="the Python package packaging is not installed").Requirement
from desk import CHROMIUM, FLAGS, WINDOW  # noqa: E402

import manikin  # noqa: E402

ROOT = Path(manikin.__file__).parents[1]
pytestmark = [
    pytest.mark.slow,
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
    """An environment with the wheel and what it declares, linked from this environment, so that no network is needed."""
    home = tmp_path_factory.mktemp("home") / "venv"
    venv.create(home, with_pip=True)
    command = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.run(command, check=True, env=clean(home))
    (site,) = home.glob("lib/python*/site-packages")
    for distribution in declared(metadata.Distribution.at(next(site.glob("manikin-*.dist-info")))):
        for name in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(Path(str(distribution.locate_file(name))).resolve())
    return home


def declared(wheel: metadata.Distribution) -> list[metadata.Distribution]:
    """What a distribution needs, and what that needs; extras only where they are asked for."""
    found: dict[str, metadata.Distribution] = {}
    todo = [(wheel, "")]
    seen = set()
    while todo:
        distribution, extra = todo.pop()
        for text in distribution.requires or ():
            needed = Requirement(text)
            if needed.marker is not None and not needed.marker.evaluate({"extra": extra}):
                continue
            for wanted in ("", *needed.extras):
                if (needed.name, wanted) not in seen:
                    seen.add((needed.name, wanted))
                    found[needed.name] = metadata.distribution(needed.name)
                    assert found[needed.name].version in needed.specifier, f"{text}: {found[needed.name].version} is installed"
                    todo.append((found[needed.name], wanted))
    return list(found.values())


def clean(home: Path) -> dict[str, str]:
    """The environment's variables without a path to this checkout, and without Node."""
    left = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "NODE"))}
    return left | {"PATH": str(home / "bin")}


def test_the_wheel_has_the_page_and_not_its_sources(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    static = ROOT / "manikin" / "studio" / "static"
    assert {f"manikin/studio/static/{p.name}" for p in static.iterdir()} <= names
    assert "manikin/scenes/files/lift.toml" in names
    assert not [n for n in names if n.startswith("manikin/studio/page/") or "node_modules" in n]


def test_undeclared_packages_are_not_there(home: Path) -> None:
    """Otherwise the tests below would not notice an import that `pip install manikin` does not provide."""
    for name in ("pytest", "playwright", "hypothesis", "mink", "httpx", "pxr"):
        result = subprocess.run(
            [home / "bin" / "python", "-c", f"import {name}"], capture_output=True, env=clean(home), check=False
        )
        assert result.returncode == 1, name


def test_the_command_line_works_with_what_is_declared(home: Path, tmp_path: Path) -> None:
    def call(*words: str) -> str:
        result = subprocess.run(
            [home / "bin" / "manikin", *words], capture_output=True, text=True, env=clean(home), cwd=tmp_path, check=False
        )
        assert result.returncode == 0, (words, result.stderr)
        return result.stdout

    assert "lift" in call("list")
    assert "seconds" in call(
        "run", "lift", "--seconds", "0.1", "--out", "a.npz", "--out", "a.glb", "--out", "a.csv", "--out", "a.bvh"
    )
    assert "recording" in call("check", "a.npz")
    assert "motion" in call("check", "a.bvh")
    assert "scene" in call("check", "lift")
    command = [home / "bin" / "manikin", "run", "lift", "--out", "a.usda"]
    refused = subprocess.run(command, capture_output=True, text=True, env=clean(home), cwd=tmp_path, check=False)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1), "an extra that is not installed is one clear line"


def test_all_modules_can_be_imported_with_what_is_declared(home: Path, tmp_path: Path) -> None:
    program = (
        "import importlib, pkgutil, manikin\n"
        "for m in pkgutil.walk_packages(manikin.__path__, 'manikin.'):\n"
        "    if m.name not in ('manikin.__main__', 'manikin.export.usd'):\n"
        "        importlib.import_module(m.name)\n"
        "print(manikin.__file__)"
    )
    result = subprocess.run(
        [home / "bin" / "python", "-c", program], capture_output=True, text=True, env=clean(home), cwd=tmp_path, check=False
    )
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).is_relative_to(home)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_installed_from_the_wheel_the_lift_runs_in_a_browser(home: Path, tmp_path: Path) -> None:
    env = clean(home)
    assert shutil.which("node", path=env["PATH"]) is None
    program = "import manikin, manikin.studio.server as s; print(manikin.__file__); print(s.STATIC)"
    found_at = subprocess.run(
        [home / "bin" / "python", "-c", program], capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    for line in found_at.stdout.split():
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
