"""A cluster with pod routes that people, machines and the API itself keep changing, one event after another."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from tests.property.strategies import some
from tests.support.objects import LONG_AGO, condition, joining_node, server
from tests.support.simulators import START

NETWORK_ID = 7
CLUSTER_CIDR = "10.244.0.0/16"
FOREIGN = (
    {"destination": "0.0.0.0/0", "gateway": "10.0.0.250"},
    {"destination": "10.250.1.0/24", "gateway": "10.0.0.11"},
    {"destination": "10.244.200.0/24", "gateway": "10.0.0.251"},
    {"destination": "10.244.201.0/25", "gateway": "10.0.0.250"},
    {"destination": "10.244.202.0/24", "gateway": "10.0.0.240"},
    {"destination": "172.20.0.0/16", "gateway": "10.0.0.99"},
)
"""The way out by the NAT server, another cluster's range, the alias of that server, a range of another size, the load
balancer, and a black hole outside of the cluster's range."""
_NAT = server(90, "nat", private_net=[{"network": NETWORK_ID, "ip": "10.0.0.250", "alias_ips": ["10.0.0.251"]}])
_BALANCER = {"id": 40, "name": "edge", "private_net": [{"network": NETWORK_ID, "ip": "10.0.0.240"}]}
NOBODY = "10.0.0.77"
Raw = dict[str, Any]
Event = tuple[str, int, int]
"""What happens, to which Node, and which other one has to do with it."""


def pods(number: int) -> str:
    return f"10.244.{number}.0/24"


def name_of(number: int) -> str:
    """The Node on the server of that number."""
    return f"n{number}"


@dataclass
class Stage:
    """Both simulators, and everything that may happen to them."""

    clock: SimulatedClock
    hetzner: HetznerSimulator
    kubernetes: KubernetesSimulator

    @classmethod
    def of(cls, numbers: Iterable[int], options: HetznerOptions) -> "Stage":
        """A network with foreign routes, and Nodes of these numbers that have just registered."""
        clock = SimulatedClock(source=START.timestamp)
        network = {
            "id": NETWORK_ID,
            "name": "private",
            "ip_range": "10.0.0.0/16",
            "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}],
            "routes": list(FOREIGN),
        }
        project = {"servers": [_NAT], "networks": [network], "load_balancers": [_BALANCER]}
        stage = cls(clock, HetznerSimulator(clock, options, world=project), KubernetesSimulator(clock))
        for number in numbers:
            stage.happens(("join", number, 0))
        return stage

    def happens(self, event: Event) -> None:
        """Let it happen. What cannot, as there is nothing that it could happen to, does not."""
        name, number, other = event
        _EVENTS[name](self, number, other)

    @property
    def project(self) -> Mapping[str, list[Raw]]:
        found: Mapping[str, list[Raw]] = self.hetzner.world()["hetzner"]
        return found

    @property
    def routes(self) -> list[Mapping[str, str]]:
        (network,) = self.project["networks"]
        return list(network["routes"])

    @property
    def nodes(self) -> list[Raw]:
        found: list[Raw] = self.kubernetes.world()["kubernetes"].get("nodes", [])
        return found

    def wanted(self) -> Mapping[str, str]:
        """Destination → gateway of each route that Nodes need and can have."""
        machines = {f"hcloud://{found['id']}": found for found in self.project["servers"]}
        return {
            destination: machine["private_net"][0]["ip"]
            for node in self.nodes
            if (machine := machines.get(node["spec"].get("providerID", ""))) and machine["private_net"]
            for destination in node["spec"].get("podCIDRs", ())[:1]
        }

    def join(self, number: int, _other: int) -> None:
        """A new server, and the Node that its kubelet registers."""
        others = self._servers_but(number)
        taken = {net["ip"] for found in others for net in found["private_net"]}
        address = next(ip for ip in (f"10.0.0.{10 + number + more}" for more in range(0, 50, 5)) if ip not in taken)
        self._with_servers([*others, server(number, name_of(number), private_net=_in_network(address))])
        self._with_nodes([*self._nodes_but(number), _joining(number, number)])

    def leave(self, number: int, _other: int) -> None:
        """Server and Node go, as with an autoscaler."""
        self._with_servers(self._servers_but(number))
        self._with_nodes(self._nodes_but(number))

    def lose_node(self, number: int, _other: int) -> None:
        """The Node is deleted, and its server lives."""
        self._with_nodes(self._nodes_but(number))

    def lose_server(self, number: int, _other: int) -> None:
        """The server is deleted, and the Node stays."""
        self._with_servers(self._servers_but(number))
        self._each_node(number, lambda node: node["status"].update(conditions=[condition("Ready", "False", LONG_AGO)]))

    def rename(self, number: int, other: int) -> None:
        """Somebody calls the server something else, perhaps as another Node is called."""
        self._each_server(number, lambda found: found.update(name=f"renamed-{number}-{other}"))

    def move(self, number: int, other: int) -> None:
        """The server gets another address in the network."""
        taken = {net["ip"] for found in self.project["servers"] for net in found["private_net"]}
        address = f"10.0.0.{100 + 10 * number + other}"
        if address not in taken:
            self._each_server(number, lambda found: found.update(private_net=_in_network(address)))

    def exchange(self, number: int, other: int) -> None:
        """Two servers change their places."""
        places = {found["id"]: found["private_net"] for found in self.project["servers"]}
        if {number, other} <= places.keys():
            places |= {number: places[other], other: places[number]}
            self._with_servers([{**found, "private_net": places[found["id"]]} for found in self._all()])

    def detach(self, number: int, _other: int) -> None:
        """The server leaves the network."""
        self._each_server(number, lambda found: found.update(private_net=[]))

    def register_anew(self, number: int, other: int) -> None:
        """The Node is made anew, and gets other pods."""
        if any(found["id"] == number for found in self.project["servers"]):
            self._with_nodes([*self._nodes_but(number), _joining(number, 20 + 5 * number + other)])

    def remove_route(self, number: int, _other: int) -> None:
        self._with_routes([route for route in self.routes if route["destination"] != pods(number)])

    def mislead_route(self, number: int, other: int) -> None:
        """A person lets a route to pods lead to another server, or to nobody."""
        to = {"gateway": self._address_of(other)}
        self._with_routes([{**found, **(to if found["destination"] == pods(number) else {})} for found in self.routes])

    def add_black_hole(self, number: int, _other: int) -> None:
        """A route in the cluster's range that leads nowhere, as a Node leaves it behind."""
        self._add_route(pods(100 + number), NOBODY)

    def add_stray(self, number: int, other: int) -> None:
        """A route to pods that nobody has, to a server that may be a Node's."""
        self._add_route(pods(120 + number), self._address_of(other))

    def _address_of(self, number: int) -> str:
        nets: list[Raw] = next((found["private_net"] for found in self._all() if found["id"] == number), [])
        return str(nets[0]["ip"]) if nets else NOBODY

    def _add_route(self, destination: str, gateway: str) -> None:
        if all(route["destination"] != destination for route in self.routes):
            self._with_routes([*self.routes, {"destination": destination, "gateway": gateway}])

    def _all(self) -> list[Raw]:
        return list(self.project["servers"])

    def _servers_but(self, number: int) -> list[Raw]:
        return [found for found in self.project["servers"] if found["id"] != number]

    def _nodes_but(self, number: int) -> list[Raw]:
        return [node for node in self.nodes if node["metadata"]["name"] != name_of(number)]

    def _each_server(self, number: int, change: Callable[[Raw], object]) -> None:
        found = self._all()
        for machine in found:
            if machine["id"] == number:
                change(machine)
        self._with_servers(found)

    def _each_node(self, number: int, change: Callable[[Raw], object]) -> None:
        found = self.nodes
        for node in found:
            if node["metadata"]["name"] == name_of(number):
                change(node)
        self._with_nodes(found)

    def _with_servers(self, servers: list[Raw]) -> None:
        (network,) = self.project["networks"]
        network = {key: value for key, value in network.items() if key != "servers"}  # each says for itself
        self.hetzner.replace_world({**self.project, "networks": [network], "servers": servers})

    def _with_routes(self, routes: list[Mapping[str, str]]) -> None:
        (network,) = self.project["networks"]
        self.hetzner.replace_world({**self.project, "networks": [{**network, "routes": routes}]})

    def _with_nodes(self, nodes: list[Raw]) -> None:
        self.kubernetes.replace_world({**self.kubernetes.world()["kubernetes"], "nodes": nodes})


