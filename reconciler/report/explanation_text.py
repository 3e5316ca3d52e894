"""Text of explanations, of a Node and of a Service: what it is, what happens to it and why, then its parts."""

from collections.abc import Iterator

from desired.annotations.parsing import Origin
from desired.annotations.table import PREFIX
from desired.explain.listeners import CertificateFact, ListenerFact
from desired.explain.load_balancer import FoundBalancer
from desired.explain.members import MemberFact
from desired.explain.node import Explanation
from desired.explain.options import OptionFact
from desired.explain.routes import NodeRoutes, RouteFact
from desired.explain.service import ServiceExplanation
from desired.explain.service_stage import ServiceStage, Wait
from desired.explain.stage import ServerMatch, Stage
from desired.model.load_balancer import NO_LIMIT, CloudBalancer, Health
from desired.names import LABEL_SERVICE_UID
from desired.routes.claims import FAILING, RouteStatus
from reconciler.report.escaping import LIMITS, visible
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
from reconciler.report.text_report import TextLine, Tone, change_lines, header_lines, shown_due, shown_value
from reconciler.result import Explained, Line

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
    """The changes as in a plan; what initialization writes and deletion removes stands below, field by field."""
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


SERVICE_STAGE_TONES = {
    ServiceStage.SERVED: Tone.GOOD,
    ServiceStage.MALFORMED: Tone.BAD,
    ServiceStage.REFUSED: Tone.BAD,
    ServiceStage.CONTESTED: Tone.BAD,
    ServiceStage.AMBIGUOUS: Tone.WARNING,
    ServiceStage.WAITING: Tone.WARNING,
}
_BELOW = " " * 8


def service_lines(explanation: ServiceExplanation, approve_flags: str) -> Iterator[TextLine]:
    """Everything below the header."""
    yield from section("Load balancer", _balancer(explanation.balancer))
    if explanation.pending:
        yield from section("Waits for", table(map(_wait, explanation.pending)))
    changes = (line for change in explanation.changes for line in change_lines(Line(change)))
    yield from section("Changes", changes)
    yield from section("Guards", _guards_on_service(explanation, approve_flags))
    yield from note_lines(explanation.notes, _told_of_service(explanation))
    yield from section("Status", facts(explanation.status))
    yield from section("Conditions", facts(explanation.conditions))
    yield from section("Ports", table(map(_listener, explanation.listeners)))
    yield from section("Targets", table(map(_member, explanation.targets)))
    if explanation.certificates:
        yield from section("Certificates", table(map(_certificate, explanation.certificates)))
    yield from section("Annotations", table(map(_option, sorted(explanation.options, key=_is_unset))))
    ports = {fact.why for fact in explanation.listeners}
    remarks = [remark.text for remark in explanation.remarks if remark.text not in ports]
    if remarks:
        yield from section("Remarks", (TextLine(f"    {text}") for text in remarks))


def _told_of_service(explanation: ServiceExplanation) -> Iterator[str]:
    """What is told elsewhere, so that it is no note as well."""
    yield from (explanation.why, explanation.balancer.why)
    yield from (remark.text for remark in explanation.remarks)
    yield from (fact.why for fact in explanation.listeners)
    for option in explanation.options:
        yield from (text for text in (*option.problems, option.remark) if text)


def _balancer(found: FoundBalancer) -> Iterator[TextLine]:
    seen = found.balancer or found.other
    if found.balancer is None:
        yield TextLine(f"  none: {found.why}", Tone.WARNING)
    if seen is None:
        return
    near = "near: " if found.balancer is None else ""
    yield TextLine(f"  {near}{seen.id}  {_described(seen)}")
    by = f"label {LABEL_SERVICE_UID}" if found.by == "label" else f"name {seen.spec.name}"
    yield TextLine(f"  matched by {by}", Tone.DETAIL)
    yield TextLine(f"  addresses: {', '.join(_addresses(seen)) or 'none'}")
    if seen.is_protected:
        yield TextLine("  protected against deletion")
    yield from facts(found.owner)


def _described(balancer: CloudBalancer) -> str:
    spec, kind = balancer.spec, balancer.type
    where = f" in {spec.location}" if spec.location else ""
    ports = f"{_out_of(len(spec.listeners), kind.max_services)} ports"
    return f"{spec.name}, {kind.name}{where}, {ports}, {_out_of(len(balancer.targets), kind.max_targets)} targets"


def _out_of(number: int, limit: int) -> str:
    """``1 of 5``, or ``1`` where the limit is not known."""
    return str(number) if limit == NO_LIMIT else f"{number} of {limit}"


