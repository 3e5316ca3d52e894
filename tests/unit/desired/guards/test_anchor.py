"""The guard ``project-anchor``: does the token see this cluster's project, and what waits until that is known."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

from desired.guards.anchor import (
    Anchor,
    AnchorState,
    anchor_of,
    asks_for_memory,
    is_served_elsewhere,
    to_remember,
    witnesses,
)
from desired.guards.guard import GuardResult
from desired.guards.project import anchor_notes, project_anchor
from desired.model.load_balancer import Attachment, CloudBalancer, IpTarget
from desired.model.remembered import Remembered
from desired.model.route import NetworkCondition
from desired.model.service import Ingress, Service
from desired.model.settings import Settings
from desired.model.snapshot import Network, Node, NodeAddress, Readiness, RobotAccount, Server, Snapshot
from desired.plan.change import Change, Plan
from desired.plan.notes import Note
from desired.rules import guards as rows
from desired.rules.rule import Plain, Rule
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer, a_served_service, a_service, a_world
from tests.builders import (
    NOW,
    a_change,
    a_dual_stack_server,
    a_joining_node,
    a_lost_node,
    a_network,
    a_server,
    a_settled_node,
    a_snapshot,
    an_identity,
    incomplete,
    servers_of,
)
from tests.routes import a_pod_server, a_route, routes_of
from tests.support.judging import facts_of
from tests.support.keys import key_of
from tests.support.rows import rows as cases


@cases("anchor expected is_certain", {
    "no-ready-node": (Anchor(0, 0, 0), AnchorState.NONE, True),
    "the-only-one-gone": (Anchor(1, 0, 0), AnchorState.VIOLATED, False),
    "exactly-half": (Anchor(2, 1, 0), AnchorState.HOLDS, True),
    "fewer-than-half": (Anchor(3, 1, 0), AnchorState.VIOLATED, False),
    "the-unknown-one-decides": (Anchor(3, 1, 1), AnchorState.UNDETERMINED, False),
    "the-unknown-one-cannot-help": (Anchor(5, 1, 1), AnchorState.VIOLATED, False),
    "the-unknown-one-is-not-needed": (Anchor(3, 2, 1), AnchorState.HOLDS, True),
    "none-ready-and-none-found": (Anchor(0, 0, 0, nodes=3), AnchorState.UNFOUND, True),
    "none-ready-and-one-found": (Anchor(0, 0, 0, nodes=3, present=1), AnchorState.NONE, True),
    "half-found-beside-an-unreadable-one": (Anchor(4, 2, 0, unreadable=1), AnchorState.HOLDS, False),
    "half-of-all-found": (Anchor(4, 3, 0, unreadable=2), AnchorState.HOLDS, True),
})  # fmt: skip
def test_state(anchor: Anchor, expected: AnchorState, is_certain: bool) -> None:
    """Half of the Ready Nodes make it hold, half of all that may be Ready make it certain. If none is Ready, one that
    is found tells the project."""
    assert (anchor.state, anchor.is_certain) == (expected, is_certain)


HOURS_AGO = NOW - timedelta(hours=2)
STALE = {"ready_since": HOURS_AGO, "heartbeat": HOURS_AGO}
SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}
A, B, C = (a_settled_node(name, number) for number, name in enumerate("abc", 1))
CORDONED_B, SPARE_B = a_settled_node("b", 2, unschedulable=True), a_settled_node("b", 2, labels=SPARE)
STALE_NODES = [a_settled_node(name, number, **STALE) for number, name in enumerate("abc", 1)]
NOT_READY = [a_settled_node(str(ready), ready=ready) for ready in Readiness if ready is not Readiness.TRUE]
HALF_READ: Section[str, Node] = Section({"a": A}, unreadable={"b": "no uid", "c": "no uid"})
S1, S2 = a_server(1), a_server(2)
GAP = incomplete(servers_of(S1))


@cases("snapshot expected", {
    "one-gone": (a_snapshot([A, B], [S1]), Anchor(2, 1, 0)),
    "none-ready": (a_snapshot(NOT_READY), Anchor(0, 0, 0, nodes=3)),
    "announced-nodes-do-not-count": (a_snapshot([A, CORDONED_B, C], [S1]), Anchor(2, 1, 0)),
    "ignored-nodes-do-not-count": (a_snapshot([A, SPARE_B], [S1]), Anchor(1, 1, 0)),
    "a-stale-heartbeat-counts-for-and-against": (a_snapshot(STALE_NODES, [S1]), Anchor(3, 1, 0)),
    "incomplete-list-makes-unknown": (a_snapshot([A, B], servers_section=GAP), Anchor(2, 1, 1)),
    "unreadable-nodes": (a_snapshot(nodes_section=HALF_READ, servers=[S1]), Anchor(1, 1, 0, unreadable=2)),
})  # fmt: skip
def test_anchor_of_cloud(snapshot: Snapshot, expected: Anchor) -> None:
    assert anchor_of(Provider.CLOUD, snapshot, SPARED) == expected


DOWN = a_settled_node("a", 1, ready=Readiness.FALSE, unschedulable=True)
SPARE_A = a_settled_node("a", 1, labels=SPARE)
BY_SERVER = {"node/a": "server"}


@cases("snapshot expected", {
    "a-nodes-server": (a_snapshot([A, B], [S1]), BY_SERVER),
    "every-nodes-server": (a_snapshot([A, B], [S1, S2]), {**BY_SERVER, "node/b": "server"}),
    "readiness-and-announcements-do-not-matter": (a_snapshot([DOWN], [S1]), BY_SERVER),
    "ignored": (a_snapshot([SPARE_A], [S1]), {}),
    "a-strangers-server": (a_snapshot([A], [a_server(9)]), {}),
})  # fmt: skip
def test_servers_as_witnesses(snapshot: Snapshot, expected: Mapping[str, str]) -> None:
    """A server of any of our Nodes proves the project, as its id is known from nowhere else."""
    assert witnesses(snapshot, SPARED) == expected


def reporting(*addresses: str, kind: str = "InternalIP", **fields: Any) -> Node:
    return a_joining_node(addresses=tuple(NodeAddress(kind, address) for address in addresses), **fields)


DUAL = a_dual_stack_server()
BY_ADDRESS = {"node/web-1": "address"}


@cases("node server expected", {
    "public-ipv4": (reporting("203.0.113.1"), DUAL, BY_ADDRESS),
    "any-host-of-its-ipv6-network": (reporting("2001:db8:1::7"), DUAL, BY_ADDRESS),
    "among-others": (reporting("10.0.0.2", "203.0.113.1"), DUAL, BY_ADDRESS),
    "private-networks-are-alike": (reporting("10.0.0.2"), DUAL, {}),
    "of-a-server-of-another-name": (reporting("203.0.113.1"), replace(DUAL, name="web-9"), {}),
    "server-without-any": (reporting("203.0.113.1"), replace(DUAL, ipv4=None, ipv6=None), {}),
    "a-kubelet-that-is-silent": (reporting("203.0.113.1", ready=Readiness.UNKNOWN), DUAL, {}),
    "not-joining": (reporting("203.0.113.1", taints=()), DUAL, {}),
    "another-providerID": (reporting("203.0.113.1", provider_id="hcloud://9"), DUAL, {}),
    "an-annotation-is-no-report": (a_joining_node(provided_node_ip="203.0.113.1"), DUAL, {}),
    "what-may-be-our-own-word": (reporting("203.0.113.1", kind="ExternalIP"), DUAL, {}),
    "no-address": (reporting("web-1", ""), DUAL, {}),
    "ignored": (reporting("203.0.113.1", labels=SPARE), DUAL, {}),
})  # fmt: skip
def test_a_joining_nodes_address_as_a_witness(node: Node, server: Server, expected: Mapping[str, str]) -> None:
    """A public address is that of one server in the world; the annotation, which a person may have mistyped, an
    ExternalIP and private addresses prove nothing."""
    assert witnesses(a_snapshot([node, a_lost_node("old", 9)], [server]), SPARED) == expected


FOUND = {"network/4": "network"}


@cases("network setting expected", {
    "given-by-id": (Present(a_network(4)), "4", FOUND),
    "given-by-id-with-zeros": (Present(a_network(4)), "0004", FOUND),
    "given-by-name": (Present(a_network(4)), "private", {}),
    "given-by-the-start-of-an-id": (Present(a_network(40)), "4", {}),
    "not-there": (Absent(), "4", {}),
})  # fmt: skip
def test_the_network_as_a_witness(
    network: Present[Network | None] | Absent | Unknown, setting: str | None, expected: Mapping[str, str]
) -> None:
    """The network proves the project when it was given by its id: a name may exist in any project."""
    assert witnesses(a_snapshot(network=network), Settings(network=setting)) == expected


OTHERS = "another-cluster"
BALANCER = {"load_balancer/#42": "load balancer"}
ODD, PRIVATE = Ingress(hostname="shop.example.com"), Ingress("10.0.0.7")
PLACE = Attachment(7, IPv4Address("10.0.0.7"))
ATTACHED = a_balancer(attachments=(PLACE,))
INTERNAL = a_balancer(attachments=(PLACE,), spec={"public_interface": False})
ALIVE, UNPUBLISHED = a_served_service(), a_service()
GONE = a_lost_node("gone", 98)


@cases("services balancers expected", {
    "a-living-services-label": ([ALIVE], [a_balancer(cluster_uid=None)], BALANCER),
    "not-published-as-one-that-we-have-just-made": ([UNPUBLISHED], [a_balancer()], {}),
    "another-address": ([ALIVE], [a_balancer(ipv4=IPv4Address("203.0.113.9"), ipv6=None)], {}),
    "one-address-is-enough": ([ALIVE], [a_balancer(ipv4=IPv4Address("203.0.113.9"))], BALANCER),
    "a-published-name-says-nothing": ([replace(ALIVE, ingress=(ODD,))], [a_balancer()], {}),
    "a-private-address-beside-a-public-one": ([replace(ALIVE, ingress=(PRIVATE,))], [ATTACHED], {}),
    "a-private-address-alone": ([replace(ALIVE, ingress=(PRIVATE,))], [INTERNAL], BALANCER),
    "our-clusters-label-alone": ([], [a_balancer(service_uid=None)], {}),
    "our-clusters-label-and-a-dead-service": ([], [a_balancer()], {}),
    "another-clusters-with-our-services-uid": ([ALIVE], [a_balancer(cluster_uid=OTHERS)], {}),
    "a-name-is-no-proof": ([ALIVE], [a_balancer(service_uid=None, cluster_uid=None)], {}),
    "whatever-the-service-is": ([replace(ALIVE, type="ClusterIP", deleted_at=NOW)], [a_balancer(cluster_uid=None)],
        BALANCER),
    "every-one-of-them": ([ALIVE], [a_balancer(7), a_balancer(8, cluster_uid=OTHERS), a_balancer(9, cluster_uid=None)],
        {"load_balancer/#7": "load balancer", "load_balancer/#9": "load balancer"}),
})  # fmt: skip
def test_load_balancers_as_witnesses(
    services: list[Service], balancers: list[CloudBalancer], expected: Mapping[str, str]
) -> None:
    """A load balancer proves the project by our labels, once its Service publishes an address that only it has."""
    snapshot = a_world(services, balancers, nodes=[GONE], servers=[])
    assert witnesses(snapshot, Settings()) == expected


@cases("world expected", {
    "identity-unknown": ({"cluster_uid": Unknown("403")}, {"load_balancer/#9": "load balancer"}),
    "services-not-read": ({"services": None}, {}),
    "load-balancers-not-read": ({"load_balancers": None}, {}),
})  # fmt: skip
def test_witnesses_that_cannot_be_told(world: dict[str, Any], expected: Mapping[str, str]) -> None:
    nobodys = a_balancer(8, service_uid=None, cluster_uid=None)
    snapshot = a_world([ALIVE], [a_balancer(7), nobodys, a_balancer(9, cluster_uid=None)], nodes=[GONE], servers=[])
    assert witnesses(replace(snapshot, **world), Settings()) == expected


STRANGERS = a_balancer(service_uid=None, cluster_uid=None)


@cases("remembered expected", {
    "nobody-asked": (None, {}),
    "unknown": (Unknown("403"), {}),
    "nothing": (Remembered(), {}),
    "the-network-given-by-name": (Remembered(4), {"network/4": "remembered network"}),
    "by-its-id": (Remembered(None, (41, 42)), {"load_balancer/#42": "remembered load balancer"}),
    "ids-of-another-kind": (Remembered(42, (4,)), {}),
})  # fmt: skip
def test_remembered_ids_as_witnesses(remembered: Remembered | Unknown | None, expected: dict[str, str]) -> None:
    """An id that was seen while the anchor held is in no other project, whatever became of labels and names."""
    lost = a_lost_node()
    snapshot = a_world([], [STRANGERS], nodes=[lost], servers=[], network=Present(a_network(4)), remembered=remembered)
    assert witnesses(snapshot, Settings(network="private")) == expected


def test_a_load_balancer_that_was_made_since_is_no_witness() -> None:
    """A person who approves one load balancer in a strange project has not approved the project: where anything is
    remembered, or may be, another one that is published by now proves nothing."""
    snapshot = a_world([ALIVE], [a_balancer()], nodes=[a_lost_node()], servers=[])
    assert witnesses(replace(snapshot, remembered=Remembered(None, (7,))), Settings()) == {}
    assert witnesses(replace(snapshot, remembered=Remembered(None, (7, 42))), Settings()) == {
        "load_balancer/#42": "remembered load balancer"
    }
    assert witnesses(replace(snapshot, remembered=Remembered(4)), Settings()) == {}
    assert witnesses(replace(snapshot, remembered=Unknown("503")), Settings()) == {}
    assert witnesses(replace(snapshot, remembered=Remembered()), Settings()) == BALANCER


@cases("balancer expected", {
    "our-clusters-label": (a_balancer(), BALANCER),
    "a-living-services-label": (a_balancer(cluster_uid=None), BALANCER),
    "another-clusters": (a_balancer(cluster_uid=OTHERS), {}),
    "nobodys": (STRANGERS, {}),
})  # fmt: skip
def test_labels_are_enough_before_the_first_node(balancer: CloudBalancer, expected: Mapping[str, str]) -> None:
    """A cluster that is being born, or is at zero, may change its mind: what it has made need not be published."""
    snapshot = a_world([UNPUBLISHED], [balancer], nodes=[a_joining_node()], servers=[])
    assert witnesses(snapshot, Settings()) == expected
    assert witnesses(replace(snapshot, at_first=frozenset()), Settings()) == {}


def test_the_work_of_a_pass_is_no_witness() -> None:
    """A load balancer that the pass has made and published, and a Node that it has just made the server's, prove
    nothing to the rest of the pass."""
    snapshot = a_world([ALIVE], [a_balancer()])
    assert {*witnesses(snapshot, Settings())} == {"node/web-1", "load_balancer/#42"}
    assert witnesses(replace(snapshot, at_first=frozenset()), Settings()) == {}
    assert {*witnesses(replace(snapshot, at_first=frozenset({"node/web-1"})), Settings())} == {"node/web-1"}


LOST = a_lost_node()
NETWORKED: dict[str, Any] = {"network": Present(a_network(4))}


@cases("snapshot setting expected", {
    "nothing-is-found": (a_snapshot([LOST]), None, True),
    "a-server-is-found": (a_snapshot([LOST], [a_server()]), None, False),
    "the-network-by-id": (a_snapshot([LOST], **NETWORKED), "4", False),
    "the-network-by-name": (a_snapshot([LOST], **NETWORKED), "private", True),
    "violated": (a_snapshot([a_settled_node()]), None, False),
    "holds": (a_snapshot([a_settled_node()], [a_server()]), None, False),
    "being-born": (a_snapshot([a_joining_node()]), None, False),
    "a-name-alone": (a_snapshot([a_joining_node(), GONE], [DUAL]), None, True),
    "a-reported-address": (a_snapshot([reporting("203.0.113.1"), GONE], [DUAL]), None, False),
    "published": (a_world([ALIVE], [a_balancer()], nodes=[LOST], servers=[]), None, True),
    "no-node-and-its-own-label": (a_world([], [a_balancer()], nodes=[], servers=[]), None, False),
    "no-node-and-something-to-lose": (a_world([], [STRANGERS], nodes=[], servers=[]), None, True),
})  # fmt: skip
def test_asks_for_memory(snapshot: Snapshot, setting: str | None, expected: bool) -> None:
    assert asks_for_memory(snapshot, Settings(network=setting)) is expected


MINE, FOREIGN = a_balancer(7), a_balancer(8, cluster_uid=OTHERS)
KNOWN = Remembered(4, (5, 6))


@cases("world expected", {
    "nothing-was-read": ({}, KNOWN),
    "another-network": ({"network": Present(a_network(9))}, Remembered(9, (5, 6))),
    "a-network-that-is-not-there": ({"network": Absent()}, KNOWN),
    "no-load-balancers": ({"load_balancers": Section()}, Remembered(4)),
    "ours-alone": ({"load_balancers": Section({7: MINE, 8: FOREIGN})}, Remembered(4, (7,))),
    "a-gap": ({"load_balancers": incomplete(Section({7: MINE}))}, Remembered(4, (5, 6, 7))),
    "a Service with a finalizer is in no list": ({"load_balancers": Section({43: a_balancer(43, service_uid="x")}),
        "services": Section({"default/web": a_served_service()})}, Remembered(4, (5, 6, 43))),
    "a new Service has none yet": ({"load_balancers": Section({43: a_balancer(43, service_uid="x")}),
        "services": Section({"default/web": a_service()})}, Remembered(4, (43,))),
    "no-more-than-a-hundred": ({"load_balancers": Section({i: a_balancer(i) for i in range(1, 201)})},
        Remembered(4, tuple(range(1, 101)))),
})  # fmt: skip
def test_to_remember(world: dict[str, Any], expected: Remembered) -> None:
    assert to_remember(a_snapshot(**world), KNOWN) == expected


_ABROAD = a_balancer(43, service_uid="theirs", ipv4=IPv4Address("203.0.113.7"), ipv6=None)
_INSIDE = Attachment(7, IPv4Address("10.0.0.5"))
_BOTH = (Ingress("203.0.113.200"), Ingress("10.0.0.5"))
_NAMED = a_served_service(ingress=(Ingress(hostname="web.example.com"),))
_K3S = replace(
    a_settled_node(),
    provider_id="k3s://web-1",
    addresses=(
        NodeAddress("Hostname", "web-1"),
        NodeAddress("ExternalIP", "203.0.113.1"),
        NodeAddress("InternalIP", "10.0.0.1"),
    ),
)
SERVED, ALONE = a_served_service(), a_served_service(ingress=_BOTH[1:])
GONE_BY_HAND = a_served_service("gone", uid="gone", ingress=_NAMED.ingress)
BY_SERVICELB = a_served_service(ingress=(Ingress("203.0.113.1"), Ingress("10.0.0.1")))
BESIDE_IT = a_served_service(ingress=(Ingress("203.0.113.1"), Ingress("203.0.113.200")))
ABROAD_INSIDE = replace(_ABROAD, attachments=(_INSIDE,))


@cases("world expected", {
    "an empty project": (a_world([SERVED]), True),
    "a project with others": (a_world([SERVED], [_ABROAD]), True),
    "our own": (a_world([SERVED], [a_balancer()]), False),
    "our own, as its address says": (a_world([SERVED], [a_balancer(service_uid=None)]), False),
    "one is still to come": (a_world([SERVED, a_service("new")], [a_balancer()]), False),
    "one was deleted by hand": (a_world([SERVED, GONE_BY_HAND], [a_balancer()]), False),
    "somebody else publishes it": (a_world([a_served_service(finalizers=())]), False),
    "the Service is going": (a_world([a_served_service(deleted_at=NOW)]), False),
    "k3s' servicelb publishes addresses of Nodes": (a_world([BY_SERVICELB], nodes=[_K3S]), False),
    "an address beside that of a Node": (a_world([BESIDE_IT], nodes=[_K3S]), True),
    "a name in an empty project": (a_world([_NAMED]), True),
    "a name in a project with others": (a_world([_NAMED], [_ABROAD]), True),
    "a name of our own": (a_world([_NAMED], [a_balancer()]), False),
    "an empty entry": (a_world([a_served_service(ingress=(Ingress(),))]), False),
    "private addresses alone are alike as well": (a_world([ALONE], [ABROAD_INSIDE]), True),
    "a gap": (a_world([SERVED], load_balancers=incomplete(Section())), False),
    "nobody read them": (a_world([SERVED], load_balancers=None), False),
})  # fmt: skip
def test_is_served_elsewhere(world: Snapshot, expected: bool) -> None:
    assert is_served_elsewhere(world) is expected


def _internal(address: str) -> NodeAddress:
    """As the API server types it: compared by identity, no real Node's route was ever a witness."""
    return NodeAddress("InternalIP", address)


