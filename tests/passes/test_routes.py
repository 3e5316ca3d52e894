"""Nodes get routes to their pods, and are told of them, on a real API server."""

import pytest

from desired.model.route import CONDITION_NETWORK
from tests.support.in_process import ONCE, one_pass, pass_during_which
from tests.support.objects import (
    CIDR,
    ROUTED,
    UNROUTED,
    a_route_to,
    a_server_of,
    ago,
    by_key,
    condition,
    led,
    network_condition,
    of_others,
    pods_of,
    private_ip,
)
from tests.support.stage import Stage

OF_A_PLUGIN = ("False", "CalicoIsUp", "Calico is running on this node")
OF_SOMEBODY = {"destination": "10.8.0.0/24", "gateway": "10.0.0.254"}
"""A route outside of the cluster CIDR, to a VPN for example."""
OFF = {"HCLOUD_NETWORK_ROUTES_ENABLED": "false"}


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
    assert network.routes() == led(*range(1, 21), **{OF_SOMEBODY["destination"]: OF_SOMEBODY["gateway"]})
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
    assert network.routes() == led(1, 2, 3, **{OF_SOMEBODY["destination"]: OF_SOMEBODY["gateway"]})
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

    assert network.routes() == led(1, 2, **{pods_of(9): private_ip(5)})
    assert (report["summary"]["failed"], report["result"], again["result"]) == (0, "blocked", "blocked")
    assert report["holds"] == again["holds"]
    assert by_key(again)[f"route/7/{pods_of(9)}"]["rule"] == "route-blast-radius"
