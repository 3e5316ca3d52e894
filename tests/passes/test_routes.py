"""Nodes get routes to their pods, and are told of them, on a real API server."""

from collections.abc import Callable

import pytest

from desired.model.route import CONDITION_NETWORK
from tests.support.in_process import ONCE, ONCE_AT_ANY_AGE, one_pass, pass_during_which
from tests.support.objects import (
    CIDR,
    ROUTED,
    UNROUTED,
    a_route_to,
    a_server_of,
    ago,
    by_key,
    condition,
    joining_node,
    network_condition,
    network_says,
    notes,
    of_others,
    pods_of,
    private_ip,
)
from tests.support.stage import Stage, is_initialised

OF_A_PLUGIN = ("False", "CalicoIsUp", "Calico is running on this node")
OF_SOMEBODY = {"destination": "10.8.0.0/24", "gateway": "10.0.0.254"}
"""A route outside of the cluster CIDR, to a VPN for example."""
OFF = {"HCLOUD_NETWORK_ROUTES_ENABLED": "false"}


@pytest.fixture
def network(a_stage: Callable[..., Stage]) -> Stage:
    """An empty cluster, and a project whose actions have ended when they are answered."""
    return a_stage(action_s=0.0)


def _led(*numbers: int, **others: str) -> dict[str, str]:
    """Destination → gateway of the routes to these Nodes' pods, each by its own server."""
    return {pods_of(number): private_ip(number) for number in numbers} | others


def _settled(stage: Stage) -> None:
    """Another pass finds nothing to do, and writes nothing."""
    stage.forget()
    report = one_pass(stage)
    assert (report["result"], report["changes"]) == ("no_changes", [])
    assert (stage.writes(), stage.written_to_hetzner()) == ([], [])


def test_one_run_gives_20_nodes_their_routes_and_a_second_one_writes_nothing(network: Stage) -> None:
    """By the command: a route and the condition for each, in HCCM's words; nothing is refused on the way, nothing else
    of the Nodes is touched, and the next run asks for the network once."""
    network.have_pods(20, OF_SOMEBODY)
    before, began = network.nodes(), ago(seconds=0)
    network.forget()
    given = ("--cluster-cidr", CIDR["RECONCILER_CLUSTER_CIDR"], "--output", "json")

    first = network.reconcile("--once", *given, RECONCILER_CLUSTER_CIDR=None)

    after = network.nodes()
    assert (first.code, first.report["result"], first.report["summary"]["applied"]) == (0, "no_changes", 40)
    assert network.routes() == _led(*range(1, 21), **{OF_SOMEBODY["destination"]: OF_SOMEBODY["gateway"]})
    assert network.all_say() == dict.fromkeys(before, ROUTED)
    assert {name: of_others(node) for name, node in after.items()} == {n: of_others(v) for n, v in before.items()}
    assert {name: node["spec"] for name, node in after.items()} == {name: node["spec"] for name, node in before.items()}
    for node in after.values():
        (ours,) = (found for found in node["status"]["conditions"] if found["type"] == CONDITION_NETWORK)
        assert ours["lastHeartbeatTime"] == ours["lastTransitionTime"] >= began
    sent = [*network.written_to_hetzner(), *network.writes()]
    assert [(entry.status, entry.path.rpartition("/")[2]) for entry in sent] == [
        *[(201, "add_route")] * 20,
        *[(200, "status")] * 20,
    ]

    network.forget()
    second = network.reconcile("--once", *given, RECONCILER_CLUSTER_CIDR=None)
    assert (second.code, second.report["result"], second.report["changes"]) == (0, "no_changes", [])
    assert (network.writes(), network.written_to_hetzner()) == ([], [])
    assert sorted(path.partition("?")[0] for path in network.read_of_hetzner()) == ["networks", "servers"]


