"""What a version of this checkout costs, beside others: requests from the sandbox's own log, CPU and memory from the
kernel.

Seconds depend on the machine and on what else it does. So versions are measured by turns, the least of the runs counts,
CPU is also given as a multiple of a fixed piece of work that is measured in the same minute, and of another version the
ratio is told. Ends with 1 when a run did not come to the expected result; time and memory never fail it.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from typing import Any

from processes import (
    ROOT,
    Conditions,
    Sandbox,
    controller,
    cpu_s_of,
    first_request,
    mib_of,
    once,
    sandbox,
    wait_for,
)
from worlds import World, dedicated_world, full_world, growing_world, joining_world

_IDLE_PASSES = 5
_UNITS = {
    "wall_s": ("time", "s", 2),
    "cpu_s": ("CPU", "s", 2),
    "cpu_ratio": ("CPU ratio", "", 1),
    "peak_mib": ("peak", "MiB", 1),
    "resting_mib": ("memory after two idle passes", "MiB", 1),
    "later_mib": ("memory five idle passes later", "MiB", 1),
    "first_request_s": ("first request after", "s", 2),
    "first_request_cpu_s": ("CPU until the first request", "s", 2),
    "idle_pass_cpu_s": ("CPU of an idle pass", "s", 3),
    "idle_pass_requests": ("requests of an idle pass", "", 0),
    "hetzner": ("Hetzner requests", "", 0),
    "kubernetes": ("Kubernetes requests", "", 0),
    "robot": ("Robot requests", "", 0),
}
"""Measure → what it is called, its unit, digits."""

Measures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A world, and what is run in it: one pass, or a controller that goes on. ``aims`` were set for the default
    conditions; ``hccm`` is hcloud-cloud-controller-manager as it was measured under them, at another time."""

    name: str
    says: str
    world: Callable[..., World]
    size: tuple[int, ...]
    small: tuple[int, ...]
    """Sizes for ``--quick``."""
    is_loop: bool = False
    has_routes: bool = False
    """Else they are switched off, as in a cluster whose network plug-in has an overlay."""
    aims: Measures = field(default_factory=dict)
    hccm: Measures = field(default_factory=dict)


