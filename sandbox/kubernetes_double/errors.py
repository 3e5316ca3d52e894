"""Refusals as the API server words them: one exception, and one function for each ``Status`` body.

It has texts and shapes only; when each of them is answered is decided by the modules with the rules.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hcloud_sandbox.exchange import Response
from kubernetes_double.resources import Resource

_TITLES: Mapping[str, str] = {
    "Invalid": "Invalid value",
    "Forbidden": "Forbidden",
    "Required": "Required value",
    "NotSupported": "Unsupported value",
    "Duplicate": "Duplicate value",
}


class ApiError(Exception):
    """A request that failed; ``response`` is the answer with its ``Status`` body."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"{response.status}: {response.body}")
        self.response = response


class Cause(NamedTuple):
    """One reason why an object is invalid. ``path`` is the field as the API server names it, ``spec.providerID``."""

    path: str
    reason: str
    """One of the reasons of a field value, ``Required``."""
    why: str = ""

    @classmethod
    def invalid(cls, path: str, value: Any, why: str) -> "Cause":
        """A value that breaks a rule."""
        return cls(path, "Invalid", f"{json.dumps(value)}: {why}")

    @property
    def text(self) -> str:
        """What is said of it."""
        return f"{_TITLES[self.reason]}: {self.why}" if self.why else _TITLES[self.reason]


def failure(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> ApiError:
    """The exception for a ``Status`` body with these parts. The API server leaves out an empty reason."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    body |= {"message": message, "reason": reason, "details": details, "code": code}
    return ApiError(Response(code, {name: part for name, part in body.items() if part not in ("", None)}))


def bad_request(message: str) -> ApiError:
    """400."""
    return failure(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    """403; ``why`` follows "is forbidden: "."""
    subject = f'{resource.qualified} "{name}"' if name else resource.qualified
    return failure(403, "Forbidden", f"{subject} is forbidden: {why}", _details(resource, name))


def not_found(resource: Resource, name: str) -> ApiError:
    """404 for an object."""
    return failure(404, "NotFound", f'{resource.qualified} "{name}" not found', _details(resource, name))


def no_such_path() -> ApiError:
    """404 for a path below a known API. It names no object, so that it is not taken for an absent one."""
    return failure(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> ApiError:
    """405."""
    return failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def already_exists(resource: Resource, name: str) -> ApiError:
    """409 for a name that is taken."""
    return failure(409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', _details(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    """409 for a write to another version or another object than meant."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return failure(409, "Conflict", message, _details(resource, name))


def failed_precondition(resource: Resource, name: str, field: str, wanted: str, actual: str) -> ApiError:
    """409 for a DELETE of another object than meant. Unlike everywhere else, the API server names the kind here."""
    what, perhaps = ("UID", "deleted and then recreated") if field == "uid" else ("ResourceVersion", "modified")
    why = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual})"
    message = f'Operation cannot be fulfilled on {_kind(resource)} "{name}": {why}. The object might have been '
    return failure(409, "Conflict", message + perhaps, {**_details(resource, name), "kind": resource.kind})


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 for an object that breaks rules; every broken rule is listed."""
    texts = [f"{cause.path}: {cause.text}" for cause in causes]
    all_of_them = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {**_details(resource, name), "kind": resource.kind, "causes": listed(causes)}
    return failure(422, "Invalid", f'{_kind(resource)} "{name}" is invalid: {all_of_them}', details)


def listed(causes: Sequence[Cause]) -> list[dict[str, str]]:
    """Causes as the ``details`` of a ``Status`` have them."""
    return [{"reason": f"FieldValue{each.reason}", "message": each.text, "field": each.path} for each in causes]


def broken(message: str) -> ApiError:
    """500, which the API server answers without a reason."""
    return failure(500, "", message)


def not_a_number(text: str, parse: str = "ParseUint") -> str:
    """What the API server says of a number that is none."""
    return f'strconv.{parse}: parsing "{text}": invalid syntax'


def _details(resource: Resource, name: str) -> dict[str, Any]:
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return {field: value for field, value in details.items() if value}


def _kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind
