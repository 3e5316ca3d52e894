"""Events in the cluster: said when what they say begins to hold, under names that follow from it, lost without harm."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconciler.telemetry.events import Event, EventSink, EventType, subject_of
from tests.balancers import SERVICE_UID, a_service
from tests.builders import a_node
from tests.support.simulators import Simulation
from tests.support.stage import wait_for

NOW = datetime(2026, 7, 1, 12, 0, 0, 500_000, tzinfo=UTC)
WEB_1 = subject_of(a_node())
MISSED = Event(WEB_1, EventType.WARNING, "ServerNotFound", "no server of the project is named 'web-1'")
SYNCED = Event(WEB_1, EventType.NORMAL, "Synced", "Node synced successfully")


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """An empty cluster."""
    return simulate()


@contextmanager
def sink(sim: Simulation) -> Iterator[EventSink]:
    """A sink; at the end of the block everything has been sent."""
    events = EventSink(sim.kubernetes_writer())
    yield events
    events.close(5)


def listed(sim: Simulation) -> list[dict[str, Any]]:
    """The events that the cluster has, by name."""
    return [event for _, event in sorted(sim.objects("events").items())]


def test_an_event(sim: Simulation) -> None:
    """An event names its Node so that ``kubectl describe`` finds it, and carries the API server's time."""
    with sink(sim) as events:
        events.announce([MISSED], NOW)

    (event,) = listed(sim)
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "web-1", "uid": "uid-web-1"}
    assert (event["type"], event["reason"], event["message"]) == (MISSED.type, MISSED.reason, MISSED.message)
    assert event["source"] == {"component": "hcloud-reconciler"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-07-01T12:00:00Z"
    assert event["count"] == 1


def test_an_event_on_a_service(sim: Simulation) -> None:
    """What is in a namespace has its events there, as the API server demands."""
    service = Event(subject_of(a_service(namespace="kube-system")), EventType.NORMAL, "EnsuredLoadBalancer", "done")

    with sink(sim) as events:
        events.send(service, NOW)

    (event,) = listed(sim)
    assert event["metadata"]["namespace"] == "kube-system"
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Service",
        "namespace": "kube-system",
        "name": "web",
        "uid": SERVICE_UID,
    }


def test_only_transitions_are_said(sim: Simulation) -> None:
    """What still holds is not said again; what holds anew after it did not is."""
    with sink(sim) as events:
        for minute, holding in enumerate([[MISSED], [MISSED], [MISSED], [], [MISSED]]):
            events.announce(holding, NOW + timedelta(minutes=minute))
            wait(events._under_way, timeout=60)

    assert len(sim.sent_to_kubernetes("POST")) == 2
    (event,) = listed(sim)
    assert event["firstTimestamp"] == "2026-07-01T12:00:00Z"
    assert event["lastTimestamp"] == "2026-07-01T12:04:00Z"


def test_what_goes_on_is_said_again_every_half_hour(sim: Simulation) -> None:
    """The API server forgets events after an hour, so what still holds is repeated, as an update of its event."""
    with sink(sim) as events:
        for minute in (0, 1, 29, 30, 31, 59, 60):
            events.announce([MISSED], NOW + timedelta(minutes=minute))
            wait(events._under_way, timeout=60)

    assert [entry.method for entry in sim.sent_to_kubernetes()] == ["POST", "POST", "PATCH", "POST", "PATCH"]
    (event,) = listed(sim)
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-07-01T12:00:00Z", "2026-07-01T13:00:00Z")


@pytest.mark.parametrize(
    ("minutes", "times"),
    [
        pytest.param((0, -60, -59, -31, -30), 3, id="an hour back"),
        pytest.param((0, 60, 61, 2, 3), 3, id="an hour forward, and put right"),
        pytest.param((0, 1, 0, 1), 1, id="another API server's clock"),
    ],
)
def test_a_clock_that_is_set(sim: Simulation, minutes: tuple[int, ...], times: int) -> None:
    """What goes on is not left unsaid until the API server's clock is where it has been before."""
    with sink(sim) as events:
        for minute in minutes:
            events.announce([MISSED], NOW + timedelta(minutes=minute))
            wait(events._under_way, timeout=60)

    assert len(sim.sent_to_kubernetes("POST")) == times


def test_an_event_that_was_lost_is_tried_again_in_the_next_pass(sim: Simulation) -> None:
    """What could not be said is said in the next pass if it still holds, and then not again."""
    sim.spoil_kubernetes("status", code=503, count=1)
    with sink(sim) as events:
        for minute in range(3):
            events.announce([MISSED], NOW + timedelta(minutes=minute))
            wait(events._under_way, timeout=60)

    assert [entry.status for entry in sim.sent_to_kubernetes("POST")] == [503, 201]
    (event,) = listed(sim)
    assert event["firstTimestamp"] == "2026-07-01T12:01:00Z"


def test_an_event_that_was_lost_and_does_not_hold_any_more(sim: Simulation) -> None:
    sim.spoil_kubernetes("status", code=503, count=1)
    with sink(sim) as events:
        events.announce([MISSED], NOW)
        wait(events._under_way, timeout=60)
        events.announce([], NOW + timedelta(minutes=1))

    assert listed(sim) == []
    assert len(sim.sent_to_kubernetes("POST")) == 1


def test_what_happens_is_said_each_time(sim: Simulation) -> None:
    """Something that happens, and does not go on, is sent at once, every time."""
    with sink(sim) as events:
        events.send(SYNCED, NOW)
    with sink(sim) as events:
        events.send(SYNCED, NOW + timedelta(minutes=1))

    (event,) = listed(sim)
    assert event["lastTimestamp"] == "2026-07-01T12:01:00Z"


