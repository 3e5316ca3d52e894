"""The record of uses: which approvals count by it, and what is kept."""

from dataclasses import replace
from datetime import datetime, timedelta

from desired.model.record import Stamp
from desired.plan.grants import LONGEST, Grant, Here, Source
from desired.plan.uses import RECORD, Use, UseRecord, record_in
from desired.section import Absent, Present, Unknown
from tests.builders import CLUSTER_UID, NOW
from tests.support.rows import rows

HASH, MINUTE, HOUR, DAY = "sha256:0123456789abcdef", timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
GIVEN = Grant(Source.CLUSTER, HASH, "jane", NOW)
FLAG = Grant(Source.FLAG, HASH)
BEGUN = UseRecord(NOW)
NAMES = ("sha256:00000000000000aa service/default/web",)


def used(*grants: Grant, at: datetime = NOW) -> UseRecord:
    return BEGUN.using(grants, Here(at), "me", NAMES)


@rows("record grant why", {
    "given when it began": (BEGUN, GIVEN, None),
    "given before": (UseRecord(NOW + MINUTE), GIVEN,
        "was given before the record of uses began at 2026-07-01 12:01 UTC; approve again"),
    "used": (used(GIVEN), GIVEN, "was used at 2026-07-01 12:00 UTC"),
    "given again": (used(GIVEN), replace(GIVEN, approved_at=NOW + MINUTE), None),
    "another hold": (used(GIVEN), replace(GIVEN, of="sha256:ffffffffffffffff"), None),
    "in the arguments": (BEGUN, FLAG, None),
    "in the arguments of an earlier run": (used(FLAG), FLAG, "was used at 2026-07-01 12:00 UTC"),
    "in the arguments, and approved besides": (used(FLAG), GIVEN, None),
})  # fmt: skip
def test_an_approval_counts_once(record: UseRecord, grant: Grant, why: str | None) -> None:
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
    many = UseRecord(NOW, tuple(Use(f"sha256:{n:016x}", None, NOW + n * MINUTE, "me", NOW) for n in range(150)))
    kept = many.using((), Here(NOW), "me", ()).uses
    assert (len(kept), kept[0].of) == (100, f"sha256:{50:016x}")


def test_a_record_is_read_as_it_was_written() -> None:
    record = used(GIVEN, FLAG)
    data = {RECORD.key: RECORD.write(record, Stamp(CLUSTER_UID, "ccm-0", NOW))}
    assert record_in(data, Present(CLUSTER_UID)) == record_in(data, None) == Present(record)
    assert isinstance(record_in(data, Present("another")), Unknown)
    assert record_in(data, Unknown("403")) == Unknown("403")
    assert record_in({}, Present(CLUSTER_UID)) == Absent()
    assert isinstance(record_in({RECORD.key: data[RECORD.key][:-1]}, Present(CLUSTER_UID)), Unknown)
