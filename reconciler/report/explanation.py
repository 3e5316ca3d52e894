"""Explanations of a Node and of a Service: as text, what it is, what happens to it and why, then its parts; as JSON its
fields as they are, between a head and a tail.

A table of sections says which field of the explanation stands where in the text; a table of layouts, for each type of
fact, what stands in its line.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal, get_origin, get_type_hints

from msgspec import Struct

from desired.annotations.options import PREFIX
from desired.annotations.reading import Origin
from desired.annotations.warnings import AnnotationWarning
from desired.explain.document import (
    AnchorFact,
    CertificateFact,
    Concern,
    Fact,
    FoundBalancer,
    GuardFact,
    ListenerFact,
    NodeExplanation,
    NodeRoutes,
    OptionFact,
    RouteFact,
    ServerMatch,
    ServiceExplanation,
    TargetFact,
    Wait,
)
from desired.guards.anchor import AnchorState
from desired.health.state import ObjectState, PortState
from desired.model.load_balancer import Health
from desired.model.snapshot import ServerStatus
from desired.names import LABEL_OWN_CLASS_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, Verdict
from desired.plan.notes import Note
from desired.routes.claims import FAILING, RouteStatus
from desired.rules.load_balancers import PORT_AS_ASKED
from desired.rules.nodes import Stage
from desired.rules.rule import Basis
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider
from reconciler.config.options import Detail
from reconciler.report.documents import (
    ClusterDocument,
    RequestsDocument,
    Versioned,
    shown,
    to_json,
)
from reconciler.report.escaping import visible
from reconciler.report.folding import blocks, shown_due, shown_value
from reconciler.report.text import LEVELS, TextLine, Tone, approve_line, block_lines, header_lines, visible_lines
from reconciler.report.view import Head, Standing, head_of
from reconciler.result import Explained, Line

TextMark = tuple[str, Tone]
"""The character before a line, and the line's color."""
_SAME: TextMark = (" ", Tone.PLAIN)
_DETAIL: TextMark = (" ", Tone.DETAIL)
_WAITS: TextMark = ("?", Tone.WARNING)
_WRONG: TextMark = ("!", Tone.BAD)
_WIDEST = 48
"""Up to which a column is aligned. A label may be far longer, and would push everything else out of sight."""
_VERDICTS: Mapping[Verdict, tuple[TextMark, str]] = {
    Verdict.ALLOWED: (_SAME, "passes"),
    Verdict.WAITING: (_WAITS, "waits"),
    Verdict.HELD: (_WRONG, "holds"),
    Verdict.REFUSED: (_WRONG, "refuses"),
}


def _sides(fact: Any) -> str:
    """What is there, and what comes instead."""
    value, wanted = (side if side is None else str(side) for side in (fact.value, fact.wanted))
    return shown_value(value) if value == wanted else f"{shown_value(value)} -> {shown_value(wanted)}"


def _mark(fact: Any, unchanged: TextMark) -> TextMark:
    """The mark of a plan for what comes, changes or goes; ``unchanged`` for the rest."""
    if not hasattr(fact, "wanted") or fact.value == fact.wanted:
        return unchanged
    if fact.value is None:
        return "+", Tone.ADD
    return ("-", Tone.REMOVE) if fact.wanted is None else ("~", Tone.MODIFY)


@dataclass(frozen=True, slots=True)
class Layout:
    """How facts of one type are shown."""

    cells: tuple[str | Callable[[Any], str], ...]
    """Names of fields, or functions of the fact. The last cell is as long as it is; the others stand in columns."""
    unchanged: Callable[[Any], TextMark] = lambda _: _SAME
    """The mark of a fact of which no change is planned."""
    below: Callable[[Any, Explained], Iterable[TextLine]] = lambda *_: ()
    """What is said of a fact below its line."""

    def row(self, fact: Any) -> list[str]:
        """The cells of a fact. A field without a value is ``-``."""
        return [visible(cell(fact) if callable(cell) else _cell(getattr(fact, cell))) for cell in self.cells]


def _cell(value: object) -> str:
    return "-" if value is None else str(value.value if isinstance(value, Enum) else value)


