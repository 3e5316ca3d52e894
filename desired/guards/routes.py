"""Guards on changes of routes: ``route-blast-radius`` and ``cluster-cidr``."""

from collections.abc import Iterator

from desired.guards.facts import Facts, GuardResult
from desired.model.route import route_key
from desired.plan.change import GuardName, Verdict
from desired.plan.kinds import ChangeKind
from desired.routes.actions import RouteAction
from desired.routes.address_owners import Holding
from desired.routes.claims import RouteClaim

_LIVING = frozenset({RouteAction.SUPERFLUOUS, RouteAction.STRANGER})


def route_blast_radius(facts: Facts) -> Iterator[GuardResult]:
    """Removals of many routes to existing servers are held, and each removal of a route to a server that is no Node.

    Counted over all that should go, applied or not, so that one pass and ten small ones mean the same. A route that
    leads nowhere is free, and so is one that leads to another Node and only gets the right gateway.
    """
    yield from _swaps_of_strangers(facts)
    routes, cluster_cidr = facts.desired.routes, facts.settings.routed_range
    if cluster_cidr is None:
        return
    removals = {
        change.key: routes.by_key[change.key]
        for change in facts.plan.changes
        if change.kind == ChangeKind.ROUTE_DELETE and change.key in routes.by_key
    }
    living = tuple(sorted(key for key, decided in removals.items() if decided.action in _LIVING))
    within = sum(destination.subnet_of(cluster_cidr) for destination in routes.decided)
    limit = max(1, within // 4)
    if len(living) > limit:
        why = (
            f"{len(living)} of {within} routes within {cluster_cidr} lead to servers that live, and no Node has their"
            " pods: check --cluster-cidr and the Nodes' pod CIDRs, and approve this if it was meant"
        )
        yield GuardResult(GuardName.ROUTE_BLAST_RADIUS, Verdict.HELD, living, why, str(len(living)), str(limit))
        return
    for key in living:
        if removals[key].action is RouteAction.STRANGER:
            why = f"{removals[key].why}: approve this if nobody uses the route"
            yield GuardResult(GuardName.ROUTE_BLAST_RADIUS, Verdict.HELD, (key,), why, "1", "0")


def _swaps_of_strangers(facts: Facts) -> Iterator[GuardResult]:
    """Swaps of routes to strangers. A swap takes the route away from whichever server has it, wherever it leads, as a
    removal does."""
    claims = {claim.destination: claim for claim in facts.desired.routes.claims if _is_of_a_stranger(claim)}
    network = facts.desired.routes.network
    if network is None:
        return
    keys = {route_key(network.id, destination): claim for destination, claim in claims.items()}
    for change in facts.plan.changes:
        if change.kind == ChangeKind.ROUTE_REPLACE and change.key in keys:
            claim = keys[change.key]
            why = (
                f"{claim.why}, and Node {claim.endpoint.node.name} has the pods: approve this if nobody uses the route"
            )
            yield GuardResult(GuardName.ROUTE_BLAST_RADIUS, Verdict.HELD, (change.key,), why, "1", "0")


def _is_of_a_stranger(claim: RouteClaim) -> bool:
    """Whether the route to a Node's pods leads to an existing server that is no Node of ours."""
    return claim.holder is not None and claim.holder.holding is Holding.SERVER


def cluster_cidr(facts: Facts) -> Iterator[GuardResult]:
    """Removals of routes wait while the configured cluster CIDR cannot be the cluster's: a mistyped one may cover the
    routes of others."""
    mismatch = facts.desired.routes.mismatch
    keys = tuple(change.key for change in facts.plan.changes if change.kind == ChangeKind.ROUTE_DELETE)
    if mismatch is not None and keys:
        yield GuardResult(GuardName.CLUSTER_CIDR, Verdict.WAITING, keys, mismatch)
