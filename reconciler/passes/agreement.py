"""Agreement: the changes that a person has agreed to, and what a pass may do of the plan that it makes anew.

A person agrees to what a terminal has shown, or to a saved plan. Either is a list of permissions, a digest for each
change, and no list of orders: only what is planned now, and what guards allow now, is done.

| Agreed to | Planned now | What becomes of it |
|---|---|---|
| a change | the same kind and key, with the same sides | done |
| a change to a value that is known after apply | the same, and the value is known by now | done |
| a change | the same kind and key, with another side | left |
| nothing | a change | left |
| a change | nothing | a note: no longer needed |
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from desired.model.key import PLAN
from desired.plan.change import Change, GuardDecision, GuardName, Plan, Verdict
from desired.plan.grants import Grant, Here, Source
from desired.plan.notes import Note
from desired.rules.filters import AGREED_PART, NOT_AGREED, UNNEEDED
from desired.rules.rule import Rule
from desired.syntax.bounds import counted
from reconciler.report.folding import names

_ANSWER = Grant(Source.ANSWER, "the plan that was shown")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Everything that was agreed to at once."""

    permissions: Mapping[str, str] | None = None
    """Digest of a change → its key; None: whatever the guards allow."""
    only: tuple[str, ...] = ()
    """The keys to which the plan was restricted; empty: it was not."""
    grant: Grant = _ANSWER
    """Whose word it is, and whether that counts."""
    is_exact: bool = False
    """Whether nothing at all is done if the plan is another one by now."""

    @classmethod
    def to(cls, changes: Iterable[Change]) -> "Agreement":
        """The agreement to exactly these changes."""
        return cls({change.digest: str(change.key) for change in changes})

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.grant.of

    def _digest_of(self, change: Change) -> str:
        """The digest by which the change was agreed to; its own if it was not."""
        return next((each for each in change.digests if each in (self.permissions or ())), change.digest)

    def permits(self, change: Change) -> bool:
        """Whether the change was agreed to, whatever guards say."""
        return self.permissions is None or self._digest_of(change) in self.permissions

    def left_out(self, plan: Plan) -> Mapping[str, GuardDecision]:
        """Key of each change that was not agreed to → the decision."""
        decision = GuardDecision(Verdict.WAITING, GuardName.AGREED_PLAN, NOT_AGREED.text(plan=self.name))
        return {change.key: decision for change in plan.changes if not self.permits(change)}

    def noted(self, plan: Plan) -> Plan:
        """The judged plan, with a note that counts what waits because it was not agreed to."""
        keys = [change.key for change in plan.changes if change.decision.rule is GuardName.AGREED_PLAN]
        return replace(plan, notes=(*plan.notes, self._note(AGREED_PART, keys))) if keys else plan

    def no_longer_planned(self, plan: Plan) -> tuple[Note, ...]:
        """A note on the permitted changes that the ``plan`` lacks: they were done, or are wanted no more."""
        keys = [key for key in (self.permissions or {}).values() if key not in plan.by_key]
        return (self._note(UNNEEDED, keys),) if keys else ()

    def _note(self, row: Rule, keys: Collection[str]) -> Note:
        return row.note(PLAN, changes=counted(len(keys), "change"), plan=self.name, keys=names(keys))

    def why_void(self, here: Here) -> str | None:
        """The reason why nothing at all is done of it here; None when it counts."""
        why = self.grant.why_void(here)
        return why and f"{self.name} {why}"

    def why_inexact(self, plan: Plan) -> str | None:
        """The reason why nothing is done of a ``plan`` that is not the one that was agreed to; None if it is, or need
        not be."""
        if not self.is_exact or self.permissions is None:
            return None
        planned = {self._digest_of(change): str(change.key) for change in plan.changes}
        differing = {key for _, key in planned.items() ^ self.permissions.items()}
        if not differing:
            return None
        count = counted(len(differing), "change")
        remedy = f"; {self.grant.again}" if self.grant.again else ""
        verb = "differs" if len(differing) == 1 else "differ"
        return f"{self.name} no longer matches, and nothing was applied: {count} {verb} ({names(differing)}){remedy}"
