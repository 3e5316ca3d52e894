"""Verdicts, holds and approvals: how the guards' findings combine."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from desired.guards.filters import explain_strange_keys, filtered, policy, restrict
from desired.guards.guard import GuardInput, GuardResult, owner_in
from desired.guards.history import mark_in
from desired.guards.judge import hold_hash
from desired.guards.judge import judge as judge_facts
from desired.guards.relations import _is_allowed, propagate
from desired.guards.statuses import conditions_of
from desired.guards.table import GUARDS
from desired.model.key import Key
from desired.model.service import Ingress, Service
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Server, Snapshot
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, LABEL_SERVICE_UID
from desired.plan.change import ALLOWED, Change, GuardDecision, GuardName, Hold, Plan, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note, NoteKind
from desired.plan.setbacks import NO_SETBACKS, Setbacks, Suspension
from desired.planner import compute_plan
from desired.rules.filters import BLOCKED, NOT_NEEDED, ONLY_PART, UNKNOWN_KEY, UNKNOWN_KEY_NEAR
from desired.rules.guards import EXCLUDED_BY_POLICY, PROJECT_MISMATCH
from desired.rules.load_balancers import BALANCER_OF_CLUSTER
from desired.section import Present, Section, Unknown
from desired.syntax.bounds import counted
from tests.balancers import (
    DEFAULT_NAME,
    LOCATED,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import (
    NOW,
    a_change,
    a_fleet,
    a_loss,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    an_identity,
    incomplete,
    nodes_of,
)
from tests.support.balancer_plans import public
from tests.support.balancer_verdicts import verdicts
from tests.support.counting import calls_of
from tests.support.judging import facts_of, judge
from tests.support.keys import key_of
from tests.support.rows import rows

OLD = a_lost_node("old", 9, unschedulable=True)
ANCHORED = a_fleet(a_settled_node("n-1", 1), OLD, gone=[9])
ASTRAY = a_fleet(a_settled_node("n-1", 1), OLD, gone=[1, 9])
MISSING: Section[int, Server] = Section.missing("401")

INITIALISE = a_change("node/web-1")
DELETE = a_change("node/old", "node.delete", before=a_loss(OLD, 9))
BOTH = Plan((INITIALISE, DELETE))
ASTRAY_WHY = PROJECT_MISMATCH.text(found=0, most=1, needed=1)


def test_hold() -> None:
    note = Note(key_of("project/cloud"), NoteKind.ANCHOR, ASTRAY_WHY)
    decision = GuardDecision(Verdict.HELD, GuardName.PROJECT_ANCHOR, ASTRAY_WHY)
    hold = Hold(
        hold_hash("project-anchor", BOTH.changes, ASTRAY),
        GuardName.PROJECT_ANCHOR,
        "0",
        "1",
        ("node/old", "node/web-1"),
        PROJECT_MISMATCH.says.format(found=0, most=1, needed=1),
        advice=PROJECT_MISMATCH.remedy,
    )
    found = judge(BOTH, ASTRAY, Settings())
    names = found.holds[0].names
    assert found == Plan((INITIALISE.ruled(decision), DELETE.ruled(decision)), (note,), (replace(hold, names=names),))
    assert [owner_in(name) for name in sorted(names, key=owner_in)] == ["node/old", "node/web-1"]


def test_an_approval_names_changes_of_any_guard() -> None:
    """What it named passes, and the rest is a hold of its own. While more Nodes are found it lasts; fewer, or another
    object of the name, ask anew."""
    (hold,) = judge(BOTH, ASTRAY, Settings()).holds
    (old,) = (name for name in hold.names if owner_in(name) == "node/old")
    found = judge(BOTH, ASTRAY, Settings(), [old])
    assert verdicts(found)["node/old"] == (Verdict.ALLOWED, None)
    assert verdicts(found)["node/web-1"] == (Verdict.HELD, "project-anchor")
    assert {(each.approved, each.keys) for each in found.holds} == {(True, ("node/old",)), (False, ("node/web-1",))}

    fleet = [a_settled_node(f"n-{number}", number) for number in range(1, 5)]
    two, one, none = (a_fleet(*fleet, OLD, gone=(9, *range(5 - gone, 5))) for gone in (2, 3, 4))
    assert judge(BOTH, two, Settings()).holds == ()
    (hold,) = judge(BOTH, one, Settings()).holds
    for world, passes in ((one, True), (none, False)):
        assert bool(judge(BOTH, world, Settings(), hold.names).allowed) == passes
    assert judge(BOTH, one, Settings(), judge(BOTH, none, Settings()).holds[0].names).allowed == BOTH.changes

    again = a_fleet(a_settled_node("n-1", 1), replace(OLD, uid="uid-of-another"), gone=[1, 9])
    assert verdicts(judge(BOTH, again, Settings(), [old]))["node/old"] == (Verdict.HELD, "project-anchor")


@rows("floors passes", {
    "as many": ([("port 80", 3)], True),
    "more": ([("port 80", 4)], True),
    "fewer": ([("port 80", 2)], False),
    "as many of something else": ([("port 443", 3)], False),
    "none of something else besides": ([("port 80", 3), ("port 443", 0)], False),
    "nothing is counted": ([], False),
})  # fmt: skip
def test_an_approval_lasts_while_as_many_stay(floors: list[tuple[str, int]], passes: bool) -> None:
    facts = facts_of(BOTH, ANCHORED, Settings())
    held = GuardResult.of(PROJECT_MISMATCH, (DELETE.key,), {"found": 0, "most": 1, "needed": 1}, value=3, limit=4)
    (hold,) = judge_facts(facts, (), [held.leaving(3, of="port 80")]).holds
    plan = judge_facts(facts, hold.names, [replace(held, floors=tuple(floors))])
    assert [each.approved for each in plan.holds] == [passes]


def test_an_approved_hash_is_not_split_by_names() -> None:
    """Names of an earlier approval pass a part of the same hold; the rest would have another hash."""
    (hold,) = judge(BOTH, ASTRAY, Settings()).holds
    plan = judge(BOTH, ASTRAY, Settings(), [hold.hash, hold.names[0]])
    assert (plan.allowed, [each.keys for each in plan.holds]) == (BOTH.changes, [hold.keys])


def test_an_approval_speaks_for_its_hold_and_its_rule() -> None:
    (hold,) = judge(BOTH, ASTRAY, Settings()).holds
    judged = judge(BOTH, ASTRAY, Settings(), {hold.hash})
    assert (judged.allowed, judged.holds) == (BOTH.changes, (replace(hold, approved=True),))
    assert judge(BOTH, ASTRAY, Settings(), {"sha256:0000000000000000"}) == judge(BOTH, ASTRAY, Settings())
    by_policy = {INITIALISE.key: (Verdict.ALLOWED, None), DELETE.key: (Verdict.WAITING, "policy")}
    (part,) = judge(BOTH, ASTRAY, UPSERT).holds
    assert verdicts(judge(BOTH, ASTRAY, UPSERT, {part.hash})) == by_policy
    assert verdicts(judge(BOTH, ANCHORED, UPSERT)) == by_policy


UNREAD = a_snapshot([a_settled_node(), OLD], servers_section=MISSING)
OBSERVED, UPSERT = Settings(policy=Policy.OBSERVE), Settings(policy=Policy.UPSERT)
NODES_GAP = a_snapshot(nodes_section=incomplete(nodes_of(a_settled_node("n-1", 1), OLD)))
BY_ANCHOR = (Verdict.HELD, "project-anchor")


@rows("snapshot settings expected", {
    "held-beats-waiting": (ASTRAY, OBSERVED, BY_ANCHOR),
    "held-beats-waiting-that-came-first": (NODES_GAP, Settings(), BY_ANCHOR),
    "of-equals-the-earlier-rule": (UNREAD, OBSERVED, (Verdict.WAITING, "incomplete-snapshot")),
    "waiting-beats-allowed": (ANCHORED, UPSERT, (Verdict.WAITING, "policy")),
})  # fmt: skip
def test_the_heavier_verdict_wins(snapshot: Snapshot, settings: Settings, expected: tuple[Verdict, str | None]) -> None:
    assert verdicts(judge(Plan((DELETE,)), snapshot, settings)) == {"node/old": expected}


def chain(*depends_on: tuple[str, ...]) -> Plan:
    """A removal at ``node/a`` and label corrections ``node/b/labels``, ``c``, ``d`` with these dependencies."""
    removal = a_change("node/a", "node.delete", before=a_loss(OLD, 9))
    others = (
        a_change(f"node/{name}/labels", "node.labels", depends_on=keys)
        for name, keys in zip("bcd", depends_on, strict=False)
    )
    return Plan((removal, *others))


A_KEY, B_KEY, C_KEY = "node/a", "node/b/labels", "node/c/labels"


@rows("plan expected", {
    "directly": (chain((A_KEY,)), {"b": A_KEY}),
    "through-others": (chain((A_KEY,), (B_KEY,), (C_KEY,)), {"b": A_KEY, "c": B_KEY, "d": C_KEY}),
    "against-the-order-of-keys": (chain((C_KEY,), (A_KEY,)), {"b": C_KEY, "c": A_KEY}),
    "one-of-several": (chain((), (B_KEY, A_KEY)), {"c": A_KEY}),
    "dependency-allowed-or-not-planned": (chain((), (B_KEY, "node/elsewhere")), {}),
    "circle": (chain((C_KEY, A_KEY), (B_KEY,)), {"b": A_KEY, "c": B_KEY}),
})  # fmt: skip
def test_dependents_are_withheld(plan: Plan, expected: dict[str, str]) -> None:
    found = {change.key: change.decision for change in judge(plan, ANCHORED, UPSERT).changes}
    why = {f"node/{name}/labels": BLOCKED.text(change=key, state="waiting") for name, key in expected.items()}
    why[A_KEY] = EXCLUDED_BY_POLICY.text(policy="upsert")
    by_policy = {key: GuardDecision(Verdict.WAITING, GuardName.POLICY, text) for key, text in why.items()}
    assert {key: decision for key, decision in found.items() if decision != ALLOWED} == by_policy


LABELS = {"topology.kubernetes.io/region": "fsn1", "topology.kubernetes.io/zone": "fsn1-dc14"}
HELD = (
    a_change("node/old", "node.delete", before=a_loss(replace(OLD, labels=LABELS), 9)),
    a_change("node/older", "node.delete"),
)


def loss_of(server_id: int = 9, **overrides: Any) -> Change:
    return replace(HELD[0], before=a_loss(replace(OLD, **{"labels": LABELS} | overrides), server_id))


def hash_of(*changes: Change, snapshot: Snapshot = ANCHORED, rule: str = "project-anchor") -> str:
    return hold_hash(rule, changes, snapshot)


@rows("other", {
    "order": lambda: hash_of(*reversed(HELD)),
    "consequences": lambda: hash_of(replace(HELD[0], consequences=("a", "b")), HELD[1]),
    "rest-of-the-world": lambda: hash_of(*HELD, snapshot=ASTRAY),
    "order-of-labels": lambda: hash_of(loss_of(labels=dict(reversed(LABELS.items()))), HELD[1]),
})  # fmt: skip
def test_hash_stays(other: Callable[[], str]) -> None:
    assert other() == hash_of(*HELD)


@rows("other", {
    "rule": lambda: hash_of(*HELD, rule="node-blast-radius"),
    "cluster": lambda: hash_of(*HELD, snapshot=a_snapshot(cluster_uid=Present("other"))),
    "unknown-cluster": lambda: hash_of(*HELD, snapshot=a_snapshot(cluster_uid=Unknown("403"))),
    "one-fewer": lambda: hash_of(HELD[0]),
    "key": lambda: hash_of(replace(HELD[0], key=key_of("node/x")), HELD[1]),
    "no-proof": lambda: hash_of(replace(HELD[0], before=an_identity("hcloud://9")), HELD[1]),
    "server-in-the-proof": lambda: hash_of(loss_of(8), HELD[1]),
    "uid-in-the-proof": lambda: hash_of(loss_of(uid="anew"), HELD[1]),
    "age-in-the-proof": lambda: hash_of(loss_of(created_at=NOW), HELD[1]),
    "silence-in-the-proof": lambda: hash_of(loss_of(conditions=()), HELD[1]),
    "kind": lambda: hash_of(replace(HELD[0], kind=ChangeKind.NODE_INITIALISE, verb=Verb.ADD), HELD[1]),
    "after": lambda: hash_of(replace(HELD[0], after=an_identity("hcloud://3")), HELD[1]),
})  # fmt: skip
def test_hash_differs(other: Callable[[], str]) -> None:
    assert other() != hash_of(*HELD)


def test_unrelated_changes_leave_an_approval_valid() -> None:
    robot = a_change("node/robot", "node.delete", before=an_identity("hrobot://7"))
    (alone,) = judge(BOTH, ASTRAY, Settings()).holds
    (beside,) = judge(Plan((*BOTH.changes, robot)), ASTRAY, Settings()).holds
    assert alone == beside


A, B = a_change("node/a"), a_change("node/ab")
A_LABELS = a_change("node/a/labels", "node.labels")
NOTES = (Note(key_of("node/a"), NoteKind.KEPT, "x"), Note(key_of("node/ab"), NoteKind.FOREIGN, "x"))
ANCHOR_NOTE = Note(key_of("project/cloud"), NoteKind.ANCHOR, "x")
RULE = GuardName.NODE_BLAST_RADIUS
HOLDS = (Hold("1", RULE, "1", "0", ("node/a", "node/ab"), ""), Hold("2", RULE, "1", "0", ("node/ab",), ""))
WHOLE = Plan((A, A_LABELS, B), (*NOTES, ANCHOR_NOTE), HOLDS)


def partial(only: str, left_out: int) -> Note:
    return ONLY_PART.note(key_of("plan"), keys=only, changes=counted(left_out, "other change"))


def unknown(key: str, nearest: str = "") -> str:
    return UNKNOWN_KEY_NEAR.text(key=key, keys=nearest) if nearest else UNKNOWN_KEY.text(key=key)


CALM = a_world(certificates=[])
"""Nothing in this world stands in the way of a change."""


def part_of(plan: Plan, *only: str, snapshot: Snapshot = CALM, settings: Settings = LOCATED) -> Plan:
    """The plan as a run with ``--only`` judges and shows it."""
    return restrict(judge(plan, snapshot, replace(settings, only=only)), only)


def unagreed(facts: GuardInput, *keys: str) -> GuardInput:
    """The input of a run in which changes with these keys were not agreed to."""
    left = GuardDecision(Verdict.WAITING, GuardName.AGREED_PLAN, "left")
    return filtered(facts, unagreed=dict.fromkeys(keys, left))


@rows("only expected", {
    "everything": ((), WHOLE),
    "a-key-and-below-but-no-longer-name": (("node/a",),
        Plan((A, A_LABELS), (NOTES[0], ANCHOR_NOTE, partial("node/a", 1)), HOLDS[:1])),
    "only-a-part": (("node/a/labels",), Plan((A_LABELS,), (ANCHOR_NOTE, partial("node/a/labels", 2)))),
    "a-whole-kind": (("node",), Plan(WHOLE.changes, (*WHOLE.notes, partial("node", 0)), HOLDS)),
    "several": (("node/a/labels", "node/ab"),
        Plan((A_LABELS, B), (NOTES[1], ANCHOR_NOTE, partial("node/a/labels, node/ab", 1)), HOLDS)),
    "something-below-a-key-that-is-there": (("node/a/label",), Plan(notes=(ANCHOR_NOTE, partial("node/a/label", 3)))),
})  # fmt: skip
def test_restrict(only: tuple[str, ...], expected: Plan) -> None:
    assert restrict(WHOLE, only) == expected


@rows("only expected", {
    "everything": ("", ()),
    "observed-and-in-no-need-of-a-change": ("node/web-1", ()),
    "below-what-was-observed": ("node/web-1/labels", ()),
    "a-kind-of-which-there-is-nothing": ("route", ()),
    "planned": ("node/a/labels", ()),
    "a-typing-error": ("node/wbe-1", (unknown("node/wbe-1", "node/web-1, node/web-2, node/ab"),)),
    "one-of-several,-and-nothing-is-near": ("node/ab volume/77", (unknown("volume/77"),)),
})  # fmt: skip
def test_unknown_keys(only: str, expected: tuple[str, ...]) -> None:
    assert explain_strange_keys(WHOLE, tuple(only.split()), ("node/web-2", "node/web-1")) == expected


def test_a_part_keeps_notes_on_approvals() -> None:
    """Why an approval does not count is said of the whole plan, and is not lost in a part of it."""
    note = Note(key_of("plan"), NoteKind.APPROVAL, "the approval of 1 has expired")
    assert restrict(replace(WHOLE, notes=(note,)), ("node/a",)).notes == (note, partial("node/a", 1))


def test_a_preparation_waits_when_its_use_is_left_out() -> None:
    plan = Plan((FINALIZER, CREATED))
    (change,) = part_of(plan, FINALIZER.key).changes
    assert change.decision == GuardDecision(
        Verdict.WAITING, GuardName.ONLY, "not needed until load_balancer/default/web is allowed (left out)"
    )
    assert {each.decision for each in part_of(plan, "service/default/web").changes} == {ALLOWED}


def of_web(part: str, kind: str, verb: Verb, **fields: Any) -> Change:
    return a_change(f"load_balancer/default/web{part}", kind, verb=verb, owner="service/default/web", **fields)


COMES = of_web("/target/server:1", "lb.target", Verb.ADD)
GOES = of_web("/target/server:2", "lb.target", Verb.REMOVE)
LEAVES = of_web("/network/7", "lb.network", Verb.REMOVE)
RETURNS = replace(COMES, depends_on=(LEAVES.key,))
FINALIZER = a_change("service/default/web/finalizer", "service.claim")
CREATED = of_web("", "lb.create", Verb.ADD, depends_on=(FINALIZER.key,))


@rows("changes left withheld", {
    "nothing else": ((A, B), "node/a", ["node/a"]),
    "what comes after it": ((A, replace(B, depends_on=(A.key,))), "node/a", ["node/a", "node/ab"]),
    "what only prepares it": ((FINALIZER, CREATED), CREATED.key, [CREATED.key, FINALIZER.key]),
    "not what goes beside it": ((COMES, GOES), COMES.key, [COMES.key]),
    "what takes it away": ((LEAVES, RETURNS), RETURNS.key, [LEAVES.key, RETURNS.key]),
})  # fmt: skip
def test_a_part_of_a_plan(changes: tuple[Change, ...], left: str, withheld: list[str]) -> None:
    found = judge_facts(unagreed(facts_of(Plan(changes), CALM, Settings()), left)).with_verdict(Verdict.WAITING)
    assert sorted(change.key for change in found) == sorted(withheld)
    assert {change.decision.rule for change in found} == {GuardName.AGREED_PLAN}


EXCLUDED = {LABEL_EXCLUDE_FROM_BALANCERS: ""}


def replacing() -> Snapshot:
    """A world in which the only target, of an excluded Node, goes, and another one comes."""
    nodes = [a_settled_node("web-1", 1, labels=EXCLUDED), a_settled_node("web-2", 2)]
    servers = [a_server(number, f"web-{number}") for number in (1, 2)]
    return a_world([a_served_service()], [a_balancer(targets=public(1))], nodes=nodes, servers=servers)


def target(number: int) -> Key:
    return key_of(f"{LB}/target/server:{number}")


def test_no_floor_counts_on_changes_that_are_left_out() -> None:
    world = replacing()
    facts = facts_of(compute_plan(world, LOCATED), world, LOCATED)
    assert judge_facts(facts).holds == ()

    for plan in (judge_facts(unagreed(facts, target(2))), part_of(facts.plan, target(1), snapshot=world)):
        assert verdicts(plan)[target(1)] == (Verdict.HELD, "target-floor")
        assert [hold.keys for hold in plan.holds] == [(target(1),)]


FOUR_LOST = a_fleet(
    *(a_lost_node(f"web-{number}", number) for number in range(1, 5)), a_settled_node("n-9", 9), gone=range(1, 5)
)


def test_a_hold_of_a_part_names_that_part() -> None:
    """Losses are counted by servers that are gone, so that a part is held as well; both name the same differences."""
    plan = compute_plan(FOUR_LOST, Settings())
    (whole,), (part,) = judge(plan, FOUR_LOST, Settings()).holds, part_of(plan, "node/web-1", snapshot=FOUR_LOST).holds

    assert (part.rule, part.value, part.keys) == (whole.rule, whole.value, ("node/web-1",))
    assert {*part.names} < {*whole.names}
    assert part.hash != whole.hash

    settings = Settings(only=("node/web-1",))
    for approved in ([part.hash], whole.names, part.names):
        assert [c.key for c in judge(plan, FOUR_LOST, settings, approved).allowed] == ["node/web-1"]
    assert [c.key for c in judge(plan, FOUR_LOST, Settings(), part.names).allowed] == ["node/web-1"]
    assert judge(plan, FOUR_LOST, Settings(), [part.hash]).allowed == ()


def test_no_hold_is_only_of_changes_that_the_policy_leaves_out() -> None:
    """An approval would let nothing pass."""
    plan = compute_plan(FOUR_LOST, UPSERT)

    assert judge(plan, FOUR_LOST, UPSERT).holds == ()
    assert {rule for _, rule in verdicts(judge(plan, FOUR_LOST, UPSERT)).values()} == {"policy"}
    assert {rule for _, rule in verdicts(judge(plan, FOUR_LOST, Settings(policy=Policy.OBSERVE))).values()} == {
        "node-blast-radius"
    }


SECURE = annotated(protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com")
SERVICE, LB, CERTIFICATE = "service/default/web", "load_balancer/default/web", "certificate/default/web"
CLAIM, STATUS = f"{SERVICE}/finalizer", f"{SERVICE}/status"
NEW, NEW_SECURE = a_service(), a_service(claim=a_claim(annotations=SECURE))
FOREIGN = a_balancer(cluster_uid="another")
TO_ADOPT = a_balancer(service_uid=None, cluster_uid=None, listeners=(a_listener(), a_listener(81, 30081)))


def of_world(snapshot: Snapshot, settings: Settings = LOCATED) -> Plan:
    return judge(compute_plan(snapshot, settings), snapshot, settings)


OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)
GAP: Section[str, Service] = incomplete(Section({NEW.id: NEW}))
ISSUING = a_certificate(is_managed=True, labels={LABEL_SERVICE_UID: NEW.uid})
KEPT = a_world([NEW_SECURE], [a_balancer()], certificates=[], cluster_uid=Unknown("403"))
OF_ANOTHER = BALANCER_OF_CLUSTER.because(balancer=42, name=DEFAULT_NAME, cluster="another").says
REFUSED = GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, OF_ANOTHER)
ASTRAY_HELD = GuardDecision(Verdict.HELD, GuardName.PROJECT_ANCHOR, ASTRAY_WHY)
BY_POLICY = GuardDecision(Verdict.WAITING, GuardName.POLICY, EXCLUDED_BY_POLICY.text(policy="observe"))


def unneeded(rule: GuardName, state: str = "waiting", key: str = LB) -> GuardDecision:
    """That it waits for what it is made for, which this rule withholds."""
    return GuardDecision(Verdict.WAITING, rule, NOT_NEEDED.text(change=key, state=state))


GAPPED = unneeded(GuardName.INCOMPLETE_SNAPSHOT)
UNADOPTED = unneeded(GuardName.ADOPTION, "held")


@rows("snapshot settings expected", {
    "policy": (a_world([NEW]), OBSERVE, BY_POLICY),
    "another project": (a_world([NEW], servers=[]), LOCATED, ASTRAY_HELD),
    "refused": (a_world([NEW], [FOREIGN]), LOCATED, REFUSED),
    "Services with a gap": (replace(a_world(), services=GAP), LOCATED, GAPPED),
    "adoption held": (a_world([NEW], [TO_ADOPT]), LOCATED, UNADOPTED),
    "only a port waits": (a_world([NEW_SECURE], certificates=[ISSUING]), LOCATED, ALLOWED),
    "it keeps the load balancer that is there, whatever waits besides": (KEPT, LOCATED, ALLOWED),
})  # fmt: skip
def test_claims(snapshot: Snapshot, settings: Settings, expected: GuardDecision) -> None:
    assert of_world(snapshot, settings).by_key[CLAIM].decision == expected


def by_hand(key: str, kind: str, *depends_on: str) -> Change:
    return a_change(key, kind, owner=SERVICE, depends_on=depends_on)


OTHER_LB, TYPE, PORT = "load_balancer/default/other", f"{LB}/type", f"{LB}/listener/80"
MADE, UNCLAIMED = by_hand(LB, "lb.create", CLAIM), by_hand(LB, "lb.create")
CLAIMED = (by_hand(CLAIM, "service.claim"), MADE)
ISSUED = by_hand(CERTIFICATE, "certificate.create")
OF_LB = (by_hand(TYPE, "lb.type", LB), by_hand(STATUS, "service.status", LB))
PORTS = (by_hand(PORT, "lb.listener", LB, CERTIFICATE), by_hand(f"{LB}/listener/81", "lb.listener", CERTIFICATE))


@rows("changes expected", {
    "what it prepares": (CLAIMED, {CLAIM, LB}),
    "for something else": ((CLAIMED[0], UNCLAIMED), {LB}),
    "for two, one of which goes on": ((*CLAIMED, by_hand(OTHER_LB, "lb.adopt", CLAIM)), {LB}),
    "for two that wait": ((*CLAIMED, by_hand(OTHER_LB, "lb.create", CLAIM)), {LB, OTHER_LB, CLAIM}),
    "what depends on it waits": ((*CLAIMED, replace(ISSUED, depends_on=(CLAIM,))), {LB, CLAIM, CERTIFICATE}),
    "only what depends": ((UNCLAIMED, *OF_LB), {LB, TYPE, STATUS}),
    "other kinds prepare none": ((by_hand(LB, "lb.create", TYPE), by_hand(TYPE, "lb.type")), {LB}),
    "a certificate for two ports, one of which goes on": ((UNCLAIMED, ISSUED, *PORTS), {LB, PORT}),
})  # fmt: skip
def test_preparations(changes: tuple[Change, ...], expected: set[str]) -> None:
    snapshot = replace(a_world(certificates=[]), load_balancers=incomplete(Section({})))
    judged = judge(Plan(changes), snapshot, LOCATED)
    assert {change.key for change in judged.changes} - {change.key for change in judged.allowed} == expected


def conditions(judged: Plan) -> dict[str, tuple[str, str]]:
    """Type → status and reason of what goes along with the write of the Service's status."""
    return {condition.type: (condition.status, condition.reason) for condition in judged.by_key[STATUS].conditions}


