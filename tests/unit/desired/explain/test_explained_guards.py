"""What each guard says of one Node or Service: of its planned changes, and of a Node's deletion if its server went."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.explain.guards import (
    Concern,
    GuardFact,
    explain_guards,
    explain_guards_on_deletion,
)
from desired.guards.history import mark_in
from desired.guards.judge import ask_guards
from desired.guards.table import GUARDS
from desired.model.load_balancer import CloudBalancer, ServerTarget
from desired.model.service import Service
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Node, Readiness, Snapshot
from desired.plan.change import GuardName, Hold, Plan, Verdict
from desired.plan.kinds import KINDS
from desired.plan.setbacks import Setbacks, Suspension
from desired.planner import compute_plan
from desired.rules.guards import (
    EXCLUDED_BY_POLICY,
    LIST_INCOMPLETE,
    LOOKUP_PENDING,
    NODES_LOST,
    NODES_LOST_OR_UNREAD,
    NOT_READY_TOO_SHORT,
    PROJECT_UNKNOWN,
)
from desired.section import Absent
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import (
    NOW,
    a_change,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
    incomplete,
    servers_of,
    workloads_of,
)
from tests.support.judging import facts_of, judge
from tests.support.keys import key_of

BORN = NOW - timedelta(days=30)
CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9, created_at=BORN), a_server(9, "control-1")
SETTLED = a_settled_node(created_at=BORN)
LOST, LOST_TOO = a_lost_node(), a_lost_node("web-2", 2)


def guard(
    rule: str,
    verdict: Verdict,
    why: str | None = None,
    value: str | None = None,
    limit: str | None = None,
    due_in_s: float | None = None,
) -> GuardFact:
    """The decision of a guard on changes that are planned."""
    return GuardFact(rule, Concern.CHANGES, verdict, why, value, limit, due_in_s)


PASSES = guard("incomplete-snapshot", Verdict.ALLOWED)
POLICY = guard("policy", Verdict.ALLOWED)
ANCHOR = guard("project-anchor", Verdict.ALLOWED, None, "1", "1")
WEB_2_AND_THE_REST = [CONTROL_SERVER, a_server(2, "web-2")]
WHY_HELD = NODES_LOST.text(lost=2, most=3, wait="30 minutes")
WHY_HELD_AT_WORST = NODES_LOST_OR_UNREAD.text(lost=3, most=8, wait="30 minutes")
OBSERVED = guard("policy", Verdict.WAITING, EXCLUDED_BY_POLICY.text(policy="observe"))
LOOKUP = LOOKUP_PENDING.text(server="server 1")
SILENCE = NOT_READY_TOO_SHORT.text(wait="20 s")
FOUR_MORE = [a_settled_node(f"more-{i}", i, created_at=BORN) for i in range(4, 8)]
SIX_SERVERS = servers_of(CONTROL_SERVER, a_server(), *(a_server(i, f"more-{i}") for i in range(4, 8)))


def said(
    node: Node, snapshot: Snapshot, settings: Settings | None = None, approved: Collection[str] = ()
) -> tuple[GuardFact, ...]:
    """What the guards say of the Node's changes."""
    settings = settings or Settings()
    plan = judge(compute_plan(snapshot, settings), snapshot, settings, approved)
    facts = facts_of(plan, snapshot, settings)
    return explain_guards(node.key, facts, ask_guards(facts), plan.holds)


def proof(why: str, due_in_s: float | None) -> GuardFact:
    """An absence that is not proven yet."""
    return guard("absence-proof", Verdict.WAITING, why, due_in_s=due_in_s)


def losses(value: int, limit: int = 1) -> GuardFact:
    """So many lost Nodes let pass."""
    return guard("node-blast-radius", Verdict.ALLOWED, None, str(value), str(limit))


def planned(told: Collection[GuardFact]) -> tuple[GuardFact, ...]:
    """The same decisions as if the deletion were planned."""
    return tuple(replace(fact, concerns=Concern.CHANGES) for fact in told)


