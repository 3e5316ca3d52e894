"""Routes of the API: method and path to handler.

All operations of the API are known here, so that one that is not simulated says so instead of looking absent. An
object's id in a path is a number; anything else is no route, but for names of zones and records.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.attachments import Attachments
from hcloud_sandbox.hetzner.catalogue import ISOS, LOCATIONS, PRICING, SERVER_TYPES
from hcloud_sandbox.hetzner.certificates import Certificates
from hcloud_sandbox.hetzner.errors import not_found, not_simulated, removed_endpoint
from hcloud_sandbox.hetzner.firewalls import Firewalls
from hcloud_sandbox.hetzner.images import Images
from hcloud_sandbox.hetzner.load_balancers import LoadBalancers
from hcloud_sandbox.hetzner.metrics import Metrics
from hcloud_sandbox.hetzner.networks import Networks
from hcloud_sandbox.hetzner.operations import ABSENT, LACKS, NO_OBJECTS, Coverage, Operation, operation_name
from hcloud_sandbox.hetzner.paging import actions_of_query, filtered, ordered, page_of
from hcloud_sandbox.hetzner.placement_groups import PlacementGroups
from hcloud_sandbox.hetzner.primary_ips import PrimaryIps
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.resource import Handler, Resource, Row, route, routes_of
from hcloud_sandbox.hetzner.servers import Servers
from hcloud_sandbox.hetzner.ssh_keys import SshKeys
from hcloud_sandbox.hetzner.store import KINDS, Kind, fresh_copy, singular
from hcloud_sandbox.hetzner.volumes import Volumes

_CONSOLE = "/servers/{id}/actions/request_console"
_ID = "[0-9]{1,19}"
"""Of an object in a path: ids are whole numbers of 64 bits."""
_CHANGELOG = "https://docs.hetzner.cloud/changelog"


@dataclass(frozen=True, slots=True)
class NotSimulated:
    """The handler of an operation that the real API has and the simulator has not."""

    operation: str
    instead: str

    def __call__(self, *_: object) -> Response:
        """Raises ``not_simulated``."""
        raise not_simulated(self.operation, self.instead)


class Route(NamedTuple):
    """One path of the API and what it answers, by method."""

    handlers: dict[str, Handler]
    ids: tuple[int, ...]


class Api:
    """The operations of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.attachments = Attachments(project)
        primary_ips = PrimaryIps(project)
        self.servers = Servers(project, self.attachments, primary_ips)
        self.load_balancers = LoadBalancers(project, self.attachments, primary_ips)
        kinds: tuple[Resource, ...] = (
            self.servers,
            Networks(project, self.attachments),
            primary_ips,
            self.load_balancers,
            *(kind(project) for kind in (Certificates, SshKeys, PlacementGroups, Firewalls, Volumes, Images)),
        )
        self.resources: dict[Kind, Resource] = {kind.kind: kind for kind in kinds}
        self._catalogues = {
            "locations": LOCATIONS,
            "server_types": SERVER_TYPES,
            "load_balancer_types": self.load_balancers.types,
            "isos": ISOS,
        }
        self._handlers: dict[str, dict[str, Handler]] = {}
        """Path with ``{}`` for each number → method → handler."""
        self._named: list[tuple[re.Pattern[str], dict[str, Handler]]] = []
        """The same for paths with names in them, which a pattern finds."""
        for row in self.rows():
            shape = _shape(row.path)
            if shape not in self._handlers and "name}" in shape:
                pattern = re.sub(r"\{\w+\}", "[^/]+", shape.replace("{}", _ID))
                self._named.append((re.compile(pattern), self._handlers.setdefault(shape, {})))
            self._handlers.setdefault(shape, {})[row.method] = row.handler

    def rows(self) -> Iterator[Row]:
        """Every operation of the API."""
        for name in self._catalogues:
            yield Row("GET", f"/{name}", lambda request, name=name: self._catalogue(request, name))
            yield Row("GET", f"/{name}/{{id}}", lambda _, entry_id, name=name: self._entry(name, entry_id))
        for kind in KINDS:
            yield from self.resources[kind].rows()
        yield from _absent()
        yield Row("POST", _CONSOLE, NotSimulated("request_server_console", "nothing runs on a simulated server"))
        yield from routes_of(Metrics(self._project))
        yield from routes_of(self)

    def operations(self) -> Iterator[Operation]:
        """All operations of the API, but for those that were removed from it, by path."""
        for method, path, handler in sorted(self.rows(), key=lambda row: row.path):
            part = path.split("/")[1]
            lacks = NO_OBJECTS if part in ABSENT else LACKS.get(operation_name(method, path), "")
            coverage: Coverage = "partly" if lacks else "simulated"
            if isinstance(handler, NotSimulated):
                coverage, lacks = "not", handler.instead
            if part != "datacenters":
                yield Operation(method, path, coverage, lacks)

    def find(self, path: str) -> Route | None:
        """The route of a path below ``/v1``; None when the API has none."""
        handlers = self._handlers.get(_shape(path))
        if handlers is None:
            handlers = next((found for pattern, found in self._named if pattern.fullmatch(path)), None)
        if handlers is None:
            return None
        return Route(handlers, tuple(int(part) for part in path.split("/") if re.fullmatch(_ID, part)))

    @route("GET /pricing")
    def pricing(self, _request: Request) -> Response:
        """What all that can be ordered costs, in one object without pages."""
        shown = ("id", "name", "prices")
        listed = {
            kind: [fresh_copy({name: entry[name] for name in shown}) for entry in self._catalogues[kind].values()]
            for kind in ("load_balancer_types", "server_types")
        }
        return Response(200, {"pricing": {**fresh_copy(PRICING), **listed}})

    @route("GET /actions")
    def actions(self, request: Request) -> Response:
        """``?id=1&id=2``: no pages; unknown ids are left out; without an id the call was removed."""
        if "id" not in request.query:
            link = f"{_CHANGELOG}#2023-07-20-actions-list-endpoint-is-deprecated"
            raise removed_endpoint("listing all actions of a project was removed", link)
        return self._project.answer(200, actions=actions_of_query(request, self._project.actions))

    @route("GET /actions/{id}")
    def action(self, _request: Request, action_id: int) -> Response:
        """One action of any kind."""
        return self._project.answer(200, action=self._project.actions.find(action_id))

    @route("GET /datacenters")
    def datacenters(self, _request: Request, *_ids: int) -> Response:
        """Removed on 2026-10-01."""
        link = f"{_CHANGELOG}#2026-06-02-datacenters-deprecated"
        raise removed_endpoint("the datacenters endpoints were removed", link)

    @route("GET /datacenters/{id}")
    def datacenter(self, request: Request, *ids: int) -> Response:
        """Removed on the same day."""
        return self.datacenters(request, *ids)

    def _catalogue(self, request: Request, name: str) -> Response:
        exact = ("architecture",) if name == "isos" else ()
        fields = ("id", "name") if name == "locations" else ()
        chosen = ordered(request, filtered(request, self._catalogues[name].values(), exact), fields)
        return page_of(request, name, chosen, fresh_copy)

    def _entry(self, name: str, entry_id: int) -> Response:
        for entry in self._catalogues[name].values():
            if entry["id"] == entry_id:
                return Response(200, {singular(name): fresh_copy(entry)})
        raise not_found(name, entry_id)


@functools.lru_cache(maxsize=1024)
def _shape(path: str) -> str:
    """A path or a template without the values or the names of its ids."""
    return re.sub(rf"/({_ID}|\{{\w*id\}})(?=/|\Z)", "/{}", path)


@functools.cache
def _absent() -> tuple[Row, ...]:
    """Operations on objects that are never there: lists are empty, and the rest is not found or not simulated. The same
    for each project."""
    rows: list[Row] = []
    for kind, absent in ABSENT.items():
        lists = {f"/{kind}": kind, f"/{kind}/actions": "actions"}
        for path, methods in absent.templates():
            reads = partial(_empty, lists[path]) if path in lists else _none_such
            for method in methods.split():
                refuses = NotSimulated(operation_name(method, path), absent.instead)
                rows.append(Row(method, path, reads if method == "GET" else refuses))
    return tuple(rows)


def _empty(name: str, request: Request) -> Response:
    return page_of(request, name, [], dict)


def _none_such(request: Request, *_ids: int) -> Response:
    kind, named, *_ = request.path.removeprefix("/v1/").split("/")
    raise not_found(kind, named)
