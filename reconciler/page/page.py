"""The whole page: what is on it, and its HTML, of which ``page.html`` is the template.

It needs no script. In a file the policy stands in the document. A server sends it as a header, and the page is loaded
again and again.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from html import escape, unescape
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from actuators.outcome import Applied, Failed
from desired.explain import explain_object
from desired.explain.rows import Part
from desired.health.state import Level, PortState
from desired.model.clocks import shown_moment
from desired.model.key import Key, ObjectKind
from desired.plan.change import Plan, Verdict, shown_seconds
from desired.plan.kinds import Verb
from desired.plan.notes import Note, NoteKind
from desired.rules.explanations import LEFT_ALONE
from desired.section import Absent, Present
from desired.syntax.bounds import counted
from reconciler import __version__
from reconciler.config.program import PROGRAM
from reconciler.page.map import BalancerRow, NodeRow, ServiceRow, State, WorldMap, map_of
from reconciler.page.policy import asset, policy
from reconciler.report.escaping import visible
from reconciler.report.explanation import render_explanation
from reconciler.report.fields import FieldChange
from reconciler.report.folding import ALIKE, LEAST, NAMED, Block, alike, names, shown_sides
from reconciler.report.money import shown_total
from reconciler.report.text import TONES, TextLine, Tone
from reconciler.report.view import MEANS, View, like_notes, state_counts, unwell, view_of
from reconciler.result import Explained, Report, Result, approve_command, look_command, needing_a_person
from reconciler.telemetry.logs import masked

OPEN = 12
"""Up to so many changes all of them are shown with their fields at once."""
TALL = 40
"""Up to so many rows of a table stand on the page; a longer one scrolls in a box of its own."""
PORTS = 4
"""Up to so many ports of a load balancer are shown at once."""
LONG = 60
"""A reason of more characters is not repeated in the next row."""
REFRESH_S = 30
"""How often a live page loads itself again."""
_PORTS = {PortState.ALL: "", PortState.SOME: "", PortState.NONE: "bad", PortState.UNKNOWN: "dim"}
_WORDS = {"+": "add", "~": "modify", "-": "remove", "!": "withheld", "?": "waits", "": "nothing planned"}
_ILL = 8
"""How many targets that are not healthy are named at most."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page."""

    name: str
    """Its anchor, and the macro that makes it."""
    title: str
    count: int | None = None
    """What the navigation shows beside its title; None for nothing."""