PUBLISHED, NO_ADDRESS = ("True", "AddressPublished"), ("False", "NoAddress")
INVALID = a_claim(annotations=annotated(type="lb99"))
WELL, IN_NEED = a_world([NEW], [a_balancer()]), a_world([NEW_SECURE], [a_balancer()], certificates=[])
ITSELF_INVALID = a_world([a_service(claim=INVALID)], [a_balancer()])


@rows("snapshot settings ready in_sync", {
    "all is well": (WELL, LOCATED, PUBLISHED, ("True", "InSync")),
    "withheld": (WELL, OBSERVE, NO_ADDRESS, ("False", "Waiting")),
    "held": (replace(WELL, servers=Section()), LOCATED, NO_ADDRESS, ("False", "Held")),
    "something waits for the next pass": (IN_NEED, LOCATED, PUBLISHED, ("False", "Waiting")),
    "it is in trouble itself": (ITSELF_INVALID, LOCATED, PUBLISHED, ("False", "InvalidAnnotation")),
})  # fmt: skip
def test_rides(snapshot: Snapshot, settings: Settings, ready: tuple[str, str], in_sync: tuple[str, str]) -> None:
    judged = of_world(snapshot, settings)
    assert conditions(judged) == {"LoadBalancerReady": ready, "LoadBalancerInSync": in_sync}
    assert {change.kind for change in judged.changes if change.conditions} == {"service.status"}


