"""The probe that records every request of the product, and lets faults happen at some of them."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from hcloud_sandbox.exchange import Request, Response, Simulator
from hcloud_sandbox.hetzner.store import Kind
from kubernetes_double import KubernetesSimulator
from tests.campaign.cluster import a_project
from tests.campaign.effects import effects_of
from tests.campaign.fields import Read
from tests.campaign.points import Fault, Moment, Point
from tests.support.direct import DirectSimulation, death
from tests.support.lines import Between, Handle

_UNCOUNTED = ("/events", "/leases/")
"""Parts of paths of requests that are no points: nothing depends on them."""
_NAMED: Mapping[str, Kind] = {"load_balancers": "load_balancers", "certificates": "certificates"}
"""Parts of paths of objects whose ids Hetzner chooses → their section."""
HANGS_FOR = 3
"""Passes after which Hetzner ends an action that hangs."""


@dataclass
class Probe:
    """Sees every request of the product."""

    world: DirectSimulation
    faults: Mapping[Point, Fault] = field(default_factory=dict)
    keeps_past: bool = False
    """Whether a fault shows what was there before."""
    seen: list[Point] = field(default_factory=list)
    happened: set[Point] = field(default_factory=set)
    reads: dict[Point, Read] = field(default_factory=dict)
    """What each read was told, where there are no faults."""
    nodes: set[str] | None = None
    """The names that every list of Nodes had in this pass; None before the first."""
    is_dead: bool = False
    """Whether the process has died: nothing of it arrives any more."""
    is_troubled: bool = False
    """Whether a fault has happened in this pass: it says nothing of whether anything is left to do."""
    writes: int = 0
    is_paused: bool = False
    """Whether somebody else is asking: a person with a command."""
    past: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"hetzner": [], "kubernetes": []})
    """API → its worlds before each write, the oldest first, where it is kept."""
    effects: Counter[str] = field(default_factory=Counter)
    """What was created, deleted, attached and detached, by the names of things."""
    actions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Id of an action → what every answer says of it, whatever is true."""
    second_pages: dict[str, Handle] = field(default_factory=dict)
    """Path of a list → who answers for its second page, once."""
    after_write: Callable[[], object] = lambda: None
    """Called after each write to Hetzner."""
    _hangs_until: int | None = None
    _step: int = 0
    _turn: int = 0
    _counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _written: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.attach(self.world)

    def attach(self, world: DirectSimulation) -> None:
        """See the requests of this process as well."""
        for api, line in world.lines().items():
            line.between = self._between(api)

    def begin(self, step: int, turn: int) -> Point:
        """A pass begins: which."""
        if self._hangs_until is not None and (step, turn) >= (self._step, self._hangs_until):
            self._hangs_until = None
            self.world.hetzner.replace_world(self.world.hetzner.world()["hetzner"])
        self._step, self._turn, self._counts, self.nodes = step, turn, Counter(), None
        return Point(step, turn)

    @property
    def hangs(self) -> bool:
        """Whether an action hangs."""
        return self._hangs_until is not None

    def hang(self) -> None:
        """An action hangs from now on, and locks what it is about, until Hetzner ends it some passes later."""
        self._hangs_until = self._turn + HANGS_FOR

    def named(self, path: str) -> str:
        parts = path.removeprefix("/v1").split("/")
        kind = _NAMED.get(parts[1]) if len(parts) > 2 else None
        if kind is not None and parts[2].isdigit():
            found = self.world.hetzner.section(kind)
            parts[2] = next((each["name"] for each in found if each["id"] == int(parts[2])), parts[2])
        return "/".join(parts)

    def world_of(self, api: str) -> dict[str, Any]:
        found: dict[str, Any] = (self.world.hetzner if api == "hetzner" else self.world.kubernetes).world()[api]
        return found

    def then(self, api: str, writes: int) -> Handle:
        """Who answers as it was so many writes ago, or at the first of them; as it is without any."""
        past = self.past[api]
        if not past:
            return (self.world.hetzner if api == "hetzner" else self.world.kubernetes).handle
        return as_it_was(self.world, api, past[max(0, len(past) - writes)])

    def _between(self, api: str) -> Between:
        def exchange(request: Request, handle: Handle) -> Response:
            if self.is_paused:
                return handle(request)
            if self.is_dead:
                raise death(api)
            path = self.named(request.path) if api == "hetzner" else request.path
            point = self._point(api, request.method, path)
            if request.first("page") == "2" and path in self.second_pages:
                return self.second_pages.pop(path)(request)
            fault = None if point in self.happened else self.faults.get(point)
            answering = self._noted(api, path, handle)
            if fault is None:
                answer = answering(request)
                if request.method == "GET" and not self.faults:
                    self.reads[point] = Read.of(answer, self._written[api])
            else:
                self.happened.add(point)
                self.is_troubled = True
                answer = fault(Moment(point, request, answering, self.world, self))
            if path == "/api/v1/nodes" and request.method == "GET":
                names = _names(answer)
                self.nodes = names if self.nodes is None else self.nodes & names
            return answer

        return exchange

    def _point(self, api: str, method: str, path: str) -> Point:
        key = (api, method, path)
        with self._lock:
            point = Point(self._step, self._turn, *key, self._counts[key])
            if not any(each in path for each in _UNCOUNTED):
                self._counts[key] += 1
                self.seen.append(point)
        return point

    def _noted(self, api: str, path: str, handle: Handle) -> Handle:
        """The same, which keeps the past, counts effects and looks at what serves."""

        def noted(request: Request) -> Response:
            if request.method == "GET":
                return self._with_false_actions(handle(request))
            self.writes += not any(each in request.path for each in _UNCOUNTED)
            self._written[api] += 1
            if self.keeps_past:
                self.past[api].append(self.world_of(api))
            answer = handle(request)
            if answer.status < 300:
                self.effects.update(effects_of(path, api, request))
            if api == "hetzner":  # whose requests come one by one
                self.after_write()
            return answer

        return noted

    def _with_false_actions(self, answer: Response) -> Response:
        """The answer, in which actions are as they are said to be."""
        if not self.actions or not isinstance(answer.body, dict):
            return answer
        changed = {
            name: [self._said(each) for each in part] if name == "actions" else self._said(part)
            for name, part in answer.body.items()
        }
        return Response(answer.status, changed, answer.headers)

    def _said(self, part: Any) -> Any:
        is_action = isinstance(part, dict) and "command" in part
        return {**part, **self.actions.get(part["id"], {})} if is_action else part


def as_it_was(world: DirectSimulation, api: str, before: dict[str, Any]) -> Handle:
    """Who answers from a world of another time."""
    old: Simulator = a_project(world.clock) if api == "hetzner" else KubernetesSimulator(world.clock)
    old.replace_world(before)
    return old.handle


def _names(answer: Response) -> set[str]:
    items: Collection[Any] = answer.body.get("items") or () if isinstance(answer.body, dict) else ()
    found = (each.get("metadata") for each in items if isinstance(each, dict))
    return {str(each["name"]) for each in found if isinstance(each, dict) and "name" in each}
