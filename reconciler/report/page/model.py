"""Model of the page: everything that it says, made from one report, the ring of the last passes, and who leads.

Pure. What is drawn and how is for ``sections``; what stands here is compared with the JSON report in tests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from desired.plan.change import Hold
from desired.plan.notes import Note, NoteKind
from desired.section import Present
from reconciler import __version__
from reconciler.report.folding import LEAST, Block, Fold
from reconciler.report.money import LIST_PRICE, a_month, money, shown_cost, shown_total
from reconciler.report.outline import removals, section_counts, sections
from reconciler.report.page.ring import PassRecord
from reconciler.report.page.world_map import WorldMap, map_of
from reconciler.report.text_report import (
    EXPLANATION,
    alike,
    blocks_of,
    next_step_of,
    ordered_holds,
    shown_requests,
)
from reconciler.result import (
    Report,
    Result,
    approve_command,
    look_command,
    needing_a_person,
    summary,
)


@dataclass(frozen=True, slots=True)
class Gap:
    """A section that was not read whole."""

    name: str
    read: int
    expected: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Head:
    """What is known at once: which cluster, when, by whom, with which result."""

    version: str
    cluster: str
    """UID; "" where it could not be read."""
    read_at: datetime | None
    result: Result | None
    """None while no pass has ended."""
    means: str
    """The rest of the result's sentence; "" where its name says enough."""
    counts: tuple[tuple[str, int], ...]
    """``add``, ``held`` and so on, with how many changes; only those that occur."""
    leader: str
    """Who leads, in a sentence; "" where none has to."""
    requests: str
    left: str
    """``3590 of 3600``; "" where Hetzner did not say."""
    errors: tuple[str, ...]
    gaps: tuple[Gap, ...]
    next_step: str
    """The command that carries the plan out; "" where there is none."""
    need_a_person: int = 0
    """How many objects wait for one to correct them."""
    why_empty: str = ""
    """Why there is nothing else on the page; "" where there is."""
    last: PassRecord | None = None
    """The last pass; None of a run that makes only one."""


@dataclass(frozen=True, slots=True)
class PlanPart:
    """The changes of one kind of object."""

    heading: str
    blocks: tuple[Block, ...]
    """Each change in exactly one place."""
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class HeldChanges:
    """One hold, with what to type."""

    hold: Hold
    look: str
    """The command that shows all of it."""
    approve: str


@dataclass(frozen=True, slots=True)
class LikeNotes:
    """Notes of one kind that say the same."""

    kind: NoteKind
    text: str
    notes: tuple[Note, ...]
    needs_a_person: bool

    @property
    def is_folded(self) -> bool:
        """Whether a count stands for them; each is told inside."""
        return len(self.notes) >= LEAST


@dataclass(frozen=True, slots=True)
class PageCost:
    """What the load balancers of the cluster cost a month, and what changes make of it."""

    total: str = ""
    """In a sentence; "" where nothing has a cost."""
    changes: tuple[tuple[str, str], ...] = ()
    """Key of a change, and what it makes of the price."""
    currency: str | None = None
    """Its code; None when it is not known."""


@dataclass(frozen=True, slots=True)
class Page:
    """All that is on the page."""

    head: Head
    plan: tuple[PlanPart, ...] = ()
    goes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What a removal comes to, and the keys of all such."""
    map: WorldMap = field(default_factory=WorldMap)
    holds: tuple[HeldChanges, ...] = ()
    notes: tuple[LikeNotes, ...] = ()
    cost: PageCost = PageCost()
    passes: tuple[PassRecord, ...] = ()
    """The latest first."""
    is_watched: bool = False
    """Whether passes go on, so that some are to be shown even where none has ended."""

    @property
    def changes(self) -> int:
        """How many changes there are."""
        return sum(len(block.lines) if isinstance(block, Fold) else 1 for part in self.plan for block in part.blocks)


def page_of(
    report: Report | None,
    passes: Sequence[PassRecord] = (),
    *,
    leader: str = "",
    why_empty: str = "",
    is_watched: bool = False,
) -> Page:
    """The page of a report. Where there is none, ``why_empty`` says why. ``leader`` is a sentence, ``passes`` come
    latest first; ``is_watched`` tells that passes go on."""
    if report is None:
        head = replace(_head(Report(), leader, passes), result=None, means="", requests="", why_empty=why_empty)
        return Page(head, passes=tuple(passes), is_watched=is_watched)
    counts = section_counts(report)
    return Page(
        head=_head(report, leader, passes),
        plan=tuple(
            PlanPart(heading, blocks_of(lines, report.detail), _occurring(counts[heading]))
            for heading, lines in sections(report.lines).items()
        ),
        goes=tuple(removals(report.lines).items()),
        map=map_of(report),
        holds=tuple(_holds(report)),
        notes=_like(report.notes),
        cost=_cost(report),
        passes=tuple(passes),
        is_watched=is_watched,
    )


def _occurring(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((word, count) for word, count in counts.items() if count)


def _head(report: Report, leader: str, passes: Sequence[PassRecord]) -> Head:
    snapshot, requests = report.snapshot, report.requests
    uid = snapshot.cluster_uid if snapshot else None
    gaps = [
        Gap(name, len(section), section.expected, section.why_incomplete or "")
        for name, section in (snapshot.sections() if snapshot else {}).items()
        if not section.complete
    ]
    return Head(
        version=__version__,
        cluster=uid.value if isinstance(uid, Present) else "",
        read_at=snapshot.taken_at if snapshot else None,
        result=report.result,
        means=EXPLANATION[report.result].removeprefix(": "),
        counts=_occurring(summary(report)),
        leader=leader,
        requests=shown_requests(requests),
        left="" if requests.remaining is None else f"{requests.remaining} of {requests.limit}",
        errors=report.errors,
        gaps=tuple(gaps),
        next_step=next_step_of(report),
        need_a_person=len(needing_a_person(report)),
        last=passes[0] if passes else None,
    )


def _cost(report: Report) -> PageCost:
    cost, whole = report.cost, report.cost.cluster
    total = shown_total(cost)
    if not total and whole.is_known and whole.before.gross:
        total = f"{a_month(money(whole.before.gross), cost.currency)}, {LIST_PRICE}"
    told = [
        (line.change.key, shown_cost(line.change.cost, cost.currency))
        for line in report.lines
        if line.change.cost is not None
    ]
    return PageCost(total, tuple(told), cost.currency)


def _holds(report: Report) -> list[HeldChanges]:
    flags = report.approve_flags
    return [
        HeldChanges(hold, look_command(hold.hash, flags), approve_command(hold.hash, flags))
        for hold in ordered_holds(report)
    ]


def _like(notes: Sequence[Note]) -> tuple[LikeNotes, ...]:
    """All notes, what a person has to correct first."""
    found = [
        LikeNotes(members[0].kind, members[0].text, members, any(note.needs_a_person for note in members))
        for members in alike(notes)
    ]
    return tuple(sorted(found, key=lambda each: (each.kind is not NoteKind.ANCHOR, not each.needs_a_person)))
