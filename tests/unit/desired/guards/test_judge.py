"""Verdicts, holds and approvals: how the guards' findings combine."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from desired.guards.filters import explain_strange_keys, filtered, restrict
from desired.guards.guard import GuardInput, GuardResult, owner_in
from desired.guards.judge import hold_hash
from desired.guards.judge import judge as judge_facts
from desired.guards.relations import _is_allowed, propagate
from desired.guards.statuses import conditions_of
from desired.model.key import Key
from desired.model.load_balancer import CloudBalancer, Health
from desired.model.service import Service
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Server, Snapshot
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, LABEL_SERVICE_UID
from desired.plan.change import ALLOWED, Change, Difference, GuardDecision, GuardName, Hold, Plan, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan, with_served
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
    UNINITIALIZED,
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


def verdicts(plan: Plan) -> dict[str, tuple[Verdict, str | None]]:
    return {change.key: (change.decision.verdict, change.decision.rule) for change in plan.changes}


def test_nothing_in_the_way() -> None:
    """A plan that no rule objects to is allowed as it is."""
    assert judge(BOTH, ANCHORED, Settings()) == BOTH


def test_hold() -> None:
    """A held plan names rule, numbers, keys and the hash that lets it pass; the finding is also a note."""
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
    """Of each population that the guard counts: it compares none with another."""
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
    """An approved hold is still shown and withholds nothing; other rules do, and another hash lets nothing pass."""
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
    """Where rules overlap the heavier verdict stands, and of equal ones the first."""
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
    """Whatever comes after a withheld change, directly or not, waits for it under the same rule."""
    found = {change.key: change.decision for change in judge(plan, ANCHORED, UPSERT).changes}
    why = {f"node/{name}/labels": BLOCKED.text(change=key, state="waiting") for name, key in expected.items()}
    why[A_KEY] = EXCLUDED_BY_POLICY.text(policy="upsert")
    by_policy = {key: GuardDecision(Verdict.WAITING, GuardName.POLICY, text) for key, text in why.items()}
    assert {key: decision for key, decision in found.items() if decision != ALLOWED} == by_policy


def test_dependent_of_a_held_change_waits() -> None:
    """Nobody approves a dependent: it waits for the held change, under that change's rule."""
    held = a_change("node/web-1")
    after = a_change("node/robot", before=an_identity("hrobot://1"), after=an_identity("hrobot://7"))
    after = replace(after, depends_on=("node/web-1",))
    judged = judge(Plan((held, after)), ASTRAY, Settings())
    assert [hold.keys for hold in judged.holds] == [("node/web-1",)]
    assert judged.by_key[after.key].decision == GuardDecision(
        Verdict.WAITING, GuardName.PROJECT_ANCHOR, "blocked by node/web-1 (held)"
    )


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
    "reason": lambda: hash_of(replace(HELD[0], reason="other words"), HELD[1]),
    "consequences": lambda: hash_of(replace(HELD[0], consequences=("a", "b")), HELD[1]),
    "ruling": lambda: hash_of(HELD[0].ruled(GuardDecision(Verdict.HELD, GuardName.POLICY)), HELD[1]),
    "rest-of-the-world": lambda: hash_of(*HELD, snapshot=ASTRAY),
    "order-of-labels": lambda: hash_of(loss_of(labels=dict(reversed(LABELS.items()))), HELD[1]),
})  # fmt: skip
def test_hash_stays(other: Callable[[], str]) -> None:
    """The hash of a hold depends on nothing but cluster, rule and the held changes' kinds, keys and sides."""
    assert other() == hash_of(*HELD)


