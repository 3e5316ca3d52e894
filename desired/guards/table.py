"""Table of the guards, one function each, and the guard ``policy``.

A guard looks at the whole plan and names what it withholds; it changes nothing. ``judge`` combines the results.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from desired.guards.absence_proof import absence_proof
from desired.guards.clocks import clock_skew
from desired.guards.facts import Facts, Guard, GuardResult
from desired.guards.history import back_off, flapping, quota
from desired.guards.load_balancers import (
    adoption,
    certificate_issuance,
    foreign_owner,
    ip_loss,
    target_floor,
    target_health,
    undo_window,
)
from desired.guards.nodes import address_blast_radius, node_blast_radius
from desired.guards.other_controllers import other_controller
from desired.guards.project import incomplete_snapshot, project_anchor
from desired.guards.routes import cluster_cidr, route_blast_radius
from desired.guards.silent_cluster import silent_cluster
from desired.model.settings import Policy
from desired.plan.change import Verdict
from desired.plan.kinds import Verb


def policy(facts: Facts) -> Iterator[GuardResult]:
    """Changes that the operator's policy excludes: everything under ``observe``, removals under ``upsert``."""
    withheld: Mapping[Policy, frozenset[Verb]] = {
        Policy.OBSERVE: frozenset(Verb),
        Policy.UPSERT: frozenset({Verb.REMOVE}),
        Policy.SYNC: frozenset(),
    }
    verbs = withheld[facts.settings.policy]
    keys = tuple(change.key for change in facts.plan.changes if change.verb in verbs)
    yield GuardResult("policy", Verdict.WAITING, keys, f"policy {facts.settings.policy} does not apply it")


GUARDS: Mapping[str, Guard] = MappingProxyType(
    {
        "incomplete-snapshot": incomplete_snapshot,
        "other-controller": other_controller,
        "project-anchor": project_anchor,
        "silent-cluster": silent_cluster,
        "absence-proof": absence_proof,
        "clock-skew": clock_skew,
        "node-blast-radius": node_blast_radius,
        "address-blast-radius": address_blast_radius,
        "foreign-owner": foreign_owner,
        "adoption": adoption,
        "undo-window": undo_window,
        "ip-loss": ip_loss,
        "target-floor": target_floor,
        "target-health": target_health,
        "certificate-issuance": certificate_issuance,
        "route-blast-radius": route_blast_radius,
        "cluster-cidr": cluster_cidr,
        "flapping": flapping,
        "back-off": back_off,
        "quota": quota,
        "policy": policy,
    }
)
"""Rule → guard. Of two rules with equally heavy verdicts the earlier one is named."""
