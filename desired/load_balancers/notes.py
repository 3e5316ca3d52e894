"""Notes on a Service's load balancer: what a person should know though nothing is done about it.

| Function | Notes on |
|---|---|
| ``notes_on_name`` | a name that another load balancer has |
| ``notes_on_public_interface`` | a public interface that cannot be disabled |
| ``notes_on_hidden_targets`` | targets that need the public interface that is off |
| ``notes_on_place`` | a location or network zone that the load balancer is not in |
| ``notes_on_kept`` | values that nothing asks for any more |
| ``notes_on_targets`` | Nodes that cannot be targets, no targets, targets that are not ours |
| ``notes_on_stuck_services`` | Services whose finalizer nothing removes |
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from ipaddress import ip_address

from desired.annotations.options import OPTIONS, PREFIX, Options
from desired.load_balancers.in_use import Kept
from desired.load_balancers.membership import OF_SEVERAL, Membership, NodeTarget
from desired.load_balancers.no_targets import why_no_targets
from desired.load_balancers.ownership import Adoptable, BalancerMatch, Contested, Foreign, Missing, Owned, Undecided
from desired.load_balancers.targets import DesiredTargets
from desired.load_balancers.wanted import needs_cleanup
from desired.model.load_balancer import CloudBalancer, IpTarget, ServerTarget, Target
from desired.model.service import Service
from desired.model.snapshot import Snapshot, is_another_controller
from desired.names import FINALIZER_BALANCER
from desired.plan.notes import Note, NoteKind
from desired.section import Unmanaged
from desired.syntax.provider_id import Provider, ServerKey


def notes_on_match(service: Service, match: BalancerMatch) -> Iterator[Note]:
    match match:
        case Foreign(why=why, remedy=remedy):
            yield Note(service.key, NoteKind.FOREIGN, f"{why}; {remedy}" if remedy else why)
        case Contested(why=why):
            yield Note(service.key, NoteKind.AMBIGUOUS, why)
        case Undecided(why, is_ambiguous):
            yield Note(service.key, NoteKind.AMBIGUOUS if is_ambiguous else NoteKind.UNKNOWN, why)
        case Owned(why_not_renamed=str() as why):
            yield Note(service.key, NoteKind.AMBIGUOUS, why)
        case Owned() | Adoptable() | Missing():
            return


def notes_on_name(service: Service, options: Options, present: CloudBalancer, snapshot: Snapshot) -> Iterator[Note]:
    """A name belongs to one load balancer of the project: Hetzner refuses it for a second one."""
    if isinstance(options.name, Unmanaged) or options.name == present.spec.name:
        return
    for other in snapshot.load_balancers or ():
        if other.spec.name == options.name and other.id != present.id:
            row = OPTIONS["name"]
            text = (
                f"{row.full_key} is {options.name}: load balancer {other.id} has that name, so that"
                f" {present.id} stays {present.spec.name}; choose another name, or rename the other one"
            )
            yield Note(service.key, NoteKind.MALFORMED, text)


def notes_on_public_interface(
    service: Service, options: Options, present: CloudBalancer, wanted: Collection[Target] | Unmanaged
) -> Iterator[Note]:
    """The public interface cannot go while a target needs it: one that is not ours, or of a Node that is left alone.
    ``wanted`` are the targets that should be there, UNMANAGED when all stay as they are."""
    if options.disable_public_network is not True or present.spec.public_interface is False:
        return
    there = present.targets if isinstance(wanted, Unmanaged) else wanted
    for target in sorted(filter(_needs_public_interface, there), key=str)[:1]:
        row, private = OPTIONS["disable_public_network"], OPTIONS["use_private_ip"]
        is_ours = isinstance(target, ServerTarget)
        origin = "" if is_ours else ", which somebody added,"
        remedy = "remove that target" if not is_ours or options.use_private_ip else f"set {private.full_key} to true"
        text = (
            f"{row.full_key} (or {row.variable}) is true: the public interface stays while"
            f" {target.name}{origin} needs it; {remedy}"
        )
        yield Note(service.key, NoteKind.KEPT, text)


def notes_on_hidden_targets(
    service: Service, options: Options, present: CloudBalancer | None, *, public: bool | Unmanaged
) -> Iterator[Note]:
    """Without its public interface a load balancer reaches no target by a public address: the API refuses each. What it
    reaches by a private one stays. ``public`` is whether it will have one, UNMANAGED when nobody has said."""
    if public is not False or options.use_private_ip:
        return
    row, private = OPTIONS["disable_public_network"], OPTIONS["use_private_ip"]
    reaches = present is not None and any(not _needs_public_interface(target) for target in present.targets)
    text = (
        f"no {'other ' if reaches else ''}target can be reached: the load balancer has no public interface, and"
        f" {private.full_key} (or {private.variable}) is not true; set it, or {row.full_key} to false"
    )
    yield Note(service.key, NoteKind.NO_TARGETS if reaches else NoteKind.UNREACHABLE, text)


def _needs_public_interface(target: Target) -> bool:
    if isinstance(target, IpTarget):
        return ip_address(target.ip).is_global
    return not target.use_private_ip


def notes_on_place(service: Service, options: Options, present: CloudBalancer) -> Iterator[Note]:
    """A load balancer never moves: another place is another load balancer, with other addresses."""
    for wanted, there, field in (
        (options.location, present.spec.location, "location"),
        (options.network_zone, present.spec.zone, "network_zone"),
    ):
        if not isinstance(wanted, Unmanaged) and there is not None and wanted != there:
            row = OPTIONS[field]
            text = (
                f"{row.full_key} (or {row.variable}) is {wanted}, and load balancer {present.id} is in {there}: it"
                " stays there, as moving it would lose its addresses; delete the Service and create it anew to move it"
            )
            yield Note(service.key, NoteKind.KEPT, text)


def notes_on_kept(service: Service, values: Iterable[Kept]) -> Iterator[Note]:
    """One note on all that the load balancer keeps though nothing asks for it, with what a person can set."""
    found = [(OPTIONS[each.field], each) for each in values]
    if not found:
        return
    said = ", ".join(
        f"{row.key}={_quoted(each.value)}{_at(each.ports)} (default {_quoted(each.default)})" for row, each in found
    )
    (row, first), is_one = found[0], len(found) == 1
    remedy = (
        f"set {row.full_key} to {_quoted(first.default)}, or to {_quoted(first.value)} to keep it"
        if is_one
        else f"set each, as {PREFIX}NAME, to its default, or to its value to keep it"
    )
    text = f"the load balancer keeps {said}, which no annotation or variable asks for; {remedy}"
    yield Note(service.key, NoteKind.KEPT, text)


def _quoted(value: str) -> str:
    return value or '""'


def _at(ports: Sequence[int]) -> str:
    """The ports, when these are not all."""
    return f" at port{'s' if len(ports) > 1 else ''} {', '.join(map(str, ports))}" if ports else ""


def notes_on_targets(
    service: Service, options: Options, targets: DesiredTargets, present: CloudBalancer | None
) -> Iterator[Note]:
    """One note for each kind of trouble: Nodes that cannot be targets, none at all, and targets that are not ours."""
    there = {targets.node_targets.led_to(target) for target in present.targets} if present else set()
    for kind, membership, word in (
        (NoteKind.UNUSABLE_TARGET, Membership.UNUSABLE, "no target"),
        (NoteKind.LIMIT, Membership.OVER_LIMIT, "no target"),
        (NoteKind.KEPT, Membership.UNCERTAIN, "unchanged"),
    ):
        for why, members in targets.by_why(membership).items():
            told = why if len(members) == 1 else OF_SEVERAL.get(why, why)
            stays = [member for member in members if member.keeps_its_target and member.server in there]
            others = [member for member in members if member not in stays]
            for found, what in ((stays, "unchanged"), (others, word)):
                if found:
                    yield Note(service.key, kind, f"{_shown(found)} {what}: {told}")
    if stale := _by_lost_ipv4(targets, present):
        lost = "that its server has lost"
        if 4 not in service.claim.families:
            lost = "and the Service takes IPv6 alone (spec.ipFamilies)"
        text = f"{_shown(stale)} out of reach: the target has a public IPv4 address {lost}"
        remedy = "remove it in Hetzner's console, and it comes back by IPv6"
        yield Note(service.key, NoteKind.UNUSABLE_TARGET, f"{text}; {remedy}")
    if not targets.targets:
        text = why_no_targets(targets.members, service, options)
        yield Note(service.key, NoteKind.NO_TARGETS, text)
    for target in targets.foreign if present else ():
        yield Note(service.key, NoteKind.FOREIGN, f"{target.name} is left as it is")


def _by_lost_ipv4(targets: DesiredTargets, present: CloudBalancer | None) -> list[NodeTarget]:
    """The Nodes whose existing target has the public IPv4 address of a server that has none any more, or takes the
    Service's traffic by IPv6 alone."""
    lost = targets.node_targets.by_ipv6
    there = [target for target in present.targets if isinstance(target, ServerTarget)] if present and lost else []
    ids = {found.server_id for found in there if not (found.use_private_ip or found.ipv6) and found.server_id in lost}
    keys = [ServerKey(Provider.CLOUD, server_id) for server_id in ids]
    return sorted((member for key in keys for member in targets.claiming(key)), key=lambda member: member.node)


