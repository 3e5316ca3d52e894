"""Sequences that once did harm, on the stage and before the judge of the law of harm: each is as short as it gets."""

from tests.support.harm_stage import GUEST_IP, NAT, a_stage, pods


def test_a_route_to_a_strangers_server_is_not_led_back() -> None:
    """Somebody leads the pods of a Node by a server that is no Node: that server lives."""
    stage = a_stage()
    stage.route(pods(3), GUEST_IP)
    stage.run()


def test_a_route_to_a_strangers_server_is_not_led_to_a_node_that_joins() -> None:
    """The route was there before the Node."""
    stage = a_stage()
    stage.route(pods(101), GUEST_IP)
    stage.join()
    stage.run()
    stage.run()


def test_losing_the_private_addresses_of_targets_is_no_outage() -> None:
    """The annotation that asks for private addresses is gone: one by one they become public."""
    stage = a_stage(services=(("web", {"use-private-ip": "true"}),))
    stage.annotate("web", {"use-private-ip": None})
    stage.run()
    assert stage.balancer("web")["id"] != NAT
