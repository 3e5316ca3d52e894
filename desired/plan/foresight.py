"""Foresight: the world as it will be once a change is applied, and the targets that serve in a world.

| Function | Result |
|---|---|
| ``after`` | the world with the change applied |
| ``balancer_after``, ``node_after`` | the same of one load balancer, of one Node |
| ``serving`` | port → the targets that answer there, as reachable as they are in that world |
| ``healthy`` | the same by nothing but health checks |

What Hetzner chooses (ids, addresses) is known after apply: a load balancer that is still to be created has an id below
zero, and no address. What nobody asks for stays UNMANAGED in what is created.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from desired.annotations.choices import Algorithm
from desired.model.load_balancer import (
    NO_LIMIT,
    Attachment,
    BalancerType,
    Certificate,
    CloudBalancer,
    Health,
    Identity,
    IpTarget,
    Issuance,
    Listener,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    SelectorTarget,
    ServerTarget,
    Target,
    is_private,
    labels_with,
)
from desired.model.route import CONDITION_NETWORK, NetworkCondition, Route
from desired.model.service import Ingress, Service
from desired.model.snapshot import (
    Condition,
    Node,
    NodeAddress,
    Readiness,
    ServerStatus,
    Snapshot,
    with_shutdown_taint,
)
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, Claimed, NodeIdentity
from desired.plan.kinds import ChangeKind
from desired.section import UNMANAGED, Absent, Present, Section, Unknown, Unmanaged
from desired.syntax.provider_id import Provider, ServerKey, server_key

K = TypeVar("K", str, int)
V = TypeVar("V")


def after(world: Snapshot, change: Change) -> Snapshot:
    """The world once ``change`` is applied and nothing else has happened. A change of something that the world lacks
    changes nothing."""
    match change.kind:
        case ChangeKind.NODE_DELETE:
            return replace(world, nodes=_gone(world.nodes, change.owner.name))
        case (
            ChangeKind.NODE_INITIALISE
            | ChangeKind.NODE_ADDRESSES
            | ChangeKind.NODE_LABELS
            | ChangeKind.NODE_SHUTDOWN_TAINT
            | ChangeKind.NODE_NETWORK_CONDITION
        ):
            node = world.node(change.owner)
            if node is None:
                return world
            return replace(world, nodes=_with(world.nodes, node.name, node_after(node, change)))
        case ChangeKind.SERVICE_CLAIM | ChangeKind.SERVICE_STATUS | ChangeKind.SERVICE_RELEASE:
            return _served(world, change)
        case ChangeKind.LB_CREATE:
            return _with_created(world, change)
        case ChangeKind.LB_DELETE:
            found = subject(world, change)
            if found is None or world.load_balancers is None:
                return world
            return replace(world, load_balancers=_gone(world.load_balancers, found.id))
        case ChangeKind.CERTIFICATE_CREATE:
            return _with_certificate(world, change)
        case ChangeKind.ROUTE_CREATE | ChangeKind.ROUTE_REPLACE | ChangeKind.ROUTE_DELETE:
            return _routed(world, change)
        case _:
            return _rebalanced(world, change)


def subject(world: Snapshot, change: Change) -> CloudBalancer | None:
    """The load balancer of this world that the change is about, also one that an earlier change creates; None when the
    world has none."""
    section = world.load_balancers
    if section is None:
        return None
    if change.cloud_id is not None:
        return section.items.get(change.cloud_id)
    service = world.service(change.owner)
    if service is None:
        return None
    created = (found for number, found in section.items.items() if number < 0)
    return next((found for found in created if found.spec.labels.get(LABEL_SERVICE_UID) == service.uid), None)


def balancer_after(
    balancer: CloudBalancer, change: Change, types: Mapping[str, BalancerType] | Unknown = MappingProxyType({})
) -> CloudBalancer:
    """The load balancer once a change of it or of its parts is applied. ``types`` has the limits of its next type. A
    change of anything else changes nothing."""
    spec = balancer.spec
    match change.kind, change.before, change.after:
        case ChangeKind.LB_ADOPT | ChangeKind.LB_RETAIN, _, Owner() as owner:
            return replace(balancer, spec=replace(spec, labels=labels_with(spec.labels, owner)))
        case ChangeKind.LB_IDENTITY, Identity() as was, Identity() as identity:
            kept = {key: text for key, text in spec.labels.items() if key not in was.labels}
            return replace(balancer, spec=replace(spec, name=identity.name, labels={**kept, **identity.labels}))
        case ChangeKind.LB_TYPE, _, str() as name:
            known = {} if isinstance(types, Unknown) else types
            size = known.get(name) or BalancerType(name, NO_LIMIT, NO_LIMIT, NO_LIMIT)
            return replace(balancer, spec=replace(spec, type=name), type=size)
        case ChangeKind.LB_ALGORITHM, _, Algorithm() as algorithm:
            return replace(balancer, spec=replace(spec, algorithm=algorithm))
        case ChangeKind.LB_RDNS, _, (str() | None) as pointer:
            is_ipv4 = change.key.parts[-1] == "ipv4"
            return replace(
                balancer, spec=replace(spec, ipv4_rdns=pointer) if is_ipv4 else replace(spec, ipv6_rdns=pointer)
            )
        case ChangeKind.LB_PUBLIC_INTERFACE, _, bool() as is_public:
            return replace(balancer, spec=replace(spec, public_interface=is_public))
        case ChangeKind.LB_NETWORK, (Attachment() | None) as place, (Attachment() | None) as next_place:
            return _moved(balancer, place, next_place)
        case ChangeKind.LB_LISTENER, (Listener() | None) as listener, (Listener() | None) as next_listener:
            ports = [side.port for side in (listener, next_listener) if side is not None]
            return _with_listener(balancer, next_listener, ports[0])
        case ChangeKind.LB_TARGET, target, next_target:
            targets = [found for found in balancer.targets if found not in (target, next_target)]
            added = [next_target] if isinstance(next_target, ServerTarget | IpTarget | SelectorTarget) else []
            return _with_targets(balancer, [*targets, *added])
    return balancer


def node_after(node: Node, change: Change) -> Node:
    """The Node once a change of it is applied. A change of anything else changes nothing."""
    match change.kind, change.before, change.after:
        case ChangeKind.NODE_INITIALISE, NodeIdentity() as was, NodeIdentity() as identity:
            return replace(
                node,
                provider_id=identity.provider_id,
                labels=_relabelled(node.labels, was.labels, identity.labels),
                taints=identity.taints,
                addresses=identity.addresses,
            )
        case ChangeKind.NODE_ADDRESSES, _, tuple() as addresses:
            return replace(node, addresses=tuple(each for each in addresses if isinstance(each, NodeAddress)))
        case ChangeKind.NODE_LABELS, Mapping() as was, Mapping() as labels:
            return replace(node, labels=_relabelled(node.labels, was, labels))
        case ChangeKind.NODE_SHUTDOWN_TAINT, _, bool() as is_down:
            return replace(node, taints=with_shutdown_taint(node.taints, wanted=is_down))
        case ChangeKind.NODE_NETWORK_CONDITION, _, (NetworkCondition() | None) as said:
            others = tuple(found for found in node.conditions if found.type != CONDITION_NETWORK)
            ours = () if said is None else (Condition(CONDITION_NETWORK, said.status, said.reason),)
            return replace(node, conditions=(*others, *ours))
    return node


def serving(
    balancer: CloudBalancer, world: Snapshot, ready: Mapping[ServerKey, bool] | None = None
) -> Mapping[int, frozenset[Target]]:
    """Port → the targets that answer there: reachable as the load balancer is, and healthy by its list, or on a server
    that is within reach and up where nothing is checked yet. Each port that listens is in it. ``ready`` is
    ``readiness(world)``, for who asks of many."""
    ready = readiness(world) if ready is None else ready
    reached = [target for target in balancer.targets if has_way(target, balancer)]
    return {
        port: frozenset(target for target in reached if _answers(target, port, balancer, world, ready))
        for port in balancer.spec.listeners
    }


def readiness(world: Snapshot) -> Mapping[ServerKey, bool]:
    """Server → whether any Node on it is Ready; without those that have no Node."""
    ready: dict[ServerKey, bool] = {}
    for node in world.nodes:
        if (server := server_key(node.provider_id)) is not None:
            ready[server] = ready.get(server, False) or node.ready is Readiness.TRUE
    return ready


def healthy(balancer: CloudBalancer) -> Mapping[int, frozenset[Target]]:
    """Port → the targets that its health checks report healthy, and that the load balancer reaches as it is."""
    reached = [target for target in balancer.targets if has_way(target, balancer)]
    return {
        port: frozenset(target for target in reached if port in balancer.answering(target))
        for port in balancer.spec.listeners
    }


def has_way(target: Target, balancer: CloudBalancer) -> bool:
    """Whether the load balancer has what it reaches the target by: a network, or its public interface (Hetzner Cloud
    API, load balancers)."""
    return bool(balancer.attachments) if is_private(target) else balancer.spec.public_interface is not False


def is_down(server: ServerKey, world: Snapshot, ready: Mapping[ServerKey, bool]) -> bool:
    """Whether the server does not answer for a reason of its own: it is off or about to go, or no Node on it is Ready;
    one that a list lacks, which proves nothing, unless its Node is."""
    found = world.find(server)
    if isinstance(found, Present) and found.value.status in _DOWN:
        return True
    return not ready.get(server, not isinstance(found, Absent))


_DOWN = frozenset({ServerStatus.OFF, ServerStatus.DELETING})


def _answers(
    target: Target, port: int, balancer: CloudBalancer, world: Snapshot, ready: Mapping[ServerKey, bool]
) -> bool:
    said = balancer.checks.get(target, {}).get(port, Health.UNKNOWN)
    if said is not Health.UNKNOWN or not isinstance(target, ServerTarget):
        return said is Health.HEALTHY or (said is Health.UNKNOWN and isinstance(target, IpTarget))
    server = ServerKey(Provider.CLOUD, target.server_id)
    return _may_reach(target, balancer, world) and not is_down(server, world, ready)


def _may_reach(target: ServerTarget, balancer: CloudBalancer, world: Snapshot) -> bool:
    """Whether a server is where its private address is to be reached. What is not known is no obstacle."""
    server = world.servers.items.get(target.server_id)
    if not target.use_private_ip or server is None or "private_net" in server.missing:
        return True
    places = {place.network_id for place in balancer.attachments}
    return any(network in places for network, _ in server.private_ips)


def _rebalanced(world: Snapshot, change: Change) -> Snapshot:
    """The world with a load balancer of it changed. Any write of labels has the cluster's as well."""
    found = subject(world, change)
    if found is None or world.load_balancers is None:
        return world
    now = balancer_after(found, change, world.balancer_types)
    if change.kind is ChangeKind.LB_IDENTITY and isinstance(world.cluster_uid, Present):
        labels = {**now.spec.labels, LABEL_CLUSTER_UID: world.cluster_uid.value}
        now = replace(now, spec=replace(now.spec, labels=labels))
    return replace(world, load_balancers=_with(world.load_balancers, found.id, now))


