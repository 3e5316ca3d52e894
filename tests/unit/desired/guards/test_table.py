"""The rules between plan and world, one by one."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from desired.guards.anchor import Anchor, AnchorState, anchor_of
from desired.guards.evidence import incomplete_snapshot
from desired.guards.filters import policy
from desired.guards.guard import GuardInput, GuardResult
from desired.guards.project import anchor_notes, project_anchor
from desired.guards.table import GUARDS
from desired.model.route import NetworkCondition
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Network, Node, Readiness, Server, Snapshot
from desired.plan.change import Change, Plan
from desired.plan.kinds import Verb
from desired.rules.guards import (
    CLUSTER_UNREAD,
    EXCLUDED_BY_POLICY,
    LIST_INCOMPLETE,
    PROJECT_EMPTY,
    PROJECT_IDS_UNREAD,
    PROJECT_MISMATCH,
    PROJECT_UNKNOWN,
    PROJECT_UNVERIFIED,
    REMOVALS_UNVERIFIED,
)
from desired.rules.rule import Rule
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.builders import (
    a_change,
    a_joining_node,
    a_lost_node,
    a_network,
    a_server,
    a_settled_node,
    a_snapshot,
    an_identity,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.support.judging import facts_of
from tests.support.keys import key_of

WHOLE = a_snapshot()
DELETE = a_change("node/old", "node.delete")
INITIALISE = a_change("node/web-1", "node.initialise")
LB = "load_balancer/ns/a"
MISSING: Section[int, Server] = Section.missing("401")


def facts(changes: Sequence[Change], snapshot: Snapshot = WHOLE, settings: Settings | None = None) -> GuardInput:
    """What a guard sees."""
    return facts_of(Plan(tuple(changes)), snapshot, settings or Settings())


def waits(change: Change, name: str, error: str) -> GuardResult:
    """The finding that this list is incomplete."""
    return GuardResult.of(LIST_INCOMPLETE, (change.key,), {"list": name, "error": error})


def unread(change: Change, *sections: str) -> list[GuardResult]:
    """The findings on sections that this snapshot has not got."""
    return [waits(change, name, "not read") for name in sections]


@pytest.mark.parametrize(
    ("change", "snapshot", "expected"),
    [
        pytest.param(DELETE, WHOLE, [], id="removal-from-whole-lists"),
        pytest.param(
            DELETE,
            a_snapshot(servers_section=incomplete(servers_of(), "429")),
            [waits(DELETE, "servers", "429")],
            id="removal-without-all-servers",
        ),
        pytest.param(
            DELETE,
            a_snapshot(nodes_section=incomplete(nodes_of(), "503"), servers_section=MISSING),
            [
                waits(DELETE, "nodes", "503"),
                waits(DELETE, "servers", "401"),
            ],
            id="removal-without-either",
        ),
        pytest.param(
            INITIALISE,
            a_snapshot(servers_section=incomplete(servers_of())),
            [],
            id="a-write-to-kubernetes-creates-nothing-in-the-cloud",
        ),
        pytest.param(
            a_change("node/a/labels", "node.labels"),
            a_snapshot(servers_section=MISSING),
            [],
            id="a-correction-needs-only-its-own-server",
        ),
        pytest.param(
            DELETE,
            a_snapshot(cluster_uid=Unknown("403")),
            [],
            id="no-cloud-write-so-the-cluster-uid-does-not-matter",
        ),
        pytest.param(
            a_change(f"{LB}/type", "lb.type"),
            a_snapshot(cluster_uid=Unknown("403")),
            [GuardResult.of(CLUSTER_UNREAD, (f"{LB}/type",), {"error": "403"})],
            id="cloud-write-without-the-cluster-uid",
        ),
        pytest.param(a_change(f"{LB}/type", "lb.type"), WHOLE, [], id="cloud-modification-with-the-cluster-uid"),
    ],
)
def test_incomplete_snapshot(change: Change, snapshot: Snapshot, expected: list[GuardResult]) -> None:
    """Removals wait for whole lists, and cloud writes for the cluster's identity."""
    assert list(incomplete_snapshot(facts([change], snapshot))) == expected


