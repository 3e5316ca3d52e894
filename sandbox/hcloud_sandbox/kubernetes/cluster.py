"""The cluster of a world in a real API server, and what kubelets and load balancers need to know of it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hcloud_sandbox.exchange import Response
from hcloud_sandbox.kubernetes.api_server import ApiServer
from hcloud_sandbox.worlds import check_file

Object = dict[str, Any]

_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_CORE, _APPS = "/api/v1", "/apis/apps/v1"
_SECTIONS: Mapping[str, tuple[str, bool]] = {
    "namespaces": (_CORE, False),
    "nodes": (_CORE, False),
    "services": (_CORE, True),
    "configmaps": (_CORE, True),
    "leases": ("/apis/coordination.k8s.io/v1", True),
    "deployments": (_APPS, True),
    "daemonsets": (_APPS, True),
    "events": (_CORE, True),
}
"""Section of a world file → where its objects are, and whether in a namespace. What others point at comes first."""
_GIVEN_BY_THE_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
)
_NAME_LENGTH = 32


class Cluster:
    """What kubelets see of an API server, as of the last ``refresh``."""

    worlds = 1
    """It has had one world, and keeps it: what a person does is not undone by another."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._nodes: list[Object] = []
        self._services: list[Object] = []

    def load(self, world: Mapping[str, Any]) -> dict[str, Any]:
        """Create all that a world file has in its part ``kubernetes``. The answer is the world with the UIDs that the
        server gave in place of the file's: by them, load balancers know their Services.

        Versions, times and Services' cluster addresses are the server's as well. Raises ValueError that names the
        object that is refused, OSError when the server does not answer.
        """
        check_file(world)
        text = json.dumps(world)
        for section in _SECTIONS:
            for number in range(len(world.get("kubernetes", {}).get(section, ()))):
                sent = json.loads(text)["kubernetes"][section][number]
                given = self._create(section, sent, f"kubernetes.{section}[{number}]")
                for old, new in _renamed(sent["metadata"].get("uid"), given):
                    text = text.replace(old, new)
        self.refresh()
        loaded: dict[str, Any] = json.loads(text)
        return loaded

    def refresh(self) -> None:
        """Look again. What cannot be read stays as it was: a server that is busy has not lost its Nodes."""
        try:
            nodes, services = (self._server.request("GET", f"{_CORE}/{plural}") for plural in ("nodes", "services"))
        except OSError:
            return
        if nodes.status == services.status == 200:
            self._nodes, self._services = nodes.body["items"], services.body["items"]

    def nodes(self) -> list[Object]:
        """All Nodes; for reading only."""
        return self._nodes

    def families_of(self, node_port: int) -> frozenset[int]:
        """The versions of IP for which kube-proxy opens this port on the Nodes; empty where no Service has it."""
        return frozenset(
            6 if family == "IPv6" else 4
            for service in self._services
            if any(port.get("nodePort") == node_port for port in service["spec"].get("ports", ()))
            for family in service["spec"].get("ipFamilies", ())
        )

    def act(self, method: str, path: str, body: Any) -> Response:
        """A POST, or a strategic PATCH, by the cluster's own components; 503 when the server does not answer."""
        try:
            return self._server.request(method, path, body, _STRATEGIC if method == "PATCH" else "application/json")
        except OSError:
            return Response(503)

    def _create(self, section: str, sent: Any, where: str) -> str:
        """Create one object with its status; the UID that it got."""
        prefix, is_namespaced = _SECTIONS[section]
        metadata = sent.get("metadata") if isinstance(sent, dict) else None
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise ValueError(f"{where} has no metadata.name: give it one")  # noqa: TRY004 - one error for a bad world
        name, namespace = metadata["name"], str(metadata.get("namespace", "default"))
        kept = {key: value for key, value in metadata.items() if key not in _GIVEN_BY_THE_SERVER}
        found = {**sent, "metadata": kept}
        if section == "services" and sent.get("spec", {}).get("clusterIP") != "None":
            found["spec"] = {k: v for k, v in sent.get("spec", {}).items() if k not in ("clusterIP", "clusterIPs")}
        if is_namespaced:
            prefix += f"/namespaces/{namespace}"
            if namespace not in ("default", "kube-system"):
                self._server.request("POST", f"{_CORE}/namespaces", {"metadata": {"name": namespace}})
        answer = self._server.request("POST", f"{prefix}/{section}", found)
        path = f"{prefix}/{section}/{name}"
        if answer.status == 409:  # the server makes some by itself, such as default/kubernetes
            part = {"metadata": {key: kept[key] for key in ("labels", "annotations") if key in kept}}
            answer = self._server.request("PATCH", path, part, _MERGE)
        if (
            answer.status < 300 and sent.get("status") and section != "nodes"
        ):  # a kubelet brings its Node's status along
            self._server.request("PATCH", f"{path}/status", {"status": sent["status"]}, _MERGE)
        if answer.status < 300 and metadata.get("deletionTimestamp"):
            self._server.request("DELETE", path)
        if answer.status >= 300:
            why = answer.body.get("message") if isinstance(answer.body, dict) else answer.status
            raise ValueError(f"{where}: {section} {namespace}/{name} is refused: {why}")
        uid: str = answer.body["metadata"]["uid"]
        return uid


def _renamed(old: str | None, new: str) -> Iterator[tuple[str, str]]:
    """What stands for an object elsewhere in a world, before and now: its UID, and the name that cloud controllers give
    to the load balancer of a Service (k8s.io/cloud-provider, DefaultLoadBalancerName)."""
    if old:
        yield old, new
        yield _balancer_name(old), _balancer_name(new)


def _balancer_name(uid: str) -> str:
    return f"a{uid.replace('-', '')}"[:_NAME_LENGTH]
