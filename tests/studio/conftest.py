"""A session whose messages are kept, and a server that a raw client can talk to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_client import Heard, Page

from manikin.studio.server import Running, Studio
from manikin.studio.session import Session
from manikin.studio.takes import TakeFolder


@pytest.fixture
def folder(tmp_path: Path) -> TakeFolder:
    return TakeFolder(tmp_path / "takes")


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def session(folder: TakeFolder, heard: Heard) -> Iterator[Session]:
    """A session that is driven by hand, without its thread."""
    session = Session(folder, heard)
    yield session
    session.preview.close()
    session._close_take()


@pytest.fixture
def served(folder: TakeFolder) -> Iterator[Running]:
    with Running(Studio(folder)) as running:
        yield running


@pytest.fixture
def page(served: Running) -> Iterator[Page]:
    page = Page(served)
    yield page
    page.close()