def _with_targets(balancer: CloudBalancer, targets: Iterable[Target]) -> CloudBalancer:
    there = tuple(targets)
    return replace(balancer, targets=there, spec=replace(balancer.spec, targets=frozenset(there)))


def _moved(balancer: CloudBalancer, place: Attachment | None, next_place: Attachment | None) -> CloudBalancer:
    """The load balancer in its next place. What is reached through a network is removed before it is left: it would be
    lost with it (Hetzner Cloud API, load balancers)."""
    left = balancer if place is None else _with_targets(balancer, (t for t in balancer.targets if not is_private(t)))
    places = tuple(found for found in left.attachments if place is None or found.network_id != place.network_id)
    if next_place is not None:
        places = (*places, replace(next_place, ip_range=UNMANAGED))
    return replace(left, attachments=places, spec=replace(left.spec, attachment=places[0] if places else None))


def _with_listener(balancer: CloudBalancer, listener: Listener | None, port: int) -> CloudBalancer:
    """The load balancer with this listener at its port. Who answers there is taken to answer on: what a Service asks of
    its own ports is no loss, and ``listener-loss`` judges what nobody has asked for."""
    listeners = {number: found for number, found in balancer.spec.listeners.items() if number != port}
    listeners |= {} if listener is None else {port: listener}
    return replace(balancer, spec=replace(balancer.spec, listeners=listeners))