@pytest.mark.parametrize("key", ["service/default/shop", "node/web-1", LB])
def test_conditions_of_other_objects(key: str) -> None:
    snapshot = a_world([NEW], [a_balancer()])
    assert conditions_of(key_of(key), (), facts_of(Plan(), snapshot, LOCATED)) == ()
    assert conditions_of(key_of(key), (), facts_of(Plan(), replace(snapshot, services=None), LOCATED)) == ()


def test_a_long_chain_takes_one_turn() -> None:
    """Each change of a chain is looked at a few times, however long the chain is."""
    keys = [f"node/n-{number:04d}/labels" for number in range(500)]
    befores: list[tuple[str, ...]] = [(), *((key,) for key in keys[:-1])]
    chain_of_all = [a_change(key, "node.labels", depends_on=before) for key, before in zip(keys, befores, strict=True)]
    held = GuardDecision(Verdict.HELD, GuardName.PROJECT_ANCHOR, "held")
    with calls_of(_is_allowed) as calls:
        ruled = propagate([chain_of_all[0].ruled(held), *chain_of_all[1:]])
    assert {change.decision.verdict for change in ruled[1:]} == {Verdict.WAITING}
    assert calls["_is_allowed"] < 20 * len(keys)


ELSEWHERE = key_of("load_balancer/default/api")
LISTENER = key_of(f"{LB}/listener/80")
PROXIED = a_served_service(claim=a_claim(annotations=annotated(uses_proxyprotocol="true")))
REWRITTEN = a_world([PROXIED], [a_balancer()])
REWRITE = compute_plan(REWRITTEN, LOCATED)
SUSPENDED = Suspension(GuardName.BACK_OFF, mark_in(REWRITE.by_key[LISTENER], REWRITTEN), 7.0, error="failed")


