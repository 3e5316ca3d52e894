"""Fixtures that several lanes use."""

import contextlib
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from desired.guards import judge
from desired.guards.table import GUARDS
from tests.support import control_plane, premises
from tests.support.apiserver import ApiServer, start_api_server
from tests.support.assets import Script, folder_of, needed
from tests.support.measured import MEASURED
from tests.support.sampling import SEED

BUILT = ("tests/browser/", "tests/cluster/", "tests/e2e/", "tests/release/")
"""Lanes whose tests need what has to be built first; ``scripts/test`` leaves them to ``--all``."""
ALONE = ("tests/cluster/", "tests/browser/")
"""Lanes that have one cluster, or one browser, for a run: each is the work of one worker, and begins first."""
SEPARATE = ("tests/e2e/", "tests/faults/", "tests/property/test_harm_")
"""Lanes whose long files are split: each test function is scheduled by itself."""
_PROGRAMS: dict[str, Sequence[Script]] = {
    "api_server": ("envtest",),
    "control_plane": control_plane.PROGRAMS,
    "chromium": ("browser",),
}
"""Fixture → the scripts that make the programs which it runs."""


def pytest_configure() -> None:
    """Without the guard that ``WITHOUT_GUARD`` names, which a run has to find out (``scripts/campaign guards``)."""
    if name := os.environ.get("WITHOUT_GUARD"):
        vars(judge)["GUARDS"] = {each: guard for each, guard in GUARDS.items() if each != name}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the real API server and what needs anything built, and put the longest lanes first."""
    for item in items:
        used = _fixtures(item)
        if used & {"api_server", "control_plane"}:
            item.add_marker(pytest.mark.apiserver)
        if item.nodeid.startswith(BUILT) or item.get_closest_marker("apiserver"):
            item.add_marker(pytest.mark.built)
        if "control_plane" in used:
            item.add_marker(pytest.mark.xdist_group("cluster"))
    lanes = (*ALONE, *SEPARATE, "")
    items.sort(key=lambda item: next(place for place, lane in enumerate(lanes) if item.nodeid.startswith(lane)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the binaries before the first test: later, the minutes would count against that test's time limit."""
    if session.config.option.collectonly:
        return
    # Reported by the fixtures, for the tests that need them and no others.
    used = {name for item in session.items for name in _fixtures(item)}
    for script in dict.fromkeys(script for fixture in _PROGRAMS.keys() & used for script in _PROGRAMS[fixture]):
        with contextlib.suppress(RuntimeError):
            folder_of(script)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Raises AssertionError after a law that holds for want of examples to which it applies."""
    stated = pyfuncitem.get_closest_marker("premises")
    premises.forget()
    result = yield
    if stated is not None:
        short = [*premises.shortcomings(*stated.args)]
        assert not short, f"premises that are met too rarely: {short}"
    return result


class _Lanes(LoadFileScheduling):  # type: ignore[misc]
    """Gives a worker a whole lane of ``ALONE``, one test function of ``SEPARATE``, or else the tests of a file."""

    def _split_scope(self, nodeid: str) -> str:
        lane = next((lane for lane in ALONE if nodeid.startswith(lane)), None)
        if lane is None and nodeid.startswith(SEPARATE):
            return nodeid.partition("[")[0]
        return lane or str(super()._split_scope(nodeid))

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Also forgets a scope that is done: all that were ever assigned are counted after each test."""
        super().mark_test_complete(node, item_index, duration)
        work, scope = self.assigned_work[node], self._split_scope(self.registered_collections[node][item_index])
        if all(work[scope].values()):
            del work[scope]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """The scheduler of ``--dist loadfile``."""
    return _Lanes(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failure how the same samples are drawn again."""
    report = yield
    if report.failed:
        lane = "--all " if "built" in report.keywords else ""
        again = f"PROPERTY_SEED={SEED} scripts/test {lane}'{report.nodeid.partition('@')[0]}'"
        report.sections.append(("Samples", f"repeat with {again}"))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured."""
    said = [
        f"{report.nodeid.partition('@')[0]}: {figures}"
        for report in terminalreporter.getreports("passed")
        for name, figures in report.user_properties
        if name == MEASURED
    ]
    if said:
        terminalreporter.section("measured")
        terminalreporter.write_line("\n".join(said))


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

    A start costs three seconds and 280 MB.
    """
    needed("envtest")
    server = start_api_server(tmp_path_factory.mktemp("apiserver"))
    yield server
    server.stop()


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))
