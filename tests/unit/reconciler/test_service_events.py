"""Which events follow for Services: one for what a pass did, one for each thing that a person has to do."""

from dataclasses import replace
from typing import Any

import pytest

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.annotations.claims import Claim, ClaimedPort
from desired.model.load_balancer import Listener, ServerTarget
from desired.model.snapshot import Snapshot
from desired.plan.change import GuardDecision, GuardName, Plan, Verdict
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from reconciler.result import Line
from reconciler.telemetry.announcements import on_pass
from reconciler.telemetry.events import EventType, subject_of
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import a_change, a_server, a_settled_node
from tests.support.balancer_changes import SERVICE
from tests.support.judging import judge, warnings
from tests.support.keys import key_of
from tests.support.rows import rows

WEB = a_served_service()
WORLD = a_world([WEB, a_service("api", uid="uid-api")])


def tried(*outcomes: tuple[str, Outcome], service: str = SERVICE) -> list[Line]:
    """Changes of these kinds, all of one Service, and how they ended."""
    return [
        Line(a_change(f"{service}/{number}", kind, owner=service, reason="as asked"), outcome)
        for number, (kind, outcome) in enumerate(outcomes)
    ]


def said(events: Any) -> list[tuple[str, str, str]]:
    """Type, reason and message of each event; all are about the Service ``web``."""
    found = list(events)
    assert {event.subject for event in found} <= {subject_of(WEB)}
    return [(event.type.value, event.reason, event.message) for event in found]


ENSURED = ("Normal", "EnsuredLoadBalancer", "Ensured load balancer")
UPDATED = ("Normal", "UpdatedLoadBalancer", "Updated load balancer with new hosts")
DELETED = ("Normal", "DeletedLoadBalancer", "Deleted load balancer: as asked")
RETAINED = ("Normal", "RetainedLoadBalancer", "Retained load balancer: as asked")
DONE, BUSY, BROKEN = Applied(), Pending("locked"), Failed("invalid input")


@rows("outcomes events", {
    "created": ([("lb.create", DONE)], [ENSURED]),
    "ports": ([("lb.listener", DONE), ("lb.listener", DONE)], [ENSURED]),
    "a Node came": ([("lb.target", DONE)], [UPDATED]),
    "Nodes and more": ([("lb.target", DONE), ("lb.type", DONE)], [ENSURED]),
    "published": ([("service.status", DONE)], [ENSURED]),
    "deleted and not released": ([("lb.delete", DONE), ("service.release", BUSY)], [DELETED]),
    "retained": ([("lb.retain", DONE), ("service.release", DONE)], [RETAINED]),
    "released without a load balancer": ([("service.release", DONE)], []),
    "not all of it yet": ([("lb.create", DONE), ("service.status", BUSY)], []),
    "failed": ([("lb.create", BROKEN), ("service.status", Skipped("comes after it"))], []),
    "not deleted": ([("lb.delete", BROKEN), ("service.release", Skipped("comes after it"))], []),
    "nothing to do": ([], []),
})  # fmt: skip
def test_changes_that_were_made(outcomes: list[tuple[str, Outcome]], events: list[tuple[str, str, str]]) -> None:
    """Each Service is told once what a pass did for it, in HCCM's words; nothing while part of it is undone."""
    assert said(on_pass(tried(*outcomes), WORLD, Plan())) == events


def test_a_load_balancer_that_is_created_anew() -> None:
    """Whoever knows the old addresses by heart has to be told: DNS records, firewalls, other people."""
    lost = "the Service loses its addresses 203.0.113.5 and gets others"
    created = replace(tried(("lb.create", DONE))[0].change, consequences=(lost,))

    assert said(on_pass([Line(created, DONE)], WORLD, Plan())) == [
        ("Warning", "LoadBalancerReplaced", f"Created it anew: {lost}"),
        ENSURED,
    ]
    assert said(on_pass([Line(created, BROKEN)], WORLD, Plan())) == []


