"""Firewalls: their rules, and the servers and label selectors that they are applied to.

Source: Hetzner Cloud API, firewalls and firewall actions, and the vendor's clients. Known differences: there is no
traffic to filter, so a firewall hides nothing from health checks (the fault ``no_answer`` does); a firewall is
``applied`` as soon as its action ends, and never ``pending``; firewalls in the creation of a server are applied when
that ends, by no action of their own.
"""

import re
from ipaddress import ip_network

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Action, Resource
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.completing import check_labels_shape, check_type, complete, completed_list
from hcloud_sandbox.hetzner.errors import ApiError, limit_exceeded
from hcloud_sandbox.hetzner.naming import wanted_name
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.rendering import is_behind
from hcloud_sandbox.hetzner.selectors import parse_selector
from hcloud_sandbox.hetzner.store import Object

MAX_RULES = 50
_MAX_RANGES = 100
_WITH_PORTS = ("tcp", "udp")
_PROTOCOLS = (*_WITH_PORTS, "icmp", "esp", "gre")
_RANGES_BY_DIRECTION = {"in": "source_ips", "out": "destination_ips"}
_PORTS = re.compile(r"any|([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)
_DESCRIPTION = range(256)


class Firewalls:
    """The writing half of ``/firewalls``. The one truth is ``applied_to`` of the firewall."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def create(self, request: Request) -> Response:
        """``POST /firewalls``: at once, with an action for each resource that it is applied to."""
        body = Body.of(request)
        firewall = {
            **_template(self._project.store.next_id("firewalls"), self._project.now()),
            "name": wanted_name(self._project, "firewalls", body),
            "labels": body.labels() or {},
            "rules": _wanted_rules(body),
        }
        wanted = [self._applicable(firewall, resource) for resource in body.objects("apply_to")]
        self._project.store.put("firewalls", firewall)
        actions = [self._apply(firewall["id"], entry) for entry in wanted]
        present = self._project.require("firewalls", firewall["id"])
        return self._answer(actions, {"firewall": self._project.shown("firewalls", present)})

    def delete(self, _request: Request, firewall_id: int) -> Response:
        """``DELETE /firewalls/{id}``: of one that is applied to nothing."""
        if self._project.require_free("firewalls", firewall_id)["applied_to"]:
            raise ApiError("resource_in_use", "firewall still in use")
        self._project.store.remove("firewalls", firewall_id)
        return Response(204)

    def set_rules(self, request: Request, firewall_id: int) -> Response:
        """``set_rules``: all of them; none empties the firewall."""
        self._project.require_free("firewalls", firewall_id)
        rules = _wanted_rules(Body.of(request))
        action = self._project.actions.start(
            "set_firewall_rules",
            ("firewall", firewall_id),
            effect=lambda: self._project.change("firewalls", firewall_id, rules=rules),
        )
        return self._answer([action])

    def apply(self, request: Request, firewall_id: int) -> Response:
        """``apply_to_resources``: servers, and label selectors."""
        firewall = self._project.require_free("firewalls", firewall_id)
        wanted = [self._applicable(firewall, resource) for resource in Body.of(request).objects("apply_to")]
        return self._answer([self._apply(firewall_id, entry) for entry in wanted])

    def remove(self, request: Request, firewall_id: int) -> Response:
        """``remove_from_resources``: what it was applied to by name; not a server that a selector found."""
        firewall = self._project.require_free("firewalls", firewall_id)
        wanted = [self._removable(firewall, resource) for resource in Body.of(request).objects("remove_from")]
        return self._answer([self._remove(firewall_id, entry) for entry in wanted])

    def require_applicable(self, body: Body) -> list[int]:
        """The ids in ``firewalls`` of the creation of a server. Raises ``not_found``."""
        ids = [each.integer("firewall") for each in body.objects("firewalls")]
        for firewall_id in ids:
            self._project.require("firewalls", firewall_id)
        return ids

    def apply_to_new(self, server_id: int, firewall_ids: list[int]) -> None:
        """Apply those of them that are still there to a server that was just created."""
        for firewall_id in firewall_ids:
            add_resource(self._project, firewall_id, server_entry(server_id))

    def _applicable(self, firewall: Object, resource: Body) -> Object:
        entry = _entry(resource)
        if entry["type"] == "server":
            server = self._project.store.get("servers", entry["server"]["id"])
            if server is None:
                raise ApiError("firewall_resource_not_found", "server that the firewall should be applied to not found")
            if server["public_net"]["ipv4"] is None and server["public_net"]["ipv6"] is None:
                raise ApiError("private_net_only_server", "server has no public interface")
        if entry in firewall["applied_to"]:
            raise ApiError("firewall_already_applied", "firewall was already applied on resource")
        return entry

    def _removable(self, firewall: Object, resource: Body) -> Object:
        entry = _entry(resource)
        if entry in firewall["applied_to"]:
            return entry
        if entry["type"] == "server":
            server = self._project.store.get("servers", entry["server"]["id"])
            if server is None:
                raise ApiError("firewall_resource_not_found", "server to remove the firewall from not found")
            if is_behind(firewall, server):
                message = "firewall is applied via a label selector and cannot be removed manually"
                raise ApiError("firewall_managed_by_label_selector", message)
        raise ApiError("firewall_already_removed", "firewall was already removed from the resource")

    def _apply(self, firewall_id: int, entry: Object) -> Action:
        return self._project.actions.start(
            "apply_firewall",
            *_resources(firewall_id, entry),
            effect=lambda: add_resource(self._project, firewall_id, entry),
        )

    def _remove(self, firewall_id: int, entry: Object) -> Action:
        def effect() -> None:
            left = [kept for kept in self._project.require("firewalls", firewall_id)["applied_to"] if kept != entry]
            self._project.change("firewalls", firewall_id, applied_to=left)

        return self._project.actions.start("remove_firewall", *_resources(firewall_id, entry), effect=effect)

    def _answer(self, actions: list[Action], more: Object | None = None) -> Response:
        return Response(201, {**(more or {}), "actions": [self._project.actions.render(action) for action in actions]})


def add_resource(project: Project, firewall_id: int, entry: Object) -> None:
    """Apply a firewall to one more resource; nothing when the firewall is gone, or applied to it already."""
    firewall = project.store.get("firewalls", firewall_id)
    if firewall is not None and entry not in firewall["applied_to"]:
        project.change("firewalls", firewall_id, applied_to=[*firewall["applied_to"], entry])


def server_entry(server_id: int) -> Object:
    """A server among what a firewall is applied to."""
    return {"type": "server", "server": {"id": server_id}}


def complete_firewall(given: Object, created: str, where: str) -> Object:
    """A firewall of a world file; rules are those of a request."""
    firewall = complete(given, _template(given["id"], created), where)
    check_labels_shape(firewall["labels"], f"{where} labels")
    entries = completed_list(firewall["applied_to"], f"{where} applied_to")
    for part in (*entries, *completed_list(firewall["rules"], f"{where} rules")):
        check_type(part, dict, "an object", where)
    try:
        rules = _wanted_rules(Body({"rules": firewall["rules"]}))
        applied_to = [_entry(Body(entry)) for entry in entries]
    except ApiError as error:
        raise ValueError(f"{where}: {error.message}") from None
    return {**firewall, "rules": rules, "applied_to": applied_to}


def _entry(resource: Body) -> Object:
    """What a request names, with nothing but its name."""
    if resource.choice("type", ("server", "label_selector"), None) == "server":
        return server_entry(resource.object("server").integer("id"))
    selector = resource.object("label_selector").text("selector")
    parse_selector(selector)
    return {"type": "label_selector", "label_selector": {"selector": selector}}


def _resources(firewall_id: int, entry: Object) -> list[Resource]:
    servers = [("server", entry["server"]["id"])] if entry["type"] == "server" else []
    return [*servers, ("firewall", firewall_id)]


def _wanted_rules(body: Body) -> list[Object]:
    rules = [_wanted_rule(rule) for rule in body.objects("rules")]
    if len(rules) > MAX_RULES:
        raise limit_exceeded("firewall rule limit exceeded", "firewall_rule_limit")
    return rules


def _wanted_rule(body: Body) -> Object:
    direction = body.choice("direction", tuple(_RANGES_BY_DIRECTION), None)
    protocol = body.choice("protocol", _PROTOCOLS, None)
    port = body.optional_text("port")
    if (port is not None) != (protocol in _WITH_PORTS):
        raise body.wrong("port", f"is {'missing' if port is None else 'not allowed'} for protocol {protocol}")
    if port is not None and not _are_ports(port):
        raise body.wrong("port", "must be a port, a range such as 1024-5000, or any")
    ranges: dict[str, list[str]] = {"source_ips": [], "destination_ips": []}
    named = _RANGES_BY_DIRECTION[direction]
    ranges[named] = body.texts(named)
    if not 1 <= len(ranges[named]) <= _MAX_RANGES:
        raise body.wrong(named, f"must have 1 to {_MAX_RANGES} ranges")
    for text in ranges[named]:
        try:
            ip_network(text)
        except ValueError:
            raise body.wrong(named, f"'{text}' is no range in CIDR notation") from None
    description = body.limited_text("description", _DESCRIPTION, "") if body.has("description") else None
    return {"description": description, "direction": direction, "protocol": protocol, "port": port, **ranges}


def _are_ports(text: str) -> bool:
    match = _PORTS.fullmatch(text)
    if match is None:
        return False
    ports = [int(port) for port in match.groups() if port is not None]
    return all(1 <= port <= 65535 for port in ports) and ports == sorted(ports)


def _template(firewall_id: int, created: str) -> Object:
    blank = {"id": firewall_id, "name": f"firewall-{firewall_id}", "labels": {}, "created": created}
    return {**blank, "rules": [], "applied_to": []}
