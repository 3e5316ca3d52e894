"""Servers: changing and deleting them, and the actions for power, type and networks.

Source: Hetzner Cloud API, servers and server actions. Known differences: there is no ``starting`` or ``stopping`` in
between, a graceful shutdown always succeeds, and a server is ``deleting`` until its action ends and gone then.
"""

from collections.abc import Callable

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text
from hcloud_sandbox.hetzner.firewalls import server_entry
from hcloud_sandbox.hetzner.images import remove_backups
from hcloud_sandbox.hetzner.ordering import host_name, wanted_server_type
from hcloud_sandbox.hetzner.primary_ips import PrimaryIps
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object

_STARTS = frozenset({"start_server", "reboot_server", "reset_server"})
"""Actions after which a server has booted: the rescue system is for one start."""


class Servers:
    """The writing half of ``/servers``."""

    def __init__(self, project: Project, attachments: Attachments) -> None:
        self._project = project
        self._attachments = attachments

    def update(self, request: Request, server_id: int) -> Response:
        """``PUT /servers/{id}``: name and labels."""
        server = self._project.require("servers", server_id)
        body = Body.of(request)
        changed = dict(server)
        if (name := body.optional_text("name")) is not None:
            changed["name"] = host_name(self._project, name, server_id)
        if (labels := body.labels()) is not None:
            changed["labels"] = labels
        self._project.store.put("servers", changed)
        return Response(200, {"server": self._project.shown("servers", changed)})

    def delete(self, _request: Request, server_id: int) -> Response:
        """``DELETE /servers/{id}``: 200 with the action after which the server is gone."""
        server = self._project.require_free("servers", server_id)
        if server["protection"]["delete"]:
            raise ApiError("protected", "server is delete protected")
        self._project.change("servers", server_id, status="deleting")
        action = self._project.actions.start(
            "delete_server",
            ("server", server_id),
            effect=lambda: remove_server(self._project, server_id),
            on_failure=lambda: self._project.change("servers", server_id, status=server["status"]),
        )
        return Response(200, {"action": self._project.actions.render(action)})

    def act(self, command: str, status: str | None) -> Callable[[Request, int], Response]:
        """The handler of a simple action, after which the server has this status (None: the same as before)."""

        def handler(_request: Request, server_id: int) -> Response:
            self._project.require_free("servers", server_id)
            changes: Object = {} if status is None else {"status": status}
            if command in _STARTS:
                changes["rescue_enabled"] = False

            def effect() -> None:
                self._project.change("servers", server_id, **changes)

            return self._project.started(self._project.actions.start(command, ("server", server_id), effect=effect))

        return handler

    def change_protection(self, request: Request, server_id: int) -> Response:
        """``change_protection``: ``delete`` and ``rebuild``, which must be equal."""
        protection = self._project.require_free("servers", server_id)["protection"]
        body = Body.of(request)
        wanted = {name: body.boolean(name, default=protection[name]) for name in ("delete", "rebuild")}
        if wanted["delete"] != wanted["rebuild"]:
            raise invalid_text("delete and rebuild protection must have the same value")
        return self._project.started(
            self._project.actions.start(
                "change_protection",
                ("server", server_id),
                effect=lambda: self._project.change("servers", server_id, protection=wanted),
            )
        )

    def change_type(self, request: Request, server_id: int) -> Response:
        """``change_type``: of a stopped server, to a type with the same architecture and no smaller disk."""
        body = Body.of(request)
        server = self._project.require_free("servers", server_id)
        if not body.has("upgrade_disk"):
            raise invalid_field("upgrade_disk", "is missing")
        upgrade_disk = body.boolean("upgrade_disk", default=False)
        server_type = wanted_server_type(body)
        if server["status"] != "off":
            raise ApiError("server_not_stopped", "server must be stopped to change its type")
        offered = {place["name"]: place["available"] for place in server_type["locations"]}
        fits = server_type["architecture"] == server["server_type"]["architecture"]
        if not fits or server_type["disk"] < server["primary_disk_size"] or not offered.get(server["location"]["name"]):
            raise ApiError("invalid_server_type", "server type does not fit for the given server or is deprecated")
        disk = server_type["disk"] if upgrade_disk else server["primary_disk_size"]
        return self._project.started(
            self._project.actions.start(
                "change_server_type",
                ("server", server_id),
                effect=lambda: self._project.change(
                    "servers", server_id, server_type=server_type, primary_disk_size=disk, status="running"
                ),
            )
        )

    def attach_to_network(self, request: Request, server_id: int) -> Response:
        """``attach_to_network``: locks the server and the network."""
        body = Body.of(request)
        server, network = self._server_and_network(body, server_id)
        self._attachments.plan(
            server,
            network,
            ip=body.optional_text("ip"),
            ip_range=body.optional_text("ip_range"),
            alias_ips=tuple(body.texts("alias_ips")),
        )
        return self._project.started(self._attachments.attach(server, network))

    def detach_from_network(self, request: Request, server_id: int) -> Response:
        """``detach_from_network``: locks the server and the network."""
        server, network = self._server_and_network(Body.of(request), server_id)
        return self._project.started(self._attachments.detach(server, network))

    def change_alias_ips(self, request: Request, server_id: int) -> Response:
        """``change_alias_ips``: all of them in one network; locks the server and the network."""
        body = Body.of(request)
        server, network = self._server_and_network(body, server_id)
        if not body.has("alias_ips"):
            raise invalid_field("alias_ips", "is missing")
        return self._project.started(self._attachments.change_aliases(server, network, tuple(body.texts("alias_ips"))))

    def _server_and_network(self, body: Body, server_id: int) -> tuple[Object, Object]:
        self._project.require("servers", server_id)
        network = self._project.require("networks", body.integer("network"))
        server = self._project.require_free("servers", server_id)
        self._project.actions.require_free("network", network["id"])
        return server, network


def remove_server(project: Project, server_id: int) -> None:
    """Remove a server, with its backups and what is deleted with it, and from all that it is part of; nothing when it
    is gone already.

    Routes with it as their gateway stay: they become black holes.
    """
    server = project.store.get("servers", server_id)
    if server is None:
        return
    PrimaryIps(project).leave(server)
    remove_backups(project, server_id)
    project.store.remove("servers", server_id)
    view = project.store.truth()
    for balancer in view.all("load_balancers"):
        left = [_without_server(target, server_id) for target in balancer["targets"]]
        targets = [target for target in left if target is not None]
        if targets != balancer["targets"]:
            project.store.put("load_balancers", {**balancer, "targets": targets})
    for firewall in view.all("firewalls"):
        entries = [entry for entry in firewall["applied_to"] if entry != server_entry(server_id)]
        if entries != firewall["applied_to"]:
            project.store.put("firewalls", {**firewall, "applied_to": entries})
    for volume in view.all("volumes"):
        if volume["server"] == server_id:
            project.store.put("volumes", {**volume, "server": None})


def _without_server(target: Object, server_id: int) -> Object | None:
    if target["type"] == "server" and target["server"]["id"] == server_id:
        return None
    if target["type"] == "label_selector":
        return {**target, "targets": [found for found in target["targets"] if found["server"]["id"] != server_id]}
    return target
