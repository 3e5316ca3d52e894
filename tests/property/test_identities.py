"""The law of identities: a Node speaks for itself, whatever servers are called and whatever answers are old."""

from collections import Counter
from collections.abc import Iterable, Mapping

from hypothesis import given

from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Server, Snapshot
from desired.plan.change import Change, NodeIdentity
from desired.planner import compute_plan
from desired.syntax.provider_id import CloudID, parse_provider_id
from tests.property.model import applied
from tests.property.strategies import law
from tests.property.worlds import deciding, joining
from tests.support.premises import premise


def _hostnames(node: Node) -> set[str]:
    return {a.address.lower() for a in node.addresses if a.type == AddressType.HOSTNAME}


def _servers(snapshot: Snapshot) -> Mapping[str, Server]:
    """Name of each Node that has a server → the server."""
    claims = {node.name: parse_provider_id(node.provider_id or "") for node in snapshot.nodes}
    ids = {name: claim.server_id for name, claim in claims.items() if isinstance(claim, CloudID)}
    return {name: snapshot.servers.items[found] for name, found in ids.items() if found in snapshot.servers.items}


def _written(changes: Iterable[Change]) -> Mapping[str, tuple[NodeAddress, ...]]:
    """Name of each Node whose addresses are written → what is new of them."""
    written = {}
    for change in changes:
        match change.before, change.after:
            case NodeIdentity(addresses=before), NodeIdentity(addresses=after):
                written[change.owner.removeprefix("node/")] = tuple(a for a in after if a not in before)
            case (tuple() as before, tuple() as after) if change.kind == "node.addresses":
                new = tuple(a for a in after if isinstance(a, NodeAddress) and a not in before)
                written[change.owner.removeprefix("node/")] = new
    return written


@law({"addresses are written": 0.3})
@given(joining, deciding)
def test_no_node_is_given_the_name_of_another_one(snapshot: Snapshot, chosen: Settings) -> None:
    """No name that is written is another Node's, and two Nodes share one only if both had it and neither was asked."""
    plan = compute_plan(snapshot, chosen)
    written = _written(plan.changes)
    premise("addresses are written", is_met=any(written.values()))
    names = {node.name.lower(): node.name for node in snapshot.nodes}
    for node, addresses in written.items():
        for address in addresses:
            if address.type == AddressType.HOSTNAME:
                assert names.get(address.address.lower(), node) == node
    before = {node.name: _hostnames(node) for node in snapshot.nodes}
    after = {node.name: _hostnames(node) for node in applied(snapshot, plan.changes).nodes}
    shared = Counter(name for found in after.values() for name in found)
    given = {name for node, found in after.items() if node in written for name in found - before[node]}
    untouched = {name for node, found in after.items() if node not in written for name in found}
    assert [name for name in given - untouched if shared[name] > 1] == []


@law({"addresses are written beside another Node with a server": 0.25})
@given(joining, deciding)
def test_no_node_is_given_an_address_of_another_nodes_server(snapshot: Snapshot, chosen: Settings) -> None:
    """What the cloud says of another Node's server, in public or in the network that counts, is never written."""
    plan = compute_plan(snapshot, chosen)
    after = applied(snapshot, plan.changes)
    servers = _servers(after)
    network = getattr(getattr(snapshot.network, "value", None), "id", None)
    written = _written(plan.changes)
    premise(
        "addresses are written beside another Node with a server",
        is_met=any(len(servers.keys() - {name}) for name, addresses in written.items() if addresses),
    )
    for name, addresses in written.items():
        ips = {a.address for a in addresses if a.type in (AddressType.EXTERNAL_IP, AddressType.INTERNAL_IP)}
        for other, server in servers.items():
            if other == name or (name in servers and servers[name].id == server.id):
                continue
            theirs = {str(server.ipv4), *(str(ip) for attached, ip in server.private_ips if attached == network)}
            assert not ips & theirs, (name, other)
