"""Conditions for the deletion of orphans on demand: the same proof as in a pass that they are this cluster's."""

from desired.guards.anchor import AnchorState, anchor_of_cloud, witnesses
from desired.guards.project import explain_unfound, explain_violation
from desired.guards.silent_cluster import silence_by_any_clock, silence_of, who_is_silent
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.section import Unknown


def why_no_orphans(snapshot: Snapshot) -> str | None:
    """The reason why it cannot be told which load balancers are orphans, for people; None when it can.

    A Service that could not be read may be one that wants a load balancer which seems to be unowned.
    """
    services = snapshot.services
    if isinstance(snapshot.cluster_uid, Unknown):
        return f"the cluster's identity could not be read: {snapshot.cluster_uid.why}"
    if services is None:
        return "the Services were not read"
    gap = services.why_incomplete or next(iter(services.unreadable.values()), None)
    return None if gap is None else f"the Services could not all be read: {gap}"


def why_none_may_go(snapshot: Snapshot, settings: Settings) -> str | None:
    """The reason why no orphan at all may be deleted, for people; None when those may that are not kept for reasons of
    their own.

    The token has to see this cluster's project, as for every removal (``project-anchor``), both lists have to be
    complete (``incomplete-snapshot``), and a kubelet has to report (``silent-cluster``).
    """
    balancers = snapshot.load_balancers
    unknown = why_no_orphans(snapshot)
    if unknown is not None:
        return unknown
    if balancers is None or not balancers.complete:
        gap = "they were not read" if balancers is None else balancers.why_incomplete
        return f"the list of load balancers is not whole: {gap}"
    anchor = anchor_of_cloud(snapshot, settings)
    match anchor.state:
        case AnchorState.VIOLATED:
            return explain_violation(anchor)
        case AnchorState.UNDETERMINED:
            return (
                f"too few servers could be read to tell whether this is the cluster's project ({anchor.found} of the"
                f" {anchor.needed} needed were found)"
            )
        case AnchorState.UNFOUND if not witnesses(snapshot, settings):
            return explain_unfound(anchor)
        case AnchorState.NONE if not witnesses(snapshot, settings):
            return "no Node is Ready and nothing of this cluster was found in the project that the token belongs to"
    if not anchor.is_certain and anchor.unreadable:
        return f"{anchor.unreadable} Nodes could not be read, so that it is not certain that this is the right project"
    silence = silence_of(snapshot, settings) or silence_by_any_clock(snapshot, settings)
    if silence is not None:
        return (
            f"{who_is_silent(silence)}: this may be a copy of the cluster (a restored backup), and its orphans may be"
            " the living cluster's load balancers"
        )
    return None
