"""Load balancers: creating, changing and deleting them, their network and public interface.

Source: Hetzner Cloud API, load balancers and their actions. Known differences: the services and targets of a creation
are there at once, and only the network comes when its action ends; a load balancer whose creation fails disappears; a
creation in a network locks it and names it in its action; an unknown Primary IP is ``not_found``; a load balancer may
lose its network while its public interface is off, which leaves it without any address in use; one without a wanted
location goes to the first location of its network zone; a type past its end is ``resource_unavailable``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import (
    DEFAULT_LOAD_BALANCER_TYPE,
    DEFAULT_LOCATION,
    INCLUDED_TRAFFIC,
    LOAD_BALANCER_TYPES,
    LOCATIONS,
    NETWORK_ZONES,
    entry_of,
    load_balancer_types,
    wanted_entry,
)
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text, limit_exceeded
from hcloud_sandbox.hetzner.load_balancer_services import (
    assigned_certificates,
    complete_service,
    created_with_services,
    with_changed_service,
    with_service,
    without_service,
)
from hcloud_sandbox.hetzner.load_balancer_targets import (
    complete_target,
    is_private,
    shown_targets,
    with_target,
    without_target,
)
from hcloud_sandbox.hetzner.primary_ips import PrimaryIps
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.public_addresses import FAMILIES, default_dns_ptr, first_host
from hcloud_sandbox.hetzner.resource import BodyChange, Resource, route
from hcloud_sandbox.hetzner.store import Object, View, fresh_copy
from hcloud_sandbox.shapes import Rule, an_address, each, optional, part, shape

_ALGORITHMS = ("round_robin", "least_connections")
_ALGORITHM: Object = {"type": _ALGORITHMS[0]}
_PUBLIC_NET: Object = {"enabled": True, "ipv4": {}, "ipv6": {}}
_ADDRESS: Object = {"id": None, "ip": None, "blocked": False, "dns_ptr": None}
"""The service's own addresses are no Primary IPs, so their id stays null."""


