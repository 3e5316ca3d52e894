"""The out-of-service taint: which Nodes get it before they are deleted, how long that waits, and when it goes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from desired.guards.absence import servers_to_confirm
from desired.model.settings import Controller, Policy, ServerLoss, Settings
from desired.model.snapshot import Node, Readiness, RobotAccount, ServerStatus, Snapshot, VolumeAttachment
from desired.model.taint import (
    Taint,
    is_out_of_service,
    out_of_service_taint,
    with_out_of_service_taint,
    without_out_of_service_taint,
)
from desired.names import OUT_OF_SERVICE_DELETED, TAINT_OUT_OF_SERVICE
from desired.nodes.out_of_service import needs_attachments
from desired.plan.change import OutOfService, Plan, Verdict
from desired.plan.setbacks import NO_SETBACKS, OF_NODES, Setbacks
from desired.planner import compute_plan
from desired.rules import guards as of_guards
from desired.rules import nodes as rules
from desired.section import Absent, Section
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    SERVER_LABELS,
    a_fleet,
    a_lost_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.support.judging import judge
from tests.support.rows import rows

ON = Settings(out_of_service=frozenset({ServerLoss.DELETED}))
OTHER = Taint("example.com/a", "NoExecute", "b", "2026-07-01T00:00:00Z")
FOREIGN = Taint(TAINT_OUT_OF_SERVICE, "NoExecute", "nodeshutdown")
KEY, TAINT = "node/n-1", "node/n-1/out-of-service"
ALLOWED, HELD, WAITING = Verdict.ALLOWED, Verdict.HELD, Verdict.WAITING
UNREAD: Section[str, VolumeAttachment] = Section.missing("403")


def ours(age_s: float) -> Taint:
    """Our taint, which is so old."""
    return with_out_of_service_taint((), NOW - timedelta(seconds=age_s))[0]


def attached(*nodes: str) -> Section[str, VolumeAttachment]:
    """A VolumeAttachment of each of these Nodes."""
    found = [VolumeAttachment(f"csi-{i}", node) for i, node in enumerate(nodes)]
    return Section({each.name: each for each in found})


def lost(
    attachments: Section[str, VolumeAttachment] | None, *taints: Taint, size: int = 4, **overrides: object
) -> Snapshot:
    """A fleet whose first server is gone."""
    first = a_lost_node("n-1", 1, taints=taints, **overrides)
    others = [a_settled_node(f"n-{i}", i) for i in range(2, size + 1)]
    return replace(a_fleet(first, *others, gone=[1]), volume_attachments=attachments)


def judged(snapshot: Snapshot, settings: Settings = ON, setbacks: Setbacks = NO_SETBACKS) -> Plan:
    return judge(compute_plan(snapshot, settings), snapshot, settings, setbacks=setbacks)


def verdicts(plan: Plan) -> dict[str, tuple[Verdict, str | None]]:
    return {c.key: (c.decision.verdict, c.decision.rule) for c in plan.changes}


def noted(plan: Plan) -> list[str]:
    return [note.text for note in plan.notes if note.kind == "out-of-service"]


TAINTED_FIRST = {TAINT: (ALLOWED, None)}
DELETED, DETACHING = {KEY: (ALLOWED, None)}, {KEY: (WAITING, "volume-detach")}
LIFECYCLE_OFF = replace(ON, controllers=frozenset(Controller) - {Controller.LIFECYCLE})


@rows("snapshot settings expected", {
    "switched off": (lost(attached("n-1")), Settings(), DELETED),
    "a volume": (lost(attached("n-1")), ON, TAINTED_FIRST),
    "only those of others": (lost(attached("n-2", "n-11")), ON, DELETED),
    "unread": (lost(UNREAD), ON, DELETED),
    "not asked": (lost(None), ON, DELETED),
    "another's taint": (lost(attached("n-1"), FOREIGN), ON, DELETED),
    "not a minute ago": (lost(attached("n-1"), ours(59)), ON, DETACHING),
    "whatever is switched off since": (lost(attached("n-1"), ours(59)), Settings(), DETACHING),
    "detached": (lost(attached(), ours(15)), ON, DELETED),
    "not detached in time": (lost(attached("n-1"), ours(120)), ON, DELETED),
    "unread while it is out of service": (lost(UNREAD, ours(15)), ON, DETACHING),
    "unread for too long": (lost(UNREAD, ours(120)), ON, DELETED),
    "a time that is none": (lost(attached("n-1"), replace(ours(0), time_added="yesterday")), ON, DELETED),
    "no time": (lost(attached("n-1"), replace(ours(0), time_added=None)), ON, DELETED),
    "a clock that was ahead": (lost(attached("n-1"), ours(-5)), ON, DETACHING),
    "a time in the far future": (lost(attached("n-1"), ours(-86400)), ON, DELETED),
    "held back by the policy": (lost(attached("n-1")), replace(ON, policy=Policy.UPSERT), {TAINT: (WAITING, "policy")}),
    "not gone for long enough": (lost(attached("n-1"), ready_since=NOW), ON, {TAINT: (WAITING, "absence-proof")}),
    "not proven": (replace(lost(attached("n-1")), confirmations={}), ON, {TAINT: (WAITING, "absence-proof")}),
    "the last of the control plane": (lost(attached("n-1"),
        labels=SERVER_LABELS | {"node-role.kubernetes.io/control-plane": ""}), ON, {TAINT: (HELD,
        "node-blast-radius")}),
    "tainted, in another project": (replace(lost(attached(), ours(5)), servers=Section()), ON, {KEY: (HELD,
        "project-anchor")}),
    "its kubelet reports": (lost(attached("n-1"), ready=Readiness.TRUE), ON, {}),
    "its deletion was asked for": (lost(attached("n-1"), deleted_at=NOW), ON, {}),
})  # fmt: skip
def test_a_node_whose_server_is_gone(
    snapshot: Snapshot, settings: Settings, expected: Mapping[str, tuple[Verdict, str | None]]
) -> None:
    """The taint comes first, under every guard of the deletion, which waits for two minutes."""
    assert verdicts(judged(snapshot, settings)) == expected


def fleet(*tainted: int, lost: int = 6, volumes: Section[str, VolumeAttachment] | None = None) -> Snapshot:
    """Eight Nodes: the first servers are gone, and these are tainted."""
    nodes = [a_lost_node(f"n-{i}", i, taints=(ours(5),) if i in tainted else ()) for i in range(1, lost + 1)]
    nodes += [a_settled_node(f"n-{i}", i) for i in range(lost + 1, 9)]
    found = attached(*(f"n-{i}" for i in range(1, 9))) if volumes is None else volumes
    return replace(a_fleet(*nodes, gone=range(1, lost + 1)), volume_attachments=found)


def keys(*numbers: int) -> set[str]:
    return {f"node/n-{i}" for i in numbers}


def test_six_of_eight() -> None:
    """Taints are held as deletions are; the deletions after them ask nobody again."""
    before, tainted = fleet(), {f"node/n-{i}/out-of-service" for i in range(1, 7)}
    plan = judged(before)
    (hold,) = plan.holds
    assert (hold.rule, {*hold.keys}, plan.allowed) == ("node-blast-radius", tainted, ())

    approved = judge(compute_plan(before, ON), before, ON, approved=[hold.hash])
    assert {change.key for change in approved.allowed} == tainted

    after = judged(fleet(1, 2, 3, 4, 5, 6))
    assert (verdicts(after), after.holds) == (dict.fromkeys(keys(1, 2, 3, 4, 5, 6), (WAITING, "volume-detach")), ())
    detached = judged(fleet(1, 2, 3, 4, 5, 6, volumes=attached("n-7", "n-8")))
    assert ({change.key for change in detached.allowed}, detached.holds) == (keys(1, 2, 3, 4, 5, 6), ())


def test_a_tainted_node_counts_as_lost() -> None:
    """Two of eight may be lost: with both tainted, a third is held, and they go."""
    plan = judged(fleet(1, 2, lost=3, volumes=attached()))
    assert {change.key for change in plan.allowed} == keys(1, 2)
    assert [(hold.rule, hold.keys, hold.value) for hold in plan.holds] == [("node-blast-radius", ("node/n-3",), "3")]


def test_a_tainted_node_counts_for_an_hour_after_its_deletion() -> None:
    """Two of eight have gone: a third is held."""
    gone = fleet(lost=3, volumes=attached())
    nodes = {name: node for name, node in gone.nodes.items.items() if name not in ("n-1", "n-2")}
    most = frozenset(f"node/n-{i}" for i in range(1, 9))
    setbacks = Setbacks(peaks={(OF_NODES, Provider.CLOUD): most})
    plan = judged(replace(gone, nodes=replace(gone.nodes, items=nodes)), setbacks=setbacks)
    assert [(hold.rule, hold.keys, hold.value) for hold in plan.holds] == [("node-blast-radius", ("node/n-3",), "3")]


def test_an_approval_of_several() -> None:
    """An approved loss passes in both steps; another one asks anew."""
    before = fleet(volumes=attached("n-1", "n-2", "n-3"))
    (hold,) = judged(before).holds
    for names in ([hold.hash], hold.names):
        plan = judge(compute_plan(before, ON), before, ON, approved=names)
        tainted = {f"node/n-{i}/out-of-service" for i in (1, 2, 3)}
        assert {change.key for change in plan.allowed} == tainted | keys(4, 5, 6)

    after = fleet(1, 2, 3, lost=7, volumes=attached("n-2", "n-3"))
    nodes = {name: node for name, node in after.nodes.items.items() if name not in ("n-4", "n-5", "n-6")}
    after = replace(after, nodes=replace(after.nodes, items=nodes))
    plan = judge(compute_plan(after, ON), after, ON, approved=hold.names)
    assert {change.key for change in plan.allowed} == keys(1)
    assert [(each.keys, each.approved) for each in plan.holds] == [(("node/n-7",), False)]


def test_the_other_guards_judge_both_steps() -> None:
    """An approval of the taint in another project is none of the deletion."""
    nodes = [a_lost_node("n-1", 1), *(a_settled_node(f"n-{i}", i) for i in (2, 3, 4))]
    snapshot = replace(a_fleet(*nodes, gone=(1, 2, 3, 4)), volume_attachments=attached("n-1"))
    holds = judged(snapshot).holds
    assert {(hold.rule, hold.keys) for hold in holds} >= {("project-anchor", (TAINT,))}
    approved = [hold.hash for hold in holds]
    assert verdicts(judge(compute_plan(snapshot, ON), snapshot, ON, approved=approved)) == TAINTED_FIRST

    tainted = a_fleet(a_lost_node("n-1", 1, taints=(ours(5),)), *nodes[1:], gone=(1, 2, 3, 4))
    tainted = replace(tainted, volume_attachments=attached())
    plan = judge(compute_plan(tainted, ON), tainted, ON, approved=[*approved, *(n for h in holds for n in h.names)])
    assert verdicts(plan) == {KEY: (HELD, "project-anchor")}


def test_no_server_is_asked_for_too_early() -> None:
    """Neither for the deletion nor for the taint before it: whatever the answer is, both wait."""
    for ready_since, asked in (NOW, ()), (NOW - timedelta(hours=1), (1,)):
        snapshot = lost(attached("n-1"), ready_since=ready_since)
        assert servers_to_confirm(compute_plan(snapshot, ON), snapshot, ON, Provider.CLOUD) == asked


def test_our_taint_on_a_robot_node_allows_nothing() -> None:
    """None of ours is there, so another client wrote it."""
    metal = [a_lost_node(f"m-{i}", provider_id=f"hrobot://{i}", taints=(ours(5),)) for i in (1, 2, 3)]
    account = RobotAccount(Section(), confirmations={i: Absent() for i in (1, 2, 3)})
    snapshot = replace(lost(attached(), size=6), robot=account)
    snapshot = replace(snapshot, nodes=Section({**snapshot.nodes.items, **{node.name: node for node in metal}}))
    plan = judged(snapshot, replace(ON, robot=True))
    assert ("node-blast-radius", tuple(node.key for node in metal)) in [(hold.rule, hold.keys) for hold in plan.holds]


@rows("taint", {"of an earlier loss": ours(5 * 3600), "without a time": replace(ours(5), time_added=None)})
def test_a_taint_allows_only_the_loss_after_which_it_came(taint: Taint) -> None:
    """Six of eight are lost again, or were tainted by another client: their deletion is held as a whole."""
    nodes = [a_lost_node(f"n-{i}", i, taints=(taint,), ready_since=NOW - timedelta(minutes=1)) for i in range(1, 7)]
    nodes += [a_settled_node(f"n-{i}", i) for i in (7, 8)]
    plan = judged(replace(a_fleet(*nodes, gone=range(1, 7)), volume_attachments=attached()))
    assert [(hold.rule, {*hold.keys}) for hold in plan.holds] == [("node-blast-radius", keys(1, 2, 3, 4, 5, 6))]
    assert plan.allowed == ()


def test_a_robot_server_that_is_gone() -> None:
    """It may run on, and its pods would run twice: no taint, although attachments are read for another Node."""
    metal = a_lost_node("metal", provider_id="hrobot://321")
    account = RobotAccount(Section(), confirmations={321: Absent()})
    snapshot = lost(attached("n-1", "metal"), size=6)
    snapshot = replace(snapshot, nodes=Section({**snapshot.nodes.items, "metal": metal}), robot=account)
    kinds = {change.key: change.kind for change in compute_plan(snapshot, replace(ON, robot=True)).changes}
    assert kinds.keys() == {TAINT, "node/metal"}


def test_texts_of_the_taint() -> None:
    """The proof goes along; the deletion says what it waits for, and when that is worth a look."""
    plan, deletion = judged(lost(attached("n-1", "n-1"))), judged(lost(attached("n-1", "n-1"), ours(5))).by_key[KEY]
    taint = plan.by_key[TAINT]
    assert taint.reason == rules.OUT_OF_SERVICE.text(server="server 1", volumes="2 volumes")
    assert taint.after == OutOfService(deletion.before.proof)  # type: ignore[union-attr]
    assert deletion.decision.why == of_guards.VOLUMES_ATTACHED.text(volumes="2 volumes", wait="120 s")
    assert deletion.decision.due_in_s == 15
    assert judged(lost(attached("n-1"), ours(110))).by_key[KEY].decision.due_in_s == 10
    unread = judged(lost(UNREAD, ours(15)))
    assert unread.by_key[KEY].decision.why == of_guards.VOLUMES_UNREAD.text(error="403", wait="120 s")
    assert noted(judged(lost(UNREAD))) == [rules.ATTACHMENTS_UNREAD.text(error="403")]
    assert noted(judged(lost(UNREAD), Settings())) == noted(plan) == []


def back(
    *taints: Taint,
    attachments: Section[str, VolumeAttachment] | None = None,
    node: Node | None = None,
    **server: object,
) -> Snapshot:
    """A Node whose server is there (again)."""
    found = a_snapshot(
        [replace(node or a_lost_node("n-1", 1), taints=taints)], [a_server(1, "n-1", **server), a_server(2, "n-2")]
    )
    return replace(found, volume_attachments=attached() if attachments is None else attachments)


def on_robot(*taints: Taint) -> Snapshot:
    """A Node on a dedicated server that is there."""
    node = a_lost_node("n-1", provider_id="hrobot://321", taints=taints)
    return replace(a_snapshot([node]), robot=RobotAccount(Section({321: a_robot_server(321, "n-1")})))


OFF = replace(ON, out_of_service=frozenset())


@rows("snapshot settings note", {
    "running": (back(ours(60), OTHER), ON, None),
    "of no known age": (back(replace(ours(0), time_added=None)), ON, None),
    "volumes of others": (back(ours(60), attachments=attached("n-2")), ON, None),
    "off": (back(ours(60), status=ServerStatus.OFF), ON, rules.TAINT_STAYS_POWER.text(server="server 1", status="off")),
    "migrating": (back(ours(60), status=ServerStatus.MIGRATING), ON, rules.TAINT_STAYS_POWER.text(server="server 1",
        status="migrating")),
    "locked": (back(ours(60), is_locked=True), ON, rules.TAINT_STAYS_LOCKED.text(server="server 1")),
    "too young": (back(ours(59)), ON, rules.TAINT_STAYS_YOUNG.text(wait="60 s")),
    "attached": (back(ours(60), attachments=attached("n-1")), ON, rules.TAINT_STAYS_ATTACHED.text(volumes="1 volume")),
    "unread": (back(ours(60), attachments=UNREAD), ON, rules.TAINT_STAYS_UNREAD.text(error="403")),
})  # fmt: skip
def test_a_node_whose_server_is_there(snapshot: Snapshot, settings: Settings, note: str | None) -> None:
    """It goes where the machine runs and no volume is attached; else a note says why it stays."""
    plan = compute_plan(snapshot, settings)
    goes = [change for change in plan.changes if change.kind == "node.out_of_service_taint"]
    assert [(change.key, change.verb, change.after) for change in goes] == ([(TAINT, "modify", False)] * (note is None))
    assert noted(plan) == [note] * (note is not None)


@rows("snapshot settings", {
    "no taint": (back(), ON),
    "others' taints": (back(OTHER, FOREIGN), ON),
    "its kind is switched off": (back(ours(60)), LIFECYCLE_OFF),
    "ignored": (back(ours(60), node=a_lost_node("n-1", 1, labels={"spare": ""})),
        replace(ON, ignore_nodes=parse_selector("spare"))),
    "its deletion was asked for": (lost(attached("n-1"), ours(60), deleted_at=NOW), ON),
    "on a Robot server": (on_robot(ours(60)), replace(ON, robot=True)),
})  # fmt: skip
def test_a_taint_that_is_not_touched(snapshot: Snapshot, settings: Settings) -> None:
    """Nothing is planned of it, and nothing is said."""
    plan = compute_plan(snapshot, settings)
    assert not any(change.kind == "node.out_of_service_taint" for change in plan.changes)
    assert noted(plan) == []


def test_a_node_that_reports_without_a_server() -> None:
    """The list may lie, and a machine may have taken a Node over: a person decides, with the command."""
    plan = compute_plan(lost(attached(), ours(60), ready=Readiness.TRUE), ON)
    assert noted(plan) == [rules.TAINT_STAYS_UNMATCHED.text(node="n-1")]
    assert plan.changes == ()


@rows("snapshot settings needed", {
    "nothing is lost": (a_fleet(a_settled_node()), ON, False),
    "a loss, switched off": (lost(None), Settings(), False),
    "a loss": (lost(None), ON, True),
    "a loss that another has tainted": (lost(None, FOREIGN), ON, False),
    "a loss that reports": (lost(None, ready=Readiness.TRUE), ON, False),
    "an unread list": (replace(lost(None), servers=incomplete(servers_of())), ON, False),
    "our taint, switched off": (back(ours(5)), Settings(), True),
    "our taint, and no part of ours": (back(ours(5)), LIFECYCLE_OFF, False),
})  # fmt: skip
def test_when_attachments_are_read(snapshot: Snapshot, settings: Settings, needed: bool) -> None:
    """An idle pass asks for none."""
    assert needs_attachments(snapshot, settings) is needed


def test_ours_among_others() -> None:
    """Its value marks it, and its time is the API server's, in UTC."""
    others = (OTHER, FOREIGN, Taint(TAINT_OUT_OF_SERVICE, "NoSchedule", OUT_OF_SERVICE_DELETED))
    taints = with_out_of_service_taint(others, datetime(2026, 7, 1, 12, 0, 0, 500, UTC))
    written = Taint(TAINT_OUT_OF_SERVICE, "NoExecute", OUT_OF_SERVICE_DELETED, "2026-07-01T12:00:00Z")
    assert taints == (*others, written)
    assert out_of_service_taint(taints) == written
    assert out_of_service_taint(others) is None
    assert without_out_of_service_taint(taints) == others
    assert is_out_of_service((FOREIGN,))
    assert not is_out_of_service((OTHER,))
    assert with_out_of_service_taint(taints, NOW)[:-1] == others
