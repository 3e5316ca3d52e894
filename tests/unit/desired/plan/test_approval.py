"""Approvals of holds: format and validity."""

import json
from collections.abc import Mapping
from datetime import timedelta

import pytest

from desired.model.clocks import TOLERANCE
from desired.plan.approval import LIFETIME, Approval, format_approval, is_hash, parse_approvals
from tests.builders import NOW

HASH = "sha256:0123456789abcdef"
KEY = "sha256.0123456789abcdef"
FRESH = Approval(HASH, "jane", NOW)
USED = Approval(HASH, "jane", NOW, NOW + timedelta(minutes=1))
FIELDS: Mapping[str, object] = {"approver": "jane", "approved_at": NOW.isoformat(), "used_at": None}


@pytest.mark.parametrize(
    ("approval", "age", "expected"),
    [
        pytest.param(FRESH, timedelta(), True, id="this-moment"),
        pytest.param(FRESH, timedelta(minutes=59), True, id="within-the-hour"),
        pytest.param(FRESH, LIFETIME, True, id="exactly-an-hour"),
        pytest.param(FRESH, LIFETIME + timedelta(microseconds=1), False, id="expired"),
        pytest.param(FRESH, -TOLERANCE, True, id="of-a-clock-that-is-a-minute-ahead"),
        pytest.param(FRESH, -TOLERANCE - timedelta(microseconds=1), False, id="from-the-future"),
        pytest.param(USED, timedelta(minutes=2), False, id="used"),
    ],
)
def test_counts(approval: Approval, age: timedelta, expected: bool) -> None:
    """An approval counts for one hour and for one use."""
    assert approval.counts(NOW + age) is expected


def test_clocks_may_differ_by_a_minute() -> None:
    """API servers behind one address are not of one second."""
    assert timedelta(minutes=1) == TOLERANCE


@pytest.mark.parametrize(
    ("approval", "age", "why"),
    [
        pytest.param(FRESH, timedelta(), None, id="it-counts"),
        pytest.param(USED, timedelta(minutes=2), "was used at 12:01:00 UTC", id="used"),
        pytest.param(USED, timedelta(days=1), "was used at 12:01:00 UTC", id="used-comes-before-expired"),
        pytest.param(FRESH, timedelta(hours=2), "has expired: it is of 2026-07-01 12:00 UTC", id="expired"),
        pytest.param(FRESH, -timedelta(hours=2), "is of the future, 2026-07-01 12:00 UTC", id="from-the-future"),
    ],
)
def test_why_void(approval: Approval, age: timedelta, why: str | None) -> None:
    """An approval that lets nothing pass says why, in words that follow its name."""
    assert approval.why_void(NOW + age) == why


def test_times_of_another_zone_are_read_in_utc() -> None:
    """A time that a person wrote in a zone of their own is shown as what it is in UTC."""
    written = {**FIELDS, "approved_at": "2026-07-01T14:00:00+02:00", "used_at": "2026-07-01T14:01:00+02:00"}

    assert parse_approvals({KEY: json.dumps(written)}) == (USED,)
    assert parse_approvals({KEY: json.dumps(written)})[0].why_void(NOW) == "was used at 12:01:00 UTC"


def test_use_makes_it_void() -> None:
    """A used approval remembers when it was used and lets nothing more pass."""
    used = FRESH.used(NOW + timedelta(minutes=1))
    assert used == USED
    assert not used.counts(NOW + timedelta(minutes=1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(HASH, True, id="hash"),
        pytest.param(KEY, False, id="key-of-the-config-map"),
        pytest.param(HASH.upper(), False, id="upper-case"),
        pytest.param(f"{HASH}0", False, id="too-long"),
        pytest.param(HASH[:-1], False, id="too-short"),
        pytest.param(f"{HASH}\n", False, id="line-end"),
        pytest.param("", False, id="empty"),
    ],
)
def test_is_hash(text: str, expected: bool) -> None:
    """A hash is ``sha256:`` and 16 lower-case hex digits."""
    assert is_hash(text) is expected


def test_format() -> None:
    """The ConfigMap's key has no colon and the value is JSON."""
    assert format_approval(USED) == (
        KEY,
        '{"approved_at": "2026-07-01T12:00:00+00:00", "approver": "jane", "used_at": "2026-07-01T12:01:00+00:00"}',
    )


@pytest.mark.parametrize("approval", [pytest.param(FRESH, id="fresh"), pytest.param(USED, id="used")])
def test_parse_is_the_inverse_of_format(approval: Approval) -> None:
    """What is written is read again as the same approval."""
    assert parse_approvals(dict([format_approval(approval)])) == (approval,)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("README", json.dumps(FIELDS), id="key-is-no-hash"),
        pytest.param(KEY, "", id="empty"),
        pytest.param(KEY, "yes", id="no-json"),
        pytest.param(KEY, "[]", id="a-list"),
        pytest.param(KEY, "7", id="a-number"),
        pytest.param(KEY, "null", id="null"),
        pytest.param(KEY, "[" * 100_000, id="nested-deeper-than-Python-reads"),
        pytest.param(KEY, json.dumps({**FIELDS, "approved_at": "yesterday"}), id="no-time"),
        pytest.param(KEY, json.dumps({**FIELDS, "approved_at": 1751371200}), id="time-as-a-number"),
        pytest.param(KEY, json.dumps({**FIELDS, "approved_at": "2026-07-01T12:00:00"}), id="time-without-a-zone"),
        pytest.param(KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59-12:00"}), id="no-year-of-UTC"),
        pytest.param(KEY, json.dumps({**FIELDS, "used_at": "later"}), id="use-is-no-time"),
        pytest.param(KEY, json.dumps({**FIELDS, "used_at": "2026-07-01T12:00:00"}), id="use-without-a-zone"),
        pytest.param(KEY, json.dumps({**FIELDS, "used_at": ""}), id="use-is-empty"),
        pytest.param(KEY, json.dumps({**FIELDS, "used_at": False}), id="use-is-a-boolean"),
        pytest.param(
            KEY, json.dumps({name: FIELDS[name] for name in ("approver", "approved_at")}), id="use-is-not-there"
        ),
        pytest.param(
            KEY, json.dumps({name: FIELDS[name] for name in ("used_at", "approved_at")}), id="nobody-approved"
        ),
    ],
)
def test_damage_approves_nothing(key: str, value: str) -> None:
    """What is no approval, or a damaged one, is passed over and hides no other."""
    other = Approval("sha256:ffffffffffffffff", "joe", NOW)
    assert parse_approvals({key: value, **dict([format_approval(other)])}) == (other,)


def test_parse_orders_by_hash() -> None:
    """Approvals come in the order of their hashes."""
    later = Approval("sha256:ffffffffffffffff", "joe", NOW)
    assert parse_approvals(dict([format_approval(later), format_approval(FRESH)])) == (FRESH, later)
