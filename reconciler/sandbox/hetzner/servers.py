"""Servers: creating, changing and deleting them, and their actions.

Source: Hetzner Cloud API, servers and server actions. Known differences: there is no ``starting`` or ``stopping`` in
between, a graceful shutdown always succeeds, a server is ``deleting`` until its action ends and gone then, and a server
whose creation fails disappears. Networks given at creation are attached when ``create_server`` ends, without locking
them. User data, SSH keys, volumes, firewalls, placement groups and Primary IPs in a creation are accepted and ignored.
"""

import re
from collections.abc import Callable

from reconciler.sandbox.exchange import Request, Response
from reconciler.sandbox.hetzner.actions import Action, nothing
from reconciler.sandbox.hetzner.attachments import Attachments
from reconciler.sandbox.hetzner.bodies import Body
from reconciler.sandbox.hetzner.errors import ApiError, invalid_field, invalid_text, name_taken
from reconciler.sandbox.hetzner.objects import PublicAddresses, server_template
from reconciler.sandbox.hetzner.ordering import wanted_image, wanted_location, wanted_server_type
from reconciler.sandbox.hetzner.project import Project
from reconciler.sandbox.hetzner.rendering import Renderer
from reconciler.sandbox.hetzner.store import Object

_HOST_LABEL = r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}$){_HOST_LABEL}(\.{_HOST_LABEL})*")


