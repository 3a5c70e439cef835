"""The public names: all there, each with one home and a description."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import manikin as mk


def test_all_is_what_dir_shows() -> None:
    assert sorted(mk.__all__) == dir(mk)
    assert len(set(mk.__all__)) == len(mk.__all__)


@pytest.mark.parametrize("name", mk.__all__)
def test_every_name_resolves_and_is_described(name: str) -> None:
    value = getattr(mk, name)
    if name == "__version__":
        assert value.count(".") == 2
        return
    # the studio is a package as well, and can be called as one
    assert value.__name__.rpartition(".")[2] == name
    assert callable(value)
    # dataclasses and named tuples generate a docstring if none is written
    assert value.__doc__
    assert not value.__doc__.startswith(f"{name}(")


def test_the_one_list_of_names() -> None:
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
    table = page[page.index("## All names") :]
    listed = [name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert listed == [name for name in mk.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", sorted(set(mk.__all__) - {"__version__"}))
def test_every_name_has_one_home(name: str) -> None:
    """It is defined where `mk` takes it from, and no package in between offers it as well."""
    home = mk._PUBLIC[name]
    if name != "studio":
        assert getattr(mk, name).__module__ == home
    parts = home.split(".")
    for depth in range(2, len(parts)):
        package = importlib.import_module(".".join(parts[:depth]))
        # a module may be called like what is in it
        there = vars(package).get(name)
        assert there is None or isinstance(there, ModuleType), f"{package.__name__} offers {name} too"


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(mk.__file__).read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If))
    typed = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == mk._PUBLIC


def test_a_module_never_hides_a_name() -> None:
    """Importing manikin.x sets the attribute x of the package."""
    here = Path(mk.__file__).parent
    assert {p.stem for p in here.iterdir()} & set(mk.__all__) - {"__version__"} == {"studio"}
    importlib.import_module("manikin.loop")
    assert callable(mk.run)


@pytest.mark.parametrize("first", ["", "import manikin.studio.messages; "])
def test_the_studio_opens_whatever_was_imported_before(first: str) -> None:
    program = f"{first}import manikin as mk\ntry:\n    mk.studio(host='192.0.2.1')\nexcept mk.ManikinError as e:\n    print(e)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(mk.__file__).parents[1])
    assert "needs --token" in result.stdout, result.stderr


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        mk.nonsense  # noqa: B018
