"""Deletes load balancers that nobody wants, on demand."""

from actuators.errors import Conflict
from actuators.hands import Hands
from actuators.load_balancer_lookup import BalancerNow, name_of
from actuators.load_balancer_ownership import delete_now
from desired.load_balancer import CloudBalancer
from desired.load_balancers.identity import owner_of


def delete_orphan(hands: Hands, balancer: CloudBalancer) -> None:
    """Delete the load balancer, as it was observed, and wait until it is gone; one that is gone already is done.

    It is looked at just before: raises Conflict when its labels name somebody else by now, as when a Service has taken
    it over, or when it is protected against deletion by now. Other ApiErrors as they are.
    """
    observed = owner_of(balancer.spec.labels)

    def check(now: BalancerNow) -> None:
        if (now.owner, now.owner.released) != (observed, observed.released):
            raise Conflict(f"{name_of(balancer)} has other owner labels by now")

    delete_now(hands, balancer, check)
