"""Creation of a load balancer, in one request where possible."""

import logging

from actuators.http.errors import ApiError, Exhausted, Invalid
from actuators.http.hetzner_bodies import creation_body
from actuators.load_balancers.lookup import is_labelled, require_none_labelled, require_none_waiting, service_of
from actuators.outcome import unexpected_change
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
"""Error codes with which Hetzner refuses a creation because of one of its targets, old names included."""
_LIMIT = "resource_limit_exceeded"
_REMEDY = (
    "ask Hetzner for a higher limit, or delete load balancers: `reconcile orphans` lists those of this cluster "
    "that no Service wants"
)


def create(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Create the load balancer of ``after`` and wait until that is done. Raises an ApiError.

    When one of its targets is refused it is created without any: those that can be added are added one by one in the
    next round, and the others do not keep the Service from its address. If it is not known whether the request was
    carried out, it is sent once more only when no load balancer has the Service's label. For a Service that may have
    had a load balancer before, or for which one may wait in its undo window, that is looked up first: raises Conflict
    when there is one that was not listed.
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

    try:
        writers.act_once("/load_balancers", body, what, happened)
    except Invalid as refusal:
        if _is_quota(refusal):
            raise Exhausted(f"{refusal}; {_REMEDY}", status=refusal.status, code=refusal.code) from refusal
        if "targets" not in body or not _is_about_a_target(refusal):
            raise (_of_this_one(refusal) if refusal.code == _LIMIT else refusal) from None
        _log.info("%s without targets, as it was refused with them: %s", what, refusal)
        writers.act_once("/load_balancers", {**body, "targets": []}, what, happened)


def _is_about_a_target(refusal: ApiError) -> bool:
    """Whether the same request may be accepted without targets. An unknown server has no code of its own."""
    return (
        refusal.code in _ABOUT_TARGETS
        or (refusal.code == _LIMIT and "target" in refusal.said)
        or (refusal.code == "invalid_input" and "target" in refusal.said and "not found" in refusal.said)
    )


def _is_quota(refusal: ApiError) -> bool:
    """Whether the limit is that of the project, and not one of what a load balancer may have."""
    return refusal.code == _LIMIT and not any(part in refusal.said for part in ("target", "service", "certificate"))


def _of_this_one(refusal: ApiError) -> Invalid:
    """The refusal of a load balancer that would have too much of something: others may be created."""
    return Invalid(str(refusal), status=refusal.status, code=refusal.code)
