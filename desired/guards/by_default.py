"""Guard ``by-default``: settings of the cluster alone interrupt, expose and take nothing, of one object as of all."""

from collections.abc import Collection, Iterator

from desired.guards.guard import GuardInput, GuardResult
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.plan.change import Change, GuardName
from desired.rules import guards as rows
from desired.section import Present
from desired.syntax.bounds import counted, several


def by_default(view: GuardInput, but: Collection[str] = ()) -> Iterator[GuardResult]:
    """One hold of the differences that settings alone make and that harm, with the settings behind them; without the
    changes ``but`` for which there is an approval."""
    held = {change.key: change for change in view.plan.changes if change.brings and change.key not in but}
    if held:
        settings = {each.setting for change in held.values() for each in change.brings}
        objects = sorted({change.owner for change in held.values()})
        facts = {"settings": ", ".join(sorted(settings)), "objects": str(several(objects))}
        yield GuardResult.of(rows.BY_DEFAULT, sorted(held), facts, value=counted(len(objects), "object"), limit=0)


def names_in(result: GuardResult, change: Change, snapshot: Snapshot) -> frozenset[str]:
    """The names by which an approval lets a held change pass, in this cluster and of this very object: those of its
    differences, which are the same whatever changes bring them about, else its own with what the guard has measured."""
    cluster = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
    owner = snapshot.service(change.owner) or snapshot.node(change.owner)
    identity = (cluster, None if owner is None else owner.uid, change.cloud_id)
    if result.guard is GuardName.BY_DEFAULT:
        found = [(each.owner, each.field, each.port, each.before, each.after) for each in change.brings]
        return frozenset(f"{digest(*identity, *each)} {change.owner}" for each in found)
    measured = (result.guard, result.value, result.limit)
    name = digest(*identity, *measured, change.kind, change.key, change.before, change.after)
    return frozenset({f"{name} {change.owner}"})


def owner_in(name: str) -> str:
    """The key of the object of which this is a name."""
    return name.partition(" ")[2]
