"""A cluster with the project that its servers are in, and all that people, kubelets, controllers and Hetzner do to it.

One core of verbs with three doors. Behind each of them the verbs do the same, and Hetzner and Robot are simulated:

- ``values.Values``: a snapshot of the world; passes are plans that are folded into it by foresight
- ``simulators.Simulated`` with ``passes.Run``: whole passes in this process, on time that goes on when a test says so
- ``stage.Stage``: the real API server, and the command in processes of its own

What has the number 3 is Node ``web-3`` on server 3, with 10.0.0.103 in network 7 and the pods 10.244.3.0/24.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from desired.model.settings import Settings
from desired.names import CONFIG_MAP
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.hetzner.store import Kind
from kubernetes_double import KubernetesSimulator
from reconciler.config.config import load_config
from reconciler.config.options import Command
from tests.support.objects import (
    CIDR,
    IN_NETWORK,
    NETWORK,
    ROUTED,
    a_route_to,
    a_server_of,
    annotated,
    condition,
    just_now,
    network_condition,
    network_says,
    pods_of,
    private_ip,
    settled_node,
    with_pods,
)

Raw = dict[str, Any]
NODES = "/api/v1/nodes"
SERVICES = "/api/v1/namespaces/default/services"
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
VOLUME_ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
OF_A_KUBELET = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class World(ABC):
    """Verbs, and what they left. A verb raises AssertionError when an API refuses it, unless ``may_be_refused``."""

    project: HetznerSimulator
    clock: SimulatedClock
    environment: dict[str, str]
    """How the product is configured: variables."""
    may_be_refused: Collection[int] = ()
    """Statuses with which an API may refuse a verb, which then does nothing."""

    # The door.

    @abstractmethod
    def to_cluster(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of what the API server answers to somebody with all rights; a PATCH is a merge patch."""

    def to_project(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of what Hetzner answers to the project's owner: ``/servers?name=a``."""
        headers = {"Authorization": f"Bearer {HetznerSimulator.TOKEN}", "Content-Type": "application/json"}
        answer = self.project.handle(Request.of(method, f"/v1{path}", body, headers))
        return answer.status, answer.body

    def _cluster(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.to_cluster(method, path, body)
        assert status < 300 or status in self.may_be_refused, answer
        return answer if status < 300 else None

    def _project(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.to_project(method, path, body)
        assert status < 300 or status in self.may_be_refused, answer
        return answer if status < 300 else None

    @property
    def settings(self) -> Settings:
        """What the product makes of the environment, in which names with dashes are flags."""
        return settings_of(self.environment)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # What is there.

    def nodes(self) -> dict[str, Raw]:
        return {each["metadata"]["name"]: each for each in self._cluster("GET", NODES)["items"]}

    def uids(self) -> dict[str, str]:
        """Name → uid of the Nodes that are there: a Node that was deleted and registered again is another one."""
        return {name: node["metadata"]["uid"] for name, node in self.nodes().items()}

    def all_say(self) -> dict[str, tuple[str, str, str] | None]:
        """Name → what each Node's condition NetworkUnavailable says."""
        return {name: network_says(node) for name, node in self.nodes().items()}

    def services(self) -> dict[str, Raw]:
        listed = self._cluster("GET", SERVICES)["items"]
        return {each["metadata"]["name"]: each for each in listed if each["metadata"]["name"] != "kubernetes"}

    def service(self, name: str = "web") -> Raw:
        return self.services()[name]

    def events(self, *reasons: str) -> list[Raw]:
        """Those in namespace ``default``, as those on Nodes are; with these reasons if some are given."""
        listed = self._cluster("GET", "/api/v1/namespaces/default/events")["items"]
        return [each for each in listed if not reasons or each["reason"] in reasons]

    def servers(self) -> list[Raw]:
        return self._of_project("servers")

    def balancers(self) -> list[Raw]:
        return self._of_project("load_balancers")

    def network(self) -> Raw:
        (found,) = self._of_project("networks")
        return found

    def routes(self) -> dict[str, str]:
        return {route["destination"]: route["gateway"] for route in self.network()["routes"]}

    def _of_project(self, section: Kind) -> list[Raw]:
        return self.project.section(section)

    # Nodes, as kubelets, kubectl and autoscalers have them.

    def register(self, *nodes: Mapping[str, Any]) -> None:
        """Create Nodes with their status, as kubelets do."""
        for node in nodes:
            self._cluster("POST", NODES, node)

    def register_again(self, node: Mapping[str, Any]) -> None:
        """Another Node takes the name of one that is there."""
        self.delete_node(node["metadata"]["name"])
        self.register(node)

    def delete_node(self, name: str) -> None:
        self._cluster("DELETE", f"{NODES}/{name}")

    def patch_node(self, what: str, body: Mapping[str, Any]) -> None:
        """A merge patch of a Node, or of ``NAME/status``."""
        self._cluster("PATCH", f"{NODES}/{what}", body)

    def set_ready(self, *names: str, ready: str, since: str | None = None) -> None:
        """The kubelet of each Node says something else, or kube-controller-manager does for it; by default just now."""
        for name in names:
            self.patch_node(
                f"{name}/status", {"status": {"conditions": [condition("Ready", ready, since or just_now())]}}
            )

    def set_condition(self, name: str, written: Mapping[str, str], **status: Any) -> None:
        """Somebody writes one condition of a Node, and leaves the others as they are; ``status`` is what else."""
        conditions = self.nodes()[name]["status"].get("conditions", [])
        others = [each for each in conditions if each["type"] != written["type"]]
        self.patch_node(f"{name}/status", {"status": {"conditions": [*others, dict(written)], **status}})

    def cordon(self, *names: str) -> None:
        for name in names:
            self.patch_node(name, {"spec": {"unschedulable": True}})

    def uncordon(self, *names: str) -> None:
        for name in names:
            self.patch_node(name, {"spec": {"unschedulable": None}})

    def taint(self, *names: str, key: str) -> None:
        """Add a taint as an autoscaler does."""
        nodes = self.nodes()
        for name in names:
            taints = [*nodes[name]["spec"].get("taints", []), {"key": key, "effect": "NoSchedule"}]
            self.patch_node(name, {"spec": {"taints": taints}})

    def untaint(self, *names: str) -> None:
        for name in names:
            self.patch_node(name, {"spec": {"taints": None}})

    def label(self, *names: str, labels: Mapping[str, str | None]) -> None:
        for name in names:
            self.patch_node(name, {"metadata": {"labels": dict(labels)}})

    def attach_volume(self, node: str) -> None:
        """A volume is attached to the Node of this name."""
        spec = {"attacher": "csi.example.com", "nodeName": node, "source": {"persistentVolumeName": f"volume-{node}"}}
        self._cluster("POST", VOLUME_ATTACHMENTS, {"metadata": {"name": f"csi-{node}"}, "spec": spec})

    def detach_volume(self, node: str) -> None:
        self._cluster("DELETE", f"{VOLUME_ATTACHMENTS}/csi-{node}")

    # Services, as people apply them.

    def have_services(self, *services: Mapping[str, Any]) -> None:
        """Create these Services."""
        for service in services:
            self._cluster("POST", SERVICES, service)

    def patch_service(self, body: Mapping[str, Any], what: str = "web") -> None:
        """A merge patch of a Service, or of ``NAME/status``."""
        self._cluster("PATCH", f"{SERVICES}/{what}", body)

    def annotate(self, service: str = "web", /, **options: str | None) -> None:
        """Set annotations of a Service by the names of their options; None takes one away."""
        self.patch_service({"metadata": {"annotations": annotated(**options)}}, service)

    def listen(self, service: str = "web", *ports: Mapping[str, Any]) -> None:
        self.patch_service({"spec": {"ports": list(ports)}}, service)

    def turn(self, service: str, kind: str, load_balancer_class: str | None = None) -> None:
        """A Service becomes one of another type, or of another class, which a change of type alone allows."""
        self.patch_service({"spec": {"type": kind, "loadBalancerClass": load_balancer_class}}, service)

    def delete_service(self, name: str = "web") -> None:
        self._cluster("DELETE", f"{SERVICES}/{name}")

    def have_config_map(self) -> None:
        """The ConfigMap of the record is there, as the chart makes it."""
        self._cluster("POST", CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP}})

    def patch_config_map(self, name: str, **data: str | None) -> None:
        """Somebody edits a ConfigMap of the product; None takes a key away."""
        self._cluster("PATCH", f"{CONFIG_MAPS}/{name}", {"data": data})

    # Machines, at Hetzner's console or by an autoscaler.

    def have_servers(self, *servers: Mapping[str, Any], networks: Sequence[Mapping[str, Any]] = ()) -> None:
        """Make these all that is in the project."""
        self.project.replace_world({"servers": list(servers), "networks": list(networks)})

    def change_project(self, **sections: Any) -> None:
        """Make these what is in sections of the project; the others stay."""
        self.project.replace_world({**self.project.world()["hetzner"], **sections})

    def add_servers(self, *servers: Mapping[str, Any]) -> None:
        """These servers are there as well."""
        self._have(servers=[*self.servers(), *servers])

    def remove_servers(self, *server_ids: int) -> None:
        """These servers are no longer there."""
        self._have(servers=[each for each in self.servers() if each["id"] not in server_ids])

    def change_servers(self, *server_ids: int, **changes: Any) -> None:
        """These servers are resized, renamed, switched off, attached or detached."""
        self._have(servers=[each | (changes if each["id"] in server_ids else {}) for each in self.servers()])

    def move_server(self, number: int, *addresses: str) -> None:
        """A server gets other addresses in the network, or is taken out of it."""
        self.change_servers(number, private_net=[{"network": NETWORK["id"], "ip": address} for address in addresses])

    def buy_server(self, name: str, networks: Sequence[int] = ()) -> int | None:
        """Its id once it is ordered; None when that is refused."""
        body = {"name": name, "server_type": "cpx32", "location": "fsn1", "image": "ubuntu-24.04"}
        made = self._project("POST", "/servers", body | ({"networks": list(networks)} if networks else {}))
        return None if made is None else int(made["server"]["id"])

    def delete_server(self, server_id: int) -> bool:
        """Whether a server is being deleted."""
        return self._project("DELETE", f"/servers/{server_id}") is not None

    def power(self, server_id: int, *, on: bool) -> None:
        """A server is switched on or off."""
        self._project("POST", f"/servers/{server_id}/actions/{'poweron' if on else 'poweroff'}")

    def rename_server(self, server_id: int, name: str) -> None:
        self._project("PUT", f"/servers/{server_id}", {"name": name})

    def leave_network(self, server_id: int, network: int) -> None:
        self._project("POST", f"/servers/{server_id}/actions/detach_from_network", {"network": network})

    # Networks and load balancers, at Hetzner's console.

    def have_routes(self, *routes: Mapping[str, str]) -> None:
        """Make these the routes of the only network."""
        self.change_network(routes=list(routes))

    def change_network(self, **changes: Any) -> None:
        """Somebody changes the only network."""
        self.change_project(networks=[self.network() | changes])

    def add_route(self, network: int, destination: str, gateway: str) -> bool:
        """Whether a route is made."""
        return self._act(f"/networks/{network}", "add_route", destination=destination, gateway=gateway)

    def delete_route(self, network: int, destination: str, gateway: str) -> bool:
        """Whether a route goes."""
        return self._act(f"/networks/{network}", "delete_route", destination=destination, gateway=gateway)

    def have_balancers(self, *balancers: Mapping[str, Any]) -> None:
        """Make these the project's load balancers."""
        networks = [{**network, "load_balancers": []} for network in self._of_project("networks")]
        self.change_project(networks=networks, load_balancers=list(balancers))

    def change_balancer(self, **changes: Any) -> None:
        """Somebody changes the only load balancer."""
        (found,) = self.balancers()
        self.have_balancers(found | changes)

    def change_labels(self, balancer: int, labels: Mapping[str, str]) -> None:
        """Somebody gives a load balancer other labels."""
        self._project("PUT", f"/load_balancers/{balancer}", {"labels": dict(labels)})

    def delete_balancer(self, balancer: int) -> None:
        """Somebody deletes a load balancer."""
        self._project("DELETE", f"/load_balancers/{balancer}")

    def add_target(self, balancer: int, target: Mapping[str, Any]) -> bool:
        """Whether a load balancer leads to one more target."""
        return self._act(f"/load_balancers/{balancer}", "add_target", **target)

    def remove_target(self, balancer: int, server_id: int) -> bool:
        """Whether a server is taken out of a load balancer."""
        return self._act(f"/load_balancers/{balancer}", "remove_target", type="server", server={"id": server_id})

    def change_listener(self, balancer: int, port: int, **changes: Any) -> bool:
        """Whether a load balancer does something else with a port."""
        return self._act(f"/load_balancers/{balancer}", "update_service", listen_port=port, **changes)

    def add_listener(self, balancer: int, port: int, destination: int) -> bool:
        """Whether a load balancer takes traffic at one more port."""
        return self._act(
            f"/load_balancers/{balancer}", "add_service", protocol="tcp", listen_port=port, destination_port=destination
        )

    def _act(self, path: str, action: str, **body: Any) -> bool:
        return self._project("POST", f"{path}/actions/{action}", body) is not None

    def _have(self, *, servers: Sequence[Mapping[str, Any]]) -> None:
        """Make these the project's servers. Who is attached to a network is for them to say."""
        networks = [{**network, "servers": []} for network in self._of_project("networks")]
        self.change_project(networks=networks, servers=list(servers))

    # Whole worlds.

    def have_nodes(self, size: int, **project: Any) -> None:
        """So many healthy Nodes, ``web-1`` on server 1 and so on, each in the network as well; and the rest of a
        project."""
        self._have_fleet(size, NETWORK, project)
        self.register(*(self.a_node(number) for number in range(1, size + 1)))

    def have_pods(
        self, size: int, *routes: Mapping[str, str], says: tuple[str, str, str] | None = None, **project: Any
    ) -> None:
        """So many Nodes with pods, their servers in the network, and these routes in it; and the rest of a project."""
        self.environment |= IN_NETWORK | CIDR
        self._have_fleet(size, {**NETWORK, "routes": list(routes)}, project)
        self.register(*(self.a_pod_node(number, says=says) for number in range(1, size + 1)))

    def settle(self, size: int) -> None:
        """So many Nodes, each with its route and its condition: nothing is left to do."""
        self.have_pods(size, *map(a_route_to, range(1, size + 1)), says=ROUTED)

    def a_node(self, number: int) -> Raw:
        """The Node of this number, with its private address where the product is told of the network."""
        node = settled_node(f"web-{number}", number)
        if "HCLOUD_NETWORK" in self.environment:
            node["status"]["addresses"].append({"type": "InternalIP", "address": private_ip(number)})
        return node

    def a_pod_node(self, number: int, *pod_cidrs: str, says: tuple[str, str, str] | None = None) -> Raw:
        """A Node in order, with all that a kubelet says of it, and ``says`` in its condition NetworkUnavailable."""
        node = self.a_node(number)
        with_pods(node, *pod_cidrs or [pods_of(number)])
        said = [condition(kind, "True" if kind == "Ready" else "False") for kind in OF_A_KUBELET]
        node["status"]["conditions"] = [*said, *([network_condition(*says)] if says else [])]
        return node

    def _have_fleet(self, size: int, network: Mapping[str, Any], project: Mapping[str, Any]) -> None:
        servers = [a_server_of(number) for number in range(1, size + 1)]
        self.project.replace_world({"servers": servers, "networks": [network], **project})


def settings_of(environment: Mapping[str, str]) -> Settings:
    """What the product makes of variables and flags. Raises ConfigurationError for what it does not start with."""
    return _settings_of(tuple(sorted(environment.items())))


@cache
def _settings_of(given: tuple[tuple[str, str], ...]) -> Settings:
    flags = {name: value for name, value in given if name.startswith("-")}
    variables = {name: value for name, value in given if not name.startswith("-")}
    return load_config(Command.APPLY, flags, {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, **variables}).settings


def to_simulator(simulator: KubernetesSimulator, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and body of one request with all rights."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Authorization": f"Bearer {KubernetesSimulator.TOKEN}", "Content-Type": kind}
    answer = simulator.handle(Request.of(method, path, body, headers))
    return answer.status, json.loads(answer.encoded() or b"null")
