"""Raw Deployments and DaemonSets, as far as anything is read of them."""

from typing import Any


def raw_workload(name: str, *images: str, namespace: str = "kube-system", **status: Any) -> dict[str, Any]:
    """A Deployment or a DaemonSet with these containers, each after one that only prepares."""
    containers = [{"name": f"c{place}", "image": image} for place, image in enumerate(images)]
    prepares = [{"name": "prepare", "image": "hetznercloud/hcloud-cloud-controller-manager:init"}]
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": {"containers": containers, "initContainers": prepares}}},
        "status": status,
    }
