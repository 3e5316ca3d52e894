"""Metrics of servers and load balancers: series of made-up values, the same for every client that asks.

Source: Hetzner Cloud API, metrics of servers and of load balancers: types, series and units, 30 days, 200 samples where
no step is given and 500 at most. Known differences: nothing is measured. A series has a rhythm of a day, and is zero
while a server is off and while a load balancer has no service or no target. There are no samples of the time before an
object was created, and none of the future. That a period which ends before it starts is ``invalid_input`` is a guess.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from datetime import datetime

from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner.actions import format_time
from hcloud_sandbox.hetzner.errors import invalid_field, known
from hcloud_sandbox.hetzner.project import Project
from hcloud_sandbox.hetzner.resource import route
from hcloud_sandbox.hetzner.store import Object

MAX_SAMPLES = 500
DEFAULT_SAMPLES = 200
KEPT_S = 30 * 24 * 3600.0
_DAY_S = 24 * 3600.0

_Series = Mapping[str, Mapping[str, float]]
"""Type of metrics → its series → what is usual of one, in its unit."""
_OF_SERVER: _Series = {
    "cpu": {"cpu": 18.0},
    "disk": {
        "disk.0.iops.read": 4.0,
        "disk.0.iops.write": 9.0,
        "disk.0.bandwidth.read": 60_000.0,
        "disk.0.bandwidth.write": 140_000.0,
    },
    "network": {
        "network.0.pps.in": 110.0,
        "network.0.pps.out": 90.0,
        "network.0.bandwidth.in": 70_000.0,
        "network.0.bandwidth.out": 120_000.0,
    },
}
_OF_LOAD_BALANCER: _Series = {
    "open_connections": {"open_connections": 40.0},
    "connections_per_second": {"connections_per_second": 6.0},
    "requests_per_second": {"requests_per_second": 25.0},
    "bandwidth": {"bandwidth.in": 40_000.0, "bandwidth.out": 450_000.0},
}


class Metrics:
    """The operations that read them."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @route("GET /servers/{id}/metrics")
    def of_server(self, request: Request, server_id: int) -> Response:
        """CPU, disk and network, which are zero of the time in which it was off."""
        server = self._project.require("servers", server_id)
        return self._answer(request, server, _OF_SERVER, self._history(server))

    @route("GET /load_balancers/{id}/metrics")
    def of_load_balancer(self, request: Request, balancer_id: int) -> Response:
        """Connections, requests and bandwidth."""
        balancer = self._project.require("load_balancers", balancer_id)
        is_used = bool(balancer["services"] and balancer["targets"])
        return self._answer(request, balancer, _OF_LOAD_BALANCER, lambda _: is_used)

    def _history(self, server: Object) -> Callable[[float], bool]:
        """Whether the server ran at a time: what its actions made of it, as far as they are known."""
        actions = list(self._project.actions.listed("servers", server["id"]))
        at_first = actions[0].ran_before if actions else server["status"] == "running"
        changes = sorted(
            (action.finished, action.runs_after)
            for action in actions
            if action.finished is not None and action.ran_before != action.runs_after
        )

        def ran(at: float) -> bool:
            return next((runs for since, runs in reversed(changes) if since <= at), at_first)

        return ran

    def _answer(self, request: Request, of: Object, series: _Series, is_busy: Callable[[float], bool]) -> Response:
        wanted = [name for value in request.query.get("type", ()) for name in value.split(",")]
        if not wanted:
            raise invalid_field("type", "is missing")
        if any(name not in series for name in wanted):
            raise invalid_field("type", known(tuple(series)))
        start, end = _time(request, "start"), _time(request, "end")
        if end < start:
            raise invalid_field("end", "must not be before start")
        step = _step(request, end - start)
        now = self._project.clock.timestamp()
        since = max(now - KEPT_S, datetime.fromisoformat(of["created"]).timestamp())
        times = [at for at in (start + number * step for number in range(MAX_SAMPLES)) if since <= at <= min(end, now)]
        found = {
            name: {"values": [[at, f"{is_busy(at) * _value(of['id'], name, usual, at):.1f}"] for at in times]}
            for kind in wanted
            for name, usual in series[kind].items()
        }
        metrics = {"start": format_time(start), "end": format_time(end), "step": step, "time_series": found}
        return Response(200, {"metrics": metrics})


def _time(request: Request, name: str) -> float:
    """A required time in a query, in seconds since the epoch."""
    try:
        at = datetime.fromisoformat(request.first(name, "") or "")
        format_time(at.timestamp())  # a year that no answer can name is refused as well
    except (ValueError, OverflowError):
        at = None
    if at is None or at.tzinfo is None:
        raise invalid_field(name, "must be a time as in RFC 3339" if name in request.query else "is missing")
    return at.timestamp()


def _step(request: Request, span_s: float) -> float:
    """Seconds from a sample to the next: as asked for, but for more samples than there can be."""
    text = request.first("step")
    if text is None:
        return max(1.0, math.ceil(span_s / (DEFAULT_SAMPLES - 1)))
    try:
        step = float(text)
    except ValueError:
        step = 0.0
    if not 0 < step < math.inf:
        raise invalid_field("step", "must be a number of seconds")
    return max(step, math.ceil(span_s / (MAX_SAMPLES - 1)))


def _value(object_id: int, series: str, usual: float, at: float) -> float:
    """From 0.4 to 1.8 times of what is usual: a function of the object, the series and the time alone."""
    own = hashlib.blake2b(f"{object_id} {series}".encode(), digest_size=1).digest()[0] / 2**8
    noise = hashlib.blake2b(f"{object_id} {series} {at}".encode(), digest_size=2).digest()
    rhythm = 1 + 0.4 * math.sin(2 * math.pi * (at / _DAY_S + own))
    return usual * rhythm * (0.7 + 0.6 * int.from_bytes(noise, "big") / 2**16)