def test_nothing_is_said_of_a_node_without_changes() -> None:
    """No guard looks at a Node of which nothing is wanted."""
    assert said(SETTLED, a_snapshot([SETTLED, LOST_TOO], [a_server()])) == ()


@pytest.mark.parametrize(
    ("node", "settings", "expected"),
    [
        pytest.param(a_joining_node(), Settings(), (PASSES, ANCHOR, POLICY), id="joining"),
        pytest.param(
            a_settled_node(labels={}),
            Settings(),
            (PASSES, guard("project-anchor", Verdict.ALLOWED, None, "2", "1"), POLICY),
            id="labels",
        ),
        pytest.param(
            a_joining_node(),
            Settings(policy=Policy.OBSERVE),
            (PASSES, ANCHOR, OBSERVED),
            id="observed-only",
        ),
        pytest.param(
            a_settled_node(labels={}, addresses=()),
            Settings(policy=Policy.OBSERVE),
            (
                PASSES,
                guard("project-anchor", Verdict.ALLOWED, None, "2", "1"),
                OBSERVED,
            ),
            id="said-once-of-several-changes",
        ),
    ],
)
def test_words_on_writes(node: Node, settings: Settings, expected: tuple[GuardFact, ...]) -> None:
    """Of a change that deletes nothing the rules that look at deletions say nothing."""
    assert said(node, a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]), settings) == expected


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(
            a_snapshot([CONTROL, LOST], [CONTROL_SERVER], confirmations={1: Absent()}),
            (PASSES, ANCHOR, guard("absence-proof", Verdict.ALLOWED), losses(1), POLICY),
            id="proven",
        ),
        pytest.param(
            a_snapshot([CONTROL, LOST], [CONTROL_SERVER]),
            (PASSES, ANCHOR, proof(LOOKUP, 5.0), losses(1), POLICY),
            id="nobody-asked",
        ),
        pytest.param(
            a_snapshot([CONTROL, LOST], [CONTROL_SERVER], taken_at=NOW - timedelta(minutes=4, seconds=50)),
            (PASSES, ANCHOR, proof(SILENCE, 10.0), losses(1), POLICY),
            id="not-silent-for-long",
        ),
    ],
)
def test_words_on_a_deletion(snapshot: Snapshot, expected: tuple[GuardFact, ...]) -> None:
    """Of a deletion every rule has a word, those that let pass with what they measured."""
    assert said(LOST, snapshot) == expected


def test_a_violated_anchor() -> None:
    """A rule that holds has its reason, its measure and the hold that a person may approve."""
    node = a_joining_node()
    snapshot = a_snapshot([CONTROL, node], [a_server()])
    word = said(node, snapshot)[1]

    assert (word.rule, word.verdict, word.value, word.limit) == ("project-anchor", Verdict.HELD, "0", "1")
    assert word.hold is not None
    assert (word.hold.keys, word.hold.said) == (("node/web-1",), word.why)


def test_an_undetermined_anchor() -> None:
    """What the anchor says for want of servers is the word of the rule about incomplete snapshots."""
    node = a_joining_node(provider_id="hcloud://1")
    snapshot = a_snapshot([CONTROL, node], servers_section=incomplete(servers_of(a_server()), "429"))
    words = {word.rule: word for word in said(node, snapshot)}

    assert words["incomplete-snapshot"].verdict is Verdict.WAITING
    assert words["project-anchor"].verdict is Verdict.ALLOWED


def test_a_hold_and_its_approval() -> None:
    """A hold over several Nodes is the word on each of them; once it is approved the word is that it lets pass."""
    snapshot = a_snapshot([CONTROL, LOST, LOST_TOO], [CONTROL_SERVER], confirmations={1: Absent(), 2: Absent()})
    (held,) = (word for word in said(LOST, snapshot) if word.rule == "node-blast-radius")
    assert held.hold is not None
    assert (held.verdict, held.why, held.value, held.limit) == (Verdict.HELD, WHY_HELD, "2", "1")
    assert (held.due_in_s, held.hold.keys) == (1500.0, ("node/web-1", "node/web-2"))

    (passed,) = (w for w in said(LOST, snapshot, approved=[held.hold.hash]) if w.rule == "node-blast-radius")
    assert passed.hold is not None
    assert (passed.verdict, passed.hold.approved, passed.approved, passed.due_in_s) == (
        Verdict.ALLOWED,
        True,
        True,
        None,
    )


