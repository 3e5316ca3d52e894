"""View of a report: what a text, Markdown and the page show of it, computed once. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from msgspec import Struct

from desired.health.state import Level, NodeState, ObjectState, ServiceState, States, word_of
from desired.model.clocks import shown_moment
from desired.model.key import Key, ObjectKind
from desired.model.price import Cost
from desired.plan.change import GuardName, Hold, Verdict
from desired.plan.notes import Note, NoteKind
from desired.rules.nodes import NODE_SERVER_UNKNOWN
from desired.section import Present
from desired.syntax.bounds import counted
from reconciler.config.options import Detail
from reconciler.report.escaping import LIMITS, shown_use
from reconciler.report.folding import LEAST, Block, Shown, alike, blocks
from reconciler.report.money import shown_cost
from reconciler.result import Line, Report, Requests, Result, summary

_HEADINGS = {
    ObjectKind.NODE: "nodes",
    ObjectKind.LOAD_BALANCER: "load balancers",
    ObjectKind.CERTIFICATE: "certificates",
    ObjectKind.SERVICE: "services",
    ObjectKind.ROUTE: "routes",
}
"""What changes are of → what stands above them all, in the order in which people read them."""
MEANS: Mapping[Result, str] = {
    Result.ERROR: "",
    Result.NOT_LEADER: "another process leads, which makes the same changes",
    Result.INCOMPLETE: "some data could not be read, and changes that depend on it wait",
    Result.BLOCKED: "a person has to decide or correct something first",
    Result.PARTIAL: "some changes are not made yet",
    Result.CHANGES: "",
    Result.NO_CHANGES: "",
}
"""What a result means; "" where its name says enough."""
OF_AN_ERROR = NoteKind.UNKNOWN
"""Notes that most likely follow from what the error kept from being read."""
_WORDS = {"robot": "Robot servers"}
"""Sections whose name alone does not say what is in them."""


class Part(Struct, frozen=True):
    """The changes of one kind of object, but for those that stand below their hold."""

    title: str
    """``load balancers``."""
    use: str
    """What is used of a limit: ``97/100 used``; "" if there is none."""
    blocks: tuple[Block, ...]
    counts: Mapping[str, int]
    """As in the summary."""


class Held(Struct, frozen=True):
    """A hold with the changes that it withholds."""

    hold: Hold
    blocks: tuple[Block, ...]
    others: tuple[str, ...]
    """Keys of what it holds as well, and another rule withholds."""


class Gap(Struct, frozen=True):
    """A section that was not read whole."""

    name: str
    """In words."""
    read: str
    """``3 of 5``."""
    why: str
    is_of_an_error: bool
    """Whether nothing of it was read for the reason that the error has, which is said once."""


class Head(Struct, frozen=True):
    """Which world was read when, what is missing of it, and what that took."""

    cluster: str
    """UID; "" where it could not be read."""
    why_unknown: str
    """Why it could not."""
    read_at: datetime | None
    gaps: tuple[Gap, ...]
    requests: str
    """``5 to Kubernetes, 4 to Hetzner``."""
    left: str
    """``3590 of 3600``; "" where Hetzner did not say."""

    @property
    def told_gaps(self) -> Iterator[str]:
        """Of all that was not read whole, a sentence each."""
        if unread := [gap.name for gap in self.gaps if gap.is_of_an_error]:
            yield f"{', '.join(unread)}: INCOMPLETE, not read"
        for gap in self.gaps:
            if not gap.is_of_an_error:
                yield f"{gap.name}: {gap.read} read, INCOMPLETE: {gap.why}"


def head_of(report: Report) -> Head:
    """The head of a report."""
    snapshot, sent = report.snapshot, report.requests
    uid = snapshot.cluster_uid if snapshot else None
    gaps = (
        Gap(
            worded(name),
            str(len(section)) if section.expected is None else f"{len(section)} of {section.expected}",
            section.why_incomplete or "",
            bool(report.obstacles or section.why_incomplete in report.errors) and not section.total,
        )
        for name, section in (snapshot.sections() if snapshot else {}).items()
        if not section.complete
    )
    return Head(
        cluster=uid.value if isinstance(uid, Present) else "",
        why_unknown="" if uid is None or isinstance(uid, Present) else uid.why,
        read_at=snapshot.taken_at if snapshot else None,
        gaps=tuple(gaps),
        requests=_requests(sent),
        left="" if sent.remaining is None else f"{sent.remaining} of {sent.limit}",
    )


def _requests(sent: Requests) -> str:
    robot = "" if sent.robot is None else f", {sent.robot} to Robot"
    return f"{sent.kubernetes} to Kubernetes{robot}, {sent.hetzner} to Hetzner"


def worded(section: str) -> str:
    """A section's name as people write it."""
    return _WORDS.get(section, section.replace("_", " "))


