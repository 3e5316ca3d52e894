"""Creation of servers, with everything that a request can give them.

Source: Hetzner Cloud API, creation of servers. Known differences: a server whose creation fails disappears. Networks,
firewalls and volumes are attached when ``create_server`` ends, without locking them. User data is checked and not
used, for nothing runs on the server.
"""

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.firewalls import Firewalls
from hcloud_sandbox.hetzner.objects import PublicAddresses, server_template
from hcloud_sandbox.hetzner.ordering import (
    checked_user_data,
    host_name,
    wanted_image,
    wanted_location,
    wanted_server_type,
)
from hcloud_sandbox.hetzner.placement_groups import PlacementGroups
from hcloud_sandbox.hetzner.primary_ips import PrimaryIps
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.server_maintenance import ROOT_PASSWORD
from hcloud_sandbox.hetzner.servers import remove_server
from hcloud_sandbox.hetzner.ssh_keys import wanted_ssh_keys
from hcloud_sandbox.hetzner.store import Object
from hcloud_sandbox.hetzner.volumes import Volumes


class ServerCreation:
    """``POST /servers``."""

    def __init__(self, project: Project, attachments: Attachments) -> None:
        self._project = project
        self._attachments = attachments
        self._primary_ips = PrimaryIps(project)
        self._firewalls = Firewalls(project)
        self._placement_groups = PlacementGroups(project)
        self._volumes = Volumes(project)

    def create(self, request: Request) -> Response:
        """The preliminary server, ``initializing``, and its actions."""
        body = Body.of(request)
        name = host_name(self._project, body.text("name"))
        server_type = wanted_server_type(body)
        location = wanted_location(body, server_type)
        image = wanted_image(body, self._project.store.truth(), server_type)
        checked_user_data(body)
        ssh_keys = wanted_ssh_keys(self._project, body)
        firewall_ids = self._firewalls.require_applicable(body)
        volume_ids = self._volume_ids(body, location)
        server = {
            **server_template(self._project.store.next_id("servers"), self._project.now()),
            "name": name,
            "status": "initializing",
            "server_type": server_type,
            "location": location,
            "image": image,
            "labels": body.labels() or {},
            "primary_disk_size": server_type["disk"],
            "placement_group": self._group_id(body),
            "public_net": self._public_net(body, name, location),
        }
        self._plan_networks(body, server)
        self._project.store.put("servers", server)
        start = body.boolean("start_after_create", default=True)
        actions = self._start(server["id"], firewall_ids, volume_ids, start=start)
        present = self._project.store.get("servers", server["id"]) or server
        return Response(
            201,
            {
                "server": self._project.shown("servers", present),
                "action": self._project.actions.render(actions[0]),
                "next_actions": [self._project.actions.render(action) for action in actions[1:]],
                "root_password": None if ssh_keys else ROOT_PASSWORD,
            },
        )

    def _start(self, server_id: int, firewall_ids: list[int], volume_ids: list[int], *, start: bool) -> list[Action]:
        project = self._project

        def created() -> None:
            project.change("servers", server_id, status="off")
            self._attachments.settle(server_id)
            self._firewalls.apply_to_new(server_id, firewall_ids)
            for volume_id in volume_ids:
                project.change("volumes", volume_id, server=server_id)

        def failed() -> None:
            self._attachments.forget(server_id)
            remove_server(project, server_id)

        def started() -> None:
            project.require("servers", server_id)
            project.change("servers", server_id, status="running")

        resource = ("server", server_id)
        creation = project.actions.start("create_server", resource, effect=created, on_failure=failed)
        if not start:
            return [creation]
        return [creation, project.actions.start("start_server", resource, effect=started, after=creation)]

    def _plan_networks(self, body: Body, server: Object) -> None:
        """Reserve the server's addresses in the networks of the request."""
        networks = [self._project.require("networks", network_id) for network_id in body.integers("networks")]
        try:
            for network in networks:
                self._attachments.plan(server, network)
        except ApiError:
            self._attachments.forget(server["id"])
            raise

    def _group_id(self, body: Body) -> int | None:
        if not body.has("placement_group"):
            return None
        group_id = body.integer("placement_group")
        self._placement_groups.require_room(group_id)
        return group_id

    def _volume_ids(self, body: Body, location: Object) -> list[int]:
        ids = body.integers("volumes")
        for volume_id in ids:
            self._volumes.require_attachable(self._project.require("volumes", volume_id), location)
        return ids

    def _public_net(self, body: Body, name: str, location: Object) -> Object:
        wanted = body.object("public_net")
        addresses = PublicAddresses(self._project.store)

        def address(family: str) -> Object | None:
            if wanted.has(family):
                return self._primary_ips.address_for_server(wanted.integer(family), family, location, name)
            if not wanted.boolean(f"enable_{family}", default=True):
                return None
            return addresses.ipv4(name) if family == "ipv4" else addresses.ipv6()

        return {"ipv4": address("ipv4"), "ipv6": address("ipv6"), "floating_ips": [], "firewalls": []}
