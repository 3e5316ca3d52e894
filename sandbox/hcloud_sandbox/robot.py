"""The Robot webservice, simulated: dedicated servers, their names, and whether they are switched on.

The rules are those of the Robot webservice's documentation: HTTP Basic authentication, a lock-out of ten minutes after
three failed logins, limits per endpoint and hour that are answered with 403, wrapper objects, form bodies, a list of
nothing that is a 404, and ``subnet`` that is null instead of empty.

Known differences, where the documentation is silent: the limit is that of the last 3,600 seconds; a login that succeeds
ends the count of failed ones; whoever is locked out gets a 403 without a body of the service's own; one process is one
address. Not simulated: YAML answers, and every endpoint but ``/server`` and ``/reset``, of which only a server's name
can be written. What the webservice has of that answers 501 with ``NOT_SIMULATED``, a code that is none of its own.
"""

import base64
import binascii
import json
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.faults import ServiceFaults, numbers
from hcloud_sandbox.shapes import (
    Object,
    Rule,
    a,
    a_flag,
    a_range,
    a_text,
    an_address,
    an_object,
    copied,
    one_of,
    optional,
    shape,
)
from hcloud_sandbox.worlds import FORMAT_VERSION, part_of

_LOG = logging.getLogger(__name__)
_HOUR_S = 3600
_FAILED_LOGINS = 3
_LOCKED_S = 600
_LIMITS: Mapping[str, int] = {"server": 200, "reset": 500}
"""Endpoint → reads and writes an hour; the list and the single objects below it share one limit."""
_STATUSES = ("running", "shut off", "not supported")
_LONGEST_NAME = 100
_NOT_SIMULATED = re.compile(
    r"\S+ /(?:boot|failover|firewall|ip|key|order|rdns|storagebox|subnet|traffic|vswitch|wol)(?:/.*)?"
    r"|(?:GET|POST|DELETE) /server/[^/]+/cancellation|POST /server/[^/]+/reversal|POST /reset/[^/]+"
)
"""Method and path of what the webservice has beside."""
_NUMBER = re.compile(r"[0-9]{1,19}")
_NAME = re.compile(r"[A-Za-z0-9 ._-]*")


