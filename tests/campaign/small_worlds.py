"""All small worlds: two Nodes in every state, one Service with one load balancer in every state of ownership, and every
circumstance that guards look at, as values that a plan is made from.

Machine 1 is Node ``web-1`` on server 1, with 10.0.0.2 in network 7 and the pods 10.244.1.0/24. Nodes are told apart by
their number alone, so that of two worlds which differ in it one is enough.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations_with_replacement, product
from types import MappingProxyType
from typing import Any

from desired.annotations.options import Options
from desired.load_balancers.ownership import former_of, stamped
from desired.model.clocks import Clocks
from desired.model.load_balancer import Attachment, CloudBalancer, Health, IpTarget, ServerTarget, Target
from desired.model.route import CONDITION_NETWORK, ROUTED, Member, MemberKind, Route
from desired.model.service import Ingress, Service
from desired.model.settings import ServerLoss, Settings
from desired.model.snapshot import (
    AddressType,
    Condition,
    Network,
    Node,
    NodeAddress,
    RobotAccount,
    Server,
    ServerStatus,
    Snapshot,
    VolumeAttachment,
)
from desired.model.taint import Taint
from desired.names import (
    LABEL_CLUSTER_UID,
    LABEL_CONTROL_PLANE,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    OUT_OF_SERVICE_DELETED,
    TAINT_CLUSTER_AUTOSCALER,
    TAINT_OUT_OF_SERVICE,
)
from desired.section import Absent, Present, Section, Unknown
from tests.balancers import TYPES, a_balancer, a_listener, a_served_service, a_service, an_http_check
from tests.builders import (
    CLUSTER_UID,
    NOW,
    SERVER_LABELS,
    a_lost_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_workload,
    incomplete,
    workloads_of,
)
from tests.routes import CLUSTER_CIDR, gateway_of, pods_of

IN_CLOUD = ("there", "off", "gone", "unasked", "hidden", "unreadable")
"""States of a server: in the list, and off; not there by its id; not in the list, and not asked for by its id; not in
the list, and found by its id; arrived, and not to be decoded."""
IN_ROBOT = ("there", "gone", "hidden", "unreadable")
NODES = ("ready", "silent", "given up", "announced")
"""States of a Node: Ready; Unknown for five minutes; Unknown for two hours; Ready, with an autoscaler's taint."""


@dataclass(frozen=True, slots=True, order=True)
class Machine:
    """A Node with its server."""

    server: str
    node: str
    is_control_plane: bool = False
    is_dedicated: bool = False
    """Whether the server is Robot's."""

    @property
    def exists(self) -> bool:
        """Whether the server is there, whatever was read of it."""
        return self.server in ("there", "off", "hidden", "unreadable")

    @property
    def is_read(self) -> bool:
        """Whether the list has the server."""
        return self.server in ("there", "off")

    @property
    def is_up(self) -> bool:
        """Whether its kubelet says that it is Ready."""
        return self.node in ("ready", "announced")

    @property
    def answers(self) -> bool:
        """Whether health checks find it healthy."""
        return self.is_up and self.exists and self.server != "off"


Pair = tuple[Machine, Machine]


@dataclass(frozen=True, slots=True)
class World:
    """A world as it is drawn."""

    machines: Pair
    balancer: str = "ours"
    """Of ``BALANCERS``."""
    circumstance: str = "all is well"
    """Of ``CIRCUMSTANCES``."""

    def __str__(self) -> str:
        return f"{self.machines[0]}, {self.machines[1]}, {self.balancer}, {self.circumstance}"


def machines() -> Sequence[Machine]:
    """Every state of a Node and its server."""
    return [
        Machine(server, node, plane, dedicated)
        for dedicated, servers, nodes in ((False, IN_CLOUD, NODES), (True, IN_ROBOT, NODES[:3]))
        for server, node, plane in product(servers, nodes, (False, True))
    ]


def pairs() -> Sequence[Pair]:
    """All that two Nodes may be."""
    return [*combinations_with_replacement(machines(), 2)]


def worlds_of(pair: Pair) -> Iterator[World]:
    """All worlds with these two Nodes."""
    for balancer, circumstance in product(BALANCERS, CIRCUMSTANCES):
        yield World(pair, balancer, circumstance)


@dataclass(frozen=True, slots=True)
class Given:
    """A world as values: what a pass has read, and the operator's choices."""

    snapshot: Snapshot
    settings: Settings


# The load balancer and its Service.


@dataclass(frozen=True, slots=True)
class Balancer:
    """Whose the load balancer is, and whether a Service wants it."""

    service: Service | None
    changes: Mapping[str, Any] | None = field(default_factory=lambda: MappingProxyType({}))
    """How it differs from the one that is ours; None where there is none."""
    other: Service | None = None
    """One more Service."""


