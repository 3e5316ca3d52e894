"""Text and JSON of the result of ``reconcile orphans``. ``docs/orphans.md`` shows both."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Literal

from msgspec import Meta, Struct

from actuators.outcome import Applied, Failed, Outcome, Skipped
from desired.load_balancers.orphans import Orphan, StrayAddress
from desired.load_balancers.prices import price_of
from desired.model.clocks import shown_moment
from desired.syntax.bounds import counted
from reconciler.config.program import typed
from reconciler.report.documents import ClusterDocument, Versioned
from reconciler.report.money import UNKNOWN, a_month, money
from reconciler.report.text import TextLine, Tone, visible_lines


class OrphansResult(StrEnum):
    """The first that applies, in this order."""

    ERROR = "error"
    """What is listed is not certain to be all, or nothing could be deleted."""
    PARTIAL = "partial"
    """A deletion that was asked for did not happen."""
    ORPHANS = "orphans"
    """There are some; after a deletion: some are left."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class OrphanReport:
    """Everything that there is to say of orphans; ``errors`` are lines for people."""

    taken_at: datetime | None = None
    """The API server's clock; None when nothing could be read."""
    cluster_uid: str | None = None
    """None when it could not be read."""
    orphans: tuple[Orphan, ...] = ()
    stray: tuple[StrayAddress, ...] = ()
    """Addresses without an owner that get traffic; they are shown, and never removed."""
    outcomes: Mapping[int, Outcome] = field(default_factory=dict)
    """Id of each orphan whose deletion was asked for → Applied, Failed or Skipped."""
    currency: str | None = None
    """Code of the project's currency; None when it is not known."""
    obstacle: str | None = None
    """Why nothing could be deleted at the moment; None when that was asked for, or nothing stands in the way."""
    errors: tuple[str, ...] = ()
    flags: str = ""
    """Those that the command has to be given again to reach the same cluster."""

    def lines(self) -> Iterator[TextLine]:
        """The text: what there is, what became of it, what to type next, what went wrong."""
        return visible_lines(_lines(self))

    def document(self) -> "OrphansDocument":
        """The JSON."""
        return OrphansDocument.of(self)

    @property
    def left(self) -> tuple[Orphan, ...]:
        """The orphans that are still there."""
        return tuple(each for each in self.orphans if not self._is_deleted(each))

    @property
    def deleted(self) -> tuple[Orphan, ...]:
        """The orphans that are gone now."""
        return tuple(filter(self._is_deleted, self.orphans))

    def _is_deleted(self, orphan: Orphan) -> bool:
        return isinstance(self.outcomes.get(orphan.balancer.id), Applied)

    @property
    def undone(self) -> int:
        """How many deletions that were asked for did not happen."""
        return sum(not isinstance(outcome, Applied) for outcome in self.outcomes.values())

    @property
    def code(self) -> int:
        """The exit code: 0 unless something is not known, or did not happen that was asked for."""
        return 1 if self.errors or self.undone else 0

    @property
    def result(self) -> OrphansResult:
        """The one word for it."""
        if self.errors:
            return OrphansResult.ERROR
        if self.undone:
            return OrphansResult.PARTIAL
        return OrphansResult.ORPHANS if self.left else OrphansResult.NONE


def shown_orphan(orphan: Orphan) -> str:
    """One orphan on one line: what a person needs to recognize it."""
    balancer = orphan.balancer
    addresses = ", ".join(str(address) for address in (balancer.ipv4, balancer.ipv6) if address) or "no public address"
    return f"{balancer.id}  {balancer.spec.name}  {balancer.type.name} in {balancer.spec.location}, {addresses}"


