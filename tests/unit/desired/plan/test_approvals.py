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
    step_to,
    writes_of_approval,
    writes_of_revocation,
)
from desired.plan.grants import LIFETIME, LONGEST, Grant, Here, Source
from tests.builders import NOW
from tests.support.rows import rows

HASH = "sha256:0123456789abcdef"
KEY = "sha256.0123456789abcdef"
FRESH = Grant(Source.CLUSTER, HASH, "jane", NOW)
USED = replace(FRESH, used_at=NOW + timedelta(minutes=1))
FIELDS: Mapping[str, object] = {"approver": "jane", "approved_at": NOW.isoformat()}


def test_times_of_another_zone_are_read_in_utc() -> None:
    """A time that a person wrote in a zone of their own is shown as what it is in UTC."""
    written = {**FIELDS, "approved_at": "2026-07-01T14:00:00+02:00"}
    assert parse_approvals({KEY: json.dumps(written)}) == (FRESH,)


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
    assert format_approval(FRESH) == (KEY, '{"approved_at": "2026-07-01T12:00:00+00:00", "approver": "jane"}')


FULL = replace(FRESH, expires_at=NOW + timedelta(hours=2), via="jane@laptop", reason="rack 4")


@rows("approval", {"fresh": FRESH, "with all that it may have": FULL})
def test_parse_is_the_inverse_of_format(approval: Grant) -> None:
    """What is written is read again as the same approval."""
    assert parse_approvals(dict([format_approval(approval)])) == (approval,)


def test_a_use_is_not_written_into_the_config_map_of_people() -> None:
    assert format_approval(USED) == format_approval(FRESH)


DAMAGED = "cannot be read: expect JSON with approver and approved_at, which needs a zone"


@rows("key value", {
    "key-is-no-hash": ("README", json.dumps(FIELDS)),
    "empty": (KEY, ""),
    "no-json": (KEY, "yes"),
    "a-list": (KEY, "[]"),
    "a-number": (KEY, "7"),
    "null": (KEY, "null"),
    "nested-deeper-than-Python-reads": (KEY, "[" * 100_000),
    "no-time": (KEY, json.dumps({"approver": "jane"})),
    "a-word-for-the-time": (KEY, json.dumps({**FIELDS, "approved_at": "yesterday"})),
    "time-as-a-number": (KEY, json.dumps({**FIELDS, "approved_at": 1751371200})),
    "time-without-a-zone": (KEY, json.dumps({**FIELDS, "approved_at": "2026-07-01T12:00:00"})),
    "no-year-of-UTC": (KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59-12:00"})),
    "no-hour-after-it": (KEY, json.dumps({**FIELDS, "approved_at": "9999-12-31T23:59:59+00:00"})),
    "end-without-a-zone": (KEY, json.dumps({**FIELDS, "expires_at": "2026-07-01T12:00:00"})),
    "half-a-character": (KEY, json.dumps({**FIELDS, "approver": "\ud800"})),
    "nobody-approved": (KEY, json.dumps({"approved_at": NOW.isoformat()})),
    "a-blank-name": (KEY, json.dumps({**FIELDS, "approver": " "})),
    "no-name": (KEY, json.dumps({**FIELDS, "approver": ["a"]})),
    "too-long": (KEY, json.dumps({**FIELDS, "reason": "x" * 5000})),
})  # fmt: skip
def test_damage_approves_nothing(key: str, value: str) -> None:
    """It hides no other approval, and says why it does not count."""
    other = Grant(Source.CLUSTER, "sha256:ffffffffffffffff", "joe", NOW)
    *damaged, last = parse_approvals({key: value, **dict([format_approval(other)])})
    assert last == other
    assert [each.why_void(Here(NOW)) for each in damaged] == [DAMAGED] * (key == KEY)


def test_parse_orders_by_hash() -> None:
    later = Grant(Source.CLUSTER, "sha256:ffffffffffffffff", "joe", NOW)
    assert parse_approvals(dict([format_approval(later), format_approval(FRESH)])) == (FRESH, later)


LONG = replace(FRESH, expires_at=NOW + timedelta(hours=3))
REVOKED = replace(LONG, revoked_at=NOW + timedelta(minutes=5), revoked_by="joe")


def revoked(value: str, by: str = "") -> Grant:
    """An approval with this revocation beside it."""
    key, text = format_approval(LONG)
    (found,) = parse_approvals({key: text, f"{key}.revoked": value, **({f"{key}.by": by} if by else {})})
    return found


def test_a_revoked_approval() -> None:
    """It lets nothing pass, and says who took it back. An approval that is given later counts."""
    (value,) = writes_of_revocation(HASH, NOW + timedelta(minutes=5), "joe", "", {}).values()
    assert revoked(str(value)) == REVOKED
    assert REVOKED.why_void(Here(NOW + timedelta(minutes=6))) == "was revoked at 2026-07-01 12:05 UTC by joe"
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
    "revoked": (REVOKED, FRESH, Step.AGAIN),
    "expired": (replace(FRESH, approved_at=NOW - 2 * LIFETIME), FRESH, Step.NEW),
    "shorter": (FRESH, LONG, Step.LONGER),
    "longer": (LONG, FRESH, Step.STANDS),
    "as long": (FRESH, FRESH, Step.STANDS),
})  # fmt: skip
def test_step_to(before: Grant | None, wanted: Grant, step: Step) -> None:
    """What is used or revoked is approved anew; what counts is only ever extended."""
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
    """An approval that ended a week ago goes, with what stands beside it. Anything else stays."""
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
