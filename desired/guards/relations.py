"""Relations: changes that wait because another one is withheld, for whatever reason.

| A change waits while | As said by |
|---|---|
| one waits that it depends on | ``depends_on`` |
| all wait that depend on it, and for which alone it is made | ``Kind.serves`` |
| one waits that restores what it removes | ``Kind.restored_by`` |

They are followed from change to change, so that no filter, guard or pass does half of anything.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from desired.plan.change import Change, GuardDecision, GuardName, Verdict
from desired.plan.kinds import Verb
from desired.rules.filters import BLOCKED, MADE_TOGETHER, NOT_NEEDED
from desired.rules.rule import Rule
from desired.section import grouped

_Changes = Mapping[str, Change]
_Dependents = Mapping[str, Collection[str]]
"""Key → keys of the changes that depend on that one."""


def propagate(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The judged changes. Those that may not be made without a withheld one wait as well."""
    by_key: dict[str, Change] = {change.key: change for change in changes}
    dependents = grouped((key, change.key) for change in by_key.values() for key in change.depends_on)
    settled = False
    while not settled:
        settled = True
        for blocker_of, row in _RELATIONS:
            for key, change in by_key.items():  # those before are ruled by now: a chain in order takes one turn
                blocker = blocker_of(change, by_key, dependents) if _is_allowed(change) else None
                if blocker is not None:
                    by_key[key], settled = change.ruled(_waiting_for(blocker, row)), False
    return tuple(by_key.values())


def _waiting_for(blocker: Change, row: Rule) -> GuardDecision:
    """The decision on a change that waits for this one, under the name of the guard that withholds it."""
    is_left_out = blocker.decision.rule in (GuardName.ONLY, GuardName.AGREED_PLAN)
    state = "left out" if is_left_out else str(blocker.decision.verdict)
    why = row.text(change=blocker.key, state=state)
    return replace(blocker.decision, verdict=Verdict.WAITING, why=why)


def _is_allowed(change: Change) -> bool:
    return change.decision.verdict is Verdict.ALLOWED


def _withheld(keys: Iterable[str], changes: _Changes) -> list[Change]:
    """Those with these keys that are withheld. Unknown keys count as done."""
    return [changes[key] for key in keys if key in changes and not _is_allowed(changes[key])]


def _restoring(change: Change, changes: _Changes, dependents: _Dependents) -> Change | None:
    if change.verb is Verb.ADD or not change.row.restored_by:
        return None
    after, new = set[str](), [*dependents.get(change.key, ())]
    while new:
        after.add(key := new.pop())
        new += [other for other in dependents.get(key, ()) if other not in after]
    withheld = _withheld(sorted(after), changes)
    return next((c for c in withheld if c.kind in change.row.restored_by and c.verb is Verb.ADD), None)


def _needed(change: Change, changes: _Changes, _dependents: _Dependents) -> Change | None:
    return next(iter(_withheld(change.depends_on, changes)), None)


def _served(change: Change, changes: _Changes, dependents: _Dependents) -> Change | None:
    served = [key for key in dependents.get(change.key, ()) if changes[key].kind in change.row.serves]
    withheld = _withheld(served, changes)
    return withheld[0] if served and len(withheld) == len(served) else None


_RELATIONS: tuple[tuple[Callable[[Change, _Changes, _Dependents], Change | None], Rule], ...] = (
    (_restoring, MADE_TOGETHER),
    (_needed, BLOCKED),
    (_served, NOT_NEEDED),
)