_NEW = a_service()
_PUBLISHED = a_served_service(
    ingress=tuple(Ingress(ip, ip_mode="VIP") for ip in ("203.0.113.200", "2001:db8::200", "10.0.0.50"))
)
_LEAVING = replace(_PUBLISHED, deleted_at=NOW)
_OTHER = replace(_PUBLISHED, name="db", uid="uid-db")
_ELSEWHERE = "99999999-2222-3333-4444-555555555555"
_UNLABELLED = {"service_uid": None, "cluster_uid": None}


def _released(label: str) -> Mapping[str, Any]:
    since = stamped(NOW - timedelta(minutes=5))
    labels = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: former_of(_PUBLISHED), label: since}
    return {"spec": {"labels": labels}}


BALANCERS: Mapping[str, Balancer] = {
    "none": Balancer(_NEW, None),
    "deleted by hand": Balancer(_PUBLISHED, None),
    "ours": Balancer(_PUBLISHED),
    "ours, with a check by hand": Balancer(
        _PUBLISHED, {"listeners": (a_listener(health_check=an_http_check(30080, path="/ping")),)}
    ),
    "ours, to be deleted": Balancer(_LEAVING),
    "protected, to be deleted": Balancer(_LEAVING, {"is_protected": True}),
    "ours, its Service vanished": Balancer(None),
    "protected, its Service vanished": Balancer(None, {"is_protected": True}),
    "by name, empty": Balancer(_NEW, {**_UNLABELLED, "targets": (), "listeners": ()}),
    "by name, in use": Balancer(_NEW, {**_UNLABELLED, "listeners": (a_listener(8080),)}),
    "of another cluster": Balancer(_NEW, {"service_uid": "uid-there", "cluster_uid": _ELSEWHERE}),
    "of another cluster, its Service vanished": Balancer(None, {"service_uid": "uid-there", "cluster_uid": _ELSEWHERE}),
    "of another Service": Balancer(_NEW, {"service_uid": _OTHER.uid}, _OTHER),
    "published, without label": Balancer(_PUBLISHED, {**_UNLABELLED, "spec": {"name": "renamed", "labels": {}}}),
    "released": Balancer(None, _released(LABEL_RELEASED)),
    "released by an earlier version": Balancer(None, _released(LABEL_DELETE_AFTER)),
}
"""States of ownership."""


# The circumstances.


@dataclass(frozen=True, slots=True)
class Circumstance:
    """What is otherwise than usual: of what was read, and of the operator's choices."""

    read: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot
    chosen: Callable[[Settings], Settings] = lambda settings: settings
    is_private: bool = False
    """Whether the load balancer leads to private addresses."""


def _without_network(settings: Settings) -> Settings:
    return replace(settings, network=None, routes=False)


def _out_of(network: Present[Network | None] | Absent | Unknown) -> Callable[[Snapshot], Snapshot]:
    return lambda snapshot: replace(snapshot, network=network, routes=None, members=None)


def _cut_off(name: str) -> Callable[[Snapshot], Snapshot]:
    """Of a list nothing but a part arrived."""

    def cut(snapshot: Snapshot) -> Snapshot:
        section: Section[Any, Any] | None = getattr(snapshot, name)
        parts: dict[str, Any] = {} if section is None else {name: incomplete(section)}
        return replace(snapshot, **parts)

    return cut


def _with_servers_cut_off(snapshot: Snapshot) -> Snapshot:
    """Of the list of servers but a part arrived, and a route to the pods of a Node leads to an address that none of
    these has."""
    routes = _more(snapshot.routes, {pods_of(1): Route(IPv4Network(pods_of(1)), _address(8))})
    return _cut_off("servers")(replace(snapshot, routes=routes))


def _with(**parts: Any) -> Callable[[Snapshot], Snapshot]:
    return lambda snapshot: replace(snapshot, **parts)


def _with_a_stranger(snapshot: Snapshot) -> Snapshot:
    """Beside the two there is a server that is no Node, and a route of pods of no Node leads to it."""
    found = Route(IPv4Network(pods_of(9)), _address(9))
    member = Member(MemberKind.SERVER, 9, found.gateway)
    server = a_server(9, "stranger", private_ips=((7, found.gateway),))
    return replace(
        snapshot,
        routes=_more(snapshot.routes, {str(found.destination): found}),
        members=_more(snapshot.members, {int(found.gateway): member}),
        servers=_more(snapshot.servers, {9: server}),
    )


def _more(section: Section[Any, Any] | None, items: Mapping[Any, Any]) -> Section[Any, Any]:
    assert section is not None
    return replace(section, items={**section.items, **items})


