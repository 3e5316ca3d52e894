"""What is broken is what anybody sees first: one world through every format, metrics, Events and exit codes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.guards.guard import GuardInput
from desired.health.service import health_condition
from desired.health.state import NodeState as N
from desired.health.state import ObjectState, PortHealth, States
from desired.health.state import ServiceState as S
from desired.model.load_balancer import Health, ServerTarget
from desired.model.record import Stamp
from desired.model.service import ServiceCondition
from desired.model.snapshot import Snapshot
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.section import Section
from reconciler.cli.reading import _looked_again
from reconciler.page.page import document_of, page_of
from reconciler.report.documents import report_as_json
from reconciler.report.explanation import render_explanation
from reconciler.report.markdown import render_markdown
from reconciler.report.published import STATUS, status_of
from reconciler.report.status import StatusReport
from reconciler.report.text import TextLine, Tone, render_lines
from reconciler.result import Report, needing_a_person
from reconciler.telemetry.announcements import doubts_on_states, warnings_on_states
from reconciler.telemetry.conditions import ConditionSink
from reconciler.telemetry.events import EventSink
from reconciler.telemetry.pass_metrics import gauges
from tests.balancers import LOCATED, SERVICE_UID, a_balancer, a_served_service, a_service, a_world
from tests.builders import CLUSTER_UID, NOW, a_server, a_settled_node
from tests.support.judging import facts_of
from tests.support.keys import key_of
from tests.support.passes import Run, a_balanced_run
from tests.support.rows import rows
from tests.support.service_explanations import explained_service
from tests.support.simulators import Simulation

WEB, API, WORKER = key_of("service/default/web"), key_of("service/default/api"), key_of("node/worker6")
DEAD = PortHealth(443, 0, 2, 2)
DOWN = ObjectState(
    WEB,
    S.DOWN,
    "port 443: 0 of 2 healthy",
    NOW - timedelta(minutes=7),
    (PortHealth(80, 2, 0, 2), DEAD),
    (Health.UNHEALTHY, Health.UNHEALTHY),
)
WELL = ObjectState(API, S.SERVING, "port 80: 2 of 2 healthy", None, (PortHealth(80, 1, 1, 2, is_local=True),))
STUCK = ObjectState(WORKER, N.STUCK, "no server is named 'worker6'", NOW - timedelta(days=1))
FINE = ObjectState(key_of("node/web-1"), N.IN_SYNC, "server 1")
ILL = States((DOWN, WELL), (STUCK, FINE))
ALL_WELL = States((WELL,), (FINE,))
WORLD: Snapshot = a_world([a_service(), replace(a_service("api"), uid="4")])


def told(states: States) -> list[TextLine]:
    """The text of a pass that has nothing to do."""
    return list(render_lines(Report(snapshot=WORLD, states=states, next_step="reconcile apply")))


def test_a_text_tells_first_what_is_not_well_and_never_ends_in_green() -> None:
    lines = [line.text for line in told(ILL)]
    assert lines[2:6] == [
        "State",
        "  ! service/default/web  down since 2026-07-01 11:53 UTC: port 443: 0 of 2 healthy",
        "  ? node/worker6  stuck since 2026-06-30 12:00 UTC: no server is named 'worker6'",
        "  Details: reconcile explain service default/web",
    ]
    assert lines[6] == "  Services: 1 down, 1 serving; Nodes: 1 stuck, 1 in sync"
    last = told(ILL)[-1]
    assert last.text.startswith("Result: blocked: ")
    assert last.text.endswith("; 1 Service is down; 1 Node is stuck")
    assert last.tone is Tone.BAD


def test_a_text_has_one_line_where_all_is_well() -> None:
    lines = told(ALL_WELL)
    assert [line.text for line in lines[2:4]] == ["  Services: 1 serving; Nodes: 1 in sync", ""]
    assert lines[-1].tone is Tone.GOOD


def test_alike_ones_are_told_together() -> None:
    many = tuple(replace(STUCK, key=key_of(f"node/w-{number}"), since=None) for number in range(40))
    (line,) = [line.text for line in told(States((), many)) if "?" in line.text]
    assert line.startswith("  ? node/w-0, node/w-1")
    assert line.endswith(" and 37 more  stuck: no server is named 'worker6'")


def test_an_error_is_not_told_again_as_the_state_of_all_that_could_not_be_read() -> None:
    unknown = replace(DOWN, state=S.UNKNOWN, why="cannot determine its load balancer: 401", since=None)
    report = Report(snapshot=WORLD, states=States((unknown,), (STUCK,)), errors=("GET /servers answers 401",))
    lines = [line.text for line in render_lines(report)]
    assert not any("service/default/web" in line for line in lines)
    assert "  Services: 1 unknown; Nodes: 1 stuck" in lines


def test_a_stuck_node_needs_a_person() -> None:
    assert needing_a_person(Report(states=ILL)) == (WORKER,)


def test_json_has_all_of_them() -> None:
    states = report_as_json(Report(snapshot=WORLD, states=ILL))["states"]
    assert [(each["key"], each["state"]) for each in states["services"]] == [(WEB, "down"), (API, "serving")]
    assert states["services"][0]["ports"][1] == {
        "port": 443,
        "healthy": 0,
        "unhealthy": 2,
        "targets": 2,
        "is_local": False,
    }
    assert states["nodes"][0]["since"] == "2026-06-30T12:00:00+00:00"


def test_markdown_names_what_is_down() -> None:
    assert "**Down:** `service/default/web`: port 443: 0 of 2 healthy" in render_markdown(
        Report(snapshot=WORLD, states=ILL)
    )


@pytest.mark.parametrize(("states", "tone"), [(ILL, "bad"), (States((WELL,), (STUCK,)), "bad"), (ALL_WELL, "good")])
def test_the_page_is_as_bad_as_the_worst(states: States, tone: str) -> None:
    page = page_of(Report(snapshot=WORLD, states=states))
    assert page.tone == tone
    assert page.sections[0].name == "states"
    text = document_of(page).file()
    assert ("1 Service is down" in text) is (states is ILL)


def test_an_explanation_names_the_port_that_no_target_answers() -> None:
    targets = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=False))
    balancer = a_balancer(targets=targets, health=dict.fromkeys(targets, Health.UNHEALTHY))
    servers = [a_server(1), a_server(2, "web-2")]
    nodes = [a_settled_node("web-1", 1), a_settled_node("web-2", 2)]
    explained = explained_service(a_world([a_served_service()], [balancer], nodes=nodes, servers=servers))
    text = [line.text for line in render_explanation(explained)]
    assert text[0].endswith("down: port 80: 0 of 2 healthy")
    look = "kubectl -n default get endpointslices -l kubernetes.io/service-name=web"
    assert f"  To see whether pods are ready: {look}" in text
    assert "    80  0/2 healthy  tcp to node port 30080  matches the Service" in text


def test_metrics_count_states_ports_and_targets() -> None:
    refused = Note(API, NoteKind.MALFORMED, "annotation location: 'mars' is no location")
    found = gauges(Report(snapshot=WORLD, states=ILL, notes=(refused,)), 0.0, 30.0)
    assert dict(found["hcloud_reconciler_objects_in_need"]) == {("nodes",): 1.0, ("services",): 1.0}
    assert found["hcloud_reconciler_services"]["down",] == found["hcloud_reconciler_services"]["serving",] == 1.0
    assert found["hcloud_reconciler_nodes"]["stuck",] == 1.0
    assert dict(found["hcloud_reconciler_listeners"]) == {("all",): 1, ("some",): 1, ("none",): 1, ("unknown",): 0}
    assert found["hcloud_reconciler_targets"]["unhealthy",] == 2.0
    assert found["hcloud_load_balancer_target_healthy"] == {(): 0.0}
    empty = replace(DOWN, ports=(), targets=())
    bare = gauges(Report(snapshot=WORLD, states=States((empty,), ())), 0.0, 30.0)
    assert bare["hcloud_load_balancer_target_healthy"] == {(): 0.0}
    well = gauges(Report(snapshot=WORLD, states=ALL_WELL), 0.0, 30.0)
    assert well["hcloud_load_balancer_target_healthy"] == {(): 1.0}, "with Local a Node without a pod is no failure"


def a_status(states: States, **overrides: Any) -> StatusReport:
    """Of a controller that has published a pass with these states, as it is read back."""
    published = status_of(Report(snapshot=WORLD, states=states), "ccm-0", {})
    assert published is not None
    read = STATUS.read(STATUS.write(published, Stamp(CLUSTER_UID, "ccm-0", NOW)))
    leader = {"now": NOW, "leader": "ccm-0", "lease": "kube-system/x", "renewed": NOW.isoformat(), "duration_s": 15}
    return StatusReport(**{"published": read, **leader, **overrides})


def test_status_names_what_is_not_well_and_exits_3_while_a_service_is_down() -> None:
    report = a_status(ILL)
    lines = [line.text for line in report.lines()]
    assert "Services:  1 down, 1 serving" in lines
    assert "  ! service/default/web  down since 2026-07-01 11:53 UTC: port 443: 0 of 2 healthy" in lines
    assert "  ? node/worker6  stuck since 2026-06-30 12:00 UTC: no server is named 'worker6'" in lines
    assert (report.code, a_status(ALL_WELL).code) == (3, 0)


def test_status_names_each_of_several_errors() -> None:
    found = replace(DOWN, also=("protocol is 'udp'; correct it", "name is ''; remove it"))
    lines = [line.text for line in a_status(States((found,))).lines()]
    first = next(at for at, line in enumerate(lines) if "service/default/web" in line)
    assert lines[first + 1 : first + 3] == [
        "      also: protocol is 'udp'; correct it",
        "      also: name is ''; remove it",
    ]


def test_status_says_why_a_pass_is_incomplete() -> None:
    unread = replace(WORLD, servers=Section.missing("429 rate limit exceeded"))
    published = status_of(Report(snapshot=unread), "ccm-0", {})
    assert published is not None
    lines = [line.text for line in StatusReport(now=NOW, published=published).lines()]
    assert "  servers: 0 read, INCOMPLETE: 429 rate limit exceeded" in lines


@pytest.mark.parametrize(("renewed", "duration", "code"), [
    (NOW - timedelta(seconds=45), 15, 0),
    (NOW - timedelta(seconds=46), 15, 3),
    (NOW - timedelta(minutes=23), 15, 3),
    (NOW - timedelta(minutes=23), None, 0),
    (None, 15, 0),
])  # fmt: skip
def test_a_leader_that_does_not_renew_is_gone(renewed: Any, duration: int | None, code: int) -> None:
    """Three durations of the Lease, at once, however fresh what it has published is."""
    text = "yesterday" if renewed is None else renewed.isoformat()
    report = a_status(ALL_WELL, renewed=text, duration_s=duration)
    assert report.code == code
    assert ("it does not run" in next(report.lines()).text) is (code == 3)


def test_a_leader_with_another_clock_is_not_gone() -> None:
    """Its clock is behind by 23 minutes: a second look sees that it renews its Lease."""
    first = a_status(ALL_WELL, renewed=(NOW - timedelta(minutes=23)).isoformat())
    looks = [first, replace(first, renewed=(NOW - timedelta(minutes=22, seconds=58)).isoformat())]
    slept = list[float]()
    found = _looked_again(first, lambda: looks.pop(0), slept.append)
    assert (found.code, slept) == (0, [2.0, 2.0])
    assert next(found.lines()).text.endswith(", renewed 23 min ago, by its own clock, and renews it still")


def test_a_leader_that_renews_in_no_look_is_gone() -> None:
    first = a_status(ALL_WELL, renewed=(NOW - timedelta(minutes=23)).isoformat())
    slept = list[float]()
    assert _looked_again(first, lambda: first, slept.append).code == 3
    assert sum(slept) == 16
    assert _looked_again(a_status(ALL_WELL), lambda: first, lambda _: slept.clear()).code == 0
    assert slept


def test_an_event_says_that_a_service_is_down_and_another_that_it_is_not_any_more(
    simulate: Callable[..., Simulation],
) -> None:
    """Each half-hourly at most, though the health flaps; while its load balancer cannot be read it says neither."""
    sim = simulate()
    sink = EventSink(sim.kubernetes_writer())
    assert WORLD.service(WEB).uid == SERVICE_UID  # type: ignore[union-attr]
    unread = States((replace(DOWN, state=S.UNKNOWN), WELL), ())
    for minutes, states in ((0, ILL), (1, unread), (2, ALL_WELL), (3, ILL), (4, ALL_WELL), (5, ALL_WELL)):
        events_of = (*warnings_on_states(states, WORLD), *doubts_on_states(states, WORLD))
        sink.announce(events_of, NOW + timedelta(minutes=minutes))
    assert sink.close(5)
    events = {each["reason"]: each for each in sim.objects("events").values()}
    assert events.keys() == {"NoHealthyTarget", "TargetsHealthy"}
    assert events["NoHealthyTarget"]["message"] == "No healthy target at port 443"
    assert {each["lastTimestamp"] for each in events.values()} == {"2026-07-01T12:00:00Z", "2026-07-01T12:02:00Z"}


HEALTH_TOLD = ("LoadBalancerHealthy", "False", "NoHealthyTarget")


def a_served_world(seconds: float, *conditions: ServiceCondition) -> GuardInput:
    """Of a pass so long after the first: a Service whose load balancer is as asked for, with these conditions."""
    service, balancer = (
        a_served_service(conditions=conditions),
        a_balancer(health={ServerTarget(1, use_private_ip=False): Health.HEALTHY}),
    )
    snapshot = replace(a_world([service], [balancer]), taken_at=NOW + timedelta(seconds=seconds))
    return facts_of(compute_plan(snapshot, LOCATED), snapshot, LOCATED)


def told_of(sink: ConditionSink, seconds: float, health: States, *there: ServiceCondition) -> list[Any]:
    """Type, status and reason of each condition of health that a pass writes."""
    due = sink.due(a_served_world(seconds, *there), (), health)
    return [(c.type, c.status, c.reason) for _, wanted in due for c in wanted if c.type == "LoadBalancerHealthy"]


def test_health_is_a_condition_once_it_has_lasted_a_minute_and_two_passes() -> None:
    """Nothing is written of a health that flaps, nor again what stands there; without the flag it is taken away."""
    sink = ConditionSink(lambda *_: None, tells_health=True)
    well = States((replace(WELL, key=WEB),))
    assert [told_of(sink, seconds, ILL) for seconds in (0, 30, 59)] == [[], [], []]
    assert told_of(sink, 60, ILL) == [HEALTH_TOLD]
    there = ServiceCondition(*HEALTH_TOLD, since=NOW)
    assert told_of(sink, 90, ILL, there) == []
    for seconds in range(120, 600, 30):  # it flaps
        assert told_of(sink, seconds, well if seconds % 60 else ILL, there) == []
    assert told_of(ConditionSink(lambda *_: None), 0, ILL, there) == [("LoadBalancerHealthy", "", "")]
    assert told_of(ConditionSink(lambda *_: None), 0, ILL) == []


def test_the_flag_gives_services_a_condition_and_its_absence_takes_it(simulate: Callable[..., Simulation]) -> None:
    """By whole passes of a loop, on the API server's status; the other conditions stay."""
    run = a_balanced_run(simulate)
    run.converge()

    def told(run: Run) -> set[str]:
        for _ in range(3):
            run.sim.clock.advance(40)
            run.converge()
        found = run.sim.services()["web"]["status"].get("conditions", ())
        return {f"{each['type']}={each['status']}" for each in found}

    usual = {"LoadBalancerReady=True", "LoadBalancerInSync=True"}
    assert told(Run(run.sim, run.settings, tells_health=True)) == {*usual, "LoadBalancerHealthy=True"}
    assert told(Run(run.sim, run.settings)) == usual


