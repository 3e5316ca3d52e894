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


def test_sections_of_load_balancers() -> None:
    """What was read for Services is counted like everything else, and only where it was read."""
    settled, gap = (report_as_json(SCENARIOS[name])["sections"] for name in ("balancers_settled", "balancers_unread"))

    assert list(settled) == ["nodes", "servers", "services", "load_balancers", "certificates"]
    assert list(gap) == ["nodes", "servers", "services", "load_balancers"]
    assert gap["load_balancers"]["complete"] is False
    assert (gap["load_balancers"]["count"], gap["load_balancers"]["expected"]) == (1, 51)


def test_a_value_that_is_known_after_apply() -> None:
    """It is a text of its own, on the whole side and in its field."""
    changes = {change["key"]: change for change in report_as_json(SCENARIOS["balancer_created"])["changes"]}
    status = changes["service/default/web/status"]

    assert (status["before"], status["after"]) == ([], "(known after apply)")
    assert status["fields"] == [{"path": "ingress", "before": None, "after": "(known after apply)"}]


def test_routes_and_conditions_by_their_values() -> None:
    """A route is known by its gateway, a condition by status and reason; what is not there is null."""
    changes = {change["key"]: change for change in report_as_json(SCENARIOS["routes_drifted"])["changes"]}
    sides = {key: (change["before"], change["after"]) for key, change in changes.items()}

    assert sides["route/4/10.244.2.0/24"] == (None, "10.0.0.3")
    assert sides["route/4/10.244.3.0/24"] == ("10.0.0.5", "10.0.0.4")
    assert sides["route/4/10.244.9.0/24"] == ("10.0.0.99", None)
    assert sides["node/web-2/network"] == (None, {"status": "False", "reason": "RouteCreated"})