ROUTE = {"route/4/10.244.1.0/24": "route"}
TO_PODS, TO_OTHERS = routes_of(a_route()), routes_of(a_route(2), a_route("10.244.0.0/16"), a_route("0.0.0.0/0"))


@cases("node world expected", {
    "to-our-pods": ({}, {}, ROUTE),
    "by-other-words": ({"pod_cidrs": ("fd00::/64", "10.244.1.9/24")}, {}, ROUTE),
    "to-others": ({}, {"routes": TO_OTHERS}, {}),
    "not-read": ({}, {"routes": None}, {}),
    "no-network": ({}, {"network": Present(None)}, {}),
    "network-not-there": ({}, {"network": Absent()}, {}),
    "no-pods": ({"pod_cidrs": ()}, {}, {}),
    "to-an-unclaimed-nodes-pods": ({"provider_id": None}, {}, {}),
    "to-an-ignored-nodes-pods": ({"labels": SPARE}, {}, {}),
    "by-its-address": ({"addresses": (_internal("10.0.0.9"), _internal("10.0.0.2"))}, {}, ROUTE),
    "by-anothers-as-in-a-twin-of-the-cluster": ({"addresses": (_internal("10.0.0.3"),)}, {}, {}),
    "by-nobodys-as-it-reports-no-address": ({"addresses": ()}, {}, {}),
})  # fmt: skip
def test_routes_as_witnesses(node: dict[str, Any], world: dict[str, Any], expected: Mapping[str, str]) -> None:
    pods = {"pod_cidrs": ("10.244.1.0/24",), "addresses": (_internal("10.0.0.2"),)}
    snapshot = a_snapshot([a_settled_node(**pods | node)], network=Present(a_network(4)), routes=TO_PODS)
    assert witnesses(replace(snapshot, **world), SPARED) == expected


@cases("world expected", {
    "nothing-is-remembered": ({"remembered": Remembered()}, ROUTE),
    "another-network-is-remembered": ({"remembered": Remembered(7)}, {}),
    "what-is-remembered-is-unknown": ({"remembered": Unknown("403")}, {}),
    "a-server-with-another-address": ({"servers": servers_of(a_pod_server(501, "10.0.0.9"))}, ROUTE),
    "a-stranger-has-the-gateway": ({"servers": servers_of(a_pod_server(501, "10.0.0.2"))}, {}),
    "in-another-network": ({"servers": servers_of(a_pod_server(501, "10.0.0.2", network_id=5))}, ROUTE),
    "not-all-servers-could-be-read": ({"servers": incomplete(servers_of())}, {}),
    "what-is-published-is-not-here": ({"services": Section({ALIVE.id: ALIVE})}, {}),
    "a-name-is-published-and-is-not-here": ({"services": Section({ALIVE.id: _NAMED})}, {}),
    "nothing-is-published": ({"services": Section({UNPUBLISHED.id: UNPUBLISHED})}, ROUTE),
})  # fmt: skip
def test_a_route_is_the_weakest_witness(world: dict[str, Any], expected: Mapping[str, str]) -> None:
    """Of two projects made from one template the routes are the same: whatever contradicts outweighs them."""
    node = a_settled_node(pod_cidrs=("10.244.1.0/24",), addresses=(_internal("10.0.0.2"),))
    parts: dict[str, Any] = {"network": Present(a_network(4)), "routes": TO_PODS, "load_balancers": Section()}
    assert witnesses(replace(a_snapshot([node]), **parts | world), SPARED) == expected


LB = "load_balancer/ns/a"
MISSING: Section[int, Server] = Section.missing("401")
DELETE, INITIALISE, TYPE = a_change("node/old", "node.delete"), a_change(), a_change(f"{LB}/type", "lb.type")
SERVICE = a_change("service/ns/a/status", "service.status", before=(), after=("203.0.113.9",))
DERIVED = Plan((DELETE, INITIALISE, TYPE, SERVICE)).changes
"""What a Service is given follows from load balancers."""
KEYS = tuple(change.key for change in DERIVED)
OF_TALOS = a_change("node/talos/labels", "node.labels", after=an_identity("talos://x"))
ROBOT = a_change("node/robot", "node.delete", before=an_identity("hrobot://7"))
ROUTED_NODE = a_change("node/web-1/network", "node.network_condition", after=NetworkCondition("True", "NoRoute"))
"""Of a Node that has no providerID yet: it follows from the network all the same."""


def said(changes: Iterable[Change], snapshot: Snapshot, settings: Settings | None = None) -> list[GuardResult]:
    plan = Plan((*changes, ROBOT, OF_TALOS))
    return list(project_anchor(facts_of(plan, snapshot, settings or Settings())))


def noted(snapshot: Snapshot, provider: Provider = Provider.CLOUD) -> tuple[Note, ...]:
    return anchor_notes(facts_of(Plan(()), snapshot, Settings()), provider)


