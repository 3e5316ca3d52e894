"""How many Nodes may go at once (``node-blast-radius``)."""

from datetime import timedelta

import pytest

from desired.guards.blast_radius import NodeLosses, easing_of, last_of_control_plane, losses_of
from desired.model.settings import Settings, Waits
from desired.model.snapshot import Node, Readiness, Server, Snapshot, Taint
from desired.section import Section
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    SERVER_LABELS,
    a_fleet,
    a_joining_node,
    a_lost_node,
    a_node,
    a_settled_node,
    a_snapshot,
    incomplete,
)

SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}
CONTROL_PLANE = SERVER_LABELS | {"node-role.kubernetes.io/control-plane": ""}
K3S = SERVER_LABELS | {"node-role.kubernetes.io/control-plane": "true"}
MASTER = SERVER_LABELS | {"node-role.kubernetes.io/master": ""}
READY = a_settled_node("z", 9)


@pytest.mark.parametrize(
    ("nodes", "limit"),
    [
        pytest.param(0, 1, id="no-node"),
        pytest.param(1, 0, id="the-only-node"),
        pytest.param(2, 1, id="two"),
        pytest.param(3, 1, id="three"),
        pytest.param(4, 1, id="four"),
        pytest.param(7, 1, id="seven"),
        pytest.param(8, 2, id="eight"),
        pytest.param(10, 2, id="ten"),
        pytest.param(11, 2, id="eleven"),
        pytest.param(12, 3, id="twelve"),
        pytest.param(40, 10, id="forty"),
    ],
)
def test_limit(nodes: int, limit: int) -> None:
    """A quarter of the Nodes may be lost, one at least, and none where there is but one."""
    assert NodeLosses(nodes, frozenset()).limit == limit