def _with_volumes(*, attached: bool = True, taint: str | None = None) -> Circumstance:
    """A volume is attached to each Node, or all were read and none is; each has the out-of-service taint with this
    value since a minute."""

    def read(snapshot: Snapshot) -> Snapshot:
        names = [*snapshot.nodes.items] if attached else []
        added = f"{NOW - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}"
        more = () if taint is None else (Taint(TAINT_OUT_OF_SERVICE, "NoExecute", taint, added),)
        nodes = {name: replace(node, taints=(*node.taints, *more)) for name, node in snapshot.nodes.items.items()}
        return replace(
            snapshot,
            nodes=replace(snapshot.nodes, items=nodes),
            volume_attachments=Section({f"csi-{name}": VolumeAttachment(f"csi-{name}", name) for name in names}),
        )

    return Circumstance(read, _tainting)


def _tainting(settings: Settings) -> Settings:
    return replace(settings, out_of_service=frozenset({ServerLoss.DELETED}))


_STRAY = Route(IPv4Network("10.99.0.0/24"), IPv4Address("10.0.0.77"))
"""A route of somebody else, which leads to no server."""
_NO_NETWORK = _out_of(Present(None))
CIRCUMSTANCES: Mapping[str, Circumstance] = {
    "all is well": Circumstance(),
    "the list of servers is cut off": Circumstance(_with_servers_cut_off),
    "the list of Nodes is cut off": Circumstance(_cut_off("nodes")),
    "the list of Services is cut off": Circumstance(_cut_off("services")),
    "the list of load balancers is cut off": Circumstance(_cut_off("load_balancers")),
    "the list of routes is cut off": Circumstance(_cut_off("routes")),
    "the cluster is unread": Circumstance(_with(cluster_uid=Unknown("403"))),
    "another controller runs": Circumstance(_with(controllers=workloads_of(a_workload()))),
    "another controller may run": Circumstance(_with(controllers=Section.missing("timeout"))),
    "clocks differ": Circumstance(_with(clocks=Clocks(hetzner=timedelta(hours=1)))),
    "no network": Circumstance(_NO_NETWORK, _without_network),
    "the network is gone": Circumstance(_out_of(Absent())),
    "the network is unread": Circumstance(_out_of(Unknown("429"))),
    "settings vanished": Circumstance(_NO_NETWORK, _without_network, is_private=True),
    "volumes are attached": _with_volumes(),
    "volumes are attached, Nodes are tainted": _with_volumes(taint=OUT_OF_SERVICE_DELETED),
    "volumes are detached, Nodes are tainted": _with_volumes(attached=False, taint=OUT_OF_SERVICE_DELETED),
    "volumes are attached, another tainted Nodes": _with_volumes(taint="nodeshutdown"),
    "a route leads to a server that is no Node": Circumstance(_with_a_stranger),
    "the cluster CIDR is mistaken": Circumstance(
        chosen=lambda settings: replace(settings, cluster_cidr=_STRAY.destination),
    ),
}


# A world as values.


def given(world: World) -> Given:
    """What a pass reads of the world, and its settings."""
    circumstance = CIRCUMSTANCES[world.circumstance]
    numbered = list(enumerate(world.machines, start=1))
    usual = _settings(has_robot=any(machine.is_dedicated for machine in world.machines))
    snapshot = circumstance.read(_snapshot(world, numbered, is_private=circumstance.is_private))
    return Given(snapshot, circumstance.chosen(usual))


_SUBNETS = IPv4Network("10.0.0.0/24"), IPv4Network("10.1.0.0/24")
_NETWORK = Network(7, "private", _SUBNETS, IPv4Network("10.0.0.0/8"), zones=frozenset({"eu-central"}))
_PLACE = Attachment(7, IPv4Address("10.0.0.50"))
_DAY = timedelta(days=1)


def _settings(*, has_robot: bool) -> Settings:
    return Settings(
        network="7",
        routes=not has_robot,
        cluster_cidr=CLUSTER_CIDR,
        robot=has_robot,
        balancer_defaults=Options(location="fsn1"),
    )


