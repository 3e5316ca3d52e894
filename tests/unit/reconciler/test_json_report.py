"""JSON of reports: one shape for plans and for what was applied."""

import io
import json
from typing import Any

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from reconciler.cli.streams import Writer
from reconciler.config.options import Output
from reconciler.report.documents import FORMAT_VERSION, report_as_json
from reconciler.result import Line, Report
from tests.builders import a_change
from tests.support.rows import rows
from tests.support.scenarios import SCENARIOS


@rows(
    "outcome expected",
    {
        "not-tried": (None, None),
        "applied": (Applied(), {"state": "applied"}),
        "pending": (Pending("busy", 10.0), {"state": "pending", "why": "busy", "retry_after_s": 10.0}),
        "skipped": (Skipped("stopped"), {"state": "skipped", "why": "stopped"}),
        "failed": (Failed("no"), {"state": "failed", "why": "no", "retry_after_s": None}),
        "failed-for-a-while": (Failed("not now", 5.0), {"state": "failed", "why": "not now", "retry_after_s": 5.0}),
    },
)
def test_outcomes(outcome: Outcome | None, expected: Any) -> None:
    """How the attempt at a change ended has the members that there is something to say of."""
    (change,) = report_as_json(Report(lines=(Line(a_change(), outcome),)))["changes"]

    assert change["outcome"] == expected


def test_one_document_a_line_in_a_stream() -> None:
    """The loop writes a document a line; a single run writes one that people can read."""
    stream = io.StringIO()
    writer = Writer(Output.JSON, stream)

    writer.write(SCENARIOS["joining"], stream_of_passes=True)
    writer.write(SCENARIOS["empty"], stream_of_passes=True)

    lines = stream.getvalue().splitlines()
    assert [json.loads(line)["result"] for line in lines] == ["changes", "no_changes"]
    assert all(json.loads(line)["format_version"] == FORMAT_VERSION for line in lines)
