"""Kubelets of simulated servers: a server that is created joins as a Node, one that is off or gone goes silent.

What a world says of a Node holds until something happens to its server, or until the Node is initialized; from then on
the Node is as its kubelet reports it. A kubelet is found by the Node's providerID, or else by its server's name. It
also does what the cluster's own controllers would: it gives out the ranges of Pods, and marks and taints silent Nodes.

Known differences from a real cluster: a Node is Ready as soon as it is initialized, without any CNI; heartbeats are not
written while nothing changes, only Leases are; nobody evicts Pods, for there are none. Dedicated servers have no
kubelets.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Network
from typing import Any, Protocol

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Response
from hcloud_sandbox.hetzner import HetznerSimulator

Object = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
_LEASE_S = 40
_RENEWED_S = 10.0
_POD_RANGE = IPv4Network("10.244.0.0/16")
_UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip"
_PROVIDER_PREFIX = "hcloud://"
_ARCHITECTURES = {"x86": "amd64", "arm": "arm64"}
_REPORTS: Mapping[str, tuple[str, str]] = {
    "True": ("KubeletReady", "kubelet is posting ready status"),
    "False": ("KubeletNotReady", "container runtime network not ready: cni plugin not initialized"),
    "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
}
"""Status of Ready → its reason and message."""
_TAINTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "True": (),
    "False": ((_NOT_READY, "NoSchedule"), (_NOT_READY, "NoExecute")),
    "Unknown": ((_UNREACHABLE, "NoSchedule"), (_UNREACHABLE, "NoExecute")),
}
"""Status of Ready → key and effect of the taints that the cluster's own controllers keep with it."""


class Cluster(Protocol):
    """What kubelets speak to: the double, or a real API server."""

    worlds: int
    """How many worlds it has had: after each, kubelets begin anew."""

    def nodes(self) -> list[Object]:
        """All Nodes; for reading only."""

    def act(self, method: str, path: str, body: Any) -> Response:
        """The answer to a POST, or to a strategic PATCH, of one who may do everything."""


@dataclass(frozen=True, slots=True)
class KubeletOptions:
    """How fast kubelets and what watches them are. Raises ValueError for a negative time."""

    join_s: float = 5.0
    """From the start of a server to the moment when its kubelet speaks."""
    grace_s: float = 10.0
    """How long a kubelet is silent before its Node is Unknown; 50 s in a real cluster."""

    def __post_init__(self) -> None:
        for name, seconds in (("join_s", self.join_s), ("grace_s", self.grace_s)):
            if seconds < 0:
                raise ValueError(f"{name} is {seconds}: give 0 or more seconds")


@dataclass(slots=True)
class _Kubelet:
    """One kubelet. Times are seconds since the epoch."""

    node: str
    speaks_from: float | None
    """When it began to speak, or will; None while its server does not run."""
    silent_from: float
    """When its server stopped; without meaning while that runs."""
    is_uninitialized: bool = False
    """Whether the Node was, when it was last looked at."""
    reports: bool = False
    """Whether the Node is as the kubelet says, not as the world said."""
    has_registered: bool = True
    """Since its server was last started: a kubelet does not come back to a Node that somebody deleted."""
    renewed_at: float = float("-inf")


