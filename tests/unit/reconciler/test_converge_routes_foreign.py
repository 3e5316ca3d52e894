"""Routes that are somebody's stay byte for byte what they are, whatever a pass does beside them.

HCCM removes all those of which one end is in the cluster CIDR, whoever has the gateway.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.plan.change import Verdict
from reconciler.result import Report, Result
from tests.routes import gateway_of, pods_of
from tests.support.objects import NETWORK, condition, server, settled_node
from tests.support.passes import ROUTED, Run
from tests.support.simulators import Simulation

Simulate = Callable[..., Simulation]
NODES = 8
NAT, OF_ANOTHER, VPN, ALIAS, ALIAS_OF_A_NODE, BALANCER = (f"10.0.0.{last}" for last in (60, 61, 62, 70, 71, 80))
NOBODY = "10.0.0.200"
FOREIGN = {
    "10.244.200.0/24": ALIAS,
    "10.244.201.0/24": ALIAS_OF_A_NODE,
    "10.244.202.0/24": BALANCER,
    "10.244.203.0/28": NAT,
    "10.244.128.0/18": VPN,
    "0.0.0.0/0": NAT,
    "10.245.1.0/24": OF_ANOTHER,
    "10.245.2.0/24": NOBODY,
    "10.8.0.0/24": VPN,
    "192.168.7.0/24": gateway_of(1),
}
"""By an alias address of somebody's server, by one of a Node's, by a load balancer, by living servers that are no Node
with other masks than a Node's, by a NAT gateway, in the range of another cluster in the same network, and elsewhere."""
DEAD, SUPERFLUOUS, STRANGER = pods_of(20), pods_of(21), pods_of(22)
OURS = {DEAD: NOBODY, SUPERFLUOUS: gateway_of(1)}
"""What a pass removes by itself: a black hole, and a route to a Node that does not have the pods."""
HELD = {STRANGER: OF_ANOTHER}
"""What it removes when a person says so: a route like a Node's, to a server that is none."""


def _led(*numbers: int) -> dict[str, str]:
    return {pods_of(number): gateway_of(number) for number in numbers}


def _node(number: int) -> dict[str, Any]:
    node = settled_node(f"web-{number}", number)
    node["spec"] |= {"podCIDR": pods_of(number), "podCIDRs": [pods_of(number)]}
    node["status"]["addresses"].append({"type": "InternalIP", "address": gateway_of(number)})
    routed = condition("NetworkUnavailable", "False") | {"reason": "RouteCreated"}
    node["status"]["conditions"].append(routed)
    return node


def _attached(number: int, name: str, ip: str, *aliases: str) -> dict[str, Any]:
    place = {"network": NETWORK["id"], "ip": ip, "alias_ips": list(aliases)}
    return server(number, name, private_net=[place])


def _a_run(simulate: Simulate, *routes: Mapping[str, str], settings: Settings = ROUTED) -> Run:
    """Eight Nodes in order but for their routes, the first with an alias address; servers that are no Nodes, and a
    load balancer, all in one network with these routes."""
    numbers = range(1, NODES + 1)
    servers = [_attached(n, f"web-{n}", gateway_of(n), *([ALIAS_OF_A_NODE] if n == 1 else [])) for n in numbers]
    others = [_attached(60, "nat", NAT), _attached(61, "other-cluster-1", OF_ANOTHER), _attached(62, "vpn", VPN, ALIAS)]
    listed = [{"destination": to, "gateway": by} for led in routes for to, by in led.items()]
    project = {
        "servers": [*servers, *others],
        "networks": [{**NETWORK, "routes": listed}],
        "load_balancers": [{"id": 5, "name": "lb", "private_net": [{"network": NETWORK["id"], "ip": BALANCER}]}],
    }
    return Run(simulate(nodes=[_node(number) for number in numbers], project=project), settings)


def _raw(run: Run) -> list[dict[str, str]]:
    (network,) = run.sim.hetzner.world()["hetzner"]["networks"]
    listed: list[dict[str, str]] = network["routes"]
    return listed


def _of_others(run: Run) -> list[str]:
    """The foreign routes as the API has them."""
    return sorted(json.dumps(route) for route in _raw(run) if route["destination"] in FOREIGN)


def _ours(run: Run) -> dict[str, str]:
    return {route["destination"]: route["gateway"] for route in _raw(run) if route["destination"] not in FOREIGN}


def _named(run: Run) -> set[str]:
    return {entry.body["destination"] for entry in run.sim.sent_to_hetzner() if entry.method == "POST"}


def _held(report: Report) -> Sequence[str]:
    return [line.change.key for line in report.lines if line.change.decision.verdict is Verdict.HELD]


