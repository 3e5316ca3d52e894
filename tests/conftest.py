"""Fixtures that several lanes use."""

import contextlib
import signal
from collections.abc import Iterator

import pytest

from tests.support.apiserver import ApiServer, find_binaries, start_api_server

_SIMULATIONS = {"simulate", "sim", "simulation"}
"""Fixtures of simulators, by any of which a test runs against them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses a real API server, and what uses simulators, which ``scripts/test --fast`` leaves out."""
    for item in items:
        if _needs_binaries(item):
            item.add_marker(pytest.mark.apiserver)
        if not _SIMULATIONS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.passes)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the binaries before the first test: later, the minutes would count against that test's time limit."""
    if not session.config.option.collectonly and any(map(_needs_binaries, session.items)):
        # Reported by the fixtures, for the tests that need them and no others.
        with contextlib.suppress(RuntimeError):
            find_binaries()


@pytest.fixture(scope="session", autouse=True)
def in_the_foreground() -> Iterator[None]:
    """Hear Ctrl-C, as do all processes that tests start: a shell without job control starts ``pytest &`` with SIGINT
    ignored, which they would inherit, and which the product respects."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The real API server of this worker, for all of its tests, one after another: a test finds what others left, and
    one that kills it starts it again.

    Fails, with the reason, where the binaries can be neither found nor built. A start costs three seconds and 280 MB.
    """
    server = start_api_server(tmp_path_factory.mktemp("apiserver"))
    yield server
    server.stop()


def _needs_binaries(item: pytest.Item) -> bool:
    return "api_server" in getattr(item, "fixturenames", ())
