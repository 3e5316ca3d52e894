"""The first steps breadth first; ``scripts/campaign depth`` goes on to any depth."""

from tests.campaign.breadth import explore


def test_no_way_leads_to_harm_and_all_come_to_rest() -> None:
    """Each pass dies at each write and is lied to by each list, and each thing happens, one after the other."""
    found = explore(depth=2)
    assert found.wrong == []
    assert found.edges > found.states > 1
