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
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from typing import Any

from known import AIMS, BUDGETS, HCCM
from loops import first_request, peak_of_joining
from processes import Conditions, SandboxProcess, count_calls, count_methods, run_measured, unpublished
from runs import MEASURES, median_of
from scenarios import LARGE, Scenario, scenarios
from tables import FORMAT_VERSION, render
from watching import Watch
from worlds import joining_world

from reconciler import __version__

_ROOT = Path(__file__).resolve().parent.parent.parent
_ANSWERS: tuple[tuple[str, ...], ...] = (("--help",), ("plan", "--help"), ("plan",))
"""What a person types and waits for."""
_REPEATED = 5
_PAGE = ("--ui-address=127.0.0.1:0",)
"""What lets a loop serve its page."""
_SMALL = 3
"""Nodes of a small world."""
_POLL = "GET /v1/actions"
"""How often it is sent depends on when actions end."""


@dataclass(slots=True)
class Bench:
    """One run of the script: what was measured, and what was wrong with it."""

    conditions: Conditions
    rows: list[dict[str, Any]] = field(default_factory=list)
    loop: dict[str, Any] = field(default_factory=dict)
    """What a loop costs that no pass does: its start, and the memory that it has for ever."""
    answers: dict[str, dict[str, float]] = field(default_factory=dict)
    """What is typed → how long its answer takes, in seconds."""
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What is worth knowing and no failure."""

    def measure(self, scenario: Scenario, folder: Path) -> None:
        """All repetitions of one row, each against a fresh sandbox."""
        world = folder / "world.json"
        world.write_text(json.dumps(scenario.world()), "utf-8")
        runs = []
        for number in range(scenario.repetitions):
            _say(f"{scenario.name}, {scenario.nodes} nodes: {number + 1} of {scenario.repetitions}")
            with SandboxProcess(world, self.conditions) as sandbox:
                before_s = sandbox.cpu_s()
                with Watch(sandbox) if scenario.is_watched else nullcontext() as watch:
                    run = scenario.run(sandbox, folder / "report.json")
                if watch is not None and watch.served_at is not None:
                    run["served_s"] = watch.served_at - run["started_at"]
                after_s = sandbox.cpu_s()
                logs = {api: sandbox.requests(api) for api in sandbox.apis}
                unserved = tuple(unpublished(sandbox.services()))
            if before_s is not None and after_s is not None:
                run["sandbox_cpu_s"] = round((after_s - before_s) / run["passes"], 3)
            self._count(scenario, run, logs)
            if unserved:
                self._problem(scenario, f"{len(unserved)} Services are not served, the first is {unserved[0]}")
            runs.append(run)
        self._add(scenario, runs)

    def measure_loop(self, sizes: Sequence[int], folder: Path) -> None:
        """The start of a loop, and its peak with so many joining Nodes: after all rows, so that everything has its
        bytecode."""
        _say("loop: its first request")
        self.loop = {**first_request(folder), "peaks": []}
        for nodes in sizes:
            _say(f"loop, {nodes} nodes")
            self.loop["peaks"].append({"nodes": nodes, "peak_mib": self._peak(nodes, folder)})

    def measure_page(self, nodes: int, folder: Path, repeated: int) -> None:
        """What the page costs a loop while it is not asked for: its least peak with and without, by turns, as whatever
        else the machine does changes both alike."""
        peaks: dict[str, list[float]] = {"off_mib": [], "on_mib": []}
        for number in range(repeated):
            _say(f"loop with and without the page, {nodes} nodes: {number + 1} of {repeated}")
            for name, flags in (("off_mib", ()), ("on_mib", _PAGE)):
                if (peak := self._peak(nodes, folder, *flags)) is not None:
                    peaks[name].append(peak)
        self.loop["page"] = {"nodes": nodes, **{name: min(found, default=None) for name, found in peaks.items()}}

    def _peak(self, nodes: int, folder: Path, *flags: str) -> float | None:
        """The peak of a loop that so many Nodes join, in MiB; None where there is no /proc."""
        world = folder / "world.json"
        world.write_text(json.dumps(joining_world(nodes)), "utf-8")
        with SandboxProcess(world, self.conditions) as sandbox:
            return peak_of_joining(sandbox, *flags)

    def measure_answers(self, folder: Path, repeated: int) -> None:
        """How soon a person has an answer, of help and of the plan of a small world: the least of some, as whatever
        else the machine does only adds to them. The APIs of that world answer at once."""
        world = folder / "world.json"
        world.write_text(json.dumps(joining_world(_SMALL)), "utf-8")
        with SandboxProcess(world, replace(self.conditions, latency_ms=0)) as sandbox:
            for words in _ANSWERS:
                name = " ".join(words)
                _say(f"the answer to {name}")
                command = (sys.executable, "-m", "reconciler", *words)
                costs = [run_measured(command, sandbox.environment, folder / "answer") for _ in range(repeated)]
                if any(cost["exit"] for cost in costs):
                    self.problems.append(f"{name} ended with {[cost['exit'] for cost in costs]}")
                cpu_s = min(cost["user_s"] + cost["system_s"] for cost in costs)
                self.answers[name] = {"wall_s": min(cost["wall_s"] for cost in costs), "cpu_s": cpu_s}

    def _count(self, scenario: Scenario, run: dict[str, Any], logs: Mapping[str, list[Mapping[str, Any]]]) -> None:
        """Put the requests of one pass into ``run``, and note what does not agree with the product's own count."""
        passes = run["passes"]
        run["requests"], run["calls"] = {}, {}
        for api, whole in logs.items():
            # A process reads once what the cluster remembers of its project and what was published, and, in a loop, the
            # load balancers: one may wait there for its end. That belongs to no pass.
            lists = [entry for entry in whole if entry["path"].endswith("/load_balancers")]
            once = lists if passes > 1 and len(lists) == 1 else []
            remembered = ("/configmaps/hcloud-reconciler", "/configmaps/hcloud-reconciler-status")
            log = [entry for entry in whole if entry not in once and not entry["path"].endswith(remembered)]
            if refused := [entry for entry in log if entry["status"] >= 400]:
                self._problem(scenario, f"{api} refused {len(refused)} requests, the first with {refused[0]['status']}")
            run["requests"][api] = self._per_pass(scenario, count_methods(log), passes)
            run["calls"][api] = self._per_pass(scenario, count_calls(log), passes)
            events = sum(_is_event(entry["path"]) for entry in log)
            said = run["said"][api]
            # Events are sent beside the pass, so that its report may come before the last of them.
            if not len(log) - events <= said <= len(whole):
                self._problem(scenario, f"the report says {said} requests to {api}, its log has {len(log)}")
        writes = {call: number for call, number in run["calls"]["hetzner"].items() if not call.startswith("GET ")}
        if writes != scenario.writes:
            self._problem(scenario, f"changed {writes} at Hetzner, where {dict(scenario.writes)} was to be changed")
        if run["result"] != "no_changes" or run["exit"]:
            self._problem(scenario, f"ended with {run['exit']}, result {run['result']}: {run['stderr'][-300:]}")

    def _per_pass(self, scenario: Scenario, counts: dict[str, int], passes: int) -> dict[str, int]:
        if odd := [what for what, number in counts.items() if number % passes]:
            self._problem(scenario, f"{passes} passes sent {counts[odd[0]]} {odd[0]}: they were not alike")
        return {what: number // passes for what, number in counts.items()}

    def _add(self, scenario: Scenario, runs: Sequence[Mapping[str, Any]]) -> None:
        first = max(runs, key=lambda run: sum(run["requests"]["hetzner"].values()))
        if any(_without_chance(run) != _without_chance(first) for run in runs):
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
                "services": scenario.services,
                "beside": scenario.beside,
                "repetitions": len(runs),
                "result": first["result"],
                "requests": first["requests"],
                "calls": first["calls"],
                **{measure: median_of(runs, measure) for measure in MEASURES},
                "runs": [{measure: run.get(measure) for measure in MEASURES} for run in runs],
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
        for scenario in scenarios(options):
            bench.measure(scenario, Path(folder))
        bench.measure_loop([5] if options.quick else options.loop, Path(folder))
        bench.measure_page(5 if options.quick else 20, Path(folder), 1 if options.quick else _REPEATED)
        bench.measure_answers(Path(folder), 1 if options.quick else _REPEATED)
    document = _document(bench)
    print(render(document), end="")
    now = datetime.now(UTC)
    output = Path(options.output or _ROOT / "bench-results" / f"{now:%Y%m%dT%H%M%SZ}.json")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    _say(f"written to {output}")
    return 1 if bench.problems else 0


def _document(bench: Bench) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "tool_version": __version__,
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": python_version(),
        "cpus": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "conditions": asdict(bench.conditions),
        "rows": bench.rows,
        "loop": bench.loop,
        "answers": bench.answers,
        "budgets": BUDGETS,
        "aims": AIMS,
        "hcloud-cloud-controller-manager": HCCM,
        "remarks": bench.remarks,
        "problems": bench.problems,
    }


