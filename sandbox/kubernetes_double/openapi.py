"""OpenAPI, as far as ``kubectl create`` and ``kubectl apply`` ask for it: which kinds the server validates by itself.

They look up whether writes of a kind take ``fieldValidation``; if so they leave the fields to the server, and need no
schema. Known difference from the real server: there are no schemas, and unknown fields are kept whatever a client asks.
"""

from typing import Any

from kubernetes_double.resources import GROUPS, RESOURCES, Resource

_INDEX = "/openapi/v3"
_FIELD_VALIDATION = {
    "name": "fieldValidation",
    "in": "query",
    "description": "accepted and without effect: a sandbox keeps unknown fields",
    "schema": {"type": "string", "uniqueItems": True},
}


def openapi(path: str) -> dict[str, Any] | None:
    """The answer to GET of a path of OpenAPI v3; None for any other path."""
    served = {_path_of(group): group for group in GROUPS}
    if path == _INDEX:
        return {"paths": {name: {"serverRelativeURL": f"{_INDEX}/{name}"} for name in served}}
    group = served.get(path.removeprefix(f"{_INDEX}/"))
    return None if group is None else _document(group)


def _path_of(group: str) -> str:
    return f"apis/{group}/v1" if group else "api/v1"


def _document(group: str) -> dict[str, Any]:
    info = {"title": "Kubernetes, simulated", "version": "v1"}
    paths = {
        f"/{_path_of(group)}/{'namespaces/{namespace}/' * row.namespaced}{row.plural}/{{name}}": {"patch": _patch(row)}
        for row in RESOURCES
        if row.group == group
    }
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}


def _patch(resource: Resource) -> dict[str, Any]:
    kind = {"group": resource.group, "kind": resource.kind, "version": "v1"}
    operation = {"x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind}
    return {**operation, "parameters": [_FIELD_VALIDATION], "responses": {"200": {"description": "OK"}}}