def _table(facts: Iterable[Any], explained: Explained, indent: str = "  ") -> Iterator[TextLine]:
    """Facts of one type, a line for each, aligned."""
    shown = [(fact, layout := LAYOUTS[type(fact)], layout.row(fact)) for fact in facts]
    widths = [min(_WIDEST, max(map(len, column))) for column in zip(*(row[:-1] for *_, row in shown), strict=True)]
    for fact, layout, row in shown:
        mark, tone = _mark(fact, layout.unchanged(fact))
        padded = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        yield TextLine(f"{indent}{mark} {'  '.join([*padded, row[-1]])}", tone)
        yield from layout.below(fact, explained)


def _route_mark(fact: RouteFact) -> TextMark:
    """What is wrong and stays so is marked as what guards hold."""
    if fact.standing in FAILING:
        return _WRONG
    return _WAITS if fact.standing is RouteStatus.WAITING else _DETAIL if fact.standing is None else _SAME


def _certificate_name(fact: CertificateFact) -> str:
    return shown_value(fact.name) + (f", for {', '.join(fact.domains)}" if fact.domains else "")


def _certificate_use(fact: CertificateFact) -> str:
    use = f"used by port {', '.join(map(str, fact.ports))}" if fact.ports else "not used"
    return f"{fact.state}{f': {fact.error}' if fact.error else ''}; {use}{'' if fact.asked_for else ', not requested'}"


def _is_unset(fact: OptionFact) -> bool:
    """What a person has set, or has to, stands first."""
    return fact.origin is Origin.UNSET and not fact.problems


def _option_source(fact: OptionFact) -> str:
    source = f"not set: {fact.otherwise}" if fact.origin is Origin.UNSET else fact.variable or "annotation"
    differs = fact.in_use is not None and fact.in_use != fact.value
    return source + (f"; the load balancer has {shown_value(fact.in_use)}" if differs else "")


def _option_troubles(fact: OptionFact, _: Explained) -> Iterator[TextLine]:
    yield from (TextLine(f"        {problem}", Tone.BAD) for problem in fact.problems)
    if fact.remark:
        yield TextLine(f"        {fact.remark}", Tone.WARNING)


def _port_health(fact: ListenerFact, explained: Explained) -> Iterator[TextLine]:
    """How many of a port's targets are healthy, where some fail that should not."""
    for found in explained.health.ports if explained.health else ():
        if found.port == fact.port and found.failing:
            tone = Tone.BAD if found.state is PortState.NONE else Tone.WARNING
            yield TextLine(f"        {found.healthy} of {counted(found.targets, 'target')} healthy", tone)


def _decision(fact: GuardFact) -> str:
    _, verb = _VERDICTS[fact.verdict]
    approved = " (approved)" if fact.approved else ""
    why = f": {fact.why}" if fact.why and fact.hold is None else ""
    return f"{verb}{approved}{why}{shown_due(fact.due_in_s)}"


def _hold(fact: GuardFact, explained: Explained) -> Iterator[TextLine]:
    """What is held, and what to type."""
    if fact.hold is None:
        return
    yield TextLine(f"        {fact.hold.said}")
    yield TextLine(f"        changes: {', '.join(fact.hold.keys)}", Tone.DETAIL)
    if not fact.approved:
        yield approve_line(fact.hold.hash, explained.report.approve_flags, "        ")


LAYOUTS: Mapping[type, Layout] = {
    Fact: Layout(("subject", _sides, "source"), lambda fact: _DETAIL if fact.rule is Basis.FOREIGN else _SAME),
    RouteFact: Layout(
        ("destination", lambda fact: _cell(fact.standing or fact.fate), _sides, "why"), unchanged=_route_mark
    ),
    Wait: Layout(("subject", lambda wait: wait.why + shown_due(wait.due_in_s)), lambda _: _WAITS),
    ListenerFact: Layout(
        (lambda fact: f"{fact.port}" + (f"/{fact.protocol}" if fact.protocol != "TCP" else ""), _sides, "why"),
        lambda fact: ("~", Tone.MODIFY) if fact.planned else _SAME,
        _port_health,
    ),
    TargetFact: Layout(
        ("subject", "membership", _sides, "health", "why"),
        lambda fact: (" ", Tone.WARNING) if fact.health is Health.UNHEALTHY else _SAME,
    ),
    CertificateFact: Layout(
        (lambda fact: str(fact.id or "new"), _certificate_name, _certificate_use),
        lambda fact: ("+", Tone.ADD) if fact.id is None else _SAME,
    ),
    OptionFact: Layout(
        (
            lambda fact: fact.key.removeprefix(PREFIX),
            lambda fact: "-" if fact.value is None else shown_value(fact.value),
            _option_source,
        ),
        lambda fact: _WRONG if fact.problems else _DETAIL if _is_unset(fact) else _SAME,
        _option_troubles,
    ),
    AnnotationWarning: Layout(("text",)),
    GuardFact: Layout(("rule", _decision), lambda fact: _VERDICTS[fact.verdict][0], _hold),
}
"""Type of a fact → its layout."""


