"""Servers: creating and deleting them, what they have, and their part of a world file.

Source: Hetzner Cloud API, servers. Known differences: a server is ``deleting`` until its action ends and gone then; one
whose creation fails disappears. Networks are attached when ``create_server`` ends, without locking them; volumes and
firewalls are the server's from the request on, so that nobody else takes or deletes them meanwhile. A server without a
wanted location goes to the first place that its type is offered in; which refusal an unknown type, image or location
gets is not established, here it is ``not_found``.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import (
    DEFAULT_LOCATION,
    DEFAULT_SERVER_TYPE,
    IMAGES,
    INCLUDED_TRAFFIC,
    LOCATIONS,
    SERVER_TYPES,
    entry_of,
    wanted_entry,
)
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text
from hcloud_sandbox.hetzner.firewalls import apply_to_server, is_behind, server_entry
from hcloud_sandbox.hetzner.images import find_image, remove_backups, wanted_image
from hcloud_sandbox.hetzner.load_balancer_targets import balancers_by_server, without_server
from hcloud_sandbox.hetzner.placement_groups import require_room, shown_group
from hcloud_sandbox.hetzner.primary_ips import PrimaryIps
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.public_addresses import FAMILIES
from hcloud_sandbox.hetzner.resource import route
from hcloud_sandbox.hetzner.server_actions import ROOT_PASSWORD, ServerActions, check_user_data
from hcloud_sandbox.hetzner.ssh_keys import wanted_ssh_keys
from hcloud_sandbox.hetzner.store import Kind, Object, View, fresh_copy
from hcloud_sandbox.hetzner.volumes import require_attachable
from hcloud_sandbox.shapes import (
    Rule,
    a,
    a_flag,
    a_range,
    an_address,
    an_object,
    each,
    one_of,
    optional,
    shape,
)

_HOST_LABEL = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}$){_HOST_LABEL}(\.{_HOST_LABEL})*")
_STATUSES = (
    *("running", "initializing", "starting", "stopping", "off"),
    *("deleting", "migrating", "rebuilding", "unknown"),
)
_PUBLIC_NET: Object = {"ipv4": None, "ipv6": None, "floating_ips": [], "firewalls": []}


class Servers(ServerActions):
    """Servers."""

    filters = ("status",)
    name_taken = "server name is already used"

    def __init__(self, project: Project, attachments: Attachments, primary_ips: PrimaryIps) -> None:
        super().__init__(project, attachments)
        self._primary_ips = primary_ips

    def template(self, object_id: int, created: str) -> Object:
        """A running server without networks and public addresses."""
        return {
            "id": object_id,
            "name": f"server-{object_id}",
            "status": "running",
            "created": created,
            "public_net": _PUBLIC_NET,
            "private_net": [],
            "server_type": SERVER_TYPES[DEFAULT_SERVER_TYPE],
            "location": LOCATIONS[DEFAULT_LOCATION],
            "image": IMAGES[0],
            "iso": None,
            "rescue_enabled": False,
            "locked": False,
            "backup_window": None,
            "outgoing_traffic": 0,
            "ingoing_traffic": 0,
            "included_traffic": INCLUDED_TRAFFIC,
            "protection": {"delete": False, "rebuild": False},
            "labels": {},
            "volumes": [],
            "load_balancers": [],
            "primary_disk_size": 0,
            "placement_group": None,
        }

    def rules(self) -> Mapping[str, Rule]:
        """A placement group is an id, given alone or with the group; addresses in networks follow later."""
        group_id = optional(a(int, "the id of the placement group"))
        return {
            "server_type": entry_of(SERVER_TYPES, DEFAULT_SERVER_TYPE),
            "status": one_of(*_STATUSES),
            "locked": a_flag,
            "placement_group": lambda value, where: group_id(
                value.get("id") if isinstance(value, dict) else value, where
            ),
            "private_net": each(self._attachments.complete_of_server),
            "volumes": each(a(int, "ids")),
        }

    def complete(self, given: Object, where: str) -> Object:
        """No ``public_net`` means both addresses; a family that a given one leaves out is null."""
        server = super().complete(given, where)
        server["image"] = _complete_image(server["image"], server["server_type"]["architecture"], f"{where} image")
        if "primary_disk_size" not in given:
            server["primary_disk_size"] = server["server_type"]["disk"]
        if "public_net" not in given:
            addresses = {family: self.project.addresses.of_server(family, server["name"]) for family in FAMILIES}
            return {**server, "public_net": {**_PUBLIC_NET, **addresses}}
        rules: Mapping[str, Rule] = {
            "ipv4": optional(self._complete_address(an_address, server["name"])),
            "ipv6": optional(self._complete_address(a_range, [])),
            "firewalls": each(_a_firewall),
        }
        return {**server, "public_net": shape(given["public_net"], _PUBLIC_NET, f"{where} public_net", rules)}

    def connect(self) -> None:
        """Put the servers of a world in step with their firewalls, volumes and placement groups.

        What only the server lists is attached to it. Raises ValueError for what is not there.
        """
        for server in self.store.truth().all("servers"):
            self._connect(server)
        for volume in self.store.truth().all("volumes"):
            if volume["server"] is not None:
                where = f"volume {volume['id']} ({volume['name']}) is attached to server"
                self._require("servers", volume["server"], where)
        for firewall in self.store.truth().all("firewalls"):
            where = f"firewall {firewall['id']} ({firewall['name']}) is applied to server"
            for entry in firewall["applied_to"]:
                if entry["type"] == "server":
                    self._require("servers", entry["server"]["id"], where)

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:
        """With all that others say of it: load balancers, firewalls, volumes, its placement group, its lock."""
        group = stored["placement_group"] and view.get("placement_groups", stored["placement_group"])
        firewalls = [found["id"] for found in view.once(_firewalls) if is_behind(found, stored)]
        shown = fresh_copy(stored)
        shown["public_net"]["firewalls"] = [{"id": firewall_id, "status": "applied"} for firewall_id in firewalls]
        return shown | {
            "locked": stored["locked"] or (live and self.project.actions.is_busy("servers", stored["id"])),
            "load_balancers": list(view.once(balancers_by_server).get(stored["id"], ())),
            "volumes": list(view.once(_volumes_by_server).get(stored["id"], ())),
            "placement_group": shown_group(view, group) if group else None,
        }

    def checked_name(self, body: Body, own_id: int | None = None) -> str:
        """A host name."""
        if not _HOST_NAME.fullmatch(body.text("name")):
            raise invalid_field("name", "must be a valid hostname")
        return super().checked_name(body, own_id)

    def discard(self, object_id: int) -> None:
        """With its backups and what is deleted with it, and from all that it is part of.

        Routes with it as their gateway stay: they become black holes.
        """
        server = self.store.get("servers", object_id)
        if server is None:
            return
        self._primary_ips.leave(server)
        remove_backups(self.store, object_id)
        self.store.remove("servers", object_id)
        view = self.store.truth()
        for balancer in view.all("load_balancers"):
            targets = without_server(balancer, object_id)
            if targets != balancer["targets"]:
                self.store.change("load_balancers", balancer["id"], targets=targets)
        for firewall in view.all("firewalls"):
            entries = [entry for entry in firewall["applied_to"] if entry != server_entry(object_id)]
            if entries != firewall["applied_to"]:
                self.store.change("firewalls", firewall["id"], applied_to=entries)
        for volume in view.all("volumes"):
            if volume["server"] == object_id:
                self.store.change("volumes", volume["id"], server=None)

    @route("POST /servers")
    def create(self, body: Body) -> Response:
        """The preliminary server, ``initializing``, and its actions."""
        name = self.checked_name(body)
        server_type = wanted_entry(body, "server_type", SERVER_TYPES)
        location = _wanted_location(body, server_type)
        image = wanted_image(self.project, body, server_type)
        check_user_data(body)
        ssh_keys = wanted_ssh_keys(self.project, body)
        firewall_ids = [each.integer("firewall") for each in body.objects("firewalls")]
        for firewall_id in firewall_ids:
            self.project.require("firewalls", firewall_id)
        volume_ids = body.integers("volumes")
        for volume_id in volume_ids:
            require_attachable(self.project.require_free("volumes", volume_id), location)
        group_id = body.optional_integer("placement_group")
        if group_id is not None:
            require_room(self.project, group_id)
        start = body.boolean("start_after_create", default=True)
        networks = [self.project.require("networks", network_id) for network_id in body.integers("networks")]
        body.boolean("automount")
        server = self.new(
            name=name,
            status="initializing",
            server_type=server_type,
            location=location,
            image=image,
            labels=body.labels(),
            primary_disk_size=server_type["disk"],
            placement_group=group_id,
            public_net=self._public_net(body.object("public_net"), name, location),
        )
        try:
            for network in networks:
                self._attachments.plan("servers", server, network)
        except ApiError:
            self._attachments.forget("servers", server["id"])
            raise
        for firewall_id in firewall_ids:
            apply_to_server(self.store, firewall_id, server["id"])
        for volume_id in volume_ids:
            self.store.change("volumes", volume_id, server=server["id"])
        action, *following = self._creation(server["id"], start=start)
        password = None if ssh_keys else ROOT_PASSWORD
        return self.answer(server, 201, action=action, next_actions=following, root_password=password)

    def delete(self, _body: Body, object_id: int) -> Response:
        """200 with the action after which the server is gone."""
        status = self.deletable(object_id)["status"]
        self.store.change("servers", object_id, status="deleting")
        action = self.start(
            "delete_server",
            object_id,
            effect=lambda: self.discard(object_id),
            on_failure=lambda _: self.store.change("servers", object_id, status=status),
        )
        return self.project.answer(200, action=action)

    def _creation(self, server_id: int, *, start: bool) -> Iterator[Action]:
        def created() -> None:
            self.store.change("servers", server_id, status="off")
            self._attachments.settle("servers", server_id)

        def failed(_error: Object) -> None:
            self._attachments.forget("servers", server_id)
            self.discard(server_id)

        creation = self.project.actions.start(
            "create_server", ("servers", server_id), effect=created, on_failure=failed
        )
        yield creation
        if start:
            yield self.project.actions.start(
                "start_server",
                ("servers", server_id),
                effect=lambda: self.store.put("servers", {**self.get(server_id), "status": "running"}),
                after=creation,
            )

    def _public_net(self, wanted: Body, name: str, location: Object) -> Object:
        enabled = {family: wanted.boolean(f"enable_{family}", default=True) for family in FAMILIES}

        def address(family: str) -> Object | None:
            if wanted.has(family):
                return self._primary_ips.for_server(wanted.integer(family), family, location, name)
            if not enabled[family]:
                return None
            return self.project.addresses.of_server(family, name)

        return {**_PUBLIC_NET, **{family: address(family) for family in FAMILIES}}

    def _complete_address(self, address: Rule, dns_ptr: object) -> Rule:
        template = {"id": None, "ip": None, "blocked": False, "dns_ptr": dns_ptr}

        def rule(value: Any, where: str) -> Object:
            held = shape(value, template, where, {"ip": address})
            held["id"] = held["id"] or self.store.next_id("primary_ips")
            self.store.reserve_id("primary_ips", held["id"])
            return held

        return rule

    def _connect(self, server: Object) -> None:
        where = f"server {server['id']} ({server['name']})"
        if server["placement_group"] is not None:
            self._require("placement_groups", server["placement_group"], f"{where} is in placement group")
        for listed in server["public_net"]["firewalls"]:
            firewall = self._require("firewalls", listed["id"], f"{where} is behind firewall")
            if not is_behind(firewall, server):
                apply_to_server(self.store, firewall["id"], server["id"])
        for listed in server["volumes"]:
            self._require("volumes", listed, f"{where} has volume")
            self.store.change("volumes", listed, server=server["id"])
        public_net = {**server["public_net"], "firewalls": []}
        self.store.change("servers", server["id"], public_net=public_net, volumes=[])

    def _require(self, kind: Kind, object_id: int, where: str) -> Object:
        found = self.store.get(kind, object_id)
        if found is None:
            raise ValueError(f"{where} {object_id}, which is not there; add it to {kind} or remove what names it")
        return found


def _wanted_location(body: Body, server_type: Object) -> Object:
    """The place in ``location``, where the type must be available. Raises ApiError."""
    offered = {place["name"]: place["available"] for place in server_type["locations"]}
    if body.has("location"):
        location = wanted_entry(body, "location", LOCATIONS)
    else:
        location = LOCATIONS[DEFAULT_LOCATION if DEFAULT_LOCATION in offered else next(iter(offered))]
    if location["name"] not in offered:
        raise invalid_text("unsupported location for server type")
    if not offered[location["name"]]:
        raise ApiError("resource_unavailable", "server type is currently unavailable in the location")
    return location


def _a_firewall(value: Any, where: str) -> Object:
    a(int, "the id of the firewall")(an_object(value, where).get("id"), where)
    firewall: Object = value
    return firewall


def _complete_image(given: Any, architecture: str, where: str) -> Object | None:
    if given is None:
        return None
    if isinstance(given, dict):
        return shape(given, IMAGES[0], where)
    found = find_image(list(IMAGES), given, architecture)
    if found is None:
        names = sorted({image["name"] for image in IMAGES})
        raise ValueError(f"{where}: {given!r} is not in the catalogue; use one of {', '.join(names)} or an object")
    return found


def _firewalls(view: View) -> list[Object]:
    return view.all("firewalls")


def _volumes_by_server(view: View) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for volume in view.all("volumes"):
        found.setdefault(volume["server"], []).append(volume["id"])
    return found
