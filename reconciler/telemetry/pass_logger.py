"""What the log says of a pass; and the measurement of one: its report, its requests, and what triggered it."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from actuators.apply import Actuator
from actuators.http.connection import RequestTrace, tracing
from actuators.outcome import Applied, Failed, Outcome
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.notes import NoteKind
from desired.syntax.bounds import listed
from reconciler.result import Report, Requests, Result, approve_command, summary
from reconciler.telemetry.logs import Pairs, pairs


@dataclass(frozen=True, slots=True)
class Measured:
    """A pass that has ended."""

    report: Report
    seconds: float
    trigger: str = ""
    """What triggered it, in a few words; "" when it was its time."""
    kubernetes_requests: int = 0
    hetzner_requests: int = 0
    """Those of this pass alone: a report has those of the run."""
    robot_requests: int | None = None
    """None where Robot is not read."""

    @property
    def report_alone(self) -> Report:
        """The report with the requests of this pass alone, as a reader of one pass after the other expects them."""
        sent = self.report.requests
        alone = replace(
            sent, kubernetes=self.kubernetes_requests, hetzner=self.hetzner_requests, robot=self.robot_requests
        )
        return replace(self.report, requests=alone)


class Meter:
    """Measures one pass after the other. ``clock`` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before = Requests()

    def measure(self, run_pass: Callable[[], Report], trigger: str = "") -> Measured:
        """Run a pass, and return it with its requests. Raises what the pass raises."""
        began = self._clock()
        report = run_pass()
        before, sent = self._before, report.requests
        robot = max(before.robot or 0, sent.robot or 0)
        self._before = Requests(max(before.kubernetes, sent.kubernetes), max(before.hetzner, sent.hetzner), robot=robot)
        return Measured(
            report,
            self._clock() - began,
            trigger,
            max(0, sent.kubernetes - before.kubernetes),
            max(0, sent.hetzner - before.hetzner),
            None if sent.robot is None else robot - (before.robot or 0),
        )


_log = logging.getLogger("hcloud-reconciler.pass")

_SHOWN = 5
"""Objects of a hold that its line names."""


@dataclass(frozen=True, slots=True)
class _Effort:
    """The time and the Hetzner ids of one change."""

    trace: RequestTrace
    seconds: float


class PassLogger:
    """Logs each change as it ends (see ``rounds.Progress``), and each pass that says something new.

    ``clock`` is in seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._efforts: dict[str, _Effort] = {}
        self._standing: frozenset[Pairs] = frozenset()

    def attends(self, actuators: Mapping[str, Actuator]) -> Mapping[str, Actuator]:
        """The same actuators, with the Hetzner ids of what they request, and the time that they take, recorded."""
        return {kind: self._attended(actuator) for kind, actuator in actuators.items()}

    def begin(self, changes: Sequence[Change]) -> None:  # noqa: ARG002 - each is told of when it ends
        """A round begins."""
        with self._lock:
            self._efforts.clear()

    def done(self, change: Change, outcome: Outcome) -> None:
        """Log what was applied, and what failed. What waits, or was left out, is in the report."""
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
        """Log a pass that says something new: one line, and one for each of its errors, for each incomplete list, and
        for each problem that a person has to decide on. A lasting one is logged once, as it comes up. A pass without
        news is not to be logged."""
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
            **({} if measured.robot_requests is None else {"robot_requests": measured.robot_requests}),
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
    """What lasts from pass to pass until a person acts, each with the word for it."""
    for hold in report.holds:
        if not hold.approved:
            keys = listed(hold.keys, _SHOWN)
            command = approve_command(hold.hash, report.approve_flags)
            told = pairs(rule=hold.rule, value=hold.value, limit=hold.limit, keys=keys, why=hold.said, approve=command)
            yield told, "held"
    for note in report.notes:
        if note.kind is NoteKind.ANCHOR:
            yield pairs(rule=note.kind.value, why=note.text), "violated"
    if report.snapshot is not None and not report.obstacles:
        for name, section in report.snapshot.sections().items():
            if not section.complete and section.why_incomplete not in report.errors:
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