def cluster(found: int, gone: int, servers: Section[int, Server] | None = None) -> Snapshot:
    """A cluster of Ready Nodes of which so many servers are found and so many are not, and of one that is lost."""
    nodes = [a_lost_node("old", 99), *(a_settled_node(f"n-{i}", i) for i in range(1, found + gone + 1))]
    whole = servers_of(*(a_server(i, f"n-{i}") for i in range(1, found + 1)))
    return a_snapshot(nodes, servers_section=whole if servers is None else servers)


def mismatch(found: int, most: int, keys: tuple[str, ...] = KEYS) -> list[GuardResult]:
    """The hold of a violated anchor."""
    facts = {"found": found, "most": most, "needed": (most + 1) // 2}
    held = GuardResult.of(rows.PROJECT_MISMATCH, keys, facts, value=found, limit=(most + 1) // 2)
    return [held.leaving(found, of="project")]


UNREAD: dict[str, Plain] = {"project": "the project of HCLOUD_TOKEN", "found": 1, "needed": 2, "unread": 2}
ONE_READ = incomplete(servers_of(a_server(1)))


@cases("snapshot expected", {
    "all-found": (cluster(2, 0), []),
    "half-found": (cluster(1, 1), []),
    "fewer-than-half-found": (cluster(1, 2), mismatch(1, 3)),
    "enough-read-although-the-list-is-incomplete": (cluster(1, 1, ONE_READ), []),
    "too-little-read": (cluster(1, 2, ONE_READ), [GuardResult.of(rows.PROJECT_UNVERIFIED, KEYS, UNREAD)]),
})  # fmt: skip
def test_ready_nodes(snapshot: Snapshot, expected: list[GuardResult]) -> None:
    assert said(DERIVED, snapshot) == expected


@cases("found gone unreadable held", {
    "half-found-at-worst": (2, 1, 1, ()),
    "fewer-at-worst": (1, 1, 1, (DELETE.key,)),
    "all-found-and-more-unreadable": (3, 0, 4, (DELETE.key,)),
})  # fmt: skip
def test_removals_wait_for_a_certain_anchor(found: int, gone: int, unreadable: int, held: tuple[str, ...]) -> None:
    read = cluster(found, gone)
    nodes = replace(read.nodes, unreadable={f"u-{i}": "no uid" for i in range(unreadable)})
    waits = GuardResult.of(rows.REMOVALS_UNVERIFIED, held, {"nodes": counted(unreadable, "Node")})
    assert said(DERIVED, replace(read, nodes=nodes)) == ([waits] if held else [])


DOWN_OLD = a_settled_node("old", 1, ready=Readiness.FALSE)
DOWN_B = a_settled_node("b", 2, ready=Readiness.FALSE)
BY_ID = Present(a_network(4))


@cases("nodes servers network setting unfound", {
    "nothing-found": ([DOWN_OLD], [], Present(None), None, 1),
    "being-born": ([a_joining_node()], [9], Present(None), None, 0),
    "network-by-id": ([DOWN_OLD], [], BY_ID, "4", 0),
})  # fmt: skip
def test_without_a_ready_node(
    nodes: list[Node], servers: list[int], network: Any, setting: str | None, unfound: int
) -> None:
    snapshot = a_snapshot(nodes, [a_server(i) for i in servers], network=network)
    facts = {"found": 0, "most": unfound, "needed": 1}
    keys = [change.key for change in Plan((*DERIVED, ROUTED_NODE)).changes]
    expected = GuardResult.of(rows.PROJECT_UNKNOWN, keys, facts, value=0, limit=1)
    assert said((*DERIVED, ROUTED_NODE), snapshot, Settings(network=setting)) == ([expected] if unfound else [])


def test_a_cluster_that_is_being_born() -> None:
    snapshot, remove = a_snapshot([a_joining_node()], [a_server()]), a_change(LB, "lb.delete")
    expected = GuardResult.of(rows.PROJECT_EMPTY, (LB,), value=0, limit=1)
    assert said([INITIALISE, TYPE, remove], snapshot) == [expected]
    assert said([INITIALISE], snapshot) == []


@cases("parts row", {
    "servers": ({"servers_section": MISSING}, rows.PROJECT_UNVERIFIED),
    "memory": ({"remembered": Unknown("403")}, rows.PROJECT_IDS_UNREAD),
})  # fmt: skip
def test_a_cluster_of_which_too_little_was_read(parts: dict[str, Any], row: Rule) -> None:
    """What could not be read may be the witness: nobody is asked to approve anything, and nothing passes."""
    assert [(found.row, found.keys) for found in said(DERIVED, a_snapshot([DOWN_OLD], **parts))] == [(row, KEYS)]


PROJECT = key_of("project/cloud")


@cases("snapshot expected", {
    "violated": (cluster(0, 2), rows.PROJECT_MISMATCH.note(PROJECT, found=0, most=2, needed=1)),
    "holds": (cluster(1, 1), None),
    "undetermined": (cluster(0, 1, MISSING), None),
    "being-born": (a_snapshot([a_joining_node()]), None),
    "unfound": (a_snapshot([DOWN_OLD, DOWN_B]), rows.PROJECT_UNKNOWN.note(PROJECT, found=0, most=2)),
    "unfound-and-witnessed": (a_snapshot([DOWN_OLD, DOWN_B], network=BY_ID, remembered=Remembered(4)), None),
    "unfound-and-unread": (a_snapshot([DOWN_OLD], servers_section=MISSING), None),
    "unfound-and-memory-unread": (a_snapshot([DOWN_OLD], remembered=Unknown("403")),
        rows.PROJECT_IDS_UNREAD.note(PROJECT, error="403")),
})  # fmt: skip
def test_notes_on_an_empty_plan(snapshot: Snapshot, expected: Note | None) -> None:
    assert noted(snapshot) == ((expected,) if expected else ())


METAL = [a_settled_node(f"m-{i}", provider_id=f"hrobot://{i}") for i in (1, 2, 3)]
AS_ADDRESS = {"before": None, "after": IpTarget("203.0.113.7"), "cloud_id": 42}
COMES, MOVES = a_change(f"{LB}/target/ip", "lb.target", **AS_ADDRESS), a_change("node/m-1/labels", "node.labels")
BACK = a_balancer(42, targets=(IpTarget("203.0.113.7"),))


def metal(servers: Section[int, Server], *, balancers: Iterable[CloudBalancer] = (), down: bool = False) -> Snapshot:
    """Three Nodes on dedicated servers, and one in the cloud that is in order; of the account these were read."""
    nodes = [replace(node, conditions=()) if down else node for node in METAL]
    listed = Section({balancer.id: balancer for balancer in balancers})
    cloud = a_snapshot([a_settled_node("n-1", 1), *nodes], [a_server(1, "n-1")], robot=RobotAccount(servers))
    return replace(cloud, load_balancers=listed)


def of_robot(row: Rule, *keys: str, **measured: Any) -> list[GuardResult]:
    """What is said of the account."""
    unread, found = UNREAD | {"project": "the account of ROBOT_USER"}, {"found": 1, "most": 3, "needed": 2}
    return [GuardResult.of(row, keys, found if row is rows.ROBOT_MISMATCH else unread, **measured)]


ONE, ALL_3 = servers_of(a_server(1)), servers_of(*(a_server(i) for i in (1, 2, 3)))
HELD = of_robot(rows.ROBOT_MISMATCH, COMES.key, MOVES.key, value=1, limit=2)
MISMATCH = [each.leaving(1, of="account") for each in HELD]


@cases("snapshot expected", {
    "all-found": (metal(ALL_3), []),
    "fewer-than-half-found": (metal(ONE), MISMATCH),
    "not-read": (replace(metal(ONE), robot=None), []),
    "too-little-read": (metal(incomplete(ONE)), of_robot(rows.PROJECT_UNVERIFIED, COMES.key, MOVES.key)),
    "a-target-that-comes-back-was-one-before": (metal(ONE, balancers=[BACK]),
        [replace(MISMATCH[0], keys=(MOVES.key,))]),
    "a-target-that-was-none-before": (metal(ONE, balancers=[a_balancer(42)]), MISMATCH),
    "one-is-enough-where-none-is-ready": (metal(ONE, down=True), []),
})  # fmt: skip
def test_the_account_of_robot(snapshot: Snapshot, expected: list[GuardResult]) -> None:
    found = project_anchor(facts_of(Plan((COMES, MOVES)), snapshot, Settings()))
    assert [each for each in found if each.keys] == expected


def test_notes_on_the_account() -> None:
    assert noted(metal(ALL_3), Provider.ROBOT) == ()
    note = rows.ROBOT_MISMATCH.note(key_of("project/robot"), found=1, most=3, needed=2)
    assert noted(metal(ONE), Provider.ROBOT) == (note,)
