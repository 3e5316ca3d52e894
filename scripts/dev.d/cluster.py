"""The cluster itself: its API, and ``reconcile`` on this machine as its controller."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from home import Record
from saying import Problem, one_line, say

from actuators.http.errors import ApiError, NotFound
from actuators.http.kubeconfig import ConnectionProblem
from actuators.http.kubernetes import MERGE_PATCH, connect, segment
from actuators.http.retry import Patience, Retry
from desired.names import TAINT_UNINITIALIZED
from reconciler import __version__

_ROOT = Path(__file__).resolve().parents[2]
_VALUES = _ROOT / "deploy" / "dev" / "hcloud-reconciler.yaml"
_OURS = ("HCLOUD_", "ROBOT_", "RECONCILER_", "KUBE")
_SECRET = "/api/v1/namespaces/kube-system/secrets"  # noqa: S105 - a path
_DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"
_CONTROLLER = "hcloud-reconciler"


@dataclass(frozen=True, slots=True)
class NodeState:
    """What ``up`` waits for."""

    is_ready: bool
    is_initialized: bool


class Cluster:
    """The cluster of a kubeconfig, and what its controller has to know. Raises Problem when it cannot be addressed."""

    def __init__(self, kubeconfig: Path, *, endpoint: str, token: str, network_id: str, location: str) -> None:
        values = yaml.safe_load(_VALUES.read_text("utf-8"))
        self._secret = {"token": token, "network": network_id, "location": location}
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(_OURS)},
            "KUBECONFIG": str(kubeconfig),
            "HCLOUD_ENDPOINT": endpoint,
            "HCLOUD_TOKEN": token,
            "HCLOUD_NETWORK": network_id,
            "HCLOUD_LOAD_BALANCERS_LOCATION": location,
            "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": values["env"]["HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP"]["value"],
            "RECONCILER_CLUSTER_CIDR": values["networking"]["clusterCIDR"],
            "RECONCILER_LOAD_BALANCER_UNDO": values["args"]["load-balancer-undo"],
        }
        retry = Retry(threading.Event(), Patience(deadline_s=30))
        try:
            self._api = connect(
                str(kubeconfig),
                user_agent=f"hcloud-reconciler-dev/{__version__}",
                retry=retry,
                timeout_s=10,
                read_only=False,
            )
        except ConnectionProblem as problem:
            raise Problem(str(problem)) from problem

    def nodes(self) -> dict[str, NodeState]:
        """Name of each Node → its state. Raises Problem."""
        found = {}
        for node in self._list("/api/v1/nodes"):
            conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
            taints = [taint["key"] for taint in node["spec"].get("taints", ())]
            state = NodeState(conditions.get("Ready") == "True", TAINT_UNINITIALIZED not in taints)
            found[node["metadata"]["name"]] = state
        return found

    def require_own_nodes(self, record: Record) -> None:
        """Raises Problem when a Node is no server of this cluster: the kubeconfig may lead to another one."""
        if strangers := [name for name in self.nodes() if not record.is_server(name)]:
            raise Problem(f"its Node {one_line(min(strangers))} is no server of the cluster, so it may be another one")

    def balancer_services(self) -> list[tuple[str, str]]:
        """(namespace, name) of each Service of type LoadBalancer. Raises Problem."""
        return [
            (service["metadata"]["namespace"], service["metadata"]["name"])
            for service in self._list("/api/v1/services")
            if service["spec"].get("type") == "LoadBalancer"
        ]

    def delete_service(self, namespace: str, name: str) -> None:
        """Ask a Service to go; its finalizer may keep it for a while. Raises Problem."""
        self._send("DELETE", f"/api/v1/namespaces/{segment(namespace)}/services/{segment(name)}", missing_ok=True)

    def put_secret(self) -> None:
        """Secret ``hcloud``, which the chart's values refer to. Raises Problem."""
        data = {name: base64.b64encode(value.encode()).decode() for name, value in self._secret.items()}
        metadata = {"name": "hcloud", "namespace": "kube-system"}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        if self._send("PATCH", f"{_SECRET}/hcloud", {"data": data}, missing_ok=True) is None:
            self._send("POST", _SECRET, body)

    def stop_controller(self) -> None:
        """Scale the cluster's own controller to none, where it has one: two would wait for one Lease. Raises
        Problem."""
        for deployment in self._list(_DEPLOYMENTS):
            if deployment["metadata"]["name"] == _CONTROLLER and deployment["spec"].get("replicas", 1):
                say("scaling the controller in the cluster to 0; `scripts/dev image` brings it back")
                self._send("PATCH", f"{_DEPLOYMENTS}/{_CONTROLLER}", {"spec": {"replicas": 0}})

    def reconcile(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """How ``reconcile`` ended here, against this cluster; its output is kept."""
        return subprocess.run(
            reconcile_command(arguments), env=self.environment, capture_output=True, text=True, check=False
        )

    def _list(self, path: str) -> list[Mapping[str, Any]]:
        answer = self._send("GET", path)
        found: list[Mapping[str, Any]] = [] if answer is None else answer["items"]
        return found

    def _send(self, method: str, path: str, body: Any = None, *, missing_ok: bool = False) -> Mapping[str, Any] | None:
        """The decoded answer; None for an object that is not there. Raises Problem."""
        content_type = {"PATCH": MERGE_PATCH}.get(method, "application/json" if body is not None else None)
        try:
            answer: Mapping[str, Any] = json.loads(
                self._api.send(method, path, body=body, content_type=content_type).body
            )
        except NotFound as error:
            if missing_ok:
                return None
            raise Problem(str(error)) from error
        except ApiError as error:
            raise Problem(str(error)) from error
        return answer


def reconcile_command(arguments: Sequence[str]) -> list[str]:
    """The command line of ``reconcile`` from this checkout."""
    return [sys.executable, "-m", "reconciler", *arguments]
