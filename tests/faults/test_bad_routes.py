"""Networks, projects and Nodes with which routes cannot be made as they should: each is named, and no other suffers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hcloud_sandbox.hetzner import HetznerOptions
from tests.support.in_process import one_pass
from tests.support.objects import (
    LONG_AGO,
    NETWORK,
    ROUTED,
    UNROUTED,
    a_route_to,
    a_server_of,
    by_key,
    joining_node,
    notes,
    pods_of,
    private_ip,
    server,
)
from tests.support.rows import rows
from tests.support.stage import SimulatedCluster, Stage


@pytest.fixture
def network(cluster: SimulatedCluster, tmp_path: Path) -> Iterator[Stage]:
    """An empty cluster, and a project whose actions have ended when they are answered."""
    stage = Stage(cluster, tmp_path, None, HetznerOptions(action_s=0.0))
    yield stage
    stage.close()


def _led(*numbers: int, **others: str) -> dict[str, str]:
    """Destination → gateway of the routes to these Nodes' pods, each by its own server."""
    return {pods_of(number): private_ip(number) for number in numbers} | others


def _nothing_was_refused(stage: Stage) -> None:
    """What cannot work is not tried."""
    assert [entry for entry in stage.written_to_hetzner() if entry.status >= 400] == []


def _nothing_was_written(stage: Stage) -> None:
    assert (stage.writes(), stage.written_to_hetzner()) == ([], [])


def _another_project(stage: Stage, *routes: Mapping[str, str]) -> None:
    """The token is one of another project, where a network has the same name; these are its routes."""
    servers = [server(number + 900, f"other-{number}") for number in (1, 2)]
    placed = [
        {**found, "private_net": [{"network": 70, "ip": private_ip(number)}]} for number, found in enumerate(servers, 1)
    ]
    networks = [{**NETWORK, "id": 70, "routes": list(routes)}]
    stage.project.replace_world({"servers": placed, "networks": networks})


@rows("ready theirs", {
    "our Nodes are Ready": ("True", (a_route_to(1, 2), a_route_to(8), a_route_to(9, 1))),
    "all of our Nodes are down": ("Unknown", (a_route_to(8), a_route_to(9, 1))),
})  # fmt: skip
def test_routes_of_another_project_are_none_of_ours(
    network: Stage, ready: str, theirs: tuple[Mapping[str, str], ...]
) -> None:
    """Though they are in our range, and lead to nobody, or to a server that is no Node: all is held, and said."""
    network.settle(3)
    _another_project(network, *theirs)
    network.set_ready("web-1", "web-2", "web-3", ready=ready, since=LONG_AGO)
    before = network.nodes()
    network.forget()

    report = one_pass(network)

    assert (report["result"], len(report["holds"]) > 0) == ("blocked", True)
    assert {change["verdict"] for change in report["changes"]} <= {"held", "waiting"}
    assert network.routes() == {route["destination"]: route["gateway"] for route in theirs}
    assert network.nodes() == before
    _nothing_was_written(network)


def _of_others(count: int) -> list[dict[str, str]]:
    return [{"destination": f"192.168.{number}.0/24", "gateway": "10.0.0.254"} for number in range(count)]


def test_a_network_that_is_nearly_full(network: Stage) -> None:
    """Two of four Nodes get their routes; of the others each is told why not, and nothing is tried in vain. When room
    is made the next one gets its route."""
    network.have_pods(4, *_of_others(98))

    report = one_pass(network)

    assert report["sections"]["routes"] | {"why_incomplete": None} == {
        "complete": True, "count": 100, "expected": 100, "why_incomplete": None, "limit": 100
    }  # fmt: skip
    assert network.asked_of_hetzner() == ["POST add_route"] * 2
    assert network.all_say() == {"web-1": ROUTED, "web-2": ROUTED, "web-3": UNROUTED, "web-4": UNROUTED}
    assert notes(report) >= {("node/web-3", "limit"), ("node/web-4", "limit")}
    _nothing_was_refused(network)
    network.forget()
    assert one_pass(network)["changes"] == []

    network.have_routes(*_of_others(97), a_route_to(1), a_route_to(2))
    one_pass(network)
    assert network.all_say() == {**dict.fromkeys(("web-1", "web-2", "web-3"), ROUTED), "web-4": UNROUTED}
    _nothing_was_refused(network)


def test_a_full_network_makes_room_of_what_leads_nowhere(network: Stage) -> None:
    """A black hole of ours goes before the Node's own route comes, and no route of others."""
    network.have_pods(1, *_of_others(99), a_route_to(9))
    report = one_pass(network)
    assert (report["result"], report["summary"]["applied"]) == ("no_changes", 3)
    assert network.asked_of_hetzner() == ["POST delete_route", "POST add_route"]
    assert network.routes() == {route["destination"]: route["gateway"] for route in _of_others(99)} | _led(1)
    _nothing_was_refused(network)


