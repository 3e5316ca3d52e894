"""The explanation of a Node as lines of text: its server, what happens to it and why, then everything on it."""

from collections.abc import Iterator

from desired.explain.node import Explanation
from desired.explain.routes import NodeRoutes, RouteFact
from desired.explain.stage import ServerMatch, Stage
from desired.routes.claims import FAILING, RouteStatus
from reconciler.report.explanation_lines import (
    Row,
    anchor_line,
    facts,
    mark,
    note_lines,
    section,
    sides,
    table,
    words,
)
from reconciler.report.limits import LIMITS
from reconciler.report.text_report import TextLine, Tone, change_lines
from reconciler.result import Line

STAGE_TONES = {
    Stage.SETTLED: Tone.GOOD,
    Stage.DEPARTING: Tone.WARNING,
    Stage.UNMATCHED: Tone.WARNING,
    Stage.AMBIGUOUS: Tone.WARNING,
    Stage.MALFORMED: Tone.WARNING,
    Stage.UNKNOWN: Tone.WARNING,
}


def node_lines(explanation: Explanation, approve_flags: str) -> Iterator[TextLine]:
    """Everything below the header."""
    yield from section("Server", _server(explanation.match))
    yield from section("Changes", _changes(explanation))
    yield from section("Guards", _guards(explanation, approve_flags))
    yield from note_lines(explanation.notes, _told(explanation))
    yield from section("Labels", facts(explanation.labels))
    yield from section("Addresses", facts(explanation.addresses))
    if explanation.routes:
        yield from section("Routes", _routes(explanation.routes))
    yield from section("Taints", facts(explanation.taints))
    yield from section("Conditions", facts(explanation.conditions))


def _told(explanation: Explanation) -> Iterator[str]:
    """What is told elsewhere, so that it is no note as well: one on a pod CIDR repeats what its row says of it."""
    yield explanation.why
    rows = tuple(fact.why for fact in (explanation.routes.facts if explanation.routes else ()))
    yield from (note.text for note in explanation.notes if note.text.endswith(rows))


def _server(match: ServerMatch) -> Iterator[TextLine]:
    server = match.server
    if server is not None:
        where = f" in {server.location}" if server.location else ""
        by = match.by + (f" {match.provider_id}" if match.provider_id else "")
        yield TextLine(f"  {server.id}  {server.name}, {server.status}, {server.type}{where}")
        yield TextLine(f"  matched by {by}", Tone.DETAIL)
        return
    yield TextLine(f"  none: {match.why}", Tone.WARNING)
    for candidate in match.candidates:
        yield TextLine(f"  near: {candidate.server_id}  {candidate.name}: {candidate.why_not}")


def _changes(explanation: Explanation) -> Iterator[TextLine]:
    """The changes as in a plan; what initialisation writes and deletion takes away stands below, field by field."""
    for change in explanation.changes:
        yield from change_lines(Line(change), fields=change.key != explanation.key)


def _guards(explanation: Explanation, approve_flags: str) -> Iterator[TextLine]:
    if not explanation.guards and not explanation.on_deletion:
        going = explanation.stage is Stage.DELETING
        deletion = "the Node's deletion was asked for already" if going else "this Node is never deleted from here"
        yield TextLine(f"  none applies: nothing is planned, and {deletion}", Tone.DETAIL)
        return
    yield from _measures(explanation)
    if explanation.guards:
        yield TextLine("  on what is planned:")
        yield from words(explanation.guards, approve_flags)
    if explanation.on_deletion:
        yield TextLine("  on the Node's deletion, if its server were gone and its kubelet silent:")
        yield from words(explanation.on_deletion, approve_flags)


def _measures(explanation: Explanation) -> Iterator[TextLine]:
    """What the guards look at."""
    losses = explanation.losses
    yield anchor_line(explanation.anchor)
    tone = Tone.BAD if len(losses.lost) > losses.limit else Tone.PLAIN
    lost = f"{len(losses.lost)} of {losses.nodes} Nodes, limit {losses.limit}"
    yield TextLine(f"  unannounced losses: {lost}", tone)
    yield TextLine(f"  announced to go: {explanation.announced or 'no'}")


def _routes(routes: NodeRoutes) -> Iterator[TextLine]:
    if routes.network_id is None:
        yield TextLine(f"  none: {routes.why}", Tone.WARNING)
        return
    use = "an unknown number of" if routes.used is None else f"{routes.used}/{LIMITS['routes']}"
    cidr = routes.cluster_cidr or "not given, so that routes are only created"
    yield TextLine(f"  network {routes.network_id}, {use} routes; cluster CIDR: {cidr}")
    if routes.mismatch:
        yield TextLine(f"  {routes.mismatch}", Tone.WARNING)
    if routes.why:
        yield TextLine(f"  none: {routes.why}", Tone.DETAIL)
    yield from table(map(_route, routes.facts))


def _route(fact: RouteFact) -> Row:
    """What is wrong and stays so is marked as what guards hold."""
    value, wanted = (None if side is None else str(side) for side in (fact.value, fact.wanted))
    sign, tone = mark(value, wanted)
    if sign == " " and fact.standing in FAILING:
        sign, tone = "!", Tone.BAD
    elif sign == " " and fact.standing is RouteStatus.WAITING:
        sign, tone = "?", Tone.WARNING
    elif fact.standing is None and sign == " ":
        tone = Tone.DETAIL
    word = fact.standing or fact.action or "-"
    return Row(sign, tone, (fact.destination, word, sides(value, wanted), fact.why))
