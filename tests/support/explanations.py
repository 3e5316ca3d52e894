"""Explanations that people see, by name: of Nodes in every stage of their life, from worlds made of builders."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Network

from desired.explain.rows import Part, Row
from desired.model.route import ROUTED, UNROUTED, NetworkCondition
from desired.model.settings import Settings
from desired.model.snapshot import (
    AddressType,
    Condition,
    NodeAddress,
    Readiness,
    RobotAccount,
    ServerStatus,
    Snapshot,
    VolumeAttachment,
)
from desired.model.taint import Taint, with_out_of_service_taint
from desired.planner import compute_plan
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.selector import parse_selector
from reconciler.result import Explained, Report, Requests
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    a_joining_node,
    a_lost_node,
    a_network,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    a_workload,
    servers_of,
    workloads_of,
)
from tests.routes import ROUTING, a_pod_node, a_pod_server, a_route, a_routed_world, gateway_of, pods_of
from tests.support.judging import explain_object, judge, states_in
from tests.support.keys import key_of

NAT = a_route("0.0.0.0/0", gateway_of())
"""The network's way out leads through the server of web-1."""
WEB_2, SERVER_2 = a_pod_node(2), a_pod_server(2)
UNREAD = "network 'private' could not be read: Hetzner API GET /networks answers 503 Service Unavailable"


def _routed() -> Snapshot:
    """All is well, with two families of addresses; the way out of the network leads through its server."""
    node = a_pod_node(1, pods_of(), "fd00:10:244:1::/64")
    return a_routed_world([node, WEB_2], routes=[NAT, a_route(1), a_route(2, 2)])


def _rerouted() -> Snapshot:
    """The route to its pods leads to web-2, and one to pods of nobody leads to its server."""
    node = a_pod_node(says=UNROUTED)
    return a_routed_world([node, WEB_2], routes=[a_route(1, 2), a_route(2, 1), a_route("10.244.9.0/24", 1)])


def _unroutable() -> Snapshot:
    """Its server is not in the network, and what should be its second pod CIDR is none."""
    node = a_pod_node(1, pods_of(), "ten", addresses=a_pod_node().addresses[:-1])
    return a_routed_world([node, WEB_2], [a_pod_server(private_ips=()), SERVER_2])


def _over_limit() -> Snapshot:
    """Somebody else's routes have filled the network."""
    full = [a_route(f"172.20.{number}.0/24", "10.0.0.200") for number in range(100)]
    return a_routed_world([a_pod_node(says=None)], routes=full)


def _mismatched() -> Snapshot:
    """Its pods are outside of the cluster CIDR that is given, so that no route goes."""
    return a_routed_world([a_pod_node(1, "10.245.1.0/24", says=UNROUTED)], routes=[a_route(2, 1)])


def _held() -> Snapshot:
    """Two of four routes lead to its server, and no Node has the pods."""
    routes = [a_route(1), a_route(2, 2), a_route(8, 1), a_route(9, 1)]
    return a_routed_world([a_pod_node(), WEB_2], routes=routes)


def _dead() -> Snapshot:
    """Its server is proven gone, and its kubelet silent: the route leads nowhere."""
    node = a_lost_node(pod_cidrs=(pods_of(),), conditions=(*a_lost_node().conditions, _condition(ROUTED)))
    routes = [a_route(1), a_route(2, 2)]
    return a_routed_world([node, WEB_2], [SERVER_2], routes, members=[], confirmations={1: Absent()})


def _joining() -> Snapshot:
    """It has just registered, and its pods are within a range that is routed elsewhere as a whole."""
    addresses = (NodeAddress(AddressType.HOSTNAME, "web-1"),)
    node = a_pod_node(says=None, provider_id=None, taints=(UNINITIALIZED,), addresses=addresses, labels={})
    dead = a_route("10.244.0.0/23", "10.0.0.99")
    return a_routed_world([node, WEB_2], [a_pod_server(), SERVER_2], [dead, a_route(2, 2)], members=[])


def _unknown() -> Snapshot:
    """The route to its pods leads to an address of which could not be told who has it."""
    why = "Hetzner API GET /networks/7/members answers 503 Service Unavailable"
    return a_routed_world(
        [a_pod_node(says=ROUTED)], routes=[a_route(pods_of(), "10.0.0.77")], members=Section.missing(why)
    )


def _unread() -> Snapshot:
    """The network could not be read, and so nobody knows what its routes are."""
    return replace(a_routed_world(), network=Unknown(UNREAD), routes=Section.missing(UNREAD))


def _condition(said: NetworkCondition) -> Condition:
    return Condition("NetworkUnavailable", said.status, said.reason)


