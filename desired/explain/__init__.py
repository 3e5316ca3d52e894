"""Explanations of one Node or Service: they read what the rules decided, and decide nothing.

One exception: ``guards`` supposes the deletion of a Node, and asks the guards about it in a world without its server.

Begin with ``explain_object``, then read ``node`` and ``service``: their fields are what text and JSON show. A label,
address, taint or condition is a ``fact``; ``guards``, ``routes``, ``load_balancer``, ``parts`` and ``options`` each
explain what they are named after.
"""

from collections.abc import Collection, Iterable

from desired.explain.guards import explain_anchor, explain_guards, explain_guards_on_deletion, explain_losses
from desired.explain.node import NodeExplanation, NodeGuards, explain_node, why_no_node
from desired.explain.service import ServiceExplanation, explain_service, why_no_service
from desired.guards.filters import restrict
from desired.guards.guard import GuardInput, GuardResult, SettingsChange
from desired.guards.judge import ask_guards
from desired.model.key import Key, ObjectKind
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.nodes.matching import Matched
from desired.nodes.node import OrphanedNode
from desired.plan.change import Plan
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState
from desired.syntax.provider_id import Provider, provider_of


def explain_object(
    key: Key,
    snapshot: Snapshot,
    settings: Settings,
    plan: Plan,
    desired: DesiredState,
    changed: SettingsChange | None = None,
    results: Iterable[GuardResult] | None = None,
) -> NodeExplanation | ServiceExplanation | str:
    """Explain the Node or Service with this key; a text says why there is nothing to explain.

    ``plan`` is the judged plan of ``snapshot``, made from ``desired``, and ``results`` are what each guard said of it;
    None: they are asked here. ``changed`` is what follows from changed settings.
    """
    facts = GuardInput(plan, snapshot, settings, desired, NO_SETBACKS, changed)
    told = ask_guards(facts) if results is None else tuple(results)
    if key.kind is ObjectKind.SERVICE:
        service = snapshot.service(key)
        if service is None:
            return why_no_service(key.name, snapshot, settings)
        return explain_service(service, facts, told)
    node = snapshot.node(key)
    if node is None:
        return why_no_node(key.name, snapshot)
    return _explain_node(node, facts, told)


def _explain_node(node: Node, facts: GuardInput, results: Collection[GuardResult]) -> NodeExplanation:
    """The explanation of a Node, with what guards say of its changes and of its deletion."""
    snapshot, settings, plan, desired = facts.snapshot, facts.settings, facts.plan, facts.desired
    wanted, part = desired.nodes[node.name], restrict(plan, (node.key,))
    server = wanted.match.server if isinstance(wanted.match, Matched) else None
    provider = server.provider if server else provider_of(node.provider_id) or Provider.CLOUD
    guards = explain_guards(node.key, facts, results, part.holds, provider=provider)
    if wanted.deletable is not None and not isinstance(wanted, OrphanedNode):
        guards += explain_guards_on_deletion(node, wanted.deletable, snapshot, settings)
    judged = NodeGuards(
        guards, explain_anchor(snapshot, settings, provider), explain_losses(snapshot, settings, provider), part.notes
    )
    return explain_node(node, wanted, desired.routes, plan, snapshot, settings, judged)
