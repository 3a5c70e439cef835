"""What the tests of files share: the lift, written."""

from collections.abc import Callable
from pathlib import Path

import pytest

import manikin as mk


@pytest.fixture(scope="session")
def saved_lift(lift: mk.Take, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Write the lift to a file of this name, its kind by extension."""

    def save(name: str) -> Path:
        path = tmp_path_factory.mktemp("lift") / name
        mk.save(lift, path)
        return path

    return save
