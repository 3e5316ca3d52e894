"""Primary IPs, and giving them to servers and to new load balancers.

Source: Hetzner Cloud API, Primary IPs and creation of servers and load balancers, and the vendor's clients. Known
differences: a load balancer gets them at its creation only, and keeps them.

Who has one is said by ``public_net`` of the holder. A Primary IP that came with its server is not stored: it follows
from the server, until a request is about it.
"""

from collections.abc import Mapping
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import DEFAULT_LOCATION, LOCATIONS, wanted_entry
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.public_addresses import (
    FAMILIES,
    default_dns_ptr,
    first_host,
    with_dns_ptr,
    with_reverse_name,
)
from hcloud_sandbox.hetzner.resource import Resource, route
from hcloud_sandbox.hetzner.store import Key, Kind, Object, View, fresh_copy, singular
from hcloud_sandbox.shapes import Rule, a_range, an_address, one_of

_ASSIGNEES = ("server", "load_balancer")
_UNASSIGNED: Object = {"assignee_id": None, "assignee_type": "unassigned"}
_HOLDERS: tuple[Kind, ...] = ("servers", "load_balancers")


class PrimaryIps(Resource):
    """Primary IPs, and what servers and load balancers do with them."""

    kind = "primary_ips"
    filters = ("ip",)
    protections = ("delete",)

    def template(self, object_id: int, created: str) -> Object:
        """An IPv4 address that nothing has; ``ip`` is still to be given out."""
        return {
            "id": object_id,
            "name": f"primary-ip-{object_id}",
            "type": "ipv4",
            "ip": None,
            **_UNASSIGNED,
            "auto_delete": False,
            "blocked": False,
            "created": created,
            "dns_ptr": [],
            "labels": {},
            "location": LOCATIONS[DEFAULT_LOCATION],
            "protection": {"delete": False},
        }

    def rules(self) -> Mapping[str, Rule]:
        """Its address follows in ``complete``, by its type."""
        return {"type": one_of(*FAMILIES)}

    def complete(self, given: Object, where: str) -> Object:
        """One with an address. The load balancer that has it names it; anything else that has it is named here."""
        primary_ip = super().complete(given, where)
        if primary_ip["assignee_type"] == "load_balancer":
            primary_ip |= _UNASSIGNED
        if primary_ip["ip"] is None:
            return {**primary_ip, "ip": self.project.addresses.new(primary_ip["type"])}
        rule = an_address if primary_ip["type"] == "ipv4" else a_range
        return {**primary_ip, "ip": rule(primary_ip["ip"], f"{where} ip")}

    def all_in(self, view: View) -> list[Object]:
        """All by their ids, those of servers among them."""
        found = {primary_ip["id"]: primary_ip for primary_ip in view.all("primary_ips")}
        for server in view.all("servers"):
            for family in FAMILIES:
                held = server["public_net"][family]
                if held is not None and held["id"] not in found:
                    place = {"ip": held["ip"], "location": server["location"], "blocked": held["blocked"]}
                    blank = self.template(held["id"], server["created"])
                    found[held["id"]] = {**blank, "type": family, "auto_delete": True, **place}
        return [found[primary_ip_id] for primary_ip_id in sorted(found)]

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:  # noqa: ARG002
        """With who has it, and the reverse names that it has there."""
        key, holder = view.once(_holders).get(stored["id"], (None, {}))
        if key is None:
            return fresh_copy(stored)
        assignee: Object = {"assignee_id": key[1], "assignee_type": singular(key[0])}
        if key[0] == "servers":
            assignee["dns_ptr"] = _names_of(stored["type"], holder["public_net"][stored["type"]])
        return fresh_copy(stored) | assignee

    def find(self, view: View, object_id: int) -> Object | None:
        """One, also of those that follow from a server."""
        return next((found for found in self.all_in(view) if found["id"] == object_id), None)

    def get(self, object_id: int) -> Object:
        """The Primary IP, stored from now on if it only followed from its server. Raises ``not_found``."""
        if self.store.get("primary_ips", object_id) is None:
            implied = self.find(self.store.truth(), object_id)
            if implied is not None:
                self.store.put("primary_ips", implied)
        return super().get(object_id)

    @route("POST /primary_ips")
    def create(self, body: Body) -> Response:
        """One that nothing has, or one for a stopped server."""
        body.only("name", "labels", "type", "location", "auto_delete", "assignee_type", "assignee_id")
        family = body.choice("type", FAMILIES)
        body.choice("assignee_type", _ASSIGNEES, "server")
        server = self._assignee(body, family) if body.has("assignee_id") else None
        primary_ip = self.new(
            name=self.checked_name(body),
            type=family,
            ip=self.project.addresses.new(family),
            location=wanted_entry(body, "location", LOCATIONS) if server is None else server["location"],
            auto_delete=body.boolean("auto_delete"),
            labels=body.labels(),
        )
        action = None if server is None else self._assign("create_primary_ip", primary_ip["id"], server["id"])
        return self.answer(primary_ip, 201, action=action)

    def updated(self, present: Object, body: Body) -> Object:
        """Name, labels and ``auto_delete``."""
        body.only("name", "labels", "auto_delete")
        kept = body.boolean("auto_delete", default=present["auto_delete"])
        return {**super().updated(present, body), "auto_delete": kept}

    def change_protection(self, body: Body, object_id: int) -> Response:
        """Against deletion, which the request has to name."""
        return super().change_protection(body.require("delete"), object_id)

    def check_unused(self, present: Object) -> None:
        """One that something has stays, since 2026-05-01."""
        self._require_unassigned(present, "must_be_unassigned")

    @route("POST /primary_ips/{id}/actions/assign")
    def assign(self, body: Body, primary_ip_id: int) -> Response:
        """To a stopped server that has none of the family."""
        body.only("assignee_type", "assignee_id")
        present = self.get(primary_ip_id)
        self._require_unassigned(present, "primary_ip_already_assigned")
        body.choice("assignee_type", _ASSIGNEES)
        server = self._assignee(body, present["type"])
        _require_in(present, server["location"], "primary_ip_datacenter_mismatch", "server")
        return self.project.answer(201, action=self._assign("assign_primary_ip", primary_ip_id, server["id"]))

    @route("POST /primary_ips/{id}/actions/unassign")
    def unassign(self, _body: Body, primary_ip_id: int) -> Response:
        """From a stopped server."""
        present = self.get(primary_ip_id)
        holder, server = self._holder(present)
        if holder is None:
            raise ApiError("service_error", "Primary IP is not assigned")
        _require_server(holder[0])
        self.project.actions.require_free(*holder)
        _require_stopped(server)
        taken = partial(self._take, present, holder[1])
        return self.project.answer(
            201, action=self.start("unassign_primary_ip", primary_ip_id, None, holder, effect=taken)
        )

    @route("POST /primary_ips/{id}/actions/change_dns_ptr")
    def change_dns_ptr(self, body: Body, primary_ip_id: int) -> Response:
        """The reverse name of an address, whoever has it."""
        present = self.get(primary_ip_id)
        address, dns_ptr = body.address("ip"), body.optional_text("dns_ptr")
        holder, _ = self._holder(present)
        if holder is not None:
            _require_server(holder[0])
        if ip_address(address) not in ip_network(present["ip"]):
            raise ApiError("not_found", f"IP '{address}' not found")

        def effect() -> None:
            if holder is None:
                names = with_reverse_name(self.get(primary_ip_id)["dns_ptr"], address, dns_ptr)
                self.store.change("primary_ips", primary_ip_id, dns_ptr=names)
            else:
                server = self.project.require("servers", holder[1])
                self.store.change("servers", holder[1], public_net=with_dns_ptr(server, address, dns_ptr))

        return self.project.answer(201, action=self.start("change_dns_ptr", primary_ip_id, effect=effect))

    def for_server(self, primary_ip_id: int, family: str, location: Object, name: str) -> Object:
        """The entry of ``public_net`` that a new server in ``location`` gets by it. Raises ApiError."""
        primary_ip = self._usable(primary_ip_id, family)
        _require_in(primary_ip, location, "primary_ip_datacenter_mismatch", "server")
        return _held_by_server(primary_ip, name)

    def for_load_balancer(self, primary_ip_id: int, family: str, location: Object) -> Object:
        """The public address that a new load balancer in ``location`` gets by it. Raises ApiError."""
        primary_ip = self._usable(primary_ip_id, family)
        _require_in(primary_ip, location, "primary_ip_location_mismatch", "Load Balancer")
        address = first_host(primary_ip["ip"])
        named = [entry["dns_ptr"] for entry in primary_ip["dns_ptr"] if entry["ip"] == address]
        dns_ptr = named[0] if named else default_dns_ptr(address)
        return {"id": primary_ip_id, "ip": address, "blocked": False, "dns_ptr": dns_ptr}

    def leave(self, holder: Object) -> None:
        """Remove those of a holder that is about to go which are deleted with it; the others keep their names."""
        for family in FAMILIES:
            held = holder["public_net"][family]
            primary_ip = self.store.get("primary_ips", held["id"]) if held and held["id"] else None
            if primary_ip is not None and primary_ip["auto_delete"]:
                self.store.remove("primary_ips", primary_ip["id"])
            elif primary_ip is not None:
                self.store.change("primary_ips", primary_ip["id"], dns_ptr=_names_of(family, held))

    def _assign(self, command: str, primary_ip_id: int, server_id: int) -> Action:
        def effect() -> None:
            server = self.project.require("servers", server_id)
            primary_ip = self.get(primary_ip_id)
            held = _held_by_server(primary_ip, server["name"])
            self.store.change("servers", server_id, public_net={**server["public_net"], primary_ip["type"]: held})

        return self.start(command, primary_ip_id, None, ("servers", server_id), effect=effect)

    def _take(self, primary_ip: Object, server_id: int) -> None:
        """Take it from the server that has it."""
        family, public_net = primary_ip["type"], self.project.require("servers", server_id)["public_net"]
        self.store.change("primary_ips", primary_ip["id"], dns_ptr=_names_of(family, public_net[family]))
        self.store.change("servers", server_id, public_net={**public_net, family: None})

    def _assignee(self, body: Body, family: str) -> Object:
        """The stopped server in ``assignee_id`` that lacks an address of the family. Raises ApiError."""
        _require_server(f"{body.choice('assignee_type', _ASSIGNEES, 'server')}s")
        server = self.project.require_free("servers", body.integer("assignee_id"))
        if server["public_net"][family] is not None:
            raise ApiError(f"server_has_{family}", f"server already has an {family} address")
        _require_stopped(server)
        return server

    def _holder(self, primary_ip: Object) -> tuple[Key | None, Object]:
        return _holders(self.store.truth()).get(primary_ip["id"], (None, {}))

    def _usable(self, primary_ip_id: int, family: str) -> Object:
        """A Primary IP of the family that nothing has. Raises ApiError."""
        primary_ip = self.get(primary_ip_id)
        if primary_ip["type"] != family:
            raise ApiError("primary_ip_version_mismatch", "the specified Primary IP has the wrong IP version")
        self._require_unassigned(primary_ip, "primary_ip_assigned")
        if primary_ip["blocked"]:
            raise ApiError("primary_ip_blocked", "the specified Primary IP is blocked")
        return primary_ip

    def _require_unassigned(self, primary_ip: Object, code: str) -> None:
        if primary_ip["assignee_id"] is not None or self._holder(primary_ip)[0] is not None:
            raise ApiError(code, "the specified Primary IP is already assigned to a resource")


