"""Supposing: the results of all guards if a Node's server were gone."""

from collections.abc import Iterator
from dataclasses import replace

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.judge import ask_guards
from desired.model.snapshot import Condition, Node, Readiness
from desired.nodes.matching import Gone
from desired.nodes.node import orphaned_node
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState, diff
from desired.syntax.provider_id import ServerKey


def suppose_deletion(
    node: Node, server: ServerKey, facts: GuardInput
) -> Iterator[tuple[GuardInput, tuple[GuardResult, ...]]]:
    """The plan that deletes ``node`` alone, with the results of all guards, in a world without its ``server``. The
    kubelet has stopped reporting there, just now or as long ago as it has. Empty if the Node would not be deleted."""
    snapshot, settings = facts.snapshot, facts.settings
    silent = node
    if node.ready is Readiness.TRUE:
        others = (condition for condition in node.conditions if condition.type != "Ready")
        unheard = Condition("Ready", Readiness.UNKNOWN, since=snapshot.taken_at)
        silent = replace(node, conditions=(*others, unheard))
    nodes = replace(snapshot.nodes, items={**snapshot.nodes.items, node.name: silent})
    world = replace(snapshot.without(server), nodes=nodes)
    departing = orphaned_node(silent, Gone(server), world, settings)
    if departing is not None:
        desired = DesiredState({node.name: departing})
        supposed = GuardInput(diff(world, desired, settings), world, settings, desired, NO_SETBACKS)
        yield supposed, ask_guards(supposed)
