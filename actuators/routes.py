"""Writes to the routes of a private network: create, delete, and replace with another gateway.

Hetzner accepts a destination once and cannot change its gateway: a replacement is a removal and an addition. Every
action locks the network; the network's lock in the plan keeps them one after another.
"""

import logging
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address

from actuators.http.errors import ApiError, Broken, Conflict, Invalid, NotFound, Throttled, Transient
from actuators.outcome import unexpected_change
from actuators.wire.network import NETWORKS
from actuators.writers import Writers, put_back_by
from desired.model.route import Route
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind

_log = logging.getLogger("hcloud-reconciler.actuators")


def create(writers: Writers, change: Change, _snapshot: Snapshot) -> None:
    """Add the route. One that another client has made meanwhile is done; Conflict when it leads elsewhere.

    Raises an ApiError: NotFound when the network is gone.
    """
    match change.before, change.after:
        case None, Route() as route:
            _add(writers, _network_id(change), route)
        case _:
            raise unexpected_change(change)


def delete(writers: Writers, change: Change, _snapshot: Snapshot) -> None:
    """Remove the route. One that is gone already is done; Conflict when it leads elsewhere by now.

    Raises an ApiError: NotFound when the network is gone.
    """
    match change.before, change.after:
        case Route() as route, None:
            network_id = _network_id(change)
        case _:
            raise unexpected_change(change)
    if (other := _remove(writers, network_id, route)) is not None:
        raise _leads_elsewhere(network_id, route, other)


def replace(writers: Writers, change: Change, _snapshot: Snapshot) -> None:
    """Let the route lead to the gateway of ``after``; done when it does so already, a Conflict when it leads to a third
    one by now.

    Nothing happens between the removal and the addition, as the destination is unreachable then. When the addition is
    refused, the old route is put back, and the refusal raised. After a transient error the next plan adds what is
    missing. Raises an ApiError: NotFound when the network is gone.
    """
    match change.before, change.after:
        case Route() as old, Route() as new if old.destination == new.destination:
            network_id = _network_id(change)
        case _:
            raise unexpected_change(change)
    other = _remove(writers, network_id, old)
    if other == new.gateway:
        return
    if other is not None:
        raise _leads_elsewhere(network_id, old, other)
    # After these there is another one by now, or the old one could not be added either.
    with put_back_by(lambda: _put_back(writers, network_id, old), unless=(Conflict, Throttled, Transient)):
        _add(writers, network_id, new)


def _network_id(change: Change) -> int:
    if change.cloud_id is None:
        raise unexpected_change(change)
    return change.cloud_id


def _add(writers: Writers, network_id: int, route: Route) -> None:
    """Add the route, unless it is there already. Raises Conflict when its destination has another gateway."""

    def happened() -> bool:
        return _gateway_now(writers, network_id, route) == route.gateway

    try:
        what = f"addition of {_named(network_id, route)}"
        writers.act(_path(network_id, "add_route"), _body(route), what, happened, is_once=True)
    except Invalid as error:
        now = _gateway_now(writers, network_id, route)
        if now is None:
            raise
        if now != route.gateway:
            raise _leads_elsewhere(network_id, route, now) from error


def _remove(writers: Writers, network_id: int, route: Route) -> IPv4Address | None:
    """Remove the route, unless it is gone already. Hetzner wants both destination and gateway to match, so that a route
    that was changed stays: then this is the gateway it has by now, and None otherwise."""

    def happened() -> bool:
        return _gateway_now(writers, network_id, route) != route.gateway

    try:
        what = f"removal of {_named(network_id, route)}"
        writers.act(_path(network_id, "delete_route"), _body(route), what, happened)
    except (NotFound, Invalid):  # also out of an action, which knows no class of errors
        now = _gateway_now(writers, network_id, route)
        if now == route.gateway:
            raise
        return now
    return None


def _put_back(writers: Writers, network_id: int, route: Route) -> None:
    try:
        _add(writers, network_id, route)
    except ApiError as error:
        _log.warning("%s may be missing until the next pass: %s", _named(network_id, route), error)


def _gateway_now(writers: Writers, network_id: int, route: Route) -> IPv4Address | None:
    """The present gateway of the route's destination; None when there is none. Raises an ApiError."""
    routes = NETWORKS.one(writers.reader, network_id).routes
    if not routes.complete or routes.unreadable:
        why = routes.why_incomplete or next(iter(routes.unreadable.values()))
        raise Broken(f"Hetzner's network {network_id} could not be read: {why}")
    found = routes.items.get(str(route.destination))
    return None if found is None else found.gateway


def _leads_elsewhere(network_id: int, route: Route, gateway: IPv4Address) -> Conflict:
    return Conflict(f"the {_named(network_id, route)} now has another gateway, {gateway}")


def _path(network_id: int, action: str) -> str:
    return f"/networks/{network_id}/actions/{action}"


def _body(route: Route) -> Mapping[str, str]:
    return {"destination": str(route.destination), "gateway": str(route.gateway)}


def _named(network_id: int, route: Route) -> str:
    return f"route to {route.destination} via {route.gateway} in network {network_id}"


ROUTE_ACTUATORS: Mapping[str, Callable[[Writers, Change, Snapshot], None]] = {
    ChangeKind.ROUTE_CREATE: create,
    ChangeKind.ROUTE_REPLACE: replace,
    ChangeKind.ROUTE_DELETE: delete,
}
"""Kind → its actuator, in the order of the table of kinds. Each raises an ApiError when it could not, and TypeError for
sides that are not of its kind."""
