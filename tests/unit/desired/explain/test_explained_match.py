"""Which server a Node was matched to and on what, or which ones come near and why they are not it."""

from collections.abc import Mapping

import pytest

from desired.explain.stage import Candidate, ServerFact, ServerMatch, explain_match
from desired.model.snapshot import Node, RobotAccount, ServerStatus, Snapshot
from desired.nodes.matching import matcher_of
from desired.section import Absent, Unknown
from desired.syntax.provider_id import Provider
from tests.builders import (
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

WEB_1, WEB_2 = a_server(), a_server(2, "web-2")
SERVER_1 = ServerFact(1, "web-1", ServerStatus.RUNNING, "cpx32", "fsn1")


def matched(node: Node, snapshot: Snapshot, disowned: str | None = None) -> ServerMatch:
    """What is said of the Node's server."""
    return explain_match(node, matcher_of(snapshot).match(node), snapshot, disowned)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_settled_node(), ServerMatch("providerID", "hcloud://1", SERVER_1), id="by-provider-id"),
        pytest.param(a_joining_node(), ServerMatch("name", None, SERVER_1), id="by-name"),
        pytest.param(
            a_settled_node("elsewhere", provider_id="aws://1", addresses=()),
            ServerMatch("providerID", "aws://1", None, "providerID 'aws://1' belongs to another cloud"),
            id="another-cloud",
        ),
        pytest.param(
            a_settled_node(provider_id="hrobot://7"),
            ServerMatch(
                "providerID",
                "hrobot://7",
                None,
                "providerID 'hrobot://7' is a Robot server, and Robot servers are not read",
            ),
            id="robot",
        ),
        pytest.param(
            a_settled_node(provider_id="hcloud://x"),
            ServerMatch(
                "providerID",
                "hcloud://x",
                None,
                "providerID 'hcloud://x': 'x' is no server id (a positive decimal number)",
            ),
            id="malformed",
        ),
        pytest.param(
            a_joining_node("web1"),
            ServerMatch(
                "name",
                None,
                None,
                "no server of the project is named 'web1'",
                (
                    Candidate(1, "web-1", "its name is not the Node's"),
                    Candidate(2, "web-2", "its name is not the Node's, and it is the server of node other"),
                ),
            ),
            id="a-name-that-nothing-has",
        ),
        pytest.param(
            a_lost_node("web-1", 3),
            ServerMatch(
                "providerID",
                "hcloud://3",
                None,
                "no server of the project has the id 3",
                (Candidate(1, "web-1", "the Node's providerID has another id"),),
            ),
            id="a-server-that-is-gone-and-another-of-its-name",
        ),
        pytest.param(
            a_lost_node("web1", 3),
            ServerMatch("providerID", "hcloud://3", None, "no server of the project has the id 3"),
            id="a-server-that-is-gone",
        ),
    ],
)
def test_match(node: Node, expected: ServerMatch) -> None:
    """What decides, the server that it led to, or why it led to none and which servers come near."""
    other = a_settled_node("other", 2)

    assert matched(node, a_snapshot([node, other], [WEB_1, WEB_2])) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(
            a_settled_node("db-1", provider_id="hrobot://321"),
            ServerMatch(
                "providerID",
                "hrobot://321",
                ServerFact(321, "db-1", ServerStatus.UNKNOWN, "AX41-NVMe", "fsn1", Provider.ROBOT),
            ),
            id="by-number",
        ),
        pytest.param(
            a_lost_node("db-1", provider_id="hrobot://9"),
            ServerMatch(
                "providerID",
                "hrobot://9",
                None,
                "no server of the Robot account has the number 9, and asking for it alone says the same",
                (Candidate(321, "db-1", "the Node's providerID has another id", Provider.ROBOT),),
            ),
            id="a-server-that-is-gone",
        ),
        pytest.param(
            a_joining_node("db1"),
            ServerMatch(
                "name",
                None,
                None,
                "no server of the project is named 'db1', nor of the Robot account",
                (Candidate(321, "db-1", "its name is not the Node's", Provider.ROBOT),),
            ),
            id="a-name-that-nothing-has",
        ),
    ],
)
def test_robot_servers(node: Node, expected: ServerMatch) -> None:
    """Their numbers are no ids of the project's servers."""
    account = RobotAccount(servers_of(a_robot_server(321, "db-1")), confirmations={9: Absent()})

    assert matched(node, a_snapshot([node], [a_server(321, "web-1")], robot=account)) == expected


def test_two_nodes_of_one_server() -> None:
    """A Node that shares its providerID has no server until a person has decided."""
    node, rival = a_settled_node(), a_settled_node("web-old", 1)
    found = matched(node, a_snapshot([node, rival], [WEB_1]))

    assert (found.server, found.why) == (None, "providerID 'hcloud://1' is also that of node web-old")


def test_servers_of_one_name_are_all_near() -> None:
    """Of two servers with a name that comes near each is a candidate of its own."""
    node = a_joining_node("web1")
    found = matched(node, a_snapshot([node], [WEB_1, a_server(5, "web-1")]))

    assert [candidate.id for candidate in found.candidates] == [1, 5]


@pytest.mark.parametrize(
    ("confirmations", "why"),
    [
        pytest.param({}, "", id="nobody-asked"),
        pytest.param({1: Absent()}, ", and asking for it alone says the same", id="confirmed"),
        pytest.param({1: Unknown("503")}, "; asking for it alone failed: 503", id="asked-in-vain"),
    ],
)
def test_a_server_that_is_gone(confirmations: Mapping[int, Absent | Unknown], why: str) -> None:
    """What a GET by the id said stands beside the word of the list."""
    node = a_lost_node()
    found = matched(node, a_snapshot([node], confirmations=confirmations))

    assert found.why == f"no server of the project has the id 1{why}"


def test_a_list_with_a_gap() -> None:
    """Nothing is said of a server that an incomplete list lacks but why that is so."""
    node = a_settled_node()
    found = matched(node, a_snapshot([node], servers_section=incomplete(servers_of(WEB_2), "429")))

    assert found == ServerMatch("providerID", "hcloud://1", None, "429")


@pytest.mark.parametrize(
    ("node", "candidates"),
    [
        pytest.param(
            a_node(), (Candidate(1, "web-1", "it would be the one, but nobody asks"),), id="its-server-is-there"
        ),
        pytest.param(a_node("alone"), (), id="nothing-has-its-name"),
    ],
)
def test_a_node_that_nobody_asks_for(node: Node, candidates: tuple[Candidate, ...]) -> None:
    """A Node that is left out of everything has no server, and the one it would have is near."""
    found = matched(node, a_snapshot([node], [WEB_1]), "nobody asks")

    assert found == ServerMatch("name", None, None, "nobody asks", candidates)
