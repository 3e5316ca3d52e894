"""Foresight: the world as it will be once changes are applied, and the targets that serve in a world.

| Function | Result |
|---|---|
| ``after_all`` | the world with these changes applied |
| ``node_after``, ``service_after``, ``balancer_after`` | the same of one object that is there before and after |
| ``balancer_after_all`` | the same of one load balancer that may be created, or deleted |
| ``serving`` | port → the targets that answer there, as reachable as they are in that world |
| ``healthy`` | the same by nothing but health checks |

Values that Hetzner chooses (ids, addresses) are known after apply: a load balancer that is still to be created has an
id below zero, and no address, and a Service that waits for its addresses publishes none. Parts of a created object that
were not asked for stay UNMANAGED.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import TypeVar

from desired.annotations.choices import Algorithm
from desired.model.key import Key, ObjectKind
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
    KnownAfterApply,
    Listener,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    ServerTarget,
    Target,
    is_private,
    labels_with,
)
from desired.model.route import CONDITION_NETWORK, NetworkCondition, Route
from desired.model.service import Ingress, Service
from desired.model.snapshot import Condition, Node, NodeAddress, Readiness, ServerStatus, Snapshot
from desired.model.taint import with_out_of_service_taint, with_shutdown_taint, without_out_of_service_taint
from desired.names import LABEL_CLUSTER_UID
from desired.plan.change import Change, Claimed, NodeIdentity, OutOfService
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import in_order
from desired.section import UNMANAGED, Absent, Present, Section, Unknown, Unmanaged
from desired.syntax.provider_id import Provider, ServerKey, server_key

K = TypeVar("K", str, int)
V = TypeVar("V")


def after_all(world: Snapshot, changes: Sequence[Change]) -> Snapshot:
    """The world once all of these are applied, each after its dependencies, and nothing else has happened: as one by
    one, but each section and each load balancer with its targets is copied once. A change of something that the world
    lacks changes nothing. Raises ValueError if changes wait for each other in a circle."""
    nodes, services, routes = dict(world.nodes.items), _items(world.services), _items(world.routes)
    balancers, certificates = _items(world.load_balancers), _items(world.certificates)
    of_balancers: dict[int | Key, list[Change]] = {}
    for change in in_order(changes):
        name = change.owner.name
        match change.row.object:
            case ObjectKind.NODE if name in nodes:
                _put(nodes, name, None if change.kind is ChangeKind.NODE_DELETE else node_after(nodes[name], change))
            case ObjectKind.SERVICE if name in services:
                now = _service_after(services[name], change, world)
                # One that waited for our finalizer alone is gone once it is released.
                _put(services, name, now if now.deleted_at is None or now.finalizers else None)
            case ObjectKind.LOAD_BALANCER:
                of_balancers.setdefault(change.cloud_id or change.owner, []).append(change)
            case ObjectKind.CERTIFICATE if isinstance(change.after, ManagedCertificate):
                number = min((0, *certificates)) - 1
                certificates[number] = _certificate(change.after, number, world)
            case ObjectKind.ROUTE if world.routes is not None:
                if isinstance(change.before, Route):
                    routes.pop(str(change.before.destination), None)
                if isinstance(change.after, Route):
                    routes[str(change.after.destination)] = change.after
    for group in of_balancers.values():
        found = _subject(world, group[0])
        number = min((0, *balancers)) - 1 if found is None else found.id
        made = _folded(found, group, world)
        _put(balancers, number, None if made is None else replace(made, id=number))
    return replace(
        world,
        nodes=replace(world.nodes, items=nodes),
        services=_section(world.services, services),
        load_balancers=_section(world.load_balancers, balancers),
        certificates=_section(world.certificates, certificates),
        routes=_section(world.routes, routes),
    )


def _service_after(service: Service, change: Change, world: Snapshot) -> Service:
    if change.kind is ChangeKind.SERVICE_CLAIM:
        return replace(service, finalizers=(*service.finalizers, world.serving.finalizer))
    return service_after(service, change)


def _subject(world: Snapshot, change: Change) -> CloudBalancer | None:
    """The load balancer of this world that the change is about, also one that an earlier change has created."""
    service, there = world.service(change.owner), world.load_balancers.items if world.load_balancers else {}
    if change.cloud_id is not None or service is None:
        return there.get(change.cloud_id or 0)
    created = (found for number, found in there.items() if number < 0)
    return next((found for found in created if found.owner.uid == service.uid), None)


def balancer_after_all(
    balancer: CloudBalancer | None, changes: Sequence[Change], world: Snapshot
) -> CloudBalancer | None:
    """One load balancer of this world once these changes are applied, each after its dependencies; None if there is
    none then. Changes of other objects have no effect."""
    return _folded(balancer, in_order(changes), world)


def _folded(balancer: CloudBalancer | None, changes: Iterable[Change], world: Snapshot) -> CloudBalancer | None:
    for of_targets, run in groupby(changes, lambda change: change.kind is ChangeKind.LB_TARGET):
        if of_targets and balancer is not None:
            balancer = _retargeted(balancer, run)
            continue
        for change in run:
            balancer = _balancer_after(balancer, change, world)
    return balancer


def _balancer_after(balancer: CloudBalancer | None, change: Change, world: Snapshot) -> CloudBalancer | None:
    """The load balancer after one change of it. Any write of labels has the cluster's as well."""
    if change.kind is ChangeKind.LB_CREATE and isinstance(change.after, LoadBalancer):
        return _created(change.after, world)
    if change.kind is ChangeKind.LB_DELETE or balancer is None:
        return None
    now = balancer_after(balancer, change, world.balancer_types)
    if change.kind is ChangeKind.LB_IDENTITY and isinstance(world.cluster_uid, Present):
        labels = {**now.spec.labels, LABEL_CLUSTER_UID: world.cluster_uid.value}
        now = replace(now, spec=replace(now.spec, labels=labels))
    return now


