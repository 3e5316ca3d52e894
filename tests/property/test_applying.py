"""Laws of what plans make of the world: they converge, and touch nothing that is not theirs to touch."""

from collections.abc import Collection
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Network, Node, ServerStatus, Snapshot
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.addresses import parse_node_ips
from desired.plan.change import Change, LostNode, NodeIdentity, Plan
from desired.planner import compute_plan
from desired.section import Absent, Present, Unknown
from tests.property.model import applied, is_foreign, is_joining, is_owned, is_shutdown, is_spared, our_nodes, written
from tests.property.strategies import NODE_IPS, STRANGE_NODE_IP, law, some
from tests.property.worlds import choices, deciding, joining, snapshots
from tests.support.premises import premise

ROUNDS = 3
"""Of a pass, at most."""


def converged(snapshot: Snapshot, chosen: Settings) -> Snapshot:
    """The world after as many rounds as a pass has, where nothing is withheld."""
    for _ in range(ROUNDS):
        snapshot = applied(snapshot, compute_plan(snapshot, chosen).changes)
    return snapshot


@law({"a change": 0.4})
@given(snapshots, choices)
def test_applying_a_plan_leaves_nothing_to_do(snapshot: Snapshot, chosen: Settings) -> None:
    plan = compute_plan(snapshot, chosen)
    premise("a change", is_met=bool(plan.changes))
    assert compute_plan(applied(snapshot, plan.changes), chosen).changes == ()


@law({"some of the changes are applied": 0.2})
@given(st.data(), joining, deciding)
def test_any_part_of_a_plan_leads_to_the_same_world(data: st.DataObject, snapshot: Snapshot, chosen: Settings) -> None:
    """Whatever was applied before a process died, the next one ends where the first would have.

    A Node that joins while another one has its server's name keeps its own for good: which of the two is deleted first
    decides on that.
    """
    plan = compute_plan(snapshot, chosen)
    part = [change for change in plan.changes if data.draw(st.booleans(), label=change.key)]
    premise("some of the changes are applied", is_met=0 < len(part) < len(plan.changes))
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


@law({"a change": 0.4})
@given(snapshots, choices)
def test_a_change_says_exactly_what_becomes_of_the_node(snapshot: Snapshot, chosen: Settings) -> None:
    """Before and after are what the change is about in the worlds before and after it, for every kind of change."""
    plan = compute_plan(snapshot, chosen)
    premise("a change", is_met=bool(plan.changes))
    for change in plan.changes:
        old = snapshot.nodes.items[change.owner.removeprefix("node/")]
        new = written(old, change, snapshot)
        assert change.before == side_of(old, change, chosen)
        assert change.kind == "node.delete" or (new is not None and change.after == side_of(new, change, chosen))


@law({"a change": 0.4})
@given(snapshots, choices)
def test_nothing_changes_that_is_not_ours(snapshot: Snapshot, chosen: Settings) -> None:
    """Owned labels, our two taints, addresses, and a providerID where there was none: all else stays as it was."""
    after = converged(snapshot, chosen)
    premise("a change", is_met=after != snapshot)
    for name, new in after.nodes.items.items():
        old = snapshot.nodes.items[name]
        assert of_others(old, chosen) == of_others(new, chosen)
        assert old.provider_id == new.provider_id or (old.provider_id is None and is_joining(old))


def of_others(node: Node, chosen: Settings) -> Node:
    labels = {key: value for key, value in node.labels.items() if not is_owned(key, chosen)}
    taints = tuple(taint for taint in node.taints if not is_shutdown(taint) and taint.key != TAINT_UNINITIALIZED)
    return replace(node, labels=labels, taints=taints, addresses=(), provider_id=None, deleted_at=None)


@law({"a change beside a Node of others": 0.1})
@given(snapshots, choices)
def test_nodes_of_others_are_left_alone(snapshot: Snapshot, chosen: Settings) -> None:
    """No change concerns a Node that is foreign, or that the operator has taken out; it stays as it is."""
    spared = {node.name: node for node in snapshot.nodes if is_foreign(node) or is_spared(node, chosen)}
    owners = {change.owner for change in compute_plan(snapshot, chosen).changes}
    premise("a change beside a Node of others", is_met=bool(spared and owners))
    assert owners.isdisjoint(f"node/{name}" for name in spared)
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


@law({"the taint comes or goes": 0.1})
@given(joining, deciding)
def test_the_shutdown_taint_is_the_servers_state(snapshot: Snapshot, chosen: Settings) -> None:
    """In the end a Node has the taint if its server is off, has it not if that runs, and else as it was."""
    after = converged(snapshot, chosen)
    served = in_service(after, chosen)
    had = {node.name: any(map(is_shutdown, snapshot.nodes.items[node.name].taints)) for node, _ in served}
    premise(
        "the taint comes or goes",
        is_met=any(any(map(is_shutdown, node.taints)) is not had[node.name] for node, _ in served),
    )
    for node, server_id in served:
        was = had[node.name]
        expected = {ServerStatus.OFF: True, ServerStatus.RUNNING: False}.get(after.servers.items[server_id].status, was)
        on_duty = Controller.LIFECYCLE in chosen.controllers
        assert any(map(is_shutdown, node.taints)) is (expected if on_duty else was)


