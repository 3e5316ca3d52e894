"""The controller's record: approvals that count by it, uses that are kept, and damage."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from desired.model.record import Stamp
from desired.model.remembered import MOST_REMEMBERED, RefusedLogin, Remembered
from desired.plan.controller_record import RECORD, ControllerRecord, Use, record_in
from desired.plan.grants import LONGEST, Grant, Here, Source
from desired.section import Present, Unknown
from tests.builders import CLUSTER_UID, NOW
from tests.support.rows import rows

HASH, MINUTE, HOUR, DAY = "sha256:0123456789abcdef", timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
GIVEN = Grant(Source.CLUSTER, HASH, "jane", NOW)
FLAG = Grant(Source.FLAG, HASH)
BEGUN = ControllerRecord(NOW)
NAMES = ("sha256:00000000000000aa service/default/web",)


def used(*grants: Grant, at: datetime = NOW) -> ControllerRecord:
    return BEGUN.using(grants, Here(at), "me", NAMES)


@rows("record grant why", {
    "given when it began": (BEGUN, GIVEN, None),
    "given before": (ControllerRecord(NOW + MINUTE), GIVEN,
        "was given before the record of uses began at 2026-07-01 12:01 UTC; approve again"),
    "not begun": (ControllerRecord(), GIVEN,
        "does not count: there is no record of uses yet; it begins with the first pass that holds something"),
    "not begun, in the arguments": (ControllerRecord(), FLAG, None),
    "used": (used(GIVEN), GIVEN, "was used at 2026-07-01 12:00 UTC"),
    "given again": (used(GIVEN), replace(GIVEN, approved_at=NOW + MINUTE), None),
    "another hold": (used(GIVEN), replace(GIVEN, of="sha256:ffffffffffffffff"), None),
    "in the arguments": (BEGUN, FLAG, None),
    "in the arguments of an earlier run": (used(FLAG), FLAG, "was used at 2026-07-01 12:00 UTC"),
    "in the arguments, and approved besides": (used(FLAG), GIVEN, None),
})  # fmt: skip
def test_an_approval_counts_once(record: ControllerRecord, grant: Grant, why: str | None) -> None:
    assert record.judged(grant).why_void(Here(NOW + MINUTE)) == why


@rows("grant", {"of people": GIVEN, "in the arguments": FLAG})
def test_names_pass_for_an_hour(grant: Grant) -> None:
    """As long as the approval, and until they are struck."""
    found = used(grant)
    assert found.judged(grant).passes(Here(NOW + HOUR)) == NAMES
    assert found.judged(grant).passes(Here(NOW + HOUR + MINUTE)) == ()
    assert found.without(NAMES).judged(grant).passes(Here(NOW)) == ()
    assert [*found.names] == [*NAMES]
    assert not found.without(NAMES).names


def test_a_name_stays_struck_whichever_process_knows_it() -> None:
    """Another one has led meanwhile, and struck it; or this one has, and a backup was put back."""
    before, struck = used(GIVEN), used(GIVEN).without(NAMES)
    assert not struck.beside(before.uses).names
    assert not before.beside(struck.uses).names
    assert before.beside(before.uses) == before


def test_names_that_ended_take_no_room() -> None:
    late = used(FLAG).using((), Here(NOW + LONGEST + HOUR + MINUTE), "me", ())
    assert ([use.of for use in late.uses], late.names) == ([HASH], frozenset())


def test_uses_are_kept_as_long_as_they_may_matter() -> None:
    """The approval of a person is void by its age after a day; arguments have no age."""
    both = used(GIVEN, FLAG)
    soon, late = (both.using((), Here(NOW + LONGEST + wait), "me", ()) for wait in (DAY, 2 * DAY))
    assert [use.approved_at for use in soon.uses] == [None, NOW]
    assert [use.approved_at for use in late.uses] == [None]
    assert both.using((), Here(NOW + LONGEST + 2 * DAY, clocks_differ=True), "me", ()) == both
    many = ControllerRecord(NOW, tuple(Use(f"sha256:{n:016x}", None, NOW + n * MINUTE, "me", NOW) for n in range(150)))
    kept = many.using((), Here(NOW), "me", ()).uses
    assert (len(kept), kept[0].of) == (100, f"sha256:{50:016x}")


FULL = replace(
    used(GIVEN, FLAG), project=Remembered(4711, (42, 43)), refused=tuple(RefusedLogin(f"ab1{n}", NOW) for n in range(4))
)


def written(record: ControllerRecord = FULL, cluster: str = CLUSTER_UID) -> str:
    return RECORD.write(record, Stamp(cluster, "ccm-0", NOW))


def read(text: str, cluster: str | None = CLUSTER_UID) -> object:
    return record_in({RECORD.key: text}, None if cluster is None else Present(cluster))


@rows("record", {
    "full": FULL,
    "not begun": ControllerRecord(),
    "long": replace(FULL, project=Remembered(2**63 - 1, tuple(range(2**63 - MOST_REMEMBERED, 2**63)))),
})  # fmt: skip
def test_a_record_is_read_as_it_was_written(record: ControllerRecord) -> None:
    text = written(record)
    assert read(text) == read(text, None) == read(written(record, cluster="")) == Present(record)


def _with(**changes: Any) -> str:
    return json.dumps(json.loads(written()) | changes)


def _project(**changes: Any) -> str:
    return _with(project={"network": 4711, "load_balancers": [42]} | changes)


@rows("text", {
    "empty": "",
    "not JSON": "network 4711",
    "a list": "[]",
    "fields are missing": "{}",
    "another version": _with(version=2),
    "another cluster": written(cluster="another"),
    "cut off": written()[:-1],
    "a network as text": _project(network="4711"),
    "a truth value": _project(network=True),
    "a negative id": _project(network=-1),
    "an id that is too large": _project(network=2**63),
    "text for a list": _project(load_balancers="42"),
    "a text among ids": _project(load_balancers=[42, "43"]),
    "a login without a time": _with(refused=[{"login": "ab12"}]),
    "too long": _with(padding="x" * RECORD.longest),
    "too deep": "[" * 4096,
    "a very long number": '{"version": ' + "1" * 4000 + "}",
})  # fmt: skip
def test_a_damaged_record_is_not_taken_for_an_empty_one(text: str) -> None:
    assert isinstance(read(text), Unknown)


def test_a_record_that_is_not_there_says_nothing() -> None:
    assert record_in({}, Present(CLUSTER_UID)) == record_in({}, Unknown("403")) == Present(ControllerRecord())
    assert record_in({RECORD.key: written()}, Unknown("403")) == Unknown("403")


def test_ids_are_sorted_and_bounded() -> None:
    many = record_in({RECORD.key: _project(load_balancers=[9, 3, 9, *range(20, 20 + MOST_REMEMBERED)])}, None)
    assert isinstance(many, Present)
    ids = many.value.project.load_balancers
    assert (len(ids), ids[:3]) == (MOST_REMEMBERED, (3, 9, 20))


def test_the_last_four_refused_logins_are_kept() -> None:
    record = ControllerRecord()
    for number in range(6):
        record = record.refusing(RefusedLogin(str(number), NOW))
    assert [login.tag for login in record.refused] == ["2", "3", "4", "5"]
