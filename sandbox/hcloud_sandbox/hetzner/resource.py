"""What all kinds of objects share: their routes, reading, names and labels, deletion, protection, actions, world files.

A kind is a ``Resource`` of its own, with its rules beside its routes. A handler of ``GET`` gets the request, others get
its body, and all get the ids in the path. Source: Hetzner Cloud API.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Action, nothing
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.catalogue import DEFAULT_LOCATION, LOCATIONS, entry_of
from hcloud_sandbox.hetzner.errors import ApiError, not_found, not_unique
from hcloud_sandbox.hetzner.paging import actions_of_query, filtered, ordered, page_of
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.store import Key, Kind, Object, View, fresh_copy, in_words, singular
from hcloud_sandbox.shapes import Rule, a_text, labels, part, shape

Handler = Callable[..., Response]
H = TypeVar("H", bound=Handler)
Change = Object | Callable[[Object], Object]
"""Fields of an object that change: as they will be, or as they follow from the object, which may raise ApiError."""
BodyChange = Object | Callable[[Object, Body], Object]
"""The same where the request says more: the second argument is its body."""
CREATED = "2026-01-01T00:00:00Z"
"""When objects of a world that do not say so were created: fixed, so that a world reads the same on every day."""
_ROUTE = "__route__"


class Row(NamedTuple):
    """One operation: the path is a template as in the API's document, ``/servers/{id}``."""

    method: str
    path: str
    handler: Handler


def route(operation: str) -> Callable[[H], H]:
    """Make a method of a resource the handler of an operation: ``POST /servers/{id}/actions/rebuild``."""

    def mark(handler: H) -> H:
        setattr(handler, _ROUTE, tuple(operation.split(" ")))
        return handler

    return mark


def routes_of(holder: object) -> Iterator[Row]:
    """The rows of the methods that ``route`` marked."""
    kind: Any = type(holder)
    return (Row(verb, path, getattr(holder, name)) for verb, path, name in _marked(kind))


@functools.cache
def _marked(holder: type) -> list[tuple[str, str, str]]:
    marks = ((getattr(getattr(holder, name), _ROUTE, None), name) for name in dir(holder))
    return [(*operation, name) for operation, name in marks if operation]