class LoadBalancers(Resource):
    """Load balancers; one change at a time, checked when it is requested and once more when it happens."""

    kind = "load_balancers"
    protections = ("delete",)
    waits = True
    commands: ClassVar = {"change_type": "change_load_balancer_type"}
    longest_name = 128

    def __init__(self, project: Project, attachments: Attachments, primary_ips: PrimaryIps) -> None:
        super().__init__(project)
        self._attachments = attachments
        self._primary_ips = primary_ips
        self.types = load_balancer_types(project.options.load_balancer_types_end)

    def template(self, object_id: int, created: str) -> Object:
        """One without services, targets and network."""
        return {
            "id": object_id,
            "name": f"load-balancer-{object_id}",
            "public_net": _PUBLIC_NET,
            "private_net": [],
            "location": LOCATIONS[DEFAULT_LOCATION],
            "load_balancer_type": LOAD_BALANCER_TYPES[DEFAULT_LOAD_BALANCER_TYPE],
            "protection": {"delete": False},
            "labels": {},
            "created": created,
            "services": [],
            "targets": [],
            "algorithm": _ALGORITHM,
            "outgoing_traffic": 0,
            "ingoing_traffic": 0,
            "included_traffic": INCLUDED_TRAFFIC,
        }

    def rules(self) -> Mapping[str, Rule]:
        """Addresses in networks follow when all objects are known, those of targets after them."""
        return {
            "load_balancer_type": entry_of(LOAD_BALANCER_TYPES, DEFAULT_LOAD_BALANCER_TYPE),
            "algorithm": part(_ALGORITHM),
            "public_net": part(_PUBLIC_NET, {family: partial(self._complete_address, family) for family in FAMILIES}),
            "private_net": each(self._attachments.complete),
            "services": each(complete_service),
            "targets": each(complete_target),
        }

    def changes(self) -> Mapping[str, BodyChange]:
        """All actions but those of the network."""
        return {
            "add_service": partial(with_service, self.project),
            "update_service": partial(with_changed_service, self.project),
            "delete_service": without_service,
            "add_target": partial(with_target, self.project),
            "remove_target": without_target,
            "change_type": self._with_wanted_type,
            "change_algorithm": lambda _, body: {"algorithm": {"type": body.choice("type", _ALGORITHMS)}},
            "change_dns_ptr": _with_dns_ptr,
            "enable_public_interface": lambda now, _: {"public_net": {**now["public_net"], "enabled": True}},
            "disable_public_interface": _without_public_interface,
        }

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:
        """With what label selectors find, and the health of targets."""
        silence = self.project.faults.silence_of if live else lambda *_: None
        return fresh_copy({**stored, "targets": shown_targets(view, stored, silence)})

    def checked_name(self, body: Body, own_id: int | None = None) -> str:
        """A name without spaces around it."""
        name = super().checked_name(body, own_id)
        if name != name.strip():
            raise invalid_field("name", "must not start or end with a space")
        return name

    def discard(self, object_id: int) -> None:
        """With the Primary IPs that go with it."""
        present = self.store.get("load_balancers", object_id)
        if present is not None:
            self._primary_ips.leave(present)
        self._forget(object_id)

    @route("POST /load_balancers")
    def create(self, body: Body) -> Response:
        """Everything in one body; the load balancer, preliminary, and its action."""
        balancer = self._ordered(body)
        balancer = created_with_services(self.project, balancer, body.objects("services"))
        network_id = body.optional_integer("network")
        network = None if network_id is None else self.project.require_free("networks", network_id)
        try:
            self.store.put("load_balancers", self._with_targets(balancer, network, body))
        except ApiError:
            self._attachments.forget("load_balancers", balancer["id"])
            raise
        action = self.project.actions.start(
            "create_load_balancer",
            ("load_balancers", balancer["id"]),
            *([("networks", network["id"])] if network else ()),
            effect=lambda: self._attachments.settle("load_balancers", balancer["id"]),
            on_failure=lambda _: self._forget(balancer["id"]),
        )
        return self.answer(balancer, 201, action=action)

    def delete(self, _body: Body, object_id: int) -> Response:
        """201 with the action after which it is gone."""
        self.deletable(object_id)
        return self.act("delete_load_balancer", object_id, effect=lambda: self.discard(object_id))

    @route("POST /load_balancers/{id}/actions/attach_to_network")
    def attach_to_network(self, body: Body, object_id: int) -> Response:
        """Locks the load balancer and the network."""
        return self._attachments.attach(self.kind, object_id, body)

    @route("POST /load_balancers/{id}/actions/detach_from_network")
    def detach_from_network(self, body: Body, object_id: int) -> Response:
        """Locks the same; targets by private address are refused, or go with the network."""
        refused = self.project.options.private_targets_at_detachment == "refused"
        if refused and any(is_private(target) for target in self.free(object_id)["targets"]):
            raise ApiError("service_error", "load balancer has targets that use the private IP")
        return self._attachments.detach(self.kind, object_id, body)

    def _with_wanted_type(self, now: Object, body: Body) -> Object:
        """With one that holds the present services, targets and certificates; or with the same. Raises ApiError."""
        wanted = wanted_entry(body, "load_balancer_type", self.types)
        same = wanted["name"] == now["load_balancer_type"]["name"]
        if not same and not (_fits(now, wanted) and self._is_available(wanted)):
            raise ApiError("invalid_load_balancer_type", "load balancer type does not fit for the given load balancer")
        return _with_type(now, wanted)

    def _ordered(self, body: Body) -> Object:
        """The new load balancer without services, targets and network, not stored yet. Raises ApiError."""
        name = self.checked_name(body)
        wanted = wanted_entry(body, "load_balancer_type", self.types)
        if not self._is_available(wanted):
            raise ApiError("resource_unavailable", "load balancer type is unavailable")
        location = _wanted_location(body)
        algorithm = _ALGORITHMS[0]
        if body.has("algorithm"):
            algorithm = body.object("algorithm").choice("type", _ALGORITHMS)
        fields = {"name": name, "location": location, "algorithm": {"type": algorithm}, "labels": body.labels()}
        public_net = self._public_net(body, location)
        if len(self.store.truth().all("load_balancers")) >= self.project.options.load_balancer_limit:
            raise limit_exceeded("load_balancer_limit")
        blank = self.template(self.store.next_id("load_balancers"), self.project.now())
        return _with_type({**blank, **fields, "public_net": public_net}, wanted)

    def _with_targets(self, balancer: Object, network: Object | None, body: Body) -> Object:
        """The load balancer with the targets of its creation, and its place in the network reserved."""
        attached = balancer
        if network is not None:
            entry = self._attachments.plan("load_balancers", balancer, network)
            if self.project.options.private_targets_at_creation == "accepted":
                attached = {**balancer, "private_net": [entry]}
        for target in body.objects("targets"):
            attached = with_target(self.project, attached, target)
        return {**attached, "private_net": []}

    def _public_net(self, body: Body, location: Object) -> Object:
        enabled = body.boolean("public_interface", default=True)
        wanted = body.object("public_net")
        chosen = {family: wanted.integer(family) for family in FAMILIES if wanted.has(family)}
        if chosen and not enabled:
            raise invalid_field("public_net", "is only allowed if the public interface is enabled")
        public_net: Object = {"enabled": enabled}
        for family in FAMILIES:
            if family in chosen:
                public_net[family] = self._primary_ips.for_load_balancer(chosen[family], family, location)
            else:
                address = first_host(self.project.addresses.new(family))
                public_net[family] = {**_ADDRESS, "ip": address, "dns_ptr": default_dns_ptr(address)}
        return public_net

    def _complete_address(self, family: str, given: Any, where: str) -> Object:
        address = shape(given, _ADDRESS, where, {"ip": optional(an_address)})
        if "ip" in given:
            return address
        primary_ip = None if address["id"] is None else self.store.get("primary_ips", address["id"])
        return {**address, "ip": first_host(primary_ip["ip"] if primary_ip else self.project.addresses.new(family))}

    def _is_available(self, wanted: Object) -> bool:
        """Whether the type can still be ordered. Times are as the API writes them, and compare as text."""
        deprecation = wanted["deprecation"]
        return deprecation is None or self.project.now() < str(deprecation["unavailable_after"])

    def _forget(self, object_id: int) -> None:
        self._attachments.forget("load_balancers", object_id)
        self.store.remove("load_balancers", object_id)


