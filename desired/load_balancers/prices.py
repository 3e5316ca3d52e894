"""Prices of load balancers: what a change makes of the price a month, and what the cluster's load balancers cost.

| Change | Before | After |
|---|---|---|
| lb.create | nothing | the price of the type at the location; of a zone from the cheapest to the dearest one |
| lb.type | the price of the present type | that of the new one |
| lb.delete | the price | nothing |
| lb.retain | the price | the same: it stays, and is paid for |
| any other | has no cost: the server of a Node that goes is gone already | |

Prices are for people: no guard and no rule looks at them. They are the API's list prices, gross, without traffic and
addresses; one that it does not say is not known, and is never taken for nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from desired.load_balancers.ownership import Ownership, whose
from desired.model.load_balancer import CloudBalancer
from desired.model.price import FREE, Cost, Price
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.foresight import balancer_after_all
from desired.plan.kinds import ChangeKind


def price_of(balancer: CloudBalancer) -> Price | None:
    """The price of its type at its location; None when the API did not say."""
    return balancer.type.prices.get(balancer.spec.location or "")


def with_costs(changes: Iterable[Change], snapshot: Snapshot) -> Iterator[Change]:
    """The changes, each with its cost where it has one."""
    for change in changes:
        cost = cost_of(change, snapshot)
        yield change if cost is None else replace(change, cost=cost)


def cost_of(change: Change, snapshot: Snapshot) -> Cost | None:
    """What the change makes of the price a month; None where it changes nothing that has one."""
    if change.kind not in _PRICED:
        return None
    balancers = snapshot.load_balancers
    present = None if balancers is None or change.cloud_id is None else balancers.items.get(change.cloud_id)
    then = balancer_after_all(present, (change,), snapshot)
    before = price_of(present) if present else None
    match change.kind:
        case ChangeKind.LB_CREATE if then is not None:
            return Cost.of(FREE, *_prices_of_new(then, snapshot))
        case ChangeKind.LB_DELETE:
            return Cost.of(before, FREE)
    return Cost.of(before, price_of(then) if then else None)


_PRICED = frozenset({ChangeKind.LB_CREATE, ChangeKind.LB_TYPE, ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN})


def cost_of_cluster(changes: Collection[Change], snapshot: Snapshot) -> Cost:
    """What the cluster's load balancers cost before and after these changes. A load balancer is the cluster's by its
    label, by that of a Service of the cluster, or because one of the changes is of it."""
    changed = {change.cloud_id for change in changes if change.cost is not None}
    services = {service.uid for service in snapshot.services or ()}
    others: list[Price | None] = []
    balancers = snapshot.load_balancers
    for balancer in balancers or ():
        owner = balancer.owner
        found = whose(owner, snapshot)
        is_ours = found is Ownership.OURS or (found is Ownership.UNCLAIMED and owner.uid in services)
        if balancer.id not in changed and (is_ours or found is Ownership.UNKNOWN):
            others.append(price_of(balancer) if is_ours else None)
    if balancers is not None and not balancers.is_whole:
        others.append(None)
    return sum((change.cost for change in changes if change.cost is not None), standing(others))


def standing(prices: Iterable[Price | None]) -> Cost:
    """The cost of load balancers with these prices, None for one that is not known, of which no change is."""
    return sum((Cost.of(price, price) for price in prices), Cost())


def _prices_of_new(made: CloudBalancer, snapshot: Snapshot) -> Sequence[Price | None]:
    """The price of a new load balancer. Without a location the cheapest and the dearest one that may be in its zone:
    the catalog does not say where a location is, servers and load balancers only where their own are."""
    if made.spec.location is not None:
        return (price_of(made),)
    zones = {server.location: server.zone for server in snapshot.servers if server.zone}
    specs = (balancer.spec for balancer in snapshot.load_balancers or ())
    zones |= {spec.location: spec.zone for spec in specs if spec.location and spec.zone}
    zone = made.spec.zone
    gross = attrgetter("gross")
    possible = [price for location, price in made.type.prices.items() if zones.get(location, zone) == zone]
    return (min(possible, key=gross), max(possible, key=gross)) if possible else (None,)
