"""What a person is told of the Nodes that are left alone."""

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, Server, Snapshot
from desired.nodes.addresses import choose_addresses
from desired.nodes.desired import desired_nodes, note_on_miss, note_on_unclaimed, notes_on_unmanaged
from desired.nodes.matching import Ambiguous, Foreign, Gone, Malformed, Miss, Unmatched, Unsupported
from desired.plan.notes import Note, NoteKind
from desired.rules.nodes import PUBLIC_IPV4
from desired.rules.rule import Decided
from desired.section import Section, Unknown
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    WEB_1_ADDRESSES,
    a_joining_node,
    a_lost_node,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
    incomplete,
    servers_of,
)
from tests.support.keys import key_of

KEY = "node/web-1"

REMEDY = "a Node joins when its name is its server's, or with the kubelet's --provider-id"


@pytest.mark.parametrize(
    ("miss", "kind", "text"),
    [
        pytest.param(
            Unmatched("no such server", ("web-2", "web-3")),
            NoteKind.UNMATCHED,
            f"no such server; nearest: web-2, web-3; {REMEDY}",
            id="no-server-of-the-name",
        ),
        pytest.param(
            Unmatched("no such server"), NoteKind.UNMATCHED, f"no such server; {REMEDY}", id="no-server-and-no-nearest"
        ),
        pytest.param(
            Gone(in_cloud(9)),
            NoteKind.UNMATCHED,
            "no server of the project has the id 9; delete the Node if its server is gone for good",
            id="no-server-of-the-provider-id",
        ),
        pytest.param(
            Gone(in_cloud(9), 2),
            NoteKind.UNMATCHED,
            "no server of the project has the id 9; delete the Node if its server is gone for good",
            id="replaced-by-a-server-of-its-name",
        ),
        pytest.param(
            Ambiguous("two of them"),
            NoteKind.AMBIGUOUS,
            "two of them; delete the stale Node, or rename one of them",
            id="ambiguous",
        ),
        pytest.param(Foreign("not ours"), NoteKind.FOREIGN, "not ours; left alone", id="foreign"),
        pytest.param(
            Unsupported("Robot"),
            NoteKind.UNSUPPORTED,
            "Robot; set ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD",
            id="unsupported",
        ),
        pytest.param(
            Malformed("nonsense"),
            NoteKind.MALFORMED,
            "nonsense; delete the Node and let its kubelet register again",
            id="malformed",
        ),
        pytest.param(Unknown("429"), NoteKind.UNKNOWN, "429", id="unknown"),
    ],
)
def test_note_on_miss(miss: Miss, kind: NoteKind, text: str) -> None:
    """Each miss has its kind, its reason and what a person can do."""
    assert note_on_miss(a_joining_node(), miss) == Note(key_of(KEY), kind, text)


BROKEN: Section[int, Server] = Section(unreadable={1: "server 1 could not be read"})


@pytest.mark.parametrize(
    ("miss", "whole", "expected"),
    [
        pytest.param(Foreign("another cloud's"), True, (NoteKind.FOREIGN, "another cloud's; left alone"), id="foreign"),
        pytest.param(
            Malformed("no number"),
            True,
            (NoteKind.MALFORMED, "no number; left alone; delete the Node and let its kubelet register again"),
            id="malformed",
        ),
        pytest.param(
            Ambiguous("two of them"),
            True,
            (NoteKind.AMBIGUOUS, "two of them; both are left alone, delete the stale one"),
            id="ambiguous",
        ),
        pytest.param(
            Unknown("server 1 could not be read"),
            True,
            (NoteKind.UNKNOWN, "server 1 could not be read"),
            id="its-server-arrived-and-could-not-be-read",
        ),
        pytest.param(Unknown("page 2 timed out"), False, None, id="a-gap-in-the-list-is-told-once-with-the-list"),
        pytest.param(Unsupported("Robot"), True, None, id="robot"),
        pytest.param(Gone(in_cloud(1)), True, None, id="gone-is-the-lifecycle-controllers"),
        pytest.param(Unmatched("nothing"), True, None, id="unmatched"),
    ],
)
def test_notes_on_unmanaged(miss: Miss, whole: bool, expected: tuple[NoteKind, str] | None) -> None:
    """A Node on which nothing can be kept true is spoken of when that is about this Node."""
    notes = () if expected is None else (Note(key_of(KEY), *expected),)
    assert notes_on_unmanaged(a_settled_node(), miss, list_of_servers_is_whole=whole) == notes


