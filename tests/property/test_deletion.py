"""Laws of safety: what has to be true, in every world, before a Node is deleted."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from desired.guards.absence import servers_to_confirm, wait_for
from desired.model.settings import Controller, Policy, Settings
from desired.model.snapshot import Node, Readiness, Snapshot
from desired.plan.change import Change, LostNode
from desired.planner import compute_plan
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.provider_id import Provider
from tests.builders import NOW, incomplete
from tests.property.model import applied, our_nodes
from tests.property.strategies import law
from tests.property.worlds import LOST_IDS, blurred, deciding, dwindling, dwindling_worlds, losing
from tests.support.judging import judge
from tests.support.premises import premise

LONG_AGO = NOW - timedelta(days=9)
CONTROL_PLANE = {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
ANNOUNCING = {"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"}


def allowed_deletions(snapshot: Snapshot, chosen: Settings, approved: Collection[str] = ()) -> tuple[Change, ...]:
    """The Nodes' deletions that may be carried out."""
    judged = judge(compute_plan(snapshot, chosen), snapshot, chosen, approved)
    return tuple(change for change in judged.allowed if change.kind == "node.delete")


def planned_deletions(snapshot: Snapshot, chosen: Settings) -> tuple[Change, ...]:
    """The Nodes' deletions that a plan has, whether or not they may be carried out."""
    return tuple(change for change in compute_plan(snapshot, chosen).changes if change.kind == "node.delete")


def approved_deletions(snapshot: Snapshot, chosen: Settings) -> tuple[Change, ...]:
    """The Nodes' deletions that may be carried out when a person approves whatever there is to approve."""
    holds = judge(compute_plan(snapshot, chosen), snapshot, chosen).holds
    return allowed_deletions(snapshot, chosen, [hold.hash for hold in holds])


def owners(changes: Collection[Change]) -> set[str]:
    """The keys of the Nodes that the changes are about."""
    return {change.owner for change in changes}


def silence(node: Node, snapshot: Snapshot) -> timedelta:
    """Since when nothing was heard of the Node."""
    return snapshot.taken_at - max(node.ready_since, node.heartbeat or node.ready_since)


def is_unannounced(node: Node, snapshot: Snapshot, chosen: Settings) -> bool:
    """Whether the going of this Node would surprise people."""
    given_up = node.ready is not Readiness.TRUE and silence(node, snapshot) >= chosen.waits.given_up_after
    told = node.unschedulable or node.deleted_at is not None or ANNOUNCING & {taint.key for taint in node.taints}
    return not given_up and not told


def anchors(snapshot: Snapshot, chosen: Settings) -> dict[str, bool]:
    """Key of each Ready, unannounced Node of ours → whether its server is there."""
    return {
        node.key: server_id in snapshot.servers.items
        for node, server_id in our_nodes(snapshot, chosen)
        if node.ready is Readiness.TRUE and is_unannounced(node, snapshot, chosen)
    }