@pytest.mark.parametrize(
    ("change", "sections"),
    [
        pytest.param(a_change(LB, "lb.create"), ("services", "load balancers"), id="lb-create"),
        pytest.param(
            a_change("certificate/ns/a", "certificate.create"), ("services", "certificates"), id="certificate"
        ),
        pytest.param(a_change("route/4/10.0.0.0/24", "route.create"), ("routes",), id="route-create"),
        pytest.param(a_change(LB, "lb.delete"), ("services", "load balancers"), id="lb-delete"),
        pytest.param(a_change("service/ns/a/release", "service.release"), ("services", "load balancers"), id="release"),
        pytest.param(
            a_change(f"{LB}/target/server:1", "lb.target", verb=Verb.REMOVE),
            ("services", "load balancers"),
            id="removal-by-a-kind-that-also-adds",
        ),
        pytest.param(a_change(f"{LB}/target/server:1", "lb.target"), (), id="addition-of-a-part-is-no-object"),
        pytest.param(a_change("service/ns/a/finalizer", "service.claim"), (), id="claim-creates-nothing"),
    ],
)
def test_sections_that_were_not_read(change: Change, sections: tuple[str, ...]) -> None:
    """Removals, creations in the cloud and releases wait for lists that were not read at all."""
    assert list(incomplete_snapshot(facts([change]))) == unread(change, *sections)


def test_unread_and_unknown_at_once() -> None:
    """A removal in the cloud says all that it waits for."""
    change = a_change("route/4/10.0.0.0/24", "route.delete")
    findings = list(incomplete_snapshot(facts([change], a_snapshot(cluster_uid=Unknown("403")))))
    assert findings == [
        GuardResult.of(CLUSTER_UNREAD, (change.key,), {"error": "403"}),
        *unread(change, "routes"),
    ]


def cluster(found: int, gone: int, servers: Section[int, Server] | None = None) -> Snapshot:
    """A cluster of Ready Nodes of which so many servers are found and so many are not, and of one that is lost."""
    nodes = [a_lost_node("old", 99), *(a_settled_node(f"n-{i}", i) for i in range(1, found + gone + 1))]
    whole = servers_of(*(a_server(i, f"n-{i}") for i in range(1, found + 1)))
    return a_snapshot(nodes, servers_section=whole if servers is None else servers)


FOREIGN_SIDES = a_change("node/talos/labels", "node.labels", after=an_identity("talos://x"))
ROBOT = a_change("node/robot", "node.delete", before=an_identity("hrobot://7"))
TYPE = a_change(f"{LB}/type", "lb.type")
SERVICE = a_change("service/ns/a/status", "service.status", before=(), after=("203.0.113.9",))
DERIVED = [DELETE, INITIALISE, TYPE, SERVICE]
"""What a Service is given follows from load balancers."""


def held(anchor: Anchor, *changes: Change) -> list[GuardResult]:
    """The finding of a violated anchor."""
    return [
        GuardResult.of(
            PROJECT_MISMATCH,
            [change.key for change in Plan(changes).changes],
            {"found": anchor.found, "most": anchor.total},
            value=anchor.found,
            limit=anchor.needed,
        )
    ]


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(cluster(2, 0), [], id="all-found"),
        pytest.param(cluster(1, 1), [], id="half-found"),
        pytest.param(cluster(1, 2), held(Anchor(3, 1, 0), *DERIVED), id="fewer-than-half-found"),
        pytest.param(cluster(0, 1), held(Anchor(1, 0, 0), *DERIVED), id="the-only-node-is-not-found"),
        pytest.param(
            cluster(0, 3, servers_of(a_server(9, "stranger"))),
            held(Anchor(3, 0, 0), *DERIVED),
            id="token-of-another-project",
        ),
        pytest.param(
            cluster(1, 2, incomplete(servers_of(a_server(1)))),
            [
                GuardResult.of(
                    PROJECT_UNVERIFIED,
                    [change.key for change in Plan(tuple(DERIVED)).changes],
                    {"project": "the project of HCLOUD_TOKEN", "found": 1, "needed": 2, "unread": 2},
                )
            ],
            id="too-little-read",
        ),
        pytest.param(
            cluster(1, 1, incomplete(servers_of(a_server(1)))), [], id="enough-read-although-the-list-is-incomplete"
        ),
    ],
)
def test_project_anchor(snapshot: Snapshot, expected: list[GuardResult]) -> None:
    """Whatever derives from the cloud is held unless half of the Ready Nodes are found in it; the rest is not."""
    changes = [*DERIVED, ROBOT, FOREIGN_SIDES]
    assert list(project_anchor(facts(changes, snapshot))) == expected


