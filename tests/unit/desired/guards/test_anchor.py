"""The project anchor: does the token see this cluster's project."""

from collections.abc import Mapping
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
from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.remembered import Remembered
from desired.model.service import Ingress, Service
from desired.model.settings import Settings, Waits
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Readiness, Server, Snapshot
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import (
    NOW,
    a_dual_stack_server,
    a_joining_node,
    a_lost_node,
    a_network,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.routes import a_pod_server, a_route, routes_of
from tests.support.rows import rows


@rows("anchor expected", {
    "no-ready-node": (Anchor(0, 0, 0), AnchorState.NONE),
    "the-only-one-found": (Anchor(1, 1, 0), AnchorState.HOLDS),
    "the-only-one-gone": (Anchor(1, 0, 0), AnchorState.VIOLATED),
    "the-only-one-unknown": (Anchor(1, 0, 1), AnchorState.UNDETERMINED),
    "exactly-half": (Anchor(2, 1, 0), AnchorState.HOLDS),
    "fewer-than-half": (Anchor(3, 1, 0), AnchorState.VIOLATED),
    "more-than-half": (Anchor(3, 2, 0), AnchorState.HOLDS),
    "the-unknown-one-decides": (Anchor(3, 1, 1), AnchorState.UNDETERMINED),
    "the-unknown-one-cannot-help": (Anchor(5, 1, 1), AnchorState.VIOLATED),
    "the-unknown-one-is-not-needed": (Anchor(3, 2, 1), AnchorState.HOLDS),
    "none-ready-and-none-found": (Anchor(0, 0, 0, nodes=3), AnchorState.UNFOUND),
    "none-ready-and-one-found": (Anchor(0, 0, 0, nodes=3, present=1), AnchorState.NONE),
})  # fmt: skip
def test_state(anchor: Anchor, expected: AnchorState) -> None:
    """It holds when at least half of the Ready Nodes are found, and is violated when they cannot be. Where none is
    Ready one that is found tells the project."""
    assert anchor.state is expected


@rows("anchor expected", {
    "nothing-there": (Anchor(0, 0, 0), True),
    "half-found": (Anchor(4, 2, 0), True),
    "fewer-found": (Anchor(4, 1, 0), False),
    "half-found-beside-an-unreadable-one": (Anchor(4, 2, 0, unreadable=1), False),
    "half-of-all-found": (Anchor(4, 3, 0, unreadable=2), True),
    "nothing-but-unreadable": (Anchor(0, 0, 0, unreadable=1), False),
})  # fmt: skip
def test_certain(anchor: Anchor, expected: bool) -> None:
    """What could not be read may be Ready and not found: only half of it all is certain."""
    assert anchor.is_certain is expected


HOURS_AGO = NOW - timedelta(hours=2)
STALE = {"ready_since": HOURS_AGO, "heartbeat": HOURS_AGO}
BROKEN: Section[int, Server] = Section({1: a_server(1)}, unreadable={2: "no name"})
SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}
A, B, C = (a_settled_node(name, number) for number, name in enumerate("abc", 1))
CORDONED_B, SPARE_B = a_settled_node("b", 2, unschedulable=True), a_settled_node("b", 2, labels=SPARE)
STALE_NODES = [a_settled_node(name, number, **STALE) for number, name in enumerate("abc", 1)]
NOT_READY = [a_settled_node(str(ready), ready=ready) for ready in Readiness if ready is not Readiness.TRUE]
OTHERS_IDS = [a_settled_node(name, provider_id=f"{name}://01") for name in ("talos", "hrobot", "hcloud")]
READY_FOR_LONG = a_settled_node("a", 1, ready_since=NOW - timedelta(days=1))
JOINING = a_joining_node(provider_id="hcloud://1", ready=Readiness.TRUE)
HALF_READ: Section[str, Node] = Section({"a": A}, unreadable={"b": "no uid", "c": "no uid"})
S1, S2 = a_server(1), a_server(2)
GAP = incomplete(servers_of(S1))


