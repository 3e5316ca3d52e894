"""Writes to the routes of a private network: create, delete, and replace with another gateway.

Hetzner accepts a destination once and cannot change its gateway: a replacement is a removal and an addition. Every
action locks the network; the network's lock in the plan keeps them one after another.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

from actuators.http.errors import ApiError, Broken, Conflict, Invalid, NotFound, Throttled, Transient
from actuators.sides import by_sides, expect
from actuators.wire.network import NETWORKS
from actuators.writers import Writers, put_back_by
from desired.model.route import Route
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind

_log = logging.getLogger("hcloud-reconciler.actuators")


@dataclass(frozen=True, slots=True)
class RouteTask:
    """A change of a route that is being carried out."""

    writers: Writers
    change: Change

    @property
    def network_id(self) -> int:
        """Id of the network. Raises TypeError for a change without."""
        if self.change.cloud_id is None:
            raise TypeError(f"{self.change.key} is in no network")
        return self.change.cloud_id

    def named(self, route: Route) -> str:
        """The route in messages."""
        return f"route to {route.destination} via {route.gateway} in network {self.network_id}"

    def act(self, action: str, route: Route, what: str, happened: Callable[[], bool], *, is_once: bool = False) -> None:
        """Have an action of the network done with the route, and wait for its end. Raises an ApiError."""
        body = {"destination": str(route.destination), "gateway": str(route.gateway)}
        self.writers.act(f"/networks/{self.network_id}/actions/{action}", body, what, happened, is_once=is_once)

    def gateway_now(self, route: Route) -> IPv4Address | None:
        """The present gateway of the route's destination; None when there is none. Raises an ApiError."""
        routes = NETWORKS.one(self.writers.reader, self.network_id).routes
        if not routes.complete or routes.unreadable:
            why = routes.why_incomplete or next(iter(routes.unreadable.values()))
            raise Broken(f"Hetzner's network {self.network_id} could not be read: {why}")
        found = routes.items.get(str(route.destination))
        return None if found is None else found.gateway

    def leads_elsewhere(self, route: Route, gateway: IPv4Address) -> Conflict:
        """The error for a destination that has another gateway by now."""
        return Conflict(f"the {self.named(route)} now has another gateway, {gateway}")


def create(task: RouteTask, _before: None, route: Route) -> None:
    """Add the route. One that another client has made meanwhile is done; Conflict when it leads elsewhere.

    Raises an ApiError: NotFound when the network is gone.
    """
    try:
        what = f"addition of {task.named(route)}"
        task.act("add_route", route, what, lambda: task.gateway_now(route) == route.gateway, is_once=True)
    except Invalid as error:
        now = task.gateway_now(route)
        if now is None:
            raise
        if now != route.gateway:
            raise task.leads_elsewhere(route, now) from error


def delete(task: RouteTask, route: Route, _after: None) -> None:
    """Remove the route. One that is gone already is done; Conflict when it leads elsewhere by now.

    Raises an ApiError: NotFound when the network is gone.
    """
    if (other := _remove(task, route)) is not None:
        raise task.leads_elsewhere(route, other)


def replace(task: RouteTask, old: Route, new: Route) -> None:
    """Let the route lead to the gateway of ``new``; done when it does so already, a Conflict when it leads to a third
    one by now.

    Nothing happens between the removal and the addition, as the destination is unreachable then. When the addition is
    refused, the old route is put back, and the refusal raised. After a transient error the next plan adds what is
    missing. Raises an ApiError: NotFound when the network is gone.
    """
    expect(task.change, fits=old.destination == new.destination)
    other = _remove(task, old)
    if other == new.gateway:
        return
    if other is not None:
        raise task.leads_elsewhere(old, other)
    # After these there is another one by now, or the old one could not be added either.
    with put_back_by(lambda: _put_back(task, old), unless=(Conflict, Throttled, Transient)):
        create(task, None, new)


def _remove(task: RouteTask, route: Route) -> IPv4Address | None:
    """Remove the route, unless it is gone already. Hetzner wants both destination and gateway to match, so that a route
    that was changed stays: then this is the gateway it has by now, and None otherwise."""
    try:
        what = f"removal of {task.named(route)}"
        task.act("delete_route", route, what, lambda: task.gateway_now(route) != route.gateway)
    except (NotFound, Invalid):  # also out of an action, which knows no class of errors
        now = task.gateway_now(route)
        if now == route.gateway:
            raise
        return now
    return None


def _put_back(task: RouteTask, route: Route) -> None:
    try:
        create(task, None, route)
    except ApiError as error:
        _log.warning("%s may be missing until the next pass: %s", task.named(route), error)


ROUTE_ACTUATORS: Mapping[str, Callable[[RouteTask], None]] = {
    ChangeKind.ROUTE_CREATE: by_sides(create),
    ChangeKind.ROUTE_REPLACE: by_sides(replace),
    ChangeKind.ROUTE_DELETE: by_sides(delete),
}
"""Kind → its actuator. Each raises an ApiError when it could not, and TypeError for sides that are not of its kind."""
