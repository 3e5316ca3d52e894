"""Laws of planning: true of every world, however broken."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from desired.model.settings import Controller, Settings
from desired.model.snapshot import Readiness, Snapshot
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.kinds import Verb
from desired.planner import compute_plan
from tests.builders import incomplete
from tests.property.model import is_joining, is_spared, our_nodes
from tests.property.strategies import law
from tests.property.worlds import choices, shuffled, snapshots
from tests.support.judging import judge


@law
@given(st.data(), snapshots, choices)
def test_any_order_of_the_input_gives_the_same_plan(data: st.DataObject, snapshot: Snapshot, chosen: Settings) -> None:
    """Planning and judging do not depend on the order in which the APIs answered."""
    other = replace(snapshot, nodes=shuffled(data.draw, snapshot.nodes), servers=shuffled(data.draw, snapshot.servers))
    plan, other_plan = compute_plan(snapshot, chosen), compute_plan(other, chosen)
    assert plan == other_plan
    assert judge(plan, snapshot, chosen) == judge(other_plan, other, chosen)


@law
@given(snapshots, choices)
def test_changes_are_real_and_have_keys_of_their_own(snapshot: Snapshot, chosen: Settings) -> None:
    """No key is planned twice, no change leaves things as they are, and each is about the Node that it belongs to."""
    plan = compute_plan(snapshot, chosen)
    assert len({change.key for change in plan.changes}) == len(plan.changes)
    assert all(change.before != change.after for change in plan.changes)
    assert all(f"{change.key}/".startswith(f"{change.owner}/") for change in plan.changes)
    assert {change.owner for change in plan.changes} <= {node.key for node in snapshot.nodes}


@law
@given(snapshots, choices)
def test_every_joining_node_is_planned_or_explained(snapshot: Snapshot, chosen: Settings) -> None:
    """A Node that waits for us is either initialized or deleted, or has a note that says why not."""
    everything = replace(chosen, controllers=frozenset(Controller))
    plan = compute_plan(snapshot, everything)
    joining = {node.key for node in snapshot.nodes if is_joining(node)}
    assert joining <= {change.key for change in plan.changes} | {note.key for note in plan.notes}


@law
@given(snapshots, choices)
def test_every_lost_node_is_planned_or_explained(snapshot: Snapshot, chosen: Settings) -> None:
    """A Node whose server a whole list lacks is to be deleted, or has a note that says why not."""
    everything = replace(chosen, controllers=frozenset(Controller))
    plan = compute_plan(snapshot, everything)
    servers = snapshot.servers
    if servers.complete:
        known = servers.items.keys() | servers.unreadable
        lost = {node.key for node, server_id in our_nodes(snapshot, everything) if server_id not in known}
        assert lost <= {change.key for change in plan.changes} | {note.key for note in plan.notes}


@law
@given(snapshots, choices)
def test_every_spared_node_is_said_to_be(snapshot: Snapshot, chosen: Settings) -> None:
    """A Node that the operator takes out of everything has a note, so that nobody wonders."""
    everything = replace(chosen, controllers=frozenset(Controller))
    spared = {node.key for node in snapshot.nodes if is_spared(node, chosen)}
    ignored = {note.key for note in compute_plan(snapshot, everything).notes if note.kind == "ignored"}
    assert ignored == spared


@law
@given(snapshots, choices)
def test_a_gap_never_decides_by_name(snapshot: Snapshot, chosen: Settings) -> None:
    """An incomplete list of servers, or one with an unreadable server of the same or an unknown name, initializes no
    Node by its name."""
    servers = snapshot.servers
    doubtful = {servers.unreadable_names.get(key) for key in servers.unreadable}
    for change in compute_plan(snapshot, chosen).changes:
        if isinstance(change.before, NodeIdentity) and change.before.provider_id is None:
            assert servers.complete
            assert doubtful.isdisjoint({None, change.owner.removeprefix("node/")})
    by_name = {
        change.key
        for change in compute_plan(replace(snapshot, servers=incomplete(servers)), chosen).changes
        if isinstance(change.before, NodeIdentity) and change.before.provider_id is None
    }
    assert by_name == set()


@law
@given(snapshots, choices)
def test_only_silent_nodes_of_ours_without_a_server_are_removed(snapshot: Snapshot, chosen: Settings) -> None:
    """A plan removes nothing but Nodes, and of these none that reports, that has a server, or that goes already."""
    gone = {
        node.key
        for node, server_id in our_nodes(snapshot, chosen)
        if node.ready is not Readiness.TRUE
        and node.deleted_at is None
        and snapshot.servers.complete
        and server_id not in snapshot.servers.items
    }
    for change in compute_plan(snapshot, chosen).changes:
        if change.verb is Verb.REMOVE:
            assert change.kind == "node.delete"
            assert isinstance(change.before, LostNode)
            assert change.key in gone
