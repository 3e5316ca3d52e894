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
from desired.plan.change import GuardName, Verdict
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
    yield GuardResult(GuardName.POLICY, Verdict.WAITING, keys, f"policy {facts.settings.policy} does not apply it")


GUARDS: Mapping[GuardName, Guard] = MappingProxyType(
    {
        GuardName.INCOMPLETE_SNAPSHOT: incomplete_snapshot,
        GuardName.OTHER_CONTROLLER: other_controller,
        GuardName.PROJECT_ANCHOR: project_anchor,
        GuardName.SILENT_CLUSTER: silent_cluster,
        GuardName.ABSENCE_PROOF: absence_proof,
        GuardName.CLOCK_SKEW: clock_skew,
        GuardName.NODE_BLAST_RADIUS: node_blast_radius,
        GuardName.ADDRESS_BLAST_RADIUS: address_blast_radius,
        GuardName.FOREIGN_OWNER: foreign_owner,
        GuardName.ADOPTION: adoption,
        GuardName.UNDO_WINDOW: undo_window,
        GuardName.IP_LOSS: ip_loss,
        GuardName.TARGET_FLOOR: target_floor,
        GuardName.TARGET_HEALTH: target_health,
        GuardName.CERTIFICATE_ISSUANCE: certificate_issuance,
        GuardName.ROUTE_BLAST_RADIUS: route_blast_radius,
        GuardName.CLUSTER_CIDR: cluster_cidr,
        GuardName.FLAPPING: flapping,
        GuardName.BACK_OFF: back_off,
        GuardName.QUOTA: quota,
        GuardName.POLICY: policy,
    }
)
"""Rule → guard. Of two rules with equally heavy verdicts the earlier one is named."""
