"""The rules that stand between a plan and the routes (design section 6)."""

from collections.abc import Iterator

from desired.guards.facts import Facts, Finding
from desired.model.route import route_key
from desired.plan.change import Verdict
from desired.routes.actions import Fate
from desired.routes.address_owners import Holding
from desired.routes.claims import Claim

_LIVING = frozenset({Fate.SUPERFLUOUS, Fate.STRANGER})


def route_blast_radius(facts: Facts) -> Iterator[Finding]:
    """Routes to servers that live do not go by the dozen, and none to one that is no Node, without a person's word.

    Counted over all that should go, applied or not, so that one pass and ten small ones mean the same. What leads
    nowhere is free, and so is what leads to another Node and only gets the right gateway.
    """
    yield from _swaps_of_strangers(facts)
    routes, cluster_cidr = facts.desired.routes, facts.settings.cluster_cidr
    if cluster_cidr is None:
        return
    removals = {
        change.key: routes.by_key[change.key]
        for change in facts.plan.changes
        if change.kind == "route.delete" and change.key in routes.by_key
    }
    living = tuple(sorted(key for key, decided in removals.items() if decided.fate in _LIVING))
    within = sum(destination.subnet_of(cluster_cidr) for destination in routes.decided)
    limit = max(1, within // 4)
    if len(living) > limit:
        why = (
            f"{len(living)} of {within} routes within {cluster_cidr} lead to servers that live, and no Node has their"
            " pods: check --cluster-cidr and the Nodes' pod CIDRs, and approve this if it was meant"
        )
        yield Finding("route-blast-radius", Verdict.HELD, living, why, str(len(living)), str(limit))
        return
    for key in living:
        if removals[key].fate is Fate.STRANGER:
            why = f"{removals[key].why}: approve this if nobody uses the route"
            yield Finding("route-blast-radius", Verdict.HELD, (key,), why, "1", "0")


def _swaps_of_strangers(facts: Facts) -> Iterator[Finding]:
    """A swap takes the route away from whoever has it, wherever it leads, just as a removal does."""
    claims = {claim.destination: claim for claim in facts.desired.routes.claims if _is_of_a_stranger(claim)}
    network = facts.desired.routes.network
    if network is None:
        return
    keys = {route_key(network.id, destination): claim for destination, claim in claims.items()}
    for change in facts.plan.changes:
        if change.kind == "route.replace" and change.key in keys:
            claim = keys[change.key]
            why = f"{claim.why}, and Node {claim.place.node.name} has the pods: approve this if nobody uses the route"
            yield Finding("route-blast-radius", Verdict.HELD, (change.key,), why, "1", "0")


def _is_of_a_stranger(claim: Claim) -> bool:
    """Whether the route to a Node's pods leads to a living server that is no Node of ours."""
    return claim.holder is not None and claim.holder.holding is Holding.SERVER


def cluster_cidr(facts: Facts) -> Iterator[Finding]:
    """No route goes while the cluster CIDR that is given cannot be the cluster's (D15 of user-wants.md)."""
    mismatch = facts.desired.routes.mismatch
    keys = tuple(change.key for change in facts.plan.changes if change.kind == "route.delete")
    if mismatch is not None and keys:
        yield Finding("cluster-cidr", Verdict.WAITING, keys, mismatch)
