"""Any cluster with Services and any project with load balancers, as raw API objects for the simulators.

Names, ids and addresses come from small pools, so that Services, servers and load balancers meet: by label, by name,
twice, or not at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from desired.load_balancers.ownership import default_name
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from tests.balancers import annotated
from tests.property.strategies import some
from tests.support.objects import server, settled_node

CLUSTER_UID = "11111111-2222-3333-4444-555555555555"
OTHER_CLUSTER = "99999999-2222-3333-4444-555555555555"
DEAD_UID = "deaddead-0000-4000-8000-000000000000"
NETWORK = {
    "id": 7,
    "name": "private",
    "ip_range": "10.0.0.0/16",
    "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}],
}
SERVICES = ("web", "db", "mail")
CERTIFICATES = ({"id": 5, "name": "shop", "type": "uploaded"}, {"id": 6, "name": "blog", "type": "uploaded"})


def uid_of(service: str) -> str:
    """The UID that the Service of this name has in every world."""
    return f"{SERVICES.index(service):08x}-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class World:
    """What both simulators start from."""

    nodes: tuple[dict[str, Any], ...]
    services: tuple[dict[str, Any], ...]
    servers: tuple[dict[str, Any], ...]
    balancers: tuple[dict[str, Any], ...]
    has_network: bool

    @property
    def project(self) -> dict[str, Any]:
        """The Hetzner part of a world file."""
        return {
            "servers": list(self.servers),
            "networks": [NETWORK],
            "load_balancers": list(self.balancers),
            "certificates": list(CERTIFICATES),
        }

    @property
    def cluster(self) -> dict[str, Any]:
        """The Kubernetes part."""
        identity = {"metadata": {"name": "kube-system", "uid": CLUSTER_UID}}
        return {"nodes": list(self.nodes), "services": list(self.services), "namespaces": [identity]}


_OPTIONS: tuple[Mapping[str, str], ...] = (
    {},
    {},
    {"name": "shared"},
    {"name": "own-name"},
    {"type": "lb21"},
    {"type": "lb11"},
    {"algorithm_type": "least_connections"},
    {"uses_proxyprotocol": "true"},
    {"node_selector": "zone=a"},
    {"node_selector": "zone notin (b)"},
    {"protocol": "http", "http_sticky_sessions": "true", "http_cookie_name": "x"},
    {"protocol": "https", "http_certificates": "shop"},
    {"protocol": "https", "http_certificates": "6,shop", "http_redirect_http": "true"},
    {"protocol": "https", "http_certificates": "missing"},
    {"health_check_protocol": "http", "health_check_http_path": "/healthz", "health_check_interval": "5s"},
    {"health_check_retries": "5"},
    {"port_80_protocol": "http", "port_443_uses_proxyprotocol": "true", "port_8080_health_check_retries": "2"},
    {"protocol": "https", "http_certificates": "shop", "port_80_protocol": "http", "port_443_http_certificates": "6"},
    {"port_443_protocol": "https", "port_443_http_certificates": "shop", "port_443_http_redirect_http": "true"},
    {"port_443_uses_proxyprotocol": "perhaps", "port_9_protocol": "http"},
    {"hostname": "lb.example.com"},
    {"ipv4_rdns": "lb.example.com"},
    {"disable_private_ingress": "true", "ipv6_disabled": "true"},
    {"algorithm_type": "nonsense"},
    {"health_check_interval": "10", "type": "lb99"},
    {"type": "lb99"},
)
_IN_NETWORK: tuple[Mapping[str, str], ...] = (
    {},
    {},
    {"use_private_ip": "true"},
    {"use_private_ip": "true", "disable_public_network": "true"},
    {"private_ipv4": "10.0.0.200"},
    {"private_ipv4": "10.0.0.11"},
    {"use_private_ip": "true", "private_ipv4": "10.0.0.201"},
    {"private_subnet_ip_range": "10.0.0.0/24"},
    {"private_ipv4": "10.9.9.9"},
)
_PORTS = some((80,), (80, 443), (443,), (80, 443, 8080), (1, 2, 3, 4, 5, 6), (53,))


def _port(port: int) -> dict[str, Any]:
    protocol = "UDP" if port == 53 else "TCP"
    return {"name": f"p{port}", "port": port, "nodePort": 30000 + port % 2000, "protocol": protocol}


@st.composite
def services(draw: st.DrawFn, name: str, *, has_network: bool) -> dict[str, Any]:
    """A Service of this name: new, served, of another type with the finalizer, or on its way out."""
    options = {**draw(some(*_OPTIONS)), **(draw(some(*_IN_NETWORK)) if has_network else {})}
    state = draw(some("new", "new", *["served"] * 6, "retyped", "classed", "plain"))
    ports = draw(_PORTS)
    spec: dict[str, Any] = {
        "type": "ClusterIP" if state in ("retyped", "plain") else "LoadBalancer",
        "ports": [_port(port) for port in ports],
    }
    if state == "classed":
        spec["loadBalancerClass"] = "example.com/other"
    if spec["type"] == "ClusterIP":
        for port in spec["ports"]:
            del port["nodePort"]
    annotations = annotated(**options)
    if draw(some(False, False, False, True)):
        annotations["hcloud-reconciler/deletion-policy"] = "retain"
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": uid_of(name),
        "annotations": annotations,
        "finalizers": [FINALIZER_BALANCER] if state in ("served", "retyped") else [],
    }
    return {"metadata": metadata, "spec": spec}


_PLACES = some({}, {}, {"zone": "a"}, {"zone": "b"}, {"node.kubernetes.io/exclude-from-external-load-balancers": ""})


_BODIES = st.tuples(
    some(True, True, True, False),
    some(True, True, True, True, False),
    some(True, True, False),
    some(True, True, True, False),
)
"""Whether there is a Node, and a server; whether that is in the network, and has a public address."""
_LISTENERS: st.SearchStrategy[dict[str, Any]] = some({}, {"protocol": "http"}, {"proxyprotocol": True})


def _in_network(number: int) -> dict[str, Any]:
    return server(100 + number, f"n{number}", private_net=[{"network": 7, "ip": f"10.0.0.{10 + number}"}])


@st.composite
def members(draw: st.DrawFn, number: int) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """A server and its Node; either may be missing."""
    has_node, has_server, attached, public = draw(_BODIES)
    net = [{"network": 7, "ip": f"10.0.0.{10 + number}"}] if attached else []
    machine = server(100 + number, f"n{number}", private_net=net)
    if not public:
        machine["public_net"] = {"ipv4": None, "ipv6": None}
    node = settled_node(f"n{number}", 100 + number)
    node["metadata"]["labels"] |= draw(_PLACES)
    return (machine if has_server else None), (node if has_node else None)


@st.composite
def balancers(draw: st.DrawFn, number: int, machines: list[dict[str, Any]]) -> dict[str, Any]:
    """A load balancer of anybody's, with anything on it that the API lets be."""
    likely = uid_of(SERVICES[number])
    owner = draw(some(*[likely] * 6, *(uid_of(name) for name in SERVICES), DEAD_UID, None))
    cluster = draw(some(*[CLUSTER_UID] * 4, None, OTHER_CLUSTER))
    labels = {LABEL_SERVICE_UID: owner, LABEL_CLUSTER_UID: cluster, "team": "blue"}
    attached = draw(some(True, False))
    targets: list[dict[str, Any]] = []
    for machine in machines:
        how = draw(some("none", "public", "public", "private"))
        if how == "public" and machine["public_net"].get("ipv4"):
            targets.append({"type": "server", "server": {"id": machine["id"]}})
        if how == "private" and attached and machine["private_net"]:
            targets.append({"type": "server", "server": {"id": machine["id"]}, "use_private_ip": True})
    targets += draw(some([], [], [], [{"type": "label_selector", "label_selector": {"selector": "a=b"}}]))
    names = [f"x{number}", "shared", *([default_name(owner)] if owner else [])]
    return {
        "id": 40 + number,
        "name": draw(some(*names)),
        "labels": {key: value for key, value in labels.items() if value is not None},
        "load_balancer_type": draw(some("lb11", "lb21")),
        "location": "fsn1",
        "algorithm": {"type": draw(some("round_robin", "least_connections"))},
        "private_net": [{"network": 7, "ip": f"10.0.0.{100 + number}"}] if attached else [],
        "protection": {"delete": draw(some(False, False, False, True))},
        "services": [
            {"listen_port": port, "destination_port": 30000 + port, **draw(_LISTENERS)}
            for port in draw(some((), (80,), (80, 443), (22, 80)))
        ],
        "targets": targets,
    }


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Up to three Services, five servers with Nodes, and three load balancers."""
    has_network = draw(some(True, True, False))
    pairs = [draw(members(number)) for number in range(draw(some(1, 2, 3, 5)))]
    machines = [machine for machine, _ in pairs if machine is not None]
    found = [draw(balancers(number, machines)) for number in range(draw(some(0, 1, 1, 2, 3)))]
    unique = {balancer["name"]: balancer for balancer in found}
    return World(
        nodes=tuple(node for _, node in pairs if node is not None),
        services=tuple(draw(services(name, has_network=has_network)) for name in SERVICES[: draw(some(1, 1, 2, 3))]),
        servers=tuple(machines),
        balancers=tuple(unique.values()),
        has_network=has_network,
    )


@st.composite
def served_worlds(draw: st.DrawFn) -> World:
    """Those in which a load balancer of a Service leads to two living servers or more, whatever the Service asks for by
    now, and whatever Nodes and servers there are beside them."""
    world = draw(worlds())
    pairs = [draw(members(number)) for number in range(10, 10 + draw(some(2, 3, 4)))]
    machines = [_in_network(number) for number in range(10, 10 + len(pairs))]
    nodes = [
        node or settled_node(machine["name"], machine["id"]) for machine, (_, node) in zip(machines, pairs, strict=True)
    ]
    balancer = draw(balancers(0, []))
    attached = bool(balancer["private_net"])
    targets = [
        {"type": "server", "server": {"id": machine["id"]}, "use_private_ip": attached and draw(some(True, False))}
        for machine in machines
    ]
    balancer |= {"targets": targets, "labels": {LABEL_SERVICE_UID: uid_of("web"), LABEL_CLUSTER_UID: CLUSTER_UID}}
    others = [found for found in world.balancers if found["name"] != balancer["name"] and found["id"] != balancer["id"]]
    return replace(
        world, nodes=(*world.nodes, *nodes), servers=(*world.servers, *machines), balancers=(balancer, *others)
    )


@st.composite
def foreign_worlds(draw: st.DrawFn) -> World:
    """Those with a load balancer of another cluster, which may have the label or the name of a Service of this one."""
    world = draw(worlds())
    balancer = draw(balancers(0, list(world.servers)))
    foreign = balancer | {"labels": balancer["labels"] | {LABEL_CLUSTER_UID: OTHER_CLUSTER}}
    others = (found for found in world.balancers if found["name"] != foreign["name"] and found["id"] != foreign["id"])
    return replace(world, balancers=(foreign, *others))


@st.composite
def leaving_worlds(draw: st.DrawFn) -> World:
    """Those in which a Service that has a load balancer wants none any more, whatever that is and has."""
    world = draw(worlds())
    balancer = draw(balancers(0, list(world.servers)))
    labels = balancer["labels"] | {LABEL_SERVICE_UID: uid_of("web"), LABEL_CLUSTER_UID: CLUSTER_UID}
    leaving = balancer | {"labels": labels}
    service, *others = world.services
    spec = {"type": "ClusterIP", "ports": [{"name": "p80", "port": 80, "protocol": "TCP"}]}
    metadata = service["metadata"] | {"finalizers": [FINALIZER_BALANCER]}
    rest = (found for found in world.balancers if found["name"] != leaving["name"] and found["id"] != leaving["id"])
    return replace(
        world, services=({**service, "metadata": metadata, "spec": spec}, *others), balancers=(leaving, *rest)
    )
