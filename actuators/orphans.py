"""Deletes load balancers that nobody wants, on demand."""

from actuators.hands import Hands
from actuators.load_balancer_ownership import delete_now, require_as_observed
from desired.load_balancer import CloudBalancer


def delete_orphan(hands: Hands, balancer: CloudBalancer) -> None:
    """Delete the load balancer, as it was observed, and wait until it is gone; one that is gone already is done.

    It is looked at just before: raises Conflict when its labels name somebody else by now, as when a Service has taken
    it over, or when it is protected against deletion by now. Other ApiErrors as they are.
    """
    delete_now(hands, balancer, lambda now: require_as_observed(now, balancer))
