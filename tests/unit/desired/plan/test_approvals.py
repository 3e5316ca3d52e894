"""Grants, approvals in the ConfigMap of people, and the controller's record of their uses."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from desired.model.record import Stamp
from desired.model.remembered import MOST_REMEMBERED, RefusedLogin, Remembered
from desired.plan.approvals import (
    KEPT,
    Step,
    format_approval,
    is_hash,
    parse_approvals,
    step_to,
    writes_of_approval,
    writes_of_revocation,
)
from desired.plan.controller_record import RECORD, ControllerRecord, Use, record_in
from desired.plan.grants import LIFETIME, LONGEST, Grant, Here, Source, by_hold
from desired.section import Present, Unknown
from tests.builders import CLUSTER_UID, NOW
from tests.support.rows import rows

HASH = "sha256:0123456789abcdef"
SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
FRESH = Grant(Source.CLUSTER, HASH, "jane", NOW)
USED = replace(FRESH, used_at=NOW + MINUTE)
REVOKED = replace(FRESH, revoked_at=NOW + MINUTE, revoked_by="joe")
SAVED = Grant(
    Source.PLAN, "saved plan 'p'", approved_at=NOW, expires_at=NOW + HOUR, cluster="5f0c2a11", again="plan again"
)
FLAG, ANSWER = Grant(Source.FLAG, HASH), Grant(Source.ANSWER, "the plan that was shown")
HERE = Present("5f0c2a11")
BY_FLAG = "does not count while the clocks differ; use reconcile --once --approve"


@rows("grant age why", {
    "exactly-an-hour": (FRESH, LIFETIME, None),
    "an-hour-and-a-second": (FRESH, LIFETIME + SECOND, "expired at 2026-07-01 13:00 UTC"),
    "of-a-clock-that-is-a-minute-ahead": (FRESH, -MINUTE, None),
    "from-the-future": (FRESH, -MINUTE - SECOND, "is dated in the future, 2026-07-01 12:00 UTC"),
    "as-long-as-it-asks": (replace(FRESH, expires_at=NOW + 15 * MINUTE), 15 * MINUTE, None),
    "and-no-longer": (replace(FRESH, expires_at=NOW + 15 * MINUTE), 16 * MINUTE, "expired at 2026-07-01 12:15 UTC"),
    "forged:-a-day-at-most": (replace(FRESH, expires_at=NOW + 365 * DAY), DAY + SECOND,
        "expired at 2026-07-02 12:00 UTC"),
    "forged:-over-before-it-began": (replace(FRESH, expires_at=NOW - DAY), timedelta(),
        "expired at 2026-06-30 12:00 UTC"),
    "used": (USED, 2 * MINUTE, "was used at 2026-07-01 12:01 UTC"),
    "revoked": (REVOKED, 2 * MINUTE, "was revoked at 2026-07-01 12:01 UTC by joe"),
    "damaged": (replace(FRESH, damage="cannot be read"), timedelta(), "cannot be read"),
    "plan:-too-late": (SAVED, HOUR + SECOND, "expired at 2026-07-01 13:00 UTC; plan again"),
    "plan:-future": (SAVED, -MINUTE - SECOND, "is dated in the future, 2026-07-01 12:00 UTC; plan again"),
    "flag:-in-this-run": (FLAG, 365 * DAY, None),
})  # fmt: skip
def test_when_it_counts(grant: Grant, age: timedelta, why: str | None) -> None:
    assert grant.why_void(Here(NOW + age, HERE)) == why
    assert grant.counts(Here(NOW + age, HERE)) is (why is None)


@pytest.mark.parametrize(("grant", "why"), [
    (FRESH, BY_FLAG),
    (SAVED, "does not count while the clocks differ; set them by NTP, or be asked by 'reconcile apply'"),
    (FLAG, None),
    (ANSWER, None),
])  # fmt: skip
def test_while_clocks_differ_no_age_is_known(grant: Grant, why: str | None) -> None:
    """What has one does not count; what a person says in this very run does."""
    assert grant.why_void(Here(NOW, HERE, clocks_differ=True)) == why


@pytest.mark.parametrize(("cluster", "why"), [
    (Present("other"), "is of cluster 5f0c2a11, and this is other; give --context, or plan again"),
    (Unknown("403"), "may be of another cluster: 403"),
])  # fmt: skip
def test_a_saved_plan_counts_in_its_cluster(cluster: Present[str] | Unknown, why: str) -> None:
    """The hash of a hold has the cluster in it."""
    assert SAVED.why_void(Here(NOW, cluster)) == why
    assert FRESH.counts(Here(NOW, cluster))


def test_grants_of_a_hold() -> None:
    other = replace(FRESH, of="sha256:ffffffffffffffff")
    assert by_hold([FLAG, USED, FRESH, other], Here(NOW)) == {HASH: (FLAG, FRESH), other.of: (other,)}


KEY = "sha256.0123456789abcdef"
FIELDS: Mapping[str, object] = {"approver": "jane", "approved_at": NOW.isoformat()}


@rows("text expected", {
    "hash": (HASH, True),
    "upper-case": (HASH.upper(), False),
    "too-long": (f"{HASH}0", False),
    "line-end": (f"{HASH}\n", False),
})  # fmt: skip
def test_is_hash(text: str, expected: bool) -> None:
    assert is_hash(text) is expected


def test_format() -> None:
    assert format_approval(FRESH) == (KEY, '{"approved_at": "2026-07-01T12:00:00+00:00", "approver": "jane"}')


DETAILED = replace(FRESH, expires_at=NOW + timedelta(hours=2), via="jane@laptop", reason="rack 4")


@rows("approval", {"fresh": FRESH, "with all that it may have": DETAILED})
def test_parse_is_the_inverse_of_format(approval: Grant) -> None:
    assert parse_approvals(dict([format_approval(approval)])) == (approval,)


DAMAGED = "cannot be read: expect JSON with approver and approved_at, which needs a zone"


@rows("key value", {
    "key-is-no-hash": ("README", json.dumps(FIELDS)),
    "empty": (KEY, ""),
    "a-list": (KEY, "[]"),
    "nested-deeper-than-Python-reads": (KEY, "[" * 100_000),
    "time-without-a-zone": (KEY, json.dumps({**FIELDS, "approved_at": "2026-07-01T12:00:00"})),
    "no-year-of-UTC": (KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59-12:00"})),
    "no-hour-after-it": (KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59+00:00"})),
    "half-a-character": (KEY, json.dumps({**FIELDS, "approver": "\ud800"})),
    "nobody-approved": (KEY, json.dumps({"approved_at": NOW.isoformat()})),
    "a-blank-name": (KEY, json.dumps({**FIELDS, "approver": " "})),
    "no-name": (KEY, json.dumps({**FIELDS, "approver": ["a"]})),
    "too-long": (KEY, json.dumps({**FIELDS, "reason": "x" * 5000})),
})  # fmt: skip
def test_damage_approves_nothing(key: str, value: str) -> None:
    other = Grant(Source.CLUSTER, "sha256:ffffffffffffffff", "joe", NOW)
    *damaged, last = parse_approvals({key: value, **dict([format_approval(other)])})
    assert last == other
    assert [each.why_void(Here(NOW)) for each in damaged] == [DAMAGED] * (key == KEY)


LONG = replace(FRESH, expires_at=NOW + timedelta(hours=3))
TAKEN_BACK = replace(LONG, revoked_at=NOW + timedelta(minutes=5), revoked_by="joe")


def revoked(value: str, by: str = "") -> Grant:
    """An approval with this revocation beside it."""
    key, text = format_approval(LONG)
    (found,) = parse_approvals({key: text, f"{key}.revoked": value, **({f"{key}.by": by} if by else {})})
    return found


def test_a_revoked_approval() -> None:
    """It lets nothing pass, and says who took it back. An approval that is given later counts."""
    (value,) = writes_of_revocation(HASH, NOW + timedelta(minutes=5), "joe", "", {}).values()
    assert revoked(str(value)) == TAKEN_BACK
    assert TAKEN_BACK.why_void(Here(NOW + timedelta(minutes=6))) == "was revoked at 2026-07-01 12:05 UTC by joe"
    (earlier,) = writes_of_revocation(HASH, NOW - timedelta(seconds=1), "joe", "", {}).values()
    assert revoked(str(earlier)) == LONG


@rows("value", {"no JSON": "{", "no time": "{}", "too long": json.dumps({"revoked_at": "x" * 5000})})
def test_a_damaged_revocation_counts(value: str) -> None:
    assert not revoked(value).counts(Here(NOW))


def test_the_name_beside_an_approval_wins() -> None:
    """A policy can check that, and not what is in JSON: of an approval it is who approved, of a revoked one who took it
    back."""
    key, forged = format_approval(FRESH)
    assert parse_approvals({key: forged, f"{key}.by": "oidc:mallory"})[0].approver == "oidc:mallory"
    (value,) = writes_of_revocation(HASH, NOW, "joe", "", {}).values()
    found = revoked(str(value), "oidc:ben")
    assert (found.approver, found.revoked_by) == ("jane", "oidc:ben")


@rows("before wanted step", {
    "nothing there": (None, FRESH, Step.NEW),
    "used": (USED, FRESH, Step.AGAIN),
    "revoked": (TAKEN_BACK, FRESH, Step.AGAIN),
    "expired": (replace(FRESH, approved_at=NOW - 2 * LIFETIME), FRESH, Step.NEW),
    "shorter": (FRESH, LONG, Step.LONGER),
    "longer": (LONG, FRESH, Step.STANDS),
    "as long": (FRESH, FRESH, Step.STANDS),
})  # fmt: skip
def test_step_to(before: Grant | None, wanted: Grant, step: Step) -> None:
    assert step_to(wanted, before, NOW) is step


def test_a_later_name_stands_beside_it() -> None:
    """A name that is not known takes away that of the writer before: nobody vouches for the words of others."""
    data = {**dict([format_approval(FRESH)]), f"{KEY}.by": "oidc:jane"}
    assert writes_of_revocation(HASH, NOW, "joe", "oidc:joe", data)[f"{KEY}.by"] == "oidc:joe"
    assert writes_of_revocation(HASH, NOW, "joe", "", data)[f"{KEY}.by"] is None
    assert writes_of_approval(FRESH, "", data, NOW)[f"{KEY}.by"] is None


def test_approving_again_takes_a_revocation_away() -> None:
    """The API server's clock has whole seconds: both may be of one."""
    data = {**dict([format_approval(FRESH)]), f"{KEY}.revoked": "{}"}
    assert writes_of_approval(FRESH, "", data, NOW)[f"{KEY}.revoked"] is None


