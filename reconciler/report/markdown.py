"""Markdown of a report, for the comment of a pull request and the summary of a step: what matters most stands first.

Foreign text cannot become markup, a link or a mention: keys and values stand in code spans, and so does each word of a
sentence that could mean something. A backslash or an entity would not do: code hosts look for mentions in what they
have rendered. What is over its budget loses parts of it whole, the least important first, and is never cut within.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from desired.health.state import Level
from desired.load_balancers.primary_ips import lost_with
from desired.model.clocks import shown_moment
from desired.model.price import Cost
from desired.plan.change import Hold, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note
from desired.syntax.bounds import counted
from reconciler.config.options import Detail
from reconciler.report.escaping import visible
from reconciler.report.folding import Block, Field, names
from reconciler.report.money import shown_cost, shown_total
from reconciler.report.view import AFTER_APPROVAL, MEANS, MOST_REMOVALS, are_folded, is_applied, view_of
from reconciler.result import Line, Report, Result, approve_command, look_command, needing_a_person

MARK = "hcloud-reconciler:plan"
"""What the first line has, before the cluster: by it a pipeline finds the comment that it is to edit."""
_VERBS = ("add", "modify", "remove")
_URGENT = frozenset({"held", "refused", "failed"})
"""What a person has to see even in a list of subjects."""
_EXPLAINED = frozenset({Verdict.WAITING, Verdict.REFUSED})
_BREAK = "  \n"
"""The end of a line within a paragraph, also where a mere line break is none."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The room that there is for a text."""

    limit: int
    measure: Callable[[str], int]
    """How much of it a text takes."""


def _units(text: str) -> int:
    """Characters as the strictest of code hosts counts them, in units of UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def _bytes(text: str) -> int:
    return len(text.encode())


COMMENT = Budget(60_000, _units)
"""GitHub refuses a comment of more than 65,536 characters."""


def step_summary(used: int) -> Budget:
    """The budget of a summary that has so many bytes already: GitHub drops one of more than 1,024 KiB as a whole."""
    return Budget(900 * 1024 - used, _bytes)


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much is told; each loses something that the one before it has."""

    of_folds: bool = True
    """Whether the fields of folds are."""
    of_singles: bool = True
    """Whether the fields of single changes are."""
    has_details: bool = True
    most: int | None = None
    """How many entries a list has; None: all."""


_EXTENTS = (
    _Extent(),
    _Extent(of_folds=False),
    _Extent(of_folds=False, of_singles=False),
    *(_Extent(has_details=False, most=most) for most in (None, 100, 20, 5, 1, 0)),
)


def render_markdown(report: Report, budget: Budget = COMMENT) -> str:
    """The text with a line break at its end: as much as the budget has room for. Its head always stands."""
    page = _Page(report)
    text = ""
    for extent in _EXTENTS:
        text = page.text(extent)
        if budget.measure(text) <= budget.limit:
            break
    return text


def code(text: str, *, in_table: bool = False) -> str:
    """Foreign text as a code span; an empty one as nothing. In the cell of a table a bar has a backslash, and one that
    stands before a bar already is an escape, as readers of tables do not agree on two."""
    text = visible(text)
    if in_table:
        text = re.sub(r"(?<!\\)\\+(?=\|)", lambda found: r"\x5c" * len(found[0]), text).replace("|", r"\|")
    if not text:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    is_padded = text.strip(" ") and (text[0] in "` " or text[-1] in "` ")
    return f"{fence} {text} {fence}" if is_padded else f"{fence}{text}{fence}"


_HARMLESS = re.compile(r"(?:[^\W_]|[.,;:()'\"/?=+-])+")
_LINKED = re.compile(
    r"://|\bwww\.|\bg[hl]-[0-9]|\b[0-9a-f]{7,}\b|:[a-z+-][a-z0-9+-]*:|:(?:100|1234|8ball):", re.IGNORECASE
)
"""What a code host makes something of: addresses, issues, commits, pictures."""


def prose(text: str, *, in_table: bool = False) -> str:
    """A sentence that may have foreign names in it: what is more than a harmless word stands in a code span."""
    return " ".join(_word(word, in_table=in_table) for word in visible(text).rstrip().split(" "))


