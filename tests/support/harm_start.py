"""What the worlds of the law of harm begin with: clusters, projects, strangers in them, and dedicated servers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from desired.model.settings import Settings
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.robot import RobotSimulator
from kubernetes_double import KubernetesSimulator
from tests.support.harm_metal import METAL, inside, metal
from tests.support.harm_truth import ANNOTATION, CLUSTER_CIDR, CLUSTER_LABEL, SERVICE_LABEL, Cluster, Raw, Truth
from tests.support.objects import server, settled_node
from tests.support.world import settings_of

HOME, ELSEWHERE = "home", "elsewhere"
NETWORK, OTHER_NETWORK = 7, 17
NAT, GUEST = 80, 81
"""Servers of strangers in the network: the way out, and one that nobody knows."""
NAT_IP, GUEST_IP = "10.0.0.250", "10.0.0.251"
FREE_IP, RACK_IP = "10.0.0.230", "10.1.0.5"
"""Addresses that nobody has, and that a machine in a rack has."""
CERTIFICATE = 77
"""A certificate that somebody uploaded."""
SHOP, EMPTY, THEIRS, IDLE = 90, 91, 92, 93
"""Load balancers of strangers: one in use, one that Terraform made for a Service, one of another cluster, and one that
listens and leads nowhere yet."""
FIRST = {"a": 1, "b": 31}
"""Cluster → number of its first Node, which its server and its pods have as well."""
NAMESPACE = "kube-system"


@dataclass(frozen=True)
class Start:
    """What a world begins with."""

    nodes: int = 5
    services: tuple[tuple[str, Mapping[str, str]], ...] = (("web", {}),)
    """Name → annotations by their short names."""
    network: str | None = "7"
    routes: bool = True
    others: int = 0
    """How many Nodes the other cluster has; 0: there is none."""
    twins: bool = False
    """Whether the other project has servers of the same names."""
    copied: bool = False
    """Whether a copy of cluster ``a`` was restored five minutes ago."""
    retained: bool = False
    """Whether a load balancer outlives its Service."""
    metal: int = 0
    """How many Nodes of cluster ``a`` are dedicated servers; 0: Robot is not enabled."""
    keyless: bool = False
    """Whether Robot is enabled without credentials."""
    pools: bool = False
    """Whether the Nodes are of two pools: the older half has the label ``pool=a``, the rest ``pool=b``."""
    variables: tuple[tuple[str, str], ...] = ()
    """What its controllers are configured with beside that, as ``Stage.environment`` has it."""

    @property
    def environment(self) -> dict[str, str]:
        """How its controllers are configured: variables of the environment, and flags."""
        has_routes = self.routes and self.network is not None and not self.metal
        found = {
            "HCLOUD_NETWORK": self.network or "",
            "HCLOUD_NETWORK_ROUTES_ENABLED": str(has_routes).lower(),
            "HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1",
            "ROBOT_ENABLED": "true" if self.metal else "",
            "--cluster-cidr": str(CLUSTER_CIDR),
            "HCLOUD_LOAD_BALANCERS_DELETION_POLICY": "retain" if self.retained else "",
            **dict(self.variables),
        }
        return {name: value for name, value in found.items() if value}

    @property
    def settings(self) -> Settings:
        """What the product makes of that."""
        return settings_of(self.environment)


def private_address(number: int) -> str:
    return f"10.0.0.{number + 10}"


def pods(number: int) -> str:
    return f"10.244.{number}.0/24"


def node_name(number: int) -> str:
    return f"n{number}"


def a_server(number: int, *, network: int | None = NETWORK) -> Raw:
    """Every other one has a label, by which a selector tells them apart."""
    places = [] if network is None else [{"network": network, "ip": private_address(number)}]
    labels = {"pool": "a"} if number % 2 else {}
    return server(number, node_name(number), private_net=places, labels=labels)


def a_service(name: str, options: Mapping[str, str]) -> Raw:
    """A Service that wants a load balancer, with annotations by their short names."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {f"{ANNOTATION}{key}": value for key, value in options.items()},
        },
        "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": [a_port(80)]},
    }


def a_port(number: int) -> Raw:
    return {"name": f"p{number}", "port": number, "protocol": "TCP"}


def a_network(network_id: int, *routes: Raw) -> Raw:
    """With a subnet for servers, and one that leads to machines in a rack."""
    return {
        "id": network_id,
        "name": "private",
        "ip_range": "10.0.0.0/8",
        "subnets": [
            {"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"},
            {"type": "vswitch", "ip_range": "10.1.0.0/24", "network_zone": "eu-central", "vswitch_id": 1},
        ],
        "routes": list(routes),
    }


