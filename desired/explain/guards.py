"""Guards in explanations: the decision of each on one Node or Service, and the two measures that most of them look at.

They decide on the changes that are planned, and for a Node on its deletion as well, if its server were gone.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from desired.guards.anchor import AnchorState, anchor_of
from desired.guards.blast_radius import losses_of
from desired.guards.guard import GuardInput, GuardResult
from desired.guards.judge import ask_guards
from desired.guards.table import GUARDS
from desired.model.key import Key
from desired.model.settings import Settings
from desired.model.snapshot import Condition, Node, Readiness, Snapshot
from desired.nodes.matching import Gone
from desired.nodes.node import NodeRules
from desired.plan.change import Hold, Verdict, with_advice
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState, compute_desired, diff
from desired.syntax.provider_id import Provider, ServerKey


class Concern(StrEnum):
    """What a guard decides on."""

    CHANGES = "changes"
    """The changes that are planned for the object."""
    DELETION = "deletion"
    """The Node's deletion, if its server were gone and its kubelet silent."""


@dataclass(frozen=True, slots=True)
class GuardFact:
    """The decision of one guard. An approved hold lets pass, and is listed all the same."""

    rule: str
    """The guard's name."""
    concerns: Concern
    verdict: Verdict
    why: str | None = None
    """None when the guard lets pass without a word."""
    value: str | None = None
    """What was measured; None when the guard measures nothing."""
    limit: str | None = None
    due_in_s: float | None = None
    """Seconds until another look is worth it; None when no time is known."""
    hold: Hold | None = None
    approved: bool = False
    """Whether the hold was approved."""


@dataclass(frozen=True, slots=True)
class AnchorFact:
    """The anchor: whether the token's project, or the Robot account, is the cluster's, judged by the Ready Nodes found
    in it."""

    state: AnchorState
    found: int
    total: int
    """The Ready Nodes without a planned disruption."""
    unknown: int
    needed: int
    provider: Provider = Provider.CLOUD


@dataclass(frozen=True, slots=True)
class LossFact:
    """The Nodes of a provider, and those whose servers are gone without a planned disruption."""

    lost: tuple[str, ...]
    """Keys of these Nodes, sorted."""
    nodes: int
    limit: int
    """How many may be lost."""
    provider: Provider = Provider.CLOUD


def explain_anchor(snapshot: Snapshot, settings: Settings, provider: Provider = Provider.CLOUD) -> AnchorFact:
    """The state of a provider's anchor."""
    anchor = anchor_of(provider, snapshot, settings)
    unknown = anchor.unknown if anchor.total else anchor.hidden
    return AnchorFact(anchor.state, anchor.found, anchor.total, unknown, anchor.needed, provider)


def explain_losses(snapshot: Snapshot, settings: Settings, provider: Provider = Provider.CLOUD) -> LossFact:
    """The losses of a provider, proven or not."""
    losses = losses_of(provider, snapshot, settings)
    return LossFact(tuple(sorted(losses.lost)), losses.nodes, losses.limit, provider)


def explain_guards(
    owner: Key,
    facts: GuardInput,
    results: Iterable[GuardResult],
    holds: Collection[Hold] = (),
    concerns: Concern = Concern.CHANGES,
    provider: Provider = Provider.CLOUD,
) -> tuple[GuardFact, ...]:
    """The decision of each guard on the changes that are planned for the Node or Service with this key, in the order of
    the guards; empty when none is planned.

    ``results`` are what each guard said, ``holds`` those of the judged plan, ``provider`` is that of the Node's server.
    """
    mine = facts.by_owner.get(owner, ())
    if not mine:
        return ()
    keys = {change.key for change in mine}
    found = [result for result in results if not keys.isdisjoint(result.keys)]
    decided: dict[GuardFact, None] = {}
    for rule, guard in GUARDS.items():
        told = [_withheld(result, holds, concerns) for result in found if result.rule == rule]
        if not told and guard.looks_at is not None and any(guard.looks_at(facts, change) for change in mine):
            measured = map(str, guard.measure(facts, provider)) if guard.measure else ()
            told = [GuardFact(rule, concerns, Verdict.ALLOWED, None, *measured)]
        decided |= dict.fromkeys(told)
    return tuple(decided)


def explain_guards_on_deletion(
    node: Node, server: ServerKey, snapshot: Snapshot, settings: Settings
) -> tuple[GuardFact, ...]:
    """The decision that each guard would take if the Node's server were gone and its kubelet stopped reporting; empty
    for a Node whose deletion was asked for already."""
    silent = _silent(node, snapshot)
    nodes = replace(snapshot.nodes, items={**snapshot.nodes.items, node.name: silent})
    supposed = replace(snapshot.without(server), nodes=nodes)
    departing = NodeRules(supposed, settings).orphaned(silent, Gone(server))
    if departing is None:
        return ()
    plan = diff(supposed, DesiredState({node.name: departing}), settings)
    facts = GuardInput(plan, supposed, settings, compute_desired(supposed, settings), NO_SETBACKS)
    return explain_guards(silent.key, facts, ask_guards(facts), concerns=Concern.DELETION, provider=server.provider)


def _withheld(result: GuardResult, holds: Collection[Hold], concerns: Concern) -> GuardFact:
    """A guard result as a fact. Whether its hold was approved only the judged plan knows."""
    same = (hold for hold in holds if hold.rule == result.rule and set(hold.keys) == set(result.keys))
    hold = next(same, None)
    approved = hold is not None and hold.approved
    verdict, due_in_s = (Verdict.ALLOWED, None) if approved else (result.verdict, result.due_in_s)
    why, value, limit = with_advice(result.why, result.advice) or None, result.value or None, result.limit or None
    return GuardFact(result.rule, concerns, verdict, why, value, limit, due_in_s, hold, approved)


def _silent(node: Node, snapshot: Snapshot) -> Node:
    """The Node as it would be if its kubelet had fallen silent just now; as it is, when it has already."""
    if node.ready is not Readiness.TRUE:
        return node
    others = (condition for condition in node.conditions if condition.type != "Ready")
    return replace(node, conditions=(*others, Condition("Ready", Readiness.UNKNOWN, since=snapshot.taken_at)))
