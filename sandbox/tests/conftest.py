"""One event loop for the simulators of all tests."""

from collections.abc import Iterator

import pytest

from hcloud_sandbox.serving import BackgroundLoop


@pytest.fixture(scope="session")
def background_loop() -> Iterator[BackgroundLoop]:
    """The event loop in which all simulators answer."""
    loop = BackgroundLoop()
    yield loop
    loop.close()
