"""Creation of a load balancer, in one request where possible."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from actuators.http.errors import ApiError, Exhausted, Invalid, NotFound
from actuators.load_balancers.lookup import is_labelled, require_none_labelled, require_none_waiting, service_of
from actuators.outcome import unexpected_change
from actuators.wire.load_balancer import creation_body
from actuators.writers import Writers
from desired.model.load_balancer import LoadBalancer
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Change

_log = logging.getLogger("hcloud-reconciler.actuators")

_ABOUT_TARGETS = frozenset(
    {
        "cloud_resource_ip_not_allowed",
        "ip_not_assigned_to_server",
        "ip_not_in_vswitch_subnet",
        "ip_not_owned",
        "load_balancer_not_attached_to_network",
        "load_balancer_public_interface_disabled",
        "missing_ipv4",
        "network_has_no_vswitch_subnet",
        "resolve_cloud_private_targets_error",
        "resolve_cloud_public_targets_error",
        "server_not_attached_to_network",
        "target_already_defined",
    }
)
"""Error codes with which Hetzner refuses a creation because of one of its targets, old names included: without them
nothing else is tried."""
_ABOUT_PRIMARY_IPS = frozenset(
    {"primary_ip_assigned", "primary_ip_blocked", "primary_ip_location_mismatch", "primary_ip_version_mismatch"}
)
"""Error codes with which Hetzner refuses a Primary IP: it is asked for, so nothing is created without it."""
_ABOUT_THE_NETWORK = frozenset({"ip_not_available", "no_subnet_available"})
"""Error codes with which Hetzner refuses an attachment: the load balancer is attached by itself, or fails by itself."""
_PORT_IN_USE = "source_port_already_used"
_LIMIT = "resource_limit_exceeded"
_OF_THE_PROJECT = ("load balancer limit", "load_balancer_limit")
"""Words of a limit that any load balancer would exceed."""
_OF_THE_WHOLE = ("location", "load balancer type", "network")
"""Things without which there is no load balancer, where one of them is not found."""
_OF_PARTS = ("server", "target", "service", "certificate")
_REMEDY = (
    "ask Hetzner for a higher limit, or delete load balancers: `reconcile orphans` lists those of this cluster "
    "that no Service wants"
)


def create(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Create the load balancer of ``after`` and wait until that is done. Raises an ApiError.

    When it is refused it is tried once without its targets, and once without its services, whatever the code, unless
    that is known to be about something else; and without its network where that is refused. What can be added is added
    one by one in the next round; what is refused again fails by itself, and does not keep the Service from its address.

    If it is not known whether a request was carried out, it is sent once more only when no load balancer has the
    Service's label; nor is a lesser one sent where there is one. For a Service that may have had a load balancer
    before, or for which one may wait in its undo window, that is looked up first: raises Conflict when there is one
    that was not listed.
    """
    match change.before, change.after:
        case None, LoadBalancer() as wanted:
            service = service_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    body = creation_body(wanted)
    if FINALIZER_BALANCER in service.finalizers or service.ingress:
        require_none_labelled(writers.reader, service, snapshot)
    if wanted.former is not None:
        require_none_waiting(writers.reader, wanted.former, snapshot)
    what = f"creation of load balancer {wanted.name}"

    def happened() -> bool:
        return is_labelled(writers.reader, service)

    while (part := _refused_part(writers, body, what, happened)) is not None and not happened():
        body = {name: value for name, value in body.items() if name != part}


def _refused_part(writers: Writers, body: Mapping[str, Any], what: str, happened: Callable[[], bool]) -> str | None:
    """Send the creation and wait until it is done: None. The part of it to leave out when it was refused with that; any
    other error is raised."""
    try:
        writers.act_once("/load_balancers", body, what, happened)
    except (Invalid, NotFound) as refusal:
        part = _part_in_the_way(refusal, body)
        if part is None:
            raise _of_the_project(refusal) if _is_quota(refusal) else _of_this_one(refusal) from None
        _log.info("%s is refused with its %s, and tried without: %s", what, part, refusal)
        return part
    return None


def _part_in_the_way(refusal: ApiError, body: Mapping[str, Any]) -> str | None:
    """The part of the request without which it may be accepted, first the one that the refusal is about; None when it
    would be refused as well, and when it was accepted and failed later.

    Hetzner's documentation names hardly any code of targets and services, and it grows: whatever is not known to be
    about something else is tried without either.
    """
    if refusal.status is None or (isinstance(refusal, Exhausted) and refusal.code != _LIMIT):
        return None
    if refusal.code in _ABOUT_PRIMARY_IPS or _is_about_all_of_it(refusal):
        return None
    if refusal.code in _ABOUT_THE_NETWORK or (refusal.code == _LIMIT and "network" in refusal.said):
        parts: tuple[str, ...] = ("network",)
    elif refusal.code in _ABOUT_TARGETS or "target" in refusal.said:
        parts = ("targets",)
    elif refusal.code == _PORT_IN_USE or any(word in refusal.said for word in _OF_PARTS[2:]):
        parts = ("services", "targets")
    else:
        parts = ("targets", "services")
    # With its public interface off, it could be reached by nothing without the network.
    needed = {"network"} if body.get("public_interface") is False else set()
    return next((part for part in parts if body.get(part) and part not in needed), None)


def _is_about_all_of_it(refusal: ApiError) -> bool:
    """Whether it says that it would be the same for any load balancer of the project, or of this type and place."""
    if isinstance(refusal, NotFound):
        return any(word in refusal.said for word in _OF_THE_WHOLE) and not any(
            word in refusal.said for word in _OF_PARTS
        )
    return refusal.code == _LIMIT and any(word in refusal.said for word in _OF_THE_PROJECT)


def _is_quota(refusal: ApiError) -> bool:
    """Whether the limit is that of the project, and not one of what a load balancer may have."""
    return refusal.code == _LIMIT and not any(part in refusal.said for part in (*_OF_PARTS[1:], "network"))


def _of_the_project(refusal: ApiError) -> Exhausted:
    """The refusal of any load balancer, with what a person can do."""
    return Exhausted(f"{refusal}; {_REMEDY}", status=refusal.status, code=refusal.code)


def _of_this_one(refusal: ApiError) -> ApiError:
    """The refusal; one of a load balancer that would have too much of something is no end of the project's allowance:
    others may be created."""
    return Invalid(str(refusal), status=refusal.status, code=refusal.code) if refusal.code == _LIMIT else refusal
