"""Errors of the API: one exception, the status of each code, and the messages that several resources share.

Messages of one resource stand beside its rules. Source: Hetzner Cloud API, error codes. Known differences: messages
without a source there are our wording, in the style of those that have one. The document gives ``resource_in_use`` and
``cloud_resource_ip_not_allowed`` no status; theirs are assumed.
"""

from collections.abc import Sequence
from typing import Any

from hcloud_sandbox.hetzner.store import in_words

_REFUSED = 422
STATUS_BY_CODE = {
    "json_error": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "resource_limit_exceeded": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "uniqueness_error": 409,
    "conflict": 409,
    "deprecated_api_endpoint": 410,
    "resource_unavailable": 412,
    "source_port_already_used": 412,
    "primary_ip_version_mismatch": 412,
    "locked": 423,
    "protected": 423,
    "rate_limit_exceeded": 429,
    "not_simulated": 501,
}
"""Code → status, but for codes that are answered with 422, as most refusals of a resource are."""


class ApiError(Exception):
    """A refusal, on its way to become an answer (or, inside an action, the action's error).

    ``status`` is for a code that has another one somewhere than in the table.
    """

    def __init__(
        self, code: str, message: str, details: dict[str, Any] | None = None, *, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status or STATUS_BY_CODE.get(code, _REFUSED)
        self.code = code
        self.message = message
        self.details = details

    def body(self) -> dict[str, Any]:
        """The error envelope."""
        return {"error": {"code": self.code, "message": self.message, "details": self.details}}


def invalid_field(field: str, problem: str) -> ApiError:
    """``invalid_input`` about one field; the message repeats what the details say."""
    details = {"fields": [{"name": field, "messages": [problem]}]}
    return ApiError("invalid_input", f"invalid input in field '{field}': {problem}", details)


def invalid_text(message: str) -> ApiError:
    """``invalid_input`` with free text and no field, as route checks have it."""
    return ApiError("invalid_input", message, {"fields": []})


def not_found(kind: str, object_id: int | str) -> ApiError:
    """``not_found`` for an object of a kind, ``servers``."""
    return ApiError("not_found", f"{in_words(kind)} with ID '{object_id}' not found")


def not_unique(field: str, message: str) -> ApiError:
    """``uniqueness_error`` about a field."""
    return ApiError("uniqueness_error", message, {"fields": [{"name": field}]})


def limit_exceeded(limit: str, message: str | None = None) -> ApiError:
    """``resource_limit_exceeded`` naming the limit, ``server_network_limit``, after which it words the message."""
    words = message or f"{limit.replace('_', ' ').replace(' ip ', ' IP ')} exceeded"
    return ApiError("resource_limit_exceeded", words, {"limits": [{"name": limit}]})


def removed_endpoint(message: str, announcement: str) -> ApiError:
    """``deprecated_api_endpoint`` with the link that announced the removal."""
    return ApiError("deprecated_api_endpoint", message, {"announcement": announcement})


def not_simulated(operation: str, instead: str) -> ApiError:
    """``not_simulated`` with the operation's id, for what the real API can do and the simulator cannot.

    The code is none of the API, so that it is not taken for a refusal by Hetzner. hcloud-python and hcloud-go, on which
    the CLI and Terraform's provider stand, repeat a request for ``conflict``, ``rate_limit_exceeded``, ``bad_gateway``
    and ``timeout`` only.
    """
    return ApiError("not_simulated", f"{operation} is not simulated: {instead}", {"operation": operation})


def known(names: Sequence[str]) -> str:
    """The tail of a message that lists what would have been right."""
    return f"known: {', '.join(names)}"
