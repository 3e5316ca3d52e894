"""Placement groups, which keep their servers on different hosts.

Source: Hetzner Cloud API, placement groups and server actions. Known differences: there is always a host left; which
refusal the deletion of a group with servers gets is not established, here it is ``resource_in_use``.
"""

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.completing import check_labels_shape, complete
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.naming import wanted_name
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.rendering import members_of_group
from hcloud_sandbox.hetzner.store import Object

MAX_SERVERS = 10
_TYPES = ("spread",)


class PlacementGroups:
    """The writing half of ``/placement_groups``, and the actions by which servers come and go.

    The one truth is ``placement_group`` of the stored server: the group's id, None without one.
    """

    def __init__(self, project: Project) -> None:
        self._project = project

    def create(self, request: Request) -> Response:
        """``POST /placement_groups``: an empty one."""
        body = Body.of(request)
        group = {
            **_template(self._project.store.next_id("placement_groups"), self._project.now()),
            "name": wanted_name(self._project, "placement_groups", body),
            "type": body.choice("type", _TYPES, None),
            "labels": body.labels() or {},
        }
        self._project.store.put("placement_groups", group)
        return Response(201, {"placement_group": group, "action": None})

    def delete(self, _request: Request, group_id: int) -> Response:
        """``DELETE /placement_groups/{id}``: of one without servers."""
        self._project.require("placement_groups", group_id)
        if members_of_group(self._project.store.truth(), group_id):
            raise ApiError("resource_in_use", "placement group still has servers")
        self._project.store.remove("placement_groups", group_id)
        return Response(204)

    def add(self, request: Request, server_id: int) -> Response:
        """``add_to_placement_group``: of a stopped server that is in none."""
        server = self._project.require_free("servers", server_id)
        group_id = Body.of(request).integer("placement_group")
        if server["placement_group"] is not None:
            raise ApiError("already_in_placement_group", "server is already part of a placement group")
        self.require_room(group_id)
        if server["status"] != "off":
            raise ApiError("server_not_stopped", "server must be stopped to be added to a placement group")
        return self._set("add_to_placement_group", server_id, group_id)

    def remove(self, _request: Request, server_id: int) -> Response:
        """``remove_from_placement_group``: of a server that is in one."""
        if self._project.require_free("servers", server_id)["placement_group"] is None:
            raise ApiError("not_found", "server is not part of a placement group")
        return self._set("remove_from_placement_group", server_id, None)

    def require_room(self, group_id: int) -> None:
        """Raises ``not_found`` when there is no such group, ``placement_error`` when it takes no more servers."""
        self._project.require("placement_groups", group_id)
        if len(members_of_group(self._project.store.truth(), group_id)) >= MAX_SERVERS:
            raise ApiError("placement_error", f"placement group has {MAX_SERVERS} servers already")

    def _set(self, command: str, server_id: int, group_id: int | None) -> Response:
        action = self._project.actions.start(
            command,
            ("server", server_id),
            effect=lambda: self._project.change("servers", server_id, placement_group=group_id),
        )
        return self._project.started(action)


def complete_placement_group(given: Object, created: str, where: str) -> Object:
    """A group of a world file. Its servers follow from the servers."""
    group = complete(given, _template(given["id"], created), where)
    check_labels_shape(group["labels"], f"{where} labels")
    if group["type"] not in _TYPES:
        raise ValueError(f"{where}: type {group['type']!r} is not known; use {_TYPES[0]}")
    return {**group, "servers": []}


def _template(group_id: int, created: str) -> Object:
    blank = {"id": group_id, "name": f"placement-group-{group_id}", "labels": {}, "type": "spread"}
    return {**blank, "created": created, "servers": []}
