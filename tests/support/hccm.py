"""HCCM as its chart, kube-hetzner, hetzner-k3s and others deploy it: raw workloads, and what is found of them."""

from collections.abc import Mapping, Sequence
from typing import Any

NAME = "hcloud-cloud-controller-manager"
IMAGE = f"docker.io/hetznercloud/{NAME}:v1.33.0"
ARGUMENTS = (
    "--allow-untagged-cloud",
    "--cloud-provider=hcloud",
    "--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true",
    "--route-reconciliation-period=30s",
    "--webhook-secure-port=0",
)
ROUTES = ("--allocate-node-cidrs=true", "--cluster-cidr=10.244.0.0/16")
ALONE = "--leader-elect=false"
TOLERATIONS = [
    {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
]


def from_secret(name: str, key: str, secret: str = "hcloud", **more: bool) -> dict[str, Any]:
    """A variable with this key of a Secret."""
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key, **more}}}


TOKEN = from_secret("HCLOUD_TOKEN", "token")
NETWORK = from_secret("HCLOUD_NETWORK", "network")
OF_ROBOT = [from_secret(f"ROBOT_{each}", f"robot-{each.lower()}", optional=True) for each in ("USER", "PASSWORD")]


def literal(**variables: str) -> list[dict[str, str]]:
    """Variables with these values."""
    return [{"name": name, "value": value} for name, value in variables.items()]


def raw_hccm(
    *arguments: str,
    env: Sequence[Mapping[str, Any]] = (TOKEN, *OF_ROBOT),
    kind: str = "Deployment",
    namespace: str = "kube-system",
    metadata: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
    ready: int = 1,
    **container: Any,
) -> dict[str, Any]:
    """The workload; without arguments those of HCCM's chart."""
    labels = {"app": NAME}
    one = {"name": NAME, "image": IMAGE, "args": list(arguments or (*ARGUMENTS, ALONE)), "env": list(env)}
    usual = {"dnsPolicy": "Default", "priorityClassName": "system-cluster-critical", "tolerations": TOLERATIONS}
    spec = {"containers": [one | container], **usual, **(pod or {})}
    template = {"metadata": {"labels": labels}, "spec": spec}
    replicas = {"replicas": 1} if kind == "Deployment" else {}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": NAME, "namespace": namespace, **(metadata or {})},
        "spec": {**replicas, "selector": {"matchLabels": labels}, "template": template},
        "status": {"readyReplicas": ready} if kind == "Deployment" else {"numberReady": ready},
    }


def of_helm(release: str = "hccm", namespace: str = "kube-system", **labels: str) -> dict[str, Any]:
    """Metadata of what Helm has made."""
    annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}
    return {"labels": {"app.kubernetes.io/managed-by": "Helm", **labels}, "annotations": annotations}
