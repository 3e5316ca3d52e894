"""docs/metrics.md follows from the table of metrics. ``UPDATE_DOCS=1`` writes it anew. And who pays for them."""

import os
import subprocess
import sys
from pathlib import Path

from reconciler.telemetry.metric_table import METRICS, OURS, Alarm, Metric
from tests.support.rows import rows

DOCS = Path(__file__).resolve().parents[3] / "docs"

INTRODUCTION = """\
# Metrics

Made from the table in `reconciler/telemetry/metric_table.py`.

A running controller serves them in Prometheus' formats under `/metrics` at `HCLOUD_METRICS_ADDRESS` (`:8233`), unless
`HCLOUD_METRICS_ENABLED` is false. Every replica serves its own; one that stands by has no gauges of a last pass, and
counters that stand still. `--once` and `--dry-run` serve none: their exit code and JSON say the same.

No label has the name of a Node or a Service, nor an id. `section` is one of `nodes`, `services`, `load_balancers`,
`certificates` and `routes`, where something is read also `servers`, `robot` and what else a pass looks at; `action` is
`add`, `modify` or `remove`. What the Python client library tells of the process and its memory is served as well
(`process_*`, `python_*`).
"""

OF_OTHERS = """
## Known from elsewhere

Names, types and labels of hcloud-cloud-controller-manager and of Kubernetes' own components, where they mean the same,
so that dashboards go on working. The former's others are not served: `cloud_controller_manager_operations_total` counts
operations that there are none of here, and there are no caches.
"""

ALARMS = """
## When to look

The alerts of the Helm chart: for how long what has to hold, and by which metric. Each leads to what to do then, in the
runbook.
"""


def _meaning(row: Metric) -> str:
    return row.meaning.replace("<error>", "`<error>`")


def _row(row: Metric) -> str:
    return f"| `{row.name}` | {row.sort} | {', '.join(f'`{label}`' for label in row.labels)} | {_meaning(row)} |"


def _alarm(row: Metric, alarm: Alarm) -> str:
    section = f"[`{alarm.name}`](runbook.md#{alarm.name.lower()})"
    return f"\n{section}, for {alarm.lasting}, by `{row.name}`:\n\n    {alarm.when}\n"


def page() -> str:
    head = "\n| name | type | labels | meaning |\n|---|---|---|---|\n"
    ours = [row for row in METRICS.values() if row.name.startswith(OURS)]
    others = [row for row in METRICS.values() if not row.name.startswith(OURS)]
    alarms = "".join(_alarm(row, row.alarm) for row in METRICS.values() if row.alarm)
    return (
        INTRODUCTION
        + head
        + "".join(f"{_row(row)}\n" for row in ours)
        + OF_OTHERS
        + head
        + "".join(f"{_row(row)}\n" for row in others)
        + ALARMS
        + alarms
    )


def test_metrics_are_documented_as_they_are() -> None:
    file = DOCS / "metrics.md"
    if os.environ.get("UPDATE_DOCS"):
        file.write_text(page())

    assert file.read_text() == page()


def test_no_cell_breaks_the_table() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `")]

    assert [line.count("|") for line in rows] == [5] * len(METRICS)


@rows(
    "code",
    {
        "help": "from reconciler.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n",
        "a single run": "import reconciler.cli.run, reconciler.runtime\n",
        "what logs": "import reconciler.telemetry.pass_logger, reconciler.telemetry.logs\n",
    },
)
def test_only_the_loop_pays(code: str) -> None:
    look = (
        "import sys\n"
        "heavy = ('prometheus_client', 'waitress', 'reconciler.telemetry.serving', 'reconciler.telemetry.metrics')\n"
        "sys.stderr.write(' '.join(module for module in heavy if module in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code + look], capture_output=True, text=True, check=True)

    assert ran.stderr == ""
