"""Paths that describe the API or its health, as far as kubectl and the client libraries ask for them."""

from typing import Any

from hcloud_sandbox.exchange import Response
from kubernetes_double.openapi import openapi
from kubernetes_double.resources import GROUPS, RESOURCES, Resource
from kubernetes_double.status import no_such_path

_VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3-sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
_SERVED = ("/api/", *(f"/apis/{name}/" for name in GROUPS if name))
_TEXT = {"Content-Type": "text/plain; charset=utf-8"}


def describe(path: str) -> Response:
    """The answer to GET of a path that is about no object. Raises ApiError 404 for one that is not known."""
    path = path.rstrip("/") or "/"
    if path in ("/healthz", "/livez", "/readyz"):
        return Response(200, b"ok", _TEXT)
    answers: dict[str, Any] = {
        "/version": _VERSION,
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in GROUPS if name]},
    }
    for name in GROUPS:
        if name:
            answers[f"/apis/{name}"] = {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}
        answers[f"/apis/{name}/v1" if name else "/api/v1"] = _resource_list(name)
    if (document := openapi(path)) is not None:
        return Response(200, document)
    if path in answers:
        return Response(200, answers[path])
    if path.startswith(_SERVED):
        raise no_such_path()
    return Response(404, b"404 page not found\n", _TEXT)


def _group(name: str) -> dict[str, Any]:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _resource_list(group: str) -> dict[str, Any]:
    rows = [row for resource in RESOURCES if resource.group == group for row in _rows(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/v1" if group else "v1",
        "resources": rows,
    }


def _rows(resource: Resource) -> list[dict[str, Any]]:
    row: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    rows = [row]
    if resource.has_status:
        rows.append({
            "name": f"{resource.plural}/status",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": ["get", "patch", "update"],
        })  # fmt: skip
    return rows