class _Refusal(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        error = {"status": status, "code": code, "message": message, **details}
        self.response = Response(status, {"error": error})


class RobotSimulator:
    """One account. Implements ``hcloud_sandbox.exchange.Simulator``.

    ``world`` is what ``replace_world`` accepts; left out it is an account without servers. Who is locked out, and what
    was asked in the last hour, survive ``replace_world``, as they are no part of it.
    """

    USER: ClassVar[str] = "#ws+sandbox"
    PASSWORD: ClassVar[str] = "sandbox-robot"  # noqa: S105 - the sandbox has no secrets

    def __init__(
        self,
        clock: SimulatedClock,
        *,
        credentials: tuple[str, str] | None = None,
        world: Mapping[str, Any] | None = None,
    ) -> None:
        self._clock = clock
        self._credentials = credentials or (self.USER, self.PASSWORD)
        self._failed_logins = 0
        self._locked_until = 0.0
        self._asked: dict[str, deque[float]] = {endpoint: deque() for endpoint in _LIMITS}
        self._told: set[tuple[str, str]] = set()
        self._faults = ServiceFaults({"maintenance": {}, "list_lacks": {"numbers?": numbers}})
        self._servers: dict[int, Object] = {}
        """By number; ``operating_status`` is None where a server has no reset, and shown by that alone."""
        self.replace_world(world or {"servers": []})

    def set_credentials(self, user: str, password: str) -> None:
        """Take these from now on, and no others, as when a person changes the password of the webservice's user."""
        self._credentials = (user, password)

    def handle(self, request: Request) -> Response:
        """Answer one request."""
        try:
            self._log_in(request)
            return self._answer(request)
        except _Refusal as refusal:
            return refusal.response

    def world(self) -> dict[str, Any]:
        """The account as a world file."""
        return {"format_version": FORMAT_VERSION, "robot": {"servers": copied([*self._servers.values()])}}

    def replace_world(self, world: Mapping[str, Any]) -> None:
        """Forget all servers and start from the Robot part of a world file, or from a whole one.

        Raises ValueError that names the server and what is wrong, and then changes nothing.
        """
        given = json.loads(json.dumps(list(part_of(world, "robot").get("servers", ()))))
        servers = [_complete(raw, f"robot.servers[{place}]") for place, raw in enumerate(given)]
        found: dict[int, Object] = {}
        for server in servers:
            number = server["server_number"]
            if number in found:
                raise ValueError(f"robot.servers: two have the server_number {number}; change one of them")
            found[number] = server
        self._servers = dict(sorted(found.items()))

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        """Add simulated faults. Raises ValueError and adds none when one is wrong.

        ``maintenance`` answers 503; ``list_lacks`` leaves servers out of the list that a request by number finds, those
        with these ``numbers`` or, without any, all. ``count`` is how often, null until the faults are cleared.
        """
        self._faults.add(faults)

    def clear_faults(self) -> None:
        """Forget all simulated faults."""
        self._faults.clear()

    def _log_in(self, request: Request) -> None:
        """Check the credentials. Raises _Refusal; nobody whose address is locked out can log in."""
        now = self._clock.timestamp()
        if now < self._locked_until:
            # Not one of the service's own errors: the address is refused before it.
            raise _locked_out()
        if _credentials_in(request) == self._credentials:
            self._failed_logins = 0
            return
        self._failed_logins += 1
        if self._failed_logins >= _FAILED_LOGINS:
            self._failed_logins, self._locked_until = 0, now + _LOCKED_S
        raise _Refusal(401, "UNAUTHORIZED", "Unauthorized")

    def _answer(self, request: Request) -> Response:
        endpoint, *rest = request.path.strip("/").split("/")
        handlers: Mapping[tuple[str, str, int], Callable[..., Response]] = {
            ("GET", "server", 0): self._list_servers,
            ("GET", "server", 1): lambda number: Response(200, _details(self._server(number))),
            ("POST", "server", 1): lambda number: self._rename(number, request),
            ("GET", "reset", 0): self._list_resets,
            ("GET", "reset", 1): self._read_reset,
        }
        handler = handlers.get((request.method, endpoint, len(rest)))
        if handler is None and _NOT_SIMULATED.fullmatch(f"{request.method} {request.path.rstrip('/')}"):
            self._tell(request, endpoint)
            message = f"{request.method} {request.path} is not simulated: of Robot there are servers and their resets"
            raise _Refusal(501, "NOT_SIMULATED", message)
        if handler is None:
            raise _Refusal(404, "NOT_FOUND", f"the webservice has no {request.method} {request.path}")
        self._pay(endpoint)
        if self._faults.take("maintenance") is not None:
            raise _Refusal(503, "UNAVAILABLE", "The service is unavailable due to maintenance")
        return handler(*rest)

    def _tell(self, request: Request, endpoint: str) -> None:
        """Say in the log, once for each method of an endpoint, that it is not simulated."""
        if (request.method, endpoint) not in self._told:
            self._told.add((request.method, endpoint))
            _LOG.warning("not simulated: %s %s (Robot)", request.method, request.path)

    def _pay(self, endpoint: str) -> None:
        """Count one request. Raises _Refusal when the hour has had as many as it may."""
        now, asked, limit = self._clock.timestamp(), self._asked[endpoint], _LIMITS[endpoint]
        while asked and asked[0] <= now - _HOUR_S:
            asked.popleft()
        if len(asked) >= limit:
            raise _Refusal(403, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded", max_request=limit, interval=_HOUR_S)
        asked.append(now)

    def _list_servers(self) -> Response:
        fault = self._faults.take("list_lacks")
        lacking = set() if fault is None else set(fault.get("numbers") or self._servers)
        found = [{"server": _listed(server)} for number, server in self._servers.items() if number not in lacking]
        if not found:
            raise _Refusal(404, "SERVER_NOT_FOUND", "No server found")
        return Response(200, found)

    def _list_resets(self) -> Response:
        found = [_reset(server) for server in self._servers.values() if server["operating_status"] is not None]
        if not found:
            raise _Refusal(404, "NOT_FOUND", "No server with reset option available")
        return Response(200, found)

    def _read_reset(self, number: str) -> Response:
        server = self._server(number)
        if server["operating_status"] is None:
            raise _Refusal(404, "RESET_NOT_AVAILABLE", f"The server {number} has no reset option")
        return Response(200, _reset(server))

    def _rename(self, number: str, request: Request) -> Response:
        names = parse_qs(request.body.decode("utf-8", "replace"), keep_blank_values=True).get("server_name")
        if names is None:
            raise _Refusal(400, "INVALID_INPUT", "invalid input", missing=["server_name"], invalid=None)
        if len(names[0]) > _LONGEST_NAME or not _NAME.fullmatch(names[0]):
            raise _Refusal(400, "INVALID_INPUT", "invalid input", missing=None, invalid=["server_name"])
        server = self._server(number)
        server["server_name"] = names[0]
        return Response(200, _details(server))

    def _server(self, number: str) -> Object:
        found = self._servers.get(int(number)) if _NUMBER.fullmatch(number) else None
        if found is None:
            raise _Refusal(404, "SERVER_NOT_FOUND", f"Server with id {number} not found")
        return found


def _locked_out() -> _Refusal:
    refusal = _Refusal(403, "", "")
    refusal.response = Response(403, b"<html><body>403 Forbidden</body></html>", {"Content-Type": "text/html"})
    return refusal


def _credentials_in(request: Request) -> tuple[str, str] | None:
    """User and password of HTTP Basic authentication (RFC 7617); None when there are none."""
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return (user, password) if colon else None


def _listed(server: Object) -> Object:
    return {name: copied(value) for name, value in server.items() if name != "operating_status"}


def _details(server: Object) -> Object:
    """A single server: what it has beyond the list says which of its functions can be ordered."""
    functions = ("reset", "rescue", "vnc", "windows", "plesk", "cpanel", "wol", "hot_swap")
    orders = {name: name in ("rescue", "wol") for name in functions}
    orders["reset"] = server["operating_status"] is not None
    return {"server": {**_listed(server), **orders, "linked_storagebox": None}}


def _reset(server: Object) -> Object:
    """What ``/reset`` says of a server."""
    ways = ["sw", "hw", "man"] + ["power", "power_long"] * (server["operating_status"] != "not supported")
    shared = ("server_ip", "server_ipv6_net", "server_number", "operating_status")
    return {"reset": {**{name: server[name] for name in shared}, "type": ways}}


def _complete(raw: Any, where: str) -> Object:
    """A server with everything that the world leaves out. Raises ValueError that names what is wrong."""
    if isinstance(raw, dict) and set(raw) == {"server"}:  # as the webservice wraps it
        raw = raw["server"]
    number = a(int, "a number from 1")(an_object(raw, where).get("server_number"), f"{where} server_number")
    if number < 1:
        raise ValueError(f"{where}: server_number is {number}; give a number from 1")
    high, low = divmod(number, 256)
    template: Object = {
        "server_ip": f"198.51.{100 + high % 100}.{low}",
        "server_ipv6_net": f"2001:db8:b:{number:x}::" if number <= 0xFFFF else f"2001:db8:c:{number & 0xFFFF:x}::",
        "server_number": number,
        "server_name": f"robot-{number}",
        "product": "AX41-NVMe",
        "dc": "FSN1-DC14",
        "traffic": "unlimited",
        "status": "ready",
        "cancelled": False,
        "paid_until": "2099-12-31",
        "ip": None,
        "subnet": None,
        "operating_status": "running",
    }
    texts = ("server_name", "product", "dc", "traffic", "status", "paid_until")
    rules: dict[str, Rule] = {
        **dict.fromkeys(texts, a_text),
        "server_ip": optional(an_address),
        "server_ipv6_net": optional(lambda net, place: a_range(f"{net}/64", place).removesuffix("/64")),
        "cancelled": a_flag,
        "operating_status": optional(one_of(*_STATUSES)),
    }
    server = shape(raw, template, f"{where} ({number})", rules)
    address, net = server["server_ip"], server["server_ipv6_net"]
    addresses = {"ip": [address] if address else [], "subnet": [{"ip": net, "mask": "64"}] if net else None}
    return {**server, **{name: raw.get(name, found) for name, found in addresses.items()}}
