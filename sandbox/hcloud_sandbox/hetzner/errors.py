"""Errors of the API: one exception, and the table of its codes.

It has code → status, and the messages that several resources share. Messages of one resource stand beside its rules.
Source: Hetzner Cloud API, error codes.

Known differences: messages without a source there are our wording, in the style of those that have one. The document
gives ``resource_in_use`` and ``cloud_resource_ip_not_allowed`` no status; theirs are assumed.
"""

from collections.abc import Sequence
from typing import Any

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
    "invalid_input": 422,
    "service_error": 422,
    "unsupported_error": 422,
    "invalid_server_type": 422,
    "server_not_stopped": 422,
    "server_already_attached": 422,
    "ip_not_available": 422,
    "no_subnet_available": 422,
    "networks_overlap": 422,
    "invalid_load_balancer_type": 422,
    "load_balancer_already_attached": 422,
    "load_balancer_not_attached_to_network": 422,
    "load_balancer_public_interface_disabled": 422,
    "targets_without_use_private_ip": 422,
    "target_already_defined": 422,
    "resolve_cloud_private_targets_error": 422,
    "resolve_cloud_public_targets_error": 422,
    "ip_not_assigned_to_server": 422,
    "ip_not_owned": 422,
    "ip_not_in_vswitch_subnet": 422,
    "network_has_no_vswitch_subnet": 422,
    "cloud_resource_ip_not_allowed": 422,
    "resource_in_use": 422,
    "already_in_placement_group": 422,
    "placement_error": 422,
    "firewall_already_applied": 422,
    "firewall_already_removed": 422,
    "firewall_managed_by_label_selector": 422,
    "firewall_resource_not_found": 422,
    "private_net_only_server": 422,
    "server_has_ipv4": 422,
    "server_has_ipv6": 422,
    "volume_already_attached": 422,
    "primary_ip_datacenter_mismatch": 422,
    "primary_ip_assigned": 422,
    "primary_ip_blocked": 422,
    "primary_ip_location_mismatch": 422,
    "locked": 423,
    "protected": 423,
    "rate_limit_exceeded": 429,
}


class ApiError(Exception):
    """A refusal, on its way to become an answer (or, inside an action, the action's error).

    ``status`` is for a code that has another one somewhere than in the table, or none of its own.
    """

    def __init__(
        self, code: str, message: str, details: dict[str, Any] | None = None, *, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status or STATUS_BY_CODE[code]
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


def not_found(what: str, object_id: int | str) -> ApiError:
    """``not_found`` for an object: ``what`` is its name in the singular, ``server``."""
    return ApiError("not_found", f"{what} with ID '{object_id}' not found")


def name_taken(message: str = "name is already used") -> ApiError:
    """``uniqueness_error`` about the name."""
    return ApiError("uniqueness_error", message, {"fields": [{"name": "name"}]})


def limit_exceeded(message: str, limit: str) -> ApiError:
    """``resource_limit_exceeded`` naming the limit."""
    return ApiError("resource_limit_exceeded", message, {"limits": [{"name": limit}]})


def removed_endpoint(message: str, announcement: str) -> ApiError:
    """``deprecated_api_endpoint`` with the link that announced the removal."""
    return ApiError("deprecated_api_endpoint", message, {"announcement": announcement})


def not_simulated(method: str, path: str) -> ApiError:
    """The loud answer to what the real API can do and this simulator cannot."""
    return ApiError("unsupported_error", f"the simulator does not simulate {method} {path} yet")


def known(names: Sequence[str]) -> str:
    """The tail of a message that lists what would have been right."""
    return f"known: {', '.join(names)}"
