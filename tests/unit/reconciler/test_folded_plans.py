"""Whole plans as a terminal shows them: a small one, one with much to do, one that is held, and what flags change."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from actuators.outcome import Applied, Failed
from desired.plan.change import Change, GuardDecision, GuardName, Hold, Verdict
from reconciler.config.options import Detail, Output
from reconciler.report.documents import report_as_json
from reconciler.report.text import render_lines
from reconciler.result import Line, Report
from tests.builders import a_change
from tests.routes import a_route, a_routed_world, routes_of
from tests.support.hccm import raw_hccm
from tests.support.large_plans import a_large_run
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run
from tests.support.rendering import ESCAPES, Terminal, written
from tests.support.simulators import Simulation, ago

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
    known = re.compile(r"^Cluster [-0-9a-f]+, read at [-0-9]+ [:0-9]+ UTC$", re.MULTILINE)
    return known.sub("Cluster ID, read at TIME", text)


def dedented(text: str) -> str:
    return dedent(text).lstrip("\n")


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


def test_a_small_plan(shown: Callable[..., str]) -> None:
    """Nothing is folded: what changes and why, then what goes, how much that is, and what to type."""
    assert shown(a_small_report()) == dedented("""
        Cluster ID, read at TIME
        Requests: 0 to Kubernetes, 0 to Hetzner
        nodes
          ~ node/worker-1/labels  node.labels
              why: labels differ from server 102, a cpx42 in nbg1
              labels[node.kubernetes.io/instance-type]: cpx32 -> cpx42
        routes, 2/100 used
          - route/4/10.244.3.0/24  route.delete
              why: gateway 10.0.0.4 has no owner
              gateway: 10.0.0.4 -> (none)

        To remove: route/4/10.244.3.0/24
        Plan: 0 to add, 1 to modify, 1 to remove.
        Result: changes. Next: reconcile apply --cluster-cidr 10.244.0.0/16
        """)


def test_a_wide_terminal_has_reasons_behind_names(shown: Callable[..., str]) -> None:
    """From 100 columns on; in a pipe lines have one shape, whatever their length."""
    lines = shown(a_small_report(), 100).splitlines()

    assert "  ~ node/worker-1/labels  node.labels: labels differ from server 102, a cpx42 in nbg1" in lines
    assert not any("why: " in line for line in lines)
    assert "      why: labels differ from server 102, a cpx42 in nbg1" in shown(a_small_report(), 99).splitlines()
    assert "      why: labels differ from server 102, a cpx42 in nbg1\n" in written(a_small_report())


def test_an_outcome_with_a_sentence_has_the_reason_below_it(shown: Callable[..., str]) -> None:
    """On a terminal of any width: behind it, the reason would be read as part of it."""
    report = Report(lines=(Line(a_change(reason="it joins"), Failed("no room")),))

    assert "node.initialise  FAILED: no room\n      why: it joins\n" in shown(report, 200)


LARGE = """
Cluster ID, read at TIME
Requests: 5 to Kubernetes, 6 to Hetzner, 3594 of 3600 left
State
  ? service/shop/app-00, service/shop/app-01, service/shop/app-02 and 17 more
    blocked since 2027-01-15 08:00 UTC: no target for Nodes w-025, w-026, w-027,
    w-028, w-029 and 70 more: the type takes 25 targets, all in use; choose a
    larger type, such as lb31
  Details: reconcile explain service shop/app-00
  Services: 20 blocked; Nodes: 100 joining
nodes
  + 100 x node.initialise  node/w-000, node/w-001, node/w-002 and 97 more
      why, the first's: initialized as server 1000 (matched by name)
      addresses[ExternalIP]: (none) -> 203.0.113.1, 203.0.113.2, 203.0.113.3 and
        97 more
      labels[node.kubernetes.io/instance-type]: (none) -> cpx32, cpx42
      labels[topology.kubernetes.io/region]: (none) -> fsn1, hel1, nbg1
      ... 8 more fields
  ~ 100 x node.network_condition  node/w-000/network, node/w-001/network,
    node/w-002/network and 97 more
      why: routes planned for all IPv4 pod CIDRs
      NetworkUnavailable: (none) -> False (RouteCreated)
