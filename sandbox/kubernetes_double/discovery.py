"""Paths that describe the API or its health, as far as kubectl's ``get``, ``apply``, ``annotate`` and ``delete`` ask.

Of OpenAPI there is one fact: that writes of a kind take ``fieldValidation``. Where ``kubectl apply`` finds it, it
leaves the fields to the server and needs no schema; where it does not, it refuses to apply anything.
"""

from typing import Any

from hcloud_sandbox.exchange import Response
from kubernetes_double.errors import no_such_path
from kubernetes_double.resources import GROUPS, RESOURCES, Resource

_VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.3-sandbox", "platform": "linux/amd64"}
_TEXT = {"Content-Type": "text/plain; charset=utf-8"}
_PATCH_PARAMETERS = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]


def describe(path: str) -> Response:
    """The answer to GET of a path that is about no object. Raises ApiError 404 for an unknown one below an API."""
    path = path.rstrip("/") or "/"
    if path in ("/healthz", "/livez", "/readyz"):
        return Response(200, b"ok", _TEXT)
    groups = {name: _group(name) for name in GROUPS if name}
    answers: dict[str, Any] = {
        "/version": _VERSION,
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": list(groups.values())},
        "/openapi/v3": {"paths": {_root(name): {"serverRelativeURL": f"/openapi/v3/{_root(name)}"} for name in GROUPS}},
    }
    for name in GROUPS:
        rows = [row for resource in RESOURCES if resource.group == name for row in _rows(resource)]
        version = f"{name}/v1" if name else "v1"
        listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": rows}
        answers[f"/{_root(name)}"] = listed
        answers[f"/openapi/v3/{_root(name)}"] = _schema(name)
    if path in answers:
        return Response(200, answers[path])
    if path.startswith(("/api/", *(f"/apis/{name}/" for name in groups))):
        raise no_such_path()
    return Response(404, b"404 page not found\n", _TEXT)


def _root(group: str) -> str:
    return f"apis/{group}/v1" if group else "api/v1"


def _group(name: str) -> dict[str, Any]:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _rows(resource: Resource) -> list[dict[str, Any]]:
    row = {"name": resource.plural, "singularName": resource.kind.lower(), "namespaced": resource.namespaced}
    row |= {"kind": resource.kind, "verbs": list(resource.verbs), "shortNames": list(resource.short_names)}
    status = {"name": f"{resource.plural}/status", "singularName": "", "verbs": ["get", "patch", "update"]}
    return [row, *([{**row, **status, "shortNames": []}] if resource.has_status else [])]


def _schema(group: str) -> dict[str, Any]:
    paths = {}
    for resource in (resource for resource in RESOURCES if resource.group == group):
        kind = {"group": group, "kind": resource.kind, "version": "v1"}
        patch = {"x-kubernetes-group-version-kind": kind, "parameters": _PATCH_PARAMETERS, "responses": {}}
        where = "namespaces/{namespace}/" if resource.namespaced else ""
        paths[f"/{_root(group)}/{where}{resource.plural}/{{name}}"] = {
            "patch": {**patch, "x-kubernetes-action": "patch"}
        }
    info = {"title": "Kubernetes, simulated", "version": "v1"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}
