"""Entry point of explanations: finds the Node or Service by its key in plans."""

from desired.explain.node import Explanation, explain, why_no_node
from desired.explain.service import ServiceExplanation, explain_service, why_no_service
from desired.model.key import Key, ObjectKind
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Plan
from desired.planner import DesiredState


def explain_object(
    key: Key, snapshot: Snapshot, settings: Settings, plan: Plan, desired: DesiredState
) -> Explanation | ServiceExplanation | str:
    """Explain the Node or Service with this key; a text says why there is nothing to explain. ``plan`` is the judged
    plan of ``snapshot``, made from ``desired``."""
    if key.kind is ObjectKind.SERVICE:
        service = snapshot.service(key)
        if service is None:
            return why_no_service(key.name, snapshot, settings)
        return explain_service(service, snapshot, settings, plan, desired)
    node = snapshot.node(key)
    return why_no_node(key.name, snapshot) if node is None else explain(node, snapshot, settings, plan, desired)