@dataclass(frozen=True, slots=True)
class Page:
    """All that is on the page."""

    view: View
    result: Result | None
    """None while no pass has ended."""
    map: WorldMap = field(default_factory=WorldMap)
    notes: tuple[tuple[Note, ...], ...] = ()
    """All notes, alike ones together, what a person has to correct first."""
    total: str = ""
    """The difference that changes make to the price a month; "" if none has a cost."""
    leader: str = ""
    """Who leads, in a sentence; "" where none has to."""
    why_empty: str = ""
    """Why there is nothing else on the page; "" where there is."""
    is_live: bool = False
    """Whether it is served, so that an explanation is a link away; else the command is named that tells it."""

    @property
    def changes(self) -> int:
        """How many changes there are."""
        return len(self.view.report.lines)

    @property
    def in_need(self) -> int:
        """How many objects wait for a person to correct them."""
        return len(needing_a_person(self.view.report))

    @property
    def title(self) -> str:
        """Of the document."""
        told = "no plan" if self.result is None else counts_of(self.view.counts) or str(self.result)
        return f"{told} - {self.view.head.cluster[:8] or 'cluster unknown'} - hcloud-reconciler"

    @property
    def tone(self) -> str:
        """The class of the line that says the result: the worst of states and result."""
        tone, level = tone_of(self.result), self.view.report.states.level
        if level is Level.BAD:
            return "bad"
        return "warning" if tone in ("good", "plain") and level is Level.WARNING else tone

    @property
    def worst(self) -> str:
        """Key of the Service or Node whose explanation is wanted first; "" where all are well."""
        ill = [each for each in self.view.report.states if each.level > Level.GOOD]
        return max(ill, key=lambda each: each.level).key if ill else ""

    @property
    def is_well(self) -> bool:
        """Whether there are Services or Nodes, all of which are well."""
        states = self.view.report.states
        return bool(states.services or states.nodes) and states.level is Level.GOOD

    @property
    def nothing_planned(self) -> str:
        """Why there is no change: that there is none to make is said only by a pass that has seen all."""
        if self.view.report.errors:
            return "Nothing could be planned"
        return "Nothing is planned by what could be read" if self.view.head.gaps else "Nothing is planned"

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections, in the order in which people read them."""
        if self.result is None:
            return ()
        world, ill = self.map, len(self.view.report.states.unwell)
        is_drawn = bool(world.services or world.nodes)
        found = (
            (Section("states", "State", ill), is_drawn),
            (Section("holds", "Holds", len(self.view.held)), self.view.held),
            (Section("plan", "Plan", self.changes), self.view.parts),
            (Section("routes", "Routes", len(world.routes)), world.routes),
            (Section("cost", "Cost"), self.total),
            (Section("notes", "Notes", sum(map(len, self.notes))), self.notes),
        )
        return tuple(section for section, is_there in found if is_there)

    def is_open(self, block: Block) -> bool:
        """Whether a change is: where all of them are read at once, and where a person has to look at it."""
        is_withheld = block.first.decision.verdict in (Verdict.HELD, Verdict.REFUSED)
        is_pressing = is_withheld or isinstance(block.first.outcome, Failed) or bool(block.first.consequences)
        return self.changes <= OPEN or is_pressing


def page_of(
    report: Report | None,
    *,
    leader: str = "",
    why_empty: str = "",
    is_live: bool = False,
) -> Page:
    """The page of a report. If there is none, ``why_empty`` says why. ``leader`` is a sentence."""
    if report is None:
        return Page(view_of(Report()), None, leader=leader, why_empty=why_empty, is_live=is_live)
    notes = sorted(
        like_notes(report.notes), key=lambda like: (like[0].kind is not NoteKind.ANCHOR, not needs_a_person(like))
    )
    return Page(
        view_of(report),
        report.result,
        map_of(report),
        tuple(notes),
        shown_total(report.cost),
        leader,
        is_live=is_live,
    )


def needs_a_person(notes: Sequence[Note]) -> bool:
    """Whether any of these has to be corrected by a person."""
    return any(note.needs_a_person for note in notes)


@dataclass(frozen=True, slots=True)
class Document:
    """A document whose parts are made."""

    title: str
    body: Markup

    def file(self) -> str:
        """The whole document, which loads nothing."""
        return _written("whole", self.title, self.body, policy(is_live=False))

    def served(self, *, is_still: bool, age_s: float | None) -> str:
        """The whole document as a server sends it, so many seconds after the last pass; None: none has ended. It is
        loaded again, unless it ``is_still``."""
        age = "" if age_s is None else shown_seconds(age_s) if age_s else "less than a minute"
        return _written("whole", self.title, self.body, is_still=is_still, age=age)

    def with_texts(self, change: Callable[[str], str]) -> "Document":
        """The same elements, each text in them changed."""
        body, whole = self.body, unescape(self.body)
        if change(whole) != whole:  # it mostly is equal, and each text alone takes ten times as long
            body = Markup(_TEXT.sub(lambda found: escape(change(unescape(found[0]))), body))  # noqa: S704 - escaped
        return Document(change(self.title), body)


_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
"""A text between two tags: those have no other angle brackets."""


def document_of(page: Page) -> Document:
    """The page as a document."""
    return Document(page.title, _made("body", page))


def explanation_of(page: Page, key: Key, lines: Sequence[TextLine]) -> Document:
    """The explanation of one object on a live page, whose ``lines`` are those of the command; there are none where
    nothing is known of it."""
    root = "../" * key.count("/")
    return Document(f"{key}: {page.title}", _made("explanation", page, key, root, lines))


@dataclass(slots=True)
class Maker:
    """Makes documents of one report, from one thread at a time. What they share is computed once.

    Secrets are masked: an error repeats what an API or a proxy answered, and more people look at the page than read the
    log.
    """

    report: Report | None
    """None while there is none: ``why_empty`` says why."""
    leader: str
    why_empty: str
    _page: Page | None = field(default=None, init=False)

    def page(self) -> Document:
        """The page."""
        return document_of(self._model()).with_texts(masked)

    def explanation(self, key: Key) -> Document | str:
        """The explanation of a Node or Service; a text says why there is none."""
        report = self.report
        if report is None or report.facts is None:
            return explanation_of(self._model(), key, ()).with_texts(masked)
        left = tuple(line.change for line in report.lines if not isinstance(line.outcome, Applied))
        plan = Plan(left, report.notes, report.holds)
        found = explain_object(key, plan, report.facts, report.results, report.states)
        if isinstance(found, str):
            return masked(found)
        # Labels of other owners are for readers of the cluster.
        ours = (row for row in found.rows if (row.part, row.rule) != (Part.LABELS, LEFT_ALONE.name))
        lines = tuple(render_explanation(Explained(key, report, replace(found, rows=tuple(ours)))))
        return explanation_of(self._model(), key, lines).with_texts(masked)

    def _model(self) -> Page:
        if self._page is None:
            told = {"leader": self.leader, "why_empty": self.why_empty}
            self._page = page_of(self.report, **told, is_live=True)
        return self._page


def anchor(key: str, prefix: str = "") -> str:
    """The id of an element that is about this key, and what stands behind ``#`` in a link to it."""
    return quote(f"{prefix}{key}", safe="/:.-_~", errors="backslashreplace")


def counts_of(counts: Mapping[str, int], before_verbs: str = "") -> str:
    """``2 to add, 1 held``; only what occurs."""
    told = ((word, count) for word, count in counts.items() if count)
    return ", ".join(f"{count} {before_verbs if word in set(Verb) else ''}{word}" for word, count in told)


