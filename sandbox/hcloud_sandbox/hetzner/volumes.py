"""Volumes: creating, attaching, growing and deleting them.

Source: Hetzner Cloud API, volumes and volume actions. Known differences: there is no disk behind a volume, so
``format`` and ``automount`` change nothing else; which refusal the deletion of an attached one gets is not established,
here it is ``service_error``.
"""

from collections.abc import Mapping
from typing import ClassVar

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import DEFAULT_LOCATION, LOCATIONS, wanted_entry
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text
from hcloud_sandbox.hetzner.resource import BodyChange, Resource, route
from hcloud_sandbox.hetzner.store import Object
from hcloud_sandbox.shapes import Rule, a, optional

_SIZES_GB = range(10, 10_241)
_FORMATS = ("ext4", "xfs")


class Volumes(Resource):
    """Volumes. The one truth is ``server`` of the volume, null when it has none."""

    kind = "volumes"
    filters = ("status",)
    protections = ("delete",)
    commands: ClassVar = {"resize": "resize_volume"}

    def template(self, object_id: int, created: str) -> Object:
        """One that no server has."""
        return {
            "id": object_id,
            "name": f"volume-{object_id}",
            "created": created,
            "format": None,
            "labels": {},
            "linux_device": f"/dev/disk/by-id/scsi-0HC_Volume_{object_id}",
            "location": LOCATIONS[DEFAULT_LOCATION],
            "protection": {"delete": False},
            "server": None,
            "size": _SIZES_GB.start,
            "status": "available",
        }

    def rules(self) -> Mapping[str, Rule]:
        """Whether its server exists is checked when all objects are known."""
        return {"size": a(int, "a number of GB"), "server": optional(a(int, "the id of a server or null"))}

    def changes(self) -> Mapping[str, BodyChange]:
        """A volume can only grow."""
        return {"resize": _with_size}

    @route("POST /volumes")
    def create(self, body: Body) -> Response:
        """In a location, or at a server."""
        body.boolean("automount")
        server_id = body.optional_integer("server")
        if (server_id is None) != body.has("location"):
            raise invalid_text("either location or server must be given")
        if server_id is None:
            location = wanted_entry(body, "location", LOCATIONS)
        else:
            location = self.project.require_free("servers", server_id)["location"]
        volume = self.new(
            name=self.checked_name(body),
            location=location,
            size=body.integer("size", _SIZES_GB),
            format=body.choice("format", _FORMATS, "") or None,
            labels=body.labels(),
            status="creating",
        )
        creation = self.start("create_volume", volume["id"], {"status": "available"})
        following = [] if server_id is None else [self._attach(volume["id"], server_id, after=creation)]
        return self.answer(volume, 201, action=creation, next_actions=following)

    def check_unused(self, present: Object) -> None:
        """An attached volume stays."""
        if present["server"] is not None:
            raise ApiError("service_error", "volume is attached to a server")

    @route("POST /volumes/{id}/actions/attach")
    def attach(self, body: Body, volume_id: int) -> Response:
        """To a server in the same location."""
        body.boolean("automount")
        volume = self.free(volume_id)
        server_id = body.integer("server")
        require_attachable(volume, self.project.require("servers", server_id)["location"])
        self.project.actions.require_free("servers", server_id)
        return self.project.answer(201, action=self._attach(volume_id, server_id))

    @route("POST /volumes/{id}/actions/detach")
    def detach(self, _body: Body, volume_id: int) -> Response:
        """From the server that has it."""
        server_id = self.free(volume_id)["server"]
        if server_id is None:
            raise ApiError("service_error", "volume is not attached to a server")
        self.project.actions.require_free("servers", server_id)
        action = self.start("detach_volume", volume_id, {"server": None}, ("servers", server_id))
        return self.project.answer(201, action=action)

    def _attach(self, volume_id: int, server_id: int, after: Action | None = None) -> Action:
        def change(_now: Object) -> Object:
            self.project.require("servers", server_id)
            return {"server": server_id}

        return self.start("attach_volume", volume_id, change, ("servers", server_id), after=after)


def _with_size(now: Object, body: Body) -> Object:
    size = body.integer("size", _SIZES_GB)
    if size <= now["size"]:
        raise invalid_field("size", f"must be more than {now['size']}")
    return {"size": size}


def require_attachable(volume: Object, location: Object) -> None:
    """Raises ApiError unless a server in this location may have the volume."""
    if volume["server"] is not None:
        raise ApiError("volume_already_attached", "volume is already attached to a server, detach first")
    if volume["location"]["name"] != location["name"]:
        raise invalid_text("volume and server must be in the same location")
