"""Volumes: creating, attaching, growing and deleting them.

Source: Hetzner Cloud API, volumes and volume actions. Known differences: there is no disk behind a volume, so
``format`` and ``automount`` change nothing else; which refusal the deletion of an attached one gets is not established,
here it is ``service_error``.
"""

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Action
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import DEFAULT_LOCATION, LOCATIONS, find_entry
from hcloud_sandbox.hetzner.completing import catalogue_entry, check_labels_shape, check_type, complete
from hcloud_sandbox.hetzner.errors import ApiError, invalid_field, invalid_text
from hcloud_sandbox.hetzner.naming import wanted_name
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object

_SIZES = range(10, 10_241)
_FORMATS = ("ext4", "xfs")


class Volumes:
    """The writing half of ``/volumes``. The one truth is ``server`` of the volume, null when it has none."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def create(self, request: Request) -> Response:
        """``POST /volumes``: in a location, or at a server."""
        body = Body.of(request)
        server_id = body.integer("server") if body.has("server") else None
        if (server_id is None) != body.has("location"):
            raise invalid_text("either location or server must be given")
        volume = {
            **_template(self._project.store.next_id("volumes"), self._project.now()),
            "name": wanted_name(self._project, "volumes", body),
            "location": self._place(body, server_id),
            "size": body.number("size", _SIZES, None),
            "format": body.choice("format", _FORMATS, "") or None,
            "labels": body.labels() or {},
            "status": "creating",
        }
        self._project.store.put("volumes", volume)
        resource = ("volume", volume["id"])
        creation = self._project.actions.start(
            "create_volume",
            resource,
            effect=lambda: self._project.change("volumes", volume["id"], status="available"),
        )
        following = [] if server_id is None else [self._attach(volume["id"], server_id, after=creation)]
        present = self._project.require("volumes", volume["id"])
        render = self._project.actions.render
        actions = {"action": render(creation), "next_actions": [render(action) for action in following]}
        return Response(201, {"volume": self._project.shown("volumes", present), **actions})

    def delete(self, _request: Request, volume_id: int) -> Response:
        """``DELETE /volumes/{id}``: at once, of one that no server has."""
        volume = self._project.require_free("volumes", volume_id)
        if volume["protection"]["delete"]:
            raise ApiError("protected", "volume is delete protected")
        if volume["server"] is not None:
            raise ApiError("service_error", "volume is attached to a server")
        self._project.store.remove("volumes", volume_id)
        return Response(204)

    def attach(self, request: Request, volume_id: int) -> Response:
        """``attach``: to a server in the same location."""
        volume = self._project.require_free("volumes", volume_id)
        server_id = Body.of(request).integer("server")
        self.require_attachable(volume, self._project.require("servers", server_id)["location"])
        self._project.actions.require_free("server", server_id)
        return self._project.started(self._attach(volume_id, server_id))

    def detach(self, _request: Request, volume_id: int) -> Response:
        """``detach``: from the server that has it."""
        volume = self._project.require_free("volumes", volume_id)
        if volume["server"] is None:
            raise ApiError("service_error", "volume is not attached to a server")
        self._project.actions.require_free("server", volume["server"])
        action = self._project.actions.start(
            "detach_volume",
            ("server", volume["server"]),
            ("volume", volume_id),
            effect=lambda: self._project.change("volumes", volume_id, server=None),
        )
        return self._project.started(action)

    def resize(self, request: Request, volume_id: int) -> Response:
        """``resize``: a volume can only grow."""
        volume = self._project.require_free("volumes", volume_id)
        size = Body.of(request).number("size", _SIZES, None)
        if size <= volume["size"]:
            raise invalid_field("size", f"must be more than {volume['size']}")
        action = self._project.actions.start(
            "resize_volume",
            ("volume", volume_id),
            effect=lambda: self._project.change("volumes", volume_id, size=size),
        )
        return self._project.started(action)

    def require_attachable(self, volume: Object, location: Object) -> None:
        """Raises ApiError unless a server in this location may have the volume."""
        if volume["server"] is not None:
            raise ApiError("volume_already_attached", "volume is already attached to a server, detach first")
        if volume["location"]["name"] != location["name"]:
            raise invalid_text("volume and server must be in the same location")

    def _attach(self, volume_id: int, server_id: int, after: Action | None = None) -> Action:
        def effect() -> None:
            self._project.require("servers", server_id)
            self._project.change("volumes", volume_id, server=server_id)

        resources = (("server", server_id), ("volume", volume_id))
        return self._project.actions.start("attach_volume", *resources, effect=effect, after=after)

    def _place(self, body: Body, server_id: int | None) -> Object:
        if server_id is not None:
            self._project.actions.require_free("server", server_id)
            location: Object = self._project.require("servers", server_id)["location"]
            return location
        found = find_entry(LOCATIONS, body.id_or_name("location"))
        if found is None:
            raise ApiError("not_found", "location not found")
        return found


def complete_volume(given: Object, created: str, where: str) -> Object:
    """A volume of a world file."""
    volume = complete(given, _template(given["id"], created), where)
    volume["location"] = catalogue_entry(volume["location"], LOCATIONS, DEFAULT_LOCATION, f"{where} location")
    check_labels_shape(volume["labels"], f"{where} labels")
    check_type(volume["size"], int, "a number of GB", f"{where} size")
    check_type(volume["server"], (int, type(None)), "the id of a server or null", f"{where} server")
    volume["protection"] = complete(volume["protection"], {"delete": False}, f"{where} protection")
    return volume


def _template(volume_id: int, created: str) -> Object:
    return {
        "id": volume_id,
        "name": f"volume-{volume_id}",
        "created": created,
        "format": None,
        "labels": {},
        "linux_device": f"/dev/disk/by-id/scsi-0HC_Volume_{volume_id}",
        "location": LOCATIONS[DEFAULT_LOCATION],
        "protection": {"delete": False},
        "server": None,
        "size": _SIZES.start,
        "status": "available",
    }
