"""Changes of the parts of an existing load balancer. Nothing is planned for parts that are equal."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from ipaddress import ip_address

from desired.load_balancers.by_default import (
    interface_differences,
    listener_differences,
    network_differences,
    type_differences,
    way_differences,
)
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.listeners import waits_for_certificate
from desired.load_balancers.matching import Owned
from desired.load_balancers.ordering import exceeded
from desired.load_balancers.targets import removal_reason
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    BalancerType,
    CloudBalancer,
    Identity,
    IpTarget,
    KnownAfterApply,
    Listener,
    LoadBalancer,
    SelectorTarget,
    ServerTarget,
    Target,
    is_private,
    spoken,
)
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLASS
from desired.plan.change import Change, Difference, State
from desired.plan.foresight import balancer_after
from desired.plan.kinds import ChangeKind, Verb
from desired.rules import load_balancer_changes as rows
from desired.section import UNMANAGED, Absent, Present, Unknown, Unmanaged
from desired.syntax.provider_id import ServerKey


def changed_parts(
    lb: DesiredLoadBalancer, wanted: LoadBalancer, present: CloudBalancer, snapshot: Snapshot, issue: tuple[str, ...]
) -> Iterator[Change]:
    """A change for every part that differs, in any order; ``issue`` are keys of certificates that are still to come."""
    networks = tuple(_networks(lb, wanted, present))
    public = tuple(_public_interface(lb, wanted, present))
    targets = tuple(_targets(lb, wanted, present, snapshot, (*networks, *public)))
    targets = (*targets, *_switches(lb, wanted, present, snapshot, (*networks, *public), targets))
    targets = (*targets, *_moved(lb, wanted, present, snapshot, networks, targets))
    listeners = tuple(_listeners(lb, wanted, present, issue))
    yield from _whole(lb, wanted, present)
    yield from _type(lb, wanted, present, (*listeners, *targets))
    yield from listeners
    yield from targets
    for change in networks:
        # What is reached through a network is lost with it: it is removed before, if a guard lets it.
        before = (other.key for other in targets if change.before and _is_private_end(other))
        yield replace(change, depends_on=(*change.depends_on, *before))
    for change in public:
        # Disabled only when no target needs it any more, and once the network is there.
        after = () if change.after else (*targets, *networks)
        yield replace(change, depends_on=tuple(other.key for other in after))


def listener_change(
    lb: DesiredLoadBalancer,
    before: Listener | None,
    after: Listener | None,
    needed: tuple[str, ...],
    brings: tuple[Difference, ...] = (),
) -> Change:
    """The change of one listener, of which one side may be None; it comes after the changes ``needed``. The part
    that a default alone ``brings`` is a change of its own."""
    port = after.port if after else before.port if before else 0
    row = rows.PORT_ADDED if before is None else rows.PORT_REMOVED if after is None else rows.PORT_CHANGED
    part, kind, why = ("listener", port, *(["default"] if brings else [])), ChangeKind.LB_LISTENER, row.text(port=port)
    lost = (rows.PORT_CLOSED.text(port=port),) if after is None else ()
    change = _change(lb, part, kind, before, after, why, consequences=lost, depends_on=needed)
    return replace(change, brings=brings)


def _change(
    lb: DesiredLoadBalancer,
    part: tuple[object, ...],
    kind: ChangeKind,
    before: State | None,
    after: State | None,
    reason: str,
    *,
    consequences: tuple[str, ...] = (),
    depends_on: tuple[str, ...] = (),
) -> Change:
    key, service = lb.service.balancer_key.part(*part), lb.service.key
    change = Change.of(key, kind, before, after, reason, service, consequences=consequences, depends_on=depends_on)
    return replace(change, cloud_id=lb.present.id if lb.present else None)


def _whole(lb: DesiredLoadBalancer, wanted: LoadBalancer, present: CloudBalancer) -> Iterator[Change]:
    spec = present.spec
    is_lost = LABEL_CLASS in wanted.labels and LABEL_CLASS not in spec.labels and isinstance(lb.match, Owned)
    if wanted.name != spec.name or is_lost:
        named, renamed = Identity(spec.name, spec.labels), Identity(wanted.name, wanted.labels)
        row = rows.CLASS_RESTORED if is_lost else rows.RENAMED
        yield _change(lb, ("identity",), ChangeKind.LB_IDENTITY, named, renamed, row.text())
    algorithm, there = wanted.algorithm, spec.algorithm
    if not isinstance(algorithm, Unmanaged) and not isinstance(there, Unmanaged) and algorithm is not there:
        yield _change(lb, ("algorithm",), ChangeKind.LB_ALGORITHM, there, algorithm, rows.ALGORITHM_CHANGED.text())
    for family, address, pointer, before in (
        ("ipv4", present.ipv4, wanted.ipv4_rdns, spec.ipv4_rdns),
        ("ipv6", present.ipv6, wanted.ipv6_rdns, spec.ipv6_rdns),
    ):
        if address is None or isinstance(pointer, Unmanaged) or isinstance(before, Unmanaged):
            continue
        if (pointer or "") != (before or ""):
            yield _reverse_name(lb, family, before or None, pointer)


def reverse_names_to_come(lb: DesiredLoadBalancer, wanted: LoadBalancer) -> Iterator[Change]:
    """The reverse names of a load balancer that is still to be created. Which ones Hetzner gives it is not known."""
    for family, pointer in (("ipv4", wanted.ipv4_rdns), ("ipv6", wanted.ipv6_rdns)):
        if isinstance(pointer, str):
            yield _reverse_name(lb, family, KNOWN_AFTER_APPLY, pointer)


def _reverse_name(
    lb: DesiredLoadBalancer, family: str, before: str | KnownAfterApply | None, pointer: str | None
) -> Change:
    return _change(lb, ("rdns", family), ChangeKind.LB_RDNS, before, pointer, rows.REVERSE_NAME_CHANGED.text())


def _is_private_end(change: Change) -> bool:
    """Whether it is the end of a target by private address."""
    return isinstance(change.before, Target) and is_private(change.before)


def _type(
    lb: DesiredLoadBalancer, wanted: LoadBalancer, present: CloudBalancer, parts: tuple[Change, ...]
) -> Iterator[Change]:
    if wanted.type != present.spec.type:
        needed = tuple(_room_for(lb.size.type, present, parts))
        why = rows.TYPE_CHANGED.text()
        change = _change(lb, ("type",), ChangeKind.LB_TYPE, present.spec.type, wanted.type, why, depends_on=needed)
        yield replace(change, brings=type_differences(lb, present.type))


def _room_for(size: BalancerType | None, present: CloudBalancer, parts: tuple[Change, ...]) -> Iterator[Key]:
    """Keys of the removals before which a smaller type would not hold what is there by then."""
    if size is None or size.max_targets >= present.type.max_targets:
        return
    fullest = reduce(balancer_after, (change for change in parts if change.verb is not Verb.REMOVE), present)
    kinds = {*exceeded(fullest, size)}
    yield from (change.key for change in parts if change.kind in kinds and change.verb is Verb.REMOVE)


def _public_interface(lb: DesiredLoadBalancer, wanted: LoadBalancer, present: CloudBalancer) -> Iterator[Change]:
    public, there = wanted.public_interface, present.spec.public_interface
    if isinstance(public, Unmanaged) or isinstance(there, Unmanaged) or public is there:
        return
    if not public and not present.attachments and not isinstance(wanted.attachment, Attachment):
        return  # refused without a network, and which one that is cannot be told now
    why, lost = (rows.PUBLIC_ON, ()) if public else (rows.PUBLIC_OFF, (rows.UNREACHABLE_OUTSIDE.text(),))
    change = _change(lb, ("public",), ChangeKind.LB_PUBLIC_INTERFACE, there, public, why.text(), consequences=lost)
    yield replace(change, brings=interface_differences(lb, closes=not public))


def _networks(lb: DesiredLoadBalancer, wanted: LoadBalancer, present: CloudBalancer) -> Iterator[Change]:
    place = wanted.attachment
    if not isinstance(place, Attachment):
        return
    here = {there.network_id: there for there in present.attachments}
    if (stays := here.get(place.network_id)) is not None:
        if place.ip not in (UNMANAGED, stays.ip):
            why = rows.PRIVATE_ADDRESS_CHANGED.text(address=str(place.ip))
            yield _placed(lb, stays, place, why, consequences=(_loss(stays, present),))
        return
    others, brings = list[Change](), network_differences(lb, here, place)
    for there in here.values():
        lost = (_loss(there, present),)
        others.append(replace(_placed(lb, there, None, rows.NETWORK_REPLACED.text(), consequences=lost), brings=brings))
    yield from others
    needed = tuple(change.key for change in others)
    yield replace(_placed(lb, None, place, rows.NETWORK_ADDED.text(), depends_on=needed), brings=brings)


def _placed(
    lb: DesiredLoadBalancer,
    before: Attachment | None,
    after: Attachment | None,
    reason: str,
    *,
    consequences: tuple[str, ...] = (),
    depends_on: tuple[str, ...] = (),
) -> Change:
    place = after or before
    part = ("network", place.network_id if place else 0)
    return _change(
        lb, part, ChangeKind.LB_NETWORK, before, after, reason, consequences=consequences, depends_on=depends_on
    )


def _loss(place: Attachment, present: CloudBalancer) -> str:
    """The loss if the load balancer leaves."""
    stops = any(map(is_private, present.targets))
    return (rows.PRIVATE_TRAFFIC_STOPS if stops else rows.PRIVATE_ADDRESS_LOST).text(address=str(place.ip))


def _listeners(
    lb: DesiredLoadBalancer, wanted: LoadBalancer, present: CloudBalancer, issue: tuple[str, ...]
) -> Iterator[Change]:
    for port in sorted(wanted.listeners.keys() | present.spec.listeners.keys()):
        before, after = present.spec.listeners.get(port), wanted.listeners.get(port)
        if before == after:
            continue
        needed = issue if after and waits_for_certificate(after) else ()
        if before is None or after is None:
            yield listener_change(lb, before, after, needed)
            continue
        asked, brings = listener_differences(lb, before, after)
        if asked != before:
            yield (first := listener_change(lb, before, asked, needed))
            needed = (first.key,)
        if brings:
            yield listener_change(lb, asked, after, needed, brings)


def _targets(
    lb: DesiredLoadBalancer,
    wanted: LoadBalancer,
    present: CloudBalancer,
    snapshot: Snapshot,
    before_them: tuple[Change, ...],
) -> Iterator[Change]:
    if isinstance(wanted.targets, Unmanaged) or wanted.targets == frozenset(present.targets):
        return
    there, asked = _by_server(lb, wanted.targets, present)
    room = max(present.type.max_targets, lb.size.type.max_targets if lb.size.type else 0) - len(present.targets)
    room -= len(asked.keys() - there.keys())
    for server in sorted(there.keys() | asked.keys()):
        has, gets = there.get(server, []), asked.get(server, [])
        if set(has) == set(gets) or (has and wanted.targets.issuperset(has)):
            continue
        if not gets:
            yield from (_removal(lb, target, server, snapshot, serves=False) for target in _one_of_each_name(has))
            continue
        (after,) = gets
        old = [target for target in has if target != after and isinstance(target, IpTarget)]
        if not old or not isinstance(after, IpTarget):
            yield _addition(lb, next((target for target in has if target != after), None), after, server, before_them)
        elif snapshot.robot is None or not isinstance(snapshot.find(server), Unknown):
            # Two addresses of a dedicated server may be targets at a time: the new one comes before the old one goes.
            if after in has:
                yield from (_removal(lb, target, server, snapshot, serves=True) for target in old)
            else:
                yield _addition(lb, old[0] if room < 1 else None, after, server, before_them)
                room -= 1


def _by_server(
    lb: DesiredLoadBalancer, targets: Collection[Target], present: CloudBalancer
) -> tuple[Mapping[ServerKey, list[Target]], Mapping[ServerKey, list[Target]]]:
    """Server → the targets that lead to it, and those of ``targets``, which should be there, that do."""
    there: dict[ServerKey, list[Target]] = {}
    for target in present.targets:
        if server := lb.targets.node_targets.led_to(target):
            there.setdefault(server, []).append(target)
    asked = {server: [target for target in found if target in targets] for server, found in there.items()}
    for server, candidate in lb.targets.node_targets.candidates.items():
        if candidate in targets:
            asked[server] = [candidate]
    return there, asked


def _one_of_each_name(targets: Iterable[Target]) -> Iterable[Target]:
    """A server that is two targets goes with both, in one removal."""
    return {target.name: target for target in reversed(tuple(targets))}.values()


def _addition(
    lb: DesiredLoadBalancer, before: Target | None, after: Target, server: ServerKey, before_them: tuple[Change, ...]
) -> Change:
    """The change by which ``server`` gets traffic by ``after``, instead of ``before`` where that is given."""
    member = next((each for each in reversed(lb.targets.claiming(server)) if each.target == after), None)
    name = f"Node {member.node}" if member else server.name
    joins = (Key(ObjectKind.NODE, member.node),) if member and member.joins else ()
    return _target_change(
        lb,
        before,
        after,
        server,
        rows.TARGET_ADDED.text(node=name, address=_spoken_address(after)),
        depends_on=(*joins, *(c.key for c in before_them if _is_needed(c, after, lb.present))),
    )


def _target_change(
    lb: DesiredLoadBalancer,
    before: Target | None,
    after: Target | None,
    server: ServerKey | None,
    reason: str,
    *,
    consequences: tuple[str, ...] = (),
    depends_on: tuple[str, ...] = (),
) -> Change:
    """The change of a target that leads to ``server``, None where that is unknown."""
    named = after or before
    part = ("target", named.name if named else "")
    change = _change(
        lb, part, ChangeKind.LB_TARGET, before, after, reason, consequences=consequences, depends_on=depends_on
    )
    return replace(change, server=server)


def _spoken_address(target: Target) -> str:
    match target:
        case ServerTarget(use_private_ip=True):
            return "private address"
        case ServerTarget(ipv6=ipv6):
            return " ".join(filter(None, ("public address", ipv6)))
        case IpTarget(ip=ip):
            return f"address {ip}"
    raise TypeError(f"{target!r} is no target of a Node")


def _switches(
    lb: DesiredLoadBalancer,
    wanted: LoadBalancer,
    present: CloudBalancer,
    snapshot: Snapshot,
    before_them: tuple[Change, ...],
    planned: Sequence[Change],
) -> Iterator[Change]:
    """The changes of the targets that a default reaches otherwise. All of them make one difference."""
    kept = present.targets if isinstance(wanted.targets, Unmanaged) else wanted.targets
    keys, room = {change.key for change in planned}, present.type.max_targets - len(present.targets)
    for target, other in lb.switched.items():
        server = lb.targets.node_targets.led_to(target)
        if target not in kept or server is None:
            continue
        if other in present.targets:
            change = _removal(lb, target, server, snapshot, serves=True)
        else:
            is_beside = isinstance(other, IpTarget) and room > 0
            change, room = _addition(lb, None if is_beside else target, other, server, before_them), room - is_beside
        if change.key not in keys:
            yield replace(change, brings=way_differences(lb, private=is_private(other)))


def _moved(
    lb: DesiredLoadBalancer,
    wanted: LoadBalancer,
    present: CloudBalancer,
    snapshot: Snapshot,
    networks: Sequence[Change],
    targets: Sequence[Change],
) -> Iterator[Change]:
    """Targets that stay, and yet are lost with the attachment to a network: they are added again as soon as the load
    balancer has the next one, and not only in a later round, until when nothing would serve. What cannot be reached
    from there is removed, as a change of the plan.
    """
    place, leaves = wanted.attachment, any(change.before is not None for change in networks)
    brings = tuple({each: None for change in networks for each in change.brings})
    attached = tuple(change.key for change in networks if change.after is not None)
    planned = {change.key for change in targets}
    stay = [t for t in present.targets if is_private(t)] if leaves else []
    for target in stay:
        if lb.service.balancer_key.part("target", target.name) in planned:
            continue
        server = lb.targets.node_targets.led_to(target)
        if may_return(target, place, present, snapshot):
            why = rows.TARGET_RETURNS.text(target=spoken(target))
            change = _target_change(lb, None, target, server, why, depends_on=attached)
        else:
            why = rows.TARGET_LEFT_BEHIND.text(target=spoken(target))
            lost = () if _is_dead(target, snapshot) else (rows.TARGET_WITHOUT_TRAFFIC.text(target=spoken(target)),)
            change = _target_change(lb, target, None, server, why, consequences=lost)
        yield replace(change, brings=brings)


def may_return(
    target: Target, place: Attachment | Unmanaged | None, present: CloudBalancer, snapshot: Snapshot
) -> bool:
    """Whether the load balancer can reach ``target`` again from its next place in a network."""
    if not isinstance(place, Attachment) or _is_dead(target, snapshot):
        return False
    stays = any(there.network_id == place.network_id for there in present.attachments)
    match target:
        case ServerTarget(server_id=server_id):
            server = snapshot.servers.items.get(server_id)
            return server is None or any(network == place.network_id for network, _ in server.private_ips)
        case SelectorTarget():
            return True
        case IpTarget(ip=ip):
            network = snapshot.network.value if isinstance(snapshot.network, Present) else None
            address = ip_address(ip)
            return stays or (network is not None and any(address in subnet for subnet in network.subnets))


def _is_dead(target: Target, snapshot: Snapshot) -> bool:
    """Whether nothing is lost with the target: its server is gone."""
    return isinstance(target, ServerTarget) and isinstance(snapshot.servers.find(target.server_id), Absent)


def _is_needed(change: Change, target: Target, present: CloudBalancer | None) -> bool:
    """Whether a target can only be added after ``change``. A load balancer that gets another address or network still
    gets the targets that it reaches before that: while a person thinks about it, Nodes come and go."""
    if is_private(target):
        return change.kind == ChangeKind.LB_NETWORK and (present is None or not present.attachments)
    return change.kind == ChangeKind.LB_PUBLIC_INTERFACE and change.after is True


def _removal(lb: DesiredLoadBalancer, target: Target, server: ServerKey, snapshot: Snapshot, *, serves: bool) -> Change:
    """The removal of a target that leads to ``server``, which ``serves`` by another one."""
    removal = removal_reason(target, server, lb.targets.claiming(server), snapshot)
    loses = removal.server_lives and not serves
    lost = (rows.TARGET_WITHOUT_TRAFFIC.text(target=server.name),) if loses else ()
    return _target_change(lb, target, None, server, removal.why, consequences=lost)