@rows("port targets expected message", {
    "all": (PortHealth(80, 1, 0, 2), DOWN.targets, ("True", "AllHealthy"), "no target that should answer fails"),
    "some": (PortHealth(80, 1, 1, 2), DOWN.targets, ("True", "SomeUnhealthy"), "some targets are unhealthy"),
    "some, with Local": (PortHealth(80, 1, 1, 2, is_local=True), DOWN.targets, ("True", "AllHealthy"), ""),
    "none": (DEAD, DOWN.targets, ("False", "NoHealthyTarget"), "a port has no healthy target"),
    "not checked": (PortHealth(80, 0, 0, 2), DOWN.targets, ("Unknown", "Pending"), "not all of its"),
    "no targets": (PortHealth(80, 0, 0, 0), (), ("Unknown", "NoTargets"), ""),
})  # fmt: skip
def test_the_condition(port: PortHealth, targets: tuple[Health, ...], expected: tuple[str, str], message: str) -> None:
    """No ports or numbers of targets, which would be old soon: it is written when its reason changes."""
    well = PortHealth(8080, 2, 0, 2)
    found = health_condition(replace(DOWN, ports=(well, port), targets=targets), a_service(), NOW)
    assert found is not None
    assert (found.status, found.reason, found.since) == (*expected, NOW)
    assert message in found.message


def test_no_condition_without_a_load_balancer() -> None:
    assert health_condition(replace(DOWN, ports=()), a_service(), NOW) is None
