"""Actions of servers: power, type, networks, placement group, rescue system, backups, ISO, rebuild, reverse names.

Source: Hetzner Cloud API, server actions. Known differences: there is no ``starting`` or ``stopping`` in between, and a
graceful shutdown always succeeds. No machine runs: user data is checked and not used, passwords open nothing, and the
rescue system is left by the next start. Which refusal a password of a stopped server gets is not established, here it
is ``service_error``; nor whether a reverse name waits for other actions, here it does not.
"""

from collections.abc import Mapping
from typing import ClassVar

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import ISOS, SERVER_TYPES, wanted_entry
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text
from hcloud_sandbox.hetzner.images import remove_backups, wanted_image
from hcloud_sandbox.hetzner.placement_groups import require_room
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.public_addresses import with_dns_ptr
from hcloud_sandbox.hetzner.resource import BodyChange, Resource, route
from hcloud_sandbox.hetzner.ssh_keys import wanted_ssh_keys
from hcloud_sandbox.hetzner.store import Object

ROOT_PASSWORD = "simulated-root-password"  # noqa: S105 - it opens nothing
_BACKUP_WINDOW = "22-02"
_MOST_USER_DATA = 32 * 2**10
_BOOTED: Object = {"rescue_enabled": False}
"""The rescue system is for one start."""


class ServerActions(Resource):
    """The actions of servers."""

    kind = "servers"
    protections = ("delete", "rebuild")
    commands: ClassVar = {
        "poweron": "start_server",
        "poweroff": "stop_server",
        "shutdown": "shutdown_server",
        "reboot": "reboot_server",
        "reset": "reset_server",
        "change_type": "change_server_type",
    }

    def __init__(self, project: Project, attachments: Attachments) -> None:
        super().__init__(project)
        self._attachments = attachments

    def changes(self) -> Mapping[str, BodyChange]:
        """Actions that no more than one field of the request is read for."""
        return {
            "poweron": {"status": "running", **_BOOTED},
            "poweroff": {"status": "off"},
            "shutdown": {"status": "off"},
            "reboot": _BOOTED,
            "reset": _BOOTED,
            "disable_rescue": {"rescue_enabled": False},
            "enable_backup": {"backup_window": _BACKUP_WINDOW},
            "attach_iso": lambda _, body: {"iso": wanted_entry(body, "iso", ISOS)},
            "detach_iso": {"iso": None},
            "change_type": _with_wanted_type,
            "add_to_placement_group": self._with_group,
            "remove_from_placement_group": _without_group,
        }

    def change_protection(self, body: Body, object_id: int) -> Response:
        """``delete`` and ``rebuild``, which must be equal."""
        present = self.get(object_id)["protection"]
        if len({body.boolean(name, default=present[name]) for name in self.protections}) > 1:
            raise invalid_text("delete and rebuild protection must have the same value")
        return super().change_protection(body, object_id)

    @route("POST /servers/{id}/actions/attach_to_network")
    def attach_to_network(self, body: Body, server_id: int) -> Response:
        """Locks the server and the network."""
        return self._attachments.attach("servers", server_id, body)

    @route("POST /servers/{id}/actions/detach_from_network")
    def detach_from_network(self, body: Body, server_id: int) -> Response:
        """Locks the server and the network."""
        return self._attachments.detach("servers", server_id, body)

    @route("POST /servers/{id}/actions/change_alias_ips")
    def change_alias_ips(self, body: Body, server_id: int) -> Response:
        """All of them in one network; locks the server and the network."""
        return self._attachments.change_aliases(server_id, body)

    @route("POST /servers/{id}/actions/enable_rescue")
    def enable_rescue(self, body: Body, server_id: int) -> Response:
        """From the next start."""
        body.choice("type", ("linux64",), "linux64")
        wanted_ssh_keys(self.project, body)
        return self.act("enable_rescue", server_id, {"rescue_enabled": True}, root_password=ROOT_PASSWORD)

    @route("POST /servers/{id}/actions/disable_backup")
    def disable_backup(self, _body: Body, server_id: int) -> Response:
        """Existing backups go with it."""
        without = {"backup_window": None}
        return self.act("disable_backup", server_id, without, lambda: remove_backups(self.store, server_id))

    @route("POST /servers/{id}/actions/rebuild")
    def rebuild(self, body: Body, server_id: int) -> Response:
        """Everything stays but the disk; the server runs afterwards."""
        server = self.free(server_id)
        if server["protection"]["rebuild"]:
            raise ApiError("protected", "server is rebuild protected")
        check_user_data(body)
        image = wanted_image(self.project, body, server["server_type"])
        action = self.start(
            "rebuild_server",
            server_id,
            {"image": image, "status": "running", **_BOOTED},
            on_failure=lambda _: self.store.change("servers", server_id, status=server["status"]),
        )
        if action.status == "running":
            self.store.change("servers", server_id, status="rebuilding")
        return self.project.answer(201, root_password=ROOT_PASSWORD, action=action)

    @route("POST /servers/{id}/actions/reset_password")
    def reset_password(self, _body: Body, server_id: int) -> Response:
        """Of a running server."""
        if self.free(server_id)["status"] != "running":
            raise ApiError("service_error", "server must be running to reset its password")
        return self.act("reset_password", server_id, root_password=ROOT_PASSWORD)

    @route("POST /servers/{id}/actions/change_dns_ptr")
    def change_dns_ptr(self, body: Body, server_id: int) -> Response:
        """Of the IPv4 address, or of one in the IPv6 network; the server may be busy."""
        address, name = body.address("ip"), body.optional_text("dns_ptr")

        def change(now: Object) -> Object:
            return {"public_net": with_dns_ptr(now, address, name)}

        return self.project.answer(201, action=self.start("change_dns_ptr", server_id, change, locks=False))

    def _with_group(self, now: Object, body: Body) -> Object:
        """A stopped server that is in no group, in one that has room. Raises ApiError."""
        group_id = body.integer("placement_group")
        if now["placement_group"] is not None:
            raise ApiError("already_in_placement_group", "server is already part of a placement group")
        require_room(self.project, group_id)
        if now["status"] != "off":
            raise ApiError("server_not_stopped", "server must be stopped to be added to a placement group")
        return {"placement_group": group_id}


def _without_group(now: Object, _body: Body) -> Object:
    if now["placement_group"] is None:
        raise ApiError("not_found", "server is not part of a placement group")
    return {"placement_group": None}


def _with_wanted_type(now: Object, body: Body) -> Object:
    """A stopped server with a type of the same architecture and no smaller disk. Raises ApiError."""
    body.require("upgrade_disk")
    upgrade_disk = body.boolean("upgrade_disk")
    wanted = wanted_entry(body, "server_type", SERVER_TYPES)
    if now["status"] != "off":
        raise ApiError("server_not_stopped", "server must be stopped to change its type")
    offered = {place["name"]: place["available"] for place in wanted["locations"]}
    fits = wanted["architecture"] == now["server_type"]["architecture"] and wanted["disk"] >= now["primary_disk_size"]
    if not fits or not offered.get(now["location"]["name"]):
        raise ApiError("invalid_server_type", "server type does not fit for the given server or is deprecated")
    disk = wanted["disk"] if upgrade_disk else now["primary_disk_size"]
    return {"server_type": wanted, "primary_disk_size": disk, "status": "running"}


def check_user_data(body: Body) -> None:
    """Raises ``invalid_input`` for more than a server gets."""
    if len((body.optional_text("user_data") or "").encode()) > _MOST_USER_DATA:
        raise invalid_field("user_data", "must not be larger than 32 KiB")
