"""Laws of judging: what guards, holds and approvals make of any plan, whether or not a rule would plan it."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from desired.guards.anchor import AnchorState, anchor_of
from desired.guards.filters import explain_strange_keys, restrict
from desired.guards.table import GUARDS
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, LostNode, NodeIdentity, Plan, Verdict
from desired.plan.kinds import Verb
from desired.section import Section
from desired.syntax.provider_id import CloudID, Provider, parse_provider_id
from tests.property.plan_strategies import Case, astray, cases, hashes, plans, restrictions
from tests.property.strategies import law
from tests.property.worlds import choices
from tests.support.judging import facts_of, judge
from tests.support.premises import premise


def is_weighty(change: Change) -> bool:
    """Whether a change removes something, or creates something in the cloud."""
    return change.verb is Verb.REMOVE or change.row.creates_in_cloud


def _has_gap(change: Change, snapshot: Snapshot) -> bool:
    sections = snapshot.sections()
    return not all(sections.get(name, Section.missing("not read")).complete for name in change.row.decided_from)


@law({"a gap under a removal or a creation": 0.1})
@given(cases, st.lists(hashes, max_size=1))
def test_a_gap_allows_no_removal_and_no_creation(case: Case, approved: list[str]) -> None:
    """Whatever is approved, no removal and no creation in the cloud passes on sections that are not whole."""
    plan, snapshot, chosen = case
    held = [hold.hash for hold in judge(plan, snapshot, chosen).holds]
    on_gaps = {change.key for change in plan.changes if is_weighty(change) and _has_gap(change, snapshot)}
    premise("a gap under a removal or a creation", is_met=bool(on_gaps))
    allowed = judge(plan, snapshot, chosen, [*approved, *held]).allowed
    assert on_gaps.isdisjoint(change.key for change in allowed)


@law({"a deletion": 0.3})
@given(cases)
def test_no_node_is_deleted_without_a_proof(case: Case) -> None:
    """Whatever is approved, a deletion of a Node passes only with a proof, and not before the server was asked for."""
    plan, snapshot, chosen = case
    premise("a deletion", is_met=any(change.kind == "node.delete" for change in plan.changes))
    held = [hold.hash for hold in judge(plan, snapshot, chosen).holds]
    for change in judge(plan, snapshot, chosen, held).allowed:
        if change.kind == "node.delete":
            assert isinstance(change.before, LostNode)
            assert change.before.proof.server_id in snapshot.confirmations


@law({"a change of the cloud": 0.3})
@given(plans(), astray, choices)
def test_a_violated_anchor_allows_nothing_of_the_cloud(plan: Plan, snapshot: Snapshot, chosen: Settings) -> None:
    """A token of another project writes neither to the cloud nor to a Node of the cloud."""
    assert anchor_of(Provider.CLOUD, snapshot, chosen).state is AnchorState.VIOLATED
    premise("a change of the cloud", is_met=any(change.row.writes_cloud for change in plan.changes))
    for change in judge(plan, snapshot, chosen).allowed:
        node = snapshot.node(change.owner)
        side = change.after or change.before
        becomes = side.provider_id if isinstance(side, NodeIdentity) else node.provider_id if node else None
        assert not change.row.writes_cloud
        assert not isinstance(parse_provider_id(becomes or ""), CloudID)


@law({"several findings about one change": 0.2})
@given(cases, st.booleans())
def test_the_heaviest_finding_wins(case: Case, approve: bool) -> None:
    """A change has the heaviest verdict that a rule has for it, or waits for one that has: because it comes after that
    one, or only prepares it."""
    plan, snapshot, chosen = case
    held = judge(plan, snapshot, chosen).holds
    approved = {hold.hash for hold in held} if approve else set()
    facts = facts_of(plan, snapshot, chosen)
    left_out = {change.key for change in facts.left_out}
    findings = [result for row in GUARDS.values() for result in row.judge(facts)]
    judged = judge(plan, snapshot, chosen, approved)
    found_of = Counter(key for finding in findings for key in finding.keys)
    premise("several findings about one change", is_met=any(number > 1 for number in found_of.values()))
    assert all(hold.approved is approve for hold in judged.holds)
    for change in judged.changes:
        if change.key in left_out:
            continue  # by the policy: no guard looks at it
        found = [
            finding.verdict
            for finding in findings
            if change.key in finding.keys and not (approve and finding.verdict is Verdict.HELD)
        ]
        heaviest = max(found, key=lambda verdict: verdict.weight, default=Verdict.ALLOWED)
        waits_for_another = heaviest is Verdict.ALLOWED and change.decision.verdict is Verdict.WAITING
        assert waits_for_another or change.decision.verdict is heaviest
        withheld = {other.key for other in judged.changes} - {allowed.key for allowed in judged.allowed}
        prepared = any(change.key in other.depends_on for other in judged.changes if other.key in withheld)
        assert not waits_for_another or withheld & set(change.depends_on) or prepared


@law({"a change depends on one that is withheld": 0.1})
@given(cases)
def test_what_is_allowed_waits_for_nothing(case: Case) -> None:
    """No allowed change depends on one that is withheld."""
    plan, snapshot, chosen = case
    judged = judge(plan, snapshot, chosen)
    withheld = {change.key for change in judged.changes} - {change.key for change in judged.allowed}
    premise(
        "a change depends on one that is withheld",
        is_met=any(withheld.intersection(change.depends_on) for change in judged.changes),
    )
    assert all(withheld.isdisjoint(change.depends_on) for change in judged.allowed)


@law({"policies differ": 0.06})
@given(cases)
def test_policies(case: Case) -> None:
    """Observe allows nothing, upsert no removal, and sync no less than either."""
    plan, snapshot, chosen = case
    allowed = {
        policy: {change.key: change for change in judge(plan, snapshot, replace(chosen, policy=policy)).allowed}
        for policy in Policy
    }
    premise("policies differ", is_met=allowed[Policy.UPSERT].keys() < allowed[Policy.SYNC].keys())
    assert not allowed[Policy.OBSERVE]
    assert all(change.verb is not Verb.REMOVE for change in allowed[Policy.UPSERT].values())
    assert allowed[Policy.UPSERT].keys() <= allowed[Policy.SYNC].keys()


@law({"a change is withheld": 0.4})
@given(cases)
def test_judging_touches_only_rulings(case: Case) -> None:
    """Guards withhold; they neither add nor drop nor alter a change, and judging twice says the same."""
    plan, snapshot, chosen = case
    judged = judge(plan, snapshot, chosen)
    premise("a change is withheld", is_met=len(judged.allowed) < len(judged.changes))
    assert (
        tuple(replace(change, decision=plan.by_key[change.key].decision) for change in judged.changes) == plan.changes
    )
    assert replace(judge(judged, snapshot, chosen), notes=judged.notes) == judged


def _needed(key: str, plan: Plan) -> frozenset[str]:
    """Keys of all that has to be done before this change, those before them included."""
    found: set[str] = set()
    todo = [key]
    while todo:
        before = {*plan.by_key[todo.pop()].depends_on} & plan.by_key.keys() - found
        found |= before
        todo += before
    return frozenset(found)


@law({"a part of the changes": 0.1})
@given(restrictions())
def test_restricting_lets_nothing_more_pass(restricted: tuple[Case, tuple[str, ...]]) -> None:
    """A part of a plan has the verdicts of the whole; what needs the rest waits for it, and no hold is of the rest."""
    (plan, snapshot, chosen), only = restricted
    judged = judge(plan, snapshot, chosen)
    part = restrict(judge(plan, snapshot, replace(chosen, only=only)), only)
    premise("a part of the changes", is_met=0 < len(part.changes) < len(judged.changes))
    assert all(part.by_key.keys() >= {*hold.keys} for hold in part.holds)
    for change in part.changes:
        whole, needs_rest = judged.by_key[change.key], not _needed(change.key, judged) <= part.by_key.keys()
        assert not needs_rest or change.decision.verdict is not Verdict.ALLOWED
        decided, before = (change.decision.verdict, change.decision.rule), (whole.decision.verdict, whole.decision.rule)
        assert decided in (before, (Verdict.WAITING, GuardName.ONLY))


@law({"an unknown key": 0.1})
@given(restrictions())
def test_a_key_is_unknown_exactly_when_nothing_has_it(restricted: tuple[Case, tuple[str, ...]]) -> None:
    """Each key of a part names something that was planned or observed, above or below it, or a sentence says not."""
    (plan, snapshot, chosen), only = restricted
    known = [node.key for node in snapshot.nodes]
    said = explain_strange_keys(judge(plan, snapshot, chosen), only, known)
    things = [*plan.by_key, *known]
    strange = {
        key
        for key in only
        if key != "node"
        and not any(f"{thing}/".startswith(f"{key}/") or f"{key}/".startswith(f"{thing}/") for thing in things)
    }
    premise("an unknown key", is_met=bool(strange))
    assert {text.removeprefix("--only ").partition(": ")[0] for text in said} == strange
