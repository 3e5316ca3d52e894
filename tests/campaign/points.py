"""Points of a run at which a fault may happen, and the probe that records them, or lets one happen.

A point is a request of the product: the step and the pass, the API, method and path, and which of several like it in
that pass. It does not depend on the order in which threads ask.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reconciler.sandbox.exchange import Request, Response, readable_body
from tests.support.direct import Between, DirectSimulation, Handle, death


@dataclass(frozen=True, order=True)
class Point:
    """A request of the product."""

    step: int
    turn: int
    """Number of the pass after the step, from 0."""
    api: str
    """``hetzner``, ``kubernetes`` or ``robot``."""
    method: str
    path: str
    nth: int
    """Which of those in this pass, from 0."""

    def __str__(self) -> str:
        return f"{self.step}.{self.turn} {self.method} {self.path} {self.nth}"


@dataclass
class Moment:
    """What a fault may look at, and what it leaves."""

    point: Point
    request: Request
    handle: Handle
    world: DirectSimulation
    probe: "Probe"


Fault = Callable[[Moment], Response]
"""What becomes of one request: an answer, or an exception as the client's library raises it."""


@dataclass
class Probe:
    """Sees every request of the product."""

    world: DirectSimulation
    at: Point | None = None
    """Where the fault is to happen."""
    fault: Fault | None = None
    seen: list[Point] = field(default_factory=list)
    is_dead: bool = False
    """Whether the process has died: nothing of it arrives any more."""
    has_happened: bool = False
    is_troubled: bool = False
    """Whether the fault has happened in this pass: it says nothing of whether anything is left to do."""
    writes: int = 0
    is_paused: bool = False
    """Whether somebody else is asking: a person with a command."""
    hetzner_past: list[dict[str, Any]] = field(default_factory=list)
    """The worlds before each write to Hetzner, the oldest first."""
    kubernetes_past: list[dict[str, Any]] = field(default_factory=list)
    effects: Counter[str] = field(default_factory=Counter)
    """What was created, deleted, attached and detached, by the names of things."""
    failing_actions: set[int] = field(default_factory=set)
    after_write: Callable[["Probe"], object] = lambda _: None
    _step: int = 0
    _turn: int = 0
    _counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for api, line in self.world.lines().items():
            line.between = self._between(api)

    def begin(self, step: int, turn: int) -> None:
        """A pass begins."""
        self._step, self._turn, self._counts = step, turn, Counter()

    def named(self, path: str) -> str:
        """The path, with names for ids that Hetzner chooses."""
        parts = path.removeprefix("/v1").split("/")
        if len(parts) > 2 and parts[1] in ("load_balancers", "certificates") and parts[2].isdigit():
            found = self.world.hetzner.world()["hetzner"].get(parts[1], [])
            parts[2] = next((each["name"] for each in found if each["id"] == int(parts[2])), parts[2])
        return "/".join(parts)

    def _between(self, api: str) -> Between:
        def exchange(request: Request, handle: Handle) -> Response:
            if self.is_paused:
                return handle(request)
            if self.is_dead:
                raise death(api)
            path = self.named(request.path) if api == "hetzner" else request.path
            is_counted = "/events" not in path and "/leases/" not in path
            key = (api, request.method, path)
            point = Point(self._step, self._turn, *key, self._counts[key])
            if is_counted:
                self._counts[key] += 1
                self.seen.append(point)
            handle = self._noted(api, path, handle)
            if point == self.at and self.fault is not None and not self.has_happened:
                self.has_happened = self.is_troubled = True
                return self.fault(Moment(point, request, handle, self.world, self))
            return handle(request)

        return exchange

    def _noted(self, api: str, path: str, handle: Handle) -> Handle:
        """The same, which keeps the past, counts effects and looks at what serves."""

        def noted(request: Request) -> Response:
            if request.method == "GET":
                return self._with_failing(handle(request))
            self.writes += not any(each in request.path for each in ("/events", "/leases/"))
            past = self.hetzner_past if api == "hetzner" else self.kubernetes_past
            past.append((self.world.hetzner if api == "hetzner" else self.world.kubernetes).world())
            answer = handle(request)
            if answer.status < 300:
                self.effects.update(effects_of(path, api, request))
            if api == "hetzner":  # whose requests come one by one
                self.after_write(self)
            return answer

        return noted

    def _with_failing(self, answer: Response) -> Response:
        """The answer, in which actions that fail after they took effect have failed."""
        body = answer.body
        if not self.failing_actions or not isinstance(body, dict):
            return answer
        listed = [*body.get("actions", ()), *filter(None, [body.get("action")])]
        if not any(each["id"] in self.failing_actions for each in listed):
            return answer

        def failed(action: Mapping[str, Any]) -> dict[str, Any]:
            error = {"code": "action_failed", "message": "a fault of the campaign"}
            return (
                {**action, "status": "error", "progress": 100, "error": error}
                if (action["id"] in self.failing_actions)
                else dict(action)
            )

        changed = {
            name: [failed(each) for each in part] if name == "actions" else failed(part) if name == "action" else part
            for name, part in body.items()
        }
        return Response(answer.status, changed, answer.headers)


_STRUCTURE = (
    "add_target",
    "remove_target",
    "add_service",
    "delete_service",
    "attach_to_network",
    "detach_from_network",
    "add_route",
    "delete_route",
    "enable_public_interface",
    "disable_public_interface",
)
_PASSING = ("/events", "/leases/", "/configmaps")


def effects_of(path: str, api: str, request: Request) -> Iterator[str]:
    """What a write creates, deletes, attaches or detaches; nothing of one that sets something. What comes with a load
    balancer that is created counts as if it had come after it."""
    body, last = readable_body(request.body), path.rpartition("/")[2]
    if request.method not in ("POST", "DELETE") or any(each in path for each in _PASSING):
        return
    if request.method == "DELETE" or api == "kubernetes" or not isinstance(body, dict):
        yield f"{request.method} {path}"
    elif "/actions/" in path and last in _STRUCTURE:
        yield f"{last} {path.split('/')[2]} {_what(body)}"
    elif "/actions/" not in path:
        name = body.get("name")
        yield f"POST {path} {name}"
        yield from (f"add_target {name} {_what(each)}" for each in body.get("targets", ()))
        yield from (f"add_service {name} {_what(each)}" for each in body.get("services", ()))
        if "network" in body:
            yield f"attach_to_network {name} {_what(body)}"


def _what(body: Mapping[str, Any]) -> str:
    kept = ("server", "ip", "listen_port", "network", "destination")
    return " ".join(f"{key} {body[key]}" for key in kept if key in body)
