"""Explanations of one Node or Service: they read what the rules decided, and decide nothing.

``rows`` has the one shape of everything that is told. ``node`` and ``service`` make the rows of each.
"""

from collections.abc import Collection
from difflib import get_close_matches

from desired.explain.node import explain_node
from desired.explain.rows import Explanation, View
from desired.explain.service import explain_service
from desired.guards.guard import GuardInput, GuardResult
from desired.health.state import States
from desired.load_balancers.lifecycle import awaiting
from desired.model.key import Key, ObjectKind
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Plan


def explain_object(
    key: Key, plan: Plan, facts: GuardInput, results: Collection[GuardResult], states: States
) -> Explanation | str:
    """Explain the Node or Service with this key; a text says why there is nothing to explain.

    ``plan`` is the shown part of the judged plan, ``facts`` is what that was made and judged from, ``results`` are
    those of the guards, and ``states`` are what is, whatever is planned.
    """
    snapshot, view = facts.snapshot, View(key, plan, facts, results)
    if key.kind is ObjectKind.SERVICE:
        service = snapshot.service(key)
        if service is None:
            return why_no_service(key.name, snapshot, facts.settings)
        return explain_service(view, service, states.of(key))
    node = snapshot.node(key)
    return why_no_node(key.name, snapshot) if node is None else explain_node(view, node)


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
    left = awaiting(namespace, short, snapshot)
    hint = f"; {left.text}" if left else hint
    return f"the cluster has no Service {name!r}{hint}"