def utc(moment: datetime) -> str:
    """A time as a browser reads it."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def whole_sides(change: FieldChange) -> tuple[str, str]:
    """Both sides with all of their entries: the page is where they are looked up."""
    before, after = (
        ", ".join(map(str, side)) if isinstance(side, list) else shown
        for side, shown in zip((change.before, change.after), shown_sides(change), strict=True)
    )
    return before, after


def is_explained(key: Key) -> bool:
    """Whether there is an explanation of it."""
    return key.kind in (ObjectKind.NODE, ObjectKind.SERVICE)


def targets_of(row: BalancerRow) -> list[tuple[str, str, str]]:
    """Symbol, how many of which health, and names of targets: those of the same health together, of which the first
    are named."""
    groups = alike(row.targets, lambda target: (target.mark, target.health))
    return [
        (
            group[0].mark,
            f"{len(group)} {group[0].health}",
            _first_names(group[0].state, tuple(each.shown for each in group)),
        )
        for group in groups
    ]


def ports_of(row: ServiceRow) -> list[tuple[str, str, str]]:
    """Each port of a Service's load balancer, how many of its targets are healthy, and the class of that; first those
    that are not well."""
    ports, health = row.balancer.ports if row.balancer else (), row.health.ports if row.health else ()
    if len(ports) != len(health):
        return [(port, "", "") for port in ports]
    told = [
        (port, f"{said.healthy}/{said.targets}", "warning" if said.failing and said.healthy else _PORTS[said.state])
        for port, said in zip(ports, health, strict=True)
    ]
    return sorted(told, key=lambda each: not each[2])


def by_state(rows: Iterable[ServiceRow | NodeRow]) -> tuple[list[ServiceRow | NodeRow], list[ServiceRow | NodeRow]]:
    """Rows that a person may want to look at, worst first, and the others."""
    ordered = sorted(rows, key=lambda row: row.rank)
    return [row for row in ordered if not row.is_well], [row for row in ordered if row.is_well]


def counts_of_states(rows: Iterable[ServiceRow | NodeRow]) -> list[tuple[str, str, int]]:
    """Each state, its class, and the number of these ``rows`` in it, in their order."""
    return [(group[0].word, group[0].tone, len(group)) for group in alike(rows, lambda row: row.word)]


def tone_of(result: Result | None) -> str:
    """The class of this result."""
    match result:
        case Result.NO_CHANGES:
            return "good"
        case Result.CHANGES | None:
            return "plain"
        case Result.ERROR | Result.BLOCKED:
            return "bad"
    return "warning"


def same(values: Iterable[str]) -> str:
    """The value that several have in common; "" where they differ, or there is one."""
    found = tuple(values)
    return found[0] if len(found) > 1 and len(set(found)) == 1 else ""


def network_of(report: Report) -> str:
    """The network, as people know it; "" where none is used."""
    found, wanted = report.snapshot.network if report.snapshot else None, report.settings.network
    if isinstance(found, Present):
        return f"{found.value.name} ({found.value.id})" if found.value else ""
    return f"{wanted}, {'not found' if isinstance(found, Absent) else 'not read'}" if wanted else ""


def _made(macro: str, *told: object, **named: object) -> Markup:
    """What a macro of the template makes of this. Everything in it is escaped."""
    made: Markup = getattr(_template(), macro)(*told, **named)
    return made


def _written(macro: str, *told: object, **named: object) -> str:
    return f"<!doctype html>\n{_made(macro, *told, **named)}\n"


@cache
def _template() -> Any:
    """The macros of the template."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    environment.globals.update(_GLOBALS)
    # A line's end is for who reads the template: between elements it would be text.
    return environment.from_string("".join(map(str.strip, asset("page.html").splitlines()))).module


def _printable(value: object) -> object:
    """What is written of a value: of a text that is no HTML yet also what is not printable, as an escape."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache  # most load balancers lead to the same Nodes
def _first_names(state: State, targets: tuple[str, ...]) -> str:
    return names(targets, _ILL if state is State.BAD else ALIKE)


_HELPERS: tuple[Callable[..., object], ...] = (
    anchor, approve_command, asset, by_state, counted, counts_of, counts_of_states, is_explained, look_command,
    names, needs_a_person, network_of, ports_of, same, shown_moment, shown_seconds, state_counts,
    targets_of, unwell, utc, whole_sides,
)  # fmt: skip
"""The functions that the template calls."""
_GLOBALS: Mapping[str, Any] = {
    **{helper.__name__: helper for helper in _HELPERS},
    "HEADING": Tone.HEADING,
    "LEAST": LEAST,
    "LONG": LONG,
    "MEANS": MEANS,
    "NAMED": NAMED,
    "OPEN": OPEN,
    "PROGRAM": PROGRAM,
    "PORTS": PORTS,
    "REFRESH_S": REFRESH_S,
    "TALL": TALL,
    "VERSION": __version__,
    "tone_classes": {Tone.PLAIN: "", Tone.DETAIL: "dim"},
    "tones": {"": "", **{symbol: tone.value for symbol, tone in TONES.items()}},
    "words": _WORDS,
}
"""All that the template may use."""
