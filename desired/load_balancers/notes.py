"""Notes on a Service's load balancer: what a person should know though nothing is done about it."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from ipaddress import ip_address

from desired.annotations.options import OPTIONS, BadAnnotation, Options
from desired.annotations.port_keys import port_key
from desired.load_balancers.in_use import Kept
from desired.load_balancers.matching import (
    Adoptable,
    BalancerMatch,
    Contested,
    Foreign,
    Missing,
    Owned,
    Undecided,
)
from desired.load_balancers.membership import Membership, NodeTarget
from desired.load_balancers.ownership import (
    finalizers_of_others,
    labelled_by_another,
    leaves,
)
from desired.load_balancers.published import own_addresses
from desired.load_balancers.targets import DesiredTargets, note_on_no_targets
from desired.model.load_balancer import CloudBalancer, IpTarget, SelectorTarget, ServerTarget, Target
from desired.model.service import Service
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.model.workload import sign_of_another
from desired.names import LABEL_SERVICE_UID
from desired.plan.notes import Note, NoteKind
from desired.rules import load_balancers as rows
from desired.rules.rule import Plain
from desired.section import Unmanaged, grouped
from desired.syntax.address import parse_ip
from desired.syntax.provider_id import Provider, ServerKey
from desired.syntax.selector import parse_selector


def notes_on_match(service: Service, match: BalancerMatch) -> Iterator[Note]:
    match match:
        case Foreign(reason=why) | Contested(reason=why) | Undecided(why):
            yield why.note(service.key)
        case Owned(balancer, others, why_not_renamed):
            if others:
                told = ", ".join(str(each.id) for each in others)
                yield rows.OTHERS_LABELLED.note(service.key, balancer=balancer.id, others=told)
            if why_not_renamed is not None:
                yield why_not_renamed.note(service.key)
        case Adoptable() | Missing():
            return


def name_problems(options: Options, snapshot: Snapshot) -> Iterator[BadAnnotation]:
    """A name that is the id or an address of a load balancer, and the name of none: nothing is made beside that one."""
    wanted, there = options.name, tuple(snapshot.load_balancers or ())
    if isinstance(wanted, Unmanaged) or any(each.spec.name == wanted for each in there):
        return
    address = parse_ip(wanted)
    for each in there:
        what = "id" if wanted == str(each.id) else "address" if address in own_addresses(each) else ""
        if what:
            text = rows.NAME_IS_AN_ID.text(wanted=wanted, what=what, other=each.id, present=each.spec.name)
            yield BadAnnotation(OPTIONS["name"].full_key, text)


def notes_on_name(service: Service, options: Options, present: CloudBalancer, snapshot: Snapshot) -> Iterator[Note]:
    """A name belongs to one load balancer of the project: Hetzner refuses it for a second one."""
    if isinstance(options.name, Unmanaged) or options.name == present.spec.name:
        return
    for other in snapshot.load_balancers or ():
        if other.spec.name == options.name and other.id != present.id:
            yield rows.NAME_TAKEN.note(
                service.key, wanted=options.name, other=other.id, balancer=present.id, present=present.spec.name
            )


def notes_on_public_interface(
    service: Service, options: Options, present: CloudBalancer, wanted: Collection[Target] | Unmanaged
) -> Iterator[Note]:
    """The public interface cannot go while a target needs it: one that is not ours, or of a Node that is left alone.
    ``wanted`` are the targets that should be there, UNMANAGED when all stay as they are."""
    if options.disable_public_network is not True or present.spec.public_interface is False:
        return
    there = present.targets if isinstance(wanted, Unmanaged) else wanted
    for target in sorted(filter(_needs_public_interface, there), key=str)[:1]:
        row = rows.PUBLIC_INTERFACE_NEEDED_BY_OTHERS
        if isinstance(target, ServerTarget):
            row = rows.PUBLIC_INTERFACE_NEEDED_STILL if options.use_private_ip else rows.PUBLIC_INTERFACE_NEEDED
        yield row.note(service.key, target=target.name)


def notes_on_hidden_targets(
    service: Service, options: Options, present: CloudBalancer | None, *, public: bool | Unmanaged
) -> Iterator[Note]:
    """Without its public interface a load balancer reaches no target by a public address: the API refuses each. What it
    reaches by a private one stays. ``public`` is whether it will have one, UNMANAGED when nothing says."""
    if public is not False or options.use_private_ip:
        return
    reaches = present is not None and any(not _needs_public_interface(target) for target in present.targets)
    yield (rows.NO_OTHER_TARGET_REACHED if reaches else rows.NO_TARGET_REACHED).note(service.key)


def _needs_public_interface(target: Target) -> bool:
    if isinstance(target, IpTarget):
        return ip_address(target.ip).is_global
    return not target.use_private_ip


def notes_on_problems(service: Service, problems: Iterable[BadAnnotation], there: Collection[int]) -> Iterator[Note]:
    """What is wrong with annotations; of a port that the Service lacks, and that is among the ports ``there``, that the
    load balancer goes on with it."""
    known = {port.port for port in service.claim.tcp_ports}
    for problem in problems:
        port, text = problem.port, problem.text
        if port is not None and port in there and port not in known:
            text = rows.PORT_STAYS_OPEN.text(problem=text, port=port)
        yield Note(service.key, NoteKind.MALFORMED, text, port, option=problem.key)


def notes_on_place(service: Service, options: Options, present: CloudBalancer) -> Iterator[Note]:
    """A load balancer never moves: another place is another load balancer, with other addresses."""
    for wanted, there, field in (
        (options.location, present.spec.location, "location"),
        (options.network_zone, present.spec.zone, "network_zone"),
    ):
        if not isinstance(wanted, Unmanaged) and there is not None and wanted != there:
            row = OPTIONS[field]
            option = f"{row.full_key} (or {row.variable})"
            yield rows.STAYS_IN_PLACE.note(
                service.key, option=option, wanted=wanted, balancer=present.id, present=there
            )


def notes_on_kept(service: Service, values: Iterable[Kept]) -> Iterator[Note]:
    """One note on all that the load balancer keeps though nothing asks for it, with what a person can set."""
    found = [(each.field, each.value or '""', each.default or '""', each.ports) for each in values]
    said = ", ".join(
        f"{OPTIONS[field].key}={value}{_at(ports)} (default {default})" for field, value, default, ports in found
    )
    if len(found) > 1:
        row = rows.VALUES_KEPT_AT_PORTS if any(ports for _, _, _, ports in found) else rows.VALUES_KEPT
        yield row.note(service.key, values=said)
    elif found:
        ((field, value, default, ports),) = found
        # The Service's annotation would change its other ports as well.
        option = " and ".join(port_key(port, field) for port in ports) or OPTIONS[field].full_key
        yield rows.VALUE_KEPT.note(service.key, values=said, option=option, default=default, value=value)


def _at(ports: Sequence[int]) -> str:
    """The ports, when these are not all."""
    return f" at port{'s' if len(ports) > 1 else ''} {', '.join(map(str, ports))}" if ports else ""


def notes_on_targets(
    service: Service,
    options: Options,
    targets: DesiredTargets,
    present: CloudBalancer | None,
    snapshot: Snapshot,
) -> Iterator[Note]:
    """One note for each kind of trouble: Nodes that cannot be targets, none at all, and targets that are not ours."""
    kept = targets.candidates.existing(present.targets).kept_nodes if present else frozenset()
    for row, membership in (
        (rows.NODE_NO_TARGET, Membership.UNUSABLE),
        (rows.NODE_OVER_LIMIT, Membership.OVER_LIMIT),
        (rows.NODE_UNCERTAIN, Membership.UNCERTAIN),
    ):
        for why, members in targets.by_why(membership).items():
            stays = [member for member in members if member.node in kept] if kept else ()
            others = [member for member in members if member.node not in kept] if kept else members
            for found, said in ((stays, rows.NODE_TARGET_STAYS), (others, row)):
                if found:
                    yield said.note(service.key, nodes=_shown(found), cause=why)
    if stale := _by_lost_ipv4(targets, present):
        row = rows.LOST_IPV4 if 4 in service.claim.families else rows.UNREAD_IPV4
        yield row.note(service.key, nodes=_shown(stale))
    if not targets.targets:
        yield note_on_no_targets(targets.members, service, options)
    for target in targets.foreign:
        row, facts = rows.TARGET_OF_OTHERS, dict[str, Plain]()
        if isinstance(target, SelectorTarget) and present and (nodes := _led_to(target, targets, snapshot)):
            facts = {"nodes": nodes, "balancer": present.id, "selector": shlex.quote(target.selector)}
            row = rows.SELECTOR_OF_OTHERS
        yield row.note(service.key, target=target.name, **facts)


def _led_to(target: SelectorTarget, targets: DesiredTargets, snapshot: Snapshot) -> str:
    """The Nodes that a foreign label selector leads to twice, and those that it leads to although they are no targets;
    "" if it leads to neither."""
    try:
        selector = parse_selector(target.selector)
    except ValueError:  # Hetzner's grammar is its own
        return ""
    found = {ServerKey(Provider.CLOUD, each.id) for each in snapshot.servers if selector.matches(each.labels)}
    members = [member for member in targets.members if member.server in found]
    twice = [member for member in members if member.membership is Membership.TARGET]
    left_out = (Membership.EXCLUDED, Membership.OVER_LIMIT)
    excluded = grouped((member.reason.says, member) for member in members if member.membership in left_out)
    parts = [f"{_shown(twice)} a second time"] if twice else []
    parts += [f"{_shown(those)} although excluded ({why})" for why, those in excluded.items()]
    return ", and to ".join(parts)


def _by_lost_ipv4(targets: DesiredTargets, present: CloudBalancer | None) -> list[NodeTarget]:
    """The Nodes whose existing target has the public IPv4 address of a server that has none any more, or takes the
    Service's traffic by IPv6 alone."""
    found: list[NodeTarget] = []
    if present is None or not targets.candidates.is_any_by_ipv6:
        return found
    for target in present.targets:
        if isinstance(target, ServerTarget) and not (target.use_private_ip or target.ipv6):
            server = ServerKey(Provider.CLOUD, target.server_id)
            wanted = targets.candidates.usable.get(server)
            if isinstance(wanted, ServerTarget) and wanted.ipv6 and not wanted.use_private_ip:
                found += targets.of_server(server)
    return sorted(found, key=lambda member: member.node)


