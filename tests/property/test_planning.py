"""Laws of planning and judging: true of every world, however broken."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from desired.addresses import parse_node_ips
from desired.anchor import AnchorState, anchor_of_cloud
from desired.approval import Approval, format_approval, parse_approvals
from desired.change import NodeIdentity, Plan, Verdict
from desired.diff import compute_plan
from desired.guards import GUARDS, Facts
from desired.judgement import judge, restrict
from desired.kinds import Verb
from desired.labels import OWNED_LABELS
from desired.names import TAINT_UNINITIALIZED
from desired.provider_id import CloudID, RobotID, format_provider_id, parse_provider_id
from desired.section import Section
from desired.settings import Policy, Settings
from desired.snapshot import Node, Snapshot
from tests.property.strategies import (
    approvals,
    astray,
    choices,
    cloud_ids,
    hashes,
    keys,
    law,
    plans,
    robot_ids,
    shuffled,
    snapshots,
)


def applied(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The world after every change of ``plan`` was carried out, as the API server merges patches."""
    items = dict(snapshot.nodes.items)
    for change in plan.changes:
        assert isinstance(change.after, NodeIdentity)
        name = change.owner.removeprefix("node/")
        node, after = items[name], change.after
        items[name] = replace(
            node,
            provider_id=after.provider_id,
            labels={**node.labels, **after.labels},
            taints=after.taints,
            addresses=after.addresses,
        )
    return replace(snapshot, nodes=replace(snapshot.nodes, items=items))


def is_foreign(node: Node) -> bool:
    """Whether design section 5 gives us no right to this Node."""
    joining = TAINT_UNINITIALIZED in {taint.key for taint in node.taints}
    if node.provider_id is None:
        return not joining
    return not isinstance(parse_provider_id(node.provider_id), CloudID | RobotID)


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
def test_applying_a_plan_leaves_nothing_to_do(snapshot: Snapshot, chosen: Settings) -> None:
    """The world after a plan needs no plan."""
    assert compute_plan(applied(snapshot, compute_plan(snapshot, chosen)), chosen).changes == ()


@law
@given(snapshots, choices)
def test_a_change_says_exactly_what_becomes_of_the_node(snapshot: Snapshot, chosen: Settings) -> None:
    """Before and after are the Node's owned fields in the worlds before and after the plan; the rest stays."""
    plan = compute_plan(snapshot, chosen)
    after = applied(snapshot, plan)
    for change in plan.changes:
        name = change.owner.removeprefix("node/")
        old, new = snapshot.nodes.items[name], after.nodes.items[name]
        assert isinstance(change.before, NodeIdentity)
        assert isinstance(change.after, NodeIdentity)
        assert (change.before.provider_id, change.before.taints) == (old.provider_id, old.taints)
        assert change.before.labels == {key: value for key, value in old.labels.items() if key in OWNED_LABELS}
        assert change.after.labels == {key: value for key, value in new.labels.items() if key in OWNED_LABELS}
        assert old.labels.get("team") == new.labels.get("team")
        assert [taint for taint in old.taints if taint.key != TAINT_UNINITIALIZED] == list(new.taints)


@law
@given(snapshots, choices)
def test_changes_are_real_and_have_keys_of_their_own(snapshot: Snapshot, chosen: Settings) -> None:
    """No key is planned twice, and no change leaves things as they are."""
    plan = compute_plan(snapshot, chosen)
    assert len({change.key for change in plan.changes}) == len(plan.changes)
    assert all(change.before != change.after for change in plan.changes)


@law
@given(snapshots, choices)
def test_foreign_nodes_are_left_alone(snapshot: Snapshot, chosen: Settings) -> None:
    """No change concerns a Node that is not ours."""
    foreign = {node.key for node in snapshot.nodes if is_foreign(node)}
    assert not foreign.intersection(change.owner for change in compute_plan(snapshot, chosen).changes)


@law
@given(snapshots, choices)
def test_every_joining_node_is_planned_or_explained(snapshot: Snapshot, chosen: Settings) -> None:
    """A Node that waits for us is either initialised or has a note that says why not."""
    everything = replace(chosen, controllers=Settings().controllers)
    plan = compute_plan(snapshot, everything)
    joining = {node.key for node in snapshot.nodes if TAINT_UNINITIALIZED in {taint.key for taint in node.taints}}
    assert joining <= {change.key for change in plan.changes} | {note.key for note in plan.notes}


