"""Attempts of a pass: what it has tried, what it tries next or no more, and what is reported."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.model.key import Key, ObjectKind
from desired.plan.change import Change, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import not_ready, ready_now
from desired.rules.filters import BLOCKED
from reconciler.result import Line

NOT_SEEN = Pending("applied; not yet visible in the API")
"""The outcome of a change that was applied and is still planned."""
NO_ROUND_LEFT = Pending("left for the next pass")
"""The outcome of a change that became possible too late."""
NOT_LISTED = Pending("its load balancer was just created and may not be listed yet")
"""The outcome of the release of a Service that was deleted while its load balancer was being created."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One change as it was planned when it was tried, and how that ended."""

    change: Change
    outcome: Outcome
    is_final: bool
    """Whether the pass leaves it at that, though the change may be planned again."""

    def is_of(self, change: Change) -> bool:
        """Whether it was this very change. One of the same key that leads elsewhere is another: the status of a Service
        gets a private address when the public ones are written already."""
        return (self.change.kind, self.change.after) == (change.kind, change.after)


@dataclass(slots=True)
class Attempts:
    """All attempts of one pass."""

    by_key: dict[str, list[Attempt]] = field(default_factory=dict)
    """Key of a change → its attempts, in the order of the rounds."""

    def add(self, change: Change, outcome: Outcome) -> None:
        """Remember how a change ended. What was overtaken, or came after another change, is worth another round.

        An applied one is settling; a failed one, and one that an API asks to wait for, is for a later pass.
        """
        is_skipped = isinstance(outcome, Skipped) and not outcome.is_final
        is_overtaken = isinstance(outcome, Pending) and not outcome.retry_after_s
        attempt = Attempt(change, outcome, is_final=not is_skipped and not is_overtaken)
        self.by_key.setdefault(change.key, []).append(attempt)

    def withdraw(self, change: Change, why: str) -> None:
        """Remember that a change must not be tried in this pass."""
        self.by_key.setdefault(change.key, []).append(Attempt(change, Skipped(why), is_final=True))

    def final(self, change: Change) -> Attempt | None:
        """The attempt at this very change with which the pass leaves it; None when it may be tried, or tried again."""
        return next((a for a in self.by_key.get(change.key, ()) if a.is_final and a.is_of(change)), None)

    def todo(self, plan: Plan) -> tuple[Change, ...]:
        """The changes of ``plan`` that the next round applies."""
        ended = self._ended(plan)
        applied = {key for key, outcome in ended.items() if isinstance(outcome, Applied)}
        premature = {change.key for change in plan.changes if self._is_premature(change)}
        return ready_now(plan, applied, ended.keys() - applied | premature)

    def has_more(self, plan: Plan) -> bool:
        """Whether ``plan`` has changes that only a further round can carry out."""
        return not not_ready(plan).keys() <= self._ended(plan).keys()

    @property
    def failed(self) -> frozenset[str]:
        """Keys of the changes that were refused, the last time they were tried, or that the pass leaves alone as others
        like them were. A change that was withdrawn was not refused."""
        last = {key: tried[-1].outcome for key, tried in self.by_key.items()}
        return frozenset(
            key
            for key, outcome in last.items()
            if isinstance(outcome, Failed) or (isinstance(outcome, Skipped) and outcome.is_final)
        )

    @property
    def unclear(self) -> frozenset[str]:
        """Keys of the changes that may have been done all the same."""
        return frozenset(key for key, tried in self.by_key.items() if _is_lost(tried[-1].outcome))

    @property
    def barred(self) -> Mapping[str, str]:
        """Scope → the error with which Hetzner has refused all its changes in this pass."""
        ended = (attempt.outcome for attempts in self.by_key.values() for attempt in attempts)
        return {outcome.bars: outcome.error for outcome in ended if isinstance(outcome, Failed) and outcome.bars}

    def tried(self) -> tuple[Line, ...]:
        """The changes that were tried, with their last outcomes, for when the state cannot be observed any more."""
        return _sorted(Line(attempts[-1].change, attempts[-1].outcome) for attempts in self.by_key.values())

    def as_seen(self, plan: Plan, *, is_whole: bool) -> tuple[Line, ...]:
        """The changes that were tried, where ``plan`` comes from a reading afterwards: a change whose answer got lost,
        and that is not planned any more, is done.

        ``is_whole`` tells whether that reading is complete: what could not be read is not planned either.
        """
        planned = {(change.key, change.kind) for change in plan.changes}
        return tuple(
            Line(line.change, Applied())
            if is_whole and _is_lost(line.outcome) and (line.change.key, line.change.kind) not in planned
            else line
            for line in self.tried()
        )

    def lines(self, plan: Plan, left: Callable[[Change], Outcome | None], *, is_whole: bool = True) -> tuple[Line, ...]:
        """The changes that were done, failed, or are still planned, sorted like a plan. A key stands twice where its
        change was done and another one of it is planned since.

        ``left`` says what became of a change that is allowed and was not tried, or in vain; ``is_whole`` is that of
        ``as_seen``. What was overtaken and is not planned any more is another client's doing, and no line.
        """
        gone = (line for line in self.as_seen(plan, is_whole=is_whole) if line.change.key not in plan.by_key)
        ended = (line for line in gone if isinstance(line.outcome, Applied | Failed))
        return _sorted((*ended, *self._outdated(plan), *(self._line(change, left) for change in plan.changes)))

    def _outdated(self, plan: Plan) -> Iterator[Line]:
        """What was done of those whose keys have another change in ``plan``, or the same one, withheld: a target that
        was added, and that a move held since would have to add again."""
        for key in self.by_key.keys() & plan.by_key.keys():
            last, planned = self.by_key[key][-1], plan.by_key[key]
            if isinstance(last.outcome, Applied) and (_is_withheld(planned) or not last.is_of(planned)):
                yield Line(last.change, last.outcome)

    def left(self, plan: Plan) -> Callable[[Change], Outcome]:
        """The reason why a change of ``plan`` that is allowed was not carried out, in the last round."""
        ended = self._ended(plan)
        unready = not_ready(plan, [key for key, outcome in ended.items() if not isinstance(outcome, Applied)])

        def why(change: Change) -> Outcome:
            if self._is_premature(change):
                return NOT_LISTED
            for key in change.depends_on:
                tried = key in self.by_key and key in plan.by_key
                if tried and not isinstance(self.by_key[key][-1].outcome, Applied):
                    return Skipped(BLOCKED.text(change=key, state="not applied"))
            return Pending(unready[change.key]) if change.key in unready else NO_ROUND_LEFT

        return why

    def _line(self, change: Change, left: Callable[[Change], Outcome | None]) -> Line:
        final = self.final(change)
        if final is not None and not isinstance(final.outcome, Applied):
            return Line(final.change, final.outcome)
        if _is_withheld(change):
            return Line(change)
        if final is not None:
            return Line(change, NOT_SEEN)
        last = self.by_key[change.key][-1] if change.key in self.by_key else None
        if last is not None and last.is_of(change) and isinstance(last.outcome, Pending):
            return Line(last.change, last.outcome)
        return Line(change, left(change))

    def _is_premature(self, change: Change) -> bool:
        """Whether a Service would be released for which this pass may have created a load balancer that no list shows
        yet, as lists lag behind: then nothing would release it any more."""
        if change.kind != ChangeKind.SERVICE_RELEASE or change.comes_after_its_balancer:
            return False
        created = self.by_key.get(Key(ObjectKind.LOAD_BALANCER, change.owner.name), ())
        return any(
            each.change.kind == ChangeKind.LB_CREATE
            and (_is_lost(each.outcome) or not isinstance(each.outcome, Skipped | Failed))
            for each in created
        )

    def _ended(self, plan: Plan) -> Mapping[str, Outcome]:
        """Key of each planned change that is not tried again → how it ended."""
        tried = {key: self.final(plan.by_key[key]) for key in self.by_key.keys() & plan.by_key.keys()}
        return {key: final.outcome for key, final in tried.items() if final is not None}


def _is_withheld(change: Change) -> bool:
    """Whether a guard stands before the change, or it waits for one before which one does."""
    return change.decision.verdict is not Verdict.ALLOWED


def _is_lost(outcome: Outcome | None) -> bool:
    """Whether the change may have been done all the same."""
    return isinstance(outcome, Failed) and outcome.retry_after_s is not None


def _sorted(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: line.change.order))
