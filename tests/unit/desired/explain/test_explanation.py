"""Everything that decides on one Node, put together: an explanation says what a plan does, and nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from desired.annotations.reading import Origin
from desired.explain.fact import Fact
from desired.explain.guards import AnchorFact, Concern, LossFact
from desired.explain.node import NodeExplanation, why_no_node
from desired.explain.service import ServiceExplanation, ServiceStage
from desired.guards.anchor import AnchorState
from desired.guards.table import GUARDS
from desired.load_balancers.membership import Membership
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, NodeAddress, RobotAccount, Snapshot, Taint
from desired.plan.change import GuardName, NodeIdentity, Verdict
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules.nodes import Stage
from desired.rules.rule import Basis
from desired.section import Absent, Section
from desired.syntax.provider_id import Provider
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
    nodes_of,
    servers_of,
)
from tests.support.explanations import EXPLANATIONS
from tests.support.judging import explain, judge
from tests.support.keys import key_of
from tests.support.service_explanations import SERVICE_EXPLANATIONS

CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9), a_server(9, "control-1")
FOUND = {name: said.explanation for name, said in EXPLANATIONS.items() if isinstance(said.explanation, NodeExplanation)}
OF_SERVICES = [
    said.explanation for said in SERVICE_EXPLANATIONS.values() if isinstance(said.explanation, ServiceExplanation)
]


def explained(node: Node, snapshot: Snapshot, settings: Settings | None = None) -> NodeExplanation:
    """What there is to say of the Node."""
    settings = settings or Settings()
    return explain(node, snapshot, settings, judge(compute_plan(snapshot, settings), snapshot, settings))


def stands(facts: tuple[Fact, ...]) -> dict[str, str]:
    """Key → value of what is there and ours."""
    return {fact.subject: fact.value for fact in facts if fact.value is not None and fact.rule is not Basis.FOREIGN}


def comes(facts: tuple[Fact, ...]) -> dict[str, str]:
    """Key → value of what should be there and is ours."""
    return {fact.subject: fact.wanted for fact in facts if fact.wanted is not None and fact.rule is not Basis.FOREIGN}


def addresses(facts: tuple[Fact, ...]) -> set[NodeAddress]:
    """The addresses that should be there."""
    return {NodeAddress(fact.subject, fact.wanted) for fact in facts if fact.wanted is not None}


@pytest.mark.parametrize("name", FOUND)
def test_facts_agree_with_the_plan(name: str) -> None:
    """What is said to change is what the planned changes change, and the rest is said to stay."""
    found = FOUND[name]
    changes = {change.kind: change for change in found.changes}
    before_labels, after_labels = stands(found.labels), stands(found.labels)
    after_addresses = {NodeAddress(fact.subject, fact.value) for fact in found.addresses if fact.value is not None}
    for change in found.changes:
        match change.before, change.after:
            case NodeIdentity() as before, NodeIdentity() as after:
                before_labels, after_labels = dict(before.labels), dict(after.labels)
                after_addresses = set(after.addresses)
            case Mapping() as before, Mapping() as after:
                before_labels, after_labels = dict(before), dict(after)
            case _, tuple() as after:
                after_addresses = set(after)

    assert (stands(found.labels), comes(found.labels)) == (before_labels, after_labels)
    assert addresses(found.addresses) == after_addresses
    tainting = not changes.keys().isdisjoint({"node.initialise", "node.shutdown_taint"})
    assert any(fact.value != fact.wanted for fact in found.taints) is tainting


NOT_TOLD = {
    GuardName.CLOCK_SKEW,
    GuardName.FLAPPING,
    GuardName.BACK_OFF,
    GuardName.QUOTA,
    GuardName.SETTINGS_BLAST_RADIUS,
    "undo-window",
}
"""What is said of clocks, what only a loop remembers, or the cluster of its settings, and what is said of no Node or
Service that is there."""


def test_everything_that_can_be_said_has_a_case() -> None:
    """Each stage, rule, guard and verdict is among the situations of the tests."""
    facts = [f for found in FOUND.values() for f in (*found.labels, *found.addresses, *found.taints, *found.conditions)]
    facts += [fact for found in OF_SERVICES for fact in (*found.status, *found.conditions, *found.load_balancer.owner)]
    words = [word for found in FOUND.values() for word in found.guards]
    words += [word for found in OF_SERVICES for word in found.guards]

    routes = [fact for found in FOUND.values() if found.routes for fact in found.routes.destinations]

    assert {found.stage for found in FOUND.values()} == set(Stage)
    assert {fact.standing for fact in routes} == {*RouteStatus, None}
    assert {fact.fate for fact in routes} == {*RouteAction, None} - {
        RouteAction.STRANGER,
        RouteAction.UNCERTAIN,
    }  # never a Node's own
    assert {found.stage for found in OF_SERVICES} == set(ServiceStage)
    assert {member.membership for found in OF_SERVICES for member in found.targets} >= set(Membership)
    assert {option.origin for found in OF_SERVICES for option in found.options} == set(Origin)
    assert {fact.rule for fact in facts} == set(Basis)
    assert {word.rule for word in words} == GUARDS.keys() - NOT_TOLD
    assert {word.verdict for word in words} == set(Verdict)


def test_changes_are_those_of_the_judged_plan() -> None:
    """Each change of the Node has its verdict, and no change of another Node is told."""
    node, other = a_settled_node(labels={}, addresses=()), a_settled_node("web-2", 2, labels={})
    found = explained(node, a_snapshot([node, other], [a_server(), a_server(2, "web-2")]))

    assert [change.key for change in found.changes] == ["node/web-1/addresses", "node/web-1/labels"]


def test_measures() -> None:
    """The state that guards measure is told as it is, with how the Node was announced."""
    lost, gone = a_lost_node(unschedulable=True), a_lost_node("web-2", 2)
    found = explained(lost, a_snapshot([CONTROL, lost, gone], [CONTROL_SERVER]))

    assert found.announced == "it is cordoned"
    assert found.anchor == AnchorFact(AnchorState.HOLDS, found=1, total=1, unknown=0, needed=1)
    assert found.losses == LossFact(("node/web-2",), nodes=3, limit=1)


def test_measures_of_robot() -> None:
    """Of a Node on a Robot server those of its own provider are told, whatever becomes of the project's servers."""
    lost, there = (a_lost_node(name, provider_id=f"hrobot://{number}") for name, number in (("db-1", 1), ("db-2", 2)))
    ready = a_settled_node("db-3", provider_id="hrobot://3")
    account = RobotAccount(
        servers_of(a_robot_server(2, "db-2"), a_robot_server(3, "db-3")), confirmations={1: Absent()}
    )
    found = explained(lost, a_snapshot([a_settled_node(), a_lost_node("web-2", 2), lost, there, ready], robot=account))

    assert found.anchor == AnchorFact(AnchorState.HOLDS, 1, 1, 0, 1, Provider.ROBOT)
    assert found.losses == LossFact(("node/db-1",), 3, 1, Provider.ROBOT)
    measured = {guard.rule: (guard.value, guard.limit) for guard in found.guards}
    assert measured[GuardName.PROJECT_ANCHOR] == ("1", "1")
    assert measured[GuardName.NODE_BLAST_RADIUS] == ("1", "1")
    assert found.why.startswith("the Robot account has no Robot server 1; ")


