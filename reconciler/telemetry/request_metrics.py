"""Counts and times the requests of both connections, by endpoints of which there are few: without ids and names."""

import re
import time
from collections.abc import Callable

from prometheus_client import Counter, Gauge, Histogram

from actuators.http.requests import Ended, Observe

_NUMBER = re.compile(r"\d+")
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"})


def hetzner_endpoint(path: str) -> str:
    """A path of Hetzner's with ``-`` for ids, as HCCM has it: ``/load_balancers/-/actions/add_target``."""
    return "/".join("-" if _NUMBER.fullmatch(part) else part for part in _bare(path).split("/"))


def kubernetes_endpoint(path: str) -> str:
    """A path of the API server's with ``-`` for names: ``/api/v1/namespaces/-/services/-/status``.

    After group and version a kind is always followed by a name (Kubernetes API concepts, resource URIs). What is no
    resource keeps its first segment.
    """
    parts = _bare(path).strip("/").split("/")
    head = {"api": 2, "apis": 3}.get(parts[0], 1)
    names = ("-" if place % 2 else part for place, part in enumerate(parts[head:]))
    return "/" + "/".join((*parts[:head], *(names if head > 1 else ())))


def _bare(path: str) -> str:
    return path.partition("?")[0]


def observer_of_hetzner(
    requests: Counter, durations: Histogram, in_flight: Gauge, clock: Callable[[], float] = time.monotonic
) -> Observe:
    """Watches the connection to Hetzner. ``clock`` is in seconds."""

    def began(method: str, path: str) -> Ended:
        since = clock()
        in_flight.inc()

        def ended(status: int | None) -> None:
            in_flight.dec()
            verb = _method(method).lower()
            requests.labels(_code(status, "error"), verb, hetzner_endpoint(path)).inc()
            durations.labels(verb).observe(clock() - since)

        return ended

    return began


def observer_of_kubernetes(
    requests: Counter,
    requests_of_clients: Counter,
    durations: Histogram,
    host: str,
    clock: Callable[[], float] = time.monotonic,
) -> Observe:
    """Watches the connection to the API server at ``host``. ``clock`` is in seconds."""

    def began(method: str, path: str) -> Ended:
        since = clock()

        def ended(status: int | None) -> None:
            verb = _method(method)
            requests.labels(_code(status, "error"), verb, kubernetes_endpoint(path)).inc()
            requests_of_clients.labels(_code(status, "<error>"), verb, host).inc()
            durations.labels(verb, host).observe(clock() - since)

        return ended

    return began


def _method(method: str) -> str:
    return method if method in _METHODS else "other"


def _code(status: int | None, none: str) -> str:
    return none if status is None else str(status)
