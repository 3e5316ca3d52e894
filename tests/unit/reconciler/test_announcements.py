"""Which events follow from outcomes and plans: one for each Node that was helped, or that a person has to help."""

from dataclasses import replace
from datetime import timedelta

import pytest

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.model.key import PLAN
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Plan
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.section import Present, Section
from reconciler.telemetry.announcements import at_most, on_outcome
from reconciler.telemetry.events import MESSAGE, Event, EventType, Subject, subject_of
from tests.balancers import a_service
from tests.builders import CLUSTER_UID, a_change, a_joining_node, a_lost_node, a_server, a_settled_node, a_snapshot
from tests.support.judging import judge, warnings
from tests.support.keys import key_of
from tests.support.rows import rows

JOINING = a_joining_node()
WORLD = a_snapshot([JOINING, a_settled_node("web-2", 2)], [a_server(2, "web-2")])


def judged(snapshot: Snapshot, *approved: str) -> Plan:
    """The plan of this world."""
    return judge(compute_plan(snapshot, Settings()), snapshot, Settings(), approved)


INITIALISED = a_change()
DELETED = a_change("node/web-1", "node.delete")
GONE = "Deleting node web-1 because it does not exist in the cloud provider"


@pytest.mark.parametrize(("change", "outcome", "event"), [
    (INITIALISED, Applied(), Event(subject_of(JOINING), EventType.NORMAL, "Synced", "Node synced successfully")),
    (INITIALISED, Failed("forbidden"), Event(subject_of(JOINING), EventType.WARNING, "InitialisationFailed",
        "forbidden")),
    (INITIALISED, Pending("conflict"), None),
    (INITIALISED, Skipped("stopped"), None),
    (DELETED, Applied(), Event(subject_of(JOINING), EventType.NORMAL, "DeletingNode", GONE)),
    (DELETED, Failed("forbidden"), Event(subject_of(JOINING), EventType.WARNING, "DeletingNodeFailed",
        "Failed deleting node web-1: forbidden")),
    (DELETED, Pending("conflict"), None),
    (DELETED, Skipped("stopped"), None),
    (a_change("node/web-1/labels", "node.labels", owner="node/web-1"), Failed("forbidden"), None),
    (a_change("node/gone"), Applied(), None),
])  # fmt: skip
def test_outcomes(change: Change, outcome: Outcome, event: Event | None) -> None:
    """What was done to a Node, or failed, is said in HCCM's words; passing trouble and upkeep are no event."""
    assert on_outcome(change, outcome, WORLD) == event


SETTLED = WORLD.nodes.items["web-2"]
SILENT = (
    "UNUSABLE_LABEL UNKNOWN UNREADABLE FOREIGN KEPT IGNORED DELETING ANCHOR CLOCK_SKEW APPROVAL OTHER_CONTROLLER "
    "SETTINGS NO_POD_CIDR UNUSABLE_TARGET ORPHAN PARTIAL AGREED_PLAN OUT_OF_SERVICE PACE UNSELECTED"
)
"""Kinds of notes that are no event."""
NOTES: list[tuple[NoteKind, str | None, str | None, str | None]] = [
    (NoteKind.UNMATCHED, "ServerNotFound", None, None),
    (NoteKind.AMBIGUOUS, "InstanceLookupFailed", "InstanceLookupFailed", "AmbiguousOwnership"),
    (NoteKind.MALFORMED, "InvalidProviderID", "InvalidProviderID", "InvalidAnnotation"),
    (NoteKind.UNUSABLE_NODE_IP, "InvalidNodeIP", "InvalidNodeIP", None),
    (NoteKind.MISCONFIGURED_INTERNAL_IP, "MisconfiguredInternalIP", "MisconfiguredInternalIP", None),
    (NoteKind.UNSUPPORTED, "RobotNotRead", None, "UnsupportedSetting"),
    (NoteKind.LIMIT, None, "FailedToCreateRoute", "LimitReached"),
    (NoteKind.TARGET_LIMIT, None, None, "LimitReached"),
    (NoteKind.UNROUTABLE, None, "FailedToCreateRoute", None),
    (NoteKind.CLUSTER_CIDR, None, "ClusterCIDRMisconfigured", None),
    (NoteKind.LIKELY_SERVER, "UnknownProviderIDPrefix", "UnknownProviderIDPrefix", None),
    (NoteKind.SEVERAL_BALANCERS, None, None, "AmbiguousOwnership"),
    (NoteKind.CERTIFICATE, None, None, "CertificateUnavailable"),
    (NoteKind.DEPRECATED, None, None, "LoadBalancerTypeDeprecated"),
    (NoteKind.NO_TARGETS, None, None, "UnAvailableLoadBalancer"),
    (NoteKind.UNREACHABLE, None, None, "UnAvailableLoadBalancer"),
    (NoteKind.PRIMARY_IP, None, None, "CheckPrimaryIP"),
    (NoteKind.STUCK, None, None, "DeletionStuck"),
    *((NoteKind[name], None, None, None) for name in SILENT.split()),
]
"""Kind of a note → reason of its event on a joining Node, on a settled one, and on a Service."""


