"""Reading half of the API: lists, single objects, actions, members and catalogs.

Only reads go through a view, so only they can be stale or late; what a write answers is the true state.
"""

from collections.abc import Callable

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.catalogue import CURRENCY, ISOS, LOCATIONS, SERVER_TYPES, VAT_RATE, other_prices
from hcloud_sandbox.hetzner.errors import invalid_field, not_found, removed_endpoint
from hcloud_sandbox.hetzner.images import all_images
from hcloud_sandbox.hetzner.objects import fresh_copy
from hcloud_sandbox.hetzner.paging import BY_NAME, filtered, ordered, page_of
from hcloud_sandbox.hetzner.project import SINGULAR, Project
from hcloud_sandbox.hetzner.rendering import Renderer, primary_ips
from hcloud_sandbox.hetzner.servers import remove_server
from hcloud_sandbox.hetzner.store import Kind, Object, View

_EXACT_FILTERS: dict[Kind, tuple[str, ...]] = {
    "servers": ("status",),
    "certificates": ("type",),
    "primary_ips": ("ip",),
    "ssh_keys": ("fingerprint",),
    "placement_groups": ("type",),
    "volumes": ("status",),
    "images": ("type", "status", "bound_to", "architecture"),
}
_WITH_IMPLIED: frozenset[Kind] = frozenset({"primary_ips", "images"})
"""Kinds of which more is there than is stored."""
_ACTION_ORDER = ("id", "command", "status", "started", "finished")
_CHANGELOG = "https://docs.hetzner.cloud/changelog"