@rows("setbacks is_written", {
    "nothing in the way": (NO_SETBACKS, True),
    "its port waits": (Setbacks(suspensions={LISTENER: SUSPENDED}), False),
    "its port was refused": (Setbacks(refused=frozenset({LISTENER})), False),
    "another was refused": (Setbacks(refused=frozenset({ELSEWHERE})), True),
})  # fmt: skip
def test_a_status_that_waits_for_its_load_balancer(setbacks: Setbacks, is_written: bool) -> None:
    """It is left out as long as the load balancer stays as it is: what is published is right then."""
    assert {STATUS, LISTENER} <= REWRITE.by_key.keys()
    assert (STATUS in judge(REWRITE, REWRITTEN, LOCATED, setbacks=setbacks).by_key) is is_written


def test_a_status_that_is_left_out_says_nothing_of_the_service() -> None:
    """A default may bring another write of it: the conditions that go along do not wait for the one that is none."""
    other = replace(REWRITE.by_key[STATUS], key=key_of(f"{STATUS}/default"), after=(Ingress("203.0.113.9"),))
    setbacks = Setbacks(refused=frozenset({LISTENER}))
    with_it, without = (
        judge(Plan((*changes, other)), REWRITTEN, LOCATED, setbacks=setbacks)
        for changes in (REWRITE.changes, [change for change in REWRITE.changes if change.key != STATUS])
    )
    assert other.key in with_it.by_key
    assert with_it == without
    assert with_it.by_key[other.key].conditions == without.by_key[other.key].conditions


