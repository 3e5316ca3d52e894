"""Guards in explanations: what each said of the changes of one object, and would say of a Node's deletion."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from desired.explain.document import AnchorFact, Concern, GuardFact, LossFact
from desired.guards.anchor import anchor_of
from desired.guards.blast_radius import losses_of
from desired.guards.guard import GuardInput, GuardResult
from desired.guards.judge import ask_guards
from desired.guards.table import GUARDS
from desired.model.key import Key
from desired.model.settings import Settings
from desired.model.snapshot import Condition, Node, Readiness, Snapshot
from desired.nodes.matching import Gone, Matched
from desired.nodes.node import DesiredNode, NodeRules, OrphanedNode
from desired.plan.change import Plan, Verdict, with_advice
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState, compute_desired, diff
from desired.syntax.provider_id import Provider, ServerKey, provider_of


@dataclass(frozen=True, slots=True)
class NodeGuards:
    """What guards say of a Node, and the two measures that most of them look at."""

    guards: tuple[GuardFact, ...]
    anchor: AnchorFact
    losses: LossFact


def guards_on_node(node: Node, wanted: DesiredNode, facts: GuardInput, results: Iterable[GuardResult]) -> NodeGuards:
    """What they say of its changes and, where it may come to that and is not planned, of its deletion; measured in the
    provider of its server."""
    snapshot, settings = facts.snapshot, facts.settings
    found = wanted.match.server.provider if isinstance(wanted.match, Matched) else provider_of(node.provider_id)
    provider = found or Provider.CLOUD
    guards = tuple(guards_on(node.key, facts, results, provider=provider))
    if wanted.deletable is not None and not isinstance(wanted, OrphanedNode):
        guards += tuple(_on_deletion(node, wanted.deletable, snapshot, settings))
    losses = losses_of(provider, snapshot, settings)
    lost = LossFact(tuple(sorted(losses.lost)), losses.nodes, losses.limit, provider)
    return NodeGuards(guards, measured_anchor(snapshot, settings, provider), lost)


def measured_anchor(snapshot: Snapshot, settings: Settings, provider: Provider = Provider.CLOUD) -> AnchorFact:
    """The state of a provider's anchor."""
    anchor = anchor_of(provider, snapshot, settings)
    unknown = anchor.unknown if anchor.total else anchor.hidden
    return AnchorFact(anchor.state, anchor.found, anchor.total, unknown, anchor.needed, provider)


def guards_on(
    owner: Key,
    facts: GuardInput,
    results: Iterable[GuardResult],
    concerns: Concern = Concern.CHANGES,
    provider: Provider = Provider.CLOUD,
) -> Iterator[GuardFact]:
    """The decision of each guard on the planned changes of what has this key, in the order of the guards, each once:
    what it said, else that it lets pass where it looks at one of them, with what it measured in ``provider``."""
    mine = facts.by_owner.get(owner, ())
    keys = {change.key for change in mine}
    found = [result for result in results if not keys.isdisjoint(result.keys)]
    for rule, guard in GUARDS.items():
        told = dict.fromkeys(_said(result, facts.plan, concerns) for result in found if result.guard == rule)
        if not told and guard.looks_at is not None and any(guard.looks_at(facts, change) for change in mine):
            measured = map(str, guard.measure(facts, provider)) if guard.measure else ()
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


def _on_deletion(node: Node, server: ServerKey, snapshot: Snapshot, settings: Settings) -> Iterator[GuardFact]:
    """The decision that each guard would take if the Node's server were gone, and its kubelet had stopped reporting
    just now, or as long ago as it has."""
    silent = node
    if node.ready is Readiness.TRUE:
        others = (condition for condition in node.conditions if condition.type != "Ready")
        unheard = Condition("Ready", Readiness.UNKNOWN, since=snapshot.taken_at)
        silent = replace(node, conditions=(*others, unheard))
    nodes = replace(snapshot.nodes, items={**snapshot.nodes.items, node.name: silent})
    supposed = replace(snapshot.without(server), nodes=nodes)
    departing = NodeRules(supposed, settings).orphaned(silent, Gone(server))
    if departing is not None:
        plan = diff(supposed, DesiredState({node.name: departing}), settings)
        facts = GuardInput(plan, supposed, settings, compute_desired(supposed, settings), NO_SETBACKS)
        yield from guards_on(node.key, facts, ask_guards(facts), Concern.DELETION, server.provider)
