"""The cluster of a world in a real API server, and what kubelets and load balancers need to know of it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

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
    "volumeattachments": ("/apis/storage.k8s.io/v1", False),
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
        given: dict[str, str] = {}
        for section in _SECTIONS:
            for number, sent in enumerate(world.get("kubernetes", {}).get(section, ())):
                self._create(section, sent, f"kubernetes.{section}[{number}]", given)
        self.refresh()
        loaded: dict[str, Any] = _renamed(dict(world), given)
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

    def _create(self, section: str, sent: Any, where: str, given: dict[str, str]) -> None:
        """Create one object with its status. ``given`` is what stands for objects elsewhere in a world, before and now:
        UIDs, and the names that cloud controllers give to load balancers of Services; those of this one are added."""
        metadata = _metadata(sent, where)
        prefix, is_namespaced = _SECTIONS[section]
        name, namespace, uid = metadata["name"], str(metadata.get("namespace", "default")), metadata.get("uid")
        found = _renamed(_creatable(section, sent, metadata), given)
        if is_namespaced:
            prefix += f"/namespaces/{namespace}"
            if namespace not in ("default", "kube-system"):
                self._server.request("POST", f"{_CORE}/namespaces", {"metadata": {"name": namespace}})
        answer = self._server.request("POST", f"{prefix}/{section}", found)
        path = f"{prefix}/{section}/{name}"
        if answer.status == 409:  # the server makes some by itself, such as default/kubernetes
            part = {"metadata": {key: metadata[key] for key in ("labels", "annotations") if key in metadata}}
            answer = self._server.request("PATCH", path, part, _MERGE)
        if answer.status >= 300:
            why = answer.body.get("message") if isinstance(answer.body, dict) else answer.status
            raise ValueError(f"{where} is refused: {why}")
        if sent.get("status") and section != "nodes":  # a kubelet brings its Node's status along
            written_by = f"?fieldManager={quote(_status_manager(metadata), safe='')}"
            self._server.request("PATCH", f"{path}/status{written_by}", {"status": sent["status"]}, _MERGE)
        if metadata.get("deletionTimestamp"):
            self._server.request("DELETE", path)
        if uid:
            new = answer.body["metadata"]["uid"]
            given |= {uid: new, _balancer_name(uid): _balancer_name(new)}


def _metadata(sent: Any, where: str) -> Object:
    """The metadata of an object of a world. Raises ValueError."""
    metadata = sent.get("metadata") if isinstance(sent, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise ValueError(f"{where} has no metadata.name: give it one")  # noqa: TRY004 - one error for a bad world
    if not isinstance(metadata.get("uid", ""), str):
        raise ValueError(f"{where}: metadata.uid is {metadata['uid']!r}: give a text, or leave it out")  # noqa: TRY004
    return metadata


def _creatable(section: str, sent: Object, metadata: Object) -> Object:
    """An object without what the server gives by itself, and with what it demands and a captured world leaves out."""
    spec = sent.get("spec")
    if section == "services" and isinstance(spec, dict) and spec.get("clusterIP") != "None":
        spec = {key: value for key, value in spec.items() if key not in ("clusterIP", "clusterIPs")}
    if section in ("deployments", "daemonsets") and isinstance(spec or {}, dict):
        spec = _whole_workload(metadata["name"], spec or {})
    if section == "volumeattachments" and isinstance(spec or {}, dict):
        spec = {"attacher": "unknown", "source": {"persistentVolumeName": metadata["name"]}, **(spec or {})}
    kept = {key: value for key, value in metadata.items() if key not in _GIVEN_BY_THE_SERVER}
    return {**sent, "metadata": kept, **({} if spec is None else {"spec": spec})}


def _renamed(found: Any, given: Mapping[str, str]) -> Any:
    """A part of a world with each text that stands for an object as it is now. No text is changed in part: a short UID
    may be a piece of any other."""
    match found:
        case dict():
            return {key: _renamed(part, given) for key, part in found.items()}
        case list() | tuple():
            return [_renamed(part, given) for part in found]
        case str():
            return given.get(found, found)
    return found


def _balancer_name(uid: str) -> str:
    """The name of a Service's load balancer (k8s.io/cloud-provider, DefaultLoadBalancerName)."""
    return f"a{uid.replace('-', '')}"[:_NAME_LENGTH]


def _whole_workload(name: str, spec: Object) -> Object:
    """A Deployment's or DaemonSet's spec with what a captured world leaves out and the server demands."""
    template, labels = spec.get("template") or {}, (spec.get("selector") or {}).get("matchLabels") or {"app": name}
    pod, metadata = template.get("spec") or {}, template.get("metadata") or {}
    containers = [
        {"name": f"container-{number}", "image": "unknown", **each}
        for number, each in enumerate(pod.get("containers") or [{}])
    ]
    whole = {
        "metadata": {**metadata, "labels": {**labels, **metadata.get("labels", {})}},
        "spec": {**pod, "containers": containers},
    }
    return {**spec, "selector": spec.get("selector") or {"matchLabels": labels}, "template": whole}


def _status_manager(metadata: Object) -> str:
    """Who wrote the status, as the world says; the sandbox where it does not."""
    writers = [each["manager"] for each in metadata.get("managedFields", ()) if each.get("subresource") == "status"]
    return str(writers[-1]) if writers else "hcloud-sandbox"