class Servers:
    """The writing half of ``/servers``."""

    def __init__(self, project: Project, attachments: Attachments) -> None:
        self._project = project
        self._attachments = attachments

    def create(self, request: Request) -> Response:
        """``POST /servers``: the preliminary server, ``initializing``, and its actions."""
        body = Body.of(request)
        name = self._checked_name(body.text("name"), None)
        server_type = wanted_server_type(body)
        location = wanted_location(body, server_type)
        image = wanted_image(body, server_type)
        server = {
            **server_template(self._project.store.next_id("servers"), self._project.now()),
            "name": name,
            "status": "initializing",
            "server_type": server_type,
            "location": location,
            "image": image,
            "labels": body.labels() or {},
            "primary_disk_size": server_type["disk"],
            "public_net": self._public_net(body, name),
        }
        start = body.boolean("start_after_create", default=True)
        networks = [self._project.require("networks", network_id) for network_id in body.integers("networks")]
        try:
            for network in networks:
                self._attachments.plan(server, network)
        except ApiError:
            self._attachments.forget(server["id"])
            raise
        self._project.store.put("servers", server)
        actions = self._start_creation(server["id"], start=start)
        present = self._project.store.get("servers", server["id"]) or server
        return Response(
            201,
            {
                "server": self._render(present),
                "action": self._project.actions.render(actions[0]),
                "next_actions": [self._project.actions.render(action) for action in actions[1:]],
                "root_password": None if body.has("ssh_keys") else "simulated-root-password",
            },
        )

    def update(self, request: Request, server_id: int) -> Response:
        """``PUT /servers/{id}``: name and labels."""
        server = self._project.require("servers", server_id)
        body = Body.of(request)
        changed = dict(server)
        if (name := body.optional_text("name")) is not None:
            changed["name"] = self._checked_name(name, server_id)
        if (labels := body.labels()) is not None:
            changed["labels"] = labels
        self._project.store.put("servers", changed)
        return Response(200, {"server": self._render(changed)})

    def delete(self, _request: Request, server_id: int) -> Response:
        """``DELETE /servers/{id}``: 200 with the action after which the server is gone."""
        server = self._free(server_id)
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
            self._free(server_id)
            effect = nothing if status is None else (lambda: self._project.change("servers", server_id, status=status))
            return self._started(self._project.actions.start(command, ("server", server_id), effect=effect))

        return handler

    def change_protection(self, request: Request, server_id: int) -> Response:
        """``change_protection``: ``delete`` and ``rebuild``, which must be equal."""
        protection = self._free(server_id)["protection"]
        body = Body.of(request)
        wanted = {name: body.boolean(name, default=protection[name]) for name in ("delete", "rebuild")}
        if wanted["delete"] != wanted["rebuild"]:
            raise invalid_text("delete and rebuild protection must have the same value")
        return self._started(
            self._project.actions.start(
                "change_protection",
                ("server", server_id),
                effect=lambda: self._project.change("servers", server_id, protection=wanted),
            )
        )

    def change_type(self, request: Request, server_id: int) -> Response:
        """``change_type``: of a stopped server, to a type with the same architecture and no smaller disk."""
        body = Body.of(request)
        server = self._free(server_id)
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
        return self._started(
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
        return self._started(self._attachments.attach(server, network))

    def detach_from_network(self, request: Request, server_id: int) -> Response:
        """``detach_from_network``: locks the server and the network."""
        server, network = self._server_and_network(Body.of(request), server_id)
        return self._started(self._attachments.detach(server, network))

    def change_alias_ips(self, request: Request, server_id: int) -> Response:
        """``change_alias_ips``: all of them in one network; locks the server and the network."""
        body = Body.of(request)
        server, network = self._server_and_network(body, server_id)
        if not body.has("alias_ips"):
            raise invalid_field("alias_ips", "is missing")
        return self._started(self._attachments.change_aliases(server, network, tuple(body.texts("alias_ips"))))

    def _server_and_network(self, body: Body, server_id: int) -> tuple[Object, Object]:
        self._project.require("servers", server_id)
        network = self._project.require("networks", body.integer("network"))
        server = self._free(server_id)
        self._project.actions.require_free("network", network["id"])
        return server, network

    def _start_creation(self, server_id: int, *, start: bool) -> list[Action]:
        project = self._project

        def created() -> None:
            project.change("servers", server_id, status="off")
            self._attachments.settle(server_id)

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

    def _free(self, server_id: int) -> Object:
        server = self._project.require("servers", server_id)
        self._project.actions.require_free("server", server_id)
        return server

    def _checked_name(self, name: str, own_id: int | None) -> str:
        if not _HOST_NAME.fullmatch(name):
            raise invalid_field("name", "must be a valid hostname")
        if any(s["name"] == name and s["id"] != own_id for s in self._project.store.truth().all("servers")):
            raise name_taken("server name is already used")
        return name

    def _public_net(self, body: Body, name: str) -> Object:
        wanted = body.object("public_net")
        addresses = PublicAddresses(self._project.store)
        return {
            "ipv4": addresses.ipv4(name) if wanted.boolean("enable_ipv4", default=True) else None,
            "ipv6": addresses.ipv6() if wanted.boolean("enable_ipv6", default=True) else None,
            "floating_ips": [],
            "firewalls": [],
        }

    def _render(self, server: Object) -> Object:
        return Renderer(self._project.store.truth(), self._project.actions).render("servers", server)

    def _started(self, action: Action) -> Response:
        return Response(201, {"action": self._project.actions.render(action)})


def remove_server(project: Project, server_id: int) -> None:
    """Remove a server, and itself as a target of load balancers; nothing when it is gone already.

    Routes with it as their gateway stay: they become black holes.
    """
    if project.store.get("servers", server_id) is None:
        return
    project.store.remove("servers", server_id)
    for balancer in project.store.truth().all("load_balancers"):
        left = [_without_server(target, server_id) for target in balancer["targets"]]
        targets = [target for target in left if target is not None]
        if targets != balancer["targets"]:
            project.store.put("load_balancers", {**balancer, "targets": targets})


def _without_server(target: Object, server_id: int) -> Object | None:
    if target["type"] == "server" and target["server"]["id"] == server_id:
        return None
    if target["type"] == "label_selector":
        return {**target, "targets": [found for found in target["targets"] if found["server"]["id"] != server_id]}
    return target