def test_the_approval_of_another_hold() -> None:
    """A hold of the same rule over other changes lets nothing of this Node pass."""
    snapshot = a_snapshot([CONTROL, LOST, LOST_TOO], [CONTROL_SERVER], confirmations={1: Absent(), 2: Absent()})
    other = Hold("sha256:0123456789abcdef", GuardName.NODE_BLAST_RADIUS, "2", "1", ("node/web-1",), "", approved=True)
    facts = facts_of(compute_plan(snapshot, Settings()), snapshot, Settings())
    words = explain_guards(LOST.key, facts, ask_guards(facts), [other])
    (held,) = (word for word in words if word.rule == "node-blast-radius")

    assert (held.verdict, held.hold, held.approved) == (Verdict.HELD, None, False)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(
            a_snapshot([CONTROL, SETTLED], [CONTROL_SERVER, a_server()]),
            (PASSES, ANCHOR, proof(SILENCE, 20.0), losses(1), POLICY),
            id="settled",
        ),
        pytest.param(
            a_snapshot([SETTLED], [a_server()]),
            (
                PASSES,
                guard(
                    "project-anchor",
                    Verdict.HELD,
                    PROJECT_UNKNOWN.text(most=1),
                    "0",
                    "1",
                ),
                proof(SILENCE, 20.0),
                guard(
                    "node-blast-radius",
                    Verdict.HELD,
                    NODES_LOST.text(lost=1, most=1, wait="30 minutes"),
                    "1",
                    "0",
                    1800.0,
                ),
                POLICY,
            ),
            id="the-only-node",
        ),
        pytest.param(
            a_snapshot([CONTROL, SETTLED, LOST_TOO], [CONTROL_SERVER, a_server()]),
            (
                PASSES,
                ANCHOR,
                proof(SILENCE, 20.0),
                guard("node-blast-radius", Verdict.HELD, WHY_HELD, "2", "1", 1500.0),
                POLICY,
            ),
            id="the-second-one-lost",
        ),
        pytest.param(
            a_snapshot([CONTROL, SETTLED], servers_section=incomplete(servers_of(CONTROL_SERVER, a_server()), "429")),
            (
                guard("incomplete-snapshot", Verdict.WAITING, LIST_INCOMPLETE.text(list="servers", error="429")),
                ANCHOR,
                proof(SILENCE, 20.0),
                losses(0),
                POLICY,
            ),
            id="a-gap-in-the-list",
        ),
        pytest.param(
            a_snapshot(
                [*FOUR_MORE, CONTROL, SETTLED, LOST_TOO, a_lost_node("web-3", 3)],
                servers_section=type(SIX_SERVERS)(SIX_SERVERS.items, unreadable={3: "no type"}),
            ),
            (
                PASSES,
                guard("project-anchor", Verdict.ALLOWED, None, "5", "3"),
                proof(SILENCE, 20.0),
                guard("node-blast-radius", Verdict.HELD, WHY_HELD_AT_WORST, "3", "2", 1500.0),
                POLICY,
            ),
            id="one-more-that-could-not-be-read",
        ),
    ],
)
def test_words_on_a_deletion_that_is_not_planned(snapshot: Snapshot, expected: tuple[GuardFact, ...]) -> None:
    """What would stand in the way if the server went now and the kubelet fell silent with it."""
    told = explain_guards_on_deletion(SETTLED, in_cloud(1), snapshot, Settings())

    assert {fact.concerns for fact in told} == {Concern.DELETION}
    assert planned(told) == expected


