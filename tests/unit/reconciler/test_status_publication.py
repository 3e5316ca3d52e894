"""What whoever holds the Lease publishes: when it is written, how much of it, and what a forged one can do."""

import json
import logging
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from actuators.http.errors import NotLeader
from actuators.outcome import Applied
from desired.health.state import ObjectState, ServiceState, States
from desired.model.key import Key, ObjectKind
from desired.model.published_settings import PublishedSettings
from desired.model.record import Stamp
from desired.model.service import Ingress
from desired.model.settings import Settings
from desired.plan.change import GuardDecision, GuardName, Hold, HoldEnd, Verdict
from desired.section import Unknown
from desired.syntax.selector import parse_selector
from reconciler.passes.records import StatusPublication
from reconciler.report.published import (
    STATUS,
    PublishedField,
    PublishedReplacement,
    PublishedStatus,
    replaced_in,
    status_of,
)
from reconciler.report.status import StatusReport
from reconciler.result import Line, Report, Requests
from reconciler.telemetry import logs
from tests.builders import CLUSTER_UID, NOW, a_change, a_snapshot
from tests.support.keys import key_of
from tests.support.scenarios import readdressed
from tests.support.stored import Stored

ORIGIN = Stamp(CLUSTER_UID, "ccm-0", NOW)
HELD = GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, "too many")
CHANGE = a_change("node/a", "node.delete").ruled(HELD)


class Kept(Stored):
    """With what is of interest in it."""

    @property
    def status(self) -> PublishedStatus | None:
        return STATUS.read((self.data or {}).get(STATUS.key))


def a_publication(stored: Kept, by: str = "ccm-0") -> StatusPublication:
    return StatusPublication(stored.config_map(by), Settings())


def a_hold(number: int = 1) -> Hold:
    end = HoldEnd("if it stays NotReady", 60.0)
    rule = GuardName.NODE_BLAST_RADIUS
    return Hold(f"sha256:{number:016x}", rule, "2", "1", ("node/a",), "two are gone", advice="cordon", end=end)


def a_pass(*holds: Hold, seconds: float = 0, **members: object) -> Report:
    snapshot = replace(a_snapshot(), taken_at=NOW + timedelta(seconds=seconds))
    lines = (Line(CHANGE),) if holds else ()
    return replace(Report(snapshot=snapshot, lines=lines, holds=holds, requests=Requests(3, 4, 3000, 3600)), **members)  # type: ignore[arg-type]


def test_it_is_written_when_people_would_see_a_change() -> None:
    """At once when a hold comes or goes, else ten seconds apart, and again after half an hour; an idle pass sends
    nothing."""
    stored = Kept()
    publication = a_publication(stored)
    applied = (Line(a_change("node/b"), Applied()),)
    told: list[tuple[float, list[str]]] = []
    for report in (
        a_pass(seconds=0),
        a_pass(seconds=5, lines=applied),  # too soon
        a_pass(seconds=6, requests=Requests(9, 9, 9, 3600)),
        a_pass(a_hold(), seconds=7),
        a_pass(a_hold(), seconds=8),
        a_pass(a_hold(), seconds=60),
        a_pass(seconds=61),
        a_pass(seconds=75, errors=("the token is wrong",)),
        a_pass(seconds=1874, errors=("the token is wrong",)),
        a_pass(seconds=1875, errors=("the token is wrong",)),
    ):
        stored.asked.clear()
        publication.keep(report, 1.5)
        if stored.asked:
            assert report.snapshot is not None
            told.append(((report.snapshot.taken_at - NOW).total_seconds(), list(stored.asked)))

    assert told == [(at, ["read", "write"]) for at in (0, 7, 61, 75, 1875)]


def test_what_is_not_well_is_written_at_once() -> None:
    """A run of --once has no later pass that would write it."""
    stored = Kept()
    publication = a_publication(stored)
    down = ObjectState(MOVED, ServiceState.DOWN, "load balancer 901 has no target")
    publication.keep(a_pass())
    publication.keep(a_pass(seconds=4, states=States((down,), ())))

    assert stored.status is not None
    assert [each.key for each in stored.status.last_pass.states.unwell] == [MOVED]


def test_a_state_lasts_since_it_began() -> None:
    """This process has seen it, or the one that led before. An object may be older; a first look sees no beginning."""
    stored = Kept()
    first, state = a_publication(stored), ObjectState(MOVED, ServiceState.SERVING, "port 80: 2 of 2 healthy")

    def since(publication: StatusPublication, seconds: float, word: ServiceState) -> datetime | None:
        report = a_pass(seconds=seconds)
        assert report.snapshot is not None
        states = publication.dated(States((replace(state, state=word),)), report.snapshot.taken_at)
        publication.keep(replace(report, states=states))
        return states.services[0].since

    down, later = ServiceState.DOWN, NOW + timedelta(seconds=60)
    assert since(first, 0, ServiceState.SERVING) is None
    assert [since(first, seconds, down) for seconds in (60, 90)] == [later, later]

    follower = a_publication(stored, by="ccm-1")
    assert follower.changed_settings(a_snapshot(), is_planning=True) == ""
    assert since(follower, 120, down) == later
    assert since(follower, 150, ServiceState.SERVING) == NOW + timedelta(seconds=150)
    assert since(a_publication(Kept()), 180, down) is None


