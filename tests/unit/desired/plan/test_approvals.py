"""Approvals of holds: format and validity."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from desired.plan.approvals import (
    KEPT,
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
from desired.plan.grants import LIFETIME, Grant, Here, Source
from tests.builders import NOW
from tests.support.rows import rows

HASH = "sha256:0123456789abcdef"
KEY = "sha256.0123456789abcdef"
FRESH = Grant(Source.CLUSTER, HASH, "jane", NOW)
USED = replace(FRESH, used_at=NOW + timedelta(minutes=1))
FIELDS: Mapping[str, object] = {"approver": "jane", "approved_at": NOW.isoformat(), "used_at": None}


def test_times_of_another_zone_are_read_in_utc() -> None:
    """A time that a person wrote in a zone of their own is shown as what it is in UTC."""
    written = {**FIELDS, "approved_at": "2026-07-01T14:00:00+02:00", "used_at": "2026-07-01T14:01:00+02:00"}
    assert parse_approvals({KEY: json.dumps(written)}) == (USED,)
    assert parse_approvals({KEY: json.dumps(written)})[0].why_void(Here(NOW)) == "was used at 2026-07-01 12:01 UTC"


@rows("text expected", {
    "hash": (HASH, True),
    "key-of-the-config-map": (KEY, False),
    "upper-case": (HASH.upper(), False),
    "too-long": (f"{HASH}0", False),
    "too-short": (HASH[:-1], False),
    "line-end": (f"{HASH}\n", False),
    "empty": ("", False),
})  # fmt: skip
def test_is_hash(text: str, expected: bool) -> None:
    """A hash is ``sha256:`` and 16 lower-case hex digits."""
    assert is_hash(text) is expected


def test_format() -> None:
    """The ConfigMap's key has no colon and the value is JSON."""
    assert format_approval(USED) == (
        KEY,
        '{"approved_at": "2026-07-01T12:00:00+00:00", "approver": "jane", "used_at": "2026-07-01T12:01:00+00:00"}',
    )


@rows("approval", {"fresh": FRESH, "used": USED})
def test_parse_is_the_inverse_of_format(approval: Grant) -> None:
    """What is written is read again as the same approval."""
    assert parse_approvals(dict([format_approval(approval)])) == (approval,)