class Reading:
    """The handlers of ``GET``."""

    def __init__(self, project: Project, attachments: Attachments) -> None:
        self._project = project
        self._attachments = attachments
        self._catalogues = {
            "locations": LOCATIONS,
            "server_types": SERVER_TYPES,
            "load_balancer_types": project.load_balancer_types,
            "isos": ISOS,
        }

    def objects(self, kind: Kind) -> Callable[[Request], Response]:
        """``GET /<kind>``."""

        def handler(request: Request) -> Response:
            view = self._view(request)
            found = filtered(request, _listed(view, kind), _EXACT_FILTERS.get(kind, ()))
            found, total = self._project.faults.listed(request.path, ordered(request, found, BY_NAME))
            renderer = Renderer(view, self._project.actions)
            response = page_of(request, kind, found, lambda stored: renderer.render(kind, stored), total)
            self._shrink(request, kind, response)
            return response

        return handler

    def object(self, kind: Kind) -> Callable[[Request, int], Response]:
        """``GET /<kind>/{id}``."""

        def handler(request: Request, object_id: int) -> Response:
            view = self._view(request)
            implied = _listed(view, kind) if kind in _WITH_IMPLIED else []
            named = next((each for each in implied if each["id"] == object_id), None)
            stored = named or self._project.require_seen(view, kind, object_id)
            return Response(200, {SINGULAR[kind]: Renderer(view, self._project.actions).render(kind, stored)})

        return handler

    def members(self, request: Request, network_id: int) -> Response:
        """``GET /networks/{id}/members``."""
        view = self._view(request)
        network = self._project.require_seen(view, "networks", network_id)
        members = filtered(request, self._attachments.members(view, network), ("type", "subnet", "status"))
        return page_of(request, "members", ordered(request, members, ("id", "type", "status", "ip")), dict)

    def actions_by_id(self, request: Request) -> Response:
        """``GET /actions?id=1&id=2``: no pages; unknown ids are left out; without an id the call was removed."""
        if "id" not in request.query:
            link = f"{_CHANGELOG}#2023-07-20-actions-list-endpoint-is-deprecated"
            raise removed_endpoint("listing all actions of a project was removed", link)
        return Response(200, {"actions": self._chosen_actions(request, None, None)})

    def actions(self, kind: str) -> Callable[[Request], Response]:
        """``GET /<kind>/actions``."""
        return lambda request: page_of(request, "actions", self._chosen_actions(request, kind, None), dict)

    def actions_of(self, kind: Kind) -> Callable[[Request, int], Response]:
        """``GET /<kind>/{id}/actions``."""

        def handler(request: Request, object_id: int) -> Response:
            self._project.require(kind, object_id)
            chosen = self._chosen_actions(request, SINGULAR[kind], object_id)
            return page_of(request, "actions", chosen, dict)

        return handler

    def action(self, kind: str | None) -> Callable[[Request, int], Response]:
        """``GET /actions/{id}`` and ``GET /<kind>/actions/{id}``."""
        actions = self._project.actions
        return lambda _, action_id: Response(200, {"action": actions.render(actions.find(action_id, kind))})

    def action_of(self, kind: Kind) -> Callable[[Request, int, int], Response]:
        """``GET /<kind>/{id}/actions/{action_id}``, deprecated but answered."""
        actions = self._project.actions

        def handler(_request: Request, object_id: int, action_id: int) -> Response:
            self._project.require(kind, object_id)
            found = actions.find(action_id, SINGULAR[kind])
            if (SINGULAR[kind], object_id) not in found.resources:
                raise not_found("action", action_id)
            return Response(200, {"action": actions.render(found)})

        return handler

    def catalogue(self, name: str) -> Callable[[Request], Response]:
        """``GET /locations`` and the like."""
        entries = self._catalogues[name]
        fields = ("id", "name") if name == "locations" else ()

        def handler(request: Request) -> Response:
            exact = ("architecture",) if name == "isos" else ()
            chosen = ordered(request, filtered(request, entries.values(), exact), fields)
            return page_of(request, name, chosen, fresh_copy)

        return handler

    def catalogue_entry(self, name: str) -> Callable[[Request, int], Response]:
        """``GET /locations/{id}`` and the like."""
        singular, entries = name.removesuffix("s"), self._catalogues[name]

        def handler(_request: Request, entry_id: int) -> Response:
            for entry in entries.values():
                if entry["id"] == entry_id:
                    return Response(200, {singular: fresh_copy(entry)})
            raise not_found(singular.replace("_", " "), entry_id)

        return handler

    def pricing(self, _request: Request) -> Response:
        """``GET /pricing``: what all that can be ordered costs, in one object without pages."""
        shown = ("id", "name", "prices")
        listed = {
            kind: [fresh_copy({name: entry[name] for name in shown}) for entry in self._catalogues[kind].values()]
            for kind in ("load_balancer_types", "server_types")
        }
        pricing = {"currency": CURRENCY, "vat_rate": VAT_RATE, **other_prices(), **listed}
        return Response(200, {"pricing": pricing})

    @staticmethod
    def nothing(name: str) -> Callable[..., Response]:
        """``GET /<name>`` of a kind that the sandbox has none of."""
        return lambda request, *_ids: page_of(request, name, [], dict)

    @staticmethod
    def datacenters(_request: Request, *_ids: int) -> Response:
        """``GET /datacenters``: removed on 2026-10-01."""
        raise removed_endpoint(
            "the datacenters endpoints were removed", f"{_CHANGELOG}#2026-06-02-datacenters-deprecated"
        )

    def _view(self, request: Request) -> View:
        stale = self._project.faults.stale_read(request.path)
        return self._project.store.view(self._project.clock.timestamp(), before_last_change=stale)

    def _chosen_actions(self, request: Request, kind: str | None, object_id: int | None) -> list[Object]:
        ids = request.query.get("id", ())
        for action_id in ids:
            if not action_id.isascii() or not action_id.isdigit():
                raise invalid_field("id", "must be a number")
        listed = self._project.actions.listed(kind, object_id)
        rendered = [self._project.actions.render(action) for action in listed if not ids or str(action.id) in ids]
        return ordered(request, filtered(request, rendered, ("status",)), _ACTION_ORDER)

    def _shrink(self, request: Request, kind: Kind, response: Response) -> None:
        """The fault ``list_shrinks``: the first object of page 1 goes when there is a page 2."""
        pagination = response.body["meta"]["pagination"]
        more = pagination["page"] == 1 and pagination["next_page"] is not None
        if not more or not self._project.faults.list_shrinks(request.path):
            return
        gone = response.body[kind][0]["id"]
        with self._project.store.change():
            if kind == "servers":
                remove_server(self._project, gone)
            else:
                if kind == "networks":
                    self._attachments.detach_all(gone)
                if self._project.store.get(kind, gone) is not None:
                    self._project.store.remove(kind, gone)


def _listed(view: View, kind: Kind) -> list[Object]:
    """All objects of a kind, those that follow from others among them."""
    if kind == "primary_ips":
        return primary_ips(view)
    return all_images(view) if kind == "images" else view.all(kind)