@pytest.mark.parametrize(
    ("snapshot", "nodes", "lost"),
    [
        pytest.param(a_fleet(), 0, set(), id="empty-cluster"),
        pytest.param(a_fleet(a_settled_node("a", 1), READY), 2, set(), id="all-there"),
        pytest.param(a_fleet(a_lost_node("a", 1), READY, gone=[1]), 2, {"node/a"}, id="lost"),
        pytest.param(a_fleet(a_settled_node("a", 1), READY, gone=[1]), 2, {"node/a"}, id="lost-but-still-ready"),
        pytest.param(
            a_fleet(a_lost_node("a", 1, created_at=NOW, ready_since=NOW), READY, gone=[1], confirmations={}),
            2,
            {"node/a"},
            id="lost-and-nothing-proven-yet",
        ),
        pytest.param(
            a_fleet(a_joining_node("a", provider_id="hcloud://1"), READY, gone=[1]),
            2,
            {"node/a"},
            id="lost-and-joining",
        ),
        pytest.param(
            a_fleet(*(a_lost_node(name, 1) for name in "ab"), READY, gone=[1]),
            3,
            {"node/a", "node/b"},
            id="two-nodes-of-one-lost-server",
        ),
        pytest.param(a_fleet(a_lost_node("a", 1, unschedulable=True), READY, gone=[1]), 2, set(), id="cordoned"),
        pytest.param(a_fleet(a_lost_node("a", 1, deleted_at=NOW), READY, gone=[1]), 2, set(), id="being-deleted"),
        pytest.param(
            a_fleet(
                a_lost_node("a", 1, taints=(Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule"),)), READY, gone=[1]
            ),
            2,
            set(),
            id="chosen-by-the-autoscaler",
        ),
        pytest.param(
            a_fleet(a_lost_node("a", 1, taints=(Taint("karpenter.sh/disrupted", "NoSchedule"),)), READY, gone=[1]),
            2,
            set(),
            id="chosen-by-karpenter",
        ),
        pytest.param(
            a_fleet(a_lost_node("a", 1, ready_since=NOW - timedelta(minutes=30)), READY, gone=[1]),
            2,
            set(),
            id="silent-for-half-an-hour",
        ),
        pytest.param(
            a_fleet(a_lost_node("a", 1, ready_since=NOW - timedelta(minutes=29)), READY, gone=[1]),
            2,
            {"node/a"},
            id="silent-for-a-minute-less",
        ),
        pytest.param(a_fleet(a_lost_node("a", 1, labels=SPARE), READY, gone=[1]), 1, set(), id="ignored"),
        pytest.param(
            a_snapshot(
                [
                    a_node("a"),
                    a_joining_node("b"),
                    a_lost_node("c", provider_id="talos://c"),
                    a_lost_node("d", provider_id="hrobot://1"),
                    a_lost_node("e", provider_id="hcloud://-1"),
                ]
            ),
            0,
            set(),
            id="none-of-ours",
        ),
        pytest.param(
            a_fleet(a_lost_node("a", 1), READY, servers_section=incomplete(a_fleet(READY).servers)),
            2,
            set(),
            id="unknown-is-not-lost",
        ),
    ],
)
def test_losses_of(snapshot: Snapshot, nodes: int, lost: set[str]) -> None:
    """Lost is every Node of ours whose server is absent unannounced, however little else is proven of it."""
    assert losses_of(Provider.CLOUD, snapshot, SPARED) == NodeLosses(nodes, frozenset(lost))


UNREAD: Section[int, Server] = Section(a_fleet(READY).servers.items, unreadable={1: "no name"})


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(
            a_fleet(a_settled_node("a", 1), READY, servers_section=UNREAD), NodeLosses(2, frozenset(), 1), id="server"
        ),
        pytest.param(
            a_fleet(a_lost_node("a", 1, unschedulable=True), READY, servers_section=UNREAD),
            NodeLosses(2, frozenset(), 1),
            id="server-of-an-announced-node",
        ),
        pytest.param(
            a_fleet(a_settled_node("a", 1, labels=SPARE), READY, servers_section=UNREAD),
            NodeLosses(1, frozenset()),
            id="server-of-an-ignored-node",
        ),
        pytest.param(a_fleet(READY, servers_section=UNREAD), NodeLosses(1, frozenset()), id="a-strangers-server"),
        pytest.param(
            a_fleet(nodes_section=Section({"z": READY}, unreadable={"a": "no uid"}), servers_section=UNREAD),
            NodeLosses(2, frozenset(), 1),
            id="node",
        ),
        pytest.param(
            a_fleet(
                nodes_section=Section({"z": READY, "b": a_lost_node("b", 1)}, unreadable={"a": "no uid"}),
                servers_section=a_fleet(READY).servers,
            ),
            NodeLosses(3, frozenset({"node/b"}), 1),
            id="node-beside-one-that-is-lost",
        ),
    ],
)
def test_what_could_not_be_read_may_be_lost(snapshot: Snapshot, expected: NodeLosses) -> None:
    """A Node or a server that arrived and could not be read counts as one more, so that doubt never frees a hold."""
    assert losses_of(Provider.CLOUD, snapshot, SPARED) == expected
    assert expected.value == len(expected.lost) + expected.unreadable


def test_how_long_until_a_silent_node_is_given_up_is_a_setting() -> None:
    """What counts as announced by its silence is up to the operator."""
    snapshot = a_fleet(a_lost_node("a", 1), READY, gone=[1])
    patient = Settings(waits=Waits(given_up_after=timedelta(minutes=5)))
    assert losses_of(Provider.CLOUD, snapshot, patient).lost == frozenset()
    assert losses_of(Provider.CLOUD, snapshot, Settings()).lost == {"node/a"}