def test_a_restart_says_it_once_more_and_adds_none(sim: Simulation) -> None:
    """After a restart the same thing is said again under the same name, which updates the event that is there."""
    for minute in range(3):
        with sink(sim) as events:
            events.announce([MISSED], NOW + timedelta(minutes=minute))

    assert len(listed(sim)) == 1
    assert [entry.method for entry in sim.sent_to_kubernetes()] == ["POST", "POST", "PATCH", "POST", "PATCH"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(MISSED, message="another reason"), id="message"),
        pytest.param(replace(MISSED, reason="Other"), id="reason"),
        pytest.param(replace(MISSED, type=EventType.NORMAL), id="type"),
        pytest.param(replace(MISSED, subject=subject_of(a_node("web-2"))), id="another Node"),
        pytest.param(replace(MISSED, subject=subject_of(a_node(uid="other"))), id="another Node of the same name"),
    ],
)
def test_different_things_have_different_names(sim: Simulation, other: Event) -> None:
    """An event's name begins with its Node's, and follows from everything that it says."""
    with sink(sim) as events:
        events.announce([MISSED, other], NOW)

    first, second = listed(sim)
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["metadata"]["name"].startswith("web-1.")


def test_names_fit(sim: Simulation) -> None:
    """The longest name that a Node may have leaves room for an event's."""
    with sink(sim) as events:
        longest = subject_of(a_node(".".join(["a" * 62] * 4)))
        events.announce([replace(MISSED, subject=longest, message="x" * 5000)], NOW)

    (event,) = listed(sim)
    assert len(event["metadata"]["name"]) <= 253
    assert len(event["message"]) == 1024


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "code": 403, "body": {"kind": "Status", "reason": "Forbidden", "message": "no"}},
        {"kind": "status", "code": 429},
        {"kind": "status", "code": 503},
        {"kind": "reset"},
        {"kind": "status", "code": 200, "body": "<html>"},
    ],
    ids=lambda fault: f"{fault['kind']} {fault.get('code', '')}",
)
def test_lost_events_are_harmless(sim: Simulation, fault: dict[str, Any]) -> None:
    """An event that does not arrive is tried once, raises nothing, and keeps no other from arriving."""
    sim.spoil_kubernetes(**fault, method="POST")

    with sink(sim) as events:
        events.announce([MISSED], NOW)
        events.close(5)
    with sink(sim) as events:
        events.announce([SYNCED], NOW)

    assert [event["reason"] for event in listed(sim)] == ["Synced"]
    assert len(sim.sent_to_kubernetes("POST")) == 2
    assert sim.stop.waits == []


def test_a_hanging_api_server_does_not_keep_the_process(sim: Simulation) -> None:
    """Closing waits no longer than it was told, whatever is still under way."""
    sim.spoil_kubernetes("hang", count=None)
    events = EventSink(sim.kubernetes_writer())
    events.announce([MISSED, SYNCED], NOW)

    assert not events.close(0.05)

    assert listed(sim) == []
    sim.kubernetes_proxy.stop()


def test_what_has_not_begun_by_the_end_is_never_sent(sim: Simulation) -> None:
    """Only what the API server was asked already is still under way."""
    sim.spoil_kubernetes("hang", count=None)
    events = EventSink(sim.kubernetes_writer())
    events.announce([replace(MISSED, message=f"reason {number}") for number in range(50)], NOW)
    handed_over = set(events._under_way)

    assert not events.close(0.05)
    sim.kubernetes_proxy.stop()  # whatever hangs breaks off, and who has sent it is free for the next one
    wait(handed_over, timeout=60)

    assert sum(future.cancelled() for future in handed_over) >= 50 - 12


def test_the_end_tells_that_nothing_is_under_way(sim: Simulation) -> None:
    """So it is when all has arrived, when something was lost, and when there was nothing to say."""
    sim.spoil_kubernetes("status", code=503, count=1)
    events = EventSink(sim.kubernetes_writer())

    assert events.close(5)
    events.announce([MISSED, SYNCED], NOW)
    assert events.close(5)

    assert len(listed(sim)) == 1


def test_no_more_wait_than_there_is_room_for(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API server that takes events slowly has no queue without end: what goes on is said in a later pass."""
    monkeypatch.setattr("reconciler.telemetry.events._MOST_UNDER_WAY", 20)
    many = [replace(MISSED, message=f"reason {number}") for number in range(50)]
    events = EventSink(sim.kubernetes_writer())
    waiting: list[Future[None]] = []

    def submit(_call: Callable[[], None]) -> Future[None]:
        waiting.append(Future())
        return waiting[-1]

    monkeypatch.setattr(events._senders, "submit", submit)
    handed_over = []
    for minute in range(5):
        events.announce(many, NOW + timedelta(minutes=minute))
        handed_over.append(len(waiting))
        for future in waiting[: 20 * minute]:  # nothing has ended before the third pass
            if not future.done():
                future.set_result(None)

    assert handed_over == [20, 20, 40, 50, 50]
    events.send(SYNCED, NOW)
    assert len(waiting) == 51


def test_what_was_sent_is_forgotten(sim: Simulation) -> None:
    """A loop that has initialized a thousand Nodes does not hold a thousand ends of events for ever."""
    events = EventSink(sim.kubernetes_writer())
    events.announce([replace(MISSED, message=f"reason {number}") for number in range(50)], NOW)

    assert events.close(60)

    wait_for(lambda: not events._under_way, "the last sender to have said so")
    assert len(listed(sim)) == 50
