"""Sections of the page, each a function from its part of the model to HTML. Nothing is decided or counted here."""

from collections.abc import Sequence
from dataclasses import dataclass

from desired.model.key import Key
from desired.plan.kinds import Verb
from desired.syntax.bounds import counted
from reconciler.report.folding import names
from reconciler.report.page.drawing import draw_passes, tone_of
from reconciler.report.page.elements import (
    TALL,
    Explain,
    anchor,
    command_line,
    moment_of,
    scroll_box,
    scrolling_table,
    shown_key,
    shown_keys,
    sign_of,
)
from reconciler.report.page.map_section import map_section, routes_section
from reconciler.report.page.markup import Child, Html, foreign, join, tag
from reconciler.report.page.model import Head, HeldChanges, LikeNotes, Page, PageCost
from reconciler.report.page.plan_section import nothing_planned, plan_section
from reconciler.report.page.ring import PassRecord
from reconciler.report.text_report import measure_of, worded


@dataclass(frozen=True, slots=True)
class PageSection:
    """One section of the page."""

    name: str
    """Its anchor."""
    title: str
    count: int | None
    """What the navigation shows beside its title; None for nothing."""
    body: Html


def sections_of(page: Page, explain: Explain) -> tuple[PageSection, ...]:
    """The sections of a page, in the order in which people read them."""
    if page.head.result is None:
        return (PageSection("passes", "Passes", None, _passes(page.passes)),) if page.is_watched else ()
    holds = PageSection("holds", "Holds", len(page.holds), _holds(page.holds))
    found = [
        *([holds] if page.holds else []),  # before all that it keeps from being done
        PageSection("plan", "Plan", page.changes, plan_section(page, explain)),
        PageSection("map", "Map", None, map_section(page.map, explain)),
    ]
    if page.map.routes_used is not None:
        found.append(PageSection("routes", "Routes", len(page.map.routes), routes_section(page.map)))
    if not page.holds:
        found.append(holds)
    if page.is_watched:
        found.append(PageSection("passes", "Passes", None, _passes(page.passes)))
    if page.cost.total or page.cost.changes:
        found.append(PageSection("cost", "Cost", None, _cost(page.cost)))
    found.append(PageSection("notes", "Notes", sum(len(each.notes) for each in page.notes), _notes(page.notes)))
    return tuple(found)


def facts(head: Head) -> Html:
    """Which cluster, when, by whom."""
    last = head.last
    told: dict[str, Child] = {
        "Cluster": foreign(head.cluster) if head.cluster else "unknown",
        "Read at": moment_of(head.read_at) if head.read_at else None,
        "Leader": foreign(head.leader) if head.leader else None,
        "Last pass": f"{last.number}, took {last.seconds:.1f} s, called by {last.trigger or 'the interval'}"
        if last
        else None,
        "Requests": head.requests or None,
        "Left this hour": head.left or None,
    }
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in told.items() if value is not None]
    return tag("dl", *rows, class_="facts")


def status_tone(head: Head) -> str:
    """The class of the line that says the result: nothing is fine while a change waits for a person."""
    tone = tone_of(head.result)
    return "warning" if head.need_a_person and tone in ("good", "plain") else tone


def status(head: Head) -> Html:
    """The result, in words, what went wrong, and what to type next."""
    if head.result is None:
        return tag("p", tag("strong", "No plan here"), f": {head.why_empty}")
    counts = ", ".join(f"{count} to {word}" if word in set(Verb) else f"{count} {word}" for word, count in head.counts)
    means = f": {head.means}" if head.means else ""
    return join(
        tag("p", tag("strong", str(head.result)), f"{means}. {counts or nothing_planned(head)}."),
        [tag("p", tag("span", "error: ", class_="bad"), foreign(error)) for error in head.errors],
        [
            tag("p", f"incomplete: {worded(gap.name)}, {_of(gap.read, gap.expected)} read: ", foreign(gap.why))
            for gap in head.gaps
        ],
        _needy(head.need_a_person),
        command_line(head.next_step, "Next: ") if head.next_step else None,
    )


def _needy(objects: int) -> Html | None:
    if not objects:
        return None
    told = f"{objects} objects need a person" if objects > 1 else "1 object needs a person"
    return tag("p", tag("a", told, href="#notes"), ".")


def _of(read: int, expected: int | None) -> str:
    return str(read) if expected is None else f"{read} of {expected}"


