"""The server of a Node as an explanation shows it, or which ones come near and why they are not it."""

import pytest

from desired.explain.node import Candidate, ServerFact, ServerMatch, explain_match
from desired.model.settings import Settings
from desired.model.snapshot import Node, RobotAccount, ServerStatus
from desired.nodes.node import desired_nodes
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.builders import (
    a_joining_node,
    a_lost_node,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    servers_of,
)

SERVER_1 = ServerFact(1, "web-1", ServerStatus.RUNNING, "cpx32", "fsn1")
DB_1 = ServerFact(321, "db-1", ServerStatus.UNKNOWN, "AX41-NVMe", "fsn1", Provider.ROBOT)
ROBOT = RobotAccount(servers_of(a_robot_server(321, "db-1")))
NO_CLOUD = "the Node has neither a providerID nor the uninitialized taint"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_settled_node(), ServerMatch("providerID", "hcloud://1", SERVER_1), id="by-provider-id"),
        pytest.param(a_joining_node(), ServerMatch("name", None, SERVER_1), id="by-name"),
        pytest.param(
            a_settled_node("db-1", provider_id="hrobot://321"),
            ServerMatch("providerID", "hrobot://321", DB_1),
            id="robot",
        ),
        pytest.param(
            a_settled_node("elsewhere", provider_id="aws://1", addresses=()),
            ServerMatch("providerID", "aws://1", None, "providerID 'aws://1' belongs to another cloud"),
            id="another-cloud",
        ),
        pytest.param(
            a_joining_node("web1"),
            ServerMatch(
                "name",
                None,
                None,
                "no server of the project or the Robot account is named 'web1' (nearest: web-1, web-2)",
                (
                    Candidate(1, "web-1", "its name is not the Node's"),
                    Candidate(2, "web-2", "its name is not the Node's, and it is the server of Node other"),
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
                "the project has no server 3",
                (Candidate(1, "web-1", "the Node's providerID has another id"),),
            ),
            id="a-server-that-is-gone-and-another-of-its-name",
        ),
        pytest.param(
            a_lost_node("db-1", provider_id="hrobot://9"),
            ServerMatch(
                "providerID",
                "hrobot://9",
                None,
                "the Robot account has no Robot server 9",
                (Candidate(321, "db-1", "the Node's providerID has another id", Provider.ROBOT),),
            ),
            id="a-robot-server-that-is-gone",
        ),
        pytest.param(
            a_node(),
            ServerMatch(
                "name",
                None,
                None,
                f"{NO_CLOUD}, and is likely server 1 web-1 (by name)",
                (Candidate(1, "web-1", "likely by name"),),
            ),
            id="unclaimed",
        ),
        pytest.param(
            a_node("ignored", labels={"lab": ""}), ServerMatch("name", None, None, "ignored: matches lab"), id="ignored"
        ),
    ],
)
def test_match(node: Node, expected: ServerMatch) -> None:
    """What decides, the server that it led to, or why it led to none and which servers come near."""
    others = [] if node.name == "other" else [a_settled_node("other", 2)]
    snapshot = a_snapshot([node, *others], [a_server(), a_server(2, "web-2")], robot=ROBOT)
    nodes, _ = desired_nodes(snapshot, Settings(ignore_nodes=parse_selector("lab")))

    assert explain_match(node, nodes[node.name]) == expected