def test_what_is_somebodys_stays_while_all_else_is_put_in_order(simulate: Simulate) -> None:
    """Routes are created, swapped and removed; the foreign ones are noted, each with why it is left alone."""
    astray = {pods_of(2): gateway_of(3), pods_of(3): gateway_of(8), pods_of(4): NOBODY}
    run = _a_run(simulate, FOREIGN, OURS, astray, _led(5, 6, 7))
    before = _of_others(run)

    first, second = run.converge(), run.converge()

    assert (_of_others(run), _ours(run)) == (before, _led(*range(1, NODES + 1)))
    assert (first.result, second.result, second.lines) == (Result.NO_CHANGES, Result.NO_CHANGES, ())
    assert _named(run) == {*OURS, *astray, pods_of(1), pods_of(8)}
    noted = {note.key.removeprefix("route/7/"): note.text for note in second.notes if note.kind == "foreign"}
    assert noted.keys() == FOREIGN.keys()
    assert noted["10.244.202.0/24"] == "gateway is load balancer 5"
    assert noted["0.0.0.0/0"] == "default route"


@pytest.mark.parametrize("by", ["in the cluster", "on the command line"])
def test_a_route_to_a_server_that_is_no_node_goes_when_a_person_says_so(simulate: Simulate, by: str) -> None:
    """Held with the command that approves it, as often as it is looked at; after the approval that one goes, and
    nothing else of what is somebody's."""
    run = _a_run(simulate, FOREIGN, HELD, _led(*range(1, NODES + 1)))
    before = _of_others(run)

    held = [run.converge() for _ in range(2)]
    holds = {hold.hash: hold for report in held for hold in report.holds}
    assert [(report.result, _held(report)) for report in held] == [(Result.BLOCKED, [f"route/7/{STRANGER}"])] * 2
    assert (_ours(run)[STRANGER], _named(run)) == (OF_ANOTHER, set())
    ((code, hold),) = holds.items()
    assert (hold.rule, hold.value, hold.limit) == ("route-blast-radius", "1", "0")

    if by == "in the cluster":
        run.approve(code)
    else:
        run.approved = (code,)
    approved, after = run.converge(), run.converge()

    assert (approved.result, after.result, after.lines) == (Result.NO_CHANGES, Result.NO_CHANGES, ())
    assert (_of_others(run), _ours(run)) == (before, _led(*range(1, NODES + 1)))
    assert _named(run) == {STRANGER}


def test_a_route_to_a_nodes_pods_by_a_server_that_is_no_node_is_swapped_when_a_person_says_so(
    simulate: Simulate,
) -> None:
    """Somebody put it there, or lost his Node a moment ago: nothing is taken from a living server unasked."""
    run = _a_run(simulate, {pods_of(1): NAT}, _led(*range(2, NODES + 1)))

    held = [run.converge() for _ in range(2)]
    assert [(report.result, _held(report)) for report in held] == [(Result.BLOCKED, [f"route/7/{pods_of(1)}"])] * 2
    assert (_ours(run)[pods_of(1)], _named(run)) == (NAT, set())

    run.approved = tuple(hold.hash for hold in held[0].holds)
    assert run.converge().result is Result.NO_CHANGES
    assert _ours(run) == _led(*range(1, NODES + 1))


@pytest.mark.parametrize("gateway", [gateway_of(1), VPN, NOBODY], ids=["by-a-node", "by-no-node", "by-nobody"])
@pytest.mark.parametrize("destination", ["10.244.0.0/15", "10.240.0.0/12", "10.128.0.0/9"])
def test_a_range_around_the_clusters_own_stays(simulate: Simulate, destination: str, gateway: str) -> None:
    """One end of it is in the cluster CIDR, or neither: it is not the cluster's. It keeps Nodes from having routes, and
    they are told so, when a person says that all of them are to be closed; nothing is tried in vain."""
    run = _a_run(simulate, {destination: gateway})
    before = _raw(run)

    reports = [run.converge() for _ in range(2)]

    assert (_raw(run), _named(run)) == (before, set())
    for report in reports:
        noted = {(note.key, note.kind) for note in report.notes}
        assert noted == {(f"route/7/{destination}", "foreign")} | {
            (f"node/web-{number}", "unroutable") for number in range(1, NODES + 1)
        }
        assert [(hold.rule, hold.value, hold.limit) for hold in report.holds] == [("address-blast-radius", "8", "2")]
    assert {_reason_of(node) for node in run.sim.nodes().values()} == {"RouteCreated"}
    run.approved = tuple(hold.hash for hold in reports[-1].holds)
    run.converge()
    assert {_reason_of(node) for node in run.sim.nodes().values()} == {"NoRouteCreated"}


def _reason_of(node: Mapping[str, Any]) -> str:
    (found,) = (each for each in node["status"]["conditions"] if each["type"] == "NetworkUnavailable")
    reason: str = found["reason"]
    return reason