def test_a_load_balancer_that_its_service_leaves_behind() -> None:
    text = "Service publishes an address of load balancer 42 web (lb11, 5.39 a month)"
    released = replace(tried(("service.release", DONE))[0].change, consequences=(text,))

    assert said(on_pass([Line(released, DONE)], WORLD, Plan())) == [
        ("Warning", "LoadBalancerLeftBehind", f"Released the Service: {text}")
    ]


LEFT = a_change(f"{SERVICE}/status", "service.status", owner=SERVICE)


@rows("plan is_told", {
    "the status is not published": (Plan((LEFT,)), False),
    "another Service's is not": (Plan((replace(LEFT, owner=key_of("service/default/api")),)), True),
    "a gap": (Plan((LEFT.ruled(GuardDecision(Verdict.WAITING, GuardName.INCOMPLETE_SNAPSHOT)),)), False),
    "held": (Plan((LEFT.ruled(GuardDecision(Verdict.HELD, GuardName.TARGET_FLOOR)),)), True),
    "nobody knows": (Plan(notes=(Note(key_of(SERVICE), NoteKind.UNKNOWN, "unread"),)), False),
    "a limit": (Plan(notes=(Note(key_of(SERVICE), NoteKind.LIMIT, "too many"),)), True),
})  # fmt: skip
def test_changes_that_are_left(plan: Plan, is_told: bool) -> None:
    """A load balancer is said to be ensured only when nothing of it is left to a later pass."""
    assert said(on_pass(tried(("lb.create", DONE)), WORLD, plan)) == ([ENSURED] if is_told else [])


@pytest.mark.parametrize(("kind", "event"), [("lb.delete", DELETED), ("lb.retain", RETAINED)])
def test_a_release_is_said_before_the_service_is_released(kind: str, event: tuple[str, str, str]) -> None:
    """That a load balancer was released is said though the Service is not released yet."""
    assert said(on_pass(tried((kind, DONE)), WORLD, Plan((LEFT,)))) == [event]


def test_each_service_is_told_of_its_own() -> None:
    """What happens to one Service is no event of another; Nodes' events are sent as they happen."""
    lines = [
        *tried(("lb.target", DONE)),
        *tried(("lb.create", DONE), service="service/default/api"),
        *tried(("lb.create", DONE), service="service/default/gone"),
        Line(a_change(), DONE),
    ]

    assert [(event.subject.name, event.reason) for event in on_pass(lines, WORLD, Plan())] == [
        ("api", "EnsuredLoadBalancer"),
        ("web", "UpdatedLoadBalancer"),
    ]


SYNC = ("Warning", "SyncLoadBalancerFailed", "Error syncing load balancer: invalid input")
UPDATE = ("Warning", "UpdateLoadBalancerFailed", "Error updating load balancer with new hosts: invalid input")
DELETE = ("Warning", "DeleteLoadBalancerFailed", "Error deleting load balancer: invalid input")


@rows("outcomes events", {
    "creation": ([("lb.create", BROKEN)], [SYNC]),
    "status": ([("service.status", BROKEN)], [SYNC]),
    "claim": ([("service.claim", BROKEN), ("lb.create", Skipped("comes after it"))], [SYNC]),
    "targets": ([("lb.target", BROKEN)] * 20, [UPDATE]),
    "deletion": ([("lb.delete", BROKEN)], [DELETE]),
    "release": ([("service.release", BROKEN)], [DELETE]),
    "two things": ([("lb.type", BROKEN), ("lb.target", BROKEN)], [SYNC, UPDATE]),
    "several errors": ([("lb.type", BROKEN), ("lb.listener", Failed("no")), ("lb.rdns", Failed("never"))], [("Warning",
        "SyncLoadBalancerFailed", "Error syncing load balancer: invalid input (and 2 more)")]),
    "busy": ([("lb.create", BUSY)], []),
    "done": ([("lb.create", DONE)], []),
})  # fmt: skip
def test_failures(outcomes: list[tuple[str, Outcome]], events: list[tuple[str, str, str]]) -> None:
    """A failure holds after the pass until it is over, and is one warning whatever the number of changes; what is only
    to be tried again is none."""
    assert said(warnings(Plan(), WORLD, LOCATED, tried=tried(*outcomes))) == events


