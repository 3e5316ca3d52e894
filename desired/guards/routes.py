"""Guards on changes of routes: ``route-blast-radius`` and ``cluster-cidr``."""

from collections.abc import Iterator

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.loss import Population, three_quarters
from desired.model.route import route_key
from desired.plan.kinds import ChangeKind
from desired.routes.actions import RouteAction
from desired.routes.address_owners import AddressHolding
from desired.rules.guards import ROUTE_OF_SERVER, ROUTE_OF_WRONG_SERVER, ROUTES_LOST

_TAKING = frozenset({ChangeKind.ROUTE_DELETE, ChangeKind.ROUTE_REPLACE})
_ROUTES = Population(ROUTES_LOST, three_quarters)


def route_blast_radius(view: GuardInput) -> Iterator[GuardResult]:
    """Removals of many routes to existing servers are held, and each removal of a route to a server that is no Node.

    A route that leads nowhere is free, and so is one that leads to another Node and only gets the right gateway. A swap
    takes the route away from whichever server has it, as a removal does.
    """
    going: dict[str, str] = {change.key: change.kind for change in view.plan.changes if change.kind in _TAKING}
    routes, cidr, network = view.desired.routes, view.settings.routed_range, view.desired.routes.network
    if not going or network is None or cidr is None:
        return
    removed = {key: found for key, found in routes.by_key.items() if going.get(key) == ChangeKind.ROUTE_DELETE}
    living = [key for key, decided in removed.items() if decided.action is not RouteAction.DEAD]
    within = sum(destination.subnet_of(cidr) for destination in routes.decided)
    too_many = _ROUTES.losses(living, within - len(living), within, {"cidr": str(cidr)})
    yield from too_many
    for key, found in removed.items() if not too_many else ():
        if found.action is RouteAction.STRANGER and found.holder is not None:
            of_server = {"destination": str(found.route.destination), "server": found.holder.what}
            yield GuardResult.of(ROUTE_OF_SERVER, (key,), of_server, value=1, limit=0)
    for claim in routes.claims:
        key = route_key(network.id, claim.destination)
        if claim.holder is not None and claim.holder.holding is AddressHolding.SERVER and key in going:
            of_server = {"destination": str(claim.destination), "server": claim.holder.what}
            found_on = of_server | {"node": claim.endpoint.node.name}
            yield GuardResult.of(ROUTE_OF_WRONG_SERVER, (key,), found_on, value=1, limit=0)


def cluster_cidr(view: GuardInput) -> Iterator[GuardResult]:
    """Removals of routes wait while the configured cluster CIDR cannot be the cluster's: a mistyped one may cover the
    routes of others."""
    mismatched = view.desired.routes.mismatched
    keys = tuple(change.key for change in view.plan.changes if change.kind == ChangeKind.ROUTE_DELETE)
    if mismatched is not None and keys:
        yield GuardResult.of(mismatched.rule, keys, mismatched.facts)
