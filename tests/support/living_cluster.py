"""Machines, pods and Services of a whole cluster: what people do to them, and what users see of them."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from tests.support.apiserver import ApiServer
from tests.support.control_plane import CLUSTER_CIDR
from tests.support.kubelets import NODE_IP, fall_silent, kubelet_node
from tests.support.measured import DEADLINE_S
from tests.support.objects import LOCATED, UNINITIALIZED, a_service, ingress, taints
from tests.support.permissions import grant, shipped
from tests.support.stage import Stage, wait_for

NETWORK: dict[str, Any] = {
    "id": 7,
    "name": "private",
    "ip_range": "10.0.0.0/8",
    "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/16", "network_zone": "eu-central"}],
}
BRISKLY = ("--interval", "5s", "--delete-not-ready-for", "3s", "--delete-min-age", "5s")
"""The product makes a pass each five seconds, so that what no event tells is seen soon, and lets a Node go as soon as
it is known to be silent."""
_ANYWHERE: Mapping[str, str] = {}
_ACCOUNT = "hcloud-reconciler"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_PODS = "/api/v1/namespaces/default/pods"
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
_LOST = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class LivingCluster:
    """An empty cluster and an empty project on a stage. The product runs as its ServiceAccount, with the roles that are
    shipped. A server, its Node and its kubelet have one name."""

    def __init__(self, stage: Stage, api_server: ApiServer) -> None:
        self.stage = stage
        self._servers: dict[str, int] = {}
        self._empty()
        stage.have_servers(networks=[NETWORK])
        self.token = _token_of_account(api_server)
        stage.environment |= LOCATED | {
            "HCLOUD_NETWORK": NETWORK["name"],
            "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": "true",
            "RECONCILER_CLUSTER_CIDR": CLUSTER_CIDR,
            "KUBECONFIG": str(api_server.kubeconfig(self.token, server=stage.proxy.url)),
        }

    # Machines

    def join(self, *names: str, **labels: str) -> None:
        """Buy a server for each, and have its kubelet register a Node with these labels as soon as it is attached to
        the network."""
        for name in names:
            self._servers[name] = self.stage.buy_server(name, [NETWORK["id"]]) or 0
        for name in names:
            wait_for(partial(self._address, name), f"{name} to be in the network", within_s=DEADLINE_S)
            self.register(name, **labels)

    def register(self, name: str, **labels: str) -> None:
        """The kubelet of a server that runs registers its Node."""
        self.stage.register(kubelet_node(name, self._address(name), **labels))

    def delete_server(self, name: str) -> None:
        """Delete the server; its kubelet is silent from then on."""
        self.stage.delete_server(self._servers.pop(name))
        fall_silent(self.stage, name)

    def power(self, name: str, *, on: bool) -> None:
        """Switch a server on or off."""
        self.stage.power(self._servers[name], on=on)

    def drain(self, name: str) -> None:
        """``kubectl drain``: cordon the Node, evict its pods as their budget allows, and wait until they are gone."""
        self.stage.cordon(name)
        wait_for(lambda: not self._evict(name), f"{name} to be drained", within_s=DEADLINE_S)

    # Workloads

    def deploy(
        self,
        app: str,
        replicas: int,
        *,
        patience_s: int | None = 2,
        on: Mapping[str, str] = _ANYWHERE,
        volume: str | None = None,
    ) -> None:
        """Run so many pods, on Nodes with these labels, of which one at a time may be evicted, with the ``volume`` of
        this claim. One on a Node that is lost moves after ``patience_s``; None: as long as Kubernetes has it, five
        minutes."""
        labels, selector = {"app": app}, {"matchLabels": {"app": app}}
        lost = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": patience_s}
        pod = {
            "containers": [{"name": "web", "image": "web"}],
            "tolerations": [] if patience_s is None else [{"key": key, **lost} for key in _LOST],
            "nodeSelector": dict(on),
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": volume}}] if volume else [],
        }
        deployment = {
            "replicas": replicas,
            "selector": selector,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        self._write("POST", _DEPLOYMENTS, {"metadata": {"name": app}, "spec": deployment})
        self._write("POST", _BUDGETS, {"metadata": {"name": app}, "spec": {"maxUnavailable": 1, "selector": selector}})

    def expose(self, app: str, *, policy: str = "Cluster", **options: str) -> None:
        """Give the pods of a Deployment a load balancer; ``options`` are annotations by the names of their options."""
        service = a_service(app, **options)
        service["spec"]["externalTrafficPolicy"] = policy
        self.stage.have_services(service)

    # What users see

    def node(self, name: str) -> dict[str, Any] | None:
        return self.stage.nodes().get(name)

    def is_open(self, name: str) -> bool:
        """Whether pods may come to the Node: it is Ready and nothing keeps them away."""
        return self.is_heard(name) and not self.taints(name)

    def is_heard(self, name: str) -> bool:
        """Whether the Node is said to be Ready."""
        node = self.node(name)
        return node is not None and _says(node, "Ready") == "True"

    def is_new(self, name: str) -> bool:
        """Whether the Node still waits for a cloud controller."""
        return UNINITIALIZED["key"] in self.taints(name)

    def taints(self, name: str) -> set[str]:
        node = self.node(name)
        return set() if node is None else taints(node)

    def is_routed(self, name: str) -> bool:
        """Whether the pods of the Node are reached: the network leads their addresses to its server, and the Node says
        so."""
        node = self.node(name)
        if node is None or not node["spec"].get("podCIDR"):
            return False
        leads_here = self.stage.routes().get(node["spec"]["podCIDR"]) == node["metadata"]["annotations"][NODE_IP]
        return leads_here and _says(node, "NetworkUnavailable") == "False"

    def pods_run_on(self, app: str) -> list[str]:
        """The Nodes of the pods that a Service would lead to now, one for each pod, sorted."""
        found = self._read(f"{_SLICES}?labelSelector=kubernetes.io/service-name={app}")["items"]
        ready = (point for piece in found for point in piece["endpoints"] or () if point["conditions"]["ready"])
        return sorted(point["nodeName"] for point in ready)

    def runs(self, app: str, pods: int) -> bool:
        nodes = self.pods_run_on(app)
        return len(nodes) == pods and all(map(self.is_heard, nodes))

    def targets(self, app: str) -> dict[str, bool]:
        """Name of each server to which the address that the Service publishes leads → whether it answers on all ports.
        Empty while nothing is published. A server that is gone has its id for a name."""
        names = {number: name for name, number in self._servers.items()}
        return {
            names.get(target["server"]["id"], str(target["server"]["id"])): _answers(target)
            for balancer in self._balancers_of(app)
            for target in balancer["targets"]
        }

    def serves(self, app: str, names: Iterable[str]) -> bool:
        """Whether the Service leads to exactly these, and all of them answer."""
        return self.targets(app) == dict.fromkeys(names, True)

    def health_checks(self, app: str) -> list[dict[str, Any]]:
        """What the load balancer of the Service asks its targets, for each port."""
        (balancer,) = self._balancers_of(app)
        return [service["health_check"] for service in balancer["services"]]

    def balancers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._asked("load_balancers")["load_balancers"]
        return found

    def _balancers_of(self, app: str) -> list[dict[str, Any]]:
        """Those that have an address which the Service publishes."""
        published = {entry.get("ip") for entry in ingress(self.stage.service(app))}
        return [found for found in self.balancers() if found["public_net"]["ipv4"]["ip"] in published]

    def _address(self, name: str) -> str:
        """The server's address in the network; "" while it has none."""
        places = self._asked(f"servers/{self._servers[name]}")["server"]["private_net"]
        return str(places[0]["ip"]) if places else ""

    def _evict(self, name: str) -> list[Any]:
        """Try to evict all pods of the Node; those that are still there."""
        pods: list[Any] = self._read(f"{_PODS}?fieldSelector=spec.nodeName={name}")["items"]
        for pod in pods:
            meta = {"name": pod["metadata"]["name"], "namespace": "default"}
            eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
            status, answer = self.stage.cluster.request("POST", f"{_PODS}/{meta['name']}/eviction", eviction)
            assert status in (201, 404, 429), answer
        return pods

    def _empty(self) -> None:
        """Take away what others have left."""
        self.stage.cluster.request("DELETE", _BUDGETS)
        self.stage.cluster.request("DELETE", _DEPLOYMENTS, {"propagationPolicy": "Background"})
        self.stage.remove_services()
        self.stage.remove_nodes()
        self.stage.remove_config_map()
        wait_for(lambda: not self._pods_after_deletion(), "the pods of others to be gone", within_s=DEADLINE_S)

    def _pods_after_deletion(self) -> list[Any]:
        self.stage.cluster.request("DELETE", _PODS, {"gracePeriodSeconds": 0})
        found: list[Any] = self._read(_PODS)["items"]
        return found

    def _read(self, path: str) -> Any:
        status, answer = self.stage.cluster.request("GET", path)
        assert status == 200, answer
        return answer

    def _write(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        status, answer = self.stage.cluster.request(method, path, body)
        assert status in (200, 201), answer

    def _asked(self, path: str) -> Any:
        status, answer = self.stage.to_project("GET", f"/{path}")
        assert status == 200, answer
        return answer


def _says(node: Mapping[str, Any], condition: str) -> str | None:
    """The status of a condition; None when the Node has none of it."""
    found = [each["status"] for each in node["status"].get("conditions", []) if each["type"] == condition]
    return found[0] if found else None


def _answers(target: Mapping[str, Any]) -> bool:
    health = [each["status"] for each in target["health_status"]]
    return bool(health) and set(health) == {"healthy"}


def _token_of_account(api_server: ApiServer) -> str:
    """A token of the product's ServiceAccount, which is installed as the manifests say."""
    accounts = "/api/v1/namespaces/kube-system/serviceaccounts"
    api_server.request("POST", accounts, {"metadata": {"name": _ACCOUNT}})
    grant(api_server, f"system:serviceaccount:kube-system:{_ACCOUNT}", shipped("observe.yaml", "reconcile.yaml"))
    for config_map in shipped("configmap.yaml"):
        api_server.request("POST", "/api/v1/namespaces/kube-system/configmaps", config_map)
    status, answer = api_server.request("POST", f"{accounts}/{_ACCOUNT}/token", {"spec": {"expirationSeconds": 86400}})
    assert status == 201, answer
    return str(answer["status"]["token"])
