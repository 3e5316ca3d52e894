"""The cluster itself: its API, and ``reconcile`` on this machine as its controller."""

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from home import Record
from saying import Problem, one_line, say

from actuators.http.errors import NotFound
from actuators.http.kubernetes import MERGE_PATCH, connect, segment
from actuators.http.retry import Patience, Retry
from desired.names import TAINT_UNINITIALIZED
from reconciler import __version__

_VALUES = Path(__file__).resolve().parents[2] / "deploy" / "dev" / "hcloud-reconciler.yaml"
_OURS = ("HCLOUD_", "ROBOT_", "RECONCILER_", "KUBE")
_SECRET = "/api/v1/namespaces/kube-system/secrets/hcloud"  # noqa: S105 - a path
_CONTROLLER = "/apis/apps/v1/namespaces/kube-system/deployments/hcloud-reconciler"
RECONCILE = (sys.executable, "-m", "reconciler")
"""The command line of ``reconcile`` from this checkout."""


class Cluster:
    """The cluster of a kubeconfig, and what its controller has to know. Raises ConnectionProblem when it cannot be
    addressed; its methods raise an ApiError. Both are one line."""

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
        }
        self._api = connect(
            str(kubeconfig),
            user_agent=f"hcloud-reconciler-dev/{__version__}",
            retry=Retry(threading.Event(), Patience(deadline_s=30)),
            timeout_s=10,
            read_only=False,
        )

    def nodes(self) -> dict[str, tuple[bool, bool]]:
        """Name of each Node → whether it is ready, and whether it is initialized."""
        found = {}
        for node in self._list("/api/v1/nodes"):
            conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
            taints = [taint["key"] for taint in node["spec"].get("taints", ())]
            found[node["metadata"]["name"]] = conditions.get("Ready") == "True", TAINT_UNINITIALIZED not in taints
        return found

    def require_own_nodes(self, record: Record) -> None:
        """Raises Problem when a Node is no server of this cluster: the kubeconfig may lead to another one."""
        if strangers := [name for name in self.nodes() if not record.is_server(name)]:
            raise Problem(f"its Node {one_line(min(strangers))} is no server of the cluster, so it may be another one")

    def balancer_services(self) -> list[tuple[str, str]]:
        """(namespace, name) of each Service of type LoadBalancer."""
        return [
            (service["metadata"]["namespace"], service["metadata"]["name"])
            for service in self._list("/api/v1/services")
            if service["spec"].get("type") == "LoadBalancer"
        ]

    def delete_service(self, namespace: str, name: str) -> None:
        """Ask a Service to go; its finalizer may keep it for a while."""
        self._change("DELETE", f"/api/v1/namespaces/{segment(namespace)}/services/{segment(name)}")

    def put_secret(self) -> None:
        """Secret ``hcloud``, which the chart's values refer to."""
        data = {name: base64.b64encode(value.encode()).decode() for name, value in self._secret.items()}
        metadata = {"name": "hcloud", "namespace": "kube-system"}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        if not self._change("PATCH", _SECRET, {"data": data}):
            self._api.send("POST", _SECRET.rpartition("/")[0], body=body, content_type="application/json")

    def stop_controller(self) -> None:
        """Scale the cluster's own controller to none, where it has one: two would wait for one Lease."""
        if self._change("PATCH", _CONTROLLER, {"spec": {"replicas": 0}}):
            say("the controller in the cluster is scaled to 0; `scripts/dev image` brings it back")

    def reconcile(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """How ``reconcile`` ended here, against this cluster; its output is kept."""
        return subprocess.run(
            [*RECONCILE, *arguments], env=self.environment, capture_output=True, text=True, check=False
        )

    def _list(self, path: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = json.loads(self._api.send("GET", path).body)["items"]
        return found

    def _change(self, method: str, path: str, body: Any = None) -> bool:
        """Whether the object is there."""
        try:
            self._api.send(method, path, body=body, content_type=MERGE_PATCH if body else None)
        except NotFound:
            return False
        return True
