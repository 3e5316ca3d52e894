"""What the log says of a pass; and the measurement of one: its report, its requests, and what triggered it."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from actuators.apply import Actuator
from actuators.http.connection import RequestTrace, tracing
from actuators.outcome import Applied, Failed, Outcome
from desired.health.state import NodeState, ServiceState
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Verdict
from desired.plan.notes import NoteKind
from desired.section import grouped
from desired.syntax.bounds import listed
from reconciler.result import UPDATE_DNS, Report, Requests, Result, approve_command, look_command, summary
from reconciler.telemetry.logs import Pairs, pairs


@dataclass(frozen=True, slots=True)
class Measured:
    """A pass that has ended."""

    report: Report
    """With the requests of this pass alone."""
    seconds: float
    trigger: str = ""
    """What triggered it, in a few words; "" when it was its time."""


class Meter:
    """Measures one pass after the other. ``clock`` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._before = Requests()

    def begin(self) -> None:
        """A pass begins; the first one has begun with the meter."""
        self._began = self._clock()

    def end(self, report: Report, trigger: str = "") -> Measured:
        """The pass that ended with this report, whose requests are those of the run; of a bug it has none."""
        before, sent = self._before, report.requests
        robot = max(before.robot or 0, sent.robot or 0)
        self._before = Requests(max(before.kubernetes, sent.kubernetes), max(before.hetzner, sent.hetzner), robot=robot)
        alone = replace(
            sent,
            kubernetes=max(0, sent.kubernetes - before.kubernetes),
            hetzner=max(0, sent.hetzner - before.hetzner),
            robot=None if sent.robot is None else robot - (before.robot or 0),
        )
        return Measured(replace(report, requests=alone), self._clock() - self._began, trigger)


_log = logging.getLogger("hcloud-reconciler.pass")

_SHOWN = 5
"""Objects that a line names."""
_AGAIN_S = 300.0
"""Seconds after which what needs a person is logged again."""
_CALLING = frozenset({ServiceState.DOWN, ServiceState.BLOCKED, NodeState.STUCK})
"""States that are logged again while they last."""


@dataclass(frozen=True, slots=True)
class _Effort:
    """The time and the Hetzner ids of one change."""

    trace: RequestTrace
    seconds: float