def silent(name: str, server_id: int, minutes: float, ready: Readiness = Readiness.UNKNOWN) -> Node:
    """A lost Node that is as Ready as it is for so many minutes."""
    return a_lost_node(name, server_id, ready=ready, ready_since=NOW - timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(a_fleet(READY), None, id="none-lost"),
        pytest.param(a_fleet(silent("a", 1, 5), READY, gone=[1]), 25 * 60, id="one"),
        pytest.param(
            a_fleet(silent("a", 1, 5), silent("b", 2, 28), silent("c", 3, 0), READY, gone=[1, 2, 3]),
            2 * 60,
            id="the-next-of-several",
        ),
        pytest.param(
            a_fleet(silent("a", 1, 29, Readiness.TRUE), silent("b", 2, 5), gone=[1, 2]), 25 * 60, id="ready-ones-never"
        ),
        pytest.param(a_fleet(silent("a", 1, 29, Readiness.TRUE), gone=[1]), None, id="all-of-them-ready"),
        pytest.param(a_fleet(silent("a", 1, 29), silent("b", 2, 5), gone=[2]), 25 * 60, id="one-that-is-there"),
        pytest.param(a_fleet(silent("a", 1, -60), gone=[1]), 90 * 60, id="transition-in-the-future"),
        pytest.param(
            a_fleet(a_lost_node("a", 1, ready_since=NOW - timedelta(minutes=20), heartbeat=NOW), gone=[1]),
            30 * 60,
            id="a-heartbeat-just-now",
        ),
        pytest.param(
            a_fleet(a_lost_node("a", 1, ready=Readiness.MISSING, created_at=NOW - timedelta(minutes=3)), gone=[1]),
            27 * 60,
            id="never-reported",
        ),
    ],
)
def test_eases_in(snapshot: Snapshot, expected: float | None) -> None:
    """A hold is worth another look when the next lost Node has been silent for so long that it counts as announced."""
    due_in_s, _ = easing_of(losses_of(Provider.CLOUD, snapshot, Settings()), snapshot, Settings())
    assert due_in_s == expected


def head(name: str, server_id: int, **overrides: object) -> Node:
    """A lost Node of the control plane."""
    return a_lost_node(name, server_id, **{"labels": CONTROL_PLANE} | overrides)


BROKEN_TWO: Section[int, Server] = Section({}, unreadable={2: "no name"})


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(a_fleet(a_lost_node("a", 1), gone=[1]), set(), id="workers-only"),
        pytest.param(a_fleet(head("a", 1), READY, gone=[1]), {"node/a"}, id="the-only-one-gone"),
        pytest.param(a_fleet(head("a", 1, labels=MASTER), READY, gone=[1]), {"node/a"}, id="by-the-old-name"),
        pytest.param(a_fleet(head("a", 1, labels=K3S), READY, gone=[1]), {"node/a"}, id="whatever-its-value"),
        pytest.param(a_fleet(head("a", 1, unschedulable=True), READY, gone=[1]), {"node/a"}, id="announced"),
        pytest.param(
            a_fleet(head("a", 1, ready=Readiness.TRUE), READY, gone=[1]), {"node/a"}, id="gone-and-still-ready"
        ),
        pytest.param(a_fleet(head("a", 1), READY), set(), id="the-only-one-there"),
        pytest.param(a_fleet(head("a", 1), head("b", 2), gone=[1]), set(), id="one-of-two-gone"),
        pytest.param(
            a_fleet(head("a", 1), head("b", 2, labels=MASTER), READY, gone=[1, 2]),
            {"node/a", "node/b"},
            id="both-gone",
        ),
        pytest.param(
            a_fleet(head("a", 1), head("b", 2, labels=CONTROL_PLANE | SPARE), gone=[1, 2]),
            set(),
            id="the-other-is-ignored",
        ),
        pytest.param(
            a_snapshot([head("a", 1), head("b", 2, provider_id="talos://b")]), set(), id="the-other-is-of-another-cloud"
        ),
        pytest.param(
            a_snapshot([head("a", 1), head("b", 2)], servers_section=BROKEN_TWO), set(), id="the-other-is-unknown"
        ),
    ],
)
def test_last_of_control_plane(snapshot: Snapshot, expected: set[str]) -> None:
    """The last ones are all that there are, once the server of each is gone; announcements do not matter."""
    assert last_of_control_plane(snapshot, SPARED) == expected