def _lines(report: OrphanReport) -> Iterator[TextLine]:
    if report.taken_at is not None:
        cluster = report.cluster_uid or "unknown"
        yield TextLine(f"Cluster {cluster}, read at {shown_moment(report.taken_at, to_seconds=True)}", Tone.HEADING)
    for orphan in report.orphans:
        yield TextLine("")
        yield from _orphan(orphan, report)
    for stray in report.stray:
        yield TextLine("")
        yield TextLine(f"    {stray.ip} is a target of load balancer {stray.balancer.id} {stray.balancer.spec.name}")
        yield TextLine(f"      why: {stray.reason.text}", Tone.DETAIL)
        yield TextLine("      kept; if it is unused, remove it in Hetzner's console", Tone.WARNING)
    if report.orphans or report.stray:
        yield TextLine("")
    if report.taken_at is not None and (report.orphans or not report.errors):
        yield _summary(report)
    if report.obstacle is not None:
        yield TextLine(f"Nothing could be deleted now: {report.obstacle}", Tone.WARNING)
    elif not report.outcomes and not report.errors:
        yield from _what_to_type(report)


def _what_to_type(report: OrphanReport) -> Iterator[TextLine]:
    if any(orphan.kept is None and not orphan.needs_its_id for orphan in report.orphans):
        yield TextLine(f"To delete what may go: {_deletion(report)}")


def _deletion(report: OrphanReport, number: int | None = None) -> str:
    """The command that deletes one, or with None all that need no id, where this list came from."""
    return typed("orphans --delete", "" if number is None else str(number), report.flags)


def _orphan(orphan: Orphan, report: OrphanReport) -> Iterator[TextLine]:
    outcome = report.outcomes.get(orphan.balancer.id)
    symbol, tone = ("-", Tone.REMOVE) if isinstance(outcome, Applied) else (" ", Tone.PLAIN)
    if isinstance(outcome, Failed | Skipped):
        symbol, tone = "!", Tone.BAD
    yield TextLine(f"  {symbol} {shown_orphan(orphan)}", tone)
    yield TextLine(f"      why: {orphan.reason.text}", Tone.DETAIL)
    age = _age(report.taken_at, orphan.balancer.created_at)
    yield TextLine(f"      {age}, {_shown([orphan], report.currency)}", Tone.DETAIL)
    match outcome:
        case Applied():
            yield TextLine("      deleted", tone)
        case Failed(why) | Skipped(why):
            yield TextLine(f"      not deleted: {why}", tone)
        case _ if orphan.kept is not None:
            yield TextLine(f"      kept: {orphan.kept}", Tone.WARNING)
        case _ if orphan.was_released:
            command = _deletion(report, orphan.balancer.id)
            yield TextLine(f"      released on purpose; to delete it and its addresses: {command}")
        case _ if orphan.is_of_another_class:
            command = _deletion(report, orphan.balancer.id)
            yield TextLine(f"      of Services that are not served here; to delete it: {command}")
        case _ if orphan.serves:
            command = _deletion(report, orphan.balancer.id)
            yield TextLine(f"      still serves; to delete it and its addresses: {command}", Tone.WARNING)


def _summary(report: OrphanReport) -> TextLine:
    if not report.orphans:
        return TextLine("No load balancer of this cluster is left over.", Tone.GOOD)
    number = counted(len(report.orphans), "load balancer")
    if not report.outcomes:
        return TextLine(f"{number} left over, {_shown(report.orphans, report.currency)}.")
    deleted, left = report.deleted, len(report.left)
    saved = f" Saved: {_shown(deleted, report.currency)}." if deleted else ""
    text = f"{number} left over: {len(deleted)} deleted, {report.undone} not deleted, {left} still there.{saved}"
    return TextLine(text, Tone.BAD if report.undone else Tone.GOOD)


def _shown(orphans: Collection[Orphan], currency: str | None) -> str:
    """``16.40 EUR a month``, at least that if not all prices are known."""
    gross = _gross(orphans)
    if gross is None:
        return UNKNOWN
    is_known = all(price_of(orphan.balancer) is not None for orphan in orphans)
    return f"{'' if is_known else 'at least '}{a_month(gross, currency)}"


def _age(now: datetime | None, since: datetime) -> str:
    """In the largest unit of which there are two."""
    if now is None:
        return "of unknown age"
    age = now - since
    for name, unit in (("days", timedelta(days=1)), ("hours", timedelta(hours=1))):
        if age >= 2 * unit:
            return f"{age // unit} {name} old"
    return f"{max(age, timedelta()) // timedelta(minutes=1)} minutes old"


Money = Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]{2}$")]


