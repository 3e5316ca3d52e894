"""Explanations of one Node or Service: they read what the rules decided, and decide nothing.

One exception: ``guards`` supposes the deletion of a Node, and asks the guards about it in a world without its server.

``document`` has what text and JSON show, field by field. ``node`` and ``service`` fill it, with ``load_balancer`` for
what a Service has at Hetzner, ``options`` for what it asks for, and ``guards`` for what guards say.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from desired.explain.document import NodeExplanation, ServiceExplanation
from desired.explain.guards import guards_on_node
from desired.explain.node import explain_node
from desired.explain.service import explain_service
from desired.guards.guard import GuardInput, GuardResult, SettingsChange
from desired.guards.judge import ask_guards
from desired.load_balancers.lifecycle import due_of, shown_time
from desired.load_balancers.ownership import former_by_name, left_behind
from desired.model.key import Key, ObjectKind
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Plan
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState


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
        return (
            why_no_service(key.name, snapshot, settings) if service is None else explain_service(service, facts, told)
        )
    node = snapshot.node(key)
    if node is None:
        return why_no_node(key.name, snapshot)
    wanted = desired.nodes[node.name]
    judged = guards_on_node(node, wanted, facts, told)
    return explain_node(node, wanted, desired.routes, plan, snapshot, settings, judged)


def why_no_node(name: str, snapshot: Snapshot) -> str:
    """The reason why there is no Node of this name to explain, and which ones come near."""
    if name in snapshot.nodes.unreadable:
        return f"Node {name!r} cannot be explained: {snapshot.nodes.unreadable[name]}"
    gap = f", but {snapshot.nodes.why_incomplete}" if snapshot.nodes.why_incomplete else ""
    near = get_close_matches(name, sorted(snapshot.nodes.items), n=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    servers = (*snapshot.servers, *(snapshot.robot.servers if snapshot.robot else ()))
    named = [server.key.name for server in servers if server.name == name]
    server = f"; {', '.join(named)} has the name: its kubelet has not registered here" if named else ""
    return f"the cluster has no Node {name!r}{gap}{hint}{server}"


def why_no_service(name: str, snapshot: Snapshot, settings: Settings) -> str:
    """The reason why there is no Service of this ``NAMESPACE/NAME`` to explain, and which ones come near."""
    services = snapshot.services
    if Controller.SERVICE not in settings.controllers:
        return f"Service {name!r} cannot be explained: --controllers leaves {Controller.SERVICE} out"
    if services is None:
        return f"Service {name!r} cannot be explained: the Services were not read"
    if name in services.unreadable:
        return f"Service {name!r} cannot be explained: {services.unreadable[name]}"
    namespace, _, short = name.partition("/")
    namesakes = [service.id for service in services if service.name == short]
    beside = [service.name for service in services if service.namespace == namespace]
    near = (*namesakes, *(f"{namespace}/{close}" for close in get_close_matches(short, beside, n=3)))[:3]
    hint = f"; nearest: {', '.join(near)}" if near else ""
    if not services.complete:
        return f"Service {name!r} is not among the {len(services)} that were read: {services.why_incomplete}{hint}"
    left = left_behind(snapshot).get(former_by_name(namespace, short))
    if left is not None:
        due_at = due_of(left.owner)
        end = "" if due_at is None else f", and is deleted after {shown_time(due_at)}"
        hint = f"; load balancer {left.id} {left.spec.name} is returned to it when it is created again{end}"
    return f"the cluster has no Service {name!r}{hint}"