class Standing(Struct, frozen=True):
    """Objects in one state for one reason."""

    first: ObjectState
    keys: tuple[Key, ...]

    @property
    def told(self) -> str:
        """``down since 2026-07-01 12:00 UTC: port 443: 0 of 2 healthy``; of several the moment of the first."""
        return told_state(self.first.word, self.first.since, self.first.why)


def told_state(word: str, since: datetime | None, why: str) -> str:
    """A state in a sentence."""
    moment = "" if since is None else f" since {shown_moment(since)}"
    return f"{word}{moment}: {why}"


def standings_of(states: States, errors: Sequence[str] = ()) -> tuple[Standing, ...]:
    """What is not well, worst first: Services and Nodes that a person should look at, and Services that wait. Those
    of one state for the same reason together; not what follows from one of these errors, which say it."""
    told = [each for each in states if each.level >= Level.WARNING or each.state is ServiceState.WAITING]
    unread = (ServiceState.UNKNOWN, NodeState.UNKNOWN) if errors else ()
    told = [e for e in told if e.state not in unread and not any(error in e.why for error in errors)]
    ordered = sorted(told, key=lambda each: -each.level)
    same = alike(ordered, lambda each: (each.key.kind, each.state, each.why))
    return tuple(Standing(group[0], tuple(each.key for each in group)) for group in same)


def state_counts(states: States) -> Iterator[str]:
    """``Services: 1 down, 19 serving``, and the same of Nodes: how many are in each state, worst first."""
    for word, group in (("Services", states.services), ("Nodes", states.nodes)):
        if group:
            found = Counter(each.state for each in group)
            yield f"{word}: {', '.join(f'{count} {word_of(state)}' for state, count in found.items())}"


def unwell(states: States) -> Iterator[str]:
    """``1 Service is down``: how many are in each state that a person should look at, worst first."""
    for word, group in (("Service", states.services), ("Node", states.nodes)):
        for state, count in Counter(each.state for each in group if each.level >= Level.WARNING).items():
            yield f"{counted(count, word)} {'is' if count == 1 else 'are'} {word_of(state)}"


