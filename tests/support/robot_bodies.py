"""Bodies of the Robot webservice as its documentation and its users show them, one row for each fact.

The simulator has to answer each request with a body of the same shape, and our client has to take each body for what it
means: see ``tests/unit/actuators/test_robot_bodies.py``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NUMBER = 321
LISTED: Mapping[str, Any] = {
    "server_ip": "203.0.113.7",
    "server_ipv6_net": "2001:db8:7::",
    "server_number": NUMBER,
    "server_name": "db-1",
    "product": "AX41-NVMe",
    "dc": "FSN1-DC14",
    "traffic": "unlimited",
    "status": "ready",
    "cancelled": False,
    "paid_until": "2027-12-31",
    "ip": ["203.0.113.7"],
    "subnet": [{"ip": "2001:db8:7::", "mask": "64"}],
}
FUNCTIONS = ("reset", "rescue", "vnc", "windows", "plesk", "cpanel", "wol", "hot_swap")
SINGLE: Mapping[str, Any] = {**LISTED, **dict.fromkeys(FUNCTIONS, True), "linked_storagebox": None}
RESET: Mapping[str, Any] = {
    "server_ip": "203.0.113.7",
    "server_ipv6_net": "2001:db8:7::",
    "server_number": NUMBER,
    "type": ["sw", "hw", "man", "power", "power_long"],
    "operating_status": "running",
}
WORLD: Mapping[str, Any] = {"servers": [LISTED]}
NOTHING: Mapping[str, Any] = {"servers": []}


@dataclass(frozen=True)
class Body:
    """One answer, and where it is known from."""

    name: str
    source: str
    path: str
    status: int
    body: Any
    """A JSON value; None where the source tells no more than the status."""
    means: str
    """What our client makes of it: the name of an error's class, or what was read."""
    method: str = "GET"
    form: Mapping[str, str] = field(default_factory=dict)
    world: Mapping[str, Any] = field(default_factory=lambda: WORLD)
    before: str = ""
    """What has happened at the simulator: ``maintenance``, ``used up``, ``wrong password`` or ``three log-ins``."""

    @property
    def sent(self) -> bytes:
        return b"<html><body>403 Forbidden</body></html>" if self.body is None else json.dumps(self.body).encode()


def error(status: int, code: str, **details: Any) -> dict[str, Any]:
    """The envelope of an error."""
    return {"error": {"status": status, "code": code, "message": "in words", **details}}