def _with_created(world: Snapshot, change: Change) -> Snapshot:
    section, spec = world.load_balancers, change.after
    if not isinstance(spec, LoadBalancer):
        return world
    section = Section[int, CloudBalancer]() if section is None else section
    number = min((0, *section.items)) - 1
    types = {} if isinstance(world.balancer_types, Unknown) else world.balancer_types
    size = types.get(spec.type) or BalancerType(spec.type, NO_LIMIT, NO_LIMIT, NO_LIMIT)
    places = (spec.attachment,) if isinstance(spec.attachment, Attachment) else ()
    targets = () if isinstance(spec.targets, Unmanaged) else tuple(sorted(spec.targets, key=str))
    made = CloudBalancer(number, spec, size, world.taken_at, attachments=places, targets=targets)
    return replace(world, load_balancers=_with(section, number, made))


def _with_certificate(world: Snapshot, change: Change) -> Snapshot:
    wanted = change.after
    if not isinstance(wanted, ManagedCertificate):
        return world
    section = Section[int, Certificate]() if world.certificates is None else world.certificates
    number = min((0, *section.items)) - 1
    made = Certificate(
        number,
        wanted.name,
        is_managed=True,
        created_at=world.taken_at,
        domains=wanted.domains,
        labels=wanted.labels,
        issuance=Issuance.PENDING,
    )
    return replace(world, certificates=_with(section, number, made))