@rows("snapshot expected", {
    "empty-cluster": (a_snapshot(), Anchor(0, 0, 0)),
    "one-gone": (a_snapshot([A, B], [S1]), Anchor(2, 1, 0)),
    "none-ready": (a_snapshot(NOT_READY), Anchor(0, 0, 0, nodes=3)),
    "announced-nodes-do-not-count": (a_snapshot([A, CORDONED_B, C], [S1]), Anchor(2, 1, 0)),
    "nodes-of-others-do-not-count": (a_snapshot([a_node("x"), *OTHERS_IDS], [S1]), Anchor(0, 0, 0)),
    "ignored-nodes-do-not-count": (a_snapshot([A, SPARE_B], [S1]), Anchor(1, 1, 0)),
    "ready-for-long-is-not-given-up": (a_snapshot([READY_FOR_LONG]), Anchor(1, 0, 0)),
    "a-stale-heartbeat-counts-for-and-against": (a_snapshot(STALE_NODES, [S1]), Anchor(3, 1, 0)),
    "unreadable-is-unknown": (a_snapshot([A, B, C], servers_section=BROKEN), Anchor(3, 1, 1)),
    "incomplete-list-makes-unknown": (a_snapshot([A, B], servers_section=GAP), Anchor(2, 1, 1)),
    "unreadable-nodes": (a_snapshot(nodes_section=HALF_READ, servers=[S1]), Anchor(1, 1, 0, unreadable=2)),
    "joining-with-a-provider-id": (a_snapshot([JOINING], [S1]), Anchor(1, 1, 0)),
})  # fmt: skip
def test_anchor_of_cloud(snapshot: Snapshot, expected: Anchor) -> None:
    """The Ready, unannounced Nodes of the cloud are counted, and what is known of their servers."""
    assert anchor_of(Provider.CLOUD, snapshot, SPARED) == expected


def test_a_ready_node_is_never_given_up() -> None:
    """No wait, not even none, makes a Node that reports count as announced, so that the anchor would not see it."""
    impatient = Settings(waits=Waits(timedelta(0), timedelta(0), timedelta(0)))
    assert anchor_of(Provider.CLOUD, a_snapshot([a_settled_node()]), impatient) == Anchor(1, 0, 0)


DOWN = a_settled_node("a", 1, ready=Readiness.FALSE, unschedulable=True)
SPARE_A = a_settled_node("a", 1, labels=SPARE)
BY_SERVER = {"node/a": "server"}


@rows("snapshot expected", {
    "nothing": (a_snapshot(), {}),
    "a-nodes-server": (a_snapshot([A, B], [S1]), BY_SERVER),
    "every-nodes-server": (a_snapshot([A, B], [S1, S2]), {**BY_SERVER, "node/b": "server"}),
    "readiness-and-announcements-do-not-matter": (a_snapshot([DOWN], [S1]), BY_SERVER),
    "a-name-is-no-proof": (a_snapshot([a_joining_node()], [S1]), {}),
    "ignored": (a_snapshot([SPARE_A], [S1]), {}),
    "a-strangers-server": (a_snapshot([A], [a_server(9)]), {}),
    "unknown-is-no-proof": (a_snapshot([A], servers_section=incomplete(servers_of())), {}),
    "unreadable-is-no-proof": (a_snapshot([B], servers_section=BROKEN), {}),
})  # fmt: skip
def test_servers_as_witnesses(snapshot: Snapshot, expected: Mapping[str, str]) -> None:
    """A server of any of our Nodes proves the project, as its id is known from nowhere else."""
    assert witnesses(snapshot, SPARED) == expected


def reporting(*addresses: str, kind: str = "InternalIP", **fields: Any) -> Node:
    return a_joining_node(addresses=tuple(NodeAddress(kind, address) for address in addresses), **fields)


DUAL = a_dual_stack_server()
BY_ADDRESS = {"node/web-1": "address"}