TCP, UDP = ClaimedPort(80, "TCP", 30080), ClaimedPort(53, "UDP", 30053)
SOON = annotated(health_check_interval="soon")


def judged(world: Snapshot, *approved: str) -> Plan:
    """The plan of this world."""
    return judge(compute_plan(world, LOCATED), world, LOCATED, approved)


def real_warnings(world: Snapshot) -> list[tuple[str, str]]:
    """Reason and message of what the plan of this world says of ``web``."""
    return [(reason, text) for _, reason, text in said(warnings(judged(world), world, LOCATED))]


@rows("claim listeners reasons words", {
    "a port of another protocol": (a_claim(TCP, UDP), None, ["UnsupportedProtocolConfigured"], "UDP"),
    "no other port": (a_claim(UDP), (), ["UnsupportedProtocolConfigured"] * 2, "no TCP port"),
    "sources": (a_claim(source_ranges=("10.0.0.0/8",)), None, ["UnsupportedSetting"], "any address can connect"),
    "a value": (a_claim(annotations=SOON), None, ["InvalidAnnotation"], "health-check-interval"),
})  # fmt: skip
def test_a_claim_that_cannot_be_met(
    claim: Claim, listeners: tuple[Listener, ...] | None, reasons: list[str], words: str
) -> None:
    """Each has its reason, UDP HCCM's own; the warning has the words of the note."""
    present = a_balancer() if listeners is None else a_balancer(listeners=listeners)

    found = real_warnings(a_world([a_served_service(claim=claim)], [present]))

    assert [reason for reason, _ in found] == reasons
    assert words in found[0][1]


def test_a_load_balancer_of_another_cluster() -> None:
    theirs = a_balancer(cluster_uid="99999999-8888-7777-6666-555555555555")

    ((reason, text),) = real_warnings(a_world([WEB], [theirs]))

    assert reason == "LoadBalancerOwnedByOther"
    assert text.endswith(
        "belongs to cluster 99999999-8888-7777-6666-555555555555 (label hcloud-reconciler/cluster-uid)"
    )


def test_a_name_that_two_services_ask_for() -> None:
    """What the note says is not said once more of what is refused for it."""
    shop = a_claim(annotations=annotated(name="shop"))
    world = a_world([a_served_service(claim=shop), a_service("api", uid="uid-api", claim=shop)], [])
    assert judged(world).with_verdict(Verdict.REFUSED)

    found = [event for event in warnings(judged(world), world, LOCATED) if event.subject == subject_of(WEB)]

    assert [event.reason for event in found] == ["AmbiguousOwnership"]


def test_several_kinds_are_held_together() -> None:
    """An adoption and what it would remove are one hold, and one event."""
    web = a_service(claim=a_claim(annotations=annotated(name="shop")))
    targets = [ServerTarget(9, use_private_ip=False)]
    present = a_balancer(service_uid=None, cluster_uid=None, targets=targets, spec={"name": "shop"})
    world = a_world([web], [present], servers=[a_server(), a_server(9, "db")])

    (event,) = [event for event in warnings(judged(world), world, LOCATED) if event.reason == "ChangeHeld"]

    assert (event.subject, event.type) == (subject_of(web), EventType.WARNING)
    assert event.message.startswith("lb.adopt, lb.target are held by adoption: ")


def test_a_change_that_two_rules_hold() -> None:
    web = a_service(claim=a_claim(annotations=annotated(name="shop")))
    targets = [ServerTarget(9, use_private_ip=False)]
    stranger = a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shop"}, targets=targets)
    world = a_world([web], [stranger], nodes=[a_settled_node("web-1", 98)])
    assert {hold.rule for hold in judged(world).holds} == {"adoption", "project-anchor"}

    (event,) = warnings(judged(world), world, LOCATED)

    assert " held by project-anchor: " in event.message