load balancers
  + 20 x lb.create  load_balancer/shop/app-00, load_balancer/shop/app-01,
    load_balancer/shop/app-02 and 17 more  +107.80 EUR a month
      why, the first's: Service shop/app-00 has no load balancer yet
      type: (none) -> lb11
      location: (none) -> fsn1
      ... 9 more fields
services
  + 20 x service.claim  service/shop/app-00/finalizer,
    service/shop/app-01/finalizer, service/shop/app-02/finalizer and 17 more
      why: keeps the Service until its load balancer is deleted
      finalizer: false -> true
  ~ 20 x service.status  service/shop/app-00/status, service/shop/app-01/status,
    service/shop/app-02/status and 17 more
      why: publishes the addresses of the new load balancer
      ingress: (none) -> (known after apply)
routes, 0/100 used
  + 100 x route.create  route/4711/10.244.0.0/24, route/4711/10.244.1.0/24,
    route/4711/10.244.2.0/24 and 97 more
      why, the first's: no route to the pods of Node w-000 on server 1000
      gateway: (none) -> 10.0.0.2, 10.0.0.3, 10.0.0.4 and 97 more

                  add  modify
  nodes           100     100
  load balancers   20
  services         20      20
  routes          100
Cost: +107.80 EUR a month, gross list price, without traffic
Plan: 240 to add, 120 to modify, 0 to remove. Each change: --full
Result: changes. Next: reconcile apply
"""


def test_a_large_plan(simulate: Callable[..., Simulation], shown: Callable[..., str]) -> None:
    """A hundred Nodes and twenty Services fit into 60 lines, of a few columns as well; what is folded, a switch opens,
    and machines get each change."""
    report = replace(a_large_run(simulate).plan(), next_step="reconcile apply")
    full = shown(replace(report, detail=Detail.FULL), 200)
    summary = shown(replace(report, detail=Detail.SUMMARY))
    keys = [line.change.key for line in report.lines]

    assert shown(report) == dedented(LARGE)
    assert LARGE.count("\n") <= 60
    assert len(shown(report, 120).splitlines()) < LARGE.count("\n")
    assert "node/w-002 and 97 more: the first: initialized as server" in shown(report, 120)
    assert max(map(len, written(report).splitlines())) > 120, "a pipe never wraps"
    assert sorted(re.findall(r"^  [-+~] (\S+)  ", full, re.MULTILINE)) == sorted(keys)
    assert full.endswith(
        "traffic\nPlan: 240 to add, 120 to modify, 0 to remove.\nResult: changes. Next: reconcile apply\n"
    )
    assert "->" not in summary.partition("\nCost: ")[0]
    assert "why" not in summary
    assert "and 97 more\n  ~ 100 x node.network_condition" in summary
    assert [change["key"] for change in report_as_json(report)["changes"]] == keys


def test_the_documentation_shows_it() -> None:
    excerpt = (ROOT / "README.md").read_text("utf-8").split("\n    nodes\n")[1].split("\n\n")[0]

    assert f"```text{LARGE}```" in anonymous((ROOT / "docs" / "plan.md").read_text("utf-8"))
    assert {line.removeprefix("    ") for line in excerpt.splitlines()} <= set(LARGE.splitlines())


HELD_PLAN = """\
State
  ? node/worker-3, node/worker-4  stuck: node.delete is held
    (node-blast-radius): 2 of 6 Nodes lost their servers without a drain (limit
    1); cordon Nodes before deleting their servers (Nodes that are NotReady for
    30 minutes count as planned removals), or approve if intended
  Nodes: 2 stuck, 4 in sync
nodes
  ! node/worker-3  node.delete  remove, held by node-blast-radius
  ! node/worker-4  node.delete  remove, held by node-blast-radius
Held until approved
  ! node-blast-radius: 2 changes
      2 of 6 Nodes lost their servers without a drain (limit 1)
      ends by itself at 2027-01-15 08:24 UTC, in 24 min, if both stay NotReady;
        its changes are then made
      look:    reconcile holds show 3f9a1c
      approve: reconcile approve sha256:3f9a1c0b7e55d214   (once, within 1 h)