def is_witnessed(snapshot: Snapshot, chosen: Settings) -> bool:
    """Whether a server of one of our Nodes, or the network that was given by its id, is in the project."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is not None and chosen.network == str(network.id):
        return True
    return any(server_id in snapshot.servers.items for _, server_id in our_nodes(snapshot, chosen))


@law({"a deletion is allowed": 0.25})
@given(losing, deciding)
def test_every_deletion_is_proven(snapshot: Snapshot, chosen: Settings) -> None:
    """No approval makes up for a server that is not absent from a whole list and by its id, nor for a Node that is
    another one than was seen, young, Ready until lately, or none of ours."""
    deletions = approved_deletions(snapshot, chosen)
    premise("a deletion is allowed", is_met=bool(deletions))
    for change in deletions:
        node = snapshot.nodes.items[change.owner.removeprefix("node/")]
        (server_id,) = [found for ours, found in our_nodes(snapshot, chosen) if ours == node]
        assert isinstance(change.before, LostNode)
        assert (change.before.proof.server_id, change.before.proof.node_uid) == (server_id, node.uid)
        assert isinstance(snapshot.servers.find(server_id), Absent)
        assert isinstance(snapshot.confirmations[server_id], Absent)
        assert snapshot.nodes.complete
        assert node.ready is not Readiness.TRUE
        assert snapshot.taken_at - node.ready_since >= chosen.waits.not_ready_for
        assert snapshot.taken_at - node.created_at >= chosen.waits.age
        assert node.deleted_at is None
        assert chosen.policy is Policy.SYNC
        assert Controller.LIFECYCLE in chosen.controllers


@law({"a server is asked for": 0.3, "a proof lacks time": 0.15})
@given(losing, deciding)
def test_what_is_asked_for_is_what_deletions_hang_on(snapshot: Snapshot, chosen: Settings) -> None:
    """Only servers of Nodes that are to be deleted are asked for; once all of them have answered, what a proof still
    lacks is time."""
    unasked = replace(snapshot, confirmations={})
    asked = servers_to_confirm(compute_plan(unasked, chosen), unasked, chosen, Provider.CLOUD)
    world = replace(snapshot, confirmations=dict.fromkeys(asked, Absent()))
    plan = compute_plan(world, chosen)
    proofs = {change.before.proof for change in plan.changes if isinstance(change.before, LostNode)}
    premise("a server is asked for", is_met=bool(asked))
    assert {*asked} <= {proof.server_id for proof in proofs}
    premise("a proof lacks time", is_met=any(wait_for(proof, world.taken_at, chosen.waits) for proof in proofs))
    for proof in proofs:
        waits = chosen.waits
        left = max(
            waits.not_ready_for - (world.taken_at - proof.not_ready_since),
            waits.age - (world.taken_at - proof.created_at),
        )
        doubt = wait_for(proof, world.taken_at, waits)
        assert (doubt.due_in_s if doubt else 0) == max(left.total_seconds(), 0)
        assert doubt or proof.server_id in asked


@law({"without the gap one is deleted": 0.3})
@given(dwindling, deciding, st.booleans())
def test_a_gap_deletes_nothing(snapshot: Snapshot, chosen: Settings, of_nodes: bool) -> None:
    """With part of either list missing no Node is deleted, whatever is approved."""
    premise("without the gap one is deleted", is_met=bool(approved_deletions(snapshot, chosen)))
    with_gap = replace(snapshot, nodes=incomplete(snapshot.nodes))
    if not of_nodes:
        with_gap = replace(snapshot, servers=incomplete(snapshot.servers))
    assert approved_deletions(with_gap, chosen) == ()


@law({"without the doubt one is deleted": 0.25})
@given(losing, deciding)
def test_doubt_about_a_server_keeps_its_node(snapshot: Snapshot, chosen: Settings) -> None:
    """A Node stays when its server arrived and could not be read, or when asking by id gave no clear answer."""
    premise("without the doubt one is deleted", is_met=bool(approved_deletions(snapshot, chosen)))
    doubtful = {**dict.fromkeys(snapshot.confirmations, Unknown("500")), 5: Unknown("timeout")}
    assert approved_deletions(replace(snapshot, confirmations=doubtful), chosen) == ()
    unreadable = {server_id: "no name" for _, server_id in our_nodes(snapshot, chosen)}
    broken = replace(snapshot.servers, items={}, unreadable=unreadable)
    assert approved_deletions(replace(snapshot, servers=broken), chosen) == ()


def hidden(snapshot: Snapshot, chosen: Settings) -> Snapshot:
    """The same cluster, seen with the token of an empty project: each server is missing, by its id as well."""
    gone = {server_id: Absent() for _, server_id in our_nodes(snapshot, chosen)}
    return replace(snapshot, servers=Section(), nodes=Section(snapshot.nodes.items), confirmations=gone)


@law({"a deletion is planned": 0.5})
@given(losing, deciding)
def test_hiding_every_server_deletes_nothing(snapshot: Snapshot, chosen: Settings) -> None:
    """One Ready Node that nobody has announced is enough: with an empty project no Node goes without approval, even if
    each server is confirmed as absent. With none, it takes the network by its id, and still no Node goes unannounced
    beyond the limit."""
    world = hidden(snapshot, chosen)
    deletions = owners(allowed_deletions(world, chosen))
    premise("a deletion is planned", is_met=bool(planned_deletions(world, chosen)))
    assert not deletions or (not anchors(world, chosen) and is_witnessed(world, chosen))
    ours = [node for node, _ in our_nodes(world, chosen)]
    unannounced = [node for node in ours if is_unannounced(node, world, chosen)]
    assert len(unannounced) <= limit_of(len(ours)) or deletions.isdisjoint(node.key for node in unannounced)


@law({"a deletion is planned": 0.5})
@given(losing, deciding)
def test_hiding_every_server_and_asking_for_none_deletes_nothing(snapshot: Snapshot, chosen: Settings) -> None:
    """An empty list alone deletes nothing, whatever is approved."""
    unasked = replace(hidden(snapshot, chosen), confirmations={})
    premise("a deletion is planned", is_met=bool(planned_deletions(unasked, chosen)))
    assert approved_deletions(unasked, chosen) == ()


@law({"a deletion is allowed": 0.1})
@given(dwindling, deciding)
def test_a_deletion_is_of_the_clusters_own_project(snapshot: Snapshot, chosen: Settings) -> None:
    """Without approval a Node goes only when half of the Ready Nodes are found in the project, or else a witness is."""
    deletions = allowed_deletions(snapshot, chosen)
    premise("a deletion is allowed", is_met=bool(deletions))
    if deletions:
        found = anchors(snapshot, chosen)
        assert 2 * sum(found.values()) >= len(found)
        assert found or is_witnessed(snapshot, chosen)


def limit_of(nodes: int) -> int:
    """How many of so many Nodes may go unannounced."""
    return 0 if nodes == 1 else max(1, nodes // 4)


@law({"more are lost than may go": 0.1, "some go": 0.08})
@given(dwindling, deciding)
def test_no_more_go_unannounced_than_may(snapshot: Snapshot, chosen: Settings) -> None:
    """Without approval all that are lost unannounced may go, or, when they are more than the limit, none of them."""
    ours = our_nodes(snapshot, chosen)
    lost = {
        node.key
        for node, server_id in ours
        if isinstance(snapshot.servers.find(server_id), Absent) and is_unannounced(node, snapshot, chosen)
    }
    surprising = owners(allowed_deletions(snapshot, chosen)) & lost
    premise("more are lost than may go", is_met=len(lost) > limit_of(len(ours)))
    premise("some go", is_met=bool(surprising))
    assert len(surprising) <= (len(lost) if len(lost) <= limit_of(len(ours)) else 0)


@law({"one goes in more than one pass": 0.04})
@given(st.data(), dwindling_worlds(), deciding)
def test_many_small_passes_delete_no_more_than_one(data: st.DataObject, snapshot: Snapshot, chosen: Settings) -> None:
    """Pass after pass, each of them cut short anywhere: no more go unannounced than might have gone at once."""
    limit = limit_of(len(our_nodes(snapshot, chosen)))
    surprising = {node.key for node, _ in our_nodes(snapshot, chosen) if is_unannounced(node, snapshot, chosen)}
    gone: set[str] = set()
    passes = 0
    for _ in range(3):
        deletions = allowed_deletions(snapshot, chosen)
        part = [change for change in deletions if data.draw(st.booleans(), label=change.key)]
        gone |= owners(part)
        passes += bool(part)
        snapshot = applied(snapshot, part)
    premise("one goes in more than one pass", is_met=passes > 1)
    assert len(gone & surprising) <= limit


@law({"all of it is to go": 0.15})
@given(losing, deciding)
def test_the_control_plane_never_goes_whole(snapshot: Snapshot, chosen: Settings) -> None:
    """Without approval a cluster with Nodes of a control plane keeps one of them, announced or not."""
    members = {node.key for node in snapshot.nodes if CONTROL_PLANE & node.labels.keys()}
    premise("all of it is to go", is_met=bool(members) and members <= owners(planned_deletions(snapshot, chosen)))
    assert not members or members - owners(allowed_deletions(snapshot, chosen))


@law({"a hold of deletions": 0.25})
@given(losing, deciding)
def test_an_approval_fits_no_node_that_has_registered_anew(snapshot: Snapshot, chosen: Settings) -> None:
    """Under the name of a Node whose deletion was approved, another one is as safe as it was before."""
    holds = judge(compute_plan(snapshot, chosen), snapshot, chosen).holds
    of_deletions = [hold for hold in holds if hold.rule == "node-blast-radius"]
    premise("a hold of deletions", is_met=bool(of_deletions))
    for hold in of_deletions:
        name = hold.keys[0].removeprefix("node/")
        anew = replace(snapshot.nodes.items[name], uid="registered-anew")
        world = replace(snapshot, nodes=replace(snapshot.nodes, items={**snapshot.nodes.items, name: anew}))
        assert owners(allowed_deletions(world, chosen, [hold.hash])).isdisjoint(hold.keys)


@law({"a deletion is withheld that may be known less of": 0.25, "a deletion is still planned": 0.2})
@given(st.data(), losing, deciding)
def test_knowing_less_never_deletes_more(data: st.DataObject, snapshot: Snapshot, chosen: Settings) -> None:
    """Whatever becomes unreadable, no Node may go that might not before."""
    less = data.draw(blurred(snapshot))
    allowed = owners(allowed_deletions(snapshot, chosen))
    premise(
        "a deletion is withheld that may be known less of",
        is_met=bool(owners(planned_deletions(snapshot, chosen)) - allowed),
    )
    premise("a deletion is still planned", is_met=bool(planned_deletions(less, chosen)))
    assert owners(allowed_deletions(less, chosen)) <= allowed


@law({"the project is the cluster's, and one is lost": 0.5})
@given(losing, deciding)
def test_a_proven_and_announced_loss_is_deleted(snapshot: Snapshot, chosen: Settings) -> None:
    """All of this would hold if nothing were ever deleted: a worker that is announced goes, once its server is proven
    to be gone from a project where all the Ready Nodes are found, or else a witness."""
    told = {
        node.name: replace(node, labels={}, conditions=(), created_at=LONG_AGO, unschedulable=True, deleted_at=None)
        for node in snapshot.nodes
        if node.provider_id in {f"hcloud://{server_id}" for server_id in LOST_IDS}
    }
    world = replace(
        snapshot,
        nodes=Section({**snapshot.nodes.items, **told}),
        servers=Section(snapshot.servers.items),
        confirmations=dict.fromkeys(LOST_IDS, Absent()),
    )
    active = replace(chosen, policy=Policy.SYNC, controllers=frozenset(Controller))
    found = anchors(world, active)
    is_ours = all(found.values()) and (bool(found) or is_witnessed(world, active))
    premise("the project is the cluster's, and one is lost", is_met=is_ours and bool(told))
    if is_ours:
        assert owners(allowed_deletions(world, active)) >= {node.key for node in told.values()}
