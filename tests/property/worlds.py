"""Anything that a reading of two clouds may give, and anything that an operator may choose, as strategies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st

from desired.model.settings import AddressFamily, Controller, Policy, Settings, Waits
from desired.model.snapshot import Network, Node, Server, Snapshot
from desired.model.taint import Taint
from desired.section import Absent, K, Present, Section, Unknown, V
from desired.syntax.selector import parse_selector
from tests.builders import NOW, UNINITIALIZED, a_server, a_settled_node, incomplete
from tests.property.strategies import JOINED_TWICE, READY, SETTLED, SILENT, names, nodes, servers, silences, some

LOST_IDS = (4, 5, 6, 7)
"""Ids that no server has."""
SERVERS = {server_id: servers(server_id) for server_id in (1, 2, 3, 2**63 - 1)}
_TRACES: tuple[tuple[bool, str | None], ...] = (*[(False, None)] * 8, (True, None), (True, "web-1"), (True, "db-1"))
"""Whether one more object arrived that could not be read, and its name if that could be."""
_gaps, _traces = some(*[None] * 8, "429", "page 2 timed out"), st.sampled_from(_TRACES)


@st.composite
def a_reading(draw: st.DrawFn, items: Mapping[K, V], keys: st.SearchStrategy[K]) -> Section[K, V]:
    """These objects, whole or with a gap, and now and then one more of which at most the name could be read."""
    why = draw(_gaps)
    is_there, name = draw(_traces)
    broken = draw(keys) if is_there else None
    if broken is None or broken in items:
        return Section(items, why is None, why)
    read_names = {} if name is None else {broken: name}
    return Section(items, why is None, why, unreadable={broken: "broken"}, unreadable_names=read_names)


_TWINS: tuple[tuple[bool, tuple[Taint, ...]], ...] = (
    *[(True, (UNINITIALIZED,))] * 4,
    (False, JOINED_TWICE),
    *((False, settled) for settled in SETTLED),
)
"""By name or else by providerID; and the taints."""
_twins = st.tuples(st.sampled_from(_TWINS), st.booleans(), st.booleans())
_bodies = nodes(provider_id=st.just(None), taints=st.just(()))


@st.composite
def twins(draw: st.DrawFn, server: Server) -> Node:
    """A Node on ``server``: joining by its name or by a preset id, or settled long ago; half of these in service."""
    (by_name, taints), in_service, right_ip = draw(_twins)
    node = replace(draw(_bodies), taints=taints)
    node = replace(node, name=server.name) if by_name else replace(node, provider_id=f"hcloud://{server.id}")
    if in_service and not by_name:
        node = replace(node, conditions=READY, unschedulable=False)
    return replace(node, provided_node_ip=str(server.ipv4)) if right_ip and server.ipv4 else node


_DAY, _MINUTE = NOW - timedelta(days=1), NOW - timedelta(minutes=1)
silent_nodes = nodes(
    provider_id=st.just(None),
    created_at=some(*[_DAY] * 8, _MINUTE),
    conditions=some(*[SILENT] * 12, READY, READY, *silences),
    taints=some(*[()] * 8, *SETTLED, JOINED_TWICE),
)
_lost = st.tuples(st.one_of(nodes(provider_id=st.just(None)), silent_nodes, silent_nodes), some(*LOST_IDS))
lost_nodes = _lost.map(lambda pair: replace(pair[0], name=f"lost-{pair[1]}", provider_id=f"hcloud://{pair[1]}"))
"""Nodes whose servers nobody has: for the most part silent, and old enough to be deleted."""
_ANSWERS: tuple[Absent | Unknown | None, ...] = (*[Absent()] * 12, Unknown("500"), None)
_answers = st.sampled_from(_ANSWERS)


@st.composite
def answers(draw: st.DrawFn, population: list[Node]) -> Mapping[int, Absent | Unknown]:
    """What asking by id has given for the servers that these Nodes name and nobody has."""
    claimed = {node.provider_id for node in population}
    missing = [server_id for server_id in LOST_IDS if f"hcloud://{server_id}" in claimed]
    said = {server_id: draw(_answers) for server_id in missing}
    return MappingProxyType({server_id: answer for server_id, answer in said.items() if answer is not None})


NETWORKS: tuple[Present[Network | None] | Absent | Unknown, ...] = (
    Present(None),
    Present(None),
    Present(Network(1, "private")),
    Present(Network(1, "private")),
    Present(Network(2, "1")),
    Present(Network(1, "2")),
    Absent(),
    Unknown("429"),
)
UIDS: tuple[Present[str] | Unknown, ...] = (Present("uid"), Present("uid"), Unknown("403"))
CROWD = tuple((a_settled_node(f"crowd-{i}", i), a_server(i, f"crowd-{i}")) for i in range(20, 30))
"""Nodes in good order, so that there are enough of them for some to be lost."""
_shapes = st.tuples(
    some((1, 2, 3), (2**63 - 1, 1), (1, 2), (1,), ()),
    some(0, 0, 1, 3, 10),
    some(0, 1, 1, 2, 3),
    some(0, 0, 1),
    st.sampled_from(UIDS),
    st.sampled_from(NETWORKS),
)
"""Ids of servers; how many in the crowd, how many lost, how many strays; the cluster; the network."""
_joined = some(True, True, False)
_ids = some(*SERVERS, *LOST_IDS)
_strays = nodes()


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Any reading: servers with their Nodes, servers and Nodes on their own, Nodes without a server, and gaps."""
    ids, size, losses, strays, uid, network = draw(_shapes)
    found = [draw(SERVERS[server_id]) for server_id in ids]
    joined = [draw(twins(server)) for server in found if draw(_joined)]
    alone = [*(draw(_strays) for _ in range(strays)), *(draw(lost_nodes) for _ in range(losses))]
    population = [*joined, *alone, *(node for node, _ in CROWD[:size])]
    everywhere = [*found, *(server for _, server in CROWD[:size])]
    return Snapshot(
        taken_at=NOW,
        cluster_uid=uid,
        nodes=draw(a_reading({node.name: node for node in population}, names)),
        servers=draw(a_reading({server.id: server for server in everywhere}, _ids)),
        network=network,
        confirmations=draw(answers(population)),
    )


