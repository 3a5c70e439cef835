"""The built page is the one that its sources make."""

import shutil
import subprocess
from pathlib import Path

import pytest

STUDIO = Path(__file__).parents[2] / "manikin" / "studio"


def run(command: list[str], folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)


# what npm says when there is no way to its registry
UNREACHABLE = (
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ERR_SOCKET_TIMEOUT",
)


@pytest.mark.slow
def test_a_fresh_build_gives_the_committed_bytes(tmp_path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    source = tmp_path / "studio" / "page"
    shutil.copytree(STUDIO / "page", source, ignore=shutil.ignore_patterns("node_modules"))
    try:
        fetched = run([npm, "ci", "--ignore-scripts"], source, 180)
    except subprocess.TimeoutExpired:
        pytest.skip("npm's registry did not answer in time")
    if fetched.returncode != 0:
        # only the network excuses: a lock file that does not fit, a missing version, a wrong checksum are faults of ours
        if any(code in fetched.stderr for code in UNREACHABLE):
            pytest.skip(f"npm's registry cannot be reached: {fetched.stderr.strip().splitlines()[-1]}")
        pytest.fail(f"npm ci failed: {fetched.stderr[-500:]}")
    built = run([npm, "run", "build"], source, 180)
    assert built.returncode == 0, built.stdout + built.stderr
    made, kept = tmp_path / "studio" / "static", STUDIO / "static"
    assert {p.name for p in made.iterdir()} == {p.name for p in kept.iterdir()}
    for file in made.iterdir():
        assert file.read_bytes() == (kept / file.name).read_bytes(), f"{file.name} is stale: run npm ci && npm run build"


def test_the_page_needs_nobody_but_its_own_server():
    html = (STUDIO / "static" / "index.html").read_text(encoding="utf-8")
    css = (STUDIO / "static" / "studio.css").read_text(encoding="utf-8")
    assert "http" not in html
    assert "url(" not in css


def test_the_lock_file_names_no_download_address():
    assert '"resolved"' not in (STUDIO / "page" / "package-lock.json").read_text(encoding="utf-8")
