"""What can be explained: a Node or a Service, by its key in plans."""

from desired.explain.node import Explanation, explain, why_no_node
from desired.explain.service import ServiceExplanation, explain_service, why_no_service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Plan


def explain_object(
    key: str, snapshot: Snapshot, settings: Settings, plan: Plan
) -> Explanation | ServiceExplanation | str:
    """What there is to say of the Node or Service with this key; a text, why there is nothing. ``plan`` is the judged
    plan of ``snapshot``."""
    kind, _, name = key.partition("/")
    if kind == "service":
        service = snapshot.service(key)
        if service is None:
            return why_no_service(name, snapshot, settings)
        return explain_service(service, snapshot, settings, plan)
    node = snapshot.node(key)
    return why_no_node(name, snapshot) if node is None else explain(node, snapshot, settings, plan)