ROUTED_WORLDS: Mapping[str, tuple[Snapshot, Settings]] = {
    "routed": (_routed(), ROUTING),
    "rerouted": (_rerouted(), ROUTING),
    "unroutable": (_unroutable(), ROUTING),
    "over_limit": (_over_limit(), ROUTING),
    "mismatched": (_mismatched(), ROUTING),
    "routes_held": (_held(), ROUTING),
    "routes_dead": (_dead(), ROUTING),
    "routes_joining": (_joining(), ROUTING),
    "routes_unknown": (_unknown(), ROUTING),
    "routes_unread": (_unread(), ROUTING),
    "routes_off": (a_routed_world(), Settings(network="private")),
}
"""Name → world and settings."""


REQUESTS = Requests(kubernetes=2, hetzner=1, remaining=3599, limit=3600)
BORN = NOW - timedelta(days=30)
CONTROL = a_settled_node("control-1", 9, created_at=BORN)
CONTROL_SERVER = a_server(9, "control-1")
NO_API = (
    "Kubernetes API server https://10.0.0.1:6443 does not answer: connection refused; check that it is up and that the"
    " kubeconfig has its address"
)


def explained(
    snapshot: Snapshot,
    settings: Settings | None = None,
    key: str = "node/web-1",
    *,
    approved: tuple[str, ...] = (),
    requests: Requests = REQUESTS,
) -> Explained:
    """What ``reconcile explain`` says of an object of this world."""
    settings = settings or Settings()
    plan = judge(compute_plan(snapshot, settings), snapshot, settings, approved)
    report = Report(snapshot=snapshot, requests=requests, states=states_in(plan, snapshot, settings))
    found = explain_object(key, snapshot, settings, plan)
    if isinstance(found, str):
        return Explained(key_of(key), replace(report, errors=(found,)))
    return Explained(key_of(key), report, found)


def _settled() -> Explained:
    node = a_settled_node(
        created_at=BORN,
        labels={**SERVER_LABELS, "example.com/team": "blue"},
        taints=(Taint("dedicated", "NoSchedule", "web"),),
        conditions=(
            Condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            Condition("Ready", "True", "KubeletReady", NOW - timedelta(days=3)),
            Condition("NetworkUnavailable", "False", "CalicoIsUp"),
        ),
    )
    return explained(a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]))


