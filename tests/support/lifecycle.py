"""What happens to machines and to their Nodes, as kubelets, controllers, people and Hetzner make it happen."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from reconciler.sandbox.exchange import Request
from reconciler.sandbox.hetzner import HetznerSimulator
from tests.support.objects import condition
from tests.support.stage import Stage

AT_ANY_AGE = ("--delete-min-age", "0s")
"""A Node of a test is a second old, and its age is the API server's to say."""
SERVER_LIST = "/v1/servers?page=1&per_page=50&sort=id:asc"
"""The question with which every pass begins."""
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
AUTOSCALER = "ToBeDeletedByClusterAutoscaler"
SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown"


def ago(**how_long: float) -> str:
    """A moment so long before now, as the API server writes times. Of a negative duration: one that is to come."""
    return (datetime.now(UTC) - timedelta(**how_long)).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_control_plane(node: dict[str, Any]) -> dict[str, Any]:
    """The Node, with the role of the control plane."""
    node["metadata"]["labels"][CONTROL_PLANE] = ""
    return node


def set_ready(stage: Stage, *names: str, ready: str, since: str | None = None) -> None:
    """The kubelet of each Node says something else, or kube-controller-manager does for it; by default just now."""
    for name in names:
        patch(stage, f"{name}/status", {"status": {"conditions": [condition("Ready", ready, since or ago(seconds=0))]}})


def cordon(stage: Stage, *names: str) -> None:
    """``kubectl cordon``."""
    for name in names:
        patch(stage, name, {"spec": {"unschedulable": True}})


def taint(stage: Stage, *names: str, key: str) -> None:
    """Add a taint as an autoscaler does."""
    for name in names:
        taints = [*stage.nodes()[name]["spec"].get("taints", []), {"key": key, "effect": "NoSchedule"}]
        patch(stage, name, {"spec": {"taints": taints}})


def taints(node: Mapping[str, Any]) -> set[str]:
    """The keys of a Node's taints."""
    return {found["key"] for found in node["spec"].get("taints", [])}


def register_again(stage: Stage, node: Mapping[str, Any]) -> None:
    """Another Node takes the name of one that is there."""
    status, answer = stage.cluster.request("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
    assert status == 200, answer
    stage.register(node)


def patch(stage: Stage, what: str, body: Mapping[str, Any]) -> None:
    """A merge patch of a Node, or of ``NAME/status``, past the fault proxy."""
    status, answer = stage.cluster.request("PATCH", f"/api/v1/nodes/{what}", body)
    assert status == 200, answer


def remove_servers(stage: Stage, *server_ids: int) -> None:
    """These servers are deleted."""
    _have(stage, [found for found in _servers(stage) if found["id"] not in server_ids])


def add_servers(stage: Stage, *servers: Mapping[str, Any]) -> None:
    """These servers are there as well."""
    _have(stage, [*_servers(stage), *servers])


def change_servers(stage: Stage, *server_ids: int, **changes: Any) -> None:
    """These servers are resized, renamed, switched off, attached or detached."""
    _have(stage, [found | (changes if found["id"] in server_ids else {}) for found in _servers(stage)])


def hetzner_says(project: HetznerSimulator, url: str) -> Any:
    """The body of what Hetzner answers to this question, ``SERVER_LIST`` for example, without anybody noticing."""
    return project.handle(Request.of("GET", url, headers={"Authorization": f"Bearer {HetznerSimulator.TOKEN}"})).body


def uids(stage: Stage) -> dict[str, str]:
    """Name → uid of the Nodes that are there: a Node that was deleted and registered again is another one."""
    return {name: node["metadata"]["uid"] for name, node in stage.nodes().items()}


def deletions(stage: Stage) -> list[str]:
    """The paths of the deletions that were sent to the API server, whatever became of them."""
    return [entry.path for entry in stage.proxy.journal.entries() if entry.method == "DELETE"]


def questions(stage: Stage) -> list[str]:
    """The paths of what Hetzner was asked about single servers."""
    return [path for path in stage.asked_hetzner() if path != "/v1/servers"]


def by_key(report: Mapping[str, Any]) -> dict[str, Any]:
    """Key → change of a report."""
    return {change["key"]: change for change in report["changes"]}


def notes(report: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Key and kind of each note of a report."""
    return {(note["key"], note["kind"]) for note in report["notes"]}


def _servers(stage: Stage) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = stage.project.world()["hetzner"]["servers"]
    return found


def _have(stage: Stage, servers: Sequence[Mapping[str, Any]]) -> None:
    """Make these the project's servers. Who is attached to a network is for them to say."""
    project = stage.project.world()["hetzner"]
    networks = [{**network, "servers": []} for network in project["networks"]]
    stage.project.replace_world({**project, "networks": networks, "servers": list(servers)})