@rows("node server expected", {
    "public-ipv4": (reporting("203.0.113.1"), DUAL, BY_ADDRESS),
    "any-host-of-its-ipv6-network": (reporting("2001:db8:1::7"), DUAL, BY_ADDRESS),
    "among-others": (reporting("10.0.0.2", "203.0.113.1"), DUAL, BY_ADDRESS),
    "not-heard-of-yet": (reporting("203.0.113.1", ready=Readiness.MISSING), DUAL, BY_ADDRESS),
    "private-networks-are-alike": (reporting("10.0.0.2"), DUAL, {}),
    "of-another-server": (reporting("203.0.113.9"), DUAL, {}),
    "of-a-server-of-another-name": (reporting("203.0.113.1"), replace(DUAL, name="web-9"), {}),
    "server-without-any": (reporting("203.0.113.1"), replace(DUAL, ipv4=None, ipv6=None), {}),
    "a-kubelet-that-is-silent": (reporting("203.0.113.1", ready=Readiness.UNKNOWN), DUAL, {}),
    "ignored": (reporting("203.0.113.1", labels=SPARE), DUAL, {}),
    "not-joining": (reporting("203.0.113.1", taints=()), DUAL, {}),
    "another-providerID": (reporting("203.0.113.1", provider_id="hcloud://9"), DUAL, {}),
    "an-annotation-is-no-report": (a_joining_node(provided_node_ip="203.0.113.1"), DUAL, {}),
    "what-may-be-our-own-word": (reporting("203.0.113.1", kind="ExternalIP"), DUAL, {}),
    "a-name-that-looks-like-one": (reporting("203.0.113.1", kind="Hostname"), DUAL, {}),
    "no-address": (reporting("web-1", ""), DUAL, {}),
})  # fmt: skip
def test_a_joining_nodes_address_as_a_witness(node: Node, server: Server, expected: Mapping[str, str]) -> None:
    """A public address is that of one server in the world; the annotation, which a person may have mistyped, an
    ExternalIP and private addresses prove nothing."""
    assert witnesses(a_snapshot([node, a_lost_node("old", 9)], [server]), SPARED) == expected


FOUND = {"network/4": "network"}


