"""JSON documents. A document is a type: its fields are the members, in the order in which people read them.

``to_json`` encodes every document, and the published schemas are made from the same types, so that both follow from one
declaration. Values of the planner are documents as they are. UNSET and UNMANAGED leave a member out, None is null.
``report_as_json`` is the document of a report, of one shape for plans and for what was applied.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache, partial
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.health.state import States
from desired.model.route import Route
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import to_builtins
from desired.plan.change import Change, Hold, State, Verdict
from desired.plan.kinds import KINDS, Verb
from desired.plan.notes import Note
from desired.section import UNMANAGED, Present, Section
from reconciler import __version__
from reconciler.report.escaping import LIMITS
from reconciler.report.fields import FieldChange, field_changes
from reconciler.report.money import CENT
from reconciler.result import Line, MonthlyCost, Report, Result, approve_command, summary

FORMAT_VERSION = "1.0"
"""Readers ignore fields they do not know within a major version, and refuse another major version."""
FormatVersion = Annotated[str, Meta(pattern=r"^1\.[0-9]+$")]
DocumentKey = Annotated[str, Meta(pattern="^[a-z_]+(/.+)?$")]
"""The key of something in a plan, ``node/web-1``."""
Shown = Mapping[type, Callable[[Any], object]]
"""Type that is no document → what is shown in its place."""


class Versioned(Struct, frozen=True, kw_only=True):
    """What every document begins with."""

    format_version: FormatVersion = FORMAT_VERSION
    tool_version: str = __version__


class ClusterDocument(Struct, frozen=True):
    """The cluster that was read."""

    uid: str | None
    """UID of namespace kube-system; None when it could not be read."""

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> "ClusterDocument":
        """The cluster of a snapshot."""
        uid = snapshot.cluster_uid if snapshot else None
        return cls(uid.value if isinstance(uid, Present) else None)


class RequestsDocument(Struct, frozen=True):
    """How many requests the run sent to each API, and how many more Hetzner takes."""

    kubernetes: int
    hetzner: int
    robot: int | UnsetType = UNSET
    """Only there where Robot servers are read."""
    hetzner_left: int | UnsetType = UNSET
    """What was left of the project's allowance after the run; only there where Hetzner said so."""
    hetzner_limit: int | UnsetType = UNSET
    """How many requests an hour that allowance is; likewise."""

    @classmethod
    def of(cls, report: Report) -> "RequestsDocument":
        """Those of the run that made the report."""
        sent = report.requests
        return cls(
            sent.kubernetes,
            sent.hetzner,
            UNSET if sent.robot is None else sent.robot,
            UNSET if sent.remaining is None else sent.remaining,
            UNSET if sent.limit is None else sent.limit,
        )


def to_json(value: object, shown: Shown | None = None) -> Any:
    """``value`` in JSON values. Mappings come in the order of their keys."""
    if shown and type(value) in shown:
        value = shown[type(value)](value)
    match value:
        case Mapping():
            return {str(key): to_json(value[key], shown) for key in sorted(value, key=str)}
        case tuple() | list():
            return [to_json(item, shown) for item in value]
        case Route():
            return to_builtins(value)
    document: Any = type(value)
    names = members_of(document)
    if not names:
        return to_builtins(value)
    members = ((name, getattr(value, field)) for field, name in names.items())
    return {name: to_json(member, shown) for name, member in members if member is not UNSET and member is not UNMANAGED}


@cache
def members_of(document: Any) -> Mapping[str, str]:
    """Field of a document → the name of its member; nothing for any other type.

    Fields that are never compared are left out. A field whose name Python keeps for itself has an underscore behind it,
    which its member has not.
    """
    if is_dataclass(document):
        names = [field.name for field in fields(document) if field.compare]
    else:
        names = list(getattr(document, "__struct_fields__", ()))
    return {name: name.rstrip("_") for name in names}


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


Amount = Annotated[str, Meta(pattern=r"^-?[0-9]+\.[0-9]{2,}$")]
"""An exact amount; text, so that nothing rounds it."""


class MonthlyCostDocument(Struct, frozen=True):
    """The difference that the changes that would be, or were, made make to the price a month of load balancers."""

    currency: str | None
    """Its code; None when it is not known."""
    gross: Amount | None
    """With VAT, without traffic; None if a price is not known."""

    @classmethod
    def of(cls, cost: MonthlyCost) -> "MonthlyCostDocument | None":
        """That of a report; None if no change has a cost."""
        return None if cost.changes is None else cls(cost.currency, _exact(cost.changes.gross))


def _exact(amount: Decimal | None) -> Any:
    """All of an amount, with two decimals at least; None where it is not known."""
    if amount is None:
        return None
    return f"{amount.normalize():f}" if amount != amount.quantize(CENT) else f"{amount.quantize(CENT) + 0:f}"


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
    cost: Amount | None
    """The difference that it makes to the gross price a month; None if it makes none, or a price is not known."""

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
            cost=None if change.cost is None else _exact(change.cost.gross),
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
    states: States
    """What is, whatever is planned."""
    changes: tuple[Line, ...]
    notes: tuple[Note, ...]
    holds: tuple[Hold, ...]
    errors: tuple[str, ...]
    requests: RequestsDocument
    summary: SummaryDocument
    cost: MonthlyCostDocument | None
    """None if nothing that would be done, or was done, has a cost."""


SHOWN: Mapping[type, type] = {Line: ChangeDocument, Change: ChangeDocument, Hold: HoldDocument}
"""Type of the planner or of a report → the document that shows it."""


def shown(report: Report) -> Shown:
    """How the parts of a report are shown."""
    return {
        Line: lambda line: ChangeDocument.of(line.change, line.outcome),
        Change: ChangeDocument.of,
        Hold: partial(HoldDocument.of, flags=report.approve_flags),
    }


def report_as_json(report: Report) -> Mapping[str, Any]:
    """The report in JSON values."""
    sections = report.snapshot.sections() if report.snapshot else {}
    document = ReportDocument(
        format_version=FORMAT_VERSION,
        result=report.result,
        tool_version=__version__,
        taken_at=report.snapshot.taken_at if report.snapshot else None,
        cluster=ClusterDocument.of(report.snapshot),
        sections=SectionsDocument(**{name: SectionDocument.of(name, section) for name, section in sections.items()}),
        states=report.states,
        changes=report.lines,
        notes=report.notes,
        holds=report.holds,
        errors=report.errors,
        requests=RequestsDocument.of(report),
        summary=SummaryDocument(**summary(report)),
        cost=MonthlyCostDocument.of(report.cost),
    )
    written: Mapping[str, Any] = to_json(document, shown(report))
    return written