@rows("other", {
    "rule": lambda: hash_of(*HELD, rule="node-blast-radius"),
    "cluster": lambda: hash_of(*HELD, snapshot=a_snapshot(cluster_uid=Present("other"))),
    "unknown-cluster": lambda: hash_of(*HELD, snapshot=a_snapshot(cluster_uid=Unknown("403"))),
    "one-fewer": lambda: hash_of(HELD[0]),
    "one-more": lambda: hash_of(*HELD, INITIALISE),
    "key": lambda: hash_of(replace(HELD[0], key=key_of("node/x")), HELD[1]),
    "no-proof": lambda: hash_of(replace(HELD[0], before=an_identity("hcloud://9")), HELD[1]),
    "identity-before": lambda: hash_of(loss_of(taints=(UNINITIALIZED,)), HELD[1]),
    "server-in-the-proof": lambda: hash_of(loss_of(8), HELD[1]),
    "uid-in-the-proof": lambda: hash_of(loss_of(uid="anew"), HELD[1]),
    "age-in-the-proof": lambda: hash_of(loss_of(created_at=NOW), HELD[1]),
    "silence-in-the-proof": lambda: hash_of(loss_of(conditions=()), HELD[1]),
    "kind": lambda: hash_of(replace(HELD[0], kind=ChangeKind.NODE_INITIALISE, verb=Verb.ADD), HELD[1]),
    "after": lambda: hash_of(replace(HELD[0], after=an_identity("hcloud://3")), HELD[1]),
})  # fmt: skip
def test_hash_differs(other: Callable[[], str]) -> None:
    """Any other cluster, rule, kind, key or side is another hold."""
    assert other() != hash_of(*HELD)


def test_unrelated_changes_leave_an_approval_valid() -> None:
    """What comes and goes beside a hold does not touch its hash."""
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
    """A restricted plan has what concerns the keys, every hold on it, the anchor's finding, and says what it omits."""
    assert restrict(WHOLE, only) == expected


@rows("only expected", {
    "everything": ("", ()),
    "observed-and-in-no-need-of-a-change": ("node/web-1", ()),
    "below-what-was-observed": ("node/web-1/labels", ()),
    "above-what-was-observed": ("node", ()),
    "a-kind-of-which-there-is-nothing": ("route", ()),
    "planned": ("node/a/labels", ()),
    "below-what-is-planned": ("node/a/label", ()),
    "a-longer-name": ("node/web-11", (unknown("node/web-11", "node/web-1, node/web-2, node/ab"),)),
    "a-typing-error": ("node/wbe-1", (unknown("node/wbe-1", "node/web-1, node/web-2, node/ab"),)),
    "one-of-several,-and-nothing-is-near": ("node/ab volume/77", (unknown("volume/77"),)),
})  # fmt: skip
def test_unknown_keys(only: str, expected: tuple[str, ...]) -> None:
    """A key of something that was observed is no typing error, though nothing is planned for it."""
    assert explain_strange_keys(WHOLE, tuple(only.split()), ("node/web-2", "node/web-1")) == expected


def test_a_part_keeps_what_is_said_of_approvals() -> None:
    """Why an approval does not count is said of the whole plan, and is not lost in a part of it."""
    note = Note(key_of("plan"), NoteKind.APPROVAL, "the approval of 1 has expired")
    assert restrict(replace(WHOLE, notes=(note,)), ("node/a",)).notes == (note, partial("node/a", 1))


def test_a_change_waits_when_what_it_depends_on_is_left_out() -> None:
    """Restricting a plan never lets a change be applied before what has to come first."""
    first, then = a_change("node/a"), a_change("node/b", depends_on=("node/a",))
    (change,) = part_of(Plan((first, then)), "node/b").changes
    assert change.decision == GuardDecision(Verdict.WAITING, GuardName.ONLY, "blocked by node/a (left out)")


def test_what_only_serves_others_waits_when_they_are_left_out() -> None:
    """No finalizer is claimed for a load balancer that this run does not create."""
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
LEAVES = of_web("/network/7", "lb.network", Verb.REMOVE, together=(COMES.key,))
RETURNS = replace(COMES, depends_on=(LEAVES.key,))
FINALIZER = a_change("service/default/web/finalizer", "service.claim", serves=("load_balancer/default/web",))
CREATED = of_web("", "lb.create", Verb.ADD, depends_on=(FINALIZER.key,))


@rows("changes left withheld", {
    "nothing else": ((A, B), "node/a", ["node/a"]),
    "what comes after it": ((A, replace(B, depends_on=(A.key,))), "node/a", ["node/a", "node/ab"]),
    "what only prepares it": ((FINALIZER, CREATED), CREATED.key, [CREATED.key, FINALIZER.key]),
    "not what goes beside it": ((COMES, GOES), COMES.key, [COMES.key]),
    "what takes it away": ((LEAVES, RETURNS), RETURNS.key, [LEAVES.key, RETURNS.key]),
})  # fmt: skip
def test_a_part_of_a_plan(changes: tuple[Change, ...], left: str, withheld: list[str]) -> None:
    """What is left out takes along what must not be done without it."""
    found = judge_facts(unagreed(facts_of(Plan(changes), CALM, Settings()), left)).with_verdict(Verdict.WAITING)
    assert sorted(change.key for change in found) == sorted(withheld)
    assert {change.decision.rule for change in found} == {GuardName.AGREED_PLAN}


