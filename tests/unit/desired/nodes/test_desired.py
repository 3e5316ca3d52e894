"""What each Node of a snapshot should be, beside the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from desired.model.absence import proof_of_absence
from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server
from desired.nodes.addresses import DesiredAddresses, choose_hostname, desired_addresses
from desired.nodes.desired import (
    DesiredNode,
    InitializedNode,
    OrphanedNode,
    UninitializedNode,
    current_identity,
    desired_nodes,
)
from desired.nodes.labels import desired_labels
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.notes import Note, NoteKind
from desired.rules.nodes import CONTROLLER_OFF
from desired.rules.rule import Decided
from desired.section import UNMANAGED, Unmanaged
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOBODY,
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
from tests.support.keys import key_of

SETTINGS = Settings()
WEB_1, WEB_2 = a_server(1, "web-1"), a_server(2, "web-2")
LABELS = desired_labels(WEB_1, {}, SETTINGS, joins=True)
HOSTNAME = choose_hostname(a_settled_node(), WEB_1, NOBODY, joins=False)
ADDRESSES = desired_addresses(a_settled_node(), WEB_1, HOSTNAME, a_snapshot(), SETTINGS, NOBODY)
assert isinstance(ADDRESSES, DesiredAddresses)
SETTLED = InitializedNode(WEB_1, LABELS, ADDRESSES, shut_down=False)
OFF: Decided[Unmanaged] = Decided(UNMANAGED, CONTROLLER_OFF, {"controller": Controller.NODE})


def joins(by: str, provider_id: str = "hcloud://1", server: Server = WEB_1) -> UninitializedNode:
    """A joining Node that is recognized as ``server``, which has the addresses of server 1."""
    assert isinstance(ADDRESSES, DesiredAddresses)
    return UninitializedNode(
        NodeIdentity(provider_id, SERVER_LABELS, (), WEB_1_ADDRESSES), server, by, LABELS, ADDRESSES
    )


def departs(node: Node, server_id: int) -> OrphanedNode:
    """``node`` as one to be deleted."""
    return OrphanedNode(LostNode(current_identity(node, SETTINGS), proof_of_absence(node, in_cloud(server_id))))


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
def test_desired_nodes(node: Node, expected: Mapping[str, DesiredNode]) -> None:
    """A Node joins, is kept true or departs, and nothing is noted of a Node of ours."""
    assert desired_nodes(a_snapshot([node], [WEB_1]), SETTINGS) == (expected, ())


@pytest.mark.parametrize("ready", Readiness)
@pytest.mark.parametrize("servers", [[], [WEB_2]], ids=["empty-project", "other-servers"])
def test_node_without_a_provider_id_never_departs(ready: Readiness, servers: Sequence[Server]) -> None:
    """A Node whose name matches nothing is noted, whatever its readiness and age: it may have another name."""
    node = replace(a_lost_node(ready=ready), provider_id=None, taints=(UNINITIALIZED,))
    nodes, notes = desired_nodes(a_snapshot([node], servers), SETTINGS)
    assert (dict(nodes), [note.kind for note in notes]) == ({}, [NoteKind.UNMATCHED])


@pytest.mark.parametrize("node", [a_lost_node(server_id=9), a_joining_node(provider_id="hcloud://9")])
def test_nothing_departs_from_an_incomplete_list(node: Node) -> None:
    """A server that is missing from a list with a gap is not gone."""
    snapshot = a_snapshot([node], servers_section=incomplete(servers_of(WEB_1)))
    nodes, _ = desired_nodes(snapshot, SETTINGS)
    assert dict(nodes) == {}


def test_node_of_another_projects_server() -> None:
    """A server of another project looks gone: the Node departs when it is not Ready, and the guards have the word."""
    silent, ready = a_lost_node("silent", 8), a_settled_node("ready", 9)
    nodes, notes = desired_nodes(a_snapshot([silent, ready], [WEB_1]), SETTINGS)
    assert dict(nodes) == {"silent": departs(silent, 8)}
    assert [(note.key, note.kind) for note in notes] == [("node/ready", NoteKind.UNMATCHED)]


def test_two_nodes_with_one_provider_id() -> None:
    """While the server lives, neither Node is touched and each is told of the other; a joining one likewise."""
    nodes = [a_settled_node("a"), a_lost_node("b"), a_joining_node("c", provider_id="hcloud://1")]
    found = desired_nodes(a_snapshot(nodes, [WEB_1]), SETTINGS)
    why = "providerID 'hcloud://1' is also that of node"
    assert found == (
        {},
        (
            Note(key_of("node/a"), NoteKind.AMBIGUOUS, f"{why} b, c; both are left alone, delete the stale one"),
            Note(key_of("node/b"), NoteKind.AMBIGUOUS, f"{why} a, c; both are left alone, delete the stale one"),
            Note(key_of("node/c"), NoteKind.AMBIGUOUS, f"{why} a, b; delete the stale Node, or rename one of them"),
        ),
    )


def test_two_nodes_with_one_provider_id_whose_server_is_gone() -> None:
    """Once the server is gone there is nothing left to be in doubt about: both depart."""
    a, b = a_lost_node("a"), a_lost_node("b")
    nodes, notes = desired_nodes(a_snapshot([a, b], [WEB_2]), SETTINGS)
    assert (nodes, notes) == ({"a": departs(a, 1), "b": departs(b, 1)}, ())


def test_ignored_node_keeps_its_server() -> None:
    """A server whose Node is ignored is not given to a joining Node of its name."""
    ignored, joining = a_settled_node("old", labels={"team": "red"}), a_joining_node("web-1")
    settings = Settings(ignore_nodes=parse_selector("team"))
    nodes, notes = desired_nodes(a_snapshot([ignored, joining], [WEB_1]), settings)
    assert dict(nodes) == {}
    assert [(note.key, note.kind) for note in notes] == [
        ("node/old", NoteKind.IGNORED),
        ("node/web-1", NoteKind.AMBIGUOUS),
    ]


def test_ignored_node_is_a_rival() -> None:
    """Of two Nodes with one providerID the other one is not trusted because one is ignored."""
    ignored, settled = a_settled_node("old", labels={"team": "red"}), a_settled_node("web-1")
    settings = Settings(ignore_nodes=parse_selector("team"))
    nodes, notes = desired_nodes(a_snapshot([ignored, settled], [WEB_1]), settings)
    assert (dict(nodes), [note.kind for note in notes]) == ({}, [NoteKind.IGNORED, NoteKind.AMBIGUOUS])


def test_selector_that_does_not_match() -> None:
    """A Node that is not selected is like any other."""
    settings = Settings(ignore_nodes=parse_selector("team"))
    assert desired_nodes(a_snapshot([a_settled_node()], [WEB_1]), settings) == ({"web-1": SETTLED}, ())


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_joining_node(), {}, id="joining"),
        pytest.param(a_joining_node("nobody"), {}, id="joining-and-unmatched"),
        pytest.param(a_settled_node(), {"web-1": replace(SETTLED, labels=OFF, addresses=OFF)}, id="settled"),
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
def test_without_the_node_controller(node: Node, expected: Mapping[str, DesiredNode]) -> None:
    """Nothing joins, no label and no address is kept true; what has no server still departs."""
    settings = Settings(controllers=frozenset(Controller) - {Controller.NODE})
    assert desired_nodes(a_snapshot([node], [WEB_1]), settings) == (expected, ())


@pytest.mark.parametrize(
    ("node", "expected", "noted"),
    [
        pytest.param(a_joining_node(), {"web-1": joins("name")}, [], id="joining"),
        pytest.param(a_settled_node(), {"web-1": replace(SETTLED, shut_down=UNMANAGED)}, [], id="settled"),
        pytest.param(a_lost_node(server_id=9), {}, [], id="without-its-server"),
        pytest.param(
            a_joining_node(provider_id="hcloud://9"), {}, [NoteKind.UNMATCHED], id="joining-without-its-server"
        ),
    ],
)
def test_without_the_lifecycle_controller(
    node: Node, expected: Mapping[str, DesiredNode], noted: Sequence[NoteKind]
) -> None:
    """Nothing departs and no shutdown taint is kept true; what can join does."""
    settings = Settings(controllers=frozenset(Controller) - {Controller.LIFECYCLE})
    nodes, notes = desired_nodes(a_snapshot([node], [WEB_1]), settings)
    assert (nodes, [note.kind for note in notes]) == (expected, noted)


def test_race_of_node_and_server() -> None:
    """A Node that registered before its server shows is initialized once the server shows."""
    node = a_joining_node()
    early, notes = desired_nodes(a_snapshot([node], []), SETTINGS)
    late, no_notes = desired_nodes(a_snapshot([node], [WEB_1]), SETTINGS)
    assert (dict(early), len(notes), list(late), no_notes) == ({}, 1, ["web-1"], ())


def test_replacement_under_the_same_name() -> None:
    """A Node that registered again without a providerID joins as the new server, whatever the old one was."""
    renamed = a_server(2, "web-1", ipv4=WEB_1.ipv4)
    nodes, _ = desired_nodes(a_snapshot([a_joining_node()], [renamed]), SETTINGS)
    assert dict(nodes) == {"web-1": joins("name", "hcloud://2", renamed)}


def test_a_renamed_server_leaves_the_host_its_name() -> None:
    """The Hostname follows the server when the Node joins, and no later."""
    nodes, notes = desired_nodes(a_snapshot([a_settled_node("db-1")], [a_server(name="db-9")]), SETTINGS)
    wanted = nodes["db-1"]
    assert isinstance(wanted, InitializedNode)
    assert isinstance(wanted.addresses, DesiredAddresses)
    assert wanted.addresses.values == (NodeAddress(AddressType.HOSTNAME, "db-1"), WEB_1_ADDRESSES[1])
    assert [(note.key, note.kind) for note in notes] == [("node/db-1", NoteKind.KEPT)]
