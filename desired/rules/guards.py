"""Rows of the guards: the sentence of each hold, wait and refusal."""

from desired.plan.change import GuardName, Verdict
from desired.rules.rule import Rule


def _held(guard: GuardName, name: str, says: str, remedy: str = "") -> Rule:
    """A row whose changes wait for the approval of a person."""
    return Rule(name, says, remedy, guard, Verdict.HELD)


def _waiting(guard: GuardName, name: str, says: str, remedy: str = "") -> Rule:
    """A row whose changes wait for time or for data."""
    return Rule(name, says, remedy, guard, Verdict.WAITING)


NODES_LOST = _held(
    GuardName.NODE_BLAST_RADIUS,
    "nodes-lost",
    "{why}",
    "cordon Nodes before their servers are deleted, and approve these if it was meant",
)
CONTROL_PLANE_LOST = _held(
    GuardName.NODE_BLAST_RADIUS,
    "control-plane-lost",
    "no Node of the control plane would be left, and that is always for a person to approve",
)
ADDRESSES_LOST = _held(
    GuardName.ADDRESS_BLAST_RADIUS,
    "addresses-lost",
    "{lost} of {most} Nodes{where} would be without an address that they had or should have",
    "check {setting} and HCLOUD_INSTANCES_ADDRESS_FAMILY, and approve this if it was meant",
)
CLOSED_TO_PODS = _held(
    GuardName.ADDRESS_BLAST_RADIUS,
    "closed-to-pods",
    "{lost} of {most} Nodes would be closed to pods",
    "check HCLOUD_NETWORK and the servers' attachments to it, and approve this if it was meant",
)
ROUTES_LOST = _held(
    GuardName.ROUTE_BLAST_RADIUS,
    "routes-lost",
    "{lost} of {most} routes within {cidr} lead to servers that live, and no Node has their pods",
    "check --cluster-cidr and the Nodes' pod CIDRs, and approve this if it was meant",
)
ROUTE_OF_OTHERS = _held(GuardName.ROUTE_BLAST_RADIUS, "route-of-others", "{why}", "approve this if the route is unused")
CLUSTER_CIDR_MISMATCH = _waiting(GuardName.CLUSTER_CIDR, "cluster-cidr-mismatch", "{why}")

_CHECK_TARGETS = "check the Nodes and settings that are named, or approve it if an outage does no harm"
TOO_FEW_ANSWER = _held(
    GuardName.TARGET_FLOOR,
    "too-few-answer",
    "{balancer}: {left} of {most} targets would answer at {scope}{returns}; {cause}",
    _CHECK_TARGETS,
)
TOO_FEW_OF_PROVIDER = _held(
    GuardName.TARGET_FLOOR,
    "too-few-of-provider",
    "{balancer}: {left} of {most} targets at Hetzner {scope} would be left; {cause}",
    _CHECK_TARGETS,
)
NONE_ANSWERS = _held(
    GuardName.TARGET_FLOOR,
    "none-answers",
    "{balancer}: no target that answers would be left of {most}; {cause}",
    _CHECK_TARGETS,
)
NO_TARGET_LEFT = _held(
    GuardName.TARGET_FLOOR,
    "no-target-left",
    "{balancer}: no target would be left, and {most} lead to servers that exist; {cause}",
    _CHECK_TARGETS,
)
TARGETS_OF_OTHERS = _held(
    GuardName.TARGET_FLOOR,
    "targets-of-others",
    "{balancer}: {targets} of other owners would be lost{returns}; {cause}",
    _CHECK_TARGETS,
)
ADDRESSES_OF_BALANCER = _held(GuardName.IP_LOSS, "addresses-of-balancer", "{why}", "{advice}")
INTERNAL_BALANCER = _held(
    GuardName.EXPOSURE, "internal-balancer", "{why}", "set {annotation} on Service {service} to say which it is"
)