def _addresses(balancer: CloudBalancer) -> Iterator[str]:
    switched_off = "" if balancer.spec.public_interface else " (switched off)"
    yield from (f"{address}{switched_off}" for address in (balancer.ipv4, balancer.ipv6) if address)
    yield from (f"{place.ip} in network {place.network_id}" for place in balancer.attachments)


def _wait(wait: Wait) -> Row:
    return Row("?", Tone.WARNING, (wait.subject, wait.why + shown_due(wait.due_in_s)))


def _guards_on_service(explanation: ServiceExplanation, approve_flags: str) -> Iterator[TextLine]:
    if not explanation.guards:
        yield TextLine("  none applies: nothing is planned", Tone.DETAIL)
        return
    yield anchor_line(explanation.anchor)
    yield TextLine("  on what is planned:")
    yield from words(explanation.guards, approve_flags)


def _listener(fact: ListenerFact) -> Row:
    name = str(fact.port) if fact.protocol == "TCP" else f"{fact.port}/{fact.protocol}"
    sign, tone = mark(fact.value, fact.wanted)
    if fact.planned is not None and fact.value == fact.wanted:
        sign, tone = "~", Tone.MODIFY
    return Row(sign, tone, (name, sides(fact.value, fact.wanted), fact.why))


def _member(fact: MemberFact) -> Row:
    sign, tone = mark(fact.value, fact.wanted)
    if fact.health is Health.UNHEALTHY and sign == " ":
        tone = Tone.WARNING
    membership = "-" if fact.membership is None else str(fact.membership)
    health = "-" if fact.health is None else fact.health.value
    return Row(sign, tone, (fact.subject, membership, sides(fact.value, fact.wanted), health, fact.why))


def _certificate(fact: CertificateFact) -> Row:
    name = shown_value(fact.name) + (f", for {', '.join(fact.domains)}" if fact.domains else "")
    ports = ", ".join(str(port) for port in fact.ports)
    use = f"used by port {ports}" if ports else "not used"
    asked = "" if fact.is_asked_for else ", not asked for"
    error = f": {fact.error}" if fact.error else ""
    sign, tone = ("+", Tone.ADD) if fact.id is None else (" ", Tone.PLAIN)
    return Row(sign, tone, (str(fact.id or "new"), name, f"{fact.state}{error}; {use}{asked}"))


def _is_unset(fact: OptionFact) -> bool:
    """What somebody has set, or has to, stands first."""
    return fact.origin is Origin.UNSET and not fact.problems


def _option(fact: OptionFact) -> Row:
    """The prefix that nearly all keys have is left out; one with another prefix is written in full."""
    source = f"not set: {fact.otherwise}" if fact.origin is Origin.UNSET else fact.variable or "annotation"
    if fact.in_use is not None and fact.in_use != fact.value:
        source += f"; the load balancer has {shown_value(fact.in_use)}"
    below = [TextLine(f"{_BELOW}{text}", Tone.BAD) for text in fact.problems]
    below += [TextLine(f"{_BELOW}{fact.remark}", Tone.WARNING)] if fact.remark else []
    sign, tone = ("!", Tone.BAD) if fact.problems else (" ", Tone.DETAIL if _is_unset(fact) else Tone.PLAIN)
    value = "-" if fact.value is None else shown_value(fact.value)
    return Row(sign, tone, (fact.key.removeprefix(PREFIX), value, source), tuple(below))


def render_explanation(explained: Explained) -> Iterator[TextLine]:
    """The lines of an explanation, what somebody who was woken at night wants to know before all detail."""
    for line in _lines(explained):
        yield TextLine(visible(line.text).rstrip(), line.tone)


def _lines(explained: Explained) -> Iterator[TextLine]:
    explanation, report = explained.explanation, explained.report
    if explanation is not None:
        yield TextLine(f"{explanation.key}  {explanation.stage}", _tone(explanation))
        yield TextLine(f"  {explanation.why}")
        yield TextLine("")
    yield from header_lines(report)
    match explanation:
        case Explanation():
            yield from node_lines(explanation, report.approve_flags)
        case ServiceExplanation():
            yield from service_lines(explanation, report.approve_flags)
    if report.errors:
        yield TextLine("")
    for error in report.errors:
        yield TextLine(f"Error: {error}", Tone.BAD)


def _tone(explanation: Explanation | ServiceExplanation) -> Tone:
    if isinstance(explanation, Explanation):
        return STAGE_TONES.get(explanation.stage, Tone.HEADING)
    return SERVICE_STAGE_TONES.get(explanation.stage, Tone.HEADING)
