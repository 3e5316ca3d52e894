"""What others do between a plan and its writes."""

import pytest

from tests.campaign.between import ROWS, Between, differing

pytestmark = pytest.mark.passes


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_happens_in_between_ends_as_if_it_had_come_before(row: Between) -> None:
    """See the row."""
    assert differing(row) == []
