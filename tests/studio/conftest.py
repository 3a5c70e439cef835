"""A session whose messages are kept, a server that a raw client can talk to, and one with a page in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk import CHROMIUM, FLAGS, Desk, sit_down, sync_api
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api().sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(Studio(TakeFolder(tmp_path_factory.mktemp("takes")))) as running:
        yield running


@pytest.fixture
def desk(browser: Any, server: Running) -> Iterator[Desk]:
    with sit_down(browser, server.address) as desk:
        yield desk
        assert desk.errors == []
