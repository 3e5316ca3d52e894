"""Relations: which changes wait because another one does, whatever withholds that one.

| Relation of a change | It waits |
|---|---|
| ``together`` | while one of these waits |
| ``depends_on`` | while one of these waits |
| ``serves`` | while all of these wait: it is made for them alone |

They are followed from change to change, so that no filter, guard or round of a pass does half of anything.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from desired.plan.change import Change, GuardDecision, GuardName, Verdict
from desired.rules.filters import BLOCKED, MADE_TOGETHER, NOT_NEEDED
from desired.rules.rule import Rule

_Changes = Mapping[str, Change]


def propagate(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The judged changes, of which those wait as well that may not be made without one that is withheld."""
    by_key: dict[str, Change] = {change.key: change for change in changes}
    settled = False
    while not settled:
        settled = True
        for blocker_of, row in _RELATIONS:
            for key, change in by_key.items():  # those before are ruled by now: a chain in order takes one turn
                blocker = blocker_of(change, by_key) if _is_allowed(change) else None
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


def _withheld(keys: Collection[str], changes: _Changes) -> list[Change]:
    """Those with these keys that are withheld. What is not among the changes counts as done."""
    return [changes[key] for key in keys if key in changes and not _is_allowed(changes[key])]


def _apart(change: Change, changes: _Changes) -> Change | None:
    return next(iter(_withheld(change.together, changes)), None)


def _needed(change: Change, changes: _Changes) -> Change | None:
    return next(iter(_withheld(change.depends_on, changes)), None)


def _served(change: Change, changes: _Changes) -> Change | None:
    served = [key for key in change.serves if key in changes]
    withheld = _withheld(served, changes)
    return withheld[0] if served and len(withheld) == len(served) else None


_RELATIONS: tuple[tuple[Callable[[Change, _Changes], Change | None], Rule], ...] = (
    (_apart, MADE_TOGETHER),
    (_needed, BLOCKED),
    (_served, NOT_NEEDED),
)
