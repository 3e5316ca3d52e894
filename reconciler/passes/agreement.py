"""Agreement: the changes to which somebody has agreed, and what a pass may do of the plan that it makes anew.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from desired.guards.filters import withhold
from desired.model.clocks import TOLERANCE
from desired.model.key import PLAN
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.plan.change import Change, GuardDecision, GuardName, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note, NoteKind
from desired.section import Present, Unknown
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


@dataclass(frozen=True, slots=True)
class Terms:
    """For which cluster, and until when, a saved plan may be applied."""

    cluster: str
    """Its UID."""
    taken_at: datetime
    expires_at: datetime
    again: str
    """What to type for another one."""

    def why_void(self, uid: Present[str] | Unknown, now: datetime, *, clocks_differ: bool = False) -> str | None:
        """The reason why it may not be applied to the cluster with this identity at ``now``, by the API server's clock;
        None when it may. While clocks differ nobody knows how old it is."""
        if isinstance(uid, Unknown):
            return f"whether it is of this cluster is not known: {uid.why}"
        if uid.value != self.cluster:
            return f"it is of cluster {self.cluster}, and this is {uid.value}: give --context, or {self.again}"
        if clocks_differ:
            return "its age is not known while the clocks differ: set them by NTP, or be asked by 'reconcile apply'"
        if self.taken_at - now > TOLERANCE:
            return f"it is of the future, {_shown(self.taken_at)}, and the API server has {_shown(now)}: {self.again}"
        if now > self.expires_at:
            return f"it has expired at {_shown(self.expires_at)}: {self.again}"
        return None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Everything that was agreed to at once."""

    permissions: Mapping[tuple[str, str], Permission]
    """By their identities."""
    only: tuple[str, ...] = ()
    """The keys to which the plan was restricted; empty: it was not."""
    terms: Terms | None = None
    """None for what a person has just seen, in this very process."""
    is_exact: bool = False
    """Whether nothing at all is to be done where the plan is another one by now."""
    name: str = "the plan that was shown"
    """What messages call it."""

    @classmethod
    def to(cls, changes: Iterable[Change]) -> "Agreement":
        """The agreement to exactly these changes."""
        return cls({found.identity: found for found in map(Permission.of, changes)})

    def permits(self, change: Change) -> bool:
        """Whether the change may be made, as far as it is for who agreed to decide on it."""
        agreed = self.permissions.get((str(change.kind), str(change.key)))
        return agreed is not None and agreed.covers(Permission.of(change))

    def bind(self, plan: Plan) -> Plan:
        """The judged plan, in which everything waits that nobody has agreed to, and a note that counts it."""
        why = f"{self.name} does not have it, or not so: look at it in the next one"
        decision = GuardDecision(Verdict.WAITING, GuardName.AGREED_PLAN, why)
        left = {str(change.key): decision for change in plan.allowed if not self.permits(change)}
        if not left:
            return plan
        bound = withhold(plan, left)
        count = len(plan.allowed) - len(bound.allowed)
        what = f"{counted(count, 'change')} {'is' if count == 1 else 'are'} left"
        keys = {change.key for change in plan.allowed} - {change.key for change in bound.allowed}
        text = f"{what}, which {self.name} does not have, or not so: {names(keys)}"
        return replace(bound, notes=(*bound.notes, Note(PLAN, NoteKind.AGREED_PLAN, text)))

    def unneeded(self, plan: Plan) -> tuple[Note, ...]:
        """A note on what the judged ``plan`` does not have any more: done by somebody, or wanted no more."""
        planned = {(str(change.kind), str(change.key)) for change in plan.changes}
        keys = [key for kind, key in self.permissions if (kind, key) not in planned]
        if not keys:
            return ()
        verb = "is" if len(keys) == 1 else "are"
        text = f"{counted(len(keys), 'change')} of {self.name} {verb} no longer needed: {names(keys)}"
        return (Note(PLAN, NoteKind.AGREED_PLAN, text),)

    def why_void(self, uid: Present[str] | Unknown, now: datetime, *, clocks_differ: bool = False) -> str | None:
        """The reason why it does not count here and now; None when it does. Parameters as in ``Terms.why_void``."""
        why = None if self.terms is None else self.terms.why_void(uid, now, clocks_differ=clocks_differ)
        return why and f"{self.name} cannot be applied: {why}"

    def why_inexact(self, plan: Plan) -> str | None:
        """The reason why nothing is done of the judged ``plan``, as it is not what was agreed to; None when it is, or
        need not be. A change that the guards allowed then, and withhold now, is a difference as well."""
        if not self.is_exact:
            return None
        planned = {(str(change.kind), str(change.key)): change for change in plan.changes}
        differing = planned.keys() ^ self.permissions.keys()
        for identity in planned.keys() & self.permissions.keys():
            change, agreed = planned[identity], self.permissions[identity]
            is_withheld = change.decision.verdict is not Verdict.ALLOWED and agreed.verdict is Verdict.ALLOWED
            if is_withheld or not self.permits(change):
                differing |= {identity}
        if not differing:
            return None
        count = counted(len(differing), "change")
        remedy = f": {self.terms.again}" if self.terms else ""
        verb = "differs" if len(differing) == 1 else "differ"
        keys = names({key for _, key in differing})
        return f"{self.name} is another one by now, and nothing was done: {count} {verb} ({keys}){remedy}"


def _has_become(agreed: Any, now: Any) -> bool:
    """Whether a value is the one that was agreed to, or what has become of one that was known only after the apply.
    Such a one is a list, so that no text of somebody else's can pass for it."""
    match agreed, now:
        case dict(), dict():
            return agreed.keys() == now.keys() and all(_has_become(agreed[name], now[name]) for name in agreed)
        case list(), list():
            return len(agreed) == len(now) and all(map(_has_become, agreed, now))
        case _, list():
            return bool(agreed == KNOWN_AFTER_APPLY.value)
    return type(agreed) is type(now) and bool(agreed == now)


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
