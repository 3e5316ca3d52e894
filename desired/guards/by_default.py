"""Guard ``by-default``: settings of the cluster alone interrupt, expose and take nothing, of one object as of all."""

from collections.abc import Iterator

from desired.guards.guard import GuardInput, GuardResult, Named
from desired.rules import guards as rows
from desired.syntax.bounds import several


def by_default(view: GuardInput) -> Iterator[GuardResult]:
    """One hold of the differences that settings alone make and that harm, with the settings behind them."""
    held = {change.key: change for change in view.plan.changes if change.brings}
    if held:
        settings = {each.setting for change in held.values() for each in change.brings}
        objects = sorted({change.owner for change in held.values()})
        facts = {"settings": ", ".join(sorted(settings)), "objects": str(several(objects))}
        result = GuardResult.of(rows.BY_DEFAULT, sorted(held), facts, value=len(objects), limit=0)
        yield result.naming(Named.DIFFERENCES)
