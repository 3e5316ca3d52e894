"""Guard ``by-default``: settings of the cluster alone interrupt, expose and take nothing, of one object as of all."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from desired.guards.guard import GuardInput, GuardResult
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.plan.change import Change, Difference
from desired.rules import guards as rows
from desired.section import Present
from desired.syntax.bounds import counted, several


def by_default(view: GuardInput) -> Iterator[GuardResult]:
    """One hold of the differences that settings alone make and that harm, with the settings behind them."""
    held = {change.key: change for change in view.plan.changes if change.brings}
    if held:
        settings = Counter(each.setting for each in {each for change in held.values() for each in change.brings})
        objects = sorted({change.owner for change in held.values()})
        facts = {"settings": ", ".join(sorted(settings)), "objects": str(several(objects))}
        yield GuardResult.of(rows.BY_DEFAULT, sorted(held), facts, value=counted(len(objects), "object"), limit=0)


def name_of(difference: Difference, snapshot: Snapshot) -> str:
    """The name by which an approval lets a difference pass, in this cluster alone."""
    uid = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
    return digest(uid, *(difference.owner, difference.field, difference.port, difference.before, difference.after))


def names_in(change: Change, snapshot: Snapshot) -> frozenset[str]:
    """The names of all that a change brings about by default."""
    return frozenset(name_of(each, snapshot) for each in change.brings)


def without(view: GuardInput, approved: Collection[str]) -> GuardInput | None:
    """The view without the changes of which approvals name each difference; None if there are none."""
    plan, snapshot = view.plan, view.snapshot
    left = [change for change in plan.changes if not change.brings or not names_in(change, snapshot) <= {*approved}]
    return replace(view, plan=replace(plan, changes=tuple(left))) if len(left) < len(plan.changes) else None
