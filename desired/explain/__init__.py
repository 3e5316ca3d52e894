"""Explanations of one Node or Service: they read what the rules decided, and decide nothing.

Begin with ``explain_object``, then read ``node`` and ``service``: their fields are what text and JSON show. A label,
address, taint or condition is a ``fact``; ``stage``, ``guards``, ``routes``, ``load_balancer``, ``parts`` and
``options`` each explain what they are named after.
"""

from desired.explain.node import NodeExplanation, explain_node, why_no_node
from desired.explain.service import ServiceExplanation, explain_service, why_no_service
from desired.guards.guard import SettingsChange
from desired.model.key import Key, ObjectKind
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Plan
from desired.planner import DesiredState


def explain_object(
    key: Key,
    snapshot: Snapshot,
    settings: Settings,
    plan: Plan,
    desired: DesiredState,
    changed: SettingsChange | None = None,
) -> NodeExplanation | ServiceExplanation | str:
    """Explain the Node or Service with this key; a text says why there is nothing to explain. ``plan`` is the judged
    plan of ``snapshot``, made from ``desired``; ``changed`` is what follows from changed settings."""
    if key.kind is ObjectKind.SERVICE:
        service = snapshot.service(key)
        if service is None:
            return why_no_service(key.name, snapshot, settings)
        return explain_service(service, snapshot, settings, plan, desired, changed)
    node = snapshot.node(key)
    if node is None:
        return why_no_node(key.name, snapshot)
    return explain_node(node, snapshot, settings, plan, desired, changed)