def test_a_server_that_could_not_be_read_is_supposed_to_be_gone() -> None:
    """The question is what happens once the server is known to be gone, so it is no gap that it is not known now."""
    servers = servers_of(CONTROL_SERVER)
    unreadable = type(servers)(servers.items, unreadable={1: "no type"})
    words = explain_guards_on_deletion(
        SETTLED, in_cloud(1), a_snapshot([CONTROL, SETTLED], servers_section=unreadable), Settings()
    )

    assert losses(1) in planned(words)


def test_a_loss_that_lets_pass_is_measured_at_its_worst() -> None:
    """What could not be read counts in the measure of a rule that lets pass as it does in that of one that holds."""
    servers = type(SIX_SERVERS)(SIX_SERVERS.items, unreadable={3: "no type"})
    nodes = [*FOUR_MORE, CONTROL, SETTLED, a_lost_node("web-3", 3), a_settled_node("web-8", 8, created_at=BORN)]
    snapshot = a_snapshot(nodes, servers_section=replace(servers, items={**servers.items, 8: a_server(8, "web-8")}))

    assert losses(2, 2) in planned(explain_guards_on_deletion(SETTLED, in_cloud(1), snapshot, Settings()))


def test_a_silent_node_keeps_its_clock() -> None:
    """A Node that is not Ready already has waited for as long as it is."""
    node = a_lost_node()
    words = explain_guards_on_deletion(
        node, in_cloud(1), a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]), Settings()
    )

    assert proof(LOOKUP, 5.0) in planned(words)


def test_no_second_deletion() -> None:
    """A Node whose deletion was asked for is not deleted again."""
    node = a_lost_node(deleted_at=NOW)

    assert (
        explain_guards_on_deletion(node, in_cloud(1), a_snapshot([CONTROL, node], [CONTROL_SERVER]), Settings()) == ()
    )


def test_the_world_is_only_supposed() -> None:
    """Asking what would be changes nothing of what is."""
    snapshot = a_snapshot([CONTROL, SETTLED], [CONTROL_SERVER, a_server()])
    explain_guards_on_deletion(SETTLED, in_cloud(1), snapshot, Settings())

    assert snapshot == a_snapshot([CONTROL, SETTLED], [CONTROL_SERVER, a_server()])
    assert snapshot.nodes.items["web-1"].ready is Readiness.TRUE


def test_other_controllers() -> None:
    """Where somebody looked it is told that none is there, and how many were seen is the measure."""
    nobody_looked = a_snapshot([CONTROL, a_joining_node()], [CONTROL_SERVER, a_server()])
    looked = replace(nobody_looked, controllers=workloads_of())

    assert "other-controller" not in {word.rule for word in said(a_joining_node(), nobody_looked)}
    assert guard("other-controller", Verdict.ALLOWED, None, "0", "0") in said(a_joining_node(), looked)


def test_what_only_a_loop_remembers() -> None:
    """Rules on the past are told where they say something, and never as if they let pass."""
    snapshot = a_snapshot([CONTROL, a_joining_node()], [CONTROL_SERVER, a_server()])
    (change,) = compute_plan(snapshot, Settings()).changes
    held: dict[str, Suspension] = {
        change.key: Suspension(GuardName.BACK_OFF, mark_in(change, snapshot), 7.0, 1, error="no")
    }
    facts = facts_of(compute_plan(snapshot, Settings()), snapshot, Settings(), Setbacks(suspensions=held))

    assert not {"back-off", "flapping"} & {word.rule for word in said(a_joining_node(), snapshot)}
    words = explain_guards(change.owner, facts, ask_guards(facts))
    assert guard("back-off", Verdict.WAITING, "failed: no", due_in_s=7.0) in words


def said_of_service(snapshot: Snapshot, settings: Settings = LOCATED) -> dict[str, Verdict]:
    """Rule → its verdict on the changes of the Service of ``a_service()``."""
    plan = judge(compute_plan(snapshot, settings), snapshot, settings)
    facts = facts_of(plan, snapshot, settings)
    words = explain_guards(key_of("service/default/web"), facts, ask_guards(facts), plan.holds)
    return {word.rule: word.verdict for word in words}