class DeletionDocument(Struct, frozen=True):
    """How a deletion that was asked for ended."""

    state: Literal["deleted", "failed", "skipped"]
    why: str | None
    """None when it was deleted."""

    @classmethod
    def of(cls, outcome: Outcome | None) -> "DeletionDocument | None":
        """The outcome of a deletion; None when none was asked for."""
        match outcome:
            case Applied():
                return cls("deleted", None)
            case Failed(why):
                return cls("failed", why)
            case Skipped(why):
                return cls("skipped", why)
        return None


class OrphanDocument(Struct, frozen=True):
    """One orphan."""

    id: int
    name: str
    type: str
    location: str | None
    ipv4: IPv4Address | None
    ipv6: IPv6Address | None
    created: datetime
    age_s: Annotated[int, Meta()] | None
    """None when the time is not known. Clocks that differ may make it negative."""
    why: str
    """Why no Service wants it."""
    service_uid: str | None
    """UID of the Service that its label names."""
    released: str | None
    """When it was released with its addresses; "" if its labels do not say when, None if it was not released."""
    monthly_gross: Money | None
    """Price of its type at its location; None when the API did not say."""
    serves: bool
    """Whether a target of it is healthy, or a Service publishes an address of it."""
    protected: bool
    """Against deletion."""
    kept: str | None
    """Why it is not deleted even on demand; None when it may be."""
    outcome: DeletionDocument | None
    """None when its deletion was not asked for."""

    @classmethod
    def of(cls, orphan: Orphan, report: OrphanReport) -> "OrphanDocument":
        """An orphan of the report."""
        balancer, now = orphan.balancer, report.taken_at
        owner = balancer.owner
        return cls(
            id=balancer.id,
            name=balancer.spec.name,
            type=balancer.type.name,
            location=balancer.spec.location,
            ipv4=balancer.ipv4,
            ipv6=balancer.ipv6,
            created=balancer.created_at,
            age_s=int((now - balancer.created_at).total_seconds()) if now else None,
            why=orphan.reason.text,
            service_uid=owner.uid,
            released=owner.released,
            monthly_gross=_gross([orphan]),
            serves=orphan.serves,
            protected=balancer.is_protected,
            kept=orphan.kept,
            outcome=DeletionDocument.of(report.outcomes.get(balancer.id)),
        )


class StrayDocument(Struct, frozen=True):
    """An address without an owner that gets traffic."""

    load_balancer: int
    name: str
    """Of the load balancer."""
    ip: str
    why: str
    """Why it has no owner."""


class OrphansDocument(Versioned, frozen=True, kw_only=True):
    """The load balancers of this cluster that no Service wants."""

    result: OrphansResult
    taken_at: datetime | None
    """The API server's clock; None when it could not be read."""
    cluster: ClusterDocument
    orphans: tuple[OrphanDocument, ...]
    """By id. Those that were deleted are among them."""
    stray_addresses: tuple[StrayDocument, ...]
    """Targets of load balancers of Services. Empty where Robot is not read, and where ids were given."""
    currency: str | None
    """Code of the project's currency; None when it is not known."""
    monthly_gross: Money | None
    """What those that are still there cost a month; None when no price is known."""
    obstacle: str | None
    """Why nothing could be deleted at the moment; None when nothing stands in the way, and after a deletion, when it is
    an error."""
    errors: tuple[str, ...]

    @classmethod
    def of(cls, report: OrphanReport) -> "OrphansDocument":
        """All that there is to say."""
        return cls(
            result=report.result,
            taken_at=report.taken_at,
            cluster=ClusterDocument(report.cluster_uid),
            orphans=tuple(OrphanDocument.of(orphan, report) for orphan in report.orphans),
            stray_addresses=tuple(
                StrayDocument(each.balancer.id, each.balancer.spec.name, each.ip, each.reason.text)
                for each in report.stray
            ),
            currency=report.currency,
            monthly_gross=_gross(report.left),
            obstacle=report.obstacle,
            errors=report.errors,
        )


def _gross(orphans: Collection[Orphan]) -> str | None:
    """The sum of the prices that are known; None if none is."""
    prices = [price for orphan in orphans if (price := price_of(orphan.balancer)) is not None]
    return money(sum(prices, Decimal(0))) if prices else None