@rows("network setting expected", {
    "given-by-id": (Present(a_network(4)), "4", FOUND),
    "given-by-id-with-a-zero": (Present(a_network(4)), "04", FOUND),
    "given-by-id-with-zeros": (Present(a_network(4)), "0004", FOUND),
    "given-by-name": (Present(a_network(4)), "private", {}),
    "given-by-a-name-that-is-a-number": (Present(a_network(4, "7")), "7", {}),
    "given-by-the-start-of-an-id": (Present(a_network(40)), "4", {}),
    "zeros-alone": (Present(a_network(4)), "0", {}),
    "empty": (Present(a_network(4)), "", {}),
    "not-configured": (Present(None), None, {}),
    "not-there": (Absent(), "4", {}),
    "unknown": (Unknown("429"), "4", {}),
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
DEAD = a_served_service(uid="dead")


@rows("services balancers expected", {
    "a-living-services-label": ([ALIVE], [a_balancer(cluster_uid=None)], BALANCER),
    "our-clusters-label-as-well": ([ALIVE], [a_balancer()], BALANCER),
    "not-published-as-one-that-we-have-just-made": ([UNPUBLISHED], [a_balancer()], {}),
    "another-address": ([ALIVE], [a_balancer(ipv4=IPv4Address("203.0.113.9"), ipv6=None)], {}),
    "one-address-is-enough": ([ALIVE], [a_balancer(ipv4=IPv4Address("203.0.113.9"))], BALANCER),
    "a-published-name-says-nothing": ([replace(ALIVE, ingress=(ODD,))], [a_balancer()], {}),
    "a-private-address-beside-a-public-one": ([replace(ALIVE, ingress=(PRIVATE,))], [ATTACHED], {}),
    "a-private-address-alone": ([replace(ALIVE, ingress=(PRIVATE,))], [INTERNAL], BALANCER),
    "our-clusters-label-alone": ([], [a_balancer(service_uid=None)], {}),
    "our-clusters-label-and-a-dead-service": ([], [a_balancer()], {}),
    "a-dead-services-label": ([], [a_balancer(cluster_uid=None)], {}),
    "another-living-service": ([DEAD], [a_balancer(cluster_uid=None)], {}),
    "another-clusters-with-our-services-uid": ([ALIVE], [a_balancer(cluster_uid=OTHERS)], {}),
    "an-empty-label-is-another-clusters": ([ALIVE], [a_balancer(cluster_uid="")], {}),
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


def test_a_witness_in_a_list_with_a_gap() -> None:
    """What was found is there, whatever else was not."""
    snapshot = replace(
        a_world([ALIVE], nodes=[GONE], servers=[]), load_balancers=incomplete(Section({42: a_balancer()}))
    )
    assert witnesses(snapshot, Settings()) == BALANCER


@rows("world expected", {
    "identity-unknown": ({"cluster_uid": Unknown("403")}, {"load_balancer/#9": "load balancer"}),
    "services-not-read": ({"services": None}, {}),
    "load-balancers-not-read": ({"load_balancers": None}, {}),
    "unreadable-is-no-proof": ({"load_balancers": Section(unreadable={7: "odd"})}, {}),
})  # fmt: skip
def test_witnesses_that_cannot_be_told(world: dict[str, Any], expected: Mapping[str, str]) -> None:
    """What is not known to be of this cluster proves nothing, and what has no label at all never does."""
    nobodys = a_balancer(8, service_uid=None, cluster_uid=None)
    snapshot = a_world([ALIVE], [a_balancer(7), nobodys, a_balancer(9, cluster_uid=None)], nodes=[GONE], servers=[])
    assert witnesses(replace(snapshot, **world), Settings()) == expected


STRANGERS = a_balancer(service_uid=None, cluster_uid=None)


@rows("remembered expected", {
    "nobody-asked": (None, {}),
    "unknown": (Unknown("403"), {}),
    "nothing": (Remembered(), {}),
    "others": (Remembered(5, (41, 43)), {}),
    "the-network-given-by-name": (Remembered(4), {"network/4": "remembered network"}),
    "by-its-id": (Remembered(None, (41, 42)), {"load_balancer/#42": "remembered load balancer"}),
    "ids-of-another-kind": (Remembered(42, (4,)), {}),
})  # fmt: skip
def test_what_is_remembered_as_a_witness(remembered: Remembered | Unknown | None, expected: dict[str, str]) -> None:
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


@rows("balancer expected", {
    "our-clusters-label": (a_balancer(), BALANCER),
    "a-living-services-label": (a_balancer(cluster_uid=None), BALANCER),
    "another-clusters": (a_balancer(cluster_uid=OTHERS), {}),
    "nobodys": (STRANGERS, {}),
})  # fmt: skip
def test_where_no_node_is_ours_yet_labels_are_enough(balancer: CloudBalancer, expected: Mapping[str, str]) -> None:
    """A cluster that is being born, or is at zero, may change its mind: what it has made need not be published."""
    snapshot = a_world([UNPUBLISHED], [balancer], nodes=[a_joining_node()], servers=[])
    assert witnesses(snapshot, Settings()) == expected
    assert witnesses(replace(snapshot, at_first=frozenset()), Settings()) == {}


def test_what_was_no_witness_when_the_pass_began_is_none() -> None:
    """A load balancer that the pass has made and published, and a Node that it has just made the server's, prove
    nothing to the rest of the pass."""
    snapshot = a_world([ALIVE], [a_balancer()])
    assert {*witnesses(snapshot, Settings())} == {"node/web-1", "load_balancer/#42"}
    assert witnesses(replace(snapshot, at_first=frozenset()), Settings()) == {}
    assert {*witnesses(replace(snapshot, at_first=frozenset({"node/web-1"})), Settings())} == {"node/web-1"}


LOST = a_lost_node()
NETWORKED: dict[str, Any] = {"network": Present(a_network(4))}


@rows("snapshot setting expected", {
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
    """What is remembered is read where nothing else tells whose project it is, and nowhere else."""
    assert asks_for_memory(snapshot, Settings(network=setting)) is expected


MINE, FOREIGN = a_balancer(7), a_balancer(8, cluster_uid=OTHERS)
KNOWN = Remembered(4, (5, 6))


@rows("world expected", {
    "nothing-was-read": ({}, KNOWN),
    "another-network": ({"network": Present(a_network(9))}, Remembered(9, (5, 6))),
    "a-network-that-is-not-there": ({"network": Absent()}, KNOWN),
    "no-load-balancers": ({"load_balancers": Section()}, Remembered(4)),
    "ours-alone": ({"load_balancers": Section({7: MINE, 8: FOREIGN})}, Remembered(4, (7,))),
    "a-gap": ({"load_balancers": incomplete(Section({7: MINE}))}, Remembered(4, (5, 6, 7))),
    "odd": ({"load_balancers": Section({7: MINE}, unreadable={6: "odd"})}, Remembered(4, (5, 6, 7))),
    "a Service with a finalizer is in no list": ({"load_balancers": Section({43: a_balancer(43, service_uid="x")}),
        "services": Section({"default/web": a_served_service()})}, Remembered(4, (5, 6, 43))),
    "a new Service has none yet": ({"load_balancers": Section({43: a_balancer(43, service_uid="x")}),
        "services": Section({"default/web": a_service()})}, Remembered(4, (43,))),
    "no-more-than-a-hundred": ({"load_balancers": Section({i: a_balancer(i) for i in range(1, 201)})},
        Remembered(4, tuple(range(1, 101)))),
})  # fmt: skip
def test_to_remember(world: dict[str, Any], expected: Remembered) -> None:
    """Ids of the network and of our load balancers; what was not read stays as it was."""
    assert to_remember(a_snapshot(**world), KNOWN) == expected


_ABROAD = a_balancer(43, service_uid="theirs", ipv4=IPv4Address("203.0.113.7"), ipv6=None)
_INSIDE = Attachment(7, IPv4Address("10.0.0.5"))
_BOTH = (Ingress("203.0.113.200"), Ingress("10.0.0.5"))
_NAMED = a_served_service(ingress=(Ingress(hostname="web.example.com"),))
_NAMESAKE = replace(_ABROAD, spec=replace(_ABROAD.spec, name="shop"))
_CALLED = a_claim(annotations=annotated(name="shop"))
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
OURS_INSIDE, ABROAD_INSIDE = a_balancer(attachments=(_INSIDE,)), replace(_ABROAD, attachments=(_INSIDE,))


@rows("world expected", {
    "an empty project": (a_world([SERVED]), True),
    "a project with others": (a_world([SERVED], [_ABROAD]), True),
    "our own": (a_world([SERVED], [a_balancer()]), False),
    "our own, as its address says": (a_world([SERVED], [a_balancer(service_uid=None)]), False),
    "one is still to come": (a_world([SERVED, a_service("new")], [a_balancer()]), False),
    "one was deleted by hand": (a_world([SERVED, GONE_BY_HAND], [a_balancer()]), False),
    "nothing was published yet": (a_world([a_service()]), False),
    "somebody else publishes it": (a_world([a_served_service(finalizers=())]), False),
    "the Service is going": (a_world([a_served_service(deleted_at=NOW)]), False),
    "k3s' servicelb publishes addresses of Nodes": (a_world([BY_SERVICELB], nodes=[_K3S]), False),
    "an address beside that of a Node": (a_world([BESIDE_IT], nodes=[_K3S]), True),
    "a name in an empty project": (a_world([_NAMED]), True),
    "a name in a project with others": (a_world([_NAMED], [_ABROAD]), True),
    "a name of our own": (a_world([_NAMED], [a_balancer()]), False),
    "a name of our own, by HCCM": (a_world([_NAMED], [a_balancer(cluster_uid=None)]), False),
    "somebody else publishes the name": (a_world([replace(_NAMED, finalizers=())]), False),
    "a namesake of what it asks for": (a_world([replace(_NAMED, claim=_CALLED)], [_NAMESAKE]), True),
    "an empty entry": (a_world([a_served_service(ingress=(Ingress(),))]), False),
    "private addresses are alike": (a_world([a_served_service(ingress=_BOTH)], [ABROAD_INSIDE]), True),
    "private addresses alone are alike as well": (a_world([ALONE], [ABROAD_INSIDE]), True),
    "a private address of our own": (a_world([ALONE], [OURS_INSIDE]), False),
    "a gap": (a_world([SERVED], load_balancers=incomplete(Section())), False),
    "nobody read them": (a_world([SERVED], load_balancers=None), False),
})  # fmt: skip
def test_is_served_elsewhere(world: Snapshot, expected: bool) -> None:
    """A Service that publishes anything has its load balancer in the cluster's own project: by label or address."""
    assert is_served_elsewhere(world) is expected


def _internal(address: str) -> NodeAddress:
    return NodeAddress(AddressType.INTERNAL_IP, address)


ROUTE = {"route/4/10.244.1.0/24": "route"}
TO_PODS, TO_OTHERS = routes_of(a_route()), routes_of(a_route(2), a_route("10.244.0.0/16"), a_route("0.0.0.0/0"))


@rows("node world expected", {
    "to-our-pods": ({}, {}, ROUTE),
    "whatever-the-node-says": ({"ready": Readiness.FALSE, "unschedulable": True}, {}, ROUTE),
    "by-other-words": ({"pod_cidrs": ("fd00::/64", "10.244.1.9/24")}, {}, ROUTE),
    "beside-a-gap": ({}, {"routes": incomplete(TO_PODS)}, ROUTE),
    "to-others": ({}, {"routes": TO_OTHERS}, {}),
    "unreadable-is-no-proof": ({}, {"routes": routes_of(unreadable={"10.244.1.0/24": "odd"})}, {}),
    "not-read": ({}, {"routes": None}, {}),
    "no-network": ({}, {"network": Present(None)}, {}),
    "network-not-there": ({}, {"network": Absent()}, {}),
    "network-unknown": ({}, {"network": Unknown("429")}, {}),
    "no-pods": ({"pod_cidrs": ()}, {}, {}),
    "to-another-clouds-pods": ({"provider_id": "aws://1"}, {}, {}),
    "to-an-unclaimed-nodes-pods": ({"provider_id": None}, {}, {}),
    "to-an-ignored-nodes-pods": ({"labels": SPARE}, {}, {}),
    "by-its-address": ({"addresses": (_internal("10.0.0.9"), _internal("10.0.0.2"))}, {}, ROUTE),
    "by-anothers-as-in-a-twin-of-the-cluster": ({"addresses": (_internal("10.0.0.3"),)}, {}, {}),
    "by-nobodys-as-it-reports-no-address": ({"addresses": ()}, {}, {}),
})  # fmt: skip
def test_routes_as_witnesses(node: dict[str, Any], world: dict[str, Any], expected: Mapping[str, str]) -> None:
    """A route to the pods of one of our Nodes proves the project, whatever became of the Node's server."""
    pods = {"pod_cidrs": ("10.244.1.0/24",), "addresses": (_internal("10.0.0.2"),)}
    snapshot = a_snapshot([a_settled_node(**pods | node)], network=Present(a_network(4)), routes=TO_PODS)
    assert witnesses(replace(snapshot, **world), SPARED) == expected


@rows("world expected", {
    "nothing-else": ({}, ROUTE),
    "nothing-is-remembered": ({"remembered": Remembered()}, ROUTE),
    "another-network-is-remembered": ({"remembered": Remembered(7)}, {}),
    "a-load-balancer-is-remembered": ({"remembered": Remembered(None, (94,))}, {}),
    "what-is-remembered-is-unknown": ({"remembered": Unknown("403")}, {}),
    "a-server-with-another-address": ({"servers": servers_of(a_pod_server(501, "10.0.0.9"))}, ROUTE),
    "a-stranger-has-the-gateway": ({"servers": servers_of(a_pod_server(501, "10.0.0.2"))}, {}),
    "a-stranger-of-the-nodes-name": ({"servers": servers_of(a_pod_server(501, "10.0.0.2", name="web-1"))}, {}),
    "in-another-network": ({"servers": servers_of(a_pod_server(501, "10.0.0.2", network_id=5))}, ROUTE),
    "not-all-servers-could-be-read": ({"servers": incomplete(servers_of())}, {}),
    "a-server-could-not-be-read": ({"servers": Section(unreadable={2: "no name"})}, {}),
    "what-is-published-is-not-here": ({"services": Section({ALIVE.id: ALIVE})}, {}),
    "a-name-is-published-and-is-not-here": ({"services": Section({ALIVE.id: _NAMED})}, {}),
    "nothing-is-published": ({"services": Section({UNPUBLISHED.id: UNPUBLISHED})}, ROUTE),
})  # fmt: skip
def test_a_route_is_the_weakest_witness(world: dict[str, Any], expected: Mapping[str, str]) -> None:
    """Of two projects made from one template the routes are the same: whatever contradicts outweighs them."""
    node = a_settled_node(pod_cidrs=("10.244.1.0/24",), addresses=(_internal("10.0.0.2"),))
    parts: dict[str, Any] = {"network": Present(a_network(4)), "routes": TO_PODS, "load_balancers": Section()}
    assert witnesses(replace(a_snapshot([node]), **parts | world), SPARED) == expected


def test_a_route_is_a_witness_by_an_address_as_the_api_server_types_it() -> None:
    """Types of addresses arrive as text: compared by identity, no real Node's route was ever a witness."""
    node = a_settled_node(pod_cidrs=("10.244.1.0/24",), addresses=(NodeAddress("InternalIP", "10.0.0.2"),))
    snapshot = a_snapshot([node], network=Present(a_network(4)), routes=TO_PODS)
    assert "route" in witnesses(snapshot, SPARED).values()


def test_all_witnesses() -> None:
    """Whatever is found is named."""
    down = a_settled_node("a", 1, ready=Readiness.FALSE)
    network = Present(a_network(4))
    snapshot = a_world([ALIVE], [a_balancer()], nodes=[down], servers=[a_server(1)], network=network)
    assert witnesses(snapshot, Settings(network="4")) == {"node/a": "server", **BALANCER, **FOUND}
