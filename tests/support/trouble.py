"""What goes wrong whatever is asked for: faults of transport before an API, with the errors that they come to."""

from typing import Any

from actuators.http.errors import ApiError, Broken, Denied, Throttled, Transient

HETZNER_TROUBLE: list[tuple[dict[str, Any], type[ApiError]]] = [
    ({"code": 401, "body": {"error": {"code": "unauthorized", "message": "no"}}}, Denied),
    ({"code": 429, "body": {"error": {"code": "rate_limit_exceeded", "message": "no"}}}, Throttled),
    ({"code": 500, "body": "<html>"}, Transient),
    ({"code": 404, "body": "<html>"}, Broken),
    ({"code": 200, "body": "<html>"}, Broken),
]
"""Members of a fault of kind ``status`` → the error that a client of Hetzner makes of it."""