def test_a_node_that_was_given_up() -> None:
    """How long a Node has been silent counts by the waits that were set."""
    lost = a_lost_node(ready_since=NOW - timedelta(minutes=31))

    assert explained(lost, a_snapshot([lost])).announced == "it has not been Ready since 2026-07-01 11:29 UTC"


@pytest.mark.parametrize(
    ("node", "settings", "supposed"),
    [
        pytest.param(a_settled_node(), Settings(), True, id="settled"),
        pytest.param(a_joining_node(provider_id="hcloud://1"), Settings(), True, id="joining-by-its-provider-id"),
        pytest.param(a_joining_node(), Settings(), False, id="joining-by-its-name"),
        pytest.param(a_settled_node(provider_id="aws://1"), Settings(), False, id="another-cloud"),
        pytest.param(a_settled_node(provider_id="hrobot://1"), Settings(), False, id="robot"),
        pytest.param(a_node(), Settings(), False, id="unclaimed"),
        pytest.param(a_lost_node(server_id=3), Settings(), False, id="its-deletion-is-planned"),
        pytest.param(a_settled_node(server_id=3), Settings(), True, id="ready-without-its-server"),
        pytest.param(a_settled_node(deleted_at=NOW), Settings(), False, id="its-deletion-was-asked-for"),
        pytest.param(
            a_settled_node(labels={"lab": "yes"}), Settings(ignore_nodes=parse_selector("lab=yes")), False, id="ignored"
        ),
        pytest.param(a_settled_node(), Settings(controllers=frozenset({Controller.NODE})), False, id="left-to-others"),
    ],
)
def test_who_may_be_deleted(node: Node, settings: Settings, supposed: bool) -> None:
    """What guards would say of a deletion is told of every Node that could come to that, and of no other."""
    found = explained(node, a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]), settings)

    assert any(fact.concerns is Concern.DELETION for fact in found.guards) is supposed


