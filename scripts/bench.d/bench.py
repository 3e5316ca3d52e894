"""What a pass costs, measured from outside: requests from the sandbox's own log, CPU and memory from the kernel.

Seconds depend on the machine and on what else it does, so CPU is also given as a multiple of a fixed piece of work that
is measured in the same minute. Ends with 1 when a run did not come to the expected result or counts do not agree;
time and memory never fail it.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from statistics import median
from typing import Any

from processes import Conditions, SandboxProcess, count_calls, count_methods, run_measured
from tables import FORMAT_VERSION, render
from worlds import NETWORK, joining_world, resized_world, settled_world

from reconciler import __version__

_ROOT = Path(__file__).resolve().parent.parent.parent
_LARGE = 2000
"""From this many Nodes on, one repetition is enough unless more are asked for."""
_FURTHER_PASSES = 3
_MEASURES = ("wall_s", "user_s", "system_s", "cpu_s", "calibration_s", "cpu_ratio", "peak_mib", "sandbox_cpu_s")
_BUDGETS = {"cpu_s": 1.5, "peak_mib": 120 * 10**6 / 2**20}
"""Of one pass at 5,000 Nodes (design section 10)."""
_HCCM = (
    {"nodes": 20, "wall_s": 1.7, "peak_mib": "58-71"},
    {"nodes": 100, "wall_s": 13.7, "peak_mib": "58-71"},
)
"""hcloud-cloud-controller-manager as it was measured under the default conditions, at another time than this run."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table."""

    name: str
    nodes: int
    world: Callable[[int], dict[str, Any]]
    run: Callable[[SandboxProcess, Path], dict[str, Any]]
    repetitions: int
    events: int = 0
    """How many Events a pass has to say; they may be lost without harm, so that fewer are no problem."""