@pytest.mark.parametrize(
    ("found", "gone", "unreadable", "expected"),
    [
        pytest.param(2, 1, 1, (), id="half-found-at-worst"),
        pytest.param(1, 1, 1, ("node/old",), id="fewer-at-worst"),
        pytest.param(3, 0, 4, ("node/old",), id="all-found-and-more-unreadable"),
    ],
)
def test_removals_wait_for_a_certain_anchor(found: int, gone: int, unreadable: int, expected: tuple[str, ...]) -> None:
    """Where Nodes could not be read an anchor that holds lets additions pass, and removals once it holds at worst."""
    read = cluster(found, gone)
    nodes = replace(read.nodes, unreadable={f"u-{i}": "no uid" for i in range(unreadable)})
    wanted = [GuardResult.of(REMOVALS_UNVERIFIED, expected, {"nodes": counted(unreadable, "Node")})] if expected else []
    assert list(project_anchor(facts([*DERIVED, ROBOT], replace(read, nodes=nodes)))) == wanted


NETWORKED = a_change("node/web-1/network", "node.network_condition", after=NetworkCondition("True", "NoRoute"))
"""Of a Node that has no providerID yet: it follows from the network all the same."""
DOWN = a_settled_node("old", 1, ready=Readiness.FALSE)
ALIVE = a_settled_node("b", 2, ready=Readiness.FALSE)


@pytest.mark.parametrize(
    ("nodes", "servers", "network", "setting", "needs_witness"),
    [
        pytest.param([DOWN], [], Present(None), None, True, id="nothing-found"),
        pytest.param([a_joining_node()], [9], Present(None), None, False, id="being-born"),
        pytest.param([DOWN, ALIVE], [2], Present(None), None, False, id="server"),
        pytest.param([DOWN, a_joining_node()], [9], Present(None), None, True, id="a-strangers-server"),
        pytest.param([DOWN], [], Present(a_network(4)), "4", False, id="network-by-id"),
        pytest.param([DOWN], [], Present(a_network(4)), "04", False, id="network-by-padded-id"),
        pytest.param([DOWN], [], Present(a_network(4)), "private", True, id="network-by-name"),
        pytest.param([DOWN], [], Present(a_network(4, "7")), "7", True, id="network-by-a-name-that-is-a-number"),
        pytest.param([DOWN], [], Absent(), "4", True, id="network-gone"),
        pytest.param([DOWN], [], Unknown("429"), "4", True, id="network-unreadable"),
    ],
)
def test_witness_when_no_node_is_ready(
    nodes: list[Node],
    servers: list[int],
    network: Present[Network | None] | Absent | Unknown,
    setting: str | None,
    needs_witness: bool,
) -> None:
    """With no Ready Node, and none of our Nodes found, nothing passes without one thing of this cluster in the
    project."""
    snapshot = a_snapshot(nodes, [a_server(i) for i in servers], network=network)
    changes = Plan((*DERIVED, NETWORKED)).changes
    unfound = {"found": 0, "most": anchor_of(Provider.CLOUD, snapshot, Settings()).nodes}
    finding = GuardResult.of(PROJECT_UNKNOWN, [change.key for change in changes], unfound, value=0, limit=1)
    found = project_anchor(facts([*changes, ROBOT], snapshot, Settings(network=setting)))
    assert list(found) == ([finding] if needs_witness else [])


def test_removals_of_a_cluster_that_is_being_born() -> None:
    """It adds without a witness, and removes nothing without one."""
    remove = a_change(LB, "lb.delete")
    found = project_anchor(facts([INITIALISE, TYPE, remove], a_snapshot([a_joining_node()], [a_server()])))
    assert list(found) == [GuardResult.of(PROJECT_EMPTY, (LB,), value=0, limit=1)]


@pytest.mark.parametrize(
    ("servers", "remembered", "row"),
    [
        pytest.param(MISSING, None, PROJECT_UNVERIFIED, id="servers"),
        pytest.param(servers_of(), Unknown("403"), PROJECT_IDS_UNREAD, id="memory"),
    ],
)
def test_a_cluster_of_which_too_little_was_read_waits(
    servers: Section[int, Server], remembered: Unknown | None, row: Rule
) -> None:
    """What could not be read may be the witness: nobody is asked to approve anything, and nothing passes."""
    snapshot = a_snapshot([DOWN], servers_section=servers, remembered=remembered)
    keys = tuple(change.key for change in Plan(tuple(DERIVED)).changes)
    assert [(found.row, found.keys) for found in project_anchor(facts(DERIVED, snapshot))] == [(row, keys)]
    assert anchor_notes(anchor_of(Provider.CLOUD, a_snapshot([DOWN], servers_section=MISSING), Settings())) == ()