_LONG = 5
"""So many ports of which there is nothing to tell are counted, and not listed."""


@dataclass(frozen=True, slots=True)
class TextSection:
    """One part of the text: a heading and what stands below it."""

    title: str
    part: str
    """The field that it shows. An explanation without that field has no such section."""
    lines: Callable[[Any, Explained], Iterator[TextLine]]
    """The lines for the value of the field."""
    is_optional: bool = False
    """Left out when there is nothing to show; else that is said."""

    def shown(self, explained: Explained) -> Iterator[TextLine]:
        """The lines of the section."""
        part = getattr(explained.explanation, self.part, None)
        lines = [] if part is None else list(self.lines(part, explained))
        if not lines and (self.is_optional or part is None):
            return
        yield TextLine("")
        yield TextLine(self.title, Tone.HEADING)
        yield from lines or [TextLine("  none", Tone.DETAIL)]


def _server(match: ServerMatch, _: Explained) -> Iterator[TextLine]:
    server = match.server
    if server is None:
        yield TextLine(f"  none: {match.why}", Tone.WARNING)
    else:
        where = f" in {server.location}" if server.location else ""
        by = match.by + (f" {match.provider_id}" if match.provider_id else "")
        is_robot = server.provider is Provider.ROBOT
        status = "a Robot server" if is_robot else str(server.status)
        if is_robot and server.status is not ServerStatus.UNKNOWN:
            status += f", {server.status}"
        yield TextLine(f"  {server.id}  {server.name}, {status}, {server.type}{where}")
        yield TextLine(f"  matched by {by}", Tone.DETAIL)
    for candidate in match.candidates:
        yield TextLine(f"  nearest: {candidate.id}  {candidate.name}: {candidate.why_not}")


def _balancer(match: FoundBalancer, explained: Explained) -> Iterator[TextLine]:
    seen, near = match.found or match.other, ""
    if match.found is None:
        yield TextLine(f"  none: {match.why}", Tone.WARNING)
        near = "nearest: "
    if seen is None:
        return
    where = f" in {seen.location}" if seen.location else ""
    ports, targets = _out_of(seen.ports, seen.max_ports, "port"), _out_of(seen.targets, seen.max_targets, "target")
    yield TextLine(f"  {near}{seen.id}  {seen.name}, {seen.type}{where}, {ports}, {targets}")
    there = {fact.subject for fact in match.owner if fact.value is not None}
    label = LABEL_OWN_CLASS_UID if LABEL_OWN_CLASS_UID in there else LABEL_SERVICE_UID
    ways = {"label": f"label {label}", "address": "the address that the Service publishes"}
    by = ways.get(match.by or "", f"name {seen.name}")
    yield TextLine(f"  matched by {by}", Tone.DETAIL)
    off = "" if seen.public else " (switched off)"
    addresses = [f"{address}{off}" for address in (seen.ipv4, seen.ipv6) if address]
    addresses += [f"{place.ip} in network {place.network}" for place in seen.private]
    yield TextLine(f"  addresses: {', '.join(addresses) or 'none'}")
    if seen.protected:
        yield TextLine("  protected against deletion")
    yield from _table(match.owner, explained)


def _out_of(number: int, limit: int | None, thing: str) -> str:
    """``1 of 5 ports``, or ``1 port`` where the limit is not known."""
    return counted(number, thing) if limit is None else f"{number} of {counted(limit, thing)}"


def _routes(routes: NodeRoutes, explained: Explained) -> Iterator[TextLine]:
    if routes.network is None:
        yield TextLine(f"  none: {routes.why}", Tone.WARNING)
        return
    use = "an unknown number of" if routes.used is None else f"{routes.used}/{routes.limit}"
    yield TextLine(f"  network {routes.network}, {use} routes; cluster CIDR: {routes.cluster_cidr}")
    if routes.mismatch:
        yield TextLine(f"  {routes.mismatch}", Tone.WARNING)
    if routes.why:
        yield TextLine(f"  none: {routes.why}", Tone.DETAIL)
    yield from _table(routes.destinations, explained)