To remove, when approved: node/worker-3, node/worker-4
Plan: 0 to add, 0 to modify, 2 to remove, 2 held.
Result: refused: a person has to decide or correct something first
"""


def a_held_run(simulate: Callable[..., Simulation]) -> Run:
    """Six Nodes, of which two have been silent for six minutes, and have no server."""
    lost = {f"worker-{i}": 100 + i for i in (3, 4)}
    alive = {name: 110 + i for i, name in enumerate(["control-1", "worker-1", "worker-2", "worker-5"])}
    nodes = [settled_node(name, server_id) for name, server_id in alive.items()]
    nodes += [settled_node(name, server_id, "Unknown", since=ago(360)) for name, server_id in lost.items()]
    servers = [server(server_id, name) for name, server_id in alive.items()]
    return Run(simulate(nodes=nodes, project={"servers": servers}))


def test_a_held_plan(simulate: Callable[..., Simulation], shown: Callable[..., str]) -> None:
    """Each deletion stands by itself and says what holds it; what goes is told as what an approval would let go. What
    it would change is shown where somebody looks at the hold."""
    report = a_held_run(simulate).plan()
    (hold,) = report.holds
    digits = hold.hash.removeprefix("sha256:")
    expected = HELD_PLAN.replace("3f9a1c0b7e55d214", digits).replace("3f9a1c", digits[:6])

    assert shown(report).split("\n", 2)[2] == expected
    wide = shown(report, 120).split("\n", 2)[2]
    assert wide[wide.index("nodes\n") :] == expected[expected.index("nodes\n") :].replace(
        ";\n        its changes", "; its changes"
    ).replace(
        "worker-3  node.delete  remove, held by node-blast-radius",
        "worker-3  node.delete  remove, held by node-blast-radius: server 103 not found in the project",
    ).replace(
        "worker-4  node.delete  remove, held by node-blast-radius",
        "worker-4  node.delete  remove, held by node-blast-radius: server 104 not found in the project",
    )
    assert "      why: " in shown(replace(report, detail=Detail.FULL))


BESIDE_HCCM = """\
nodes
  ! node/joins  node.initialise  add, held by other-controller
      why: initialized as server 9 (matched by name)
      addresses[ExternalIP]: (none) -> 198.51.0.10
      labels[beta.kubernetes.io/instance-type]: (none) -> cpx32
"""
FOLDED_BESIDE_HCCM = """\
  ! 6 x node.labels  node/w-1/labels, node/w-2/labels, node/w-3/labels and 3
    more  modify, held by other-controller
      why, the first's: labels differ from server 1 (cpx32 in fsn1)
      labels[instance.hetzner.cloud/provided-by]: (none) -> cloud
