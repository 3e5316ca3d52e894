"""Firewalls: their rules, and the servers and label selectors that they are applied to.

Source: Hetzner Cloud API, firewalls and firewall actions, and the vendor's clients. Known differences: there is no
traffic to filter, so a firewall hides nothing from health checks (the fault ``no_answer`` does); a firewall is
``applied`` as soon as its action ends, and never ``pending``; firewalls in the creation of a server are applied
from the request on, by no action of their own.
"""

import re
from collections.abc import Mapping
from ipaddress import ip_network

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, limit_exceeded
from hcloud_sandbox.hetzner.resource import Resource, route
from hcloud_sandbox.hetzner.selectors import parse_selector
from hcloud_sandbox.hetzner.store import Key, Object, Store, View, fresh_copy
from hcloud_sandbox.shapes import Rule, an_object, each

MAX_RULES = 50
_RESOURCE = ("type", "server", "label_selector")
_MAX_RANGES = 100
_WITH_PORTS = ("tcp", "udp")
_PROTOCOLS = (*_WITH_PORTS, "icmp", "esp", "gre")
_RANGES_BY_DIRECTION = {"in": "source_ips", "out": "destination_ips"}
_PORTS = re.compile(r"any|([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)
_DESCRIPTION = range(256)


class Firewalls(Resource):
    """Firewalls. The one truth is ``applied_to`` of the firewall."""

    kind = "firewalls"

    def template(self, object_id: int, created: str) -> Object:
        """One without rules that is applied to nothing."""
        blank = {"id": object_id, "name": f"firewall-{object_id}", "labels": {}, "created": created}
        return {**blank, "rules": [], "applied_to": []}

    def rules(self) -> Mapping[str, Rule]:
        """Both are lists of objects, which ``complete`` reads."""
        return {"rules": each(an_object), "applied_to": each(an_object)}

    def complete(self, given: Object, where: str) -> Object:
        """A firewall whose rules are as those of a request."""
        firewall = super().complete(given, where)
        try:
            rules = _wanted_rules(Body({"rules": firewall["rules"]}))
            applied_to = [_entry(Body(entry)) for entry in firewall["applied_to"]]
        except ApiError as error:
            raise ValueError(f"{where}: {error.message}") from None
        return {**firewall, "rules": rules, "applied_to": applied_to}

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:  # noqa: ARG002
        """With the servers that label selectors find."""
        return fresh_copy(stored) | {"applied_to": [_shown_entry(view, entry) for entry in stored["applied_to"]]}

    @route("POST /firewalls")
    def create(self, body: Body) -> Response:
        """At once, with an action for each resource that it is applied to."""
        body.only("name", "labels", "rules", "apply_to")
        wanted = {"name": self.checked_name(body), "labels": body.labels(), "rules": _wanted_rules(body)}
        entries = [self._applicable({"applied_to": []}, resource, 422) for resource in body.objects("apply_to")]
        firewall = self.new(**wanted)
        return self.answer(firewall, 201, actions=[self._apply(firewall["id"], entry) for entry in entries])

    def updated(self, present: Object, body: Body) -> Object:
        """Name and labels."""
        return super().updated(present, body.only("name", "labels"))

    def check_unused(self, present: Object) -> None:
        """A firewall that is applied stays."""
        if present["applied_to"]:
            raise ApiError("resource_in_use", "firewall still in use")

    @route("POST /firewalls/{id}/actions/set_rules")
    def set_rules(self, body: Body, firewall_id: int) -> Response:
        """All of them; none empties the firewall."""
        self.free(firewall_id)
        action = self.start(
            "set_firewall_rules", firewall_id, {"rules": _wanted_rules(body.only("rules").require("rules"))}
        )
        return self.project.answer(201, actions=[action])

    @route("POST /firewalls/{id}/actions/apply_to_resources")
    def apply(self, body: Body, firewall_id: int) -> Response:
        """To servers and label selectors."""
        firewall = self.free(firewall_id)
        resources = body.only("apply_to").require("apply_to").objects("apply_to")
        wanted = [self._applicable(firewall, resource) for resource in resources]
        return self.project.answer(201, actions=[self._apply(firewall_id, entry) for entry in wanted])

    @route("POST /firewalls/{id}/actions/remove_from_resources")
    def remove(self, body: Body, firewall_id: int) -> Response:
        """From what it was applied to by name; not from a server that a selector found."""
        firewall = self.free(firewall_id)
        resources = body.only("remove_from").require("remove_from").objects("remove_from")
        wanted = [self._removable(firewall, resource) for resource in resources]
        return self.project.answer(201, actions=[self._remove(firewall_id, entry) for entry in wanted])

    def _applicable(self, firewall: Object, resource: Body, not_found: int = 404) -> Object:
        entry = _entry(resource.only(*_RESOURCE))
        if entry["type"] == "server":
            server = self.store.get("servers", entry["server"]["id"])
            if server is None:
                message = "server that the firewall should be applied to not found"
                raise ApiError("firewall_resource_not_found", message, status=not_found)
            if server["public_net"]["ipv4"] is None and server["public_net"]["ipv6"] is None:
                raise ApiError("private_net_only_server", "server has no public interface")
        if entry in firewall["applied_to"]:
            raise ApiError("firewall_already_applied", "firewall was already applied on resource")
        return entry

    def _removable(self, firewall: Object, resource: Body) -> Object:
        entry = _entry(resource.only(*_RESOURCE))
        if entry in firewall["applied_to"]:
            return entry
        if entry["type"] == "server":
            server = self.store.get("servers", entry["server"]["id"])
            if server is None:
                message = "server to remove the firewall from not found"
                raise ApiError("firewall_resource_not_found", message, status=404)
            if is_behind(firewall, server):
                message = "firewall is applied via a label selector and cannot be removed manually"
                raise ApiError("firewall_managed_by_label_selector", message)
        raise ApiError("firewall_already_removed", "firewall was already removed from the resource")

    def _apply(self, firewall_id: int, entry: Object) -> Action:
        def change(now: Object) -> Object:
            for _, server_id in _servers_in(entry):  # a list that shrinks takes it away whatever runs on it
                self.project.require("servers", server_id)
            return _applied(now, entry)

        return self.start("apply_firewall", firewall_id, change, *_servers_in(entry))

    def _remove(self, firewall_id: int, entry: Object) -> Action:
        def change(now: Object) -> Object:
            return {"applied_to": [kept for kept in now["applied_to"] if kept != entry]}

        return self.start("remove_firewall", firewall_id, change, *_servers_in(entry))


def apply_to_server(store: Store, firewall_id: int, server_id: int) -> None:
    """Apply a firewall to one more server; nothing when it is gone, or applied to that already."""
    firewall = store.get("firewalls", firewall_id)
    if firewall is not None:
        store.change("firewalls", firewall_id, **_applied(firewall, server_entry(server_id)))


def _applied(firewall: Object, entry: Object) -> Object:
    present = firewall["applied_to"]
    return {"applied_to": present if entry in present else [*present, entry]}


def server_entry(server_id: int) -> Object:
    """A server among what a firewall is applied to."""
    return {"type": "server", "server": {"id": server_id}}


def is_behind(firewall: Object, server: Object) -> bool:
    """Whether the firewall is applied to the server, by name or by a label selector."""
    return any(
        entry["server"]["id"] == server["id"]
        if entry["type"] == "server"
        else parse_selector(entry["label_selector"]["selector"])(server["labels"])
        for entry in firewall["applied_to"]
    )


def _entry(resource: Body) -> Object:
    """What a request names, with nothing but its name."""
    if resource.choice("type", ("server", "label_selector")) == "server":
        return server_entry(resource.object("server").only("id").integer("id"))
    selector = resource.object("label_selector").only("selector").text("selector")
    parse_selector(selector)
    return {"type": "label_selector", "label_selector": {"selector": selector}}


def _shown_entry(view: View, entry: Object) -> Object:
    if entry["type"] == "server":
        return fresh_copy(entry)
    matches = parse_selector(entry["label_selector"]["selector"])
    found = [server_entry(server["id"]) for server in view.all("servers") if matches(server["labels"])]
    return {**fresh_copy(entry), "applied_to_resources": found}


def _servers_in(entry: Object) -> list[Key]:
    return [("servers", entry["server"]["id"])] if entry["type"] == "server" else []


def _wanted_rules(body: Body) -> list[Object]:
    rules = [_wanted_rule(rule) for rule in body.objects("rules")]
    if len(rules) > MAX_RULES:
        raise limit_exceeded("firewall_rule_limit")
    return rules


def _wanted_rule(body: Body) -> Object:
    body.only("description", "direction", "protocol", "port", *_RANGES_BY_DIRECTION.values())
    direction = body.choice("direction", tuple(_RANGES_BY_DIRECTION))
    protocol = body.choice("protocol", _PROTOCOLS)
    port = body.optional_text("port")
    if (port is not None) != (protocol in _WITH_PORTS):
        raise body.wrong("port", f"is {'missing' if port is None else 'not allowed'} for protocol {protocol}")
    if port is not None and not _are_ports(port):
        raise body.wrong("port", "must be a port, a range such as 1024-5000, or any")
    named = _RANGES_BY_DIRECTION[direction]
    ranges = body.texts(named)
    if not 1 <= len(ranges) <= _MAX_RANGES:
        raise body.wrong(named, f"must have 1 to {_MAX_RANGES} ranges")
    for text in ranges:
        try:
            ip_network(text)
        except ValueError:
            raise body.wrong(named, f"'{text}' is no range in CIDR notation") from None
    rule: Object = {"description": body.optional_text("description", _DESCRIPTION), "direction": direction}
    return {**rule, "protocol": protocol, "port": port, "source_ips": [], "destination_ips": [], named: ranges}


def _are_ports(text: str) -> bool:
    match = _PORTS.fullmatch(text)
    if match is None:
        return False
    ports = [int(port) for port in match.groups() if port is not None]
    return all(1 <= port <= 65535 for port in ports) and ports == sorted(ports)
