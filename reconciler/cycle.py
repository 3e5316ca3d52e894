"""One pass: observe, plan, guard, apply, observe again, until there is nothing left that this pass can do.

``plan_once`` and ``explain_once`` only look; ``converge`` also acts. Whether a run may is decided in ``wiring``.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from actuators.apply import Actuator, apply
from actuators.errors import ApiError, Denied, Throttled
from actuators.outcome import STOPPED, Applied, Outcome, Pending, Skipped
from desired.approval import Approval
from desired.change import Change, Hold, Note, NoteKind, Plan
from desired.diff import compute_plan
from desired.explanation.node import explain, why_no_node
from desired.judgement import judge, restrict
from desired.section import Absent
from desired.settings import Settings
from desired.snapshot import Snapshot
from reconciler.observe.kubernetes import observe_approvals
from reconciler.observe.world import Eyes, Observation, observe_nodes_again, observe_world
from reconciler.result import Cost, Explained, Line, Report
from reconciler.telemetry.announcements import on_outcome, warnings
from reconciler.telemetry.events import Event

ROUNDS = 3
"""How often a pass plans and applies: a round for what is known, one for what the first brought to light, one spare."""


class Announcer(Protocol):
    """Takes events and sends them some time."""

    def send(self, event: Event, now: datetime) -> None:
        """Say what has just happened."""

    def announce(self, events: Collection[Event], now: datetime) -> None:
        """Say what holds after a pass."""


class Progress(Protocol):
    """Hears of an apply while it goes on."""

    def begin(self, changes: Sequence[Change]) -> None:
        """These changes are about to be applied."""

    def done(self, change: Change, outcome: Outcome) -> None:
        """One of them came to an end."""

    def end(self) -> None:
        """All of them did."""


@dataclass(frozen=True, slots=True)
class Looking:
    """What a pass needs to plan: readers, settings, and where approvals are kept."""

    eyes: Eyes
    settings: Settings
    namespace: str
    approved: tuple[str, ...] = ()
    """Hashes that ``--approve`` lets through in this run."""
    approve_flags: str = ""
    """What ``reconcile approve`` has to be given as well, to reach the same cluster and namespace."""


@dataclass(frozen=True, slots=True)
class Acting:
    """What a pass needs to act. A dry run has none of this."""

    actuators: Mapping[str, Actuator]
    use_up: Callable[[Approval, datetime], None]
    events: Announcer
    progress: Progress
    stop: threading.Event


@dataclass(frozen=True, slots=True)
class _Judged:
    plan: Plan
    approvals: Mapping[str, Approval] = field(default_factory=dict)
    """Hash → approval in the ConfigMap that counts now."""


def plan_once(looking: Looking) -> Report:
    """The plan of the world as it is. Sends nothing but reads; never raises an ApiError."""
    try:
        observation = observe_world(looking.eyes, looking.settings)
    except ApiError as error:
        return Report(errors=(str(error),), cost=_cost(looking.eyes))
    return _report(looking, observation, _judge(looking, observation.snapshot).plan, {})


def explain_once(looking: Looking, name: str) -> Explained:
    """Everything that decides on the Node ``name`` now. Sends nothing but reads; never raises an ApiError."""
    key = f"node/{name}"
    try:
        observation = observe_world(looking.eyes, looking.settings)
    except ApiError as error:
        return Explained(key, Report(errors=(str(error),), cost=_cost(looking.eyes)))
    snapshot, plan = observation.snapshot, _judge(looking, observation.snapshot).plan
    report = _report(looking, observation, plan, {})
    node = snapshot.node(key)
    if node is None:
        return Explained(key, replace(report, errors=(*report.errors, why_no_node(name, snapshot))))
    return Explained(key, report, explain(node, snapshot, looking.settings, plan))


def converge(looking: Looking, acting: Acting) -> Report:
    """The report of a whole pass: what was applied, and what is left in a plan that was observed afterwards.

    Never raises an ApiError. When the world cannot be observed any more after a write, that is an error, and what was
    written is still in the report.
    """
    written: dict[str, tuple[Change, Outcome]] = {}
    observation: Observation | None = None
    try:
        observation = observe_world(looking.eyes, looking.settings)
        judged = _judge(looking, observation.snapshot)
        for _ in range(ROUNDS):
            todo = [change for change in judged.plan.allowed if not _is_done_with(change, written)]
            if not todo or acting.stop.is_set() or fatal_errors(observation, judged.plan):
                break
            written |= _apply(todo, judged, observation.snapshot, acting)
            observation = observe_nodes_again(looking.eyes, observation)
            judged = _judge(looking, observation.snapshot)
        events = tuple(warnings(judged.plan, observation.snapshot, looking.approve_flags))
        acting.events.announce(events, observation.snapshot.taken_at)
    except ApiError as error:
        report = Report(lines=_lines(None, written), errors=(str(error),), cost=_cost(looking.eyes))
        return replace(report, snapshot=observation.snapshot if observation else None)
    return _report(looking, observation, judged.plan, written, stopped=acting.stop.is_set())


def fatal_errors(observation: Observation, plan: Plan) -> tuple[str, ...]:
    """Why nothing should be applied at all: wrong credentials, an API that is gone, a network that is not there.

    Empty for trouble that leaves part of the picture: the guards judge what hangs on it. A network that is missing from
    what seems to be another project is no second error: the anchor has said what is wrong.
    """
    errors = [
        str(error)
        for part, error in observation.failures.items()
        if isinstance(error, Denied)
        or (part == "servers" and not observation.snapshot.servers and not isinstance(error, Throttled))
    ][:1]  # all parts are of one API: what keeps one from being read keeps the others
    if isinstance(observation.snapshot.network, Absent) and not any(n.kind is NoteKind.ANCHOR for n in plan.notes):
        errors.append(
            "HCLOUD_NETWORK names no network of the project that HCLOUD_TOKEN belongs to: correct one of them"
        )
    return tuple(errors)


def _judge(looking: Looking, snapshot: Snapshot) -> _Judged:
    """The judged plan. Approvals are read only when something is held: an idle pass asks nothing."""
    plan = compute_plan(snapshot, looking.settings)
    judged = judge(plan, snapshot, looking.settings, looking.approved)
    approvals: Mapping[str, Approval] = {}
    if any(not hold.approved for hold in judged.holds):
        try:
            found = observe_approvals(looking.eyes.kubernetes, looking.namespace)
            approvals = {approval.hash: approval for approval in found if approval.counts(snapshot.taken_at)}
            why = _notes_on_void(found, judged.holds, snapshot.taken_at)
        except ApiError as error:
            why = (Note("plan", NoteKind.APPROVAL, f"approvals could not be read, so none counts: {error}"),)
        plan = replace(plan, notes=(*plan.notes, *why))
        judged = judge(plan, snapshot, looking.settings, (*looking.approved, *approvals))
    nodes = tuple(f"node/{name}" for name in (*snapshot.nodes.items, *snapshot.nodes.unreadable))
    return _Judged(restrict(judged, looking.settings.only, nodes), approvals)


def _notes_on_void(found: Collection[Approval], holds: Collection[Hold], now: datetime) -> tuple[Note, ...]:
    """A word on each approval of a hold that is there and does not count: somebody believes that it does."""
    held = {hold.hash for hold in holds}
    return tuple(
        Note("plan", NoteKind.APPROVAL, f"the approval of {approval.hash} by {approval.approver} {why}")
        for approval in found
        if approval.hash in held and (why := approval.why_void(now)) is not None
    )


def _apply(
    todo: Sequence[Change], judged: _Judged, snapshot: Snapshot, acting: Acting
) -> dict[str, tuple[Change, Outcome]]:
    """Key → change and outcome. An approval that lets something through is used up before, so that it counts once."""
    refused: dict[str, tuple[Change, Outcome]] = {}
    for hold in judged.plan.holds:
        approval = judged.approvals.get(hold.hash)
        if approval is None or not {change.key for change in todo}.intersection(hold.keys):
            continue
        try:
            acting.use_up(approval, snapshot.taken_at)
        except ApiError as error:
            refused |= _withdraw(todo, hold, f"its approval could not be marked as used: {error}")
    todo = [change for change in todo if change.key not in refused]
    acting.progress.begin(todo)

    def done(change: Change, outcome: Outcome) -> None:
        acting.progress.done(change, outcome)
        event = on_outcome(change, outcome, snapshot)
        if event is not None:
            acting.events.send(event, snapshot.taken_at)

    try:
        outcomes = apply(todo, snapshot, acting.actuators, stop=acting.stop, done=done)
    finally:
        acting.progress.end()
    return refused | {change.key: (change, outcomes[change.key]) for change in todo}


def _withdraw(todo: Sequence[Change], hold: Hold, why: str) -> dict[str, tuple[Change, Outcome]]:
    return {change.key: (change, Skipped(why)) for change in todo if change.key in hold.keys}


def _is_done_with(change: Change, written: Mapping[str, tuple[Change, Outcome]]) -> bool:
    """Whether this pass has tried a change of this key and kind: only one that was overtaken is worth another round.

    An applied one is settling; a failed one, and one that an API asks to wait for, is for a later pass.
    """
    done, outcome = written.get(change.key, (None, None))
    overtaken = isinstance(outcome, Pending) and not outcome.retry_after_s
    return done is not None and done.kind == change.kind and not overtaken


def _report(
    looking: Looking,
    observation: Observation,
    plan: Plan,
    written: Mapping[str, tuple[Change, Outcome]],
    *,
    stopped: bool = False,
) -> Report:
    if stopped:
        undone = {change.key: (change, Skipped(STOPPED)) for change in plan.allowed if change.key not in written}
        written = {**undone, **written}
    return Report(
        snapshot=observation.snapshot,
        lines=_lines(plan, written),
        notes=plan.notes,
        holds=tuple(hold for hold in plan.holds if not hold.approved),
        errors=fatal_errors(observation, plan),
        cost=_cost(looking.eyes),
        approve_flags=looking.approve_flags,
    )


def _lines(plan: Plan | None, written: Mapping[str, tuple[Change, Outcome]]) -> tuple[Line, ...]:
    """What was written, with outcomes, and what is planned still. Applied and planned again: it has not settled.

    What was overtaken and is not planned any more is done: by somebody else, or by a write whose answer got lost.
    Without a plan nothing is known of that.
    """
    lines = {
        key: Line(change, outcome)
        for key, (change, outcome) in written.items()
        if plan is None or key in plan.by_key or not isinstance(outcome, Pending)
    }
    for change in plan.changes if plan else ():
        done, outcome = written.get(change.key, (None, None))
        if done is None:
            lines[change.key] = Line(change)
        elif isinstance(outcome, Applied):
            lines[change.key] = Line(change, Pending("applied, and not yet seen in the world"))
    return tuple(sorted(lines.values(), key=lambda line: line.change.order))


def _cost(eyes: Eyes) -> Cost:
    limit = eyes.hetzner.rate_limit
    return Cost(
        eyes.kubernetes.requests.total,
        eyes.hetzner.requests.total,
        limit.remaining if limit else None,
        limit.limit if limit else None,
    )
