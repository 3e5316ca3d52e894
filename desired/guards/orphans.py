"""Deletion of orphans on demand, judged like the removals of a pass."""

from collections.abc import Collection
from dataclasses import replace

from desired.guards.guard import GuardInput
from desired.guards.judge import judge
from desired.load_balancers.lifecycle import orphan_deletion
from desired.load_balancers.orphans import Orphan
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Plan
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState
from desired.rules.guards import CLUSTER_UNREAD, LIST_INCOMPLETE
from desired.section import Unknown


def why_no_orphans(snapshot: Snapshot) -> str | None:
    """The reason why orphans cannot be told from others, for people; None if they can. An unread Service may want a
    load balancer that seems to be unowned."""
    services = snapshot.services
    if isinstance(snapshot.cluster_uid, Unknown):
        return CLUSTER_UNREAD.text(error=snapshot.cluster_uid.why)
    if services is None:
        return LIST_INCOMPLETE.text(list="services", error="not read")
    gap = services.why_incomplete or next(iter(services.unreadable.values()), None)
    return None if gap is None else LIST_INCOMPLETE.text(list="services", error=gap)


def judge_deletions(chosen: Collection[Orphan], snapshot: Snapshot, settings: Settings, desired: DesiredState) -> Plan:
    """The deletions of these orphans of ``snapshot``, for which ``desired`` was computed, with the decisions of all
    guards.

    A person who names a load balancer lets it go if its Service has vanished. Everything else is as in a pass: the
    project has to be this cluster's (``project-anchor``), the lists complete (``incomplete-snapshot``), kubelets have
    to report (``silent-cluster``), and no other cloud controller may run (``other-controller``).
    """
    named = {orphan.balancer.id for orphan in chosen}
    desired = replace(desired, orphans=tuple(each for each in desired.orphans if each.balancer.id not in named))
    deletions = tuple(orphan_deletion(orphan, snapshot) for orphan in chosen)
    return judge(GuardInput(Plan(deletions, desired.notes), snapshot, settings, desired, NO_SETBACKS))
