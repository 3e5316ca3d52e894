"""Grants: where and when each counts, and why it does not."""

from dataclasses import replace
from datetime import timedelta

import pytest

from desired.model.clocks import TOLERANCE
from desired.plan.grants import LIFETIME, Grant, Here, Source, by_hold
from desired.section import Present, Unknown
from tests.builders import NOW
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
    "this-moment": (FRESH, timedelta(), None),
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
    "used-comes-before-expired": (USED, DAY, "was used at 2026-07-01 12:01 UTC"),
    "revoked": (REVOKED, 2 * MINUTE, "was revoked at 2026-07-01 12:01 UTC by joe"),
    "damaged": (replace(FRESH, damage="cannot be read"), timedelta(), "cannot be read"),
    "plan:-at-the-last-moment": (SAVED, HOUR, None),
    "plan:-too-late": (SAVED, HOUR + SECOND, "expired at 2026-07-01 13:00 UTC; plan again"),
    "plan:-future": (SAVED, -MINUTE - SECOND, "is dated in the future, 2026-07-01 12:00 UTC; plan again"),
    "flag:-in-this-run": (FLAG, 365 * DAY, None),
    "answer:-in-this-run": (ANSWER, 365 * DAY, None),
})  # fmt: skip
def test_when_it_counts(grant: Grant, age: timedelta, why: str | None) -> None:
    """As long as it says, within what may be, and once."""
    assert grant.why_void(Here(NOW + age, HERE)) == why
    assert grant.counts(Here(NOW + age, HERE)) is (why is None)


def test_clocks_may_differ_by_a_minute() -> None:
    """API servers behind one address are not of one second."""
    assert timedelta(minutes=1) == TOLERANCE


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
    """Those that count, by its hash, whoever gave them."""
    other = replace(FRESH, of="sha256:ffffffffffffffff")
    assert by_hold([FLAG, USED, FRESH, other], Here(NOW)) == {HASH: (FLAG, FRESH), other.of: (other,)}
