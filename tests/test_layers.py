"""Which module may import which, read from the sources: only those on lines above."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import manikin

ROOT = Path(manikin.__file__).parent

# each line may import from itself (a package) and from the lines above; names on one line never from each other
LAYERS = (
    ("errors", "interrupts", "machine", "renderer", "palette"),
    ("files", "untrusted"),
    ("compiled",),
    ("spatial", "springs"),
    ("linear",),
    ("clips",),
    ("characters",),
    ("physics",),
    ("tasks",),
    ("motion",),
    ("controllers", "planners"),
    ("recording",),
    ("loop", "playback"),
    ("scenes",),
    ("library",),
    ("export",),
    ("api",),
    ("checks", "drags", "pushes", "studio", "untuned"),
    ("bench_direct",),
    ("bench",),
    ("papers",),
    ("cli",),
    ("__main__",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name, without the package's own __init__."""
    out = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts:
            out[".".join(("manikin", *parts))] = file
    return out


@cache
def imports(file: Path) -> frozenset[str]:
    """All modules that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: imports are absolute"
            # `from manikin import palette` is the module manikin.palette; the version is no module
            plain = node.module != "manikin"
            found |= {str(node.module)} if plain else {f"manikin.{a.name}" for a in node.names if a.name != "__version__"}
    return frozenset(found)


@pytest.mark.parametrize("module", modules())
def test_imports_only_from_above(module: str) -> None:
    mine = module.split(".")[1]
    assert mine in LEVEL, f"{module}: give it a line in LAYERS"
    for other in imports(modules()[module]):
        if other.startswith("manikin."):
            theirs = other.split(".")[1]
            assert theirs == mine or LEVEL[theirs] < LEVEL[mine], f"{module} imports {other}"


def test_numba_comes_through_one_door() -> None:
    users = {module for module, file in modules().items() if any(i.split(".")[0] == "numba" for i in imports(file))}
    assert users == {"manikin.compiled"}


def test_the_server_s_libraries_stay_in_the_studio() -> None:
    web = {"starlette", "uvicorn", "websockets"}
    users = {module for module, file in modules().items() if web & {i.split(".")[0] for i in imports(file)}}
    assert users == {"manikin.studio.server", "manikin.studio.wire", "manikin.studio.measure"}


def reached_from(package: str) -> set[str]:
    """Everything that a package imports, directly or through other modules of ours."""
    known = modules()
    todo = [m for m in known if m == package or m.startswith(f"{package}.")]
    assert todo, f"no module is called {package}"
    seen: set[str] = set(todo)
    while todo:
        for other in imports(known[todo.pop()]) - seen:
            seen.add(other)
            if other in known:
                todo.append(other)
    return {name.split(".")[0] for name in seen}


@pytest.mark.parametrize("package", ["manikin.linear", "manikin.clips", "manikin.characters", "manikin.spatial"])
def test_arrays_and_files_need_no_mujoco(package: str) -> None:
    assert "mujoco" not in reached_from(package)


def test_the_search_sees_mujoco_where_it_is() -> None:
    assert "mujoco" in reached_from("manikin.tasks")


def test_importing_and_listing_stay_light() -> None:
    program = (
        "import sys, manikin\n"
        "heavy = {'numpy', 'mujoco', 'numba', 'scipy', 'starlette', 'uvicorn', 'websockets'}\n"
        "first = heavy & set(sys.modules)\n"
        "sys.argv = ['manikin', 'list']\n"
        "from manikin.cli import main\n"
        "main()\n"
        "print('loaded', sorted(first), sorted(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT.parent, check=True)
    assert "lift" in result.stdout
    assert result.stdout.splitlines()[-1] == "loaded [] []"
