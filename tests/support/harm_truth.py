"""The truth behind the law of harm: projects and clusters as they are, and what people want of them.

Nothing in here comes from the product: wishes are read from raw objects once more, so that it is not judged by itself.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from ipaddress import IPv4Network, ip_network
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from kubernetes_double import KubernetesSimulator
from tests.support.harm_metal import addresses_of_metal, metal_of
from tests.support.world import World, to_simulator

Raw = dict[str, Any]
SERVICE_LABEL = "hcloud-ccm/service-uid"
OWN_SERVICE_LABEL = "hcloud-reconciler/service-uid"
"""Of a Service of a class."""
CLUSTER_LABEL = "hcloud-reconciler/cluster-uid"
FORMER_LABEL = "hcloud-reconciler/service"
ANNOTATION = "load-balancer.hetzner.cloud/"
CLUSTER_CIDR = ip_network("10.244.0.0/16")
"""Of all clusters but those of strangers, as it is of clusters that are made from one template."""
OPTIONS = HetznerOptions(action_s=0.0, rate_limit=1_000_000, private_targets_at_detachment="refused")


@dataclass(frozen=True)
class Seen:
    """Everything as it was at one moment."""

    projects: Mapping[str, Raw]
    """Name → the Hetzner part of a world."""
    clusters: Mapping[str, Raw]
    """Name → the Kubernetes part."""
    account: tuple[Raw, ...] = ()
    """Servers of the Robot account of the clusters."""
    deaf: frozenset[int] = frozenset()
    """Machines that run, and on which nothing answers."""

    @cached_property
    def metal(self) -> Mapping[int, Raw]:
        """Number → dedicated server."""
        return {each["server_number"]: each for each in self.account}

    @cached_property
    def metal_at(self) -> Mapping[str, int]:
        """Address → number of the dedicated server that has it."""
        return {address: number for number, each in self.metal.items() for address in addresses_of_metal(each)}

    @cached_property
    def servers(self) -> Mapping[str, Mapping[int, Raw]]:
        return {name: {each["id"]: each for each in world["servers"]} for name, world in self.projects.items()}

    @cached_property
    def balancers(self) -> Mapping[str, Mapping[int, Raw]]:
        return {name: {each["id"]: each for each in world["load_balancers"]} for name, world in self.projects.items()}

    @cached_property
    def nodes(self) -> Mapping[str, Mapping[str, Raw]]:
        return {
            name: {each["metadata"]["name"]: each for each in world.get("nodes", [])}
            for name, world in self.clusters.items()
        }

    @cached_property
    def services(self) -> Mapping[str, Mapping[str, Raw]]:
        return {
            name: {id_of(each): each for each in world.get("services", [])} for name, world in self.clusters.items()
        }

    def routes(self, project: str) -> Mapping[tuple[int, str], str]:
        """Network and destination → gateway."""
        return {
            (network["id"], route["destination"]): route["gateway"]
            for network in self.projects[project]["networks"]
            for route in network["routes"]
        }

    def uid(self, cluster: str) -> str:
        """Who the cluster says that it is."""
        found = (each for each in self.clusters[cluster]["namespaces"] if each["metadata"]["name"] == "kube-system")
        return str(next(found)["metadata"]["uid"])

    def approvals_used(self, cluster: str) -> frozenset[tuple[str, str]]:
        """Hash and time of each use of an approval, by all records; a record that was garbled tells of none."""
        listed = self.clusters[cluster].get("configmaps", [])
        texts = (each.get("data", {}).get("record", "") for each in listed)
        return frozenset((use["of"], use["used_at"]) for text in texts for use in _uses_in(text))


def _uses_in(record: str) -> Sequence[Raw]:
    try:
        uses: Sequence[Raw] = json.loads(record)["uses"]
    except (ValueError, KeyError):
        return ()
    return uses


DELETED_SERVER = ("hcloud-server-deleted", "NoExecute")
"""Value and effect of the out-of-service taint that a controller may write."""
OWN_CLASS = "hcloud-reconciler/load-balancer"


def id_of(service: Mapping[str, Any]) -> str:
    return f"{service['metadata']['namespace']}/{service['metadata']['name']}"


def is_wanted(service: Mapping[str, Any] | None) -> bool:
    """Whether somebody wants a load balancer for the Service."""
    if service is None:
        return False
    if service["spec"].get("loadBalancerClass", OWN_CLASS) != OWN_CLASS:
        return False
    return service["spec"].get("type") == "LoadBalancer" and "deletionTimestamp" not in service["metadata"]


def service_uid(labels: Mapping[str, str]) -> str | None:
    """The Service of which labels of a load balancer say that it is its; None where they name none."""
    return labels.get(SERVICE_LABEL, labels.get(OWN_SERVICE_LABEL))


def option(service: Mapping[str, Any], name: str) -> str | None:
    found = service["metadata"].get("annotations", {}).get(f"{ANNOTATION}{name}")
    return None if found is None else str(found)


def published(service: Mapping[str, Any]) -> frozenset[str]:
    ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress") or []
    return frozenset(each["ip"] for each in ingress if "ip" in each)


def addresses_of(balancer: Mapping[str, Any]) -> frozenset[str]:
    public = [balancer["public_net"][family]["ip"] for family in ("ipv4", "ipv6")]
    return frozenset(filter(None, [*public, *(place["ip"] for place in balancer["private_net"])]))


def server_of(node: Mapping[str, Any]) -> int | None:
    """Id of the server that the Node is; None when it is none of Hetzner Cloud."""
    number = str(node["spec"].get("providerID", "")).removeprefix("hcloud://")
    return int(number) if number.isdigit() else None


def machine_of(node: Mapping[str, Any]) -> int | None:
    """Id or number of the server that the Node is, of either provider."""
    return server_of(node) or metal_of(node)


def pods_of(node: Mapping[str, Any]) -> str | None:
    found = node["spec"].get("podCIDRs") or [node["spec"].get("podCIDR")]
    return next((each for each in found if each and ":" not in each), None)


def is_ready(node: Mapping[str, Any]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", []))


def is_joining(node: Mapping[str, Any]) -> bool:
    """Whether the Node waits to be initialized."""
    return any(each["key"].endswith("/uninitialized") for each in node["spec"].get("taints", []))


def may_serve(node: Mapping[str, Any], service: Mapping[str, Any]) -> bool:
    """Whether the Node is meant to get traffic of the Service, beyond any doubt."""
    metadata, taints = node["metadata"], {each["key"] for each in node["spec"].get("taints", [])}
    if "deletionTimestamp" in metadata or "ToBeDeletedByClusterAutoscaler" in taints:
        return False
    if "node.kubernetes.io/exclude-from-external-load-balancers" in metadata.get("labels", {}):
        return False
    key, _, value = (option(service, "node-selector") or "").partition("=")
    return not key or metadata.get("labels", {}).get(key) == value


def is_attached(cluster: Mapping[str, Any], node: str) -> bool:
    """Whether a volume is attached to the Node of this name, in the Kubernetes part of a world."""
    return any(each["spec"]["nodeName"] == node for each in cluster.get("volumeattachments", ()))


def out_of_service(node: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Value and effect of each out-of-service taint."""
    taints = node["spec"].get("taints", [])
    return {
        (each.get("value", ""), each["effect"]) for each in taints if each["key"] == "node.kubernetes.io/out-of-service"
    }


