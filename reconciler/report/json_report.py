"""JSON of a report: one shape for plans and for what was applied."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.plan.change import Change, Hold, State, Verdict
from desired.plan.kinds import KINDS, Verb
from desired.plan.notes import Note
from desired.section import Section
from reconciler import __version__
from reconciler.report.documents import (
    FORMAT_VERSION,
    ClusterDocument,
    DocumentKey,
    FormatVersion,
    RequestsDocument,
    Shown,
    to_json,
)
from reconciler.report.escaping import LIMITS
from reconciler.report.fields import FieldChange, field_changes
from reconciler.report.money import CostDocument, MonthlyCostDocument
from reconciler.result import Line, Report, Result, approve_command, summary


class SectionDocument(Struct, frozen=True):
    """What was read of one kind of object."""

    complete: bool
    count: int
    expected: int | None
    """How many there are, as the API said; None when it did not say."""
    why_incomplete: str | None
    limit: int | UnsetType = UNSET
    """How many of these Hetzner takes; only there where that is known, as of the routes of a network."""

    @classmethod
    def of(cls, name: str, section: Section[Any, Any]) -> "SectionDocument":
        """The section of this name."""
        limit = LIMITS.get(name, UNSET)
        return cls(section.complete, len(section), section.expected, section.why_incomplete, limit)


class SectionsDocument(Struct, frozen=True):
    """What was read. A section that did not have to be read is not there."""

    nodes: SectionDocument | UnsetType = UNSET
    servers: SectionDocument | UnsetType = UNSET
    robot: SectionDocument | UnsetType = UNSET
    """The dedicated servers of the Robot account."""
    routes: SectionDocument | UnsetType = UNSET
    services: SectionDocument | UnsetType = UNSET
    load_balancers: SectionDocument | UnsetType = UNSET
    certificates: SectionDocument | UnsetType = UNSET


class OutcomeDocument(Struct, frozen=True):
    """How the attempt at a change ended."""

    state: Literal["applied", "pending", "skipped", "failed"]
    why: str | UnsetType = UNSET
    """Not there when the change was applied."""
    retry_after_s: float | UnsetType | None = UNSET
    """Only there when it is pending or failed; None when no better time is known."""

    @classmethod
    def of(cls, outcome: Outcome) -> "OutcomeDocument":
        """An outcome, whatever its type."""
        match outcome:
            case Applied():
                return cls("applied")
            case Pending(why, retry_after_s):
                return cls("pending", why, retry_after_s)
            case Skipped(reason):
                return cls("skipped", reason)
            case Failed(error, retry_after_s):
                return cls("failed", error, retry_after_s)


class ChangeDocument(Struct, frozen=True):
    """One difference between what is there and what should be, with its verdict and outcome."""

    key: DocumentKey
    kind: Annotated[str, Meta(extra_json_schema={"enum": list(KINDS)})]
    class_: Verb
    before: State | None
    """The object, or the part of it that changes, as it is; None where there is nothing."""
    after: State | None
    """The same as it should be; None where there is nothing. Members that were not asked for are left out; '(known
    after apply)' stands for what exists only after another change."""
    fields: tuple[FieldChange, ...]
    """The differences, field by field. Of an object that goes only what a person knows it by."""
    reason: str
    consequences: tuple[str, ...]
    owner: DocumentKey
    """Key of the Node or Service that the change serves."""
    depends_on: tuple[DocumentKey, ...]
    """Keys of changes that have to be done first."""
    verdict: Verdict
    rule: str | None
    """The guard that decided; None when the change is allowed."""
    why: str | None
    due_in_s: float | None
    """Seconds until another look is worth it; None when no time is known."""
    outcome: OutcomeDocument | None
    """None when it was not to be applied."""
    cost: CostDocument | None
    """What it makes of the price of a load balancer; None where it changes none."""

    @classmethod
    def of(cls, change: Change, outcome: Outcome | None = None) -> "ChangeDocument":
        """A change, and how the attempt at it ended."""
        decision = change.decision
        return cls(
            key=change.key,
            kind=change.kind,
            class_=change.verb,
            before=change.before,
            after=change.after,
            fields=field_changes(change),
            reason=change.reason,
            consequences=change.consequences,
            owner=change.owner,
            depends_on=change.depends_on,
            verdict=decision.verdict,
            rule=decision.rule,
            why=decision.why or None,
            due_in_s=decision.due_in_s,
            outcome=None if outcome is None else OutcomeDocument.of(outcome),
            cost=None if change.cost is None else CostDocument.of(change.cost),
        )


