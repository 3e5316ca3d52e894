"""Fixtures that several lanes use."""

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from tests.support.apiserver import ApiServer, start_api_server
from tests.support.assets import folder_of

_SIMULATIONS = {"simulate", "sim", "simulation"}
"""Fixtures of simulators, by any of which a test runs against them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses a real API server, a browser, and simulators, which ``scripts/test --fast`` leaves out."""
    for item in items:
        if _needs_browser(item):
            item.add_marker(pytest.mark.browser)
        if _needs_binaries(item):
            item.add_marker(pytest.mark.apiserver)
        if not _SIMULATIONS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.passes)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the binaries before the first test: later, the minutes would count against that test's time limit."""
    if session.config.option.collectonly:
        return
    # Reported by the fixtures, for the tests that need them and no others.
    if any(map(_needs_binaries, session.items)):
        with contextlib.suppress(RuntimeError):
            folder_of("envtest")
    if any(map(_needs_browser, session.items)):
        with contextlib.suppress(RuntimeError):
            folder_of("browser")


class _OneBrowser(LoadFileScheduling):  # type: ignore[misc]
    """A file's tests run in one worker, and those of all files with a browser: one browser is enough for a run."""

    def _split_scope(self, nodeid: str) -> str:
        lane = "tests/browser/"
        return lane if nodeid.startswith(lane) else str(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """The scheduler of ``--dist loadfile``."""
    return _OneBrowser(config, log) if config.getvalue("dist") == "loadfile" else None


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


def _needs_browser(item: pytest.Item) -> bool:
    return "chromium" in getattr(item, "fixturenames", ())
