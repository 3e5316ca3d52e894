"""Result of a run: the report of a pass, its one result, and the exit code."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.guards.guard import GuardInput, GuardResult
from desired.health.state import NO_STATES, NodeState, ObjectState, States
from desired.model.key import Key, ObjectKind
from desired.model.price import Cost
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Hold, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note
from desired.section import Absent, Unknown
from reconciler.config.options import Detail
from reconciler.config.program import PROGRAM

if TYPE_CHECKING:
    from desired.explain.rows import Explanation


class Result(StrEnum):
    """The first that applies, in this order."""

    ERROR = "error"
    NOT_LEADER = "not_leader"
    INCOMPLETE = "incomplete"
    BLOCKED = "blocked"
    PARTIAL = "partial"
    CHANGES = "changes"
    NO_CHANGES = "no_changes"


_DETAILED = {
    Result.ERROR: 1,
    Result.NOT_LEADER: 1,
    Result.INCOMPLETE: 5,
    Result.BLOCKED: 3,
    Result.PARTIAL: 4,
    Result.CHANGES: 2,
    Result.NO_CHANGES: 0,
}


_LOOKED_AFTER = frozenset({ObjectKind.NODE, ObjectKind.SERVICE, ObjectKind.LOAD_BALANCER, ObjectKind.ROUTE})
"""The objects for which such a note is a gap."""


@dataclass(frozen=True, slots=True)
class Line:
    """One change of a report; ``outcome`` is None when it was not to be applied."""

    change: Change
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests that a run sent, and what is left of the project's allowance (None when Hetzner did not say)."""

    kubernetes: int = 0
    hetzner: int = 0
    remaining: int | None = None
    limit: int | None = None
    robot: int | None = None
    """Requests to the Robot webservice; None where Robot is not read."""


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """The difference that changes make to the price a month of load balancers, by the prices of the moment."""

    currency: str | None = None
    """Its code; None when it is not known, or nothing has a price."""
    changes: Cost | None = None
    """In a dry run of all changes but those that are refused, else of those that were applied. None if none has a
    cost."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A Service of which no published address is left: firewalls and DNS records with the old ones have to change."""

    service: Key
    before: tuple[str, ...]
    """The IP addresses that it published, four at most."""
    after: tuple[str, ...]


UPDATE_DNS = "update DNS records and firewalls"
"""The remedy for a replaced address."""
_MOST_ADDRESSES = 4
"""As many as a load balancer has; anybody who may write a status may write any number."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is said about a pass. ``lines`` are sorted like a plan; ``errors`` are lines for people."""

    snapshot: Snapshot | None = None
    lines: tuple[Line, ...] = ()
    notes: tuple[Note, ...] = ()
    holds: tuple[Hold, ...] = ()
    errors: tuple[str, ...] = ()
    """What ends the run with result ``error``; empty otherwise."""
    misconfigured: tuple[str, ...] = ()
    """Those of ``errors`` that stop only what they are about, such as a cluster CIDR that cannot be, or a name that
    nothing has: all else was read and done."""
    requests: Requests = field(default_factory=Requests)
    cost: MonthlyCost = MonthlyCost()
    context: str = ""
    """The context of the kubeconfig; "" where the run has none."""
    approve_flags: str = ""
    """What ``reconcile approve`` has to be given as well, to find the same hold."""
    detail: Detail = Detail.FOLDED
    """How much of it a text tells."""
    next_step: str = ""
    """The command that does what was only planned; "" where there is none."""
    settings: Settings = field(default_factory=Settings)
    """The settings of the run."""
    facts: GuardInput | None = None
    """What was decided on ``snapshot``, and measured in it, for all that is told of it; None where nothing was."""
    results: tuple[GuardResult, ...] = ()
    """What each guard said of the plan that was judged last."""
    states: States = NO_STATES
    """The states of Services and Nodes in ``snapshot``; of none where nothing was decided."""
    not_leader: str = ""
    """Why this run may not write, as another process leads; "" when it may."""

    @property
    def result(self) -> Result:
        """The first result that applies."""
        failed = self.outcomes(Failed)
        undone = (*failed, *self.outcomes(Pending), *self.outcomes(Skipped))
        planned = [line.change.decision.verdict for line in self.lines if line.outcome is None]
        if self.errors or (failed and not self.outcomes(Applied)):
            return Result.ERROR
        if self.not_leader:
            return Result.NOT_LEADER
        if is_incomplete(self):
            return Result.INCOMPLETE
        if {Verdict.HELD, Verdict.REFUSED} & {*planned} or self.needs_a_person:
            return Result.BLOCKED
        if undone or any(line.change.decision.rule is GuardName.AGREED_PLAN for line in self.lines):
            return Result.PARTIAL
        return Result.CHANGES if planned else Result.NO_CHANGES

    @property
    def needs_a_person(self) -> bool:
        """Whether a note or a state waits for one; a verdict may as well."""
        is_told = any(note.row.is_finding or note.needs_a_person for note in self.notes)
        return is_told or any(state.needs_a_person for state in self.states)

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Those of ``errors`` that kept something from being read or done, whatever it is about."""
        return tuple(error for error in self.errors if error not in self.misconfigured)

    def outcomes(self, kind: type[Outcome]) -> tuple[Line, ...]:
        """The lines with an outcome of this kind."""
        return tuple(line for line in self.lines if isinstance(line.outcome, kind))

    def replacements(self) -> Iterator[Replacement]:
        """The Services that publish other addresses alone since this pass."""
        if self.snapshot is None:
            return
        for line in self.outcomes(Applied):
            if line.change.kind is ChangeKind.SERVICE_STATUS:
                service = self.snapshot.service(line.change.owner)
                before, after = _addresses(line.change.before), _addresses(service.ingress if service else ())
                if before and after and not {*before} & {*after}:
                    yield Replacement(line.change.owner, before, after)


@dataclass(frozen=True, slots=True)
class Explained:
    """The explanation of one object, with the report of the plan that it is part of."""

    key: Key
    report: Report
    explanation: "Explanation | None" = None
    """None when there is nothing to explain: the report's errors say why."""

    @property
    def health(self) -> ObjectState | None:
        """Its state; None for what is not looked after here."""
        return self.report.states.of(self.key)

    @property
    def errors(self) -> tuple[str, ...]:
        """What kept it from being explained."""
        return self.report.errors

    @property
    def code(self) -> int:
        """The exit code of ``reconcile explain``."""
        return 1 if self.errors else 0

    @property
    def kind(self) -> Literal["node", "service"]:
        """The first part of its key."""
        return "service" if self.key.kind is ObjectKind.SERVICE else "node"