def balancer_after(
    balancer: CloudBalancer, change: Change, types: Mapping[str, BalancerType] | Unknown = MappingProxyType({})
) -> CloudBalancer:
    """The load balancer once a change of it or of its parts is applied. ``types`` has the limits of its next type. A
    change of another object has no effect."""
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
        case ChangeKind.LB_TARGET, _, _:
            return _retargeted(balancer, (change,))
    return balancer


def node_after(node: Node, change: Change) -> Node:
    """The Node once a change of it is applied. Its deletion, and a change of another object, have no effect."""
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
        case ChangeKind.NODE_OUT_OF_SERVICE_TAINT, _, OutOfService():
            return replace(node, taints=with_out_of_service_taint(node.taints))
        case ChangeKind.NODE_OUT_OF_SERVICE_TAINT, _, _:
            return replace(node, taints=without_out_of_service_taint(node.taints))
        case ChangeKind.NODE_NETWORK_CONDITION, _, (NetworkCondition() | None) as said:
            others = tuple(found for found in node.conditions if found.type != CONDITION_NETWORK)
            ours = () if said is None else (Condition(CONDITION_NETWORK, said.status, said.reason),)
            return replace(node, conditions=(*others, *ours))
    return node


def service_after(service: Service, change: Change) -> Service:
    """The Service, but for its finalizer, once a change of it is applied. One of another object has no effect."""
    match change.kind, change.after:
        case ChangeKind.SERVICE_STATUS, KnownAfterApply():
            return replace(service, ingress=())
        case ChangeKind.SERVICE_STATUS, tuple() as ingress:
            return replace(service, ingress=tuple(entry for entry in ingress if isinstance(entry, Ingress)))
        case ChangeKind.SERVICE_RELEASE, _:
            ended = change.before if isinstance(change.before, Claimed) else Claimed(None, ())
            left = tuple(entry for entry in service.ingress if entry not in ended.ingress)
            return replace(service, finalizers=_without(service.finalizers, ended.finalizer), ingress=left)
    return service


