"""Attachment of a load balancer to a private network."""

import logging
from collections.abc import Iterable
from dataclasses import replace

from actuators.http.errors import ApiError, Conflict, Invalid, NotFound
from actuators.load_balancers.lookup import Look, balancer_of, look_for, name_of, path_of
from actuators.load_balancers.targets import put_back, remove_target
from actuators.outcome import unexpected_change
from actuators.wire.load_balancer import attachment_body
from actuators.writers import Writers, put_back_by
from desired.model.load_balancer import Attachment, CloudBalancer, Target, is_private, spoken
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.section import UNMANAGED

_log = logging.getLogger("hcloud-reconciler.actuators")


def write_attachment(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Attach the load balancer to a network, detach it, or give it another address there. Raises an ApiError.

    For another address it is detached and attached again. Targets that are reached through the network are removed
    before it is detached, whichever client added them: Hetzner would refuse, or drop them. The changes that follow add
    again what is to stay. When the detachment is refused, what was removed for it is added again at once; when the new
    address is refused, the load balancer gets its old address back, and so do its targets. Before anything is sent once
    more, or put back, the owner of the load balancer is checked.
    """
    look = look_for(writers.reader, change, snapshot)
    match change.before, change.after:
        case None, Attachment() as after:
            _attach(writers, balancer_of(change, snapshot), after, look)
        case Attachment() as before, None:
            _leave(writers, _as_it_is(balancer_of(change, snapshot), look()), before, snapshot, look)
        case Attachment() as before, Attachment() as after if before.network_id == after.network_id:
            _move(writers, _as_it_is(balancer_of(change, snapshot), look()), before, after, snapshot, look)
        case _:
            raise unexpected_change(change)


def _move(
    writers: Writers, balancer: CloudBalancer, before: Attachment, after: Attachment, snapshot: Snapshot, look: Look
) -> None:
    _leave(writers, balancer, before, snapshot, look)
    with put_back_by(lambda: _come_back(writers, balancer, before, look)):
        # Reads have shown it attached for a while after that.
        writers.actions.wait_until(lambda: _has_left(look(), before), _departure(balancer, before))
        _attach(writers, balancer, after, look)


def _come_back(writers: Writers, balancer: CloudBalancer, place: Attachment, look: Look) -> None:
    try:
        look()
        _attach(writers, balancer, place, look)
    except ApiError as error:
        _log.warning("%s is not in network %s for now: %s", name_of(balancer), place.network_id, error)
        return
    _put_all_back(writers, balancer, look)


def _put_all_back(writers: Writers, balancer: CloudBalancer, look: Look) -> None:
    for target in _reached(balancer):
        put_back(writers, balancer, target, look)


def _attach(writers: Writers, balancer: CloudBalancer, place: Attachment, look: Look) -> None:
    """Attach; done when it is in that network with that address already, a Conflict when it is in another network
    (Hetzner allows one).

    ``look`` reads the load balancer before it is tried once more.
    """

    def happened() -> bool:
        return _is_in(look(), place)

    try:
        what = f"attachment of {name_of(balancer)} to network {place.network_id}"
        writers.act_once(path_of(balancer, "attach_to_network"), attachment_body(place), what, happened)
    except Invalid as error:
        if error.code != "load_balancer_already_attached":
            raise
        now = look()
        if not now.attachments:
            raise Conflict(f"{name_of(balancer)}: Hetzner says it is attached, and it is not seen yet") from error
        if not _is_in(now, place):
            raise Conflict(f"{name_of(balancer)} is now in another network, or has another address there") from error


def _leave(writers: Writers, balancer: CloudBalancer, place: Attachment, snapshot: Snapshot, look: Look) -> None:
    """Remove what is reached through the network, and detach; done when it is detached already."""

    def happened() -> bool:
        return _has_left(look(), place)

    with put_back_by(lambda: _put_all_back(writers, balancer, look)):
        for target in _reached(balancer):
            remove_target(writers, balancer, target, snapshot)
        try:
            body = {"network": place.network_id}
            writers.act(path_of(balancer, "detach_from_network"), body, _departure(balancer, place), happened)
        except NotFound:
            if not happened():
                raise


def _as_it_is(balancer: CloudBalancer, now: CloudBalancer) -> CloudBalancer:
    """The load balancer with its present targets: changes before this one may have given some of them another address.
    Raises Conflict when another client has added a target meanwhile that would be lost without approval."""
    news = next((target for target in _private(now.targets) if target not in balancer.targets), None)
    if news is not None:
        raise Conflict(f"{name_of(balancer)} now has {spoken(news)} as a target, which would be lost")
    return replace(balancer, targets=now.targets)


def _reached(balancer: CloudBalancer) -> tuple[Target, ...]:
    """Its targets that are reached through the network, selectors and addresses that others have added included."""
    return _private(balancer.targets)


def _private(targets: Iterable[Target]) -> tuple[Target, ...]:
    return tuple(sorted(filter(is_private, targets), key=str))


def _has_left(now: CloudBalancer, place: Attachment) -> bool:
    return not _is_in(now, Attachment(place.network_id))


def _departure(balancer: CloudBalancer, place: Attachment) -> str:
    return f"detachment of {name_of(balancer)} from network {place.network_id}"


def _is_in(now: CloudBalancer, place: Attachment) -> bool:
    return any(there.network_id == place.network_id and place.ip in (UNMANAGED, there.ip) for there in now.attachments)
