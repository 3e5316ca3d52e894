"""Times as people read them."""

from datetime import datetime

from desired.model.clocks import shown_moment
from tests.support.rows import rows


@rows(
    "written shown to_seconds",
    {
        "in-utc": ("2026-11-22T07:23:39+00:00", "2026-11-22 07:23 UTC", "2026-11-22 07:23:39 UTC"),
        "in-another-zone": ("2027-01-01T00:30:00+01:00", "2026-12-31 23:30 UTC", "2026-12-31 23:30:00 UTC"),
    },
)
def test_a_moment(written: str, shown: str, to_seconds: str) -> None:
    """To the minute and in UTC, whatever wrote it; a reading to the second."""
    moment = datetime.fromisoformat(written)
    assert (shown_moment(moment), shown_moment(moment, to_seconds=True)) == (shown, to_seconds)
