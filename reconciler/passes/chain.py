"""Chain: passes in a row, each of which follows the one before at once because that one has written.

The first pass reads everything, the others what was touched. Lists lag behind, and answers get lost, so a chain keeps
what it has tried:

| Rule | Without it |
|---|---|
| a change that ended is not tried again, unless it was overtaken (``ended``) | a stale list repeats a write |
| what comes after an applied change goes on, even if lists lack that one (``todo``) | a status waits for lists |
| what was refused, or may have been done, is known to planner and guards (``met``) | they count on additions in vain |
| a scope that Hetzner refuses stays refused (``barred``) | each pass is refused anew |
| what the first pass withheld stays withheld (``met``) | a chain ends the reason of a hold itself |
| an approval lets all that it named pass (``grants``) | it is used up by the first half |
| a lost answer of what is planned no more means done (``lines``) | an Event of success is missing |
| a Service is not released once a load balancer was asked for (``_is_premature``) | nothing would release that one |
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from actuators.outcome import NOT_SEEN, Applied, Failed, Outcome, Pending, Skipped
from desired.model.key import Key, ObjectKind
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Hold, Plan, Verdict
from desired.plan.grants import Grant, Source
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note
from desired.plan.ordering import not_ready
from desired.plan.setbacks import NO_SETBACKS, Setbacks
from desired.rules.filters import BLOCKED
from desired.section import Section, grouped
from reconciler.passes.agreement import Agreement
from reconciler.passes.judging import JudgedPlan
from reconciler.result import Line, is_read

PASSES = 4
"""The longest chain: what is known, what that brought to light, a spare one, and a pass that only looks."""
NO_PASS_LEFT = Pending("left for the next pass")
"""The outcome of a change that became possible too late."""
NOT_LISTED = Pending("its load balancer was just created and may not be listed yet")
"""The outcome of the release of a Service that was deleted while its load balancer was being created."""


@dataclass(slots=True)
class Chain:
    """All that the passes of one chain have met."""

    setbacks: Setbacks = NO_SETBACKS
    """Of earlier chains, with what the first pass of this one withheld."""
    tried: dict[str, list[Line]] = field(default_factory=dict)
    """Key of a change → its attempts in their order."""
    writes: int = 0
    """Rounds of writes that were begun."""
    first: Snapshot | None = None
    """The reading of the first pass, without Nodes, which are kept once."""
    notes: tuple[Note, ...] = ()
    """Said of the first plan: what was agreed to, and is not planned."""
    not_found: tuple[str, ...] = ()
    """Said of the first plan: keys of ``--only`` that name nothing."""
    approved: list[Hold] = field(default_factory=list)
    """Holds that approvals have let pass."""
    names: frozenset[str] = frozenset()
    """Names of the differences that used approvals go on to let pass."""

    def begin(self, judged: JudgedPlan, agreement: Agreement) -> None:
        """Keep what is said of the plan of the first pass alone: later ones lack what was done since."""
        read = judged.facts.snapshot
        self.first, self.not_found = replace(read, nodes=Section()), judged.not_found
        self.notes = agreement.no_longer_planned(judged.whole) if is_read(read) else ()
        self.setbacks = replace(self.setbacks, withheld=judged.withheld)

    def add(self, change: Change, outcome: Outcome) -> None:
        """Keep how an attempt at a change ended."""
        self.tried.setdefault(change.key, []).append(Line(change, outcome))

    def add_approved(self, judged: JudgedPlan) -> None:
        """Keep what approvals have let pass of this plan."""
        self.approved += (hold for hold in judged.plan.holds if hold.approved)
        self.names |= judged.names_left

    @property
    def may_write(self) -> bool:
        """Whether its next pass may write."""
        return self.writes < PASSES - 1

    @property
    def met(self) -> Setbacks:
        """What is held against changes in the next pass. The last attempt counts."""
        last = {key: attempts[-1].outcome for key, attempts in self.tried.items()}
        refused = {key for key, end in last.items() if _is_refused(end)}
        unclear = {key for key, end in last.items() if _is_lost(end)}
        return replace(self.setbacks, refused=frozenset(refused), unclear=frozenset(unclear))

    @property
    def barred(self) -> Mapping[str, str]:
        """Scope → the error with which Hetzner has refused all its changes in this chain."""
        ended = (line.outcome for lines in self.tried.values() for line in lines)
        return {outcome.bars: outcome.error for outcome in ended if isinstance(outcome, Failed) and outcome.bars}

    @property
    def grants(self) -> Iterable[Grant]:
        """Grants of all differences of approved holds: a pass that makes some of them lets the next make the others."""
        return (Grant(Source.ANSWER, name) for name in sorted({name for hold in self.approved for name in hold.names}))

    @property
    def let_pass(self) -> Mapping[GuardName, Sequence[Change]]:
        """Rule → changes of its approved holds that were made, or refused and perhaps done in part."""
        last = {key: attempts[-1] for key, attempts in self.tried.items()}
        ended = {key: line.change for key, line in last.items() if isinstance(line.outcome, Applied | Failed)}
        return grouped((hold.rule, ended[key]) for hold in self.approved for key in hold.keys if key in ended)

    def todo(self, plan: Plan) -> tuple[Change, ...]:
        """The changes of ``plan`` that its pass applies."""
        ended = self.ended(plan)
        given_up = {key for key, outcome in ended.items() if not isinstance(outcome, Applied)}
        given_up |= {change.key for change in plan.changes if self._is_premature(change)}
        left = {*ended, *given_up, *not_ready(plan, given_up)}
        return tuple(change for change in plan.allowed if change.key not in left)

    def has_more(self, plan: Plan) -> bool:
        """Whether ``plan`` has changes that only a further pass can carry out."""
        return not not_ready(plan).keys() <= self.ended(plan).keys()

    def ended(self, plan: Plan) -> Mapping[str, Outcome | None]:
        """Key of each planned change that is not tried again → how it ended. An applied one is settling; a refused
        one, and one that an API asks to wait for, is for a later chain."""
        tried = {key: self._attempt(plan.by_key[key]) for key in self.tried.keys() & plan.by_key.keys()}
        return {key: line.outcome for key, line in tried.items() if line is not None and _is_final(line.outcome)}

    def attempted(self, planned: Plan | None = None) -> tuple[Line, ...]:
        """The changes that were tried, with their last outcomes. With a ``planned`` of a complete reading afterwards, a
        change whose answer got lost, and that is not planned any more, is done."""
        last = (attempts[-1] for attempts in self.tried.values())
        if planned is None:
            return _sorted(last)
        kinds = {(change.key, change.kind) for change in planned.changes}
        return _sorted(
            Line(line.change, Applied())
            if _is_lost(line.outcome) and (line.change.key, line.change.kind) not in kinds
            else line
            for line in last
        )

    def lines(self, plan: Plan, left: Callable[[Change], Outcome | None], *, is_whole: bool = True) -> tuple[Line, ...]:
        """The changes that were done, failed, or are still planned, sorted like a plan. A key stands twice if its
        change was done and another one of it is planned since.

        ``left`` says what became of a change that is allowed and was not tried, or in vain; ``is_whole`` tells whether
        the reading is complete: what could not be read is not planned either. What was overtaken and is not planned any
        more is another client's doing, and no line.
        """
        tried = self.attempted(plan if is_whole else None)
        done = (line for line in tried if _is_past(line, plan.by_key.get(line.change.key)))
        return _sorted((*done, *(self._line(change, left) for change in plan.changes)))

    def left(self, plan: Plan) -> Callable[[Change], Outcome]:
        """The reason why a change of ``plan`` that is allowed was not carried out, in the last pass."""
        ended = self.ended(plan)
        unready = not_ready(plan, [key for key, outcome in ended.items() if not isinstance(outcome, Applied)])

        def why(change: Change) -> Outcome:
            if self._is_premature(change):
                return NOT_LISTED
            for key in change.depends_on:
                tried = key in self.tried and key in plan.by_key
                if tried and not isinstance(self.tried[key][-1].outcome, Applied):
                    return Skipped(BLOCKED.text(change=key, state="not applied"))
            return Pending(unready[change.key]) if change.key in unready else NO_PASS_LEFT

        return why

    def _attempt(self, change: Change) -> Line | None:
        """The last attempt at this very change; None: it was not tried."""
        return next((line for line in reversed(self.tried.get(change.key, ())) if _are_one(line.change, change)), None)

    def _line(self, change: Change, left: Callable[[Change], Outcome | None]) -> Line:
        is_withheld = _is_withheld(change)
        match self._attempt(change):
            case Line(outcome=Applied()):
                return Line(change, None if is_withheld else NOT_SEEN)
            case Line(outcome=outcome) as tried if _is_final(outcome) or (
                isinstance(outcome, Pending) and not is_withheld
            ):
                return tried
            case _:
                return Line(change, None if is_withheld else left(change))

    def _is_premature(self, change: Change) -> bool:
        """Whether a Service would be released for which this chain may have created a load balancer that no list shows
        yet, as lists lag behind: then nothing would release it any more."""
        if change.kind != ChangeKind.SERVICE_RELEASE or change.comes_after_its_balancer:
            return False
        created = self.tried.get(Key(ObjectKind.LOAD_BALANCER, change.owner.name), ())
        return any(
            each.change.kind == ChangeKind.LB_CREATE
            and (_is_lost(each.outcome) or not isinstance(each.outcome, Skipped | Failed))
            for each in created
        )


def _are_one(tried: Change, planned: Change) -> bool:
    """Whether these changes of one key are the same one. One that leads elsewhere is another: the status of a Service
    gets a private address when the public ones are written already."""
    return (tried.kind, tried.after) == (planned.kind, planned.after)


def _is_final(outcome: Outcome | None) -> bool:
    """Whether a change that ended so is not tried again in its chain. What was overtaken, or came after another change,
    is worth another try."""
    match outcome:
        case Pending(retry_after_s=retry_after_s):
            return retry_after_s > 0
        case Skipped(is_final=is_final):
            return is_final
    return True


def _is_past(line: Line, planned: Change | None) -> bool:
    """Whether an attempt is told beside what is ``planned`` of its key: it was done, and the plan has another change or
    the same one withheld, such as a target that a move held since would have to add again."""
    if planned is None:
        return isinstance(line.outcome, Applied | Failed)
    return isinstance(line.outcome, Applied) and (_is_withheld(planned) or not _are_one(line.change, planned))


def _is_withheld(change: Change) -> bool:
    """Whether a guard stands before the change, or it waits for one before which one does."""
    return change.decision.verdict is not Verdict.ALLOWED


def _is_refused(outcome: Outcome | None) -> bool:
    """Whether the change was refused, or not sent as another one like it was."""
    return isinstance(outcome, Failed) or (isinstance(outcome, Skipped) and bool(outcome.refusal))


def _is_lost(outcome: Outcome | None) -> bool:
    """Whether the change may have been done all the same."""
    return isinstance(outcome, Failed) and outcome.retry_after_s is not None


def _sorted(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: line.change.order))
