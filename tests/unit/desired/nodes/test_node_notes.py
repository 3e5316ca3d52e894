"""What a person is told of the Nodes that are left alone."""

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, RobotAccount, Server, Snapshot
from desired.nodes.node import desired_nodes
from desired.plan.notes import Note, NoteKind
from desired.section import Section, Unknown
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    a_joining_node,
    a_lost_node,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.support.keys import key_of
from tests.support.nodes import managed

KEY = "node/web-1"

REMEDY = "give the Node its server's name, or start its kubelet with --provider-id"
BROKEN: Section[int, Server] = Section(unreadable={1: "server 1 could not be read"})


@pytest.mark.parametrize(
    ("snapshot", "kind", "text"),
    [
        pytest.param(
            a_snapshot([a_joining_node(ready=Readiness.FALSE)], [a_server(2, "web-2")]),
            NoteKind.UNMATCHED,
            f"no server of the project is named 'web-1' (nearest: web-2); {REMEDY}",
            id="unmatched-and-not-ready-is-not-deleted",
        ),
        pytest.param(
            a_snapshot([a_joining_node(ready=Readiness.TRUE)], []),
            NoteKind.UNMATCHED,
            f"the project has no servers; {REMEDY}",
            id="empty-project",
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
            "server 1 could not be read and may be the Node's",
            id="server-unreadable",
        ),
        pytest.param(
            a_snapshot([a_settled_node()], servers_section=BROKEN),
            NoteKind.UNKNOWN,
            "the Node's server is unknown: server 1 could not be read",
            id="server-of-a-settled-node-unreadable",
        ),
        pytest.param(
            a_snapshot([a_joining_node(provider_id="aws:///i-1")], [a_server(1, "web-2")]),
            NoteKind.FOREIGN,
            "providerID 'aws:///i-1' belongs to another cloud",
            id="foreign",
        ),
        pytest.param(
            a_snapshot([a_lost_node(provider_id="k3s://web-1")], [a_server()]),
            NoteKind.LIKELY_SERVER,
            "providerID 'k3s://web-1' was set by the built-in cloud controller of k3s, and the Node is likely server 1"
            " web-1 (by name); to have the Node managed, start the k3s servers with --disable-cloud-controller and"
            " every k3s with --kubelet-arg=cloud-provider=external, delete the Node and restart its kubelet",
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
            "providerID 'hcloud://-5' has no server id (a positive decimal number);"
            " delete the Node and let its kubelet register again",
            id="malformed-settled-and-not-ready",
        ),
        pytest.param(
            a_snapshot([a_lost_node(provider_id=None)], [a_server()]),
            NoteKind.LIKELY_SERVER,
            "the Node has neither a providerID nor the uninitialized taint, and is likely server 1 web-1 (by name); to"
            " have it managed, start its kubelet with --cloud-provider=external and let the Node register again",
            id="unclaimed-and-not-ready-is-not-deleted",
        ),
        pytest.param(
            a_snapshot([a_settled_node()], [a_server(2, "web-2")]),
            NoteKind.UNMATCHED,
            "the project has no server 1, and the Node's kubelet reports Ready",
            id="server-gone-and-ready",
        ),
        pytest.param(
            a_snapshot([a_settled_node()], [a_server(2, "web-1")]),
            NoteKind.UNMATCHED,
            "the project has no server 1, and server 2 has the Node's name; delete the Node, so that the kubelet there"
            " registers anew",
            id="server-made-anew-under-its-name",
        ),
        pytest.param(
            a_snapshot([a_lost_node(deleted_at=NOW, finalizers=("example.com/a",))], [a_server(2, "web-2")]),
            NoteKind.DELETING,
            "the project has no server 1, and the Node is being deleted since 2026-07-01 12:00 UTC and waits"
            " for finalizers example.com/a",
            id="server-gone-and-being-deleted",
        ),
        pytest.param(
            a_snapshot([a_node()], [a_server(2, "web-2")]),
            NoteKind.FOREIGN,
            "the Node has neither a providerID nor the uninitialized taint; to have it managed, start its kubelet with"
            " --cloud-provider=external and let the Node register again",
            id="unclaimed",
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
    nodes, notes = desired_nodes(snapshot, Settings())
    assert (managed(nodes), notes) == ({}, (Note(key_of(KEY), kind, text),))


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_settled_node(provider_id="hrobot://7"), id="robot"),
        pytest.param(a_lost_node(provider_id="hcloud://bm-7"), id="robot-of-the-fork-not-ready"),
    ],
)
def test_robot_nodes_are_nobodys_business_yet(node: Node) -> None:
    """A settled Node of Robot needs nothing and is not spoken of."""
    nodes, notes = desired_nodes(a_snapshot([node], [a_server()]), Settings())
    assert (managed(nodes), notes) == ({}, ())


def test_a_gap_in_the_list_is_not_told_on_each_node() -> None:
    """A settled Node whose server an incomplete list lacks is not spoken of: the list is."""
    snapshot = a_snapshot([a_settled_node()], servers_section=incomplete(servers_of()))
    nodes, notes = desired_nodes(snapshot, Settings())
    assert (managed(nodes), notes) == ({}, ())


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
    nodes, notes = desired_nodes(a_snapshot([node], [a_server()]), settings)
    assert (managed(nodes), notes) == ({}, (note,))


@pytest.mark.parametrize(("forwards", "noted"), [(True, 1), (False, 0)])
def test_an_internal_ip_that_is_not_kept_is_told_where_any_is(forwards: bool, noted: int) -> None:
    """With ROBOT_FORWARD_INTERNAL_IPS off none is kept, as asked for: that is no fault of the kubelet's."""
    server = a_robot_server(321, "web-1")
    node = a_node(
        provider_id="hrobot://321",
        addresses=(NodeAddress(AddressType.HOSTNAME, "web-1"), NodeAddress(AddressType.INTERNAL_IP, "bond0")),
    )
    world = a_snapshot([node], robot=RobotAccount(Section({321: server})))
    _, notes = desired_nodes(world, Settings(robot=True, forward_internal_ips=forwards))
    assert [note.kind for note in notes].count(NoteKind.MISCONFIGURED_INTERNAL_IP) == noted