def _word(word: str, *, in_table: bool) -> str:
    """A word, in a code span unless it is harmless; what punctuates the sentence stands around that."""
    if not word or (_HARMLESS.fullmatch(word) and not _LINKED.search(word)):
        return word
    rest = word.lstrip("(")
    within = rest.rstrip("(),.;:")
    return f"{word[: -len(rest)]}{code(within, in_table=in_table)}{rest[len(within) :]}"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One change, or many alike, in cells of a table."""

    symbol: str
    key: str
    remarks: tuple[str, ...]
    fields: tuple[tuple[str, str, str], ...]
    """Path, before and after."""
    is_fold: bool


class _Page:
    """A report with everything computed that takes long, whatever its extent."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._view = view_of(report)
        self._entries = [(part, tuple(map(self._entry, part.blocks))) for part in self._view.parts]

    def text(self, extent: _Extent) -> str:
        """The page in this extent."""
        parts = (
            "\n".join((self._mark(), f"### {self._title()}", *self._table())),
            _BREAK.join((*self._troubles(extent), *self._removals(extent))),
            *self._holds(extent),
            f"**Cost:** {total}" if (total := shown_total(self._report.cost)) else "",
            self._notes(extent),
            *(self._details(extent)),
            self._foot(extent),
        )
        return "\n\n".join(filter(None, parts)) + "\n"

    def _mark(self) -> str:
        known = re.sub(r"[^0-9A-Za-z]", "", self._view.head.cluster.partition("-")[0])[:8]
        return f"<!-- {MARK}:{known or 'unknown'} -->"

    def _title(self) -> str:
        report = self._report
        pieces = list(_counts(report.lines, self._view.counts))
        if wrong := len(needing_a_person(report)):
            pieces.append(f"**{counted(wrong, 'object')} need{'s' * (wrong == 1)} a person**")
        if report.errors:
            pieces.append(f"**{counted(len(report.errors), 'error')}**")
        if (cost := report.cost.changes) is not None and cost != Cost():
            pieces.append(shown_cost(cost, report.cost.currency))
        if report.result is Result.NO_CHANGES and not report.lines:
            return ", ".join(("No changes", *pieces))
        word = "Apply" if is_applied(report.lines) else "Plan"
        return f"{word}: {', '.join(pieces or [str(report.result)])}"

    def _table(self) -> Iterator[str]:
        parts = self._view.parts
        if not parts:
            return
        words = [*_VERBS, *(word for word in parts[0].counts if word not in _VERBS)]
        yield _row("", *words)
        yield f"|---|{'--:|' * len(words)}"
        for part in parts:
            yield _row(part.heading, *(str(part.counts.get(word) or "") for word in words))

    def _troubles(self, extent: _Extent) -> Iterator[str]:
        """What is down, what went wrong, and what could not be read."""
        report = self._report
        ill = [
            f"**{each.first.word.capitalize()}:** {code(names(each.keys))}: {prose(each.first.why)}"
            for each in self._view.standings
            if each.first.level is Level.BAD
        ]
        yield from _some(ill, extent, "Service that is down")
        yield from _some([f"**Error:** {prose(error)}" for error in report.errors], extent, "error")
        if report.not_leader:
            yield f"**Not leader:** {prose(report.not_leader)}"
        gaps = [f"**Not read:** {prose(gap)}" for gap in self._view.head.told_gaps]
        yield from _some(gaps, extent, "gap")
        if MEANS[report.result] and not report.errors:
            yield f"**Result:** {report.result}: {MEANS[report.result]}"

    def _removals(self, extent: _Extent) -> Iterator[str]:
        """Each removal by name: of all that is planned it is what must not be overlooked."""
        most = MOST_REMOVALS if extent.most is None else min(extent.most, MOST_REMOVALS)
        is_full = self._report.detail is Detail.FULL and extent.most is None
        losses = {line.change.key: self._loss(line) for line in self._report.lines}
        for end, keys in self._view.goes.items():
            if end == AFTER_APPROVAL:  # each of these stands with its hold
                continue
            if is_full or len(keys) <= most:
                told = ", ".join(f"{code(key)}{losses[key]}" for key in keys)
            else:
                told = code(names(keys, most)) if most else str(len(keys))
            yield f"**{end}:** {told}"

    def _loss(self, line: Line) -> str:
        """The addresses that go for good with a load balancer."""
        snapshot, change = self._report.snapshot, line.change
        if snapshot is None or snapshot.load_balancers is None or change.kind is not ChangeKind.LB_DELETE:
            return ""
        balancer = None if change.cloud_id is None else snapshot.load_balancers.items.get(change.cloud_id)
        lost = () if balancer is None else lost_with(balancer, snapshot)
        return f" (loses {' and '.join(map(code, lost))})" if lost else ""

    def _holds(self, extent: _Extent) -> Iterator[str]:
        """A paragraph for each hold: what is held, why, and the command that lets it pass."""
        return _some([_BREAK.join(self._hold(hold, extent)) for hold in self._report.holds], extent, "hold")

    def _hold(self, hold: Hold, extent: _Extent) -> Iterator[str]:
        command = approve_command if hold.approval_mends else look_command
        yield f"**Held:** {code(hold.rule)}: {code(command(hold.hash, self._report.approve_flags))}"
        yield f"Why: {prose(hold.said)}"
        most = MOST_REMOVALS if extent.most is None else min(extent.most, MOST_REMOVALS)
        if len(hold.keys) <= most or (self._report.detail is Detail.FULL and extent.most is None):
            yield f"Changes: {', '.join(map(code, hold.keys))}"
        else:
            yield f"Changes: {code(names(hold.keys, most)) if most else len(hold.keys)}"

    def _notes(self, extent: _Extent) -> str:
        lines = [self._note(notes) for notes in self._view.notes]
        return "\n".join(("**Notes**", "", *(f"- {line}" for line in _some(lines, extent, "note")))) if lines else ""

    def _note(self, notes: Sequence[Note]) -> str:
        keys = [note.key for note in notes]
        what = f"{len(keys)} x {code(names(keys))}" if are_folded(notes) else ", ".join(map(code, keys))
        return f"{what} {notes[0].kind}: {prose(notes[0].text)}"

    def _details(self, extent: _Extent) -> Iterator[str]:
        for part, entries in self._entries if extent.has_details else ():
            counts = ", ".join(_counts(part.lines, part.counts, bold=""))
            yield (
                f"<details><summary>{part.title}: {counts}</summary>\n\n"
                + "\n".join(_entry_table(entries, extent))
                + "\n</details>"
            )

    def _entry(self, block: Block) -> _Entry:
        is_short = self._report.detail is Detail.SUMMARY
        first = block.first
        key = code(names(block.keys), in_table=True)
        # What a warning says in full needs no word before it but what is withheld.
        is_explained = first.line.outcome is None and first.decision.verdict in _EXPLAINED
        fate = str(first.change.verb) if is_explained else first.fate
        remarks = [fate, *([] if is_short else [block.reason]), block.withheld]
        remarks += (f"consequence: {each}" for each in first.change.consequences)
        price = self._view.price(block.cost)  # there is nothing foreign in it
        told = (price, *(prose(remark, in_table=True) for remark in remarks))
        return _Entry(
            symbol=first.symbol,
            key=f"{len(block.changes)} x {key}" if block.is_fold else key,
            remarks=tuple(filter(None, told)),
            fields=() if is_short else tuple(_fields(block)),
            is_fold=block.is_fold,
        )

    def _foot(self, extent: _Extent) -> str:
        """When all of it was read, what was left out, and what to do next."""
        view, pieces = self._view, []
        if view.head.read_at is not None and extent.most != 0:
            cluster = code(view.head.cluster) if view.head.cluster else "unknown"
            pieces.append(f"Cluster {cluster}, read at {shown_moment(view.head.read_at, to_seconds=True)}.")
        if opening := view.opening:
            word, _, switch = opening.rpartition(" ")
            pieces.append(f"{word} {code(switch)}.")
        if extent != _EXTENTS[0]:
            pieces.append("There was no room for all of it: the whole plan is in the artifact.")
        if view.next_step and extent.most != 0:
            pieces.append(f"Next: {code(view.next_step)}")
        return " ".join(pieces)