@law
@given(snapshots, choices)
def test_a_gap_never_decides_by_name(snapshot: Snapshot, chosen: Settings) -> None:
    """An incomplete list of servers, or one with an unreadable server of the same or an unknown name, initialises no
    Node by its name."""
    servers = snapshot.servers
    assume(not servers.complete or servers.unreadable)
    named = {servers.unreadable_names.get(key) for key in servers.unreadable}
    for change in compute_plan(snapshot, chosen).changes:
        assert isinstance(change.before, NodeIdentity)
        by_name = change.before.provider_id is None
        assert not by_name or (servers.complete and named.isdisjoint({None, change.owner.removeprefix("node/")}))


@law
@given(snapshots, choices)
def test_planning_removes_no_node(snapshot: Snapshot, chosen: Settings) -> None:
    """Today's rules remove nothing, whatever was read."""
    assert all(change.verb is Verb.ADD for change in compute_plan(snapshot, chosen).changes)


@law
@given(plans, snapshots, choices, st.lists(hashes, max_size=1))
def test_a_gap_allows_no_removal_and_no_creation(
    plan: Plan, snapshot: Snapshot, chosen: Settings, approved: list[str]
) -> None:
    """Whatever is approved, no removal and no creation in the cloud passes on sections that are not whole."""
    sections = snapshot.sections()
    held = [hold.hash for hold in judge(plan, snapshot, chosen).holds]
    for change in judge(plan, snapshot, chosen, [*approved, *held]).allowed:
        if change.verb is Verb.REMOVE or change.row.creates_in_cloud:
            assert all(sections.get(name, Section.missing("not read")).complete for name in change.row.decided_from)


@law
@given(plans, astray, choices)
def test_a_violated_anchor_allows_nothing_of_the_cloud(plan: Plan, snapshot: Snapshot, chosen: Settings) -> None:
    """A token of another project writes neither to the cloud nor to a Node of the cloud."""
    assert anchor_of_cloud(snapshot).state is AnchorState.VIOLATED
    for change in judge(plan, snapshot, chosen).allowed:
        side = change.after or change.before
        assert isinstance(side, NodeIdentity)
        assert not change.row.writes_cloud
        assert not isinstance(parse_provider_id(side.provider_id or ""), CloudID)


@law
@given(plans, snapshots, choices, st.booleans())
def test_the_heaviest_finding_wins(plan: Plan, snapshot: Snapshot, chosen: Settings, approve: bool) -> None:
    """A change has the heaviest verdict that a rule has for it, or waits for one that has."""
    held = judge(plan, snapshot, chosen).holds
    approved = {hold.hash for hold in held} if approve else set()
    findings = [finding for guard in GUARDS.values() for finding in guard(Facts(plan, snapshot, chosen))]
    judged = judge(plan, snapshot, chosen, approved)
    assert all(hold.approved is approve for hold in judged.holds)
    for change in judged.changes:
        found = [
            finding.verdict
            for finding in findings
            if change.key in finding.keys and not (approve and finding.verdict is Verdict.HELD)
        ]
        heaviest = max(found, key=lambda verdict: verdict.weight, default=Verdict.ALLOWED)
        waits_for_another = heaviest is Verdict.ALLOWED and change.ruling.verdict is Verdict.WAITING
        assert waits_for_another or change.ruling.verdict is heaviest
        assert not waits_for_another or set(change.depends_on) - {allowed.key for allowed in judged.allowed}


@law
@given(plans, snapshots, choices)
def test_what_is_allowed_waits_for_nothing(plan: Plan, snapshot: Snapshot, chosen: Settings) -> None:
    """No allowed change depends on one that is withheld."""
    judged = judge(plan, snapshot, chosen)
    withheld = {change.key for change in judged.changes} - {change.key for change in judged.allowed}
    assert all(withheld.isdisjoint(change.depends_on) for change in judged.allowed)


@law
@given(plans, snapshots, choices)
def test_policies(plan: Plan, snapshot: Snapshot, chosen: Settings) -> None:
    """Observe allows nothing, upsert no removal, and sync no less than either."""
    allowed = {
        policy: {change.key: change for change in judge(plan, snapshot, replace(chosen, policy=policy)).allowed}
        for policy in Policy
    }
    assert not allowed[Policy.OBSERVE]
    assert all(change.verb is not Verb.REMOVE for change in allowed[Policy.UPSERT].values())
    assert allowed[Policy.UPSERT].keys() <= allowed[Policy.SYNC].keys()


