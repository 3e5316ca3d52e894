"""Approvals of holds: format and validity."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from desired.model.clocks import TOLERANCE
from desired.plan.approval import (
    KEPT,
    LIFETIME,
    Approval,
    GitApproval,
    Step,
    format_approval,
    is_hash,
    parse_approvals,
    parse_git_approvals,
    step_to,
    writes_of_approval,
    writes_of_revocation,
    writes_of_use,
)
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
        pytest.param(KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59+00:00"}), id="no-hour-after-it"),
        pytest.param(KEY, json.dumps({**FIELDS, "approver": "\ud800"}), id="half-a-character"),
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


DAY = timedelta(days=1)
LONG = Approval(HASH, "jane", NOW, expires_at=NOW + timedelta(hours=3))
REVOKED = LONG.revoked(NOW + timedelta(minutes=5), "joe")


@pytest.mark.parametrize(
    ("expires_in", "until"),
    [
        pytest.param(None, LIFETIME, id="of-an-older-version"),
        pytest.param(timedelta(minutes=15), timedelta(minutes=15), id="as-asked"),
        pytest.param(365 * DAY, DAY, id="forged: a day at most"),
        pytest.param(-DAY, -DAY, id="forged: over before it began"),
    ],
)
def test_until(expires_in: timedelta | None, until: timedelta) -> None:
    """An approval ends when it says, but within a day."""
    approval = replace(FRESH, expires_at=None if expires_in is None else NOW + expires_in)
    assert approval.until == NOW + until
    assert approval.counts(NOW) is (until > timedelta())


def test_a_revoked_approval() -> None:
    """It lets nothing pass, says who took it back, is read as it was written, and is a used one to older versions."""
    assert REVOKED.why_void(NOW + timedelta(minutes=6)) == "was revoked at 12:05:00 UTC by joe"
    key, value = format_approval(REVOKED)
    assert parse_approvals({key: value}) == (REVOKED,)
    assert json.loads(value)["used_at"] is not None


def test_the_name_beside_an_approval_wins() -> None:
    """A policy can check that, and not what is in JSON: of an approval it is who approved, of a revoked one who took it
    back."""
    key, forged = format_approval(FRESH)
    assert parse_approvals({key: forged, f"{key}.by": "oidc:mallory"})[0].approver == "oidc:mallory"
    (revoked,) = parse_approvals({key: format_approval(REVOKED)[1], f"{key}.by": "oidc:ben"})
    assert (revoked.approver, revoked.revoked_by) == ("jane", "oidc:ben")


@pytest.mark.parametrize(
    ("before", "wanted", "step"),
    [
        pytest.param(None, FRESH, Step.NEW, id="nothing there"),
        pytest.param(USED, FRESH, Step.AGAIN, id="used"),
        pytest.param(REVOKED, FRESH, Step.AGAIN, id="revoked"),
        pytest.param(replace(FRESH, approved_at=NOW - 2 * LIFETIME), FRESH, Step.NEW, id="expired"),
        pytest.param(FRESH, LONG, Step.LONGER, id="shorter"),
        pytest.param(LONG, FRESH, Step.STANDS, id="longer"),
        pytest.param(FRESH, FRESH, Step.STANDS, id="as long"),
    ],
)
def test_step_to(before: Approval | None, wanted: Approval, step: Step) -> None:
    """What is used or revoked is approved anew; what counts is only ever extended."""
    assert step_to(wanted, before, NOW) is step


DAMAGED = "cannot be read: expect JSON with approver and expires_at, which needs a zone"
GIT: Mapping[str, object] = {"approver": "team", "expires_at": (NOW + DAY).isoformat()}


@pytest.mark.parametrize(
    ("fields", "age", "why"),
    [
        pytest.param({}, timedelta(), None, id="counts"),
        pytest.param({"reason": "planned"}, DAY, None, id="to its end"),
        pytest.param({}, DAY + timedelta(seconds=1), "has expired: it ended at 2026-07-02 12:00 UTC", id="expired"),
        pytest.param({}, -6 * DAY, None, id="seven days ahead"),
        pytest.param(
            {},
            -6 * DAY - timedelta(seconds=1),
            "ends at 2026-07-02 12:00 UTC, more than 7 days ahead: let it end sooner",
            id="further ahead",
        ),
    ],
)
def test_an_approval_in_git(fields: Mapping[str, object], age: timedelta, why: str | None) -> None:
    """It counts until its time, which may not be far away."""
    (found,) = parse_git_approvals({KEY: json.dumps({**GIT, **fields})}, {})
    assert found.why_void(NOW + age) == why


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("README", json.dumps(GIT), id="no hash"),
        pytest.param(KEY, "yes", id="no JSON"),
        pytest.param(KEY, "[" * 100_000, id="nested"),
        pytest.param(KEY, json.dumps({"approver": "team"}), id="no end"),
        pytest.param(KEY, json.dumps({**GIT, "expires_at": "2026-07-02T12:00:00"}), id="no zone"),
        pytest.param(KEY, json.dumps({**GIT, "approver": " "}), id="nobody"),
        pytest.param(KEY, json.dumps({**GIT, "approver": ["a"]}), id="no name"),
        pytest.param(KEY, json.dumps({**GIT, "approver": "\ud800"}), id="half a character"),
        pytest.param(KEY, json.dumps({**GIT, "reason": "x" * 5000}), id="too long"),
    ],
)
def test_damage_in_git_approves_nothing(key: str, value: str) -> None:
    """Git's owner may write anything, and learns why it does not count."""
    found = parse_git_approvals({key: value}, {})

    assert [each.why_void(NOW) for each in found] == [DAMAGED] * (key == KEY)
    assert writes_of_use(HASH, found, {}, NOW, "me") == writes_of_revocation(HASH, found, {}, NOW, "me", "") == {}