class Resource:
    """One kind of object of a project."""

    kind: ClassVar[Kind]
    filters: ClassVar[tuple[str, ...]] = ()
    """Fields by which a list can be filtered, beside name and labels."""
    has_actions: ClassVar[bool] = True
    protections: ClassVar[tuple[str, ...]] = ()
    """What objects can be protected against: ``delete``, and servers ``rebuild``."""
    waits: ClassVar[bool] = False
    """Whether name and labels cannot be changed while an action runs."""
    commands: ClassVar[Mapping[str, str]] = {}
    """Name of an action in the path → its command, where that is another word."""
    longest_name: ClassVar[int] = 255
    name_taken: ClassVar[str] = "name is already used"

    def __init__(self, project: Project) -> None:
        self.project = project
        self.store = project.store

    def template(self, object_id: int, created: str) -> Object:
        """An object with everything that the API shows, as it is when nobody says otherwise."""
        raise NotImplementedError

    def rules(self) -> Mapping[str, Rule]:
        """How fields of a world file are read, beyond those that all kinds share."""
        return {}

    def complete(self, given: Object, where: str) -> Object:
        """An object of a world file with everything that was left out. Raises ValueError."""
        template = self.template(given["id"], CREATED)
        shared: dict[str, Rule] = {
            "name": a_text,
            "labels": labels,
            "location": entry_of(LOCATIONS, DEFAULT_LOCATION),
            "protection": part(dict.fromkeys(self.protections, False)),
        }
        shared = {name: rule for name, rule in shared.items() if name in template}
        return shape(given, template, where, {**shared, **self.rules()})

    def changes(self) -> Mapping[str, BodyChange]:
        """Actions that do nothing but change an object that is free: name in the path → the change."""
        return {}

    def all_in(self, view: View) -> list[Object]:
        """All objects of the kind that a reader sees, by id."""
        return view.all(self.kind)

    def find(self, view: View, object_id: int) -> Object | None:
        """One object that a reader sees; None when there is none."""
        return view.get(self.kind, object_id)

    def render(self, view: View, stored: Object, *, live: bool = True) -> Object:  # noqa: ARG002
        """An object as the API answers it, safe for the caller to change; not ``live`` as a world file has it, without
        what running actions and faults make of it."""
        return fresh_copy(stored)

    def checked_name(self, body: Body, own_id: int | None = None) -> str:
        """The name in a request, which no other object of the kind may have. Raises ApiError."""
        name = body.text("name", range(1, self.longest_name + 1))
        if any(found["name"] == name and found["id"] != own_id for found in self.store.truth().all(self.kind)):
            raise not_unique("name", self.name_taken)
        return name

    def updated(self, present: Object, body: Body) -> Object:
        """The fields that ``PUT`` changes; those that are left out stay. Raises ApiError."""
        changed: Object = {}
        if body.has("name"):
            changed["name"] = self.checked_name(body, present["id"])
        if body.has("labels"):
            changed["labels"] = body.labels()
        return changed

    def discard(self, object_id: int) -> None:
        """Remove an object, and what goes with it; nothing when it is gone."""
        self.store.remove(self.kind, object_id)

    def check_unused(self, present: Object) -> None:
        """Raises ApiError for an object that cannot be deleted, as others use it."""

    def get(self, object_id: int) -> Object:
        """An object as it truly is. Raises ``not_found``."""
        return self.project.require(self.kind, object_id)

    def free(self, object_id: int) -> Object:
        """The same, when no action runs on it. Raises ``not_found``, or ``conflict`` or ``locked``."""
        present = self.get(object_id)
        self.project.actions.require_free(self.kind, object_id)
        return present

    def deletable(self, object_id: int) -> Object:
        """The same, when it is not protected. Raises ApiError."""
        present = self.free(object_id)
        if self.protections and present["protection"]["delete"]:
            raise ApiError("protected", f"{in_words(self.kind)} is delete protected")
        return present

    def new(self, **fields: object) -> Object:
        """A new object, stored."""
        made = {**self.template(self.store.next_id(self.kind), self.project.now()), **fields}
        self.store.put(self.kind, made)
        return made

    def answer(self, stored: Object, status: int = 200, **more: object) -> Response:
        """An answer with an object as it is now, and more."""
        present = self.store.get(self.kind, stored["id"]) or stored
        return self.project.answer(status, **{singular(self.kind): self.render(self.store.truth(), present), **more})

    def start(
        self,
        command: str,
        object_id: int,
        change: Change | None = None,
        *also: Key,
        effect: Callable[[], object] = nothing,
        on_failure: Callable[[Object], object] = nothing,
        after: Action | None = None,
        locks: bool = True,
    ) -> Action:
        """Start an action on an object that ends with a change of it, and with what ``effect`` does beside.

        A change that is computed is so twice: now, to refuse what the rules forbid, and when the action ends, which
        fails then if the world has moved on. Raises ApiError.
        """

        def changed(present: Object) -> Object:
            return change(present) if callable(change) else change or {}

        def whole_effect() -> None:
            present = self.store.get(self.kind, object_id)
            if present is not None and change is not None:  # a list that shrinks takes it away whatever runs on it
                self.store.put(self.kind, {**present, **changed(present)})
            effect()

        changed(self.get(object_id))
        resources = ((self.kind, object_id), *also)
        return self.project.actions.start(
            command, *resources, effect=whole_effect, on_failure=on_failure, after=after, locks=locks
        )

    def act(
        self,
        command: str,
        object_id: int,
        change: Change | None = None,
        effect: Callable[[], object] = nothing,
        **more: object,
    ) -> Response:
        """The answer of a request that does nothing but start such an action on an object that is free."""
        self.free(object_id)
        return self.project.answer(201, action=self.start(command, object_id, change, effect=effect), **more)

    def rows(self) -> Iterator[Row]:
        """The operations of the kind."""
        one = f"/{self.kind}/{{id}}"
        yield Row("GET", f"/{self.kind}", self.read_all)
        yield Row("GET", one, self.read)
        yield Row("PUT", one, self.update)
        yield Row("DELETE", one, self.delete)
        if self.protections:
            yield Row("POST", f"{one}/actions/change_protection", self.change_protection)
        for name, change in self.changes().items():
            yield Row("POST", f"{one}/actions/{name}", self._handler_of(self.commands.get(name, name), change))
        if self.has_actions:
            for path in (f"/{self.kind}", one):
                yield Row("GET", f"{path}/actions", self.read_actions)
                yield Row("GET", f"{path}/actions/{{{'action_' * (path == one)}id}}", self.read_action)
        yield from routes_of(self)

    def read_all(self, request: Request) -> Response:
        """The list, with its simulated faults."""
        view, faults = self.project.view(request), self.project.faults
        found = ordered(request, filtered(request, self.all_in(view), self.filters), ("id", "name", "created"))
        found, total = faults.listed(request.path, found)
        response = page_of(request, self.kind, found, lambda stored: self.render(view, stored), total)
        pagination = response.body["meta"]["pagination"]
        if pagination["page"] == 1 and pagination["next_page"] and faults.list_shrinks(request.path):
            with self.store.changing():
                self.discard(response.body[self.kind][0]["id"])
        return response

    def read(self, request: Request, object_id: int) -> Response:
        """One object."""
        view = self.project.view(request)
        stored = self.find(view, object_id)
        if stored is None:
            raise not_found(self.kind, object_id)
        return Response(200, {singular(self.kind): self.render(view, stored)})

    def read_actions(self, request: Request, object_id: int | None = None) -> Response:
        """The actions of the kind, or of one object."""
        if object_id is not None:
            self.get(object_id)
        chosen = actions_of_query(request, self.project.actions, self.kind, object_id)
        return page_of(request, "actions", chosen, dict)

    def read_action(self, _request: Request, *ids: int) -> Response:
        """One of these actions."""
        *owner, action_id = ids
        for object_id in owner:
            self.get(object_id)
        return self.project.answer(200, action=self.project.actions.find(action_id, self.kind, *owner))

    def update(self, body: Body, object_id: int) -> Response:
        """Change at once what needs no action."""
        present = self.free(object_id) if self.waits else self.get(object_id)
        changed = {**present, **self.updated(present, body)}
        self.store.put(self.kind, changed)
        return self.answer(changed)

    def delete(self, _body: Body, object_id: int) -> Response:
        """Remove at once what nothing uses."""
        self.check_unused(self.deletable(object_id))
        self.discard(object_id)
        return Response(204)

    def change_protection(self, body: Body, object_id: int) -> Response:
        """Protect against what the request names."""

        def change(present: Object) -> Object:
            now: Mapping[str, Any] = present["protection"]
            return {"protection": {name: body.boolean(name, default=now[name]) for name in self.protections}}

        return self.act("change_protection", object_id, change)

    def _handler_of(self, command: str, change: BodyChange) -> Handler:
        def handler(body: Body, object_id: int) -> Response:
            bound = (lambda now: change(now, body)) if callable(change) else change
            return self.act(command, object_id, bound)

        return handler