SCENARIOS = (
    Scenario(
        "join",
        "20 Nodes join, each with a route to its pods",
        joining_world,
        size=(20,),
        small=(3,),
        has_routes=True,
        aims={"wall_s": 12.0, "hetzner": 45},
        hccm={"wall_s": 36.0, "hetzner": 126, "peak_mib": 61},
    ),
    Scenario(
        "services",
        "10 new Services in a network of 20 Nodes",
        growing_world,
        size=(20, 10),
        small=(3, 2),
        aims={"wall_s": 6.0, "hetzner": 28, "peak_mib": 63},
        hccm={"wall_s": 148.0, "hetzner": 541, "peak_mib": 63},
    ),
    Scenario(
        "large",
        "nothing to do: 5,000 Nodes, 100 Services of 150 targets each",
        full_world,
        size=(5000, 100),
        small=(160, 1),
        aims={"peak_mib": 120 * 10**6 / 2**20},
    ),
    Scenario("robot", "200 dedicated servers join", dedicated_world, size=(200,), small=(3,)),
    Scenario(
        "loop",
        "a controller that 20 Nodes join, and its idle passes",
        joining_world,
        size=(20,),
        small=(3,),
        is_loop=True,
        aims={"first_request_s": 0.5, "first_request_cpu_s": 0.35, "peak_mib": 52},
        hccm={"peak_mib": 61},
    ),
    Scenario(
        "fleet",
        "a controller of 5,000 Nodes and 500 Services of 150 targets each, and its idle passes",
        full_world,
        size=(5000, 500),
        small=(160, 1),
        is_loop=True,
        aims={"resting_mib": 110, "later_mib": 110, "idle_pass_cpu_s": 0.5},
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """0; 1 when something was not as it should be, which has nothing to do with time."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no sandbox outlives this process
    conditions = Conditions(options.latency_ms, options.action_ms)
    chosen = [scenario for scenario in SCENARIOS if not options.scenario or scenario.name in options.scenario]
    rows, problems = [], []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hcloud-reconciler-bench-")))
        trees = {"now": ROOT} | {ref: stack.enter_context(_tree_of(ref, folder)) for ref in options.against}
        versions = {version: _commit(tree) for version, tree in trees.items()}
        for scenario in chosen:
            size = scenario.small if options.quick else scenario.size
            runs: dict[str, list[Measures]] = {version: [] for version in trees}
            for number in range(1 if options.quick else options.repetitions):
                for version, tree in trees.items():
                    _say(f"{scenario.name}, {version}: {number + 1}")
                    (folder / "world.json").write_text(json.dumps(scenario.world(*size)), "utf-8")
                    with sandbox(folder / "world.json", conditions, has_routes=scenario.has_routes) as apis:
                        measure = _loop if scenario.is_loop else _pass
                        measures, wrong = measure(tree, apis, folder)
                    runs[version].append(measures)
                    problems += [f"{scenario.name}, {version}: {text}" for text in wrong]
            rows.append(_row(scenario, size, runs))
    document = {
        "format_version": "2.0",
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": python_version(),
        "cpus": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "conditions": asdict(conditions),
        "versions": versions,
        "rows": rows,
        "problems": problems,
    }
    print("\n".join(_lines(document)))
    output = Path(options.output or ROOT / "bench-results" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    _say(f"written to {output}")
    return 1 if problems else 0


def _pass(tree: Path, apis: Sandbox, folder: Path) -> tuple[Measures, list[str]]:
    """One ``reconcile --once`` as a whole process, and what was wrong with it."""
    cost = once(tree, apis.environment, folder)
    report, wrong = cost["report"], []
    cpu_s = cost["user_s"] + cost["system_s"]
    measures = {"wall_s": cost["wall_s"], "cpu_s": cpu_s, "cpu_ratio": cpu_s / cost["calibration_s"]}
    measures |= {"peak_mib": cost["peak_mib"], **{api: len(apis.requests(api)) for api in apis.urls}}
    if cost["exit"] or report.get("result") != "no_changes":
        wrong.append(f"ended with {cost['exit']}, result {report.get('result')}: {cost['stderr'][-300:]}")
    refused = [f"{api} {each['path']}" for api in apis.urls for each in apis.requests(api) if _is_refused(each)]
    if refused:
        wrong.append(f"{len(refused)} requests were refused, the first is {refused[0]}")
    if unserved := [each["metadata"]["name"] for each in apis.objects("services") if not _is_served(each)]:
        wrong.append(f"{len(unserved)} Services are not served, the first is {unserved[0]}")
    return measures, wrong


def _loop(tree: Path, apis: Sandbox, folder: Path) -> tuple[Measures, list[str]]:
    """A controller: its start, its memory when all has joined, and what an idle pass of it costs. A pass reads the
    list of servers once: the first of its pages is counted."""
    first_s, first_cpu_s = first_request(tree, folder)

    def passes() -> int:
        listed = (entry for entry in apis.requests("hetzner") if entry["path"].endswith("/v1/servers"))
        return sum("page=1" in entry["query"].split("&") for entry in listed)

    def requests() -> int:
        return sum(len(apis.requests(api)) for api in apis.urls)

    with controller(tree, apis.environment) as process:
        joined = lambda: all("providerID" in node["spec"] for node in apis.objects("nodes"))  # noqa: E731
        wait_for(process, joined, "did not initialize all Nodes")
        began = passes() + 2  # what joining calls for is over by then
        wait_for(process, lambda: passes() >= began, "makes no further pass")
        before_s, sent, made, resting_mib = cpu_s_of(process.pid), requests(), passes(), mib_of(process.pid)
        wait_for(process, lambda: passes() >= made + _IDLE_PASSES, "makes no further pass")
        idle = passes() - made
        cost_s, more = cpu_s_of(process.pid) - before_s, requests() - sent
        memory = {
            "resting_mib": resting_mib,
            "later_mib": mib_of(process.pid),
            "peak_mib": mib_of(process.pid, "VmHWM"),
        }
    measures = {"first_request_s": first_s, "first_request_cpu_s": first_cpu_s, **memory}
    return measures | {"idle_pass_cpu_s": cost_s / idle, "idle_pass_requests": more / idle}, []


def _is_refused(entry: Mapping[str, Any]) -> bool:
    """Not for what is not there yet: what earlier passes remembered and published."""
    return bool(entry["status"] >= 400) and "/configmaps/" not in entry["path"]


def _is_served(service: Mapping[str, Any]) -> bool:
    """Whether it has an address, and the finalizer that keeps it until that is released."""
    return bool(service["status"].get("loadBalancer", {}).get("ingress")) and bool(
        service["metadata"].get("finalizers")
    )


@contextmanager
def _tree_of(ref: str, folder: Path) -> Iterator[Path]:
    """The files of a commit, to be run with this checkout's dependencies."""
    tree = folder / "versions" / ref.replace("/", "-")
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), ref], cwd=ROOT, check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def _commit(tree: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=tree, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def _row(scenario: Scenario, size: tuple[int, ...], runs: Mapping[str, Sequence[Measures]]) -> dict[str, Any]:
    least = {
        version: {measure: round(min(run[measure] for run in each), 4) for measure in each[0]}
        for version, each in runs.items()
    }
    known = {"aims": scenario.aims, "hccm": scenario.hccm}
    return {"name": scenario.name, "says": scenario.says, "size": size, "least": least, "runs": runs, **known}


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """A table for each scenario: a row a measure, a column a version, with its ratio to this one."""
    conditions, versions = document["conditions"], document["versions"]
    yield f"Python {document['python']}, {document['cpus']} CPUs, load {document['load'][0]}"
    yield f"Latency {conditions['latency_ms']} ms, actions {conditions['action_ms']} ms. The least of the runs."
    for row in document["rows"]:
        is_full_size = row["size"] == next(each.size for each in SCENARIOS if each.name == row["name"])
        aims, hccm = (row["aims"], row["hccm"]) if is_full_size else ({}, {})
        names = [f"{version} ({commit})" for version, commit in versions.items()]
        yield from ("", f"**{row['name']}**: {row['says']}" + ("" if is_full_size else f", here {row['size']}"), "")
        yield f"| | {' | '.join(names)} | aim | HCCM |"
        yield f"|---|{'---:|' * (len(names) + 2)}"
        for measure, (name, unit, digits) in _UNITS.items():
            if measure not in row["least"]["now"]:
                continue
            values = [each.get(measure) for each in row["least"].values()]
            cells = [shown(value, unit, digits, values[0] if number else None) for number, value in enumerate(values)]
            cells += [shown(known.get(measure), unit, digits, None) for known in (aims, hccm)]
            yield f"| {name} | {' | '.join(cells)} |"
    yield from ("", "CPU ratio: CPU as a multiple of a fixed piece of Python work, measured beside it.")
    yield "HCCM is hcloud-cloud-controller-manager, measured at another time under the default conditions."
    for problem in document["problems"]:
        yield f"PROBLEM: {problem}"


def shown(value: float | None, unit: str, digits: int, now: float | None) -> str:
    """A cell. Of another version also what this one is as a multiple of it."""
    if value is None:
        return ""
    ratio = f", now x {now / value:.2f}" if now is not None and value else ""
    return f"{value:.{digits}f} {unit}".strip() + ratio


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    add = parser.add_argument
    add("--against", action="append", default=[], metavar="REF", help="a commit to compare with; may be repeated")
    names = [scenario.name for scenario in SCENARIOS]
    add("--scenario", action="append", choices=names, metavar="NAME", help=f"of {', '.join(names)}; default: all")
    add("--latency-ms", type=int, default=50, metavar="N", help="of both APIs; default 50")
    add("--action-ms", type=int, default=300, metavar="N", help="of a Hetzner action; default 300")
    add("--repetitions", type=int, default=3, metavar="N", help="default 3")
    add("--output", metavar="FILE", help="JSON; default: a new file in bench-results/")
    add("--quick", action="store_true", help="see that it works: few of each")
    return parser


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