ALWAYS = {"incomplete-snapshot": Verdict.ALLOWED, "project-anchor": Verdict.ALLOWED, "policy": Verdict.ALLOWED}
SPEAKS = {"silent-cluster": Verdict.ALLOWED}
BY_HAND: Mapping[str, Any] = {"service_uid": None, "cluster_uid": None}
TWO = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=False))
HTTPS = annotated(protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com")


@pytest.mark.parametrize(
    ("service", "balancers", "more"),
    [
        pytest.param(a_service(), [], {"foreign-owner": Verdict.ALLOWED}, id="to-be-created"),
        pytest.param(
            a_service(),
            [a_balancer(**BY_HAND)],
            {**SPEAKS, "foreign-owner": Verdict.ALLOWED, "adoption": Verdict.ALLOWED},
            id="to-be-adopted",
        ),
        pytest.param(
            a_service(),
            [a_balancer(**BY_HAND, targets=TWO)],
            {
                **SPEAKS,
                "absence-proof": Verdict.WAITING,
                "foreign-owner": Verdict.ALLOWED,
                "adoption": Verdict.HELD,
                "target-floor": Verdict.ALLOWED,
                "target-health": Verdict.ALLOWED,
            },
            id="to-be-adopted-with-a-loss",
        ),
        pytest.param(
            a_service(),
            [a_balancer(service_uid=None, cluster_uid="another")],
            {**SPEAKS, "foreign-owner": Verdict.REFUSED, "adoption": Verdict.ALLOWED},
            id="another-cluster's",
        ),
        pytest.param(a_served_service(), [a_balancer(targets=())], {}, id="a-target-more"),
        pytest.param(
            a_served_service(claim=a_claim(annotations=annotated(node_selector="tier=none"))),
            [a_balancer()],
            {**SPEAKS, "target-floor": Verdict.HELD, "target-health": Verdict.ALLOWED},
            id="the-last-target",
        ),
        pytest.param(
            a_served_service(claim=a_claim(annotations=annotated(disable_public_network="false"))),
            [a_balancer(spec={"public_interface": False}, targets=())],
            {**SPEAKS, "target-floor": Verdict.ALLOWED, "target-health": Verdict.ALLOWED, "exposure": Verdict.ALLOWED},
            id="to-be-opened",
        ),
        pytest.param(
            a_served_service(deleted_at=NOW), [a_balancer()], {**SPEAKS, "ip-loss": Verdict.ALLOWED}, id="being-deleted"
        ),
        pytest.param(
            a_served_service(claim=a_claim(annotations=HTTPS)),
            [a_balancer(listeners=())],
            {"certificate-issuance": Verdict.ALLOWED},
            id="a-certificate-to-create",
        ),
    ],
)
def test_words_on_a_service(service: Service, balancers: list[CloudBalancer], more: Mapping[str, Verdict]) -> None:
    """Of a Service those rules are told that have an eye on one of its changes, in the order in which they decide."""
    said = said_of_service(a_world([service], balancers, certificates=[]))

    assert said == {**ALWAYS, **more}
    assert list(said) == [rule for rule in GUARDS if rule in said]


def test_nothing_is_said_of_a_service_without_changes() -> None:
    """No guard looks at a Service of which nothing is wanted, whatever else is planned."""
    other = a_service("api", uid="00000000-1111-2222-3333-444444444444")

    assert said_of_service(a_world([a_served_service(), other], [a_balancer()])) == {}


@pytest.mark.parametrize("rule", [rule for rule, guard in GUARDS.items() if guard.looks_at is not None])
def test_rules_that_look_at_some_changes_only(rule: GuardName) -> None:
    """A rule that is left out where it has no eye on any change has nothing to say there, whatever the world is."""
    snapshot, guard = a_snapshot([LOST, LOST_TOO]), GUARDS[rule]
    for change in (a_change(kind=kind, verb=verb) for kind, row in KINDS.items() for verb in row.verbs):
        view = facts_of(Plan((change,)), snapshot, Settings())
        results = [result for result in guard.judge(view) if result.keys]

        assert not results or (guard.looks_at is not None and guard.looks_at(view, change)), change