def _holders(view: View) -> dict[Any, tuple[Key, Object]]:
    """Who has which Primary IP, by its id; those that nothing has are left out."""
    return {
        held["id"]: ((kind, holder["id"]), holder)
        for kind in _HOLDERS
        for holder in view.all(kind)
        for held in (holder["public_net"]["ipv4"], holder["public_net"]["ipv6"])
        if held is not None and held["id"] is not None
    }


def _names_of(family: str, held: Object) -> list[Object]:
    """The reverse names of an address of a server or load balancer, as a Primary IP has them."""
    if isinstance(held["dns_ptr"], list):
        return list(held["dns_ptr"])
    return [{"ip": held["ip"], "dns_ptr": held["dns_ptr"]}] if held["dns_ptr"] and family == "ipv4" else []


def _held_by_server(primary_ip: Object, name: str) -> Object:
    """The entry of a server's ``public_net``; an IPv4 address without a reverse name of its own gets the server's."""
    dns_ptr: object = primary_ip["dns_ptr"]
    if primary_ip["type"] == "ipv4":
        dns_ptr = next((entry["dns_ptr"] for entry in primary_ip["dns_ptr"]), name)
    return {"id": primary_ip["id"], "ip": primary_ip["ip"], "blocked": primary_ip["blocked"], "dns_ptr": dns_ptr}


def _require_in(primary_ip: Object, location: Object, code: str, what: str) -> None:
    if primary_ip["location"]["name"] != location["name"]:
        raise ApiError(code, f"the specified Primary IP is bound to a different Location than the {what}")


def _require_stopped(server: Object) -> None:
    if server["status"] != "off":
        raise ApiError("server_not_stopped", "server must be stopped to change its Primary IPs")


def _require_server(kind: str) -> None:
    if kind != "servers":
        message = "the simulator lets load balancers keep the Primary IPs of their creation"
        raise ApiError("unsupported_error", message)
