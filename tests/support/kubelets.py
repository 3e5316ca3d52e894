"""Fake kubelets: how kwok plays them, how their Nodes register, fall silent and come back.

kwok renews the Lease of each Node that has the label, and does what the stages below say; it creates no Node.
"""

import json
from collections.abc import Mapping
from typing import Any

from tests.support.objects import joining_node
from tests.support.stage import Stage

_LABEL, _ALIVE, _DEAD = "example.com/kubelet", "alive", "dead"
NODE_IP = "alpha.kubernetes.io/provided-node-ip"
"""The annotation of a kubelet that runs with ``--node-ip``."""
_ATTACHES = "volumes.kubernetes.io/controller-managed-attach-detach"
"""The annotation of a Node whose volumes kube-controller-manager attaches."""
_READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'
_HEALTHY = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
"""What a kubelet says of a Node. Not of its network: that is for who makes its routes to say."""
_CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def kwok_configuration(lease_s: int) -> str:
    """The file of kwok, for Leases that last so long; JSON documents, which are YAML."""
    configuration = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {
            "manageNodesWithLabelSelector": f"{_LABEL}={_ALIVE}",
            "nodeLeaseDurationSeconds": lease_s,
            "nodeLeaseParallelism": 16,
            "nodePlayStageParallelism": 16,
            "podPlayStageParallelism": 16,
        },
    }
    return "---\n".join(f"{json.dumps(each)}\n" for each in (configuration, *_STAGES))


def kubelet_node(name: str, node_ip: str, **labels: str) -> dict[str, Any]:
    """The Node of a machine with this private address, as its kubelet registers it."""
    node = joining_node(name)
    node["metadata"]["labels"] |= {_LABEL: _ALIVE, **labels}
    node["metadata"]["annotations"] |= {NODE_IP: node_ip, _ATTACHES: "true"}
    node["status"] |= {
        "addresses": [*node["status"]["addresses"], {"type": "InternalIP", "address": node_ip}],
        "capacity": _CAPACITY,
        "allocatable": _CAPACITY,
    }
    return node


def fall_silent(stage: Stage, name: str) -> None:
    """The kubelet stops, or its machine does: nothing renews the Lease, nobody looks after its pods."""
    stage.patch_node(name, {"metadata": {"labels": {_LABEL: _DEAD}}})


def come_back(stage: Stage, name: str) -> None:
    """The kubelet starts again on the Node that it left."""
    stage.patch_node(name, {"metadata": {"labels": {_LABEL: _ALIVE}}})
    status, listed = stage.cluster.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={name}")
    assert status == 200, listed
    for pod in listed["items"]:
        # kwok looks at a pod when something happens to it; a kubelet looks at all of them when it starts.
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        stage.cluster.request("PATCH", path, {"metadata": {"annotations": {"example.com/kubelet": "started"}}})


def _conditions(**statuses: str) -> str:
    return "conditions:\n" + "".join(
        f'- {{type: {kind}, status: "{status}", reason: Kubelet, message: as the kubelet says,'
        " lastTransitionTime: {{ Now | Quote }}}\n"
        for kind, status in statuses.items()
    )


_POD_RUNS = (
    _conditions(Initialized="True", ContainersReady="True", Ready="True")
    + """phase: Running
startTime: {{ Now | Quote }}
containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, imageID: "", ready: true, restartCount: 0,
   state: {running: {startedAt: {{ Now | Quote }}}}}
{{ end }}
{{ if not .status.podIP }}
{{ with PodIPsWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs:
- ip: {{ index . 0 | Quote }}
{{ end }}
{{ end }}
"""
)
"""Of a pod that has an address already no second one is written: the API server would refuse it, and all of this."""


def _stage(name: str, kind: str, chosen_by: Mapping[str, bool], becomes: Mapping[str, Any]) -> dict[str, Any]:
    """What is done to objects of this kind of which these keys exist, or do not, and that are not Ready."""
    exist = [{"key": key, "operator": "Exists" if there else "DoesNotExist"} for key, there in chosen_by.items()]
    unready = [] if "delete" in becomes else [{"key": _READY, "operator": "NotIn", "values": ["True"]}]
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": [*exist, *unready]},
            "next": dict(becomes),
        },
    }


_STAGES = (
    _stage("node-ready", "Node", {}, {"statusTemplate": _conditions(**_HEALTHY)}),
    _stage("pod-ready", "Pod", {".metadata.deletionTimestamp": False}, {"statusTemplate": _POD_RUNS}),
    _stage("pod-deleted", "Pod", {".metadata.deletionTimestamp": True}, {"delete": True}),
)