def _addresses(published: object) -> tuple[str, ...]:
    entries = published if isinstance(published, tuple) else ()
    return tuple(entry.ip for entry in entries if entry.ip)[:_MOST_ADDRESSES]


def is_read(snapshot: Snapshot) -> bool:
    """Whether all lists are complete: what could not be read is not planned either."""
    return all(section.complete for section in snapshot.sections().values())


def is_incomplete(report: Report) -> bool:
    """Whether something that a decision depends on is incomplete."""
    snapshot = report.snapshot
    if snapshot is None:
        return False
    return (
        not is_read(snapshot)
        or isinstance(snapshot.network, Unknown)
        or any(line.change.decision.waits_for_data for line in report.lines if line.outcome is None)
        or (not isinstance(snapshot.network, Absent) and any(map(_is_undecided, report.notes)))
    )


def _is_undecided(note: Note) -> bool:
    """Whether a Node, a Service, a load balancer or a route waits for something that could not be read.

    Where the configured network is missing every Node waits for that, which is an error or reported by the anchor.
    """
    return note.key.kind in _LOOKED_AFTER and note.row.is_undecided


def needing_a_person(report: Report) -> tuple[Key, ...]:
    """Keys of the Nodes and Services that do not get what they ask for, or whose pods are unreachable, until a person
    corrects them, sorted. Services that are down, and what is held, have alerts of their own."""
    stuck = {node.key for node in report.states.nodes if node.state is NodeState.STUCK}
    return tuple(sorted(stuck | {note.key for note in report.notes if note.needs_a_person}))


def exit_code(report: Report, *, detailed: bool, acts: bool = False) -> int:
    """The process's exit code. A run that ``acts`` and ends by itself may be unattended: it tells when a
    person is needed, by 3, and when something could not be read or done, by 1."""
    result = report.result
    if detailed:
        return _DETAILED[result]
    if result in (Result.ERROR, Result.NOT_LEADER) or (acts and result is Result.INCOMPLETE):
        return 1
    if result in (Result.BLOCKED, Result.PARTIAL) and report.outcomes(Failed):
        return 1
    return 3 if acts and result is Result.BLOCKED else 0


def summary(report: Report) -> Mapping[str, int]:
    """Counts for the last line and for machines."""
    verdicts = [line.change.decision.verdict for line in report.lines if line.outcome is None]
    verbs = [line.change.verb.value for line in report.lines]
    return {
        "add": verbs.count("add"),
        "modify": verbs.count("modify"),
        "remove": verbs.count("remove"),
        "held": verdicts.count(Verdict.HELD),
        "waiting": verdicts.count(Verdict.WAITING),
        "refused": verdicts.count(Verdict.REFUSED),
        "applied": len(report.outcomes(Applied)),
        "failed": len(report.outcomes(Failed)),
    }


SHORT = 6
"""Hex digits of a hash by which a hold may be named, at least."""


def look_command(hold_hash: str, flags: str, program: str = PROGRAM) -> str:
    """The command that shows all of a hold, with what ``approve_command`` has."""
    return f"{program} holds show {hold_hash.removeprefix('sha256:')[:SHORT]} {flags}".rstrip()


def approve_command(hold_hash: str, flags: str, program: str = PROGRAM) -> str:
    """The command that approves a hold; ``flags`` are those that name the cluster and decide on the plan, if any were
    given, and ``program`` what was typed to run this process, where it was typed."""
    return f"{program} approve {hold_hash} {flags}".rstrip()
