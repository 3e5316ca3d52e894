"""Nodes that an evening of attack took their names, addresses and pods from keep them, on a real API server."""

from collections.abc import Mapping
from typing import Any

from tests.support.in_process import ONCE, one_pass
from tests.support.objects import ROUTED, joining_node, notes, notes_of_kind, private_ip, server, settled_node
from tests.support.stage import Stage, is_initialised


def _published(stage: Stage, kind: str) -> dict[str, list[str]]:
    """Name → the addresses of this type that each Node publishes."""
    return {name: [a["address"] for a in _addresses(node) if a["type"] == kind] for name, node in stage.nodes().items()}


def _addresses(node: Mapping[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = node["status"].get("addresses", [])
    return found


def test_nodes_whose_servers_swapped_names_keep_their_own(stage: Stage) -> None:
    """Logs and shells go to a Hostname: it stays the Node's, also of one that joins on a server with another Node's
    name, and what another controller had swapped already is put right."""
    stage.have_servers(
        server(1, "web-2"), server(2, "web-1"), server(3, "web-1"), server(4, "web-5"), server(5, "web-4")
    )
    stage.register(*(settled_node(f"web-{i}", i) for i in (1, 2)))
    joins = joining_node("web-3")
    joins["spec"]["providerID"] = "hcloud://3"
    stage.register(joins)
    for number, name in ((4, "web-5"), (5, "web-4")):
        followed = settled_node(f"web-{number}", number)
        followed["status"]["addresses"][0] = {"type": "Hostname", "address": name}
        stage.register(followed)

    report = one_pass(stage)

    assert _published(stage, "Hostname") == {f"web-{i}": [f"web-{i}"] for i in range(1, 6)}
    assert is_initialised(stage.nodes()["web-3"])
    assert (report["result"], notes(report)) == ("no_changes", {(f"node/web-{i}", "kept") for i in range(1, 6)})
    stage.forget()
    assert (one_pass(stage)["changes"], stage.writes()) == ([], [])


def test_an_address_that_two_servers_seem_to_have_is_given_to_no_further_node(stage: Stage) -> None:
    """A list of two moments shows the address of web-1 on a new server as well: the new Node waits for it."""
    stage.have_servers(server(1, "web-1"), server(2, "web-2"))
    stage.register(settled_node("web-1", 1), joining_node("web-2"))
    (theirs,) = _published(stage, "ExternalIP")["web-1"]
    stage.change_servers(2, public_net={"ipv4": {"ip": theirs}})

    held = one_pass(stage)

    assert (held["changes"], notes(held)) == ([], {("node/web-1", "ambiguous"), ("node/web-2", "ambiguous")})
    assert _published(stage, "ExternalIP") == {"web-1": [theirs], "web-2": []}
    stage.change_servers(2, public_net={"ipv4": {"ip": "192.0.2.77"}})
    assert one_pass(stage)["result"] == "no_changes"
    assert _published(stage, "ExternalIP") == {"web-1": [theirs], "web-2": ["192.0.2.77"]}


ELSEWHERE = {"id": 8, "name": "staging", "ip_range": "10.9.0.0/16", "subnets": []}


def test_a_mistyped_network_takes_no_address_and_closes_no_node(stage: Stage) -> None:
    """HCLOUD_NETWORK names another network of the project: all is held, pass after pass, and once it is corrected
    nothing is left of it."""
    stage.settle(8)
    stage.change_project(networks=[stage.network(), ELSEWHERE])
    kept = {f"web-{number}": [private_ip(number)] for number in range(1, 9)}
    before = stage.nodes()

    reports = [one_pass(stage, ONCE, HCLOUD_NETWORK="staging") for _ in range(2)]

    assert _published(stage, "InternalIP") == kept
    assert stage.all_say() == dict.fromkeys(kept, ROUTED)
    for report in reports:
        assert report["result"] == "blocked"
        assert {(hold["rule"], hold["value"], hold["limit"], len(hold["keys"])) for hold in report["holds"]} == {
            ("by-default", "8", "0", 16)
        }
    assert (stage.writes(), stage.nodes()) == ([], before)
    assert one_pass(stage)["result"] == "no_changes"


def test_a_network_that_was_renamed_stays_in_use(recorded: Stage) -> None:
    """The record has its id. A note names the mistake, and a Node that joins is reached as the others."""
    (before,) = recorded.balancers()
    recorded.change_network(name="backbone")

    report = one_pass(recorded)

    (said,) = notes_of_kind(report, "settings")
    assert (report["result"], report["changes"]) == ("no_changes", [])
    assert said.endswith("correct HCLOUD_NETWORK")
    assert "backbone stays in use" in said
    assert recorded.balancers() == [before]
