"""Fixtures that several lanes use."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apiserver import ApiServer, OwnApiServer, find_binaries, start_api_server
from tests.support.shared_apiserver import shared_api_server

_NEED_BINARIES = {"api_server", "own_api_server", "real_cluster"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put every test that uses a real API server into its lane."""
    for item in items:
        if _needs_binaries(item):
            item.add_marker(pytest.mark.apiserver)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the binaries before the first test: later, the minutes would count against that test's time limit."""
    if not session.config.option.collectonly and any(map(_needs_binaries, session.items)):
        # Reported by the fixtures, for the tests that need them and no others.
        with contextlib.suppress(RuntimeError):
            find_binaries()


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The one real API server of the run, shared by all tests and xdist workers: use names of your own.

    Fails, with the reason, where the binaries can be neither found nor built.
    """
    own = tmp_path_factory.getbasetemp()
    # A worker's folder is inside that of the whole run.
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with shared_api_server(run / "apiserver") as server:
        yield server


@pytest.fixture
def own_api_server(tmp_path: Path) -> Iterator[OwnApiServer]:
    """A real, empty API server for one test, which may kill and restart it. Costs three seconds and 280 MB."""
    server = start_api_server(tmp_path / "apiserver")
    yield server
    server.stop()


def _needs_binaries(item: pytest.Item) -> bool:
    return not _NEED_BINARIES.isdisjoint(getattr(item, "fixturenames", ()))
