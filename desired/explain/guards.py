"""Guards in explanations: what each said of the changes of one object, and would say of a Node's deletion."""

from collections.abc import Iterator

from desired.explain.document import AnchorFact, Concern, GuardFact, LossFact
from desired.explain.view import View
from desired.guards.blast_radius import may_be_lost
from desired.guards.guard import GuardInput, GuardResult
from desired.guards.supposing import suppose_deletion
from desired.guards.table import GUARDS
from desired.model.snapshot import Node
from desired.nodes.node import deletable_server
from desired.plan.change import Plan, Verdict, with_advice
from desired.plan.kinds import ChangeKind, Verb
from desired.syntax.provider_id import Provider


def explain_guards(
    of: View, provider: Provider = Provider.CLOUD, concerns: Concern = Concern.CHANGES
) -> Iterator[GuardFact]:
    """The decision of each guard on the changes, in the order of the guards, each once: what it said, else that it lets
    pass where it looks at one of them, with what it measured in ``provider``. Of a change that the policy leaves out it
    alone speaks."""
    left_out = {change.key: change.decision for change in of.facts.left_out}
    changes, keys = [c for c in of.changes if c.key not in left_out], {change.key for change in of.changes}
    by_filter = [left_out[change.key] for change in of.changes if change.key in left_out]
    found = [result for result in of.results if not keys.isdisjoint(result.keys)]
    for rule, guard in GUARDS.items():
        told = dict.fromkeys(_said(result, of.plan, concerns) for result in found if result.guard == rule)
        told |= {
            GuardFact(rule, concerns, each.verdict, each.why or None): None for each in by_filter if each.rule is rule
        }
        if not told and guard.looks_at is not None and any(guard.looks_at(of.facts, change) for change in changes):
            measured = map(str, guard.measure(of.facts, provider)) if guard.measure else ()
            told = {GuardFact(rule, concerns, Verdict.ALLOWED, None, *measured): None}
        yield from told


def _said(result: GuardResult, plan: Plan, concerns: Concern) -> GuardFact:
    """A guard's result. Whether its hold was approved only the judged plan knows."""
    same = (hold for hold in plan.holds if hold.rule == result.guard and set(hold.keys) == set(result.keys))
    hold = next(same, None)
    approved = hold is not None and hold.approved
    verdict, due_in_s = (Verdict.ALLOWED, None) if approved else (result.verdict, result.due_in_s)
    why, value, limit = with_advice(result.why, result.advice) or None, result.value or None, result.limit or None
    return GuardFact(result.guard, concerns, verdict, why, value, limit, due_in_s, hold, approved)


def explain_deletion(of: View, node: Node) -> Iterator[GuardFact]:
    """What each guard would say of the Node's deletion, where it may come to that and is not planned."""
    server = deletable_server(node, of.facts.snapshot, of.facts.settings)
    steps = (ChangeKind.NODE_OUT_OF_SERVICE_TAINT, ChangeKind.NODE_DELETE)
    is_planned = any(change.kind in steps and change.verb is Verb.REMOVE for change in of.changes)
    if server is not None and not is_planned:
        for facts, results in suppose_deletion(node, server, of.facts):
            yield from explain_guards(View(of.key, facts.plan, facts, results), server.provider, Concern.DELETION)


def explain_anchor(facts: GuardInput, provider: Provider = Provider.CLOUD) -> AnchorFact:
    """The state of a provider's anchor."""
    anchor = facts.anchor_in(provider)
    unknown = anchor.unknown if anchor.total else anchor.hidden
    return AnchorFact(anchor.state, anchor.found, anchor.total, unknown, anchor.needed, provider)


def explain_losses(facts: GuardInput, provider: Provider) -> LossFact:
    """The Nodes of a provider, and those that are lost."""
    found = facts.losses(provider)
    return LossFact(tuple(sorted(found.lost)), found.nodes, may_be_lost(found.nodes), provider)