def _drifted() -> Explained:
    """A server that was resized and is off; labels of a person; addresses of all kinds; an autoscaler's taint."""
    labels = {key: value for key, value in SERVER_LABELS.items() if key != "beta.kubernetes.io/instance-type"}
    labels |= {"node.kubernetes.io/instance-type": "cx22", "topology.kubernetes.io/zone": "rack-7"}
    labels |= {"servers.example.com/old": "x", "example.com/team": "blue"}
    node = a_settled_node(
        labels=labels,
        ready=Readiness.UNKNOWN,
        ready_since=NOW - timedelta(minutes=5),
        created_at=NOW - timedelta(days=1),
        provided_node_ip="10.0.0.2",
        addresses=(
            NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2"),
            NodeAddress(AddressType.INTERNAL_IP, "10.9.9.9"),
            NodeAddress(AddressType.HOSTNAME, "old-name"),
            NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.1"),
            NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::1"),
        ),
        taints=(Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", "1782907200"),),
    )
    server = a_server(
        status=ServerStatus.OFF,
        ipv6=IPv6Network("2001:db8:1::/64"),
        private_ips=((4, IPv4Address("10.0.0.2")),),
        labels={"role": "web"},
    )
    snapshot = a_snapshot([CONTROL, node], [CONTROL_SERVER, server], network=Present(a_network()))
    return explained(snapshot, Settings(network="private", mirror_labels="servers.example.com"))


def _unreadable() -> Explained:
    why = "server 1 could not be read: Object missing required field `server_type`"
    section = replace(servers_of(CONTROL_SERVER), expected=2, unreadable={1: why}, unreadable_names={1: "web-1"})
    return explained(a_snapshot([CONTROL, a_settled_node(created_at=BORN)], servers_section=section))


def _waiting() -> Explained:
    lost = a_lost_node(ready_since=NOW - timedelta(seconds=5))
    return explained(a_snapshot([CONTROL, lost], [CONTROL_SERVER]))


def _two_lost() -> Snapshot:
    """Two of three servers vanished at once, and one came back under the name of a lost Node."""
    nodes = [CONTROL, a_lost_node(), a_lost_node("web-2", 2)]
    servers = [CONTROL_SERVER, a_server(7, "web-1")]
    return a_snapshot(nodes, servers, confirmations={1: Absent(), 2: Absent()})


def _approved() -> Explained:
    snapshot = _two_lost()
    (hold,) = judge(compute_plan(snapshot, Settings()), snapshot, Settings()).holds
    return explained(snapshot, approved=(hold.hash,))


def _dedicated(number: int = 321) -> Explained:
    """A Node on a Robot server that is off: one InternalIP is kept and one is public."""
    addresses = [("Hostname", "db-1"), ("ExternalIP", "192.0.2.65"), ("InternalIP", "10.1.0.1"), ("InternalIP", "::1")]
    node = a_settled_node(
        "db-1",
        provider_id="hrobot://321",
        created_at=BORN,
        ready=Readiness.UNKNOWN,
        ready_since=NOW - timedelta(minutes=5),
        addresses=tuple(NodeAddress(AddressType(kind), text) for kind, text in addresses),
    )
    account = servers_of(a_robot_server(number, "db-1", status=ServerStatus.OFF), a_robot_server(322, "db-2"))
    snapshot = a_snapshot([CONTROL, node], [CONTROL_SERVER], robot=RobotAccount(account))
    return explained(snapshot, key="node/db-1")


EXPLANATIONS: Mapping[str, Explained] = {
    "settled": _settled(),
    "drifted": _drifted(),
    "joining": explained(
        a_snapshot(
            [
                CONTROL,
                a_joining_node(
                    addresses=(NodeAddress("InternalIP", "10.0.0.9"), NodeAddress("Hostname", "web-1")), conditions=()
                ),
            ],
            [CONTROL_SERVER, a_server()],
        )
    ),
    "unmatched": explained(
        a_snapshot(
            [CONTROL, a_settled_node("web-1", 1), a_joining_node("web1")],
            [CONTROL_SERVER, a_server(), a_server(2, "web-2")],
        ),
        key="node/web1",
    ),
    "foreign": explained(
        a_snapshot([CONTROL, a_node(provider_id="aws:///eu-central-1a/i-1", labels=SERVER_LABELS)], [CONTROL_SERVER])
    ),
    "ignored": explained(
        a_snapshot([CONTROL, a_settled_node(labels={**SERVER_LABELS, "lab": "yes"})], [CONTROL_SERVER, a_server()]),
        Settings(ignore_nodes=parse_selector("lab=yes")),
    ),
    "unclaimed": explained(a_snapshot([CONTROL, a_node()], [CONTROL_SERVER, a_server()])),
    "ambiguous": explained(
        a_snapshot(
            [CONTROL, a_settled_node(created_at=BORN), a_settled_node("web-old", 1, created_at=BORN)],
            [CONTROL_SERVER, a_server()],
        )
    ),
    "malformed": explained(a_snapshot([CONTROL, a_node(provider_id="hcloud://web-1")], [CONTROL_SERVER, a_server()])),
    "dedicated": _dedicated(),
    "dedicated_lost": _dedicated(400),
    "robot": explained(a_snapshot([CONTROL, a_node(provider_id="hrobot://7")], [CONTROL_SERVER])),
    "unreadable": _unreadable(),
    "waiting": _waiting(),
    "held": explained(_two_lost()),
    "approved": _approved(),
    "deleting": explained(
        a_snapshot(
            [CONTROL, a_lost_node(deleted_at=NOW - timedelta(minutes=9), finalizers=("example.com/drain",))],
            [CONTROL_SERVER],
        )
    ),
    "detaching": explained(
        replace(
            a_snapshot(
                [CONTROL, a_lost_node(taints=with_out_of_service_taint((), NOW - timedelta(seconds=20)))],
                [CONTROL_SERVER],
                confirmations={1: Absent()},
            ),
            volume_attachments=Section({"csi-1": VolumeAttachment("csi-1", "web-1")}),
        )
    ),
    "elsewhere": explained(a_snapshot([CONTROL, a_joining_node()], [a_server()])),
    "beside_hccm": explained(
        replace(
            a_snapshot([CONTROL, a_joining_node()], [CONTROL_SERVER, a_server()]),
            controllers=workloads_of(a_workload()),
        )
    ),
    "missing": explained(a_snapshot([CONTROL, a_settled_node()], [CONTROL_SERVER, a_server()]), key="node/web-2"),
    **{name: explained(*world) for name, world in ROUTED_WORLDS.items()},
    "no_api": Explained(key_of("node/web-1"), Report(errors=(NO_API,), requests=Requests(kubernetes=5))),
}
"""Name → explanation; examples of ``docs/explain.md`` have these names."""


def shown_rows(rows: Iterable[Row], part: Part, *subjects: str) -> list[str]:
    """``web-2 [healthy]: 203.0.113.2 -> (none), unselected, held``, of each row of a part, or of these subjects in it:
    a side that stays is told once, and the last word is the verdict on the change that brings it about."""
    return [_shown(row) for row in rows if row.part is part and (not subjects or row.subject in subjects)]


def _shown(row: Row) -> str:
    value, wanted = (side or "(none)" for side in (row.value, row.wanted))
    sides = value if value == wanted else f"{value} -> {wanted}"
    verdict = next((f", {word}" for word in ("waiting", "held", "refused") if f"; {word} (" in row.why), "")
    return f"{row.subject}{f' [{row.state}]' if row.state else ''}: {sides}, {row.rule}{verdict}"
