"""Names of code in the documentation exist: modules, files, classes with their parts, functions, and what `mk` offers."""

import ast
import re
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import manikin as mk

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# on these pages every name in backticks is one of the code
MAPS = ("equations.md", "notation.md")
# what they name of MuJoCo and of Python itself
FOREIGN = {"qLD", "qpos", "qvel"}


def quoted(page: Path) -> list[str]:
    """What is in backticks in the text, without code blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [name.strip() for name in re.findall(r"`([^`\n]+)`", text)]


@cache
def names_of_code() -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    """Every name that the package's sources define, and for each class its methods and attributes."""
    everywhere: set[str] = set()
    parts: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for file in (ROOT / "manikin").rglob("*.py"):
        everywhere.add(file.stem)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            everywhere |= _defined(node)
            if isinstance(node, ast.ClassDef):
                bases[node.name] |= {base.id for base in node.bases if isinstance(base, ast.Name)}
                parts[node.name] |= {name for inner in node.body for name in _defined(inner)}
                stored = (inner for inner in ast.walk(node) if isinstance(inner, ast.Attribute))
                parts[node.name] |= {name for inner in stored for name in _defined(inner)}
    for _ in range(3):
        for name, above in bases.items():
            parts[name] |= {part for base in above for part in parts.get(base, ())}
    return frozenset(everywhere), {name: frozenset(own) for name, own in parts.items()}


def _defined(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.AnnAssign):
        return _defined(node.target)
    if isinstance(node, ast.Assign):
        return {name for target in node.targets for name in _defined(target)}
    stored = isinstance(getattr(node, "ctx", None), ast.Store)
    if isinstance(node, ast.Name):
        return {node.id} if stored else set()
    return {node.attr} if stored and isinstance(node, ast.Attribute) else set()


def exists(name: str) -> bool:
    """Whether the sources know `name`, or `Class.part`."""
    everywhere, parts = names_of_code()
    first, *rest = name.split(".")
    if not rest:
        return first in everywhere
    if first in parts:
        return all(part in parts[first] for part in rest[:1]) and all(part in everywhere for part in rest[1:])
    return all(part in everywhere for part in (first, *rest))


def resolves(path: str) -> bool:
    """Whether a dotted path under manikin can be imported, attribute by attribute."""
    parts = path.split(".")
    depth = next((d for d in range(len(parts), 0, -1) if _is_module(parts[:d])), 0)
    if not depth:
        return False
    found = import_module(".".join(parts[:depth]))
    for part in parts[depth:]:
        # fields without a default are no attributes of a class
        if not hasattr(found, part):
            return part in getattr(found, "__annotations__", {})
        found = getattr(found, part)
    return True


def _is_module(parts: list[str]) -> bool:
    path = ROOT.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").exists()


@cache
def files() -> tuple[str, ...]:
    kept = ("manikin", "tests", "docs", "examples", "tools")
    skipped = {"node_modules", "__pycache__"}
    inside = (f for folder in kept for f in (ROOT / folder).rglob("*.*") if not skipped & {*f.parts})
    return tuple(f.relative_to(ROOT).as_posix() for f in inside)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_modules_and_files_exist(page: Path) -> None:
    wrong = []
    for name in quoted(page):
        if re.fullmatch(r"manikin(\.\w+)+", name) and not name.endswith((".py", ".glb")):
            wrong += [] if resolves(name) else [name]
        elif re.fullmatch(r"[\w./-]+\.(py|ts)", name):
            wrong += [] if any(f"/{f}".endswith(f"/{name}") for f in files()) else [name]
    assert not wrong, f"{page.name} names what does not exist: {wrong}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_public_names_are_offered(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = sorted({name for name in re.findall(r"\bmk\.([A-Za-z]\w*)", text) if name not in mk.__all__})
    assert not wrong, f"{page.name}: manikin has no {wrong}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_classes_and_functions_exist(page: Path) -> None:
    """CamelCase and name() are code wherever they occur; on the maps, every name is."""
    wrong = []
    for given in quoted(page):
        called = re.fullmatch(r"([A-Za-z_][\w.]*)\([^()]*\)", given)
        name = called[1] if called else given
        if name.startswith(("manikin.", "mj", "mk.", "numpy.")) or not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name):
            continue
        camel = re.fullmatch(r"([A-Z][a-z]+){2,}(\.\w+)?|[A-Z][a-z]+\.\w+", name)
        if (called or camel or page.name in MAPS) and name not in FOREIGN and not exists(name):
            wrong.append(given)
    assert not wrong, f"{page.name} names what does not exist: {wrong}"


def test_the_search_sees_what_is_missing() -> None:
    assert exists("Response.rows")
    assert exists("Points.error")
    assert not exists("Points.rows")
    assert not exists("Response.rowz")
    assert not exists("spring_too")
    assert resolves("manikin.linear.nullspace.solve_level")
    assert not resolves("manikin.linear.nullspace.solve_lever")
    assert not resolves("manikin.linear.nulspace")
