"""Which server a Node is: nodes-and-routes 2.2, W-1, edge cases 1 to 4."""

import pytest

from desired.matching import Ambiguous, Foreign, Malformed, Match, Matched, Matcher, Unmatched
from desired.section import Section, Unknown
from desired.snapshot import Node, Server
from tests.builders import a_joining_node, a_server, a_settled_node, incomplete, nodes_of, servers_of

WEB_1, WEB_2 = a_server(1, "web-1"), a_server(2, "web-2")
BOTH = servers_of(WEB_1, WEB_2)
BROKEN: Section[int, Server] = Section({1: WEB_1}, unreadable={9: "x", 7: "server 7 could not be read"})


def preset(provider_id: str, name: str = "web-1") -> Node:
    """A Node whose kubelet was started with ``--provider-id``."""
    return a_joining_node(name, provider_id=provider_id)


def malformed(text: str, rest: str) -> Malformed:
    """The answer for ``rest`` behind one of our prefixes."""
    return Malformed(f"providerID {text!r}: {rest!r} is no server id (a positive decimal number)")


@pytest.mark.parametrize(
    ("node", "servers", "expected"),
    [
        pytest.param(preset("hcloud://1"), BOTH, Matched(WEB_1, "providerID"), id="there"),
        pytest.param(preset("hcloud://1", "db-1"), BOTH, Matched(WEB_1, "providerID"), id="renamed-server-matches"),
        pytest.param(
            preset("hcloud://1"), incomplete(BOTH), Matched(WEB_1, "providerID"), id="there-in-an-incomplete-list"
        ),
        pytest.param(
            preset("hcloud://3"),
            BOTH,
            Unmatched("no server of the project has the id 3", ("web-1", "web-2")),
            id="server-of-another-project",
        ),
        pytest.param(
            preset("hcloud://3"), incomplete(BOTH, "429"), Unknown("429"), id="not-seen-in-an-incomplete-list"
        ),
        pytest.param(preset("hcloud://7"), BROKEN, Unknown("server 7 could not be read"), id="unreadable-server"),
        pytest.param(preset("hcloud://1"), BROKEN, Matched(WEB_1, "providerID"), id="another-server-is-unreadable"),
        pytest.param(
            preset("hrobot://1"),
            BOTH,
            Foreign("providerID 'hrobot://1' is a Robot server, and Robot servers are not read"),
            id="robot",
        ),
        pytest.param(
            preset("hcloud://bm-1"),
            BOTH,
            Foreign("providerID 'hcloud://bm-1' is a Robot server, and Robot servers are not read"),
            id="robot-of-the-fork",
        ),
        pytest.param(
            preset("talos://x"), BOTH, Foreign("providerID 'talos://x' belongs to another cloud"), id="other-cloud"
        ),
        pytest.param(preset("hcloud://abc"), BOTH, malformed("hcloud://abc", "abc"), id="malformed"),
        pytest.param(preset("hcloud://-1"), BOTH, malformed("hcloud://-1", "-1"), id="negative-is-not-absent"),
    ],
)
def test_match_by_provider_id(node: Node, servers: Section[int, Server], expected: Match) -> None:
    """A providerID decides alone: the name is not compared, and what is not seen is only absent in a whole list."""
    assert Matcher(nodes_of(node), servers).match(node) == expected


@pytest.mark.parametrize(
    ("name", "servers", "expected"),
    [
        pytest.param("web-1", BOTH, Matched(WEB_1, "name"), id="exact-name"),
        pytest.param(
            "WEB-1", servers_of(WEB_2), Unmatched("no server of the project is named 'WEB-1'"), id="case-sensitive"
        ),
        pytest.param(
            "web-1.example.com",
            BOTH,
            Unmatched("no server of the project is named 'web-1.example.com'", ("web-1", "web-2")),
            id="suffix-is-a-miss-with-candidates",
        ),
        pytest.param(
            "wbe-1",
            BOTH,
            Unmatched("no server of the project is named 'wbe-1'", ("web-1", "web-2")),
            id="typing-error-is-a-miss-with-candidates",
        ),
        pytest.param("gpu", BOTH, Unmatched("no server of the project is named 'gpu'"), id="miss-without-candidates"),
        pytest.param(
            "web-0",
            servers_of(*(a_server(i, f"web-{i}") for i in range(1, 60))),
            Unmatched("no server of the project is named 'web-0'", ("web-20", "web-10", "web-2")),
            id="at-most-three-candidates",
        ),
        pytest.param("web-1", servers_of(), Unmatched("the token's project has no servers at all"), id="empty-project"),
        pytest.param(
            "web-1",
            servers_of(a_server(3, "web-1"), a_server(1, "web-1")),
            Ambiguous("servers 1, 3 are all named 'web-1'"),
            id="two-servers-of-the-name",
        ),
        pytest.param(
            "web-1",
            incomplete(BOTH, "429"),
            Unknown("the list of servers is incomplete: 429"),
            id="never-by-name-in-an-incomplete-list",
        ),
        pytest.param(
            "web-1", BROKEN, Unknown("server 7, 9 could not be read and may be the one"), id="unreadable-server"
        ),
    ],
)
def test_match_by_name(name: str, servers: Section[int, Server], expected: Match) -> None:
    """Without a providerID exactly one server of the exact name is the Node's, said of a whole list only."""
    node = a_joining_node(name)
    assert Matcher(nodes_of(node), servers).match(node) == expected


def test_two_nodes_claim_one_server() -> None:
    """A providerID that two Nodes carry is neither's, and each is told of the other."""
    nodes = nodes_of(preset("hcloud://1", "a"), preset("hcloud://1", "b"), a_settled_node("c", 1))
    matcher = Matcher(nodes, BOTH)
    assert [matcher.match(node) for node in nodes] == [
        Ambiguous("providerID 'hcloud://1' is also that of node b, c"),
        Ambiguous("providerID 'hcloud://1' is also that of node a, c"),
        Ambiguous("providerID 'hcloud://1' is also that of node a, b"),
    ]


def test_name_of_a_server_that_another_node_has() -> None:
    """A server that is already another Node's is not given away by name."""
    node = a_joining_node("web-1")
    matcher = Matcher(nodes_of(node, a_settled_node("old", 1)), BOTH)
    assert matcher.match(node) == Ambiguous("server 1 is named 'web-1' but is the server of node old")


def test_claims_of_other_providers_are_no_rivals() -> None:
    """A Robot number or a malformed id that looks like a server's id claims nothing."""
    node = a_joining_node("web-1")
    rivals = (a_settled_node("a", provider_id="hrobot://1"), a_settled_node("b", provider_id="hcloud://01"))
    assert Matcher(nodes_of(node, *rivals), BOTH).match(node) == Matched(WEB_1, "name")
