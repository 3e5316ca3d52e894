"""Guards in explanations: the decision of each on one Node or Service, and the two measures that most of them look at.

They decide on the changes that are planned, and for a Node on its deletion as well, if its server were gone.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from desired.guards.absence import servers_presumed_gone
from desired.guards.anchor import AnchorState, anchor_of
from desired.guards.evidence import other_controllers
from desired.guards.facts import Facts, GuardResult
from desired.guards.judge import GUARDS
from desired.guards.loss import takes_targets
from desired.guards.nodes import closes_to_pods, losses_of, takes_addresses
from desired.model.key import Key
from desired.model.load_balancer import LoadBalancer
from desired.model.settings import Settings
from desired.model.snapshot import Condition, Node, Readiness, Snapshot
from desired.nodes.desired import orphaned_node
from desired.nodes.matching import Gone
from desired.plan.change import Change, GuardName, Hold, Verdict, with_advice
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState, compute_desired, diff
from desired.routes.gateways import Gateways
from desired.syntax.provider_id import Provider, ServerKey

_LOOKS_AT: Mapping[str, Callable[[Change], bool]] = {
    GuardName.SILENT_CLUSTER: lambda change: change.row.writes_cloud and change.verb is not Verb.ADD,
    GuardName.NODE_BLAST_RADIUS: lambda change: change.kind == ChangeKind.NODE_DELETE,
    GuardName.ADDRESS_BLAST_RADIUS: lambda change: takes_addresses(change) or closes_to_pods(change),
    GuardName.FOREIGN_OWNER: lambda change: change.kind in {ChangeKind.LB_ADOPT, ChangeKind.LB_CREATE},
    GuardName.ADOPTION: lambda change: change.kind == ChangeKind.LB_ADOPT,
    GuardName.UNDO_WINDOW: lambda _change: False,
    GuardName.IP_LOSS: lambda change: change.kind == ChangeKind.LB_DELETE,
    GuardName.ADDRESS_IN_USE: lambda change: isinstance(change.after, LoadBalancer) and bool(change.after.primary_ips),
    GuardName.LISTENER_LOSS: lambda change: change.kind == ChangeKind.LB_LISTENER and change.verb is Verb.MODIFY,
    GuardName.TARGET_FLOOR: takes_targets,
    GuardName.TARGET_HEALTH: takes_targets,
    GuardName.EXPOSURE: lambda change: change.kind == ChangeKind.LB_PUBLIC_INTERFACE and change.after is True,
    GuardName.CERTIFICATE_ISSUANCE: lambda change: change.kind == ChangeKind.LB_LISTENER and not change.is_known,
    GuardName.ROUTE_BLAST_RADIUS: lambda change: change.kind in {ChangeKind.ROUTE_DELETE, ChangeKind.ROUTE_REPLACE},
    GuardName.CLUSTER_CIDR: lambda change: change.kind == ChangeKind.ROUTE_DELETE,
}
"""Rule → whether it applies to a change. A rule without such a change is not listed; rules that are not in this table
apply to every change."""
_SILENT = frozenset(
    {GuardName.SETTINGS_BLAST_RADIUS, GuardName.CLOCK_SKEW, GuardName.FLAPPING, GuardName.BACK_OFF, GuardName.QUOTA}
)
"""Rules that are listed only when they withhold something: they depend on what only the loop remembers, which
``explain`` does not know, or on clocks and former settings, which are not the object's."""


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
    facts: Facts,
    holds: Collection[Hold] = (),
    concerns: Concern = Concern.CHANGES,
    provider: Provider = Provider.CLOUD,
) -> tuple[GuardFact, ...]:
    """The decision of each guard on the changes that are planned for the Node or Service with this key, in the order of
    the guards; empty when none is planned.

    ``holds`` are those of the judged plan, ``provider`` is that of the Node's server.
    """
    mine = facts.by_owner.get(owner, ())
    if not mine:
        return ()
    keys = {change.key for change in mine}
    found = [finding for guard in GUARDS.values() for finding in guard(facts) if not keys.isdisjoint(finding.keys)]
    decided: dict[GuardFact, None] = {}
    for rule in GUARDS:
        told = [_withheld(finding, holds, concerns) for finding in found if finding.rule == rule]
        if not told and _looks_at(rule, mine, facts):
            told = [GuardFact(rule, concerns, Verdict.ALLOWED, None, *_measured(rule, facts, provider))]
        decided |= dict.fromkeys(told)
    return tuple(decided)


def explain_guards_on_deletion(
    node: Node, server: ServerKey, snapshot: Snapshot, settings: Settings
) -> tuple[GuardFact, ...]:
    """The decision that each guard would take if the Node's server were gone and its kubelet stopped reporting; empty
    for a Node whose deletion was asked for already."""
    silent = _silent(node, snapshot)
    departing, _ = orphaned_node(silent, Gone(server), settings)
    if departing is None:
        return ()
    nodes = replace(snapshot.nodes, items={**snapshot.nodes.items, node.name: silent})
    supposed = replace(snapshot.without(server), nodes=nodes)
    plan = diff(supposed, DesiredState({node.name: departing}), settings)
    facts = Facts(plan, supposed, settings, compute_desired(supposed, settings), NO_SETBACKS)
    return explain_guards(silent.key, facts, concerns=Concern.DELETION, provider=server.provider)


def _looks_at(rule: str, changes: Collection[Change], facts: Facts) -> bool:
    """Whether the rule applies to one of these changes."""
    if rule in _SILENT or (rule == GuardName.OTHER_CONTROLLER and facts.snapshot.controllers is None):
        return False
    if rule == GuardName.ABSENCE_PROOF:
        gateways = Gateways(facts.snapshot)
        return any(servers_presumed_gone(change, facts.snapshot, gateways) for change in changes)
    return any(map(_LOOKS_AT.get(rule, _anything), changes))


def _anything(_change: Change) -> bool:
    return True


def _withheld(finding: GuardResult, holds: Collection[Hold], concerns: Concern) -> GuardFact:
    """A guard result as a fact. Whether its hold was approved only the judged plan knows."""
    same = (hold for hold in holds if hold.rule == finding.rule and set(hold.keys) == set(finding.keys))
    hold = next(same, None)
    approved = hold is not None and hold.approved
    verdict, due_in_s = (Verdict.ALLOWED, None) if approved else (finding.verdict, finding.due_in_s)
    why, value, limit = with_advice(finding.why, finding.advice) or None, finding.value or None, finding.limit or None
    return GuardFact(finding.rule, concerns, verdict, why, value, limit, due_in_s, hold, approved)


def _measured(rule: str, facts: Facts, provider: Provider) -> tuple[str | None, str | None]:
    """Value and limit of a guard that lets pass; None for one that measures nothing."""
    if rule == GuardName.PROJECT_ANCHOR:
        anchor = facts.robot_anchor if provider is Provider.ROBOT else facts.anchor
        return str(anchor.found), str(anchor.needed)
    if rule == GuardName.OTHER_CONTROLLER:
        return str(len(other_controllers(facts.snapshot))), "0"
    if rule == GuardName.NODE_BLAST_RADIUS:
        losses = losses_of(provider, facts.snapshot, facts.settings)
        return str(losses.value), str(losses.limit)
    return None, None


def _silent(node: Node, snapshot: Snapshot) -> Node:
    """The Node as it would be if its kubelet had fallen silent just now; as it is, when it has already."""
    if node.ready is not Readiness.TRUE:
        return node
    others = (condition for condition in node.conditions if condition.type != "Ready")
    return replace(node, conditions=(*others, Condition("Ready", Readiness.UNKNOWN, since=snapshot.taken_at)))