snapshots = worlds()


_PLACES = {1: "web-1", 2: "web-2", 3: "db-1"}
"""Id → name of servers of which no two have a name or an address in common."""


@st.composite
def joining_worlds(draw: st.DrawFn) -> Snapshot:
    """A whole reading in which each server has a name, addresses, and a Node that joins or has joined."""
    there = [
        replace(
            draw(SERVERS[number]),
            name=name,
            ipv4=IPv4Address(f"203.0.113.{number}"),
            ipv6=None,
            private_ips=((1, IPv4Address(f"10.0.0.{number}")),),
        )
        for number, name in _PLACES.items()
    ]
    population = [draw(twins(server)) for server in there]
    population += [draw(_strays) for _ in range(draw(some(0, 0, 1)))]
    return Snapshot(
        taken_at=NOW,
        cluster_uid=UIDS[0],
        nodes=Section({node.name: node for node in population}),
        servers=Section({server.id: server for server in there}),
        network=NETWORKS[2],
        confirmations={},
    )


joining = st.one_of(snapshots, *[joining_worlds()] * 4)
"""Any reading, most of them with something to write to Nodes."""
_SLEEPING = tuple((replace(node, conditions=SILENT), server) for node, server in CROWD)
_CORDONED = tuple((replace(node, unschedulable=True), server) for node, server in CROWD)
_leftovers = st.tuples(
    some(*[CROWD[:size] for size in (0, 0, 1, 4, 5, 10)], _SLEEPING[:1], _SLEEPING[:6], _CORDONED[:1], _CORDONED[:3]),
    some(*(LOST_IDS[:count] for count in (1, 1, 2, 2, 3, 4))),
    st.sampled_from(NETWORKS[1:4]),
)
"""A crowd, the ids of lost servers, and the network."""


_few_of_many = st.tuples(
    some(CROWD[:5], CROWD), some(*(LOST_IDS[:count] for count in (1, 2, 2, 3, 3, 4))), st.just(NETWORKS[2])
)


def _losing(draw: st.DrawFn, crowd: Sequence[tuple[Node, Server]], lost_ids: Sequence[int], network: Any) -> Snapshot:
    lost = [replace(draw(silent_nodes), name=f"lost-{i}", uid=f"u-{i}", provider_id=f"hcloud://{i}") for i in lost_ids]
    population = [*lost, *(node for node, _ in crowd)]
    return Snapshot(
        taken_at=NOW,
        cluster_uid=UIDS[0],
        nodes=Section({node.name: node for node in population}),
        servers=Section({server.id: server for _, server in crowd}),
        network=network,
        confirmations=draw(answers(population)),
    )


@st.composite
def losing_worlds(draw: st.DrawFn) -> Snapshot:
    """A whole reading in which servers are gone, and most of what a deletion takes is there."""
    return _losing(draw, *draw(_leftovers))


