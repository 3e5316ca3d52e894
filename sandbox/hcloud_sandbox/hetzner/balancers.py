"""Load balancers: creating, changing and deleting them.

Source: Hetzner Cloud API, load balancers. Known differences: the services and targets of a creation are there at once,
and only the network comes when its action ends; a load balancer whose creation fails disappears; a creation in a
network locks it and names it in its action; an unknown Primary IP is ``not_found``.
"""

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.balancer_changes import BalancerChanges
from hcloud_sandbox.hetzner.balancer_services import BalancerServices
from hcloud_sandbox.hetzner.balancer_targets import BalancerTargets
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, limit_exceeded
from hcloud_sandbox.hetzner.objects import (
    PublicAddresses,
    default_dns_ptr,
    load_balancer_template,
    system_address,
)
from hcloud_sandbox.hetzner.ordering import is_available, wanted_balancer_location, wanted_load_balancer_type
from hcloud_sandbox.hetzner.primary_ips import PrimaryIps
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.rendering import assigned_certificates
from hcloud_sandbox.hetzner.store import Object

_ALGORITHMS = ("round_robin", "least_connections")
_NAME = range(1, 129)
_FAMILIES = ("ipv4", "ipv6")


class Balancers:
    """The writing half of ``/load_balancers``, but for services, targets and networks."""

    def __init__(
        self,
        project: Project,
        attachments: Attachments,
        changes: BalancerChanges,
        services: BalancerServices,
        targets: BalancerTargets,
        primary_ips: PrimaryIps,
    ) -> None:
        self._project = project
        self._attachments = attachments
        self._changes = changes
        self._services = services
        self._targets = targets
        self._primary_ips = primary_ips

    def create(self, request: Request) -> Response:
        """``POST /load_balancers``: everything in one body; the load balancer, preliminary, and its action."""
        body = Body.of(request)
        balancer = self._services.created_with(self._ordered(body), body.objects("services"))
        network = self._project.require("networks", body.integer("network")) if body.has("network") else None
        if network is not None:
            self._project.actions.require_free("network", network["id"])
        try:
            self._project.store.put("load_balancers", self._with_targets(balancer, network, body))
        except ApiError:
            self._attachments.forget(balancer["id"], "load_balancers")
            raise
        resources = [("load_balancer", balancer["id"]), *([("network", network["id"])] if network else [])]
        action = self._project.actions.start(
            "create_load_balancer",
            *resources,
            effect=lambda: self._attachments.settle(balancer["id"], "load_balancers"),
            on_failure=lambda: self._forget(balancer["id"]),
        )
        present = self._project.store.get("load_balancers", balancer["id"]) or balancer
        body_of_answer = {
            "load_balancer": self._project.shown("load_balancers", present),
            "action": self._project.actions.render(action),
        }
        return Response(201, body_of_answer)

    def update(self, request: Request, balancer_id: int) -> Response:
        """``PUT /load_balancers/{id}``: name and labels; not while an action runs."""
        changed = dict(self._changes.free(balancer_id))
        body = Body.of(request)
        if body.has("name"):
            changed["name"] = self._checked_name(body, balancer_id)
        if (labels := body.labels()) is not None:
            changed["labels"] = labels
        self._project.store.put("load_balancers", changed)
        return Response(200, {"load_balancer": self._project.shown("load_balancers", changed)})

    def delete(self, _request: Request, balancer_id: int) -> Response:
        """``DELETE /load_balancers/{id}``: 201 with the action after which it is gone."""
        if self._changes.free(balancer_id)["protection"]["delete"]:
            raise ApiError("protected", "load balancer is delete protected")
        resource = ("load_balancer", balancer_id)
        action = self._project.actions.start("delete_load_balancer", resource, effect=lambda: self._remove(balancer_id))
        return self._changes.started(action)

    def change_type(self, request: Request, balancer_id: int) -> Response:
        """``change_type``: to one that holds the present services, targets and certificates; or to the same."""
        body = Body.of(request)

        def change(now: Object) -> Object:
            wanted = wanted_load_balancer_type(body, self._project.load_balancer_types)
            same = wanted["name"] == now["load_balancer_type"]["name"]
            if not same and not (_fits(now, wanted) and is_available(wanted, self._project.now())):
                message = "load balancer type does not fit for the given load balancer"
                raise ApiError("invalid_load_balancer_type", message)
            return _with_type(now, wanted)

        return self._changes.start("change_load_balancer_type", balancer_id, change)

    def change_algorithm(self, request: Request, balancer_id: int) -> Response:
        """``change_algorithm``, also to the present one."""
        body = Body.of(request)

        def change(now: Object) -> Object:
            return {**now, "algorithm": {"type": body.choice("type", _ALGORITHMS, None)}}

        return self._changes.start("change_algorithm", balancer_id, change)

    def change_protection(self, request: Request, balancer_id: int) -> Response:
        """``change_protection``: against deletion."""
        body = Body.of(request)

        def change(now: Object) -> Object:
            return {**now, "protection": {"delete": body.boolean("delete", default=now["protection"]["delete"])}}

        return self._changes.start("change_protection", balancer_id, change)

    def change_dns_ptr(self, request: Request, balancer_id: int) -> Response:
        """``change_dns_ptr`` of one of its public addresses; null resets it."""
        body = Body.of(request)

        def change(now: Object) -> Object:
            address, name = body.address("ip"), body.optional_text("dns_ptr")
            if not body.sent("dns_ptr"):
                raise invalid_field("dns_ptr", "is missing")
            for family in _FAMILIES:
                held = now["public_net"][family]
                if held["ip"] == address:
                    named = {**held, "dns_ptr": default_dns_ptr(address) if name is None else name}
                    return {**now, "public_net": {**now["public_net"], family: named}}
            raise ApiError("not_found", f"IP '{address}' not found")

        return self._changes.start("change_dns_ptr", balancer_id, change)

    def _ordered(self, body: Body) -> Object:
        """The new load balancer without services, targets and network. Raises ApiError."""
        name = self._checked_name(body, None)
        wanted = wanted_load_balancer_type(body, self._project.load_balancer_types)
        if not is_available(wanted, self._project.now()):
            raise ApiError("resource_unavailable", "load balancer type is unavailable")
        location = wanted_balancer_location(body)
        algorithm = body.object("algorithm").choice("type", _ALGORITHMS, _ALGORITHMS[0])
        labels = body.labels() or {}
        public_net = self._public_net(body, location)
        if len(self._project.store.truth().all("load_balancers")) >= self._project.options.load_balancer_limit:
            raise limit_exceeded("load balancer limit exceeded", "load_balancer_limit")
        blank = load_balancer_template(self._project.store.next_id("load_balancers"), self._project.now())
        ordered = {
            "name": name,
            "public_net": public_net,
            "location": location,
            "labels": labels,
            "algorithm": {"type": algorithm},
        }
        return _with_type({**blank, **ordered}, wanted)

    def _with_targets(self, balancer: Object, network: Object | None, body: Body) -> Object:
        """The load balancer with the targets of its creation, and its place in the network reserved."""
        attached = balancer
        if network is not None:
            entry = self._attachments.plan_balancer(balancer, network)
            if self._project.options.private_targets_at_creation == "accepted":
                attached = {**balancer, "private_net": [entry]}
        for target in body.objects("targets"):
            attached = self._targets.with_target(attached, target)
        return {**attached, "private_net": []}

    def _public_net(self, body: Body, location: Object) -> Object:
        enabled = body.boolean("public_interface", default=True)
        wanted = body.object("public_net")
        chosen = {family: wanted.integer(family) for family in _FAMILIES if wanted.has(family)}
        if chosen and not enabled:
            raise invalid_field("public_net", "is only allowed if the public interface is enabled")
        addresses = PublicAddresses(self._project.store)
        public_net: Object = {"enabled": enabled}
        for family in _FAMILIES:
            if family in chosen:
                public_net[family] = self._primary_ips.address_for_balancer(chosen[family], family, location)
            else:
                address = addresses.of_balancer(family)
                public_net[family] = system_address(address, default_dns_ptr(address))
        return public_net

    def _remove(self, balancer_id: int) -> None:
        """Remove the load balancer, and the Primary IPs that go with it."""
        balancer = self._project.store.get("load_balancers", balancer_id)
        if balancer is not None:
            self._primary_ips.leave(balancer)
        self._forget(balancer_id)

    def _forget(self, balancer_id: int) -> None:
        self._attachments.forget(balancer_id, "load_balancers")
        if self._project.store.get("load_balancers", balancer_id) is not None:
            self._project.store.remove("load_balancers", balancer_id)

    def _checked_name(self, body: Body, own_id: int | None) -> str:
        name = body.limited_text("name", _NAME, None)
        if name != name.strip():
            raise invalid_field("name", "must not start or end with a space")
        self._project.require_unused("load_balancers", name, own_id)
        return name


def _fits(balancer: Object, wanted: Object) -> bool:
    needed = {
        "max_services": len(balancer["services"]),
        "max_targets": len(balancer["targets"]),
        "max_assigned_certificates": len(assigned_certificates(balancer)),
    }
    return all(number <= wanted[limit] for limit, number in needed.items())


def _with_type(balancer: Object, wanted: Object) -> Object:
    """The load balancer with a type, and with the traffic that the type includes in its location."""
    prices = {price["location"]: price for price in wanted["prices"]}
    price = prices.get(balancer["location"]["name"])
    included = price["included_traffic"] if price else balancer["included_traffic"]
    return {**balancer, "load_balancer_type": wanted, "included_traffic": included}
