"""Fixtures of the browser lane: one Chromium for all of its tests."""

import os
from collections.abc import Iterator

import pytest

from tests.support.assets import folder_of
from tests.support.browser import Browser


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
