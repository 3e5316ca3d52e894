"""Changes that give a Service its load balancer, and publish its addresses. Its end is in ``lifecycle``.

The status publishes the addresses and modes that the load balancer has, not the requested ones. While it exists the
status is emptied only if the load balancer can be reached by no client, and is to stay so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from desired.annotations.choices import Protocol
from desired.annotations.options import ON_STATUS
from desired.load_balancers.by_default import status_differences
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Owned
from desired.load_balancers.ordering import in_sequence
from desired.load_balancers.ownership import owner_here
from desired.load_balancers.parts import changed_parts, reverse_names_to_come
from desired.load_balancers.published import desired_ingress, lost_addresses, same_ingress
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    CloudBalancer,
    KnownAfterApply,
    LoadBalancer,
)
from desired.model.service import Ingress
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.foresight import balancer_after, balancer_after_all
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.ordering import in_order
from desired.rules import load_balancer_changes as rows
from desired.section import UNMANAGED, Unmanaged


def load_balancer_changes(lb: DesiredLoadBalancer, snapshot: Snapshot) -> tuple[Change, ...]:
    """The changes that give a Service its load balancer, each after those that it needs."""
    wanted, present = lb.wanted, lb.present
    if wanted is None:
        return ()
    claims = _claim(lb, snapshot.serving.finalizer)
    prepared = tuple(change.key for change in claims)
    issue = _certificate(lb, wanted, prepared)
    if present is None:
        create = _create(lb, wanted, snapshot, prepared)
        # A certificate is asked for only where there is a load balancer for it: the CA counts.
        issue = tuple(replace(change, depends_on=(*change.depends_on, create.key)) for change in issue)
        rest = _parts_to_come(lb, wanted, create, snapshot, tuple(change.key for change in issue))
        return (*claims, *issue, create, *rest, *_status_to_come(lb, wanted, create))
    adopt = [] if isinstance(lb.match, Owned) else [_adopt(lb, present, snapshot, prepared)]
    adopted = tuple(change.key for change in adopt)
    if isinstance(lb.match, Foreign | Contested):
        return (*claims, *adopt)
    parts = [
        replace(change, depends_on=(*adopted, *change.depends_on))
        for change in changed_parts(lb, wanted, present, snapshot, tuple(change.key for change in issue))
    ]
    lost = tuple(rows.LOST_BY_ADOPTION.text(part=" ".join(c.key.parts)) for c in parts if c.verb is Verb.REMOVE)
    adopt = [replace(change, consequences=lost) for change in adopt]
    status = status_changes(lb, present, adopted, parts, in_next_pass=bool(claims))
    return (*claims, *issue, *in_sequence([*adopt, *parts], present, lb.size.type or present.type), *status)


def _claim(lb: DesiredLoadBalancer, finalizer: str) -> tuple[Change, ...]:
    service = lb.service
    if finalizer in service.finalizers:
        return ()
    lost = (rows.FINALIZER_LOST.text(),) if isinstance(lb.match, Owned) else ()
    key, why = service.key.part("finalizer"), rows.CLAIMED.text()
    return (Change.of(key, ChangeKind.SERVICE_CLAIM, False, True, why, service.key, consequences=lost),)


def _certificate(lb: DesiredLoadBalancer, wanted: LoadBalancer, prepared: tuple[str, ...]) -> tuple[Change, ...]:
    service, certificate = lb.service, lb.certificates.create
    used = any(listener.protocol is Protocol.HTTPS for listener in wanted.listeners.values())
    is_certain = all(problem.port is not None for problem in lb.problems)  # one by mistake counts at the CA
    if certificate is None or not is_certain or not used:
        return ()
    why = rows.CERTIFICATE_CREATED.text(domains=", ".join(certificate.domains))
    key, kind = service.certificate_key, ChangeKind.CERTIFICATE_CREATE
    return (Change.of(key, kind, None, certificate, why, service.key, depends_on=prepared),)


def _create(lb: DesiredLoadBalancer, wanted: LoadBalancer, snapshot: Snapshot, prepared: tuple[str, ...]) -> Change:
    """The creation of the load balancer, with all values that are known by now. The request has no field for a private
    address or a subnet: a load balancer with one is attached, and gets its targets in the network, afterwards."""
    service = lb.service
    listeners = {port: listener for port, listener in wanted.listeners.items() if not listener.waits_for_certificate}
    place = wanted.attachment
    chosen = isinstance(place, Attachment) and not (place.ip is UNMANAGED and place.ip_range is UNMANAGED)
    later = chosen and lb.options.use_private_ip
    after = replace(
        wanted,
        listeners=listeners,
        attachment=UNMANAGED if chosen else place,
        targets=frozenset() if later else wanted.targets,
        ipv4_rdns=UNMANAGED,
        ipv6_rdns=UNMANAGED,
    )
    lost = lost_addresses(service, lb.options.hostname, lb.primary_ips.by_field.values(), snapshot)
    key, kind, why = service.balancer_key, ChangeKind.LB_CREATE, rows.CREATED.text(service=service.id)
    return Change.of(key, kind, None, after, why, service.key, consequences=lost, depends_on=prepared)


def _parts_to_come(
    lb: DesiredLoadBalancer, wanted: LoadBalancer, create: Change, snapshot: Snapshot, issue: tuple[str, ...]
) -> Iterator[Change]:
    """The parts of ``wanted`` that the new load balancer will lack: a chosen private address with the targets behind
    it, the listeners that wait for their certificate, and reverse names. Shown with the creation, and carried out once
    there is an id.
    """
    made = balancer_after_all(None, (create,), snapshot)
    if made is None:
        return
    for change in (*changed_parts(lb, wanted, made, snapshot, issue), *reverse_names_to_come(lb, wanted)):
        yield replace(change, depends_on=(create.key, *change.depends_on))


def _adopt(lb: DesiredLoadBalancer, present: CloudBalancer, snapshot: Snapshot, prepared: tuple[str, ...]) -> Change:
    service = lb.service
    match = lb.match if isinstance(lb.match, Adoptable) else Adoptable(present)  # refused by its owner otherwise
    before = replace(present.owner, balancer_id=present.id)
    adopted = None if match.is_made_for_it else before.adopted or "true"
    after = replace(owner_here(service, snapshot), balancer_id=present.id, adopted=adopted)
    kept = "" if match.is_made_for_it else "; not created for the Service, kept after it"
    if match.by == "label":
        why = rows.GIVEN_BACK.text(balancer=present.id, service=service.id)
    elif match.by == "address":
        why = rows.ADOPTED_AS_PUBLISHED.text(balancer=present.id, kept=kept)
    else:
        why = rows.ADOPTED_BY_NAME.text(balancer=present.id, name=present.spec.name, kept=kept)
    key, kind = service.balancer_key, ChangeKind.LB_ADOPT
    return replace(Change.of(key, kind, before, after, why, service.key, depends_on=prepared), cloud_id=present.id)


def _status_to_come(lb: DesiredLoadBalancer, wanted: LoadBalancer, create: Change) -> Iterator[Change]:
    hostname = lb.options.hostname
    has_addresses = wanted.public_interface is not False or not lb.options.disable_private_ingress
    if not isinstance(hostname, Unmanaged):
        yield _published(lb, KNOWN_AFTER_APPLY, rows.PUBLISHED_NEW_HOSTNAME.text(hostname=hostname), (create.key,))
    elif has_addresses or lb.service.ingress:
        yield _published(lb, KNOWN_AFTER_APPLY, rows.PUBLISHED_NEW.text(), (create.key,))


def status_changes(
    lb: DesiredLoadBalancer,
    present: CloudBalancer,
    needed: tuple[str, ...],
    parts: Sequence[Change],
    *,
    in_next_pass: bool = False,
) -> Iterator[Change]:
    """The status of the Service, if it has to change: known after the changes of these ``parts`` if it follows from
    them, so that it is written once; else as the load balancer is. Parts that failed are not waited for while it is
    wrong. A change of its own has the part of a default alone."""
    if lb.unclear.intersection(ON_STATUS):  # the published entries stay
        return
    due = _due_ingress(lb, present, lb.service.ingress)
    published = lb.service.ingress if isinstance(due, Unmanaged) else due
    is_right = in_next_pass or isinstance(due, Unmanaged)
    tried = parts if is_right else [part for part in parts if part.key not in lb.failed]
    if publishes_otherwise(lb, present, tried, published):
        later = _published(lb, KNOWN_AFTER_APPLY, rows.PUBLISHED_AFTERWARDS.text(balancer=present.id), needed)
        yield replace(later, follows=tuple(change.key for change in parts if change.kind in _PUBLISHED))
    elif not isinstance(due, Unmanaged):
        yield (change := _published_as_is(lb, present, due, needed))
        needed = (*needed, change.key)
    wanted = desired_ingress(lb.requested, present)
    _, brings = status_differences(lb, published, present)
    if brings and not isinstance(wanted, Unmanaged) and not same_ingress(published, wanted):
        rest = _published_as_is(lb, present, wanted, needed)
        yield replace(rest, key=rest.key.part("default"), before=published, brings=brings)


def _published_as_is(
    lb: DesiredLoadBalancer, present: CloudBalancer, after: tuple[Ingress, ...], needed: tuple[str, ...]
) -> Change:
    row, lost = (rows.PUBLISHED_AS_IS, ()) if after else (rows.UNPUBLISHED, (rows.PUBLISHED_NOWHERE.text(),))
    return replace(_published(lb, after, row.text(balancer=present.id), needed), consequences=lost)


def _published(
    lb: DesiredLoadBalancer, after: tuple[Ingress, ...] | KnownAfterApply, reason: str, needed: tuple[str, ...]
) -> Change:
    service, kind = lb.service, ChangeKind.SERVICE_STATUS
    change = Change.of(service.key.part("status"), kind, service.ingress, after, reason, service.key, depends_on=needed)
    return replace(change, cloud_id=lb.present.id if lb.present else None)


def _due_ingress(
    lb: DesiredLoadBalancer, balancer: CloudBalancer, published: tuple[Ingress, ...]
) -> tuple[Ingress, ...] | Unmanaged:
    """The entries to publish for a load balancer in this state; UNMANAGED if the ``published`` ones may stay."""
    asked, _ = status_differences(lb, lb.service.ingress, balancer)
    wanted = desired_ingress(asked, balancer)
    returns = lb.wanted is not None and lb.wanted.public_interface is True
    if isinstance(wanted, Unmanaged) or same_ingress(published, wanted) or (not wanted and returns):
        return UNMANAGED
    return wanted


_PUBLISHED = frozenset({ChangeKind.LB_NETWORK, ChangeKind.LB_PUBLIC_INTERFACE, ChangeKind.LB_LISTENER})
"""Kinds of changes after which a load balancer has other addresses, or another mode."""


def publishes_otherwise(
    lb: DesiredLoadBalancer, present: CloudBalancer, parts: Iterable[Change], published: tuple[Ingress, ...]
) -> bool:
    """Whether a Service with these ``published`` entries needs others after these changes of its load balancer."""
    changed = reduce(balancer_after, in_order(tuple(parts)), present)
    is_given = any(isinstance(place.ip, Unmanaged) for place in changed.attachments)
    shows_private = isinstance(lb.options.hostname, Unmanaged) and not lb.options.disable_private_ingress
    return (is_given and shows_private) or not isinstance(_due_ingress(lb, changed, published), Unmanaged)
