"""Fixtures of the browser lane: one Chromium for all of its tests."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.support.assets import folder_of
from tests.support.browser import Browser
from tests.support.page_worlds import page_worlds
from tests.support.shown_page import ShownPage, page_in_a_file


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of this run. Where there is none and none can be fetched, its tests fail in CI and are skipped
    elsewhere, with the reason."""
    try:
        started = Browser(folder_of("browser"))
    except RuntimeError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
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
