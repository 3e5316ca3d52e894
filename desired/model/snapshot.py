"""Snapshot: everything that one reading found, with its time, and the values of Nodes, servers and networks in it.

Services, load balancers and routes have modules of their own beside this one. ``Workload`` is what may be another cloud
controller.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from types import MappingProxyType
from typing import Any, Final

from desired.model.clocks import NO_OTHER_CLOCKS, Clocks
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import BalancerType, Certificate, CloudBalancer, PrimaryIp
from desired.model.remembered import Remembered
from desired.model.route import CONDITION_NETWORK, Member, NetworkCondition, Route
from desired.model.service import Service
from desired.model.serving import Serving
from desired.model.taint import Taint
from desired.model.workload import Workload
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.provider_id import Provider, ServerKey

_NOTHING: Mapping[str, str] = MappingProxyType({})
ROBOT_NOT_READ = "Robot servers are not read"


class AddressType(StrEnum):
    """Types of Node addresses that this product reads or writes (Kubernetes core/v1 NodeAddressType)."""

    HOSTNAME = "Hostname"
    INTERNAL_IP = "InternalIP"
    EXTERNAL_IP = "ExternalIP"
    INTERNAL_DNS = "InternalDNS"
    EXTERNAL_DNS = "ExternalDNS"


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """One entry of ``status.addresses``. ``address`` is kept as text: a Hostname is no IP address."""

    type: str
    address: str


class Readiness(StrEnum):
    """The Node condition ``Ready``; MISSING when the kubelet has not written it yet."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Condition:
    """One Node condition. ``since`` is its ``lastTransitionTime``, ``heartbeat`` its ``lastHeartbeatTime``; None when
    there is none."""

    type: str
    status: str
    reason: str = ""
    since: datetime | None = None
    heartbeat: datetime | None = field(default=None, compare=False)
    """Two conditions that differ in it alone are equal: a heartbeat is no news, starts no pass and is no drift."""


@dataclass(frozen=True, slots=True)
class SyncCondition:
    """What the condition ``NodeInSync`` of a Node should say."""

    status: str
    """``True``, ``False`` or ``Unknown``."""
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Node:
    """A Kubernetes Node, as far as the rules look at it."""

    name: str
    uid: str
    resource_version: str
    created_at: datetime
    provider_id: str | None = None
    """``spec.providerID`` as it stands, parsed by ``provider_id``; None while it is unset or empty."""
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    taints: tuple[Taint, ...] = ()
    """In the order of the API server: the whole list is written back when it changes."""
    addresses: tuple[NodeAddress, ...] = ()
    provided_node_ip: str | None = None
    """Annotation ``alpha.kubernetes.io/provided-node-ip``; None when it is not there, "" when it is empty."""
    conditions: tuple[Condition, ...] = ()
    """As they stand. Ready is the kubelet's word, or kube-controller-manager's when the kubelet is silent."""
    unschedulable: bool = False
    deleted_at: datetime | None = None
    """``metadata.deletionTimestamp``; None unless the Node is being deleted."""
    finalizers: tuple[str, ...] = ()
    """The controllers that have to finish before the API server removes the Node."""
    pod_cidrs: tuple[str, ...] = ()
    """``spec.podCIDRs`` as it stands; empty while none is assigned."""

    @property
    def key(self) -> Key:
        """The Node's key in plans."""
        return Key(ObjectKind.NODE, self.name)

    @property
    def ready(self) -> Readiness:
        """The status of the condition ``Ready``."""
        found = self._ready_condition()
        return Readiness.MISSING if found is None else _READINESS.get(found.status, Readiness.UNKNOWN)

    @property
    def ready_since(self) -> datetime:
        """Since when the Node is as Ready, or as little, as it is: its creation, when no condition says."""
        found = self._ready_condition()
        return (found.since if found else None) or self.created_at

    @property
    def heartbeat(self) -> datetime | None:
        """When the kubelet last said how Ready the Node is; None when that is not told."""
        found = self._ready_condition()
        return found.heartbeat if found else None

    @property
    def heard_at(self) -> datetime:
        """When Ready was last written: when it became what it is, or with a heartbeat, whichever was later."""
        return max(self.ready_since, self.heartbeat or self.ready_since)

    def unheard_for(self, now: datetime) -> timedelta:
        """Time since something was last heard of the Node, at ``now``; negative when that was written in the future."""
        return now - self.heard_at

    def _ready_condition(self) -> Condition | None:
        return self.condition("Ready")

    @property
    def network_condition(self) -> NetworkCondition | None:
        """The condition ``NetworkUnavailable``; None when it was not written."""
        found = self.condition(CONDITION_NETWORK)
        return NetworkCondition(found.status, found.reason) if found else None

    def condition(self, kind: str) -> Condition | None:
        """The condition of this type; None when it was not written."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


_READINESS = {"True": Readiness.TRUE, "False": Readiness.FALSE, "Unknown": Readiness.UNKNOWN}


class ServerStatus(StrEnum):
    """Status of a Hetzner Cloud server (Hetzner Cloud API, servers); OTHER for a value this version does not know."""

    RUNNING = "running"
    INITIALIZING = "initializing"
    STARTING = "starting"
    STOPPING = "stopping"
    OFF = "off"
    DELETING = "deleting"
    REBUILDING = "rebuilding"
    MIGRATING = "migrating"
    UNKNOWN = "unknown"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Server:
    """A server of Hetzner Cloud or of Robot, as far as the rules look at it."""

    id: int
    """Of Robot the server number. Unique within a provider."""
    name: str
    """Of Robot "" while the server has none."""
    status: ServerStatus
    """Of Robot UNKNOWN until it was asked for: the list does not tell."""
    type: str
    """Name of the server type, ``cpx32``; of Robot the name of the product, ``AX41-NVMe``, whatever it contains."""
    location: str
    """Name of the location, ``fsn1``; "" when the API sent none."""
    ipv4: IPv4Address | None = None
    """Public IPv4; None when the server has none. ``0.0.0.0`` is read as none."""
    ipv6: IPv6Network | None = None
    """Public IPv6 network, a /64; None when the server has none."""
    private_ips: tuple[tuple[int, IPv4Address], ...] = ()
    """(network id, main private address) of each attachment, in the order of the API."""
    alias_ips: tuple[tuple[int, IPv4Address], ...] = ()
    """(network id, further address) of each attachment: what a person routes by hand."""
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """The server's labels in the project, for those who want them mirrored."""
    missing: frozenset[str] = frozenset()
    """Fields that the API's answer lacked, ``private_net``: what they would say is not known. Null is an answer."""
    provider: Provider = Provider.CLOUD
    is_locked: bool = False
    """Whether Hetzner is changing it, as in a rescale or for a snapshot (``locked``); False of Robot."""
    zone: str = ""
    """Of Robot the data center, ``fsn1-dc14``; "" of Hetzner Cloud, whose API does not tell."""
    network_zone: str = ""
    """Of Hetzner Cloud the network zone of the location, ``eu-central``; "" of Robot, and when the API sent none."""

    @property
    def key(self) -> ServerKey:
        """What identifies the server among those of both providers."""
        return ServerKey(self.provider, self.id)

    def has_public(self, ip: IPv4Address | IPv6Address) -> bool:
        """Whether it is the server's public IPv4, or in its public IPv6 network."""
        return ip == self.ipv4 or (self.ipv6 is not None and ip in self.ipv6)


