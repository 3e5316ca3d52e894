"""Placement groups, which keep their servers on different hosts.

Source: Hetzner Cloud API, placement groups and server actions. Known differences: there is always a host left; which
refusal the deletion of a group with servers gets is not established, here it is ``resource_in_use``.
"""

from collections.abc import Mapping

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.resource import Resource, route
from hcloud_sandbox.hetzner.store import Object, View, fresh_copy
from hcloud_sandbox.shapes import Rule, one_of

MAX_SERVERS = 10
_TYPES = ("spread",)


class PlacementGroups(Resource):
    """Groups. The one truth is ``placement_group`` of the stored server: the group's id, None without one."""

    kind = "placement_groups"
    filters = ("type",)
    has_actions = False

    def template(self, object_id: int, created: str) -> Object:
        """An empty group."""
        blank = {"id": object_id, "name": f"placement-group-{object_id}", "labels": {}, "type": _TYPES[0]}
        return {**blank, "created": created, "servers": []}

    def rules(self) -> Mapping[str, Rule]:
        """Its servers follow from the servers."""
        return {"type": one_of(*_TYPES), "servers": lambda *_: []}

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:  # noqa: ARG002
        """With its servers."""
        return shown_group(view, stored)

    @route("POST /placement_groups")
    def create(self, body: Body) -> Response:
        """An empty one."""
        wanted = {"name": self.checked_name(body), "type": body.choice("type", _TYPES), "labels": body.labels()}
        return self.answer(self.new(**wanted), 201, action=None)

    def check_unused(self, present: Object) -> None:
        """A group with servers stays."""
        if members_of_group(self.store.truth(), present["id"]):
            raise ApiError("resource_in_use", "placement group still has servers")


def shown_group(view: View, group: Object) -> Object:
    """A group as a reader sees it."""
    return fresh_copy(group) | {"servers": members_of_group(view, group["id"])}


def members_of_group(view: View, group_id: int) -> list[int]:
    """The ids of the servers in a placement group."""
    return [server["id"] for server in view.all("servers") if server["placement_group"] == group_id]


def require_room(project: Project, group_id: int) -> None:
    """Raises ``not_found`` when there is no such group, ``placement_error`` when it takes no more servers."""
    project.require("placement_groups", group_id)
    if len(members_of_group(project.store.truth(), group_id)) >= MAX_SERVERS:
        raise ApiError("placement_error", f"placement group has {MAX_SERVERS} servers already")
