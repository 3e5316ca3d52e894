"""Networks: creating, changing and deleting them, their subnets and routes.

Source: Hetzner Cloud API, networks and network actions. Known differences: no vSwitch can be coupled (``vswitch not
found``); the order in which several violated rules are reported is ours.
"""

from collections.abc import Callable

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.addressing import (
    check_grown_range,
    check_network_range,
    checked_route,
    checked_subnet,
    parse_range,
    range_of,
    subnet_with,
)
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field
from hcloud_sandbox.hetzner.objects import network_template
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object

_SUBNET_FIELDS = ("type", "ip_range", "network_zone", "vswitch_id")
_ROUTE_FIELDS = ("destination", "gateway")
_MAX_NAME = 128


class Networks:
    """The writing half of ``/networks``."""

    def __init__(self, project: Project, attachments: Attachments) -> None:
        self._project = project
        self._attachments = attachments

    def create(self, request: Request) -> Response:
        """``POST /networks``: at once, without an action."""
        body = Body.of(request).only("name", "ip_range", "labels", "subnets", "routes", "expose_routes_to_vswitch")
        network = {
            **network_template(self._project.store.next_id("networks"), self._project.now()),
            "name": self._checked_name(body.text("name"), None),
            "ip_range": check_network_range(body.text("ip_range")),
            "labels": body.labels() or {},
            "expose_routes_to_vswitch": body.boolean("expose_routes_to_vswitch", default=False),
        }
        for subnet in body.objects("subnets"):
            network["subnets"] = [*network["subnets"], _wanted_subnet(network, subnet)]
        for route in body.objects("routes"):
            network["routes"] = [*network["routes"], _wanted_route(network, route)]
        self._project.store.put("networks", network)
        return Response(201, {"network": self._project.shown("networks", network)})

    def update(self, request: Request, network_id: int) -> Response:
        """``PUT /networks/{id}``: name, labels, ``expose_routes_to_vswitch``; not while an action runs."""
        network = self._project.require_free("networks", network_id)
        body = Body.of(request).only("name", "labels", "expose_routes_to_vswitch")
        changed = dict(network)
        if (name := body.optional_text("name")) is not None:
            changed["name"] = self._checked_name(name, network_id)
        if (labels := body.labels()) is not None:
            changed["labels"] = labels
        exposed = body.boolean("expose_routes_to_vswitch", default=network["expose_routes_to_vswitch"])
        changed["expose_routes_to_vswitch"] = exposed
        self._project.store.put("networks", changed)
        return Response(200, {"network": self._project.shown("networks", changed)})

    def delete(self, _request: Request, network_id: int) -> Response:
        """``DELETE /networks/{id}``: at once; what is attached is detached."""
        network = self._project.require_free("networks", network_id)
        if network["protection"]["delete"]:
            raise ApiError("protected", "network is delete protected")
        self._attachments.detach_all(network_id)
        self._project.store.remove("networks", network_id)
        return Response(204)

    def add_subnet(self, request: Request, network_id: int) -> Response:
        """``add_subnet``: without a range, the first free /24."""
        network = self._project.require_free("networks", network_id)
        subnet = _wanted_subnet(network, Body.of(request))
        return self._started("add_subnet", network_id, lambda now: {"subnets": [*now["subnets"], subnet]})

    def delete_subnet(self, request: Request, network_id: int) -> Response:
        """``delete_subnet``: of a subnet in which nothing is attached."""
        network = self._project.require_free("networks", network_id)
        wanted = parse_range(Body.of(request).only("ip_range").text("ip_range"), "ip_range")
        if all(range_of(subnet) != wanted for subnet in network["subnets"]):
            raise ApiError("not_found", f"subnet '{wanted}' not found")
        for member in self._attachments.members(self._project.store.truth(), network):
            subnet = subnet_with(network, member["ip"])
            if subnet is not None and range_of(subnet) == wanted:
                reason = "servers are attached" if member["type"] == "server" else "network has attached resources"
                raise ApiError("service_error", f"cannot delete subnet: {reason}")

        def without(now: Object) -> Object:
            return {"subnets": [subnet for subnet in now["subnets"] if range_of(subnet) != wanted]}

        return self._started("delete_subnet", network_id, without)

    def add_route(self, request: Request, network_id: int) -> Response:
        """``add_route``: the destination is the key; the same one with another gateway overlaps with itself."""
        network = self._project.require_free("networks", network_id)
        route = _wanted_route(network, Body.of(request))
        return self._started("add_route", network_id, lambda now: {"routes": [*now["routes"], route]})

    def delete_route(self, request: Request, network_id: int) -> Response:
        """``delete_route``: destination and gateway must both be those of the route."""
        network = self._project.require_free("networks", network_id)
        body = Body.of(request).only(*_ROUTE_FIELDS)
        route = {name: body.text(name) for name in _ROUTE_FIELDS}
        if route not in network["routes"]:
            raise ApiError("not_found", f"route to '{route['destination']}' via '{route['gateway']}' not found")

        def without(now: Object) -> Object:
            return {"routes": [kept for kept in now["routes"] if kept != route]}

        return self._started("delete_route", network_id, without)

    def change_ip_range(self, request: Request, network_id: int) -> Response:
        """``change_ip_range``: a network can only grow, at its end."""
        network = self._project.require_free("networks", network_id)
        grown = check_grown_range(network, Body.of(request).only("ip_range").text("ip_range"))
        return self._started("change_ip_range", network_id, lambda _: {"ip_range": grown})

    def change_protection(self, request: Request, network_id: int) -> Response:
        """``change_protection``: against deletion."""
        network = self._project.require_free("networks", network_id)
        wanted = Body.of(request).only("delete").boolean("delete", default=network["protection"]["delete"])
        return self._started("change_protection", network_id, lambda _: {"protection": {"delete": wanted}})

    def _started(self, command: str, network_id: int, changed: Callable[[Object], Object]) -> Response:
        def effect() -> None:
            network = self._project.require("networks", network_id)
            self._project.store.put("networks", {**network, **changed(network)})

        action = self._project.actions.start(command, ("network", network_id), effect=effect)
        return Response(201, {"action": self._project.actions.render(action)})

    def _checked_name(self, name: str, own_id: int | None) -> str:
        if not 1 <= len(name) <= _MAX_NAME:
            raise invalid_field("name", f"must have 1 to {_MAX_NAME} characters")
        self._project.require_unused("networks", name, own_id)
        return name


def _wanted_subnet(network: Object, body: Body) -> Object:
    body.only(*_SUBNET_FIELDS)
    vswitch_id = body.integer("vswitch_id") if body.has("vswitch_id") else None
    return checked_subnet(
        network, body.text("type"), body.text("network_zone"), body.optional_text("ip_range"), vswitch_id
    )


def _wanted_route(network: Object, body: Body) -> Object:
    body.only(*_ROUTE_FIELDS)
    return checked_route(network, body.text("destination"), body.text("gateway"))
