"""Primary IPs: creating, changing and deleting them, and giving them to servers and to new load balancers.

Source: Hetzner Cloud API, Primary IPs and creation of servers and load balancers, and the vendor's clients. Known
differences: a load balancer gets them at its creation only, and keeps them; which refusal the deletion of one that a
load balancer has gets is not established, here it is ``service_error``.

Who has one is said by ``public_net`` of the holder. A Primary IP that came with its server is not stored: it follows
from the server, until a request is about it.
"""

from ipaddress import ip_address, ip_network

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import LOCATIONS, find_entry
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field
from hcloud_sandbox.hetzner.naming import change_protection, wanted_name, with_name_and_labels
from hcloud_sandbox.hetzner.objects import (
    PublicAddresses,
    address_of_primary_ip,
    default_dns_ptr,
    primary_ip_template,
)
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.rendering import Holder, dns_ptr_of, holders_of_primary_ips, primary_ips
from hcloud_sandbox.hetzner.server_maintenance import with_dns_ptr
from hcloud_sandbox.hetzner.store import Object

_TYPES = ("ipv4", "ipv6")
_ASSIGNEES = ("server", "load_balancer")


class PrimaryIps:
    """The writing half of ``/primary_ips``, and what servers and load balancers do with them."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._change_protection = change_protection(project, "primary_ips")

    def create(self, request: Request) -> Response:
        """``POST /primary_ips``: one that nothing has, or one for a stopped server."""
        body = Body.of(request)
        family = body.choice("type", _TYPES, None)
        server = self._assignee(body, family) if body.has("assignee_id") else None
        primary_ip = {
            **primary_ip_template(self._project.store.next_id("primary_ips"), self._project.now()),
            "name": wanted_name(self._project, "primary_ips", body),
            "type": family,
            "ip": PublicAddresses(self._project.store).of_primary_ip(family),
            "location": self._place(body) if server is None else server["location"],
            "auto_delete": body.boolean("auto_delete", default=False),
            "labels": body.labels() or {},
        }
        self._project.store.put("primary_ips", primary_ip)
        action = None
        if server is not None:
            started = self._assign("create_primary_ip", primary_ip, server["id"])
            action = self._project.actions.render(started)
        return Response(201, {"primary_ip": self._project.shown("primary_ips", primary_ip), "action": action})

    def update(self, request: Request, primary_ip_id: int) -> Response:
        """``PUT /primary_ips/{id}``: name, labels and ``auto_delete``."""
        body = Body.of(request)
        changed = with_name_and_labels(self._project, "primary_ips", self._stored(primary_ip_id), body)
        changed["auto_delete"] = body.boolean("auto_delete", default=changed["auto_delete"])
        self._project.store.put("primary_ips", changed)
        return Response(200, {"primary_ip": self._project.shown("primary_ips", changed)})

    def delete(self, _request: Request, primary_ip_id: int) -> Response:
        """``DELETE /primary_ips/{id}``: of one that nothing has, or a stopped server."""
        present = self._stored(primary_ip_id)
        if present["protection"]["delete"]:
            raise ApiError("protected", "Primary IP is delete protected")
        holder = self._holder(primary_ip_id)
        if present["assignee_id"] is not None or (holder is not None and holder.type != "server"):
            raise ApiError("service_error", "Primary IP is assigned")
        if holder is not None:
            self._require_stopped(holder.object)
            self._take(present, holder.object["id"])
        self._project.store.remove("primary_ips", primary_ip_id)
        return Response(204)

    def change_protection(self, request: Request, primary_ip_id: int) -> Response:
        """``change_protection``: against deletion."""
        self._stored(primary_ip_id)
        return self._change_protection(request, primary_ip_id)

    def assign(self, request: Request, primary_ip_id: int) -> Response:
        """``assign``: to a stopped server that has none of the family."""
        present = self._stored(primary_ip_id)
        if self._holder(primary_ip_id) is not None or present["assignee_id"] is not None:
            raise ApiError("primary_ip_assigned", "Primary IP is already assigned to a resource")
        body = Body.of(request)
        body.choice("assignee_type", _ASSIGNEES, None)
        server = self._assignee(body, present["type"])
        self._require_in(present, server["location"], "primary_ip_datacenter_mismatch", "server")
        return self._project.started(self._assign("assign_primary_ip", present, server["id"]))

    def unassign(self, _request: Request, primary_ip_id: int) -> Response:
        """``unassign``: from a stopped server."""
        present = self._stored(primary_ip_id)
        holder = self._holder(primary_ip_id)
        if holder is None:
            raise ApiError("service_error", "Primary IP is not assigned")
        if holder.type != "server":
            raise _only_servers()
        server_id = holder.object["id"]
        self._project.actions.require_free("server", server_id)
        self._require_stopped(holder.object)
        action = self._project.actions.start(
            "unassign_primary_ip",
            ("primary_ip", primary_ip_id),
            ("server", server_id),
            effect=lambda: self._take(present, server_id),
        )
        return self._project.started(action)

    def change_dns_ptr(self, request: Request, primary_ip_id: int) -> Response:
        """``change_dns_ptr``: the reverse name of an address, whoever has it."""
        present = self._stored(primary_ip_id)
        body = Body.of(request)
        address, dns_ptr = body.address("ip"), body.optional_text("dns_ptr")
        holder = self._holder(primary_ip_id)
        if holder is not None and holder.type != "server":
            raise _only_servers()
        if ip_address(address) not in ip_network(present["ip"]):
            raise ApiError("not_found", f"IP '{address}' not found")

        def effect() -> None:
            if holder is not None:
                server = self._project.require("servers", holder.object["id"])
                self._project.change("servers", server["id"], public_net=with_dns_ptr(server, address, dns_ptr))
            else:
                kept = [entry for entry in present["dns_ptr"] if entry["ip"] != address]
                named = [] if dns_ptr is None else [{"ip": address, "dns_ptr": dns_ptr}]
                self._project.change("primary_ips", primary_ip_id, dns_ptr=[*kept, *named])

        return self._project.started(
            self._project.actions.start("change_dns_ptr", ("primary_ip", primary_ip_id), effect=effect)
        )

    def address_for_server(self, primary_ip_id: int, family: str, location: Object, name: str) -> Object:
        """The entry of ``public_net`` that a new server in ``location`` gets by it. Raises ApiError."""
        primary_ip = self._stored(primary_ip_id)
        self._require_usable(primary_ip, family)
        self._require_in(primary_ip, location, "primary_ip_datacenter_mismatch", "server")
        return _held_by_server(primary_ip, name)

    def address_for_balancer(self, primary_ip_id: int, family: str, location: Object) -> Object:
        """The public address that a new load balancer in ``location`` gets by it. Raises ApiError."""
        primary_ip = self._project.require("primary_ips", primary_ip_id)
        self._require_usable(primary_ip, family)
        self._require_in(primary_ip, location, "primary_ip_location_mismatch", "Load Balancer")
        address = address_of_primary_ip(primary_ip)
        named = [entry["dns_ptr"] for entry in primary_ip["dns_ptr"] if entry["ip"] == address]
        dns_ptr = named[0] if named else default_dns_ptr(address)
        return {"id": primary_ip_id, "ip": address, "blocked": False, "dns_ptr": dns_ptr}

    def leave(self, holder: Object) -> None:
        """Remove those of a holder that is about to go which are deleted with it; the others keep their names."""
        for family in _TYPES:
            held = holder["public_net"][family]
            primary_ip = self._project.store.get("primary_ips", held["id"]) if held and held["id"] else None
            if primary_ip is None:
                continue
            if primary_ip["auto_delete"]:
                self._project.store.remove("primary_ips", primary_ip["id"])
            else:
                self._project.change("primary_ips", primary_ip["id"], dns_ptr=dns_ptr_of(family, held))

    def _assign(self, command: str, primary_ip: Object, server_id: int) -> Action:
        def effect() -> None:
            server = self._project.require("servers", server_id)
            held = _held_by_server(self._project.require("primary_ips", primary_ip["id"]), server["name"])
            public_net = {**server["public_net"], primary_ip["type"]: held}
            self._project.change("servers", server_id, public_net=public_net)

        resources = (("primary_ip", primary_ip["id"]), ("server", server_id))
        return self._project.actions.start(command, *resources, effect=effect)

    def _take(self, primary_ip: Object, server_id: int) -> None:
        """Take it from the server that has it."""
        server = self._project.require("servers", server_id)
        family = primary_ip["type"]
        names = dns_ptr_of(family, server["public_net"][family])
        self._project.change("primary_ips", primary_ip["id"], dns_ptr=names)
        self._project.change("servers", server_id, public_net={**server["public_net"], family: None})

    def _assignee(self, body: Body, family: str) -> Object:
        """The stopped server in ``assignee_id`` that lacks an address of the family. Raises ApiError."""
        if body.choice("assignee_type", _ASSIGNEES, "server") != "server":
            raise _only_servers()
        server_id = body.integer("assignee_id")
        server = self._project.require_free("servers", server_id)
        if server["public_net"][family] is not None:
            raise ApiError(f"server_has_{family}", f"server already has an {family} address")
        self._require_stopped(server)
        return server

    def _stored(self, primary_ip_id: int) -> Object:
        """The Primary IP, stored from now on if it only followed from its server. Raises ``not_found``."""
        if self._project.store.get("primary_ips", primary_ip_id) is None:
            listed = primary_ips(self._project.store.truth())
            implied = next((found for found in listed if found["id"] == primary_ip_id), None)
            if implied is not None:
                unassigned = {"assignee_id": None, "assignee_type": "unassigned"}
                self._project.store.put("primary_ips", {**implied, **unassigned})
        return self._project.require("primary_ips", primary_ip_id)

    def _holder(self, primary_ip_id: int) -> Holder | None:
        return holders_of_primary_ips(self._project.store.truth()).get(primary_ip_id)

    def _require_usable(self, primary_ip: Object, family: str) -> None:
        if primary_ip["type"] != family:
            raise ApiError("primary_ip_version_mismatch", "the specified Primary IP has the wrong IP version")
        if primary_ip["assignee_id"] is not None or self._holder(primary_ip["id"]) is not None:
            raise ApiError("primary_ip_assigned", "the specified Primary IP is already assigned to a resource")
        if primary_ip["blocked"]:
            raise ApiError("primary_ip_blocked", "the specified Primary IP is blocked")

    @staticmethod
    def _require_in(primary_ip: Object, location: Object, code: str, what: str) -> None:
        if primary_ip["location"]["name"] != location["name"]:
            raise ApiError(code, f"the specified Primary IP is bound to a different Location than the {what}")

    @staticmethod
    def _require_stopped(server: Object) -> None:
        if server["status"] != "off":
            raise ApiError("server_not_stopped", "server must be stopped to change its Primary IPs")

    @staticmethod
    def _place(body: Body) -> Object:
        location = find_entry(LOCATIONS, body.id_or_name("location") or "")
        if location is None:
            raise invalid_field("location", "is missing" if not body.has("location") else "is not known")
        return location


def _held_by_server(primary_ip: Object, name: str) -> Object:
    """The entry of a server's ``public_net``; an IPv4 address without a reverse name of its own gets the server's."""
    dns_ptr: object = primary_ip["dns_ptr"]
    if primary_ip["type"] == "ipv4":
        dns_ptr = next((entry["dns_ptr"] for entry in primary_ip["dns_ptr"]), name)
    return {"id": primary_ip["id"], "ip": primary_ip["ip"], "blocked": primary_ip["blocked"], "dns_ptr": dns_ptr}


def _only_servers() -> ApiError:
    return ApiError("unsupported_error", "the simulator lets load balancers keep the Primary IPs of their creation")