_SHOWN = 5
_OTHERS_TAKE = timedelta(minutes=5)
"""How long a deletion may take another process before it is told."""


def _shown(members: Sequence[NodeTarget]) -> str:
    """``Nodes a, b and 7 more``."""
    names = [member.node for member in members[:_SHOWN]]
    rest = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    return f"Node{'s' if len(members) > 1 else ''} {', '.join(names)}{rest}"


def notes_on_marks(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> Iterator[Note]:
    """Notes on what other controllers have to do, or do, with finalizers and labels of Services."""
    for service in snapshot.services or ():
        is_late = service.deleted_at is not None and snapshot.taken_at - service.deleted_at >= _OTHERS_TAKE
        if is_late and (others := finalizers_of_others(service, snapshot.serving)):
            yield rows.DELETION_OF_CLASS.note(service.key, finalizers=", ".join(others))
        match = matches.get(service.id)
        if isinstance(match, Owned) and (rival := labelled_by_another(service, match.balancer.owner, snapshot)):
            row = rows.LABELLED_BY_ANOTHER
            yield row.note(service.key, balancer=match.balancer.id, service=rival.id, label=LABEL_SERVICE_UID)


def notes_on_stuck_services(snapshot: Snapshot) -> Iterator[Note]:
    """A note with the remedy on each Service that waits in vain for its finalizer to be removed.

    Where hcloud-cloud-controller-manager runs, it waits for that one: during a migration in either direction.
    """
    if snapshot.unserved is None or any(map(sign_of_another, snapshot.controllers or ())):
        return
    for service in snapshot.unserved:
        if is_stuck(service, snapshot.serving):
            yield rows.DELETION_STUCK.note(service.key, finalizer=snapshot.serving.finalizer)


def is_stuck(service: Service, serving: Serving) -> bool:
    """Whether the Service is gone once the finalizer is removed that waits for its load balancer."""
    return service.deleted_at is not None and leaves(service, serving)
