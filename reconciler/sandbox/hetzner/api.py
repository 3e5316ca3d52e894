"""Routes of the API: path and method to handler.

All paths of the API document are known here, so that what is not simulated yet says so instead of looking absent. An
object's id in a path is a number; anything else is no route.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from reconciler.sandbox.exchange import Request, Response
from reconciler.sandbox.hetzner.attachments import Attachments
from reconciler.sandbox.hetzner.balancer_changes import BalancerChanges
from reconciler.sandbox.hetzner.balancer_network import BalancerNetwork
from reconciler.sandbox.hetzner.balancer_services import BalancerServices
from reconciler.sandbox.hetzner.balancer_targets import BalancerTargets
from reconciler.sandbox.hetzner.balancers import Balancers
from reconciler.sandbox.hetzner.certificates import Certificates
from reconciler.sandbox.hetzner.errors import not_simulated
from reconciler.sandbox.hetzner.networks import Networks
from reconciler.sandbox.hetzner.primary_ips import PrimaryIps
from reconciler.sandbox.hetzner.project import SINGULAR, Project
from reconciler.sandbox.hetzner.reading import Reading
from reconciler.sandbox.hetzner.servers import Servers
from reconciler.sandbox.hetzner.store import KINDS

Handler = Callable[..., Response]
"""Gets the request and the ids of the path, in order."""

_SERVER_ACTIONS_LATER = (
    "add_to_placement_group",
    "attach_iso",
    "change_dns_ptr",
    "create_image",
    "detach_iso",
    "disable_backup",
    "disable_rescue",
    "enable_backup",
    "enable_rescue",
    "rebuild",
    "remove_from_placement_group",
    "request_console",
    "reset_password",
)
_PRIMARY_IP_ACTIONS_LATER = ("assign", "change_dns_ptr", "unassign")
_KINDS_LATER = (
    "firewalls",
    "floating_ips",
    "images",
    "isos",
    "placement_groups",
    "ssh_keys",
    "volumes",
    "zones",
)
_METHODS = ("GET", "POST", "PUT", "DELETE")


@dataclass(frozen=True, slots=True)
class Route:
    """One path of the API and what it answers, by method."""

    handlers: dict[str, Handler]
    ids: tuple[int, ...]


class Routes:
    """The routes of one project."""

    def __init__(self, project: Project) -> None:
        attachments = Attachments(project)
        self._reading = Reading(project, attachments)
        self._servers = Servers(project, attachments)
        self._networks = Networks(project, attachments)
        changes = BalancerChanges(project)
        self._services = BalancerServices(project, changes)
        self._targets = BalancerTargets(project, changes)
        self._balancer_network = BalancerNetwork(project, attachments, changes)
        self._primary_ips = PrimaryIps(project)
        self._balancers = Balancers(project, attachments, changes, self._services, self._targets, self._primary_ips)
        self._certificates = Certificates(project)
        self._exact: dict[str, dict[str, Handler]] = {}
        """Path with ``{id}`` for each number → method → handler."""
        self._add_catalogues()
        self._add_objects()
        self._add_servers()
        self._add_networks()
        self._add_load_balancers()
        self._add_certificates()
        self._add_primary_ips()
        self._add_later()

    def find(self, path: str) -> Route | None:
        """The route of a path below ``/v1``; None when the API has none."""
        shape = re.sub(r"/\d+(?=/|$)", "/{id}", path)
        handlers = self._exact.get(shape)
        if handlers is None and path.split("/")[1] in _KINDS_LATER:
            handlers = dict.fromkeys(_METHODS, _later)
        if handlers is None:
            return None
        return Route(handlers, tuple(int(part) for part in path.split("/") if part.isdigit()))

    def _add(self, path: str, **handlers: Handler) -> None:
        self._exact.setdefault(path, {}).update(handlers)

    def _add_catalogues(self) -> None:
        for name in ("locations", "server_types", "load_balancer_types"):
            self._add(f"/{name}", GET=self._reading.catalogue(name))
            self._add(f"/{name}/{{id}}", GET=self._reading.catalogue_entry(name))
        self._add("/pricing", GET=self._reading.pricing)
        for path in ("/datacenters", "/datacenters/{id}"):
            self._add(path, GET=self._reading.datacenters)
        self._add("/actions", GET=self._reading.actions_by_id)
        self._add("/actions/{id}", GET=self._reading.action(None))

    def _add_objects(self) -> None:
        for kind in KINDS:
            self._add(f"/{kind}", GET=self._reading.objects(kind))
            self._add(f"/{kind}/{{id}}", GET=self._reading.object(kind))
            self._add(f"/{kind}/actions", GET=self._reading.actions(SINGULAR[kind]))
            self._add(f"/{kind}/actions/{{id}}", GET=self._reading.action(SINGULAR[kind]))
            self._add(f"/{kind}/{{id}}/actions", GET=self._reading.actions_of(kind))
            self._add(f"/{kind}/{{id}}/actions/{{id}}", GET=self._reading.action_of(kind))

    def _add_servers(self) -> None:
        servers = self._servers
        self._add("/servers", POST=servers.create)
        self._add("/servers/{id}", PUT=servers.update, DELETE=servers.delete)
        actions = {
            "poweron": servers.act("start_server", "running"),
            "poweroff": servers.act("stop_server", "off"),
            "shutdown": servers.act("shutdown_server", "off"),
            "reboot": servers.act("reboot_server", None),
            "reset": servers.act("reset_server", None),
            "change_protection": servers.change_protection,
            "change_type": servers.change_type,
            "attach_to_network": servers.attach_to_network,
            "detach_from_network": servers.detach_from_network,
            "change_alias_ips": servers.change_alias_ips,
        }
        for name, handler in actions.items():
            self._add(f"/servers/{{id}}/actions/{name}", POST=handler)

    def _add_networks(self) -> None:
        networks = self._networks
        self._add("/networks", POST=networks.create)
        self._add("/networks/{id}", PUT=networks.update, DELETE=networks.delete)
        self._add("/networks/{id}/members", GET=self._reading.members)
        actions = {
            "add_subnet": networks.add_subnet,
            "delete_subnet": networks.delete_subnet,
            "add_route": networks.add_route,
            "delete_route": networks.delete_route,
            "change_ip_range": networks.change_ip_range,
            "change_protection": networks.change_protection,
        }
        for name, handler in actions.items():
            self._add(f"/networks/{{id}}/actions/{name}", POST=handler)

    def _add_load_balancers(self) -> None:
        balancers, network = self._balancers, self._balancer_network
        self._add("/load_balancers", POST=balancers.create)
        self._add("/load_balancers/{id}", PUT=balancers.update, DELETE=balancers.delete)
        actions = {
            "add_service": self._services.add,
            "update_service": self._services.update,
            "delete_service": self._services.delete,
            "add_target": self._targets.add,
            "remove_target": self._targets.remove,
            "attach_to_network": network.attach,
            "detach_from_network": network.detach,
            "enable_public_interface": network.enable_public_interface,
            "disable_public_interface": network.disable_public_interface,
            "change_type": balancers.change_type,
            "change_algorithm": balancers.change_algorithm,
            "change_protection": balancers.change_protection,
            "change_dns_ptr": balancers.change_dns_ptr,
        }
        for name, handler in actions.items():
            self._add(f"/load_balancers/{{id}}/actions/{name}", POST=handler)

    def _add_certificates(self) -> None:
        certificates = self._certificates
        self._add("/certificates", POST=certificates.create)
        self._add("/certificates/{id}", PUT=certificates.update, DELETE=certificates.delete)
        self._add("/certificates/{id}/actions/retry", POST=certificates.retry)

    def _add_primary_ips(self) -> None:
        primary_ips = self._primary_ips
        self._add("/primary_ips", POST=primary_ips.create)
        self._add("/primary_ips/{id}", PUT=primary_ips.update, DELETE=primary_ips.delete)
        self._add("/primary_ips/{id}/actions/change_protection", POST=primary_ips.change_protection)

    def _add_later(self) -> None:
        for kind in ("servers", "load_balancers"):
            self._add(f"/{kind}/{{id}}/metrics", GET=_later)
        for name in _SERVER_ACTIONS_LATER:
            self._add(f"/servers/{{id}}/actions/{name}", POST=_later)
        for name in _PRIMARY_IP_ACTIONS_LATER:
            self._add(f"/primary_ips/{{id}}/actions/{name}", POST=_later)


def _later(request: Request, *_ids: int) -> Response:
    raise not_simulated(request.method, request.path)
