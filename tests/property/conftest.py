"""Every failed law says how to repeat the run that found it."""

from collections.abc import Generator

import pytest

from tests.property.strategies import SEED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the seed to the report of a failure, beside the example that Hypothesis prints."""
    report = yield
    if report.failed:
        report.sections.append(("Hypothesis seed", f"repeat with PROPERTY_SEED={SEED}"))
    return report