class HoldDocument(Struct, frozen=True):
    """One guard with the changes that it holds until a person approves exactly these."""

    hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{16}$")]
    rule: str
    value: str
    """What was measured."""
    limit: str
    """What the guard allows."""
    keys: tuple[DocumentKey, ...]
    why: str
    approve: str
    """The command that approves it."""

    @classmethod
    def of(cls, hold: Hold, flags: str) -> "HoldDocument":
        """A hold; ``flags`` as in ``approve_command``."""
        return cls(
            hold.hash, hold.rule, hold.value, hold.limit, hold.keys, hold.said, approve_command(hold.hash, flags)
        )


class SummaryDocument(Struct, frozen=True):
    """Numbers of changes."""

    add: int
    modify: int
    remove: int
    held: int
    waiting: int
    refused: int
    applied: int
    failed: int


class ReportDocument(Struct, frozen=True):
    """A plan, or the report of what was applied."""

    format_version: FormatVersion
    result: Result
    tool_version: str
    taken_at: datetime | None
    """The API server's clock; None when it could not be read."""
    cluster: ClusterDocument
    sections: SectionsDocument
    changes: tuple[Line, ...]
    notes: tuple[Note, ...]
    holds: tuple[Hold, ...]
    errors: tuple[str, ...]
    requests: RequestsDocument
    summary: SummaryDocument
    cost: MonthlyCostDocument | None
    """None where nothing that would be done, or was done, has a cost."""
    plan_hash: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")] | UnsetType = UNSET
    """Only there in a saved plan, as all that follows: a digest of its cluster, settings and changes, by which damage
    is found."""
    expires_at: datetime | UnsetType = UNSET
    """Until when it may be applied, by the API server's clock."""
    settings: Mapping[str, str] | UnsetType = UNSET
    """Flag or variable → digest of the value with which the plan was made."""
    only: tuple[str, ...] | UnsetType = UNSET
    """The keys to which ``--only`` had restricted it; empty: it was not."""


@dataclass(frozen=True, slots=True)
class SavedPart:
    """What a saved plan has besides its report, as in ``ReportDocument``."""

    plan_hash: str
    expires_at: datetime
    settings: Mapping[str, str]
    only: tuple[str, ...]


SHOWN: Mapping[type, type] = {Line: ChangeDocument, Change: ChangeDocument, Hold: HoldDocument}
"""Type of the planner or of a report → the document that shows it."""


def shown(report: Report) -> Shown:
    """How the parts of a report are shown."""
    return {
        Line: lambda line: ChangeDocument.of(line.change, line.outcome),
        Change: ChangeDocument.of,
        Hold: partial(HoldDocument.of, flags=report.approve_flags),
    }


def report_as_json(report: Report, saved: SavedPart | None = None) -> Mapping[str, Any]:
    """The report in JSON values; with what makes it a saved plan, if any."""
    sections = report.snapshot.sections() if report.snapshot else {}
    document = ReportDocument(
        format_version=FORMAT_VERSION,
        result=report.result,
        tool_version=__version__,
        taken_at=report.snapshot.taken_at if report.snapshot else None,
        cluster=ClusterDocument.of(report.snapshot),
        sections=SectionsDocument(**{name: SectionDocument.of(name, section) for name, section in sections.items()}),
        changes=report.lines,
        notes=report.notes,
        holds=report.holds,
        errors=report.errors,
        requests=RequestsDocument.of(report),
        summary=SummaryDocument(**summary(report)),
        cost=MonthlyCostDocument.of(report.cost),
        plan_hash=UNSET if saved is None else saved.plan_hash,
        expires_at=UNSET if saved is None else saved.expires_at,
        settings=UNSET if saved is None else saved.settings,
        only=UNSET if saved is None else saved.only,
    )
    found: Mapping[str, Any] = to_json(document, shown(report))
    return found