def _without(finalizers: tuple[str, ...], removed: str | None) -> tuple[str, ...]:
    return tuple(name for name in finalizers if name != removed)


def serving(
    balancer: CloudBalancer, world: Snapshot, ready: Mapping[ServerKey, bool] | None = None
) -> Mapping[int, frozenset[Target]]:
    """Port → the targets that answer there: reachable as the load balancer is, and healthy by its list, or if they were
    not checked yet, on a server that is within reach and up. Each port that listens is in it. ``ready`` is
    ``readiness(world)``, for callers that ask for many load balancers."""
    ready = readiness(world) if ready is None else ready
    reached = reached_by(balancer)
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
    said = [(target, balancer.checks.get(target, {})) for target in reached_by(balancer)]
    answering: dict[int, frozenset[Target]] = {}
    for port in balancer.spec.listeners:
        found = [target for target, ports in said if ports.get(port) is Health.HEALTHY]
        # Mostly it is all of them: that set is there, and shared.
        is_all, there = len(found) == len(balancer.targets), balancer.spec.targets
        answering[port] = there if is_all and not isinstance(there, Unmanaged) else frozenset(found)
    return answering


def reached_by(balancer: CloudBalancer) -> Sequence[Target]:
    """The targets that the load balancer reaches as it is."""
    if balancer.attachments and balancer.spec.public_interface is not False:
        return balancer.targets
    return [target for target in balancer.targets if has_way(target, balancer)]


def has_way(target: Target, balancer: CloudBalancer) -> bool:
    """Whether the load balancer has the network, or the public interface, by which it reaches the target (Hetzner Cloud
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


def _retargeted(balancer: CloudBalancer, changes: Iterable[Change]) -> CloudBalancer:
    there: dict[Target, None] = dict.fromkeys(balancer.targets)
    for change in changes:
        for side in (change.before, change.after):
            if isinstance(side, Target):
                there.pop(side, None)
        if isinstance(change.after, Target):
            there[change.after] = None
    return _with_targets(balancer, there)


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
    """The load balancer with this listener at its port. Targets that answer there are taken to answer on: a change that
    a Service asks for at its own port is not a loss."""
    listeners = {number: found for number, found in balancer.spec.listeners.items() if number != port}
    listeners |= {} if listener is None else {port: listener}
    return replace(balancer, spec=replace(balancer.spec, listeners=listeners))


def _created(spec: LoadBalancer, world: Snapshot) -> CloudBalancer:
    types = {} if isinstance(world.balancer_types, Unknown) else world.balancer_types
    size = types.get(spec.type) or BalancerType(spec.type, NO_LIMIT, NO_LIMIT, NO_LIMIT)
    places = (spec.attachment,) if isinstance(spec.attachment, Attachment) else ()
    targets = () if isinstance(spec.targets, Unmanaged) else tuple(sorted(spec.targets, key=str))
    return CloudBalancer(-1, spec, size, world.taken_at, attachments=places, targets=targets)


def _certificate(wanted: ManagedCertificate, number: int, world: Snapshot) -> Certificate:
    return Certificate(
        number,
        wanted.name,
        is_managed=True,
        created_at=world.taken_at,
        domains=wanted.domains,
        labels=wanted.labels,
        issuance=Issuance.PENDING,
    )


def _relabelled(there: Mapping[str, str], was: Mapping[str, str], labels: Mapping[str, str]) -> Mapping[str, str]:
    return {**{key: text for key, text in there.items() if key not in was}, **labels}


def _items(section: Section[K, V] | None) -> dict[K, V]:
    return {} if section is None else dict(section.items)


def _section(section: Section[K, V] | None, items: Mapping[K, V]) -> Section[K, V] | None:
    """The section with these items; one that was not read is still none, unless something is created of its kind."""
    if section is None:
        return Section(items) if items else None
    return replace(section, items=items)


def _put(items: MutableMapping[K, V], key: K, value: V | None) -> None:
    """Keep the value under its key, or remove it if it is None."""
    if value is None:
        items.pop(key, None)
    else:
        items[key] = value