def _served(world: Snapshot, change: Change) -> Snapshot:
    """A Service that waited for our finalizer alone is gone once it is released."""
    service = world.service(change.owner)
    if service is None or world.services is None:
        return world
    now = _service(service, change)
    is_gone = now.deleted_at is not None and not now.finalizers
    services = world.services
    return replace(world, services=_gone(services, now.id) if is_gone else _with(services, now.id, now))


def _routed(world: Snapshot, change: Change) -> Snapshot:
    if world.routes is None:
        return world
    routes = world.routes
    if isinstance(change.before, Route):
        routes = _gone(routes, str(change.before.destination))
    if isinstance(change.after, Route):
        routes = _with(routes, str(change.after.destination), change.after)
    return replace(world, routes=routes)


def _relabelled(there: Mapping[str, str], was: Mapping[str, str], labels: Mapping[str, str]) -> Mapping[str, str]:
    return {**{key: text for key, text in there.items() if key not in was}, **labels}


def _service(service: Service, change: Change) -> Service:
    others = tuple(found for found in service.finalizers if found != FINALIZER_BALANCER)
    match change.kind, change.after:
        case ChangeKind.SERVICE_CLAIM, _:
            return replace(service, finalizers=(*others, FINALIZER_BALANCER))
        case ChangeKind.SERVICE_STATUS, tuple() as ingress:
            return replace(service, ingress=tuple(entry for entry in ingress if isinstance(entry, Ingress)))
        case ChangeKind.SERVICE_RELEASE, _:
            ended = change.before.ingress if isinstance(change.before, Claimed) else ()
            left = tuple(entry for entry in service.ingress if entry not in ended)
            return replace(service, finalizers=others, ingress=left)
    return service


def _with(section: Section[K, V], key: K, value: V) -> Section[K, V]:
    return replace(section, items={**section.items, key: value})


def _gone(section: Section[K, V], key: K) -> Section[K, V]:
    return replace(section, items={found: value for found, value in section.items.items() if found != key})
