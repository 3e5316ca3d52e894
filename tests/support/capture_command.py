"""A small world with something of everything, and the commands that capture it and plan from the file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from desired.names import LABEL_SERVICE_UID
from kubernetes_double import KubernetesSimulator
from tests.support.explain_command import TOKENS, VIEWER
from tests.support.objects import joining_node, server, settled_node
from tests.support.said import CommandLine, Said
from tests.support.simulators import READ_ONLY_TOKEN, Simulation

UID = "0a0b0c0d-0000-4000-8000-000000000000"
NETWORK = {
    "id": 7,
    "name": "net",
    "ip_range": "10.0.0.0/16",
    "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}],
    "routes": [{"destination": "10.244.3.0/24", "gateway": "10.0.0.99"}],
    "labels": {"team": "secret"},
}
PROJECT: Mapping[str, list[dict[str, Any]]] = {
    "servers": [server(1, "web-1", private_net=[{"network": 7, "ip": "10.0.0.2"}]), server(2, "web-2")],
    "networks": [NETWORK],
    "load_balancers": [
        {
            "id": 40,
            "name": "lb",
            "labels": {LABEL_SERVICE_UID: UID},
            "services": [{"listen_port": 80, "destination_port": 30080}],
            "targets": [{"type": "server", "server": {"id": 1}}],
            "private_net": [{"network": 7, "ip": "10.0.0.100"}],
        }
    ],
    "certificates": [{"id": 5, "name": "shop"}],
    "primary_ips": [{"id": 20, "name": "mail", "labels": {"team": "secret"}}, {"id": 21, "name": "unasked"}],
}
SETTINGS = {"HCLOUD_NETWORK": "net", "HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1"}
FLAGS = ("--cluster-cidr", "10.244.0.0/16")


def nodes() -> list[dict[str, Any]]:
    """One that is settled but for its route, one that joins, and two whose servers are gone."""
    routed = settled_node("web-1", 1)
    routed["spec"]["podCIDRs"] = ["10.244.1.0/24"]
    routed["metadata"]["annotations"]["example.com/password"] = "secret"
    gone = [settled_node(f"lost-{number}", number, "Unknown") for number in (8, 9)]
    return [routed, joining_node("web-2"), *gone]


def services() -> list[dict[str, Any]]:
    """One that is served, one of another type, and one that asks for a Primary IP and a type that no load balancer
    has."""
    spec = {"type": "LoadBalancer", "ports": [{"name": "a", "port": 80, "nodePort": 30080}]}
    wishes = {
        "load-balancer.hetzner.cloud/type": "lb21",
        "load-balancer.hetzner.cloud/public-net-ipv4": "mail",
        "kubectl.kubernetes.io/last-applied-configuration": "secret",
    }
    return [
        {"metadata": {"name": "web", "namespace": "shop", "uid": UID}, "spec": spec},
        {"metadata": {"name": "db", "namespace": "shop"}, "spec": {"type": "ClusterIP", "ports": [{"port": 5432}]}},
        {
            "metadata": {"name": "mail", "namespace": "shop", "annotations": wishes},
            "spec": {**spec, "ports": [{"name": "a", "port": 25, "nodePort": 30025}]},
        },
    ]


def workloads(name: str, image: str) -> list[dict[str, Any]]:
    """A Deployment in the Lease's namespace that has run since ever."""
    pod = {"containers": [{"name": "c", "image": image, "env": [{"name": "PASSWORD", "value": "secret"}]}]}
    spec = {"template": {"spec": pod}}
    return [{"metadata": {"name": name, "namespace": "kube-system"}, "spec": spec, "status": {"readyReplicas": 1}}]


def an_attachment(name: str, node: str) -> dict[str, Any]:
    """A volume that is attached to a Node."""
    spec = {"attacher": "csi.hetzner.cloud", "nodeName": node, "source": {"persistentVolumeName": "secret"}}
    return {"metadata": {"name": name}, "spec": spec, "status": {"attached": True}}


def a_world(
    simulate: Callable[..., Simulation],
    tokens: Mapping[str, Any] = TOKENS,
    *,
    more: int = 0,
    robot: list[dict[str, Any]] | None = None,
) -> Simulation:
    """The world on its ports, with this right of each token of the API server, and ``more`` Nodes that join, their
    servers, and up to 120 load balancers; with a Robot account that has these servers, and a Node that joins on each
    and one whose server is gone."""
    numbers = range(100, 100 + more)
    others = [joining_node(f"more-{number}") for number in numbers]
    machines = [*PROJECT["servers"], *(server(number, f"more-{number}") for number in numbers)]
    balancers = [*PROJECT["load_balancers"], *({"id": number, "name": f"more-{number}"} for number in numbers[:120])]
    project = {**PROJECT, "servers": machines, "load_balancers": balancers}
    sim = simulate(project=project, kubernetes_tokens=tokens, robot=robot)
    if robot is not None:
        gone = settled_node("db-9", 9, "Unknown")
        gone["spec"]["providerID"] = "hrobot://9"
        others += [*(joining_node(each["server_name"]) for each in robot), gone]
    own = {
        "metadata": {"name": "hcloud-reconciler", "namespace": "kube-system"},
        "data": {"status": "a status, secret"},
    }
    identity = {"metadata": {"name": "kube-system", "uid": "11111111-2222-3333-4444-555555555555"}}
    sim.kubernetes.replace_world(
        {
            "nodes": [*nodes(), *others],
            "services": services(),
            "namespaces": [identity],
            "configmaps": [own],
            "deployments": workloads("hccm", "mirror.example.com/secret/hcloud-cloud-controller-manager:v1.30.0"),
            "volumeattachments": [an_attachment("csi-1", "lost-8"), an_attachment("csi-2", "web-1")],
        }
    )
    sim.kubernetes_proxy.journal.clear()
    return sim


@dataclass
class Shell:
    """Runs commands as a person does who may only read."""

    sim: Simulation
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str, **variables: str) -> Said:
        reach = {"HCLOUD_TOKEN": READ_ONLY_TOKEN, "HCLOUD_ENDPOINT": self.sim.endpoint}
        reach["KUBECONFIG"] = str(self.sim.kubeconfig(VIEWER))
        return self.offline(*words, **reach, **variables)

    def offline(self, *words: str, **variables: str) -> Said:
        return CommandLine(self.monkeypatch, self.capsys, {**SETTINGS, "KUBECONFIG": "/nowhere"})(*words, **variables)


SECRETS = ("secret", READ_ONLY_TOKEN, VIEWER, KubernetesSimulator.TOKEN, "BEGIN CERTIFICATE")
"""What may not be in a file that was captured of this world."""