_DOCUMENTATION = "Robot webservice documentation"
_HCCM = "hcloud-cloud-controller-manager, Robot client (hrobot-go)"
BODIES = (
    Body("a list", f"{_DOCUMENTATION}: GET /server", "/server", 200, [{"server": LISTED}], "db-1"),
    Body(
        "null where there is no subnet",
        f"{_DOCUMENTATION}: GET /server, second server of the example",
        "/server",
        200,
        [{"server": {**LISTED, "subnet": None}}],
        "db-1",
        world={"servers": [{**LISTED, "subnet": None}]},
    ),
    Body(
        "null where there is no IPv4",
        "assumed of a server that has IPv6 alone: the documentation shows none",
        "/server",
        200,
        [{"server": {**LISTED, "server_ip": None, "ip": []}}],
        "db-1",
        world={"servers": [{**LISTED, "server_ip": None, "ip": []}]},
    ),
    Body(
        "a cancelled server",
        f"{_DOCUMENTATION}: GET /server, cancelled",
        "/server",
        200,
        [{"server": {**LISTED, "cancelled": True}}],
        "db-1",
        world={"servers": [{**LISTED, "cancelled": True}]},
    ),
    Body(
        "a server that is set up",
        f"{_DOCUMENTATION}: GET /server, status",
        "/server",
        200,
        [{"server": {**LISTED, "status": "in process"}}],
        "db-1",
        world={"servers": [{**LISTED, "status": "in process"}]},
    ),
    Body(
        "a single server",
        f"{_DOCUMENTATION}: GET /server/{{server-number}}",
        f"/server/{NUMBER}",
        200,
        {"server": SINGLE},
        "db-1",
    ),
    Body(
        "a reset",
        f"{_DOCUMENTATION}: GET /reset/{{server-number}}",
        f"/reset/{NUMBER}",
        200,
        {"reset": RESET},
        "running",
    ),
    Body(
        "a reset of a server that is off",
        f"{_HCCM}: a server is shut down by this word",
        f"/reset/{NUMBER}",
        200,
        {"reset": {**RESET, "operating_status": "shut off"}},
        "off",
        world={"servers": [{**LISTED, "operating_status": "shut off"}]},
    ),
    Body(
        "a reset in a tower",
        f"{_DOCUMENTATION}: GET /reset, operating_status and type without power",
        f"/reset/{NUMBER}",
        200,
        {"reset": {**RESET, "type": ["sw", "hw", "man"], "operating_status": "not supported"}},
        "other",
        world={"servers": [{**LISTED, "operating_status": "not supported"}]},
    ),
    Body(
        "a list of nothing",
        f"{_DOCUMENTATION}: GET /server, errors",
        "/server",
        404,
        error(404, "SERVER_NOT_FOUND"),
        "NotFound",
        world=NOTHING,
    ),
    Body(
        "a server that is not there",
        f"{_DOCUMENTATION}: GET /server/{{server-number}}, errors",
        "/server/7",
        404,
        error(404, "SERVER_NOT_FOUND"),
        "NotFound",
    ),
    Body(
        "a reset of a server that is not there",
        f"{_DOCUMENTATION}: GET /reset/{{server-number}}, errors",
        "/reset/7",
        404,
        error(404, "SERVER_NOT_FOUND"),
        "NotFound",
    ),
    Body(
        "a list of resets of nothing",
        f"{_DOCUMENTATION}: GET /reset, errors",
        "/reset",
        404,
        error(404, "NOT_FOUND"),
        "NotFound",
        world=NOTHING,
    ),
    Body(
        "a server without reset",
        f"{_DOCUMENTATION}: GET /reset/{{server-number}}, errors",
        f"/reset/{NUMBER}",
        404,
        error(404, "RESET_NOT_AVAILABLE"),
        "NotFound",
        world={"servers": [{**LISTED, "operating_status": None}]},
    ),
    Body(
        "a parameter that is missing",
        f"{_DOCUMENTATION}: error format invalid input",
        f"/server/{NUMBER}",
        400,
        error(400, "INVALID_INPUT", missing=["server_name"], invalid=None),
        "Invalid",
        method="POST",
    ),
    Body(
        "a parameter that is invalid",
        f"{_DOCUMENTATION}: error format invalid input",
        f"/server/{NUMBER}",
        400,
        error(400, "INVALID_INPUT", missing=None, invalid=["server_name"]),
        "Invalid",
        method="POST",
        form={"server_name": "x" * 101},
    ),
    Body(
        "wrong credentials",
        f"{_DOCUMENTATION}: authentication error, which has no body there; {_HCCM}: its code",
        "/server",
        401,
        error(401, "UNAUTHORIZED"),
        "Denied",
        before="wrong password",
    ),
    Body(
        "three wrong log-ins",
        f"{_DOCUMENTATION}: authentication, lock-out of ten minutes; {_HCCM}: a 403 without a code is a rate limit too",
        "/server",
        403,
        None,
        "Throttled for 600 s",
        before="three log-ins",
    ),
    Body(
        "a limit of servers",
        f"{_DOCUMENTATION}: error format request limit; request limit of GET /server",
        "/server",
        403,
        error(403, "RATE_LIMIT_EXCEEDED", max_request=200, interval=3600),
        "Throttled for 3600 s",
        before="used up",
    ),
    Body(
        "a limit of resets",
        f"{_DOCUMENTATION}: error format request limit; request limit of GET /reset",
        f"/reset/{NUMBER}",
        403,
        error(403, "RATE_LIMIT_EXCEEDED", max_request=500, interval=3600),
        "Throttled for 3600 s",
        before="used up",
    ),
    Body(
        "maintenance",
        f"{_DOCUMENTATION}: unavailability due to maintenance, which has no body there",
        "/server",
        503,
        None,
        "Transient",
        before="maintenance",
    ),
)
