"""The explanation of a Service as JSON values."""

from collections.abc import Mapping
from typing import Any

from desired.explain.certificates import CertificateFact
from desired.explain.listeners import ListenerFact
from desired.explain.load_balancer import FoundBalancer
from desired.explain.members import MemberFact
from desired.explain.options import OptionFact
from desired.explain.service import ServiceExplanation
from desired.model.load_balancer import NO_LIMIT, CloudBalancer
from desired.model.to_builtins import to_builtins
from reconciler.report.explanation_members import anchor_as_json, fact_as_json, word_as_json
from reconciler.report.json_report import change_as_json, note_as_json
from reconciler.result import Line

NO_SERVICE: Mapping[str, Any] = {
    "stage": None,
    "why": None,
    "load_balancer": None,
    "pending": [],
    "changes": [],
    "guards": [],
    "status": [],
    "conditions": [],
    "listeners": [],
    "targets": [],
    "certificates": [],
    "options": [],
    "remarks": [],
    "anchor": None,
    "notes": [],
}
"""What is said of a Service that could not be explained."""


def service_as_json(explanation: ServiceExplanation, approve_flags: str) -> Mapping[str, Any]:
    """The members of an explanation, keys in the order in which people read them."""
    return {
        "stage": explanation.stage.value,
        "why": explanation.why,
        "load_balancer": _found(explanation.balancer),
        "pending": [
            {"subject": wait.subject, "why": wait.why, "due_in_s": wait.due_in_s} for wait in explanation.pending
        ],
        "changes": [change_as_json(Line(change)) for change in explanation.changes],
        "guards": [word_as_json(word, "changes", approve_flags) for word in explanation.guards],
        "status": [fact_as_json(fact) for fact in explanation.status],
        "conditions": [fact_as_json(fact) for fact in explanation.conditions],
        "listeners": [_listener(fact) for fact in explanation.listeners],
        "targets": [_member(fact) for fact in explanation.targets],
        "certificates": [_certificate(fact) for fact in explanation.certificates],
        "options": [_option(fact) for fact in explanation.options],
        "remarks": [{"key": remark.key, "text": remark.text} for remark in explanation.remarks],
        "anchor": anchor_as_json(explanation.anchor),
        "notes": [note_as_json(note) for note in explanation.notes],
    }


def _found(found: FoundBalancer) -> Mapping[str, Any]:
    return {
        "asked_name": found.asked_name,
        "by": found.by,
        "found": _balancer(found.balancer),
        "other": _balancer(found.other),
        "why": found.why or None,
        "owner": [fact_as_json(fact) for fact in found.owner],
    }


def _balancer(balancer: CloudBalancer | None) -> Mapping[str, Any] | None:
    if balancer is None:
        return None
    spec, kind = balancer.spec, balancer.type
    return {
        "id": balancer.id,
        "name": spec.name,
        "type": kind.name,
        "location": spec.location,
        "network_zone": spec.zone,
        "ipv4": to_builtins(balancer.ipv4),
        "ipv6": to_builtins(balancer.ipv6),
        "public": spec.public_interface is True,
        "private": [{"network": place.network_id, "ip": to_builtins(place.ip)} for place in balancer.attachments],
        "protected": balancer.is_protected,
        "ports": len(spec.listeners),
        "max_ports": _limit(kind.max_services),
        "targets": len(balancer.targets),
        "max_targets": _limit(kind.max_targets),
    }


def _limit(number: int) -> int | None:
    """How much of something a type takes; null when that is not known."""
    return None if number == NO_LIMIT else number


def _listener(fact: ListenerFact) -> Mapping[str, Any]:
    return {
        "port": fact.port,
        "protocol": fact.protocol,
        "value": fact.value,
        "wanted": fact.wanted,
        "planned": fact.planned.value if fact.planned else None,
        "why": fact.why,
    }


def _member(fact: MemberFact) -> Mapping[str, Any]:
    return {
        "subject": fact.subject,
        "membership": fact.membership.value if fact.membership else None,
        "server_id": fact.server_id,
        "value": fact.value,
        "wanted": fact.wanted,
        "health": fact.health.value if fact.health else None,
        "why": fact.why,
    }


def _certificate(fact: CertificateFact) -> Mapping[str, Any]:
    return {
        "id": fact.id,
        "name": fact.name,
        "domains": list(fact.domains),
        "state": fact.state,
        "ports": list(fact.ports),
        "asked_for": fact.is_asked_for,
        "error": fact.error,
    }


def _option(fact: OptionFact) -> Mapping[str, Any]:
    return {
        "key": fact.key,
        "origin": fact.origin.value,
        "variable": fact.variable,
        "value": fact.value,
        "otherwise": fact.otherwise,
        "in_use": fact.in_use,
        "problems": list(fact.problems),
        "remark": fact.remark,
    }