def test_a_hold_that_measures_something_else_is_news() -> None:
    """Nobody waits for an end that has moved, or reads a number of half an hour ago."""
    stored = Kept()
    publication = a_publication(stored)
    ends_later = replace(a_hold(), end=HoldEnd("if it stays NotReady", 1800.0))
    ends_then = replace(a_hold(), end=HoldEnd("if it stays NotReady", 1740.0))
    for seconds, hold in ((0, a_hold()), (20, ends_later), (80, ends_then), (100, replace(ends_then, value="3"))):
        publication.keep(a_pass(hold, seconds=seconds))

    assert stored.asked == ["read", "write"] * 3
    assert stored.status is not None
    assert stored.status.written_at == NOW + timedelta(seconds=100)


def test_what_it_says() -> None:
    stored = Kept()
    publication = a_publication(stored)

    publication.keep(a_pass(a_hold()), 1.234)
    publication.forget()
    publication.keep(a_pass(a_hold(), a_hold(2), seconds=30))

    status = stored.status
    assert status is not None
    last = status.last_pass
    assert (status.by, status.written_at, last.result) == ("ccm-0", NOW + timedelta(seconds=30), "blocked")
    assert (last.seconds, last.requests_left, last.requests_limit, last.counts["held"]) == (None, 3000, 3600, 1)
    first, second = status.holds
    assert (first.since, second.since) == (NOW, NOW + timedelta(seconds=30))
    assert first.end is not None
    assert (first.end.how, first.end.at) == ("if it stays NotReady", NOW + timedelta(seconds=90))
    assert [(change.key, change.kind, change.class_) for change in first.changes] == [
        ("node/a", "node.delete", "remove")
    ]


def test_a_new_leader_keeps_since_when() -> None:
    """Of holds that the last one published, unless that was of another cluster or says something impossible."""
    stored = Kept()
    a_publication(stored).keep(a_pass(a_hold()))

    def since_after(data: str) -> datetime:
        stored.data = {STATUS.key: data}
        a_publication(stored, "ccm-1").keep(a_pass(a_hold(), seconds=60))
        assert stored.status is not None
        return stored.status.holds[0].since

    later = NOW + timedelta(seconds=60)
    assert stored.data is not None
    text = stored.data[STATUS.key]
    assert since_after(text) == NOW
    assert since_after(text.replace(json.loads(text)["cluster"], "another")) == later
    assert since_after(text.replace('"since": "2026', '"since": "9026')) == later
    assert since_after("[" * 100_000) == later


MOVED = Key(ObjectKind.SERVICE, "default/web")


def a_move(seconds: float, before: str, after: str) -> Report:
    return readdressed(before, after, a_pass(seconds=seconds))


def test_a_load_balancer_that_was_replaced() -> None:
    """Old and new address for a day, also by the next leader; not where an address stays."""
    stored = Kept()
    publication = a_publication(stored)
    publication.keep(a_pass())
    publication.keep(a_move(4, "203.0.113.1", "203.0.113.9"))  # at once: a run of --once has no later pass
    publication.keep(a_move(20, "203.0.113.9", "203.0.113.9"))
    a_publication(stored, "ccm-1").keep(a_pass(a_hold(), seconds=60))

    assert stored.status is not None
    assert stored.status.replaced == (
        PublishedReplacement(MOVED, ("203.0.113.1",), ("203.0.113.9",), NOW + timedelta(seconds=4)),
    )
    text = " ".join(line.text for line in StatusReport(NOW + timedelta(seconds=60), stored.status).lines())
    assert f"{MOVED} has 203.0.113.9 since" in text
    assert "and had 203.0.113.1: update DNS" in text

    publication.forget()
    publication.keep(a_pass(seconds=24 * 3600 + 4))
    assert not stored.status.replaced


def test_a_replaced_status_that_somebody_has_filled_is_cut() -> None:
    """Anybody who may write a Service's status may write any number of addresses into it."""
    moved = a_move(0, "203.0.113.1", "203.0.113.9")
    (line,) = moved.lines
    many = tuple(Ingress(f"198.51.100.{number}") for number in range(200))
    (found,) = replaced_in(replace(moved, lines=(replace(line, change=replace(line.change, before=many)),)), NOW)
    assert len(found.before) == 4


def test_what_was_not_read_is_not_published() -> None:
    stored = Kept()
    publication = a_publication(stored)
    publication.keep(Report(errors=("the API server does not answer",)))
    publication.keep(a_pass(not_leader="ccm-1 leads"))
    publication.keep(Report(snapshot=replace(a_snapshot(), cluster_uid=Unknown("403"))))
    assert stored.asked == []