def _heard(kind: str, status: str) -> dict[str, str]:
    """A condition as a kubelet writes it."""
    return condition(kind, status, ago(seconds=0)) | {"lastHeartbeatTime": ago(seconds=0)}


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(_heard("MemoryPressure", "True"), id="pressure"),
        pytest.param(_heard("Ready", "False"), id="not ready"),
        pytest.param(_heard("example.com/Disk", "True"), id="a new one"),
    ],
)
def test_a_kubelet_that_writes_meanwhile_loses_nothing(network: Stage, written: dict[str, str]) -> None:
    """Between the look at a Node and the write of its condition somebody writes another one: both are there."""
    network.have_pods(2)

    report = pass_during_which(network, lambda: network.set_condition("web-1", written))

    assert (report["summary"]["applied"], report["summary"]["failed"]) == (4, 0)
    assert network.all_say() == {"web-1": ROUTED, "web-2": ROUTED}
    others = {found["type"]: found for found in of_others(network.nodes()["web-1"])}
    untouched = {found["type"]: found for found in of_others(network.nodes()["web-2"])}
    assert others == {**untouched, written["type"]: written}


def test_a_node_that_joins_is_routed_in_the_same_pass(network: Stage) -> None:
    """Initialised, routed and told so by one pass, without a warning on the way."""
    network.settle(1)
    joining = joining_node("web-2")
    joining["spec"] |= {"podCIDR": pods_of(2), "podCIDRs": [pods_of(2)]}
    network.register(joining)
    network.add_servers(a_server_of(2))

    report = one_pass(network)

    assert (report["result"], report["summary"]["applied"]) == ("no_changes", 3)
    assert is_initialised(network.nodes()["web-2"])
    assert (network.routes(), network_says(network.nodes()["web-2"])) == (_led(1, 2), ROUTED)
    assert network.warnings_on("web-2") == {}
    _settled(network)


def _was_removed(stage: Stage) -> None:
    """By a person, who drained it, or by an autoscaler."""
    stage.delete_node("web-4")
    stage.remove_servers(4)


def _was_lost(stage: Stage) -> None:
    stage.set_ready("web-4", ready="Unknown", since=ago(minutes=5))
    stage.remove_servers(4)


@pytest.mark.parametrize("happens", [_was_removed, _was_lost], ids=["with its Node", "before its Node"])
def test_the_route_of_a_server_that_is_gone_goes(network: Stage, happens: Callable[[Stage], None]) -> None:
    """The others stay as they are, and so do their Nodes."""
    network.settle(4)
    happens(network)
    network.forget()

    report = one_pass(network, ONCE_AT_ANY_AGE)

    assert (report["result"], report["holds"]) == ("no_changes", [])
    assert (network.routes(), network.asked_of_hetzner()) == (_led(1, 2, 3), ["POST delete_route"])
    assert sorted(network.nodes()) == ["web-1", "web-2", "web-3"]
    _settled(network)


def test_the_route_follows_its_server_to_another_address(network: Stage) -> None:
    """One swap. The condition has no news, and is not written."""
    network.settle(3)
    before = network.nodes()["web-2"]["status"]["conditions"]
    network.move_server(2, "10.0.0.55")
    network.forget()

    report = one_pass(network)

    assert (report["result"], report["summary"]["applied"]) == ("no_changes", 2)
    assert {change["kind"] for change in report["changes"]} == {"node.addresses", "route.replace"}
    assert network.routes() == _led(1, 3, **{pods_of(2): "10.0.0.55"})
    assert network.asked_of_hetzner() == ["POST delete_route", "POST add_route"]
    assert network.nodes()["web-2"]["status"]["conditions"] == before
    _settled(network)


def test_conditions_go_when_routes_are_switched_off(network: Stage) -> None:
    """What we or HCCM have written: a network plug-in's stays byte for byte, as do the routes."""
    network.settle(4)
    network.set_condition("web-2", network_condition(*UNROUTED))
    network.set_condition("web-3", network_condition(*OF_A_PLUGIN))
    before, led = network.nodes(), network.routes()

    report = one_pass(network, ONCE, **OFF)

    after = network.nodes()
    assert (report["result"], report["summary"]["applied"]) == ("no_changes", 3)
    assert network.all_say() == {"web-1": None, "web-2": None, "web-3": OF_A_PLUGIN, "web-4": None}
    assert after["web-3"] == before["web-3"]
    assert {name: of_others(node) for name, node in after.items()} == {n: of_others(v) for n, v in before.items()}
    assert (network.routes(), network.written_to_hetzner()) == (led, [])
    network.forget()
    assert one_pass(network, ONCE, **OFF)["changes"] == []
    assert network.writes() == []


