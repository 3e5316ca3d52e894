"""The Hetzner Cloud API as one synchronous state machine: from a request to its answer.

The order of checks is the real one: rate limit, route, token, method, then the handler. Source: Hetzner Cloud API,
getting started, errors and rate limiting.

Known differences: the real limiter's resolution is not known; here a bucket refills continuously, and requests without
a valid token share one bucket of the same size. A request for an unknown route counts against the rate limit like any
other; errors of both layers have the same JSON formatting; a read-only token is refused with 403 ``forbidden`` (before
2026-10 it was 401 ``token_readonly``). Faults that were set and the rate limit survive ``replace_world``, for they are
not part of it.
"""

import logging
import math
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import Actions
from hcloud_sandbox.hetzner.api import Api, Route
from hcloud_sandbox.hetzner.bodies import Body
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.faults import Faults
from hcloud_sandbox.hetzner.operations import Operation
from hcloud_sandbox.hetzner.options import HetznerOptions
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.public_addresses import PublicAddresses
from hcloud_sandbox.hetzner.store import Kind, Object, Store
from hcloud_sandbox.hetzner.world import dump_section, dump_world, given_objects, load_world, public_addresses

_PREFIX = "/v1"
_DEFAULT_OPTIONS = HetznerOptions()
_TOKEN_LENGTH = 64
_LOG = logging.getLogger(__name__)


class TokenBucket:
    """``limit`` requests per hour, with bursts up to ``limit``."""

    def __init__(self, clock: SimulatedClock, limit: int) -> None:
        self._clock = clock
        self._limit = limit
        self._left = float(limit)
        self._at = clock.timestamp()

    def take(self) -> bool:
        """Pay for one request; False when the bucket is empty, which costs nothing."""
        self._refill()
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def headers(self) -> dict[str, str]:
        """The headers of every answer. Reset is when the bucket will be full, not when one request is possible."""
        self._refill()
        full_at = self._at + (self._limit - self._left) * 3600 / self._limit
        return {
            "RateLimit-Limit": str(self._limit),
            "RateLimit-Remaining": str(math.floor(self._left)),
            "RateLimit-Reset": str(math.ceil(full_at)),
        }

    def _refill(self) -> None:
        now = self._clock.timestamp()
        # A hair is added because 3600 waits of a second must buy 3600 requests, whatever floats make of it.
        self._left = min(self._limit, self._left + max(0.0, now - self._at) * self._limit / 3600 + 1e-9)
        self._at = now


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
        self._told: set[str] = set()
        """Operations that the log has as not simulated."""
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
            if error.code == "not_simulated":
                self._tell(request, error)
            response = Response(error.status, error.body(), {"X-Correlation-Id": self._correlation_id()})
        return Response(response.status, response.body, {**response.headers, **bucket.headers()})

    def world(self) -> dict[str, Any]:
        """The world file as it truly is now, with what became due; running actions are no part of it."""
        self._project.actions.settle()
        return dump_world(self._api, self._project.store)

    def section(self, kind: Kind) -> list[Any]:
        """One section of that file."""
        self._project.actions.settle()
        return dump_section(self._api, self._project.store, kind)

    def operations(self) -> Iterator[Operation]:
        """All operations of the API, with how far each is simulated."""
        return self._api.operations()

    def servers(self) -> list[Object]:
        """The stored servers as they truly are now, not copied: for reading only."""
        self._project.actions.settle()
        return self._project.store.truth().all("servers")

    def replace_world(self, world: Mapping[str, Any]) -> None:
        """Start from the Hetzner part of a world file, or from a whole one; actions and locks are forgotten.

        Raises ValueError that names the object and the remedy, and then changes nothing.
        """
        given, store = given_objects(world), Store()
        actions = Actions(self._clock, self._options, store, self._faults)
        addresses = PublicAddresses(store, public_addresses(given))
        project = Project(self._clock, self._options, store, self._faults, actions, addresses)
        api = Api(project)
        load_world(api, store, given)
        self._project, self._api = project, api
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

    def _paid(self, request: Request, token: str | None, bucket: TokenBucket) -> Response:
        if not bucket.take():
            raise ApiError("rate_limit_exceeded", f"limit of {self._options.rate_limit} requests per hour reached")
        return self._answer(request, token, self._route(request))

    def _route(self, request: Request) -> Route:
        route = None
        if request.path.startswith(f"{_PREFIX}/"):
            route = self._api.find(request.path.removeprefix(_PREFIX))
        if route is None:
            raise ApiError("not_found", "api route not found")
        return route

    def _answer(self, request: Request, token: str | None, route: Route) -> Response:
        if token is None:
            raise ApiError("unauthorized", "token is required")
        if token not in self._tokens:
            raise ApiError("unauthorized", "the token you have provided is invalid")
        if request.method not in route.handlers:
            raise ApiError("method_not_allowed", "method not allowed")
        handler = route.handlers[request.method]
        if request.method == "GET":
            return handler(request, *route.ids)
        if self._tokens[token] == "ro":
            raise ApiError("forbidden", "insufficient permissions for this request")
        body = Body.of(request)
        with self._project.store.changing():
            return handler(body, *route.ids)

    def _tell(self, request: Request, error: ApiError) -> None:
        """Say in the log, once for each operation, that it is not simulated."""
        operation = error.details["operation"] if error.details else ""
        if operation not in self._told:
            self._told.add(operation)
            _LOG.warning("not simulated: %s %s (%s)", request.method, request.path, operation)

    def _correlation_id(self) -> str:
        return f"{self._correlation.getrandbits(64):016x}"


def _token_of(request: Request) -> str | None:
    """The bearer token of a request, None when it has none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
