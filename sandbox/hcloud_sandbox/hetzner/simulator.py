"""The Hetzner Cloud API as one synchronous state machine: from a request to its answer.

The order of checks is the real one: rate limit, route, token, method, then the handler. Source: Hetzner Cloud API,
getting started, errors and rate limiting.

Known differences: a request for an unknown route counts against the rate limit like any other; errors of both layers
have the same JSON formatting; a read-only token is refused with 403 ``forbidden`` (before 2026-10 it was 401
``token_readonly``). Faults that were set and the rate limit survive ``replace_world``, for they are not part of it.
"""

import random
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Actions
from hcloud_sandbox.hetzner.api import Route, Routes
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.faults import Faults
from hcloud_sandbox.hetzner.options import HetznerOptions
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.ratelimit import TokenBucket
from hcloud_sandbox.hetzner.store import Kind, Object, Store
from hcloud_sandbox.hetzner.world import dump_section, dump_world, load_world

_PREFIX = "/v1"
_DEFAULT_OPTIONS = HetznerOptions()
_TOKEN_LENGTH = 64


class HetznerSimulator:
    """One project. ``tokens`` maps each API token to what it may do; None means ``TOKEN``, which may do everything.

    ``world`` is what ``replace_world`` accepts; left out or empty it is an empty project.
    """

    TOKEN = "SandboxToken".ljust(_TOKEN_LENGTH, "0")
    """64 characters, as the real service's tokens have and clients check."""

    def __init__(
        self,
        clock: SimulatedClock,
        options: HetznerOptions = _DEFAULT_OPTIONS,
        *,
        tokens: Mapping[str, Literal["rw", "ro"]] | None = None,
        world: Mapping[str, Any] | None = None,
    ) -> None:
        self._clock = clock
        self._options = options
        self._tokens = dict(tokens) if tokens is not None else {self.TOKEN: "rw"}
        self._faults = Faults()
        self._bucket = TokenBucket(clock, options.rate_limit)
        self._anonymous_bucket = TokenBucket(clock, options.rate_limit)
        self._correlation = random.Random(options.seed)  # noqa: S311 (repeatable on purpose)
        self.worlds = 0
        """How many worlds it has had."""
        self.replace_world(world or {"servers": []})

    def handle(self, request: Request) -> Response:
        """Answer one request; everything that became due before it happens first."""
        self._project.actions.settle()
        token = _token_of(request)
        bucket = self._bucket if token in self._tokens else self._anonymous_bucket
        try:
            response = self._paid(request, token, bucket)
        except ApiError as error:
            response = Response(error.status, error.body(), {"X-Correlation-Id": self._correlation_id()})
        return Response(response.status, response.body, {**response.headers, **bucket.headers()})

    def world(self) -> dict[str, Any]:
        """The world file as it truly is now, with what became due; running actions are no part of it."""
        self._project.actions.settle()
        return dump_world(self._project.store)

    def section(self, kind: Kind) -> list[Any]:
        """One section of that file."""
        self._project.actions.settle()
        return dump_section(self._project.store, kind)

    def servers(self) -> list[Object]:
        """The stored servers as they truly are now, not copied: for reading only."""
        self._project.actions.settle()
        return self._project.store.truth().all("servers")

    def replace_world(self, world: Mapping[str, Any]) -> None:
        """Start from the Hetzner part of a world file, or from a whole one; actions and locks are forgotten.

        Raises ValueError that names the object and the remedy, and then changes nothing.
        """
        self._project = self._project_from(load_world(world))
        self._routes = Routes(self._project)
        self.worlds += 1

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        """Add simulated faults, see ``faults``. Raises ValueError and adds none when one is wrong."""
        self._faults.add(faults)

    def node_ports(self, families_of: Callable[[int], Collection[int]]) -> None:
        """Let health checks follow the cluster: ``families_of`` says by which versions of IP a port of the Nodes takes
        traffic, and nothing where it does not know the port."""
        self._faults.families_of = families_of

    def clear_faults(self) -> None:
        """Forget all simulated faults."""
        self._faults.clear()

    def _project_from(self, store: Store) -> Project:
        actions = Actions(self._clock, self._options, store, self._faults)
        return Project(self._clock, self._options, store, self._faults, actions)

    def _paid(self, request: Request, token: str | None, bucket: TokenBucket) -> Response:
        if not bucket.take():
            raise ApiError("rate_limit_exceeded", f"limit of {self._options.rate_limit} requests per hour reached")
        return self._answer(request, token, self._route(request))

    def _route(self, request: Request) -> Route:
        route = None
        if request.path.startswith(f"{_PREFIX}/"):
            route = self._routes.find(request.path.removeprefix(_PREFIX))
        if route is None:
            raise ApiError("not_found", "api route not found")
        return route

    def _answer(self, request: Request, token: str | None, route: Route) -> Response:
        if token is None:
            raise ApiError("unauthorized", "token is required")
        if token not in self._tokens:
            raise ApiError("unauthorized", "the token you have provided is invalid")
        handler = route.handlers.get(request.method)
        if handler is None:
            raise ApiError("method_not_allowed", "method not allowed")
        if request.method == "GET":
            return handler(request, *route.ids)
        if self._tokens[token] == "ro":
            raise ApiError("forbidden", "insufficient permissions for this request")
        with self._project.store.change():
            return handler(request, *route.ids)

    def _correlation_id(self) -> str:
        return f"{self._correlation.getrandbits(64):016x}"


def _token_of(request: Request) -> str | None:
    """The bearer token of a request, None when it has none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
