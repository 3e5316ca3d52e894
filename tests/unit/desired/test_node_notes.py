"""What a person is told of the Nodes that are left alone: design section 5, row Node; W-1, W-15."""

import pytest

from desired.addresses import UnusableNodeIP, choose_addresses
from desired.change import Note, NoteKind
from desired.matching import Ambiguous, Foreign, Malformed, Unmatched, Unsupported
from desired.nodes import desired_nodes, note_on_miss, notes_on_settled
from desired.section import Section, Unknown
from desired.settings import Settings
from desired.snapshot import Node, Readiness, Server, Snapshot
from tests.builders import (
    WEB_1_ADDRESSES,
    a_joining_node,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)

KEY = "node/web-1"


@pytest.mark.parametrize(
    ("node", "miss", "expected"),
    [
        pytest.param(
            a_joining_node(),
            Unmatched("no such server", ("web-2", "web-3")),
            Note(
                KEY,
                NoteKind.UNMATCHED,
                "no such server; nearest: web-2, web-3;"
                " a Node joins when its name is its server's, or with the kubelet's --provider-id",
            ),
            id="no-server-of-the-name",
        ),
        pytest.param(
            a_joining_node(),
            Unmatched("no such server"),
            Note(
                KEY,
                NoteKind.UNMATCHED,
                "no such server; a Node joins when its name is its server's, or with the kubelet's --provider-id",
            ),
            id="no-server-and-no-candidates",
        ),
        pytest.param(
            a_joining_node(provider_id="hcloud://9"),
            Unmatched("no such server"),
            Note(KEY, NoteKind.UNMATCHED, "no such server; delete the Node if its server is gone for good"),
            id="no-server-of-the-provider-id",
        ),
        pytest.param(
            a_joining_node(),
            Ambiguous("two of them"),
            Note(KEY, NoteKind.AMBIGUOUS, "two of them; delete the stale Node, or rename one of them"),
            id="ambiguous",
        ),
        pytest.param(
            a_joining_node(), Foreign("not ours"), Note(KEY, NoteKind.FOREIGN, "not ours; left alone"), id="foreign"
        ),
        pytest.param(
            a_joining_node(),
            Unsupported("Robot"),
            Note(KEY, NoteKind.UNSUPPORTED, "Robot; left to HCCM"),
            id="unsupported",
        ),
        pytest.param(
            a_joining_node(),
            Malformed("nonsense"),
            Note(KEY, NoteKind.MALFORMED, "nonsense; delete the Node and let its kubelet register again"),
            id="malformed",
        ),
        pytest.param(a_joining_node(), Unknown("429"), Note(KEY, NoteKind.UNKNOWN, "429"), id="unknown"),
    ],
)
def test_note_on_miss(
    node: Node, miss: Unmatched | Ambiguous | Foreign | Unsupported | Malformed | Unknown, expected: Note
) -> None:
    """Each miss has its kind, its reason and what a person can do."""
    assert note_on_miss(node, miss) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_settled_node(), (), id="cloud"),
        pytest.param(a_settled_node(provider_id="hrobot://7"), (), id="robot"),
        pytest.param(a_settled_node(provider_id="hcloud://bm-7"), (), id="robot-of-the-fork"),
        pytest.param(
            a_node(),
            (
                Note(
                    KEY,
                    NoteKind.FOREIGN,
                    "has neither a providerID nor the uninitialised taint:"
                    " its kubelet runs without --cloud-provider=external; left alone",
                ),
            ),
            id="never-asked-for-a-cloud",
        ),
        pytest.param(
            a_settled_node(provider_id="k3s://web-1"),
            (Note(KEY, NoteKind.FOREIGN, "providerID 'k3s://web-1' belongs to another cloud; left alone"),),
            id="other-cloud",
        ),
        pytest.param(
            a_settled_node(provider_id="hcloud://-5"),
            (
                Note(
                    KEY,
                    NoteKind.MALFORMED,
                    "providerID 'hcloud://-5': '-5' is no server id (a positive decimal number); left alone",
                ),
            ),
            id="malformed",
        ),
    ],
)
def test_notes_on_settled(node: Node, expected: tuple[Note, ...]) -> None:
    """A settled Node is only spoken of when it is not ours."""
    assert notes_on_settled(node) == expected


def unusable(annotation: str) -> str:
    """Why ``annotation`` does not fit server 1."""
    chosen = choose_addresses(WEB_1_ADDRESSES, annotation, None)
    assert isinstance(chosen, UnusableNodeIP)
    return chosen.why


BROKEN: Section[int, Server] = Section(unreadable={1: "server 1 could not be read"})


@pytest.mark.parametrize(
    ("snapshot", "kind", "text"),
    [
        pytest.param(
            a_snapshot([a_joining_node(ready=Readiness.FALSE)], [a_server(2, "web-2")]),
            NoteKind.UNMATCHED,
            "no server of the project is named 'web-1'; nearest: web-2;"
            " a Node joins when its name is its server's, or with the kubelet's --provider-id",
            id="unmatched-and-not-ready-is-not-deleted",
        ),
        pytest.param(
            a_snapshot([a_joining_node(ready=Readiness.TRUE)], []),
            NoteKind.UNMATCHED,
            "the token's project has no servers at all;"
            " a Node joins when its name is its server's, or with the kubelet's --provider-id",
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
            "429",
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
            a_snapshot([a_joining_node(provider_id="aws:///i-1")], [a_server()]),
            NoteKind.FOREIGN,
            "providerID 'aws:///i-1' belongs to another cloud; left alone",
            id="foreign",
        ),
        pytest.param(
            a_snapshot([a_joining_node(provider_id="hrobot://1")], [a_server()]),
            NoteKind.UNSUPPORTED,
            "providerID 'hrobot://1' is a Robot server, and Robot servers are not read; left to HCCM",
            id="robot",
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
    """A Node that cannot be initialised is left as it is, and a note says why."""
    assert desired_nodes(snapshot, Settings()) == ({}, (Note(KEY, kind, text),))


@pytest.mark.parametrize(
    ("value", "notes"),
    [
        pytest.param("cloud", (), id="as-we-would-set-it"),
        pytest.param(
            "robot",
            (
                Note(
                    KEY,
                    NoteKind.KEPT,
                    "label instance.hetzner.cloud/provided-by is 'robot' where 'cloud' is expected; kept",
                ),
            ),
            id="somebody-elses",
        ),
    ],
)
def test_kept_label_is_noted(value: str, notes: tuple[Note, ...]) -> None:
    """A ``provided-by`` that somebody set is kept and spoken of, once the Node is initialised."""
    node = a_joining_node(labels={"instance.hetzner.cloud/provided-by": value})
    joining, found = desired_nodes(a_snapshot([node], [a_server()]), Settings())
    assert (list(joining), found) == (["web-1"], notes)