def _counts(lines: Sequence[Line], counts: Mapping[str, int], bold: str = "**") -> Iterator[str]:
    """What there is to do, or what was done and what was left."""
    if is_applied(lines):
        left = len(lines) - counts.get("applied", 0) - counts.get("failed", 0)
        said = {"applied": "applied", "failed": "failed", "left": "left", "held": "held", "refused": "refused"}
        counts = {**counts, "left": left}
    else:
        said = {verb: f"to {verb}" for verb in _VERBS} | {word: word for word in ("held", "waiting", "refused")}
    for word, told in said.items():
        if counts.get(word):
            mark = bold if word in _URGENT else ""
            yield f"{mark}{counts[word]} {told}{mark}"


def _some(entries: Sequence[str], extent: _Extent, word: str) -> Iterator[str]:
    """As many of the entries as there may be, and how many more there are."""
    shown = entries if extent.most is None else entries[: extent.most]
    yield from shown
    if rest := len(entries) - len(shown):
        yield f"{counted(rest, f'more {word}')}" if shown else counted(rest, word)


def _row(*cells: str) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _entry_table(entries: Sequence[_Entry], extent: _Extent) -> Iterator[str]:
    """Rows, with columns for fields where any is told."""
    told = {True: extent.of_folds, False: extent.of_singles}
    has_fields = any(entry.fields and told[entry.is_fold] for entry in entries)
    columns = ("", "key", "field", "before", "after") if has_fields else ("", "key")
    yield _row(*columns)
    yield "|" + "---|" * len(columns)
    for entry in entries:
        key = "<br>".join((entry.key, *entry.remarks))
        first, *others = (entry.fields if told[entry.is_fold] else ()) or (("", "", ""),)
        yield _row(entry.symbol, key, *(first if has_fields else ()))
        yield from (_row("", "", *field) for field in others)


def _fields(block: Block) -> Iterator[tuple[str, str, str]]:
    """Path, before and after of each field that is told; nothing for a side that is not there in any member."""
    for field in block.shown_fields:
        before, after = field.shown
        yield _cells(field, "" if field.is_new else before, "" if field.is_gone else after)
    if block.more_fields:
        yield counted(block.more_fields, "more field"), "", ""


def _cells(field: Field, *sides: str) -> tuple[str, str, str]:
    path, before, after = (code(text, in_table=True) for text in (field.path, *sides))
    return path, before, after