@pytest.mark.parametrize("verdict", [Verdict.WAITING, Verdict.HELD, Verdict.REFUSED])
@pytest.mark.parametrize("rule", [GuardName.QUOTA, GuardName.SILENT_CLUSTER, GuardName.TARGET_HEALTH])
def test_what_takes_away_waits_while_that_cannot_come_back(verdict: Verdict, rule: GuardName) -> None:
    """Whatever withholds it, and although a person may have approved the rest."""
    decision = GuardDecision(verdict, rule, "no")
    leaves, _ = sorted(propagate([LEAVES, COMES.ruled(decision)]), key=lambda change: change.kind)
    assert (leaves.decision.verdict, leaves.decision.rule) == (Verdict.WAITING, rule)


EXCLUDED = {LABEL_EXCLUDE_FROM_BALANCERS: ""}


def replacing(said: Health, goes: int = 1, stays: int = 0, comes: int = 1) -> Snapshot:
    """A world in which targets of excluded Nodes go, of others stay, and of new ones come."""
    there = public(*range(1, goes + stays + 1))
    numbers = range(1, goes + stays + comes + 1)
    nodes = [a_settled_node(f"web-{n}", n, labels=EXCLUDED if n <= goes else {}) for n in numbers]
    servers = [a_server(number, f"web-{number}") for number in numbers]
    balancer = a_balancer(targets=there, health=dict.fromkeys(there, said))
    return a_world([a_served_service()], [balancer], nodes=nodes, servers=servers)


def target(number: int) -> Key:
    return key_of(f"{LB}/target/server:{number}")


@pytest.mark.parametrize("said", [Health.HEALTHY, Health.UNHEALTHY])
def test_no_floor_counts_on_what_is_left_out(said: Health) -> None:
    """Without the newcomer no target would be left, whichever filter leaves it out."""
    world = replacing(said)
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


def test_an_approved_hash_of_a_part_is_not_split_by_names() -> None:
    plan, settings = compute_plan(FOUR_LOST, Settings()), Settings(only=("node/web-1", "node/web-2"))
    (part,) = judge(plan, FOUR_LOST, settings).holds
    judged = judge(plan, FOUR_LOST, settings, [part.hash, part.names[0]])
    assert [hold.approved for hold in judged.holds] == [True]
    assert {change.key for change in judged.allowed} == {*part.keys}


def test_a_part_of_what_defaults_ask_for_names_its_own_objects() -> None:
    """Whatever defaults ask for beside it makes no other hold."""
    differences = [
        Difference(key_of(f"node/{name}"), "network", "7", "", "HCLOUD_NETWORK", None) for name in ("a", "b")
    ]
    changes = [
        replace(a_change(f"{each.owner}/addresses", "node.addresses", owner=each.owner), brings=(each,))
        for each in differences
    ]
    (alone,) = judge(Plan(tuple(changes[:1])), CALM, LOCATED).holds
    (part,) = part_of(Plan(tuple(changes)), "node/a").holds
    (whole,) = judge(Plan(tuple(changes)), CALM, LOCATED).holds
    assert (part, whole.value) == (alone, "2")


def test_limits_do_not_count_what_the_policy_leaves_out() -> None:
    """With ``upsert`` no removal comes in another run."""
    world = replacing(Health.HEALTHY, goes=8, stays=2, comes=0)
    plan = judge(compute_plan(world, LOCATED), world, replace(LOCATED, policy=Policy.UPSERT))
    assert {verdicts(plan)[target(number)] for number in range(1, 9)} == {(Verdict.WAITING, "policy")}
    assert plan.holds == ()


