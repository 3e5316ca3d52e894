"""Servers that a selector leaves out, and on which something depends: which are read besides, and how."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest

from desired.model.load_balancer import ServerTarget
from desired.model.route import Route
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Server, Snapshot
from desired.plan.notes import NoteKind
from desired.section import NOT_SELECTED, Absent, Present, Section, Unknown
from desired.syntax.selector import parse_selector
from desired.unselected import MOST_BY_ID, notes_on_unselected, servers_beyond_selector
from tests.balancers import a_balancer, a_service
from tests.builders import UNINITIALIZED, a_node, a_server, a_snapshot

SELECTOR = Settings(server_selector=parse_selector("cluster=ours"))
ROUTING = replace(SELECTOR, network="7", routes=True, cluster_cidr=IPv4Network("10.244.0.0/16"))
LABELS = {"cluster": "ours"}


def node_on(number: int) -> Node:
    return a_node(f"web-{number}", provider_id=f"hcloud://{number}")


def narrowed(*servers: Server, asked: tuple[int, ...] = (), **unread: str) -> Section[int, Server]:
    unreadable = {int(key.removeprefix("id_")): why for key, why in unread.items()}
    items = {server.id: server for server in servers}
    return Section(items, unreadable=unreadable, read_by_key=frozenset(asked))


def world(*nodes: Node, servers: Section[int, Server], **more: object) -> Snapshot:
    found = a_snapshot(nodes=Section({node.name: node for node in nodes}))
    return replace(found, servers=servers, **more)  # type: ignore[arg-type]


LISTED = a_server(1, "web-1", labels=LABELS)
OTHER = a_server(2, "web-2")
ROUTED = {
    "network": Present(Network(7, "private")),
    "routes": Section({"10.244.2.0/24": Route(IPv4Network("10.244.2.0/24"), IPv4Address("10.0.0.2"))}),
}
JOINING = a_node("web-2", provider_id=None, taints=(UNINITIALIZED,))


def balanced(**labels: str | None) -> Snapshot:
    """A Service, and a load balancer with these labels that leads to server 90."""
    balancer = a_balancer(targets=[ServerTarget(90, use_private_ip=False)], **labels)  # type: ignore[arg-type]
    service = a_service()
    found = world(node_on(1), servers=narrowed(LISTED))
    return replace(found, services=Section({service.id: service}), load_balancers=Section({42: balancer}))


INSIDE = ((7, IPv4Address("10.0.0.1")),)
KEEPING = replace(SELECTOR, keep_internal_ips=True)


def reporting(address: str, joins: str = "") -> Node:
    """A Node on server 1, or that joins under a name, whose kubelet reports this InternalIP."""
    node = replace(JOINING, name=joins) if joins else node_on(1)
    return replace(node, addresses=(NodeAddress(AddressType.INTERNAL_IP, address),))


@pytest.mark.parametrize(
    ("snapshot", "settings", "wanted"),
    [
        pytest.param(world(node_on(1), servers=narrowed(LISTED)), SELECTOR, set(), id="all are listed"),
        pytest.param(world(node_on(1), node_on(2), servers=narrowed(LISTED)), SELECTOR, {2}, id="one is not"),
        pytest.param(
            world(node_on(1), node_on(2), servers=narrowed(LISTED, OTHER, asked=(2,))),
            SELECTOR,
            set(),
            id="it was read",
        ),
        pytest.param(
            world(node_on(1), node_on(2), servers=narrowed(LISTED, asked=(2,))), SELECTOR, set(), id="it is gone"
        ),
        pytest.param(
            world(node_on(1), node_on(2), servers=narrowed(LISTED, id_2="503")), SELECTOR, set(), id="it is unreadable"
        ),
        pytest.param(
            world(*map(node_on, range(1, MOST_BY_ID + 2)), servers=narrowed(LISTED)),
            SELECTOR,
            set(range(2, MOST_BY_ID + 2)),
            id="ten are not",
        ),
        pytest.param(
            world(*map(node_on, range(1, MOST_BY_ID + 3)), servers=narrowed(LISTED)), SELECTOR, None, id="more are not"
        ),
        pytest.param(
            world(*map(node_on, range(1, MOST_BY_ID + 3)), servers=narrowed(LISTED, asked=tuple(range(2, 9)))),
            SELECTOR,
            None,
            id="more, of which some were read",
        ),
        pytest.param(world(JOINING, servers=narrowed(LISTED)), SELECTOR, None, id="a Node joins by a name"),
        pytest.param(
            world(JOINING, servers=narrowed(replace(OTHER, labels=LABELS))), SELECTOR, set(), id="by one that is listed"
        ),
        pytest.param(
            world(JOINING, servers=narrowed(LISTED)),
            replace(SELECTOR, ignore_nodes=parse_selector("!nothing")),
            set(),
            id="an ignored Node joins",
        ),
        pytest.param(world(servers=narrowed(), **ROUTED), ROUTING, None, id="a route to an unknown address"),
        pytest.param(world(servers=narrowed(), **ROUTED), SELECTOR, set(), id="routes are not ours"),
        pytest.param(balanced(), SELECTOR, {90}, id="a target of ours"),
        pytest.param(balanced(service_uid=None), SELECTOR, {90}, id="of this cluster's"),
        pytest.param(balanced(cluster_uid=None, service_uid=None), SELECTOR, {90}, id="of one to adopt"),
        pytest.param(balanced(cluster_uid="another"), SELECTOR, {90}, id="of our Service's, and another cluster's"),
        pytest.param(balanced(cluster_uid="another", service_uid="another"), SELECTOR, set(), id="of another's"),
        pytest.param(world(reporting("10.9.0.1"), servers=narrowed(LISTED)), KEEPING, None, id="a VPN's address"),
        pytest.param(world(reporting("2001:db8:9::1"), servers=narrowed(LISTED)), KEEPING, None, id="one of IPv6"),
        pytest.param(
            world(reporting("10.9.0.1", "web-9"), servers=narrowed(replace(LISTED, name="web-9"))),
            KEEPING,
            None,
            id="of a Node that joins",
        ),
        pytest.param(
            world(reporting("203.0.113.1"), servers=narrowed(LISTED)), KEEPING, set(), id="the server's own address"
        ),
        pytest.param(
            world(reporting("10.0.0.1"), servers=narrowed(replace(LISTED, private_ips=INSIDE))),
            KEEPING,
            set(),
            id="its own in a network",
        ),
        pytest.param(world(reporting("10.9.0.1"), servers=narrowed(LISTED)), SELECTOR, set(), id="none is kept"),
        pytest.param(
            world(reporting("10.9.0.1"), servers=narrowed(LISTED)), replace(KEEPING, network="7"), set(), id="nor here"
        ),
        pytest.param(
            world(reporting("10.9.0.1"), node_on(2), servers=narrowed(LISTED)), KEEPING, {2}, id="first those by id"
        ),
    ],
)
def test_what_is_read_besides(snapshot: Snapshot, settings: Settings, wanted: set[int] | None) -> None:
    """Ids; None: the whole list."""
    assert servers_beyond_selector(snapshot, settings) == wanted


def test_what_was_not_selected_is_unknown() -> None:
    """Not absent: nothing may be concluded from a list that leaves out on purpose."""
    section = narrowed(LISTED, asked=(3,), id_4="503")

    assert [section.find(key) for key in (1, 2, 3, 4)] == [
        Present(LISTED),
        Unknown(NOT_SELECTED),
        Absent(),
        Unknown("503"),
    ]
    assert not section.is_whole
    gap = replace(section, complete=False, why_incomplete="429")
    assert [gap.find(key) for key in (1, 2, 3)] == [Present(LISTED), Unknown("429"), Unknown("429")]
    assert section.without(1).find(1) == Absent()
    assert Section({1: LISTED}).without(1).find(1) == Absent()


@pytest.mark.parametrize(
    ("server", "settings", "noted"),
    [
        pytest.param(LISTED, SELECTOR, False, id="it has the label"),
        pytest.param(replace(LISTED, labels={}), SELECTOR, True, id="it has none"),
        pytest.param(replace(LISTED, labels={"cluster": "x"}), SELECTOR, True, id="it has another value"),
        pytest.param(replace(LISTED, labels={}, missing=frozenset({"labels"})), SELECTOR, False, id="labels unread"),
        pytest.param(replace(LISTED, labels={}), Settings(), False, id="no selector"),
    ],
)
def test_servers_outside_of_the_selector_are_noted(server: Server, settings: Settings, noted: bool) -> None:
    """Whether they were read by their ids or with the whole list."""
    for section in (narrowed(server, asked=(1,)), Section({1: server})):
        found = list(notes_on_unselected(world(node_on(1), servers=section), settings))
        assert [(note.key, note.kind) for note in found] == [("node/web-1", NoteKind.UNSELECTED)] * noted
