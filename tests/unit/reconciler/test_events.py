"""Events in the cluster: said when what they say begins to hold, under names that follow from it, lost without harm."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconciler.telemetry.events import Event, EventSink, EventType, Subject, subject_of
from tests.balancers import SERVICE_UID, a_service
from tests.builders import a_node
from tests.support.rows import rows
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


@rows("subject namespace involved", {
    "a Node": (WEB_1, "default", {"apiVersion": "v1", "kind": "Node", "name": "web-1", "uid": "uid-web-1"}),
    "a Service": (subject_of(a_service(namespace="kube-system")), "kube-system",
        {"apiVersion": "v1", "kind": "Service", "namespace": "kube-system", "name": "web", "uid": SERVICE_UID}),
})  # fmt: skip
def test_an_event(sim: Simulation, subject: Subject, namespace: str, involved: dict[str, str]) -> None:
    """An event names its object so that ``kubectl describe`` finds it, and carries the API server's time."""
    with sink(sim) as events:
        events.announce([replace(MISSED, subject=subject)], NOW)

    (event,) = listed(sim)
    assert event["metadata"]["namespace"] == namespace
    assert event["involvedObject"] == involved
    assert (event["type"], event["reason"], event["message"]) == (MISSED.type, MISSED.reason, MISSED.message)
    assert event["source"] == {"component": "hcloud-reconciler"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-07-01T12:00:00Z"
    assert event["count"] == 1


@rows("minutes gone said last", {
    "still holds": ((0, 1, 2), (), 1, "12:00"),
    "holds anew": ((0, 1, 2, 4), (3,), 2, "12:04"),
    "goes on: the API server forgets Events after an hour": ((0, 1, 29, 30, 31, 59, 60), (), 3, "13:00"),
    "a clock is set an hour back": ((0, -60, -59, -31, -30), (), 3, "11:30"),
    "a clock goes an hour forward, and is put right": ((0, 60, 61, 2, 3), (), 3, "12:02"),
    "another API server's clock": ((0, 1, 0, 1), (), 1, "12:00"),
})  # fmt: skip
def test_transitions(sim: Simulation, minutes: tuple[int, ...], gone: tuple[int, ...], said: int, last: str) -> None:
    """An event is said as it begins to hold, then every half-hour, as an update of the one that is there."""
    with sink(sim) as events:
        for minute in sorted((*minutes, *gone)) if gone else minutes:
            events.announce([] if minute in gone else [MISSED], NOW + timedelta(minutes=minute))
            wait(events._under_way, timeout=60)

    sent = [entry.method for entry in sim.sent_to_kubernetes()]
    assert sent == ["POST", *(["POST", "PATCH"] * (said - 1))]
    (event,) = listed(sim)
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-07-01T12:00:00Z", f"2026-07-01T{last}:00Z")


def test_a_moment_in_a_text_that_moves_on_is_no_new_event(sim: Simulation) -> None:
    """It is the same Event, with the new text when it is said again."""
    with sink(sim) as events:
        for minute in (0, 1, 31):
            moved = replace(MISSED, message=f"ends at 12:{minute:02}", identity="the hold")
            events.announce([moved], NOW + timedelta(minutes=minute))
            wait(events._under_way, timeout=60)

    assert [entry.method for entry in sim.sent_to_kubernetes()] == ["POST", "POST", "PATCH"]
    (event,) = listed(sim)
    assert event["message"] == "ends at 12:31"


@rows("holding statuses", {"holds": (True, [503, 201]), "does not hold any more": (False, [503])})
def test_an_event_that_was_lost(sim: Simulation, holding: bool, statuses: list[int]) -> None:
    """The next pass tries again if it still holds, and then nothing is said again."""
    sim.spoil_kubernetes("status", code=503, count=1)
    with sink(sim) as events:
        for minute in range(3):
            events.announce([MISSED] if holding or not minute else [], NOW + timedelta(minutes=minute))
            wait(events._under_way, timeout=60)

    assert [entry.status for entry in sim.sent_to_kubernetes("POST")] == statuses
    assert [event["firstTimestamp"] for event in listed(sim)] == ["2026-07-01T12:01:00Z"] * holding


def test_an_occurrence_is_said_each_time(sim: Simulation) -> None:
    """Something that happens, and does not go on, is sent every time; a restart adds no event to the one there."""
    for minute in range(3):
        with sink(sim) as events:
            events.send(SYNCED, NOW + timedelta(minutes=minute))

    (event,) = listed(sim)
    assert event["lastTimestamp"] == "2026-07-01T12:02:00Z"
    assert [entry.method for entry in sim.sent_to_kubernetes()] == ["POST", "POST", "PATCH", "POST", "PATCH"]


def test_different_things_have_different_names(sim: Simulation) -> None:
    """An event's name begins with its Node's, and follows from everything that it says."""
    others = [
        replace(MISSED, message="another reason"),
        replace(MISSED, reason="Other"),
        replace(MISSED, type=EventType.NORMAL),
        replace(MISSED, subject=subject_of(a_node("web-2"))),
        replace(MISSED, subject=subject_of(a_node(uid="other"))),
    ]
    with sink(sim) as events:
        events.announce([MISSED, *others], NOW)

    assert sorted(name.partition(".")[0] for name in sim.objects("events")) == ["web-1"] * 5 + ["web-2"]


def test_names_fit(sim: Simulation) -> None:
    """The longest name that a Node may have leaves room for an event's."""
    with sink(sim) as events:
        longest = subject_of(a_node(".".join(["a" * 62] * 4)))
        events.announce([replace(MISSED, subject=longest, message="x" * 5000)], NOW)

    (event,) = listed(sim)
    assert len(event["metadata"]["name"]) <= 253
    assert len(event["message"]) == 1024


@rows("fault", {
    "forbidden": {"kind": "status", "code": 403, "body": {"kind": "Status", "reason": "Forbidden", "message": "no"}},
    "throttled": {"kind": "status", "code": 429},
    "no answer": {"kind": "reset"},
    "a page": {"kind": "status", "code": 200, "body": "<html>"},
})  # fmt: skip
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


def test_an_event_that_has_not_begun_by_the_end_is_never_sent(sim: Simulation) -> None:
    """Only what the API server was asked already is still under way."""
    sim.spoil_kubernetes("hang", count=None)
    events = EventSink(sim.kubernetes_writer())
    events.announce([replace(MISSED, message=f"reason {number}") for number in range(50)], NOW)
    handed_over = set(events._under_way)

    assert not events.close(0.05)
    sim.kubernetes_proxy.stop()  # whatever hangs breaks off, and who has sent it is free for the next one
    wait(handed_over, timeout=60)

    assert sum(future.cancelled() for future in handed_over) >= 50 - 12


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


def test_events_that_were_sent_are_forgotten(sim: Simulation) -> None:
    """A loop that has initialized a thousand Nodes does not hold a thousand ends of events for ever."""
    events = EventSink(sim.kubernetes_writer())
    events.announce([replace(MISSED, message=f"reason {number}") for number in range(50)], NOW)

    assert events.close(60)

    wait_for(lambda: not events._under_way, "the last sender to have said so")
    assert len(listed(sim)) == 50