def out_of_service_since(node: Mapping[str, Any]) -> datetime | None:
    """When a controller tainted the Node as one of a deleted server; None where it has not, or does not say."""
    taints = node["spec"].get("taints", [])
    found = (each.get("timeAdded") for each in taints if (each.get("value"), each["effect"]) == DELETED_SERVER)
    return next((datetime.fromisoformat(each) for each in found if each), None)


def target_servers(balancer: Mapping[str, Any]) -> frozenset[int]:
    return frozenset(each["server"]["id"] for each in balancer["targets"] if each["type"] == "server")


def reached_servers(balancer: Mapping[str, Any], servers: Mapping[int, Raw]) -> frozenset[int]:
    """Ids of the servers that are there and targets, and have not left the network through which they are reached."""
    networks = {place["network"] for place in balancer["private_net"]}
    private = {
        each["server"]["id"] for each in balancer["targets"] if each["type"] == "server" and each["use_private_ip"]
    }
    return frozenset(
        each
        for each in target_servers(balancer) & servers.keys()
        if each not in private or networks & {place["network"] for place in servers[each]["private_net"]}
    )


def target_addresses(balancer: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(each["ip"]["ip"] for each in balancer["targets"] if each["type"] == "ip")


def other_targets(balancer: Mapping[str, Any]) -> frozenset[str]:
    """Addresses and label selectors that are targets."""
    return frozenset(
        each["ip"]["ip"] if each["type"] == "ip" else each["label_selector"]["selector"]
        for each in balancer["targets"]
        if each["type"] != "server"
    )


def private_ip(server: Mapping[str, Any], network: int) -> str | None:
    return next((str(each["ip"]) for each in server["private_net"] if each["network"] == network), None)


def is_inside(destination: str) -> bool:
    """Whether a route leads to pods of the clusters' own range."""
    found = ip_network(destination)
    return isinstance(found, IPv4Network) and isinstance(CLUSTER_CIDR, IPv4Network) and found.subnet_of(CLUSTER_CIDR)


@dataclass
class Cluster(World):
    """A cluster, or a copy of one, with the project that its servers are in, in truth. Whoever acts in it may be
    refused: steps are drawn, and some come too late."""

    name: str
    home: str
    """Name of the project."""
    kubernetes: KubernetesSimulator
    project: HetznerSimulator
    clock: SimulatedClock
    is_copy: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    touched: Callable[[str], object] = lambda _: None
    """Told of each part of the truth in which something may have happened."""
    may_be_refused: Collection[int] = range(400, 600)

    def to_cluster(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        if method != "GET":
            self.touched(f"cluster {self.name}")
        return to_simulator(self.kubernetes, method, path, body)

    def to_project(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        if method != "GET":
            self.touched(f"project {self.home}")
        return super().to_project(method, path, body)


@dataclass
class Truth:
    """The simulators."""

    clock: SimulatedClock
    projects: dict[str, HetznerSimulator]
    clusters: dict[str, Cluster]
    robot: RobotSimulator | None = None
    """The Robot account of the clusters; None where they have none."""
    deaf: frozenset[int] = frozenset()
    """Machines that run, and on which nothing answers."""

    _known: dict[str, Raw] = field(default_factory=dict)
    """What was looked at and is as it was: looking costs as much as what it looks for."""

    def seen(self) -> Seen:
        known = self._known
        for name, project in self.projects.items():
            if f"project {name}" not in known:
                known[f"project {name}"] = project.world()["hetzner"]
        for name, cluster in self.clusters.items():
            if f"cluster {name}" not in known:
                known[f"cluster {name}"] = cluster.kubernetes.world()["kubernetes"]
        account = self.robot.world()["robot"]["servers"] if self.robot else ()
        return Seen(
            {name: known[f"project {name}"] for name in self.projects},
            {name: known[f"cluster {name}"] for name in self.clusters},
            tuple(account),
            self.deaf,
        )

    def changed(self) -> None:
        """Somebody has changed something since anybody looked."""
        self._known.clear()

    def add(self, cluster: Cluster) -> None:
        """There is one more cluster."""
        cluster.touched = lambda part: self._known.pop(part, None)
        self.clusters[cluster.name] = cluster


def wishes(seen: Seen, truth: Mapping[str, Cluster], project: str) -> Iterator[tuple[str, Raw, Raw | None]]:
    """Cluster, Service and its load balancer in the project: of every Service of a cluster that is no copy for which
    somebody wants one."""
    for name, cluster in truth.items():
        if cluster.is_copy or cluster.home != project:
            continue
        for service in seen.services[name].values():
            if is_wanted(service):
                yield name, service, balancer_of(seen, project, service, seen.uid(name))


def balancer_of(seen: Seen, project: str, service: Mapping[str, Any], cluster_uid: str) -> Raw | None:
    """The load balancer with the Service's label; of several the published one."""
    uid, now = service["metadata"]["uid"], published(service)
    found = [
        each
        for each in seen.balancers[project].values()
        if service_uid(each["labels"]) == uid and each["labels"].get(CLUSTER_LABEL, cluster_uid) == cluster_uid
    ]
    return next((each for each in found if addresses_of(each) & now), found[0] if found else None)


def awaiting(seen: Seen, project: str, service: Mapping[str, Any], cluster_uid: str) -> Iterator[Raw]:
    """The load balancers that were released with the Service, while it has none."""
    if balancer_of(seen, project, service, cluster_uid):
        return
    former = id_of(service).replace("/", ".")
    for found in seen.balancers[project].values():
        labels = found["labels"]
        is_its_own = (labels.get(FORMER_LABEL), labels.get(CLUSTER_LABEL)) == (former, cluster_uid)
        if service_uid(labels) is None and is_its_own and option(service, "name") in (None, found["name"]):
            yield found