def test_no_hold_is_only_of_what_the_policy_leaves_out() -> None:
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
TWO_PORTS = a_balancer(listeners=(a_listener(), a_listener(81, 30081)))
UNIDENTIFIED = a_world([NEW], cluster_uid=Unknown("403"))
KEPT = a_world([NEW_SECURE], [a_balancer()], certificates=[], cluster_uid=Unknown("403"))
ADOPTED_SECURE = a_world([NEW_SECURE], [TO_ADOPT], certificates=[])
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
    "nothing in the way": (a_world([NEW]), LOCATED, ALLOWED),
    "policy": (a_world([NEW]), OBSERVE, BY_POLICY),
    "another project": (a_world([NEW], servers=[]), LOCATED, ASTRAY_HELD),
    "refused": (a_world([NEW], [FOREIGN]), LOCATED, REFUSED),
    "Services with a gap": (replace(a_world(), services=GAP), LOCATED, GAPPED),
    "identity unknown": (UNIDENTIFIED, LOCATED, GAPPED),
    "adoption held": (a_world([NEW], [TO_ADOPT]), LOCATED, UNADOPTED),
    "adoption held beside a certificate to come": (ADOPTED_SECURE, LOCATED, UNADOPTED),
    "only a port waits": (a_world([NEW_SECURE], certificates=[ISSUING]), LOCATED, ALLOWED),
    "it keeps the load balancer that is there, whatever waits besides": (KEPT, LOCATED, ALLOWED),
    "what waits needs no claim": (a_world([NEW], [TWO_PORTS]), replace(LOCATED, policy=Policy.UPSERT), ALLOWED),
})  # fmt: skip
def test_claims(snapshot: Snapshot, settings: Settings, expected: GuardDecision) -> None:
    """No finalizer is claimed for a load balancer that may not be created, or not be taken over."""
    assert of_world(snapshot, settings).by_key[CLAIM].decision == expected


def test_load_balancers_with_a_gap() -> None:
    """Where it is not known whether there is one, not even a claim is planned."""
    snapshot = replace(a_world([NEW]), load_balancers=incomplete(Section({})))
    assert of_world(snapshot).changes == ()


@rows("balancer expected", {
    "its port is withheld": (TO_ADOPT, unneeded(GuardName.ADOPTION, key=f"{LB}/listener/80")),
    "nothing but itself keeps the port": (a_balancer(), ALLOWED),
})  # fmt: skip
def test_a_certificate(balancer: CloudBalancer, expected: GuardDecision) -> None:
    """Authorities issue a few certificates a week: none is asked for while the port that needs it is withheld."""
    assert of_world(a_world([NEW_SECURE], [balancer], certificates=[])).by_key[CERTIFICATE].decision == expected


def by_hand(key: str, kind: str, *depends_on: str) -> Change:
    return a_change(key, kind, owner=SERVICE, depends_on=depends_on)


OTHER_LB, TYPE, PORT = "load_balancer/default/other", f"{LB}/type", f"{LB}/listener/80"
MADE, UNCLAIMED = by_hand(LB, "lb.create", CLAIM), by_hand(LB, "lb.create")
CLAIMED = (by_hand(CLAIM, "service.claim"), MADE)
ISSUED = by_hand(CERTIFICATE, "certificate.create")
OF_LB = (by_hand(TYPE, "lb.type", LB), by_hand(STATUS, "service.status", LB))
BESIDES = (by_hand(TYPE, "lb.type", CLAIM), by_hand(f"{LB}/algorithm", "lb.algorithm", LB))
PORTS = (by_hand(PORT, "lb.listener", LB, CERTIFICATE), by_hand(f"{LB}/listener/81", "lb.listener", CERTIFICATE))


@rows("changes expected", {
    "what it prepares": (CLAIMED, {CLAIM, LB}),
    "for nothing": (CLAIMED[:1], set()),
    "for something else": ((CLAIMED[0], UNCLAIMED), {LB}),
    "for two, one of which goes on": ((*CLAIMED, by_hand(OTHER_LB, "lb.adopt", CLAIM)), {LB}),
    "for two that wait": ((*CLAIMED, by_hand(OTHER_LB, "lb.create", CLAIM)), {LB, OTHER_LB, CLAIM}),
    "what depends on it waits": ((*CLAIMED, replace(ISSUED, depends_on=(CLAIM,))), {LB, CLAIM, CERTIFICATE}),
    "what else depends on it is no reason": ((*CLAIMED, *BESIDES), {LB, CLAIM, TYPE, f"{LB}/algorithm"}),
    "only what depends": ((UNCLAIMED, *OF_LB), {LB, TYPE, STATUS}),
    "other kinds prepare none": ((by_hand(LB, "lb.create", TYPE), by_hand(TYPE, "lb.type")), {LB}),
    "a certificate for two ports, one of which goes on": ((UNCLAIMED, ISSUED, *PORTS), {LB, PORT}),
})  # fmt: skip
def test_preparations(changes: tuple[Change, ...], expected: set[str]) -> None:
    """A preparation waits when all that it prepares is withheld; here every creation of a load balancer is."""
    snapshot = replace(a_world(certificates=[]), load_balancers=incomplete(Section({})))
    judged = judge(Plan(with_served(changes)), snapshot, LOCATED)
    assert {change.key for change in judged.changes} - {change.key for change in judged.allowed} == expected