def _changes(changes: Iterable[Change], explained: Explained) -> Iterator[TextLine]:
    """The changes as in a plan; what initialization writes and deletion removes stands below, field by field."""
    for block in blocks(map(Line, changes), Detail.FULL):
        yield from block_lines(block, fields=block.first.change.key != explained.key)


def _guards(guards: Collection[GuardFact], explained: Explained) -> Iterator[TextLine]:
    """What the guards look at, then the decision of each."""
    explanation = explained.explanation
    if not guards:
        yield TextLine(f"  none: no change is planned{_why_no_deletion(explanation)}", Tone.DETAIL)
        return
    if explanation:
        yield _anchor(explanation.anchor)
    if isinstance(explanation, NodeExplanation):
        lost, losses = len(explanation.losses.lost), explanation.losses
        tone = Tone.BAD if lost > losses.limit else Tone.PLAIN
        yield TextLine(
            f"  lost without a drain: {lost} of {counted(losses.nodes, 'Node')} (limit {losses.limit})", tone
        )
        yield TextLine(f"  planned removal of this Node: {explanation.announced or 'no'}")
    for concern, title in _CONCERNS.items():
        told = [fact for fact in guards if fact.concerns is concern]
        if told:
            yield TextLine(f"  {title}:")
            yield from _table(told, explained, "    ")


_CONCERNS = {
    Concern.CHANGES: "on the planned changes",
    Concern.DELETION: "on a deletion of the Node, if its server were gone and its kubelet silent",
}


def _why_no_deletion(explanation: NodeExplanation | ServiceExplanation | None) -> str:
    if not isinstance(explanation, NodeExplanation):
        return ""
    if explanation.stage is Stage.DELETING:
        return ", and the Node is being deleted already"
    return ", and this Node is never deleted from here"


def _anchor(anchor: AnchorFact) -> TextLine:
    place = "the Robot account" if anchor.provider is Provider.ROBOT else "the project"
    if anchor.state is AnchorState.UNFOUND:
        unread = f" ({anchor.unknown} unknown)" if anchor.unknown else ""
        return TextLine(f"  no Node is Ready, and no server of a Node was found in {place}{unread}", Tone.BAD)
    if anchor.state is AnchorState.NONE:
        return TextLine("  no Node is Ready")
    unknown = f", {anchor.unknown} unknown" if anchor.unknown else ""
    found = f"{anchor.found} of {counted(anchor.total, 'Ready Node')} found in {place}"
    tone = Tone.BAD if anchor.state is AnchorState.VIOLATED else Tone.PLAIN
    return TextLine(f"  {found} (at least {anchor.needed} needed{unknown})", tone)


def _notes(notes: Iterable[Note], explained: Explained) -> Iterator[TextLine]:
    """The notes, but for those that are told elsewhere already."""
    left = (note for note in notes if not _is_told(note.text, explained.explanation))
    return (TextLine(f"  {note.key}  {note.kind}: {note.text}") for note in left)


def _is_told(note: str, explanation: NodeExplanation | ServiceExplanation | None) -> bool:
    """Whether what a note says stands elsewhere: one on a pod CIDR repeats what the line of its route says."""
    match explanation:
        case NodeExplanation(why=why, routes=routes):
            return note == why or note.endswith(tuple(fact.why for fact in routes.destinations) if routes else ())
        case ServiceExplanation(why=why, load_balancer=found, listeners=ports, remarks=remarks, options=options):
            sentences = (why, found.why, *(fact.why for fact in ports), *(remark.text for remark in remarks))
            return note in sentences or any(note in (*fact.problems, fact.remark) for fact in options)
    return False


def _options(options: Iterable[OptionFact], explained: Explained) -> Iterator[TextLine]:
    """Those that are set or wrong, or with ``--full`` all of them."""
    every = sorted(options, key=_is_unset)
    told = [fact for fact in every if explained.report.detail is Detail.FULL or not _is_unset(fact) or fact.remark]
    yield from _table(told, explained)
    if left := len(every) - len(told):
        yield TextLine(f"  {left} more are not set (--full)", Tone.DETAIL)


def _ports(ports: Sequence[ListenerFact], explained: Explained) -> Iterator[TextLine]:
    """The ports; of more than a few those alone of which there is something to tell, without ``--full``."""
    failing = {each.port for each in (explained.health.ports if explained.health else ()) if each.failing}
    telling = [each for each in ports if each.planned or each.port in failing or each.why != PORT_AS_ASKED.text()]
    is_whole = explained.report.detail is Detail.FULL or len(ports) - len(telling) < _LONG
    yield from _table(ports if is_whole else telling, explained)
    if not is_whole:
        yield TextLine(f"  {len(ports) - len(telling)} match the Service, as --full shows", Tone.DETAIL)


