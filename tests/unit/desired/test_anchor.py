"""The project anchor: does the token see this cluster's project (design section 6)."""

from collections.abc import Mapping

import pytest

from desired.anchor import Anchor, AnchorState, Provider, anchor_of_cloud, is_announced, provider_of, witnesses
from desired.section import Absent, Present, Section, Unknown
from desired.snapshot import Node, Readiness, Server, Snapshot, Taint
from tests.builders import (
    NOW,
    a_joining_node,
    a_network,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)


@pytest.mark.parametrize(
    ("total", "found", "unknown", "expected"),
    [
        pytest.param(0, 0, 0, AnchorState.NONE, id="no-ready-node"),
        pytest.param(1, 1, 0, AnchorState.HOLDS, id="the-only-one-found"),
        pytest.param(1, 0, 0, AnchorState.VIOLATED, id="the-only-one-gone"),
        pytest.param(1, 0, 1, AnchorState.UNDETERMINED, id="the-only-one-unknown"),
        pytest.param(2, 1, 0, AnchorState.HOLDS, id="exactly-half"),
        pytest.param(3, 1, 0, AnchorState.VIOLATED, id="fewer-than-half"),
        pytest.param(3, 2, 0, AnchorState.HOLDS, id="more-than-half"),
        pytest.param(3, 1, 1, AnchorState.UNDETERMINED, id="the-unknown-one-decides"),
        pytest.param(5, 1, 1, AnchorState.VIOLATED, id="the-unknown-one-cannot-help"),
        pytest.param(3, 2, 1, AnchorState.HOLDS, id="the-unknown-one-is-not-needed"),
        pytest.param(100, 0, 0, AnchorState.VIOLATED, id="token-of-another-project"),
    ],
)
def test_state(total: int, found: int, unknown: int, expected: AnchorState) -> None:
    """The anchor holds when at least half of the Nodes are found, and is violated when they cannot be."""
    assert Anchor(total, found, unknown).state is expected


@pytest.mark.parametrize(
    ("provider_id", "expected"),
    [
        pytest.param("hcloud://1", Provider.CLOUD, id="cloud"),
        pytest.param("hrobot://1", Provider.ROBOT, id="robot"),
        pytest.param("hcloud://bm-1", Provider.ROBOT, id="robot-of-the-fork"),
        pytest.param("hcloud://-1", None, id="malformed"),
        pytest.param("talos://x", None, id="foreign"),
        pytest.param(None, None, id="none"),
    ],
)
def test_provider_of(provider_id: str | None, expected: Provider | None) -> None:
    """Each provider has an anchor of its own; what is not ours has none."""
    assert provider_of(provider_id) is expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_settled_node(), False, id="settled"),
        pytest.param(a_settled_node(unschedulable=True), True, id="cordoned"),
        pytest.param(a_settled_node(deleted_at=NOW), True, id="being-deleted"),
        pytest.param(
            a_settled_node(taints=(Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", "1780000000"),)),
            True,
            id="cluster-autoscaler",
        ),
        pytest.param(a_settled_node(taints=(Taint("karpenter.sh/disrupted", "NoSchedule"),)), True, id="karpenter"),
        pytest.param(a_settled_node(taints=(Taint("team", "NoSchedule"),)), False, id="another-taint"),
    ],
)
def test_is_announced(node: Node, expected: bool) -> None:
    """A Node is announced when a person or an autoscaler has said that it goes away."""
    assert is_announced(node) is expected


BROKEN: Section[int, Server] = Section({1: a_server(1)}, unreadable={2: "no name"})


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(a_snapshot(), Anchor(0, 0, 0), id="empty-cluster"),
        pytest.param(
            a_snapshot([a_settled_node("a", 1), a_settled_node("b", 2)], [a_server(1)]), Anchor(2, 1, 0), id="one-gone"
        ),
        pytest.param(
            a_snapshot([a_settled_node(str(ready), ready=ready) for ready in Readiness if ready is not Readiness.TRUE]),
            Anchor(0, 0, 0),
            id="none-ready",
        ),
        pytest.param(
            a_snapshot(
                [a_settled_node("a", 1), a_settled_node("b", 2, unschedulable=True), a_settled_node("c", 3)],
                [a_server(1)],
            ),
            Anchor(2, 1, 0),
            id="announced-nodes-do-not-count",
        ),
        pytest.param(
            a_snapshot(
                [
                    a_node("unclaimed"),
                    a_settled_node("a", provider_id="talos://a"),
                    a_settled_node("b", provider_id="hrobot://1"),
                    a_settled_node("c", provider_id="hcloud://01"),
                ],
                [a_server(1)],
            ),
            Anchor(0, 0, 0),
            id="nodes-of-others-do-not-count",
        ),
        pytest.param(
            a_snapshot(
                [a_settled_node("a", 1), a_settled_node("b", 2), a_settled_node("c", 3)], servers_section=BROKEN
            ),
            Anchor(3, 1, 1),
            id="unreadable-server-is-unknown",
        ),
        pytest.param(
            a_snapshot(
                [a_settled_node("a", 1), a_settled_node("b", 2)], servers_section=incomplete(servers_of(a_server(1)))
            ),
            Anchor(2, 1, 1),
            id="incomplete-list-makes-unknown",
        ),
        pytest.param(
            a_snapshot([a_joining_node(provider_id="hcloud://1", ready=Readiness.TRUE)], [a_server(1)]),
            Anchor(1, 1, 0),
            id="joining-with-a-provider-id",
        ),
    ],
)
def test_anchor_of_cloud(snapshot: Snapshot, expected: Anchor) -> None:
    """The Ready, unannounced Nodes of the cloud are counted, and what is known of their servers."""
    assert anchor_of_cloud(snapshot) == expected


@pytest.mark.parametrize(
    ("snapshot", "by_id", "expected"),
    [
        pytest.param(a_snapshot(), True, {}, id="nothing"),
        pytest.param(
            a_snapshot([a_settled_node("a", 1), a_settled_node("b", 2)], [a_server(1)]),
            False,
            {"node/a": "server"},
            id="a-nodes-server",
        ),
        pytest.param(
            a_snapshot([a_settled_node("a", 1, ready=Readiness.FALSE, unschedulable=True)], [a_server(1)]),
            False,
            {"node/a": "server"},
            id="readiness-and-announcements-do-not-matter",
        ),
        pytest.param(a_snapshot([a_joining_node()], [a_server(1)]), False, {}, id="a-name-is-no-proof"),
        pytest.param(
            a_snapshot([a_settled_node("a", 1)], servers_section=incomplete(servers_of())),
            False,
            {},
            id="unknown-is-no-proof",
        ),
        pytest.param(
            a_snapshot(network=Present(a_network(4))), True, {"network/4": "network"}, id="network-given-by-id"
        ),
        pytest.param(a_snapshot(network=Present(a_network(4))), False, {}, id="network-given-by-name"),
        pytest.param(a_snapshot(network=Present(None)), True, {}, id="no-network-configured"),
        pytest.param(a_snapshot(network=Absent()), True, {}, id="network-not-there"),
        pytest.param(a_snapshot(network=Unknown("429")), True, {}, id="network-unknown"),
    ],
)
def test_witnesses(snapshot: Snapshot, by_id: bool, expected: Mapping[str, str]) -> None:
    """A server of any of our Nodes proves the project, and so does the network when it was given by id."""
    assert witnesses(snapshot, network_by_id=by_id) == expected