class View(Struct, frozen=True):
    """All that is shown of a report."""

    report: Report
    head: Head
    counts: Mapping[str, int]
    """As in the summary."""
    standings: tuple[Standing, ...]
    parts: tuple[Part, ...]
    """Each change in exactly one place: here, or in ``held``."""
    held: tuple[Held, ...]
    """In the order of reading: the anchor explains most of the others, so it comes first."""
    notes: tuple[tuple[Note, ...], ...]
    """Those worth telling: of one kind that say the same together; each alone in full detail."""

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks."""
        yield from (block for part in self.parts for block in part.blocks)
        yield from (block for held in self.held for block in held.blocks)

    @property
    def opening(self) -> str:
        """Which switch shows what is folded: ``Each change: --full``; "" when nothing is."""
        if any(block.is_fold for block in self.blocks):
            return "Each change: --full"
        if any(block.more_fields for block in self.blocks):
            return "Each field: --full"
        return "Each note: --full" if any(map(are_folded, self.notes)) else ""

    @property
    def next_step(self) -> str:
        """What to type so that the plan is carried out; "" where that would do nothing, or something else is to be done
        first."""
        verdicts = {line.change.decision.verdict for line in self.report.lines}
        is_due = Verdict.ALLOWED in verdicts and not verdicts & {Verdict.HELD, Verdict.REFUSED}
        return self.report.next_step if self.report.result in (Result.CHANGES, Result.BLOCKED) and is_due else ""

    def price(self, cost: Cost | None) -> str:
        """The cost as it is shown; "" for None."""
        return "" if cost is None else shown_cost(cost, self.report.cost.currency)


def view_of(report: Report) -> View:
    """The view of a report."""
    held = tuple(_held(report))
    under_holds = {each.key for part in held for block in part.blocks for each in block.members}
    free = [line for line in report.lines if line.change.key not in under_holds or line.outcome is not None]
    return View(
        report=report,
        head=head_of(report),
        counts=summary(report),
        standings=standings_of(report.states, report.errors),
        parts=tuple(_parts(report, free)),
        held=held,
        notes=_notes(report),
    )


def _held(report: Report) -> Iterator[Held]:
    """The holds, each with the changes that the plan marks as held by its rule."""
    left = {str(line.change.key): line for line in report.lines if line.outcome is None}
    for hold in sorted(report.holds, key=lambda hold: hold.rule is not GuardName.PROJECT_ANCHOR):
        marked = [left.pop(key) for key in hold.keys if key in left and left[key].change.decision.rule is hold.rule]
        keys = {line.change.key for line in marked}
        shown = blocks([Shown.of(line, report.detail, is_under_its_hold=True) for line in marked], report.detail)
        yield Held(hold, shown, tuple(key for key in hold.keys if key not in keys))


def _parts(report: Report, lines: Iterable[Line]) -> Iterator[Part]:
    sections = report.snapshot.sections() if report.snapshot else {}
    for kind, group in groupby(sorted(lines, key=_place), key=lambda line: line.change.key.kind):
        title, found = _HEADINGS.get(kind, str(kind)), tuple(group)
        limited = sections.get(title) if title in LIMITS else None
        use = "" if limited is None else f"{shown_use(title, limited)} used"
        yield Part(
            title,
            use,
            blocks([Shown.of(line, report.detail) for line in found], report.detail),
            summary(Report(lines=found)),
        )


def _place(line: Line) -> tuple[int, str]:
    """Objects without a heading of their own come last."""
    kind, order = line.change.key.kind, list(_HEADINGS)
    return order.index(kind) if kind in order else len(order), kind


def is_applied(lines: Iterable[Line]) -> bool:
    """Whether any of it was to be applied, and is not only planned."""
    return any(line.outcome is not None for line in lines)


def like_notes(notes: Iterable[Note]) -> tuple[tuple[Note, ...], ...]:
    """The notes, those of one kind that say the same together. That on the anchor comes first, as it explains most of
    the others."""
    return alike(sorted(notes, key=lambda note: note.kind is not NoteKind.ANCHOR), lambda note: (note.kind, note.text))


def are_folded(notes: Sequence[Note]) -> bool:
    """Whether a few names stand for like notes; never for those of objects that need a person."""
    return len(notes) >= LEAST and not any(note.needs_a_person for note in notes)


def _notes(report: Report) -> tuple[tuple[Note, ...], ...]:
    """The notes that do not follow from something else that is shown."""
    said = {*(hold.said for hold in report.holds), *report.errors}
    said |= {NODE_SERVER_UNKNOWN.text(cause=error) for error in report.errors}
    seems_foreign = any(note.kind is NoteKind.ANCHOR for note in report.notes)

    def follows(note: Note) -> bool:
        is_of_an_error = bool(report.obstacles) and note.kind is OF_AN_ERROR
        return note.text in said or is_of_an_error or (seems_foreign and note.row.is_of_the_project)

    worth_telling = [note for note in report.notes if not follows(note)]
    if report.detail is Detail.FULL:
        return tuple((note,) for note in sorted(worth_telling, key=lambda note: note.kind is not NoteKind.ANCHOR))
    return like_notes(worth_telling)
