"""What each Node of a snapshot should be, beside the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from desired.model.absence import proof_of_absence
from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server
from desired.nodes.node import (
    DesiredNode,
    InitializedNode,
    OrphanedNode,
    UninitializedNode,
    current_identity,
    desired_nodes,
)
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.notes import Note, NoteKind
from desired.section import Unmanaged
from desired.syntax.selector import parse_selector
from tests.builders import (
    SERVER_LABELS,
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
    incomplete,
    servers_of,
)
from tests.support.nodes import addresses_of, labels_of, managed

SETTINGS = Settings()
WEB_1, WEB_2 = a_server(1, "web-1"), a_server(2, "web-2")
SETTLED = ("settled", "server 1", True, True)
Outcome = tuple[object, ...]
Notes = tuple[Note, ...]


def joins(by: str, provider_id: str = "hcloud://1") -> Outcome:
    """A joining Node that is recognized as a server with the addresses of server 1."""
    return "joins", by, NodeIdentity(provider_id, SERVER_LABELS, (), WEB_1_ADDRESSES)


def departs(node: Node, server_id: int) -> Outcome:
    """``node`` as one to be deleted."""
    return "departs", LostNode(current_identity(node, SETTINGS), proof_of_absence(node, in_cloud(server_id)))


def outcome(nodes: Sequence[Node], settings: Settings = SETTINGS, **world: Any) -> tuple[Mapping[str, Outcome], Notes]:
    """What each Node should be, without those that stay as they are, and the notes."""
    found, notes = desired_nodes(a_snapshot(nodes, **world), settings)
    return {name: _outcome(each) for name, each in managed(found).items()}, notes


def _outcome(node: DesiredNode) -> Outcome:
    match node:
        case UninitializedNode():
            return "joins", node.match.by, node.identity
        case OrphanedNode():
            return "departs", node.lost
        case InitializedNode():
            is_synced = node.labels == labels_of() and node.addresses == addresses_of()
            return "settled", node.server.key.name, is_synced, not isinstance(node.shut_down.value, Unmanaged)
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_joining_node(), {"web-1": joins("name")}, id="joining-by-name"),
        pytest.param(
            a_joining_node("db-1", provider_id="hcloud://1"),
            {"db-1": joins("providerID")},
            id="joining-by-provider-id",
        ),
        pytest.param(a_settled_node(), {"web-1": SETTLED}, id="settled"),
        pytest.param(
            a_settled_node(taints=(UNINITIALIZED,)), {"web-1": joins("providerID")}, id="tainted-again-joins-again"
        ),
        pytest.param(
            a_lost_node(server_id=9), {"web-1": departs(a_lost_node(server_id=9), 9)}, id="settled-and-its-server-gone"
        ),
        pytest.param(
            a_joining_node(provider_id="hcloud://9"),
            {"web-1": departs(a_joining_node(provider_id="hcloud://9"), 9)},
            id="joining-and-its-server-gone-though-another-has-its-name",
        ),
        pytest.param(a_settled_node(provider_id="hrobot://7"), {}, id="robot"),
    ],
)
def test_desired_nodes(node: Node, expected: Mapping[str, Outcome]) -> None:
    """A Node joins, is kept true or departs, and nothing is noted of a Node of ours."""
    assert outcome([node], servers=[WEB_1]) == (expected, ())


@pytest.mark.parametrize("ready", Readiness)
@pytest.mark.parametrize("servers", [[], [WEB_2]], ids=["empty-project", "other-servers"])
def test_node_without_a_provider_id_never_departs(ready: Readiness, servers: Sequence[Server]) -> None:
    """A Node whose name matches nothing is noted, whatever its readiness and age: it may have another name."""
    node = replace(a_lost_node(ready=ready), provider_id=None, taints=(UNINITIALIZED,))
    nodes, notes = outcome([node], servers=servers)
    assert (nodes, [note.kind for note in notes]) == ({}, [NoteKind.UNMATCHED])


@pytest.mark.parametrize("node", [a_lost_node(server_id=9), a_joining_node(provider_id="hcloud://9")])
def test_nothing_departs_from_an_incomplete_list(node: Node) -> None:
    """A server that is missing from a list with a gap is not gone."""
    nodes, _ = outcome([node], servers_section=incomplete(servers_of(WEB_1)))
    assert nodes == {}


def test_node_of_another_projects_server() -> None:
    """A server of another project looks gone: the Node departs when it is not Ready, and the guards have the word."""
    silent, ready = a_lost_node("silent", 8), a_settled_node("ready", 9)
    nodes, notes = outcome([silent, ready], servers=[WEB_1])
    assert nodes == {"silent": departs(silent, 8)}
    assert [(note.key, note.kind) for note in notes] == [("node/ready", NoteKind.UNMATCHED)]


def test_two_nodes_with_one_provider_id() -> None:
    """While the server lives, neither Node is touched and each is told of the other; a joining one likewise."""
    nodes = [a_settled_node("a"), a_lost_node("b"), a_joining_node("c", provider_id="hcloud://1")]
    found, notes = outcome(nodes, servers=[WEB_1])
    assert found == {}
    assert [(note.key, note.kind) for note in notes] == [(f"node/{name}", NoteKind.AMBIGUOUS) for name in "abc"]


def test_two_nodes_with_one_provider_id_whose_server_is_gone() -> None:
    """Once the server is gone there is nothing left to be in doubt about: both depart."""
    a, b = a_lost_node("a"), a_lost_node("b")
    assert outcome([a, b], servers=[WEB_2]) == ({"a": departs(a, 1), "b": departs(b, 1)}, ())


def test_ignored_node_keeps_its_server() -> None:
    """A server whose Node is ignored is not given to a joining Node of its name."""
    ignored, joining = a_settled_node("old", labels={"team": "red"}), a_joining_node("web-1")
    settings = Settings(ignore_nodes=parse_selector("team"))
    nodes, notes = outcome([ignored, joining], settings, servers=[WEB_1])
    assert nodes == {}
    assert [(note.key, note.kind) for note in notes] == [
        ("node/old", NoteKind.IGNORED),
        ("node/web-1", NoteKind.AMBIGUOUS),
    ]


def test_ignored_node_is_a_rival() -> None:
    """Of two Nodes with one providerID the other one is not trusted because one is ignored."""
    ignored, settled = a_settled_node("old", labels={"team": "red"}), a_settled_node("web-1")
    settings = Settings(ignore_nodes=parse_selector("team"))
    nodes, notes = outcome([ignored, settled], settings, servers=[WEB_1])
    assert (nodes, [note.kind for note in notes]) == ({}, [NoteKind.IGNORED, NoteKind.AMBIGUOUS])


def test_selector_that_does_not_match() -> None:
    """A Node that is not selected is like any other."""
    settings = Settings(ignore_nodes=parse_selector("team"))
    assert outcome([a_settled_node()], settings, servers=[WEB_1]) == ({"web-1": SETTLED}, ())


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_joining_node(), {}, id="joining"),
        pytest.param(a_joining_node("nobody"), {}, id="joining-and-unmatched"),
        pytest.param(a_settled_node(), {"web-1": ("settled", "server 1", False, True)}, id="settled"),
        pytest.param(
            a_lost_node(server_id=9), {"web-1": departs(a_lost_node(server_id=9), 9)}, id="without-its-server"
        ),
        pytest.param(
            a_joining_node(provider_id="hcloud://9"),
            {"web-1": departs(a_joining_node(provider_id="hcloud://9"), 9)},
            id="joining-without-its-server",
        ),
    ],
)
def test_without_the_node_controller(node: Node, expected: Mapping[str, Outcome]) -> None:
    """Nothing joins, no label and no address is kept true; what has no server still departs."""
    settings = Settings(controllers=frozenset(Controller) - {Controller.NODE})
    assert outcome([node], settings, servers=[WEB_1]) == (expected, ())


@pytest.mark.parametrize(
    ("node", "expected", "noted"),
    [
        pytest.param(a_joining_node(), {"web-1": joins("name")}, [], id="joining"),
        pytest.param(a_settled_node(), {"web-1": ("settled", "server 1", True, False)}, [], id="settled"),
        pytest.param(a_lost_node(server_id=9), {}, [], id="without-its-server"),
        pytest.param(
            a_joining_node(provider_id="hcloud://9"), {}, [NoteKind.UNMATCHED], id="joining-without-its-server"
        ),
    ],
)
def test_without_the_lifecycle_controller(
    node: Node, expected: Mapping[str, Outcome], noted: Sequence[NoteKind]
) -> None:
    """Nothing departs and no shutdown taint is kept true; what can join does."""
    settings = Settings(controllers=frozenset(Controller) - {Controller.LIFECYCLE})
    nodes, notes = outcome([node], settings, servers=[WEB_1])
    assert (nodes, [note.kind for note in notes]) == (expected, noted)


def test_race_of_node_and_server() -> None:
    """A Node that registered before its server shows is initialized once the server shows."""
    node = a_joining_node()
    early, notes = outcome([node])
    late, no_notes = outcome([node], servers=[WEB_1])
    assert (early, len(notes), list(late), no_notes) == ({}, 1, ["web-1"], ())


def test_replacement_under_the_same_name() -> None:
    """A Node that registered again without a providerID joins as the new server, whatever the old one was."""
    renamed = a_server(2, "web-1", ipv4=WEB_1.ipv4)
    nodes, _ = outcome([a_joining_node()], servers=[renamed])
    assert nodes == {"web-1": joins("name", "hcloud://2")}


def test_a_renamed_server_leaves_the_host_its_name() -> None:
    """The Hostname follows the server when the Node joins, and no later."""
    nodes, notes = desired_nodes(a_snapshot([a_settled_node("db-1")], [a_server(name="db-9")]), SETTINGS)
    assert nodes["db-1"].addresses.values == (NodeAddress(AddressType.HOSTNAME, "db-1"), WEB_1_ADDRESSES[1])
    assert [(note.key, note.kind) for note in notes] == [("node/db-1", NoteKind.KEPT)]
