"""Whole plans as a terminal shows them: a small one, one with much to do, one that is held, and what flags change."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from actuators.outcome import Applied, Failed
from desired.plan.change import GuardDecision, GuardName, Hold, Verdict
from reconciler.config.options import Detail, Output
from reconciler.report.documents import report_as_json
from reconciler.report.markdown import MARK
from reconciler.report.text import render_lines
from reconciler.result import Line, Report
from tests.builders import a_change
from tests.routes import a_route, a_routed_world, routes_of
from tests.support.hccm import raw_hccm
from tests.support.large_plans import a_large_run
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run
from tests.support.rendering import ESCAPES, Terminal, golden, written
from tests.support.simulators import Simulation, ago
from tests.unit.reconciler.test_text_report import WITH_COSTS

ROOT = Path(__file__).resolve().parents[3]
NEXT = "reconcile apply --cluster-cidr 10.244.0.0/16"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def show(report: Report, columns: int | str = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color")
        text = ESCAPES.sub("", written(report, Output.AUTO, Terminal()))
        return anonymous(text)

    return show


def anonymous(text: str) -> str:
    """A text without the ids of its cluster and its holds, and its time."""
    for found, told in (
        (r"^Cluster [-0-9a-f]+, read at [-0-9]+ [:0-9]+ UTC$", "Cluster ID, read at TIME"),
        (r"sha256:[0-9a-f]{16}", "sha256:3f9a1c0b7e55d214"),
        (r"holds show [0-9a-f]{6}", "holds show 3f9a1c"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[-0-9a-f]{22}", "5f0c2a11-6d0e-4a53-9b8a-3a1c5d2e7f90"),
        (rf"{MARK}:[0-9a-f]{{8}} ", f"{MARK}:5f0c2a11 "),
    ):
        text = re.sub(found, told, text, flags=re.MULTILINE)
    return text


def a_small_report() -> Report:
    """A Node whose server was resized, a new load balancer, and a route that leads nowhere."""
    changes = (
        a_change(
            "node/worker-1/labels",
            "node.labels",
            before={"node.kubernetes.io/instance-type": "cpx32"},
            after={"node.kubernetes.io/instance-type": "cpx42"},
            reason="labels differ from server 102, a cpx42 in nbg1",
        ),
        a_change("route/4/10.244.3.0/24", "route.delete", before=a_route(3), reason="gateway 10.0.0.4 has no owner"),
    )
    world = replace(a_routed_world(), routes=routes_of(a_route(), a_route(3)))
    return Report(snapshot=world, lines=tuple(map(Line, changes)), next_step=NEXT)


PAGE = (ROOT / "docs" / "plan.md").read_text("utf-8")
LARGE = PAGE.partition("```text\n")[2].partition("```")[0]


def test_a_large_plan(simulate: Callable[..., Simulation], shown: Callable[..., str]) -> None:
    """A hundred Nodes and twenty Services fit into 40 lines; what is folded, a switch opens, and machines get each
    change."""
    report = replace(a_large_run(simulate).plan(), next_step="reconcile apply")
    full = shown(replace(report, detail=Detail.FULL), 200)
    summary = shown(replace(report, detail=Detail.SUMMARY))
    keys = [line.change.key for line in report.lines]

    assert shown(report) == anonymous(LARGE)
    assert LARGE.count("\n") <= 50
    assert max(map(len, written(report).splitlines())) > 120, "a pipe never wraps"
    assert sorted(re.findall(r"^  [-+~] (\S+)  ", full, re.MULTILINE)) == sorted(keys)
    assert full.endswith(
        "traffic\nPlan: 240 to add, 120 to modify, 0 to remove.\nResult: changes. Next: reconcile apply\n"
    )
    assert "->" not in summary.partition("\nCost: ")[0]
    assert "why" not in summary
    assert "and 97 more\n  ~ 100 x node.network_condition" in summary
    assert [change["key"] for change in report_as_json(report)["changes"]] == keys


def test_the_readme_has_lines_of_it() -> None:
    excerpt = (ROOT / "README.md").read_text("utf-8").split("\n    Changes\n")[1].split("\n\n")[0]

    assert {line.removeprefix("    ") for line in excerpt.splitlines()} <= set(LARGE.splitlines())


def a_held_run(simulate: Callable[..., Simulation]) -> Run:
    """Six Nodes, of which two have been silent for six minutes, and have no server."""
    lost = {f"worker-{i}": 100 + i for i in (3, 4)}
    alive = {name: 110 + i for i, name in enumerate(["control-1", "worker-1", "worker-2", "worker-5"])}
    nodes = [settled_node(name, server_id) for name, server_id in alive.items()]
    nodes += [settled_node(name, server_id, "Unknown", since=ago(360)) for name, server_id in lost.items()]
    servers = [server(server_id, name) for name, server_id in alive.items()]
    return Run(simulate(nodes=nodes, project={"servers": servers}))


def a_run_beside_hccm(simulate: Callable[..., Simulation]) -> Run:
    """Seven Nodes that need something, of which HCCM holds each change."""
    servers = {f"w-{number}": number for number in range(1, 7)}
    sim = simulate(
        nodes=[joining_node("joins"), *(settled_node(*each) for each in servers.items())],
        project={"servers": [server(9, "joins"), *(server(number, name) for name, number in servers.items())]},
    )
    for node in (world := sim.kubernetes.world()["kubernetes"])["nodes"][1:]:
        del node["metadata"]["labels"]["instance.hetzner.cloud/provided-by"]
    sim.kubernetes.replace_world({**world, "deployments": [raw_hccm()]})
    return Run(sim)


def a_counted_report() -> Report:
    kinds = ("route.create", "route.delete")
    lines = [Line(a_change(f"node/w-{n}", "node.delete")) for n in range(5)]
    lines += [Line(a_change(f"route/4/10.244.{n}.0/24", kind)) for n in range(6) for kind in kinds]
    return Report(lines=tuple(lines))


def test_whole_plans(simulate: Callable[..., Simulation], shown: Callable[..., str]) -> None:
    """Set UPDATE_GOLDEN to write the file anew, and read it."""
    held, beside = a_held_run(simulate).plan(), a_run_beside_hccm(simulate).plan()
    waits = a_change("node/w-1", decision=WAITING, consequences=("an address goes",))
    failed = Report(lines=(Line(a_change(reason="it joins"), Failed("no room")),))
    plans = {
        **{f"small, {columns} columns": shown(a_small_report(), columns) for columns in (80, 140)},
        "small, in a pipe": written(a_small_report()),
        "failed, 200 columns": shown(failed, 200),
        **{f"held, {columns} columns": shown(held, columns) for columns in (80, 120)},
        "held, in full": shown(replace(held, detail=Detail.FULL)),
        "beside HCCM": shown(beside),
        "beside HCCM, as Markdown": written(beside, Output.MARKDOWN),
        "applied": written(Report(lines=tuple(Line(a_change(f"node/w-{n}"), Applied()) for n in range(5)))),
        "a summary": written(Report(lines=(Line(waits),), detail=Detail.SUMMARY)),
        "with costs, 120 columns": shown(WITH_COSTS, 120),
        "with costs, a summary": shown(replace(WITH_COSTS, detail=Detail.SUMMARY)),
        **{f"counted, {columns} columns": shown(a_counted_report(), columns) for columns in (80, 20)},
    }
    text = anonymous("".join(f"=== {name}\n{plan}\n" for name, plan in plans.items()))

    assert text == golden("plans.txt", text)


def test_a_command_can_be_copied_from_any_terminal(shown: Callable[..., str]) -> None:
    hold = Hold("sha256:3f9a1c0b7e55d214", GuardName.ADOPTION, "2", "0", ("load_balancer/default/web",), "why")
    report = Report(holds=(hold,), approve_flags="--kubeconfig /home/somebody/.kube/config")

    for columns in (1, 20, 40, 80, 200):
        command = "reconcile approve sha256:3f9a1c0b7e55d214 --kubeconfig /home/somebody/.kube/config"
        assert any(command in line for line in shown(report, columns).splitlines())


@pytest.mark.parametrize("columns", [1, 20, 79, 80, 100, 1000])
def test_every_width_shows_every_word(columns: int, shown: Callable[..., str]) -> None:
    """A terminal of any width, and names as long as names may be."""
    long = a_change(f"node/{'n' * 253}")
    crowd = [a_change(f"load_balancer/{'s' * 63}/{'a' * 60}-{n}/target/x", "lb.target") for n in range(9)]
    report = replace(a_small_report(), lines=tuple(map(Line, (long, *crowd))))
    plain = "\n".join(line.text for line in render_lines(report))

    words = shown(report, columns).split()
    assert words[words.index("Requests:") :] == plain.split()[plain.split().index("Requests:") :]


WAITING = GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, "too soon")


@pytest.mark.parametrize(
    ("name", "shown_name"),
    [
        pytest.param("w\n-{}", r"w\n-{}", id="a line of its own"),
        pytest.param("n" * 251 + "-{}", "n" * 251 + "-{}", id="253 characters"),
    ],
)
def test_names_from_elsewhere(name: str, shown_name: str) -> None:
    lines = tuple(Line(a_change(f"route/4/{name.format(n)}", "route.delete")) for n in range(5))
    text = written(Report(lines=lines))
    every = ", ".join(f"route/4/{shown_name.format(n)}" for n in range(5))

    assert f"  - 5 x route.delete  {every}\n" in text
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize("columns", [20, 80])
def test_names_as_long_as_kubernetes_takes_them(columns: int, shown: Callable[..., str]) -> None:
    long = "a" * 253
    report = Report(lines=tuple(Line(a_change(f"node/{long[:-1]}{n}", "node.delete")) for n in range(3)))

    lines = shown(report, columns).splitlines()

    assert [sum(f"node/{long[:-1]}{n}" in line for line in lines) for n in range(3)] == [1, 1, 1]
    wide = [line for line in lines if len(line) > columns and len(line.split()) > 2 and long[:-1] not in line]
    assert wide == []
