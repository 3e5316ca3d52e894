"""Sections of the page, each a function from its part of the model to HTML. Nothing is decided or counted here."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from urllib.parse import quote

from actuators.outcome import Failed
from desired.model.key import Key, ObjectKind
from desired.plan.change import Change, Verdict
from desired.plan.kinds import Verb
from desired.syntax.bounds import counted
from reconciler.config.program import PROGRAM
from reconciler.report.fields import FieldChange, field_changes
from reconciler.report.folding import Fold, names, reasons, summed_up_sides
from reconciler.report.money import shown_cost
from reconciler.report.page.drawing import draw_map, draw_passes, shown_server, tone_of
from reconciler.report.page.markup import Child, Html, foreign, join, tag
from reconciler.report.page.model import Head, HeldChanges, LikeNotes, Page, PageCost, PlanPart
from reconciler.report.page.ring import PassRecord
from reconciler.report.page.world_map import BalancerRow, NodeRow, RouteRow, ServiceRow, WorldMap
from reconciler.report.text_report import measure_of, shown_due, shown_fate, shown_sides, symbol_of
from reconciler.result import Line

OPEN = 12
"""Up to so many changes all of them are shown with their fields at once."""
_LONG = 34
"""Characters of a key that a table shows; the whole of a longer one is told by its tooltip, and can be copied."""
_RANGES = 20
"""How many names, or ranges of names, stand for the targets of a load balancer at most."""
_TALL = 40
"""Up to so many rows of a table stand on the page; a longer one scrolls in a box of its own."""
_MOMENT = "%Y-%m-%d %H:%M:%S UTC"
_WORDS = {"+": "add", "~": "modify", "-": "remove", "!": "withheld", "?": "waits", "": "nothing planned"}
_TONES = {"+": "add", "~": "modify", "-": "remove", "!": "bad", "?": "warning"}
Explain = Callable[[Key], Html] | None
"""Key of a Node or Service → what leads to its explanation; None where nothing does."""
_Ranges = Callable[[tuple[str, ...]], str]
"""Names → the text that stands for them."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page."""

    name: str
    """Its anchor."""
    title: str
    count: int | None
    """What the navigation shows beside its title; None for nothing."""
    body: Html


def sections_of(page: Page, explain: Explain) -> tuple[Section, ...]:
    """The sections of a page, in the order in which people read them."""
    if page.head.result is None:
        return (Section("passes", "Passes", None, _passes(page.passes)),) if page.is_watched else ()
    holds = Section("holds", "Holds", len(page.holds), _holds(page.holds))
    found = [
        *([holds] if page.holds else []),  # before all that it keeps from being done
        Section("plan", "Plan", page.changes, _plan(page, explain)),
        Section("map", "Map", None, _map(page.map, explain)),
    ]
    if page.map.routes_used is not None:
        found.append(Section("routes", "Routes", len(page.map.routes), _routes(page.map)))
    if not page.holds:
        found.append(holds)
    if page.is_watched:
        found.append(Section("passes", "Passes", None, _passes(page.passes)))
    if page.cost.total or page.cost.changes:
        found.append(Section("cost", "Cost", None, _cost(page.cost)))
    found.append(Section("notes", "Notes", sum(len(each.notes) for each in page.notes), _notes(page.notes)))
    return tuple(found)


