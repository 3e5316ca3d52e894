"""The rules that stand between a plan and the routes (design section 6)."""

from collections.abc import Iterator

from desired.change import Verdict
from desired.finding import Facts, Finding
from desired.routes.fates import Fate

_LIVING = frozenset({Fate.SUPERFLUOUS, Fate.STRANGER})


def route_blast_radius(facts: Facts) -> Iterator[Finding]:
    """Routes to servers that live do not go by the dozen, and none to one that is no Node, without a person's word.

    Counted over all that should go, applied or not, so that one pass and ten small ones mean the same. What leads
    nowhere and what only gets another gateway is free.
    """
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


def cluster_cidr(facts: Facts) -> Iterator[Finding]:
    """No route goes while the cluster CIDR that is given cannot be the cluster's (D15 of user-wants.md)."""
    mismatch = facts.desired.routes.mismatch
    keys = tuple(change.key for change in facts.plan.changes if change.kind == "route.delete")
    if mismatch is not None and keys:
        yield Finding("cluster-cidr", Verdict.WAITING, keys, mismatch)
