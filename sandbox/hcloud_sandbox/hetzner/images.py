"""Images: the system images of the catalog, and the snapshots and backups that were made of servers.

Source: Hetzner Cloud API, images and server actions. Known differences: backups are made by request only, and never too
many; which refusal a change of a system image gets is not established, here it is ``forbidden``.
"""

from collections.abc import Mapping

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import IMAGES
from hcloud_sandbox.hetzner.errors import ApiError, invalid_text
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.resource import Resource, route
from hcloud_sandbox.hetzner.store import Object, Store, View
from hcloud_sandbox.shapes import Rule, a_text, one_of, optional

_DESCRIPTION = range(256)
_OF_SERVERS = ("snapshot", "backup")
_GB_OF_A_SNAPSHOT = 2.5
_SYSTEM_IDS = frozenset(image["id"] for image in IMAGES)


class Images(Resource):
    """Images. Those of the catalog are not stored, and cannot be changed."""

    kind = "images"
    filters = ("type", "status", "bound_to", "architecture")
    protections = ("delete",)

    def template(self, object_id: int, created: str) -> Object:
        """A snapshot."""
        made: Object = {"type": "snapshot", "name": None, "description": f"snapshot {object_id}", "rapid_deploy": False}
        size: Object = {"image_size": _GB_OF_A_SNAPSHOT, "disk_size": 40}
        return {**IMAGES[0], **made, **size, "id": object_id, "created": created}

    def rules(self) -> Mapping[str, Rule]:
        """What was made of servers has a description alone."""
        return {"name": optional(a_text), "type": one_of(*_OF_SERVERS)}

    def complete(self, given: Object, where: str) -> Object:
        """A snapshot or backup."""
        if given["id"] in _SYSTEM_IDS:
            raise ValueError(f"{where}: a system image has this id; choose another one")
        return super().complete(given, where)

    def all_in(self, view: View) -> list[Object]:
        """Those of the catalog, then those that were made."""
        return all_images(view)

    def find(self, view: View, object_id: int) -> Object | None:
        """One of either."""
        return next((image for image in all_images(view) if image["id"] == object_id), None)

    def get(self, object_id: int) -> Object:
        """A snapshot or backup. Raises ``not_found``, or ``forbidden``."""
        if object_id in _SYSTEM_IDS:
            raise ApiError("forbidden", "system images cannot be changed")
        return super().get(object_id)

    def updated(self, present: Object, body: Body) -> Object:
        """Description and labels; a backup can be made a snapshot."""
        changed: Object = {"description": body.text("description", _DESCRIPTION, present["description"])}
        if body.has("type"):
            changed |= {"type": body.choice("type", _OF_SERVERS[:1]), "bound_to": None}
        return changed | ({"labels": body.labels()} if body.has("labels") else {})

    @route("POST /servers/{id}/actions/create_image")
    def create(self, body: Body, server_id: int) -> Response:
        """A snapshot, or a backup of a server that has backups enabled."""
        server = self.project.require_free("servers", server_id)
        kind = body.choice("type", _OF_SERVERS, _OF_SERVERS[0])
        if kind == "backup" and server["backup_window"] is None:
            raise ApiError("service_error", "server has no backups enabled")
        system = server["image"] or IMAGES[0]
        image = self.new(
            type=kind,
            status="creating",
            description=body.text("description", _DESCRIPTION, "") or f"{kind} of {server['name']}",
            image_size=None,
            disk_size=server["primary_disk_size"],
            created_from={"id": server_id, "name": server["name"]},
            bound_to=server_id if kind == "backup" else None,
            labels=body.labels(),
            **{name: system[name] for name in ("os_flavor", "os_version", "architecture")},
        )
        action = self.start(
            "create_image",
            image["id"],
            {"status": "available"},
            ("servers", server_id),
            on_failure=lambda _: self.discard(image["id"]),
        )
        return self.answer(image, 201, action=action)


def remove_backups(store: Store, server_id: int) -> None:
    """Remove the backups of a server. Inside ``store.changing()`` only."""
    for image in store.truth().all("images"):
        if image["bound_to"] == server_id:
            store.remove("images", image["id"])


def all_images(view: View) -> list[Object]:
    """Those of the catalog, then those that were made."""
    return [*IMAGES, *view.all("images")]


def find_image(images: list[Object], id_or_name: object, architecture: str) -> Object | None:
    """The image with this id, or the one with this name for the architecture; None when there is none."""
    for image in images:
        if str(image["id"]) == str(id_or_name):
            return image
        if image["name"] == str(id_or_name) and image["architecture"] == architecture:
            return image
    return None


def wanted_image(project: Project, body: Body, server_type: Object) -> Object:
    """The image in ``image``, for the type's architecture. Raises ApiError."""
    body.require("image")
    found = find_image(all_images(project.store.truth()), body.id_or_name("image"), server_type["architecture"])
    if found is None:
        raise ApiError("not_found", "image not found")
    if found["architecture"] != server_type["architecture"]:
        raise invalid_text("image has another architecture than the server type")
    return found