@dataclass(frozen=True, slots=True)
class RobotAccount:
    """The dedicated servers of the Robot account, by their numbers."""

    servers: Section[int, Server]
    """From a list that is at most as old as ROBOT_CACHE_TIMEOUT."""
    age: timedelta = timedelta(0)
    """Of that list, when the snapshot was made."""
    confirmations: Mapping[int, Absent | Unknown] = field(default_factory=lambda: MappingProxyType({}))
    """Number of a server that the list lacks → what a GET by its number said, as for those of Hetzner Cloud."""
    last_names: frozenset[str] = frozenset()
    """Names of the servers in the last list that was read, while none can be; empty when this one was."""


@dataclass(frozen=True, slots=True)
class Network:
    """A Hetzner private network."""

    id: int
    name: str
    subnets: tuple[IPv4Network, ...] = ()
    """Of every type, in the order of the API."""
    ip_range: IPv4Network | None = None
    """None when the API did not say."""
    server_ids: frozenset[int] = frozenset()
    """Servers that are in it by the network's own word, whether or not the list of servers has them; empty when it did
    not say."""
    zones: frozenset[str] | None = None
    """Network zones of its subnets; None when the API did not say all of them."""
    vswitches: tuple[IPv4Network, ...] | None = None
    """Those of its subnets that belong to a vSwitch; None when the API did not say of which type each is."""


@dataclass(frozen=True, slots=True)
class VolumeAttachment:
    """A volume that is attached to a Node, or is to be (Kubernetes storage/v1 VolumeAttachment)."""

    name: str
    node: str
    """``spec.nodeName``: the Node may be gone, or be another one of that name."""


_NO_NETWORK: Present[Network | None] = Present(None)


