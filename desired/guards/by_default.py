"""Guard ``by-default``: settings of the cluster alone interrupt, expose and take nothing, of one object as of all."""

from collections.abc import Collection, Iterator

from desired.guards.guard import GuardInput, GuardResult
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.plan.change import Change, GuardName
from desired.rules import guards as rows
from desired.section import Present
from desired.syntax.bounds import several


def by_default(view: GuardInput, but: Collection[str] = ()) -> Iterator[GuardResult]:
    """One hold of the differences that settings alone make and that harm, with the settings behind them; without the
    changes ``but`` for which there is an approval."""
    held = {change.key: change for change in view.plan.changes if change.brings and change.key not in but}
    if held:
        settings = {each.setting for change in held.values() for each in change.brings}
        objects = sorted({change.owner for change in held.values()})
        facts = {"settings": ", ".join(sorted(settings)), "objects": str(several(objects))}
        yield GuardResult.of(rows.BY_DEFAULT, sorted(held), facts, value=len(objects), limit=0)


def names_in(result: GuardResult, change: Change, snapshot: Snapshot) -> frozenset[str]:
    """The names by which an approval lets a held change pass, in this cluster and of this very object: those of its
    differences, which are the same whatever changes bring them about, else its own with how many stay, are found, or
    report, or with what the guard has measured if it counts nothing. Empty for ``flapping``: one approval, one try."""
    if result.guard is GuardName.FLAPPING:
        return frozenset()
    cluster = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
    owner = snapshot.service(change.owner) or snapshot.node(change.owner)
    identity = (cluster, None if owner is None else owner.uid, change.cloud_id)
    if result.guard is GuardName.BY_DEFAULT:
        found = [(each.owner, each.field, each.port, each.before, each.after) for each in change.brings]
        return frozenset(f"{digest(*identity, *each)} {change.owner}" for each in found)
    held = (*identity, result.guard, change.kind, change.key, change.before, change.after)
    counted_by = {digest(*held, of): left for of, left in result.floors}
    if not counted_by:
        return frozenset({f"{digest(*held, result.value, result.limit)} {change.owner}"})
    return frozenset(f"{name} {change.owner}{_LEAVING}{left}" for name, left in counted_by.items())


_LEAVING, _MOST_DIGITS = " leaving ", 9


def read_name(name: str) -> tuple[str, int]:
    """The part of a name that stays the same until its difference is done, and how many are left at least; 0 if nothing
    is counted."""
    of, _, left = name.partition(_LEAVING)
    return (of, int(left)) if left.isdecimal() and len(left) <= _MOST_DIGITS else (name, 0)


def owner_in(name: str) -> str:
    """The key of the object of which this is a name."""
    return read_name(name)[0].partition(" ")[2]