def home_of(start: Start) -> Raw:
    """The project of the clusters, as strangers and machines made it."""
    numbers = [*range(1, start.nodes + 1), *range(FIRST["b"], FIRST["b"] + start.others)]
    strangers = [
        server(NAT, "nat", private_net=[{"network": NETWORK, "ip": NAT_IP}]),
        server(GUEST, "guest", private_net=[{"network": NETWORK, "ip": GUEST_IP}]),
    ]
    foreign = [{"destination": "0.0.0.0/0", "gateway": NAT_IP}, {"destination": "10.99.0.0/24", "gateway": GUEST_IP}]
    listener = {"protocol": "tcp", "listen_port": 80, "destination_port": 8080}
    return {
        "servers": [*(a_server(number) for number in numbers), *strangers],
        "certificates": [{"id": CERTIFICATE, "name": "made-by-hand"}],
        "networks": [a_network(NETWORK, *foreign), {**a_network(8), "name": "other"}],
        "load_balancers": [
            {"id": SHOP, "name": "shop", "services": [listener], "targets": [{"server": {"id": GUEST}}]},
            {"id": EMPTY, "name": "empty", "labels": {"made-by": "terraform"}},
            {"id": IDLE, "name": "idle", "services": [listener]},
            {
                "id": THEIRS,
                "name": "theirs",
                "labels": {SERVICE_LABEL: "dead-beef", CLUSTER_LABEL: "somebody-else"},
                "services": [listener],
                "targets": [{"server": {"id": GUEST}}],
            },
        ],
    }


def elsewhere_of(start: Start) -> Raw:
    """The project of which somebody may take the token."""
    return {"servers": list(twins(start)) if start.twins else [], "networks": [a_network(OTHER_NETWORK)]}


def twins(start: Start, network: int | None = None) -> Iterator[Raw]:
    """Servers of other ids with the names of the Nodes, in this network with their private addresses as well."""
    for number in range(1, start.nodes + 1):
        places = [] if network is None else [{"network": network, "ip": private_address(number)}]
        yield {**a_server(500 + number, network=None), "name": node_name(number), "private_net": places}


def _a_node(number: int, start: Start) -> Raw:
    node = settled_node(node_name(number), number)
    node["spec"] |= {"podCIDR": pods(number), "podCIDRs": [pods(number)]}
    if start.pools:
        node["metadata"]["labels"]["pool"] = "a" if number <= start.nodes // 2 else "b"
    if start.network is not None:
        node["status"]["addresses"].append({"type": "InternalIP", "address": private_address(number)})
    return node


def _a_metal_node(number: int) -> Raw:
    """A Node on a dedicated server, as HCCM has initialized it; every second one by HCCM's fork."""
    node = settled_node(node_name(number), number)
    node["spec"] = {"providerID": f"hcloud://bm-{number}" if number % 2 == 0 else f"hrobot://{number}"}
    node["metadata"]["labels"]["instance.hetzner.cloud/provided-by"] = "robot"
    node["status"]["addresses"] = metal_addresses(number)
    return node


def metal_addresses(number: int) -> list[Raw]:
    """What a Node on a dedicated server says of itself."""
    return [
        {"type": "Hostname", "address": node_name(number)},
        {"type": "ExternalIP", "address": f"192.0.2.{number}"},
        {"type": "InternalIP", "address": inside(number)},
    ]


def a_robot(start: Start, clock: SimulatedClock) -> RobotSimulator | None:
    """The account of the clusters, with one server that nobody uses."""
    if not start.metal:
        return None
    servers = [metal(number, node_name(number)) for number in range(METAL, METAL + start.metal)]
    return RobotSimulator(clock, world={"servers": [*servers, metal(METAL - 1, "spare")]})


def a_cluster(name: str, count: int, services: Sequence[Raw], start: Start, truth: Truth) -> Cluster:
    """A cluster of so many Nodes with these Services, and dedicated servers where it is ``a``."""
    nodes = [_a_node(number, start) for number in range(FIRST[name], FIRST[name] + count)]
    nodes += [_a_metal_node(number) for number in range(METAL, METAL + start.metal) if name == "a"]
    own = {"metadata": {"name": "hcloud-reconciler", "namespace": NAMESPACE}, "data": {}}
    world = {"nodes": nodes, "services": list(services), "configmaps": [own]}
    kubernetes = KubernetesSimulator(truth.clock, world=world, seed=FIRST[name])
    return Cluster(name, HOME, kubernetes, truth.projects[HOME], truth.clock)
