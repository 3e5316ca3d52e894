"""Failures as the API server words them: one exception, and one function for each ``Status`` body.

It has texts and shapes only; when each of them is answered is decided by the modules with the rules.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hcloud_sandbox.exchange import Response
from kubernetes_double.resources import Resource

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class ApiError(Exception):
    """A request that failed; ``response`` is the answer with its ``Status`` body."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"{response.status}: {response.body}")
        self.response = response


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why an object is invalid. ``path`` is the field as the API server names it, ``spec.providerID``."""

    path: str
    reason: str
    text: str

    @classmethod
    def invalid(cls, path: str, value: Any, why: str) -> "Cause":
        """A value that breaks a rule."""
        shown = f'"{value}"' if isinstance(value, str) else json.dumps(value)
        return cls(path, "FieldValueInvalid", f"Invalid value: {shown}: {why}")

    @classmethod
    def forbidden(cls, path: str, why: str) -> "Cause":
        """A value that may not be set now."""
        return cls(path, "FieldValueForbidden", f"Forbidden: {why}")

    @classmethod
    def required(cls, path: str, why: str = "") -> "Cause":
        """A value that is missing."""
        return cls(path, "FieldValueRequired", f"Required value: {why}" if why else "Required value")

    @classmethod
    def duplicate(cls, path: str, value: str) -> "Cause":
        """A value that is there twice."""
        return cls(path, "FieldValueDuplicate", f"Duplicate value: {value}")

    @classmethod
    def unsupported(cls, path: str, value: str, known: Sequence[str]) -> "Cause":
        """A value that is none of the known ones."""
        offered = ", ".join(f'"{name}"' for name in known)
        return cls(path, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {offered}')


def failure(
    code: int,
    reason: str,
    message: str,
    *,
    details: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> ApiError:
    """The exception for a ``Status`` body with these parts."""
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata or {},
        "status": "Failure",
        "message": message,
    }
    if reason:
        body["reason"] = reason
    if details is not None:
        body["details"] = details
    return ApiError(Response(code, {**body, "code": code}, headers or {}))


def _details(resource: Resource, name: str) -> dict[str, Any]:
    details = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    return {**details, "kind": resource.plural}


def _kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def unauthorized() -> ApiError:
    """401 for a token that nobody knows."""
    return failure(401, "Unauthorized", "Unauthorized")


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[dict[str, str]] = ()) -> ApiError:
    """403; ``why`` follows "is forbidden: "."""
    subject = f'{resource.qualified} "{name}"' if name else resource.qualified
    details = _details(resource, name)
    if causes:
        details["causes"] = list(causes)
    return failure(403, "Forbidden", f"{subject} is forbidden: {why}", details=details)


def not_found(resource: Resource, name: str) -> ApiError:
    """404 for an object."""
    return failure(404, "NotFound", f'{resource.qualified} "{name}" not found', details=_details(resource, name))


def no_such_path() -> ApiError:
    """404 for a path below a known API."""
    return failure(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed(message: str = "the server does not allow this method on the requested resource") -> ApiError:
    """405."""
    return failure(405, "MethodNotAllowed", message, details={})


def already_exists(resource: Resource, name: str) -> ApiError:
    """409 for a name that is taken."""
    return failure(
        409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', details=_details(resource, name)
    )


def _conflict(resource: Resource, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return failure(409, "Conflict", message, details=_details(resource, name))


def wrong_uid(resource: Resource, name: str, wanted: str, actual: str) -> ApiError:
    """409 for a PUT that names another object's uid; ``actual`` is empty when there is no object."""
    where = f"StorageError: invalid object, Code: 4, Key: /registry/{resource.plural}/{name}, ResourceVersion: 0"
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
    return _conflict(resource, name, f"{where}, AdditionalErrorMsg: {why}")


