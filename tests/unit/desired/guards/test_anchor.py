"""The project anchor: does the token see this cluster's project."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        pytest.param(Anchor(0, 0, 0), AnchorState.NONE, id="no-ready-node"),
        pytest.param(Anchor(1, 1, 0), AnchorState.HOLDS, id="the-only-one-found"),
        pytest.param(Anchor(1, 0, 0), AnchorState.VIOLATED, id="the-only-one-gone"),
        pytest.param(Anchor(1, 0, 1), AnchorState.UNDETERMINED, id="the-only-one-unknown"),
        pytest.param(Anchor(2, 1, 0), AnchorState.HOLDS, id="exactly-half"),
        pytest.param(Anchor(3, 1, 0), AnchorState.VIOLATED, id="fewer-than-half"),
        pytest.param(Anchor(3, 2, 0), AnchorState.HOLDS, id="more-than-half"),
        pytest.param(Anchor(3, 1, 1), AnchorState.UNDETERMINED, id="the-unknown-one-decides"),
        pytest.param(Anchor(5, 1, 1), AnchorState.VIOLATED, id="the-unknown-one-cannot-help"),
        pytest.param(Anchor(3, 2, 1), AnchorState.HOLDS, id="the-unknown-one-is-not-needed"),
        pytest.param(Anchor(0, 0, 0, nodes=3), AnchorState.UNFOUND, id="none-ready-and-none-found"),
        pytest.param(Anchor(0, 0, 0, nodes=3, present=1), AnchorState.NONE, id="none-ready-and-one-found"),
    ],
)
def test_state(anchor: Anchor, expected: AnchorState) -> None:
    """It holds when at least half of the Ready Nodes are found, and is violated when they cannot be. Where none is
    Ready one that is found tells the project."""
    assert anchor.state is expected


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [
        pytest.param(Anchor(0, 0, 0), True, id="nothing-there"),
        pytest.param(Anchor(4, 2, 0), True, id="half-found"),
        pytest.param(Anchor(4, 1, 0), False, id="fewer-found"),
        pytest.param(Anchor(4, 2, 0, unreadable=1), False, id="half-found-beside-an-unreadable-one"),
        pytest.param(Anchor(4, 3, 0, unreadable=2), True, id="half-of-all-found"),
        pytest.param(Anchor(0, 0, 0, unreadable=1), False, id="nothing-but-unreadable"),
    ],
)
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


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(a_snapshot(), Anchor(0, 0, 0), id="empty-cluster"),
        pytest.param(a_snapshot([A, B], [S1]), Anchor(2, 1, 0), id="one-gone"),
        pytest.param(a_snapshot(NOT_READY), Anchor(0, 0, 0, nodes=3), id="none-ready"),
        pytest.param(a_snapshot([A, CORDONED_B, C], [S1]), Anchor(2, 1, 0), id="announced-nodes-do-not-count"),
        pytest.param(a_snapshot([a_node("x"), *OTHERS_IDS], [S1]), Anchor(0, 0, 0), id="nodes-of-others-do-not-count"),
        pytest.param(a_snapshot([A, SPARE_B], [S1]), Anchor(1, 1, 0), id="ignored-nodes-do-not-count"),
        pytest.param(a_snapshot([READY_FOR_LONG]), Anchor(1, 0, 0), id="ready-for-long-is-not-given-up"),
        pytest.param(a_snapshot(STALE_NODES, [S1]), Anchor(3, 1, 0), id="a-stale-heartbeat-counts-for-and-against"),
        pytest.param(a_snapshot([A, B, C], servers_section=BROKEN), Anchor(3, 1, 1), id="unreadable-is-unknown"),
        pytest.param(a_snapshot([A, B], servers_section=GAP), Anchor(2, 1, 1), id="incomplete-list-makes-unknown"),
        pytest.param(
            a_snapshot(nodes_section=HALF_READ, servers=[S1]), Anchor(1, 1, 0, unreadable=2), id="unreadable-nodes"
        ),
        pytest.param(a_snapshot([JOINING], [S1]), Anchor(1, 1, 0), id="joining-with-a-provider-id"),
    ],
)
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


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(a_snapshot(), {}, id="nothing"),
        pytest.param(a_snapshot([A, B], [S1]), BY_SERVER, id="a-nodes-server"),
        pytest.param(a_snapshot([A, B], [S1, S2]), {**BY_SERVER, "node/b": "server"}, id="every-nodes-server"),
        pytest.param(a_snapshot([DOWN], [S1]), BY_SERVER, id="readiness-and-announcements-do-not-matter"),
        pytest.param(a_snapshot([a_joining_node()], [S1]), {}, id="a-name-is-no-proof"),
        pytest.param(a_snapshot([SPARE_A], [S1]), {}, id="ignored"),
        pytest.param(a_snapshot([A], [a_server(9)]), {}, id="a-strangers-server"),
        pytest.param(a_snapshot([A], servers_section=incomplete(servers_of())), {}, id="unknown-is-no-proof"),
        pytest.param(a_snapshot([B], servers_section=BROKEN), {}, id="unreadable-is-no-proof"),
    ],
)
def test_servers_as_witnesses(snapshot: Snapshot, expected: Mapping[str, str]) -> None:
    """A server of any of our Nodes proves the project, as its id is known from nowhere else."""
    assert witnesses(snapshot, SPARED) == expected


def reporting(*addresses: str, kind: str = "InternalIP", **fields: Any) -> Node:
    """A joining Node whose kubelet reports these addresses."""
    return a_joining_node(addresses=tuple(NodeAddress(kind, address) for address in addresses), **fields)


DUAL = a_dual_stack_server()
BY_ADDRESS = {"node/web-1": "address"}


@pytest.mark.parametrize(
    ("node", "server", "expected"),
    [
        pytest.param(reporting("203.0.113.1"), DUAL, BY_ADDRESS, id="public-ipv4"),
        pytest.param(reporting("2001:db8:1::7"), DUAL, BY_ADDRESS, id="any-host-of-its-ipv6-network"),
        pytest.param(reporting("10.0.0.2", "203.0.113.1"), DUAL, BY_ADDRESS, id="among-others"),
        pytest.param(reporting("203.0.113.1", ready=Readiness.MISSING), DUAL, BY_ADDRESS, id="not-heard-of-yet"),
        pytest.param(reporting("10.0.0.2"), DUAL, {}, id="private-networks-are-alike"),
        pytest.param(reporting("203.0.113.9"), DUAL, {}, id="of-another-server"),
        pytest.param(reporting("203.0.113.1"), replace(DUAL, name="web-9"), {}, id="of-a-server-of-another-name"),
        pytest.param(reporting("203.0.113.1"), replace(DUAL, ipv4=None, ipv6=None), {}, id="server-without-any"),
        pytest.param(reporting("203.0.113.1", ready=Readiness.UNKNOWN), DUAL, {}, id="a-kubelet-that-is-silent"),
        pytest.param(reporting("203.0.113.1", labels=SPARE), DUAL, {}, id="ignored"),
        pytest.param(reporting("203.0.113.1", taints=()), DUAL, {}, id="not-joining"),
        pytest.param(reporting("203.0.113.1", provider_id="hcloud://9"), DUAL, {}, id="another-providerID"),
        pytest.param(a_joining_node(provided_node_ip="203.0.113.1"), DUAL, {}, id="an-annotation-is-no-report"),
        pytest.param(reporting("203.0.113.1", kind="ExternalIP"), DUAL, {}, id="what-may-be-our-own-word"),
        pytest.param(reporting("203.0.113.1", kind="Hostname"), DUAL, {}, id="a-name-that-looks-like-one"),
        pytest.param(reporting("web-1", ""), DUAL, {}, id="no-address"),
    ],
)
def test_a_joining_nodes_address_as_a_witness(node: Node, server: Server, expected: Mapping[str, str]) -> None:
    """A public address is that of one server in the world; the annotation, which a person may have mistyped, an
    ExternalIP and private addresses prove nothing."""
    assert witnesses(a_snapshot([node, a_lost_node("old", 9)], [server]), SPARED) == expected


FOUND = {"network/4": "network"}


@pytest.mark.parametrize(
    ("network", "setting", "expected"),
    [
        pytest.param(Present(a_network(4)), "4", FOUND, id="given-by-id"),
        pytest.param(Present(a_network(4)), "04", FOUND, id="given-by-id-with-a-zero"),
        pytest.param(Present(a_network(4)), "0004", FOUND, id="given-by-id-with-zeros"),
        pytest.param(Present(a_network(4)), "private", {}, id="given-by-name"),
        pytest.param(Present(a_network(4, "7")), "7", {}, id="given-by-a-name-that-is-a-number"),
        pytest.param(Present(a_network(40)), "4", {}, id="given-by-the-start-of-an-id"),
        pytest.param(Present(a_network(4)), "0", {}, id="zeros-alone"),
        pytest.param(Present(a_network(4)), "", {}, id="empty"),
        pytest.param(Present(None), None, {}, id="not-configured"),
        pytest.param(Absent(), "4", {}, id="not-there"),
        pytest.param(Unknown("429"), "4", {}, id="unknown"),
    ],
)
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


@pytest.mark.parametrize(
    ("services", "balancers", "expected"),
    [
        pytest.param([ALIVE], [a_balancer(cluster_uid=None)], BALANCER, id="a-living-services-label"),
        pytest.param([ALIVE], [a_balancer()], BALANCER, id="our-clusters-label-as-well"),
        pytest.param([UNPUBLISHED], [a_balancer()], {}, id="not-published-as-one-that-we-have-just-made"),
        pytest.param([ALIVE], [a_balancer(ipv4=IPv4Address("203.0.113.9"), ipv6=None)], {}, id="another-address"),
        pytest.param([ALIVE], [a_balancer(ipv4=IPv4Address("203.0.113.9"))], BALANCER, id="one-address-is-enough"),
        pytest.param([replace(ALIVE, ingress=(ODD,))], [a_balancer()], {}, id="a-published-name-says-nothing"),
        pytest.param([replace(ALIVE, ingress=(PRIVATE,))], [ATTACHED], {}, id="a-private-address-beside-a-public-one"),
        pytest.param([replace(ALIVE, ingress=(PRIVATE,))], [INTERNAL], BALANCER, id="a-private-address-alone"),
        pytest.param([], [a_balancer(service_uid=None)], {}, id="our-clusters-label-alone"),
        pytest.param([], [a_balancer()], {}, id="our-clusters-label-and-a-dead-service"),
        pytest.param([], [a_balancer(cluster_uid=None)], {}, id="a-dead-services-label"),
        pytest.param([DEAD], [a_balancer(cluster_uid=None)], {}, id="another-living-service"),
        pytest.param([ALIVE], [a_balancer(cluster_uid=OTHERS)], {}, id="another-clusters-with-our-services-uid"),
        pytest.param([ALIVE], [a_balancer(cluster_uid="")], {}, id="an-empty-label-is-another-clusters"),
        pytest.param([ALIVE], [a_balancer(service_uid=None, cluster_uid=None)], {}, id="a-name-is-no-proof"),
        pytest.param(
            [replace(ALIVE, type="ClusterIP", deleted_at=NOW)],
            [a_balancer(cluster_uid=None)],
            BALANCER,
            id="whatever-the-service-is",
        ),
        pytest.param(
            [ALIVE],
            [a_balancer(7), a_balancer(8, cluster_uid=OTHERS), a_balancer(9, cluster_uid=None)],
            {"load_balancer/#7": "load balancer", "load_balancer/#9": "load balancer"},
            id="every-one-of-them",
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        pytest.param({"cluster_uid": Unknown("403")}, {"load_balancer/#9": "load balancer"}, id="identity-unknown"),
        pytest.param({"services": None}, {}, id="services-not-read"),
        pytest.param({"load_balancers": None}, {}, id="load-balancers-not-read"),
        pytest.param({"load_balancers": Section(unreadable={7: "odd"})}, {}, id="unreadable-is-no-proof"),
    ],
)
def test_witnesses_that_cannot_be_told(world: dict[str, Any], expected: Mapping[str, str]) -> None:
    """What is not known to be of this cluster proves nothing, and what has no label at all never does."""
    nobodys = a_balancer(8, service_uid=None, cluster_uid=None)
    snapshot = a_world([ALIVE], [a_balancer(7), nobodys, a_balancer(9, cluster_uid=None)], nodes=[GONE], servers=[])
    assert witnesses(replace(snapshot, **world), Settings()) == expected


STRANGERS = a_balancer(service_uid=None, cluster_uid=None)


@pytest.mark.parametrize(
    ("remembered", "expected"),
    [
        pytest.param(None, {}, id="nobody-asked"),
        pytest.param(Unknown("403"), {}, id="unknown"),
        pytest.param(Remembered(), {}, id="nothing"),
        pytest.param(Remembered(5, (41, 43)), {}, id="others"),
        pytest.param(Remembered(4), {"network/4": "remembered network"}, id="the-network-given-by-name"),
        pytest.param(Remembered(None, (41, 42)), {"load_balancer/#42": "remembered load balancer"}, id="by-its-id"),
        pytest.param(Remembered(42, (4,)), {}, id="ids-of-another-kind"),
    ],
)
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


@pytest.mark.parametrize(
    ("balancer", "expected"),
    [
        pytest.param(a_balancer(), BALANCER, id="our-clusters-label"),
        pytest.param(a_balancer(cluster_uid=None), BALANCER, id="a-living-services-label"),
        pytest.param(a_balancer(cluster_uid=OTHERS), {}, id="another-clusters"),
        pytest.param(STRANGERS, {}, id="nobodys"),
    ],
)
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


@pytest.mark.parametrize(
    ("snapshot", "setting", "expected"),
    [
        pytest.param(a_snapshot([LOST]), None, True, id="nothing-is-found"),
        pytest.param(a_snapshot([LOST], [a_server()]), None, False, id="a-server-is-found"),
        pytest.param(a_snapshot([LOST], **NETWORKED), "4", False, id="the-network-by-id"),
        pytest.param(a_snapshot([LOST], **NETWORKED), "private", True, id="the-network-by-name"),
        pytest.param(a_snapshot([a_settled_node()]), None, False, id="violated"),
        pytest.param(a_snapshot([a_settled_node()], [a_server()]), None, False, id="holds"),
        pytest.param(a_snapshot([a_joining_node()]), None, False, id="being-born"),
        pytest.param(a_snapshot([a_joining_node(), GONE], [DUAL]), None, True, id="a-name-alone"),
        pytest.param(a_snapshot([reporting("203.0.113.1"), GONE], [DUAL]), None, False, id="a-reported-address"),
        pytest.param(a_world([ALIVE], [a_balancer()], nodes=[LOST], servers=[]), None, True, id="published"),
        pytest.param(a_world([], [a_balancer()], nodes=[], servers=[]), None, False, id="no-node-and-its-own-label"),
        pytest.param(a_world([], [STRANGERS], nodes=[], servers=[]), None, True, id="no-node-and-something-to-lose"),
    ],
)
def test_asks_for_memory(snapshot: Snapshot, setting: str | None, expected: bool) -> None:
    """What is remembered is read where nothing else tells whose project it is, and nowhere else."""
    assert asks_for_memory(snapshot, Settings(network=setting)) is expected


MINE, FOREIGN = a_balancer(7), a_balancer(8, cluster_uid=OTHERS)
KNOWN = Remembered(4, (5, 6))


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        pytest.param({}, KNOWN, id="nothing-was-read"),
        pytest.param({"network": Present(a_network(9))}, Remembered(9, (5, 6)), id="another-network"),
        pytest.param({"network": Absent()}, KNOWN, id="a-network-that-is-not-there"),
        pytest.param({"load_balancers": Section()}, Remembered(4), id="no-load-balancers"),
        pytest.param({"load_balancers": Section({7: MINE, 8: FOREIGN})}, Remembered(4, (7,)), id="ours-alone"),
        pytest.param({"load_balancers": incomplete(Section({7: MINE}))}, Remembered(4, (5, 6, 7)), id="a-gap"),
        pytest.param({"load_balancers": Section({7: MINE}, unreadable={6: "odd"})}, Remembered(4, (5, 6, 7)), id="odd"),
        pytest.param(
            {"load_balancers": Section({i: a_balancer(i) for i in range(1, 201)})},
            Remembered(4, tuple(range(1, 101))),
            id="no-more-than-a-hundred",
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        pytest.param(a_world([SERVED]), True, id="an empty project"),
        pytest.param(a_world([SERVED], [_ABROAD]), True, id="a project with others"),
        pytest.param(a_world([SERVED], [a_balancer()]), False, id="our own"),
        pytest.param(a_world([SERVED], [a_balancer(service_uid=None)]), False, id="our own, as its address says"),
        pytest.param(a_world([SERVED, a_service("new")], [a_balancer()]), False, id="one is still to come"),
        pytest.param(a_world([SERVED, GONE_BY_HAND], [a_balancer()]), False, id="one was deleted by hand"),
        pytest.param(a_world([a_service()]), False, id="nothing was published yet"),
        pytest.param(a_world([a_served_service(finalizers=())]), False, id="somebody else publishes it"),
        pytest.param(a_world([a_served_service(deleted_at=NOW)]), False, id="the Service is going"),
        pytest.param(a_world([BY_SERVICELB], nodes=[_K3S]), False, id="k3s' servicelb publishes addresses of Nodes"),
        pytest.param(a_world([BESIDE_IT], nodes=[_K3S]), True, id="an address beside that of a Node"),
        pytest.param(a_world([_NAMED]), True, id="a name in an empty project"),
        pytest.param(a_world([_NAMED], [_ABROAD]), True, id="a name in a project with others"),
        pytest.param(a_world([_NAMED], [a_balancer()]), False, id="a name of our own"),
        pytest.param(a_world([_NAMED], [a_balancer(cluster_uid=None)]), False, id="a name of our own, by HCCM"),
        pytest.param(a_world([replace(_NAMED, finalizers=())]), False, id="somebody else publishes the name"),
        pytest.param(a_world([replace(_NAMED, claim=_CALLED)], [_NAMESAKE]), True, id="a namesake of what it asks for"),
        pytest.param(a_world([a_served_service(ingress=(Ingress(),))]), False, id="an empty entry"),
        pytest.param(
            a_world([a_served_service(ingress=_BOTH)], [ABROAD_INSIDE]), True, id="private addresses are alike"
        ),
        pytest.param(a_world([ALONE], [ABROAD_INSIDE]), True, id="private addresses alone are alike as well"),
        pytest.param(a_world([ALONE], [OURS_INSIDE]), False, id="a private address of our own"),
        pytest.param(a_world([SERVED], load_balancers=incomplete(Section())), False, id="a gap"),
        pytest.param(a_world([SERVED], load_balancers=None), False, id="nobody read them"),
    ],
)
def test_is_served_elsewhere(world: Snapshot, expected: bool) -> None:
    """A Service that publishes anything has its load balancer in the cluster's own project: by label or address."""
    assert is_served_elsewhere(world) is expected


