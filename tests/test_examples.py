"""Examples run and check themselves; the programs and scene keys in the documentation are real."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import manikin as mk
from manikin.scenes.scene import parse_scene
from manikin.scenes.schema_table import Table

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def perform(program: Path, folder: Path) -> str:
    """Run a program in an empty folder, as a reader would. It may have to compile kernels first, on a busy machine."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, str(program), str(folder)], cwd=folder, env=env, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(page: Path, language: str) -> list[str]:
    """Code blocks of one language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
    assert [f.name[:3] for f in EXAMPLES] == [f"{k:02}_" for k in range(1, len(EXAMPLES) + 1)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda f: f.stem)
def test_example(example: Path, tmp_path: Path):
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert re.search(r"^assert ", text, re.MULTILINE), "an example checks itself"
    assert perform(example, tmp_path).strip()


def test_readme_program(tmp_path: Path):
    (program,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in program.splitlines() if line]) <= 16
    (tmp_path / "readme.py").write_text(program, encoding="utf-8")
    perform(tmp_path / "readme.py", tmp_path)
    assert (tmp_path / "lift.glb").read_bytes()[:4] == b"glTF"
    assert (tmp_path / "reach.glb").read_bytes()[:4] == b"glTF"


RECIPES = blocks(ROOT / "docs" / "python.md", "python")


def test_there_are_five_recipes():
    assert len(RECIPES) == 5
    # no deep imports: the library is one name
    assert not any(re.search(r"manikin\.|from manikin", recipe) for recipe in RECIPES)
    assert "manikin." not in (ROOT / "examples" / "03_three_tasks.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", range(len(RECIPES)))
def test_recipe(number: int, tmp_path: Path):
    program = tmp_path / f"recipe_{number}.py"
    program.write_text(RECIPES[number], encoding="utf-8")
    assert perform(program, tmp_path).strip()


def test_replay_in_plain_mujoco(tmp_path: Path, lift: mk.Take):
    (program,) = blocks(ROOT / "docs" / "recording.md", "python")
    assert "manikin" not in program
    assert len([line for line in program.splitlines() if line]) <= 26
    mk.save(lift, tmp_path / "lift.npz")
    (tmp_path / "replay.py").write_text(program.replace("sys.argv[1] if len(sys.argv) > 1 else ", ""), encoding="utf-8")
    assert "steps replayed" in perform(tmp_path / "replay.py", tmp_path)


def test_scene_of_the_documentation_runs():
    parts = blocks(ROOT / "docs" / "scenes.md", "toml")
    scene = parse_scene(tomllib.loads("\n".join(parts)), "scenes.md")
    report = mk.run(scene).report
    assert report["ok"], report["reason"]
    assert report["lift_time"] > 0


def test_every_key_of_a_scene_is_documented():
    page = (ROOT / "docs" / "scenes.md").read_text(encoding="utf-8")
    reference = page[page.index("## Reference") :]
    documented = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"`([^`]*)`", reference))))
    tables = Table.__subclasses__()
    assert len(tables) >= 10
    keys = {f"{t.__name__}.{key}" for t in tables for key in t.model_fields}
    missing = {k for k in keys if k.split(".")[1] not in documented}
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path):
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for target in targets:
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            names = {re.sub(r"[^\w\- ]", "", t.lower()).replace(" ", "-") for t in titles}
            assert anchor in names, target
