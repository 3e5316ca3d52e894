"""Conditions of Services that are written after a pass: each for itself, side by side, lost without harm."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import ApiError, Conflict, Denied, Transient
from actuators.outcome import Applied, Failed, Outcome, Pending
from desired.annotations.claims import Claim
from desired.guards.filters import restrict
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service, ServiceCondition
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Readiness, Snapshot
from desired.plan.change import Plan
from desired.planner import compute_plan
from desired.section import Section, Unknown
from reconciler.result import Line
from reconciler.telemetry.conditions import ConditionSink
from tests.balancers import LOCATED, a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import NOW, a_server, a_settled_node, incomplete
from tests.support.balancer_changes import SERVICE
from tests.support.judging import conditions_due, judge
from tests.support.rows import rows

WRONG = a_claim(annotations=annotated(health_check_interval="soon"))
READY = ServiceCondition("LoadBalancerReady", "True", "AddressPublished", "published", NOW)
IN_SYNC = ServiceCondition("LoadBalancerInSync", "True", "InSync", "as asked", NOW)
INVALID = ServiceCondition("LoadBalancerInSync", "False", "InvalidAnnotation", "as it was said", NOW)
NOT_READY = ServiceCondition("LoadBalancerReady", "False", "NotCreated", "as it was said", NOW)
GOOD = (READY, IN_SYNC)
NO_BALANCERS: Section[int, CloudBalancer] = Section()


def judged(world: Snapshot, settings: Settings = LOCATED) -> Plan:
    """The plan of this world."""
    return judge(compute_plan(world, settings), world, settings)


def said(world: Snapshot, settings: Settings = LOCATED, tried: Iterable[Line] = ()) -> dict[str, list[tuple[str, str]]]:
    """Service → status and reason of what is to be written to it: readiness, then agreement."""
    due = conditions_due(judged(world, settings), world, settings, tried)
    return {service.id: [(found.status, found.reason) for found in conditions] for service, conditions in due}


def serving(*conditions: ServiceCondition, claim: Claim | None = None, **more: Any) -> Snapshot:
    """A Service with these conditions, and its load balancer."""
    return a_world([a_served_service(conditions=conditions, claim=claim or a_claim())], [a_balancer()], **more)


GOOD_SAID = [("True", "AddressPublished"), ("True", "InSync")]
WRONG_SAID = [("True", "AddressPublished"), ("False", "InvalidAnnotation")]


@rows("world expected", {
    "all is well": (serving(*GOOD), {}),
    "wrong from the beginning": (serving(claim=WRONG), {"default/web": WRONG_SAID}),
    "wrong by now": (serving(*GOOD, claim=WRONG), {"default/web": WRONG_SAID}),
    "as wrong as before, in other words": (serving(READY, INVALID, claim=WRONG), {}),
    "mended": (serving(READY, INVALID), {"default/web": GOOD_SAID}),
    "ready by now": (serving(NOT_READY, IN_SYNC), {"default/web": GOOD_SAID}),
    "a Service without a load balancer": (a_world([a_service(type="ClusterIP")]), {}),
    "a Service that had one": (a_world([a_service(type="ClusterIP", conditions=GOOD)]), {}),
    "a Service that goes": (a_world([a_served_service(deleted_at=NOW, claim=WRONG)], [a_balancer()]), {}),
    "Services are not looked after": (replace(a_world(), services=None), {}),
})  # fmt: skip
def test_conditions_due(world: Snapshot, expected: dict[str, list[tuple[str, str]]]) -> None:
    """A write is worth it when a condition says something else than before, or for the first time something bad."""
    assert said(world) == expected


def test_each_service_for_itself() -> None:
    others = [a_served_service(name, uid=f"uid-{name}", conditions=GOOD) for name in ("a", "b")]
    balancers = [a_balancer(number, service_uid=f"uid-{name}") for number, name in ((1, "a"), (2, "b"))]
    world = a_world([*others, a_served_service("c", claim=WRONG)], [*balancers, a_balancer(3)])

    assert list(said(world)) == ["default/c"]


def test_how_long_it_has_been_so() -> None:
    """A status that stays keeps its time; one that changes has that of the reading."""
    old = NOW.replace(year=2025)
    world = serving(replace(READY, since=old), replace(IN_SYNC, since=old), claim=WRONG)

    ((_, (ready, in_sync)),) = conditions_due(judged(world), world, LOCATED)

    assert (ready.since, in_sync.since) == (old, NOW)


ELSEWHERE = a_settled_node("web-1", 98)
SILENT = a_settled_node(ready=Readiness.UNKNOWN)


@rows("settings world", {
    "policy observe": (replace(LOCATED, policy=Policy.OBSERVE), serving(claim=WRONG)),
    "another project": (LOCATED, serving(*GOOD, claim=WRONG, nodes=[ELSEWHERE])),
    "nothing of the cluster is found, and no Node is Ready": (LOCATED, a_world([a_service(claim=WRONG)], [],
        nodes=[SILENT], servers=[])),
})  # fmt: skip
def test_nothing_is_written(settings: Settings, world: Snapshot) -> None:
    """Where nothing may be written, and where the token may be another project's, no condition is."""
    assert said(world, settings) == {}