@rows("key value", {
    "key-is-no-hash": ("README", json.dumps(FIELDS)),
    "empty": (KEY, ""),
    "no-json": (KEY, "yes"),
    "a-list": (KEY, "[]"),
    "a-number": (KEY, "7"),
    "null": (KEY, "null"),
    "nested-deeper-than-Python-reads": (KEY, "[" * 100_000),
    "no-time": (KEY, json.dumps({**FIELDS, "approved_at": "yesterday"})),
    "time-as-a-number": (KEY, json.dumps({**FIELDS, "approved_at": 1751371200})),
    "time-without-a-zone": (KEY, json.dumps({**FIELDS, "approved_at": "2026-07-01T12:00:00"})),
    "no-year-of-UTC": (KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59-12:00"})),
    "no-hour-after-it": (KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59+00:00"})),
    "half-a-character": (KEY, json.dumps({**FIELDS, "approver": "\ud800"})),
    "use-is-no-time": (KEY, json.dumps({**FIELDS, "used_at": "later"})),
    "use-without-a-zone": (KEY, json.dumps({**FIELDS, "used_at": "2026-07-01T12:00:00"})),
    "use-is-empty": (KEY, json.dumps({**FIELDS, "used_at": ""})),
    "use-is-a-boolean": (KEY, json.dumps({**FIELDS, "used_at": False})),
    "use-is-not-there": (KEY, json.dumps({name: FIELDS[name] for name in ("approver", "approved_at")})),
    "nobody-approved": (KEY, json.dumps({name: FIELDS[name] for name in ("used_at", "approved_at")})),
})  # fmt: skip
def test_damage_approves_nothing(key: str, value: str) -> None:
    """What is no approval, or a damaged one, is passed over and hides no other."""
    other = Grant(Source.CLUSTER, "sha256:ffffffffffffffff", "joe", NOW)
    assert parse_approvals({key: value, **dict([format_approval(other)])}) == (other,)


def test_parse_orders_by_hash() -> None:
    later = Grant(Source.CLUSTER, "sha256:ffffffffffffffff", "joe", NOW)
    assert parse_approvals(dict([format_approval(later), format_approval(FRESH)])) == (FRESH, later)


DAY = timedelta(days=1)
LONG = replace(FRESH, expires_at=NOW + timedelta(hours=3))
REVOKED = replace(LONG, revoked_at=NOW + timedelta(minutes=5), revoked_by="joe")


def test_a_revoked_approval() -> None:
    """It lets nothing pass, says who took it back, is read as it was written, and is a used one to older versions."""
    assert REVOKED.why_void(Here(NOW + timedelta(minutes=6))) == "was revoked at 2026-07-01 12:05 UTC by joe"
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


@rows("before wanted step", {
    "nothing there": (None, FRESH, Step.NEW),
    "used": (USED, FRESH, Step.AGAIN),
    "revoked": (REVOKED, FRESH, Step.AGAIN),
    "expired": (replace(FRESH, approved_at=NOW - 2 * LIFETIME), FRESH, Step.NEW),
    "shorter": (FRESH, LONG, Step.LONGER),
    "longer": (LONG, FRESH, Step.STANDS),
    "as long": (FRESH, FRESH, Step.STANDS),
})  # fmt: skip
def test_step_to(before: Grant | None, wanted: Grant, step: Step) -> None:
    """What is used or revoked is approved anew; what counts is only ever extended."""
    assert step_to(wanted, before, NOW) is step


DAMAGED = "cannot be read: expect JSON with approver and expires_at, which needs a zone"
GIT: Mapping[str, object] = {"approver": "team", "expires_at": (NOW + DAY).isoformat()}


@rows("key value", {
    "no hash": ("README", json.dumps(GIT)),
    "no JSON": (KEY, "yes"),
    "nested": (KEY, "[" * 100_000),
    "no end": (KEY, json.dumps({"approver": "team"})),
    "no zone": (KEY, json.dumps({**GIT, "expires_at": "2026-07-02T12:00:00"})),
    "nobody": (KEY, json.dumps({**GIT, "approver": " "})),
    "no name": (KEY, json.dumps({**GIT, "approver": ["a"]})),
    "half a character": (KEY, json.dumps({**GIT, "approver": "\ud800"})),
    "too long": (KEY, json.dumps({**GIT, "reason": "x" * 5000})),
})  # fmt: skip
def test_damage_in_git_approves_nothing(key: str, value: str) -> None:
    """Git's owner may write anything, and learns why it does not count."""
    found = parse_git_approvals({key: value}, {})
    assert [each.why_void(Here(NOW)) for each in found] == [DAMAGED] * (key == KEY)
    assert writes_of_use(HASH, found, {}, NOW, "me") == writes_of_revocation(HASH, found, {}, NOW, "me", "") == {}


def in_git(data: Mapping[str, str | None], expires_in: timedelta = DAY) -> Grant:
    entry = json.dumps({**GIT, "expires_at": (NOW + expires_in).isoformat()})
    recorded = {key: value for key, value in data.items() if value is not None}
    return parse_git_approvals({KEY: entry}, recorded)[0]


def test_what_git_restores_is_used_all_the_same() -> None:
    """The use is recorded elsewhere, and is of all entries that end no later; one that ends later is a new approval. A
    damaged record is a use."""
    used = writes_of_use(HASH, [in_git({})], {}, NOW, "me")

    assert in_git(used).why_void(Here(NOW)) == "was used at 2026-07-01 12:00 UTC"
    assert not in_git(used, DAY / 2).counts(Here(NOW))
    assert in_git(used, 2 * DAY).counts(Here(NOW))
    endless = json.dumps({"used_at": NOW.isoformat(), "expires_at": None})
    for damaged in ("{", endless):
        why = in_git({f"{KEY}.git": damaged}).why_void(Here(NOW))
        assert why == "counts no more: the record of its use is damaged"


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
    assert in_git(writes).why_void(Here(NOW)) == "was revoked at 2026-07-01 12:00 UTC by joe"
    void = {f"{KEY}.git": str(writes[f"{KEY}.git"]), **dict([format_approval(USED)])}
    assert writes_of_revocation(HASH, [in_git({})], void, NOW, "joe", "") == {}


def test_revoking_leaves_other_holds_as_they_are() -> None:
    """Neither what people nor what Git approved of another one."""
    other = replace(FRESH, of=f"sha256:{1:016x}")
    git = [in_git({}), replace(in_git({}), of=other.of)]
    writes = writes_of_revocation(HASH, git, dict(map(format_approval, (FRESH, other))), NOW, "joe", "")
    assert set(writes) == {KEY, f"{KEY}.git"}


def test_whoever_writes_last_stands_beside_it() -> None:
    """A name that is not known takes away that of whoever wrote before: nobody vouches for what they did not write."""
    data = {**dict([format_approval(FRESH)]), f"{KEY}.by": "oidc:jane"}
    assert writes_of_revocation(HASH, [], data, NOW, "joe", "oidc:joe")[f"{KEY}.by"] == "oidc:joe"
    assert writes_of_revocation(HASH, [], data, NOW, "joe", "")[f"{KEY}.by"] is None


def test_approving_tidies_up() -> None:
    """What has been void for a week goes, with the name beside it; a record of Git's goes a week after its entry could
    count. Anything else stays."""
    old, young = replace(FRESH, of=f"sha256:{1:016x}"), replace(FRESH, of=f"sha256:{2:016x}", approved_at=NOW + DAY)
    record = {f"{KEY}.git": str(writes_of_use(HASH, [in_git({})], {}, NOW, "me")[f"{KEY}.git"])}
    data = {**dict(map(format_approval, (old, young))), f"sha256.{1:016x}.by": "jane", "anchor": "{}", **record}

    def gone(now: datetime) -> set[str]:
        wanted = Grant(Source.CLUSTER, f"sha256:{3:016x}", "jane", now)
        return {key for key, value in writes_of_approval(wanted, "", data, now).items() if value is None}

    assert gone(NOW + LIFETIME + KEPT) == set()
    assert gone(NOW + LIFETIME + KEPT + timedelta(seconds=1)) == {f"sha256.{1:016x}", f"sha256.{1:016x}.by"}
    assert f"{KEY}.git" not in gone(NOW + DAY + KEPT)
    assert f"{KEY}.git" in gone(NOW + DAY + KEPT + timedelta(seconds=1))
