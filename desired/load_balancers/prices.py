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

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from desired.load_balancers.ownership import Ownership, owner_of, ownership
from desired.model.load_balancer import CloudBalancer, LoadBalancer
from desired.model.price import FREE, Cost, Price
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind
from desired.section import Unknown


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
    match change.kind, change.after:
        case ChangeKind.LB_CREATE, LoadBalancer() as wanted:
            return _cost_of_creation(wanted, snapshot)
        case ChangeKind.LB_TYPE, str() as name:
            present = _present(change, snapshot)
            location = present.spec.location if present else None
            return Cost.of(_present_price(change, snapshot), _price(name, location, snapshot))
        case ChangeKind.LB_DELETE, _:
            return Cost.of(_present_price(change, snapshot), FREE)
        case ChangeKind.LB_RETAIN, _:
            price = _present_price(change, snapshot)
            return Cost.of(price, price)
    return None


def cost_of_cluster(changes: Collection[Change], snapshot: Snapshot) -> Cost:
    """What the cluster's load balancers cost before and after these changes. A load balancer is the cluster's by its
    label, by that of a Service of the cluster, or because one of the changes is of it."""
    changed = {change.cloud_id for change in changes if change.cost is not None}
    services = {service.uid for service in snapshot.services or ()}
    others: list[Price | None] = []
    balancers = snapshot.load_balancers
    for balancer in balancers or ():
        owner = owner_of(balancer.spec.labels)
        whose = ownership(owner.cluster_uid, snapshot)
        is_ours = whose is Ownership.OURS or (whose is Ownership.UNCLAIMED and owner.service_uid in services)
        if balancer.id not in changed and (is_ours or whose is Ownership.UNKNOWN):
            others.append(price_of(balancer) if is_ours else None)
    if balancers is not None and not balancers.is_whole:
        others.append(None)
    return sum((change.cost for change in changes if change.cost is not None), standing(others))


def standing(prices: Iterable[Price | None]) -> Cost:
    """The cost of load balancers with these prices, None for one that is not known, of which no change is."""
    return sum((Cost.of(price, price) for price in prices), Cost())


def _present(change: Change, snapshot: Snapshot) -> CloudBalancer | None:
    balancers = snapshot.load_balancers
    return None if balancers is None or change.cloud_id is None else balancers.items.get(change.cloud_id)


def _present_price(change: Change, snapshot: Snapshot) -> Price | None:
    present = _present(change, snapshot)
    return price_of(present) if present else None


def _prices(type_name: str, snapshot: Snapshot) -> Mapping[str, Price]:
    """Location → the price of this type there; nothing of one that was not read."""
    types = snapshot.balancer_types
    known = None if isinstance(types, Unknown) else types.get(type_name)
    return known.prices if known else {}


def _price(type_name: str, location: str | None, snapshot: Snapshot) -> Price | None:
    return _prices(type_name, snapshot).get(location or "")


def _cost_of_creation(wanted: LoadBalancer, snapshot: Snapshot) -> Cost:
    """That of a new load balancer. Without a location it may come to all that may be in its zone: the catalog does not
    say where a location is, servers and load balancers only where their own are."""
    if wanted.location is not None:
        return Cost.of(FREE, _price(wanted.type, wanted.location, snapshot))
    zones = {server.location: server.zone for server in snapshot.servers if server.zone}
    specs = (balancer.spec for balancer in snapshot.load_balancers or ())
    zones |= {spec.location: spec.zone for spec in specs if spec.location and spec.zone}
    prices = _prices(wanted.type, snapshot)
    possible = [price for location, price in prices.items() if zones.get(location, wanted.zone) == wanted.zone]
    if not possible:
        return Cost.of(FREE, None)
    return Cost.of(FREE, min(possible, key=_gross), max(possible, key=_gross))


def _gross(price: Price) -> Decimal:
    return price.gross
