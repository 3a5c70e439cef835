"""What a fresh machine compiles while the user looks at the gallery."""

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from manikin import compiled
from manikin.studio import warm


def test_a_cache_is_cold_until_something_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert compiled.is_cold()
    (tmp_path / "linear").mkdir()
    (tmp_path / "linear" / "rows.nbi").touch()
    assert not compiled.is_cold()
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert not compiled.is_cold(), "nothing can be kept"


@pytest.mark.parametrize("cold", [True, False])
def test_a_cold_studio_compiles_in_a_process_of_its_own_that_ends_with_it(cold: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[list[str]] = []
    original = subprocess.Popen
    processes = []

    def begin(command: list[str], **how: object) -> subprocess.Popen[bytes]:
        begun.append(command)
        processes.append(original([sys.executable, "-c", "import time; time.sleep(60)"]))
        return processes[-1]

    monkeypatch.setattr(warm, "is_cold", lambda: cold)
    monkeypatch.setattr(warm.subprocess, "Popen", begin)
    with warm.warming():
        assert [c[1:] for c in begun] == ([["-m", "manikin.studio.warm"]] if cold else [])
        assert all(p.poll() is None for p in processes)
    assert all(p.poll() is not None for p in processes)


def test_a_step_of_each_kind_of_scene_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    class Counted(warm_live()):  # type: ignore[misc]
        def step(self) -> None:
            steps.append(self.scene.controller)
            super().step()

    monkeypatch.setattr("manikin.studio.live.Live", Counted)
    warm.main()
    assert set(steps) == {"prioritized", "direct"}


def warm_live() -> type:
    from manikin.studio.live import Live

    return Live