def test_a_preparation_that_is_held_itself_stays_held() -> None:
    """A heavier verdict of its own is not covered up."""
    judged = judge(Plan(with_served(CLAIMED)), replace(a_world(servers=[]), load_balancers=None), OBSERVE)
    assert verdicts(judged)[CLAIM] == (Verdict.HELD, "project-anchor")


def conditions(judged: Plan) -> dict[str, tuple[str, str]]:
    """Type → status and reason of what goes along with the write of the Service's status."""
    return {condition.type: (condition.status, condition.reason) for condition in judged.by_key[STATUS].conditions}


PUBLISHED, NO_ADDRESS = ("True", "AddressPublished"), ("False", "NoAddress")
INVALID = a_claim(annotations=annotated(type="lb99"))
WELL, IN_NEED = a_world([NEW], [a_balancer()]), a_world([NEW_SECURE], [a_balancer()], certificates=[])
BESIDE_INVALID = a_world([NEW, a_service("bad", uid="bad", claim=INVALID)], [a_balancer()])
ITSELF_INVALID = a_world([a_service(claim=INVALID)], [a_balancer()])


@rows("snapshot settings ready in_sync", {
    "all is well": (WELL, LOCATED, PUBLISHED, ("True", "InSync")),
    "withheld": (WELL, OBSERVE, NO_ADDRESS, ("False", "Waiting")),
    "held": (replace(WELL, servers=Section()), LOCATED, NO_ADDRESS, ("False", "Held")),
    "something waits for the next round": (IN_NEED, LOCATED, PUBLISHED, ("False", "Waiting")),
    "another Service is in trouble": (BESIDE_INVALID, LOCATED, PUBLISHED, ("True", "InSync")),
    "it is in trouble itself": (ITSELF_INVALID, LOCATED, PUBLISHED, ("False", "InvalidAnnotation")),
})  # fmt: skip
def test_rides(snapshot: Snapshot, settings: Settings, ready: tuple[str, str], in_sync: tuple[str, str]) -> None:
    """The write of a status takes the conditions along, as they are once what is allowed is done."""
    judged = of_world(snapshot, settings)
    assert conditions(judged) == {"LoadBalancerReady": ready, "LoadBalancerInSync": in_sync}
    assert {change.kind for change in judged.changes if change.conditions} == {"service.status"}


def test_rides_are_no_difference() -> None:
    """Conditions alone change neither a plan nor a hash; without a status to write there are none."""
    snapshot = a_world([NEW], [a_balancer()])
    plan = compute_plan(snapshot, LOCATED)
    assert of_world(snapshot) == plan
    assert hold_hash("x", plan.changes, snapshot) == hold_hash("x", of_world(snapshot).changes, snapshot)
    assert of_world(a_world([a_served_service()], [a_balancer()])).changes == ()


@pytest.mark.parametrize("key", ["service/default/shop", "node/web-1", LB])
def test_conditions_of_what_is_no_service(key: str) -> None:
    snapshot = a_world([NEW], [a_balancer()])
    assert conditions_of(key_of(key), (), facts_of(Plan(), snapshot, LOCATED)) == ()
    assert conditions_of(key_of(key), (), facts_of(Plan(), replace(snapshot, services=None), LOCATED)) == ()


def test_status_of_what_is_no_service() -> None:
    """A status that no rule planned has nothing to take along."""
    change = by_hand(STATUS, "service.status")
    (judged,) = judge(Plan((change,)), a_world(), LOCATED).changes
    assert judged.conditions == ()


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