@dataclass(slots=True)
class Bench:
    """One run of the script: what was measured, and what was wrong with it."""

    conditions: Conditions
    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What is worth knowing and no failure."""

    def measure(self, scenario: Scenario, folder: Path) -> None:
        """All repetitions of one row, each against a fresh sandbox."""
        world = folder / f"{scenario.world.__name__}-{scenario.nodes}.json"
        if not world.exists():
            world.write_text(json.dumps(scenario.world(scenario.nodes)), "utf-8")
        runs = []
        for number in range(scenario.repetitions):
            _say(f"{scenario.name}, {scenario.nodes} nodes: {number + 1} of {scenario.repetitions}")
            with SandboxProcess(world, self.conditions) as sandbox:
                before_s = sandbox.cpu_s()
                run = scenario.run(sandbox, folder / "report.json")
                after_s = sandbox.cpu_s()
                logs = {api: sandbox.requests(api) for api in ("hetzner", "kubernetes")}
            if before_s is not None and after_s is not None:
                run["sandbox_cpu_s"] = round((after_s - before_s) / run["passes"], 3)
            self._count(scenario, run, logs)
            runs.append(run)
        self._add(scenario, runs)

    def _count(self, scenario: Scenario, run: dict[str, Any], logs: Mapping[str, list[Mapping[str, Any]]]) -> None:
        """Put the requests of one pass into ``run``, and note what does not agree with the product's own count."""
        passes = run["passes"]
        run["requests"], run["calls"] = {}, {}
        for api, log in logs.items():
            if refused := [entry for entry in log if entry["status"] >= 400]:
                self._problem(scenario, f"{api} refused {len(refused)} requests, the first with {refused[0]['status']}")
            run["requests"][api] = self._per_pass(scenario, count_methods(log), passes)
            run["calls"][api] = self._per_pass(scenario, count_calls(log), passes)
            events = sum(_is_event(entry["path"]) for entry in log)
            said = run["said"][api]
            # Events are sent beside the pass, so that its report may come before the last of them.
            if not len(log) - events <= said <= len(log):
                self._problem(scenario, f"the report says {said} requests to {api}, its log has {len(log)}")
        if run["result"] != "no_changes" or run["exit"]:
            self._problem(scenario, f"ended with {run['exit']}, result {run['result']}: {run['stderr'][-300:]}")

    def _per_pass(self, scenario: Scenario, counts: dict[str, int], passes: int) -> dict[str, int]:
        if odd := [what for what, number in counts.items() if number % passes]:
            self._problem(scenario, f"{passes} passes sent {counts[odd[0]]} {odd[0]}: they were not alike")
        return {what: number // passes for what, number in counts.items()}

    def _add(self, scenario: Scenario, runs: Sequence[Mapping[str, Any]]) -> None:
        first = runs[0]
        if any(_without_events(run) != _without_events(first) for run in runs):
            self._problem(scenario, "repetitions sent different requests")
        events = [sum(number for call, number in run["calls"]["kubernetes"].items() if _is_event(call)) for run in runs]
        if max(events) > scenario.events:
            self._problem(scenario, f"{max(events)} requests for {scenario.events} Events")
        if min(events) < scenario.events:
            sent = ", ".join(map(str, events))
            self.remarks.append(
                f"{scenario.name}, {scenario.nodes} nodes: {sent} of {scenario.events} Events were sent"
            )
        self.rows.append(
            {
                "name": scenario.name,
                "nodes": scenario.nodes,
                "repetitions": len(runs),
                "result": first["result"],
                "requests": first["requests"],
                "calls": first["calls"],
                **{measure: _median(runs, measure) for measure in _MEASURES},
                "runs": [{measure: run.get(measure) for measure in _MEASURES} for run in runs],
            }
        )

    def _problem(self, scenario: Scenario, text: str) -> None:
        self.problems.append(f"{scenario.name}, {scenario.nodes} nodes: {text}")


def main(argv: Sequence[str] | None = None) -> int:
    """0; 1 when something was not as it should be, which has nothing to do with time."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no sandbox outlives this process
    bench = Bench(Conditions(options.latency_ms, options.action_ms, options.rate_limit))
    with tempfile.TemporaryDirectory(prefix="hcloud-reconciler-bench-") as folder:
        for scenario in _scenarios(options):
            bench.measure(scenario, Path(folder))
    document = _document(bench)
    print(render(document), end="")
    now = datetime.now(UTC)
    output = Path(options.output or _ROOT / "bench-results" / f"{now:%Y%m%dT%H%M%SZ}.json")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    _say(f"written to {output}")
    return 1 if bench.problems else 0


def run_once(sandbox: SandboxProcess, report_file: Path) -> dict[str, Any]:
    """``reconcile --once`` as a whole process."""
    environment = {**sandbox.environment, "HCLOUD_NETWORK": str(NETWORK)}
    command = [sys.executable, "-m", "reconciler", "--once", "--output=json"]
    cost = run_measured(command, environment, report_file)
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
    environment = {**sandbox.environment, "HCLOUD_NETWORK": str(NETWORK)}
    passes = 1 + _FURTHER_PASSES
    command = [sys.executable, str(Path(__file__).with_name("passes.py")), str(passes)]
    whole = run_measured(command, environment, report_file)
    report = _read(report_file)
    later = [{**cost, "cpu_s": cost["user_s"] + cost["system_s"]} for cost in report.get("passes", ())[1:]]
    later = [{**cost, "cpu_ratio": cost["cpu_s"] / cost["calibration_s"]} for cost in later]
    return {
        **whole,
        **{measure: _median(later, measure) for measure in _MEASURES if measure != "sandbox_cpu_s"},
        "peak_mib": max((cost["peak_mib"] for cost in later), default=None),
        "passes": passes,
        "result": report.get("result"),
        "said": report.get("requests", {"kubernetes": 0, "hetzner": 0}),
    }


def _scenarios(options: argparse.Namespace) -> Iterator[Scenario]:
    join, resize, idle = ([5], [5], [100]) if options.quick else (options.join, options.resize, options.idle)
    for nodes in join:
        yield Scenario("join", nodes, joining_world, run_once, _repetitions(options, nodes), events=nodes)
    for nodes in resize:
        yield Scenario("resize", nodes, resized_world, run_once, _repetitions(options, nodes))
    for nodes in idle:
        yield Scenario("idle", nodes, settled_world, run_once, _repetitions(options, nodes))
        yield Scenario("further pass", nodes, settled_world, run_further, _repetitions(options, nodes))


def _repetitions(options: argparse.Namespace, nodes: int) -> int:
    if options.quick:
        return 1
    return int(options.repetitions or (1 if nodes >= _LARGE else 3))


def _document(bench: Bench) -> dict[str, Any]:
    conditions = bench.conditions
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": python_version(),
        "cpus": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "conditions": {
            "latency_ms": conditions.latency_ms,
            "action_ms": conditions.action_ms,
            "rate_limit": conditions.rate_limit,
        },
        "rows": bench.rows,
        "budgets": {"nodes": 5000, **_BUDGETS},
        "hcloud-cloud-controller-manager": list(_HCCM),
        "remarks": bench.remarks,
        "problems": bench.problems,
    }


def _is_event(path: str) -> bool:
    return path.endswith("/events") or "/events/" in path


def _without_events(run: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    return [
        (api, call, number) for api in run["calls"] for call, number in run["calls"][api].items() if not _is_event(call)
    ]


def _median(runs: Sequence[Mapping[str, Any]], measure: str) -> float | None:
    values = [run[measure] for run in runs if run.get(measure) is not None]
    return round(median(values), 4) if values else None


def _read(report_file: Path) -> dict[str, Any]:
    """The report, empty when the command died before it wrote one."""
    try:
        report: dict[str, Any] = json.loads(report_file.read_text("utf-8"))
    except ValueError:
        return {}
    return report


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--join", type=_numbers, default=[5, 20, 100, 1000], metavar="N,N", help="joining Nodes")
    parser.add_argument("--resize", type=_numbers, default=[1000], metavar="N,N", help="Nodes of resized servers")
    parser.add_argument("--idle", type=_numbers, default=[5000], metavar="N,N", help="settled Nodes")
    parser.add_argument("--latency-ms", type=int, default=50, metavar="N", help="of both APIs; default 50")
    parser.add_argument("--action-ms", type=int, default=300, metavar="N", help="of a Hetzner action; default 300")
    parser.add_argument("--rate-limit", type=int, default=36000, metavar="N", help="Hetzner's, an hour; default 36000")
    parser.add_argument("--repetitions", type=int, metavar="N", help=f"default 3, and 1 from {_LARGE} Nodes on")
    parser.add_argument("--output", metavar="FILE", help="JSON; default: a new file in bench-results/")
    parser.add_argument("--quick", action="store_true", help="see that it works: 5 joining, 5 resized, 100 idle")
    return parser


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