@pytest.mark.parametrize(("kind", "joining", "settled", "service"), NOTES)
def test_notes(kind: NoteKind, joining: str | None, settled: str | None, service: str | None) -> None:
    """A note that a person has to act upon is a warning with its own words; passing trouble is none."""
    web = a_service()
    world = replace(WORLD, services=Section({web.id: web}))
    plan = Plan(notes=tuple(Note(each.key, kind, "the cause") for each in (JOINING, SETTLED, web)))

    assert list(warnings(plan, world, Settings())) == [
        Event(subject_of(each), EventType.WARNING, reason, "the cause")
        for each, reason in ((JOINING, joining), (SETTLED, settled), (web, service))
        if reason
    ]


@pytest.mark.parametrize("kind", [NoteKind.MALFORMED, NoteKind.LIMIT, NoteKind.CLUSTER_CIDR])
@pytest.mark.parametrize("key", ["node/gone", "service/default/gone", "load_balancer/#42", "plan", "network/4"])
def test_notes_on_others(key: str, kind: NoteKind) -> None:
    """A note on anything but a Node or Service that was observed has nothing to attach an event to."""
    plan = Plan(notes=(Note(key_of(key), kind, "the cause"),))

    assert list(warnings(plan, WORLD, Settings())) == []


def test_changed_settings() -> None:
    """They are the cluster's, which is known by the UID of a namespace."""
    plan = Plan(notes=(Note(PLAN, NoteKind.SETTINGS, "HCLOUD_NETWORK k8s -> (unset)"),))

    (event,) = warnings(plan, replace(WORLD, cluster_uid=Present(CLUSTER_UID)), Settings())

    assert event == Event(
        Subject("Namespace", "kube-system", CLUSTER_UID),
        EventType.WARNING,
        "SettingsChanged",
        "HCLOUD_NETWORK k8s -> (unset)",
    )


def test_a_real_miss() -> None:
    """The plan's own note on a misnamed Node becomes its event."""
    (event,) = warnings(judged(WORLD), WORLD, Settings())

    assert (event.subject, event.reason) == (subject_of(JOINING), "ServerNotFound")
    assert "no server of the project is named 'web-1'" in event.message


def test_every_kind_of_note_is_decided_on() -> None:
    """A new kind of note needs a row in the list of notes."""
    assert {kind for kind, *_ in NOTES} == set(NoteKind)


def test_holds() -> None:
    """A Node whose change is held is told the rule, the reason and the remedy; not once it is approved."""
    world = a_snapshot([JOINING, a_settled_node("web-2", 99)], [a_server()])
    (hold,) = judged(world).holds

    (event,) = warnings(judged(world), world, Settings())

    assert (event.subject, event.type, event.reason) == (subject_of(JOINING), EventType.WARNING, "ChangeHeld")
    assert event.message == f"node.initialise is held by project-anchor: {hold.said}", "a wrong token is not approved"
    assert list(warnings(judged(world, hold.hash), world, Settings())) == []