def _remarks(remarks: Iterable[AnnotationWarning], explained: Explained) -> Iterator[TextLine]:
    """The remarks, but for those that are told of a port already."""
    told = {fact.why for fact in getattr(explained.explanation, "listeners", ())}
    return _table((remark for remark in remarks if remark.text not in told), explained)


SECTIONS = (
    TextSection("Server", "match", _server),
    TextSection("Load balancer", "load_balancer", _balancer),
    TextSection("Waits for", "pending", _table, is_optional=True),
    TextSection("Changes", "changes", _changes),
    TextSection("Guards", "guards", _guards),
    TextSection("Notes", "notes", _notes, is_optional=True),
    TextSection("Labels", "labels", _table),
    TextSection("Addresses", "addresses", _table),
    TextSection("Routes", "routes", _routes),
    TextSection("Taints", "taints", _table),
    TextSection("Status", "status", _table),
    TextSection("Conditions", "conditions", _table),
    TextSection("Ports", "listeners", _ports),
    TextSection("Targets", "targets", _table),
    TextSection("Certificates", "certificates", _table, is_optional=True),
    TextSection("Annotations", "options", _options),
    TextSection("Remarks", "remarks", _remarks, is_optional=True),
)
"""All sections in their order, of a Node and of a Service."""


def render_explanation(explained: Explained) -> Iterator[TextLine]:
    """The lines of an explanation: what the object is, what happens to it and why, then its parts."""
    return visible_lines(_lines(explained, head_of(explained.report)))


def _lines(explained: Explained, head: Head) -> Iterator[TextLine]:
    explanation = explained.explanation
    if explanation is not None:
        health = explained.health
        if health is not None:
            yield TextLine(f"{explained.key}  {Standing(health, (explained.key,)).told}", LEVELS[health.level][1])
            if explanation.why != health.why:
                yield TextLine(f"  {explanation.why}")
            if any(port.state is PortState.NONE and port.unhealthy for port in health.ports):
                namespace, _, name = explained.key.name.partition("/")
                look = f"kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={name}"
                yield TextLine(f"  To see whether pods are ready: {look}", Tone.WARNING)
        else:
            yield TextLine(f"{explained.key}  {explanation.stage}", Tone.HEADING)
            yield TextLine(f"  {explanation.why}")
        yield TextLine("")
    yield from header_lines(head)
    if explanation is not None:
        for section in SECTIONS:
            yield from section.shown(explained)


class ExplanationHead(Versioned, frozen=True, kw_only=True):
    """What stands before the members of an explanation."""

    kind: Literal["node", "service"]
    key: str
    """As in a plan, node/NAME or service/NAMESPACE/NAME; as it was given, when there is no such object."""
    taken_at: datetime | None
    """The API server's clock; None when it could not be read."""
    cluster: ClusterDocument
    health: ObjectState | None
    """The state of the object; None for one that is not looked after here."""


class ExplanationTail(Struct, frozen=True):
    """What stands behind the members of an explanation."""

    errors: tuple[str, ...]
    """What went wrong; where there is nothing to explain, why."""
    requests: RequestsDocument


EXPLANATIONS: Mapping[Literal["node", "service"], type[NodeExplanation | ServiceExplanation]] = {
    "node": NodeExplanation,
    "service": ServiceExplanation,
}
"""Kind of an object → its explanation. What cannot be explained has the same members: null, and empty lists."""


def explanation_as_json(explained: Explained) -> Mapping[str, Any]:
    """The explanation in JSON values."""
    report, kind = explained.report, explained.kind
    taken_at = report.snapshot.taken_at if report.snapshot else None
    cluster = ClusterDocument.of(report.snapshot)
    head = ExplanationHead(kind=kind, key=explained.key, taken_at=taken_at, cluster=cluster, health=explained.health)
    tail = ExplanationTail(report.errors, RequestsDocument.of(report))
    members = get_type_hints(EXPLANATIONS[kind])
    empty: Mapping[str, Any] = {name: [] if get_origin(hint) is tuple else None for name, hint in members.items()}
    return {
        **to_json(head),
        **(to_json(explained.explanation, shown(report)) if explained.explanation else empty),
        **to_json(tail),
    }