@law
@given(plans, snapshots, choices)
def test_judging_touches_only_rulings(plan: Plan, snapshot: Snapshot, chosen: Settings) -> None:
    """Guards withhold; they neither add nor drop nor alter a change, and judging twice says the same."""
    judged = judge(plan, snapshot, chosen)
    assert tuple(replace(change, ruling=plan.by_key[change.key].ruling) for change in judged.changes) == plan.changes
    assert replace(judge(judged, snapshot, chosen), notes=judged.notes) == judged


@law
@given(plans, snapshots, choices, st.lists(keys | st.just("node"), max_size=2).map(tuple))
def test_restricting_lets_nothing_more_pass(
    plan: Plan, snapshot: Snapshot, chosen: Settings, only: tuple[str, ...]
) -> None:
    """A part of a judged plan has the verdicts and the hashes of the whole; what needs the rest waits for it."""
    judged = judge(plan, snapshot, chosen)
    part = restrict(judged, only)
    assert {*part.holds} <= {*judged.holds}
    for change in part.changes:
        whole = judged.by_key[change.key]
        left_out = {*change.depends_on} & (judged.by_key.keys() - part.by_key.keys())
        waits = whole.ruling.verdict is Verdict.ALLOWED and bool(left_out)
        assert waits or change == whole
        assert not waits or change == whole.ruled(replace(change.ruling, verdict=Verdict.WAITING, rule="only"))


@law
@given(plans, snapshots, choices, st.lists(keys | st.just("node"), max_size=2).map(tuple))
def test_a_key_is_strange_exactly_when_nothing_has_it(
    plan: Plan, snapshot: Snapshot, chosen: Settings, only: tuple[str, ...]
) -> None:
    """Each key of a part names something that was planned or observed, above or below it, or a note says not."""
    known = [node.key for node in snapshot.nodes]
    part = restrict(judge(plan, snapshot, chosen), only, known)
    things = [*plan.by_key, *known]
    strange = {
        key
        for key in only
        if not any(f"{thing}/".startswith(f"{key}/") or f"{key}/".startswith(f"{thing}/") for thing in things)
    }
    said = [note.text for note in part.notes if note.text.startswith("nothing that was observed or planned is ")]
    assert {text.split(";")[0].rpartition(" ")[2] for text in said} == strange


@law
@given(cloud_ids | robot_ids)
def test_provider_ids_survive_writing_and_reading(provider_id: CloudID | RobotID) -> None:
    """Reading what was written gives the same providerID."""
    assert parse_provider_id(format_provider_id(provider_id)) == provider_id


@law
@given(st.text() | st.sampled_from(["hcloud://", "hrobot://"]).flatmap(lambda prefix: st.text().map(prefix.__add__)))
def test_any_text_is_read_as_some_provider_id(text: str) -> None:
    """No text makes the parser raise, and one that is ours is written back as it was."""
    found = parse_provider_id(text)
    assert not isinstance(found, CloudID | RobotID) or format_provider_id(found) == text


@law
@given(st.lists(approvals, unique_by=lambda approval: approval.hash, max_size=3))
def test_approvals_survive_writing_and_reading(given_approvals: list[Approval]) -> None:
    """Reading what was written gives the same approvals, by hash."""
    expected = sorted(given_approvals, key=lambda approval: approval.hash)
    assert parse_approvals(dict(map(format_approval, given_approvals))) == tuple(expected)


@law
@given(
    hashes.map(lambda text: text.replace(":", ".")) | st.text(),
    st.text()
    | st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists).map(repr)
    | approvals.map(lambda approval: format_approval(approval)[1]).flatmap(
        lambda value: st.integers(0, len(value)).map(lambda end: value[:end])
    ),
)
def test_any_config_map_is_read(key: str, value: str) -> None:
    """No data of the ConfigMap makes the parser raise."""
    assert len(parse_approvals({key: value})) <= 1


@law
@given(st.text(alphabet="0123456789abcdef:.,%/ x") | st.text() | st.ip_addresses().map(str))
def test_any_annotation_is_read(annotation: str) -> None:
    """No annotation makes the parser raise, and it never reads more than a pair."""
    found = parse_node_ips(annotation)
    assert not isinstance(found, tuple) or len(found) in {1, 2}