def _internal(address: str) -> NodeAddress:
    return NodeAddress(AddressType.INTERNAL_IP, address)


ROUTE = {"route/4/10.244.1.0/24": "route"}
TO_PODS, TO_OTHERS = routes_of(a_route()), routes_of(a_route(2), a_route("10.244.0.0/16"), a_route("0.0.0.0/0"))


@pytest.mark.parametrize(
    ("node", "world", "expected"),
    [
        pytest.param({}, {}, ROUTE, id="to-our-pods"),
        pytest.param({"ready": Readiness.FALSE, "unschedulable": True}, {}, ROUTE, id="whatever-the-node-says"),
        pytest.param({"pod_cidrs": ("fd00::/64", "10.244.1.9/24")}, {}, ROUTE, id="by-other-words"),
        pytest.param({}, {"routes": incomplete(TO_PODS)}, ROUTE, id="beside-a-gap"),
        pytest.param({}, {"routes": TO_OTHERS}, {}, id="to-others"),
        pytest.param({}, {"routes": routes_of(unreadable={"10.244.1.0/24": "odd"})}, {}, id="unreadable-is-no-proof"),
        pytest.param({}, {"routes": None}, {}, id="not-read"),
        pytest.param({}, {"network": Present(None)}, {}, id="no-network"),
        pytest.param({}, {"network": Absent()}, {}, id="network-not-there"),
        pytest.param({}, {"network": Unknown("429")}, {}, id="network-unknown"),
        pytest.param({"pod_cidrs": ()}, {}, {}, id="no-pods"),
        pytest.param({"provider_id": "aws://1"}, {}, {}, id="to-another-clouds-pods"),
        pytest.param({"provider_id": None}, {}, {}, id="to-an-unclaimed-nodes-pods"),
        pytest.param({"labels": SPARE}, {}, {}, id="to-an-ignored-nodes-pods"),
        pytest.param({"addresses": (_internal("10.0.0.9"), _internal("10.0.0.2"))}, {}, ROUTE, id="by-its-address"),
        pytest.param({"addresses": (_internal("10.0.0.3"),)}, {}, {}, id="by-anothers-as-in-a-twin-of-the-cluster"),
        pytest.param({"addresses": ()}, {}, {}, id="by-nobodys-as-it-reports-no-address"),
    ],
)
def test_routes_as_witnesses(node: dict[str, Any], world: dict[str, Any], expected: Mapping[str, str]) -> None:
    """A route to the pods of one of our Nodes proves the project, whatever became of the Node's server."""
    pods = {"pod_cidrs": ("10.244.1.0/24",), "addresses": (_internal("10.0.0.2"),)}
    snapshot = a_snapshot([a_settled_node(**pods | node)], network=Present(a_network(4)), routes=TO_PODS)
    assert witnesses(replace(snapshot, **world), SPARED) == expected


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        pytest.param({}, ROUTE, id="nothing-else"),
        pytest.param({"remembered": Remembered()}, ROUTE, id="nothing-is-remembered"),
        pytest.param({"remembered": Remembered(7)}, {}, id="another-network-is-remembered"),
        pytest.param({"remembered": Remembered(None, (94,))}, {}, id="a-load-balancer-is-remembered"),
        pytest.param({"remembered": Unknown("403")}, {}, id="what-is-remembered-is-unknown"),
        pytest.param({"servers": servers_of(a_pod_server(501, "10.0.0.9"))}, ROUTE, id="a-server-with-another-address"),
        pytest.param({"servers": servers_of(a_pod_server(501, "10.0.0.2"))}, {}, id="a-stranger-has-the-gateway"),
        pytest.param(
            {"servers": servers_of(a_pod_server(501, "10.0.0.2", name="web-1"))}, {}, id="a-stranger-of-the-nodes-name"
        ),
        pytest.param(
            {"servers": servers_of(a_pod_server(501, "10.0.0.2", network_id=5))}, ROUTE, id="in-another-network"
        ),
        pytest.param({"servers": incomplete(servers_of())}, {}, id="not-all-servers-could-be-read"),
        pytest.param({"servers": Section(unreadable={2: "no name"})}, {}, id="a-server-could-not-be-read"),
        pytest.param({"services": Section({ALIVE.id: ALIVE})}, {}, id="what-is-published-is-not-here"),
        pytest.param({"services": Section({ALIVE.id: _NAMED})}, {}, id="a-name-is-published-and-is-not-here"),
        pytest.param({"services": Section({UNPUBLISHED.id: UNPUBLISHED})}, ROUTE, id="nothing-is-published"),
    ],
)
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
