"""Agreement: the changes that a person has agreed to, and what a pass may do of the plan that it makes anew.

A person agrees to what a terminal has shown, or a file of ``reconcile plan --save`` says what was agreed to. Either is
a list of permissions, and no list of orders: nothing is done that is not planned now, and that guards do not allow now.

| Agreed to | Planned now | What becomes of it |
|---|---|---|
| a change | the same kind and key, with the same sides | done |
| a change to what is known after apply | the same, and the value is known by now | done |
| a change | the same kind and key, with another side | left |
| nothing | a change | left |
| a change | nothing | a note: no longer needed |
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from desired.model.key import PLAN
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.plan.change import Change, GuardDecision, GuardName, Plan, Verdict
from desired.plan.grants import Grant, Here, Source
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note
from desired.rules.filters import AGREED_PART, NOT_AGREED, UNNEEDED
from desired.rules.rule import Rule
from desired.syntax.bounds import counted
from reconciler.report.documents import to_json
from reconciler.report.folding import names


@dataclass(frozen=True, slots=True)
class Permission:
    """One change as it was agreed to; its sides in JSON values, as reports have them."""

    key: str
    kind: str
    before: Any
    after: Any
    verdict: Verdict = Verdict.ALLOWED
    """What the guards said of it then. They say it again."""

    @classmethod
    def of(cls, change: Change) -> "Permission":
        """The permission to make this change."""
        sides = to_json(change.before), to_json(change.after)
        return cls(str(change.key), str(change.kind), *sides, change.decision.verdict)

    @property
    def identity(self) -> tuple[str, str]:
        """What two plans know it by. No plan has it twice."""
        return self.kind, self.key

    def covers(self, other: "Permission") -> bool:
        """Whether it permits the change that ``other`` stands for, whatever guards say of either."""
        if self.identity != other.identity:
            return False
        if self.kind == ChangeKind.LB_RDNS and self.before == KNOWN_AFTER_APPLY.value:
            return bool(self.after == other.after)  # which name Hetzner gives a new load balancer decides on nothing
        return _has_become(self.before, other.before) and _has_become(self.after, other.after)


_ANSWER = Grant(Source.ANSWER, "the plan that was shown")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Everything that was agreed to at once."""

    permissions: Mapping[tuple[str, str], Permission] | None = None
    """By their identities; None: whatever the guards allow."""
    only: tuple[str, ...] = ()
    """The keys to which the plan was restricted; empty: it was not."""
    grant: Grant = _ANSWER
    """Whose word it is, and whether that counts."""
    is_exact: bool = False
    """Whether nothing at all is to be done where the plan is another one by now."""

    @classmethod
    def to(cls, changes: Iterable[Change]) -> "Agreement":
        """The agreement to exactly these changes."""
        return cls({found.identity: found for found in map(Permission.of, changes)})

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.grant.of

    def permits(self, change: Change) -> bool:
        """Whether the change may be made, as far as it is for who agreed to decide on it."""
        if self.permissions is None:
            return True
        agreed = self.permissions.get((str(change.kind), str(change.key)))
        return agreed is not None and agreed.covers(Permission.of(change))

    def left_out(self, plan: Plan) -> Mapping[str, GuardDecision]:
        """Key of each change that was not agreed to → the decision."""
        decision = GuardDecision(Verdict.WAITING, GuardName.AGREED_PLAN, NOT_AGREED.text(plan=self.name))
        return {change.key: decision for change in plan.changes if not self.permits(change)}

    def noted(self, plan: Plan) -> Plan:
        """The judged plan, with a note that counts what waits because it was not agreed to."""
        keys = [change.key for change in plan.changes if change.decision.rule is GuardName.AGREED_PLAN]
        return replace(plan, notes=(*plan.notes, self._note(AGREED_PART, keys))) if keys else plan

    def unneeded(self, plan: Plan) -> tuple[Note, ...]:
        """A note on what the ``plan`` does not have any more: it was done, or is wanted no more."""
        planned = {(str(change.kind), str(change.key)) for change in plan.changes}
        keys = [key for kind, key in self.permissions or () if (kind, key) not in planned]
        return (self._note(UNNEEDED, keys),) if keys else ()

    def _note(self, row: Rule, keys: Collection[str]) -> Note:
        return row.note(PLAN, changes=counted(len(keys), "change"), plan=self.name, keys=names(keys))

    def why_void(self, here: Here) -> str | None:
        """The reason why nothing at all is done of it here; None when it counts."""
        why = self.grant.why_void(here)
        return why and f"{self.name} {why}"

    def why_inexact(self, plan: Plan) -> str | None:
        """The reason why nothing is done of the judged ``plan``, as it is not what was agreed to; None when it is, or
        need not be. A change that the guards allowed then, and withhold now, is a difference as well."""
        if not self.is_exact or self.permissions is None:
            return None
        planned = {(str(change.kind), str(change.key)): change for change in plan.changes}
        differing = planned.keys() ^ self.permissions.keys()
        for identity in planned.keys() & self.permissions.keys():
            change, agreed = planned[identity], self.permissions[identity]
            passes = change.decision.verdict is Verdict.ALLOWED or change.decision.rule is GuardName.AGREED_PLAN
            is_withheld = agreed.verdict is Verdict.ALLOWED and not passes
            if is_withheld or not self.permits(change):
                differing |= {identity}
        if not differing:
            return None
        count = counted(len(differing), "change")
        remedy = f"; {self.grant.again}" if self.grant.again else ""
        verb = "differs" if len(differing) == 1 else "differ"
        keys = names({key for _, key in differing})
        return f"{self.name} no longer matches, and nothing was applied: {count} {verb} ({keys}){remedy}"


def _has_become(agreed: Any, now: Any) -> bool:
    """Whether a value is the one that was agreed to, or what has become of one that was known only after the apply.
    Such a one is a list, so that no foreign text can pass for it."""
    match agreed, now:
        case dict(), dict():
            return agreed.keys() == now.keys() and all(_has_become(agreed[name], now[name]) for name in agreed)
        case list(), list():
            return len(agreed) == len(now) and all(map(_has_become, agreed, now))
        case _, list():
            return bool(agreed == KNOWN_AFTER_APPLY.value)
    return type(agreed) is type(now) and bool(agreed == now)
