"""The explanation of a Service as lines of text: its load balancer, what is pending, then every port, Node and
annotation."""

from collections.abc import Iterator

from desired.annotations.parsing import Origin
from desired.annotations.table import PREFIX
from desired.explain.certificates import CertificateFact
from desired.explain.listeners import ListenerFact
from desired.explain.load_balancer import FoundBalancer
from desired.explain.members import MemberFact
from desired.explain.options import OptionFact
from desired.explain.pending import Wait
from desired.explain.service import ServiceExplanation
from desired.explain.service_stage import ServiceStage
from desired.model.load_balancer import NO_LIMIT, CloudBalancer, Health
from desired.names import LABEL_SERVICE_UID
from reconciler.report.explanation_lines import Row, anchor_line, facts, mark, note_lines, section, sides, table, words
from reconciler.report.text_report import TextLine, Tone, change_lines, shown_due, shown_value
from reconciler.result import Line

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
    yield from section("Guards", _guards(explanation, approve_flags))
    yield from note_lines(explanation.notes, _told(explanation))
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


def _told(explanation: ServiceExplanation) -> Iterator[str]:
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


def _guards(explanation: ServiceExplanation, approve_flags: str) -> Iterator[TextLine]:
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