def test_notes() -> None:
    """Notes on the Node are told, and those that explain every verdict; those on other Nodes are not."""
    node, other = (a_joining_node(name, provider_id="hcloud://x") for name in ("gpu", "tpu"))
    found = explained(node, a_snapshot([CONTROL, node, other], [a_server()]))

    assert [(note.key, note.kind) for note in found.notes] == [
        ("node/gpu", NoteKind.MALFORMED),
        ("project/cloud", NoteKind.ANCHOR),
    ]


def test_notes_on_approvals() -> None:
    """A word on an approval that does not count reaches whoever asks about one of the Nodes."""
    node = a_settled_node()
    snapshot = a_snapshot([node], [a_server()])
    plan = compute_plan(snapshot, Settings())
    note = Note(key_of("plan"), NoteKind.APPROVAL, "the approval of sha256:0123456789abcdef by somebody has expired")

    assert explain(node, snapshot, Settings(), replace(plan, notes=(note,))).notes == (note,)


def test_nothing_is_asked_of_other_nodes() -> None:
    """The order in which the world was read, and what else is in it, changes nothing of a settled Node's facts."""
    node = a_settled_node(taints=(Taint("a", "NoSchedule"),))
    alone = explained(node, a_snapshot([node], [a_server()]))
    among = explained(node, a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]))

    assert (alone.labels, alone.addresses, alone.taints) == (among.labels, among.addresses, among.taints)


BROKEN: Section[str, Node] = Section({}, unreadable={"web-2": "the API server's Node could not be read: no uid"})


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        pytest.param(nodes_of(), "the cluster has no Node 'web-2'", id="no-nodes-at-all"),
        pytest.param(
            nodes_of(a_node("web-1"), a_node("db-1")), "the cluster has no Node 'web-2'; nearest: web-1", id="near"
        ),
        pytest.param(
            incomplete(nodes_of(), "1 Node could not be read, name included"),
            "the cluster has no Node 'web-2', but 1 Node could not be read, name included",
            id="a-gap-in-the-list",
        ),
        pytest.param(
            BROKEN,
            "Node 'web-2' cannot be explained: the API server's Node could not be read: no uid",
            id="unreadable",
        ),
    ],
)
def test_no_node(nodes: Section[str, Node], why: str) -> None:
    """A name that no Node has is answered with the names that come near, or why it cannot be told."""
    assert why_no_node("web-2", a_snapshot(nodes_section=nodes)) == why


def test_a_server_without_a_node() -> None:
    """Where a server has the name, its kubelet has not registered: that is what somebody looks for."""
    why = why_no_node("web-2", a_snapshot(servers=[a_server(2, "web-2")]))

    assert why == "the cluster has no Node 'web-2'; server 2 has the name: its kubelet has not registered here"