@law({"labels change": 0.4})
@given(joining, deciding)
def test_labels_are_in_step_in_the_end(snapshot: Snapshot, chosen: Settings) -> None:
    """The instance type is the server's, each deprecated key equals its stable one, and who provides is said."""
    active = replace(chosen, controllers=frozenset(Controller))
    after = converged(snapshot, active)
    served = in_service(after, active)
    premise("labels change", is_met=any(node.labels != snapshot.nodes.items[node.name].labels for node, _ in served))
    for node, server_id in served:
        server, labels = after.servers.items[server_id], node.labels
        if server.type == "cpx32":
            assert labels["node.kubernetes.io/instance-type"] == labels["beta.kubernetes.io/instance-type"] == "cpx32"
        if server.location:
            assert labels["topology.kubernetes.io/region"] == labels["failure-domain.beta.kubernetes.io/region"] != ""
        if server.location and chosen.zone_labels:
            assert labels["topology.kubernetes.io/zone"] == labels["failure-domain.beta.kubernetes.io/zone"] != ""
        assert labels["instance.hetzner.cloud/provided-by"]


@law({"a label to be mirrored, or to go": 0.4})
@given(joining, deciding)
def test_mirrored_labels_are_the_servers_in_the_end(snapshot: Snapshot, chosen: Settings) -> None:
    """Below the prefix a Node has the server's labels that it can have, and no others."""
    mirroring = replace(chosen, mirror_labels="mirror", controllers=frozenset(Controller))
    after = converged(snapshot, mirroring)
    served = in_service(after, mirroring)
    premise(
        "a label to be mirrored, or to go",
        is_met=any(node.labels != snapshot.nodes.items[node.name].labels for node, _ in served),
    )
    for node, server_id in served:
        there = {key: value for key, value in node.labels.items() if key.startswith("mirror/")}
        possible = {key: value for key, value in after.servers.items[server_id].labels.items() if len(value) < 64}
        assert there == {f"mirror/{key}": value for key, value in possible.items() if key not in ("a/b", "a_b")}


def rewrites_addresses(change: Change) -> bool:
    """Whether a change writes a Node's addresses."""
    return change.kind in ("node.initialise", "node.addresses")


@law({"addresses would be written": 0.25})
@given(joining, deciding, st.sampled_from([Absent(), Unknown("429")]))
def test_no_address_goes_while_the_network_is_unknown(
    snapshot: Snapshot, chosen: Settings, network: Absent | Unknown
) -> None:
    """Without the network that decides the private addresses no Node is initialized and no address changes."""
    told = replace(snapshot, network=Present(Network(1, "private")))
    premise("addresses would be written", is_met=any(map(rewrites_addresses, compute_plan(told, chosen).changes)))
    plan = compute_plan(replace(snapshot, network=network), chosen)
    assert not any(map(rewrites_addresses, plan.changes))


wrong_ips = some(*(each for each in NODE_IPS if each == STRANGE_NODE_IP or not isinstance(parse_node_ips(each), tuple)))


@law({"addresses would be written": 0.2})
@given(joining, deciding, wrong_ips)
def test_no_address_goes_because_of_a_wrong_node_ip(snapshot: Snapshot, chosen: Settings, wrong: str) -> None:
    """A ``--node-ip`` that is malformed, or that no server has, leaves the Node's addresses as they are."""
    premise("addresses would be written", is_met=any(map(rewrites_addresses, compute_plan(snapshot, chosen).changes)))
    wished = {name: replace(node, provided_node_ip=wrong) for name, node in snapshot.nodes.items.items()}
    plan = compute_plan(replace(snapshot, nodes=replace(snapshot.nodes, items=wished)), chosen)
    assert not any(map(rewrites_addresses, plan.changes))


def internal_ips(node: Node) -> set[str]:
    return {a.address for a in node.addresses if a.type == AddressType.INTERNAL_IP and a.address != "none"}


@law({"a Node with an internal address changes": 0.1})
@given(joining, deciding)
def test_kept_internal_ips_never_go(snapshot: Snapshot, chosen: Settings) -> None:
    """Who keeps internal addresses and has no network loses none of them that no ``--node-ip`` decides on."""
    keeping = replace(chosen, keep_internal_ips=True)
    lone = replace(snapshot, network=Present(None))
    after = converged(lone, keeping)
    pairs = [(snapshot.nodes.items[name], new) for name, new in after.nodes.items.items()]
    undecided = [(old, new) for old, new in pairs if old.provided_node_ip is None]
    premise(
        "a Node with an internal address changes",
        is_met=any(internal_ips(old) and old != new for old, new in undecided),
    )
    for old, new in undecided:
        assert internal_ips(old) <= {address.address for address in new.addresses}


@law({"a controller is off that would plan something": 0.06})
@given(snapshots, choices)
def test_a_plan_has_nothing_of_controllers_that_are_off(snapshot: Snapshot, chosen: Settings) -> None:
    whole = compute_plan(snapshot, replace(chosen, controllers=frozenset(Controller)))
    premise(
        "a controller is off that would plan something",
        is_met=any(change.row.controller not in chosen.controllers for change in whole.changes),
    )
    for change in compute_plan(snapshot, chosen).changes:
        assert change.row.controller in chosen.controllers
    assert compute_plan(snapshot, replace(chosen, controllers=frozenset())).changes == Plan().changes
