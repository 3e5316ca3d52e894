"""Laws of what plans make of the world: they converge, and touch nothing that is not theirs to touch."""

from collections.abc import Collection
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, ServerStatus, Snapshot
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.addresses import parse_node_ips
from desired.plan.change import Change, LostNode, NodeIdentity, Plan
from desired.planner import compute_plan
from desired.section import Absent, Present, Unknown
from tests.property.model import applied, is_foreign, is_joining, is_owned, is_shutdown, is_spared, our_nodes, written
from tests.property.strategies import STRANGE_NODE_IP, law
from tests.property.worlds import choices, snapshots

ROUNDS = 3
"""Of a pass, at most."""


def converged(snapshot: Snapshot, chosen: Settings) -> Snapshot:
    """The world after as many rounds as a pass has, where nothing is withheld."""
    for _ in range(ROUNDS):
        snapshot = applied(snapshot, compute_plan(snapshot, chosen).changes)
    return snapshot


@law
@given(snapshots, choices)
def test_applying_a_plan_leaves_nothing_to_do(snapshot: Snapshot, chosen: Settings) -> None:
    """The world after a plan needs no plan."""
    plan = compute_plan(snapshot, chosen)
    assert compute_plan(applied(snapshot, plan.changes), chosen).changes == ()


@law
@given(st.data(), snapshots, choices)
def test_any_part_of_a_plan_leads_to_the_same_world(data: st.DataObject, snapshot: Snapshot, chosen: Settings) -> None:
    """Whatever was applied before a process died, the next one ends where the first would have.

    A Node that joins while another one has its server's name keeps its own for good: which of the two is deleted first
    decides on that.
    """
    plan = compute_plan(snapshot, chosen)
    part = [change for change in plan.changes if data.draw(st.booleans(), label=change.key)]
    restarted = applied(snapshot, part)
    for change in plan.changes:
        if change not in part and data.draw(st.booleans(), label=f"half of {change.key}"):
            restarted = half_applied(restarted, change)
    contested = {node.name for node in snapshot.nodes if _may_be_called_otherwise(node, snapshot)}
    one, other = converged(restarted, chosen), converged(snapshot, chosen)
    assert nameless(one, contested) == nameless(other, contested)


def _may_be_called_otherwise(node: Node, snapshot: Snapshot) -> bool:
    claimed = [server.name for server in snapshot.servers if node.provider_id == f"hcloud://{server.id}"]
    return any(name in snapshot.nodes.items and name != node.name for name in claimed)


def nameless(snapshot: Snapshot, names: Collection[str]) -> Snapshot:
    """The world without the Hostnames of these Nodes."""
    items = {
        name: replace(node, addresses=tuple(a for a in node.addresses if a.type != AddressType.HOSTNAME))
        if name in names
        else node
        for name, node in snapshot.nodes.items.items()
    }
    return replace(snapshot, nodes=replace(snapshot.nodes, items=items))


def half_applied(snapshot: Snapshot, change: Change) -> Snapshot:
    """The world after the first of the two writes of an initialization, the addresses; other kinds have but one."""
    match change.after:
        case NodeIdentity(addresses=addresses):
            node = replace(snapshot.nodes.items[change.owner.removeprefix("node/")], addresses=addresses)
            return replace(snapshot, nodes=replace(snapshot.nodes, items={**snapshot.nodes.items, node.name: node}))
    return snapshot


def side_of(node: Node, change: Change, chosen: Settings) -> object:
    """That part of a Node which a change of this kind is about."""
    owned = {key: value for key, value in node.labels.items() if is_owned(key, chosen)}
    match change.kind:
        case "node.initialise":
            return NodeIdentity(node.provider_id, owned, node.taints, node.addresses)
        case "node.labels":
            return owned
        case "node.addresses":
            return node.addresses
        case "node.shutdown_taint":
            return any(map(is_shutdown, node.taints))
    match change.before:
        case LostNode(proof=proof):
            return LostNode(NodeIdentity(node.provider_id, owned, node.taints, node.addresses), proof)
    raise AssertionError(change)


@law
@given(snapshots, choices)
def test_a_change_says_exactly_what_becomes_of_the_node(snapshot: Snapshot, chosen: Settings) -> None:
    """Before and after are what the change is about in the worlds before and after it, for every kind of change."""
    for change in compute_plan(snapshot, chosen).changes:
        old = snapshot.nodes.items[change.owner.removeprefix("node/")]
        new = written(old, change, snapshot)
        assert change.before == side_of(old, change, chosen)
        assert change.kind == "node.delete" or (new is not None and change.after == side_of(new, change, chosen))


@law
@given(snapshots, choices)
def test_nothing_changes_that_is_not_ours(snapshot: Snapshot, chosen: Settings) -> None:
    """Owned labels, our two taints, addresses, and a providerID where there was none: all else stays as it was."""
    after = converged(snapshot, chosen)
    for name, new in after.nodes.items.items():
        old = snapshot.nodes.items[name]
        assert of_others(old, chosen) == of_others(new, chosen)
        assert old.provider_id == new.provider_id or (old.provider_id is None and is_joining(old))


def of_others(node: Node, chosen: Settings) -> Node:
    """The Node without all that may be changed on it."""
    labels = {key: value for key, value in node.labels.items() if not is_owned(key, chosen)}
    taints = tuple(taint for taint in node.taints if not is_shutdown(taint) and taint.key != TAINT_UNINITIALIZED)
    return replace(node, labels=labels, taints=taints, addresses=(), provider_id=None, deleted_at=None)