@st.composite
def dwindling_worlds(draw: st.DrawFn) -> Snapshot:
    """The same in which few are gone of many, so that some Nodes may go without approval: in half of them nothing else
    stands in the way."""
    crowd, lost_ids, network = draw(_few_of_many)
    found = _losing(draw, crowd, lost_ids, network)
    if draw(st.booleans()):
        return found
    plain: dict[str, Any] = {
        "conditions": SILENT,
        "created_at": _DAY,
        "taints": (),
        "unschedulable": False,
        "deleted_at": None,
    }
    gone = {name: replace(node, **plain) for name, node in found.nodes.items.items() if name.startswith("lost-")}
    nodes_there = replace(found.nodes, items={**found.nodes.items, **gone})
    return replace(found, nodes=nodes_there, confirmations=dict.fromkeys(lost_ids, Absent()))


losing = st.one_of(snapshots, *[losing_worlds()] * 4)
"""Any reading, most of them with something to delete."""
dwindling = st.one_of(losing, *[dwindling_worlds()] * 2)
"""Most of them with some that may go."""
_WHAT = some("servers", "a server", "lost servers", "a node", "an answer", "all answers", "network", "cluster", "nodes")


@st.composite
def blurred(draw: st.DrawFn, snapshot: Snapshot) -> Snapshot:
    """The same world, of which one thing could not be read."""
    servers, answers = snapshot.servers, dict(snapshot.confirmations)
    what = draw(_WHAT)
    if what == "a server" and servers.items:
        broken = draw(st.sampled_from(sorted(servers.items)))
        items = {server_id: server for server_id, server in servers.items.items() if server_id != broken}
        return replace(snapshot, servers=replace(servers, items=items, unreadable={**servers.unreadable, broken: "?"}))
    if what == "an answer" and answers:
        asked = draw(st.sampled_from(sorted(answers)))
        return replace(snapshot, confirmations={**answers, asked: Unknown("timeout")})
    if what == "a node" and snapshot.nodes.items:
        name = draw(st.sampled_from(sorted(snapshot.nodes.items)))
        others = {other: node for other, node in snapshot.nodes.items.items() if other != name}
        unreadable_nodes = {**snapshot.nodes.unreadable, name: "?"}
        return replace(snapshot, nodes=replace(snapshot.nodes, items=others, unreadable=unreadable_nodes))
    match what:
        case "lost servers":
            some_lost = LOST_IDS[: draw(st.integers(1, len(LOST_IDS)))]
            lost = dict.fromkeys((server_id for server_id in some_lost if server_id not in servers.items), "?")
            return replace(snapshot, servers=replace(servers, unreadable={**servers.unreadable, **lost}))
        case "servers":
            arrived = dict(sorted(servers.items.items())[: draw(st.integers(0, len(servers)))])
            return replace(snapshot, servers=incomplete(replace(servers, items=arrived)))
        case "nodes":
            names = sorted(snapshot.nodes.items)[: draw(st.integers(0, len(snapshot.nodes)))]
            arrived_nodes = {name: snapshot.nodes.items[name] for name in names}
            return replace(snapshot, nodes=incomplete(replace(snapshot.nodes, items=arrived_nodes)))
        case "network":
            return replace(snapshot, network=Unknown("429"))
        case "cluster":
            return replace(snapshot, cluster_uid=Unknown("403"))
    return replace(snapshot, confirmations={})


_NONE = timedelta(0)
choices = st.builds(
    Settings,
    address_family=some(*AddressFamily),
    zone_labels=st.booleans(),
    network=some(None, "1", "1", "1", "2", "private", "\u00b2", "1" * 5000),
    policy=some(*[Policy.SYNC] * 6, *Policy),
    controllers=some(
        *[frozenset(Controller)] * 9, frozenset(), frozenset({Controller.NODE}), frozenset({Controller.LIFECYCLE})
    ),
    ignore_nodes=some(None, None, None, *map(parse_selector, ("example.com/spare", "team in (mine,ours)"))),
    mirror_labels=some(None, None, "mirror"),
    keep_internal_ips=st.booleans(),
    waits=some(Waits(), Waits(), Waits(_NONE, _NONE, _NONE), Waits(timedelta(minutes=5), _NONE, timedelta(1))),
)
deciding = st.one_of(
    choices,
    *[choices.map(lambda some: replace(some, policy=Policy.SYNC, controllers=frozenset(Controller), network="1"))] * 3,
)
"""Choices, most of which leave the decision to the rules."""


def shuffled(draw: Callable[[st.SearchStrategy[Any]], Any], section: Section[K, V]) -> Section[K, V]:
    """The same reading, arrived in another order."""
    items = dict(draw(st.permutations(list(section.items.items()))))
    unreadable = dict(draw(st.permutations(list(section.unreadable.items()))))
    return replace(section, items=items, unreadable=unreadable)
