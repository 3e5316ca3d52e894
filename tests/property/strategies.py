"""Anything that a reading of two clouds may give, as Hypothesis strategies; and what all laws have in common.

Names, ids and addresses come from small pools, so that Nodes and servers meet: by name, by id, twice, or not at all.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC
from ipaddress import IPv4Address, IPv6Network
from typing import Any, TypeVar

from hypothesis import seed, settings
from hypothesis import strategies as st

from desired.approval import Approval
from desired.change import Change, NodeIdentity, Plan
from desired.kinds import KINDS, Verb
from desired.labels import OWNED_LABELS
from desired.names import TAINT_CLUSTER_AUTOSCALER, TAINT_UNINITIALIZED
from desired.provider_id import CloudID, RobotID, format_provider_id
from desired.section import Absent, Present, Section, Unknown
from desired.settings import AddressFamily, Controller, Policy, Settings
from desired.snapshot import AddressType, Network, Node, NodeAddress, Readiness, Server, ServerStatus, Snapshot, Taint
from tests.builders import NOW, UNINITIALIZED, a_settled_node

K = TypeVar("K", str, int)
V = TypeVar("V")
Test = TypeVar("Test", bound=Callable[..., None])

SEED = int(os.environ.get("PROPERTY_SEED") or secrets.randbits(32))
"""Of every law in this run; printed with each failure."""


EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES") or 100)
"""How many values each law is tried on; ``scripts/soak`` asks for more."""


def law(test: Test) -> Test:
    """A test that holds for all values: new ones in every run."""
    budget = settings(max_examples=EXAMPLES, deadline=None, derandomize=False, print_blob=True)
    return seed(SEED)(budget(test))


def some(*values: V) -> st.SearchStrategy[V]:
    """One of a pool."""
    return st.sampled_from(values)


names = some("web-1", "web-2", "db-1", "db-1.lan", "gpu")
server_ids = some(1, 2, 3, 2**63 - 1)

cloud_ids = st.builds(CloudID, some(1, 2, 3) | st.integers(1, 2**63 - 1))
robot_ids = st.builds(RobotID, st.integers(1, 2**63 - 1), st.booleans())
malformed_ids = st.builds(
    str.__add__,
    some("hcloud://", "hrobot://", "hcloud://bm-"),
    some("", "x", "-5", "+5", "007", "0", "hcloud://5", "9223372036854775808", "1" * 5000),
)
provider_ids = (
    some(None, "hcloud://1", "hcloud://2", "hrobot://1", "hcloud://bm-1", "talos://x", "k3s://web-1", "HCLOUD://1")
    | cloud_ids.map(format_provider_id)
    | malformed_ids
)

ipv4s = some(IPv4Address("203.0.113.1"), IPv4Address("203.0.113.2"))
private_ipv4s = some(IPv4Address("10.0.0.2"), IPv4Address("10.0.0.3"))
ipv6_networks = some(IPv6Network("2001:db8:1::/64"), IPv6Network("2001:db8:2::1/128"))
node_ips = some("203.0.113.1", "10.0.0.2", "2001:db8:1::5", "10.0.0.2,2001:db8:1::1", "", "0.0.0.0", "10.0.0.2, x")

JOINED_TWICE = (UNINITIALIZED, Taint("team", "NoExecute"), Taint(TAINT_UNINITIALIZED, "NoExecute"))
taints = some(
    (UNINITIALIZED,), JOINED_TWICE, (), (Taint("team", "NoExecute"),), (Taint(TAINT_CLUSTER_AUTOSCALER, "NoSchedule"),)
)
labels = st.dictionaries(some(*sorted(OWNED_LABELS), "team"), some("", "cloud", "mine"), max_size=3)
addresses = st.lists(
    some(NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2"), NodeAddress(AddressType.HOSTNAME, "web-1")), max_size=2
).map(tuple)

nodes = st.builds(
    Node,
    name=names,
    uid=st.just("uid"),
    resource_version=st.just("1"),
    created_at=st.just(NOW),
    provider_id=provider_ids,
    labels=labels,
    taints=taints,
    addresses=addresses,
    provided_node_ip=some(None, None) | node_ips,
    ready=some(Readiness.TRUE, *Readiness),
    unschedulable=some(False, False, False, True),
    deleted_at=some(None, None, None, NOW),
)
servers = st.builds(
    Server,
    id=server_ids,
    name=names,
    status=some(*ServerStatus),
    type=some("cpx32", "cax11"),
    location=some("fsn1", "mars", ""),
    ipv4=st.none() | ipv4s,
    ipv6=st.none() | ipv6_networks,
    private_ips=st.lists(st.tuples(some(1, 2), private_ipv4s), max_size=2).map(tuple),
)


gaps = some(None, None, None, "429", "page 2 timed out")


@st.composite
def a_reading(draw: st.DrawFn, items: Mapping[K, V], keys: st.SearchStrategy[K]) -> Section[K, V]:
    """These objects, whole or with a gap, and now and then one more of which at most the name could be read."""
    why = draw(gaps)
    lost = draw(keys) if draw(some(False, False, False, True)) else None
    name = draw(some(None, None) | names)
    if lost is None or lost in items:
        return Section(items, why is None, why)
    read_names = {} if name is None else {lost: name}
    return Section(items, why is None, why, unreadable={lost: "broken"}, unreadable_names=read_names)


@st.composite
def twins(draw: st.DrawFn, server: Server) -> Node:
    """A Node on ``server``: joining by its name or by a preset id, or settled long ago."""
    node = draw(nodes)
    match draw(some("by name", "by id", "settled")):
        case "by name":
            twin = replace(node, name=server.name, provider_id=None, taints=(UNINITIALIZED,))
        case "by id":
            twin = replace(node, provider_id=f"hcloud://{server.id}", taints=JOINED_TWICE)
        case _:
            twin = replace(node, provider_id=f"hcloud://{server.id}", taints=())
    return replace(twin, provided_node_ip=str(server.ipv4) if server.ipv4 and draw(st.booleans()) else None)


NETWORKS: tuple[Present[Network | None] | Absent | Unknown, ...] = (
    Present(None),
    Present(None),
    Present(Network(1, "private")),
    Present(Network(2, "1")),
    Present(Network(1, "2")),
    Absent(),
    Unknown("429"),
)


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Any reading: servers with their Nodes, servers and Nodes on their own, and gaps."""
    ids = draw(some((1, 2, 3), (2**63 - 1, 1), (1, 2), (1,), ()))
    found = [replace(draw(servers), id=server_id) for server_id in ids]
    joined = [draw(twins(server)) for server in found if draw(some(True, True, False))]
    population = [*joined, *draw(st.lists(nodes, max_size=2))]
    return Snapshot(
        taken_at=NOW,
        cluster_uid=draw(st.just(Present("uid")) | st.just(Unknown("403"))),
        nodes=draw(a_reading({node.name: node for node in population}, names)),
        servers=draw(a_reading({server.id: server for server in found}, server_ids)),
        network=draw(st.sampled_from(NETWORKS)),
    )