@law
@given(snapshots, choices)
def test_nodes_of_others_are_left_alone(snapshot: Snapshot, chosen: Settings) -> None:
    """No change concerns a Node that is foreign, or that the operator has taken out; it stays as it is."""
    spared = {node.name: node for node in snapshot.nodes if is_foreign(node) or is_spared(node, chosen)}
    assert not {f"node/{name}" for name in spared} & {change.owner for change in compute_plan(snapshot, chosen).changes}
    after = converged(snapshot, chosen)
    assert {name: after.nodes.items[name] for name in spared} == spared


def in_service(snapshot: Snapshot, chosen: Settings) -> list[tuple[Node, int]]:
    """Our Nodes that were initialized and that are the only ones of their servers, which are there."""
    claims = [server_id for _, server_id in our_nodes(snapshot, replace(chosen, ignore_nodes=None))]
    return [
        (node, server_id)
        for node, server_id in our_nodes(snapshot, chosen)
        if server_id in snapshot.servers.items and claims.count(server_id) == 1 and not is_joining(node)
    ]


@law
@given(snapshots, choices)
def test_the_shutdown_taint_is_the_servers_state(snapshot: Snapshot, chosen: Settings) -> None:
    """In the end a Node has the taint if its server is off, has it not if that runs, and else as it was."""
    after = converged(snapshot, chosen)
    for node, server_id in in_service(after, chosen):
        was = any(map(is_shutdown, snapshot.nodes.items[node.name].taints))
        expected = {ServerStatus.OFF: True, ServerStatus.RUNNING: False}.get(after.servers.items[server_id].status, was)
        on_duty = Controller.LIFECYCLE in chosen.controllers
        assert any(map(is_shutdown, node.taints)) is (expected if on_duty else was)


@law
@given(snapshots, choices)
def test_labels_are_in_step_in_the_end(snapshot: Snapshot, chosen: Settings) -> None:
    """The instance type is the server's, each deprecated key equals its stable one, and who provides is said."""
    if Controller.NODE not in chosen.controllers:
        return
    after = converged(snapshot, chosen)
    for node, server_id in in_service(after, chosen):
        server, labels = after.servers.items[server_id], node.labels
        if server.type == "cpx32":
            assert labels["node.kubernetes.io/instance-type"] == labels["beta.kubernetes.io/instance-type"] == "cpx32"
        if server.location:
            assert labels["topology.kubernetes.io/region"] == labels["failure-domain.beta.kubernetes.io/region"] != ""
        if server.location and chosen.zone_labels:
            assert labels["topology.kubernetes.io/zone"] == labels["failure-domain.beta.kubernetes.io/zone"] != ""
        assert labels["instance.hetzner.cloud/provided-by"]


@law
@given(snapshots, choices)
def test_mirrored_labels_are_the_servers_in_the_end(snapshot: Snapshot, chosen: Settings) -> None:
    """Below the prefix a Node has the server's labels that it can have, and no others."""
    mirroring = replace(chosen, mirror_labels="mirror", controllers=frozenset(Controller))
    after = converged(snapshot, mirroring)
    for node, server_id in in_service(after, mirroring):
        there = {key: value for key, value in node.labels.items() if key.startswith("mirror/")}
        possible = {key: value for key, value in after.servers.items[server_id].labels.items() if len(value) < 64}
        assert there == {f"mirror/{key}": value for key, value in possible.items() if key not in ("a/b", "a_b")}


def rewrites_addresses(change: Change) -> bool:
    """Whether a change writes a Node's addresses."""
    return change.kind in ("node.initialise", "node.addresses")


@law
@given(snapshots, choices, st.sampled_from([Absent(), Unknown("429")]))
def test_no_address_goes_while_the_network_is_unknown(
    snapshot: Snapshot, chosen: Settings, network: Absent | Unknown
) -> None:
    """Without the network that decides the private addresses no Node is initialized and no address changes."""
    plan = compute_plan(replace(snapshot, network=network), chosen)
    assert not any(map(rewrites_addresses, plan.changes))


@law
@given(snapshots, choices)
def test_no_address_goes_because_of_a_wrong_node_ip(snapshot: Snapshot, chosen: Settings) -> None:
    """A ``--node-ip`` that is malformed, or that no server has, leaves the Node's addresses as they are."""
    for change in filter(rewrites_addresses, compute_plan(snapshot, chosen).changes):
        annotation = snapshot.nodes.items[change.owner.removeprefix("node/")].provided_node_ip
        assert annotation != STRANGE_NODE_IP
        assert annotation is None or isinstance(parse_node_ips(annotation), tuple)


@law
@given(snapshots, choices)
def test_kept_internal_ips_never_go(snapshot: Snapshot, chosen: Settings) -> None:
    """Who keeps internal addresses and has no network loses none of them that no ``--node-ip`` decides on."""
    keeping = replace(chosen, keep_internal_ips=True)
    lone = replace(snapshot, network=Present(None))
    after = converged(lone, keeping)
    for name, new in after.nodes.items.items():
        old = snapshot.nodes.items[name]
        kept = {a.address for a in old.addresses if a.type == "InternalIP" and a.address != "none"}
        assert old.provided_node_ip is not None or kept <= {address.address for address in new.addresses}


@law
@given(snapshots, choices)
def test_a_plan_has_nothing_of_controllers_that_are_off(snapshot: Snapshot, chosen: Settings) -> None:
    """A controller that is switched off plans nothing."""
    for change in compute_plan(snapshot, chosen).changes:
        assert change.row.controller in chosen.controllers
    assert compute_plan(snapshot, replace(chosen, controllers=frozenset())).changes == Plan().changes
