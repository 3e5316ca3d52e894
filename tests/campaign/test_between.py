"""What others do between a plan and its writes."""

import pytest

from tests.campaign.between import OF_ANOTHER_CLUSTER, ROWS, Between, differing, its_own, meet_once, relabelled
from tests.campaign.running import in_order


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_happens_in_between_ends_as_if_it_had_come_before(row: Between) -> None:
    assert differing(row) == []


def test_nothing_is_put_back_to_a_load_balancer_of_another_cluster() -> None:
    """It is given away while a target is switched, whose new address is refused."""
    world = in_order()
    given = its_own(world, "db")
    refusal = {"error": {"code": "ip_not_assigned_to_server", "message": "the server has no such address"}}
    meet_once(world, "add_target", (422, refusal), relabelled("db", OF_ANOTHER_CLUSTER))
    world.annotate("db", use_private_ip="false")
    world.converge()
    (left,) = (len(each["targets"]) for each in world.balancers() if each["id"] == given)
    assert left == 2
