"""One measured run against a fresh sandbox: as a whole process, or as a pass of one that goes on."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from processes import SandboxProcess, run_measured
from route_worlds import CLUSTER_CIDR
from worlds import NETWORK

MEASURES = (
    *("wall_s", "served_s", "user_s", "system_s", "cpu_s", "calibration_s", "cpu_ratio", "peak_mib"),
    "sandbox_cpu_s",
)
_FURTHER_PASSES = 3


def run_once(
    sandbox: SandboxProcess, report_file: Path, *, network: bool = True, routes: bool = False
) -> dict[str, Any]:
    """``reconcile --once`` as a whole process."""
    command = [sys.executable, "-m", "reconciler", "--once", "--output=json"]
    cost = run_measured(command, _environment(sandbox, network=network, routes=routes), report_file)
    report = _read(report_file)
    cpu_s = cost["user_s"] + cost["system_s"]
    return {
        **cost,
        "cpu_s": cpu_s,
        "cpu_ratio": cpu_s / cost["calibration_s"],
        "passes": 1,
        "result": report.get("result"),
        "said": report.get("requests", {"kubernetes": 0, "hetzner": 0}),
    }


def run_further(sandbox: SandboxProcess, report_file: Path) -> dict[str, Any]:
    """A pass of a process that has made one before: the median of some. Its peak is that of the process so far."""
    passes = 1 + _FURTHER_PASSES
    command = [sys.executable, str(Path(__file__).with_name("passes.py")), str(passes)]
    whole = run_measured(command, _environment(sandbox, network=True, routes=False), report_file)
    report = _read(report_file)
    later = [{**cost, "cpu_s": cost["user_s"] + cost["system_s"]} for cost in report.get("passes", ())[1:]]
    later = [{**cost, "cpu_ratio": cost["cpu_s"] / cost["calibration_s"]} for cost in later]
    return {
        **whole,
        **{measure: median_of(later, measure) for measure in MEASURES if measure != "sandbox_cpu_s"},
        "peak_mib": max((cost["peak_mib"] for cost in later), default=None),
        "passes": passes,
        "result": report.get("result"),
        "said": report.get("requests", {"kubernetes": 0, "hetzner": 0}),
    }


def median_of(runs: Sequence[Mapping[str, Any]], measure: str) -> float | None:
    """The median of those runs that have this measure; None when none has."""
    values = [run[measure] for run in runs if run.get(measure) is not None]
    return round(median(values), 4) if values else None


def _environment(sandbox: SandboxProcess, *, network: bool, routes: bool) -> dict[str, str]:
    """An id as network saves a request of those that a name costs. Routes are switched off where none are measured, as
    in a cluster whose network plug-in has an overlay."""
    if not network:
        return sandbox.environment
    chosen = {"RECONCILER_CLUSTER_CIDR": CLUSTER_CIDR} if routes else {"HCLOUD_NETWORK_ROUTES_ENABLED": "false"}
    return sandbox.environment | {"HCLOUD_NETWORK": str(NETWORK)} | chosen


def _read(report_file: Path) -> dict[str, Any]:
    """The report, empty when the command died before it wrote one."""
    try:
        report: dict[str, Any] = json.loads(report_file.read_text("utf-8"))
    except ValueError:
        return {}
    return report