def test_note_on_unclaimed() -> None:
    """A Node that never asked for a cloud is foreign, and the note says how it would ask."""
    why = "has neither a providerID nor the uninitialized taint, so it is left alone"
    remedy = "to have it managed, start its kubelet with --cloud-provider=external and let the Node register again"
    assert note_on_unclaimed(a_node()) == Note(key_of(KEY), NoteKind.FOREIGN, f"{why}; {remedy}")


def unusable(annotation: str) -> str:
    """Why ``annotation`` does not fit server 1."""
    addresses = tuple(Decided(address, PUBLIC_IPV4) for address in WEB_1_ADDRESSES)
    chosen = choose_addresses(addresses, annotation, None)
    assert isinstance(chosen, Decided)
    return chosen.text


@pytest.mark.parametrize(
    ("snapshot", "kind", "text"),
    [
        pytest.param(
            a_snapshot([a_joining_node(ready=Readiness.FALSE)], [a_server(2, "web-2")]),
            NoteKind.UNMATCHED,
            f"no server of the project is named 'web-1'; nearest: web-2; {REMEDY}",
            id="unmatched-and-not-ready-is-not-deleted",
        ),
        pytest.param(
            a_snapshot([a_joining_node(ready=Readiness.TRUE)], []),
            NoteKind.UNMATCHED,
            f"the token's project has no servers at all; {REMEDY}",
            id="empty-project",
        ),
        pytest.param(
            a_snapshot([a_joining_node(provided_node_ip="10.0.0.2")], [a_server()]),
            NoteKind.UNUSABLE_NODE_IP,
            unusable("10.0.0.2"),
            id="private-node-ip-without-a-network",
        ),
        pytest.param(
            a_snapshot([a_joining_node(provided_node_ip="")], [a_server()]),
            NoteKind.UNUSABLE_NODE_IP,
            unusable(""),
            id="empty-node-ip",
        ),
        pytest.param(
            a_snapshot([a_joining_node()], [a_server()], network=Unknown("429")),
            NoteKind.UNKNOWN,
            "addresses are not written: 429",
            id="network-unreadable",
        ),
        pytest.param(
            a_snapshot([a_joining_node()], servers_section=incomplete(servers_of(a_server()), "429")),
            NoteKind.UNKNOWN,
            "the list of servers is incomplete, and a name decides only in a whole list",
            id="servers-incomplete",
        ),
        pytest.param(
            a_snapshot([a_joining_node()], servers_section=BROKEN),
            NoteKind.UNKNOWN,
            "server 1 could not be read and may be the one",
            id="server-unreadable",
        ),
        pytest.param(
            a_snapshot([a_settled_node()], servers_section=BROKEN),
            NoteKind.UNKNOWN,
            "server 1 could not be read",
            id="server-of-a-settled-node-unreadable",
        ),
        pytest.param(
            a_snapshot([a_joining_node(provider_id="aws:///i-1")], [a_server(1, "web-2")]),
            NoteKind.FOREIGN,
            "providerID 'aws:///i-1' belongs to another cloud; left alone",
            id="foreign",
        ),
        pytest.param(
            a_snapshot([a_lost_node(provider_id="k3s://web-1")], [a_server()]),
            NoteKind.LIKELY_SERVER,
            "providerID 'k3s://web-1' was set by the built-in cloud controller of k3s; server 1 has its name; left"
            " alone; to have the Node managed: start the k3s servers with --disable-cloud-controller and every k3s with"
            " --kubelet-arg=cloud-provider=external, delete the Node and restart its kubelet",
            id="of-a-distribution-settled-and-not-ready",
        ),
        pytest.param(
            a_snapshot([a_joining_node(provider_id="hrobot://1")], [a_server()]),
            NoteKind.UNSUPPORTED,
            (
                "providerID 'hrobot://1' is a Robot server, and Robot servers are not read; set"
                " ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD"
            ),
            id="robot",
        ),
        pytest.param(
            a_snapshot([a_lost_node(provider_id="hcloud://-5")], [a_server()]),
            NoteKind.MALFORMED,
            "providerID 'hcloud://-5': '-5' is no server id (a positive decimal number); left alone;"
            " delete the Node and let its kubelet register again",
            id="malformed-settled-and-not-ready",
        ),
        pytest.param(
            a_snapshot([a_lost_node(provider_id=None)], [a_server()]),
            NoteKind.LIKELY_SERVER,
            "has neither a providerID nor the uninitialized taint, so it is left alone; server 1 has its name; to have"
            " it managed, start its kubelet with --cloud-provider=external and let the Node register again",
            id="unclaimed-and-not-ready-is-not-deleted",
        ),
        pytest.param(
            a_snapshot([a_settled_node()], [a_server(2, "web-2")]),
            NoteKind.UNMATCHED,
            "no server of the project has the id 1, and its kubelet reports Ready: nothing is done while it does",
            id="server-gone-and-ready",
        ),
        pytest.param(
            a_snapshot([a_settled_node()], [a_server(2, "web-1")]),
            NoteKind.UNMATCHED,
            "no server of the project has the id 1, and its kubelet reports Ready: nothing is done while it does;"
            " server 2 has its name: delete the Node, so that the kubelet there registers anew",
            id="server-made-anew-under-its-name",
        ),
        pytest.param(
            a_snapshot([a_lost_node(deleted_at=NOW, finalizers=("example.com/a",))], [a_server(2, "web-2")]),
            NoteKind.DELETING,
            "no server of the project has the id 1; the Node is being deleted since 2026-07-01 12:00 UTC"
            " and waits for finalizers example.com/a",
            id="server-gone-and-being-deleted",
        ),
        pytest.param(
            a_snapshot([], [a_server()], nodes_section=Section(unreadable={"web-1": "no uid"})),
            NoteKind.UNREADABLE,
            "no uid",
            id="node-unreadable",
        ),
    ],
)
def test_nodes_left_alone(snapshot: Snapshot, kind: NoteKind, text: str) -> None:
    """A Node of which nothing can or may be wanted is left as it is, and a note says why."""
    assert desired_nodes(snapshot, Settings()) == ({}, (Note(key_of(KEY), kind, text),))


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_settled_node(provider_id="hrobot://7"), id="robot"),
        pytest.param(a_lost_node(provider_id="hcloud://bm-7"), id="robot-of-the-fork-not-ready"),
    ],
)
def test_robot_nodes_are_nobodys_business_yet(node: Node) -> None:
    """A settled Node of Robot needs nothing and is not spoken of."""
    assert desired_nodes(a_snapshot([node], [a_server()]), Settings()) == ({}, ())


def test_a_gap_in_the_list_is_not_told_on_each_node() -> None:
    """A settled Node whose server an incomplete list lacks is not spoken of: the list is."""
    snapshot = a_snapshot([a_settled_node()], servers_section=incomplete(servers_of()))
    assert desired_nodes(snapshot, Settings()) == ({}, ())


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_joining_node(labels={"team": "red"}), id="joining"),
        pytest.param(a_settled_node(labels={"team": "red"}), id="settled-with-labels-to-correct"),
        pytest.param(a_lost_node(server_id=9, labels={"team": "red"}), id="without-its-server"),
        pytest.param(a_settled_node(labels={"team": "red"}, provider_id="aws:///i-1"), id="foreign"),
        pytest.param(a_node(labels={"team": "red"}), id="unclaimed"),
    ],
)
def test_ignored_nodes(node: Node) -> None:
    """An ignored Node is left alone in every part of its life, and the note shows the selector."""
    settings = Settings(ignore_nodes=parse_selector("team in (red)"))
    note = Note(key_of(KEY), NoteKind.IGNORED, "ignored: matches team in (red)")
    assert desired_nodes(a_snapshot([node], [a_server()]), settings) == ({}, (note,))