_EVENTS: Mapping[str, Callable[[Stage, int, int], None]] = {
    "join": Stage.join,
    "leave": Stage.leave,
    "lose Node": Stage.lose_node,
    "lose server": Stage.lose_server,
    "rename": Stage.rename,
    "move": Stage.move,
    "exchange": Stage.exchange,
    "detach": Stage.detach,
    "register anew": Stage.register_anew,
    "remove route": Stage.remove_route,
    "mislead route": Stage.mislead_route,
    "add black hole": Stage.add_black_hole,
    "add stray": Stage.add_stray,
}
FAULTS: tuple[Raw | None, ...] = (
    None,
    None,
    {"kind": "action_fails", "command": "add_route", "code": "server_error"},
    {"kind": "action_fails", "command": "delete_route", "code": "server_error"},
    {"kind": "action_vanishes", "command": "add_route"},
    {"kind": "action_vanishes", "command": "delete_route"},
    {"kind": "visible_late", "seconds": 5},
    {"kind": "stale_read", "path": f"/v1/networks/{NETWORK_ID}"},
)
numbers = st.integers(1, 4)
events = st.tuples(some(*_EVENTS), numbers, numbers)
steps = st.lists(st.tuples(st.lists(events, min_size=1, max_size=3), some(*FAULTS)), min_size=1, max_size=5)
"""What happens before each pass, and what goes wrong in it."""
fleets = some((), (1,), (1, 2, 3), (1, 2, 3, 4))
"""Which Nodes there are at first."""


def _in_network(address: str) -> list[Raw]:
    return [{"network": NETWORK_ID, "ip": address}]


def _joining(number: int, of_pods: int) -> Raw:
    node = joining_node(name_of(number))
    node["spec"]["podCIDRs"] = [pods(of_pods), f"2001:db8:{of_pods}::/64"]
    node["status"]["conditions"] = [condition("Ready", "True", LONG_AGO)]
    return node