def test_an_unfound_cluster_without_changes() -> None:
    """That nothing of the cluster was found is a finding of its own, unless a witness is there."""
    anchor = anchor_of(Provider.CLOUD, a_snapshot([DOWN, ALIVE]), Settings())
    assert anchor.state is AnchorState.UNFOUND
    assert anchor_notes(anchor) == (PROJECT_UNKNOWN.note(key_of("project/cloud"), found=0, most=2),)
    assert anchor_notes(anchor, {"network/4": "network"}) == ()


def test_an_ignored_node_is_no_part_of_the_anchor() -> None:
    """Whoever takes the Nodes out of everything whose servers are elsewhere has an anchor that holds."""
    spared = Settings(ignore_nodes=parse_selector("example.com/spare"))
    spare = [a_settled_node(f"s-{i}", i, labels={"example.com/spare": ""}) for i in (7, 8)]
    snapshot = a_snapshot([a_settled_node("n-1", 1), *spare], [a_server(1)])
    assert list(project_anchor(facts(DERIVED, snapshot, spared))) == []
    assert {*anchor_notes(anchor_of(Provider.CLOUD, snapshot, spared))} < {
        *anchor_notes(anchor_of(Provider.CLOUD, snapshot, Settings()))
    }


def test_birth_of_a_cluster() -> None:
    """The first Node of a cluster is initialized although no witness speaks for the project."""
    assert list(project_anchor(facts([INITIALISE], a_snapshot([a_joining_node()], [a_server()])))) == []


def test_violated_anchor_without_changes() -> None:
    """A violated anchor is a finding of its own, even when it holds nothing."""
    snapshot = cluster(0, 2)
    assert list(project_anchor(facts([], snapshot))) == held(Anchor(2, 0, 0))
    assert anchor_notes(anchor_of(Provider.CLOUD, snapshot, Settings())) == (
        PROJECT_MISMATCH.note(key_of("project/cloud"), found=0, most=2),
    )


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(cluster(1, 1), id="holds"),
        pytest.param(a_snapshot([a_joining_node()]), id="none"),
        pytest.param(cluster(0, 1, MISSING), id="undetermined"),
    ],
)
def test_anchor_that_is_not_violated(snapshot: Snapshot) -> None:
    """Nothing is said of an anchor that is not known to be violated."""
    assert anchor_notes(anchor_of(Provider.CLOUD, snapshot, Settings())) == ()


@pytest.mark.parametrize(
    ("chosen", "keys"),
    [
        (Policy.SYNC, ()),
        (Policy.UPSERT, ("node/old",)),
        (Policy.OBSERVE, (f"{LB}/type", "node/web-1", "node/old", "service/ns/a/status")),
    ],
)
def test_policy(chosen: Policy, keys: tuple[str, ...]) -> None:
    """Upsert leaves removals undone, observe everything, sync nothing."""
    assert list(policy(facts(DERIVED, settings=Settings(policy=chosen)))) == [
        GuardResult.of(EXCLUDED_BY_POLICY, keys, {"policy": chosen})
    ]


def test_guards_by_name() -> None:
    """Each guard goes by its rule's name, the one named first where verdicts are equally heavy."""
    assert list(GUARDS) == [
        "incomplete-snapshot",
        "other-controller",
        "project-anchor",
        "silent-cluster",
        "absence-proof",
        "clock-skew",
        "node-blast-radius",
        "settings-blast-radius",
        "address-blast-radius",
        "foreign-owner",
        "adoption",
        "undo-window",
        "ip-loss",
        "address-in-use",
        "listener-loss",
        "target-floor",
        "target-health",
        "exposure",
        "certificate-issuance",
        "route-blast-radius",
        "cluster-cidr",
        "flapping",
        "back-off",
        "quota",
        "policy",
    ]


def test_a_change_whose_sides_say_nothing_is_derived_from_its_node() -> None:
    """Changes of every shape that serve one of our Nodes are under the anchor, those of another cloud's are not."""
    world = cluster(0, 2)
    ours = a_change("node/n-1/shutdown", "node.shutdown_taint", before=False, after=True, owner="node/n-1")
    foreign = a_change("node/edge/shutdown", "node.shutdown_taint", before=False, after=True, owner="node/edge")
    assert list(project_anchor(facts([ours, foreign], world))) == held(Anchor(2, 0, 0), ours)
