"""One line at the end of a run counts the skipped tests by reason."""

from collections import Counter

import pytest


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print it, if a test is skipped."""
    skipped = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped"))
    if skipped:
        reasons = (f"{count} as {reason}" for reason, count in skipped.items())
        terminalreporter.write_line(f"not run: {'; '.join(reasons)}")