def _holds(holds: Sequence[HeldChanges]) -> Html:
    if not holds:
        return tag("p", "Nothing is held.")
    return join(*(_hold(number, held) for number, held in enumerate(holds)))


def _hold(number: int, held: HeldChanges) -> Html:
    hold = held.hold
    return tag(
        "section",
        tag("h3", sign_of("!"), f"{hold.rule}: {measure_of(hold)}, {counted(len(hold.keys), 'change')}"),
        tag("p", foreign(hold.said)),
        tag("p", f"Ends by itself {hold.end}.") if hold.end is not None else None,
        tag("p", "Changes: ", shown_keys(hold.keys, f"hold/{number}")),
        command_line(held.look, "Look: "),
        command_line(held.approve, "Let exactly these pass, once, within an hour: "),
        class_="hold",
        id=anchor(hold.hash, "hold/"),
        aria_label=f"held by {hold.rule}, {hold.hash}",
        data_row="",
    )


def _passes(passes: Sequence[PassRecord]) -> Html:
    if not passes:
        return tag("p", "No pass has ended yet.")
    columns = ("pass", "read at", "result", "called by", "changes", "seconds", "requests", "outcomes")
    rows = [_pass(record) for record in passes]
    numbers = ("pass", "changes", "seconds", "requests")
    longest = max(record.seconds for record in passes)
    return join(
        tag("p", f"The latest is on the right; the longest of {len(passes)} took {longest:.1f} s."),
        scroll_box(draw_passes(passes), "bars", "passes/picture"),
        scrolling_table("Passes", columns, rows, name="passes/table", tall=True, numbers=numbers),
    )


def _pass(record: PassRecord) -> Html:
    sent = record.requests
    return tag(
        "tr",
        tag("th", record.number, scope="row", class_="number", id=f"pass/{record.number}"),
        tag("td", moment_of(record.taken_at) if record.taken_at else "unknown"),
        tag("td", record.result, class_=tone_of(record.result)),
        tag("td", foreign(record.trigger or "the interval")),
        tag("td", record.changes, class_="number"),
        tag("td", f"{record.seconds:.1f}", class_="number"),
        tag("td", sent.kubernetes + sent.hetzner + (sent.robot or 0), class_="number"),
        tag("td", _outcomes(record)),
        data_row="",
    )


def _outcomes(record: PassRecord) -> Html | None:
    tried = len(record.outcomes) + record.left_out
    if not tried:
        return None
    words = [f"{record.counts[word]} {word}" for word in ("applied", "failed") if record.counts.get(word)]
    each = [
        tag(
            "li",
            shown_key(each.key),
            f" {each.kind}: {each.state}",
            join(", ", foreign(each.why)) if each.why else None,
        )
        for each in record.outcomes
    ]
    more = [tag("li", f"{record.left_out} more, of which no more is kept")] if record.left_out else []
    title = tag("summary", ", ".join(words) or f"{tried} tried")
    return tag("details", title, tag("ul", *each, *more), id=f"outcomes/{record.number}")


def _cost(cost: PageCost) -> Html:
    rows = [
        tag("tr", tag("th", shown_key(key), scope="row"), tag("td", told), data_row="", data_key=key)
        for key, told in cost.changes
    ]
    title, columns = "What each change makes of the price", ("change", "cost")
    table = scrolling_table(title, columns, rows, name="cost/table", tall=len(rows) > TALL) if rows else None
    return join(tag("p", cost.total) if cost.total else None, table)


def _notes(notes: Sequence[LikeNotes]) -> Html:
    if not notes:
        return tag("p", "There are none.")
    return tag("ul", *(_note(number, each) for number, each in enumerate(notes)))


def _note(number: int, alike: LikeNotes) -> Html:
    need = tag("strong", "needs a person: ", class_="bad") if alike.needs_a_person else None
    keys = [join(", " if place else None, _note_key(note.key)) for place, note in enumerate(alike.notes)]
    if alike.is_folded:
        told = [note.key for note in alike.notes]
        which: Child = tag(
            "details", tag("summary", f"{len(told)} x ", shown_key(names(told))), tag("p", *keys), id=f"note/{number}"
        )
    else:
        which = keys
    return tag("li", which, " ", tag("span", alike.kind, class_="kind"), ": ", need, foreign(alike.text), data_row="")


def _note_key(key: Key) -> Html:
    return tag("span", shown_key(key), data_key=key)
