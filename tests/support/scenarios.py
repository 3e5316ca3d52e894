"""Reports that people see, by name: planned and judged as in a real pass, from worlds made of builders."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.diff import compute_plan
from desired.judgement import judge
from desired.settings import Settings
from desired.snapshot import NodeAddress, Snapshot, Taint
from reconciler.result import Cost, Line, Report
from tests.builders import (
    UNINITIALIZED,
    a_joining_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)

_COST = Cost(kubernetes=2, hetzner=1, remaining=3599, limit=3600)
_HOSTNAME = (NodeAddress("Hostname", "web-1"),)
_SETTLED = a_settled_node("control-1", 9, labels={"topology.kubernetes.io/region": "fsn1"})
_CONTROL = a_server(9, "control-1")


def report_on(snapshot: Snapshot, outcomes: Mapping[str, Outcome] | None = None, cost: Cost = _COST) -> Report:
    """What a pass over this world says; the changes named in ``outcomes`` came to that end."""
    settings = Settings()
    plan = judge(compute_plan(snapshot, settings), snapshot, settings)
    lines = tuple(Line(change, (outcomes or {}).get(change.key)) for change in plan.changes)
    return Report(snapshot=snapshot, lines=lines, notes=plan.notes, holds=plan.holds, cost=cost)


def _joining() -> Snapshot:
    """Two Nodes that join, one that has lost a label and has a taint of somebody else's, and one that is misnamed."""
    return a_snapshot(
        [
            _SETTLED,
            a_joining_node(addresses=_HOSTNAME),
            a_joining_node(
                "web-2",
                provider_id="hcloud://2",
                labels={"node.kubernetes.io/instance-type": "cx22", "example.com/team": "blue"},
                taints=(Taint("dedicated", "NoExecute"), UNINITIALIZED),
            ),
            a_joining_node("web3"),
        ],
        [_CONTROL, a_server(), a_server(2, "web-2", location="nbg1"), a_server(3, "web-3")],
    )


def _elsewhere() -> Snapshot:
    """A token of another project."""
    return a_snapshot([_SETTLED, a_joining_node()], [a_server(), a_server(4, "theirs", ipv4=IPv4Address("192.0.2.4"))])


def _partly_read() -> Snapshot:
    """A page of servers is missing: one Node is known by its id, one only by its name."""
    read = replace(servers_of(_CONTROL, a_server()), expected=52)
    section = incomplete(read, "Hetzner GET /servers: 503 Service Unavailable")
    return a_snapshot(
        [_SETTLED, a_joining_node(provider_id="hcloud://1"), a_joining_node("web-2")], servers_section=section
    )


_FAILED: Mapping[str, Outcome] = {
    "node/web-1": Applied(),
    "node/web-2": Failed("Kubernetes PATCH /api/v1/nodes/web-2: 403 nodes is forbidden"),
    "node/web-3": Pending("Kubernetes PATCH /api/v1/nodes/web-3: 409 the object has been modified"),
    "node/web-4": Skipped("stopped before it began"),
}

SCENARIOS: Mapping[str, Report] = {
    "joining": report_on(_joining()),
    "held_by_anchor": report_on(_elsewhere()),
    "empty": report_on(a_snapshot([_SETTLED], [_CONTROL])),
    "incomplete": report_on(_partly_read()),
    "applied": report_on(
        a_snapshot([_SETTLED, a_joining_node()], [_CONTROL, a_server()]),
        {"node/web-1": Applied()},
        Cost(kubernetes=6, hetzner=1, remaining=3599, limit=3600),
    ),
    "failed": report_on(
        a_snapshot(
            [_SETTLED, *(a_joining_node(f"web-{n}") for n in range(1, 5))],
            [_CONTROL, *(a_server(n, f"web-{n}") for n in range(1, 5))],
        ),
        _FAILED,
    ),
    "error": Report(errors=("Kubernetes API server https://10.0.0.1:6443 does not answer: connection refused",)),
}
"""Name → report; the golden files have the same names."""
