"""Table of the guards: function, changes that it looks at, and measurement of each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from desired.guards.absence import absence_proof, volume_detach
from desired.guards.blast_radius import (
    address_blast_radius,
    closes_to_pods,
    cluster_cidr,
    lost_by,
    may_be_lost,
    node_blast_radius,
    route_blast_radius,
    takes_addresses,
)
from desired.guards.by_default import by_default
from desired.guards.evidence import clock_skew, incomplete_snapshot, other_controller, other_controllers
from desired.guards.filters import policy
from desired.guards.guard import Guard, GuardInput
from desired.guards.history import back_off, flapping, quota
from desired.guards.load_balancers import (
    address_in_use,
    adoption,
    certificate_issuance,
    exposure,
    foreign_owner,
    ip_loss,
)
from desired.guards.loss import takes_targets, target_floor
from desired.guards.project import project_anchor
from desired.guards.silence import silent_cluster
from desired.guards.targets import target_health
from desired.model.load_balancer import LoadBalancer
from desired.plan.change import Change, GuardName
from desired.plan.evidence import ServerGone
from desired.plan.kinds import ChangeKind, Verb
from desired.syntax.provider_id import Provider

_Looks = Callable[[GuardInput, Change], bool]


def _at(*kinds: ChangeKind) -> _Looks:
    return lambda _view, change: change.kind in kinds


def _where(condition: Callable[[Change], bool]) -> _Looks:
    return lambda _view, change: condition(change)


def _found_in(view: GuardInput, provider: Provider) -> tuple[int, int]:
    anchor = view.anchor_in(provider)
    return anchor.found, anchor.needed


def _lost_of(view: GuardInput, provider: Provider) -> tuple[int, int]:
    losses = view.losses(provider)
    return losses.value, may_be_lost(losses.nodes)


GUARDS: Mapping[GuardName, Guard] = MappingProxyType(
    {
        GuardName.INCOMPLETE_SNAPSHOT: Guard(incomplete_snapshot),
        GuardName.OTHER_CONTROLLER: Guard(
            other_controller,
            lambda view, _change: view.snapshot.controllers is not None,
            lambda view, _provider: (len(other_controllers(view.snapshot)), 0),
        ),
        GuardName.PROJECT_ANCHOR: Guard(project_anchor, measure=_found_in),
        GuardName.SILENT_CLUSTER: Guard(
            silent_cluster, _where(lambda change: change.row.writes_cloud and change.verb is not Verb.ADD)
        ),
        GuardName.ABSENCE_PROOF: Guard(
            absence_proof,
            _where(lambda change: any(isinstance(each, ServerGone) for each in change.rests_on)),
        ),
        GuardName.CLOCK_SKEW: Guard(clock_skew, looks_at=None),
        GuardName.NODE_BLAST_RADIUS: Guard(
            node_blast_radius, _where(lambda change: lost_by(change) is not None), _lost_of
        ),
        GuardName.BY_DEFAULT: Guard(by_default, _where(lambda change: bool(change.brings))),
        GuardName.ADDRESS_BLAST_RADIUS: Guard(
            address_blast_radius, _where(lambda change: takes_addresses(change) or closes_to_pods(change))
        ),
        GuardName.FOREIGN_OWNER: Guard(foreign_owner, _at(ChangeKind.LB_ADOPT, ChangeKind.LB_CREATE)),
        GuardName.ADOPTION: Guard(adoption, _at(ChangeKind.LB_ADOPT)),
        GuardName.IP_LOSS: Guard(ip_loss, _at(ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN)),
        GuardName.ADDRESS_IN_USE: Guard(
            address_in_use,
            _where(lambda change: isinstance(change.after, LoadBalancer) and bool(change.after.primary_ips)),
        ),
        GuardName.TARGET_FLOOR: Guard(target_floor, _where(takes_targets)),
        GuardName.TARGET_HEALTH: Guard(target_health, _where(takes_targets)),
        GuardName.EXPOSURE: Guard(exposure, _at(ChangeKind.LB_CREATE)),
        GuardName.CERTIFICATE_ISSUANCE: Guard(
            certificate_issuance,
            _where(lambda change: change.kind == ChangeKind.LB_LISTENER and not change.is_known),
        ),
        GuardName.ROUTE_BLAST_RADIUS: Guard(route_blast_radius, _at(ChangeKind.ROUTE_DELETE, ChangeKind.ROUTE_REPLACE)),
        GuardName.CLUSTER_CIDR: Guard(cluster_cidr, _at(ChangeKind.ROUTE_DELETE)),
        GuardName.FLAPPING: Guard(flapping, looks_at=None),
        GuardName.BACK_OFF: Guard(back_off, looks_at=None),
        GuardName.QUOTA: Guard(quota, looks_at=None),
        GuardName.POLICY: Guard(policy),
        GuardName.VOLUME_DETACH: Guard(volume_detach, looks_at=None),
    }
)
"""Name → guard. Of two guards with equally heavy verdicts the earlier one is named."""
