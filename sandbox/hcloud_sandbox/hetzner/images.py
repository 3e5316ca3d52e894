"""Images: the system images of the catalog, and the snapshots and backups that were made of servers.

Source: Hetzner Cloud API, images and server actions. Known differences: backups are made by request only, and never too
many; which refusal a change of a system image gets is not established, here it is ``forbidden``.
"""

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import IMAGES
from hcloud_sandbox.hetzner.completing import check_labels_shape, complete
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.naming import change_protection
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Object, View

_DESCRIPTION = range(256)
_OF_SERVERS = ("snapshot", "backup")
_GB_OF_A_SNAPSHOT = 2.5


class Images:
    """The writing half of ``/images``, and the actions of servers that make and end them."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._change_protection = change_protection(project, "images")

    def make(self, request: Request, server_id: int) -> Response:
        """``create_image``: a snapshot, or a backup of a server that has backups enabled."""
        server = self._project.require_free("servers", server_id)
        body = Body.of(request)
        kind = body.choice("type", _OF_SERVERS, _OF_SERVERS[0])
        if kind == "backup" and server["backup_window"] is None:
            raise ApiError("service_error", "server has no backups enabled")
        system = server["image"] or IMAGES[0]
        image = {
            **_template(self._project.store.next_id("images"), self._project.now()),
            "type": kind,
            "status": "creating",
            "description": body.limited_text("description", _DESCRIPTION, "") or f"{kind} of {server['name']}",
            "disk_size": server["primary_disk_size"],
            "created_from": {"id": server_id, "name": server["name"]},
            "bound_to": server_id if kind == "backup" else None,
            "labels": body.labels() or {},
            **{name: system[name] for name in ("os_flavor", "os_version", "architecture")},
        }
        self._project.store.put("images", image)

        def made() -> None:
            self._project.change("images", image["id"], status="available", image_size=_GB_OF_A_SNAPSHOT)

        action = self._project.actions.start(
            "create_image",
            ("server", server_id),
            ("image", image["id"]),
            effect=made,
            on_failure=lambda: self._project.store.remove("images", image["id"]),
        )
        present = self._project.store.get("images", image["id"]) or image
        return Response(201, {"image": present, "action": self._project.actions.render(action)})

    def update(self, request: Request, image_id: int) -> Response:
        """``PUT /images/{id}``: description and labels; a backup can be made a snapshot."""
        changed = dict(self._own(image_id))
        body = Body.of(request)
        changed["description"] = body.limited_text("description", _DESCRIPTION, changed["description"])
        if body.has("type"):
            changed |= {"type": body.choice("type", _OF_SERVERS[:1], None), "bound_to": None}
        if (labels := body.labels()) is not None:
            changed["labels"] = labels
        self._project.store.put("images", changed)
        return Response(200, {"image": changed})

    def delete(self, _request: Request, image_id: int) -> Response:
        """``DELETE /images/{id}``: of a snapshot or backup."""
        image = self._own(image_id)
        self._project.actions.require_free("image", image_id)
        if image["protection"]["delete"]:
            raise ApiError("protected", "image is delete protected")
        self._project.store.remove("images", image_id)
        return Response(204)

    def change_protection(self, request: Request, image_id: int) -> Response:
        """``change_protection``: of a snapshot or backup."""
        self._own(image_id)
        return self._change_protection(request, image_id)

    def _own(self, image_id: int) -> Object:
        if any(image["id"] == image_id for image in IMAGES):
            raise ApiError("forbidden", "system images cannot be changed")
        return self._project.require("images", image_id)


def remove_backups(project: Project, server_id: int) -> None:
    """Remove the backups of a server. Inside ``store.change()`` only."""
    for image in project.store.truth().all("images"):
        if image["bound_to"] == server_id:
            project.store.remove("images", image["id"])


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


def complete_image(given: Object, created: str, where: str) -> Object:
    """A snapshot or backup of a world file."""
    image = complete(given, _template(given["id"], created), where)
    check_labels_shape(image["labels"], f"{where} labels")
    if image["type"] not in _OF_SERVERS:
        raise ValueError(f"{where}: type {image['type']!r} is not known; use one of {', '.join(_OF_SERVERS)}")
    if any(image["id"] == system["id"] for system in IMAGES):
        raise ValueError(f"{where}: a system image has this id; choose another one")
    image["protection"] = complete(image["protection"], {"delete": False}, f"{where} protection")
    return image


def _template(image_id: int, created: str) -> Object:
    made = {"type": "snapshot", "name": None, "description": f"snapshot {image_id}", "image_size": _GB_OF_A_SNAPSHOT}
    return {**IMAGES[0], **made, "id": image_id, "disk_size": 40, "created": created, "rapid_deploy": False}