"""


def test_a_plan_beside_hccm(simulate: Callable[..., Simulation], shown: Callable[..., str]) -> None:
    """Of each change it says what it does, from what and to what, as in any plan, though all of them are held."""
    servers = {f"w-{number}": number for number in range(1, 7)}
    sim = simulate(
        nodes=[joining_node("joins"), *(settled_node(*each) for each in servers.items())],
        project={"servers": [server(9, "joins"), *(server(number, name) for name, number in servers.items())]},
    )
    for node in (world := sim.kubernetes.world()["kubernetes"])["nodes"][1:]:
        del node["metadata"]["labels"]["instance.hetzner.cloud/provided-by"]
    sim.kubernetes.replace_world({**world, "deployments": [raw_hccm()]})

    report = Run(sim).plan()

    assert {line.change.decision.rule for line in report.lines} == {GuardName.OTHER_CONTROLLER}
    assert BESIDE_HCCM in shown(report)
    assert FOLDED_BESIDE_HCCM in shown(report)
    first, fold = [row for row in written(report, Output.MARKDOWN).splitlines() if row.startswith("| !")]
    assert first.startswith("| ! | `node/joins`<br>add, held by other-controller<br>initialized as server 9")
    assert first.endswith("| `addresses[ExternalIP]` | | `198.51.0.10` |")
    assert fold.startswith("| ! | 6 x `node/w-1/labels, node/w-2/labels, node/w-3/labels and 3 more`<br>modify, held")


def test_a_command_can_be_copied_from_any_terminal(shown: Callable[..., str]) -> None:
    hold = Hold("sha256:0123456789abcdef", GuardName.ADOPTION, "2", "0", ("load_balancer/default/web",), "why")
    report = Report(holds=(hold,), approve_flags="--kubeconfig /home/somebody/.kube/config")

    for columns in (1, 20, 40, 80, 200):
        command = "reconcile approve sha256:0123456789abcdef --kubeconfig /home/somebody/.kube/config"
        assert any(command in line for line in shown(report, columns).splitlines())


@pytest.mark.parametrize("columns", [1, 20, 79, 80, 100, 1000])
def test_every_width_shows_every_word(columns: int, shown: Callable[..., str]) -> None:
    """A terminal of any width, and names as long as names may be."""
    long = a_change(f"node/{'n' * 253}")
    crowd = [a_change(f"load_balancer/{'s' * 63}/{'a' * 60}-{n}/target/x", "lb.target") for n in range(9)]
    report = replace(a_small_report(), lines=tuple(map(Line, (long, *crowd))))
    plain = "\n".join(line.text for line in render_lines(report, columns))

    words = shown(report, columns).split()
    assert words[words.index("Requests:") :] == plain.split()[plain.split().index("Requests:") :]


def removals(number: int, kind: str = "route.delete") -> tuple[Change, ...]:
    pattern = "node/w-{}" if kind == "node.delete" else "route/4/10.244.{}.0/24"
    return tuple(a_change(pattern.format(2 * n), kind) for n in range(number))


WAITING = GuardDecision(Verdict.WAITING, GuardName.ABSENCE_PROOF, "too soon")


def test_what_was_applied_is_folded_too() -> None:
    lines = tuple(Line(a_change(f"node/w-{n}"), Applied()) for n in range(5))
    text = written(Report(lines=lines))

    assert "  + 5 x node.initialise  node/w-0, node/w-1, node/w-2 and 2 more  applied\n" in text
    assert "         add  applied\n  nodes    5        5\n" in text


def test_a_summary_has_what_a_person_has_to_know() -> None:
    change = a_change("node/w-1", decision=WAITING, consequences=("an address goes",))
    text = written(Report(lines=(Line(change),), detail=Detail.SUMMARY))

    assert "      consequence: an address goes\n" in text
    assert "      waiting (absence-proof): too soon\n" in text
    assert "->" not in text
    assert "why: " not in text


@pytest.mark.parametrize(
    ("name", "shown_name"),
    [
        pytest.param("w-{}", "w-{}", id="plain"),
        pytest.param("\x1b[31mw-{}", r"\x1b[31mw-{}", id="a color"),
        pytest.param("w\n-{}", r"w\n-{}", id="a line of its own"),
        pytest.param("\u202ew-{}", r"\u202ew-{}", id="from right to left"),
        pytest.param("n" * 251 + "-{}", "n" * 251 + "-{}", id="253 characters"),
    ],
)
def test_names_from_elsewhere(name: str, shown_name: str) -> None:
    lines = tuple(Line(a_change(f"route/4/{name.format(n)}", "route.delete")) for n in range(5))
    text = written(Report(lines=lines))
    first = ", ".join(f"route/4/{shown_name.format(n)}" for n in range(3))

    assert f"  - 5 x route.delete  {first} and 2 more\n" in text
    assert all(line.isprintable() for line in text.splitlines())


def test_counts_on_a_terminal_that_is_too_narrow_for_a_table(shown: Callable[..., str]) -> None:
    lines = tuple(Line(a_change(f"node/w-{n}", "node.delete")) for n in range(5)) + tuple(
        Line(a_change(f"route/4/10.244.{n}.0/24", kind)) for n in range(6) for kind in ("route.create", "route.delete")
    )
    report = Report(lines=lines)

    assert "          add  remove\n  nodes             5\n  routes    6       6\n" in shown(report)
    assert "  nodes: remove x5\n  routes: add x6,\n    remove x6\n" in shown(report, 20)


@pytest.mark.parametrize("columns", [20, 80])
def test_names_as_long_as_kubernetes_takes_them(columns: int, shown: Callable[..., str]) -> None:
    long = "a" * 253
    report = Report(lines=tuple(Line(a_change(f"node/{long[:-1]}{n}", "node.delete")) for n in range(3)))

    lines = shown(report, columns).splitlines()

    assert [sum(f"node/{long[:-1]}{n}" in line for line in lines) for n in range(3)] == [2, 2, 2]
    wide = [line for line in lines if len(line) > columns and len(line.split()) > 2 and long[:-1] not in line]
    assert wide == []