def test_approving_tidies_up() -> None:
    old, young = (
        replace(FRESH, of=f"sha256:{1:016x}"),
        replace(FRESH, of=f"sha256:{2:016x}", approved_at=NOW + LIFETIME),
    )
    beside = {f"sha256.{1:016x}.by": "jane", f"sha256.{1:016x}.revoked": "{}", "note": "hands off"}
    data = {**dict(map(format_approval, (old, young))), **beside}

    def gone(now: datetime) -> set[str]:
        wanted = Grant(Source.CLUSTER, f"sha256:{3:016x}", "jane", now)
        return {key for key, value in writes_of_approval(wanted, "", data, now).items() if value is None}

    assert gone(NOW + LONGEST + KEPT) == set()
    assert gone(NOW + LONGEST + KEPT + timedelta(seconds=1)) == {
        f"sha256.{1:016x}",
        f"sha256.{1:016x}.by",
        f"sha256.{1:016x}.revoked",
    }


BEGUN = ControllerRecord(NOW)
NAMES = ("sha256:00000000000000aa service/default/web",)


def used(*grants: Grant, at: datetime = NOW) -> ControllerRecord:
    return BEGUN.using(grants, Here(at), "me", NAMES)


@rows("record grant why", {
    "given when it began": (BEGUN, FRESH, None),
    "given before": (ControllerRecord(NOW + MINUTE), FRESH,
        "was given before the record of uses began at 2026-07-01 12:01 UTC; approve again"),
    "not begun": (ControllerRecord(), FRESH,
        "does not count: there is no record of uses yet; it begins with the first pass that holds something"),
    "used": (used(FRESH), FRESH, "was used at 2026-07-01 12:00 UTC"),
    "given again": (used(FRESH), replace(FRESH, approved_at=NOW + MINUTE), None),
    "another hold": (used(FRESH), replace(FRESH, of="sha256:ffffffffffffffff"), None),
    "in the arguments of an earlier run": (used(FLAG), FLAG, "was used at 2026-07-01 12:00 UTC"),
    "in the arguments, and approved besides": (used(FLAG), FRESH, None),
    "in the arguments": (BEGUN, FLAG, None),
    "not begun, in the arguments": (ControllerRecord(), FLAG, None),
})  # fmt: skip
def test_an_approval_counts_once(record: ControllerRecord, grant: Grant, why: str | None) -> None:
    assert record.judged(grant).why_void(Here(NOW + MINUTE)) == why