def in_git(data: Mapping[str, str | None], expires_in: timedelta = DAY) -> GitApproval:
    """The entry as Git has it, given what is recorded."""
    entry = json.dumps({**GIT, "expires_at": (NOW + expires_in).isoformat()})
    recorded = {key: value for key, value in data.items() if value is not None}
    return parse_git_approvals({KEY: entry}, recorded)[0]


def test_what_git_restores_is_used_all_the_same() -> None:
    """The use is recorded elsewhere, and is of all entries that end no later; one that ends later is a new approval. A
    damaged record is a use."""
    used = writes_of_use(HASH, [in_git({})], {}, NOW, "me")

    assert in_git(used).ended == "was used at 12:00:00 UTC"
    assert not in_git(used, DAY / 2).counts(NOW)
    assert in_git(used, 2 * DAY).counts(NOW)
    assert in_git({f"{KEY}.git": "{"}).ended == "counts no more: the record of its use is damaged"


def test_one_use_uses_up_all_that_let_the_hold_pass() -> None:
    """Who approved both here and in Git meant one pass."""
    data = dict([format_approval(FRESH)])
    used = writes_of_use(HASH, [in_git({})], data, NOW, "me")

    assert set(used) == {KEY, f"{KEY}.git"}
    assert writes_of_use(HASH, [in_git({})], {**data, **{k: v for k, v in used.items() if v}}, NOW, "you") == {}


def test_revoking_takes_back_what_git_approves() -> None:
    """Nothing is left that could count, and what is void stays as it is."""
    data = dict([format_approval(FRESH)])
    writes = writes_of_revocation(HASH, [in_git({})], data, NOW, "joe", "oidc:joe")

    assert set(writes) == {KEY, f"{KEY}.by", f"{KEY}.git"}
    assert in_git(writes).ended == "was revoked at 12:00:00 UTC by joe"
    void = {f"{KEY}.git": str(writes[f"{KEY}.git"]), **dict([format_approval(USED)])}
    assert writes_of_revocation(HASH, [in_git({})], void, NOW, "joe", "") == {}


def test_approving_tidies_up() -> None:
    """What has been void for a week goes, with the name beside it; a record of Git's goes a week after its entry could
    count. Anything else stays."""
    old, young = replace(FRESH, hash=f"sha256:{1:016x}"), replace(FRESH, hash=f"sha256:{2:016x}", approved_at=NOW + DAY)
    record = {f"{KEY}.git": str(writes_of_use(HASH, [in_git({})], {}, NOW, "me")[f"{KEY}.git"])}
    data = {**dict(map(format_approval, (old, young))), f"sha256.{1:016x}.by": "jane", "anchor": "{}", **record}

    def gone(now: datetime) -> set[str]:
        wanted = Approval(f"sha256:{3:016x}", "jane", now)
        return {key for key, value in writes_of_approval(wanted, "", data, now).items() if value is None}

    assert gone(NOW + LIFETIME + KEPT) == set()
    assert gone(NOW + LIFETIME + KEPT + timedelta(seconds=1)) == {f"sha256.{1:016x}", f"sha256.{1:016x}.by"}
    assert f"{KEY}.git" not in gone(NOW + DAY + KEPT)
    assert f"{KEY}.git" in gone(NOW + DAY + KEPT + timedelta(seconds=1))