@pytest.mark.parametrize(("flags", "typed"), [
    pytest.param("", "", id="none"),
    pytest.param("--kubeconfig f", " --kubeconfig f", id="some"),
    pytest.param(f"--kubeconfig {'f' * 750}", f" --kubeconfig {'f' * 750}", id="so long that the reason is cut"),
])  # fmt: skip
def test_the_command_to_type(flags: str, typed: str) -> None:
    """The command of the event can be typed as it stands: it names the cluster as this run does."""
    lost = [a_lost_node(f"web-{i}", i) for i in (1, 2)]
    world = a_snapshot([*lost, a_settled_node("web-3", 3)], [a_server(3, "web-3")])
    (hold,) = judged(world).holds

    event, _ = warnings(judged(world), world, Settings(), flags)

    assert event.message.endswith(f". Approve with: reconcile approve {hold.hash}{typed}")
    assert len(event.message) <= MESSAGE


def test_a_hold_announces_when_it_ends_by_itself() -> None:
    """Ten Nodes were deleted half an hour later, which no Event had said. It is the same Event until then, and what a
    person needs of it is never cut."""
    lost = [a_lost_node(f"web-{i}", i) for i in (1, 2)]
    world = a_snapshot([*lost, a_settled_node("web-3", 3)], [a_server(3, "web-3")])
    worlds = (world, replace(world, taken_at=world.taken_at + timedelta(minutes=3, seconds=7)))
    (hold,) = judged(world).holds

    found = [next(iter(warnings(judged(each), each, Settings()))) for each in worlds]

    when = "after 2026-07-01 12:25 UTC, if both stay NotReady; its changes are then made"
    remedy = f". Ends by itself {when}. Approve with: reconcile approve {hold.hash}"
    assert [each.message for each in found] == [f"node.delete is held by node-blast-radius: {hold.said}{remedy}"] * 2
    assert found[0].identity == found[1].identity
    (cut, _) = warnings(judged(world), world, Settings(), "--kubeconfig " + "f" * 700)
    assert f". Ends by itself {when}. Approve with: " in cut.message


NOTICE = Event(subject_of(a_settled_node()), EventType.WARNING, "InvalidAnnotation", "port 0 is left out")
OTHER = replace(NOTICE, subject=subject_of(a_settled_node("web-2", 2)))


def port(number: int) -> Event:
    """One of many warnings on one object."""
    return replace(NOTICE, message=f"port {number} is left out")


def more(count: int, first: int) -> Event:
    """The one that counts the others and has the first of them."""
    text = (
        f"and {count} more warnings on this object: {count} InvalidAnnotation; the first of them: {port(first).message}"
    )
    return replace(NOTICE, reason="MoreWarnings", message=text)


@rows("events told expected", {
    "nothing is wrong": ([], [], []),
    "as many as there is room for": ([port(n) for n in range(10)], [], [port(n) for n in range(10)]),
    "one too many": ([port(n) for n in range(11)], [], [*map(port, range(9)), more(2, 9)]),
    "thousands": ([port(n) for n in range(30_000)], [], [*map(port, range(9)), more(29_991, 9)]),
    "one of them again and again": ([port(1)] * 50, [], [port(1)]),
    "beside others": ([port(n) for n in range(10)], [NOTICE] * 2, [*map(port, range(7)), more(3, 7)]),
    "after more than enough": ([port(1), port(2)], [NOTICE] * 20, [more(2, 1)]),
    "another object": ([*map(port, range(20)), OTHER], [], [*map(port, range(9)), more(11, 9), OTHER]),
})  # fmt: skip
def test_at_most_so_many_on_one_object(events: list[Event], told: list[Event], expected: list[Event]) -> None:
    """The first are told, and how many others there are; no other object has fewer for it."""
    assert list(at_most(10, events, told)) == expected