@rows("grant", {"of people": FRESH, "in the arguments": FLAG})
def test_names_pass_for_an_hour(grant: Grant) -> None:
    found = used(grant)
    assert found.judged(grant).passes(Here(NOW + HOUR)) == NAMES
    assert found.judged(grant).passes(Here(NOW + HOUR + MINUTE)) == ()
    assert found.without(NAMES).judged(grant).passes(Here(NOW)) == ()
    assert [*found.names] == [*NAMES]
    assert not found.without(NAMES).names


def test_a_name_stays_struck_whichever_process_knows_it() -> None:
    """Another one has led meanwhile, and struck it; or this one has, and a backup was put back."""
    before, struck = used(FRESH), used(FRESH).without(NAMES)
    assert not struck.beside(before.uses).names
    assert not before.beside(struck.uses).names
    assert before.beside(before.uses) == before


def test_names_that_ended_take_no_room() -> None:
    late = used(FLAG).using((), Here(NOW + LONGEST + HOUR + MINUTE), "me", ())
    assert ([use.of for use in late.uses], late.names) == ([HASH], frozenset())


def test_uses_are_kept_as_long_as_they_may_matter() -> None:
    """The approval of a person is void by its age after a day; arguments have no age."""
    both = used(FRESH, FLAG)
    soon, late = (both.using((), Here(NOW + LONGEST + wait), "me", ()) for wait in (DAY, 2 * DAY))
    assert [use.approved_at for use in soon.uses] == [None, NOW]
    assert [use.approved_at for use in late.uses] == [None]
    assert both.using((), Here(NOW + LONGEST + 2 * DAY, clocks_differ=True), "me", ()) == both
    many = ControllerRecord(NOW, tuple(Use(f"sha256:{n:016x}", None, NOW + n * MINUTE, "me", NOW) for n in range(150)))
    kept = many.using((), Here(NOW), "me", ()).uses
    assert (len(kept), kept[0].of) == (100, f"sha256:{50:016x}")


FULL = replace(
    used(FRESH, FLAG), project=Remembered(4711, (42, 43)), refused=tuple(RefusedLogin(f"ab1{n}", NOW) for n in range(4))
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
    "not JSON": "network 4711",
    "fields are missing": "{}",
    "another version": _with(version=2),
    "another cluster": written(cluster="another"),
    "a truth value": _project(network=True),
    "a negative id": _project(network=-1),
    "an id that is too large": _project(network=2**63),
    "a text among ids": _project(load_balancers=[42, "43"]),
    "a login without a time": _with(refused=[{"login": "ab12"}]),
    "too long": _with(padding="x" * RECORD.longest),
    "too deep": "[" * 4096,
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
