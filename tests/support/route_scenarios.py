"""Reports on pod routes that people see, by name: planned and judged as in a real pass."""

from collections.abc import Mapping
from dataclasses import replace

from actuators.outcome import Applied, Failed, Outcome
from desired.model.route import ROUTED, UNROUTED
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.planner import compute_plan
from reconciler.result import Line, Report, Requests
from tests.routes import ROUTING, WITHOUT_RANGE, a_pod_node, a_pod_server, a_route, a_routed_world, pods_of, routes_of
from tests.support.judging import decided, judge

_REQUESTS = Requests(kubernetes=2, hetzner=3, remaining=3597, limit=3600)
_VPN = a_route("10.8.0.0/24", "10.0.0.254")
"""Somebody's own, in the same network."""


def _report(snapshot: Snapshot, settings: Settings = ROUTING, outcomes: Mapping[str, Outcome] | None = None) -> Report:
    plan = judge(compute_plan(snapshot, settings), snapshot, settings)
    lines = tuple(Line(change, (outcomes or {}).get(change.key)) for change in plan.changes)
    return decided(Report(snapshot, lines, plan.notes, plan.holds, requests=_REQUESTS))


def _drifted() -> Snapshot:
    """Of five Nodes one is new, the route of one leads elsewhere, and the server of one is not in the network; the
    route to the pods of a Node that is no more leads to an address that nobody has."""
    nodes = [
        a_pod_node(1),
        a_pod_node(2, says=None),
        a_pod_node(3, says=UNROUTED),
        a_pod_node(4, pods_of(4), "fd00:10:244:4::/64"),
        a_pod_node(5, addresses=a_pod_node(5).addresses[:-1]),
    ]
    servers = [a_pod_server(number) for number in range(1, 5)] + [a_pod_server(5, private_ips=())]
    routes = [a_route(1), a_route(3, 4), a_route(4, 4), a_route(9, "10.0.0.99"), _VPN]
    return a_routed_world(nodes, servers, routes, members=[])


def _held() -> Snapshot:
    """A route within the cluster CIDR leads to a server that is no Node."""
    servers = [a_pod_server(1), a_pod_server(7)]
    return a_routed_world([a_pod_node()], servers, [a_route(), a_route(7, 7)])


def _creating() -> Snapshot:
    """Nobody says what the cluster CIDR is, and one destination is of IPv6."""
    section = routes_of(a_route(), _VPN, unreadable={"fd00::/64": "its destination is of IPv6"})
    return replace(a_routed_world([a_pod_node(), a_pod_node(2, says=None)]), routes=section)


_REFUSED = "Hetzner POST /networks/4/actions/add_route answers 422 invalid_input: gateway not reachable"

ROUTE_SCENARIOS: Mapping[str, Report] = {
    "routes_drifted": _report(_drifted()),
    "routes_applied": _report(
        a_routed_world([a_pod_node(1, says=None), a_pod_node(2)], routes=[]),
        outcomes={
            "route/4/10.244.1.0/24": Applied(),
            "node/web-1/network": Applied(),
            "route/4/10.244.2.0/24": Failed(_REFUSED),
        },
    ),
    "routes_held": _report(_held()),
    "routes_creating": _report(_creating(), WITHOUT_RANGE),
    "routes_settled": _report(a_routed_world([a_pod_node(number) for number in range(1, 8)])),
    "routes_off": _report(a_routed_world([a_pod_node(says=ROUTED)]), Settings(network="private")),
}
"""Name → report."""