def _is_event(path: str) -> bool:
    return path.endswith("/events") or "/events/" in path


def _without_chance(run: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """What was sent, but for what no two runs send alike."""
    return [
        (api, call, number)
        for api in run["calls"]
        for call, number in run["calls"][api].items()
        if call != _POLL and not _is_event(call)
    ]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def _pairs(text: str) -> list[tuple[int, int]]:
    """``20x10,100x20``: 20 Nodes with 10 Services, 100 with 20. Raises ValueError."""
    pairs = [pair.split("x") for pair in text.split(",") if pair]
    return [(int(nodes), int(services)) for nodes, services in pairs]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--join", type=_numbers, default=[5, 20, 100, 1000], metavar="N,N", help="joining Nodes")
    parser.add_argument("--resize", type=_numbers, default=[1000], metavar="N,N", help="Nodes of resized servers")
    parser.add_argument("--idle", type=_numbers, default=[5000], metavar="N,N", help="settled Nodes")
    parser.add_argument(
        "--services", type=_pairs, default=[(5, 2), (20, 10), (100, 20)], metavar="NxN,NxN", help="Nodes x new Services"
    )
    parser.add_argument("--served", type=_pairs, default=[(20, 20)], metavar="NxN", help="Nodes x served Services")
    parser.add_argument(
        "--full", type=_pairs, default=[(5000, 500)], metavar="NxN", help="Nodes x Services of 150 targets each"
    )
    parser.add_argument(
        "--routes", type=_numbers, default=[20, 100], metavar="N,N", help="joining Nodes with pod CIDRs"
    )
    parser.add_argument(
        "--routes-and-services", type=_pairs, default=[(20, 10)], metavar="NxN", help="the same x new Services"
    )
    parser.add_argument("--routed", type=_numbers, default=[100], metavar="N,N", help="settled Nodes with routes")
    parser.add_argument(
        "--dedicated", type=_numbers, default=[1000], metavar="N,N", help="Nodes on Robot servers, 150 or more"
    )
    parser.add_argument("--loop", type=_numbers, default=[5, 20, 100], metavar="N,N", help="joining Nodes of a loop")
    parser.add_argument("--latency-ms", type=int, default=50, metavar="N", help="of both APIs; default 50")
    parser.add_argument("--action-ms", type=int, default=300, metavar="N", help="of a Hetzner action; default 300")
    parser.add_argument("--rate-limit", type=int, default=36000, metavar="N", help="Hetzner's, an hour; default 36000")
    parser.add_argument("--repetitions", type=int, metavar="N", help=f"default 3, and 1 from {LARGE} Nodes on")
    parser.add_argument("--output", metavar="FILE", help="JSON; default: a new file in bench-results/")
    parser.add_argument("--quick", action="store_true", help="see that it works: few of each")
    return parser


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