def _snapshot(world: World, numbered: Sequence[tuple[int, Machine]], *, is_private: bool) -> Snapshot:
    balancer = BALANCERS[world.balancer]
    in_cloud = [(number, machine) for number, machine in numbered if not machine.is_dedicated]
    in_robot = [(number, machine) for number, machine in numbered if machine.is_dedicated]
    inside = {number for number, machine in in_cloud if machine.exists}
    services = [found for found in (balancer.service, balancer.other) if found is not None]
    found = None if balancer.changes is None else _balancer(balancer.changes, numbered, is_private=is_private)
    routes = [_STRAY, *(Route(IPv4Network(pods_of(n)), IPv4Address(gateway_of(n))) for n, _ in in_cloud)]
    return Snapshot(
        taken_at=NOW,
        cluster_uid=Present(CLUSTER_UID),
        nodes=Section({node.name: node for node in (_node(*each, is_routed=not in_robot) for each in numbered)}),
        servers=_servers(in_cloud),
        confirmations=_confirmations(in_cloud),
        network=Present(replace(_NETWORK, server_ids=frozenset(inside))),
        robot=RobotAccount(_servers(in_robot), confirmations=_confirmations(in_robot)) if in_robot else None,
        routes=Section({str(route.destination): route for route in routes}),
        members=Section({int(_address(n)): Member(MemberKind.SERVER, n, _address(n)) for n in inside}),
        services=Section({service.id: service for service in services}),
        load_balancers=Section({} if found is None else {found.id: found}),
        balancer_types=TYPES,
        controllers=workloads_of(),
    )


def _address(number: int) -> IPv4Address:
    return IPv4Address(gateway_of(number))


def _balancer(
    changes: Mapping[str, Any], numbered: Sequence[tuple[int, Machine]], *, is_private: bool
) -> CloudBalancer:
    targets = {number: _target(number, machine, is_private=is_private) for number, machine in numbered}
    said = {targets[n]: Health.HEALTHY if machine.answers else Health.UNHEALTHY for n, machine in numbered}
    return a_balancer(**{"targets": tuple(targets.values()), "health": said, "attachments": (_PLACE,), **changes})


def _target(number: int, machine: Machine, *, is_private: bool) -> Target:
    if machine.is_dedicated:
        return IpTarget(f"10.1.0.{number}" if is_private else f"192.0.2.{number}")
    return ServerTarget(number, use_private_ip=is_private)


_SILENT_FOR = {"silent": timedelta(minutes=5), "given up": timedelta(hours=2)}


def _node(number: int, machine: Machine, *, is_routed: bool) -> Node:
    name = f"web-{number}"
    public, private = (
        (f"192.0.2.{number}", f"10.1.0.{number}")
        if machine.is_dedicated
        else (f"203.0.113.{number}", gateway_of(number))
    )
    labels = {**SERVER_LABELS, **({LABEL_CONTROL_PLANE[0]: ""} if machine.is_control_plane else {})}
    said: dict[str, Any] = {
        "labels": {**labels, **(_LABELS_OF_ROBOT if machine.is_dedicated else {})},
        "provider_id": f"hrobot://{number}" if machine.is_dedicated else f"hcloud://{number}",
        "addresses": (
            NodeAddress(AddressType.HOSTNAME, name),
            NodeAddress(AddressType.EXTERNAL_IP, public),
            NodeAddress(AddressType.INTERNAL_IP, private),
        ),
        "pod_cidrs": (pods_of(number),),
        "created_at": NOW - _DAY,
    }
    if machine.is_up:
        node = a_settled_node(name, number, ready_since=NOW - _DAY, heartbeat=NOW, **said)
    else:
        node = a_lost_node(name, number, ready_since=NOW - _SILENT_FOR[machine.node], **said)
    if machine.node == "announced":
        node = replace(node, taints=(Taint(TAINT_CLUSTER_AUTOSCALER, "NoSchedule"),))
    routed = (Condition(CONDITION_NETWORK, ROUTED.status, ROUTED.reason),) if is_routed else ()
    return replace(node, conditions=(*node.conditions, *routed))


_LABELS_OF_ROBOT = {
    "beta.kubernetes.io/instance-type": "AX41-NVMe",
    "node.kubernetes.io/instance-type": "AX41-NVMe",
    "instance.hetzner.cloud/provided-by": "robot",
}


def _servers(numbered: Sequence[tuple[int, Machine]]) -> Section[int, Server]:
    """What the list has. One that lacks a server which is found by its id is known not to be whole."""
    listed = {n: _server(n, machine) for n, machine in numbered if machine.is_read}
    unreadable = {n: "it has no status" for n, machine in numbered if machine.server == "unreadable"}
    section = Section(listed, unreadable=unreadable)
    is_short = any(machine.server == "hidden" for _, machine in numbered)
    return incomplete(section, "it lacks a server, which a GET by its id finds") if is_short else section


def _server(number: int, machine: Machine) -> Server:
    if machine.is_dedicated:
        return a_robot_server(number, f"web-{number}")
    status = ServerStatus.OFF if machine.server == "off" else ServerStatus.RUNNING
    private = ((7, IPv4Address(gateway_of(number))),)
    return a_server(number, f"web-{number}", status=status, private_ips=private, network_zone="eu-central")


def _confirmations(numbered: Sequence[tuple[int, Machine]]) -> Mapping[int, Absent | Unknown]:
    return {number: Absent() for number, machine in numbered if machine.server == "gone"}
