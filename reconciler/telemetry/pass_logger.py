"""What a loop tells in its log: a line for each change that was applied or refused, one for each finding that a person
has to decide on, and one for each pass that says something new. What is only planned is in the report."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from actuators.apply import Actuator
from actuators.http.trace import Trace, tracing
from actuators.outcome import Applied, Failed, Outcome
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, NoteKind
from reconciler.result import Report, Result, approve_command, summary
from reconciler.telemetry.logs import Pairs, pairs
from reconciler.telemetry.measured import Measured

_log = logging.getLogger("hcloud-reconciler.pass")

_SHOWN = 5
"""Objects of a hold that its line names."""


@dataclass(frozen=True, slots=True)
class _Effort:
    """What it took to carry out one change."""

    trace: Trace
    seconds: float


class PassLogger:
    """Hears of an apply while it goes on (see ``rounds.Progress``) and tells of each change as it ends.

    ``heard`` is called then as well: as long as changes come to an end, nothing hangs. ``clock`` is in seconds.
    """

    def __init__(
        self, heard: Callable[[], None] = lambda: None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._heard = heard
        self._clock = clock
        self._lock = threading.Lock()
        self._efforts: dict[str, _Effort] = {}
        self._standing: frozenset[Pairs] = frozenset()

    def attends(self, actuators: Mapping[str, Actuator]) -> Mapping[str, Actuator]:
        """The same actuators, with an eye on what Hetzner calls what they ask of it, and on how long they take."""
        return {kind: self._attended(actuator) for kind, actuator in actuators.items()}

    def begin(self, changes: Sequence[Change]) -> None:  # noqa: ARG002 - each is told of when it ends
        """A round begins."""
        with self._lock:
            self._efforts.clear()

    def done(self, change: Change, outcome: Outcome) -> None:
        """Tell of what was applied, and of what failed. What waits, or was left out, is in the report."""
        self._heard()
        with self._lock:
            effort = self._efforts.pop(change.key, None)
        match outcome:
            case Applied():
                _log.info("applied %s", _told(change, effort))
            case Failed(error):
                _log.warning("failed %s", _told(change, effort, error=error))

    def end(self) -> None:
        """A round has ended."""

    def passed(self, measured: Measured) -> None:
        """Tell of a pass that says something new: one line, and one for each of its errors, for each list that was not
        read whole, and for each finding that a person has to decide on. What lasts is told of once, as it comes up. A
        pass without news is not to be told of.
        """
        report = measured.report
        for error in report.errors:
            _log.error("error %s", pairs(error=error))
        standing = dict(_standing(report))
        for finding, word in standing.items():
            if finding not in self._standing:
                _log.warning("%s %s", word, finding)
        self._standing = frozenset(standing)
        has_failed = report.result in (Result.ERROR, Result.INCOMPLETE) or bool(report.outcomes(Failed))
        told = pairs(
            result=report.result.value,
            **summary(report),
            duration_s=round(measured.seconds, 3),
            kubernetes_requests=measured.kubernetes_requests,
            hetzner_requests=measured.hetzner_requests,
            trigger=measured.trigger or "interval",
        )
        _log.log(logging.WARNING if has_failed else logging.INFO, "pass %s", told)

    def _attended(self, actuator: Actuator) -> Actuator:
        def carry_out(change: Change, snapshot: Snapshot) -> None:
            began = self._clock()
            with tracing() as trace:
                try:
                    actuator(change, snapshot)
                finally:
                    with self._lock:
                        self._efforts[change.key] = _Effort(trace, self._clock() - began)

        return carry_out


def _standing(report: Report) -> Iterator[tuple[Pairs, str]]:
    """What lasts from pass to pass until somebody does something, each with the word for it."""
    for hold in report.holds:
        if not hold.approved:
            more = [f"and {len(hold.keys) - _SHOWN} more"] if len(hold.keys) > _SHOWN else []
            keys = ", ".join([*hold.keys[:_SHOWN], *more])
            command = approve_command(hold, report.approve_flags)
            told = pairs(rule=hold.rule, value=hold.value, limit=hold.limit, keys=keys, why=hold.why, approve=command)
            yield told, "held"
    for note in report.notes:
        if note.kind is NoteKind.ANCHOR:
            yield pairs(rule=note.kind.value, why=note.text), "violated"
    if report.snapshot is not None and not report.errors:
        for name, section in report.snapshot.sections().items():
            if not section.complete:
                yield pairs(section=name, why=section.why_incomplete), "incomplete"


def _told(change: Change, effort: _Effort | None, **more: str) -> Pairs:
    data: dict[str, object] = {"kind": change.kind, "key": change.key, "action": change.verb.value}
    if effort is not None:
        data["duration_s"] = round(effort.seconds, 3)
        if effort.trace.actions:
            data["hetzner_actions"] = ",".join(map(str, effort.trace.actions))
        if effort.trace.correlations:
            data["correlation_ids"] = ",".join(effort.trace.correlations)
    return pairs(**data, **more)
