"""Changes of the parts of an existing load balancer. Nothing is planned for parts that are equal."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address

from desired.annotations.choices import Protocol
from desired.load_balancers.by_default import differences, listener_differences
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.matching import Owned
from desired.load_balancers.ordering import with_needs
from desired.load_balancers.size import takes_less
from desired.load_balancers.targets import removal_reason
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    CloudBalancer,
    Identity,
    IpTarget,
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
from desired.plan.kinds import ChangeKind
from desired.rules import load_balancer_changes as rows
from desired.rules.rule import Rule
from desired.section import UNMANAGED, Absent, Present, Unknown, Unmanaged
from desired.syntax.provider_id import ServerKey


@dataclass(frozen=True, slots=True)
class _Row:
    """One value of a load balancer as a whole, and the change that writes it."""

    field: str
    part: tuple[str, ...]
    kind: ChangeKind
    why: Rule
    of_address: str = ""
    """The public address without which it does not exist; "" for none."""


_VALUES = (
    _Row("algorithm", ("algorithm",), ChangeKind.LB_ALGORITHM, rows.ALGORITHM_CHANGED),
    _Row("ipv4_rdns", ("rdns", "ipv4"), ChangeKind.LB_RDNS, rows.REVERSE_NAME_CHANGED, "ipv4"),
    _Row("ipv6_rdns", ("rdns", "ipv6"), ChangeKind.LB_RDNS, rows.REVERSE_NAME_CHANGED, "ipv6"),
    _Row("type", ("type",), ChangeKind.LB_TYPE, rows.TYPE_CHANGED),
)


def changed_parts(
    lb: DesiredLoadBalancer, wanted: LoadBalancer, present: CloudBalancer, snapshot: Snapshot, issue: tuple[str, ...]
) -> Iterator[Change]:
    """A change for every part that differs, in any order, with those that it needs; ``issue`` are keys of certificates
    that are still to come."""
    parts = _Parts(lb, wanted, present, snapshot)
    networks, targets = [*parts.networks()], [*parts.targets()]
    targets += [*parts.switches({change.key for change in targets})]
    targets += [*parts.moved(networks, {change.key for change in targets})]
    yield from with_needs(
        [*parts.whole(), *parts.listeners(issue), *targets, *networks], present, lb.size.type or present.type
    )


def reverse_names_to_come(lb: DesiredLoadBalancer, wanted: LoadBalancer) -> Iterator[Change]:
    """The reverse names of a load balancer that is still to be created. Which ones Hetzner gives it is not known."""
    for row in _VALUES:
        pointer = getattr(wanted, row.field)
        if row.kind is ChangeKind.LB_RDNS and isinstance(pointer, str):
            yield part_change(lb, row.part, row.kind, KNOWN_AFTER_APPLY, pointer, row.why.text())


def part_change(
    lb: DesiredLoadBalancer,
    part: tuple[object, ...],
    kind: ChangeKind,
    before: State | None,
    after: State | None,
    why: str,
    lost: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
) -> Change:
    """The change of one part of the load balancer. ``lost`` are its consequences."""
    key, service = lb.service.balancer_key.part(*part), lb.service.key
    change = Change.of(key, kind, before, after, why, service, consequences=lost, depends_on=needs)
    return replace(change, cloud_id=lb.present.id if lb.present else None)


def _certificates_lost(before: Listener | None, after: Listener) -> tuple[str, ...]:
    """The consequence for a port that keeps its listener and loses certificates; empty if it loses none, or if those
    that it will have are not known."""
    is_known = after.protocol is not Protocol.HTTPS or bool(after.certificate_ids)
    had = before.certificate_ids if before is not None and is_known else ()
    lost = [str(each) for each in had if each not in after.certificate_ids]
    if not lost:
        return ()
    return (rows.CERTIFICATE_TAKEN_OFF.text(port=after.port, certificates=", ".join(lost)),)


@dataclass(frozen=True)
class _Parts:
    """A load balancer that is there, beside the wanted one."""

    lb: DesiredLoadBalancer
    wanted: LoadBalancer
    present: CloudBalancer
    snapshot: Snapshot

    def whole(self) -> Iterator[Change]:
        """Name with labels, the public interface, and the values of the table."""
        lb, spec, wanted, present = self.lb, self.present.spec, self.wanted, self.present
        is_lost = LABEL_CLASS in wanted.labels and LABEL_CLASS not in spec.labels and isinstance(lb.match, Owned)
        if wanted.name != spec.name or is_lost:
            named, renamed = Identity(spec.name, spec.labels), Identity(wanted.name, wanted.labels)
            row = rows.CLASS_RESTORED if is_lost else rows.RENAMED
            yield part_change(lb, ("identity",), ChangeKind.LB_IDENTITY, named, renamed, row.text())
        for value in _VALUES:
            before, after = getattr(spec, value.field), getattr(wanted, value.field)
            is_there = not value.of_address or getattr(present, value.of_address) is not None
            if is_there and UNMANAGED not in (before, after) and (before or None) != (after or None):
                change = part_change(lb, value.part, value.kind, before or None, after, value.why.text())
                is_smaller = value.field == "type" and takes_less(lb.size.type or present.type, present.type)
                yield replace(change, brings=differences(lb, "type", before, after)) if is_smaller else change
        public, there = wanted.public_interface, spec.public_interface
        # Closing is refused without a network, and which one that is cannot be told if none is wanted.
        may_change = public is True or present.attachments or isinstance(wanted.attachment, Attachment)
        if may_change and not isinstance(public, Unmanaged) and not isinstance(there, Unmanaged) and public != there:
            row, lost = (rows.PUBLIC_ON, ()) if public else (rows.PUBLIC_OFF, (rows.UNREACHABLE_OUTSIDE.text(),))
            change = part_change(lb, ("public",), ChangeKind.LB_PUBLIC_INTERFACE, there, public, row.text(), lost)
            yield replace(change, brings=differences(lb, "disable_public_network", not there, not public))

    def networks(self) -> Iterator[Change]:
        """The place in a network; a load balancer is in one at a time."""
        place, here = self.wanted.attachment, {there.network_id: there for there in self.present.attachments}
        if not isinstance(place, Attachment):
            return
        steps: list[tuple[Attachment | None, Attachment | None, str]] = []
        brings: tuple[Difference, ...] = ()
        if (stays := here.get(place.network_id)) is None:
            steps = [(there, None, rows.NETWORK_REPLACED.text()) for there in here.values()]
            steps += [(None, place, rows.NETWORK_ADDED.text())]
            service, next_one = self.lb.service.key, str(place.network_id)
            brings = tuple(Difference(service, "network", str(left), next_one, "HCLOUD_NETWORK") for left in here)
        elif place.ip not in (UNMANAGED, stays.ip):
            steps = [(stays, place, rows.PRIVATE_ADDRESS_CHANGED.text(address=str(place.ip)))]
        stops = any(map(is_private, self.present.targets))
        loses = rows.PRIVATE_TRAFFIC_STOPS if stops else rows.PRIVATE_ADDRESS_LOST
        for before, after, why in steps:
            part = ("network", (before or after or place).network_id)
            lost = () if before is None else (loses.text(address=str(before.ip)),)
            change = part_change(self.lb, part, ChangeKind.LB_NETWORK, before, after, why, lost)
            yield replace(change, brings=brings)

    def listeners(self, issue: tuple[str, ...]) -> Iterator[Change]:
        """The listeners by port. What a default alone brings to one is a change of its own."""
        there, wanted = self.present.spec.listeners, self.wanted.listeners
        for port in sorted(wanted.keys() | there.keys()):
            before, after = there.get(port), wanted.get(port)
            if before == after:
                continue
            asked, brings = listener_differences(self.lb, before, after) if before and after else (after, ())
            needs = issue if after and after.waits_for_certificate else ()
            for old, new, is_rest in ((before, asked, False), (asked, after, True)):
                if old == new:
                    continue
                row = rows.PORT_ADDED if old is None else rows.PORT_REMOVED if new is None else rows.PORT_CHANGED
                lost = (rows.PORT_CLOSED.text(port=port),) if new is None else _certificates_lost(old, new)
                part = ("listener", port, *(["default"] if is_rest else []))
                change = part_change(self.lb, part, ChangeKind.LB_LISTENER, old, new, row.text(port=port), lost, needs)
                yield replace(change, brings=brings if is_rest else ())
                needs = (change.key,)

    def targets(self) -> Iterator[Change]:
        """The targets, server by server."""
        lb, present, wanted, snapshot = self.lb, self.present, self.wanted.targets, self.snapshot
        if isinstance(wanted, Unmanaged) or wanted == frozenset(present.targets):
            return
        there, asked = self._by_server(wanted)
        room = max(present.type.max_targets, lb.size.type.max_targets if lb.size.type else 0) - len(present.targets)
        room -= len(asked.keys() - there.keys())
        for server in sorted(there.keys() | asked.keys()):
            has, gets = there.get(server, []), asked.get(server, [])
            if set(has) == set(gets) or (has and wanted.issuperset(has)):
                continue
            if not gets:
                # A server that is two targets goes with both, in one removal.
                by_name = {target.name: target for target in reversed(has)}
                yield from (self._removal(target, server) for target in by_name.values())
                continue
            (after,) = gets
            old = [target for target in has if target != after and isinstance(target, IpTarget)]
            if not old or not isinstance(after, IpTarget):
                yield self._addition(next((target for target in has if target != after), None), after, server)
            elif snapshot.robot is None or not isinstance(snapshot.find(server), Unknown):
                # Two addresses of a dedicated server may be targets at a time: the new one comes before the old goes.
                if after in has:
                    yield from (self._removal(target, server, serves=True) for target in old)
                else:
                    yield self._addition(old[0] if room < 1 else None, after, server)
                    room -= 1

    def _by_server(
        self, wanted: Collection[Target]
    ) -> tuple[Mapping[ServerKey, list[Target]], Mapping[ServerKey, list[Target]]]:
        """Server → the targets that lead to it, and those of them, or the one, that are ``wanted``."""
        there: dict[ServerKey, list[Target]] = {}
        for target in self.present.targets:
            if server := self._led_to(target):
                there.setdefault(server, []).append(target)
        asked = {server: [target for target in found if target in wanted] for server, found in there.items()}
        usable = self.lb.targets.candidates.usable
        return there, asked | {server: [target] for server, target in usable.items() if target in wanted}

    def _led_to(self, target: Target) -> ServerKey | None:
        return self.lb.targets.candidates.server_of(target)

    def switches(self, planned: Collection[str]) -> Iterator[Change]:
        """The changes of the targets that a default reaches otherwise. All of them make one difference."""
        lb, present, kept = self.lb, self.present, self.wanted.targets
        room = present.type.max_targets - len(present.targets)
        for target, other in lb.switched.items():
            server = self._led_to(target)
            if server is None or not (isinstance(kept, Unmanaged) or target in kept):
                continue
            if other in present.targets:
                change = self._removal(target, server, serves=True)
            else:
                is_beside = isinstance(other, IpTarget) and room > 0
                change, room = self._addition(None if is_beside else target, other, server), room - is_beside
            if change.key not in planned:
                yield replace(change, brings=differences(lb, "use_private_ip", is_private(target), is_private(other)))

    def moved(self, networks: Sequence[Change], planned: Collection[str]) -> Iterator[Change]:
        """Targets that stay, and yet are lost with the attachment to a network. They are added again right after the
        next attachment: until a later pass none would serve. Targets that cannot be reached from there are removed, as
        a change of the plan."""
        place, leaves = self.wanted.attachment, any(change.before is not None for change in networks)
        brings = tuple({each: None for change in networks for each in change.brings})
        for target in self.present.targets if leaves else ():
            if not is_private(target) or self.lb.service.balancer_key.part("target", target.name) in planned:
                continue
            server, facts = self._led_to(target), {"target": spoken(target)}
            if may_return(target, place, self.present, self.snapshot):
                change = self._target(None, target, server, rows.TARGET_RETURNS.text(**facts))
            else:
                lost = () if _is_dead(target, self.snapshot) else (rows.TARGET_WITHOUT_TRAFFIC.text(**facts),)
                change = self._target(target, None, server, rows.TARGET_LEFT_BEHIND.text(**facts), lost)
            yield replace(change, brings=brings)

    def _addition(self, before: Target | None, after: Target, server: ServerKey) -> Change:
        """The change by which ``server`` gets traffic by ``after``, instead of ``before`` where that is given."""
        member = next((each for each in reversed(self.lb.targets.of_server(server)) if each.target == after), None)
        name = f"Node {member.node}" if member else server.name
        joins = (Key(ObjectKind.NODE, member.node),) if member and member.joins else ()
        why = rows.TARGET_ADDED.text(node=name, address=_spoken_address(after))
        return self._target(before, after, server, why, needs=joins)

    def _removal(self, target: Target, server: ServerKey, *, serves: bool = False) -> Change:
        """The removal of a target that leads to ``server``, which ``serves`` by another one."""
        why, is_gone = removal_reason(target, server, self.lb.targets.of_server(server), self.snapshot)
        lost = () if is_gone or serves else (rows.TARGET_WITHOUT_TRAFFIC.text(target=server.name),)
        return self._target(target, None, server, why, lost)

    def _target(
        self,
        before: Target | None,
        after: Target | None,
        server: ServerKey | None,
        why: str,
        lost: tuple[str, ...] = (),
        needs: tuple[str, ...] = (),
    ) -> Change:
        """The change of a target that leads to ``server``, None where that is unknown."""
        named = after or before
        part = ("target", named.name if named else "")
        change = part_change(self.lb, part, ChangeKind.LB_TARGET, before, after, why, lost, needs)
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
    """Whether the server of the target is gone, so that its removal takes no traffic."""
    return isinstance(target, ServerTarget) and isinstance(snapshot.servers.find(target.server_id), Absent)
