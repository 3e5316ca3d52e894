"""Parsing of requests: the object or collection in the path, the verb, the options, the body."""

import json
from dataclasses import dataclass
from typing import Any

from hcloud_sandbox.exchange import Request
from kubernetes_double.protobuf import MEDIA_TYPE, read_object
from kubernetes_double.resources import Resource, resource_for
from kubernetes_double.status import (
    bad_request,
    method_not_allowed,
    no_such_path,
    not_acceptable,
    unknown_dry_run,
    unsupported_body,
)
from kubernetes_double.store import Key

_JSON = ("application/json", "application/*", "*/*")
_TABLE = ("table", "meta.k8s.io", "v1")
_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names: an object, or (without a name) a collection."""

    key: Key
    subresource: str

    @property
    def resource(self) -> Resource:
        """The object's kind."""
        return self.key.resource


def target_of(path: str) -> Target | None:
    """What a path names, or None for a path about the API. Raises ApiError 404 for a kind that is not served."""
    match path.strip("/").split("/"):
        case ["api", "v1", first, *rest]:
            group, parts = "", [first, *rest]
        case ["apis", group, "v1", first, *rest]:
            parts = [first, *rest]
        case _:
            return None
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] != "status":
        namespace, parts = parts[1], parts[2:]
    resource = resource_for(group, parts[0])
    name = parts[1] if len(parts) > 1 else ""
    subresource = "/".join(parts[2:])
    if (
        resource is None
        or (namespace and not resource.namespaced)
        or (name and resource.namespaced and not namespace)
        or (subresource and not (resource.has_status and subresource == "status"))
    ):
        raise no_such_path()
    return Target(Key(resource, namespace, name), subresource)


def verb_of(request: Request, target: Target) -> str:
    """The verb by which access is granted. Raises ApiError 405 for a method that the path does not have."""
    if request.method == "GET":
        if target.key.name:
            return "get"
        return "watch" if request.first("watch") in ("true", "1") else "list"
    if request.method not in _WRITES or (target.subresource and request.method in ("POST", "DELETE")):
        raise method_not_allowed()
    if request.method == "POST" and target.resource.namespaced and not target.key.namespace:
        raise method_not_allowed()
    return _WRITES[request.method]


def media_type(request: Request) -> str:
    """The content type without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def wants_table(request: Request) -> bool:
    """Whether the client would rather have a table than objects. Raises ApiError 406 when it takes nothing served."""
    asked = [clause.strip().lower() for clause in request.headers.get("accept", "").split(",") if clause.strip()]
    for clause in asked:
        media, *parameters = (part.strip() for part in clause.split(";"))
        given = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
        form = tuple(given.get(name) for name in ("as", "g", "v"))
        if media in _JSON and (form[0] is None or form == _TABLE):
            return form == _TABLE
    if asked:
        raise not_acceptable()
    return False


def object_body(request: Request) -> Any:
    """The object in the body of a POST or PUT. Raises ApiError 400 for what cannot be read, 415 for another format."""
    kind = media_type(request)
    if kind in ("", "application/json"):
        return json_body(request)
    if kind != MEDIA_TYPE:
        raise unsupported_body()
    try:
        return read_object(request.body)
    except ValueError as wrong:
        raise bad_request(str(wrong)) from None


def is_dry_run(request: Request) -> bool:
    """Whether the query asks for a dry run. Raises ApiError 422 for a value that is not known."""
    asked = request.first("dryRun")
    if asked and asked != "All":
        raise unknown_dry_run(_WRITES[request.method], asked)
    return asked == "All"


def json_body(request: Request) -> Any:
    """The body. Raises ApiError 400 for one that is not JSON."""
    try:
        return json.loads(request.body)
    except ValueError as wrong:
        raise bad_request(f"couldn't get version/kind; json parse error: {wrong}") from None
