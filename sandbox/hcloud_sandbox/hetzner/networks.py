"""Networks: creating, changing and deleting them, their subnets and routes.

Source: Hetzner Cloud API, networks and network actions. Known differences: no vSwitch can be coupled (``vswitch not
found``); the order in which several violated rules are reported is ours.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.attachments import Attachments, attached
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import NETWORK_ZONES
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.paging import filtered, ordered, page_of
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.resource import BodyChange, Resource, route
from hcloud_sandbox.hetzner.store import Object, View, fresh_copy
from hcloud_sandbox.hetzner.subnets import (
    check_grown_range,
    check_network_range,
    checked_route,
    checked_subnet,
    parse_range,
    range_of,
    subnet_object,
)
from hcloud_sandbox.shapes import Rule, a, a_list, a_range, an_address, each, one_of, part, shape

_ROUTE: Object = {"destination": None, "gateway": None}
_SUBNET: Object = {"type": "cloud", "ip_range": None, "network_zone": "eu-central", "gateway": None, "vswitch_id": None}


class Networks(Resource):
    """Networks; those of the members that the API shows follow from their ``private_net``."""

    kind = "networks"
    protections = ("delete",)
    waits = True
    longest_name = 128

    def __init__(self, project: Project, attachments: Attachments) -> None:
        super().__init__(project)
        self._attachments = attachments

    def template(self, object_id: int, created: str) -> Object:
        """An empty network 10.0.0.0/16."""
        return {
            "id": object_id,
            "name": f"network-{object_id}",
            "ip_range": "10.0.0.0/16",
            "subnets": [],
            "routes": [],
            "servers": [],
            "load_balancers": [],
            "protection": {"delete": False},
            "labels": {},
            "created": created,
            "expose_routes_to_vswitch": False,
        }

    def rules(self) -> Mapping[str, Rule]:
        """Members and left-out subnets follow when all objects are known."""
        members = each(a(int, "ids"))
        routes = each(part(_ROUTE, {"destination": a_range, "gateway": an_address}))
        return {"ip_range": a_range, "subnets": a_list, "routes": routes, "servers": members, "load_balancers": members}

    def complete(self, given: Object, where: str) -> Object:
        """Subnets must lie within the network's range."""
        network = super().complete(given, where)
        subnets = [_complete_subnet(network, subnet, f"{where} subnets") for subnet in network["subnets"]]
        return {**network, "subnets": subnets}

    def changes(self) -> Mapping[str, BodyChange]:
        """Of subnets, routes and the range."""
        return {
            "add_subnet": lambda now, body: {"subnets": [*now["subnets"], _wanted_subnet(now, body)]},
            "delete_subnet": self._without_subnet,
            "add_route": lambda now, body: {"routes": [*now["routes"], _wanted_route(now, body)]},
            "delete_route": _without_route,
            "change_ip_range": lambda now, body: {
                "ip_range": check_grown_range(now, body.only("ip_range").text("ip_range"))
            },
        }

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:  # noqa: ARG002
        """With its members."""
        members = {
            kind: [holder["id"] for holder, _ in attached(view, kind, stored["id"])]
            for kind in ("servers", "load_balancers")
        }
        return fresh_copy(stored) | members

    def updated(self, present: Object, body: Body) -> Object:
        """Name, labels and ``expose_routes_to_vswitch``."""
        body.only("name", "labels", "expose_routes_to_vswitch")
        exposed = body.boolean("expose_routes_to_vswitch", default=present["expose_routes_to_vswitch"])
        return {**super().updated(present, body), "expose_routes_to_vswitch": exposed}

    def check_unused(self, present: Object) -> None:
        """One that a new server is about to join stays until it has."""
        if self._attachments.is_awaited(present["id"]):
            raise ApiError(self.project.options.busy_code("networks"), "network has changed during request")

    def discard(self, object_id: int) -> None:
        """What is attached is detached."""
        self._attachments.detach_all(object_id)
        super().discard(object_id)

    @route("POST /networks")
    def create(self, body: Body) -> Response:
        """At once, without an action."""
        body.only("name", "ip_range", "labels", "subnets", "routes", "expose_routes_to_vswitch")
        network: Object = {
            "name": self.checked_name(body),
            "ip_range": check_network_range(body.text("ip_range")),
            "labels": body.labels(),
            "expose_routes_to_vswitch": body.boolean("expose_routes_to_vswitch"),
            "subnets": [],
            "routes": [],
        }
        for subnet in body.objects("subnets"):
            network["subnets"] = [*network["subnets"], _wanted_subnet(network, subnet)]
        for route_ in body.objects("routes"):
            network["routes"] = [*network["routes"], _wanted_route(network, route_)]
        return self.answer(self.new(**network), 201)

    @route("GET /networks/{id}/members")
    def read_members(self, request: Request, network_id: int) -> Response:
        """Who is attached, or about to be."""
        view = self.project.view(request)
        network = self.project.require("networks", network_id, view)
        members = filtered(request, self._attachments.members(view, network), ("type", "subnet", "status"))
        return page_of(request, "members", ordered(request, members, ("id", "type", "status", "ip")), dict)

    def change_protection(self, body: Body, object_id: int) -> Response:
        """Of the one field that there is."""
        return super().change_protection(body.only("delete"), object_id)

    def _without_subnet(self, now: Object, body: Body) -> Object:
        """Without a subnet in which nothing is attached. Raises ApiError."""
        wanted = parse_range(body.only("ip_range").text("ip_range"), "ip_range")
        left = [subnet for subnet in now["subnets"] if range_of(subnet) != wanted]
        if left == now["subnets"]:
            raise ApiError("not_found", f"subnet '{wanted}' not found")
        for member in self._attachments.members(self.store.truth(), now):
            if IPv4Address(member["ip"]) in wanted:
                reason = "servers are attached" if member["type"] == "server" else "network has attached resources"
                raise ApiError("service_error", f"cannot delete subnet: {reason}")
        return {"subnets": left}


def _without_route(now: Object, body: Body) -> Object:
    """Destination and gateway must both be those of the route. Raises ``not_found``."""
    wanted = {name: body.only(*_ROUTE).text(name) for name in _ROUTE}
    if wanted not in now["routes"]:
        raise ApiError("not_found", f"route to '{wanted['destination']}' via '{wanted['gateway']}' not found")
    return {"routes": [kept for kept in now["routes"] if kept != wanted]}


def _wanted_subnet(network: Object, body: Body) -> Object:
    body.only("type", "ip_range", "network_zone", "vswitch_id")
    kind, zone = body.text("type"), body.text("network_zone")
    return checked_subnet(network, kind, zone, body.optional_text("ip_range"), body.optional_integer("vswitch_id"))


def _wanted_route(network: Object, body: Body) -> Object:
    return checked_route(network, *(body.only(*_ROUTE).text(name) for name in _ROUTE))


def _complete_subnet(network: Object, given: Any, where: str) -> Object:
    subnet = shape(given, _SUBNET, where, {"ip_range": a_range, "network_zone": one_of(*NETWORK_ZONES)})
    ip_range = subnet["ip_range"]
    if not IPv4Network(ip_range).subnet_of(range_of(network)):
        raise ValueError(f"{where}: {ip_range} is not in the network's ip_range {network['ip_range']}; change one")
    made = subnet_object(network, subnet["type"], ip_range, subnet["network_zone"], subnet["vswitch_id"])
    return {**made, "gateway": subnet["gateway"] or made["gateway"]}