def test_a_cluster_cidr_over_a_subnet_is_an_error_that_touches_no_route(network: Stage) -> None:
    """Not those of others in it, nor one to our Nodes' pods, nor what they say; all else is done as ever."""
    network.have_pods(2, a_route_to(8), *_of_others(1))
    network.add_servers(server(9, "new"))
    network.register(joining_node("new"))
    before, said = network.routes(), network.all_say()

    ran = network.reconcile("--once", "--cluster-cidr", "10.0.0.0/8")

    (line,) = (line for line in ran.stderr.splitlines() if "error" in line)
    assert ran.code == 1
    assert line.startswith("reconcile: error: --cluster-cidr 10.0.0.0/8 covers subnet 10.0.0.0/24 of network")
    assert (network.routes(), network.all_say()) == (before, said)
    assert network.nodes()["new"]["spec"]["providerID"] == "hcloud://9"

    assert network.reconcile("--once").code == 0
    assert network.routes() == _led(1, 2) | {route["destination"]: route["gateway"] for route in _of_others(1)}


TWICE = "10.244.50.0/24"
ODD: Mapping[str, tuple[tuple[str, ...], set[str]]] = {
    "none": ((), set()),
    "two": (("10.244.41.0/24", "10.244.42.0/24"), set()),
    "no range": (("10.244.43.0/99",), {"unroutable"}),
    "one good, one not": (("10.244.44.0/24", "pods"), {"unroutable"}),
    "outside": (("10.99.0.0/24",), {"cluster-cidr"}),
    "public": (("203.0.113.0/24",), {"cluster-cidr"}),
    "one of two": ((TWICE,), {"unroutable"}),
    "the other of two": (("10.244.50.128/25",), {"unroutable"}),
    "not attached": (("10.244.45.0/24",), {"unroutable"}),
    "attached twice": (("10.244.46.0/24",), set()),
    "by its alias address": (("10.244.47.0/24",), set()),
}
"""What is odd about a Node → its pod CIDRs, and the kinds of notes on it."""


def _odd_server(number: int, what: str) -> dict[str, Any]:
    place = {"network": NETWORK["id"], "ip": private_ip(number)}
    match what:
        case "not attached":
            return {**a_server_of(number), "private_net": []}
        case "attached twice":
            return {**a_server_of(number), "private_net": [place, {"network": NETWORK["id"], "ip": "10.0.0.90"}]}
        case "by its alias address":
            return {**a_server_of(number), "private_net": [{**place, "alias_ips": ["10.0.0.91"]}]}
    return a_server_of(number)


def test_each_odd_node_is_named_and_harms_no_other(network: Stage) -> None:
    """One pass with all of them: what can be routed is, nothing that cannot is tried, and the next pass writes
    nothing."""
    network.have_pods(2, {"destination": "10.244.47.0/24", "gateway": "10.0.0.91"})
    numbers = dict(enumerate(ODD, 20))
    for number, what in numbers.items():
        node = network.a_pod_node(number)
        pod_cidrs, _ = ODD[what]
        node["spec"] |= {"podCIDRs": list(pod_cidrs), "podCIDR": pod_cidrs[0] if pod_cidrs else ""}
        network.register(node)
    network.add_servers(*(_odd_server(number, what) for number, what in numbers.items()))

    report = one_pass(network)

    found = {what: {kind for key, kind in notes(report) if key == f"node/web-{n}"} for n, what in numbers.items()}
    assert found == {what: kinds for what, (_, kinds) in ODD.items()}
    of_node = {what: private_ip(number) for number, what in numbers.items()}
    assert network.routes() == _led(1, 2) | {
        "10.244.41.0/24": of_node["two"],
        "10.244.42.0/24": of_node["two"],
        "10.244.44.0/24": of_node["one good, one not"],
        "10.244.46.0/24": of_node["attached twice"],
        "10.244.47.0/24": "10.0.0.91",
    }
    said = {what: network.all_say()[f"web-{number}"] for number, what in numbers.items()}
    assert said == {what: None if what == "none" else UNROUTED if kinds else ROUTED for what, (_, kinds) in ODD.items()}
    assert {network.all_say()[name] for name in ("web-1", "web-2")} == {ROUTED}
    _nothing_was_refused(network)
    network.forget()
    assert by_key(one_pass(network)) == {}
    _nothing_was_written(network)
