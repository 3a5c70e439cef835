"""Names that other kinds of files do not allow: every exporter writes them; text that is no text is refused in one line."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from odd_recording import odd_recording

import manikin as mk
from manikin.errors import OutputError, RecordingError

NAMES = {
    "blanks": "a b  c", "empty": "", "long": "x" * 400, "other scripts": "人形 Ünïcödé 🤖", "signs": "a/b\\c:*?\"<>|'{}[]&;#%",
    "lines": "one\ntwo\ttab\r", "controls": "\x01\x07\x1b[31m", "half a letter": "\ud800", "digits": "12", "dots": "..",
}  # fmt: skip


@pytest.fixture(params=NAMES)
def named(request: pytest.FixtureRequest) -> mk.Recording:
    """A recording whose scene, tasks, props and one body are called so, as far as its model can hold the name."""
    name = NAMES[str(request.param)]
    recording = odd_recording()
    meta: dict[str, Any] = recording.meta | {
        "name": name, "scene": "", "seed": 0, "events": [], "ok": False, "reason": name, "props": ["door", name],
    }  # fmt: skip
    column = recording.time * 0
    tasks = {name: dict.fromkeys(("error", "force", "limit", "priority", "active"), column)}
    mjcf = recording.mjcf
    if name.isprintable() and name and not set(name) & set('<&"'):
        mjcf = mjcf.replace('name="anna/hand"', f'name="{name}"')
        meta["characters"] = {"anna/base": ["anna/base", "anna/arm", name, "anna/leg"]}
    return replace(recording, meta=meta, tasks=tasks, mjcf=mjcf)


@pytest.mark.parametrize("kind", [".glb", ".usdc", ".usda", ".bvh", ".npz", ".csv", ".json"])
def test_odd_names_are_written(named: mk.Recording, tmp_path: Path, kind: str) -> None:
    if kind.startswith(".usd"):
        pytest.importorskip("pxr", reason="usd-core is missing: pip install manikin[usd]")
    path = tmp_path / f"a{kind}"
    if "\ud800" in str(named.meta["name"]):
        with pytest.raises(OutputError, match=r"a\..*: a text in the recording cannot be encoded"):
            mk.save(named, path)
        assert not list(tmp_path.iterdir())
        return
    mk.save(named, path)
    assert path.stat().st_size > 0
    if kind == ".glb":
        from glb_reader import Glb

        assert Glb(path).nodes
    if kind.startswith(".usd"):
        from pxr import Usd

        assert Usd.Stage.Open(str(path)).GetDefaultPrim()


def test_a_terminal_shows_odd_names(tmp_path: Path) -> None:
    """Half a letter cannot be encoded: what is printed of it does not end the program."""
    program = "from manikin import cli; cli._prepare(); print('a\\ud800b'); cli._complain('c\\ud800d')"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"a?b\n", b"manikin: c?d\n")


@pytest.mark.parametrize("kind", [".glb", ".bvh", ".csv", ".png", ".mp4"])
def test_a_character_that_the_model_lacks_is_refused(tmp_path: Path, kind: str) -> None:
    recording = odd_recording()
    strange = replace(recording, meta=recording.meta | {"scene": "", "characters": {"berta": ["berta", "berta/arm"]}})
    with pytest.raises(RecordingError, match="character 'berta' are not those of its model"):
        mk.save(strange, tmp_path / f"strange{kind}")
    assert not list(tmp_path.iterdir())