OF_EACH = Plan((a_change("node/old", "node.delete"), a_change(), a_change("load_balancer/ns/a/type", "lb.type")))
MODIFIED, ADDED, REMOVED = OF_EACH.by_key


@pytest.mark.parametrize(
    ("chosen", "keys"), [(Policy.SYNC, ()), (Policy.UPSERT, (REMOVED,)), (Policy.OBSERVE, (MODIFIED, ADDED, REMOVED))]
)
def test_policy(chosen: Policy, keys: tuple[str, ...]) -> None:
    found = policy(replace(facts_of(OF_EACH, a_snapshot(), Settings()), settings=Settings(policy=chosen)))
    assert list(found) == [GuardResult.of(EXCLUDED_BY_POLICY, keys, {"policy": chosen})]


ORDER = """
incomplete-snapshot other-controller project-anchor silent-cluster absence-proof clock-skew node-blast-radius
by-default address-blast-radius foreign-owner adoption ip-loss address-in-use
target-floor target-health exposure certificate-issuance route-blast-radius cluster-cidr flapping back-off quota policy
volume-detach
"""


def test_guards_in_their_order() -> None:
    """Of two guards with equally heavy verdicts the earlier one is named. What is no guard leaves changes out."""
    assert list(GUARDS) == ORDER.split()
    assert set(GuardName) - GUARDS.keys() == {"only", "agreed-plan"}