snapshots = worlds()
astray = st.builds(
    lambda snapshot, node: replace(
        snapshot, nodes=replace(snapshot.nodes, items={**snapshot.nodes.items, node.name: node}), servers=Section()
    ),
    snapshots,
    st.just(a_settled_node("ready", 1)),
)
"""Readings with the token of an empty project."""
choices = st.builds(
    Settings,
    address_family=some(*AddressFamily),
    zone_labels=st.booleans(),
    network=some(None, "1", "2", "private", "\u00b2", "1" * 5000),
    policy=some(Policy.SYNC, *Policy),
    controllers=some(*[frozenset(Controller)] * 4, frozenset(), frozenset({Controller.NODE})),
)

identities = st.builds(
    NodeIdentity,
    provider_ids,
    some({}, {"topology.kubernetes.io/region": "fsn1"}),
    taints,
    st.just(()),
)
keys = st.builds("{}/{}".format, some("node", "load_balancer/ns", "route/4"), some(*"abcd"))

sides = st.tuples(st.none() | identities, st.none() | identities).filter(lambda pair: pair[0] != pair[1])


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """A change of any kind, whether or not anything plans it today."""
    kind = draw(some(*KINDS.values()))
    verb = draw(some(*(verb for verb in Verb if verb in kind.verbs)))
    before, after = draw(sides)
    key = draw(keys)
    depends_on = tuple(draw(st.lists(keys, max_size=2)))
    return Change(key, kind.name, verb, before, after, "a law wants it", key, depends_on=depends_on)


plans = st.lists(changes(), max_size=5, unique_by=lambda change: change.key).map(lambda found: Plan(tuple(found)))
hashes = st.from_regex(r"sha256:[0-9a-f]{16}", fullmatch=True)
times = st.datetimes(timezones=st.just(UTC))
approvals = st.builds(Approval, hashes, st.text(max_size=10), times, st.none() | times)


def shuffled(draw: Callable[[st.SearchStrategy[Any]], Any], section: Section[K, V]) -> Section[K, V]:
    """The same reading, arrived in another order."""
    items = dict(draw(st.permutations(list(section.items.items()))))
    unreadable = dict(draw(st.permutations(list(section.unreadable.items()))))
    return replace(section, items=items, unreadable=unreadable)