_SHOWN = 5


def _shown(members: Sequence[NodeTarget]) -> str:
    """``Nodes a, b and 7 more are``."""
    names = [member.node for member in members[:_SHOWN]]
    if len(members) == 1:
        return f"Node {names[0]} is"
    rest = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    return f"Nodes {', '.join(names)}{rest} are"


def notes_on_stuck_services(snapshot: Snapshot) -> Iterator[Note]:
    """A note with the remedy on each Service that waits in vain for its finalizer to be removed.

    Where hcloud-cloud-controller-manager runs, it waits for that one: during a migration in either direction.
    """
    if snapshot.unserved is None or any(map(is_another_controller, snapshot.controllers or ())):
        return
    for service in snapshot.unserved:
        if is_stuck(service):
            yield Note(service.key, NoteKind.STUCK, _remedy(service))


def is_stuck(service: Service) -> bool:
    """Whether the Service is gone once the finalizer is removed that waits for its load balancer."""
    return service.deleted_at is not None and needs_cleanup(service)


def _remedy(service: Service) -> str:
    """The controller that has to release it; and what to do, and what leaks, when there is none."""
    place = f"/metadata/finalizers/{service.finalizers.index(FINALIZER_BALANCER)}"
    patch = f'[{{"op":"test","path":"{place}","value":"{FINALIZER_BALANCER}"}},{{"op":"remove","path":"{place}"}}]'
    return (
        f"it is being deleted, and its finalizer {FINALIZER_BALANCER} waits for somebody to delete its load balancer,"
        " while load balancers are switched off here: switch them on until it is gone (HCLOUD_LOAD_BALANCERS_ENABLED,"
        " --controllers), or let hcloud-cloud-controller-manager do it (k3s' servicelb takes off what it"
        " set); as the last resort take the finalizer off, and then delete the load balancer in Hetzner's console, as"
        " nobody else will, and it costs money:"
        f" kubectl patch service {service.name} -n {service.namespace} --type=json -p '{patch}'"
    )
