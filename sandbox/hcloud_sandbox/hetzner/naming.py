"""Names and labels, which people give to everything in a project: the rules that most kinds share."""

from collections.abc import Callable

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.project import SINGULAR, Project
from hcloud_sandbox.hetzner.store import Kind, Object

_LENGTHS = range(1, 256)


def wanted_name(project: Project, kind: Kind, body: Body, own_id: int | None = None) -> str:
    """The name in a request, which no other object of the kind may have. Raises ApiError."""
    name = body.limited_text("name", _LENGTHS, None)
    project.require_unused(kind, name, own_id)
    return name


def with_name_and_labels(project: Project, kind: Kind, present: Object, body: Body) -> Object:
    """The object with the name and labels of a request, as far as it has any. Raises ApiError."""
    changed = dict(present)
    if body.has("name"):
        changed["name"] = wanted_name(project, kind, body, present["id"])
    if (labels := body.labels()) is not None:
        changed["labels"] = labels
    return changed


def update(project: Project, kind: Kind) -> Callable[[Request, int], Response]:
    """``PUT /<kind>/{id}`` of a kind of which nothing else can be changed so."""

    def handler(request: Request, object_id: int) -> Response:
        present = project.require(kind, object_id)
        changed = with_name_and_labels(project, kind, present, Body.of(request))
        project.store.put(kind, changed)
        return Response(200, {SINGULAR[kind]: project.shown(kind, changed)})

    return handler


def change_protection(project: Project, kind: Kind) -> Callable[[Request, int], Response]:
    """``change_protection`` of a kind that is protected against nothing but deletion."""

    def handler(request: Request, object_id: int) -> Response:
        present = project.require(kind, object_id)
        protection = {"delete": Body.of(request).boolean("delete", default=present["protection"]["delete"])}
        action = project.actions.start(
            "change_protection",
            (SINGULAR[kind], object_id),
            effect=lambda: project.change(kind, object_id, protection=protection),
        )
        return project.started(action)

    return handler