def failed_precondition(resource: Resource, name: str, field: str, wanted: str, actual: str) -> ApiError:
    """409 for a DELETE of another object than meant. Unlike everywhere else, the API server names the kind here."""
    what, perhaps = ("UID", "deleted and then recreated") if field == "uid" else ("ResourceVersion", "modified")
    why = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual})"
    message = (
        f'Operation cannot be fulfilled on {_kind(resource)} "{name}": {why}. The object might have been {perhaps}'
    )
    return failure(409, "Conflict", message, details={**_details(resource, name), "kind": resource.kind})


def modified_meanwhile(resource: Resource, name: str) -> ApiError:
    """409 for a stale ``resourceVersion``."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return _conflict(resource, name, why)


def bad_request(message: str) -> ApiError:
    """400."""
    return failure(400, "BadRequest", message)


def not_acceptable() -> ApiError:
    """406 for a client that takes no form of an answer. The simulator itself speaks only the first of them."""
    accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    return failure(406, "NotAcceptable", f"only the following media types are accepted: {accepted}")


def unsupported_body() -> ApiError:
    """415 for a POST or PUT. The simulator itself does not read the second of the media types."""
    accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return failure(415, "UnsupportedMediaType", message)


def unsupported_patch() -> ApiError:
    """415 for a PATCH of an unknown kind."""
    return failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})


def broken(message: str) -> ApiError:
    """500, which the API server answers without a reason."""
    return failure(500, "", message)


def expired_token(fresh_token: str) -> ApiError:
    """410 for an old ``continue`` token; ``fresh_token`` carries on in an inconsistent way."""
    return failure(410, "Expired", _TOO_OLD, metadata={"continue": fresh_token})


def broken_version(version: str) -> ApiError:
    """500 for a watch from a version that is none, which the API server answers without a reason."""
    return broken(
        f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
    )


def expired_version(version: int, oldest: int) -> dict[str, Any]:
    """The ``Status`` in a watch that cannot begin at this version: there it is an event, and the answer is 200."""
    status: dict[str, Any] = failure(410, "Expired", f"too old resource version: {version} ({oldest})").response.body
    return status


def unprocessable_patch() -> ApiError:
    """422 for a JSON patch that does not fit the object. The API server says no more than this either."""
    message = "the server rejected our request due to an error in our request"
    return failure(422, "Invalid", message, details={})


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 for an object that breaks rules; every broken rule is listed."""
    texts = [f"{cause.path}: {cause.text}" for cause in causes]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: dict[str, Any] = {**_details(resource, name), "kind": resource.kind}
    details["causes"] = [{"reason": c.reason, "message": c.text, "field": c.path} for c in causes]
    return failure(422, "Invalid", f'{_kind(resource)} "{name}" is invalid: {listed}', details=details)


def version_required(resource: Resource, name: str) -> ApiError:
    """422 for an update without ``resourceVersion``, where the kind wants one. It names the path, not the kind."""
    cause = Cause.invalid("metadata.resourceVersion", 0, "must be specified for an update")
    causes = [{"reason": cause.reason, "message": cause.text, "field": cause.path}]
    message = f'{resource.qualified} "{name}" is invalid: {cause.path}: {cause.text}'
    return failure(422, "Invalid", message, details={**_details(resource, name), "causes": causes})


def unknown_dry_run(verb: str, asked: str) -> ApiError:
    """422 for a ``dryRun`` that is not "All"."""
    kind = f"{verb.capitalize()}Options"
    text = f'Unsupported value: ["{asked}"]: supported values: "All"'
    causes = [{"reason": "FieldValueNotSupported", "message": text, "field": "dryRun"}]
    details = {"group": "meta.k8s.io", "kind": kind, "causes": causes}
    return failure(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: dryRun: {text}', details=details)


def invalid_after_patch(why: str) -> ApiError:
    """422 for a patch whose result is not an object of the kind; the API server names no object here."""
    cause = Cause.invalid("patch", "", why)
    causes = [{"reason": cause.reason, "message": cause.text, "field": cause.path}]
    return failure(422, "Invalid", f' "" is invalid: patch: {cause.text}', details={"causes": causes})
