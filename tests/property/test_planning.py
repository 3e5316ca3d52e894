"""Laws of planning: true of every world, however broken."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from desired.model.settings import Controller, Settings
from desired.model.snapshot import Readiness, Snapshot
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.kinds import Verb
from desired.planner import compute_plan
from desired.syntax.selector import parse_selector
from tests.builders import incomplete
from tests.property.model import is_joining, is_spared, our_nodes
from tests.property.strategies import law, some
from tests.property.worlds import choices, deciding, joining, shuffled, snapshots
from tests.support.judging import judge
from tests.support.premises import premise


@law({"several changes": 0.3})
@given(st.data(), joining, deciding)
def test_any_order_of_the_input_gives_the_same_plan(data: st.DataObject, snapshot: Snapshot, chosen: Settings) -> None:
    """Planning and judging do not depend on the order in which the APIs answered."""
    other = replace(snapshot, nodes=shuffled(data.draw, snapshot.nodes), servers=shuffled(data.draw, snapshot.servers))
    plan, other_plan = compute_plan(snapshot, chosen), compute_plan(other, chosen)
    premise("several changes", is_met=len(plan.changes) > 1)
    assert plan == other_plan
    assert judge(plan, snapshot, chosen) == judge(other_plan, other, chosen)


@law({"a change": 0.4})
@given(snapshots, choices)
def test_changes_are_real_and_have_keys_of_their_own(snapshot: Snapshot, chosen: Settings) -> None:
    """No key is planned twice, no change leaves things as they are, and each is about the Node that it belongs to."""
    plan = compute_plan(snapshot, chosen)
    premise("a change", is_met=bool(plan.changes))
    assert len({change.key for change in plan.changes}) == len(plan.changes)
    assert all(change.before != change.after for change in plan.changes)
    assert all(f"{change.key}/".startswith(f"{change.owner}/") for change in plan.changes)
    assert {change.owner for change in plan.changes} <= {node.key for node in snapshot.nodes}


@law({"a joining Node": 0.3})
@given(snapshots, choices)
def test_every_joining_node_is_planned_or_explained(snapshot: Snapshot, chosen: Settings) -> None:
    """A Node that waits for us is either initialized or deleted, or has a note that says why not."""
    everything = replace(chosen, controllers=frozenset(Controller))
    plan = compute_plan(snapshot, everything)
    joining = {node.key for node in snapshot.nodes if is_joining(node)}
    premise("a joining Node", is_met=bool(joining))
    assert joining <= {change.key for change in plan.changes} | {note.key for note in plan.notes}


@law({"a lost Node": 0.4})
@given(snapshots, choices)
def test_every_lost_node_is_planned_or_explained(snapshot: Snapshot, chosen: Settings) -> None:
    """A Node whose server a whole list lacks is to be deleted, or has a note that says why not."""
    everything = replace(chosen, controllers=frozenset(Controller))
    plan = compute_plan(snapshot, everything)
    servers = snapshot.servers
    known = servers.items.keys() | servers.unreadable
    ours = our_nodes(snapshot, everything) if servers.complete else []
    lost = {node.key for node, server_id in ours if server_id not in known}
    premise("a lost Node", is_met=bool(lost))
    assert lost <= {change.key for change in plan.changes} | {note.key for note in plan.notes}


@law({"a spared Node": 0.2})
@given(snapshots, choices, some("example.com/spare", "team in (mine,theirs)", "node-role.kubernetes.io/control-plane"))
def test_every_spared_node_is_said_to_be(snapshot: Snapshot, chosen: Settings, ignored_by: str) -> None:
    """A Node that the operator takes out of everything has a note, so that nobody wonders."""
    everything = replace(chosen, controllers=frozenset(Controller), ignore_nodes=parse_selector(ignored_by))
    spared = {node.key for node in snapshot.nodes if is_spared(node, everything)}
    premise("a spared Node", is_met=bool(spared))
    ignored = {note.key for note in compute_plan(snapshot, everything).notes if note.kind == "ignored"}
    assert ignored == spared


def named_by_servers(snapshot: Snapshot, chosen: Settings) -> set[str]:
    """Names of the Nodes that are initialized by what a server is called."""
    return {
        change.owner.removeprefix("node/")
        for change in compute_plan(snapshot, chosen).changes
        if isinstance(change.before, NodeIdentity) and change.before.provider_id is None
    }


@law({"a whole list would decide by name": 0.15})
@given(joining, deciding)
def test_a_gap_never_decides_by_name(snapshot: Snapshot, chosen: Settings) -> None:
    """An incomplete list of servers, or one with an unreadable server of the same or an unknown name, initializes no
    Node by its name."""
    servers = snapshot.servers
    doubtful = {servers.unreadable_names.get(key) for key in servers.unreadable}
    by_name = named_by_servers(snapshot, chosen)
    premise("a whole list would decide by name", is_met=bool(by_name))
    assert not by_name or (servers.complete and doubtful.isdisjoint({None, *by_name}))
    assert named_by_servers(replace(snapshot, servers=incomplete(servers)), chosen) == set()


@law({"a removal": 0.25})
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
    removals = [change for change in compute_plan(snapshot, chosen).changes if change.verb is Verb.REMOVE]
    premise("a removal", is_met=bool(removals))
    for change in removals:
        assert change.kind == "node.delete"
        assert isinstance(change.before, LostNode)
        assert change.key in gone