class Kubelets:
    """The kubelets of all servers of a project.

    ``tick`` has to be called again and again, and before time is skipped: a server stops when that is noticed.
    """

    def __init__(
        self,
        hetzner: HetznerSimulator,
        kubernetes: Cluster,
        clock: SimulatedClock,
        options: KubeletOptions,
    ) -> None:
        self._hetzner = hetzner
        self._kubernetes = kubernetes
        self._clock = clock
        self._options = options
        self._kubelets: dict[int, _Kubelet] = {}
        """Server's id → its kubelet."""
        self._last_range: str | None = None
        """The range for Pods that was given out last."""
        self._worlds = (-1, -1)
        self._look()

    def tick(self) -> None:
        """Do what is due now."""
        self._look()
        now = self._clock.timestamp()
        nodes = {node["metadata"]["name"]: node for node in self._kubernetes.nodes()}
        servers = {server["id"]: server for server in self._hetzner.servers()}
        for server_id, server in servers.items():
            if server_id not in self._kubelets:
                self._kubelets[server_id] = _Kubelet(_node_name(server), None, now, has_registered=False, reports=True)
        for server_id, kubelet in self._kubelets.items():
            self._follow(kubelet, servers.get(server_id), now)
        heard = {
            each.node for each in self._kubelets.values() if each.speaks_from is not None and now >= each.speaks_from
        }
        for server_id, kubelet in list(self._kubelets.items()):
            if server_id not in servers and (kubelet.node not in nodes or kubelet.node in heard):
                del self._kubelets[server_id]  # a server of its name that came later speaks for the Node
            elif kubelet.speaks_from is not None and now >= kubelet.speaks_from:
                self._speak(kubelet, servers[server_id], nodes, now)
            elif kubelet.speaks_from is None and kubelet.reports and now - kubelet.silent_from >= self._options.grace_s:
                since = datetime.fromtimestamp(kubelet.silent_from + self._options.grace_s, UTC)
                self._report(kubelet, nodes.get(kubelet.node), "Unknown", since)

    def _look(self) -> None:
        """Know the kubelets of a world that is new: its Nodes are as it says, and its other servers have none."""
        worlds = (self._hetzner.worlds, self._kubernetes.worlds)
        if worlds == self._worlds:
            return
        self._worlds = worlds
        now = self._clock.timestamp()
        servers = {server["id"]: server for server in self._hetzner.servers()}
        by_name = {_node_name(server): server_id for server_id, server in servers.items()}
        self._kubelets = {
            server_id: _Kubelet(_node_name(server), now if _runs(server) else None, now)
            for server_id, server in servers.items()
        }  # of servers without a Node, which do not join
        for node in self._kubernetes.nodes():
            name = node["metadata"]["name"]
            found = _server_id(node) or by_name.get(name)
            if found is not None:
                speaks_from = now if _runs(servers.get(found)) else None
                kubelet = _Kubelet(name, speaks_from, now, is_uninitialized=_is_uninitialized(node))
                # Not all at once: kubelets of a real cluster did not start in the same moment.
                kubelet.renewed_at = now - _RENEWED_S + found % 40 * _RENEWED_S / 40
                self._kubelets[found] = kubelet

    def _follow(self, kubelet: _Kubelet, server: Object | None, now: float) -> None:
        """Notice that the server was started or stopped."""
        if _runs(server) and kubelet.speaks_from is None:
            kubelet.speaks_from, kubelet.has_registered, kubelet.reports = now + self._options.join_s, False, True
        elif not _runs(server) and kubelet.speaks_from is not None:
            kubelet.speaks_from, kubelet.silent_from, kubelet.reports = None, now, True

    def _speak(self, kubelet: _Kubelet, server: Object, nodes: Mapping[str, Object], now: float) -> None:
        if not kubelet.has_registered:
            kubelet.has_registered = True
            if kubelet.node not in nodes:
                self._register(kubelet, server, nodes.values())
                return
        node = nodes.get(kubelet.node)
        if node is None:
            return
        was_uninitialized, kubelet.is_uninitialized = kubelet.is_uninitialized, _is_uninitialized(node)
        kubelet.reports |= was_uninitialized and not kubelet.is_uninitialized
        self._report(kubelet, node, "False" if kubelet.is_uninitialized else "True", self._clock.now())
        if now - kubelet.renewed_at >= _RENEWED_S:
            kubelet.renewed_at = now
            self._renew(kubelet, node)

    def _register(self, kubelet: _Kubelet, server: Object, others: Iterable[Object]) -> None:
        """Create the Node as a kubelet does that waits for a cloud controller."""
        name, machine = kubelet.node, _ARCHITECTURES[server["server_type"]["architecture"]]
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": machine}
        addresses = [{"type": "Hostname", "address": name}]
        annotations = {}
        if server["private_net"]:
            annotations[_PROVIDED_IP] = server["private_net"][0]["ip"]
            addresses.append({"type": "InternalIP", "address": server["private_net"][0]["ip"]})
        spec: Object = {"taints": [{"key": _UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]}
        if (pod_range := self._next_pod_range(others)) is not None:
            spec |= {"podCIDR": pod_range, "podCIDRs": [pod_range]}
        image = server["image"] or {"description": "Linux"}
        info = {
            "kubeletVersion": "v1.36.3",
            "osImage": image["description"],
            "kernelVersion": "6.8.0",
            "containerRuntimeVersion": "containerd://2.1.4",
            "operatingSystem": "linux",
            "architecture": machine,
        }
        size = {"cpu": str(server["server_type"]["cores"]), "memory": f"{server['server_type']['memory']}Gi"}
        capacity = {**size, "pods": "110"}
        status = {"addresses": addresses, "nodeInfo": info, "capacity": capacity, "allocatable": capacity}
        status["conditions"] = [_ready("False", self._clock.now())]
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        self._kubernetes.act("POST", "/api/v1/nodes", {"metadata": metadata, "spec": spec, "status": status})
        kubelet.is_uninitialized = True

    def _next_pod_range(self, nodes: Iterable[Object]) -> str | None:
        """A range for Pods that no Node has, one after the other, so that none comes back soon; None when all are."""
        taken = {node["spec"].get("podCIDR") for node in nodes}
        ranges = [str(found) for found in _POD_RANGE.subnets(new_prefix=24)]
        after = max((ranges.index(found) + 1 for found in (*taken, self._last_range) if found in ranges), default=0)
        free = next((found for found in ranges[after:] + ranges[:after] if found not in taken), None)
        self._last_range = free
        return free

    def _report(self, kubelet: _Kubelet, node: Object | None, ready: str, since: datetime) -> None:
        """Let the Node say so, unless it does, or is still as the world has it."""
        if node is None or not kubelet.reports:
            return
        path = f"/api/v1/nodes/{kubelet.node}"
        if _ready_of(node) != ready:
            self._kubernetes.act("PATCH", f"{path}/status", {"status": {"conditions": [_ready(ready, since)]}})
        taints = node["spec"].get("taints", [])
        wanted = [taint for taint in taints if taint.get("key") not in (_NOT_READY, _UNREACHABLE)]
        wanted += [{"key": key, "effect": effect} for key, effect in _TAINTS[ready]]
        if sorted(map(_named, wanted)) != sorted(map(_named, taints)):
            self._kubernetes.act("PATCH", path, {"spec": {"taints": wanted}})

    def _renew(self, kubelet: _Kubelet, node: Object) -> None:
        collection = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases"
        moment = self._clock.now().isoformat(timespec="microseconds").replace("+00:00", "Z")
        spec = {"holderIdentity": kubelet.node, "leaseDurationSeconds": _LEASE_S, "renewTime": moment}
        if self._kubernetes.act("PATCH", f"{collection}/{kubelet.node}", {"spec": spec}).status != 404:
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": kubelet.node, "uid": node["metadata"]["uid"]}
        lease = {"metadata": {"name": kubelet.node, "ownerReferences": [owner]}, "spec": spec}
        if self._kubernetes.act("POST", collection, lease).status == 404:
            self._kubernetes.act("POST", "/api/v1/namespaces", {"metadata": {"name": LEASE_NAMESPACE}})
            self._kubernetes.act("POST", collection, lease)


def _ready(status: str, since: datetime) -> Object:
    """The condition Ready."""
    reason, message = _REPORTS[status]
    moment = f"{since:%Y-%m-%dT%H:%M:%SZ}"
    times = {"lastTransitionTime": moment, **({} if status == "Unknown" else {"lastHeartbeatTime": moment})}
    return {"type": "Ready", "status": status, "reason": reason, "message": message, **times}


def _node_name(server: Object) -> str:
    """Name of the Node that a server's kubelet registers: its host name in lower case (k8s.io/component-helpers,
    GetHostname), since no Node's name has capitals."""
    return str(server["name"]).lower()


def _runs(server: Object | None) -> bool:
    return server is not None and server["status"] == "running"


def _server_id(node: Object) -> int | None:
    text = str(node["spec"].get("providerID", ""))
    number = text.removeprefix(_PROVIDER_PREFIX)
    return int(number) if text.startswith(_PROVIDER_PREFIX) and number.isdigit() else None


def _is_uninitialized(node: Object) -> bool:
    return any(taint.get("key") == _UNINITIALIZED for taint in node["spec"].get("taints", ()))


def _ready_of(node: Object) -> str | None:
    conditions = node["status"].get("conditions", ())
    return next((condition.get("status") for condition in conditions if condition.get("type") == "Ready"), None)


def _named(taint: Object) -> tuple[str, str]:
    return taint.get("key", ""), taint.get("effect", "")
