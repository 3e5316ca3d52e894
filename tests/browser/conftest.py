"""Fixtures of the browser lane: one Chromium for all of its tests."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.support.assets import needed
from tests.support.browser import Browser
from tests.support.page_worlds import page_worlds
from tests.support.shown_page import ShownPage, page_in_a_file


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of this run."""
    started = Browser(needed("browser"))
    yield started
    started.close()


@pytest.fixture
def browser(chromium: Browser) -> Browser:
    """The browser, as if it had just been started."""
    chromium.reset()
    return chromium


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ShownPage]:
    """The page of each world of the tests."""
    folder, worlds = tmp_path_factory.mktemp("pages"), page_worlds(datetime.now(UTC))
    return {name: page_in_a_file(world, folder / f"{name}.html") for name, world in worlds.items()}


@pytest.fixture
def eventful(browser: Browser, pages: dict[str, ShownPage]) -> ShownPage:
    """The page with something in every section, which the browser shows."""
    browser.open(pages["eventful"].address)
    return pages["eventful"]