REGISTERED_AGAIN: Final = "deleted and registered again during this pass"
"""Why a Node is unknown that is another one by now than when the pass began."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything one pass read.

    ``network`` is the one that ``HCLOUD_NETWORK`` names: Present with None when no network is configured, Absent when
    the project has none of that id or name, Unknown when it could not be read.
    """

    taken_at: datetime
    """The API server's clock (its ``Date`` header), never this machine's."""
    cluster_uid: Present[str] | Unknown
    """UID of namespace ``kube-system``: the cluster's identity."""
    nodes: Section[str, Node]
    servers: Section[int, Server]
    network: Present[Network | None] | Absent | Unknown = _NO_NETWORK
    confirmations: Mapping[int, Absent | Unknown] = field(default_factory=lambda: MappingProxyType({}))
    """Id of a server that the list lacks → what a GET by its id said. Not in here: not asked. A server that the GET
    did find makes ``servers`` incomplete: then the list cannot be right."""
    robot: RobotAccount | None = None
    """None when Robot is not enabled, or has no credentials."""
    routes: Section[str, Route] | None = None
    """Those of the network, by their destination; None when there is no network. Its size is what counts towards the
    limit: what could not be read, as a destination of another family, is among ``unreadable``."""
    members: Section[int, Member] | None = None
    """The members that have an address in the network, by that address as a number; None when nothing depends on it:
    not read."""
    services: Section[str, Service] | None = None
    """By ``NAMESPACE/NAME``; None when the service controller is switched off."""
    unserved: Section[str, Service] | None = None
    """Services as well, where the service controller is switched off: no rule acts on them. None: it is on, or they
    could not be read."""
    load_balancers: Section[int, CloudBalancer] | None = None
    """None when no Service has one, or wants one: then none is read."""
    serving: Serving = field(default_factory=Serving)
    """The Services that are served here; what other processes serve in this cluster is among ``services`` as well."""
    certificates: Section[int, Certificate] | None = None
    """None when no Service uses one."""
    balancer_types: Mapping[str, BalancerType] | Unknown = field(default_factory=lambda: MappingProxyType({}))
    """Name → type: those of the load balancers that are there, and the whole catalog once a Service names another;
    Unknown when that could not be read."""
    primary_ips: Mapping[int | str, PrimaryIp | Absent | Unknown] = field(default_factory=lambda: MappingProxyType({}))
    """Id or name of a Primary IP that something depends on → what was found. Not in here: not asked."""
    volume_attachments: Section[str, VolumeAttachment] | None = None
    """By name; None when nothing depends on them: not read."""
    controllers: Section[str, Workload] | None = None
    """By key, what runs in the Lease's namespace, where another cloud controller may be; None: not read."""
    clocks: Clocks = field(default=NO_OTHER_CLOCKS, compare=False)
    """How far the other clocks were from that of ``taken_at``: they are never the same in two readings."""
    remembered: Remembered | Unknown | None = None
    """What the cluster remembered of its project when the pass began; None: not read, as nothing depends on it."""
    at_first: frozenset[str] | None = None
    """Witnesses of the project in the first pass of the chain (``anchor``); None: it begins with this one."""

    def servers_of(self, provider: Provider) -> Section[int, Server]:
        """The servers of a provider: all are unknown where those of Robot are not read."""
        if provider is Provider.CLOUD:
            return self.servers
        return Section.missing(ROBOT_NOT_READ) if self.robot is None else self.robot.servers

    def find(self, key: ServerKey) -> Present[Server] | Absent | Unknown:
        """The server with this key."""
        return self.servers_of(key.provider).find(key.id)

    def without(self, key: ServerKey) -> "Snapshot":
        """The same, as if the list had not had the server."""
        section = self.servers_of(key.provider).without(key.id)
        if key.provider is Provider.CLOUD:
            return replace(self, servers=section)
        return replace(self, robot=replace(self.robot, servers=section) if self.robot else None)

    def confirmation(self, key: ServerKey) -> Absent | Unknown | None:
        """What a GET of this very server said, which its list lacks; None: not asked."""
        if key.provider is Provider.CLOUD:
            return self.confirmations.get(key.id)
        return self.robot.confirmations.get(key.id) if self.robot else None

    def node(self, key: Key) -> Node | None:
        """The Node with this key of a plan; None when the key is no Node's, or the Node was not read."""
        return self.nodes.items.get(key.name) if key.kind is ObjectKind.NODE else None

    def sections(self) -> Mapping[str, Section[Any, Any]]:
        """Name → section of everything that is read as a whole list, in the order in which people read it."""
        read: dict[str, Section[Any, Any] | None] = {
            "nodes": self.nodes,
            "servers": self.servers,
            "robot": self.robot.servers if self.robot else None,
            "routes": self.routes,
            "services": self.services,
            "load_balancers": self.load_balancers,
            "certificates": self.certificates,
        }
        return {name: section for name, section in read.items() if section is not None}

    @property
    def node_addresses(self) -> frozenset[str]:
        """The addresses that Nodes report, and their hostnames."""
        return frozenset(each.address for node in self.nodes for each in node.addresses)

    def service(self, key: Key) -> Service | None:
        """The Service with this key of a plan; None when the key is no Service's, or the Service was not read."""
        return self.services.items.get(key.name) if self.services and key.kind is ObjectKind.SERVICE else None
