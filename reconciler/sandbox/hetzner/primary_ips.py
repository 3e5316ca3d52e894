"""Primary IPs: creating, changing and deleting them, and giving them to new load balancers.

Source: Hetzner Cloud API, creation of load balancers, and the vendor's clients. Known differences: they are assigned to
load balancers only, and at creation only; those of servers are listed, and cannot be changed. Which refusal the
deletion of one that is assigned gets is not established; here it is ``service_error``. The reverse name of one that a
load balancer has is the load balancer's.
"""

from reconciler.sandbox.exchange import Request, Response
from reconciler.sandbox.hetzner.bodies import Body
from reconciler.sandbox.hetzner.catalogue import LOCATIONS, find_entry
from reconciler.sandbox.hetzner.errors import ApiError, invalid_field, name_taken
from reconciler.sandbox.hetzner.objects import (
    PublicAddresses,
    address_of_primary_ip,
    default_dns_ptr,
    primary_ip_template,
)
from reconciler.sandbox.hetzner.project import Project
from reconciler.sandbox.hetzner.rendering import Renderer, holder_of
from reconciler.sandbox.hetzner.store import Object

_TYPES = ("ipv4", "ipv6")
_NAME = range(1, 256)


class PrimaryIps:
    """The writing half of ``/primary_ips``, and what load balancers do with them."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def create(self, request: Request) -> Response:
        """``POST /primary_ips``: one that nothing has."""
        body = Body.of(request)
        if body.has("assignee_id"):
            raise ApiError("unsupported_error", "the simulator does not simulate the assignment of Primary IPs yet")
        kind = body.choice("type", _TYPES, None)
        location = find_entry(LOCATIONS, body.id_or_name("location") or "")
        if location is None:
            raise invalid_field("location", "is missing" if not body.has("location") else "is not known")
        primary_ip = {
            **primary_ip_template(self._project.store.next_id("primary_ips"), self._project.now()),
            "name": self._checked_name(body, None),
            "type": kind,
            "ip": PublicAddresses(self._project.store).of_primary_ip(kind),
            "location": location,
            "auto_delete": body.boolean("auto_delete", default=False),
            "labels": body.labels() or {},
        }
        self._project.store.put("primary_ips", primary_ip)
        return Response(201, {"primary_ip": self._render(primary_ip), "action": None})

    def update(self, request: Request, primary_ip_id: int) -> Response:
        """``PUT /primary_ips/{id}``: name, labels and ``auto_delete``."""
        changed = dict(self._project.require("primary_ips", primary_ip_id))
        body = Body.of(request)
        if body.has("name"):
            changed["name"] = self._checked_name(body, primary_ip_id)
        if (labels := body.labels()) is not None:
            changed["labels"] = labels
        changed["auto_delete"] = body.boolean("auto_delete", default=changed["auto_delete"])
        self._project.store.put("primary_ips", changed)
        return Response(200, {"primary_ip": self._render(changed)})

    def delete(self, _request: Request, primary_ip_id: int) -> Response:
        """``DELETE /primary_ips/{id}``: of one that nothing has."""
        if self._project.require("primary_ips", primary_ip_id)["protection"]["delete"]:
            raise ApiError("protected", "Primary IP is delete protected")
        if self._is_assigned(primary_ip_id):
            raise ApiError("service_error", "Primary IP is assigned")
        self._project.store.remove("primary_ips", primary_ip_id)
        return Response(204)

    def change_protection(self, request: Request, primary_ip_id: int) -> Response:
        """``change_protection``: against deletion."""
        present = self._project.require("primary_ips", primary_ip_id)
        protection = {"delete": Body.of(request).boolean("delete", default=present["protection"]["delete"])}
        action = self._project.actions.start(
            "change_protection",
            ("primary_ip", primary_ip_id),
            effect=lambda: self._project.change("primary_ips", primary_ip_id, protection=protection),
        )
        return Response(201, {"action": self._project.actions.render(action)})

    def address_for(self, primary_ip_id: int, family: str, location: Object) -> Object:
        """The public address that a new load balancer in ``location`` gets by it. Raises ApiError."""
        primary_ip = self._project.require("primary_ips", primary_ip_id)
        if primary_ip["type"] != family:
            raise ApiError("primary_ip_version_mismatch", "the specified Primary IP has the wrong IP version")
        if self._is_assigned(primary_ip_id):
            raise ApiError("primary_ip_assigned", "the specified Primary IP is already assigned to a resource")
        if primary_ip["blocked"]:
            raise ApiError("primary_ip_blocked", "the specified Primary IP is blocked")
        if primary_ip["location"]["name"] != location["name"]:
            message = "the specified Primary IP is bound to a different Location than the Load Balancer"
            raise ApiError("primary_ip_location_mismatch", message)
        address = address_of_primary_ip(primary_ip)
        named = [entry["dns_ptr"] for entry in primary_ip["dns_ptr"] if entry["ip"] == address]
        dns_ptr = named[0] if named else default_dns_ptr(address)
        return {"id": primary_ip_id, "ip": address, "blocked": False, "dns_ptr": dns_ptr}

    def go_with(self, balancer: Object) -> None:
        """Remove those of the load balancer that are deleted with what has them."""
        for family in _TYPES:
            held = balancer["public_net"][family]["id"]
            primary_ip = None if held is None else self._project.store.get("primary_ips", held)
            if primary_ip is not None and primary_ip["auto_delete"]:
                self._project.store.remove("primary_ips", primary_ip["id"])

    def _is_assigned(self, primary_ip_id: int) -> bool:
        stored = self._project.require("primary_ips", primary_ip_id)
        return stored["assignee_id"] is not None or holder_of(self._project.store.truth(), primary_ip_id) is not None

    def _checked_name(self, body: Body, own_id: int | None) -> str:
        name = body.limited_text("name", _NAME, None)
        others = (found for found in self._project.store.truth().all("primary_ips") if found["id"] != own_id)
        if any(found["name"] == name for found in others):
            raise name_taken()
        return name

    def _render(self, primary_ip: Object) -> Object:
        return Renderer(self._project.store.truth(), self._project.actions).render("primary_ips", primary_ip)
