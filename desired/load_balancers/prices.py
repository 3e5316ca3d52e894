"""Prices of load balancers: the difference a month that a change makes.

| Change | Difference |
|---|---|
| lb.create | the price of the type at the location; without one the highest of the type, as Hetzner chooses |
| lb.type | the price of the new type less that of the present one |
| lb.delete | less the price |
| any other | has none: a load balancer that is released stays, and the server of a Node that goes is gone already |

Prices are for people: no guard and no rule looks at them. They are the API's list prices, gross, without traffic and
addresses. A price that the API does not say is not known, and is never taken for nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from desired.model.load_balancer import CloudBalancer
from desired.model.price import Cost
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.foresight import balancer_after_all
from desired.plan.kinds import ChangeKind

_PRICED = frozenset({ChangeKind.LB_CREATE, ChangeKind.LB_TYPE, ChangeKind.LB_DELETE})


def price_of(balancer: CloudBalancer) -> Decimal | None:
    """The price of its type at its location; None when the API did not say."""
    return balancer.type.prices.get(balancer.spec.location or "")


def with_costs(changes: Iterable[Change], snapshot: Snapshot) -> Iterator[Change]:
    """The changes, each with its cost if it has one."""
    for change in changes:
        yield replace(change, cost=cost_of(change, snapshot)) if change.kind in _PRICED else change


def cost_of(change: Change, snapshot: Snapshot) -> Cost:
    """The difference that a change of an existence or a type makes."""
    balancers = snapshot.load_balancers
    present = None if balancers is None or change.cloud_id is None else balancers.items.get(change.cloud_id)
    then = balancer_after_all(present, (change,), snapshot)
    before = Decimal(0) if change.kind is ChangeKind.LB_CREATE else _price_at_most(present)
    after = Decimal(0) if change.kind is ChangeKind.LB_DELETE else _price_at_most(then)
    return Cost(None if before is None or after is None else after - before)


def _price_at_most(balancer: CloudBalancer | None) -> Decimal | None:
    if balancer is None:
        return None
    if balancer.spec.location is not None:
        return price_of(balancer)
    prices = balancer.type.prices
    return None if balancer.type.locations - prices.keys() else max(prices.values(), default=None)
