"""Plan on the page: changes and folds with their fields, and what is withheld."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from actuators.outcome import Failed
from desired.model.key import Key, ObjectKind
from desired.plan.change import Change, Verdict
from reconciler.report.fields import FieldChange, Leaf, field_changes
from reconciler.report.folding import Fold, names, reasons, shown_values_of_sides
from reconciler.report.money import shown_cost
from reconciler.report.page.elements import (
    OPEN,
    Explain,
    anchor,
    link_to,
    scrolling_table,
    shown_key,
    shown_keys,
    sign_of,
)
from reconciler.report.page.markup import Html, foreign, join, tag
from reconciler.report.page.model import Head, HeldChanges, Page, PlanPart
from reconciler.report.text_report import shown_due, shown_fate, shown_sides, symbol_of
from reconciler.result import Line


def nothing_planned(head: Head) -> str:
    """Why there is no change: that there is none to make is said only by a pass that has seen all."""
    if head.errors:
        return "Nothing could be planned"
    return "Nothing is planned by what could be read" if head.gaps else "Nothing is planned"


def plan_section(page: Page, explain: Explain) -> Html:
    """What goes, by name, then each part of the plan; open where all of it is read at once."""
    if not page.plan:
        return tag("p", f"{nothing_planned(page.head)}.")
    is_open = page.changes <= OPEN
    context = _Context(explain, dict(page.cost.changes), page.cost.currency, page.holds)
    parts = [_part(part, context, is_open=is_open) for part in page.plan]
    goes = [
        tag("p", tag("strong", f"{end}: ", class_="remove"), shown_keys(keys, f"goes-{number}"))
        for number, (end, keys) in enumerate(page.goes)
    ]
    return join(*goes, *parts)


@dataclass(frozen=True, slots=True)
class _Context:
    """What is said of changes besides what they say themselves."""

    explain: Explain
    prices: Mapping[str, str]
    """Key → what the change makes of the price."""
    currency: str | None
    holds: Sequence[HeldChanges]

    def hold_of(self, line: Line) -> str | None:
        """The hash of the hold that holds a change; None where none does."""
        decision = line.change.decision
        if decision.verdict is not Verdict.HELD:
            return None
        of_rule = (held.hold for held in self.holds if held.hold.rule is decision.rule)
        return next((hold.hash for hold in of_rule if line.change.key in hold.keys), None)


def _part(part: PlanPart, context: _Context, *, is_open: bool) -> Html:
    counts = ", ".join(f"{count} {word}" for word, count in part.counts)
    return tag(
        "section",
        tag("h3", part.heading, tag("span", f" {counts}", class_="dim")),
        [
            _fold(block, context) if isinstance(block, Fold) else _single(block, context, is_open=is_open)
            for block in part.blocks
        ],
        aria_label=f"changes of {part.heading}",
    )


def _single(line: Line, context: _Context, *, is_open: bool) -> Html:
    """One change; what a person has to look at is open."""
    change = line.change
    is_pressing = change.decision.verdict in (Verdict.HELD, Verdict.REFUSED) or isinstance(line.outcome, Failed)
    return tag(
        "details",
        tag(
            "summary",
            sign_of(symbol_of(change)),
            shown_key(change.key),
            " ",
            tag("span", change.kind, class_="kind"),
            f" {context.prices[change.key]}" if change.key in context.prices else None,
            _fate(line),
            tag("span", ": ", foreign(change.reason), class_="dim"),
        ),
        _warnings(line, context.hold_of(line)),
        _fields(change, field_changes(change)),
        _served(change.owner, context.explain),
        id=anchor(change.key, "plan/"),
        open=is_open or is_pressing or bool(change.consequences),
        data_row="",
        data_key=change.key,
    )


def _served(owner: Key, explain: Explain) -> Html | None:
    """Whom a change serves, with what leads there."""
    if not _is_explained(owner):
        return None
    return tag("p", "for ", link_to(owner), " ", explain(owner) if explain else None)


def _is_explained(key: Key) -> bool:
    return key.kind in (ObjectKind.NODE, ObjectKind.SERVICE)


def _fate(line: Line) -> Html | None:
    fate = shown_fate(line).strip()
    return join(" ", tag("bdi", fate, class_="fate")) if fate else None


def _warnings(line: Line, hold: str | None = None) -> list[Html]:
    """What withholds a change, and its consequences. Where a ``hold`` of this hash says why, a link leads there."""
    decision = line.change.decision
    found = []
    if hold is not None:
        there = tag("a", f"held by {decision.rule}", href=f"#{anchor(hold, 'hold/')}")
        found.append(tag("p", there, shown_due(decision.due_in_s)))
    elif decision.why:
        due = shown_due(decision.due_in_s)
        found.append(tag("p", f"{decision.verdict} by {decision.rule}: ", foreign(decision.why), due, class_="warning"))
    found += [tag("p", "consequence: ", foreign(text), class_="warning") for text in line.change.consequences]
    return found


def _fields(change: Change, fields: Sequence[FieldChange]) -> Html | None:
    if not fields:
        return None
    rows = [
        tag(
            "tr",
            tag("th", tag("bdi", field.path, class_="key whole"), scope="row"),
            [tag("td", foreign(side), class_="wrap") for side in _whole_sides(field)],
        )
        for field in fields
    ]
    return scrolling_table(
        f"fields of {change.key}", ("field", "before", "after"), rows, name=anchor(change.key, "fields/")
    )


def _whole_sides(field: FieldChange) -> tuple[str, str]:
    """Both sides with all of their entries: the page is where they are looked up."""
    before, after = shown_sides(field)
    return _whole_side(field.before, before), _whole_side(field.after, after)


def _whole_side(side: Leaf, shown: str) -> str:
    return ", ".join(map(str, side)) if isinstance(side, list) else shown


def _fold(fold: Fold, context: _Context) -> Html:
    """Many like changes: what they have in common, and a table with each of them."""
    change = fold.first.change
    why = f"{'the first: ' if len(reasons(fold)) > 1 else ''}{change.reason}"
    head = f"{len(fold.lines)} x {change.kind}"
    price = None if fold.cost is None else f" {shown_cost(fold.cost, context.currency)}"
    common = [
        tag(
            "tr",
            tag("th", tag("bdi", field.path, class_="key whole"), scope="row"),
            tag("td", foreign(shown_values_of_sides(map(shown_sides, field.members))), class_="wrap"),
        )
        for field in fold.fields
    ]
    rows = [
        tag(
            "tr",
            tag("th", tag("bdi", line.change.key, class_="key"), scope="row", id=anchor(line.change.key, "plan/")),
            [_cell(field.members[number]) for field in fold.fields],
            data_row="",
            data_key=line.change.key,
        )
        for number, line in enumerate(fold.lines)
    ]
    name = anchor(change.key, "fold/")
    columns = ("object", *(field.path for field in fold.fields))
    return tag(
        "details",
        tag(
            "summary",
            sign_of(symbol_of(change)),
            f"{len(fold.lines)} x ",
            tag("span", change.kind, class_="kind"),
            " ",
            tag("bdi", names(fold.keys), class_="key"),
            price,
            _fate(fold.first),
        ),
        tag("p", foreign(why)),
        _warnings(fold.first),
        scrolling_table(f"what changes in all of {head}", ("field", "values"), common, name=f"{name}/values")
        if common
        else None,
        tag(
            "details",
            tag("summary", f"each of the {len(fold.lines)}"),
            scrolling_table(f"each {change.kind}", columns, rows, name=f"{name}/table", tall=True),
            id=f"{name}/each",
        ),
        id=name,
    )


def _cell(field: FieldChange) -> Html:
    before, after = _whole_sides(field)
    if field.before is None:
        return tag("td", tag("ins", after))
    if field.after is None:
        return tag("td", tag("del", before))
    return tag("td", tag("del", before), " ", tag("ins", after))