def test_a_node_whose_server_is_not_in_the_network_is_told_so(network: Stage) -> None:
    """In HCCM's words, as a condition and a warning, until the server is attached; the other Nodes do not wait."""
    network.have_pods(3)
    network.move_server(2)

    report = one_pass(network)

    assert network.all_say() == {"web-1": ROUTED, "web-2": UNROUTED, "web-3": ROUTED}
    assert (network.routes(), notes(report)) == (_led(1, 3), {("node/web-2", "unroutable")})
    assert network.warnings_on("web-2") == {"FailedToCreateRoute": "server 2 is not attached to network 7"}
    _settled(network)

    network.move_server(2, private_ip(2))
    assert one_pass(network)["result"] == "no_changes"
    assert (network.routes(), set(network.all_say().values())) == (_led(1, 2, 3), {ROUTED})
    _settled(network)


def test_pods_with_ipv6_addresses_are_no_hindrance(network: Stage) -> None:
    """Networks route IPv4 alone: a Node with both kinds is routed, and one with IPv6 pods alone is freed of what HCCM
    says of it."""
    network.have_pods(0)
    network.register(
        network.a_pod_node(1, pods_of(1), "fd00:10:244:1::/64"),
        network.a_pod_node(2, "fd00:10:244:2::/64", pods_of(2), says=UNROUTED),
        network.a_pod_node(3, "fd00:10:244:3::/64", says=UNROUTED),
        network.a_pod_node(4, "fd00:10:244:4::/64"),
    )
    network.add_servers(*map(a_server_of, range(1, 5)))

    report = one_pass(network)

    assert (report["result"], notes(report)) == ("no_changes", {("network/7", "unsupported")})
    assert network.all_say() == {"web-1": ROUTED, "web-2": ROUTED, "web-3": None, "web-4": None}
    assert network.routes() == _led(1, 2)
    _settled(network)


@pytest.mark.parametrize(
    ("found", "becomes"),
    [
        pytest.param([], [a_route_to(1)], id="one that is missing is made"),
        pytest.param([], [a_route_to(1, 2)], id="one that is missing is made, and leads elsewhere"),
        pytest.param([a_route_to(1, 2)], [a_route_to(1)], id="one that leads elsewhere is mended"),
        pytest.param([a_route_to(1, 2)], [a_route_to(1, 3)], id="one that leads elsewhere leads somewhere else"),
        pytest.param([a_route_to(1, 2)], [], id="one that leads elsewhere is removed"),
        pytest.param([a_route_to(1), a_route_to(9)], [a_route_to(1)], id="a dead one is removed"),
    ],
)
def test_what_is_done_by_hand_meanwhile(
    network: Stage, found: list[dict[str, str]], becomes: list[dict[str, str]]
) -> None:
    """Between the look at the network and the first write somebody changes a route: at most two passes later all is
    as it should be, the routes of others included."""
    network.have_pods(3, OF_SOMEBODY, a_route_to(2), a_route_to(3), *found, says=ROUTED)
    meanwhile = (OF_SOMEBODY, a_route_to(2), a_route_to(3), *becomes)

    report = pass_during_which(network, lambda: network.have_routes(*meanwhile))

    assert report["summary"]["failed"] == 0
    one_pass(network)
    assert network.routes() == _led(1, 2, 3, **{OF_SOMEBODY["destination"]: OF_SOMEBODY["gateway"]})
    assert set(network.all_say().values()) == {ROUTED}
    _settled(network)


def test_a_dead_route_that_gets_a_living_gateway_meanwhile_stays(network: Stage) -> None:
    """What was planned for a black hole is not done to a route that leads to somebody's server by now."""
    network.settle(2)
    network.have_routes(a_route_to(1), a_route_to(2), a_route_to(9))
    network.add_servers(a_server_of(5))
    meanwhile = (a_route_to(1), a_route_to(2), a_route_to(9, 5))

    report = pass_during_which(network, lambda: network.have_routes(*meanwhile))
    again = one_pass(network)

    assert network.routes() == _led(1, 2, **{pods_of(9): private_ip(5)})
    assert (report["summary"]["failed"], report["result"], again["result"]) == (0, "refused", "refused")
    assert report["holds"] == again["holds"]
    assert by_key(again)[f"route/7/{pods_of(9)}"]["rule"] == "route-blast-radius"