def test_part_of_the_plan() -> None:
    """With ``--only`` the rest of a Service's changes is not in the plan, so that nothing can be said of it."""
    settings = replace(LOCATED, only=("node/web-1",))
    world = serving(READY, INVALID)
    plan = restrict(judged(world, settings), settings.only)

    assert list(conditions_due(plan, world, settings)) == []


@rows("world", {
    "load balancers": a_world([a_served_service(conditions=GOOD)], load_balancers=incomplete(NO_BALANCERS)),
    "identity": serving(*GOOD, cluster_uid=Unknown("forbidden")),
})  # fmt: skip
def test_a_gap_changes_nothing(world: Snapshot) -> None:
    """A list with a gap says neither that a load balancer is there nor that it is not."""
    assert said(world) == {}


def tried(world: Snapshot, outcome: Outcome) -> list[Line]:
    """Everything that this world asks for, with that end."""
    return [Line(change, outcome) for change in judged(world).allowed]


WANTING = a_world([a_service(conditions=(NOT_READY, IN_SYNC))])


def test_a_change_under_way_is_not_judged() -> None:
    """A change that is to be tried again, or is not seen yet, comes and goes: the next pass knows more."""
    assert judged(WANTING).allowed
    for outcome in (Applied(), Pending("locked"), Pending("429", 1.0), Failed("503", 1.0)):
        assert said(WANTING, tried=tried(WANTING, outcome)) == {}
    assert said(WANTING) == {}


def test_a_refusal_by_the_api() -> None:
    """A change that failed for good makes the Service differ from what it asks for, and the condition says why."""
    world = WANTING
    create = judged(world).by_key["load_balancer/default/web"]
    plan = judged(world)

    ((service, (ready, in_sync)),) = conditions_due(plan, world, LOCATED, [Line(create, Failed("limit exceeded"))])

    assert service.key == SERVICE
    assert (ready.status, ready.reason) == ("False", "NotCreated")
    assert (in_sync.status, in_sync.reason) == ("False", "SyncFailed")
    assert in_sync.message == "limit exceeded"


def test_a_worse_reason_than_a_failure() -> None:
    """What a person has to mend is named first, whatever else failed."""
    web: Service = a_served_service(claim=WRONG)
    world = a_world(
        [web],
        [a_balancer()],
        nodes=[a_settled_node(), a_settled_node("web-2", 2)],
        servers=[a_server(), a_server(2, "web-2")],
    )

    assert said(world, tried=tried(world, Failed("no"))) == {"default/web": WRONG_SAID}


HELD = (ServiceCondition("LoadBalancerInSync", "False", "Held", "a person has to approve"),)


class Api:
    """Notes what it is given; refuses the Services that it is told to refuse."""

    def __init__(self, **refuses: Exception) -> None:
        self._refuses = refuses
        self.written: dict[str, tuple[ServiceCondition, ...]] = {}

    def write(self, service: Service, conditions: tuple[ServiceCondition, ...]) -> None:
        """One write."""
        if service.name in self._refuses:
            raise self._refuses[service.name]
        self.written[service.name] = conditions


def test_nothing_to_write() -> None:
    """Where nothing is due nothing is done, and no thread is started."""
    before = threading.active_count()

    ConditionSink(Api().write).write([])

    assert threading.active_count() == before


def test_all_are_written_when_it_returns() -> None:
    api = Api()
    names = [f"web-{number}" for number in range(50)]

    ConditionSink(api.write).write([(a_service(name), HELD) for name in names])

    assert api.written == dict.fromkeys(names, HELD)


@pytest.mark.parametrize("error", [Conflict("moved on"), Denied("forbidden"), Transient("503")])
def test_one_that_is_lost(error: ApiError) -> None:
    """A Service that cannot be written to keeps none of the others from being."""
    api = Api(b=error)

    ConditionSink(api.write).write([(a_service(name), HELD) for name in ("a", "b", "c")])

    assert sorted(api.written) == ["a", "c"]


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        ConditionSink(Api(a=KeyError("a")).write).write([(a_service("a"), HELD)])
