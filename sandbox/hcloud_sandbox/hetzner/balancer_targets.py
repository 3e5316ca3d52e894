"""The targets of a load balancer: what may become one, what makes two the same, limits by type.

Source: Hetzner Cloud API, load balancer actions; the refusal of an unknown server was seen on the live API, that of one
in another network zone is reported of ``add_target``. Known differences: no Robot is simulated, so a public address
that is nobody's in this project counts as a dedicated server of the owner, but for ``foreign_addresses``; any address
of a vSwitch subnet is taken for one of a dedicated server; a label selector counts as one target, whatever it finds; a
creation is refused for a server in another network zone as ``add_target`` is.
"""

from ipaddress import ip_address, ip_network

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.addressing import subnet_with
from hcloud_sandbox.hetzner.balancer_backends import (
    has_public_address,
    is_in_zone,
    is_private_address,
    private_address,
    public_address,
)
from hcloud_sandbox.hetzner.balancer_changes import BalancerChanges
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_text, limit_exceeded
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.selectors import parse_selector
from hcloud_sandbox.hetzner.store import Object

_TYPES = ("server", "label_selector", "ip")
_SELECTOR = range(1, 1001)


class BalancerTargets:
    """The actions that change targets, and the rules for them."""

    def __init__(self, project: Project, changes: BalancerChanges) -> None:
        self._project = project
        self._changes = changes

    def add(self, request: Request, balancer_id: int) -> Response:
        """``add_target``."""
        body = Body.of(request)
        return self._changes.start("add_target", balancer_id, lambda now: self.with_target(now, body))

    def remove(self, request: Request, balancer_id: int) -> Response:
        """``remove_target``: a server goes by all its addresses, unless the request names one."""
        body = Body.of(request)

        def change(now: Object) -> Object:
            kind, meant = _meant(body)
            left = [t for t in now["targets"] if t["type"] != kind or not meant.items() <= t[kind].items()]
            if len(left) == len(now["targets"]):
                raise ApiError("not_found", "load balancer target not found")
            return {**now, "targets": left}

        return self._changes.start("remove_target", balancer_id, change)

    def with_target(self, balancer: Object, body: Body) -> Object:
        """The load balancer with one target more. Raises ApiError."""
        target = self._wanted(balancer, body)
        if any(self._is_same(target, other) for other in balancer["targets"]):
            raise ApiError("target_already_defined", "load balancer target is already defined")
        if len(balancer["targets"]) >= balancer["load_balancer_type"]["max_targets"]:
            raise limit_exceeded("load balancer target limit exceeded", "load_balancer_target_limit")
        return {**balancer, "targets": [*balancer["targets"], target]}

    def _wanted(self, balancer: Object, body: Body) -> Object:
        kind = body.choice("type", _TYPES, None)
        if kind == "ip":
            return self._ip_target(balancer, body)
        private = body.boolean("use_private_ip", default=False)
        if private:
            _require_network(balancer)
        elif not balancer["public_net"]["enabled"]:
            raise _public_interface_disabled()
        if kind == "server":
            return self._server_target(balancer, body.object("server").only("id", "ip"), private=private)
        selector = body.object("label_selector").limited_text("selector", _SELECTOR, None)
        parse_selector(selector)
        return {
            "type": "label_selector",
            "label_selector": {"selector": selector},
            "targets": [],
            "use_private_ip": private,
        }

    def _server_target(self, balancer: Object, body: Body, *, private: bool) -> Object:
        server = self._project.store.get("servers", body.integer("id"))
        if server is None:
            raise invalid_text("cloud target was not found")
        if not is_in_zone(balancer, server):
            raise ApiError("unsupported_error", "server is not in the network zone of the load balancer")
        if private:
            if body.has("ip"):
                raise body.wrong("ip", "is only valid for public targets")
            address = private_address(balancer, server)
            if address is None:
                message = "server is not attached to the load balancer's network"
                raise ApiError("resolve_cloud_private_targets_error", message)
        else:
            address = _wanted_public_address(server, body)
        return {
            "type": "server",
            "server": {"id": server["id"], "ip": address},
            "health_status": [],
            "use_private_ip": private,
        }

    def _ip_target(self, balancer: Object, body: Body) -> Object:
        if body.boolean("use_private_ip", default=False):
            raise body.wrong("use_private_ip", "is only valid for targets of type server and label_selector")
        address = body.object("ip").address("ip")
        if is_private_address(address):
            self._check_vswitch_address(balancer, address)
        elif not balancer["public_net"]["enabled"]:
            raise _public_interface_disabled()
        elif self._is_of_this_project(address):
            raise ApiError("cloud_resource_ip_not_allowed", "IP belongs to a cloud resource")
        elif any(ip_address(address) in ip_network(foreign) for foreign in self._project.options.foreign_addresses):
            raise ApiError("ip_not_owned", "IP is not owned by the project owner")
        return {"type": "ip", "ip": {"ip": address}, "health_status": []}

    def _check_vswitch_address(self, balancer: Object, address: str) -> None:
        _require_network(balancer)
        network = self._project.store.require("networks", balancer["private_net"][0]["network"])
        if all(subnet["type"] != "vswitch" for subnet in network["subnets"]):
            raise ApiError("network_has_no_vswitch_subnet", "network has no vSwitch subnet")
        subnet = subnet_with(network, address)
        if subnet is None or subnet["type"] != "vswitch":
            raise ApiError("ip_not_in_vswitch_subnet", "IP is not in the vSwitch subnet of the network")

    def _is_of_this_project(self, address: str) -> bool:
        view = self._project.store.truth()
        if any(has_public_address(server, address) for server in view.all("servers")):
            return True
        families = ("ipv4", "ipv6")
        held = {balancer["public_net"][family]["ip"] for balancer in view.all("load_balancers") for family in families}
        return address in held

    def _is_same(self, target: Object, other: Object) -> bool:
        """Whether two targets are one; for a server by two addresses that is an option."""
        if target["type"] != other["type"]:
            return False
        if target["type"] != "server":
            return bool(target[target["type"]] == other[other["type"]])
        if self._project.options.server_as_two_targets == "accepted":
            return bool(target["server"] == other["server"])
        return bool(target["server"]["id"] == other["server"]["id"])


def _require_network(balancer: Object) -> None:
    if not balancer["private_net"]:
        message = "load balancer is not attached to a network"
        raise ApiError("load_balancer_not_attached_to_network", message)


def _public_interface_disabled() -> ApiError:
    message = "load balancer public interface is disabled, cannot add target using public IP"
    return ApiError("load_balancer_public_interface_disabled", message)


def _wanted_public_address(server: Object, body: Body) -> str:
    """The public IPv4 of the server, or the public address that the request names."""
    if body.has("ip"):
        address = body.address("ip")
        if not has_public_address(server, address):
            raise ApiError("ip_not_assigned_to_server", "IP is not assigned to the server")
        return address
    ipv4 = public_address(server)
    if ipv4 is None:
        raise ApiError("resolve_cloud_public_targets_error", "server has no public IPv4 address")
    return ipv4


def _meant(body: Body) -> tuple[str, Object]:
    """The type of the targets that a request means, and what they are known by."""
    kind = body.choice("type", _TYPES, None)
    wish = body.object(kind)
    if kind == "label_selector":
        return kind, {"selector": wish.text("selector")}
    if kind == "ip":
        return kind, {"ip": wish.address("ip")}
    server = {"id": wish.only("id", "ip").integer("id")}
    return kind, {**server, "ip": wish.address("ip")} if wish.has("ip") else server