class PassLogger:
    """Logs each change as it ends (see ``context.Progress``), and each pass that says something new.

    ``clock`` is in seconds.
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, describe: Callable[[Change], str] = lambda _: ""
    ) -> None:
        """``describe`` says what a change makes of which fields; "" for nothing."""
        self._clock = clock
        self._describe = describe
        self._lock = threading.Lock()
        self._efforts: dict[str, _Effort] = {}
        self._standing: Mapping[str, _Finding] = {}
        """Name of what a person should know, as long as it holds."""
        self._told_at: dict[str, float] = {}
        """The same name → when it was logged last."""

    def attends(self, actuators: Mapping[str, Actuator]) -> Mapping[str, Actuator]:
        """The same actuators, with the Hetzner ids of what they request, and the time that they take, recorded."""
        return {kind: self._attended(actuator) for kind, actuator in actuators.items()}

    def begin(self, changes: Sequence[Change]) -> None:  # noqa: ARG002 - each is told of when it ends
        """A pass begins to write."""
        with self._lock:
            self._efforts.clear()

    def done(self, change: Change, outcome: Outcome) -> None:
        """Log what was applied, and what failed. What waits, or was left out, is in the report."""
        with self._lock:
            effort = self._efforts.pop(change.key, None)
        match outcome:
            case Applied():
                _log.info("applied %s", _told(change, effort, self._describe(change)))
            case Failed(error):
                _log.warning("failed %s", _told(change, effort, self._describe(change), error=error))

    def end(self) -> None:
        """A pass has written."""

    def look(self, report: Report) -> None:
        """Log replaced addresses, and what lasts from pass to pass: as it begins, every five minutes while a person is
        needed, and as it ends. Objects with one cause share a line."""
        for moved in report.replacements():
            both = {"before": ", ".join(moved.before), "after": ", ".join(moved.after)}
            _log.warning("replaced %s", pairs(key=moved.service, **both, advice=UPDATE_DNS))
        now, standing = self._clock(), {finding.name: finding for finding in _standing(report)}
        due = []
        for name, finding in standing.items():
            told_at = self._told_at.get(name)
            if told_at is None or (finding.needs_a_person and now - told_at >= _AGAIN_S):
                due.append(finding)
                self._told_at[name] = now
        for word, told, level in _by_cause(due):
            _log.log(level, "%s %s", word, told)
        unclear = {state.key for state in report.states if state.state is ServiceState.WAITING}
        over = {name: finding for name, finding in self._standing.items() if name not in standing}
        # If nothing was read, nothing is known to have ended.
        kept = {name: each for name, each in over.items() if report.snapshot is None or each.key in unclear}
        told_anew = {finding.key for finding in standing.values() if finding.key}
        ended = [each for name, each in over.items() if name not in kept and each.key not in told_anew]
        for word, about in _by_word(ended):
            _log.info("no longer %s %s", word, about)
        self._standing = {**kept, **standing}
        self._told_at = {name: at for name, at in self._told_at.items() if name in self._standing}

    def passed(self, measured: Measured) -> None:
        """Log a pass that says something new: one line, and one for each of its errors. A pass without news is not to
        be logged."""
        report, sent = measured.report, measured.report.requests
        for error in report.errors:
            _log.error("error %s", pairs(error=error))
        has_failed = report.result in (Result.ERROR, Result.INCOMPLETE) or bool(report.outcomes(Failed))
        told = pairs(
            result=report.result.value,
            **summary(report),
            duration_s=round(measured.seconds, 3),
            kubernetes_requests=sent.kubernetes,
            hetzner_requests=sent.hetzner,
            **({} if sent.robot is None else {"robot_requests": sent.robot}),
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


@dataclass(frozen=True, slots=True)
class _Finding:
    """Something that lasts from pass to pass."""

    word: str
    told: Mapping[str, object]
    """What is logged as it begins; of an object without its key."""
    about: Mapping[str, object] = field(default_factory=dict)
    """What is logged as it ends: what makes it the same in another pass, whatever is measured. Empty of an object."""
    key: str = ""
    """Of the Service or Node whose state it is; "" of all else."""
    needs_a_person: bool = False
    """Whether it is logged again while it lasts."""
    passes: bool = False
    """Whether it passes by itself."""

    @property
    def name(self) -> str:
        """Its identity."""
        return f"{self.word} {self.key or pairs(**self.about)}"


def _by_cause(found: Iterable[_Finding]) -> Iterator[tuple[str, Pairs, int]]:
    """A word, what is told and its level, for each cause."""
    causes = grouped((f"{each.word} {pairs(**each.told)}" if each.key else each.name, each) for each in found)
    for first, *others in causes.values():
        told = {**_objects([first, *others]), **first.told} if first.key else first.told
        yield first.word, pairs(**told), logging.INFO if first.passes else logging.WARNING


def _by_word(ended: Sequence[_Finding]) -> Iterator[tuple[str, Pairs]]:
    """A word and what it is no longer said of; objects together."""
    yield from ((each.word, pairs(**each.about)) for each in ended if not each.key)
    for word, found in grouped((each.word, each) for each in ended if each.key).items():
        yield word, pairs(**_objects(found))


def _objects(found: Sequence[_Finding]) -> Mapping[str, object]:
    if len(found) == 1:
        return {"key": found[0].key}
    return {"objects": len(found), "keys": listed([each.key for each in found], _SHOWN)}


def _standing(report: Report) -> Iterator[_Finding]:
    """What lasts from pass to pass."""
    yield from _withheld(report)
    for note in report.notes:
        if note.kind is NoteKind.ANCHOR:
            about = {"rule": note.kind.value}
            yield _Finding("violated", {**about, "why": note.text}, about, needs_a_person=True)
    for state in report.states.unwell:
        if not any(error in state.why for error in report.errors):
            yield _Finding(state.word, {"why": state.why}, key=state.key, needs_a_person=state.state in _CALLING)
    sections = report.snapshot.sections() if report.snapshot is not None and not report.obstacles else {}
    for name, section in sections.items():
        if not section.complete and section.why_incomplete not in report.errors:
            gap = {"section": name, "why": section.why_incomplete}
            yield _Finding("incomplete", gap, gap)


def _withheld(report: Report) -> Iterator[_Finding]:
    """The holds, and what waits by each rule."""
    for hold in report.holds:
        if not hold.approved:
            keys, now = listed(hold.keys, _SHOWN), report.snapshot.taken_at if report.snapshot else None
            measure = {"rule": hold.rule, "value": hold.value, "limit": hold.limit, "keys": keys}
            end = {} if hold.end is None else {"ends": hold.end.said_at(now)}
            name, command = ("approve", approve_command) if hold.approval_mends else ("look", look_command)
            told = {**measure, "why": hold.said, **end, name: command(hold.hash, report.approve_flags)}
            yield _Finding("held", told, {"rule": hold.rule, "keys": keys}, needs_a_person=True)
    planned = (line.change for line in report.lines if line.outcome is None)
    waiting = (change for change in planned if change.decision.verdict is Verdict.WAITING)
    for rule, changes in grouped((change.decision.rule, change) for change in waiting).items():
        about = {"rule": rule, "keys": listed([change.key for change in changes], _SHOWN)}
        yield _Finding("waiting", {**about, "why": changes[0].decision.why}, about, passes=True)


def _told(change: Change, effort: _Effort | None, described: str, **more: str) -> Pairs:
    data: dict[str, object] = {"kind": change.kind, "key": change.key, "action": change.verb.value}
    data |= {"changes": described} if described else {}
    data["why"] = change.reason
    if effort is not None:
        data["duration_s"] = round(effort.seconds, 3)
        if effort.trace.actions:
            data["hetzner_actions"] = ",".join(map(str, effort.trace.actions))
        if effort.trace.correlations:
            data["correlation_ids"] = ",".join(effort.trace.correlations)
    return pairs(**data, **more)