def facts(head: Head) -> Html:
    """Which cluster, when, by whom."""
    last = head.last
    told: dict[str, Child] = {
        "Cluster": foreign(head.cluster) if head.cluster else "unknown",
        "Read at": _moment(head.read_at) if head.read_at else None,
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
    """The class of the line that says the result: nothing is fine while somebody waits for a person."""
    tone = tone_of(head.result)
    return "warning" if head.need_a_person and tone in ("good", "plain") else tone


def status(head: Head) -> Html:
    """The result, in words, what went wrong, and what to type next."""
    if head.result is None:
        return tag("p", tag("strong", "No plan here"), f": {head.why_empty}")
    counts = ", ".join(f"{count} to {word}" if word in set(Verb) else f"{count} {word}" for word, count in head.counts)
    means = f": {head.means}" if head.means else ""
    return join(
        tag("p", tag("strong", str(head.result)), f"{means}. {counts or _nothing(head)}."),
        [tag("p", tag("span", "error: ", class_="bad"), foreign(error)) for error in head.errors],
        [
            tag("p", f"incomplete: {_section_name(gap.name)}, {_of(gap.read, gap.expected)} read: ", foreign(gap.why))
            for gap in head.gaps
        ],
        _needy(head.need_a_person),
        _command(head.next_step, "Next: ") if head.next_step else None,
    )


def _nothing(head: Head) -> str:
    """Why there is no change: that there is none to make is said only by a pass that has seen all."""
    if head.errors:
        return "Nothing could be planned"
    return "Nothing is planned by what could be read" if head.gaps else "Nothing is planned"


def _needy(objects: int) -> Html | None:
    if not objects:
        return None
    told = f"{objects} objects need a person" if objects > 1 else "1 object needs a person"
    return tag("p", tag("a", told, href="#notes"), ".")


def _section_name(name: str) -> str:
    return "Robot servers" if name == "robot" else name.replace("_", " ")


def _of(read: int, expected: int | None) -> str:
    return str(read) if expected is None else f"{read} of {expected}"


def anchor(key: str, prefix: str = "") -> str:
    """The id of an element that is about this key, and what stands behind ``#`` in a link to it."""
    return quote(f"{prefix}{key}", safe="/:.-_~", errors="backslashreplace")


def _moment(moment: datetime) -> Html:
    shown = moment.astimezone(UTC)
    return tag("time", f"{shown:{_MOMENT}}", datetime=f"{shown:%Y-%m-%dT%H:%M:%SZ}")


def _command(command: str, before: str = "") -> Html:
    copy = tag("button", "copy", type="button", class_="copy", data_scripted="", hidden=True)
    return tag("p", tag("span", before) if before else None, tag("code", command, dir="ltr"), copy, class_="command")


def _table(
    label: str,
    columns: Sequence[str],
    rows: Iterable[Html],
    *,
    name: str,
    tall: bool = False,
    numbers: Collection[str] = (),
) -> Html:
    """A table in a box of its own, which scrolls where it is wider than the page."""
    heads = [tag("th", column, scope="col", class_="number" if column in numbers else None) for column in columns]
    table = tag(
        "table", tag("caption", label, class_="only-read"), tag("thead", tag("tr", *heads)), tag("tbody", *rows)
    )
    kind = "scroll tall" if tall else "scroll"
    return tag("div", table, class_=kind, id=name, tabindex=0, role="group", aria_label=label)


def _sign(symbol: str) -> Html:
    """The symbol of a plan, and its word for those who do not see it."""
    shown = tag("span", symbol, class_=f"sign {_TONES.get(symbol, '')}".strip(), aria_hidden="true")
    return join(shown, tag("span", f"{_WORDS[symbol]} ", class_="only-read"))


def _plan(page: Page, explain: Explain) -> Html:
    if not page.plan:
        return tag("p", f"{_nothing(page.head)}.")
    is_open = page.changes <= OPEN
    context = _Context(explain, dict(page.cost.changes), page.cost.currency, page.holds)
    parts = [_part(part, context, is_open=is_open) for part in page.plan]
    goes = [
        tag("p", tag("strong", f"{end}: ", class_="remove"), _keys(keys, f"goes-{number}"))
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
    """One change; what somebody has to look at is open."""
    change = line.change
    is_pressing = change.decision.verdict in (Verdict.HELD, Verdict.REFUSED) or isinstance(line.outcome, Failed)
    return tag(
        "details",
        tag(
            "summary",
            _sign(symbol_of(change)),
            _key(change.key),
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
    return tag("p", "for ", _link(owner), " ", explain(owner) if explain else None)


def _is_explained(key: Key) -> bool:
    return key.kind in (ObjectKind.NODE, ObjectKind.SERVICE)


def _key(key: str) -> Html:
    return tag("bdi", key, class_="key", title=key if len(key) > _LONG else None)


def _link(key: Key) -> Html:
    """A link to the object's place on the map."""
    return tag("a", _key(key.whole), href=f"#{anchor(key.whole)}")


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
            tag("th", _key(field.path), scope="row"),
            [tag("td", foreign(side), class_="wrap") for side in _whole_sides(field)],
        )
        for field in fields
    ]
    return _table(f"fields of {change.key}", ("field", "before", "after"), rows, name=anchor(change.key, "fields/"))


def _whole_sides(field: FieldChange) -> tuple[str, str]:
    """Both sides with all of their entries: the page is where they are looked up."""
    return tuple(  # type: ignore[return-value]
        ", ".join(map(str, side)) if isinstance(side, list) else shown
        for side, shown in zip((field.before, field.after), shown_sides(field), strict=True)
    )


def _fold(fold: Fold, context: _Context) -> Html:
    """Many like changes: what they have in common, and a table with each of them."""
    change = fold.first.change
    why = f"{'the first: ' if len(reasons(fold)) > 1 else ''}{change.reason}"
    head = f"{len(fold.lines)} x {change.kind}"
    price = None if fold.cost is None else f" {shown_cost(fold.cost, context.currency)}"
    common = [
        tag(
            "tr",
            tag("th", _key(field.path), scope="row"),
            tag("td", foreign(summed_up_sides(map(shown_sides, field.members))), class_="wrap"),
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
            _sign(symbol_of(change)),
            f"{len(fold.lines)} x ",
            tag("span", change.kind, class_="kind"),
            " ",
            tag("bdi", names(fold.keys), class_="key"),
            price,
            _fate(fold.first),
        ),
        tag("p", foreign(why)),
        _warnings(fold.first),
        _table(f"what changes in all of {head}", ("field", "values"), common, name=f"{name}/values")
        if common
        else None,
        tag(
            "details",
            tag("summary", f"each of the {len(fold.lines)}"),
            _table(f"each {change.kind}", columns, rows, name=f"{name}/table", tall=True),
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


def _keys(keys: Sequence[str], name: str) -> Html:
    """Keys, of which many fold."""
    each = [join(", " if place else None, tag("bdi", key, class_="key")) for place, key in enumerate(keys)]
    if len(keys) <= OPEN:
        return join(*each)
    return tag(
        "details", tag("summary", f"{len(keys)}: ", tag("bdi", names(keys), class_="key")), tag("p", *each), id=name
    )


def _map(world: WorldMap, explain: Explain) -> Html:
    if not world.services and not world.nodes:
        return tag("p", "Nothing was read that could be drawn.")
    ranges = cache(partial(names, most=_RANGES))  # most load balancers lead to the same Nodes
    services = [_service(service, explain, ranges) for service in world.services]
    nodes = [_node(node, explain) for node in world.nodes]
    last = ("explain",) if explain else ()
    legend = "ok: healthy; !!: unhealthy; ??: health unknown; + ~ - ! ?: planned, as in the plan"
    return join(
        tag("p", legend, class_="dim"),
        None
        if explain
        else tag("p", "Why one of them is as it is: ", tag("code", f"{PROGRAM} explain KEY"), class_="dim"),
        tag("div", draw_map(world), class_="scroll", id="map/picture", tabindex=0, role="group", aria_label="map"),
        _folding(
            f"{counted(len(world.services), 'Service')} and load balancers",
            _table(
                "Services and their load balancers",
                ("Service", "load balancer", "targets", "type", "addresses", "ports", *last),
                services,
                name="map/services/table",
                tall=len(services) > _TALL,
            ),
            "map/services",
        )
        if services
        else None,
        _folding(
            counted(len(world.nodes), "Node"),
            _table(
                "Nodes",
                ("Node", "Ready", "server", "type", "location", "addresses", "routes", *last),
                nodes,
                name="map/nodes/table",
                tall=len(nodes) > _TALL,
            ),
            "map/nodes",
        )
        if nodes
        else None,
    )


def _folding(title: str, body: Html, name: str) -> Html:
    return tag("details", tag("summary", title), body, id=name, open=True)


def _service(row: ServiceRow, explain: Explain, ranges: _Ranges) -> Html:
    key, balancer = row.key, row.balancer
    service = join(_sign(row.mark), _key(key), _ill(row.ill)) if key else "no Service"
    cells = _balancer_cells(balancer, ranges) if balancer else (tag("td", foreign(row.why), colspan=5, class_="wrap"),)
    return tag(
        "tr",
        tag("th", service, scope="row", id=anchor(key) if key else None),
        cells,
        tag("td", explain(key) if key else None) if explain else None,
        data_row="",
        data_key=key,
    )


def _ill(kind: str) -> Html | None:
    return tag("div", f"needs a person: {kind}", class_="bad") if kind else None


def _balancer_cells(row: BalancerRow, ranges: _Ranges) -> tuple[Html, ...]:
    name = join(_sign(row.mark), tag("bdi", row.name), f" {row.id}" if row.id is not None else " (planned)")
    return (
        tag("td", name, id=anchor(row.key)),
        tag("td", _targets(row, ranges), class_="long"),
        tag("td", " ".join(filter(None, (row.type, row.place)))),
        tag("td", _lines(row.addresses, "known after apply" if row.id is None else "none")),
        tag("td", _lines(row.ports, "none")),
    )


def _lines(entries: Sequence[str], otherwise: str) -> Html:
    """Each entry on a line of its own."""
    return join(*(tag("div", entry) for entry in entries)) if entries else join(otherwise)


def _targets(row: BalancerRow, ranges: _Ranges) -> Html:
    """The targets; of many those of the same health together, by ranges of their names."""
    if not row.targets:
        return join("none")
    each: list[tuple[str, tuple[str, ...], str]]
    if len(row.targets) <= OPEN:
        each = [(target.mark, (target.shown,), target.health) for target in row.targets]
    else:
        alike: dict[tuple[str, str], list[str]] = {}
        for target in row.targets:
            alike.setdefault((target.mark, target.health), []).append(target.shown)
        each = [(mark, tuple(shown), f"{len(shown)} {health}") for (mark, health), shown in alike.items()]
    return tag(
        "ul",
        *(
            tag("li", _sign(mark) if mark else None, foreign(ranges(shown)), f": {health}")
            for mark, shown, health in each
        ),
    )


def _node(row: NodeRow, explain: Explain) -> Html:
    return tag(
        "tr",
        tag("th", _sign(row.mark), _key(row.key), _ill(row.ill), scope="row", id=anchor(row.key)),
        tag("td", row.ready, class_=None if row.state == "ok" else "warning"),
        tag("td", shown_server(row), class_="bad" if row.is_gone else None),
        tag("td", foreign(row.type)),
        tag("td", row.location),
        tag("td", foreign(", ".join(row.addresses))),
        tag("td", ", ".join(row.routes) or "none"),
        tag("td", explain(row.key)) if explain else None,
        data_row="",
        data_key=row.key,
    )


def _routes(world: WorldMap) -> Html:
    used, limit = world.routes_used or 0, world.routes_limit
    use = tag("p", f"{used} of {limit} routes are used. " if limit else f"{counted(used, 'route')}. ")
    if limit:
        meter = tag("meter", f"{used}/{limit}", min=0, max=limit, value=min(used, limit), aria_label="routes used")
        use = tag("p", f"{used} of {limit} routes are used. ", meter)
    if not world.routes:
        return use
    columns = ("route", "destination", "gateway", "leads to")
    rows = [_route(row) for row in world.routes]
    return join(use, _table("Routes", columns, rows, name="routes/table", tall=len(rows) > _TALL))


def _route(row: RouteRow) -> Html:
    return tag(
        "tr",
        tag("th", _sign(row.mark), _key(row.key), scope="row", id=anchor(row.key)),
        tag("td", foreign(row.destination)),
        tag("td", row.gateway or "unknown"),
        tag("td", foreign(row.leads_to), class_={"bad": "bad", "unknown": "dim"}.get(row.state)),
        data_row="",
        data_key=row.key,
    )


def _holds(holds: Sequence[HeldChanges]) -> Html:
    if not holds:
        return tag("p", "Nothing is held.")
    return join(*(_hold(number, held) for number, held in enumerate(holds)))


def _hold(number: int, held: HeldChanges) -> Html:
    hold = held.hold
    return tag(
        "section",
        tag("h3", _sign("!"), f"{hold.rule}: {measure_of(hold)}, {counted(len(hold.keys), 'change')}"),
        tag("p", foreign(hold.said)),
        tag("p", f"Ends by itself {hold.end}.") if hold.end is not None else None,
        tag("p", "Changes: ", _keys(hold.keys, f"hold/{number}")),
        _command(held.look, "Look: "),
        _command(held.approve, "Let exactly these pass, once, within an hour: "),
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
        tag(
            "div",
            draw_passes(passes),
            class_="scroll",
            id="passes/picture",
            tabindex=0,
            role="group",
            aria_label="bars",
        ),
        _table("Passes", columns, rows, name="passes/table", tall=True, numbers=numbers),
    )


def _pass(record: PassRecord) -> Html:
    sent = record.requests
    return tag(
        "tr",
        tag("th", record.number, scope="row", class_="number", id=f"pass/{record.number}"),
        tag("td", _moment(record.taken_at) if record.taken_at else "unknown"),
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
        tag("li", _key(each.key), f" {each.kind}: {each.state}", join(", ", foreign(each.why)) if each.why else None)
        for each in record.outcomes
    ]
    more = [tag("li", f"{record.left_out} more, of which no more is kept")] if record.left_out else []
    title = tag("summary", ", ".join(words) or f"{tried} tried")
    return tag("details", title, tag("ul", *each, *more), id=f"outcomes/{record.number}")


def _cost(cost: PageCost) -> Html:
    rows = [
        tag("tr", tag("th", _key(key), scope="row"), tag("td", told), data_row="", data_key=key)
        for key, told in cost.changes
    ]
    title, columns = "What each change makes of the price", ("change", "cost")
    table = _table(title, columns, rows, name="cost/table", tall=len(rows) > _TALL) if rows else None
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
            "details", tag("summary", f"{len(told)} x ", _key(names(told))), tag("p", *keys), id=f"note/{number}"
        )
    else:
        which = keys
    return tag("li", which, " ", tag("span", alike.kind, class_="kind"), ": ", need, foreign(alike.text), data_row="")


def _note_key(key: Key) -> Html:
    return tag("span", _key(key), data_key=key)
