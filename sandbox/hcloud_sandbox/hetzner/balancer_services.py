"""The services of a load balancer: ports that collide, certificates, limits by type.

Source: Hetzner Cloud API, load balancer actions. Known differences: an unknown certificate is ``not_found``; a
certificate counts once towards the limit, however many services have it.
"""

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.balancer_changes import BalancerChanges
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, limit_exceeded
from hcloud_sandbox.hetzner.listeners import (
    PORTS,
    changed_service,
    new_service,
    ports_of,
    redirects,
    require_complete,
)
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.rendering import assigned_certificates
from hcloud_sandbox.hetzner.store import Object

_ADDED = 412
_UPDATED = 422


class BalancerServices:
    """The actions that change services, and the rules for them."""

    def __init__(self, project: Project, changes: BalancerChanges) -> None:
        self._project = project
        self._changes = changes

    def add(self, request: Request, balancer_id: int) -> Response:
        """``add_service``."""
        body = Body.of(request)
        return self._changes.start("add_service", balancer_id, lambda now: self.with_service(now, body))

    def update(self, request: Request, balancer_id: int) -> Response:
        """``update_service``: the listen port selects, everything else is optional."""
        body = Body.of(request)

        def change(now: Object) -> Object:
            present = self._find(now, body)
            drops_https = self._project.options.https_left_behind == "dropped"
            service = changed_service(present, body, drops_https=drops_https)
            self._check(_without(now, present), service, _UPDATED)
            services = [service if other is present else other for other in now["services"]]
            return {**now, "services": services}

        return self._changes.start("update_service", balancer_id, change)

    def delete(self, request: Request, balancer_id: int) -> Response:
        """``delete_service``."""
        body = Body.of(request)
        return self._changes.start("delete_service", balancer_id, lambda now: _without(now, self._find(now, body)))

    def created_with(self, balancer: Object, services: list[Body]) -> Object:
        """The load balancer with the services of its creation. Raises ApiError."""
        choice = self._project.options.services_at_creation
        if services and choice == "refused":
            raise invalid_field("services", "is not allowed")
        for service in services:
            if choice == "complete":
                require_complete(service)
            balancer = self.with_service(balancer, service)
        return balancer

    def with_service(self, balancer: Object, body: Body) -> Object:
        """The load balancer with one service more. Raises ApiError."""
        service = new_service(body)
        self._check(balancer, service, _ADDED)
        if len(balancer["services"]) >= balancer["load_balancer_type"]["max_services"]:
            raise limit_exceeded("load balancer service limit exceeded", "load_balancer_service_limit")
        return {**balancer, "services": [*balancer["services"], service]}

    def _check(self, others: Object, service: Object, status: int) -> None:
        """Raises what forbids the service beside those of ``others``; ``status`` is for ports that are taken."""
        _check_ports(others, service, status)
        if "http" not in service:
            return
        for certificate_id in service["http"]["certificates"]:
            certificate = self._project.require("certificates", certificate_id)
            issued = certificate["status"] is None or certificate["status"]["issuance"] == "completed"
            if not issued and self._project.options.pending_certificates == "refused":
                raise ApiError("service_error", "certificate is not issued")
        assigned = assigned_certificates(others) | set(service["http"]["certificates"])
        if len(assigned) > others["load_balancer_type"]["max_assigned_certificates"]:
            raise limit_exceeded("load balancer certificate limit exceeded", "load_balancer_certificate_limit")

    @staticmethod
    def _find(balancer: Object, body: Body) -> Object:
        listen_port = body.number("listen_port", PORTS, None)
        for service in balancer["services"]:
            if service["listen_port"] == listen_port:
                found: Object = service
                return found
        raise ApiError("not_found", f"service with listen port '{listen_port}' not found")


def _without(balancer: Object, service: Object) -> Object:
    return {**balancer, "services": [other for other in balancer["services"] if other is not service]}


def _check_ports(others: Object, service: Object, status: int) -> None:
    ports = ports_of(service)
    if redirects(service) and service["listen_port"] == 80:
        raise ApiError("source_port_already_used", "port 80 is busy, redirect_http needs it", status=status)
    for other in others["services"]:
        if other["listen_port"] in ports:
            raise ApiError("source_port_already_used", f"port {other['listen_port']} is already used", status=status)
        if redirects(other) and 80 in ports:
            message = "port 80 is busy, redirect_http is enabled on another service"
            raise ApiError("source_port_already_used", message, status=status)
