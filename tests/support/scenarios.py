"""Reports that people see, by name: planned and judged as in a real pass, from worlds made of builders."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address

from actuators.outcome import STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.guards.filters import restrict
from desired.model.settings import Settings
from desired.model.snapshot import NodeAddress, ServerStatus, Snapshot, Taint
from desired.planner import compute_plan
from desired.section import Absent, Unknown
from reconciler.result import Line, Report, Requests
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.support.balancer_scenarios import BALANCER_SCENARIOS
from tests.support.judging import decided, judge
from tests.support.route_scenarios import ROUTE_SCENARIOS

_REQUESTS = Requests(kubernetes=2, hetzner=1, remaining=3599, limit=3600)
_HOSTNAME = (NodeAddress("Hostname", "web-1"),)
_SETTLED = a_settled_node("control-1", 9)
_CONTROL = a_server(9, "control-1")
_REFUSED = (
    "Kubernetes API server https://10.0.0.1:6443 does not answer: connection refused; check that it is up and that the"
    " kubeconfig has its address"
)
_UNAVAILABLE = (
    "Hetzner API https://api.hetzner.cloud/v1: GET /servers answers 503 Service Unavailable, and not as the Hetzner"
    " API does; check HCLOUD_ENDPOINT"
)


def report_on(
    snapshot: Snapshot,
    outcomes: Mapping[str, Outcome] | None = None,
    requests: Requests = _REQUESTS,
    *,
    only: tuple[str, ...] = (),
) -> Report:
    """What a pass over this world says; the changes named in ``outcomes`` came to that end."""
    settings = Settings(only=only)
    judged = judge(compute_plan(snapshot, settings), snapshot, settings)
    plan = restrict(judged, only)
    lines = tuple(Line(change, (outcomes or {}).get(change.key)) for change in plan.changes)
    return decided(Report(snapshot=snapshot, lines=lines, notes=plan.notes, holds=plan.holds, requests=requests))


def _joining() -> Snapshot:
    """Two Nodes that join, with addresses that change, an old label and a taint of somebody else's; one that is
    misnamed; and one of Robot."""
    return a_snapshot(
        [
            _SETTLED,
            a_joining_node(addresses=_HOSTNAME),
            a_joining_node(
                "web-2",
                provider_id="hcloud://2",
                labels={"node.kubernetes.io/instance-type": "cx22", "example.com/team": "blue"},
                taints=(Taint("dedicated", "NoExecute"), UNINITIALIZED),
                addresses=(NodeAddress("InternalIP", "10.0.0.2"), NodeAddress("Hostname", "web-2")),
            ),
            a_joining_node("web3"),
            a_joining_node("metal-1", provider_id="hrobot://7"),
        ],
        [_CONTROL, a_server(), a_server(2, "web-2", location="nbg1"), a_server(3, "web-3")],
    )


def _elsewhere() -> Snapshot:
    """A token of another project."""
    return a_snapshot([_SETTLED, a_joining_node()], [a_server(), a_server(4, "theirs", ipv4=IPv4Address("192.0.2.4"))])


def _partly_read() -> Snapshot:
    """A page of servers is missing: one Node is known by its id, one only by its name."""
    read = replace(servers_of(_CONTROL, a_server()), expected=52)
    section = incomplete(read, _UNAVAILABLE)
    return a_snapshot(
        [_SETTLED, a_joining_node(provider_id="hcloud://1"), a_joining_node("web-2")], servers_section=section
    )


def _drifted() -> Snapshot:
    """A Node that differs from its server in all three ways: it was resized and switched off, and has another public
    address; somebody set its region, and its kubelet reported a private address."""
    labels = {**SERVER_LABELS, "topology.kubernetes.io/region": "cellar", "example.com/team": "blue"}
    del labels["failure-domain.beta.kubernetes.io/zone"]
    addresses = ("InternalIP", "10.0.0.2"), ("Hostname", "web-1"), ("ExternalIP", "192.0.2.4")
    node = a_settled_node(
        labels=labels,
        taints=(Taint("dedicated", "NoExecute"),),
        addresses=tuple(NodeAddress(kind, address) for kind, address in addresses),
    )
    return a_snapshot([_SETTLED, node], [_CONTROL, a_server(type="cpx42", status=ServerStatus.OFF)])


def _unproven() -> Snapshot:
    """Nodes whose servers are gone, each at another point of its proof: one is not Ready for eight seconds, one is
    still to be asked for by its id, asking for one failed, and one lingers."""
    cordoned = {"unschedulable": True}
    return a_snapshot(
        [
            _SETTLED,
            a_lost_node(ready_since=NOW - timedelta(seconds=8)),
            a_lost_node("web-2", 2, **cordoned),
            a_lost_node("web-3", 3, **cordoned),
            a_lost_node("web-4", 4, deleted_at=NOW - timedelta(minutes=3), finalizers=("example.com/drain",)),
        ],
        [_CONTROL],
        confirmations={3: Unknown(_UNAVAILABLE.replace("/servers ", "/servers/3 ")), 4: Absent()},
    )


def _decimated() -> Snapshot:
    """Two of three servers are gone, proven and unannounced."""
    return a_snapshot(
        [_SETTLED, a_lost_node(), a_lost_node("web-2", 2)], [_CONTROL], confirmations={1: Absent(), 2: Absent()}
    )


_FAILED: Mapping[str, Outcome] = {
    "node/web-1": Applied(),
    "node/web-2": Failed("Kubernetes API server: PATCH /api/v1/nodes/web-2 answers 403 nodes is forbidden"),
    "node/web-3": Pending("Kubernetes API server: PATCH /api/v1/nodes/web-3 answers 409 the object has been modified"),
    "node/web-4": Skipped(STOPPED),
}

SCENARIOS: Mapping[str, Report] = {
    "joining": report_on(_joining()),
    "held_by_anchor": report_on(_elsewhere()),
    "drifted": report_on(_drifted()),
    "awaiting_proof": report_on(_unproven(), requests=Requests(kubernetes=2, hetzner=3, remaining=3597, limit=3600)),
    "held_by_blast_radius": report_on(
        _decimated(), requests=Requests(kubernetes=3, hetzner=3, remaining=3597, limit=3600)
    ),
    "empty": report_on(a_snapshot([_SETTLED], [_CONTROL])),
    "incomplete": report_on(_partly_read()),
    "applied": report_on(
        a_snapshot([_SETTLED, a_joining_node()], [_CONTROL, a_server()]),
        {"node/web-1": Applied()},
        Requests(kubernetes=6, hetzner=1, remaining=3599, limit=3600),
    ),
    "failed": report_on(
        a_snapshot(
            [_SETTLED, *(a_joining_node(f"web-{n}") for n in range(1, 5))],
            [_CONTROL, *(a_server(n, f"web-{n}") for n in range(1, 5))],
        ),
        _FAILED,
    ),
    "part": report_on(
        a_snapshot([_SETTLED, a_joining_node()], [_CONTROL, a_server()]), only=("node/control-1", "node/wbe-1")
    ),
    "error": Report(errors=(_REFUSED,)),
    **BALANCER_SCENARIOS,
    **ROUTE_SCENARIOS,
}
"""Name → report."""