def _with_dns_ptr(now: Object, body: Body) -> Object:
    """Another reverse name of one of its public addresses; null resets it. Raises ApiError."""
    address, name = body.address("ip"), body.optional_text("dns_ptr")
    if not body.sent("dns_ptr"):
        raise invalid_field("dns_ptr", "is missing")
    for family in FAMILIES:
        held = now["public_net"][family]
        if held["ip"] == address:
            named = {**held, "dns_ptr": default_dns_ptr(address) if name is None else name}
            return {"public_net": {**now["public_net"], family: named}}
    raise ApiError("not_found", f"IP '{address}' not found")


def _without_public_interface(now: Object, _body: Body) -> Object:
    """The addresses stay, but no target may need them. Raises ApiError."""
    if not now["private_net"]:
        raise ApiError("load_balancer_not_attached_to_network", "load balancer is not attached to a network")
    if not all(is_private(target) for target in now["targets"]):
        message = "load balancer has targets that use the public IP instead of the private IP"
        raise ApiError("targets_without_use_private_ip", message)
    return {"public_net": {**now["public_net"], "enabled": False}}


def _wanted_location(body: Body) -> Object:
    """The place in ``location``, or one in ``network_zone``; one of both must be given. Raises ApiError."""
    if body.has("location") == body.has("network_zone"):
        raise invalid_text("either location or network_zone must be given")
    if body.has("location"):
        return wanted_entry(body, "location", LOCATIONS)
    zone = body.choice("network_zone", NETWORK_ZONES)
    return next(location for location in LOCATIONS.values() if location["network_zone"] == zone)


def _fits(balancer: Object, wanted: Object) -> bool:
    needed = {
        "max_services": len(balancer["services"]),
        "max_targets": len(balancer["targets"]),
        "max_assigned_certificates": len(assigned_certificates(balancer)),
    }
    return all(number <= wanted[limit] for limit, number in needed.items())


def _with_type(balancer: Object, wanted: Object) -> Object:
    """The load balancer with a type, and with the traffic that the type includes in its location."""
    included = {price["location"]: price["included_traffic"] for price in wanted["prices"]}
    traffic = included.get(balancer["location"]["name"], balancer["included_traffic"])
    return {**balancer, "load_balancer_type": wanted, "included_traffic": traffic}
