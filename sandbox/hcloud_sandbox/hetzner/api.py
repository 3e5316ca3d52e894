"""Routes of the API: path and method to handler.

All paths of the API document are known here, so that what is not simulated yet says so instead of looking absent. An
object's id in a path is a number; anything else is no route.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.balancer_changes import BalancerChanges
from hcloud_sandbox.hetzner.balancer_network import BalancerNetwork
from hcloud_sandbox.hetzner.balancer_services import BalancerServices
from hcloud_sandbox.hetzner.balancer_targets import BalancerTargets
from hcloud_sandbox.hetzner.balancers import Balancers
from hcloud_sandbox.hetzner.certificates import Certificates
from hcloud_sandbox.hetzner.errors import not_found, not_simulated
from hcloud_sandbox.hetzner.firewalls import Firewalls
from hcloud_sandbox.hetzner.images import Images
from hcloud_sandbox.hetzner.naming import change_protection, update
from hcloud_sandbox.hetzner.networks import Networks
from hcloud_sandbox.hetzner.placement_groups import PlacementGroups
from hcloud_sandbox.hetzner.primary_ips import PrimaryIps
from hcloud_sandbox.hetzner.project import SINGULAR, Project
from hcloud_sandbox.hetzner.reading import Reading
from hcloud_sandbox.hetzner.server_creation import ServerCreation
from hcloud_sandbox.hetzner.server_maintenance import ServerMaintenance
from hcloud_sandbox.hetzner.servers import Servers
from hcloud_sandbox.hetzner.ssh_keys import SshKeys
from hcloud_sandbox.hetzner.store import KINDS, Kind
from hcloud_sandbox.hetzner.volumes import Volumes

Handler = Callable[..., Response]
"""Gets the request and the ids of the path, in order."""

_NONE_OF = ("floating_ips", "storage_boxes", "storage_box_types", "zones")
"""Kinds that the real API has and the sandbox lists none of."""
_WITHOUT_ACTIONS: frozenset[Kind] = frozenset({"ssh_keys", "placement_groups"})


@dataclass(frozen=True, slots=True)
class Route:
    """One path of the API and what it answers, by method."""

    handlers: dict[str, Handler]
    ids: tuple[int, ...]


class Routes:
    """The routes of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._attachments = Attachments(project)
        self._reading = Reading(project, self._attachments)
        self._exact: dict[str, dict[str, Handler]] = {}
        """Path with ``{id}`` for each number → method → handler."""
        self._add_catalogues()
        self._add_objects()
        self._add_servers()
        self._add_networks()
        self._add_load_balancers()
        self._add_addresses()
        self._add_what_servers_use()

    def find(self, path: str) -> Route | None:
        """The route of a path below ``/v1``; None when the API has none."""
        shape = re.sub(r"/\d+(?=/|$)", "/{id}", path)
        handlers = self._exact.get(shape)
        if handlers is None and path.split("/")[1] in _NONE_OF:
            handlers = {"GET": _absent, "POST": _later, "PUT": _later, "DELETE": _later}
        if handlers is None:
            return None
        return Route(handlers, tuple(int(part) for part in path.split("/") if part.isdecimal()))

    def _add(self, path: str, **handlers: Handler) -> None:
        self._exact.setdefault(path, {}).update(handlers)

    def _add_kind(self, kind: Kind, create: Handler | None, update: Handler, delete: Handler) -> None:
        if create is not None:
            self._add(f"/{kind}", POST=create)
        self._add(f"/{kind}/{{id}}", PUT=update, DELETE=delete)

    def _add_actions(self, kind: Kind, **actions: Handler) -> None:
        for name, handler in actions.items():
            self._add(f"/{kind}/{{id}}/actions/{name}", POST=handler)

    def _add_catalogues(self) -> None:
        for name in ("locations", "server_types", "load_balancer_types", "isos"):
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
            if kind not in _WITHOUT_ACTIONS:
                self._add(f"/{kind}/actions", GET=self._reading.actions(SINGULAR[kind]))
                self._add(f"/{kind}/actions/{{id}}", GET=self._reading.action(SINGULAR[kind]))
                self._add(f"/{kind}/{{id}}/actions", GET=self._reading.actions_of(kind))
                self._add(f"/{kind}/{{id}}/actions/{{id}}", GET=self._reading.action_of(kind))
        for name in _NONE_OF:
            self._add(f"/{name}", GET=self._reading.nothing(name), POST=_later)
        for kind in ("servers", "load_balancers"):
            self._add(f"/{kind}/{{id}}/metrics", GET=_later)

    def _add_servers(self) -> None:
        servers = Servers(self._project, self._attachments)
        maintenance = ServerMaintenance(self._project)
        groups = PlacementGroups(self._project)
        creation = ServerCreation(self._project, self._attachments)
        self._add_kind("servers", creation.create, servers.update, servers.delete)
        self._add_actions(
            "servers",
            poweron=servers.act("start_server", "running"),
            poweroff=servers.act("stop_server", "off"),
            shutdown=servers.act("shutdown_server", "off"),
            reboot=servers.act("reboot_server", None),
            reset=servers.act("reset_server", None),
            change_protection=servers.change_protection,
            change_type=servers.change_type,
            attach_to_network=servers.attach_to_network,
            detach_from_network=servers.detach_from_network,
            change_alias_ips=servers.change_alias_ips,
            add_to_placement_group=groups.add,
            remove_from_placement_group=groups.remove,
            attach_iso=maintenance.attach_iso,
            detach_iso=maintenance.detach_iso,
            change_dns_ptr=maintenance.change_dns_ptr,
            create_image=Images(self._project).make,
            enable_backup=maintenance.enable_backup,
            disable_backup=maintenance.disable_backup,
            enable_rescue=maintenance.enable_rescue,
            disable_rescue=maintenance.disable_rescue,
            rebuild=maintenance.rebuild,
            request_console=maintenance.request_console,
            reset_password=maintenance.reset_password,
        )
        self._add_kind("placement_groups", groups.create, update(self._project, "placement_groups"), groups.delete)

    def _add_networks(self) -> None:
        networks = Networks(self._project, self._attachments)
        self._add_kind("networks", networks.create, networks.update, networks.delete)
        self._add("/networks/{id}/members", GET=self._reading.members)
        self._add_actions(
            "networks",
            add_subnet=networks.add_subnet,
            delete_subnet=networks.delete_subnet,
            add_route=networks.add_route,
            delete_route=networks.delete_route,
            change_ip_range=networks.change_ip_range,
            change_protection=networks.change_protection,
        )

    def _add_load_balancers(self) -> None:
        changes = BalancerChanges(self._project)
        services, targets = BalancerServices(self._project, changes), BalancerTargets(self._project, changes)
        network = BalancerNetwork(self._project, self._attachments, changes)
        primary_ips = PrimaryIps(self._project)
        balancers = Balancers(self._project, self._attachments, changes, services, targets, primary_ips)
        self._add_kind("load_balancers", balancers.create, balancers.update, balancers.delete)
        self._add_actions(
            "load_balancers",
            add_service=services.add,
            update_service=services.update,
            delete_service=services.delete,
            add_target=targets.add,
            remove_target=targets.remove,
            attach_to_network=network.attach,
            detach_from_network=network.detach,
            enable_public_interface=network.enable_public_interface,
            disable_public_interface=network.disable_public_interface,
            change_type=balancers.change_type,
            change_algorithm=balancers.change_algorithm,
            change_protection=balancers.change_protection,
            change_dns_ptr=balancers.change_dns_ptr,
        )
        certificates = Certificates(self._project)
        self._add_kind("certificates", certificates.create, certificates.update, certificates.delete)
        self._add_actions("certificates", retry=certificates.retry)

    def _add_addresses(self) -> None:
        primary_ips = PrimaryIps(self._project)
        self._add_kind("primary_ips", primary_ips.create, primary_ips.update, primary_ips.delete)
        self._add_actions(
            "primary_ips",
            assign=primary_ips.assign,
            unassign=primary_ips.unassign,
            change_dns_ptr=primary_ips.change_dns_ptr,
            change_protection=primary_ips.change_protection,
        )
        firewalls = Firewalls(self._project)
        self._add_kind("firewalls", firewalls.create, update(self._project, "firewalls"), firewalls.delete)
        self._add_actions(
            "firewalls",
            set_rules=firewalls.set_rules,
            apply_to_resources=firewalls.apply,
            remove_from_resources=firewalls.remove,
        )

    def _add_what_servers_use(self) -> None:
        ssh_keys, volumes, images = SshKeys(self._project), Volumes(self._project), Images(self._project)
        self._add_kind("ssh_keys", ssh_keys.create, update(self._project, "ssh_keys"), ssh_keys.delete)
        self._add_kind("volumes", volumes.create, update(self._project, "volumes"), volumes.delete)
        self._add_actions(
            "volumes",
            attach=volumes.attach,
            detach=volumes.detach,
            resize=volumes.resize,
            change_protection=change_protection(self._project, "volumes"),
        )
        self._add_kind("images", None, images.update, images.delete)
        self._add_actions("images", change_protection=images.change_protection)


def _later(request: Request, *_ids: int) -> Response:
    raise not_simulated(request.method, request.path)


def _absent(request: Request, *_ids: int) -> Response:
    kind, *named = request.path.removeprefix("/v1/").split("/")
    raise not_found(kind.removesuffix("s").replace("_", " "), named[0] if named else "")