def test_a_lost_lead_is_no_trouble() -> None:
    """The next pass may lead again, and looks; so it does after it was told to forget, as others may have written."""
    stored = Kept(trouble=NotLeader("no"))
    publication = a_publication(stored)
    publication.keep(a_pass())
    stored.trouble = None
    publication.keep(a_pass())
    of_another = Kept()
    a_publication(of_another, "ccm-9").keep(a_pass())
    stored.data = of_another.data
    publication.forget()
    publication.keep(a_pass())
    assert stored.asked == ["read", "read", "write", "read", "write"]
    assert stored.status is not None
    assert stored.status.by == "ccm-0"


def test_trouble_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    publication = a_publication(Kept(None))
    with caplog.at_level(logging.INFO):
        for hours in range(3):
            publication.keep(a_pass(seconds=3600 * hours))
    why = "ConfigMap is not there"
    assert [record.getMessage() for record in caplog.records] == [f"the status is not published why='{why}'"]


def test_it_fits_into_a_config_map() -> None:
    keys = [f"node/{'n' * 240}-{number}" for number in range(3000)]
    changes = [a_change(key, "node.delete").ruled(HELD) for key in keys]
    held, why = tuple(map(key_of, keys)), "\x1f" * 99_999
    holds = tuple(Hold(f"sha256:{n:016x}", GuardName.NODE_BLAST_RADIUS, "v" * 9999, "1", held, why) for n in range(80))
    report = a_pass(*holds, lines=tuple(map(Line, changes)), errors=("e" * 99_999,) * 50)

    status = status_of(report, "h" * 9999, {})

    assert status is not None
    assert len(STATUS.write(status, replace(ORIGIN, by="h" * 9999)).encode()) < 2**19
    assert STATUS.read(STATUS.write(status, replace(ORIGIN, by="h" * 9999))) == status
    assert (len(status.holds), status.more_holds, status.holds[0].count) == (50, 30, 3000)


@pytest.mark.parametrize("text", [None, "", "null", "{}", "[" * 99_999, '{"version": 2}', "x" * 1_000_000])
def test_a_status_that_is_none(text: str | None) -> None:
    assert STATUS.read(text) is None


@pytest.mark.parametrize(
    ("written", "forged"),
    [
        pytest.param('"before": 1', f'"before": {"[" * 500}{"]" * 500}', id="deep as a stack"),
        pytest.param('"rule": "node-blast-radius"', f'"rule": "{"r" * 9999}"', id="as wide as no terminal"),
        pytest.param('"since": "2026-07-01T12:00:00Z"', '"since": "2026-07-01T12:00:00+09:00"', id="another zone"),
        pytest.param('"HCLOUD_NETWORK": ""', '"HCLOUD_NETWORK": 7', id="a setting that is no text"),
        pytest.param('"since": null', '"since": "2026-07-01T12:00:00"', id="settings since a time of no zone"),
        pytest.param('"since": "2026-07-01T12:00:00Z"', '"since": "0001-01-01T00:00:00+14:00"', id="no year of UTC"),
    ],
)
def test_a_forged_status(written: str, forged: str) -> None:
    field = PublishedField("p", 1, None)
    status = status_of(a_pass(a_hold()), "ccm-0", {}, settings=PublishedSettings({"HCLOUD_NETWORK": ""}))
    assert status is not None
    (hold,) = status.holds
    changed = structs.replace(hold, changes=(structs.replace(hold.changes[0], fields=(field,)),))
    text = STATUS.write(structs.replace(status, holds=(changed,)), ORIGIN)

    assert written in text
    assert STATUS.read(text) is not None
    assert STATUS.read(text.replace(written, forged)) is None


@pytest.mark.parametrize("text", ["pool=edge,\n!legacy\n", "pool=edge,\t!legacy", "pool=edge,\u00a0!legacy"])
def test_a_selector_in_two_lines_is_published_in_one(text: str) -> None:
    stored = Kept()
    settings = Settings(ignore_nodes=parse_selector(text))
    StatusPublication(stored.config_map(), settings).keep(a_pass())
    assert stored.status is not None
    assert stored.status.settings.values["--ignore-nodes"] == "pool=edge, !legacy"


def test_settings_that_cannot_be_shown_take_nothing_else_along() -> None:
    status = status_of(a_pass(a_hold()), "ccm-0", {}, settings=PublishedSettings({"HCLOUD_NETWORK": "a\nb"}))
    assert status is not None
    found = STATUS.read(STATUS.write(status, ORIGIN))
    assert found is not None
    assert (found.settings, len(found.holds)) == (PublishedSettings(), 1)


def test_an_error_with_a_secret() -> None:
    """An error may repeat what was sent, or be of characters that JSON has not."""
    logs.hide("a-token-of-hetzner")
    stored = Kept()

    a_publication(stored).keep(a_pass(errors=("401: a-token-of-hetzner", "\ud800 is wrong")))

    assert stored.status is not None
    assert stored.status.last_pass.errors == ("401: ***", "? is wrong")
